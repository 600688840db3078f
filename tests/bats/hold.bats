# redlock hold: a lock that is kept in the background, and the events that end it.

load nodes

setup() {
	nodes_start 3
	mkdir -m 700 "$T/runtime"
	export XDG_RUNTIME_DIR=$T/runtime
	registry=$T/runtime/redlock
	# A lock that is free before then was released. (A slow node may get the release after the background holder ended.)
	export REDLOCK_TTL=10m
	# No node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=5s
	# followed FILE [stubborn]: writes the time to FILE again and again, and the time of a TERM.
	cat > "$T/followed" <<- 'END'
		#!/bin/bash
		trap 'echo "term $EPOCHREALTIME" >> "$1"; [ "$2" = stubborn ] || exit 0' TERM
		trap 'echo "usr1 $EPOCHREALTIME" >> "$1"' USR1
		exec 9<> <(:)
		while :; do
			echo "alive $EPOCHREALTIME" >> "$1"
			read -rt 0.005 -u 9
		done
	END
	chmod +x "$T/followed"
}
teardown() {
	[ -z "${folder-}" ] || also_end_holders "$folder"
	nodes_stop
	[ -z "${folder-}" ] || rm -rf "$folder"
}

# A lock that is extended, or ends, within seconds; its background holder may be stopped for two or three.
BRIEF=(--ttl 8s --node-timeout 2s)

# hold ARG...: redlock hold; sets TOKEN and HOLDER, its pid. The process ends with the test.
hold() {
	local line
	line=$(redlock hold "$@") || return
	read -r TOKEN HOLDER <<< "$line"
	also_end "$HOLDER"
}

# follow FILE [stubborn]: starts such a process; its pid is in FOLLOWED.
follow() {
	rm -f "$1"
	"$T/followed" "$@" > "$T/followed.out" 2>&1 3>&- &
	FOLLOWED=$!
	also_end "$FOLLOWED"
	eventually file_has "$1" alive
}

steal() { for i in 1 2 3; do node "$i" set "$1" rival px 60000 > /dev/null; done; }
left() { node "$1" pttl "$2"; }
now() { echo "${EPOCHREALTIME/./}"; } # in microseconds
is_alive() { not is_gone "$1"; }
nothing_is_listed() { [ "$(redlock hold --list)" = "" ] && [ "$(ls -A "$registry")" = "" ]; }
# has_grown I KEY: the PTTL is longer than at the last call. (A value read right after an extension is the maximum.)
has_grown() {
	local before=$last
	last=$(left "$1" "$2")
	[ "$last" -gt "$before" ]
}

# extended KEY: true once two nodes have extended the key.
extended() {
	local last
	for i in 1 2; do
		last=$(left "$i" "$1")
		eventually has_grown "$i" "$1"
	done
}

# ---- output, and its moment ----

@test "prints token and pid once the lock is held, and keeps it" {
	line=$(redlock hold -k job "${BRIEF[@]}")
	[[ "$line" =~ ^[0-9a-f]{40}\ [0-9]+$ ]]
	read -r token holder <<< "$line"
	also_end "$holder"
	eventually held_on job 3
	[[ "$(node 1 get job)" == "$token:"*"redlock hold" ]]
	is_alive "$holder"
	extended job
	extended job
	eventually held_on job 3
	run -0 redlock check -k job --token "$token"
	run -75 redlock run -n -k job -- true
	run -0 redlock release -k job
	free_everywhere job
	is_gone "$holder"
	nothing_is_listed
}

@test "prints nothing while another client holds the lock" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	"$REDLOCK_BUILD/redlock" hold -k job > "$T/out" 2> "$T/err" 3>&- &
	BG=$!
	also_end "$BG"
	eventually file_has "$T/err" "waiting: 'job' is held by"
	[ ! -s "$T/out" ]
	touch "$T/go"
	ended_with 0
	read -r token holder < "$T/out"
	eventually held_on job 3
	[[ "$(node 1 get job)" == "$token:"* ]]
	redlock release -k job
	is_gone "$holder"
}

# A node that has not read the release of the holder before refuses the next one, whose majority are the others.
@test "a node that refused gets the key long before the first extension" {
	node 3 set job rival px 600000
	hold -k job
	[ "$(node 3 get job)" = rival ]
	node 3 del job
	eventually held_on job 3
	redlock release -k job
	free_everywhere job
	# the same in a run
	node 3 set job rival px 600000
	in_background "$T/run" run -k job -- sh -c "touch $T/runs; until [ -e $T/go ]; do sleep 0.1; done"
	eventually test -e "$T/runs"
	[ "$(node 3 get job)" = rival ]
	node 3 del job
	eventually held_on job 3
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

@test "--format env is for eval: check and release find all that they need" {
	eval "$(redlock hold -k "it's a job" --format env)"
	also_end "$REDLOCK_HOLDER_PID"
	[ "$REDLOCK_KEY" = "it's a job" ]
	is_alive "$REDLOCK_HOLDER_PID"
	redlock check
	redlock release
	is_gone "$REDLOCK_HOLDER_PID"
	free_everywhere "it's a job"
}

@test "--json prints one document, also for a lock that was not acquired" {
	run -0 --separate-stderr redlock hold -k job --json
	[ "${#lines[@]}" -eq 1 ]
	holder=$(sed 's/.*"holder_pid":\([0-9]*\).*/\1/' <<< "$output")
	also_end "$holder"
	is_alive "$holder"
	[[ "$output" == *'"command":"hold","key":"job","outcome":"acquired","status":0,"token":"'* ]]
	run -0 redlock hold --list --json
	[[ "$output" == *'"holds":[{"key":"job","token":"'*'","holder_pid":'"$holder"',"since":"20'*'Z"}]}' ]]
	run -75 --separate-stderr redlock hold -n -k job --json
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *'"outcome":"busy","status":75,'* ]]
	redlock release -k job
	run -0 redlock hold --list --json
	[[ "$output" == *'"holds":[]}' ]]
}

