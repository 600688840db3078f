# Every wrong input: one clear line with the input, the fault and the reason (and a hint), the documented status, and no
# effect.

load nodes

setup() { nodes_start 1; }
teardown() { nodes_stop; }

# refused STATUS 'first line' ARG...: exactly that status and line, at most a hint below; no key is left on the node,
# and the command is never run.
refused() {
	local want=$1 line=$2
	shift 2
	run "-$want" redlock "$@"
	[ "${lines[0]}" = "$line" ] || {
		echo "got:  ${lines[0]}"
		echo "want: $line"
		return 1
	}
	[ "${#lines[@]}" -le 2 ]
	[ "${#lines[@]}" -eq 1 ] || [[ "${lines[1]}" == "hint: "* ]]
	[ ! -e "$T/never" ]
	is_empty 1
}

@test "subcommands: none, unknown, mistyped" {
	refused 64 "redlock: unknown command 'frobnicate'" frobnicate
	refused 64 "redlock: unknown command 'rnu'" rnu -k job -- touch "$T/never"
	[ "${lines[1]}" = "hint: did you mean 'run'? See 'redlock help'" ]
	refused 64 "redlock: unknown command 'versoin'" help versoin
	refused 64 "redlock: unexpected argument 'more'" version more
	refused 64 "redlock: unexpected argument 'more'" help run more
	refused 64 "redlock: unknown option '-z'" -z
	refused 64 "redlock: unknown option '--tlt'" --tlt 5s
	[ "${lines[1]}" = "hint: did you mean --ttl? See 'redlock help'" ]
	refused 64 "redlock: unknown option '--tlt'" help --tlt
	refused 64 "redlock: '-k' comes too early: a command goes first" -k job -- touch "$T/never"
	[ "${lines[1]}" = "hint: such as 'redlock run -k'; see 'redlock help'" ]
	refused 64 "redlock: unknown command ''" ''
}

@test "subcommands: each function of src/cmd has a row of the table, and each row is a subcommand" {
	local table=$BATS_TEST_DIRNAME/../../src/cli/commands.def functions names name
	functions=$(sed -nE 's/^COMMAND\(.*, (cmd_[a-z]+), .*/\1/p' "$table" | sort -u)
	[ "$functions" = "$(grep -hoE '\bcmd_[a-z]+\(' "$BATS_TEST_DIRNAME"/../../src/cmd/*.c | tr -d '(' | sort -u)" ]
	names=$(sed -nE 's/^COMMAND\([A-Z]+, "([a-z]+)", .*/\1/p' "$table")
	[ "$(wc -l <<< "$names")" = "$(grep -c '^COMMAND(' "$table")" ]
	for name in $names; do
		[[ "$(redlock help | grep "^  $name ")" ]]
		[[ "$(redlock help "$name")" == "redlock $name"* ]]
		[[ "$(redlock "$name" --help)" == *"$name"* ]]
	done
}

@test "no subcommand: all of them are listed, on stderr" {
	run -64 --separate-stderr redlock
	[ "$output" = "" ]
	[ "${stderr_lines[-1]}" = "redlock: missing subcommand" ]
	[ "${stderr%??redlock: missing subcommand*}" = "$(redlock help)" ]
	for command in run acquire extend release check wait hold status break gate doctor config help version; do
		[[ "$stderr" == *"  $command "* ]]
	done
}

@test "a wrong word: the nearest right one is named, for values and profiles too" {
	export REDLOCK_CONFIG=$T/config
	printf '[production]\n[staging]\n' > "$T/config"
	meant() {
		local hint=$1
		shift
		refused "$@"
		[ "${lines[1]}" = "hint: did you mean $hint" ]
	}
	meant "'auto'? See 'redlock help run'" 64 "redlock: --restart-guard 'atuo' is not auto, on or off" \
		run -k job --restart-guard atuo -- touch "$T/never"
	# stdout is for eval
	says 64 '*' "redlock: --format 'jsno' is not plain, env or json?hint: did you mean 'json'? See 'redlock help acquire'" \
		acquire -k job --format jsno
	meant "'kill'? See 'redlock help hold'" 64 "redlock: --on-lost 'kil' is not term, kill, warn or a signal's name" \
		hold -k job --on-lost kil
	meant "'staging'?" 78 "redlock: unknown profile 'stagign': $T/config has production, staging" \
		run -k job --profile stagign -- touch "$T/never"
	meant "--nonblock? See 'redlock help wait'" 64 "redlock: unknown option '--nonblok'" wait -k job --nonblok
	meant "'release'? See 'redlock help'" 64 "redlock: unknown command 'rel'" rel -k job
	# names in other programs
	meant "'status'? See 'redlock help'" 64 "redlock: unknown command 'list'" list
	meant "'release'? See 'redlock help'" 64 "redlock: unknown command 'unlock'" help unlock
	meant "--wait? See 'redlock help run'" 64 "redlock: unknown option '--max-wait'" run -k job --max-wait 5 -- touch "$T/never"
}

@test "help: an option without its dashes, and an exit status" {
	[ "$(redlock help ttl)" = "$(redlock help --ttl)" ]
	[ "$(redlock help wait | head -1)" = "redlock wait [options] [-k] KEY" ]
	for number in 0 1 64 69 75 76 78 79 124 125 126 127; do
		run -0 redlock help $number
		# the advice begins on a line of its own, after the meaning
		[[ "$(redlock help --all)" == *"$(sed -nE '/^ {7}(Usual|The|Doctor|redlock) /q; p' <<< "$output")"* ]]
		[[ "$output" == "  $number "* ]]
	done
	run -0 redlock help 143
	[ "${lines[0]}" = "  143  128 and a signal's number; the signal ended the command, or redlock" ]
	run -0 redlock help 192
	[ "${lines[0]}" = "  192  128 and a signal's number; the signal ended the command, or redlock" ]
	# no signal has the number 127, and -E can have any status
	for number in 3 193 255; do
		run -0 redlock help $number
		is_like "${lines[0]}" "  $number * the command's own; redlock itself ends with it only if -E names it"
	done
	refused 64 "redlock: unknown command '256'" help 256
}

