# The recipes of docs/recipes.md, run as they are printed there, with stubs for the programs in them.

load nodes
load stubs
load service

RECIPES=$BATS_TEST_DIRNAME/../../docs/recipes.md

setup() {
	stubs_start
}
teardown() { nodes_stop; }

# recipe HEADING: the first code block under that heading.
recipe() {
	awk -v want="$1" '
		/^##+ / { on = $0 == want; next }
		!on { next }
		/^```/ { if (fenced) exit; fenced = 1; next }
		fenced { print; next }
		/^    / { print substr($0, 5); began = 1; next }
		began { exit }' "$RECIPES" | tee "$T/recipe"
	[ -s "$T/recipe" ] || { echo "docs/recipes.md has no recipe '$1'" >&2 && return 1; }
}

# others_hold KEY: another client holds it until others_let_go.
others_hold() {
	in_background "$T/holder" run -k "$1" --owner others -- bash -c "until [ -e $T/go ]; do sleep 0.1; done"
	HOLDER=$BG
	eventually held_on "$1" 3
}
others_let_go() {
	touch "$T/go"
	wait "$HOLDER"
}

# start FILE COMMAND...: runs it in the background, as BG.
start() {
	local file=$1
	shift
	"$@" > "$file" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
}

@test "every recipe has its test here, or says that it is not tested" {
	awk '
		function done() { if (name != "" && !marked) print name }
		/^##+ / { done(); name = /^### / ? substr($0, 5) : ""; marked = 0 }
		/Not tested:$/ { marked = 1 }
		END { done() }' "$RECIPES" > "$T/recipes"
	[ "$(wc -l < "$T/recipes")" -ge 13 ]
	while read -r name; do
		grep -qF "recipe \"### $name\"" "$BATS_TEST_FILENAME" || echo "no test: $name"
	done < "$T/recipes" > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
}

@test "several steps of a script: acquire, extend, check, release" {
	recipe "### Several steps of a script" > script
	stub build.sh deploy
	stub deploy.sh deploy
	run -0 bash script
	was_done "build.sh held" "build.sh done" "deploy.sh held" "deploy.sh done"
	held_on deploy 0
	# busy: the script waits
	: > "$T/done"
	others_hold deploy
	start "$T/out" bash script
	eventually file_has "$T/out" "waiting: 'deploy' is held by others"
	[ ! -s "$T/done" ]
	others_let_go
	ended_with 0
	was_done "build.sh held" "build.sh done" "deploy.sh held" "deploy.sh done"
	# lost meanwhile: the script does not reach the dangerous step
	: > "$T/done"
	touch "$T/stop.build.sh"
	start "$T/out" bash script
	eventually file_has "$T/done" build.sh
	for i in 1 2 3; do node "$i" set deploy rival px 60000 > "$T/set"; done
	rm "$T/stop.build.sh"
	ended_with 79
	was_done "build.sh held" "build.sh done"
}

# cron LINE: the command that cron would give to the shell.
cron() {
	local line
	line=$(recipe "### Cron on several hosts" | sed -n "$1p")
	[[ "$line" =~ ^([0-9*]+\ +){5}(redlock\ .*)$ ]]
	echo "${BASH_REMATCH[2]}"
}

@test "cron on several hosts: one runs the job, the others skip it silently" {
	stub nightly.sh nightly
	touch "$T/stop.nightly.sh"
	start "$T/out" sh -c "$(cron 1)"
	eventually file_has "$T/done" "nightly.sh held"
	line=$(cron 1)
	run -0 sh -c "${line/-w 20s/-w 200ms}"
	[ "$output" = "" ]
	rm "$T/stop.nightly.sh"
	ended_with 0
	[ ! -s "$T/out" ]
	was_done "nightly.sh held" "nightly.sh done"
}

@test "cron on several hosts: the nightly job runs when summer time begins, though its last start was late" {
	stub nightly.sh nightly
	last=$(($(date +%s%3N) - (23 * 60 - 10) * 60000))
	for i in 1 2 3; do node $i set 'redlock:queue:{nightly}:done' "$last 79200000 0 1700000000 eve" > "$T/set"; done
	run -0 sh -c "$(cron 1)"
	was_done "nightly.sh held" "nightly.sh done"
}

@test "cron on several hosts: a short job is done once by three hosts, though the clocks of two are late" {
	line=0
	for job in nightly tick; do
		line=$((line + 1))
		stub $job.sh $job
		: > "$T/done"
		for host in 1 2 3; do
			run -0 sh -c "$(cron $line)"
			[ "$output" = "" ]
			free_everywhere $job
		done
		was_done "$job.sh held" "$job.sh done"
	done
	run -0 redlock status nightly
	[[ "${lines[0]}" == "'nightly' is done until "*" (21h59m left), run by "*"nightly.sh"* ]]
}

@test "cron on several hosts: a job that fails silently is reported, and a host without the script costs no run" {
	stub nightly.sh nightly
	echo 'exit 3' >> nightly.sh
	run -0 sh -c "$(cron 1)"
	[ "$output" = "nightly: status 3" ]
	run -0 redlock break -y -k nightly
	# the lock is held for a moment by the host that cannot start the job: the other one waits for it
	stub nightly.sh nightly
	: > "$T/done"
	others_hold nightly
	start "$T/out" sh -c "$(cron 1)"
	eventually in_queue 1
	others_let_go
	ended_with 0
	[ ! -s "$T/out" ]
	was_done "nightly.sh held" "nightly.sh done"
}

# github: runs the steps on stdin as the runner does: a shell for each; after a failure only the steps that always run. Status 1
# if one has failed.
github() {
	local step failed=0
	rm -f step.*
	awk '
		/^  - / { n++; block = 0 }
		/if: always\(\)/ { printf "" > ("step." n ".always") }
		/run: \|$/ { block = 1; next }
		/run: / { sub(/.*run: /, ""); print > ("step." n); next }
		block { print substr($0, 7) > ("step." n) }'
	for step in step.?; do
		[ $failed -eq 0 ] || [ -e "$step.always" ] || continue
		bash --noprofile --norc -e "$step" || failed=1
	done
	return $failed
}

@test "several steps of a CI job: the lock is held over the steps, and released in any case" {
	steps() { recipe "### Several steps of a CI job" | github; }
	stub build.sh pipeline
	stub deploy.sh pipeline deploy
	run -0 steps
	[ "$(ls step.? | wc -l)" -eq 4 ]
	was_done "build.sh held" "build.sh done" "deploy.sh held held" "deploy.sh done"
	held_on pipeline 0
	# a step fails
	: > "$T/done"
	echo 'exit 1' >> build.sh
	run -1 steps
	was_done "build.sh held" "build.sh done"
	held_on pipeline 0
	# busy: the job waits
	: > "$T/done"
	stub build.sh pipeline
	others_hold pipeline
	start "$T/out" steps
	eventually file_has "$T/out" "waiting: 'pipeline' is held by others"
	[ ! -s "$T/done" ]
	others_let_go
	ended_with 0
	was_done "build.sh held" "build.sh done" "deploy.sh held held" "deploy.sh done"
	held_on pipeline 0
	# lost meanwhile: no step deploys
	: > "$T/done"
	touch "$T/stop.build.sh"
	start "$T/out" steps
	eventually file_has "$T/done" build.sh
	for i in 1 2 3; do node "$i" set pipeline rival px 60000 > "$T/set"; done
	rm "$T/stop.build.sh"
	ended_with 1
	was_done "build.sh held" "build.sh done"
}

# ci COMMAND OWNER STATUS: the job builds, waits for the lock, and deploys under it. If the lock is broken, deploy.sh has
# ended when the lock is free, and the job ends with STATUS.
ci() {
	stub build.sh deploy
	stub deploy.sh deploy
	sed -i '1a echo $$ > $T/deploy.pid' deploy.sh
	run -0 "$1"
	was_done "build.sh free" "build.sh done" "deploy.sh held" "deploy.sh done"
	free_everywhere deploy
	# busy: the job waits
	: > "$T/done"
	others_hold deploy
	start "$T/out" "$1"
	eventually file_has "$T/out" "waiting: 'deploy' is held by others"
	not file_has "$T/done" deploy.sh
	others_let_go
	ended_with 0
	was_done "build.sh held" "build.sh done" "deploy.sh held" "deploy.sh done"
	# broken: the next holder comes when deploy.sh has ended
	: > "$T/done"
	touch "$T/stop.deploy.sh"
	start "$T/out" "$1"
	eventually file_has "$T/done" "deploy.sh held"
	run -0 redlock status deploy
	[[ "$output" == *"held by $2 since "* ]]
	run -0 redlock break -y -k deploy
	is_gone "$(cat "$T/deploy.pid")"
	run -0 redlock run -n -k deploy -- true
	rm "$T/stop.deploy.sh"
	ended_with "$3"
	not file_has "$T/done" "deploy.sh done"
}

@test "GitHub Actions: the step that deploys runs under the lock, and ends before the next holder begins" {
	export GITHUB_RUN_ID=42 GITHUB_REPOSITORY=me/app
	one_step() { recipe "### GitHub Actions" | github; }
	ci one_step "run 42 of me/app" 1
}

@test "GitLab CI: the last line deploys under the lock, and ends before the next holder begins" {
	export CI_JOB_ID=43 CI_PROJECT_NAME=app
	recipe "### GitLab CI" | sed -n 's/^    - //p' > script
	[ "$(wc -l < script)" -eq 2 ]
	one_script() { bash -eo pipefail script; }
	ci one_script "job 43 of app" 79
}

@test "a target of make" {
	recipe "### A target of make" > Makefile
	stub deploy.sh deploy
	run -0 make -s deploy
	was_done "deploy.sh held" "deploy.sh done"
	held_on deploy 0
	: > "$T/done"
	others_hold deploy
	start "$T/out" make -s deploy
	eventually file_has "$T/out" "waiting: 'deploy' is held by others"
	[ ! -s "$T/done" ]
	others_let_go
	ended_with 0
	was_done "deploy.sh held" "deploy.sh done"
	# a failed recipe is a failure for make as well
	echo 'exit 7' >> deploy.sh
	run -2 make -s deploy
	held_on deploy 0
}

@test "a shell script: the lock is held to its end, however it ends" {
	recipe "### A shell script" > script
	chmod +x script
	stub dump.sh db
	stub prune.sh db
	run -0 ./script
	echo "$output"
	[ "$output" = "" ]
	was_done "dump.sh held" "dump.sh done" "prune.sh held" "prune.sh done"
	free_everywhere db
	# killed
	: > "$T/done"
	touch "$T/stop.dump.sh"
	start "$T/out" ./script
	eventually file_has "$T/done" dump.sh
	run -75 redlock run -n -k db -- true
	kill -KILL "$BG"
	run -0 redlock run -w 15s -k db -- true
	rm "$T/stop.dump.sh"
	eventually file_has "$T/done" "dump.sh done"
	# busy: the script waits
	: > "$T/done"
	others_hold db
	start "$T/out" ./script
	eventually file_has "$T/out" "waiting: 'db' is held by others"
	[ ! -s "$T/done" ]
	others_let_go
	ended_with 0
	was_done "dump.sh held" "dump.sh done" "prune.sh held" "prune.sh done"
	# no lock: nothing is done
	: > "$T/done"
	kill_node 1
	kill_node 2
	sed -i 's/-w 5m/-w 200ms/' script
	run -69 ./script
	[ ! -s "$T/done" ]
}

@test "a gate for migrations: one host migrates, applications start afterwards" {
	recipe "### A gate for migrations" > lines
	[ "$(wc -l < lines)" -eq 2 ]
	stub migrate.sh migration
	stub start-app.sh migration
	touch "$T/stop.migrate.sh"
	start "$T/out" sh -c "$(sed -n 1p lines)"
	migration=$BG
	eventually file_has "$T/done" "migrate.sh held"
	run -0 sh -c "$(sed -n 1p lines)" # another host: skipped
	start "$T/app" sh -c "$(sed -n 2p lines)"
	eventually file_has "$T/app" "waiting: 'migration' is held by"
	was_done "migrate.sh held"
	rm "$T/stop.migrate.sh"
	ended_with 0
	was_done "migrate.sh held" "migrate.sh done" "start-app.sh free" "start-app.sh done"
	BG=$migration
	ended_with 0
	# no host migrates
	: > "$T/done"
	run -0 sh -c "$(sed -n 2p lines)"
	was_done "start-app.sh free" "start-app.sh done"
}

@test "two locks: both are held, and two jobs at a time take turns" {
	recipe "### Two locks" > line
	stub settle.sh accounts invoices
	touch "$T/stop.settle.sh"
	start "$T/first" sh line
	first=$BG
	eventually file_has "$T/done" "settle.sh held held"
	start "$T/second" sh line
	eventually file_has "$T/second" "waiting: 'accounts' is held by"
	was_done "settle.sh held held"
	rm "$T/stop.settle.sh"
	ended_with 0
	BG=$first
	ended_with 0
	was_done "settle.sh held held" "settle.sh done" "settle.sh held held" "settle.sh done"
	held_on accounts 0
	held_on invoices 0
}

@test "a resource that refuses outdated numbers: it has seen a newer one" {
	mkdir -p "$T/web1/app"
	(cd "$T/web1" && stub apply deploy)
	printf '%s\n' '#!/bin/sh' '[ "$1" = web1 ] && shift && cd "$T/web1" && exec sh -c "$*"' > "$T/bin/ssh"
	chmod +x "$T/bin/ssh"
	recipe "### A resource that rejects late commands" > line
	run -0 sh line
	was_done "apply held" "apply done"
	mine=$(cat "$T/web1/app/fence")
	run -0 sh line
	[ "$(cat "$T/web1/app/fence")" -gt "$mine" ]
	echo $((2 * mine)) > "$T/web1/app/fence"
	: > "$T/done"
	run -76 sh line
	[ ! -s "$T/done" ]
}

# unit_command UNIT: the command of a systemd unit, as systemd splits it where no quotes are in it.
unit_command() {
	sed -n 's/^ExecStart=//p' "$1" | tee "$T/command" | sed 's|/usr/bin/redlock|redlock|; s|/usr/local/bin/|./|'
	[ "$(wc -l < "$T/command")" -eq 1 ]
}

@test "a systemd timer: one host runs the job, the others skip it; the units are valid" {
	recipe "### A systemd timer" > nightly.service
	awk '/^### / { on = $0 == "### A systemd timer" } on && /^```/ { n++; next } on && n == 3' "$RECIPES" > nightly.timer
	grep -qx 'OnCalendar=.*' nightly.timer
	stub nightly.sh nightly
	run -0 sh -c "$(unit_command nightly.service)"
	was_done "nightly.sh held" "nightly.sh done"
	run -0 sh -c "$(unit_command nightly.service)" # another host, a moment later
	was_done "nightly.sh held" "nightly.sh done"
	if type systemd-analyze > "$T/type"; then
		sed -i 's|^ExecStart=.*|ExecStart=/bin/true|' nightly.service
		cp nightly.service nightly.timer "$T"
		run -0 systemd-analyze verify "$T/nightly.timer"
	fi
}

