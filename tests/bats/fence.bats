# --fence, and redlock gate on the other side.

load nodes

setup() {
	nodes_start 3
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

numbers() { redlock run -k job --fence "$@" -- sh -c 'echo $REDLOCK_FENCE'; }
counter() { node "$1" get 'redlock:fence:{job}'; }
set_counters() {
	local i=1 n
	for n in "$@"; do node $((i++)) set 'redlock:fence:{job}' "$n" > "$T/set"; done
}
# far N: a number so far ahead of all clocks that each number is the one before plus one.
AHEAD=$(($(date +%s) + 1000))000000
far() { echo $((AHEAD + $1)); }
is_rising() { [ "$(sort -nu <<< "$1")" = "$1" ]; }

@test "each run has a larger number than the one before; the first are those of the current time" {
	before=$(date +%s)
	all=$(for n in $(seq 20); do numbers; done)
	echo "$all"
	[ "$(wc -l <<< "$all")" -eq 20 ]
	is_rising "$all"
	[ "$(head -n 1 <<< "$all")" -ge "${before}000000" ]
	[ "$(tail -n 1 <<< "$all")" -le "$(($(date +%s) + 60))000000" ]
}

@test "all nodes get the time of the attempt: one round trip, whatever their counters are" {
	set_counters 5 6 7
	run redlock run -vv -k job --fence -- sh -c 'echo "number $REDLOCK_FENCE"'
	[[ "$output" == *"number "* ]]
	[[ "$output" != *" fence: "* ]]
}

@test "all nodes have the same counter: one round trip, and no node needs an update" {
	set_counters "$(far 7)" "$(far 7)" "$(far 7)"
	run redlock run -vv -k job --fence -- sh -c 'echo "number $REDLOCK_FENCE"'
	[[ "$output" == *"number $(far 8)"* ]]
	[[ "$output" != *" fence: "* ]]
	[ "$(counter 1) $(counter 2) $(counter 3)" = "$(far 8) $(far 8) $(far 8)" ]
}

@test "the counters differ, and are of the past: the time is larger, and costs no second round trip" {
	set_counters 10 5 7
	before=$(date +%s%6N)
	run redlock run -vv -k job --fence -- sh -c 'echo "number $REDLOCK_FENCE"'
	[[ "$output" =~ number\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -gt "$before" ]
	[ "${BASH_REMATCH[1]}" -lt "$(date +%s%6N)" ]
	[[ "$output" != *" fence: "* ]]
	[ "$(counter 1) $(counter 2) $(counter 3)" = "${BASH_REMATCH[1]} ${BASH_REMATCH[1]} ${BASH_REMATCH[1]}" ]
}

@test "a node with another clock uses its own: the numbers rise, with a second round trip" {
	with_a_clock 1
	jump 1 20
	# The majority is node 1 and node 2: their first numbers differ by their clocks.
	stop_node 3
	all=$(numbers -vv 2> "$T/words")
	file_has "$T/words" ' fence: '
	[ "$all" -gt "$(date +%s)000000" ]
	continue_node 3
	eventually answers 3
	all+=$'\n'$(numbers)
	jump 1 0
	all+=$'\n'$(numbers)
	is_rising "$all"
}

@test "the counters differ: the largest of a majority is issued, and stored on a majority" {
	# without the update, two nodes with 5 and 5 would issue 6 after a client got 11
	set_counters "$(far 10)" "$(far 5)" "$(far 5)"
	all=
	for down in 3 1 2; do
		stop_node $down
		all+=$(numbers)$'\n'
		continue_node $down
		eventually answers $down
	done
	echo "$all"
	is_rising "${all%$'\n'}"
	[ "$(head -n 1 <<< "$all")" = "$(far 11)" ]
}

@test "a node that lost its counter changes nothing; if all did, the clock replaces them" {
	first=$(numbers)
	for i in 1 2 3; do
		kill_node $i
		start_node $i
		eventually admitted $i
		next=$(numbers)
		[ "$next" -gt "$first" ]
		first=$next
	done
	for i in 1 2 3; do node $i flushall > "$T/set" && admitted $i; done
	[ "$(numbers)" -gt "$first" ]
}

# all_of N: that many numbers, of the nodes that are up.
all_of() { for n in $(seq "$1"); do numbers; done; }

@test "a node that restarts with an older copy of its data: no number goes back, with one node down at a time" {
	all=$(all_of 2)$'\n'
	for i in 2 3; do node $i save; done > "$T/set"
	kill_node 3
	all+=$(all_of 3)$'\n'
	start_node 3
	eventually admitted 3
	kill_node 2
	start_node 2
	eventually admitted 2
	[ "$(counter 2)" -lt "$(counter 1)" ]
	stop_node 1
	all+=$(all_of 2)
	echo "$all"
	is_rising "$all"
}

@test "a counter that is reset by hand: no number goes back" {
	all=$(numbers)$'\n'
	# (a dump that is restored is the same case)
	old=$(counter 1)
	all+=$(all_of 2)$'\n'
	set_counters "$old" "$old"
	stop_node 3
	all+=$(all_of 2)
	is_rising "$all"
}

@test "many clients at once: the order of the numbers is the order of the sections" {
	for w in 1 2 3 4 5 6; do
		(for n in 1 2 3 4 5; do redlock run -q -k job --fence -- sh -c 'echo $REDLOCK_FENCE >> "$0"' "$T/all" || echo "$?" >> "$T/failed"; done) 3>&- &
		also_end $!
		loops[w]=$!
	done
	wait "${loops[@]}"
	not test -e "$T/failed"
	[ "$(wc -l < "$T/all")" -eq 30 ]
	is_rising "$(cat "$T/all")"
}

@test "a counter that cannot be raised is no vote: the node does not get the key" {
	for wrong in 'rpush x' 'set 1e3' 'set -7' 'set 9007199254740991' 'set 9007199254740992' 'set 1000000000000000000000'; do
		for i in 1 2; do
			node $i del 'redlock:fence:{job}'
			node $i "${wrong% *}" 'redlock:fence:{job}' "${wrong#* }"
		done > "$T/set"
		run -69 --separate-stderr redlock run -n -k job --fence -- echo never
		is_like "${stderr_lines[0]}" "redlock: no quorum for 'job': 1 of 3 nodes can be used, 2 needed: each of unix*1.sock, unix*2.sock has a fencing counter that is no number, or at its limit (redlock:fence:{job})"
		[[ "${stderr_lines[1]}" == "hint: in redis-cli on "*": DEL redlock:fence:{"* ]]
		held_on job 0
		redlock run -n -k job -- true
		redlock status job
	done
	# the fix in the hint
	for i in 1 2; do node $i del 'redlock:fence:{job}'; done > "$T/set"
	numbers
}

@test "the largest number is issued once" {
	set_counters 9007199254740989 9007199254740989 9007199254740989
	[ "$(numbers)" = 9007199254740990 ]
	[ "$(numbers)" = 9007199254740991 ]
	run -69 --separate-stderr redlock run -n -k job --fence -- echo never
	[[ "$stderr" == *" has a fencing counter that is no number, or at its limit "* ]]
}

@test "acquire and hold print it; status shows it; extend does not change it" {
	set_counters "$(far 41)" "$(far 41)" "$(far 41)"
	export XDG_RUNTIME_DIR=$T
	eval "$(redlock acquire -k job --fence --format env)"
	[ "$REDLOCK_FENCE" = "$(far 42)" ]
	redlock extend
	[ "$(counter 1)" = "$(far 42)" ]
	[[ "$(redlock status job)" == *"; fencing number $(far 42)" ]]
	redlock release
	unset REDLOCK_FENCE REDLOCK_KEY REDLOCK_TOKEN
	[[ "$(redlock acquire -k job --fence)" =~ ^[0-9a-f]{40}" $(far 43)"$ ]]
	for i in 1 2 3; do node $i del job > "$T/set"; done
	[ "$(redlock acquire -k job --fence --json | jq .fence)" = "$(far 44)" ]
	for i in 1 2 3; do node $i del job > "$T/set"; done
	[[ "$(redlock hold -k job --fence)" =~ ^[0-9a-f]{40}" "[0-9]+" $(far 45)"$ ]]
	redlock release -k job
}

@test "the record of a run has its number" {
	set_counters "$(far 6)" "$(far 6)" "$(far 6)"
	redlock run -k job --fence --record "$T/record" -- true
	redlock run -k job --record "$T/record" -- true
	[ "$(jq -c .fence "$T/record" | tr '\n' ' ')" = "$(far 7) null " ]
}

@test "within a run: another lock's number is not this one's; the same lock's is" {
	run redlock run -k job --fence -- "$REDLOCK_BUILD/redlock" run -k other -- sh -c 'echo "${REDLOCK_FENCE-none}"'
	[ "$output" = none ]
	run redlock run -k job --fence -- sh -c '"$0" run --reentrant -k job -- sh -c "[ \$REDLOCK_FENCE = $REDLOCK_FENCE ] && echo same"' "$REDLOCK_BUILD/redlock"
	[ "$output" = same ]
	# and so is the holder's pid
	run redlock run -k job -- sh -c 'REDLOCK_HOLDER_PID=42 "$0" run --fence --reentrant -k job -- sh -c "echo \$REDLOCK_HOLDER_PID"' "$REDLOCK_BUILD/redlock"
	[ "$output" = 42 ]
	run redlock run -k job -- sh -c 'REDLOCK_HOLDER_PID=42 "$0" run -k other -- sh -c "echo \${REDLOCK_HOLDER_PID-none}"' "$REDLOCK_BUILD/redlock"
	[ "$output" = none ]
}

# ---- the gate ----

gate() { redlock gate --store "$T/store" "$@"; }

@test "gate: an older number is refused with both named, 76; the same and a newer one pass" {
	run gate --fence 5 -- echo five
	[ "$output" = five ]
	run gate --fence 4 -- touch "$T/never"
	[ "$status" -eq 76 ]
	[ "$output" = "redlock: fencing number 4 is too old: '$T/store' has seen 5" ]
	run gate --fence 5 -- echo again
	[ "$output" = again ]
	REDLOCK_FENCE=6 run gate -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run gate --fence 5 -- touch "$T/never"
	[ "$status" -eq 76 ]
	[ "$(cat "$T/store")" = 6 ]
	not test -e "$T/never"
}

@test "gate: with a number or store that it cannot read or write, it runs no command, and keeps the number" {
	run gate --fence 5 -- true
	for text in "" junk "5 6" 99999999999999999999 -1 9007199254740992; do
		echo "$text" > "$T/store"
		run gate --fence 9 -- touch "$T/never"
		[ "$status" -eq 78 ]
		[ "${lines[0]}" = "redlock: --store '$T/store' has no fencing number in it" ]
	done
	for no in no/store store/store; do
		run redlock gate --fence 9 --store "$T/$no" -- touch "$T/never"
		[ "$status" -eq 78 ]
	done
	for bad in "" 0 -1 x 1.5 9999999999999999999999 9007199254740992; do
		run gate --fence "$bad" -- touch "$T/never"
		[ "$status" -eq 64 ]
	done
	run redlock gate --store "$T/store" -- touch "$T/never"
	[ "$status" -eq 64 ]
	run redlock gate --fence 9 -- touch "$T/never"
	[ "$status" -eq 64 ]
	run gate --fence 9
	[ "$status" -eq 64 ]
	echo 5 > "$T/store"
	run -127 gate --fence 9 -- "$T/nothing"
	not test -e "$T/never"
	run -0 gate --fence 9007199254740991 -- echo "the largest"
	# no control character of a path reaches the terminal
	run -78 redlock gate --fence 9 --store "$T/"$'\033[2J/store' -- touch "$T/never"
	[ "$output" = "redlock: cannot open --store '$T/\x1b[2J/store': No such file or directory" ]
}

# of_another NAME: the directory $D of another user.
of_another() { D=$T/$1 && install -d -o 65534 "$D"; }
# gate_there ARG...: gate with its store there; it is never slow.
gate_there() { timeout 30 "$REDLOCK_BUILD/redlock" gate -w 0 --store "$D/store" --fence "$@"; }

# lock_by_hand FILE: a process LOCKER locks it.
lock_by_hand() {
	bash -c 'exec 9<> "$0" && flock 9 && echo locked && exec sleep 60' "$1" > "$T/locker" 3>&- &
	LOCKER=$!
	also_end "$LOCKER"
	eventually file_has "$T/locker" locked
}

@test "gate: in a directory of another user, root follows no symbolic link and waits for no pipe" {
	needs users
	of_another theirs
	echo precious > "$T/victim"
	for name in store.new store.lock store.tmp; do ln -s "$T/victim" "$D/$name"; done
	run -0 gate_there 5 -- echo five
	run -0 gate_there 6 -- echo six
	[ "$output $(cat "$D/store")" = "six 6" ]
	rm "$D/store"
	for made in victim made; do
		ln -sfn "$T/$made" "$D/store"
		run -78 gate_there 7 -- touch "$T/never"
		[ "$output" = "redlock: cannot lock --store '$D/store': it is a symbolic link" ]
	done
	rm "$D/store"
	mkfifo "$D/store"
	run -78 gate_there 7 -- touch "$T/never"
	[ "$output" = "redlock: cannot lock --store '$D/store': it is not a regular file" ]
	rm "$D/store"
	mkdir "$D/store"
	run -78 gate_there 7 -- touch "$T/never"
	[ "$output" = "redlock: cannot lock --store '$D/store': Is a directory" ]
	[ "$(cat "$T/victim")" = precious ]
	[ ! -e "$T/made" ]
	[ ! -e "$T/never" ]
}

@test "gate: the store is the lock: other users cannot lock it, and no other file is left" {
	mkdir "$T/folder"
	D=$T/folder
	run -0 gate_there 5 -- true
	run -0 gate_there 6 -- true
	[ "$(ls -A "$D")" = store ]
	[ "$(stat -c %a "$D/store")" = 600 ]
	# its owner can, and the wait has a limit
	lock_by_hand "$D/store"
	run -75 gate_there 7 -- touch "$T/never"
	[ "$output" = "redlock: '$D/store' is busy: another command of this gate is still running" ]
	[ ! -e "$T/never" ]
}

@test "gate: a store with another process's lease is busy: opening it does not wait without end" {
	echo 5 > "$T/store"
	D=$T
	python3 -c 'import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
signal.pause()' "$T/store" > "$T/lease" 3>&- &
	also_end $!
	eventually file_has "$T/lease" leased
	run -75 timeout 30 "$REDLOCK_BUILD/redlock" gate -w 100ms --store "$T/store" --fence 6 -- touch "$T/never"
	[ ! -e "$T/never" ]
}

@test "gate: a store that is replaced by hand while a gate waits for it is opened anew" {
	"$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- \
		sh -c 'until [ -e "$0/go" ]; do sleep 0.1; done' "$T" 3>&- &
	first=$!
	also_end $first
	eventually test -s "$T/store"
	"$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 3 -- touch "$T/third" 3>&- &
	third=$!
	also_end $third
	waits_for() { grep -qE -- "-> FLOCK +ADVISORY +WRITE $third [^ ]*:$(stat -c %i "$1") " /proc/locks; }
	eventually waits_for "$T/store"
	echo 2 > "$T/other"
	lock_by_hand "$T/other"
	mv "$T/other" "$T/store"
	touch "$T/go"
	wait $first
	eventually waits_for "$T/store"
	[ ! -e "$T/third" ]
	kill -KILL "$LOCKER"
	wait $third
	[ -e "$T/third" ]
}

@test "gate: a full disk and a read-only folder refuse a newer number, and never lose the old one" {
	needs mounts
	mkdir "$T/small"
	unshare --mount bash -c '
		mount -t tmpfs -o size=8k small "$1/small" && cd "$1/small" || exit 1
		"$0" gate --fence 5 --store store -- true || exit 2
		cat /dev/zero > filler 2> "$1/full"
		"$0" gate --fence 6 --store store -- touch "$1/never"; [ $? -eq 78 ] || exit 3
		[ "$(cat store)" = 5 ] || exit 4
		"$0" gate --fence 5 --store store -- true || exit 5
		rm filler
		mount -o remount,ro "$1/small"
		"$0" gate --fence 7 --store store -- touch "$1/never"; [ $? -eq 78 ] || exit 6
		[ "$(cat store)" = 5 ] || exit 7' "$REDLOCK_BUILD/redlock" "$T"
	not test -e "$T/never"
}

@test "gate: a newer command does not begin while an older one is running, though its gate is gone" {
	env -u X "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- \
		sh -c 'sh -c "echo in; until [ -e $0/go ]; do sleep 0.1; done; echo out" & exit 0' "$T" > "$T/log" 3>&- &
	also_end $!
	eventually file_has "$T/log" in
	run gate -n --fence 2 -- echo never
	[ "$status" -eq 75 ]
	run gate -w 100ms -E 9 --fence 2 -- echo never
	[ "$status" -eq 9 ]
	"$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 2 -- sh -c "echo second >> $T/log" 3>&- &
	second=$!
	also_end $second
	touch "$T/go"
	wait $second
	[ "$(tr '\n' ' ' < "$T/log")" = "in out second " ]
	run gate --fence 1 -- echo never
	[ "$status" -eq 76 ]
}

@test "gate: killed at any moment, it leaves the old number or the new one" {
	echo 1 > "$T/store"
	last=1
	for n in $(seq 2 60); do
		# within the first moments, or the first 60 ms
		run timeout --foreground --signal=KILL "$(printf '0.%06d' $((n * n * 16)))" \
			"$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence "$n" -- true
		seen=$(cat "$T/store")
		echo "$last, $n: $seen"
		[ "$seen" = "$n" ] || [ "$seen" = "$last" ]
		last=$seen
	done
	run gate --fence $((last + 1)) -- echo through
	[ "$output" = through ]
	# nor a draft
	[ "$(cd "$T" && echo store*)" = store ]
}

@test "a holder that does not know that it lost its lock is stopped at the gate" {
	export REDLOCK_BUILD T
	in_background "$T/old" run -k job --fence --ttl 6s --node-timeout 900ms --on-lost warn -- sh -c '
		echo up; until [ -e $T/go ]; do sleep 0.1; done
		$REDLOCK_BUILD/redlock gate --store $T/store -- sh -c "echo old >> $T/written"; echo "gate: $?"'
	eventually file_has "$T/old" up
	for i in 1 2 3; do node $i del job > "$T/set"; done
	redlock run -k job --fence -- sh -c '"$0" gate --store "$1/store" -- sh -c "echo new >> $1/written"' "$REDLOCK_BUILD/redlock" "$T"
	eventually file_has "$T/old" "continues without the lock"
	touch "$T/go"
	ended_with 79
	file_has "$T/old" "gate: 76"
	[ "$(cat "$T/written")" = new ]
}
