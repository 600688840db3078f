# packaging/: the shell part of the CI jobs, and the settings of a node, as a user gets them.

load nodes

PACKAGING=$BATS_TEST_DIRNAME/../../packaging

setup() {
	nodes_start 3
	mkdir "$T/bin"
	ln -s "$(realpath "$REDLOCK_BUILD/redlock")" "$T/bin/redlock"
	PATH=$T/bin:$PATH
	unset GITHUB_ACTIONS RUNNER_TEMP LOCK_KEY LOCK_RUN LOCK_WAIT LOCK_SHELL LOCK_BINARY LOCK_SHA256
	export TMPDIR=$T
}
teardown() { nodes_stop; }

locked() { env LOCK_KEY=deploy "$@" "$PACKAGING/ci/locked"; }

# held_by_another: another client holds the lock until let_go.
held_by_another() {
	in_background "$T/holder" run -k deploy -- bash -c "until [ -e $T/go ]; do sleep 0.02; done"
	HOLDER=$BG
	eventually held_on deploy 3
}
let_go() {
	touch "$T/go"
	wait "$HOLDER"
}

@test "locked: the commands run under the lock, and their status is the job's" {
	run -0 locked LOCK_RUN='echo "$REDLOCK_KEY"; redlock check -k deploy --token "$REDLOCK_TOKEN" > "$T/checked"' LOCK_SHELL="bash -eo pipefail"
	[ "$output" = deploy ]
	free_everywhere deploy
	run -3 locked LOCK_RUN='exit 3'
	# the first command that fails ends them
	run -1 locked LOCK_RUN=$'false\necho never'
	[ "$output" = "" ]
	run -1 locked LOCK_RUN=$'false | true\necho never'
	run -0 locked LOCK_SHELL=sh LOCK_RUN=$'false\necho "on"'
	[ "$output" = on ]
}

@test "locked: the holder's text names the job of the CI system, and REDLOCK_OWNER another text" {
	local holder='redlock status deploy'
	run -0 locked GITHUB_RUN_ID=42 GITHUB_REPOSITORY=me/app LOCK_RUN="$holder"
	[[ "$output" == *"held by run 42 of me/app since "* ]]
	run -0 locked CI_JOB_ID=43 CI_PROJECT_PATH="group/$(printf '%090d' 0)" LOCK_RUN="$holder"
	[[ "$output" == *"held by job 43 of group/000"* ]]
	run -0 locked GITHUB_RUN_ID=42 REDLOCK_OWNER=nightly LOCK_RUN="$holder"
	[[ "$output" == *"held by nightly since "* ]]
}

@test "locked: a job waits for another one; with a wait of 0 it fails, and the log says why" {
	held_by_another
	run -75 locked LOCK_WAIT=0 LOCK_RUN='echo never'
	[[ "$output" == *"locked: 'deploy' is held by another job"* ]]
	[[ "$output" != *::error* ]]
	run -75 locked GITHUB_ACTIONS=true LOCK_WAIT=0 LOCK_RUN='echo never'
	[[ "$output" == *"::error title=redlock::'deploy' is held by another job"* ]]
	locked LOCK_RUN="touch $T/ran" 3>&- 2> "$T/err" &
	waiter=$!
	eventually grep -q waiting "$T/err"
	[ ! -e "$T/ran" ]
	let_go
	wait "$waiter"
	[ -e "$T/ran" ]
}

@test "locked: a job that is cancelled ends its commands, and the lock is free" {
	for signal in TERM INT HUP; do
		rm -f "$T/ran"
		# (a shell starts background processes without SIGINT)
		env --default-signal=INT LOCK_KEY=deploy LOCK_RUN="touch $T/ran; exec sleep 600" "$PACKAGING/ci/locked" 3>&- 2> "$T/err" &
		job=$!
		eventually test -e "$T/ran"
		kill -$signal $job
		status=0
		wait $job || status=$?
		[ "$status" -eq 143 ]
		eventually held_on deploy 0
	done
	run -0 locked LOCK_RUN='cat' < <(echo "input")
	[ "$output" = input ]
}

@test "locked: commands that ignore the signal of a cancelled job get SIGKILL, and the lock is free" {
	LOCK_KEY=deploy REDLOCK_KILL_AFTER=200ms LOCK_RUN="trap '' TERM; touch $T/ran; while :; do sleep 0.1; done" "$PACKAGING/ci/locked" 3>&- 2> "$T/err" &
	job=$!
	also_end $job
	eventually test -e "$T/ran"
	kill -TERM $job
	status=0
	wait $job || status=$?
	[ "$status" -eq 137 ]
	file_has "$T/err" "was killed (SIGKILL)"
	eventually held_on deploy 0
}

@test "locked: no majority is 69; a missing setting is named" {
	run -69 locked REDLOCK_NODES="unix://$T/none1 unix://$T/none2 unix://$T/3.sock" LOCK_WAIT=0 LOCK_RUN='echo never'
	[[ "$output" == *"locked: no majority of the nodes answered"* ]]
	run -64 locked LOCK_KEY= LOCK_RUN=true
	[ "$output" = "locked: no key: set the input 'key' (LOCK_KEY)" ]
	run -64 locked
	[ "$output" = "locked: no commands: set the input 'run' (LOCK_RUN)" ]
	run -64 locked REDLOCK_NODES= REDLOCK_CONFIG= LOCK_RUN=true
	[ "$output" = "locked: no nodes: set the input 'nodes' (REDLOCK_NODES)" ]
}

