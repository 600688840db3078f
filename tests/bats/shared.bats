# --shared and --exclusive: readers together, a writer alone.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
	unset REDLOCK_KEY REDLOCK_KEYS REDLOCK_TOKEN REDLOCK_HELD REDLOCK_SHARED
	: > "$T/served"
}
teardown() {
	continue_all
	nodes_stop
}

# No key expires before the test does, and no reservation either.
LONG=(--ttl 1h --node-timeout 60s)

# hold NAME ARG...: holds 'db' until "$T/NAME.go" exists; its pid is in PID_OF[NAME].
declare -gA PID_OF
hold() {
	local name=$1
	shift
	in_background "$T/$name" run -k db "${LONG[@]}" --owner "$name" "$@" -- \
		sh -c "echo $name >> $T/served; until [ -e $T/$name.go ]; do sleep 0.1; done"
	PID_OF[$name]=$BG
}
has_it() { eventually file_has "$T/served" "^$1\$"; }
# reader, writer NAME: holds the lock now; late_reader, late_writer NAME: waits for it in the queue.
reader() { hold "$1" --shared; has_it "$1"; }
writer() { hold "$1"; has_it "$1"; }
wait_in_line() {
	local before
	before=$(waiting)
	hold "$@"
	eventually in_queue $((before + 1))
}
late_reader() { wait_in_line "$1" --shared; }
late_writer() { wait_in_line "$1"; }
let_go() { touch "$T/$1.go"; }
served() { [ "$(tr '\n' ' ' < "$T/served")" = "$1 " ]; }
done_is() {
	BG=${PID_OF[$1]}
	ended_with "${2:-0}"
}
# readers N: true if each node has that many readers.
readers() {
	local i
	for i in 1 2 3; do [ "$(node $i zcard 'redlock:readers:{db}')" = "$1" ] || return 1; done
}

@test "readers together, a writer alone" {
	reader a
	reader b
	eventually readers 2
	run -75 --separate-stderr redlock run -n -k db -- touch "$T/never"
	is_like "$stderr" "redlock: 'db' is busy: held by 2 readers: a, b since * on [23] of 3 nodes*"
	says 0 "'db' is held by 2 readers: a, b since * on 3 of 3 nodes, *" '' status db
	let_go a
	done_is a
	says 0 "'db' is held by reader b since * on 3 of 3 nodes, *" '' status db
	run -75 redlock run -n -k db -x -- touch "$T/never"
	let_go b
	done_is b
	free_everywhere db
	free_everywhere 'redlock:readers:{db}'
	writer c
	run -75 --separate-stderr redlock run -n -k db -s -- touch "$T/never"
	is_like "$stderr" "redlock: 'db' is busy: held by c since *"
	run -75 redlock run -n -k db -- touch "$T/never"
	[ ! -e "$T/never" ]
}

@test "a writer waits for the last reader, and a reader for the writer: a hand-off each" {
	reader a
	reader b
	late_writer w
	let_go a
	done_is a
	served "a b"
	let_go b
	has_it w
	done_is b
	late_reader c
	let_go w
	has_it c
	let_go c
	for name in w c; do done_is $name; done
	served "a b w c"
}

@test "a new reader does not pass a waiting writer" {
	reader a
	late_writer w
	run -75 --separate-stderr redlock run -n -k db -s -- touch "$T/never"
	is_like "$stderr" "redlock: 'db' is busy: shared by readers, with other waiters queued before us"
	run -75 redlock wait -n -s -k db
	late_reader b
	late_reader c
	served a
	let_go a
	has_it w
	served "a w"
	let_go w
	# both at once: one of them passes the wake-up on
	has_it b
	has_it c
	let_go b
	let_go c
	for name in a w b c; do done_is $name; done
	[ ! -e "$T/never" ]
	# and the queue is empty
	run -0 redlock run -n -k db -s -- true
}

