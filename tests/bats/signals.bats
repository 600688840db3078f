# Signals that reach redlock, or its whole process group: the command gets each one once. tests/bats/senders.py sends them.

load nodes

setup() {
	unset REDLOCK_UNDER # a program under valgrind is late
	nodes_start 3
	# Long times: no node is late because the machine is busy.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s
}
teardown() { nodes_stop; }

# is_heard_once WAY: of each fifty trials, one may be wrong. TRIALS=50 shows more.
is_heard_once() {
	local trials=${TRIALS:-4} right
	mkdir -p "$T/$1"
	timeout 300 python3 "$BATS_TEST_DIRNAME/senders.py" "$(mktemp -d "$T/$1/XXX")" "$trials" "$1" > "$T/$1/right"
	echo "$1: of $trials trials are right: $(cat "$T/$1/right")"
	read -r right _ < "$T/$1/right"
	((right + (trials + 49) / 50 >= trials))
}

# heard_once WAY...: on a busy machine a sender may be too slow, and has a second chance.
heard_once() {
	local way
	for way; do is_heard_once "$way" || is_heard_once "$way"; done
}

# in_own_group COMMAND...: redlock in a group of its own; main's pid, and the group, is in BG.
in_own_group() {
	setsid "$REDLOCK_BUILD/redlock" run -k job -- "$@" > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
}

# has_probe MAIN: its pid is in $T/probe, that of its parent in $T/parent.
has_probe() { pgrep -P "$1" -x rl-probe > "$T/parent" && pgrep -P "$(cat "$T/parent")" > "$T/probe"; }

@test "a signal to the process group: the command gets it once, two of them twice" {
	heard_once group group-int group-hup-term group-twice
}

@test "a signal to redlock alone, by pid or by name, or to its children, too: the command gets it once, two of them twice" {
	heard_once redlock redlock-twice by-name children
}

@test "a signal to all processes of redlock's program file, as by killall FILE: the command gets it once, two of them twice" {
	heard_once by-file by-file-twice
}

@test "a signal to each process in turn, as systemd and CI systems send it: the command gets it once" {
	heard_once each each-backwards
}

@test "the script of the CI jobs: its commands get a signal to the group, to each process or to the script once" {
	heard_once locked-group locked-group-int locked-group-hup locked-each locked-alone locked-alone-int locked-alone-hup
}

@test "timeout(1): the command gets one signal" {
	heard_once timeout timeout-foreground
}

@test "jobs of an interactive shell: the command gets kill %1, kill \$!, ^C, ^\\ and the end of the shell once" {
	heard_once kill-job kill-job-int kill-pid interrupt quit hangup hangup-of-job
}

@test "jobs of an interactive shell: a job that was stopped gets kill %1 and ^C once" {
	heard_once kill-stopped-job stopped
}

@test "a signal to the process group: a program that a shell waits for gets it once, in the group and in another one" {
	# if the shell ends before main has passed the signal on, the program gets one in any case
	TRIALS=${TRIALS:-12} heard_once under-shell
	heard_once under-trap under-trap-in-session
}

@test "a command that has left the group gets the signal from redlock" {
	heard_once other-group
}

@test "a probe that is stopped is continued at once" {
	heard_once probe-stopped
	in_own_group sh -c "until [ -e '$T/go' ]; do sleep 0.1; done"
	eventually has_probe "$BG"
	kill -STOP "$(cat "$T/probe")" "$(cat "$T/parent")"
	eventually in_state "$(cat "$T/parent")" S
	eventually in_state "$(cat "$T/probe")" S
	kill -STOP "$(cat "$T/probe")" "$(cat "$T/parent")"
	touch "$T/go"
	ended_with 0
}

@test "a probe that runs late is waited for" {
	needs ptrace look_inside
	heard_once probe-late
}

# another: another probe than $probe exists.
another() { has_probe "$BG" && [ "$(cat "$T/probe")" != "$probe" ]; }

