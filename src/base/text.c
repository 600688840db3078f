#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *text_quote(char *dst, size_t size, const char *src)
{
	static const char quoted[] = "'\\''";
	size_t used = 0;

	if (size < 3)
		return NULL;
	dst[used++] = '\'';
	for (; *src; src++) {
		if (used + sizeof(quoted) + 1 > size)
			return NULL;
		if (*src == '\'') {
			memcpy(dst + used, quoted, sizeof(quoted) - 1);
			used += sizeof(quoted) - 1;
		} else {
			dst[used++] = *src;
		}
	}
	dst[used++] = '\'';
	dst[used] = '\0';
	return dst;
}

void text_append(char *dst, size_t size, size_t *used, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(dst + *used, size - *used, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	if ((size_t)n < size - *used) {
		*used += (size_t)n;
		return;
	}
	/* Cut between two characters: go back over continuation bytes and the first byte of an
	 * incomplete character. */
	*used = size - 1;
	for (size_t i = size - 1; i > 0 && size - i < 5; i--) {
		unsigned char c = (unsigned char)dst[i - 1];

		if (c < 0x80)
			break;
		if (c >= 0xc0) {
			size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

			if (size - i < needs)
				*used = i - 1;
			break;
		}
	}
	dst[*used] = '\0';
}

bool text_number(const char *text, long min, long max, long *out)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end != '\0' || n < min || n > max)
		return false;
	*out = n;
	return true;
}

size_t text_decimal(char *dst, int64_t n)
{
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char digits[TEXT_DECIMAL_MAX], *first = digits + sizeof(digits) - 1;
	size_t len;

	*first = '\0';
	do
		*--first = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		*--first = '-';
	len = (size_t)(digits + sizeof(digits) - 1 - first);
	memcpy(dst, first, len + 1);
	return len;
}

uint64_t text_hash(uint64_t from, const char *text)
{
	uint64_t h = from ^ 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h ^ h >> 32;
}
