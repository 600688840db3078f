#include "core/quorum.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

/* Clocks of two machines do not run at one rate: NTP may slew either by 8 to 10 %. The 2 ms are the
 * grain of Redis's expiry. */
#define DRIFT_GRAIN (2 * USEC_MSEC)

/* A random delay lets rivals that split the votes fall out of step; it grows up to fourfold. */
#define RETRY_DELAY (20 * USEC_MSEC)
#define RETRY_SPREAD (100 * USEC_MSEC)

/* The first time that one asks again those that split the votes with it; each time later, up to a
 * quarter of the node time-out. A client that waits does so a few times, and then has its place in
 * the queue; one that does not wait goes on for a node time-out: its rival may be far away. */
#define INSIST_AFTER 200
#define INSIST_WAITING_MAX 3

/* So often the line may say that it is another one's turn, without a wake-up between. */
#define SEAT_TRIES 3

/* So often one goes at once to another slot of a semaphore that was said to be free. */
#define MOVES_MAX 8

/* Who is not woken asks again after that time at the latest; so do those that stopped, crashed or
 * never knew how to wake. */
#define BACK_STOP (25 * USEC_SEC)
#define BACK_STOP_SPREAD (10 * USEC_SEC)

/* Who waits for longer than this keeps no connection but its seat. */
#define SHED_AFTER USEC_SEC

/* What a node gets at least that is not ready when a majority is. */
#define LEAST_GRACE 200

/* Between the first and the second look at a majority that denies us. */
#define SECOND_LOOK (25 * USEC_MSEC)

#define RELEASE_TIME USEC_SEC
#define REOPEN_MAX 2

enum phase {
	PHASE_IDLE,
	PHASE_GATHER, /* connections are being made; nothing of this round was sent */
	PHASE_ASK, /* the votes of an attempt are coming in */
	PHASE_FENCE, /* a majority granted it, and is told its fencing number */
	PHASE_PAUSE, /* between two attempts */
	PHASE_KEEP, /* held */
	PHASE_LET_GO, /* releasing for good */
	PHASE_DONE,
};

struct step {
	struct quorum *q;
	struct update *up;
	usec now;
	uint64_t random;
	const char *token;
	bool is_quiet; /* nothing has come in: who was away meanwhile has heard all there is */
};

usec policy_drift(usec ttl, int factor_permille)
{
	return ttl / 1000 * factor_permille + DRIFT_GRAIN;
}

/* The rule of the algorithm. `started` was read before the first byte of the round left, so every
 * node's key lives at least until started + ttl by that node's clock. */
static usec valid_until(const struct policy *p, usec started)
{
	return started + p->ttl - p->drift;
}

/* When a key that a node sets, or extends, by `landed` is gone there by itself. The node's clock
 * may be as slow against ours as drift allows: ttl / (1 - drift / ttl), rounded up. */
static usec key_gone_at(const struct policy *p, usec landed)
{
	return landed + p->ttl + p->drift + p->drift / usec_max((p->ttl - p->drift) / p->drift, 1);
}

void quorum_init(struct quorum *q, const struct policy *policy)
{
	assert(policy->nodes >= 1 && policy->nodes <= NODES_MAX);
	assert(policy->keys >= 1 && policy->keys <= KEYS_MAX);
	assert(policy->slots <= SLOTS_MAX && (policy->keys == 1 || !policy_has_slots(policy)));
	assert(policy->ttl > policy->drift + policy->guard);
	memset(q, 0, sizeof(*q));
	q->policy = *policy;
	q->duplicate[0] = q->duplicate[1] = q->line = -1;
	q->worst_margin = NEVER;
}

bool quorum_is_pausing(const struct quorum *q)
{
	return q->phase == PHASE_PAUSE;
}

usec quorum_extend_at(const struct quorum *q)
{
	return q->resume_at;
}

int quorum_count(const struct quorum *q, enum vote vote)
{
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++)
		n += q->member[i].vote == vote;
	return n;
}

/* Granted or confirmed: by servers, not by names. Two names of one server have one vote. */
static int count_yes(const struct quorum *q)
{
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];
		bool again = false;

		for (int j = 0; j < i && m->run_id[0]; j++)
			again |= q->member[j].vote == VOTE_YES &&
				 strcmp(q->member[j].run_id, m->run_id) == 0;
		n += m->vote == VOTE_YES && !again;
	}
	return n;
}

/* Clean answers that are not ours: the node works, and the key there is gone or somebody else's. */
static int count_no(const struct quorum *q)
{
	return quorum_count(q, VOTE_GONE) + quorum_count(q, VOTE_FOREIGN);
}

/* Its last word may be that a release was refused. */
static bool names_holder(const struct member *m)
{
	return m->vote == VOTE_FOREIGN && m->answer.vote == VOTE_FOREIGN;
}

static bool same_holder(const struct member *a, const struct member *b)
{
	return names_holder(a) && names_holder(b) && a->answer.key == b->answer.key &&
	       answer_same_text(&a->answer, &b->answer);
}

bool quorum_in_trouble(const struct quorum *q, int node)
{
	const struct member *m = &q->member[node];

	return m->vote == VOTE_ABSENT || (m->vote == VOTE_NONE && m->answer.vote == VOTE_ABSENT);
}

static void insert_longest_first(usec list[], int count, usec d)
{
	for (; count > 0 && list[count - 1] < d; count--)
		list[count] = list[count - 1];
	list[count] = d;
}

struct answer quorum_holder(const struct quorum *q, int *nodes)
{
	struct answer holder = {.vote = VOTE_NONE};
	int quorum = policy_quorum(&q->policy);

	*nodes = 0;
	for (int i = 0; i < q->policy.nodes; i++) {
		usec left[NODES_MAX];
		int count = 0;

		for (int j = 0; j < q->policy.nodes; j++)
			if (same_holder(&q->member[i], &q->member[j]))
				insert_longest_first(left, count++, q->member[j].answer.pttl);
		if (count > *nodes) {
			holder = q->member[i].answer;
			holder.pttl = left[count < quorum ? 0 : quorum - 1];
			*nodes = count;
		}
	}
	return holder;
}

int quorum_held_by(const struct quorum *q, const char *ids, const struct answer **holder)
{
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct answer *a = &q->member[i].answer;
		char id[TOKEN_ID_LEN + 1] = "";

		if (q->member[i].vote != VOTE_FOREIGN || a->text_len <= TOKEN_ID_LEN)
			continue;
		memcpy(id, a->text, TOKEN_ID_LEN);
		if (strlen(id) < TOKEN_ID_LEN || strchr(id, ' ') || !strstr(ids, id))
			continue;
		*holder = a;
		n++;
	}
	return n;
}

int quorum_unreleased(const struct quorum *q, usec *until)
{
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		if (!m->owes)
			continue;
		*until = n++ ? usec_max(*until, m->owes_until) : m->owes_until;
	}
	return n;
}

/* ---- one question to all ---- */

/* One server under two names would vote twice: its second SET finds the first and calls it ours. */
static void find_duplicate(struct quorum *q, int node)
{
	const char *id = q->member[node].run_id;

	for (int i = 0; i < q->policy.nodes && id[0]; i++)
		if (i != node && strcmp(q->member[i].run_id, id) == 0) {
			q->duplicate[0] = i < node ? i : node;
			q->duplicate[1] = i < node ? node : i;
		}
}

void quorum_begin_question(struct quorum *q, usec now)
{
	q->round++;
	q->round_at = now;
	for (int i = 0; i < q->policy.nodes; i++) {
		q->member[i].vote = VOTE_NONE;
		q->member[i].answer = (struct answer){.vote = VOTE_NONE};
	}
}

