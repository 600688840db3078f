# The files of a release, in the folder $RELEASE, for the architectures in $ARCH: make check-release.

load ../bats/nodes

setup_file() {
	version=$(sed -n 's/.*VERSION "\(.*\)"/\1/p' "$BATS_TEST_DIRNAME/../../src/base/version.h")
	export version
	native=$(dpkg --print-architecture)
	export native
}
setup() { T=$BATS_TEST_TMPDIR; }
teardown() { [ -z "${PID+set}" ] || nodes_stop; }

@test "SHA256SUMS has each file of the release" {
	cd "$RELEASE"
	sha256sum --check --strict SHA256SUMS
	[ "$(sed 's/.*  //' SHA256SUMS | sort; echo SHA256SUMS)" = "$(LC_ALL=C ls | grep -vx SHA256SUMS; echo SHA256SUMS)" ]
	for arch in $ARCH; do [ -s "redlock_${version}_$arch.deb" ] && [ -x "redlock-$version-linux-$arch" ]; done
}

@test "the archive makes the same bytes again: later, in another folder, with another umask, zone, locale and environment" {
	again="$T/another folder, with a longer name"
	mkdir "$again"
	tar -x -C "$again" --strip-components=1 -f "$RELEASE/redlock-$version.tar.gz"
	mkdir "$T/home"
	(
		umask 077
		cd "$again"
		env HOME="$T/home" USER=nobody TZ=Asia/Tokyo LC_ALL=C.UTF-8 LANGUAGE=de CFLAGS=-O0 CPPFLAGS=-DNDEBUG LDFLAGS=-s \
			MAKEFLAGS=B=elsewhere DEB_BUILD_OPTIONS=noopt SOURCE_DATE_EPOCH= packaging/release "$T/out" $ARCH
	)
	for file in "$RELEASE"/*; do cmp "$file" "$T/out/${file##*/}"; done
}

