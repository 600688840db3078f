# Output for other programs: --record, --metrics-file, --log, and messages as JSON.

load nodes

setup() {
	nodes_start 3
	R=$T/record
	M=$T/redlock.prom
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

# recorded FILTER: true of the last line of the record; its numbers are integers.
recorded() {
	tail -n 1 "$R" | whole_numbers && tail -n 1 "$R" | jq -e "$1" > "$T/jq" || {
		echo "not so: $1"
		cat "$R"
		return 1
	}
}

# lines FILE N
has_lines() { [ "$(wc -l < "$1")" -eq "$2" ]; }

# metric SERIES VALUE: the metrics file has it once.
metric() {
	[ "$(grep -cxF -- "$1 $2" "$M")" = 1 ] || {
		echo "no '$1 $2'"
		cat "$M"
		return 1
	}
}
no_metric() { not grep -qF -- "$1" "$M"; }

# all_json FILE: each line is an object with time, level, and either message or hint.
all_json() {
	[ "$(jq -e -s 'map(select((.time | test("^20[0-9-]+T[0-9:]+Z$")) and
		(.level | IN("error", "notice", "info", "debug")) and
		(has("message") != has("hint")))) | length' "$1")" = "$(wc -l < "$1")" ]
}

# ---- the record ----

@test "a record of each outcome: the command's own status, and a signal" {
	run -3 redlock run -k job --owner me --record "$R" -- sh -c 'sleep 0.01; exit 3'
	[ "$output" = "" ]
	has_lines "$R" 1
	recorded '.schema == 1 and .command == "run" and .key == "job" and .owner == "me"'
	recorded '.outcome == "command-failed" and .status == 3 and .nodes == []'
	recorded '.waited_ms >= 0 and .waited_ms < 60000 and .held_ms >= 10 and .held_ms < 60000'
	recorded '.extensions == 0 and .worst_margin_ms == null'
	recorded '(.time | fromdate) > now - 120 and (.time | fromdate) <= now'
	recorded '(.started | fromdate) > now - 120 and (.started | fromdate) <= (.time | fromdate)'
	recorded ".host == \"$(uname -n)\" and (.user | length) > 0 and .pid > 1 and .command_line == \"sh -c sleep 0.01; exit 3\" and (has(\"signal\") | not)"
	[ "$(stat -c %a "$R")" = 640 ]
	run bash -c "'$REDLOCK_BUILD/redlock' run -k job --record '$R' --metrics-file '$M' -- sh -c 'sleep 0.01; kill -KILL \$\$'; echo \$?"
	[ "${lines[-1]}" -eq 137 ]
	has_lines "$R" 2
	recorded '.outcome == "signalled" and .status == 137 and .signal == 9 and .held_ms >= 10'
	recorded '.owner | test("^.*@.*:[0-9]+ sh -c")'
	metric 'redlock_runs_total{key="job",result="signalled"}' 1
	metric 'redlock_last_status{key="job"}' 137
}

@test "metrics: a skipped run is only counted, and only status 0 is a success" {
	redlock run -k job --metrics-file "$M" -- true
	success=$(grep '^redlock_last_success_timestamp_seconds{key="job"}' "$M")
	[ "${success##* }" -gt 1700000000 ]
	run -3 redlock run -k job --metrics-file "$M" -- sh -c 'exit 3'
	metric 'redlock_runs_total{key="job",result="success"}' 1
	metric 'redlock_runs_total{key="job",result="failure"}' 1
	metric 'redlock_last_status{key="job"}' 3
	file_has "$M" "^$success$"
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	grep redlock_last_ "$M" > "$T/before"
	for i in 1 2; do run -0 redlock run -n -E 0 -k job --metrics-file "$M" -- echo never; done
	grep redlock_last_ "$M" | diff "$T/before" -
	metric 'redlock_runs_total{key="job",result="busy"}' 2
	# Prometheus' own tool (Debian: prometheus), where it is installed
	if type -P promtool > /dev/null; then promtool check metrics < "$M"; fi
}

@test "owner text and command text show no secret" {
	export PATH=$REDLOCK_BUILD:$PATH
	redlock run -k job --owner 'job 5: me@host --password hid1 -phid2 mysql://u:hid3@db' --record "$R" -- \
		sh -c 'redlock status --json job > "$1"' sh "$T/status" --token hid4
	not grep -q hid "$R" "$T/status"
	recorded '.owner == "job 5: me@host --password *** -p*** mysql://***@db" and (.command_line | endswith("--token ***"))'
	jq -e '.locks[0].holder.owner == "job 5: me@host --password *** -p*** mysql://***@db"' "$T/status"
	redlock run -k job --record "$R" -c 'true; : PGPASSWORD=hid5'
	recorded '.command_line == "true; : PGPASSWORD=***"'
}