@test "--list shows all locks, so it takes no key; one in the configuration file is for other calls" {
	redlock hold -k job > "$T/held"
	also_end "$(cut -d ' ' -f 2 "$T/held")"
	for key in job other; do
		says 64 '' "redlock: --list cannot be combined with a key?hint: leave the key out*" hold --list -k "$key"
		says 64 '' "redlock: --list cannot be combined with a key?hint: leave the key out*" hold "$key" --list
	done
	echo 'key = other' > "$T/config"
	says 0 "'job' since *" '' hold --list --config "$T/config"
	redlock release job
}

@test "two readers of one key: the hint names the list with their tokens, and one of these releases one" {
	for n in 1 2; do
		redlock hold -s -k job > "$T/held.$n"
		also_end "$(cut -d ' ' -f 2 "$T/held.$n")"
	done
	says 64 '' "redlock: ambiguous lock 'job': several background holders have it
hint: name it with --token, * 'redlock hold --list --json' shows what is held here, with the tokens" release job
	token=$(redlock hold --list --json | jq -r '.holds[0].token')
	says 0 '' '' release job --token "$token"
	says 0 '' '' release job
	nothing_is_listed
}

@test "statuses as with run: busy, no quorum, configuration, usage" {
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	run -75 redlock hold -n -k job
	[[ "$output" == "redlock: 'job' is busy: held by "* ]]
	run -3 redlock hold -w 50ms -E 3 -k job
	run -64 redlock hold
	run -64 redlock hold -k job --follow none
	[[ "${lines[0]}" == "redlock: --follow 'none' is not the number of a process" ]]
	run -64 redlock hold -k job -- true
	run -64 redlock hold -k job --signal none --follow $$
	run -78 redlock hold -k job --nodes "unix://$T/1.sock unix://$T/1.sock unix://$T/2.sock"
	kill_node 1
	kill_node 2
	run -69 redlock hold -w 0 -k other
	free_everywhere other
	nothing_is_listed
}

# ---- events that end it ----

@test "TERM to the background holder releases" {
	hold -k job
	kill -TERM "$HOLDER"
	eventually is_gone "$HOLDER"
	free_everywhere job
	nothing_is_listed
}

@test "TERM ends the background holder even if the caller ignores TERM" {
	read -r token holder <<< "$(bash -c "trap '' TERM INT HUP; '$REDLOCK_BUILD/redlock' hold -k job")"
	also_end "$holder"
	eventually held_on job 3
	kill -TERM "$holder"
	eventually is_gone "$holder"
	free_everywhere job
}

@test "release of a hold: its background holder has connections, and this process gets none" {
	for i in 1 2 3; do node $i acl setuser app on '>old' '~*' '&*' +@all > "$T/acl"; done
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=old
	redlock hold -k job
	for i in 1 2 3; do node $i acl setuser app resetpass '>new' > "$T/acl"; done
	says 0 '' '' release -k job
	free_everywhere job
	REDLOCK_PASSWORD=new redlock hold -k job
	for i in 1 2 3; do node $i acl setuser app -@all > "$T/acl"; done
	# neither process can release it
	REDLOCK_PASSWORD=new run -69 redlock release -k job
	held_on job 3
}

@test "release finds the lock by key, and by key and token" {
	hold -k job
	run -0 redlock release -k job
	[ "$output" = "" ]
	free_everywhere job
	is_gone "$HOLDER"
	hold -k job
	run -0 redlock release -k job --token "$TOKEN"
	free_everywhere job
	is_gone "$HOLDER"
	# no lock is left to release
	run -64 redlock release -k job
	[[ "${lines[0]}" == "redlock: missing token: no background holder of this user has 'job'" ]]
	run -79 redlock release -k job --token "$TOKEN"
}

@test "release with some keys of a hold names all of them" {
	hold -k one -k two -k three
	for keys in one two 'three -k one'; do
		run -64 redlock release -k $keys
		[[ "${lines[0]}" == "redlock: missing token: no background holder of this user has '"* ]]
		[ "${lines[1]}" = "hint: a background holder has 'one', 'three', 'two': name each of them with -k" ]
	done
	for keys in other 'one -k other'; do
		run -64 redlock release -k $keys
		[[ "${lines[1]}" == "hint: name it with --token, "* ]]
	done
	run -0 redlock release -k one -k two -k three
	free_everywhere two
}

# drop KEY: deletes redlock's key on all nodes.
drop() { for i in 1 2 3; do node "$i" del "$1" > /dev/null; done; }

@test "release of a lock that was broken while its background holder lives: 79, gone or taken" {
	hold -k job
	eventually held_on job 3
	drop job
	run -79 redlock release -k job
	[ "$output" = "redlock: 'job' is no longer held by this token: it has expired or was released" ]
	is_gone "$HOLDER"
	nothing_is_listed
	# also by token
	hold -k job
	eventually held_on job 3
	steal job
	run -79 --separate-stderr redlock release --json -k job --token "$TOKEN"
	json '.outcome == "foreign" and .status == 79'
	is_gone "$HOLDER"
	nothing_is_listed
	# one node of three is no majority
	drop job
	hold -k job
	eventually held_on job 3
	node 1 del job
	run -0 redlock release -k job
	free_everywhere job
	nothing_is_listed
}

