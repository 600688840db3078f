/* mask: arguments without their secrets. */
#include "base/mask.h"

#include "unit/unit.h"

#include <string.h>

TEST(escape_word_hides_secrets)
{
	static const struct {
		const char *word, *want;
	} cases[] = {{"", ""}, {"job", "job"}, {"-", "-"}, {"-k", "-k"}, {"--", "--"},
		{"--tlt", "--tlt"}, {"-5s", "-5s"}, {"-ps3cret", "-p..."},
		{"--password=s3cret", "--password=..."}, {"PGPASSWORD=s3cret", "PGPASSWORD=..."},
		{"=", "=..."}, {"30s password=s3cret", "30s password=..."},
		{"--nodes=redis://app:s3cret@a", "--nodes=..."},
		{"redis://app:s3=cret@a/1?b=c", "redis://***@a/1?b=c"},
		{"rediss://:s3c@r/e:t@a:1", "rediss://***@a:1"}, {"app:s3cret@a", "***@a"},
		{"redis://s3cret@a:1", "redis://***@a:1"},
		{"redis://a/?db=1&password=s3cret", "redis://a/?db=..."},
		{"unix:///a@b", "unix:///a@b"}, {"redis://a:1", "redis://a:1"},
		{"/a:b@c", "/a:b@c"}, {"a/b:c@d", "a/b:c@d"}, {"a:b/c@d", "a:b/c@d"},
		{"user@a:b", "user@a:b"}, {"a\x1b=b", "a\\x1b=..."}};
	char shown[64], longest[1000], small[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(mask_escape_word(shown, sizeof(shown), cases[i].word) == shown);
		CHECK_TEXT(shown, cases[i].want);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK_TEXT(mask_escape_word(small, sizeof(small), longest), "xxxx...");
	longest[sizeof(longest) - 2] = '=';
	CHECK_TEXT(mask_escape_word(small, sizeof(small), longest), "xxxx...");
}