# bats test_tags=not-under-qemu
@test "options after the command, and a string for the shell in place of a command" {
	refused 64 "redlock: missing key" run touch "$T/never" -k job
	[ "${lines[1]}" = "hint: options go before the command: redlock run -k KEY -- COMMAND" ]
	refused 64 "redlock: missing key" run touch "$T/never"
	[ "${lines[1]}" = "hint: name the lock with -k KEY; see 'redlock help run'" ]
	refused 127 "redlock: cannot run 'touch never | cat': command not found" run -k job 'touch never | cat'
	[ "${lines[1]}" = "hint: a string for the shell goes with -c; otherwise COMMAND and each ARG are separate arguments" ]
	refused 127 "redlock: cannot run 'NAME=...': command not found" run -k job -- NAME=1 touch "$T/never"
	[[ "${lines[1]}" == "hint: a string for the shell goes with -c; "* ]]
	refused 127 "redlock: cannot run 'touhc': command not found" run -k job -- touhc "$T/never"
	[[ "${lines[1]}" == "hint: no folder of PATH has it: "* && "${#lines[@]}" = 2 ]]
}

# bats test_tags=not-under-qemu
@test "several keys after one -k: the hint shows the right form" {
	run -127 redlock run -k a b -- touch "$T/never"
	[ "${lines[0]}" = "redlock: cannot run 'b': command not found" ]
	[ "${lines[-1]}" = "hint: only options are allowed before '--'; for several keys, repeat -k: -k KEY -k KEY" ]
	[ ! -e "$T/never" ]
}

@test "each variable without effect gets a warning and a suggestion; variables of other programs get none" {
	REDLOCK_NODE_TIMOUT=1s says 0 'done' "redlock: unknown variable REDLOCK_NODE_TIMOUT in the environment: it is ignored
hint: did you mean REDLOCK_NODE_TIMEOUT[?]" run -n -k job -- echo 'done'
	REDLOCK_NODE_TIMOUT=1s REDLOCK_TTTL=1s run -0 redlock wait -n -k job
	[[ "$output" == *"did you mean REDLOCK_TTL?"* && "$output" == *"did you mean REDLOCK_NODE_TIMEOUT?"* ]]
	REDLOCK_LIMIT=3 says 0 'done' "redlock: REDLOCK_LIMIT in the environment does not set --limit of 'run': it is ignored
hint: use --limit on the command line" run -n -k job -- echo 'done'
	REDLOCK_FENCE=yes says 0 'done' "redlock: REDLOCK_FENCE in the environment does not set --fence of 'run': it is ignored
hint: use --fence on the command line" run -n -k job -- echo 'done'
	REDLOCK_NODE_TIMOUT=1s says 0 '' '' wait -q -n -k job
	REDLOCK_APPLICATION=1 REDLOCK_ENABLED=1 says 0 '' '' wait -n -k job
	# redlock knows the variables that it sets itself
	says 0 'done' '' run -n -k job --fence -L 2 -- "$REDLOCK_BUILD/redlock" run -n -k other -- echo 'done'
	# a value is never shown
	REDLOCK_PASWORD=s3cret run -0 redlock wait -n -k job
	[[ "$output" == *"did you mean REDLOCK_PASSWORD?"* && "$output" != *s3cret* ]]
}

# bats test_tags=not-under-qemu
@test "a duration and its unit in two words" {
	refused 127 "redlock: cannot run 'm': command not found" run -k job -w 10 m
	[ "${lines[1]}" = "hint: a duration is one word, such as 30s, 10m or 1h30m" ]
	refused 127 "redlock: cannot run 'min': command not found" gate --fence 1 --store "$T/store" -w 10 min -- touch "$T/never"
	[ "${lines[1]}" = "hint: a duration is one word, such as 30s, 10m or 1h30m" ]
	refused 64 "redlock: unexpected argument 's'" acquire -k job --ttl 30 s
	[ "${lines[1]}" = "hint: a duration is one word, such as 30s, 10m or 1h30m" ]
}

# bats test_tags=not-under-qemu
@test "a missing value: the next option is not taken for it, nor is --" {
	unset empty
	refused 64 "redlock: -w needs a value: D" run -k job -w -- touch "$T/never"
	refused 64 "redlock: -k needs a value: KEY" run -k $empty -- touch "$T/never"
	[ "${lines[1]}" = "hint: if '--' is meant: --key=--" ]
	refused 64 "redlock: --fence needs a value: N" gate --fence $empty --store "$T/store" -- touch "$T/never"
	refused 64 "redlock: -t '-z' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)" run -k job -t -z -- touch "$T/never"
	# such values can be given all the same
	run -0 redlock run --key=-- -k -n -- printenv REDLOCK_KEY
	[ "$output" = "--"$'\n'"-n" ]
}

@test "options: unknown, mistyped, without a value, with a needless one" {
	refused 64 "redlock: unknown option '--frobnicate'" run -k job --frobnicate -- touch "$T/never"
	refused 64 "redlock: unknown option '--tlt'" run -k job --tlt 5s -- touch "$T/never"
	[ "${lines[1]}" = "hint: did you mean --ttl? See 'redlock help run'" ]
	refused 64 "redlock: unknown option '-z'" run -k job -nz touch "$T/never"
	refused 64 "redlock: --key needs a value: KEY" run --key
	refused 64 "redlock: -k needs a value: KEY" run -nk
	refused 64 "redlock: --quiet takes no value" run --quiet=yes -k job touch "$T/never"
	refused 64 "redlock: too many keys: 'redlock break' takes one" break -k one -k two
	[ "${lines[1]}" = "hint: see 'redlock help break'" ]
	refused 64 "redlock: unknown option '--key-'" run --key- job -- touch "$T/never"
}

@test "key: missing, empty, too long" {
	refused 64 "redlock: missing key" run -- touch "$T/never"
	refused 64 "redlock: the key is empty" run -k '' -- touch "$T/never"
	refused 64 "redlock: the key is empty" run --key= touch "$T/never"
	refused 64 "redlock: the key is too long: 4097 bytes, at most 4096 are allowed" \
		run -k "$(printf 'k%.0s' $(seq 4097))" -- touch "$T/never"
	refused 64 "redlock: the key is too long: 100000 bytes, at most 4096 are allowed" \
		run -k "$(head -c 100000 /dev/zero | tr '\0' k)" -- touch "$T/never"
	refused 64 "redlock: --owner is too long: 300 bytes, at most 177 are allowed" \
		run -k job --owner "$(head -c 300 /dev/zero | tr '\0' o)" -- touch "$T/never"
}

