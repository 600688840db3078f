/* report: messages about locks, nodes and replies. */
#include "report/report.h"
#include "report/list.h"
#include "report/problem.h"
#include "report/rights.h"

#include "cli/settings.h"
#include "unit/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef01234567"
#define REVOKED TOKEN_REVOKED_START "cdef0123456789abcdef012345"

static char text[REPORT_MAX];

static const struct node_list *nodes(void)
{
	static struct node_list list;
	struct err e;

	if (list.count == 0)
		CHECK(node_list_add(&list, "redis://u:s3cret@a b c d e", &e) == 0);
	return &list;
}

static struct lock fresh(int count)
{
	struct lock lock;

	lock_init(&lock,
		&(struct policy){.nodes = count, .keys = 1, .ttl = USEC_SEC, .node_timeout = 1});
	return lock;
}

static void set_vote(struct lock *lock, int node, enum vote vote)
{
	lock->tally.ballot[node].vote = vote;
	lock->tally.ballot[node].reply = (struct reply){.vote = vote};
}

static void set_holder(struct lock *lock, int node, const char *holder, usec left)
{
	struct reply *a = &lock->tally.ballot[node].reply;

	set_vote(lock, node, VOTE_FOREIGN);
	a->pttl = left;
	a->text_len = strlen(holder);
	snprintf(a->text, sizeof(a->text), "%s", holder);
}

static void set_absent(struct lock *lock, int node, enum reason reason, const char *detail)
{
	lock->tally.ballot[node].vote = VOTE_ABSENT;
	lock->tally.ballot[node].reply = reply_absent(reason, detail);
}

TEST(report_holders)
{
	struct lock lock = fresh(5);

	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0), "'k' is held by another client");
	set_holder(&lock, 0, ID ":alice@web1:42 backup", 27 * USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("nightly"), 0),
		"'nightly' is held by alice@web1:42 backup, expires in 27s unless renewed");
	/* The holder with most nodes is named, with the time for which it keeps a majority. */
	set_holder(&lock, 1, ID ":bob", 3 * USEC_SEC);
	set_holder(&lock, 2, ID ":bob", 9 * USEC_SEC);
	set_holder(&lock, 3, ID ":bob", 4 * USEC_SEC);
	set_absent(&lock, 4, REASON_TIMEOUT, NULL);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 3 of 5 nodes, expires in 3s unless renewed");
	set_holder(&lock, 3, ID ":bob", NEVER);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 3 of 5 nodes, expires in 3s unless renewed");
	for (int i = 0; i < 2; i++) { /* not counted: another holder */
		set_holder(&lock, 0, i ? ID ":eve" : ID ":another", NEVER);
		CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0),
			"'k' is held by bob on 3 of 5 nodes, expires in 3s unless renewed; on 1 of "
			"them it does not "
			"expire");
	}
	for (int i = 1; i < 4; i++)
		set_holder(&lock, i, ID ":bob", NEVER);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 3 of 5 nodes, with no expiry");
	/* Values of the same length can differ. */
	set_holder(&lock, 0, ID ":bob", USEC_SEC);
	set_holder(&lock, 1, ID ":eve", USEC_SEC);
	set_holder(&lock, 2, ID ":eve", USEC_SEC);
	set_holder(&lock, 3, ID ":eve", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by eve on 3 of 5 nodes, expires in 1s unless renewed");
	/* An error as the newest reply names no holder. */
	for (int i = 1; i < 4; i++)
		lock.tally.ballot[i].reply = reply_absent(REASON_OOM, "OOM");
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 1 of 5 nodes, expires in 1s unless renewed");
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, REVOKED ":bob", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob (revoked) on 3 of 5 nodes, expires in 1s unless renewed");
	/* Of readers, the text says which are revoked. */
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, TOKEN_READERS ":1700000000 2 readers, 1 revoked: bob, eve",
			USEC_SEC);
	CHECK(strstr(
		report_holder(text, &lock, &ONE_KEY("k"), 0), "2 readers, 1 revoked: bob, eve"));
	CHECK(!strstr(text, "(revoked)"));
	/* Values of other programs. */
	lock = fresh(1);
	set_holder(&lock, 0, "31a0-uuid", 1500 * USEC_MSEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by another program (value '31a0-uuid') on 1 of 1 node, expires in "
		"1.5s unless renewed");
	set_holder(&lock, 0, ID, 0);
	CHECK(strstr(
		report_holder(text, &lock, &ONE_KEY("k"), 0), "another program (value '" ID "')"));
	set_holder(&lock, 0, "Z" ID ":x", 0);
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 0), "another program"));
	set_holder(&lock, 0, ID ":", 0);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by  on 1 of 1 node, expires in 0ms unless renewed");
	set_holder(&lock, 0, "", 0);
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 0), "another program (value '')"));
}

TEST(report_reservations)
{
	struct lock lock = fresh(3);

	set_vote(&lock, 0, VOTE_FOREIGN);
	lock.tally.ballot[0].reply.is_reserved = true;
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is reserved for the next waiter");
	lock.tally.ballot[0].reply.is_shared = true;
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is shared by readers, with other waiters queued before us");
	/* The value of a key wins over a reservation. */
	set_holder(&lock, 1, ID ":bob", USEC_SEC);
	set_holder(&lock, 2, ID ":bob", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 2 of 3 nodes, expires in 1s unless renewed");
}

/* A minority is reported as a number only if all nodes were asked; otherwise the key may be on more
 * nodes. */
TEST(report_on_how_many_nodes)
{
	struct lock lock = fresh(5);

	set_holder(&lock, 0, ID ":bob", USEC_SEC);
	for (int i = 1; i < 4; i++)
		set_vote(&lock, i, VOTE_GONE);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob, expires in 1s unless renewed");
	set_vote(&lock, 4, VOTE_GONE);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by bob on 1 of 5 nodes, expires in 1s unless renewed");
}

TEST(report_time_left_is_counted_down)
{
	struct lock lock = fresh(1);

	lock.tally.began = 7 * USEC_SEC;
	set_holder(&lock, 0, ID ":bob", 3 * USEC_SEC);
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 7 * USEC_SEC),
		", expires in 3s unless renewed"));
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 9 * USEC_SEC),
		", expires in 1s unless renewed"));
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 99 * USEC_SEC),
		", expires in 0ms unless renewed"));
}

TEST(report_queue_refused)
{
	struct lock lock = fresh(3);

	lock.waiter.node = 1;
	lock.waiter.problem = reply_absent(REASON_NOPERM, "NOPERM no right to it");
	CHECK_TEXT(report_no_queue(text, &lock, nodes(), &ONE_KEY("k")),
		"cannot queue for 'k', polling instead: redis://b:6379 denies "
		"permission (NOPERM no right to it)");
	lock.waiter.problem = reply_absent(REASON_SERVER, "ERR unknown command 'HELLO'");
	CHECK(strstr(report_no_queue(text, &lock, nodes(), &ONE_KEY("k")),
		"(ERR unknown command 'HELLO')"));
	lock.waiter.problem = reply_absent(REASON_SERVER, NULL);
	CHECK(strstr(
		report_no_queue(text, &lock, nodes(), &ONE_KEY("k")), "answered with an error"));
}

TEST(report_that_the_queue_node_has_no_room)
{
	struct lock lock = fresh(3);

	lock.waiter.node = 2;
	lock.waiter.full = 1u << 1;
	set_absent(&lock, 1, REASON_MAXCLIENTS, "ERR max number of clients reached");
	CHECK_TEXT(report_no_room(text, &lock, nodes(), &ONE_KEY("k")),
		"queued for 'k' at redis://c:6379, until the usual node has room: redis://b:6379 "
		"has too many clients");
}