@test "a log file that takes no more: the messages go to stderr, announced once" {
	run -3 --separate-stderr redlock run -v -k job --log /dev/full -- sh -c 'exit 3'
	echo "$stderr"
	[ "${stderr_lines[0]}" = "redlock: cannot write to the log file: No space left on device; messages go to stderr" ]
	[ "$(grep -c 'cannot write to the log file' <<< "$stderr")" = 1 ]
	[[ "$stderr" == *"redlock: acquired 'job' on "* ]]
	[[ "$stderr" == *"redlock: released 'job'"* ]]
	run -75 --separate-stderr bash -c "
		'$REDLOCK_BUILD/redlock' run -k job -- sleep 60 & until '$REDLOCK_BUILD/redlock' status job | grep held; do sleep 0.05; done
		'$REDLOCK_BUILD/redlock' run -n -k job --json --log /dev/full -- true; status=\$?; kill %1; wait; exit \$status"
	[ "$(grep -c '^{\"time\".*\"message\"' <<< "$stderr")" -ge 2 ]
}

@test "a record of each outcome: the lock was not acquired" {
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	run -75 redlock run -n -k job --record "$R" --metrics-file "$M" -- echo never
	recorded '.outcome == "busy" and .status == 75 and .held_ms == null and .nodes == []'
	metric 'redlock_runs_total{key="job",result="busy"}' 1
	no_metric redlock_last_held_seconds
	run -9 redlock run -w 300ms -E 9 -k job --record "$R" --metrics-file "$M" -- echo never
	recorded '.outcome == "busy" and .status == 9 and .waited_ms >= 300'
	metric 'redlock_runs_total{key="job",result="busy"}' 2
	holder=$BG
	in_background "$T/waiter" run -k job --record "$R" --metrics-file "$M" -- touch "$T/never"
	eventually file_has "$T/waiter" waiting
	kill -TERM "$BG"
	ended_with 143
	recorded '.outcome == "interrupted" and .status == 143 and .held_ms == null and .waited_ms >= 900'
	metric 'redlock_runs_total{key="job",result="interrupted"}' 1
	kill -TERM "$holder"
	free_everywhere job
	ln -s "$T/1.sock" "$T/again.sock"
	run -78 redlock run -n -k job --record "$R" --nodes "unix://$T/1.sock unix://$T/again.sock" -- echo never
	recorded '.outcome == "duplicate-node" and .status == 78'
	kill_node 2
	kill_node 3
	run -69 redlock run -n -k job --record "$R" -- echo never
	recorded '.outcome == "no-quorum" and .status == 69 and .held_ms == null'
	recorded ".nodes == [2, 3 | {node: \"unix://$T/\(.).sock\", why: \"cannot be reached\"}]"
	has_lines "$R" 5
}

@test "a record of each outcome: the run was ended" {
	run -124 redlock run -k job --max-run 100ms --record "$R" -- sleep 60
	recorded '.outcome == "max-run" and .status == 124 and .held_ms >= 100'
	run -127 redlock run -k job --record "$R" -- no-such-command
	recorded '.outcome == "not-started" and .status == 127'
	run -126 redlock run -k job --record "$R" -- /etc/passwd
	recorded '.outcome == "not-started" and .status == 126'
	run -79 redlock run -k job -t 9s --node-timeout 900ms --record "$R" --metrics-file "$M" -- \
		sh -c "for i in 1 2 3; do redis-cli -s $T/\$i.sock set job rival; done; sleep 60"
	recorded '.outcome == "lost" and .status == 79 and .extensions == 0'
	metric 'redlock_runs_total{key="job",result="lost"}' 1
	in_background "$T/out" run -k other --record "$R" -- sleep 60
	eventually held_on other 3
	asked() { [ -n "$(supervisor_of "$BG")" ]; }
	eventually asked
	kill -KILL "$(supervisor_of "$BG")"
	ended_with 125
	recorded '.outcome == "failed" and .status == 125 and .key == "other"'
	has_lines "$R" 5
}

@test "a record of each outcome: a majority granted it too late" {
	redlock run -k job -- true # the nodes have the scripts: redlock need not send them again
	for i in 1 2 3; do stop_node $i; done
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" SUSPENDED=$T/suspended \
		LD_PRELOAD=$REDLOCK_BUILD/tools/suspend.so in_background "$T/out" run -n -k job \
		--node-timeout 12s --record "$R" -- touch "$T/never"
	asked() { [ -n "$(supervisor_of "$BG")" ]; } # the supervisor is started while redlock waits for the nodes
	eventually asked
	kill -STOP "$BG"
	eventually in_state "$BG" T
	for i in 1 2 3; do continue_node $i; done
	eventually held_on job 3
	touch "$T/suspended"
	kill -CONT "$BG"
	ended_with 69
	recorded '.outcome == "too-slow" and .status == 69 and .held_ms == null'
	[ ! -e "$T/never" ]
}

