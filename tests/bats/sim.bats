#!/usr/bin/env bats
# The simulator depends on its model of a server: compare it with real ones.

load nodes

setup() {
	nodes_start 1 --enable-debug-command yes
	ends_keys_when_asked
}
teardown() { nodes_stop; }

# ends_keys_when_asked: a node deletes expired keys only on access. Otherwise it chooses its own times, unknown to the
# model: Redis 8 deletes a key in its last millisecond already, while a client can still read it.
ends_keys_when_asked() { [ "$(node 1 debug set-active-expire 0)" = OK ]; }

@test "the simulator's server replies as a real one does, to every command that scripts use" {
	# A slow machine needs more steps for as many exact ones.
	exact=0
	for ((seed = 1; exact < 12000; seed++)); do
		[ $seed -le 40 ]
		run "$REDLOCK_BUILD/differ" "$T/1.sock" $seed 4000
		echo "$output"
		[ "$status" -eq 0 ]
		exact=$((exact + $(awk '{ print $2 }' <<< "$output")))
	done
}

run_id() { node 1 info server | grep ^run_id:; }

@test "a restarted server is another one: its run_id changes, and the data that it does not keep are gone" {
	before=$(run_id)
	node 1 set k v > "$T/set"
	kill_node 1
	start_node 1 --enable-debug-command yes
	eventually answers 1
	ends_keys_when_asked
	[ "$(run_id)" != "$before" ]
	[ "$(node 1 exists k)" = 0 ]
	run "$REDLOCK_BUILD/differ" "$T/1.sock" 4 200
	echo "$output"
	[ "$status" -eq 0 ]
}
