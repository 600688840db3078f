# Supervision: the command, with its whole tree, is gone before its lock is.

load nodes

setup() {
	nodes_start 3
	# A stubborn tree: every process of it ignores every signal that it can; one has its own session, one has lost its
	# parent as well. Each writes its pid to $T/tree.
	cat > "$T/nasty" <<- 'END'
		#!/bin/bash
		trap '' TERM HUP INT QUIT USR1
		loop='echo $$ >> "$1"; while :; do sleep 0.05; done'
		setsid bash -c "$loop" - "$1" &
		(setsid bash -c "bash -c '$loop' - '$1' &" &)
		echo $$ >> "$1"
		while :; do sleep 0.05; done
	END
	chmod +x "$T/nasty"
}
teardown() {
	[ ! -e "$T/tree" ] || for pid in $(cat "$T/tree"); do is_gone "$pid" || kill -KILL "$pid"; done
	nodes_stop
}

# For a lock that a pause of two seconds does not lose, and that redlock extends every two seconds.
STURDY=(--ttl 6s --node-timeout 900ms)

# patiently: times so long that a node on a busy machine is never taken for dead.
patiently() { export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s; }

tree_is_up() { [ "$(wc -l < "$T/tree" 2> /dev/null || echo 0)" -ge 3 ]; }
tree_is_gone() { for pid in $(cat "$T/tree"); do is_gone "$pid" || return 1; done; }

# in_nasty_tree FILE ARG...: redlock ARG... over such a tree, in the background; returns once the tree is complete.
in_nasty_tree() {
	rm -f "$T/tree"
	in_background "$@" -- "$T/nasty" "$T/tree"
	eventually tree_is_up
}

steal() { for i in 1 2 3; do node "$i" set "$1" rival px 60000 > /dev/null; done; }

# ---- loss ----

@test "a loss: TERM, then KILL for the whole tree, and 79 with any status of the command" {
	in_nasty_tree "$T/out" run -k job "${STURDY[@]}"
	steal job
	ended_with 79
	tree_is_gone
	file_has "$T/out" "lost 'job'"
	# every process of it has a chance to clean up, in any session
	in_background "$T/out" run -k other "${STURDY[@]}" -- bash -c "
		trap 'echo got term; exit 0' TERM
		setsid bash -c \"trap 'echo child got term; exit' TERM; echo up; while :; do sleep 0.02; done\" &
		while :; do sleep 0.02; done"
	eventually file_has "$T/out" up
	steal other
	ended_with 79
	file_has "$T/out" "^got term"
	file_has "$T/out" "child got term"
}

@test "--on-lost: another signal, KILL at once, or only a warning" {
	script='trap "echo got term" TERM; trap "echo got usr1" USR1; echo up
		while [ ! -e "$0" ]; do sleep 0.05; done; echo end'
	in_background "$T/usr1" run -k a "${STURDY[@]}" --on-lost SIGUSR1 -- bash -c "$script" "$T/go"
	eventually file_has "$T/usr1" up
	steal a
	ended_with 79
	file_has "$T/usr1" "got usr1"
	not file_has "$T/usr1" "got term"
	in_background "$T/kill" run -k b "${STURDY[@]}" --on-lost kill -- bash -c "$script" "$T/go"
	eventually file_has "$T/kill" up
	steal b
	ended_with 79
	not file_has "$T/kill" "got"
	in_background "$T/warn" run -k c "${STURDY[@]}" --on-lost warn -- bash -c "$script" "$T/go"
	eventually file_has "$T/warn" up
	steal c
	eventually file_has "$T/warn" "the command continues without the lock"
	touch "$T/go"
	ended_with 79
	file_has "$T/warn" end
	not file_has "$T/warn" "got"
}

@test "a loss that no extension noticed: the replies to the release show it, and 79" {
	# broken, and acquired and released by another client meanwhile
	run -79 redlock run -k job --record "$T/record" --metrics-file "$T/metrics" -- bash -c \
		"'$REDLOCK_BUILD/redlock' break -fy -k job > '$T/broken' 2>&1 && env -u REDLOCK_HELD '$REDLOCK_BUILD/redlock' run -k job -- true"
	is_like "$output" "redlock: lost 'job': the key is gone from [23] of 3 nodes"
	file_has "$T/record" '"outcome":"lost","status":79'
	grep -E 'result="lost".* 1$' "$T/metrics"
	# acquired by a rival that still holds it; with any status of the command
	export T
	export_helpers
	for how in "" "--min-hold 2s" "--on-lost warn" "--limit 3"; do
		run -79 redlock run -k job $how -- bash -c \
			"for i in 1 2 3; do for k in job 'job#1' 'job#2' 'job#3'; do node \$i set \$k rival px 60000; done; done > '$T/set'; exit 3"
		is_like "$output" "redlock: lost 'job*': now held by another program (value 'rival') on [23] of 3 nodes, *"
		for i in 1 2 3; do node "$i" del job 'job#1' 'job#2' 'job#3' > "$T/del"; done
	done
}

@test "a key that is missing on a minority at the end: the command's status, and -v reports it" {
	export T
	export_helpers
	run -3 redlock run -k job -- bash -c "node 1 del job > '$T/del'; exit 3"
	[ "$output" = "" ]
	kill_node 3
	run -3 redlock run -v -k job -- bash -c "node 1 del job > '$T/del'; exit 3"
	[[ "$output" == *"redlock: cannot tell whether 'job' was held to the end: 1 of 3 nodes still had it, 1 did not"* ]]
	# the same for a loss on all nodes, when the replies of a majority are late
	start_node 3
	eventually admitted 3
	export PIDS="${PID[2]} ${PID[3]}"
	export_helpers
	run -3 redlock run -v -k job -- bash -c "for i in 1 2 3; do node \$i del job; done > '$T/del'; kill -STOP \$PIDS
		for pid in \$PIDS; do until in_state \$pid T; do sleep 0.02; done; done; exit 3"
	[[ "$output" == *"redlock: cannot tell whether 'job' was held to the end: 0 of 3 nodes still had it, 1 did not"* ]]
}

@test "options that cannot work are refused at the start" {
	run -64 redlock run -k job --on-lost whatever -- touch "$T/ran"
	[[ "${lines[0]}" == "redlock: --on-lost 'whatever' is not term, kill, warn or a signal's name" ]]
	run -64 redlock run -k job --max-run -1 -- touch "$T/ran"
	[ ! -e "$T/ran" ]
}

@test "a stuck extender: main and the supervisor end the tree by their own clocks" {
	needs ptrace look_inside
	in_nasty_tree "$T/out" run -v -k job "${STURDY[@]}"
	eventually file_has "$T/out" "extended 'job'" # the extender is running
	tid=$(basename "$(dirname "$(grep -lx rl-extender "/proc/$BG/task/"*/comm)")")
	coproc "$REDLOCK_BUILD/tools/freeze" "$tid" 3>&-
	also_end "$COPROC_PID"
	read -r word <&"${COPROC[0]}"
	[ "$word" = frozen ]
	eventually tree_is_gone
	exec {COPROC[1]}>&- # thaw: main joins its thread
	ended_with 79
}

@test "a stuck supervisor: main ends the tree without it" {
	needs ptrace look_inside
	in_nasty_tree "$T/out" run -k job "${STURDY[@]}"
	coproc "$REDLOCK_BUILD/tools/freeze" "$(supervisor_of "$BG")" 3>&-
	also_end "$COPROC_PID"
	read -r word <&"${COPROC[0]}"
	[ "$word" = frozen ]
	steal job
	ended_with 79
	tree_is_gone
}

