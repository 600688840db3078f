# The lock in a script's own hands: acquire, extend, release, check and wait. Each prints its result on stdout and the
# reason on stderr; there are few statuses.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	unset REDLOCK_TOKEN REDLOCK_HELD
	# No node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

# No key expires before the test does.
LONG=(--ttl 600s)
# Expires at once.
SHORT=(--ttl 300ms --node-timeout 50ms)

# acquire [ARG...]: takes 'job'; its token is in TOKEN.
acquire() {
	TOKEN=$(redlock acquire -k job "$@")
	eventually held_on job 3
}

# foreign N: another client has 'job' on N nodes.
foreign() {
	local i
	for ((i = 1; i <= $1; i++)); do node "$i" set job other px 600000; done > "$T/set"
}

expired() {
	TOKEN=$(redlock acquire -k job "${SHORT[@]}")
	free_everywhere job
}


lasts() {
	local pttl
	pttl=$(node "$1" pttl job)
	[ "$pttl" -gt "$2" ] && [ "$pttl" -le "$3" ]
}

# extend_at_last: the replies of nodes 1 and 2 to an extension arrive after that of node 3. (If the lock is lost, two of
# three are enough to know, and the last is not awaited.) The status must be 79.
extend_at_last() {
	stop_node 1
	stop_node 2
	in_background "$T/extend" extend -k job --token "$TOKEN" -t 1h
	eventually lasts 3 3000000 3600000
	continue_node 1
	continue_node 2
	ended_with 79
}

# ---- acquire ----

@test "acquire: prints the token's id and nothing else; the lock is held and stays" {
	says 0 '*' '' acquire -k job
	[[ "$output" =~ ^9{13}a[0-9a-f]{26}$ ]]
	eventually held_on job 3
	for i in 1 2 3; do
		is_like "$(node $i get job)" "$output:[0-9]* *@*:[0-9]* redlock acquire"
		lasts $i 20000 30000
	done
	says 0 '*' "redlock: acquired 'job2' on [23] of 3 nodes, valid for 8m" acquire -v -k job2 --ttl 10m --owner me
	eventually held_on job2 3
	is_like "$(node 2 get job2)" "$output:* me"
}

@test "acquire --json: one document" {
	says 0 '*' '' acquire --json -k job --owner 'the "owner"'
	json '.schema == 1 and .command == "acquire" and .key == "job" and .outcome == "acquired" and .status == 0'
	json '(.token | test("^[0-9a-f]{40}$")) and .ttl_ms == 30000 and .valid_ms > 20000 and .valid_ms < 27000'
	json '(.nodes | length) == 3 and ([.nodes[] | select(.answer == "yes")] | length) >= 2'
	eventually held_on job 3
	[ "$(jq -r .token <<< "$output")" = "$(node 1 get job | cut -c 1-40)" ]
	says 0 '*' '' acquire --format json -k job2
	json '.outcome == "acquired"'
	says 75 '*' '*' acquire --json -n -k job
	json '.outcome == "busy" and .status == 75 and .holder.owner == "the \"owner\"" and .holder.format == "redlock"'
	json '.holder.left_ms > 20000 and (.holder.since | fromdate) > 1700000000 and .waited_ms >= 0 and (has("token") | not)'
}

@test "acquire --format env: for the shell's eval, and the next subcommands need no options" {
	says 0 "unset REDLOCK_LIMIT REDLOCK_SLOT;?unset REDLOCK_HOLDER_PID;?unset REDLOCK_FENCE;?export REDLOCK_KEY='job';?export REDLOCK_KEYS='1';?export REDLOCK_TOKEN='*';?export REDLOCK_TTL_MS='30000';?export REDLOCK_HELD='*';?export REDLOCK_NODES='unix://$T/1.sock *';" '' acquire --format env -k job
	eval "$output"
	[ "$REDLOCK_KEY" = job ]
	says 0 '' '' extend -t 1h
	eventually lasts 1 3500000 3600000
	says 0 '53m' '' check
	says 0 '' '' release
	free_everywhere job
}

@test "--format env: the same nodes, format and files as a run's command finds" {
	local nodes=$REDLOCK_NODES program=$REDLOCK_BUILD/redlock list
	unset REDLOCK_NODES
	printf 'nodes = %s\n[p]\nwait = 20s\n' "unix:///nonexistent" > "$T/config"
	cd "$T"
	list=(--nodes "$nodes" --key-format 'a:%s' --config config --profile p -k "it's one")
	# without the variables of each lock
	env -i "PATH=$PATH" TMPDIR="$T" "$program" run "${list[@]}" -- sh -c 'env | grep ^REDLOCK_ | grep -v -e TOKEN -e HELD | sort' > want
	# without quotes, a line must not become a part of the line before it
	env -i "PATH=$PATH" TMPDIR="$T" sh -c 'l=$1; shift; eval $("$l" acquire --format env "$@"); "$l" check >&2 || exit
		env | grep ^REDLOCK_ | grep -v -e TOKEN -e HELD | sort; "$l" release' sh "$program" "${list[@]}" > got
	diff want got
	grep "^REDLOCK_NODES=$nodes" got
	free_everywhere "a:it's one"
}

