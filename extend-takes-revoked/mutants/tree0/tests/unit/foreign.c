/* foreign: lock values of other programs. */
#include "report/foreign.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef01234567"

static struct reply holder_reply(const char *value, usec left)
{
	struct reply a = {.vote = VOTE_FOREIGN, .pttl = left, .text_len = strlen(value)};

	snprintf(a.text, sizeof(a.text), "%s", value);
	return a;
}

TEST(foreign_formats)
{
	static const struct {
		const char *value, *want;
		usec left;
	} cases[] = {
		{ID ":1700000000 me", "redlock", USEC_SEC},
		{ID ":", "redlock", NEVER},
		{"1700000000", "timestamp", NEVER},
		{"1700000000123", "timestamp", NEVER},
		{"1700000000.25", "timestamp", NEVER},
		{"1700000000", "other", USEC_SEC},
		{"170000000", "other", NEVER},
		{"17000000001", "other", NEVER},
		{"170000000012", "other", NEVER},
		{"17000000001234", "other", NEVER},
		{"1700000000x", "other", NEVER},
		{"1700000000.2x", "other", NEVER},
		{"17000000001.2", "other", NEVER},
		{"1700000000.00000000000000000000", "other", NEVER},
		{"0123456789abcdefABCDEF0123456789", "hex32", USEC_SEC},
		{"0123456789abcdefABCDEF0123456789", "hex32", NEVER},
		{ID, "hex40", USEC_SEC},
		{"0123456789abcdefABCDEF01234567890123456789abcdefABCDEF0123456789", "hex64",
			USEC_SEC},
		{"0123456789abcdefABCDEF012345678", "other", USEC_SEC},
		{"0123456789abcdefABCDEF012345678g", "other", USEC_SEC},
		{"5f0c1f9e-37ee-4c0e-8bdc-1f3fd2f3a8a0", "uuid", USEC_SEC},
		{"5f0c1f9e137ee-4c0e-8bdc-1f3fd2f3a8a0", "other", USEC_SEC},
		{"5f0c1f9e-37ee14c0e-8bdc-1f3fd2f3a8a0", "other", USEC_SEC},
		{"5f0c1f9e-37ee-4c0e18bdc-1f3fd2f3a8a0", "other", USEC_SEC},
		{"5f0c1f9e-37ee-4c0e-8bdc11f3fd2f3a8a0", "other", USEC_SEC},
		{"5f0c1f9e-37ee-4c0e-8bdc-1f3fd2f3a8ag", "other", USEC_SEC},
		{"(hash)", "structure", NEVER},
		{"(zset)", "structure", NEVER},
		{"(ReJSON-RL)", "structure", NEVER},
		{"(hash) 5c3a:1", "structure", USEC_SEC},
		{"(zset) a b", "structure", USEC_SEC},
		{"(hash)5c3a:1", "other", USEC_SEC},
		{"(hash", "other", NEVER},
		{"hash)", "other", NEVER},
		{"(hasp)", "other", NEVER},
		{"()", "other", NEVER},
		/* 20 random bytes, the value that redis.io suggests, may look like a type */
		{"(\x01\xf7jS#\x8eq\x19\x9fL0\xb2\x11~K5\xd6\x88)", "other", USEC_SEC},
		{"(ReJSON/RL)", "other", USEC_SEC},
		{"(ReJSON-RL]", "other", USEC_SEC},
		{"[ReJSON-RL)", "other", USEC_SEC},
		{"", "other", USEC_SEC},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct reply a = holder_reply(cases[i].value, cases[i].left);
		const char *got = foreign_format(&a);

		unit_check(strcmp(got, cases[i].want) == 0, __FILE__, __LINE__, "'%s': %s",
			cases[i].value, got);
	}
}

TEST(foreign_timestamps)
{
	static const struct {
		const char *value;
		int64_t want;
	} cases[] = {{"1700000000", 1700000000}, {"1700000000123", 1700000000},
		{"1700000000.5", 1700000000}, {"0000000007", 7}, {"x", 0}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct reply a = holder_reply(cases[i].value, NEVER);

		CHECK_INT(foreign_timestamp(&a), cases[i].want);
	}
}
