# Nodes with TLS: the whole life of a lock, and every way in which a certificate, or the peer, can be wrong. The
# certificates are made for this file.

load nodes
load certificates

setup_file() {
	export C=$BATS_FILE_TMPDIR CA=ca
	begin_authorities
	authority ca
	authority other
	certificate good IP:127.0.0.1,IP:::1,DNS:localhost,DNS:redis.example.org
	certificate elsewhere IP:127.0.0.9,DNS:elsewhere.example.org
	# only the common name of its subject names a host
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout "$C/cn.key" \
		-out "$C/cn.csr" 2> "$C/log"
	openssl ca -batch -notext -config "$C/ca.cnf" -cert "$C/ca.pem" -keyfile "$C/ca.key" -in "$C/cn.csr" \
		-out "$C/cn.pem" -days 30 2> "$C/log"
	certificate expired IP:127.0.0.1 -startdate 20230101000000Z -enddate 20240101120000Z
	certificate future IP:127.0.0.1 -startdate 20970101000000Z -enddate 20980101000000Z
	certificate soon IP:127.0.0.1 -days 5
	certificate client DNS:client
	certificate former DNS:client -startdate 20230101000000Z -enddate 20240101120000Z
	certificate short DNS:client -days 5
	CA=other certificate stranger IP:127.0.0.1,DNS:localhost
	certificate alone IP:127.0.0.1
	openssl req -x509 -key "$C/alone.key" -subj /CN=alone -addext subjectAltName=IP:127.0.0.1 -days 30 -out "$C/alone.pem"
	openssl pkey -in "$C/client.key" -aes128 -passout pass:x -out "$C/locked.key"
}

setup() {
	nodes_start 3
	for i in 1 2 3; do tls_node $i good; done
	export REDLOCK_CACERT=$C/ca.pem
	unset REDLOCK_CERT REDLOCK_CERT_KEY REDLOCK_SNI REDLOCK_INSECURE SSL_CERT_FILE SSL_CERT_DIR
	# No node is late because the machine is busy.
	export REDLOCK_TTL=600s REDLOCK_NODE_TIMEOUT=10s
	name_nodes
}
teardown() { nodes_stop; }

# tls_node I CERTIFICATE [redis options...]: starts node I anew, at $PORT[I] with TLS, and at its unix socket without.
tls_node() {
	local i=$1 name=$2 try
	shift 2
	kill_node "$i"
	for ((try = 0; try < 50; try++)); do
		PORT[i]=$((20000 + RANDOM % 10000))
		start_node "$i" --tls-port "${PORT[i]}" --bind 127.0.0.1 --tls-cert-file "$C/$name.pem" \
			--tls-key-file "$C/$name.key" --tls-ca-cert-file "$C/ca.pem" --tls-auth-clients no "$@"
		until answers "$i" || is_gone "${PID[i]}"; do sleep 0.02; done
		answers "$i" && break
	done
	eventually admitted "$i"
}

# name_nodes: names all three nodes, with TLS.
name_nodes() {
	REDLOCK_NODES="rediss://127.0.0.1:${PORT[1]} rediss://127.0.0.1:${PORT[2]} rediss://127.0.0.1:${PORT[3]}"
}

# works [ARG...]: redlock acquires the lock on all three nodes, and releases it.
works() {
	run -0 redlock run -v -n -k job "$@" -- echo done
	is_like "$output" "*acquired 'job' on * of 3 nodes*done*"
	eventually held_on job 0
}

# absent WORDS [ARG...]: node 3 has no vote, for that reason; the others are enough.
absent() {
	run -0 --separate-stderr redlock status --json "${@:2}" job
	json "[.locks[0].nodes[] | select(.answer == \"absent\") | .node] == [\"rediss://127.0.0.1:${PORT[3]}\"]"
	run -0 --separate-stderr redlock run -vv -n -k job "${@:2}" -- echo done
	[ "$output" = "done" ]
	is_refused "$@"
}

# is_refused WORDS [ARG...]: redlock gets no lock with node 3 alone, and says why.
is_refused() {
	run -69 --separate-stderr redlock run -n -k job "${@:2}" --node "rediss://127.0.0.1:${PORT[3]}" -- touch "$T/never"
	is_like "$stderr" "*rediss://127.0.0.1:${PORT[3]} $1*"
	[ ! -e "$T/never" ]
}

@test "three nodes with TLS: a run, a queue of two, and nothing is left" {
	# one after the other, and the second one queues
	in_background "$T/out1" run -k job -- sh -c "touch $T/in; until [ -e $T/go ]; do sleep 0.1; done; echo first >> $T/order"
	eventually test -e "$T/in"
	[ "$(holders job)" -ge 2 ]
	run -75 redlock run -n -k job -- echo never
	first=$BG
	in_background "$T/out2" run -k job -- sh -c "echo second >> $T/order"
	eventually in_queue 1
	touch "$T/go"
	ended_with 0
	BG=$first ended_with 0
	[ "$(cat "$T/order")" = $'first\nsecond' ]
	free_everywhere job
	# and no other client used the nodes' ports: all connections had TLS
	for i in 1 2 3; do [ "$(node $i info server | tr -d '\r' | sed -n 's/^tcp_port://p')" = "${PORT[i]}" ]; done
}

