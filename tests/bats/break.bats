# redlock break and run --takeover: a lock ends without two commands at once. status.bats has break --force.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	nodes_start 3
}
teardown() { nodes_stop; }

declare -gA P # the pids of runs in the background

# starts NAME ARG...: redlock ARG... in the background, with output to $T/NAME.
starts() {
	in_background "$T/$1" "${@:2}"
	P[$1]=$BG
}
# ended NAME STATUS
ended() {
	BG=${P[$1]}
	ended_with "$2"
}

# The beginning of a command NAME LOG. It writes "NAME begins" to LOG, or "NAME overlaps" if a process of another command
# still runs: each of them has LOG.lock locked until it is gone.
# shellcheck disable=SC2016 # for the command's shell
BEGIN='exec 9> "$1.lock"
	flock -n 9 && did=begins || did=overlaps
	echo "$0 $did" >> "$1"
'

# holds NAME [OPTION...]: a run of 'job' in the background. The command ends 0.2 s after TERM. A waiter that is woken may
# take as long as the node timeout to answer, on a machine under load.
holds() {
	# shellcheck disable=SC2016 # for the command's shell
	starts "$1" run -k job --ttl 9s --node-timeout 2s -w 60s "${@:2}" -- bash -c "$BEGIN"'
		trap "sleep 0.2; exit 0" TERM
		for _ in {1..600}; do sleep 0.1; done' "$1" "$T/log"
}
# waits NAME [OPTION...]: a run that waits for 'job' in the background. The command ends at once.
waits() { starts "$1" run -k job -w 60s "${@:2}" -- bash -c "$BEGIN" "$1" "$T/log"; }

began() { grep -qx "$1 begins" "$T/log" 2> /dev/null; }
began_in_order() { is_like "$(tr '\n' ' ' < "$T/log")" "$(printf '%s begins ' "$@")"; }

# revoked_on N: N nodes have a revoked value.
revoked_on() { [ "$(for i in 1 2 3; do node $i get job; done | grep -c '^9999999999999c')" = "$1" ]; }

@test "break: the holder ends its command, then the next one runs; both are told" {
	holds one
	eventually began one
	# before the waiter: a reservation would keep the holder's key off a node that did not know the script
	eventually held_on job 3
	waits next
	eventually in_queue 1
	says 0 "*1.sock: revoked?*2.sock: revoked?*3.sock: revoked" \
		"redlock: 'job' is held by *?redlock: waiting for the holder to end its command: at most *s?redlock: the lock ended after *" \
		break -y -k job --node-timeout 5s
	ended one 79
	ended next 0
	began_in_order one next
	file_has "$T/one" "redlock: lost 'job': revoked by 'redlock break' or 'run --takeover'"
	free_everywhere job
}

@test "break: -n does not wait, and -w waits for so long; two at once; status shows it" {
	TOKEN=$(redlock acquire -k job --owner me -t 600s)
	says 75 "*1.sock: revoked?*" "redlock: 'job' is held by me since * renewed?redlock: the lock is revoked: its holder has not ended yet" break -n -y -k job
	revoked_on 3
	says 75 "*1.sock: revoked?*" "*is held by me since * (revoked) on 3 of 3 nodes, expires in 9m unless renewed?redlock: waiting for the holder to end its command: at most 100ms?redlock: the lock is revoked: its holder has not ended yet" break -w 0.1 -y -k job
	is_like "$(redlock status job)" *"held by me since * (revoked) on 3 of 3 nodes, expires in 9m unless renewed"
	# the holder's token extends it no more, but releases it
	run -79 redlock extend -k job --token "$TOKEN"
	run -75 redlock run -n -k job -- true
	run -0 redlock release -k job --token "$TOKEN"
	free_everywhere job
}

