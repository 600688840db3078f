#include "base/token.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { KIND_AT = sizeof(TOKEN_NINES) - 1 };
_Static_assert((TOKEN_ID_LEN - KIND_AT - 1) % 2 == 0, "two digits are one byte");
_Static_assert(sizeof(TOKEN_REVOKED_START) - 1 == TOKEN_START_LEN, "the scripts count on it");
_Static_assert(sizeof(TOKEN_READERS) - 1 == TOKEN_ID_LEN, "it is an id like any other");

static int fill(void *dst, size_t len)
{
	ssize_t n;

	do
		n = getrandom(dst, len, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n < len) /* getrandom(2): never for so few bytes */
		errno = EIO;
	return n >= 0 && (size_t)n == len ? 0 : -1;
}

int token_make(char token[TOKEN_MAX], const char *fingerprint, const char *owner, struct err *e)
{
	static const char digit[] = "0123456789abcdef";
	unsigned char random[(TOKEN_ID_LEN - KIND_AT - 1) / 2];
	char *to = token + KIND_AT + 1;

	if (fill(random, sizeof(random)) < 0)
		return err_set(e, ERR_SYSTEM, "cannot create a token: no random bits: %s",
			strerror(errno));
	memcpy(token, TOKEN_NINES TOKEN_HOLDER, KIND_AT + 1);
	for (size_t i = 0; i < sizeof(random); i++) {
		*to++ = digit[random[i] >> 4];
		*to++ = digit[random[i] & 15];
	}
	/* The time has ten digits until the year 2286. */
	snprintf(token + TOKEN_ID_LEN, TOKEN_MAX - TOKEN_ID_LEN, ":%010llu %s%s%s%.*s",
		(unsigned long long)(clock_wall() / USEC_SEC) % 10000000000,
		*fingerprint ? "@" : "", fingerprint, *fingerprint ? " " : "", OWNER_MAX - 1,
		owner);
	return 0;
}

bool token_is_ours(const char *value, size_t len)
{
	return len > TOKEN_ID_LEN && value[TOKEN_ID_LEN] == ':' &&
	       strspn(value, "0123456789abcdef") == TOKEN_ID_LEN;
}

bool token_is_shared(const char *value, size_t len)
{
	return len > TOKEN_ID_LEN && value[TOKEN_ID_LEN] == ':' &&
	       memcmp(value, TOKEN_READERS, TOKEN_ID_LEN) == 0;
}

bool token_has_no_holder(const char *text)
{
	return strncmp(text, TOKEN_NINES TOKEN_LEFT, KIND_AT + 1) == 0 ||
	       strncmp(text, TOKEN_READERS, TOKEN_ID_LEN) == 0;
}

/* The text after the id and the time is "2 readers, 1 revoked: ...". */
static bool has_revoked_readers(const char *text)
{
	size_t owner;

	if (token_since(text, strlen(text), &owner) == 0)
		return false;
	text += owner;
	text += strspn(text, "0123456789 ");
	if (strncmp(text, "reader", 6) != 0)
		return false;
	text += 6;
	text += *text == 's';
	if (strncmp(text, ", ", 2) != 0)
		return false;
	text += 2 + strspn(text + 2, "0123456789");
	return strncmp(text, " revoked", 8) == 0;
}

bool token_is_revoked(const char *text)
{
	if (strncmp(text, TOKEN_READERS ":", TOKEN_ID_LEN + 1) == 0)
		return has_revoked_readers(text);
	return strncmp(text, TOKEN_NINES TOKEN_REVOKED, KIND_AT + 1) == 0;
}

/* The time, and the offset of what follows. */
static int64_t read_time(const char *value, size_t len, size_t *next)
{
	int64_t since = 0;
	size_t i = TOKEN_ID_LEN + 1;

	*next = i;
	for (; i < len && i < TOKEN_ID_LEN + 1 + 11 && value[i] >= '0' && value[i] <= '9'; i++)
		since = since * 10 + (value[i] - '0');
	if (i < TOKEN_ID_LEN + 1 + 10 || i >= len || value[i] != ' ')
		return 0;
	*next = i + 1;
	return since;
}

/* The length of the fingerprints at an offset. */
static size_t lists_length(const char *value, size_t len, size_t from)
{
	size_t i = from;

	while (i < len && value[i] == '@') {
		size_t end = i + 1;

		while (end < len && value[end] && strchr("0123456789abcdef", value[end]))
			end++;
		if (end == len || value[end] != ' ')
			break;
		i = end + 1;
	}
	return i - from;
}

int64_t token_since(const char *value, size_t len, size_t *owner)
{
	int64_t since = read_time(value, len, owner);

	if (since != 0)
		*owner += lists_length(value, len, *owner);
	return since;
}

const char *token_lists(const char *value, size_t len, size_t *n)
{
	size_t from;

	*n = token_is_ours(value, len) && read_time(value, len, &from) != 0
		     ? lists_length(value, len, from)
		     : 0;
	return *n ? value + from : NULL;
}

uint64_t random_bits(void)
{
	uint64_t bits;

	return fill(&bits, sizeof(bits)) < 0 ? 0 : bits;
}
