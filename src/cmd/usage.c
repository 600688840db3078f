#include "cmd/usage.h"

#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/mask.h"
#include "cli/option.h"

#include <string.h>

/* like: the format of the hint for `nearest`. */
static int refuse(const char *why, const char *word, const char *like, const char *nearest)
{
	char shown[100];

	mask_escape_word(shown, sizeof(shown), word);
	log_say(LOG_ERRORS, "%s '%s'", why, shown);
	if (nearest)
		log_hint(LOG_ERRORS, like, nearest);
	else
		log_hint(LOG_ERRORS, "see 'redlock help'");
	return STATUS_USAGE;
}

int usage_unknown_command(const char *word)
{
	return refuse("unknown command", word, "did you mean '%s'? See 'redlock help'",
		command_nearest(word));
}

int usage_unexpected(const char *word)
{
	return refuse("unexpected argument", word, "%s", duration_hint(word));
}

int usage_unexpected_operand(const struct settings *s, const char *word)
{
	char hint[OPERAND_HINT_MAX];

	if (!option_operand_hint(hint, s, word)[0])
		return usage_unexpected(word);
	return refuse("unexpected argument", word, "%s", hint);
}

bool usage_is_option(const char *word)
{
	bool is = false;

	for (int i = 0; i < option_rows_count; i++)
		is |= option_is_called(&option_rows[i], word);
	return is;
}

int usage_early_option(const char *word)
{
	char shown[100];

	if (!usage_is_option(word))
		return refuse("unknown option", word, "did you mean --%s? See 'redlock help'",
			option_nearest(word + strspn(word, "-"), ~0u));
	mask_escape_word(shown, sizeof(shown), word);
	log_say(LOG_ERRORS, "'%s' comes too early: a command goes first", shown);
	log_hint(LOG_ERRORS, "such as 'redlock run %s'; see 'redlock help'", shown);
	return STATUS_USAGE;
}