@test "a writer that is first while readers hold the lock is next, before all waiters after it" {
	writer x
	late_reader a
	late_reader b
	late_writer w
	late_reader c
	let_go x
	has_it a
	has_it b
	eventually in_queue 2
	# the question of another reader does not change that
	run -75 redlock run -n -k db -s -- touch "$T/never"
	let_go a
	let_go b
	has_it w
	[ "$(tail -1 "$T/served")" = w ]
	let_go w
	has_it c
	let_go c
	for name in x a b w c; do done_is $name; done
}

@test "a writer that leaves the queue lets the readers after it in" {
	reader a
	late_writer w
	late_reader b
	late_reader c
	kill -TERM "${PID_OF[w]}"
	done_is w 143
	has_it b
	has_it c
	let_go a
	let_go b
	let_go c
	# of two writers, the next one stays before the readers
	eventually in_queue 0
	free_everywhere db
	: > "$T/served"
	reader d
	late_writer v
	late_writer u
	late_reader e
	kill -TERM "${PID_OF[v]}"
	done_is v 143
	eventually in_queue 2
	served d
	let_go d
	has_it u
	let_go u
	has_it e
	let_go e
	served "d u e"
}

@test "so does a writer that readers were woken before" {
	writer x
	late_reader a
	late_writer w
	late_reader b
	let_go x
	has_it a
	eventually in_queue 2
	kill -TERM "${PID_OF[w]}"
	done_is w 143
	has_it b
	let_go a
	let_go b
	for name in x a b; do done_is $name; done
	run -0 redlock run -n -k db -- true
}

@test "a first writer that dies delays no other" {
	writer x
	late_reader a
	late_writer w
	late_writer v
	let_go x
	has_it a
	eventually in_queue 2
	kill -KILL "${PID_OF[w]}"
	eventually in_queue 1
	let_go a
	# a client that asks may be faster
	run redlock run -n -k db "${LONG[@]}" --owner asker -- true
	[ "$status" -eq 0 ] || [ "$status" -eq 75 ]
	has_it v
	let_go v
	done_is v
}

@test "a reader that is gone is removed when its TTL is over" {
	redlock acquire -k db -s --ttl 8s --node-timeout 2s --owner short > "$T/token"
	reader a
	eventually file_has <(redlock status db) "held by 2 readers: a, short"
	eventually eval '! redlock check -k db --token-file "$T/token" > "$T/check"'
	# messages do not name it; and other readers do not keep its entry either
	run -0 redlock run -n -s -k db -- true
	says 0 "'db' is held by reader a since *" '' status db
	eventually eval 'redlock run -n -s -k db -- true && readers 1'
	let_go a
	done_is a
	run -0 redlock run -n -k db -- true
}

@test "a killed reader does not remove the others, and a waiting writer gets the lock in the end" {
	in_background "$T/r" run -k db -s --ttl 8s --node-timeout 2s -- sh -c "echo > $T/r.in; sleep 1000"
	eventually [ -e "$T/r.in" ]
	kill -KILL "$BG"
	reader a
	late_writer w
	let_go a
	has_it w
	let_go w
	done_is w
}

@test "other programs' locks exclude readers, and readers exclude other programs" {
	reader a
	for i in 1 2 3; do eventually eval "[ \"\$(node $i exists db)\" = 1 ]"; [ -z "$(node $i set db else nx px 60000)" ]; done
	let_go a
	done_is a
	free_everywhere db
	for i in 1 2 3; do [ "$(node $i set db else nx px 600000)" = OK ]; done
	run -75 --separate-stderr redlock run -n -s -k db -- true
	is_like "$stderr" "redlock: 'db' is busy: held by another program (value 'else') *"
}

