# redlock run with nodes that are dead, stopped, black-holed, forgetful, wrong, or the same server twice.

load nodes

setup() { nodes_start 5; }
teardown() {
	continue_all
	nodes_stop
}

# A node time-out longer than any test's patience: a wait for a dead node is noticed.
PATIENT=(--ttl 600s --node-timeout 100s)

# patiently: the same for the lines that follow, so that no node is late because the machine is busy.
patiently() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s; }

# For a lock that a pause of two seconds does not lose, and that redlock extends every two seconds.
STURDY=(--ttl 6s --node-timeout 900ms)

# runs_quickly CMD...: within 30 seconds; PATIENT's node time-out is much longer.
runs_quickly() { timeout --foreground 30 "$@"; }

@test "two dead nodes of five cost nothing" {
	kill_node 2
	kill_node 4
	run runs_quickly "$REDLOCK_BUILD/redlock" run "${PATIENT[@]}" -n -k job -- echo done
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	held_on job 0
}

@test "two stopped nodes of five cost nothing, and keep no key once they continue" {
	stop_node 1
	stop_node 5
	run runs_quickly "$REDLOCK_BUILD/redlock" run "${PATIENT[@]}" -n -k job -- echo done
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	continue_node 1
	continue_node 5
	# the SET that was queued is followed by its release on the same connection
	free_everywhere job
}

@test "two black-holed nodes of five cost nothing" {
	for i in 1 2; do
		"$REDLOCK_BUILD/tools/blackhole" > "$T/hole$i" 3>&- &
		also_end $!
		eventually test -s "$T/hole$i"
	done
	REDLOCK_NODES="127.0.0.1:$(cat "$T/hole1") 127.0.0.1:$(cat "$T/hole2") unix://$T/3.sock unix://$T/4.sock unix://$T/5.sock"
	run runs_quickly "$REDLOCK_BUILD/redlock" run "${PATIENT[@]}" -n -k job -- echo done
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	held_on job 0
}

@test "a minority that stops while the lock is held costs nothing: not at the extension, not at the end" {
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 5
	stop_node 2
	stop_node 3
	extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }
	eventually extended 3
	touch "$T/go"
	ended_with 0
	continue_node 2
	continue_node 3
	free_everywhere job
}

@test "a minority that dies while the lock is held is survived" {
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 5
	kill_node 2
	kill_node 3
	extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }
	eventually extended 3
	touch "$T/go"
	ended_with 0
	held_on job 0
}

@test "three dead nodes of five: 69 with each node's error, at once and after a wait" {
	for i in 1 3 5; do kill_node $i; done
	run redlock run "${PATIENT[@]}" -n -k job -- echo never
	[ "$status" -eq 69 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[1]}" == "hint: "*": no server listens there: "* ]]
	[[ "$output" == "redlock: no quorum for 'job': 2 of 5 nodes can be used, 3 needed: "* ]]
	is_like "$output" "*: each of unix://$T/1.sock, unix://$T/3.sock, unix://$T/5.sock cannot be reached (Connection refused)?hint: *"
	run redlock run -w 1.2 -q -k job -- echo never
	[ "$status" -eq 69 ]
	held_on job 0
}

@test "three stopped nodes of five: 69, and no key is left once they continue" {
	for i in 1 3 5; do stop_node $i; done
	run redlock run -n --node-timeout 200ms -k job -- echo never
	[ "$status" -eq 69 ]
	is_like "$output" "*: each of unix://$T/1.sock, unix://$T/3.sock, unix://$T/5.sock did not answer in time?hint: *"
	for i in 1 3 5; do continue_node $i; done
	free_everywhere job
}

@test "no quorum during a wait: the client acquires when the nodes are up again" {
	export REDLOCK_RESTART_GUARD=off
	for i in 1 3 5; do kill_node $i; done
	in_background "$T/out" run -k job -- echo done
	eventually file_has "$T/out" "waiting: no quorum for 'job'"
	start_node 3
	ended_with 0
	file_has "$T/out" "^done"
	held_on job 0
}

