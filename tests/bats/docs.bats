# The pages of docs for users: each code block is run as it is printed there, or its page says "Not tested".
# recipes.bats has docs/recipes.md, auth.bats and tls.bats the permissions and TLS of docs/nodes.md.

load nodes
load stubs

DOCS=$BATS_TEST_DIRNAME/../../docs

setup() {
	T=$BATS_TEST_TMPDIR
	PID=()
}
teardown() { nodes_stop; }

# blocks PAGE: its code blocks, as PAGE.N in $T, without those after a line that ends with "Not tested:".
blocks() {
	awk -v to="$T/$1." '
		function put(text) {
			for (; pending; pending--) if (!is_marked) print "" > (to n)
			if (!is_marked) print text > (to n)
		}
		/^## / { apart = /^## (Permissions|TLS)/ }
		apart { next }
		/^```/ { fenced = !fenced; n += fenced; pending = 0; if (!fenced) is_marked = 0; next }
		fenced { put($0); next }
		/^    / && (inside || is_blank) { if (!inside) { n++; pending = 0 } inside = 1; put(substr($0, 5)); next }
		/^$/ { is_blank = 1; pending += inside; next }
		{ inside = is_blank = 0; is_marked = /Not tested:$/ }' "$DOCS/$1"
}

# block PAGE LINE: the block that begins so, on stdout.
block() {
	local file
	blocks "$1"
	for file in "$T/$1".*; do
		[ "$(head -n 1 "$file")" != "$2" ] || { cat "$file" && return; }
	done
	echo "docs/$1 has no block '$2'" >&2
	return 1
}

@test "every code block of the pages for users has its test here, or says that it is not tested" {
	local page file line
	for page in nodes.md faq.md alternatives.md interop.md; do
		blocks "$page"
		for file in "$T/$page".*; do
			[ -e "$file" ] || continue
			line=$(head -n 1 "$file")
			grep -qF -e "block $page '$line'" -e "sample '$line'" "$BATS_TEST_FILENAME" || echo "docs/$page: no test: $line"
		done
	done > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
	[ "$(ls "$T"/*.md.* | wc -l)" -ge 7 ]
}

@test "docs/nodes.md: three servers, a configuration and two commands are a working set of nodes" {
	local i
	block nodes.md 'apt-get install -y redis-server' > "$T/commands"
	[ "$(wc -l < "$T/commands")" -eq 3 ]
	sed -n "/^printf/s|/etc/redis/redis.conf|$T/redis.conf|p" "$T/commands" | sh
	[ "$(wc -l < "$T/redis.conf")" -eq 4 ]
	for i in 1 2 3; do
		redis-server "$T/redis.conf" --port 0 --unixsocket "$T/$i.sock" --dir "$T" --logfile "$T/$i.log" \
			3>&- > "$T/$i.out" 2>&1 &
		PID[i]=$!
		also_end $!
	done
	N=3
	listens() { redis-cli -s "$T/$1.sock" ping 2>&1 | grep -q NOAUTH; }
	for i in 1 2 3; do eventually listens "$i"; done
	block nodes.md 'nodes = redis://redis1.example.com redis://redis2.example.com redis://redis3.example.com' |
		sed "s|redis://redis\([123]\).example.com|unix://$T/\1.sock|g; s|/etc/redlock|$T|" > "$T/config"
	(umask 077 && echo PASSWORD > "$T/password")
	unset REDLOCK_NODES
	export REDLOCK_CONFIG=$T/config PATH=$REDLOCK_BUILD:$PATH REDLOCK_NODE_TIMEOUT=10s
	block nodes.md 'redlock doctor --admit -y    # the new nodes hold no locks: they may vote at once' > "$T/once"
	run -0 sh -e "$T/once"
	[[ "$output" != *error* ]]
	run -0 redlock run -k job -n -- echo done
	[ "$output" = "done" ]
}

@test "docs/nodes.md: a node is restarted while a lock is held, and the lock is on all nodes again" {
	nodes_start 3
	# A node timeout of 600 ms: doctor warns of a node that is nearly late.
	export REDLOCK_TTL=12s PATH=$REDLOCK_BUILD:$PATH
	in_background "$T/out" run -k job -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on job 3
	block nodes.md 'systemctl restart redis-server' > "$T/commands"
	[ "$(wc -l < "$T/commands")" -eq 5 ]
	kill_node 1
	start_node 1
	eventually answers 1
	sed '/^systemctl/d; s/^sleep 60/sleep 0/' "$T/commands" > "$T/client"
	sed -n '/^redlock wait/p' "$T/client" > "$T/first"
	run -0 sh -e "$T/first"
	# 33 s after the restart, the lock will be on all nodes again; by hand, the quarantine ends at once.
	read -r _ over length _ <<< "$(node 1 get '{redlock}:node')"
	left=$((over - $(date +%s%3N)))
	echo "in quarantine for another $left ms of $length ms"
	[ $left -gt 20000 ] && [ $left -le 33000 ]
	held_on job 2
	admitted 1
	eventually held_on job 3
	run -0 sh -e "$T/client"
	[[ "$output" == *3/3*"no problem found"* ]]
	touch "$T/go"
	ended_with 0
}

@test "docs/nodes.md: a new password is accepted with the old one, and then alone" {
	REDISCLI_AUTH=OLD nodes_start 3 --requirepass OLD
	block nodes.md 'ACL SETUSER default >NEW' > "$T/acl"
	[ "$(wc -l < "$T/acl")" -eq 2 ]
	with() { printf '%s\n' "$1" > "$T/password" && chmod 600 "$T/password" && redlock run -n -k job --password-file "$T/password" -- true; }
	enter() { for i in 1 2 3; do sed -n "$1p" "$T/acl" | redis-cli -s "$T/$i.sock" -a "$2" --no-auth-warning; done; }
	with OLD
	run -0 enter 1 OLD
	with OLD
	with NEW
	run -0 enter 2 NEW
	with NEW
	run -69 with OLD
}

@test "docs/nodes.md: the line for cron is silent until a node is down" {
	nodes_start 3
	export PATH=$REDLOCK_BUILD:$PATH
	block nodes.md '*/10 * * * *  out=$(redlock doctor --strict 2>&1) || echo "$out"' | sed 's/^[^a-z]*//' > "$T/line"
	run -0 sh "$T/line"
	[ "$output" = "" ]
	kill_node 3
	run -0 sh "$T/line"
	[[ "$output" == *"error: cannot be reached"* ]]
}

@test "docs/nodes.md: the configuration file with profiles" {
	block nodes.md 'ttl = 1m' > "$T/config"
	unset REDLOCK_NODES
	run -0 redlock config --config "$T/config" --profile staging --json
	[[ "$output" == *redis://s1.example.com:6379*redis://s3.example.com:6379* ]]
}

# sample LINE: $output has the whole message of a sample of docs/faq.md, apart from the names of nodes and times, and $status
# is the sample's. (A client does not wait for the third node when two have named the holder.)
sample() {
	block faq.md "$1" > "$T/sample"
	words=$(sed '1d; $d' "$T/sample" | tr '\n' ' ' |
		sed -E "s|redis://redis([0-9]).example.com:6379|unix://$T/\1.sock|g; s/since [^ ]*Z/since *Z/; s/ on 3 of 3 nodes, expires in [0-9]+s/ on [23] of 3 nodes, expires in *s/; s/ \$//")
	[[ "$words" == redlock:* ]]
	[ "$(tail -n 1 "$T/sample")" = "$status" ] || { echo "the status is $status" && return 1; }
	is_like "$output" "*$words*"
}

@test "docs/faq.md: a lost lock, no quorum and a busy lock look as they are shown" {
	nodes_start 3
	in_background "$T/out" run --ttl 3s -k sync -- sh -c "until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on sync 3
	in_background "$T/busy" run -k deploy --owner 'ann@ci1:4211 make deploy' -- sh -c \
		"until [ -e $T/go ]; do sleep 0.1; done"
	eventually held_on deploy 3
	run redlock run -k deploy -n -- true
	sample '$ redlock run -k deploy -n -- make deploy; echo $?'
	kill_node 2
	kill_node 3
	eventually file_has "$T/out" "lost 'sync'"
	status=79 output=$(cat "$T/out")
	sample '$ redlock run -k sync -- ./sync.sh; echo $?'
	run redlock run -k sync -n -- true
	sample '$ redlock run -k sync -n -- ./sync.sh; echo $?'
	touch "$T/go"
}

@test "README.md: each command under Use is run as it is printed" {
	stubs_start
	(cd "$T/bin" && stub make deploy && stub pg_dump db)
	stub settle.sh accounts invoices
	stub encode.sh
	stub report.sh data
	stub sync.sh sync
	stub ci.sh ci
	# sandbox.bats has the shell
	awk '/^## / { on = $0 == "## Use" } on && /^    redlock / && !/ sandbox / { print substr($0, 5) }' \
		"$DOCS/../README.md" > "$T/commands"
	[ "$(wc -l < "$T/commands")" -eq 11 ]
	[ "$(grep -c '^redlock status nightly ' "$T/commands")" = 1 ]
	run -0 sh -e "$T/commands"
	was_done "make held" "make done" "make held" "make done" "pg_dump held" "pg_dump done" \
		"settle.sh held held" "settle.sh done" "encode.sh" "encode.sh done" "report.sh held" "report.sh done" \
		"sync.sh held" "sync.sh done" "ci.sh held" "ci.sh done"
	[ -s app.gz ]
}

@test "README.md: the line for cron is the recipe's; a failure prints a line; and status says whether the job ran" {
	local line
	stubs_start
	line=$(grep -E '^    [0-9*]+ [0-9*]+ \* \* \*  redlock ' "$DOCS/../README.md")
	[ "$(wc -l <<< "$line")" = 1 ]
	grep -qxF -- "$line" "$DOCS/recipes.md"
	printf '%s\n' "${line#*\*  }" > "$T/line"
	stub nightly.sh nightly
	run -0 sh "$T/line"
	[ "$output" = "" ]
	was_done "nightly.sh held" "nightly.sh done"
	run -0 sh -c "$(grep -o '^    redlock status nightly' "$DOCS/../README.md")"
	is_like "$output" "*nightly*@$(hostname)*"
	redlock break -k nightly -y
	printf '#!/bin/sh\nexit 3\n' > nightly.sh
	run -0 sh "$T/line"
	[ "$output" = "nightly: status 3" ]
	run -0 redlock status nightly
	is_like "$output" '*nightly*status 3*'
}

@test "docs/nodes.md: the lists of all hosts are compared" {
	nodes_start 4
	export PATH=$T/bin:$REDLOCK_BUILD:$PATH
	mkdir "$T/bin"
	printf '%s\n' '#!/bin/sh' 'REDLOCK_NODES=$(cat "$T/$1"); export REDLOCK_NODES; shift; exec "$@"' > "$T/bin/ssh"
	chmod +x "$T/bin/ssh"
	printf 'unix://%s\n' "$T"/[123].sock > "$T/web1"
	tac "$T/web1" > "$T/web2"
	printf 'unix://%s\n' "$T"/[1234].sock > "$T/web3"
	block nodes.md 'for host in web1 web2 web3; do ssh "$host" redlock config; done | grep "^# list" | sort | uniq -c' > "$T/line"
	T=$T run -0 sh "$T/line"
	[ "${#lines[@]}" -eq 2 ]
	cp "$T/web3" "$T/web1"
	cp "$T/web3" "$T/web2"
	T=$T run -0 sh "$T/line"
	[ "${#lines[@]}" -eq 1 ]
	is_like "$output" ' *3 # list *4 nodes*'
}
