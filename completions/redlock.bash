# bash completion for redlock: `redlock completion bash` prints it. It wants bash 4.4, and works best with the package
# bash-completion, which knows how the command behind `redlock run --` is completed. Nodes are never asked.

declare -ga _redlock_names=() _redlock_signals=()
declare -gA _redlock_usages=() _redlock_options=()

# A row of the table of commands: name, usage, what it does.
_redlock_command() {
	_redlock_names+=("$1")
	_redlock_usages[$1]=$2
}

# A row of the table of options: whose it is, letter, name, what its value is (if it wants one), what it is for.
_redlock_option() {
	local IFS=' ' command
	for command in $1; do
		_redlock_options[$command]+="${2:+-$2=$4 }--$3=$4 "
	done
	_redlock_options[help]+="--$3= " # of any command, as a word
}

# Every signal but the real-time ones.
_redlock_signals() {
	_redlock_signals=("${@,,}")
}

# BEGIN GENERATED shell-commands
_redlock_command run '[options] -k KEY [--] COMMAND [ARG...]' 'take the lock, run COMMAND, keep the lock meanwhile, release it'
_redlock_command acquire '[options] -k KEY' 'take the lock and leave it taken: prints its token'
_redlock_command extend '[options] -k KEY --token TOKEN' 'give a lock that is held a new TTL'
_redlock_command release '[options] -k KEY [--token TOKEN]' 'release a lock by its token, or one that '\''hold'\'' keeps here'
_redlock_command check '[options] -k KEY --token TOKEN' 'is the lock still ours, and for long enough? Prints for how long'
_redlock_command wait '[options] -k KEY' 'wait until the lock is free, without taking it'
_redlock_command hold '[options] -k KEY' 'take the lock and keep it in the background: prints its token and the pid of that process'
_redlock_command status '[options] [KEY...]' 'show the holder of each lock, since when and for how long; without KEY: all locks'
_redlock_command break '[options] -k KEY' 'show the holder of a lock and, after confirmation, end its command and the lock'
_redlock_command gate '--fence N --store FILE [--] COMMAND [ARG...]' 'the resource'\''s side of fencing: run COMMAND unless a newer number was seen'
_redlock_command doctor '[options]' 'check nodes and settings, say what is unsafe, and how to fix it'
_redlock_command config '[options]' 'show the settings, and where each comes from: what '\''run'\'' with these options would use'
_redlock_command sandbox '[options] [--] [COMMAND [ARG...]]' 'run COMMAND, or a shell, with throwaway nodes that end with it'
_redlock_command completion 'bash|zsh|fish' 'print what makes that shell complete redlock'\''s command lines'
_redlock_command help '[COMMAND|--OPTION|STATUS]' 'show this, the options of COMMAND, what an option does, or an exit status means'
_redlock_command version '' 'show the version'
# END GENERATED

