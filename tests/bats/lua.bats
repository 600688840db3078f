# The scripts that run on nodes: scripts/embed-lua, which joins and shortens them, and their parts, one by one, on a
# real server. sim.bats compares the replies of whole scripts with the simulator's node.

load nodes

# The sources of this build: of a mutant, those next to its build folder.
ROOT=$REDLOCK_BUILD/..
[ -d "$ROOT/src/proto/lua" ] || ROOT=$BATS_TEST_DIRNAME/../..
HEADERS=("$ROOT/src/base/token.h" "$ROOT/src/lock/policy.h" "$ROOT/src/proto/request.h" "$ROOT/src/proto/reply.h")

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
		"	return text .. '..name -- no comment' .. text .. \"it's\" .. 'a \\'\\\\' -- gone" "end" "return twice(name)")
	[ "$got" = "local a=ARGV[1]local function b(a)return a..'..name -- no comment'..a..\"it's\"..'a \\'\\\\'end return b(a)" ] ||
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
	[ "$(embed --lua "$T/numbers.h" "$T/script.lua")" = "return{1,90000000,'99ff99',ARGV[1]}" ]
	script "return CALL"
	run -1 embed --lua "$T/numbers.h" "$T/script.lua"
	is_like "$output" "*: CALL is not defined as a number or a string"
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
	# arguments_of SCRIPT: those after the token; the script has its names in its first line.
	arguments_of() {
		case $1 in
		acquire) arguments=(600000 '' '' 1000 1 0 0 1 '') ;;
		extend) arguments=(600000 '' 1) ;;
		undo) arguments=(1000 0 0 1) ;;
		hand_off) arguments=(1000 '' '' 0 0 0 1) ;;
		expire) arguments=(600000 1) ;;
		fence_number) arguments=(7) ;;
		look) arguments=(0 '' '' 1 0 0 1 '') ;;
		esac
	}
	for name in extend undo hand_off expire fence_number look; do
		script=$(embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/$name.lua")
		arguments_of $name
		for value in "$other me" "${mine}1 me" "${mine%?}" ''; do
			node 1 set k "$value" px 60000 > "$T/set"
			[ -n "$value" ] || node 1 del k > "$T/set"
			run node 1 eval "$script" 1 k "$mine me" "${arguments[@]}"
			[ "$status" -eq 0 ]
			[ "$(node 1 get k)" = "$value" ]
			left=$(node 1 pttl k)
			[ -z "$value" ] || [[ $left -gt 50000 && $left -le 60000 ]]
		done
	done
	script=$(embed --lua "${HEADERS[@]}" "$ROOT/src/proto/lua/acquire.lua")
	arguments_of acquire
	node 1 set k "$other me" px 60000
	run node 1 eval "$script" 1 k "$mine me" "${arguments[@]}"
	[ "$(node 1 get k)" = "$other me" ]
	[ "$(node 1 pttl k)" -le 60000 ]
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
		"return {foreign or 0, gone or 0, reply[REPLY_PARTIAL], value[1] or '', beside('x', KEYS[1])}"
	answers_with "0 1 0  redlock:x:{k}" k $id '' ''
	node 1 set k "$id:1 me"
	answers_with "0 0 1 $id:1 me redlock:x:{k}" k "$id:1 me" '' ''
	answers_with "0 0 1 $id:1 me redlock:x:{k}" k $id '' ''
	answers_with "1 0 0 $id:1 me redlock:x:{k}" k "${id%1}" '' ''
	node 1 rpush list x
	answers_with "2 0 1 $id:1 me redlock:x:{k}" k,list $id '' ''
	answers_with "1 2 0 (list) redlock:x:{list}" list,none "(list)" '' ''
}

@test "shared: readers are added, named and removed; a client that may not read the set sees a holder" {
	nodes_start 1
	a=1111111111111111111111111111111111111111:1000000002 b=2222222222222222222222222222222222222222:1000000001
	readers=9999999999999fffffffffffffffffffffffffff
	with_parts "token, flags, held_ids, action" view -- "local err = read_keys()" "if err then" "	return err" "end" \
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
	is_like "$output" "*can't run this command*"
	node 1 acl setuser default +zrangebyscore
	answers_with "$a a $readers:1000000001 reader b" k "$a a" '' '' remove
	answers_with "$b b" k "$b b" '' '' remove
	[ "$(node 1 exists k "redlock:readers:{k}")" = 0 ]
}

