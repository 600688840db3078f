# redlock run: the main job on healthy nodes.

load nodes

setup() { start_nodes 3; }
teardown() { nodes_stop; }

# start_nodes N: as nodes_start. A key that is free before the TTL is over was released; and a node has time to answer
# on a busy machine.
start_nodes() {
	nodes_start "$1"
	export REDLOCK_TTL=10m REDLOCK_NODE_TIMEOUT=5s
	export T N
	export_helpers
}

@test "passes on the command's status, and releases on all nodes" {
	for want in 0 1 7 64 69 75 79 125 126 127 255; do
		run "-$want" redlock run -k job -- sh -c "exit $want"
		[ "$output" = "" ]
		free_everywhere job
	done
}

@test "holds the key on all nodes while the command runs" {
	# (a majority is enough to begin)
	run redlock run -k job -- bash -c 'eventually held_on job 3; for i in 1 2 3; do node $i get job; done'
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	[[ "${lines[0]}" =~ ^[0-9a-f]{40}:.*@.*:[0-9]+\ bash\ -c ]]
	[ "${lines[0]}" = "${lines[1]}" ]
	[ "${lines[0]}" = "${lines[2]}" ]
	free_everywhere job
}

@test "works with one node, with two and with five" {
	for n in 1 2; do
		REDLOCK_NODES=$(printf "unix://$T/%d.sock " $(seq $n))
		run --separate-stderr redlock run -k job -- echo "$n"
		[ "$status" -eq 0 ]
		[ "$output" = "$n" ]
	done
	nodes_stop
	start_nodes 5
	run --separate-stderr redlock run -k job -- echo five
	[ "$status" -eq 0 ]
	[ "$output" = five ]
	free_everywhere job
}

@test "dies of the signal that killed the command" {
	for signal in TERM KILL INT USR1; do
		# bash -c: the shell must see a real death by signal, not a status that looks like one
		run bash -c "'$REDLOCK_BUILD/redlock' run -k job -- sh -c 'kill -$signal \$\$'; echo \$?"
		[ "${lines[-1]}" -eq $((128 + $(kill -l $signal))) ]
		free_everywhere job
	done
	in_background "$T/out" run -k job -- sh -c 'kill -KILL $$'
	ended_with 137
}

@test "stdin and stdout belong to the command: 10 MB each way, to the byte" {
	head -c 10485760 /dev/urandom > "$T/in"
	redlock run -k job -- cat < "$T/in" > "$T/out" 2> "$T/err"
	cmp "$T/in" "$T/out"
	[ ! -s "$T/err" ]
	cat "$T/in" | redlock run -k job -- cat | cmp - "$T/in"
	# the input that the command leaves unread is still there for the next one
	printf 'one\ntwo\n' > "$T/lines"
	{ redlock run -k job -- true; cat; } < "$T/lines" > "$T/rest"
	cmp "$T/lines" "$T/rest"
}

# valgrind keeps its own descriptors
# bats test_tags=not-under-valgrind
@test "the command gets its argv, environment and descriptors" {
	run --separate-stderr redlock run -k job -- printf '[%s]' 'a b' '' '*' '$HOME' -n --
	[ "$output" = '[a b][][*][$HOME][-n][--]' ]
	for ((i = 1; i <= N; i++)); do node "$i" acl setuser hidden on '>hidden' '~*' +@all > "$T/acl"; done
	REDLOCK_PASSWORD=hidden REDLOCK_USERNAME=hidden run redlock run -n -k 'my key' -t 20s -- env
	[[ "$output" == *"REDLOCK_KEY=my key"* ]]
	[[ "$output" == *"REDLOCK_TTL_MS=20000"* ]]
	[[ "$output" == *"REDLOCK_NODES=unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"* ]]
	[[ "$output" =~ REDLOCK_TOKEN=[0-9a-f]{40}: ]]
	[[ "$output" != *hidden* ]]
	# ls finds the same descriptors open as without redlock
	exec 7< /dev/null
	[ "$(redlock run -k job -- ls /proc/self/fd)" = "$(ls /proc/self/fd)" ]
}

@test "the environment's token is the key's value" {
	run redlock run -k job -- bash -c 'eventually held_on job 3; [ "$(node 2 get job)" = "$REDLOCK_TOKEN" ]'
	[ "$status" -eq 0 ]
}

