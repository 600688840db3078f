/*
 * token: the value of a lock's key, which differs for every attempt of every client.
 *
 * token_make() makes the token of a new attempt, in a buffer of the caller. The other functions
 * read a value that a node returned; token_since() needs one for which token_is_ours() is true.
 * Values with a length need not be NUL-terminated.
 */
#ifndef BASE_TOKEN_H
#define BASE_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_ID_LEN 40
/*
 * Every id begins with thirteen digits 9 and a letter for the kind of its owner; random digits
 * follow. Clients of the old style (SETNX, with the time at which the lock expires as the value)
 * read the nines as a time in the far future, in seconds and in milliseconds, and do not take the
 * key. They stop reading at the letter, which must not be an 'e', because an 'e' begins an
 * exponent.
 */
#define TOKEN_NINES "9999999999999"
#define TOKEN_HOLDER "a" /* the id of a holder */
#define TOKEN_LEFT "b" /* the id of a finished holder that lets its key expire */
#define TOKEN_REVOKED "c" /* the id of a holder that must end: `redlock break` asked for it */
#define TOKEN_HOLDER_START TOKEN_NINES TOKEN_HOLDER
#define TOKEN_REVOKED_START TOKEN_NINES TOKEN_REVOKED
#define TOKEN_START_LEN 14
#define TOKEN_READERS_START TOKEN_NINES "f"
#define TOKEN_READERS_RANDOM "ffffffffffffffffffffffffff"
#define TOKEN_READERS TOKEN_READERS_START TOKEN_READERS_RANDOM /* of all readers together */
#define OWNER_MAX 178
#define TOKEN_LIST_MAX 62 /* '@', a fingerprint of 15 nodes and a space */
/* The scripts return 300 bytes of it. */
#define TOKEN_MAX (TOKEN_ID_LEN + 1 + 12 + TOKEN_LIST_MAX + OWNER_MAX)

/*
 * Writes an id with 104 bits from the kernel's generator, ':', the time of day in seconds since
 * 1970, a space, '@' with the fingerprint and a space, unless it is "", and the owner text: the
 * value of the key on the nodes. The id alone names the client that has the lock; the time and the
 * owner text are for people. The owner text is cut to OWNER_MAX - 1. Returns -1 with *e set if the
 * kernel cannot return random bits: there is no second source.
 */
int token_make(char token[TOKEN_MAX], const char *fingerprint, const char *owner, struct err *e);

/* Did a redlock make this value of a key? Other libraries use formats of their own. */
bool token_is_ours(const char *value, size_t len);

/* Is it the value for several readers that share a key (proto/request.c)? */
bool token_is_shared(const char *value, size_t len);

/* Does the text begin with an id that no holder has: TOKEN_LEFT's, or that of all readers? */
bool token_has_no_holder(const char *text);

/* Is it a value that `redlock break` has revoked, or that of readers of which some are revoked? The
 * holder is to end its command. The text ends with a NUL. */
bool token_is_revoked(const char *text);

/* Returns the time in such a value; 0: it has none, as values of older versions. *owner is the
 * offset of the owner text. */
int64_t token_since(const char *value, size_t len, size_t *owner);

/* The fingerprints in a value, each as "@DIGITS " (lock/fingerprint.h): one, or several of readers.
 * *n is their length; 0: there is none. */
const char *token_lists(const char *value, size_t len, size_t *n);

/* Returns a number to spread retry delays and the like; 0 if the kernel returns no random bits. */
uint64_t random_bits(void);

#endif
