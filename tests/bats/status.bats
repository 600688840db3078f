# redlock status and redlock break: the state of locks, and how to remove one.

load nodes

readonly HEAD=$'KEY\tHOLDER\tHELD\tNODES\tWAITERS'

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
	unset REDLOCK_TOKEN REDLOCK_HELD
}
teardown() { nodes_stop; }

# No key expires before the test does, and no node is late because the machine is busy.
LONG=(--ttl 600s --node-timeout 10s)
PATIENT=(--node-timeout 10s)

# put VALUE N [ARG...]: sets 'job' to that value on the first N nodes.
put() {
	local i
	for ((i = 1; i <= $2; i++)); do node "$i" set job "$1" "${@:3}"; done > "$T/put"
}

# acquire KEY [ARG...]: on all nodes.
acquire() {
	TOKEN=$(redlock acquire -k "$1" --owner me "${LONG[@]}" "${@:2}")
	eventually held_on "$1" 3
}


# ---- status ----

@test "status KEY: free; held, the holder, since when, for how long, on how many nodes" {
	says 0 "'job' is free" '' status job
	acquire job
	says 0 "'job' is held by me since 20??-??-??T??:??:??Z* on 3 of 3 nodes, expires in 9m unless renewed" '' status job
	since=$(sed "s/.*since \([^ ]*\) .*/\1/" <<< "$output")
	[ $(($(date +%s) - $(date -d "$since" +%s))) -le 60 ]
	[ "$(date -d "$since" +%s)" -le "$(date +%s)" ]
	node 3 del job
	says 0 "$HEAD?free?[(]free)?-?0/3?0?job?me?*s?2/3?0" '' status job free
	says 0 "'job' is held by me *" '' status -q -- job
}

@test "status: waiters are shown" {
	acquire job
	in_background "$T/wait" wait -k job "${PATIENT[@]}"
	first=$BG
	eventually in_queue 1
	for key in '' job; do
		says 0 '*' '' status --json "${PATIENT[@]}" $key
		json '.locks[0].waiters == 1'
	done
	json '.locks[0].awaited'
	says 0 "'job' is held by me * unless renewed; 1 waiter" '' status "${PATIENT[@]}" job
	says 0 "$HEAD?job?me?*s?3/3?1" '' status "${PATIENT[@]}"
	in_background "$T/run" run -k job "${PATIENT[@]}" -- true
	eventually in_queue 2
	says 0 "'job' is held by me * unless renewed; 2 waiters" '' status "${PATIENT[@]}" job
	says 0 "$HEAD?job?me?*s?3/3?2" '' status "${PATIENT[@]}"
	# a waiter that was killed is not counted
	kill -KILL "$BG"
	eventually in_queue 1
	says 0 "'job' is held by me * unless renewed; 1 waiter" '' status "${PATIENT[@]}" job
	BG=$first
	redlock release -k job --token "$TOKEN"
	ended_with 0
	says 0 '*' '' status --json "${PATIENT[@]}" job
	json '.locks[0].waiters == 0'
}