@test "keys: too many, redlock's own, and options that refuse several" {
	many=$(printf -- '-k key%d ' $(seq 17))
	refused 64 "redlock: too many keys: at most 16 are allowed" run $many -- touch "$T/never"
	[ "${lines[1]}" = "hint: see 'redlock help run'" ]
	refused 64 "redlock: the key 'a\\x0ab' has a newline in it: it cannot be one of several" acquire -k $'a\nb' -k c
	[ "${lines[1]}" = "hint: see 'redlock help acquire'" ]
	refused 64 "redlock: the key 'redlock:queue:{\\x1b[31m' is redlock's own" run -k $'redlock:queue:{\e[31m' -- touch "$T/never"
	[ "${lines[1]}" = "hint: it belongs to the lock whose name is in the braces: 'redlock status KEY' shows that" ]
}

@test "break takes one key, and its help says so; the same key twice is one" {
	run -0 redlock help break
	[[ "$output" == *"-k, --key KEY "*"name of the lock"* ]]
	[[ "$(COLUMNS=100 redlock help --all break | tr -s ' \n' ' ')" != *"repeat it for several"* ]]
	[[ "$(COLUMNS=100 redlock help --all run | tr -s ' \n' ' ')" == *"repeat it for several"* ]]
	says 0 '' "redlock: 'one' is free
redlock: 'one' is not held: nothing was removed" break -k one -k one
	says 0 '' "redlock: 'one' is free
redlock: 'one' is not held: nothing was removed" break one --yes
	says 64 '' "redlock: unexpected argument 'two'
hint: the command line has a key already: quote a key that has a space in it" break one two --yes
	says 64 '' "redlock: unexpected argument 'two'*" break -k one --yes two
}

@test "a key that ends with a newline is refused, one with spaces at its ends is warned of; others can show and break it" {
	for command in "run -k" "hold -k" "acquire -k" "wait -k" acquire wait; do
		[[ "$command" == run* ]] && more=(-- touch "$T/never") || more=(-n)
		refused 64 "redlock: the key 'job\\x0a' has a newline at its end" $command $'job\n' "${more[@]}"
		[ "${lines[1]}" = "hint: in YAML, write '|-' in place of '|'" ]
		refused 64 "redlock: the key 'job\\x0d' has a carriage return at its end" $command $'job\r' "${more[@]}"
	done
	refused 64 "redlock: the key 'job\\x0a' has a newline in it: it cannot be one of several" run -k a -k $'job\n' -- touch "$T/never"
	redis-cli -s "$T/1.sock" set $'job\n' other px 600000
	says 0 "'job?x0a' is held by *" '' status $'job\n'
	says 64 '' "redlock: missing token*" release $'job\n'
	says 79 '' "redlock: 'job?x0a' is no longer *" check $'job\n' --token x
	says 0 '*1.sock: removed' '*' break -fy $'job\n'
	for key in ' job' $'\njob'; do
		says 0 '' "redlock: the key '*job' has a space at its start: without it, the lock is another one" wait "$key"
		says 0 '' '' wait -q "$key"
	done
	says 0 '' "redlock: the key 'job?x09' has a space at its end: without it, the lock is another one" wait $'job\t'
	says 0 "'job ' is free" '' status 'job '
	says 0 '' '' run -k $'j\no b' -- true
}

@test "a TTL of 1000 or more without a unit gets a warning, also with -q" {
	local text="--ttl 1000 is 1000 seconds (16m)
hint: did you mean 1000ms? A number without a unit is in seconds; 's' shows that it is meant"
	says 0 '' "redlock: $text" run -q -k job --ttl 1000 -- true
	REDLOCK_TTL=1000 says 0 '' "redlock: REDLOCK_TTL: $text" run -q -k job -- true
	printf '\nttl = 1000\n' > "$T/config"
	REDLOCK_CONFIG=$T/config says 0 '' "redlock: $T/config:2: $text" run -k job -- true
	for ttl in 999 1000s 1000000ms 20m; do
		REDLOCK_CONFIG=$T/config REDLOCK_TTL=5000 says 0 '' '' run -k job --ttl $ttl -- true
	done
	REDLOCK_TTL=1000 says 0 "'job' is free" '' status job
	says 0 '' '' run -k job -- sh -c "'$REDLOCK_BUILD/redlock' extend && '$REDLOCK_BUILD/redlock' check > /dev/null"
	says 0 '' '' run -k job --ttl 2000s -- sh -c "'$REDLOCK_BUILD/redlock' extend"
}

@test "command: missing, two of them" {
	refused 64 "redlock: missing command" run -k job
	refused 64 "redlock: missing command" run -k job --
	refused 64 "redlock: -c cannot be combined with a command" run -k job -c true touch "$T/never"
}

# bats test_tags=not-under-qemu
@test "the -- before the command is optional; after the command, options are the command's" {
	export REDLOCK_NODE_TIMEOUT=10s
	run redlock run -k job echo -n -k
	[ "$output" = "-k" ]
	run redlock run -k job -- echo -- -q
	[ "$output" = "-- -q" ]
}

@test "durations" {
	refused 64 "redlock: --ttl '5x' has an unknown unit (known: ms, s, m, h, d)" run -k job --ttl 5x touch "$T/never"
	refused 64 "redlock: -t '-5s' is negative" run -k job -t -5s touch "$T/never"
	refused 64 "redlock: --wait '' is empty" run -k job --wait= touch "$T/never"
	refused 64 "redlock: -w 'soon' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)" run -k job -wsoon touch "$T/never"
	refused 64 "redlock: --ttl '99999999999999999999d' is too long (at most 100 years)" run -k job --ttl 99999999999999999999d touch "$T/never"
	refused 64 "redlock: --ttl '1e3' has an unknown unit (known: ms, s, m, h, d)" run -k job --ttl 1e3 touch "$T/never"
	refused 64 "redlock: --wait '1h30' ends with a number without a unit (1h30m has two)" run -k job --wait 1h30 touch "$T/never"
	refused 64 "redlock: --wait '30m1h' has its units in the wrong order (1h30m is right)" run -k job --wait 30m1h touch "$T/never"
	REDLOCK_TTL=1y refused 64 "redlock: REDLOCK_TTL '1y' has an unknown unit (known: ms, s, m, h, d)" run -k job touch "$T/never"
	REDLOCK_WAIT='1 s' refused 64 "redlock: REDLOCK_WAIT '1 s' has an unknown unit (known: ms, s, m, h, d)" run -k job touch "$T/never"
}