# BEGIN GENERATED shell-options
_redlock_option 'run acquire extend release check wait hold config' 'k' key 'KEY' 'the lock'\''s name, used as the Redis key byte for byte; repeat it for several: all or none'
_redlock_option 'break' 'k' key 'KEY' 'the lock'\''s name, used as the Redis key byte for byte'
_redlock_option 'run acquire wait hold config' 's' shared '' 'readers: together with all who say so, and with nobody else'
_redlock_option 'run acquire wait hold config' 'x' exclusive '' 'a writer: with nobody else, as without --shared'
_redlock_option 'status' 'L' limit 'N' 'each KEY is a semaphore of N slots: how many are held, and each of them'
_redlock_option 'run acquire extend release check wait hold break config' 'L' limit 'N' 'a semaphore: at most N holders, each in a slot of its own (1..1000)'
_redlock_option 'extend release check break' '' slot 'I' 'with --limit: which slot the lock has, as REDLOCK_SLOT says'
_redlock_option 'extend release check' '' token 'TOKEN' 'what '\''redlock acquire'\'' printed; ID#SLOT names the slot as well'
_redlock_option 'break' '' token 'TOKEN' 'end only the holder with this token, such as one reader'
_redlock_option 'break' 'w' wait 'D' 'wait for the holder'\''s end for D at most'
_redlock_option 'break' 'n' no-wait '' 'do not wait: the same as -w 0'
_redlock_option 'break' 'f' force '' 'remove the lock at once, although its command may still be running'
_redlock_option 'run' '' takeover '' 'end the command that holds the lock, and be the next to run'
_redlock_option 'extend release check' '' token-file 'FILE' 'read the token from FILE; -: from stdin'
_redlock_option 'run acquire extend hold doctor config' 't' ttl 'D' 'how long the lock outlives its holder'\''s silence'
_redlock_option 'run acquire wait hold gate config' 'w' wait 'D' 'give up after D; 0: do not wait'
_redlock_option 'run acquire wait hold gate config' 'n' no-wait '' 'do not wait: the same as -w 0'
_redlock_option 'run acquire wait hold gate config' 'E' conflict-exit-code 'N' 'the exit status when somebody else holds the lock'
_redlock_option 'run acquire hold config' '' fair '' 'never pass others who wait; all who use the key should say so'
_redlock_option 'run acquire hold config' '' fence '' 'obtain a number larger than every earlier one of this key: REDLOCK_FENCE'
_redlock_option 'gate' '' fence 'N' 'the fencing number of whoever comes'
_redlock_option 'gate config' '' store 'FILE' 'where the newest number is kept, on the side of the resource'
_redlock_option 'run acquire hold config' '' owner 'TEXT' 'what others are shown as the holder'
_redlock_option 'check config' '' min-validity 'D' 'less time than this counts as lost'
_redlock_option 'run config' 'c' shell 'STRING' 'run STRING with $SHELL -c, or /bin/sh -c'
_redlock_option 'hold' '' follow 'PID' 'release when that process ends; what --on-lost says is sent to it'
_redlock_option 'hold' '' list '' 'show the locks that this user holds in the background'
_redlock_option 'run hold config' '' on-lost 'term|kill|warn|SIG' 'first signal to the command if the lock is lost; warn: let the command run on'
_redlock_option 'run hold config' '' signal 'SIG' 'first signal to the command after --max-run, or if the lock is lost'
_redlock_option 'run hold config' '' kill-after 'D' 'send SIGKILL if the command still runs D after TERM, INT or QUIT. After a loss and --max-run SIGKILL follows in any case, by default after a tenth of the TTL, at most 10s'
_redlock_option 'run hold config' '' max-run 'D' 'terminate COMMAND after D (waiting not counted): a signal, then SIGKILL; status 124'
_redlock_option 'run config' '' min-hold 'D' 'leave the lock taken until D since COMMAND started, if that was shorter'
_redlock_option 'run config' '' reentrant '' 'inside a run that holds the key already: just run COMMAND'
_redlock_option 'run config' '' wait-descendants '' 'wait also for what COMMAND leaves behind, and release the lock then'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' node 'URL' 'a node; repeat it: redis://[user:password@]host[:port][/db], rediss:// (TLS), host:port, unix:///path'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' nodes 'LIST' 'nodes, separated by commas or spaces'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' username 'USER' 'the nodes'\'' ACL user, where the URL names none'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' password-file 'FILE' 'its first line is the nodes'\'' password; or set REDLOCK_PASSWORD'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' cacert 'FILE' 'TLS: the authorities that a node'\''s certificate may come from'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' cert 'FILE' 'TLS: our own certificate, for nodes that want one'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' key-file 'FILE' 'TLS: its private key, without a passphrase'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' sni 'NAME' 'TLS: the name that a node'\''s certificate must be for'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' insecure '' 'TLS: talk to whoever answers: do not look at certificates'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' node-timeout 'D' 'longest wait for one node'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' drift-factor 'F' 'share of the TTL set aside for clocks that run apart'
_redlock_option 'run acquire extend wait hold doctor config' '' restart-guard 'auto|on|off' 'a node that is new or forgot its keys has no vote until all locks have ended'
_redlock_option 'run acquire extend wait hold doctor config' '' max-ttl 'D' 'the longest --ttl that anybody uses: so long a node has no vote then'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' key-format 'FMT' 'how a name becomes the Redis key: %s is the name, %% a percent sign'
_redlock_option 'doctor' '' admit '' 'instead: let nodes vote at once that are known to hold no locks'
_redlock_option 'sandbox' 'n' number 'N' 'how many nodes (1..15)'
_redlock_option 'sandbox' '' server 'PROGRAM' 'what the nodes run'
_redlock_option 'status' '' watch '' 'show it again and again, on a terminal in place'
_redlock_option 'doctor config' '' strict '' 'status 1 for warnings, and for errors that leave a quorum'
_redlock_option 'break doctor' 'y' yes '' 'do not ask'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' 'v' verbose '' 'say what is decided; twice: and every node'\''s answer'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' 'q' quiet '' 'say nothing but errors: not even "busy"'
_redlock_option 'run acquire extend release check wait hold status break doctor config' '' json '' 'results as one JSON document on stdout, words as JSON lines on stderr'
_redlock_option 'acquire hold' '' format 'plain|env|json' 'what is printed; env: lines for the shell'\''s eval'
_redlock_option 'run hold config' '' record 'FILE' 'append one line of JSON: waited, held, extensions, outcome, status'
_redlock_option 'run hold config' '' metrics-file 'FILE' 'keep FILE up to date for Prometheus'\'' textfile collector'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' '' log 'stderr|syslog|FILE' 'where words go'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' '' config 'FILE' 'what is not said here or in the environment'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' '' profile 'PROFILE' 'which section of that file'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' 'h' help '' 'show the options'
_redlock_option 'run acquire extend release check wait hold status break gate doctor config sandbox' '' version '' 'show the version'
# END GENERATED