int64_t quorum_newest_fence(const struct quorum *q)
{
	int64_t newest = 0;

	for (int i = 0; i < q->policy.nodes; i++)
		if (q->member[i].answer.fence > newest)
			newest = q->member[i].answer.fence;
	return newest;
}

static bool is_value_of(const struct answer *a, const char *token)
{
	size_t len = strlen(token);

	/* What stands for another data type is nobody's. */
	if (a->text_len == len && a->text[0] != '(' && memcmp(a->text, token, len) == 0)
		return true;
	return len == TOKEN_ID_LEN && token_is_ours(a->text, a->text_len) &&
	       memcmp(a->text, token, len) == 0;
}

void quorum_take_answer(struct quorum *q, int node, const struct answer *answer, const char *token)
{
	struct member *m = &q->member[node];

	m->vote = answer->vote;
	m->answer = *answer;
	if (token && m->vote == VOTE_FOREIGN && is_value_of(answer, token))
		m->vote = VOTE_YES;
	memcpy(m->run_id, answer->run_id, sizeof(m->run_id));
	find_duplicate(q, node);
}

enum holding quorum_holding(const struct quorum *q)
{
	int quorum = policy_quorum(&q->policy), yes = count_yes(q), most;
	int open = quorum_count(q, VOTE_NONE), absent = quorum_count(q, VOTE_ABSENT);
	const struct answer holder = quorum_holder(q, &most);

	if (yes >= quorum)
		return HOLDING_YES;
	if (yes + absent + open >= quorum)
		return HOLDING_UNKNOWN;
	if (most >= quorum && !holder.is_reserved)
		return HOLDING_FOREIGN;
	/* Not ours; whose, the rest may tell. */
	return open > 0 && most + open >= quorum ? HOLDING_UNKNOWN : HOLDING_EXPIRED;
}

usec quorum_time_left(const struct quorum *q, int drift_permille, usec now)
{
	usec left[NODES_MAX];
	int n = 0, quorum = policy_quorum(&q->policy);

	for (int i = 0; i < q->policy.nodes; i++) {
		usec pttl = q->member[i].answer.pttl;

		if (q->member[i].vote != VOTE_YES)
			continue;
		if (pttl != NEVER)
			pttl = usec_max(
				0, pttl - policy_drift(pttl, drift_permille) - (now - q->round_at));
		insert_longest_first(left, n++, pttl);
	}
	return n >= quorum ? left[quorum - 1] : 0;
}

/* ---- one node ---- */

static struct action *act(struct step *s, enum action_kind kind, int node)
{
	struct action *a = &s->up->action[s->up->count++];

	assert(s->up->count <= ACTIONS_MAX);
	*a = (struct action){.kind = kind, .node = node, .round = s->q->round, .slot = s->q->slot};
	return a;
}

static bool in_flight(const struct member *m)
{
	return m->asked || m->releasing;
}

static bool is_late(const struct member *m)
{
	return in_flight(m) && m->late;
}

static void open_link(struct step *s, int i)
{
	struct member *m = &s->q->member[i];

	act(s, ACT_OPEN, i);
	m->link = LINK_OPENING;
	m->missing = REASON_CONNECT_TIMEOUT;
	m->opened_at = s->now;
	m->tried = s->q->round;
}

/* No vote comes any more from this node in this round. Of several reasons the first is the cause,
 * unless that was only that we did not wait for it. */
static void set_absent(struct member *m, const struct answer *answer)
{
	bool is_open = m->vote == VOTE_ABSENT && m->answer.reason == REASON_NOT_READY;

	if (m->vote != VOTE_NONE && !is_open)
		return;
	m->vote = VOTE_ABSENT;
	m->answer = *answer;
}

static void link_is_up(struct step *s, struct member *m)
{
	m->link = LINK_UP;
	m->connecting = s->now - m->opened_at;
	/* In time, but we were not there to see it: how long it took is not known. */
	if (m->connecting >= s->q->policy.node_timeout)
		m->connecting = 0;
}

/* Why there is no answer, though the node's time is over; it may be over for this attempt only. */
static enum reason late_reason(const struct step *s, const struct member *m)
{
	usec until = m->link == LINK_UP ? m->due : m->opened_at + s->q->policy.node_timeout;

	return s->now < until ? REASON_NOT_READY : m->link == LINK_UP ? REASON_TIMEOUT : m->missing;
}

/* What the network held back may have landed as late as now. */
static void may_have_landed(struct step *s, struct member *m)
{
	if (m->asked && m->owes)
		m->owes_until = key_gone_at(&s->q->policy, s->now);
}

static void link_is_down(struct step *s, struct member *m)
{
	may_have_landed(s, m);
	m->link = LINK_DOWN;
	m->asked = m->releasing = false;
}

static void close_link(struct step *s, int i)
{
	act(s, ACT_CLOSE, i);
	link_is_down(s, &s->q->member[i]);
}

static bool is_parting(enum op op)
{
	return op == OP_RELEASE || op == OP_HAND_OVER || op == OP_LEAVE;
}

static struct action *send_op(struct step *s, int i, enum op op)
{
	const struct policy *p = &s->q->policy;
	struct member *m = &s->q->member[i];
	struct action *a = act(s, ACT_SEND, i);

	a->op = op;
	if (is_parting(op)) {
		if (m->owes) /* an earlier attempt's may be another slot's */
			a->slot = m->slot;
		if (!in_flight(m)) {
			m->due = s->now + p->node_timeout;
			m->late = false;
		}
		m->releasing = true;
		return a;
	}
	assert(!in_flight(m));
	m->asked = true;
	m->late = false;
	m->joined = s->q->round;
	/* The time-out covers connecting and answering. */
	m->due = s->now + p->node_timeout - m->connecting;
	/* A word about an earlier connection says nothing about this request. */
	if (op != OP_HEAL)
		m->vote = VOTE_NONE;
	if (op == OP_LOOK || op == OP_FENCE)
		return a;
	/* It may land, or prolong what landed late, whatever becomes of the answer: so it is owed
	 * from here on. */
	if (op != OP_EXTEND) {
		m->was_sent = s->q->attempt;
		m->slot = s->q->slot;
	}
	if (m->was_sent == s->q->attempt)
		m->owes = s->q->attempt;
	m->owes_until = key_gone_at(p, s->now);
	return a;
}

/* The first in a key's order that answers, as far as we know; -1: none. */
static int find_line(const struct quorum *q, int key)
{
	for (int n = 0; n < q->policy.nodes; n++) {
		int i = q->policy.order[key][n];
		const struct member *m = &q->member[i];

		if (m->vote == VOTE_NONE ? m->link == LINK_UP && !is_late(m)
					 : m->vote != VOTE_ABSENT)
			return i;
	}
	return -1;
}

/* The pause ends after that time, or as it would have. */
static void come_back(struct step *s, usec after)
{
	if (s->q->phase == PHASE_PAUSE)
		s->q->resume_at = usec_min(s->q->resume_at, usec_add(s->now, after));
}

static int seat_of(const struct quorum *q)
{
	return q->policy.nodes;
}

static struct action *send_from_seat(struct step *s, enum op op)
{
	struct seat *seat = &s->q->seat;
	struct action *a = act(s, ACT_SEND, seat_of(s->q));

	a->op = op;
	a->leads = seat->leads && op != OP_HAND_OVER;
	if (op == OP_HAND_OVER)
		a->slot = seat->is_woken && !seat->waits ? seat->turn_slot : 0;
	seat->joins |= op == OP_JOIN;
	seat->waits |= op == OP_WAIT;
	seat->due = s->now + s->q->policy.node_timeout;
	return a;
}

/* The next in line need not wait for who does not use it. Nobody is behind a pop that is blocked.
 */
