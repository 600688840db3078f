# The configuration file: its places, profiles, precedence, and its errors, by line.

load nodes

setup() {
	nodes_start 1
	mkdir -p "$T/home/.config/redlock" "$T/xdg/redlock"
	# the user of the tests may have a configuration
	export HOME=$T/home XDG_CONFIG_HOME=$T/nowhere REDLOCK_NODE_TIMEOUT=3s
	unset REDLOCK_CONFIG REDLOCK_PROFILE
	file=$T/redlock.conf
}
teardown() { nodes_stop; }

# setting NAME FILTER ARG...: the filter is true of that setting in the output of 'redlock config ARG...'.
setting() {
	local name=$1 filter=$2
	shift 2
	run -0 --separate-stderr redlock config --json "$@"
	json "[.settings[] | select(.name == \"$name\")] | length == 1 and (.[0] | $filter)"
}

# sourced: 'name = value (source)' for each setting in the output of config that is not a default.
sourced() { awk '/^# / { source = substr($0, 3) } /^[a-z]/ { print $0 " (" source ")" }'; }

@test "its places: --config, REDLOCK_CONFIG, XDG_CONFIG_HOME, else ~/.config, then /etc" {
	needs mounts
	for place in line env xdg/redlock/config home/.config/redlock/config; do
		echo "owner = $place" > "$T/$place"
	done
	export XDG_CONFIG_HOME=$T/xdg REDLOCK_CONFIG=$T/env
	setting owner '.value == "line"' --config "$T/line"
	setting owner ".value == \"env\" and .where == \"$T/env:1\" and .source == \"file\""
	unset REDLOCK_CONFIG
	setting owner '.value == "xdg/redlock/config"'
	setting config ".value == \"$T/xdg/redlock/config\" and .source == \"default\""
	json ".file == \"$T/xdg/redlock/config\""
	# a relative path is ignored (XDG Base Directory Specification)
	XDG_CONFIG_HOME=xdg setting owner '.value == "home/.config/redlock/config"'
	unset XDG_CONFIG_HOME
	setting owner '.value == "home/.config/redlock/config"'
	mkdir -p "$T/etc/redlock"
	echo 'owner = etc' > "$T/etc/redlock/config"
	with_etc() { unshare -m -- sh -c 'mount --bind "$1" /etc && exec "$2" config' sh "$T/etc" "$REDLOCK_BUILD/redlock"; }
	run -0 with_etc
	[[ "$(sourced <<< "$output")" == *"owner = home/.config/redlock/config ($T/home/.config/redlock/config:1)"* ]]
	rm -r "$T/home/.config"
	run -0 with_etc
	[[ "$(sourced <<< "$output")" == *"owner = etc (/etc/redlock/config:1)"* ]]
}

@test "an error about a value names the file and line, or the variable, that has it" {
	printf '%s\n' '' "log = $T/none/log" > "$file"
	says 78 '' "redlock: $file:2: cannot write to --log '$T/none/log': No such file or directory" run --config "$file" -k job -- touch "$T/never"
	printf '%s\n' '[p]' "password-file = $T/none" > "$file"
	says 78 '' "redlock: $file:2: cannot read --password-file '$T/none': No such file or directory" \
		run --config "$file" --profile p -k job -- touch "$T/never"
	REDLOCK_PASSWORD_FILE=$T/none says 78 '' "redlock: REDLOCK_PASSWORD_FILE: cannot read --password-file '$T/none': No such file or directory" \
		run --config "$file" -k job -- touch "$T/never"
	echo 'ttl = 10ms' > "$file"
	says 64 '' "redlock: $file:1: --ttl 10ms is too short*" run --config "$file" -k job -- touch "$T/never"
	says 64 '' "redlock: --ttl 20ms is too short*" run --config "$file" --ttl 20ms -k job -- touch "$T/never"
	[ ! -e "$T/never" ]
}