@test "an operand that was meant as part of the option before it" {
	hinted() {
		local hint=$1
		shift
		refused "$@"
		[ "${lines[1]}" = "hint: $hint" ]
	}
	for option in --nodes --node; do
		hinted "quote a list of nodes: --nodes 'redis://a redis://b'" \
			64 "redlock: 'redis://b' is an argument of its own, not part of $option" run -k job $option redis://a redis://b -- touch "$T/never"
	done
	refused 64 "redlock: 'b,' is an argument of its own, not part of --nodes" run --nodes=a, b, c -k job touch "$T/never"
	refused 64 "redlock: 'b' is an argument of its own, not part of --nodes" status --nodes a, b
	refused 64 "redlock: 'redis://***@b' is an argument of its own, not part of --nodes" status --nodes redis://a redis://:secret@b
	refused 64 "redlock: '3' comes after --fence, which takes no value" run -k job --fence 3 touch "$T/never"
	refused 64 "redlock: '3' comes after -s, which takes no value" acquire -k job -s 3
	hinted 'quote the token: --token "$token"' \
		64 "redlock: '1234' is an argument of its own, not part of --token" release -k job --token 9999 1234
	hinted "-k goes before the key: redlock run -k KEY -- COMMAND" 64 "redlock: missing key" run deploy -- touch "$T/never"
	refused 64 "redlock: --on-lost 'stop' suspends a command instead of ending it" run -k job --on-lost stop -- touch "$T/never"
	REDLOCK_FAIR=maybe refused 64 "redlock: REDLOCK_FAIR 'maybe' is not yes, no or a number from 0 to 9" run -k job touch "$T/never"
	# a number is a key, and a command's argument
	redlock status --json 3 > "$T/three"
	run -127 redlock run -k job -- 3
	[ "$(redlock run -k job --nodes "$REDLOCK_NODES" printf %s redis://a)" = redis://a ]
}

@test "times that contradict each other" {
	refused 64 "redlock: --ttl 100ms is too short for a node time-out of 50ms: two of them, the drift allowance (12ms) and the time to end the command must fit" \
		run -k job --ttl 100ms touch "$T/never"
	[ "${lines[1]}" = "hint: the least --ttl is 114ms; 'redlock doctor' prints one that suits the round trips to the nodes" ]
	refused 64 "redlock: --ttl 113ms is too short for a node time-out of 50ms: two of them, the drift allowance (13ms) and the time to end the command must fit" \
		run -k job --ttl 113ms touch "$T/never"
	run redlock run -k job --ttl 114ms true # on a busy machine, this is too short in practice
	[ "$status" -ne 64 ]
	refused 64 "redlock: --ttl 0ms is too short for a node time-out of 50ms: two of them, the drift allowance (2ms) and the time to end the command must fit" \
		run -k job --ttl 0 touch "$T/never"
	for ttl in 0 1 2; do
		refused 64 "redlock: --ttl ${ttl}ms is too short for a node time-out of 50ms: two of them and the drift allowance (2ms) must fit" \
			wait -n --ttl ${ttl}ms job
	done
	redlock wait -n --ttl 3ms job
	refused 64 "redlock: --ttl 30s is too short for a node time-out of 15s: two of them, the drift allowance (3s) and the time to end the command must fit" \
		run -k job --node-timeout 15s touch "$T/never"
	[ "${lines[1]}" = "hint: the least --ttl is 34s; a shorter --node-timeout permits a shorter one; 'redlock doctor' prints one that suits the round trips to the nodes" ]
	redlock run -k job --node-timeout 15s --ttl 34s true
	refused 64 "redlock: --node-timeout must be longer than 0" run -k job --node-timeout 0 touch "$T/never"
	refused 64 "redlock: --kill-after '-1s' is negative" run -k job --kill-after -1s touch "$T/never"
	for signal in '' 0 99 warn 'INT TERM' SIGNONE; do
		refused 64 "redlock: --signal '$signal' is not a signal's name, such as TERM or INT" \
			run -k job --signal "$signal" touch "$T/never"
	done
	refused 64 "redlock: --drift-factor '0.001' is not between 0.01 and 0.5" run -k job --drift-factor 0.001 touch "$T/never"
	refused 64 "redlock: --drift-factor '0,1' is not between 0.01 and 0.5" run -k job --drift-factor 0,1 touch "$T/never"
}

# wrong_inputs: each row on stdin is STATUS, the line, and the arguments, separated by '|'; $R is `run -n -k job`, $C the
# command. Each has a hint below the line.
wrong_inputs() {
	local status line args R="run -n -k job" C="-- touch $T/never"
	while IFS='|' read -r status line args; do
		eval "refused $status \"redlock: $line\" $args" || {
			echo "redlock $args"
			return 1
		}
		[ "${#lines[@]}" -eq 2 ]
	done
}

@test "six wrong inputs for each option of run: the line, a hint, and nothing is done" {
	wrong_inputs <<- 'END'
		64|--signal '' is not a signal's name, such as TERM or INT|$R --signal= $C
		64|--signal 'TREM' is not a signal's name, such as TERM or INT|$R --signal TREM $C
		64|--signal '0' is not a signal's name, such as TERM or INT|$R --signal 0 $C
		64|--signal '9x' is not a signal's name, such as TERM or INT|$R --signal 9x $C
		64|--signal 'SIGSTOP' suspends a command instead of ending it|$R --signal SIGSTOP $C
		64|--signal needs a value: SIG|$R --signal
		64|--signal is not an option of 'redlock extend'|extend -k job --token x --signal TERM
		64|--once-per '' is empty|$R --once-per= $C
		64|--once-per must be longer than 0|$R --once-per 0 $C
		64|--once-per '-5s' is negative|$R --once-per -5s $C
		64|--once-per '1h1h' has its units in the wrong order (1h30m is right)|$R --once-per 1h1h $C
		64|--once-per cannot be combined with --min-hold|$R --once-per 1h --min-hold 2h $C
		64|--once-per cannot be combined with --shared|$R --once-per 1h -s $C
		64|--once-per cannot be combined with --limit|$R --once-per 1h -L 2 $C
		64|--once-per is not an option of 'redlock acquire'|acquire -k job --once-per 1h
		64|-c needs a value: STRING|$R -c
		64|--command needs a value: STRING|$R --command -- true
		64|-c is empty|$R -c ''
		64|--command is empty|$R --command=
		64|--sni is empty|$R --sni= $C
		64|--profile is empty|$R --profile= $C
		64|-c cannot be combined with a command|$R -c true $C
		64|-c is not an option of 'redlock hold'|hold -k job -c true
		64|--cert-key is empty|$R --cert x --cert-key= $C
		64|--cert-key needs --cert|$R --cert-key x $C
		64|--cert needs --cert-key|$R --cert x $C
		64|--cert-key needs a value: FILE|$R --cert-key
		64|--cert-key needs a value: FILE|$R --cert x --cert-key $C
		64|unknown option '--cert-kye'|$R --cert-kye x $C
		64|--slots '' is not a number from 1 to 1000|$R --slots= $C
		64|--slots '0' is not a number from 1 to 1000|$R --slots 0 $C
		64|--slots '2.5' is not a number from 1 to 1000|$R --slots 2.5 $C
		64|--slots '3 ' is not a number from 1 to 1000|$R --slots '3 ' $C
		64|--slots '1001' is not a number from 1 to 1000|$R --slots 1001 $C
		64|--shared cannot be combined with --limit|$R --slots 2 -s $C
		64|--limit accepts one key only|$R --slots 2 -k other $C
		64|--on-event needs a value: STRING|$R --on-event
		64|--on-event needs a value: STRING|$R --on-event $C
		64|--on-event is not an option of 'redlock wait'|wait -k job --on-event true
		64|--on-event is not an option of 'redlock acquire'|acquire -k job --on-event true
		64|--on-event is not an option of 'redlock check'|check -k job --token x --on-event true
		64|unknown option '--on-evnet'|$R --on-evnet true $C
		64|--kill-after '' is empty|$R --kill-after= $C
		64|--kill-after 'x' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)|$R --kill-after x $C
		64|--kill-after '-1s' is negative|$R --kill-after -1s $C
		64|--kill-after '1 s' has an unknown unit (known: ms, s, m, h, d)|$R --kill-after '1 s' $C
		64|--kill-after '100000000d' is too long (at most 100 years)|$R --kill-after 100000000d $C
		64|--kill-after is not an option of 'redlock acquire'|acquire -k job --kill-after 1s
		64|--ttl '1e3' has an unknown unit (known: ms, s, m, h, d)|$R --ttl 1e3 $C
		64|--ttl '1m30' ends with a number without a unit (1h30m has two)|$R --ttl 1m30 $C
		64|--ttl '30s1m' has its units in the wrong order (1h30m is right)|$R --ttl 30s1m $C
		64|--ttl 's' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)|$R --ttl s $C
		64|--ttl '1.5.s' has an unknown unit (known: ms, s, m, h, d)|$R --ttl 1.5.s $C
		64|--ttl ' 5s' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)|$R --ttl ' 5s' $C
		64|--takeover takes no value|run -k job --takeover=yes $C
		64|--takeover cannot be combined with --no-wait: the holder must end first|$R --takeover $C
		64|--takeover cannot be combined with --limit|run -k job --takeover -L 2 $C
		64|--once-per cannot be combined with --takeover|run -k job --takeover --once-per 1h $C
		64|--takeover is not an option of 'redlock acquire'|acquire -k job --takeover
		64|unknown option '--take-over'|run -k job --take-over $C
	END
}

