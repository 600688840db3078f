# make STATIC=yes: one file that needs no other.
# bats file_tags=not-under-valgrind

load nodes

# link ARG...: make STATIC=yes ARG...
link() { make -s --no-print-directory -C "$BATS_TEST_DIRNAME/../.." B="$B" STATIC=yes CFLAGS=-O0 LDFLAGS= "$@"; }

setup_file() {
	B=$BATS_FILE_TMPDIR/build
	made=$(link 2>&1) || { echo "$made"; return 1; }
	# name services: see io/resolve
	not grep warning <<< "$(grep -vE "Using '(getpwuid|getaddrinfo)' in statically linked" <<< "$made")"
	export REDLOCK_BUILD=$B REDLOCK_UNDER=
}

setup() { nodes_start 3; }
teardown() { nodes_stop; }

# alone CMD...: in a root that has nothing but redlock, some files in etc, and a node at 127.0.0.1:6379.
alone() { nsenter --target "${PID[1]}" --net chroot "$T/root" "$@"; }

# node_in_a_root: node 1 anew, in a network of its own.
node_in_a_root() {
	kill_node 1
	in_own_network start_node 1 --port 6379 --bind 127.0.0.1 --protected-mode no
	eventually admitted 1
	nsenter --target "${PID[1]}" --net ip link set lo up
	mkdir -p "$T/root/etc"
	cp "$REDLOCK_BUILD/redlock" "$T/root"
	unset REDLOCK_CONFIG LOGNAME USER
}

@test "run, and all that it starts, as ever" {
	run -0 --separate-stderr redlock run -n -k job -- sh -c 'echo "$REDLOCK_KEY"; cat /proc/$PPID/maps >&2'
	[ "$output" = job ]
	[[ "$stderr" != *.so* ]]
	free_everywhere job
	# by keeper and guardian
	run -0 redlock run -n -k job --ttl 6s -- sh -c 'sleep 3; echo "done"'
	[ "$output" = "done" ]
	free_everywhere job
}

@test "where there is nothing else: names and users come from etc, whatever nsswitch.conf says" {
	node_in_a_root
	# (what it says would have to be loaded, and would find nothing)
	printf 'hosts: missing\npasswd: missing\n' > "$T/root/etc/nsswitch.conf"
	echo '127.0.0.1 node.example' > "$T/root/etc/hosts"
	echo 'robin:x:4242:4242::/:/redlock' > "$T/root/etc/passwd"
	token=$(nsenter --target "${PID[1]}" --net \
		chroot --userspec=4242:4242 "$T/root" /redlock acquire -n -k job --node redis://node.example)
	run -0 --separate-stderr alone /redlock status --node redis://node.example job
	[[ "$output" == *robin@* ]]
	alone /redlock release -k job --token "$token" --node node.example:6379
	run -69 --separate-stderr alone /redlock run -n -k job --node redis://other.example -- /never
	[[ "$stderr" == *"redis://other.example:6379 its name does not resolve"* ]]
}

@test "a library that is not there ends the link" {
	B=$REDLOCK_BUILD
	mv "$B/redlock" "$T/redlock"
	run -2 link HIREDIS_LIBS=
	[[ "$output" == *"undefined reference to \`redisFormat"* ]]
	[ ! -e "$B/redlock" ]
	mv "$T/redlock" "$B/redlock"
}

@test "TLS is refused: by the program, and when it is built" {
	says 78 '' "redlock: node 'rediss://127.0.0.1:1' wants TLS, and this redlock was built without it (WITH_TLS=no)" \
		run -n -k job --node rediss://127.0.0.1:1 -- touch "$T/never"
	run -2 make -s --no-print-directory -C "$BATS_TEST_DIRNAME/../.." B="$T/build" STATIC=yes WITH_TLS=yes
	[[ "$output" == *"STATIC=yes goes without TLS, for OpenSSL is loaded when a node wants it: leave out WITH_TLS=yes"* ]]
	[ ! -e "$T/build" ]
}
