# The release, builds of it, and installation. None of it depends on the build that the suite is run on.

load nodes

# One tree is a copy of this one, the other an unpacked release; both are built without changes.
setup_file() {
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CFLAGS CPPFLAGS LDFLAGS DESTDIR PREFIX SOURCE_DATE_EPOCH
	export ONE=$BATS_FILE_TMPDIR/one TWO="$BATS_FILE_TMPDIR/another, with a longer name"
	mkdir "$ONE" "$TWO"
	tar -C "$BATS_TEST_DIRNAME/../.." --exclude=./build --exclude=./.git -c . | tar -x -C "$ONE"
	VERSION=$(sed -n 's/.*VERSION "\(.*\)"/\1/p' "$ONE/src/base/version.h")
	export VERSION RELEASE=$ONE/build/redlock-$VERSION.tar.gz
	make -s -C "$ONE" dist
	tar -x -C "$TWO" --strip-components=1 -f "$RELEASE"
	find "$TWO" -exec touch -d '2001-02-03 04:05:06' {} +
	make -s -C "$ONE" build/redlock
	(umask 077 && cd "$TWO" && TZ=Asia/Tokyo LC_ALL=C make -s -j2 build/redlock)
}

setup() { T=$BATS_TEST_TMPDIR; }

# make_in TREE ARG...
make_in() { make -s -C "$@"; }

# files FOLDER: all its entries, except folders.
files() { (cd "$1" && find . ! -type d -printf '%P\n' | LC_ALL=C sort); }

@test "the program is the same, byte by byte, on any host and at any time" {
	cmp "$ONE/build/redlock" "$TWO/build/redlock"
	not grep -qF "$BATS_FILE_TMPDIR" "$ONE/build/redlock"
	[ "$("$TWO/build/redlock" version | head -n 1)" = "redlock $VERSION" ]
}

@test "the program is hardened; HARDENING=no disables that" {
	readelf -hldW "$ONE/build/redlock" > "$T/elf"
	grep -qE 'Type: +DYN' "$T/elf"
	grep -qE 'FLAGS_1.* NOW PIE' "$T/elf"
	grep -q GNU_RELRO "$T/elf"
	grep -qE 'GNU_STACK .* RW ' "$T/elf"
	readelf --dyn-syms -W "$ONE/build/redlock" > "$T/symbols"
	grep -q __stack_chk_fail "$T/symbols"
	grep -q __vsnprintf_chk "$T/symbols"
	said() { make -n -B V=1 -C "$ONE" "$@" build/main.o build/redlock | grep -E -- ' -[co] '; }
	for flag in -fstack-clash-protection -D_FORTIFY_SOURCE=2 -pie; do
		[[ "$(said)" == *" $flag "* ]]
		[[ "$(said HARDENING=no)" != *" $flag "* ]]
	done
	# builds in which _FORTIFY_SOURCE would be in the way
	for flags in CFLAGS=-O0 CFLAGS=-g 'CFLAGS=-O2 -fsanitize=address' CPPFLAGS=-D_FORTIFY_SOURCE=3; do
		[[ "$(said "$flags")" != *_FORTIFY_SOURCE=2* ]]
	done
	[[ "$(said 'CFLAGS=-O0 -O3')" == *_FORTIFY_SOURCE=2* ]]
}

@test "a release has all that is needed, and no data of its author; it makes itself again" {
	tar -tvf "$RELEASE" > "$T/list"
	[ -z "$(grep -vE "^-rw[x-]r-[x-]r-[x-] 0/0 .* redlock-$VERSION/" "$T/list")" ]
	for file in README.md CHANGELOG.md HACKING.md LICENSE Makefile mk/tests.mk .clang-format src/main.c tests/run; do
		grep -qE " redlock-$VERSION/$file\$" "$T/list"
	done
	not grep -qE " redlock-$VERSION/(build|\.git)/" "$T/list"
	# another time, another umask, another folder
	mkdir "$T/again"
	tar -x -C "$T/again" --strip-components=1 -f "$RELEASE"
	(umask 077 && touch "$T/again/src" && make_in "$T/again" dist)
	cmp "$RELEASE" "$T/again/build/$(basename "$RELEASE")"
	# in a clone, only tracked files
	if type -P git > /dev/null; then
		tree() { git -C "$T/again" -c user.name=x -c user.email=x@localhost "$@"; }
		tree init -q
		tree add .
		GIT_COMMITTER_DATE="@$(stat -c %Y "$T/again/Makefile") +0000" tree commit -qm x
		touch "$T/again/src/mine"
		rm "$T/again/build/"*.tar.gz
		run -0 --separate-stderr make_in "$T/again" dist
		[ "$stderr" = "dist: there are changes that are in no commit" ]
		cmp "$RELEASE" "$T/again/build/$(basename "$RELEASE")"
	fi
}