@test "a missing file: silent in its usual place, an error if it was named" {
	says 0 'done' '' run -k job -- echo done
	says 78 '' "redlock: cannot read the configuration '$T/nowhere': No such file or directory" run --config "$T/nowhere" -k job -- touch "$T/never"
	REDLOCK_CONFIG=$T/nowhere says 78 '' "redlock: cannot read the configuration '$T/nowhere': No such file or directory" run -k job -- touch "$T/never"
	REDLOCK_CONFIG= says 64 '' "redlock: REDLOCK_CONFIG is empty?hint: check the variable that it comes from" run -k job -- touch "$T/never"
	says 78 '' "redlock: cannot read the configuration '$T': Is a directory" run --config "$T" -k job -- touch "$T/never"
	[ ! -e "$T/never" ]
	# an existing file that cannot be read is an error: its settings are unknown
	rm -r "$T/home/.config/redlock"
	touch "$T/home/.config/redlock"
	says 0 'done' '' run -k job -- echo done
	rm "$T/home/.config/redlock"
	mkdir -p "$T/home/.config/redlock/config"
	unset XDG_CONFIG_HOME
	says 78 '' "redlock: cannot read the configuration '$T/home/.config/redlock/config': Is a directory" run -k job -- touch "$T/never"
	[ ! -e "$T/never" ]
}

@test "a user's own file that he may not read is an error; one in a home that is not his is ignored" {
	needs users
	[ "$(id -u)" -eq 0 ]
	chmod 755 "$T" "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$(dirname "$T")"
	chmod 777 "$T/1.sock"
	unset XDG_CONFIG_HOME
	echo 'owner = me' > "$T/home/.config/redlock/config"
	cp "$REDLOCK_BUILD/redlock" "$T/redlock"
	as_nobody() { setpriv --reuid=65534 --clear-groups -- "$T/redlock" run -k job -- echo done; }
	run -0 as_nobody
	chmod 600 "$T/home/.config/redlock/config"
	run -78 as_nobody
	is_like "$output" "redlock: cannot read the configuration '$T/home/.config/redlock/config': Permission denied?hint: let this user read the file *"
	chmod 700 "$T/home"
	run -0 as_nobody
	[ "$output" = "done" ]
}

# as_other CMD...: redlock CMD... of user 65534.
as_other() {
	chmod 755 "$T" "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$(dirname "$T")"
	cp -f "$REDLOCK_BUILD/redlock" "$T/redlock"
	setpriv --reuid=65534 --clear-groups -- "$T/redlock" "$@"
}

@test "in its usual place it must belong to the user or root; root accepts only root's" {
	needs users
	[ "$(id -u)" -eq 0 ]
	theirs=$T/xdg/redlock/config
	export XDG_CONFIG_HOME=$T/xdg
	printf 'owner = me\npassword-file = %s/secret\n' "$T" > "$theirs"
	echo s3cret > "$T/secret"
	chown 65534 "$theirs"
	says 78 '' "redlock: the configuration '$theirs' belongs to user 65534, not to root?hint: *" run -n -k job -- touch "$T/never"
	says 0 $'words\n\nPROFILE' '' completion words run --profile ''
	# its owner accepts it, and a third user does not
	run -0 as_other config
	[[ "$(sourced <<< "$output")" == *"owner = me ($theirs:1)"* ]]
	chown 65533 "$theirs"
	run -78 as_other run -n -k job -- touch "$T/never"
	[[ "$output" == "redlock: the configuration '$theirs' belongs to user 65533, not to you or root"* ]]
	chown 0 "$theirs"
	run -0 as_other config
	[[ "$(sourced <<< "$output")" == *"owner = me ($theirs:1)"* ]]
	# for a symbolic link, the file counts
	mv "$theirs" "$T/target"
	ln -s "$T/target" "$theirs"
	chown -h 65534 "$theirs"
	setting owner '.value == "me"'
	chown 65534 "$T/target"
	run -78 redlock config
	# a named file is accepted from any owner
	setting owner '.value == "me"' --config "$T/target"
	[ ! -e "$T/never" ]
}

