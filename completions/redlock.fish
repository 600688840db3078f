# fish completion for redlock: `redlock completion fish` prints it. Nodes are never asked.

complete -c redlock -e
complete -c redlock -f
complete -c redlock -n '_redlock_at command' -s h -l help -d 'show the commands'
complete -c redlock -n '_redlock_at command' -l version -d 'show the version'
set -g _redlock_names

# A row of the table of commands: name, usage, what it does.
function _redlock_command
    set -ga _redlock_names $argv[1]
    set -g _redlock_wants_$argv[1]
    complete -c redlock -n '_redlock_at command' -a $argv[1] -d $argv[3]
    switch $argv[2]
        case '*[ARG...]*'
            complete -c redlock -n "_redlock_at any $argv[1]" -a '(_redlock_command_line)'
        case '*[KEY...]'
            complete -c redlock -n "_redlock_at any $argv[1]" -a '(_redlock_values KEY)'
        case '*[COMMAND|*'
            complete -c redlock -n "_redlock_at word $argv[1]" -a '$_redlock_names'
            complete -c redlock -n "_redlock_at any $argv[1]" -l all -d 'show all options'
        case '*|*'
            complete -c redlock -n "_redlock_at first $argv[1]" -a "(_redlock_values '$argv[2]')"
    end
end

# A row of the table of options: whose it is, letter, name, what its value is (if it wants one), what it is for.
function _redlock_option
    set -l row -n "_redlock_at first $argv[1]" -l $argv[3] -d $argv[5]
    test -z "$argv[2]"; or set -a row -s $argv[2]
    if test -n "$argv[4]"
        for command in (string split ' ' -- $argv[1])
            set -a _redlock_wants_$command -$argv[2] --$argv[3]
        end
        contains FILE (string split '|' -- $argv[4]); and set -a row -r -F; or set -a row -x
        set -a row -a "(_redlock_values '$argv[4]')"
    end
    complete -c redlock $row
    # of any command, as a word
    complete -c redlock -n '_redlock_at first help' -l $argv[3] -d $argv[5]
end

function _redlock_signals
    set -g _redlock_signal_names (string lower -- $argv)
end

# How many words stand before the operands; 1: none of these is there before the cursor; 2: nor can one be at it, for
# that is an option's value.
function _redlock_before_operands
    set -l words (commandline -opc)
    set -l wants _redlock_wants_$words[2]
    set -l i 3
    while set -q words[$i]
        set -l word $words[$i]
        switch $word
            case --
                echo $i
                return
            case '--*'
                contains -- $word $$wants; and set i (math $i + 1)
            case '-*'
                test "$word" != -; or break
                for letter in (string split '' -- (string sub -s 2 -- $word))
                    set word (string sub -s 2 -- $word)
                    if contains -- -$letter $$wants
                        test (string length -- $word) -gt 1; or set i (math $i + 1)
                        break
                    end
                end
            case '*'
                break
        end
        set i (math $i + 1)
    end
    set -q words[$i]; and math $i - 1; and return
    test $i -gt (math (count $words) + 1); and return 2; or return 1
end

# _redlock_at WHERE COMMAND...: is the cursor there, for one of these? At the command itself, at the word behind it, at the
# first operand or an option, or at any.
function _redlock_at
    set -l words (commandline -opc)
    switch $argv[1]
        case command
            test (count $words) -eq 1
        case word
            test (count $words) -eq 2; and test $words[2] = $argv[2]
        case first
            set -q words[2]; and contains -- $words[2] $argv[2..-1]
            and not _redlock_before_operands >/dev/null
        case any
            set -q words[2]; and contains -- $words[2] $argv[2..-1]; or return
            _redlock_before_operands >/dev/null
            test $status -ne 2 # fish takes one command's letter for another's
    end
end

# What comes behind redlock's own words is completed as if it stood alone.
function _redlock_command_line
    set -l words (commandline -opc)
    set -l before (_redlock_before_operands)
    set -l line (commandline -ct)
    if test -z "$before"
        string match -q -- '-*' $line; and return
        set before (count $words)
    end
    set -e words[1..$before]
    for word in $words[-1..1]
        set line (string escape -- $word)" $line"
    end
    complete --do-complete="$line"
end

# What redlock says of this machine: profiles, or keys that are held.
function _redlock_known
    set -l words (commandline -opc)
    set -l config
    while set -q words[1]
        switch $words[1]
            case --config
                set config $words[2]
            case '--config=*'
                set config (string sub -s 10 -- $words[1])
        end
        set -e words[1]
    end
    if test -n "$config"
        set -lx REDLOCK_CONFIG (string replace -r '^~/' "$HOME/" -- $config)
        command redlock completion $argv[1] </dev/null 2>/dev/null
    else
        command redlock completion $argv[1] </dev/null 2>/dev/null
    end
end

# The URL of a node; what stands before it, and its scheme, are ARGUMENT and TYPED.
function _redlock_urls
    set -l before $argv[1]
    switch $argv[2]
        case 'unix://*'
            for file in (complete -C "redlock-file "(string sub -s 8 -- $argv[2]))
                echo $before"unix://"$file
            end
        case 'redis://*' 'rediss://*'
            for host in (__fish_print_hostnames)
                echo $before(string replace -r '//.*' // -- $argv[2])$host
            end
        case '*'
            printf '%s\n' $before{redis://,rediss://,unix://}
    end
end

# WHAT: as in the tables, such as auto|on|off, stderr|syslog|FILE or D. What differs in case is left out behind --option=,
# for fish would put it in the place of all that.
function _redlock_values
    set -l typed (string match -r '^--[^=]*=(\w+)$' -- (commandline -ct))
    _redlock_all_values $argv[1] | string match -r "^$typed[2].*"
end

function _redlock_all_values
    # fish has the option's name before it, and quotes, but only for itself
    set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    for kind in (string split '|' -- $argv[1])
        switch $kind
            case D
                set -l number (string match -r '[0-9]+(?:\.[0-9]*)?(?=[a-z]*$)' -- $typed)
                and printf '%s\t%s\n' {$number}ms milliseconds {$number}s seconds {$number}m minutes {$number}h hours {$number}d days
            case SIG
                set -l names $_redlock_signal_names
                string match -qi 'sig*' -- $typed; and set names sig$names
                string match -qr '[A-Z]' -- $typed; and set names (string upper -- $names)
                printf '%s\n' $names
            case KEY
                _redlock_known keys
            case PROFILE
                _redlock_known profiles
            case PID
                __fish_complete_pids
            case PROGRAM
                __fish_complete_command
            case URL
                _redlock_urls '' (string replace -r '^[\'"]' '' -- $typed)
            case LIST
                set -l parts (string match -r '^[\'"]?((?:.*[, ])?)(.*)$' -- $typed)
                _redlock_urls $parts[2] $parts[3]
            case '*'
                string match -r '^[a-z]+$' -- $kind
        end
    end
end

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