@test "six wrong inputs for --force and --watch" {
	wrong_inputs <<- 'END'
		64|missing key|break --force
		64|--force takes no value|break -k job --force=1 -y
		64|--force is not an option of 'redlock run'|run -k job --force $C
		64|--force is not an option of 'redlock release'|release -k job --token x --force
		64|too many keys: 'redlock break' takes one|break -k job -k other -f -y
		64|the key is empty|break -f -y -k ''
		64|unknown option '--froce'|break -k job --froce -y
		64|--watch takes no value|status --watch=5s
		64|--watch takes no value|status --watch=
		64|--watch is not an option of 'redlock doctor'|doctor --watch
		64|--watch is not an option of 'redlock run'|$R --watch $C
		64|unknown option '--wacth'|status --wacth
		64|unknown option '--watch-interval'|status --watch-interval 5s
	END
}

# wrong_variables: the same for `run`; in place of the arguments, NAME=VALUE in the environment.
wrong_variables() {
	local status line setting
	while IFS='|' read -r status line setting; do
		(export "$setting" && refused "$status" "redlock: $line" run -n -k job -- touch "$T/never" && [ "${#lines[@]}" -eq 2 ]) || {
			echo "$setting"
			return 1
		}
	done
}

@test "six wrong inputs for variables, for the configuration file and for profiles" {
	wrong_variables <<- 'END'
		64|REDLOCK_TTL 'x' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)|REDLOCK_TTL=x
		64|REDLOCK_FAIR 'maybe' is not yes, no or a number from 0 to 9|REDLOCK_FAIR=maybe
		64|REDLOCK_SNI is empty|REDLOCK_SNI=
		64|REDLOCK_SIGNAL 'FOO' is not a signal's name, such as TERM or INT|REDLOCK_SIGNAL=FOO
		64|REDLOCK_KILL_AFTER '-1s' is negative|REDLOCK_KILL_AFTER=-1s
		64|REDLOCK_ONCE_PER '1h1' ends with a number without a unit (1h30m has two)|REDLOCK_ONCE_PER=1h1
		78|invalid node 'http://a': the scheme must be redis, rediss or unix|REDLOCK_NODES=http://a
	END
	# an unknown name and a wrong value have the line and the column
	local row text line
	for row in 'tlt = 5s|1:1: unknown name '"'tlt'" 'ttl|1:1: is neither '"'name = value' nor '[profile]'" \
		'ttl = x|1:7: ttl '"'x' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)" '= 5|1:1: unknown name '"''" \
		'[]|1:1: a profile without a name' 'force = yes|1:1: '"'force' is not a setting: it belongs to a single call" \
		'ttl = 5s # x|1:7: ttl '"'5s # x' has an unknown unit (known: ms, s, m, h, d)"; do
		(umask 077 && echo "${row%%|*}" > "$T/config")
		refused 78 "redlock: $T/config:${row#*|}" run -n -k job --config "$T/config" -- touch "$T/never"
		[ "${#lines[@]}" -eq 2 ]
	done
	(umask 077 && printf '[prod]\nttl = 30s\n' > "$T/config")
	for row in prd PROD '[prod]' 'prod ' "$T/config" 'prod.'; do
		refused 78 "redlock: unknown profile '$row': $T/config has prod" run -n -k job --config "$T/config" --profile "$row" -- touch "$T/never"
	done
}

