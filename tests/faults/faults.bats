# redlock run with faults of nodes, their clocks, their data or the network. nodes.bats tests the cost of dead, stopped
# and black-holed nodes.

load ../bats/nodes
load ../lab/lab

# One line instead of 33 failures.
setup() { nodes_start 3; }
teardown() {
	continue_all
	nodes_stop
}

# patiently: times so long that a node on a busy machine is never taken for dead.
patiently() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s; }

# know_scripts: from now on, each node knows the script of an acquisition, so that a request is one short message.
know_scripts() {
	for i in 1 2 3; do redlock acquire -k warm --ttl 600s --nodes "unix://$T/$i.sock" --restart-guard off; done > "$T/warm"
	for i in 1 2 3; do node $i del warm; done > "$T/warm"
}

# hurriedly: redlock gives a silent node up soon, and a key that it may have kept lasts for long.
hurriedly() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=500ms; }

# For a lock that a busy machine does not lose, and that redlock extends every few seconds all the same; and for one
# that is to be lost.
STURDY=(--ttl 8s --node-timeout 900ms)
BRIEF=(--ttl 4s --node-timeout 900ms)

# in_between I FAULT...: from now on, the connection to node I goes through a proxy with that fault.
in_between() {
	local i=$1
	shift
	rm -f "$T/proxy$i.ready"
	"$REDLOCK_BUILD/tools/proxy" "$T/proxy$i" "$T/$i.sock" "$@" > "$T/proxy$i.ready" 3>&- &
	PROXY[i]=$!
	also_end $!
	eventually test -s "$T/proxy$i.ready"
	REDLOCK_NODES=${REDLOCK_NODES/"$T/$i.sock"/"$T/proxy$i"}
}
no_longer_between() {
	kill -KILL "${PROXY[$1]}"
	wait "${PROXY[$1]}" 2> "$T/kill" || true
}

# a command that runs until $T/go is there
waits_for_go() { echo "until [ -e $T/go ]; do sleep 0.1; done"; }
extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }

# ---- the connection ----

