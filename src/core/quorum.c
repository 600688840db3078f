#include "core/quorum.h"

#include "base/token.h"

#include <assert.h>
#include <string.h>

/* Clocks of two machines do not run at one rate: NTP may slew either by 8 to 10 %. The 2 ms are the
 * grain of Redis's expiry. */
#define DRIFT_GRAIN (2 * USEC_MSEC)

/* A random delay lets rivals that split the votes fall out of step. */
#define RETRY_DELAY (20 * USEC_MSEC)
#define RETRY_SPREAD (100 * USEC_MSEC)

/* Between the first and the second look at a majority that denies us. */
#define SECOND_LOOK (25 * USEC_MSEC)

#define RELEASE_TIME USEC_SEC
#define REOPEN_MAX 2

enum phase {
	PHASE_IDLE,
	PHASE_GATHER, /* connections are being made; nothing of this round was sent */
	PHASE_ASK, /* the votes of an attempt are coming in */
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
	assert(policy->ttl > policy->drift + policy->guard);
	memset(q, 0, sizeof(*q));
	q->policy = *policy;
	q->duplicate[0] = q->duplicate[1] = -1;
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

int quorum_held_by(const struct quorum *q, const char *ids, const char **token)
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
		*token = a->text;
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

/* ---- one node ---- */

static struct action *act(struct step *s, enum action_kind kind, int node)
{
	struct action *a = &s->up->action[s->up->count++];

