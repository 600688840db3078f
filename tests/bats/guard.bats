# --restart-guard: a node that is new, or forgot its keys, has no vote until all locks that it may have forgotten have
# ended.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	unset REDLOCK_TOKEN REDLOCK_HELD REDLOCK_RESTART_GUARD REDLOCK_MAX_TTL
	# No node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

LONG=(--ttl 600s --node-timeout 10s)
# A client that does not wait tries for two node timeouts if its votes are split: here, for four seconds.
REFUSED=(--ttl 600s --node-timeout 2s)
# Locks that end within seconds, though a process may be stopped for two or three.
BRIEF=(--ttl 8s --node-timeout 2s)

mark() { node "$1" get '{redlock}:node'; }
run_id() { node "$1" info server | tr -d '\r' | sed -n 's/^run_id://p'; }
history() { node "$1" info replication | tr -d '\r' | sed -n 's/^master_replid://p'; }
# in_quarantine I: node I was asked, and has no vote.
in_quarantine() { [[ "$(mark "$1")" == "$(run_id "$1") "* ]]; }
has_mark() { [ "$(mark "$1")" = "$2" ]; }
has_another_mark() { not has_mark "$@"; }
has_only_a_mark() { [ "$(node "$1" keys '*')" = '{redlock}:node' ]; }

# ---- new nodes ----

@test "wait begins the quarantine that belongs to --ttl" {
	node 1 flushall > "$T/flushed"
	REDLOCK_TTL=60s run -0 redlock wait -n -k job
	[[ "$(mark 1)" == *" 66002 "* ]]
}

@test "all nodes restart one after the other, and are admitted: the holder keeps the lock" {
	in_background "$T/holder" run -v --ttl 9s --node-timeout 1500ms -k job -- sh -c "echo up; until [ -e $T/go ]; do sleep 0.1; done"
	eventually file_has "$T/holder" '^up'
	for i in 1 2 3; do
		kill_node $i
		start_node $i
		eventually answers $i
		# as 'doctor --admit' does
		node $i set '{redlock}:node' "$(run_id $i)" > "$T/set"
		has_key() { [ "$(node $i exists job)" = 1 ]; }
		eventually has_key
		counts() { [ "$(grep -c extended "$T/holder")" -gt "$1" ]; }
		eventually counts "$(($(grep -c extended "$T/holder") + 1))"
	done
	touch "$T/go"
	ended_with 0
}

@test "wait: one call begins the quarantine of every node, however late it answers" {
	for i in 1 2 3; do
		kill_node $i
		start_node $i
		eventually answers $i
		stop_node $i
		in_background "$T/wait" wait -k restart --node-timeout 60s
		# the other nodes have been asked, or wait for the third one with the client
		connected() {
			local j
			for j in 1 2 3; do
				[ $j = $i ] || node $j client list | grep -v 'cmd=client' | grep -q 'user=default' || return 1
			done
		}
		eventually connected
		continue_node $i
		ended_with 0
		in_quarantine $i
		eventually admitted $i
	done
}

@test "new nodes: no node votes; a client without --wait gets the reason, the nodes, and the time: 69" {
	for i in 1 2 3; do node $i flushall; done > "$T/set"
	run -69 --separate-stderr redlock run -n -k job -- touch "$T/never"
	is_like "${stderr_lines[0]}" "redlock: no quorum for 'job': [01] of 3 nodes can be used, 2 needed: *unix://$T/[12].sock*unix://$T/[23].sock is in quarantine for another [23][0-9]s*"
	is_like "${stderr_lines[1]}" "hint: *wait: the quarantine of a node that is new, restarted or flushed ends automatically; *'redlock doctor --admit' *"
	[ ! -e "$T/never" ]
	# no key is left, either
	# two nodes suffice for the client's answer: the third may not have been asked
	all_have_a_mark() {
		redlock run -n -k job -- touch "$T/never" 2> "$T/said" || true
		has_only_a_mark 1 && has_only_a_mark 2 && has_only_a_mark 3
	}
	eventually all_have_a_mark
	run -69 redlock run -w 10ms -k job -- touch "$T/never"
	run -69 --separate-stderr redlock acquire --json -n -k job
	json '.outcome == "no-quorum" and ([.nodes[] | select(.why == "is in quarantine")] | length >= 2)'
	run -69 redlock wait -n -k job
}

