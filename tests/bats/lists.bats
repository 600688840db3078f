# Hosts that name different nodes: excluded where both lists have a node, or not noticed, as docs/nodes.md says; and the
# steps of one node, in which jobs go on.

load nodes

setup() {
	nodes_start 5
	export XDG_RUNTIME_DIR=$T
}
teardown() {
	also_end_holders "$T/redlock"
	nodes_stop
}

# names I...: the nodes as a list.
names() {
	local i out=
	for i; do out+="${out:+ }unix://$T/$i.sock"; done
	echo "$out"
}

# on LIST CMD...: with these nodes, such as "1 2 3".
on() {
	local REDLOCK_NODES
	# shellcheck disable=SC2086
	REDLOCK_NODES=$(names $1)
	export REDLOCK_NODES
	shift
	"$@"
}

# hold_in_background LIST NAME ARG...: a holder; its command ends when NAME.end exists.
hold_in_background() {
	local list=$1 name=$2
	shift 2
	on "$list" in_background "$T/$name" run "$@" -- sh -c \
		': > "$0.began"; until [ -e "$0.end" ]; do sleep 0.1; done' "$T/$name"
	HOLDERS+=("$BG")
	eventually test -e "$T/$name.began"
}

# refused LIST ARG...: 75, because of a holder with other nodes.
refused() {
	run -75 on "$1" redlock "${@:2}"
	[ ! -e "$T/beside" ]
}

# excludes LIST HOLDERS_LIST: all subcommands beside the lock of the other list; then a waiter gets it.
excludes() {
	hold_in_background "$2" holder -k job
	local holder=$BG
	refused "$1" run -n -k job -- touch "$T/beside"
	refused "$1" run -w 0.3 -k job -- touch "$T/beside"
	refused "$1" acquire -n -k job
	refused "$1" hold -n -k job
	refused "$1" wait -n -k job
	refused "$1" run -n --fence -k other -k job -- touch "$T/beside"
	on "$1" in_background "$T/waiter" run -w 1m -k job -- touch "$T/after"
	eventually in_queue 1
	touch "$T/holder.end"
	ended_with 0
	test -e "$T/after"
	BG=$holder
	ended_with 0
	rm -f "$T"/{after,holder.*}
}

@test "hosts with a common node exclude each other, although a majority of one list misses the other" {
	excludes "1 2 3" "3 4 5"
	excludes "3 4 5" "1 2 3"
	excludes "1 2 3" "1 2 4"
	excludes "1 2 3" "1"
	excludes "1" "1 2 3"
	excludes "1 2 3 4 5" "1 2"
}

# bats test_tags=not-under-valgrind
@test "a slow fork delays no vote of a common node" {
	hold_in_background "3 4 5" holder -k job
	local holder=$BG
	"$REDLOCK_BUILD/tools/proxy" "$T/late.sock" "$T/3.sock" --slow 100 > "$T/ready" 3>&- &
	also_end $!
	eventually test -s "$T/ready"
	# While the supervisor is made, node 3 answers. A vote that comes a quarter of that time later is not waited for.
	REDLOCK_NODES="$(names 1 2) unix://$T/late.sock" STALL=fork-:1:400 LD_PRELOAD=$REDLOCK_BUILD/tools/stall.so \
		ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 run -75 \
		"$REDLOCK_BUILD/redlock" run -n -k job -- touch "$T/beside"
	[ ! -e "$T/beside" ]
	touch "$T/holder.end"
	BG=$holder ended_with 0
}

@test "lists without a common node are not noticed: the condition of docs/nodes.md" {
	hold_in_background "1 2" holder -k job
	on "3 4 5" redlock run -n -k job -- true
	# another database of the same servers
	hold_in_background "3 4 5" other -k other
	REDLOCK_NODES=$(names 3 4 5 | sed 's/\.sock/.sock?db=1/g') redlock run -n --restart-guard off -k other -- true
	touch "$T"/{holder,other}.end
	wait "${HOLDERS[@]}"
}

@test "one node more or less changes nothing: no message, and what a client that died left is no holder" {
	local value
	hold_in_background "1 2 3" holder -k job
	run -75 --separate-stderr on "1 2 3 4" redlock run -n -v -k job -- true
	not grep -q 'other nodes' <<< "$stderr"
	value=$(node 3 get job)
	kill -KILL "$BG"
	eventually held_on job 0
	# on one node of three, or of four: of a client that was killed while it tried
	node 3 set job "$value" px 60000
	on "1 2 3 4" redlock run -n -k job -- true
	on "2 3" redlock run -n -k free -- true
	run -75 --separate-stderr on "3 4 5" redlock run -n -k job -- true
}

