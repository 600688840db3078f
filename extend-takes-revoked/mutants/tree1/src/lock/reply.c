#include "lock/reply.h"

#include "base/token.h"

#include <stdio.h>
#include <string.h>

struct reply reply_absent(enum reason reason, const char *detail)
{
	struct reply a = {.vote = VOTE_ABSENT, .reason = reason};

	if (detail) {
		snprintf(a.text, sizeof(a.text), "%s", detail);
		a.text_len = strlen(a.text);
	}
	return a;
}

void reply_hide(struct reply *a, const char *secret)
{
	char *args = strstr(a->text, ", with args"),
	     *said = *secret ? strstr(a->text, secret) : NULL;
	char *end = !said || (args && args < said) ? args : said;

	if (!end)
		return;
	*end = '\0';
	a->text_len = (size_t)(end - a->text);
}

bool reply_has_foreign_holder(const struct reply *a)
{
	return a->vote == VOTE_FOREIGN &&
	       (a->pttl == NEVER || !(a->is_reserved || token_is_ours(a->text, a->text_len)));
}

bool reply_same_text(const struct reply *a, const struct reply *b)
{
	return a->text_len == b->text_len && memcmp(a->text, b->text, a->text_len) == 0;
}