@test "new nodes are awaited once, and a message says so" {
	for i in 1 2 3; do node $i flushall; done > "$T/set"
	run -0 --separate-stderr redlock run "${BRIEF[@]}" -k job -- echo done
	[ "$output" = "done" ]
	is_like "${stderr_lines[0]}" "redlock: waiting: no quorum for 'job': * in quarantine for another *"
	is_like "${stderr_lines[1]}" "hint: *"
	run -0 --separate-stderr redlock run "${BRIEF[@]}" -n -k job -- echo done
	is_like "$stderr" ''
}

@test "an administrator who knows that the nodes hold no locks may switch the guard off; one or two nodes have none by default" {
	for i in 1 2 3; do node $i flushall; done > "$T/set"
	redlock run -n --restart-guard off -k job -- true
	REDLOCK_RESTART_GUARD=off redlock run -n -k job -- true
	for i in 1 2 3; do [ "$(node $i exists '{redlock}:node')" = 0 ]; done
	redlock run -n --nodes "unix://$T/1.sock" -k job -- true
	redlock run -n --nodes "unix://$T/1.sock unix://$T/2.sock" -k job -- true
	run -69 redlock run -n --nodes "unix://$T/1.sock" --restart-guard on -k job -- true
	run -64 redlock run --restart-guard maybe -k job -- true
	is_like "$output" "redlock: --restart-guard 'maybe' is not auto, on or off?hint: *"
}

@test "a lock that may last longer than --max-ttl: one warning, unless there is no restart guard" {
	local hint="hint: set --max-ttl on all clients of these nodes to the longest time of any lock"
	export REDLOCK_MAX_TTL=20s REDLOCK_NODE_TIMEOUT=2s
	says 0 '' "redlock: --max-ttl 20s is shorter than --ttl 30s: the lock may outlast the quarantine of a restarted node?$hint" \
		run -k job -- true
	says 0 '' "redlock: --max-ttl 20s is shorter than --min-hold 60s: *?$hint" run -t 20s --min-hold 1m -k held -- true
	says 0 '*' "redlock: --max-ttl 20s is shorter than --ttl 30s: *?$hint" acquire -k lasting
	says 79 '' "redlock: --max-ttl 20s is shorter than --ttl 60s: *?$hint?redlock: 'job' is no longer *" \
		extend -t 1m -k job --token none
	says 0 '' '' run -t 20s -k job -- true
	says 0 '' '' run -t 30s --max-ttl 30s -k job -- true
	says 0 '' '' run -t 30s --restart-guard off -k job -- true
	says 0 '' '' wait -t 30s -k job
	says 0 '' '' run -q -k job -- true
}

@test "a client with longer locks makes the quarantine longer, for as long as its locks last" {
	node 1 flushall > "$T/set"
	redlock run --ttl 100s -k job -- true
	eventually in_quarantine 1
	read -r id over length wall history <<< "$(mark 1)"
	[ "$length" = 110002 ]
	redlock run --ttl 50s -k job -- true
	has_mark 1 "$id $over 110002 $wall $history"
	redlock run --ttl 100s --max-ttl 1000s -k job -- true
	eventually has_mark 1 "$id $((over + 990000)) 1100002 $((wall + 990000)) $history"
	redlock run --ttl 1000s -k job -- true
	has_mark 1 "$id $((over + 990000)) 1100002 $((wall + 990000)) $history"
	# a lock that --min-hold left lasts as well
	redlock run --ttl 100s --min-hold 2000s -k other -- true
	eventually has_mark 1 "$id $((over + 2090000)) 2200002 $((wall + 2090000)) $history"
	# once the quarantine is over, it stays over
	node 1 set '{redlock}:node' "$id 1000 1100002 1000 $history" > "$T/set"
	redlock run --ttl 2000s -k job -- true
	has_mark 1 "$id 1000 1100002 1000 1${history#0}"
	export T N
	export_helpers
	redlock run --ttl 2000s -k job -- bash -c 'eventually held_on job 3'
	has_mark 1 "$id 1000 1100002 1000 1${history#0}"
}

# ---- a lock that a node forgot ----

# Two of three nodes have the lock; the third was down.
held_by_two() {
	kill_node 3
	TOKEN=$(redlock acquire "${LONG[@]}" -k job --owner holder)
	held_on job 2
	start_node 3
	eventually admitted 3
}

# forgets HOW: node 2 loses its keys.
forgets() {
	case $1 in
	restart)
		kill_node 2
		start_node 2
		eventually answers 2
		;;
	flush) node 2 flushall > "$T/set" ;;
	promotion)
		# its replica, from before the lock, takes its place
		start_node 4
		eventually answers 4
		node 4 set '{redlock}:node' "$(mark 2)" > "$T/set"
		kill_node 2
		mv "$T/4.sock" "$T/2.sock"
		;;
	esac
}