@test "release of a lock after its background holder noticed the loss and ended: 79, once" {
	hold -k job "${BRIEF[@]}"
	drop job
	eventually is_gone "$HOLDER"
	[ "$(redlock hold --list)" = "" ]
	run -79 redlock release -k job
	[ "$output" = "redlock: 'job' is no longer held by this token: it has expired or was released" ]
	run -64 redlock release -k job
	nothing_is_listed
	# by token; and a slot by its own
	hold -k job --limit 2 "${BRIEF[@]}"
	one=$TOKEN slot=${TOKEN##*#}
	drop "job#$slot"
	eventually is_gone "$HOLDER"
	hold -k job --limit 2 --ttl 10m
	run -79 redlock release -k job --slot "$slot" --limit 2 --token "$one"
	run -0 redlock release -k job
	nothing_is_listed
}

@test "a lock that was lost because no majority answered: release ends with 79, whichever nodes answer" {
	hold -k job "${BRIEF[@]}"
	for i in 1 2 3; do kill_node $i; done
	eventually is_gone "$HOLDER"
	run -79 redlock release -k job
	[ "$output" = "redlock: 'job' was lost before the release: the background holder's log says why" ]
	run -64 redlock release -k job
	nothing_is_listed
}

@test "the record of a loss disappears with the next hold of the lock, and after a day" {
	hold -k job "${BRIEF[@]}"
	drop job
	eventually is_gone "$HOLDER"
	hold -k other
	[ "$(ls "$registry" | wc -l)" = 2 ]
	hold -k job
	run -0 redlock release -k job
	run -64 redlock release -k job
	redlock release -k other
	nothing_is_listed
	hold -k job "${BRIEF[@]}"
	drop job
	eventually is_gone "$HOLDER"
	touch -d '1 day ago' "$registry"/lost.*
	run -64 redlock release -k job
	nothing_is_listed
}

@test "the followed process ends, by any cause: the lock is free long before its TTL ends" {
	for signal in KILL TERM; do
		follow "$T/stamps"
		hold -k job --follow "$FOLLOWED"
		eventually held_on job 3
		kill "-$signal" "$FOLLOWED"
		run -0 redlock run -w 30s -k job -- true
		eventually is_gone "$HOLDER"
		nothing_is_listed
	done
}

@test "a shell follows itself by \$\$, and leaves nothing when it is done" {
	export T N
	export_helpers
	bash -c "'$REDLOCK_BUILD/redlock' hold -k job --follow \$\$ > '$T/held'
		eventually held_on job 3
		node 1 get job > '$T/value'
		'$REDLOCK_BUILD/redlock' hold --list > '$T/list'
		echo \$\$ > '$T/shell'"
	read -r token holder < "$T/held"
	also_end "$holder"
	# status names the shell as the holder
	[[ "$(cat "$T/value")" == "$token:"*":$(cat "$T/shell") redlock hold" ]]
	[[ "$(cat "$T/list")" =~ ^"'job' since 20"[0-9TZ:-]+" by process $holder, following $(cat "$T/shell")"$ ]]
	run -0 redlock run -w 30s -k job -- true
	eventually is_gone "$holder"
	nothing_is_listed
}

@test "--max-run: the lock is released when that time is over" {
	hold -k job --max-run 300ms
	eventually is_gone "$HOLDER"
	free_everywhere job
	nothing_is_listed
	hold -k job --max-run 0
	run -75 redlock run -w 500ms -k job -- true
	is_alive "$HOLDER"
}

@test "--max-run with --follow: TERM, then KILL; the lock is held until then" {
	follow "$T/stamps" stubborn
	hold -k job --kill-after 4s --max-run 300ms --record "$T/record" --follow "$FOLLOWED"
	eventually held_on job 0
	is_gone "$FOLLOWED"
	file_has "$T/stamps" term
	eventually is_gone "$HOLDER"
	[ "$(jq -r .killed "$T/record")" = true ]
	# a process that ends at TERM has time to clean up
	follow "$T/stamps"
	hold -k job --max-run 300ms --record "$T/record" --follow "$FOLLOWED"
	eventually is_gone "$FOLLOWED"
	eventually is_gone "$HOLDER"
	[ "$(tail -n 1 "$T/record" | jq -r .killed)" = false ]
	[[ "$(tail -n 1 "$T/stamps")" == term* ]]
	wait "$FOLLOWED"
	eventually held_on job 0
}

# ---- the lock is lost ----

@test "its nodes die: the followed process gets TERM, then KILL, before the keys expire on a majority" {
	follow "$T/stamps" stubborn
	# With that drift, KILL is sent so early that neither its sender nor the process that writes the time must be fast.
	hold -k job --ttl 15s --node-timeout 500ms --drift-factor 0.34 --kill-after 2500ms --follow "$FOLLOWED"
	extended job
	# Right after an extension: the next one is seconds away, and the PTTLs on the nodes are final.
	for try in {1..20}; do
		before=$(now)
		ends=()
		for i in 1 2 3; do ends+=($((before + 1000 * $(left "$i" job)))); done
		((ends[0] - before > 13000000 && ends[1] - before > 13000000 && $(now) - before < 1000000)) && break
		extended job
	done
	kill_node 1
	kill_node 2
	eventually is_gone "$FOLLOWED"
	eventually is_gone "$HOLDER"
	end=$(printf '%s\n' "${ends[@]}" | sort -n | sed -n 2p)
	term=$(awk '$1 == "term" { print $2 }' "$T/stamps")
	last=$(tail -n 1 "$T/stamps")
	last=${last#* }
	echo "term ${term/./} last ${last/./} end $end"
	[ -n "$term" ]
	((${last/./} < end))
	# it had the promised time, apart from the delays of a busy machine
	((${last/./} - ${term/./} > 300000))
	wait_status=0
	wait "$FOLLOWED" || wait_status=$?
	[ "$wait_status" -eq 137 ]
	[ "$(redlock hold --list)" = "" ]
}

@test "a loss that a node reports is passed on at once: TERM, and no KILL for a process that ends" {
	follow "$T/stamps"
	hold -k job "${BRIEF[@]}" --kill-after 2s --follow "$FOLLOWED"
	steal job
	eventually is_gone "$FOLLOWED"
	wait "$FOLLOWED"
	[[ "$(tail -n 1 "$T/stamps")" == term* ]]
	eventually is_gone "$HOLDER"
	[ "$(node 1 get job)" = rival ]
}

@test "--on-lost: another signal, KILL at once, or none" {
	local of_a of_b of_c
	follow "$T/stamps.a" stubborn
	of_a=$FOLLOWED
	hold -k a "${BRIEF[@]}" --kill-after 2s --on-lost USR1 --follow "$of_a"
	follow "$T/stamps.b" stubborn
	of_b=$FOLLOWED
	hold -k b "${BRIEF[@]}" --on-lost kill --follow "$of_b"
	follow "$T/stamps.c"
	of_c=$FOLLOWED
	hold -k c "${BRIEF[@]}" --on-lost warn --follow "$of_c"
	for key in a b c; do steal $key; done
	eventually is_gone "$of_a"
	file_has "$T/stamps.a" usr1
	not file_has "$T/stamps.a" term
	eventually is_gone "$of_b"
	not file_has "$T/stamps.b" term
	not file_has "$T/stamps.b" usr1
	eventually is_gone "$HOLDER"
	is_alive "$of_c"
	not file_has "$T/stamps.c" term
	none_is_listed() { [ "$(redlock hold --list)" = "" ]; }
	eventually none_is_listed
}

@test "without --follow, a lost lock ends the background holder, and no other process" {
	hold -k job "${BRIEF[@]}"
	steal job
	eventually is_gone "$HOLDER"
	[ "$(node 1 get job)" = rival ]
	[ "$(redlock hold --list)" = "" ]
}

@test "a background holder that was stopped past the end of the lock: the followed process is killed without grace" {
	follow "$T/stamps" stubborn
	hold -k job "${BRIEF[@]}" --kill-after 600ms --follow "$FOLLOWED"
	extended job
	kill -STOP "$HOLDER"
	eventually held_on job 0
	is_alive "$FOLLOWED"
	kill -CONT "$HOLDER"
	eventually is_gone "$FOLLOWED"
	not file_has "$T/stamps" term
	eventually is_gone "$HOLDER"
}

@test "a background holder that was stopped for a moment continues" {
	follow "$T/stamps"
	hold -k job --follow "$FOLLOWED"
	kill -STOP "$HOLDER"
	eventually in_state "$HOLDER" T
	kill -CONT "$HOLDER"
	run -75 redlock run -w 300ms -k job -- true
	is_alive "$HOLDER"
	not file_has "$T/stamps" term
}

# ---- end of a wait ----

@test "a signal during the wait ends it, and leaves no key" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually held_on job 3
	for signal in TERM INT HUP; do
		in_background "$T/out.$signal" hold -k job
		eventually file_has "$T/out.$signal" "waiting: "
		kill "-$signal" "$BG"
		ended_with $((128 + $(kill -l $signal)))
	done
	touch "$T/go"
	BG=$holder
	ended_with 0
	free_everywhere job
	nothing_is_listed || [ ! -e "$registry" ]
}

@test "the followed process ends during the wait: 79, and no key" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually held_on job 3
	follow "$T/stamps"
	"$REDLOCK_BUILD/redlock" hold -k job --json --follow "$FOLLOWED" > "$T/out" 2> "$T/err" 3>&- &
	BG=$!
	also_end "$BG"
	eventually file_has "$T/err" "waiting"
	kill -KILL "$FOLLOWED"
	ended_with 79
	file_has "$T/err" "cannot acquire 'job': process $FOLLOWED (--follow) has ended"
	file_has "$T/out" '"outcome":"interrupted","status":79,'
	touch "$T/go"
	BG=$holder
	ended_with 0
	free_everywhere job
}

