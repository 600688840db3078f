# --limit N: a semaphore, at most N holders, each in its own slot.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
	unset REDLOCK_KEY REDLOCK_KEYS REDLOCK_TOKEN REDLOCK_HELD REDLOCK_LIMIT REDLOCK_SLOT
}
teardown() {
	continue_all
	nodes_stop
}

# No key expires before the test does, and no reservation either.
LONG=(--ttl 1h --node-timeout 60s)
# For locks that expire, or are extended, soon; but a pause of two seconds loses none.
SHORT=(--ttl 8s --node-timeout 2s)
JOB=(-k job -L 3)

# hold NAME ARG...: holds a slot of 'job' until "$T/NAME.go" exists; its pid is in HOLDER[NAME], its slot in SLOT[NAME].
declare -gA HOLDER SLOT
hold() {
	local name=$1
	shift
	in_background "$T/$name" run "${JOB[@]}" "$@" -- sh -c "echo slot \$REDLOCK_SLOT; until [ -e $T/$name.go ]; do sleep 0.1; done"
	HOLDER[$name]=$BG
	eventually file_has "$T/$name" '^slot'
	SLOT[$name]=$(sed -n 's/^slot //p' "$T/$name")
}
let_go() { touch "$T/$1.go"; }
free() { eventually eval "held_on 'job#1' 0 && held_on 'job#2' 0 && held_on 'job#3' 0"; }
# each on a majority
taken() { eventually eval "[ \"\$(holders 'job#1')\" -ge 2 ] && [ \"\$(holders 'job#2')\" -ge 2 ] && [ \"\$(holders 'job#3')\" -ge 2 ]"; }
# waiter NAME ARG...: queues; when it has a slot, it writes its name and slot to $T/served.
declare -gA W
waiter() {
	local name=$1
	shift
	in_background "$T/$name" run "${JOB[@]}" "$@" -- sh -c "echo $name \$REDLOCK_SLOT >> $T/served"
	W[$name]=$BG
	eventually waits $name
}
# waits NAME: in the queue; or it polls, because two nodes have each slot, and the queue node lacks one.
waits() { file_has "$T/$1" waiting; }

