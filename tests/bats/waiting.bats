# redlock run while another client holds the lock: the queue, and the rules that hold without it.

load nodes

setup() { nodes_start 3; }
teardown() {
	continue_all
	nodes_stop
}

# A key that does not expire before the test ends: a client that gets the lock has been woken. Reservations do not
# expire either.
LONG=(--ttl 600s --node-timeout 60s)
# A key that expires during the test. Its holder may be stopped for some three seconds.
BRIEF=(--ttl 8s --node-timeout 2s)

# hold FILE ARG...: takes 'job' in the background until "$T/FILE.go" exists; its pid is in HOLDER.
hold() {
	local file=$1
	shift
	in_background "$T/$file" run -k job "$@" -- sh -c "echo up; until [ -e $T/$file.go ]; do sleep 0.1; done"
	HOLDER=$BG
	eventually file_has "$T/$file" up
}
let_go() { touch "$T/$1.go"; }

# waiter NAME ARG...: queues for 'job'; when it has the lock, it writes its name to $T/served. Its pid is in W[NAME].
declare -gA W
waiter() {
	local name=$1 before
	shift
	before=$(waiting)
	in_background "$T/$name" run -k job "$@" -- sh -c "echo $name >> $T/served"
	W[$name]=$BG
	eventually in_queue $((before + 1))
}
served() { [ -e "$T/served" ] && [ "$(wc -l < "$T/served")" -eq "$1" ]; }
order() { tr '\n' ' ' < "$T/served"; }

# ---- the queue ----

@test "a release wakes a waiter, though the key would last for minutes" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	let_go a
	ended_with 0
	[ "$(order)" = "b " ]
	free_everywhere job
	# a reservation for a waiter expires, if it has not yet
	for i in 1 2 3; do
		for key in $(node $i --scan | grep -vx '{redlock}:node'); do
			[[ "$key" == redlock:*:{job} ]]
			[ "$(node $i pttl "$key")" -ne -1 ]
		done
	done
}

@test "a client that is woken soon has made one supervisor, and has not read what is above it" {
	needs ptrace
	unset REDLOCK_UNDER
	mkfifo "$T/go"
	redlock run -k other -- true
	made() { awk -v name="$1" '$1 == "main" && $2 == name { n += $3 } END { print n + 0 }' "$T/calls"; }
	# Under the tracer on a busy machine, the wait may be long.
	does_little() {
		local holder
		in_background "$T/a" run -k job "${LONG[@]}" -- sh -c 'echo up; read -r _ < "$0"' "$T/go"
		holder=$BG
		eventually file_has "$T/a" up
		"$REDLOCK_BUILD/tools/inject" list -- "$REDLOCK_BUILD/redlock" run -k job "${LONG[@]}" -- true > "$T/calls" 2> "$T/err" &
		eventually in_queue 1
		echo > "$T/go"
		wait "$!" "$holder"
		[ "$(made sendto)" -ge 11 ]
		echo "$(made clone) supervisors, $(made getppid) questions for the process above" > "$T/made"
		[ "$(made clone) $(made getppid)" = "1 0" ]
	}
	eventually does_little
}

@test "a client that waits for long is one process, and gets the lock all the same" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	is_alone() { [ -z "$(ps -o pid= --ppid "${W[b]}")" ]; }
	eventually is_alone
	let_go a
	ended_with 0
	[ "$(order)" = "b " ]
}

@test "waiters are served in order of arrival, one after the other" {
	# Else the nodes do not know the script of the hand-off: for a moment, the key is free for any waiter.
	redlock run -k other -- true
	redlock run -k other -- true
	# Without --fair, the second waiter passes the first if it asks in the moment between release and wake-up.
	in_order() {
		local name
		rm -f "$T/served" "$T/a.go"
		hold a "${LONG[@]}"
		for name in b c d e f g h; do waiter $name "${LONG[@]}"; done
		let_go a
		eventually served 7
		order
		[ "$(order)" = "b c d e f g h " ]
	}
	in_order || in_order || in_order
}