@test "--follow of a missing process, or of one that may not be signalled: 64 and one clear line" {
	sleep 60 3>&- &
	gone=$!
	kill -KILL "$gone"
	wait "$gone" || true
	run -64 redlock hold -k job --follow "$gone"
	[ "${lines[0]}" = "redlock: cannot follow process $gone: no such process" ]
	[ "${lines[1]}" = "hint: '--follow \$\$' follows the shell that calls redlock" ]
	# a zombie has ended, though its number is still in use
	bash -c 'sleep 600 & echo $! > "$0"; exec sleep 600' "$T/zombie" 3>&- &
	parent=$!
	also_end "$parent"
	eventually file_has "/proc/$parent/comm" sleep # the parent, which waits for no child
	zombie=$(cat "$T/zombie")
	kill -KILL "$zombie"
	eventually in_state "$zombie" Z
	run -64 redlock hold -k job --follow "$zombie"
	[ "$output" = "redlock: cannot follow process $zombie: it has ended" ]
	# a thread is no process
	"$REDLOCK_BUILD/tools/headless" "$T/headless" 3>&- &
	also_end $!
	eventually test -s "$T/headless"
	thread=$(ls "/proc/$!/task" | grep -vx $! | tail -n 1)
	run -64 redlock hold -k job --follow "$thread"
	[ "${lines[0]}" = "redlock: cannot follow process $thread: no such process" ]
	free_everywhere job
	[ ! -e "$registry" ]
}

