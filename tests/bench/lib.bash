# Shared by the benchmarks: throwaway servers (redlock sandbox), other servers that are ended by their pids; and ratios.
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

# begin: continues in a sandbox; its folder becomes the current one; finish is called in any case.
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

# ---- a lock that is held ----

# hold_for SECONDS: by HOLDER, a redlock with its SUPERVISOR. With this TTL the first extension happens after ten
# seconds: there are no earlier ones.
hold_for() {
	"$build/redlock" run -k held --ttl 30s -- sleep "$1" > "$private/held.log" 2>&1 < /dev/null &
	HOLDER=$!
	pids+=("$HOLDER")
	sleep 1
	SUPERVISOR=$(pgrep -o -P "$HOLDER") || die "no lock is held: $(head -n 1 "$private/held.log")"
}

holds_no_more() {
	wait "$HOLDER" || die "holding a lock failed, status $?: $(head -n 1 "$private/held.log")"
	unset 'pids[-1]'
}

# ---- what the nodes do ----

# Two numbers: the bytes that the nodes have received, and the microseconds of processor time that they have used.
nodes_used() {
	local socket

	for socket in "${sockets[@]}"; do redis-cli -s "$socket" info; done | tr -d '\r' | awk -F: '
		$1 == "total_net_input_bytes" { bytes += $2 }
		$1 ~ /^used_cpu_(user|sys)$/ { cpu += $2 }
		END { printf "%.0f %.0f\n", bytes, cpu * 1000000 }'
}

# ---- workers ----

now_ms() { date +%s%3N; }

# contend SECTIONS COMMAND...: milliseconds per finished section, when WORKERS do that many of them; and the number of
# unfinished ones, if any.
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

# ---- a race ----

# Contestants take turns, RUNS each, for ROUNDS rounds, so that a slow minute affects all alike. Ratios are to the
# first.
names=()
declare -A command=() shown=() problem=() median=()

# add NAME SHOWN COMMAND...: SHOWN is the name in the table.
add() {
	local name=$1

	names+=("$name")
	shown[$name]=$2
	shift 2
	printf -v "command[$name]" '%q ' "$@"
}

try_contestants() {
	local name

	for name in "${names[@]}"; do
		[ -z "${problem[$name]-}" ] || continue
		eval "timeout 30 ${command[$name]}" > "$private/try.log" 2>&1 < /dev/null ||
			problem[$name]="failed, status $?: $(head -n 1 "$private/try.log")"
	done
}

time_one() {
	local name=$1 round=$2

	timeout --foreground 300 hyperfine -N --style none --warmup $WARMUP --runs $RUNS \
		--command-name "$name" --export-json "$private/times/$round.$name.json" \
		"${command[$name]}" > "$private/hyperfine.log" 2>&1 < /dev/null && return
	rm -f "$private/times/"*".$name.json"
	problem[$name]="failed in round $round: $(grep -m 1 -i error "$private/hyperfine.log")"
}

# Every round begins with another contestant, so that none always follows the same one.
time_all() {
	local round i name

	mkdir "$private/times"
	for ((round = 0; round < ROUNDS; round++)); do
		[ -t 2 ] && printf '\rround %d of %d ' $((round + 1)) $ROUNDS >&2
		for ((i = 0; i < ${#names[@]}; i++)); do
			name=${names[(round * 3 + i) % ${#names[@]}]}
			[ -n "${problem[$name]-}" ] || time_one "$name" $round
		done
	done
	[ -t 2 ] && printf '\r%20s\r' '' >&2
	return 0
}

# In milliseconds, over all rounds.
read_medians() {
	local name ms

	while IFS=$'\t' read -r name ms; do
		median[$name]=$ms
	done < <(jq -rs '[.[].results[]] | group_by(.command)[]
		| [.[].times[]] as $t | ($t | sort) as $s | ($s | length) as $n
		| [.[0].command, 500 * ($s[($n - 1) / 2 | floor] + $s[$n / 2 | floor])]
		| @tsv' "$private/times/"*.json)
}

print_table() {
	local name

	printf '%-16s %10s %8s  %s\n' contestant "median ms" ratio command
	for name in "${names[@]}"; do
		if [ -n "${median[$name]-}" ]; then
			printf '%-16s %10.2f %8.2f  %s\n' "$name" "${median[$name]}" \
				"$(quotient "${median[$name]}" "${median[${names[0]}]}")" "${shown[$name]}"
		else
			printf '%-16s %10s %8s  %s (%s)\n' "$name" - - "${shown[$name]}" "${problem[$name]}"
		fi
	done
}

# goal_ratio WORDS NAME OTHER most|least WANTED: NAME's median over OTHER's.
goal_ratio() {
	local got

	if [ -z "${median[$2]-}" ] || [ -z "${median[$3]-}" ]; then
		say "goal $1: got nothing: not measured"
		return
	fi
	got=$(quotient "${median[$2]}" "${median[$3]}")
	printf 'goal %s: got %.3f x: %s\n' "$1" "$got" "$(verdict "$got" "$4" "$5")"
}
