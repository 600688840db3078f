# What the benchmarks share: throwaway servers (redlock sandbox), others that are ended by their pids; and ratios.
# shellcheck disable=SC2034,SC2154 # the benchmarks' own

readonly NODES=5
private=
pids=()
sockets=()

say() { printf '%s\n' "$*"; }

die() {
	printf '%s: %s\n' "$0" "$1" >&2
	exit "${2:-1}"
}

have() { command -v "$1" > /dev/null; }

# wait_until LIMIT COMMAND...: LIMIT in seconds.
wait_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@" 2> /dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

is_gone() { ! kill -0 "$1"; }

finish() {
	local pid

	trap '' INT TERM HUP
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
	for pid in "${pids[@]}"; do
		wait_until 5 is_gone "$pid" || kill -KILL "$pid"
	done
}

# ---- servers ----

# start NAME COMMAND...: in the background, with its output in NAME.log; ended by finish.
start() {
	local log=$private/$1.log

	shift
	"$@" > "$log" 2>&1 < /dev/null &
	pids+=($!)
	disown $!
}

# etcd makes the unix socket 'localhost:1' in its folder; the port for its peers is a free one.
start_etcd() {
	local url=unix://localhost:1

	start etcd etcd --data-dir "$private/etcd" --listen-client-urls "$url" \
		--advertise-client-urls "$url" --listen-peer-urls http://127.0.0.1:0
	export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=$url
	wait_until 10 timeout 5 etcdctl endpoint health > /dev/null
}

# begin: goes on in a sandbox, whose folder becomes the current one; whatever happens, finish is called.
begin() {
	local i

	if [ -z "${BENCH_SANDBOX-}" ]; then
		unset "${!REDLOCK_@}"
		BENCH_SANDBOX=1 exec "$build/redlock" sandbox -n $NODES -- "$0" "$build"
	fi
	unset BENCH_SANDBOX
	trap finish EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	private=$REDLOCK_SANDBOX && cd "$private" || exit 1
	for ((i = 1; i <= NODES; i++)); do sockets+=("$private/$i.sock"); done
}

# status_kb PID FIELD
status_kb() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"; }

# ---- workers ----

now_ms() { date +%s%3N; }

# contend SECTIONS COMMAND...: milliseconds for each section that was done, when WORKERS do so many of them;
# and how many were not done, if any.
contend() {
	local sections=$1 began workers=() w failed
	shift
	: > "$private/failed"
	began=$(now_ms)
	for ((w = 0; w < WORKERS; w++)); do
		for ((n = 0; n < sections; n++)); do "$@" 2> "$private/contend.$w.log" || echo >> "$private/failed"; done &
		workers+=($!)
	done
	wait "${workers[@]}"
	failed=$(wc -l < "$private/failed")
	echo "$(quotient $(($(now_ms) - began)) $((WORKERS * sections - failed)))$([ "$failed" -eq 0 ] || echo "; $failed of $((WORKERS * sections)) were not done")"
}

# ---- ratios ----

quotient() { awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'; }

# verdict GOT most|least WANTED
verdict() {
	awk -v got="$1" -v which="$2" -v wanted="$3" 'BEGIN {
		print (which == "most" ? got <= wanted : got >= wanted) ? "met" : "missed"
	}'
}