@test "acquire: busy, no quorum, two names of one server: nothing on stdout, and nothing is left" {
	foreign 3
	says 75 '' "redlock: 'job' is busy: held by another program (value 'other') on [23] of 3 nodes, expires in 9m unless renewed" acquire -n -k job
	says 9 '' '' acquire -n -q -E 9 -k job
	says 75 '' "*redlock: 'job' is busy: *" acquire -w 100ms -k job
	for i in 1 2 3; do [ "$(node $i get job)" = other ]; done
	ln -s 1.sock "$T/again.sock"
	says 78 '' "redlock: nodes 'unix://$T/1.sock' and 'unix://$T/again.sock' are the same server?hint: *" \
		acquire -k twice --nodes "unix://$T/1.sock unix://$T/again.sock"
	held_on twice 0
	kill_node 1
	says 0 '*' '' acquire -n -k another
	[ "${#output}" -eq 40 ]
	kill_node 2
	says 69 '' "redlock: no quorum for 'third': [01] of 3 nodes can be used, 2 needed: *1.sock*2.sock cannot be reached (*" acquire -n -k third
	says 69 '*' '*' acquire -n --json -k third
	json '.outcome == "no-quorum" and .status == 69 and .nodes[0].answer == "absent" and .nodes[0].why == "cannot be reached"'
	held_on third 0
}

# bats test_tags=not-under-qemu
@test "acquire within a run that holds the key: refused at once, and no hint that would not help" {
	in_background "$T/out" run -k job "${LONG[@]}" -- sh -c "$REDLOCK_BUILD/redlock acquire -k job; echo \$?; $REDLOCK_BUILD/redlock wait -k job; echo \$?; $REDLOCK_BUILD/redlock check; echo \$?"
	ended_with 0
	is_like "$(cat "$T/out")" "redlock: 'job' is held by a run that this one is part of?75?redlock: 'job' is held by a run that this one is part of?75?8m?0"
}

@test "acquire waits in the queue, and a release by token serves it at once" {
	acquire "${LONG[@]}"
	first=$TOKEN
	in_background "$T/second" acquire -k job "${LONG[@]}"
	eventually in_queue 1
	redlock release -k job --token "$first"
	ended_with 0
	# (on a majority: a node that the release reached late has not granted it)
	redlock check -k job --token "$(tail -n 1 "$T/second")"
	[ "$(tail -n 1 "$T/second")" != "$first" ]
}

@test "acquire: a token that cannot be written is released: 125" {
	run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' acquire -k job > /dev/full"
	[ "$stderr" = "redlock: cannot write to stdout: No space left on device" ]
	free_everywhere job
	for format in plain env json; do
		run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' acquire -k job --format $format >&-"
		is_like "$stderr" "*cannot write to stdout: Bad file descriptor*"
		free_everywhere job
	done
	# the reader is gone
	mkfifo "$T/pipe"
	exec 8<> "$T/pipe" 9> "$T/pipe" 8<&-
	run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' acquire -k job >&9"
	[ "$stderr" = "redlock: cannot write to stdout: Broken pipe" ]
	exec 9>&-
	free_everywhere job
}

@test "acquire and wait: a signal ends the wait, and leaves nothing" {
	acquire "${LONG[@]}"
	for command in acquire wait; do
		for signal in TERM INT HUP; do
			in_background "$T/out" $command -k job
			eventually in_queue 1
			kill -$signal "$BG"
			ended_with $((128 + $(kill -l $signal)))
			eventually in_queue 0
			[ ! -s "$T/out" ] || file_has "$T/out" '^redlock: waiting: '
		done
	done
	for i in 1 2 3; do is_like "$(node $i get job)" "$TOKEN:*"; done
	# nor is the reservation kept from the waiters after it
	in_background "$T/out" acquire -k job "${LONG[@]}"
	eventually in_queue 1
	redlock release -k job --token "$TOKEN"
	ended_with 0
}

@test "acquire: a signal in the middle of it never leaves a lock with an unknown token" {
	for n in 1 2 3; do
		stop_node 1
		stop_node 2
		in_background "$T/out" acquire -k "job$n" "${LONG[@]}"
		eventually held_on "job$n" 1
		kill -TERM "$BG"
		continue_node 1
		continue_node 2
		status=0
		wait "$BG" || status=$?
		if [ "$status" -eq 0 ]; then
			eventually held_on "job$n" 3
			is_like "$(node 3 get "job$n")" "$(tail -n 1 "$T/out"):*"
		else
			[ "$status" -eq 143 ]
			[ ! -s "$T/out" ]
			free_everywhere "job$n"
		fi
	done
}

# ---- extend ----

@test "extend: a new TTL; by the id or the whole value" {
	acquire
	says 0 '' '' extend -k job --token "$TOKEN" -t 10m
	for i in 1 2 3; do eventually lasts $i 590000 600000; done
	says 0 '' "redlock: extended 'job'" extend -v -k job --token "$(node 1 get job)" -t 15m
	for i in 1 2 3; do eventually lasts $i 890000 900000; done
	says 0 '*' '' extend --json -k job --token "$TOKEN" -t 20m
	json '.command == "extend" and .outcome == "extended" and .status == 0 and .valid_ms > 1000000 and .valid_ms < 1080000'
	for i in 1 2 3; do eventually lasts $i 1190000 1200000; done
}