# BEGIN GENERATED shell-signals
_redlock_signals HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH POLL PWR SYS
# END GENERATED

# All of these share the variables of _redlock.

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
	_redlock_unquote "${words[-1]}"
	[[ ! $quote ]] || kept=${plain:0:opened}
}

# _redlock_wants OPTION: what its value is, in $wanted; false if it wants none.
_redlock_wants() {
	local row
	for row in ${_redlock_options[$command]-}; do
		[[ $row == "$1="?* ]] && wanted=${row#*=} && return
	done
	return 1
}

# _redlock_read_option WORD: the same of the option in it; and in $lead what stands before the value, if both are in
# that word, as in --key=KEY and -nkKEY.
_redlock_read_option() {
	local n
	wanted='' lead=''
	case $1 in
	--*=*) _redlock_wants "${1%%=*}" && lead=${1%%=*}= ;;
	--*) _redlock_wants "$1" ;;
	-*)
		for ((n = 1; n < ${#1}; n++)); do
			_redlock_wants "-${1:n:1}" || continue
			((n + 1 == ${#1})) || lead=${1:0:n+1}
			break
		done
		;;
	esac
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

# What redlock says of this machine: profiles, or keys that are held.
_redlock_offer_known() {
	local lines
	mapfile -t lines < <([[ ! $config ]] || export REDLOCK_CONFIG="${config/#'~/'/$HOME/}"
		command redlock completion "$1" < /dev/null 2> /dev/null)
	_redlock_offer "${lines[@]}"
}

_redlock_offer_durations() {
	local number=${plain:${#lead}}
	number=${number%%[!0-9.]*}
	[[ $number != [0-9]* ]] || _redlock_offer "$number"{ms,s,m,h,d}
}

# In whatever case they are typed.
_redlock_offer_signals() {
	local typed=${plain:${#lead}} names=("${_redlock_signals[@]}") name
	[[ $typed != [sS][iI][gG]* ]] || names=("${names[@]/#/sig}")
	[[ $typed != *[[:upper:]]* ]] || names=("${names[@]^^}")
	for name in "${names[@]}"; do
		[[ ${name,,} != "${typed,,}"* ]] || _redlock_offer "$typed${name:${#typed}}"
	done
}

_redlock_offer_urls() {
	local typed=${plain:${#lead}} hosts
	compopt -o nospace 2> /dev/null
	case $typed in
	unix://*)
		lead+=unix://
		_redlock_offer_files -f
		;;
	redis://* | rediss://*)
		lead+=${typed%%//*}//
		mapfile -t hosts < <(compgen -A hostname 2> /dev/null)
		_redlock_offer "${hosts[@]}"
		;;
	*) _redlock_offer redis:// rediss:// unix:// ;;
	esac
}

# _redlock_offer_values WHAT: as in the tables, such as auto|on|off, stderr|syslog|FILE or D.
_redlock_offer_values() {
	local kinds kind processes
	IFS='|' read -ra kinds <<< "$1"
	for kind in "${kinds[@]}"; do
		case $kind in
		FILE) _redlock_offer_files -f ;;
		PROGRAM) _redlock_offer_files -c ;;
		D) _redlock_offer_durations ;;
		SIG) _redlock_offer_signals ;;
		KEY) _redlock_offer_known keys ;;
		PROFILE) _redlock_offer_known profiles ;;
		PID)
			processes=(/proc/[0-9]*)
			_redlock_offer "${processes[@]#/proc/}"
			;;
		URL) _redlock_offer_urls ;;
		LIST)
			kind=${plain:${#lead}}
			[[ $kind != *[,\ ]* ]] || lead+=${kind%"${kind##*[, ]}"}
			_redlock_offer_urls
			;;
		[[:lower:]]*) _redlock_offer "$kind" ;;
		esac
	done
}

_redlock_offer_options() {
	local row
	for row in ${_redlock_options[$command]-}; do
		[[ $row == -[!-]* && $plain != -* ]] || _redlock_offer "${row%%=*}"
	done
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

# _redlock_offer_operands I: the first of them is that word.
_redlock_offer_operands() {
	local is_first=$(($1 == ${#words[@]} - 1))
	case ${_redlock_usages[$command]} in
	*'[ARG...]'*) _redlock_offer_command_line "$1" ;;
	*'[KEY...]') _redlock_offer_values KEY ;;
	'[COMMAND|'*) ((is_first && $1 == 2)) && _redlock_offer "${_redlock_names[@]}" ;;
	*'|'*) ((is_first)) && _redlock_offer_values "${_redlock_usages[$command]}" ;;
	*) ((is_first)) && [[ ! $plain ]] && _redlock_offer_options ;;
	esac
}

_redlock_complete() {
	local IFS=$' \t\n' words at kept plain quote opened lead='' wanted='' command config='' option value cursor i
	COMPREPLY=()
	_redlock_read_words
	cursor=$((${#words[@]} - 1))
	if ((cursor == 1)); then
		_redlock_offer "${_redlock_names[@]}"
		[[ $plain != -* ]] || _redlock_offer --help --version
		return 0
	fi
	_redlock_unquote "${words[1]}"
	command=$plain
	[[ " ${_redlock_names[*]} " == *" $command "* ]] || return 0
	for ((i = 2; i < cursor; i++)); do
		_redlock_unquote "${words[i]}"
		option=$plain
		[[ $option == -?* && $option != -- ]] || break
		_redlock_read_option "$option"
		value=${option:${#lead}}
		if [[ $wanted && ! $lead ]]; then
			((++i < cursor)) || break
			_redlock_unquote "${words[i]}"
			value=$plain
		fi
		[[ $option != --config && $lead != --config= ]] || config=$value
		wanted='' lead=''
	done
	_redlock_unquote "${words[cursor]}"
	if [[ $wanted ]]; then
		_redlock_offer_values "$wanted"
	elif ((i < cursor)); then
		[[ $option != -- ]] || i=$((i + 1))
		_redlock_offer_operands "$i"
	else
		_redlock_read_option "$plain"
		if [[ $lead ]]; then
			_redlock_offer_values "$wanted"
		elif [[ $plain == -* ]]; then
			_redlock_offer_options
		else
			_redlock_offer_operands "$i"
		fi
	fi
}

# Finding nothing must not end a shell with set -e.
_redlock() {
	_redlock_complete || return 0
}

complete -F _redlock redlock
