# bash completion for redlock: `redlock completion bash` prints it. It wants bash 4.4, and works best with the package
# bash-completion, which knows how the command behind `redlock run --` is completed. At Tab, redlock itself says what can
# follow (src/cmd/offers.h has the form of its answer). Nodes are never asked.
# All of these functions share the variables of _redlock_complete.

# _redlock_unquote WORD: what it means in $plain; in $quote the quote that is still open, and in $opened where.
_redlock_unquote() {
	local rest=$1 c
	plain='' quote='' opened=0
	while [[ $rest ]]; do
		c=${rest:0:1} rest=${rest:1}
		case $quote$c in
		\' | \") quote=$c opened=${#plain} ;;
		"''" | '""') quote= ;;
		'\' | '"\')
			[[ $quote && $rest != [\"\\\$\`]* ]] && plain+=$c
			plain+=${rest:0:1} rest=${rest:1}
			;;
		*) plain+=$c ;;
		esac
	done
}

# Bash takes words apart at = and : and @, too. $words are those that were meant, up to the cursor, $at is where each
# begins in COMP_WORDS, and $kept what stands in the last one before the part that readline will replace.
_redlock_read_words() {
	local line=${COMP_LINE:0:COMP_POINT} i word last=
	words=() at=() kept=
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $i -gt 0 && $line != [[:space:]]* && ($word == [:=@]* || $last == *[:=@]) ]]; then
			kept=${words[-1]}
		else
			words+=('') at+=("$i") kept=
			line=${line#"${line%%[![:space:]]*}"}
		fi
		((i < COMP_CWORD)) || word=$line
		line=${line#"$word"}
		words[-1]+=$word
		last=$word
	done
	[[ $last != *[:=@] || $COMP_WORDBREAKS != *"${last: -1}"* ]] || kept=${words[-1]}
	_redlock_unquote "$kept"
	kept=$plain
	for i in "${!words[@]}"; do
		_redlock_unquote "${words[i]}"
		words[i]=$plain
	done
	[[ ! $quote ]] || kept=${plain:0:opened}
}

# _redlock_offer WORD...: those that begin with what was typed, quoted as that is.
_redlock_offer() {
	local word
	for word; do
		word=$lead$word
		[[ $word == "$plain"* ]] || continue
		word=${word:${#kept}}
		case $quote in
		\') word=${word//\'/"'\''"} ;;
		\")
			word=${word//\\/\\\\} word=${word//\"/\\\"}
			word=${word//\$/\\\$} word=${word//\`/\\\`}
			;;
		*)
			printf -v word %q "$word"
			word=${word//\\,/,} # only braces make it special
			;;
		esac
		COMPREPLY+=("$word")
	done
}

# _redlock_offer_files HOW...: compgen's; readline quotes them.
_redlock_offer_files() {
	local word
	compopt -o filenames 2> /dev/null
	while IFS= read -r word; do
		word=$lead$word
		COMPREPLY+=("${word:${#kept}}")
	done < <(compgen "$@" -- "${plain:${#lead}}" 2> /dev/null)
}

# _redlock_offer_command_line I: the command, or what comes behind it, begins in that word.
_redlock_offer_command_line() {
	if declare -F _comp_command_offset > /dev/null; then
		_comp_command_offset "${at[$1]}"
	elif declare -F _command_offset > /dev/null; then
		_command_offset "${at[$1]}"
	elif (($1 == ${#words[@]} - 1)) && [[ $plain != */* ]]; then
		_redlock_offer_files -c -d
	else
		_redlock_offer_files -f
	fi
}

_redlock_complete() {
	local IFS=$' \t\n' words at kept plain quote opened program lead answer more
	COMPREPLY=()
	_redlock_read_words
	program=${words[0]/#'~/'/"$HOME/"}
	[[ $program == */* && -f $program && -x $program ]] || program=redlock
	mapfile -t answer < <(command "$program" completion words "${words[@]:1}" < /dev/null 2> /dev/null)
	lead=${answer[1]-}
	case ${answer[0]-} in
	words) ;;
	beginnings) compopt -o nospace 2> /dev/null ;;
	files) _redlock_offer_files -f ;;
	programs) _redlock_offer_files -c ;;
	processes)
		more=(/proc/[0-9]*)
		_redlock_offer "${more[@]#/proc/}"
		;;
	hosts)
		compopt -o nospace 2> /dev/null
		mapfile -t more < <(compgen -A hostname 2> /dev/null)
		_redlock_offer "${more[@]}"
		;;
	'command '*[!0-9]*) return ;;
	'command '?*) _redlock_offer_command_line $((${answer[0]#* } + 1)) ;;
	*) return ;;
	esac
	answer=("${answer[@]:3}")
	_redlock_offer "${answer[@]%%$'\t'*}"
}

# Finding nothing must not end a shell with set -e.
_redlock() {
	_redlock_complete || return 0
}

complete -F _redlock redlock
