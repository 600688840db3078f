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
	differs "more than 100 years is a mistake" $'done\nstatus 0' 'status 64' 'timeout 100000000000 echo done'
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

@test "timeout: options without a counterpart" {
	differs "124 means the limit, in any case; the record has the command's own status" 'status 5' 'status 124' \
		"timeout --preserve-status 3 bash -c 'trap \"exit 5\" TERM; while :; do sleep 0.02; done'"
}

@test "timeout: wrong usage" {
	for wrong in "" "abc true" "--no-such 1 true" "-s NOSIGNAL 1 true" "-1 true"; do
		differs "sysexits(3): 64 is wrong usage, 125 a failure of redlock itself" 'status 125' 'status 64' "timeout $wrong"
	done
}