@test "a waiter keeps one connection, and asks seldom; the first two keep all, and ask once a second" {
	hold a "${LONG[@]}"
	for name in b c d e; do waiter $name "${LONG[@]}"; done
	connections() {
		local i n=0
		for ((i = 1; i <= N; i++)); do n=$((n + $(node $i client list | grep -vc cmd=client))); done
		[ $n -eq "$1" ]
	}
	eventually connections $((3 + 6 + 2)) # of the holder, of the first two waiters, and of the others
	queue=$(queue_node)
	mapfile -t names < <(node "$queue" zrange 'redlock:queue:{job}' 0 -1)
	redis-cli -s "$T/$queue.sock" monitor > "$T/monitor" 3>&- &
	also_end $!
	asked() { grep -cE "\"EVAL(SHA)?\".*[ \"]$1[ \"]" "$T/monitor" || true; }
	has_asked() { [ "$(asked "${names[0]}")" -ge 12 ]; }
	eventually has_asked
	# the first two waiters attempt and look
	for i in 2 3; do [ "$(asked "${names[i]}")" -le $(($(asked "${names[0]}") / 4)) ]; done
	let_go a
	eventually served 4
}

@test "a release costs the nodes the same, however many clients wait" {
	costs() { # the commands of clients that one more section takes
		local i n=0
		for ((i = 1; i <= N; i++)); do
			n=$((n + $(evals $i)))
		done
		echo $n
	}
	for many in 2 12; do
		hold a$many "${LONG[@]}"
		for ((n = 0; n < many; n++)); do waiter $many.$n "${LONG[@]}"; done
		eventually in_queue $many
		for i in 1 2 3; do node $i config resetstat > "$T/reset"; done
		rm -f "$T/served"
		# the first is stopped by its own command, so that there is one hand-off
		let_go a$many
		eventually served $many
		printf '%s\n' $(((all = $(costs)) / many)) >> "$T/costs"
		echo "per section: $(tr '\n' ' ' < "$T/costs")"
		# acquire and release on three nodes, and the requests that are repeated while a release is under way: at
		# growing intervals, so that a node that is stopped for once costs some fifteen
		[ $all -le $((20 * many + 40)) ]
	done
}

@test "a newcomer does not pass a reservation: it finds the lock taken, and says why" {
	hold first "${LONG[@]}"
	in_background "$T/a" run -k job "${LONG[@]}" -- sh -c "echo up; until [ -e $T/a.go ]; do sleep 0.1; done"
	HOLDER=$BG
	eventually in_queue 1
	waiter b "${LONG[@]}"
	let_go first
	eventually file_has "$T/a" up
	kill -STOP "${W[b]}"
	eventually in_state "${W[b]}" T
	# the node where b waits has answered as well: a knows of b
	eventually held_on job 3
	let_go a
	wait "$HOLDER"
	free_everywhere job
	run redlock run -n -k job "${LONG[@]}" -- echo never
	[ "$status" -eq 75 ]
	[ "$output" = "redlock: 'job' is busy: reserved for the next waiter" ]
	kill -CONT "${W[b]}"
	eventually served 1
}

@test "the reservation of a waiter that is stopped lapses" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	kill -STOP "${W[b]}"
	eventually in_state "${W[b]}" T
	let_go a
	wait "$HOLDER"
	free_everywhere job
	for i in 1 2 3; do node $i pexpire 'redlock:reserved:{job}' 1 > "$T/set"; done
	eventually redlock run -n -k job -- true
}

keeps_reservation() { [ "$(node "$1" exists "redlock:reserved:{job}")" = 1 ]; }

@test "a reservation that does not expire, or only in hours, excludes no client" {
	local id=0123456789abcdef0123456789abcdef01234567
	for end in '' 'px 7200000'; do
		for command in run wait; do
			for i in 1 2 3; do node $i set 'redlock:reserved:{job}' $id $end > "$T/set"; done
			run -0 redlock $command -n -k job $([ $command = wait ] || echo -- true)
		done
	done
	for i in 1 2 3; do node $i set 'redlock:reserved:{job}' $id px 60000 > "$T/set"; done
	run -75 redlock wait -n -k job
}