@test "a reader is noticed by a writer with other nodes, and a writer by a reader" {
	hold_in_background "1 2 3" reader -s -k job
	run -75 on "3 4 5" redlock run -n -k job -- true
	hold_in_background "1 2 3 4" reader2 -s -k job
	run -75 on "3 4 5" redlock run -n -k job -- true
	# readers share it, whatever their nodes are
	on "3 4 5" redlock run -n -s -k job -- true
	touch "$T"/{reader,reader2}.end
	wait "${HOLDERS[@]}"
	rm "$T"/*.end
	hold_in_background "1 2 3" writer -k job
	run -75 on "3 4 5" redlock run -n -s -k job -- true
	touch "$T/writer.end"
	ended_with 0
}

@test "a slot that a client with other nodes has is not taken; another slot is" {
	local slot
	hold_in_background "1 2 3" one --limit 2 -k job
	slot=$(node 3 keys 'job#?')
	run -0 on "3 4 5" redlock run -n --limit 2 -k job -- sh -c 'echo "slot $REDLOCK_SLOT"'
	is_like "$output" "*slot $((3 - ${slot#job#}))"
	hold_in_background "1 2 3" two --limit 2 -k job
	run -75 on "3 4 5" redlock run -n --limit 2 -k job -- true
	touch "$T"/{one,two}.end
	wait "${HOLDERS[@]}"
}

@test "a revoked lock and a key that is left to expire keep clients with other nodes out" {
	hold_in_background "1 2 3" holder -k job
	# on a minority of the holder's nodes: it keeps the lock
	on "3 4 5" redlock break -y job || true
	run -75 on "3 4 5" redlock run -n -k job -- true
	touch "$T/holder.end"
	ended_with 0
	on "1 2 3" redlock run --min-hold 1m -k left -- true
	run -75 on "3 4 5" redlock run -n -k left -- true
}

# rounds N LIST LIST: two clients at the same key, the second at every phase of the first: one is refused, or both are,
# or the vote that shows one of them came late: that one is ended.
rounds() {
	local i first status1 status2 ended=0
	local command=(sh -c 'mkdir "$0/in" 2> "$0/both" && rm "$0/both"; sleep 0.15; rmdir "$0/in"' "$T")
	export REDLOCK_NODE_TIMEOUT=100ms
	for ((i = 0; i < $1; i++)); do
		on "$2" in_background "$T/1" run -n -k job -- "${command[@]}"
		first=$BG
		sleep "0.00$((i % 10))$((i / 10))"
		on "$3" in_background "$T/2" run -n -k job -- "${command[@]}"
		status1=0 status2=0
		wait "$first" || status1=$?
		wait "$BG" || status2=$?
		case $status1.$status2 in
		0.75 | 75.0 | 75.75) ;;
		79.0 | 0.79 | 79.75 | 75.79 | 79.79) ended=$((ended + 1)) ;;
		0.0) [ ! -e "$T/both" ] ;; # one after the other
		*) false ;;
		esac || { echo "$2, $3: $status1 and $status2"; return 1; }
		rm -rf "$T"/{in,both}
	done
	echo "$2, $3: $ended of $1 were ended"
	[ "$ended" -le "$(($1 / 4))" ]
}

@test "two clients with a common node exclude each other at every phase" {
	rounds 50 "1 2 3" "3 4 5"
	rounds 50 "1 2 3" "2 3 4"
	rounds 50 "1" "1 2 3"
	rounds 50 "1 2 3" "1 2 3 4 5"
}

# alone NAME: what a command does that must be alone under its key.
alone() {
	mkdir "$T/in" || echo "$1" >> "$T/overlaps"
	sleep 0.01
	rmdir "$T/in"
	echo "$1" >> "$T/turns"
}

# clients NAME LIST: ten runs, one after the other.
clients() {
	local i
	export -f alone
	for ((i = 0; i < 10; i++)); do
		on "$2" redlock run -w 1m -k job -- bash -c 'alone "$0"' "$1" || return
	done 3>&-
}

# take_turns LIST LIST: clients of both lists wait for each other.
take_turns() {
	local pids=() pid i
	rm -f "$T"/{turns,overlaps}
	export T
	for i in a1 a2; do clients "$i" "$1" > "$T/$i" 2>&1 & pids+=($!); done
	for i in b1 b2; do clients "$i" "$2" > "$T/$i" 2>&1 & pids+=($!); done
	for pid in "${pids[@]}"; do
		wait "$pid" || { cat "$T"/{a1,a2,b1,b2}; return 1; }
	done
	[ ! -e "$T/overlaps" ]
	[ "$(wc -l < "$T/turns")" = 40 ]
}

@test "clients that name one node more take turns, and none is ended" {
	take_turns "1 2 3" "1 2 3 4"
	take_turns "1 2 3 4" "1 2 4"
	take_turns "1 2 3 4 5" "1 2 3 4"
	not grep -h 'other nodes' "$T"/{a1,a2,b1,b2}
}

@test "the same servers under other names are the same nodes: no message, and none is ended" {
	local i
	for i in 1 2 3; do ln -s "$i.sock" "$T/1$i.sock"; done
	take_turns "1 2 3" "11 12 13"
	not grep -h 'other nodes' "$T"/{a1,a2,b1,b2}
}

# wait_in_background LIST NAME ARG...: its command writes NAME.got.
wait_in_background() {
	local list=$1 name=$2
	shift 2
	on "$list" in_background "$T/$name" run -w 10m "$@" -- touch "$T/$name.got"
	WAITERS+=("$BG")
}

go_on() {
	local pid
	for pid in "${HOLDERS[@]}" "${WAITERS[@]}"; do
		not is_gone "$pid" || { echo "ended: $pid"; tail -n 3 "$T"/{run,reader?,slot?}; return 1; }
	done
	on "$1" redlock check --token "$TOKEN" -k held
	[ "$(find "$T" -name '*.got')" = '' ]
}

# on_nodes KEY I...: each of these nodes has the key.
on_nodes() {
	local i
	for i in "${@:2}"; do [ "$(node "$i" exists "$1")" = 1 ] || return; done
}

# step LIST LIST NEW: hosts with both lists hold and wait. NEW is a new node of the second list, without data, or ''.
step() {
	local old=$1 new=$2 key
	HOLDERS=() WAITERS=()
	[ -z "$3" ] || { kill_node "$3"; start_node "$3"; eventually answers "$3"; }
	hold_in_background "$old" run -k alone
	TOKEN=$(on "$old" redlock hold -k held)
	hold_in_background "$old" reader1 -s -k shared
	hold_in_background "$old" slot1 --limit 2 -k slots
	hold_in_background "$new" reader2 -s -k shared
	hold_in_background "$new" slot2 --limit 2 -k slots
	hold_in_background "$new" run2 -k alone2
	for key in '-k alone' '-k held' '-k alone2' '-x -k shared' '--limit 2 -k slots'; do
		# shellcheck disable=SC2086
		wait_in_background "$old" "old ${key##* }" $key
		# shellcheck disable=SC2086
		wait_in_background "$new" "new ${key##* }" $key
	done
	eventually in_queue 10
	# a new node votes after its quarantine
	# shellcheck disable=SC2086
	for key in shared alone2; do eventually on_nodes $key $new; done
	go_on "$old"
	take_turns "$old" "$new"
	go_on "$old"
	touch "$T"/{run,run2,reader1,reader2,slot1,slot2}.end
	on "$old" redlock release --token "$TOKEN" -k held
	for BG in "${HOLDERS[@]}" "${WAITERS[@]}"; do ended_with 0; done
	not grep -rsh 'other nodes' "$T"
	rm -f "$T"/*.{end,got,began}
}

@test "three nodes become four, and four five, while jobs run on hosts with both lists" {
	export REDLOCK_TTL=6s
	step "1 2 3" "1 2 3 4" 4
	step "1 2 3 4" "1 2 3 4 5" 5
}

@test "a live node is replaced by another one in two steps, while jobs run on hosts with both lists" {
	export REDLOCK_TTL=6s
	step "1 2 3" "1 2 3 4" 4
	step "1 2 3 4" "1 2 4" ''
}

@test "five nodes become three in two steps, while jobs run on hosts with both lists" {
	export REDLOCK_TTL=6s
	step "1 2 3 4 5" "1 2 3 4" ''
	step "1 2 3 4" "1 2 3" ''
}

@test "all nodes move to new hosts, one after the other, while jobs run on hosts with both lists" {
	export REDLOCK_TTL=6s
	N=6
	start_node 6
	eventually answers 6
	step "1 2 3" "1 2 3 4" 4
	step "1 2 3 4" "2 3 4" ''
	step "2 3 4" "2 3 4 5" 5
	step "2 3 4 5" "3 4 5" ''
	step "3 4 5" "3 4 5 6" 6
	step "3 4 5 6" "4 5 6" ''
}

@test "extend, check and release by a token of another list: the message says that it was acquired with other nodes" {
	for subcommand in check extend release; do
		TOKEN=$(on "1 2 3" redlock acquire -k $subcommand)
		run -79 on "3 4 5" redlock $subcommand -k $subcommand --token "$TOKEN"
		[[ "$output" == *"only 1 of 3 nodes still had it); it was acquired with other nodes ("* ]]
	done
}
