# A free lock with living waiters is taken soon, whatever happened to another client or to one node. The TTL is 30 s,
# so a waiter that waits for a key's end is found out. Each test prints how long the lock was free, in ms.

load nodes

setup() {
	nodes_start 3
	: > "$T/served"
}
teardown() {
	continue_all
	nodes_stop
}

TTL=(--ttl 30s)
# A reservation lasts for as long as a woken waiter may take to answer on a machine under load.
PATIENT=(--ttl 30s --node-timeout 10s)
# The longest time that a lock may be free, in ms: far below the TTL, and enough for a machine under load.
SOON=10000

now() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# start NAME ARG...: a client that takes 'job' in the background until "$T/NAME.go" exists; its pid is in HOLDER.
start() {
	local name=$1
	shift
	in_background "$T/$name" run -k job "$@" -- sh -c "echo up; until [ -e $T/$name.go ]; do sleep 0.1; done"
	HOLDER=$BG
}
has_job() { eventually file_has "$T/$1" "^up$"; }
# hold NAME ARG...: the same; it has 'job'.
hold() {
	start "$@"
	has_job "$1"
}
# let_go NAME: its time is in FREE.
let_go() {
	FREE=$(now)
	touch "$T/$1.go"
}
# crash PID: kills a holder and its supervisor.
crash() { kill -KILL "$1" $(pgrep -P "$1"); }

# enqueue NAME ARG...: a client that waits for 'job'; when it has the lock, it writes its name and the time to
# $T/served. Its pid is in W[NAME].
declare -gA W
enqueue() {
	local name=$1 before
	shift
	before=$(waiting)
	in_background "$T/$name" run -k job "$@" -- sh -c "echo $name \$(date +%s%3N) >> $T/served"
	W[$name]=$BG
	eventually in_queue $((before + 1))
}
stop_waiter() {
	kill -STOP "${W[$1]}"
	eventually in_state "${W[$1]}" T
}
order() { cut -d ' ' -f 1 "$T/served" | tr '\n' ' '; }
served() { [ "$(wc -l < "$T/served")" -ge "$1" ]; }

# taken NAME [CASE]: NAME has the lock, soon after FREE.
taken() {
	local ms
	eventually file_has "$T/served" "^$1 "
	ms=$(($(sed -n "s/^$1 //p" "$T/served" | tail -n 1) - FREE))
	echo "# ${2:-$BATS_TEST_DESCRIPTION}: $ms ms" >&3
	[ $ms -lt $SOON ]
}

# ---- readers ----

# woken_reader ARG...: r, a reader, is woken by a release; b and c, which are writers, wait for it to end.
woken_reader() {
	hold a "$@"
	start r --shared "$@"
	eventually in_queue 1
	enqueue b "$@"
	enqueue c "$@"
	let_go a
	has_job r
	eventually in_queue 2
}

@test "a writer that waits for readers is killed" {
	woken_reader "${TTL[@]}"
	kill -KILL "${W[b]}"
	eventually in_queue 1
	let_go r
	taken c
}

# readers_end: FREE is the time at which the last reader's key ends, in 10 s at most.
readers_end() {
	local left i
	FREE=0
	for i in 1 2 3; do
		left=$(node $i pttl job)
		[ "$left" -gt 0 ] && [ "$left" -lt 10000 ] || return 1
		left=$(($(now) + left))
		[ $left -le $FREE ] || FREE=$left
	done
}

@test "the last living reader leaves before a crashed one ends" {
	hold r --shared --ttl 6s
	first=$HOLDER
	hold s --shared "${TTL[@]}"
	enqueue b "${TTL[@]}"
	crash "$first"
	let_go s
	eventually readers_end
	taken b
	let_go r
}

@test "the last living reader leaves before a --min-hold one ends" {
	hold s --shared "${TTL[@]}"
	redlock run -k job --shared --min-hold 8s "${TTL[@]}" -- true
	enqueue b "${TTL[@]}"
	let_go s
	eventually readers_end
	taken b
}

# ---- --min-hold ----

@test "a --min-hold owner got the lock by its own asking" {
	hold a --ttl 4s
	first=$HOLDER
	start b --min-hold 8s "${TTL[@]}"
	eventually in_queue 1
	crash "$first"
	has_job b
	end=$(($(now) + 8000))
	enqueue c "${TTL[@]}"
	let_go b
	FREE=$end
	taken c
	let_go a
}