@test "a node forgets a lock: without the guard a rival gets it, too; with the guard, no client does" {
	for how in restart flush promotion; do
		echo "$how"
		held_by_two
		forgets $how
		# a node without an identity is not asked by name: two replies of three are known
		run -75 redlock run -n "${REFUSED[@]}" -k job -- touch "$T/never"
		is_like "$output" "redlock: 'job' is busy: held by holder *"
		run -75 redlock run -n --ttl 25s --node-timeout 2s --max-ttl 600s -k job -- touch "$T/never"
		run -75 redlock wait -n "${LONG[@]:2}" -k job
		[ ! -e "$T/never" ]
		redlock run -n "${LONG[@]}" --restart-guard off -k job -- touch "$T/violation"
		rm "$T/violation"
		# (only one of three still had it)
		run -79 redlock release "${LONG[@]:2}" -k job --token "$TOKEN"
		# the next lock needs two that vote
		redlock run -n "${LONG[@]}" -k job -- true
		eventually admitted 2
	done
}

@test "a waiting rival does not get the lock when the node is back, but when the holder releases it" {
	held_by_two
	in_background "$T/rival" run "${LONG[@]}" -k job -- touch "$T/ran"
	eventually file_has "$T/rival" waiting
	forgets restart
	# a second rival asks the nodes anew: the node has answered
	run -75 redlock run -n "${LONG[@]}" -k job -- true
	eventually in_quarantine 2
	[ ! -e "$T/ran" ]
	run -79 redlock release "${LONG[@]:2}" -k job --token "$TOKEN" # the remains of the lock
	ended_with 0
	[ -e "$T/ran" ]
}

@test "a key is not repaired on a node in quarantine, and is repaired after it" {
	in_background "$T/out" run -vv "${BRIEF[@]}" --max-ttl 9s -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	node 2 flushall > "$T/set"
	eventually file_has "$T/out" "2.sock repair: is in quarantine for another"
	[ "$(node 2 exists job)" = 0 ]
	in_quarantine 2
	eventually held_on job 3
	read -r id over length <<< "$(mark 2)"
	[ "$(date +%s%3N)" -ge "$over" ]
	touch "$T/go"
	ended_with 0
}

@test "the same for a lock in a script's hands" {
	token=$(redlock acquire "${LONG[@]}" -k job)
	eventually held_on job 3
	node 2 flushall > "$T/set"
	# (redlock does not wait for the reply of a late node)
	eventually extends_and in_quarantine 2
	[ "$(node 2 exists job)" = 0 ]
	admitted 2
	eventually extends_and held_on job 3
}
extends_and() { redlock extend "${LONG[@]}" -k job --token "$token" && "$@"; }

@test "an extension that finds the lock counts, in any life of the node" {
	in_background "$T/out" run -v "${BRIEF[@]}" -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	for i in 1 2 3; do node $i set '{redlock}:node' "$(printf %040d 1) 1000 5000 1000 $(history $i)"; done > "$T/set"
	eventually file_has "$T/out" "extended 'job'"
	touch "$T/go"
	ended_with 0
	run -69 redlock run -n -k job -- true
}

# ---- clocks ----

@test "a node with another time of day has no vote: the message says so" {
	with_a_clock 1
	with_a_clock 2
	for seconds in 40 -40; do
		for i in 1 2; do jump $i $seconds; done
		run -69 redlock run -n -k job -- touch "$T/never"
		way=$([ $seconds = 40 ] && echo "ahead of" || echo behind)
		is_like "${lines[0]}" "redlock: no quorum for 'job': 1 of 3 nodes can be used, 2 needed: *unix://$T/1.sock*has another time of day, [34][0-9]s $way ours*"
		is_like "${lines[1]}" "hint: *set the clocks of that host and of this one: timedatectl set-ntp true; '--restart-guard off' does not look at clocks"
	done
	for i in 1 2; do jump $i 20; done
	redlock run -n -k job -- true
	[ ! -e "$T/never" ]
}