@test "--on-lost warn: a command that was stopped meanwhile continues without the lock" {
	# a time-out so short that it passes before the keys expire: otherwise redlock might blame the nodes
	in_background "$T/out" run -k job --ttl 6s --node-timeout 300ms --on-lost warn -- bash -c "echo \$\$ > $T/tree; kill -STOP \$\$; echo on"
	eventually test -s "$T/tree"
	eventually in_state "$(cat "$T/tree")" T
	kill -STOP "$BG"
	eventually held_on job 0
	kill -CONT "$BG"
	ended_with 79
	file_has "$T/out" "lost 'job': redlock stood still"
	file_has "$T/out" "^on"
}

# ---- trees ----

@test "no process survives --max-run: 124" {
	rm -f "$T/tree"
	patiently
	run -124 redlock run -k job --kill-after 300ms --max-run 4s -- "$T/nasty" "$T/tree"
	[ "${lines[0]}" = "redlock: the command did not end in time and was killed (SIGKILL)" ]
	[ "${lines[1]}" = "redlock: the command ran for longer than 4s and was ended" ]
	[ "${#lines[@]}" -eq 2 ]
	[ -s "$T/tree" ]
	tree_is_gone
	held_on job 0
}

@test "--max-run does not count the wait, and 0 is no limit" {
	in_background "$T/out" run -k job -- bash -c "echo up; until [ -e '$T/go' ]; do sleep 0.1; done"
	eventually file_has "$T/out" up
	holder=$BG
	in_background "$T/late" run -v -k job --max-run 4s -- echo done
	lived() { [ "$(ps -o etimes= -p "$BG")" -ge 6 ]; }
	eventually lived
	eventually file_has "$T/late" "waiting: 'job' is held"
	touch "$T/go"
	ended_with 0
	file_has "$T/late" done
	run redlock run -k job --max-run 0 -- sleep 0.1
	[ "$status" -eq 0 ]
}

@test "no process survives a TERM that ends redlock: KILL follows --kill-after later" {
	in_nasty_tree "$T/out" run -k job --kill-after 200ms
	kill -TERM "$BG"
	ended_with 137
	tree_is_gone
	held_on job 0
}

@test "a signal to redlock: the command shuts down for as long as it needs, and the lock is extended meanwhile" {
	for signal in TERM INT QUIT HUP; do
		rm -f "$T/go" "$T/out"
		in_background "$T/out" run -v -k job "${STURDY[@]}" --record "$T/record" -- bash -c "
			trap 'echo shuts down; until [ -e $T/go ]; do sleep 0.1; done; echo clean; exit 0' $signal
			echo up; while :; do sleep 0.05; done"
		eventually file_has "$T/out" up
		kill "-$signal" "$BG"
		eventually file_has "$T/out" "shuts down"
		[ "$signal" != TERM ] || eventually extended_since_then 4
		not is_gone "$BG"
		touch "$T/go"
		ended_with 0
		file_has "$T/out" clean
		not file_has "$T/out" SIGKILL
		held_on job 0
	done
	[ "$(jq -r .killed "$T/record" | sort -u)" = false ]
}
extended_since_then() { [ "$(sed '1,/shuts down/d' "$T/out" | grep -c "extended 'job'")" -ge "$1" ]; }

# waits_for_sleep: the shell under redlock has started its program. (Before that, its trap may run at once, or late.)
waits_for_sleep() { pgrep -x sleep -P "$(pgrep -P "$(supervisor_of "$BG")")"; }

@test "TERM to redlock: a program that the shell waits for gets it too, after 3 seconds; the trap's own programs do not" {
	# at the same time, with --kill-after of less than twice that: after half of it
	in_background "$T/plain" run -k plain -- bash -c "trap 'echo clean; exit 5' TERM; echo up; sleep 60"
	local plain=$BG short
	eventually waits_for_sleep
	kill -TERM "$BG"
	in_background "$T/short" run -k short --kill-after 4s -- bash -c "trap 'echo clean; exit 5' TERM; echo up; sleep 60"
	short=$BG
	eventually waits_for_sleep
	kill -TERM "$BG"
	in_background "$T/out" run -k job -- bash -c "trap 'sleep 4; echo slept \$?; exit 6' TERM; echo up; while :; do sleep 0.05; done"
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	ended_with 6
	file_has "$T/out" "slept 0"
	BG=$plain ended_with 5
	file_has "$T/plain" clean
	BG=$short ended_with 5
	file_has "$T/short" clean
}

@test "a loss, --max-run, break and a takeover: the command and its processes get exactly one signal" {
	# Real-time signals are counted, not merged. The child's pid is higher, so redlock signals the child last: when the
	# child has its signal, the command has all of its own.
	cat > "$T/count" <<- 'END'
		import os, signal, sys
		number = signal.SIGRTMIN + 3
		signal.pthread_sigmask(signal.SIG_BLOCK, [number])
		if os.fork() == 0:
		    print("up", flush=True)
		    signal.sigwait([number])
		    os._exit(0)
		os.wait()
		count = 0
		while signal.sigtimedwait([number], 0):
		    count += 1
		print("got", count, flush=True)
	END
	counts() { # KEY OPTION...: starts it
		in_background "$T/out" run -k "$1" --signal RTMIN+3 "${@:2}" -- python3 "$T/count"
	}
	started() { eventually file_has "$T/out" up; }
	counted() { ended_with "$1" && file_has "$T/out" "^got "; }
	patiently
	within_max_run() { counts max-run --max-run 2s && counted 124; } # python may start too late
	eventually within_max_run
	file_has "$T/out" "^got 1$"
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	counts lost "${STURDY[@]}"
	started
	steal lost
	counted 79
	file_has "$T/out" "^got 1$"
	counts broken "${STURDY[@]}"
	started
	redlock break -y -k broken
	counted 79
	file_has "$T/out" "^got 1$"
	counts taken "${STURDY[@]}"
	started
	redlock run --takeover -k taken -- true
	counted 79
	file_has "$T/out" "^got 1$"
}

@test "--kill-after: KILL follows the signal by so long, whatever the TTL is; a message and the record say so" {
	for signal in TERM INT QUIT; do
		rm -f "$T/tree" "$T/record"
		in_nasty_tree "$T/out" run -k job --kill-after 200ms --record "$T/record"
		kill "-$signal" "$BG"
		ended_with 137
		tree_is_gone
		file_has "$T/out" "redlock: the command did not end in time and was killed (SIGKILL)"
		[ "$(jq -r .killed "$T/record")" = true ]
	done
	# longer than the TTL permits after a loss
	in_background "$T/out" run -k job --ttl 10s --kill-after 5m -- bash -c "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	ended_with 7
}

@test "--signal: the first signal after --max-run, and after a loss unless --on-lost names another one" {
	patiently
	run -124 redlock run -k job --max-run 1s --signal INT -- bash -c "trap 'echo got INT; exit 1' INT; while :; do sleep 0.05; done"
	[[ "$output" == *"got INT"*"ran for longer than 1s"* && "$output" != *SIGKILL* ]]
	gets() { # SIGNAL OPTION...
		rm -f "$T/out"
		in_background "$T/out" run -k "job$1" "${STURDY[@]}" "${@:2}" -- bash -c "
			trap 'echo got USR1; exit 1' USR1; trap 'echo got USR2; exit 1' USR2; echo up; while :; do sleep 0.05; done"
		eventually file_has "$T/out" up
		steal "job$1"
		ended_with 79
		[ "$(grep got "$T/out")" = "got $1" ]
	}
	gets USR1 --signal USR1
	gets USR2 --signal USR1 --on-lost USR2
}