@test "a file that others can write to is no configuration, nor is a pipe or a device in its usual place" {
	theirs=$T/xdg/redlock/config
	export XDG_CONFIG_HOME=$T/xdg
	for mode in 620 602 666; do
		echo 'owner = me' > "$theirs"
		chmod $mode "$theirs"
		says 78 '' "redlock: others can write to the configuration '$theirs'?hint: chmod go-w '$theirs'" run -n -k job -- touch "$T/never"
	done
	says 78 '' "redlock: others can write to the configuration '$theirs'?hint: chmod o-w '$theirs'" run --config "$theirs" -k job -- touch "$T/never"
	REDLOCK_CONFIG=$theirs run -78 redlock run -n -k job -- touch "$T/never"
	# a group's file must be named
	chmod 664 "$theirs"
	setting owner '.value == "me"' --config "$theirs"
	chmod 644 "$theirs"
	setting owner '.value == "me"'
	rm "$theirs"
	for make in mkfifo 'ln -s /dev/zero' 'ln -s /dev/null'; do
		$make "$theirs"
		run -78 timeout 30 "$REDLOCK_BUILD/redlock" run -n -k job -- touch "$T/never"
		[ "$output" = "redlock: cannot read the configuration '$theirs': it is not a regular file" ]
		rm "$theirs"
	done
	[ ! -e "$T/never" ]
}

@test "a named file may be a shell's pipe, or /dev/null, but no other device" {
	setting owner '.value == "piped"' --config <(echo 'owner = piped')
	echo 'owner = piped' | redlock config --config /dev/stdin > "$T/out"
	file_has "$T/out" '^owner = piped$'
	redlock config --config /dev/stdin < <(echo 'owner = piped') > "$T/out"
	file_has "$T/out" '^owner = piped$'
	setting owner 'has("value") | not' --config /dev/null
	refused="redlock: cannot read the configuration '%s': it is not a regular file"
	says 78 '' "$(printf "$refused" /dev/zero)" config --config /dev/zero
	mkfifo "$T/pipe"
	for command in config status 'run -c true -w 300ms -k job'; do
		# shellcheck disable=SC2086
		run -78 timeout 60 "$REDLOCK_BUILD/redlock" $command --config "$T/pipe"
		[ "$output" = "redlock: cannot read the configuration '$T/pipe': nothing writes to this pipe" ]
	done
	# redlock does not wait for input at a terminal
	run -78 timeout --foreground 30 "$REDLOCK_BUILD/tools/pty" -- "$REDLOCK_BUILD/redlock" config --config /dev/stdin
	[[ "$output" == *"$(printf "$refused" /dev/stdin)"* ]]
}

@test "profiles, and settings for all of them" {
	cat > "$file" <<-'END'
		owner = all
		wait = 7s
		[default]
		ttl = 21s
		[prod] # a comment
		owner = prod
		ttl = 22s
		[test]
		owner = test
	END
	export REDLOCK_CONFIG=$file
	for profile in prod test default; do
		run -0 --separate-stderr redlock config --profile "$profile"
		sourced <<< "$output" | grep '^owner \|^ttl \|^wait ' > "$T/$profile"
	done
	diff "$T/prod" - <<-END
		ttl = 22s ($file:7)
		wait = 7s ($file:2)
		owner = prod ($file:6)
	END
	diff "$T/test" - <<-END
		ttl = 21s ($file:4)
		wait = 7s ($file:2)
		owner = test ($file:9)
	END
	diff "$T/default" - <<-END
		ttl = 21s ($file:4)
		wait = 7s ($file:2)
		owner = all ($file:1)
	END
	REDLOCK_PROFILE=test setting profile '.value == "test" and .where == "REDLOCK_PROFILE"'
	says 78 '' "redlock: unknown profile 'prdo': $file has prod, test?hint: did you mean 'prod'[?]" run --profile prdo -k job -- touch "$T/never"
	unset REDLOCK_CONFIG
	says 78 '' "redlock: unknown profile 'prod': there is no configuration file?hint: *" run --profile prod -k job -- touch "$T/never"
	says 0 'done' '' run --profile default -k job -- echo done
	[ ! -e "$T/never" ]
}