@test "--node-wait: wrong inputs" {
	refused 64 "redlock: --node-wait 'soon' is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)" run -k job --node-wait soon -- touch "$T/never"
	refused 64 "redlock: --node-wait '' is empty" run -k job --node-wait= -- touch "$T/never"
	refused 64 "redlock: --node-wait '-1' is negative" run -k job --node-wait=-1 -- touch "$T/never"
	refused 64 "redlock: --node-wait needs a value: D" run -k job --node-wait -- touch "$T/never"
	refused 64 "redlock: --node-wait is not an option of 'redlock release'" release -k job --node-wait 1s
	REDLOCK_NODE_WAIT=1x refused 64 "redlock: REDLOCK_NODE_WAIT '1x' has an unknown unit (known: ms, s, m, h, d)" run -k job -- touch "$T/never"
}

@test "the conflict exit code" {
	for bad in 256 -1 x '' 1.5 99999999999999999999; do
		refused 64 "redlock: -E '$bad' is not a number from 0 to 255" run -k job -E "$bad" touch "$T/never"
	done
}

@test "nodes: bad URLs are quoted, and a password never is" {
	bad() { refused 78 "redlock: invalid node '$1': $2" run -n -k job --node "${3:-$1}" -- touch "$T/never"; }
	bad 'http://a' "the scheme must be redis, rediss or unix"
	bad 'rediss://a/x' "the database must be a number"
	bad 'rediss://me:***' "the port must be a number from 1 to 65535" 'rediss://me:hidden'
	bad 'redis://' "the host is missing"
	bad 'a:***' "the port must be a number from 1 to 65535" 'a:hidden'
	bad 'redis://me:***' "the port must be a number from 1 to 65535" 'redis://me:hidden'
	bad 'a:0' "the port must be a number from 1 to 65535"
	bad 'a:65536' "the port must be a number from 1 to 65535"
	bad '::1' "an IPv6 address must be in brackets: [::1]:6379"
	bad '[::1' "the ']' is missing"
	bad 'redis://a/x' "the database must be a number"
	bad 'redis://me:***' "the port must be a number from 1 to 65535" 'redis://me:abc123'
	bad 'redis://me:***' "the port must be a number from 1 to 65535" 'redis://me:1234567'
	bad 'unix://a/b' "the path of a unix socket must start with '/'"
	bad 'unix:///a?***' "only db=N can follow '?'" 'unix:///a?x=1'
	bad 'redis://me:12/***' "the database must be a number" 'redis://me:12/hidden'
	bad 'redis://a:700l' "the port must be a number from 1 to 65535"
	bad 'redis://***@a:x' "the port must be a number from 1 to 65535" 'redis://me:hidden@a:x'
	bad 'redis://***@a' "a '%' in user or password must start an escape such as %40" 'redis://me:hid%zzen@a'
	bad '***@:1' "the host is missing" 'hid@den@:1'
	refused 78 "redlock: too many nodes: at most 15 are allowed" run -k job --nodes "$(printf 'node%d ' $(seq 16))" -- touch "$T/never"
	[ "${lines[1]}" = "hint: see 'redlock help run'" ]
	refused 78 "redlock: node 'redis://A:6379/1' is named twice" run -k job --node a --node redis://A:6379/1 touch "$T/never"
	refused 78 "redlock: --nodes names no node" run -k job --nodes ' , ' -- touch "$T/never"
	REDLOCK_NODES= refused 78 "redlock: REDLOCK_NODES names no node" run -k job -- touch "$T/never"
}

@test "--help, help, --version and version: on stdout, status 0" {
	for words in "help" "--help" "-h" "help run" "run --help" "run -h" "run -k job --help -- touch x" "version" "version --help" "--version" "run --version"; do
		redlock $words > "$T/out" 2> "$T/err"
		[ -s "$T/out" ]
		[ ! -s "$T/err" ]
	done
	run -0 redlock version
	[[ "${lines[0]}" =~ ^redlock\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ "${lines[1]}" =~ ^TLS:\ (yes|no)\ \(.*\)$ ]]
	[[ "${lines[2]}" =~ ^hiredis:\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ "${lines[3]}" =~ ^libc:\ (glibc\ [0-9.]+|not\ glibc)$ ]]
	[ "$(redlock --version)" = "$output" ]
	redlock help run --all > "$T/out"
	for option in --key --ttl --wait --no-wait --conflict-exit-code --nodes --drift-factor --command --verbose; do
		file_has "$T/out" "$option"
	done
	for status in 64 69 75 78 79 125 126 127; do
		file_has "$T/out" "^  $status "
	done
}

# The help pages, one after the other, at that width; without the examples, which are there to be copied.
pages() { sed -E 's/\r$//; /^Examples$/,/^redlock /{ /^redlock /!d }; /^  redlock run -k nightly /d'; }
widest() { awk 'length($0) > most { most = length($0) } END { print most + 0 }'; }
ALL_PAGES='for page in "" $($R help | sed -nE "s/^  ([a-z]+)  .*/\1/p") --key --log; do $R help $page; $R help $page --all; done'

@test "help fits the terminal: 40, 80 and 100 columns, and no line is longer" {
	for width in 40 80 100; do
		R="${REDLOCK_UNDER:-} $REDLOCK_BUILD/redlock" env -u COLUMNS "$REDLOCK_BUILD/tools/pty" "size:24x$width" 'send:\r' -- \
			bash -c "read -r; $ALL_PAGES" > "$T/shown"
		pages < "$T/shown" > "$T/pages"
		[ "$(wc -l < "$T/pages")" -gt 300 ]
		most=$(widest < "$T/pages")
		[ "$most" -le "$width" ]
		[ "$most" -ge $((width - 2)) ]
		not grep -nE ' $' "$T/pages"
	done
	# the text of an option is next to it, or below it
	redlock help run | grep -qE '^  -t, --ttl D  +lock lifetime'
	COLUMNS=40 redlock help run | grep -A1 -E '^  -t, --ttl D$' | grep -q '^    lock lifetime'
}