@test "cut at any byte of a request: no vote, no key is left" {
	patiently
	know_scripts
	for n in 0 1 2 9 100 400 600; do
		in_between 1 --cut-request $n
		in_between 2 --cut-request $n
		# acquire sends the whole script, run the digest of it
		command=(run -n -k job -- echo never)
		[ $n -le 100 ] || command=(acquire -n -k job)
		run redlock "${command[@]}"
		echo "$n: $output"
		[ "$status" -eq 69 ]
		free_everywhere job
		# a minority of them costs nothing
		no_longer_between 2
		in_between 2
		run -0 redlock "${command[@]}"
		[ $n -le 100 ] || redlock release -k job --token "$output"
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "cut at any byte of a reply: no vote, and the granted key is released" {
	patiently
	for n in 0 1 2 3 4 5 10 11 20 50 58; do
		in_between 1 --while "$T/bad" --cut-reply $n
		in_between 2 --while "$T/bad" --cut-reply $n
		touch "$T/bad"
		in_background "$T/out" run -w 0 -k job -- echo never
		ended_with 69
		file_has "$T/out" "no quorum for 'job': 1 of 3 nodes can be used"
		rm "$T/bad"
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "cut off during the release: the command's status, and no message unless a majority is affected" {
	hurriedly
	REDLOCK_NODE_TIMEOUT=3s # (a node that does not get the key at once gets it late)
	for n in 1 2; do
		in_between $n --while "$T/bad" --cut-request 0
		in_background "$T/out" run -k job -- sh -c "$(waits_for_go); exit 6"
		eventually held_on job 3
		touch "$T/bad" "$T/go"
		ended_with 6
		eventually held_on job $n
		rm "$T/bad" "$T/go"
		for i in 1 2 3; do node $i del job; done
		not file_has "$T/out" "on 1 of 3 nodes"
	done
	file_has "$T/out" "^redlock: 'job' could not be released on [23] of 3 nodes and expires there within "
}

@test "byte by byte, in both directions" {
	patiently
	for i in 1 2 3; do in_between $i --bytewise; done
	run redlock run -n -k job -- sh -c 'for i in 1 2 3; do redis-cli -s "$0/$i.sock" exists job; done' "$T"
	[ "$status" -eq 0 ]
	[ "$(grep -cx 1 <<< "$output")" -ge 2 ]
	free_everywhere job
}

# $29, "Y 600000 0 i" and the run id, nothing, a line each, and then the reply to the release, which begins with byte 36
@test "any byte of a reply changed: no vote, unless the byte does not matter; and no key is left" {
	flipped() {
		in_between 1 --flip "$1"
		in_between 2 --flip "$1"
		run redlock run -n -k job -- echo done
		echo "$1: $status $output"
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	}
	know_scripts
	hurriedly
	# all but the end of the text, and some of the run id
	for n in $(seq 0 17) 18 27 32 33; do
		flipped "$n"
		[ "$status" -eq 69 ]
		[ "$n" -ne 0 ] || [[ "$output" == *"proxy1"?(,*)" does not speak the Redis protocol"* ]]
	done
	patiently
	# and in the reply to the release
	for n in 34 35 36 37 41 42 43 46 47; do
		flipped "$n"
		[ "$status" -eq 0 ]
		[[ "$output" == done* ]]
	done
}

@test "replies that announce gigabytes, or never end: refused at once" {
	patiently
	for text in '$2147483647\r\n' '$4294967295\r\n' '*4294967295\r\n' '*2147483647\r\n' '*4\r\n$2147483647\r\n' \
		'+' '-' ':' '*' '*1\r\n*1\r\n*1\r\n*1\r\n' ':99999999999999999999\r\n' '$-7\r\n' '*-7\r\n' 'x' '%1\r\n' ',1.5\r\n'; do
		in_between 1 --flood --say "$text"
		in_between 2 --flood --say "$text"
		run timeout --foreground 30 "$REDLOCK_BUILD/redlock" run -n -k job -- echo never
		echo "$text: $output"
		[ "$status" -eq 69 ]
		[[ "$output" =~ "proxy1"(,.*)?" "(does not speak the Redis protocol|answered at excessive length) ]]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "replies that announce gigabytes and then stop: time-out" {
	hurriedly
	for text in '$2147483647\r\n' '*4\r\n' '*4\r\n:1\r\n' '+O' '-LOADING'; do
		in_between 1 --say "$text"
		in_between 2 --say "$text"
		run redlock run -n -k job -- echo never
		[ "$status" -eq 69 ]
		echo "$text: $output"
		[[ "$output" =~ "proxy1"(,.*)?" "(did not answer in time|answered at excessive length) ]]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "delayed replies: no wait lasts too long, and the lock is sound when they arrive" {
	hurriedly
	in_between 1 --while "$T/bad" --hold
	in_between 2 --while "$T/bad" --hold
	touch "$T/bad"
	in_background "$T/out" run -vv -k job -- sh -c 'echo "token $REDLOCK_TOKEN"'
	eventually file_has "$T/out" "waiting: no quorum for 'job'"
	not file_has "$T/out" token
	rm "$T/bad"
	ended_with 0
	file_has "$T/out" "^token"
	free_everywhere job
}

# Node 1's YES to the first attempt, given up after 3 s, arrives at 4 s, while the second attempt waits for node 3,
# which is free again later, since it did not know the script of the undo; node 1 gets no further request. Node 2 belongs to another client.
@test "a reply of an attempt that was given up is no vote in the next one" {
	know_scripts
	in_between 1 --delay 4000 --withhold "$T/shut"
	in_between 3 --delay 2000
	node 2 set job other px 600000 > "$T/set"
	in_background "$T/out" run -v -w 8s -k job --ttl 600s --node-timeout 3s -- echo never
	eventually held_on job 3
	touch "$T/shut"
	# 75 if node 3 has answered the last attempt in time
	wait "$BG" || status=$?
	[[ "$status" = 75 || "$status" = 69 ]]
	not file_has "$T/out" never
	rm "$T/shut"
	[ "$(node 2 del job)" = 1 ]
	free_everywhere job
}

@test "a node slower than the time-out has no vote, and keeps no key; a faster one only costs its time" {
	for i in 1 2; do in_between $i --delay 400; done
	# (redlock waits for a release for at most a second; it would report an unconfirmed one)
	run --separate-stderr redlock run -n -k job --ttl 600s --node-timeout 100s -- echo done
	[ "$output" = "done" ]
	free_everywhere job
	for i in 1 2; do
		no_longer_between $i
		in_between $i --delay 20000
	done
	run redlock run -n -k job --ttl 600s --node-timeout 200ms -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"each of unix://$T/proxy1, unix://$T/proxy2 did not answer in time"* ]]
	free_everywhere job
}

@test "a request that arrives twice, after the release: others wait for it no longer than the TTL" {
	for i in 1 2 3; do in_between $i --while "$T/bad" --twice 6000; done
	touch "$T/bad"
	run redlock run -w 30s -k job --ttl 8s -- rm "$T/bad"
	[ "$status" -eq 0 ]
	held_on job 0
	eventually held_on job 3
	run redlock run -w 60s -q -k job -- echo mine
	[ "$status" -eq 0 ]
	[ "$output" = mine ]
	held_on job 0
}

# ---- the servers ----

# refuses I WORDS: when all nodes are asked, node I refuses with these words. (The third node to refuse may be too late
# to be named.)
refuses() { [[ "$output" == *"unix://$T/$1.sock"?(, unix*)" $2"* ]]; }

@test "LOADING: no vote while a node reads its data, and one when it is done" {
	patiently
	for i in 1 2; do
		node $i eval 'for i = 1, 20000 do redis.call("SET", i, i) end' 0 > "$T/set"
		node $i save > "$T/set"
		kill_node $i
		start_node $i --key-load-delay 5000 --loading-process-events-interval-bytes 1024
		loads() { [[ "$(node "$1" ping 2>&1)" == LOADING* ]]; }
		eventually loads $i
	done
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "is still loading its data"
	refuses 2 "is still loading its data"
	for i in 1 2; do [ "$(node $i config set key-load-delay 0)" = OK ]; done
	for i in 1 2; do eventually admitted $i; done # (it kept its data)
	run redlock run -q -w 100s -k job -- echo done
	[ "$output" = "done" ]
	held_on job 0
}

@test "MISCONF, a replica without its master, a user without rights, too many clients" {
	patiently
	mkdir "$T/gone"
	kill_node 1
	start_node 1 --dir "$T/gone" --save '3600 1'
	eventually answers 1
	rmdir "$T/gone"
	node 1 set x 1 > "$T/set"
	node 1 bgsave > "$T/set"
	failed() { node 1 info persistence | grep -q 'rdb_last_bgsave_status:err'; }
	eventually failed
	node 2 config set replica-serve-stale-data no > "$T/set"
	node 2 replicaof 127.0.0.1 1 > "$T/set"
	run redlock run -n -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	refuses 1 "refuses writes because it cannot save to disk"
	refuses 2 "is a replica without its master"
	node 3 acl setuser default -eval -evalsha > "$T/set"
	run redlock run -n -k job --nodes "unix://$T/3.sock" -- echo never
	[ "$status" -eq 69 ]
	refuses 3 "denies permission"
	node 3 acl setuser default +eval +evalsha -set > "$T/set"
	run redlock run -n -k job --nodes "unix://$T/3.sock" -- echo never
	[ "$status" -eq 69 ]
	refuses 3 "denies permission"
	node 3 acl setuser default +@all > "$T/set"
	redis-cli -s "$T/3.sock" subscribe nothing > "$T/subscribed" 3>&- &
	also_end $!
	eventually test -s "$T/subscribed"
	node 3 config set maxclients 1 > "$T/set"
	full() { node 3 ping 2>&1 | grep -q 'max number of clients'; }
	eventually full
	run redlock run -n -k job --nodes "unix://$T/3.sock" -- echo never
	[ "$status" -eq 69 ]
	refuses 3 "has too many clients"
}

@test "a member of a cluster that is down: no vote" {
	needs networks
	patiently
	kill_node 1
	in_own_network start_node 1 --cluster-enabled yes --cluster-config-file "$T/cluster.conf"
	eventually answers 1
	run redlock run -n -k job --nodes "unix://$T/1.sock" -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "belongs to a cluster that is down"
}

@test "a member of a cluster with the key's slot elsewhere: no vote" {
	needs networks
	patiently
	kill_node 1
	# two members in a new network
	cat > "$T/cluster" <<-END
		ip link set lo up
		for i in 1 9; do
			redis-server --port 700\$i --unixsocket "$T/\$i.sock" --dir "$T" --save '' --cluster-enabled yes \
				--cluster-config-file "$T/cluster\$i.conf" > "$T/\$i.log" &
		done
		wait
	END
	setsid unshare --net sh "$T/cluster" 3>&- &
	also_end -$!
	eventually answers 1
	eventually answers 9
	node 9 cluster addslotsrange 0 16383 > "$T/set"
	node 9 cluster meet 127.0.0.1 7001 > "$T/set"
	moved() { [[ "$(node 1 get job 2>&1)" == MOVED* ]]; }
	eventually moved
	kill_node 2
	run redlock run -n -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	refuses 1 "is a cluster member"
}

@test "CLIENT PAUSE: a node that delays its replies has no vote, and performs the release with the rest" {
	hurriedly
	REDLOCK_NODE_TIMEOUT=3s
	for i in 1 2; do node $i client pause 1000000 write > "$T/set"; done
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "did not answer in time"
	# redlock does not wait for a minority
	node 1 client unpause > "$T/set"
	run redlock run -n -k other -- echo done
	[ "$output" = "done" ]
	node 2 client unpause > "$T/set"
	free_everywhere job
	free_everywhere other
}

@test "BUSY: no vote, and redlock does not kill the script that keeps the node busy" {
	for i in 1 2; do
		node $i config set lua-time-limit 10 > "$T/set"
		node $i eval 'while true do end' 0 > "$T/script$i" 2>&1 3>&- &
		also_end $!
		busy() { [[ "$(node "$1" ping 2>&1)" == BUSY* ]]; }
		eventually busy $i
	done
	run redlock run -n --ttl 600s --node-timeout 100s -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "is busy with a script"
	refuses 2 "is busy with a script"
	for i in 1 2; do [ "$(node $i script kill)" = OK ]; done
	free_everywhere job
}

@test "out of memory while the lock is held: extended, released; only taking it is refused" {
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	for i in 1 2 3; do node $i config set maxmemory 1 > "$T/set"; done
	: > "$T/out"
	eventually extended 1
	touch "$T/go"
	ended_with 0
	held_on job 0
	patiently
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "is out of memory"
}

@test "FLUSHALL and SCRIPT FLUSH on a minority are repaired; FLUSHALL on a majority is a loss: 79" {
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	for i in 1 2 3; do node $i script flush > "$T/set"; done
	node 1 flushall > "$T/set"
	admitted 1
	eventually held_on job 3
	for i in 1 2; do node $i flushall > "$T/set"; done
	ended_with 79
	file_has "$T/out" "lost 'job': the key is gone from [23] of 3 nodes"
	held_on job 0
}

@test "kill -9 and restart of every node: with its AOF the lock continues" {
	for i in 1 2 3; do
		kill_node $i
		start_node $i --appendonly yes --appendfsync always --appenddirname "aof$i"
		eventually admitted $i
	done
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	value=$(node 1 get job)
	for i in 1 2 3; do
		kill_node $i
		start_node $i --appendonly yes --appendfsync always --appenddirname "aof$i"
		eventually answers $i
		[ "$(node $i get job)" = "$value" ]
	done
	: > "$T/out"
	eventually extended 1
	touch "$T/go"
	ended_with 0
	held_on job 0
}

# vote_of I: what node I answers; alone, it is the whole quorum.
vote_of() {
	local got=0
	redlock run -n --nodes "unix://$T/$1.sock" --restart-guard on -k job -- true > "$T/vote" 2>&1 || got=$?
	case $got in
	0) echo votes ;;
	69) grep -o -e 'is in quarantine' -e 'is a replica' "$T/vote" | head -n 1 ;;
	*) cat "$T/vote" ;;
	esac
}
mark() { node "$1" get '{redlock}:node'; }
history() { node "$1" info replication | tr -d '\r' | sed -n 's/^master_replid://p'; }
# has_settled I: node I has a vote, and its mark has the id of its history, if its server is one that gets it.
has_settled() {
	eventually admitted "$1"
	[ "$(vote_of "$1")" = votes ]
	[[ "$(mark "$1")" == *" 0$(history "$1")" ]] || node "$1" info server | grep -q 'redis_version:6\.0'
}
ended() { ! kill -0 "${PID[$1]}" 2> "$T/kill"; }

