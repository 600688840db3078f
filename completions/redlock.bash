# bash completion for redlock: `redlock completion bash` prints it. It wants bash 4.4, and works best with the package
# bash-completion, which knows how the command behind `redlock run --` is completed. Nodes are never asked.

declare -ga _redlock_names=() _redlock_signals=()
declare -gA _redlock_usages=() _redlock_options=([help]='--all= ')

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
_redlock_command run '[options] -k KEY [--] COMMAND [ARG...]' 'acquire the lock, run COMMAND, release the lock'
_redlock_command status '[options] [KEY...]' 'show the lock of each KEY, or all held locks, with holder, age and remaining time'
_redlock_command doctor '[options]' 'check nodes and settings; report each problem and its fix'
_redlock_command sandbox '[options] [--] [COMMAND [ARG...]]' 'run COMMAND, or a shell, with temporary nodes that end with it'
_redlock_command acquire '[options] -k KEY' 'acquire the lock and print its token, for scripts of several steps'
_redlock_command extend '[options] -k KEY --token TOKEN' 'renew the TTL of a held lock'
_redlock_command release '[options] -k KEY [--token TOKEN]' 'release a lock by its token, or a lock that '\''redlock hold'\'' holds on this host'
_redlock_command check '[options] -k KEY --token TOKEN' 'check that a token still holds its lock, and print the remaining time'
_redlock_command wait '[options] -k KEY' 'wait until the lock is free, without acquiring it'
_redlock_command hold '[options] -k KEY' 'hold the lock in the background; print its token and the pid of the background holder'
_redlock_command gate '--fence N --store FILE [--] COMMAND [ARG...]' 'on a resource'\''s host: run COMMAND, or refuse it if its fencing number is outdated'
_redlock_command break '[options] -k KEY' 'end a lock and its holder'\''s command, after confirmation'
_redlock_command config '[options]' 'show all settings that '\''redlock run'\'' would use, and the source of each'
_redlock_command completion 'bash|zsh|fish' 'print the completion script for a shell'
_redlock_command help '[--all] [COMMAND|--OPTION|STATUS]' 'show help on redlock, a subcommand, an option or an exit status'
_redlock_command version '' 'show the versions of redlock and its libraries, and whether it supports TLS'
# END GENERATED