@test "an unpacked release passes check-fast" {
	make_in "$TWO" -j2 B=build/fast CFLAGS=-O0 check-fast > "$T/log" 2>&1 || {
		grep -A5 -E '^not ok|rror' "$T/log"
		false
	}
	grep -qE '^[0-9]+ passed, 0 failed' "$T/log"
}

@test "install: each file in its given place; uninstall: none of them is left, and other files are" {
	mkdir -p "$ONE/man" "$ONE/completions"
	touch "$ONE/man/redlock.1" "$ONE/man/zz-redlock.7" "$ONE/completions/"{redlock.bash,_redlock,redlock.fish}
	for words in "" "PREFIX=/usr" "PREFIX=/opt/with a space" "BINDIR=/b MANDIR=/m BASHCOMPDIR=/c ZSHCOMPDIR=/z FISHCOMPDIR=/f DOCDIR=/d"; do
		where=()
		[[ "$words" == *=*=* ]] && where=($words) || where=(${words:+"$words"})
		rm -rf "$T/to a place"
		make_in "$ONE" install DESTDIR="$T/to a place" "${where[@]}"
		case $words in
		B*) prefix='' bin=b man=m bash=c zsh=z fish=f doc=d ;;
		*) prefix=${words#PREFIX=/} && prefix=${prefix:-usr/local}/ bin=bin man=share/man bash=share/bash-completion/completions
			zsh=share/zsh/site-functions fish=share/fish/vendor_completions.d doc=share/doc/redlock ;;
		esac
		files "$T/to a place" > "$T/there"
		for file in $bin/redlock $man/man1/redlock.1 $man/man7/zz-redlock.7 $bash/redlock $zsh/_redlock $fish/redlock.fish \
			$doc/README.md $doc/CHANGELOG.md $doc/LICENSE; do
			grep -qxF "$prefix$file" "$T/there"
		done
		[ "$(grep -cvE '^(.*/)?(man|m)/man[1-9]/' "$T/there")" = 7 ]
		cmp "$ONE/build/redlock" "$T/to a place/$prefix$bin/redlock"
		[ "$(stat -c %a "$T/to a place/$prefix$bin/redlock")" = 755 ]
		[ -z "$(find "$T/to a place" -type f ! -name redlock ! -perm 644)" ]
		touch "$T/to a place/$prefix$man/man1/other.1"
		make_in "$ONE" uninstall DESTDIR="$T/to a place" "${where[@]}"
		[ "$(files "$T/to a place")" = "$prefix$man/man1/other.1" ]
		[ ! -e "$T/to a place/$prefix$doc" ]
		# once more: there is nothing to do
		make_in "$ONE" uninstall DESTDIR="$T/to a place" "${where[@]}"
	done
}

@test "install: without pages and completions; STRIP=yes; a folder that cannot be made" {
	mkdir "$T/bare"
	cp -a "$ONE/"{Makefile,mk,src,scripts,build,README.md,CHANGELOG.md,LICENSE} "$T/bare"
	make_in "$T/bare" install STRIP=yes DESTDIR="$T/to"
	[ "$(files "$T/to" | grep -vc /doc/)" = 1 ]
	readelf -SW "$ONE/build/redlock" | grep -q '\.debug_info'
	not eval "readelf -SW '$T/to/usr/local/bin/redlock' | grep -qE '\.(debug_info|symtab)'"
	[ "$("$T/to/usr/local/bin/redlock" version)" = "$("$ONE/build/redlock" version)" ]
	touch "$T/file"
	not make_in "$T/bare" install DESTDIR="$T/file" 2> "$T/err"
	grep -q "$T/file" "$T/err"
}
