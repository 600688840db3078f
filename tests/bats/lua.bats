# The scripts that run on nodes: scripts/embed-lua, which joins and shortens them, and their parts, one by one, on a
# real server. sim.bats compares the replies of whole scripts with the simulator's node.

load nodes

# The sources of this build: of a mutant, those next to its build folder.
ROOT=$REDLOCK_BUILD/..
[ -d "$ROOT/src/proto/lua" ] || ROOT=$BATS_TEST_DIRNAME/../..
HEADERS=("$ROOT/src/base/token.h" "$ROOT/src/lock/policy.h" "$ROOT/src/proto/request.h" "$ROOT/src/proto/reply.h"
	"$ROOT/src/lock/operations.def")

setup() { T=$BATS_TEST_TMPDIR; }
teardown() { [ -z "${N-}" ] || nodes_stop; }

embed() { "$ROOT/scripts/embed-lua" "$@"; }

# script LINE...: writes them to $T/script.lua.
script() { printf '%s\n' "$@" > "$T/script.lua"; }

# shortened LINE...: the shortened script of these lines.
shortened() {
	script "$@"
	embed --lua "${HEADERS[@]}" "$T/script.lua"
}

# refused WHAT LINE...
refused() {
	local what=$1
	shift
	script "$@"
	run -1 embed --lua "${HEADERS[@]}" "$T/script.lua"
	[ "$output" = "embed-lua: $T/script.lua:$what" ] || { echo "$output" && false; }
}

# is_denied TEXT: the error of a script if its user lacks a right, before Redis 7.2 and since then.
is_denied() { [[ "$1" == *"The user executing the script can't "* || "$1" == *"ACL failure in script: "* ]] || is_like "$1" denied; }

# with_parts ARGUMENTS PART... -- LINE...: a script of these parts, in $T/script.lua; ARGUMENTS are names of ARGV.
with_parts() {
	local arguments=$1
	shift
	cp -r "$ROOT/src/proto/lua/parts" "$T"
	{
		echo "local $arguments = unpack(ARGV)"
		for (( ; $# > 0; )); do
			[ "$1" != -- ] || break
			echo "-- include parts/$1.lua"
			shift
		done
		shift
		printf '%s\n' "$@"
	} > "$T/script.lua"
	embed --lua "${HEADERS[@]}" "$T/script.lua" > "$T/short"
}

# answers_with WANT KEYS ARG...: the reply to the script of with_parts, in one line; KEYS with commas.
answers_with() {
	local want=$1 keys=()
	IFS=, read -ra keys <<< "$2"
	shift 2
	run node 1 eval "$(cat "$T/short")" ${#keys[@]} "${keys[@]}" "$@"
	[ "$(tr '\n' ' ' <<< "$output")" = "$want " ] || { echo "$output" && false; }
}

@test "embed-lua: comments and white space go, names of locals become short, strings stay" {
	got=$(shortened "-- a comment" "local name = ARGV[1] -- 'another'" "local function twice(text)" \
		"	return text .. '..name -- no comment' .. text .. \"it's\" .. 'a \\'\\\\' -- gone" "end" "return twice(twice(name))")
	[ "$got" = "local b=ARGV[1]local function a(b)return b..'..name -- no comment'..b..\"it's\"..'a \\'\\\\'end return a(a(b))" ] ||
		{ echo "$got" && false; }
}

@test "embed-lua: fields, keys of tables and globals keep their names; tokens that would become others are kept apart" {
	got=$(shortened "local err, size = {err = 'x', size = 1, ['size'] = 2}, 1" "err.size = size - -size" \
		"return err.err .. 1 .. size, KEYS[KEYS[1]], 1 or err")
	[ "$got" = "local a,b={err='x',size=1,['size']=2},1 a.size=b- -b return a.err..1 ..b,KEYS[KEYS[1]],1 or a" ] ||
		{ echo "$got" && false; }
}

@test "embed-lua: a function that is not called goes, with those that only it calls; so does a value" {
	got=$(shortened "local function first()" "	return 1" "end" "local function second()" "	return first()" "end" \
		"local unused = second()" "local used, beside = 1, 2" "return used")
	[ "$got" = "local a,b=1,2 return a" ] || { echo "$got" && false; }
}

@test "embed-lua: names in capitals are numbers and strings of headers" {
	printf '%s\n' '#define ONE 1 /* a comment */' '#define MUCH (25 * 3600 * 1000)' '#define NINES "99"' \
		'#define MORE \' ' NINES "ff" NINES /* two \' ' lines */' '#define CALL ONE + 1' > "$T/numbers.h"
	script "return {ONE, MUCH, MORE, ARGV[1]}"
	[ "$(embed --lua "$T/numbers.h" "$T/script.lua")" = "return{1,9e7,'99ff99',ARGV[1]}" ]
	script "return CALL"
	run -1 embed --lua "$T/numbers.h" "$T/script.lua"
	is_like "$output" "*: CALL is not defined as a number or a string"
}

@test "embed-lua: a function that returns an expression, and is called once, is in the place of the call" {
	got=$(shortened "local n = ARGV[1]" "local function sum(a, b)" "	return a + b * n" "end" "local function none()" "	return n" "end" \
		"if sum(1, n) > 2 and not none() then" "	return 3" "end" "return 2 * (n - 1)")
	[ "$got" = "local a=ARGV[1]if(1+a*a)>2 and not(a)then return 3 end return 2*(a-1)" ] || { echo "$got" && false; }
	# not where the place has another variable of the name, the argument is more than a word, or the values are several
	got=$(shortened "local n = ARGV[1]" "local function first()" "	return n" "end" "local function second(a)" "	return a" "end" \
		"local function third()" "	return 1, 2" "end" "local function all(n)" "	local x = n" "	return first(), x, n" "end" \
		"return {all(1), all(2), second(n + 1), third()}")
	[ "$got" = "local a=ARGV[1]local function c()return a end local function d(a)return a end local function e()return 1,2 end local function b(a)local d=a return c(),d,a end return{b(1),b(2),d(a+1),e()}" ] ||
		{ echo "$got" && false; }
}

@test "embed-lua: neighbouring variables share one 'local', unless one uses another; sums of arguments are numbers" {
	got=$(shortened "local a, b = ARGV[1], {}" "local c = KEYS[1]" "local d" "local e = #b" "local function f(x)" "	return x" "end" \
		"d = a .. c" "return f(40 + 1), e, d, 2 * (3 + 1)")
	[ "$got" = "local b,c,d,a=ARGV[1],{},KEYS[1]local e=#c local function f(a)return a end a=b..d return f(41),e,a,2*(4)" ] ||
		{ echo "$got" && false; }
}

@test "embed-lua: what follows '-- nest' is a function within the script; a nest of unused statements is none" {
	got=$(shortened "local a = ARGV[1]" "-- nest" "local unused = 1" "local b = a + 1" "-- nest" "return a + b" "-- nest" "local c = 1")
	[ "$got" = "local a=ARGV[1]return(function()local b=a+1 return(function()return a+b end)()end)()" ] || { echo "$got" && false; }
}

@test "embed-lua: arguments are words, parts of one more word, which are read behind '-- rest', and words after it" {
	printf '%s\n' 'SCRIPT(A, "a", script, "", WORD(token) PART(flags) PART(slots) PART(waiter) PART(held_ids) LATER(early), NONE)' \
		> "$T/operations.def"
	script "local match = string.match" "-- arguments" "local head = match(rest, '^%S*') .. (early or 'none')" "-- rest" \
		"return {token, head, flags, slots, waiter, held_ids}"
	embed --lua "$T/operations.def" "$T/script.lua" > "$T/short"
	nodes_start 1
	answer_of() { node 1 eval "$(cat "$T/short")" 0 t "$@" | tr '\n' ,; }
	[ "$(answer_of ' 0 w a b')" = "t,none,,0,w,a b," ]
	[ "$(answer_of 's 12  ' later)" = "t,slater,s,12,,," ]
	# words alone
	printf '%s\n' 'SCRIPT(A, "a", script, "", WORD(token) WORD(flags), NONE)' > "$T/operations.def"
	script "-- arguments" "return {token, flags}"
	embed --lua "$T/operations.def" "$T/script.lua" > "$T/short"
	[ "$(answer_of 'f 1')" = "t,f 1," ]
}

@test "embed-lua: unknown syntax is refused, with the line" {
	refused "2: NO_SUCH_NAME is not defined as a number or a string" "local a = 1" "return NO_SUCH_NAME"
	refused "1: long strings are not known" "return [[x]]"
	refused "1: long comments are not known" "--[[ x" "]]"
	refused "1: cannot read the number at \"1\"" "return 1x"
	refused "1: cannot read \"'open\"" "return 'open"
	refused "2: a statement within another one begins in the first column" "if KEYS[1] then" "return 1" "end"
	refused "1: a statement is not closed" "if KEYS[1] then"
	script "-- include none.lua"
	run -1 embed "$T/script.lua"
	[ "$output" = "embed-lua: $T/none.lua:0: cannot be read" ]
	run -1 embed
	is_like "$output" "usage: embed-lua *"
}

@test "embed-lua: every awk writes the same, and C has the same bytes" {
	scripts=("$ROOT"/src/proto/lua/*.lua)
	embed "${HEADERS[@]}" "${scripts[@]}" > "$T/first"
	[ "$(grep -c '^static const char script_[a-z_]*\[\] =$' "$T/first")" = ${#scripts[@]} ]
	# as C and as Lua they are the same
	{
		cat "$T/first"
		printf '#include <stdio.h>\nint main(void) {\n'
		sed -n 's/^static const char \(script_[a-z_]*\).*/puts(\1);/p' "$T/first"
		echo "return 0; }"
	} > "$T/print.c"
	"${CC:-cc}" -o "$T/print" "$T/print.c"
	"$T/print" | cmp - <(embed --lua "${HEADERS[@]}" "${scripts[@]}")
	for awk in mawk gawk original-awk busybox; do
		path=$(command -v $awk) || continue
		mkdir -p "$T/$awk"
		ln -s "$path" "$T/$awk/awk"
		PATH=$T/$awk:$PATH embed "${HEADERS[@]}" "${scripts[@]}" > "$T/second"
		cmp "$T/first" "$T/second"
	done
}

@test "each script: a key of another holder stays as it is, and a key that is gone is not set again" {
	nodes_start 1
	mine=1111111111111111111111111111111111111111:1000000002 other=2222222222222222222222222222222222222222:1000000001
	# arguments_of SCRIPT [FLAG]: those after the token; src/lock/operations.def has their names.
	arguments_of() {
		case $1 in
		acquire) arguments=(' 0 0 600000 0 0 1000 1   ') ;;
		extend) arguments=(' 0 600000 ') ;;
		undo) arguments=('0 0 0 1000') ;;
		hand_off) arguments=("${2-} 0 0   0 0 1000   ") ;;
		expire) arguments=('0 600000') ;;
		fence_number) arguments=(7) ;;
		look) arguments=('0 0 0  1   ') ;;
		revoke) arguments=('') ;;
		esac
	}
	# the second time by their plain cases, if they have them
	for name in extend undo hand_off 'hand_off b' expire fence_number look revoke mark extend look; do
		[ "$name" != mark ] || { is_over && continue; }
		script=$(embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/${name% *}.lua")
		# shellcheck disable=SC2086
		arguments_of $name
		for value in "$other me" "${mine}1 me" "${mine%?}" ''; do
			node 1 set k "$value" px 60000 > "$T/set"
			[ -n "$value" ] || node 1 del k > "$T/set"
			# the id alone is the client's token, too
			for token in "$mine me" "${mine%:*}"; do
				[[ $token != "${mine%:*}" || ($value != "$token"* && $name != "hand_off b") ]] || continue
				run node 1 eval "$script" 1 k "$token" "${arguments[@]}"
				[ "$status" -eq 0 ]
				[ "$(node 1 get k)" = "$value" ]
			done
			left=$(node 1 pttl k)
			[ -z "$value" ] || [[ $left -gt 50000 && $left -le 60000 ]]
		done
	done
	script=$(embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/acquire.lua")
	arguments_of acquire
	for mark in yes no; do
		[ $mark = yes ] || node 1 del {redlock}:node
		node 1 set k "$other me" px 60000
		run node 1 eval "$script" 1 k "$mine me" "${arguments[@]}"
		[ "$(node 1 get k)" = "$other me" ]
		[ "$(node 1 pttl k)" -le 60000 ]
	done
	# and what hand_off has reserved
	node 1 flushall
	run node 1 eval "$script" 1 k "$mine me" "${arguments[@]}"
	[ "$(node 1 get k)" = "$mine me" ]
	[ "$(node 1 pttl k)" -gt 60000 ]
}

@test "keys, view: another program's value is never the token's; the token's id is enough" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	with_parts "token, flags, held_ids" view -- "local err = read_keys()" "if err then" "	return err" "end" \
		"return {foreign or 0, gone or 0, notes == ' p1' and 1 or 0, value[1] or '', beside('x', KEYS[1])}"
	answers_with "0 1 0  redlock:x:{k}" k $id '' ''
	node 1 set k "$id:1 me"
	answers_with "0 0 1 $id:1 me redlock:x:{k}" k "$id:1 me" '' ''
	answers_with "0 0 1 $id:1 me redlock:x:{k}" k $id '' ''
	answers_with "1 0 0 $id:1 me redlock:x:{k}" k "${id%1}" '' ''
	node 1 rpush list x
	answers_with "2 0 1 $id:1 me redlock:x:{k}" k,list $id '' ''
	answers_with "1 2 0 (list) redlock:x:{list}" list,none "(list)" '' ''
}

