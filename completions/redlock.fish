# fish completion for redlock: `redlock completion fish` prints it. At Tab, redlock itself says what can follow
# (src/cmd/offers.h has the form of its answer). Nodes are never asked.

# The word at the cursor as it is meant; a quote in it may still be open.
function _redlock_last_word
    set -l word (commandline -ct)
    string unescape -- $word
    or string unescape -- $word\'
    or string unescape -- $word\"
    or echo -- $word
end

# _redlock_command_line FIRST: what comes behind redlock's own words is completed as if it stood alone.
function _redlock_command_line
    set -l words (commandline -opc)
    set -l line (commandline -ct)
    set -e words[1..$argv[1]]
    for word in $words[-1..1]
        set line (string escape -- $word)" $line"
    end
    complete --do-complete="$line"
end

function _redlock
    set -l words (commandline -opc)
    set -l last (_redlock_last_word)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    string match -q '*/*' -- $program; and test -f "$program" -a -x "$program"; or set program redlock
    set -e words[1]
    set -l answer (command $program completion words $words "$last" </dev/null 2>/dev/null)
    set -q answer[3]; or return
    set -l action (string split ' ' -- $answer[1])
    set -l lead $answer[2]
    set -l typed (string replace -- "$lead" '' "$last")
    set -e answer[1..3]
    switch $action[1]
        case words beginnings
        case files
            set typed (string escape --no-quoted -- "$typed" | string replace -r '^\\\\~' '~')
            set -a answer (complete -C "redlock-file $typed")
        case programs
            set -a answer (__fish_complete_command)
        case processes
            set -a answer (__fish_complete_pids)
        case hosts
            set -a answer (__fish_print_hostnames)
        case command
            string match -qr '^\d+$' -- $action[2]; or return
            _redlock_command_line (math $action[2] + 1)
            return
        case '*'
            return
    end
    set answer $lead$answer
    # Behind --option=, fish would put a value that differs in case in the place of all that.
    test -z "$lead"; or set answer (string match -r -- '^'(string escape --style=regex -- "$last")'.*' $answer)
    string join \n -- $answer
end

complete -c redlock -e
complete -c redlock -f -a '(_redlock)'