@test "extend: a shorter TTL shortens no lock" {
	acquire -t 10m
	says 0 '*' '' extend --json -k job --token "$TOKEN" -t 60s
	json '.outcome == "extended" and .valid_ms > 500000'
	for i in 1 2 3; do lasts $i 500000 600000; done
	# a node that lost the key gets it back, and the others keep their time
	node 1 del job > "$T/set"
	extends_and() { redlock extend -k job --token "$TOKEN" -t 60s && "$@"; }
	eventually extends_and held_on job 3
	for i in 2 3; do lasts $i 400000 600000; done
	# several keys: each of them
	token=$(redlock acquire -k a -k b -t 10m)
	redlock extend -k b --token "$token" -t 1h
	redlock extend -k a -k b --token "$token" -t 30m
	longer_than() { [ "$(node 1 pttl "$1")" -gt "$2" ]; }
	eventually longer_than a 1700000
	eventually longer_than b 3500000
	# a reader among readers
	reader=$(redlock acquire --shared -k read -t 10m)
	redlock extend -k read --token "$reader" -t 60s
	says 0 8m '' check -k read --token "$reader"
}

@test "extend in the command of a run: no other command starts before the run has ended" {
	export PATH=$REDLOCK_BUILD:$PATH
	mkfifo "$T/go"
	in_background "$T/out" run -k job "${LONG[@]}" -- sh -c 'redlock extend --ttl 60s && redlock extend && echo extended && read -r _ < "$1"' - "$T/go"
	eventually file_has "$T/out" extended
	for i in 1 2 3; do lasts $i 500000 600000; done
	says 75 '' "redlock: 'job' is busy: held by *, expires in 9m unless renewed" run -n -k job -- true
	echo > "$T/go"
	ended_with 0
}

@test "extend without --ttl: the TTL of the lock in the environment" {
	eval "$(redlock acquire --format env -k job -t 10m)"
	[ "$REDLOCK_TTL_MS" = 600000 ]
	for i in 1 2 3; do node $i pexpire job 300000; done > "$T/set"
	REDLOCK_TTL=70s redlock extend
	for i in 1 2 3; do eventually lasts $i 590000 600000; done
	# not that of another lock
	other=$(redlock acquire -k other -t 40s)
	redlock extend -k other --token "$other"
	[ "$(node 1 pttl other)" -le 40000 ]
	REDLOCK_TTL_MS=5s says 64 '' "redlock: REDLOCK_TTL_MS '5s' is not a number of milliseconds?hint: *" extend
	REDLOCK_TTL_MS=100 says 64 '' "redlock: REDLOCK_TTL_MS: --ttl 100ms is too short *?hint: the least --ttl is *" extend
	REDLOCK_TTL_MS=5s says 0 '' '' extend --ttl 20m
}

@test "extend: expired, held by another client, unknown" {
	expired
	says 79 '' "redlock: 'job' is no longer held by this token: it has expired or was released?hint: if the lock should*" extend -k job --token "$TOKEN" -t 30s
	free_everywhere job
	says 79 '*' '*' extend --json -k job --token "$TOKEN"
	json '.outcome == "expired" and .status == 79 and .valid_ms == 0 and ([.nodes[] | select(.answer == "free")] | length) >= 2'
	foreign 3
	says 79 '' "redlock: 'job' is no longer this token's: now held by another program (value 'other') on [23] of 3 nodes, expires in 9m unless renewed?hint: if the lock should*" extend -k job --token "$TOKEN"
	says 79 '' "redlock: 'job' is no longer this token's: *" extend -q -k job --token "$TOKEN"
	says 79 '*' '*' extend --json -k job --token "$TOKEN"
	json '.outcome == "foreign" and .status == 79'
	for i in 1 2 3; do eventually lasts $i 500000 600000; done
	for i in 1 2 3; do node $i del job; done
	acquire
	node 1 del job
	says 0 '' '' extend -k job --token "$TOKEN" "${LONG[@]}"
	for i in 1 2; do node $i del job; done
	extend_at_last
	is_like "$(cat "$T/extend")" "*it has expired or was released (only 1 of 3 nodes still had it)"
	free_everywhere job
	acquire
	kill_node 1
	says 0 '' '' extend -k job --token "$TOKEN"
	kill_node 2
	says 69 '' "redlock: 'job': cannot tell whether this token holds it: 1 of 3 nodes confirmed it, 2 did not vote, 2 needed: *1.sock, *2.sock cannot be reached (*)" extend -k job --token "$TOKEN"
	says 69 '*' '*' extend --json -q -k job --token "$TOKEN"
	json '.outcome == "unknown" and .status == 69'
}

# ---- release ----

@test "release: gone from every node; a second release reports that" {
	acquire
	says 0 '' "redlock: released 'job'" release -v -k job --token "$TOKEN"
	free_everywhere job
	says 79 '' "redlock: 'job' is no longer held by this token: it has expired or was released?hint: if the lock should*" release -k job --token "$TOKEN"
	acquire
	says 0 '*' '' release --json -k job --token "$(node 2 get job)"
	json '.command == "release" and .outcome == "released" and .status == 0 and (has("valid_ms") | not)'
	free_everywhere job
}