@test "shared: readers are added, named and removed; a client that asks, and may not read the set, sees a holder" {
	nodes_start 1
	a=1111111111111111111111111111111111111111:1000000002 b=2222222222222222222222222222222222222222:1000000001
	readers=9999999999999fffffffffffffffffffffffffff
	with_parts "token, flags, held_ids, action" view -- "asks = action ~= 'has'" \
		"local err = read_keys()" "if err then" "	return err" "end" \
		"if action == 'put' then" "	put(1, 60000)" "elseif action == 'remove' then" "	remove(1)" "end" \
		"return {value[1] or '', call('GET', KEYS[1]) or ''}"
	answers_with " $readers:1000000002 reader a" k "$a a" s '' put
	answers_with " $readers:1000000001 2 readers: a, b" k "$b b" s '' put
	answers_with "$a a $readers:1000000001 2 readers: a, b" k "$a a" '' '' none
	# it would join them; it runs within one of them; it does neither
	answers_with " $readers:1000000001 2 readers: a, b" k other s '' none
	answers_with "$b b $readers:1000000001 2 readers: a, b" k other '' "${b%:*}" none
	answers_with "$readers:1000000001 2 readers: a, b $readers:1000000001 2 readers: a, b" k other '' '' none
	node 1 acl setuser default -zrangebyscore
	answers_with "$readers:1000000001 2 readers: a, b $readers:1000000001 2 readers: a, b" k other '' '' none
	run node 1 eval "$(cat "$T/short")" 1 k other s '' none
	is_denied "$output"
	# it may be a reader
	run node 1 eval "$(cat "$T/short")" 1 k "$b b" '' '' has
	is_denied "$output"
	node 1 acl setuser default +zrangebyscore
	# a reader that has expired does not count, though its entry is still there
	node 1 zadd "redlock:readers:{k}" 1 "$a a" > "$T/set"
	answers_with "$readers:1000000001 2 readers: a, b $readers:1000000001 2 readers: a, b" k "$a a" '' '' none
	answers_with " $readers:1000000001 2 readers: a, b" k "$a a" s '' put
	answers_with "$a a $readers:1000000001 reader b" k "$a a" '' '' remove
	answers_with "$b b" k "$b b" '' '' remove
	[ "$(node 1 exists k "redlock:readers:{k}")" = 0 ]
}

@test "queue: a reservation that does not expire is removed; a wrong clock makes none" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	with_parts "token, flags, held_ids, quarantine, wall, slots, reserve_ms, waiter" view queue -- \
		"call('SET', reserved_key(KEYS[1]), token)" \
		"return {reservation(KEYS[1]) or '', call('EXISTS', reserved_key(KEYS[1]))}"
	answers_with " 0" k $id '' '' 0 0 1 5000 ''
	with_parts "token, flags, held_ids, quarantine, wall, slots, reserve_ms, waiter" view queue -- \
		"reserve(KEYS[1], own_id)" "return {reservation(KEYS[1]) or ''}"
	answers_with "" k $id '' '' 1000 1 1 5000 ''
	answers_with $id k $id '' '' 0 1 1 5000 ''
}

