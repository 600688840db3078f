/*
 * facts: the answers of one node to `redlock doctor`. cmd/doctor.c fills in a struct node_facts for
 * each node; report/diagnosis.c and its parts judge them.
 *
 * Facts are copied replies.
 */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "lock/reply.h"
#include "report/list.h"
#include "report/server_info.h"

/* The requests of a lock's life, tried in this order on a key of doctor's own. */
enum trial {
	TRIAL_ACQUIRE,
	TRIAL_EXTEND,
	TRIAL_LOOK,
	TRIAL_SUBSCRIBE,
	TRIAL_JOIN,
	TRIAL_SCAN,
	TRIAL_HAND_OFF,
};

#define TRIALS (TRIAL_HAND_OFF + 1)

/* Can there be no lock at all without this request? */
static inline bool trial_is_essential(enum trial trial)
{
	return trial != TRIAL_SUBSCRIBE && trial != TRIAL_JOIN && trial != TRIAL_SCAN;
}

/* A sample of a node's clock. */
struct clock_sample {
	usec node; /* since 1970; 0: no reply */
	usec wall; /* our time of day when the request was sent */
	usec asked; /* clock_now() at that moment */
	usec took; /* until the reply arrived */
};

/* The end of a certificate chain's validity. */
struct validity {
	usec until; /* since 1970; 0: no certificate */
	usec wall; /* the time of day when the certificate was read */
};

/* A lock on the node whose holder names other nodes. */
struct other_list {
	struct list list;
	char key[120], owner[400]; /* safe to show */
};

#define OTHER_LISTS_MAX 4

#define PINGS_MAX 9

struct node_facts {
	struct reply reached; /* ABSENT: no other query was sent */
	struct reply informed; /* the reply to INFO */
	struct server_info info;
	struct reply informed_again; /* the same over a new connection */
	struct reply looked; /* at another key; only behind a proxy */
	char other_run_id[INFO_TEXT_MAX]; /* that a new connection, or another key, reached; "":
					     none */
	struct reply trial[TRIALS];
	struct reply rights; /* the reply to rights_script */
	struct reply tracking, caching; /* the replies to CLIENT TRACKING OFF, CLIENT CACHING YES */
	struct reply sharded; /* the reply to CLUSTER INFO */
	bool is_one_shard; /* it says that one master has all keys */
	struct reply digest; /* the reply to EVALSHA with a digest of no script */
	struct reply formatted; /* the reply to EVAL with a key as --key-format makes it */
	struct reply queues; /* the reply to EVAL with the queues of the command line's keys */
	struct reply own_keys; /* the reply to own_keys_script */
	struct reply databases; /* the reply to databases_script */
	int others;
	struct other_list other[OTHER_LISTS_MAX]; /* each list once */
	struct reply foreign; /* EXISTS of the key of a lock that has no other use */
	struct reply foreign_fence; /* EXISTS of that key's fencing number */
	struct reply fsync, clients_max; /* CONFIG GET appendfsync, maxclients */
	struct clock_sample clock[2]; /* the first and the last sample of the visit */
	struct validity certificate;
	int pings;
	usec ping[PINGS_MAX];
	struct reply marker; /* GET {redlock}:node: the restart guard's mark */
	struct reply admitted; /* the reply to SET of the mark, with --admit */
	struct reply ignored; /* replies that nothing is made of */
};

#endif