# BEGIN GENERATED shell-options
_redlock_option 'run acquire extend release check wait hold config' 'k' key 'KEY' 'name of the lock, which is also its Redis key; repeat it for several locks, of which redlock acquires all or none'
_redlock_option 'break' 'k' key 'KEY' 'name of the lock to end; only one'
_redlock_option 'doctor' 'k' key 'KEY' 'name of a lock; doctor checks that its user on the nodes has rights to the key'
_redlock_option 'run acquire wait hold config' 's' shared '' 'shared (read) lock: compatible with other shared locks only'
_redlock_option 'run acquire wait hold config' 'x' exclusive '' 'exclusive (write) lock: compatible with no other lock; the default'
_redlock_option 'status' 'L' limit 'N' 'treat each KEY as a semaphore of N slots, and list the slots'
_redlock_option 'run acquire wait hold config' 'L' limit 'N' 'semaphore: up to N holders (1..1000) at once, each in its own slot'
_redlock_option 'extend release check break' 'L' limit 'N' 'semaphore: the limit with which the lock was acquired'
_redlock_option 'extend release check break' '' slot 'I' 'with --limit: number of the lock'\''s slot, as in REDLOCK_SLOT'
_redlock_option 'extend release check' '' token 'TOKEN' 'token of the lock, printed by '\''redlock acquire'\''; ID#SLOT includes the slot'
_redlock_option 'break' '' token 'TOKEN' 'end only the holder with this token, for example one of several readers'
_redlock_option 'break' 'w' wait 'D' 'longest wait until the lock has ended'
_redlock_option 'break' 'n' no-wait '' 'do not wait; same as -w 0'
_redlock_option 'break' 'f' force '' 'remove the lock at once, even if its command is still running'
_redlock_option 'run' '' takeover '' 'terminate the command of the present holder, and run COMMAND before all waiters; of several waiters with --takeover, the newest is the first'
_redlock_option 'extend release check' '' token-file 'FILE' 'read the token from FILE; - means stdin'
_redlock_option 'extend' 't' ttl 'D' 'new lifetime of the lock, from now on; never shortens it'
_redlock_option 'doctor' 't' ttl 'D' 'lock lifetime that clients of these nodes use'
_redlock_option 'run acquire hold config' 't' ttl 'D' 'lock lifetime, extended automatically by '\''run'\'' and '\''hold'\'''
_redlock_option 'run acquire wait hold config' 'w' wait 'D' 'longest wait for the lock; 0: do not wait'
_redlock_option 'run acquire wait hold config' 'n' no-wait '' 'do not wait; same as -w 0'
_redlock_option 'gate' 'w' wait 'D' 'longest wait for the command of an earlier gate with the same store; 0: do not wait'
_redlock_option 'gate' 'n' no-wait '' 'do not wait; same as -w 0'
_redlock_option 'gate' 'E' conflict-exit-code 'N' 'exit status if the command of an earlier gate is still running'
_redlock_option 'run acquire wait hold config' 'E' conflict-exit-code 'N' 'exit status if another client holds the lock'
_redlock_option 'run acquire hold config' '' fair '' 'serve waiters strictly in order of arrival; all clients of the key must set it'
_redlock_option 'run acquire hold config' '' fence '' 'get a fencing number in REDLOCK_FENCE, larger than all earlier ones of the key; a resource can reject commands with an older number: see '\''redlock gate'\'''
_redlock_option 'gate' '' fence 'N' 'fencing number of the lock'\''s holder, as in its REDLOCK_FENCE'
_redlock_option 'gate config' '' store 'FILE' 'file that stores the newest fencing number, on the host of the protected resource'
_redlock_option 'run acquire hold config' '' owner 'TEXT' 'text that other clients see as the holder'
_redlock_option 'check config' '' min-validity 'D' 'treat a lock with less remaining time than D as lost'
_redlock_option 'run' 'c' command 'STRING' 'run STRING with $SHELL -c; with /bin/sh -c if SHELL is not set'
_redlock_option 'hold' '' follow 'PID' 'release the lock when process PID exits; a loss of the lock sends PID the signal of --on-lost'
_redlock_option 'hold' '' list '' 'list the locks that this user holds in the background'
_redlock_option 'run config' '' on-lost 'term|kill|warn|SIG' 'first signal to the command if the lock is lost; warn: only print a warning'
_redlock_option 'hold' '' on-lost 'term|kill|warn|SIG' 'first signal to the process of --follow if the lock is lost; warn: only print a warning'
_redlock_option 'run hold config' '' signal 'SIG' 'first signal to the command, or to the process that --follow names, when --max-run ends or the lock is lost'
_redlock_option 'run hold config' '' kill-after 'D' 'time from the first signal to SIGKILL'
_redlock_option 'run config' '' max-run 'D' 'terminate COMMAND after D; the wait for the lock does not count; exit status 124'
_redlock_option 'hold' '' max-run 'D' 'terminate the process of --follow, and release the lock, after D; the wait for the lock does not count'
_redlock_option 'run config' '' min-hold 'D' 'hold the lock for at least D, even if COMMAND exits sooner'
_redlock_option 'run config' '' once-per 'D' 'for cron: run COMMAND at most once per D on all hosts together; sets --no-wait, --conflict-exit-code 0, and a --node-wait that is long enough for restarted nodes to vote again, unless these options are given'
_redlock_option 'run config' '' reentrant '' 'if an enclosing redlock already holds KEY, run COMMAND under that lock'
_redlock_option 'run config' '' wait-descendants '' 'release the lock only when all processes that COMMAND started have ended'
_redlock_option 'run hold config' '' on-event 'STRING' 'run STRING with /bin/sh -c at each event; REDLOCK_EVENT names it: acquired, released, lost, busy, done or no-quorum'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' node 'URL' 'address of a node; repeat it for each node: redis://[user:password@]host[:port][/db], rediss:// (TLS), host:port, unix:///path'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' nodes 'LIST' 'addresses of all nodes, separated by commas or spaces'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' username 'USER' 'ACL user for nodes without a user in their URL'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' password-file 'FILE' 'file with the nodes'\'' password in its first line; or set REDLOCK_PASSWORD'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' cacert 'FILE' 'TLS: CA certificates to verify the nodes'\'' certificates with'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' cert 'FILE' 'TLS: client certificate, for nodes that require one'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' cert-key 'FILE' 'TLS: private key of the client certificate, without a passphrase'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' sni 'NAME' 'TLS: host name that the nodes'\'' certificates must have'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' insecure '' 'TLS: do not verify the nodes'\'' certificates'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' node-timeout 'D' 'longest wait for one node'\''s reply'
_redlock_option 'run acquire wait hold config' '' node-wait 'D' 'longest wait until a majority of the nodes is usable; with this option, --wait limits only the wait for other holders'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' drift-factor 'F' 'share of the TTL reserved for clocks that run at different speeds'
_redlock_option 'run doctor acquire extend wait hold config' '' restart-guard 'auto|on|off' 'ignore a node that is new or lost its keys, until each lock that it may have forgotten has expired'
_redlock_option 'run doctor acquire extend wait hold config' '' max-ttl 'D' 'longest TTL used by any client of these nodes; a restarted node is ignored for this long'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' key-format 'FMT' 'Redis key of a lock: %s stands for its name, %% for a percent sign'
_redlock_option 'doctor' '' admit '' 'instead of checking: let new or restarted nodes vote at once, if no node has a lock'
_redlock_option 'sandbox' 'n' number 'N' 'number of nodes (1..15)'
_redlock_option 'sandbox' '' server 'PROGRAM' 'server program that each node runs'
_redlock_option 'status' '' watch '' 'refresh the output every second, in place on a terminal'
_redlock_option 'doctor config' '' strict '' 'exit status 1 for any warning or error, even if a quorum is usable'
_redlock_option 'doctor break' 'y' yes '' 'do not ask for confirmation'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' 'v' verbose '' 'print redlock'\''s decisions; -vv also prints every node'\''s answer'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' 'q' quiet '' 'print errors only; report a busy lock only if its key has no expiry'
_redlock_option 'run status doctor acquire extend release check wait hold break config' '' json '' 'print results as one JSON document on stdout, messages as JSON lines on stderr'
_redlock_option 'acquire hold' '' format 'plain|env|json' 'output format; env: assignments for the shell'\''s eval'
_redlock_option 'run hold config' '' record 'FILE' 'append one JSON line per run to FILE; it has times, outcome and exit status'
_redlock_option 'run hold config' '' metrics-file 'FILE' 'update metrics in FILE, for Prometheus'\'' textfile collector'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' '' log 'stderr|syslog|FILE' 'write messages to stderr, syslog or FILE'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' '' config 'FILE' 'read settings from FILE'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' '' profile 'PROFILE' 'use section [NAME] of the configuration file'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' 'h' help '' 'show help; --help --all shows all options'
_redlock_option 'run status doctor sandbox acquire extend release check wait hold gate break config' '' version '' 'show the version'
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
	*'[COMMAND|'*)
		if ((is_first && $1 == 2)) || [[ $is_first == 1 && ${words[2]} == --all ]]; then
			_redlock_offer "${_redlock_names[@]}"
		elif [[ $1 == 2 && ${#words[@]} == 4 && $plain == -* ]]; then
			_redlock_offer --all
		fi
		;;
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