# shuts_down I: a busy server may refuse for once.
shuts_down() { ended "$1" || { node "$1" shutdown save >> "$T/$1.shutdown" 2>&1 || true; } && ended "$1"; }

# end_server I HOW
end_server() {
	case $2 in
	shutdown) node "$1" shutdown > "$T/end" || true ;;
	save) node "$1" save > "$T/end" && kill -KILL "${PID[$1]}" ;;
	term) kill "${PID[$1]}" ;;
	kill) kill -KILL "${PID[$1]}" ;;
	esac
	eventually ended "$1"
	wait "${PID[$1]}" 2> "$T/kill" || true
}

@test "a node that restarts with all its data is in quarantine, whatever it is saved with, and however it ends" {
	for with in "--save 3600 1" "--appendonly yes --aof-use-rdb-preamble yes" "--appendonly yes --aof-use-rdb-preamble no" \
		"--appendonly yes --save 3600 1"; do
		for how in shutdown save term kill; do
			rm -rf "$T/data"
			mkdir "$T/data"
			kill_node 1
			read -ra options <<< "--appendfsync always $with --dir $T/data"
			start_node 1 "${options[@]}"
			has_settled 1
			before=$(mark 1) old=$(history 1)
			end_server 1 $how
			start_node 1 "${options[@]}"
			eventually answers 1
			echo "$with, $how: $before, then $(mark 1)"
			# the data came back, unless they were in memory only
			[ "$(mark 1)" = "$before" ] || [ "$with $how" = "--save 3600 1 kill" ]
			[ "$(history 1)" != "$old" ]
			[ "$(vote_of 1)" = "is in quarantine" ]
		done
	done
}

