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
        case '[COMMAND|*'
            complete -c redlock -n "_redlock_at word $argv[1]" -a '$_redlock_names'
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
