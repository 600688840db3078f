#include "base/json.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *j, const char *text, size_t len)
{
	if (j->len + len + 1 > j->size && !j->failed) {
		size_t size = 2 * (j->len + len + 1) + 256;
		char *grown = realloc(j->text, size);

		j->failed = !grown;
		if (grown) {
			j->text = grown;
			j->size = size;
		}
	}
	if (j->failed)
		return;
	memcpy(j->text + j->len, text, len);
	j->len += len;
	j->text[j->len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void put_format(struct json *j, const char *fmt, ...)
{
	char buf[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	put(j, buf, strlen(buf));
}

/* Writes the comma and the name before a value. Names come from redlock and need no escaping. */
static void begin(struct json *j, const char *name, const char *suffix)
{
	if (j->len > 0 && !j->is_first)
		put(j, ",", 1);
	j->is_first = false;
	if (!name)
		return;
	put(j, "\"", 1);
	put(j, name, strlen(name));
	put(j, suffix, strlen(suffix));
	put(j, "\":", 2);
}

void json_open(struct json *j, const char *name, char bracket)
{
	begin(j, name, "");
	put(j, &bracket, 1);
	j->is_first = true;
}

void json_close(struct json *j, char bracket)
{
	put(j, &bracket, 1);
	j->is_first = false;
}

static void put_base64(struct json *j, const unsigned char *p, size_t len)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; len > 0; p += 3, len -= len < 3 ? len : 3) {
		unsigned bits = (unsigned)p[0] << 16 | (len > 1 ? (unsigned)p[1] << 8 : 0) |
				(len > 2 ? p[2] : 0);
		char four[] = {digit[bits >> 18], digit[bits >> 12 & 63],
			len > 1 ? digit[bits >> 6 & 63] : '=', len > 2 ? digit[bits & 63] : '='};

		put(j, four, sizeof(four));
	}
}

/* JSON writes characters after the first plane as a pair of surrogates. */
static void put_code(struct json *j, unsigned code)
{
	if (code < 0x10000)
		put_format(j, "\\u%04x", code);
	else
		put_format(j, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

void json_bytes(struct json *j, const char *name, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	bool is_exact = true;

	begin(j, name, "");
	put(j, "\"", 1);
	for (size_t i = 0, n; i < len; i += n) {
		unsigned code;

		n = utf8_decode(p + i, len - i, &code);
		if (n == 0) {
			put(j, "\xef\xbf\xbd", 3);
			is_exact = false;
			n = 1;
		} else if (!utf8_printable(p + i, len - i)) {
			put_code(j, code);
		} else {
			if (p[i] == '"' || p[i] == '\\')
				put(j, "\\", 1);
			put(j, (const char *)p + i, n);
		}
	}
	put(j, "\"", 1);
	if (is_exact || !name)
		return;
	begin(j, name, "_base64");
	put(j, "\"", 1);
	put_base64(j, p, len);
	put(j, "\"", 1);
}

void json_text(struct json *j, const char *name, const char *text)
{
	json_bytes(j, name, text, strlen(text));
}

void json_number(struct json *j, const char *name, int64_t number)
{
	begin(j, name, "");
	put_format(j, "%" PRId64, number);
}

void json_bool(struct json *j, const char *name, bool value)
{
	begin(j, name, "");
	put_format(j, "%s", value ? "true" : "false");
}

static void put_duration(struct json *j, const char *name, usec d, usec unit)
{
	begin(j, name, "");
	if (d == NEVER)
		put(j, "null", 4);
	else
		put_format(j, "%" PRId64, d / unit);
}

void json_ms(struct json *j, const char *name, usec d)
{
	put_duration(j, name, d, USEC_MSEC);
}

void json_us(struct json *j, const char *name, usec d)
{
	put_duration(j, name, d, 1);
}