@test "locked: a program that a workflow has downloaded, of any mode, and its checksum" {
	printf '#!/bin/sh\nexec %q "$@"\n' "$(realpath "$REDLOCK_BUILD/redlock")" > "$T/downloaded"
	sum=$(sha256sum "$T/downloaded" | cut -d ' ' -f 1)
	chmod 444 "$T/downloaded"
	rm "$T/bin/redlock"
	run -0 locked LOCK_BINARY="$T/downloaded" LOCK_SHA256="$sum" LOCK_RUN='echo "$REDLOCK_KEY"'
	[ "$output" = deploy ]
	[ -z "$(find "$T" -name 'redlock.*')" ]
	run -64 locked LOCK_BINARY="$T/downloaded" LOCK_SHA256="${sum//[0-9]/0}" LOCK_RUN='echo never'
	[[ "$output" == "locked: '$T/downloaded' does not have the checksum "* ]]
	run -64 locked LOCK_BINARY="$T/missing" LOCK_SHA256="$sum" LOCK_RUN='echo never'
	[ "$output" = "locked: cannot check '$T/missing': there is no such file" ]
	run -127 locked LOCK_BINARY="$T/missing" LOCK_RUN='echo never'
	[ "$output" = "locked: there is no program '$T/missing'" ]
	run -127 locked LOCK_BINARY="$T/missing.deb" LOCK_RUN='echo never'
	[ "$output" = "locked: there is no package '$T/missing.deb'" ]
	run -127 locked PATH=/usr/bin:/bin LOCK_RUN='echo never'
	[ "$output" = "locked: there is no redlock in PATH: set the input 'binary' (LOCK_BINARY)" ]
}