TEST(report_refusals)
{
	struct lock lock = fresh(3);

	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0), "");
	lock.refusal = REFUSAL_BUSY;
	set_holder(&lock, 0, ID ":bob", USEC_SEC);
	set_holder(&lock, 1, ID ":bob", USEC_SEC);
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"'k' is busy: held by bob on 2 of 3 nodes, expires in 1s unless renewed");
	lock.refusal = REFUSAL_NO_QUORUM;
	set_vote(&lock, 0, VOTE_YES);
	set_absent(&lock, 1, REASON_CONNECT, "Connection refused");
	set_absent(&lock, 2, REASON_TIMEOUT, NULL);
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"no quorum for 'k': 1 of 3 nodes can be used, 2 needed: redis://b:6379 cannot be "
		"reached (Connection refused); redis://c:6379 did not answer in time");
	/* The node was asked again and has not replied yet. */
	lock.tally.ballot[2].vote = VOTE_NONE;
	CHECK(strstr(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"1 of 3 nodes can be used"));
	lock.refusal = REFUSAL_SLOW;
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"no quorum for 'k' in time: the nodes granted it so late that too little of the "
		"TTL was left");
	lock.refusal = REFUSAL_DUPLICATE;
	lock.tally.duplicate[0] = 0;
	lock.tally.duplicate[1] = 2;
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"nodes 'redis://a:6379' and 'redis://c:6379' are the same server");
	lock = fresh(1);
	lock.refusal = REFUSAL_NO_QUORUM;
	set_absent(&lock, 0, REASON_LOADING, "LOADING secret detail");
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"no quorum for 'k': 0 of 1 node can be used, 1 needed: redis://a:6379 is still "
		"loading its data");
	lock.tally.duplicate[0] = -1;
	CHECK_TEXT(report_duplicate(text, &lock.tally, nodes()), "");
}

TEST(report_extension_without_a_majority)
{
	struct lock lock = fresh(5);

	lock.tenure.valid_until = 25 * USEC_SEC;
	set_vote(&lock, 0, VOTE_YES);
	set_vote(&lock, 1, VOTE_GONE);
	set_holder(&lock, 2, ID ":bob", USEC_SEC);
	set_absent(&lock, 3, REASON_TIMEOUT, NULL);
	set_vote(&lock, 4, VOTE_NONE);
	CHECK_TEXT(report_unconfirmed(text, &lock, nodes(), &ONE_KEY("k"), 5 * USEC_SEC),
		"cannot extend 'k' so far, valid for 20s: 1 of 5 nodes confirmed it, 2 denied it, "
		"1 did not vote, 1 has not answered yet, 3 needed: redis://d:6379 did not answer "
		"in "
		"time");
}

/* ---- holders with other nodes ---- */

static const char *list_named(const char *names)
{
	static char fingerprint[4][FINGERPRINT_MAX];
	static int next;
	char *fp = fingerprint[next++ % 4];

	fp[0] = '\0';
	for (; *names; names++)
		fingerprint_add(fp, (char[]){*names, '\0'});
	return fp;
}

static const char *name_of(const char *fingerprint)
{
	static char name[4][FINGERPRINT_NAME_MAX];
	static int next;

	return fingerprint_name(name[next++ % 4], fingerprint, strlen(fingerprint));
}

static struct list list_in(const char *ours, const char *value)
{
	struct reply holder = {.vote = VOTE_FOREIGN, .text_len = strlen(value)};

	memcpy(holder.text, value, holder.text_len);
	return list_of_holder(list_named(ours), &holder);
}

static const char *value_with(const char *names, const char *more, const char *owner)
{
	static char value[REPLY_TEXT_MAX];

	snprintf(value, sizeof(value), "%s:1700000000 @%s %s%s%s%s", *more ? TOKEN_READERS : ID,
		list_named(names), *more ? "@" : "", *more ? list_named(more) : "",
		*more ? " " : "", owner);
	return value;
}

TEST(report_lists_of_holders)
{
	struct list list = list_in("123", value_with("345", "", "me"));

	CHECK_INT(list.nodes, 3);
	CHECK(list.is_other && list.is_unsafe && !list.is_mixed);
	CHECK_TEXT(list_of(list_named("345")).name, list.name);
	CHECK_TEXT(list.name, name_of(list_named("543")));
	list = list_in("123", value_with("4321", "", "me"));
	CHECK(list.is_other && !list.is_unsafe);
	CHECK_INT(list.nodes, 4);
	list = list_in("123", value_with("321", "", "me"));
	CHECK_INT(list.nodes, 3);
	CHECK(!list.is_other && !list.is_unsafe && !list.is_mixed);
	/* Several readers: the list that is unsafe, then one that is not ours. */
	for (int i = 0; i < 2; i++) {
		list = list_in("123", i ? value_with("345", "123", "2 readers: a, b")
					: value_with("123", "345", "2 readers: a, b"));
		CHECK(list.is_other && list.is_unsafe && list.is_mixed);
		list = list_in("123", i ? value_with("345", "1234", "2 readers: a, b")
					: value_with("1234", "345", "2 readers: a, b"));
		CHECK_INT(list.nodes, 3);
		CHECK(list.is_unsafe && !list.is_mixed);
		list = list_in("123", i ? value_with("1234", "123", "2 readers: a, b")
					: value_with("123", "1234", "2 readers: a, b"));
		CHECK_INT(list.nodes, 4);
		CHECK(list.is_other && !list.is_unsafe && list.is_mixed);
	}
	/* Older versions, other programs, and what is no list. */
	CHECK_INT(list_in("123", ID ":1700000000 me").nodes, 0);
	CHECK_INT(list_in("123", "7b4f1c0e").nodes, 0);
	list = list_in("123", ID ":1700000000 @12345 me");
	CHECK(list.nodes == 0 && !list.is_other);
	/* A majority of its own, with nodes that we do not name, or do not hear. */
	list = list_in("123", value_with("1234", "", "me"));
	CHECK_INT(list.common, 3);
	CHECK(!list_may_hold(&list, 1, 0) && list_may_hold(&list, 1, 1));
	CHECK(list_may_hold(&list, 2, 0));
	list = list_in("123", value_with("345", "", "me"));
	CHECK(list_may_hold(&list, 1, 0));
	/* How many of its nodes must be reached to end it. */
	list = (struct list){.nodes = 5};
	CHECK(list_outlasts(&list, 2) && !list_outlasts(&list, 3));
	list.nodes = 4;
	CHECK(list_outlasts(&list, 1) && !list_outlasts(&list, 2));
	list.nodes = 1;
	CHECK(!list_outlasts(&list, 1));
}

TEST(report_holders_with_other_nodes)
{
	struct policy p = {.nodes = 3, .keys = 2, .ttl = USEC_SEC, .node_timeout = 1};
	const struct key_list keys = {.count = 2, .key = {"a", "deploy"}};
	struct lock lock;
	char want[REPORT_MAX];
	const char *theirs = name_of(list_named("34567")), *ours;

	snprintf(p.fingerprint, sizeof(p.fingerprint), "%s", list_named("123"));
	ours = name_of(p.fingerprint);
	lock_init(&lock, &p);
	set_holder(&lock, 2, value_with("34567", "", "root@web3:42 make"), 28 * USEC_SEC);
	lock.tally.ballot[2].reply.key = 1;
	snprintf(want, sizeof(want),
		"'deploy' is held by root@web3:42 make since 2023-11-14T22:13:20Z with other nodes "
		"(5 nodes, list %s; here 3 nodes, list %s), expires in 27s unless renewed: hosts "
		"must name the same "
		"nodes",
		theirs, ours);
	CHECK_TEXT(report_contest(text, &lock, &keys, &lock.tally.ballot[2].reply, USEC_SEC), want);
	/* The reply that names it is gone. */
	snprintf(want, sizeof(want),
		"'a' is held by a client with other nodes (here 3 nodes, list %s): hosts must name "
		"the same nodes",
		ours);
	CHECK_TEXT(report_contest(text, &lock, &keys, NULL, 0), want);
	/* The owner text has no fingerprint. */
	CHECK_TEXT(report_owner_text(text, &lock.tally.ballot[2].reply), "root@web3:42 make");
	CHECK_TEXT(report_holder_text(text, &lock.tally), "root@web3:42 make");
	lock.loss = LOSS_CONTESTED;
	lock.contest.nodes = 4;
	snprintf(want, sizeof(want),
		"lost 'a', 'deploy': held by root@web3:42 make since 2023-11-14T22:13:20Z with "
		"other nodes (5 nodes, list %s; here 3 nodes, list %s)",
		theirs, ours);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &keys), want);
	set_absent(&lock, 2, REASON_TIMEOUT, NULL);
	snprintf(want, sizeof(want),
		"lost 'a', 'deploy': held by a client with other nodes (here 3 nodes, list %s)",
		ours);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &keys), want);
}