@test "the command line before the environment before the profile before the settings for all profiles" {
	printf 'ttl = 21s\n[p]\nttl = 22s\n' > "$file"
	ttl() { redlock run --config "$file" -k job "$@" -- printenv REDLOCK_TTL_MS; }
	[ "$(ttl)" = 21000 ]
	[ "$(ttl --profile p)" = 22000 ]
	[ "$(REDLOCK_TTL=23s ttl --profile p)" = 23000 ]
	[ "$(REDLOCK_TTL=23s ttl --profile p --ttl 24s)" = 24000 ]
	setting ttl '.value == "30s" and .source == "default" and (has("where") | not)'
	setting ttl ".value == \"21s\" and .source == \"file\" and .where == \"$file:1\"" --config "$file"
	setting ttl ".where == \"$file:3\"" --config "$file" --profile p
	REDLOCK_TTL=23s setting ttl '.value == "23s" and .source == "environment" and .where == "REDLOCK_TTL"' --config "$file"
	setting ttl '.value == "24s" and .source == "command line"' --config "$file" --ttl 24s
}

@test "a file names the nodes, and the other subcommands accept the settings that they know" {
	printf 'nodes = %s\nkey = job\nmin-hold = 1h\nstrict = no\n' "$REDLOCK_NODES" > "$file"
	unset REDLOCK_NODES
	export REDLOCK_CONFIG=$file
	run -0 redlock acquire --ttl 60s
	token=$output
	run -0 redlock check --token "$token" -k job
	run -0 redlock status
	is_like "$output" "*job*"
	run -0 redlock release -k job --token "$token"
	free_everywhere job
	run -0 redlock doctor
	is_like "$output" "unix://.../1.sock *"
}

@test "an error is reported with file, line and column; nothing is done" {
	wrong() {
		printf "$1" > "$file"
		says 78 '' "redlock: $file:$2" run --config "$file" -k job -- touch "$T/never"
		[ ! -e "$T/never" ]
		is_empty 1
	}
	wrong 'ttl = 5s\ntll = 5s\n' "2:1: unknown name 'tll'?hint: did you mean 'ttl'[?]"
	wrong '[p]\nfrobnicate = 1\n' "2:1: unknown name 'frobnicate'?hint: the names are those of the options: see 'redlock help config'"
	wrong '\n  ttl =  5x\n' "2:10: ttl '5x' has an unknown unit (known: ms, s, m, h, d)?hint: *"
	wrong 'ttl 5s\n' "1:1: is neither 'name = value' nor '?profile?'?hint: see 'redlock help config'"
	wrong '[p\n' "1:1: is neither 'name = value' nor '?profile?'?hint: see 'redlock help config'"
	wrong '[p] ttl = 5s\n' "1:5: after '?profile?' there can only be a comment?hint: see 'redlock help config'"
	wrong 'ttl = 1s\nttl = 2s\n' "2:1: 'ttl' is set in line 1 already"
	wrong 'token = x\n' "1:1: 'token' is not a setting: it belongs to a single call?hint: use --token on the command line; redlock-config(5) lists the settings"
	wrong 'command = true\n' "1:1: 'command' is not a setting: it belongs to a single call?hint: use --command on the command line; redlock-config(5) lists the settings"
	wrong 'ttl = \0\n' "1:7: a byte of zero?hint: see 'redlock help config'"
	wrong 'node = redis://me:hidden@\n' "1:8: invalid node 'redis://[*][*][*]@': the host is missing?hint: *"
	printf 'x%.0s' {1..5000} > "$T/long"
	wrong "$(cat "$T/long")" "1:1: the line is too long?hint: see 'redlock help config'"
	head -c 70000 /dev/zero > "$file"
	says 78 '' "redlock: the configuration '$file' is too long: at most 65536 bytes are allowed" run --config "$file" -k job -- touch "$T/never"
	yes '#' | head -c 65536 > "$file"
	says 0 '' '' run --config "$file" -k job -- true
	echo >> "$file"
	says 78 '' "redlock: the configuration '$file' is too long: at most 65536 bytes are allowed" run --config "$file" -k job -- touch "$T/never"
	# after an error, eval does not continue
	printf 'ttl\n' > "$file"
	run -78 bash -c "eval \"\$('$REDLOCK_BUILD/redlock' acquire --config '$file' --format env -k job)\""
	# no control character reaches the terminal
	printf '\033[2J = 1\n' > "$file"
	says 78 '' "redlock: $file:1:1: unknown name '\\\\x1b[[]2J'?hint: *" run --config "$file" -k job -- true
}

