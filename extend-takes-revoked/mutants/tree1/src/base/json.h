/*
 * json: writes one JSON document or line.
 *
 * Begin with struct json j = {0}, call json_open(), one function per value, and json_close(); then
 * check `failed` and use `text`, which the caller frees. The result is always valid JSON: bytes
 * that are not UTF-8 become U+FFFD, and the original bytes follow as NAME_base64. Names are not
 * escaped.
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
	bool is_first; /* the next value needs no comma */
	bool failed; /* out of memory: text is incomplete */
};

/* The name is NULL within an array, and for the outermost value. */
void json_open(struct json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_text(struct json *j, const char *name, const char *text);
void json_bytes(struct json *j, const char *name, const void *bytes, size_t len);
void json_number(struct json *j, const char *name, int64_t number);
void json_bool(struct json *j, const char *name, bool value);

/* Writes a duration in whole milliseconds or microseconds, rounded towards 0; NEVER becomes null.
 * The name ends in the unit: _ms or _us. */
void json_ms(struct json *j, const char *name, usec d);
void json_us(struct json *j, const char *name, usec d);

#endif
