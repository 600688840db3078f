# redlock run on a terminal (tests/tools/pty): the user must not notice redlock. Most tests play twice: the first time
# without redlock, to show that the test itself is right.

load nodes

# Prefixes of a command: nothing, and a lock.
ALONE=alone
LOCKED='redlock run -k job --'

setup() {
	unset REDLOCK_UNDER # a program under valgrind does not stop at ^Z as others do
	nodes_start 3
	mkdir "$T/bin"
	cd "$T"
	# Both leave their pid, which is the job's, in $T/job.
	tool alone sh 'echo $$ > job' 'exec "$@"'
	tool redlock sh 'echo $$ > job' "exec '$REDLOCK_BUILD/redlock' \"\$@\""
	tool asking bash '
		echo $$ > pid
		echo "<asking>"
		while read -r line; do echo "<$line>"; done
		exit 5'
	tool counting sh "exec '$REDLOCK_BUILD/tools/count' pid"
	tool fullscreen bash '
		before=$(stty -g)
		stty raw -echo
		echo "<fullscreen>"
		until key=$(head -c 1); [ "$key" = q ]; do
			echo "<$key $(stty size)>"
		done
		stty "$before"
		exit 5'
	# Long times: no node is late because the machine is busy.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s
	export PATH=$T/bin:$PATH T N LC_ALL=C TERM=dumb PS1='ready> ' HISTFILE=/dev/null INPUTRC=/dev/null
	export_helpers
	export -f is_stopped stopped settle echo_is_off
}
teardown() { nodes_stop; }

# tool NAME SHELL LINE...: a script; with sh, PS1 is kept.
tool() {
	printf '%s\n' "#!/bin/$2" "${@:3}" > "$T/bin/$1"
	chmod +x "$T/bin/$1"
}

# terminal STEP... -- COMMAND...: sets $status, and $output, the text on the screen.
terminal() {
	run "$REDLOCK_BUILD/tools/pty" "$@"
	echo "--- $*"
	echo "$output"
	free_everywhere job
}

# shows N TEXT: $output has the TEXT that many times.
shows() { [ "$(grep -oF -- "$2" <<< "$output" | wc -l)" -eq "$1" ]; }

# stopped FILE: true once the process with the pid in FILE is stopped. When the shell has its prompt, the command under
# redlock may have its stop still pending, and would eat the next key.
is_stopped() { [ -s "$1" ] && in_state "$(cat "$1")" T 2> /dev/null; }
stopped() { eventually is_stopped "$1"; }

# settle: makes the command print its count. redlock passes on all earlier signals of the job before this one, which has
# the last number.
settle() { kill -RTMIN+5 "$(cat job)"; }

echo_is_off() { [[ "$(stty -a -F "$(cat tty)")" == *" -echo "* ]]; }

@test "a shell asks, runs the typed commands, and its status is redlock's" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'ready> ' send:'echo $((6 * 7))\r' expect:42 expect:'ready> ' \
			send:'tty\r' expect:/dev/pts/ expect:'ready> ' send:'exit 3\r' -- $way sh
		[ "$status" -eq 3 ]
		shows 0 redlock
	done
}

@test "an interactive bash has job control: it stops a child, and continues it" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'ready> ' send:'asking\r' expect:'<asking>' send:'one\r' expect:'<one>' \
			send:'\x1a' expect:Stopped run:'stopped pid' expect:'ready> ' send:'fg\r' expect:asking \
			send:'two\r' expect:'<two>' send:'\x04' expect:'ready> ' send:'exit 4\r' \
			-- $way bash --norc -i
		[ "$status" -eq 4 ]
		shows 0 "no job control"
		shows 0 redlock
	done
}

@test "a full-screen program: raw keys, the window's new size, and the terminal is restored" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'<fullscreen>' send:k expect:'<k 24 80>' size:30x100 \
			send:'\x03' expect:'<\x03 30 100>' send:q expect:'<the same>' \
			-- sh -c "a=\$(stty -g); $way fullscreen; echo \$?; [ \"\$a\" = \"\$(stty -g)\" ] && echo '<the same>'"
		[ "$status" -eq 0 ]
		shows 1 5
	done
}