@test "hot standby: the second host runs the service when the first one is gone" {
	recipe "### Hot standby" > unit
	stub the-service the-service
	grep -qx Type=notify unit
	service_manager "$T/notify"
	touch "$T/stop.the-service"
	start "$T/first" sh -c "exec $(unit_command unit)"
	first=$BG
	eventually file_has "$T/notes" "^$first: READY=1"
	eventually file_has "$T/done" "the-service held"
	start "$T/second" sh -c "exec $(unit_command unit)"
	eventually file_has "$T/notes" "^$BG: STATUS=waiting"
	not file_has "$T/notes" "^$BG: READY"
	was_done "the-service held"
	kill -TERM "$first" # systemctl stop, KillMode=mixed
	eventually file_has "$T/notes" "^$first: STOPPING=1"
	eventually file_has "$T/notes" "^$BG: READY=1"
	eventually file_has_times "$T/done" "the-service held" 2
	rm "$T/stop.the-service"
	ended_with 0
	if type systemd-analyze > "$T/type"; then
		sed 's|^ExecStart=.*|ExecStart=/bin/true|' unit > "$T/the-service.service"
		run -0 systemd-analyze verify "$T/the-service.service"
	fi
}

@test "a mail when a job had no lock: for a loss and for no quorum, and for nothing else" {
	printf '%s\n' '#!/bin/sh' '{ echo "$*"; cat; } >> "$T/mails"' > "$T/bin/mail"
	chmod +x "$T/bin/mail"
	recipe "### A mail when a job had no lock" > line
	stub nightly.sh nightly
	run -0 sh line
	was_done "nightly.sh held" "nightly.sh done"
	others_hold nightly
	run -0 sh line
	others_let_go
	[ ! -e "$T/mails" ]
	run -0 redlock break -y -k nightly
	sed -i 's/--once-per 22h/& --node-wait 200ms/' line
	REDLOCK_NODES=unix:///none run -69 sh line
	[ "$(cat "$T/mails")" = "-s nightly: no-quorum ops@example.com
status 69 on $(uname -n)" ]
}

@test "a webhook: each event is sent as JSON, whatever the holder's text is" {
	printf '%s\n' '#!/bin/sh' 'for url; do :; done' 'echo "$url $(jq -c .)" >> "$T/posts"' > "$T/bin/curl"
	chmod +x "$T/bin/curl"
	recipe "### A webhook" > line
	stub deploy.sh deploy
	run -0 sh line
	was_done "deploy.sh held" "deploy.sh done"
	others_hold deploy
	sed 's/-w 30m/-n/' line > now
	run -75 sh now
	others_let_go
	diff "$T/posts" - <<- 'END'
		https://chat.example.com/hook {"text":"deploy: acquired "}
		https://chat.example.com/hook {"text":"deploy: released "}
		https://chat.example.com/hook {"text":"deploy: busy others"}
	END
}

@test "the status of a unit: a hook's message reaches the service manager" {
	needs systemd_notify
	recipe "### The status of a unit" > line
	stub the-service the-service
	service_manager "$T/notify"
	run -0 sh line
	was_done "the-service held" "the-service done"
	eventually file_has "$T/notes" "STATUS=acquired since "
	eventually file_has "$T/notes" "STATUS=released since "
}

# file_has_times FILE TEXT N
file_has_times() { [ "$(grep -cF -- "$2" "$1")" -eq "$3" ]; }

@test "Jenkins: a stage runs under the lock, and fails with 75 if the lock is busy for too long" {
	line=$(recipe "### Jenkins" | sed -n "s/^ *sh '\(.*\)'$/\1/p")
	[ -n "$line" ]
	stub deploy.sh deploy
	run -0 sh -xe -c "$line"
	was_done "deploy.sh held" "deploy.sh done"
	others_hold deploy
	run -75 sh -xe -c "${line/-w 30m/-w 200ms}"
	was_done "deploy.sh held" "deploy.sh done"
	others_let_go
}

# cancel SYSTEM PID: as the CI system cancels a step; PID is its shell: docs/recipes.md, "CI". Returns the signals that
# were needed, in $NEEDED. The seconds are those of the systems: redlock must be done within them.
cancel() {
	local rest="$2 $(pgrep -P "$2" | tr '\n' ' ')"
	NEEDED=
	case $1 in
	github) lasts 7.5 INT "$2" && lasts 2.5 TERM "$2" && lasts 10 KILL $rest || true ;;
	gitlab) lasts 10 TERM "$2" && lasts 10 KILL $rest || true ;;
	jenkins) lasts 40 TERM "$2" || true ;; # not the command: redlock's own signal is what is tested
	esac
}
# lasts SECONDS SIGNAL PID...: signals; true if the first process is still there after these seconds.
lasts() {
	local end=$(($(date +%s%3N) + $(printf '%.0f' "$1e3")))
	NEEDED+="${NEEDED:+ }$2"
	kill -"$2" "${@:3}" 2> "$T/kill" || true
	until is_gone "$3"; do
		[ "$(date +%s%3N)" -lt $end ] || return 0
		sleep 0.05
	done
	return 1
}

