# redlock run when nodes, their clocks, their data or the way to them go wrong. What a dead, a stopped
# or a black-holed node costs is in nodes.bats.

load nodes

setup() { nodes_start 3; }
teardown() {
	for pid in "${PID[@]}"; do kill -CONT "$pid" 2> "$T/kill" || true; done
	nodes_stop
}

# patiently: times that a busy machine does not use up, so that no node looks dead that is only slow.
patiently() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s; }

# hurriedly: whoever does not answer is given up soon, and what it may have kept stays for long.
hurriedly() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=500ms; }

# in_between I FAULT...: the way to node I, from now on, leads through a proxy with that fault.
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
waits_for_go() { echo "until [ -e $T/go ]; do sleep 0.02; done"; }
extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }

# ---- the connection ----

@test "cut at any byte of a request: no vote, nothing is left" {
	patiently
	for n in 0 1 2 9 100 400 600; do
		in_between 1 --cut-request $n
		in_between 2 --cut-request $n
		run redlock run -n -k job -- echo never
		echo "$n: $output"
		[ "$status" -eq 69 ]
		free_everywhere job
		# a minority of them costs nothing
		no_longer_between 2
		in_between 2
		run redlock run -n -k job -- echo done
		[ "$output" = "done" ]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "cut at any byte of a reply: no vote, and what it had granted is given back" {
	patiently
	for n in 0 1 2 3 4 5 10 11 20 50 60; do
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

@test "cut off as the release comes: the command's status, and no word unless a majority is concerned" {
	hurriedly
	in_between 1 --while "$T/bad" --cut-request 0
	run redlock run -n -k job -- sh -c "touch $T/bad; exit 6"
	[ "$status" -eq 6 ]
	[ "$output" = "" ]
	held_on job 1
	rm "$T/bad"
	node 1 del job
	in_between 2 --while "$T/bad" --cut-request 0
	run redlock run -n -k job -- sh -c "touch $T/bad; exit 6"
	[ "$status" -eq 6 ]
	[[ "$output" == "redlock: 'job' could not be released on 2 of 3 nodes and frees itself there within "* ]]
	held_on job 2
}

@test "byte by byte, both ways" {
	patiently
	for i in 1 2 3; do in_between $i --bytewise; done
	run redlock run -n -k job -- redis-cli -s "$T/1.sock" exists job
	[ "$status" -eq 0 ]
	[ "$output" = 1 ]
	free_everywhere job
}

@test "any byte of a reply turned over: yes, no node, or not in time; nothing else, and nothing is left" {
	hurriedly
	for n in $(seq 0 24) 30 40 70 72 73; do
		in_between 1 --flip "$n"
		in_between 2 --flip "$n"
		run redlock run -n -k job -- echo done
		echo "$n: $status $output"
		[ "$status" -eq 0 ] || [ "$status" -eq 69 ]
		[ "$n" -ne 0 ] || [[ "$output" == *"proxy1 does not speak the Redis protocol"* ]]
		[ "$status" -ne 0 ] || [ "$output" = "done" ]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "replies that promise gigabytes, or never end: refused at once" {
	patiently
	for text in '$2147483647\r\n' '$4294967295\r\n' '*4294967295\r\n' '*2147483647\r\n' '*4\r\n$2147483647\r\n' \
		'+' '-' ':' '*' '*1\r\n*1\r\n*1\r\n*1\r\n' ':99999999999999999999\r\n' '$-7\r\n' '*-7\r\n' 'x' '%1\r\n' ',1.5\r\n'; do
		in_between 1 --flood --say "$text"
		in_between 2 --flood --say "$text"
		run timeout --foreground 30 "$REDLOCK_BUILD/redlock" run -n -k job -- echo never
		echo "$text: $output"
		[ "$status" -eq 69 ]
		[[ "$output" =~ "proxy1 "(does not speak the Redis protocol|answered at excessive length) ]]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "replies that promise gigabytes and then nothing: not in time" {
	hurriedly
	for text in '$2147483647\r\n' '*4\r\n' '*4\r\n:1\r\n' '+O' '-LOADING'; do
		in_between 1 --say "$text"
		in_between 2 --say "$text"
		run redlock run -n -k job -- echo never
		[ "$status" -eq 69 ]
		echo "$text: $output"
		[[ "$output" =~ "proxy1 "(did not answer in time|answered at excessive length) ]]
		free_everywhere job
		no_longer_between 1
		no_longer_between 2
	done
}

@test "a reply of an attempt that was given up is no vote in the next one" {
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

@test "slower than the time-out is no node, and keeps nothing; faster only costs its time" {
	in_between 1 --delay 400
	in_between 2 --delay 400
	run redlock run -n -k job --ttl 600s --node-timeout 100s -- echo done
	[ "$output" = "done" ]
	free_everywhere job
	run redlock run -n -k job --ttl 600s --node-timeout 200ms -- echo never
	[ "$status" -eq 69 ]
	[[ "$output" == *"proxy1 did not answer in time"*"proxy2 did not answer in time"* ]]
	free_everywhere job
}

@test "a request that comes a second time, after the release: others wait for it no longer than the TTL" {
	for i in 1 2 3; do in_between $i --while "$T/bad" --twice 2000; done
	touch "$T/bad"
	run redlock run -w 20s -k job --ttl 3s -- rm "$T/bad"
	[ "$status" -eq 0 ]
	held_on job 0
	eventually held_on job 3
	run redlock run -w 60s -q -k job -- echo mine
	[ "$status" -eq 0 ]
	[ "$output" = mine ]
	held_on job 0
}

# ---- the servers ----

# refuses I WORDS: node I does, on the question of all, in these words.
refuses() { [[ "$output" == *"unix://$T/$1.sock $2"* ]]; }

@test "LOADING: no vote while a node still reads its data, and one when it is done" {
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
	run redlock run -q -w 100s -k job -- echo done
	[ "$output" = "done" ]
	held_on job 0
}

@test "MISCONF, a replica without its master, a cluster, a user without rights, too many clients" {
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
	node 3 acl setuser default -eval > "$T/set"
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 3 "does not permit this user to do it"
	node 3 acl setuser default +eval -set > "$T/set"
	run redlock run -n -k job -- echo never
	refuses 3 "does not permit this user to do it"
	node 3 acl setuser default +@all > "$T/set"
	kill_node 1
	start_node 1 --cluster-enabled yes --cluster-config-file "$T/cluster.conf"
	eventually answers 1
	node 3 config set maxclients 1 > "$T/set"
	redis-cli -s "$T/3.sock" subscribe nothing > "$T/subscribed" 3>&- &
	also_end $!
	full() { node 3 ping 2>&1 | grep -q 'max number of clients'; }
	eventually full
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "belongs to a cluster that is down"
	refuses 3 "has too many clients"
}

@test "BUSY: no vote, and the script that keeps the node busy is left alone" {
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
	in_background "$T/out" run -v --ttl 1s -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	for i in 1 2 3; do node $i config set maxmemory 1 > "$T/set"; done
	: > "$T/out"
	eventually extended 2
	touch "$T/go"
	ended_with 0
	held_on job 0
	run redlock run -n -k job -- echo never
	[ "$status" -eq 69 ]
	refuses 1 "is out of memory"
}

@test "FLUSHALL and SCRIPT FLUSH on a minority are mended; FLUSHALL on a majority is a loss: 79" {
	in_background "$T/out" run -v --ttl 1s -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	for i in 1 2 3; do node $i script flush > "$T/set"; done
	node 1 flushall > "$T/set"
	eventually held_on job 3
	for i in 1 2; do node $i flushall > "$T/set"; done
	ended_with 79
	file_has "$T/out" "lost 'job': the key is gone from [23] of 3 nodes"
	held_on job 0
}

@test "kill -9 and restart of every node: with its AOF the lock goes on" {
	for i in 1 2 3; do
		kill_node $i
		start_node $i --appendonly yes --appendfsync always --appenddirname "aof$i"
		eventually answers $i
	done
	in_background "$T/out" run -v --ttl 5s -k job -- sh -c "$(waits_for_go)"
	eventually held_on job 3
	value=$(node 1 get job)
	for i in 1 2 3; do
		kill_node $i
		start_node $i --appendonly yes --appendfsync always --appenddirname "aof$i"
		eventually answers $i
		[ "$(node $i get job)" = "$value" ]
	done
	: > "$T/out"
	eventually extended 2
	touch "$T/go"
	ended_with 0
	held_on job 0
}

@test "kill -9 and restart of a majority without AOF: 79, and the command is gone" {
	in_background "$T/out" run --ttl 2s -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	for i in 1 2; do kill_node $i; done
	for i in 1 2; do start_node $i; done
	ended_with 79
	is_gone "$(cat "$T/pid")"
	file_has "$T/out" "^redlock: lost 'job': "
	held_on job 0
}
