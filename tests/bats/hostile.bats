# Servers that are no Redis, broken, or hostile (tests/tools/hostile): such a node has no vote, and redlock names it and
# its fault; it costs the other nodes neither time nor memory, and sends no control character to the terminal.

load nodes

setup() {
	nodes_start 2
	export LC_ALL=C XDG_RUNTIME_DIR=$T
	SOUND=$REDLOCK_NODES
	# With these times, a wait for such a node is noticed. A busy machine does not use them up, either.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=100s
	id=cccccccccccccccccccccccccccccccccccccccc
	GARBAGE='does not speak the Redis protocol'
}
teardown() { nodes_stop; }

# serve NAME [HOW...] TEXT: from now on, unix://$T/NAME behaves like that.
serve() {
	local name=$1
	shift
	rm -f "$T/$name.ready"
	"$REDLOCK_BUILD/tools/hostile" "${@:1:$#-1}" "$T/$name" "${@: -1}" > "$T/$name.ready" 3>&- &
	SERVER[$name]=$!
	also_end $!
	eventually test -s "$T/$name.ready"
}
declare -gA SERVER
no_longer() {
	kill -KILL "${SERVER[$1]}"
	wait "${SERVER[$1]}" 2> "$T/kill" || true
}

# promptly ARG...: redlock ends within much less than the node time-out.
promptly() { run timeout --foreground 60 "$REDLOCK_BUILD/redlock" "$@"; }

# no_node WHY [HOW...] TEXT: one of three such nodes costs nothing and is named; two of three are no quorum, are named
# as well, and no key is left on the third.
no_node() {
	local why=$1
	shift
	echo "# $*"
	serve a "$@"
	serve b "$@"
	REDLOCK_NODES="unix://$T/a $SOUND" promptly run -w 30 -k job -- echo done
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	held_on job 0
	REDLOCK_NODES="unix://$T/a $SOUND" promptly status -v job
	echo "$output"
	[ "$status" -eq 0 ]
	is_like "$output" "*'job' is free*  unix://$T/a look: $why (*ms)*"
	REDLOCK_NODES="unix://$T/a unix://$T/b unix://$T/1.sock" promptly run -n -k job -- echo never
	echo "$output"
	[ "$status" -eq 69 ]
	is_like "$output" "redlock: no quorum for 'job': 1 of 3 nodes can be used, 2 needed: @(each of unix://$T/a, unix://$T/b $why|unix://$T/a $why; unix://$T/b $why)@(|?hint: *)"
	free_everywhere job
	no_longer a
	no_longer b
}

@test "other protocols on the port" {
	no_node "$GARBAGE (HTTP/1.1 400 Bad Request)" 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'
	no_node "$GARBAGE (HTTP/1.1 400 Bad Request)" --close 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'
	no_node "speaks TLS only*" '\x15\x03\x03\0\x02\x02\x46'
	no_node "$GARBAGE (SSH-2.0-OpenSSH_9.2p1)" --at-once 'SSH-2.0-OpenSSH_9.2p1\r\n'
	no_node "$GARBAGE (220 mail.example ESMTP)" --at-once '220 mail.example ESMTP\r\n'
	no_node "$GARBAGE" '\0\0\0\0'
	no_node "$GARBAGE (\\\\xff\\\\xfe\\\\x1b\[31m)" '\xff\xfe\x1b[31m'
}

@test "RESP3, nested arrays, and bytes that are no reply at all" {
	for text in '>2\r\n$4\r\npush\r\n:1\r\n' '%1\r\n+a\r\n:1\r\n' '~1\r\n:1\r\n' '_\r\n' '#t\r\n' ',1.5\r\n' '(1234\r\n' '=6\r\ntxt:ab\r\n' \
		'*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n' '*6\r\n:1\r\n*1\r\n:1\r\n' '*5\r\n:1\r\nx' '$-7\r\n' '*-7\r\n' \
		':99999999999999999999\r\n' ':\r\n' ':1x\r\n' '$x\r\n'; do
		no_node "$GARBAGE*" "$text"
	done
}