@test "extended again and again, over new connections when they are cut, and lost when the nodes are gone" {
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	in_background "$T/out" run -v --ttl 6s --node-timeout 900ms -k job -- sleep 600
	extended() { [ "$(grep -c extended "$T/out")" -ge "$1" ]; }
	eventually extended 1
	for i in 1 2 3; do [ "$(node $i client kill type normal)" -ge 1 ]; done
	eventually extended 3
	not grep -q "lost" "$T/out"
	stop_node 1
	stop_node 2
	ended_with 79
	continue_node 1
	continue_node 2
	free_everywhere job
}

@test "acquire, extend, check, status, wait, hold, break and release over TLS" {
	token=$(redlock acquire -k job)
	redlock extend -k job --token "$token"
	redlock check -k job --token "$token" > "$T/left"
	run -0 redlock status job
	is_like "$output" "'job' is held by *"
	redlock release -k job --token "$token"
	redlock wait -k job -w 10s
	export XDG_RUNTIME_DIR=$T
	redlock hold -k job > "$T/hold"
	also_end "$(cut -d ' ' -f 2 "$T/hold")"
	redlock status | grep -q $'^job\t'
	redlock release -k job
	free_everywhere job
	redlock acquire -k job > "$T/token"
	redlock break -f -y -k job > "$T/broken"
	held_on job 0
}

@test "some nodes with TLS, some without; users and databases" {
	needs localhost
	node 1 acl setuser worker on '>secret' '~*' '&*' +@all > "$T/set"
	REDLOCK_NODES="rediss://worker:secret@127.0.0.1:${PORT[1]}/2 unix://$T/2.sock rediss://localhost:${PORT[3]}"
	run -0 redlock run -vv -n -k job -- sh -c "redis-cli -s $T/1.sock -n 2 get job; echo \$REDLOCK_NODES"
	[[ "${lines[*]}" == *" rediss://127.0.0.1:${PORT[1]}/2 unix://$T/2.sock rediss://localhost:${PORT[3]} "* ]]
	eventually gone_from_second
}

gone_from_second() { [ "$(node 1 -n 2 exists job)" = 0 ]; }

@test "the expected name: a DNS name, an IPv4 or IPv6 address, or the one of --sni" {
	needs localhost
	works
	REDLOCK_NODES="rediss://localhost:${PORT[1]} rediss://127.0.0.1:${PORT[2]} rediss://127.0.0.1:${PORT[3]}"
	works
	works --sni redis.example.org
	works --sni redis.example.org.
	works --sni ::1
	name_nodes
	tls_node 3 elsewhere
	name_nodes
	absent "cannot be trusted (its certificate is not for 127.0.0.1)"
	is_refused "cannot be trusted (its certificate is not for example.org)" --sni example.org
	is_refused "cannot be trusted (its certificate is not for 127.0.0.8)" --sni 127.0.0.8
	REDLOCK_SNI=elsewhere.example.org redlock run -n -k job --node "rediss://127.0.0.1:${PORT[3]}" -- true
	redlock run -n -k job --sni 127.0.0.9 --node "rediss://127.0.0.1:${PORT[3]}" -- true
}

@test "a certificate without subjectAltName names no host, with any common name" {
	needs localhost
	tls_node 3 cn
	name_nodes
	absent "cannot be trusted (its certificate names no host: it has no subjectAltName)"
	is_refused "cannot be trusted (its certificate names no host: it has no subjectAltName)" --sni localhost
	redlock run -n -k job --insecure --node "rediss://localhost:${PORT[3]}" -- true 2> "$T/err"
}

@test "a certificate of another authority, self-signed, expired, not yet valid: the node is absent, and redlock says why" {
	tls_node 3 stranger
	name_nodes
	absent "cannot be trusted (its certificate comes from an unknown @(authority|root), /CN=*)"
	tls_node 3 alone
	name_nodes
	absent "cannot be trusted (its certificate is self-signed and not trusted)"
	redlock run -n -k job --cacert "$C/alone.pem" --node "rediss://127.0.0.1:${PORT[3]}" -- true
	tls_node 3 expired
	name_nodes
	absent "cannot be trusted (its certificate expired on 2024-01-01)"
	tls_node 3 future
	name_nodes
	absent "cannot be trusted (its certificate is not valid before 2097-01-01)"
	# the authorities that this system trusts
	unset REDLOCK_CACERT
	tls_node 3 good
	is_refused "cannot be trusted (its certificate comes from an unknown @(authority|root), /CN=*)"
	SSL_CERT_FILE=$C/ca.pem redlock run -n -k job --node "rediss://127.0.0.1:${PORT[3]}" -- true
	mkdir "$T/trusted"
	cp "$C/ca.pem" "$T/trusted/$(openssl x509 -noout -hash -in "$C/ca.pem").0"
	SSL_CERT_DIR=$T/trusted redlock run -n -k job --node "rediss://127.0.0.1:${PORT[3]}" -- true
}

