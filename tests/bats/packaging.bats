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
	in_background "$T/holder" run -k deploy -- bash -c "until [ -e $T/go ]; do sleep 0.1; done"
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
	# the longest text of --owner, and one byte more
	for zeros in 161 162; do
		run -0 locked CI_JOB_ID=43 CI_PROJECT_PATH="group/$(printf '%0*d' $zeros 0)" LOCK_RUN="$holder"
		[[ "$output" == *"held by job 43 of group/$(printf '%0161d' 0) since "* ]]
	done
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

@test "locked: a job that is cancelled ends its commands by its signal, and the lock is free" {
	for signal in TERM INT HUP; do
		rm -f "$T/ran"
		# A shell starts background processes without SIGINT. A shell that waits for a child when INT arrives goes on
		# if the child ends normally: so no child makes the file.
		env --default-signal=INT LOCK_KEY=deploy LOCK_RUN="exec sleep 600 > $T/ran" "$PACKAGING/ci/locked" 3>&- 2> "$T/err" &
		job=$!
		eventually test -e "$T/ran"
		kill -$signal $job
		status=0
		wait $job || status=$?
		[ "$status" -eq $((128 + $(kill -l $signal))) ]
		eventually held_on deploy 0
	done
	run -0 locked LOCK_RUN='cat' < <(echo "input")
	[ "$output" = input ]
}

@test "locked: the commands ignore no signal that the job does not ignore" {
	run -0 env --default-signal=INT,QUIT LOCK_KEY=deploy LOCK_RUN='grep SigIgn /proc/self/status' "$PACKAGING/ci/locked"
	is_like "$output" "$(env --default-signal=INT,QUIT grep SigIgn /proc/self/status)"
}

@test "locked: a status of the commands is never taken for a problem with the lock" {
	for own in 69 75 79; do
		run -$own --separate-stderr locked GITHUB_ACTIONS=true LOCK_RUN="exit $own"
		[ "$output$stderr" = "" ]
	done
}

@test "locked: a lost lock is an error in the log" {
	run -79 locked GITHUB_ACTIONS=true LOCK_RUN='redlock release'
	[[ "$output" == *"::error title=redlock::the lock 'deploy' was lost"* ]]
}

@test "locked: --on-event of the environment runs, too" {
	held_by_another
	run -75 locked LOCK_WAIT=0 REDLOCK_ON_EVENT='echo "$REDLOCK_EVENT ($REDLOCK_STATUS)" >&2' LOCK_RUN='echo never'
	[[ "$output" == *"locked: 'deploy' is held by another job"*"busy (75)"* ]]
	let_go
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
	env --default-signal=INT GITHUB_ACTION_PATH="$PACKAGING/github-action" LOCK_KEY=deploy LOCK_RUN="trap 'echo cleaned > $T/cleaned; exit 1' INT
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

# variable NAME: the value of the job's variable in $T/job.yml.
variable() {
	awk -v name="    $1:" '/^    [A-Z]/ { on = index($0, name) == 1; next } /^  [a-z]/ { on = 0 }
		on && /^(        |$)/ { print substr($0, 9) }' "$T/job.yml"
}

# component INPUT...: the job of the component with these inputs, as a runner starts it.
component() {
	local name settings=()
	with_inputs "$PACKAGING/gitlab/templates/locked.yml" "$@" > "$T/job.yml"
	not grep -F '$[[' "$T/job.yml"
	for name in LOCK_KEY LOCK_RUN LOCK_WAIT LOCK_BINARY LOCK_SHA256 LOCKED; do
		settings+=("$name=$(variable $name)")
	done
	env CI_JOB_ID=7 "${settings[@]}" "${SHELL_OF_JOB:-sh}" -e -c "$(sed -n '/^  script:/,$ s/^    - //p' "$T/job.yml")"
}

@test "the GitLab component contains the script, and its job runs it" {
	"$PACKAGING/gitlab/embed" --check
	run -0 component key=deploy 'run=echo "$REDLOCK_KEY": done ${LOCKED-} # "all"'
	[ "$output" = "deploy: done" ]
	run -5 component key=deploy 'run=exit 5'
}

@test "the GitLab component uses no file that another user can make" {
	mkdir "$T/empty"
	chmod 555 "$T/empty"
	for shell in dash bash; do
		SHELL_OF_JOB=$shell TMPDIR=$T/empty run -0 component key=deploy 'run=echo "$REDLOCK_KEY"; ls "$TMPDIR"'
		[ "$output" = deploy ]
	done
	not grep -nE '/tmp|TMPDIR|>' <(sed '1,/^---$/d; /^    LOCKED:/,/^  script:/d' "$PACKAGING/gitlab/templates/locked.yml")
}

# A setting of a job may be the title of an issue or the name of a branch. HOSTILE: such texts; CONTROLS: others, each with
# another character that GitLab refuses.
hostile_texts() {
	local i character
	HOSTILE=(
		'%0A::error::x' 'a%0D%0A::x' '\n::error title=x::y' '\n::add-mask::e' '\033[31m\a\r\c' '::error::x' '::stop-commands::x'
		' ::x::' '##[error]x' 'a###[add-mask]e' "##[stop-commands]x" '##vso[task.x]y' 'a ##teamcity[x' '$(touch pwned)' '`touch pwned`' '"; touch pwned; "'
		"'; touch pwned; '" "\"'\`\$\\" '${LOCK_RUN}' '-k' '--' '--help' '-e' '-n' '*' '?' '#' 'a: b' '- c' '{a}' '%s%n' '  b '
		'a\' "$(printf 'k%.0s' {1..300})" 'grün 日本' $'\xe2\x80\xaeright' $'\xe2\x80\x8b'
	)
	CONTROLS=()
	for i in {1..31} 127; do
		printf -v character "\\x$(printf %x "$i")"
		CONTROLS+=("a$character::error::x" "$character")
	done
	CONTROLS+=($'a\xc2\x85::error::x' $'a\xc2\x9b31m' $'a\xe2\x80\xa8::error::x' $'a\xe2\x80\xa9::error::x')
}

# is_harmless: prints the log in $T/log, which runs no command of a log but one annotation and has no control
# character.
is_harmless() {
	[ ! -e "$T/work/pwned" ] && [ ! -e pwned ]
	perl -0777 -ne '
		my @commands = grep { /^\s*::/ } split /\n/;
		my %wrong = (
			"a control character" => !!/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]/,
			"a command of Azure" => !!/##[A-Za-z]*\[/,
			"two commands" => @commands > 1,
			"another command" => !!(grep { !/^::error title=redlock::[ -~]*$/ } @commands),
			"a percent sign" => !!/^::.*%($|[^2]|2[^5])/m,
			"another line" => !!(grep { !/^(::error title=redlock::|locked: |redlock: |hint: |ran$)/ } split /\n/));
		my @wrong = grep { $wrong{$_} } sort keys %wrong;
		s/[^\n -~]/?/g;
		print;
		die "the log has: @wrong\n" if @wrong' "$T/log"
}