# nobody ARG...: redlock ARG... as user nobody, with its own registry.
nobody() {
	[ -d "$T/nobody" ] || {
		chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$T"
		chmod 777 "$T"/*.sock
		mkdir -m 700 "$T/nobody"
		chown 65534:65534 "$T/nobody"
	}
	XDG_RUNTIME_DIR=${RUNTIME:-$T/nobody} setpriv --reuid=65534 --regid=65534 --clear-groups "$REDLOCK_BUILD/redlock" "$@"
}

@test "--follow of another user's process: refused, except with --on-lost warn" {
	needs users
	run -64 nobody hold -k job --follow $$
	[ "${lines[0]}" = "redlock: cannot send signals to process $$: no permission" ]
	[ "${lines[1]}" = "hint: with --on-lost warn, the process gets no signal when the lock is lost" ]
	run -64 nobody hold -k job --on-lost warn --max-run 1h --follow $$
	free_everywhere job
	run -0 --separate-stderr nobody hold -k job --on-lost warn --follow $$
	also_end "${output#* }"
	eventually held_on job 3
	nobody release -k job
	free_everywhere job
}

@test "another user cannot release it" {
	needs users
	hold -k job
	RUNTIME=$T/runtime run -64 nobody release -k job
	[[ "${lines[0]}" == "redlock: missing token: no background holder of this user has 'job'" ]]
	run -64 nobody release -k job
	RUNTIME=$T/runtime run -0 nobody hold --list
	[ "$output" = "" ]
	eventually held_on job 3
	is_alive "$HOLDER"
}

# ns_last_pid, in a new pid namespace, determines the next pid
@test "another process with the pid of the followed one is left alone" {
	needs mounts pids
	cat > "$T/reuse" <<- 'END'
		sleep 600 & first=$!
		read -r token holder <<< "$("$REDLOCK_BUILD/redlock" hold -k job --ttl 4s --node-timeout 1s --follow $first)"
		kill -STOP "$holder"
		kill -KILL $first; wait $first
		eventually held_on job 0
		echo $((first - 1)) > /proc/sys/kernel/ns_last_pid
		sleep 600 & second=$!
		echo "first $first second $second"
		[ $first = $second ] || exit 99
		kill -CONT "$holder"
		eventually is_gone "$holder"
		is_gone $second || echo alive
	END
	export T N REDLOCK_BUILD
	export_helpers
	run -0 unshare --pid --fork --mount-proc bash "$T/reuse" 2> "$T/err" 3>&-
	[ "${lines[-1]}" = alive ]
}

# ---- the background holder keeps nothing of the caller's, and leaves nothing of its own ----

# valgrind keeps its own descriptors
# bats test_tags=not-under-valgrind
@test "the background holder has no descriptor of the caller" {
	exec 5< "$T/followed" 6> "$T/err" 7> "$T/seven"
	for fd in 5 6 7; do flock $fd; done
	hold -k job <&5 2>&6
	not is_closed "$T/seven"
	exec 5<&- 6>&- 7>&-
	for name in followed err seven; do eventually is_closed "$T/$name"; done
	is_alive "$HOLDER"
	[ "$(ps -o sid= -p "$HOLDER" | tr -d ' ')" = "$HOLDER" ]
}

# bats test_tags=not-under-valgrind
@test "the background holder has no working directory of the caller, and no pipe or terminal" {
	needs look_inside
	mkdir "$T/here"
	cd "$T/here"
	hold -k job 2> "$T/err"
	[ "$(readlink "/proc/$HOLDER/cwd")" = / ]
	ls -l "/proc/$HOLDER/fd" > "$T/fds"
	file_has "$T/fds" "$registry/$HOLDER"
	for name in err pipe: pts tty; do
		not file_has "$T/fds" "$name"
	done
}

@test "a step of a job that waits for the end of its pipes ends" {
	follow "$T/stamps"
	timeout 20 bash -c "{ '$REDLOCK_BUILD/redlock' hold -v -k job --follow $FOLLOWED; } 2>&1 7>&1 | cat" > "$T/out" 3>&-
	read -r token holder < <(grep -v : "$T/out")
	also_end "$holder"
	eventually held_on job 3
	kill -KILL "$FOLLOWED"
	wait "$FOLLOWED" 2> "$T/kill" || true
	free_everywhere job
}

# bats test_tags=not-under-valgrind
@test "too few descriptors: hold is refused and keeps no lock, or it closes the pipes of its caller" {
	local all most refused='' held=''
	all=$(printf ' %s>&-' {3..20}) # bats has some open
	for most in {7..16}; do
		# cat ends when the last writer has closed the pipe
		bash -c "exec $all; ulimit -n $most; exec '$REDLOCK_BUILD/redlock' hold -n -k held$most" 2>&1 |
			timeout 40 cat > "$T/out.$most"
		if file_has "$T/out.$most" '^redlock: '; then
			refused=yes
			free_everywhere "held$most"
		else
			held=yes
			says 0 '*' '*' release -k "held$most"
		fi
	done
	[ "$refused" ]
	[ "$held" ]
}

@test "too few descriptors for the registry: no other folder is tried" {
	needs users
	new_user
	chown "$uid" "$T/runtime"
	local all most refused=''
	all=$(printf ' %s>&-' {3..20})
	for most in {4..12}; do
		run bash -c "exec $all; ulimit -n $most; exec setpriv --reuid=$uid --regid=$uid --clear-groups \
			'$REDLOCK_BUILD/redlock' hold -n -k job$most"
		[ ! -e "$folder" ]
		[[ "$output" != "redlock: cannot register the lock: Too many open files"* ]] || refused=yes
	done
	[ "$refused" ]
}

@test "hold keeps no lock that it cannot print: stdout closed, full, or without a reader" {
	run -125 bash -c "'$REDLOCK_BUILD/redlock' hold -k job >&-"
	[[ "$output" == "redlock: cannot write to stdout: "* ]]
	free_everywhere job
	run -125 bash -c "'$REDLOCK_BUILD/redlock' hold -k job > /dev/full"
	free_everywhere job
	mkfifo "$T/pipe"
	exec 8<> "$T/pipe" 9> "$T/pipe" 8>&-
	run -125 bash -c "'$REDLOCK_BUILD/redlock' hold -k job >&9"
	exec 9>&-
	free_everywhere job
	eventually nothing_is_listed
}

@test "killed before it could print: no lock stays held without a known token" {
	mkfifo "$T/pipe"
	exec 8<> "$T/pipe"
	dd if=/dev/zero of="$T/pipe" bs=4096 oflag=nonblock 2> "$T/dd" || true
	# it blocks while it prints, with a background holder
	"$REDLOCK_BUILD/redlock" hold -k job > "$T/pipe" 2> "$T/err" 3>&- 8>&- &
	BG=$!
	also_end "$BG"
	is_listed() { [ "$(redlock hold --list)" != "" ]; }
	eventually is_listed
	eventually held_on job 3
	kill -KILL "$BG"
	free_everywhere job
	eventually nothing_is_listed
	exec 8>&-
}

@test "stdin closed, or all three standard streams" {
	read -r token holder <<< "$(redlock hold -k job <&-)"
	also_end "$holder"
	eventually held_on job 3
	redlock release -k job <&-
	free_everywhere job
	run -125 bash -c "'$REDLOCK_BUILD/redlock' hold -k job <&- >&- 2>&-"
	free_everywhere job
}

# new_user: a user $uid without a registry in /tmp; $folder is its future place. It does not outlast the test.
new_user() {
	uid=$((1000000 + BASHPID % 100000))
	folder=/tmp/redlock-$uid
	[ ! -e "$folder" ]
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$T"
	chmod 777 "$T"/*.sock
}

as_new_user() { setpriv --reuid=$uid --regid=$uid --clear-groups "$REDLOCK_BUILD/redlock" "$@"; }

@test "without XDG_RUNTIME_DIR the registry is in /tmp, private, and empty when all holds have ended" {
	needs users
	new_user
	unset XDG_RUNTIME_DIR
	run -0 --separate-stderr as_new_user hold -k job
	holder=${output#* }
	also_end "$holder"
	[ "$(stat -c '%a %u' "$folder")" = "700 $uid" ]
	[ "$(ls -A "$folder")" = "$holder" ]
	kill -TERM "$holder"
	eventually is_gone "$holder"
	rmdir "$folder" # fails unless the folder is empty
}

@test "a registry in /tmp that another user made, or that is a symbolic link: no lock is held, 125" {
	needs users
	new_user
	unset XDG_RUNTIME_DIR
	install -d -m 700 -o "$uid" "$T/elsewhere"
	for how in "install -d -m 700 -o 65534" "install -d -m 777 -o $uid" "ln -s $T/elsewhere" "install -m 600 -o $uid /dev/null"; do
		$how "$folder"
		run -125 as_new_user hold -k job
		rm -rf "$folder"
		[ "${lines[0]}" = "redlock: cannot register the lock: '$folder': not a private directory of this user" ]
		[ "${lines[1]}" = "hint: set XDG_RUNTIME_DIR to a directory of this user with mode 0700" ]
		held_on job 0
	done
	[ "$(ls -A "$T/elsewhere")" = "" ]
}

@test "root's registry is in /run without XDG_RUNTIME_DIR, where no other user can create it" {
	needs mounts users
	[ "$(id -u)" -eq 0 ]
	mkdir "$T/run"
	# nor does root use another user's directory
	install -d -m 700 -o 65534 "$registry"
	run -0 unshare --mount bash -c '
		mount --bind "$1/run" /run && cd / || exit 1
		read -r token holder < <("$0" hold -k job)
		"$0" hold --list; stat -c %a /run/redlock; ls -A /run/redlock
		"$0" release -k job' "$REDLOCK_BUILD/redlock" "$T"
	[[ "${lines[0]}" == "'job' since "*" by process ${lines[2]}" ]]
	[ "${lines[1]}" = 700 ]
	[ "$(ls -A "$registry")" = "" ]
	free_everywhere job
}

# ---- terminals and shells ----

# terminal STEP... -- COMMAND...: with redlock in the PATH.
terminal() {
	mkdir -p "$T/bin"
	ln -sf "$REDLOCK_BUILD/redlock" "$T/bin/redlock"
	cd "$T"
	export PATH=$T/bin:$PATH T N LC_ALL=C TERM=dumb PS1='ready> ' HISTFILE=/dev/null INPUTRC=/dev/null
	export_helpers
	export -f extended left has_grown
	run "$REDLOCK_BUILD/tools/pty" "$@"
	echo "--- $*"
	echo "$output"
}

@test "neither ^C after its return nor the closing of the terminal reaches the background holder" {
	# ^C ends the script, and all processes of its group
	terminal expect:'<held>' send:'\x03' \
		run:'eventually is_gone $(cat script); eventually held_on job 3; extended job; redlock release -k job' \
		-- bash -c "echo \$\$ > script; redlock hold -k job ${BRIEF[*]} > held; echo '<held>'; sleep 60; true"
	[ "$status" -eq 130 ]
	terminal expect:'ready> ' send:"redlock hold -k job ${BRIEF[*]} > held\r" expect:'ready> ' \
		hangup run:'extended job; extended job; eventually held_on job 3; redlock release -k job; eventually held_on job 0' \
		-- bash --norc -i
	[ "$status" -eq 129 ]
	nothing_is_listed
}

@test "the closing of the terminal ends the shell that it follows, and the lock is free" {
	terminal expect:'ready> ' send:'redlock hold -k job --follow $$ > held\r' expect:'ready> ' \
		run:'eventually held_on job 3' hangup run:'eventually held_on job 0' -- bash --norc -i
	[ "$status" -eq 129 ]
	eventually nothing_is_listed
}

@test "HUP and other signals do not end the background holder" {
	hold -k job "${BRIEF[@]}"
	for signal in HUP QUIT USR1 USR2 PIPE ALRM CONT WINCH; do
		kill "-$signal" "$HOLDER"
	done
	extended job
	is_alive "$HOLDER"
}

@test "^C during the wait for the lock" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	terminal expect:'waiting: ' send:'\x03' -- redlock hold -k job
	[ "$status" -eq 130 ]
	touch "$T/go"
	ended_with 0
	free_everywhere job
}

# ---- several ----

@test "two holds of different keys, each released alone" {
	hold -k a
	a=$HOLDER
	hold -k b
	b=$HOLDER
	[ "$(redlock hold --list | sed "s/ since.*//" | sort | tr '\n' ' ')" = "'a' 'b' " ]
	redlock release -k a
	is_gone "$a"
	is_alive "$b"
	free_everywhere a
	eventually held_on b 3
	redlock release -k b
	free_everywhere b
}