@test "TERM to redlock: processes that ignore it keep the lock, and a message names --kill-after" {
	in_background "$T/out" run -k job -- bash -c "
		setsid bash -c 'echo \$\$ > $T/tree; trap \"\" TERM; until [ -e $T/go ]; do sleep 0.1; done' &
		until [ -s $T/tree ]; do sleep 0.02; done
		echo up; exec sleep 60"
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	eventually file_has "$T/out" "hint: --kill-after D ends them by SIGKILL"
	file_has "$T/out" "redlock: 'job': still waiting for [1-9] process"
	run -75 redlock run -n --node-timeout 10s -k job -- true
	touch "$T/go"
	ended_with 143
	held_on job 0
}

@test "after a TERM ended the command, redlock ends the processes that the command left" {
	for signal in TERM INT HUP QUIT; do
		rm -f "$T/tree" "$T/out"
		in_background "$T/out" run -k job --kill-after 200ms -- bash -c "
			setsid bash -c 'echo \$\$ > $T/tree; trap \"\" TERM; while :; do sleep 0.05; done' &
			until [ -s $T/tree ]; do sleep 0.02; done
			echo up; exec sleep 60"
		eventually file_has "$T/out" up
		kill "-$signal" "$BG"
		ended_with $((128 + $(kill -l $signal)))
		tree_is_gone
		held_on job 0
	done
}

@test "a daemon that is left over is reported once, and left alone" {
	patiently
	run redlock run -k job -- bash -c "setsid bash -c 'echo \$\$ > $T/tree; exec sleep 60' > $T/daemon 2>&1 3>&- &
		until [ -s $T/tree ]; do sleep 0.02; done"
	[ "$status" -eq 0 ]
	pid=$(cat "$T/tree")
	[[ "${lines[0]}" == "redlock: the command left 1 process running without the lock, $pid ("*")" ]]
	[[ "${lines[1]}" == "hint: --wait-descendants waits"* ]]
	[ "${#lines[@]}" -eq 2 ]
	not is_gone "$pid"
	held_on job 0
}

@test "--wait-descendants holds the lock until the processes that the command left have ended" {
	patiently
	in_background "$T/out" run -k job --wait-descendants -- bash -c "
		setsid bash -c 'echo \$\$ > $T/tree; until [ -e $T/go ]; do sleep 0.1; done' & exit 7"
	eventually test -s "$T/tree"
	pid=$(cat "$T/tree")
	eventually in_family "$pid" "$(supervisor_of "$BG")"
	run -75 redlock run -n --node-timeout 10s -k job -- true
	not is_gone "$BG"
	touch "$T/go"
	ended_with 7
	[ "$(cat "$T/out")" = "" ]
	# and a signal reaches them
	rm -f "$T/tree"
	in_background "$T/out" run -k job --wait-descendants -- bash -c "
		setsid bash -c 'echo \$\$ > $T/tree; exec sleep 60' & exit 0"
	eventually test -s "$T/tree"
	eventually in_family "$(cat "$T/tree")" "$(supervisor_of "$BG")"
	kill -TERM "$BG"
	ended_with 0
	tree_is_gone
}
in_family() { [ "$(sed 's/.*) . //; s/ .*//' "/proc/$1/stat")" = "$2" ]; }

@test "the release happens after the last process of the tree ended: a rival never meets it" {
	in_nasty_tree "$T/out" run -k job --kill-after 300ms
	holder=$BG
	in_background "$T/rival" run -k job -- bash -c "
		for p in \$(cat $T/tree); do
			grep -qs '^State:.*[^ZX] (' /proc/\$p/status && echo overlap; done; echo checked"
	kill -TERM "$holder"
	ended_with 0
	[ "$(grep -v waiting "$T/rival")" = checked ]
}

@test "a process that forks and exits all the time does not get away" {
	in_background "$T/out" run -k job --kill-after 100ms -- bash -c \
		"'$REDLOCK_BUILD/tools/hop' $T/hops & until [ -s $T/hops ]; do sleep 0.02; done; echo up; exec sleep 60"
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	ended_with 143
	rm "$T/hops" # no process has it open any more
	run pgrep -f "tools/hop $T/hops"
	[ "$status" -eq 1 ]
}

@test "a process is no zombie when only its first thread has ended" {
	in_background "$T/out" run -k job --kill-after 100ms -- bash -c \
		"setsid '$REDLOCK_BUILD/tools/headless' $T/tree & sleep 60"
	eventually test -s "$T/tree"
	pid=$(cat "$T/tree")
	eventually in_state "$pid" Z
	[ "$(ls "/proc/$pid/task" | wc -l)" -gt 1 ]
	kill -TERM "$BG"
	ended_with 143
	[ ! -e "/proc/$pid" ]
}

# ---- redlock's own death ----

@test "redlock killed: the tree is gone while the key still exists" {
	for signal in KILL ABRT SYS; do
		in_nasty_tree "$T/out" run -k "job$signal" --ttl 5m --kill-after 200ms
		# a node that did not know the script gets the key a moment later
		eventually held_on "job$signal" 3
		supervisor=$(supervisor_of "$BG")
		kill "-$signal" "$BG"
		ended_with $((128 + $(kill -l $signal)))
		eventually tree_is_gone
		eventually is_gone "$supervisor"
		eventually held_on "job$signal" 3
		file_has "$T/out" "redlock was killed: the command is terminated"
	done
}

@test "the supervisor killed: main ends the tree, releases, and reports it with 125" {
	patiently
	in_nasty_tree "$T/out" run -k job
	kill -KILL "$(supervisor_of "$BG")"
	ended_with 125
	tree_is_gone
	held_on job 0
	[ "$(cat "$T/out")" = "redlock: the command's supervisor was killed, and the command was ended with it" ]
}

@test "the supervisor killed: a process that forks and exits all the time does not get away from main" {
	for try in 1 2 3; do
		in_background "$T/out" run -k job -- bash -c "setsid '$REDLOCK_BUILD/tools/hop' $T/hops & sleep 60"
		eventually test -s "$T/hops"
		kill -KILL "$(supervisor_of "$BG")"
		ended_with 125
		rm "$T/hops"
		run pgrep -f "tools/hop $T/hops"
		[ "$status" -eq 1 ]
	done
}

@test "children that redlock had before are not the command's" {
	# exec: the shell's children become redlock's
	bash -c "for i in {1..80}; do sleep 60 & echo \$!; done > $T/before
		exec '$REDLOCK_BUILD/redlock' run -k job -- '$T/nasty' '$T/tree'" > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	eventually tree_is_up
	for pid in $(cat "$T/before"); do also_end "$pid"; done
	kill -KILL "$(pgrep -P "$BG" | grep -vxFf "$T/before" | head -n 1)"
	ended_with 125
	tree_is_gone
	for pid in $(cat "$T/before"); do not is_gone "$pid"; done
}

@test "a nested run killed: its command is gone before the outer lock is" {
	me=$REDLOCK_BUILD/redlock
	for inner in "run -k other" "run --reentrant -k job"; do
		for through in "" "sh -c '\"\$@\"; exit 3' sh"; do
			rm -f "$T/tree"
			eval "set -- $through $me $inner --kill-after 5s -- $T/nasty $T/tree"
			in_background "$T/out" run -k job -- "$@"
			eventually tree_is_up
			kill -KILL "$(pgrep --oldest -f "^$me $inner .* $T/nasty")"
			for i in 1 2 3; do node "$i" del other > /dev/null; done
			ended_with "$([ -n "$through" ] && echo 3 || echo 137)"
			tree_is_gone
			held_on job 0
		done
	done
}