@test "locked: a package is installed first, with sudo unless the job is root" {
	mv "$T/bin/redlock" "$T/installed"
	printf '#!/bin/sh\necho "apt-get $*"\nmv "$T/installed" "$T/bin/redlock"\n' > "$T/bin/apt-get"
	printf '#!/bin/sh\necho 1000\n' > "$T/bin/id"
	printf '#!/bin/sh\necho "sudo" >&2\nexec "$@"\n' > "$T/bin/sudo"
	chmod +x "$T/bin/"*
	touch "$T/redlock.deb"
	export T
	cd "$T"
	run -0 --separate-stderr locked LOCK_BINARY=redlock.deb LOCK_RUN='echo "$REDLOCK_KEY"'
	[ "$output" = deploy ]
	[ "$stderr" = "sudo
apt-get install -y --no-install-recommends ./redlock.deb" ]
	# apt's message about a failure is shown
	printf '#!/bin/sh\necho "apt-get says no" >&2\nexit 100\n' > "$T/bin/apt-get"
	run -127 locked LOCK_BINARY="$T/redlock.deb" LOCK_RUN='echo never'
	[ "$output" = "sudo
apt-get says no
locked: cannot install '$T/redlock.deb'" ]
}

# action_step: the script of the action's step.
action_step() { sed -n 's/^      run: //p' "$PACKAGING/github-action/action.yml"; }

@test "the GitHub action: a cancelled step gets SIGINT in its first process only, and the commands get it" {
	action_step > "$T/step"
	env --default-signal=INT GITHUB_ACTION_PATH="$PACKAGING/github-action" LOCK_KEY=deploy LOCK_RUN="trap 'echo cleaned > $T/cleaned; exit 1' TERM
		touch $T/ran; while :; do sleep 0.05; done" sh -e "$T/step" 3>&- 2> "$T/err" &
	BG=$!
	also_end "$BG"
	eventually test -e "$T/ran"
	kill -INT "$BG"
	ended_with 1
	test -e "$T/cleaned"
	held_on deploy 0
}

@test "the GitHub action gives the script each of its settings" {
	for name in $(sed -n 's/^#   \(LOCK_[A-Z0-9]*\) .*/\1/p' "$PACKAGING/ci/locked"); do
		grep -q "^        $name: \${{ inputs\.[a-z0-9]* }}\$" "$PACKAGING/github-action/action.yml"
	done
	# it finds the script next to itself
	step=$(action_step)
	run -0 env GITHUB_ACTION_PATH="$PACKAGING/github-action" LOCK_KEY=deploy LOCK_RUN='echo "$REDLOCK_KEY"' sh -c "$step"
	[ "$output" = deploy ]
}

# with_inputs FILE NAME=VALUE...: as GitLab replaces inputs: in the text; the others by their default.
with_inputs() {
	local text name value
	text=$(sed '1,/^---$/d' "$1")
	for name in "${@:2}"; do
		value=${name#*=}
		text=${text//"\$[[ inputs.${name%%=*} ]]"/"$value"}
	done
	while read -r name value; do
		text=${text//"\$[[ inputs.$name ]]"/"$(sed 's/^"\(.*\)"$/\1/' <<< "$value")"}
	done < <(awk '/^    [a-z0-9]+:$/ { sub(/:/, ""); name = $1 } /^      default:/ { sub(/ *default: */, ""); print name, $0 }
		/^---/ { exit }' "$1")
	printf '%s\n' "$text"
}

@test "the GitLab component contains the script, and its job runs it" {
	"$PACKAGING/gitlab/embed" --check
	with_inputs "$PACKAGING/gitlab/templates/locked.yml" key=deploy 'run=echo "$REDLOCK_KEY": done # "all"' > "$T/job.yml"
	not grep -F '$[[' "$T/job.yml"
	awk '/^  script:/ { on = 1; next } on && /^    - \|$/ { next } on { sub(/^    - /, ""); sub(/^      /, ""); print }' \
		"$T/job.yml" > "$T/job"
	line=$(sed -n '/^      value: |-$/ { n; s/^        //p }' "$T/job.yml")
	run -0 env CI_JOB_ID=7 LOCK_KEY=deploy LOCK_RUN="$line" sh -e "$T/job"
	[ "$output" = "deploy: done" ]
	run -5 env CI_JOB_ID=7 LOCK_KEY=deploy LOCK_RUN='exit 5' sh -e "$T/job"
}

@test "the YAML files are valid for their platforms" {
	top=$PACKAGING/..
	with_inputs "$PACKAGING/gitlab/templates/locked.yml" key=deploy 'run=echo "a: b" # c' > "$T/job.yml"
	files=("$T/job.yml" "$PACKAGING/gitlab/templates/locked.yml" "$PACKAGING/github-action/action.yml" "$PACKAGING/compose.yaml"
		"$top/.github/workflows/ci.yml")
	for file in "${files[@]}"; do not grep -nP '^ *\t' <(sed '/<<.END_OF_LOCKED/,/END_OF_LOCKED$/d' "$file"); done
	grep -qx '      - run: .ci/run' "$top/.github/workflows/ci.yml"
	grep -qx '        debian: \[12, 13\]' "$top/.github/workflows/ci.yml"
	# a parser checks more, if there is one
	python3 -c 'import yaml' 2> "$T/none" || return 0
	python3 - "${files[@]}" <<- 'END'
		import sys, yaml
		job, template, action, compose, workflow = [list(yaml.safe_load_all(open(f))) for f in sys.argv[1:]]
		variables = job[0]["locked"]["variables"]
		assert variables["LOCK_RUN"] == {"expand": False, "value": 'echo "a: b" # c'}, variables
		assert all(isinstance(variables[name], str) for name in variables if name != "LOCK_RUN"), variables
		assert {"key", "run", "wait"} <= set(template[0]["spec"]["inputs"])
		assert {"key", "nodes", "run", "wait"} <= set(action[0]["inputs"]) and action[0]["runs"]["using"] == "composite"
		assert len({n["ports"][0] for n in compose[0]["services"].values()}) == 5
		assert workflow[0]["jobs"]["test"]["steps"][-1] == {"run": ".ci/run"}
	END
}

@test "release: a missing folder, and an unknown architecture" {
	run -2 "$PACKAGING/release"
	[ "$output" = "packaging/release: usage: packaging/release FOLDER [ARCH...]" ]
	run -2 "$PACKAGING/release" "$T/out" riscv64
	[ "$output" = "packaging/release: an architecture is amd64 or arm64, not 'riscv64'" ]
}

# has_the_settings [COMMAND...]: a server that is started so is a node in which doctor finds nothing.
has_the_settings() {
	"$@" 3>&- > "$T/server.log" 2>&1 &
	also_end $!
	eventually answers server
	run -0 redlock doctor --strict --node "unix://$T/server.sock"
}

@test "the nodes of compose.yaml have the settings that doctor checks" {
	mkdir "$T/data"
	IFS=$'\t' read -ra command < <(sed -n 's/^  command: \[\(.*\)\]$/\1/p' "$PACKAGING/compose.yaml" | sed 's/, /\t/g; s/""/\\/; s/"//g')
	[ "${command[0]}" = valkey-server ]
	[ "${command[-1]}" = '\' ]
	command[-1]=
	[ "$(grep -c '^  node[1-5]: {<<: \*node, ' "$PACKAGING/compose.yaml")" = 5 ]
	has_the_settings redis-server "${command[@]:1}" --dir "$T/data" --port 0 --unixsocket "$T/server.sock"
}

@test "a node of the systemd unit has the settings that doctor checks" {
	mkdir "$T/data" "$T/credentials"
	echo '# no settings' > "$T/credentials/node.conf"
	sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join }' "$PACKAGING/systemd/redlock-node@.service" |
		sed -n 's/^ExecStart=//p' > "$T/start"
	sed -i -e "s,/var/lib/redlock-node/%i,$T/data,; s,--port %i,--port 0 --unixsocket $T/server.sock,; s,--supervised systemd,," "$T/start"
	not grep -q % "$T/start"
	has_the_settings env CREDENTIALS_DIRECTORY="$T/credentials" sh -c "exec $(< "$T/start")"
}