@test "the full-screen programs of this machine" {
	export TERM=vt100
	echo 'the file' > file
	for program in "vi -u NONE" vim less; do
		[ "$(type -t ${program%% *})" = file ] || continue
		for way in "$ALONE" "$LOCKED"; do
			terminal expect:'the file' send:':q\r' -- $way $program file
			[ "$status" -eq 0 ]
		done
	done
}

@test "a password prompt works, and the password is not shown" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'Password: ' run:'eventually echo_is_off' send:'secret\r' expect:'got secret' \
			-- $way bash -c 'tty > tty; read -rs -p "Password: " p < /dev/tty; echo; echo "got $p"'
		[ "$status" -eq 0 ]
		shows 1 secret
	done
}

@test "^C, ^\\ and a new window size reach the command once, and it decides" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'<counting>' send:'\x03' expect:^C run:settle \
			expect:'<int=1 quit=0 winch=0>' send:'\x1c' expect:'^\' run:settle \
			expect:'<int=1 quit=1 winch=0>' size:30x100 run:settle \
			expect:'<int=1 quit=1 winch=1>' send:'\x04' -- $way counting
		[ "$status" -eq 5 ]
	done
	# two of a kind at once count as one: here the signals that redlock passes on arrive later
	terminal expect:'<counting>' run:'kill -STOP $(cat job); stopped job' size:30x100 \
		send:'\x03' expect:^C send:'\x1c' expect:'^\' run:'kill -RTMIN+5 $(cat pid)' \
		expect:'<int=1 quit=1 winch=1>' run:'kill -CONT $(cat job); settle' \
		expect:'<int=1 quit=1 winch=1>' send:'\x04' -- $LOCKED counting
	[ "$status" -eq 5 ]
}

@test "^C and ^\\ that kill the command kill redlock, so that a script around it ends too" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'<asking>' send:'\x03' -- \
			bash -c "$way sh -c 'echo \"<asking>\"; exec sleep 60'; echo went on"
		[ "$status" -eq 130 ]
		shows 0 "went on"
		# bash itself prints a message about QUIT
		terminal expect:'<asking>' send:'\x1c' expect:Quit expect:'went on with 131' -- \
			bash -c "ulimit -c 0; $way sh -c 'echo \"<asking>\"; exec sleep 60'; echo went on with \$?"
		# a command that handles the signal and exits normally ends nothing else
		terminal expect:'<asking>' send:'\x03' expect:'went on with 5' -- \
			bash -c "$way bash -c 'trap \"exit 5\" INT; echo \"<asking>\"; while :; do read -rt 0.1; done'; echo went on with \$?"
	done
}

@test "^Z gives the shell its prompt, and fg continues the command" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'ready> ' send:"$way asking\\r" expect:'<asking>' send:'one\r' expect:'<one>' \
			send:'\x1a' expect:Stopped run:'stopped pid' expect:'ready> ' send:'fg\r' expect:asking \
			send:'two\r' expect:'<two>' send:'\x1a' expect:Stopped run:'stopped pid' expect:'ready> ' \
			send:'bg\r' expect:'ready> ' run:'stopped job' \
			send:'jobs -l\r' expect:'Stopped (tty input)' expect:'ready> ' send:'fg\r' expect:asking \
			send:'three\r' expect:'<three>' send:'\x04' \
			expect:'ready> ' send:'echo status $?\r' expect:'status 5' send:'exit 7\r' \
			-- bash --norc -i
		[ "$status" -eq 7 ]
	done
}

@test "^C ends the wait for processes that the command left, though the terminal does not reach it" {
	tool leaving bash 'echo $$ > pid' 'setsid bash -c "echo \$\$ > left; exec sleep 60" &' 'until [ -s left ]; do sleep 0.01; done' 'exit 5'
	terminal expect:'ready> ' send:'redlock run -k job --kill-after 300ms --wait-descendants -- leaving\r' \
		run:'eventually test -s left; eventually is_gone $(cat pid); eventually held_on job 3' \
		send:'\x03' expect:'ready> ' send:'echo status $?\r' expect:'status 5' \
		run:'is_gone $(cat left)' send:'exit 7\r' -- bash --norc -i
	[ "$status" -eq 7 ]
}