@test "a reservation of a waiter that is gone is no reason to wait, however late the queue node reports that" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	queue=$(queue_node)
	let_go a
	ended_with 0
	stop_node "$queue"
	for i in 1 2 3; do
		[ $i -eq "$queue" ] && continue
		node $i set 'redlock:reserved:{job}' 0123456789abcdef0123456789abcdef01234567 px 600000 > "$T/set"
		node $i config resetstat > "$T/set"
	done
	in_background "$T/c" run -n -k job "${LONG[@]}" -- echo mine
	heard() { [ "$(evals "$1")" -gt 0 ]; }
	for i in 1 2 3; do [ $i -eq "$queue" ] || eventually heard $i; done
	continue_node "$queue"
	ended_with 0
}

@test "waiters that are dead refuse no client, also with --fair or --shared" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	waiter c "${LONG[@]}"
	kill -STOP "$HOLDER"
	kill -KILL "${W[b]}" "${W[c]}"
	eventually in_queue 0
	for i in 1 2 3; do node $i del job > "$T/set"; done
	redlock run -n --fair -k job "${LONG[@]}" -- true
	redlock run -n --shared -k job "${LONG[@]}" -- true
	kill -CONT "$HOLDER"
	let_go a
}

@test "wait, woken while another program has the key, leaves no reservation when it ends" {
	for n in 1 2 3; do
		for i in 1 2 3; do node $i set job stranger > "$T/set"; done
		in_background "$T/w" wait -k job --node-timeout 60s --wait 600s
		looks=$BG
		eventually in_queue 1
		waiter r "${LONG[@]}"
		# All nodes are free when the first waiter looks, and the second one does not ask meanwhile: a node that is
		# taken wakes no waiter.
		kill -STOP "$looks" "${W[r]}"
		for i in 1 2 3; do node $i del job > "$T/set"; done
		kill -CONT "$looks"
		eventually is_gone "$looks"
		kill -CONT "${W[r]}"
		eventually is_gone "${W[r]}"
	done
	served 3
}

@test "a single client reserves nothing, and waits for no reservation" {
	redlock run -k job "${LONG[@]}" -- true
	for i in 1 2 3; do eventually is_empty $i; done
	# also after many waiters have gone
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	let_go a
	ended_with 0
	for n in 1 2 3 4 5; do
		run --separate-stderr redlock run -w 30s -k job "${LONG[@]}" -- echo "$n"
		[ "$output" = "$n" ]
	done
}

# ---- rules that hold without the queue ----

@test "the holder is killed: a waiter has the lock when the key expires" {
	hold a "${BRIEF[@]}"
	waiter b
	supervisor=$(supervisor_of "$HOLDER")
	kill -KILL "$HOLDER" "$supervisor"
	ended_with 0
	let_go a
}

# watches N: N nodes have a client that is told of changes.
watches() {
	[ "$(for i in 1 2 3; do node $i client list | grep -c 'flags=[A-Za-z]*t'; done | grep -cx 1)" = "$1" ]
}

@test "a foreign holder wakes no waiter: the first waiter is told by the nodes when the key changes" {
	for i in 1 2 3; do node $i set job 0123456789abcdef0123456789abcdef px 600000 > "$T/set"; done
	waiter b -vv "${LONG[@]}"
	eventually watches 3
	for i in 1 2 3; do node $i del job > "$T/set"; done
	ended_with 0
	file_has "$T/b" 'woke this waiter: the key has changed'
	# the same without an expiry, and where the server's clock ends the key
	for i in 1 2 3; do node $i set job x > "$T/set"; done
	waiter c "${LONG[@]}"
	eventually watches 3
	for i in 1 2 3; do node $i pexpire job 1 > "$T/set"; done
	ended_with 0
}

@test "a foreign holder on two of three nodes: the changes of its own attempts wake no waiter" {
	for i in 1 2; do node $i set job 0123456789abcdef0123456789abcdef px 600000 > "$T/set"; done
	waiter b -vv --ttl 600s
	asked() { [ "$(evals 3)" -ge 12 ]; }
	eventually asked
	[ "$(grep -c 'the key has changed' "$T/b")" = 0 ]
	for i in 1 2; do node $i del job > "$T/set"; done
	ended_with 0
	file_has "$T/b" 'woke this waiter: the key has changed'
}