@test "lintian has no complaint about the packages" {
	run -0 lintian --pedantic --display-info --display-experimental --tag-display-limit 0 --allow-root \
		--fail-on error,warning,info,pedantic "$RELEASE"/*.deb
	[ "$output" = "" ]
}

@test "a package has the program, its pages and its completions, and depends on the C library alone" {
	for arch in $ARCH; do
		package=$RELEASE/redlock_${version}_$arch.deb
		[ "$(dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$' | LC_ALL=C sort)" = "./usr/bin/redlock
./usr/share/bash-completion/completions/redlock
./usr/share/doc/redlock/README.md.gz
./usr/share/doc/redlock/changelog.Debian.gz
./usr/share/doc/redlock/changelog.gz
./usr/share/doc/redlock/copyright
./usr/share/doc/redlock/examples/compose.yaml
./usr/share/doc/redlock/examples/redlock-node@.service
./usr/share/fish/vendor_completions.d/redlock.fish
./usr/share/lintian/overrides/redlock
./usr/share/man/man1/redlock-acquire.1.gz
./usr/share/man/man1/redlock-break.1.gz
./usr/share/man/man1/redlock-check.1.gz
./usr/share/man/man1/redlock-completion.1.gz
./usr/share/man/man1/redlock-doctor.1.gz
./usr/share/man/man1/redlock-extend.1.gz
./usr/share/man/man1/redlock-gate.1.gz
./usr/share/man/man1/redlock-help.1.gz
./usr/share/man/man1/redlock-hold.1.gz
./usr/share/man/man1/redlock-release.1.gz
./usr/share/man/man1/redlock-run.1.gz
./usr/share/man/man1/redlock-sandbox.1.gz
./usr/share/man/man1/redlock-status.1.gz
./usr/share/man/man1/redlock-version.1.gz
./usr/share/man/man1/redlock-wait.1.gz
./usr/share/man/man1/redlock.1.gz
./usr/share/man/man1/redlockall.1.gz
./usr/share/man/man5/redlock-config.5.gz
./usr/share/man/man5/redlock-options.5.gz
./usr/share/man/man7/redlock-scripting.7.gz
./usr/share/man/man7/redlock.7.gz
./usr/share/zsh/vendor-completions/_redlock" ]
		is_like "$(dpkg-deb -f "$package" Depends)" 'libc6 (>= 2.3[0-9])'
		[ "$(dpkg-deb -f "$package" Recommends)" = "libssl3t64 | libssl3" ]
		is_like "$(dpkg-deb -f "$package" Built-Using)" 'hiredis (= *)'
		# no script runs when it is installed or removed
		[ "$(dpkg-deb --ctrl-tarfile "$package" | tar -t | LC_ALL=C sort | tr -d '\n')" = ././control./md5sums ]
	done
}

@test "README's command installs a static program with its checksum, and no other" {
	line=$(sed -n 's/^    \(sha256sum --check .* install .*\)/\1/p' "$BATS_TEST_DIRNAME/../../README.md")
	[[ "$line" == *" /usr/local/bin/redlock" ]]
	mkdir "$T/downloads"
	cd "$T/downloads"
	cp "$RELEASE/SHA256SUMS" "$RELEASE/redlock-$version-linux-amd64" .
	eval "${line/\/usr\/local\/bin/"$T"}"
	cmp "$T/redlock" "redlock-$version-linux-amd64"
	[ -x "$T/redlock" ]
	rm "$T/redlock"
	echo >> "redlock-$version-linux-amd64"
	not eval "${line/\/usr\/local\/bin/"$T"}"
	[ ! -e "$T/redlock" ]
}

@test "the static program takes a lock over TLS without other files" {
	# (bats gets confused by another around it)
	PATH=${PATH/"$BATS_LIBEXEC:"/} run env $(printf -- '-u %s ' "${!BATS_@}") \
		STATIC_BINARY="$RELEASE/redlock-$version-linux-$native" bats -f 'where there is nothing else|as ever' \
		"$BATS_TEST_DIRNAME/../bats/static.bats"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok' <<< "$output")" -eq 3 ]
}

@test "the static programs need no other file, and take a lock; that of the other processor by qemu-user" {
	nodes_start 3
	for arch in $ARCH; do
		program=$RELEASE/redlock-$version-linux-$arch
		readelf -ldW "$program" > "$T/elf"
		not grep -E 'INTERP|NEEDED' "$T/elf"
		case $arch in
		"$native") under=() ;;
		amd64) under=(qemu-x86_64) ;;
		arm64) under=(qemu-aarch64) ;;
		esac
		[ "$("${under[@]}" "$program" version | head -n 1)" = "redlock $version" ]
		token=$("${under[@]}" "$program" acquire -n -k job)
		held_on job 3
		run -0 "${under[@]}" "$program" status job
		[[ "$output" == *"on 3 of 3 nodes"* ]]
		"${under[@]}" "$program" extend -k job --token "$token"
		"${under[@]}" "$program" release -k job --token "$token"
		free_everywhere job
		run -0 "${under[@]}" "$program" doctor
		[[ "$output" == *"3 of 3 nodes"* ]]
	done
}

@test "the image has the program and the authorities, where the program finds them" {
	cd "$BATS_TEST_DIRNAME/../.."
	# a builder's steps for the Containerfile
	mkdir "$T/image"
	BINARY=$RELEASE/redlock-$version-linux-$native AUTHORITIES=$RELEASE/ca-certificates.crt
	while read -r step from to; do
		case $step in
		COPY) mkdir -p "$T/image${to%/*}" && cp "$(eval "echo \"$from\"")" "$T/image$to" ;;
		ENTRYPOINT) entry=$(tr -d '[]"' <<< "$from") ;;
		FROM) [ "$from" = scratch ] ;;
		esac
	done < packaging/Containerfile
	[ "$(chroot "$T/image" "$entry" version | head -n 1)" = "redlock $version" ]
	[ "$(cd "$T/image" && find . -type f | sort)" = "./etc/ssl/certs/ca-certificates.crt
./redlock" ]
}
