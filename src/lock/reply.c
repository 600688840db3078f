#include "lock/reply.h"

#include "base/token.h"

#include <stdio.h>
#include <string.h>

const char *op_name(enum op op)
{
	static const char *const names[] = {
#define SCRIPT(name, words, ...) [OP_##name] = words,
#define COMMAND(name, words) [OP_##name] = words,
#include "lock/operations.def"
	};

	return names[op];
}

bool op_releases(enum op op)
{
	return op == OP_UNDO || op == OP_HAND_OFF || op == OP_EXPIRE;
}

bool reply_lacks_script(const struct reply *a)
{
	return a->vote == VOTE_ABSENT &&
	       (a->reason == REASON_NO_SCRIPT || a->reason == REASON_NO_DIGESTS ||
		       a->reason == REASON_UNSURE);
}

struct reply reply_absent(enum reason reason, const char *detail)
{
	struct reply a = {.vote = VOTE_ABSENT, .reason = reason};

	if (detail) {
		snprintf(a.text, sizeof(a.text), "%s", detail);
		a.text_len = strlen(a.text);
	}
	return a;
}

static bool is_permanent(enum reason reason)
{
	switch (reason) {
	case REASON_NOT_TLS:
	case REASON_SPEAKS_TLS:
	case REASON_TLS:
	case REASON_UNTRUSTED:
	case REASON_CLIENT_CERTIFICATE:
	case REASON_NOAUTH:
	case REASON_WRONG_PASSWORD:
	case REASON_NO_PASSWORD:
	case REASON_NOPERM:
	case REASON_PROTECTED:
	case REASON_GARBAGE:
	case REASON_TOO_LONG:
	case REASON_ENDLESS:
		return true;
	case REASON_NONE:
	case REASON_UNRESOLVED:
	case REASON_CONNECT:
	case REASON_CLOSED:
	case REASON_CONNECT_TIMEOUT:
	case REASON_TLS_TIMEOUT:
	case REASON_TIMEOUT:
	case REASON_NOT_READY:
	case REASON_LOADING:
	case REASON_LEFT:
	case REASON_READONLY:
	case REASON_MISCONF:
	case REASON_OOM:
	case REASON_MOVED:
	case REASON_CLUSTERDOWN:
	case REASON_MASTERDOWN:
	case REASON_NOREPLICAS:
	case REASON_BUSY:
	case REASON_MAXCLIENTS:
	case REASON_SERVER:
	case REASON_QUARANTINE:
	case REASON_SEVERAL:
	case REASON_SKEWED:
	case REASON_COUNTER:
	case REASON_NO_SCRIPT:
	case REASON_UNSURE:
	case REASON_NO_DIGESTS:
		break;
	}
	return false;
}

bool reply_is_permanent(const struct reply *a)
{
	return a->vote == VOTE_ABSENT && (a->is_permanent || is_permanent(a->reason));
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