@test "a variable that the caller passes twice: redlock and every command see the first one, with redlock's value" {
	# with_twice NAME COMMAND...: the environment has REDLOCK_NAME=first, and =last after everything else.
	cat > "$T/with_twice" <<- 'EOF'
		import ctypes, os, sys
		def strings(words): return (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words), None)
		name, command = "REDLOCK_" + sys.argv[1], sys.argv[2:]
		rest = [f"{n}={v}" for n, v in os.environ.items() if n != name]
		ctypes.CDLL(None).execve(os.fsencode(command[0]), strings(command),
			strings([f"{name}_2=longer", f"{name}=first", "OTHER=1", *rest, "OTHER=2", f"{name}=last", f"{name}=last"]))
		sys.exit("execve failed")
	EOF
	with_twice() { python3 "$T/with_twice" "$1" "$REDLOCK_BUILD/redlock" "${@:2}"; }
	for shell in bash sh; do
		# shellcheck disable=SC2016
		run -0 with_twice TOKEN run -k job -- $shell -c '"$0" check -k job --token "$REDLOCK_TOKEN"' "$REDLOCK_BUILD/redlock"
	done
	run -0 with_twice TOKEN run -k job -- env
	[ "$(grep -c '^REDLOCK_TOKEN=' <<< "$output")" -eq 1 ]
	grep -qx REDLOCK_TOKEN_2=longer <<< "$output"
	[ "$(grep -c '^OTHER=' <<< "$output")" -eq 2 ]
	# a setting
	# shellcheck disable=SC2016
	run -0 with_twice OWNER run -k job -- bash -c 'echo "$REDLOCK_OWNER"; "$0" status job' "$REDLOCK_BUILD/redlock"
	[[ "$output" == *$'\nfirst\n'*"'job' is held by first since"* && "$output" != *last* ]]
}

@test "-c runs a string with the shell" {
	SHELL=/bin/sh run --separate-stderr redlock run -k job -c 'echo $((1 + 1)); exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = 2 ]
	SHELL= run --separate-stderr redlock run -k job -c 'echo $0'
	[ "$output" = /bin/sh ]
	SHELL=/bin/bash run --separate-stderr redlock run -k job -c 'echo $0'
	[ "$output" = /bin/bash ]
}

@test "-c under an account without a shell: /bin/sh runs the string, and -v says so" {
	printf '#!/bin/sh\n' > "$T/not-executable"
	ln -s /bin/true "$T/nologin"
	ln -s /bin/true "$T/git-shell"
	for shell in /usr/sbin/nologin "$T/nologin" /bin/false false /bin/sync "$T/git-shell" "$T/absent" absent "$T/not-executable" "$T"; do
		SHELL=$shell run --separate-stderr redlock run -v -k job -c 'echo $0'
		[ "$status" -eq 0 ]
		[ "$output" = /bin/sh ]
		[[ "$stderr" == *"SHELL '$shell' is not used, but /bin/sh: it "* ]]
	done
	SHELL=sh run --separate-stderr redlock run -v -k job -c 'echo $0'
	[ "$output" = sh ]
	[[ "$stderr" != *SHELL* ]]
	# a job of such an account counts as done only if it ran
	SHELL=/usr/sbin/nologin redlock run -k job --once-per 1h -c "echo ran > $T/ran"
	[ "$(cat "$T/ran")" = ran ]
}

@test "a script without #! is run by sh, by its path and from PATH, with its arguments" {
	printf 'printf "[%%s]" "$@"; exit 5\n' > "$T/script"
	chmod +x "$T/script"
	run -5 redlock run -k job -- "$T/script" 'a b' '' '$HOME'
	[ "$output" = '[a b][][$HOME]' ]
	PATH=$T:$PATH run -5 redlock run -k job -- script -c --
	[ "$output" = '[-c][--]' ]
	run -5 redlock gate --store "$T/store" --fence 1 -- "$T/script"
}

