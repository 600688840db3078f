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

# section FOLDER: what a command does that must be alone.
section() {
	printf '%s\n' '#!/bin/sh' 'mkdir "$1" || { echo overlap >> "$1.overlaps"; exit 0; }' \
		'trap "" TERM' 'sleep "${2:-0.02}"' 'rmdir "$1"' 'echo "$3" >> "$1.turns"' > "$T/section"
	chmod +x "$T/section"
}

# hold_in_background LIST NAME ARG...: a holder whose command ends when NAME.end exists.
hold_in_background() {
	local list=$1 name=$2
	shift 2
	on "$list" in_background "$T/$name" run "$@" -- sh -c \
		': > "$0.began"; until [ -e "$0.end" ]; do sleep 0.05; done' "$T/$name"
	HOLDERS+=("$BG")
	eventually test -e "$T/$name.began"
}

# refuses LIST HOLDERS_LIST: 75 beside the lock of the other list, with -n and as a waiter; then the waiter gets it.
refuses() {
	local list=$1 other=$2
	hold_in_background "$other" holder -k job
	local holder=$BG
	run -75 --separate-stderr on "$list" redlock run -n -k job -- touch "$T/beside"
	run -75 on "$list" redlock run -w 0.3 -k job -- touch "$T/beside"
	run -75 on "$list" redlock acquire -n -k job
	run -75 on "$list" redlock hold -n -k job
	run -75 on "$list" redlock wait -n -k job; echo "$output"
	run -75 on "$list" redlock run -n --fence -k other -k job -- touch "$T/beside"
	on "$list" in_background "$T/waiter" run -w 1m -k job -- touch "$T/after"
	not test -e "$T/beside"
	touch "$T/holder.end"
	ended_with 0
	test -e "$T/after"
	BG=$holder
	ended_with 0
	rm -f "$T"/{after,holder.*}
}

@test "hosts with a common node exclude each other, although a majority of one list misses the other" {
	refuses "1 2 3" "3 4 5"
	refuses "3 4 5" "1 2 3"
	refuses "1 2 3" "1 2 4"
	refuses "1 2 3" "1"
	refuses "1" "1 2 3"
	refuses "1 2 3 4 5" "1 2"
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

@test "a vote that comes after the majority ends the command of the client that it shows beside another" {
	stop_node 3
	export REDLOCK_NODE_TIMEOUT=20s
	hold_in_background "1 2 3" first -k job
	local first=$BG
	hold_in_background "3 4 5" second -k job
	continue_node 3
	# node 3 gives the key to one of them, and tells the other one
	BG=$(wait -n -p ended "${HOLDERS[@]}" || [ $? -eq 79 ] && echo "$ended")
	touch "$T"/{first,second}.end
	[ "$BG" ]
	for pid in "${HOLDERS[@]}"; do
		[ "$pid" = "$BG" ] || { BG=$pid ended_with 0; }
	done
	grep -hE '^redlock: lost .* with other nodes' "$T"/{first,second}
}

# rounds N LIST LIST: two clients at the same key, the second at every phase of the first. If both began, one of them was
# ended.
rounds() {
	local i status1 status2 both=0
	export REDLOCK_NODE_TIMEOUT=100ms
	for ((i = 0; i < $1; i++)); do
		rm -f "$T"/began[12]
		on "$2" in_background "$T/1" run -n -k job -- sh -c ': > "$0"; sleep 0.2' "$T/began1"
		local first=$BG
		sleep "0.00$((i % 10))$((i / 10 % 10))"
		on "$3" in_background "$T/2" run -n -k job -- sh -c ': > "$0"; sleep 0.2' "$T/began2"
		status1=0 status2=0
		wait "$first" || status1=$?
		wait "$BG" || status2=$?
		echo "# $2, $3: $status1 $status2"
		case $status1.$status2 in
		0.75 | 75.0 | 75.75) ;;
		79.0 | 0.79 | 79.79) both=$((both + 1)) ;;
		0.0) not test -e "$T/began1" -a "$T/began1" -ot "$T/never" || true
			return 1 ;;
		*) return 1 ;;
		esac
	done
	[ "$both" -lt "$(($1 / 2))" ]
}

@test "two clients with a common node exclude each other at every phase, or one of them is ended" {
	rounds 50 "1 2 3" "3 4 5"
	rounds 50 "1 2 3" "2 3 4"
	rounds 50 "1" "1 2 3"
	rounds 50 "1 2 3" "1 2 3 4 5"
}
