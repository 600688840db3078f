/* text: durations, words for people, and bytes of strangers made safe to show. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>

#define DURATION_MAX ((usec)100 * 365 * 86400 * USEC_SEC)

/*
 * Reads `250ms 1.5s 30s 5m 2h 1d`; a bare number is seconds. Fractions are rounded up to the next
 * millisecond. Returns NULL and sets *out, or returns the reason why not (a constant), as in
 * "is negative". At most DURATION_MAX.
 */
const char *duration_parse(const char *text, usec *out);

/* A hint if the word is but a unit, ours or not: "10 m" was typed, or "10 min". Else NULL. */
const char *duration_hint(const char *word);

#define DURATION_TEXT_MAX 24

/* Writes a duration as people say it: "0ms", "250ms", "1.5s", "90s", "5m", "2h30m", "3d". Negative
 * ones are shown as 0ms. Returns dst. */
const char *duration_format(char dst[DURATION_TEXT_MAX], usec d);

#define TIME_TEXT_MAX 32

/* Writes seconds since 1970 as 2026-11-21T18:03:11Z. Returns dst. */
const char *time_format(char dst[TIME_TEXT_MAX], int64_t seconds);

/*
 * Copies `len` bytes so that they can be shown on a terminal: printable UTF-8 as it is; everything
 * else, and the backslash, as \xNN or \\. What does not fit is cut and marked with "...". Always
 * NUL-terminated; size must be at least 8. Returns dst.
 */
const char *text_escape(char *dst, size_t size, const void *src, size_t len);

/* A word that was typed where it does not belong: what may be a secret is left out, be it a login,
 * or what stands behind a '=', or behind an option's letter; what is left, as text_escape(). */
const char *text_escape_word(char *dst, size_t size, const char *word);

/* The length of the UTF-8 character at s, and its code; 0: none is there. Refused are overlong
 * forms, surrogates and what lies beyond Unicode. */
size_t text_utf8(const unsigned char *s, size_t len, unsigned *code);

/* Controls (C0, DEL, C1), marks that turn the writing direction, and characters that are not seen:
 * not for a terminal. */
bool text_is_control(unsigned code);

/*
 * Quotes for a POSIX shell, so that eval sees these very bytes: 'it'\''s'. Returns dst, or NULL if
 * it does not fit.
 */
const char *text_quote(char *dst, size_t size, const char *src);

/* Appends printf-style at *used, cutting at size; *used never exceeds size - 1. */
void text_append(char *dst, size_t size, size_t *used, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The same of a word, without secrets. "***" replaces the login of scheme://user:password@host,
 * scheme://secret@host and user:password@host. It replaces the rest of the word after NAME= with
 * "pass", "pwd", "secret", "token", "auth" or "key" in the name, after "--NAME " with one of the
 * first four, and after "-p". A name that ends in "file" stands for no secret.
 */
void text_append_word(char *dst, size_t size, size_t *used, const char *word);

/* The same of a command line, NULL at its end; "***" replaces the word after such a --NAME. */
void text_append_words(char *dst, size_t size, size_t *used, char *const words[]);

/* Reads a whole decimal number within [min, max]; false for anything else. */
bool text_number(const char *text, long min, long max, long *out);

/* Spreads keys over nodes: FNV-1a (Fowler, Noll, Vo), 64 bits, well mixed; go on from another hash,
 * or from 0. */
uint64_t text_hash(uint64_t from, const char *text);

/* How many letters must be typed, dropped, changed or swapped with a neighbour to make b of a;
 * words over 31 letters are infinitely far apart. */
int text_distance(const char *a, const char *b);

/* For "did you mean": of the words that are considered, the nearest to the one that was typed.
 * Begin with {.typed = word}. */
struct nearest {
	const char *typed;
	const char *word; /* NULL: none is near */
	int distance;
};

/* At most a third of what was typed may be wrong, and not all of it; a word that goes on from there
 * is near as well. */
void nearest_consider(struct nearest *n, const char *word);

#endif