# copies A B: A is a replica, and has the data of its master.
copies() { [[ "$(node "$1" info replication)" == *role:slave*master_link_status:up*master_sync_in_progress:0* ]]; }
has_another_vote() { [ "$(vote_of "$1")" != "$2" ]; }

@test "a node that was a replica is in quarantine, however it became a master" {
	for i in 1 2; do
		kill_node $i
		PORT[i]=$((20000 + RANDOM % 10000))
		start_node $i --port "${PORT[i]}" --bind 127.0.0.1 --repl-diskless-sync-delay 0 --save "3600 1"
		has_settled $i
	done
	for how in "replicaof no one" restart "restart as a replica" failover "a copied dump"; do
		[ "$how" != failover ] || [ "$(node 2 failover abort 2>&1)" = "ERR No failover in progress." ] || continue
		node 2 replicaof 127.0.0.1 "${PORT[1]}" > "$T/set"
		eventually copies 2
		# the first replica has changed the id: node 1 keeps its vote
		[ "$(vote_of 1)" = votes ]
		[ "$(vote_of 2)" = "is a replica" ]
		eventually has_mark_of 2 1
		case $how in
		"replicaof no one") node 2 replicaof no one > "$T/set" ;;
		failover)
			node 1 failover > "$T/set"
			eventually is_master 2
			[ "$(vote_of 2)" = "is in quarantine" ]
			eventually copies 1
			# and back
			has_settled_again 2
			node 2 failover > "$T/set"
			eventually is_master 1
			[ "$(vote_of 1)" = "is in quarantine" ]
			eventually copies 2
			node 2 replicaof no one > "$T/set"
			;;
		restart)
			eventually shuts_down 2
			start_node 2 --port "${PORT[2]}" --bind 127.0.0.1 --repl-diskless-sync-delay 0 --save "3600 1"
			eventually answers 2
			;;
		"restart as a replica")
			eventually shuts_down 2
			start_node 2 --port "${PORT[2]}" --bind 127.0.0.1 --replicaof 127.0.0.1 1
			eventually answers 2
			node 2 replicaof no one > "$T/set"
			;;
		"a copied dump")
			node 1 save > "$T/set"
			kill_node 2
			cp "$T/1.rdb" "$T/2.rdb"
			start_node 2 --port "${PORT[2]}" --bind 127.0.0.1 --repl-diskless-sync-delay 0 --save "3600 1"
			eventually answers 2
			;;
		esac
		echo "$how: $(mark 2), $(history 2)"
		[ "$(vote_of 2)" = "is in quarantine" ]
		eventually admitted 1
		eventually admitted 2
	done
}
has_mark_of() { [ "$(mark "$1")" = "$(mark "$2")" ]; }
is_master() { [[ "$(node "$1" info replication)" == *role:master* ]]; }
has_settled_again() { eventually admitted "$1" && [ "$(vote_of "$1")" = votes ]; }

@test "kill -9 and restart of a majority without AOF: 79, and the command is gone" {
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	for i in 1 2; do kill_node $i; done
	for i in 1 2; do start_node $i; done
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "^redlock: lost 'job': "
	held_on job 0
}

# ---- clocks ----

