# The manual pages: valid, complete, equal to docs/nodes.md where both say the same; and each line of EXAMPLES is run.

load nodes
load stubs

PAGES=$BATS_TEST_DIRNAME/../../man
NODES_PAGE=$BATS_TEST_DIRNAME/../../docs/nodes.md

setup() {
	T=$BATS_TEST_TMPDIR
	PID=()
}
teardown() { nodes_stop; }

# pages: the files of the pages, without those that include others (redlockall.1, redlock-run.1).
pages() { grep -L '^\.so' "$PAGES"/*; }

# as_shown PAGE: without mdoc's markup.
as_shown() {
	sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(ti/~/g; s/\\&//g; s/\\e/\\/g' "$PAGES/$1"
}

# examples: the code blocks under EXAMPLES, as PAGE.N.
examples() {
	local page
	for page in $(pages); do
		page=${page##*/}
		as_shown "$page" | awk -v to="$T/example.$page" '
			/^\.Sh / { on = $0 == ".Sh EXAMPLES" }
			on && /^\.Ed/ { inside = 0 }
			inside { print > (to "." n) }
			on && /^\.Bd -literal/ { inside = 1; n++ }'
	done
}

# example LINE: the block that begins so, as the file EXAMPLE.
example() {
	local file
	examples
	for file in "$T"/example.*; do
		[ "$(head -n 1 "$file")" != "$1" ] || { EXAMPLE=$file && return; }
	done
	echo "no page has an example '$1'" >&2
	return 1
}

# runs STATUS: the example, in a shell.
runs() {
	run "-$1" --separate-stderr bash "$EXAMPLE"
	echo "$output$stderr"
}

# ---- form ----

@test "no page makes mandoc or groff complain" {
	local page
	for page in $(pages); do
		# other installed packages do not matter
		mandoc -T lint "$page" 2>&1 | grep -vE ' (referenced manual not found|outdated mandoc.db)' >> "$T/words" || true
		# (an address may be too long for its line to be filled)
		groff -ww -W break -mdoc -Tutf8 "$page" 2>> "$T/words" > "$T/shown"
		[ "$(wc -l < "$T/shown")" -gt 100 ]
	done
	cat "$T/words"
	[ ! -s "$T/words" ]
	[ "$(pages | sed 's:.*/::')" = $'redlock-config.5\nredlock-options.5\nredlock-scripting.7\nredlock.1\nredlock.7' ]
}

@test "make html: the pages as HTML, with their pictures, and no link leads nowhere" {
	local page target
	run -0 make -s -C "$BATS_TEST_DIRNAME/../.." html B="$T/build"
	cd "$T/build/html"
	[ "$(ls *.html)" = $'redlock-config.5.html\nredlock-options.5.html\nredlock-scripting.7.html\nredlock.1.html\nredlock.7.html' ]
	grep -q '<img src="terminal.svg"' redlock.1.html
	grep -q '<img src="timeline.svg"' redlock.7.html
	for page in *.html; do
		grep -oE '(href|src)="[^":]+"' "$page" | sed 's/^[a-z]*="//; s/"$//' | sort -u | while IFS= read -r target; do
			case $target in
			'#'*) grep -qF "id=\"${target#'#'}\"" "$page" || echo "$page: $target" ;;
			*) [ -e "$target" ] || echo "$page: $target" ;;
			esac
		done
	done > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
	grep -q 'href="redlock.7.html"' redlock.1.html
}

@test "man redlock-run shows redlock(1), and man redlockall all pages" {
	local page
	run -0 make -s -C "$BATS_TEST_DIRNAME/../.." install B="$(realpath "$REDLOCK_BUILD")" DESTDIR="$T/to" PREFIX=/usr
	cd "$T/to/usr/share/man"
	shown() { mandoc -T utf8 "man${1##*.}/$1" | col -b | sed '1d; $d'; }
	shown redlock.1 > "$T/one"
	[ "$(wc -l < "$T/one")" -gt 200 ]
	for name in run acquire doctor version; do shown "redlock-$name.1" | diff "$T/one" -; done
	# each page is a part of it, line by line
	shown redlockall.1 > "$T/all"
	for page in $(pages); do
		python3 - "$T/all" <(shown "${page##*/}") <<- 'END'
			import sys
			all, page = (open(f).read().strip("\n") for f in sys.argv[1:])
			assert page in all, page[:100]
		END
	done
}

