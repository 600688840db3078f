# Nodes that move: each is a name in front of a pair of servers, one of which is a replica.

load ../bats/nodes
load lab

setup() {
	needs mounts networks
	lab_start
}
teardown() {
	continue_all
	nodes_stop
}

# uses ADDRESS: redlock has extended a key there since the server became a master.
uses() { at "$1" info commandstats | grep -q "^cmdstat_eval"; }
waits_for_go() { echo "until [ -e $T/go ]; do sleep 0.1; done"; }

@test "each pair fails over in turn, and its old master stays up as a replica: the holder keeps the lock, the waiter gets it" {
	pairs 3
	export REDLOCK_TTL=6s
	in_lab_background "$T/holder" run -v --restart-guard off -k job -- sh -c "echo up; $(waits_for_go)"
	holder=$BG
	eventually file_has "$T/holder" '^up'
	in_lab_background "$T/waiter" run -v --restart-guard off -k job -- echo served
	waiter=$BG
	eventually file_has "$T/waiter" 'waiting:'
	for i in 1 2 3; do
		fail_over $i
		# the lock is complete again before the next one
		eventually uses "${MASTER[i]}"
	done
	touch "$T/go"
	BG=$holder
	ended_with 0
	BG=$waiter
	ended_with 0
	file_has "$T/waiter" '^served'
	eventually on_masters job 0
}

@test "a name moves to a promoted replica, and the old master goes on as a master: it has no vote any more" {
	pairs 3
	export REDLOCK_TTL=6s
	in_lab_background "$T/holder" run -vv --restart-guard off -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	old=${MASTER[1]}
	promote 1
	eventually file_has "$T/holder" 'n1:6379 has moved: its name leads to another server now'
	eventually uses "${MASTER[1]}"
	# no client extends the key there
	is_over() { [ "$(at "$old" exists job)" = 0 ]; }
	eventually is_over
	on_masters job 3
	touch "$T/go"
	ended_with 0
	eventually on_masters job 0
}

@test "a vote waits for the answer to the lookup that began with it: the server that a name has left gives none" {
	pairs 3
	in_lab_background "$T/holder" run -vv --ttl 12s --node-timeout 4s --restart-guard off -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" 'n1:6379 extend: yes'
	at 127.0.2.1 replicaof no one > "$T/set"
	names 'n1 after 300 127.0.2.1' 'n2 127.0.1.2' 'n3 127.0.1.3'
	# a question before this moment may have its answer after it
	before=$(grep -c 'n1:6379 extend: yes' "$T/holder")
	eventually file_has "$T/holder" 'n1:6379 has moved'
	[ "$(sed '/n1:6379 has moved/q' "$T/holder" | grep -c 'n1:6379 extend: yes')" -le $((before + 1)) ]
	touch "$T/go"
	ended_with 0
}

@test "a waiter at the server that its name has left queues at the other one, and gets the lock" {
	pairs 1
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s REDLOCK_RESTART_GUARD=off
	token=$(in_lab acquire -k job)
	in_lab_background "$T/waiter" run -v -k job -- echo served
	queued_at() { [ "$(at "$1" zcard 'redlock:queue:{job}')" = 1 ]; }
	eventually queued_at "${MASTER[1]}"
	old=${MASTER[1]}
	promote 1
	# the replica has the queue, too
	at "${MASTER[1]}" del 'redlock:queue:{job}' > "$T/set"
	at "$old" client kill type pubsub > "$T/set"
	eventually queued_at "${MASTER[1]}"
	in_lab release -k job --token "$token"
	ended_with 0
	file_has "$T/waiter" '^served'
}

@test "a name with the addresses of a master and its replica, in either order: the master is found within one attempt" {
	pairs 3
	names 'n1 127.0.2.1 127.0.1.1' 'n2 127.0.1.2 127.0.2.2' 'n3 127.0.2.3'
	run -0 in_lab run -n --ttl 600s --node-timeout 10s -k job -- echo done
	[ "$output" = "done" ]
	for i in 1 2; do [ "$(at "127.0.1.$i" exists job)" = 0 ]; done
	# a name that leads to a replica only
	run -69 in_lab run -n --nodes redis://n3 -k job -- echo never
	is_like "$output" "*redis://n3:6379 is a replica*"
	# without the right to INFO, the refused write tells it, and the next address is asked
	for i in 1 2; do at "127.0.2.$i" acl setuser default -info > "$T/set"; done
	run -0 in_lab run -n --ttl 600s --node-timeout 10s --restart-guard off -k job --nodes 'redis://n1 redis://n2' -- echo done
	is_like "$output" "*done"
}

