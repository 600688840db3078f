#include "report/report.h"

#include "base/duration.h"
#include "base/token.h"
#include "base/utf8.h"
#include "report/line.h"

#include <stdio.h>
#include <string.h>

const char *report_lock(char dst[REPORT_MAX], int slot, const struct key_list *keys)
{
	struct line l = line_begin(dst);

	line_slot(&l, slot, keys);
	return dst;
}

const char *report_verb(const struct key_list *keys)
{
	return keys->count > 1 ? "are" : "is";
}

const char *report_keys(char dst[REPORT_MAX], const struct key_list *keys)
{
	struct line l = line_begin(dst);

	line_keys(&l, keys);
	return dst;
}

const char *report_holder(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys, usec now)
{
	struct line l = line_begin(dst);

	if (lock_other_limit(lock) > 0) {
		line_held_key(&l, &lock->tally, keys);
		line_add(&l, " is ");
		line_limits(&l, lock_other_limit(lock), lock->policy.limit);
		line_add(&l, ": one slot is ");
	} else if (policy_is_semaphore(&lock->policy)) {
		line_add(&l, "the %d slots of ", lock->policy.limit);
		line_held_key(&l, &lock->tally, keys);
		line_add(&l, " are taken, ");
		line_lock(&l, lock, keys);
		line_add(&l, " ");
	} else {
		line_held_key(&l, &lock->tally, keys);
		line_add(&l, " is ");
	}
	line_holder(&l, &lock->tally, now - lock->tally.began);
	return dst;
}

/* "2nd in queue", or without words "2nd" */
static void add_place(struct line *l, int place, bool has_words)
{
	int last = place / 10 % 10 == 1 ? 0 : place % 10;

	if (place == 1)
		line_add(l, "; next");
	else
		line_add(l, "; %d%s", place,
			last == 1   ? "st"
			: last == 2 ? "nd"
			: last == 3 ? "rd"
				    : "th");
	if (has_words)
		line_add(l, " in queue");
}

/* A holder and a key are not shortened to less than this. */
#define HOLDER_LEAST 9
#define KEY_LEAST 5

#define HELD_BY ", held by "
#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The parts of a message about a wait, apart from the time, the key, and the place in the queue. */
struct detail {
	bool has_limit, has_holder, has_words;
};

/* Returns the columns that are left for the key and the holder. */
static int lay_out(char start[REPORT_MAX], char end[REPORT_MAX], const struct lock *lock,
	usec waited, int width, struct detail detail)
{
	char time[DURATION_TEXT_MAX];
	struct line l = line_begin(start);

	line_add(&l, "waiting %s", duration_format(time, waited / USEC_SEC * USEC_SEC));
	if (detail.has_limit && lock->policy.wait != NEVER)
		line_add(&l, " of %s", duration_format(time, lock->policy.wait));
	line_add(&l, policy_is_semaphore(&lock->policy) ? " for a slot of '" : " for '");
	l = line_begin(end);
	if (lock->waiter.state == WAITER_QUEUED)
		add_place(&l, lock->waiter.rank + 1, detail.has_words);
	return width - (int)(strlen(start) + strlen("'") + strlen(end)) -
	       (detail.has_holder ? (int)strlen(HELD_BY) : 0);
}

const char *report_waiting(char dst[REPORT_MAX], const struct lock *lock,
	const struct key_list *keys, usec waited, int width)
{
	/* The first of these that fits; the last one otherwise. */
	static const struct detail details[] = {{true, true, true}, {false, true, true},
		{false, true, false}, {false, false, true}, {false, false, false}};
	char start[REPORT_MAX], end[REPORT_MAX];
	char holder[HOLDER_TEXT_MAX], key[REQUEST_KEY_MAX + 1];
	struct line l;
	int count, room, least, i = -1;
	const struct reply reply = tally_holder(&lock->tally, &count);

	utf8_escape(key, sizeof(key), keys->key[reply.key], strlen(keys->key[reply.key]));
	report_holder_text(holder, &lock->tally);
	if (!holder[0] && count > 0)
		snprintf(holder, sizeof(holder), "another waiter, soon");
	if (!holder[0])
		snprintf(holder, sizeof(holder), "another client");
	do {
		i++;
		room = lay_out(start, end, lock, waited, width, details[i]);
		least = (int)usec_min(utf8_columns(key), KEY_LEAST) +
			(details[i].has_holder ? HOLDER_LEAST : 0);
	} while (room < least && i + 1 < COUNT_OF(details));
	if (!details[i].has_holder)
		holder[0] = '\0';
	if (room < utf8_columns(key) + utf8_columns(holder))
		utf8_shorten(key, (int)usec_max(usec_min(room / 2, room - HOLDER_LEAST),
					  room - utf8_columns(holder)));
	l = line_begin(dst);
	line_add(&l, "%s%s'", start, key);
	if (holder[0])
		line_add(&l, HELD_BY "%s", utf8_shorten(holder, room - utf8_columns(key)));
	line_add(&l, "%s", end);
	return dst;
}

const char *report_contest(char dst[REPORT_MAX], const struct lock *lock,
	const struct key_list *keys, const struct reply *contender, usec age)
{
	struct line l = line_begin(dst);
	char left[DURATION_TEXT_MAX];

	if (policy_is_semaphore(&lock->policy))
		line_lock(&l, lock, keys);
	else
		line_quoted(&l, keys->key[contender ? contender->key : 0]);
	line_add(&l, " is ");
	line_contender(&l, contender, lock->policy.fingerprint);
	if (contender && contender->pttl != NEVER)
		line_add(&l, ", expires in %s unless renewed",
			duration_format(left, contender->pttl - usec_min(contender->pttl, age)));
	line_add(&l, ": hosts must name the same nodes");
	return dst;
}

const char *report_other_nodes(char dst[REPORT_MAX], const char *ours, const struct reply *holder)
{
	struct line l = line_begin(dst);
	const struct list theirs = list_of_holder(ours, holder);

	if (theirs.is_other)
		line_other_nodes(&l, &theirs, ours);
	return dst;
}

const char *report_owner_text(char dst[HOLDER_TEXT_MAX], const struct reply *holder)
{
	size_t owner = 0;

	if (token_is_ours(holder->text, holder->text_len))
		(void)token_since(holder->text, holder->text_len, &owner);
	return utf8_escape(dst, HOLDER_TEXT_MAX, holder->text + owner, holder->text_len - owner);
}

const char *report_holder_text(char dst[HOLDER_TEXT_MAX], const struct tally *t)
{
	int nodes;
	const struct reply holder = tally_holder(t, &nodes);

	dst[0] = '\0';
	return nodes == 0 || holder.is_reserved ? dst : report_owner_text(dst, &holder);
}

const char *report_duplicate(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line_begin(dst);

	if (t->duplicate[0] >= 0 && t->duplicate[0] == t->duplicate[1])
		line_add(&l, "'%s' is the same server as another node, or gets its data",
			nodes->node[t->duplicate[0]].label);
	else if (t->duplicate[0] >= 0)
		line_add(&l, "nodes '%s' and '%s' are the same server",
			nodes->node[t->duplicate[0]].label, nodes->node[t->duplicate[1]].label);
	return dst;
}
