# A long life in short: tests/soak/extensions is the long form.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	SOAK=$BATS_TEST_DIRNAME/../soak
	PID=()
}
teardown() { nodes_stop; }

# bats test_tags=not-under-valgrind
@test "extended again and again while nodes restart and passwords change: nothing grows" {
	needs look_inside localhost
	count_ours_only
	run env TMPDIR="$T" EXTENSIONS=1000 FAILURES=15 UNDER= \
		"$SOAK/extensions" "$REDLOCK_BUILD" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	is_like "${lines[0]}" "redlock: * KiB, * descriptors, 2 threads after 333 extensions; * and 15 failures"
	[ -z "$(find "$T" -mindepth 1 -maxdepth 1 -name 'tmp.*')" ]
}

@test "invalid arguments are refused in one line" {
	for words in EXTENSIONS=x EXTENSIONS=0 EXTENSIONS=9 EXTENSIONS= FAILURES=-1 FAILURES= UNDER=gdb; do
		run env "$words" timeout 20 "$SOAK/extensions" "$REDLOCK_BUILD"
		echo "$words: $status: $output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *": ${words%%=*} is "*", not '${words#*=}'" ]]
	done
}
