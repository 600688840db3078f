#!/usr/bin/env bats
# The simulator is as good as its model of a server.

load nodes

setup() { nodes_start 1; }
teardown() { nodes_stop; }

@test "the simulator's node answers as a real server does, and keeps what that keeps" {
	for seed in 1 2 3; do
		run "$REDLOCK_BUILD/differ" "$T/1.sock" $seed 2000
		echo "$output"
		[ "$status" -eq 0 ]
	done
}