@test "release, extend: the start of another program's value is no token" {
	for value in others-value "$(printf '%045d' 0)"; do
		for i in 1 2 3; do node $i set job "$value" px 600000 > "$T/set"; done
		for token in "${value:0:6}" "${value:0:40}"; do
			[ "$token" != "$value" ] || continue
			says 79 '' "*now held by another program *" release -k job --token "$token"
			says 79 '' "*now held by another program *" extend -k job --ttl 1h --token "$token"
		done
		eventually held_on job 3
		for i in 1 2 3; do [ "$(node $i pttl job)" -le 600000 ]; done
	done
}

@test "release: expired, held by another client, unknown with a hint when the key expires" {
	expired
	says 79 '*' '*' release --json -k job --token "$TOKEN"
	json '.outcome == "expired" and .status == 79'
	foreign 2
	says 79 '' "redlock: 'job' is no longer this token's: now held by another program (value 'other') on 2 of 3 nodes, expires in 9m unless renewed?hint: if the lock should*" release -k job --token "$TOKEN"
	held_on job 2
	for i in 1 2; do node $i del job; done
	acquire "${LONG[@]}"
	kill_node 1
	kill_node 2
	says 69 '' "redlock: 'job': cannot tell whether this token holds it: 1 of 3 nodes confirmed it, 2 did not vote, 2 needed: *?hint: it expires within 1[01]m?hint: *no server listens there: *" release -k job --token "$TOKEN"
	says 69 '' "*?hint: it expires when the TTL ends?hint: *no server listens there: *" release -k job --token "$TOKEN"
	kill_node 3
	says 69 '*' '*' release --json -k job --token "$TOKEN"
	json '.outcome == "unknown" and .status == 69'
}

@test "release: a key without expiry has no hint that it expires" {
	acquire
	for i in 1 2 3; do node $i persist job; done
	kill_node 1
	kill_node 2
	says 69 '' "*?hint: it expires when the TTL ends?hint: *no server listens there: *" release -k job --token "$TOKEN"
}

@test "release by a client that lost the lock excludes no client when the next holder is done" {
	expired
	stale=$TOKEN
	acquire "${LONG[@]}"
	says 79 '' '*' release -k job --token "$stale"
	says 0 '' '' release -k job --token "$TOKEN"
	says 79 '*' '*' check --json -k job --token "$TOKEN"
	json '.outcome == "expired"'
	says 0 '*' '' acquire -n -k job
}

# ---- check ----

@test "check: the time left; less than the limit counts as lost" {
	acquire "${LONG[@]}"
	says 0 '8m' '' check -k job --token "$TOKEN"
	says 0 '8m' "redlock: held 'job'" check -v -k job --token "$TOKEN" --min-validity 5s
	says 79 '8m' "redlock: 'job' is held by this token, but only for 8m" check -k job --token "$TOKEN" --min-validity 10m
	says 79 '8m' "redlock: 'job' is held by this token, but only for 8m" check -q -k job --token "$TOKEN" --min-validity 10m
	says 79 '*' '*' check --json -k job --token "$TOKEN" --min-validity 10m
	json '.outcome == "too-short" and .status == 79 and .valid_ms > 480000 and .valid_ms <= 540000'
	says 0 '*' '' check --json -k job --token "$TOKEN"
	json '.outcome == "held" and .status == 0 and .valid_ms > 480000 and ([.nodes[] | select(.answer == "yes")] | length) >= 2'
	for i in 1 2 3; do eventually lasts $i 540000 600000; done
	# the answer is the time on a majority; as long as the last node has not answered, it is the least
	node 1 pexpire job 100000
	lasts_long() { [ "$(redlock check -q -k job --token "$TOKEN" --min-validity 5m)" = 8m ]; }
	eventually lasts_long
	for i in 1 2; do node $i pexpire job 100000; done
	says 79 '8[0-9]s' "redlock: 'job' is held by this token, but only for 8[0-9]s" check -k job --token "$TOKEN" --min-validity 5m
}

@test "check, extend, release: a hint for a key, a token and a slot that do not fit; none for the variables of a lock" {
	local slot hint='hint: if the lock should still be held, check the token, the key and the nodes'
	acquire "${LONG[@]}"
	for command in check extend release; do
		says 79 '' "redlock: 'wrong' is no longer held by this token: *?$hint; after 'acquire --limit', the token ends with #SLOT, and --limit is needed" \
			$command -q -k wrong --token "$TOKEN"
	done
	slot=$(redlock acquire "${LONG[@]}" -k slots -L 2)
	says 79 '' "*$hint; after 'acquire --limit', the token ends with #SLOT*" release -k slots --token "${slot%#*}"
	REDLOCK_KEY=wrong REDLOCK_KEYS=1 REDLOCK_TOKEN=$TOKEN says 79 '' "redlock: 'wrong' is no longer held by this token: it has expired or was released" check
	redlock release -k slots -L 2 --token "$slot"
	redlock release -k job --token "$TOKEN"
}

