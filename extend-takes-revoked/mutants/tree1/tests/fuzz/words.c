/* Texts of users and of other programs: durations, tokens and owners. */
#include "fuzz/fuzz.h"

#include "base/duration.h"
#include "base/json.h"
#include "base/signal_name.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"
#include "report/foreign.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* Any text where a duration, a number or a signal is expected. */
void fuzz_duration(const uint8_t *data, size_t len)
{
	struct bytes b = {data, data + len};
	char *text = fuzz_line(&b, len), shown[DURATION_TEXT_MAX];
	usec d = -1;
	long n;

	if (!duration_parse(text, &d)) {
		FUZZ_CHECK(d >= 0 && d <= DURATION_MAX && d % USEC_MSEC == 0);
		FUZZ_CHECK(strlen(duration_format(shown, d)) < sizeof(shown));
	} else {
		FUZZ_CHECK(d == -1);
	}
	if (text_number(text, -5, 1000, &n))
		FUZZ_CHECK(n >= 0 && n <= 1000);
	if (signal_parse(text, &n))
		FUZZ_CHECK(n >= 1 && n <= 64);
	(void)suggest_distance(text, "duration");
	free(text);
}

static void check_quoted(const char *text)
{
	size_t size = 4 * strlen(text) + 3;
	char *quoted = malloc(size), *back = quoted;

	FUZZ_CHECK(text_quote(quoted, size, text));
	/* As a shell reads it. */
	for (const char *c = quoted; *c; c++)
		if (*c != '\'')
			*back++ = *c;
		else if (strncmp(c, "'\\''", 4) == 0)
			*back++ = '\'', c += 3;
	*back = '\0';
	FUZZ_CHECK(strcmp(quoted, text) == 0);
	free(quoted);
}

static void check_escaped(const uint8_t *data, size_t len)
{
	for (size_t size = 8; size <= 64; size += 7) {
		char shown[64];

		utf8_escape(shown, size, data, len);
		FUZZ_CHECK(strlen(shown) < size);
		fuzz_check_clean(shown);
	}
}

static void check_json(const uint8_t *data, size_t len)
{
	struct json j = {0};

	json_open(&j, NULL, '{');
	json_bytes(&j, "value", data, len);
	json_close(&j, '}');
	FUZZ_CHECK(!j.failed && strlen(j.text) == j.len);
	fuzz_check_clean(j.text);
	free(j.text);
}

/* The value of a key, of any program: one node of three has another one. */
void fuzz_token(const uint8_t *data, size_t len)
{
	const struct policy policy = {.nodes = 3, .keys = 1, .ttl = USEC_SEC};
	static struct lock q;
	static struct node_list nodes;
	struct reply a = {.vote = VOTE_FOREIGN, .pttl = USEC_SEC}, other = a;
	char text[REPORT_MAX];
	struct bytes b = {data, data + len};
	char *line = fuzz_line(&b, len);
	size_t owner = 0;

	check_quoted(line);
	check_escaped(data, len);
	check_json(data, len);
	free(line);
	a.text_len = len < sizeof(a.text) ? len : sizeof(a.text) - 1;
	memcpy(a.text, data, a.text_len);
	if (token_is_ours(a.text, a.text_len)) {
		(void)token_since(a.text, a.text_len, &owner);
		FUZZ_CHECK(owner <= a.text_len);
	}
	(void)foreign_timestamp(&a);
	lock_init(&q, &policy);
	tally_clear(&q.tally, 0);
	for (int i = 0; i < policy.nodes; i++) {
		memcpy(nodes.node[i].label, "node", 5);
		tally_take(&q.tally, i, i == 1 ? &other : &a, NULL);
	}
	fuzz_check_clean(report_status(text, &q.tally, &nodes, "key", 0, 1700000000));
	fuzz_check_clean(report_holder(text, &q, &ONE_KEY("key"), 0));
	fuzz_check_clean(report_ownership(text, &q.tally, &nodes, &ONE_KEY("key"), 0));
	fuzz_check_clean(report_reply(text, &nodes.node[0], OP_LOOK, &a, 0));
}
