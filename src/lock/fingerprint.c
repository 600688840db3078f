#include "lock/fingerprint.h"

#include "base/text.h"
#include "base/token.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

_Static_assert(FINGERPRINT_MAX + 1 == TOKEN_LIST_MAX, "a token has room for '@' and a space");

void fingerprint_add(char fingerprint[FINGERPRINT_MAX], const char *name)
{
	size_t len = strlen(fingerprint), at = len;
	char digits[FINGERPRINT_DIGITS + 1];

	assert(len + FINGERPRINT_DIGITS < FINGERPRINT_MAX);
	snprintf(digits, sizeof(digits), "%04x", (unsigned)(text_hash(0, name) & 0xffff));
	while (at > 0 &&
		memcmp(fingerprint + at - FINGERPRINT_DIGITS, digits, FINGERPRINT_DIGITS) > 0)
		at -= FINGERPRINT_DIGITS;
	memmove(fingerprint + at + FINGERPRINT_DIGITS, fingerprint + at, len - at + 1);
	memcpy(fingerprint + at, digits, FINGERPRINT_DIGITS);
}

int fingerprint_nodes(const char *fingerprint, size_t len)
{
	(void)fingerprint;
	return len % FINGERPRINT_DIGITS || len >= FINGERPRINT_MAX ? 0
								  : (int)(len / FINGERPRINT_DIGITS);
}

const char *fingerprint_name(char dst[FINGERPRINT_NAME_MAX], const char *fingerprint, size_t len)
{
	char text[FINGERPRINT_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)len, fingerprint);
	snprintf(dst, FINGERPRINT_NAME_MAX, "%08x", (unsigned)(uint32_t)text_hash(0, text));
	return dst;
}

int fingerprint_common(const char *a, const char *b, size_t b_len)
{
	size_t a_len = strlen(a), i = 0, j = 0;
	int common = 0;

	while (i < a_len && j < b_len) {
		int order = memcmp(a + i, b + j, FINGERPRINT_DIGITS);

		common += order == 0;
		i += order <= 0 ? FINGERPRINT_DIGITS : 0;
		j += order >= 0 ? FINGERPRINT_DIGITS : 0;
	}
	return common;
}

static int least_in_common(int nodes, int common)
{
	int rest = nodes / 2 + 1 - (nodes - common);

	return rest > 0 ? rest : 0;
}

bool majorities_miss(int a, int b, int common)
{
	return least_in_common(a, common) + least_in_common(b, common) <= common;
}

bool fingerprint_misses(
	const char *ours, const char *value, size_t value_len, const char **theirs, size_t *len)
{
	size_t n, at = 0;
	const char *lists = token_lists(value, value_len, &n);

	while (at < n) {
		const char *list = lists + at + 1;
		size_t digits = strspn(list, "0123456789abcdef");
		int nodes = fingerprint_nodes(list, digits);

		at += digits + 2;
		if (nodes == 0 || !majorities_miss((int)strlen(ours) / FINGERPRINT_DIGITS, nodes,
					  fingerprint_common(ours, list, digits)))
			continue;
		if (theirs)
			*theirs = list;
		if (len)
			*len = digits;
		return true;
	}
	return false;
}
