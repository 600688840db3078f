# redlock sandbox: throwaway nodes for a command; nothing is left of them, however it ends.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	mkdir "$T/bin" "$T/tmp"
	ln -s "$REDLOCK_BUILD/redlock" "$T/bin/redlock"
	local name
	for name in "${!REDLOCK_@}"; do
		[[ $name == REDLOCK_@(BUILD|UNDER) ]] || unset "$name"
	done
	unset REDISCLI_AUTH
	export PATH=$T/bin:$PATH TMPDIR=$T/tmp T
	# Long times: no node is late because the machine is busy.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s REDLOCK_CONFIG=/dev/null
	# tells where it is, and stays until it is ended; its child, in a new session, does too
	tool staying bash '
		setsid sleep 300 3>&- &
		cat "$REDLOCK_SANDBOX"/*.pid > "$T/servers"
		echo $! $$ > "$T/staying" # by a builtin: bash forgets a ^C that a program outlives
		wait'
}
teardown() {
	nodes_stop
	for file in "$T/staying" "$T/servers"; do
		[ ! -e "$file" ] || for pid in $(cat "$file"); do
			# and no other process of that number
			if grep -qsF "$T" "/proc/$pid/environ" "/proc/$pid/cmdline"; then kill -KILL "$pid"; fi
		done
	done
}

# tool NAME SHELL LINE...: a script.
tool() {
	printf '%s\n' "#!/bin/$2" "${@:3}" > "$T/bin/$1"
	chmod +x "$T/bin/$1"
}

# in_sandbox ARG...: redlock sandbox ARG... over a command that stays, in the background.
in_sandbox() {
	rm -f "$T/staying" "$T/servers"
	in_background "$T/out" sandbox "$@" -- staying
	eventually test -s "$T/staying"
	[ "$(pids "$T/servers")" -gt 0 ]
	also_end "$(sandbox_process)"
}
pids() { wc -w < "$1"; }

sandbox_process() { pgrep -P "$BG" -x rl-sandbox; }
supervisor() { pgrep -P "$BG" -x rl-supervisor; } # it gets its name after a moment

all_gone() { for pid in $(cat "$@"); do is_gone "$pid" || return 1; done; }
folders() { ls "$T/tmp"; }
no_folder() { [ -z "$(folders)" ]; }
# nothing_left: no servers, no folder, no command and no process that it started.
nothing_left() {
	eventually all_gone "$T/servers" "$T/staying"
	eventually no_folder
}

@test "five nodes: run, hold and doctor find them sound, and nothing is left" {
	tool all bash '
		set -ex
		[ "$(ls "$REDLOCK_SANDBOX"/*.sock | wc -l)" -eq 5 ]
		[ "$(wc -w <<< "$REDLOCK_NODES")" -eq 5 ]
		[ "$(stat -c %a "$REDLOCK_SANDBOX")" = 700 ]
		for i in 1 2 3 4 5; do
			[[ " $REDLOCK_NODES " == *" unix://$REDLOCK_SANDBOX/$i.sock "* ]]
			kill -0 "$(cat "$REDLOCK_SANDBOX/$i.pid")"
			test -e "$REDLOCK_SANDBOX/$i.log"
		done
		cat "$REDLOCK_SANDBOX"/*.pid > "$T/servers"
		redlock doctor --strict | tail -n 1
		redlock run -v -k job -- redlock check
		redlock hold -k other --follow $$
		redlock run -k other -n -- false || echo "busy: $?"'
	run -0 redlock sandbox -n 5 -- all
	echo "$output"
	[[ "$output" == *"5 of 5 nodes can be used; no problem found"* ]]
	[[ "$output" == *"acquired 'job' on "* ]]
	[[ "$output" == *"busy: 75"* ]]
	[ "$(pids "$T/servers")" -eq 5 ]
	all_gone "$T/servers"
	no_folder
}

@test "the status is the command's own, and so are its input and output" {
	run -0 --separate-stderr redlock sandbox -n 1 true
	[ -z "$output$stderr" ]
	run -7 redlock sandbox -n 1 -- sh -c 'exit 7'
	run -0 --separate-stderr redlock sandbox -n 1 -- cat <<< "some words"
	[ "$output" = "some words" ]
	run -137 --separate-stderr redlock sandbox -n 1 -- sh -c 'kill -9 $$'
	run -127 redlock sandbox -n 1 -- "$T/none"
	[ "${lines[0]}" = "redlock: cannot run '$T/none': command not found" ]
	run -126 redlock sandbox -n 1 -- "$T/tmp"
	[ "${lines[0]}" = "redlock: cannot run '$T/tmp': it is a folder" ]
	no_folder
}

@test "the number of nodes: three by default, from 1 to 15 with -n" {
	count='wc -w <<< "$REDLOCK_NODES"'
	run -0 redlock sandbox -- bash -c "$count"
	[ "$output" = 3 ]
	run -0 redlock sandbox --number=15 -- bash -c "$count; redlock run -k job -- echo done"
	[ "$output" = $'15\ndone' ]
	for bad in 0 16 -1 x ''; do
		run -64 redlock sandbox -n "$bad" -- touch "$T/never"
		[ "${lines[0]}" = "redlock: -n '$bad' is not a number from 1 to 15" ]
	done
	run -64 redlock sandbox -k job -- touch "$T/never"
	[ "${lines[0]}" = "redlock: -k is not an option of 'redlock sandbox'" ]
	[ ! -e "$T/never" ]
	no_folder
}

@test "without a command: a shell on a terminal, else 64" {
	says 64 "" "redlock: missing command: a shell needs a terminal
hint: redlock sandbox -- COMMAND; see 'redlock help sandbox'" sandbox < /dev/null
	export SHELL=/bin/sh PS1='ready> '
	run -3 "$REDLOCK_BUILD/tools/pty" expect:" nodes are up in $T/tmp/redlock-sandbox." expect:": 'exit' ends them. Try:" \
		expect:'ready> ' send:'redlock run -k job -- echo "<$((6 * 7))>"\r' expect:'<42>' \
		expect:'ready> ' send:'exit 3\r' -- redlock sandbox
	no_folder
}

@test "the shell: the sandbox's own redlock comes first in PATH, and the prompt is marked" {
	local shell home=$T/home
	mkdir "$home" "$home/bin"
	printf '#!/bin/sh\necho another redlock\n' > "$home/bin/redlock"
	chmod +x "$home/bin/redlock"
	# the user's own files set the prompt, and put a folder before all others
	printf '%s\n' 'PS1="mine> "' 'PATH=$HOME/bin:$PATH' | tee "$home/.bashrc" > "$home/.zshrc"
	# without the second folder, fish starts a process that makes completions
	mkdir -p "$home/.config/fish" "$home/.local/share/fish/generated_completions"
	printf '%s\n' 'function fish_prompt; echo -n "mine> "; end' 'set -gx PATH $HOME/bin $PATH' > "$home/.config/fish/config.fish"
	for shell in bash zsh fish dash; do
		run -3 env -u ENV -u ZDOTDIR HOME="$home" TERM=dumb SHELL="$(type -P $shell)" PS1='mine> ' PATH="$home/bin:$PATH" \
			"$REDLOCK_BUILD/tools/pty" expect:'(redlock) mine> ' send:'redlock run -k job -- echo "<"job">"\r' expect:'<job>' \
			expect:'(redlock) mine> ' send:'exit 3\r' -- "$REDLOCK_BUILD/redlock" sandbox -n 1
		[[ "$(folders)" != *redlock-sandbox* ]] # fish has one of its own
	done
	# a command finds it, too; and a shell without a start-up file
	run -0 env PATH="$home/bin:$PATH" "$REDLOCK_BUILD/redlock" sandbox -n 1 -- sh -c 'redlock version && readlink "$REDLOCK_SANDBOX/redlock"'
	[[ "${lines[0]}" == "redlock "[0-9]* ]]
	[ "${lines[-1]}" = "$(realpath "$REDLOCK_BUILD/redlock")" ]
	run -3 env ENV="$home/.bashrc" SHELL=/bin/sh "$REDLOCK_BUILD/tools/pty" expect:'mine> ' send:'exit 3\r' -- redlock sandbox -n 1
}

@test "the banner: four lines, and what they say to type works" {
	export SHELL=/bin/sh PS1='ready> '
	unset ENV
	# the second terminal: the last line, as it is shown, and nothing else in PATH
	tool second bash 'eval "$(grep -ao "export PATH.*" "$T/shown" | tr -d "\r")"
		PATH=${PATH%%:*}
		redlock status demo > "$T/status"'
	"$REDLOCK_BUILD/tools/pty" expect:'ready> ' send:'redlock run -k demo -- sh -c "echo up; sleep 60"\r' expect:'\x0aup' \
		"run:$T/bin/second" send:'\x03' expect:'ready> ' send:'exit 0\r' -- redlock sandbox > "$T/shown"
	cat "$T/status"
	file_has "$T/status" "^'demo' is held by "
	sed 's/\r$//' "$T/shown" | sed '/ready> /,$d' > "$T/banner"
	cat "$T/banner"
	[ "$(wc -l < "$T/banner")" = 4 ]
	is_like "$(sed -n 1p "$T/banner")" "redlock: 3 nodes are up in $T/tmp/redlock-sandbox.??????: 'exit' ends them. Try:"
	is_like "$(sed -n 4p "$T/banner")" "  export PATH=$T/tmp/*:[$]PATH REDLOCK_NODES='unix://* unix://* unix://*/3.sock'"
	no_folder
}

