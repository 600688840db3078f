# Helpers for the tests in a network of their own, with names that move. Load it after ../bats/nodes.
#
# The lab is a network namespace, in which only loopback exists, with a name server at 127.0.0.1. Nothing of it is
# visible outside, and it ends with its processes. Servers listen at port 6379 of addresses 127.0.X.Y.
#
# In the far lab, the servers and the name server are in a network of their own, at 10.9.1.X, and each packet takes a
# while (tests/tools/router.c). Its tests need the rights mounts, networks and tun.

# lab_start: the lab, and its name server with no names.
lab_start() {
	lab_begin
	new_network LAB
	THERE=$LAB
	name_server "$LAB" 127.0.0.1
}

# lab_start_far MS: the far lab, where each packet takes MS milliseconds, in either direction.
lab_start_far() {
	local i
	lab_begin
	new_network LAB
	new_network THERE
	distances "all $1"
	"$REDLOCK_BUILD/tools/router" "$LAB" "$THERE" "$T/distances" > "$T/router.ready" 3>&- &
	also_end $!
	eventually test -s "$T/router.ready"
	lab ip address add 10.9.0.1/24 dev far
	for i in {1..9}; do there ip address add "10.9.1.$i/32" dev far; done
	lab ip link set far up
	there ip link set far up
	lab ip route add 10.9.1.0/24 dev far
	there ip route add 10.9.0.0/24 dev far
	name_server "$THERE" 10.9.1.9
	RECORDER=("$REDLOCK_BUILD/tools/section" "$T/moments" job command plain 0 0)
}

# distances LINE...: from now on, these are the delays (tests/tools/router.c has the form).
distances() {
	printf '%s\n' "$@" > "$T/distances.new"
	mv "$T/distances.new" "$T/distances"
}

lab_begin() {
	T=$BATS_TEST_TMPDIR
	PID=() N=0
	forget_settings
	unset REDLOCK_NODES
}

# new_network VARIABLE: a network namespace with loopback; VARIABLE is the pid of a process in it.
new_network() {
	unshare --net sleep "${LAB_SECONDS:-600}" 3>&- &
	printf -v "$1" %d $!
	also_end $!
	eventually is_apart $!
	nsenter --net="/proc/$!/ns/net" ip link set lo up
}
is_apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

