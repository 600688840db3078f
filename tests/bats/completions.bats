# The completions in the real shells: their offers, by each shell's interface for programs (offers.*), and the line that
# Tab makes on a terminal.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	PID=()
	export T HOME=$T XDG_CONFIG_HOME=$T/config XDG_DATA_HOME=$T/data XDG_CACHE_HOME=$T/cache XDG_RUNTIME_DIR=$T
	export REDLOCK_CONFIG=/dev/null PATH=$T/bin:$REDLOCK_BUILD:$PATH TERM=xterm LC_ALL=C.UTF-8
	here=$BATS_TEST_DIRNAME
	mkdir "$T/bin" "$T/work"
	mkdir -p "$XDG_DATA_HOME/fish/generated_completions" # or fish would begin to read all manual pages
	"$REDLOCK_BUILD/redlock" completion bash > "$T/redlock.bash"
	"$REDLOCK_BUILD/redlock" completion zsh > "$T/_redlock"
	"$REDLOCK_BUILD/redlock" completion fish > "$T/redlock.fish"
	cd "$T/work"
	RULE=() LINE=() WORDS=()
}
teardown() { nodes_stop; }

readonly ALL="bash bash-completion zsh fish"

# offers_of SHELL: the offers for the lines on stdin, as LINE|WORD.
offers_of() {
	case $1 in
	bash) bash --norc "$here/offers.bash" no ;;
	bash-completion) bash --norc "$here/offers.bash" yes ;;
	zsh) zsh -f "$here/offers.zsh" ;;
	fish) fish "$here/offers.fish" ;;
	esac
}

# Expected offers: exactly these words, these among others, or none of them; checked by `judge`.
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

# asked VALUES WORD...: redlock itself answers with these values, in any order, and says nothing else.
asked() {
	local values=$1
	shift
	run -0 --separate-stderr timeout 60 "$REDLOCK_BUILD/redlock" completion words "$@"
	[ "$stderr" = "" ]
	[ "$(sed '1,3d; s/\t.*//' <<< "$output" | sort -u)" = "$(sort <<< "$values")" ]
}

commands() { redlock help | sed -nE 's/^  (redlock )?([a-z]+) .*/\2/p' | sort -u; }
# The options in 'redlock help COMMAND': "-k --key KEY", one per line.
options() { redlock help --all "$1" | sed -nE 's/^  (-[a-zA-Z],|   ) (--[a-z-]+)( ([A-Za-z|]+))?(  .*)?$/\1 \2 \4/p' | tr -d ,; }

@test "the script of each shell is printed; an unknown shell is refused" {
	cmp "$T/redlock.bash" "$here/../../completions/redlock.bash"
	cmp "$T/_redlock" "$here/../../completions/_redlock"
	cmp "$T/redlock.fish" "$here/../../completions/redlock.fish"
	says 64 '' "redlock: missing shell
hint: name one: redlock completion bash, zsh or fish" completion
	says 64 '' "redlock: unknown shell 't\\\\x0acsh'
hint: name bash, zsh or fish" completion $'t\ncsh'
	says 64 '' "redlock: unknown shell ''*" completion ''
	says 64 '' "redlock: unexpected argument 'zsh'*" completion bash zsh
	says 0 'redlock completion bash|zsh|fish*' '' completion --help
	says 0 'redlock completion bash|zsh|fish*' '' help completion
	run -125 bash -c "'$REDLOCK_BUILD/redlock' completion fish > /dev/full"
	[ "$output" = "redlock: cannot write to stdout: No space left on device" ]
}

@test "a broken environment does not prevent the scripts from being printed" {
	REDLOCK_TTL=soon REDLOCK_CONFIG=$T/none REDLOCK_NODES='' says 0 '*complete -F _redlock redlock' '' completion bash
}

@test "every subcommand, and every option of each" {
	local command
	exactly 'redlock ' $(commands)
	exactly 'redlock co' completion config
	exactly 'redlock --' --help --version
	exactly 'redlock help --' --all $(for command in $(commands); do options "$command"; done | grep -oE -- '--[a-z-]+')
	for command in $(commands | grep -vx help); do
		exactly "redlock $command -" $(options "$command" | grep -oE -- '^-.| --[a-z-]+|^--[a-z-]+')
	done
	[ "${#LINE[@]}" -gt 15 ]
	judge $ALL
}

