/*
 * mask: arguments of command lines, shown without the secrets in them.
 *
 * mask_append_word(), mask_append_command() and mask_append_text() write "***" in place of each
 * secret, for records and for the command that a lock's holder runs; mask_escape_word() is for an
 * argument that redlock itself refuses. mask_append_url() is for the URL of a node; the other
 * functions use it for words that look like one.
 */
#ifndef BASE_MASK_H
#define BASE_MASK_H

#include <stddef.h>

/*
 * Appends a word without its secrets, as text_append() does. "***" replaces the login of
 * scheme://user:password@host, scheme://secret@host and user:password@host. It replaces the rest of
 * the word after NAME= with "pass", "pw", "secret", "token", "auth" or "key" in the name, after
 * "--NAME " with one of the first four, and after "-p". A name that ends in "file" is not taken for
 * the name of a secret.
 */
void mask_append_word(char *dst, size_t size, size_t *used, const char *word);

/* Appends a command line in the same way, NULL at its end; "***" replaces the word after such a
 * --NAME. */
void mask_append_command(char *dst, size_t size, size_t *used, char *const words[]);

/* Appends a text of several words, such as a command line for a shell, in the same way. */
void mask_append_text(char *dst, size_t size, size_t *used, const char *text);

/*
 * Appends a node's URL, or any text that stands in the place of one, without what can be a secret
 * in it. Shown are the scheme, the host, a port, the number of a database and the path of a socket;
 * a port may have one wrong character. "***" replaces the text before the last '@', and all other
 * text: without the '@' that a user forgot, a password can stand anywhere.
 */
void mask_append_url(char *dst, size_t size, size_t *used, const char *url);

/* The same, escaped as by utf8_escape(). Returns dst. */
const char *mask_escape_url(char *dst, size_t size, const char *url);

/* Escapes, as utf8_escape(), a word that was typed in the wrong place, and leaves out each part
 * that may be a secret: a login, the text after a '=', the text after an option's letter. */
const char *mask_escape_word(char *dst, size_t size, const char *word);

#endif