TEST(report_status_of_a_holder_with_other_nodes)
{
	struct lock lock = fresh(5);
	char want[REPORT_MAX], ours[FINGERPRINT_MAX], mine[200];
	const char *there = name_of(list_named("xyz")), *there_four, *here;

	here = name_of(node_list_fingerprint(ours, nodes()));
	for (int i = 0; i < 5; i++)
		set_vote(&lock, i, VOTE_GONE);
	set_holder(&lock, 0, value_with("xyz", "", "me"), USEC_SEC);
	snprintf(want, sizeof(want),
		"'k' is held by me since 2023-11-14T22:13:20Z on 1 of 5 nodes, expires in 1s "
		"unless renewed; that is no "
		"majority: a holder with other nodes (3 nodes, list %s; here 5 nodes, list %s)",
		there, here);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0), want);
	/* One node of many is in both lists: it is an attempt. */
	snprintf(mine, sizeof(mine), ID ":1700000000 @%.16s me", ours);
	set_holder(&lock, 0, mine, USEC_SEC);
	snprintf(want, sizeof(want), "%.16s", ours);
	there_four = name_of(want);
	snprintf(want, sizeof(want),
		"'k' is held by me since 2023-11-14T22:13:20Z on 1 of 5 nodes, expires in 1s "
		"unless renewed; that is no "
		"majority: an attempt that is under way, late or crashed, with other nodes (4 "
		"nodes, "
		"list %s; here 5 nodes, list %s)",
		there_four, here);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0), want);
	/* Two others are down, and may have the key. */
	set_absent(&lock, 1, REASON_TIMEOUT, NULL);
	set_absent(&lock, 2, REASON_TIMEOUT, NULL);
	snprintf(want, sizeof(want),
		"'k' is held by me since 2023-11-14T22:13:20Z on 1 of 5 nodes, expires in 1s "
		"unless renewed; that is no "
		"majority: a holder with other nodes (4 nodes, list %s; here 5 nodes, list %s)",
		there_four, here);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0), want);
	set_vote(&lock, 1, VOTE_GONE);
	set_vote(&lock, 2, VOTE_GONE);
	/* Of an older version, and with the same nodes. */
	set_holder(&lock, 0, ID ":1700000000 me", USEC_SEC);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0),
		"'k' is held by me since 2023-11-14T22:13:20Z on 1 of 5 nodes, expires in 1s "
		"unless renewed; that is no "
		"majority: an attempt that is under way, late or crashed");
	snprintf(mine, sizeof(mine), ID ":1700000000 @%s me", ours);
	set_holder(&lock, 0, mine, USEC_SEC);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0),
		"'k' is held by me since 2023-11-14T22:13:20Z on 1 of 5 nodes, expires in 1s "
		"unless renewed; that is no "
		"majority: an attempt that is under way, late or crashed");
	for (int i = 1; i < 4; i++)
		set_holder(&lock, i, mine, USEC_SEC);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0),
		"'k' is held by me since 2023-11-14T22:13:20Z on 4 of 5 nodes, expires in 1s "
		"unless renewed");
	/* Beside our holder, and with a majority of our nodes. */
	set_holder(&lock, 4, value_with("xyz", "", "you"), USEC_SEC);
	snprintf(want, sizeof(want),
		"'k' is held by me since 2023-11-14T22:13:20Z on 4 of 5 nodes, expires in 1s "
		"unless renewed; on "
		"redis://e:6379 held by you since 2023-11-14T22:13:20Z with other nodes (3 nodes, "
		"list %s; here 5 nodes, list %s)",
		there, here);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0), want);
	for (int i = 0; i < 4; i++)
		set_holder(&lock, i, value_with("xyz", "", "you"), USEC_SEC);
	snprintf(want, sizeof(want),
		"'k' is held by you since 2023-11-14T22:13:20Z on 5 of 5 nodes, expires in 1s "
		"unless renewed; a holder "
		"with other nodes (3 nodes, list %s; here 5 nodes, list %s)",
		there, here);
	CHECK_TEXT(report_status(text, &lock.tally, nodes(), "k", 0, 0), want);
}

TEST(report_losses)
{
	struct lock lock = fresh(5);

	lock.loss = LOSS_EXPIRED;
	set_vote(&lock, 0, VOTE_YES);
	set_vote(&lock, 1, VOTE_YES);
	set_absent(&lock, 2, REASON_CLOSED, "reset");
	set_vote(&lock, 3, VOTE_GONE);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': no majority of 5 nodes confirmed it in time, 1 denied it: "
		"redis://c:6379 closed the connection (reset)");
	/* In the middle of a round, the replies of the round before are reported. */
	lock.tally.ballot[2].vote = VOTE_NONE;
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': no majority of 5 nodes confirmed it in time, 1 denied it: "
		"redis://c:6379 closed the connection (reset)");
	set_vote(&lock, 2, VOTE_NONE);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': no majority of 5 nodes confirmed it in time, 1 denied it");
	lock.loss = LOSS_STOOD_STILL;
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': redlock stood still and could not extend it in time");
	lock.loss = LOSS_DENIED;
	set_vote(&lock, 0, VOTE_GONE);
	set_vote(&lock, 1, VOTE_GONE);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': the key is gone from 3 of 5 nodes");
	set_holder(&lock, 0, ID ":bob", USEC_SEC);
	set_holder(&lock, 1, ID ":bob", USEC_SEC);
	set_holder(&lock, 2, ID ":bob", USEC_SEC);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': now held by bob on 3 of 5 nodes, expires in 1s unless renewed; gone "
		"from 1");
	set_vote(&lock, 3, VOTE_YES);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': now held by bob on 3 of 5 nodes, expires in 1s unless renewed");
	/* Revoked; but a reservation has the id of no holder. */
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, REVOKED ":bob", USEC_SEC);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': revoked by 'redlock break' or 'run --takeover'");
	lock.loss = LOSS_EXPIRED;
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': no majority of 5 nodes confirmed it in time, 3 denied it");
	lock.loss = LOSS_DENIED;
	for (int i = 0; i < 3; i++)
		lock.tally.ballot[i].reply.is_reserved = true;
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': now reserved for the next waiter");
	lock = fresh(1);
	lock.loss = LOSS_EXPIRED;
	set_absent(&lock, 0, REASON_TIMEOUT, NULL);
	CHECK_TEXT(report_loss(text, &lock, nodes(), &ONE_KEY("k")),
		"lost 'k': no majority of 1 node confirmed it in time: redis://a:6379 did not "
		"answer in time");
}

TEST(report_unsure_end)
{
	struct lock lock = fresh(5);

	CHECK_TEXT(report_unsure(text, &lock, &ONE_KEY("k")), "");
	set_vote(&lock, 0, VOTE_YES);
	set_vote(&lock, 1, VOTE_YES);
	set_vote(&lock, 2, VOTE_GONE);
	set_holder(&lock, 3, ID ":bob", USEC_SEC);
	CHECK_TEXT(report_unsure(text, &lock, &ONE_KEY("k")),
		"cannot tell whether 'k' was held to the end: 2 of 5 nodes still had it, 2 did "
		"not");
	CHECK_TEXT(report_unsure(text, &lock, &(struct key_list){2, {"a", "b"}}),
		"cannot tell whether 'a', 'b' were held to the end: 2 of 5 nodes still had them, "
		"2 did not");
	set_vote(&lock, 4, VOTE_YES);
	CHECK_TEXT(report_unsure(text, &lock, &ONE_KEY("k")), "");
	set_vote(&lock, 4, VOTE_GONE);
	CHECK_TEXT(report_unsure(text, &lock, &ONE_KEY("k")), "");
}