static void pass_turn_on(struct step *s)
{
	struct seat *seat = &s->q->seat;

	if (seat->link != LINK_UP || seat->waits)
		return;
	send_from_seat(s, OP_HAND_OVER);
	seat->passes = true;
}

/* What is not within our limit, others may have: they have another one. */
static int slot_of(const struct quorum *q, int named)
{
	return named <= q->policy.slots ? named : 0;
}

static void keep_turn(struct step *s, const struct answer *answer, int key, int slot)
{
	struct quorum *q = s->q;
	size_t len = answer->text_len < TOKEN_ID_LEN ? answer->text_len : TOKEN_ID_LEN;

	/* Two at once: one will do. */
	if (q->seat.is_woken && slot != q->seat.turn_slot)
		pass_turn_on(s);
	memcpy(q->seat.turn[key], answer->text, len);
	q->seat.turn[key][len] = '\0';
	q->seat.turn_key = key;
	q->seat.turn_slot = slot;
	q->seat.is_woken = q->state == QUORUM_TRYING;
	come_back(s, 0);
}

/* The token of an earlier attempt may still be on this node. */
static bool in_debt(const struct quorum *q, const struct member *m)
{
	return m->owes && m->owes != q->attempt;
}

/* Nothing was done. */
static bool is_clean_no(const struct answer *answer)
{
	return answer->vote == VOTE_GONE || answer->vote == VOTE_FOREIGN ||
	       (answer->vote == VOTE_ABSENT &&
		       (answer->reason == REASON_QUARANTINE || answer->reason == REASON_SKEWED ||
			       answer->reason == REASON_COUNTER));
}

/* The first answer to the release of a held lock is a vote: did the key last to the end? A repeated
 * release may meet its own success, and after the validity the key may have expired. */
static void note_end(struct step *s, const struct event *ev)
{
	struct quorum *q = s->q;
	struct member *m = &q->member[ev->node];

	if (!q->asking || ev->round != q->round || ev->op == OP_RELEASE || m->vote != VOTE_NONE ||
		s->now >= q->valid_until)
		return;
	/* The seat's hand-over may have deleted the key first. */
	if (q->seat.parts && q->seat.node == ev->node && ev->answer->vote != VOTE_YES)
		return;
	m->vote = ev->answer->vote;
	m->answer = *ev->answer;
}

static void reply(struct step *s, const struct event *ev)
{
	struct quorum *q = s->q;
	struct member *m = &q->member[ev->node];
	const struct answer *answer = ev->answer;

	if (is_parting(ev->op)) {
		m->releasing = false;
		note_end(s, ev);
		/* YES, GONE, FOREIGN: whichever, our key is as it shall be, or not there any more.
		 */
		if (answer->vote != VOTE_ABSENT) {
			m->owes = 0;
		} else {
			m->release_refused = true;
			m->answer = *answer;
		}
		return;
	}
	m->asked = false;
	m->answer = *answer;
	/* A grant without the number that was asked for is none. */
	if (q->policy.wants_fence && ev->op == OP_ACQUIRE && answer->vote == VOTE_YES &&
		answer->fence == 0)
		m->answer = answer_absent(REASON_GARBAGE, NULL);
	answer = &m->answer;
	/* It was carried out between sending and now; the debt ends by the later. */
	m->owes_until = key_gone_at(&q->policy, s->now);
	if (answer->run_id[0])
		memcpy(m->run_id, answer->run_id, sizeof(m->run_id));
	if (ev->op == OP_FENCE && answer->vote == VOTE_YES && ev->round == q->round)
		m->numbered = q->round;
	/* Only the first word of this round counts: not an earlier round's, not a late one, and not
	 * a heal's, which would let a lock that a majority forgot confirm itself. */
	if (ev->round == q->round && ev->op != OP_HEAL && m->vote == VOTE_NONE)
		m->vote = answer->vote;
	/* The scripts change all or nothing, so a clean NO leaves nothing to release; unless it is
	 * the number alone that is not taken, or one of several keys that is not ours any more. */
	if (is_clean_no(answer) && !answer->is_partial) {
		m->owes = 0;
	} else if (answer->vote == VOTE_YES && ev->op == OP_EXTEND) {
		m->owes = q->attempt;
		m->slot = q->slot;
	}
	/* A turn that nobody came for: with it, the others will grant it as well. */
	if (answer->vote == VOTE_YES && ev->op == OP_ACQUIRE && answer->text_len > 0) {
		keep_turn(s, answer, answer->key, q->slot);
		q->used_turn |= q->phase == PHASE_ASK;
	}
	/* Those who wait elsewhere see the line otherwise than we do, and will see to it. */
	for (int key = 0; key < q->policy.keys && answer->vote == VOTE_YES; key++)
		if (ev->node == find_line(q, key))
			q->awaited = (q->awaited & ~(1u << key)) | (answer->awaited & 1u << key);
}

/* ---- the seat ---- */

static void open_seat(struct step *s, int line)
{
	struct seat *seat = &s->q->seat;

	act(s, ACT_OPEN, seat_of(s->q))->line = line;
	seat->link = LINK_OPENING;
	seat->leads &= seat->node == line && seat->key == s->q->busy_key;
	seat->node = line;
	seat->key = s->q->busy_key;
	seat->tried = s->q->round;
	seat->due = s->now + s->q->policy.node_timeout;
}

static void seat_is_down(struct step *s)
{
	struct seat *seat = &s->q->seat;

	seat->link = LINK_DOWN;
	seat->joins = seat->waits = seat->passes = seat->leaves = false;
}

static void close_seat(struct step *s)
{
	if (s->q->seat.link == LINK_DOWN)
		return;
	act(s, ACT_CLOSE, seat_of(s->q));
	seat_is_down(s);
}

/* All who waited at a node that is gone come at once: not in step, please. */
static usec retry_delay(const struct step *s)
{
	int grows = s->q->tries / 4;

	return (RETRY_DELAY + (usec)(s->random % RETRY_SPREAD)) << (grows < 2 ? grows : 2);
}

/* So much later than a key's end is asked for it: nodes are a grain late, and others wait too. */
static usec spread(const struct step *s)
{
	return 2 * USEC_MSEC + (usec)(s->random % RETRY_SPREAD);
}

static usec seat_due(const struct quorum *q)
{
	return q->seat.link == LINK_OPENING || q->seat.joins || q->seat.passes ? q->seat.due
									       : NEVER;
}

/* ---- time ---- */

/* Time is called only when nothing else has come in: an answer that is here is never late, however
 * long this machine slept before it looked. */
static void overdue(struct step *s)
{
	const struct policy *p = &s->q->policy;
	struct answer answer;

	if (seat_due(s->q) <= s->now) {
		close_seat(s);
		come_back(s, retry_delay(s));
	}
	for (int i = 0; i < p->nodes; i++) {
		struct member *m = &s->q->member[i];

		if (m->owes && !in_flight(m) && s->now >= m->owes_until)
			m->owes = 0;
		if (m->link == LINK_OPENING && s->now >= m->opened_at + p->node_timeout) {
			answer = answer_absent(late_reason(s, m), NULL);
			close_link(s, i);
			set_absent(m, &answer);
		}
		m->late |= in_flight(m) && s->now >= m->due;
		if (m->asked && m->late && m->joined == s->q->round) {
			answer = answer_absent(REASON_TIMEOUT, NULL);
			set_absent(m, &answer);
		}
	}
}

/* Late for so long that a new connection is worth more than the answer: the path may have healed
 * while this connection still sleeps between retransmissions. */
static bool is_hopeless(const struct quorum *q, const struct member *m, usec now)
{
	return is_late(m) && now >= m->due + q->policy.ttl / 6;
}

/* ---- a round ---- */