@test "a nested run: refused as busy, or completed without a lock of its own" {
	run redlock run -k job -- "$REDLOCK_BUILD/redlock" run -k job --record "$R" -- true
	[ "$status" -eq 75 ]
	recorded '.outcome == "busy" and .status == 75'
	run redlock run -k job -- "$REDLOCK_BUILD/redlock" run --reentrant -k job --record "$R" -- true
	[ "$status" -eq 0 ]
	recorded '.outcome == "completed" and .status == 0 and .held_ms == null'
}

@test "extensions, the least margin, and a node with problems are recorded" {
	kill_node 3
	in_background "$T/out" run -v -k job -t 6s --node-timeout 900ms --record "$R" --metrics-file "$M" -- \
		sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually file_has "$T/out" extended
	touch "$T/go"
	ended_with 0
	recorded '.extensions >= 1 and .worst_margin_ms > 0 and .worst_margin_ms < 6000 and .waited_ms + .held_ms > 1900'
	recorded ".nodes == [{node: \"unix://$T/3.sock\", why: \"cannot be reached\"}]"
	file_has "$M" '^redlock_last_extensions{key="job"} [1-9]'
	file_has "$M" '^redlock_last_worst_margin_seconds{key="job"} [0-5]\.[0-9]*$'
	redlock run -k job --metrics-file "$M" -- true
	metric 'redlock_last_extensions{key="job"}' 0
	no_metric 'redlock_last_worst_margin_seconds'
	metric 'redlock_runs_total{key="job",result="success"}' 2
}

@test "written when the lock is free again, and in the folder where redlock was started" {
	mkdir "$T/here"
	cd "$T/here"
	# long enough for redlock to leave the folder, which it does together with the descriptors
	exec 7> "$T/seven"
	flock 7
	in_background "$T/out" run -k job --record rec --metrics-file m.prom -- \
		sh -c "exec 7>&-; until [ -e $T/go ]; do sleep 0.1; done"
	exec 7>&-
	eventually is_closed "$T/seven"
	[ ! -e rec ]
	[ ! -e m.prom ]
	touch "$T/go"
	ended_with 0
	has_lines rec 1
	file_has m.prom '^redlock_last_status{key="job"} 0$'
	[ "$(ls)" = $'m.prom\nm.prom.lock\nrec' ]
	# a pipe shows that the lock is free by then
	mkfifo "$T/pipe"
	in_background "$T/out" run -k job --record "$T/pipe" -- true
	ended_with 0
	file_has "$T/out" "^redlock: cannot record the run: cannot write to '$T/pipe': No such device or address$"
	held_on job 0
}

@test "fifty at once: whole lines in the record, and the metrics have counted exactly" {
	pids=()
	for i in $(seq 50); do
		redlock run -k "job$((i % 5))" --record "$R" --metrics-file "$M" -- true 2>> "$T/err" 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	not grep -v "^redlock: waiting: \|^redlock: '.*' could not be released on " "$T/err"
	has_lines "$R" 50
	[ "$(jq -s 'map(select(.outcome == "completed")) | length' "$R")" = 50 ]
	[ "$(jq -s 'map(.key) | unique | length' "$R")" = 5 ]
	for i in 0 1 2 3 4; do
		metric "redlock_runs_total{key=\"job$i\",result=\"success\"}" 10
	done
	[ "$(grep -c '^# HELP' "$M")" -eq "$(grep '^# HELP' "$M" | sort -u | wc -l)" ]
	[ "$(grep -c '^# TYPE redlock_runs_total counter$' "$M")" -eq 1 ]
	[ "$(stat -c %a "$M")" = 644 ]
	[ "$(stat -c %a "$M.lock")" = 600 ]
	[ "$(ls -A "$T" | grep -c prom)" -eq 2 ]
}

