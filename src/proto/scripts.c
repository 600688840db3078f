#include "proto/scripts.h"

#include "base/token.h"

#include <stddef.h>

/* From the build folder: script_NAME[] for each file in proto/lua. */
#include "proto/scripts.inc"

/* An attempt and its release that wait in the socket of a stopped server must be read in one go:
 * Redis drops unread bytes when it finds that the client is gone. They have a key each, of 52
 * bytes (of 110 with an owner's text of 60), a token with the longest owner, and 250 bytes for all
 * else. Mostly, at least one of them is sent by digest, and any key fits.
 */
#define SERVER_READ_BYTES (16 * 1024)
#define ARGUMENTS_BYTES (2 * 52 + TOKEN_MAX + 250)

_Static_assert(
	sizeof(script_acquire) + sizeof(script_hand_off) + ARGUMENTS_BYTES < SERVER_READ_BYTES,
	"an attempt and its release are read in one go");

const char *const rights_script = script_rights;
const char *const own_keys_script = script_own_keys;
const char *const databases_script = script_databases;
const char *const admit_script = script_admit;

static const struct {
	const char *text, *digest;
} scripts[OP_COUNT] = {
#define SCRIPT(name, words, file, ...) [OP_##name] = {script_##file, digest_##file},
#include "lock/operations.def"
};

const char *script_of(enum op op)
{
	return scripts[op].text;
}

const char *digest_of(enum op op)
{
	return scripts[op].digest;
}
