/*
 * redlock completion: prints the completion scripts of the shells, which are embedded in the
 * program.
 *
 * These scripts call it for two lists, one item a line: `profiles` prints those of the
 * configuration, `keys` prints the keys that `hold` keeps on this machine.
 */
#include "base/exit.h"
#include "base/log.h"
#include "base/mask.h"
#include "cmd/commands.h"
#include "cmd/configure.h"
#include "cmd/print.h"
#include "file/registry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* The shells read one item per line, and print it to a terminal. */
static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Reading a pipe or a terminal could block Tab endlessly. */
static bool is_no_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int print_profiles(void)
{
	static struct settings s;
	const struct config *c;
	struct err e;

	/* Completion must work even if the environment has invalid settings: read as few variables
	 * as possible. */
	settings_init(&s, COMMAND_COMPLETION);
	s.config = getenv("REDLOCK_CONFIG");
	if (s.config && is_no_file(s.config))
		return STATUS_OK;
	if (configure(&s, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	c = configure_file();
	for (int i = 0; c && i < c->profiles; i++)
		if (is_line(c->profile[i]))
			print_line("%s", c->profile[i]);
	return print_finish();
}

static int print_held(void)
{
	static struct settings s;
	struct registry registry;
	struct entry entry;
	struct err e;

	registry_open(&registry);
	while (registry_next(&registry, &entry)) {
		settings_init(&s, COMMAND_COMPLETION);
		if (settings_add_keys(&s, entry.key, entry.keys, &e) < 0)
			continue;
		for (int i = 0; i < s.keys.count; i++)
			if (is_line(s.keys.key[i]))
				print_line("%s", s.keys.key[i]);
	}
	registry_close(&registry);
	return print_finish();
}

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
	if (strcmp(what, "profiles") == 0)
		return print_profiles();
	if (strcmp(what, "keys") == 0)
		return print_held();
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (strcmp(what, scripts[i].shell) == 0) {
			print_text(scripts[i].script, (size_t)(scripts[i].end - scripts[i].script));
			return print_finish();
		}
	return unknown_shell(what);
}
