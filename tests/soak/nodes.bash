# Shared by the soak tests: draws that SEED repeats, bounded waits, throwaway redis-servers on unix sockets in the
# current folder.

node_pids=()

# draw VARIABLE LOW HIGH: not $(draw LOW HIGH), since RANDOM is seeded anew in every subshell.
draw() { printf -v "$1" %d $(($2 + (RANDOM << 15 | RANDOM) % ($3 - $2 + 1))); }

# wait_until LIMIT COMMAND...: LIMIT in seconds.
wait_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@" 2> /dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# By the actual children, not by a list: a signal may arrive between a start and its record.
end_children() {
	local children=()

	read -ra children < "/proc/$BASHPID/task/$BASHPID/children"
	[ ${#children[@]} -eq 0 ] || kill -KILL "${children[@]}" 2> /dev/null
}

answers() { [ "$(redis-cli -s "$1.sock" ping)" = PONG ]; }

# launch_node I [redis options...]: node I, answering, as I.sock, its pid in node_pids[I].
launch_node() {
	local i=$1

	shift
	rm -f "$i.sock"
	redis-server --port 0 --unixsocket "$PWD/$i.sock" --dir "$PWD" --save '' --appendonly no "$@" \
		>> "redis-$i.log" 2>&1 < /dev/null &
	node_pids[i]=$!
	disown $!
	wait_until 20 answers "$i" || die "redis-server $i does not answer: $(tail -n 1 "redis-$i.log")"
}

# start_node I [redis options...]: the same, with a vote from the start.
start_node() {
	launch_node "$@"
	# It has forgotten no lock: see redlock run --restart-guard.
	redis-cli -s "$1.sock" eval "redis.call('SET', '{redlock}:node',
			string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))" 0 > "admitted-$1"
}

# ---- for a script that disturbs runs ----

is_gone() { ! kill -0 "$1"; }

# doze MS: sleeps without a child process, so that a signal is received meanwhile; `silence` is a pipe that stays empty.
doze() {
	local seconds

	printf -v seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
	read -rt "$seconds" -u "$silence"
	return 0
}

# find_supervisor PID: sets supervisor. It gets its name once the command runs.
find_supervisor() {
	local children=() name

	while kill -0 "$1"; do
		read -ra children < "/proc/$1/task/$1/children"
		for supervisor in "${children[@]}"; do
			read -r name < "/proc/$supervisor/comm" && [ "$name" = rl-supervisor ] && return
		done
		doze 20
	done
	return 1
}

# has_said WORD FILE
has_said() {
	local words=

	read -rd '' words < "$2"
	[[ $words == *"$1"* ]]
}

# is_whole LEAST NUMBER: without leading zeros, which would make it octal.
is_whole() { [[ $2 =~ ^(0|[1-9][0-9]{0,8})$ ]] && (($2 >= $1)); }
