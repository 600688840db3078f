/*
 * scripts: the Lua scripts that run on a node.
 *
 * They are in proto/lua, each in a file of its own, with comments and real names; the build joins
 * them with the parts that they include and makes them short (scripts/embed-lua).
 */
#ifndef PROTO_SCRIPTS_H
#define PROTO_SCRIPTS_H

#include "lock/reply.h"

/* The script of an operation; NULL: the operation is a plain command. */
const char *script_of(enum op op);

/* The digest by which EVALSHA names the script. A server knows it after it has carried out the
 * script by EVAL, until it restarts or forgets its scripts. */
const char *digest_of(enum op op);

/* Scripts of subcommands, sent with OP_COMMAND. Their files describe their replies. */
extern const char *const rights_script, *const own_keys_script,
						*const databases_script; /* doctor */
extern const char *const admit_script; /* sandbox */

#endif