@test "the time of day of a minority of nodes jumps forward: the key expires there early, and is repaired" {
	export REDLOCK_RESTART_GUARD=off # such a node would have no vote
	with_a_clock 1
	in_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	jump 1 3600
	ended_there() { node 1 info stats | grep -q '^expired_keys:[1-9]'; }
	eventually ended_there
	eventually held_on job 3
	: > "$T/out"
	eventually extended 1
	touch "$T/go"
	ended_with 0
	held_on job 0
}

@test "the time of day of a majority of nodes jumps forward: the next extension notices, 79" {
	with_a_clock 1
	with_a_clock 2
	in_background "$T/out" run "${STURDY[@]}" -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	jump 1 3600
	jump 2 3600
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "^redlock: lost 'job': the key is gone from [23] of 3 nodes"
	held_on job 0
}

@test "the time of day of all nodes jumps back: the key would last for long, but is extended and released" {
	export REDLOCK_RESTART_GUARD=off # such a node would have no vote
	for i in 1 2 3; do with_a_clock $i; done
	# not extended before the test has looked at it
	in_background "$T/out" run -v --ttl 24s --node-timeout 900ms -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	for i in 1 2 3; do jump $i -3600; done
	[ "$(node 1 pttl job)" -gt 3500000 ]
	patiently
	run redlock run -n -k job -- echo never
	[ "$status" -eq 75 ]
	: > "$T/out"
	eventually extended 1
	touch "$T/go"
	ended_with 0
	held_on job 0
	run redlock run -n -k job -- echo done
	[ "$output" = "done" ]
}

@test "redlock's own time of day and its time namespace do not matter" {
	needs times
	printf '%+010d' 0 > "$T/clock"
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" WALLJUMP=$T/clock \
		LD_PRELOAD=$REDLOCK_BUILD/tools/walljump.so in_background "$T/out" run -v "${STURDY[@]}" -k job -- \
		sh -c "date +%s > $T/before; until [ -e $T/now ]; do sleep 0.1; done; date +%s > $T/after; $(waits_for_go)"
	eventually test -s "$T/before"
	printf '%+010d' 36000 1<> "$T/clock"
	touch "$T/now"
	eventually test -s "$T/after"
	[ $(($(cat "$T/after") - $(cat "$T/before"))) -ge 35000 ] # the jump was visible
	: > "$T/out"
	eventually extended 1
	printf '%+010d' -36000 1<> "$T/clock"
	: > "$T/out"
	eventually extended 1
	touch "$T/go"
	ended_with 0
	held_on job 0
	run unshare --time --boottime 100000 --fork "$REDLOCK_BUILD/redlock" run -n "${STURDY[@]}" -k job -- sleep 3
	[ "$status" -eq 0 ]
	held_on job 0
}

# ---- the network ----

# nodes_in_a_network: node I listens at 10.77.I.2:6379, in a network of the servers, at the other end of its own veth
# pair; redlock is at 10.77.I.1, in the lab.
nodes_in_a_network() {
	local i
	new_network LAB
	new_network THERE
	REDLOCK_NODES=
	for i in $(seq "$N"); do
		kill_node "$i"
		lab ip link add "n$i" type veth peer name "n$i" netns $THERE
		lab ip address add "10.77.$i.1/24" dev "n$i"
		there ip address add "10.77.$i.2/24" dev "n$i"
		lab ip link set "n$i" up
		there ip link set "n$i" up
		redis-server() { exec nsenter --net="/proc/$THERE/ns/net" redis-server "$@"; }
		start_node "$i" --port 6379 --bind "10.77.$i.2" --protected-mode no
		unset -f redis-server
		REDLOCK_NODES+="redis://10.77.$i.2 "
	done
	for i in $(seq "$N"); do
		eventually admitted "$i"
		reached() { [ "$(lab redis-cli -h "10.77.$1.2" ping 2>&1)" = PONG ]; }
		eventually reached "$i"
	done
	there nft add table inet faults
	there nft add chain inet faults in '{ type filter hook input priority 0; }'
	there nft add chain inet faults out '{ type filter hook output priority 0; }'
}

# fault in|out I RULE...: an nft rule for the packets that node I gets, or sends.
fault() {
	local chain=$1 i=$2
	shift 2
	there nft add rule inet faults "$chain" ip "$([ "$chain" = in ] && echo daddr || echo saddr)" "10.77.$i.2" "$@"
}
no_faults() { there nft flush table inet faults; }

@test "nft: connections dropped, rejected, reset: for a majority it is 69 with each node's error" {
	needs networks nft
	nodes_in_a_network
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s
	run in_lab run -n -k job -- echo done
	[ "$output" = "done" ]
	fault in 1 tcp dport 6379 drop
	run in_lab run -n -k job -- echo done
	[ "$output" = "done" ]
	fault in 2 tcp dport 6379 reject with tcp reset
	run in_lab run -n --node-timeout 2s -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	[[ "$output" == *"10.77.1.2:6379 did not accept the connection in time"* ]]
	[[ "$output" == *"10.77.2.2:6379 cannot be reached (Connection refused)"* ]]
	no_faults
	fault in 1 reject with icmp host-prohibited
	fault in 2 reject with icmp admin-prohibited
	run in_lab run -n -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	[[ "$output" == *"each of redis://10.77.1.2:6379, redis://10.77.2.2:6379 cannot be reached (No route to host)"* ]]
	held_on job 0
}

@test "half open: the link of a minority goes down silently, and the lock survives; of a majority: 79" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run -v "${STURDY[@]}" -k job -- sh -c "echo \$\$ > $T/pid; $(waits_for_go)"
	eventually held_on job 3
	there ip link set n1 down
	: > "$T/out"
	eventually extended 1
	there ip link set n1 up
	eventually held_on job 3
	there ip link set n1 down
	there ip link set n2 down
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "^redlock: lost 'job': no majority of 3 nodes confirmed it in time: "
}

