# etcdctl lock, of etcd 3.4 and later: against a real server, if both programs are installed.

load peers

# Without a command, `etcdctl lock` holds the lock until a signal comes, and prints a name of the lock.
shim() {
	cat <<- 'END'
		#!/bin/bash
		options=() words=()
		[ "${1-}" != lock ] || shift
		while [ $# -gt 0 ]; do
			case $1 in
			--ttl) options+=(--ttl "$2") && shift 2 ;;
			--ttl=*) options+=("$1") && shift ;;
			-h | --help) exec "$REDLOCK_BUILD/redlock" help run ;;
			--) shift && words+=("$@") && break ;;
			-*) options+=("$1") && shift ;;
			*) words+=("$1") && shift ;;
			esac
		done
		[ ${#words[@]} -gt 0 ] || exec "$REDLOCK_BUILD/redlock" run "${options[@]}"
		name=${words[0]} command=("${words[@]:1}")
		[ ${#command[@]} -gt 0 ] || command=(sh -c 'echo "$REDLOCK_KEY/$REDLOCK_FENCE"; exec sleep infinity')
		exec "$REDLOCK_BUILD/redlock" run --fair --fence "${options[@]}" -k "$name" -- "${command[@]}"
	END
}

setup() {
	peer_setup etcdctl
	if has_peer && type -P etcd > "$T/type"; then
		# etcd makes the unix socket 'localhost:1' in its folder, and finds a free port for its peers
		(cd "$T/peer" && exec etcd --data-dir "$T/etcd" --listen-client-urls unix://localhost:1 \
			--advertise-client-urls unix://localhost:1 --listen-peer-urls http://127.0.0.1:0) > "$T/etcd.log" 2>&1 3>&- &
		also_end $!
		export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=unix://localhost:1
		eventually is_ready
	else
		no_peer "etcdctl or etcd is not installed"
	fi
}
is_ready() { (cd "$T/peer" && timeout 5 etcdctl endpoint health > "$T/health" 2>&1); }
teardown() { nodes_stop; }

@test "etcdctl lock: runs the command with the lock; a newer lock has a larger number" {
	alike $'hello\nstatus 0' 'etcdctl lock name echo hello'
	alike $'hello\nstatus 0' 'etcdctl lock --ttl 20 name echo hello'
	alike $'a b|c\nstatus 0' 'etcdctl lock name printf "%s|%s\n" "a b" c'
	alike $'nested\nstatus 0' 'etcdctl lock name etcdctl lock other echo nested'
	alike $'-n\nstatus 0' 'etcdctl lock name -- sh -c "echo -n; echo -- -n" | tail -c 3'
	alike $'larger\nstatus 0' 'number="echo \${ETCD_LOCK_REV:-\$REDLOCK_FENCE}"
		first=$(etcdctl lock name -- sh -c "$number"); second=$(etcdctl lock name -- sh -c "$number")
		[ "$second" -gt "$first" ] && echo larger'
}

@test "etcdctl lock: status and input of the command" {
	differs "the command's status is its own (etcd 3.5 has changed that, too: 3.4 ends with 1)" \
		'status 1' 'status 3' 'etcdctl lock name -- sh -c "exit 3"'
	differs "the command's status is its own" 'status 1' 'status 137' "etcdctl lock name -- sh -c 'kill -9 \$\$'"
	differs "the statuses of the shell, env and timeout tell of a missing program" \
		$'1\nfree\nstatus 0' $'127\nfree\nstatus 0' 'etcdctl lock name no-such-program; echo $?; etcdctl lock name echo free'
	differs "the variables are redlock's own" $'ETCD_LOCK_KEY\nETCD_LOCK_REV\nstatus 0' $'REDLOCK_FENCE\nREDLOCK_KEY\nstatus 0' \
		'etcdctl lock name env | grep -oE "^(ETCD_LOCK_(KEY|REV)|REDLOCK_(KEY|FENCE))=" | tr -d = | sort'
	differs "the command's input is its own" 'status 0' $'hello\nstatus 0' 'echo hello | etcdctl lock name cat'
}

@test "etcdctl lock: waits in order of arrival" {
	# waiters N: so many clients have asked for the lock, the holder included
	mkdir "$T/of-peer"
	printf '%s\n' '#!/bin/sh' '[ "$(etcdctl get --prefix --keys-only name/ | grep -c name)" = "$1" ]' > "$T/of-peer/waiters"
	printf '%s\n' '#!/bin/bash' '. "$NODES_BASH"; PID=(); N=3; in_queue $(($1 - 1))' > "$T/shims/waiters"
	chmod +x "$T/of-peer/waiters" "$T/shims/waiters"
	export NODES_BASH=$BATS_TEST_DIRNAME/../bats/nodes.bash PATH=$PATH:$T/of-peer
	alike $'first\nsecond\nthird\nstatus 0' 'etcdctl lock name -- sh -c "echo first; touch up; until [ -e go ]; do sleep 0.1; done" &
		comes test -e up
		etcdctl lock name -- sh -c "echo second" & comes waiters 2
		etcdctl lock name -- sh -c "echo third" & comes waiters 3
		touch go; wait'
}

@test "etcdctl lock: holds until a signal comes; then the lock is free" {
	for signal in INT TERM; do
		fresh
		alike $'held name/\nfree\nstatus 0' "env --default-signal etcdctl lock name > key & comes test -s key; echo held \$(cut -c 1-5 key)
			kill -$signal \$!; wait \$!; etcdctl lock name echo free"
	done
}

@test "etcdctl lock: a signal, and a loss, while the command runs" {
	differs "the signal is for the command, too: etcdctl takes it and goes on" \
		$'end\n0\nstatus 0' $'143\nstatus 0' "etcdctl lock name -- sh -c 'touch up; sleep 1; echo end' & comes test -e up
		kill \$!; wait \$!; echo \$?"
	fresh
	differs "the command must not outlive its lock: etcdctl does not end it, and reports success" \
		$'end\n0\nstatus 0' $'79\nstatus 0' "etcdctl lock --ttl 3 name -- sh -c 'touch up; until [ -e go ]; do sleep 0.1; done; echo end' &
		comes test -e up
		if [ \"\${PWD##*/}\" = peer ]; then etcdctl lease revoke \$(etcdctl lease list | tail -n 1) > revoked; (sleep 2; touch go) &
		else for i in 1 2 3; do redis-cli -s $T/\$i.sock set name rival; done > set; fi
		wait %1; echo \$?; touch go; wait"
}

@test "etcdctl lock: other names are free; a waiter that gives up leaves the queue" {
	alike $'other\n124\nfree\nstatus 0' 'etcdctl lock name -- sh -c "touch up; until [ -e go ]; do sleep 0.1; done" & comes test -e up
		etcdctl lock other echo other; timeout -s INT 2 etcdctl lock name echo never; echo $?; touch go; wait; etcdctl lock name echo free'
}

@test "etcdctl lock: a client that is killed has its lock until the session ends" {
	alike $'137\nheld\nfree\nstatus 0' 'etcdctl lock --ttl 3 name > key & comes test -s key; kill -9 $!; wait $!; echo $?
		timeout -s INT 0.2 etcdctl lock name true || echo held; etcdctl lock name echo free'
}

@test "etcdctl lock: no server can be reached: it waits" {
	alike $'124\nstatus 0' 'export ETCDCTL_ENDPOINTS=unix://no:1 REDLOCK_NODES=$PWD/no.sock; timeout -s INT 2 etcdctl lock name true; echo $?'
}

@test "etcdctl lock: usage" {
	alike $'0\nstatus 0' 'etcdctl lock --help > help; echo $?'
	differs "sysexits(3): 64 is wrong usage" 'status 128' 'status 64' 'etcdctl lock'
	differs "sysexits(3): 64 is wrong usage" 'status 1' 'status 64' 'etcdctl lock --no-such name true > help'
	differs "sysexits(3): 64 is wrong usage" 'status 1' 'status 64' 'etcdctl lock --ttl abc name true > help'
	# etcd takes its own default for a time that is none
	for ttl in 0 -1; do
		differs "a time that is none is a mistake" 'status 0' 'status 64' "etcdctl lock --ttl=$ttl name true"
	done
	differs "an empty name is a variable that is not set" 'status 0' 'status 64' 'etcdctl lock "" true'
}