@test "a name with the addresses of masters that tell no run id: all clients ask the same one, in whatever order the addresses come" {
	for i in 1 2 3; do
		server "127.0.1.$i"
		votes "127.0.1.$i"
		# they cannot be told apart
		at "127.0.1.$i" acl setuser default -info > "$T/set"
	done
	names 'n1 127.0.1.3 127.0.1.1 127.0.1.2'
	export REDLOCK_NODES=redis://n1
	in_lab_background "$T/holder" run -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	[ "$(at 127.0.1.1 exists job)" = 1 ]
	for order in '1 2 3' '2 3 1' '3 2 1' '2 1 3'; do
		# shellcheck disable=SC2046
		names "n1$(printf ' 127.0.1.%s' $order)"
		run -75 in_lab run -n -k job -- echo never
	done
	touch "$T/go"
	ended_with 0
}

@test "a name with the addresses of two masters, one of which another client cannot reach: no vote, and it is said why" {
	needs nft
	for i in 1 2; do
		server "127.0.1.$i"
		votes "127.0.1.$i"
	done
	names 'n1 127.0.1.1 127.0.1.2'
	export REDLOCK_NODES=redis://n1 REDLOCK_TTL=3s
	# group 1 cannot reach the first one
	lab nft add table inet faults
	lab nft add chain inet faults out '{ type filter hook output priority 0; }'
	lab nft add rule inet faults out meta skgid 1 ip daddr 127.0.1.1 tcp dport 6379 reject with tcp reset
	REDLOCK_UNDER='setpriv --regid 1 --keep-groups' in_lab_background "$T/far" run -k job -- sh -c "echo up; $(waits_for_go)"
	far=$BG
	eventually file_has "$T/far" '^up'
	[ "$(at 127.0.1.1 exists job)$(at 127.0.1.2 exists job)" = 01 ]
	# A look takes a round trip less than a vote, but nothing waits for it: the lock may be acquired, and is lost then.
	run in_lab run -k job --node-wait 1s -- sh -c "$(waits_for_go)"
	[[ $status == 69 || $status == 79 ]]
	is_like "$output" "*n1:6379 is several servers*"
	is_gone() { [ "$(at 127.0.1.1 exists job)" = 0 ]; }
	eventually is_gone
	[ "$(at 127.0.1.2 exists job)" = 1 ]
	touch "$T/go"
	BG=$far ended_with 0
	# a replica is no rival
	at 127.0.1.2 replicaof 127.0.1.1 6379 > "$T/set"
	eventually is_replica 127.0.1.2
	run -0 in_lab run -n -k job -- echo done
	is_like "$output" "*done"
}

@test "a holder whose name gets the address of another master: no vote any more; the majority keeps the lock" {
	for i in 1 2 3 4; do
		server "127.0.1.$i"
		votes "127.0.1.$i"
	done
	names 'n1 127.0.1.1' 'n2 127.0.1.2' 'n3 127.0.1.3'
	export REDLOCK_NODES='redis://n1 redis://n2 redis://n3' REDLOCK_TTL=6s
	in_lab_background "$T/holder" run -vv -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	names 'n1 127.0.1.1 127.0.1.4' 'n2 127.0.1.2' 'n3 127.0.1.3'
	eventually file_has "$T/holder" 'n1:6379 extend: .*is several servers'
	# one that does not answer any more says nothing
	kill -STOP "${SERVER[127.0.1.4]}"
	before=$(grep -c 'is several servers' "$T/holder")
	more() { [ "$(grep -c 'is several servers' "$T/holder")" -ge $((before + 3)) ]; }
	eventually more
	not grep -q 'n1:6379 extend: yes' <(sed '1,/is several servers/d' "$T/holder")
	kill -CONT "${SERVER[127.0.1.4]}"
	# the other one becomes a replica
	at 127.0.1.4 replicaof 127.0.1.1 6379 > "$T/set"
	again() { sed '1,/is several servers/d' "$T/holder" | grep -q 'n1:6379 extend: yes'; }
	eventually again
	touch "$T/go"
	ended_with 0
	for i in 1 2 3; do [ "$(at "127.0.1.$i" exists job)" = 0 ]; done
}

@test "a name with two addresses of one server is one server" {
	server 127.0.1.1
	votes 127.0.1.1
	at 127.0.1.1 config set bind '127.0.1.1 127.0.1.2' > "$T/set"
	names 'n1 127.0.1.1 127.0.1.2'
	export REDLOCK_NODES=redis://n1 REDLOCK_TTL=3s
	in_lab_background "$T/holder" run -vv -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	extended() { [ "$(grep -c 'n1:6379 extend: yes' "$T/holder")" -ge 3 ]; }
	eventually extended
	not file_has "$T/holder" 'several'
	# and it was looked at
	[ "$(at 127.0.1.1 info commandstats | sed -n 's/^cmdstat_info:calls=\([0-9]*\).*/\1/p')" -ge 6 ]
	touch "$T/go"
	ended_with 0
}

