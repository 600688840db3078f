# Several keys in one lock: all of them or none.

load nodes

setup() {
	nodes_start 3
	export XDG_RUNTIME_DIR=$T
	unset REDLOCK_KEY REDLOCK_KEYS REDLOCK_TOKEN REDLOCK_HELD
	# A key that is free before then was released; and a node has time to answer on a busy machine.
	export REDLOCK_TTL=10m REDLOCK_NODE_TIMEOUT=10s
	export T N
	export_helpers
}
teardown() { nodes_stop; }

BOTH=(-k a -k b)
# No key expires before the test does, and no reservation either.
LONG=(--ttl 1h --node-timeout 60s)

# take KEY: another client holds it, with redlock; its token is in TOKEN.
take() { TOKEN=$(redlock acquire "${LONG[@]}" -k "$1" --owner "who has $1"); }
give() { redlock release "${LONG[@]:2}" -k "$1" --token "$2"; }
none_of() {
	local key
	for key; do free_everywhere "$key"; done
}

# extend_at_last FILE ARG...: an extension by $token, in BG. Nodes 1 and 2 reply after node 3: if their votes are not
# enough, redlock waits for its reply. The TTL is an hour.
extend_at_last() {
	stop_node 1
	stop_node 2
	in_background "$1" extend --ttl 1h --token "$token" "${@:2}"
	eventually lasts_beyond 3 "${@: -1}" 3000000
	continue_node 1
	continue_node 2
}
lasts_beyond() { [ "$(node "$1" pttl "$2")" -gt "$3" ]; }

# ---- run ----