@test "every option that is a setting may be in the file, under its long name" {
	unset REDLOCK_NODES REDLOCK_NODE_TIMEOUT
	redlock config --json | jq -r '.settings[].name' | grep -vx 'config\|profile' > "$T/names"
	[ "$(wc -l < "$T/names")" -gt 25 ]
	# with their default values: all are known, and none changes
	redlock config --json | jq -r '.settings[] | select(.value and .name != "config" and .name != "json") | "\(.name) = \(.value)"' > "$file"
	[ "$(wc -l < "$file")" -gt 12 ]
	run -0 --separate-stderr redlock config --config "$file" --json
	json "[.settings[] | select(.source == \"file\")] | length == $(wc -l < "$file")"
	while read -r name; do
		grep -q "^$name = " "$file" || echo "$name = 7" >> "$file"
	done < "$T/names"
	run redlock config --config "$file"
	[[ "$output" != *unknown* && "$output" != *"not a setting"* ]]
	for name in key ttl wait nodes restart-guard on-lost log record json; do grep -qx "$name" "$T/names"; done
}

@test "the output of config is a configuration file that gives the same settings" {
	local given=(-k b -k ' a' -k 'c c' -s -t 90500ms -w 1h30m -E 3 --fair --owner '50% = "me" # not' --min-validity 0
		--on-event 'a | b' --on-lost warn --signal USR1 --kill-after 0 --max-run 0 --min-hold 1ms --wait-descendants --cacert /a,b
		--insecure --drift-factor 0.05 --restart-guard off --key-format 'app:%s%%' --strict -vv --json --log "$T/log")
	unset REDLOCK_CONFIG REDLOCK_NODE_TIMEOUT
	REDLOCK_RECORD=$T/record REDLOCK_NODES='redis://a:1 unix:///b?db=3' redlock config "${given[@]}" --json > "$T/json"
	jq -r '.settings[] | select(.source != "default") | .name' "$T/json" | sort > "$T/given"
	unset 'given[-3]' # --json
	[ "${#given[@]}" -gt 40 ]
	REDLOCK_RECORD=$T/record REDLOCK_NODES='redis://a:1 unix:///b?db=3' redlock config "${given[@]}" > "$file"
	cat "$file"
	# all that was given is there, but the key that begins with a blank, which no file can have, and --json
	sed -nE 's/^([a-z-]+) = .*/\1/p' "$file" | sort -u | diff <(grep -vx json "$T/given") -
	[ "$(grep -c '^key = ' "$file")" = 2 ]
	file_has "$file" '^#key =  a$'
	unset REDLOCK_NODES
	redlock config --config "$file" > "$T/again"
	diff <(grep '^[a-z]' "$file") <(grep '^[a-z]' "$T/again")
	# from then on, not a byte changes
	cp "$T/again" "$file"
	redlock config --config "$file" > "$T/again"
	cp "$T/again" "$file"
	redlock config --config "$file" | diff "$T/again" -
	# without any setting, all lines are comments
	REDLOCK_CONFIG=/dev/null redlock config > "$T/plain"
	not grep -v '^#' "$T/plain"
	# a secret is no value for a file
	REDLOCK_PASSWORD=s3cret REDLOCK_NODES=redis://:s3cret@a run -0 redlock config
	is_like "$output" "*# environment REDLOCK_NODES?#nodes = redis://:[*][*][*]@a:6379?*# environment REDLOCK_PASSWORD?#password = [*][*][*]?*"
}