@test "a command that was killed leaves no process on purpose" {
	in_background "$T/out" run -k job --kill-after 200ms -- bash -c "'$T/nasty' '$T/tree' & echo \$\$ > $T/pid; wait"
	eventually tree_is_up
	kill -KILL "$(cat "$T/pid")"
	ended_with 137
	tree_is_gone
	# the dying processes' messages about each other are not redlock's; a message about a slow node might be
	not grep -vE 'could not be released|and was killed .SIGKILL.' < <(grep ^redlock: "$T/out")
}

@test "redlock killed, with its supervisor stopped before: the tree is gone while the key still exists" {
	in_nasty_tree "$T/out" run -k job --ttl 5m --kill-after 200ms
	# a node that did not know the script gets the key a moment later
	eventually held_on job 3
	supervisor=$(supervisor_of "$BG")
	also_end "$supervisor"
	kill -STOP "$BG" # or it would continue the supervisor
	eventually in_state "$BG" T
	kill -STOP "$supervisor"
	eventually in_state "$supervisor" T
	kill -KILL "$BG"
	ended_with 137
	eventually tree_is_gone
	eventually held_on job 3
}

@test "a supervisor that is stopped is continued at once" {
	in_background "$T/out" run -k job "${STURDY[@]}" -- bash -c "echo up; until [ -e '$T/go' ]; do sleep 0.1; done; exit 5"
	eventually file_has "$T/out" up
	supervisor=$(supervisor_of "$BG")
	kill -STOP "$supervisor"
	eventually in_state "$supervisor" S
	touch "$T/go"
	ended_with 5
}

@test "neither killall nor a signal to the group reaches the supervisor" {
	in_nasty_tree "$T/out" run -k job --kill-after 200ms
	supervisor=$(supervisor_of "$BG")
	eventually file_has "/proc/$supervisor/comm" '^rl-supervisor$'
	[ "$(ps -o sid= -p "$supervisor" | tr -d ' ')" = "$supervisor" ]
	kill -TERM "$supervisor"
	kill -INT "$supervisor"
	kill -KILL "$BG"
	ended_with 137
	eventually tree_is_gone
}

@test "pkill -9 -f with redlock's arguments, or the command's: the tree is gone while the key still exists" {
	unset REDLOCK_UNDER # valgrind's own command line stays
	for words in "redlock run .*$T/nasty" redlock "$T/nasty"; do
		in_nasty_tree "$T/out" run -k job --ttl 5m --kill-after 200ms
		eventually held_on job 3
		supervisor=$(supervisor_of "$BG")
		eventually file_has "/proc/$supervisor/comm" '^rl-supervisor$'
		# the processes that pkill would kill, as far as this test started them
		pgrep -f "$words" | grep -xF -e "$BG" -e "$supervisor" -f "$T/tree" > "$T/killed"
		file_has "$T/killed" "^$BG$"
		xargs kill -KILL < "$T/killed"
		ended_with 137
		eventually tree_is_gone
		eventually is_gone "$supervisor"
		eventually held_on job 3
		for i in 1 2 3; do node "$i" del job > /dev/null; done
	done
}

@test "the supervisor's command line is its name, without an argument of redlock's and without a variable" {
	unset REDLOCK_UNDER
	run -0 redlock run -k job -- bash -c "until cat /proc/\$PPID/comm | grep -qx rl-supervisor; do sleep 0.02; done
		tr -d '\\0' < /proc/\$PPID/cmdline; printf '|%s' \"\$@\"" - a 'b c' ''
	[ "$output" = "rl-supervisor|a|b c|" ]
}

