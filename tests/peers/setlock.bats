# setlock(8) of daemontools, and runit's chpst -L: from their documentation.

load peers

shim() {
	cat <<- 'END'
		#!/bin/bash
		options=() silent=
		while getopts nNxX option; do
			case $option in
			n) options=(-n) ;;
			N) options=() ;;
			x) silent=yes ;;
			X) silent= ;;
			*) exit 100 ;;
			esac
		done
		shift $((OPTIND - 1))
		file=${1-}
		shift
		[ -z "$silent" ] || options+=(-q -E 0)
		exec "$REDLOCK_BUILD/redlock" run "${options[@]}" -k "$file" -- "$@"
	END
}

setup() { peer_setup setlock; }
teardown() { nodes_stop; }

held() { echo "setlock file sh -c 'touch up; until [ -e go ]; do sleep 0.02; done' & comes test -e up; "; }

@test "setlock: runs the program with the lock, and has its status" {
	alike $'hello\nstatus 0' 'echo hello | setlock file cat'
	alike 'status 3' 'setlock file sh -c "exit 3"'
	alike 'status 137' "setlock file sh -c 'kill -9 \$\$'"
	alike 'status 0' 'setlock file true && setlock -n file true'
}

@test "setlock: a lock that is held: waits, or with -n gives up; -x makes that no error" {
	alike $'mine\nstatus 0' "$(held) (sleep 0.3; touch go) & setlock file echo mine; wait"
	fresh
	alike $'mine\nstatus 0' "$(held) (sleep 0.3; touch go) & setlock -n -N file echo mine; wait"
	fresh
	alike $'0\nstatus 0' "$(held) setlock -n -x file echo never; echo \$?; touch go; wait"
	fresh
	differs "each outcome has a status of its own: 111 is any failure of daemontools" \
		$'111\nstatus 0' $'75\nstatus 0' "$(held) setlock -n file echo never; echo \$?; touch go; wait"
	fresh
	differs "each outcome has a status of its own" \
		$'111\nstatus 0' $'75\nstatus 0' "$(held) setlock -n -x -X file echo never; echo \$?; touch go; wait"
	# -x is about the lock only: a program that cannot be run is an error
	differs "the statuses of the shell" 'status 111' 'status 127' 'setlock -n -x file no-such-program'
}

@test "setlock: a signal ends the program" {
	# setlock becomes the program, so that the signal is the program's own
	alike $'clean\n5\nstatus 0' "setlock file bash -c 'trap \"sleep 0.3; echo clean; exit 5\" TERM; touch up; while :; do sleep 0.02; done' &
		comes test -e up; kill \$!; wait \$!; echo \$?"
	alike $'free\nstatus 0' 'setlock -n file echo free'
}