# step FILE: runs it as a CI system runs a step, in the background; INT is not ignored.
step() {
	env --default-signal=INT,QUIT bash --noprofile --norc -e "$1" > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
}

@test "a job that can be cancelled: it cleans up, and the lock is free before the CI system sends SIGKILL" {
	recipe "### A job that can be cancelled" > job
	for system in github gitlab jenkins; do
		# a script that cleans up
		printf '%s\n' '#!/bin/bash' 'trap "sleep 1; echo cleaned >> $T/done; exit 1" INT TERM' 'echo began >> $T/done' \
			'while :; do sleep 0.05; done' > deploy.sh
		chmod +x deploy.sh
		: > "$T/done"
		step job
		eventually file_has "$T/done" began
		cancel $system "$BG"
		ended_with 1
		was_done began cleaned
		held_on deploy 0
		[[ $NEEDED == INT || $NEEDED == TERM ]]
		# a script that waits for a program, which cleans up
		printf '%s\n' '#!/bin/bash' 'trap "echo script ends >> $T/done; exit 1" INT TERM' './program' 'echo never >> $T/done' > deploy.sh
		printf '%s\n' '#!/bin/bash' 'trap "echo program ends >> $T/done; exit 1" INT TERM' 'echo began >> $T/done' \
			'while :; do sleep 0.05; done' > program
		chmod +x program
		: > "$T/done"
		step job
		eventually file_has "$T/done" began
		cancel $system "$BG"
		ended_with 1
		was_done began "program ends" "script ends"
		held_on deploy 0
		[[ $NEEDED == INT || $NEEDED == TERM ]]
	done
}