@test "set-uid commands: the tree of a user's redlock is ended, or redlock names the process that it cannot end" {
	needs users setuid
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$T"
	chmod 777 "$T"/*.sock
	cp "$(command -v sleep)" "$T/suid-sleep"
	cp "$(command -v perl)" "$T/suid-perl"
	chmod 4755 "$T/suid-sleep" "$T/suid-perl"
	# the real user is still nobody, the effective one root: the kernel clears parent-death signals
	setpriv --reuid=65534 --regid=65534 --clear-groups "$REDLOCK_BUILD/redlock" run -k job --kill-after 200ms \
		-- sh -c "$T/suid-sleep 60" > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	eventually pgrep -f "^$T/suid-sleep 60"
	pgrep -f "^$T/suid-sleep 60" > "$T/tree"
	kill -KILL "$BG"
	ended_with 137
	eventually tree_is_gone
	# a process that is root's in every respect: user nobody cannot end it; redlock does not release the lock
	rooted=root$BASHPID
	rm "$T/tree"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$REDLOCK_BUILD/redlock" run -k other --kill-after 200ms \
		-- "$T/suid-perl" -e "\$< = 0; open F, '>', '/proc/self/comm'; print F '$rooted'; close F; sleep 60" \
		> "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	eventually pgrep -x "$rooted"
	pgrep -x "$rooted" > "$T/tree"
	kill -TERM "$BG"
	eventually file_has "$T/out" "still waiting for 1 process that this user may not end, such as $(cat "$T/tree") ($rooted)"
	eventually held_on other 3
	kill -KILL "$(cat "$T/tree")"
	ended_with 137
	held_on other 0
}

@test "a fork that fails: 125, no process is signalled, and the lock is free" {
	needs users
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$T"
	chmod 777 "$T"/*.sock
	patiently
	# a new user, with one process wherever else the suite runs
	uid=$((1000000 + BASHPID % 100000))
	# (a leak sanitizer would need a thread)
	ASAN_OPTIONS=detect_leaks=0 run -125 prlimit --nproc=1 setpriv --reuid=$uid --regid=$uid --clear-groups \
		"$REDLOCK_BUILD/redlock" run -k job -- true
	[ "$output" = "redlock: cannot start the command: fork: Resource temporarily unavailable" ]
	held_on job 0
}

@test "without a usable /proc, no command is started" {
	needs pids
	patiently
	run -125 unshare --pid --fork "$REDLOCK_BUILD/redlock" run -k job -- touch "$T/ran"
	[ "${lines[0]}" = "redlock: cannot start the command: /proc does not show this process" ]
	[[ "${lines[1]}" == "hint: "* ]]
	[ ! -e "$T/ran" ]
	held_on job 0
}

# deny SYSCALL[:ARGUMENT] ERRNO: under a filter that denies a system call, as some containers have
denying() { REDLOCK_UNDER="$REDLOCK_BUILD/tools/deny $1 $2 -- ${REDLOCK_UNDER-}"; }

@test "a filter denies signals by descriptor: the tree is ended all the same" {
	under=${REDLOCK_UNDER-}
	for denied in "pidfd_send_signal EPERM" "pidfd_send_signal ENOSYS" "pidfd_open EPERM" "pidfd_open ENOSYS"; do
		REDLOCK_UNDER=$under
		denying $denied
		in_nasty_tree "$T/out" run -k job --kill-after 50ms
		kill -TERM "$BG"
		eventually is_gone "$BG"
		ended_with 137
		tree_is_gone
		in_nasty_tree "$T/out" run -k job --kill-after 50ms
		kill -KILL "$BG"
		ended_with 137
		eventually tree_is_gone
		for i in 1 2 3; do node "$i" del job > /dev/null; done
	done
}

@test "a filter denies pidfd_open: a descendant with a lower pid than its parent is signalled and counted, too" {
	needs mounts pids
	patiently
	printf '%s\n' "trap 'echo got > $T/got; exit' TERM" "echo \$\$ > $T/low" 'while :; do sleep 0.02; done' > "$T/lower"
	printf '%s\n' "echo 100 > /proc/sys/kernel/ns_last_pid; sh $T/lower & trap '' TERM; wait; wait" > "$T/parent"
	printf '%s\n' 'echo 300 > /proc/sys/kernel/ns_last_pid' "sh $T/parent & echo \$! > $T/high" \
		"until [ -s $T/low ]; do sleep 0.02; done" 'setsid kill -TERM 1; wait' > "$T/command"
	run -143 unshare --pid --fork --mount-proc "$REDLOCK_BUILD/tools/deny" pidfd_open EPERM -- \
		"$REDLOCK_BUILD/redlock" run -k job --kill-after 5s -- sh "$T/command"
	[ "$(cat "$T/low")" -lt "$(cat "$T/high")" ]
	[ "$(cat "$T/got")" = got ]
	held_on job 0
}

@test "a filter denies a call that a run needs: redlock names it, and starts no command" {
	patiently
	# The leak check at the end of a sanitized program waits for a child, too: without wait4 it stays stopped.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	under=${REDLOCK_UNDER-}
	while read -r syscall error text; do
		REDLOCK_UNDER=$under
		denying "$syscall" "$error"
		for command in "run -k job" "sandbox"; do
			says 125 '' "redlock: *: $text"$'\n'"hint: *" $command -- touch "$T/ran"
		done
		[ ! -e "$T/ran" ]
		held_on job 0
	done <<- END
		ppoll EPERM ppoll: Operation not permitted
		ppoll ENOSYS ppoll: Function not implemented
		poll EPERM poll: Operation not permitted
		kill EPERM kill: Operation not permitted
		kill ENOSYS kill: Function not implemented
		timerfd_settime EPERM timerfd_settime: Operation not permitted
		wait4 EPERM wait4: Operation not permitted
		prctl:36 EINVAL prctl(PR_SET_CHILD_SUBREAPER): Invalid argument
	END
	denying ppoll EPERM
	for command in "status job" "acquire -k job" "hold -k job" doctor; do
		says 125 '' "redlock: *: ppoll: Operation not permitted"$'\n'"hint: *" $command
	done
}

@test "a process that /proc does not show (hidepid): it is terminated when its parent has ended, and the message is true" {
	needs mounts pids users
	mkdir "$T/theirs"
	chown 65534:65534 "$T/theirs"
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$T"
	for i in 1 2 3; do chmod 666 "$T/$i.sock"; done
	cp "$REDLOCK_BUILD/redlock" "$T/theirs/"
	# 4: PR_SET_DUMPABLE
	cat > "$T/theirs/hidden" <<- END
		import ctypes, signal, sys, time
		ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
		if sys.argv[1] == "deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN)
		open("$T/theirs/up", "w").write("x")
		while True: time.sleep(0.02)
	END
	cat > "$T/theirs/look" <<- 'END'
		mount -t proc -o "$1" proc /proc && cd "${0%/*}" || exit
		setpriv --reuid=65534 --regid=65534 --clear-groups ./redlock run -k job --kill-after "$3" --max-run "$4" -- \
			sh -c 'python3 hidden "$1"; :' sh "$2" &
		until [ -e up ] || ! kill -0 $!; do sleep 0.02; done
		[ "$4" != 1h ] || kill -TERM $!
		wait $!
	END
	for option in hidepid=2 hidepid=ptraceable; do
		rm -f "$T/theirs/up"
		run -143 timeout --signal=KILL 60 unshare --mount --pid --fork --kill-child sh "$T/theirs/look" $option mild 30s 1h
		[[ "$output" != *SIGKILL* ]]
		held_on job 0
		rm -f "$T/theirs/up"
		run -143 timeout --signal=KILL 60 unshare --mount --pid --fork --kill-child sh "$T/theirs/look" $option deaf 500ms 1h
		is_like "$output" "*the command did not end in time and was killed (SIGKILL)*"
		held_on job 0
		rm -f "$T/theirs/up"
		run -124 timeout --signal=KILL 60 unshare --mount --pid --fork --kill-child sh "$T/theirs/look" $option mild 30s 2s
		[ "$output" = "redlock: the command ran for longer than 2s and was ended" ]
		held_on job 0
	done
}

@test "the command takes all descriptors from the processes above it: extended, signalled and released all the same" {
	patiently
	# the leak check at the end of a sanitized program opens files
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	printf '%s\n' 'for p in $PPID $(ps -o ppid= -p $PPID); do prlimit --pid $p --nofile=0; done' \
		"echo up; until [ -e $T/go ]; do sleep 0.1; done; exit 5" > "$T/command"
	in_background "$T/out" run -v --ttl 3s --node-timeout 500ms -k job -- sh "$T/command"
	eventually file_has "$T/out" '^up'
	extended() { [ "$(grep -c extended "$T/out")" -ge 3 ]; }
	eventually extended
	held_on job 3
	touch "$T/go"
	ended_with 5
	held_on job 0
	rm "$T/go"
	in_background "$T/out" run --ttl 3s --node-timeout 500ms -k job -- sh "$T/command"
	eventually file_has "$T/out" '^up'
	kill -TERM "$BG"
	ended_with 143
	held_on job 0
}

@test "as process 1 of a container" {
	needs mounts pids
	patiently
	run unshare --pid --fork --mount-proc "$REDLOCK_BUILD/redlock" run -k job --kill-after 200ms -- \
		bash -c "echo \$PPID; sleep 60 > $T/out 2>&1 3>&- & exit 3"
	[ "$status" -eq 3 ]
	[ "${lines[0]}" = 2 ] # the supervisor
	[[ "$output" == *"left 1 process running"* ]]
	held_on job 0
	run unshare --pid --fork --mount-proc "$REDLOCK_BUILD/redlock" run -k job -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	held_on job 0
}

# ---- suspension ----

# Each line of the journal names its writer: no client writes after the other has begun.
journal='while :; do echo "$0"; sleep 0.01; done >> "$1"'
no_overlap() {
	file_has "$T/journal" rival && file_has "$T/journal" ours
	[ "$(uniq "$T/journal" | tr '\n' ' ')" = "ours rival " ]
}

@test "redlock stopped for longer than the TTL, with a rival waiting: no write overlaps" {
	in_background "$T/out" run -k job --ttl 1s -- bash -c "$journal" ours "$T/journal"
	ours=$BG
	eventually file_has "$T/journal" ours
	in_background "$T/rival" run -k job --max-run 4s -- bash -c "$journal" rival "$T/journal"
	kill -STOP "$ours"
	ended_with 124
	kill -CONT "$ours"
	BG=$ours
	ended_with 79
	file_has "$T/out" "lost 'job'"
	no_overlap
}

@test "redlock and its command stopped together: no write overlaps, and the command ends" {
	# a new session, so that the whole group can be stopped
	setsid --fork --wait "$REDLOCK_BUILD/redlock" run -k job --ttl 1s -- bash -c "$journal" ours "$T/journal" \
		> "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	ours=$BG
	eventually file_has "$T/journal" ours
	group=$(ps -o pgid= -p "$(pgrep -P "$ours")" | tr -d ' ')
	in_background "$T/rival" run -k job --max-run 4s -- bash -c "$journal" rival "$T/journal"
	kill -STOP -- "-$group"
	ended_with 124
	kill -CONT -- "-$group"
	BG=$ours
	ended_with 79
	no_overlap
}

@test "the command stopped: redlock keeps the lock, and the command continues" {
	in_background "$T/out" run -v -k job "${STURDY[@]}" -- bash -c "echo \$\$ > $T/tree; kill -STOP \$\$; echo on"
	eventually test -s "$T/tree"
	eventually in_state "$(cat "$T/tree")" T
	: > "$T/out"
	eventually file_has "$T/out" "extended 'job'"
	eventually held_on job 3
	kill -CONT "$(cat "$T/tree")"
	ended_with 0
	file_has "$T/out" "^on"
}

@test "continued in time, redlock extends first and then continues the command" {
	in_background "$T/out" run -v -k job -- bash -c "echo \$\$ > $T/tree; kill -STOP \$\$; echo on"
	eventually test -s "$T/tree"
	eventually in_state "$(cat "$T/tree")" T
	kill -STOP "$BG"
	eventually in_state "$BG" T
	kill -CONT "$BG"
	ended_with 0
	[ "$(grep -nE 'extended|^on' "$T/out" | head -n 1 | cut -d: -f2-3 | cut -c1-23)" = "redlock: extended 'job'" ]
	file_has "$T/out" "^on"
}

@test "continued too late, the command does not run on: 79" {
	in_background "$T/out" run -k job --ttl 1s -- bash -c "echo \$\$ > $T/tree; kill -STOP \$\$; echo on"
	eventually test -s "$T/tree"
	eventually in_state "$(cat "$T/tree")" T
	kill -STOP "$BG"
	eventually held_on job 0
	kill -CONT "$BG"
	ended_with 79
	not file_has "$T/out" "^on"
}

@test "the machine suspended: the lock aged, and the command is ended on waking" {
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" SUSPENDED=$T/suspended \
		LD_PRELOAD=$REDLOCK_BUILD/tools/suspend.so in_background "$T/out" run -k job "${STURDY[@]}" -- \
		"$T/nasty" "$T/tree"
	eventually tree_is_up
	# timers that run on meanwhile: main's, its connections', the supervisor's; suspend.so writes their clocks there
	for pid in "$BG" "$(supervisor_of "$BG")"; do
		[ "$(sort -u "$T/suspended.$pid")" = 7 ]
	done
	touch "$T/suspended"
	ended_with 79
	tree_is_gone
}

# ---- signals ----

# valgrind keeps the last signal for itself
# bats test_tags=not-under-valgrind
@test "every signal is passed on, exactly once" {
	patiently
	signals="HUP INT QUIT USR1 USR2 ALRM VTALRM PROF PIPE IO PWR STKFLT XCPU XFSZ RTMIN RTMIN+3 RTMAX"
	# musl reserves signal 34, bash's RTMIN: no process can receive it
	[ "${REDLOCK_LIBC-}" != musl ] || signals=${signals/RTMIN/RTMIN+1}
	in_background "$T/out" run -k job -- bash -c "
		for s in $signals; do trap \"echo \$s\" \$s; done; trap 'echo TERM; exit 3' TERM
		echo ready; while :; do sleep 0.02; done"
	eventually file_has "$T/out" ready
	for signal in $signals; do
		kill -s "$signal" "$BG"
		eventually file_has "$T/out" "^$signal\$"
	done
	kill -s TERM "$BG"
	ended_with 3
	[ "$(tr '\n' ' ' < "$T/out")" = "ready $signals TERM " ]
}

@test "kill 0 within the command: it has its signal already, and gets no second one" {
	patiently
	# A new group, or the test would be hit as well. USR2, sent to redlock from outside after that, shows that redlock
	# has handled USR1.
	setsid --fork --wait "$REDLOCK_BUILD/redlock" run -k job -- bash -c '
		trap "echo USR1" USR1; trap "echo USR2; exit 3" USR2; kill -s USR1 0; echo sent
		while :; do sleep 0.02; done' > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
	eventually file_has "$T/out" sent
	kill -s USR2 "$(pgrep -P "$BG")"
	ended_with 3
	[ "$(cat "$T/out")" = $'USR1\nsent\nUSR2' ]
}

# Without 32 and 33, which the C library (and a sanitizer in it) reserves.
own_signals() {
	while read -r name rest; do
		[[ $name != Sig[BICP]*: ]] || rest=$(printf '%x' $((0x$rest & ~0x180000000)))
		echo "$name $rest"
	done
}

@test "SIGCHLD ignored or blocked by the parent, all signals blocked: redlock works, and the command inherits them" {
	patiently
	for how in --ignore-signal=CHLD --block-signal=CHLD --block-signal; do
		run env "$how" "$REDLOCK_BUILD/redlock" run -k job -- sh -c "grep -E '^Sig(Blk|Ign)' /proc/self/status; exit 3"
		[ "$status" -eq 3 ]
		[ "$(own_signals <<< "$output")" = "$(env "$how" sh -c "grep -E '^Sig(Blk|Ign)' /proc/self/status" | own_signals)" ]
	done
}

@test "a signal at any moment ends redlock and its tree, and leaves nothing" {
	cp "$(command -v sleep)" "$T/patient"
	for i in {1..40}; do
		# From before the first system call to well after the command's start. Not from bash: its own children lose a
		# TERM that arrives too early.
		run -143 timeout --foreground --preserve-status "$(printf 0.%03d5 $((RANDOM % 20)))" \
			"$REDLOCK_BUILD/redlock" run -k job -- "$T/patient" 61
		free_everywhere job
	done
	[ -z "$(pgrep -f "^$T/patient")" ]
}

@test "a stopped command receives TERM" {
	patiently
	in_background "$T/out" run -k job -- bash -c "
		trap 'echo heard; exit 3' TERM; echo \$\$ > $T/tree; kill -STOP \$\$; while :; do sleep 0.02; done"
	eventually test -s "$T/tree"
	eventually in_state "$(cat "$T/tree")" T
	kill -TERM "$BG"
	ended_with 3
	[ "$(cat "$T/out")" = heard ]
}

@test "a stopped process of the tree receives TERM when the time is over" {
	cat > "$T/stopped" <<- 'EOF'
		trap 'echo heard; exit' TERM
		kill -STOP $$
		while :; do sleep 0.02; done
	EOF
	# its parent survives TERM: otherwise the kernel would continue an orphaned group
	in_background "$T/out" run -k job --max-run 4s --kill-after 5s -- \
		bash -c "trap : TERM; bash '$T/stopped'; exit 4"
	ended_with 124
	file_has "$T/out" '^heard$'
}

@test "no core dump of redlock, whichever signal kills its command, or redlock itself" {
	cd "$T"
	run -139 bash -c "ulimit -c unlimited; '$REDLOCK_BUILD/redlock' run -k job -- bash -c 'ulimit -c 0; kill -SEGV \$\$'; exit \$?"
	[[ "$output" == *"Segmentation fault"* && "$output" != *"core dumped"* ]]
	# the shell would report it
	T=$T bash -c 'ulimit -c unlimited; "$REDLOCK_BUILD/redlock" run -k job -- sleep 60 & echo $! > "$T/pid"; wait $!' \
		> "$T/out" 2>&1 3>&- &
	also_end $!
	eventually held_on job 3
	[ "$(stat -c %U "/proc/$(cat "$T/pid")/environ")" = root ]
	kill -ABRT "$(cat "$T/pid")"
	eventually file_has "$T/out" Aborted
	not file_has "$T/out" 'core dumped'
}

# ---- the command's world ----

@test "the command has the environment that redlock was started in" {
	look='umask; pwd; ulimit -a; ls -l /proc/self/fd | grep -c -- "->"; id; nice
		grep -E "^(Sig[BICP]|Umask|CapInh|CapEff|NoNewPrivs|Seccomp)" /proc/self/status
		cat /proc/self/oom_score_adj; ps -o pgid=,sid=,tty= -p $$; env | grep -v "^REDLOCK_\|^_=" | sort'
	umask 027
	mkdir "$T/deep" && cd "$T/deep"
	ulimit -S -n 200
	exec 7< /dev/null
	sh -c "$look" > "$T/without"
	nice -n 0 "$REDLOCK_BUILD/redlock" run -k job -- sh -c "$look" > "$T/with"
	diff <(own_signals < "$T/without") <(own_signals < "$T/with")
	[ "$(wc -l < "$T/with")" -gt 30 ]
}

@test "redlock has priority on a busy machine; the command keeps the priority of the caller" {
	needs priority
	priority() { ps -o cls=,rtprio=,ni= -p "$1" | xargs; }
	are_ahead() { ps -L -o cls=,rtprio= -p "$BG,$(supervisor_of "$BG")" | grep -c "^ *RR *$1$" | grep -qx 3; }
	for as in "nice -n $((7 - $(nice))) chrt --batch 0:B 0 7:1" "chrt --fifo 30:FF 30 -:31"; do
		IFS=: read -r by own ahead <<< "$as"
		REDLOCK_UNDER="$by ${REDLOCK_UNDER-}" in_background "$T/out" run -k job "${STURDY[@]}" -- \
			sh -c 'echo $$ > "$0"; exec sleep 60' "$T/pid"
		eventually [ -s "$T/pid" ]
		[ "$(priority "$(cat "$T/pid")")" = "$own" ]
		eventually are_ahead "$ahead"
		kill "$BG"
		ended_with 143
		rm "$T/pid"
	done
}

@test "at its release, redlock gives its priority up: a node beside it must wake the next client" {
	needs ptrace priority
	unset REDLOCK_UNDER
	"$REDLOCK_BUILD/tools/inject" list -- "$REDLOCK_BUILD/redlock" run -k job -- true > "$T/calls"
	file_has "$T/calls" "main sched_setscheduler 2" # one raises it before the command
}

@test "processes that get KILL have priority on a busy machine, each of their threads" {
	needs ptrace priority
	unset REDLOCK_UNDER
	# calls [OPTION...] -- COMMAND: counts the system calls of a run.
	calls() {
		"$REDLOCK_BUILD/tools/inject" list -- "$REDLOCK_BUILD/redlock" run -k job --kill-after 50ms "$@" 2> "$T/err" > "$T/calls"
	}
	of_supervisor() { sed -n "s/^supervisor $1 //p" "$T/calls"; }
	# the supervisor sets a priority for itself, and for each process that it kills
	calls -- true
	[ "$(of_supervisor sched_setscheduler)" -eq 1 ]
	# a killed command leaves these processes, which ignore TERM
	calls -- sh -c 'trap "" TERM; sleep 60 & trap - TERM; kill -TERM $$'
	[ "$(of_supervisor sched_setscheduler)" -ge 2 ]
	# Each thread, until the kernel has ended them all: of 30 threads, the supervisor meets a dozen or more. With one
	# priority for each process, there would be no more of these calls than signals.
	asks_for_threads() {
		rm -f "$T/up"
		calls -- sh -c "'$REDLOCK_BUILD/tools/headless' '$T/up' 30 & until [ -s '$T/up' ]; do sleep 0.02; done
			kill -TERM \$\$"
		[ "$(of_supervisor sched_setscheduler)" -ge $(($(of_supervisor pidfd_send_signal) + 8)) ]
	}
	eventually asks_for_threads
}

# (valgrind and qemu have system calls and pages of their own)
# bats test_tags=not-under-valgrind,not-under-qemu
@test "a run has at most 120 system calls of its own, and touches few pages" {
	needs ptrace
	# a program that watches itself needs more
	local calls_max=120 pages_max=145
	if grep -qE '__[at]san_init' "$REDLOCK_BUILD/redlock"; then calls_max=100000 pages_max=1000000; fi
	# A first run tells the nodes the scripts, and one that takes 50 ms makes the probe.
	makes_few_calls() {
		local calls
		"$REDLOCK_BUILD/tools/inject" list -- "$REDLOCK_BUILD/redlock" run -k job -- true > "$T/calls"
		calls=$(awk '$1 == "main" || $1 == "supervisor" { n += $3 } END { print n }' "$T/calls")
		((calls > 50 && calls <= calls_max))
	}
	eventually makes_few_calls
	# faults COMMAND...: the median of page faults
	faults() { "$REDLOCK_BUILD/tools/turns" 1 1 15 "$@" | awk '{ print $4 }'; }
	touches_few_pages() {
		local bare all
		bare=$(faults true)
		all=$(faults "$REDLOCK_BUILD/redlock" run -k job -- true)
		echo "page faults: $all with redlock, $bare without" > "$T/faults"
		((bare > 10 && all <= bare + pages_max))
	}
	eventually touches_few_pages
}

@test "after the start only the command holds the inherited descriptors" {
	local names=(in out seven far)
	touch "$T/in" "$T/seven" "$T/far"
	exec 5< "$T/in" 6> "$T/out" 7< "$T/seven" 8> "$T/err" 200< "$T/far"
	for fd in 5 6 7 8 200; do flock $fd; done
	"$REDLOCK_BUILD/redlock" run -k job -- bash -c 'until [ -e "$0" ]; do sleep 0.1; done
		exec sleep 60 < /dev/null > /dev/null 7<&- 200<&-' "$T/go" <&5 >&6 2>&8 3>&- 5<&- 6>&- 8>&- &
	BG=$!
	also_end "$BG"
	exec 5<&- 6>&- 7<&- 8>&- 200<&-
	eventually held_on job 3
	for name in "${names[@]}"; do not is_closed "$T/$name"; done
	touch "$T/go"
	for name in "${names[@]}"; do eventually is_closed "$T/$name"; done
	not is_closed "$T/err" # redlock keeps it for its messages
	not is_gone "$BG"
}

@test "after the start the command has redlock's working directory, and redlock only what it needs" {
	needs look_inside
	mkdir "$T/deep"
	(cd "$T/deep" && exec "$REDLOCK_BUILD/redlock" run -k job -- sleep 60 < "$T/nasty" > "$T/out" \
		7< "$T/nasty" 200< "$T/nasty" 2> "$T/err" 3>&-) &
	BG=$!
	also_end "$BG"
	eventually held_on job 3
	supervisor=$(supervisor_of "$BG")
	command=$(pgrep -P "$supervisor")
	[ "$(readlink "/proc/$command/cwd")" = "$T/deep" ]
	for fd in 0 7 200; do [ "$(readlink "/proc/$command/fd/$fd")" = "$T/nasty" ]; done
	for pid in "$BG" "$supervisor"; do
		eventually let_go "$pid"
		[ "$(readlink "/proc/$pid/fd/2")" = "$T/err" ]
		[ "$(ls -l "/proc/$pid/fd" | grep -cE "$T/(nasty|out)")" = 0 ]
	done
	# the supervisor has the standard descriptors, a socket to main, its signals and its timer
	[ "$(ls "/proc/$supervisor/fd" | wc -l)" -eq 6 ]
	# the probe has its signals and a socket to main, its parent the signals only
	eventually pgrep -P "$BG" -x rl-probe > "$T/parent"
	eventually pgrep -P "$(cat "$T/parent")" > "$T/probe"
	is_bare() { [ "$(ls -l "/proc/$1/fd" | sed -n 's/.* -> //p' | sort | sed 's/:.*//' | tr '\n' ' ')" = \
		"/dev/null /dev/null /dev/null anon_inode $2" ]; }
	eventually is_bare "$(cat "$T/probe")" "socket "
	eventually is_bare "$(cat "$T/parent")" ""
	[ "$(readlink "/proc/$(cat "$T/probe")/cwd")" = / ]
}
let_go() { [ "$(readlink "/proc/$1/cwd")" = / ] && [ "$(readlink "/proc/$1/fd/0")" = /dev/null ]; }

