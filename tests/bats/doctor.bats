# redlock doctor: broken set-ups, each made for real, each found with the right severity; if the fix is a command for
# the node, the test runs it, and then doctor finds nothing.

load nodes

setup() {
	nodes_start 3
	unset REDLOCK_STRICT
	PROXY=()
}
teardown() { nodes_stop; }

# No node is late because the machine is busy.
PATIENT=(--ttl 600s --node-timeout 10s)

# url NODE: the label of node I; other text stays as it is.
url() {
	case $1 in
	[0-9]) echo "unix://$T/$1.sock" ;;
	*) echo "$1" ;;
	esac
}

# finds STATUS NODE ID SEVERITY [ARG...]: exactly that finding for this node ('' is the whole set), and none for the
# others; the whole set may have more. FIX is its command line, WORDS its message.
finds() {
	local want=$1 label
	label=$(url "$2")
	run "-$want" --separate-stderr redlock doctor --json "${PATIENT[@]}" "${@:5}"
	jq -e --arg node "$label" --arg id "$3" --arg severity "$4" '
		[.findings[] | select((.node // "") == $node and .id != "some-keys") | [.id, .severity]] == [[$id, $severity]] and
		[.findings[] | select(.node != null and .node != $node)] == [] and
		.status == '"$want"' and
		([.nodes[] | select(.node == $node) | .usable] | . == [] or . == [$severity != "error"])' \
		<<< "$output" > "$T/jq" || {
		jq -c '.findings[]' <<< "$output"
		return 1
	}
	WORDS=$(jq -r --arg id "$3" 'first(.findings[] | select(.id == $id)) | .words' <<< "$output")
	FIX=$(jq -r --arg id "$3" 'first(.findings[] | select(.id == $id)) | .fix // ""' <<< "$output")
}

# sound [ARG...]: doctor finds nothing.
sound() {
	run -0 --separate-stderr redlock doctor --json --strict "${PATIENT[@]}" "$@"
	json '[.findings[] | select(.id != "some-keys")] == [] and .outcome == "sound" and .usable == (.nodes | length)'
}

# obey I: applies the fix of the last finding.
obey() { [ "$(node "$1" $FIX)" = OK ]; }

# restart I [redis options...]
restart() {
	local i=$1
	shift
	is_gone "${PID[i]}" || kill_node "$i"
	start_node "$i" "$@"
	eventually answers "$i"
}

# again I [redis options...]: restarts node I with them, and admits it.
again() {
	restart "$@"
	eventually admitted "$1"
}

# with_user I RIGHT...: node I is asked as user bob, with these rights, and those to all keys and channels.
with_user() {
	node "$1" acl setuser bob on '>s3cret' '~*' '&*' "${@:2}" > "$T/acl"
	REDLOCK_NODES=${REDLOCK_NODES/"unix://$T/$1.sock"/"unix://bob:s3cret@$T/$1.sock"}
}

# in_between I FAULT...: the connection to node I goes through a proxy with that fault.
in_between() {
	"$REDLOCK_BUILD/tools/proxy" "$T/proxy$1" "$T/$1.sock" "${@:2}" > "$T/proxy$1.ready" 3>&- &
	also_end $!
	eventually test -s "$T/proxy$1.ready"
	REDLOCK_NODES=${REDLOCK_NODES/"$T/$1.sock"/"$T/proxy$1"}
}

# make_of I: `Redis 7.0.15`, from the last report of the server about itself; Valkey reports a version of Redis before
# its own.
make_of() { node "$1" info server | tr -d '\r' | sed -n 's/^\(redis\|valkey\)_version:/\u\1 /p' | tail -n 1; }

# ---- sound ----

@test "a sound set-up: silent, apart from a line for each node and one for the set" {
	run -0 --separate-stderr redlock doctor "${PATIENT[@]}"
	[ "${#lines[@]}" -eq 4 ]
	for i in 1 2 3; do
		is_like "${lines[i - 1]}" "unix://.../$i.sock  $(make_of $i), master  latency: least *.*ms, median *.*ms, 99 % within *.*ms"
	done
	[ "${lines[3]}" = "3 of 3 nodes can be used; no problem found" ]
	[ "$stderr" = "" ]
	sound
	json '.schema == 1 and .command == "doctor" and .status == 0 and .quorum == 2 and (has("key") | not)'
	make=$(make_of 1)
	json '[.nodes[] | "\(.kind) \(.version)" == "'"$make"'" and .role == "master" and .usable] == [true, true, true]'
	json '[.nodes[].latency | .min_us > 0 and .min_us <= .median_us and .median_us <= .p99_us] == [true, true, true]'
	# only the marks that admit the nodes are left
	for i in 1 2 3; do [ "$(node $i keys '*')" = '{redlock}:node' ]; done
}

@test "a node that refuses some requests of the test lock keeps no key of it" {
	for right in zrem pttl; do
		node 2 acl setuser default +@all "-$right" > "$T/set"
		run redlock doctor "${PATIENT[@]}"
		echo "$output"
		[[ "$output" == *"unix://.../2.sock"*"ACL SETUSER default +$right"* ]]
		for i in 1 2 3; do [ "$(node $i keys '*')" = '{redlock}:node' ]; done
	done
}

@test "doctor without --json has the same findings" {
	node 2 config set maxmemory 1gb > "$T/set"
	node 2 config set maxmemory-policy allkeys-lru > "$T/set"
	make=$(make_of 1)
	kill_node 3
	says 69 "unix://.../1.sock  $make, master  latency: *ms
unix://.../2.sock  $make, master  latency: *ms
  error: forgets keys, and so locks, when its memory is full (allkeys-lru)
    fix: CONFIG SET maxmemory-policy noeviction
    then: CONFIG REWRITE keeps it over a restart
unix://.../3.sock
  error: cannot be reached: *
    fix: *
together
  error: 1 of 3 nodes can be used, 2 are needed: locks can be acquired, but are not safe
3 errors: 1 of 3 nodes can be used, 2 needed" '' doctor "${PATIENT[@]}"
	# on a terminal, and through a pipe: no colours, no controls
	[[ "$output" != *$'\e'* ]]
}

@test "nodes that share a problem, and of which nothing else is known, are named once" {
	run -69 redlock doctor --nodes "127.0.0.1:1 127.0.0.1:2 unix://$T/1.sock" "${PATIENT[@]}"
	is_like "$output" "unix://.../1.sock  *ms?redis://127.0.0.1:1, redis://127.0.0.1:2?  error: cannot be reached: Connection refused?    fix: *"
	[ "$(grep -c '127.0.0.1:1' <<< "$output")" -eq 1 ]
}

@test "the status: 0 if a quorum is left, 1 for the same with --strict, 69, 78" {
	kill_node 1
	finds 0 1 unreachable error
	finds 1 1 unreachable error --strict
	REDLOCK_STRICT=1 finds 1 1 unreachable error
	json '.outcome == "errors" and .usable == 2'
	kill_node 2
	run -69 --separate-stderr redlock doctor --json "${PATIENT[@]}"
	json '.outcome == "no-quorum" and .status == 69 and .usable == 1'
	json '[.findings[] | select(.node == null) | .id] == ["no-quorum"]'
	run -69 --separate-stderr redlock doctor -q "${PATIENT[@]}"
}

@test "--help and help 1 have both causes of the status 1" {
	for page in "$(redlock doctor --help)" "$(redlock help 1)"; do
		is_like "$(tr -s ' \n' ' ' <<< "$page")" "* 1 * the rights to locks are in doubt*, with --strict,*"
	done
}

@test "wrong arguments, and a full disk" {
	says 64 '' "redlock: unexpected argument 'other'?hint: *" doctor job other
	says 64 '' "redlock: unexpected node 'redis://a' in the place of a key?hint: *" doctor redis://a
	says 64 '' "redlock: --wait is not an option of 'redlock doctor'?hint: *" doctor --wait 1s
	says 64 '' "redlock: --strict is not an option of 'redlock status'?hint: *" status --strict
	says 64 '' "redlock: --strict takes no value?hint: *" doctor --strict=yes
	says 64 '' "redlock: --node-timeout must be longer than 0?hint: *" doctor --node-timeout 0
	says 78 '' "redlock: invalid node 'http://a': *" doctor --node http://a
	for words in doctor 'doctor --json' 'doctor --admit --yes'; do
		run -125 --separate-stderr bash -c "'$REDLOCK_BUILD/redlock' $words > /dev/full"
		is_like "$stderr" "*cannot write to stdout: No space left on device*"
	done
}

# ---- out of reach ----

@test "broken: the server is down" {
	kill_node 2
	finds 0 2 unreachable error
	is_like "$WORDS" 'cannot be reached: *'
	again 2
	sound
}

@test "broken: the server hangs" {
	stop_node 2
	finds 0 2 unreachable error --node-timeout 4s
	[ "$WORDS" = "did not answer in time" ]
	continue_node 2
	sound
}

@test "broken: a name that does not resolve" {
	REDLOCK_NODES+=" redis://no-such-host.invalid unix://$T/none"
	kill_node 1
	start_node 1
	run --separate-stderr redlock doctor --json "${PATIENT[@]}"
	json '[.findings[] | select(.node == "redis://no-such-host.invalid:6379") | [.id, .severity]] == [["unreachable", "error"]]'
	json '[.findings[] | select(.node == "redis://no-such-host.invalid:6379") | .words | startswith("has a name that does not resolve: ")] == [true]'
}

@test "broken: the server is no Redis; or sends without end" {
	in_between 2 --say 'HTTP/1.1 400 Bad Request\r\n\r\n'
	finds 0 "unix://$T/proxy2" not-redis error
	rm "$T/proxy2"
	REDLOCK_NODES=${REDLOCK_NODES/"$T/proxy2"/"$T/2.sock"}
	in_between 2 --say '$70000\r\n' --flood
	finds 0 "unix://$T/proxy2" not-redis error
}

@test "broken: no password, a wrong one, one for a node without password" {
	node 1 config set requirepass s3cret > "$T/set"
	finds 0 1 auth error
	is_like "$FIX" "name the password: --password-file FILE or REDLOCK_PASSWORD; *"
	finds 0 1 auth error --nodes "unix://:wrong@$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	is_like "$WORDS" 'refuses the password: WRONGPASS*'
	[[ "$output" != *wrong@* ]]
	sound --nodes "unix://:s3cret@$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	finds 0 2 auth error --nodes "unix://:s3cret@$T/1.sock unix://:s3cret@$T/2.sock unix://$T/3.sock"
	is_like "$FIX" "leave user and password out (they come from *), or set a password on the node (requirepass)"
}

@test "broken: a database that does not exist" {
	finds 0 "unix://$T/2.sock?db=99" refused error --nodes "unix://$T/1.sock unix://$T/2.sock?db=99 unix://$T/3.sock"
	is_like "$WORDS" 'answered with an error: ERR DB index is out of range'
}

# ---- rights ----

@test "broken: a user without scripts; the fix works" {
	with_user 1 +@all -@scripting
	finds 0 1 rights error
	is_like "$WORDS" "user 'bob' may not use eval, evalsha; without it, doctor cannot try get, set, *"
	is_like "$FIX" 'ACL SETUSER bob +eval +evalsha *'
	obey 1
	sound
}

@test "broken: a user without EVALSHA: a warning, for locks work; the fix works" {
	with_user 1 +@all -evalsha
	finds 0 1 rights warning
	[ "$WORDS" = "user 'bob' may not use evalsha (to send less)" ]
	[ "$FIX" = "ACL SETUSER bob +evalsha" ]
	obey 1
	sound
}

# bats test_tags=not-under-qemu
@test "broken: a user with almost no rights; the fix works" {
	with_user 2 -@all '+config|get'
	finds 0 2 rights error
	is_like "$WORDS" "user 'bob' may not use eval, evalsha, subscribe, client|tracking, client|caching; without it, doctor cannot try get, *"
	obey 2
	sound
	node 2 acl setuser bob -config > "$T/acl"
	finds 0 2 config note
	[ "$FIX" = "ACL SETUSER bob +config|get" ]
	obey 2
	sound
	# and these are the rights that redlock needs
	run -0 redlock run -n -k job --node "unix://bob:s3cret@$T/2.sock" "${PATIENT[@]}" --fence -- echo done
	[ "$output" = "done" ]
}

@test "broken: each missing right is named" {
	with_user 3 +@all
	while read -r command severity; do
		node 3 acl setuser bob "-$command" > "$T/acl"
		finds 0 3 rights "$severity"
		is_like "$WORDS" "user 'bob' may not use $command*"
		is_like "$FIX" "ACL SETUSER bob +$command*"
		obey 3
	done <<-'END'
		get error
		set error
		pttl error
		pexpire error
		del error
		time warning
		info warning
		exists warning
		zadd warning
		zrange warning
		zrank warning
		zscore warning
		zrem warning
		publish warning
		pubsub warning
		subscribe warning
		zrangebyscore note
		zremrangebyscore note
		type note
		hscan note
		zscan note
		scan note
		getrange note
	END
	sound
	# a key that could not be deleted expires
	for key in $(node 3 keys '*'); do
		[ "$key" = '{redlock}:node' ] || [ "$(node 3 pttl "$key")" -ne -1 ]
	done
}

@test "broken: a user without rights on the channels of waiters" {
	with_user 2 +@all resetchannels
	finds 0 2 rights warning
	[ "$WORDS" = "user 'bob' may not use redlock's channels (to wake waiters); KEY in the fix stands for a pattern of your locks' keys, such as deploy-*" ]
	[ "$FIX" = 'ACL SETUSER bob &redlock:wake:{KEY}:* &redlock:queue:{KEY}* &redlock:*:{redlock:doctor:*}*' ]
	obey 2
	sound
	node 2 acl setuser bob resetchannels > "$T/acl"
	finds 0 2 rights warning --key-format lock:%s
	is_like "$FIX" 'ACL SETUSER bob &redlock:wake:{lock:*}:* *'
}

@test "broken: a user without rights on the keys that --key-format makes" {
	OWN=('~{redlock}:node' '~redlock:doctor:*' '~redlock:*:{redlock:doctor:*}')
	with_user 1 +@all resetkeys "${OWN[@]}"
	sound
	finds 0 1 key-format note --key-format lock:%s
	[ "$WORDS" = "user 'bob' may not use all keys 'lock:*', as --key-format makes them" ]
	[ "$FIX" = "ACL SETUSER bob ~lock:*" ]
	obey 1
	REDLOCK_KEY_FORMAT=lock:%s sound
	# the right to read is not enough, and no key is left
	node 1 acl setuser bob resetkeys "${OWN[@]}" '%R~lock:*' > "$T/acl"
	finds 0 1 key-format note --key-format lock:%s
	eventually is_empty 1
	says 64 '' "redlock: the key 'redlock:queue:{redlock:doctor:*}' is redlock's own*" doctor --key-format 'redlock:queue:{%s}'
}

@test "broken: a user with rights on other keys only" {
	own='ACL SETUSER bob *~{redlock}:node ~redlock:queue:{KEY}[*] *'
	with_user 1 +@all resetkeys '~job*'
	finds 0 1 rights warning
	is_like "$FIX" "$own"
	obey 1
	sound
	# on some of redlock's own
	node 1 acl setuser bob resetkeys '~redlock:doctor:*' '~{redlock}:node' > "$T/acl"
	finds 0 1 rights warning
	is_like "$FIX" "$own"
	obey 1
	sound
}

@test "broken: a fencing counter that is no number, at its limit, or half way to it" {
	for wrong in 'rpush x' 'set -7' 'set 9007199254740991' 'set 9007199254740990'; do
		node 2 "${wrong% *}" 'redlock:fence:{job}' "${wrong#* }" > "$T/set"
		finds 0 2 counter warning
		[ "$FIX" = 'DEL redlock:fence:{job}' ]
		[ "$(node 2 $FIX)" = 1 ]
		sound
	done
	node 2 set 'redlock:fence:{job}' "$(date +%s%6N)" > "$T/set"
	sound
}

@test "broken: a key of redlock's own that does not expire" {
	for key in queue reserved readers limit; do
		node 2 set "redlock:$key:{job}" 1 > "$T/set"
		finds 0 2 lasting-key warning
		[ "$WORDS" = "redlock's own key 'redlock:$key:{job}' does not expire" ]
		[ "$FIX" = "EXPIRE redlock:$key:{job} 86400" ]
		[ "$(node 2 $FIX)" = 1 ]
		sound
	done
	for key in $(node 2 keys 'redlock:*'); do node 2 persist "$key" > "$T/set"; done
	finds 0 2 lasting-key warning
	is_like "$WORDS" "redlock's own key 'redlock:*:{job}' does not expire (and 3 more like it)"
	# foreign keys are not redlock's, and a fencing counter does not expire
	for key in $(node 2 keys 'redlock:*'); do node 2 del "$key" > "$T/set"; done
	node 2 mset redlock:fence:{job} 7 redlock:job 1 redlock:wake:job 1 redlock:other:{job} 1 app:redlock:wake:{job} 1 > "$T/set"
	sound
}

@test "broken: holders with other nodes, each list once; one node more is a note" {
	start_node 4
	eventually admitted 4
	REDLOCK_NODES="unix://$T/3.sock" redlock acquire -k 'de ploy' --owner root@web3:42 > "$T/token"
	node 2 set no-token 1 > "$T/set"
	finds 0 '' other-nodes warning
	is_like "$WORDS" "'de ploy' is held by root@web3:42 with other nodes (1 node, list ????????; here 3 nodes, list ????????): two clients could have one lock at once"
	json ".list == \"$(redlock config --json | jq -r .list)\""
	is_like "$FIX" "name the same nodes on all hosts: *"
	finds 1 '' other-nodes warning --strict
	# a second list, and the first one on another key
	REDLOCK_NODES="unix://$T/3.sock" redlock acquire -k second > "$T/token"
	REDLOCK_NODES="unix://$T/2.sock" redlock acquire -k third --owner root@web2:7 > "$T/token"
	run -0 redlock doctor "${PATIENT[@]}"
	[ "$(grep -c 'with other nodes' <<< "$output")" = 2 ]
	[[ "$output" == *"'third' is held by root@web2:7 with other nodes (1 node, list "* ]]
	# as a user who may not scan: silent
	for i in 1 2 3; do node $i acl setuser default -scan > "$T/set"; done
	run -0 redlock doctor --json "${PATIENT[@]}"
	json '[.findings[] | select(.id == "other-nodes")] == []'
	for i in 1 2 3; do node $i acl setuser default +scan > "$T/set"; node $i flushall > "$T/set"; eventually admitted $i; done
	# a step of one node
	REDLOCK_NODES="$REDLOCK_NODES unix://$T/4.sock" redlock acquire -k job > "$T/token"
	redlock acquire -k other > "$T/token"
	finds 0 '' other-nodes note
	is_like "$WORDS" "'job' is held by * with other nodes (4 nodes, list *): safe while hosts change from one of these lists to the other"
}

@test "broken: one server under two databases; not without the right to see it" {
	nodes=$REDLOCK_NODES
	REDLOCK_NODES=${nodes//.sock/.sock?db=3} run redlock run -n -k job true
	for i in 1 3; do node $i -n 3 del '{redlock}:node' > "$T/set"; done
	node 1 -n 3 set '{redlock}:node' 'of a server that has restarted since' > "$T/set"
	finds 0 2 other-database warning
	[ "$WORDS" = 'its database 3 is a node of other clients: they do not see these locks' ]
	is_like "$FIX" "*redis-cli -n 3 DEL {redlock}:node"
	[ "$(node 2 -n 0 get '{redlock}:node' | wc -l)" = 1 ]
	REDLOCK_NODES="unix://$T/2.sock?db=3" run redlock doctor --json "${PATIENT[@]}"
	json '.findings[] | select(.id == "other-database") | .words == "its database 0 is a node of other clients: they do not see these locks"'
	node 2 acl setuser default -select > "$T/set"
	sound
	node 2 acl setuser default +select > "$T/set"
	node 2 -n 3 del '{redlock}:node' > "$T/set"
	node 2 -n 3 set x 1 > "$T/set"
	sound
}

@test "a refusal that no database asked for is not in the server's log of refusals" {
	node 2 acl setuser default -select > "$T/set"
	node 2 acl log reset > "$T/set"
	sound
	[ "$(node 2 acl log)" = '' ]
}

@test "broken: a user for some keys with rights on redlock's own keys of all locks" {
	with_user 1 +@all resetkeys '~app-*' '~redlock:*' '~{redlock}:node'
	finds 0 1 other-tenants warning --key-format app-%s
	[ "$WORDS" = "user 'bob' may use redlock's own keys of locks that the user may not take" ]
	is_like "$FIX" 'ACL SETUSER bob resetkeys ~app-[*] ~{redlock}:node ~redlock:queue:{app-[*]}[*] *'
	obey 1
	REDLOCK_KEY_FORMAT=app-%s sound
}

@test "broken: a load balancer before two servers, as one node or as each of three" {
	for i in 1 2 3; do
		"$REDLOCK_BUILD/tools/proxy" "$T/balanced$i" "$T/1.sock" --or "$T/2.sock" > "$T/ready$i" 3>&- &
		also_end $!
		eventually test -s "$T/ready$i"
	done
	for nodes in "unix://$T/balanced1" "unix://$T/balanced1 unix://$T/balanced2 unix://$T/balanced3"; do
		run --separate-stderr redlock doctor --json --nodes "$nodes"
		[[ "$status" == 69 || "$status" == 78 ]]
		json '.findings[] | select(.id == "several-servers") | .severity == "error" and
			(.words | startswith("is several servers: of its connections, some lead to run id "))'
		json '[.nodes[].usable] | any | not'
	done
	sound
}

@test "broken: CONFIG or INFO renamed" {
	again 1 --rename-command CONFIG ''
	finds 0 1 config note
	is_like "$FIX" "remove 'rename-command CONFIG' from redis.conf, and restart; *"
	restart 1 --rename-command INFO ''
	finds 0 1 info warning
	json '.nodes[0] | .usable and (has("kind") | not)'
}

# ---- roles ----

@test "broken: a replica" {
	node 3 replicaof 127.0.0.1 1 > "$T/set"
	finds 0 3 replica error
	is_like "$FIX" "name its master, 127.0.0.1 port 1, unless that is a node already; REPLICAOF NO ONE would make a second master *"
	json '.nodes[2].role == "slave"'
	node 3 replicaof no one > "$T/set"
	sound
	# the same without the old data of its master
	node 3 config set replica-serve-stale-data no > "$T/set"
	node 3 replicaof 127.0.0.1 1 > "$T/set"
	finds 0 3 replica error
}

# synced I: node I is a replica with all data.
synced() { node "$1" info replication | grep -q '^master_link_status:up'; }

@test "broken: a master and its replica are two nodes; a master with a replica" {
	for ((tries = 0; tries < 20; tries++)); do
		port=$((20000 + RANDOM % 20000))
		again 2 --port $port --bind 127.0.0.1 --repl-diskless-sync-delay 0 && break
	done
	node 1 replicaof 127.0.0.1 $port > "$T/set"
	eventually synced 1
	run --separate-stderr redlock doctor --json "${PATIENT[@]}"
	[ "$status" -eq 0 ]
	json '[.findings[] | [.node[-6:], .id, .severity]] | sort == [["1.sock", "replica", "error"], ["1.sock", "same-group", "error"], ["2.sock", "replicas", "note"]]'
	# the replica is no configured node
	start_node 4
	eventually admitted 4
	finds 0 2 replicas note --nodes "unix://$T/2.sock unix://$T/3.sock unix://$T/4.sock"
	is_like "$WORDS" 'has 1 replica: *'
}

@test "broken: a cluster member" {
	needs networks
	in_own_network restart 1 --cluster-enabled yes --cluster-config-file "$T/cluster.conf"
	finds 0 1 cluster error
	again 1
	sound
}

@test "broken: a sentinel" {
	kill_node 1
	echo "sentinel monitor main 127.0.0.1 1 2" > "$T/sentinel.conf"
	redis-server "$T/sentinel.conf" --sentinel --port 0 --unixsocket "$T/1.sock" --logfile "$T/1.log" 3>&- > "$T/1.out" 2>&1 &
	PID[1]=$!
	also_end $!
	eventually answers 1
	finds 0 1 sentinel error
}

@test "broken: one server under two names: 78" {
	ln -s 1.sock "$T/again.sock"
	finds 78 "unix://$T/again.sock" duplicate error --nodes "unix://$T/1.sock unix://$T/2.sock unix://$T/again.sock"
	[ "$WORDS" = "is the same server as unix://$T/1.sock" ]
	json '.outcome == "duplicate-node" and .usable == 2'
}

# ---- memory, clients, disks ----

@test "broken: locks are evicted; the fix works" {
	node 1 config set maxmemory 1gb > "$T/set"
	for policy in allkeys-lru volatile-ttl allkeys-random; do
		node 1 config set maxmemory-policy $policy > "$T/set"
		finds 0 1 eviction error
		[ "$WORDS" = "forgets keys, and so locks, when its memory is full ($policy)" ]
	done
	obey 1
	sound
	# a warning if the memory has no limit
	node 1 config set maxmemory 0 > "$T/set"
	node 1 config set maxmemory-policy volatile-lru > "$T/set"
	finds 0 1 eviction note
	obey 1
	sound
}

@test "broken: memory is full, or nearly; the fix works" {
	node 2 config set maxmemory 1 > "$T/set"
	finds 0 2 memory error
	[ "$WORDS" = "is out of memory" ]
	obey 2
	sound
	used=$(node 2 info memory | tr -d '\r' | sed -n 's/^used_memory://p')
	node 2 config set maxmemory $((used + 60000)) > "$T/set"
	finds 0 2 memory warning
	obey 2
	sound
}

# clients N: node 3 has that many.
clients() { [ "$(node 3 info clients | tr -d '\r' | sed -n 's/^connected_clients://p')" -eq $(($1 + 1)) ]; }

@test "broken: too many clients, or nearly" {
	for _ in 1 2 3 4 5 6 7 8 9; do
		redis-cli -s "$T/3.sock" subscribe x > "$T/subscribed" 3>&- &
		also_end $!
	done
	eventually clients 9
	node 3 config set maxclients 10 > "$T/set"
	finds 0 3 max-clients warning
	obey 3
	sound
	node 3 config set maxclients 9 > "$T/set"
	finds 0 3 max-clients error
	[ "$WORDS" = "has too many clients" ]
}

# info_says I TEXT
info_says() { node "$1" info | tr -d '\r' | grep -q "^$2$"; }

@test "broken: a disk that is read-only; the fix works" {
	needs mounts
	on_mount ro 1 --save '3600 1'
	node 1 set key value > "$T/set"
	node 1 bgsave > "$T/set"
	eventually info_says 1 rdb_last_bgsave_status:err
	finds 0 1 stop-writes error
	[ "$FIX" = "CONFIG SET stop-writes-on-bgsave-error no" ]
	obey 1
	finds 0 1 stop-writes warning
	# its cause is still there
	nsenter --target "${PID[1]}" --mount mount -o remount,rw "$T/disk"
	node 1 bgsave > "$T/set"
	eventually info_says 1 rdb_last_bgsave_status:ok
	sound
}

@test "broken: a disk that is full" {
	needs mounts
	on_mount size=64k 1 --appendonly yes
	head -c 100000 /dev/zero | node 1 -x set big > "$T/set" || true
	eventually info_says 1 aof_last_write_status:err
	finds 0 1 stop-writes error
	is_like "$FIX" 'make room *'
}

@test "broken: too few replicas for its configuration; the fix works" {
	node 1 config set min-replicas-to-write 1 > "$T/set"
	finds 0 1 few-replicas error
	obey 1
	sound
}

@test "broken: busy with a script; the fix works" {
	node 2 config set busy-reply-threshold 20 > "$T/set"
	redis-cli -s "$T/2.sock" eval 'while true do end' 0 > "$T/script" 2>&1 3>&- &
	also_end $!
	busy() { node 2 get x 2>&1 | grep -q BUSY; }
	eventually busy
	finds 0 2 busy error
	obey 2
	eventually answers 2
	sound
}

@test "broken: still loading" {
	node 1 eval 'for n = 1, 20000 do redis.call("set", n, n) end' 0 > "$T/set"
	node 1 save > "$T/set"
	kill_node 1
	start_node 1 --key-load-delay 3000 --loading-process-events-interval-bytes 1024
	loading() { node 1 get x 2>&1 | grep -q LOADING; }
	eventually loading
	finds 0 1 loading error
}

# ---- clocks, times ----

@test "broken: a clock that is 40 s off, or 5" {
	with_a_clock 2
	sound
	for seconds in 40 -40; do
		jump 2 $seconds
		finds 0 2 clock-off error
	done
	is_like "$WORDS" "has another time of day, [34][0-9]s behind ours: too far for it to vote"
	for seconds in 5 -5; do
		jump 2 $seconds
		finds 0 2 clock-off warning
	done
	jump 2 0
	sound
}

# keeps_jumping I STEP: the clock of node I jumps again and again.
keeps_jumping() {
	local n=0
	while true; do
		jump "$1" $((n += $2))
		sleep 0.002
	done
}

@test "broken: a clock that is fast, or slow" {
	with_a_clock 2
	for way in '1 error' '-1 warning'; do
		keeps_jumping 2 ${way% *} 3>&- &
		jumps=$!
		also_end $jumps
		rated() {
			run --separate-stderr redlock doctor --json "${PATIENT[@]}"
			json '[.findings[] | select(.id == "clock-rate") | [.node[-6:], .severity]] == [["2.sock", "'${way#* }'"]]'
		}
		eventually rated
		kill $jumps
		wait $jumps || true
		jump 2 0
	done
	sound
}

@test "broken: a node that is slow for the node time-out; the fix works" {
	in_between 2 --delay 50
	eventually finds 0 "unix://$T/proxy2" latency warning --node-timeout 99ms
	is_like "$FIX" "--node-timeout *ms"
	eventually sound $FIX
}

# asks_within N: doctor measures the delay of node 2, and needs at most N round trips once it is connected. Four of them
# are those of new connections.
asks_within() {
	: > "$T/turns"
	run -0 --separate-stderr redlock doctor --json "${PATIENT[@]}"
	json '[.nodes[] | select(.latency.min_us >= 250000)] | length == 1'
	cat "$T/turns"
	[ "$(wc -c < "$T/turns")" -le "$1" ]
}

@test "a distant node: doctor asks all at once" {
	node 2 acl setuser bob on '>s3cret' '~*' resetchannels +@all > "$T/acl"
	in_between 2 --delay 300 --turns "$T/turns"
	asks_within 9
	json '[.findings[] | select(.node != null)] == []'
	# a refused subscription takes the connection down: the questions after it follow on a new one
	REDLOCK_NODES=${REDLOCK_NODES/"unix://$T/proxy2"/"unix://bob:s3cret@$T/proxy2"}
	asks_within 16
	json '[.findings[] | select(.node != null) | .id] == ["rights"]'
}

@test "broken: a TTL that is too short for the node time-out; the fix works" {
	finds 69 '' ttl error --ttl 15s
	obeyed=$FIX
	sound $obeyed
	finds 0 '' ttl warning --ttl 60s
	sound $FIX
	run -64 redlock run -k job --ttl 15s --node-timeout 10s -- echo never
}

@test "broken: a TTL that no lock could have: reported like one that is too short" {
	for ttl in 0 1ms 2ms 3ms; do
		run -69 --separate-stderr redlock doctor --json --node-timeout 10s --ttl $ttl
		json '[.findings[] | select(.id == "ttl") | .severity] == ["error"]'
		FIX=$(jq -r '.findings[] | select(.id == "ttl") | .fix' <<< "$output")
		is_like "$FIX" "--ttl *s"
	done
	run -0 --separate-stderr redlock doctor --json --node-timeout 10s $FIX
	json '[.findings[] | select(.id == "ttl")] == []'
	run -69 --separate-stderr redlock doctor --json --node-timeout 10s --ttl 4ms --drift-factor 0.5
	json '[.findings[] | select(.id == "ttl") | .severity] == ["error"]'
	REDLOCK_TTL=0 run -69 --separate-stderr redlock doctor --json --node-timeout 10s
	json '[.findings[] | select(.id == "ttl") | .severity] == ["error"]'
}

# ---- number, persistence ----

@test "broken: an even number of nodes" {
	start_node 4
	eventually admitted 4
	finds 0 '' even warning --node "unix://$T/4.sock" --nodes "$REDLOCK_NODES"
	finds 1 '' even warning --node "unix://$T/4.sock" --nodes "$REDLOCK_NODES" --strict
}

@test "broken: a single node that forgets; the fixes work" {
	export REDLOCK_NODES="unix://$T/1.sock"
	finds 0 1 persistence warning
	obey 1
	eventually info_says 1 aof_enabled:1
	finds 0 1 persistence warning
	[ "$FIX" = "CONFIG SET appendfsync always" ]
	obey 1
	finds 0 '' single note --strict
}

# ---- the restart guard ----

# in_quarantine I MS: node I is in quarantine for that long, from now on.
in_quarantine() {
	local id now
	id=$(node "$1" info server | tr -d '\r' | sed -n 's/^run_id://p')
	now=$(node "$1" time | sed -n 1p)
	node "$1" set '{redlock}:node' "$id $((now * 1000 + $2)) 700000 $((now * 1000 + $2)) 0" > "$T/set"
}

# bats test_tags=not-under-qemu
@test "a restarted node is reported; one in quarantine does not count; --admit" {
	restart 1
	finds 0 1 not-admitted warning
	finds 1 1 not-admitted warning --strict
	[ "$WORDS" = "new or restarted, and not used since: its quarantine of 11m begins with the first lock" ]
	finds 0 1 not-admitted warning --max-ttl 1000s
	[ "$WORDS" = "new or restarted, and not used since: its quarantine of 18m begins with the first lock" ]
	# a query does not begin the quarantine
	[ "$(node 1 exists '{redlock}:node')" = 0 ]
	node 1 set '{redlock}:node' 0123456789abcdef0123456789abcdef01234567 > "$T/set"
	finds 0 1 not-admitted warning
	run -0 --separate-stderr redlock doctor --json "${PATIENT[@]}" --restart-guard off
	json '[.findings[] | [.id, .severity]] | unique == [["persistence", "warning"]]'
	# a run does begin it
	run -0 redlock run -n -k job "${PATIENT[@]}" -- true
	mark=$(node 1 get '{redlock}:node')
	quarantined() {
		run "-$1" --separate-stderr redlock doctor --json "${PATIENT[@]}"
		json '[.findings[] | select(.node != null) | [.id, .severity]] | unique == [["quarantine", "warning"]]'
		json ".usable == $2"
		WORDS=$(jq -r '.findings[0].words' <<< "$output")
	}
	quarantined 0 2
	is_like "$WORDS" "in quarantine: it votes again in 1[01]m, automatically"
	[ "$(node 1 get '{redlock}:node')" = "$mark" ]
	in_quarantine 2 700000
	quarantined 69 1
	says 64 '' "redlock: missing --yes: nothing was admitted" doctor --admit < /dev/null
	run -64 --separate-stderr redlock doctor --admit --json < /dev/null
	json '.command == "doctor" and .outcome == "not-confirmed" and .status == 64'
	[ "$(node 1 get '{redlock}:node')" = "$mark" ]
	kill_node 3
	says 0 "unix://$T/1.sock: admitted
unix://$T/2.sock: admitted
unix://$T/3.sock: cannot be reached" '' doctor --admit --yes "${PATIENT[@]}"
	start_node 3
	eventually answers 3
	run -0 --separate-stderr redlock doctor --admit -y --json "${PATIENT[@]}"
	json '.schema == 1 and .command == "doctor" and .outcome == "admitted" and .status == 0'
	json '[.nodes[] | [.node[-6:], .admitted, .words]] == [["1.sock", true, "had its vote already"], ["2.sock", true, "had its vote already"], ["3.sock", true, "admitted"]]'
	sound
	in_quarantine 1 -1000
	sound
	run -0 redlock run -n -k job "${PATIENT[@]}" -v -- true
	[[ "$output" != *quarantine* ]]
}

@test "--admit: a lock on any node that a new node may have forgotten prevents the admission: 69" {
	token=$(redlock acquire -k job --ttl 10m "${PATIENT[@]}")
	eventually held_on job 3
	# nodes that vote already have forgotten nothing
	says 0 '*' '' doctor --admit -y "${PATIENT[@]}"
	for i in 1 2; do node $i flushall; done > "$T/set"
	says 69 "unix://$T/1.sock: not admitted
unix://$T/2.sock: not admitted
unix://$T/3.sock: not admitted" "redlock: cannot admit the nodes: 'job' is held on unix://$T/3.sock, and a new node may have forgotten it?hint: the nodes vote automatically when *" \
		doctor --admit -y "${PATIENT[@]}"
	[ -z "$(node 1 get '{redlock}:node')" ]
	run -69 --separate-stderr redlock doctor --admit -y --json "${PATIENT[@]}"
	json '.outcome == "locks-held" and .status == 69'
	node 3 del job > "$T/set"
	says 0 '*' '' doctor --admit -y "${PATIENT[@]}"
	[ -n "$(node 1 get '{redlock}:node')" ]
}

@test "--admit: a new node is not admitted if it and the nodes that do not answer may have been the majority of a lock" {
	redlock acquire -k job --ttl 10m "${PATIENT[@]}" > "$T/token"
	eventually held_on job 3
	node 2 del job > "$T/set"
	node 1 flushall > "$T/set"
	kill_node 3
	says 69 "unix://$T/1.sock: not admitted
unix://$T/2.sock: not admitted
unix://$T/3.sock: cannot be reached" "redlock: cannot admit the nodes: cannot search unix://$T/3.sock for locks: it cannot be reached*" \
		doctor --admit -y "${PATIENT[@]}"
	[ -z "$(node 1 get '{redlock}:node')" ]
	# new nodes that are a majority: the user says that there is no lock
	node 2 flushall > "$T/set"
	says 0 "unix://$T/1.sock: admitted*" '' doctor --admit -y "${PATIENT[@]}"
}

@test "--admit: a node that cannot be searched for locks prevents the admission: 69, and the missing right is named" {
	refused() {
		run -69 --separate-stderr redlock doctor --admit -y "${PATIENT[@]}"
		is_like "$output" "*1.sock: not admitted?*2.sock: not admitted?*3.sock: not admitted"
		is_like "$stderr" "redlock: cannot admit the nodes: cannot search unix://*$T/$1.sock for locks: it $2"
		[ -z "$(node 1 get '{redlock}:node')" ]
	}
	token=$(redlock acquire -k job --ttl 10m "${PATIENT[@]}")
	eventually held_on job 3
	for i in 1 2; do node $i flushall; done > "$T/set"
	with_user 3 +@all -scan
	refused 3 "denies permission*hint: in redis-cli on unix://$T/3.sock: ACL SETUSER bob +scan*"
	node 3 acl setuser bob +scan -getrange > "$T/acl"
	refused 3 'denies permission*hint: *ACL SETUSER bob *+getrange*'
	# the key of the lock is not among the user's
	node 3 acl setuser bob +getrange resetkeys '~{redlock}:node' '~other' > "$T/acl"
	refused 3 'denies permission*hint: *name a user that may read all keys *'
	run -69 --separate-stderr redlock doctor --admit -y --json "${PATIENT[@]}"
	json '.outcome == "locks-unknown" and .status == 69'
	# for another reason than rights
	node 3 acl setuser bob '~*' > "$T/acl"
	again 2 --rename-command SCAN ''
	node 2 del '{redlock}:node' > "$T/set"
	refused 2 '*'
	again 2
	node 3 del job > "$T/set"
	says 0 '*' '' doctor --admit -y "${PATIENT[@]}"
}

@test "--admit: a node that is not admitted is reported: 69" {
	with_user 1 +@all -info
	with_user 2 +@all -set
	node 3 del '{redlock}:node' > "$T/set"
	says 69 "unix://$T/1.sock: does not report its run id
unix://$T/2.sock: denies permission
unix://$T/3.sock: admitted" '' doctor --admit --yes "${PATIENT[@]}"
	run -69 --separate-stderr redlock doctor --admit --yes --json "${PATIENT[@]}"
	json '.outcome == "incomplete" and .nodes[0].words == "does not report its run id" and .nodes[2].admitted'
}

@test "--admit: one server under two names is not two voters: 78, and no node is admitted" {
	node 1 del '{redlock}:node' > "$T/set"
	node 2 del '{redlock}:node' > "$T/set"
	ln -s 1.sock "$T/again.sock"
	export REDLOCK_NODES="unix://$T/1.sock unix://$T/again.sock unix://$T/2.sock"
	says 78 "unix://$T/1.sock: not admitted
unix://$T/again.sock: is the same server as unix://$T/1.sock
unix://$T/2.sock: not admitted" "redlock: cannot admit the nodes: two of them are one server
hint: name a separate server for each node" doctor --admit --yes "${PATIENT[@]}"
	run -78 --separate-stderr redlock doctor --admit --yes --json "${PATIENT[@]}"
	json '.outcome == "duplicate-node" and .status == 78 and ([.nodes[] | .admitted] == [false, false, false])'
	for i in 1 2; do [ "$(node $i exists '{redlock}:node')" = 0 ]; done
}

@test "--admit on a terminal: asks, and only yes is a yes" {
	restart 1
	on_pty() { run "$REDLOCK_BUILD/tools/pty" "$@" -- "$REDLOCK_BUILD/redlock" doctor --admit "${PATIENT[@]}"; }
	on_pty expect:"Only if none has forgotten a lock" expect:"Type 'yes' to do so" send:'y\r' expect:'nothing was admitted'
	[ "$status" -eq 75 ]
	[ "$(node 1 exists '{redlock}:node')" = 0 ]
	on_pty expect:"Type 'yes' to do so" send:'yes\r' expect:"1.sock: admitted" expect:"3.sock: had its vote already"
	[ "$status" -eq 0 ]
	sound
}

# ---- servers' texts are not trusted ----

@test "a server's text cannot control the terminal" {
	kill_node 2
	"$REDLOCK_BUILD/tools/hostile" "$T/2.sock" '-ERR \x1b[2J\x1b[31mgone\r\n' > "$T/ready" 3>&- &
	also_end $!
	eventually test -s "$T/ready"
	run --separate-stderr redlock doctor -vv "${PATIENT[@]}"
	[[ "$output" == *'ERR \x1b[2J\x1b[31mgone'* ]]
	[[ "$output$stderr" != *$'\e'* ]]
}