@test "a foreign holder: a waiter without the right to watch polls; nothing is watched while redlock holds" {
	for i in 1 2 3; do
		node $i acl setuser default -client +client\|list +client\|kill
		node $i set job x px 600000
	done > "$T/set"
	waiter b "${LONG[@]}"
	for i in 1 2 3; do node $i del job > "$T/set"; done
	ended_with 0
	for i in 1 2 3; do node $i acl setuser default +@all > "$T/set"; done
	hold a "${LONG[@]}"
	waiter c "${LONG[@]}"
	asked() { [ "$(evals 1 2 3)" -ge 20 ]; }
	eventually asked
	watches 0
	let_go a
	ended_with 0
}

@test "beside a program that polls all the time, redlock gets the lock again and again" {
	"$REDLOCK_BUILD/tools/poller" job 2 50 250 100000 "$T/log" "$T/1.sock" "$T/2.sock" "$T/3.sock" 3>&- &
	also_end $!
	eventually file_has "$T/log" poller
	for _ in {1..20}; do run -0 redlock run -q -k job -w 20s -- true; done
}

@test "the first waiter is killed: the next one is first" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	waiter c "${LONG[@]}"
	kill -KILL "${W[b]}"
	eventually in_queue 1
	let_go a
	ended_with 0
	[ "$(order)" = "c " ]
}

@test "a wake-up is lost: the next waiter has the lock when the reservation would expire" {
	hold a "${BRIEF[@]}"
	waiter b "${BRIEF[@]}"
	waiter c "${BRIEF[@]}"
	kill -STOP "${W[b]}"
	eventually in_state "${W[b]}" T
	let_go a
	BG=${W[c]}
	ended_with 0
	[ "$(order)" = "c " ]
}

@test "a waiter that gives up does not touch another waiter's reservation" {
	id=$(printf 'a%.0s' {1..40})
	for i in 1 2 3; do
		node $i set "redlock:reserved:{job}" "$id" px 600000 > "$T/set"
		node $i set "redlock:queue:{job}" 1 px 600000 > "$T/set"
	done
	node 3 config resetstat > "$T/set"
	# its request, its release and the deletion have arrived when the node continues
	stop_node 3
	run -75 redlock run -n -k job -- true
	continue_node 3
	heard() { [ "$(evals 3)" = 3 ]; }
	eventually heard
	[ "$(node 3 get "redlock:reserved:{job}")" = "$id" ]
	[ "$(node 3 exists "redlock:wake:{job}")" = 0 ]
}

@test "a waiter that leaves as its wake-up arrives passes it on" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	waiter c "${LONG[@]}"
	kill -STOP "${W[b]}"
	eventually in_state "${W[b]}" T
	let_go a
	wait "$HOLDER"
	# the reservation is b's, and b is told to end before it hears of that
	kill -TERM "${W[b]}"
	kill -CONT "${W[b]}"
	BG=${W[c]}
	ended_with 0
}

@test "a wake-up that arrives during the attempt of another one: the supervisor of that attempt ends" {
	local node i
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	waiter c "${LONG[@]}"
	# the third one attempts only when it is woken
	waiter d "${LONG[@]}"
	node=$(queue_node)
	wake() {
		[ "$(node "$node" publish "redlock:wake:{job}:$(node "$node" zrange 'redlock:queue:{job}' 2 2)" \
			"$(printf %040d "$1")")" = 1 ]
	}
	supervisors() { [ "$(pgrep -c -P "${W[d]}")" = "$1" ]; }
	for i in 1 2 3; do [ $i = "$node" ] || stop_node $i; done
	wake 1
	eventually supervisors 1
	# The next attempt begins as soon as this one has failed.
	wake 2
	for i in 1 2 3; do [ $i = "$node" ] || continue_node $i; done
	eventually supervisors 0
	let_go a
	eventually served 3
}