@test "a name whose IPv6 address is a replica, and whose IPv4 address is the master: no subcommand asks the replica" {
	server 127.0.1.1
	votes 127.0.1.1
	server ::1 --replicaof 127.0.1.1 6379
	eventually is_replica ::1
	names 'n1 ::1 127.0.1.1'
	run -0 in_lab run -n --ttl 600s --node-timeout 10s --nodes redis://n1 -k job -- echo done
	is_like "$output" "*done"
	[ "$(at 127.0.1.1 exists job)" = 0 ]
	# one that has lost its master, and goes on serving what it has
	at ::1 replicaof 127.0.9.9 6379 > "$T/set"
	export REDLOCK_NODES=redis://n1 REDLOCK_NODE_TIMEOUT=10s REDLOCK_TTL=600s
	token=$(in_lab acquire -k job)
	[ "$(at ::1 exists job)$(at 127.0.1.1 exists job)" = 01 ]
	for words in '' job; do
		run -0 in_lab status $words
		is_like "$output" "@('job' is held by *|KEY?*?job?*?1/1?0)"
	done
	for command in check extend release; do
		run -0 in_lab $command -k job --token "$token"
	done
	[ "$(at 127.0.1.1 exists job)" = 0 ]
	# no lock is held, and the replica has one
	at ::1 replicaof no one > "$T/set"
	at ::1 set job "$(printf '9%.0s' {1..40})" > "$T/set"
	at ::1 replicaof 127.0.9.9 6379 > "$T/set"
	run -0 in_lab status job
	is_like "$output" "'job' is free*"
}

@test "lookups that fail, hang, or find nothing change nothing for a holder; nor does a name with one address more" {
	pairs 3
	in_lab_background "$T/holder" run -v --ttl 3s -k job -- sh -c "echo up; $(waits_for_go)"
	eventually file_has "$T/holder" '^up'
	for how in 'n1 fail' 'n1 hang' 'n1 after 3000 127.0.1.1' 'n1 127.0.9.9 127.0.1.1' ''; do
		lines=()
		for i in 1 2 3; do lines+=("${how/#n1/n$i}"); done
		lines=("${lines[@]/127.0.1.1/X}")
		for i in 0 1 2; do lines[i]=${lines[i]/X/127.0.1.$((i + 1))}; done
		names "${lines[@]}"
		extended=$(grep -c extended "$T/holder" || true)
		more() { [ "$(grep -c extended "$T/holder")" -ge $((extended + 3)) ]; }
		eventually more
		on_masters job 3
	done
	touch "$T/go"
	ended_with 0
}

@test "a name with the addresses of a server that accepts and says nothing, or has too many clients, and of a master" {
	pairs 3
	names 'n1 127.0.2.1 127.0.1.1' 'n2 127.0.2.2 127.0.1.2' 'n3 127.0.1.3'
	for i in 1 2; do kill -STOP "${SERVER[127.0.2.$i]}"; done
	run -0 in_lab run --ttl 600s --node-timeout 2s --restart-guard off -k job -- echo done
	is_like "$output" "*done"
	for i in 1 2; do kill -CONT "${SERVER[127.0.2.$i]}"; done
	# one that has too many clients is named as such
	at 127.0.1.3 config set maxclients 1 > "$T/set"
	lab redis-cli -h 127.0.1.3 subscribe x > "$T/subscribed" 2>&1 3>&- &
	also_end $!
	is_full() { [[ "$(at 127.0.1.3 ping 2>&1)" == *"max number of clients"* ]]; }
	eventually is_full
	names 'n3 127.0.1.3 127.0.9.9'
	run -69 in_lab run -n --nodes redis://n3 -k job -- echo never
	is_like "$output" "*n3:6379 has too many clients*"
}

@test "a command that meets a failover follows it: release, extend, status" {
	pairs 3
	token=$(in_lab acquire -k job --ttl 600s --restart-guard off)
	for i in 1 2 3; do fail_over $i; done
	# the lookup before has the old addresses
	names 'n1 127.0.1.1 127.0.2.1' 'n2 127.0.1.2 127.0.2.2' 'n3 127.0.1.3 127.0.2.3'
	for i in 1 2 3; do at "127.0.1.$i" acl setuser default -info > "$T/set"; done
	for command in extend check release; do run -0 in_lab $command -k job --token "$token"; done
	eventually on_masters job 0
}