TEST(report_pending_releases)
{
	struct lock lock = fresh(5);

	lock.peer[0].pending = lock.peer[2].pending = 7;
	lock.peer[0].pending_until = 40 * USEC_SEC;
	lock.peer[2].pending_until = 30 * USEC_SEC;
	lock.peer[3].pending_until = 99 * USEC_SEC;
	CHECK_TEXT(report_unreleased(text, &lock, nodes(), &ONE_KEY("k"), 20 * USEC_SEC),
		"'k' could not be released on 2 of 5 nodes and expires there within 20s: "
		"redis://a:6379, redis://c:6379");
	set_absent(&lock, 0, REASON_NOPERM, NULL);
	set_absent(&lock, 1, REASON_CLOSED, NULL);
	CHECK_TEXT(report_unreleased(text, &lock, nodes(), &ONE_KEY("k"), 20 * USEC_SEC),
		"'k' could not be released on 2 of 5 nodes and expires there within 20s: "
		"redis://a:6379 denies permission, redis://c:6379");
}

TEST(report_every_reply_has_a_text)
{
	static const struct {
		enum op op;
		const char *words;
	} ops[] = {{OP_ACQUIRE, "acquire"}, {OP_EXTEND, "extend"}, {OP_REPAIR, "repair"},
		{OP_UNDO, "undo"}, {OP_HAND_OFF, "release"}, {OP_EXPIRE, "let expire"},
		{OP_JOIN, "join"}, {OP_SUBSCRIBE, "subscribe"}};
	const struct node *node = &nodes()->node[0];
	struct reply a = {.vote = VOTE_YES};
	char want[200];

	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		snprintf(want, sizeof(want), "redis://a:6379 %s: yes (1.042ms)", ops[i].words);
		CHECK_TEXT(report_reply(text, node, ops[i].op, &a, 1042), want);
	}
	a.vote = VOTE_GONE;
	CHECK_TEXT(report_reply(text, node, OP_EXTEND, &a, 7),
		"redis://a:6379 extend: no, the key is gone (0.007ms)");
	a = (struct reply){.vote = VOTE_NONE};
	CHECK_TEXT(report_reply(text, node, OP_EXTEND, &a, 7),
		"redis://a:6379 extend: was not asked (0.007ms)");
	/* A foreign value may look like a token. */
	a = (struct reply){.vote = VOTE_FOREIGN,
		.text_len = 44,
		.text = "0123456789abcdef0123456789abcdef0123456g:bob"};
	CHECK_TEXT(report_reply(text, node, OP_ACQUIRE, &a, 0),
		"redis://a:6379 acquire: no, held by another program (value "
		"'0123456789abcdef0123456789abcdef0123456g:bob') (0.000ms)");
	a = (struct reply){.vote = VOTE_FOREIGN, .text_len = 44, .text = ID ":bob"};
	CHECK_TEXT(report_reply(text, node, OP_ACQUIRE, &a, 0),
		"redis://a:6379 acquire: no, held by bob (0.000ms)");
	for (int reason = REASON_NONE; reason < REASON_COUNT; reason++) {
		bool detailed = reason == REASON_UNRESOLVED || reason == REASON_CONNECT ||
				reason == REASON_CLOSED || reason == REASON_SERVER ||
				reason == REASON_GARBAGE || reason == REASON_COUNTER ||
				reason == REASON_TLS || reason == REASON_UNTRUSTED ||
				reason == REASON_CLIENT_CERTIFICATE ||
				reason == REASON_WRONG_PASSWORD || reason == REASON_PROTECTED ||
				reason == REASON_NO_PASSWORD || reason == REASON_NOPERM ||
				reason == REASON_NO_DIGESTS;

		if (reason == REASON_QUARANTINE || reason == REASON_SKEWED)
			continue; /* these two show a time */
		a = reply_absent((enum reason)reason, "why");
		snprintf(want, sizeof(want), "redis://a:6379 undo: %s%s (2000.000ms)",
			reason_words((enum reason)reason), detailed ? " (why)" : "");
		CHECK_TEXT(report_reply(text, node, OP_UNDO, &a, 2 * USEC_SEC), want);
	}
}

TEST(report_events)
{
	const struct node *node = &nodes()->node[0];
	struct reply a = {.vote = VOTE_YES};
	struct event ev = {.kind = EV_REPLY, .op = OP_EXTEND, .reply = &a};

	CHECK_TEXT(report_event(text, node, &ev, 7), "redis://a:6379 extend: yes (0.007ms)");
	a = reply_absent(REASON_GARBAGE, "HTTP/1.1\33[m");
	ev.kind = EV_LINK_DOWN;
	CHECK_TEXT(report_event(text, node, &ev, 7),
		"redis://a:6379 does not speak the Redis protocol (HTTP/1.1\\x1b[m)");
	ev.kind = EV_LINK_UP;
	CHECK(!report_event(text, node, &ev, 7));
	ev.kind = EV_TIME;
	CHECK(!report_event(text, node, &ev, 7));
	ev.kind = EV_WAKE;
	ev.wake = WAKE_RESERVED;
	CHECK_TEXT(report_event(text, node, &ev, 7),
		"redis://a:6379 woke this waiter: the key is reserved for it");
	ev.wake = WAKE_CHANGED;
	CHECK_TEXT(report_event(text, node, &ev, 7),
		"redis://a:6379 woke this waiter: the key has changed");
}

/* ---- bytes of other programs ---- */

