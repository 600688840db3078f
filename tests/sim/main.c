/*
 * usage: sim [--profile NAME] [--seeds N] [--minutes N] [--seed N [--trace]] [--twice]
 * Runs seeds 1..N, or fresh ones for so many minutes, or one. Exit status: 0; 1 when a rule was
 * broken (or, in a profile that is known to be unsafe, when none was); 64 usage.
 */
#include "sim/sim.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct profile sim_profiles[] = {
	{.name = "swarm", .words = "everything drawn from the seed", .faults_max = 8},
	{.name = "adversary",
		.words = "clocks at the ends of their range, holders cut off",
		.at_extremes = true,
		.cuts_holders = true,
		.faults_max = 8},
	{.name = "interference",
		.words = "keys deleted, clocks set forward: exclusion is not promised, all else is",
		.interferes = true,
		.faults_max = 12},
	{.name = "unsafe",
		.words = "nodes come back empty within the TTL: exclusion must be seen to break",
		.forgets = true,
		.faults_max = 12},
};
const int sim_profiles_count = sizeof(sim_profiles) / sizeof(sim_profiles[0]);

static struct {
	long seeds, sections, faults, losses, refusals, overlaps, events, broken;
	double hours;
} total;

static bool lives(const struct profile *p, uint64_t seed, bool traces)
{
	world_run(p, seed, traces);
	total.seeds++;
	total.sections += world.sections;
	total.faults += world.faults;
	total.losses += world.losses;
	total.refusals += world.refusals;
	total.overlaps += world.overlaps > 0;
	total.events += world.events;
	total.hours += (double)world.ends_at / (double)USEC_SEC / 3600;
	if (!world.broken)
		return true;
	total.broken++;
	printf("%s: %s\n  replay: make sim PROFILE=%s SEED=%llu\n", world.broken,
		world.broken_words, p->name, (unsigned long long)seed);
	return false;
}

static bool agrees(const struct profile *p, uint64_t seed)
{
	uint64_t hash;

	if (!lives(p, seed, false))
		return false;
	hash = world.hash;
	world_run(p, seed, false);
	if (world.hash == hash)
		return true;
	printf("seed %llu of %s has two histories\n", (unsigned long long)seed, p->name);
	return false;
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {
		{"profile", required_argument, NULL, 'p'},
		{"seeds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'},
		{"first", required_argument, NULL, 'f'},
		{"trace", no_argument, NULL, 't'},
		{"twice", no_argument, NULL, '2'},
		{NULL, 0, NULL, 0},
	};
	const struct profile *p = &sim_profiles[0];
	uint64_t seed = 0, seeds = 1000, first = 1;
	bool is_one = false, traces = false, twice = false, ok = true;
	int option, failures = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'p':
			for (p = sim_profiles; p < sim_profiles + sim_profiles_count; p++)
				if (strcmp(p->name, optarg) == 0)
					break;
			if (p == sim_profiles + sim_profiles_count) {
				fprintf(stderr, "sim: no profile '%s'\n", optarg);
				return 64;
			}
			break;
		case 'n':
			seeds = strtoull(optarg, NULL, 10);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 10);
			is_one = true;
			break;
		case 'f':
			first = strtoull(optarg, NULL, 10);
			break;
		case 't':
			traces = true;
			break;
		case '2':
			twice = true;
			break;
		default:
			return 64;
		}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_one)
		return lives(p, seed, traces) ? 0 : 1;
	for (seed = first; seed < first + seeds && failures < 10; seed++)
		failures += twice ? !agrees(p, seed) : !lives(p, seed, false);
	ok = failures == 0;
	printf("%s: %ld seeds, %.1f virtual hours, %ld events, %ld faults, %ld sections, %ld "
	       "losses, "
	       "%ld refusals, %ld seeds with an overlap\n",
		p->name, total.seeds, total.hours, total.events, total.faults, total.sections,
		total.losses, total.refusals, total.overlaps);
	if (p->forgets && total.overlaps == 0) {
		printf("not ok: this profile is known to be unsafe, and nothing shows it\n");
		ok = false;
	}
	return ok ? 0 : 1;
}
