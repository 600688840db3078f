# timeout(1) of coreutils.

load peers

shim() {
	cat <<- 'END'
		#!/bin/bash
		options=()
		while :; do
			case ${1-} in
			-s | --signal) options+=(--signal "$2") && shift 2 ;;
			-k | --kill-after) options+=(--kill-after "$2") && shift 2 ;;
			--signal=* | --kill-after=*) options+=("$1") && shift ;;
			--preserve-status | --foreground) shift ;;
			-v | --verbose) options+=(-v) && shift ;;
			--help | --version) exec "$REDLOCK_BUILD/redlock" "$1" ;;
			--) shift && break ;;
			*) break ;;
			esac
		done
		limit=${1-}
		[ $# = 0 ] || shift
		exec "$REDLOCK_BUILD/redlock" run -k "timeout-$$" "${options[@]}" --max-run "$limit" -- "$@"
	END
}

setup() {
	peer_setup timeout
	export REDLOCK_TTL=60s REDLOCK_NODE_TIMEOUT=5s
}
teardown() { nodes_stop; }

LONG='exec sleep 60'

@test "timeout: the command's input, output and status are its own" {
	alike $'hello\nstatus 0' 'echo hello | timeout 60 cat'
	alike 'status 3' 'timeout 60 sh -c "exit 3"'
	alike 'status 124' 'timeout 60 sh -c "exit 124"'
	alike 'status 127' 'timeout 60 no-such-program'
	alike 'status 126' 'timeout 60 /'
	alike 'status 137' "timeout 60 sh -c 'kill -9 \$\$'"
}

@test "timeout: the limit is reached: 124, by TERM or another signal" {
	alike 'status 124' "timeout 0.3 sh -c '$LONG'"
	alike 'status 124' "timeout -s INT 0.3 sh -c '$LONG'"
	alike $'got USR1\nstatus 124' "timeout --signal=USR1 3 bash -c 'trap \"echo got USR1; exit 7\" USR1; while :; do sleep 0.02; done'"
	alike 'status 124' "timeout 3 bash -c 'trap \"exit 0\" TERM; while :; do sleep 0.02; done'"
	# all processes of the command get it
	alike $'child\nstatus 0' "timeout 3 bash -c 'bash -c \"trap \\\"echo child > got; exit\\\" TERM; while :; do sleep 0.02; done\"; true'
		comes test -s got; cat got"
}

@test "timeout: durations" {
	for limit in 0 60 60s 1m 1h 1d 0.5m; do
		alike $'done\nstatus 0' "timeout $limit echo done"
	done
	alike $'done\nstatus 0' 'timeout -k 0 -- 60 echo done'
	alike 'status 124' "timeout 0.005m sh -c '$LONG'"
	differs "more than 100 years is a mistake" $'done\nstatus 0' 'status 64' 'timeout 100000000000 echo done'
	differs "an exponent is more often a mistake: 1e5 for 15" $'done\nstatus 0' 'status 64' 'timeout 1e5 echo done'
	differs "durations may have several units, and milliseconds" 'status 125' $'done\nstatus 0' 'timeout 1h30m500ms echo done'
}

@test "timeout: --foreground: the terminal" {
	# terminal INPUT COMMAND: runs in a shell on a terminal of its own. timeout has no process group to make if it is the
	# shell's last command, hence the second command.
	terminal() { echo "($1) | script -qec '$2; echo \$? >> out' /dev/null > tty; cat out"; }
	local read='sh -c "touch up; read -r line; echo got \$line > out"'
	local input='comes test -e up; echo hello; comes grep -q "^[0-9]" out'
	alike $'got hello\n0\nstatus 0' "$(terminal "$input" "timeout --foreground 60 $read")"
	fresh
	differs "the command reads from the terminal as it does alone, with or without the option" \
		$'124\nstatus 0' $'got hello\n0\nstatus 0' "$(terminal "$input" "timeout 5 $read")"
	fresh
	local trap='bash -c "trap \"echo INT > out; exit 5\" INT; touch up; while :; do sleep 0.02; done"'
	local keys="comes test -e up; printf '\\003'; comes grep -q '^[0-9]' out"
	alike $'INT\n5\nstatus 0' "$(terminal "$keys" "trap : INT; timeout --foreground 60 $trap")"
	fresh
	differs "Ctrl-C ends the command as it does alone, with or without the option" \
		$'124\nstatus 0' $'INT\n5\nstatus 0' "$(terminal "$keys" "trap : INT; timeout 5 $trap")"
}

