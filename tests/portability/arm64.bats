# A lock from acquire to release under an emulator (tests/portability/arm64): unix sockets, TCP, TLS, hold and gate. `run`
# and `sandbox` need PR_SET_CHILD_SUBREAPER, which qemu-user does not have; they must say so.

load ../bats/nodes
load ../bats/certificates

setup() {
	nodes_start 3
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s
}
teardown() { nodes_stop; }

# lock_and_release: the token commands, one after the other, on the nodes of REDLOCK_NODES.
lock_and_release() {
	local token
	token=$(redlock acquire -n -k job)
	held_on job 3
	redlock check -k job --token "$token"
	run -75 redlock acquire -n -k job
	redlock extend -k job --token "$token" --ttl 900s
	[ "$(node 1 pttl job)" -gt 600000 ]
	run -0 redlock status job
	is_like "$output" "'job' is held by * on 3 of 3 nodes, *"
	redlock release -k job --token "$token"
	free_everywhere job
	run -79 redlock check -k job --token "$token"
}

@test "version, help and the completions" {
	run -0 redlock version
	is_like "$output" "redlock [0-9]*"
	redlock help > "$T/help"
	file_has "$T/help" acquire
	redlock completion bash > "$T/completion"
	bash -n "$T/completion"
}

@test "acquire, check, extend, status and release over unix sockets" {
	lock_and_release
}

# tls_node I: node I anew, with TLS for clients that have a certificate, on a free port.
tls_node() {
	local try
	kill_node "$1"
	for ((try = 0; try < 50; try++)); do
		PORT[$1]=$((20000 + RANDOM % 10000))
		start_node "$1" --tls-port "${PORT[$1]}" --bind 127.0.0.1 --tls-cert-file "$C/node.pem" \
			--tls-key-file "$C/node.key" --tls-ca-cert-file "$C/ca.pem"
		until answers "$1" || is_gone "${PID[$1]}"; do sleep 0.02; done
		if answers "$1"; then break; fi
	done
	eventually admitted "$1"
}

@test "acquire, check, extend, status and release over TLS, by name, with a client's certificate" {
	export C=$T CA=ca REDLOCK_CACERT=$T/ca.pem REDLOCK_CERT=$T/client.pem REDLOCK_CERT_KEY=$T/client.key
	begin_authorities
	authority ca
	certificate node DNS:localhost
	certificate client DNS:client
	REDLOCK_NODES=
	for i in 1 2 3; do
		tls_node $i
		REDLOCK_NODES+="${REDLOCK_NODES:+ }rediss://localhost:${PORT[i]}"
	done
	lock_and_release
	unset REDLOCK_CACERT
	run -69 redlock acquire -n -k job
	is_like "$output" "*cannot be trusted*"
}

@test "doctor finds three usable nodes" {
	run -0 redlock doctor
	is_like "$output" "*3 of 3 nodes can be used*"
}

@test "a fencing number, and a gate that honours it" {
	eval "$(redlock acquire -n -k job --fence --format env)"
	redlock gate --store "$T/store" --fence "$REDLOCK_FENCE" -- touch "$T/through"
	[ -e "$T/through" ]
	run -76 redlock gate -w 0 --store "$T/store" --fence 1 -- touch "$T/never"
	redlock release -k job --token "$REDLOCK_TOKEN"
	free_everywhere job
}

@test "hold: extended by a background holder, ended by release" {
	read -r token holder <<< "$(redlock hold -k job --ttl 3s --node-timeout 500ms)"
	is_later() { [ "$(node 1 pttl job)" -gt 2000 ] && [ "$(date +%s%3N)" -gt "$1" ]; }
	eventually is_later $(($(date +%s%3N) + 4000))
	redlock release -k job --token "$token"
	eventually is_gone "$holder"
	free_everywhere job
}

@test "run and sandbox: the status is 125, a hint names the emulator, and no key is left" {
	run -125 redlock run -n -k job -- touch "$T/never"
	is_like "$output" "*PR_SET_CHILD_SUBREAPER*emulator (qemu-user)*"
	free_everywhere job
	run -125 redlock sandbox -n 1 -- touch "$T/never"
	[ ! -e "$T/never" ]
}
