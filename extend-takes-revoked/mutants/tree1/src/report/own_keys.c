#include "report/own_keys.h"

#include "base/utf8.h"
#include "report/server_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Shows the key at `key`, the end of the reply, and formats the fix. The fix stays empty if
 * redis-cli would read the key differently. */
static void show_own_key(
	char shown[300], char fix[350], const struct reply *a, const char *key, const char *fmt)
{
	utf8_escape(shown, 300, key, a->text_len - (size_t)(key - a->text));
	fix[0] = '\0';
	if (!strpbrk(shown, " \"'\\"))
		snprintf(fix, 350, fmt, shown);
}

static void judge_counter(struct diagnosis *d, int node, const struct reply *a, const char *key)
{
	char shown[300], fix[350];

	show_own_key(shown, fix, a, key, "DEL %s");
	finding_add(d, node, SEVERITY_WARNING, "counter", fix,
		*a->text == 'b' ? "the fencing counter '%s' is no number, or at its limit: --fence "
				  "gets no vote here"
				: "the fencing counter '%s' is half way to its limit, far ahead of "
				  "all clocks",
		shown);
}

/* EXPIRE is harmless for a lock in use, which sets the TTL of its keys again; DEL would remove
 * readers. */
static void judge_lasting(struct diagnosis *d, int node, const struct reply *a, const char *rest)
{
	char shown[300], fix[350], more[64] = "";
	const char *key = strchr(rest, ' ');
	int64_t others = server_info_number(rest, strlen(rest));

	if (!key)
		return;
	if (others > 0)
		snprintf(more, sizeof(more), " (and %" PRId64 " more like it)", others);
	show_own_key(shown, fix, a, key + 1, "EXPIRE %s 86400");
	finding_add(d, node, SEVERITY_WARNING, "lasting-key", fix,
		"redlock's own key '%s' does not expire%s", shown, more);
}

void own_keys_judge(struct diagnosis *d, int node, const struct reply *a)
{
	const char *space = a->vote == VOTE_YES ? strchr(a->text, ' ') : NULL;

	if (space && *a->text == 'l')
		judge_lasting(d, node, a, space + 1);
	else if (space)
		judge_counter(d, node, a, space + 1);
}