@test "a reader sees the end of file when the command closes its stdout, though it runs on" {
	(exec "$REDLOCK_BUILD/redlock" run -k job -- bash -c "echo one; exec > /dev/null; until [ -e $T/go ]; do sleep 0.1; done") |
		{ cat; touch "$T/go"; } > "$T/out"
	[ "$(cat "$T/out")" = one ]
}

@test "socket activation and watchdog: LISTEN_PID and WATCHDOG_PID name the command" {
	patiently
	names='echo $LISTEN_PID $WATCHDOG_PID $$ ${LISTEN_PIDFDID-none}'
	for subcommand in "run -k job" "gate --store '$T/store' --fence 1"; do
		run -0 bash -c "LISTEN_FDS=1 LISTEN_PID=\$\$ LISTEN_PIDFDID=7 WATCHDOG_USEC=1 WATCHDOG_PID=\$\$ exec '$REDLOCK_BUILD/redlock' $subcommand -- bash -c '$names'"
		read -r listener reporter is id <<< "$output"
		[ "$listener $reporter" = "$is $is" ]
		# the id of redlock's process
		[ "$id" = none ]
	done
	# but not when the variables named another process
	LISTEN_PID=1 LISTEN_PIDFDID=7 WATCHDOG_PID=2 run -0 redlock run -k job -- sh -c "$names"
	is_like "$output" "1 2 +([0-9]) 7"
	# each is one of its own
	run -0 bash -c "LISTEN_PID=1 WATCHDOG_PID=\$\$ exec '$REDLOCK_BUILD/redlock' run -k job -- bash -c '$names'"
	read -r listener reporter is id <<< "$output"
	[ "$listener $reporter" = "1 $is" ]
}

