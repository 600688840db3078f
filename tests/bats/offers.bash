# offers.bash: for each line of stdin, bash's offers at its end, as LINE|WORD. $1: yes, with the package
# bash-completion. Lines are without quotes; an offer replaces the last word, or its part after = or :.
[ "$1" = no ] || source /usr/share/bash-completion/bash_completion
source "$T/redlock.bash"
complete -W 'staging production --force' deploy

# split LINE: into COMP_WORDS, as bash would.
split() {
	local word
	COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
	for word in $1; do
		while [[ $word =~ ^([^:=@]+|[:=@]+)(.*)$ ]]; do
			COMP_WORDS+=("${BASH_REMATCH[1]}")
			word=${BASH_REMATCH[2]}
		done
	done
	[[ $1 != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

while IFS= read -r line; do
	split "$line"
	# only after a key press can a completion have options
	_redlock redlock 2> >(grep -v 'compopt: not currently executing' >&2)
	[ ${#COMPREPLY[@]} -eq 0 ] || printf "$line|%s\n" "${COMPREPLY[@]%% }"
done
