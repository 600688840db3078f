# The completions in the real shells: what they offer, by what each of them has for programs to ask (offers.*), and
# what Tab makes of a line on a terminal.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	PID=()
	export T HOME=$T XDG_CONFIG_HOME=$T/config XDG_DATA_HOME=$T/data XDG_CACHE_HOME=$T/cache XDG_RUNTIME_DIR=$T
	export REDLOCK_CONFIG=/dev/null PATH=$T/bin:$REDLOCK_BUILD:$PATH TERM=xterm LC_ALL=C.UTF-8
	here=$BATS_TEST_DIRNAME
	mkdir "$T/bin" "$T/work"
	"$REDLOCK_BUILD/redlock" completion bash > "$T/redlock.bash"
	"$REDLOCK_BUILD/redlock" completion zsh > "$T/_redlock"
	"$REDLOCK_BUILD/redlock" completion fish > "$T/redlock.fish"
	cd "$T/work"
	RULE=() LINE=() WORDS=()
}
teardown() { nodes_stop; }

readonly ALL="bash bash-completion zsh fish"

# offers_of SHELL: of the lines that it reads, as LINE|WORD.
offers_of() {
	case $1 in
	bash) bash --norc "$here/offers.bash" no ;;
	bash-completion) bash --norc "$here/offers.bash" yes ;;
	zsh) zsh -f "$here/offers.zsh" ;;
	fish) fish "$here/offers.fish" ;;
	esac
}

# What shall be offered: just these words, these among others, or none of them; told by `judge`.
rule() {
	RULE+=("$1") LINE+=("$2")
	shift 2
	WORDS+=("$(printf '%s\n' "$@" | sort -u)")
}
exactly() { rule exactly "$@"; }
among() { rule among "$@"; }
never() { rule never "$@"; }

# judge SHELL...
judge() {
	local shell i got found failed=0
	for shell; do
		printf '%s\n' "${LINE[@]}" | sort -u | offers_of "$shell" > "$T/offered" 2> "$T/errors"
		if [ -s "$T/errors" ]; then
			echo "$shell says:"
			cat "$T/errors"
			return 1
		fi
		for i in "${!LINE[@]}"; do
			got=$(awk -v line="${LINE[i]}|" 'index($0, line) == 1 { print substr($0, length(line) + 1) }' "$T/offered" | sort -u)
			found=$(comm -12 <(echo "$got") <(echo "${WORDS[i]}"))
			case ${RULE[i]} in
			exactly) [ "$got" = "${WORDS[i]}" ] ;;
			among) [ "$found" = "${WORDS[i]}" ] ;;
			never) [ -z "$found" ] ;;
			esac || {
				failed=1
				echo "$shell: '${LINE[i]}' offers, ${RULE[i]}:"
				diff <(echo "${WORDS[i]}") <(echo "$got") || true
			}
		done
	done
	return $failed
}

commands() { redlock help | sed -n 's/^  redlock \([a-z]*\) .*/\1/p' | grep -vx ''; }
# What 'redlock help COMMAND' says of its options: "-k --key KEY", a line each.
options() { redlock help "$1" | sed -nE 's/^  (-[a-zA-Z],|   ) (--[a-z-]+)( ([A-Za-z|]+))?( .*|$)/\1 \2 \4/p' | tr -d ,; }

@test "the script of each shell is printed; another one is not known" {
	cmp "$T/redlock.bash" "$here/../../completions/redlock.bash"
	cmp "$T/_redlock" "$here/../../completions/_redlock"
	cmp "$T/redlock.fish" "$here/../../completions/redlock.fish"
	says 64 '' "redlock: no shell: for which one?
hint: redlock completion bash, zsh or fish" completion
	says 64 '' "redlock: unknown shell 't\\\\x0acsh'
hint: there is a script for bash, zsh and fish" completion $'t\ncsh'
	says 64 '' "redlock: unknown shell ''*" completion ''
	says 64 '' "redlock: unexpected argument 'zsh'*" completion bash zsh
	says 0 'redlock completion bash|zsh|fish*' '' completion --help
	says 0 'redlock completion bash|zsh|fish*' '' help completion
	run -125 bash -c "'$REDLOCK_BUILD/redlock' completion fish > /dev/full"
	[ "$output" = "redlock: cannot write to stdout: No space left on device" ]
}

@test "a broken environment does not keep the scripts from being printed" {
	REDLOCK_TTL=soon REDLOCK_CONFIG=$T/none REDLOCK_NODES='' says 0 '*complete -F _redlock redlock' '' completion bash
}

@test "every command, and every option of each" {
	local command
	exactly 'redlock ' $(commands)
	exactly 'redlock co' completion config
	exactly 'redlock --' --help --version
	for command in $(commands); do
		exactly "redlock $command --" $(options "$command" | awk '{ print $(/^-. / ? 2 : 1) }')
		among "redlock $command -" $(options "$command" | awk '/^-. / { print $1 }')
	done
	[ "${#LINE[@]}" -gt 20 ]
	judge $ALL
}

@test "every option's value is completed as the help calls it" {
	local command letter option value seen=
	touch some-file
	for command in $(commands); do
		while read -r option value; do
			[[ "$seen" != *" $option $value "* ]] || continue
			case $value in
			D) exactly "redlock $command $option 7" 7ms 7s 7m 7h 7d ;;
			FILE) exactly "redlock $command $option so" some-file ;;
			esac
			case $value in
			*\|*) among "redlock $command $option " $(tr '|' '\n' <<< "$value" | grep '[a-z]') ;;
			esac
			seen+=" $option $value "
		done < <(options "$command" | sed 's/^-. //')
	done
	[ "${#LINE[@]}" -gt 20 ]
	judge $ALL
}
