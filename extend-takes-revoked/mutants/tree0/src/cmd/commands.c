#include "cmd/commands.h"

static int (*const functions[])(struct settings *s) = {
#define COMMAND(id, name, function, ...) [COMMAND_##id] = function,
#include "cli/commands.def"
};

int command_run(struct settings *s)
{
	return functions[s->command](s);
}
