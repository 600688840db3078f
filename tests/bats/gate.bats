# redlock gate: its command and all descendants have ended before the store is free.

load nodes

setup() {
	nodes_start 0
	# the process of an older command: it needs a moment to end
	cat > "$T/daemon" <<- 'END'
		#!/bin/sh
		trap 'sleep 0.2; exit' TERM
		echo $$ > "$0.new" && mv "$0.new" "$0.pid"
		until [ -e "$0.go" ]; do sleep 0.1; done
	END
	# each of them leaves it in a session of its own, and ends with $1, or waits
	cat > "$T/by_sh" <<- 'END'
		#!/bin/sh
		setsid "${0%/*}/daemon" < /dev/null > /dev/null 2>&1 &
		[ "$1" = wait ] && wait
		exit "$1"
	END
	cat > "$T/by_python" <<- 'END'
		#!/usr/bin/env python3
		import os, subprocess, sys
		null = subprocess.DEVNULL
		child = subprocess.Popen([os.path.dirname(sys.argv[0]) + "/daemon"], close_fds=True, start_new_session=True,
		    stdin=null, stdout=null, stderr=null)
		sys.exit(child.wait() if sys.argv[1] == "wait" else int(sys.argv[1]))
	END
	# as sudo and daemons do: the command itself has closed the descriptor
	cat > "$T/by_closefrom" <<- 'END'
		#!/bin/bash
		for fd in {3..99}; do eval "exec $fd>&-"; done
		exec "${0%/*}/by_sh" "$@"
	END
	KINDS="sh python closefrom"
	if type -P sudo > "$T/sudo" && sudo -n true 2> "$T/sudo"; then
		printf '#!/bin/sh\nexec sudo -n "${0%%/*}/by_sh" "$@"\n' > "$T/by_sudo"
		KINDS+=" sudo"
	fi
	chmod +x "$T"/daemon "$T"/by_*
}
teardown() {
	touch "$T/daemon.go"
	nodes_stop
}

gate() { timeout 60 "$REDLOCK_BUILD/redlock" gate --store "$T/store" "$@"; }
supervisor_of() { pgrep -P "$1" | head -n 1; }

# forget: a new store and no process of a test before.
forget() { rm -f "$T/store" "$T/daemon".{pid,go}; }

# daemon_is_up: it has begun, and ends with the test.
daemon_is_up() {
	eventually test -e "$T/daemon.pid"
	DAEMON=$(< "$T/daemon.pid")
	also_end "$DAEMON"
}

# newer_waits FILE: a command with a newer number waits for the store; it writes to FILE what it finds.
newer_waits() {
	"$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 2 -- \
		sh -c 'grep -q "^State:.[^Z]" "/proc/$0/status" && echo beside || echo alone' "$DAEMON" > "$1" 2> "$T/grep" 3>&- &
	NEWER=$!
	also_end "$NEWER"
	eventually waits_for_store "$NEWER"
}
waits_for_store() { grep -qE -- "-> FLOCK +ADVISORY +WRITE $1 [^ ]*:$(stat -c %i "$T/store") " /proc/locks; }

@test "gate: a process that the command leaves keeps the store busy, whatever descriptors it closed, and no pipe open" {
	for kind in $KINDS; do
		forget
		# cat ends when the pipe is closed, long before the process ends
		(gate --fence 1 -- "$T/by_$kind" 7 2>&1 || echo $?) | timeout 30 cat > "$T/out"
		[ "$(cat "$T/out")" = 7 ]
		daemon_is_up
		not is_gone "$DAEMON"
		run -75 gate -n --fence 2 -- touch "$T/never"
		newer_waits "$T/newer"
		touch "$T/daemon.go"
		wait "$NEWER"
		[ "$(cat "$T/newer")" = alone ]
		eventually is_gone "$DAEMON"
	done
	[ ! -e "$T/never" ]
}

@test "gate: after TERM, HUP or KILL of it, the store is free when the command's processes have ended" {
	for kind in $KINDS; do
		for signal in TERM HUP KILL; do
			forget
			in_background "$T/out" gate --store "$T/store" --fence 1 -- "$T/by_$kind" wait
			daemon_is_up
			newer_waits "$T/newer"
			kill -s "$signal" "$BG"
			ended_with $((128 + $(kill -l "$signal")))
			wait "$NEWER"
			[ "$(cat "$T/newer")" = alone ]
			is_gone "$DAEMON"
		done
	done
}

