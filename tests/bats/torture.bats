# The torture test, in short, and the ability of its verdict to say no.

load nodes

setup() {
	SOAK=$BATS_TEST_DIRNAME/../soak
	LOG=$BATS_TEST_TMPDIR/log
	new_log
}

# new_log [SECONDS]: the log of a soak of three nodes.
new_log() { echo "1000000 soak 3 ${1-10}" > "$LOG"; }

# record MS begin|tick|end KEY RUN TOKEN
record() { echo "${1}000000 $2 $3 $4 4711 $5 -" >> "$LOG"; }

# section FROM_MS TO_MS KEY RUN TOKEN
section() {
	record "$1" begin "$3" "$4" "$5"
	record "$2" end "$3" "$4" "$5"
}

# run_ended RUN STATUS [WORDS [WAIT [CLIENT [OWN]]]]: the records of a run that was started at 5 s, with a TTL of 1 s,
# and ended at 9 s.
run_ended() {
	echo "5000000000 run $1 ${5-redlock} k ${4-forever} ${6-0} 1000" >> "$LOG"
	echo "9000000000 status $1 $2 redlock: ${3-}" >> "$LOG"
}

# fault VICTIM KIND [FROM_MS [TO_MS]]
fault() {
	echo "${3-6000}000000 fault $1 $2" >> "$LOG"
	[ -z "${4-}" ] || echo "${4}000000 cleared $1" >> "$LOG"
}

verdict() {
	run awk -f "$SOAK/verdict.awk" "$LOG"
	echo "$output"
}

accepted() {
	verdict
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "0 violations" ]
}

# refused WORDS: the verdict is no, for that reason only.
refused() {
	verdict
	[ "$status" -eq 1 ]
	[[ "$output" == *"violation: $1"* ]]
	[ "${lines[-1]}" = "1 violations" ]
}

@test "one section after the other is no violation, and the least margin counts" {
	section 10 20 k 1 A
	section 25 30 k 2 B
	section 33 35 k 3 C
	section 12 28 other 4 D
	for run in 1 2 3 4; do
		run_ended $run 0
	done
	accepted
	[ "$(awk '$1 == "k" { print $2, $5, $6 }' <<< "$output")" = "3 0 3.0" ]
}

@test "sections that overlap are refused: one within the other" {
	record 10 begin k 1 A
	section 12 14 k 2 B
	record 20 end k 1 A
	run_ended 1 0
	run_ended 2 0
	refused "k: run 1 stayed until 8.0 ms after run 2 had begun"
	[ "$(awk '$1 == "k" { print $5 }' <<< "$output")" = 1 ]
}

@test "sections that overlap are refused: the last tick of a killed one is late" {
	record 10 begin k 1 A
	section 12 14 k 2 B
	record 13 tick k 1 A
	run_ended 1 137
	fault 1 redlock-killed
	run_ended 2 0
	refused "k: run 1 stayed"
}

@test "sections that overlap are refused: by their times, though written one after the other" {
	section 10 20 k 1 A
	section 19 30 k 2 B
	run_ended 1 0
	run_ended 2 0
	refused "k: run 1 stayed until 1.0 ms after run 2 had begun"
}

@test "sections that overlap are refused: a section between them changes nothing" {
	section 10 20 k 1 A
	section 30 40 k 2 B
	record 41 tick k 1 A
	run_ended 1 137
	fault 1 redlock-killed
	run_ended 2 0
	refused "k: run 1 stayed"
}

# started RUN CLIENT, and ended RUN: the verdict must know a reader before its sections.
started() { echo "5000000 run $1 $2 k forever 0 1000" >> "$LOG"; }
ended() { echo "9000000000 status $1 ${2-0} redlock:" >> "$LOG"; }

@test "readers may overlap with each other, but not with a writer" {
	for run in 1 2 4; do started $run reader; done
	started 3 redlock
	record 10 begin k 1 A
	section 12 14 k 2 B
	record 13 tick k 1 A
	record 20 end k 1 A
	section 22 30 k 3 C
	section 35 40 k 4 D
	for run in 1 2 3 4; do ended $run; done
	accepted
	[ "$(awk '$1 == "k" { print $2, $5, $6 }' <<< "$output")" = "4 0 2.0" ]
}

