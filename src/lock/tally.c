#include "lock/tally.h"

#include "base/token.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void tally_init(struct tally *t, int nodes)
{
	assert(nodes >= 1 && nodes <= NODES_MAX);
	/* The other ballots are not used. */
	memset(t->ballot, 0, (size_t)nodes * sizeof(t->ballot[0]));
	t->nodes = nodes;
	t->duplicate[0] = t->duplicate[1] = -1;
	t->began = t->enough_at = 0;
}

void tally_begin(struct tally *t, usec now)
{
	t->began = now;
	t->enough_at = 0;
	for (int i = 0; i < t->nodes; i++) {
		t->ballot[i].vote = VOTE_NONE;
		if (t->ballot[i].reply.vote == VOTE_FOREIGN) /* the holder may be another by now */
			t->ballot[i].reply.vote = VOTE_NONE;
	}
}

void tally_clear(struct tally *t, usec now)
{
	tally_begin(t, now);
	for (int i = 0; i < t->nodes; i++)
		t->ballot[i].reply = (struct reply){.vote = VOTE_NONE};
}

static void note_sighting(struct ballot *b, const char *run_id, usec now)
{
	struct sighting newest = {.first = now};

	if (run_id[0] && strcmp(b->server.run_id, run_id) != 0) {
		snprintf(newest.run_id, sizeof(newest.run_id), "%s", run_id);
		if (strcmp(b->before.run_id, run_id) == 0)
			newest.first = b->before.first;
		b->before = b->server;
		b->server = newest;
	}
	b->server.last = now;
}

/* One server under two names would vote twice: its second SET finds the first and calls it ours. */
void tally_identify(struct tally *t, int node, const char *run_id, usec now)
{
	note_sighting(&t->ballot[node], run_id, now);
	for (int i = 0; i < t->nodes && run_id[0]; i++)
		if (i != node && strcmp(t->ballot[i].server.run_id, run_id) == 0) {
			t->duplicate[0] = i < node ? i : node;
			t->duplicate[1] = i < node ? node : i;
		}
}

bool tally_doubts(const struct tally *t, int node, usec quarantine, usec now, usec *left)
{
	const struct ballot *b = &t->ballot[node];

	*left = b->before.last + quarantine - now;
	if (!b->before.run_id[0] || *left <= 0)
		return false;
	if (b->server.first < b->before.last)
		*left = 0;
	return true;
}

void tally_note_copy(struct tally *t, int node)
{
	if (t->duplicate[0] < 0)
		t->duplicate[0] = t->duplicate[1] = node;
}

void tally_set_absent(struct tally *t, int node, const struct reply *reply)
{
	struct ballot *b = &t->ballot[node];
	bool is_open = b->vote == VOTE_ABSENT && b->reply.reason == REASON_NOT_READY;

	if (b->vote != VOTE_NONE && !is_open)
		return;
	b->vote = VOTE_ABSENT;
	b->reply = *reply;
}

static bool is_value_of(const struct reply *r, const char *token)
{
	size_t len = strlen(token);

	/* "(a list)" stands for a key of another data type, which no token owns. */
	if (r->text_len == len && r->text[0] != '(' && memcmp(r->text, token, len) == 0)
		return true;
	return len == TOKEN_ID_LEN && token_is_ours(r->text, r->text_len) &&
	       memcmp(r->text, token, len) == 0;
}

void tally_take(struct tally *t, int node, const struct reply *reply, const char *token)
{
	struct ballot *b = &t->ballot[node];

	b->vote = reply->vote;
	b->reply = *reply;
	if (token && b->vote == VOTE_FOREIGN && is_value_of(reply, token))
		b->vote = VOTE_YES;
	tally_identify(t, node, reply->run_id, t->began);
}

int tally_count(const struct tally *t, enum vote vote)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += t->ballot[i].vote == vote;
	return n;
}

unsigned tally_silent(const struct tally *t)
{
	unsigned silent = 0;

	for (int i = 0; i < t->nodes; i++)
		silent |= (unsigned)(t->ballot[i].vote == VOTE_NONE) << i;
	return silent;
}

int tally_yes(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++) {
		const struct ballot *b = &t->ballot[i];
		bool again = t->duplicate[0] == i && t->duplicate[1] == i;

		for (int j = 0; j < i && b->server.run_id[0]; j++)
			again |= t->ballot[j].vote == VOTE_YES &&
				 strcmp(t->ballot[j].server.run_id, b->server.run_id) == 0;
		n += b->vote == VOTE_YES && !again;
	}
	return n;
}

int tally_no(const struct tally *t)
{
	return tally_count(t, VOTE_GONE) + tally_count(t, VOTE_FOREIGN);
}

bool tally_is_unguarded(const struct tally *t, int node)
{
	return t->ballot[node].vote == VOTE_YES && t->ballot[node].reply.is_unguarded;
}

bool tally_in_trouble(const struct tally *t, int node)
{
	const struct ballot *b = &t->ballot[node];

	return b->vote == VOTE_ABSENT || (b->vote == VOTE_NONE && b->reply.vote == VOTE_ABSENT);
}

bool tally_is_hopeless(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += tally_in_trouble(t, i) && reply_is_permanent(&t->ballot[i].reply);
	return t->nodes - n < tally_quorum(t);
}

