# User and password: every way to set them, none that exposes them, and the fewest rights that suffice.

load nodes

setup() {
	nodes_start 3
	unset REDLOCK_CONFIG REDLOCK_TOKEN REDLOCK_HELD
	export REDLOCK_NODE_TIMEOUT=3s XDG_CONFIG_HOME=$T/nowhere PATH=$REDLOCK_BUILD:$PATH
	umask 077
	for i in 1 2 3; do
		node $i acl setuser app on '>s3cret' '~*' '&*' '+@all' > "$T/acl"
		node $i config set requirepass maste7 > "$T/acl"
	done
	echo s3cret > "$T/pass"
}
teardown() { nodes_stop; }

# as_master I ARG...: redis-cli with all rights.
as_master() {
	local i=$1
	shift
	REDISCLI_AUTH=maste7 redis-cli -s "$T/$i.sock" "$@"
}
key_is_held() { [ "$(as_master 1 exists "$1")" = 1 ]; }

# redlock extends such a lock every four seconds.
BRIEF=(--ttl 12s --node-timeout 2s)

# works ARG...: redlock acquires a lock.
works() { says 0 'done' '' run -n -k job "$@" -- echo done; }
mistaken() {
	says 69 '' '*refuses the password (WRONGPASS *hint: *correct the password of user *, which comes from *' run -n -k job "$@" -- echo never
}
refused() {
	says 69 '' '*requires a password*hint: *name the password: --password-file FILE or REDLOCK_PASSWORD; with an ACL user, also --username USER' \
		run -n -k job "$@" -- echo never
}