@test "stopped for longer than the TTL: the command is gone before its lock, and fg says 79" {
	tool writing bash 'trap "" TERM' 'echo "<writing>"' 'while :; do echo line >> written; sleep 0.002; done'
	terminal expect:'ready> ' send:'redlock run -k job -t 8s --node-timeout 1s -- writing\r' expect:'<writing>' \
		run:'eventually held_on job 3' send:'\x1a' expect:Stopped expect:'ready> ' \
		run:'eventually held_on job 0; cp written before' send:'fg\r' expect:'ready> ' \
		send:'echo status $?\r' expect:'status 79' send:'exit 7\r' -- bash --norc -i
	[ "$status" -eq 7 ]
	cmp written before
	shows 1 "redlock: lost 'job'"
}

@test "a command that stops itself stops redlock with it, and fg continues both" {
	for way in "$ALONE" "$LOCKED"; do
		for signal in STOP TSTP; do
			terminal expect:'ready> ' send:"$way asking\\r" expect:'<asking>' send:'one\r' expect:'<one>' \
				run:"kill -$signal \$(cat pid)" expect:Stopped run:'stopped pid' expect:'ready> ' \
				send:'fg\r' expect:asking send:'two\r' expect:'<two>' send:'\x04' \
				expect:'ready> ' send:'echo status $?\r' expect:'status 5' send:'exit 7\r' \
				-- bash --norc -i
			[ "$status" -eq 7 ]
		done
		terminal expect:'ready> ' send:"$way bash --norc -i\\r" expect:'ready> ' \
			send:'x=42\r' expect:'ready> ' send:'suspend -f\r' expect:Stopped expect:'ready> ' \
			send:'fg\r' expect:bash expect:'ready> ' send:'echo x=$x\r' expect:x=42 expect:'ready> ' \
			send:'exit 8\r' expect:exit expect:'ready> ' send:'exit $?\r' -- bash --norc -i
		[ "$status" -eq 8 ]
	done
}

@test "a nested run is stopped and continued in the same way" {
	terminal expect:'ready> ' send:'redlock run -k job -- bash --norc -i\r' expect:'ready> ' \
		send:'redlock run --reentrant -k job -- asking\r' expect:'<asking>' \
		send:'\x1a' expect:Stopped run:'stopped pid' expect:'ready> ' send:'fg\r' expect:asking \
		send:'one\r' expect:'<one>' send:'\x1a' expect:Stopped run:'stopped pid' expect:'ready> ' \
		send:'fg\r' expect:asking send:'two\r' expect:'<two>' \
		send:'\x04' expect:'ready> ' send:'exit\r' expect:exit expect:'ready> ' \
		send:'exit 7\r' -- bash --norc -i
	[ "$status" -eq 7 ]
}

@test "in the background, reading from the terminal stops it, and fg continues it" {
	for way in "$ALONE" "$LOCKED"; do
		terminal expect:'ready> ' send:"$way asking &\\r" expect:'<asking>' \
			run:'stopped job' send:'jobs -l\r' expect:'Stopped (tty input)' \
			expect:'ready> ' send:'fg\r' expect:asking send:'one\r' expect:'<one>' \
			send:'\x04' expect:'ready> ' send:'echo status $?\r' expect:'status 5' \
			send:'exit 7\r' -- bash --norc -i
		[ "$status" -eq 7 ]
	done
}

@test "in the background, a terminal with tostop stops the command that writes, but not redlock" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e go ]; do sleep 0.1; done"
	eventually held_on job 3
	terminal expect:'ready> ' send:'stty tostop\r' expect:'ready> ' send:'alone echo never &\r' \
		run:'stopped job' send:'jobs -l\r' expect:'Stopped (tty output)' \
		expect:'ready> ' send:"$LOCKED touch done &\\r" expect:"redlock: waiting: " \
		run:'touch go; eventually test -e done' send:'wait %2; echo status $?\r' \
		expect:'status 0' expect:'ready> ' send:'stty -tostop; fg\r' expect:never expect:'ready> ' \
		send:'exit 7\r' -- bash --norc -i
	[ "$status" -eq 7 ]
	ended_with 0
}

