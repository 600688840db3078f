# Messages about a holder with other nodes, beside which redlock does not run. lists.bats shows which lists these are.

load nodes

setup() {
	nodes_start 5
	# The common node, 3, answers before node 2: so its vote is always heard before there is a majority.
	"$REDLOCK_BUILD/tools/proxy" "$T/late2.sock" "$T/2.sock" --delay 100 > "$T/ready" 3>&- &
	also_end $!
	eventually test -s "$T/ready"
	THERE=$(names 3 4 5)
	REDLOCK_NODES=$(names 1 2 3)
	export THERE REDLOCK_NODES
	# no node is late because the machine is busy
	export REDLOCK_TTL=60s REDLOCK_NODE_TIMEOUT=2s
	HERE_LIST=$(list_of "$REDLOCK_NODES")
	THERE_LIST=$(list_of "$THERE")
	LISTS="with other nodes (3 nodes, list $THERE_LIST; here 3 nodes, list $HERE_LIST)"
	HINT="hint: name the same nodes on all hosts: 'redlock config' prints a host's list and its name"
}
teardown() { nodes_stop; }

# names I...: the nodes as a list.
names() { printf "unix://$T/%s.sock " "${@/2/late2}"; }

# list_of NODES: the name of that list.
list_of() { redlock config --nodes "$1" | sed -n 's/^# list \([0-9a-f]*\) of .*/\1/p'; }

# holds_there ARG...: a holder with the nodes 3 4 5. `ends` ends its command. With STAYS=1, TERM does not.
holds_there() {
	REDLOCK_NODES=$THERE in_background "$T/holder" run -k deploy --owner 'root@web3:42 make' "$@" -- \
		sh -c 'test -z "$1" || trap ": > \"$0/term\"" TERM; : > "$0/began"; until [ -e "$0/end" ]; do sleep 0.1; done' "$T" "${STAYS-}"
	HOLDER=$BG
	eventually test -e "$T/began"
}
ends() {
	touch "$T/end"
	BG=$HOLDER
	ended_with 0
}

# refused TEXT: it is the one message, with its hint.
refused() {
	is_like "$1" "redlock: 'deploy' is held by root@web3:42 make since 2*Z ${LISTS}, expires in *s unless renewed: hosts must name the same nodes
$HINT"
}

@test "busy: run, acquire, hold and wait name the holder, both lists and the hint, once, with -q, too" {
	holds_there
	for command in "run -n" "run -n -q" "acquire -n -q" "hold -n -q" "wait -n -q"; do
		operands=()
		[[ "$command" != run* ]] || operands=(-- touch "$T/beside")
		run -75 --separate-stderr redlock $command -k deploy "${operands[@]}"
		refused "$stderr"
		[ "$output" = '' ]
	done
	not test -e "$T/beside"
	run -7 --separate-stderr redlock run -n -q -E 7 -k other -k deploy -- touch "$T/beside"
	refused "$stderr"
	ends
}

@test "waiting: the warning comes at once, and once with -q; at the end it is an ordinary message" {
	holds_there
	run -75 --separate-stderr redlock run -w 3s -q -k deploy -- touch "$T/beside"
	is_like "$stderr" "redlock: waiting: 'deploy' is held by root@web3:42 make since 2*Z $LISTS, expires in *s unless renewed: hosts must name the same nodes
$HINT"
	run -75 --separate-stderr redlock run -w 2s -k deploy -- touch "$T/beside"
	is_like "$stderr" "redlock: waiting: 'deploy' is held by root@web3:42 make * $LISTS, *
$HINT
*redlock: 'deploy' is held by root@web3:42 make * $LISTS, expires in *s unless renewed: hosts must name the same nodes"
	[ "$(grep -c '^hint' <<< "$stderr")" = 1 ]
	in_background "$T/waiter" run -w 1m -q -k deploy -- touch "$T/after"
	local waiter=$BG
	eventually file_has "$T/waiter" 'waiting: '
	ends
	BG=$waiter
	ended_with 0
	test -e "$T/after"
	[ "$(grep -c . "$T/waiter")" = 2 ]
}

@test "busy as JSON: both lists, the outcome, the event" {
	holds_there
	run -75 --separate-stderr redlock acquire -n --json -k deploy
	json ".outcome == \"busy\" and .status == 75 and .list == \"$HERE_LIST\" and .holder.list == \"$THERE_LIST\" and
		.holder.list_nodes == 3 and .holder.owner == \"root@web3:42 make\""
	jq -se '.[0].event == "busy" and .[0].level == "error" and .[0].holder == "root@web3:42 make" and (.[1].hint | length) > 0' \
		<<< "$stderr" > "$T/jq"
	run -75 redlock run -n -q -k deploy --record "$T/record" --on-event "echo \"\$REDLOCK_EVENT \$REDLOCK_HOLDER\" >> '$T/events'" -- true
	jq -e '.outcome == "busy" and .status == 75' "$T/record" > "$T/jq"
	eventually grep -qx 'busy root@web3:42 make' "$T/events"
	ends
}

