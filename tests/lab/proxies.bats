# Proxies between redlock and its nodes: HAProxy in TCP mode, and twemproxy; and clusters of one shard.

load ../bats/nodes
load lab

setup() {
	needs mounts networks
	lab_start
	for i in 1 2 3; do
		server "127.0.1.$i"
		votes "127.0.1.$i"
	done
	export REDLOCK_NODES='redis://127.0.3.1 redis://127.0.3.2 redis://127.0.3.3'
}
teardown() {
	continue_all
	nodes_stop
}

# haproxy_start TIMEOUT ADDRESSES...: HAProxy at 127.0.3.I leads to the servers of the Ith ADDRESSES, in turns. It
# closes connections that are idle for TIMEOUT.
haproxy_start() {
	local timeout=$1 i=0 addresses address
	shift
	{
		printf '%s\n' global 'maxconn 200' defaults 'mode tcp' "timeout client $timeout" "timeout server $timeout" \
			'timeout connect 10s'
		for addresses; do
			i=$((i + 1))
			printf '%s\n' "listen n$i" "bind 127.0.3.$i:6379" 'balance roundrobin'
			for address in $addresses; do echo "server $address $address:6379"; done
		done
	} > "$T/haproxy.cfg"
	nsenter --net="/proc/$THERE/ns/net" haproxy -q -db -f "$T/haproxy.cfg" > "$T/haproxy" 2>&1 3>&- &
	also_end $!
	is_open() { [ "$(lab redis-cli -h 127.0.3.1 ping 2>&1)" = PONG ]; }
	eventually is_open
}
waits_for_go() { echo "until [ -e $T/go ]; do sleep 0.1; done"; }
# job_is_on X+X+X: 1 for each server that has the key, 0 for the others.
job_is_on() { [ "$(for i in 1 2 3; do at "127.0.1.$i" exists job; done | paste -sd +)" = "$1" ]; }

@test "haproxy: one for each node: run, wait, status and doctor are as without it" {
	haproxy_start 600s 127.0.1.1 127.0.1.2 127.0.1.3
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s
	in_lab_background "$T/holder" run -k job -- sh -c "echo up; $(waits_for_go)"
	holder=$BG
	eventually file_has "$T/holder" '^up'
	in_lab_background "$T/waiter" run -k job -- echo served
	waiter=$BG
	eventually is_queued job 127.0.1.{1..3}
	run -0 in_lab status job
	is_like "$output" "'job' is held by *; 1 waiter"
	run -0 in_lab doctor
	touch "$T/go"
	BG=$holder ended_with 0
	BG=$waiter ended_with 0
	file_has "$T/waiter" '^served'
	eventually job_is_on 0+0+0
}

@test "haproxy: it closes idle connections all the time: the holder keeps the lock, and the waiter gets it" {
	haproxy_start 1s 127.0.1.1 127.0.1.2 127.0.1.3
	export REDLOCK_TTL=9s REDLOCK_NODE_TIMEOUT=1500ms
	in_lab_background "$T/holder" run -v -k job -- sh -c "echo up; $(waits_for_go)"
	holder=$BG
	eventually file_has "$T/holder" '^up'
	in_lab_background "$T/waiter" run -v -k job -- echo served
	waiter=$BG
	extended() { [ "$(grep -c extended "$T/holder")" -ge 4 ]; }
	eventually extended
	job_is_on 1+1+1
	touch "$T/go"
	BG=$holder ended_with 0
	BG=$waiter ended_with 0
	file_has "$T/waiter" '^served'
	eventually job_is_on 0+0+0
}

@test "haproxy: two masters behind one address: doctor reports it" {
	haproxy_start 600s '127.0.1.1 127.0.1.2' 127.0.1.3
	run --separate-stderr in_lab doctor --json --nodes 'redis://127.0.3.1'
	[[ "$status" == 69 || "$status" == 78 ]]
	json '[.findings[].id] | index("several-servers") != null'
	json '[.nodes[].usable] | any | not'
}

@test "haproxy: two masters behind one address: a waiter that reaches one of them, then the other, gets no vote" {
	server 127.0.1.4
	votes 127.0.1.4
	haproxy_start 1s '127.0.1.1 127.0.1.4' 127.0.1.2 127.0.1.3
	at 127.0.1.1 set name first > "$T/set"
	# the next connection leads to the other one
	leads_to_first() { [ "$(lab redis-cli -h 127.0.3.1 get name)" = first ]; }
	eventually leads_to_first
	export REDLOCK_TTL=9s REDLOCK_NODE_TIMEOUT=1500ms
	in_lab_background "$T/holder" run -k job --nodes redis://127.0.1.4 -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	run -69 in_lab run -k job --node-wait 3s --restart-guard on --nodes redis://127.0.3.1 -- echo never
	is_like "$output" "*redis://127.0.3.1:6379 is several servers: another one answers than before*"
	is_like "$output" "*hint: name each server by an address of its own, not a load balancer*"
	[ "$(at 127.0.1.1 exists job)" = 0 ]
	touch "$T/go"
	ended_with 0
}

# twemproxy_start ADDRESSES...: twemproxy at 127.0.3.I shares the keys out to the servers of the Ith ADDRESSES.
twemproxy_start() {
	local i=0 addresses address
	for addresses; do
		i=$((i + 1))
		printf '%s\n' "n$i:" "  listen: 127.0.3.$i:6379" '  redis: true' '  servers:'
		for address in $addresses; do echo "   - $address:6379:1 s${address##*.}"; done
	done > "$T/twemproxy.yml"
	nsenter --net="/proc/$THERE/ns/net" nutcracker -c "$T/twemproxy.yml" -a 127.0.0.1 > "$T/twemproxy" 2>&1 3>&- &
	also_end $!
	has_lock() { in_lab run -n -k "job$1" -- true; }
	for i in 1 2 3; do eventually has_lock $i; done
}

@test "twemproxy: locks work, and doctor says what it is" {
	twemproxy_start 127.0.1.1 127.0.1.2 127.0.1.3
	run -0 in_lab status job
	[ "$output" = "'job' is free" ]
	run -0 in_lab doctor
	[[ "$output" == *"warning: answers redlock's scripts, and closes the connection at INFO, as twemproxy does"* ]]
}

@test "twemproxy: several servers behind one address: doctor reports it" {
	server 127.0.1.4
	votes 127.0.1.4
	twemproxy_start '127.0.1.1 127.0.1.4' 127.0.1.2 127.0.1.3
	run in_lab doctor
	[[ "$output" == *"error: is several servers behind a proxy: some keys lead to run id "* ]]
	[ "$(grep -c 'closes the connection at INFO' <<< "$output")" = 1 ]
}

@test "a cluster of one shard is a node: doctor agrees with run" {
	server 127.0.1.4 --cluster-enabled yes
	server 127.0.1.5 --cluster-enabled yes
	at 127.0.1.4 cluster addslotsrange 0 16383 > "$T/set"
	at 127.0.1.5 cluster addslotsrange 0 8000 > "$T/set"
	is_whole() { at 127.0.1.4 cluster info | grep -q '^cluster_state:ok'; }
	eventually is_whole
	votes 127.0.1.4
	in_lab run -n -k job --nodes redis://127.0.1.4 -- true
	run -0 in_lab doctor --nodes redis://127.0.1.4
	[[ "$output" == *"note: is a cluster of one shard: it has all keys, and fails over"* ]]
	run -69 in_lab doctor --nodes redis://127.0.1.5
	[[ "$output" == *"error: "*"cluster"* ]]
}