/* One line of whole UTF-8 characters without control characters. */
static bool is_clean(const char *line)
{
	const unsigned char *s = (const unsigned char *)line;

	while (*s) {
		int more = *s < 0x80   ? 0
			   : *s < 0xc2 ? -1
			   : *s < 0xe0 ? 1
			   : *s < 0xf0 ? 2
			   : *s < 0xf5 ? 3
				       : -1;

		if (*s < 0x20 || *s == 0x7f || more < 0)
			return false;
		for (s++; more > 0; more--, s++)
			if ((*s & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static void check_clean(const char *name, int line)
{
	unit_check(is_clean(text), __FILE__, line, "%s is not clean text", name);
}

static void check_all_lines(struct lock *lock, const char *key, int line)
{
	struct reply *a = &lock->tally.ballot[0].reply;

	report_holder(text, lock, &ONE_KEY(key), 0);
	check_clean("holder", line);
	lock->refusal = REFUSAL_BUSY;
	report_refusal(text, lock, nodes(), &ONE_KEY(key), 0);
	check_clean("busy", line);
	lock->loss = LOSS_DENIED;
	report_loss(text, lock, nodes(), &ONE_KEY(key));
	check_clean("denied", line);
	report_unreleased(text, lock, nodes(), &ONE_KEY(key), 0);
	check_clean("unreleased", line);
	report_reply(text, &nodes()->node[0], OP_EXTEND, a, 1);
	check_clean("no", line);
	lock->refusal = REFUSAL_NO_QUORUM;
	lock->loss = LOSS_EXPIRED;
	lock->tally.ballot[0].vote = a->vote = VOTE_ABSENT;
	a->reason = REASON_SERVER;
	report_refusal(text, lock, nodes(), &ONE_KEY(key), 0);
	check_clean("no quorum", line);
	report_loss(text, lock, nodes(), &ONE_KEY(key));
	check_clean("expired", line);
	report_reply(text, &nodes()->node[0], OP_EXTEND, a, 1);
	check_clean("absent", line);
}

TEST(report_escapes_a_hostile_holder)
{
	static const char *const hostile[] = {
		"\x1b]0;owned\x07",
		"x\nredlock: acquired 'k'\r",
		("\x9b"
		 "31m\xff\xfe"),
		"\xe2\x80\xaegnp.exe",
		"\\",
	};

	for (size_t i = 0; i < COUNT_OF(hostile); i++) {
		char ours[200];
		struct lock lock = fresh(3);

		set_holder(&lock, 0, hostile[i], USEC_SEC);
		check_all_lines(&lock, hostile[i], __LINE__);
		snprintf(ours, sizeof(ours), ID ":%s", hostile[i]);
		lock = fresh(3);
		set_holder(&lock, 0, ours, USEC_SEC);
		check_all_lines(&lock, hostile[i], __LINE__);
	}
	struct lock lock = fresh(1);

	set_holder(&lock, 0, ID ":a\nb\x1b[2J", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k\n"), 0),
		"'k\\x0a' is held by a\\x0ab\\x1b[2J on 1 of 1 node, expires in 1s unless renewed");
	/* A NUL byte does not end the value. */
	memcpy(lock.tally.ballot[0].reply.text, ID ":a\0b", sizeof(ID) + 4);
	lock.tally.ballot[0].reply.text_len = sizeof(ID) + 3;
	CHECK(strstr(report_holder(text, &lock, &ONE_KEY("k"), 0), "held by a\\x00b on"));
}

/* No character is cut in two, wherever the line ends. */
TEST(report_cuts_between_characters)
{
	for (int shift = 0; shift < 4; shift++) {
		char long_text[REPLY_TEXT_MAX] = "";
		struct lock lock = fresh(3);
		size_t used = (size_t)shift;

		memset(long_text, 'x', used);
		while (used + 3 < sizeof(long_text)) {
			memcpy(long_text + used, "\xe2\x82\xac", 4);
			used += 3;
		}
		set_holder(&lock, 0, long_text, USEC_SEC);
		check_all_lines(&lock, long_text, __LINE__);
	}
}

TEST(report_fits_its_line)
{
	struct node_list list = {.count = NODES_MAX};
	struct lock lock = fresh(NODES_MAX);
	char key[REQUEST_KEY_MAX + 1];

	memset(key, '\x1b', REQUEST_KEY_MAX);
	key[REQUEST_KEY_MAX] = '\0';
	for (int i = 0; i < NODES_MAX; i++) {
		char detail[REPLY_TEXT_MAX];

		memset(list.node[i].label, 'l', sizeof(list.node[i].label) - 1);
		memset(detail, '\x1b', sizeof(detail) - 1);
		detail[sizeof(detail) - 1] = '\0';
		set_absent(&lock, i, REASON_SERVER, detail);
		lock.peer[i].pending = 1;
	}
	lock.refusal = REFUSAL_NO_QUORUM;
	lock.loss = LOSS_EXPIRED;
	CHECK_INT(strlen(report_refusal(text, &lock, &list, &ONE_KEY(key), 0)), REPORT_MAX - 1);
	CHECK_INT(strlen(report_loss(text, &lock, &list, &ONE_KEY(key))), REPORT_MAX - 1);
	CHECK_INT(strlen(report_unreleased(text, &lock, &list, &ONE_KEY(key), 0)), REPORT_MAX - 1);
	CHECK(strlen(report_reply(text, &list.node[0], OP_REPAIR, &lock.tally.ballot[0].reply, 1)) <
		REPORT_MAX);
}

/* ---- the state of a key ---- */

static const char *status(const struct lock *lock)
{
	return report_status(text, &lock->tally, nodes(), "k", lock_slot(lock), 1700000000);
}

TEST(report_age)
{
	struct lock lock = fresh(1);

	set_holder(&lock, 0, ID ":1699999280 alice", USEC_SEC);
	CHECK_TEXT(status(&lock), "'k' is held by alice since 2023-11-14T22:01:20Z (12m) on 1 of 1 "
				  "node, expires in 1s unless renewed");
	/* A holder with a clock that is ahead has no age. */
	set_holder(&lock, 0, ID ":1700000001 alice", USEC_SEC);
	CHECK_TEXT(status(&lock), "'k' is held by alice since 2023-11-14T22:13:21Z on 1 of 1 node, "
				  "expires in 1s unless renewed");
}

TEST(report_record_of_the_last_run)
{
	struct done done = {.left = 3600 * USEC_SEC, .status = -1};

	CHECK_TEXT(report_done(text, "k", &done, 1700000000),
		"'k' is done until 2023-11-14T23:13:20Z (1h left)");
	snprintf(done.owner, sizeof(done.owner), "alice");
	CHECK_TEXT(report_done(text, "k", &done, 1700000000),
		"'k' is done until 2023-11-14T23:13:20Z (1h left), run by alice");
	done.status = 0;
	done.ended = 1699990000;
	CHECK_TEXT(report_done(text, "k", &done, 1700000000),
		"'k' is done until 2023-11-14T23:13:20Z (1h left), run by alice, which ended with "
		"status 0 at 2023-11-14T19:26:40Z");
	done.status = 3;
	CHECK_TEXT(report_done(text, "k", &done, 1700000000),
		"'k' failed, and counts as done until 2023-11-14T23:13:20Z (1h left), run by "
		"alice, which ended with status 3 at 2023-11-14T19:26:40Z");
}

TEST(report_since)
{
	struct lock lock = fresh(1);

	set_holder(&lock, 0, ID ":1700000000 alice", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by alice since 2023-11-14T22:13:20Z on 1 of 1 node, expires in 1s "
		"unless renewed");
	set_holder(&lock, 0, ID ":170000000 alice", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, &ONE_KEY("k"), 0),
		"'k' is held by 170000000 alice on 1 of 1 node, expires in 1s unless renewed");
}

TEST(report_fencing_number)
{
	struct reply larger = {.vote = VOTE_FOREIGN, .is_reserved = true};
	struct lock lock = fresh(1);

	set_holder(&lock, 0, ID ":alice", USEC_SEC);
	lock.tally.ballot[0].reply.fence = 42;
	CHECK_TEXT(status(&lock), "'k' is held by alice on 1 of 1 node, expires in 1s unless "
				  "renewed; fencing number 42");
	CHECK_TEXT(report_reply(text, &nodes()->node[0], OP_FENCE, &larger, 0),
		"redis://a:6379 fence: no, the node has given a larger number (0.000ms)");
	CHECK_TEXT(report_reply(text, &nodes()->node[0], OP_ACQUIRE, &larger, 0),
		"redis://a:6379 acquire: no, reserved for another waiter (0.000ms)");
}

TEST(report_foreign_library)
{
	struct lock lock = fresh(1);

	set_holder(&lock, 0, "0123456789abcdef0123456789abcdef", USEC_SEC);
	CHECK_TEXT(status(&lock),
		"'k' is held by another program (value '0123456789abcdef0123456789abcdef') on 1 of "
		"1 node, expires in 1s unless renewed; such a value is written by node-redlock, "
		"redis-py and others");
	set_holder(&lock, 0, "5f0c1f9e-37ee-4c0e-8bdc-1f3fd2f3a8a0", USEC_SEC);
	CHECK(strstr(status(&lock), "RedLock.net"));
}

TEST(report_states)
{
	struct lock lock = fresh(3);

	CHECK_TEXT(report_state(&lock.tally), "unknown");
	for (int i = 0; i < 3; i++)
		set_vote(&lock, i, VOTE_GONE);
	CHECK_TEXT(report_state(&lock.tally), "free");
	CHECK_TEXT(status(&lock), "'k' is free");
	set_absent(&lock, 0, REASON_TIMEOUT, NULL);
	CHECK_TEXT(report_state(&lock.tally), "free");
	CHECK_TEXT(status(&lock), "'k' is free");
	set_holder(&lock, 1, ID ":1700000000 me", USEC_SEC);
	CHECK_TEXT(report_state(&lock.tally), "minority");
	CHECK_TEXT(status(&lock), "'k' is held by me since 2023-11-14T22:13:20Z on 1 of 3 nodes, "
				  "expires in 1s unless renewed; that is no "
				  "majority: an attempt that is under way, late or crashed");
	set_absent(&lock, 2, REASON_LOADING, NULL);
	CHECK_TEXT(report_state(&lock.tally), "unknown");
	CHECK_TEXT(status(&lock), "'k' has an unknown state: 1 of 3 nodes answered, 2 needed: "
				  "redis://a:6379 did not answer "
				  "in time; redis://c:6379 is still loading its data");
	set_holder(&lock, 2, ID ":1700000000 me", USEC_SEC);
	CHECK_TEXT(report_state(&lock.tally), "held");
	CHECK(!report_has_waiters(&lock.tally));
	lock.tally.ballot[1].reply.waiters = 1;
	CHECK(report_has_waiters(&lock.tally));
	CHECK_TEXT(status(&lock),
		"'k' is held by me since 2023-11-14T22:13:20Z on 2 of 3 nodes, expires in "
		"1s unless renewed; others may be waiting");
	/* Waiters of different nodes add up. */
	lock.tally.ballot[1].reply.rank = 1;
	CHECK_INT(report_waiters(&lock.tally), 1);
	CHECK_TEXT(status(&lock), "'k' is held by me since 2023-11-14T22:13:20Z on 2 of 3 nodes, "
				  "expires in 1s unless renewed; 1 waiter");
	lock.tally.ballot[2].reply.rank = INT_MAX;
	CHECK_TEXT(status(&lock), "'k' is held by me since 2023-11-14T22:13:20Z on 2 of 3 nodes, "
				  "expires in 1s unless renewed; "
				  "2147483648 waiters");
	lock.tally.ballot[1].reply.rank = lock.tally.ballot[2].reply.rank = 0;
	for (int i = 0; i < 3; i++) {
		set_vote(&lock, i, VOTE_FOREIGN);
		lock.tally.ballot[i].reply.is_reserved = true;
	}
	CHECK_TEXT(report_state(&lock.tally), "reserved");
	CHECK_TEXT(status(&lock), "'k' is reserved for the next waiter");
	/* Three nodes with the same value are a majority of all nodes. */
	lock = fresh(5);
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, "x", USEC_SEC);
	set_absent(&lock, 3, REASON_CLOSED, NULL);
	set_absent(&lock, 4, REASON_CLOSED, NULL);
	CHECK_TEXT(report_state(&lock.tally), "held");
	CHECK_TEXT(status(&lock), "'k' is held by another program (value 'x') on 3 of 5 nodes, "
				  "expires in 1s unless renewed");
	lock = fresh(1);
	set_absent(&lock, 0, REASON_CLOSED, NULL);
	CHECK_TEXT(status(&lock),
		"'k' has an unknown state: 0 of 1 node answered, 1 needed: redis://a:6379 "
		"closed the connection");
	CHECK_TEXT(report_too_few_replies(text, &lock.tally, nodes()),
		"0 of 1 node answered, 1 needed: redis://a:6379 closed the connection");
}

TEST(report_oddities)
{
	struct lock lock = fresh(1);

	set_holder(&lock, 0, "1699999999", NEVER);
	CHECK_TEXT(status(&lock),
		"'k' is held by another program (value '1699999999') on 1 of 1 node, with no "
		"expiry; a lock of the old style (SETNX and a time stamp): it expired at "
		"2023-11-14T22:13:19Z");
	set_holder(&lock, 0, "1700000000", NEVER);
	CHECK(strstr(status(&lock), ": it expires at 2023-11-14T22:13:20Z"));
	set_holder(&lock, 0, "(hash)", NEVER);
	CHECK_TEXT(status(&lock),
		"'k' is held by another program (value '(hash)') on 1 of 1 node, with no expiry; "
		"no lock of ours: another data type, as Redisson (hash) and Symfony (zset) keep");
	set_holder(&lock, 0, ID ":me", NEVER);
	CHECK_TEXT(status(&lock), "'k' is held by me on 1 of 1 node, with no expiry; it stays "
				  "until a client deletes the key");
	CHECK(strstr(report_reply(text, &nodes()->node[0], OP_LOOK, &lock.tally.ballot[0].reply, 1),
		"redis://a:6379 look: no, held by "));
}

TEST(report_ownership_of_a_token)
{
	struct lock lock = fresh(3);

	for (int i = 0; i < 3; i++)
		set_vote(&lock, i, VOTE_YES);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k' is held by this token on 3 of 3 nodes");
	set_vote(&lock, 1, VOTE_GONE);
	set_vote(&lock, 2, VOTE_GONE);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k' is no longer held by this token: it has expired or was released (only 1 of 3 "
		"nodes still had it)");
	set_vote(&lock, 0, VOTE_GONE);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k' is no longer held by this token: it has expired or was released");
	set_holder(&lock, 0, ID ":bob", USEC_SEC);
	set_holder(&lock, 1, ID ":bob", USEC_SEC);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k' is no longer this token's: now held by bob on 2 of 3 nodes, expires in 1s "
		"unless renewed");
	set_vote(&lock, 0, VOTE_YES);
	set_vote(&lock, 1, VOTE_GONE);
	set_absent(&lock, 2, REASON_CLOSED, NULL);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k': cannot tell whether this token holds it: 1 of 3 nodes confirmed it, 1 "
		"denied it, 1 did not vote, 2 needed: redis://c:6379 closed the connection");
	lock = fresh(1);
	set_absent(&lock, 0, REASON_CLOSED, NULL);
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &ONE_KEY("k"), 0),
		"'k': cannot tell whether this token holds it: 0 of 1 node confirmed it, 1 did "
		"not vote, 1 needed: redis://a:6379 closed the connection");
}

