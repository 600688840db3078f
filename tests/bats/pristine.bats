# tests/pristine: commands in new systems. Here a system is a few programs in a folder.
# bats file_tags=not-under-valgrind

load nodes

setup() {
	needs mounts pids
	T=$BATS_TEST_TMPDIR
	PRISTINE=$BATS_TEST_DIRNAME/../pristine
	mkdir "$T/bin" "$T/tmp"
}

# small_root FOLDER [PROGRAM...]: a root with the programs that `enter` needs, and some to look around.
small_root() {
	local program file
	mkdir -p "$1"/{usr/bin,usr/sbin,etc/apt/apt.conf.d,root,proc,sys,dev,run,tmp}
	for file in bin lib lib64; do
		mkdir -p "$1/usr/$file" && ln -s "usr/$file" "$1/$file"
	done
	for program in bash sh env umount cat ls sleep id "${@:2}"; do
		program=$(type -P $program)
		cp "$program" "$1/usr/bin"
		for file in $(ldd "$program" | grep -o '/[^ ]*'); do
			mkdir -p "$1${file%/*}" && cp -n "$file" "$1$file"
		done
	done
}

@test "enter: a command finds that system and its own processes, nothing else; the status is its own" {
	small_root "$T/root"
	mounts=$(cat /proc/self/mounts)
	export SECRET=none-of-its-business
	run -7 --separate-stderr "$PRISTINE/enter" "$T/root" sh -c 'echo "$PWD"; env; echo /*; exit "$1"' sh 7
	[ "${lines[0]}" = /root ]
	[[ "$output" == *HOME=/root* && "$output" != *SECRET* ]]
	[ "${lines[-1]}" = '/bin /dev /etc /lib /lib64 /proc /root /run /sys /tmp /usr' ]
	run -0 "$PRISTINE/enter" "$T/root" bash -c 'for p in /proc/[0-9]*; do cat $p/comm; done; cat /dev/null; echo "${BASHPID}"'
	[ "${lines[0]}" = bash ]
	[ "${#lines[@]}" -le 4 ]
	[ "$(cat /proc/self/mounts)" = "$mounts" ]
	# the system may have other users
	run -0 "$PRISTINE/enter" "$T/root" cat /proc/self/mounts
	[[ "$output" != *"$T"* ]]
	run -2 "$PRISTINE/enter" "$T/none" true
	[ "$output" = "usage: tests/pristine/enter ROOT COMMAND [ARG...]" ]
}

@test "enter: KILL ends all processes that were started" {
	small_root "$T/root"
	"$PRISTINE/enter" "$T/root" bash -c 'sleep 600 & echo $! > /root/ready; sleep 600' 3>&- &
	BG=$!
	eventually test -s "$T/root/root/ready"
	# (as the processes are called here)
	inside=$(cat "/proc/$BG/task/$BG/children")
	kill -KILL $BG
	eventually is_gone "${inside% }"
	no_longer_there() { ! grep -qs "$T/root" /proc/[0-9]*/mountinfo; }
	eventually no_longer_there
}

# script FILE: a shell script of the text on stdin.
script() {
	{ echo '#!/bin/sh'; cat; } > "$1"
	chmod +x "$1"
}

# fakes: a debootstrap, in PATH, that makes such a root; its apt-get and make print their arguments. A package is one
# script, in place of redlock.
fakes() {
	small_root "$T/system" cp mv rm chmod cut grep find sort diff touch
	script "$T/system/usr/bin/apt-get" <<- 'END'
		echo "apt-get $* in $(cat /etc/hosts)"
		[ "$1" != purge ] || rm /usr/bin/redlock
	END
	script "$T/system/usr/bin/apt" <<< 'echo "apt $*"; cp "$2" /usr/bin/new && mv /usr/bin/new /usr/bin/redlock'
	script "$T/system/usr/bin/dpkg" <<< 'echo amd64'
	script "$T/system/usr/bin/dpkg-buildpackage" <<- 'OUTER'
		version=$(grep -o '(.*)' debian/changelog)
		cat > ../redlock_1_amd64.deb << END
		#!/bin/sh
		echo "redlock $version \$*"
		case \$* in
		version) ;;
		*rediss:*) exit 69 ;;
		*) shift 7 && "\$@" ;; # sandbox -- redlock run -k job -- COMMAND...
		esac
		END
		chmod +x ../redlock_1_amd64.deb
	OUTER
	printf '#!/bin/sh\necho "make $* in $PWD"\nls README.md\n[ "$*" != "$(cat /root/bad)" ]\n' > "$T/system/usr/bin/make"
	chmod +x "$T/system/usr/bin/apt-get" "$T/system/usr/bin/make"
	echo none > "$T/system/root/bad"
	printf '%s\n' '#!/bin/sh' 'echo "debootstrap $*"' "cp -a $T/system/. \"\$3\"" > "$T/bin/debootstrap"
	# (README's commands install no git)
	script "$T/bin/git" <<- 'END'
		case $1 in
		show) cat "${2#HEAD:}" ;;
		clone) mkdir "$4" && cp -r --parents README.md packaging/debian src/base/version.h "$4" ;;
		log) echo "abc a commit" ;;
		esac
	END
	chmod +x "$T/bin/debootstrap"
}