@test "check: expired, held by another client, unknown: no time is printed" {
	expired
	says 79 '' "redlock: 'job' is no longer held by this token: it has expired or was released?hint: if the lock should*" check -k job --token "$TOKEN"
	says 79 '*' '*' check --json -k job --token "$TOKEN"
	json '.outcome == "expired" and .valid_ms == 0'
	acquire "${LONG[@]}" --owner next
	says 79 '' "redlock: 'job' is no longer this token's: now held by next since * on [23] of 3 nodes, expires in 9m unless renewed?hint: if the lock should*" check -k job --token "${TOKEN/[0-9]/a}"
	# the start of a value is no token
	says 79 '' '*' check -k job --token "${TOKEN:0:39}"
	says 79 '' '*' check -k job --token "${TOKEN}:"
	kill_node 1
	says 0 '8m' '' check -k job --token "$TOKEN"
	kill_node 2
	says 69 '' "redlock: 'job': cannot tell whether this token holds it: 1 of 3 nodes confirmed it, 2 did not vote, 2 needed: *" check -q -k job --token "$TOKEN"
	says 69 '*' '*' check --json -k job --token "$TOKEN"
	json '.outcome == "unknown" and .status == 69 and .valid_ms == 0'
}

@test "check: two of three that disagree are not enough; the third is awaited" {
	acquire "${LONG[@]}"
	node 1 del job
	stop_node 3
	in_background "$T/out" check -k job --token "$TOKEN"
	asked() { [ "$(node 2 info clients | tr -d '\r' | sed -n 's/^connected_clients://p')" -ge 2 ] || is_gone "$BG"; }
	eventually asked
	# long enough that two replies could be taken for the result
	for _ in $(seq 25); do
		is_gone "$BG" && break
		sleep 0.02
	done
	continue_node 3
	ended_with 0
	is_like "$(cat "$T/out")" '8m'
}

# ---- wait ----

@test "wait: free, busy, and not within the time; no lock is taken" {
	says 0 '' '' wait -k job
	says 0 '' "redlock: 'job' is free" wait -n -v -k job
	says 0 '*' '' wait --json -k job
	json '.command == "wait" and .outcome == "free" and .status == 0 and .waited_ms >= 0'
	is_empty 1
	acquire "${LONG[@]}" --owner me
	says 75 '' "redlock: 'job' is busy: held by me since * unless renewed" wait -n -k job
	says 9 '' '' wait -n -q -E 9 -k job
	before=$(date +%s%N)
	says 75 '' "*redlock: 'job' is busy: *" wait -w 300ms -k job
	[ $(($(date +%s%N) - before)) -ge 300000000 ]
	says 75 '*' '*' wait --json -n -k job
	json '.outcome == "busy" and .status == 75 and .holder.owner == "me"'
	for i in 1 2 3; do is_like "$(node $i get job)" "$TOKEN:*"; done
	# a key on a minority is no lock
	node 2 del job
	node 3 del job
	says 0 '' '' wait -n -k job
	kill_node 1
	kill_node 2
	says 69 '' "redlock: no quorum for 'job': [01] of 3 nodes can be used, 2 needed: *" wait -n -k job
	says 69 '*' '*' wait --json -w 100ms -k job
	json '.outcome == "no-quorum" and .status == 69'
}

# bats test_tags=not-under-qemu
@test "wait: a release wakes all waiters, and the lock goes to the client that acquires" {
	acquire "${LONG[@]}"
	waits=()
	for n in 1 2 3; do
		in_background "$T/wait$n" wait -k job
		waits+=("$BG")
		eventually in_queue $n
	done
	in_background "$T/run" run -k job "${LONG[@]}" -- touch "$T/had"
	eventually in_queue 4
	redlock release -k job --token "$TOKEN"
	eventually test -e "$T/had"
	ended_with 0
	for pid in "${waits[@]}"; do wait "$pid"; done
	free_everywhere job
}