@test "a client that is woken has priority on a busy machine, for others wait behind it; its command has the caller's" {
	needs priority
	class() { ps -o cls= -p "$1" | xargs; }
	has_class() { [ "$(class "$BG")" = "$1" ]; }
	own=$(class $$)
	hold a "${LONG[@]}"
	in_background "$T/b" run -k job "${LONG[@]}" -- sh -c "ps -o cls= -p \$\$ > $T/class"
	eventually in_queue 1
	[ "$(class "$BG")" = "$own" ]
	node=$(queue_node)
	for i in 1 2 3; do [ "$i" = "$node" ] || stop_node "$i"; done
	[ "$(node "$node" publish "redlock:wake:{job}:$(node "$node" zrange 'redlock:queue:{job}' 0 0)" "$(printf %040d 1)")" = 1 ]
	eventually has_class RR
	for i in 1 2 3; do [ "$i" = "$node" ] || continue_node "$i"; done
	# refused: it waits as all others do
	eventually has_class "$own"
	let_go a
	ended_with 0
	[ "$(xargs < "$T/class")" = "$own" ]
}

@test "the queue node is killed, with a hundred waiters: they queue elsewhere" {
	hold a "${LONG[@]}"
	pids=()
	for ((n = 0; n < 100; n++)); do
		in_background "$T/w" run -q -k job "${LONG[@]}" -- sh -c "echo $n >> $T/served"
		pids+=("$BG")
	done
	eventually in_queue 100
	kill_node "$(queue_node)"
	eventually in_queue 100
	let_go a
	for pid in "${pids[@]}"; do wait "$pid"; done
	served 100
}

@test "the queue node starts again, empty, with many waiters" {
	hold a "${LONG[@]}"
	for name in b c d e f; do waiter $name "${LONG[@]}"; done
	i=$(queue_node)
	kill_node "$i"
	start_node "$i"
	eventually admitted "$i"
	eventually in_queue 5
	let_go a
	eventually served 5
}

@test "the queue node is stopped: a waiter has the lock when the key expires" {
	hold a "${BRIEF[@]}"
	waiter b "${BRIEF[@]}"
	i=$(queue_node)
	stop_node "$i"
	let_go a
	ended_with 0
	continue_node "$i"
}

@test "waiters that the queue node has no room for queue elsewhere, say so, and return when it has room" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	i=$(queue_node)
	connections() { node "$i" info clients | sed -n 's/^connected_clients:\([0-9]*\).*/\1/p'; }
	# Another user of the node takes the last connection.
	redis-cli -s "$T/$i.sock" subscribe x > "$T/subscribed" 2>&1 3>&- &
	user=$!
	also_end $user
	eventually file_has "$T/subscribed" subscribe
	# The count includes the connection that asks for it, and perhaps another one that ends at this moment.
	is_full() {
		[[ "$(node "$i" ping 2>&1)" == *"max number of clients"* ]] ||
			{ node "$i" config set maxclients $(($(connections) - 1)) > "$T/set"; false; }
	}
	eventually is_full
	queued_elsewhere() {
		local j sum=0
		for j in 1 2 3; do [ "$j" = "$i" ] || sum=$((sum + $(queued $j))); done
		[ "$sum" = "$1" ]
	}
	for name in c d; do
		hastily in_background "$T/$name" run -k job "${LONG[@]}" -- sh -c "echo $name >> $T/served"
		eventually file_has "$T/$name" "queued for 'job' at unix://.*: unix://$T/$i.sock has too many clients"
		file_has "$T/$name" "hint: .*maxclients"
	done
	eventually queued_elsewhere 2
	kill $user
	raised() { [ "$(node "$i" config set maxclients 10000 2>&1)" = OK ]; }
	eventually raised
	# They ask all nodes again after an eighth of 20 to 64 s.
	eventually queued_elsewhere 0
	eventually in_queue 3
	let_go a
	eventually served 3
	[ "$(cat "$T/c" "$T/d" | grep -c 'queued for')" -eq 2 ]
}

