/*
 * text: builds, quotes, reads and hashes strings in buffers of fixed size.
 *
 * Build a text with `size_t used = 0`, then one text_append() after the other: no call needs a
 * check, and the text is cut at the end of the buffer.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends printf-style at *used, cutting at size, between two UTF-8 characters; *used never exceeds
 * size - 1. */
void text_append(char *dst, size_t size, size_t *used, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Quotes for a POSIX shell, so that eval sees these very bytes: 'it'\''s'. Returns dst, or NULL if
 * the result does not fit.
 */
const char *text_quote(char *dst, size_t size, const char *src);

/* Reads a whole decimal number within [min, max]; false for any other text. */
bool text_number(const char *text, long min, long max, long *out);

/* Writes a decimal number, and a 0 byte behind it; returns its length. Any number fits into
 * TEXT_DECIMAL_MAX bytes. Async-signal-safe. For texts of which a run makes a hundred: snprintf()
 * takes thirty times as many instructions. */
#define TEXT_DECIMAL_MAX 21
size_t text_decimal(char *dst, int64_t n);

/* Spreads keys over nodes: FNV-1a (Fowler, Noll, Vo), 64 bits, well mixed. Begin from 0, or
 * continue from another hash. */
uint64_t text_hash(uint64_t from, const char *text);

#endif