# ---- waiters that are stopped or killed ----

@test "the first waiter is stopped" {
	hold a "${TTL[@]}"
	enqueue b "${TTL[@]}"
	enqueue c "${TTL[@]}"
	stop_waiter b
	let_go a
	taken c
}

@test "the first waiter for a slot is stopped" {
	hold a --limit 2 "${TTL[@]}"
	hold o --limit 2 "${TTL[@]}"
	enqueue b --limit 2 "${TTL[@]}"
	enqueue c --limit 2 "${TTL[@]}"
	stop_waiter b
	let_go a
	taken c
	let_go o
}

# is_held_by PID [N]: a majority of the nodes, or N of them, have its key. If it was killed, its key lasts until the TTL
# ends.
is_held_by() {
	local i n=0
	for i in 1 2 3; do
		[[ "$(node $i get job)" != *":$1 "* ]] || n=$((n + 1))
	done
	[ $n -ge "${2:-2}" ]
}
# has_outcome NAME PID
has_outcome() { file_has "$T/served" "^$1 " || is_held_by "$2"; }

@test "the first waiter is killed within milliseconds of the release" {
	for ms in 0 1 2 3 4 6 8 10; do
		in_background "$T/a" run -k job "${TTL[@]}" -- sh -c "echo up
			until [ -e $T/pid ]; do sleep 0.1; done
			pid=\$(cat $T/pid); (sleep 0.0$(printf %02d $ms); kill -KILL \$pid) & date +%s%3N > $T/free"
		has_job a
		enqueue b$ms "${TTL[@]}"
		enqueue c$ms "${TTL[@]}"
		first=${W[b$ms]}
		echo "$first" > "$T/new"
		mv "$T/new" "$T/pid"
		eventually test -s "$T/free"
		FREE=$(< "$T/free")
		eventually is_gone "$first"
		eventually has_outcome c$ms "$first"
		if is_held_by "$first"; then
			echo "# the first waiter is killed $ms ms after the section: it had the lock" >&3
			for i in 1 2 3; do node $i del job; done
			eventually file_has "$T/served" "^c$ms "
		else
			taken c$ms "the first waiter is killed $ms ms after the section"
		fi
		rm "$T/pid" "$T/free"
	done
}

# ---- the queue node ----

@test "the queue node is stopped" {
	hold a "${TTL[@]}"
	enqueue b "${TTL[@]}"
	enqueue c "${TTL[@]}"
	i=$(queue_node)
	stop_node "$i"
	let_go a
	taken b
	taken c "the queue node is stopped: the second waiter"
	continue_node "$i"
}

@test "the queue node is paused" {
	hold a "${TTL[@]}"
	enqueue b "${TTL[@]}"
	enqueue c "${TTL[@]}"
	node "$(queue_node)" client pause 25000 all
	let_go a
	taken b
	taken c "the queue node is paused: the second waiter"
}

@test "FLUSHALL on the queue node" {
	hold a "${TTL[@]}"
	for name in b c d e; do enqueue $name "${TTL[@]}"; done
	node "$(queue_node)" flushall
	let_go a
	eventually served 4
	last=$(tail -n 1 "$T/served")
	taken "${last% *}"
}

@test "the holder cannot reach the queue node at its release" {
	hold a "${TTL[@]}"
	eventually held_on job 3
	for i in 1 2 3; do CONNECTION[i]=$(node $i client list | sed -n '/cmd=client/!s/^id=\([0-9]*\).*/\1/p'); done
	enqueue b "${TTL[@]}"
	enqueue c "${TTL[@]}"
	i=$(queue_node)
	mv "$T/$i.sock" "$T/$i.away"
	redis-cli -s "$T/$i.away" client kill id "${CONNECTION[i]}"
	let_go a
	taken b
	taken c "the holder cannot reach the queue node at its release: the second waiter"
	mv "$T/$i.away" "$T/$i.sock"
}

@test "the queue node is killed, and starts again" {
	hold a "${TTL[@]}"
	for name in b c d e; do enqueue $name "${TTL[@]}"; done
	i=$(queue_node)
	kill_node "$i"
	let_go a
	start_node "$i"
	eventually served 4
	last=$(tail -n 1 "$T/served")
	taken "${last% *}"
}

