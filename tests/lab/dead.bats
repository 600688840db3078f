# Connections that are dead without saying so: a firewall or address translator has forgotten them. New ones work.

load ../bats/nodes
load lab

setup() {
	needs mounts networks nft
	lab_start
	pairs 3
	export REDLOCK_RESTART_GUARD=off
	lab nft add table inet faults
	lab nft add chain inet faults in '{ type filter hook input priority 0; }'
}
teardown() {
	continue_all
	nodes_stop
}

# forget_connections PID: all packets of that process's connections are dropped from now on.
forget_connections() {
	local port ports
	ports=$(lab ss -Htnp state established dport = :6379 | grep "pid=$1," | awk '{ sub(/.*:/, "", $3); print $3 }')
	[ -n "$ports" ]
	for port in $ports; do
		lab nft add rule inet faults in tcp sport "$port" drop
		lab nft add rule inet faults in tcp dport "$port" drop
	done
}

@test "the holder's connections are dead when it releases: the keys are gone, and the waiter gets the lock" {
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s
	in_lab_background "$T/holder" run -v -k job -- sh -c "echo up; until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually file_has "$T/holder" '^up'
	eventually on_masters job 3
	in_lab_background "$T/waiter" run -v -k job -- echo served
	waiter=$BG
	eventually is_queued job "${MASTER[@]}"
	forget_connections "$holder"
	touch "$T/go"
	BG=$holder ended_with 0
	not file_has "$T/holder" 'could not be released'
	BG=$waiter ended_with 0
	file_has "$T/waiter" '^served'
	eventually on_masters job 0
}

@test "a waiter's connections are dead when the lock is released: it connects again, and gets the lock" {
	# with this TTL, a single late node would have 100 seconds
	export REDLOCK_TTL=600s
	in_lab_background "$T/holder" run -v -k job -- sh -c "echo up; until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually file_has "$T/holder" '^up'
	in_lab_background "$T/waiter" run -v -k job -- echo served
	waiter=$BG
	eventually is_queued job "${MASTER[@]}"
	forget_connections "$waiter"
	touch "$T/go"
	BG=$holder ended_with 0
	eventually file_has "$T/waiter" '^served'
	BG=$waiter ended_with 0
}