@test "a node that requires a client certificate" {
	for protocols in TLSv1.2 TLSv1.3; do
		tls_node 3 good --tls-auth-clients yes --tls-protocols $protocols
		name_nodes
		absent "requires a client certificate, or refuses ours"
		is_refused "requires a client certificate, or refuses ours (unknown ca)" --cert "$C/stranger.pem" --cert-key "$C/stranger.key"
		works --cert "$C/client.pem" --cert-key "$C/client.key"
		# both in one file, by the environment
		cat "$C/client.key" "$C/client.pem" > "$T/both.pem"
		chmod 600 "$T/both.pem"
		REDLOCK_CERT=$T/both.pem REDLOCK_CERT_KEY=$T/both.pem \
			redlock run -n -k job --node "rediss://127.0.0.1:${PORT[3]}" -- true
	done
}

@test "files of several certificates: a chain of authorities, revoked certificates, one authority twice" {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=between -keyout "$C/between.key" \
		-out "$C/between.csr" 2> "$C/log"
	openssl x509 -req -in "$C/between.csr" -CA "$C/ca.pem" -CAkey "$C/ca.key" -CAcreateserial -days 30 -out "$C/between.pem" \
		-extfile <(echo basicConstraints=critical,CA:TRUE) 2> "$C/log"
	CA=between certificate below DNS:client
	cat "$C/below.pem" "$C/between.pem" > "$T/chain.pem"
	tls_node 3 good --tls-auth-clients yes
	name_nodes
	is_refused "requires a client certificate, or refuses ours" --cert "$C/below.pem" --cert-key "$C/below.key"
	works --cert "$T/chain.pem" --cert-key "$C/below.key"
	{ cat "$C/below.pem"; printf -- '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'; } > "$T/damaged.pem"
	run -78 redlock run -n -k job --cert "$T/damaged.pem" --cert-key "$C/below.key" -- touch "$T/never"
	openssl ca -gencrl -config "$C/ca.cnf" -cert "$C/ca.pem" -keyfile "$C/ca.key" -crldays 30 -out "$T/revoked.pem" 2> "$C/log"
	cat "$C/other.pem" "$T/revoked.pem" "$C/ca.pem" "$C/ca.pem" > "$T/authorities.pem"
	works --cacert "$T/authorities.pem" --cert "$T/chain.pem" --cert-key "$C/below.key"
	head -c 5M /dev/zero | tr '\0' '#' | cat "$C/ca.pem" - > "$T/large.pem"
	run -78 redlock run -n -k job --cacert "$T/large.pem" -- touch "$T/never"
	is_like "$output" "*cannot read --cacert '$T/large.pem': *"
	[ ! -e "$T/never" ]
}

# certificates_of CA CERTIFICATE: from now on, the nodes have that certificate, and trust clients of that authority only;
# their old connections are closed.
certificates_of() {
	for i in 1 2 3; do
		node $i config set tls-cert-file "$C/$2.pem" tls-key-file "$C/$2.key" tls-ca-cert-file "$C/$1.pem"
		node $i client kill type normal
		node $i client kill type pubsub
	done > "$T/set"
}

# files_of CA CERTIFICATE: redlock's files, renewed by rename.
files_of() {
	cp "$C/$1.pem" "$T/ca.new"
	cp "$C/$2.pem" "$T/cert.new"
	cp "$C/$2.key" "$T/key.new"
	chmod 600 "$T/key.new"
	for file in ca cert key; do mv "$T/$file.new" "$T/$file.pem"; done
}

@test "certificates are renewed in place, with another authority: the holder keeps the lock, and the waiter gets it" {
	for i in 1 2 3; do tls_node $i good --tls-auth-clients yes; done
	name_nodes
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	export REDLOCK_CACERT=ca.pem REDLOCK_CERT=cert.pem REDLOCK_CERT_KEY=key.pem
	files_of ca client
	cd "$T"
	in_background "$T/out1" run -v --ttl 6s --node-timeout 900ms -k job -- \
		sh -c "touch $T/in; until [ -e $T/go ]; do sleep 0.1; done"
	holder=$BG
	eventually test -e "$T/in"
	in_background "$T/out2" run -v --ttl 6s --node-timeout 900ms -k job -- echo served
	waiter=$BG
	eventually in_queue 1
	# the certificate is half written when a connection is needed
	head -c 200 "$C/stranger.pem" > "$T/cert.pem"
	for i in 1 2 3; do node $i client kill type normal > "$T/set"; done
	eventually file_has "$T/out1" "cannot use the changed certificates, so the last good ones stay in use: cannot use --cert 'cert.pem': "
	extended=$(grep -c extended "$T/out1" || true)
	more() { [ "$(grep -c extended "$T/out1")" -gt $((extended + $1)) ]; }
	eventually more 1
	for i in 1 2 3; do node $i client kill type normal > "$T/set"; done
	extended=$(grep -c extended "$T/out1" || true)
	eventually more 2
	[ "$(grep -c 'stay in use' "$T/out1")" = 1 ]
	files_of other stranger
	certificates_of other stranger
	extended=$(grep -c extended "$T/out1" || true)
	eventually more 2
	not file_has "$T/out1" lost
	touch "$T/go"
	BG=$holder ended_with 0
	BG=$waiter ended_with 0
	file_has "$T/out2" '^served'
	free_everywhere job
}