@test "a run acquires all of its keys, and releases all of them" {
	run -0 --separate-stderr redlock run -k b -k a -k b -- bash -c 'echo "$REDLOCK_KEYS:$REDLOCK_KEY"
		eventually held_on b 3
		for i in 1 2 3; do node $i mget a b; done'
	[ "${lines[0]}" = 2:a ]
	[ "${lines[1]}" = b ]
	[ "${lines[2]}" = "${lines[3]}" ] # the same value
	[ "$(sort -u <<< "${output#*b$'\n'}" | grep -c .)" -eq 1 ]
	is_like "$stderr" ''
	none_of a b
}

@test "one key is busy: it is named, and none of the others is left" {
	for busy in a b; do
		take $busy
		run -75 --separate-stderr redlock run -n "${BOTH[@]}" -k c -- touch "$T/never"
		is_like "$stderr" "redlock: '$busy' is busy: held by who has $busy since * on [23] of 3 nodes, *"
		give $busy "$TOKEN"
		none_of a b c
	done
	[ ! -e "$T/never" ]
	# also if another program holds it
	for i in 1 2 3; do node $i set b other px 600000; done > "$T/set"
	run -75 redlock run -n "${BOTH[@]}" -- touch "$T/never"
	is_like "$output" "redlock: 'b' is busy: held by another program (value 'other') on [23] of 3 nodes, *"
	none_of a
}

@test "a and b, b and a, b and c, c and a: no deadlock, and no two holders of a key at once" {
	# each section counts up in a file for each of its keys; no other section may do so meanwhile
	cat > "$T/count" <<- 'END'
		for key; do read -r n < "$T/$key"; eval "$key=$n"; done
		for key; do eval "echo $(($key + 1))" > "$T/$key"; done
	END
	for key in a b c; do echo 0 > "$T/$key"; done
	export T
	pids=()
	for pair in "a b" "b a" "b c" "c a"; do
		read -r one two <<< "$pair"
		for loop in 1 2; do
			(for n in 1 2 3 4 5 6; do
				redlock run -q -k $one -k $two -- bash "$T/count" $one $two || echo "$?" >> "$T/failed"
			done) 3>&- &
			pids+=($!)
			also_end $!
		done
	done
	wait "${pids[@]}"
	[ ! -e "$T/failed" ]
	[ "$(cat "$T/a" "$T/b" "$T/c" | tr '\n' ' ')" = "36 36 24 " ]
	none_of a b c
}

@test "busy keys are awaited one after the other" {
	take a
	first=$TOKEN
	take b
	in_background "$T/out" run "${LONG[@]}" "${BOTH[@]}" -- echo ran
	eventually in_queue 1
	eventually file_has "$T/out" "waiting: 'a' is held by who has a"
	give a "$first"
	# it has left that queue for the other
	eventually eval 'node 1 exists "redlock:queue:{b}" | grep 1 || node 2 exists "redlock:queue:{b}" | grep 1 || node 3 exists "redlock:queue:{b}" | grep 1' > "$T/found"
	eventually in_queue 1
	not file_has "$T/out" ran
	none_of a
	give b "$TOKEN"
	ended_with 0
	file_has "$T/out" ran
}

@test "a reservation that is not used is passed on at once: a waiter for that key alone gets it" {
	take a
	first=$TOKEN
	take b
	in_background "$T/both" run "${LONG[@]}" "${BOTH[@]}" -- echo ran
	both=$BG
	eventually in_queue 1
	in_background "$T/one" run "${LONG[@]}" -k a -- echo ran
	eventually in_queue 2
	give a "$first"
	# a reservation lasts for a minute here
	ended_with 0
	file_has "$T/one" ran
	not file_has "$T/both" ran
	eventually in_queue 1
	give b "$TOKEN"
	BG=$both
	ended_with 0
}

@test "void reservations, of two keys: a waiter that needs both is not delayed by them" {
	# the queue nodes differ from pair to pair
	for round in 1 2 3 4 5 6; do
		a=a$round b=b$round
		take $a
		first=$TOKEN
		take $b
		pids=()
		for keys in "-k $b" "-k $a" "-k $a -k $b"; do
			in_background "$T/out.$round" run "${LONG[@]}" $keys -- true
			pids+=("$BG")
			eventually in_queue ${#pids[@]}
		done
		give $a "$first"
		give $b "$TOKEN"
		# (a reservation lasts for a minute here)
		for pid in "${pids[@]}"; do eventually is_gone "$pid"; done
		wait "${pids[@]}"
	done
}

@test "a waiter for two keys waits for its own reservation, with others before it and after it" {
	take b
	for n in 1 2 3; do
		in_background "$T/out.$n" run "${LONG[@]}" $([ $n = 2 ] && echo "-k a") -k b -- sh -c "echo $n >> '$T/order'"
		pids[n]=$BG
		eventually in_queue $n
	done
	give b "$TOKEN"
	wait "${pids[@]}"
	[ "$(tr '\n' ' ' < "$T/order")" = "1 2 3 " ]
}

@test "--fair: no waiter is passed on any of the keys" {
	take b
	in_background "$T/one" run --fair "${LONG[@]}" -k b -- sh -c "echo one >> '$T/order'"
	one=$BG
	eventually in_queue 1
	in_background "$T/both" run --fair "${LONG[@]}" "${BOTH[@]}" -- sh -c "echo both >> '$T/order'"
	eventually in_queue 2
	give b "$TOKEN"
	ended_with 0
	BG=$one
	ended_with 0
	[ "$(tr '\n' ' ' < "$T/order")" = "one both " ]
}

@test "a key that is deleted on a minority is repaired; on a majority, the lock is lost and the other key released" {
	in_background "$T/out" run --ttl 8s --node-timeout 2s "${BOTH[@]}" -- sh -c 'trap "exit 3" TERM; while :; do sleep 0.05; done'
	eventually held_on b 3
	node 2 del b > "$T/set"
	eventually held_on b 3
	eventually held_on a 3
	for i in 1 3; do node $i set b thief px 600000 > "$T/set"; done
	ended_with 79
	file_has "$T/out" "lost 'a', 'b': now 'b' is held by another program (value 'thief')"
	none_of a
	[ "$(node 2 exists b)" = 0 ]
	held_on b 2
}

@test "--min-hold keeps all of them" {
	redlock run --min-hold 600s "${BOTH[@]}" -- true
	eventually held_on a 3
	eventually held_on b 3
	run -75 redlock run -n -k b -- true
	run -75 redlock run -n -k a -- true
}

@test "--fence: one number, larger than the numbers of each of the keys" {
	# (ahead of all clocks)
	ahead=$(($(date +%s) + 1000))0000
	for i in 1 2 3; do
		node $i set 'redlock:fence:{a}' "${ahead}10"
		node $i set 'redlock:fence:{b}' "${ahead}20"
	done > "$T/set"
	[ "$(redlock run --fence "${BOTH[@]}" -- sh -c 'echo $REDLOCK_FENCE')" = "${ahead}21" ]
	[ "$(redlock run --fence -k a -- sh -c 'echo $REDLOCK_FENCE')" = "${ahead}22" ]
	[ "$(redlock run --fence "${BOTH[@]}" -- sh -c 'echo $REDLOCK_FENCE')" = "${ahead}23" ]
}

@test "a node where one of the keys is forbidden has none of them" {
	for i in 1 2; do
		node $i acl setuser narrow on '>pw' '~a' '%R~b' '~redlock:*' '~{redlock}:node' +@all
	done > "$T/set"
	nodes="unix://narrow:pw@$T/1.sock unix://narrow:pw@$T/2.sock unix://$T/3.sock"
	run redlock run -n --nodes "$nodes" "${BOTH[@]}" -- touch "$T/never"
	[ "$status" -eq 69 ]
	[[ "$output" == *"/"[123]".sock denies permission"* ]]
	none_of a b
	[ ! -e "$T/never" ]
}

@test "a nested run: every key of the outer one is refused, other keys are not" {
	run -75 redlock run "${BOTH[@]}" -- "$REDLOCK_BUILD/redlock" run -k c -k b -- true
	[ "$output" = "redlock: 'b', 'c' are held by a run that this one is part of" ]
	run -0 --separate-stderr redlock run "${BOTH[@]}" -- "$REDLOCK_BUILD/redlock" run -k c -- sh -c 'echo $REDLOCK_KEYS $REDLOCK_KEY'
	[ "$output" = "1 c" ]
	run -64 redlock run --reentrant "${BOTH[@]}" -- true
	[ "${lines[0]}" = "redlock: --reentrant accepts one key only" ]
}

# ---- scripts ----

@test "acquire, check, extend, release: by the environment that acquire gives" {
	eval "$(redlock acquire --format env "${BOTH[@]}")"
	[ "$REDLOCK_KEY" = $'a\nb' ]
	export REDLOCK_KEY REDLOCK_KEYS REDLOCK_TOKEN
	eventually held_on a 3
	eventually held_on b 3
	redlock check
	redlock extend --ttl 1h
	for key in a b; do eventually lasts_beyond 1 $key 3000000; done
	says 0 '' "redlock: released 'a', 'b'" release -v
	none_of a b
	says 79 '' "redlock: 'a', 'b' are no longer held by this token: they have expired or were released" check
}

@test "several keys, and too few nodes to decide: the message names all keys" {
	kill_node 2
	kill_node 3
	says 69 '' "redlock: 'a', 'b': cannot tell whether this token holds them: 0 of 3 nodes confirmed them, 1 denied them, 2 did not vote, 2 needed*
hint: they expire when the TTL ends
hint: *no server listens there: *" release "${BOTH[@]}" --token x
}

@test "one key of two has another holder by now: the message says so, and the other key is released" {
	token=$(redlock acquire "${BOTH[@]}" --ttl 10m)
	eventually held_on b 3
	for i in 1 2 3; do node $i set b thief px 600000; done > "$T/set"
	says 79 '' "redlock: 'b' is no longer this token's: now held by another program (value 'thief') on [23] of 3 nodes, *
hint: name the other keys alone: the token still holds them" check "${BOTH[@]}" --token "$token"
	for command in extend release; do
		says 79 '' "redlock: 'a', 'b' are no longer this token's: now held by another program (value 'thief') on [23] of 3 nodes, *" \
			$command "${BOTH[@]}" --token "$token"
	done
	none_of a
	eventually held_on b 3
	# and if it is gone
	token=$(redlock acquire -k a -k c --ttl 10m)
	eventually held_on c 3
	for i in 1 2 3; do node $i del c; done > "$T/set"
	says 79 '' "redlock: 'c' is no longer held by this token: it has expired or was released
hint: name the other keys alone: the token still holds them" check -k a -k c --token "$token"
	for command in extend release; do
		says 79 '' "redlock: 'a', 'c' are no longer held by this token: they have expired or were released*" \
			$command -k a -k c --token "$token"
	done
	none_of a
}

@test "an extension that fails releases the remaining keys" {
	token=$(redlock acquire "${BOTH[@]}" --ttl 10m)
	eventually held_on b 3
	node 1 del a > "$T/set"
	node 2 del b > "$T/set"
	extend_at_last "$T/out" "${BOTH[@]}"
	ended_with 79
	none_of a b
}

@test "a check of a lock with several keys may name one of them" {
	redlock run "${BOTH[@]}" -- sh -c "'$REDLOCK_BUILD/redlock' check -k b && '$REDLOCK_BUILD/redlock' check" > "$T/out"
	run -64 redlock run "${BOTH[@]}" -- "$REDLOCK_BUILD/redlock" check -k c
	is_like "$output" "redlock: missing token?*"
}

@test "hold: found by all of its keys, in any order" {
	redlock hold -k b -k a > "$T/held"
	eventually held_on a 3
	eventually held_on b 3
	run -0 redlock hold --list
	is_like "$output" "'a', 'b' since * by process *"
	run -64 redlock release -k a
	redlock release "${BOTH[@]}"
	none_of a b
}

@test "wait: until all of them are free" {
	take a
	first=$TOKEN
	take b
	run -75 redlock wait -n "${BOTH[@]}"
	is_like "$output" "redlock: 'a' is busy: held by who has a *"
	in_background "$T/out" wait "${LONG[@]:2}" "${BOTH[@]}"
	eventually in_queue 1
	give a "$first"
	none_of a
	run -75 redlock wait -n "${BOTH[@]}"
	is_like "$output" "redlock: 'b' is busy: held by who has b *"
	give b "$TOKEN"
	ended_with 0
}

@test "JSON, records and metrics name all keys" {
	run -0 --separate-stderr redlock acquire --json -k a -k 'b"c'
	json '.key == "a\nb\"c" and .keys == ["a", "b\"c"]'
	redlock run -k d -k e --record "$T/record" --metrics-file "$T/metrics" -- true
	run -0 cat "$T/record"
	json '.key == "d\ne" and .keys == ["d", "e"]'
	grep -F 'key="d\ne"' "$T/metrics" > "$T/found"
	# one key has no list
	run -0 --separate-stderr redlock acquire --json -k f
	json 'has("keys") | not'
}

@test "options that refuse several keys" {
	says 64 '' "redlock: the key 'b?x0ac' has a newline in it: it cannot be one of several?hint: see 'redlock help run'" run -k a -k $'b\nc' -- true
	says 64 '' "redlock: too many keys: at most 16 are allowed?hint: *" run $(printf -- '-k %s ' {1..17}) -- true
	says 0 '' '' run $(printf -- '-k %s ' {1..16}) -- true
	says 64 '' "redlock: the keys are too long: at most 4096 bytes together are allowed?hint: *" \
		run -k "$(printf '%3000d' 0)" -k "$(printf '%3001d' 0)" -- true
}

# ---- names and keys ----

@test "--key-format: the user types a name; the nodes have, and messages show, the key" {
	take lock:job
	run -75 --separate-stderr redlock run -n --key-format lock:%s -k job -- true
	is_like "$stderr" "redlock: 'lock:job' is busy: held by who has lock:job *"
	export REDLOCK_KEY_FORMAT=lock:%s
	says 75 '' "redlock: 'lock:job' is busy: *" wait -n -k job
	says 0 "'lock:job' is held by who has lock:job *" '' status job
	says 0 "*?lock:job?who has lock:job?*" '' status
	run -0 --separate-stderr redlock status --json free job
	json '[.locks[].key] == ["lock:free", "lock:job"]'
	says 0 '*' '*lock:job*' break -fy -k job
	none_of lock:job
	# in the order of the keys
	run -0 --separate-stderr redlock acquire --json --key-format '%%%sx' -k a -k a!
	json '.key == "%a!x\n%ax" and .keys == ["%a!x", "%ax"]'
	eventually held_on %ax 3
	redlock run -k d --record "$T/record" --metrics-file "$T/metrics" -- true
	run -0 cat "$T/record"
	json '.key == "lock:d"'
	grep -F 'key="lock:d"' "$T/metrics" > "$T/found"
	says 0 "'lock:job': 0 of 2 slots are held*'lock:job#2' is free" '' status -L 2 job
}

@test "--key-format: a redlock within the command maps names in the same way" {
	export PATH=$REDLOCK_BUILD:$PATH
	for names in '-k job' '-k job -k other'; do
		run -79 --separate-stderr redlock run --key-format lock:%s $names -- bash -ec '
			eventually held_on lock:job 3
			redlock check > "$T/valid"
			redlock extend --ttl 1h
			redlock extend '"$names"' --ttl 1h
			[ "$REDLOCK_KEYS" = 2 ] || redlock check -k "$REDLOCK_KEY" --min-validity 31m > "$T/valid"
			redlock run -n -E 7 -k job -- true 2> "$T/nested" || [ $? = 7 ]
			redlock run -k own -- bash -ec "eventually held_on lock:own 3"
			redlock run --key-format %s -k job -- bash -ec "eventually held_on job 3; redlock check > \"\$T/valid\""
			redlock release'
		# the command released the lock of its own run
		is_like "$output" ''
		is_like "$stderr" "redlock: lost *'lock:job'*: the key is gone from [23] of 3 nodes"
		is_like "$(< "$T/nested")" "redlock: 'lock:job' is held by a run that this one is part of*"
		none_of lock:job job
	done
	redlock run --key-format lock:%s -k job -- redlock run --reentrant -k job -- bash -ec 'eventually held_on lock:job 3; held_on job 0'
	# also from a file that cannot be read again
	REDLOCK_CONFIG=<(echo 'key-format = lock:%s') redlock run -k job -- bash -ec 'eventually held_on lock:job 3; redlock extend'
}

@test "--key-format: acquire and hold" {
	eval "$(redlock acquire -k job --key-format lock:%s --format env)"
	eventually held_on lock:job 3
	redlock extend
	redlock release
	none_of lock:job
	[ "$REDLOCK_KEY_FORMAT" = lock:%s ]
	unset REDLOCK_KEY REDLOCK_KEYS REDLOCK_TOKEN REDLOCK_HELD
	redlock hold -k job > "$T/hold"
	run -0 redlock hold --list
	is_like "$output" "*lock:job* since *"
	run -64 redlock release --key-format %s -k job
	is_like "$output" "redlock: missing token: no background holder of this user has 'job'*"
	redlock release -k job
	none_of lock:job
}

@test "--key-format redlock:%s: the lock 'node' is one like any other, and the restart guard works" {
	run -0 --separate-stderr redlock run -n --key-format redlock:%s -k node -- sh -c "redis-cli -s $T/1.sock get redlock:node"
	[[ "$output" =~ ^[0-9a-f]{40}: ]]
	is_like "$stderr" ''
	# a library's key
	for i in 1 2 3; do node $i set redlock:node f81d4fae-7dec-11d0-a765-00a0c91e6bf6 px 60000 > "$T/set"; done
	run -75 redlock run -n --key-format redlock:%s -k node -- true
	run -0 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" ''
}

@test "--key-format: bad formats, and results that can be no key" {
	says 64 '' "redlock: --key-format 'lock:' has no %s: where does the name go??hint: see 'redlock help run'" \
		run --key-format lock: -k a -- true
	REDLOCK_KEY_FORMAT=%s%s says 64 '' "redlock: REDLOCK_KEY_FORMAT '%s%s' has %s more than once?hint: *" release -k a --token t
	printf '\nkey-format = %%d:%%s\n' > "$T/config"
	says 78 '' "redlock: $T/config:2:14: key-format '%d:%s' has a % that is neither %s nor %%?hint: *" status --config "$T/config" a
	for words in 'status node' 'wait -k node'; do
		REDLOCK_KEY_FORMAT='{redlock}:%s' says 64 '' "redlock: the key '{redlock}:node' is redlock's own?hint: *" $words
	done
	# doctor reports a bad format, too; gate has no keys
	REDLOCK_KEY_FORMAT=wrong says 64 '' "redlock: REDLOCK_KEY_FORMAT 'wrong' has no %s*" doctor
	says 64 '' "redlock: --key-format is not an option of 'redlock gate'*" gate --key-format %s
}