# ---- min-hold, reentrant ----

@test "--min-hold: the key stays for its remaining time, and no process" {
	run redlock run -v -k job --min-hold 20s -- sh -c 'exit 4' "$T"
	[ "$status" -eq 4 ]
	[[ "$output" == *"left 'job' to expire in "* || "$output" == *"could not be released on "[23]" of 3 nodes"* ]]
	eventually held_on job 3
	# a node that is too slow for the release keeps the key for longer, and redlock reports that
	if [[ "$output" != *"could not be released"* ]]; then
		for i in 1 2 3; do
			left=$(node $i pttl job)
			((left > 0 && left <= 20000))
		done
	fi
	run -75 redlock run -n --node-timeout 10s -k job -- true
	[ -z "$(pgrep -f "redlock run -v -k job --min-hold.*$T")" ]
	# a command that ran for longer releases at once; so does one that could not be started
	run redlock run -k other --min-hold 1ms -- sleep 0.1
	held_on other 0
	run -127 redlock run -k other --min-hold 20s -- no-such-command
	held_on other 0
	# the keys expire
	run redlock run -k third --min-hold 5s -- true
	eventually held_on third 3
	free_everywhere third
}

@test "a nested run of the same key is refused at once, with its own message" {
	patiently
	run -75 redlock run -k job -- "$REDLOCK_BUILD/redlock" run -k job -- touch "$T/ran"
	[ "${lines[0]}" = "redlock: 'job' is held by a run that this one is part of" ]
	[[ "${lines[1]}" == "hint: --reentrant"* ]]
	[ ! -e "$T/ran" ]
	held_on job 0
	# also through another lock
	run -9 redlock run -k job -- "$REDLOCK_BUILD/redlock" run -k other -- \
		"$REDLOCK_BUILD/redlock" run -k job -E 9 -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	held_on job 0
	held_on other 0
}

