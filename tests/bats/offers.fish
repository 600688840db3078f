# offers.fish: for each line of stdin, fish's offers at its end, as LINE|WORD.
set -gp fish_complete_path $T
complete -c deploy -f -a 'staging production'
complete -c deploy -l force
while read -l line
    complete -C $line | string replace -r '\t.*' '' | string replace -r '^--[^=]*=' '' | string replace -r '^' "$line|"
end
true
