# The storm, in short, and the ability of its witness to say no.

load nodes

setup() { STORM=$BATS_TEST_DIRNAME/../soak/storm; }

# storm WORD...: with those settings, each a VARIABLE=value.
storm() {
	run env TMPDIR="$BATS_TEST_TMPDIR" WORKERS=4 "$@" "$STORM" "$REDLOCK_BUILD" 3>&-
	echo "$output"
	[ "$(ls "$BATS_TEST_TMPDIR" | grep -c redlock-storm)" -eq 0 ]
}

@test "the witness notices a redlock that takes no lock, and one that ends with an undocumented status" {
	build=$BATS_TEST_TMPDIR/build
	mkdir -p "$build"
	ln -s "$REDLOCK_BUILD/tools" "$build/tools"
	cat > "$build/redlock" <<- 'END'
		#!/usr/bin/env bash
		command=$1
		while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
		shift && [ "$command" = run ] && exec "$@"
		exit 42
	END
	chmod +x "$build/redlock"
	REDLOCK_BUILD=$build storm SEED=1 NODES=3 MINUTES=0.1
	[ "$status" -eq 1 ]
	[[ "$output" == *"violation: overlap: "* ]]
	[[ "$output" == *"violation: numbered: run "*" got 0 after 0"* ]]
	[[ "$output" == *"violation: run "*" ended with 42, fault: "* ]]
	[ -s "$build/storm/violations" ]
}

# bats test_tags=not-under-valgrind
@test "a quarter of a minute of storm: no overlap, no undocumented status, nothing left" {
	storm SEED=1 MINUTES=0.25
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "0 violations" ]
	[[ "$output" == *" sections, longest pause "* ]]
}

@test "invalid settings of the storm are refused in one line" {
	for words in MINUTES=0 MINUTES=x NODES=0 WORKERS=x SEED=-1; do
		run env "$words" timeout 20 "$STORM" "$REDLOCK_BUILD"
		echo "$words: $status: $output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *"${words%%=*} is "*", not '${words#*=}'" ]]
	done
}