static void begin_round(struct step *s)
{
	struct quorum *q = s->q;

	q->round++;
	q->round_at = s->now;
	q->enough_at = 0;
	q->awaited = 0;
	for (int i = 0; i < q->policy.nodes; i++) {
		q->member[i].vote = VOTE_NONE;
		if (q->member[i].answer.vote == VOTE_FOREIGN) /* another one by now, maybe */
			q->member[i].answer.vote = VOTE_NONE;
		q->member[i].connecting = 0;
		q->member[i].release_refused = false;
	}
}

/* Once a majority is there, the rest gets a few of the round trips seen, not a time-out. */
static bool grace_is_over(struct quorum *q, usec now, bool enough, usec least, usec *wake_at)
{
	usec over_at;

	if (!enough)
		return false;
	if (!q->enough_at)
		q->enough_at = now;
	over_at = q->enough_at + usec_min(usec_max(least, 2 * (q->enough_at - q->round_at)),
					 q->policy.node_timeout / 4);
	if (now < over_at)
		*wake_at = over_at;
	return now >= over_at;
}

static void take_turn(struct step *s, const struct answer *answer)
{
	keep_turn(s, answer, s->q->seat.key, slot_of(s->q, answer->slot));
	s->q->seat.is_fresh = true;
	s->q->seat.was_free = false;
	s->q->tries = 0;
}

/* Others have a larger limit than we, and a slot that we do not. */
static void pass_slot_on(struct step *s, int slot)
{
	send_from_seat(s, OP_HAND_OVER)->slot = slot;
	s->q->seat.passes = true;
}

static void seat_reply(struct step *s, const struct event *ev)
{
	struct seat *seat = &s->q->seat;
	const struct answer *answer = ev->answer;

	switch (ev->op) {
	case OP_JOIN:
		seat->joins = false;
		if (answer->vote == VOTE_ABSENT)
			break;
		/* Free by now. If that did not help the last time, it is not free elsewhere. */
		if (answer->vote == VOTE_YES)
			s->q->next_slot = slot_of(s->q, answer->slot);
		if (answer->vote == VOTE_YES && answer->text_len > 0)
			take_turn(s, answer);
		/* So it is when this attempt has failed; and so is another one's turn, which may be
		 * nobody's. Among readers, each question is a word for the next in line: one will
		 * do. */
		else if (s->q->phase != PHASE_PAUSE &&
			 (answer->vote == VOTE_YES || (answer->is_reserved && !answer->is_shared)))
			seat->is_fresh = true;
		else if (answer->vote == VOTE_YES)
			come_back(s, seat->was_free ? retry_delay(s) : 0);
		/* It may be another key than those that refused us, and one that nobody gives back:
		 * then it is in the way of the hand-over, and its end wakes nobody. */
		else
			come_back(s, usec_add(answer->pttl, spread(s)));
		seat->was_free = answer->vote == VOTE_YES;
		return;
	case OP_WAIT:
		seat->waits = false;
		if (answer->vote == VOTE_ABSENT)
			break;
		if (policy_has_slots(&s->q->policy) && answer->slot > s->q->policy.slots)
			pass_slot_on(s, answer->slot);
		else
			take_turn(s, answer);
		return;
	default: /* the turn was passed on */
		seat->passes = false;
		return;
	}
	/* A user who may not wait asks again and again; any other trouble may be over soon. */
	seat->is_refused = answer->reason == REASON_NOPERM;
	seat->trouble = *answer;
	close_seat(s);
	come_back(s, retry_delay(s));
}

/* Between two attempts, because somebody else has it: wait where the others wait. */
static void take_seat(struct step *s)
{
	struct quorum *q = s->q;
	struct seat *seat = &q->seat;
	int line = find_line(q, q->busy_key);

	if (q->refusal != REFUSAL_BUSY || seat->is_refused || seat->passes)
		return;
	assert(line >= 0); /* who refused us */
	if (seat->link != LINK_DOWN && (line != seat->node || q->busy_key != seat->key))
		close_seat(s);
	/* Once in a round at each: the next in order may be the line before the round is over. */
	if (seat->link == LINK_DOWN && (seat->tried != q->round || line != seat->node))
		open_seat(s, line);
	if (seat->link == LINK_UP && !seat->joins && !seat->waits) {
		send_from_seat(s, OP_JOIN);
		send_from_seat(s, OP_WAIT);
	}
}

/* It is somebody's turn again and again, and never ours: is our seat still there? */
static void doubt_seat(struct step *s)
{
	const struct quorum *q = s->q;
	int line = find_line(q, q->busy_key);

	if (q->tries > SEAT_TRIES && q->seat.waits && line >= 0 &&
		q->member[line].vote == VOTE_FOREIGN && q->member[line].answer.is_reserved)
		close_seat(s);
}

/* Readers have the key that we wait for: who leaves the line then lets others in. */
static bool is_behind_readers(const struct quorum *q)
{
	const struct answer *a = &q->member[q->seat.node].answer;

	return a->vote == VOTE_FOREIGN && a->is_shared;
}

/* What is not needed while waiting is closed after a while. */
static void shed_links(struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;

	if (!q->seat.waits)
		return;
	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (m->link != LINK_UP || in_flight(m) ||
			(i == q->seat.node && is_behind_readers(q)))
			continue;
		if (s->now >= q->shed_at)
			close_link(s, i);
		else
			*wake_at = usec_min(*wake_at, q->shed_at);
	}
}

/* ---- trying ---- */

/* A turn that came before the pop is known to be ours while the pop is still blocked; so is it that
 * nobody passes readers by who waits behind us. */
static void pass_turn_beside_the_seat(struct step *s)
{
	const struct seat *seat = &s->q->seat;
	const struct member *m = &s->q->member[seat->node];
	struct action *a;

	/* Woken while another program had the key, we used no turn; yet the nodes keep it. */
	if (!seat->waits || m->link != LINK_UP || m->owes ||
		(!seat->is_woken && !seat->turn[seat->key][0] && !is_behind_readers(s->q)))
		return;
	a = send_op(s, seat->node, OP_HAND_OVER);
	a->is_leaving = true;
	a->slot = seat->is_woken ? seat->turn_slot : 0;
	a->leads = seat->leads;
	s->q->seat.passes_beside = true;
}

/* That word serves our own pop, and what stands behind it serves the next in line: a node that
 * finds us gone in between drops it. */
static bool is_passing_beside(const struct quorum *q)
{
	const struct member *m = &q->member[q->seat.node];

	return q->seat.passes_beside && in_flight(m) && !is_late(m);
}

/* The release of a held lock is a round of its own, in which each node is asked for a vote. For a
 * lock that was not held, the votes of the last attempt stay: they tell why. */
static void begin_release(struct step *s)
{
	struct quorum *q = s->q;
	unsigned awaited = q->awaited;

	q->asking = q->state == QUORUM_HELD && q->duplicate[0] < 0;
	if (q->asking)
		begin_round(s);
	q->awaited = awaited;
}

static void let_go(struct step *s)
{
	struct quorum *q = s->q;

	/* It was our turn, and we leave without having used it; or it may be by now, and behind the
	 * blocked pop this is only looked at if we were woken. */
	if (q->seat.link == LINK_UP && !q->seat.leaves &&
		(q->seat.is_woken || q->seat.waits || q->seat.leads))
		send_from_seat(s, OP_HAND_OVER);
	q->seat.parts = q->seat.link == LINK_UP;
	pass_turn_beside_the_seat(s);

	begin_release(s);
	q->round_at = s->now;
	q->enough_at = 0;
	for (int i = 0; i < q->policy.nodes; i++)
		q->member[i].release_refused = false;
	q->release_until = s->now + usec_min(RELEASE_TIME, q->policy.ttl / 2);
	q->state = QUORUM_RELEASING;
	q->phase = PHASE_LET_GO;
	/* A node that never had the key is told as well: others may wait there. */
	for (int i = 0; i < q->policy.nodes && q->proved && !q->leave_for; i++) {
		struct member *m = &q->member[i];

		if (!m->owes && m->link == LINK_UP && !in_flight(m))
			send_op(s, i, OP_HAND_OVER);
	}
}