@test "help into a pipe: 80 columns, or the width in COLUMNS, if valid" {
	wide() { COLUMNS=$1 redlock help run | pages | widest; }
	[ "$(wide 80)" = "$(env -u COLUMNS "$REDLOCK_BUILD/redlock" help run | pages | widest)" ]
	for bad in '' x -5 0 1e3 99999999999999999999; do
		[ "$(wide "$bad")" = "$(wide 80)" ]
	done
	[ "$(wide 60)" -le 60 ] && [ "$(wide 60)" -gt 50 ]
	[ "$(wide 1)" -le 40 ]
	[ "$(wide 5000)" -le 100 ] && [ "$(wide 5000)" -gt 90 ]
	# examples keep their form
	R="${REDLOCK_UNDER:-} $REDLOCK_BUILD/redlock" COLUMNS=40 bash -c "$ALL_PAGES" > "$T/narrow"
	sed -n '/^Examples$/,/^redlock /p' "$T/narrow" > "$T/examples"
	[ "$(grep -c '^  ' "$T/examples")" -gt 20 ]
	[ "$(widest < "$T/examples")" -le 80 ]
}

@test "help of an option: its effect, its subcommands, and its environment variable" {
	run -0 redlock help --ttl
	is_like "$output" "*  -t, --ttl D *lock lifetime, extended*[(]run, doctor, acquire, *REDLOCK_TTL)"
	[ "$(redlock help -t)" = "$output" ]
	[ "$(redlock help --ttl=5s)" = "$output" ]
	run -0 redlock help --fence
	[ "$(grep -c -e --fence <<< "$output")" = 2 ]
	[[ "$output" == *"(gate; REDLOCK_FENCE)"* ]]
	# a variable that some of the subcommands read
	[[ "$(redlock help --limit | tr -s ' \n' ' ')" == *"(run, status, "*"; REDLOCK_LIMIT for extend, release, check)"* ]]
	refused 64 "redlock: unknown option '--password'" help --password
	[ "${lines[1]}" = "hint: did you mean --password-file? See 'redlock help'" ]
	run -125 bash -c "'$REDLOCK_BUILD/redlock' help --ttl > /dev/full"
}

@test "help of a subcommand has the part of a status that is about it, and --all the whole" {
	local command line
	while IFS='|' read -r command line; do
		COLUMNS=100 run -0 redlock help $command
		[[ "$output"$'\n' == *$'\n'"  $line"$'\n'* ]] || { echo "$command: no '$line' in: $output"; false; }
	done <<- 'END'
		run|75   busy: another client held the lock for the whole wait
		break|75   the lock did not end, or the user did not confirm
		doctor|75   the user did not confirm
		gate|75   the command of an earlier gate is still running
		run|79   lock lost: the command was terminated
		extend|79   the token no longer holds the lock
		release|79   the token no longer holds the lock
		hold|79   the process that --follow names ended before the lock was acquired
		run|69   no quorum: too few nodes answered in time
		sandbox|69   a server did not start
	END
	[[ "$(redlock help 79 | tr -s ' \n' ' ')" == *"the command was terminated; extend, release, check: the token "* ]]
	[[ "$(redlock help gate --all | tr -s ' \n' ' ')" == *" 75 busy: another "*"; doctor: the user did not confirm; gate: "* ]]
}

@test "help STATUS: the meaning, then the usual causes and what to do" {
	local statuses number
	statuses=$(sed -n '/^Exit status/,/^$/s/^  \([0-9][0-9]*\) .*/\1/p' <(redlock help --all) | sort -nu)
	[ "$(grep -c . <<< "$statuses")" -eq 12 ]
	for number in $statuses 137 143; do
		[ "$number" != 0 ] || continue
		echo "$number"
		COLUMNS=80 run -0 redlock help "$number"
		[[ "${lines[0]}" == "  $number "* ]]
		[ "${#lines[@]}" -ge 3 ] && [ "${#lines[@]}" -le 10 ]
	done
	[[ "$(redlock help 69 | tr -s ' \n' ' ')" == *"Usual causes: servers that are down, "*"'redlock doctor' prints the fix "* ]]
	[[ "$(redlock help 79 | tr -s ' \n' ' ')" == *"Usual causes: "*" run it again. "* ]]
	# a page of a subcommand has the meanings only
	not grep -q "Usual causes" <(redlock help run --all)
	run -0 redlock help 5
	[ "${#lines[@]}" -eq 2 ]
}

@test "help has two sizes: what is common fits a screen, and --all has the rest" {
	for command in $(sed -nE 's/^COMMAND\([A-Z]+, "([a-z]+)", .*TAKES_OPTIONS.*/\1/p' "$BATS_TEST_DIRNAME/../../src/cli/commands.def"); do
		redlock help "$command" > "$T/common"
		redlock help "$command" --all > "$T/all"
		lines=$(wc -l < "$T/common")
		echo "$command: $lines"
		[ "$lines" -ge 24 ] && [ "$lines" -le 50 ]
		file_has "$T/common" "^Exit status"
		file_has "$T/common" "^Examples"
		# the number of options is that of the other page, and each option stands there, too
		file_has "$T/common" "^'redlock help $command --all' shows all $(grep -cE '^  (-.,|   ) --' "$T/all") options[.]$"
		not grep -vxFf <(grep -oE '^  (-.,|   ) --[a-z-]+' "$T/all") <(grep -oE '^  (-.,|   ) --[a-z-]+' "$T/common")
		[ "$(redlock help --all "$command")" = "$(cat "$T/all")" ]
		[ "$(redlock "$command" --help --all)" = "$(cat "$T/all")" ]
		[ "$(redlock "$command" -h)" = "$(cat "$T/common")" ]
	done
	# run has more options than a screen has lines
	[ "$(redlock help run --all | wc -l)" -gt 100 ]
	[ "$(redlock help | grep -oE '^  [a-z]+  ' | head -4 | xargs)" = "run status doctor sandbox" ]
	[ "$(redlock help | grep -E '^[A-Z][a-z]+$' | xargs)" = "Common Scripting Administration Other" ]
	# without a subcommand: the overview, then the page of each subcommand
	redlock help --all > "$T/all"
	redlock help | cmp - <(head -n "$(redlock help | wc -l)" "$T/all")
	[ "$(grep -c '^redlock [a-z]' "$T/all")" -ge 16 ]
	refused 64 "redlock: unexpected argument 'more'" help --all run more
	refused 64 "redlock: unknown option '--all'" --all
}

# alone CMD...: with its own loopback, without a listener, and without configured nodes.
alone() {
	${EXEC:-} env -u REDLOCK_NODES unshare --net bash -c 'ip link set lo up && exec "$@"' - "$@"
}
readonly NEWCOMER="hint: no nodes were named, so redis://127.0.0.1:6379 was asked: name three or five independent Redis servers \
with --nodes, REDLOCK_NODES or 'nodes' in /etc/redlock/config
hint: to try it on throwaway ones: redlock sandbox -- redlock run -k try -- date"