# Redis before 7.0, and KeyDB, print the place in the script before the reason; the others print it after the reason.
@test "the reason why a server refuses a script, in the form of each server: run and doctor know it" {
	local at=' script: 4187e0eb1b2f3a3d4c1d9c6a7a05d01a4bb3dc9a, on @user_script:1.' acl='ERR ACL failure in script: '
	local call='ERR Error running script (call to f_4e6d0f4aa9f7a8cc6e1a7f1cdbb4b7b9e9c0ba2e): @user_script:1: @user_script: 1: ' refused
	refused() {
		no_node "$3" "-$1\r\n"
		serve a "-$1\r\n"
		REDLOCK_NODES="unix://$T/a $SOUND" promptly doctor --json
		json "[.findings[] | select(.node == \"unix://$T/a\" and .severity != \"note\").id] == [\"$2\"]"
		no_longer a
	}
	refused "$call-READONLY You can't write against a read only replica." replica 'is a replica'
	refused "$call-OOM command not allowed when used memory > 'maxmemory'." memory 'is out of memory'
	refused "$call-MISCONF KeyDB is configured to save RDB snapshots" stop-writes 'refuses writes because it cannot save to disk'
	refused "$call-LOADING Redis is loading the dataset in memory" loading 'is still loading its data'
	refused "$call-NOREPLICAS Not enough good replicas to write." few-replicas 'refuses writes because it has too few replicas'
	refused "${call}The user executing the script can't run this command or subcommand" rights 'denies permission*'
	refused "@user_script: 1: The user executing the script can't access at least one of the keys" rights 'denies permission*'
	refused "${call%@user_script: 1: }WRONGTYPE Operation against a key holding the wrong kind of value" refused \
		'answered with an error (WRONGTYPE Operation against a key holding the wrong kind of value)'
	refused "ERR The user executing the script can't access at least one of the keys$at" rights \
		"denies permission (ERR The user executing the script can't access at least one of the keys)"
	refused "${acl}No permissions to access a key$at" rights "denies permission (${acl}No permissions to access a key)"
	refused "${acl}User u has no permissions to run the 'get' command$at" rights \
		"denies permission (${acl}User u has no permissions to run the 'get' command)"
}

