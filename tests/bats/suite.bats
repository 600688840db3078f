# tests/run, on builds with parts of a few lines of shell: its counts, and parts that run at the same time. And
# tests/messages, on messages of each form and without one; the end of each test (nodes.bash); and
# tests/portability/servers, without servers.

load nodes

setup() {
	T=$BATS_TEST_TMPDIR
	mkdir "$T/one" "$T/two"
	unset JOBS SERVER AGAIN SKIPS
}

# part BUILD NAME LINE...
part() {
	printf '%s\n' '#!/bin/sh' "${@:3}" > "$T/$1/$2"
	chmod +x "$T/$1/$2"
}

# counts STATUS PASSED FAILED[, SKIPPED...] WORD...: tests/run with these arguments. (bats gets confused by another around it; and
# that of Debian 13 may wait for the whole time-out of a test that takes no time.)
counts() {
	# shellcheck disable=SC2046
	PATH=${PATH/"$BATS_LIBEXEC:"/} run env $(printf -- '-u %s ' "${!BATS_@}") BATS_TEST_TIMEOUT=20 "$BATS_TEST_DIRNAME/../run" "${@:4}"
	echo "$output"
	[ "$status" -eq "$1" ]
	[ "${lines[-1]}" = "$2 passed, ${3%%,*} failed${3#"${3%%,*}"}" ]
}

@test "passed tests are counted, of every build, and shown in full" {
	part one unit 'echo ok 1 first; echo "# words"; echo ok 2 second'
	part two unit 'echo ok 1 third'
	part two sim 'echo ok 1 fourth >&2'
	counts 0 4 0 "$T/one" unit "$T/two" unit sim
	[[ "$output" == *$'ok 1 first\n# words\nok 2 second'* ]]
	[[ "$output" == *$'\n== sim ('*"/two): "*" of 3, "*$'s\nok 1 fourth\n'* ]]
	[[ "$output" != *"== failed"* ]]
}

@test "a failed test, a skip, a part without a test, or with a bad end: each is a failure, and named at the end" {
	part one unit 'echo ok 1 good'
	failing() {
		part one sim "$@"
		counts 1 "$PASSED" 1 "$T/one" unit sim
		[[ "$output" == *$'\n== failed\n  sim ('*"/one): status "* ]]
	}
	PASSED=2 failing 'echo ok 1 good; echo not ok 2 bad; exit 1'
	[[ "$output" == *$'1 failed\n    not ok 2 bad\n'* ]]
	PASSED=2 failing 'echo ok 1 good; echo not ok 2 bad'
	PASSED=2 failing 'echo ok 1 good; echo "ok 2 lazy # skip no time"'
	[[ "$output" == *$'1 failed\n    ok 2 lazy # skip no time\n'* ]]
	PASSED=1 failing true
	PASSED=1 failing 'echo 1..0'
	PASSED=2 failing 'echo ok 1 good; exit 3'
	PASSED=2 failing 'echo ok 1 good; kill -SEGV $$'
	rm "$T/one/sim"
	counts 1 1 1 "$T/one" unit sim
	counts 1 1 1 "$T/one" unit nonsense
	[[ "$output" == *"not ok: unknown part 'nonsense'"* ]]
	counts 1 0 1 "$T/one"
}

@test "a test that needs a missing right is skipped and counted by the right; any other skip fails, with SKIPS=fail every one" {
	export RIGHTS=$'mounts no mount namespaces\npids\nptrace no ptrace'
	part one unit 'echo ok 1 good; echo "ok 2 a in 3ms # skip no ptrace"; echo "ok 3 b # skip no mount namespaces"'
	part two unit 'echo "ok 1 c # skip no ptrace"'
	counts 0 1 '0, 3 skipped: no ptrace (2), no mount namespaces (1)' "$T/one" unit "$T/two" unit
	[[ "$output" != *"== failed"* ]]
	SKIPS=fail counts 1 1 3 "$T/one" unit "$T/two" unit
	[[ "$output" == *$'\n== failed\n'*$'2 failed\n    ok 2 a in 3ms # skip no ptrace\n    ok 3 b # skip no mount namespaces\n'* ]]
	# this machine has that right; and that is no right
	part two unit 'echo "ok 1 c # skip no pid namespaces"; echo "ok 2 d # skip no ptrace today"; echo "ok 3 e # skip"'
	counts 1 1 '3, 2 skipped: no mount namespaces (1), no ptrace (1)' "$T/one" unit "$T/two" unit
	RIGHTS=pids counts 1 1 2 "$T/one" unit
}