# ---- the order, and clients that do not wait ----

@test "--fair: clients that do not wait pass no waiter" {
	polls() {
		until [ -e "$T/stop" ]; do
			[ -e "$T/poll" ] || { sleep 0.02; continue; }
			redlock run -q -n --fair -E 0 -k job "${PATIENT[@]}" -- sh -c "echo $1 >> $T/served"
		done
	}
	polls p 3>&- &
	pollers=$!
	polls q 3>&- &
	also_end "$pollers"
	also_end $!
	pollers+=" $!"
	for round in 1 2 3 4 5; do
		rm -f "$T/poll"
		hold a$round --fair "${PATIENT[@]}"
		# Where the holder's key is missing, clients that do not wait wake the first waiter in vain.
		eventually is_held_by "$HOLDER" 3
		touch "$T/poll"
		for name in b c d e; do enqueue $name --fair "${PATIENT[@]}"; done
		: > "$T/served"
		let_go a$round
		eventually served 4
		is_like "$(order)" "b c d e *"
		eventually file_has "$T/served" '^[pq]'
	done
	touch "$T/stop"
	wait $pollers
}

@test "a waiter that was killed refuses no client that does not wait" {
	hold r --shared "${TTL[@]}"
	enqueue b "${TTL[@]}"
	kill -KILL "${W[b]}"
	eventually in_queue 0
	redlock run -n --shared -k job "${TTL[@]}" -- true
	let_go r
	wait "$HOLDER"
	redlock run -n --fair -k job "${TTL[@]}" -- true
	hold a "${TTL[@]}"
	enqueue b "${TTL[@]}"
	kill -KILL "${W[b]}"
	eventually in_queue 0
	let_go a
	wait "$HOLDER"
	redlock run -n --fair -k job "${TTL[@]}" -- true
	redlock run -n --shared -k job "${TTL[@]}" -- true
}

@test "a crowd that has gone refuses no client with a short --wait" {
	hold a "${TTL[@]}"
	for name in b c d e f g; do enqueue $name "${TTL[@]}"; done
	let_go a
	for name in b c d e f g; do wait "${W[$name]}"; done
	redlock run -w 100ms -k job "${TTL[@]}" -- true
	# a crowd that gave up, and one that was killed
	for signal in TERM KILL; do
		hold $signal "${TTL[@]}"
		for name in b c d e f g; do enqueue $name "${TTL[@]}"; done
		for name in b c d e f g; do kill -$signal "${W[$name]}"; done
		eventually in_queue 0
		let_go $signal
		wait "$HOLDER"
		redlock run -w 100ms -k job "${TTL[@]}" -- true
	done
	# writers that waited for a reader
	rm "$T/a.go"
	woken_reader "${TTL[@]}"
	kill -KILL "${W[b]}" "${W[c]}"
	eventually in_queue 0
	let_go r
	wait "$HOLDER"
	redlock run -w 100ms -k job "${TTL[@]}" -- true
}

@test "in calm, a waiter asks seldom: beyond the second, at most 12 times a minute" {
	hold a "${TTL[@]}"
	for name in b c d e f g; do enqueue $name "${TTL[@]}"; done
	mapfile -t names < <(node "$(queue_node)" zrange 'redlock:queue:{job}' 0 -1)
	for i in 1 2 3; do
		node $i config resetstat
		redis-cli -s "$T/$i.sock" monitor > "$T/monitor$i" 3>&- &
		also_end $!
	done
	for i in 1 2 3; do eventually test -s "$T/monitor$i"; done
	start=$(now)
	have_passed() { [ $((passed = $(now) - start)) -ge "$1" ]; }
	eventually have_passed 11000
	asked() { cat "$T"/monitor? | grep -cE "\"EVAL(SHA)?\".*[ \"]$1[ \"]" || true; }
	for ((n = 0; n < 6; n++)); do
		echo "# waiter $n: $(asked "${names[n]}") requests in $passed ms" >&3
	done
	for n in 2 3 4 5; do [ "$(asked "${names[n]}")" -le $((passed / 5000 + 1)) ]; done
	echo "# all clients: $(evals 1 2 3) scripts" >&3
	let_go a
}
