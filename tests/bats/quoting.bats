# Keys and owners of any bytes through every input and output: the bytes come back unchanged, no part is executed, and
# no control character reaches the terminal.

load nodes

setup() {
	export LC_ALL=C
	nodes_start 1
	export XDG_RUNTIME_DIR=$T
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
	export REDLOCK_TTL=600s
	unset REDLOCK_TOKEN REDLOCK_HELD
	cd "$T"
	mkdir work
	cd work
	long=$(printf 'k%.0s' $(seq 4096))
	odd=(
		'two words' "it's" '"double"' $'two\nlines' $'\n' '$(touch pwned)' '`touch pwned`' '; touch pwned;'
		"'; touch pwned; '" "'\$(touch pwned)'" 'back\slash\' '\x41\n' 'grün 日本 🔒' $'\xff' $'a\xc3' $'\xe2\x80\xaeright'
		$'\e[31mred\e]0;title\a' $'tab\tbell\a\rcr\x7f' $'\xc2\x9b31m' '-k' '--yes' '-' '%s%n' '*' '{a}' '#' ' ' "$long"
		"${long::4095}"$'\xff' "${long::4095}'"
	)
}
teardown() { nodes_stop; }

# exactly FILE TEXT: the file has these bytes.
exactly() {
	printf %s "$2" | cmp - "$1" || {
		printf 'want: %q\n' "$2"
		head -c 400 "$1" | od -c | head
		return 1
	}
}

