# README's promises to a newcomer, and to the machine that tests.

@test "make demo ends as promised, and leaves nothing" {
	cd "$BATS_TEST_DIRNAME/../.."
	run env TMPDIR="$BATS_TEST_TMPDIR" tests/demo "$REDLOCK_BUILD/redlock"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "${lines[-2]}" == "every step ended as promised, in "* ]]
	[[ "${lines[-1]}" == "next: make try "* ]]
	[ "$(ls "$BATS_TEST_TMPDIR" | grep -c redlock)" -eq 0 ]
}

@test "make try ends quietly, whatever the status of its shell; without servers it fails" {
	export TMPDIR=$BATS_TEST_TMPDIR REDLOCK_CONFIG=/dev/null SHELL=/bin/sh
	try=(make -s -C "$BATS_TEST_DIRNAME/../.." -o "$REDLOCK_BUILD/redlock" B="$REDLOCK_BUILD" try)
	run "$REDLOCK_BUILD/tools/pty" expect:'nodes are up' send:'exit 3\r' -- "${try[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"exit 3"* && "$output" != *"Error 3"* ]]
	REDLOCK_SERVER=none run "$REDLOCK_BUILD/tools/pty" -- "${try[@]}"
	[ "$status" -ne 0 ]
	run "${try[@]}" < /dev/null
	[ "$status" -ne 0 ]
	[ "$(ls "$TMPDIR" | grep -c redlock)" -eq 0 ]
}

@test ".ci/run is the README's command, and the README's examples parse" {
	cd "$BATS_TEST_DIRNAME/../.."
	grep -q '^apt-get .* && make check$' README.md
	grep -q '^apt-get .* && make demo$' README.md
	# every option in README is one of redlock's, except in Install, which has other programs' options
	for command in $("$REDLOCK_BUILD/redlock" help | sed -nE 's/^  ([a-z]+)  .*/\1/p'); do
		"$REDLOCK_BUILD/redlock" help --all "$command"
	done > "$BATS_TEST_TMPDIR/help"
	for option in $(sed '/^## Install/,/^## Use/d' README.md | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
		case $option in --no-install-recommends) continue ;; esac
		grep -qE -- "$option\>" "$BATS_TEST_TMPDIR/help"
	done
}

@test "the pictures show what the program prints: make pictures" {
	cd "$BATS_TEST_DIRNAME/../.."
	mkdir "$BATS_TEST_TMPDIR/pictures"
	run env TMPDIR="$BATS_TEST_TMPDIR" scripts/pictures "$REDLOCK_BUILD/redlock" "$BATS_TEST_TMPDIR/pictures"
	echo "$output"
	[ "$status" -eq 0 ] && [ "$output" = "" ]
	diff -r docs/pictures "$BATS_TEST_TMPDIR/pictures"
	# each picture is in README.md, and well-formed
	for picture in docs/pictures/*.svg; do
		grep -qF "($picture)" README.md
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$picture"
	done
}