@test "AGAIN: skips for missing rights are counted once, and a bats file repeats its failed tests only" {
	export RIGHTS='ptrace no ptrace' WHERE=$T
	printf '@test "%s" { echo %s >> "$WHERE/ran"; %s; }\n' > "$T/late.bats" good good true lazy lazy 'skip "no ptrace"' \
		late late '[ "$(grep -c late "$WHERE/ran")" -gt 1 ]'
	AGAIN=1 counts 0 2 '0, 1 skipped: no ptrace (1)' "$T/one" "$T/late.bats"
	[ "$(xargs < "$T/ran")" = "good lazy late late" ]
}

@test "needs: the test is skipped before it starts anything; a right that tests/rights does not know is a failure" {
	export RIGHTS=$'mounts no mount namespaces\npids' WHERE=$T
	printf '%s\n' "load $BATS_TEST_DIRNAME/nodes" \
		'@''test "one" { needs pids mounts; touch "$WHERE/never"; }' \
		'@''test "two" { needs pids; touch "$WHERE/ran"; }' > "$T/some.bats"
	counts 0 1 '0, 1 skipped: no mount namespaces (1)' "$T/one" "$T/some.bats"
	[ -e "$T/ran" ]
	[ ! -e "$T/never" ]
	echo '@''test "three" { needs wings; touch "$WHERE/never"; }' >> "$T/some.bats"
	counts 1 1 '1, 1 skipped: no mount namespaces (1)' "$T/one" "$T/some.bats"
	[[ "$output" == *"tests/rights has no 'wings'"* ]]
	[ ! -e "$T/never" ]
}

@test "tests/rights has the rights that tests name, and no others, each with a reason of its own" {
	run -0 "$BATS_TEST_DIRNAME/../rights"
	sed 's/ .*//' <<< "$output" | sort > "$T/known"
	cd "$BATS_TEST_DIRNAME/.."
	sed -nE 's/^\t?needs ([a-z_ ]+)$/\1/p' ./*/*.bats faults/syscalls | tr ' ' '\n' | sort -u | diff "$T/known" -
	# no right at all: no program that the probes use
	ln -s "$(type -P bash)" "$(type -P mktemp)" "$(type -P chmod)" "$(type -P rm)" "$T/one"
	PATH=$T/one run -0 "$BATS_TEST_DIRNAME/../rights"
	[ "$(grep -cE '^[a-z_]+ no [A-Za-z -]+$' <<< "$output")" -eq "$(wc -l < "$T/known")" ]
	[ "$(sed 's/^[^ ]* //' <<< "$output" | sort -u | wc -l)" -eq "$(wc -l < "$T/known")" ]
}

@test "temporary files and the registry of a run are in one folder, which is gone at the end, also of a failed test's" {
	part one unit "echo \$TMPDIR > $T/where; echo x > \$TMPDIR/left; mkdir \$XDG_RUNTIME_DIR/redlock" \
		'[[ $XDG_RUNTIME_DIR == $TMPDIR/* ]] && echo not ok 1; exit 1'
	sed -i '1s/.*/#!\/bin\/bash/' "$T/one/unit"
	counts 1 0 1 "$T/one" unit
	[[ "$(cat "$T/where")" == "${TMPDIR:-/tmp}"/rl.* ]]
	[ ! -e "$(cat "$T/where")" ]
}