@test "pages refer to existing pages and sections" {
	sed -n 's/^\.\(Pq \)\{0,1\}Xr \([a-z-]*\) \([0-9]\).*/\2.\3/p' "$PAGES"/* | sort -u > "$T/wanted"
	diff "$T/wanted" <({ pages | sed 's:.*/::' && printf '%s\n' cron.8 flock.1 flock.2 ps.1 redis-cli.1 redis-server.1 sudo.8 syslog.3 timeout.1; } | sort)
	for page in $(pages); do
		sed -n 's/^\.\(Pq \)\{0,1\}Sx \([A-Z ]*[A-Z]\).*/\2/p' "$page" | while read -r section; do
			grep -qx "\.Sh $section" "$page" || echo "$page: no section '$section'"
		done
	done > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
}

@test "redlock(1) is short: at most 5,000 words, and no option that few callers need" {
	local words columns
	words=$(mandoc -T utf8 "$PAGES/redlock.1" | col -b | wc -w)
	echo "$words words"
	[ "$words" -le 5000 ] && [ "$words" -gt 2000 ]
	as_shown redlock.1 | grep -nE -- '-(drift-factor|sni|min-hold|reentrant|wait-descendants|metrics-file|key-format|profile|slot)( |$)' > "$T/rare" || true
	cat "$T/rare"
	[ ! -s "$T/rare" ]
	# its first options are those of the help
	as_shown redlock.1 | sed -nE '/GENERATED man-usual run$/,/END GENERATED/s/^\.It (Fl . , )?Fl -([a-z-]+).*/\2/p' > "$T/usual"
	redlock help run | sed -n '/^Common options/,/^$/p' | sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' | diff "$T/usual" -
	[ "$(wc -l < "$T/usual")" -ge 10 ]
	for page in $(pages); do
		columns=$(mandoc -T utf8 "$page" | col -b | LC_ALL=C.UTF-8 wc -L)
		[ "$columns" -le 80 ] || echo "${page##*/}: $columns columns"
	done > "$T/wide"
	cat "$T/wide"
	[ ! -s "$T/wide" ]
}

