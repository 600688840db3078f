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

@test "no subcommand leaks memory, on a build with AddressSanitizer" {
	nodes_start 3
	mkdir -m 700 "$T/runtime"
	export XDG_RUNTIME_DIR=$T/runtime REDLOCK_NODE_TIMEOUT=10s
	# the last of two words for one option counts
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=1
	redlock run -v -k job --fence --on-event true --record "$T/record" --metrics-file "$T/metrics" -- true
	redlock run -k a -k b -- true
	redlock run -s -k job -- true
	redlock run -k job -L 3 -- true
	redlock run -k job --once-per 1h -- true
	token=$(redlock acquire -k job)
	run -75 redlock run -n -k job -- true
	run -75 redlock run -w 100ms -k job -- true
	run -75 redlock run -k job -w 100ms --json -- true
	redlock extend -k job --token "$token"
	redlock check -k job --token "$token"
	redlock status
	redlock status -v --json job
	redlock doctor || [ $? -eq 1 ]
	redlock release -k job --token "$token"
	redlock wait -k job
	redlock gate --store "$T/gate" --fence 3 -- true
	redlock acquire -k job > "$T/token"
	redlock break -y --force -k job
	redlock hold -k job > "$T/token"
	also_end_holders "$XDG_RUNTIME_DIR/redlock"
	redlock release -k job
	redlock config
	redlock help
	redlock help run --all > "$T/help"
	redlock version
	redlock completion bash > "$T/completion"
	redlock sandbox -- true
	run -78 redlock run -k job --nodes 'redis://a:b:c' -- true
	run -64 redlock run --no-such-option
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