TEST(report_several_keys)
{
	struct key_list keys = {.count = 2, .key = {"a", "b"}};
	struct lock lock = fresh(3);

	CHECK_TEXT(report_keys(text, &keys), "'a', 'b'");
	CHECK_TEXT(report_verb(&keys), "are");
	CHECK_TEXT(report_verb(&ONE_KEY("a")), "is");
	CHECK_TEXT(report_stood_still(text, &lock, &keys),
		"lost 'a', 'b': redlock stood still and could not extend it in time");
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, ID ":1700000000 me", USEC_SEC);
	for (int i = 0; i < 3; i++)
		lock.tally.ballot[i].reply.key = 1;
	CHECK_TEXT(report_holder(text, &lock, &keys, 0),
		"'b' is held by me since 2023-11-14T22:13:20Z on 3 of 3 nodes, expires in 1s "
		"unless renewed");
	CHECK(strstr(report_ownership(text, &lock.tally, nodes(), &keys, 0),
		"'a', 'b' are no longer this token's: now held by me"));
	for (int i = 0; i < 3; i++)
		lock.tally.ballot[i].vote = lock.tally.ballot[i].reply.vote = VOTE_GONE;
	CHECK_TEXT(report_ownership(text, &lock.tally, nodes(), &keys, 0),
		"'a', 'b' are no longer held by this token: they have expired or were released");
	lock = fresh(1);
	set_absent(&lock, 0, REASON_CLOSED, NULL);
	CHECK(strstr(report_ownership(text, &lock.tally, nodes(), &keys, 0),
		"'a', 'b': cannot tell whether this token holds them: 0 of 1 node confirmed them"));
}

/* The settings of a command that locks 'job' on these nodes. */
static const struct settings *asked(void)
{
	static struct settings s;

	s = (struct settings){.command = COMMAND_RUN, .nodes = *nodes(), .keys = ONE_KEY("job")};
	return &s;
}

/* The hint about a node; "": none. */
static const char *remedy(const struct lock *lock, int node, const char **remark)
{
	const char *ignored;
	const char *hint = report_remedy(
		text, asked(), &lock->tally, NULL, NULL, node, remark ? remark : &ignored);

	return hint ? hint : "";
}

TEST(report_a_shared_problem_once)
{
	struct lock lock = fresh(3);

	lock.refusal = REFUSAL_NO_QUORUM;
	set_absent(&lock, 0, REASON_NOPERM, "NOPERM no");
	set_absent(&lock, 1, REASON_TIMEOUT, NULL);
	set_absent(&lock, 2, REASON_NOPERM, "NOPERM no");
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"no quorum for 'k': 0 of 3 nodes can be used, 2 needed: each of redis://a:6379, "
		"redis://c:6379 denies permission (NOPERM no); redis://b:6379 did not answer in "
		"time");
	set_absent(&lock, 1, REASON_NOPERM, "NOPERM");
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"no quorum for 'k': 0 of 3 nodes can be used, 2 needed: each of redis://a:6379, "
		"redis://c:6379 denies permission (NOPERM no); redis://b:6379 denies permission "
		"(NOPERM)");
}