@test "a command that cannot be run: 127 or 126 with one line and a hint, and the lock is free at once" {
	cd "$T"
	mkdir folder
	echo 'echo hello' > plain.sh
	printf '#!/no/such/interpreter -x\n' > script
	printf '#!/bin/sh\r\necho\r\n' > dos
	printf '#!%s\necho\n' "$T/plain.sh" > chained
	cp "$(type -P true)" foreign
	sed -i 's:/lib64/ld-linux:/lib64/ld-nosuc:; s:/lib/ld-linux:/lib/ld-nosuc:; s:/lib/ld-musl:/lib/ld-nosu:' foreign
	cp plain.sh local-program
	chmod +x script dos chained local-program
	# STATUS|the command's name|the message|the hint
	while IFS='|' read -r status name message hint; do
		says "$status" '' "redlock: $message"$'\n'"hint: $hint" run -k job -- "$name" arg
		held_on job 0
	done <<- END
		127|no-such-command|cannot run 'no-such-command': command not found|no folder of PATH has it: *:/*
		127|local-program|cannot run 'local-program': command not found|the working directory has it: ./local-program
		127|cd|cannot run 'cd': command not found|it is a builtin of the shell: -c 'cd ...'
		127||cannot run '': the name is empty|check the variable that the command comes from
		127|./none|cannot run './none': command not found|use an absolute path *
		127|folder/none/more|cannot run 'folder/none/more': command not found|'folder/none' does not exist
		127|$T/none|cannot run '$T/none': command not found|check the name: its folder has no such file
		126|./folder|cannot run './folder': it is a folder|name a program in it
		126|./plain.sh|cannot run './plain.sh': it is not executable|'chmod +x' *: sh './plain.sh'
		127|./script|cannot run './script': its interpreter does not exist|*install '/no/such/interpreter'
		127|./dos|cannot run './dos': its interpreter does not exist|remove the CR at the end of its lines: *
		126|./chained|cannot run './chained': its interpreter is not executable|*install '$T/plain.sh'
		127|./foreign|cannot run './foreign': its loader does not exist|it was built for another system *
	END
	says 126 '' "redlock: cannot run 'plain.sh/none': Not a directory" run -k job -- plain.sh/none
	# found in PATH, but not runnable: the message names the file
	PATH=$T:$PATH says 126 '' "redlock: cannot run '$T/plain.sh': it is not executable?hint: *" run -k job -- plain.sh
	# the same statuses from the command itself print no message
	run -127 redlock run -k job -- sh -c 'exit 127'
	[ "$output" = "" ]
}

@test "a command that cannot be run: the hint is about its working directory, though redlock leaves that early" {
	mkdir "$T/folder"
	cd "$T/folder"
	cp "$(type -P true)" program
	chmod -x program
	# A supervisor that is slow to report: redlock has moved to / by then.
	for _ in {1..20}; do
		says 126 '' "redlock: cannot run './program': it is not executable?hint: *" run -k job -- ./program
	done
}

@test "busy: 75 and the holder's name; -E changes the status; -q says nothing" {
	in_background "$T/holder" run -k job --owner 'the other one' -- sleep 60
	eventually held_on job 3
	run redlock run -n -k job -- echo never
	[ "$status" -eq 75 ]
	[[ "$output" =~ ^"redlock: 'job' is busy: held by the other one since "[0-9TZ:-]+" on "[23]" of 3 nodes, expires in "(9|10)"m unless renewed"$ ]]
	run redlock run -w 0 -k job -- echo never
	[ "$status" -eq 75 ]
	run redlock run --nonblock -E 0 -q -k job -- echo never
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
	for name in --nb --nonblocking --timeout=0; do
		run redlock run -e $name -k job -c 'echo never'
		[ "$status" -eq 75 ]
	done
	run redlock run -n -E 200 -k job -- echo never
	[ "$status" -eq 200 ]
	run --separate-stderr redlock run -n -k another -- echo yes
	[ "$output" = yes ]
	eventually held_on job 3
}

@test "-w waits for that long, no less, and then gives up" {
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	before=$(date +%s%N)
	run redlock run -w 4s -k job -- echo never
	after=$(date +%s%N)
	[ "$status" -eq 75 ]
	[ $((after - before)) -ge 4000000000 ]
	[[ "${lines[0]}" == "redlock: waiting: 'job' is held by "* ]]
	[[ "${lines[1]}" == "redlock: 'job' is busy: held by "* ]]
	[ "${#lines[@]}" -eq 2 ]
}

@test "a waiter gets the lock when the holder is done" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done; echo first >> $T/order"
	eventually held_on job 3
	in_background "$T/waiter" run -k job -- sh -c "echo second >> $T/order"
	eventually file_has "$T/waiter" waiting
	touch "$T/go"
	wait "$BG"
	[ "$(cat "$T/order")" = "$(printf 'first\nsecond')" ]
	free_everywhere job
}

@test "a crashed holder's lock expires" {
	for i in 1 2 3; do node $i set job somebody px 700; done
	run --separate-stderr redlock run -w 30 -k job -- echo mine
	[ "$status" -eq 0 ]
	[ "$output" = mine ]
}

@test "redlock respects another program's lock, and the program redlock's" {
	for i in 1 2; do [ "$(node $i set job other nx px 60000)" = OK ]; done
	run redlock run -n -k job -- echo never
	[ "$status" -eq 75 ]
	[[ "$output" == *"held by another program (value 'other') on 2 of 3 nodes, "* ]]
	for i in 1 2; do [ "$(node $i get job)" = other ]; done
	eventually held_on job 2
	for i in 1 2; do node $i del job; done
	run --separate-stderr redlock run -k job -- bash -c 'eventually held_on job 3
		for i in 1 2 3; do node $i set job other nx px 60000; done'
	[ "$output" = "$(printf '\n\n')" ]
	free_everywhere job
}

@test "a key of another type is another program's" {
	for i in 1 2; do node $i hset job field 1; done
	run redlock run -n -k job -- echo never
	[ "$status" -eq 75 ]
	[[ "$output" == *"held by another program (value '(hash)') on 2 of 3 nodes, with no expiry"$'\nhint: the key has other data, '* ]]
	[ "$(node 1 type job)" = hash ]
}

@test "a lock on a minority of nodes does not stop redlock, and is left alone" {
	node 3 set job other px 60000
	run --separate-stderr redlock run -n -k job -- echo mine
	[ "$status" -eq 0 ]
	[ "$output" = mine ]
	[ "$(node 3 get job)" = other ]
	eventually held_on job 1
}

@test "sixteen workers never overlap: a counter without any other lock ends exact" {
	echo 0 > "$T/counter"
	cat > "$T/increment" <<-'EOF'
		#!/bin/sh
		read -r n < "$1"
		sleep 0.002
		echo $((n + 1)) > "$1"
	EOF
	chmod +x "$T/increment"
	workers=()
	for w in $(seq 16); do
		(for i in 1 2 3 4 5; do redlock run -k counter -- "$T/increment" "$T/counter" || exit 1; done) 3>&- &
		workers+=($!)
	done
	for pid in "${workers[@]}"; do wait "$pid"; done
	[ "$(cat "$T/counter")" -eq 80 ]
	free_everywhere counter
}

@test "the lock is extended for as long as the command runs" {
	in_background "$T/out" run -v -k job -t 8s --node-timeout 2s -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually file_has "$T/out" "extended 'job', valid for"
	eventually held_on job 3
	for i in 1 2 3; do
		before=$(node $i get job)
		[ -n "$before" ]
	done
	extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }
	# without an extension it would have ended by then
	eventually extended 4
	[ "$(node 1 get job)" = "$before" ]
	touch "$T/go"
	wait "$BG"
	free_everywhere job
}

@test "-v prints decisions, -vv every reply, and neither writes to stdout" {
	redlock run -v -k job -- echo out > "$T/out" 2> "$T/err"
	[ "$(cat "$T/out")" = out ]
	file_has "$T/err" "^redlock: acquired 'job' on [23] of 3 nodes after "
	file_has "$T/err" "^redlock: released 'job'"
	redlock run -vv -k job -- true 2> "$T/err"
	# a majority at least: redlock may end before the last reply
	[ "$(grep -c "^redlock: unix://$T/[123].sock acquire: yes (" "$T/err")" -ge 2 ]
	[ "$(grep -c "^redlock: unix://$T/[123].sock release: yes (" "$T/err")" -ge 2 ]
}

@test "-v: redlock does not report a release of a lock that it never had, or lost" {
	for i in 1 2 3; do node $i set job theirs; done
	for words in 'run -v -n -k job -- true' 'acquire -v -n -k job'; do
		says 75 '' "*redlock: 'job' is busy: held by another program (value 'theirs') on *" $words
		not grep '^redlock: released' <<< "$stderr"
	done
	for i in 1 2 3; do node $i del job; done
	in_background "$T/out" run -v -k job -t 1m -- sleep infinity
	eventually held_on job 3
	for i in 1 2 3; do node $i set job theirs; done
	# a redlock that was stopped asks the nodes at once
	kill -STOP "$BG"
	eventually in_state "$BG" T
	kill -CONT "$BG"
	ended_with 79
	file_has "$T/out" "^redlock: lost 'job': now held by another program (value 'theirs') on "
	not file_has "$T/out" "^redlock: released"
}

@test "any bytes can be a key" {
	key=$'sp ace\t"quote\'\\ \n\xff\xfe{brace}$(id)'
	run --separate-stderr redlock run -v -k "$key" -- bash -c 'eventually held_on "$0" 3; node 1 exists "$0"' "$key"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"'sp ace\\x09\"quote'\\\\ \\x0a\\xff\\xfe{brace}\$(id)'"* ]]
	[ "$output" = 1 ]
	free_everywhere "$key"
	key=$(printf 'k%.0s' $(seq 4096))
	run --separate-stderr redlock run -k "$key" -- bash -c 'eventually held_on "$0" 3; node 1 exists "$0"' "$key"
	[ "$output" = 1 ]
}

@test "every acquisition has its own token" {
	for i in 1 2 3 4 5; do
		redlock run -k job -- printenv REDLOCK_TOKEN
	done > "$T/tokens"
	[ "$(cut -c 1-40 "$T/tokens" | sort -u | wc -l)" -eq 5 ]
}

@test "a terminating signal is passed on, and the lock is released" {
	for signal in TERM HUP INT; do
		in_background "$T/out" run -k job -- sh -c "trap 'echo got $signal >> $T/got; exit 5' $signal; echo ready > $T/ready; while :; do sleep 0.02; done"
		eventually file_has "$T/ready" ready
		kill -$signal "$BG"
		ended_with 5
		file_has "$T/got" "got $signal"
		free_everywhere job
		rm "$T/ready"
	done
}

@test "a signal that kills the command kills redlock, after the release" {
	in_background "$T/out" run -k job -- sleep 60
	eventually held_on job 3
	kill -TERM "$BG"
	ended_with 143
	free_everywhere job
}

@test "a signal that was ignored on entry stays ignored, for redlock and for the command" {
	(trap '' HUP; exec "$REDLOCK_BUILD/redlock" run -k job -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo alive') > "$T/out"
	[ "$(cat "$T/out")" = alive ]
	# also during a wait
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually held_on job 3
	(trap '' HUP USR1; exec "$REDLOCK_BUILD/redlock" run -k job -- echo woken) > "$T/waiter" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	eventually file_has "$T/waiter" waiting
	for signal in HUP USR1; do kill "-$signal" "$BG"; done
	touch "$T/go"
	ended_with 0
	file_has "$T/waiter" woken
	BG=$holder
	ended_with 0
}

@test "a signal during a wait ends redlock at once and leaves nothing" {
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	value=$(node 1 get job)
	in_background "$T/waiter" run -k job -- touch "$T/never"
	eventually file_has "$T/waiter" waiting
	kill -INT "$BG"
	ended_with 130
	[ ! -e "$T/never" ]
	for i in 1 2 3; do [ "$(node $i get job)" = "$value" ]; done
}

@test "the command dies when redlock is killed with SIGKILL" {
	in_background "$T/out" run -k job -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	kill -KILL "$BG"
	eventually is_gone "$(cat "$T/pid")"
}

@test "closed standard streams stay closed for the command, and redlock does not use their numbers" {
	run --separate-stderr redlock run -k job -- sh -c 'ls -l /proc/self/fd | grep -c socket' <&-
	[ "$output" = 0 ]
	run bash -c "'$REDLOCK_BUILD/redlock' run -k job -- sh -c '[ ! -e /proc/\$\$/fd/0 ]' <&- && echo shut"
	[ "$output" = shut ]
	run bash -c "'$REDLOCK_BUILD/redlock' run -k job -- sh -c '[ ! -e /proc/\$\$/fd/1 ]; echo \$? >&2' >&-"
	[ "$output" = 0 ]
	run bash -c "'$REDLOCK_BUILD/redlock' run -v -k job -- sh -c '[ ! -e /proc/\$\$/fd/2 ] && echo shut' 2>&-"
	[ "$output" = shut ]
	free_everywhere job
	run bash -c "'$REDLOCK_BUILD/redlock' run -n -k job -- sh -c 'exit 4' 0<&- 1>&- 2>&-"
	[ "$status" -eq 4 ]
}

@test "a full stderr delays no signal: a waiter ends at TERM, a holder runs its command" {
	mkfifo "$T/full"
	exec 8<> "$T/full"
	head -c 65536 /dev/zero >&8
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	env ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" run -v -k job -- true 2>&8 3>&- &
	BG=$!
	also_end "$BG"
	lived() { [ "$(ps -o etimes= -p "$BG")" -ge 2 ]; }
	eventually lived
	kill -TERM "$BG"
	ended_with 143
	[ "$(redlock run -vv -k another -- echo done 2>&8)" = "done" ]
	exec 8>&-
}

# bats test_tags=not-under-valgrind
@test "too few descriptors: each message has the limit, and the hint says how to raise it" {
	local all command most seen
	all=$(printf ' %s>&-' {3..20}) # bats has some open
	for command in "run -n -k job -- true" doctor status "hold -n -k held" "sandbox -n 2 -- true"; do
		seen=
		for most in {4..7}; do
			run bash -c "exec $all; ulimit -n $most; REDLOCK_NODE_WAIT=0 exec '$REDLOCK_BUILD/redlock' $command"
			not grep -q "Bad file descriptor" <<< "$output"
			[[ "$output" == *"Too many open files"* ]] || continue
			seen=yes
			not grep -q 'Too many open files\( *$\|[^ ]\| [^(]\)' <<< "$output"
			[[ "$output" == *"Too many open files (the limit is $most)"* ]]
			[[ "$output" == *"raise the limit with 'ulimit -n 1024', or with LimitNOFILE= in the systemd unit"* ]]
		done
		[ "$seen" ]
	done
}

@test "too few descriptors: refused before the command starts, or not at all" {
	pids=()
	for most in 7 8 9 10 11 12 14 20; do
		# for long enough to be extended
		bash -c "ulimit -n $most; ASAN_OPTIONS=detect_leaks=0 '$REDLOCK_BUILD/redlock' run -n -t 8s --node-timeout 2s -k job$most -- sleep 3" \
			> "$T/out.$most" 2>&1 3>&- &
		pids[most]=$!
		also_end $!
	done
	for most in "${!pids[@]}"; do
		status=0
		wait "${pids[most]}" || status=$?
		echo "$most: $status $(cat "$T/out.$most")"
		[ "$status" -eq 0 ] || [ "$status" -eq 125 ] || [ "$status" -eq 69 ]
		free_everywhere "job$most"
	done
	[ "$status" -eq 0 ]
}

@test "one signal ends the command and does not disturb the release, however often it is sent at once" {
	for try in $(seq 20); do
		in_background "$T/out" run -k job -- sleep 60
		eventually held_on job 3
		kill -TERM "$BG" $(ps -o pid= --ppid "$BG")
		ended_with 143
		[ ! -s "$T/out" ]
		free_everywhere job
	done
}

# ---- --once-per ----

has_record() { [ "$(node "$1" exists 'redlock:queue:{job}:done')" = 1 ]; }

@test "--once-per: three hosts one after the other, and all at once: the command runs once" {
	for host in 1 2 3; do
		says 0 '*' '*' run -k job --once-per 1h --owner "host$host" -- sh -c "echo $host >> $T/ran"
		free_everywhere job
	done
	[ "$(cat "$T/ran")" = 1 ]
	says 75 '' "redlock: 'job' is done until 20*Z (59m left), run by host1, which ended with status 0 at 20*Z" run -k job --once-per 1h -E 75 -- echo never
	says 0 '' '' run -q -k job --once-per 1h -- echo never
	for host in 1 2 3 4; do
		redlock run -q -k other --once-per 1h -- sh -c "echo $host >> $T/other" 3>&- &
		pids[host]=$!
		also_end $!
	done
	for host in 1 2 3 4; do wait "${pids[host]}"; done
	[ "$(wc -l < "$T/other")" -eq 1 ]
	# it is no lock: other runs are not refused, and the record stays
	says 0 'done' '' run -n -k job -- echo 'done'
	has_record 1
}

@test "--once-per: a waiter finds the record as well, and a run that failed counts" {
	in_background "$T/holder" run -k job --once-per 1h -- sh -c "echo up; until [ -e $T/go ]; do sleep 0.1; done; exit 3"
	holder=$BG
	eventually file_has "$T/holder" up
	in_background "$T/out" run -w 1h -k job --once-per 1h -- echo never
	eventually in_queue 1
	touch "$T/go"
	ended_with 0
	BG=$holder
	ended_with 3
	file_has "$T/out" "'job' failed, and counts as done until .*, which ended with status 3 at 20"
	not file_has "$T/out" never
}

@test "--once-per: a command that cannot be run, or that is terminated because its lock is lost, does not count" {
	run -127 redlock run -k job --once-per 1h -- no-such-command
	in_background "$T/out" run -k job --ttl 6s --node-timeout 900ms --once-per 1h -- sh -c "echo up; sleep 600"
	eventually file_has "$T/out" up
	for i in 1 2 3; do node $i del job > "$T/del"; done
	ended_with 79
	for i in 1 2 3; do not has_record $i; done
	says 0 'done' '' run -k job --once-per 1h -- echo 'done'
	for i in 1 2 3; do has_record $i; done
}

# start_on I: the start in the record of node I, in milliseconds. write_record I START TEXT [options of SET]
start_on() { node "$1" get 'redlock:queue:{job}:done' | sed 's/ .*//'; }
write_record() { node "$1" set 'redlock:queue:{job}:done' "$2 $3" "${@:4}" > "$T/set"; }
now_ms() { date +%s%3N; }

@test "--once-per: a node that lost the record gets it back, also one after the other; without any, the command runs again" {
	redlock run -k job --once-per 1h -- true
	for i in 1 2 3; do eventually has_record $i; done
	start=$(start_on 3)
	# A node stores it that granted the lock to a client which found it: here, one of the next clients.
	has_it_back() { redlock run -q -k job --once-per 1h -- touch "$T/never" && has_record "$1"; }
	for i in 1 2 3; do
		node $i del 'redlock:queue:{job}:done' > "$T/del"
		says 0 '' "redlock: 'job' is done until *" run -k job --once-per 1h -- echo never
		eventually has_it_back $i
		(($(start_on $i) - start > -1000 && $(start_on $i) - start < 30000))
	done
	[ ! -e "$T/never" ]
	for i in 1 2 3; do node $i del 'redlock:queue:{job}:done' > "$T/del"; done
	says 0 'done' '' run -k job --once-per 1h -- echo 'done'
	# a key of another type is no record
	for i in 1 2 3; do
		node $i del 'redlock:queue:{job}:done' > "$T/del"
		node $i lpush 'redlock:queue:{job}:done' x > "$T/push"
	done
	says 0 'done' "*redlock: ignored the record of 'job' on unix://$T/*: it names no start, or one in the future*" \
		run -k job --once-per 1h -- echo 'done'
	for i in 1 2 3; do eventually has_record $i; done
}

@test "--once-per: each caller's own D counts from the start of the last run, whatever the record's expiry and its holder's D" {
	for i in 1 2 3; do write_record $i $(($(now_ms) - 7200000)) "3600000 0 1700000000 ann" px 2999999999999; done
	says 0 '' "redlock: 'job' is done until * run by ann, *" run -k job --once-per 3h -- echo never
	says 0 'ran' '' run -k job --once-per 1h -- echo ran
	says 0 '' "redlock: 'job' is done until *" run -k job --once-per 1h -- echo never
	says 0 'ran' '' run -k job --once-per 1ms -- echo ran
}

@test "--once-per: a record whose start is no number, or in the future, does not count; its node is named" {
	for start in x $(($(now_ms) + 3600000)) 99999999999999999999 ''; do
		write_record 2 "$start" "3600000 0 1700000000 ann" px 2999999999999
		run -0 --separate-stderr redlock run -k job --once-per 1h -- echo ran
		[ "$output" = ran ]
		[ "$(grep -c "unix://$T/2.sock" <<< "$stderr")" -le 1 ]
		for i in 1 2 3; do node $i del 'redlock:queue:{job}:done' > "$T/del"; done
	done
	# a status that is none
	for i in 1 2 3; do write_record $i $(($(now_ms) - 1000)) "3600000 99999999999 1700000000 ann"; done
	says 0 '' "redlock: 'job' is done until 20*Z (59m left), run by 3600000 99999999999 1700000000 ann" \
		run -k job --once-per 1h -- echo never
}

@test "--once-per: hosts with other TTLs agree, also if D is shorter than the TTL" {
	says 0 'ran' '' run -k job --once-per 40s -- echo ran
	for options in '-t 60s' '--max-ttl 10m' '-t 20s'; do
		# shellcheck disable=SC2086
		says 0 '' "redlock: 'job' is done until *" run -k job --once-per 40s $options -- echo never
	done
	free_everywhere job
}

@test "--once-per: nodes that lost the scripts, or the key, store the record, too" {
	says 0 '' '' run -q -k job --once-per 1h -- sh -c "for i in 1 2 3; do redis-cli -s $T/\$i.sock script flush; done > $T/flush
		redis-cli -s $T/1.sock del job > $T/del"
	for i in 1 2 3; do eventually has_record $i; done
	free_everywhere job
}

@test "--once-per: the record takes no connection of its own, and no round trip" {
	for i in 1 2 3; do node $i config resetstat > "$T/reset"; done
	redlock run -k job --once-per 1h -- true
	redlock run -q -k job --once-per 1h -- echo never
	for i in 1 2 3; do
		# one of each run, and that of `info`; at most an acquire, its repetition and a release for each run
		[ "$(node $i info stats | tr -d '\r' | sed -n 's/^total_connections_received://p')" -le 3 ]
		[ "$(evals $i)" -le 6 ]
		node $i config set maxclients $(($(node $i info clients | tr -d '\r' | sed -n 's/^connected_clients://p'))) > "$T/max"
	done
	# with room for one connection
	says 0 '' '' run -q -k job --once-per 1h -- echo never
}

@test "--once-per: a record that too few nodes store is reported" {
	says 0 'done' "redlock: 1 of 3 nodes stored the record of 'job', 2 needed: another host may run the command again*" \
		run -k job --once-per 1h -- sh -c "for i in 1 2; do redis-cli -s $T/\$i.sock acl setuser default -set > $T/acl; done; echo done"
}

@test "--once-per: status shows the record, and break removes it" {
	redlock run -k job --once-per 1h --owner "me, at work" -- true
	for i in 1 2 3; do eventually has_record $i; done
	run -0 redlock status job
	is_like "$output" "'job' is done until 20*Z (59m left), run by me, at work, which ended with status 0 at 20*Z*"
	run -0 redlock status --json job
	json '.locks[0] | .state == "free" and .done.owner == "me, at work" and .done.left_ms > 3000000 and .done.status == 0 and .done.on_nodes == 3'
	[ $(($(date +%s) - $(date -d "$(jq -r '.locks[0].done.ended' <<< "$output")" +%s))) -le 60 ]
	run -0 redlock status
	is_like "$output" $'KEY\tHOLDER\tHELD\tNODES\tWAITERS\njob\tme, at work (done, 59m left)\t-\t3/3\t0'
	# the list for scripts has locks only
	in_background "$T/holder" run -k other --once-per 1h -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on other 3
	run -0 redlock status --json
	json '[.locks[] | [.key, .state, has("done")]] == [["other", "held", false]]'
	touch "$T/go"
	ended_with 0
	run -0 redlock break -k job -y
	[[ "${lines[1]}" == "redlock: 'job' is done until "*"run by me, at work, which ended with status 0 at "* ]]
	[[ "${lines[2]}" == "unix://$T/1.sock: removed" ]]
	for i in 1 2 3; do not has_record $i; done
	says 0 'done' '' run -k job --once-per 1h -- echo 'done'
	kill_node 3
	run -69 redlock break -k job -y
	[[ "$output" == *"unix://$T/3.sock: cannot be reached"* ]]
	run -0 redlock status --json job
	json '.locks[0] | has("done") | not'
}

@test "--once-per: status lists the results with the locks, until their time ends" {
	local head=$'KEY\tHOLDER\tHELD\tNODES\tWAITERS'
	redlock run -k a --once-per 1h --owner ann -- true
	run -3 redlock run -k b --once-per 1h --owner $'bob\x1b' -- sh -c 'exit 3'
	redlock run -k ended --once-per 1ms -- true
	listed() { redlock status > "$T/status" && [ "$(< "$T/status")" = "$head"$'\na\tann (done, 59m left)\t-\t3/3\t0\nb\tbob\\x1b (failed with 3, 59m left)\t-\t3/3\t0' ]; }
	eventually listed
	run -0 redlock status --json
	json ".locks == []"
	# a node has lost the record
	node 1 del 'redlock:queue:{a}:done'
	run -0 redlock status
	is_like "${lines[1]}" "a?ann [(]done, 59m left)?-?2/3?0"
	run -0 redlock status a
	is_like "$output" "'a' is done until *; 2 of 3 nodes have this record"
	# another one has that of an earlier run
	node 2 set 'redlock:queue:{a}:done' "$(($(now_ms) - 60000)) 3600000 0 1700000000 ann" > "$T/set"
	run -0 redlock status
	is_like "${lines[1]}" "a?ann [(]done, 59m left)?-?1/3?0"
	# a key that is held again
	redlock acquire -k b --owner carl > "$T/token"
	run -0 redlock status
	is_like "${lines[2]}" $'b\tcarl\t*s\t3/3\t0'
	# a text that is no record
	for i in 1 2 3; do
		node $i set 'redlock:queue:{c}:done' 'x'
		node $i set 'redlock:queue:{d}:done' '99999999999999 3600000 0 1700000000 fay'
		node $i set 'redlock:queue:{e}:done' '1 eve'
		node $i hset 'redlock:queue:{f}:done' a b
	done > "$T/set"
	run -0 redlock status
	[ "${#lines[@]}" -eq 3 ]
	for i in 1 2 3; do node $i del b 'redlock:queue:{a}:done' 'redlock:queue:{b}:done'; done > "$T/set"
	run -0 redlock status
	[ "$output" = 'no redlock locks are held' ]
}

@test "--once-per: the record has the status of the command, or its signal, or 124 of --max-run" {
	ends() { # STATUS COMMAND...: and 'status' shows the status
		local want=$1
		shift
		run "-$want" redlock run -k job --once-per 1h --max-run 300ms -- "$@"
		run -0 redlock status job
		is_like "$output" "'job' failed, and counts as done until *, which ended with status $want at 20*Z*"
		run -0 redlock status --json job
		json ".locks[0].done.status == $want"
		redlock break -y -k job > "$T/break" 2>&1
	}
	ends 3 sh -c 'exit 3'
	ends 137 sh -c 'kill -KILL $$'
	ends 124 sleep 600
}

@test "--once-per: a key that never expires is reported with -q, too: the command would never run again" {
	for i in 1 2; do node $i set job backup; done > "$T/set"
	says 0 '' "redlock: 'job' is busy: *hint: the key never expires: *'redlock break --force -k job' removes it" \
		run -q -k job --once-per 1h -- echo never
	node 1 expire job 600 > "$T/set"
	node 2 expire job 600 > "$T/set"
	says 0 '' '' run -q -k job --once-per 1h -- echo never
}

@test "--once-per: after a restart of all nodes, the command waits until their quarantine has ended" {
	for i in 1 2 3; do node $i del '{redlock}:node'; done > "$T/set"
	says 0 'done' '' run -q -k job --ttl 6s --node-timeout 900ms --once-per 1h -- echo 'done'
	for i in 1 2 3; do node $i del '{redlock}:node'; done > "$T/set"
	run -69 redlock run -q -k job --ttl 6s --node-timeout 900ms --once-per 1h --no-wait -- echo never
}

@test "-v names the nodes that did not grant the lock, and the reason" {
	kill_node 3
	says 0 '' "redlock: acquired 'job' on 2 of 3 nodes after *, valid for *; unix://$T/3.sock *redlock: released 'job'" run -v -k job -- true
	says 0 '' '' run -k job -- true
}

@test "--once-per: wrong inputs" {
	says 64 '' "redlock: --once-per must be longer than 0?hint: *" run -k job --once-per 0 -- echo never
	says 64 '' "redlock: --once-per 'daily' is not a duration *" run -k job --once-per daily -- echo never
	says 64 '' "redlock: --once-per cannot be combined with several keys*" run -k job -k other --once-per 1h -- echo never
	says 64 '' "redlock: --once-per cannot be combined with --limit*" run -k job -L 2 --once-per 1h -- echo never
	says 64 '' "redlock: --once-per is not an option of 'redlock hold'*" hold -k job --once-per 1h
	REDLOCK_ONCE_PER=1y says 64 '' "redlock: REDLOCK_ONCE_PER '1y' has an unknown unit *" run -k job -- echo never
}