/* When who refused us may have something for us. */
static usec ends_in(const struct quorum *q, const struct answer *a)
{
	return policy_has_slots(&q->policy) ? a->soonest : a->pttl;
}

/* Does the line's answer tell when it is worth to ask again? Who has the line's key, or the turn,
 * is before us; unless it is a stranger, who wakes nobody. */
static bool is_taken(const struct member *m)
{
	const struct answer *a = &m->answer;

	return m->vote == VOTE_FOREIGN && a->pttl != NEVER &&
	       (a->is_reserved || token_is_ours(a->text, a->text_len));
}

/* Somebody is in the way who wakes nobody. */
static bool has_strangers(const struct quorum *q)
{
	for (int i = 0; i < q->policy.nodes; i++)
		if (q->member[i].vote == VOTE_FOREIGN && !is_taken(&q->member[i]))
			return true;
	return false;
}

/* Rivals have the votes, none of them a majority: one of them can have what the others give back. A
 * node that does not answer is not counted for a holder: it is down for all far more often than it
 * has the key of one. To ask again in vain changes nothing. */
static bool is_split(const struct quorum *q)
{
	int quorum = policy_quorum(&q->policy), most, rivals = 0;

	(void)quorum_holder(q, &most);
	for (int i = 0; i < q->policy.nodes; i++)
		rivals += is_taken(&q->member[i]) && !q->member[i].answer.is_reserved;
	return most < quorum && count_yes(q) + rivals + quorum_count(q, VOTE_NONE) >= quorum;
}

/* When the key ends on so many nodes that a majority could grant it. */
static usec free_in(const struct quorum *q)
{
	usec end[NODES_MAX];
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];
		usec in = m->vote == VOTE_FOREIGN                          ? ends_in(q, &m->answer)
			  : m->vote == VOTE_ABSENT || m->vote == VOTE_NONE ? NEVER
									   : 0;

		insert_longest_first(end, n++, in);
	}
	return end[q->policy.nodes - policy_quorum(&q->policy)];
}

/* When so many nodes are out of quarantine that a majority could vote; 0: that is not what is
 * waited for. */
static usec quarantined_for(const struct quorum *q)
{
	usec left[NODES_MAX];
	int n = 0, missing = policy_quorum(&q->policy) - q->policy.nodes;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		if (m->vote == VOTE_ABSENT && m->answer.reason == REASON_QUARANTINE)
			insert_longest_first(left, n++, m->answer.pttl);
	}
	/* All the others together would not do. */
	missing += n;
	return missing > 0 ? left[n - missing] : 0;
}

/* The next attempt, if nobody wakes us before. */
static usec retry_at(const struct step *s)
{
	const struct quorum *q = s->q;
	usec delay = retry_delay(s);
	/* However long the key lasts: a wake-up may be lost. */
	usec back_stop = s->now + BACK_STOP + (usec)(s->random % BACK_STOP_SPREAD);
	int line = find_line(q, q->busy_key), most;

	if (q->refusal == REFUSAL_NO_QUORUM && quarantined_for(q) > 0)
		return usec_min(
			usec_add(usec_add(s->now, spread(s)), quarantined_for(q)), back_stop);
	if (q->refusal != REFUSAL_BUSY || q->seat.is_refused || has_strangers(q))
		return s->now + delay;
	if (is_taken(&q->member[line]))
		return usec_min(usec_add(s->now + spread(s), ends_in(q, &q->member[line].answer)),
			back_stop);
	(void)quorum_holder(q, &most);
	if (most >= policy_quorum(&q->policy))
		return usec_min(usec_add(s->now, usec_max(usec_add(spread(s), free_in(q)), delay)),
			back_stop);
	return s->now + delay;
}

/* Of several keys the one to wait for: as the line of the last one sees it, or else as anybody. */
static int key_in_the_way(const struct quorum *q)
{
	int line = find_line(q, q->busy_key), key = q->busy_key;

	assert(line >= 0); /* who refused us */
	if (q->member[line].vote == VOTE_FOREIGN)
		return q->member[line].answer.key;
	for (int i = q->policy.nodes - 1; i >= 0; i--)
		if (q->member[i].vote == VOTE_FOREIGN)
			key = q->member[i].answer.key;
	return key;
}

/* It was our turn, but another one of our keys is somebody else's: the next in line need not wait
 * for that. */
static void pass_useless_turn_on(struct step *s)
{
	if (s->q->busy_key != s->q->seat.key)
		pass_turn_on(s);
}

/* Of a semaphore, another slot that is free: as the line sees it, or else as anybody. */
static int find_slot(const struct quorum *q)
{
	int line = find_line(q, 0), slot = 0;

	assert(line >= 0); /* who refused us */
	if (q->member[line].vote == VOTE_FOREIGN)
		return slot_of(q, q->member[line].answer.slot);
	for (int i = q->policy.nodes - 1; i >= 0; i--)
		if (q->member[i].vote == VOTE_FOREIGN && q->member[i].answer.slot > 0)
			slot = slot_of(q, q->member[i].answer.slot);
	return slot;
}

/* A slot that is free is worth an attempt at once, even if we do not wait. */
static bool moves_on(struct step *s)
{
	struct quorum *q = s->q;

	q->moves = q->next_slot > 0 && q->moves < MOVES_MAX ? q->moves + 1 : 0;
	return q->moves > 0 && s->now <= usec_add(q->deadline, q->policy.node_timeout);
}

/* Are readers in the way? As the line sees it, or else as anybody. */
static bool finds_readers(const struct quorum *q)
{
	const struct member *line = &q->member[q->seat.node];
	bool found = false;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		if (m == line || line->vote != VOTE_FOREIGN)
			found |= m->vote == VOTE_FOREIGN && m->answer.is_shared &&
				 m->answer.key == q->seat.key;
	}
	return found;
}

static void fail_attempt(struct step *s, enum refusal refusal)
{
	struct quorum *q = s->q;
	bool is_moving, gives_up;
	/* Those who gave way to us wait for a word. If there is a holder, or a rival to give way
	 * to, it is theirs to say. */
	enum op op;

	q->next_slot = refusal == REFUSAL_BUSY && policy_has_slots(&q->policy) ? find_slot(q) : 0;
	is_moving = moves_on(s);
	gives_up = refusal == REFUSAL_DUPLICATE || (s->now >= q->deadline && !is_moving);
	op = gives_up || (q->insisted > 0 && is_split(q)) ? OP_HAND_OVER : OP_RELEASE;
	q->refusal = refusal;
	if (refusal == REFUSAL_BUSY)
		q->busy_key = key_in_the_way(q);
	/* A writer that is woken, and finds readers, does not go to the end of the line. */
	q->seat.leads |=
		refusal == REFUSAL_BUSY && q->used_turn && !q->policy.is_shared && finds_readers(q);
	if (q->used_turn && refusal == REFUSAL_BUSY && !q->seat.is_fresh) {
		q->seat.is_woken = false;
		pass_useless_turn_on(s);
	}
	/* Behind its SET on the same connection, the release cannot overtake it. */
	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (m->owes && m->link == LINK_UP && !m->releasing)
			send_op(s, i, op);
	}
	if (gives_up) {
		let_go(s);
		return;
	}
	q->phase = PHASE_PAUSE;
	q->tries += !is_moving;
	q->resume_at = is_moving          ? s->now
		       : q->next_slot > 0 ? s->now + retry_delay(s)
					  : retry_at(s);
	q->resume_at = usec_min(q->resume_at, usec_max(s->now, q->deadline));
	/* What was heard meanwhile came too late for this attempt. */
	if ((q->seat.is_woken || q->seat.is_fresh) && refusal == REFUSAL_BUSY)
		q->resume_at = s->now;
	q->shed_at = s->now + SHED_AFTER;
}

