/*
 * usage: sim [--check[=N] | --minutes N | --seeds N [--first N] | --seed N] [--profile NAME]
 *            [--without-heads]
 * --check    a fixed number of seeds of every profile, and some of them twice; prints TAP.
 *            N: only the first seeds, one in N of the number
 * --minutes  fresh seeds of every profile, or of the named one, for that long
 * --without-heads  the scripts take no short way for plain requests; the histories are the same
 * --seeds    N seeds of the profile (swarm), from 1, or from --first, on
 * --seed     this seed, with one line per event
 * Exit status: 0; 1 when a rule was broken (or, in a profile that is known to be unsafe, when
 * none was), or when a seed had two histories; 64 usage.
 */
#include "sim/sim.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef FAILURES_MAX
#define FAILURES_MAX 10
#endif

static const struct profile profiles[] = {
	{.name = "swarm",
		.words = "everything drawn from the seed",
		.faults_max = 8,
		.check_seeds = 2000},
	{.name = "adversary",
		.words = "clocks at the ends of their range, holders cut off",
		.at_extremes = true,
		.cuts_holders = true,
		.faults_max = 8,
		.check_seeds = 2000},
	{.name = "interference",
		.words = "keys deleted, clocks set forward: exclusion is not promised, all other "
			 "rules are",
		.interferes = true,
		.faults_max = 12,
		.check_seeds = 1000},
	{.name = "guarded",
		.words = "nodes come back empty within the TTL, their clocks are stepped: all "
			 "is promised, because of the restart guard",
		.forgets = true,
		.guards = true,
		.faults_max = 12,
		.check_seeds = 1300},
	{.name = "rivals",
		.words = "all start together, with one attempt each, and a minority of the nodes "
			 "may be down: one of them gets the lock",
		.are_rivals = true,
		.check_seeds = 1300},
	{.name = "lists",
		.words = "as guarded, and the lists of nodes change one node at a time: all is "
			 "promised",
		.step = 1,
		.forgets = true,
		.guards = true,
		.faults_max = 12,
		.check_seeds = 1000},
	{.name = "apart",
		.words = "the lists of two clients differ by two nodes: few overlaps, since each "
			 "hears of the other",
		.step = 2,
		.faults_max = 1,
		.check_seeds = 1000},
	{.name = "unsafe",
		.words = "nodes come back empty within the TTL: exclusion must be seen to break",
		.forgets = true,
		.faults_max = 12,
		.check_seeds = 1000},
};
#define PROFILES ((int)(sizeof(profiles) / sizeof(profiles[0])))
#define WANTED_PERCENT 40 /* of the worlds, at least: in the others liveness is not tested */
#define TWICE 150 /* seeds of each profile are lived twice in --check */
#define PARTS_MAX 5 /* in fewer seeds, `unsafe` may break no rule */

struct total {
	long unlucky; /* broken rules that messages which cross each other may break */
	long seeds, wanted, sections, faults, losses, denials, refusals, overlaps, events, broken;
	double hours;
	uint64_t history; /* of all worlds */
};

static bool lives(const struct profile *p, uint64_t seed, bool traces, struct total *total)
{
	bool is_unlucky;

	world_run(p, seed, traces);
	total->seeds++;
	total->wanted += world.was_wanted;
	total->sections += world.sections;
	total->faults += world.faults;
	total->losses += world.losses;
	total->denials += world.denials;
	total->refusals += world.refusals;
	total->overlaps += world.overlaps > 0;
	total->events += world.events;
	total->history = total->history * 31 + world.hash;
	total->hours += (double)world.ends_at / (double)USEC_SEC / 3600;
	if (!world.broken)
		return true;
	is_unlucky = strcmp(world.broken, "order") == 0;
	total->unlucky += is_unlucky;
	total->broken += !is_unlucky;
	printf("# %s: %s: %s\n#   make sim PROFILE=%s SEED=%llu\n",
		is_unlucky ? "tolerated" : "broken", world.broken, world.broken_words, p->name,
		(unsigned long long)seed);
	return false;
}

static void run(const struct profile *p, uint64_t first, uint64_t seeds, struct total *total)
{
	for (uint64_t seed = first; seed < first + seeds && total->broken < FAILURES_MAX; seed++)
		lives(p, seed, false, total);
}

/* A wake-up that crosses the attempt of its receiver may let the next waiter go first: in one of a
 * thousand worlds. Of a few worlds, one may be it. */
static bool is_in_order(const struct total *total)
{
	if (total->unlucky <= (total->seeds < 1000 ? 1 : total->seeds / 1000))
		return true;
	printf("# broken: order: in %ld of %ld worlds\n", total->unlucky, total->seeds);
	return false;
}

static bool is_well(const struct profile *p, const struct total *total)
{
	return total->broken == 0 && is_in_order(total) &&
	       (!p->forgets || p->guards || total->overlaps > 0) &&
	       (!p->interferes || total->denials > 0) &&
	       (p->step < 2 || total->overlaps * 200 <= total->seeds);
}

/* In enough of the worlds, a client was trying to get the lock after the faults. */
static bool is_wanted(const struct total *total)
{
	return total->wanted * 100 >= total->seeds * WANTED_PERCENT;
}

