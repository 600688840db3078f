# A rolling restart, as docs/nodes.md describes it: nodes without data restart one after the other, beside holders and
# waiters in every mode. A node restarts when `status` shows each lock on all nodes.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T REDLOCK_TTL=6s
}
teardown() {
	also_end_holders "$T/redlock"
	nodes_stop
}

# holder NAME ARG...: a holder of the key NAME. Its command writes NAME.began and ends when NAME.end exists.
holder() {
	local name=$1
	shift
	in_background "$T/$name" "$@" -- sh -c \
		': > "$0.began"; until [ -e "$0.end" ]; do sleep 0.1; done' "$T/$name"
	HOLDERS+=("$BG")
	eventually test -e "$T/$name.began"
}

# waiter NAME ARG...: its command writes NAME.got.
waiter() {
	local name=$1
	shift
	in_background "$T/$name" run -w 10m "$@" -- touch "$T/$name.got"
	WAITERS+=("$BG")
}

everybody_holds_and_waits() {
	HOLDERS=() WAITERS=()
	holder run run -k alone
	TOKEN=$(redlock hold -k held)
	holder reader1 run -s -k shared
	holder reader2 run -s -k shared
	holder slot1 run --limit 2 -k slots
	holder slot2 run --limit 2 -k slots
	for i in 1 2; do
		waiter "alone$i" -k alone
		waiter "held$i" -k held
		waiter "shared$i" -x -k shared
		waiter "slots$i" --limit 2 -k slots
	done
	eventually in_queue 8
}

# on_all KEY: the lock is on all nodes, as `status` shows.
on_all() {
	redlock status "$1" > "$T/status" 2>&1 || true
	grep -q 'on 3 of 3 nodes' "$T/status" && not grep -qE 'on [12] of 3 nodes' "$T/status"
}

goes_on() {
	local pid
	for pid in "${HOLDERS[@]}" "${WAITERS[@]}"; do
		not is_gone "$pid" || { echo "ended: $pid"; tail -n 3 "$T"/{run,reader?,slot?,alone?,held?,shared?,slots?}; return 1; }
	done
	redlock check --token "$TOKEN" -k held
	[ "$(find "$T" -name '*.got')" = '' ]
}

are_on_all() {
	local key
	for key in alone held shared 'slots#1' 'slots#2'; do eventually on_all "$key"; done
}

# restart_all SIGNAL
restart_all() {
	local i
	# a holder begins when a majority has its key
	are_on_all
	for i in 1 2 3; do
		kill "-$1" "${PID[$i]}"
		eventually is_gone "${PID[$i]}"
		start_node "$i"
		eventually answers "$i"
		are_on_all
		goes_on
	done
	redlock release --token "$TOKEN" -k held
	touch "$T"/{run,reader1,reader2,slot1,slot2}.end
	for i in "${HOLDERS[@]}"; do
		BG=$i
		ended_with 0
	done
	for i in "${WAITERS[@]}"; do
		BG=$i
		ended_with 0
	done
}

@test "a rolling restart by TERM ends no command, and lets no waiter in" {
	everybody_holds_and_waits
	restart_all TERM
}

@test "a rolling restart by KILL ends no command, and lets no waiter in" {
	everybody_holds_and_waits
	restart_all KILL
}