@test "no server program: 69, and a hint" {
	mkdir "$T/empty"
	run -69 env PATH="$T/empty" "$REDLOCK_BUILD/redlock" sandbox -- touch "$T/never"
	[ "$output" = "redlock: missing server program: PATH has no redis-server, valkey-server or keydb-server
hint: install one (apt-get install redis-server), or name another program with --server" ]
	for name in no-such-server ./no-such-server "$T/no-such-server" "$T/bin"; do
		run -69 redlock sandbox --server "$name" -- touch "$T/never"
		[ "$output" = "redlock: missing server program '$name'
hint: name one with --server or REDLOCK_SERVER" ]
	done
	[ ! -e "$T/never" ]
	no_folder
}

@test "another server program, by its name, its path or the environment" {
	real=$(type -P redis-server)
	tool other-server bash "echo \$1 >> '$T/started'; exec '$real' \"\$@\""
	cd "$T"
	for name in other-server bin/other-server ./bin/other-server "$T/bin/other-server"; do
		run -0 redlock sandbox -n 1 --server "$name" -- redlock run -k job -- true
	done
	REDLOCK_SERVER=other-server run -0 redlock sandbox -n 1 -- redlock run -k job -- true
	[ "$(grep -c 'redlock-sandbox.*/1.conf$' "$T/started")" -eq 5 ]
	# the second and the third of the known ones
	mkdir "$T/known"
	for program in bash env; do ln -s "$(type -P $program)" "$T/known"; done
	for name in keydb-server valkey-server; do
		cp bin/other-server "$T/known/$name"
		sed -i "s/started/$name/" "$T/known/$name"
		run -0 env PATH="$T/known" "$REDLOCK_BUILD/redlock" sandbox -n 1 -- bash -c :
		[ -s "$T/$name" ]
	done
	no_folder
}

# bats test_tags=not-under-valgrind
@test "a server that does not start: 69, with its last output" {
	tool failing bash '[[ $1 == */1.conf ]] && exec redis-server "$@"
		echo "once upon a time"; echo "no luck today" >&2; exit 1'
	run -69 redlock sandbox --server failing -- touch "$T/never"
	[ "${#lines[@]}" -eq 1 ]
	is_like "$output" "redlock: node [23]: $T/bin/failing exited at its start: no luck today"
	tool failing bash 'exec redis-server "$1" --no-such-setting 1'
	run -69 redlock sandbox --server failing -- touch "$T/never"
	[ "${#lines[@]}" -eq 1 ]
	is_like "$output" "redlock: node [123]: $T/bin/failing exited at its start: ?*"
	tool failing none
	run -69 redlock sandbox --server failing -- touch "$T/never"
	is_like "$output" "redlock: cannot start '$T/bin/failing': No such file or directory"
	[ ! -e "$T/never" ]
	no_folder
}

@test "a server that is a script of several processes: all of them end" {
	# a server with two more processes, one of them in its own session; the last server fails when the others are up
	tool script bash '[[ $1 != */3.conf ]] && {
			sleep 300 3>&- & setsid sleep 300 3>&- &
			echo $$ $(jobs -p) >> "$T/servers"; wait
		}
		until [ "$(wc -l < "$T/servers")" = 2 ]; do sleep 0.02; done
		exit 1'
	: > "$T/servers"
	run -69 redlock sandbox --server script -- touch "$T/never"
	[ "$output" = "redlock: node 3: $T/bin/script exited at its start" ]
	[ "$(pids "$T/servers")" -eq 6 ]
	all_gone "$T/servers"
	no_folder
}

# bats test_tags=not-under-valgrind
@test "too few descriptors: an error, and nothing is left" {
	# (descriptors that bats has open may have any number)
	all=$(printf ' %s>&-' {3..20})
	for n in {4..14}; do
		run bash -c "exec $all; ulimit -n $n; exec '$REDLOCK_BUILD/redlock' sandbox -n 2 -- touch '$T/never'"
		[[ $status == @(69|78|125) ]]
		not grep -q 'has ended$' <<< "$output"
	done
	no_folder
}

# refused TMPDIR MESSAGE
refused() {
	TMPDIR=$1 run -78 redlock sandbox -- touch "$T/never"
	is_like "${lines[0]}" "$2"
	is_like "${lines[1]}" "hint: *TMPDIR*"
}

@test "another user's TMPDIR: 78" {
	needs users
	install -d -m 700 -o 65534 "$T/theirs"
	refused "$T/theirs" "redlock: other users can rename files in TMPDIR '$T/theirs'"
	[ ! -e "$T/never" ]
}

@test "an unusable TMPDIR: 78" {
	long=$T/$(printf 'l%.0s' $(seq 80))
	mkdir "$long" "$T/a b"
	refused "$long" "redlock: TMPDIR '$long' is too long: ${#long} bytes, at most * leave room for the sockets"
	refused "$T/a b" "redlock: TMPDIR '$T/a b' has a space, a comma, '?', '\"', '\\\\' or unprintable bytes in it"
	refused "$T/a"$'\x01' "redlock: TMPDIR '$T/a\\\\x01' has * unprintable bytes in it"
	refused "$T/a"$'\xff' "redlock: TMPDIR '$T/a\\\\xff' has * unprintable bytes in it"
	refused tmp "redlock: TMPDIR 'tmp' does not begin with '/'"
	# a folder where other users can replace a new folder
	install -d -m 777 "$T/open"
	refused "$T/open" "redlock: other users can rename files in TMPDIR '$T/open'"
	chmod +t "$T/open"
	TMPDIR=$T/open run -0 redlock sandbox -- true
	refused "$T/none" "redlock: cannot create a folder in '$T/none': No such file or directory"
	[ ! -e "$T/never" ]
	[ -z "$(ls -A "$long" "$T/a b" | grep redlock)" ]
}

@test "the longest TMPDIR that is accepted has room for all sockets" {
	parent=$T/$(printf 'l%.0s' $(seq 100))
	parent=${parent:0:76}
	mkdir "$parent"
	TMPDIR=$parent run -0 redlock sandbox -n 15 -- redlock run -k job -- echo done
	[ "$output" = done ]
	mkdir "${parent}l"
	TMPDIR=${parent}l run -78 redlock sandbox -- touch "$T/never"
}

@test "settings for other nodes, and for locks there, do not apply to the sandbox" {
	printf '%s\n' 'username = deploy' 'password = secret' 'node = redis://elsewhere' '[p]' 'ttl = 5s' > "$T/config"
	export REDLOCK_CONFIG=$T/config REDLOCK_PROFILE=p REDLOCK_NODES=redis://elsewhere REDLOCK_USERNAME=me \
		REDLOCK_PASSWORD=secret REDLOCK_KEY=outer REDLOCK_TOKEN=outer REDLOCK_FENCE=3 REDLOCK_TTL=77s
	chmod 600 "$T/config"
	run -0 redlock sandbox -n 1 -- bash -c 'printf "%s\n" "${!REDLOCK_@}" | grep -vE "_(BUILD|UNDER)"'
	[ "$output" = "REDLOCK_CONFIG
REDLOCK_NODES
REDLOCK_NODE_TIMEOUT
REDLOCK_SANDBOX
REDLOCK_TTL" ]
	run -0 redlock sandbox -n 1 -- redlock run -k job -- printenv REDLOCK_TTL_MS
	[ "$output" = 77000 ]
}

# bats test_tags=not-under-valgrind
@test "a node that is killed, and started again by hand: it has a vote later, and ends with the others" {
	tool playing bash '
		set -ex
		cd "$REDLOCK_SANDBOX"
		kill -9 "$(cat 1.pid)"
		redlock run -k job -- echo "two are enough"
		redis-server "$PWD/1.conf" > "$T/again" 2>&1 3>&- &
		echo $! > "$T/servers"
		until redis-cli -s 1.sock ping; do sleep 0.02; done
		[ "$(cat 1.pid)" = $! ]
		redlock doctor'
	run -0 redlock sandbox -- playing
	echo "$output"
	[[ "$output" == *"two are enough"* ]]
	[[ "$output" == *"/1.sock "*"new or restarted, and not used since: "*"/2.sock "* ]]
	[[ "$output" != *"left 1 process running"* ]]
	all_gone "$T/servers"
	no_folder
}

@test "process 1 of a container, which reaps no children, is left no zombie" {
	needs mounts pids
	unshare --pid --fork --mount-proc --kill-child sleep 300 3>&- &
	also_end $!
	eventually pgrep -P $! -x sleep
	init=$(pgrep -P $! -x sleep)
	nsenter -t "$init" --pid --mount "$REDLOCK_BUILD/redlock" sandbox -- redlock run -k job -- true
	[ -z "$(pgrep -P "$init")" ]
	run -69 nsenter -t "$init" --pid --mount "$REDLOCK_BUILD/redlock" sandbox --server false -- true
	[ -z "$(pgrep -P "$init")" ]
}

@test "processes that the command leaves are left alone, and reported" {
	run -0 redlock sandbox -n 1 -- bash -c 'setsid sleep 300 > "$T/left" 2>&1 3>&- & echo $! > "$T/pid"'
	pid=$(cat "$T/pid")
	also_end "$pid"
	is_like "$output" "redlock: the command left 1 process running without its nodes, $pid ("'*'")"
	not is_gone "$pid"
	no_folder
}

@test "a folder that cannot be removed is named" {
	needs mounts
	tool mounting bash 'mkdir "$REDLOCK_SANDBOX/more" && mount -t tmpfs none "$REDLOCK_SANDBOX/more"'
	run -0 unshare --mount "$REDLOCK_BUILD/redlock" sandbox -n 1 -- mounting
	is_like "$output" "redlock: cannot remove '$T/tmp/redlock-sandbox.??????': some of its files remain"
	[ "$(ls "$T/tmp/"*)" = more ]
	redlock sandbox -n 1 -- true
	no_folder
}

@test "started with SIGCHLD ignored, and stdin closed: the sandbox works" {
	run -5 env --ignore-signal=CHLD "$REDLOCK_BUILD/redlock" sandbox -n 2 -- sh -c 'exit 5' <&-
	[ "$output" = "" ]
	run -69 env --ignore-signal=CHLD "$REDLOCK_BUILD/redlock" sandbox --server false -- true
	is_like "$output" "redlock: node [123]: * exited at its start"
	no_folder
}

@test "a sandbox within a sandbox" {
	run -0 redlock sandbox -n 1 -- bash -c 'redlock run -k job -- \
		redlock sandbox -- bash -c "redlock run -k job -n -- redlock status job" && redlock run -k job -n -- echo outer'
	is_like "$output" "*held*outer"
	no_folder
}

# ---- the end in any case ----

@test "redlock is killed: servers, command and folder are gone" {
	in_sandbox
	kill -KILL "$BG"
	nothing_left
	ended_with 137
}

@test "pkill -9 -f with the sandbox's arguments: servers, command and folder are gone" {
	unset REDLOCK_UNDER # valgrind's own command line stays
	in_sandbox
	eventually supervisor
	pgrep -f 'redlock sandbox' | grep -xF -e "$BG" -e "$(sandbox_process)" -e "$(supervisor)" > "$T/killed"
	file_has "$T/killed" "^$BG$"
	xargs kill -KILL < "$T/killed"
	nothing_left
	ended_with 137
}

@test "the sandbox process is killed: 125, and all is gone" {
	in_sandbox
	kill -KILL "$(sandbox_process)"
	eventually is_gone "$BG"
	ended_with 125
	nothing_left
	file_has "$T/out" "^redlock: the sandbox process was killed, and the servers with it"
}

@test "the supervisor is killed: 125, and all is gone" {
	in_sandbox
	eventually supervisor
	kill -KILL "$(supervisor)"
	ended_with 125
	all_gone "$T/servers" "$T/staying"
	no_folder
	file_has "$T/out" "^redlock: the command's supervisor was killed"
}

@test "redlock and the sandbox process are killed at once: the servers are gone, and the next sandbox removes the folder" {
	in_sandbox
	kill -STOP "$BG" # or it would clean up
	folder=$T/tmp/$(folders)
	kill -KILL "$(sandbox_process)" "$BG"
	eventually all_gone "$T/servers" "$T/staying"
	ended_with 137
	[ -d "$folder" ]
	mkdir -p "$folder/more/of/it"
	ln -s "$T/bin" "$folder/link"
	redlock sandbox -n 1 -- true
	no_folder
	[ -e "$T/bin/redlock" ] # links are not followed
}

# bats test_tags=not-under-valgrind
@test "all are killed while a server runs that was started again by hand: the next sandbox ends it" {
	in_sandbox -n 1
	folder=$T/tmp/$(folders)
	kill -KILL "$(cat "$T/servers")"
	redis-server "$folder/1.conf" > "$T/again" 2>&1 3>&- &
	also_end $!
	echo $! > "$T/servers"
	eventually test -s "$folder/1.pid"
	serves() { [ "$(redis-cli -s "$folder/1.sock" ping 2>&1)" = PONG ]; }
	eventually serves
	kill -STOP "$BG"
	kill -KILL "$(sandbox_process)" "$BG"
	eventually all_gone "$T/staying"
	ended_with 137
	redlock sandbox -n 1 -- true
	all_gone "$T/servers"
	no_folder
}

@test "the next sandbox does not remove a folder that is in use, nor one that only looks like a sandbox's" {
	in_sandbox -n 1
	mkdir -m 755 "$T/tmp/redlock-sandbox.public"
	mkdir -m 700 "$T/tmp/redlock-sandbox.private" "$T/tmp/redlock-sandbo.abcdef"
	ln -s "$T/bin" "$T/tmp/redlock-sandbox.linked"
	: > "$T/tmp/redlock-sandbox.a-file"
	before=$(folders)
	redlock sandbox -n 1 -- true
	[ "$(folders)" = "$before" ]
	redis-cli -s "$T/tmp/redlock-sandbox."??????"/1.sock" ping 2>&1 || true
	not all_gone "$T/servers"
	kill -KILL "$BG"
	eventually all_gone "$T/servers"
	ended_with 137
}

@test "the command is killed, or told to end: redlock ends with the same signal, and all is gone" {
	in_sandbox
	kill -KILL "$(cut -d ' ' -f 2 "$T/staying")"
	ended_with 137
	all_gone "$T/servers" "$T/staying"
	no_folder
	for signal in TERM INT HUP; do
		in_sandbox
		kill -s $signal "$BG"
		ended_with $((128 + $(kill -l $signal)))
		all_gone "$T/servers" "$T/staying"
		no_folder
	done
}

@test "the whole process group is killed: the sandbox process is not in it" {
	tool group bash 'echo $$ > "$T/group"; exec redlock sandbox -- staying'
	setsid "$T/bin/group" > "$T/out" 2>&1 3>&- &
	eventually test -s "$T/staying"
	kill -KILL -- "-$(cat "$T/group")"
	nothing_left
	wait $! || true
}

@test "^C on a terminal ends all" {
	run -130 "$REDLOCK_BUILD/tools/pty" run:"until [ -s '$T/staying' ]; do sleep 0.02; done" send:'\x03' -- redlock sandbox -- staying
	all_gone "$T/servers" "$T/staying"
	no_folder
}

@test "the terminal is closed: all ends" {
	run -129 "$REDLOCK_BUILD/tools/pty" run:"until [ -s '$T/staying' ]; do sleep 0.02; done" hangup -- redlock sandbox -- staying
	all_gone "$T/servers" "$T/staying"
	no_folder
}

@test "^Z stops the command, not the nodes; fg continues it" {
	tool asking sh 'echo $$ > "$T/pid"; echo "<asking>"; read -r line; echo "<$line>"; exit 5'
	# (until then it would eat the next keys)
	is_stopped() { in_state "$(cat "$T/pid")" T; }
	export PS1='ready> '
	export_helpers
	export -f is_stopped
	run -0 "$REDLOCK_BUILD/tools/pty" expect:'ready> ' send:'redlock sandbox -n 1 asking\r' expect:'<asking>' send:'\x1a' \
		expect:'ready> ' run:"eventually is_stopped && redis-cli -s '$T/tmp/'*/1.sock ping | grep PONG" \
		send:'fg\r' expect:asking send:'one\r' expect:'<one>' expect:'ready> ' send:'echo "<$?>"\r' expect:'<5>' \
		send:'exit 0\r' -- bash --norc -i
	no_folder
}

@test "ended while the servers start: nothing is left" {
	# (the second is stopped before it is up)
	tool slow bash 'echo $$ >> "$T/slow"; [[ $1 == */1.conf ]] && exec redis-server "$@"; exec sleep 300'
	for signal in KILL TERM INT; do
		rm -f "$T/slow"
		in_background "$T/out" sandbox -n 2 --server slow -- touch "$T/never"
		started() { [ "$(pids "$T/slow" 2>&1)" = 2 ]; }
		eventually started
		kill -s $signal "$BG"
		ended_with $((128 + $(kill -l $signal)))
		eventually all_gone "$T/slow"
		eventually no_folder
	done
	[ ! -e "$T/never" ]
}

@test "the sandbox process, or the supervisor, is stopped, and then redlock is killed: nothing is left" {
	for one in sandbox_process supervisor; do
		in_sandbox
		eventually "$one"
		pid=$("$one")
		also_end "$pid"
		kill -STOP "$BG" # or it would continue the supervisor
		eventually in_state "$BG" T
		kill -STOP "$pid"
		eventually in_state "$pid" T
		kill -KILL "$BG"
		nothing_left
		ended_with 137
	done
}

@test "the sandbox process is stopped: redlock cleans up at the end" {
	in_sandbox
	kill -STOP "$(sandbox_process)"
	kill -TERM "$BG"
	ended_with 143
	all_gone "$T/servers" "$T/staying"
	no_folder
}
