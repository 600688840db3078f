# --on-event and sd_notify: a command and the service manager hear of the lock, and delay nothing.

load nodes
load service

setup() {
	nodes_start 3
	# note: appends one line per event; the test reads them from $T/events
	cat > "$T/note" <<- 'END'
		#!/bin/sh
		echo "$REDLOCK_EVENT key=$REDLOCK_KEY status=$REDLOCK_STATUS" >> "${0%/*}/events"
	END
	chmod +x "$T/note"
	unset NOTIFY_SOCKET SYSTEMD_EXEC_PID REDLOCK_EVENT
}
teardown() {
	nodes_stop
}

STURDY=(--ttl 6s --node-timeout 900ms)

# events_are LINE...
events_are() { is_like "$(cat "$T/events")" "$(printf '%s\n' "$@")"; }

# ---- the events ----

@test "--on-event: acquired and released, with the status of the command" {
	run -3 redlock run -k job --on-event "$T/note" -- sh -c "until [ -s '$T/events' ]; do sleep 0.02; done; exit 3"
	[ "$output" = "" ]
	events_are "acquired key=job status=" "released key=job status=3"
	rm "$T/events"
	run -137 redlock run -k job --on-event "$T/note" -- sh -c 'kill -9 $$'
	events_are "acquired key=job status=" "released key=job status=137"
	rm "$T/events"
	run -127 redlock run -k job --on-event "$T/note" -- no-such-command
	events_are "acquired key=job status=" "released key=job status=127"
	rm "$T/events"
	run -124 redlock run -k a -k b --max-run 0.2 --on-event "$T/note" -- sleep 60
	events_are $'acquired key=a\nb status=' $'released key=a\nb status=124'
}

@test "--on-event: busy names the holder, no-quorum comes with 69; no lock, no other event" {
	in_background "$T/out" run -k job --owner 'the $(other) "one"' -- sleep 60
	eventually held_on job 3
	run -9 redlock run -q -n -E 9 -k job --on-event "$T/note"'; echo "$REDLOCK_HOLDER" >> '"$T/events" -- true
	events_are "busy key=job status=9" 'the $(other) "one"'
	rm "$T/events"
	run -75 redlock run -q -w 0.3 -k job --on-event "$T/note" -- true
	events_are "busy key=job status=75"
	kill_node 1
	kill_node 2
	rm "$T/events"
	run -69 redlock run -q -n -k job --on-event "$T/note" -- true
	events_are "no-quorum key=job status=69"
}

@test "--on-event: lost comes at the loss, before the command has ended, and released does not follow" {
	in_background "$T/out" run -k job "${STURDY[@]}" --on-lost warn --on-event "$T/note" -- \
		sh -c "echo up; until grep -s lost '$T/events'; do sleep 0.02; done"
	eventually file_has "$T/out" up
	for i in 1 2 3; do node "$i" set job rival px 60000 > "$T/set"; done
	ended_with 79
	events_are "acquired key=job status=" "lost key=job status=79"
	# known by the replies to the release only
	rm "$T/events"
	export T
	export_helpers
	run -79 redlock run -q -k other --on-event "$T/note" -- bash -c \
		"for i in 1 2 3; do node \$i set other rival px 60000; done > '$T/set'"
	events_are "acquired key=other status=" "lost key=other status=79"
}

@test "--on-event: hold, in the foreground and in the background; its output goes nowhere" {
	# the reader of the output sees its end, though the hook process lives on
	run -0 redlock hold -k job --on-event "echo word; echo word >&2; '$T/note'"
	token=${output%% *}
	[ "${#lines[@]}" = 1 ]
	eventually file_has "$T/events" acquired
	run -75 redlock hold -q -n -k job --on-event "$T/note"
	run -0 redlock release -k job --token "$token"
	eventually file_has "$T/events" released
	events_are "acquired key=job status=" "busy key=job status=75" "released key=job status=0"
}
@test "--on-event: a nested run under the same lock has no event; a hook that runs redlock starts no hook" {
	me=$REDLOCK_BUILD/redlock
	run -0 redlock run -k job -- "$me" run -k job --reentrant --on-event "$T/note" -- true
	[ ! -e "$T/events" ]
	REDLOCK_ON_EVENT="'$T/note'; '$me' run -k inner -- true" run -0 redlock run -k job -- true
	events_are "acquired key=job status=" "released key=job status=0"
	run -0 redlock run -k job --on-event "$T/note; '$me' run -k inner --on-event '$T/note' -- true" -- true
	[ "$(grep -c inner "$T/events")" = 0 ]
}

