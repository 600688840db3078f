# make STATIC=yes: one file without dependencies. STATIC_BINARY=FILE: that program instead, such as a release's.
# bats file_tags=not-under-valgrind

load nodes
load certificates

# link ARG...: make STATIC=yes ARG...
link() { make -s --no-print-directory -C "$BATS_TEST_DIRNAME/../.." B="$B" STATIC=yes CFLAGS=-O0 LDFLAGS= "$@"; }

setup_file() {
	B=$BATS_FILE_TMPDIR/build
	if [ -n "${STATIC_BINARY-}" ]; then
		install -D "$STATIC_BINARY" "$B/redlock"
	else
		made=$(link 2>&1) || { echo "$made"; return 1; }
		# redlock asks no name service (net/resolve); OpenSSL loads no module (net/tls)
		not grep warning <<< "$(grep -vE "Using '(getpwuid|getaddrinfo|gethostbyname|dlopen)' in statically linked" <<< "$made")"
	fi
	export ASK=$REDLOCK_BUILD/tools/ask REDLOCK_BUILD=$B REDLOCK_UNDER=
}

setup() { nodes_start 3; }
teardown() { nodes_stop; }

# alone CMD...: in a root that only has redlock, some files in etc, and a node at 127.0.0.1:6379.
alone() { nsenter --target "${PID[1]}" --net chroot "$T/root" "$@"; }

# node_in_a_root [redis options...]: starts node 1 anew, in its own network.
node_in_a_root() {
	kill_node 1
	in_own_network start_node 1 --port 6379 --bind 127.0.0.1 --protected-mode no "$@"
	eventually admitted 1
	nsenter --target "${PID[1]}" --net ip link set lo up
	mkdir -p "$T/root/etc"
	cp "$REDLOCK_BUILD/redlock" "$T/root"
	unset REDLOCK_CONFIG LOGNAME USER
}

@test "run, and all processes that it starts, work as usual" {
	run -0 redlock run -n -k job -- sh -c 'echo "$REDLOCK_KEY"'
	[ "$output" = job ]
	free_everywhere job
	# by background holder and supervisor
	run -0 redlock run -n -k job --ttl 6s -- sh -c 'sleep 3; echo "done"'
	[ "$output" = "done" ]
	free_everywhere job
}

@test "a run loads no library" {
	needs look_inside
	run -0 redlock run -n -k job -- sh -c 'cat /proc/$PPID/maps'
	[[ "$output" == *"$REDLOCK_BUILD/redlock"* ]]
	[[ "$output" != *.so* ]]
}

@test "without other files: names and users come from etc, with any nsswitch.conf" {
	needs networks
	node_in_a_root
	# (its services would have to be loaded, and would find nothing)
	printf 'hosts: missing\npasswd: missing\n' > "$T/root/etc/nsswitch.conf"
	echo '127.0.0.1 node.example' > "$T/root/etc/hosts"
	echo 'robin:x:4242:4242::/:/redlock' > "$T/root/etc/passwd"
	token=$(nsenter --target "${PID[1]}" --net \
		chroot --userspec=4242:4242 "$T/root" /redlock acquire -n -k job --node redis://node.example)
	run -0 --separate-stderr alone /redlock status --node redis://node.example job
	[[ "$output" == *robin@* ]]
	alone /redlock release -k job --token "$token" --node node.example:6379
	run -69 --separate-stderr alone /redlock run -n -k job --node redis://other.example -- /never
	[[ "$stderr" == *"redis://other.example:6379 has a name that does not resolve"* ]]
}

@test "a missing library ends the link" {
	B=$REDLOCK_BUILD
	mv "$B/redlock" "$T/redlock"
	run -2 link HIREDIS_LIBS=
	[[ "$output" == *"undefined reference to \`redisReader"* ]]
	run -2 link TLS_LIBS=
	[[ "$output" == *"undefined reference to \`SSL_"* ]]
	[ ! -e "$B/redlock" ]
	mv "$T/redlock" "$B/redlock"
}

@test "TLS without other files: the authorities of Debian, Alpine and Fedora, and a client certificate" {
	needs networks
	export C=$T CA=ca
	begin_authorities
	authority ca
	certificate node DNS:node.example
	certificate client DNS:client
	node_in_a_root --tls-port 6390 --tls-cert-file "$C/node.pem" --tls-key-file "$C/node.key" --tls-ca-cert-file "$C/ca.pem"
	echo '127.0.0.1 node.example' > "$T/root/etc/hosts"
	cp "$C/client.pem" "$C/client.key" "$C/ca.pem" "$T/root"
	unset REDLOCK_CACERT SSL_CERT_FILE SSL_CERT_DIR
	acquire() { alone "$@" /redlock acquire -n -k job --node rediss://node.example:6390 --cert /client.pem --cert-key /client.key; }
	for place in ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt ssl/certs/$(openssl x509 -hash -noout -in "$C/ca.pem").0; do
		mkdir -p "$T/root/etc/${place%/*}"
		cp "$C/ca.pem" "$T/root/etc/$place"
		token=$(acquire)
		alone /redlock release -k job --token "$token" --node 127.0.0.1
		rm "$T/root/etc/$place"
	done
	run -69 acquire
	is_like "$output" "*rediss://node.example:6390 cannot be trusted (its certificate comes from an unknown @(authority|root), /CN=*)*"
	token=$(SSL_CERT_FILE=/ca.pem acquire)
	alone /redlock release -k job --token "$token" --node 127.0.0.1
}
