# Each failure names its cause and its fix, in `run` and in `doctor`, with the same words: broken set-ups, each made for
# real. The fix is applied as it is printed, and then the command runs.

load nodes
load certificates

setup_file() {
	export C=$BATS_FILE_TMPDIR CA=ca
	begin_authorities
	authority ca
	authority other
	certificate good IP:127.0.0.1
	certificate elsewhere IP:127.0.0.9,DNS:elsewhere.example.org
	certificate expired IP:127.0.0.1 -startdate 20230101000000Z -enddate 20240101120000Z
	certificate client DNS:client
	certificate middle DNS:middle -extfile <(printf 'basicConstraints = critical, CA:TRUE\n')
	CA=middle certificate leaf IP:127.0.0.1
	CA=other certificate stranger IP:127.0.0.1
}

setup() {
	nodes_start 1
	unset REDISCLI_AUTH REDLOCK_CACERT REDLOCK_CERT REDLOCK_CERT_KEY REDLOCK_SNI REDLOCK_INSECURE SSL_CERT_FILE SSL_CERT_DIR
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

# fails CAUSE ARG...: run, which says SAID, and doctor name the cause, and the same fix, in FIX.
fails() {
	local cause=$1 hints
	shift
	run -69 --separate-stderr redlock run -n -k job "$@" -- touch "$T/never"
	is_like "$stderr" "redlock: no quorum for 'job': *$cause*hint: *"
	SAID=$stderr
	hints=$(grep '^hint: ' <<< "$SAID")
	run --separate-stderr redlock doctor "$@"
	[ "$status" -ne 0 ]
	is_like "$output" "*error: *$cause*"
	[[ "$output" != *"no problem found"* ]]
	FIX=$(awk -v cause="$cause" 'index($0, "error: ") && index($0, cause) { found = 1 }
		found && sub(/^    fix: /, "") { print; exit }' <<< "$output")
	[ -n "$FIX" ] && [[ "$hints" == *"$FIX"* ]] || {
		echo "fix:  $FIX"
		echo "$hints"
		return 1
	}
}

# works ARG...: the command runs, and doctor finds no error.
works() {
	says 0 'done' '*' run -n -k job "$@" -- echo done
	run -0 --separate-stderr redlock doctor "$@"
	[[ "$output" != *"error: "* ]]
}

# paste: the fix, pasted into redis-cli, as the administrator.
paste() { is_like "$(node 1 <<< "$FIX" 2>&1)" "${1:-OK}"; }

# with_user RULE...: the user app, with these rules; every node URL is $APP.
with_user() {
	[ -n "${REDISCLI_AUTH-}" ] || node 1 config set requirepass adm1n > "$T/set"
	export REDISCLI_AUTH=adm1n
	node 1 acl setuser app on '>s3cret' "$@" > "$T/set"
	APP=unix://app:s3cret@$T/1.sock
}

# on_port I [redis options...]: node I starts anew, at $PORT as well.
on_port() {
	local i=$1 try
	shift
	kill_node "$i"
	for ((try = 0; try < 50; try++)); do
		PORT=$((20000 + RANDOM % 10000))
		start_node "$i" --bind 127.0.0.1 "${@//PORT/$PORT}"
		until answers "$i" || is_gone "${PID[i]}"; do sleep 0.02; done
		answers "$i" && break
	done
	eventually admitted "$i"
}

# with_tls CERTIFICATE [redis options...]: node 1 has TLS at $PORT.
with_tls() {
	on_port 1 --tls-port PORT --tls-cert-file "$C/$1.pem" --tls-key-file "$C/$1.key" --tls-ca-cert-file "$C/ca.pem" \
		--tls-auth-clients no "${@:2}"
}

# listens COMMAND...: it prints its port.
listens() {
	"$@" > "$T/port" 3>&- 2> "$T/err" &
	also_end $!
	eventually test -s "$T/port"
	PORT=$(< "$T/port")
}

# ---- out of reach ----

@test "no server on the port; a refused node does not put the blame on a sound one" {
	fails "cannot be reached" --nodes "redis://127.0.0.1:1 unix://$T/1.sock"
	is_like "$SAID" "*: redis://127.0.0.1:1 cannot be reached (Connection refused)?hint: redis://127.0.0.1:1: no server listens there: start the server, *"
	is_like "$output" "redis://127.0.0.1:1?  error: cannot be reached: Connection refused*"
	[[ "$SAID$output" != *"1.sock "@(did|had|cannot)* ]]
	on_port 1 --port PORT
	kill_node 1
	fails "cannot be reached" --nodes "redis://127.0.0.1:$PORT"
	is_like "$FIX" "no server listens there: start the server, *"
	start_node 1 --bind 127.0.0.1 --port "$PORT"
	eventually admitted 1
	works --nodes "redis://127.0.0.1:$PORT"
}

@test "a socket that does not exist; one without permission" {
	fails "cannot be reached" --nodes "unix://$T/other.sock"
	is_like "$FIX" "there is no socket $T/other.sock: start the server with 'unixsocket $T/other.sock', *"
	redis-server --port 0 --unixsocket "$T/other.sock" --save '' --dir "$T" 3>&- > "$T/other.out" 2>&1 &
	also_end $!
	eventually test -S "$T/other.sock"
	works --nodes "unix://$T/other.sock" --restart-guard off
}

# as_other CMD...: root may use every socket.
as_other() {
	if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

@test "a socket that this user may not use" {
	needs users
	cp "$REDLOCK_BUILD/redlock" "$T/redlock"
	chmod o+x "$BATS_RUN_TMPDIR" "$T"/.. "$T"
	chmod 500 "$T/1.sock"
	redlock() { as_other "$T/redlock" "$@"; }
	fails "cannot be reached"
	is_like "$FIX" "this user needs write permission on the socket $T/1.sock *, or chmod 777 $T/1.sock"
	bash -c "${FIX##*, or }"
	works
}

@test "a name that does not exist; a DNS server that is silent, or not there" {
	needs mounts
	fails "has a name that does not resolve" --nodes "redis://no-such-host.invalid"
	is_like "$FIX" "correct the name 'no-such-host.invalid', or *"
	cp "$REDLOCK_BUILD/redlock" "$T/redlock"
	for server in 127.0.0.1 192.0.2.77; do
		echo "nameserver $server" > "$T/resolv.conf"
		redlock() { unshare --mount -- sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$T/resolv.conf" "$T/redlock" "$@"; }
		REDLOCK_NODE_TIMEOUT=700ms fails "has a name that does not resolve" --nodes "redis://redis.example.com"
		is_like "$FIX" "*check 'nameserver' in /etc/resolv.conf, or name the address of 'redis.example.com' instead*"
	done
	unset -f redlock
	load nodes
	works
}

@test "a name that does not exist does not put the blame on a sound node" {
	local sound=unix://$T/1.sock
	fails "has a name that does not resolve" --nodes "$sound redis://no-such-host.invalid"
	is_like "$SAID" "*: redis://no-such-host.invalid:6379 has a name that does not resolve (*)?hint: redis://no-such-host.invalid:6379: correct the name *"
	[[ "$SAID" != *"1.sock "@(did|had|cannot)* ]]
	works --nodes "$sound"
}

@test "nodes that are too far away for the TTL: the advice has the round trip that doctor measured" {
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	listens "$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" --delay 300
	export REDLOCK_NODES=redis://127.0.0.1:$PORT
	run -69 --separate-stderr redlock run -n -k job --ttl 2s -- echo never
	is_like "$stderr" "*did not answer in time?hint: *allow more time with --node-timeout: 'redlock doctor' measures how much"
	run -69 --separate-stderr redlock doctor --ttl 2s
	is_like "$output" "*error: answers in *s: later than the node time-out of 100ms?    fix: --node-timeout *1 are needed: no lock can be acquired*"
	FIX=$(sed -n 's/^    fix: --node-timeout/--node-timeout/p' <<< "$output")
	is_like "$FIX" "--node-timeout [1-9]*ms --ttl [1-9]*s"
	works $FIX
}

@test "a node that stands still once, or doctor itself, is not slow: doctor measures again" {
	touch "$T/slow"
	listens "$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" --turns "$T/turns" --while "$T/slow" --delay 700
	in_background "$T/out" doctor --nodes "redis://127.0.0.1:$PORT" --node-timeout 1s --ttl 20s
	# the lock that is tried, and the first measurement
	is_measured() { [ "$(stat -c %s "$T/turns")" -ge 2 ]; }
	eventually is_measured
	rm "$T/slow"
	wait "$BG" || :
	not file_has "$T/out" 'node time-out'
	file_has "$T/out" 'latency'
}

@test "a server that is stopped" {
	stop_node 1
	REDLOCK_NODE_TIMEOUT=700ms fails "did not answer in time"
	is_like "$FIX" "check that it is a Redis server, running and not overloaded; *"
	kill -CONT "${PID[1]}"
	works
}

# ---- passwords ----

@test "a password is needed; it is wrong, and where it comes from" {
	with_user '~*' '&*' +@all
	fails "requires a password"
	is_like "$FIX" "name the password: --password-file FILE or REDLOCK_PASSWORD; *"
	umask 077
	echo s3cret > "$T/password"
	works --username app --password-file "$T/password"
	echo wr0ng > "$T/wrong"
	printf 'username = app\npassword = wr0ng\n' > "$T/config"
	fails "refuses the password" --username app --password-file "$T/wrong"
	is_like "$FIX" "correct the password of user 'app', which comes from the file '$T/wrong'; *"
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=wr0ng fails "refuses the password"
	is_like "$FIX" "*user 'app', which comes from REDLOCK_PASSWORD;*"
	fails "refuses the password" --nodes "unix://app:wr0ng@$T/1.sock"
	is_like "$FIX" "*user 'app', which comes from the node's URL;*"
	fails "refuses the password" --config "$T/config"
	is_like "$FIX" "*user 'app', which comes from line 2 of the configuration file;*"
	fails "refuses the password" --nodes "unix://nobody:s3cret@$T/1.sock"
	is_like "$FIX" "*user 'nobody'*a user that does not exist there, or is off, needs ACL SETUSER"
	works --nodes "$APP"
}

@test "the default user is off; files of another system" {
	with_user '~*' '&*' +@all
	node 1 acl setuser app on '>s3cret' > "$T/set"
	REDISCLI_AUTH=adm1n node 1 acl setuser boss on '>b0ss' '~*' '&*' +@all > "$T/set"
	node 1 acl setuser default off > "$T/set"
	unset REDISCLI_AUTH
	fails "requires a password"
	is_like "$FIX" "name the password: *"
	umask 077
	# lines that end with CR LF, and a byte order mark
	printf 's3cret\r\n' > "$T/password"
	printf '\xef\xbb\xbfusername = app\r\npassword-file = %s\r\n' "$T/password" > "$T/config"
	works --config "$T/config"
}

# in_network CMD...: in a network of its own, with the address 10.9.9.9.
in_network() { unshare --net -- bash -c 'ip link set lo up && ip address add 10.9.9.9/24 dev lo && "$@"' bash "$@"; }

@test "a network that rejects the connection: a firewall, or no route" {
	needs networks
	local route
	redlock() { in_network bash -c "ip route add $route && exec \"\$@\"" bash "$REDLOCK_BUILD/redlock" "$@"; }
	for route in "unreachable 10.1.1.1" "prohibit 10.1.1.1"; do
		fails "cannot be reached" --nodes redis://10.1.1.1:7001
		is_like "$FIX" "a firewall rejects the connection, or no host has that address: permit its port for this host *"
	done
	route="10.2.2.0/24 dev lo"
	fails "Network is unreachable" --nodes redis://10.1.1.1:7001
	is_like "$FIX" "this host has no route to that address: 'ip route get ADDRESS' shows it; *"
}

@test "the bus of a cluster in place of a server" {
	on_port 1 --port PORT
	kill_node 1
	start_node 1 --bind 127.0.0.1 --port "$PORT" --cluster-enabled yes --cluster-config-file "$T/cluster.conf"
	eventually answers 1
	fails "closed the connection" --nodes "redis://127.0.0.1:$((PORT + 10000))"
	is_like "$FIX" "*; if it is the bus of a cluster (the port of a server and 10000), name servers of their own; *"
	kill_node 1
	start_node 1 --bind 127.0.0.1 --port "$PORT"
	eventually admitted 1
	works --nodes "redis://127.0.0.1:$PORT"
}

@test "a TTL that is too short, for nodes at 150 ms: each of doctor's figures works" {
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	listens "$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" --delay 150
	export REDLOCK_NODES=redis://127.0.0.1:$PORT
	local ttl fixes fix
	says 64 '' "*hint: the least --ttl is *; 'redlock doctor' prints one that suits the round trips to the nodes" run -n -k job --ttl 20ms -- true
	for ttl in 20ms 300ms 2s; do
		run -69 --separate-stderr redlock doctor --ttl $ttl
		fixes=$(sed -n 's/^    fix: --/--/p' <<< "$output" | sort -u)
		[ -n "$fixes" ]
		while read -r fix; do works $fix; done <<< "$fixes"
	done
}

@test "a limit of open files that is too low for a command" {
	local nodes="$REDLOCK_NODES"
	redlock() { (ulimit -n 14 && exec "$REDLOCK_BUILD/redlock" "$@"); }
	run -125 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*Too many open files (the limit is 14)?hint: raise the limit with 'ulimit -n 1024', *"
	FIX=${stderr##*hint: }
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*error: a process may open 14 files only: no command can be started?    fix: $FIX?*"
	redlock() { (ulimit -n 1024 && exec "$REDLOCK_BUILD/redlock" "$@"); }
	works
	run -0 --separate-stderr redlock doctor
	[[ "$output" != *"may open"* ]]
}

@test "a password with quotes, or with an escape in the wrong place" {
	local quote
	with_user '~*' '&*' +@all
	umask 077
	for quote in '"' "'"; do
		REDLOCK_USERNAME=app REDLOCK_PASSWORD=${quote}s3cret$quote fails "refuses the password"
		is_like "$FIX" "the password, which comes from REDLOCK_PASSWORD, begins and ends with a quote: leave the quotes out*"
		echo "${quote}s3cret$quote" > "$T/password"
		fails "refuses the password" --username app --password-file "$T/password"
		is_like "$FIX" "the password, which comes from the file '$T/password', begins and ends with a quote: leave the quotes out*"
	done
	REDLOCK_USERNAME=app REDLOCK_PASSWORD=s3cret works
	node 1 acl setuser app resetpass '>ab%41c' > "$T/set"
	fails "refuses the password" --nodes "unix://app:ab%41c@$T/1.sock"
	is_like "$FIX" "the password in the node's URL has escapes, such as %41 for A: write %25 for each '%' that belongs to the password, or give it in REDLOCK_PASSWORD *"
	works --nodes "unix://app:ab%2541c@$T/1.sock"
	REDLOCK_USERNAME=app REDLOCK_PASSWORD='ab%41c' works
	node 1 acl setuser app resetpass '>p@ss' > "$T/set"
	REDLOCK_USERNAME=app REDLOCK_PASSWORD='p%40ss' fails "refuses the password"
	is_like "$FIX" "the password, which comes from REDLOCK_PASSWORD, has an escape, such as %40 for @, and only a URL has escapes: write the password as it is *"
	REDLOCK_USERNAME=app REDLOCK_PASSWORD='p@ss' works
	works --nodes "unix://app:p%40ss@$T/1.sock"
}

@test "a password for a server without one" {
	REDLOCK_PASSWORD=s3cret fails "has no password set, and was given one"
	is_like "$FIX" "leave user and password out (they come from REDLOCK_PASSWORD), or *"
	works
}

@test "protected mode: the server's words, and a remedy that works there" {
	needs networks
	local ours
	in_network() { unshare --net -- bash -c 'ip link set lo up && ip address add 10.9.9.9/8 dev lo && "$@"' bash "$@"; }
	export T
	run in_network bash -c '
		redis-server --port 7001 --bind 10.9.9.9 --unixsocket "$T/p.sock" --save "" --dir "$T" > "$T/p.out" 2>&1 3>&- & pid=$!
		for ((i = 0; i < 2000; i++)); do [ -S "$T/p.sock" ] && break; sleep 0.02; done
		export REDLOCK_NODES=redis://10.9.9.9:7001 REDLOCK_RESTART_GUARD=off
		"$REDLOCK_BUILD/redlock" run -n -k job -- true; echo "run $?"
		"$REDLOCK_BUILD/redlock" doctor; echo "doctor $?"
		redis-cli -s "$T/p.sock" CONFIG SET requirepass PASSWORD
		REDLOCK_PASSWORD=PASSWORD "$REDLOCK_BUILD/redlock" run -n -k job -- echo done
		kill $pid'
	is_like "$output" "*is in protected mode: it serves only its own host (DENIED Redis is running in protected mode*hint: *redis-cli, CONFIG SET requirepass PASSWORD;*run 69*error: is in protected mode*fix: *CONFIG SET requirepass PASSWORD;*doctor 69?OK?done"
}

@test "a password file that is a folder, or empty; one with two lines" {
	local args command
	with_user '~*' '&*' +@all
	umask 077
	printf '\ns3cret\n' > "$T/empty"
	: > "$T/nothing"
	printf 's3cret\nafter it\n' > "$T/lines"
	for args in "run -n -k job" doctor; do
		both() { says 78 '' "$1" $args --username app --password-file "$2" $command; }
		[ "$args" = doctor ] && command='' || command='-- echo never'
		both "redlock: cannot read --password-file '$T': Is a directory" "$T"
		both "redlock: --password-file '$T/empty' has no password?hint: write the password into its first line" "$T/empty"
		both "redlock: --password-file '$T/nothing' has no password?hint: write the password into its first line" "$T/nothing"
	done
	# the first line is the password
	works --username app --password-file "$T/lines"
}

# ---- the addresses of nodes ----

@test "an address with a wrong scheme; a list without quotes: the same words in run and doctor" {
	local args command
	for args in "run -n -k job" doctor; do
		bad() { says 78 '' "redlock: invalid node '$1': $2?hint: write a node as redis[[]s[]]://[[]user:password@[]]host[[]:port[]][[]/db[]], host:port or unix:///path" $args --nodes "${3:-$1}" $command; }
		[ "$args" = doctor ] && command='' || command='-- echo never'
		bad redis//127.0.0.1:6379 "'://' must follow the scheme"
		bad rediss//127.0.0.1:6379 "'://' must follow the scheme"
		bad redis:/127.0.0.1:6379 "'://' must follow the scheme"
		bad http://127.0.0.1:6379 "the scheme must be redis, rediss or unix"
		bad https://127.0.0.1:6379 "the scheme must be redis, rediss or unix"
		bad "redis://a[*][*][*]" "a list separates nodes by spaces or commas" "redis://a;redis://b"
		bad '"redis://a"' "it begins with a quote: quotes belong in a shell only"
		says 64 '' "redlock: 'redis://b' is an argument of its own, not part of --nodes?hint: quote a list of nodes: --nodes 'redis://a redis://b'" \
			$args --nodes redis://a redis://b $command
	done
	works --nodes "unix://$T/1.sock"
}

# ---- rights ----

@test "no right to the key, to redlock's own keys, to a command, to EVAL: the rule can be pasted as it is" {
	with_user '~elsewhere*' '&*' +@all
	run -69 --separate-stderr redlock run -n -k job --nodes "$APP" -- true
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
	is_like "$stderr" "*denies permission (NOPERM *hint: in redis-cli on the node: ACL SETUSER app ~job ~{redlock}:node *hint: ACL SAVE, or without an ACL file CONFIG REWRITE, keeps it over a restart"
	# doctor is not sound, and names the same rule for that key
	run --separate-stderr redlock doctor --nodes "$APP"
	[[ "$output" != *"no problem found"* && "$output" == *"note: user 'app' has rights on some keys only: those of locks were not tried"* ]]
	run -69 --separate-stderr redlock doctor -k job --nodes "$APP"
	is_like "$output" "*error: user 'app' may not use 'job'?    fix: ${FIX//\*/[*]} *"
	paste
	run --separate-stderr redlock doctor -k job --nodes "$APP"
	[[ "$output" != *"may not use 'job'"* ]]
	says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
	local less
	for less in eval evalsha get set pttl pexpire del; do
		with_user resetkeys '~*' '&*' +@all "-$less"
		says_how 0
		[ -z "$FIX" ] || paste
		node 1 del job > "$T/del"
		with_user '~*'
		says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
	done
}

@test "a user that may take no lock: doctor does not call the nodes usable" {
	local rules
	for rules in '~redlock:* +@all' '~elsewhere* +@all' '~redlock:* +@all -@admin -@dangerous'; do
		with_user resetkeys nocommands '&*' $rules
		run -69 --separate-stderr redlock run -n -k job --nodes "$APP" -- true
		FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
		run -1 --separate-stderr redlock doctor --nodes "$APP"
		is_like "$output" "*: no lock was tried: name the key of one with -k KEY"
		[[ "$output" != *"can be used"* ]]
		run -1 --separate-stderr redlock doctor --json --nodes "$APP"
		[[ "$output" == *'"outcome":"untried"'* ]]
		run -69 --separate-stderr redlock doctor -k job --nodes "$APP"
		is_like "$output" "*error: user 'app' may not use 'job'?    fix: ${FIX//\*/[*]} *no lock can be acquired*"
		[[ "$output" != *"locks can be acquired"* ]]
		paste
		says 0 'done' '*' run -n -k job --nodes "$APP" -- echo done
	done
}

# says_how: run with these rights; FIX is the rule that it prints, if it fails.
says_how() {
	run --separate-stderr redlock run -n -k job --nodes "$APP" -- true
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
	[ "$status" -eq 0 ] || [ -n "$FIX" ]
}

@test "without EVAL, doctor and run print a rule for all that is needed" {
	with_user '~*' '&*' -@all
	run -69 --separate-stderr redlock run -n -k job --nodes "$APP" -- true
	[[ "$stderr" == *"denies permission (NOPERM "*" run the 'eval"* ]]
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
	paste
	says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
	with_user -@all
	run -69 --separate-stderr redlock doctor --nodes "$APP"
	is_like "$output" "*error: user 'app' may not use eval*; without it, doctor cannot try *"
	FIX=$(sed -n '0,/^    fix: ACL/s/^    fix: //p' <<< "$output" | tail -n 1)
	paste
	works --nodes "$APP"
}

@test "without EVAL, a node that knows the script of an acquisition by its digest gives no lock either" {
	with_user '~*' '&*' +@all
	works --nodes "$APP"
	with_user -eval
	says 69 '' "*denies permission (NOPERM *'eval'*hint: in redis-cli on the node: ACL SETUSER app +eval*" run -n -k job --nodes "$APP" -- echo never
	[ "$(node 1 exists job)" = 0 ]
	with_user +eval
	says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
	# a holder that loses the right keeps its lock; if the node forgets its scripts, too, the message about the release
	# names the rule
	says 0 '' "*'job' could not be released on 1 of 1 nodes *'eval'*hint: in redis-cli on the node: ACL SETUSER app +eval*" \
		run -n -k job --nodes "$APP" -- sh -c "redis-cli -s $T/1.sock acl setuser app -eval > $T/set; redis-cli -s $T/1.sock script flush > $T/set"
}

@test "no right to SELECT, for a node with a database; rights to read all keys, and to write none" {
	with_user '~*' '&*' +@all -select
	fails "denies permission" --nodes "$APP?db=1"
	[ "$FIX" = "ACL SETUSER app +select" ]
	paste
	works --nodes "$APP?db=1"
	with_user resetkeys '%R~*' '&*' +@all
	run -69 --separate-stderr redlock run -n -k job --nodes "$APP" -- true
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
	# doctor has no key of a lock to try, and says so
	run --separate-stderr redlock doctor --nodes "$APP"
	[[ "$output" != *"no problem found"* && "$output" == *"note: user 'app' has rights on some keys only: those of locks were not tried"* ]]
	run -69 --separate-stderr redlock doctor -k job --nodes "$APP"
	is_like "$output" "*error: user 'app' may not use 'job'?    fix: ${FIX//\*/[*]} *"
	paste
	says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
}

# lacks WORDS RULE [ARG...]: the lock is acquired, and doctor warns about the rights in WORDS, with the fix RULE.
lacks() {
	run -0 --separate-stderr redlock run -n -k job --nodes "$APP" -- echo done
	[ "$output" = "done" ]
	run -0 --separate-stderr redlock doctor --nodes "$APP" "${@:3}"
	is_like "$output" "*warning: user 'app' may not use $1 (*"
	FIX=$(sed -n "0,/^    fix: ACL/s/^    fix: //p" <<< "$output" | tail -n 1)
	[ "$FIX" = "ACL SETUSER app $2" ]
}

# waits STDERR: a client that waits for the lock of another one gets it; meanwhile it prints that.
waits() {
	node 1 set job mine px 600000 > "$T/set"
	in_background "$T/waiter" run -k job --nodes "$APP" -- echo done
	eventually file_has "$T/waiter" "waiting: 'job'"
	node 1 del job > "$T/set"
	ended_with 0
	is_like "$(cat "$T/waiter")" "$1*done"
}

@test "no right to INFO, to PUBSUB, to a channel: the lock is acquired, and doctor names the rule" {
	export REDLOCK_RESTART_GUARD=on # one node has none otherwise
	with_user '~*' '&*' +@all -info
	says 0 'done' "redlock: no restart guard on unix://$T/1.sock: this user may not use INFO?hint: in redis-cli on the node: ACL SETUSER app +info?hint: ACL SAVE*" run -n -k job --nodes "$APP" -- echo done
	lacks info +info
	paste
	works_silently
	with_user '~*' '&*' +@all -pubsub
	waits "redlock: cannot queue for 'job', polling instead: unix://$T/1.sock denies permission (*"
	lacks pubsub '+pubsub|numsub'
	paste
	waits "redlock: waiting: 'job' is held by *"
	works_silently
	with_user '~*' resetchannels +@all
	waits "redlock: cannot queue for 'job', polling instead: unix://$T/1.sock denies permission (NOPERM *channel*"
	lacks "redlock's channels" '&redlock:wake:{job}:* &redlock:queue:{job}* &redlock:*:{redlock:doctor:*}*' -k job
	paste
	waits "redlock: waiting: 'job' is held by *"
	works_silently
}

# works_silently: no message is left, and doctor finds all rights.
works_silently() {
	says 0 'done' '' run -n -k job --nodes "$APP" -- echo done
	run -0 --separate-stderr redlock doctor -k job --nodes "$APP"
	[[ "$output" != *"may not use"* ]]
}

# ---- TLS ----

@test "TLS: a port for TLS spoken to in plain text, and the other way round" {
	with_tls good
	run -69 --separate-stderr redlock run -n -k job --nodes "redis://127.0.0.1:$PORT" -- true
	is_like "$stderr" "*@(closed the connection*|speaks TLS only)?hint: *name it rediss://127.0.0.1:$PORT*"
	run -69 --separate-stderr redlock doctor --nodes "redis://127.0.0.1:$PORT"
	is_like "$output" "*fix: *name it rediss://127.0.0.1:$PORT*"
	works --nodes "rediss://127.0.0.1:$PORT" --cacert "$C/ca.pem"
	on_port 1 --port PORT
	REDLOCK_NODE_TIMEOUT=700ms fails "did not begin TLS in time" --nodes "rediss://127.0.0.1:$PORT" --cacert "$C/ca.pem"
	is_like "$FIX" "if the server hangs, restart it; if that port has no TLS, name it redis://127.0.0.1:$PORT; *"
	works --nodes "redis://127.0.0.1:$PORT"
}

@test "TLS: an unknown authority, another name, an expired certificate, a client certificate" {
	with_tls good
	fails "cannot be trusted" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "name the certificate of its authority with --cacert FILE *"
	works --nodes "rediss://127.0.0.1:$PORT" --cacert "$C/ca.pem"
	export REDLOCK_CACERT=$C/ca.pem
	with_tls elsewhere
	fails "cannot be trusted" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "*or give that name with --sni NAME"
	works --nodes "rediss://127.0.0.1:$PORT" --sni elsewhere.example.org
	with_tls expired
	fails "cannot be trusted" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "renew the certificate ('tls-cert-file' names it), *"
	with_tls good --tls-auth-clients yes
	fails "requires a client certificate" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "name a certificate *with --cert FILE, and its key with --cert-key FILE; *"
	works --nodes "rediss://127.0.0.1:$PORT" --cert "$C/client.pem" --cert-key "$C/client.key"
}

@test "TLS: an intermediate certificate that the server does not send" {
	cp "$C/leaf.key" "$C/chain.key"
	with_tls leaf
	fails "comes from an unknown authority, /CN=middle" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "name the certificate of its authority with --cacert FILE *; of an intermediate authority, that of its root, and let the server send the chain ('tls-cert-file')"
	export REDLOCK_CACERT=$C/ca.pem
	fails "its certificate comes from an unknown authority, /CN=middle" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "if that authority is an intermediate one, let the server send its certificate: append it to the file of 'tls-cert-file', and restart the server; *"
	# the intermediate certificate alone is not enough
	REDLOCK_CACERT=$C/middle.pem fails "the certificate of its authority comes from an unknown authority, /CN=ca" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "*; if it is a root, add its certificate to --cacert FILE"
	cat "$C/middle.pem" "$C/ca.pem" > "$T/both.pem"
	REDLOCK_CACERT=$T/both.pem works --nodes "rediss://127.0.0.1:$PORT"
	cat "$C/leaf.pem" "$C/middle.pem" > "$C/chain.pem"
	with_tls chain
	works --nodes "rediss://127.0.0.1:$PORT"
	REDLOCK_CACERT=$C/other.pem fails "the certificate of its authority comes from an unknown authority, /CN=ca" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "*; if it is a root, add its certificate to --cacert FILE"
	# a server that sends its root, too
	cat "$C/ca.pem" >> "$C/chain.pem"
	with_tls chain
	REDLOCK_CACERT=$C/other.pem fails "its certificate comes from an unknown root, /CN=ca" --nodes "rediss://127.0.0.1:$PORT"
	is_like "$FIX" "name the certificate of its authority with --cacert FILE *"
	works --nodes "rediss://127.0.0.1:$PORT"
}

# ---- a server that refuses ----

@test "a server whose memory is full" {
	node 1 config set maxmemory 100kb > "$T/set"
	run -69 --separate-stderr redlock run -n -k job -- true
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' <<< "$stderr")
	is_like "$FIX" "CONFIG SET maxmemory [1-9]*"
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*error: is out of memory?    fix: CONFIG SET maxmemory [1-9]*"
	# the same advice while a client waits
	in_background "$T/waiter" run --node-wait 10m -k job -- echo done
	eventually file_has "$T/waiter" '^hint: in redis-cli on the node: '
	FIX=$(sed -n 's/^hint: in redis-cli on the node: //p' "$T/waiter")
	is_like "$FIX" "CONFIG SET maxmemory [1-9]*"
	paste
	ended_with 0
	# a user that may not ask for INFO gets no figure
	node 1 config set maxmemory 100kb > "$T/set"
	with_user '~*' '&*' +@all -info
	fails "is out of memory" --nodes "$APP"
	is_like "$FIX" "raise 'maxmemory' in redis-cli with CONFIG SET, to at least twice the 'used_memory' of INFO memory and at least 8mb"
	FIX="CONFIG SET maxmemory 8mb" paste
	works --nodes "$APP"
}

@test "a server that cannot save its snapshot" {
	mkdir "$T/gone"
	kill_node 1
	start_node 1 --dir "$T/gone" --save '3600 1'
	eventually admitted 1
	rmdir "$T/gone"
	node 1 bgsave > "$T/set"
	has_failed() { node 1 info persistence | grep -q '^rdb_last_bgsave_status:err'; }
	eventually has_failed
	fails "refuses writes because it cannot save to disk"
	[ "$FIX" = "CONFIG SET stop-writes-on-bgsave-error no" ]
	paste
	says 0 'done' '' run -n -k job -- echo done
}

@test "a server whose disk is full: its append-only file" {
	needs mounts
	on_mount size=64k 1 --appendonly yes
	head -c 100000 /dev/zero | node 1 -x set big > "$T/set" || true
	has_failed() { node 1 info persistence | grep -q '^aof_last_write_status:err'; }
	eventually has_failed
	fails "refuses writes because it cannot save to disk"
	is_like "$FIX" "make room on the server's disk, or its folder writable: CONFIG GET dir names it"
	nsenter --target "${PID[1]}" --mount mount -o remount,size=4m "$T/disk"
	has_room() { node 1 info persistence | grep -q '^aof_last_write_status:ok'; }
	eventually has_room
	works
}

@test "a replica, one without its master, too few replicas" {
	node 1 replicaof 127.0.0.1 1 > "$T/set"
	run -69 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*is a replica?hint: name its master*"
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*error: is a replica: its master decides what it keeps*fix: name its master*"
	# one that takes writes, which its master's data replace
	node 1 config set replica-read-only no > "$T/set"
	for guard in on off; do
		run -69 --separate-stderr redlock run -n -k job --restart-guard $guard -- true
		is_like "$stderr" "*is a replica?hint: name its master*"
		[ "$(node 1 exists job)" = 0 ]
	done
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*error: is a replica: its master decides what it keeps*fix: name its master*"
	node 1 config set replica-read-only yes replica-serve-stale-data no > "$T/set"
	run -69 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*is a replica without its master?hint: name its master*"
	node 1 replicaof no one > "$T/set"
	works
	node 1 config set min-replicas-to-write 1 > "$T/set"
	fails "refuses writes because it has too few replicas"
	paste
	works
}

@test "a replica beside its own master" {
	on_port 1 --port PORT --repl-diskless-sync-delay 0
	start_node 2
	eventually answers 2
	node 2 replicaof 127.0.0.1 "$PORT" > "$T/set"
	synced() { node 2 info replication | grep -q '^master_link_status:up'; }
	eventually synced
	export REDLOCK_NODES="unix://$T/1.sock unix://$T/2.sock"
	run -69 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*1 of 2 nodes can be used*2.sock is a replica?hint: unix://$T/2.sock: name its master, 127.0.0.1 port $PORT, unless that is a node already; *"
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*2.sock*error: is a replica*fix: name its master*in one replication group with unix://$T/1.sock*"
	[ "$(node 2 <<< "REPLICAOF NO ONE")" = OK ]
	eventually admitted 2
	works
}

@test "a member of a cluster" {
	needs networks
	kill_node 1
	in_own_network start_node 1 --cluster-enabled yes --cluster-config-file "$T/cluster.conf"
	eventually answers 1
	run -69 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*cluster*?hint: name servers of their own: 'cluster-enabled no' in redis.conf, and restart"
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*is a cluster member*fix: name servers of their own: 'cluster-enabled no' in redis.conf, and restart*"
	kill_node 1
	start_node 1 --cluster-enabled no
	eventually admitted 1
	works
}

@test "a server that is loading its data" {
	node 1 eval 'for n = 1, 20000 do redis.call("SET", n, n) end' 0 > "$T/set"
	node 1 save > "$T/set"
	kill_node 1
	start_node 1 --key-load-delay 3000 --loading-process-events-interval-bytes 1024
	is_loading() { [[ "$(node 1 get x 2>&1)" == LOADING* ]]; }
	eventually is_loading
	fails "is still loading its data"
	is_like "$FIX" "wait until the server has loaded its data: 'INFO persistence' shows how far it is"
	node 1 config set key-load-delay 0 > "$T/set"
	eventually admitted 1
	works
}

# is_freed_by FIX: node 1 is busy, until the command FIX is sent.
is_freed_by() {
	is_busy() { [[ "$(node 1 ping 2>&1)" == BUSY* ]]; }
	eventually is_busy
	fails "is busy with a script"
	[ "$FIX" = "$1" ]
	paste
	works
}

@test "a server that runs a script, and too many clients" {
	node 1 config set busy-reply-threshold 1 > "$T/set" || node 1 config set lua-time-limit 1 > "$T/set"
	redis-cli -s "$T/1.sock" eval 'while true do end' 0 > "$T/endless" 2>&1 3>&- &
	also_end $!
	is_freed_by "SCRIPT KILL"
	redis-cli -s "$T/1.sock" subscribe x > "$T/subscribed" 2>&1 3>&- &
	idle=$!
	also_end $idle
	eventually file_has "$T/subscribed" subscribe
	node 1 config set maxclients 1 > "$T/set"
	is_full() { [[ "$(node 1 ping 2>&1)" == *"max number of clients"* ]]; }
	eventually is_full
	fails "has too many clients"
	is_like "$FIX" "stop some of its clients, for redis-cli cannot connect either; then raise 'maxclients' with CONFIG SET, *"
	kill $idle
	raised() { [ "$(node 1 config set maxclients 10000 2>&1)" = OK ]; }
	eventually raised
	works
}

@test "a server that runs a function" {
	[ "$(node 1 command info function)" != "" ] || return 0 # not in Redis 6
	printf "#!lua name=f\nredis.register_function('spin', function() while true do end end)" |
		node 1 -x function load > "$T/set"
	node 1 config set busy-reply-threshold 1 > "$T/set"
	redis-cli -s "$T/1.sock" fcall spin 0 > "$T/endless" 2>&1 3>&- &
	also_end $!
	is_freed_by "FUNCTION KILL"
}

@test "a command that the scripts need has another name; one that only doctor needs" {
	kill_node 1
	start_node 1 --rename-command SET ''
	eventually answers 1
	fails "answered with an error"
	is_like "$FIX" "redlock's scripts need a command that the server does not have: remove each 'rename-command' from redis.conf, and restart"
	kill_node 1
	start_node 1 --rename-command INFO ''
	eventually answers 1
	says 0 'done' '' run -n -k job --restart-guard off -- echo done
	run -0 --separate-stderr redlock doctor
	is_like "$output" "*warning: does not answer INFO: *?    fix: remove 'rename-command INFO' from redis.conf, and restart*"
	# the restart guard needs INFO: no right is to blame
	says 0 'done' "redlock: no restart guard on unix://$T/1.sock: the server has no command INFO?hint: remove 'rename-command INFO' from redis.conf, and restart; where that is not possible, give --restart-guard off: *" \
		run -n -k job --restart-guard on -- echo done
	run -0 --separate-stderr redlock doctor --restart-guard on
	is_like "$output" "*?    fix: remove 'rename-command INFO' from redis.conf, and restart; where that is not possible, give --restart-guard off: *"
	says 0 'done' '' run -n -k job --restart-guard off -- echo done
	kill_node 1
	start_node 1
	eventually admitted 1
	works
}

@test "a sentinel" {
	local try
	for ((try = 0; try < 50; try++)); do
		PORT=$((20000 + RANDOM % 10000))
		printf 'bind 127.0.0.1\nport %s\ndir %s\n' "$PORT" "$T" > "$T/sentinel.conf"
		redis-server "$T/sentinel.conf" --sentinel > "$T/sentinel.out" 2>&1 3>&- &
		also_end $!
		is_up() { is_gone $! || [ "$(redis-cli -p "$PORT" ping 2>&1)" = PONG ]; }
		eventually is_up
		is_gone $! || break
	done
	run -69 --separate-stderr redlock run -n -k job --nodes "redis://127.0.0.1:$PORT" -- true
	is_like "$stderr" "*answered with an error (ERR unknown command *)?hint: it is a sentinel: name the port of a server"
	run -69 --separate-stderr redlock doctor --nodes "redis://127.0.0.1:$PORT"
	is_like "$output" "*error: is a sentinel: it keeps no keys?    fix: it is a sentinel: name the port of a server*"
	works
}

@test "EVAL is disabled; a database that does not exist" {
	kill_node 1
	start_node 1 --rename-command EVAL '' --rename-command EVALSHA ''
	eventually answers 1
	fails "answered with an error"
	is_like "$FIX" "redlock needs that command: remove its 'rename-command' from redis.conf, and restart"
	[[ "$SAID" == *"unknown command 'EVAL')"* || "$SAID" == *"unknown command \`EVAL\`)"* ]]
	kill_node 1
	start_node 1
	eventually admitted 1
	works
	fails "answered with an error" --nodes "unix://$T/1.sock?db=99"
	is_like "$FIX" "name a database that the server has, or none: CONFIG GET databases"
}

@test "a node whose clock is off" {
	export REDLOCK_RESTART_GUARD=on # one node has none otherwise
	with_a_clock 1
	for seconds in 40 -40; do
		jump 1 $seconds
		fails "has another time of day"
		is_like "$SAID" "*1.sock has another time of day, [34][0-9]s @(ahead of|behind) ours?hint: *"
		is_like "$FIX" "set the clocks of that host and of this one: timedatectl set-ntp true; '--restart-guard off' does not look at clocks"
		[[ "$output" == *"1 are needed: no lock can be acquired"* ]]
		REDLOCK_RESTART_GUARD=off says 0 'done' '*' run -n -k job -- echo done
	done
	jump 1 0
	works
}

# ---- no Redis server ----

@test "a web server, and one that says nothing" {
	listens "$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" --say 'HTTP/1.1 400 Bad Request\r\n\r\n'
	fails "does not speak the Redis protocol" --nodes "redis://127.0.0.1:$PORT"
	[ "$FIX" = "another program listens there: name the port where a Redis server listens" ]
	[[ "$stderr" == "" && "$output" == *"HTTP/1.1 400 Bad Request"* ]]
	rm "$T/port"
	listens "$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" --hold
	REDLOCK_NODE_TIMEOUT=700ms fails "did not answer in time" --nodes "redis://127.0.0.1:$PORT"
	is_like "$FIX" "check that it is a Redis server, running and not overloaded; *"
	works
}

# ---- keys ----

@test "other data under the key, and a lock that never expires" {
	node 1 rpush job x > "$T/set"
	says 75 '' "redlock: 'job' is busy: *value '(list)'*with no expiry?hint: the key has other data, which are no lock: *, in redis-cli on each node: UNLINK job" \
		run -n -k job -- echo never
	says 75 '' "*cannot remove 'job': the value is no lock?hint: *?hint: *UNLINK job" break -f -y -k job
	FIX=${stderr##*: } paste 1
	works
	node 1 set job mine > "$T/set"
	says 75 '' "redlock: 'job' is busy: *with no expiry?hint: the key never expires: if no program holds the lock any more, 'redlock break --force -k job' removes it" \
		run -n -k job -- echo never
	redlock break --force -k job -y
	works
}

@test "a fencing counter of another type: its key, and the command that removes it" {
	node 1 rpush 'redlock:fence:{job}' x > "$T/set"
	says 69 '' "*has a fencing counter that is no number, or at its limit (redlock:fence:{job})?hint: in redis-cli on the node: DEL redlock:fence:{job}?hint: *'gate'*" \
		run -n -k job --fence -- echo never
	run --separate-stderr redlock doctor
	is_like "$output" "*the fencing counter 'redlock:fence:{job}' is no number*fix: DEL redlock:fence:{job}*"
	FIX='DEL redlock:fence:{job}' paste 1
	says 0 'done' '' run -n -k job --fence -- echo done
}

# ---- the set ----

@test "two of three nodes are down; a server under two names; nodes that may evict" {
	export REDLOCK_NODES="unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	says 69 '' "*1 of 3 nodes can be used, 2 needed: each of unix://$T/2.sock, unix://$T/3.sock cannot be reached (*hint: unix://$T/2.sock: there is no socket $T/2.sock: *hint: unix://$T/3.sock: *" \
		run -n -k job -- echo never
	for i in 2 3; do start_node $i; done
	for i in 2 3; do eventually admitted $i; done
	works
	ln -s 1.sock "$T/again.sock"
	says 78 '' "redlock: nodes 'unix://$T/1.sock' and 'unix://$T/again.sock' are the same server?hint: name a separate server for each node" \
		run -n -k job --nodes "unix://$T/1.sock unix://$T/again.sock unix://$T/2.sock" -- echo never
	for i in 1 2; do
		node $i config set maxmemory 1gb
		node $i config set maxmemory-policy allkeys-lru
	done > "$T/set"
	says 0 'done' '' run -n -k job -- echo done
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*unix://.../1.sock, unix://.../2.sock?  error: forgets keys, *allkeys-lru??    fix: CONFIG SET maxmemory-policy noeviction*locks can be acquired, but are not safe*"
	[[ "$output" != *"no lock can be acquired"* ]]
	[ "$(grep -c "forgets keys" <<< "$output")" = 1 ]
	for i in 1 2; do [ "$(node $i <<< "CONFIG SET maxmemory-policy noeviction")" = OK ]; done
	works
}

@test "two of three nodes have lost their keys" {
	start_node 2
	start_node 3
	for i in 2 3; do eventually admitted $i; done
	export REDLOCK_NODES="unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	node 2 flushall > "$T/set"
	kill_node 3
	start_node 3
	eventually answers 3
	run -69 --separate-stderr redlock run -n -k job -- true
	is_like "$stderr" "*1 of 3 nodes can be used*2.sock*3.sock is in quarantine *hint: *2.sock, *3.sock: wait: *; if the nodes hold no locks, 'redlock doctor --admit' ends it now"
	run -69 --separate-stderr redlock doctor
	is_like "$output" "*warning: in quarantine: *fix: wait; or, if the nodes hold no locks: redlock doctor --admit*no lock can be acquired*"
	[[ "$output" != *"no problem found"* ]]
	redlock doctor --admit -y
	works
}

@test "a node next to a busy holder: its hint names it" {
	start_node 2
	start_node 3
	for i in 2 3; do eventually admitted $i; done
	export REDLOCK_NODES="unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock"
	node 1 set job mine px 600000 > "$T/set"
	for i in 2 3; do node $i replicaof 127.0.0.1 1 > "$T/set"; done
	run --separate-stderr redlock run -n -k job -- echo never
	[ "$status" -ne 0 ]
	is_like "$stderr" "*2.sock*is a replica*hint: unix://$T/2.sock, unix://$T/3.sock: name its master*"
}

@test "no nodes are named: doctor says which one it asks" {
	unset REDLOCK_NODES
	run --separate-stderr redlock doctor
	is_like "$output" "*warning: no nodes are named: redis://127.0.0.1:6379 is asked?    fix: name three or five independent servers with --nodes or REDLOCK_NODES*"
}

@test "the ACL rules that doctor --acl prints, pasted as they are printed, are enough" {
	says 0 '*' "hint: a new user also needs a password: ACL SETUSER redlock >PASSWORD" doctor --acl job
	redlock doctor --acl job 2> "$T/hint" | node 1 > "$T/replies" 2>&1
	sed 's/^hint: [^:]*: //; s/PASSWORD/s3cret/' "$T/hint" | node 1 >> "$T/replies" 2>&1
	[ "$(sort -u "$T/replies")" = OK ]
	local app=unix://redlock:s3cret@$T/1.sock
	says 0 'done' '' run -n -k job --fence --nodes "$app" -- echo done
	says 0 'done' '' run -n -k job -L 2 --nodes "$app" -- echo done
	says 0 'done' '' run -n -k job -s --nodes "$app" -- echo done
	run -0 --separate-stderr redlock doctor -k job --nodes "$app"
	[[ "$output" != *"may not"* ]]
}

@test "doctor --acl: another user, all keys, and patterns that no rule can have" {
	local pattern
	redlock doctor --acl 'a*' --username app > "$T/rules"
	[ "$(grep -c '^ACL SETUSER app ' "$T/rules")" = 10 ]
	# needs no node
	says 0 '*"outcome":"acl"*"rules":[[]"ACL SETUSER redlock on ~a[*] *' '*' doctor --acl 'a*' --json --nodes redis://127.0.0.1:1
	node 1 acl setuser all on '>s3cret' > "$T/set"
	redlock doctor --acl '*' --username all | node 1 > "$T/replies" 2>&1
	[ "$(sort -u "$T/replies")" = OK ]
	works --nodes "unix://all:s3cret@$T/1.sock"
	for pattern in 'a b' $'a\n' $'a\t' $'\x01' "it's" 'a"b'; do
		says 64 '' "redlock: *--acl PATTERN*" doctor --acl "$pattern"
	done
	says 64 '' "redlock: --acl is empty?hint: *" doctor --acl ''
	says 64 '' "redlock: --acl PATTERN is too long: 251 bytes, *" doctor --acl "$(printf '%0251d' 0)"
	says 64 '' "redlock: invalid --username USER 'a b': *" doctor --acl job --username 'a b'
}

@test "the openssl commands of docs/nodes.md, pasted as they are printed, make certificates that are trusted" {
	mkdir "$T/tls"
	awk '/^    openssl req -x509/ { shown = 1 } shown && !/^    / { exit } shown { print substr($0, 5) }' \
		"$BATS_TEST_DIRNAME/../../docs/nodes.md" > "$T/commands"
	[ "$(grep -c openssl "$T/commands")" -eq 3 ]
	(cd "$T/tls" && sh -e "$T/commands" 2> "$T/log")
	export REDLOCK_CACERT=$T/tls/ca.pem
	C=$T/tls with_tls redis1.example.com --tls-auth-clients yes
	works --nodes "rediss://127.0.0.1:$PORT" --sni redis1.example.com \
		--cert "$T/tls/redis3.example.com.pem" --cert-key "$T/tls/redis3.example.com.key"
	C=$T/tls with_tls redis2.example.com
	works --nodes "rediss://127.0.0.1:$PORT" --sni redis2.example.com
	fails "cannot be trusted" --nodes "rediss://127.0.0.1:$PORT" --sni redis1.example.com
}