# logged STATUS SETTING...: the script with these settings in GitHub's environment; its log is harmless.
logged() {
	local want=$1 status=0
	shift
	printf '# %s:' "$SHELL_OF_JOB"
	printf ' %.100q' "$@"
	echo
	env GITHUB_ACTIONS=true LOCK_KEY=deploy LOCK_RUN='echo ran' "$@" "$SHELL_OF_JOB" "$PACKAGING/ci/locked" > "$T/log" 2>&1 || status=$?
	is_harmless
	[[ "$status" = $want ]]
}

# among_hostile_texts SHELL: MIXED has the texts, and the folder is $T/work.
among_hostile_texts() {
	SHELL_OF_JOB=$1
	set +T # bats would trace each command: a third of the time
	hostile_texts
	MIXED=("${HOSTILE[@]}" "${CONTROLS[@]::2}" "${CONTROLS[@]: -4}" "$(printf %s "${CONTROLS[@]}")")
	mkdir -p "$T/work"
	cd "$T/work"
}

# keys_are_harmless SHELL: each text is a key.
keys_are_harmless() {
	local text
	among_hostile_texts "$1"
	for text in "${HOSTILE[@]}" "${CONTROLS[@]}"; do
		[[ "$text" == *[$'\r\n'] ]] && logged 64 LOCK_KEY="$text" || logged 0 LOCK_KEY="$text"
	done
}

# in_setting N TEXT: the text is the N-th setting.
in_setting() {
	case $1 in
	0) logged 127 LOCK_BINARY="$2" ;;
	1) logged 127 LOCK_BINARY="./$2" ;;
	2) logged 127 LOCK_BINARY="$2.deb" ;;
	3) logged 64 LOCK_SHA256="$2" LOCK_BINARY="$T/bin/redlock" ;;
	4) logged 64 LOCK_SHA256=x LOCK_BINARY="$2" ;;
	5) logged 64 LOCK_WAIT="$2" ;;
	6) logged 64 REDLOCK_KILL_AFTER="$2" ;;
	7) logged "[67][45]" REDLOCK_OWNER="$2" LOCK_WAIT=0 ;;
	8) logged '[1-9]*' LOCK_KEY=free LOCK_SHELL="$T/none/$2" ;;
	9) logged '[067]*' LOCK_KEY=free REDLOCK_NODES="$2" LOCK_WAIT=0 ;;
	esac
}

@test "locked: no key is a command in the log, or for a shell" {
	keys_are_harmless dash
	keys_are_harmless bash
}