@test "no nodes configured, and no server there: each subcommand explains what nodes are" {
	needs networks
	token=$(printf 'a%.0s' {1..40})
	cat > "$T/all" <<- 'EOF'
		for words in 'run -n -k job -- true' 'acquire -n -k job' 'hold -n -k job' 'wait -n -k job' status 'status job' \
			"check -k job --token $1" "extend -k job --token $1" "release -k job --token $1" 'break -y -k job' \
			doctor 'doctor --admit -y'; do
			$2 $words 2>&1
			echo "$words: $?"
		done
	EOF
	run -0 alone bash "$T/all" "$token" "${REDLOCK_UNDER:-} $REDLOCK_BUILD/redlock"
	[ "$(grep -c ': 69$' <<< "$output")" = 12 ]
	[ "$(grep -cxF "${NEWCOMER%%$'\n'*}" <<< "$output")" = 12 ]
	# the hint is the last line
	[ "$(grep -B1 ': 69$' <<< "$output" | grep -cxF "${NEWCOMER##*$'\n'}")" = 12 ]
}

@test "no nodes configured: a client that waits gets the hint with the first message, and once" {
	needs networks
	# BG is redlock itself, not a shell that waits for it
	EXEC=exec alone ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" run -k job -- touch "$T/never" 2> "$T/err" 3>&- &
	BG=$!
	also_end "$BG"
	eventually file_has "$T/err" sandbox
	is_like "$(head -1 "$T/err")" "redlock: waiting: no quorum for 'job': *[(]Connection refused)"
	is_like "$(sed -n 2p "$T/err")" "hint: no server listens there: *"
	[ "$(sed -n 3,4p "$T/err")" = "$NEWCOMER" ]
	kill -TERM "$BG"
	ended_with 143
	[ "$(grep -c sandbox "$T/err")" = 1 ]
	run -69 alone ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" run -q -w 1500ms -k job -- touch "$T/never"
	is_like "$output" "redlock: no quorum for 'job': *[(]Connection refused)?hint: no server listens there: *?$NEWCOMER"
	# this node is the default: without -w, the end comes soon
	run -69 alone ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" run -q -k job -- touch "$T/never"
	is_like "$output" "redlock: no quorum for 'job': *[(]Connection refused)?hint: no server listens there: *?$NEWCOMER"
	[ ! -e "$T/never" ]
}

@test "no nodes configured, on a terminal: the line stays, the hints follow below it" {
	needs networks
	alone "$REDLOCK_BUILD/tools/pty" 'expect:redlock: waiting: no quorum' 'expect:refused)\x0d\x0ahint: no server listens there' 'expect:\x0d\x0ahint: no nodes were named' \
		'expect:hint: to try it' 'expect:redlock: waiting ' 'send:\x03' -- \
		env TERM=xterm ${REDLOCK_UNDER:-} "$REDLOCK_BUILD/redlock" run -k job -- true > "$T/shown" || [ $? -eq 130 ]
	[ "$(grep -c 'hint: no nodes' "$T/shown")" = 1 ]
}

@test "no hint about nodes if nodes are configured, or if the server requires a password" {
	needs networks
	cat > "$T/script" <<- 'EOF'
		redis-server --port 6379 --bind 127.0.0.1 --save '' --dir "$2" --requirepass other > "$2/server" 2>&1 3>&- &
		until redis-cli ping 2>&1 | grep -q NOAUTH; do sleep 0.05; done
		$1 run -n -k job -- true
		status=$?
		kill -KILL $!
		exit $status
	EOF
	named() {
		run -69 "$@"
		[[ "$output" == *"no quorum for 'job'"* ]]
		[[ "$output" != *"no nodes were named"* ]]
	}
	R="${REDLOCK_UNDER:-} $REDLOCK_BUILD/redlock"
	named alone $R run -n -k job --node 127.0.0.1 -- true
	named alone $R run -n -k job --nodes redis://127.0.0.1:6379 -- true
	named alone env REDLOCK_NODES=127.0.0.1 $R run -n -k job -- true
	echo 'node = 127.0.0.1' > "$T/config"
	named alone env REDLOCK_CONFIG="$T/config" $R run -n -k job -- true
	named alone bash "$T/script" "$R" "$T"
}

# bats test_tags=not-under-qemu
@test "REDLOCK_NODE is no variable: redlock does not ask the default node instead" {
	nodes=$REDLOCK_NODES
	unset REDLOCK_NODES
	export REDLOCK_NODE=$nodes REDLOCK_CONFIG=/dev/null
	refused 78 "redlock: REDLOCK_NODE has no effect, and no nodes are named" run -k job -- touch "$T/never"
	[ "${lines[1]}" = "hint: the variable is REDLOCK_NODES, also for one node" ]
	warning="redlock: unknown variable REDLOCK_NODE in the environment: it is ignored?hint: did you mean REDLOCK_NODES[?]"
	says 0 done "$warning" run -k job --node "$nodes" -- echo done
	REDLOCK_NODES=$nodes says 0 done "$warning" run -k job -- echo done
	says 0 done "$warning" gate --fence 1 --store "$T/store" -- echo done
}

@test "output that cannot be written is a failure" {
	run -125 bash -c "'$REDLOCK_BUILD/redlock' help run > /dev/full"
	[ "$output" = "redlock: cannot write to stdout: No space left on device" ]
	run -125 bash -c "'$REDLOCK_BUILD/redlock' version >&-"
	[ "$output" = "redlock: cannot write to stdout: Bad file descriptor" ]
}

# bats test_tags=not-under-qemu
@test "settings from the environment; the command line wins" {
	export REDLOCK_NODE_TIMEOUT=2s
	REDLOCK_TTL=77s run redlock run -k job -- printenv REDLOCK_TTL_MS
	[ "$output" = 77000 ]
	REDLOCK_TTL=77s run redlock run -k job -t 5s -- printenv REDLOCK_TTL_MS
	[ "$output" = 5000 ]
	node 1 set job other px 60000
	REDLOCK_WAIT=0 REDLOCK_CONFLICT_EXIT_CODE=9 REDLOCK_QUIET=1 run redlock run -k job -- true
	[ "$status" -eq 9 ]
	[ "$output" = "" ]
	REDLOCK_WAIT=60 run -75 redlock run -n -k job -- true
	node 1 del job
	REDLOCK_KEY=outer run -64 redlock run -- true
}
