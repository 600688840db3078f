#include "proto/scripts.h"

#include <stddef.h>

/* From the build folder: script_NAME[] for each file in proto/lua. */
#include "proto/scripts.inc"

/* An attempt and its release that wait in the socket of a stopped server must be read in one go,
 * with long names in both: Redis drops unread bytes when it finds that the client is gone.
 */
#define SERVER_READ_BYTES (16 * 1024)
#define ARGUMENTS_BYTES 2900

_Static_assert(
	sizeof(script_acquire) + sizeof(script_hand_off) + ARGUMENTS_BYTES < SERVER_READ_BYTES,
	"an attempt and its release are read in one go");
_Static_assert(sizeof(script_undo) <= sizeof(script_hand_off) &&
		       sizeof(script_hand_off) <= sizeof(script_acquire),
	"conn takes a release to be no longer than its attempt");

const char *const rights_script = script_rights;
const char *const own_keys_script = script_own_keys;
const char *const admit_script = script_admit;

const char *script_of(enum op op)
{
	static const char *const scripts[OP_COUNT] = {
		[OP_ACQUIRE] = script_acquire,
		[OP_REPAIR] = script_acquire,
		[OP_EXTEND] = script_extend,
		[OP_UNDO] = script_undo,
		[OP_HAND_OFF] = script_hand_off,
		[OP_EXPIRE] = script_expire,
		[OP_FENCE] = script_fence_number,
		[OP_LOOK] = script_look,
		[OP_JOIN] = script_join,
		[OP_SCAN] = script_scan,
		[OP_REVOKE] = script_revoke,
	};

	return scripts[op];
}