@test "a clock that is stepped after the start, and back, does not shorten the quarantine" {
	with_a_clock 2
	held_by_two
	node 2 flushall > "$T/set"
	run -75 redlock run -n "${REFUSED[@]}" -k job -- true
	eventually in_quarantine 2
	before=$(mark 2)
	jump 2 1000
	# (the node deletes keys that expire)
	eventually node_is_over 2
	run -75 redlock run -n "${REFUSED[@]}" -k job -- true
	[ "$(mark 2)" = "$before" ]
	jump 2 0
	run -75 redlock run -n "${REFUSED[@]}" -k job -- true
	[ "$(mark 2)" = "$before" ]
	redlock run -n "${LONG[@]}" --restart-guard off -k job -- true
}
# By its own clock its quarantine would be over.
node_is_over() {
	local now
	now=$(node "$1" time | head -n 1)
	[ "${now}000" -gt "$(cut -d ' ' -f 2 <<< "$(mark "$1")")" ]
}

@test "a clock that is stepped by less, in quarantine, does not shorten it either" {
	with_a_clock 2
	jump 2 -10
	held_by_two
	node 2 flushall > "$T/set"
	run -75 redlock run -n --ttl 20s --node-timeout 2s -k job -- true
	eventually in_quarantine 2
	jump 2 15
	eventually node_is_over 2
	run -75 redlock run -n --ttl 20s --node-timeout 2s -k job -- true
}

@test "a mark written by a wrong clock counts for no longer than its own duration" {
	redlock run -k job -- true
	read -r id over length wall history <<< "$(mark 1)"
	for i in 1 2 3; do
		read -r id over length wall history <<< "$(mark $i)"
		node $i set '{redlock}:node' "$id 9999999999999 2000 9999999999999 $history"
	done > "$T/set"
	run -0 --separate-stderr redlock run "${BRIEF[@]}" -w 30s -k job -- echo done
	[ "$output" = "done" ]
}

@test "a mark that names years counts for 25 hours, or for as long as redlock's own locks can last" {
	local now
	# The majority that answers is node 1 and node 2.
	stop_node 3
	now=$(date +%s%3N)
	for i in 1 2; do
		node $i set '{redlock}:node' "$(run_id $i) $((now + 99999999999)) 99999999999 $((now + 99999999999)) 0"
	done > "$T/set"
	run -69 redlock run -n -k job -- true
	is_like "${lines[0]}" "redlock: no quorum for 'job': 1 of 3 nodes can be used, 2 needed: each of *1.sock, *2.sock is in quarantine for another 1d*"
	for i in 1 2; do
		eventually has_length $i 90000000
		read -r id over length wall history <<< "$(mark $i)"
		[ $((over - now)) -lt 90100000 ]
		[ $((wall - now)) -lt 90100000 ]
		node $i set '{redlock}:node' "$id $((now + 99999999999)) 99999999999 $((now + 99999999999)) 0"
	done > "$T/set"
	run -69 redlock run -n --max-ttl 48h -k job -- true
	eventually has_length 1 190080002
}
has_length() { [[ "$(mark "$1")" == *" $2 "* ]]; }

# ---- failover, there and back ----

@test "a node that becomes a replica, and a master again, has forgotten, though it never restarted" {
	start_node 4 --port 0
	eventually admitted 4
	redlock run -k job -- true
	eventually in_quarantine 2 # (with a duration of 0: it was admitted)
	before=$(mark 2)
	# (the history of its data is another one then)
	node 2 replicaof 127.0.0.1 1 > "$T/set"
	node 2 replicaof no one > "$T/set"
	[ "$(mark 2)" = "$before" ]
	redlock run -k job -- true
	eventually has_another_mark 2 "$before"
	in_quarantine 2
	read -r id over length wall history <<< "$(mark 2)"
	[ "$over" -gt "$(date +%s%3N)" ]
}

# Nodes 2 and 4 have ports, for replication.
with_ports() {
	local i try
	for i in 2 4; do
		for try in 1 2 3 4 5; do
			# it has ended if the port was taken
			[ -z "${PID[i]:-}" ] || kill_node $i || true
			PORT[i]=$((20000 + RANDOM % 10000))
			start_node $i --port "${PORT[i]}" --bind 127.0.0.1 --repl-diskless-sync-delay 0 "$@"
			eventually admitted $i && break
		done
	done
}
# copies A B: A has the data of B.
copies() { [[ "$(node "$1" info replication)" == *role:slave*master_link_status:up*master_sync_in_progress:0* ]]; }

