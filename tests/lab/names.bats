# Slow name servers.

load ../bats/nodes
load lab

setup() {
	needs mounts networks
	lab_start
	pairs 3
	export REDLOCK_RESTART_GUARD=off
}
teardown() {
	continue_all
	nodes_stop
}

# slowly: each answer of the name server takes longer than a node may.
slowly() { names 'n1 after 2500 127.0.1.1' 'n2 after 2500 127.0.1.2' 'n3 after 2500 127.0.1.3'; }

@test "lookups that are slower than the node time-out: every command waits for them" {
	token=$(in_lab acquire -k job --ttl 600s)
	slowly
	for command in extend check release; do
		run -0 in_lab $command -k job --token "$token"
	done
	on_masters job 0
	run -0 in_lab run -n -k job -- echo done
	[ "$output" = "done" ]
	run -0 in_lab acquire -n --ttl 5s -k other
	run -0 in_lab status -v other
	is_like "$output" "*n1*n2*n3*"
}

@test "lookups become slow while hold is in the background: release ends it" {
	line=$(in_lab hold -k job --ttl 600s)
	also_end "${line#* }"
	on_masters job 3
	slowly
	run -0 in_lab release -k job
	eventually on_masters job 0
}

@test "a signal ends the wait for the first lookup" {
	names 'n1 hang' 'n2 hang' 'n3 hang'
	in_lab_background "$T/out" run --node-timeout 30s --ttl 600s -k job -- echo never
	sleeps() { [ "$(cat "/proc/$BG/task/$BG/syscall" | cut -d' ' -f1)" != running ] && [ "$(ls "/proc/$BG/task" | wc -l)" -gt 3 ]; }
	eventually sleeps
	kill -TERM "$BG"
	before=$SECONDS
	ended_with 143
	[ $((SECONDS - before)) -lt 20 ]
}

@test "a name server that does not answer: 69, and the hint names the option" {
	names 'n1 hang' 'n2 hang' 'n3 hang'
	run -69 in_lab run -n -k job -- echo never
	is_like "$output" "*each of redis://n1:6379, redis://n2:6379*has a name that does not resolve (the resolver does not answer)*hint: *--node-timeout*"
}
