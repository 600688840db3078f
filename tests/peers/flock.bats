# flock(1) of util-linux.

load peers

# The name of the lock file is the key. `flock FD` locks for the shell that has the descriptor: `hold --follow`.
shim() {
	cat <<- 'END'
		#!/bin/bash
		redlock=$REDLOCK_BUILD/redlock options=() command=()
		while :; do
			case ${1-} in
			-w | --wait | --timeout | -E | --conflict-exit-code) options+=("$1" "$2") && shift 2 ;;
			-o | --close | -F | --no-fork) shift ;; # redlock does so in any case, or never
			-u | --unlock) release=yes && shift ;;
			--verbose) options+=(-v) && shift ;;
			-*) options+=("$1") && shift ;;
			*) break ;;
			esac
		done
		file=${1-}
		[[ $file =~ ^[0-9]+$ && $# = 1 ]] && fd=$file && file=$(readlink "/proc/$PPID/fd/$fd")
		[ -z "$file" ] || file=$(realpath -m "$file")
		[ -z "${release-}" ] || exec "$redlock" release -k "$file"
		[ -z "${fd-}" ] || exec "$redlock" hold "${options[@]}" -k "$file" --follow "$PPID" > /dev/null
		[ $# = 0 ] || shift
		case ${1-} in
		-c | --command) exec "$redlock" run "${options[@]}" ${file:+-k "$file"} "$@" ;;
		*) exec "$redlock" run "${options[@]}" ${file:+-k "$file"} -- "$@" ;;
		esac
	END
}

setup() { peer_setup flock; }
teardown() { nodes_stop; }

# held OPTIONS: begins a conversation in which another process holds the lock "file" until the script writes "go".
held() { echo "flock $1 file sh -c 'touch up; until [ -e go ]; do sleep 0.1; done' & comes test -e up; "; }

@test "flock: the command's input, output and status are its own" {
	alike $'hello\nstatus 0' 'echo hello | flock file cat'
	alike $'a b|c\nstatus 0' 'flock file printf "%s|%s\n" "a b" c'
	alike 'status 3' 'flock file sh -c "exit 3"'
	alike 'status 137' "flock file sh -c 'kill -9 \$\$'"
	alike $'sh\nstatus 4' 'SHELL=/bin/sh flock file -c "echo \${0##*/}; exit 4"'
	alike $'one\nstatus 0' 'flock file --command "echo one"'
	alike 'status 0' 'mkdir folder && flock folder true'
	alike 'status 5' 'flock -F file sh -c "exit 5"'
	differs "the statuses of the shell, env and timeout tell a missing program (127) from one that is not executable (126)" \
		$'status 69\nstatus 69\nstatus 0' $'status 127\nstatus 126\nstatus 0' \
		'flock file no-such-program; echo status $?; : > plain; flock file ./plain; echo status $?'
}

@test "flock: a lock that is held: -n, -w, -E; then it is free" {
	for no in -n --nb --nonblock --nonblocking "-w 0" "--timeout 0" "--wait 0.2" "-w 0.1"; do
		fresh
		alike $'7\nstatus 0' "$(held) flock $no -E 7 file true; echo \$?; touch go; wait"
	done
	fresh
	alike $'0\n200\nstatus 0' "$(held) flock -n -E 0 file echo never; echo \$?
		flock -n --conflict-exit-code 200 file echo never; echo \$?; touch go; wait"
	fresh
	differs "each outcome has a status of its own: a command that fails with 1 is not taken for a lock that is held" \
		$'1\nstatus 0' $'75\nstatus 0' "$(held) flock -n file true; echo \$?; touch go; wait"
	fresh
	alike $'mine\nstatus 0' "$(held) (sleep 0.3; touch go) & flock -w 30 file echo mine; wait"
	fresh
	alike $'mine\nstatus 0' "$(held) (sleep 0.3; touch go) & flock file echo mine; wait"
	alike $'status 0' 'flock file true && flock -n file true'
	alike $'status 6' 'flock file flock -n -E 6 file true'
}

@test "flock: readers together, a writer alone" {
	alike $'reader\n7\n7\nstatus 0' "$(held -s) flock -n --shared file echo reader
		flock -n -E 7 file true; echo \$?; flock -n -E 7 -x file true; echo \$?; touch go; wait"
	for exclusive in "" -x -e --exclusive; do
		fresh
		alike $'7\nstatus 0' "$(held $exclusive) flock -n -E 7 -s file true; echo \$?; touch go; wait"
	done
}

@test "flock: a lock for a shell, by a descriptor" {
	alike $'in\nbusy\nstatus 0' '(flock 9; echo in; flock -n -E 7 file true || echo busy) 9> file; wait'
	alike $'free\nstatus 0' '(flock 9) 9> file; flock -w 30 file echo free'
	alike $'7\nstatus 0' "$(held) (flock -n -E 7 9; echo \$?) 9> file; touch go; wait"
	alike $'free\nstatus 0' "(flock 9; flock -u 9; flock -w 30 file echo free) 9> file"
}

@test "flock: processes that the command leaves behind, and signals" {
	differs "a lock that a forgotten daemon keeps is not released for days; --wait-descendants keeps it for as long" \
		$'7\nstatus 0' $'0\nstatus 0' 'flock file sh -c "(until [ -e go ]; do sleep 0.1; done) > out 2>&1 &"
		flock -n -E 7 file true; echo $?; touch go'
	fresh
	alike $'0\nstatus 0' 'flock -o file sh -c "(until [ -e go ]; do sleep 0.1; done) > out 2>&1 &"
		flock -n -E 7 file true; echo $?; touch go'
	fresh
	differs "the command must not outlive its lock: redlock passes the signal on and keeps the lock until the command has ended" \
		$'143\nlives\nstatus 0' $'143\nstatus 0' "flock file sh -c 'echo \$\$ > pid; exec sleep 60' & comes test -s pid
		kill \$!; wait \$!; echo \$?; kill -0 \$(cat pid) && echo lives; kill \$(cat pid) 2> /dev/null; true"
	differs "stdout belongs to the command" $'words\nstatus 0' 'status 0' \
		'[ -z "$(flock --verbose file true)" ] || echo words'
}

@test "flock: wrong usage" {
	for wrong in "" "-w abc file true" "--no-such file true" "-E 256 file true"; do
		alike 'status 64' "flock $wrong"
	done
	alike 'status 64' 'flock file'
}

@test "flock: an empty -c, -n with -w, a descriptor that is locked twice, and the longest wait" {
	differs "an empty variable must not look like a job that was done" 'status 0' 'status 64' "flock file -c ''"
	alike $'7\nstatus 0' "$(held) flock -w 30 -n -E 7 file true; echo \$?; touch go; wait"
	fresh
	differs "the last of two options counts, as for one that is given twice" $'7\nstatus 0' $'mine\n0\nstatus 0' \
		"$(held) (sleep 0.3; touch go) & flock -n -w 30 -E 7 file echo mine; echo \$?; touch go; wait"
	differs "a nested run would release the lock too early; --reentrant runs the command under it" \
		$'in\nstatus 0' 'status 7' 'exec 9> file; flock 9; flock -n -E 7 9 && echo in || exit 7'
	differs "a longer wait is a typing error" 'status 0' 'status 64' 'flock -w 99999999999 file true'
}