@test "a writer among readers is refused, and a reader during a writer's section" {
	# one of them, and the other within its section
	for clients in "reader redlock" "redlock reader"; do
		new_log
		started 1 "${clients% *}"
		started 2 "${clients#* }"
		record 10 begin k 1 A
		section 12 14 k 2 B
		record 20 end k 1 A
		ended 1
		ended 2
		refused "k: run 1 stayed"
	done
	# by their times alone: after two readers, the first of which stayed longer
	new_log
	started 1 reader
	started 2 reader
	started 3 redlock
	section 10 20 k 1 A
	section 11 15 k 2 B
	section 18 30 k 3 C
	for run in 1 2 3; do ended $run; done
	refused "k: run 1 stayed until 2.0 ms after run 3 had begun"
}

@test "sections that overlap are refused: redlock and node-redlock" {
	record 10 begin k 1 A
	section 11 14 k 2 B
	record 15 end k 1 A
	run_ended 1 0 '' forever node-redlock
	run_ended 2 0
	refused "k: run 1 stayed"
}

@test "two runs with one token are refused" {
	section 10 20 k 1 A
	section 30 40 k 2 A
	run_ended 1 0
	run_ended 2 0
	refused "runs 1 and 2 have the same token A"
}

# one_run STATUS FAULT none|half|whole [...]: the fault that struck the run, or "nodes", a majority of them; the
# recorded part of a section; and the rest as for run_ended. Another run before it is correct.
one_run() {
	local status=$1 fault=$2 begun=$3

	shift 3
	new_log
	section 1 2 k 0 Z
	run_ended 0 0
	case $fault in
	none) ;;
	nodes)
		fault node-0 node-killed
		fault node-2 clients-paused
		;;
	*) fault 1 "$fault" ;;
	esac
	case $begun in
	none) ;;
	half) record 10 begin k 1 A ;;
	whole) section 10 20 k 1 A ;;
	esac
	run_ended 1 "$status" "$@"
}

@test "statuses that are explained" {
	one_run 0 none whole && accepted
	one_run 3 none whole '' forever redlock 3 && accepted
	one_run 137 none whole '' forever redlock 137 && accepted
	one_run 75 none none "'k' is busy: held by x" none && accepted
	one_run 69 nodes none "no quorum for 'k': 1 of 3" 5s && accepted
	one_run 69 redlock-stopped none "this machine is so slow that" && accepted
	one_run 79 nodes half "acquired 'k'|redlock: lost 'k': no majority" && accepted
	one_run 79 nodes whole "acquired 'k'|redlock: lost 'k': no majority" && accepted
	one_run 79 redlock-stopped none "acquired 'k'|redlock: lost 'k': no majority" && accepted
	one_run 124 none half "the command ran for longer than 1s and was ended" && accepted
	one_run 143 redlock-asked half && accepted
	one_run 143 redlock-asked none && accepted
	one_run 137 redlock-asked half && accepted
	one_run 0 redlock-asked whole && record 21 begin k 1 A && accepted
	one_run 137 redlock-killed half && accepted
	one_run 125 supervisor-killed half "the command's supervisor was killed, and" && accepted
	one_run 1 none none 'no quorum' forever node-redlock && accepted
	one_run 79 none half '' forever node-redlock && accepted
}

@test "statuses that nothing explains are refused" {
	one_run 0 none none && refused "run 1 ended with 0,"
	one_run 0 none half && refused "run 1 ended with 0,"
	one_run 0 none whole && record 21 begin k 1 A && refused "run 1 ended with 0,"
	one_run 0 redlock-asked half && refused "run 1 ended with 0,"
	one_run 3 none whole && refused "run 1 ended with 3,"
	one_run 75 none half "'k' is busy: held by x" none && refused "run 1 ended with 75,"
	one_run 75 none none "'k' is busy: held by x" forever && refused "run 1 ended with 75,"
	one_run 75 none none "" none && refused "run 1 ended with 75,"
	one_run 69 none none "no quorum for 'k': 1 of 3" && refused "run 1 ended with 69,"
	one_run 69 nodes half "no quorum for 'k': 1 of 3" && refused "run 1 ended with 69,"
	one_run 79 none half "acquired 'k'|redlock: lost 'k': no majority" && refused "run 1 ended with 79,"
	one_run 69 nodes none "this machine is so slow that" && refused "run 1 ended with 69,"
	one_run 79 nodes half "acquired 'k'|redlock: lost 'k': redlock stood still" && refused "run 1 ended with 79,"
	one_run 79 supervisor-stopped half "acquired 'k'|redlock: lost 'k': no majority" && refused "run 1 ended with 79,"
	one_run 79 nodes none "lost 'k': no majority" && refused "run 1 ended with 79,"
	one_run 79 nodes half "acquired 'k'" && refused "run 1 ended with 79,"
	one_run 124 none half && refused "run 1 ended with 124,"
	one_run 143 none half && refused "run 1 ended with 143,"
	one_run 143 redlock-stopped half && refused "run 1 ended with 143,"
	one_run 137 none half && refused "run 1 ended with 137,"
	one_run 137 supervisor-killed half && refused "run 1 ended with 137,"
	one_run 125 none half "the command's supervisor was killed, and" && refused "run 1 ended with 125,"
	one_run 139 redlock-killed half && refused "run 1 ended with 139,"
	one_run 64 none none "unknown option" && refused "run 1 ended with 64,"
	one_run 0 none half '' forever node-redlock && refused "run 1 ended with 0,"
}