static void tell(const char *name, const struct total *t)
{
	printf("%s: %ld seeds, %.0f %% with a client trying when calm began, %.1f virtual hours, "
	       "%ld events, %ld faults, %ld sections, "
	       "%ld losses, %ld more at the release, %ld refusals, %ld seeds with an overlap, "
	       "history %016llx\n",
		name, t->seeds, 100.0 * (double)t->wanted / (double)t->seeds, t->hours, t->events,
		t->faults, t->sections, t->losses, t->denials, t->refusals, t->overlaps,
		(unsigned long long)t->history);
}

static long with_two_histories(const struct profile *p, uint64_t parts)
{
	struct total unused = {0};
	long found = 0;
	uint64_t hash;

	for (uint64_t seed = 1; seed <= TWICE / parts; seed++) {
		lives(p, seed, false, &unused);
		hash = world.hash;
		lives(p, seed, false, &unused);
		if (world.hash == hash)
			continue;
		found++;
		printf("# seed %llu of %s\n", (unsigned long long)seed, p->name);
	}
	return found;
}

static int check(uint64_t parts)
{
	int failed = 0, count = 0;
	long different = 0;

	for (int i = 0; i < PROFILES; i++) {
		struct total total = {0};
		bool ok;

		run(&profiles[i], 1, profiles[i].check_seeds / parts, &total);
		ok = is_well(&profiles[i], &total) && (profiles[i].are_rivals || is_wanted(&total));
		failed += !ok;
		printf("%s %d sim: %s: ", ok ? "ok" : "not ok", ++count, profiles[i].words);
		tell(profiles[i].name, &total);
	}
	for (int i = 0; i < PROFILES; i++)
		different += with_two_histories(&profiles[i], parts);
	failed += different > 0;
	printf("%s %d sim: a seed has one history: %d of them lived twice\n",
		different ? "not ok" : "ok", ++count, PROFILES * (int)(TWICE / parts));
	printf("1..%d\n", count);
	return failed > 0;
}

static int soak(const struct profile *only, double minutes)
{
	struct total total[PROFILES] = {0};
	struct timespec now;
	double end;
	uint64_t seed;
	long seeds = 0;
	int failed = 0;

	timespec_get(&now, TIME_UTC);
	seed = (uint64_t)now.tv_sec << 20;
	end = (double)now.tv_sec + minutes * 60;
	while ((double)now.tv_sec < end) {
		for (int i = 0; i < PROFILES; i++)
			if (!only || only == &profiles[i])
				run(&profiles[i], seed, 100, &total[i]);
		seed += 100;
		timespec_get(&now, TIME_UTC);
	}
	for (int i = 0; i < PROFILES; i++) {
		if (total[i].seeds == 0)
			continue;
		tell(profiles[i].name, &total[i]);
		failed += !is_well(&profiles[i], &total[i]);
		seeds += total[i].seeds;
	}
	printf("%.0f worlds a minute\n", (double)seeds / minutes);
	return failed > 0;
}

static void usage(const char *option, const char *wants, const char *got)
{
	fprintf(stderr, "sim: --%s wants %s, not '%s'\n", option, wants, got);
	exit(64);
}

static uint64_t whole(const char *option, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || n > INT64_MAX)
		usage(option, "a whole number", text);
	return n;
}

static double minutes_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (*end || !(n > 0 && n < 1e6))
		usage("minutes", "a number above 0", text);
	return n;
}

static const struct profile *profile_of(const char *name)
{
	for (int i = 0; i < PROFILES; i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	fprintf(stderr, "sim: no profile '%s'\n", name);
	exit(64);
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {
		{"check", optional_argument, NULL, 'c'},
		{"minutes", required_argument, NULL, 'm'},
		{"seeds", required_argument, NULL, 'n'},
		{"first", required_argument, NULL, 'f'},
		{"seed", required_argument, NULL, 's'},
		{"profile", required_argument, NULL, 'p'},
		{"without-heads", no_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	const struct profile *only = NULL, *p;
	struct total total = {0};
	uint64_t seeds = 1000, first = 1;
	double minutes = 0;
	uint64_t parts = 0;
	bool is_one = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'c':
			parts = optarg ? whole("check", optarg) : 1;
			if (parts == 0 || parts > PARTS_MAX)
				usage("check", "1 to 5", optarg);
			break;
		case 'm':
			minutes = minutes_of(optarg);
			break;
		case 'n':
			seeds = whole("seeds", optarg);
			if (seeds == 0)
				usage("seeds", "at least one", optarg);
			break;
		case 'f':
			first = whole("first", optarg);
			break;
		case 's':
			first = whole("seed", optarg);
			is_one = true;
			break;
		case 'p':
			only = profile_of(optarg);
			break;
		case 'w':
			server_without_heads();
			break;
		default:
			return 64;
		}
	if (optind < argc) {
		fprintf(stderr, "sim: unexpected argument '%s'\n", argv[optind]);
		return 64;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parts)
		return check(parts);
	if (minutes > 0)
		return soak(only, minutes);
	p = only ? only : &profiles[0];
	if (is_one)
		return lives(p, first, true, &total) ? 0 : 1;
	run(p, first, seeds, &total);
	tell(p->name, &total);
	return is_well(p, &total) ? 0 : 1;
}