@test "errors that rarely end: a client that never met a majority ends after 5 s, with 69, each node's error and a hint" {
	local i command name began status ended
	for i in 1 2 3; do node $i config set requirepass s3cret > "$T/set"; done
	# No node is late because the machine is busy.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=3s
	# These clients wait at the same time.
	began=$(date +%s%N)
	for command in 'run -k job -- echo never' 'acquire -k job' 'wait -k job' 'hold -k job'; do
		name=${command%% *}
		{
			status=0
			timeout 60 "$REDLOCK_BUILD/redlock" $command > "$T/$name" 2> "$T/$name.err" || status=$?
			echo $status $(($(date +%s%N) - began)) > "$T/$name.end"
		} 3>&- &
		also_end $!
	done
	# Another one has two such errors, and two nodes that are down: a majority may still come.
	start_node 6
	eventually admitted 6
	REDLOCK_NODES=$(printf "unix://$T/%d.sock " 1 2 6 7 8) REDLOCK_RESTART_GUARD=off \
		in_background "$T/out" run -k job -- echo done
	eventually file_has "$T/out" "waiting: no quorum for 'job'"
	for name in run acquire wait hold; do
		eventually test -s "$T/$name.end"
		read -r status ended < "$T/$name.end"
		[ "$status" -eq 69 ]
		[ "$ended" -ge 5000000000 ]
		[ ! -s "$T/$name" ]
		file_has "$T/$name.err" "no quorum for 'job': 2 of 5 nodes can be used, 3 needed: each of unix://$T/1.sock, .* requires a password"
		[ "$(grep -c '^hint: ' "$T/$name.err")" = 1 ]
	done
	lived() { [ "$(ps -o etimes= -p "$BG")" -ge 7 ]; }
	eventually lived
	for i in 7 8; do start_node $i; done
	ended_with 0
	file_has "$T/out" "^done"
}