@test "the link to the queue node goes dark while many wait there: all get the lock when its TTL is over" {
	needs networks nft
	nodes_in_a_network
	export REDLOCK_TTL=8s REDLOCK_NODE_TIMEOUT=900ms
	in_lab_background "$T/holder" run -k job -- sh -c "$(waits_for_go)"
	holder=$BG
	eventually held_on job 3
	for n in $(seq 12); do
		in_lab_background "$T/$n" run -k job -- sh -c "echo $n >> $T/served"
		waiters[n]=$BG
	done
	eventually in_queue 12
	for line in 1 2 3; do
		node $line info clients | grep -q 'blocked_clients:0' || break
	done
	there ip link set "n$line" down
	touch "$T/go"
	BG=$holder
	ended_with 0
	for n in $(seq 12); do
		BG=${waiters[n]}
		ended_with 0
	done
	[ "$(sort -n "$T/served" | tr '\n' ' ')" = "$(seq -s ' ' 12) " ]
}

@test "a partition: the holder's command is gone before a client on the other side can get the lock" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run "${BRIEF[@]}" -k job -- sh -c 'trap "" TERM; while :; do echo ours; sleep 0.01; done >> "$0"' "$T/journal"
	ours=$BG
	eventually file_has "$T/journal" ours
	for i in 1 2; do
		fault in $i drop
		fault out $i drop
	done
	# the rival reaches all nodes by another link
	in_background "$T/rival" run -q --nodes "unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock" -k job -- \
		sh -c 'echo rival >> "$0"' "$T/journal"
	ended_with 0
	BG=$ours
	ended_with 79
	[ "$(uniq "$T/journal" | tr '\n' ' ')" = "ours rival " ]
}

@test "replies lost after their effect: no vote, and the key is free as soon as the link is up" {
	needs networks nft
	nodes_in_a_network
	know_scripts
	# the connections are up, but carry nothing
	for i in 1 2; do fault out $i 'tcp flags & psh == psh' drop; done
	in_lab_background "$T/out" run -n --ttl 600s --node-timeout 3s -k job -- echo never
	eventually held_on job 3
	ended_with 69
	file_has "$T/out" "10.77.1.2:6379\(, .*\)\? did not answer in time"
	free_everywhere job
}

@test "one way only: requests arrive and replies do not: the command ends in time though the keys live on" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run -v "${BRIEF[@]}" -k job -- sh -c "trap '' TERM; echo \$\$ > $T/pid; while :; do date +%s%N > $T/beat.new; mv $T/beat.new $T/beat; sleep 0.01; done"
	eventually test -s "$T/beat"
	for i in 1 2; do fault out $i 'tcp flags & psh == psh' drop; done
	cut_at=$(date +%s%N)
	ended_with 79
	is_gone "$(cat "$T/pid")"
	# within the validity of the last confirmed extension
	[ $(($(cat "$T/beat") - cut_at)) -lt 4000000000 ]
	free_everywhere job
}

@test "one way only: replies arrive and requests do not: the command ends in time" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run "${BRIEF[@]}" -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	for i in 1 2; do fault in $i tcp dport 6379 drop; done
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "no majority of 3 nodes confirmed it in time: "
	eventually held_on job 0
}

NAMES='redis://a.example redis://b.example redis://c.example'

@test "names that do not exist end the wait after 5 s; a name server that fails for a while does not" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'c.example 10.77.2.2'
	run -69 in_lab run --nodes "$NAMES" -k job -- echo never
	[[ "$output" == *"no quorum for 'job': 1 of 3 nodes can be used, 2 needed: "?(each of )"redis://a.example:6379"?(, *)" has a name that does not resolve"* ]]
	names 'a.example fail' 'b.example fail' 'c.example 10.77.2.2'
	in_lab_background "$T/out" run --nodes "$NAMES" -k job -- echo done
	eventually file_has "$T/out" "waiting: no quorum"
	lived() { [ "$(ps -o etimes= -p "$BG")" -ge 8 ]; }
	eventually lived
	names 'a.example 10.77.1.2' 'b.example 10.77.3.2' 'c.example 10.77.2.2'
	ended_with 0
	file_has "$T/out" "^done"
}

@test "a resolver that does not answer: 69 within the node time-out, and for one node of three it costs nothing" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'a.example hang' 'b.example 10.77.1.2' 'c.example 10.77.2.2'
	run in_lab run -n --ttl 600s --node-timeout 2s --nodes redis://a.example -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	[[ "$output" == *"redis://a.example:6379 has a name that does not resolve (the resolver does not answer)"* ]]
	# a wait for the resolver would take longer than the test may
	for nodes in "$NAMES" "redis://a.example 10.77.1.2 10.77.2.2"; do
		run in_lab run -n --ttl 600s --node-timeout 100s -k job --nodes "$nodes" -- echo done
		[ "$status" -eq 0 ]
		[ "$output" = "done" ]
		held_on job 0
	done
	run in_lab status --node-timeout 2s -v --nodes "$NAMES" job
	[ "$status" -eq 0 ]
	[[ "$output" == *"redis://a.example:6379 look: has a name that does not resolve (the resolver does not answer)"* ]]
}