@test "in a directory of another user, root follows no symbolic link and waits for no foreign file lock" {
	needs users
	D=$T/theirs
	install -d -o 65534 "$D"
	M=$D/redlock.prom
	echo precious > "$T/victim"
	run_there() { run -3 timeout 60 "$REDLOCK_BUILD/redlock" run -k job "$@" -- sh -c 'exit 3'; }
	ln -s "$T/victim" "$M.tmp"
	run_there --metrics-file "$M"
	[ "$output" = "" ]
	metric 'redlock_runs_total{key="job",result="failure"}' 1
	rm "$M.lock"
	for made in victim made; do
		ln -sfn "$T/$made" "$M.lock"
		run_there --metrics-file "$M"
		[ "$output" = "redlock: cannot update the metrics: cannot write to '$M.lock': it is a symbolic link" ]
	done
	rm "$M.lock"
	mkfifo "$M.lock"
	run_there --metrics-file "$M"
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$M.lock': it is not a regular file" ]
	rm "$M.lock"
	for made in victim made; do
		ln -sfn "$T/$made" "$M"
		ln -sfn "$T/$made" "$D/record"
		run_there --metrics-file "$M" --record "$D/record"
		[ "${lines[0]}" = "redlock: cannot record the run: cannot write to '$D/record': it is a symbolic link" ]
		[ "${lines[1]}" = "redlock: cannot update the metrics: cannot write to '$M': it is a symbolic link" ]
	done
	ln -f "$T/victim" "$D/record"
	run_there --record "$D/record"
	[ "$output" = "redlock: cannot record the run: cannot write to '$D/record': it has several names (hard links)" ]
	for how in -s ''; do
		ln $how -f "$T/victim" "$D/log"
		run -78 redlock run -k job --log "$D/log" -- touch "$T/never"
		[[ "$output" == "redlock: cannot write to --log '$D/log': it "* ]]
	done
	[ "$(cat "$T/victim")" = precious ]
	[ ! -e "$T/made" ]
	[ ! -e "$T/never" ]
	# the user's own files are written to, and only the lock file's user can delay it
	rm "$D/record"
	install -o 65534 /dev/null "$D/record"
	run_there --record "$D/record" --metrics-file "$D/own"
	[ "$output" = "" ]
	has_lines "$D/record" 1
	[ "$(stat -c %a "$D/own.lock")" = 600 ]
}

@test "the user's own links, standard streams and descriptors are written to by their names" {
	ln -s "$T/elsewhere" "$T/link"
	run -0 redlock run -v -k job --record "$T/link" --log "$T/link" -- true
	[ "$output" = "" ]
	[ "$(grep -c '"outcome":"completed"' "$T/elsewhere")" -eq 1 ]
	file_has "$T/elsewhere" "released 'job'"
	run -0 --separate-stderr redlock run -v -k job --log /dev/stderr -- true
	[ "$output" = "" ]
	[[ "$stderr" == *"released 'job'"* ]]
	redlock run -v -k job --log /dev/fd/8 -- true 8> "$T/log.8"
	file_has "$T/log.8" "released 'job'"
	redlock run -v -k job --log >(cat > "$T/log.pipe") -- true
	eventually file_has "$T/log.pipe" "released 'job'"
}

@test "a record or file that cannot be written is one line, and changes no status" {
	run -3 redlock run -k job --record /dev/full -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot record the run: cannot write to '/dev/full': No space left on device" ]
	run -3 redlock run -k job --record "$T" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot record the run: cannot write to '$T': Is a directory" ]
	run -3 redlock run -k job --record "$T/none/rec" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot record the run: cannot write to '$T/none/rec': No such file or directory" ]
	# also with -q, as cron jobs have it
	run -3 redlock run -q -k job --record /dev/full -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot record the run: cannot write to '/dev/full': No space left on device" ]
	run -3 redlock run -q -k job --metrics-file "$T/none/m" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$T/none/m': No such file or directory" ]
	run -3 redlock run -k job --metrics-file "$T/none/m" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$T/none/m': No such file or directory" ]
	# procfs allows no write, not even root's
	run -3 redlock run -k job --metrics-file /proc/m -- sh -c 'exit 3'
	[[ "$output" == "redlock: cannot update the metrics: cannot write to '/proc/m.lock': "* ]]
	[ "${#lines[@]}" -eq 1 ]
	# a device is not replaced
	mkfifo "$T/pipe"
	run -3 redlock run -k job --metrics-file "$T/pipe" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$T/pipe': it is not a regular file" ]
	[ -p "$T/pipe" ]
	mkdir "$T/folder"
	run -3 redlock run -k job --metrics-file "$T/folder" -- sh -c 'exit 3'
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$T/folder': Is a directory" ]
	# no room: the old file stays
	redlock run -k job --metrics-file "$M" -- true
	cp "$M" "$T/before"
	run bash -c "trap '' XFSZ; ulimit -f 0; exec '$REDLOCK_BUILD/redlock' run -k job --metrics-file '$M' -- true 2> >(cat)"
	[ "$status" -eq 0 ]
	[ "$output" = "redlock: cannot update the metrics: cannot write to '$M': File too large" ]
	cmp "$M" "$T/before"
	[ "$(ls -A "$T" | grep -c prom)" -eq 2 ]
	held_on job 0
}

@test "a file that is at its limit kills neither redlock nor its command" {
	# without "ignored": the kernel's signal would end both
	run bash -c "ulimit -f 0; '$REDLOCK_BUILD/redlock' run -v -k job --log '$T/log' --record '$R' --metrics-file '$M' -- sh -c 'sleep 0.1; exit 3' 2> >(cat)"
	[ "$status" -eq 3 ]
	[ ! -s "$T/log" ]
	held_on job 0
}