@test "every option's value is completed as the help names it" {
	local command letter option value seen=
	touch some-file
	for command in $(commands); do
		while read -r option value; do
			[[ "$seen" != *" $option $value "* ]] || continue
			case $value in
			D) exactly "redlock $command $option 7" 7ms 7s 7m 7h 7d ;;
			FILE) exactly "redlock $command $option so" some-file ;;
			PROGRAM) among "redlock $command $option tru" true truncate ;;
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

@test "values: durations, signals, nodes, processes, shells, commands" {
	exactly 'redlock run --ttl 1.5' 1.5{ms,s,m,h,d}
	exactly 'redlock run --ttl=2' 2{ms,s,m,h,d}
	exactly 'redlock run --ttl 3m' 3m{,s}
	exactly 'redlock run --max-run ' ''
	exactly 'redlock run --restart-guard=o' on off
	among 'redlock run --on-lost ' term kill warn hup usr1
	exactly 'redlock hold --on-lost u' urg usr1 usr2
	exactly 'redlock run --on-lost sigus' sigusr1 sigusr2
	exactly 'redlock run --node ' redis:// rediss:// unix://
	exactly 'redlock run --node redi' redis:// rediss://
	exactly 'redlock run --nodes redis' redis:// rediss://
	exactly 'redlock completion ' bash zsh fish
	exactly 'redlock completion zsh ' ''
	exactly 'redlock help r' release run
	exactly 'redlock help run ' ''
	exactly 'redlock help run --' --all
	exactly 'redlock help --ttl ' ''
	exactly 'redlock version ' ''
	exactly 'redlock run -Z' ''
	among 'redlock run -q' -qv -qk
	never 'redlock run -q' -qq
	exactly 'redlock run -nk' -nk
	among 'redlock doctor ' --ttl --json
	never 'redlock doctor ' -t
	never 'redlock run -n -q --json --' --no-wait --quiet --json
	among 'redlock run -v -k a --node b --' --verbose --key --node
	exactly 'redlock frobnicate ' ''
	exactly 'redlock frobnicate -' ''
	judge $ALL
}

@test "signals in capitals" {
	exactly 'redlock run --on-lost SIGUS' SIGUSR1 SIGUSR2
	exactly 'redlock run --on-lost=KI' KILL
	judge $ALL
}

@test "processes for --follow" {
	among 'redlock hold --follow ' $$
	judge bash bash-completion fish
	# zsh offers those of its own terminal: itself
	offers_of zsh <<< 'redlock hold --follow ' > "$T/got"
	grep -qx 'redlock hold --follow |[1-9][0-9]*' "$T/got"
}

@test "the command after the options is completed as if it stood alone, its options too" {
	local command commands=0 line
	touch some-file
	printf '#!/bin/sh\n' > "$T/bin/deploy"
	chmod +x "$T/bin/deploy"
	for command in $(commands); do
		[[ "$(redlock help "$command")" == *'[ARG...]'* ]] || continue
		commands=$((commands + 1))
		for line in "redlock $command -v" "redlock $command --" "redlock $command -v --" "redlock $command --log syslog" "redlock $command -vvq"; do
			among "$line depl" deploy
			exactly "$line deploy s" staging
			exactly "$line deploy staging --f" --force
		done
	done
	[ "$commands" -ge 2 ]
	exactly 'redlock run -k dep' ''
	exactly 'redlock run -nk dep' ''
	never 'redlock run -- --l' --limit --log
	judge bash-completion zsh fish
	# without the package, bash only knows commands and files
	RULE=() LINE=() WORDS=()
	among 'redlock run -k a depl' deploy
	exactly 'redlock run -k a:b -- deploy so' some-file
	exactly 'redlock run -k=a deploy --f' ''
	judge bash
}