@test "locked: no text for the program or its checksum is a command in the log, or for a shell" {
	among_hostile_texts dash
	for text in "${MIXED[@]}"; do
		for n in 0 1 2 3 4; do in_setting $n "$text"; done
	done
}

@test "locked: no text of another setting is a command in the log, or for a shell" {
	among_hostile_texts dash
	held_by_another
	for text in "${MIXED[@]}"; do
		for n in 5 6 7 8 9; do in_setting $n "$text"; done
	done
	let_go
}

# The script's text is the same, and only printf and the quoting are bash's: each text is in one setting.
@test "locked: no text is a command in the log, or for bash" {
	among_hostile_texts bash
	held_by_another
	for i in "${!MIXED[@]}"; do in_setting $((i % 10)) "${MIXED[i]}"; done
	let_go
}

@test "locked: the shell is words, and none of them is a pattern" {
	cd "$T"
	printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' > bin/words
	chmod +x bin/words
	run -0 locked LOCK_SHELL='words *.sock  -x' LOCK_RUN='$x *'
	[ "$output" = '<*.sock><-x><-c><$x *>' ]
}

@test "locked: a hostile key or owner of a job that holds the lock does not reach the log of another one" {
	hostile_texts
	mkdir "$T/work"
	cd "$T/work"
	for SHELL_OF_JOB in dash bash; do
		for text in "${HOSTILE[@]}" "${CONTROLS[@]}"; do
			[[ "$text" != *[$'\r\n'] ]] || continue
			redlock acquire --key="$text" --owner="${text::170}" > "$T/token"
			logged 75 LOCK_KEY="$text" LOCK_WAIT=0
			redlock release --key="$text" --token="$(< "$T/token")"
		done
	done
}

@test "the GitLab component: each text of an input arrives as it is, or GitLab refuses it" {
	python3 -c 'import yaml' 2> "$T/none" || skip "no YAML parser"
	hostile_texts
	cat > "$T/check" <<- 'END'
		# GitLab's way: an input that its expression refuses is an error; the others are put into the text before the YAML is read.
		import re, sys, yaml
		header, text = open(sys.argv[1]).read().split("\n---\n")
		inputs = yaml.safe_load(header)["spec"]["inputs"]
		allowed = {name: re.compile(row["regex"].replace("\\z", "\\Z")) for name, row in inputs.items()}
		places = {"key": "LOCK_KEY", "run": "LOCK_RUN", "wait": "LOCK_WAIT", "binary": "LOCK_BINARY", "sha256": "LOCK_SHA256"}
		texts = [t.decode() for t in sys.stdin.buffer.read().split(b"\0")[:-1]]
		came = refused = 0
		for hostile in texts:
		    for name in inputs:
		        values = {"key": "k", "run": "r"} | {n: row["default"] for n, row in inputs.items() if "default" in row} | {name: hostile}
		        if not all(allowed[n].search(v) for n, v in values.items()):
		            refused += 1
		            continue
		        job = text
		        for n, v in values.items():
		            job = job.replace(f"$[[ inputs.{n} ]]", v)
		        [(title, body)] = yaml.safe_load(job).items()
		        variables = {n: v if isinstance(v, str) else v["value"] for n, v in body["variables"].items()}
		        got = {n: variables[place] for n, place in places.items()} | {"job": title, "stage": body["stage"], "image": body["image"]}
		        assert got == values, (got, values)
		        assert set(body) == {"stage", "image", "variables", "script"} and len(body["script"]) == 1, body
		        came += 1
		print(len(texts), came, refused)
	END
	run -0 python3 "$T/check" "$PACKAGING/gitlab/templates/locked.yml" < <(printf '%s\0' "${HOSTILE[@]}")
	read -r texts came refused <<< "$output"
	# quotes and backslashes in the three names alone
	[ $((came + refused)) -eq $((8 * texts)) ]
	[ "$refused" -le 30 ]
	run -0 python3 "$T/check" "$PACKAGING/gitlab/templates/locked.yml" < <(printf '%s\0' "${CONTROLS[@]}")
	[ "$output" = "${#CONTROLS[@]} 0 $((8 * ${#CONTROLS[@]}))" ]
	# the job's shell gets them as they are
	for SHELL_OF_JOB in dash bash; do
		for text in "${HOSTILE[@]}"; do
			run -0 --separate-stderr component key="$text" run='printf "[%s]" "$REDLOCK_KEY"'
			[ "$output" = "[$text]" ]
		done
	done
}