# same FILTER NAME TEXT: that string on stdout is the TEXT, from NAME_base64 where it is no UTF-8.
same() {
	[ "$(jq -r "$1 | .$2_base64 // (.$2 | @base64)" stdout)" = "$(printf %s "$3" | base64 -w 0)" ]
}

# shows STATUS ARG...: stdout and stderr are in files of these names: whole lines, two at most.
shows() {
	local want=$1 status=0 file said
	shift
	redlock "$@" > stdout 2> stderr || status=$?
	[ "$status" -eq "$want" ] || {
		echo "status $status, not $want"
		cat stderr
		return 1
	}
	for file in stdout stderr; do
		mapfile said < $file
		[ ${#said[@]} -le 2 ]
		[[ ${#said[@]} -eq 0 || "${said[-1]}" == *$'\n' ]]
		printf %s "${said[@]}" >> all
	done
	[ ! -e pwned ]
}

# clean: all output since then is UTF-8 without any control character but the four tabs in a row of the table of `status`.
clean() {
	sed -i -E '/^[^\t]*(\t[^\t]*){4}$/ s/\t/ /g' all
	iconv -f UTF-8 -t UTF-8 all > iconv
	not grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae\x8e\x8f]' all
	rm all
}

@test "keys: each the same through acquire, eval, status, --json, check, extend and release" {
	for key in "${odd[@]}"; do
		printf '# %.80q\n' "$key"
		# no key of a new lock; tests/bats/usage.bats has it
		[[ "$key" != *$'\n' ]] || continue
		redlock acquire -k "$key" --owner me --format env > env
		REDLOCK_KEY= REDLOCK_TOKEN=
		eval "$(cat env)"
		[ "$REDLOCK_KEY" = "$key" ]
		[ "$(printf %s "$key" | redis-cli -s "$T/1.sock" -x exists)" = 1 ]
		# a plain shell reads the same
		sh -c 'eval "$(cat env)"; printf %s "$REDLOCK_KEY"' > shell
		exactly shell "$key"
		shows 0 check
		[[ "$(cat stdout)" == [78]m ]]
		shows 0 extend -v
		shows 0 check --json
		same . key "$key"
		shows 0 status -- "$key"
		[[ "$(cat stdout)" == "'"*"' is held by me since "* ]]
		shows 0 status
		[[ "$(cat stdout)" == $'KEY\tHOLDER\tHELD\tNODES\tWAITERS\n'*$'\tme\t'*$'\t1/1\t0' ]]
		shows 0 status --json -- "$key"
		same '.locks[0]' key "$key"
		shows 0 status --json
		same '.locks[0]' key "$key"
		shows 75 acquire -n -k "$key"
		shows 75 acquire -n --json -k "$key"
		same . key "$key"
		shows 75 wait -n -k "$key"
		shows 64 break -k "$key" < /dev/null
		shows 0 release -v
		shows 79 release
		shows 79 check
		shows 79 check --json
		same . key "$key"
		shows 0 break -fy -k "$key"
		shows 0 acquire --json -k "$key"
		same . key "$key"
		shows 0 break -fy -k "$key" --json
		same . key "$key"
		unset REDLOCK_KEY REDLOCK_TOKEN
		clean
	done
	is_empty 1
}

@test "owners: each the same in the value and in --json, and safe to show" {
	for owner in "${odd[@]}"; do
		owner=${owner::177}
		printf '# %.80q\n' "$owner"
		redlock acquire -k job --owner "$owner" > token
		node 1 --raw get job | head -c -1 | tail -c +59 > value
		exactly value "$owner"
		shows 0 status job
		[[ "$(cat stdout)" == "'job' is held by "*" since 20"*" on 1 of 1 node, expires in "*" unless renewed" ]]
		shows 0 status
		shows 0 status -v job
		shows 0 status --json job
		same '.locks[0].holder' owner "$owner"
		same '.locks[0].nodes[0].holder' owner "$owner"
		shows 0 status --json
		same '.locks[0].holder' owner "$owner"
		shows 75 acquire -n -k job --json
		same .holder owner "$owner"
		shows 75 acquire -n -k job
		shows 75 wait -n -k job
		shows 79 check -k job --token 0123456789012345678901234567890123456789
		shows 0 check -k job --token "$(cat token)"
		value=$(node 1 --raw get job; echo .)
		shows 0 check -k job --token "${value%$'\n'.}"
		shows 64 break -k job < /dev/null
		shows 0 break -fy -k job
		clean
	done
	held_on job 0
}

@test "values of other programs: safe to show, and the same in --json" {
	for value in "${odd[@]}" "0123456789012345678901234567890123456789"$'\e[31m'; do
		value=${value::291}
		printf '# %.80q\n' "$value"
		printf %s "$value" | redis-cli -s "$T/1.sock" -x set job > set
		shows 0 status job
		shows 0 status --json job
		same '.locks[0].holder' value "$value"
		shows 75 acquire -n -k job
		shows 79 extend -k job --token x
		# the whole value is its token
		shows 79 release -k job --token="$value-"
		shows 0 extend -k job --token "$value"
		shows 0 check --json -k job --token "$value"
		shows 0 break -fy -k job
		clean
	done
	held_on job 0
}

@test "arguments on the command line do not reach the terminal unescaped" {
	for word in $'\e[31mred' $'\xff' $'a\nb' $'\xc2\x9b31m'; do
		shows 64 "$word"
		shows 64 check "--$word"
		shows 64 check -k job --token x "$word"
		shows 64 check -k job --token x --min-validity "$word"
		shows 78 check -k job --token-file "$word"
		shows 64 acquire -k job --format "$word"
		shows 64 acquire -k job --ttl "$word"
		shows 64 status job -"$word"
		shows 78 status --nodes "$word:x" job
		clean
	done
}

# Every place of every option, of the environment and of a configuration file.
# no_value_is_unescaped FROM COUNT: of that many subcommands
no_value_is_unescaped() {
	local word=$'a\e]0;x\a\n\xe2\x80\xae\xc2\x9b31m\xff\\##[error]x' command option name
	export REDLOCK_NODES=unix://$T/none REDLOCK_NODE_WAIT=1ms REDLOCK_WAIT=0
	redlock completion words '' < /dev/null > commands
	mapfile -t commands < <(sed '1,3d; s/\t.*//' commands)
	[ ${#commands[@]} -gt 15 ]
	commands=("${commands[@]:$1:$2}")
	set +T # bats would trace each command
	says() {
		timeout 20 "$REDLOCK_BUILD/redlock" "$@" < /dev/null >> all 2>&1 || [ $? -ne 124 ]
	}
	for command in "${commands[@]}"; do
		says "$command" "$word"
		says "$command" -vvk"$word" 123
		says "$command" -h"$word"
		says completion words "$command" "$word"
		mapfile -t options < <(redlock completion words "$command" -- | sed -n 's/^\(--[a-z-]*\)\t.*/\1/p')
		for option in "${options[@]}"; do
			# a terminal without end, and a shell
			[[ "$command $option" != "sandbox -"* && $option != --watch ]] || continue
			says "$command" "$option" "$word"
			says "$command" "$option=$word" "$word"
			says "$command" "$option" 1 "$word" -- true
			name=REDLOCK_${option#--}
			name=${name//-/_}
			env "${name^^}=$word" timeout 20 "$REDLOCK_BUILD/redlock" "$command" -k "$word" < /dev/null >> all 2>&1 || [ $? -ne 124 ]
			printf '%s = %s\n' "${option#--}" "${word//$'\n'}" "$word" > file
			says "$command" --config file -k job
			printf '[%s]\n' "${word//$'\n'}" > file
			says "$command" --config file --profile "$word"
		done
	done
	[ "$(wc -l < all)" -gt 333 ] # together more than 1000
	not grep -aF '##[' all
	clean
}

@test "no value of an option reaches the terminal unescaped: the first five subcommands" {
	no_value_is_unescaped 0 5
}

@test "no value of an option reaches the terminal unescaped: the next five" {
	no_value_is_unescaped 5 5
}

@test "no value of an option reaches the terminal unescaped: the others" {
	no_value_is_unescaped 10 99
}