@test "a nested run without REDLOCK_HELD: that of the processes above it counts" {
	patiently
	me=$REDLOCK_BUILD/redlock
	# as sudo and su do: the process that has the variable stays
	printf '#!/bin/sh\nenv -i "PATH=$PATH" "REDLOCK_NODES=$REDLOCK_NODES" "$@"; exit $?\n' > "$T/bare"
	chmod +x "$T/bare"
	bare=("$T/bare")
	for way in '' '--reentrant' '--shared'; do
		[ "$way" = --reentrant ] && expected=0 || expected=75
		run -$expected redlock run -k job -- "${bare[@]}" "$me" run -w 20s $way -k job -- true
		[ $expected = 0 ] || [[ "$output" == *"'job' is held by a run that this one is part of"* ]]
	done
	# also through a run without it under another lock, and for the run that is farthest away
	run -75 redlock run -k job -- "${bare[@]}" "$me" run -k other -- "${bare[@]}" "$me" run -k job -- true
	run -75 redlock run -k job -- "${bare[@]}" "$me" run -k other -- "$me" run -k third -- "$me" run -k job -- true
	# the command of another run is not part of it
	redlock run -k job -- sh -c "echo > '$T/up'; until [ -e '$T/go' ]; do sleep 0.1; done" &
	also_end $!
	eventually test -e "$T/up"
	run -75 "${bare[@]}" "$me" run -w 10ms -k job -- true
	[[ "$output" != *"part of"* ]]
	touch "$T/go"
	wait $!
	free_everywhere job
	free_everywhere other
}

@test "a nested run as another user, who cannot read REDLOCK_HELD above it: a hint names the holder" {
	needs users
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$T"
	chmod 777 "$T"/*.sock
	cp "$REDLOCK_BUILD/redlock" "$T/another-name"
	run -75 redlock run -k job -- setpriv --reuid=65534 --clear-groups -- env -i "REDLOCK_NODES=$REDLOCK_NODES" \
		"$T/another-name" run -w 1500ms -k job -- true
	is_like "$output" "*hint: if process *, above this one, is the holder, this wait never ends*REDLOCK_HELD*"
}

@test "a shell that called acquire or hold is above a run, and holds nothing: no hint" {
	for command in acquire hold; do
		redlock $command -k $command --ttl 3s > "$T/token"
		[ $command = acquire ] || also_end "$(cut -d' ' -f2 "$T/token")"
		run -75 redlock run -w 1500ms -k $command -- true
		is_like "$output" "*'$command' is held by *"
		not grep 'above this one' <<< "$output"
	done
}

@test "--reentrant: several levels run under one lock" {
	patiently
	me=$REDLOCK_BUILD/redlock
	run redlock run -k job -- "$me" run -k other -- "$me" run --reentrant -k job -- \
		"$me" run --reentrant -k other -- sh -c "redis-cli -s $T/1.sock get other; echo \$REDLOCK_TOKEN
			echo \$REDLOCK_KEY; exit 6"
	[ "$status" -eq 6 ]
	[ "${lines[0]}" = "${lines[1]}" ]
	[ "${lines[2]}" = other ]
	held_on job 0
	held_on other 0
	# signals and limits work as usual
	run -124 redlock run -k job -- "$me" run --reentrant --max-run 200ms -k job -- sleep 60
	run -143 redlock run -k job -- "$me" run --reentrant -k job -- sh -c 'kill $$'
}

@test "--reentrant: a lock that is only kept by --min-hold does not count" {
	patiently
	redlock run -k job --min-hold 60s -- sh -c 'echo $REDLOCK_HELD' > "$T/held"
	[ "$(holders job)" -ge 2 ]
	REDLOCK_HELD=$(cat "$T/held") run -75 redlock run -n --reentrant -k job -- touch "$T/ran"
	[[ "$output" == *"'job' is busy: held by "*"sh -c echo"* ]]
	[ ! -e "$T/ran" ]
}

@test "--reentrant: an environment that outlived its lock does not count" {
	patiently
	redlock run -k job -- sh -c 'echo $REDLOCK_HELD' > "$T/held"
	in_background "$T/out" run -k job -- sleep 60
	eventually held_on job 3
	REDLOCK_HELD=$(cat "$T/held") run -75 redlock run -n --reentrant -k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	# free again, it is acquired as usual
	kill "$BG"
	ended_with 143
	REDLOCK_HELD=$(cat "$T/held") run redlock run -n --reentrant -k job -- redis-cli -s "$T/1.sock" exists job
	[ "$output" = 1 ]
	held_on job 0
}
