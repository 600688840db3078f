# Helpers for the bats files: throwaway redis-servers on unix sockets in the test's own folder.
# nodes_stop ends every process that is started here, by its pid, and the test's background holders.

bats_require_minimum_version 1.5.0
export NO_COLOR=1 # terminal.bats has the test of colours

# A build with AddressSanitizer looks for leaks when a process ends, which takes as long as a short run. Only life.bats does
# so, with each subcommand; with LEAKS=1 every test.
[ -n "${LEAKS-}" ] || export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# needs RIGHT...: the test is skipped if this machine does not give it one of these rights (tests/rights has the list).
# The first line of a test, or of a file's setup.
needs() {
	local right line
	[ -n "${RIGHTS-}" ] || RIGHTS=$(TMPDIR=${BATS_TMPDIR:-${TMPDIR-}} "${BASH_SOURCE[0]%/*}/../rights")
	for right; do
		line=$(grep -E "^$right( |$)" <<< "$RIGHTS") || {
			echo "tests/rights has no '$right'"
			return 1
		}
		[ "$line" = "$right" ] || skip "${line#* }"
	done
}

# redlock: the program, under valgrind or alone.
redlock() {
	${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" "$@"
}

# hastily CMD...: `redlock` and `in_background` run the hasty program: some of its constants are an eighth (UNLESS_HASTY
# in src/base/clock.h).
hastily() {
	local -x REDLOCK_BUILD=$REDLOCK_BUILD/hasty
	"$@"
}

# count_ours_only: the memory figures leave out freed memory and stacks that a sanitizer keeps.
count_ours_only() {
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:thread_local_quarantine_size_kb=64
	ASAN_OPTIONS+=:detect_stack_use_after_return=0
}

# start_node I [redis options...]: node I, answering, as unix socket $T/I.sock, pid in PID[I].
start_node() {
	local i=$1
	shift
	rm -f "$T/$i.sock"
	redis-server --port 0 --unixsocket "$T/$i.sock" --save '' --appendonly no --dir "$T" \
		--dbfilename "$i.rdb" --logfile "$T/$i.log" --loglevel warning "$@" \
		3>&- > "$T/$i.out" 2>&1 &
	PID[i]=$!
	also_end $!
}

# in_own_network CMD...: its servers do not disturb other tests': a member of a cluster needs port 10000, even without
# its own port.
in_own_network() {
	redis-server() { exec unshare --net redis-server "$@"; }
	"$@"
	unset -f redis-server
}

# on_mount OPTIONS I [redis options...]: node I, with its folder on a mount of its own.
on_mount() {
	local options=$1 i=$2
	shift 2
	mkdir -p "$T/disk"
	redis-server() {
		exec unshare -m bash -c 'mount -t tmpfs -o "$0" none "$1" && shift && exec redis-server "$@"' \
			"$options" "$T/disk" "$@"
	}
	kill_node "$i"
	start_node "$i" --dir "$T/disk" "$@"
	eventually admitted "$i"
	unset -f redis-server
}

# nodes_start N [redis options...]: nodes 1..N, and REDLOCK_NODES naming them.
nodes_start() {
	local n=$1 i
	shift
	T=$BATS_TEST_TMPDIR
	PID=()
	N=$n
	export REDLOCK_NODES=
	for ((i = 1; i <= n; i++)); do
		start_node "$i" "$@"
		REDLOCK_NODES+="${REDLOCK_NODES:+ }unix://$T/$i.sock"
	done
	for ((i = 1; i <= n; i++)); do
		eventually admitted "$i"
	done
	forget_settings
}

# nodes_in_sandbox N: the same, but redlock starts, admits and ends the nodes.
nodes_in_sandbox() {
	local i
	T=$BATS_TEST_TMPDIR
	PID=()
	N=$1
	forget_settings
	T=$T in_background "$T/sandbox" sandbox -n "$N" -- sh -c \
		'ln -s "$REDLOCK_SANDBOX"/*.sock "$T" && echo "$REDLOCK_NODES" > "$T/nodes" && exec sleep infinity'
	eventually test -s "$T/nodes"
	REDLOCK_NODES=$(< "$T/nodes")
	export REDLOCK_NODES
	for ((i = 1; i <= N; i++)); do
		PID[i]=$(< "$(realpath "$T/$i.sock" | sed 's/sock$/pid/')")
		also_end "${PID[i]}"
	done
}

# forget_settings: removes the settings of this machine and of the user of the tests.
forget_settings() {
	unset REDLOCK_KEY REDLOCK_KEY_FORMAT REDLOCK_TTL REDLOCK_WAIT REDLOCK_VERBOSE REDLOCK_QUIET REDLOCK_NODE_TIMEOUT
	unset REDLOCK_PROFILE REDLOCK_USERNAME REDLOCK_PASSWORD REDLOCK_PASSWORD_FILE
	export REDLOCK_CONFIG=/dev/null
	# the registry of background holders and the folder of a sandbox
	[[ ${XDG_RUNTIME_DIR-} == "$T"* ]] || export XDG_RUNTIME_DIR=$T
	[[ ${TMPDIR-} == "$T"* ]] || export TMPDIR=$T
}

# look_up PID: STAT is what /proc says of that process, or of the leader of group -PID: its state, and so on. This
# starts no process: tests poll with it.
look_up() {
	local pid=${1#-} line
	{ read -r line < "/proc/${pid:-none}/stat"; } 2> /dev/null || return 1
	read -ra STAT <<< "${line##*) }"
}
# start_time PID: when that process started, in STARTS: clock ticks since boot; nothing if it is gone.
start_time() {
	local STAT=()
	look_up "$1" || true
	STARTS=${STAT[19]-}
}

# also_end PID: another process, or with -PID a group, to end with the test.
declare -gA STARTED
also_end() {
	local STARTS
	start_time "$1"
	EXTRA+=("$1")
	STARTED[$1]=$STARTS
}

# also_end_holders FOLDER: the background holders that are registered there. The file of a killed holder remains, and
# its pid may be another process's; a living one keeps its file locked.
also_end_holders() {
	local file
	for file in "$1"/[0-9]*; do
		[ ! -f "$file" ] || is_closed "$file" || also_end "${file##*/}"
	done
}

# A busy machine uses a pid again within a minute or two: the pid of a process that has ended may be that of another
# test's process.
is_reused() {
	local STARTS
	start_time "$1"
	[[ "$STARTS" && "$STARTS" != "${STARTED[$1]}" ]]
}

# continue_all: the nodes and the processes of also_end, if they are stopped.
continue_all() {
	local pid
	for pid in "${EXTRA[@]}"; do is_reused "$pid" || kill -CONT -- "$pid" 2> "$T/kill" || true; done
}

nodes_stop() {
	local pid
	[[ -z ${T-} || ${XDG_RUNTIME_DIR-} != "$T"* ]] || also_end_holders "$XDG_RUNTIME_DIR/redlock"
	for pid in "${EXTRA[@]}"; do
		! is_reused "$pid" || continue
		kill -KILL -- "$pid" 2> "$T/kill" || true
		wait "$pid" 2> "$T/kill" || true
	done
}

# node I WORDS...: redis-cli's options and words, on node I. A file that sets REDLOCK_BUILD to a build without tools sets
# ASK, too.
node() {
	local i=$1
	shift
	case ${1--} in
	-* | monitor | subscribe | shutdown) redis-cli -s "$T/$i.sock" "$@" ;;
	*) "${ASK:-$REDLOCK_BUILD/tools/ask}" "$T/$i.sock" "$@" ;;
	esac
}

