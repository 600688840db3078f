#include "report/list.h"

#include "base/token.h"

#include <string.h>

static struct list list_made_of(const char *fingerprint, size_t len)
{
	struct list list = {.nodes = fingerprint_nodes(fingerprint, len)};

	if (list.nodes > 0)
		fingerprint_name(list.name, fingerprint, len);
	return list;
}

struct list list_of(const char *fingerprint)
{
	return list_made_of(fingerprint, strlen(fingerprint));
}

struct list list_of_holder(const char *ours, const struct reply *holder)
{
	struct list found = {.nodes = 0};
	bool has_ours = false;
	size_t len, n, at = 0;
	const char *lists = token_lists(holder->text, holder->text_len, &n);

	/* Each is "@DIGITS ". */
	for (; at < n; at += len + 2) {
		const char *theirs = lists + at + 1;
		struct list list;

		len = strcspn(theirs, " ");
		list = list_made_of(theirs, len);
		if (list.nodes == 0)
			continue;
		list.is_other = len != strlen(ours) || memcmp(theirs, ours, len) != 0;
		list.common = fingerprint_common(ours, theirs, len);
		list.is_unsafe = majorities_miss(
			(int)strlen(ours) / FINGERPRINT_DIGITS, list.nodes, list.common);
		has_ours |= !list.is_other;
		if (list.is_other + list.is_unsafe >= found.is_other + found.is_unsafe)
			found = list;
	}
	found.is_mixed = found.is_other && has_ours;
	return found;
}

bool list_may_hold(const struct list *theirs, int on, int absent)
{
	return theirs->nodes - theirs->common + on + absent > theirs->nodes / 2;
}

bool list_outlasts(const struct list *theirs, int reached)
{
	return theirs->nodes - reached > theirs->nodes / 2;
}