@test "--format env: no password is printed, and later calls find the one that they need" {
	local nodes=$REDLOCK_NODES by_url
	by_url=${nodes//unix:\/\//unix:\/\/app:s3cret@}
	unset REDLOCK_NODES
	script() { env "$@" sh -c 'l=$1; shift; out=$("$l" acquire -k job --format env "$@") || exit; echo "$out"
		eval "$out"; "$l" release' sh "$REDLOCK_BUILD/redlock" "${arguments[@]}"; }
	arguments=(--nodes "$nodes" --username app --password-file "$T/pass")
	run -0 script REDLOCK_PASSWORD=wrong
	[[ "$output" == *"REDLOCK_PASSWORD_FILE='$T/pass';"* && "$output" == *"REDLOCK_NODES='$nodes';"* ]]
	arguments=(--nodes "$nodes" --username app)
	run -0 script REDLOCK_PASSWORD=s3cret REDLOCK_USERNAME=app
	[[ "$output" == *"REDLOCK_NODES='$nodes';"* && "$output" != *s3cret* ]]
	arguments=()
	run -0 script "REDLOCK_NODES=$by_url"
	[[ "$output" != *REDLOCK_NODES* && "$output" != *s3cret* ]]
}

@test "a password in the place of a user, and URLs that do not parse: no output has it" {
	local url word place paths="$T/2.sock unix://$T/3.sock"
	local urls=("unix://s3cret@$T/1.sock" 'redis://s3cret@127.0.0.1:1' 'redis://u:12/s3cret' 'redis://127.0.0.1/s3cret'
		'redis://u:p@h:1:s3cret' 'redis://u:s3cret' 'redis://:s3cret' 'redis://a:1?password=s3cret' 'redis:/u:s3cret@a:x'
		'redis//s3cret@a:x' 's3cret@a:x' 'redis://u:p@x@s3cret@a:x' 'redis://[::1:s3cret' 'u:s3cret:more' "unix://u:s3cret@s"
		"/run/s?password=s3cret" 'redis://u:s3%63ret%@a')
	silent() {
		timeout 20 redlock "$@" < /dev/null > "$T/all" 2>&1 || [ $? -ne 124 ]
		not grep -E 's3|cret' "$T/all"
		[ -s "$T/all" ] || { [ "$1" = run ] && return 1; }
	}
	for url in "${urls[@]}"; do
		echo "# $url"
		printf 'nodes = %s unix://%s\n' "$url" "$paths" > "$T/config"
		for place in --nodes=XX env config word; do
			case $place in
			env) export REDLOCK_NODES="$url unix://$paths" ;;
			config) unset REDLOCK_NODES && export REDLOCK_CONFIG=$T/config ;;
			word) unset REDLOCK_CONFIG && export REDLOCK_NODES="unix://$T/1.sock unix://$paths" ;;
			esac
			options=()
			[[ $place != -* ]] || options=("--nodes=$url unix://$paths")
			# any other word can be a key: it is no URL
			word=job
			[[ $url != *:/* ]] || word=$url
			[[ $place != word ]] || options=("--ttl=$word")
			silent run -n -k job -vv "${options[@]}" -- sh -c 'env; cat /proc/$PPID/cmdline'
			silent run -n -k job --json "${options[@]}" --on-event env -- true
			silent config "${options[@]}"
			silent config --json "${options[@]}"
			silent doctor "${options[@]}"
			silent doctor --json "${options[@]}"
			silent status -v "${options[@]}" job
			silent check "${options[@]}" "$word"
			silent wait "${options[@]}" "$word" -n
		done
	done
	unset REDLOCK_CONFIG
	url=unix://maste7@$T/1.sock
	run -69 redlock run -n -k job --nodes "$url" -- true
	[[ "$output" == *"hint: write a password after a colon, redis://:PASSWORD@host; "* && "$output" != *maste7* ]]
	run -69 redlock doctor --nodes "$url"
	[[ "$output" == *"fix: write a password after a colon, redis://:PASSWORD@host; "* && "$output" != *maste7* ]]
	# with a password, it is a user
	works --nodes "unix://app@$T/1.sock" --password-file "$T/pass"
	run -0 redlock config --nodes "unix://app@$T/1.sock" --password-file "$T/pass"
	[[ "$output" == *"unix://app@$T/1.sock"* ]]
}

@test "password and user: environment, file, configuration, URL" {
	refused
	REDLOCK_PASSWORD=maste7 works
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret works
	REDLOCK_PASSWORD=s3cret works --username app
	REDLOCK_USERNAME=app works --password-file "$T/pass"
	REDLOCK_USERNAME=app REDLOCK_PASSWORD_FILE=$T/pass works
	cd "$T"
	works --username app --password-file pass
	works --username app --password-file <(echo s3cret)
	printf 's3cret\r\nnot this\n' > "$T/crlf"
	works --username app --password-file crlf
	printf '[text]\nusername = app\npassword = s3cret\n[file]\nusername = app\npassword-file = %s\n[master]\npassword = maste7\n' "$T/pass" > "$T/config"
	for profile in text file master; do works --config config --profile $profile; done
	refused --config config
	# each node has its own password; the one in a URL counts for its node
	as_master 2 acl setuser app '>s3c:@ret,2' '<s3cret' > "$T/acl"
	as_master 3 acl setuser other on '>s3cret' '~*' '&*' '+@all' > "$T/acl"
	as_master 3 acl setuser app off > "$T/acl"
	REDLOCK_NODES="unix://$T/1.sock unix://app:s3c%3A%40ret%2c2@$T/2.sock unix://other@$T/3.sock"
	run -0 redlock run -vv -n -k job --username app --password-file pass -- true
	[[ "$output" != *"a password"* ]]
	[[ "$output" == *"acquired 'job' on "[23]" of 3"* ]]
}

# through PROXY_OPTION...: each node behind a proxy.
through() {
	local i
	REDLOCK_NODES=
	for i in 1 2 3; do
		"$REDLOCK_BUILD/tools/proxy" "$T/proxy$i" "$T/$i.sock" "$@" > "$T/proxy$i.ready" 3>&- &
		also_end $!
		eventually test -s "$T/proxy$i.ready"
		REDLOCK_NODES+=" unix://$T/proxy$i"
	done
}

@test "a server that closes the connection because the script arrives before AUTH is answered, as KeyDB does" {
	through --strict
	# the proxy does
	run redis-cli -s "$T/proxy1" del 2 3 4 5 6 7 8 9 10
	[[ "$output" == "NOAUTH "* ]]
	run redis-cli -s "$T/proxy1" del 2 3 4 5 6 7 8 9 10 11
	is_like "$output" "Error: *"
	REDLOCK_PASSWORD=maste7 works
	REDLOCK_USERNAME=app works --password-file "$T/pass"
	REDLOCK_USERNAME=app REDLOCK_NODES="unix://$T/proxy1?db=3 unix://$T/proxy2?db=3" works --restart-guard off --password-file "$T/pass"
	REDLOCK_PASSWORD=maste7 run -0 redlock status -v
	REDLOCK_PASSWORD=maste7 run -0 redlock doctor
}

@test "a request of more than ten words waits for the answer to AUTH" {
	through --strict --delay 300
	REDLOCK_PASSWORD=maste7 works -k b -k c -k d -k e -k f
}

@test "AUTH and SELECT cost no round trip of their own" {
	through --delay 300 --turns "$T/turns"
	turns() {
		: > "$T/turns"
		works --restart-guard off "$@"
		wc -c < "$T/turns"
	}
	for i in 1 2 3; do as_master $i acl setuser default nopass > "$T/acl"; done
	REDLOCK_NODES="unix://$T/proxy1"
	works # the server knows the scripts from now on
	plain=$(turns)
	[ "$(REDLOCK_PASSWORD=s3cret turns --username app)" = "$plain" ]
	REDLOCK_NODES+="?db=3"
	[ "$(turns)" = "$plain" ]
	[ "$(REDLOCK_PASSWORD=s3cret turns --username app)" = "$plain" ]
	# without the right to delete the key, the node is asked after AUTH
	as_master 1 acl setuser app -del > "$T/acl"
	run -0 redlock run --username app --password-file "$T/pass" --restart-guard off -n -k job -- echo done
	[[ "$output" == *"done"*"denies permission"* ]]
}

@test "a wrong password where others need none: no key is left, and nobody gets the lock" {
	# the nodes know the script of an acquisition
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret works
	for i in 1 2 3; do as_master $i acl setuser default nopass > "$T/acl"; done
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=wr0ng
	# the default user may do all, or may not delete a key
	for right in +@all -del; do
		for i in 1 2 3; do node $i acl setuser default "$right" > "$T/acl"; done
		mistaken
		says 69 '' '*refuses the password (WRONGPASS *' run -n -k job --fence -- echo never
		REDLOCK_NODES="unix://$T/1.sock?db=3" mistaken
		for i in 1 2 3; do
			[ "$(node $i exists job)" = 0 ]
			[ "$(redis-cli -s "$T/$i.sock" -n 3 exists job)" = 0 ]
		done
	done
	# without the right to delete a key, none is set
	node 1 config resetstat > "$T/acl"
	mistaken
	node 1 info commandstats > "$T/stats"
	file_has "$T/stats" '^cmdstat_evalsha:'
	not file_has "$T/stats" '^cmdstat_set:'
}

@test "after one wrong password, the process sends AUTH alone" {
	# the nodes know the script of an acquisition
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret works
	for i in 1 2 3; do as_master $i config resetstat > "$T/acl"; done
	for i in 1 2 3; do as_master $i acl setuser default nopass +@all > "$T/acl"; done
	in_background "$T/out" run -vv -k job --restart-guard off --username app --password-file <(echo wr0ng) --node-wait 1h -- true
	refusals() { [ "$(grep -c "sock refuses the password" "$T/out")" -gt 9 ]; }
	eventually refusals
	kill $BG
	for i in 1 2 3; do
		node $i info commandstats > "$T/stats"
		not file_has "$T/stats" '^cmdstat_set:calls=[^1]'
	done
}

@test "a wrong password where others need none, and a request that waits for AUTH: it is never sent" {
	# the nodes know the script of an acquisition
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret works -k b -k c -k d -k e
	for i in 1 2 3; do as_master $i acl setuser default nopass -del > "$T/acl"; done
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=wr0ng
	for n in 1 2 3 4 5 6; do
		mistaken -k b -k c -k d -k e
	done
	for i in 1 2 3; do node $i acl setuser default +@all > "$T/acl"; done
	mistaken --fence
	mistaken -L 3
	for i in 1 2 3; do node $i acl setuser default -del > "$T/acl"; done
	stop_node 3
	mistaken -k b -k c -k d -k e
	continue_node 3
	answers() { node 3 ping > "$T/acl"; }
	eventually answers
	for i in 1 2 3; do
		node $i keys '*' > "$T/keys"
		[ "$(sort "$T/keys" | tr '\n' ' ')" = "{redlock}:node " ]
	done
}

@test "an extension is refused because the password has changed: the key is released all the same" {
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	in_background "$T/out" run -vv -k job "${BRIEF[@]}" -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually key_is_held job
	for i in 1 2; do
		as_master $i acl setuser app resetpass '>other' > "$T/acl"
		as_master $i client kill user app > "$T/acl"
	done
	refusals() { [ "$(grep -c "sock refuses the password" "$T/out")" -ge 2 ]; }
	eventually refusals
	for i in 1 2; do as_master $i acl setuser app resetpass '>s3cret' > "$T/acl"; done
	touch "$T/go"
	ended_with 0
	# the end waits for a majority
	[ "$(for i in 1 2 3; do as_master $i exists job; done | grep -c 1)" -le 1 ]
}

@test "SELECT fails: the script has changed no other database" {
	for i in 1 2 3; do as_master $i acl setuser default nopass > "$T/acl"; done
	for user in '' app; do
		REDLOCK_USERNAME=$user REDLOCK_PASSWORD=${user:+s3cret} REDLOCK_NODES="unix://$T/1.sock?db=99" \
			says 69 '' "*answered with an error (ERR DB index is out of range)*" run -n -k job --restart-guard off -- echo never
		[ "$(node 1 exists job)" = 0 ]
	done
	REDLOCK_NODES="unix://$T/1.sock?db=3 unix://$T/2.sock?db=3 unix://$T/3.sock?db=3"
	run -0 redlock run -n -k job --restart-guard off -- redis-cli -s "$T/1.sock" -n 3 exists job
	[ "$output" = 1 ]
}

@test "a server that closes the connection instead of a reply to AUTH, or replies nothing: redlock reports it" {
	through --say ''
	REDLOCK_PASSWORD=maste7 says 69 '' "redlock: no quorum for 'job': 0 of 3 nodes can be used, 2 needed: each of *proxy1, *did not answer in time*" \
		run -n -k job --node-timeout 300ms -- echo never
	nodes_stop
	"$REDLOCK_BUILD/tools/hostile" --close "$T/proxy1" '' > "$T/hostile" 3>&- &
	also_end $!
	eventually test -s "$T/hostile"
	REDLOCK_PASSWORD=maste7 REDLOCK_NODES="unix://$T/proxy1" says 69 '' "*proxy1 closed the connection (instead of a reply to AUTH)?hint: read the server's log" run -n -k job -- echo never
	REDLOCK_NODES="unix://$T/proxy1?db=3" says 69 '' "*proxy1[?]db=3 closed the connection (instead of a reply to SELECT)?hint: *" run -n -k job -- echo never
}

@test "a password for nodes that have none: redlock reports it, and says that the password is not needed" {
	for i in 1 2 3; do as_master $i config set requirepass '' > "$T/acl"; done
	# (two refusals of three would be enough, and the last may arrive too late to be named)
	REDLOCK_NODES="unix://$T/1.sock" REDLOCK_PASSWORD=s3cret says 69 '' "*1.sock has no password set, and was given one (ERR AUTH <password> called without any password configured *?hint: leave user and password out (they come from REDLOCK_PASSWORD), or set a password on the node (requirepass)" \
		run -n -k job -- echo never
	works
}

@test "status of all keys: a node that requires a password is not reported as down" {
	says 69 '' 'redlock: 0 of 3 nodes answered, 2 needed: each of *1.sock, *2.sock, *3.sock requires a password?hint: *name the password: *' status
	REDLOCK_PASSWORD=wr0ng says 69 '' 'redlock: 0 of 3 nodes answered, 2 needed: each of *1.sock, *2.sock, *3.sock refuses the password (WRONGPASS *)*' status
	as_master 1 config set requirepass '' > "$T/acl"
	as_master 2 config set requirepass '' > "$T/acl"
	says 0 'no redlock locks are held' '' status
	says 0 'no redlock locks are held' '*3.sock requires a password*' status -v
}

@test "a missing right: the message says where to look" {
	for i in 1 2 3; do as_master $i acl setuser app resetkeys '~redlock:*' '~{redlock}:node' '~job' > "$T/acl"; done
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	works
	says 69 '' "*denies permission (NOPERM *)*hint: in redis-cli on *: ACL SETUSER app ~other ~{redlock}:node *" \
		run -n -k other -- echo never
}

@test "a missing password or right: each subcommand names the remedy, once" {
	hinted() {
		local hint=$1
		shift
		run -69 --separate-stderr redlock "$@"
		[ "$(grep -c "^hint: $hint" <<< "$stderr")" = 1 ]
	}
	everything() {
		hinted "$1" run -n -k other -- echo never
		hinted "$1" wait -n -k other
		hinted "$1" check -k other --token 1
		hinted "$1" extend -k other --token 1
		hinted "$1" release -k other --token 1
		hinted "$1" break --yes -k other
		hinted "$1" status other
		hinted "$1" status --limit 2 other
		hinted "$1" status other job
		hinted "$1" status
	}
	everything ".*name the password: "
	for i in 1 2 3; do as_master $i acl setuser app resetkeys '~redlock:*' '~{redlock}:node' '~job' -scan > "$T/acl"; done
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	everything "in redis-cli on .*: ACL SETUSER app "
	# status can see the key, but break may not delete it
	for i in 1 2 3; do as_master $i acl setuser app -del > "$T/acl"; done
	run -0 redlock acquire -n -k job
	# Redis before 7.2 does not name the command
	hinted 'in redis-cli on .*: ACL SETUSER app +\(eval\|del\)\b' break --force --yes -k job
}

@test "a lock held without the right to extend or to release it: the message says why it is lost, or left" {
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	local right="*in redis-cli on *: ACL SETUSER app +*"
	for i in 1 2 3; do as_master $i acl setuser app -del > "$T/acl"; done
	says 0 '' "redlock: 'job' could not be released on [23] of 3 nodes and expires there within *: unix://*[12].sock denies permission (*), unix://*[23].sock denies *?hint: $right" \
		run -n -k job -- true
	for i in 1 2 3; do as_master $i acl setuser app +del -pexpire > "$T/acl"; done
	says 79 '' "*redlock: lost 'other': no majority of 3 nodes confirmed it in time: *[12].sock*denies permission (*?hint: $right" \
		run -n -k other --ttl 10s -- sleep 60
}

# without RIGHT...: user app has all rights but these, on all nodes.
without() {
	local i
	for i in 1 2 3; do as_master $i acl setuser app +@all "${@/#/-}" > "$T/acl"; done
}

# on_all SCRIPT: the script's reply, on each node.
on_all() {
	local i
	for i in 1 2 3; do as_master $i eval "$1" 0; done
}

# Deletes all keys except the mark of the restart guard.
forget_locks() {
	on_all "for _, k in ipairs(redis.call('KEYS', '*')) do
		if k ~= '{redlock}:node' then redis.call('DEL', k) end end" > "$T/acl"
}

# Every key expires, except those that the manual names; no set of readers ends before its lock, and the reader that
# left its lock is in the set.
all_expire() {
	on_all "local out = {}
		for _, k in ipairs(redis.call('KEYS', '*')) do
			local left, of = redis.call('PTTL', k), string.match(k, '^redlock:readers:{(.*)}$')
			if (left == -1 and k ~= '{redlock}:node' and not string.find(k, '^redlock:fence:')) or
				(of and left < redis.call('PTTL', of)) then
				out[#out + 1] = k .. ' has ' .. left
			end
		end
		if redis.call('EXISTS', 'left') == 1 and redis.call('ZCARD', 'redlock:readers:{left}') == 0 then
			out[#out + 1] = 'left has no reader'
		end
		return table.concat(out, ' ')" > "$T/lasting"
	[ -z "$(tr -d '\n' < "$T/lasting")" ] || {
		echo "without $*: $(< "$T/lasting")"
		return 1
	}
}

# try ARG...: redlock; its status does not matter.
try() { redlock "$@" > "$T/tried" 2>&1 || true; }

# at_work RIGHT...: takes a lock of each kind with these rights, then removes the rights, then uses the lock.
at_work() {
	local token reader leader waiters=()
	echo "without $*"
	without
	forget_locks
	token=$(redlock acquire -n -k job)
	leader=$(redlock acquire -n -k led)
	reader=$(redlock acquire -n -s -k read --ttl 10m)
	SLOT=$(redlock acquire -n -L 2 -k slot)
	try acquire -n -L 2 -k slot
	# waiters; the reader is woken after the writer
	for waits in '-k job' '-k led' '-k slot -L 2' '-k read' '-k read -s'; do
		in_background "$T/waiter${#waiters[@]}" run $waits -- true
		waiters+=($BG)
		[ "$waits" != '-k read' ] || eventually file_has "$T/waiter3" waiting
	done
	# (the reader passes the writer if the queue node is late)
	has_tried() { file_has "$T/waiter$1" waiting || is_gone "${waiters[$1]}"; }
	for n in 0 1 2 4; do eventually has_tried $n; done
	# the command itself removes the rights before the lock is left to expire
	try run -n -s -k left --min-hold 60s --ttl 60s -- bash -c \
		'for i in 1 2 3; do REDISCLI_AUTH=maste7 redis-cli -s "$T/$i.sock" acl setuser app "$@"; done' bash "${@/#/-}"
	without "$@"
	try acquire -n -s -k read -t 1m
	try acquire -n -s -k first -t 60s
	try extend -k read --token "$reader" -t 5m
	try acquire -n -k old
	try release -k job --token "$token"
	try release -k led --token "$leader"
	try release -L 2 --slot 1 -k slot --token "$SLOT"
	try release -k read --token "$reader"
	try run -w 300ms -k led -- true
	try run -w 300ms -k read -s -- true
	kill "${waiters[@]}" 2> "$T/kill" || true
	wait "${waiters[@]}" || true
	all_expire "$@"
}

@test "a right that is removed in the middle of a lock's life leaves no key without expiry" {
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret T
	for right in get set pttl pexpire del time info exists zadd zrange zrank zscore zrem publish pubsub \
		zrangebyscore zremrangebyscore type; do
		at_work $right
	done
	at_work pexpire del
}

@test "the stronger source counts; two sources of the same rank are refused" {
	echo wr0ng > "$T/wrong"
	export REDLOCK_USERNAME=app
	REDLOCK_PASSWORD=wr0ng works --password-file "$T/pass"
	REDLOCK_PASSWORD_FILE=$T/wrong works --password-file "$T/pass"
	printf 'password = wr0ng\n[p]\npassword-file = %s\n' "$T/pass" > "$T/config"
	works --config "$T/config" --profile p
	REDLOCK_PASSWORD=s3cret works --config "$T/config"
	REDLOCK_PASSWORD=s3cret REDLOCK_PASSWORD_FILE=$T/pass says 78 '' "redlock: REDLOCK_PASSWORD_FILE: --password-file cannot be combined with a password" run -k job -- echo never
	mistaken --config "$T/config"
}

@test "a password file that is missing, empty, too long, or no file" {
	says 78 '' "redlock: cannot read --password-file '$T/none': No such file or directory" run --password-file "$T/none" -k job -- echo never
	says 78 '' "redlock: cannot read --password-file '$T': Is a directory" run --password-file "$T" -k job -- echo never
	printf '\nsecond\n' > "$T/empty"
	says 78 '' "redlock: --password-file '$T/empty' has no password?hint: write the password into its first line" run --password-file "$T/empty" -k job -- echo never
	head -c 300 /dev/zero | tr '\0' x > "$T/long"
	says 78 '' "redlock: the password in '$T/long' is too long: at most 255 bytes are allowed" run --password-file "$T/long" -k job -- echo never
	REDLOCK_PASSWORD=$(cat "$T/long") says 78 '' "redlock: the password is too long: 300 bytes, at most 255 are allowed" run -k job -- echo never
	REDLOCK_PASSWORD=$(head -c 255 "$T/long") mistaken
	printf 's3cret\0\n' > "$T/wide"
	says 78 '' "redlock: the password in '$T/wide' has a byte of zero" run --password-file "$T/wide" -k job -- echo never
}

@test "a password file that is a named pipe: a writer that does not come is named, and waited for no longer than the lock" {
	local how
	mkfifo "$T/pipe"
	for how in '-w 300ms' '--node-wait 300ms' '-w 300ms --node-wait 1h' '-w 1h --node-wait 300ms'; do
		# shellcheck disable=SC2086
		run -69 timeout 30 "$REDLOCK_BUILD/redlock" run -k job --username app --password-file "$T/pipe" $how -- echo never
		[ "${lines[0]}" = "redlock: cannot read --password-file '$T/pipe': nothing writes to this pipe" ]
	done
	run -69 timeout 30 "$REDLOCK_BUILD/redlock" run -n -k job --username app --password-file "$T/pipe" -- echo never
	# without these options, it is an error that only a person can remove
	for how in status 'acquire -k job'; do
		# shellcheck disable=SC2086
		run -69 timeout 60 "$REDLOCK_BUILD/redlock" $how --username app --password-file "$T/pipe"
		[ "${lines[1]}" = "redlock: cannot read --password-file '$T/pipe': nothing writes to this pipe" ]
	done
	run -69 timeout 30 "$REDLOCK_BUILD/redlock" run -k job --username app --password-file "$T/pipe" -w 3s -- echo never
	[ "${lines[0]}" = "redlock: --password-file '$T/pipe': nothing writes to this pipe" ]
	in_background "$T/out" run -k job --username app --password-file "$T/pipe" -- echo done
	eventually file_has "$T/out" "nothing writes to this pipe"
	echo s3cret > "$T/pipe"
	ended_with 0
	file_has "$T/out" "done"
	# a shell's pipe has its writer
	run -0 redlock run -w 300ms -k job --username app --password-file <(sleep 0.6; echo s3cret) -- echo "done"
	[ "$output" = "done" ]
	run -0 redlock run -n -k job --username app --password-file /dev/stdin -- echo "done" < <(echo s3cret)
}

@test "a password file of the maximum length, with any line ending; and one with a byte-order mark" {
	most=$(head -c 255 /dev/zero | tr '\0' x)
	for i in 1 2 3; do as_master $i acl setuser app ">$most" > "$T/acl"; done
	export REDLOCK_USERNAME=app
	for end in '' '\n' '\r\n' '\nx'; do
		printf "$most$end" > "$T/most"
		works --password-file "$T/most"
		printf "x$most$end" > "$T/most"
		says 78 '' "redlock: the password in '$T/most' is too long: at most 255 bytes are allowed" run --password-file "$T/most" -k job -- echo never
	done
	printf '\xef\xbb\xbfs3cret\r\n' > "$T/marked"
	works --password-file "$T/marked"
}

@test "a password file that other users can read: one warning" {
	for mode in 644 640 604; do
		chmod $mode "$T/pass"
		says 0 'done' "redlock: others can read '$T/pass', which has a password in it
hint: chmod go-rwx '$T/pass'" run --username app --password-file "$T/pass" -k job -- echo done
		says 0 'done' '' run -q --username app --password-file "$T/pass" -k job -- echo done
	done
	chmod 600 "$T/pass"
	works --username app --password-file "$T/pass"
}

# bats test_tags=not-under-valgrind
@test "a password on a command line is refused, and the one in a URL is visible only for a moment" {
	says 64 '' "redlock: --password: every user of this host can read a command line?hint: *" run --password s3cret -k job -- echo never
	says 64 '' "redlock: --password: *" run --password=s3cret -k job -- echo never
	[[ "$stderr" != *s3cret* ]]
	for how in split joined; do
		nodes="unix://app:s3cret@$T/1.sock unix://app:s3cret@$T/2.sock"
		words=(--nodes "$nodes" --node "unix://app:s3cret@$T/3.sock")
		[ $how = split ] || words=(--nodes="$nodes" --node="unix://app:s3cret@$T/3.sock")
		in_background "$T/out" run "${words[@]}" -k "$how" -- sh -c "echo \$\$ > $T/$how; exec sleep 60"
		eventually test -s "$T/$how"
		# redlock, its supervisor and the command
		ps -o args= -p "$BG,$(supervisor_of "$BG"),$(cat "$T/$how")" > "$T/ps"
		[ "$(wc -l < "$T/ps")" -eq 3 ]
		file_has "$T/ps" "unix://[*]*@$T/1.sock"
		[ "$(grep -c s3cret "$T/ps")" = 0 ]
		kill "$BG"
		ended_with 143
	done
}

@test "no secret is in the command's environment, in its children's, or in a message" {
	look='tr "\0" "\n" < /proc/self/environ; tr "\0" "\n" < /proc/$$/environ; ps -o args= -p $PPID'
	printf 'username = app\npassword = s3cret\n' > "$T/config"
	export REDLOCK_VERBOSE=2 REDLOCK_RECORD=$T/record
	for words in "--config $T/config" "--nodes unix://app:s3cret@$T/1.sock" "--password-file $T/pass --username app"; do
		run -0 redlock run $words -k job -- sh -c "$look"
		[[ "$output" != *s3cret* && "$output" != *REDLOCK_PASSWORD=* ]]
	done
	# the environment names the file that contained the secret
	[[ "$output" == *"REDLOCK_PASSWORD_FILE=$T/pass"* && "$output" == *"REDLOCK_USERNAME=app"* ]]
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	run -0 redlock run -k job -- sh -c "$look"
	[[ "$output" != *s3cret* && "$output" != *REDLOCK_PASSWORD* && "$output" != *REDLOCK_USERNAME* ]]
	REDLOCK_NODES="redis://me:s3cret@a unix://:s3cret@/b" run -0 redlock gate --fence 1 --store "$T/store" -- sh -c "$look"
	[[ "$output" != *s3cret* && "$output" != *REDLOCK_PASSWORD* && "$output" == *"REDLOCK_NODES=redis://a:6379 unix:///b"* ]]
	REDLOCK_NODES="redis://me:s3cret@" run -0 redlock gate --fence 1 --store "$T/store" -- sh -c "$look"
	[[ "$output" != *s3cret* ]]
	# no secret in output, files or messages of any of these programs
	export REDLOCK_JSON=1 REDLOCK_LOG=$T/log
	for words in 'acquire -k job' 'status' 'doctor' 'config' 'check -k job --token 1' 'run -n -k job --nodes x:s3cret -- true' \
		'run -n -k job --nodes redis://app:s3cret@127.0.0.1:1 -- true'; do
		run redlock $words
		[[ "$output" != *s3cret* ]]
	done
	REDLOCK_PASSWORD=s3cret2 run redlock run -n -k job -- true
	[[ "$output" != *s3cret* ]]
	[ "$(cat "$T/log" "$T/record" | grep -c s3cret)" = 0 ]
}

@test "a setting in the wrong place, or with a typing error, is refused without printing the password in it" {
	local url="redis://app:s3cret@$T/1.sock"
	wrong() {
		local status_wanted=$1
		shift
		run "-$status_wanted" redlock "$@"
		[ -n "$output" ]
		[[ "$output" != *s3cret* ]]
	}
	wrong 64 --nodes="$url" run -k job -- true
	wrong 64 --password=s3cret run -k job -- true
	wrong 64 -ps3cret run -k job -- true
	wrong 64 run -ps3cret -k job -- true
	wrong 64 doctor --nodes redis://a "$url"
	wrong 64 "$url"
	wrong 64 help "$url"
	wrong 64 help --password=s3cret
	wrong 64 completion "$url"
	wrong 78 status job --nodes="$url"
	wrong 64 check -k job --token 1 job --password=s3cret
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	wrong 127 run -n -k job "$url"
	wrong 127 run -n -k job -- PGPASSWORD=s3cret psql
	wrong 127 gate --fence 1 --store "$T/store" -- "$url"
	for line in 'password s3cret' 'password s3cret==' "nodes $url" 'ttl = 30s password=s3cret' "$url" "node = $url:x"; do
		echo "$line" > "$T/config"
		chmod 600 "$T/config"
		wrong 78 run -n --config "$T/config" -k job -- true
		wrong 78 config --json --config "$T/config"
	done
	# nor is the password in the holder's text that others see
	unset REDLOCK_PASSWORD
	run -0 redlock run -n -k job --password-file "$T/pass" -- sh -c 'redlock status job # postgres://me:s3cret@db'
	[[ "$output" == *"'job' is held by"*"***@db"* && "$output" != *s3cret* ]]
}

@test "a server that repeats the arguments of AUTH: redlock does not print the password" {
	start_node 4 --rename-command AUTH ''
	eventually answers 4
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret REDLOCK_NODES=unix://$T/4.sock
	REDISCLI_AUTH='' node 4 auth app s3cret > "$T/said" 2>&1 || true
	file_has "$T/said" s3cret
	for words in 'run -vv -n -k job -- true' 'acquire -n -k job --json' 'status job' 'status -v' 'doctor -vv' 'doctor --json'; do
		run -69 redlock $words
		[[ "$output" == *"unknown command "?AUTH* && "$output" != *s3cret* ]]
	done
	# in other words than a Redis server has
	"$REDLOCK_BUILD/tools/hostile" "$T/5.sock" '-ERR AUTH app s3cret is not allowed\r\n' > "$T/ready" 3>&- &
	also_end $!
	eventually test -s "$T/ready"
	REDLOCK_NODES=unix://$T/5.sock run -69 redlock run -n -k job -- true
	[[ "$output" == *"(ERR AUTH app )"* ]]
	# a password in the place of a user
	unset REDLOCK_USERNAME REDLOCK_PASSWORD
	REDLOCK_NODES=unix://s3cret@$T/5.sock run -69 redlock run -n -k job -- true
	[[ "$output" == *"(ERR AUTH app )"* ]]
}

# bats test_tags=not-under-valgrind
@test "only root can look into redlock, and no core dump has its memory" {
	needs users
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret in_background "$T/out" run -k job -- sleep 60
	eventually key_is_held job
	eventually pgrep -P "$BG" -x rl-probe > "$T/probe"
	for pid in "$BG" $(pgrep -P "$BG"); do [ "$(stat -c %U "/proc/$pid/environ" "/proc/$pid/mem" | sort -u)" = root ]; done
	# root may read its own processes in any case: test as another user, by a descriptor, for this folder is private
	install -m 755 "$REDLOCK_BUILD/redlock" "$T/redlock"
	exec 9< "$T/redlock"
	other_user=()
	[ "$(id -u)" -ne 0 ] || other_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	REDLOCK_NODES=127.0.0.1:1 REDLOCK_PASSWORD=s3cret "${other_user[@]}" /proc/self/fd/9 run -k job -- true \
		> "$T/out2" 2>&1 3>&- &
	also_end $!
	eventually file_has "$T/out2" "^redlock: waiting: no quorum"
	[ "$(stat -c %u "/proc/$!/environ" "/proc/$!/mem" | sort -u)" = 0 ]
	exec 9<&-
	# the user runs commands in / by then: a core dump would be there
	cd "$T"
	export T
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret run -134 bash -c 'ulimit -c unlimited
		"$REDLOCK_BUILD/redlock" run -k job -- true 2> "$T/out3" 3>&- &
		for ((i = 0; i < 2000; i++)); do ! grep -q "waiting: .job. is held" "$T/out3" || break; sleep 0.02; done
		kill -ABRT $!
		wait $!'
	file_has "$T/out3" "waiting: 'job' is held"
	[[ "$output" == *Aborted* && "$output" != *"core dumped"* ]]
	[ -z "$(find "$T" -maxdepth 1 -name 'core*')" ]
}

@test "a nested run finds the password again: by a file, by the configuration" {
	inner="redlock run -k inner -- redlock run -n -k innermost -- sh -c 'redlock check -k innermost >&2; echo done'"
	cd "$T"
	run -0 --separate-stderr redlock run --username app --password-file pass -k job -- sh -c "cd /; $inner"
	[ "$output" = "done" ]
	printf '[text]\nusername = app\npassword = s3cret\n[url]\n' > config
	for i in 1 2 3; do echo "node = unix://app:s3cret@$T/$i.sock" >> config; done
	for profile in text url; do
		run -0 --separate-stderr redlock run --config config --profile $profile -k job -- sh -c "cd /; $inner"
		[ "$output" = "done" ]
	done
	# a pipe is empty by then
	run -69 redlock run --username app --password-file <(echo s3cret) -k job -- sh -c 'env > env; redlock run -n -k inner -- true'
	[ "$(grep -c REDLOCK_PASSWORD env)" = 0 ]
	# a password from the environment must be set again
	REDLOCK_PASSWORD=maste7 run -69 redlock run -k job -- redlock run -n -k inner -- true
	removed="hint: 'redlock run' and 'redlock acquire' pass on no password, but a --password-file: use it there"
	[[ "$output" == *"requires a password"*"$removed" ]]
	REDLOCK_PASSWORD=maste7 run -69 redlock run -k job -- redlock check
	[[ "$output" == *"requires a password"*"$removed" ]]
	eval "$(REDLOCK_PASSWORD=maste7 redlock acquire -k other --format env)"
	run -69 redlock release
	[[ "$output" == *"requires a password"*"$removed" ]]
	REDLOCK_PASSWORD=maste7 redlock release
	unset "${!REDLOCK_TOKEN@}"
	run -69 redlock run -n -k job -- true
	[[ "$output" == *"requires a password"* && "$output" != *"$removed"* ]]
	REDLOCK_PASSWORD=maste7 run -0 redlock run -k job -- sh -c 'REDLOCK_PASSWORD=maste7 redlock run -n -k inner -- true'
}

# rotate NEW: sets another password on all nodes; every connected client must authenticate again.
rotate() {
	for i in 1 2 3; do
		as_master $i acl setuser app resetpass ">$1" > "$T/acl"
		as_master $i client kill user app > "$T/acl"
	done
}
extended() { [ "$(grep -c extended "$T/out")" -gt "$1" ]; }

@test "the password changes while the lock is held: redlock reads the file again" {
	cd "$T"
	in_background "$T/out" run -v --username app --password-file pass -k job "${BRIEF[@]}" -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually key_is_held job
	cd /
	echo n3w > "$T/new"
	mv "$T/new" "$T/pass"
	rotate n3w
	eventually extended 0
	touch "$T/go"
	ended_with 0
	file_has "$T/out" "released 'job'"
}

@test "the password changes on the nodes first: redlock is refused until the file has it, too" {
	rotate n3w
	in_background "$T/out" run --node-wait 1h --username app --password-file "$T/pass" -k job -- echo done
	eventually file_has "$T/out" "waiting: no quorum"
	kill -0 "$BG"
	echo n3w > "$T/pass"
	ended_with 0
	file_has "$T/out" "^done"
	# a file that redlock cannot read any more: the password from the last reading counts
	in_background "$T/out" run -v --username app --password-file "$T/pass" -k job "${BRIEF[@]}" -- sh -c "until [ -e $T/gone ]; do sleep 0.1; done"
	eventually key_is_held job
	rm "$T/pass"
	for i in 1 2 3; do as_master $i client kill user app > "$T/acl"; done
	eventually extended 0
	touch "$T/gone"
	ended_with 0
}

@test "a user that is missing for a while, where others need no password: redlock trusts the nodes again later" {
	everywhere() {
		local i
		for i in 1 2 3; do node $i "$@" > "$T/acl" || return; done
	}
	for i in 1 2 3; do as_master $i config set requirepass '' > "$T/acl"; done
	everywhere acl deluser app
	export REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret
	in_background "$T/out" run -vv --node-wait 1h -k job "${BRIEF[@]}" -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually file_has "$T/out" "waiting: no quorum"
	everywhere acl setuser app on '>s3cret' '~*' '&*' '+@all'
	eventually file_has "$T/out" "acquired 'job'"
	everywhere acl deluser app
	# each time, redlock connects again
	refusals() { [ "$(grep -c "sock refuses the password" "$T/out")" -gt "$1" ]; }
	eventually refusals "$(grep -c "sock refuses the password" "$T/out")"
	everywhere acl setuser app on '>s3cret' '~*' '&*' '+@all'
	eventually file_has "$T/out" "extended 'job'"
	touch "$T/go"
	ended_with 0
}

# acl_rules PATTERN: RULES are those of each lock that doctor --acl prints, MORE those of one feature each.
acl_rules() {
	redlock doctor -q --acl "$1" > "$T/printed"
	[ "$(wc -l < "$T/printed")" = 10 ]
	sed -i 's/^ACL SETUSER redlock \(on \)\?//' "$T/printed"
	rules=$(head -n 3 "$T/printed" | tr '\n' ' ')
	more=$(tail -n +4 "$T/printed" | tr '\n' ' ')
}

@test "a client with rights to other keys: it cannot change a lock, but can stop the servers, as SECURITY.md says" {
	local rules more i
	acl_rules 'tenant-*'
	for i in 1 2 3; do
		# shellcheck disable=SC2086
		as_master $i acl setuser tenant on '>t' $rules > "$T/acl"
		as_master $i acl setuser viewer on '>t' $rules $more > "$T/acl"
	done
	as_tenant() { redis-cli -s "$T/$1.sock" --no-auth-warning --user "${USER_NAME:-tenant}" --pass t "${@:2}" 2>&1; }
	REDLOCK_PASSWORD=maste7 in_background "$T/out" run -k job "${BRIEF[@]}" -- sleep 600
	eventually key_is_held job
	for words in 'del job' 'set job x' 'pexpire job 1' 'eval return(redis.call("del","job")) 0' 'eval return(redis.call("del",KEYS[1])) 1 job'; do
		run as_tenant 1 $words
		[[ "$output" == *NOPERM* || "$output" == *"can't access"* || "$output" == *"No permissions"* ]] || { echo "$words: $output" && false; }
	done
	key_is_held job
	[[ "$(as_tenant 1 scan 0)" == *NOPERM* ]]
	[[ "$(USER_NAME=viewer as_tenant 1 scan 0 count 1000)" == *job* ]]
	for i in 1 2 3; do
		as_tenant $i eval 'while true do end' 0 > "$T/endless.$i" 3>&- &
		also_end $!
	done
	ended_with 79
}

@test "the rights that doctor --acl prints are enough, and without any one of them a subcommand fails" {
	local rules more
	acl_rules job
	rule=$rules
	all="$rules $more"
	export REDLOCK_USERNAME=redlock REDLOCK_PASSWORD=s3cret
	with() {
		local i
		for i in 1 2 3; do
			as_master $i del job fenced > "$T/acl"
			as_master $i eval "for _,k in ipairs(redis.call('KEYS','redlock:*')) do
				if not string.find(k,'^redlock:fence') and not string.find(k,'readers') then redis.call('DEL',k) end end" 0 > "$T/acl"
			as_master $i script flush > "$T/acl" # a script that a node has needs EVALSHA only
			as_master $i acl deluser redlock > "$T/acl"
			as_master $i acl setuser redlock on '>s3cret' "$@" > "$T/acl"
		done
	}
	# rights WORDS: doctor's finding is about that.
	rights() {
		run redlock doctor --json
		jq -r '.findings[] | select(.id == "rights") | .words' <<< "$output" | sort -u > "$T/rights"
		grep -q -- "$1" "$T/rights"
	}
	life() {
		redlock acquire -n -k job --ttl 60s > "$T/token" || return
		redlock extend -k job --token-file "$T/token" --ttl 60s || return
		redlock check -k job --token-file "$T/token" > "$T/check" || return
		redlock run -k job -- echo done > "$T/waiter" 2> "$T/waiting" 3>&- &
		BG=$!
		eventually is_waiting
		redlock release -k job --token-file "$T/token" || { kill $BG; return 1; }
		wait $BG
	}
	# in the queue, or polling
	is_waiting() {
		local i n=0
		for i in 1 2 3; do
			n=$((n + $(REDISCLI_AUTH=maste7 queued $i)))
		done
		((n > 0)) || file_has "$T/waiting" waiting || is_gone $BG
	}
	# the smallest set: a lock's whole life without a message
	with $rule
	run -0 life
	[ "$output" = '' ]
	[ "$(cat "$T/waiter")" = "done" ]
	not file_has "$T/waiting" "cannot queue"
	says 0 '' '' run -k job --once-per 1h -- true
	says 0 '' "redlock: 'job' is done until *" run -k job --once-per 1h -- true
	# doctor lacks the right to its own keys only
	rights "may not use doctor's own keys redlock:doctor:[*] (to try a lock), doctor's own channels (to try a wake-up), client|tracking [^;]*$"
	with $rule '~redlock:doctor:*' '~redlock:*:{redlock:doctor:*}' '&redlock:*:{redlock:doctor:*}*'
	run redlock doctor --json
	[ "$(jq -r '.findings[] | select(.id == "rights") | .severity' <<< "$output" | sort -u)" = note ]
	# with the key of a lock, doctor asks about its queue
	with $all
	run redlock doctor -k job --json
	[ "$(jq -r '[.findings[] | select(.id == "key")] | length' <<< "$output")" = 0 ]
	with $(tr ' ' '\n' <<< "$all" | grep -vxF -- '~redlock:queue:{job}*')
	run redlock doctor -k job --json
	[ "$(jq -r '.findings[] | select(.id == "key") | .severity + ": " + .words' <<< "$output" | sort -u)" = \
		"warning: user 'redlock' may not use redlock's own keys of 'job' (to queue, for one)" ]
	# with the rights that some options need
	with $all
	run redlock doctor --json
	[ "$(jq -r '[.findings[] | select(.id == "rights")] | length' <<< "$output")" = 0 ]
	run -0 redlock run -n -k job --fence -- true
	run -0 redlock run -n -k job -L 2 -- true
	run -0 redlock run -n -k job -s -- true
	run -0 redlock status
	# no pattern of keys or channels is missing, and each one is needed, apart from those that doctor tries in vain on purpose
	denied() {
		local i
		for i in 1 2 3; do as_master $i acl log 100; done | grep -A1 '^object$' | grep -vE '^(--|object|ping|config|cluster|other:|redlock:fence:\{other:)' > "$T/denied"
		cat "$T/denied"
		[ -s "$T/denied" ]
	}
	use_all_keys() {
		local i
		for i in 1 2 3; do as_master $i acl log reset > "$T/acl"; done
		redlock run -n -k job --fence -- true
		redlock run -n -k job -L 2 --fence -- true
		redlock run -n -k job -s -- true
		redlock doctor > "$T/doctor"
		life
	}
	use_all_keys
	not denied
	for less in $(tr ' ' '\n' <<< "$all" | grep '^[~&]redlock:'); do
		with $(tr ' ' '\n' <<< "$all" | grep -vxF -- "$less")
		use_all_keys > "$T/used" 2>&1 || true
		echo "without $less"
		denied
	done
	with $all
	# the keys of Redisson
	a_hash() { for i in 1 2 3; do as_master $i hset job holder 1 > "$T/acl"; done; }
	a_hash
	run -75 redlock run -n -k job -- true
	for less in $all; do
		with $(tr ' ' '\n' <<< "$all" | grep -vxF -- "$less")
		case $less in
		+eval | +get | +set | '~job') run -69 redlock run -n -k job -- true ;;
		'~job#*') run -69 redlock run -n -L 2 -k job -- true ;;
		+pttl | +pexpire | +del)
			run life
			[ "$status" -ne 0 ]
			;;
		+info | +time | '~{redlock}:node')
			run redlock run -n -k job -- true
			[[ "$output" == *"no restart guard on "* ]]
			;;
		+scan) run -69 redlock status ;;
		+type)
			run -0 redlock run -n -k job -- true
			a_hash
			run -69 redlock run -n -k job -- true
			;;
		+hscan)
			a_hash
			for i in 1 2 3; do as_master $i pexpire job 60000; done > "$T/acl"
			run -69 redlock break -f -y -k job
			;;
		+zadd | +zrange | +zremrangebyscore) run -69 redlock run -n -k job -s -- true ;;
		esac
		echo "without $less"
		case $less in
		'~redlock:doctor:*') rights "may not use doctor's own keys redlock:doctor:[*] (to try a lock)$" ;;
		'~{redlock}:node') rights "may not use.* redlock's own keys" ;;
		'~redlock:*:{redlock:doctor:*}') rights "may not do all that locks need" ;;
		'&redlock:*:{redlock:doctor:*}*') rights "may not use.* redlock's channels" ;;
		'~'* | '&'* | resetchannels) ;;
		*) less=${less%%|*} && rights "may not use.* ${less#+}" ;;
		esac
	done
}
