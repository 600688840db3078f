# setlock(8) of daemontools.

load peers

shim() {
	cat <<- 'END'
		#!/bin/bash
		options=() silent=
		while getopts :nNxX option; do
			case $option in
			n) options=(-n) ;;
			N) options=() ;;
			x) silent=yes ;;
			X) silent= ;;
			*) options+=("-$OPTARG") ;;
			esac
		done
		shift $((OPTIND - 1))
		file=${1-}
		[ $# = 0 ] || shift
		[ -z "$silent" ] || options+=(-q -E 0)
		exec "$REDLOCK_BUILD/redlock" run "${options[@]}" -k "$file" -- "$@"
	END
}

setup() { peer_setup setlock; }
teardown() { nodes_stop; }

held() { echo "setlock file sh -c 'touch up; until [ -e go ]; do sleep 0.1; done' & comes test -e up; "; }

@test "setlock: runs the program with the lock, and has its status" {
	alike $'hello\nstatus 0' 'echo hello | setlock file cat'
	alike 'status 3' 'setlock file sh -c "exit 3"'
	alike 'status 137' "setlock file sh -c 'kill -9 \$\$'"
	alike 'status 0' 'setlock file true && setlock -n file true'
	alike $'ran\nstatus 0' 'setlock -nx file echo ran'
	alike $'-n\nstatus 0' 'setlock -- file echo -- -n | cut -c 4-'
	alike $'nested\nstatus 0' 'setlock file setlock -n other echo nested'
	differs "each outcome has a status of its own: 111 is any failure of daemontools" \
		'status 111' 'status 75' 'setlock file setlock -n file true'
	differs "the statuses of the shell, env and timeout tell a missing program (127) from one that is not executable (126)" \
		$'111\n111\nstatus 0' $'127\n126\nstatus 0' 'setlock file no-such-program; echo $?; : > plain; setlock file ./plain; echo $?'
}

@test "setlock: the file" {
	alike $'data\nstatus 0' 'echo data > file; setlock file true; cat file'
	differs "the lock is a key on the nodes: it needs no file" $'made\nstatus 0' 'status 1' 'setlock new true; [ -e new ] && echo made'
	differs "a key is no file: the name of a folder is a key as any other" 'status 111' 'status 0' 'setlock . true'
	differs "an empty name is a variable that is not set: wrong usage" 'status 111' 'status 64' 'setlock "" true'
	# a file that cannot be opened has the nodes that cannot be reached as its counterpart
	local broken='[ "${PWD##*/}" = peer ] || export REDLOCK_NODES=$PWD/no/1.sock REDLOCK_NODE_WAIT=0; setlock'
	differs "each outcome has a status of its own" $'111\nstatus 0' $'69\nstatus 0' "$broken no/file echo never; echo \$?"
	differs "-x has -E 0 as its counterpart, which is for a lock that is held: nodes that cannot be reached are never a success" \
		$'0\nstatus 0' $'69\nstatus 0' "$broken -x no/file echo never; echo \$?"
}

@test "setlock: the lock belongs to the descriptor, and to each process that has it" {
	differs "a lock that a forgotten daemon keeps is not released for days; --wait-descendants keeps it for as long" \
		$'111\nstatus 0' $'0\nstatus 0' 'setlock file sh -c "(until [ -e go ]; do sleep 0.1; done) > out 2>&1 &"
		setlock -n file true; echo $?; touch go'
	fresh
	alike $'0\nstatus 0' 'setlock file sh -c "(exec 3>&-; until [ -e go ]; do sleep 0.1; done) > out 2>&1 &"
		comes setlock -n file true; echo $?; touch go'
	for unlock in "flock -u 3" "exec 3>&-"; do
		fresh
		differs "the command must not go on without its lock: the lock ends after the command" \
			$'0\nstatus 0' $'75\nstatus 0' "setlock file sh -c '$unlock; touch up; until [ -e go ]; do sleep 0.1; done' 2> err & comes test -e up
			setlock -n file true; echo \$?; touch go; wait"
	done
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

@test "setlock: it is killed with the program" {
	# setlock becomes the program; redlock is another process, whose command ends with it
	alike $'137\nmine\nstatus 0' "export REDLOCK_TTL=3s
		setlock file sh -c 'touch up; until [ -e go ]; do sleep 0.1; done' & comes test -e up
		kill -9 \$!; wait \$!; echo \$?; setlock file echo mine"
}

@test "setlock: wrong usage" {
	for wrong in "" "file" "-z file true"; do
		differs "sysexits(3): 64 is wrong usage" 'status 100' 'status 64' "setlock $wrong"
	done
}