@test "output can be copied: no terminal gets typographic hyphens and quotes" {
	local page
	for page in $(pages); do
		awk '/^\.Ed/ { inside = 0 }
			inside || /^\.(It |Pq |Op )?(Fl|Li) / {
				text = $0
				gsub(/\\(-|\(aq|\(ti|e|&)/, "", text) # correct markup
				if (text ~ /[-'"'"'~`^]/) print FILENAME ":" FNR ": " $0
			}
			/^\.Bd -literal/ { inside = 1 }' "$page"
	done > "$T/bad"
	cat "$T/bad"
	[ ! -s "$T/bad" ]
}

@test "every subcommand has its section, with its call and its options" {
	redlock help | sed -nE 's/^  ([a-z]+)  .*/\1/p' > "$T/commands"
	[ "$(wc -l < "$T/commands")" -ge 14 ]
	while read -r name; do
		[ "$(cat "$PAGES"/redlock.1 "$PAGES"/redlock-scripting.7 | grep -A 1 -x "\.Ss redlock $name" | tail -n 1)" = '.\" BEGIN GENERATED man-command '"$name" ] ||
			echo "no section with its call: $name"
		redlock help "$name" | grep -q '^  .*--' || continue
		grep -q "BEGIN GENERATED man-names $name\$" "$PAGES/redlock-options.5" || echo "no options: $name"
	done < "$T/commands" > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
}

@test "the page has all that --help has of a subcommand, and the other way round" {
	as_shown redlock-options.5 > "$T/page"
	for name in run hold doctor gate; do
		redlock help "$name" --all | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort > "$T/help"
		{
			sed -n "/GENERATED man-names $name\$/,/END GENERATED/s/^\.Fl \(-[a-z-]*\).*/-\1/p" "$T/page"
			[ "$name" = gate ] || sed -n '/GENERATED man-common/,/END GENERATED/s/^\.Fl \(-[a-z-]*\).*/-\1/p' "$T/page"
		} | sort > "$T/names"
		diff "$T/help" "$T/names"
	done
	[ "$(grep -c '^\.Fl' "$T/page")" -ge 100 ]
	# and the options for a configuration are those that config shows
	as_shown redlock-config.5 | sed -n 's/^\.It Ic \([a-z-]*\) .*/\1/p' | sort -u > "$T/settings"
	redlock config --config /dev/null --json | jq -r '.settings[].name' | sort -u > "$T/shown"
	# the name of that file is not in it
	diff <(printf '%s\n' config profile) <(comm -13 "$T/settings" "$T/shown")
}

@test "each option that a page names is an option" {
	for page in $(pages); do as_shown "${page##*/}"; done | grep -oE 'Fl -[a-z-]+( , -[a-z-]+)*' | grep -oE -- '-[a-z-]+' |
		sort -u > "$T/named"
	[ "$(wc -l < "$T/named")" -ge 50 ]
	while read -r name; do
		[ "$name" = -all ] || redlock help "-$name" > "$T/text" || echo "no option: -$name"
	done < "$T/named" > "$T/unknown"
	cat "$T/unknown"
	[ ! -s "$T/unknown" ]
}

@test "each option has one entry, with all its subcommands" {
	as_shown redlock-options.5 | sed -n '/^\.\\" BEGIN GENERATED man-options/,/END GENERATED/p' > "$T/options"
	sed -nE 's/^\.It (Fl . , )?Fl (-[a-z-]+).*/\2/p' "$T/options" | sort > "$T/entries"
	[ "$(wc -l < "$T/entries")" -ge 50 ]
	[ "$(uniq -d "$T/entries")" = "" ]
	# an option that means something else to another subcommand
	sed -n '/^\.It Fl -fence/,/^\.It/p' "$T/options" | tr '\n' ' ' > "$T/entry"
	is_like "$(cat "$T/entry")" '*Commands: .Cm run , .Cm acquire , .Cm hold , .Cm gate , .Cm config .*For .Cm gate .Fl -fence Ar N :*'
}

# named FROM TO N: the words of stdin, N or more, are in that part of redlock-scripting(7).
named() {
	as_shown redlock-scripting.7 | sed -n "/^\.S[sh] $1/,/^\.S[sh] $2/p" > "$T/page"
	sort -u > "$T/names"
	while read -r name; do
		grep -qE "(^|[^a-z_-])$name([^a-z_-]|\$)" "$T/page" || echo "$name"
	done < "$T/names" > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
	[ "$(wc -l < "$T/names")" -ge "$3" ]
}

@test "every name in records, metrics and JSON, and every outcome, is explained" {
	cd "$BATS_TEST_DIRNAME/../../src"
	{
		grep -rhoE 'json_[a-z]+\(&?j, "[a-z_0-9]+"' cmd |
			grep -oE '"[a-z_0-9]+"' | tr -d '"'
		grep -ohE 'redlock_(runs|last)[a-z_]+' cmd/metrics.c
		printf '%s\n' completed command-failed signalled busy no-quorum too-slow duplicate-node lost max-run not-started \
			interrupted failed done acquired extended held too-short expired foreign unknown released free \
			removed ended revoked taken-back no-expiry minority reserved no-lock changed-hands incomplete \
			locks-unknown not-confirmed sound warnings errors admitted
	} | named RECORDS FILES 75
}

# says_of SUBCOMMAND JSON: what the page says about all documents, and about that of the subcommand, has each name.
says_of() {
	local name
	as_shown redlock-scripting.7 | awk -v "it=$1" '
		/^\.Ss / { on = $2 == "JSON" }
		on && /^\.It Cm (acquire|extend|wait|status|break|doctor|config) ?/ { is_of = index($0, it) }
		on && (is_of || !own)
		/^These are the outcomes/ { own = 1 }
	' | tr -s ' ,' '\n' > "$T/words"
	for name in $(jq -r 'keys_unsorted + ([.nodes[]?] | map(keys_unsorted) | add // []) | unique[]' <<< "$2"); do
		grep -qx "$name" "$T/words" || { echo "$1: $name" && return 1; }
	done
}

@test "every name in a document of a lock is explained where its subcommand is" {
	nodes_start 3
	local document token
	document=$(redlock acquire -k a -k b --fence --json)
	says_of acquire "$document"
	token=$(jq -r .token <<< "$document")
	for subcommand in check extend release; do
		says_of extend "$(redlock $subcommand -k a -k b --token "$token" --json)"
	done
	document=$(redlock acquire a -L 2 --fence --json)
	says_of acquire "$document"
	says_of acquire "$(redlock acquire a -L 3 -n --json 2> /dev/null || true)"
	token=$(jq -r '"\(.token)#\(.slot)"' <<< "$document")
	says_of extend "$(redlock check a -L 2 --token "$token" --json)"
	says_of break "$(redlock break a -L 2 --slot "${token#*#}" -f -y --json 2> /dev/null)"
	says_of wait "$(redlock wait a --json)"
	not jq -e '.nodes[] | has("took_us")' <<< "$document"
	not jq -e '.nodes[] | has("took_us")' <<< "$(redlock wait a --json)"
	redlock acquire -k a > "$T/token"
	not jq -e '.locks[].nodes[] | has("took_us")' <<< "$(redlock status --json)"
	jq -e '.locks[].nodes[] | has("took_us")' <<< "$(redlock status a --json)"
}

@test "every finding of doctor is named" {
	grep -ohE 'SEVERITY_[A-Z]+,\s*"[a-z-]+"|\{"[a-z-]+", (true|false)' \
		"$BATS_TEST_DIRNAME"/../../src/report/*.c | grep -oE '"[a-z-]+"' | tr -d '"' |
		named 'Findings of doctor' Messages 30
}

@test "the rights that a user needs are those of doctor --acl and docs/nodes.md" {
	rights() { grep -oE '[+~][a-z|]+' | sort -u; }
	{
		redlock doctor -q --acl KEY
		sed -n '/^A database other/,/^$/p' "$NODES_PAGE"
	} | rights > "$T/nodes"
	as_shown redlock.7 | sed -n '/^ACL SETUSER/,/^\.El/p' | rights > "$T/page"
	diff "$T/nodes" "$T/page"
	[ "$(wc -l < "$T/page")" -ge 25 ]
}

# ---- examples ----

@test "every example has its test here" {
	local file line quoted="'\\''"
	examples
	for file in "$T"/example.*; do
		line=$(head -n 1 "$file")
		grep -qF "example '${line//\'/"$quoted"}'" "$BATS_TEST_FILENAME" || echo "no test: $line"
	done > "$T/missing"
	cat "$T/missing"
	[ ! -s "$T/missing" ]
	[ "$(ls "$T"/example.* | wc -l)" -ge 18 ]
}

@test "examples: the nodes in the environment" {
	example 'export REDLOCK_NODES='\''redis://a redis://b redis://c'\'''
	export PATH=$REDLOCK_BUILD:$PATH REDLOCK_CONFIG=/dev/null
	runs 0
	is_like "$output" '*REDLOCK_NODES?nodes = redis://a*redis://b*redis://c*'
}

@test "examples: run" {
	stubs_start
	printf 'deploy:\n\t@./deploy.sh\n' > Makefile
	stub deploy.sh deploy
	example 'redlock run -k deploy -- make deploy'
	runs 0
	was_done "deploy.sh held" "deploy.sh done" "deploy.sh held" "deploy.sh done"

	: > "$T/done"
	stub nightly.sh nightly
	stub tick.sh tick
	example 'redlock run -q -k nightly --once-per 22h -w 20s -- ./nightly.sh ||'
	runs 0
	was_done "nightly.sh held" "nightly.sh done" "tick.sh held" "tick.sh done"
	[[ "$output" == *nightly* ]] && [[ "$output" != *"nightly: status"* ]]
	# again, from a host with a late clock
	: > "$T/done"
	runs 0
	[[ "$output" == *nightly* ]] && [[ "$output" != *"nightly: status"* ]]
	[ "$stderr" = "" ]
	[ ! -s "$T/done" ]

	stub pg_dump db
	mv pg_dump "$T/bin"
	stub move.sh here there
	printf '%s\n' '#!/bin/sh' '[ "$REDLOCK_SLOT" -le 3 ] && echo "$REDLOCK_LIMIT slots" >> "$T/done"' > encode.sh
	chmod +x encode.sh
	stub search.sh index
	stub sync.sh sync
	example 'redlock run -k db -c '\''pg_dump app | gzip > app.gz'\'''
	runs 0
	was_done "pg_dump held" "pg_dump done" "move.sh held held" "move.sh done" "3 slots" \
		"search.sh held" "search.sh done" "sync.sh held" "sync.sh done"
	gunzip app.gz
}

@test "examples: locks for scripts" {
	stubs_start
	stub build.sh deploy
	stub deploy.sh deploy
	example 'export REDLOCK_MAX_TTL=10m'
	runs 0
	was_done "build.sh held" "build.sh done" "deploy.sh held" "deploy.sh done"
	free_everywhere deploy

	: > "$T/done"
	stub dump.sh db
	example 'token=$(redlock acquire -k deploy --ttl 10m) || exit'
	runs 0
	was_done "deploy.sh held" "deploy.sh done" "dump.sh held" "dump.sh done"
	free_everywhere deploy
	free_everywhere db

	: > "$T/done"
	example 'eval "$(redlock acquire -k deploy --format env)" || exit'
	runs 0
	was_done "deploy.sh held" "deploy.sh done"
	free_everywhere deploy

	: > "$T/done"
	stub dump.sh db
	stub prune.sh db
	example 'redlock hold -k db -w 5m --follow $$ > /dev/null || exit'
	runs 0
	was_done "dump.sh held" "dump.sh done" "prune.sh held" "prune.sh done"
	free_everywhere db

	example 'redlock hold -k maintenance --max-run 2h'
	runs 0
	[[ "${lines[0]}" =~ ^[0-9a-f]{40}\ [0-9]+$ ]]
	is_like "${lines[*]:1}" '*maintenance*'
	free_everywhere maintenance

	: > "$T/done"
	stub start-app.sh migration
	example 'redlock wait -k migration -w 10m && ./start-app.sh'
	runs 0
	was_done "start-app.sh free" "start-app.sh done"
}

@test "examples: the holder of a lock, and its removal" {
	stubs_start
	# `break` waits for its end
	redlock acquire -k deploy --ttl 8s --node-timeout 2s --owner somebody > "$T/token"
	example 'redlock status deploy'
	runs 0
	is_like "${lines[0]}" '*deploy*somebody*'
	[[ " ${lines[*]} " == *" deploy "* ]]
	free_everywhere deploy
}

@test "examples: only the newest holder acts on another host" {
	stubs_start
	mkdir -p "$T/web1/app"
	(cd "$T/web1" && stub apply deploy)
	printf '%s\n' '#!/bin/sh' '[ "$1" = web1 ] && shift && cd "$T/web1" && exec sh -c "$*"' > "$T/bin/ssh"
	chmod +x "$T/bin/ssh"
	example 'redlock run -k deploy --fence -c '\''ssh web1 redlock gate \'
	runs 0
	was_done "apply held" "apply done"
	[ "$(cat "$T/web1/app/fence")" -gt 0 ]

	: > "$T/done"
	stub apply.sh
	example 'redlock run -k report --fence -c '\''echo $REDLOCK_FENCE > number'\'''
	runs 76
	was_done "apply.sh" "apply.sh done"
	[ "$(cat newest)" = "$(cat number)" ]
}

@test "examples: a record of all runs" {
	stubs_start
	stub sync.sh sync
	example 'redlock run -k sync --record runs.json -- ./sync.sh'
	runs 0
	[[ "$output" =~ ^[0-9-]+T[0-9:.]+Z\ completed\ [0-9.]+$ ]]
}

@test "examples: without any servers, and a program's test" {
	stubs_start
	unset REDLOCK_NODES
	printf '#!/bin/sh\nredlock status > status && ls "$REDLOCK_SANDBOX"/?.sock | wc -l\n' > test.sh
	chmod +x test.sh
	example 'redlock sandbox -- redlock run -k demo -- echo it works'
	runs 0
	[ "$output" = "it works
5" ]
}

@test "examples: nodes, new ones, and their health" {
	stubs_start
	example 'redlock doctor'
	runs 0
	[[ "$output" != *error* ]]

	for i in 1 2 3; do node "$i" del '{redlock}:node' > "$T/mark"; done
	run -69 redlock run -k new -n -- true
	example 'redlock doctor --admit -y'
	bash "$EXAMPLE" > "$T/words" || [ $? -eq 1 ] # a busy machine may be worth a warning
	[ "$(grep -cE 'error|quarantine' "$T/words")" = 0 ]
	run -0 redlock run -k new -n -- true
}

@test "examples: the configuration of a node keeps what must be kept" {
	example 'port 6379'
	mkdir "$T/data"
	redis-server "$EXAMPLE" --port 0 --unixsocket "$T/1.sock" --dir "$T/data" --logfile "$T/1.log" 3>&- > "$T/1.out" 2>&1 &
	PID[1]=$!
	also_end $!
	eventually answers 1
	[ "$(node 1 config get maxmemory-policy | tail -n 1)" = noeviction ]
	[ "$(node 1 config get appendfsync | tail -n 1)" = always ]
	export REDLOCK_CONFIG=/dev/null REDLOCK_NODES=unix://$T/1.sock
	redlock acquire -k kept > "$T/token"
	kill_node 1
	redis-server "$EXAMPLE" --port 0 --unixsocket "$T/1.sock" --dir "$T/data" --logfile "$T/1.log" 3>&- > "$T/1.out" 2>&1 &
	PID[1]=$!
	also_end $!
	eventually answers 1
	run -75 redlock run -k kept -n -- true
}

@test "examples: a node on Debian admits redlock's user, with all the rights it needs, and no other user" {
	example 'apt-get install redis-server'
	sed -n "/^cat/,/^END/{//!p}" "$EXAMPLE" > "$T/conf"
	redis-server "$T/conf" --port 0 --unixsocket "$T/1.sock" --dir "$T" --logfile "$T/1.log" 3>&- > "$T/1.out" 2>&1 &
	PID[1]=$!
	also_end $!
	wants_password() { redis-cli -s "$T/1.sock" ping 2>&1 | grep -q NOAUTH; }
	eventually wants_password
	export PATH=$REDLOCK_BUILD:$PATH REDLOCK_CONFIG=/dev/null REDLOCK_NODES=unix://$T/1.sock
	run -69 redlock run -k job -n -- true
	(umask 077 && echo PASSWORD > "$T/password")
	export REDLOCK_USERNAME=redlock REDLOCK_PASSWORD_FILE=$T/password
	for option in --fair --fence --limit=2 --shared; do
		run -0 redlock run -k job -n $option -- redlock status
		[[ "$output" == *job* ]]
	done
	run -0 redlock doctor --json
	[[ "$output" != *'"id":"rights"'* ]]
	[[ "$output" != *'"id":"config"'* ]]
	[[ "$output" != *'"id":"eviction"'* ]]
}

@test "examples: a configuration and its profiles" {
	example 'ttl = 1m'
	mkdir -p "$T/home/redlock"
	cp "$EXAMPLE" "$T/home/redlock/config"
	export XDG_CONFIG_HOME=$T/home PATH=$REDLOCK_BUILD:$PATH
	unset REDLOCK_CONFIG REDLOCK_NODES
	example 'redlock config --profile staging'
	runs 0
	is_like "$output" '*redis://s1:*redis://deploy@p1:*redis://deploy@p3:6380*'
	[ "$(grep -cx 'ttl = 60s' <<< "$output")" = 2 ]
	grep -qx 'max-ttl = 10m' <<< "$output"
	[ "$stderr" = "" ]
}