@test "a metrics file that is foreign, or broken, is replaced" {
	printf 'garbage\n\xff\n# HELP redlock_last_status twice\nredlock_last_status{key="b"} 3\nredlock_last_status{key="c"} 4' > "$M"
	chmod 600 "$M"
	(umask 077 && redlock run -k job --metrics-file "$M" -- true)
	metric 'redlock_last_status{key="job"}' 0
	metric 'redlock_last_status{key="b"}' 3
	no_metric garbage
	no_metric '"c"'
	no_metric twice
	[ "$(stat -c %a "$M")" = 644 ]
	# those that a crash has left, and a symbolic link
	touch "$M.0123456789abcdef.tmp"
	ln -s "$T/victim" "$M.tmp"
	redlock run -k job --metrics-file "$M" -- true
	[ ! -e "$T/victim" ]
	[ ! -e "$M.0123456789abcdef.tmp" ]
	metric 'redlock_runs_total{key="job",result="success"}' 2
}

@test "any bytes can be a key, in the record, in the metrics and in the log" {
	key=$'a "b" \\ \n\xff\xfe é'
	for i in 1 2; do
		redlock run -v --json -k "$key" --record "$R" --metrics-file "$M" --log "$T/log" -- true
	done
	has_lines "$R" 2
	recorded '.key == "a \"b\" \\ \n\ufffd\ufffd é"'
	[ "$(tail -n 1 "$R" | jq -r .key_base64 | base64 -d)" = "$key" ]
	metric $'redlock_runs_total{key="a \\"b\\" \\\\ \\n\xef\xbf\xbd\xef\xbf\xbd é",result="success"}' 2
	[ "$(grep -c '^redlock_last_status' "$M")" -eq 1 ]
	all_json "$T/log"
	key=$(printf '"%.0s' $(seq 4096))
	redlock run -k "$key" --record "$R" --metrics-file "$M" -- true
	recorded '.key | length == 4096'
}

@test "the command inherits nothing of it, and without the options nothing is written" {
	exec 7< /dev/null
	[ "$(redlock run -v -k job --json --log "$T/log" --record "$R" --metrics-file "$M" -- ls /proc/self/fd)" = "$(ls /proc/self/fd)" ]
	[ -s "$T/log" ]
	mkdir "$T/empty"
	cd "$T/empty"
	redlock run -k job -- true
	[ "$(ls -A)" = "" ]
}

@test "hold: the background holder records its end, or the caller a lock that was not acquired" {
	export XDG_RUNTIME_DIR=$T/runtime
	mkdir -m 700 "$T/runtime"
	cd "$T"
	holder=$(redlock hold -k job --record record --metrics-file redlock.prom --log "$T/log" 2> "$T/err" | cut -d ' ' -f 2)
	also_end "$holder"
	run -75 redlock hold -n -k job --record "$R"
	recorded '.command == "hold" and .outcome == "busy" and .status == 75 and .held_ms == null'
	kill -TERM "$holder"
	eventually is_gone "$holder"
	has_lines "$R" 2
	recorded '.outcome == "completed" and .status == 0 and .held_ms >= 0 and .key == "job"'
	metric 'redlock_runs_total{key="job",result="success"}' 1
	holder=$(redlock hold -k job --max-run 100ms --record "$R" 2> "$T/err" | cut -d ' ' -f 2)
	eventually is_gone "$holder"
	eventually has_lines "$R" 3
	recorded '.outcome == "max-run" and .held_ms >= 100'
	held_on job 0
}

# ---- destination of messages ----