@test "break: a holder that is killed, or that no program watches: the key keeps its time, and ends" {
	redlock acquire -k job -t 5s > "$T/token"
	starts one break -y -k job
	starts two break -y -k job
	# meanwhile, one of another program
	for i in 1 2 3; do node $i set other hello px 5000; done > "$T/set"
	left=$(node 1 pttl other)
	run -75 redlock break -n -y -k other
	[ "$(node 1 pttl other)" -le "$left" ]
	says 0 '*' "redlock: 'other' is held by hello since *(revoked)*" break -y -k other
	free_everywhere other
	ended one 0
	ended two 0
	for name in one two; do is_like "$(< "$T/$name")" "*3.sock: revoked?*redlock: the lock ended after *"; done
	free_everywhere job
	for i in 1 2 3; do
		node $i hset job 5c3a:1 1
		node $i pexpire job 600000
	done > "$T/set"
	run -75 redlock break -n -y -k job
	[ "$(node 2 type job)" = string ]
	revoked_on 3
}

@test "break: a holder that sets its key without comparing is told of: 75; so is a key without expiry" {
	for i in 1 2 3; do node $i set job hello px 600000; done > "$T/set"
	for i in 1 2 3; do
		redis-cli -s "$T/$i.sock" -r -1 -i 0.01 set job hello px 600000 > "$T/loop$i" 3>&- &
		also_end $!
	done
	says 75 '*' "*?redlock: the lock was taken back: the holder set its key again without comparing?hint: *--force*" break -y -k job
	for i in 1 2 3; do node $i set other hello; done > "$T/set"
	says 75 '' "*?redlock: cannot revoke 'other': the key has no expiry?hint: *--force*" break -y -k other
}

@test "break: readers, all of them or one by its token" {
	one=$(redlock acquire -s -k job --owner one -t 600s)
	two=$(redlock acquire -s -k job --owner two -t 600s)
	run -75 redlock break -n -y -k job --token "$one"
	is_like "$(redlock status job)" *"2 readers, 1 revoked: one, two"*
	run -79 redlock extend -k job --token "$one"
	run -0 redlock extend -k job --token "$two"
	run -75 redlock break -n -y -k job
	is_like "$(redlock status job)" *"2 readers, 2 revoked: one, two"*
	run -79 redlock extend -k job --token "$two"
	run -0 redlock release -k job --token "$one"
	is_like "$(redlock status job)" *"reader, 1 revoked two"*
	run -0 redlock release -k job --token "$two"
	free_everywhere job
}