@test "queue: a reservation wakes the first waiter, and a promoted writer before that one" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	with_parts "token, flags, held_ids, quarantine, wall, slots" view queue -- "reserve(1, 5000, true)" "settle(1)" \
		"return {reservation(1), is_unclaimed(1) and 1 or 0}"
	answers_with "$id 1" k "$id:1 me" '' '' 0 0 1
	[ "$(node 1 lrange "$(keys_like wake)" 0 -1)" = $id ]
	# a second one replaces the first
	answers_with "$id 1" k "$id:1 me" '' '' 0 0 1
	[ "$(node 1 llen "$(keys_like wake)")" = 1 ]
	# a wake-up that this script has moved to the queue: whether a waiter takes it shows later
	with_parts "token, flags, held_ids, quarantine, wall, slots" view queue -- "call('SET', promoted_key(1), '1')" \
		"reserve(1, 5000, true)" "local promoted = call('LLEN', promoted_wake_key(1))" "settle(1)" \
		"return {promoted, call('LLEN', promoted_wake_key(1)), call('LLEN', wake_key(1)), is_unclaimed(1) and 1 or 0}"
	answers_with "1 0 1 0" k "$id:1 me" '' '' 0 0 1
}

# keys_like WORD: the bookkeeping keys of node 1 with that word.
keys_like() { node 1 keys "redlock:*$1*"; }

@test "queue: a reservation that does not expire is removed; a wrong clock makes none" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	with_parts "token, flags, held_ids, quarantine, wall, slots" view queue -- \
		"call('SET', reserved_key(KEYS[1]), token)" \
		"return {reservation(1) or '', call('EXISTS', reserved_key(KEYS[1]))}"
	answers_with " 0" k $id '' '' 0 0 1
	with_parts "token, flags, held_ids, quarantine, wall, slots" view queue -- "reserve(1, 5000, false)" \
		"return {reservation(1) or ''}"
	answers_with "" k $id '' '' 1000 1 1
	answers_with $id k $id '' '' 0 1 1
}

@test "semaphore: a wake-up has its slot after it; slots share the queue; another slot that is free is named" {
	nodes_start 1
	id=1111111111111111111111111111111111111111
	with_parts "token, flags, held_ids, quarantine, wall, slots, woken_by" view other_slot -- "reserve(1, 5000, true)" \
		"return {slot, call('LINDEX', wake_key(1), 0), in_list('#2') and 1 or 0, in_list('#1') and 1 or 0}"
	answers_with "#2 $id#2 1 0" k#2 $id '' '' 0 0 3 ''
	with_parts "token, flags, held_ids, quarantine, wall, slots, woken_by" view other_slot -- "answer(CODE_FOREIGN, 9)" "return add_other_slot()"
	node 1 set k#3 x px 60000
	# from the own slot on; the second one is reserved, but its reservation is unclaimed
	answers_with "0 9   1 0 0 0 0 0 0 9" k 1 '' '' 0 0 1 ''
	node 1 set k#1 x
	run node 1 eval "return redis.call('DEL', unpack(redis.call('KEYS', 'redlock:*wake*')))" 0
	run node 1 eval "$(sed 's/^/local r = (function() /; s/$/ end)() return {r[11], r[12] > 9 and 1 or 0}/' "$T/short")" 1 k#3 x '' '' 0 0 3 ''
	[ "$(tr '\n' ' ' <<< "$output")" = "0 1 " ]
	# its own
	run node 1 eval "$(sed 's/^/local r = (function() /; s/$/ end)() return {r[11], r[12]}/' "$T/short")" 1 k#3 x '' '' 0 0 3 $id
	[ "$(tr '\n' ' ' <<< "$output")" = "2 0 " ]
}

@test "fence: the client's time, a number above all counters; a counter that is none is named" {
	nodes_start 1
	with_parts "quarantine, wall" keys fence -- "return {string.format('%.0f', raise() or -1), broken or ''}"
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
}

@test "restart guard: a node without a mark has no vote; a client's clock that is off has none anywhere" {
	nodes_start 1
	id=$(node 1 info server | tr -d '\r' | sed -n 's/^run_id://p')
	node 1 flushall
	with_parts "quarantine, wall" restart_guard -- "local no_vote = guard()" \
		"return no_vote and {no_vote[1], no_vote[3]} or {'votes', run_id}"
	now() { echo $(($(date +%s%N) / 1000)); }
	answers_with "votes $id" '' 0 0
	answers_with "4 ahead of" '' 60000 1
	[ "$(node 1 dbsize)" = 0 ]
	answers_with "3" '' 60000 "$(now)"
	answers_with "3" '' 60000 "$(now)"
	is_like "$(node 1 get {redlock}:node)" "$id * 60000 * 0"
	# 'doctor --admit' writes the id alone
	node 1 set {redlock}:node "$id"
	answers_with "votes $id" '' 60000 "$(now)"
	is_like "$(node 1 get {redlock}:node)" "$id 0 1 0 0"
}