# ---- its surroundings ----

@test "--on-event: the environment has the lock, and neither its token nor a password" {
	for i in 1 2 3; do node "$i" acl setuser me on '>secret' '~*' '&*' +@all > "$T/acl"; done
	REDLOCK_PASSWORD=secret REDLOCK_USERNAME=me REDLOCK_TOKEN=old run -0 --separate-stderr redlock run -k job -L 2 --fence \
		--on-event 'env | grep ^REDLOCK_ | sort; echo' -- sh -c 'echo $REDLOCK_SLOT $REDLOCK_FENCE'
	read -r slot fence <<< "$output"
	grep -qx "REDLOCK_EVENT=acquired" <<< "$stderr"
	grep -qx "REDLOCK_EVENT=released" <<< "$stderr"
	grep -qx "REDLOCK_SLOT=$slot" <<< "$stderr"
	[ "$(grep -cx "REDLOCK_FENCE=$fence" <<< "$stderr")" = 2 ]
	[ "$(grep -cx "REDLOCK_NODES=unix://.*" <<< "$stderr")" = 2 ]
	not grep -E 'secret|TOKEN|ON_EVENT|REDLOCK_HELD' <<< "$stderr"
}

@test "--on-event: its output goes to stderr, stdin is empty, its folder is redlock's" {
	cd "$T"
	run -0 --separate-stderr redlock run -k job --on-event 'cat; echo out; ./note; pwd' -- echo command <<< input
	[ "$output" = command ]
	[ "$stderr" = $'out\n'"$T"$'\nout\n'"$T" ]
	events_are "acquired key=job status=" "released key=job status=0"
	# signals and their mask are those of redlock's caller
	run -0 --separate-stderr redlock run -k job --on-event 'grep SigBlk /proc/self/status' -- grep SigBlk /proc/self/status
	[ "$stderr" = "$output"$'\n'"$output" ]
}

@test "--on-event: a hanging command delays neither the lock, nor the command, nor the release; the order is kept" {
	in_background "$T/out" run -k job --on-event "echo \$REDLOCK_EVENT begins >> '$T/log'
		until [ -e '$T/go' ]; do sleep 0.1; done; echo \$REDLOCK_EVENT ends >> '$T/log'" -- touch "$T/ran"
	eventually test -e "$T/ran"
	eventually held_on job 0
	run -0 redlock run -w 20s -k job -- true
	not is_gone "$BG"
	touch "$T/go"
	ended_with 0
	[ "$(cat "$T/log")" = $'acquired begins\nacquired ends\nreleased begins\nreleased ends' ]
}

@test "--on-event: a signal ends the wait for the commands, but not the commands" {
	in_background "$T/out" run -k job --on-event "until [ -e '$T/go' ]; do sleep 0.1; done; '$T/note'" -- touch "$T/ran"
	eventually test -e "$T/ran"
	eventually held_on job 0
	kill -TERM "$BG"
	ended_with 0
	touch "$T/go"
	eventually file_has "$T/events" released
	events_are "acquired key=job status=" "released key=job status=0"
}

@test "--on-event: a command is ended after 10 seconds, with all its processes; then the next event follows" {
	cat > "$T/nasty" <<- 'END'
		trap '' TERM HUP
		echo $$ >> "$1"
		setsid sh -c 'trap "" TERM; echo $$ >> "$0"; while :; do sleep 0.05; done' "$1" &
		while :; do sleep 0.05; done
	END
	in_background "$T/out" run -k job --on-event "[ \$REDLOCK_EVENT = released ] && exec '$T/note'; sh '$T/nasty' '$T/pids'" -- true
	ended_with 0
	[ "$(cat "$T/out")" = "redlock: --on-event: acquired: the command ran for longer than 10s and was ended" ]
	events_are "released key=job status=0"
	[ "$(wc -l < "$T/pids")" = 2 ]
	for pid in $(cat "$T/pids"); do is_gone "$pid"; done
}

@test "--on-event: redlock killed, or its supervisor: the commands run to their end" {
	hook="until [ -e '$T/go' ]; do sleep 0.1; done; '$T/note'"
	in_background "$T/out" run -k job --on-event "$hook" -- sleep 60
	eventually held_on job 3
	eventually pgrep -P "$BG" > "$T/children"
	kill -KILL "$BG"
	ended_with 137
	touch "$T/go"
	eventually file_has "$T/events" acquired
	events_are "acquired key=job status="
	rm "$T/events" "$T/go"
	in_background "$T/out" run -k other --on-event "$hook" -- sh -c 'echo $PPID > "$0"; exec sleep 60' "$T/supervisor"
	eventually test -s "$T/supervisor"
	kill -KILL "$(cat "$T/supervisor")"
	eventually held_on other 0
	touch "$T/go"
	ended_with 125
	events_are "acquired key=other status=" "released key=other status=125"
}

# stops_hook REST: an event command that stops the hook process.
stops_hook() { echo "kill -STOP \$PPID; $1"; }

# hook_is_stopped MAIN: its pid is in $T/hook.
hook_is_stopped() { pgrep -P "$1" -x rl-hook > "$T/hook" && in_state "$(cat "$T/hook")" T; }

@test "--on-event: a command that stops the hook process delays neither the other events nor redlock's end" {
	SECONDS=0
	run -0 redlock run -k job --on-event "$(stops_hook "'$T/note'")" -- true
	((SECONDS < 8))
	[ "$output" = "" ]
	events_are "acquired key=job status=" "released key=job status=0"
	rm "$T/events"
	# again and again; then it is ended in its time
	SECONDS=0
	hastily run -0 redlock run -k job --on-event \
		"[ \$REDLOCK_EVENT = released ] && exec '$T/note'; while :; do kill -STOP \$PPID; done" -- true
	((SECONDS < 8))
	[[ "$output" == "redlock: --on-event: acquired: the command ran for longer than"*"and was ended" ]]
	events_are "released key=job status=0"
	rm "$T/events"
	# the background holder, which is not its parent
	redlock hold -k job --on-event "$(stops_hook "'$T/note'")" > "$T/token"
	eventually file_has "$T/events" acquired
	redlock release -k job
	eventually file_has "$T/events" released
}

@test "--on-event: after a command stopped the hook process, the next event continues it while redlock runs" {
	in_background "$T/out" run -k job "${STURDY[@]}" --on-lost warn --on-event "$(stops_hook "'$T/note'")" -- sh -c "
		until [ -e '$T/go' ]; do sleep 0.1; done"
	eventually hook_is_stopped "$BG"
	for i in 1 2 3; do node "$i" set job rival px 60000 > /dev/null; done
	eventually file_has "$T/events" lost
	touch "$T/go"
	ended_with 79
}

@test "--on-event: redlock killed after a command stopped the hook process: that process ends" {
	in_background "$T/out" run -k job --on-event "$(stops_hook "'$T/note'")" -- sleep 60
	eventually hook_is_stopped "$BG"
	kill -KILL "$BG"
	ended_with 137
	eventually is_gone "$(cat "$T/hook")"
	events_are "acquired key=job status="
}

@test "--on-event: a hook process that is stuck is killed in the end, with its commands" {
	needs ptrace look_inside
	hastily in_background "$T/out" run -k job --on-event "echo \$\$ > '$T/command'; exec sleep 60" -- sh -c "
		until [ -e '$T/go' ]; do sleep 0.1; done"
	eventually test -s "$T/command"
	pgrep -P "$BG" -x rl-hook > "$T/hook"
	coproc "$REDLOCK_BUILD/tools/freeze" "$(cat "$T/hook")" 3>&-
	also_end "$COPROC_PID"
	read -r word <&"${COPROC[0]}"
	[ "$word" = frozen ]
	touch "$T/go"
	ended_with 0
	eventually is_gone "$(cat "$T/hook")"
	eventually is_gone "$(cat "$T/command")"
}

@test "--on-event: wrong input is named" {
	says 64 '' "redlock: *--on-event*" run -k job --on-event
	says 64 '' "redlock: *--on-event*" acquire -k job --on-event "$T/note"
	says 64 '' "redlock: *--on-events*?hint: *--on-event*" run -k job --on-events "$T/note" -- true
	says 0 '' "*no-such-program*not found?redlock: --on-event: acquired: the command ended with status 127?*" \
		run -k job --on-event no-such-program -- true
	says 0 '' "*yntax error*redlock: --on-event: acquired: the command ended with status 2*" run -k job --on-event 'if' -- true
	says 0 '' "redlock: --on-event: acquired: the command was ended by signal 9?redlock: --on-event: released: *9" \
		run -k job --on-event 'kill -9 $$' -- true
	# -q: errors of redlock only
	says 0 '' '' run -q -k job --on-event false -- true
	printf 'on-event = %s\n' "$T/note" > "$T/config"
	chmod 600 "$T/config"
	says 0 '' '' run --config "$T/config" -k job -- true
	# an empty one: none, whatever the configuration says
	says 0 '' '' run --config "$T/config" -k job --on-event '' -- true
	REDLOCK_ON_EVENT= says 0 '' '' run --config "$T/config" -k job -- true
	events_are "acquired key=job status=" "released key=job status=0"
}

# ---- the service manager ----

@test "sd_notify: READY=1 when the lock is held, STOPPING=1 when the command has ended; a path and an abstract name" {
	for address in "$T/notify" "@$T/notify"; do
		service_manager "$address"
		# the receiver understands systemd's own program
		if type systemd-notify > "$T/type"; then
			systemd-notify --no-block --ready --status="hello"
			eventually file_has "$T/notes" "READY=1.*STATUS=hello\|STATUS=hello.*READY=1"
			rm "$T/notes"
		fi
		in_background "$T/out" run -k job -- sleep 0.1
		ended_with 0
		eventually file_has "$T/notes" STOPPING
		notes_are "$BG: READY=1 | STATUS=holding 'job'" "$BG: STOPPING=1 | STATUS=releasing 'job'"
	done
}

@test "sd_notify: a standby is not ready before it has the lock" {
	service_manager "$T/notify"
	(unset NOTIFY_SOCKET; in_background "$T/holder" run -k job -- sh -c "until [ -e '$T/go' ]; do sleep 0.1; done"; echo "$BG" > "$T/pid")
	also_end "$(cat "$T/pid")"
	eventually held_on job 3
	in_background "$T/out" run -k job -- sleep 60
	eventually file_has "$T/notes" waiting
	notes_are "$BG: STATUS=waiting for 'job'"
	touch "$T/go"
	eventually file_has "$T/notes" READY
	# systemctl stop
	kill -TERM "$BG"
	ended_with 143
	eventually file_has "$T/notes" STOPPING
	notes_are "$BG: STATUS=waiting for 'job'" "$BG: READY=1 | STATUS=holding 'job'" \
		"$BG: STOPPING=1 | STATUS=releasing 'job'"
}

@test "sd_notify: STOPPING=1 comes when redlock is asked to end, before the command has ended; a loss is told" {
	service_manager "$T/notify"
	in_background "$T/out" run -k job -- bash -c "trap 'until [ -e $T/go ]; do sleep 0.1; done; exit 0' TERM; echo up
		while :; do sleep 0.02; done"
	eventually file_has "$T/out" up
	kill -TERM "$BG"
	eventually file_has "$T/notes" STOPPING
	not is_gone "$BG"
	touch "$T/go"
	ended_with 0
	rm "$T/notes"
	in_background "$T/out" run -k lost "${STURDY[@]}" -- sleep 60
	eventually file_has "$T/notes" READY
	for i in 1 2 3; do node "$i" set lost rival px 60000 > "$T/set"; done
	ended_with 79
	eventually file_has "$T/notes" STOPPING
	notes_are "$BG: READY=1 | STATUS=holding 'lost'" "$BG: STATUS=lost 'lost'" "$BG: STOPPING=1 | STATUS=lost 'lost'"
}

@test "sd_notify: the command keeps the socket; a run inside the service, and other subcommands, send nothing" {
	service_manager "$T/notify"
	run -0 redlock run -k job -- sh -c 'echo "$NOTIFY_SOCKET"'
	[ "$output" = "$NOTIFY_SOCKET" ]
	eventually file_has "$T/notes" STOPPING
	rm "$T/notes"
	# systemd has started another process
	SYSTEMD_EXEC_PID=1 run -0 redlock run -k job -- true
	run -0 redlock hold -k job
	run -0 redlock release -k job --token "${output%% *}"
	# the last message has arrived: no other is under way
	python3 -c 'import os, socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"LAST=1", os.environ["NOTIFY_SOCKET"])'
	eventually file_has "$T/notes" LAST
	[ "$(wc -l < "$T/notes")" = 1 ]
}

@test "sd_notify: a socket that is missing, wrong, full or of another kind changes nothing" {
	: > "$T/file"
	long=$(printf 'x%.0s' {1..200})
	for address in "$T/none" "$T/file" relative / @ '' "/$long" "$T/1.sock" vsock:2:1; do
		NOTIFY_SOCKET=$address says 3 out '' run -k job -- sh -c 'echo out; exit 3'
	done
	# a service manager that does not read
	service_manager "$T/notify"
	kill -STOP "${EXTRA[-1]}"
	for i in {1..40}; do NOTIFY_SOCKET=$T/notify says 0 '' '' run -k job -- true; done
}