# admitted I: the node answers, and has a vote, new as it is (redlock run --restart-guard).
admitted() {
	[ -S "$T/$1.sock" ] && [ "$(node "$1" eval "redis.call('SET', '{redlock}:node',
		string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')) return 'admitted'" 0 2>&1)" = admitted ]
}

# is_empty I: the node has no keys, apart from those of admitted().
is_empty() { [ "$(node "$1" keys '*' | grep -vxc '{redlock}:node')" = 0 ]; }

answers() { [ -S "$T/$1.sock" ] && [ "$(node "$1" ping 2>&1)" = PONG ]; }

kill_node() {
	kill -KILL "${PID[$1]}"
	wait "${PID[$1]}" 2> "$T/kill" || true
}

stop_node() {
	kill -STOP "${PID[$1]}"
	eventually in_state "${PID[$1]}" T
}
continue_node() { kill -CONT "${PID[$1]}"; }

# with_a_clock I: node I starts anew, and `jump` moves its time of day.
with_a_clock() {
	kill_node "$1"
	printf '%+010d' 0 > "$T/clock$1"
	LD_PRELOAD=$REDLOCK_BUILD/tools/walljump.so WALLJUMP=$T/clock$1 start_node "$1"
	eventually admitted "$1"
}
# jump I SECONDS
jump() { printf '%+010d' "$2" 1<> "$T/clock$1"; }

# in_state PID LETTER: the process state in /proc, such as T (stopped) or Z (zombie).
in_state() {
	local STAT
	look_up "$1" && [ "${STAT[0]}" = "$2" ]
}

# not CMD...: the shell does not end a test for a line that begins with "!".
not() { ! "$@"; }

# eventually CMD...: polls until it is true, for at most 40 seconds.
eventually() {
	local is_true=yes # CMD may set `status`
	set +T # bats would trace each command of each poll: a fifth of the time of the suite
	"$@" || poll "$@" || is_true=
	set -T
	[ "$is_true" ]
}
# poll CMD...: for `eventually`; CMD sees the variables. Each pause is an eighth longer than the one before it, up to
# 250 ms. A pause starts no process: it waits for a pipe without a writer.
poll() {
	local poll_end=$((SECONDS + 40)) poll_ms=10 poll_pause poll_pipe=${BATS_RUN_TMPDIR:-$T}/silence silence
	[ -p "$poll_pipe" ] || mkfifo "$poll_pipe"
	exec {silence}<> "$poll_pipe"
	while
		printf -v poll_pause '0.%03d' $poll_ms
		read -rt "$poll_pause" -u "$silence" || true
		! "$@"
	do
		((SECONDS < poll_end)) || {
			echo "never came true: $*"
			return 1
		}
		((poll_ms = poll_ms > 220 ? 250 : poll_ms * 9 / 8 + 1))
	done
	exec {silence}<&-
}

# export_helpers: for a bash within a test
export_helpers() {
	export -f node eventually poll look_up held_on holders file_has in_state is_gone queued waiting in_queue
}

# evals NODE...: the number of scripts that these nodes have run since their last resetstat, together; those that a
# node did not know are counted, too.
evals() {
	local i
	for i; do node "$i" info commandstats; done | tr -d '\r' |
		sed -nE 's/^cmdstat_eval(sha)?:calls=([0-9]*).*/\2/p' | awk '{ n += $1 } END { print n + 0 }'
}

# holders KEY: the number of nodes where the key exists (of those that answer; a node that is not stopped gets the
# time).
holders() {
	local i n=0
	for ((i = 1; i <= N; i++)); do
		! in_state "${PID[i]-}" T && [ "$(node "$i" exists "$1" 2>&1)" = 1 ] && n=$((n + 1))
	done
	echo "$n"
}
held_on() { [ "$(holders "$1")" = "$2" ]; }

# free_everywhere KEY
free_everywhere() {
	eventually held_on "$1" 0
}

file_has() { grep -q -- "$2" "$1" 2> /dev/null; }
# is_gone PID: ended, waited for by its parent or not.
is_gone() {
	local STAT
	! look_up "$1" || [ "${STAT[0]}" = Z ]
}

# supervisor_of MAIN: its pid. The parent of the probe is younger.
supervisor_of() { pgrep -P "$1" | head -n 1; }

# is_closed FILE: no process has the descriptor any more with which the test locked the file (flock). redlock's own list in
# /proc is root's.
is_closed() { flock -n "$1" true; }

# in_background FILE ARG...: runs redlock ARG... with output to FILE; its pid is in BG. The shell ignores INT and QUIT
# for processes that it starts with &, nohup ignores HUP, and redlock keeps ignored signals: hence env.
in_background() {
	local file=$1
	shift
	[ ! -f "$file" ] || : > "$file" # at once: the test must not take an earlier process's output for this one's
	env --default-signal=HUP,INT,QUIT ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" "$@" \
		> "$file" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
}

# ended_with STATUS: the exit status of the program in the background.
ended_with() {
	local status=0
	wait "$BG" || status=$?
	[ "$status" -eq "$1" ] || {
		echo "ended with $status, not $1"
		return 1
	}
}

# the queue node
queue_node() {
	local i
	for ((i = 1; i <= N; i++)); do
		[ "$(queued $i)" = 0 ] || echo $i
	done
}
# queued I: the number of waiters in the queues of node I that are connected.
queued() {
	node "$1" eval "
		local n = 0
		for _, queue in ipairs(redis.call('KEYS', 'redlock:queue:*')) do
			for _, name in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
				local channel = 'redlock:wake:' .. string.sub(queue, #'redlock:queue:' + 1) .. ':' .. name
				n = n + redis.call('PUBSUB', 'NUMSUB', channel)[2]
			end
		end
		return n" 0 2>&1 | grep -xE '[0-9]+' || echo 0
}
# waiting: the same for all nodes that answer.
waiting() {
	local i sum=0
	for ((i = 1; i <= N; i++)); do
		in_state "${PID[i]-}" T || sum=$((sum + $(queued "$i")))
	done
	echo $sum
}
in_queue() { [ "$(waiting)" -eq "$1" ]; }

# is_like TEXT PATTERN
is_like() { [[ "$1" == $2 ]] || { echo "got:  $1"; echo "want: $2"; return 1; }; }

# says STATUS STDOUT STDERR ARG...: redlock's whole output; both are patterns.
says() {
	local want=$1 out=$2 err=$3
	shift 3
	run "-$want" --separate-stderr redlock "$@"
	is_like "$output" "$out"
	is_like "$stderr" "$err"
}

# whole_numbers: the JSON on stdin has no number with a fraction. (jq does not tell 1.0 from 1.)
whole_numbers() { sed -E 's/"([^"\\]|\\.)*"//g' | not grep -E '[0-9][.eE]'; }

# json FILTER: $output is one document, the filter is true of it, and its numbers are integers.
json() {
	[ "${#lines[@]}" -eq 1 ] && whole_numbers <<< "$output" && jq -e "$1" <<< "$output" > "$T/jq" || {
		echo "$output"
		return 1
	}
}
