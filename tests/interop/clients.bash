# Other programs' locks alongside redlock's: a program in the library's language (python.py, symfony.php, node.js) reads
# a line and answers with one, for as long as the test lasts:
#
#	take KEY MS	held, or refused: no wait
#	extend MS	extended, or lost
#	release		released, or lost
#
# and "failed: WORDS" for an unexpected error. KEY is the name that the library gets.

load ../bats/nodes

# start_client COMMAND [ARG...]: the nodes' sockets are its last arguments.
start_client() {
	local i sockets=()
	# a slow reply on a busy machine is late, and not lost
	export REDLOCK_NODE_TIMEOUT=10s REDLOCK_TTL=10m
	for ((i = 1; i <= N; i++)); do sockets+=("$T/$i.sock"); done
	mkfifo "$T/told" "$T/said"
	"$@" "${sockets[@]}" < "$T/told" > "$T/said" 2> "$T/client" 3>&- &
	also_end $!
	exec {TOLD}<> "$T/told" {SAID}< "$T/said" # TOLD keeps its pipe open after the program has ended
}

# client ANSWER WORDS...
client() {
	local answer=
	echo "${*:2}" >&"$TOLD" && IFS= read -r -t 120 answer <&"$SAID" || cat "$T/client"
	[ "$answer" = "$1" ] || { echo "'${*:2}': $answer" && return 1; }
}

# on_all_nodes WORDS...: redis-cli's
on_all_nodes() {
	local i
	for ((i = 1; i <= N; i++)); do node "$i" "$@"; done > "$T/words"
}

# its_lock_ends KEY: by its TTL; the client does not notice.
its_lock_ends() {
	on_all_nodes pexpire "$1" 1
	free_everywhere "$1"
}

lasts_for_long() {
	run -0 --separate-stderr redlock status --json job
	json '.locks[0].holder.left_ms > 3000000'
}

# it_takes KEY: a majority is enough for the client; the last node may be late.
it_takes() {
	client held take job 3600000
	eventually held_on "$1" "$N"
}
we_take() { TOKEN=$(redlock acquire --ttl 1h -k job); }
# redlock's lock has not changed.
is_ours() { says 0 '*' '' check -k job --token "$TOKEN" --min-validity 50m; }

# exclude_each_other KEY FORMAT WORDS: KEY is the library's key for "job", and FORMAT its name in `status`.
exclude_each_other() {
	# the library has the lock;
	it_takes "$1"
	says 75 '' "redlock: '$1' is busy: held by another program *" run -n -k job -- true
	says 0 "'$1' is held by another program * on $N of $N node*, * unless renewed$3" '' status job
	run -0 --separate-stderr redlock status --json job
	json ".locks[0] | .key == \"$1\" and .state == \"held\" and .holder.format == \"$2\""
	in_background "$T/out" run -k job -- echo ran
	eventually file_has "$T/out" "waiting: '$1' is held by another program"
	not file_has "$T/out" ran
	client released release
	ended_with 0
	file_has "$T/out" ran
	free_everywhere "$1"
	# and now redlock
	we_take
	client refused take job 3600000
	is_ours
	says 0 '' '' release -k job --token "$TOKEN"
	free_everywhere "$1"
	it_takes "$1"
	client released release
	free_everywhere "$1"
}

# leave_each_other KEY RELEASED: RELEASED is its reply to a late release.
leave_each_other() {
	it_takes "$1"
	its_lock_ends "$1"
	we_take
	client lost extend 7200000
	client "$2" release
	is_ours
	# and now redlock is late
	its_lock_ends "$1"
	it_takes "$1"
	says 79 '' "redlock: '$1' is no longer this token's: now held by another program *" extend -k job --token "$TOKEN"
	says 79 '' "redlock: '$1' is no longer this token's: now held by another program *" release -k job --token "$TOKEN"
	held_on "$1" "$N"
	# redlock sees an extension
	on_all_nodes pexpire "$1" 600000
	not lasts_for_long > "$T/short"
	client extended extend 3600000
	eventually lasts_for_long > "$T/long"
	client released release
	free_everywhere "$1"
}

# old_style_clients_wait COMMAND...: redlock's values, those of a holder, of readers and of --min-hold, are no time in
# the past: COMMAND prints the conversions of its language that read one.
old_style_clients_wait() {
	redlock acquire -q --ttl 1h -k held > "$T/token"
	redlock acquire -q --ttl 1h -s -k shared > "$T/token"
	redlock run --min-hold 1h -k left -- true
	redlock run -s --min-hold 1h -k left-by-reader -- true
	eventually held_on left "$N"
	run -0 "$@" "$(node 1 get held)" "$(node 1 get shared)" "$(node 1 get left)" "$(node 1 get left-by-reader)" \
		"$(node 1 zrange redlock:readers:{left-by-reader} 0 -1)"
	[ "$output" = "" ] || { echo "$output" && false; }
}
