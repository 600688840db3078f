/*
 * redlock completion: prints the completion scripts of the shells, which are embedded in the
 * program. At Tab, these run `redlock completion words WORD...`: cmd/offers.h has the answer.
 */
#include "base/exit.h"
#include "base/log.h"
#include "base/mask.h"
#include "cmd/commands.h"
#include "cmd/offers.h"
#include "cmd/print.h"
#include "cmd/usage.h"

#include <string.h>

/* `file` is relative to the folder in which make runs. */
#define EMBED(name, file) \
	__asm__(".pushsection .rodata\n" \
		".globl " name "\n.hidden " name "\n" name ":\n.incbin \"" file "\"\n" \
		".globl " name "_end\n.hidden " name "_end\n" name "_end:\n" \
		".popsection\n")

EMBED("script_bash", "completions/redlock.bash");
EMBED("script_zsh", "completions/_redlock");
EMBED("script_fish", "completions/redlock.fish");

extern const char script_bash[], script_bash_end[];
extern const char script_zsh[], script_zsh_end[];
extern const char script_fish[], script_fish_end[];

static int unknown_shell(const char *word)
{
	char shown[100];

	mask_escape_word(shown, sizeof(shown), word);
	log_say(LOG_ERRORS, "unknown shell '%s'", shown);
	log_hint(LOG_ERRORS, "name bash, zsh or fish");
	return STATUS_USAGE;
}

int cmd_completion(struct settings *s)
{
	const char *what = s->operands[0];
	static const struct {
		const char *shell, *script, *end;
	} scripts[] = {
		{"bash", script_bash, script_bash_end},
		{"zsh", script_zsh, script_zsh_end},
		{"fish", script_fish, script_fish_end},
	};

	if (!what) {
		log_say(LOG_ERRORS, "missing shell");
		log_hint(LOG_ERRORS, "name one: redlock completion bash, zsh or fish");
		return STATUS_USAGE;
	}
	if (strcmp(what, "words") == 0)
		return offers_print(s->operands + 1);
	if (s->operands[1])
		return usage_unexpected_operand(s, s->operands[1]);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (strcmp(what, scripts[i].shell) == 0) {
			print_text(scripts[i].script, (size_t)(scripts[i].end - scripts[i].script));
			return print_finish();
		}
	return unknown_shell(what);
}