# lost_with FAULT...: a run lost its lock during that fault.
lost_with() {
	one_run 79 none half "acquired 'k'|redlock: lost 'k': no majority"
	for words; do
		# shellcheck disable=SC2086
		fault $words
	done
}

@test "a loss is explained by a fault of a majority, the machine or that run, and only during the fault" {
	lost_with "machine cpu-stress 6000 8000" && accepted
	lost_with "machine cpu-stress 1000 4400" && refused "run 1 ended with 79,"
	lost_with "machine cpu-stress 1000 4600" && accepted
	lost_with "machine cpu-stress 9100 9900" && refused "run 1 ended with 79,"
	lost_with "machine cpu-stress 1000" && accepted
	lost_with "machine-late others 7000 7000" "machine cpu-stress 1000 2000" && accepted
	lost_with "2 redlock-stopped" && refused "run 1 ended with 79,"
	lost_with "node-1 node-killed" && refused "run 1 ended with 79,"
	lost_with "node-1 node-killed 6000 6500" "node-1 node-stopped 6800" && refused "run 1 ended with 79,"
	lost_with "node-1 node-killed 6000 6500" "node-0 node-stopped 6800" && accepted
	lost_with "node-1 node-killed 6000 6500" "node-0 node-stopped 7100" && refused "run 1 ended with 79,"
	lost_with "node-1 node-killed 2000 4600" "node-0 node-stopped 3000 4600" && accepted
}

@test "half a minute without any extension is refused" {
	new_log 30
	section 10 20 k 1 A
	run_ended 1 0 "acquired 'k'|redlock: released 'k'|"
	refused "no lock was ever extended"
	sed -i 's/soak 3 30/soak 3 29/' "$LOG"
	accepted

	new_log 30
	section 10 20 k 1 A
	run_ended 1 0 "acquired 'k'|redlock: extended 'k'|redlock: extended 'k'|redlock: released 'k'|"
	accepted
	[[ "$output" == *"extensions: 2"* ]]
}

@test "a run without an end, a run without a start, leftovers, nonsense and an empty log are refused" {
	one_run 0 none whole
	echo "1 run 2 redlock k forever 0 1000" >> "$LOG"
	refused "run 2 did not end"

	one_run 0 none whole
	section 30 40 k 3 C
	refused "no process started run 3"

	one_run 0 none whole
	echo "1 left a key" >> "$LOG"
	refused "left at the end: a key"

	one_run 0 none whole
	echo "20000000 tick k 1" >> "$LOG"
	refused "line 10 makes no sense"

	new_log
	refused "no section at all"
}

@test "arguments that make no sense are refused in one line" {
	for words in MINUTES=-1 MINUTES=0 MINUTES=abc MINUTES=1h MINUTES=. SEED=abc SEED=-1 SEED=08 NODES=0 KEYS=x \
		WORKERS=-1 FOREIGN=x EMPTY_MS=0; do
		run env "$words" timeout 20 "$SOAK/torture" "$REDLOCK_BUILD"
		echo "$words: $status: $output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *": ${words%%=*} is "*", not '${words#*=}'" ]]
	done
}

# bats test_tags=not-under-valgrind
@test "half a minute of torture: no overlap, and every status is explained" {
	foreign=0
	[ -e "$REDLOCK_BUILD/bench-node/installed.json" ] && command -v node && foreign=1
	run env TMPDIR="$BATS_TEST_TMPDIR" MINUTES=0.4 FOREIGN=$foreign \
		"$SOAK/torture" "$REDLOCK_BUILD" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "0 violations" ]
	[ "$(awk '$1 == "all" { print ($2 > 0) }' <<< "$output")" -eq 1 ]
	[ "$(ls "$BATS_TEST_TMPDIR" | grep -c redlock)" -eq 0 ]
}