@test "fence: the client's time, a number above all counters; a counter that is none is named" {
	nodes_start 1
	with_parts "quarantine, began" keys fence -- "return {string.format('%.0f', raise() or -1), broken or ''}"
	# ahead of the server's own clock
	now=$(($(date +%s%N) / 1000 + 20000000))
	answers_with "$now" k,l 0 $now
	answers_with "$((now + 1))" k 0 1
	answers_with "$((now + 2))" k,l 0 1
	[ "$(node 1 get "redlock:fence:{l}")" = $((now + 2)) ]
	node 1 set "redlock:fence:{l}" none
	answers_with "-1 redlock:fence:{l}" k,l 0 1
	node 1 set "redlock:fence:{l}" 9007199254740990
	answers_with "9007199254740991" l 0 1
	answers_with "-1 redlock:fence:{l}" l 0 1
	# a client's clock that is wrong by days moves the number by half a minute
	node 1 del "redlock:fence:{k}" > "$T/set"
	run node 1 eval "$(cat "$T/short")" 1 k 0 $((now + 864000000000))
	number=${lines[0]}
	[ "$number" -lt $((now + 60000000)) ]
	# a number is stored under the token that holds the key, and never goes back
	mine=1111111111111111111111111111111111111111:1000000002
	store=$(embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/fence_number.lua")
	node 1 set k "$mine me" px 60000 > "$T/set"
	for token in "2$mine" "$mine me"; do node 1 eval "$store" 1 k "$token" 7 > "$T/set"; done
	[ "$(node 1 get "redlock:fence:{k}")" = "$number" ]
	node 1 eval "$store" 1 k "2$mine" $((number + 1)) > "$T/set"
	[ "$(node 1 get "redlock:fence:{k}")" = "$number" ]
	node 1 eval "$store" 1 k "$mine me" $((number + 1)) > "$T/set"
	[ "$(node 1 get "redlock:fence:{k}")" = $((number + 1)) ]
}

@test "restart guard: a node without a mark has no vote; a client's clock that is off has none anywhere" {
	nodes_start 1
	id=$(node 1 info server | tr -d '\r' | sed -n 's/^run_id://p')
	node 1 flushall
	with_parts "quarantine, wall" keys -- "local is_plain, rest" "-- include parts/restart_guard.lua" \
		"return no_vote and {no_vote.err or no_vote[1], no_vote[3]} or {find(notes, ' u1') and 'unguarded' or 'votes', sub(notes, 3, 42)}"
	now() { echo $(($(date +%s%N) / 1000000)); }
	answers_with "votes $id" '' 0 0
	answers_with "S ahead of" '' 60000 1
	[ "$(node 1 dbsize)" = 0 ]
	answers_with "Q" '' 60000 "$(now)"
	answers_with "Q" '' 60000 "$(now)"
	is_like "$(node 1 get {redlock}:node)" "$id * 60000 * 0*"
	# a third of the quarantine is left
	ends=$(($(now) + 20000))
	node 1 set {redlock}:node "$id $ends 60000 $ends 0"
	answers_with "Q" '' 60000 "$(now)"
	# 'doctor --admit' writes the id alone
	node 1 set {redlock}:node "$id"
	answers_with "votes $id" '' 60000 "$(now)"
	is_like "$(node 1 get {redlock}:node)" "$id 0 1 0 0*"
}

# guard_of MARK SERVER REPLICATION: the guard's answer and the mark after it, of a node with this mark that tells this of
# itself; one INFO fewer if the mark's run id is the answer.
guard_of() {
	[ -n "$1" ] || node 1 del {redlock}:node > "$T/set"
	[ -z "$1" ] || node 1 set {redlock}:node "$1" > "$T/set"
	node 1 eval "local function fake(...)
		local c, s = ...
		if c == 'INFO' then return string.gsub(s == 'server' and ARGV[3] or ARGV[4], ' ', '\r\n') .. '' end
		return redis.pcall(...)
	end $(sed 's/redis\.pcall/fake/' "$T/short")" 0 60000 "$(($(date +%s%N) / 1000000))" "$2" "$3" | tr '\n' ' '
	node 1 get {redlock}:node
}

@test "restart guard: the id of the history in the mark tells of the server's life; another id is looked into" {
	nodes_start 1
	with_parts "quarantine, wall" keys -- "local is_plain, rest" "-- include parts/restart_guard.lua" \
		"return no_vote and {no_vote.err or no_vote[1], no_vote[3]} or {find(notes, ' u1') and 'unguarded' or 'votes', sub(notes, 3, 42)}"
	a=$(printf '%040d' 1) b=$(printf '%040d' 2) h=$(printf '%040d' 3) other=$(printf '%040d' 4)
	server="redis_version:7.0.15 redis_mode:standalone run_id:$a executable:/usr/bin/redis-server "
	master="# role:master master_replid:$h second_repl_offset:-1 "
	# the run id is the mark's: the server was not asked
	[ "$(guard_of "$b 1 9 1 0$h" "$server" "$master")" = "votes $b $b 1 9 1 1$h" ]
	[ "$(guard_of "$b 1 9 1 1$h" "$server" "$master")" = "votes $b $b 1 9 1 1$h" ]
	# a mark of an older version, and another id of the same life: no quarantine, and the mark follows
	[ "$(guard_of "$a 1 9 1 0" "$server" "$master")" = "votes $a $a 1 9 1 1$h" ]
	for i in 0 1; do
		[ "$(guard_of "$a 1 9 1 $i$other" "$server" "$master")" = "votes $a $a 1 9 1 1$h" ]
	done
	# of another life, in either form
	[[ "$(guard_of "$b 1 9 1 0" "$server" "$master")" == "Q $a "*" 60000 "*" 0$h" ]]
	for i in 0 1; do
		[[ "$(guard_of "$b 1 9 1 $i$other" "$server" "$master")" == "Q $a "*" 60000 "*" 0$h" ]]
	done
	# promoted: only the id itself counts, and the server is asked
	promoted="# role:master master_replid:$h second_repl_offset:7 "
	[ "$(guard_of "$a 1 9 1 $h" "$server" "$promoted")" = "votes $a $a 1 9 1 $h" ]
	[[ "$(guard_of "$b 1 9 1 $h" "$server" "$promoted")" == "Q $a "*" 60000 "*" $h" ]]
	[[ "$(guard_of "$a 1 9 1 0" "$server" "$promoted")" == "Q $a "*" 60000 "*" $h" ]]
	for i in 0 1; do
		[[ "$(guard_of "$a 1 9 1 $i$other" "$server" "$promoted")" == "Q $a "*" 60000 "*" $h" ]]
	done
	# a replica has no vote, whatever the mark says
	is_like "$(guard_of "$a 1 9 1 1$h" "$server" "# role:slave master_replid:$h second_repl_offset:-1 ")" "READONLY*"
	# KeyDB's active replica
	[ "$(guard_of "$a 1 9 1 $h" "$server" "# role:active-replica master_replid:$h second_repl_offset:-1 ")" = "votes $a $a 1 9 1 $h" ]
	[[ "$(guard_of "$b 1 9 1 1$h" "$server" "# role:active-replica master_replid:$h second_repl_offset:-1 ")" == "Q $a "* ]]
	# a server that does not tell the id
	[ "$(guard_of "$a 1 9 1 0" "$server" "# role:master second_repl_offset:-1 ")" = "votes $a $a 1 9 1 0" ]
	# a quarantine that was over once does not begin again in this life, whatever the clocks say
	[ "$(guard_of "$b 9999999999999 50 1 1$h" "$server" "$master")" = "votes $b $b 9999999999999 50 1 1$h" ]
	is_like "$(guard_of "$a 9999999999999 50 1 1$other" "$server" "$master")" "Q $a * 60000 * 0$h"
	# in quarantine, by either kind of mark
	is_like "$(guard_of "$a 9999999999999 50 1 0$h" "$server" "$master")" "Q $a * 60000 * 0$h"
	is_like "$(guard_of "$b 9999999999999 50 1 0$h" "$server" "$master")" "Q $b * 60000 * 0$h"
	for kind in 6.2.16 6.3.4 7.0.15 7.2.4 8.0.2; do
		[ "$(guard_of "$a 1 9 1 0" "${server/7.0.15/$kind}" "$master")" = "votes $a $a 1 9 1 1$h" ]
	done
	# of other servers, it is not known which starts and promotions keep the id
	for kind in 6.0.16 5.0.14 4.0.0 9.0.0 10.0.0 255.255.255; do
		[ "$(guard_of "$a 1 9 1 0" "${server/7.0.15/$kind}" "$master")" = "votes $a $a 1 9 1 0" ]
	done
	[ "$(guard_of "$a 1 9 1 0" "${server/standalone/cluster}" "$master")" = "votes $a $a 1 9 1 0" ]
	[ "$(guard_of "$a 1 9 1 0" "${server/executable*/executable: }" "$master")" = "votes $a $a 1 9 1 0" ]
}

# info_calls: how often the node was asked for INFO.
info_calls() { node 1 info commandstats | sed -n 's/^cmdstat_info:calls=\([0-9]*\).*/\1/p'; }

@test "restart guard: an acquire asks the server once for INFO, when the node has been asked before" {
	nodes_start 1
	mine=9999999999999a${id:14}
	run_script acquire k "$mine" " 0 $(date +%s)000 60000 60000 0 1000 1 w1  "
	node 1 config resetstat
	run_script acquire k "$mine" " 0 $(date +%s)000 60000 60000 0 1000 1 w1  "
	[ "$(info_calls)" = 1 ]
}

# plain_acquire MARK QUARANTINE SECONDS: of a free key, with the client's time of day that much ahead; then the keys that the node
# has but the mark. one_info: the node was asked for INFO once, and for no more than a plain request needs.
plain_acquire() {
	[ -z "$1" ] || node 1 set {redlock}:node "$1" > "$T/set"
	node 1 del k > "$T/set"
	node 1 config resetstat > "$T/set"
	run_script acquire k "9999999999999a${id:14}:1 me" " 0 ${4-$(($(date +%s) + $3))000} 60000 $2 0 1000 1 w1  "
}
one_info() { [ "$(info_calls)" = 1 ]; }

@test "plain requests: a node whose quarantine was over once in this life of the server is asked no more; in any other case the guard decides" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	run=$(node 1 info server | tr -d '\r' | sed -n 's/^run_id://p')
	life=$(node 1 info replication | tr -d '\r' | sed -n 's/^master_replid://p')
	plain_acquire "$run 1 9 1 1$life" 60000 0
	is_answer $yes
	[ "${item[i]} ${item[ms]} ${item[waiters]}" = "${run:0:16} 60000 0" ]
	one_info
	[ "$(node 1 get k)" = "9999999999999a${id:14}:1 me" ]
	# the mark lasts longer in the past than the client's quarantine
	plain_acquire "$run 1 9 1 1$life" 90000 0
	is_answer $yes
	one_info
	# the quarantine lasts: only the other parts know that
	plain_acquire "$run 9999999999999 60000 1 0$life" 60000 0
	is_answer Q
	[ "$(node 1 exists k)" = 0 ]
	# another life
	plain_acquire "$run 1 9 1 1${id}" 60000 0
	is_answer $yes
	[ "$(node 1 get {redlock}:node)" = "$run 1 9 1 1$life" ]
	plain_acquire "$id 1 9 1 1${id}" 60000 0
	is_answer Q
	[ "$(node 1 exists k)" = 0 ]
	# the client's clock is off by more than half a minute
	for off in 40 -40; do
		plain_acquire "$run 1 9 1 1$life" 60000 $off
		is_answer S
		[ "$(node 1 exists k)" = 0 ]
	done
	# without the right to the time, the node is not guarded, and says it
	node 1 acl setuser default -time
	plain_acquire "$run 1 9 1 1$life" 60000 0
	is_answer $yes
	[ "${item[u]}" = 1 ]
	node 1 acl setuser default +time
	# without a guard, the mark still tells the server's id
	plain_acquire "$run 1 9 1 1$life" 0 40 0
	is_answer $yes
	[ "${item[i]}" = "${run:0:16}" ]
	one_info
	# without a mark, the server tells it, and does not if the client does not ask
	node 1 del {redlock}:node
	plain_acquire '' 0 0 0
	is_answer $yes
	[ "${item[i]}" = "$run" ]
	[ "$(info_calls)" = 2 ]
	plain_acquire '' 0 0 ''
	is_answer $yes
	[ "${item[i]}" = '' ]
	one_info
	node 1 set k other px 60000
	run_script acquire k "9999999999999a${id:14}:1 me" " 0  60000 0 0 1000 1 w1  "
	is_answer $foreign other
	[ "${item[i]}" = '' ]
}

# plain_extend [WALL]: of the client's own key.
plain_extend() {
	node 1 set k "9999999999999a${id:14}:1 me" px 60000 > "$T/set"
	node 1 config resetstat > "$T/set"
	run_script extend k "9999999999999a${id:14}" " 0 70000 $1"
}

@test "plain requests: an extension asks the server for nothing if its id is known, and tells of waiters" {
	waiting_test
	id=1111111111111111111111111111111111111111
	run=$(node 1 info server | tr -d '\r' | sed -n 's/^run_id://p')
	plain_extend ''
	is_answer $yes
	[ "${item[ms]} ${item[waiters]} ${item[i]-none}" = "70000 0 none" ]
	[ "$(info_calls)" = '' ]
	[ "$(node 1 pttl k)" -gt 60000 ]
	plain_extend 0
	is_answer $yes
	[ "${item[i]}" = "$run" ]
	subscribes w1
	node 1 zadd 'redlock:queue:{k}' 1 w1 > "$T/set"
	for wall in '' 0; do
		plain_extend "$wall"
		is_answer $yes
		[ "${item[ms]} ${item[waiters]}" = "70000 1" ]
	done
}

# ---- waiting ----

# text_of NAME: TEXT[NAME] is the script, shortened.
text_of() {
	local short=$BATS_FILE_TMPDIR/$1
	[ -e "$short" ] || {
		embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/$1.lua" > "$T/short"
		mv "$T/short" "$short"
	}
	TEXT[$1]=$(< "$short")
}

# run_script NAME KEYS ARG...: runs a whole script on node 1. KEYS with commas. item[code], item[ms], item[waiters] and
# item[text] are parts of its reply, item[X] is the item with the letter X, and item[code] an error.
run_script() {
	local name=$1 keys
	IFS=, read -ra keys <<< "$2"
	shift 2
	text_of "$name"
	local got words word
	mapfile -t got < <(node 1 eval "${TEXT[$name]}" ${#keys[@]} "${keys[@]}" "$@" 2>&1)
	read -ra words <<< "${got[0]}"
	declare -gA item=([k]=1 [p]=0 [s]=0 [u]=0 [f]=0 [o]=0 [e]="${words[1]-}" [t]=0 [r]=0 [l]=0)
	item[code]=${got[0]} item[text]=${got[1]-}
	[[ ${words[0]-} = ? ]] || return 0
	item[code]=${words[0]} item[ms]=${words[1]} item[waiters]=${words[2]}
	for word in "${words[@]:3}"; do item[${word:0:1}]=${word:1}; done
}

# is_answer CODE [TEXT]: the code and the text of the last reply.
is_answer() { [ "${item[code]} ${item[text]}" = "$1 ${2-${item[text]}}" ] || { declare -p item && false; }; }

yes=Y foreign=F gone=G reserved=R

# id X: the id of a token, which ends in 26 times X. token X: the token with this id, and a name.
id() { printf 9999999999999a; printf "%.0s$1" {1..26}; }
token() { echo "$(id "$1"):1000000000 $1"; }

# Each of these is about the key of $key, k, with $slots: the keys are reserved for a minute, without a restart guard.
key=k
slots=1

# slots_word: the argument `slots`.
slots_word() { [ -z "$slots" ] && echo '?' || echo $((slots > 1 ? slots : 0)); }

# queue_of: the end of the names of the queue and of its channels. Each limit has its own queue.
queue_of() { [ "$slots" -gt 1 ] && echo "{${key%#*}}:$slots" || echo "{$key}"; }

# acquires X [FLAGS [WOKEN_BY [WAITER]]]
acquires() { run_script acquire "$key" "$(token "$1")" "${2-} $(slots_word) 0 600000 0 0 60000 1 ${4-} ${3-} ${5-}"; }
# hands_off X [FLAGS [WOKEN_BY [WAITER [FAR]]]]
hands_off() { run_script hand_off "$key" "$(token "$1")" "${2-} $(slots_word) ${5-0}   0 0 60000 ${4-} ${3-} "; }
undoes() { run_script undo "$key" "$(token "$1")" "$(slots_word) 0 0 60000"; }
looks() { run_script look "$key" "$(token "$1")" "$(slots_word) 0 0 ${2-} 1 ${4-} ${3-} "; }
# joins X WAITER [TICKET]: over another connection than the waiter's.
joins() { run_script join "$key" "$(token "$1")" "$(slots_word) $2 ${3-0} 0 0 60000"; }
place() { echo "${item[r]} $(node 1 zcard "redlock:queue:$(queue_of)")"; }

# subscribes WAITER...: opens a connection for each, which does not join.
subscribes() {
	local name
	for name; do subscribe "$name" "$name"; done
}

# subscribe FILE WAITER,... [SCRIPT ARG...]: one connection for all of them.
subscribe() {
	local name=$1
	shift
	python3 "$BATS_TEST_DIRNAME/subscriber.py" "$T/1.sock" "$key" "$(queue_of)" "$@" >> "$T/$name" 3>&- &
	PID_OF[$name]=$!
	also_end $!
	eventually grep -qx ready "$T/$name"
}

# waits WAITER...: each subscribes and joins, one after the other.
waits() {
	local name
	for name; do
		subscribes "$name"
		joins f "$name"
		TICKET[$name]=${item[t]}
	done
	# The test may take longer than QUEUE_MS.
	node 1 persist "redlock:queue:$(queue_of)" > "$T/persisted"
}

# dies WAITER...: their connections are closed.
dies() {
	local name
	for name; do
		kill -KILL "${PID_OF[$name]}"
		eventually has_no_subscriber "$name"
	done
}

has_no_subscriber() { [ "$(node 1 pubsub numsub "redlock:wake:$(queue_of):$1" | tail -1)" = 0 ]; }

# queue: the waiters in order.
queue() { node 1 eval "return table.concat(redis.call('ZRANGE', KEYS[1], 0, -1), ' ')" 1 "redlock:queue:$(queue_of)"; }
reservation() { node 1 get "redlock:reserved:{$1}"; }

# messages WAITER: the messages that it got since the last call, in one line.
messages() {
	node 1 publish "redlock:wake:$(queue_of):$1" end > "$T/end"
	eventually grep -qx "$1 end" "$T/$1"
	sed -n "/^$1 end\$/q; s/^$1 \?//; /^ready\$/d; s/^\$/look/; p" "$T/$1" | tr '\n' ' '
	: > "$T/$1"
}

# got WAITER MESSAGE...: these, and no others.
got() {
	local name=$1 all
	shift
	all=$(messages "$name")
	[ "$all" = "$*${*:+ }" ] || { echo "$name: $all" && false; }
}

waiting_test() {
	nodes_start 1
	declare -gA PID_OF=() TICKET=() TEXT=()
	is_over
}

# is_over: the node's mark says that its quarantine was over once, so that requests may be plain (plain.lua). Without the mark, the
# parts for all requests answer, after FLUSHALL too.
is_over() {
	local run life
	run=$(node 1 info server | tr -d '\r' | sed -n 's/^run_id://p')
	life=$(node 1 info replication | tr -d '\r' | sed -n 's/^master_replid://p')
	node 1 set {redlock}:node "$run 1 9 1 1$life" > "$T/set"
}

@test "join: waiters have the order of their tickets; a waiter that returns has its place" {
	waiting_test
	node 1 set k other px 60000
	waits w1 w2 w3
	[ "$(queue)" = "w1 w2 w3" ]
	joins f w2 "${TICKET[w2]}"
	is_answer $foreign other
	[ "$(place)" = "1 3" ]
	# a wake-up takes it out of the queue
	node 1 zrem "redlock:queue:{k}" w1
	joins f w1 "${TICKET[w1]}"
	[ "$(place) ${item[t]}" = "0 3 ${TICKET[w1]}" ]
	# a ticket in the future, of a clock that was set back since
	subscribes w4 w5
	joins f w4 $((${TICKET[w3]} + 3600000000))
	joins f w5
	[ "${item[t]}" = $((${TICKET[w3]} + 3600000001)) ]
	[ "$(queue)" = "w1 w2 w3 w4 w5" ]
	# takeovers: the newest is the first, also before one with a clock that is ahead
	subscribes w6 w7 w8
	joins f w6 -1
	[ ${item[t]} -lt -1000000000000000 ]
	joins f w7 $((${item[t]} - 20000000))
	joins f w8 -1
	[ "${item[t]} $(queue)" = "$(node 1 zscore "redlock:queue:{k}" w8) w8 w7 w6 w1 w2 w3 w4 w5" ]
	[ "$(place)" = "0 8" ]
	left=$(node 1 pttl "redlock:queue:{k}")
	[[ $left -gt 0 && $left -le 60000 ]]
}

@test "join: over the waiter's own connection, after HELLO 3 and SUBSCRIBE" {
	waiting_test
	text_of join
	subscribe w1 w1 "${TEXT[join]}" "$(token a)" "0 w1 0 0 0 60000"
	is_like "$(< "$T/w1")" "reply $yes 0 * $(id a)*ready"
	[ "$(reservation k)" = "$(id a)" ]
	[ "$(queue)" = "w1" ]
	# the reply is all that it got
	got w1 "reply $(sed -n 's/^reply //p' "$T/w1")"
}

@test "plain requests: a refusal and a look tell of waiters, a look of the client's own key; a free key is no client's" {
	waiting_test
	for plain in '' yes; do
		node 1 flushall
		[ -z "$plain" ] || is_over
		node 1 set k other px 60000
		# without a waiter, and with one
		for n in 0 1; do
			[ $n = 0 ] || waits "w$plain"
			acquires a
			is_answer $foreign other
			[ "${item[p]}" = 0 ]
			# a client that obeys the queue needs to know
			acquires a f
			is_answer $foreign other
			[ "${item[waiters]} ${item[p]}" = "$n 0" ]
			looks a
			is_answer $foreign other
			[ "${item[waiters]} ${item[r]} ${item[p]}" = "$n $n 0" ]
			undoes a
			is_answer $foreign other
			node 1 set k "$(token a)" px 60000
			looks a
			is_answer $foreign "$(token a)"
			[ "${item[waiters]} ${item[p]}" = "$n 1" ]
			node 1 set k other px 60000
		done
		node 1 set 'redlock:fence:{k}' 17
		looks a
		[ "${item[f]}" = 17 ]
		dies "w$plain"
		node 1 del k 'redlock:fence:{k}' 'redlock:queue:{k}'
		run_script look k '' "0 0 0  1   "
		is_answer $gone ''
		[ "${item[p]} ${item[l]}" = "0 0" ]
		# slots of the key are held
		node 1 set 'k#1' other px 60000
		node 1 set 'redlock:limit:{k}' 3 px 60000
		run_script look k '' "0 0 0  1   "
		[ "${item[l]}" = 3 ]
	done
}

@test "plain requests: the release by its id sees waiters, here and at another node; one of a quiet lock deletes the key alone" {
	waiting_test
	releases() { run_script hand_off k "$(id a)" " 0 ${1-0}   0 0 60000   "; }
	acquires a
	releases
	is_answer $yes
	[ "${item[ms]} $(node 1 exists k 'redlock:reserved:{k}')" = "0 0" ]
	releases
	is_answer $gone
	# a waiter at another node; a node with a wrong clock reserves no key
	for wall in "$(date +%s)000" 1795921438000 ''; do
		acquires a
		run_script hand_off k "$(id a)" " 0 1   $wall 60000 50000   "
		is_answer $yes
		left=$(node 1 pttl 'redlock:reserved:{k}')
		if [ "$wall" = 1795921438000 ]; then
			[ "$left" = -2 ]
		else
			[ "$(reservation k)" = "$(id a)" ]
			[[ $left -gt 40000 && $left -le 50000 ]]
		fi
		node 1 del 'redlock:reserved:{k}'
	done
	# waiters here: the next one moves up, and is told
	for far in 0 1; do
		acquires a
		waits "w1$far" "w2$far" "w3$far" "w4$far"
		releases $far
		is_answer $yes
		[ "$(node 1 exists k) $(reservation k)" = "0 $(id a)" ]
		[ "$(queue)" = "w2$far w3$far w4$far" ]
		got "w1$far" "$(id a)"
		got "w2$far"
		got "w3$far" look
		got "w4$far"
		# a dead one is passed over
		node 1 del 'redlock:reserved:{k}'
		dies "w2$far"
		acquires a
		releases $far
		is_answer $yes
		[ "$(queue)" = "w4$far" ]
		got "w3$far" "$(id a)"
		dies "w1$far" "w3$far" "w4$far"
		node 1 del 'redlock:reserved:{k}' 'redlock:queue:{k}'
	done
	# the client itself is in the queue, a waiter would be a reader
	acquires a
	waits w5 w6
	run_script hand_off k "$(id a)" " 0 0   0 0 60000 w5  "
	is_answer $yes
	[ "$(queue)" = '' ]
	got w5
	got w6 "$(id a)"
	dies w5 w6
	node 1 del 'redlock:reserved:{k}'
	acquires a
	waits r1 r2 w7
	releases
	is_answer $yes
	[ "$(queue)" = w7 ]
	got r1 "$(id a)"
	got r2 "$(id a)"
	# 'redlock release' asks how long the key would have lasted
	node 1 del 'redlock:reserved:{k}' 'redlock:queue:{k}'
	acquires a
	run_script hand_off k "$(id a)" "t 0 0   0 0 60000   "
	is_answer $yes
	[ "${item[ms]}" -gt 590000 ]
}

@test "plain requests: an empty value is another program's, as any other value" {
	waiting_test
	for mark in '' yes; do
		node 1 flushall
		[ -z "$mark" ] || is_over
		for n in 1 2 3 4 5 6; do
			node 1 set k '' px 60000 > "$T/set"
			case $n in
			1) acquires a && is_answer $foreign '' ;;
			2) looks a && is_answer $foreign '' ;;
			3) undoes a && is_answer $foreign '' ;;
			4) run_script hand_off k "$(id a)" " 0 0   0 0 60000   " && is_answer $foreign '' ;;
			5) run_script extend k "$(id a)" " 0 600000 " && is_answer $foreign '' ;;
			6) run_script acquire k "$(token a)" " 0  600000 0 0 60000 1   " && is_answer $foreign '' ;;
			esac
			[ "$(node 1 exists k) $(node 1 get k)" = "1 " ]
			left=$(node 1 pttl k)
			[[ $left -gt 50000 && $left -le 60000 ]]
		done
	done
}