static bool is_ready(const struct member *m)
{
	return m->link == LINK_UP && !in_flight(m) && !m->owes;
}

/* Who cannot take part in this round is absent, with the newest trouble that is known. */
static void set_rest_absent(struct step *s)
{
	for (int i = 0; i < s->q->policy.nodes; i++) {
		struct member *m = &s->q->member[i];
		struct answer answer = answer_absent(late_reason(s, m), NULL);

		if (!is_ready(m))
			set_absent(m, m->answer.vote == VOTE_ABSENT ? &m->answer : &answer);
	}
}

/* Before anybody is asked in this attempt: where to begin. A majority is ready. */
static int first_ready(const struct quorum *q)
{
	const int *i = q->policy.order[q->busy_key];

	while (!is_ready(&q->member[*i]))
		i++;
	return *i;
}

static enum op attempt_op(const struct quorum *q)
{
	return q->policy.only_looks ? OP_LOOK : OP_ACQUIRE;
}

/* That of our turn, or one that was said to be free, or any. */
static void choose_slot(struct step *s)
{
	struct quorum *q = s->q;
	int slot = q->seat.is_woken ? q->seat.turn_slot : q->next_slot;

	q->next_slot = 0;
	if (!policy_has_slots(&q->policy))
		return;
	/* The upper bits: the lower ones spread the delays. */
	q->slot = slot > 0 ? slot : 1 + (int)((s->random >> 32) % (uint64_t)q->policy.slots);
}

static void ask(struct step *s)
{
	struct quorum *q = s->q;

	choose_slot(s);
	q->attempt = q->round;
	q->valid_until = valid_until(&q->policy, s->now);
	q->phase = PHASE_ASK;
	q->asked_at = s->now;
	q->enough_at = 0;
	q->insist_at = 0;
	q->insisted = 0;
	q->used_turn = q->seat.is_woken;
	q->seat.is_fresh = false;
	s->up->new_token = true;
	set_rest_absent(s);
	/* Others contend and nobody has woken us: who gets the line goes on. Alone, or when it is
	 * our turn, one round trip does. */
	q->line = -1;
	if (q->refusal == REFUSAL_BUSY && !q->used_turn && s->now < q->deadline)
		q->line = first_ready(q);
	for (int i = 0; i < q->policy.nodes; i++)
		if (is_ready(&q->member[i]) && (q->line < 0 || q->line == i))
			send_op(s, i, attempt_op(q));
}

/* The line granted it, or does not decide. False if there is nobody else to ask. */
static bool ask_the_rest(struct step *s)
{
	struct quorum *q = s->q;
	bool asked = false;

	q->line = -1;
	for (int i = 0; i < q->policy.nodes; i++)
		if (q->member[i].vote == VOTE_NONE) {
			send_op(s, i, attempt_op(q));
			asked = true;
		}
	return asked;
}

/* It is our turn, but the release of the one before us has not reached this node yet. Readers' key
 * has none of their names: but at the line they are gone. */
static bool is_on_its_way(const struct quorum *q, const struct member *m)
{
	if (m->vote != VOTE_FOREIGN || !q->used_turn || m->answer.text_len <= TOKEN_ID_LEN)
		return false;
	if (m->answer.is_shared)
		return q->member[q->seat.node].vote ==
		       (q->policy.only_looks ? VOTE_GONE : VOTE_YES);
	return memcmp(m->answer.text, q->seat.turn[m->answer.key], TOKEN_ID_LEN) == 0;
}

/* It is our turn, but we did not know that when we asked. */
static bool is_kept_for_us(const struct quorum *q, const struct member *m)
{
	return m->vote == VOTE_FOREIGN && q->used_turn && m->answer.is_reserved &&
	       q->seat.turn[m->answer.key][0];
}

/* Of those who split the votes, the one with the smallest token goes on: as far as we see, it is
 * us. Readers have a token together that is larger than all others. */
static bool is_first_of_rivals(const struct step *s)
{
	const struct quorum *q = s->q;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct answer *a = &q->member[i].answer;

		if (q->member[i].vote == VOTE_FOREIGN && token_is_ours(a->text, a->text_len) &&
			(q->policy.is_shared || memcmp(a->text, s->token, TOKEN_ID_LEN) < 0))
			return false;
	}
	return count_yes(q) > 0;
}

/*
 * The votes are split, and nobody can have a majority: one of us must go on, so it asks the others
 * again, who give theirs back at once. Or it is our turn, and the release that we heard of is still
 * on its way to the others. True while that is so.
 */
static bool insist(struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	bool is_coming = false, is_kept = false;

	for (int i = 0; i < q->policy.nodes; i++) {
		is_coming |= is_on_its_way(q, &q->member[i]);
		is_kept |= is_kept_for_us(q, &q->member[i]);
	}
	if (!q->insist_at) {
		if (s->now >= q->asked_at + q->policy.node_timeout ||
			(!is_coming && q->insisted >= INSIST_WAITING_MAX && s->now < q->deadline) ||
			(!is_coming && !is_kept && !(is_split(q) && is_first_of_rivals(s))))
			return false;
		q->insist_at = s->now + usec_min(usec_max(INSIST_AFTER, s->now - q->asked_at),
						q->policy.node_timeout / 4);
		q->insisted++;
	}
	if (s->now < q->insist_at) {
		*wake_at = q->insist_at;
		return true;
	}
	q->insist_at = q->enough_at = 0;
	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (m->vote == VOTE_FOREIGN && is_ready(m))
			send_op(s, i, attempt_op(q));
	}
	return quorum_count(q, VOTE_NONE) > 0;
}

/*
 * An attempt asks only nodes whose connection stands when it begins, so that no request of it can
 * reach a node that restarted in the meantime. A node whose last release is unconfirmed is paid
 * first: it then never carries more than one token of ours.
 */
static void gather(struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy);
	int ready = 0, pending = 0;
	/* To pay a debt and to connect, one after the other, is not waited for twice. */
	usec until = q->round_at + q->policy.node_timeout;
	/* Who goes on without a pause waits for the last answers as long as it did for the others.
	 */
	usec least = q->moves > 0 ? usec_max(LEAST_GRACE, q->round_at - q->asked_at) : LEAST_GRACE;

	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (is_hopeless(q, m, s->now))
			close_link(s, i);
		if (m->link == LINK_DOWN && m->tried != q->round)
			open_link(s, i);
		if (m->link == LINK_UP && !in_flight(m) && m->owes && !m->release_refused)
			send_op(s, i, OP_RELEASE);
		if (is_ready(m))
			ready++;
		else if ((s->now < until || !s->is_quiet) &&
			 (m->link == LINK_OPENING || (in_flight(m) && !is_late(m))))
			pending++;
	}
	if (pending > 0)
		*wake_at = until;
	/* What is wrong with the last ones is about to be known, too. */
	if (ready + pending < quorum &&
		(pending == 0 || grace_is_over(q, s->now, true, least, wake_at))) {
		set_rest_absent(s);
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
	if (q->phase == PHASE_GATHER && ready >= quorum &&
		(pending == 0 || grace_is_over(q, s->now, true, least, wake_at)))
		ask(s);
}

/* Of a key: it is there, and has not spoken yet. */
static bool is_the_line_silent(const struct quorum *q, int key)
{
	int line = find_line(q, key);

	return line >= 0 && q->member[line].vote == VOTE_NONE;
}