# bats test_tags=not-under-valgrind
@test "a crowd waits, and sees its holder's key expire, over one connection for each waiter" {
	crowd=256
	redlock acquire -k job --ttl 10s --node-timeout 2s > "$T/token"
	"$REDLOCK_BUILD/tools/crowd" $crowd 256 600000 -k job --ttl 600s --node-timeout 2s > "$T/begun" 2> "$T/crowd" 3>&- &
	also_end $!
	eventually in_queue $crowd
	total() {
		local i
		for i in 1 2 3; do node $i info all; done |
			awk -F '[:=,]' -v name="$1" '$1 ~ "^" name "$" { n += $2 ~ /^[0-9]/ ? $2 : $3 } END { print n + 0 }'
	}
	has_shed() { [ "$(total connected_clients)" -lt $((crowd + 16)) ]; }
	eventually has_shed
	requests=$(total 'cmdstat_eval(sha)?')
	connections=$(total total_connections_received)
	began=$SECONDS
	eventually file_has "$T/begun" begin
	requests=$(($(total 'cmdstat_eval(sha)?') - requests))
	connections=$(($(total total_connections_received) - connections))
	echo "$requests requests, $connections connections"
	[ $requests -le $((2 * crowd * (1 + (SECONDS - began) / 5))) ]
	[ $connections -le 64 ]
	[ "$(wc -l < "$T/begun")" -eq 1 ]
}

@test "a user without the right to queue is warned once, and polls" {
	for i in 1 2 3; do node $i acl setuser default resetkeys '~job' > "$T/acl"; done
	hold a "${LONG[@]}"
	in_background "$T/b" run -k job "${LONG[@]}" -- true
	eventually file_has "$T/b" "cannot queue for 'job', polling instead: unix://"
	let_go a
	ended_with 0
	[ "$(grep -c 'cannot queue' "$T/b")" -eq 1 ]
	for i in 1 2 3; do node $i acl setuser default allkeys > "$T/acl"; done
	free_everywhere job
}

@test "a user that gets the right to queue during its wait takes its place in the queue" {
	for i in 1 2 3; do node $i acl setuser default resetkeys '~job' > "$T/acl"; done
	hold a "${LONG[@]}"
	in_background "$T/b" run -k job "${LONG[@]}" -- true
	eventually file_has "$T/b" "cannot queue for 'job', polling instead: unix://"
	for i in 1 2 3; do node $i acl setuser default allkeys > "$T/acl"; done
	queued() { [ "$(for i in 1 2 3; do node $i zcard 'redlock:queue:{job}'; done | grep -c 1)" -eq 1 ]; }
	eventually queued
	let_go a
	ended_with 0
	[ "$(grep -c 'cannot queue' "$T/b")" -eq 1 ]
}

@test "servers without RESP3, and users without the right to channels: one message, and the waiter polls" {
	polls() {
		hold a "${LONG[@]}"
		in_background "$T/b" run -k job "${LONG[@]}" -- true
		eventually file_has "$T/b" "cannot queue for 'job', polling instead: unix://.*($1"
		let_go a
		ended_with 0
		[ "$(grep -c 'cannot queue' "$T/b")" -eq 1 ]
		rm "$T/a.go"
		free_everywhere job
	}
	for i in 1 2 3; do node $i acl setuser default resetchannels > "$T/acl"; done
	polls 'NOPERM .*channel'
	for i in 1 2 3; do node $i acl setuser default allchannels -subscribe > "$T/acl"; done
	polls "NOPERM .*'subscribe'"
	for i in 1 2 3; do
		kill_node $i
		start_node $i --rename-command HELLO ''
		eventually admitted $i
	done
	polls 'ERR unknown command .HELLO'
}

@test "a client that acquires without the queue wakes the waiters in it all the same" {
	hold a "${LONG[@]}"
	waiter b "${LONG[@]}"
	kill -STOP "${W[b]}"
	eventually in_state "${W[b]}" T
	let_go a
	wait "$HOLDER"
	free_everywhere job
	# a did not know that b waits: only the queue keeps b's reservation
	hold n -v "${LONG[@]}"
	file_has "$T/n" "acquired 'job' on 2 of 3 nodes"
	kill -CONT "${W[b]}"
	eventually in_queue 1
	let_go n
	eventually served 1
}