@test "config names the list of nodes: the same in any order, with any user and password; in a file it is a comment" {
	export REDLOCK_NODES="redis://a.example.com redis://u:s3cret@b.example.com redis://c.example.com/1"
	run -0 redlock config
	name=$(sed -n 's/^# list \([0-9a-f]\{8\}\) of 3 nodes$/\1/p' <<< "$output")
	[ ${#name} = 8 ]
	redlock config > "$BATS_TEST_TMPDIR/file"
	for nodes in "c.example.com/1,b.example.com,a.example.com:6379" "redis://x:y@c.example.com:6379/1 a.example.com b.example.com"; do
		[ "$(redlock config --json --nodes "$nodes" | jq -r .list)" = "$name" ]
	done
	for nodes in "a.example.com b.example.com c.example.com" "a.example.com b.example.com" "a.example.com"; do
		run -0 redlock config --nodes "$nodes"
		not grep -q "$name" <<< "$output"
		grep -qE '^# list [0-9a-f]{8} of [123] nodes?$' <<< "$output"
	done
	unset REDLOCK_NODES
	[ "$(redlock config --json --config "$BATS_TEST_TMPDIR/file" --nodes "a.example.com b.example.com c.example.com/1" | jq -r .list)" = "$name" ]
	# the default
	redlock config | grep -qE '^# list [0-9a-f]{8} of 1 node$'
}

@test "config shows no secret, from any source" {
	printf '[p]\nnode = redis://me:s3cret1@a\nnode = unix://:s3cret2@/b\npassword = s3cret3\nusername = me\n' > "$file"
	chmod 600 "$file"
	echo s3cret4 > "$T/pass"
	chmod 600 "$T/pass"
	for json in '' --json; do
		for words in "--config $file --profile p" "--nodes redis://:s3cret5@c" "--password-file $T/pass" ''; do
			run -0 redlock config $json $words
			[[ "$output" != *s3cret* ]]
			REDLOCK_NODES='me:s3cret6@d' REDLOCK_PASSWORD=s3cret7 run -0 redlock config $json
			[[ "$output" != *s3cret* ]]
			[[ "$output" == *"***"* ]]
		done
	done
	unset REDLOCK_NODES
	setting nodes '.value == "redis://me:***@a:6379 unix://:***@/b"' --config "$file" --profile p
	setting password '.value == "***" and (.where | endswith(":4"))' --config "$file" --profile p
	setting password-file ".value == \"$T/pass\"" --password-file "$T/pass"
}

@test "a file with a password that others can read: one warning" {
	export REDLOCK_CONFIG=$file
	warned="redlock: others can read '$file', which has a password in it
hint: chmod o-rwx '$file'"
	for text in 'password = x' "node = unix://:x@$T/1.sock"; do
		echo "$text" > "$file"
		chmod 644 "$file"
		says 0 '*' "$warned" config
		run -0 --separate-stderr redlock config -q
		[ "$stderr" = '' ]
		for mode in 640 600; do
			chmod $mode "$file"
			says 0 '*' '' config
		done
	done
	echo 'ttl = 30s' > "$file"
	chmod 644 "$file"
	says 0 '*' '' config
}

@test "the command finds the same configuration" {
	printf '[p]\nowner = p\nnodes = %s\n' "$REDLOCK_NODES" > "$file"
	unset REDLOCK_NODES
	cd "$T"
	PATH=$REDLOCK_BUILD:$PATH run -0 redlock run --config redlock.conf --profile p -k outer -- \
		sh -c 'cd / && redlock config && redlock run -k inner -- redlock status inner'
	[[ "$output" == *"# environment REDLOCK_CONFIG"$'\n'"#config = $file"* ]]
	[[ "$output" == *"# environment REDLOCK_PROFILE"$'\n'"#profile = p"* ]]
	[[ "$output" == *"inner"*"p"* ]]
	# a pipe is empty by then
	run redlock run --config <(cat redlock.conf) --profile p -k outer -- printenv REDLOCK_CONFIG REDLOCK_PROFILE REDLOCK_NODES
	[ "$output" = "unix://$T/1.sock" ]
}

@test "the file in docs/nodes.md is valid" {
	sed -n '/^    ttl = 1m$/,/^`redlock config`/s/^    //p' "$BATS_TEST_DIRNAME/../../docs/nodes.md" > "$file"
	unset REDLOCK_NODES
	setting nodes '.value == "redis://s1.example.com:6379 redis://s2.example.com:6379 redis://s3.example.com:6379"' --config "$file" --profile staging
	setting username '.value == "deploy"' --config "$file" --profile production
	setting ttl '.value == "60s"' --config "$file" --profile production
}

@test "config: a full disk, and one argument too many" {
	run -125 bash -c "'$REDLOCK_BUILD/redlock' config > /dev/full"
	says 64 '' "redlock: unexpected argument 'more'*" config job more
}