@test "one node more, the same nodes in another order: an ordinary holder" {
	holds_there
	for nodes in "$(names 2 3 4 5)" "$(names 5 4 3)"; do
		run -75 --separate-stderr redlock run -n -k deploy --nodes "$nodes" -- true
		is_like "$stderr" "redlock: 'deploy' is busy: held by root@web3:42 make since 2*Z on [23] of ? nodes, expires in *s unless renewed"
	done
	ends
}

@test "lost: a vote that comes late names the holder, both lists and the hint" {
	stop_node 3
	in_background "$T/first" run -k deploy --owner first -- sh -c ': > "$0"; exec sleep 600' "$T/began1"
	local first=$BG
	eventually test -e "$T/began1"
	REDLOCK_NODES=$THERE in_background "$T/second" run -k deploy --owner second -- sh -c ': > "$0"; exec sleep 600' "$T/began2"
	local second=$BG
	eventually test -e "$T/began2"
	continue_node 3
	# the node gives its key to one of them
	eventually grep -q '^redlock: lost' "$T/first" "$T/second"
	if file_has "$T/first" '^redlock: lost'; then
		BG=$first
		ended_with 79
		is_like "$(< "$T/first")" "*redlock: lost 'deploy': held by second since 2*Z $LISTS
*$HINT"
	else
		BG=$second
		ended_with 79
		is_like "$(< "$T/second")" "*redlock: lost 'deploy': held by first since 2*Z with other nodes (3 nodes, list $HERE_LIST; here 3 nodes, list $THERE_LIST)
*$HINT"
	fi
}

@test "a nested run with other nodes is refused at once, with --reentrant, too" {
	# (as it is, and with its variables hidden, as behind sudo)
	for call in '"$@"; exit' 'env -u REDLOCK_HELD "$@"; exit'; do
		for option in --reentrant --no-reentrant; do
			[ $option = --reentrant ] || option=
			run -75 --separate-stderr redlock run -k deploy --nodes "$THERE" -- sh -c "$call" sh \
				"$REDLOCK_BUILD/redlock" run -w 10m $option -k deploy --nodes "$REDLOCK_NODES" -- touch "$T/beside"
			is_like "$stderr" "redlock: 'deploy' is held by a run that this one is part of, $LISTS
$HINT"
		done
	done
	not test -e "$T/beside"
	redlock run -k deploy --nodes "$THERE" -- "$REDLOCK_BUILD/redlock" run --reentrant -k deploy --nodes "$THERE" -- touch "$T/within"
	test -e "$T/within"
}

@test "status names the holder's nodes: of a minority, a majority, beside ours, of readers, slots and older versions" {
	holds_there
	run -0 redlock status deploy
	is_like "$output" "'deploy' is held by root@web3:42 make since 2* on 1 of 3 nodes, expires in *s unless renewed; that is no majority: a holder $LISTS"
	run -0 redlock status
	is_like "$output" $'KEY\tHOLDER\tHELD\tNODES\tWAITERS\ndeploy\troot@web3:42 make (no majority, other nodes)\t*s\t1/3\t0'
	run -0 redlock status --json deploy
	json ".list == \"$HERE_LIST\" and (.locks[0] | .state == \"minority\" and .holder.list == \"$THERE_LIST\" and .holder.list_nodes == 3 and
		.holder.owner == \"root@web3:42 make\" and .nodes[2].holder.list == \"$THERE_LIST\")"
	run -0 redlock status --nodes "$(names 5 3 4)" deploy
	not grep -q 'other nodes' <<< "$output"
	run -0 redlock status --nodes "$(names 1 3 4 5)" deploy
	is_like "$output" "'deploy' is held by root@web3:42 make since 2* on 3 of 4 nodes, expires in *s unless renewed; a holder with other nodes (3 nodes, list $THERE_LIST; here 4 nodes, list *)"
	run -0 redlock status --nodes "$(names 1 3 4 5)"
	is_like "$output" $'*\ndeploy\troot@web3:42 make (other nodes)\t*s\t3/4\t0'
	ends
	# of a version without lists
	node 3 set deploy '9999999999999ae4740763b5e1e5e45b8f0fedf0:1700000000 old' px 60000 > "$T/set"
	run -0 redlock status deploy
	is_like "$output" "'deploy' is held by old since 2023-* on 1 of 3 nodes, expires in *s unless renewed; that is no majority: an attempt that is under way, late or crashed"
	run -0 redlock status --json deploy
	json '.locks[0].holder | has("list") | not'
	# two readers with other nodes, and one with ours
	rm "$T/end" "$T/began"
	node 3 del deploy > "$T/set"
	holds_there -s
	redlock acquire -s -k deploy > "$T/token"
	run -0 redlock status deploy
	is_like "$output" "'deploy' is held by reader * on 2 of 3 nodes, *; on unix://$T/3.sock held by 2 readers: *root@web3:42 make since 2* $LISTS"
	run -0 redlock status
	is_like "$output" $'*\ndeploy\treader * [(]other nodes)\t*s\t2/3\t0'
	ends
}