@test "--min-hold: the first waiter knows when the key that was left expires" {
	hold a --ttl 600s --min-hold 3s
	waiter b "${LONG[@]}"
	let_go a
	eventually served 1
}

@test "a signal ends a waiter at once, and leaves nothing" {
	hold a "${LONG[@]}"
	for signal in TERM INT HUP; do
		waiter b "${LONG[@]}"
		kill -$signal "${W[b]}"
		ended_with $((128 + $(kill -l $signal)))
		eventually in_queue 0
	done
	eventually held_on job 3
	let_go a
}

@test "--wait: until the limit, and not longer; -n -E 0: skipped" {
	hold a "${LONG[@]}"
	run redlock run -w 300ms -k job "${LONG[@]}" -- echo never
	[ "$status" -eq 75 ]
	[[ "${lines[-1]}" == "redlock: 'job' is busy: held by "*" on "[23]" of 3 nodes, expires in "*" unless renewed" ]]
	eventually in_queue 0
	run redlock run -n -E 0 -k job "${LONG[@]}" -- echo never
	[ "$status" -eq 0 ]
	[[ "$output" != never ]]
	# in a pipeline, the lock ends with the command under it
	let_go a
	PATH=$REDLOCK_BUILD:$PATH run --separate-stderr bash -c \
		'set -o pipefail; echo in | redlock run -k job -- cat | redlock run -k other -- sed s/in/out/'
	[ "$status" -eq 0 ]
	[ "$output" = out ]
}

# ---- split votes, and --fair ----

@test "clients that start at once and do not wait: one of them gets the lock, every time" {
	for ((n = 0; n < 20; n++)); do
		for ((i = 0; i < 4; i++)); do
			redlock run -q -n -E 0 -k "job$n" "${LONG[@]}" -- sh -c "echo $n >> $T/had; until [ -e $T/go$n ]; do sleep 0.1; done" &
			also_end $!
			BGS[i]=$!
		done
		had() { [ "$(grep -cx "$n" "$T/had")" -eq 1 ]; }
		eventually had
		# late starters must find it taken, too
		one_left() {
			local alive=0 pid
			for pid in "${BGS[@]}"; do is_gone "$pid" || alive=$((alive + 1)); done
			[ $alive -eq 1 ]
		}
		eventually one_left
		touch "$T/go$n"
		for ((i = 0; i < 4; i++)); do wait "${BGS[i]}"; done
		had
	done
}

@test "-n while another client holds the lock: one request, or a few if the holder's other nodes are out of reach" {
	hold a "${LONG[@]}"
	eventually held_on job 3
	for i in 1 2 3; do node $i config resetstat; done
	run -75 redlock run -q -n -k job "${LONG[@]}" -- true
	# one for each node; and a release, which is two scripts, for the node without an awaited reply
	n=$(evals 1 2 3)
	[ "$n" -ge 2 ] && [ "$n" -le 5 ]
	# now the votes may also be those of rivals: the holder has one node, the client gets another
	kill_node 3
	node 2 del job
	for n in 1 2 3 4 5 6; do
		node 1 config resetstat
		run -75 redlock run -q -n -k job --ttl 30s --node-timeout 300ms -- true
		[ "$(evals 1)" -le 24 ]
	done
	let_go a
}

@test "--fair: the first waiter is the first, also after a crash" {
	hold a "${BRIEF[@]}" --fair
	for name in b c d; do waiter $name "${LONG[@]}" --fair; done
	supervisor=$(supervisor_of "$HOLDER")
	kill -KILL "$HOLDER" "$supervisor"
	# a newcomer, when the key is gone and no waiter has been woken yet
	free_everywhere job
	in_background "$T/e" run -k job "${LONG[@]}" --fair -- sh -c "echo e >> $T/served"
	eventually served 4
	[ "$(order)" = "b c d e " ]
	let_go a
}
