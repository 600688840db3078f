/* suggest: the nearest known word. */
#include "base/suggest.h"

#include "unit/unit.h"

#include <limits.h>

TEST(distance_counts_letters)
{
	static const struct {
		const char *a, *b;
		int want;
	} cases[] = {
		{"", "", 0},
		{"", "abc", 3},
		{"wait", "wait", 0},
		{"wait", "wiat", 1},
		{"ab", "ba", 1},
		{"wait", "wat", 1},
		{"wait", "waits", 1},
		{"wait", "bait", 1},
		{"run", "nur", 2},
		{"kitten", "sitting", 3},
		{"abcdefghijklmnopqrstuvwxyz01234", "", 31},
		{"abcdefghijklmnopqrstuvwxyz012345", "", INT_MAX},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_INT(suggest_distance(cases[i].a, cases[i].b), cases[i].want);
		CHECK_INT(suggest_distance(cases[i].b, cases[i].a), cases[i].want);
	}
}

TEST(suggest_the_nearest_word)
{
	static const char *const words[] = {"node", "nodes", "no-wait", "wait", "wipe", "release"};
	static const struct {
		const char *typed, *want;
	} cases[] = {
		{"wiat", "wait"},
		{"waif", "wait"}, /* the first of several equally near words */
		{"nodes", "nodes"}, /* rather than a word with one other letter */
		{"nodez", "node"},
		{"rel", "release"}, /* the word begins with it */
		{"no-", "no-wait"},
		{"re", "release"},
		{"r", NULL},
		{"w", NULL},
		{"", NULL},
		{"unrelated", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct suggestion n = {.typed = cases[i].typed};

		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			suggest_consider(&n, words[j]);
		CHECK_TEXT(n.word ? n.word : "none", cases[i].want ? cases[i].want : "none");
	}
}