# reply TEXT: a script's reply, maybe with escapes of printf.
reply() { printf '%s' "\$$(printf "${1//%/%%}" | wc -c)\r\n$1\r\n"; }

@test "replies of wrong types and lengths, or to another request" {
	for text in '+OK\r\n' ':1\r\n' '$-1\r\n' '*-1\r\n' '*0\r\n' '$3\r\n\0\xff\x1b\r\n' '*1\r\n:1\r\n' '*4\r\n:1\r\n:60000\r\n$0\r\n\r\n:0\r\n' \
		'+Y 60000 0\r\n' "*1\r\n$(reply "Y 60000 0 i$id\\n")" "$(reply "Y 60000 0 i$id")" "$(reply "Y 0 i$id\\n")" \
		"$(reply "Y 60000 0 i${id}ab\\n")" "$(reply "Y x 0 i$id\\n")" "$(reply "Y 60000 0 i$id i$id\\n")" \
		"$(reply "Y 60000 0 t1\\n")" "$(reply "Y 60000 0 z1\\n")" "$(reply "X 60000 0 i$id\\n")"; do
		no_node "$GARBAGE" "$text"
	done
}

@test "replies with impossible keys, slots and numbers" {
	for code in Y F R G; do
		for words in '0 k0' '0 k17' '0 k2' -1 65536 '0 p2' '0 s-1' '0 f-1' '0 f9007199254740992' '0 o1001' '0 ex'; do
			no_node "$GARBAGE" "$(reply "$code 60000 $words i$id\\nme")"
		done
	done
}

@test "endless replies are refused at once" {
	for text in x + - : '$2147483647\r\n' '*5\r\n' '*5\r\n$1000000\r\n' '\0'; do
		no_node "*" --endless "$text"
	done
	for how in '' --at-once; do
		no_node "$GARBAGE*" $how --endless '+OK\r\n'
	done
	no_node "answered at excessive length" '*27\r\n'
	no_node "answered at excessive length" '*2147483647\r\n'
	no_node "answered at excessive length" --endless '$2147483647\r\n'
}

# It begins when it receives the release, which the others have confirmed by then.
@test "a server that never stops sending does not delay the end" {
	serve a --silent 1 --endless x
	for n in $(seq 20); do
		REDLOCK_NODES="unix://$T/a $SOUND" promptly run -w 30 -k job -- true
		[ "$status" -eq 0 ]
		held_on job 0
	done
}

# ticks PID: the processor time that it has used, in hundredths of a second.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

is_queued() { [ "$(queue_node)" ]; }

# The queue node of the key floods each connection that has RESP3.
floods() {
	local text=$1 i q holder waiter token before_holder before_waiter
	export REDLOCK_TTL=6s REDLOCK_NODE_TIMEOUT=1s REDLOCK_NODES="unix://$T/p1 unix://$T/p2 unix://$T/p3"
	N=3
	rm -f "$T"/flood[123] "$T/go"
	for i in 1 2 3; do
		"$REDLOCK_BUILD/tools/proxy" "$T/p$i" "$T/$i.sock" --while "$T/flood$i" --gush "$text" > "$T/p$i.ready" 3>&- &
		PROXY[i]=$!
		also_end $!
		eventually test -s "$T/p$i.ready"
	done
	in_background "$T/holder" run -vv -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually held_on job 3
	in_background "$T/waiter" run -vv -k job -- true
	waiter=$BG
	eventually is_queued
	q=$(queue_node)
	touch "$T/flood$q"
	eventually file_has "$T/waiter" "unix://$T/p$q sends messages without end"
	before_holder=$(ticks "$holder") before_waiter=$(ticks "$waiter")
	promptly wait -w 4 -k job
	[ "$status" -eq 75 ]
	# a fifth of a processor
	[ $(($(ticks "$holder") - before_holder)) -lt 80 ]
	[ $(($(ticks "$waiter") - before_waiter)) -lt 80 ]
	promptly hold -w 1 -k job
	[ "$status" -eq 75 ]
	promptly run -w 1 -k job -- echo never
	[ "$status" -eq 75 ]
	promptly status job
	[ "$status" -eq 0 ]
	is_like "$output" "'job' is held by * on 3 of 3 nodes*"
	# The node may have answered all of doctor's questions before it is dropped. Between two parts of a reply, a message
	# is no message.
	promptly doctor
	is_like "$output" "*unix://.../p$q *@(  error: @(sends messages without end|$GARBAGE)|Redis|Valkey)*"
	touch "$T/go"
	BG=$holder ended_with 0
	BG=$waiter ended_with 0
	for i in 1 2 3; do
		kill -KILL "${PROXY[i]}"
		wait "${PROXY[i]}" 2> "$T/kill" || true
	done
	free_everywhere job
}
declare -ga PROXY

@test "a node that sends messages without end is dropped, and delays nothing" {
	start_node 3
	eventually admitted 3
	floods '>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nx\r\n'
	floods '>2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\njob\r\n'
	floods '>2\r\n$10\r\ninvalidate\r\n_\r\n'
	floods '>1\r\n+x\r\n'
}

@test "connections that are closed or reset at any byte of a reply" {
	no_node "closed the connection" --close ''
	no_node "closed the connection*" --reset ''
	no_node "closed the connection*" --at-once --close ''
	good=$(reply "Y 60000 0 i$id\\n")
	# each of these is one byte
	good=${good//\\r/R} good=${good//\\n/N}
	for ((n = 1; n < ${#good}; n++)); do
		cut=${good::n} cut=${cut//R/\\r} cut=${cut//N/\\n}
		serve a --close "$cut"
		serve b --reset "$cut"
		REDLOCK_NODES="unix://$T/a unix://$T/b unix://$T/1.sock" promptly run -n -k job -- echo never
		[ "$status" -eq 69 ]
		is_like "$output" "*: each of unix://$T/a, unix://$T/b closed the connection*"
		no_longer a
		no_longer b
	done
	held_on job 0
}

@test "servers that are slow, or never answer, cost the node time-out, and no more" {
	export REDLOCK_NODE_TIMEOUT=2s
	no_node "did not answer in time" --drip 100 "$(reply "Y 60000 0 i$id\\n")"
	no_node "did not answer in time" --deaf ''
	no_node "did not answer in time" '*5\r\n:1\r\n'
	no_node "did not answer in time" '$2147483647\r\n'
}

@test "unexpected replies end the connection, and are no votes" {
	# for the extension and the release, the second of each pair would be the reply
	answer=$(reply "Y 60000 0 i$id\\n")
	serve a "$answer$answer"
	export REDLOCK_NODES="unix://$T/a $SOUND"
	in_background "$T/out" run -vv --ttl 6s --node-timeout 900ms -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually file_has "$T/out" "unix://$T/a $GARBAGE (a reply without a request)"
	touch "$T/go"
	ended_with 0
	held_on job 0
}

@test "status of all locks: a scan that is endless, slow, too large, or nonsense" {
	# page ENTRIES CURSOR IS_CUT
	page() { printf '*3\\r\\n$%d\\r\\n%s\\r\\n:%d\\r\\n$%d\\r\\n%s\\r\\n' "${#2}" "$2" "$3" "${#1}" "$1"; }
	redlock acquire -k job --owner me --nodes "$SOUND" > "$T/token"
	export REDLOCK_NODES="unix://$T/a $SOUND" REDLOCK_NODE_TIMEOUT=2s
	# it never ends, or says that each page was too long: redlock stops after a time, or a number of pages
	for text in "$(page '' 17 0)" "$(page '' 0 1)" "$(page '' "$id" 0)"; do
		serve a "$text"
		promptly status -v
		echo "$output"
		[ "$status" -eq 0 ]
		is_like "${output//answered at excessive length/did not answer in time}" \
			"*'job' is held by me * on 2 of 3 nodes, *unix://$T/a look: did not answer in time (*"
		no_longer a
	done
	# a short page each half of a second, without an end
	serve a --drip 20 "$(page '' 17 0)"
	promptly status -v
	echo "$output"
	[ "$status" -eq 0 ]
	is_like "$output" "*'job' is held by me * on 2 of 3 nodes, *unix://$T/a look: did not answer in time (*"
	no_longer a
	# no page, false numbers, another reply
	for text in "$(page x 0 0)" "$(page '9 9 9' 0 0)" "$(page '99999999999999999999 1 1 ' 0 0)" "$(page '-1 5 1 ' 0 0)" "$(reply "Y 60000 0 i$id\\n")"; do
		serve a "$text"
		promptly status -v
		echo "$output"
		[ "$status" -eq 0 ]
		# stdout and stderr may arrive in either order: the C library decides when stdout is written
		is_like "$output" "*2 of 3 nodes answered, 2 needed: unix://$T/a $GARBAGE*"
		is_like "$output" "*'job' is held by me * on 2 of 3 nodes, *"
		no_longer a
	done
	# locks that only this node has, of any bytes
	entry=$'19 53 60000 0\nlock\x1b[31m of nobody'
	entry+="$id:1700000000 "$'\x1b'
	serve a "$(page "$entry" 0 0)"
	promptly status
	[ "$status" -eq 0 ]
	is_like "$output" "*lock\\\\x1b\[31m of nobody?\\\\x1b (no majority)?*?1/3?*"
}

# ---- texts ----

# is_clean FILE...: all of it is UTF-8 without any control character but line ends.
is_clean() {
	iconv -f UTF-8 -t UTF-8 "$@" > "$T/iconv"
	not grep -naP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xf3\xa0' "$@"
}

@test "a node's text never reaches the terminal, the log or a document unchanged" {
	evil='\x1b[31mred\x1b]0;title\x07\x9b31m\xc2\x9b31m\xe2\x80\xaeright\0nul\x7f\xff\xe2\x80\x8b\xc2\xad\xf3\xa0\x80\x81'
	long=50 # bytes
	export REDLOCK_NODES=unix://$T/a REDLOCK_WAIT=0
	token=0123456789012345678901234567890123456789
	# errors, of known kinds as well; holders, in a foreign format and in redlock's; reservations; clocks; run ids
	for text in "-ERR $evil" "-LOADING $evil" "-NOAUTH $evil" "-$evil" "$evil" "+$evil" "\$$long\r\n$evil" \
		"$(reply "F 60000 0 i$id\\n$evil")" "$(reply "F 60000 0 i$id\\n$id:1700000000 $evil")" "$(reply "R 60000 0 i$id\\n$evil")" \
		"$(reply "Q 60000 0 i$id\\n$evil")" "$(reply "S 60000 0 i$id\\n$evil")" "$(reply 'Y 60000 0 i\x1b[31mx\n')" \
		"$(reply 'G 60000 0 i\x1b[31mx\n')" "$(reply "$evil")"; do
		echo "# $text"
		serve a "$text\r\n"
		for args in 'run -vv -k job -- true' 'run -vv --json -k job -- true' "run -vv --log $T/log -k job -- true" \
			"run --json -vv --log $T/log -k job -- true" 'acquire -vv -k job' 'acquire --json -k job' 'wait -vv -k job' \
			'status -v job' 'status --json job' 'status --json' 'break -y -k job' 'break -y --json -k job' \
			"check -vv -k job --token $token" "check --json -k job --token $token" "extend -vv -k job --token $token" \
			"release -vv -k job --token $token" 'doctor -vv' 'doctor --json' 'doctor --admit -y' "run --record $T/record -k job -- true"; do
			status=0
			timeout --foreground 60 "$REDLOCK_BUILD/redlock" $args > "$T/shown" 2>&1 || status=$?
			# no crash, no hang
			[ "$status" -lt 124 ] || [ "$status" -eq 125 ]
			is_clean "$T/shown" || {
				echo "$args: $status"
				cat -v "$T/shown"
				false
			}
		done
		is_clean "$T/log" "$T/record"
		no_longer a
	done
}

@test "waiting on a terminal: the line that is kept current shows the holder's text escaped" {
	unset REDLOCK_UNDER
	for i in 1 2; do
		printf "$id:1700000000 \033[31mred\033]0;title\a" | redis-cli -s "$T/$i.sock" -x set job > "$T/set"
	done
	run "$REDLOCK_BUILD/tools/pty" expect:waiting 'expect:held by \x5cx1b[31mred...0;title\x5cx07; next in queue' send:'\x03' -- \
		"$REDLOCK_BUILD/redlock" run -k job -- echo never
	echo "$output" | cat -v
	[ "$status" -eq 130 ]
	[[ "$output" != *$'\e[31m'* && "$output" != *$'\e]0'* ]]
}

# ---- memory ----

# peak: sets PEAK to the most memory that the process in the background has used so far, in KiB; false when it has
# ended.
peak() {
	local now
	now=$(awk '$1 == "VmHWM:" { print $2; is_there = 1 } END { exit !is_there }' "/proc/$BG/status" 2> "$T/kill") || return
	PEAK=$now
}

# bats test_tags=not-under-valgrind
@test "endless replies cost no memory" {
	count_ours_only
	for text in '$2147483647\r\n' '*5\r\n$60000\r\n'; do
		serve a --endless "$text"
		serve b --at-once --endless "$text"
		node 1 set job other px 600000 > "$T/set"
		# first with two sound nodes, then without: redlock tries again and again
		for nodes in "$SOUND" "unix://$T/a unix://$T/b unix://$T/1.sock"; do
			node 2 set job other px 600000 > "$T/set"
			in_background "$T/out" run -k job --nodes "$nodes" -- echo never
			eventually file_has "$T/out" waiting:
			peak
			peaks+=("$PEAK")
			kill -TERM "$BG"
			ended_with 143
		done
		echo "sound: ${peaks[-2]} KiB, hostile: ${peaks[-1]} KiB"
		# docs/decisions.md: 256 KiB for each connection; here are three and the waiter's. A sanitizer may take as much
		# again
		[ $((peaks[-1] - peaks[-2])) -lt 2048 ]
		no_longer a
		no_longer b
	done
}

# bats test_tags=not-under-valgrind
@test "status of all locks: a node with millions of locks costs limited memory" {
	count_ours_only
	export REDLOCK_NODES=unix://$T/a
	key=$(printf 'k%.0s' $(seq 4000))
	entries=
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
		entries+="4000 54 60000 0\\n$key$id:1700000000 me"
	done
	# 14 locks of 4070 bytes a page
	serve a "*3\r\n\$1\r\n1\r\n:0\r\n\$$((14 * 4070))\r\n$entries\r\n"
	"$REDLOCK_BUILD/redlock" status > "$T/out" 2>&1 3>&- &
	BG=$!
	also_end $BG
	while peak; do :; done
	ended_with 69
	echo "$PEAK KiB"
	# docs/decisions.md: 64 MiB for each node
	[ "$PEAK" -gt 32000 ]
	[ "$PEAK" -lt $((128 * 1024)) ]
	file_has "$T/out" "0 of 1 node answered, 1 needed: unix://$T/a answered at excessive length"
}

@test "status of all locks: a node with many locks of maximum length does not fill a disk" {
	node 1 eval 'local a=string.rep("a",40)..":1700000000 "
		for i=1,12000 do redis.call("SET",string.rep("\1",500)..i,a..string.rep("\2",250),"PX",600000) end' 0
	export REDLOCK_NODES=$SOUND REDLOCK_NODE_TIMEOUT=9s
	says 0 '*' 'redlock: too many locks: * are not shown?hint: *' status
	[ "${#lines[@]}" -lt 12000 ] # the list is cut
	[ "${#output}" -gt 16000000 ]
	[ "${#output}" -lt 17000000 ]
	run -0 --separate-stderr redlock status --json
	[ "${#output}" -gt 16000000 ]
	[ "${#output}" -lt 17000000 ]
	[[ "$stderr" =~ "too many locks: "([0-9]+)" are not shown" ]]
	json ".omitted == ${BASH_REMATCH[1]} and .status == 0 and (.locks | length) + .omitted == 12000"
}