# end_family PID: children first; each process gets TERM, and KILL if it does not end within the time for all.
end_family() {
	local child
	for child in $(cat "/proc/$1/task/$1/children" 2> "$T/kill"); do end_family "$child"; done
	kill -TERM "$1" 2> "$T/kill" || return 0
	until is_gone "$1" || ((SECONDS > end)); do sleep 0.02; done
	is_gone "$1" || kill -KILL "$1" 2> "$T/kill" || true
}

@test "a CI system that ends children first, and waits for each: the command saves its state" {
	in_own_group bash -c "trap 'sleep 1; echo saved > $T/state; exit 3' TERM; echo up; while :; do sleep 0.05; done"
	eventually file_has "$T/out" up
	eventually has_probe "$BG"
	end=$((SECONDS + 5))
	probe=$(cat "$T/probe")
	end_family "$(cat "$T/parent")"
	((SECONDS < end))
	# another one follows, for the next signal
	eventually another
	end=$((SECONDS + 5))
	end_family "$BG"
	[ "$(cat "$T/state")" = saved ]
	ended_with 3
}

@test "KILL to the process group: the command ends with it, and redlock's other processes follow" {
	in_own_group bash -c "echo \$\$ > $T/command; while :; do sleep 0.05; done"
	eventually test -s "$T/command"
	eventually has_probe "$BG"
	supervisor=$(supervisor_of "$BG")
	kill -STOP "$supervisor" # the command ends without it
	kill -KILL -- "-$BG"
	ended_with 137
	eventually is_gone "$(cat "$T/command")"
	for pid in $(cat "$T/probe" "$T/parent"); do eventually is_gone "$pid"; done
	eventually is_gone "$supervisor"
}

@test "redlock killed: the probe ends; the supervisor killed: it is no process of the command" {
	in_own_group sleep 60
	eventually has_probe "$BG"
	eventually held_on job 3
	kill -KILL "$BG"
	ended_with 137
	for pid in $(cat "$T/probe" "$T/parent"); do eventually is_gone "$pid"; done
	for i in 1 2 3; do node "$i" del job > /dev/null; done
	in_own_group sleep 60
	eventually has_probe "$BG"
	kill -KILL "$(supervisor_of "$BG")"
	ended_with 125
	[ "$(wc -l < "$T/out")" = 1 ]
	file_has "$T/out" "supervisor was killed"
}

@test "the lock is free before the probe has ended" {
	needs ptrace
	in_own_group sh -c "until [ -e $T/go ]; do sleep 0.02; done"
	eventually has_probe "$BG"
	coproc "$REDLOCK_BUILD/tools/freeze" "$(cat "$T/parent")" 3>&-
	also_end "$COPROC_PID"
	read -r word <&"${COPROC[0]}"
	[ "$word" = frozen ]
	touch "$T/go"
	eventually held_on job 0
	in_state "$BG" S
	kill -STOP "$(cat "$T/parent")" # it is continued
	exec {COPROC[1]}>&- # thaw: redlock leaves no process
	eventually is_gone "$BG"
	ended_with 0
}

@test "redlock leaves no process to wait for, and a process that the command left is counted alone" {
	run -0 python3 -c '
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
status = subprocess.call(sys.argv[1:])
try:
    print("left", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none left,", status)' "$REDLOCK_BUILD/redlock" run -k job -- sh -c 'sleep 0.2; exit 3'
	[ "$output" = "none left, 3" ]
	run -0 redlock sandbox -n 1 -- sh -c "sleep 60 > /dev/null 2>&1 3>&- & echo \$! > $T/left; sleep 0.2"
	also_end "$(cat "$T/left")"
	[[ "$output" == *"left 1 process running"* ]]
}

# In a new pid namespace, the next pid tells how many processes were made: 1 is the shell, 2 redlock.
makes_two_processes() {
	# shellcheck disable=SC2016
	unshare --pid --fork --mount-proc sh -c '"$@"; sh -c "echo \$\$"' - "$REDLOCK_BUILD/redlock" run -k job -- true > "$T/next"
	[ "$(cat "$T/next")" = 5 ]
}

@test "a command that ends at once costs no probe" {
	needs mounts pids
	# with sanitizers, every command is long enough for a probe; on a busy machine, some are
	grep -q __asan_init "$REDLOCK_BUILD/redlock" || eventually makes_two_processes
}