@test "AGAIN: a part that failed runs once more, the second result counts, and the first one is shown" {
	part one unit 'echo ok 1 good'
	part one sim 'echo ok 1 good; [ -e "${0%/*}/ran" ] && echo ok 2 late && exit' \
		'touch "${0%/*}/ran"; echo not ok 2 late; echo "# was early"; exit 1'
	part two sim 'echo not ok 1 bad; exit 1'
	AGAIN=1 counts 0 3 0 "$T/one" unit sim
	[[ "$output" == *$'\nnot ok 2 late\n'*$'\nok 2 late\n'* ]]
	[[ "$output" == *$'\n== failed at the first try: '*$'\n  sim ('*$'/one): status 1, 1 failed\n    not ok 2 late\n    # was early\n'* ]]
	[[ "$output" != *$'\n== failed\n'* ]]

	AGAIN=1 counts 1 0 1 "$T/two" sim
	[[ "$output" == *$'\n== failed\n  sim ('* ]]
	rm "$T/one/ran"
	AGAIN=1 counts 1 2 2 "$T/one" unit sim "$T/two" sim
	[[ "$output" != *"first try"* ]]
}

@test "AGAIN: of a bats file, only the tests that failed run once more, unless a test is missing" {
	export WHERE=$T
	printf '@test "%s" { echo %s >> "$WHERE/ran"; %s; }\n' > "$T/late.bats" 'good (1 of 2)' good true \
		'late (2 of 2) [a|b] *' late '[ "$(grep -c late "$WHERE/ran")" -gt 1 ]'
	AGAIN=1 counts 0 2 0 "$T/one" "$T/late.bats"
	[ "$(xargs < "$T/ran")" = "good late late" ]
	rm "$T/ran"
	echo 'setup_file() { echo setup >> "$WHERE/ran"; [ "$(grep -c setup "$WHERE/ran")" -gt 1 ] && echo late >> "$WHERE/ran"; }' >> "$T/late.bats"
	AGAIN=1 counts 0 2 0 "$T/one" "$T/late.bats"
	[ "$(xargs < "$T/ran")" = "setup setup late good late" ]
}

@test "an empty bats file is a failure; and the variables that a bats file gets about the build" {
	echo > "$T/empty.bats"
	counts 1 0 1 "$T/one" "$T/empty.bats"
	# (it is no test of this file)
	printf '%s\n' '@''test "told" {' '[ "$REDLOCK_BUILD" = "$WANTED" ]' '}' > "$T/build.bats"
	WANTED=$T/two counts 0 1 0 "$T/two" "$T/build.bats"
	WANTED=$T/two counts 1 0 1 "$T/one" "$T/build.bats"
}

@test "JOBS parts run at a time" {
	# (each waits for the other)
	meets() { echo "touch $T/$1; for i in \$(seq 2000); do [ ! -e $T/$2 ] || break; sleep 0.02; done; [ -e $T/$2 ] && echo ok 1"; }
	part one unit "$(meets first second)"
	part two unit "$(meets second first)"
	JOBS=2 counts 0 2 0 "$T/one" unit "$T/two" unit
	# (each finds no other part running)
	alone() { echo "mkdir $T/room && sleep 0.3 && rmdir $T/room && echo ok 1"; }
	part one unit "$(alone)"
	part two unit "$(alone)"
	JOBS=1 counts 0 2 0 "$T/one" unit "$T/two" unit
}