@test "a failover there and back, with all data: the node forgot the locks of that time, and has redlock's mark" {
	with_ports
	redlock run -k job -- true
	eventually in_quarantine 2 # (with a duration of 0: it was admitted)
	before=$(mark 2)
	node 4 replicaof 127.0.0.1 "${PORT[2]}" > "$T/set"
	eventually copies 4
	eventually has_mark 4 "$before"
	node 4 replicaof no one > "$T/set"
	# a lock that the new master does not get
	kill_node 3
	TOKEN=$(redlock acquire "${LONG[@]}" -k job --owner holder)
	start_node 3
	eventually admitted 3
	node 2 replicaof 127.0.0.1 "${PORT[4]}" > "$T/set"
	eventually copies 2
	node 2 replicaof no one > "$T/set"
	[ "$(node 2 exists job)" = 0 ]
	has_mark 2 "$before"
	run -75 redlock run -n "${REFUSED[@]}" -k job -- touch "$T/never"
	[ ! -e "$T/never" ]
	eventually has_another_mark 2 "$before"
	in_quarantine 2
	after=$(mark 2)
	# the end of its backlog is not the end of the quarantine
	node 2 config set repl-backlog-ttl 1 > "$T/set"
	eventually without_backlog 2
	run -75 redlock run -n "${REFUSED[@]}" -k job -- true
	[[ "$(mark 2)" == "${after% *} "* ]]
	redlock run -n "${LONG[@]}" -k job --restart-guard off -- true
}
without_backlog() { [[ "$(node "$1" info replication)" == *repl_backlog_active:0* ]]; }

# ---- the same data under another id ----

@test "a backup, and the first replica, give the data's history another id: no node loses its vote for that" {
	redlock run -k job -- true
	for i in 1 2 3; do
		node $i config set repl-diskless-sync-delay 0 > "$T/set"
		before=$(history $i)
		node $i --rdb "$T/copy" > "$T/rdb" 2>&1
		[ "$(history $i)" != "$before" ]
	done
	run -0 --separate-stderr redlock run -n -k job -- echo done
	[ "$output" = "done" ]
	is_like "$stderr" ''
	# nor after a while without a replica
	for i in 1 2 3; do
		before[i]=$(history $i)
		node $i config set repl-backlog-ttl 1 > "$T/set"
	done
	for i in 1 2 3; do
		eventually without_backlog $i
		[ "$(history $i)" != "${before[i]}" ]
	done
	redlock run -n -k job -- true
	with_ports
	redlock run -k job -- true
	before=$(history 2)
	node 4 replicaof 127.0.0.1 "${PORT[2]}" > "$T/set"
	eventually copies 4
	[ "$(history 2)" != "$before" ]
	redlock run -n -k job --nodes "unix://$T/1.sock unix://$T/2.sock" --restart-guard on -- true
}

# ---- users with few rights ----

@test "a user without INFO or TIME, or without redlock's keys, is warned once; the node votes without the guard" {
	for i in 1 2 3; do
		node $i acl setuser noinfo on '>pw' '~*' +@all -info
		node $i acl setuser nokeys on '>pw' '~job' '~redlock:*' +@all
		node $i acl setuser readonly on '>pw' '~job' '%R~{redlock}:node' +@all
		node $i acl setuser notime on '>pw' '~*' +@all -time
		node $i flushall
	done > "$T/set"
	for user in noinfo nokeys readonly notime; do
		case $user in
		noinfo) lacks=INFO rule=+info ;;
		notime) lacks=TIME rule=+time ;;
		*) lacks="the key '{redlock}:node'" rule='~{redlock}:node' ;;
		esac
		REDLOCK_NODES="unix://$user:pw@$T/1.sock unix://$user:pw@$T/2.sock unix://$user:pw@$T/3.sock" \
			run -0 --separate-stderr redlock run -n -k job -- echo done
		[ "$output" = "done" ]
		is_like "$stderr" "redlock: no restart guard on unix://*[12].sock, unix://*[23].sock*: this user may not use $lacks?hint: in redis-cli on *: ACL SETUSER $user $rule?hint: ACL SAVE*"
		[ "${#stderr_lines[@]}" -eq 3 ]
	done
}

@test "a mark that is no text, or has another form, does not count" {
	node 1 del '{redlock}:node' > "$T/set"
	node 1 rpush '{redlock}:node' x > "$T/set"
	node 2 set '{redlock}:node' garbage > "$T/set"
	run -69 redlock run -n -k job -- touch "$T/never"
	eventually in_quarantine 1
	eventually in_quarantine 2
	[ ! -e "$T/never" ]
	says 64 '' "redlock: the key '{redlock}:node' is redlock's own
hint: 'redlock doctor' shows the state of the node" run -k '{redlock}:node' -- true
}