@test "during a wait, one line is kept current, and is gone when the command starts" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e go ]; do sleep 0.1; done"
	eventually held_on job 3
	TERM=xterm terminal expect:'waiting ' expect:'waiting ' expect:'waiting ' run:'touch go' expect:'<begin>' \
		-- redlock run -k job -- sh -c 'echo "<begin>"; exit 4'
	[ "$status" -eq 4 ]
	# one line, wiped each time; no trace of it before the command's own output
	[ "$(grep -c waiting <<< "$output")" -eq 1 ]
	[ "$(grep -oE "waiting [0-9]+s for 'job', held by " <<< "$output" | sort -u | wc -l)" -ge 2 ]
	# the whole of it fits into 80 columns
	[[ "$output" == *"; next in queue"* ]]
	[[ "$output" == *$'\r\e[K<begin>'* ]]
	ended_with 0
}

@test "colours of errors, warnings and states: on a terminal only, and not with NO_COLOR, CI or TERM=dumb" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e go ]; do sleep 0.1; done"
	eventually held_on job 3
	busy() { run "$REDLOCK_BUILD/tools/pty" -- env -u NO_COLOR -u CI TERM=xterm "$@"; }
	busy "$REDLOCK_BUILD/redlock" run -n -k job -- true
	[[ "$output" == *$'\e[33mredlock:\e[m '"'job' is busy"* ]]
	busy "$REDLOCK_BUILD/redlock" run -k
	[[ "$output" == *$'\e[31mredlock:\e[m -k needs a value'* ]]
	busy "$REDLOCK_BUILD/redlock" status job free
	[[ "$output" == *$'\e[32mfree  (free) '* && "$output" == *$'\njob '* ]]
	busy "$REDLOCK_BUILD/redlock" status free
	[[ "$output" == *$'\e[32m'"'free' is free"$'\e[m'* ]]
	# neither a state nor a question nor a warning is an error
	run "$REDLOCK_BUILD/tools/pty" expect:"to do so" send:'n\n' -- env -u NO_COLOR -u CI TERM=xterm "$REDLOCK_BUILD/redlock" break job
	[[ "$output" == *$'\e[33mredlock:\e[m '"'job' is held by "*$'\nredlock: end it? '* ]]
	busy "$REDLOCK_BUILD/redlock" run --ttl 3000 -k other -- true
	[[ "$output" == *$'\e[33mredlock:\e[m --ttl 3000 is 3000 seconds (50m)'* ]]
	busy "$REDLOCK_BUILD/redlock" doctor
	[[ "$output" == *$'\e[3'[123]m*"3 of 3 nodes can be used"* ]]
	for plain in NO_COLOR=1 CI=true TERM=dumb; do
		for words in 'run -n -k job -- true' 'run -k' 'status job free' doctor; do
			busy env $plain "$REDLOCK_BUILD/redlock" $words
			[[ "$output" != *$'\e'* ]]
		done
	done
	busy sh -c '"$0" status job free | cat; "$0" run -n -k job -- true 2>&1 | cat; "$0" run -k -- 2> out; cat out' "$REDLOCK_BUILD/redlock"
	[[ "$output" == *"is busy"* && "$output" == *"needs a value"* && "$output" != *$'\e'* ]]
	touch go
	ended_with 0
}

@test "in a pipeline: a reader that ends early ends it, and it sees the end of file when the command closes its stdout" {
	for way in "$ALONE" "$LOCKED"; do
		run bash -c "$way seq 100000 | head -1; echo \${PIPESTATUS[*]}"
		[ "$output" = $'1\n141 0' ]
		rm -f ended go err
		bash -c "$way sh -c 'exec >&-; until [ -e go ]; do sleep 0.1; done; echo over >&2; exit 3' |
			{ cat; touch ended; }; exit \${PIPESTATUS[0]}" 2> err 3>&- &
		BG=$!
		also_end "$BG"
		eventually test -e ended
		kill -0 "$(cat job)"
		[ ! -s err ]
		touch go
		ended_with 3
		[ "$(cat err)" = over ]
	done
	held_on job 0
}