@test "N holders at once and no more, each in its own slot" {
	# each counts the others, by folders that only one process can make
	cat > "$T/work" <<- 'END'
		mkdir "$T/in.$REDLOCK_SLOT" || echo "twice in slot $REDLOCK_SLOT" >> "$T/broken"
		set -- "$T"/in.*
		[ $# -le 3 ] || echo "$# at once" >> "$T/broken"
		echo "$#" >> "$T/counts"
		sleep 0.0$((RANDOM % 5))
		rmdir "$T/in.$REDLOCK_SLOT"
	END
	export T
	pids=()
	for worker in 1 2 3 4 5 6 7; do
		(for n in 1 2 3 4 5 6; do
			redlock run -q "${JOB[@]}" -- bash "$T/work" || echo "$?" >> "$T/failed"
		done) 3>&- &
		pids+=($!)
		also_end $!
	done
	wait "${pids[@]}"
	[ ! -e "$T/failed" ]
	[ ! -e "$T/broken" ]
	[ "$(wc -l < "$T/counts")" -eq 42 ]
	free
}

@test "all slots are held: 75 and a message; one slot is free: it is found, at any place" {
	for name in a b c; do hold $name "${LONG[@]}" --owner "who is $name"; done
	[ "$(printf '%s\n' "${SLOT[@]}" | sort | tr '\n' ' ')" = "1 2 3 " ]
	taken
	run -75 --separate-stderr redlock run -n "${JOB[@]}" -- touch "$T/never"
	is_like "$stderr" "redlock: 'job' is busy: its 3 slots are taken, 'job#[123]' held by who is [abc] since * of 3 nodes, *"
	for name in a b c; do
		let_go $name
		BG=${HOLDER[$name]}
		ended_with 0
		eventually held_on "job#${SLOT[$name]}" 0
		for n in 1 2 3; do
			run -0 --separate-stderr redlock run -n "${JOB[@]}" -- sh -c 'echo $REDLOCK_SLOT of $REDLOCK_LIMIT, $REDLOCK_KEY'
			[ "$output" = "${SLOT[$name]} of 3, job" ]
		done
		rm "$T/$name.go"
		hold $name "${LONG[@]}" --owner "who is $name"
	done
	[ ! -e "$T/never" ]
}

@test "a wait ends when any slot is released, though all would last for minutes" {
	for name in a b c; do hold $name "${LONG[@]}"; done
	for name in b c a; do
		waiter w$name "${LONG[@]}"
		let_go $name
		BG=${W[w$name]}
		ended_with 0
		rm "$T/$name.go"
		hold $name "${LONG[@]}"
	done
	# it got the slot that was released
	[ "$(wc -l < "$T/served")" -eq 3 ]
}

@test "one slot is released: the first of many waiters gets it, and then the others in order" {
	# (--fair: a queue node that was left out would wake waiters for a slot that is taken elsewhere)
	for name in a b c; do hold $name "${LONG[@]}" --fair; done
	for name in d e f g; do waiter $name "${LONG[@]}"; done
	let_go b
	for name in d e f g; do
		BG=${W[$name]}
		ended_with 0
	done
	slot=${SLOT[b]}
		[ "$(tr '\n' ' ' < "$T/served")" = "d $slot e $slot f $slot g $slot " ]
}

@test "held with another limit: busy, and messages and status name both limits" {
	hold a "${LONG[@]}" --owner me
	run -75 --separate-stderr redlock run -n -k job -L 2 -- touch "$T/never"
	is_like "$stderr" "redlock: 'job' is busy: held with limit 3, not 2: one slot is held by me since * of 3 nodes, *"
	run -75 redlock wait -n -k job -L 1000
	run -75 --separate-stderr redlock acquire -n --json -k job -L 4
	json '.outcome == "busy" and .holder.limit == 3 and .holder.owner == "me"'
	says 0 "'job' is held with limit 3, not 2: 1 of 3 slots is held
*'job#${SLOT[a]}' is held by me since *" '' status -L 2 job
	[ "${#lines[@]}" -eq 4 ]
	run -0 --separate-stderr redlock status --json -L 1000 job
	json '.locks[0] | .limit == 3 and .requested_limit == 1000 and (.slots | length) == 3'
	# a run within the lock would wait for itself
	run -75 --separate-stderr redlock run "${JOB[@]}" -- "$REDLOCK_BUILD/redlock" run -k job -L 3 -- \
		"$REDLOCK_BUILD/redlock" run -n -k job -L 2 -- touch "$T/never"
	let_go a
	BG=${HOLDER[a]}
	ended_with 0
	run -75 --separate-stderr redlock run "${JOB[@]}" -- "$REDLOCK_BUILD/redlock" run -k job -L 2 -- touch "$T/never"
	is_like "$stderr" "*redlock: 'job' is held with limit 3, not 2, by a run that this one is part of"
	# nor is a plain lock on the key a slot
	redlock acquire -k job > "$T/token"
	says 0 '' '' run -n -k job -L 2 -- true
	[ ! -e "$T/never" ]
}

@test "another limit, host by host: its first waiter gets a slot when all slots of the other limit are free" {
	hold a "${LONG[@]}"
	hold b "${LONG[@]}"
	JOB=(-k job -L 2)
	waiter d "${LONG[@]}"
	waiter e "${LONG[@]}"
	file_has "$T/d" "waiting: 'job' is held with limit 3, not 2: one slot is held by "
	JOB=(-k job -L 3)
	let_go a
	BG=${HOLDER[a]}
	ended_with 0
	hold c "${LONG[@]}"
	let_go b
	let_go c
	BG=${W[d]}
	ended_with 0
	BG=${W[e]}
	ended_with 0
	[ "$(cut -d ' ' -f 1 "$T/served" | sort | tr '\n' ' ')" = "d e " ]
	# the record of a limit is of no use without a slot
	says 0 '' '' run -n "${JOB[@]}" -- true
}

@test "three slots are released at once: three waiters get them" {
	for name in a b c; do hold $name "${LONG[@]}"; done
	for name in d e f; do
		in_background "$T/$name" run "${JOB[@]}" "${LONG[@]}" -- sh -c "echo slot \$REDLOCK_SLOT; until [ -e $T/$name.go ]; do sleep 0.1; done"
		W[$name]=$BG
		eventually waits $name
	done
	for name in a b c; do let_go $name; done
	for name in d e f; do eventually file_has "$T/$name" '^slot'; done
	[ "$(grep -h '^slot' "$T"/[def] | sort | tr '\n' ' ')" = "slot 1 slot 2 slot 3 " ]
	for name in d e f; do
		let_go $name
		BG=${W[$name]}
		ended_with 0
	done
	free
}

@test "a holder is killed: a waiter gets its slot when the TTL ends" {
	hold a "${LONG[@]}"
	hold b "${SHORT[@]}"
	hold c "${LONG[@]}"
	waiter w "${LONG[@]}"
	kill -KILL "${HOLDER[b]}"
	BG=${W[w]}
	ended_with 0
	[ "$(cat "$T/served")" = "w ${SLOT[b]}" ]
}

@test "a node is restarted, empty: there are never more holders than the limit" {
	for name in a b c; do hold $name "${SHORT[@]}"; done
	# (a holder with its slot on only two nodes would lose it)
	for slot in 1 2 3; do eventually held_on "job#$slot" 3; done
	kill_node 2
	start_node 2
	eventually answers 2
	run -75 redlock run -n "${JOB[@]}" "${SHORT[@]}" -- touch "$T/never"
	# the extension sets its keys again, and its quarantine ends
	for slot in 1 2 3; do eventually held_on "job#$slot" 3; done
	run -75 redlock run -n "${JOB[@]}" "${SHORT[@]}" -- touch "$T/never"
	[ ! -e "$T/never" ]
	for name in a b c; do
		let_go $name
		BG=${HOLDER[$name]}
		ended_with 0
	done
	free
}

@test "in the command: check, extend and release find the slot in the environment" {
	run -0 redlock run "${JOB[@]}" --ttl 5m -v -- bash -c '
		"$REDLOCK_BUILD/redlock" check || exit 1
		"$REDLOCK_BUILD/redlock" extend --ttl 10m || exit 2
		redis-cli -s "$1" pttl "job#$REDLOCK_SLOT"' - "$T/1.sock"
	[[ "$output" == *"acquired 'job#"* ]]
	eval "$(redlock acquire --format env --ttl 5m "${JOB[@]}")"
	[ "$REDLOCK_KEY $REDLOCK_LIMIT" = "job 3" ]
	eventually held_on "job#$REDLOCK_SLOT" 3
	redlock check
	redlock extend --ttl 10m
	for i in 1 2 3; do [ "$(node $i pttl "job#$REDLOCK_SLOT")" -gt 500000 ]; done
	says 0 '' "redlock: released 'job#$REDLOCK_SLOT'" release -v
	eventually held_on "job#$REDLOCK_SLOT" 0
	says 79 '' "redlock: 'job#$REDLOCK_SLOT' is no longer held by this token: it has expired or was released" check
	# also with the same token on the command line
	run -0 redlock run "${JOB[@]}" --ttl 5m -- bash -c '
		"$REDLOCK_BUILD/redlock" check -k job --token "$REDLOCK_TOKEN" &&
		"$REDLOCK_BUILD/redlock" extend --token "$REDLOCK_TOKEN" --ttl 10m'
	# another key, or another token, is another lock
	says 64 '' "redlock: missing token?*" check -k other
}

@test "a release by token wakes a waiter" {
	for n in 1 2 3; do
		eval "$(redlock acquire --format env "${LONG[@]}" "${JOB[@]}")"
	done
	waiter w "${LONG[@]}"
	redlock release "${LONG[@]:2}"
	BG=${W[w]}
	ended_with 0
	[ "$(cat "$T/served")" = "w $REDLOCK_SLOT" ]
	# as does an administrator
	redlock run "${JOB[@]}" "${LONG[@]}" --min-hold 1h -- true
	rm "$T/served"
	waiter v "${LONG[@]}"
	redlock break -f -y "${JOB[@]}" --slot 2 "${LONG[@]:2}" > "$T/break"
	BG=${W[v]}
	ended_with 0
	[ "$(cat "$T/served")" = "v 2" ]
}

@test "a waiter that leaves the queue takes no reservation of others with it" {
	for name in a b c; do hold $name "${LONG[@]}"; done
	for name in d e f; do waiter $name "${LONG[@]}"; done
	kill -TERM "${W[d]}"
	kill -KILL "${W[e]}"
	eventually is_gone "${W[d]}"
	eventually is_gone "${W[e]}"
	let_go c
	BG=${W[f]}
	ended_with 0
	[ "$(cat "$T/served")" = "f ${SLOT[c]}" ]
}

@test "wait: until any slot is free" {
	for name in a b c; do hold $name "${LONG[@]}"; done
	run -75 redlock wait -n "${JOB[@]}"
	in_background "$T/out" wait "${JOB[@]}" "${LONG[@]:2}"
	eventually waits out
	let_go c
	ended_with 0
	run -0 redlock wait -w 20s "${JOB[@]}"
}

@test "hold: each has its own slot, and is released by its token" {
	for n in 1 2 3; do redlock hold "${JOB[@]}" --ttl 1m > "$T/held.$n"; done
	taken
	run -0 redlock hold --list
	[ "${#lines[@]}" -eq 3 ]
	is_like "${lines[0]}" "'job', slot [123] since * by process *"
	says 64 '' "redlock: ambiguous lock 'job': several background holders have it*" release -k job
	run -75 redlock hold -n "${JOB[@]}"
	for n in 1 2 3; do redlock release -k job --token "$(cut -d ' ' -f 1 "$T/held.$n")"; done
	free
}

@test "hold --list lists all locks, with any limit" {
	says 0 '' '' hold --list -L 2
	redlock hold "${JOB[@]}" "${LONG[@]}" > "$T/held"
	says 0 "'job', slot [123] since * by process *" '' hold --list -L 2
	run -0 --separate-stderr redlock hold --list --json -L 3
	json '.holds | length == 1 and .[0].key == "job" and .[0].slot >= 1'
	redlock release -k job
}

@test "release of a hold: the named slot, and no other one" {
	redlock hold "${JOB[@]}" "${LONG[@]}" > "$T/held.1"
	[[ "$(cat "$T/held.1")" =~ ^[0-9a-f]{40}#([123])\ [0-9]+$ ]]
	first=${BASH_REMATCH[1]}
	other=$((first % 3 + 1))
	says 64 '' "redlock: missing token: no background holder of this user has slot $other of 'job'
hint: *" release "${JOB[@]}" --slot $other
	[ "$(holders "job#$first")" -ge 2 ]
	redlock hold "${JOB[@]}" "${LONG[@]}" > "$T/held.2"
	second=$(sed 's/^[^#]*#//; s/ .*//' "$T/held.2")
	says 64 '' "redlock: ambiguous lock 'job': several background holders have it
hint: name it with --slot, --token, *" release "${JOB[@]}"
	says 0 '' '' release "${JOB[@]}" --slot "$second"
	eventually held_on "job#$second" 0
	[ "$(holders "job#$first")" -ge 2 ]
	# the background holder knows the limit
	says 0 '' '' release -k job --slot "$first"
	free
}

@test "a token with its slot is enough" {
	token=$(redlock acquire "${JOB[@]}" "${LONG[@]}")
	[[ "$token" =~ ^[0-9a-f]{40}#[123]$ ]]
	slot=${token#*#}
	other=$((slot % 3 + 1))
	says 0 '5[0-9]m' '' check -k job --token "$token"
	says 0 '5[0-9]m' '' check "${JOB[@]}" --token "$token"
	says 0 '5[0-9]m' '' check "${JOB[@]}" --slot "$slot" --token "$token"
	says 0 '5[0-9]m' '' check "${JOB[@]}" --slot "$slot" --token "${token%#*}"
	says 0 '' "redlock: extended 'job#$slot'" extend -v -k job --token "$token" "${LONG[@]}"
	for words in "-L 3 --slot $other" "--slot $other"; do
		says 64 '' "redlock: the token is of slot $slot, not of slot $other" check -k job $words --token "$token"
	done
	says 64 '' "redlock: the token is of slot $slot, and --limit 1 has no slots" check -k job -L 1 --token "$token"
	says 64 '' "redlock: the token has an invalid slot: '#' is not followed by a number from 1 to 1000" check -k job --token "${token%#*}#0"
	says 64 '' "redlock: invalid slot 4: --limit 3 has the slots 1 to 3" check "${JOB[@]}" --token "${token%#*}#4"
	REDLOCK_TOKEN=$token says 0 '5[0-9]m' '' check -k job
	run -0 --separate-stderr redlock check -k job --json --token "$token"
	json '.key == "job" and .slot == '"$slot"' and .outcome == "held"'
	# from a file, with trailing text
	echo "$token 4711 17" > "$T/token"
	says 0 '5[0-9]m' '' check -k job --token-file "$T/token"
	says 0 '5[0-9]m' '' check "${JOB[@]}" --token-file "$T/token"
	says 64 '' "redlock: the token is of slot $slot, not of slot $other" check "${JOB[@]}" --slot $other --token-file "$T/token"
	echo "${token%#*}" > "$T/plain"
	says 64 '' "redlock: missing slot: the lock has 3*" check "${JOB[@]}" --token-file "$T/plain"
	says 64 '' "redlock: --slot needs --limit*" check -k job --slot 1 --token-file "$T/plain"
	says 0 '' "redlock: released 'job#$slot'" release -v -k job --token-file "$T/token"
	free
	# the plain lock's is the id alone; env and JSON have it apart
	[[ "$(redlock acquire -k plain -L 1)" =~ ^[0-9a-f]{40}$ ]]
	run -0 --separate-stderr redlock acquire "${JOB[@]}" --json
	json '(.token | test("^[0-9a-f]{40}$")) and .slot >= 1'
	[[ "$(redlock acquire "${JOB[@]}" --format env)" =~ REDLOCK_TOKEN=\'[0-9a-f]{40}\' ]]
}

@test "in the command, the same key and limit may be named: slot and token are those of the command's lock" {
	run -0 --separate-stderr redlock run "${JOB[@]}" "${LONG[@]}" -- "$REDLOCK_BUILD/redlock" check "${JOB[@]}"
	is_like "$output" '5[0-9]m'
	run -64 --separate-stderr redlock run "${JOB[@]}" "${LONG[@]}" -- "$REDLOCK_BUILD/redlock" check -k job -L 4
	is_like "$stderr" "redlock: missing slot: the lock has 4*"
}

@test "--format env: no variable of an earlier lock remains" {
	eval "$(redlock hold "${JOB[@]}" "${LONG[@]}" --fence --format env)"
	[ "$REDLOCK_LIMIT $REDLOCK_KEY" = "3 job" ]
	[ "$REDLOCK_FENCE" -gt 0 ]
	also_end "$REDLOCK_HOLDER_PID"
	# nor in a command
	run -0 --separate-stderr redlock run -k other -- sh -c 'echo "$REDLOCK_KEY.$REDLOCK_HOLDER_PID$REDLOCK_SLOT$REDLOCK_FENCE"'
	[ "$output" = other. ]
	eval "$(redlock acquire -k plain "${LONG[@]}" --format env)"
	[ "$REDLOCK_KEY.${REDLOCK_LIMIT-}${REDLOCK_SLOT-}${REDLOCK_FENCE-}${REDLOCK_HOLDER_PID-}" = plain. ]
	says 0 '5[0-9]m' '' check
	# without a new slot, the old variables stay
	eval "$(redlock acquire "${JOB[@]}" "${LONG[@]}" --fence --format env)"
	[ "$REDLOCK_LIMIT" = 3 ]
	[ "$REDLOCK_FENCE" -gt 0 ]
	says 0 '5[0-9]m' '' check
	redlock release
}

@test "status: the number of held slots, and each of them" {
	says 0 "'job': 0 of 3 slots are held
'job#1' is free
'job#2' is free
'job#3' is free" '' status -L 3 job
	hold a "${LONG[@]}" --owner me
	says 0 "'job': 1 of 3 slots is held
*'job#${SLOT[a]}' is held by me since *" '' status -L 3 job
	[ "${#lines[@]}" -eq 4 ]
	run -0 --separate-stderr redlock status --json --limit 3 job other
	json '[.locks[] | [.key, .limit, .held, .unknown]] == [["job", 3, 1, 0], ["other", 3, 0, 0]]'
	json '[.locks[0].slots[] | .key] == ["job#1", "job#2", "job#3"]'
	json '[.locks[0].slots[] | select(.state == "held") | [.slot, .holder.owner]] == [['"${SLOT[a]}"', "me"]]'
	says 0 "'job' is a semaphore: slots of it are held with limit 3" 'hint: slots of the key are held: --limit 3 shows them' status -L 1 job
	says 64 '' "redlock: missing key: --limit*" status -L 3
	says 64 '' "redlock: the key is too long for --limit: at most 4091 bytes are allowed" status -L 2 "$(printf '%4092d' 0)"
	kill_node 1
	kill_node 2
	says 69 "'job': 0 of 3 slots are held, 3 unknown
'job#1' has an unknown state: *
*
*" 'hint: *no server listens there: *' status -L 3 job
	run -69 --separate-stderr redlock status --json --limit 3 job
	json '.locks[0].unknown == 3 and .status == 69'
}

@test "slots of a free key are held: status and break say so" {
	says 0 "'job' is free" '' status job
	hold a "${LONG[@]}"
	says 0 "'job' is a semaphore: slots of it are held with limit 3" "hint: slots of the key are held: --limit 3 shows them" status job
	says 0 $'KEY\tHOLDER\tHELD\tNODES\tWAITERS\njob\t(slots are held, limit 3)\t-\t0/3\t0\njob#[123]\t*\t*s\t3/3\t0\nother\t(free)\t-\t0/3\t0' '' status other job
	run -0 --separate-stderr redlock status --json job
	json '.locks[0] | .state == "free" and .limit == 3'
	says 0 '' "redlock: 'job' is a semaphore: slots of it are held with limit 3
redlock: 'job' is not held: nothing was removed
hint: slots of the key are held: 'redlock status --limit 3' shows them" break -y -k job
}

@test "--fair, --fence, --min-hold: for each slot" {
	for name in a b c; do hold $name "${LONG[@]}" --fair; done
	waiter d "${LONG[@]}" --fair
	waiter e "${LONG[@]}" --fair
	let_go a
	BG=${W[d]}
	ended_with 0
	BG=${W[e]}
	ended_with 0
	[ "$(tr '\n' ' ' < "$T/served")" = "d ${SLOT[a]} e ${SLOT[a]} " ]
	run -0 redlock run -q -w 20s "${JOB[@]}" --fence --min-hold 10m -- sh -c 'echo $REDLOCK_SLOT $REDLOCK_FENCE'
	[ "${lines[0]% *}" = "${SLOT[a]}" ]
	# (a node that was late may have another number)
	for i in 1 2 3; do node $i get "redlock:fence:{job#${SLOT[a]}}"; done | grep -qx "${lines[0]#* }"
	run -75 redlock run -n "${JOB[@]}" -- true
}

@test "a limit of one is the plain lock" {
	run -0 --separate-stderr redlock run -k job -L 1 -- sh -c 'echo $REDLOCK_SLOT of $REDLOCK_LIMIT; redis-cli -s "$0" exists job' "$T/1.sock"
	[ "$output" = $'1 of 1\n1' ]
	redlock acquire -k job --limit 1 > "$T/token"
	run -75 redlock run -n -k job -- true
}

@test "JSON and records have the slot; the key is the semaphore's name" {
	run -0 --separate-stderr redlock acquire --json "${JOB[@]}"
	json '.key == "job" and .slot >= 1 and .slot <= 3'
	redlock run "${JOB[@]}" --record "$T/record" --metrics-file "$T/metrics" -- true
	run -0 cat "$T/record"
	json '.key == "job" and .slot >= 1 and .slot <= 3'
	grep -F 'key="job"' "$T/metrics" > "$T/found"
	redlock run -k job --record "$T/plain" -- true
	run -0 cat "$T/plain"
	json 'has("slot") | not'
}

@test "a nested run gets another slot; the command of another lock has no slot of this one" {
	run -0 redlock run "${JOB[@]}" -- "$REDLOCK_BUILD/redlock" run "${JOB[@]}" -n -- sh -c 'echo $REDLOCK_SLOT'
	run -0 --separate-stderr redlock run "${JOB[@]}" -- "$REDLOCK_BUILD/redlock" run -k other -- sh -c 'echo "$REDLOCK_SLOT$REDLOCK_LIMIT."'
	[ "$output" = . ]
}

@test "a nested run that waits for a second slot of its own semaphore is warned at once" {
	export PATH=$REDLOCK_BUILD:$PATH
	in_background "$T/out" run -k job -L 2 -- redlock run -k job -L 2 -- redlock run -k job -L 2 -- true
	eventually file_has "$T/out" "^redlock: waiting for a second slot of 'job': this command runs under one already$"
	file_has "$T/out" "^hint: commands that keep one slot and wait for another can wait for each other: "
	kill -TERM "$BG"
	ended_with 143
	[ "$(grep -c 'second slot' "$T/out")" = 1 ]
	# not of another semaphore, and not by a run that need not wait. (A slot of 'job' may still be reserved for the
	# waiter that has ended.)
	run -75 --separate-stderr redlock run -k next -L 2 -- redlock run -k next -L 2 -- redlock run -n -k next -L 2 -- true
	is_like "$stderr" "redlock: 'next' is busy: *"
	run -0 --separate-stderr redlock run -k next -L 2 -- redlock run -k other -L 2 -- true
	[ -z "$stderr" ]
}

@test "combinations that are refused" {
	says 64 '' "redlock: --limit accepts one key only*" run -k a -k b -L 2 -- true
	says 64 '' "redlock: -L '0' is not a number from 1 to 1000*" run -k a -L 0 -- true
	says 64 '' "redlock: --limit '1001' is not a number from 1 to 1000*" run -k a --limit 1001 -- true
	says 64 '' "redlock: --reentrant cannot be combined with --limit*" run -k a -L 2 --reentrant -- true
	says 64 '' "redlock: missing slot: the lock has 3*" check -k a -L 3 --token x
	says 64 '' "redlock: --slot needs --limit*" check -k a --slot 3 --token x
	says 64 '' "redlock: invalid slot 4: --limit 3 has the slots 1 to 3*" check -k a --slot 4 -L 3 --token x
	says 64 '' "redlock: the key is too long for --limit: at most 4091 bytes are allowed" run -L 2 -k "$(printf '%4092d' 0)" -- true
	says 0 '' '' run -L 2 -k "$(printf '%04091d' 0)" -- true
}

@test "no slot ever has two holders, while nodes are killed, restarted and stopped" {
	cat > "$T/work" <<- 'END'
		exec 9> "$T/in.$REDLOCK_SLOT"
		flock -n 9 || echo "twice in slot $REDLOCK_SLOT" >> "$T/broken"
		[ "$REDLOCK_SLOT" -ge 1 ] && [ "$REDLOCK_SLOT" -le 3 ] || echo "slot $REDLOCK_SLOT" >> "$T/broken"
		sleep 0.0$((RANDOM % 10))
		echo done >> "$T/counts"
	END
	export T
	touch "$T/counts"
	pids=()
	for worker in 1 2 3 4 5 6; do
		(until [ -e "$T/enough" ]; do
			redlock run -q "${JOB[@]}" --ttl 2s --node-timeout 100ms -- bash "$T/work" 2>> "$T/words" || true
		done) 3>&- &
		pids+=($!)
		also_end $!
	done
	more() { local n=$(wc -l < "$T/counts"); eventually eval "[ \"\$(wc -l < '$T/counts')\" -ge $((n + 20)) ]"; }
	more
	kill_node 2
	more
	start_node 2
	eventually answers 2
	more
	stop_node 3
	continue_node 3
	more
	eventually eval 'redlock run -q -k other --ttl 2s --node-timeout 100ms --nodes "unix://$T/2.sock" -- true'
	kill_node 1
	start_node 1
	more
	touch "$T/enough"
	wait "${pids[@]}"
	[ ! -e "$T/broken" ]
}
