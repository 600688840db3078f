/* token: what tells one acquisition from every other one in the world. */
#ifndef BASE_TOKEN_H
#define BASE_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_ID_LEN 40
/*
 * Every id begins with thirteen digits 9 and a letter that says whose it is; random digits follow.
 * Clients of the old style (SETNX, and the time at which the lock ends as its value) read the
 * nines as a time that is far away, in seconds and in milliseconds, and do not take the key. They
 * stop reading at the letter, which must not be an 'e': that begins an exponent.
 */
#define TOKEN_NINES "9999999999999"
#define TOKEN_HOLDER "a" /* a holder's */
#define TOKEN_LEFT "b" /* a holder's that has ended, and left its key to --min-hold */
#define TOKEN_READERS TOKEN_NINES "fffffffffffffffffffffffffff" /* of all readers together */
#define OWNER_MAX 240
#define TOKEN_MAX (TOKEN_ID_LEN + 1 + 12 + OWNER_MAX) /* the scripts show 300 bytes of it */

/*
 * Writes an id with 104 bits from the kernel's generator, ':', the time of day in seconds since
 * 1970, a space and the owner text: the value that the key carries on the nodes. Only the id
 * decides anything; the rest is for people. The owner text is cut to OWNER_MAX - 1.
 * Returns -1 with *e set if the kernel has no randomness to give: there is no second-best source.
 */
int token_make(char token[TOKEN_MAX], const char *owner, struct err *e);

/* Is this the value of a key that a redlock made? Every library has a format of its own. */
bool token_is_ours(const char *value, size_t len);

/* Is it what stands for several readers, who have a key together (proto/request.c)? */
bool token_is_shared(const char *value, size_t len);

/* Does the text begin like an id that no holder has: a left key's, or that of all readers? */
bool token_has_no_holder(const char *text);

/* The time that such a value carries; 0: none, as older ones. *owner is where the owner text
 * begins. */
int64_t token_since(const char *value, size_t len, size_t *owner);

/* A number for what must only be spread, such as retry delays; 0 when there is no randomness. */
uint64_t random_bits(void);

#endif
