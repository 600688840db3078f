/* The user's input: nodes, command lines with their environment, and files. */
#include "fuzz/fuzz.h"

#include "base/mask.h"
#include "cli/complete.h"
#include "cli/config_file.h"
#include "cli/node.h"
#include "cli/option.h"
#include "lock/lock.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 40 };

static void check_err(const struct err *e)
{
	FUZZ_CHECK(e->text[0] && strlen(e->text) < sizeof(e->text));
	fuzz_check_clean(e->text);
	fuzz_check_clean(e->hint);
}

static void check_node(const struct node *node)
{
	struct node again;
	struct err e = {0};

	fuzz_check_clean(node->label);
	FUZZ_CHECK(node->host[0] && node->db >= 0);
	FUZZ_CHECK(node->kind == NODE_UNIX || (node->port > 0 && node->port < 65536));
	/* These labels name the nodes for the command. */
	FUZZ_CHECK(node_parse(node->label, &again, &e) == 0);
	FUZZ_CHECK(again.kind == node->kind && again.port == node->port && again.db == node->db);
	FUZZ_CHECK(strcmp(again.host, node->host) == 0 && !again.password[0]);
}

void fuzz_url(const uint8_t *data, size_t len)
{
	static struct node_list list;
	struct bytes b = {data, data + len};
	char *text = fuzz_line(&b, len), shown[NODES_MAX * NODE_LABEL_MAX];
	struct err e = {0};
	struct node node;

	if (node_parse(text, &node, &e) == 0)
		check_node(&node);
	else
		check_err(&e);
	fuzz_check_clean(mask_escape_url(shown, sizeof(shown), text));
	fuzz_check_clean(mask_escape_word(shown, sizeof(shown), text));
	list.count = 0;
	if (node_list_add(&list, text, &e) < 0)
		check_err(&e);
	FUZZ_CHECK(list.count <= NODES_MAX);
	node_list_format(&list, shown, sizeof(shown));
	fuzz_check_clean(shown);
	free(text);
}

/* Splits into arguments, one per line, up to an empty line. */
static int take_words(struct bytes *b, char *words[], int most)
{
	int count = 0;

	while (b->at < b->end && count < most - 1) {
		char *word = fuzz_line(b, 8192);

		if (!*word) {
			free(word);
			break;
		}
		words[count++] = word;
	}
	words[count] = NULL;
	return count;
}

/* The others send a single question, for which a TTL of any length will do. */
static bool opens_lock(enum command id)
{
	return id == COMMAND_RUN || id == COMMAND_ACQUIRE || id == COMMAND_HOLD ||
	       id == COMMAND_WAIT;
}

static void check_settings(const struct settings *s)
{
	static struct lock lock;
	struct policy policy;
	char names[REQUEST_KEY_MAX + 1], keys[REQUEST_KEY_MAX + 1];
	size_t together = 0;

	FUZZ_CHECK(s->nodes.count >= 1 && s->nodes.count <= NODES_MAX);
	for (int i = 1; i < s->keys.count; i++)
		FUZZ_CHECK(strcmp(s->keys.key[i - 1], s->keys.key[i]) < 0);
	/* Their text is the keys; that of the names has the same length without the format. */
	for (int i = 0; i < s->keys.count; i++)
		together += strlen(s->keys.key[i]) + 1;
	settings_text(names, &s->names);
	settings_text(keys, &s->keys);
	FUZZ_CHECK(s->keys.count == 0 || strlen(keys) + 1 == together);
	FUZZ_CHECK(s->names.count == s->keys.count && strlen(names) <= strlen(keys));
	policy = settings_policy(s);
	/* It asserts its requirements. */
	if (opens_lock(s->command))
		lock_init(&lock, &policy);
}

/* The same arguments as a line that is completed at its end. */
static void check_complete(char *name, char *const argv[], int args, bool is_after_space)
{
	char *words[WORDS + 2] = {name}, empty[] = "";
	struct complete c;

	for (int i = 0; i < args; i++)
		words[i + 1] = argv[i];
	if (is_after_space)
		words[++args] = empty;
	complete_read(&c, words);
	FUZZ_CHECK(c.word == words[args]);
	FUZZ_CHECK(c.typed >= c.word && c.typed <= c.word + strlen(c.word));
	FUZZ_CHECK((c.place == COMPLETE_VALUE) == (c.kinds != NULL));
	FUZZ_CHECK(c.first <= args && (c.place == COMPLETE_COMMAND_LINE) == (c.first > 0));
	for (int i = 0; i < option_rows_count; i++)
		FUZZ_CHECK(!c.is_given[i] || option_is_of(&option_rows[i], c.command->id));
}

/* A subcommand, its arguments, and after an empty line the environment. */
void fuzz_options(const uint8_t *data, size_t len)
{
	static struct settings s;
	struct bytes b = {data, data + len};
	char *argv[WORDS], *envp[WORDS], *name = fuzz_line(&b, 20);
	const struct command_row *row = command_find(name);
	int args = take_words(&b, argv, WORDS), envs = take_words(&b, envp, WORDS);
	struct err e = {0};

	(void)command_nearest(name);
	check_complete(name, argv, args, false);
	check_complete(name, argv, args, true);
	if (row && row->id != COMMAND_HELP && row->id != COMMAND_VERSION) {
		int operands;

		settings_init(&s, row->id);
		operands = options_read(&s, 0, argv, envp, &e);
		FUZZ_CHECK(operands <= args);
		if (operands < 0)
			check_err(&e);
		else if (!s.help && !s.version && settings_finish(&s, &e) < 0)
			check_err(&e);
		else if (!s.help && !s.version)
			check_settings(&s);
	}
	for (int i = 0; i < args; i++)
		free(argv[i]);
	for (int i = 0; i < envs; i++)
		free(envp[i]);
	free(name);
}

/* A line of arguments for the subcommand, and the text of its file. */
void fuzz_config(const uint8_t *data, size_t len)
{
	static struct settings s;
	static struct config_file c;
	struct bytes b = {data, data + len};
	char *profile = fuzz_line(&b, 40), shown[8192], *text;
	char *argv[] = {"-k", "key", "--profile", profile, "true", NULL}, *envp[] = {NULL};
	size_t left = (size_t)(b.end - b.at);
	struct err e = {0};

	text = malloc(left + 1);
	FUZZ_CHECK(text);
	memcpy(text, b.at, left);
	text[left] = '\0';
	memset(&c, 0, sizeof(c)); /* it points into the text of the last run */
	settings_init(&s, COMMAND_RUN);
	if (options_read(&s, 0, argv, envp, &e) < 0 ||
		config_file_parse(&c, "file", text, left, &e) < 0)
		check_err(&e);
	else if (options_read_config(&s, &c, &e) < 0 || settings_finish(&s, &e) < 0)
		check_err(&e);
	else
		check_settings(&s);
	config_file_profiles(&c, shown, sizeof(shown));
	fuzz_check_clean(shown);
	for (int i = 0; i < option_rows_count; i++)
		if (option_is_of(&option_rows[i], COMMAND_CONFIG) &&
			option_value(shown, sizeof(shown), &s, &option_rows[i]))
			fuzz_check_clean(shown);
	free(text);
	free(profile);
}