/* The newest reply of a node that voted may be a refused release, which names no holder. */
static bool names_holder(const struct ballot *b)
{
	return b->vote == VOTE_FOREIGN && b->reply.vote == VOTE_FOREIGN;
}

static bool same_holder(const struct ballot *a, const struct ballot *b)
{
	return names_holder(a) && names_holder(b) && a->reply.key == b->reply.key &&
	       reply_same_text(&a->reply, &b->reply);
}

static void insert_longest_first(usec list[], int count, usec d)
{
	for (; count > 0 && list[count - 1] < d; count--)
		list[count] = list[count - 1];
	list[count] = d;
}

struct reply tally_holder(const struct tally *t, int *nodes)
{
	struct reply holder = {.vote = VOTE_NONE};
	int quorum = tally_quorum(t);

	*nodes = 0;
	for (int i = 0; i < t->nodes; i++) {
		usec left[NODES_MAX];
		int count = 0;

		for (int j = 0; j < t->nodes; j++)
			if (same_holder(&t->ballot[i], &t->ballot[j]))
				insert_longest_first(left, count++, t->ballot[j].reply.pttl);
		if (count > *nodes) {
			holder = t->ballot[i].reply;
			holder.pttl = left[count < quorum ? 0 : quorum - 1];
			*nodes = count;
		}
	}
	return holder;
}

int tally_limit(const struct tally *t)
{
	for (int i = 0; i < t->nodes; i++) {
		int limit = t->ballot[i].reply.limit, nodes = 0;

		for (int j = 0; j < t->nodes; j++)
			nodes += t->ballot[j].reply.limit == limit;
		if (nodes >= tally_quorum(t))
			return limit;
	}
	return 0;
}

int tally_held_by(const struct tally *t, const char *ids, const struct reply **holder)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++) {
		const struct reply *r = &t->ballot[i].reply;
		char id[TOKEN_ID_LEN + 1] = "";

		if (t->ballot[i].vote != VOTE_FOREIGN || r->text_len <= TOKEN_ID_LEN)
			continue;
		memcpy(id, r->text, TOKEN_ID_LEN);
		if (strlen(id) < TOKEN_ID_LEN || strchr(id, ' ') || !strstr(ids, id))
			continue;
		*holder = r;
		n++;
	}
	return n;
}

int64_t tally_newest_fence(const struct tally *t)
{
	int64_t newest = 0;

	for (int i = 0; i < t->nodes; i++)
		if (t->ballot[i].reply.fence > newest)
			newest = t->ballot[i].reply.fence;
	return newest;
}

enum ownership tally_ownership(const struct tally *t)
{
	int quorum = tally_quorum(t), yes = tally_yes(t), most;
	int open = tally_count(t, VOTE_NONE), absent = tally_count(t, VOTE_ABSENT);
	const struct reply holder = tally_holder(t, &most);

	if (yes >= quorum)
		return OWNERSHIP_OWNED;
	if (yes + absent + open >= quorum)
		return OWNERSHIP_UNKNOWN;
	if (most >= quorum && !holder.is_reserved)
		return OWNERSHIP_FOREIGN;
	/* Not ours; the open votes may still give another holder a majority. */
	return open > 0 && most + open >= quorum ? OWNERSHIP_UNKNOWN : OWNERSHIP_EXPIRED;
}

usec tally_time_left(const struct tally *t, int drift_permille, usec now)
{
	usec left[NODES_MAX];
	int n = 0, quorum = tally_quorum(t);

	for (int i = 0; i < t->nodes; i++) {
		usec pttl = t->ballot[i].reply.pttl;

		if (t->ballot[i].vote != VOTE_YES)
			continue;
		if (pttl != NEVER)
			pttl = usec_max(
				0, pttl - policy_drift(pttl, drift_permille) - (now - t->began));
		insert_longest_first(left, n++, pttl);
	}
	return n >= quorum ? left[quorum - 1] : 0;
}

usec tally_quarantined_for(const struct tally *t)
{
	usec left[NODES_MAX];
	int n = 0, missing = tally_quorum(t) - t->nodes;

	for (int i = 0; i < t->nodes; i++) {
		const struct ballot *b = &t->ballot[i];

		if (b->vote == VOTE_ABSENT && b->reply.reason == REASON_QUARANTINE)
			insert_longest_first(left, n++, b->reply.pttl);
	}
	/* Even all other nodes together are no majority. */
	missing += n;
	return missing > 0 ? left[n - missing] : 0;
}

bool tally_is_taken(const struct tally *t, int node)
{
	const struct ballot *b = &t->ballot[node];

	return b->vote == VOTE_FOREIGN && !reply_has_foreign_holder(&b->reply);
}

bool tally_grace_is_over(
	struct tally *t, usec now, bool enough, usec least, usec most, usec *wake_at)
{
	usec over_at;

	if (!enough)
		return false;
	if (!t->enough_at)
		t->enough_at = now;
	over_at = t->enough_at + usec_min(usec_max(least, 2 * (t->enough_at - t->began)), most);
	if (now < over_at)
		*wake_at = over_at;
	return now >= over_at;
}
