# Judges the log of tests/soak/torture, and prints its figures.
# usage: awk -f tests/soak/verdict.awk LOG
# Exit status: 0 without a violation, else 1.
#
# A line of LOG is one of these; the first word is a time in nanoseconds:
#
#	TIME begin|tick|end KEY RUN PID TOKEN FENCE	tests/tools/section is under a lock
#	TIME soak NODES SECONDS				the first line: the number of nodes, and the planned duration
#	TIME run RUN CLIENT KEY WAIT STATUS TTL		a run starts; STATUS is its command's;
#							TTL in milliseconds. CLIENT is redlock, node-redlock,
#							or reader: a redlock with a shared lock
#	TIME fault VICTIM KIND				a fault of a run (RUN), a node (node-I) or the
#							machine (machine, or machine-late)
#	TIME cleared VICTIM				the fault is over; without this line it lasts
#	TIME status RUN STATUS [WORDS...]		the end of the run, and its message
#	TIME left WORDS...				leftovers
#
# The lines are in the order in which they were written, independent of any clock. So the sections of a key overlap when
# one of them writes after the next has written, and also when its last record has a later time than the next one's
# first. Readers may overlap with each other.

function violation(words) {
	violations++
	print "violation: " words
}

function least(a, b) { return a == "" || b < a ? b : a }

function ms(margin) { return margin == "" ? "-" : sprintf("%.1f", margin / 1e6) }

function is_reader(run) { return run in client && client[run] == "reader" }

function take_record(time, key, run, token,    section, kind, other) {
	section = key " " run
	kind = is_reader(run) ? "reader" : "writer"
	other = is_reader(run) ? "writer" : "reader"
	if (!(section in first))
		begin_section(time, key, run, token, section)
	if (kind == "writer" && current[key] != section)
		overlap(key, section, current[key], time - first[current[key]])
	# Another section was there since it began.
	if (last_line[key, other] > first_line[section])
		overlap(key, section, last[key, other], time - first[last[key, other]])
	last[key, kind] = section
	last_line[key, kind] = NR
	if (time > latest[key, kind]) {
		latest[key, kind] = time
		latest_of[key, kind] = section
	}
}

# The newest of the earlier sections that must be over: of writers, or for a writer of readers, too.
function before(key, run,    kind) {
	kind = "writer"
	if (!is_reader(run) && latest[key, "reader"] > latest[key, "writer"])
		kind = "reader"
	return latest_of[key, kind] == "" ? "" : kind
}

function begin_section(time, key, run, token, section,    margin, kind) {
	first[section] = time
	first_line[section] = NR
	run_of[section] = run
	key_of[section] = key
	if (token in run_with)
		violation("runs " run_with[token] " and " run " have the same token " token)
	run_with[token] = run
	if (!sections[key]++)
		keys[++count] = key
	kind = before(key, run)
	if (kind != "") {
		margin = time - latest[key, kind]
		if (margin < 0)
			overlap(key, latest_of[key, kind], section, -margin)
		worst[key] = least(worst[key], margin)
		if (!(latest_of[key, kind] in next_margin))
			next_margin[latest_of[key, kind]] = margin
	}
	if (!is_reader(run))
		current[key] = section
}

# Reported at the end, when the length of the overlap is known.
function overlap(key, one, other, by,    pair) {
	pair = one SUBSEP other
	if (!(pair in overlapped)) {
		overlaps[key]++
		pairs[++pair_count] = pair
	}
	if (!(overlapped[pair] > by))
		overlapped[pair] = by
}

function tell_overlap(pair,    name) {
	split(pair, name, SUBSEP)
	violation(sprintf("%s: run %s stayed until %.1f ms after run %s had begun, at %.1f s",
		key_of[name[1]], run_of[name[1]], overlapped[pair] / 1e6, run_of[name[2]],
		(first[name[2]] - began) / 1e9))
}

# True if a fault may have kept a run from its lock: a fault of the machine; of the run itself, stopped; or, unless the
# run reports that it was late itself, of a majority of the nodes at one moment. From half a TTL after its end on, a
# fault explains nothing more: by then redlock is connected again, and has repaired its key. A fault is noted before the
# end that it causes.
function was_struck(run,    i, at) {
	for (i = 1; i <= faults; i++) {
		at = from[i] > at_start[run] ? from[i] : at_start[run]
		if (!lasts(i, at, run) || at > at_end[run])
			continue
		if (victim[i] ~ /^machine/ || victim[i] == run && kind[i] == "redlock-stopped")
			return 1
		if (words[run] !~ /redlock stood still|this machine is so slow/ &&
			nodes_struck(at, run) > nodes / 2)
			return 1
	}
	return 0
}

function lasts(i, at, run) {
	return from[i] <= at && (to[i] == "" || at <= to[i] + ttl[run] * 1e6 / 2)
}

function nodes_struck(at, run,    i, counted, n) {
	for (i = 1; i <= faults; i++)
		if (victim[i] ~ /^node-/ && lasts(i, at, run) && !counted[victim[i]]++)
			n++
	return n
}