@test "a job that can be cancelled: one that ignores it is gone, and the lock free, before the CI system sends SIGKILL" {
	recipe "### A job that can be cancelled" > job
	printf '%s\n' '#!/bin/bash' 'trap "" INT TERM' 'echo began >> $T/done' 'while :; do sleep 0.05; done' > deploy.sh
	chmod +x deploy.sh
	step job
	eventually file_has "$T/done" began
	cancel github "$BG"
	ended_with 137
	[[ $NEEDED != *KILL* ]]
	file_has "$T/out" "the command did not end in time and was killed"
	held_on deploy 0
}

@test "the newest deploy wins: the one before is ended first, and has 79; a job that waited deploys no older build" {
	recipe "### The newest deploy wins" > job
	echo 0 > live
	printf '%s\n' '#!/bin/sh' 'cat live' > live-build.sh
	printf '%s\n' '#!/bin/sh' 'echo "begins $1" >> $T/done' 'while [ -e "$T/stop.$1" ]; do sleep 0.02; done' 'echo "$1" > live' \
		'echo "$1 is live" >> $T/done' > deploy.sh
	chmod +x live-build.sh deploy.sh
	touch "$T/stop.1"
	local n pid=()
	for n in 1 2 3 4; do
		start "$T/out.$n" env BUILD=$n sh job
		pid[n]=$BG
		[ $n -eq 1 ] || eventually file_has "$T/out.$n" "takeover: 'deploy' is held by"
		[ $n -ne 1 ] || eventually file_has "$T/done" "begins 1"
	done
	BG=${pid[1]}
	ended_with 79
	for n in 2 3 4; do
		BG=${pid[n]}
		ended_with 0
	done
	not file_has "$T/done" "1 is live"
	[ "$(cat live)" = 4 ]
	awk '/^begins/ { print $2 }' "$T/done" | sort -nuc
}

