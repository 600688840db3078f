/*
 * utf8: decodes UTF-8, and makes bytes from elsewhere safe to show on a terminal.
 *
 * utf8_escape() is for every name, value and message that redlock did not make: it writes into a
 * buffer of the caller and returns it, for use as an argument of a message.
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

/*
 * Copies `len` bytes so that they can be shown on a terminal: printable UTF-8 unchanged; every
 * other byte as \xNN, the backslash as \\, and the first byte of "##[" as \x23. Text that does not
 * fit is cut and marked with "...". Always NUL-terminated; size must be at least 8. Returns dst.
 */
const char *utf8_escape(char *dst, size_t size, const void *src, size_t len);

#endif