@test "gate: the supervisor killed: gate ends the command's processes, and reports it with 125" {
	in_background "$T/out" gate --store "$T/store" --fence 1 -- "$T/by_closefrom" wait
	daemon_is_up
	newer_waits "$T/newer"
	kill -KILL "$(supervisor_of "$BG")"
	ended_with 125
	file_has "$T/out" "the command's supervisor was killed, and the command was ended with it"
	wait "$NEWER"
	[ "$(cat "$T/newer")" = alone ]
}

@test "gate: killed together with its supervisor, the store is locked while a process has the descriptor" {
	in_background "$T/out" gate --store "$T/store" --fence 1 -- "$T/by_sh" wait
	daemon_is_up
	supervisor=$(supervisor_of "$BG")
	# it must not act for the supervisor
	kill -STOP "$BG"
	eventually in_state "$BG" T
	kill -KILL "$supervisor" "$BG"
	ended_with 137
	not is_gone "$DAEMON"
	run -75 gate -n --fence 2 -- touch "$T/never"
	newer_waits "$T/newer"
	touch "$T/daemon.go"
	wait "$NEWER"
	[ "$(cat "$T/newer")" = alone ]
}

@test "gate: the command decides about a signal; with --kill-after, SIGKILL follows, and a message says so" {
	in_background "$T/out" gate --store "$T/store" --fence 1 -- sh -c 'trap "echo got term; exit 5" TERM
		echo up; while :; do sleep 0.02; done'
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	ended_with 5
	[ "$(cat "$T/out")" = $'up\ngot term' ]
	in_background "$T/out" gate --store "$T/store" --fence 1 --kill-after 200ms -- sh -c 'trap "" TERM
		echo up; while :; do sleep 0.02; done'
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	ended_with 137
	file_has "$T/out" "^redlock: the command did not end in time and was killed (SIGKILL)$"
	run -0 gate -n --fence 2 -- true
}

@test "gate: a supervisor that stays has no descriptor but the store's, and no folder of the caller" {
	needs look_inside
	mkdir "$T/deep"
	(cd "$T/deep" && gate --fence 1 --log "$T/log" -- "$T/by_closefrom" 0 7> "$T/seven" 200> "$T/far")
	daemon_is_up
	supervisor=$(awk '$1 == "PPid:" { print $2 }' "/proc/$DAEMON/status")
	also_end "$supervisor"
	[ "$(cat "/proc/$supervisor/comm")" = rl-supervisor ]
	[ "$(readlink "/proc/$supervisor/cwd")" = / ]
	files=$(find "/proc/$supervisor/fd" -lname '/*' -not -lname /dev/null | wc -l)
	[ "$files" -eq 1 ]
	touch "$T/daemon.go"
	eventually is_gone "$supervisor"
	run -0 gate -n --fence 2 -- true
}

@test "gate: without a usable /proc, a warning, and the store is locked while a process has the descriptor" {
	needs pids
	run -7 unshare --pid --fork --kill-child "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- sh -c 'exit 7'
	[ "${lines[0]}" = "redlock: cannot supervise the command: /proc does not show this process" ]
	[ "${lines[1]}" = "hint: programs that close inherited descriptors, such as sudo, run on while '$T/store' is free" ]
	unshare --pid --fork --kill-child "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- \
		sh -c 'echo up; until [ -e "$0.go" ]; do sleep 0.1; done' "$T/daemon" > "$T/out" 2>&1 3>&- &
	first=$!
	also_end $first
	eventually file_has "$T/out" up
	run -75 gate -n --fence 2 -- touch "$T/never"
	touch "$T/daemon.go"
	wait $first
	run -0 gate --fence 2 -- true
}

@test "gate: a /proc that hides other users' processes: no warning, and the command's processes end" {
	needs mounts pids users
	chmod o+x "$BATS_RUN_TMPDIR" "$T"/.. "$T"
	install -d -o 65534 -g 65534 "$T/theirs"
	cp "$T/daemon" "$T/by_closefrom" "$T/by_sh" "$T/theirs"
	# gate's status, and whether the next command meets the process
	cat > "$T/theirs/look" <<- 'END'
		mount -t proc -o "$1" proc /proc && cd "${0%/*}" || exit
		user="setpriv --reuid=65534 --regid=65534 --clear-groups"
		$user "$2" gate --store store --fence 1 -- ./by_closefrom wait &
		until [ -e daemon.pid ]; do sleep 0.1; done
		kill -TERM $!
		wait $!
		echo $?
		$user "$2" gate -w 20s --store store --fence 1 -- sh -c '[ -e "/proc/$0" ] && echo beside || echo alone' "$(cat daemon.pid)"
	END
	for option in hidepid=2 hidepid=ptraceable; do
		rm -f "$T/theirs/daemon.pid"
		run --separate-stderr timeout --signal=KILL 60 unshare --mount --pid --fork --kill-child sh "$T/theirs/look" "$option" "$REDLOCK_BUILD/redlock"
		[[ "$output" == $'143\nalone' && "$stderr" != *redlock:* ]]
	done
}

