# offers.zsh: for each line of stdin, zsh's offers at its end, as LINE|WORD: in a shell with a terminal, where Tab is
# pressed after the line, and whose compadd prints its arguments.
zmodload zsh/zpty zsh/zselect || exit
export MATCHES=$T/matches

# until_it_says WORD
until_it_says() {
	local -F end=$((SECONDS + 60))
	local shown
	until grep -qsx $1 $MATCHES; do
		zpty -r shell shown > /dev/null # or it would write no more
		((SECONDS < end)) || { print -u 2 "zsh: $line: no '$1'"; exit 1 }
		zselect -t 1
	done
}

cat > $T/interactive.zsh <<'END'
PS1= LISTMAX=100000
setopt no_beep no_auto_menu
fpath=($T $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} != *-[OAD]* ]]; then
		builtin compadd -A hits "$@"
		print -rl -- $hits >> $MATCHES
	fi
	builtin compadd "$@"
}
tell() { compstate[list]= compstate[insert]=; print all >> $MATCHES; comppostfuncs=(tell) }
comppostfuncs=(tell)
_deploy() { compadd staging production --force }
compdef _deploy deploy
print ready >> $MATCHES
END

zpty -b shell zsh -f -i
zpty -w shell "source $T/interactive.zsh"
until_it_says ready
while IFS= read -r line; do
	: > $MATCHES
	zpty -n -w shell $line$'\t'
	until_it_says all
	for word in ${(f)"$(<$MATCHES)"}; do
		[[ $word == all ]] || print -r - "$line|$word"
	done
	zpty -n -w shell $'\C-u'
done
zpty -d shell