@test "timeout: --foreground: status, limit and children" {
	alike 'status 3' 'timeout --foreground 60 sh -c "exit 3"'
	alike 'status 124' "timeout --foreground 0.3 sh -c '$LONG'"
	differs "no process of the command may outlive the lock" $'124\nwent on\nstatus 0' $'124\nended\nstatus 0' \
		"timeout --foreground 3 bash -c '
			(trap \"echo ended > got; exit\" TERM; touch up; until [ -e go ]; do sleep 0.1; done; echo went on > got) &
			until [ -e up ]; do sleep 0.1; done; $LONG'
		echo \$?; touch go; comes test -s got; cat got"
}

@test "timeout: --verbose: words on stderr about each signal at the limit" {
	# words: the signals that stderr names, each once
	local words='2>&1 | grep -oE "TERM|USR1|KILL" | sort -u'
	alike 'status 0' 'timeout -v 60 true'
	alike 'status 124' "timeout --verbose 0.3 sh -c '$LONG'"
	alike $'quiet\nstatus 0' 'timeout 60 true 2> words; [ -s words ] || echo quiet'
	alike $'said\nstatus 0' "timeout -v 0.3 sh -c '$LONG' 2> words; [ -s words ] && echo said"
	alike $'nothing more\nstatus 0' "[ -z \"\$(timeout -v 0.3 sh -c '$LONG' 2> words)\" ] && echo nothing more"
	differs "a limit that was reached is told in any case: a job that ended early must not look complete" \
		$'quiet\nstatus 0' $'said\nstatus 0' "timeout 0.3 sh -c '$LONG' 2> words; if [ -s words ]; then echo said; else echo quiet; fi"
	differs "the first signal is the one that --signal names: the message has the limit, and SIGKILL if it was needed" \
		$'TERM\nstatus 0' 'status 0' "timeout -v 0.3 sh -c '$LONG' $words"
	differs "the first signal is the one that --signal names" \
		$'USR1\nstatus 0' 'status 0' "timeout -v -s USR1 0.3 sh -c '$LONG' $words"
	differs "the first signal is the one that --signal names" $'KILL\nTERM\nstatus 0' $'KILL\nstatus 0' \
		"timeout -v -k 0.3 0.3 sh -c 'trap \"\" TERM; while :; do sleep 0.02; done' $words"
}

@test "timeout: KILL" {
	differs "124 means the limit, in any case; a message and the record (killed) tell that KILL was needed" \
		'status 137' 'status 124' "timeout -k 0.3 0.3 sh -c 'trap \"\" TERM; while :; do sleep 0.02; done'"
	differs "124 means the limit, in any case" 'status 137' 'status 124' "timeout -s KILL 0.3 sh -c '$LONG'"
	alike 'status 124' "timeout -k 30 0.3 sh -c '$LONG'"
	differs "a command that ignores its limit must not keep its lock: KILL follows a tenth of the TTL later, without --kill-after, too" \
		$'on\nstatus 124' 'status 124' "timeout 0.3 sh -c 'trap \"\" TERM; sleep 9; echo on; exit 0'"
}

@test "timeout: a signal to it goes to the command, which shuts down for as long as it needs" {
	alike $'clean\n5\nstatus 0' "timeout 60 bash -c 'trap \"sleep 0.5; echo clean; exit 5\" TERM; touch up; while :; do sleep 0.02; done' &
		comes test -e up; kill \$!; wait \$!; echo \$?"
	fresh
	alike $'143\nstatus 0' "timeout 60 sh -c 'touch up; $LONG' & comes test -e up; kill \$!; wait \$!; echo \$?"
}

@test "timeout: SIGALRM, and the longest limit" {
	differs "a signal to redlock is for the command" $'124\nstatus 0' $'got ALRM\n3\nstatus 0' \
		"timeout 60 bash -c 'trap \"echo got ALRM; exit 3\" ALRM; touch up; while :; do sleep 0.02; done' & comes test -e up
		kill -ALRM \$!; wait \$!; echo \$?"
	differs "a longer limit is a typing error" 'status 0' 'status 64' 'timeout 99999999d true'
}

@test "timeout: a command that is stopped reaches its limit, too" {
	alike $'got TERM\nstatus 124' "timeout 3 bash -c 'trap \"echo got TERM; exit 4\" TERM; kill -STOP \$\$; while :; do sleep 0.02; done'"
}

@test "timeout: it is killed itself" {
	# the command lives as long as its descriptor locks the file
	differs "the command must not outlive its lock" $'137\nlives\nstatus 0' $'137\nstatus 0' \
		"timeout 60 bash -c 'exec 9> file; flock 9; touch up; until [ -e go ]; do sleep 0.1; done' & comes test -e up
		kill -9 \$!; wait \$!; echo \$?; [ \"\${PWD##*/}\" = peer ] || comes flock -n file true
		flock -n file true || echo lives; touch go; comes flock -n file true"
}

@test "timeout: options without a counterpart" {
	differs "124 means the limit, in any case; the record has the command's own status" 'status 5' 'status 124' \
		"timeout --preserve-status 3 bash -c 'trap \"exit 5\" TERM; while :; do sleep 0.02; done'"
}

@test "timeout: usage" {
	alike $'0\n0\nstatus 0' 'timeout --help > help; echo $?; timeout --version > version; echo $?'
	differs "a signal that is none ends no command" 'status 0' 'status 64' 'timeout -s 0 60 true'
	for wrong in "" "abc true" "--no-such 1 true" "-s NOSIGNAL 1 true" "-1 true"; do
		differs "sysexits(3): 64 is wrong usage, 125 a failure of redlock itself" 'status 125' 'status 64' "timeout $wrong"
	done
}