@test "gate: a kernel without the adoption of orphans: a warning, and the command runs" {
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	run -7 "$REDLOCK_BUILD/tools/deny" prctl:36 EINVAL -- "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- sh -c 'exit 7'
	[ "${lines[0]}" = "redlock: cannot supervise the command: prctl(PR_SET_CHILD_SUBREAPER): Invalid argument" ]
}

@test "gate: ^C while it starts: the command does not run to its end" {
	cat > "$T/early" <<- 'END'
		import os, pty, sys, time
		lost = []
		for i in range(60):
		    delay = i % 20 / 2000
		    r, w = os.pipe() # closed by exec
		    pid, fd = pty.fork()
		    if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "gate", "--store", sys.argv[2], "--fence", "1", "-w", "20s", "--", "sleep", "1"])
		    os.close(w); os.read(r, 1); os.close(r)
		    start = time.time()
		    while time.time() < start + delay: pass
		    os.write(fd, b"\x03")
		    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0: lost.append(delay)
		    os.close(fd)
		print(len(lost))
	END
	run -0 timeout 120 python3 "$T/early" "$REDLOCK_BUILD/redlock" "$T/store"
	[ "$output" -eq 0 ]
}

@test "gate: a command that ends by a signal leaves its processes; the store stays locked until they end" {
	run -139 timeout 60 "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 1 -- \
		sh -c "sh -c 'echo > $T/up; until [ -e $T/go ]; do sleep 0.1; done; echo > $T/alive' > $T/out 2>&1 3>&- & until [ -e $T/up ]; do sleep 0.1; done; kill -SEGV \$\$"
	run -75 redlock gate -w 10ms --store "$T/store" --fence 2 -- true
	touch "$T/go"
	run -0 redlock gate -w 20s --store "$T/store" --fence 2 -- true
	[ -e "$T/alive" ]
}

@test "gate: a limit of open files that leaves none: the message names the limit" {
	run -125 bash -c 'ulimit -n 10; exec "$0" gate --store "$1" --fence 1 -- true' "$REDLOCK_BUILD/redlock" "$T/store"
	[[ "$output" == *"Too many open files"* ]]
}

# ---- the wait ----

@test "gate: after a second of waiting, one line names the process that has the store locked; none with -q" {
	in_background "$T/out" gate --store "$T/store" --fence 1 -- sh -c 'touch "$0/up"; until [ -e "$0/go" ]; do sleep 0.1; done' "$T"
	first=$BG
	eventually test -e "$T/up"
	in_background "$T/quiet" gate -q --store "$T/store" --fence 2 -- true
	quiet=$BG
	in_background "$T/waiting" gate -w 1m --store "$T/store" --fence 2 -- true
	eventually file_has "$T/waiting" "redlock: waiting: '$T/store' is "
	[[ "$(cat "$T/waiting")" == *"is locked by process $first (redlock)" || "$(cat "$T/waiting")" == *"is busy: another command of this gate is still running" ]]
	eventually waits_for_store "$quiet"
	touch "$T/go"
	ended_with 0
	wait "$quiet" "$first"
	[ "$(wc -l < "$T/waiting")" -eq 1 ]
	[ ! -s "$T/quiet" ]
	# a wait that ends before says only that
	rm "$T/go"
	in_background "$T/out" gate --store "$T/store" --fence 2 -- sh -c 'touch "$0/again"; until [ -e "$0/go" ]; do sleep 0.1; done' "$T"
	eventually test -e "$T/again"
	run -75 gate -w 100ms --fence 2 -- touch "$T/never"
	[ "$output" = "redlock: '$T/store' is busy: another command of this gate is still running" ]
	touch "$T/go"
	ended_with 0
}