# profiles: a configuration with these names, ordinary and malicious.
profiles() {
	printf '[%s]\n' 'n$(touch never)`touch never`' $'esc\e[31m' $'c1\xc2\x9b' $'rtl\xe2\x80\xae' $'b\xff' > "$1"
	printf '[%s]\n' 'a b' "it's \"q\" \\ \$x\`" 'co:lon' 'x=y' 'default' 'staging' >> "$1"
	printf 'ttl = 3s\n' >> "$1"
}

@test "the program on the line is asked, else that of PATH; a program without an answer completes nothing" {
	local answer
	mkdir -p "$HOME/own"
	printf '#!/bin/sh\nprintf "words\n\n\n--from-%s\n"' here > "$HOME/own/redlock"
	chmod +x "$HOME/own/redlock"
	exactly "$HOME/own/redlock run --" --from-here
	exactly '~/own/redlock run --' --from-here
	exactly "$HOME/none/redlock run --tt" --ttl
	judge $ALL
	RULE=() LINE=() WORDS=()
	printf '#!/bin/sh\n' > "$T/bin/sudo"
	chmod +x "$T/bin/sudo"
	exactly 'sudo redlock run --tt' --ttl
	exactly 'env X=1 redlock run --tt' --ttl
	judge zsh fish
	run -0 bash --norc -c 'source /usr/share/bash-completion/bash_completion; source "$T/redlock.bash"
		COMP_WORDS=(sudo redlock run --tt) COMP_CWORD=3 COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
		_command_offset 1 && echo "${COMPREPLY[*]}"'
	[ "$output" = --ttl ]
	RULE=() LINE=() WORDS=()
	exactly 'redlock run --' ''
	exactly 'redlock run -- a' ''
	exactly 'redlock ' ''
	for answer in 'echo oops >&2; exit 64' 'echo run; echo status; echo --; echo --ttl' 'echo "command 1a[\$(touch never)]"' 'kill -9 $$'; do
		printf '#!/bin/sh\n%s\n' "$answer" > "$T/bin/redlock"
		chmod +x "$T/bin/redlock"
		judge $ALL
	done
	[ ! -e never ]
}

@test "no text on the line is run or changes the answer" {
	exactly 'redlock run -k $(touch${IFS}never) --tt' --ttl
	exactly 'redlock run -k `touch${IFS}never` --tt' --ttl
	exactly 'redlock run -k ;touch${IFS}never; --tt' --ttl
	exactly 'redlock $(touch${IFS}never) --tt' ''
	exactly 'redlock run --config $(touch${IFS}never) --profile ' ''
	judge bash bash-completion
	[ ! -e never ]
	run -0 env -i "$REDLOCK_BUILD/redlock" completion words wait --restart-guard ''
	[ "$output" = $'words\n\n\nauto\non\noff' ]
	asked '' run $'--tt\n'
	asked '' run $'--key=\e'
	asked $'auto\non\noff' run -k $'\xff\n' --restart-guard ''
	run -0 redlock completion words run $'--key=\n'
	[ "$output" = "" ]
}

@test "profiles are those of the effective configuration" {
	profiles "$T/one"
	printf '[other]\n' > "$T/two"
	cp "$T/two" "$T/colon:and=more"
	printf 'nonsense\n[lost]\n' > "$T/broken"
	export REDLOCK_CONFIG=$T/one REDLOCK_PROFILE=unknown REDLOCK_TTL=soon
	exactly 'redlock run --profile st' staging
	exactly "redlock run --config $T/two -v --profile " other
	exactly "redlock doctor --config=$T/two --profile " other
	exactly "redlock wait --config $T/colon:and=more --profile " other
	exactly "redlock wait --config=$T/colon:and=more --profile " other
	exactly 'redlock run --config ~/two --profile ' other
	exactly "redlock run --config $T/broken --profile " ''
	exactly "redlock run --config $T/none --profile " ''
	exactly "redlock status --config $T/two -- --profile " ''
	judge $ALL
	asked "n\$(touch never)\`touch never\`
a b
it's \"q\" \\ \$x\`
co:lon
x=y
staging" run --profile ''
	# it has no writer
	mkfifo "$T/fifo"
	REDLOCK_CONFIG=$T/fifo asked '' run --profile ''
	REDLOCK_CONFIG=$T/broken asked '' run --profile ''
}