static const char *waiting(const struct lock *lock, const char *key, int width)
{
	return report_waiting(text, lock, &ONE_KEY(key), 12 * USEC_SEC, width);
}

TEST(report_waiting_fits_the_terminal)
{
	struct lock lock = fresh(3);
	char key[300];

	lock.refusal = REFUSAL_BUSY;
	lock.policy.wait = 600 * USEC_SEC;
	set_holder(&lock, 0, ID ":1700000000 alice@web1.example.com:4211 backup.sh --full /srv",
		USEC_SEC);
	set_holder(&lock, 1, ID ":1700000000 alice@web1.example.com:4211 backup.sh --full /srv",
		USEC_SEC);
	CHECK_TEXT(waiting(&lock, "k", 120),
		"waiting 12s of 10m for 'k', held by alice@web1.example.com:4211 backup.sh --full "
		"/srv");
	lock.waiter.state = WAITER_QUEUED;
	CHECK_TEXT(waiting(&lock, "k", 120),
		"waiting 12s of 10m for 'k', held by alice@web1.example.com:4211 backup.sh --full "
		"/srv; next in queue");
	lock.waiter.rank = 4;
	CHECK_TEXT(waiting(&lock, "k", 70),
		"waiting 12s of 10m for 'k', held by alice@web...ull /srv; 5th in queue");
	lock.policy.wait = NEVER;
	lock.waiter.rank = 1;
	CHECK_TEXT(waiting(&lock, "short", 57),
		"waiting 12s for 'short', held by alic...srv; 2nd in queue");
	CHECK_TEXT(waiting(&lock, "short", 47), "waiting 12s for 'short', held by ali...srv; 2nd");
	CHECK_TEXT(waiting(&lock, "short", 40), "waiting 12s for 'short'; 2nd in queue");
	CHECK_TEXT(waiting(&lock, "short", 30), "waiting 12s for 'short'; 2nd");
	CHECK_TEXT(waiting(&lock, "nightly-backup", 30), "waiting 12s for 'ni...up'; 2nd");
	CHECK_TEXT(waiting(&lock, "k", 20), "waiting 12s for 'k'; 2nd");
	lock.policy.wait = 10 * USEC_SEC;
	CHECK_TEXT(waiting(&lock, "long-key-name-long-key-name-long-key-name", 70),
		"waiting 12s of 10s for 'long...ame', held by alic.../srv; 2nd in queue");
	CHECK_INT((int)strlen(text), 70);
	CHECK_TEXT(waiting(&lock, "short", 30), "waiting 12s for 'short'; 2nd");
	lock.policy.wait = NEVER;
	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	for (int width = 66; width < 200; width++) {
		CHECK((int)strlen(waiting(&lock, key, width)) <= width);
		CHECK(strstr(text, "kk...kk"));
		CHECK(strstr(text, ", held by "));
		CHECK(strstr(text, "; 2nd in queue"));
	}
	set_holder(&lock, 0,
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc",
		USEC_SEC);
	lock.tally.ballot[1] = lock.tally.ballot[0];
	lock.waiter.state = WAITER_POLLS;
	CHECK_TEXT(waiting(&lock, "k", 39),
		"waiting 12s for 'k', held by "
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4...\xc3\xa4\xc3\xb6\xc3\xbc");
}

TEST(report_quarantine)
{
	struct lock lock = fresh(3);

	lock.tally.began = USEC_SEC;
	lock.refusal = REFUSAL_NO_QUORUM;
	for (int i = 0; i < 3; i++) {
		set_absent(&lock, i, REASON_QUARANTINE, NULL);
		lock.tally.ballot[i].reply.pttl = 30 * USEC_SEC;
	}
	set_absent(&lock, 2, REASON_SKEWED, "ahead of");
	lock.tally.ballot[2].reply.pttl = 40 * USEC_SEC;
	CHECK(strstr(remedy(&lock, 0, NULL), "doctor --admit"));
	/* The time is counted down. */
	CHECK_TEXT(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 6 * USEC_SEC),
		"no quorum for 'k': 0 of 3 nodes can be used, 2 needed: each of "
		"redis://a:6379, redis://b:6379 is in quarantine for another 25s; redis://c:6379 "
		"has another time "
		"of day, 40s ahead of ours");
	CHECK(strstr(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 60 * USEC_SEC),
		"for another 0ms"));
	set_vote(&lock, 0, VOTE_YES);
	set_vote(&lock, 1, VOTE_YES);
	CHECK_TEXT(remedy(&lock, 0, NULL), "");
}

TEST(report_remedies)
{
	struct lock lock = fresh(3);
	const char *remark;

	CHECK_TEXT(remedy(&lock, 0, NULL), "");
	set_absent(&lock, 0, REASON_CLOSED, NULL);
	CHECK_TEXT(remedy(&lock, 0, &remark), "redis://a:6379: read the server's log");
	CHECK(remark == NULL);
	set_absent(&lock, 2, REASON_NOPERM, "NOPERM ... to run the 'pubsub|numsub' command");
	CHECK_TEXT(remedy(&lock, 2, &remark),
		"in redis-cli on redis://c:6379: ACL SETUSER default +pubsub|numsub");
	CHECK(remark && strstr(remark, "ACL SAVE"));
	set_absent(&lock, 0, REASON_COUNTER, "redlock:fence:{job}");
	CHECK_TEXT(remedy(&lock, 0, &remark),
		"in redis-cli on redis://a:6379: DEL redlock:fence:{job}");
	CHECK(remark && strstr(remark, "--store"));
	/* Equal fixes are printed once, with the names of their nodes. */
	set_absent(&lock, 0, REASON_READONLY, NULL);
	set_absent(&lock, 1, REASON_READONLY, NULL);
	CHECK_TEXT(remedy(&lock, 0, NULL),
		"redis://a:6379, redis://b:6379: "
		"name its master, which 'INFO replication' shows there, unless that is a node "
		"already; REPLICAOF NO ONE would make a second master of the same data");
	CHECK_TEXT(remedy(&lock, 1, NULL), "");
	set_absent(&lock, 2, REASON_READONLY, NULL);
	CHECK_TEXT(remedy(&lock, 0, NULL),
		"name its master, which 'INFO replication' shows there, unless that is a node "
		"already; REPLICAOF NO ONE would make a second master of the same data");
	set_absent(&lock, 1, REASON_SPEAKS_TLS, NULL);
	CHECK_TEXT(remedy(&lock, 1, NULL), "redis://b:6379: name it rediss://b:6379");
	set_absent(&lock, 1, REASON_UNTRUSTED,
		"its certificate comes from an unknown authority, /CN=ca");
	CHECK(strstr(remedy(&lock, 1, NULL), "--cacert FILE"));
	lock = fresh(3);
	set_vote(&lock, 1, VOTE_YES);
	lock.tally.ballot[1].reply.reason = REASON_NOPERM;
	CHECK_TEXT(remedy(&lock, 1, NULL), "");
	lock.tally.ballot[1].reply.vote = VOTE_ABSENT;
	CHECK(strstr(remedy(&lock, 1, NULL), "ACL SETUSER default"));
}

TEST(report_remedy_names_user_and_source)
{
	struct lock lock = fresh(3);

	for (int i = 0; i < 2; i++)
		set_absent(&lock, i, REASON_WRONG_PASSWORD, "WRONGPASS");
	CHECK(strstr(remedy(&lock, 0, NULL), "user 'u', which comes from the node's URL;"));
	CHECK(strstr(remedy(&lock, 1, NULL), "user 'default', which comes from nowhere"));
	set_absent(&lock, 1, REASON_NOPERM, "NOPERM ... to access a key");
	CHECK_TEXT(remedy(&lock, 1, NULL),
		"in redis-cli on redis://b:6379: ACL SETUSER default ~job ~{redlock}:node "
		"~redlock:queue:{job}* ~redlock:reserved:{job} ~redlock:readers:{job} "
		"~redlock:fence:{job} ~redlock:limit:{job}");
	set_absent(&lock, 1, REASON_NOPERM, "NOPERM ... to access a channel");
	CHECK(strstr(remedy(&lock, 1, NULL), "&redlock:wake:{job}:* &redlock:queue:{job}*"));
	set_absent(&lock, 1, REASON_NOPERM, "ERR ... can't run this command or subcommand");
	CHECK(strstr(remedy(&lock, 1, NULL), "default +eval +evalsha +get +set"));
}