@test "acquire, check, extend, release, by token; hold; break" {
	one=$(redlock acquire -k db --shared "${LONG[@]}" --owner one)
	two=$(redlock acquire -k db --shared "${LONG[@]}" --owner two)
	run -0 --separate-stderr redlock check -k db --token "$one"
	run -0 --separate-stderr redlock extend -k db --token "$two" --ttl 2h
	run -0 --separate-stderr redlock release -k db --token "$one"
	run -79 --separate-stderr redlock check -k db --token "$one"
	run -0 --separate-stderr redlock check -k db --token "$two"
	run -0 --separate-stderr redlock release -k db --token "$two"
	free_everywhere db
	redlock hold -k db -s "${LONG[@]}" --owner keeper > "$T/hold"
	also_end "$(cut -d' ' -f2 "$T/hold")"
	run -0 --separate-stderr redlock status --json db
	json '.locks[0] | .state == "held" and .holder.shared and .holder.owner == "reader keeper"'
	run -75 redlock run -n -k db -- true
	redlock release -k db
	free_everywhere db
	one=$(redlock acquire -k db --shared "${LONG[@]}" --owner one)
	says 0 "*" "*" break -fy -k db
	free_everywhere db
	run -79 --separate-stderr redlock check -k db --token "$one"
	run -0 redlock run -n -k db -- true
}

@test "check reports the token's own time, not that of the last reader to expire" {
	a=$(redlock acquire -k db -s --ttl 10m --owner a)
	b=$(redlock acquire -k db -s --ttl 1h --owner b)
	run -79 --separate-stderr redlock check -k db --token "$a" --min-validity 50m --json
	json '.outcome == "too-short" and .valid_ms < 600000'
	run -0 --separate-stderr redlock check -k db --token "$b" --min-validity 50m --json
	json '.outcome == "held" and .valid_ms > 3000000'
	# Several keys: the first to expire.
	c=$(redlock acquire -k db -k other -s --ttl 30m --owner c)
	run -79 --separate-stderr redlock check -k db -k other --token "$c" --min-validity 50m --json
	json '.outcome == "too-short" and .valid_ms > 1200000 and .valid_ms < 1800000'
}

@test "an extension by token repairs a reader's entry, but not a writer's key" {
	one=$(redlock acquire -k db --shared "${LONG[@]}" --restart-guard off --owner one)
	eventually held_on db 3
	node 1 flushall
	# a majority is enough to extend: a node with a late reply gets the key the next time
	extended_everywhere() {
		redlock extend -k db --token "$one" "${LONG[@]}" --restart-guard off && held_on db 3
	}
	eventually extended_everywhere
	readers 1
	run -0 redlock run -n -s -k db --restart-guard off -- true
	readers 1
}

@test "a node that lost its keys gets a reader back by the extension" {
	export REDLOCK_RESTART_GUARD=off
	in_background "$T/r" run -k db -s --ttl 9s --node-timeout 2s -- sh -c "echo > $T/r.in; until [ -e $T/r.go ]; do sleep 0.1; done"
	eventually [ -e "$T/r.in" ]
	eventually readers 1
	node 2 flushall
	eventually readers 1
	run -0 redlock run -w 0 -s -k db --ttl 9s --node-timeout 2s -- true
	touch "$T/r.go"
	ended_with 0
}

@test "readers nest within readers, despite waiters; a reader does not become a writer" {
	cat > "$T/work" <<- END
		echo in >> "$T/served"
		until [ -e "$T/inner" ]; do sleep 0.1; done
		"$REDLOCK_BUILD/redlock" run -n -s -k db -- echo reader > "$T/out" 2>&1
		"$REDLOCK_BUILD/redlock" run -n -k db -E 9 -- echo writer > "$T/writer" 2>&1
		echo "\$?" >> "$T/writer"
	END
	in_background "$T/outer" run -s -k db "${LONG[@]}" -- sh "$T/work"
	outer=$BG
	has_it in
	late_writer w
	touch "$T/inner"
	BG=$outer
	ended_with 0
	[ "$(cat "$T/out")" = reader ]
	is_like "$(cat "$T/writer")" "redlock: 'db' is held by a run that this one is part of*9"
	has_it w
	# nor does a writer become a reader
	let_go w
	done_is w
	run -9 --separate-stderr redlock run -k db -- "$REDLOCK_BUILD/redlock" run -s -E 9 -k db -- true
	is_like "$stderr" "redlock: 'db' is held by a run that this one is part of*"
}