# on_terminal SHELL STEP...: plays the steps of `pty` with a shell that loads its completions as README.md says, and a
# redlock that prints its arguments. The prompt is "go> ".
on_terminal() {
	local shell=$1 package=/usr/share/bash-completion/bash_completion
	shift
	{
		[ "$shell" != bash-completion ] || echo "source $package"
		[ "$shell" != zsh ] || printf '%s\n' 'unsetopt beep' 'autoload -Uz compinit; compinit -D -u' "${ZSH_SETTINGS:-}"
		if [ "$shell" = fish ]; then
			echo 'redlock completion fish | source'
			echo "function redlock; printf '[%s]' \$argv; echo; end"
			echo "function fish_prompt; printf 'go> '; end"
		else
			echo "source <(redlock completion ${shell%-*})"
			printf '%s\n' "redlock() { printf '[%s]' \"\$@\"; echo; }" "PS1='go> '" "${BASH_SETTINGS:-}"
		fi
	} > "$T/.zshrc"
	case $shell in
	bash*) set -- "$@" -- bash --noprofile --rcfile "$T/.zshrc" -i ;;
	zsh) set -- "$@" -- env ZDOTDIR="$T" zsh -d -i ;;
	fish) set -- "$@" -- fish -C "source $T/.zshrc" ;;
	esac
	run -0 "$REDLOCK_BUILD/tools/pty" "$@"
}

