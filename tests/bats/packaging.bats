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

# held_by_another: until let_go.
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

@test "locked: no majority is 69; a setting that is missing is named" {
	run -69 locked REDLOCK_NODES="unix://$T/none1 unix://$T/none2 unix://$T/3.sock" LOCK_WAIT=0 LOCK_RUN='echo never'
	[[ "$output" == *"locked: no majority of the nodes answered"* ]]
	run -64 locked LOCK_KEY= LOCK_RUN=true
	[ "$output" = "locked: no key: set the input 'key' (LOCK_KEY)" ]
	run -64 locked
	[ "$output" = "locked: no commands: set the input 'run' (LOCK_RUN)" ]
	run -64 locked REDLOCK_NODES= REDLOCK_CONFIG= LOCK_RUN=true
	[ "$output" = "locked: no nodes: set the input 'nodes' (REDLOCK_NODES)" ]
}

@test "locked: a program that a workflow has downloaded, whatever its mode, and its checksum" {
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

@test "the GitHub action gives the script each of its settings" {
	for name in $(sed -n 's/^#   \(LOCK_[A-Z0-9]*\) .*/\1/p' "$PACKAGING/ci/locked"); do
		grep -q "^        $name: \${{ inputs\.[a-z0-9]* }}\$" "$PACKAGING/github-action/action.yml"
	done
	# it finds the script beside itself
	step=$(sed -n "s/^      run: '\(.*\)'\$/\1/p" "$PACKAGING/github-action/action.yml")
	run -0 env GITHUB_ACTION_PATH="$PACKAGING/github-action" LOCK_KEY=deploy LOCK_RUN='echo "$REDLOCK_KEY"' sh -c "$step"
	[ "$output" = deploy ]
}

@test "the GitLab component has the script in it, and its job runs it" {
	"$PACKAGING/gitlab/embed" --check
	awk '/^  script:/ { on = 1; next } on && /^    - \|$/ { next } on { sub(/^    - /, ""); sub(/^      /, ""); print }' \
		"$PACKAGING/gitlab/templates/locked.yml" > "$T/job"
	run -0 env CI_JOB_ID=7 LOCK_KEY=deploy LOCK_RUN='echo "$REDLOCK_KEY"' sh -e "$T/job"
	[ "$output" = deploy ]
	run -5 env CI_JOB_ID=7 LOCK_KEY=deploy LOCK_RUN='exit 5' sh -e "$T/job"
}

@test "a node of the systemd unit has the settings that doctor asks for" {
	mkdir "$T/data" "$T/credentials"
	echo '# no settings' > "$T/credentials/node.conf"
	sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join }' "$PACKAGING/systemd/redlock-node@.service" |
		sed -n 's/^ExecStart=//p' > "$T/start"
	sed -i -e "s,/var/lib/redlock-node/%i,$T/data,; s,--port %i,--port 0 --unixsocket $T/unit.sock,; s,--supervised systemd,," "$T/start"
	not grep -q % "$T/start"
	CREDENTIALS_DIRECTORY=$T/credentials sh -c "exec $(< "$T/start")" 3>&- > "$T/unit.log" 2>&1 &
	also_end $!
	eventually test -S "$T/unit.sock"
	run -0 redlock doctor --strict --node "unix://$T/unit.sock"
}