@test "a writer of a pipe takes its time: that does not count for the connections" {
	run -0 redlock run --no-wait -k job --node-timeout 300ms --ttl 10s --cacert <(sleep 1; cat "$C/ca.pem") -- echo done
	is_like "$output" "done"
}

@test "a private key that comes through a pipe is read once" {
	for i in 1 2 3; do tls_node $i good --tls-auth-clients yes; done
	name_nodes
	mkfifo -m 600 "$T/key.pipe"
	cat "$C/client.key" > "$T/key.pipe" 3>&- &
	also_end $!
	run -0 timeout --foreground 60 "$REDLOCK_BUILD/redlock" run -n -k job --cert "$C/client.pem" --cert-key "$T/key.pipe" -- echo done
	[ "$output" = "done" ]
	run -0 redlock run -n -k job --cert "$C/client.pem" --cert-key <(cat "$C/client.key") -- echo done
	[ "$output" = "done" ]
	run -0 redlock run -n -k job --cacert <(sleep 0.6; cat "$C/ca.pem") --cert <(cat "$C/client.pem") --cert-key <(cat "$C/client.key") -- echo done
	[ "$output" = "done" ]
}

@test "a certificate or key in a pipe without a writer is an error after a while; a signal ends the wait" {
	local option other command silent
	mkfifo "$T/pipe"
	for option in cacert cert cert-key; do
		case $option in cert) other=(--cert-key "$C/client.key") ;; cert-key) other=(--cert "$C/client.pem") ;; *) other=() ;; esac
		for command in 'run -c true -w 300ms -k job' 'acquire -w 300ms -k job' 'hold -w 300ms -k job' 'wait -w 300ms -k job'; do
			# shellcheck disable=SC2086
			run -78 timeout 60 "$REDLOCK_BUILD/redlock" $command "--$option" "$T/pipe" "${other[@]}"
			[ "$output" = "redlock: cannot read --$option '$T/pipe': nothing writes to this pipe" ]
		done
	done
	for command in doctor 'run -c true -k job'; do
		# shellcheck disable=SC2086
		run -78 timeout 60 "$REDLOCK_BUILD/redlock" $command --cacert "$T/pipe"
		[ "$output" = "redlock: cannot read --cacert '$T/pipe': nothing writes to this pipe" ]
	done
	# a writer that neither writes nor goes; redlock has blocked TERM
	exec {silent}<> "$T/pipe"
	is_blocked() { [ $((0x$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$BG/status") >> 14 & 1)) = 1 ]; }
	for command in 'run -c true' acquire hold; do
		# shellcheck disable=SC2086
		in_background "$T/out" $command -w 1h -k job --cacert "$T/pipe"
		eventually is_blocked
		kill -TERM "$BG"
		eventually is_gone "$BG"
		ended_with 143
	done
	run -78 timeout 60 "$REDLOCK_BUILD/hasty/redlock" run -n -k job --cacert "$T/pipe" -- true
	[ "$output" = "redlock: cannot read --cacert '$T/pipe': its writer does not close this pipe" ]
	exec {silent}>&-
}

@test "a certificate that was replaced by a pipe does not keep the holder from extending the lock" {
	unset REDLOCK_TTL REDLOCK_NODE_TIMEOUT
	files_of ca client
	in_background "$T/out" run -v --ttl 6s --node-timeout 900ms -k job --cacert "$T/ca.pem" -- sh -c "touch $T/in; until [ -e $T/go ]; do sleep 0.1; done"
	eventually test -e "$T/in"
	mkfifo "$T/ca.new"
	mv "$T/ca.new" "$T/ca.pem"
	for i in 1 2 3; do node $i client kill type normal > "$T/set"; done
	eventually file_has "$T/out" "the last good ones stay in use: cannot read --cacert '$T/ca.pem': it is not a regular file"
	extended=$(grep -c extended "$T/out" || true)
	more() { [ "$(grep -c extended "$T/out")" -gt $((extended + 1)) ]; }
	eventually more
	touch "$T/go"
	ended_with 0
	not file_has "$T/out" lost
	# the authorities of the system, which the environment may name
	mkfifo "$T/system"
	unset REDLOCK_CACERT
	SSL_CERT_FILE=$T/system run -69 timeout 60 "$REDLOCK_BUILD/redlock" run -n -k job -- echo never
	is_like "$output" "*comes from an unknown @(authority|root)*"
}

@test "TLS 1.2 is enough, and nothing older is" {
	for i in 1 2 3; do tls_node $i good --tls-protocols TLSv1.2; done
	name_nodes
	works
	tls_node 3 good --tls-protocols TLSv1.1 --tls-ciphers 'ALL:@SECLEVEL=0'
	name_nodes
	absent "cannot agree on TLS (*)"
}

@test "a port without TLS, a silent one, and a TLS port for a node without TLS" {
	# a server that waits for the rest of a supposed request
	kill_node 3
	for ((try = 0; try < 50; try++)); do
		PORT[3]=$((20000 + RANDOM % 10000))
		start_node 3 --port "${PORT[3]}" --bind 127.0.0.1
		until answers 3 || is_gone "${PID[3]}"; do sleep 0.02; done
		answers 3 && break
	done
	name_nodes
	absent "did not begin TLS in time: it hangs, or that port has no TLS" --node-timeout 3s
	# and one that speaks first
	node 3 config set maxclients 1 > "$T/set"
	exec 9<> "/dev/tcp/127.0.0.1/${PORT[3]}"
	eventually turns_away "${PORT[3]}"
	is_refused "does not speak TLS"
	exec 9>&-
	# it accepts, and does nothing else
	"$REDLOCK_BUILD/tools/proxy" 0 "${PORT[1]}" --hold > "$T/proxy" 3>&- &
	also_end $!
	eventually test -s "$T/proxy"
	PORT[3]=$(cat "$T/proxy")
	is_refused "did not begin TLS in time*" --node-timeout 400ms
	run -69 redlock run -n -k job --nodes "redis://127.0.0.1:${PORT[1]}" -- echo never
	is_like "$output" "*redis://127.0.0.1:${PORT[1]} @(closed the connection (without a reply, as a TLS port does; TLS needs rediss://)|speaks TLS only)?hint: *name it rediss://127.0.0.1:${PORT[1]}*"
	REDLOCK_PASSWORD=s3cret run -69 redlock run -n -k job --nodes "redis://127.0.0.1:${PORT[1]}" -- echo never
	is_like "$output" "*@(as a TLS port does; TLS needs rediss://|speaks TLS only)*"
}
# turns_away PORT: a server that answers each connection with an error: too many clients.
turns_away() { timeout 1 head -c 8 < "/dev/tcp/127.0.0.1/$1" | grep -q ERR; }

# by_proxy OPTION...: $PROXIED is node 2 through a proxy with that fault.
by_proxy() {
	rm -f "$T/proxy"
	"$REDLOCK_BUILD/tools/proxy" 0 "${PORT[2]}" "$@" > "$T/proxy" 3>&- &
	also_end $!
	eventually test -s "$T/proxy"
	PROXIED=rediss://127.0.0.1:$(cat "$T/proxy")
}

@test "a reply that is changed on the way, or cut, does not count; one in small pieces does" {
	by_proxy --flip 200
	run -69 --separate-stderr redlock run -n -k job --node "$PROXIED" -- touch "$T/never"
	is_like "$stderr" "*$PROXIED cannot agree on TLS (*)"
	by_proxy --cut-reply 200
	run -69 --separate-stderr redlock run -n -k job --node "$PROXIED" -- touch "$T/never"
	is_like "$stderr" "*$PROXIED closed the connection (*)?hint: *"
	[ ! -e "$T/never" ]
	by_proxy --bytewise
	redlock run -n -k job --node "$PROXIED" -- true
}

@test "the configuration file has the same settings, and config shows them without reading the certificates" {
	file=$T/redlock.conf
	printf '%s\n' "nodes = $REDLOCK_NODES" "cacert = $C/other.pem" '[p]' "cacert = $C/ca.pem" "cert = $C/client.pem" \
		"cert-key = $C/client.key" 'sni = redis.example.org' 'insecure = no' > "$file"
	unset REDLOCK_NODES REDLOCK_CACERT
	tls_node 2 good --tls-auth-clients yes
	sed -i "s|^nodes = .*|nodes = rediss://127.0.0.1:${PORT[2]}|" "$file"
	# a redlock in the command finds the same
	run -0 redlock run --config "$file" --profile p -k job -- "$REDLOCK_BUILD/redlock" run -k inner -- echo done
	[ "$output" = "done" ]
	run -69 redlock run --config "$file" -n -k job -- echo never
	is_like "$output" "*comes from an unknown @(authority|root)*"
	run -0 --separate-stderr redlock config --config "$file" --profile p --json
	json '[.settings[] | select(.name | IN("cacert", "cert", "cert-key", "sni", "insecure")) | .source] == ["file", "file", "file", "file", "file"]'
	json "[.settings[] | select(.name == \"cacert\")] | .[0].value == \"$C/ca.pem\" and (.[0].where | endswith(\":4\"))"
	run -0 --separate-stderr redlock config --config "$file" --cacert "$T/nowhere" --insecure
	[ -z "$stderr" ]
	run -78 redlock run --config "$file" --profile p --cacert "$T/nowhere" -n -k job -- echo never
}

@test "a nested run has the same certificates, wherever they were named, except with --insecure" {
	unset REDLOCK_CACERT
	tls_node 3 elsewhere --tls-auth-clients yes
	ours=(--cacert ca.pem --cert client.pem --cert-key client.key --sni elsewhere.example.org --node "rediss://127.0.0.1:${PORT[3]}")
	inner='cd /; "$0" run -n -k inner -- "$0" run -n -k innermost -- echo done'
	cd "$C"
	run -0 redlock run -n -k job "${ours[@]}" -- sh -c "$inner" "$REDLOCK_BUILD/redlock"
	[ "$output" = "done" ]
	# the command line precedes the environment, and the environment has its own paths
	REDLOCK_CACERT=other.pem REDLOCK_CERT=client.pem REDLOCK_CERT_KEY=./client.key REDLOCK_SNI=nowhere.example.org \
		run -0 redlock run -n -k job "${ours[@]:0:2}" "${ours[@]:6}" -- sh -c "$inner" "$REDLOCK_BUILD/redlock"
	[ "$output" = "done" ]
	# a pipe is empty by then, and the environment is not used instead
	REDLOCK_CACERT=other.pem run -0 redlock run -n -k job --cacert <(cat ca.pem) "${ours[@]:2}" -- sh -c 'echo "${REDLOCK_CACERT-none}"'
	[ "$output" = none ]
	run -69 --separate-stderr redlock run -n -k job --insecure "${ours[@]:2}" -- sh -c "$inner" "$REDLOCK_BUILD/redlock"
	is_like "$stderr" "*--insecure: *comes from an unknown @(authority|root)*"
}

# meets_server WORDS: the server at $PORT[3] is no node, and redlock says so.
meets_server() {
	run --separate-stderr redlock run -n -k job --node-timeout 3s --node "rediss://127.0.0.1:${PORT[3]}" -- touch "$T/never"
	[ "$status" -eq 69 ] && is_like "$stderr" "*rediss://127.0.0.1:${PORT[3]} $1?hint: *"
}

# told WORDS TEXT [openssl options...]: meets_server WORDS with a server that has a good certificate and sends TEXT
# without end. It may end with a connection, or find no free port: hence a few tries.
told() {
	local try server
	for try in 1 2 3 4 5; do
		PORT[3]=$((20000 + RANDOM % 10000))
		openssl s_server "${@:3}" -accept "127.0.0.1:${PORT[3]}" -cert "$C/good.pem" -key "$C/good.key" \
			< <(exec yes "$2") > "$T/server" 2>&1 3>&- &
		server=$!
		also_end $server
		until meets_server "$1"; do
			if is_gone $server; then continue 2; fi
		done
		kill $server 2> "$T/kill" || true
		return
	done
	echo "last said: $stderr"
	return 1
}

@test "a hostile server with TLS does no harm: neither its text, nor an endless reply, nor endless new keys" {
	told 'does not speak the Redis protocol (HTTP/1.1 400 Bad Request)' 'HTTP/1.1 400 Bad Request' -quiet
	told 'answered at excessive length' $'$2147483647\r' -quiet
	# the server's speed decides which limit comes first
	told '@(did not answer in time|sends messages without end)' k
	[ ! -e "$T/never" ]
}

@test "replies of many records" {
	redlock acquire -k job > "$T/token"
	# a majority holds the lock
	value=$(for i in 1 2 3; do node $i get job; done | grep -m 1 .)
	for i in 1 2 3; do
		[ "$(node $i eval "for n = 1, 500 do
			redis.call('SET', string.rep('key', 50) .. n, ARGV[1], 'PX', 600000)
		end return 'set'" 0 "$value")" = set ]
	done
	run -0 --separate-stderr redlock status --json
	[ "$(jq '[.locks[] | select(.state == "held" and .on_nodes == 3 and .key != "job")] | length' <<< "$output")" = 500 ]
	# a byte in one of the later records
	by_proxy --flip 20000
	run -69 --separate-stderr redlock status --node "$PROXIED"
	is_like "$output$stderr" "*cannot agree on TLS (*"
}

@test "tls: a certificate that cannot be read is the outcome in JSON and in the record, too" {
	REDLOCK_CACERT=$T/none run -78 --separate-stderr redlock run -n -k job --json --record "$T/record" -- true
	is_like "$stderr" "*REDLOCK_CACERT: cannot read --cacert *No such file or directory*"
	run -0 jq -e '.outcome == "failed" and .status == 78' "$T/record"
	REDLOCK_CACERT=$T/none run -78 --separate-stderr redlock acquire -n -k job --json
	json '.outcome == "failed" and .status == 78'
}

@test "tls: the certificates are read while the connections open" {
	# each look is a connection, too
	connections() { node 1 info stats | tr -d '\r' | sed -n 's/^total_connections_received://p'; }
	more() {
		looks=$((looks + 1))
		[ "$(connections)" -gt $((before + looks)) ]
	}
	"$REDLOCK_BUILD/tools/proxy" 0 "$T/1.sock" > "$T/proxy" 3>&- &
	also_end $!
	eventually test -s "$T/proxy"
	before=$(connections) looks=0
	run -78 redlock run -n -k job --nodes "rediss://127.0.0.1:$(< "$T/proxy")" --cacert "$T/none" -- true
	eventually more
}

@test "files that cannot be used: 78 and one line; redlock asks for no passphrase" {
	bad() {
		local line=$1
		shift
		run -78 --separate-stderr redlock run -n -k job "$@" -- touch "$T/never"
		[ "${stderr_lines[0]}" = "redlock: $line" ] || { echo "$stderr"; return 1; }
		[ "${#stderr_lines[@]}" -le 2 ]
		[ ! -e "$T/never" ]
	}
	CLIENT=(--cert "$C/client.pem" --cert-key)
	bad "cannot read --cacert '$T/none': No such file or directory" --cacert "$T/none"
	bad "--cacert '$C/ca.key' has no certificate in it (PEM)" --cacert "$C/ca.key"
	bad "--cacert '/dev/null' has no certificate in it (PEM)" --cacert /dev/null
	bad "cannot read --cacert '$C': Is a directory" --cacert "$C"
	bad "cannot read --cert '$T/none': No such file or directory" --cert "$T/none" --cert-key "$C/client.key"
	bad "--cert '$C/ca.key' has no certificate in it (PEM)" --cert "$C/ca.key" --cert-key "$C/client.key"
	bad "cannot read --cert-key '$T/none': No such file or directory" "${CLIENT[@]}" "$T/none"
	bad "--cert-key '$C/ca.pem' has no private key in it (PEM)" "${CLIENT[@]}" "$C/ca.pem"
	bad "--cert-key '$C/good.key' does not match the certificate of --cert" "${CLIENT[@]}" "$C/good.key"
	bad "--cert-key '$C/locked.key' has a passphrase, which redlock does not support" "${CLIENT[@]}" "$C/locked.key"
	# also with a terminal to ask on
	run -78 timeout 60 "$REDLOCK_BUILD/tools/pty" -- "$REDLOCK_BUILD/redlock" run -n -k job "${CLIENT[@]}" "$C/locked.key" -- true
	is_like "$output" "*has a passphrase*"
	run -64 --separate-stderr redlock run -n -k job --cert "$C/client.pem" -- touch "$T/never"
	[ "${stderr_lines[0]}" = "redlock: --cert needs --cert-key" ]
}

@test "--insecure warns each time; so does a private key that every user can read" {
	tls_node 3 elsewhere
	name_nodes
	for i in 1 2; do
		run -0 --separate-stderr redlock run -n -k job --insecure -- echo done
		[ "$stderr" = "redlock: --insecure: certificates are not verified, any server is trusted" ]
	done
	run -0 --separate-stderr redlock run -q -n -k job --insecure -- echo done
	[ "$stderr" = "redlock: --insecure: certificates are not verified, any server is trusted" ]
	REDLOCK_INSECURE=1 run -0 --separate-stderr redlock status job
	[ "$stderr" = "redlock: --insecure: certificates are not verified, any server is trusted" ]
	redlock run -n -k job --insecure --node "rediss://127.0.0.1:${PORT[3]}" -- true
	# without a TLS node there is no warning
	run -0 --separate-stderr redlock run -n -k job --insecure --nodes "unix://$T/1.sock" -- true
	[ -z "$stderr" ]
	cp "$C/client.key" "$T/key"
	chmod 644 "$T/key"
	run -0 --separate-stderr redlock run -n -k job --cert "$C/client.pem" --cert-key "$T/key" -- true
	[ "$stderr" = "redlock: all users may read the private key in --cert-key '$T/key'
hint: 'chmod 600' lets only its owner read it" ]
	chmod 640 "$T/key"
	run -0 --separate-stderr redlock run -n -k job --cert "$C/client.pem" --cert-key "$T/key" -- true
	[ -z "$stderr" ]
}

# bats test_tags=not-under-valgrind
@test "OpenSSL is loaded for a node with TLS, and only then; the command inherits nothing of it" {
	# loaded ARG...: a run; $T/loaded has the libraries that its processes load, as ld.so reports them.
	loaded() {
		LD_DEBUG=files LD_DEBUG_OUTPUT=$T/ld run -0 --separate-stderr redlock run -n -k job "$@" -- ls -l /proc/self/fd
		cat "$T"/ld.* > "$T/loaded"
		rm "$T"/ld.*
	}
	loaded
	file_has "$T/loaded" libssl
	[[ "$output" != *socket* ]]
	[[ "$output" != *random* ]]
	loaded --nodes "unix://$T/1.sock"
	file_has "$T/loaded" libc
	not file_has "$T/loaded" libssl
	not file_has "$T/loaded" libcrypto
	# a missing library is reported
	mkdir "$T/lib"
	echo none > "$T/lib/libssl.so.3"
	LD_LIBRARY_PATH=$T/lib run -78 --separate-stderr "$REDLOCK_BUILD/redlock" run -n -k job -- touch "$T/never"
	is_like "${stderr_lines[0]}" "redlock: node 'rediss://127.0.0.1:${PORT[1]}' requires TLS, but OpenSSL cannot be loaded: *libssl.so.3*"
	[ ! -e "$T/never" ]
	LD_LIBRARY_PATH=$T/lib "$REDLOCK_BUILD/redlock" run -n -k job --nodes "unix://$T/1.sock" -- true
	LD_LIBRARY_PATH=$T/lib XDG_RUNTIME_DIR=$T "$REDLOCK_BUILD/redlock" hold --list
}

# bats test_tags=not-under-valgrind
@test "the system's authorities are read only when a node accepts a connection" {
	unset REDLOCK_CACERT
	cp "$C/ca.pem" "$T/system.pem"
	SSL_CERT_FILE=$T/system.pem run -0 redlock run -n -k job -- echo done
	# the writer waits until the pipe is opened
	mkfifo "$T/never"
	cat /dev/null > "$T/never" 3>&- &
	writer=$!
	also_end $writer
	SSL_CERT_FILE=$T/never REDLOCK_NODES=rediss://127.0.0.1:1 run -69 timeout --foreground 20 "$REDLOCK_BUILD/redlock" run -n -k job -- echo never
	[[ "$output" == *"Connection refused"* ]]
	not is_gone $writer
}

@test "built without TLS: a node that needs it is refused, the others are not" {
	make -s --no-print-directory -C "$BATS_TEST_DIRNAME/../.." B="$T/build" WITH_TLS=no CFLAGS=-O0 > "$T/made" 2>&1 || { cat "$T/made"; false; }
	run -78 --separate-stderr "$T/build/redlock" run -n -k job -- touch "$T/never"
	[ "$stderr" = "redlock: node 'rediss://127.0.0.1:${PORT[1]}' requires TLS, but this redlock was built without TLS (WITH_TLS=no)" ]
	[[ "$("$T/build/redlock" version)" == *$'\n'"TLS: no (built with WITH_TLS=no)"$'\n'* ]]
	[ ! -e "$T/never" ]
	"$T/build/redlock" run -n -k job --nodes "unix://$T/1.sock" -- true
}

# found STATUS [ARG...]: doctor's findings, one per line: node, finding, severity.
found() {
	run "-$1" --separate-stderr redlock doctor --json "${@:2}"
	FOUND=$(jq -r '.findings[] | "\(.node // "all" | sub(".*:"; "")) \(.id) \(.severity)"' <<< "$output")
}

@test "doctor: certificates that end soon, that have ended, and that are not verified" {
	found 0
	[ -z "$FOUND" ] || { echo "$FOUND"; false; }
	tls_node 2 soon
	tls_node 3 expired
	name_nodes
	found 0
	[ "$FOUND" = "${PORT[2]} certificate warning
${PORT[3]} certificate error" ]
	is_like "$output" "*its certificate ends on 20??-??-??, in 4d*"
	is_like "$output" "*its certificate expired on 2024-01-01*"
	found 0 --insecure
	[ "$FOUND" = "${PORT[2]} certificate warning
${PORT[3]} certificate warning
all insecure warning" ]
	# the authorities' certificates count as well
	openssl req -x509 -key "$C/ca.key" -subj /CN=ca -days 3 -out "$T/ca.pem" 2> "$T/log"
	for i in 2 3; do tls_node $i good; done
	name_nodes
	found 0 --cacert "$T/ca.pem"
	[ "$FOUND" = "${PORT[1]} certificate warning
${PORT[2]} certificate warning
${PORT[3]} certificate warning" ]
	tls_node 3 good --tls-auth-clients yes
	name_nodes
	found 0
	[ "$FOUND" = "${PORT[3]} client-certificate error" ]
}

@test "doctor: a client certificate that ends soon, or has ended" {
	ours() { found "$1" --cert "$C/$2" --cert-key "$C/$3.key" "${@:4}"; }
	ours 0 client.pem client
	[ -z "$FOUND" ]
	ours 0 short.pem short
	[ "$FOUND" = "all client-certificate warning" ]
	is_like "$output" "*our certificate (--cert) ends on 20??-??-??, in 4d*"
	# the certificates of its authorities count as well
	cat "$C/client.pem" "$C/former.pem" > "$C/chain.pem"
	ours 1 chain.pem client --strict
	[ "$FOUND" = "all client-certificate warning" ]
	is_like "$output" "*our certificate (--cert) expired on 2024-01-01*"
	tls_node 3 good --tls-auth-clients yes
	name_nodes
	ours 0 former.pem former
	[ "$FOUND" = "${PORT[3]} client-certificate error
all client-certificate warning" ]
	# if no node asks for it, its end does not matter
	REDLOCK_NODES="unix://$T/1.sock unix://$T/2.sock unix://$T/3.sock" ours 0 former.pem former
	[ -z "$FOUND" ]
}