@test "the terminal is closed: the command gets HUP, and all processes end" {
	tool hearing bash 'trap "echo HUP >> hups" HUP' 'trap "exit 5" RTMIN+5' 'echo "<hearing>"' \
		'while :; do sleep 0.02; done'
	for way in "$ALONE" "$LOCKED"; do
		# from a shell: HUP may arrive from it and from the kernel
		terminal expect:'ready> ' send:"$way hearing\\r" expect:'<hearing>' hangup \
			run:'eventually file_has hups HUP; settle' -- bash --norc -i
		[ "$status" -eq 129 ]
		cat hups; rm hups
		# as the session leader of the terminal
		terminal expect:'<hearing>' hangup run:'eventually file_has hups HUP; settle' -- $way hearing
		[ "$status" -eq 5 ]
		[ "$(cat hups)" = HUP ]
		rm hups
		terminal expect:ready hangup -- $way sh -c 'echo ready; exec sleep 60'
		[ "$status" -eq 129 ]
	done
}

@test "the terminal is closed, or ^C is typed, during a wait: redlock ends at once, and nothing is left" {
	export_helpers
	export -f nobody_waits somebody_waits
	in_background "$T/holder" run -k job -- sh -c "until [ -e go ]; do sleep 0.1; done"
	eventually held_on job 3
	for way in hangup 'send:\x03'; do
		run "$REDLOCK_BUILD/tools/pty" run:'eventually somebody_waits' "$way" run:'eventually nobody_waits' -- \
			redlock run -k job -- touch never
		echo "$output"
		[ "$status" -eq $([ "$way" = hangup ] && echo 129 || echo 130) ]
	done
	not test -e never
	touch go
	ended_with 0
	held_on job 0
}
nobody_waits() { in_queue 0; }
somebody_waits() { [ "$(waiting)" -gt 0 ]; }

@test "without any terminal, as from cron" {
	for way in "$ALONE" "$LOCKED"; do
		run -3 setsid -w $way sh -c 'ps -o tty= $$ > tty; exit 3' < /dev/null 2>&1
		[ "$output" = "" ]
		[ "$(cat tty)" = '?' ]
		# no shell could continue it: redlock is not stopped with its command
		setsid $way asking < /dev/null > out 2>&1 3>&- &
		BG=$!
		also_end "$BG"
		ended_with 5
	done
	held_on job 0
}

@test "the window changes as the command ends: its status is still the command's" {
	needs ptrace look_inside
	in_background out run -k job -- sh -c 'echo $$ > pid; exec sleep 600'
	eventually test -s pid
	supervisor=$(ps -o ppid= -p "$(cat pid)")
	mkfifo hold
	"$REDLOCK_BUILD/tools/freeze" $supervisor < hold > frozen 3>&- &
	also_end $!
	exec 8> hold
	eventually file_has frozen frozen
	kill -WINCH "$BG"
	taken() { ! file_has "/proc/$BG/status" '^ShdPnd:.*[1-9a-f]'; }
	eventually taken
	kill -TERM "$(cat pid)"
	exec 8>&-
	ended_with 143
	[ ! -s out ]
}

@test "80 columns: doctor puts the latency on a line of its own, and the line of a wait without quorum ends with dots" {
	narrow() { # STEP... -- COMMAND...
		run env -u NO_COLOR TERM=xterm "$REDLOCK_BUILD/tools/pty" "$@"
		output=${output//$'\r'/$'\n'}
		output=$(sed 's/\x1b\[[0-9]*[mK]//g' <<< "$output")
	}
	narrow -- "$REDLOCK_BUILD/redlock" doctor
	is_like "$output" "*unix://.../1.sock  *, master*  latency: least *"
	for i in 1 2; do kill_node $i; done
	narrow expect:'can be used' expect:'...' send:'\x03' -- "$REDLOCK_BUILD/redlock" run -k job -- true
	is_like "$output" "*redlock: waiting *s: no quorum for 'job': 1 of 3 nodes can be used, 2 *...*"
}