@test "a crashed job: status shows its lock, and break --force ends it" {
	recipe "### A crashed job" > lines
	redlock acquire -k deploy --ttl 10m --owner "runner 7" > "$T/token"
	run -0 sh -e lines
	[[ "$output" == *"runner 7"* ]]
	held_on deploy 0
}

@test "a part of a script: the lock is held for that part only" {
	recipe "### A part of a script" > script
	chmod +x script
	stub build.sh db
	for name in dump prune vacuum report; do stub $name.sh db; done
	run -0 ./script
	[ "$(head -n 8 "$T/done")" = "build.sh free
build.sh done
dump.sh held
dump.sh done
prune.sh held
prune.sh done
vacuum.sh held
vacuum.sh done" ]
	free_everywhere db
	# busy for too long: no part of it is done
	: > "$T/done"
	others_hold db
	sed -i 's/-w 5m/-w 200ms/' script
	run -75 ./script
	was_done "build.sh free" "build.sh done" || was_done "build.sh held" "build.sh done"
	others_let_go
}

@test "a Python program: the lock is held for the block, however the program ends" {
	recipe "### A Python program" > program.py
	stub dump.sh db
	run -0 python3 program.py
	[ "$output" = "" ]
	was_done "dump.sh held" "dump.sh done"
	held_on db 0
	# the block fails
	: > "$T/done"
	echo 'exit 7' >> dump.sh
	run -1 python3 program.py
	[[ "$output" == *"returned non-zero exit status 7"* ]]
	held_on db 0
	# killed
	stub dump.sh db
	: > "$T/done"
	touch "$T/stop.dump.sh"
	start "$T/out" python3 program.py
	eventually file_has "$T/done" dump.sh
	kill -KILL "$BG"
	run -0 redlock run -w 15s -k db -- true
	rm "$T/stop.dump.sh"
	# busy
	others_hold db
	sed -i 's/wait="5m"/wait="200ms"/' program.py
	: > "$T/done"
	run -1 python3 program.py
	[[ "$output" == *"returned non-zero exit status 75"* ]]
	others_let_go
}

@test "Ansible and Terraform: the whole run is under the lock" {
	recipe "### Ansible and Terraform" > lines
	[ "$(wc -l < lines)" -eq 2 ]
	stub ansible-playbook ansible-web
	stub terraform terraform-prod
	export PATH=$T/work:$PATH
	run -0 sh -e lines
	was_done "ansible-playbook held" "ansible-playbook done" "terraform held" "terraform done"
}
