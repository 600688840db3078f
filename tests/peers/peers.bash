# Conversations with a program that locks or limits commands, and with redlock in its place.
#
# Each test file has one peer: shim() writes a small script of the peer's name that calls redlock. A conversation is a
# script for bash that uses the peer's name; its answer is the script's output on stdout, then "status N". alike() wants
# one answer from both. differs() wants another one from redlock, with the reason. A peer that is not installed gives no
# answer: then the expected one, from the peer's documentation, holds for it. Messages on stderr differ in any case.

load ../bats/nodes

# peer_setup NAME: as the first line of setup().
peer_setup() {
	PEER=$1
	nodes_start 3
	export T REDLOCK_BUILD REDLOCK_NODES REDLOCK_CONFIG
	mkdir "$T/shims" "$T/peer" "$T/ours"
	shim > "$T/shims/$PEER"
	chmod +x "$T/shims/$PEER"
	has_peer || no_peer "$PEER is not installed"
}

# no_peer REASON: the peer cannot be asked. The first test of a file tells it.
no_peer() {
	has_peer() { false; }
	[ "$BATS_TEST_NUMBER" != 1 ] || echo "# $1: the answers of its documentation are taken" >&3
}

# answer SIDE SCRIPT: in a folder of its own, which is $T/peer or $T/ours.
answer() {
	local path=$PATH
	[ "$1" = peer ] || path=$T/shims:$PATH
	(
		cd "$T/$1" || exit
		PATH=$path timeout 100 setsid --wait bash -c "
			# comes COMMAND...: polls until it is true
			comes() { local end=\$((SECONDS + 40)); until \"\$@\"; do ((SECONDS < end)) || return; sleep 0.02; done; }
			$2" 2> "$T/$1.err" < /dev/null 3>&-
		echo "status $?"
	)
}

# fresh: empties both folders, but for a server's sockets.
fresh() { find "$T/peer" "$T/ours" -mindepth 1 ! -name 'localhost:*' -delete; }

expect() { # WHO ANSWER SCRIPT
	local got
	got=$(answer "$1" "$3")
	[ "$got" = "$2" ] || {
		echo "$1, asked: $3"
		echo "answers:   $got"
		echo "but want:  $2"
		cat "$T/$1.err"
		return 1
	}
}

# alike ANSWER SCRIPT
alike() {
	expect ours "$1" "$2"
	! has_peer || expect peer "$1" "$2"
}

# differs REASON ANSWER OURS SCRIPT
differs() {
	[ -n "$1" ] && [ "$2" != "$3" ]
	expect ours "$3" "$4"
	! has_peer || expect peer "$2" "$4"
}

has_peer() { type -P "$PEER" > "$T/type"; }