/* --fair: a line has not spoken yet. Readers wait for a quarter of its time: they would share; but
 * one that is only far away must be heard, or writers starve. */
static bool is_a_line_silent(const struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	bool is_silent = false;

	for (int key = 0; key < q->policy.keys && policy_heeds_line(&q->policy); key++)
		is_silent |= is_the_line_silent(q, key);
	if (is_silent && !q->policy.is_fair)
		return !grace_is_over(q, s->now,
			count_yes(q) + count_no(q) >= policy_quorum(&q->policy),
			q->policy.node_timeout / 4, wake_at);
	return is_silent;
}

/* A turn is kept: the line, which has not spoken yet, knows whether anybody comes for it. */
static bool is_turn_in_doubt(const struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	bool is_silent = false;

	for (int i = 0; i < q->policy.nodes; i++)
		is_silent |= q->member[i].vote == VOTE_FOREIGN && q->member[i].answer.is_reserved &&
			     is_the_line_silent(q, q->member[i].answer.key);
	return is_silent && !grace_is_over(q, s->now, true, q->policy.node_timeout / 4, wake_at);
}

/* --fair: it says that others come first, however many would grant it. */
static bool is_before_its_turn(const struct quorum *q)
{
	bool is_early = false;

	for (int key = 0; key < q->policy.keys && policy_heeds_line(&q->policy); key++) {
		int line = find_line(q, key);

		is_early |= line >= 0 && q->member[line].vote == VOTE_FOREIGN &&
			    q->member[line].answer.is_reserved && q->member[line].answer.key == key;
	}
	return is_early;
}

static void hold(struct step *s)
{
	struct quorum *q = s->q;

	if (s->now >= q->valid_until - q->policy.guard) {
		fail_attempt(s, REFUSAL_SLOW);
		return;
	}
	/* A seat that still waits is kept: the node may be slow to notice that it was closed, and
	 * our own release would then wake nobody but us. */
	if (q->seat.is_woken && q->seat.turn_slot != q->slot)
		pass_turn_on(s);
	/* The next in line may be a reader too. */
	if (q->used_turn && q->policy.is_shared)
		pass_turn_on(s);
	/* Another slot's release would wake us, or another reader's word: who serves us passes that
	 * on at once. */
	if (q->seat.waits && (policy_has_slots(&q->policy) || q->policy.is_shared)) {
		send_from_seat(s, OP_HAND_OVER);
		q->seat.leaves = true;
	}
	if (!q->seat.waits && !q->seat.passes)
		close_seat(s);
	q->seat.is_woken = q->seat.leads = false;
	q->state = QUORUM_HELD;
	q->phase = PHASE_KEEP;
	q->proved = q->round;
	q->refusal = REFUSAL_NONE;
	q->resume_at = q->round_at + q->policy.ttl / 3;
}

/*
 * The number is the largest that a node of our majority gave. If all gave the same, the next one to
 * come finds it in one of them. If not, they are told, so that it does; those that take it must be
 * a majority, and still have our key.
 */
static void choose_fence(struct step *s)
{
	struct quorum *q = s->q;
	bool is_one = true;

	q->fence = 0;
	for (int i = 0; i < q->policy.nodes; i++)
		if (q->member[i].vote == VOTE_YES && q->member[i].answer.fence != q->fence) {
			is_one &= q->fence == 0;
			q->fence = q->fence > q->member[i].answer.fence ? q->fence
									: q->member[i].answer.fence;
		}
	if (is_one) {
		hold(s);
		return;
	}
	q->phase = PHASE_FENCE;
}

static void tally_fence(struct step *s)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy), taken = 0, open = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		/* Those that granted it late as well. */
		if (m->vote == VOTE_YES && m->numbered != q->round && m->link == LINK_UP)
			send_op(s, i, OP_FENCE);
		taken += m->numbered == q->round;
		open += m->vote == VOTE_NONE;
	}
	if (q->duplicate[0] >= 0)
		fail_attempt(s, REFUSAL_DUPLICATE);
	else if (taken >= quorum)
		hold(s);
	else if (taken + open < quorum)
		fail_attempt(s, count_no(q) >= quorum ? REFUSAL_BUSY : REFUSAL_NO_QUORUM);
}

/* A majority has answered, and we have none. Where rivals split the votes, each hears of all that
 * it got before it gives way, or goes on: but for those that are late. */
static bool is_refused(const struct step *s, int yes, int open, usec *wake_at)
{
	struct quorum *q = s->q;

	if (!is_split(q))
		return yes + open < policy_quorum(&q->policy);
	return open == 0 || grace_is_over(q, s->now, true, q->policy.node_timeout / 4, wake_at);
}

static void tally_attempt(struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy);
	bool looks = q->policy.only_looks;
	int yes, no, open;

	if (q->line >= 0 && q->member[q->line].vote == VOTE_NONE)
		return;
	if (q->line >= 0 && is_taken(&q->member[q->line])) {
		fail_attempt(s, REFUSAL_BUSY);
		return;
	}
	if (q->line >= 0 && ask_the_rest(s))
		return;
	yes = looks ? quorum_count(q, VOTE_GONE) : count_yes(q);
	no = looks ? quorum_count(q, VOTE_FOREIGN) : count_no(q);
	open = quorum_count(q, VOTE_NONE);
	if (q->duplicate[0] >= 0) {
		fail_attempt(s, REFUSAL_DUPLICATE);
	} else if (is_a_line_silent(s, wake_at)) {
		return;
	} else if (is_before_its_turn(q)) {
		fail_attempt(s, REFUSAL_BUSY);
	} else if (yes >= quorum && looks) {
		q->refusal = REFUSAL_NONE;
		let_go(s);
	} else if (yes >= quorum && q->policy.wants_fence) {
		choose_fence(s);
	} else if (yes >= quorum) {
		hold(s);
	} else if (yes + no >= quorum && is_refused(s, yes, open, wake_at)) {
		if (!is_turn_in_doubt(s, wake_at) && !insist(s, wake_at))
			fail_attempt(s, REFUSAL_BUSY);
	} else if (yes + no + open < quorum) {
		/* It failed; but "busy" and "no quorum" are told apart by a majority of clean
		 * answers, which may still come in. */
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
}

/* ---- held ---- */

/* Did we miss all of the time in which a node may answer? */
static bool was_away(const struct quorum *q, usec now)
{
	return now >= q->valid_until - q->policy.guard + q->policy.node_timeout;
}

static void look_at_expiry(struct quorum *q, usec now)
{
	if (q->state == QUORUM_HELD && now >= q->valid_until - q->policy.guard) {
		q->state = QUORUM_EXPIRING;
		q->loss = was_away(q, now) ? LOSS_STOOD_STILL : LOSS_EXPIRED;
		q->asking = false;
	}
	if (q->state == QUORUM_EXPIRING && now >= q->valid_until)
		q->state = QUORUM_LOST;
}

/* Nodes that may still vote in this round. */
static int count_open(const struct quorum *q)
{
	int n = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		n += m->vote == VOTE_NONE &&
		     (m->link == LINK_OPENING || (in_flight(m) && !is_late(m)));
	}
	return n;
}