@test "plain requests: a replica answers none, though it has its master's mark and history" {
	waiting_test
	text_of acquire
	history=$(printf '%040d' 3)
	node 1 set {redlock}:node "$(printf '%040d' 1) 1 9 1 1$history" > "$T/set"
	for role in slave active-replica master; do
		node 1 del k > "$T/set"
		answer=$(node 1 eval "local function fake(c, ...)
			if c == 'INFO' then return '# Replication\r\nrole:$role\r\nconnected_slaves:0\r\nmaster_replid:$history\r\n' end
			return redis.pcall(c, ...)
		end ${TEXT[acquire]/redis.pcall/fake}" 1 k "$(token a)" " 0 $(date +%s)000 60000 60000 0 1000 1 w1  ")
		if [ $role = master ]; then
			[ "$answer" = "$yes 60000 0 i0000000000000000" ] || { echo "$answer"; false; }
		else
			[[ $answer != *" i0000000000000000" ]]
		fi
	done
}

@test "plain requests: a woken waiter takes the key that is reserved for it, and no other client; it leaves the queue" {
	waiting_test
	waits w1 w2 w3
	node 1 set 'redlock:reserved:{k}' "$(id a)" px 60000
	acquires b '' "$(id c)" w1
	is_answer $reserved
	acquires b
	is_answer $reserved
	[ "$(node 1 exists k)" = 0 ]
	# (of a client that runs within two locks)
	acquires b '' "$(id c)$(id a)" w1 "$(id x) $(id y)"
	is_answer $yes
	[ "$(node 1 get k)" = "$(token b)" ]
	[ "$(reservation k)" = "" ]
	[ "${item[waiters]}" = 1 ]
	[ "$(queue)" = "w2 w3" ]
	got w2
	got w3 look
	# a waiter that was woken is in no queue; others may be
	for left in 1 0; do
		node 1 del k
		node 1 zrem 'redlock:queue:{k}' w2
		[ $left = 1 ] || node 1 zrem 'redlock:queue:{k}' w3
		node 1 set 'redlock:reserved:{k}' "$(id b)" px 60000
		acquires d '' "$(id b)" w2 "$(id x) $(id y)"
		is_answer $yes
		[ "$(node 1 get k)" = "$(token d)" ]
		[ "$(reservation k)" = "" ]
		[ "${item[waiters]}" = $left ]
	done
}

@test "plain requests: a newcomer is refused where the key is reserved for a waiter, as by the parts for all requests" {
	waiting_test
	# refused: the reply, without the time that is left
	refused() {
		acquires b '' "$(id c)" "${1-}"
		is_answer $reserved ''
		left=${item[ms]}
		echo "${item[waiters]} ${item[i]:0:16} ${item[p]} ${item[u]} ${item[f]}" >> "$T/refusals$plain"
	}
	# (the names of waiters are hexadecimal)
	for plain in '' a; do
		node 1 flushall
		[ -z "$plain" ] || is_over
		node 1 set 'redlock:reserved:{k}' "$(id a)" px 60000
		refused
		refused wf$plain
		((left > 50000 && left <= 60000))
		waits w1$plain w2$plain
		refused
		refused w2$plain
		# a waiter that is in the queue, and was woken, leaves it
		acquires b '' "$(id a)" w1$plain
		is_answer $yes
		[ "$(queue)" = "w2$plain" ]
		node 1 del k
		# no script wrote these reservations: they go
		for ttl in '' 'px 7200000'; do
			node 1 set 'redlock:reserved:{k}' "$(id a)" $ttl
			acquires b '' '' wf$plain
			is_answer $yes
			[ "$(reservation k)" = "" ]
			node 1 del k
		done
		dies w1$plain w2$plain
		node 1 del 'redlock:queue:{k}'
	done
	diff "$T/refusals" "$T/refusalsa"
}

@test "hand-off: the first waiter is woken, with one message, and the next ones move up" {
	waiting_test
	acquires a
	waits w1 w2 w3 w4
	hands_off a
	is_answer $yes
	got w1 "$(id a)"
	got w2
	got w3 look
	got w4
	[ "$(reservation k)" = "$(id a)" ]
	[ "$(queue)" = "w2 w3 w4" ]
	# repeated: it wakes no other waiter
	hands_off a
	is_answer $gone
	got w2
	# others are refused; the woken waiter is not
	acquires b
	is_answer $reserved
	looks b
	is_answer $reserved
	acquires c f "$(id a)" w1
	is_answer $yes
	[ "$(node 1 get k)" = "$(token c)" ]
	[ "$(reservation k)" = "" ]
	# the reply says that others wait, until none does
	[ "${item[waiters]}" = 1 ]
	hands_off c
	got w2 "$(id c)"
	acquires d f "$(id c)" w2
	hands_off d
	acquires e f "$(id d)" w3
	hands_off e
	acquires f f "$(id e)" w4
	is_answer $yes
	[ "${item[waiters]}" = 0 ]
}

@test "hand-off: a dead waiter is skipped; without a living one, no key is reserved" {
	waiting_test
	acquires a
	waits w1 w2 w3 w4 w5
	dies w1 w2
	hands_off a
	got w3 "$(id a)"
	got w4 look
	got w5 look
	[ "$(queue)" = "w4 w5" ]
	acquires b '' "$(id a)" w3
	dies w4 w5
	hands_off b
	[ "$(reservation k)" = "" ]
	[ "$(node 1 keys '*' | grep -v node)" = "" ]
	acquires c
	is_answer $yes
	# unless a waiter is at another node
	hands_off c '' '' '' 1
	[ "$(reservation k)" = "$(id c)" ]
}

@test "join: a free key goes to the first waiter that asks, or wakes the first one that lives" {
	waiting_test
	acquires a
	waits w1 w2 w3
	node 1 del k
	joins b w3 "${TICKET[w3]}"
	is_answer $reserved
	[ "$(place)" = "1 2" ]
	got w1 "$(id b)"
	[ "$(reservation k)" = "$(id b)" ]
	# it does not come; the next one that asks gets the key
	node 1 del "redlock:reserved:{k}"
	joins c w2 "${TICKET[w2]}"
	is_answer $yes "$(id c)"
	[ "$(reservation k)" = "$(id c)" ]
	# it keeps its place until it has the lock
	[ "$(queue)" = "w2 w3" ]
	got w2
	acquires c f "$(id c)" w2
	is_answer $yes
	[ "$(queue)" = "w3" ]
	dies w3
	joins d w4
	is_answer $foreign "$(token c)"
}

@test "join: the queue is lost: the others are told to join again" {
	waiting_test
	acquires a
	waits w1 w2 w3
	node 1 flushall
	acquires a
	joins f w2 "${TICKET[w2]}"
	got w1 queue
	joins f w3 "${TICKET[w3]}"
	got w3 queue
	joins f w1 "${TICKET[w1]}"
	[ "$(queue)" = "w1 w2 w3" ]
	got w1
	got w2 queue
	# or by a hand-off that finds neither its key nor a waiter
	node 1 del k "redlock:queue:{k}"
	hands_off a
	got w1 queue
	got w2 queue
	# slots have a queue of their own
	key=k#1 slots=3
	acquires a
	node 1 mset 'k#2' other 'k#3' other
	waits w4 w5
	node 1 del "redlock:queue:{k}:3"
	joins f w5 "${TICKET[w5]}"
	got w4 queue
}

@test "acquire: a fair newcomer is refused and the first waiter woken; others are not; dead ones do not count" {
	waiting_test
	acquires a
	waits w1 w2
	node 1 del k
	looks b f
	is_answer $reserved
	looks b
	is_answer $gone
	# the waiters themselves
	looks b f '' w1
	is_answer $gone
	looks b f '' w2
	is_answer $reserved
	got w1
	acquires b f
	is_answer $reserved
	got w1 "$(id b)"
	[ "$(node 1 exists k)" = 0 ]
	[ "$(reservation k)" = "$(id b)" ]
	# a second one wakes no other; without --fair it is refused, too
	acquires c f
	is_answer $reserved
	acquires c
	is_answer $reserved
	got w2
	# the reservation is void
	acquires c o
	is_answer $yes
	[ "$(reservation k)" = "" ]
	node 1 del k
	acquires d
	is_answer $yes
	node 1 del k
	dies w1 w2
	looks e f
	is_answer $gone
	acquires e f
	is_answer $yes
	[ "$(node 1 exists "redlock:queue:{k}")" = 0 ]
}

@test "acquire: the first waiter that asks by itself leaves the queue" {
	waiting_test
	acquires a
	waits w1 w2 w3
	node 1 del k
	acquires b f '' w1
	is_answer $yes
	[ "$(queue)" = "w2 w3" ]
	got w1
	got w2
	got w3 look
}

@test "readers: woken in one batch; each that joins wakes the next ones; a writer stays at its place" {
	waiting_test
	acquires a
	mapfile -t names < <(printf 'r%d\n' {10..44})
	subscribe crowd "$(IFS=, && echo "${names[*]}")"
	for i in "${!names[@]}"; do echo "zadd redlock:queue:{k} $((i + 1)) ${names[i]}"; done | node 1 > "$T/added"
	waits w1 r9
	hands_off a
	# READERS_AT_ONCE
	[ "$(queue)" = "r42 r43 r44 w1 r9" ]
	acquires b sf "$(id a)" r10
	is_answer $yes
	[ "$(queue)" = "w1 r9" ]
	node 1 publish "redlock:wake:{k}:r10" end
	eventually grep -qx "r10 end" "$T/crowd"
	for name in "${names[@]:0:32}"; do grep -qx "$name $(id a)" "$T/crowd"; done
	for name in "${names[@]:32}"; do grep -qx "$name $(id b)" "$T/crowd"; done
	[ "$(grep -c '^r[0-9]* 1' "$T/crowd")" = 0 ] || true
	# the others join, each by the id that woke it
	acquires c sf "$(id b)" r42
	is_answer $yes
	# a newcomer does not pass the writer
	looks d sf
	is_answer $reserved
	acquires d sf
	is_answer $reserved
	acquires d sf '' r9
	is_answer $reserved
	# it runs within one of the readers
	acquires d sf '' '' "$(id c)"
	is_answer $yes
	hands_off d
	# all of them leave
	hands_off b
	got w1 look
	[ "$(node 1 exists k)" = 1 ]
	hands_off c
	got w1 "$(id c)"
	[ "$(reservation k)" = "$(id c)" ]
	got r9 look
	# a batch ends before the next writer
	acquires e '' "$(id c)" w1
	waits w2 r8
	hands_off e
	got r9 "$(id e)"
	[ "$(queue)" = "w2 r8" ]
}

@test "readers: a newcomer passes a dead writer, and wakes the readers after it" {
	waiting_test
	acquires a s
	waits w1 r1 w2
	joins f w1 "${TICKET[w1]}"
	is_answer $foreign
	joins f r1 "${TICKET[r1]}"
	is_answer $reserved
	acquires b sf
	is_answer $reserved
	dies w1
	# the first one is a reader now
	acquires b sf
	is_answer $reserved
	got r1 "$(id b)"
	acquires b sf "$(id b)" r1
	is_answer $yes
	dies w2
	acquires c sf
	is_answer $yes
	[ "$(node 1 exists "redlock:queue:{k}")" = 0 ]
}

@test "readers: a reader that is first joins, or is woken by any look; a writer that finds readers returns" {
	waiting_test
	acquires a s
	waits w1 r1
	# the writer was woken elsewhere, and gives up
	hands_off b l '' w1
	got r1 "$(id b)"
	joins f w1 "${TICKET[w1]}"
	is_answer $foreign
	subscribes r2
	joins c r2 1
	is_answer $yes "$(id c)"
	[ "$(queue)" = "r2 w1" ]
	[ "$(reservation k)" = "" ]
	acquires c sf "$(id c)" r2
	is_answer $yes
	[ "$(queue)" = "w1" ]
	subscribes r3
	node 1 zadd "redlock:queue:{k}" 1 r3
	joins d w1 "${TICKET[w1]}"
	is_answer $foreign
	got r3 "$(id d)"
	# readers that are next to each other: both join, though one asks
	subscribes r4 r5
	node 1 zadd "redlock:queue:{k}" 1 r4 2 r5
	acquires e sf '' r5
	is_answer $yes
	got r4 "$(id e)"
	got r5
	[ "$(queue)" = "w1" ]
}

@test "semaphore: each slot that is free wakes a waiter, with its number" {
	waiting_test
	key=k#2 slots=3
	for slot in 1 2 3; do node 1 set "k#$slot" x px $((slot * 1000000)); done
	waits w1 w2 w3
	[ "$(place)" = "2 3" ]
	joins f w3 "${TICKET[w3]}"
	is_answer $foreign x
	[[ ${item[o]} = 0 && ${item[e]} -le 1000000 ]]
	node 1 del k#1 k#3
	joins a w3 "${TICKET[w3]}"
	is_answer $foreign x
	got w1 "$(id a)#1"
	got w2 "$(id a)#3"
	[ "$(place)" = "0 1" ]
	[ "$(reservation k#1) $(reservation k#2) $(reservation k#3)" = "$(id a)  $(id a)" ]
	# all slots of others are reserved; the own slot is named
	acquires b f
	is_answer $foreign x
	[ "${item[o]}" = 0 ]
	acquires b f "$(id a)" w2
	is_answer $foreign x
	[ "${item[o]}" = 3 ]
	# a free slot that is the asking client's own
	node 1 del k#2
	joins c w3 "${TICKET[w3]}"
	is_answer $yes "$(id c)"
	[ "${item[o]}" = 2 ]
	# a slot is handed off
	acquires d f "$(id c)" w3
	is_answer $yes
	waits w4
	hands_off d
	got w4 queue "$(id d)#2"
	[ "$(reservation k#2)" = "$(id d)" ]
	# its reservation is of no use
	waits w5
	hands_off e l "$(id d)" w4
	got w5 queue "$(id d)#2"
}

# with_limit LIMIT COMMAND...
with_limit() {
	local slots=$1
	shift
	"$@"
}
record() { node 1 get redlock:limit:{k}; }
record_lasts() { [ "$(node 1 pttl redlock:limit:{k})" -gt "$1" ]; }

@test "semaphore: while slots are held with another limit, a client gets none" {
	waiting_test
	key=k#2 slots=3
	acquires a
	is_answer $yes
	[ "$(record)" = 3 ]
	# the first slot that is held is named, whichever the client wants, and no slot that is free
	key=k#1
	with_limit 2 acquires b
	is_answer $foreign "$(token a)"
	[ "${item[l]} ${item[o]} ${item[p]}" = "3 0 0" ]
	[[ ${item[ms]} -gt 500000 && ${item[e]} = "${item[ms]}" ]]
	with_limit 2 looks b
	is_answer $foreign "$(token a)"
	[ "${item[l]}" = 3 ]
	# a client without a limit is told, and so is one that looks at the key itself
	with_limit '' looks b
	is_answer $gone
	[ "${item[l]}" = 3 ]
	key=k with_limit 1 looks b
	is_answer $gone
	[ "${item[l]}" = 3 ]
	# the own limit; a lock of its own
	acquires b
	is_answer $yes
	[ "${item[l]}" = 0 ]
	key=k with_limit 1 acquires c
	is_answer $yes
	[ "$(node 1 mget k k#1 k#2 | tr '\n' ' ')" = "$(token c) $(token b) $(token a) " ]
}

@test "semaphore: each limit has a queue of its own; a join that finds another limit wakes no waiter" {
	waiting_test
	key=k#1 slots=2
	acquires a
	waits w1
	key=k#3 slots=3
	waits w2
	joins f w2 "${TICKET[w2]}"
	is_answer $foreign "$(token a)"
	[ "${item[l]} ${item[r]} ${item[o]}" = "2 0 0" ]
	[ "$(queue) $(slots=2 queue)" = "w2 w1" ]
	# the hand-off wakes the waiter of its own limit
	key=k#1 slots=2
	hands_off a
	got w1 "$(id a)#1"
	key=k#3 slots=3
	got w2
	# no slot is held any more: the first waiter gets the one that is not reserved
	joins f w2 "${TICKET[w2]}"
	is_answer $yes "$(id f)"
	[ "${item[o]} ${item[l]}" = "3 0" ]
	acquires b f "$(id f)" w2
	is_answer $yes
	[ "$(record)" = 3 ]
	key=k#1 slots=2
	acquires c f "$(id a)" w1
	is_answer $foreign "$(token b)"
	# the client of a hand-off may not know the limit
	joins g w1
	key=k#3
	with_limit 3 waits w3
	slots=''
	hands_off b
	slots=3
	got w3 queue "$(id b)#3"
}

@test "semaphore: the record of the limit lasts as long as the slots" {
	nodes_start 1
	key=k#1 slots=3
	acquires a
	record_lasts 590000
	node 1 pexpire redlock:limit:{k} 1000 > "$T/set"
	run_script extend "$key" "$(token a)" ' 3 700000 '
	is_answer $yes
	record_lasts 690000
	# not shortened
	run_script extend "$key" "$(token a)" ' 3 1000 '
	record_lasts 690000
	run_script expire "$key" "$(token a)" '3 900000'
	is_answer $yes
	record_lasts 890000
	key=k#2
	acquires b
	record_lasts 890000
	# missing: written anew, if the client knows the limit
	node 1 del redlock:limit:{k} > "$T/set"
	run_script extend "$key" "$(token b)" ' ? 700000 '
	is_answer $yes
	[ -z "$(record)" ]
	run_script extend "$key" "$(token b)" ' 3 700000 '
	[ "$(record)" = 3 ]
	record_lasts 690000
	# a client that holds the slot keeps it, whatever the record says
	node 1 set redlock:limit:{k} 2 > "$T/set"
	acquires b
	is_answer $yes
	record_lasts 590000
	[ "$(record)" = 2 ]
	# a record without a slot is out of date, and so is one that is none
	for n in 2 1 0 -5 1001 99999999999 x 1e3 nan inf ''; do
		node 1 del k#1 k#2 > "$T/set"
		node 1 set redlock:limit:{k} "$n" px 5000000 > "$T/set"
		key=k#3
		[ "$n" != 1e3 ] || key=k#2
		acquires c
		is_answer $yes
		[ "$(record)" = 3 ]
		node 1 del k#2 k#3 > "$T/set"
	done
	node 1 del redlock:limit:{k} > "$T/set"
	node 1 rpush redlock:limit:{k} x > "$T/set"
	acquires c
	is_answer $yes
}

@test "hand-off: the key of another client is reserved for that client to pass on" {
	waiting_test
	acquires a
	waits w1
	hands_off b
	is_answer $foreign "$(token a)"
	[ "$(reservation k)" = "$(id b)" ]
	got w1
	undoes a
	is_answer $yes
	got w1 "$(id b)"
	[ "$(reservation k)" = "$(id b)" ]
	# no waiter is known: nothing is left
	node 1 flushall
	acquires a
	hands_off b
	is_answer $foreign "$(token a)"
	[ "$(reservation k)" = "" ]
	# an undo without a reservation wakes no waiter. The new queue may have been lost: its waiters are told
	waits w2
	undoes a
	got w1 queue
	got w2 queue
	# a client that gives up does not replace the reservation of a holder, but passes on its own
	node 1 set "redlock:reserved:{k}" "$(id c)" px 5000
	hands_off d g
	[ "$(reservation k)" = "$(id c)" ]
	got w2
	acquires d '' "$(id c)"
	node 1 set "redlock:reserved:{k}" "$(id c)" px 5000
	hands_off d g
	[ "$(reservation k)" = "$(id c)" ]
	got w2 "$(id c)"
}

@test "hand-off: beside another program's key the first waiter is woken: that program wakes no waiter" {
	waiting_test
	node 1 set k "another program's value" px 60000
	waits w1 w2
	hands_off c
	is_answer $foreign "another program's value"
	[ "$(reservation k)" = "$(id c)" ]
	got w1 "$(id c)"
	[ "$(queue)" = w2 ]
	# so does a client that leaves: it got the lock from the other nodes, and its reservation is in no use
	hands_off d l "$(id c)" w1
	is_answer $foreign "another program's value"
	got w2 "$(id c)"
	[ "$(reservation k)" = "$(id c)" ]
	[ "$(queue)" = "" ]
	# the reservation of another client stays that client's
	waits w3
	got w3 queue
	hands_off d l '' w1
	got w3
	[ "$(queue)" = w3 ]
}

@test "delete: the keys of a token, held or revoked, and no other one's" {
	waiting_test
	embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/delete.lua" > "$T/delete"
	local nines=9999999999999 secret=0123456789abcdef0123456789
	local other=${secret/0/1}
	# deletes START SECRET: of two keys, if they have this value
	deletes() {
		node 1 mset a "$1$2:x" b "$1$2" > "$T/set"
		node 1 eval "$(cat "$T/delete")" 3 a b missing $secret > "$T/reply"
		[ "$(node 1 exists a b)" = 0 ]
	}
	deletes ${nines}a $secret
	deletes ${nines}c $secret
	not deletes ${nines}a $other
	not deletes ${nines}c $other
	not deletes 1 $secret
}

@test "hand-off: a client that leaves passes on its reservation, and deletes no key" {
	waiting_test
	acquires a
	waits w1 w2 w3 w4
	hands_off a
	got w1 "$(id a)"
	hands_off b l "$(id a)" w1
	got w2 "$(id a)"
	[ "$(reservation k)" = "$(id a)" ]
	# a reservation of another client stays
	hands_off c l '' w4
	[ "$(reservation k)" = "$(id a)" ]
	[ "$(queue)" = "w3" ]
	hands_off b l "$(id a)" w2
	hands_off b l "$(id a)" w3
	[ "$(reservation k)" = "" ]
	[ "$(queue)" = "" ]
	acquires e
	hands_off e l '' w1
	[ "$(node 1 get k)" = "$(token e)" ]
}

@test "several keys: each has its queue; a client leaves those of all keys that it takes" {
	waiting_test
	acquires a
	waits w1 w2
	key=l
	acquires a
	waits w3
	key=k,l
	hands_off a
	key=k
	got w1 "$(id a)"
	key=l
	got w3 "$(id a)"
	[ "$(reservation k) $(reservation l)" = "$(id a) $(id a)" ]
	key=k,l
	acquires b f "$(id a)" w1
	is_answer $yes
	[ "${item[waiters]}" = 1 ]
	[ "$(reservation k)$(reservation l)" = "" ]
	# for the first key only
	node 1 set "redlock:reserved:{l}" "$(id c)" px 5000
	node 1 del k l
	acquires d f "$(id b)" w2
	is_answer $reserved
	[ "${item[k]}" = 2 ]
	[ "$(node 1 exists k l)" = 0 ]
}

@test "waiting: without the rights to the queue, a lock is taken and released, and a waiter learns that it has none" {
	waiting_test
	for rule in "resetkeys ~k" "-publish" "-pubsub|numsub" "-zadd -zrange -zrem -zrank" resetchannels; do
		node 1 acl setuser default reset on nopass allkeys allchannels +@all
		node 1 flushall
		node 1 set k other px 60000
		waits w1
		# shellcheck disable=SC2086
		node 1 acl setuser default $rule
		run_script join k "$(token b)" "0 w2 0 0 0 5000"
		[ "$rule" = "-publish" ] || [ "$rule" = "-pubsub|numsub" ] || [ "$rule" = resetchannels ] ||
			is_denied "${item[code]}"
		node 1 acl setuser default allkeys
		node 1 del k
		# shellcheck disable=SC2086
		node 1 acl setuser default $rule
		acquires a f '' w1
		is_answer $yes
		hands_off a '' '' w1
		is_answer $yes
		[ "$(node 1 exists k)" = 0 ]
		# a server may disconnect a subscriber without rights to its channels
		kill -KILL "${PID_OF[w1]}" 2> "$T/kill" || is_gone "${PID_OF[w1]}"
	done
}

@test "waiting: a key of another type in place of the queue, or a waiter that is not subscribed, stops no client" {
	waiting_test
	node 1 set "redlock:queue:{k}" 1
	acquires a f '' w1
	is_answer $yes
	joins b w1
	is_like "${item[code]}" "*WRONGTYPE*"
	hands_off a '' '' w1
	is_answer $yes
	[ "$(node 1 exists k)" = 0 ]
	node 1 del "redlock:queue:{k}"
	acquires a
	joins b w1
	is_answer $foreign "$(token a)"
	[ "$(place)" = "0 0" ]
	waits w2
	[ "$(place)" = "0 1" ]
}

@test "waiting: a node with a wrong clock wakes waiters, but reserves nothing" {
	waiting_test
	acquires a
	waits w1
	run_script hand_off k "$(token a)" " 0 1   1 1000 5000   "
	is_answer $yes
	got w1 "$(id a)"
	[ "$(reservation k)" = "" ]
	# it was woken: it is not refused, though another one is first
	waits w2
	acquires b f
	is_answer $reserved
	node 1 del "redlock:reserved:{k}"
	acquires b f "$(id a)" w1
	is_answer $yes
}

@test "waiting: a hand-off needs two messages and the same time with ten waiters and with 4096" {
	waiting_test
	for count in 10 4096; do
		node 1 flushall
		mapfile -t names < <(printf 'w%05d\n' $(seq "$count"))
		names=$(IFS=, && echo "${names[*]}")
		subscribe "crowd$count" "$names"
		acquires a
		node 1 eval "for i = 1, $count do redis.call('ZADD', 'redlock:queue:{k}', i, string.format('w%05d', i)) end" 0
		node 1 config resetstat
		hands_off a
		is_answer $yes
		node 1 info commandstats | grep -v config > "$T/calls$count"
		node 1 publish "redlock:wake:{k}:w00001" end
		eventually grep -qx "w00001 end" "$T/crowd$count"
		[ "$(tr '\n' ' ' < "$T/crowd$count")" = "ready w00001 $(id a) w00003  w00001 end " ]
	done
	calls() { sed 's/,usec.*//' "$1"; }
	cmp <(calls "$T/calls10") <(calls "$T/calls4096")
}