@test "--reentrant does not make a reader a writer, either" {
	run -75 --separate-stderr redlock run -s -k db "${LONG[@]}" -- \
		"$REDLOCK_BUILD/redlock" run --reentrant -k db "${LONG[@]}" -- touch "$T/never"
	is_like "$stderr" "redlock: 'db' is held by a run that this one is part of
hint: a reader does not become a writer*"
	[ ! -e "$T/never" ]
	# nested readers, and readers under a writer, work as usual
	run -0 redlock run -s -k db "${LONG[@]}" -- "$REDLOCK_BUILD/redlock" run -s --reentrant -k db "${LONG[@]}" -- true
	run -0 redlock run -k db "${LONG[@]}" -- "$REDLOCK_BUILD/redlock" run -s --reentrant -k db "${LONG[@]}" -- true
}

@test "wait: until a shared lock is possible" {
	reader a
	run -0 redlock wait -n -s -k db
	run -75 redlock wait -n -k db
	let_go a
	done_is a
	writer w
	in_background "$T/wait" wait -s -k db --node-timeout 60s
	PID_OF[wait]=$BG
	eventually in_queue 1
	late_reader b
	let_go w
	done_is wait
	has_it b
}

@test "several keys, a number, --min-hold: as for a writer" {
	run -0 redlock run -s -k db -k log --fence -- sh -c 'redlock=$0; "$redlock" status db; "$redlock" status log; echo "$REDLOCK_FENCE"' "$REDLOCK_BUILD/redlock"
	is_like "${lines[0]}" "'db' is held by reader *"
	is_like "${lines[1]}" "'log' is held by reader *"
	[ "${lines[2]}" -gt 0 ]
	free_everywhere db
	run -0 redlock run -s -k db --min-hold 1h -- true
	run -0 redlock run -s -n -k db -- true
	run -75 redlock run -n -k db -- true
}

@test "the --min-hold of one reader does not end with that of another one with the same owner" {
	# within one second, so that only the token distinguishes them
	until [ "$(date +%1N)" -lt 3 ]; do :; done
	run -0 redlock run -s -k db "${LONG[@]}" --owner x --min-hold 1h -- \
		"$REDLOCK_BUILD/redlock" run -s -k db "${LONG[@]}" --owner x --min-hold 2h -- true
	readers 2
	is_like "$(redlock status db)" "'db' is held by 2 readers: x, x since *, expires in 1h59m unless renewed*"
}

@test "a stopped node reads an attempt and its release together, also if the client is gone by then" {
	export REDLOCK_NODE_TIMEOUT=500ms
	for how in -x -s; do
		stop_node 3
		run -0 redlock run -w 60s "$how" -k db --ttl 1h --owner gone -- true
		continue_node 3
		eventually answers 3
		free_everywhere db
	done
}

@test "the options: as letters, in the environment, and the combinations that are refused" {
	export REDLOCK_SHARED=1
	reader a
	hold b -s
	has_it b
	run -0 redlock run -n -k db -- true
	run -75 redlock run -n -x -k db -- true
	says 64 '' "redlock: REDLOCK_SHARED: --shared cannot be combined with --limit
hint: readers are not counted; see 'redlock help run'" run -L 2 -k other -- true
	says 64 '' "redlock: the key 'redlock:readers:{db}' is redlock's own*" run -k 'redlock:readers:{db}' -- true
}

@test "a user without the rights: doctor reports them, and clients never get two views of one lock" {
	for i in 1 2 3; do node $i acl setuser app on '>pw' '~*' '&*' +@all -zadd -zrangebyscore; done
	nodes=
	for i in 1 2 3; do nodes+=" unix://app:pw@$T/$i.sock"; done
	run -69 --separate-stderr redlock run -n -s -k db --nodes "$nodes" -- true
	is_like "$stderr" "*denies permission*"
	run -0 redlock run -n -k db --nodes "$nodes" -- true
	run redlock doctor --nodes "$nodes"
	is_like "$output" "*warning: user 'app' may not use zadd (to queue), zrangebyscore (for --shared)*fix: ACL SETUSER app +zadd +zrangebyscore*"
	# to a writer, readers are a lock like any other
	reader a
	eventually readers 1
	run -75 redlock run -n -k db --nodes "$nodes" -- true
	run -69 redlock run -n -s -k db --nodes "$nodes" -- true
}
