/*
 * doctor: what is wrong with nodes and settings, and how to fix it: facts in, findings out. The
 * ids of findings are stable; what can break mutual exclusion, or make locks impossible, is an
 * error.
 */
#ifndef REPORT_DIAGNOSIS_H
#define REPORT_DIAGNOSIS_H

#include "cli/settings.h"

enum severity {
	SEVERITY_ERROR, /* this node cannot be counted on; of the whole: no lock can be had so */
	SEVERITY_WARNING, /* it works, until something else happens */
	SEVERITY_NOTE,
	SEVERITIES,
};

/* The requests of a lock's life, tried on a key of doctor's own, in this order. */
enum trial {
	TRIAL_ACQUIRE,
	TRIAL_EXTEND,
	TRIAL_LOOK,
	TRIAL_JOIN,
	TRIAL_SCAN,
	TRIAL_HAND_OFF,
	TRIALS,
};

#define INFO_TEXT_MAX 64
#define INFO_UNKNOWN ((int64_t)-1)

/* What INFO tells; texts are safe to show and "" where it does not say, numbers INFO_UNKNOWN. */
struct server_info {
	const char *kind; /* "Redis", "Valkey", ...; "": that was no INFO */
	char version[INFO_TEXT_MAX];
	char mode[INFO_TEXT_MAX]; /* standalone, cluster, sentinel */
	char role[INFO_TEXT_MAX]; /* master, slave, active-replica */
	char run_id[INFO_TEXT_MAX];
	char group[INFO_TEXT_MAX]; /* replication id */
	char policy[INFO_TEXT_MAX]; /* of eviction */
	char snapshot[INFO_TEXT_MAX], rewrite[INFO_TEXT_MAX], log_write[INFO_TEXT_MAX]; /* ok, err
											 */
	int64_t replicas, cluster;
	int64_t memory, memory_max, memory_aside, evicted;
	int64_t clients, clients_max;
	int64_t log, late_fsyncs; /* the append-only file */
};

/* Reads the reply to INFO. Whatever it is, something comes of it. */
void server_info_read(struct server_info *info, const char *text, size_t len);

/* A node's time of day, as it said it. */
struct clock_sample {
	usec node; /* since 1970; 0: it did not say */
	usec wall; /* ours, when it was asked, */
	usec asked; /* clock_now() then, */
	usec took; /* and until the answer came */
};

/* Of a certificate, and those that stand behind it. */
struct validity {
	usec until; /* since 1970; 0: there is none */
	usec wall; /* the time of day, when it was seen */
};

#define PINGS_MAX 9

struct node_facts {
	struct reply reached; /* ABSENT: nothing else was asked */
	struct reply informed; /* INFO */
	struct server_info info;
	struct reply trial[TRIALS];
	struct reply rights; /* the reply to diagnosis_rights_script */
	struct reply formatted; /* to EVAL, of a key as --key-format makes it */
	struct reply own_keys; /* the reply to diagnosis_own_keys_script */
	struct reply foreign; /* EXISTS of the key of a lock that nothing else uses */
	struct reply beside; /* and of the fencing number that belongs to that key */
	struct reply may_block; /* BLPOP of a key that is no list: any reply but NOPERM will do */
	struct reply fsync, clients_max; /* CONFIG GET appendfsync, maxclients */
	struct clock_sample clock[2]; /* as far from each other as the visit was long */
	struct validity certificate;
	int pings;
	usec ping[PINGS_MAX];
	struct reply marker; /* GET {redlock}:node: the life of the server that may vote, or when */
	struct reply admitted; /* and SET, where that is wanted */
	struct reply ignored; /* of what is asked for something else than its answer */
};

/* Tries all commands of the scripts on KEYS[1], and answers the names of those that are not
 * permitted, "~" for keys of that name, separated by spaces. */
extern const char diagnosis_rights_script[];

/* For EVAL, without a key. Answers the most severe of: "broken KEY", a fencing counter that cannot
 * be raised; "near KEY", one that soon cannot be raised; "lasting N KEY", a bookkeeping key that
 * does not expire though it should, and N others; "". Looks at about 50,000 keys at most. */
extern const char diagnosis_own_keys_script[];

struct finding {
	int node; /* -1: of the whole */
	enum severity severity;
	const char *id;
	char message[700]; /* safe to show */
	char fix[700]; /* "", a command for the node, options of ours, or what to do in words */
};

/* More than any node can have, for each node and for the whole. */
#define FINDINGS_MAX (32 * (NODES_MAX + 1))

struct diagnosis {
	int count;
	struct finding finding[FINDINGS_MAX]; /* by node, the whole at the end */
	int usable; /* nodes that can be counted on now */
	bool is_usable[NODES_MAX];
	bool is_duplicate; /* two nodes are one server */
	int with[SEVERITIES]; /* findings of each severity */
};

/* `ours` is the certificate that we show to nodes. */
void diagnosis_judge(struct diagnosis *d, const struct settings *s, const struct node_facts facts[],
	const struct validity *ours);

/* "error", ... */
const char *severity_name(enum severity severity);

struct latency {
	usec min, median, p99;
};

/* All 0 if there are none. */
struct latency diagnosis_latency(const struct node_facts *p);

/* Nothing else need be asked: only an reply_absent() can be that. */
bool diagnosis_is_out_of_reach(const struct reply *a);

/* How far the node's clock is ahead of ours, at least, however long the question and the answer
 * were on their way; negative: behind. */
usec diagnosis_clock_off(const struct clock_sample *sample);

#endif