@test "SERVER, a path or a name in PATH, is the redis-server of all parts; nothing of it is left" {
	part one other-server 'echo "another one: $*"'
	part one unit "type redis-server > $T/found" '[ "$(redis-server --version)" = "another one: --version" ] && echo ok 1'
	ln -s unit "$T/one/sim"
	for server in "$T/one/other-server" other-server; do
		PATH=$T/one:$PATH SERVER=$server counts 0 2 0 "$T/one" unit sim
		found=$(sed 's/.* //' "$T/found")
		[[ "$found" == /*/redis-server && ! -e ${found%/*} ]]
	done
	# without, and empty: the usual one
	counts 1 0 2 "$T/one" unit sim
	SERVER= counts 1 0 2 "$T/one" unit sim
}

@test "nonsense is refused in one line" {
	for jobs in 0 -1 x 1.5; do
		JOBS=$jobs run -2 "$BATS_TEST_DIRNAME/../run" "$T/one" unit
		[ "$output" = "tests/run: JOBS is a whole number above 0, not '$jobs'" ]
	done
	for server in no-such-server "$T/one" ./no-such-server; do
		SERVER=$server run -2 "$BATS_TEST_DIRNAME/../run" "$T/one" unit
		[ "$output" = "tests/run: SERVER is a program, and '$server' is none, nor one in PATH" ]
	done
	SKIPS=no run -2 "$BATS_TEST_DIRNAME/../run" "$T/one" unit
	[ "$output" = "tests/run: SKIPS is 'fail' or nothing, not 'no'" ]
	AGAIN=x run -2 "$BATS_TEST_DIRNAME/../run" "$T/one" unit
	[ "$output" = "tests/run: AGAIN is a whole number, not 'x'" ]
	run -2 "$BATS_TEST_DIRNAME/../run" unit
	[ "$output" = "tests/run: the first word is a build's folder, not 'unit'" ]
}

@test "on a signal, it ends the running parts" {
	for signal in INT TERM; do
		rm -f "$T/pid"
		part one unit "echo \$\$ > $T/pid; exec sleep 60"
		env --default-signal "$BATS_TEST_DIRNAME/../run" "$T/one" unit > "$T/out" 2>&1 3>&- &
		BG=$!
		eventually test -s "$T/pid"
		kill -s $signal $BG
		ended_with 1
		is_gone "$(cat "$T/pid")"
		grep -q "^tests/run: ends the running parts: 1 part" "$T/out"
	done
}

# judged REASON CALL: tests/messages says that about the call, with its line; REASON "": nothing.
judged() {
	printf 'static void f(void)\n{\n\t%s;\n}\n' "$2" > "$T/message.c"
	run env LC_ALL=C "$BATS_TEST_DIRNAME/../messages" "$T/message.c"
	echo "$2: $output"
	[ "$status" -eq 0 ]
	if [ -n "$1" ]; then [[ "$output" == "$T/message.c:3: $1: "* ]]; else [ -z "$output" ]; fi
}

@test "lint: a message or hint without a form of HACKING.md is found, with its line and the reason" {
	# each form
	judged "" 'log_say(LOG_ERRORS, "cannot read %s: %s", path, strerror(errno))'
	judged "" 'log_say(LOG_ERRORS, "cannot find %s: %s; nothing will be recorded", path, strerror(errno))'
	judged "" 'err_set(e, ERR_USAGE, "missing token")'
	judged "" 'err_set(e, ERR_USAGE, "too many keys: at most %d are allowed", KEYS_MAX)'
	judged "" 'log_say(LOG_ERRORS, "--password: every user can read it")'
	judged "" 'err_set(e, ERR_USAGE, "--ttl '"'%s'"' is too short for %s", a, b)'
	judged "" 'log_event(LOG_NORMAL, &(struct log_event){"released", 0}, "released %s", name)'
	judged "" 'log_say(LOG_NORMAL, "%s %s free", name, report_verb(&s->keys))'
	judged "" 'err_hint(e, "did you mean %s?", word)'
	judged "" 'err_hint(e, "name a separate server for each node")'
	# and what has none
	judged "has no form" 'err_set(e, ERR_USAGE, "this does not work")'
	judged "has no form" 'err_set(e, ERR_USAGE, is ? "missing key" : "no luck")'
	judged "has no form" 'log_say(LOG_ERRORS, "cannot open %s", path)'
	judged "asks a question" 'err_set(e, ERR_USAGE, "no key: which lock?")'
	judged "asks a question" 'err_hint(e, "see --key; is it set?")'
	judged "names nothing to do" 'log_hint(LOG_ERRORS, "readers are not counted")'
	judged "a limit is a reason: it follows a colon" 'err_set(e, ERR_USAGE, "the key has %d bytes; at most %d are allowed", a, b)'
	judged "the system's reason is the last part, after a colon" 'log_say(LOG_ERRORS, "cannot open: %s (%s)", path, strerror(errno))'
	judged "the system's reason is the last part, after a colon" 'log_say(LOG_ERRORS, "cannot read: %.*s: %s: %s", len, path, strerror(errno), x)'
	judged "has a capital letter, a full stop, a line feed or a prefix" 'err_set(e, ERR_USAGE, "Missing key")'
	judged "has a capital letter, a full stop, a line feed or a prefix" 'err_set(e, ERR_USAGE, "missing key.")'
	judged "has a capital letter, a full stop, a line feed or a prefix" 'err_set(e, ERR_USAGE, "error: missing key")'
	judged "asks a question" 'finding_add(d, node, SEVERITY_ERROR, "id", "fix", "is it %s?", x)'
	judged "a report has no form" 'l = line_begin(dst); line_add(&l, "it was ")'
	# a message of the source is seen
	run env LC_ALL=C "$BATS_TEST_DIRNAME/../messages" all=1 "$BATS_TEST_DIRNAME"/../../src/*/*.c
	[ "${#lines[@]}" -gt 250 ]
	[[ "$output" == *": input: missing token"* ]]
}

@test "the end of a test ends its own processes, and none that has the pid of one of them by now" {
	others=$(setsid sleep 600 > "$T/out" 3>&- & echo $!)
	also_end "$others"
	own=${STARTED[$others]}
	STARTED[$others]=1 # as if a process of this test had had that pid before
	sleep 600 3>&- &
	mine=$!
	also_end $mine
	setsid sh -c 'sleep 600 & echo $! > "$0"; wait' "$T/member" 3>&- &
	also_end -$!
	eventually test -s "$T/member"
	nodes_stop
	is_gone $mine
	eventually is_gone "$(cat "$T/member")"
	not is_gone "$others"
	STARTED[$others]=$own
	nodes_stop
	eventually is_gone "$others"
}

# servers_in_copy ARG...: a copy of tests/portability/servers, whose tests/run prints what it gets.
servers_in_copy() {
	mkdir -p "$T/tests/portability" "$T/build/tools"
	cp "$BATS_TEST_DIRNAME"/../portability/{servers,lib.bash} "$T/tests/portability"
	printf '%s\n' '#!/bin/sh' 'echo "run on $("$SERVER" --port 7): $*"' '[ "${SERVER##*/}" != "$BROKEN" ]' > "$T/tests/run"
	chmod +x "$T/tests/run"
	run --separate-stderr "$T/tests/portability/servers" "$@"
	echo "$output"
	echo "$stderr"
}

@test "make check-servers: a mirror that cannot be reached is a failure with one line; nothing is skipped" {
	export MIRROR=file:$T/none
	for _ in 1 2; do
		servers_in_copy build x.bats
		[ "$status" -eq 2 ]
		is_like "$stderr" "tests/portability/servers: the servers of Debian's trixie could not be fetched from file:$T/none/: E: *"
		[ "${#stderr_lines[@]}" -eq 1 ]
		not grep "^run" <<< "$output"
	done
}

@test "make check-servers: each server is started with its own libraries, and a failure on one of them counts" {
	local lib=$T/build/servers/root/usr/lib/some-linux-gnu
	mkdir -p "$lib"
	printf '%s\n' '#!/bin/sh' 'echo "$*"' > "$lib/ld-linux-some.so.2"
	chmod +x "$lib/ld-linux-some.so.2"
	started() { echo "run on --library-path $lib --argv0 $1 $T/build/servers/root/usr/bin/$1 --port 7: build x.bats y.bats"; }
	servers_in_copy build x.bats y.bats
	[ "$status" -eq 0 ]
	[ "$(grep ^run <<< "$output")" = "$(started redis-server && started valkey-server)" ]
	BROKEN=redis-server servers_in_copy build x.bats y.bats
	[ "$status" -eq 1 ]
	[ "$(grep -c ^run <<< "$output")" = 2 ]
}

@test "only the hasty program has shortened constants" {
	run -1 grep -c "a hasty object" "$REDLOCK_BUILD/redlock"
	# one for each file of HASTY in the Makefile
	run -0 grep -ao "a hasty object" "$REDLOCK_BUILD/hasty/redlock"
	[ "${#lines[@]}" -eq 4 ]
}
