# consul lock: from its documentation. Debian has no package of it, and the program needs a server: it is not asked.

load peers

# A string for the shell by default, /dev/null for its input, and its status only with -child-exit-code, as 2.
shim() {
	cat <<- 'END'
		#!/bin/bash
		options=() child= input=/dev/null shell=yes
		[ "${1-}" != lock ] || shift
		while :; do
			case ${1-} in
			-child-exit-code) child=yes ;;
			-n=*) [ "${1#-n=}" = 1 ] || options+=(--limit "${1#-n=}") ;;
			-timeout=*) options+=(-w "${1#-timeout=}") ;;
			-pass-stdin) input=/dev/stdin ;;
			-shell=false) shell= ;;
			-name=*) options+=(--owner "${1#-name=}") ;;
			-verbose) options+=(-v) ;;
			-monitor-retry=*) ;; # redlock goes on as long as the TTL allows
			-*) exit 1 ;;
			*) break ;;
			esac
			shift
		done
		[ $# -ge 2 ] || exit 1
		prefix=$1
		shift
		export CONSUL_LOCK_HELD=true
		[ -z "$shell" ] || set -- "${SHELL:-/bin/sh}" -c "$*"
		"$REDLOCK_BUILD/redlock" run "${options[@]}" -k "$prefix/.lock" -- "$@" < "$input" &
		trap 'kill -TERM $!' TERM
		while wait $!; status=$?; kill -0 $! 2> /dev/null; do :; done
		case $status in
		75 | 69) exit 1 ;; # the lock was not acquired
		79) exit 1 ;;
		esac
		[ -z "$child" ] || [ $status = 0 ] || exit 2
	END
}

setup() { peer_setup consul; }
teardown() { nodes_stop; }

held() { echo "consul lock $1 prefix 'touch up; until [ -e go ]; do sleep 0.1; done' & comes test -e up; "; }

@test "consul lock: runs a string by the shell, or a command, and tells it that the lock is held" {
	alike $'a b true\nstatus 0' 'consul lock prefix echo a "b" "\$CONSUL_LOCK_HELD"'
	alike $'a  b|$x\nstatus 0' "consul lock -shell=false prefix printf '%s|%s\n' 'a  b' '\$x'"
	alike $'status 0' 'echo hello | consul lock prefix cat'
	alike $'hello\nstatus 0' 'echo hello | consul lock -pass-stdin prefix cat'
}

@test "consul lock: the status" {
	alike 'status 0' 'consul lock prefix exit 3'
	alike 'status 2' 'consul lock -child-exit-code prefix exit 3'
	alike 'status 0' 'consul lock -child-exit-code prefix exit 0'
	alike 'status 1' 'consul lock prefix'
	alike 'status 1' 'consul lock'
	alike 'status 1' 'consul lock -no-such prefix true'
	alike 'status 2' 'consul lock -child-exit-code prefix no-such-program'
}

@test "consul lock: the shell, a name, words on stderr, retries" {
	printf '%s\n' '#!/bin/bash' 'echo "my shell: $1 $2"' > "$T/shell"
	chmod +x "$T/shell"
	alike $'my shell: -c echo a\nstatus 0' 'SHELL=$T/shell consul lock prefix echo a'
	alike $'sh\nstatus 0' 'SHELL= consul lock prefix "echo \${0##*/}"'
	alike $'hello\nstatus 0' 'consul lock -verbose -monitor-retry=0 -name=mine prefix echo hello'
	alike $'said\nstatus 0' 'consul lock -verbose prefix true 2> words; [ -s words ] && echo said'
	alike $'held by mine\nstatus 0' 'consul lock -name=mine prefix "touch up; until [ -e go ]; do sleep 0.1; done" & comes test -e up
		[ "${PWD##*/}" = peer ] || "$REDLOCK_BUILD/redlock" status prefix/.lock | grep -o "held by mine"; touch go; wait'
}

@test "consul lock: -timeout; the lock is free afterwards; several slots" {
	alike $'1\nstatus 0' "$(held) consul lock -timeout=300ms prefix echo never; echo \$?; touch go; wait"
	fresh
	alike $'mine\nstatus 0' "$(held) (sleep 0.3; touch go) & consul lock prefix echo mine; wait"
	fresh
	alike $'second\n1\nstatus 0' "$(held -n=2) consul lock -n=2 prefix 'touch up2; echo second; until [ -e go ]; do sleep 0.1; done' &
		comes test -e up2; consul lock -n=2 -timeout=1s prefix echo never; echo \$?; touch go; wait"
}

@test "consul lock: all clients of a prefix need the same -n" {
	alike $'1\nstatus 0' "$(held -n=2) consul lock -n=3 -timeout=300ms prefix echo never; echo \$?; touch go; wait"
	fresh
	differs "the plain lock is one that other libraries know; the slots are locks of their own" \
		$'1\nstatus 0' $'both\n0\nstatus 0' "$(held) consul lock -n=2 prefix echo both; echo \$?; touch go; wait"
}

@test "consul lock: a signal, and a loss" {
	alike $'clean\n0\nstatus 0' "consul lock prefix 'trap \"echo clean; exit 5\" TERM; touch up; while :; do sleep 0.02; done' &
		comes test -e up; kill -TERM \$!; wait \$!; echo \$?"
	fresh
	# consul ends the command by TERM, and 5 s later by KILL
	differs "a loss is no success" $'0\nstatus 0' $'1\nstatus 0' \
		"consul lock prefix 'touch up; exec sleep 60' & comes test -e up
		for i in 1 2 3; do redis-cli -s $T/\$i.sock set prefix/.lock rival; done > set; wait \$!; echo \$?"
	fresh
	# a signal to consul ends the command by TERM, too; the rest of its 5 s is up to the command
	differs "the lock is kept until the command has ended: KILL needs --kill-after" $'0\nstatus 0' $'late\n0\nstatus 0' \
		"consul lock other 'trap \"until [ -e go ]; do sleep 0.1; done; echo late; exit\" TERM; touch up; while :; do sleep 0.02; done' &
		comes test -e up; kill -TERM \$!; (sleep 5.5; touch go) & wait %1; echo \$?"
}
