/*
 * utf8: decodes UTF-8, and makes bytes from elsewhere safe to show on a terminal.
 *
 * utf8_escape() is for every name, value and message that redlock did not make: it writes into a
 * buffer of the caller and returns it, for use as an argument of a message. utf8_escape_line() is
 * for base/log and cmd/print, through which each line goes to a terminal: where a caller has
 * forgotten utf8_escape(), no control character passes.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the UTF-8 character at s and sets its code; 0: the bytes are no valid
 * character. Overlong forms, surrogates and codes beyond Unicode are invalid. */
size_t utf8_decode(const unsigned char *s, size_t len, unsigned *code);

/* Is the character unfit for a terminal? Such are controls (C0, DEL, C1), marks that turn the
 * writing direction, and invisible characters. */
bool utf8_is_control(unsigned code);

/* Returns the length of the character at s if a terminal and the log of a CI system can show it: a
 * valid character, no control, and not the beginning of "##[" or "##word[". Else returns 0. */
size_t utf8_printable(const unsigned char *s, size_t len);

/*
 * Copies `len` bytes so that they can be shown on a terminal: characters of
 * utf8_printable() unchanged, every other byte as \xNN, and the backslash as \\. Text that does not
 * fit is cut and marked with "...". Always NUL-terminated; size must be at least 8. Returns dst.
 */
const char *utf8_escape(char *dst, size_t size, const void *src, size_t len);

/* The same for a whole line of output. Its parts should be escaped already: every backslash
 * remains as it is. */
const char *utf8_escape_line(char *dst, size_t size, const char *line);

/* The columns of a printable text on a terminal: a wide character has two, a combining mark none.
 */
int utf8_columns(const char *text);

/* Replaces the end of a printable text by "..." so that it has at most `columns` columns, which are
 * 3 or more. Returns the text. */
const char *utf8_cut(char *text, int columns);

/* Replaces the middle of a printable text by "..." so that it has at most `columns` columns; fewer
 * than 5 count as 5. Returns the text. */
const char *utf8_shorten(char *text, int columns);

#endif