function is_explained(run,    is, complete) {
	is = status[run]
	complete = begun[run] && begun[run] == ended[run]
	if (client[run] == "node-redlock")
		return is == 0 ? complete : is == 1 ? !begun[run] || complete : is == 79
	if (is == own[run] && (complete || ended[run] && fault[run] == "redlock-asked"))
		return 1
	if (is == 75)
		return !begun[run] && wait[run] != "forever" && words[run] ~ / is busy: /
	if (is == 69)
		return !begun[run] && words[run] ~ /: no quorum |: this machine is so slow / && was_struck(run)
	if (is == 79)
		return words[run] ~ /: acquired .*: lost / && was_struck(run)
	if (is == 124)
		return words[run] ~ /: the command ran for longer than / # also before its first message
	if (is == 125)
		return fault[run] == "supervisor-killed" && words[run] ~ /supervisor was killed/
	if (is == 137)
		return fault[run] == "redlock-killed" || fault[run] == "redlock-asked" && begun[run]
	return is == 143 && fault[run] == "redlock-asked"
}

# A run that ended without, or before, a release.
function is_loss(run) { return status[run] == 79 || fault[run] == "redlock-killed" }

function print_key(key) {
	printf "%-14s %9d %9d %9d %9d %13s %13s\n", key, sections[key], foreign[key], losses[key],
		overlaps[key], ms(worst[key]), ms(worst_lost[key])
}

function print_counts(title, counts, total,    name) {
	printf "%s: %d\n", title, total
	fflush()
	for (name in counts)
		printf "  %-20s %6d\n", name, counts[name] | "sort"
	close("sort")
}

function add_up(key) {
	sections["all"] += sections[key]
	foreign["all"] += foreign[key]
	losses["all"] += losses[key]
	overlaps["all"] += overlaps[key]
	if (worst[key] != "")
		worst["all"] = least(worst["all"], worst[key])
	if (worst_lost[key] != "")
		worst_lost["all"] = least(worst_lost["all"], worst_lost[key])
}

NR == 1 { began = $1 }

$2 ~ /^(begin|tick|end)$/ && NF == 7 {
	begun[$4] += $2 == "begin"
	ended[$4] += $2 == "end"
	take_record($1, $3, $4, $6)
	next
}

$2 == "soak" && NF == 4 && NR == 1 {
	nodes = $3
	seconds = $4
	next
}

$2 == "run" && NF == 8 && !($3 in client) {
	client[$3] = $4
	wait[$3] = $6
	own[$3] = $7
	ttl[$3] = $8
	at_start[$3] = $1
	next
}

$2 == "fault" && NF == 4 {
	fault[$3] = $4
	kinds[$4]++
	victim[++faults] = $3
	kind[faults] = $4
	from[faults] = $1
	newest[$3] = faults
	next
}

$2 == "cleared" && NF == 3 && $3 in newest {
	to[newest[$3]] = $1
	next
}

$2 == "status" && NF >= 4 && $3 in client && !($3 in status) {
	status[$3] = $4
	at_end[$3] = $1
	words[$3] = $0
	extensions += gsub(/: extended /, "&")
	next
}

$2 == "left" && NF > 2 {
	sub(/^[^ ]+ left /, "")
	violation("left at the end: " $0)
	next
}

{ violation("line " NR " makes no sense: " $0) }

END {
	for (i = 1; i <= pair_count; i++)
		tell_overlap(pairs[i])
	for (run in begun)
		if (!(run in client))
			violation("no process started run " run)
	for (run in client) {
		runs++
		if (!(run in status)) {
			violation("run " run " did not end")
			continue
		}
		statuses[client[run] " " status[run]]++
		if (!is_explained(run))
			violation(sprintf("run %s ended with %d, had begun %d times and ended %d, fault: %s; log: %s",
				run, status[run], begun[run], ended[run], fault[run], words[run]))
	}
	for (section in run_of) {
		key = key_of[section]
		if (client[run_of[section]] == "node-redlock")
			foreign[key]++
		if (is_loss(run_of[section])) {
			losses[key]++
			if (section in next_margin)
				worst_lost[key] = least(worst_lost[key], next_margin[section])
		}
	}
	printf "%-14s %9s %9s %9s %9s %13s %13s\n", "key", "sections", "foreign", "losses", "overlaps",
		"worst margin", "after a loss"
	for (i = 1; i <= count; i++) {
		print_key(keys[i])
		add_up(keys[i])
	}
	print_key("all")
	if (!count)
		violation("no section at all")
	if (!nodes)
		violation("nothing says how many nodes there were")
	if (seconds >= 30 && !extensions)
		violation("no lock was ever extended")
	print "margins in ms, from the last record of a section to the first one of the next\n"
	print_counts("runs", statuses, runs)
	print_counts("faults", kinds, faults)
	printf "extensions: %d\n", extensions
	printf "%d violations\n", violations
	exit violations > 0
}
