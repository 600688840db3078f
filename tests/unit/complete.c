/* complete: the place of the cursor on a command line. */
#include "cli/complete.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX 12

/* `line`: the words after `redlock`, separated by '|'. */
static const struct complete *read_line(const char *line)
{
	static char words[512];
	static struct complete c;
	char *argv[WORDS_MAX + 1] = {NULL}, *rest = words;

	snprintf(words, sizeof(words), "%s", line);
	for (int n = 0; n < WORDS_MAX && rest; n++)
		argv[n] = strsep(&rest, "|");
	complete_read(&c, argv);
	return &c;
}

TEST(complete_places)
{
	static const struct {
		const char *line;
		enum complete_place place;
	} cases[] = {
		{"", COMPLETE_COMMAND},
		{"ru", COMPLETE_COMMAND},
		{"--ve", COMPLETE_COMMAND},
		{"frobnicate|", COMPLETE_NOTHING},
		{"|", COMPLETE_NOTHING},
		{"run|-", COMPLETE_OPTION},
		{"run|--", COMPLETE_OPTION},
		{"run|--key", COMPLETE_OPTION},
		{"run|-k", COMPLETE_OPTION},
		{"run|-n", COMPLETE_OPTION},
		{"run|-n=", COMPLETE_OPTION},
		{"run|-nk|", COMPLETE_VALUE},
		{"run|--key|", COMPLETE_VALUE},
		{"run|--key|--", COMPLETE_VALUE},
		{"run|--key|x|--", COMPLETE_OPTION},
		{"run|--nonsense|", COMPLETE_COMMAND_LINE},
		{"run|--password|", COMPLETE_COMMAND_LINE},
		{"doctor|", COMPLETE_OPTION},
		{"doctor|x", COMPLETE_VALUE},
		{"doctor|x|", COMPLETE_OPTION},
		{"doctor|-k|x|y", COMPLETE_NOTHING},
		{"gate|--|", COMPLETE_COMMAND_LINE},
		{"wait|", COMPLETE_VALUE},
		{"wait|x", COMPLETE_VALUE},
		{"wait|-", COMPLETE_OPTION},
		{"wait|x|", COMPLETE_OPTION},
		{"wait|x|y", COMPLETE_NOTHING},
		{"wait|x|-", COMPLETE_OPTION},
		{"wait|x|--wait|", COMPLETE_VALUE},
		{"wait|x|--|", COMPLETE_NOTHING},
		{"wait|--|", COMPLETE_VALUE},
		{"wait|--|-", COMPLETE_VALUE},
		{"wait|--|x|", COMPLETE_NOTHING},
		{"wait|-k|x|", COMPLETE_OPTION},
		{"wait|-k|x|y", COMPLETE_NOTHING},
		{"wait|-kx|-", COMPLETE_OPTION},
		{"status|x|", COMPLETE_VALUE},
		{"status|x|--limit|3|", COMPLETE_VALUE},
		{"status|-k|x|", COMPLETE_VALUE},
		{"status|x|-", COMPLETE_OPTION},
		{"acquire|-k|--|", COMPLETE_OPTION},
		{"version|", COMPLETE_NOTHING},
		{"version|-", COMPLETE_NOTHING},
		{"completion|", COMPLETE_VALUE},
		{"completion|zsh|", COMPLETE_NOTHING},
		{"help|", COMPLETE_TOPIC},
		{"help|--", COMPLETE_TOPIC},
		{"help|--all|", COMPLETE_TOPIC},
		{"help|run|", COMPLETE_NOTHING},
		{"help|run|-", COMPLETE_ALL},
		{"help|--ttl|-", COMPLETE_NOTHING},
		{"help|run|--all|-", COMPLETE_NOTHING},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (!CHECK_INT(read_line(cases[i].line)->place, cases[i].place))
			CHECK_TEXT(cases[i].line, "");
}

TEST(complete_no_words)
{
	char *none[] = {NULL};
	struct complete c;

	complete_read(&c, none);
	CHECK_INT(c.place, COMPLETE_COMMAND);
	CHECK_TEXT(c.word, "");
	CHECK_TEXT(c.typed, "");
}

TEST(complete_values)
{
	static const struct {
		const char *line, *kinds, *typed;
	} cases[] = {
		{"run|--ttl|3", "D", "3"},
		{"run|--ttl=3", "D", "3"},
		{"run|-t3", "D", "3"},
		{"run|-nt3", "D", "3"},
		{"run|-nt|", "D", ""},
		{"run|--timeout=", "D", ""},
		{"run|-k|-x|-t|", "D", ""},
		{"run|-k=x|--log=sy", "stderr|syslog|FILE", "sy"},
		{"run|--profile=a=b", "PROFILE", "a=b"},
		{"run|-ka b", "KEY", "a b"},
		{"gate|--fence|", "N", ""},
		{"completion|z", "bash|zsh|fish", "z"},
		{"status|-v|d", "KEY", "d"},
		{"status|--|-v", "KEY", "-v"},
		{"status|a|b|", "KEY", ""},
		{"run|--node|redi", "redis://|rediss://|unix://", "redi"},
		{"run|--node=redis://a", "HOST", "a"},
		{"run|--node|rediss://user:pass@a", "HOST", "a"},
		{"run|--node|unix:///run/a@b", "FILE", "/run/a@b"},
		{"run|--nodes|redis://a,unix://b c", "redis://|rediss://|unix://", "c"},
		{"run|--nodes|redis://a,unix://b", "FILE", "b"},
		{"run|--node|redis://a,u", "HOST", "a,u"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct complete *c = read_line(cases[i].line);

		if (!CHECK_INT(c->place, COMPLETE_VALUE))
			continue;
		CHECK_TEXT(c->kinds, cases[i].kinds);
		CHECK_TEXT(c->typed, cases[i].typed);
	}
}

TEST(complete_command_lines)
{
	static const struct {
		const char *line;
		int first;
	} cases[] = {
		{"run|", 1},
		{"run|-k|x|", 3},
		{"run|-k|x|--|", 4},
		{"run|-k|x|--|--l", 4},
		{"run|-n|a|--|--l", 2},
		{"sandbox|", 1},
		{"gate|--|--|", 2},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct complete *c = read_line(cases[i].line);

		CHECK_INT(c->place, COMPLETE_COMMAND_LINE);
		CHECK_INT(c->first, cases[i].first);
	}
}

TEST(complete_config)
{
	CHECK(read_line("run|--profile|")->config == NULL);
	CHECK_TEXT(read_line("run|--config|a|-v|--profile|")->config, "a");
	CHECK_TEXT(read_line("run|--config=a=b|--config=c|--profile=")->config, "c");
	CHECK(read_line("run|--|--config=a|--profile=")->config == NULL);
	CHECK(read_line("run|-k|--config|--profile|")->config == NULL);
}

static bool is_wanted(const char *line, const char *name)
{
	const struct complete *c = read_line(line);

	return complete_wants(c, option_find(c->command->id, name));
}

TEST(complete_offers_an_option_once)
{
	CHECK(is_wanted("run|-", "no-wait"));
	CHECK(!is_wanted("run|-n|-", "no-wait"));
	CHECK(!is_wanted("run|--nb|-", "no-wait"));
	CHECK(!is_wanted("run|-xn|-", "no-wait"));
	CHECK(is_wanted("run|--no-wait", "no-wait"));
	CHECK(is_wanted("run|--ttl", "ttl"));
	CHECK(!is_wanted("run|--ttl=3|-", "ttl"));
	CHECK(!is_wanted("run|-t|3|-", "ttl"));
	CHECK(is_wanted("run|-k|--ttl|-", "ttl"));
	/* these add up */
	CHECK(is_wanted("run|-k|x|-v|--node=a|--nodes=b|-", "key"));
	CHECK(is_wanted("run|-k|x|-v|--node=a|--nodes=b|-", "verbose"));
	CHECK(is_wanted("run|-k|x|-v|--node=a|--nodes=b|-", "node"));
	CHECK(is_wanted("run|-k|x|-v|--node=a|--nodes=b|-", "nodes"));
	/* never on a command line, or not of this subcommand */
	CHECK(!is_wanted("run|-", "password"));
	CHECK(!is_wanted("run|-", "follow"));
}

TEST(complete_letters)
{
	CHECK(!read_line("run|-")->is_letters);
	CHECK(!read_line("run|--no-wait")->is_letters);
	CHECK(!read_line("run|-Z")->is_letters);
	CHECK(!read_line("run|-nZ")->is_letters);
	CHECK(read_line("run|-ne")->is_letters);
	CHECK(!read_line("run|-ne")->is_full);
	CHECK(read_line("run|-nk")->is_letters);
	CHECK(read_line("run|-nk")->is_full);
	CHECK(!is_wanted("run|-n", "no-wait"));
	CHECK(is_wanted("run|-v", "verbose"));
}