# tries ARG...: with those, in a folder where no file may be left.
tries() { PATH=$T/bin:$PATH TMPDIR=$T/tmp MIRROR=http://mirror.example "$PRISTINE/run" "$@"; }

@test "run: README's commands, each in a new system" {
	fakes
	run -0 tries
	echo "$output"
	# the packages are made on Debian 12
	[ "$(grep -c '^debootstrap --variant=minbase bookworm .* http://mirror.example$' <<< "$output")" -eq 4 ]
	[ "$(grep -c '^debootstrap --variant=minbase trixie .* http://mirror.example$' <<< "$output")" -eq 3 ]
	for goal in demo check; do
		[ "$(grep -c "^make $goal in /root/redlock\$" <<< "$output")" -eq 2 ]
	done
	[ "$(grep -c '^apt-get install -y --no-install-recommends gcc .* in 127.0.0.1 localhost' <<< "$output")" -eq 4 ]
	is_like "${lines[-6]}" 'Debian 12: Try it: well, * s'
	is_like "${lines[-2]}" 'Debian 13: Test it: well, * s'
	is_like "${lines[-1]}" 'Debian 13: Install: well, * s, the first lock after [0-9]* s'
	[ "$(grep -c '^apt install ./redlock_1_amd64.deb$' <<< "$output")" -eq 4 ]
	[ "$(grep -c '^redlock (.*[0-9]) sandbox -- redlock run .* echo the first lock$' <<< "$output")" -eq 2 ]
	[ "$(grep -c '^redlock (.*+later) version$' <<< "$output")" -eq 2 ]
	[ "$(ls "$T/tmp")" = "" ]
	# one of them
	ONLY='Test it' run -0 tries 13
	[ "${lines[-2]}" = '== abc a commit' ]
	is_like "${lines[-1]}" 'Debian 13: Test it: well, * s'
}

@test "run: a package that leaves a file, or does not become newer, is a failure" {
	fakes
	echo 'touch /etc/left-by-redlock' >> "$T/system/usr/bin/apt"
	ONLY=Install run -1 tries 13
	is_like "${lines[-1]}" 'Debian 13: Install: FAILED, * s'
	grep -qx '> /etc/left-by-redlock' <<< "$output"
	sed -i 's/mv/mv -n/' "$T/system/usr/bin/apt"
	ONLY=Install run -1 tries 12
	is_like "${lines[-1]}" 'Debian 12: Install: FAILED, * s'
	[[ "$output" != *"apt-get purge"* ]]
	[ "$(ls "$T/tmp")" = "" ]
}

@test "run: a failure is reported, and the other commands are tried all the same" {
	fakes
	echo check > "$T/system/root/bad"
	run -1 tries 12
	is_like "${lines[-3]}" 'Debian 12: Try it: well, * s'
	is_like "${lines[-2]}" 'Debian 12: Test it: FAILED, * s'
	is_like "${lines[-1]}" 'Debian 12: Install: well, * s*'
	printf '#!/bin/sh\nexit 1\n' > "$T/bin/debootstrap"
	run -1 tries 13
	is_like "${lines[-2]}" 'Debian 13: Test it: FAILED, * s'
	is_like "${lines[-1]}" 'Debian 13: Install: FAILED, * s'
	[[ "$output" != *"make "* ]]
	[ "$(ls "$T/tmp")" = "" ]
	run -2 tries 11
	[ "$output" = "tests/pristine/run: Debian 12 or 13, not '11'" ]
	ONLY=this run -2 tries
	[ "$output" = "tests/pristine/run: ONLY is 'Try it', 'Test it' or 'Install', not 'this'" ]
}

@test "run: on a signal, it ends the running commands, and leaves nothing" {
	fakes
	for where in system/usr/bin/make bin/debootstrap; do
		printf '#!/bin/sh\necho "here it hangs"; sleep 600\n' > "$T/$where"
		: > "$T/out" # only the output of the next one counts
		ONLY='Try it' PATH=$T/bin:$PATH TMPDIR=$T/tmp env --default-signal "$PRISTINE/run" 13 > "$T/out" 2>&1 3>&- &
		BG=$!
		eventually file_has "$T/out" 'here it hangs'
		kill -TERM $BG
		ended_with 1
		[ "$(ls "$T/tmp")" = "" ]
		not grep -qs "$T/tmp" /proc/[0-9]*/mountinfo
	done
}