@test "a resolver that is slow with a node that is needed: redlock waits for it, as for a slow connection" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'a.example after 1000 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.2'
	kill_node 3
	# two nodes answer at once, which is no majority
	run in_lab run -n --ttl 600s --node-timeout 100s -k job --nodes "$NAMES" -- echo done
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	held_on job 0
}

@test "a resolver that fails, and names that do not exist, are reported, and cost nothing" {
	needs mounts networks nft
	nodes_in_a_network
	patiently
	name_server $LAB 127.0.0.1 'a.example fail' 'b.example 10.77.1.2' 'c.example 10.77.2.2'
	run in_lab run -n -k job --nodes "$NAMES" -- echo done
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	names 'a.example fail' 'c.example 10.77.2.2'
	run in_lab run -n -k job --nodes "$NAMES" -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	is_like "$output" "*redis://a.example:6379*redis://b.example:6379 has a name that does not resolve (*)*"
	held_on job 0
}

@test "names with many addresses: each is tried, whichever comes first" {
	needs mounts networks nft
	nodes_in_a_network
	patiently
	# a port without a server; an address without a route; IPv6, which does not exist here
	name_server $LAB 127.0.0.1 'a.example 127.0.0.1 10.99.0.1 2001:db8::1 10.77.1.2' 'b.example 10.77.1.1 10.77.2.2' \
		'c.example 2001:db8::2 2001:db8::3 127.0.0.2 10.77.3.2'
	run in_lab run -n -k job --nodes "$NAMES" -- redis-cli -s "$T/3.sock" exists job
	echo "$output"
	[ "$status" -eq 0 ]
	kill_node 3
	run in_lab run -n -k job --nodes "$NAMES" -- echo done
	[ "$output" = "done" ]
	held_on job 0
	# the nearest come first
	names "a.example $(printf '127.0.0.%d ' {1..28}) 10.77.1.2"
	run in_lab run -n -k job --nodes redis://a.example -- echo done
	echo "$output"
	[ "$output" = "done" ]
	# an address that drops packets costs its time-out, once: the next attempt begins with the other
	fault in 1 drop
	names 'a.example 10.77.1.2 10.77.2.2'
	run in_lab run -w 60s --ttl 600s --node-timeout 1s -k job --nodes redis://a.example -- echo done
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *done ]]
	held_on job 0
}

@test "names with first addresses that drop packets: one attempt, or one query, reaches the last all the same" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'a.example 10.77.1.2 10.77.3.2 10.77.2.2'
	fault in 1 drop
	fault in 3 drop
	as_one=(-k job --node-timeout 12s --nodes redis://a.example)
	run -0 --separate-stderr in_lab acquire -n --ttl 600s "${as_one[@]}"
	[ "$(node 2 exists job)" = 1 ]
	run -0 in_lab release --token "$output" "${as_one[@]}"
	[ "$(node 2 exists job)" = 0 ]
}

@test "two names of one server, known by its address, or only by its run id: 78" {
	needs mounts networks nft
	nodes_in_a_network
	patiently
	name_server $LAB 127.0.0.1 'a.example 10.77.1.2' 'b.example 10.77.1.2' 'c.example 10.77.2.2'
	run in_lab run -n -k job --nodes "$NAMES" -- echo never
	[ "$status" -eq 78 ]
	[[ "$output" == *"nodes 'redis://a.example:6379' and 'redis://b.example:6379' are the same server"* ]]
	there nft add chain inet faults to '{ type nat hook prerouting priority -100; }'
	there nft add rule inet faults to ip daddr 10.77.1.7 dnat ip to 10.77.1.2
	there ip address add 10.77.1.7/24 dev n1
	names 'a.example 10.77.1.2' 'b.example 10.77.1.7' 'c.example 10.77.2.2'
	# a late node has not told its identity yet, and has no vote
	twins() {
		run in_lab run -n -k job --nodes "$NAMES" -- true
		echo "$output"
		[ "$status" -eq 78 ]
	}
	eventually twins
	[[ "$output" == *"nodes 'redis://a.example:6379' and 'redis://b.example:6379' are the same server"* ]]
	free_everywhere job
}

# server_at ADDRESS I: another, empty server answers there as node I, alongside node 3.
server_at() {
	there ip address add "$1" dev n3 nodad
	redis-server() { exec nsenter --net="/proc/$THERE/ns/net" redis-server "$@"; }
	start_node "$2" --port 6379 --bind "${1%/*}" --protected-mode no
	unset -f redis-server
	eventually answers "$2"
}
# extended_by_now: once more, by the remaining nodes.
extended_by_now() {
	: > "$T/out"
	eventually extended 2
}
# gone_from I J: the lock is gone from both.
gone_from() { [ "$(node "$1" exists job)$(node "$2" exists job)" = 00 ]; }

@test "a node that moves is found again by its name while the lock is held" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.99.0.1'
	in_lab_background "$T/out" run "${STURDY[@]}" -k job --nodes "$NAMES" -- sh -c "$(waits_for_go)"
	eventually held_on job 2
	names 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.2'
	eventually held_on job 3
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "hold: a name that is looked up while the background holder starts is looked up there again, at once" {
	nodes_in_a_network
	mkdir -m 700 "$T/runtime"
	export XDG_RUNTIME_DIR=$T/runtime
	name_server $LAB 127.0.0.1 'a.example after 3000 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.2'
	is_connected() { node 1 client list | grep -q ' addr=10[.]77[.]'; }
	# hold KEY ARG...
	hold() {
		local line
		line=$(in_lab hold -k "$1" --nodes "$NAMES" "${@:2}") || return
		also_end "${line#* }"
	}
	# a connection waits for the name when the process forks
	hold patient --ttl 600s --node-timeout 100s
	eventually is_connected
	# the connection has given the name up
	hold brief "${STURDY[@]}"
	eventually held_on brief 3
}