@test "break and --takeover leave a holder alone of which too few nodes are ours, and say so" {
	local -x REDLOCK_TTL=15s
	holds_there
	local spared="redlock: cannot end 'deploy': held $LISTS, of which too few are among ours
hint: run 'redlock break' on a host with that list: *"
	run -75 --separate-stderr redlock break -y -k deploy
	is_like "$stderr" "redlock: 'deploy' is held by root@web3:42 make since * on 1 of 3 nodes, *: a holder $LISTS
$spared"
	[ "$output" = '' ]
	run -75 --separate-stderr redlock break -y --json -k deploy
	json '.outcome == "other-nodes" and .status == 75 and .revoked == 0'
	in_background "$T/takeover" run --takeover -w 10m -k deploy -- touch "$T/beside"
	eventually file_has "$T/takeover" 'cannot end'
	kill -TERM "$BG"
	ended_with 143
	is_like "$(< "$T/takeover")" "*$spared"
	not file_has "$T/takeover" 'takeover: '
	not test -e "$T/beside"
	for i in 3 4 5; do is_like "$(node $i get deploy)" '9999999999999a*'; done
	# --force removes the key here, and says what that does not end
	run -0 --separate-stderr redlock break -y --force -k deploy
	is_like "$stderr" "*$spared*redlock: the holder's command may still run for up to *"
	is_like "$output" "*3.sock: removed"
	# on a host with the holder's list
	REDLOCK_NODES=$THERE redlock break -y -k deploy
	BG=$HOLDER
	ended_with 79
}

@test "break ends what a client with one node more left, which cannot hold the lock" {
	redlock acquire --nodes "$(names 1 2 3 4)" -k deploy > "$T/token"
	for i in 2 3 4; do node $i del deploy > "$T/del"; done
	run -0 redlock status deploy
	is_like "$output" "* that is no majority: an attempt that is under way, late or crashed, with other nodes (4 nodes, *)"
	run -0 --separate-stderr redlock break -y --force -k deploy
	not grep -q 'cannot end' <<< "$stderr"
	is_like "$output" "*1.sock: removed*"
}

@test "check of a token of other nodes says so" {
	token=$(redlock acquire -k deploy --nodes "$THERE")
	says 79 '' "redlock: 'deploy' is no longer held by this token: it has expired or was released (only 1 of 3 nodes still had it); it was acquired $LISTS*" \
		check -k deploy --token "$token"
	redlock check -k deploy --nodes "$THERE" --token "$token"
}

@test "break ends a holder with other nodes of which enough are ours, and waits for its end" {
	local -x REDLOCK_TTL=15s
	STAYS=1 THERE=$(names 3) holds_there
	in_background "$T/break" break -y -k deploy
	local break=$BG
	eventually file_has "$T/break" '3.sock: revoked'
	eventually test -e "$T/term"
	not file_has "$T/break" 'the lock ended'
	touch "$T/end"
	BG=$HOLDER
	ended_with 79
	BG=$break
	ended_with 0
	eventually grep -q '^redlock: the lock ended after' "$T/break"
	# a majority of ours, as of the holder
	rm "$T"/{began,end}
	THERE=$(names 1 2 4) holds_there
	in_background "$T/break" break -y -k deploy
	break=$BG
	BG=$HOLDER
	ended_with 79
	BG=$break
	ended_with 0
}

@test "the fingerprint is in the value, and in no owner text" {
	redlock acquire -k deploy --owner me > "$T/token"
	redlock acquire -s -k read --owner me > "$T/token2"
	redlock acquire -s -k read --owner you > "$T/token3"
	value=$(node 1 get deploy)
	is_like "$value" '9999999999999a*:* @???????????? me'
	is_like "$(node 1 get read)" '9999999999999f*:* @???????????? 2 readers: me, you'
	for command in "status" "status -v" "status --json" "status deploy read" "status -v --json deploy read" \
		"run -n -k deploy true" "run -n -k read true" "acquire -n --json -k deploy" "run -n -vv -k deploy true" "check -k deploy --token x" \
		"break -n -k deploy" "break -n -k read"; do
		run redlock $command
		not grep -F "@$(grep -oP '(?<=@)[0-9a-f]*' <<< "$value")" <<< "$output"
		[ "$output" != '' ]
	done
}