# bats test_tags=not-under-qemu
@test "wait: the first in the queue is served first, and wait stays until it is done" {
	acquire "${LONG[@]}"
	in_background "$T/run" run -k job "${LONG[@]}" -- sh -c "echo up > $T/had; until [ -e $T/go ]; do sleep 0.1; done"
	eventually in_queue 1
	in_background "$T/wait" wait -k job
	eventually in_queue 2
	redlock release -k job --token "$TOKEN"
	eventually test -s "$T/had"
	not held_on job 0
	not is_gone "$BG"
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "wait: a lock that expires, and one that another program holds" {
	redlock acquire -k job "${SHORT[@]}" > "$T/token"
	says 0 '' '*' wait -k job
	free_everywhere job
	foreign 3
	in_background "$T/wait" wait -k job
	eventually file_has "$T/wait" waiting
	for i in 1 2 3; do node $i del job; done
	ended_with 0
}

# ---- tokens, and wrong arguments ----

@test "a token comes from the environment, a file, or stdin" {
	acquire "${LONG[@]}"
	value=$(node 1 get job)
	REDLOCK_KEY=job REDLOCK_TOKEN=$TOKEN says 0 '8m' '' check
	REDLOCK_KEY=job REDLOCK_TOKEN=$value says 0 '8m' '' check
	echo "$TOKEN" > "$T/token"
	says 0 '8m' '' check -k job --token-file "$T/token"
	printf '%s\r\nmore\n' "$value" > "$T/token"
	says 0 '8m' '' check -k job --token-file "$T/token"
	says 0 '8m' '' check -k job --token-file - < "$T/token"
	says 0 '8m' '' check -k job --token-file - <<< "$TOKEN"
	printf '%s' "$TOKEN" > "$T/token"
	says 0 '8m' '' check -k job --token-file "$T/token"
	says 0 '8m' '' check -k job --token-file <(sleep 0.3; echo "$TOKEN")
	{ sleep 0.3; echo "$TOKEN"; } | redlock check -k job --token-file -
	# the command line wins; a token of another key does not count for this one
	REDLOCK_TOKEN=none says 0 '8m' '' check -k job --token-file "$T/token"
	REDLOCK_TOKEN=none says 0 '8m' '' check -k job --token "$TOKEN"
	REDLOCK_KEY=other REDLOCK_TOKEN=$TOKEN says 64 '' "redlock: missing token?hint: *" check -k job
	REDLOCK_KEY=other REDLOCK_TOKEN=none says 0 '8m' '' check -k job --token "$TOKEN"
	says 0 '' '' release -k job --token-file - <<< "$TOKEN"
	free_everywhere job
}

@test "wrong arguments: one line says which and why, the next one helps; nothing is done" {
	long=$(printf 'x%.0s' $(seq 5000))
	printf '\n' > "$T/empty"
	printf 'x\0\n' > "$T/zero"
	mkdir "$T/folder"
	mkfifo "$T/pipe"
	unset REDLOCK_NODE_TIMEOUT
	for command in extend release check; do
		says 64 '' "redlock: missing key?hint: name the lock with -k KEY; see 'redlock help $command'" $command --token x
		says 64 '' "redlock: the token is empty?hint: *" $command -k job --token ''
		REDLOCK_TOKEN= says 64 '' "redlock: the token is empty?hint: *" $command -k job
		says 64 '' "redlock: the token is too long: at most 292 bytes are allowed?hint: *" $command -k job --token "$long"
		says 64 '' "redlock: the token is too long: at most 292 bytes are allowed?hint: *" $command -k job --token-file - <<< "$long"
		says 64 '' "redlock: --token cannot be combined with --token-file?hint: *" $command -k job --token x --token-file y
		says 78 '' "redlock: cannot read --token-file '$T/none': No such file or directory?hint: *" $command -k job --token-file "$T/none"
		says 78 '' "redlock: cannot read --token-file '$T/folder': Is a directory?hint: *" $command -k job --token-file "$T/folder"
		says 78 '' "redlock: cannot read --token-file '\\\\x1b*': *?hint: *" $command -k job --token-file $'\e[31mred'
		says 78 '' "redlock: --token-file '$T/empty' has no token?hint: *" $command -k job --token-file "$T/empty"
		says 78 '' "redlock: cannot read --token-file '$T/zero': it has a byte of zero?hint: *" $command -k job --token-file "$T/zero"
		run -78 --separate-stderr timeout 60 "$REDLOCK_BUILD/redlock" $command -k job --token-file "$T/pipe"
		is_like "$stderr" "redlock: cannot read --token-file '$T/pipe': nothing writes to this pipe?hint: *"
		says 78 '' "redlock: --token-file '-' has no token?hint: *" $command -k job --token-file - < /dev/null
		says 64 '' "redlock: the key is empty?hint: check the variable that it comes from" $command -k '' --token x
		says 64 '' "redlock: the key is too long: 5000 bytes, at most 4096 are allowed" $command -k "$long" --token x
		says 64 '' "redlock: --token needs a value: TOKEN?hint: *" $command -k job --token
		says 64 '' "redlock: unknown option '--tokn'?hint: did you mean --token? See 'redlock help $command'" $command -k job --tokn x
		says 64 '' "redlock: --wait is not an option of 'redlock $command'?hint: see 'redlock help $command'" $command -k job --token x --wait 3s
		says 64 '' "redlock: unexpected argument 'more'?hint: the command line has a key already: *" $command -k job --token x more
		says 64 '' "redlock: unexpected argument 'more'?hint: *" $command --token x more -k job
		says 64 '' "redlock: unexpected argument 'more'?hint: *" $command job --token x more
	done
	# a key or a token without its option
	says 64 '' "redlock: unexpected argument 'x'?hint: give the token with --token: --token x" release job x
	says 64 '' "redlock: unexpected argument 'x'?hint: give the token with --token: --token x" release -k job x
	says 64 '' "redlock: --slot needs --limit?hint: give the limit *" check -k job --slot 2 x
	for command in extend check; do
		says 64 '' "redlock: missing token?hint: give the token with --token: --token x" $command -k job x
	done
	for command in extend check; do
		says 64 '' "redlock: missing token?hint: give it with --token, --token-file or REDLOCK_TOKEN: *" $command -k job
	done
	says 64 '' "redlock: missing token: no background holder of this user has 'job'?hint: *" release -k job
	for command in acquire wait break; do
		says 64 '' "redlock: missing key?hint: name the lock with -k KEY; see 'redlock help $command'" $command
		says 64 '' "redlock: the key is empty?hint: check the variable that it comes from" $command -k ''
		says 64 '' "redlock: the key is too long: 5000 bytes, at most 4096 are allowed" $command -k "$long"
		[ $command = break ] ||
			says 64 '' "redlock: --token is not an option of 'redlock $command'?hint: *" $command -k job --token x
		says 64 '' "redlock: unexpected argument 'more'?hint: *" $command -k job more
		says 64 '' "redlock: unexpected argument 'more'?hint: *" $command -k job more -n
		says 64 '' "redlock: unexpected argument 'more'?hint: the command line has a key already: quote a key that has a space in it*" $command job more -n
		says 64 '' "redlock: unexpected node 'redis://a' in the place of a key?hint: *" $command redis://a
		says 64 '' "redlock: unknown option '-\\\\x1b'?hint: *" $command -k job -$'\e'
	done
	says 64 '(exit 64)' "redlock: --format 'xml' is not plain, env or json?hint: *" acquire -k job --format xml
	says 64 '' "redlock: --format is not an option of 'redlock check'?hint: *" check -k job --token x --format json
	says 64 '' "redlock: --min-validity 'soon' is not a duration *?hint: *" check -k job --token x --min-validity soon
	says 64 '' "redlock: --ttl 100ms is too short for a node time-out of 50ms: two of them and the drift allowance (12ms) must fit?hint: *" extend -k job --token x --ttl 100ms
	says 64 '' "redlock: --ttl 100ms is too short *?hint: *" acquire -k job --ttl 100ms
	says 64 '' "redlock: --ttl is not an option of 'redlock release'?hint: *" release -k job --token x --ttl 3s
	# a command without --ttl gets no hint about a longer one
	says 79 '' '*' release -k job --token x --node-timeout 1m
	for i in 1 2 3; do is_empty $i; done
}

@test "a result that cannot be written: 125" {
	acquire "${LONG[@]}"
	for words in "check -k job --token $TOKEN" "check --json -k job --token $TOKEN" "extend --json -k job --token $TOKEN" "wait --json -k free" "release --json -k job --token $TOKEN"; do
		run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' $words > /dev/full"
		is_like "$stderr" "*cannot write to stdout: No space left on device*"
	done
}

# ---- together with run and break ----

# bats test_tags=not-under-qemu
@test "a run that waits has the lock at once, after a release and after a break" {
	for way in "release --token" "break --force --yes"; do
		TOKEN=$(redlock acquire -k job "${LONG[@]}")
		in_background "$T/run" run -k job "${LONG[@]}" -- echo mine
		eventually in_queue 1
		[[ "$way" != release* ]] || way+=" $TOKEN"
		redlock $way -k job 2> "$T/err"
		ended_with 0
		[ "$(tail -n 1 "$T/run")" = mine ]
		free_everywhere job
	done
}

# bats test_tags=not-under-qemu
@test "a run ends its command when its lock is broken: 79" {
	in_background "$T/run" run -k job -t 8s --node-timeout 2s -- sleep 600
	eventually held_on job 3
	says 0 "*revoked*" "redlock: 'job' is held by *" break --yes -k job
	ended_with 79
	file_has "$T/run" "^redlock: lost 'job'"
	free_everywhere job
}

# ---- a model ----

# valgrind takes a second for each of its 500 steps
# bats test_tags=not-under-valgrind
@test "several scripts with one lock, in a random order: every reply is that of the model" {
	run "$BATS_TEST_DIRNAME/../soak/tokens" "$REDLOCK_BUILD" "$T/1.sock" "$T/2.sock" "$T/3.sock"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "extend of a lost lock extends nothing: the remaining keys are released" {
	acquire --ttl 60s
	for i in 1 2; do node $i del job > "$T/set"; done
	extend_at_last
	[ "$(node 3 exists job)" = 0 ]
}

# bats test_tags=not-under-qemu
@test "a key of another data type is no lock, with any token; nor is the key that --min-hold left" {
	for i in 1 2 3; do node $i rpush job x > "$T/set"; done
	run -79 redlock release -k job --token '(list)'
	run -79 redlock extend -k job --token '(list)' --ttl 10m
	for i in 1 2 3; do
		[ "$(node $i llen job)" = 1 ]
		[ "$(node $i pttl job)" = -1 ]
	done
	redlock run -k other --min-hold 1m -- true
	run -0 node 1 get other
	says 64 '' "redlock: the token has no holder: its key was left by --min-hold, *" release -k other --token "${output%%:*}"
	eventually held_on other 3
}

@test "--format env: after any error, eval does not continue as if it had the lock" {
	ln -s "$T" "$T/again"
	while read -r want words; do
		for shell in bash sh; do
			run "$shell" -c 'set -eu; eval "$("$0" $1 2> "$2")"; echo goes on' "$REDLOCK_BUILD/redlock" "$words" "$T/words"
			[ "$status $output" = "$want " ] || { echo "$words: $status $output" && false; }
			[ -s "$T/words" ]
		done
	done <<- END
		64 acquire -k job --ttl 10mm --format env
		64 acquire --format=env -k job --ttl 10ms
		64 acquire --format env
		64 acquire -k job --format evn
		64 aquire -k job --format env
		64 acquire -k job extra --format env
		64 acquire -k job --bogus --format env
		64 acquire -k job --bogus --format=evn
		64 acquire -k job --json=1 --format env
		64 acquire -k job --owner --format env
		64 --format env -k job
		78 acquire -k job --format env --node htp://a
		78 acquire -k job --format env --log /nonexistent/x
		78 acquire -k job --format env --nodes unix://$T/1.sock,unix://$T/again/1.sock
		64 hold -k job --format env --follow 999999999
		78 hold -k job --format env --nodes unix://$T/1.sock,unix://$T/again/1.sock
	END
	run sh -c 'set -eu; eval "$(REDLOCK_FORMAT=env "$0" acquire -k job --ttl 1)"; echo goes on' "$REDLOCK_BUILD/redlock"
	[[ "$status" -eq 64 && "$output" != *"goes on"* ]]
	# a document is no shell's
	for words in '-k job --ttl 1' '-k job --bogus' '-k job extra' '-k job --nodes x:y' '-k job -n'; do
		REDLOCK_FORMAT=env run --separate-stderr redlock acquire --json --nodes "unix://$T/none" $words
		[ "$status" -ne 0 ]
		[[ "$output" != *"(exit"* ]]
		[ -z "$output" ] || jq . <<< "$output" > "$T/json"
	done
	REDLOCK_FORMAT=env run --separate-stderr redlock acquire --format plain -k job --bogus
	[ "$output" = "" ]
	REDLOCK_FORMAT=env run -64 --separate-stderr redlock status --bogus
	[ "$output" = "" ]
	# variables that only a command gets are ignored
	run -64 --separate-stderr redlock run -k job --ttl 1 -- cmd --format env
	[ "$output" = "" ]
	held_on job 0
}

@test "--format env: a signal that ends the wait ends the script of eval" {
	acquire
	for words in acquire hold; do
		sh -c 'set -eu; eval "$(exec "$0" $1 -k job --format env 2> "$2")"; echo goes on' \
			"$REDLOCK_BUILD/redlock" "$words" "$T/$words" > "$T/out" 3>&- &
		shell=$!
		also_end "$shell"
		eventually file_has "$T/$words" waiting
		kill -TERM "$(pgrep -P "$shell")"
		BG=$shell
		ended_with 143
		[ ! -s "$T/out" ]
	done
}

@test "nodes that are one server: a JSON document, and 78" {
	ln -s "$T" "$T/again"
	acquire
	REDLOCK_NODES="unix://$T/1.sock unix://$T/again/1.sock"
	for words in "acquire -n" "hold -n" "wait -n" "check --token $TOKEN" "break --yes"; do
		run -78 --separate-stderr redlock $words --json -k job
		json '.outcome == "duplicate-node" and .status == 78 and .key == "job"'
	done
}

# bats test_tags=not-under-qemu
@test "--format env: a refusal is an error for eval, too; a run under the same lock does not wait for it" {
	token=$(redlock acquire -k job)
	run -75 bash -c 'eval "$("$0" acquire -q -n -k job --format env)"' "$REDLOCK_BUILD/redlock"
	run bash -c 'set -e; eval "$("$0" acquire -q -n -k job --format env)"; echo goes on' "$REDLOCK_BUILD/redlock"
	[ "$status" -eq 75 ]
	[ "$output" = "" ]
	redlock release -k job --token "$token and whatever else hold prints"
	eval "$(redlock acquire -k job --format env)"
	run -75 redlock run -k job -- echo never
	[[ "$output" == *"'job' is held by a run that this one is part of"* ]]
	[ "$(redlock run --reentrant -k job -- echo under it)" = "under it" ]
}

# stalled PLAN ARG...: redlock stands still (tests/tools/stall.so.c).
stalled() {
	STALL=$1 ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 \
		LD_PRELOAD=$REDLOCK_BUILD/tools/stall.so timeout 60 "$REDLOCK_BUILD/redlock" "${@:2}"
}

# bats test_tags=not-under-valgrind
@test "a client that stood still blames no node for it" {
	export REDLOCK_NODE_TIMEOUT=1s
	acquire "${LONG[@]}"
	for call in connect connect- send send-; do
		for n in 1 2 3; do
			echo "# $call $n"
			stalled $call:$n:1200 check -k job --token "$TOKEN" 3>&- &
			check=$!
			stalled $call:$n:1200 extend "${LONG[@]}" -k job --token "$TOKEN" 3>&- &
			extend=$!
			stalled $call:$n:1200 status job > "$T/out"
			file_has "$T/out" 'on 3 of 3 nodes'
			wait $check
			wait $extend
		done
	done
	stalled connect:2:1200 break -n -y --force -k job
	free_everywhere job
	acquire "${LONG[@]}"
	stalled send:1:1200 release -k job --token "$TOKEN"
	free_everywhere job
}