/* Each server has its own words for a denial in a script; the fix is the same. */
TEST(report_remedy_knows_the_words_of_each_server)
{
#define OLD "The user executing the script can't "
#define NEW "ERR ACL failure in script: "
	static const struct {
		const char *text, *rule;
	} cases[] = {
		{OLD "access at least one of the keys mentioned in the command arguments",
			"ACL SETUSER default ~job ~{redlock}:node "},
		{NEW "No permissions to access a key", "ACL SETUSER default ~job ~{redlock}:node "},
		{OLD "publish to the channel mentioned in the command",
			"ACL SETUSER default &redlock:wake:{job}:* "},
		{NEW "No permissions to access a channel",
			"ACL SETUSER default &redlock:wake:{job}:* "},
		{OLD "run this command or subcommand", "ACL SETUSER default +eval +evalsha +get "},
		{NEW "User default has no permissions to run the 'getrange' command",
			"ACL SETUSER default +getrange"},
	};
#undef OLD
#undef NEW
	struct lock lock = fresh(3);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_absent(&lock, 1, REASON_NOPERM, cases[i].text);
		unit_check(strstr(remedy(&lock, 1, NULL), cases[i].rule), __FILE__, __LINE__,
			"'%s': %s", cases[i].text, remedy(&lock, 1, NULL));
	}
}

static const char *guard_remedy(const struct lock *lock, const int unguarded[], int node)
{
	const char *remark;
	const char *hint =
		report_remedy(text, asked(), &lock->tally, NULL, unguarded, node, &remark);

	return hint ? hint : "none";
}

TEST(report_votes_without_restart_guard)
{
	struct lock lock = fresh(3);
	int why[NODES_MAX] = {UNGUARDED_INFO | UNGUARDED_TIME, UNGUARDED_INFO, UNGUARDED_KEY};

	for (int i = 0; i < 3; i++)
		set_vote(&lock, i, VOTE_YES);
	CHECK_TEXT(report_unguarded(text, &lock.tally, nodes(), why), "");
	CHECK_TEXT(guard_remedy(&lock, why, 0), "none");
	lock.tally.ballot[0].reply.is_unguarded = lock.tally.ballot[2].reply.is_unguarded = true;
	CHECK_TEXT(report_unguarded(text, &lock.tally, nodes(), why),
		"no restart guard on redis://a:6379, redis://c:6379: this user may not use INFO; "
		"this user may not use TIME; this user may not use the key '{redlock}:node'");
	CHECK_TEXT(guard_remedy(&lock, why, 0),
		"in redis-cli on redis://a:6379: ACL SETUSER u +info +time");
	CHECK_TEXT(guard_remedy(&lock, why, 1), "none");
	CHECK_TEXT(guard_remedy(&lock, why, 2),
		"in redis-cli on redis://c:6379: ACL SETUSER default ~{redlock}:node");
	set_vote(&lock, 0, VOTE_ABSENT);
	lock.tally.ballot[0].reply.is_unguarded = true;
	CHECK_TEXT(report_unguarded(text, &lock.tally, nodes(), why),
		"no restart guard on redis://c:6379: this user may not use the key "
		"'{redlock}:node'");
	for (int i = 0; i < 3; i++) {
		set_vote(&lock, i, VOTE_YES);
		lock.tally.ballot[i].reply.is_unguarded = true;
		why[i] = UNGUARDED_NO_INFO;
	}
	CHECK(strstr(report_unguarded(text, &lock.tally, nodes(), why),
		": the server has no command INFO"));
	CHECK(strstr(guard_remedy(&lock, why, 0), "remove 'rename-command INFO' from redis.conf"));
	CHECK_TEXT(guard_remedy(&lock, why, 1), "none");
	for (int i = 0; i < 3; i++)
		why[i] = UNGUARDED_NO_RUN_ID;
	CHECK(strstr(report_unguarded(text, &lock.tally, nodes(), why),
		": the server reports no run id"));
	CHECK(strstr(guard_remedy(&lock, why, 0), "--restart-guard off"));
}

TEST(report_slots)
{
	const struct key_list *keys = &ONE_KEY("job");
	struct lock lock = fresh(3);

	lock.policy.limit = 3;
	CHECK_TEXT(report_lock(text, lock_slot(&lock), keys), "'job'");
	lock.stamp.slot = 2;
	CHECK_TEXT(report_lock(text, lock_slot(&lock), keys), "'job#2'");
	CHECK_TEXT(report_stood_still(text, &lock, keys),
		"lost 'job#2': redlock stood still and could not extend it in time");
	for (int i = 0; i < 3; i++)
		set_holder(&lock, i, ID ":1700000000 me", USEC_SEC);
	CHECK_TEXT(report_holder(text, &lock, keys, 0),
		"the 3 slots of 'job' are taken, 'job#2' held "
		"by me since 2023-11-14T22:13:20Z on 3 "
		"of 3 nodes, expires in 1s unless renewed");
	lock.refusal = REFUSAL_BUSY;
	CHECK_TEXT(report_refusal(text, &lock, nodes(), keys, 0),
		"'job' is busy: its 3 slots are taken, 'job#2' held by me since "
		"2023-11-14T22:13:20Z on 3 of 3 nodes, expires in 1s unless renewed");
	for (int i = 0; i < 3; i++)
		lock.tally.ballot[i].reply.limit = 2;
	CHECK_TEXT(report_holder(text, &lock, keys, 0),
		"'job' is held with limit 2, not 3: one slot is held by me since "
		"2023-11-14T22:13:20Z on 3 of 3 nodes, expires in 1s unless renewed");
	CHECK_TEXT(report_refusal(text, &lock, nodes(), keys, 0),
		"'job' is busy: held with limit 2, not 3: one slot is held by me since "
		"2023-11-14T22:13:20Z on 3 of 3 nodes, expires in 1s unless renewed");
	CHECK(strstr(
		report_reply(text, &nodes()->node[0], OP_ACQUIRE, &lock.tally.ballot[0].reply, 0),
		"no, held by me since 2023-11-14T22:13:20Z, with limit 2 ("));
	CHECK(strstr(report_ownership(text, &lock.tally, nodes(), keys, 2),
		"'job#2' is no longer this token's"));
	CHECK(strstr(
		report_status(text, &lock.tally, nodes(), "job", 2, 0), "'job#2' is held by me"));
}

/* A minority has a key of another client, and a node that could decide is missing. */
TEST(report_busy_by_a_trace)
{
	struct lock lock = fresh(3);

	lock.refusal = REFUSAL_BUSY;
	set_holder(&lock, 0, ID ":1700000000 me", USEC_SEC);
	set_vote(&lock, 1, VOTE_YES);
	set_absent(&lock, 2, REASON_QUARANTINE, NULL);
	lock.tally.ballot[2].reply.pttl = 30 * USEC_SEC;
	CHECK(strstr(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0),
		"on 1 of 3 nodes, expires in 1s unless renewed; redis://c:6379 is in quarantine "
		"for another 30s"));
	set_holder(&lock, 1, ID ":1700000000 me", USEC_SEC);
	CHECK(!strstr(report_refusal(text, &lock, nodes(), &ONE_KEY("k"), 0), "quarantine"));
}

TEST(report_several_keys_lost)
{
	struct key_list keys = {.count = 2, .key = {"a", "b"}};
	struct lock lock = fresh(3);

	lock.loss = LOSS_DENIED;
	for (int i = 0; i < 3; i++) {
		set_holder(&lock, i, ID ":1700000000 me", USEC_SEC);
		lock.tally.ballot[i].reply.key = 1;
	}
	CHECK(strstr(
		report_loss(text, &lock, nodes(), &keys), "lost 'a', 'b': now 'b' is held by me"));
}