# typed SHELL: each line of stdin is LINE, a tab, and the arguments that redlock must get: LINE is typed, then Tab, then
# Enter.
typed() {
	local line words steps=()
	profiles "$T/one"
	export REDLOCK_CONFIG=$T/one
	printf '[other]\n' > 'a file'
	touch "$HOME/in home"
	# hosts, as bash knows them and as the others do
	export HOSTFILE=$T/hosts
	echo '192.0.2.1 cache1' > "$T/hosts"
	mkdir -p "$HOME/.ssh"
	echo 'cache1 ssh-ed25519 AAAA' > "$HOME/.ssh/known_hosts"
	while IFS=$'\t' read -r line words; do
		line=${line//\\/\\x5c}
		steps+=(expect:'go> ' send:"$line\\x09\\r" expect:"$words")
	done
	on_terminal "$1" "${steps[@]}" expect:'go> ' send:'exit\r'
	[ ! -e never ]
}

# what_is_typed: lines for `typed`; the shell quotes special characters.
what_is_typed() {
	cat <<-END
		redlock run --prof	[run][--profile]
		redlock run --profile st	[run][--profile][staging]
		redlock run --profile=st	[run][--profile=staging]
		redlock run --profile a	[run][--profile][a b]
		redlock run --profile "a	[run][--profile][a b]
		redlock run --profile=it	[run][--profile=it's "q" \\ \$x\`]
		redlock run --profile it\\'s\\ \\"	[run][--profile][it's "q" \\ \$x\`]
		redlock run --profile co:	[run][--profile][co:lon]
		redlock run --profile=co	[run][--profile=co:lon]
		redlock run --profile 'co:	[run][--profile][co:lon]
		redlock run --profile n	[run][--profile][n\$(touch never)\`touch never\`]
		redlock run --profile x=	[run][--profile][x=y]
		redlock run --config a\\ file --profile o	[run][--config][a file][--profile][other]
		redlock run --record a	[run][--record][a file]
		redlock run --record ~/in	[run][--record][$T/in home]
		redlock run --node unix://$T/work/a	[run][--node][unix://$T/work/a file]
		redlock run --node rediss://cac	[run][--node][rediss://cache1
		redlock run --nodes redis://a,un	[run][--nodes][redis://a,unix://
		redlock run -nt1m	[run][-nt1m
	END
}

@test "Tab on a terminal, bash" {
	local shell
	for shell in bash bash-completion; do
		typed $shell <<-END
			$(what_is_typed)
			redlock run --record='a	[run][--record=a file]
			redlock run --profile "it	[run][--profile][it's "q" \\ \$x\`]
			redlock run --profile 'it	[run][--profile][it's "q" \\ \$x\`]
			redlock run --nodes 'redis://a,ss:1 un	[run][--nodes][redis://a,ss:1 unix://
		END
	done
}

@test "Tab on a terminal, bash: set -eu, and words that are not split at = and :" {
	local shell
	for shell in bash bash-completion; do
		BASH_SETTINGS="set -eu; COMP_WORDBREAKS=\${COMP_WORDBREAKS//[:=]/}" typed $shell <<-END
			redlock run --nonsense	[run][--nonsense]
			redlock run --prof	[run][--profile]
			redlock run --profile co:	[run][--profile][co:lon]
			redlock run --profile=co:	[run][--profile=co:lon]
			redlock run --config=a\\ file --profile=o	[run][--config=a file][--profile=other]
			redlock 'run' --prof	[run][--profile]
		END
	done
}

@test "Tab on a terminal, zsh: with arrays as in ksh" {
	ZSH_SETTINGS='setopt ksh_arrays' typed zsh <<-END
		redlock run --profile=st	[run][--profile=staging]
		redlock run -k x -- redlock --ver	[run][-k][x][--][redlock][--version]
	END
}

@test "Tab on a terminal, zsh" {
	typed zsh <<-END
		$(what_is_typed)
		redlock run --record='a	[run][--record=a file]
		redlock run --profile "it	[run][--profile][it's "q" \\ \$x\`]
		redlock run --profile 'it	[run][--profile][it's "q" \\ \$x\`]
	END
}

# (fish 4 does not look for files after --record='a)
@test "Tab on a terminal, fish" {
	typed fish <<-END
		$(what_is_typed)
		redlock run --profile "it	[run][--profile][it's "q" \\ \$x\`]
		redlock run --restart-guard=O	[run][--restart-guard=O]
		redlock run --on-lost=SIGKI	[run][--on-lost=SIGKILL]
	END
}

@test "zsh and fish show the purpose of an option" {
	on_terminal zsh expect:'go> ' send:'redlock run --no\x09' expect:'-- address of a node; repeat it' send:'\x15exit\r'
	run -0 fish -c "source $T/redlock.fish; complete -C 'redlock run --nod'"
	[[ "$output" == *$'--node\taddress of a node; repeat it'* ]]
}

@test "keys that are held on this machine are offered, and no node is asked" {
	local shell
	nodes_start 1
	redlock hold -k db > "$T/held"
	redlock hold -k "we'b \$1" > "$T/held"
	redlock hold -k one -k two > "$T/held"
	redlock hold -k $'a\nline' > "$T/held"
	redlock hold -k $'esc\e[31m' > "$T/held"
	redlock hold -k $'c1\xc2\x9b' > "$T/held"
	redlock hold -k $'b\xff' > "$T/held"
	asked "db
one
two
we'b \$1" release -k ''
	printf '#!/bin/sh\necho "$@" >> "$T/asked"\nexec "$REDLOCK_BUILD/redlock" "$@"\n' > "$T/bin/redlock"
	chmod +x "$T/bin/redlock"
	among 'redlock release -k ' db one two
	exactly 'redlock release -k db --key o' one
	exactly 'redlock release d' db
	exactly 'redlock wait -n d' db
	exactly 'redlock wait db t'
	exactly 'redlock status -k t' two
	exactly 'redlock status one --limit 3 t' two
	exactly 'redlock status d' db
	exactly 'redlock status one t' two
	exactly 'redlock break --key=t' two
	exactly 'redlock status -L 3 -- d' db
	among 'redlock acquire --node ' redis://
	exactly 'redlock run --profile ' ''
	judge $ALL
	# once per Tab
	run -1 grep -v '^completion words ' "$T/asked"
	[ "$(wc -l < "$T/asked")" -eq $((4 * ${#LINE[@]})) ]
	for shell in $ALL; do
		typed $shell <<-END
			redlock release -k we	[release][-k][we'b \$1]
		END
	done
	redlock release -k one -k two
	redlock release -k db
	redlock release -k "we'b \$1"
	redlock release -k $'a\nline'
	redlock release -k $'esc\e[31m'
	redlock release -k $'c1\xc2\x9b'
	redlock release -k $'b\xff'
	asked '' release -k ''
	XDG_RUNTIME_DIR=$T/none asked '' release -k ''
}