@test "the YAML files are valid for their platforms" {
	top=$PACKAGING/..
	with_inputs "$PACKAGING/gitlab/templates/locked.yml" key=deploy 'run=echo "a: b" # c' > "$T/job.yml"
	files=("$T/job.yml" "$PACKAGING/gitlab/templates/locked.yml" "$PACKAGING/github-action/action.yml" "$PACKAGING/compose.yaml"
		"$top/.github/workflows/ci.yml")
	for file in "${files[@]}"; do not grep -nP '^ *\t' <(sed '/^    LOCKED:/,/^  script:/d' "$file"); done
	grep -qx '      - run: .ci/run' "$top/.github/workflows/ci.yml"
	grep -qx '        debian: \[12, 13\]' "$top/.github/workflows/ci.yml"
	# a parser checks more, if there is one
	python3 -c 'import yaml' 2> "$T/none" || return 0
	python3 - "${files[@]}" <<- 'END'
		import sys, yaml
		job, template, action, compose, workflow = [list(yaml.safe_load_all(open(f))) for f in sys.argv[1:]]
		variables = job[0]["locked"]["variables"]
		assert variables["LOCK_RUN"] == {"expand": False, "value": 'echo "a: b" # c'}, variables
		assert all(isinstance(variables[name], str) for name in variables if name not in ("LOCK_RUN", "LOCKED")), variables
		assert {"key", "run", "wait"} <= set(template[0]["spec"]["inputs"])
		assert {"key", "nodes", "run", "wait"} <= set(action[0]["inputs"]) and action[0]["runs"]["using"] == "composite"
		assert len({n["ports"][0] for n in compose[0]["services"].values()}) == 5
		assert workflow[0]["jobs"]["test"]["steps"][-1] == {"run": ".ci/run"}
	END
}

@test "release: a missing folder, and an unknown architecture" {
	run -2 "$PACKAGING/release"
	[ "$output" = "packaging/release: usage: packaging/release [--deb] FOLDER [ARCH...]" ]
	run -2 "$PACKAGING/release" "$T/out" riscv64
	[ "$output" = "packaging/release: an architecture is amd64 or arm64, not 'riscv64'" ]
}

# built_by_stubs: tools that have the libraries of this host's architecture alone, and build nothing.
built_by_stubs() {
	local native
	native=$(dpkg --print-architecture)
	printf '#!/bin/sh\n[ "$1" != -s ] || case $2 in *:%s) exit 0 ;; *) exit 1 ;; esac\nexec %s "$@"\n' "$native" "$(type -P dpkg)" > "$T/bin/dpkg"
	printf '#!/bin/sh\nexit 0\n' > "$T/bin/dh"
	printf '#!/bin/sh\necho "$*" >> %q\necho package > ../redlock_%s_%s.deb\n' "$T/options" "$1" "$native" > "$T/bin/dpkg-buildpackage"
	printf '#!/bin/sh\nmkdir build && cp %q build/redlock\n' "$(realpath "$REDLOCK_BUILD/redlock")" > "$T/bin/make"
	chmod +x "$T/bin/"*
	rm -f "$T/options"
}

@test "release: without an architecture, it is this host's, and no other's packages are asked for" {
	type -P dpkg-architecture > "$T/tool" || skip "no dpkg-dev"
	[ -r /etc/ssl/certs/ca-certificates.crt ] || skip "no ca-certificates"
	native=$(dpkg --print-architecture)
	version=$(sed -n 's/#define REDLOCK_VERSION "\(.*\)"/\1/p' "$PACKAGING/../src/base/version.h")
	built_by_stubs "$version"
	run -0 "$PACKAGING/release" --deb "$T/deb"
	[ "$(ls "$T/deb")" = "redlock_${version}_$native.deb" ]
	[ "$(cat "$T/options")" = "--build=binary --no-sign --host-arch $native" ]
	run -0 "$PACKAGING/release" "$T/all"
	[ "$(ls "$T/all" | LC_ALL=C sort)" = "$(printf '%s\n' SHA256SUMS ca-certificates.crt "redlock-$version-linux-$native" "redlock-$version.tar.gz" "redlock_${version}_$native.deb")" ]
	other=arm64
	[ "$native" != arm64 ] || other=amd64
	run -2 "$PACKAGING/release" "$T/other" $other
	[[ "$output" == "packaging/release: $other: install libhiredis-dev:$other libssl-dev:$other"* ]]
}

@test "make deb and make release are for this host's architecture, and check-release for two" {
	planned() { make -s -C "$PACKAGING/.." -n "$@" | grep -o 'packaging/release .*' | sed 's:[^ ]*/*build/release:build/release:'; }
	[ "$(planned deb)" = "packaging/release --deb build/release" ]
	[ "$(planned release)" = "packaging/release build/release " ]
	[ "$(planned release ARCH='amd64 arm64')" = "packaging/release build/release amd64 arm64" ]
	[ "$(planned check-release | head -n 1)" = "packaging/release build/release amd64 arm64" ]
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
