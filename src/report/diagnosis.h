/*
 * diagnosis: doctor's rules: facts about nodes in, findings out.
 *
 * Calling sequence: cmd/doctor.c sends the queries, stores the replies in a struct node_facts for
 * each node, and calls diagnosis_judge() once. A new rule is a function here or in one of its parts
 * (report/problem.h, report/rights.h, report/own_keys.h), with a fact in struct node_facts if no
 * existing fact is enough.
 *
 * Facts are copied replies. diagnosis_judge() cannot fail.
 */
#ifndef REPORT_DIAGNOSIS_H
#define REPORT_DIAGNOSIS_H

#include "cli/settings.h"
#include "report/facts.h"
#include "report/finding.h"

/* Runs all rules. `ours` is the certificate that redlock shows to the nodes. */
void diagnosis_judge(struct diagnosis *d, const struct settings *s, const struct node_facts facts[],
	const struct validity *ours);

/* Does the node answer as twemproxy does? */
bool diagnosis_is_proxy(const struct node_facts *p);

struct latency {
	usec min, median, p99;
};

/* All 0 without pings. */
struct latency diagnosis_latency(const struct node_facts *p);

/* Is the 99th percentile longer than half of the node timeout? A first attempt connects and asks:
 * two round trips within one node timeout. */
bool diagnosis_is_slow(const struct settings *s, const struct node_facts *p);

/* The least difference of the node's clock to ours, however long request and reply travelled;
 * negative: the node's clock is behind. */
usec diagnosis_clock_off(const struct clock_sample *sample);

/* Adds the finding about the limit of open files of this process, after diagnosis_judge(). */
void diagnosis_judge_files(struct diagnosis *d, const struct settings *s, int64_t limit);

#endif