@test "--log FILE: all messages, each line with its time and sender" {
	redlock run -v -k job --log "$T/log" -- sh -c 'echo out; echo err >&2' > "$T/out" 2> "$T/err"
	[ "$(cat "$T/out") $(cat "$T/err")" = "out err" ]
	[ "$(stat -c %a "$T/log")" = 640 ]
	[[ "$(head -n 1 "$T/log")" =~ ^20[0-9-]+T[0-9:]+Z\ redlock\[[0-9]+\]:\ acquired\ \'job\'\ on\  ]]
	file_has "$T/log" "Z redlock\[[0-9]*\]: released 'job'$"
	# appended to, hints as well
	redlock run -v -k job --log "$T/log" -- true
	[ "$(grep -c "acquired 'job' on" "$T/log")" -eq 2 ]
	rm "$T/log"
	node 1 set job other px 60000
	node 2 set job other px 60000
	REDLOCK_LOG=$T/log run -75 redlock run -n -k job -- true
	[ "$output" = "" ]
	has_lines "$T/log" 1
	unset REDLOCK_NODES
	run -69 redlock run -n -k job --nodes redis://127.0.0.1:1 --log "$T/log" -- true
	[ "$output" = "" ]
	run -64 redlock run -k job --log "$T/log"
	file_has "$T/log" "Z redlock\[[0-9]*\]: missing command$"
	file_has "$T/log" "Z redlock\[[0-9]*\]: hint: redlock run -k KEY -- COMMAND"
	has_lines "$T/log" 5 # the run without a quorum has a hint, too
	run -64 redlock run -k job --log stderr
	[ "${lines[0]}" = "redlock: missing command" ]
}

@test "--log FILE that cannot be opened: 78, and nothing is done" {
	run -78 redlock run -k job --log "$T/none/log" --record "$R" -- touch "$T/never"
	[ "$output" = "redlock: cannot write to --log '$T/none/log': No such file or directory" ]
	run -78 redlock run -k job --log "$T" -- touch "$T/never"
	[ "$output" = "redlock: cannot write to --log '$T': Is a directory" ]
	run -64 redlock run -k job --log '' -- touch "$T/never"
	run -78 redlock run -k job --json --log "$T" -- touch "$T/never"
	[ "$(jq -r .message <<< "$output")" = "cannot write to --log '$T': Is a directory" ]
	[ ! -e "$T/never" ]
	[ ! -e "$R" ]
}

@test "--log FILE: the supervisor's messages are there as well" {
	in_background "$T/out" run -k job --log "$T/log" -- sh -c "echo \$\$ > $T/pid; exec sleep 60"
	eventually test -s "$T/pid"
	settled() { [ "$(cat "/proc/$(supervisor_of "$BG")/comm")" = rl-supervisor ]; }
	eventually settled
	kill -KILL "$BG"
	eventually file_has "$T/log" "Z redlock\[[0-9]*\]: redlock was killed: the command is terminated$"
	eventually is_gone "$(cat "$T/pid")"
	[ ! -s "$T/out" ]
}

@test "--log FILE: a full pipe without a reader delays nothing" {
	mkfifo "$T/full"
	exec 8<> "$T/full"
	head -c 65536 /dev/zero >&8
	[ "$(redlock run -vv -k job --log "$T/full" -- echo done)" = "done" ]
	exec 8>&-
}

# with_syslog ARG...: redlock, for which $T/devlog is /dev/log.
with_syslog() {
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" DEVLOG=$T/devlog \
		LD_PRELOAD=$REDLOCK_BUILD/tools/devlog.so redlock "$@"
}

# syslog_start [full]
syslog_start() {
	"$REDLOCK_BUILD/tools/syslogd" "$T/devlog" "$@" > "$T/syslog" 3>&- &
	SYSLOGD=$!
	also_end "$SYSLOGD"
	eventually test -S "$T/devlog"
}

@test "--log syslog: facility daemon, levels as the messages'; a hint has the level of its message" {
	syslog_start
	with_syslog run -vv -k job --log syslog -- sh -c 'echo err >&2' 2> "$T/err"
	[ "$(cat "$T/err")" = err ]
	# daemon is 3 * 8; errors 3, notices 5, decisions 6, replies 7
	stamp='[A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]\{8\} redlock\[[0-9]*\]'
	eventually file_has "$T/syslog" "^<30>$stamp: released 'job'$"
	file_has "$T/syslog" "^<30>$stamp: acquired 'job' on "
	file_has "$T/syslog" "^<31>$stamp: unix://$T/[123].sock acquire: yes ("
	not grep -v "^<3[01]>$stamp: " "$T/syslog"
	run -64 with_syslog run -k job --log syslog
	[ "$output" = "" ]
	eventually file_has "$T/syslog" "^<27>$stamp: hint: redlock run -k KEY"
	file_has "$T/syslog" "^<27>$stamp: missing command$"
	export T
	run -75 redlock run -k job -- bash -c "$(declare -f with_syslog redlock); with_syslog run -n -k job --log syslog -- true"
	eventually file_has "$T/syslog" "^<29>$stamp: hint: --reentrant runs the command"
	file_has "$T/syslog" "^<29>$stamp: 'job' is held by a run"
	run -64 with_syslog run -k job --json --log syslog
	eventually file_has "$T/syslog" '^<27>.*"hint":'
	sed -n "s/^<27>$stamp: {/{/p" "$T/syslog" > "$T/json"
	has_lines "$T/json" 2
	all_json "$T/json"
}

@test "--log syslog: a syslog daemon that is stopped delays nothing; without one, stderr is used" {
	syslog_start full
	eventually file_has "$T/syslog" '^full$'
	[ "$(with_syslog run -vv -k job --log syslog -- echo done)" = "done" ]
	in_background "$T/holder" run -k job -- sleep 60
	eventually held_on job 3
	run -75 with_syslog run -n -vv -k job --log syslog -- true
	kill -KILL "$SYSLOGD"
	rm "$T/devlog"
	run -75 with_syslog run -n -k job --log syslog -- true
	[[ "$output" == "redlock: 'job' is busy: held by "* ]]
	run -75 with_syslog run -n --json -k job --log syslog -- true
	[[ "$(jq -r .message <<< "$output")" == "'job' is busy: held by "* ]]
}

# ---- messages as JSON ----

@test "--json: each line on stderr is an object, hints too" {
	redlock run -vv --json -k job -- true 2> "$T/err"
	[ "$(wc -l < "$T/err")" -gt 4 ]
	all_json "$T/err"
	jq -e -s 'any(.level == "info" and (.message | test("^acquired '"'job'"'")))' "$T/err"
	jq -e -s 'any(.level == "debug" and (.message | test("acquire: yes")))' "$T/err"
	run -64 redlock run --json -k job
	echo "$output" > "$T/err"
	has_lines "$T/err" 2
	all_json "$T/err"
	jq -e -s '.[0].level == "error" and .[0].message == "missing command" and
		.[1].level == "error" and (.[1].hint | test("^redlock run -k KEY"))' "$T/err"
	run -64 redlock run --json -k job --ttl never -- true
	echo "$output" > "$T/err"
	all_json "$T/err"
	run -75 redlock run -k job -- "$REDLOCK_BUILD/redlock" run --json -n -k job -- true
	echo "$output" > "$T/err"
	all_json "$T/err"
	jq -e -s '.[0].level == "notice" and .[1].level == "notice" and .[1].hint' "$T/err"
	REDLOCK_JSON=1 run -64 redlock run -k job
	jq -e . <<< "${lines[0]}"
}

@test "--json: each usage error is in JSON on stderr, wherever the option is; stdout is empty" {
	is_refused_in_json() {
		run -64 --separate-stderr "${@:2}"
		echo "$stderr" > "$T/err"
		all_json "$T/err"
		[ "$output" = "" ]
		jq -e -s --arg part "$1" '.[0].message | contains($part)' "$T/err"
	}
	is_refused_in_json --ttl redlock status --json --ttl 3
	is_refused_in_json --ttl redlock status --ttl 3 --json
	is_refused_in_json --tll redlock run --tll 3 --json -k job -- true
	is_refused_in_json nope redlock nope --json
	is_refused_in_json early redlock --json status
	is_refused_in_json 'a b' redlock doctor --json --acl 'a b'
	export REDLOCK_JSON=1
	is_refused_in_json --ttl redlock status --ttl 3
	is_refused_in_json nope redlock nope
	is_refused_in_json --tll redlock run --tll 3 -k job -- true
	unset REDLOCK_JSON
	# an option of the command, and a subcommand without --json
	run -64 redlock run --tll 3 -k job curl --json x
	[[ "$output" == "redlock: unknown option '--tll'"* ]]
	REDLOCK_JSON=1 run -64 redlock gate --ttl 3
	[[ "$output" == "redlock: "* ]]
}

# prints STATUS COMMAND [ARG...]: one document, with --json; it goes to $T/documents.
prints() {
	run --separate-stderr redlock "$2" --json "${@:3}"
	[ "$status" -eq "$1" ]
	[ "${#lines[@]}" -eq 1 ]
	echo "$output" >> "$T/documents"
}
takes_json() { redlock help "$1" --all 2> "$T/err" | grep -q -e --json; }

@test "--json and --record: numbers are integers, in the units that their names end in" {
	export XDG_RUNTIME_DIR=$T/runtime
	mkdir -m 700 "$T/runtime"
	cd "$T"
	redlock run -k job --record documents -- true
	prints 0 acquire -k job -t 1h --fence
	token=$(jq -r .token <<< "$output")
	prints 75 acquire -k job -n
	prints 75 wait -k job -n
	prints 0 extend -k job --token "$token" -t 1h
	prints 0 check -k job --token "$token"
	prints 0 status job
	prints 0 status
	prints 0 status --limit 2 job
	prints 0 release -k job --token "$token"
	prints 79 check -k job --token "$token"
	prints 0 wait -k job
	prints 0 hold -k job
	also_end "$(jq .holder_pid <<< "$output")"
	prints 0 hold --list
	prints 0 break -fy -k job
	prints 0 doctor
	prints 0 config
	for i in 1 2 3; do node $i flushall; done > "$T/set"
	prints 69 acquire -k job -n
	prints 0 doctor --admit --yes
	whole_numbers < documents
	# A new subcommand or name must be added here, too.
	for word in $(redlock help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		takes_json "$word" && echo "$word"
	done | sort > want
	jq -r .command documents | sort -u | diff want -
	grep -oE '[a-z0-9_]+_(ms|us)\b' "$BATS_TEST_DIRNAME/../../man/redlock-scripting.7" | sort -u > want
	jq -r '.. | objects | to_entries[] | select(.key | test("_(ms|us)$")) |
		select(.value | type | IN("number", "null")).key' documents | sort -u | diff want -
}

# has_event FILE EVENT FILTER: one message of that event has the key 'job', and FILTER is true of it.
has_event() {
	jq -e -s "map(select(.event == \"$2\")) | length == 1 and (.[0] | .key == \"job\" and has(\"message\") and ($3))" "$1" > "$T/jq" || {
		cat "$1"
		return 1
	}
}

@test "--json: messages have the event, the key, the exit status and the holder that they are about" {
	redlock run -v --json -k job -- true 2> "$T/err"
	all_json "$T/err"
	has_event "$T/err" acquired '(has("status") or has("holder")) | not'
	has_event "$T/err" released '(has("status") or has("holder")) | not'
	token=$(redlock acquire -k job --owner ann --ttl 10m)
	run -75 --separate-stderr redlock run -n --json -k job -- true
	has_event <(echo "$stderr") busy '.status == 75 and .holder == "ann"'
	run -9 --separate-stderr redlock run -n -E 9 --json -k job -- true
	has_event <(echo "$stderr") busy '.status == 9'
	in_background "$T/waiter" run --json -k job -- sleep 600
	eventually file_has "$T/waiter" '"event":"waiting"'
	has_event "$T/waiter" waiting '.holder == "ann" and (has("status") | not)'
	run -79 --separate-stderr redlock release --json -k job --token "$(tr 0-9 1-90 <<< "${token:14}" | sed "s/^/${token:0:14}/")"
	has_event <(echo "$stderr") foreign '.status == 79 and .holder == "ann"'
	redlock release -k job --token "$token"
	eventually held_on job 3
	for i in 1 2 3; do node $i set job other px 600000 > "$T/set"; done
	kill -CONT "$BG" # extends at once
	ended_with 79
	has_event "$T/waiter" lost '.status == 79'
	for i in 1 2 3; do node $i del job > "$T/del"; done
	redlock run -k job --once-per 1h --owner ann -- true
	run -0 --separate-stderr redlock run -k job --once-per 1h --json --record "$T/done" --metrics-file "$T/done.prom" \
		--on-event 'echo "$REDLOCK_EVENT" > '"$T/done.event" -- true
	has_event <(echo "$stderr") 'done' '.holder == "ann"'
	[ "$(jq -r .outcome "$T/done")" = 'done' ]
	[ "$(grep -v '^#' "$T/done.prom")" = 'redlock_runs_total{key="job",result="done"} 1' ]
	eventually file_has "$T/done.event" 'done'
	run -124 --separate-stderr redlock run -k job --max-run 100ms --json -- sleep 600
	has_event <(echo "$stderr") max-run '.status == 124'
	for i in 1 2; do kill_node $i; done
	run -69 --separate-stderr redlock run -n --json -k job -- true
	has_event <(echo "$stderr") no-quorum '.status == 69'
	# hints have the key, too, and no message has a key before it is known
	[ "$(jq -s 'map(select(has("hint"))) | .[0].key' <<< "$stderr")" = '"job"' ]
	run -64 --separate-stderr redlock run --json --no-such-option
	[[ "$stderr" != *'"key"'* ]]
}

@test "--json: a line that is too long is cut, and still an object" {
	for i in 1 2 3; do kill_node $i; done
	unset REDLOCK_NODES
	quotes=$(printf '"%.0s' $(seq 104))
	words=()
	for i in $(seq 15); do words+=(--node "unix:///$quotes$i"); done
	run redlock run -n --json -k "$quotes" "${words[@]}" -- true
	[ "$status" -eq 69 ]
	echo "$output" > "$T/err"
	all_json "$T/err"
	# (hints follow, in lines of their own)
	[ "$(head -n 1 "$T/err" | wc -c)" -gt 3900 ]
	[ "$(head -n 1 "$T/err" | wc -c)" -le 4096 ]
}

@test "--json and --log: no line that is kept current, and a full stderr delays no signal" {
	in_background "$T/holder" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	export REDLOCK_BUILD T
	TERM=xterm run "$REDLOCK_BUILD/tools/pty" expect:'"message":"waiting: ' run:"touch $T/go" expect:'<begin>' \
		-- "$REDLOCK_BUILD/redlock" run --json -k job -- echo '<begin>'
	[ "$status" -eq 0 ]
	[[ "$output" != *$'\e[K'* ]]
	ended_with 0
	mkfifo "$T/full"
	exec 8<> "$T/full"
	head -c 65536 /dev/zero >&8
	[ "$(redlock run -vv --json -k another -- echo done 2>&8)" = "done" ]
	exec 8>&-
}

@test "hold: the background holder's own messages go to syslog, not to the caller's stderr" {
	export XDG_RUNTIME_DIR=$T
	syslog_start
	with_syslog hold -v -k job > "$T/held" 2> "$T/err"
	redlock release -k job
	eventually file_has "$T/syslog" "'job': asked to release it"
	not file_has "$T/err" "asked to release"
}