static void tally_extension(struct step *s)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy);
	int yes = count_yes(q), no = count_no(q), open = count_open(q);
	usec retry = usec_min(usec_max(q->policy.ttl / 30, 10 * USEC_MSEC), USEC_SEC / 2);

	if (yes >= quorum) {
		/* The old validity has not ended: look_at_expiry() came first. */
		q->worst_margin = usec_min(q->worst_margin, q->valid_until - s->now);
		q->valid_until = valid_until(&q->policy, q->round_at);
		q->resume_at = q->round_at + q->policy.ttl / 3;
		q->proved = q->round;
		q->extensions++;
		q->asking = q->denied = false;
	} else if (no >= quorum && q->denied) {
		q->state = QUORUM_EXPIRING;
		q->loss = LOSS_DENIED;
		q->asking = false;
	} else if (no >= quorum) {
		q->denied = true;
		q->asking = false;
		q->resume_at = s->now + SECOND_LOOK;
	} else if (yes + open < quorum && no + open < quorum) {
		q->denied = q->asking = false;
		q->resume_at = s->now + retry + (usec)(s->random % (uint64_t)retry);
	}
}

static void keep(struct step *s)
{
	struct quorum *q = s->q;

	if (q->state != QUORUM_HELD)
		return;
	if (!q->asking && s->now >= q->resume_at) {
		begin_round(s);
		q->asking = true;
	}
	if (q->round == q->attempt)
		return; /* the rest of the acquisition's answers may come; nothing to ask yet */
	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (q->asking && is_hopeless(q, m, s->now))
			close_link(s, i);
		if (q->asking && m->link == LINK_DOWN && m->tried != q->round)
			open_link(s, i);
		if (m->link != LINK_UP || in_flight(m) || m->release_refused)
			continue;
		if (in_debt(q, m))
			send_op(s, i, OP_RELEASE);
		else if (m->joined != q->round)
			send_op(s, i, OP_EXTEND);
	}
	if (q->asking)
		tally_extension(s);
	/* Put the key back where it is gone, so that restarts far apart do not wear the lock away;
	 * only once a majority proved in this very round that the lock never lapsed. */
	for (int i = 0; i < q->policy.nodes && q->proved == q->round; i++) {
		struct member *m = &q->member[i];

		if (m->vote == VOTE_GONE && m->link == LINK_UP && !in_flight(m) &&
			m->healed != q->round) {
			m->healed = q->round;
			send_op(s, i, OP_HEAL);
		}
	}
}

/* ---- the end ---- */

/* Can the open votes still tell whether a majority had the key to the end? */
static bool is_end_open(const struct quorum *q)
{
	int quorum = policy_quorum(&q->policy), yes = count_yes(q), no = count_no(q);

	return q->asking && yes < quorum && no < quorum &&
	       (yes > no ? yes : no) + count_open(q) >= quorum;
}

static void end(struct step *s)
{
	struct quorum *q = s->q;

	for (int i = 0; i < q->policy.nodes; i++)
		may_have_landed(s, &q->member[i]);
	if (q->asking && count_no(q) >= policy_quorum(&q->policy))
		q->loss = LOSS_DENIED;
	q->asking = false;
	q->phase = PHASE_DONE;
	q->state = QUORUM_OVER;
}

static void release(struct step *s, usec *wake_at)
{
	struct quorum *q = s->q;
	int settled = 0, waited_for = 0;

	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (!m->owes) {
			settled++;
			continue;
		}
		if (m->link == LINK_DOWN && m->reopened < REOPEN_MAX) {
			m->reopened++;
			open_link(s, i);
		}
		if (m->link == LINK_UP && !m->releasing && !m->release_refused)
			send_op(s, i,
				in_debt(q, m)  ? OP_RELEASE
				: q->leave_for ? OP_LEAVE
					       : OP_HAND_OVER);
		/* Whoever is late already has the release in its queue and is not waited for. */
		waited_for += m->link == LINK_OPENING || (in_flight(m) && !is_late(m));
	}
	if ((s->is_quiet && s->now >= q->release_until) ||
		(!is_passing_beside(q) && !is_end_open(q) &&
			(waited_for == 0 ||
				grace_is_over(q, s->now, settled >= policy_quorum(&q->policy),
					2 * USEC_MSEC, wake_at)))) {
		end(s);
		*wake_at = NEVER;
		return;
	}
	*wake_at = usec_min(*wake_at, q->release_until);
}

/* ---- the machine ---- */

static void take_in(struct step *s, const struct event *ev)
{
	struct quorum *q = s->q;

	switch (ev->kind) {
	case EV_START:
		assert(q->phase == PHASE_IDLE);
		q->deadline = usec_add(s->now, q->policy.wait);
		begin_round(s);
		q->phase = PHASE_GATHER;
		break;
	case EV_LINK_SHAKES:
		if (ev->node != seat_of(q))
			q->member[ev->node].missing = ev->answer->reason;
		break;
	case EV_LINK_UP:
		if (ev->node == seat_of(q))
			q->seat.link = LINK_UP;
		else
			link_is_up(s, &q->member[ev->node]);
		break;
	case EV_LINK_DOWN:
		if (ev->node == seat_of(q)) {
			seat_is_down(s);
			come_back(s, retry_delay(s));
			break;
		}
		/* What was in flight may have been carried out all the same: the debt stays. */
		link_is_down(s, &q->member[ev->node]);
		set_absent(&q->member[ev->node], ev->answer);
		break;
	case EV_REPLY:
		if (ev->node == seat_of(q)) {
			seat_reply(s, ev);
			break;
		}
		reply(s, ev);
		find_duplicate(q, ev->node);
		break;
	case EV_TIME:
		break;
	case EV_EXTEND:
		if (q->phase == PHASE_KEEP && !q->asking)
			q->resume_at = usec_min(q->resume_at, s->now);
		break;
	case EV_RELEASE:
		if (q->phase < PHASE_LET_GO) {
			/* Only a lock that is held, and not in doubt, is left to expire. */
			q->leave_for = q->state == QUORUM_HELD && !q->denied ? ev->leave_for : 0;
			let_go(s);
		}
		break;
	}
}

static usec next_due(const struct quorum *q)
{
	usec at = seat_due(q);

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		if (m->link == LINK_OPENING)
			at = usec_min(at, m->opened_at + q->policy.node_timeout);
		if (in_flight(m) && !m->late)
			at = usec_min(at, m->due);
	}
	return at;
}

static usec advance(struct step *s)
{
	struct quorum *q = s->q;
	usec wake_at = NEVER;

	switch ((enum phase)q->phase) {
	case PHASE_IDLE:
	case PHASE_DONE:
		return NEVER;
	case PHASE_GATHER:
		gather(s, &wake_at);
		break;
	case PHASE_ASK:
		tally_attempt(s, &wake_at);
		break;
	case PHASE_FENCE:
		tally_fence(s);
		break;
	case PHASE_PAUSE:
		if (s->now >= q->resume_at) {
			doubt_seat(s);
			begin_round(s);
			q->phase = PHASE_GATHER;
			break;
		}
		take_seat(s);
		shed_links(s, &wake_at);
		wake_at = usec_min(wake_at, q->resume_at);
		break;
	case PHASE_KEEP:
		keep(s);
		if (q->state == QUORUM_HELD)
			wake_at = usec_min(
				q->asking ? NEVER : q->resume_at, q->valid_until - q->policy.guard);
		else if (q->state == QUORUM_EXPIRING)
			wake_at = q->valid_until;
		break;
	case PHASE_LET_GO:
		release(s, &wake_at);
		break;
	}
	return usec_min(wake_at, next_due(q));
}

void quorum_step(struct quorum *q, const struct event *ev, struct update *up)
{
	struct step s = {.q = q,
		.up = up,
		.now = ev->now,
		.random = ev->random,
		.token = ev->token,
		.is_quiet = ev->kind == EV_TIME};
	int phase;

	up->new_token = false;
	up->count = 0;
	/* Expiry is looked at before the event: no answer, however good, revives a lock that ended.
	 */
	look_at_expiry(q, s.now);
	take_in(&s, ev);
	if (ev->kind == EV_TIME)
		overdue(&s);
	do {
		phase = q->phase;
		up->wake_at = advance(&s);
	} while (q->phase != phase);
}
