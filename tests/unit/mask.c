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
		{"redis://app:s3=cret@a/1?b=c", "redis://***@a/1?***"},
		{"rediss://:s3c@r/e:t@a:1", "rediss://***@a:1"}, {"app:s3cret@a", "***@a"},
		{"redis://s3cret@a:1", "redis://***@a:1"},
		{"redis://a/?db=1&password=s3cret", "redis://a/?***"},
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

/* No part of "s3cret" is shown. */
TEST(url_hides_what_can_be_a_secret)
{
	static const struct {
		const char *url, *want;
	} cases[] = {
		/* with an '@' */
		{"redis://u:s3cret@a:1/2", "redis://***@a:1/2"},
		{"redis://s3cret@a", "redis://***@a"},
		{"redis://:s3cret@a/x", "redis://***@a/x"},
		{"redis://u:s3@cret@a", "redis://***@a"},
		{"redis://u:p@s3cret@a:x", "redis://***@a:x"},
		{"redis://u:s3cret@", "redis://***@"},
		{"redis://u:s3/c?r#et@[::1]:7", "redis://***@[::1]:7"},
		{"redis://u:s3%63ret%40x@a", "redis://***@a"},
		{"redis://u:p@h:1:s3cret", "redis://***@h:***"},
		{"redis://u:p@h/s3cret", "redis://***@h/***"},
		{"redis:///u:s3cret@a", "redis://***@a"},
		{"unix://u:s3cret@/s?db=1", "unix://***@/s?db=1"},
		{"unix://s3cret@s", "unix://***@s"},
		{"http://u:s3cret@a", "http://***@a"},
		{"u:s3cret@a", "***@a"},
		{"s3cret@a", "***@a"},
		{":s3cret@a:700l", "***@a:700l"},
		{"redis:/u:s3cret@a:x", "redis:/***@a:x"},
		{"redis:u:s3cret@a", "***@a"},
		{"redis//s3cret@a", "redis//***@a"},
		{"rediss//u:s3cret@a", "rediss//***@a"},
		{"redis+tls://u:s3cret@a", "***@a"},
		{"\"redis://u:s3cret@a\"", "\"redis://***@a\""},
		{"\"redis://u:s3cret", "\"redis://u:***"},
		{"'u:s3cret'", "'u:***"},
		{"redis://a;redis://u:s3cret@b", "redis://***@b"},
		{"redis://u:s3cret@b;redis://c", "redis://***@b***"},
		/* the '@' or the host is forgotten */
		{"redis://u:s3cret", "redis://u:***"},
		{"redis://:s3cret", "redis://:***"},
		{"redis://u:12/s3cret", "redis://u:12/***"},
		{"redis://127.0.0.1/s3cret", "redis://127.0.0.1/***"},
		{"redis://127.0.0.1:s3cret", "redis://127.0.0.1:***"},
		{"redis://a:6379:s3cret", "redis://a:***"},
		{"redis://a:123456", "redis://a:***"},
		{"redis://a:s3cret:6379", "redis://a:***"},
		{"redis://ab:12:deadbeef", "redis://ab:***"},
		{"redis://a/0/s3cret", "redis://a/0/***"},
		{"redis://a/1s3cret", "redis://a/***"},
		{"redis://a/12345678", "redis://a/***"},
		{"redis://a/?password=s3cret", "redis://a/?***"},
		{"redis://a?password=s3cret", "redis://a?***"},
		{"redis://a:1?db=1&s3cret", "redis://a:1?***"},
		{"redis://a:1#s3cret", "redis://a:1#***"},
		{"redis://a:1=s3cret", "redis://a:***"},
		{"redis://password=s3cret", "redis://password***"},
		{"redis://u:s3cret%40a", "redis://u:***"},
		{"redis://a;u:s3cret", "redis://a***"},
		{"redis://[::1:s3cret", "redis://[:***"},
		{"redis://[::1]s3cret", "redis://[::1]***"},
		{"redis://[::1]:s3cret", "redis://[::1]:***"},
		{"redis://[s3cret]:1", "redis://[***"},
		{"redis://[::1]:1/s3cret", "redis://[::1]:1/***"},
		{"redis:s3cret", "redis:***"},
		{"redis:/u:s3cret", "redis:/u:***"},
		{"redis//u:s3cret", "redis//u:***"},
		{"redis:///s3cret", "redis:///***"},
		{"u:s3cret", "u:***"},
		{":s3cret", ":***"},
		{"u:s3cret://more", "u:***"},
		{"/run/s?password=s3cret", "/run/s?***"},
		{"unix:///run/s?db=1&x=s3cret", "unix:///run/s?***"},
		{"unix:///run/s?db=1?s3cret", "unix:///run/s?db=1?***"},
		{"unix://u:s3cret", "unix://u:***"},
		/* nothing can be a secret */
		{"", ""},
		{"redis://a", "redis://a"},
		{"redis://a/", "redis://a/"},
		{"redis://a:1/15", "redis://a:1/15"},
		{"redis://a:700l", "redis://a:700l"},
		{"redis://a:-1", "redis://a:-1"},
		{"redis://a:99999", "redis://a:99999"},
		{"redis://[::1]:6379/1", "redis://[::1]:6379/1"},
		{"redis://[fe80::1%eth0]:6379", "redis://[fe80::1%eth0]:6379"},
		{"redis://[::ffff:10.0.0.1]", "redis://[::ffff:10.0.0.1]"},
		{"redis://[::1", "redis://[::1"},
		{"::1", "::1"},
		{"fe80::1:6379", "fe80::1:6379"},
		{"redis://1:2:3:4:5:6:7:8", "redis://1:2:3:4:5:6:7:8"},
		{"redis:/a", "redis:/a"},
		{"redis//a:1", "redis//a:1"},
		{"http://a:80", "http://a:80"},
		{"://a", "://a"},
		{"a.example.org:6380", "a.example.org:6380"},
		{"h\xc3\xb6st", "h\xc3\xb6st"},
		{"/run/a:b@c.sock", "/run/a:b@c.sock"},
		{"unix:///run/a@b?db=2", "unix:///run/a@b?db=2"},
		{"unix:/run/redis.sock", "unix:/run/redis.sock"},
		{"a\x1b[2J", "a\\x1b[2J"},
	};
	char shown[200];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *url = cases[i].url;

		CHECK_TEXT(mask_escape_url(shown, sizeof(shown), url), cases[i].want);
		unit_check(!strstr(shown, "s3") && !strstr(shown, "cret"), __FILE__, __LINE__,
			"'%s' shows '%s'", url, shown);
	}
}

/* The words of a command line that look like such a URL are masked in the same way. */
TEST(words_hide_what_can_be_a_secret_in_a_url)
{
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"redis://u:s3cret", "redis://u:***"},
		{"--nodes=redis://a:1,redis://u:s3cret", "--nodes=redis://a:***"},
		{"redis://127.0.0.1/s3cret", "redis://127.0.0.1/***"},
		{"REDISS://s3cret@a", "REDISS://***@a"},
		{"redis//u:s3cret@a", "redis//***@a"},
		{"redis:lock:5", "redis:lock:5"},
		{"unix:///run/a", "unix:///run/a"},
		{"https://host:8080/path", "https://host:8080/path"},
		{"PASSWORD=redis://a", "PASSWORD=***"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char shown[200];
		size_t used = 0;

		mask_append_word(shown, sizeof(shown), &used, cases[i].word);
		CHECK_TEXT(shown, cases[i].want);
	}
}