# shows_waiters KEY TEXT: status says so about the key, and has the number among all keys.
shows_waiters() {
	local number=${2//[^0-9]/}
	says 0 "*'$1' is held by * unless renewed$2" '' status "${PATIENT[@]}" "$1"
	says 0 "$HEAD*?$1?*/3?${number:-0}*" '' status "${PATIENT[@]}"
}

@test "status: a client that holds the lock now, or waits at another node or for another key, is counted once" {
	acquire job
	in_background "$T/run" run -k job "${LONG[@]}" -- sh -c "touch $T/began; exec sleep 600"
	eventually in_queue 1
	# the queue node restarts: the waiter queues at another node, and returns
	before=$(queue_node)
	kill_node "$before"
	eventually in_queue 1
	start_node "$before"
	eventually answers "$before"
	node "$before" set job "$(node $((before % 3 + 1)) get job)" px 600000
	eventually admitted "$before"
	moved() { [ "$(queue_node)" = "$before" ]; }
	eventually moved
	shows_waiters job "; 1 waiter"
	redlock release -k job --token "$TOKEN"
	eventually test -e "$T/began"
	shows_waiters job ""
	in_background "$T/next" run -k job "${PATIENT[@]}" -- true
	eventually in_queue 1
	shows_waiters job "; 1 waiter"
	# a client that wants two keys waits for one of them
	acquire a
	token=$TOKEN
	in_background "$T/both" run -k a -k b "${PATIENT[@]}" -- true
	eventually in_queue 2
	acquire b
	redlock release -k a --token "$token"
	waits_for_b() { [[ $(redlock status "${PATIENT[@]}" b) == *"; 1 waiter" ]]; }
	eventually waits_for_b
	says 0 "'a' is free" '' status "${PATIENT[@]}" a
}

@test "status: the waiters of a semaphore, and of a user that may not count them" {
	# on each node: a node without the key of a slot does not count its waiters
	for slot in 1 2; do
		until redlock acquire -k job -L 2 "${LONG[@]}" > "$T/token" && held_on "job#$slot" 3; do
			redlock release -k job --token "$(< "$T/token")"
		done
	done
	in_background "$T/wait" run -k job -L 2 "${PATIENT[@]}" -- true
	eventually in_queue 1
	says 0 "'job': 2 of 2 slots are held; 1 waiter?'job#1' is held by *?'job#2' is held by *m unless renewed" '' status -L 2 "${PATIENT[@]}" job
	says 0 '*' '' status -L 2 --json "${PATIENT[@]}" job
	json '.locks[0].waiters == 1'
	says 0 "$HEAD?job#1?*/3?1?job#2?*/3?1" '' status "${PATIENT[@]}"
	acquire other
	in_background "$T/wait" wait -k other "${PATIENT[@]}"
	eventually in_queue 2
	for i in 1 2 3; do node $i acl setuser default -pubsub > "$T/acl"; done
	says 0 "'other' is held by me *; others may be waiting" '' status "${PATIENT[@]}" other
}

@test "status -v: the reply of each node" {
	acquire job
	node 1 del job
	node 2 set job other px 600000
	kill_node 3
	says 0 '*' '' status -v job
	is_like "${lines[0]}" "'job' is held by another program (value 'other') on 1 of 3 nodes, expires in 9m unless renewed; that is no majority: *"
	[ "${#lines[@]}" -eq 4 ]
	is_like "${lines[1]}" "  unix://$T/1.sock look: no, the key is gone (*ms)"
	is_like "${lines[2]}" "  unix://$T/2.sock look: no, held by another program (value 'other') (*ms)"
	is_like "${lines[3]}" "  unix://$T/3.sock look: cannot be reached (*) (*ms)"
}

@test "status: irregular states are named" {
	put me 1 px 600000
	says 0 "'job' is held by another program (value 'me') on 1 of 3 nodes, expires in 9m unless renewed; that is no majority: an attempt that is under way, late or crashed" '' status job
	says 0 '*' '' status --json job
	json '.locks[0].state == "minority" and .locks[0].on_nodes == 1'
	put me 3
	says 0 "'job' is held by another program (value 'me') on 3 of 3 nodes, with no expiry; it stays until a client deletes the key" '' status job
	says 0 '*' '' status --json job
	json '.locks[0].state == "held" and .locks[0].holder.left_ms == null and .locks[0].holder.format == "other"'
	for i in 1 2 3; do
		node $i del job
		node $i hset job 5c3a:1 1
	done
	says 0 "'job' is held by another program (value '(hash)') on 3 of 3 nodes, with no expiry; no lock of ours: another data type, as Redisson (hash) and Symfony (zset) keep" '' status job
	says 0 '*' '' status --json job
	json '.locks[0].holder.format == "structure"'
}

@test "status: a lock of the old style, with a time as its value" {
	past=$(($(date +%s) - 3600))
	future=$(($(date +%s) + 3600))
	for value in $past ${past}123 $past.25; do
		put "$value" 3
		says 0 "'job' is held by another program (value '$value') on 3 of 3 nodes, with no expiry; a lock of the old style (SETNX and a time stamp): it expired at $(date -u -d "@$past" +%FT%TZ)" '' status job
		says 0 '*' '' status --json job
		json '.locks[0].holder.format == "timestamp"'
	done
	put $future 3
	says 0 "*: it expires at $(date -u -d "@$future" +%FT%TZ)" '' status job
	# a key with an expiry is no such lock, and other digits are no such time
	put $past 3 px 600000
	says 0 "*on 3 of 3 nodes, expires in 9m unless renewed" '' status job
	for value in ${past}1 ${past}12 ${past}1234 ${past%?} x$past $past.x; do
		put "$value" 3
		says 0 "*with no expiry; it stays until a client deletes the key" '' status job
	done
}

@test "status: other libraries' formats are known" {
	put 0123456789abcdef0123456789abcdef 3 px 600000
	says 0 "*; such a value is written by node-redlock, redis-py and others" '' status job
	while read -r format value; do
		put "$value" 3 px 600000
		says 0 "'job' is held by another program (value '${value:0:30}*') on 3 of 3 nodes, *" '' status job
		says 0 '*' '' status --json job
		json ".locks[0].holder.format == \"$format\" and .locks[0].holder.value == \"$value\""
	done <<-'EOF'
		hex32 0123456789abcdef0123456789ABCDEF
		hex40 0123456789abcdef0123456789abcdef01234567
		hex64 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
		uuid 5f0c1f9e-37ee-4c0e-8bdc-1f3fd2f3a8a0
		other 0123456789abcdef0123456789abcdeg
		other 5f0c1f9e-37ee-4c0e-8bdc-1f3fd2f3a8ag
		other 5f0c1f9e137ee-4c0e-8bdc-1f3fd2f3a8a0
	EOF
}

@test "status of several locks: a table as wide as the terminal, else rows with tabs, whole and escaped" {
	local key="team/$(printf 'k%.0s' {1..90})/end"
	redlock acquire -k "$key" --owner "alice@web1.example.com:4211 backup.sh --full /srv/data" "${LONG[@]}" > "$T/token"
	redlock acquire -k $'tab\there' --owner bob "${LONG[@]}" > "$T/token"
	redlock acquire -k sem -L 3 "${LONG[@]}" > "$T/token"
	redlock run -k good --once-per 1h --owner 'dora@web2.example.com:77 /usr/local/sbin/rotate-backups --keep 14' -- true
	run redlock run -k bad --once-per 1h --owner eve -- false
	says 0 "$HEAD?bad?eve [(]failed with 1, 59m left)?-?[23]/3?0?good?dora@*14 [(]done, 59m left)?-?[23]/3?0?sem?[(]slots are held, limit 3)?-?0/3?0?sem#[123]?*?*s?3/3?0?tab?x09here?bob?*s?3/3?0?$key?alice@web1.example.com:4211 backup.sh --full /srv/data?*s?3/3?0" \
		'' status bad $'tab\there' "$key" sem good
	for width in 80 120; do
		run -0 env TERM=xterm "$REDLOCK_BUILD/tools/pty" -- sh -c "stty cols $width; \"\$0\" status" "$REDLOCK_BUILD/redlock"
		output=${output//$'\r'/}
		[ "$(wc -L <<< "$output")" -le $width ]
		is_like "$output" "KEY * HOLDER * HELD *NODES  WAITERS?*?team/k*...*k/end * alice@*data *3/3    0"
		# the holder's text is shortened, its remark is not
		is_like "$output" "*?bad * eve [(]failed with 1, 59m left)  *?good * dora@*...*14 [(]done, 59m left)  *"
	done
	says 0 "'good' is done until *" '' status good
	says 0 "'sem' is a semaphore: slots of it are held with limit 3" "hint: *" status sem
}

@test "status: characters that take two columns of a terminal are counted so" {
	local key="夜間バックアップ" owner="日本語日本語日本語日本語日本語日本語日本語@web1" width
	redlock acquire -k "$key" --owner "$owner" "${LONG[@]}" > "$T/token"
	redlock acquire -k plain --owner "alice@web1.example.com:4211 backup.sh --full /srv/data/of/all" "${LONG[@]}" > "$T/token"
	for width in 60 80; do
		run -0 env TERM=xterm "$REDLOCK_BUILD/tools/pty" -- sh -c "stty cols $width; \"\$0\" status" "$REDLOCK_BUILD/redlock"
		output=${output//$'\r'/}
		[ "$(LC_ALL=C.UTF-8 wc -L <<< "$output")" -le $width ]
		is_like "$output" "*夜間*日本語*3/3    0*"
	done
	# the columns of both rows are below each other
	is_like "$output" "KEY   *?plain             alice*?$key  日本語*"
	# the line of a waiter
	TERM=xterm run -75 "$REDLOCK_BUILD/tools/pty" expect:'next in queue' -- sh -c 'stty cols 80; exec "$0" run -w 4s -k "$1" -- true' "$REDLOCK_BUILD/redlock" "$key"
	grep -o 'redlock: waiting [^;]*; next in queue' <<< "$output" > "$T/shown"
	[ "$(LC_ALL=C.UTF-8 wc -L < "$T/shown")" -le 80 ]
}

@test "status: too few nodes" {
	acquire job
	kill_node 1
	says 0 "'job' is held by me * on 2 of 3 nodes, *" '' status job
	says 0 "'free' is free" '' status free
	kill_node 2
	says 69 "'job' has an unknown state: 1 of 3 nodes answered, 2 needed: *1.sock, *2.sock cannot be reached (*)" 'hint: *no server listens there*' status job
	says 69 '*' '{*"hint":"*no server listens there*' status --json job free
	json '.status == 69 and .locks[0].state == "unknown" and .locks[1].state == "unknown" and .locks[0].on_nodes == 1'
	says 69 "$HEAD?job?me (unknown)?*1/3?0" "redlock: 1 of 3 nodes answered, 2 needed: *" status
	says 69 '*' '*' status --json
	json '.status == 69 and (.locks | length) == 1 and .locks[0].state == "unknown"'
	kill_node 3
	says 69 '' "redlock: 0 of 3 nodes answered, 2 needed: *" status
}

@test "status: a node that hangs costs its time-out, and no more" {
	acquire job
	stop_node 2
	for key in '' job; do
		before=$(date +%s%N)
		says 0 "*job*me*2*3*" '' status --node-timeout 2s $key
		took=$((($(date +%s%N) - before) / 1000000))
		[ $took -ge 2000 ]
		[ $took -lt 15000 ]
	done
	continue_node 2
}

@test "status without KEY: a node that does not answer is asked once" {
	connections() { node 3 info stats | tr -d '\r' | sed -n 's/^total_connections_received://p'; }
	acquire job
	before=$(connections)
	stop_node 3
	says 0 "$HEAD"$'\njob\tme\t*\t2/3\t0' '' status --node-timeout 1s
	continue_node 3
	[ "$(connections)" -eq $((before + 2)) ] # that of status, and the one that asks here
}

@test "status without KEY: all locks of redlock among many keys, and nothing else" {
	says 0 'no redlock locks are held' '' status
	says 0 '*' '' status --json
	json '.schema == 1 and .command == "status" and .status == 0 and .locks == []'
	for i in 1 2 3; do
		node $i eval 'for i=1,3000 do redis.call("SET","noise:"..i,string.rep("0",40)) end
			for i=1,700 do redis.call("SET",string.format("lock:%04d",i),string.rep("a",40)..":1700000000 o"..i,"PX",600000) end
			redis.call("HSET","hash","f","1") redis.call("SET","short","1")
			redis.call("SET","nocolon",string.rep("a",41)) redis.call("SET","upper",string.rep("A",40)..":")' 0
	done
	node 1 del lock:0007
	node 1 del lock:0008
	node 2 del lock:0008
	says 0 '*' '' status
	[ "${#lines[@]}" -eq 701 ]
	[ "$(grep -cE $'^lock:[0-9]{4}\to[0-9]+\t[0-9dh]+\t3/3\t0$' <<< "$output")" -eq 698 ]
	is_like "${lines[0]}" "$HEAD"
	is_like "${lines[1]}" "lock:0001?o1?*"
	is_like "${lines[7]}" "lock:0007?o7?*?2/3?0"
	is_like "${lines[8]}" "lock:0008?o8 (no majority)?*?1/3?0"
	is_like "${lines[700]}" "lock:0700?o700?*"
	says 0 '*' '' status --json
	json '(.locks | length) == 700 and (.locks | map(select(.state == "held" and .on_nodes == 3)) | length) == 698'
	json '.locks[7].state == "minority" and .locks[7].nodes[0].answer == "free" and (.locks[0] | has("awaited") | not)'
	kill_node 3
	says 0 '*' '' status
	[ "${#lines[@]}" -eq 700 ]
	is_like "${lines[699]}" "lock:0700?o700?*?2/3?0"
	is_like "${lines[7]}" "lock:0007?o7 (no majority)?*?1/3?0"
}

@test "status without KEY: a user without +getrange, or with some keys only, sees what is missing" {
	acquire job
	acquire other
	with() { for i in 1 2 3; do node $i acl setuser monkey on '>s3cret' '~*' '&*' +@all "$@"; done > "$T/acl"; }
	export REDLOCK_USERNAME=monkey REDLOCK_PASSWORD=s3cret
	with -getrange
	says 69 '' "redlock: 0 of 3 nodes answered, 2 needed: each of *1.sock, *3.sock denies permission*?hint: in redis-cli on each node: ACL SETUSER monkey +*getrange*" status
	says 69 '*' '*' status --json
	json '.status == 69 and .locks == []'
	# of a minority, the other nodes tell
	node 1 acl setuser monkey +getrange > "$T/acl"
	node 2 acl setuser monkey +getrange > "$T/acl"
	says 0 "$HEAD?job?me?*2/3?0?other?*" '' status
	# some keys only
	with +getrange resetkeys '~job'
	says 0 "$HEAD?job?me?*3/3?0" "redlock: user 'monkey' may not read all keys: other locks are not shown?hint: *~\* +scan +getrange*" status
	says 0 '*' "*user 'monkey' may not read all keys: *" status --json
	json '.partial and (.locks | length) == 1'
	with resetkeys '~free'
	says 0 'no redlock locks are held on the keys that this user may read' "redlock: user 'monkey' may not read all keys: *" status
	with -getrange resetkeys '~free'
	says 69 '' "*hint: in redis-cli on each node: ACL SETUSER monkey +*getrange*" status
	with +getrange '~*'
	says 0 "$HEAD?job?me?*?other?me?*" '' status
	says 0 '*' '' status --json
	json 'has("partial") | not'
}

@test "status without KEY: long keys, a page too long for one reply" {
	for i in 1 2 3; do
		node $i eval 'for i=1,150 do redis.call("SET",string.rep("k",4000)..i,string.rep("a",40)..":1700000000 "..string.rep("o",200),"PX",600000) end
			redis.call("SET",string.rep("l",4097),string.rep("a",40)..":1700000000 o")' 0
	done
	says 0 '*' '' status --json "${PATIENT[@]}"
	json '(.locks | length) == 150 and (.locks | map(select((.key | length) > 4000 and .on_nodes == 3)) | length) == 150'
}

@test "status without KEY: on a terminal, a row for each reader under the key; elsewhere, one row for the lock" {
	for owner in ann bob; do redlock acquire -s -k docs --owner "$owner" "${LONG[@]}" > "$T/token"; done
	for owner in 'a, b' eve; do redlock acquire -s -k odd --owner "$owner" "${LONG[@]}" > "$T/token"; done
	acquire 'docs#1'
	says 0 "$HEAD?docs?2 readers: ann, bob?*s?3/3?0?docs#1?me?*s?3/3?0?odd?2 readers: a, b, eve?*s?3/3?0" '' status
	run -0 env TERM=xterm "$REDLOCK_BUILD/tools/pty" -- "$REDLOCK_BUILD/redlock" status
	is_like "${output//$'\r'/}" "KEY *
docs    2 readers * 3/3    0
          ann
          bob
docs#1  me *
odd     2 readers: a, b, eve *"
}

@test "status without KEY: the slots of a semaphore in the order of their numbers, after the key" {
	for i in 1 2 3; do
		for key in 'sem#10' sem 'sem#9' 'sem#1' a; do
			node $i set "$key" "$(printf 'a%.0s' {1..40}):1700000000 me" px 600000
		done
	done > "$T/set"
	run -0 redlock status
	[ "$(cut -f1 <<< "$output" | xargs)" = 'KEY a sem sem#1 sem#9 sem#10' ]
}

# bats test_tags=not-under-qemu
@test "status --watch: repeats the report" {
	in_background "$T/out" status --watch job
	eventually file_has "$T/out" "'job' is free"
	acquire job
	eventually file_has "$T/out" "'job' is held by me"
	kill -TERM "$BG"
	ended_with 143
	not file_has "$T/out" $'\e'
	run -143 env -u XDG_RUNTIME_DIR TERM=xterm "$REDLOCK_BUILD/tools/pty" expect:$'\e[H\e[2J' expect:"'job' is held" expect:$'\e[H\e[2J' \
		run:"kill -TERM \$(pgrep -f '^$REDLOCK_BUILD/redlock status --watch --nodes unix://$T/1.sock')" \
		-- "$REDLOCK_BUILD/redlock" status --watch --nodes "unix://$T/1.sock" job
}

# bats test_tags=not-under-qemu
@test "status --watch on a terminal: messages follow the clearing of the screen, so they stay readable" {
	watch() { # STEP... -- ARGUMENT...: each step expects a text
		local steps=()

		while [ "$1" != -- ]; do
			steps+=("expect:$1")
			shift
		done
		shift
		run -143 env -u XDG_RUNTIME_DIR TERM=xterm "$REDLOCK_BUILD/tools/pty" "${steps[@]}" \
			run:"kill -TERM \$(pgrep -f '^$REDLOCK_BUILD/redlock status --watch --nodes unix://$T/1.sock')" \
			-- "$REDLOCK_BUILD/redlock" status --watch --nodes "unix://$T/1.sock" "$@"
	}
	redlock acquire -k job -L 2 "${LONG[@]}" > "$T/token"
	watch $'\e[H\e[2J'"'job' is a semaphore: slots of it are held with limit 2"$'\r\nhint: slots of the key are held' $'\e[H\e[2J'"'job' is a semaphore: slots of it are held with limit 2"$'\r\nhint: slots of the key are held' -- job
	kill_node 1
	watch $'\e[H\e[2J''redlock: 0 of 1 node answered' 'hint: ' $'\e[H\e[2J''redlock: 0 of 1 node answered' 'hint: ' --
	watch $'\e[H\e[2J'"'job' has an unknown state: 0 of 1 node answered" 'hint: ' $'\e[H\e[2J'"'job' has an unknown state" 'hint: ' -- job
}

# bats test_tags=not-under-qemu
@test "status --watch on a terminal: shows as many locks as fit on the screen" {
	for i in 1 2 3; do
		node $i eval 'for i=1,40 do redis.call("SET",string.format("lock:%04d",i),string.rep("a",40)..":1700000000 o"..i,"PX",600000) end' 0
	done
	# 24 rows of 80 columns
	run -143 env -u XDG_RUNTIME_DIR TERM=xterm "$REDLOCK_BUILD/tools/pty" expect:"KEY        HOLDER  HELD " expect:"lock:0021  o21 " expect:$'\r\n... and 19 more\r\n' \
		expect:$'\e[H\e[2J' run:"kill -TERM \$(pgrep -f '^$REDLOCK_BUILD/redlock status --watch --nodes unix://$T/1.sock')" \
		-- "$REDLOCK_BUILD/redlock" status --watch --nodes "unix://$T/1.sock"
	# a terminal that cannot be cleared
	run -143 env -u XDG_RUNTIME_DIR TERM=dumb "$REDLOCK_BUILD/tools/pty" expect:"lock:0040  o40 " expect:"lock:0040  o40 " \
		run:"kill -TERM \$(pgrep -f '^$REDLOCK_BUILD/redlock status --watch --nodes unix://$T/1.sock')" \
		-- "$REDLOCK_BUILD/redlock" status --watch --nodes "unix://$T/1.sock"
	[[ "$output" != *$'\e'* ]]
}

@test "status --watch without KEY: repeats the report, though the nodes agree down to the last cursor" {
	for i in 1 2 3; do node "$i" eval 'for i=1,3000 do redis.call("SET","noise:"..i,"0") end' 0; done
	in_background "$T/out" status --watch
	acquire job
	shown() { [ "$(grep -c $'^job\tme\t' "$T/out")" -ge "$1" ]; }
	eventually shown 1
	kill_node 3
	start_node 3
	eventually shown 4
	kill -TERM "$BG"
	ended_with 143
	not file_has "$T/out" '^redlock:'
	in_background "$T/out" status --watch --json
	refreshed() { [ "$(jq -s 'map(select(.status == 0 and .locks[0].state == "held")) | length' "$T/out")" -ge 3 ]; }
	eventually refreshed
	kill -TERM "$BG"
	ended_with 143
}

@test "status: two names of one server, wrong arguments, and a full disk" {
	ln -s 1.sock "$T/again.sock"
	for key in '' job; do
		REDLOCK_NODES="unix://$T/1.sock unix://$T/again.sock" says 78 '' "redlock: nodes '*1.sock' and '*again.sock' are the same server?hint: *" status $key
	done
	says 64 '' "redlock: the key is empty?hint: check the variable that it comes from" status job ''
	says 64 '' "redlock: the key is too long: 5000 bytes, at most 4096 are allowed" status "$(printf 'x%.0s' $(seq 5000))"
	says 0 "'job' is free" '' status -k job
	says 0 "$HEAD?job?[(]free)*?other?[(]free)*?third?[(]free)*" '' status job -k other third
	[ "$(redlock status --json job --limit 2 -k other | jq -c '[.locks[].key]')" = '["job","other"]' ]
	says 64 '' "redlock: --yes is not an option of 'redlock status'?hint: *" status --yes
	acquire job
	for words in status 'status job' 'status --json' 'status --watch'; do
		run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' $words > /dev/full"
		is_like "$stderr" "*cannot write to stdout: No space left on device*"
	done
}

# ---- break --force: at once; break.bats has the rest ----

@test "break --yes: shows the holder, deletes the key everywhere, and reports it" {
	acquire job
	says 0 "unix://$T/1.sock: removed?unix://$T/2.sock: removed?unix://$T/3.sock: removed" \
		"redlock: 'job' is held by me since * on 3 of 3 nodes, expires in 9m unless renewed?redlock: the holder's command may still run for up to 9m" break -f -k job --yes
	held_on job 0
	says 0 '' "redlock: 'job' is free?redlock: 'job' is not held: nothing was removed" break -f -k job --yes
	acquire job
	node 2 del job
	says 0 '*' '*"message":"*is held by me *' break -fyk job --json
	json '.schema == 1 and .command == "break" and .key == "job" and .outcome == "removed" and .status == 0 and .removed == 2'
	json '[.nodes[].answer] == ["yes", "free", "yes"]'
	says 0 '*' '*' break -fy -k job --json
	json '.outcome == "free" and .status == 0 and .removed == 0'
}

@test "break without a terminal requires --yes: 64, and no key is deleted" {
	acquire job
	says 64 '' "redlock: 'job' is held by me *?redlock: missing --yes: nothing was removed" break -fk job < /dev/null
	says 64 '' "redlock: 'job' is held by me *?redlock: missing --yes: nothing was removed" break -qf -k job <<< yes
	says 64 '*' '*' break --json -fk job <<< yes
	json '.outcome == "not-confirmed" and .status == 64 and .removed == 0'
	eventually held_on job 3
	says 0 '' '*is not held: nothing was removed' break -k other < /dev/null
}

# on_pty STEP... -- ARG...: redlock ARG... on a terminal.
on_pty() { run "$REDLOCK_BUILD/tools/pty" "${@:1:$#-3}" -- "$REDLOCK_BUILD/redlock" "${@: -3}" && echo "$output"; }

@test "break on a terminal: asks, and only yes is a yes" {
	acquire job
	for word in 'no\r' 'YES\r' '\r' ' yes\r' 'yesyesyesyesyesyesyes\r' '\x04'; do
		on_pty expect:"'job' is held by me" expect:"Type 'yes' or 'y' to do so" send:"$word" expect:'nothing was removed' break -fk job
		[ "$status" -eq 75 ]
		eventually held_on job 3
	done
	# the question must follow the report that it is about
	run -64 "$REDLOCK_BUILD/tools/pty" -- sh -c '"$0" break -fk job 2> "$1"' "$REDLOCK_BUILD/redlock" "$T/unseen"
	eventually held_on job 3
	on_pty expect:"Type 'yes' or 'y' to do so" send:'\x03' break -fk job
	[ "$status" -eq 130 ]
	eventually held_on job 3
	for word in y yes; do
		on_pty expect:"Type 'yes' or 'y' to do so" send:"$word\r" expect:"1.sock: removed" expect:"3.sock: removed" break -fk job
		[ "$status" -eq 0 ]
		held_on job 0
		acquire job
	done
}

@test "break: a lock that changed hands since it was shown is left alone: 75" {
	acquire job
	on_pty expect:"Type 'yes'" run:"redis-cli -s $T/2.sock set job other px 600000" send:'yes\r' \
		expect:"1.sock: removed" expect:"2.sock: another client has it now: left alone" expect:"3.sock: removed" break -fk job
	[ "$status" -eq 75 ]
	[ "$(node 2 get job)" = other ]
	held_on job 1
	node 2 del job
	# the same owner's next lock is another one
	acquire job
	on_pty expect:"Type 'yes'" run:"'$REDLOCK_BUILD/redlock' release -k job --token $TOKEN; '$REDLOCK_BUILD/redlock' acquire -k job --owner me -t 600s" \
		send:'yes\r' expect:"3.sock: another client has it now: left alone" break -fk job
	[ "$status" -eq 75 ]
	eventually held_on job 3
	# the lock has expired
	on_pty expect:"Type 'yes'" run:"for i in 1 2 3; do redis-cli -s $T/\$i.sock del job; done" \
		send:'yes\r' expect:"1.sock: gone already" expect:"3.sock: gone already" break -fk job
	[ "$status" -eq 0 ]
}

@test "break --json: the lock changed hands meanwhile" {
	acquire job
	mkfifo "$T/go"
	run -75 "$REDLOCK_BUILD/tools/pty" expect:"Type 'yes'" run:"redis-cli -s $T/1.sock set job other px 600000" send:'yes\r' \
		expect:'"outcome":"changed-hands"' -- "$REDLOCK_BUILD/redlock" break --json -fk job
	tr -d '\r' <<< "$output" | grep '^{' > "$T/json"
	jq -e '.status == 75 and .removed == 2 and .nodes[0].answer == "held" and .nodes[0].holder.value == "other"' "$T/json"
}

@test "break: a node that is down is reported; without a majority no key is deleted: 69" {
	acquire job
	kill_node 3
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: cannot be reached" "redlock: 'job' is held by me *" break -fy -k job
	start_node 3
	eventually admitted 3
	acquire job
	# between question and reply
	on_pty expect:"Type 'yes'" run:"kill -KILL ${PID[3]}" send:'yes\r' expect:"2.sock: removed" expect:"3.sock: " break -fk job
	[ "$status" -eq 0 ]
	held_on job 0
	start_node 3
	eventually admitted 3
	acquire job
	on_pty expect:"Type 'yes'" run:"kill -KILL ${PID[3]} ${PID[2]}" send:'yes\r' expect:"1.sock: removed" expect:"3.sock: " break -fk job
	[ "$status" -eq 69 ]
	node 1 set job me px 600000
	says 69 '' "redlock: 'job' has an unknown state: 1 of 3 nodes answered, 2 needed: *?redlock: cannot remove 'job': *" break -fy -k job
	says 69 '*' '*' break -fy --json -k job
	json '.outcome == "unknown" and .status == 69 and .removed == 0'
	[ "$(node 1 get job)" = me ]
}

@test "break: locks of any program, of the old style, without expiry, empty or on a minority" {
	for value in other 1700000000 '' 0123456789abcdef0123456789abcdef "$(printf 'v%.0s' $(seq 1000))"; do
		put "$value" 3
		says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "redlock: 'job' is held by another program *" break -fy -k job
		held_on job 0
	done
	put 1700000000 3
	says 0 '*' "*it expired at 2023-11-14T22:13:20Z*" break -fy -k job
	# other keys on a minority are shown, and deleted as well
	put other 3
	node 2 set job "third one" px 600000
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "redlock: 'job' is held by another program (value 'other') on 2 of 3 nodes, *?redlock: unix://$T/2.sock look: no, held by another program (value 'third one') (*" break -fy -k job
	held_on job 0
	node 3 set job late px 600000
	says 0 "*1.sock: nothing to remove?*2.sock: nothing to remove?*3.sock: removed" "*that is no majority*" break -fy -k job
	held_on job 0
}

# on_each WORDS...: runs redis-cli on each node
on_each() {
	local i
	for i in 1 2 3; do node $i "$@" > "$T/set"; done
}

@test "break: Redisson's hash and Symfony's sorted set, by the names that were shown" {
	on_each hset job 5c3a:1 1
	on_each pexpire job 600000
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "redlock: 'job' is held by another program (value '(hash) 5c3a:1') on 3 of 3 nodes, expires in 9m unless renewed; *" break -fy -k job
	held_on job 0
	on_each zadd job 1700000000 second 1800000000 'the first'
	on_each pexpire job 600000
	says 64 '' "redlock: 'job' is held by another program (value '(zset) second the first') on 3 of 3 nodes, *?redlock: missing --yes: nothing was removed" break -fk job
	eventually held_on job 3
	# an extension changes no name; another holder does
	node 1 zadd job 1900000000 second
	break_later() {
		run "$REDLOCK_BUILD/tools/pty" expect:"Type 'yes' or 'y' to do so" run:"redis-cli -s $T/2.sock $1" send:'yes\r' \
			-- "$REDLOCK_BUILD/redlock" break -fk job
	}
	break_later "zadd job 1 third"
	[ "$status" -eq 75 ]
	is_like "$output" "*1.sock: removed*2.sock: another client has it now: left alone*3.sock: removed*"
	held_on job 1
	break_later "del job"
	[ "$status" -eq 0 ]
	is_like "$output" "*2.sock: gone already*"
	# of many names, or long ones, the first are shown
	on_each hset job $(printf "$(printf 'n%.0s' $(seq 90))%d 1 " 1 2 3 4 5)
	on_each pexpire job 600000
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "*" break -fy -k job
	# a lock on one node, and a string on the others
	put other 3 px 600000
	node 3 del job
	node 3 hset job 5c3a:1 1
	node 3 pexpire job 600000
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "*on 2 of 3 nodes, *?redlock: unix://$T/3.sock look: no, held by another program (value '(hash) 5c3a:1') (*" break -fy -k job
	held_on job 0
}

@test "break: a lock with names that this user may not read" {
	for i in 1 2 3; do
		node $i acl setuser default -hscan
		node $i hset job 5c3a:1 1
		node $i pexpire job 600000
	done > "$T/acl"
	says 69 '' "redlock: 'job' has an unknown state: 0 of 3 nodes answered, 2 needed: each of *denies permission*?redlock: cannot remove 'job': *?hint: *" break -fy -k job
	eventually held_on job 3
}

@test "break: a key that is no lock is not touched" {
	no_lock() {
		says 75 '' "redlock: 'job' is held by another program (value '$1') *?redlock: cannot remove 'job': the value is no lock?hint: check which program wrote it: *" break -fy -k job
		eventually held_on job 3
	}
	# data has no expiry, or many names, or another type
	on_each hset job 5c3a:1 1
	no_lock '(hash)'
	says 75 '*' '*' break -fy --json -k job
	json '.outcome == "no-lock" and .status == 75 and .removed == 0'
	on_each del job
	on_each hset job $(seq 2000)
	on_each pexpire job 600000
	no_lock '(hash)'
	on_each del job
	on_each rpush job 5c3a:1
	on_each pexpire job 600000
	no_lock '(list)'
	on_each del job
	on_each hset job 5c3a:1 1
	for i in 1 2; do node $i del job; done
	put me 2
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: no lock: left alone" '*' break -fy -k job
	[ "$(node 3 type job)" = hash ]
}

@test "break: two names of one server, and a full disk" {
	acquire job
	ln -s 1.sock "$T/again.sock"
	REDLOCK_NODES="unix://$T/1.sock unix://$T/again.sock" says 78 '' "redlock: nodes * are the same server?hint: *" break -fy -k job
	eventually held_on job 3
	run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' break -fy -k job > /dev/full"
	[[ "$stderr" == *"cannot write to stdout: No space left on device" ]]
	held_on job 0
}

@test "a foreign key hides no lock: an endless TTL, a key that may not be read" {
	for key in aa bb cc dd; do redlock acquire -k $key > "$T/set"; done
	for i in 1 2 3; do node $i set evil "$(printf 'a%.0s' $(seq 40)):1795289531 x" px 900000000000000 > "$T/set"; done
	redlock status > "$T/all"
	[ "$(grep -c $'\t3/3\t' "$T/all")" -eq 5 ]
	for key in aa bb cc dd evil; do grep -q "^$key"$'\t' "$T/all"; done
}

@test "break: servers that close idle connections while the user thinks" {
	redlock acquire -k job > "$T/set"
	run "$REDLOCK_BUILD/tools/pty" expect:"Type 'yes' or 'y' to do so" \
		run:"for i in 1 2 3; do redis-cli -s $T/\$i.sock client kill type normal skipme yes; done" send:'yes\r' \
		-- "$REDLOCK_BUILD/redlock" break -fk job
	echo "$output"
	[ "$status" -eq 0 ]
	held_on job 0
}
