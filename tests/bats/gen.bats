# gen: the text between BEGIN GENERATED and END GENERATED comes from the tables.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	GEN=$REDLOCK_BUILD/redlock-gen
	printf '%s\n' before '# BEGIN GENERATED man-statuses' stale '# END GENERATED' after > "$T/page"
}

@test "gen: the text between the lines is written anew, and nothing else" {
	run -0 "$GEN" "$T/page"
	[ "$output" = "" ]
	[ "$(sed -n '1,2p' "$T/page")" = $'before\n# BEGIN GENERATED man-statuses' ]
	[ "$(tail -n 2 "$T/page")" = $'# END GENERATED\nafter' ]
	grep -qx '.It 79' "$T/page"
	run -1 grep -q stale "$T/page"
	# and then nothing has to be done
	touch -d '2001-01-01' "$T/page"
	run -0 "$GEN" "$T/page"
	[ "$(date -r "$T/page" +%Y)" = 2001 ]
	run -0 "$GEN" --check "$T/page"
	[ "$output" = "" ]
}

@test "gen --check: a stale part is named, and left as it is" {
	run -1 "$GEN" --check "$T/page"
	[ "${lines[0]}" = "redlock: $T/page:2: stale: 'man-statuses'" ]
	[ "${lines[1]}" = "hint: 'make gen' writes them anew" ]
	grep -qx stale "$T/page"
}

# refuses WORDS LINE...: gen refuses a file of these lines, and does not change it.
refuses() {
	local words=$1
	shift
	printf '%s\n' "$@" > "$T/bad"
	cp "$T/bad" "$T/as-it-was"
	run -1 "$GEN" "$T/bad"
	[ "$output" = "redlock: $T/bad:$words" ]
	cmp "$T/bad" "$T/as-it-was"
}

@test "gen: an error is reported with file and line, and no file is written" {
	refuses "1: no such part: src/gen/main.c has their names" 'BEGIN GENERATED nonsense' 'END GENERATED'
	refuses "1: which part?" 'BEGIN GENERATED ' 'END GENERATED'
	refuses "2: the part has no such word" '' 'BEGIN GENERATED man-command nonsense' 'END GENERATED'
	refuses "3: the part before has no end: 'END GENERATED'" 'BEGIN GENERATED man-statuses' old
	refuses "2: the part before has no end: 'END GENERATED'" 'BEGIN GENERATED man-statuses' 'BEGIN GENERATED man-statuses' 'END GENERATED'
	refuses "1: this ends no part" 'END GENERATED'
	run -1 "$GEN" "$T/nowhere"
	[ "$output" = "redlock: '$T/nowhere' cannot be read: No such file or directory" ]
}