@test "gate: within a gate of the same store it is refused at once, also where the descriptor is closed" {
	export REDLOCK_BUILD T
	printf '#!/bin/bash\nfor fd in {3..99}; do eval "exec $fd>&-"; done\n"$@"\n' > "$T/closes"
	chmod +x "$T/closes"
	for way in "" "$T/closes" "$T/closes env -i"; do
		run -75 gate --fence 1 -- $way timeout 30 "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 2 -- touch "$T/never"
		is_like "$output" "redlock: '$T/store' is locked by a process in which this gate runs?hint: *"
	done
	run -9 gate --fence 1 -- timeout 30 "$REDLOCK_BUILD/redlock" gate -E 9 --store "$T/store" --fence 1 -- touch "$T/never"
	# a process that the command left
	run -0 gate --fence 1 -- sh -c '(until [ -e "$T/go" ]; do sleep 0.1; done
		timeout 30 "$REDLOCK_BUILD/redlock" gate --store "$T/store" --fence 2 -- touch "$T/never"; echo $? > "$T/status") > "$T/left" 2>&1 &'
	touch "$T/go"
	eventually test -s "$T/status"
	[ "$(cat "$T/status")" = 75 ]
	# another store, and the same one when it is free
	run -0 gate --fence 1 -- "$REDLOCK_BUILD/redlock" gate --store "$T/other" --fence 1 -- true
	[ "$(cat "$T/store")" = 1 ]
	[ ! -e "$T/never" ]
}

# ---- the store ----

@test "gate: a file that is at its limit: a message, the old number and no draft; the command gets the kernel's signal" {
	mkdir "$T/folder"
	limited() { (ulimit -f 0 && exec timeout 60 "$REDLOCK_BUILD/redlock" "$@" 2>&1); }
	run -78 limited gate --store "$T/folder/store" --fence 1 -- touch "$T/never"
	[ "$output" = "redlock: cannot write --store '$T/folder/store': File too large" ]
	[ "$(ls -A "$T/folder")" = "" ]
	run -0 redlock gate --store "$T/folder/store" --fence 1 -- true
	run -78 limited gate --store "$T/folder/store" --fence 2 -- touch "$T/never"
	[ "$(ls -A "$T/folder") $(cat "$T/folder/store")" = "store 1" ]
	[ ! -e "$T/never" ]
	# stdout is a file of the caller
	run -125 bash -c 'ulimit -f 0; exec "$0" help > "$1"' "$REDLOCK_BUILD/redlock" "$T/help"
	[ "$output" = "redlock: cannot write to stdout: File too large" ]
	run -153 gate --fence 1 -- sh -c 'ulimit -f 0; echo text > "$0"; echo not reached' "$T/text"
	[ "$output" = "" ]
	# unless it was ignored at the start
	run -0 sh -c 'trap "" XFSZ; "$0" gate --store "$1/store" --fence 1 -- sh -c "ulimit -f 0; echo text > \"\$0\"" "$1/text" || echo survived' \
		"$REDLOCK_BUILD/redlock" "$T"
	[[ "$output" == *survived ]]
}

@test "gate: the draft of a gate that was killed is removed by the next number; no other file is" {
	mkdir "$T/folder"
	cd "$T/folder"
	run -0 gate --fence 1 -- true
	touch store.0123456789abcde{0,1}.tmp
	stay=(store.0123456789abcde{g,f0}.tmp other.0123456789abcdef.tmp store.0123456789abcdef.tmp2 store.txt locked)
	touch "${stay[@]}"
	mv locked store.0123456789abcde2.tmp
	ln -s "$T/store" store.0123456789abcde3.tmp
	mkfifo store.0123456789abcde4.tmp
	mkdir store.0123456789abcde5.tmp
	# another user's
	install -m 666 -o 65534 /dev/null store.0123456789abcde6.tmp 2> "$T/install" || rm -f store.0123456789abcde6.tmp
	bash -c 'exec 9<> "$0" && flock 9 && echo locked && exec sleep 60' store.0123456789abcde2.tmp > "$T/locker" 3>&- &
	also_end $!
	eventually file_has "$T/locker" locked
	ls -A | grep -vxE "store\.0123456789abcde[01]\.tmp" > "$T/left"
	echo store >> "$T/left"
	run -0 timeout 60 "$REDLOCK_BUILD/redlock" gate --store store --fence 2 -- true
	diff <(sort -u "$T/left") <(ls -A | LC_ALL=C sort)
}

@test "gate: several gates at once create one store, and leave no draft" {
	mkdir "$T/folder"
	for round in 1 2 3 4 5 6 7 8; do
		rm -f "$T/folder/store"
		gates=()
		for i in 1 2 3 4 5 6; do
			"$REDLOCK_BUILD/redlock" gate --store "$T/folder/store" --fence 7 -- true 3>&- &
			gates+=($!)
			also_end $!
		done
		for pid in "${gates[@]}"; do wait "$pid"; done
		[ "$(ls -A "$T/folder") $(cat "$T/folder/store")" = "store 7" ]
	done
}
