#!/usr/bin/env bats
# The simulator's own worlds: no real server takes part.

load nodes

setup() { T=$BATS_TEST_TMPDIR; }

@test "the scripts do the same in LuaJIT as in the Lua of Redis" {
	for profile in swarm adversary interference guarded rivals unsafe; do
		"$REDLOCK_BUILD/sim" --seeds 15 --profile $profile > "$T/jit" || true
		"$REDLOCK_BUILD/sim-lua" --seeds 15 --profile $profile > "$T/lua" || true
		grep -q history "$T/jit"
		diff "$T/jit" "$T/lua"
	done
}

@test "the heads of the scripts, which answer plain requests, answer what the rest would" {
	for profile in swarm adversary interference guarded rivals unsafe; do
		"$REDLOCK_BUILD/sim" --seeds 20 --profile $profile > "$T/with" || true
		"$REDLOCK_BUILD/sim" --seeds 20 --profile $profile --without-heads > "$T/without" || true
		grep -q history "$T/with"
		diff "$T/with" "$T/without"
	done
}

# refused STATUS WORDS COMMAND...: in one line, and without an effect.
refused() {
	local due=$1 words=$2
	shift 2
	run timeout 20 "$@"
	echo "$*: $status: $output"
	[ "$status" -eq "$due" ]
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *"$words"* ]]
}

@test "invalid arguments are refused in one line" {
	sim=$REDLOCK_BUILD/sim
	for seed in abc 7x -1 '' ' 7' 99999999999999999999; do
		refused 64 "--seed wants a whole number, not '$seed'" "$sim" --seed "$seed"
	done
	refused 64 "--check wants a whole number, not 'x'" "$sim" --check=x
	for parts in 0 6; do refused 64 "--check wants 1 to 5, not '$parts'" "$sim" --check=$parts; done
	refused 64 "--first wants a whole number, not '1.5'" "$sim" --first 1.5
	refused 64 "--seeds wants a whole number, not 'abc'" "$sim" --seeds abc
	refused 64 "--seeds wants at least one, not '0'" "$sim" --seeds 0
	for minutes in abc -1 0 1h '' nan inf; do
		refused 64 "--minutes wants a number above 0, not '$minutes'" "$sim" --minutes "$minutes"
	done
	refused 64 "unexpected argument 'extra'" "$sim" extra
	refused 64 "unexpected argument 'extra'" "$sim" --seed 7 extra
	refused 64 "no profile 'none'" "$sim" --profile none
	refused 2 "DEPTH is long, or unset, but not 'foo'" env DEPTH=foo "$BATS_TEST_DIRNAME/../model/run"
}