@test "a socket without permission is an error that rarely ends" {
	needs users
	local as_other=()
	[ "$(id -u)" -ne 0 ] || as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cp "$REDLOCK_BUILD/redlock" "$T/redlock"
	chmod o+x "$BATS_RUN_TMPDIR" "$T"/.. "$T"
	chmod 0500 "$T"/*.sock
	run -69 timeout 60 "${as_other[@]}" "$T/redlock" run -k job -- echo never
	[[ "$output" == *": each of unix://$T/1.sock, "*" cannot be reached (Permission denied)"* ]]
}

@test "a client that waits on a working majority keeps waiting when all passwords are wrong for a while" {
	in_background "$T/holder" run -k job -- sh -c "echo up; until [ -e $T/go ]; do sleep 0.1; done"
	local holder=$BG
	eventually file_has "$T/holder" up
	in_background "$T/out" run -vv -k job -- echo done
	eventually file_has "$T/out" "no, held by"
	for i in 1 2 3 4 5; do
		node $i config set requirepass s3cret > "$T/set"
		redis-cli -s "$T/$i.sock" -a s3cret client kill type normal skipme yes > "$T/set" 2>&1
		redis-cli -s "$T/$i.sock" -a s3cret client kill type pubsub skipme yes > "$T/set" 2>&1
	done
	eventually file_has "$T/out" "requires a password"
	for i in 1 2 3 4 5; do redis-cli -s "$T/$i.sock" -a s3cret config set requirepass '' > "$T/set" 2>&1; done
	touch "$T/go"
	ended_with 0
	file_has "$T/out" "^done"
	wait "$holder" || true
}

@test "--node-wait: the time without a majority, on top of --wait" {
	for i in 1 3 5; do kill_node $i; done
	# at once, however long the lock may be waited for
	run -69 timeout 60 "$REDLOCK_BUILD/redlock" run --node-wait 0 -w 1h -k job -- echo never
	run -69 timeout 60 "$REDLOCK_BUILD/redlock" run --node-wait 1s -k job -- echo never
	[[ "$output" == *"cannot be reached"* ]]
	# -n waits for the nodes, and for no holder
	export REDLOCK_RESTART_GUARD=off
	in_background "$T/out" run -n --node-wait 1h -k job -- echo done
	eventually file_has "$T/out" "waiting: no quorum for 'job'"
	start_node 3
	ended_with 0
	file_has "$T/out" "^done"
	for i in 2 3 4; do eventually answers $i; node $i set job other px 600000 > "$T/set"; done
	run -75 redlock run -n --node-wait 1h -k job -- echo never
	# an outage before the lock is found busy uses up nothing
	for i in 2 3 4; do kill_node $i; done
	in_background "$T/out" run -w 1ms --node-wait 1h -k job -- echo never
	eventually file_has "$T/out" "waiting: no quorum for 'job'"
	for i in 2 3 4; do start_node $i; done
	for i in 2 3 4; do eventually answers $i; done
	ended_with 0 || ended_with 75
}

@test "--node-wait: nodes in quarantine do not make --wait begin anew" {
	export REDLOCK_RESTART_GUARD=on
	for i in 1 2 3; do
		kill_node $i
		start_node $i
	done
	for i in 1 2 3; do eventually answers $i; done
	for i in 4 5; do node $i set job other px 600000 > "$T/set"; done
	run -69 timeout 60 "$REDLOCK_BUILD/redlock" run -w 1s --node-wait 2s -k job -- echo never
	[[ "$output" == *"is in quarantine"* ]]
}

@test "-q: a client that waits for nodes for half a minute says so once" {
	for i in 1 3 5; do kill_node $i; done
	local began
	began=$(date +%s%3N)
	hastily in_background "$T/out" run -q -k job -- echo never
	# its half minute is 3750 ms
	passed() { [ $(($(date +%s%3N) - began)) -ge "$1" ]; }
	eventually file_has "$T/out" "^redlock: waiting: no quorum for 'job': 2 of 5 nodes can be used"
	passed 3750
	eventually passed 6000
	[ "$(grep -c waiting "$T/out")" = 1 ]
	kill -TERM "$BG"
	ended_with 143
}

@test "an attempt that takes long reads every reply, and costs no CPU meanwhile" {
	node 1 set job other px 600000
	stop_node 2
	stop_node 3
	in_background "$T/out" run "${PATIENT[@]}" -n -k job -- echo done
	lived() { [ "$(ps -o etimes= -p "$BG")" -ge 3 ]; }
	eventually lived
	[ "$(ps -o cputimes= -p "$BG")" -lt 2 ]
	continue_node 2
	continue_node 3
	ended_with 0
	file_has "$T/out" "^done"
}

@test "busy and no quorum are never confused: two dead nodes and three that are held" {
	patiently
	for i in 1 2 3 4 5; do node $i set job other px 600000; done
	kill_node 1
	kill_node 2
	for try in $(seq 20); do
		run redlock run -n -k job -- echo never
		[ "$status" -eq 75 ]
	done
	kill_node 3
	for try in $(seq 20); do
		run redlock run -n -k job -- echo never
		[ "$status" -eq 69 ]
	done
	for i in 4 5; do [ "$(node $i get job)" = other ]; done
}

# loses_it_on I...: deletes the key on these nodes, and redlock has ended. (An extension in between sets keys again.)
loses_it_on() {
	local i
	for i; do node "$i" del job > "$T/del"; done
	is_gone "$BG"
}

@test "DEL on a majority stops the command: 79, and the command is gone before redlock is" {
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually held_on job 5
	eventually loses_it_on 1 3 5
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "^redlock: lost 'job': the key is gone from [345] of 5 nodes"
	held_on job 0
}

@test "DEL on a minority is repaired by the next extension" {
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 5
	value=$(node 3 get job)
	for i in 1 2; do node $i del job; done
	eventually held_on job 5
	[ "$(node 1 get job)" = "$value" ]
	[ "$(node 2 pttl job)" -gt 0 ]
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "a node that was down, or restarted empty, gets the key at the next extension" {
	# guard.bats has the quarantine
	export REDLOCK_RESTART_GUARD=off
	kill_node 4
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 4
	start_node 4
	kill_node 2
	start_node 2
	eventually held_on job 5
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "a stolen lock stops the command, names the new holder and leaves its key" {
	in_background "$T/out" run "${STURDY[@]}" -k job -- sleep 60
	eventually held_on job 5
	for i in 1 2 3; do node $i set job thief px 60000; done
	ended_with 79
	file_has "$T/out" "^redlock: lost 'job': now held by another program (value 'thief') on 3 of 5 nodes"
	for i in 1 2 3; do [ "$(node $i get job)" = thief ]; done
	eventually held_on job 3
}

@test "a majority lost while held: TERM, then KILL, before the validity ends: 79" {
	local how first i nodes=$REDLOCK_NODES
	declare -A BROKEN_AT RUN
	for i in 6 7 8 9 10; do start_node $i; done
	for i in 6 7 8 9 10; do eventually admitted $i; done
	# Both at the same time: one lock on nodes that are killed, and one on nodes that are stopped.
	for how in kill_node stop_node; do
		[ $how = stop_node ] || first=1
		[ $how = kill_node ] || first=6
		mkdir "$T/$how"
		REDLOCK_NODES=$(for ((i = first; i < first + 5; i++)); do echo "unix://$T/$i.sock"; done)
		in_background "$T/$how/out" run "${STURDY[@]}" -k "$how" -- sh -c "cd $T/$how; trap '' TERM; echo \$\$ > pid; while :; do date +%s%N > beat.new; mv beat.new beat; sleep 0.01; done"
		RUN[$how]=$BG
		eventually test -s "$T/$how/beat"
		for ((i = first; i < first + 3; i++)); do $how $i; done
		BROKEN_AT[$how]=$(date +%s%N)
	done
	for how in kill_node stop_node; do
		BG=${RUN[$how]}
		ended_with 79
		is_gone "$(cat "$T/$how/pid")"
		# its last output lies before the end of the last extension
		[ $(($(cat "$T/$how/beat") - BROKEN_AT[$how])) -lt 6000000000 ]
		file_has "$T/$how/out" "^redlock: lost '$how': no majority of 5 nodes confirmed it in time: "
	done
	REDLOCK_NODES=$nodes
}

@test "a command that ends in time at TERM is reported as 79 all the same" {
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "trap 'exit 0' TERM; while :; do sleep 0.02; done"
	eventually held_on job 5
	eventually loses_it_on 1 3 5
	ended_with 79
}

@test "a release that reaches no majority is a warning with the time left, and changes no status" {
	in_background "$T/out" run --ttl 20s -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done; exit 6"
	eventually held_on job 5
	for i in 1 3 5; do kill_node $i; done
	touch "$T/go"
	ended_with 6
	cat "$T/out"
	# on a busy machine, another node may be too slow to answer
	file_has "$T/out" "^redlock: 'job' could not be released on [345] of 5 nodes and expires there within [12][0-9]s: unix://"
	for i in 1 3 5; do file_has "$T/out" "unix://$T/$i.sock"; done
}

@test "one server under two names is a configuration error: 78" {
	ln -s 1.sock "$T/alias.sock"
	REDLOCK_NODES="unix://$T/1.sock unix://$T/alias.sock"
	patiently
	run redlock run -n -k job -- echo never
	[ "$status" -eq 78 ]
	[ "${lines[0]}" = "redlock: nodes 'unix://$T/1.sock' and 'unix://$T/alias.sock' are the same server" ]
	held_on job 0
	for try in 1 2 3 4 5; do
		run redlock run -k job --nodes "unix://$T/1.sock unix://$T/2.sock unix://$T/alias.sock" -- echo never
		[ "$status" -eq 78 ]
	done
	run redlock run -k job --nodes "unix://$T/1.sock?db=1 unix://$T/1.sock?db=2" -- echo never
	[ "$status" -eq 78 ]
	[[ "$output" == *"is named twice"* ]]
}

@test "a second name of a server is noticed without its run id, too" {
	for i in 1 2; do node $i acl setuser default -info > "$T/set"; done
	"$REDLOCK_BUILD/tools/proxy" "$T/alias.sock" "$T/1.sock" > "$T/ready" 3>&- &
	also_end $!
	eventually test -s "$T/ready"
	patiently
	run redlock run -n -k job --nodes "unix://$T/1.sock unix://$T/none.sock unix://$T/alias.sock" -- echo never
	[ "$status" -eq 78 ]
	[[ "$output" == *"redlock: 'unix://$T/"*".sock' is the same server as another node, or gets its data"* ]]
	eventually held_on job 0
	run redlock doctor --nodes "unix://$T/1.sock unix://$T/2.sock unix://$T/alias.sock"
	[ "$status" -eq 78 ]
	[[ "$output" == *"error: is the same server as another node, or gets its data"* ]]
	# three names of three servers are no such case, although each has the key of this client
	redlock run -k job -- true
}

@test "a password, an ACL user, a database; and each of them wrong" {
	patiently
	export REDLOCK_RESTART_GUARD=off # in that database they are new
	for i in 1 2 3; do
		node $i config set requirepass 's3cret word' > "$T/set"
		node $i --pass 's3cret word' --no-auth-warning acl setuser worker on '>w0rk' '~*' +@all > "$T/set"
	done
	urls() { printf "unix://$1$T/%d.sock?db=$2 " 1 2 3; }
	run redlock run -n -k job --nodes "$(urls ':s3cret%%20word@' 3)" -- sh -c 'for i in 1 2 3; do
		redis-cli -s "$0/$i.sock" --pass "s3cret word" --no-auth-warning -n 3 exists job; done' "$T"
	[ "$(grep -c '^1$' <<< "$output")" -ge 2 ]
	run redlock run -n -k job --nodes "$(urls 'worker:w0rk@' 3)" -- sh -c 'echo $REDLOCK_NODES'
	[ "$output" = "$(urls '' 3 | sed 's/ $//')" ]
	run redlock run -n -k job --nodes "$(urls 'worker:wr0ng@' 3)" -- echo never
	[ "$status" -eq 69 ]
	echo "$output"
	[[ "$output" == *"unix://$T/"[123]".sock?db=3 refuses the password (WRONGPASS"* ]]
	[[ "$output" != *wr0ng* ]]
	run redlock run -n -k job --nodes "$(urls '' 0)" -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"requires a password"* ]]
	# a database that does not exist: the script would run in another one, so it is no vote
	run redlock run -n -vv -k job --nodes "$(urls 'worker:w0rk@' 77)" -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"DB index is out of range"* ]]
	for i in 1 2 3; do [ "$(node $i --pass 's3cret word' --no-auth-warning keys '*')" = '{redlock}:node' ]; done
}

@test "an error of a node is printed in the node's own words" {
	patiently
	node 1 config set maxmemory 1 > "$T/set"
	node 2 replicaof 127.0.0.1 1 > "$T/set"
	node 3 config set min-replicas-to-write 1 > "$T/set"
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"unix://$T/1.sock is out of memory"* ]]
	[[ "$output" == *"unix://$T/2.sock is a replica"* ]]
	[[ "$output" == *"unix://$T/3.sock refuses writes because it has too few replicas"* ]]
	node 3 config set min-replicas-to-write 0 > "$T/set"
	held_on job 0
}

@test "a server with another protocol is no node" {
	patiently
	perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die;
		open my $ready, ">", "$ARGV[0].ready";
		while (my $c = $s->accept) { sysread $c, my $x, 4096; print $c "HTTP/1.1 400 Bad Request\r\n\r\n"; $c->flush; sleep 0.1; }
	' "$T/http.sock" 3>&- &
	also_end $!
	eventually test -e "$T/http.sock.ready"
	run redlock run -n -k job --nodes "unix://$T/http.sock" -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	[[ "$output" == *"does not speak the Redis protocol"* ]]
}

@test "TCP nodes: a name, an IPv4 and an IPv6 address" {
	needs localhost
	patiently
	for i in 1 2 3; do
		kill_node $i
		for try in $(seq 50); do
			port[i]=$((20000 + RANDOM % 20000))
			start_node $i --port "${port[i]}" --bind 127.0.0.1 -::1
			tries=0
			until answers $i || ! kill -0 "${PID[$i]}" 2> "$T/kill"; do sleep 0.02; done
			answers $i && break
		done
		admitted $i
	done
	REDLOCK_NODES="localhost:${port[1]},redis://127.0.0.1:${port[2]}"
	run redlock run -n -k job -- redis-cli -s "$T/1.sock" exists job
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = 1 ]
	if [ -e /proc/net/if_inet6 ] && redis-cli -h ::1 -p "${port[3]}" ping > "$T/ping" 2>&1; then
		REDLOCK_NODES+=" [::1]:${port[3]}"
		# a node that does not know the script gets the key after the majority
		run redlock run -n -k job -- timeout 20 sh -c 'until [ "$(redis-cli -s "$0" exists job)" = 1 ]; do sleep 0.02; done' \
			"$T/3.sock"
		[ "$status" -eq 0 ]
	fi
	# one server by two ways that only its run id can tell, and by two names of one address
	run redlock run -n -k job --nodes "unix://$T/1.sock redis://127.0.0.1:${port[1]}" -- echo never
	[ "$status" -eq 78 ]
	run redlock run -n -k job --nodes "localhost:${port[1]} 127.0.0.1:${port[2]} 127.0.0.1:${port[1]}" -- echo never
	[ "$status" -eq 78 ]
	[ "${#lines[@]}" -eq 2 ]
	held_on job 0
	# a name that does not exist, in a majority of others
	REDLOCK_NODES="redis://127.0.0.1:${port[1]} redis://127.0.0.1:${port[2]} redis://no-such-host.invalid"
	run redlock run -n -k job -- echo done
	[ "$output" = "done" ]
	run redlock run -n -k job --node redis://no-such-host.invalid -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"redis://no-such-host.invalid:6379 has a name that does not resolve ("* ]]
}

@test "all nodes refuse the connection: each is named, the last included" {
	local nodes='' all='' i
	for i in 1 2 3 4 5; do
		nodes+=" 127.0.0.1:$i"
		all+="${all:+, }redis://127.0.0.1:$i"
		((i % 2 && i > 1)) || continue
		for words in "run -n -k job --nodes '$nodes' -- true" "acquire -n -k job --nodes '$nodes'" "wait -n -k job --nodes '$nodes'"; do
			eval "says 69 '' '*: each of $all cannot be reached (Connection refused)"$'\nhint: no server listens there: *'"' $words"
		done
	done
}

@test "no server on the default address: 69, and the hint names --nodes" {
	unset REDLOCK_NODES
	run redlock run -n -k job --nodes 127.0.0.1:1 -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"redis://127.0.0.1:1 cannot be reached (Connection refused)"$'\n'"hint: "* ]]
}

# knows_scripts I: from now on, node I knows the scripts of a run, and each request is one short message.
knows_scripts() { redlock run -q -k warm --nodes "unix://$T/$1.sock" -- true; }

@test "a node that is still handling the request when redlock has acquired, and released, keeps no key" {
	kill_node 5
	LATEANSWER=$T/late LD_PRELOAD=$REDLOCK_BUILD/tools/lateanswer.so start_node 5
	eventually admitted 5
	knows_scripts 5
	touch "$T/late"
	for i in 1 2 3; do
		began=${EPOCHREALTIME/./}
		redlock run --ttl 600s --node-timeout 10s -k "job$i" -- true
		took=$((${EPOCHREALTIME/./} - began))
		# redlock waits for a second: a node that was stopped for longer may keep the key
		[ "$(holders "job$i")" -eq 0 ] || [ $took -gt 1000000 ]
	done
}

@test "a node that reads the request just before the release is sent keeps no key" {
	kill_node 5
	LATEANSWER=$T/late LD_PRELOAD=$REDLOCK_BUILD/tools/lateanswer.so start_node 5
	eventually admitted 5
	knows_scripts 5
	touch "$T/late"
	stop_node 5
	SLOWLOOK=${PID[5]} ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 \
		LD_PRELOAD=$REDLOCK_BUILD/tools/slowlook.so redlock run --ttl 600s --node-timeout 10s -k job -- true
	[ "$(holders job)" -eq 0 ]
}

@test "a node that is late, and cannot read the request and its release in one step, keeps no key" {
	kill_node 5
	LATEREAD=$T/late LD_PRELOAD=$REDLOCK_BUILD/tools/lateanswer.so start_node 5
	eventually admitted 5
	for i in 1 2 3; do node $i set job another px 600000 > "$T/set"; done
	touch "$T/late"
	began=${EPOCHREALTIME/./}
	# `acquire` sends whole scripts: with the long key, these are more than 16 kB
	run -75 redlock acquire -n --ttl 600s --node-timeout 10s -k job -k "$(printf '%03800d' 0)"
	took=$((${EPOCHREALTIME/./} - began))
	rm "$T/late"
	# (redlock waits for a second)
	[ "$(node 5 exists job)" -eq 0 ] || [ $took -gt 1000000 ]
}

# ---- extensions without a majority ----

@test "run: the first extension without a majority is reported, and the next one with a majority" {
	in_background "$T/run" run --ttl 600s --node-timeout 500ms -k job -- sleep 600
	eventually held_on job 5
	for i in 1 2 3; do stop_node $i; done
	kill -CONT "$BG" # extends at once
	eventually file_has "$T/run" "^redlock: cannot extend 'job' so far, valid for .*: [0-2] of 5 nodes confirmed it, 3 did not vote,.* 3 needed: each of .*1.sock, .*2.sock, .*3.sock did not answer in time"
	for i in 1 2 3; do continue_node $i; done
	eventually file_has "$T/run" "^redlock: extended 'job' again, valid for "
	kill -CONT "$BG"
	kill "$BG"
	ended_with 143
	[ "$(wc -l < "$T/run")" -eq 2 ]
}

@test "hold: the first extension without a majority is reported, and the next one with a majority" {
	redlock hold --ttl 15s --node-timeout 500ms --log "$T/log" -k job > "$T/hold"
	read -r _ holder < "$T/hold"
	also_end "$holder"
	for i in 1 2 3; do stop_node $i; done
	eventually file_has "$T/log" "cannot extend 'job' so far, valid for .*: [0-2] of 5 nodes confirmed it, 3 did not vote,.* 3 needed: "
	for i in 1 2 3; do continue_node $i; done
	eventually file_has "$T/log" "extended 'job' again, valid for "
	redlock release -k job
	[ "$(grep -c 'cannot extend' "$T/log")" -eq 1 ]
}

# ---- scripts by digest ----

# forgotten_everywhere: SCRIPT FLUSH on all nodes.
forgotten_everywhere() {
	local i
	for ((i = 1; i <= N; i++)); do node $i script flush; done > "$T/flushed"
}

@test "nodes forget their scripts between a request and the next one: extended, released, no key is left" {
	forgotten_everywhere
	in_background "$T/run" run -vv "${STURDY[@]}" -k job -- sleep 100
	for n in 1 2; do
		extended() { [ "$(grep -c "extended 'job'" "$T/run")" -ge $n ]; }
		eventually extended
		forgotten_everywhere
	done
	eventually held_on job 5
	kill "$BG"
	ended_with 143
	held_on job 0
	[ "$(grep -c 'acquire: did not know the script' "$T/run")" -ge 3 ]
	[ "$(grep -c 'extend: did not know the script' "$T/run")" -ge 3 ]
	[ "$(grep -c 'release: did not know the script' "$T/run")" -ge 3 ]
}

@test "nodes forget their scripts at any moment: no run fails, and no key is left" {
	for ((n = 0; n < 2000; n++)); do forgotten_everywhere; done 3>&- &
	flusher=$!
	also_end $flusher
	patiently
	for ((n = 0; n < 30; n++)); do redlock run -n -k "job$n" -- true; done
	kill $flusher
	wait $flusher || true
	for ((i = 1; i <= N; i++)); do is_empty $i; done
}

@test "a node that forgot its scripts and answers last gets the key, too" {
	patiently
	for i in 1 2; do redlock run -k warm -- true; done
	node 5 script flush
	stop_node 5
	in_background "$T/run" run -k job -- sleep 60
	eventually held_on job 4
	continue_node 5
	eventually held_on job 5
	kill "$BG"
	ended_with 143
	eventually held_on job 0
}

@test "a node that forgot its scripts, and reads the release after redlock has ended, keeps no key" {
	in_background "$T/run" run --ttl 600s --node-timeout 10s -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 5
	forgotten_everywhere
	stop_node 5
	touch "$T/go"
	ended_with 0
	continue_node 5
	eventually answers 5
	eventually held_on job 0
}

@test "a node that forgot its scripts gets the key from acquire, which ends before it knows" {
	patiently
	for i in 1 2; do redlock run -k warm -- true; done
	node 5 script flush
	stop_node 5
	redlock acquire -k job > "$T/token"
	continue_node 5
	eventually held_on job 5
}

@test "an extension asks for the run id of the server once for each connection; a single node is not asked for it" {
	redis-cli -s "$T/1.sock" monitor > "$T/monitor" 3>&- &
	also_end $!
	eventually test -s "$T/monitor"
	in_background "$T/run" run "${STURDY[@]}" -k job -- sleep 100
	# the last part of an extension: '0': the server tells its id
	asked() { [ "$(grep -c "\" 0 6000 0\"\$" "$T/monitor")" -ge "$1" ]; }
	not_asked() { [ "$(grep -c "\" 0 6000 \"\$" "$T/monitor")" -ge "$1" ]; }
	eventually not_asked 2
	not asked 1
	count=$(grep -c "\" 0 6000 \"\$" "$T/monitor")
	node 1 client kill id "$(node 1 client list | sed -n 's/^id=\([0-9]*\) .* cmd=eval.*/\1/p')" > "$T/killed"
	eventually asked 1
	eventually not_asked $((count + 1))
	kill "$BG"
	ended_with 143
	[ "$(grep -c "\" 0 6000 0\"\$" "$T/monitor")" = 1 ]
	node 1 config resetstat > "$T/set"
	redlock run -n -k job --nodes "unix://$T/1.sock" -- true
	[ "$(node 1 info commandstats | sed -n 's/^cmdstat_info:calls=\([0-9]*\).*/\1/p')" = 1 ]
}

@test "an extension has the id of the token, not its owner" {
	redis-cli -s "$T/1.sock" monitor > "$T/monitor" 3>&- &
	also_end $!
	eventually test -s "$T/monitor"
	in_background "$T/run" run "${STURDY[@]}" -k job --owner a-long-name -- sleep 100
	short() { [ "$(grep '"EVALSHA"' "$T/monitor" | grep -vc a-long-name)" -ge 2 ]; }
	eventually short
	eventually held_on job 5
	kill "$BG"
	ended_with 143
	held_on job 0
}

@test "a user without the right to EVALSHA: whole scripts, on this connection from the first refusal on" {
	for ((i = 1; i <= N; i++)); do node $i acl setuser default -evalsha; done > "$T/set"
	in_background "$T/run" run -vv "${STURDY[@]}" -k job -- sleep 100
	extended() { [ "$(grep -c extended "$T/run")" -ge 2 ]; }
	eventually extended
	kill "$BG"
	ended_with 143
	held_on job 0
	grep 'acquire: does not permit this user to use EVALSHA (NOPERM ' "$T/run"
	not grep 'extend: does not permit' "$T/run"
}