@test "one key on two sets of nodes: release takes the lock on its own nodes" {
	hold -k job --nodes "unix://$T/1.sock"
	one=$HOLDER
	hold -k job --nodes "unix://$T/2.sock"
	two=$HOLDER
	says 64 '' "redlock: missing token: the background holder of 'job' uses other nodes?hint: give the same --nodes *" release -k job
	redlock release -k job --nodes "unix://$T/2.sock"
	is_gone "$two"
	is_alive "$one"
	held_on job 1
	# the nodes in another order are the same nodes
	hold -k set --nodes "unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	redlock release -k set --nodes "unix://$T/3.sock unix://$T/1.sock unix://$T/2.sock"
	is_gone "$HOLDER"
	is_alive "$one"
}

# bats test_tags=not-under-qemu
@test "release in a sandbox leaves the lock of other nodes alone" {
	hold -k job
	run -64 redlock sandbox -- sh -c "'$REDLOCK_BUILD/redlock' release -k job"
	is_like "$output" "*redlock: missing token: the background holder of 'job' uses other nodes?hint: *"
	is_alive "$HOLDER"
	eventually held_on job 3
}

@test "thirty at once on one key: exactly one gets it" {
	pids=()
	for i in {1..30}; do
		"$REDLOCK_BUILD/redlock" hold -n -k job > "$T/out.$i" 2> "$T/err.$i" 3>&- &
		pids+=($!)
		also_end $!
	done
	held=0
	for i in {1..30}; do
		status=0
		wait "${pids[i - 1]}" || status=$?
		case $status in
		0) held=$((held + 1)) ;;
		75) [ ! -s "$T/out.$i" ] ;;
		*) echo "status $status" && false ;;
		esac
	done
	[ "$held" -eq 1 ]
	[ "$(cat "$T"/out.* | wc -l)" -eq 1 ]
	# (a node that a loser still held when the winner asked is repaired by the extension)
	[ "$(holders job)" -ge 2 ]
	redlock release -k job
	free_everywhere job
}

