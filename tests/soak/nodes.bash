# What the soak tests share: draws that SEED repeats, waiting with a bound, throwaway redis-servers on
# unix sockets in the current folder.

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

# By what is there, not by what was noted down: a signal may have come between the two.
end_children() {
	local children=()

	read -ra children < "/proc/$BASHPID/task/$BASHPID/children"
	[ ${#children[@]} -eq 0 ] || kill -KILL "${children[@]}" 2> /dev/null
}

answers() { [ "$(redis-cli -s "$1.sock" ping)" = PONG ]; }

# start_node I [redis options...]: node I, answering, as I.sock, its pid in node_pids[I].
start_node() {
	local i=$1

	shift
	rm -f "$i.sock"
	redis-server --port 0 --unixsocket "$PWD/$i.sock" --dir "$PWD" --save '' --appendonly no "$@" \
		>> "redis-$i.log" 2>&1 < /dev/null &
	node_pids[i]=$!
	disown $!
	wait_until 20 answers "$i" || die "redis-server $i does not answer: $(tail -n 1 "redis-$i.log")"
	# It has forgotten nothing that counts: see redlock run --restart-guard.
	redis-cli -s "$i.sock" eval "redis.call('SET', '{redlock}:node',
			string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))" 0 > "admitted-$i"
}