# name_server NETWORK ADDRESS [LINE...]: it answers there, with these names; the lab asks it from now on, and waits for
# its answers for longer than libc does by default.
name_server() {
	local network=$1 address=$2
	shift 2
	names "$@"
	echo "nameserver $address" > "$T/resolv.conf"
	echo options timeout:30 >> "$T/resolv.conf"
	printf 'hosts: dns\n' > "$T/nsswitch.conf"
	nsenter --net="/proc/$network/ns/net" "$REDLOCK_BUILD/tools/dns" "$address" "$T/names" > "$T/dns.ready" 3>&- &
	also_end $!
	eventually test -s "$T/dns.ready"
	BY_NAME=(unshare --mount sh -c 'mount --bind "$0/resolv.conf" /etc/resolv.conf &&
		mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"' "$T")
}

# lab CMD...: in the lab. there CMD...: in the network of the servers, which is the same one if they are not far.
lab() { nsenter --net="/proc/$LAB/ns/net" "$@"; }
there() { nsenter --net="/proc/$THERE/ns/net" "$@"; }

# names LINE...: from now on, these are the names (tests/tools/dns.c has the form).
names() {
	printf '%s\n' "$@" > "$T/names.new"
	mv "$T/names.new" "$T/names"
}

# server ADDRESS [redis options...]: a server there; its pid is in SERVER[ADDRESS].
declare -gA SERVER
server() {
	local address=$1
	shift
	mkdir -p "$T/$address"
	nsenter --net="/proc/$THERE/ns/net" redis-server --bind "$address" --port 6379 --protected-mode no --save '' \
		--appendonly no --dir "$T/$address" --repl-diskless-sync-delay 0 --replica-announce-ip "$address" "$@" \
		> "$T/$address/out" 2>&1 3>&- &
	SERVER[$address]=$!
	also_end $!
	is_up() { [ "$(at "$1" ping 2>&1)" = PONG ]; }
	eventually is_up "$address"
}

# at ADDRESS COMMAND...: asks that server, from its own network.
at() {
	local address=$1
	shift
	there redis-cli -h "$address" "$@"
}

# votes ADDRESS: the server may vote, new as it is.
votes() {
	at "$1" eval "redis.call('SET', '{redlock}:node', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))" 0 \
		> "$T/set"
}

# is_queued KEY ADDRESS...: a waiter is in the queue of the key at one of these servers.
is_queued() {
	local address sum=0
	for address in "${@:2}"; do sum=$((sum + $(at "$address" zcard "redlock:queue:{$1}"))); done
	[ $sum -gt 0 ]
}

# pairs N: N pairs of a master, at 127.0.1.I, and its replica, at 127.0.2.I; the name nI leads to the master.
pairs() {
	local i lines=()
	PAIRS=$1
	REDLOCK_NODES=
	for ((i = 1; i <= PAIRS; i++)); do
		server "127.0.1.$i"
		votes "127.0.1.$i"
		server "127.0.2.$i" --replicaof "127.0.1.$i" 6379
		REDLOCK_NODES+="redis://n$i "
		MASTER[i]=127.0.1.$i
	done
	export REDLOCK_NODES
	for ((i = 1; i <= PAIRS; i++)); do eventually is_replica "127.0.2.$i"; done
	name_masters
}
is_replica() { at "$1" info replication | grep -q '^master_link_status:up'; }
is_master() { [ "$(at "$1" role | head -n 1)" = master ]; }

# name_masters: each name leads to the master of its pair.
declare -ga MASTER
name_masters() {
	local i lines=()
	for ((i = 1; i <= PAIRS; i++)); do lines+=("n$i ${MASTER[i]}"); done
	names "${lines[@]}"
}

# fail_over I: the replica of pair I becomes its master, and the old master its replica, which stays up; then the name
# follows.
fail_over() {
	local i=$1 old=${MASTER[$1]} new
	new=127.0.$((3 - $(cut -d. -f3 <<< "$old"))).$i
	at "$old" failover to "$new" 6379 timeout 10000 > "$T/failover"
	eventually is_master "$new"
	eventually is_replica "$old"
	MASTER[i]=$new
	name_masters
}

# promote I: the replica of pair I becomes a master. The old one stays a master, too, as if no message could reach
# it; the name follows.
promote() {
	local i=$1
	printf 'set last 1 px 1\nwait 1 10000\n' | lab redis-cli -h "${MASTER[i]}" > "$T/failover"
	MASTER[i]=127.0.$((3 - $(cut -d. -f3 <<< "${MASTER[i]}"))).$i
	at "${MASTER[i]}" replicaof no one > "$T/failover"
	eventually is_master "${MASTER[i]}"
	name_masters
}

# with_names CMD...: CMD is in the lab, and uses its names. in_lab ARG...: redlock there; in_lab_background FILE ARG...:
# in the background, with its pid in BG.
with_names() { lab "${BY_NAME[@]}" "$@"; }
in_lab() { with_names timeout --foreground 60 ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" "$@"; }
in_lab_background() {
	local file=$1
	shift
	nsenter --net="/proc/$LAB/ns/net" "${BY_NAME[@]}" \
		${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" "$@" > "$file" 2>&1 3>&- &
	BG=$!
	also_end "$BG"
}

# masters_with KEY: how many of the masters, to which the names lead, have the key.
masters_with() {
	local i count=0
	for ((i = 1; i <= PAIRS; i++)); do count=$((count + $(at "${MASTER[i]}" exists "$1"))); done
	echo "$count"
}
on_masters() { [ "$(masters_with "$1")" = "$2" ]; }

# ---- the far lab ----

# far_certificate: a certificate of the servers of the far lab, in the folder $C. Load ../bats/certificates before.
far_certificate() {
	begin_authorities
	authority ca
	CA=ca certificate far "$(printf 'IP:10.9.1.%d,DNS:n%d,' {1..9}{,} | sed 's/,$//')"
}

# far_servers N: servers at 10.9.1.1 to 10.9.1.N, with votes, and with TLS at port 6380 (far_certificate). Each has a
# user `u` with the password `pw`, and the name nI leads to 10.9.1.I.
far_servers() {
	local i lines=()
	for ((i = 1; i <= $1; i++)); do
		server "10.9.1.$i" --tls-port 6380 --tls-auth-clients no --tls-cert-file "$C/far.pem" \
			--tls-key-file "$C/far.key" --tls-ca-cert-file "$C/ca.pem"
		votes "10.9.1.$i"
		at "10.9.1.$i" acl setuser u on '>pw' '~*' '&*' +@all > "$T/set"
		lines+=("n$i 10.9.1.$i")
	done
	names "${lines[@]}"
	export REDLOCK_CACERT=$C/ca.pem
	REDLOCK_NODES=$(far_nodes "$1" redis://%s)
	export REDLOCK_NODES
}

# far_nodes N FORM: the first N servers as redlock's nodes, each in a form such as rediss://%s:6380.
far_nodes() {
	local i
	for ((i = 1; i <= $1; i++)); do printf "$2 " "10.9.1.$i"; done
}

# timed CMD...: CMD with the names of the lab; the moments of its begin and end are recorded. RECORDER is a command that
# records its own: timed redlock run -k job -- "${RECORDER[@]}".
timed() {
	: > "$T/moments"
	with_names sh -c 'section=$1 file=$2
		shift 2
		"$section" "$file" job before plain 0 0
		"$@"
		status=$?
		"$section" "$file" job after plain 0 0
		exit $status' sh "$REDLOCK_BUILD/tools/section" "$T/moments" "$@"
}

# between begin|end NAME begin|end NAME: the microseconds from one recorded moment to another. `timed` records the end
# of `before`, the begin of `after`, and both of `command`.
between() {
	awk -v from="$1 $2" -v to="$3 $4" '{ at[$2 " " $4] = $1 }
		END { if (!(from in at && to in at)) exit 1; printf "%d\n", (at[to] - at[from]) / 1000 }' "$T/moments"
}