@test "break: a slot, one key of several, a fencing number, and what --min-hold left" {
	TOKEN=$(redlock acquire -k job -L 2 -t 600s)
	run -75 redlock break -n -y -k job -L 2 --slot "${TOKEN#*#}"
	[[ "$(node 1 get "job#${TOKEN#*#}")" == 9999999999999c* ]]
	TOKEN=$(redlock acquire -k aa -k bb -t 600s)
	run -75 redlock break -n -y -k bb
	run -79 redlock extend -k aa -k bb --token "$TOKEN"
	run -0 redlock release -k aa -k bb --token "$TOKEN"
	free_everywhere aa
	free_everywhere bb
	first=$(redlock run -k cc --fence -c 'echo $REDLOCK_FENCE')
	redlock acquire -k cc --fence -t 1s > "$T/token"
	run -0 redlock break -y -k cc
	[ "$(redlock run -k cc --fence -c 'echo $REDLOCK_FENCE')" -gt "$first" ]
	redlock run -k dd --min-hold 60s -- true
	says 0 "*1.sock: removed?*" '*' break -y -k dd
	free_everywhere dd
}

@test "run --takeover: the newest runs next, before all who wait, and takes over from an earlier one" {
	# Else the nodes do not know the script of the hand-off: for a moment, the key is free for any waiter.
	redlock run -k other -- true
	redlock run -k other -- true
	holds one
	eventually began one
	waits next
	eventually in_queue 1
	holds two --takeover
	eventually began two
	holds three --takeover
	eventually began three
	# the message says when the earlier one ends
	grep -E "^redlock: takeover: 'job' is held by .*; its command ends at the next extension, within [0-9.]+m?s; a lock that is not extended ends within [0-9.]+m?s$" "$T/three"
	# which is due within a third of the time that is left
	read -r within left <<< "$(sed -nE 's/within [0-9]+ms/within 0s/g; s/.*takeover: .* within ([0-9]+)(\.[0-9]+)?s; .* within ([0-9]+)(\.[0-9]+)?s$/\1 \3/p' "$T/three")"
	[ $((3 * within)) -le $((left + 1)) ]
	run -0 redlock break -y -k job
	ended next 0
	ended one 79
	ended two 79
	ended three 79
	began_in_order one two three next
}

@test "run --takeover: the newest runs next, also after one from a host whose clock is 20 s ahead" {
	printf '%+010d' 20 > "$T/clock"
	# A waiter that is woken may take that long to answer.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=60s
	TOKEN=$(redlock acquire -k job)
	waits next --fair
	eventually in_queue 1
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" WALLJUMP=$T/clock \
		LD_PRELOAD=$REDLOCK_BUILD/tools/walljump.so waits older --takeover --fair
	eventually in_queue 2
	waits newer --takeover --fair
	eventually in_queue 3
	run -0 redlock release -k job --token "$TOKEN"
	ended newer 0
	ended older 0
	ended next 0
	began_in_order newer older next
}

@test "run --takeover: the client is the first in the queue before it revokes the lock" {
	holds one
	eventually began one
	eventually held_on job 3
	waits next
	eventually in_queue 1
	redis-cli -s "$T/$(queue_node).sock" monitor > "$T/monitor" 3>&- &
	also_end $!
	eventually test -s "$T/monitor"
	holds two --takeover
	eventually began two
	is_like "$(grep -oE '"ZADD" .* "-[0-9]+"|"SET" "job" "9999999999999c' "$T/monitor")" '"ZADD" *"SET" "job" *'
	run -0 redlock break -y -k job
	ended next 0
}

@test "run --takeover: the key of an attempt of its own, whose release is late, is not revoked" {
	holds one
	eventually began one
	# Node 1 keeps the key of the attempt: its release fails there.
	node 1 del job > "$T/set"
	node 1 acl setuser default -del > "$T/set"
	waits two --takeover
	eventually file_has "$T/two" 'takeover: '
	is_like "$(node 1 get job)" '9999999999999a*'
	is_like "$(node 2 get job)" '9999999999999c*'
	node 1 acl setuser default +del > "$T/set"
	ended one 79
	ended two 0
}

@test "run --takeover: of a free lock; not of the enclosing one; not with --limit or -n" {
	run -0 redlock run -k job --takeover -- "$REDLOCK_BUILD/redlock" run -k job --takeover --reentrant -- true
	# one with hidden variables, as behind sudo
	run -0 --separate-stderr redlock run -k job -- sh -c "env -u REDLOCK_HELD '$REDLOCK_BUILD/redlock' run -q -k job --takeover -w 20s -- true
		echo \$?; '$REDLOCK_BUILD/redlock' check; echo \$?"
	is_like "$output" $'75\n*s\n0'
	# only a minority of the nodes still names the enclosing lock
	run -79 redlock run -k job -- sh -c "redis-cli -s '$T/1.sock' set job hello px 60000
		redis-cli -s '$T/2.sock' set job hello px 60000
		'$REDLOCK_BUILD/redlock' run -q -k job --takeover --reentrant -w 3s -- true
		echo \$?
		redis-cli -s '$T/3.sock' get job"
	is_like "$output" "*75?9999999999999a*"
	for i in 1 2 3; do node $i set other hello; done > "$T/set"
	says 75 '' "redlock: cannot take over the lock: 'other' is held by *?hint: *break --force*?redlock: *" run -k other --takeover -w 3s -- true
	says 64 '' "redlock: --takeover cannot be combined with --limit*" run -k job -L 2 --takeover -- true
	says 64 '' "redlock: --takeover cannot be combined with --no-wait: *" run -n -k job --takeover -- true
}
