/*
 * survey: one question to every node, and their answers: for what is not the taking of a lock. The
 * answers are counted, and told, as the votes of a round (core/quorum.h).
 */
#ifndef IO_SURVEY_H
#define IO_SURVEY_H

#include "io/pool.h"

struct survey {
	struct quorum quorum; /* read it */
	struct pool pool;
	usec took[NODES_MAX]; /* from the question to the answer, or to the end of the wait */
	char *page[NODES_MAX]; /* OP_SCAN: what was found there; OP_ASK: the whole reply; */
	size_t page_len[NODES_MAX]; /* and its length */
};

/* Resolves the nodes, within the node time-out. `nodes` must outlive the survey. Returns -1 with
 * *e. */
int survey_open(struct survey *s, const struct policy *policy, const struct node_list *nodes,
	struct err *e);

enum survey_patience {
	SURVEY_MOST, /* once it is known what holds of the token, the rest gets a moment more */
	SURVEY_ALL, /* each node has its time-out */
};

/*
 * Asks node i for wish[i], unless its op is OPS, and waits for the answers, each for the node
 * time-out at most, connecting included. Those that say who holds the key are YES where that is
 * `token`, or begins with it as its id (NULL: none). Connections stay open for the next question.
 */
void survey_ask(struct survey *s, const struct wish wish[NODES_MAX], const char *token,
	enum survey_patience patience);

/* The same question for all. */
void survey_ask_all(struct survey *s, const struct wish *wish, const char *token,
	enum survey_patience patience);

/* The next question goes over new connections. */
void survey_renew(struct survey *s);

void survey_close(struct survey *s);

#endif