# ---- within a run ----

@test "under a run: the lock is kept until the command ends, and is not reported as left over" {
	export T N
	export_helpers
	run -0 --separate-stderr redlock run -k outer -- bash -c "'$REDLOCK_BUILD/redlock' hold -k inner --follow \$\$ > '$T/held'
		eventually held_on inner 3; node 1 exists inner"
	[ "$output" = 1 ]
	free_everywhere inner
	eventually nothing_is_listed
	# the run's own key is not listed
	run -75 redlock run -k outer -- "$REDLOCK_BUILD/redlock" hold -k outer
	[ "$output" = "redlock: 'outer' is held by a run that this one is part of" ]
}

@test "under a run that loses its lock: the background holder is part of the tree, and releases" {
	in_background "$T/out" run -k outer "${BRIEF[@]}" -- bash -c "'$REDLOCK_BUILD/redlock' hold -k inner; sleep 60"
	eventually held_on inner 3
	steal outer
	ended_with 79
	free_everywhere inner
	eventually nothing_is_listed
}

# ---- the registry ----

@test "a background holder that was killed: not listed, its file removed, and its token still releases" {
	hold -k job
	[ -s "$registry/$HOLDER" ]
	kill -KILL "$HOLDER"
	eventually is_gone "$HOLDER"
	[ "$(redlock hold --list)" = "" ]
	[ ! -e "$registry/$HOLDER" ]
	eventually held_on job 3
	run -64 redlock release -k job
	run -0 redlock release -k job --token "$TOKEN"
	free_everywhere job
}

