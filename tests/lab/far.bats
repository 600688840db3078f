# A network in which each packet takes 200 ms, in either direction: the cost of a lock in one-way delays.

load ../bats/nodes
load ../bats/certificates
load lab

DELAY=200

setup_file() {
	export C=$BATS_FILE_TMPDIR
	far_certificate
}
setup() {
	needs mounts networks tun
	lab_start_far $DELAY
	far_servers 5
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=20s
}
teardown() {
	continue_all
	nodes_stop
}

# know_scripts [ARG...]: from now on, the servers know the scripts of a run with these arguments.
know_scripts() {
	local i
	for i in 1 2 3 4 5; do there "$REDLOCK_BUILD/redlock" run -q -k warm --nodes "redis://10.9.1.$i" "$@" -- true; done
}

# within N MOMENT...: sets SLOW if N + 1.5 one-way delays, or more, are between these moments (`between`, lab.bash).
within() {
	local us
	us=$(between "${@:2}")
	echo "$((us / DELAY)) thousandths of a delay: ${*:2}"
	[ "$us" -lt $((($1 * 1000 + 1500) * DELAY)) ] || SLOW=yes
}

# thrice CMD...: until a time is not slow: a busy machine makes one of three slow, but not each. TRY is their number.
thrice() {
	for TRY in 1 2 3; do
		SLOW=
		"$@"
		[ "$SLOW" ] || return 0
	done
	return 1
}

# costs START END ARG...: a run starts its command after START one-way delays, and ends END one-way delays after it.
costs() { thrice costs_once "$@"; }
costs_once() {
	timed "$REDLOCK_BUILD/redlock" run -k "job$TRY" "${@:3}" -- "${RECORDER[@]}"
	within "$1" end before begin command
	within "$2" end command begin after
}

# until_go NAME: a command that records its moments with that name, and runs until $T/go is there.
until_go() {
	: > "$T/moments"
	rm -f "$T/go"
	UNTIL_GO=("$REDLOCK_BUILD/tools/section" "$T/moments" job "$1" until "$T/go" 0)
}

@test "far: a run starts its command after four one-way delays, and ends after two, also with a fencing number and two keys" {
	know_scripts
	costs 4 2
	know_scripts --fence
	costs 4 2 --fence
	costs 4 2 -k other
	know_scripts --once-per 1h
	costs 4 2 --once-per 1h
}

@test "far: TLS and a name cost two one-way delays each, a password and a database none" {
	know_scripts
	costs 4 2 --nodes "$(far_nodes 5 redis://u:pw@%s)"
	costs 6 2 --nodes "$(far_nodes 5 rediss://%s:6380)"
	costs 6 2 --nodes "$(far_nodes 5 rediss://u:pw@%s:6380)"
	costs 6 2 --nodes 'n1 n2 n3 n4 n5'
	costs 4 2 --restart-guard off --nodes "$(far_nodes 5 redis://%s/1)"
}

@test "far: a minority that is silent, or much farther away, costs nothing" {
	know_scripts
	for how in silent 2000; do
		distances "all $DELAY" "10.9.1.1 $how" "10.9.1.2 $how"
		costs 4 2
		costs 4 2 --nodes "$(far_nodes 5 redis://u:pw@%s)"
		costs 6 2 --nodes "$(far_nodes 5 rediss://%s:6380)"
	done
}

no_keys() { [ "$(for i in 1 2 3 4 5; do at "10.9.1.$i" keys 'job*'; done)" = '' ]; }

@test "far: the end does not wait for a minority that is twice as far, and leaves no key there" {
	know_scripts
	distances "all $DELAY" "10.9.1.1 $((2 * DELAY))" "10.9.1.2 $((2 * DELAY))"
	costs 4 2
	# the TTL is 600 s
	eventually no_keys
}

# has_key ADDRESS
has_key() { [ "$(at "$1" exists "job$TRY")" = 1 ]; }

silent_meanwhile() {
	distances "all $DELAY"
	until_go command
	in_lab_background "$T/out" run -k "job$TRY" -- "${UNTIL_GO[@]}"
	eventually file_has "$T/moments" 'begin job command'
	# its votes, and its connections, are complete
	for i in 1 2 3 4 5; do eventually has_key "10.9.1.$i"; done
	distances "all $DELAY" "10.9.1.4 silent" "10.9.1.5 silent"
	touch "$T/go"
	ended_with 0
	"$REDLOCK_BUILD/tools/section" "$T/moments" job after plain 0 0
	within 2 end command begin after
	for i in 1 2 3; do not has_key "10.9.1.$i"; done
	for i in 4 5; do has_key "10.9.1.$i"; done
}

@test "far: a minority becomes silent while the lock is held: the run ends after two one-way delays all the same" {
	know_scripts
	thrice silent_meanwhile
}

@test "far: a round trip of half a node timeout: a release, and a record of --once-per, are no failure" {
	distances "all 260"
	export REDLOCK_NODE_TIMEOUT=1s
	for mode in "" "--once-per 1h"; do
		run -0 in_lab run -k "job$mode" -w 50s $mode -- true
		not grep -E 'released|stored' <<< "$output"
	done
	no_keys
}

hand_over() {
	until_go holder
	in_lab_background "$T/holder" run -k job -- "${UNTIL_GO[@]}"
	holder=$BG
	eventually file_has "$T/moments" 'begin job holder'
	in_lab_background "$T/waiter" run -k job -- "${RECORDER[@]}"
	waiter=$BG
	eventually is_queued job 10.9.1.{1..5}
	touch "$T/go"
	BG=$holder ended_with 0
	BG=$waiter ended_with 0
	within 4 end holder begin command
}

@test "far: a waiter starts its command four one-way delays after the end of the holder's" {
	know_scripts
	thrice hand_over
}

status_once() {
	timed "$REDLOCK_BUILD/redlock" status job
	within 4 end before begin after
}

@test "far: status takes four one-way delays" {
	thrice status_once
}