	assert(s->up->count <= ACTIONS_MAX);
	*a = (struct action){.kind = kind, .node = node, .round = s->q->round};
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
	m->opened_at = s->now;
	m->tried = s->q->round;
}

/* No vote comes any more from this node in this round. Of several reasons the first is the cause.
 */
static void set_absent(struct member *m, const struct answer *answer)
{
	if (m->vote != VOTE_NONE)
		return;
	m->vote = VOTE_ABSENT;
	m->answer = *answer;
}

static void link_is_up(struct step *s, struct member *m)
{
	m->link = LINK_UP;
	m->connecting = usec_min(s->now - m->opened_at, s->q->policy.node_timeout);
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
	return op == OP_RELEASE || op == OP_LEAVE;
}

static void send_op(struct step *s, int i, enum op op)
{
	const struct policy *p = &s->q->policy;
	struct member *m = &s->q->member[i];

	act(s, ACT_SEND, i)->op = op;
	if (is_parting(op)) {
		if (!in_flight(m)) {
			m->due = s->now + p->node_timeout;
			m->late = false;
		}
		m->releasing = true;
		return;
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
	/* It may land, or prolong what landed late, whatever becomes of the answer: so it is owed
	 * from here on. */
	if (op != OP_EXTEND)
		m->was_sent = s->q->attempt;
	if (m->was_sent == s->q->attempt)
		m->owes = s->q->attempt;
	m->owes_until = key_gone_at(p, s->now);
}

/* The token of an earlier attempt may still be on this node. */
static bool in_debt(const struct quorum *q, const struct member *m)
{
	return m->owes && m->owes != q->attempt;
}

static void reply(struct step *s, const struct event *ev)
{
	struct quorum *q = s->q;
	struct member *m = &q->member[ev->node];
	const struct answer *answer = ev->answer;

	if (is_parting(ev->op)) {
		m->releasing = false;
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
	/* It was carried out between sending and now; the debt ends by the later. */
	m->owes_until = key_gone_at(&q->policy, s->now);
	if (answer->run_id[0])
		memcpy(m->run_id, answer->run_id, sizeof(m->run_id));
	/* Only the first word of this round counts: not an earlier round's, not a late one, and not
	 * a heal's, which would let a lock that a majority forgot confirm itself. */
	if (ev->round == q->round && ev->op != OP_HEAL && m->vote == VOTE_NONE)
		m->vote = answer->vote;
	/* The scripts change all or nothing, so a clean NO leaves nothing to release. */
	if (answer->vote == VOTE_FOREIGN || answer->vote == VOTE_GONE)
		m->owes = 0;
	else if (answer->vote == VOTE_YES && ev->op == OP_EXTEND)
		m->owes = q->attempt;
}

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

/* Time is called only when nothing else has come in: an answer that is here is never late, however
 * long this machine slept before it looked. */
static void overdue(struct step *s)
{
	const struct policy *p = &s->q->policy;
	struct answer answer;

	for (int i = 0; i < p->nodes; i++) {
		struct member *m = &s->q->member[i];

		if (m->owes && !in_flight(m) && s->now >= m->owes_until)
			m->owes = 0;
		if (m->link == LINK_OPENING && s->now >= m->opened_at + p->node_timeout) {
			close_link(s, i);
			answer = answer_absent(REASON_CONNECT_TIMEOUT, NULL);
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
	for (int i = 0; i < q->policy.nodes; i++) {
		q->member[i].vote = VOTE_NONE;
		q->member[i].connecting = 0;
		q->member[i].release_refused = false;
	}
}

/* Once a majority is there, the rest gets a few of the round trips seen, not a time-out. */
static bool grace_is_over(struct quorum *q, usec now, bool enough, usec least, usec *over_at)
{
	if (!enough)
		return false;
	if (!q->enough_at)
		q->enough_at = now;
	*over_at = q->enough_at + usec_min(usec_max(least, 2 * (q->enough_at - q->round_at)),
					  q->policy.node_timeout / 4);
	return now >= *over_at;
}

/* ---- trying ---- */

static void let_go(struct step *s)
{
	struct quorum *q = s->q;

	/* No new round: the votes stay, for whoever asks why. */
	q->round_at = s->now;
	q->enough_at = 0;
	for (int i = 0; i < q->policy.nodes; i++)
		q->member[i].release_refused = false;
	q->asking = false;
	q->release_until = s->now + usec_min(RELEASE_TIME, q->policy.ttl / 2);
	q->state = QUORUM_RELEASING;
	q->phase = PHASE_LET_GO;
}

static void fail_attempt(struct step *s, enum refusal refusal)
{
	struct quorum *q = s->q;
	usec delay = RETRY_DELAY + (usec)(s->random % RETRY_SPREAD);

	q->refusal = refusal;
	/* Behind its SET on the same connection, the release cannot overtake it. */
	for (int i = 0; i < q->policy.nodes; i++) {
		struct member *m = &q->member[i];

		if (m->owes && m->link == LINK_UP && !m->releasing)
			send_op(s, i, OP_RELEASE);
	}
	if (refusal == REFUSAL_DUPLICATE || s->now >= q->deadline) {
		let_go(s);
		return;
	}
	q->phase = PHASE_PAUSE;
	q->resume_at = usec_min(s->now + delay, q->deadline);
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
		struct answer answer = answer_absent(
			m->link == LINK_UP ? REASON_TIMEOUT : REASON_CONNECT_TIMEOUT, NULL);

		if (!is_ready(m))
			set_absent(m, m->answer.vote == VOTE_ABSENT ? &m->answer : &answer);
	}
}

static void ask(struct step *s)
{
	struct quorum *q = s->q;

	q->attempt = q->round;
	q->valid_until = valid_until(&q->policy, s->now);
	q->phase = PHASE_ASK;
	s->up->new_token = true;
	set_rest_absent(s);
	for (int i = 0; i < q->policy.nodes; i++)
		if (is_ready(&q->member[i]))
			send_op(s, i, OP_ACQUIRE);
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
		else if (s->now < until &&
			 (m->link == LINK_OPENING || (in_flight(m) && !is_late(m))))
			pending++;
	}
	if (pending > 0)
		*wake_at = until;
	if (ready + pending < quorum) {
		set_rest_absent(s);
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
	if (q->phase == PHASE_GATHER && ready >= quorum &&
		(pending == 0 || grace_is_over(q, s->now, true, 200, wake_at)))
		ask(s);
}

static void tally_attempt(struct step *s)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy);
	int yes = count_yes(q), no = count_no(q), open = quorum_count(q, VOTE_NONE);

	if (q->duplicate[0] >= 0) {
		fail_attempt(s, REFUSAL_DUPLICATE);
	} else if (yes >= quorum) {
		if (s->now >= q->valid_until - q->policy.guard) {
			fail_attempt(s, REFUSAL_SLOW);
			return;
		}
		q->state = QUORUM_HELD;
		q->phase = PHASE_KEEP;
		q->proved = q->round;
		q->refusal = REFUSAL_NONE;
		q->resume_at = q->round_at + q->policy.ttl / 3;
	} else if (yes + open < quorum) {
		/* It failed; but "busy" and "no quorum" are told apart by a majority of clean
		 * answers, which may still come in. */
		if (yes + no >= quorum)
			fail_attempt(s, REFUSAL_BUSY);
		else if (yes + no + open < quorum)
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

static void tally_extension(struct step *s)
{
	struct quorum *q = s->q;
	int quorum = policy_quorum(&q->policy);
	int yes = count_yes(q), no = count_no(q), open = 0;
	usec retry = usec_min(usec_max(q->policy.ttl / 30, 10 * USEC_MSEC), USEC_SEC / 2);

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		open += m->vote == VOTE_NONE &&
			(m->link == LINK_OPENING || (in_flight(m) && !is_late(m)));
	}
	if (yes >= quorum) {
		/* The old validity has not ended: look_at_expiry() came first. */
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
			send_op(s, i, q->leave_for && !in_debt(q, m) ? OP_LEAVE : OP_RELEASE);
		/* Whoever is late already has the release in its queue and is not waited for. */
		waited_for += m->link == LINK_OPENING || (in_flight(m) && !is_late(m));
	}
	if (waited_for == 0 || s->now >= q->release_until ||
		grace_is_over(
			q, s->now, settled >= policy_quorum(&q->policy), 2 * USEC_MSEC, wake_at)) {
		for (int i = 0; i < q->policy.nodes; i++)
			may_have_landed(s, &q->member[i]);
		q->phase = PHASE_DONE;
		q->state = QUORUM_OVER;
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
	case EV_LINK_UP:
		link_is_up(s, &q->member[ev->node]);
		break;
	case EV_LINK_DOWN:
		/* What was in flight may have been carried out all the same: the debt stays. */
		link_is_down(s, &q->member[ev->node]);
		set_absent(&q->member[ev->node], ev->answer);
		break;
	case EV_REPLY:
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
			/* Only a lock that is held can be left to others. */
			q->leave_for = q->state == QUORUM_HELD ? ev->leave_for : 0;
			let_go(s);
		}
		break;
	}
}

static usec next_due(const struct quorum *q)
{
	usec at = NEVER;

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
		tally_attempt(s);
		break;
	case PHASE_PAUSE:
		wake_at = q->resume_at;
		if (s->now >= q->resume_at) {
			begin_round(s);
			q->phase = PHASE_GATHER;
		}
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
	struct step s = {.q = q, .up = up, .now = ev->now, .random = ev->random};
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