@test "a registry that other users may write to, or that is a symbolic link, is skipped" {
	needs users
	new_user
	install -d -m 700 -o "$uid" "$T/elsewhere"
	chown "$uid" "$T/runtime"
	for how in "ln -s $T/elsewhere" "install -d -m 770 -o $uid" "install -m 600 -o $uid /dev/null" "install -d -m 700 -o 65534"; do
		$how "$registry"
		run -0 --separate-stderr as_new_user hold -k job
		read -r token holder <<< "$output"
		also_end "$holder"
		[ "$stderr" = "" ]
		[ "$(ls -A "$folder")" = "$holder" ]
		run -0 as_new_user hold --list
		[[ "$output" == *" by process $holder" ]]
		as_new_user release -k job
		free_everywhere job
		eventually is_gone "$holder"
		rm -rf "$registry"
		rmdir "$folder"
	done
	[ "$(ls -A "$T/elsewhere")" = "" ]
}

@test "a lock is not kept if its registry entry cannot be written" {
	needs mounts
	run -125 unshare --mount bash -c '
		mount -t tmpfs -o nr_inodes=2 small "$1/runtime" || exit 1
		exec "$0" hold -k job' "$REDLOCK_BUILD/redlock" "$T"
	[ "${lines[0]}" = "redlock: cannot register the lock: No space left on device" ]
	free_everywhere job
}

@test "no folder for the registry: the message says why, and the hint names the variable" {
	needs mounts
	cp "$REDLOCK_BUILD/redlock" "$T/redlock"
	run -125 unshare --mount bash -c '
		mount -t tmpfs -o ro small /run && mount --bind "$1" /mnt && mount -t tmpfs -o ro small /tmp || exit 1
		XDG_RUNTIME_DIR=/none REDLOCK_NODES=/mnt/1.sock exec /mnt/redlock hold -k job' bash "$T"
	[ "${lines[0]}" = "redlock: cannot register the lock: '/tmp/redlock-$EUID': Read-only file system" ]
	[ "${lines[1]}" = "hint: set XDG_RUNTIME_DIR, now '/none', to a directory of this user with mode 0700" ]
	held_on job 0
}

@test "foreign files in the registry are not shown, not changed, and do no harm" {
	hold -k job
	id=0123456789abcdef0123456789abcdef01234567
	# (no process has such a number)
	echo "int main;" > "$registry/main.c"
	echo nonsense > "$registry/99999991"
	printf '99999992 0 0 %s\nother' $id > "$registry/99999992"
	printf '99999990 0 1 1700000000 %s 1 1 1\nother' $id | tee "$registry/99999993" > "$registry/note"
	printf '99999994 0 1 1700000000 %s 1 1 1\nother' $id | tee "$T/two" > "$T/one"
	ln "$T/one" "$registry/99999994"
	ln -s /etc/passwd "$registry/99999995"
	mkdir "$registry/99999996"
	mkfifo "$registry/99999997"
	ls -A "$registry" > "$T/before"
	# the files of a killed background holder are removed
	printf '99999998 0 1 1700000000 %s 1 1 1\nother' $id > "$registry/99999998"
	run -0 timeout 30 "$REDLOCK_BUILD/redlock" completion words release -k ''
	[ "$output" = $'words\n\nKEY\njob' ]
	run -0 redlock hold --list
	[[ "$output" == "'job' since "*" by process $HOLDER" ]]
	ls -A "$registry" | diff "$T/before" -
	redlock release -k job
	free_everywhere job
	rm -rf "$registry"/99999*
}

# ---- cost ----

@test "a background holder takes less than 4 MB, and is not woken between extensions" {
	hold -k job
	eventually held_on job 3 # so that no reply is under way
	most=4096
	# a program that watches itself needs more
	[ -z "${REDLOCK_UNDER-}" ] && ! grep -qE '__[at]san_init' "$REDLOCK_BUILD/redlock" || most=400000
	rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$HOLDER/status")
	echo "VmRSS $rss kB"
	[ "$rss" -lt "$most" ]
	# apart from a sanitizer's own
	[ "$(ls "/proc/$HOLDER/task" | wc -l)" -eq 1 ] || grep -q __tsan_init "$REDLOCK_BUILD/redlock"
	wakeups() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$HOLDER/status"; }
	eventually in_state "$HOLDER" S
	before=$(wakeups)
	# other clients ask meanwhile, for a second
	run -75 redlock run -w 1s -k job -- true
	[ "$(wakeups)" -eq "$before" ]
}
