#include "report/foreign.h"

#include "base/token.h"

#include <string.h>

static bool is_all(const struct reply *a, const char *set)
{
	return a->text_len > 0 && strspn(a->text, set) == a->text_len;
}

static bool is_timestamp(const struct reply *a)
{
	size_t digits = strspn(a->text, "0123456789");

	return ((digits == 10 || digits == 13) && digits == a->text_len) ||
	       (digits == 10 && a->text_len <= 30 && a->text[digits] == '.' &&
		       strspn(a->text + digits + 1, "0123456789") == a->text_len - digits - 1);
}

int64_t foreign_timestamp(const struct reply *a)
{
	size_t digits = strspn(a->text, "0123456789");
	int64_t n = 0;

	for (size_t i = 0; i < digits && i < 10; i++)
		n = n * 10 + (a->text[i] - '0');
	return n;
}

/* "(hash)", the name of a data type as redlock's scripts write it, and the names that OP_REVOKE
 * adds after a space. A library's value may be in parentheses by chance. */
static bool is_structure(const struct reply *a)
{
	static const char *const types[] = {"(hash)", "(list)", "(set)", "(stream)", "(zset)"};
	/* names of modules' types have nine of these characters */
	static const char of_modules[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-_";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t len = strlen(types[i]);

		if (a->text_len >= len && memcmp(a->text, types[i], len) == 0 &&
			(a->text_len == len || a->text[len] == ' '))
			return true;
	}
	return a->text_len == 11 && a->text[0] == '(' && strspn(a->text + 1, of_modules) == 9 &&
	       a->text[10] == ')';
}

const char *foreign_format(const struct reply *a)
{
	static const char hex[] = "0123456789abcdefABCDEF";

	if (token_is_ours(a->text, a->text_len))
		return "redlock";
	if (a->pttl == NEVER && is_timestamp(a))
		return "timestamp";
	if (is_all(a, hex) && a->text_len == 32)
		return "hex32";
	if (is_all(a, hex) && a->text_len == 40)
		return "hex40";
	if (is_all(a, hex) && a->text_len == 64)
		return "hex64";
	if (a->text_len == 36 && a->text[8] == '-' && a->text[13] == '-' && a->text[18] == '-' &&
		a->text[23] == '-' && is_all(a, "0123456789abcdefABCDEF-"))
		return "uuid";
	if (is_structure(a))
		return "structure";
	return "other";
}

const char *foreign_libraries(const char *format)
{
	static const struct {
		const char *format, *libraries;
	} table[] = {
		{"hex32", "node-redlock, redis-py"},
		{"hex40", "redlock4j, redlock-cpp"},
		{"hex64", "php-lock 3"},
		{"uuid", "Spring, RedLock.net, redlock-rb, redis-semaphore"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].format, format) == 0)
			return table[i].libraries;
	return NULL;
}