@test "a name that moves: the server that it has left has no vote; the new one has, after its quarantine" {
	needs mounts networks nft
	nodes_in_a_network
	name_server $LAB 127.0.0.1 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.2'
	in_lab_background "$T/out" run -vv "${STURDY[@]}" -k job --nodes "$NAMES" -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	server_at 10.77.3.9/24 4
	names 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.9'
	eventually file_has "$T/out" 'c.example:6379 has moved'
	eventually gone_from 3 3
	extended_by_now
	has_job() { [ "$(node 4 exists job)" = 1 ]; }
	eventually has_job
	kill_node 1
	extended_by_now
	touch "$T/go"
	ended_with 0
	eventually gone_from 2 4
}

@test "a node that moves from a dead machine to another one, with IPv6: found again by its name, and needed" {
	needs mounts networks nft
	nodes_in_a_network
	lab ip address add fd77::1/64 dev n3 nodad
	name_server $LAB 127.0.0.1 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example 10.77.3.2'
	in_lab_background "$T/out" run -v "${STURDY[@]}" --restart-guard off -k job --nodes "$NAMES" -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	# the connection is not closed
	there ip address del 10.77.3.2/24 dev n3
	kill_node 3
	server_at fd77::2/64 3
	names 'a.example 10.77.1.2' 'b.example 10.77.2.2' 'c.example fd77::2'
	eventually held_on job 3
	kill_node 1
	extended_by_now
	touch "$T/go"
	ended_with 0
	eventually gone_from 2 3
}

@test "a connection that is idle for long is probed, so that no device on its way forgets it" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run --ttl 600s -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	probed() { [ "$(lab ss -tno dport = 6379 | grep -c 'timer:(keepalive,')" -eq 3 ]; }
	eventually probed
	touch "$T/go"
	ended_with 0
}

# forgets: the path silently loses the existing connections.
forgets() {
	OLD=$(lab ss -tnH state established dport = 6379 | awk '{ sub(".*:", "", $3); print $3 }' | paste -sd ,)
	there nft add rule inet faults in tcp sport "{ $OLD }" drop
	there nft add rule inet faults out tcp dport "{ $OLD }" drop
}

@test "connections that the path forgets: made anew for the next extension, and the lock is released" {
	needs networks nft
	nodes_in_a_network
	in_lab_background "$T/out" run -v --ttl 30s --node-timeout 900ms -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	forgets
	kill -CONT "$BG" # it extends at once
	# redlock waits for the old ones for at most a sixth of the TTL
	eventually extended 1
	for port in ${OLD//,/ }; do [ -z "$(lab ss -tnH state established sport = "$port")" ]; done
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "the connections of a waiter are probed, too; if the path forgets them all the same, the waiter connects again" {
	needs networks nft
	nodes_in_a_network
	NODES="unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	in_background "$T/holder" run --ttl 600s -k job --nodes "$NODES" -- sh -c "$(waits_for_go)"
	holder=$BG
	eventually held_on job 3
	in_lab_background "$T/out" run -k job -- echo mine
	waiter=$BG
	eventually in_queue 1
	idle() { [ "$(lab ss -tnoH state established dport = 6379 | grep -c 'timer:(keepalive,')" -eq 3 ]; }
	eventually idle
	forgets
	touch "$T/go"
	BG=$holder
	ended_with 0
	not file_has "$T/out" mine
	BG=$waiter
	ended_with 0
	file_has "$T/out" '^mine'
	free_everywhere job
}

# ---- redlock's own machine ----

# bats test_tags=not-under-valgrind,not-under-sanitizers
@test "too little memory: no lock, or no command; without a thread to extend, the command ends in time" {
	LC_ALL=C
	with_memory() { timeout --foreground 30 prlimit --as=$((${1} * 1024)) "$REDLOCK_BUILD/redlock" "${@:2}"; }
	least=1000
	until with_memory $least --version > "$T/version" 2>&1; do least=$((least + 50)); done
	for more in $(seq 0 20 600); do
		run with_memory $((least + more)) run -n --node-timeout 10s -k job -- /bin/true
		echo "$more: $status $output"
		# the command's own loader may run out of memory as well
		[ "$status" -eq 0 ] || [ "$status" -eq 69 ] || [ "$status" -eq 125 ] || [[ "$output" == /bin/true:* ]]
	done
	[ "$status" -eq 0 ]
	# enough for everything but the thread's stack
	run with_memory $((least + 2000)) run -w 20s "${STURDY[@]}" -k job -- sleep 60
	[ "$status" -eq 79 ]
	[[ "$output" == *"redlock: cannot extend the lock: no thread: Resource temporarily unavailable"* ]]
	[[ "$output" == *"redlock: lost 'job': "* ]]
	free_everywhere job
}

@test "a stderr that cannot be written changes nothing" {
	patiently
	run bash -c "'$REDLOCK_BUILD/redlock' run -vv -k job -- sh -c 'exit 7' 2> /dev/full"
	[ "$status" -eq 7 ]
	for i in 1 2 3; do node $i set job other px 600000 > "$T/set"; done
	run bash -c "'$REDLOCK_BUILD/redlock' run -n -k job -- echo never 2> /dev/full"
	[ "$status" -eq 75 ]
	[ "$output" = "" ]
}
