/*
 * json: writes one JSON document or line. It is always valid: bytes that are not UTF-8 become
 * U+FFFD, and the text as it was stands beside it, as NAME_base64.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text; /* NUL-terminated; the caller frees it */
	size_t len, size;
	bool is_first; /* no comma is due */
	bool failed; /* out of memory: text is not complete */
};

/* name: NULL within an array, and for the outermost. */
void json_open(struct json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_text(struct json *j, const char *name, const char *text);
void json_bytes(struct json *j, const char *name, const void *bytes, size_t len);
void json_number(struct json *j, const char *name, int64_t number);
void json_bool(struct json *j, const char *name, bool value);

/* A duration in whole milliseconds or microseconds, cut towards 0; NEVER: null. The name tells the
 * unit: it ends in _ms or _us. */
void json_ms(struct json *j, const char *name, usec d);
void json_us(struct json *j, const char *name, usec d);

#endif
