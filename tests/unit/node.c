/* node: servers as users name them. */
#include "cli/node.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

TEST(node_accepts)
{
	static const struct {
		const char *url;
		enum node_kind kind;
		const char *host;
		int port, db;
		const char *user, *password, *label;
	} cases[] = {
		{"redis://a", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"REDIS://a", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"redis://a/", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"redis://a:1", NODE_TCP, "a", 1, 0, "", "", "redis://a:1"},
		{"redis://a:65535/15", NODE_TCP, "a", 65535, 15, "", "", "redis://a:65535/15"},
		{"redis://a/0", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"redis://a/1000000", NODE_TCP, "a", 6379, 1000000, "", "",
			"redis://a:6379/1000000"},
		{"redis://u:p@a:7/2", NODE_TCP, "a", 7, 2, "u", "p", "redis://a:7/2"},
		{"redis://:p@a", NODE_TCP, "a", 6379, 0, "", "p", "redis://a:6379"},
		{"redis://u@a", NODE_TCP, "a", 6379, 0, "u", "", "redis://a:6379"},
		{"redis://u:@a", NODE_TCP, "a", 6379, 0, "u", "", "redis://a:6379"},
		{"redis://@a", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"redis://u:p:q@a", NODE_TCP, "a", 6379, 0, "u", "p:q", "redis://a:6379"},
		{"redis://u:p@q@a", NODE_TCP, "a", 6379, 0, "u", "p@q", "redis://a:6379"},
		{"redis://u:p/q?r#s@a", NODE_TCP, "a", 6379, 0, "u", "p/q?r#s", "redis://a:6379"},
		{"redis://%75%3A:%40%2f%C3%bc%25@a", NODE_TCP, "a", 6379, 0, "u:", "@/\xc3\xbc%",
			"redis://a:6379"},
		{"rediss://a", NODE_TCP, "a", 6379, 0, "", "", "rediss://a:6379"},
		{"REDISS://u:p@a:7/2", NODE_TCP, "a", 7, 2, "u", "p", "rediss://a:7/2"},
		{"rediss://[::1]:7", NODE_TCP, "::1", 7, 0, "", "", "rediss://[::1]:7"},
		{"u:p@a:7", NODE_TCP, "a", 7, 0, "u", "p", "redis://a:7"},
		{"a", NODE_TCP, "a", 6379, 0, "", "", "redis://a:6379"},
		{"a.example.org:6380", NODE_TCP, "a.example.org", 6380, 0, "", "",
			"redis://a.example.org:6380"},
		{"127.0.0.1:6380/3", NODE_TCP, "127.0.0.1", 6380, 3, "", "",
			"redis://127.0.0.1:6380/3"},
		{"[::1]:6380", NODE_TCP, "::1", 6380, 0, "", "", "redis://[::1]:6380"},
		{"[2001:DB8::1]", NODE_TCP, "2001:DB8::1", 6379, 0, "", "",
			"redis://[2001:DB8::1]:6379"},
		{"redis://u:p@[fe80::1%eth0]:7/1", NODE_TCP, "fe80::1%eth0", 7, 1, "u", "p",
			"redis://[fe80::1%eth0]:7/1"},
		{"redis://[fe80::1%25eth0]:7", NODE_TCP, "fe80::1%eth0", 7, 0, "", "",
			"redis://[fe80::1%eth0]:7"},
		{"[fe80::1%25]", NODE_TCP, "fe80::1%25", 6379, 0, "", "",
			"redis://[fe80::1%25]:6379"},
		{"[::ffff:10.0.0.1]", NODE_TCP, "::ffff:10.0.0.1", 6379, 0, "", "",
			"redis://[::ffff:10.0.0.1]:6379"},
		{"unix:///run/redis.sock", NODE_UNIX, "/run/redis.sock", 0, 0, "", "",
			"unix:///run/redis.sock"},
		{"unix:///run/redis.sock?db=2", NODE_UNIX, "/run/redis.sock", 0, 2, "", "",
			"unix:///run/redis.sock?db=2"},
		{"UNIX://u:p@/r?db=0", NODE_UNIX, "/r", 0, 0, "u", "p", "unix:///r"},
		{"unix:///run/a@b", NODE_UNIX, "/run/a@b", 0, 0, "", "", "unix:///run/a@b"},
		{"/run/redis.sock", NODE_UNIX, "/run/redis.sock", 0, 0, "", "",
			"unix:///run/redis.sock"},
		{"/run/redis.sock?db=4", NODE_UNIX, "/run/redis.sock", 0, 4, "", "",
			"unix:///run/redis.sock?db=4"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node node, again;
		struct err e = {.text = ""};

		memset(&node, 0x5a, sizeof(node));
		if (!unit_check(node_parse(cases[i].url, &node, &e) == 0, __FILE__, __LINE__,
			    "'%s': %s", cases[i].url, e.text))
			continue;
		CHECK_INT(node.kind, cases[i].kind);
		CHECK_TEXT(node.host, cases[i].host);
		CHECK_INT(node.port, cases[i].port);
		CHECK_INT(node.db, cases[i].db);
		CHECK_TEXT(node.user, cases[i].user);
		CHECK_TEXT(node.password, cases[i].password);
		CHECK_TEXT(node.label, cases[i].label);
		CHECK_INT(node.is_tls, strncmp(node.label, "rediss", 6) == 0);
		/* The label is a valid URL. */
		CHECK_INT(node_parse(node.label, &again, &e), 0);
		CHECK_TEXT(again.label, node.label);
	}
}

TEST(node_refuses)
{
	static const struct {
		const char *url, *why;
	} cases[] = {
		{"", "the host is missing"},
		{"redis://", "the host is missing"},
		{"redis:///1", "the host is missing"},
		{"redis://:6379", "the host is missing"},
		{"redis://u:p@", "the host is missing"},
		{"[]:6379", "the host is missing"},
		{"rediss://.example.org", "a host name does not begin with '.'"},
		{"http://a", "the scheme must be"},
		{"://a", "the scheme must be"},
		{"redisss://a", "the scheme must be"},
		{"redis+unix://a", "the scheme must be"},
		{"rediss://", "the host is missing"},
		{"a:", "the port must be"},
		{"redis:x", "the port must be"},
		{"redis:/a", "'://' must follow the scheme"},
		{"redis//", "'://' must follow the scheme"},
		{"redis//a", "'://' must follow the scheme"},
		{"Rediss:/a:1", "'://' must follow the scheme"},
		{"http//a", "'://' must follow the scheme"},
		{"tcp//a:1", "'://' must follow the scheme"},
		{"https:/a", "'://' must follow the scheme"},
		{"unix:x", "the port must be"},
		{"unix:/run/redis.sock", "a unix socket is unix:///path"},
		{"unix:redis.sock/1", "a unix socket is unix:///path"},
		{"unix://run/redis.sock", "the path of a unix socket must start with '/'"},
		{"a:0", "the port must be"},
		{"\"redis://a", "it begins with a quote"},
		{"'a", "it begins with a quote"},
		{"redis://a;redis://b", "a list separates nodes by"},
		{"a:65536", "the port must be"},
		{"a:-1", "the port must be"},
		{"a:+1", "the port must be"},
		{"a:6379x", "the port must be"},
		{"a:99999999999999999999", "the port must be"},
		{"[::1]:", "the port must be"},
		{"a/x", "the database must be"},
		{"a/-1", "the database must be"},
		{"a/1/2", "the database must be"},
		{"a/1000001", "the database must be"},
		{"a/1?x", "the database must be"},
		{"/s?db=", "the database must be"},
		{"/s?db=x", "the database must be"},
		{"/s?x=1", "only db=N"},
		{"/s?", "only db=N"},
		{"unix://s", "must start with '/'"},
		{"unix://", "must start with '/'"},
		{"unix://u:p@s", "must start with '/'"},
		{"::1", "must be in brackets"},
		{"fe80::1:6379", "must be in brackets"},
		{"a:1:2", "must be in brackets"},
		{"[::1", "the ']' is missing"},
		{"[::1]6379", "only :port"},
		{"[::g]", "must enclose an IPv6"},
		{"[host]", "must enclose an IPv6"},
		{"a b", "a character that no host name has"},
		{"a?db=1", "a character that no host name has"},
		{"a#1", "a character that no host name has"},
		{"a'b", "a character that no host name has"},
		{"h\xc3\xb6st", "a character that no host name has"},
		{"a\nb", "a control character"},
		{"unix:///a\xc2\x9b[31m", "a control character"},
		{"unix:///a\xe2\x80\xae", "a control character"},
		{"unix:///a\x9b", "not UTF-8"},
		{"a\x7f", "a control character"},
		{"redis://u:%@a", "must start an escape"},
		{"redis://u:%4@a", "must start an escape"},
		{"redis://u:%4g@a", "must start an escape"},
		{"redis://%zz:p@a", "must start an escape"},
		{"redis://u:%00@a", "must start an escape"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node node;
		struct err e = {.text = ""};

		unit_check(
			node_parse(cases[i].url, &node, &e) == -1 && strstr(e.text, cases[i].why),
			__FILE__, __LINE__, "'%s': '%s', not '%s'", cases[i].url, e.text,
			cases[i].why);
		CHECK_INT(e.kind, ERR_CONFIG);
		CHECK(e.hint[0] != '\0');
	}
}

/* `pattern` with the '*' replaced by `count` times `c`. */
static const char *stretched(const char *pattern, char c, int count)
{
	static char text[4096];
	const char *star = strchr(pattern, '*');
	int before = (int)(star - pattern);

	memcpy(text, pattern, (size_t)before);
	memset(text + before, c, (size_t)count);
	snprintf(text + before + count, sizeof(text) - (size_t)(before + count), "%s", star + 1);
	return text;
}

TEST(node_lengths)
{
	static const struct {
		const char *pattern;
		int longest;
		const char *why;
	} cases[] = {
		{"redis://*", 255, "the host name is too long"},
		{"redis://*:1@a", 255, "user or password is too long"},
		{"redis://u:*@a", 255, "user or password is too long"},
		{"/*", 106, "can have 107 characters"},
		{"unix://u:p@/*?db=1", 106, "can have 107 characters"},
		{"redis://a/*", 1013, "it is too long"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node node;
		struct err e;

		if (i + 1 < COUNT_OF(cases))
			CHECK_INT(node_parse(stretched(cases[i].pattern, 'x', cases[i].longest),
					  &node, &e),
				0);
		CHECK_INT(node_parse(stretched(cases[i].pattern, 'x', cases[i].longest + 1), &node,
				  &e),
			-1);
		unit_check(strstr(e.text, cases[i].why) != NULL, __FILE__, __LINE__, "%s", e.text);
	}
	CHECK_INT(
		node_parse(stretched("redis://u:*@a", '%', 3), &(struct node){0}, &(struct err){0}),
		-1);
}

static const char *const malformed[] = {
	"redis://u:s3cret@",
	"redis://:s3cret@",
	"redis://u:s3cret@a:x",
	"redis://u:s3cret@a:0",
	"redis://u:s3cret@a/x",
	"redis://u:s3cret@[::1",
	"redis://u:s3cret@::1",
	"redis://u:s3cret@a b",
	"redis://u:s3cret%@a",
	"redis://u:%zzs3cret@a",
	"redis://s3cret%:x@a",
	"redis://u:s3cret@x@",
	"redis://u:x@s3cret@a:x",
	"redis://u:s3cret\n@a",
	"redis://u:s3cret\x1b[2J@a:x",
	"rediss://u:s3cret@a:x",
	"http://u:s3cret@a",
	"redis:/u:s3cret@a:x",
	"redis:u:s3cret@a:x",
	"u:s3cret@a:x",
	":s3cret@a:x",
	"unix://u:s3cret@s",
	"unix://u:s3cret@/s?x",
	"redis://u:s3cret/s3cret@a:x",
	"redis://u:s3cret://s3cret@a:x",
};

TEST(node_never_shows_a_password)
{
	for (size_t i = 0; i < COUNT_OF(malformed); i++) {
		struct node node;
		struct err e = {.text = ""};

		unit_check(node_parse(malformed[i], &node, &e) == -1, __FILE__, __LINE__,
			"'%s' was accepted", malformed[i]);
		unit_check(!strstr(e.text, "s3cret") && !strstr(e.hint, "s3cret"), __FILE__,
			__LINE__, "'%s': %s", malformed[i], e.text);
		unit_check(!strchr(e.text, '\x1b') && !strchr(e.text, '\n'), __FILE__, __LINE__,
			"'%s' is shown raw", malformed[i]);
	}
	for (int n = 0; n < 3; n++) {
		const char *url = stretched("redis://u:s3cret*@a", 'x', n * 500 + 250);
		struct node node;
		struct err e = {.text = ""};

		CHECK_INT(node_parse(url, &node, &e), -1);
		CHECK(!strstr(e.text, "s3cret"));
	}
}

/* The '@' is missing: a separator cut the password off from it, or the user forgot the host. */
TEST(node_never_shows_a_password_without_its_host)
{
	static const char *const lists[] = {
		"redis://u:s3cret,more@a",
		"redis://u:s3cret more@a",
		"redis://:s3cret,@a",
		"u:s3cret,more@a",
		"redis://u:s3cret",
		"redis://:s3cret",
		"u:s3cret",
		"u:s3cret://more@a",
		"u:s3cret:more",
		"rediss://u:s3cret",
	};

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		struct node_list list = {.count = 0};
		struct err e = {.text = ""};

		CHECK(node_list_add(&list, lists[i], &e) == -1);
		unit_check(!strstr(e.text, "s3cret") && !strstr(e.hint, "s3cret"), __FILE__,
			__LINE__, "'%s': %s", lists[i], e.text);
	}
	/* The malformed URLs, cut into pieces at the separators. */
	for (size_t i = 0; i < COUNT_OF(malformed); i++) {
		struct node_list list = {.count = 0};
		struct err e = {.text = ""};

		/* no error if a piece is a valid host name */
		(void)node_list_add(&list, malformed[i], &e);
		unit_check(
			!strstr(e.text, "s3cret"), __FILE__, __LINE__, "case %zu: %s", i, e.text);
	}
	for (int n = 0; n < 3; n++) {
		struct node_list list = {.count = 0};
		struct err e = {.text = ""};

		CHECK(node_list_add(&list, stretched("redis://u:s3cret*@a", 'x', 1000 + 500 * n),
			      &e) == -1);
		unit_check(!strstr(e.text, "s3cret"), __FILE__, __LINE__, "%s", e.text);
	}
}

TEST(node_list_finds_a_node_with_tls)
{
	struct node_list list = {.count = 0};
	struct err e;

	CHECK(!node_list_find_tls(&list));
	CHECK_INT(node_list_add(&list, "a redis://b unix:///c", &e), 0);
	CHECK(!node_list_find_tls(&list));
	CHECK_INT(node_list_add(&list, "rediss://d rediss://e", &e), 0);
	CHECK(node_list_find_tls(&list) == &list.node[3]);
	/* A port speaks either TLS or plain text. */
	CHECK_INT(node_list_add(&list, "rediss://a", &e), -1);
	CHECK_TEXT(e.text, "node 'rediss://a:6379' is named twice");
}

TEST(node_list_separators)
{
	struct node_list list = {.count = 0};
	struct err e;

	CHECK(node_list_add(&list, " ,\t\r\n", &e) == 0);
	CHECK_INT(list.count, 0);
	CHECK(node_list_add(&list, " a,b c\td\ne\r\nf ,, g,", &e) == 0);
	CHECK_INT(list.count, 7);
	for (int i = 0; i < list.count; i++) {
		char want[] = "redis://?:6379";

		want[8] = (char)('a' + i);
		CHECK_TEXT(list.node[i].label, want);
	}
	CHECK(node_list_add(&list, "h", &e) == 0);
	CHECK_INT(list.count, 8);
	CHECK_TEXT(list.node[7].host, "h");
	CHECK(node_list_add(&list, "i,:x", &e) == -1);
	CHECK_INT(e.kind, ERR_CONFIG);
}

TEST(node_list_refuses_a_server_twice)
{
	static const struct {
		const char *urls;
		bool twice;
	} cases[] = {
		{"a a", true},
		{"a A", true},
		{"a redis://a:6379", true},
		{"redis://a/1 redis://a/2", true},
		{"redis://u:p@a redis://x:y@a", true},
		{"[::1] redis://[::1]:6379/3", true},
		{"[2001:db8::a] [2001:DB8::A]", true},
		{"b c a d a", true},
		{"/s unix:///s", true},
		{"/s unix:///s?db=1", true},
		{"a b", false},
		{"a a:6380", false},
		{"/s /S", false},
		{"/s /t", false},
		{"a /a", false},
		{"[::1] [::2]", false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node_list list = {.count = 0};
		struct err e = {.text = ""};
		int rc = node_list_add(&list, cases[i].urls, &e);

		unit_check(rc == (cases[i].twice ? -1 : 0), __FILE__, __LINE__, "'%s': %d %s",
			cases[i].urls, rc, e.text);
		if (!cases[i].twice)
			continue;
		CHECK_INT(e.kind, ERR_CONFIG);
		CHECK(strstr(e.text, "is named twice") != NULL);
		CHECK(strstr(e.text, list.node[0].kind == NODE_UNIX ? "unix:///s" : "redis://"));
		CHECK(!strstr(e.text, "x:y"));
	}
}

static uint64_t hash_of(const char *urls)
{
	struct node_list list = {.count = 0};
	struct err e;

	CHECK(node_list_add(&list, urls, &e) == 0);
	return node_list_hash(&list);
}

TEST(node_list_fingerprint_is_that_of_the_set_with_databases)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{"a b c", "c,a,b", true},
		{"redis://u:s3cret@a redis://b", "b redis://:other@a:6379", true},
		{"a b", "a", false},
		{"a/1 b", "a b", false},
		{"rediss://a", "a", false},
		{"/tmp/a", "unix:///tmp/a?db=1", false},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char a[FINGERPRINT_MAX], b[FINGERPRINT_MAX];
		struct node_list list[2] = {{0}, {0}};
		struct err e;

		CHECK_INT(node_list_add(&list[0], pairs[i].a, &e), 0);
		CHECK_INT(node_list_add(&list[1], pairs[i].b, &e), 0);
		unit_check((strcmp(node_list_fingerprint(a, &list[0]),
				    node_list_fingerprint(b, &list[1])) == 0) == pairs[i].same,
			__FILE__, __LINE__, "%s and %s", pairs[i].a, pairs[i].b);
	}
}

TEST(node_list_hash_is_that_of_the_set)
{
	CHECK(hash_of("a b c") == hash_of("redis://c,redis://user:password@a:6379 b"));
	CHECK(hash_of("a b c") != hash_of("a b"));
	CHECK(hash_of("a b c") != hash_of("a b c/1"));
	CHECK(hash_of("a") != hash_of("rediss://a"));
	CHECK(hash_of("") != 0);
}

TEST(node_list_has_room_for_15)
{
	struct node_list list = {.count = 0};
	struct err e;

	for (int i = 0; i < NODES_MAX; i++) {
		char url[] = "node?";

		url[4] = (char)('a' + i);
		CHECK(node_list_add(&list, url, &e) == 0);
	}
	CHECK_INT(list.count, 15);
	CHECK(node_list_add(&list, "one-more", &e) == -1);
	CHECK_INT(e.kind, ERR_CONFIG);
	CHECK_TEXT(e.text, "too many nodes: at most 15 are allowed");
	CHECK_INT(list.count, 15);
}

TEST(node_list_format_without_secrets)
{
	struct node_list list = {.count = 0}, again = {.count = 0};
	char text[512], small[24];
	struct err e;

	node_list_format(&list, text, sizeof(text));
	CHECK_TEXT(text, "");
	CHECK(node_list_add(&list, "redis://u:s3cret@a/1,unix://:s3cret@/s?db=2 [::1]:7", &e) == 0);
	node_list_format(&list, text, sizeof(text));
	CHECK_TEXT(text, "redis://a:6379/1 unix:///s?db=2 redis://[::1]:7");
	CHECK(node_list_add(&again, text, &e) == 0);
	CHECK_INT(again.count, 3);
	CHECK_TEXT(again.node[1].label, "unix:///s?db=2");
	node_list_format(&list, small, sizeof(small));
	CHECK_INT(strlen(small), sizeof(small) - 1);
}

TEST(node_urls_without_secrets)
{
	static const struct {
		const char *urls, *hidden;
	} cases[] = {
		{"redis://u:p@a", "redis://***@a"},
		{"redis://u:p@a,u:p@b:7 :x@[::1]", "redis://***@a,***@b:7 **@[::1]"},
		{"redis://u:p@q@a", "redis://*****@a"},
		{"unix://u:p@/r unix:///a@b /c@d", "unix://***@/r unix:///a@b /c@d"},
		{"a b:6379", "a b:6379"},
		{"", ""},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char urls[100];

		snprintf(urls, sizeof(urls), "%s", cases[i].urls);
		node_list_hide(urls);
		CHECK_TEXT(urls, cases[i].hidden);
	}
}

TEST(node_user_without_a_password_may_be_one)
{
	static const struct {
		const char *url, *want;
		bool has_password;
	} cases[] = {
		{"redis://s3cret@a", "redis://***@a:6379", false},
		{"redis://app@a", "redis://app:***@a:6379", true},
		{"redis://app:@a", "redis://app@a:6379", false},
		{"redis://app:s3cret@a", "redis://app:***@a:6379", false},
		{"redis://:s3cret@a", "redis://:***@a:6379", false},
		{"redis://@a", "redis://a:6379", false},
	};
	char shown[200];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node_list list = {.count = 0}, other = {.count = 0};
		struct err e;

		CHECK_INT(node_list_add(&list, cases[i].url, &e), 0);
		if (cases[i].has_password)
			snprintf(list.node[0].password, NODE_SECRET_MAX, "p");
		node_list_show(&list, shown, sizeof(shown));
		CHECK_TEXT(shown, cases[i].want);
		/* A user of the configuration file is as secret as one of the command line. */
		CHECK_INT(node_list_add(&other, "redis://a", &e), 0);
		node_adopt_password(&other.node[0], &list.node[0]);
		CHECK_INT(node_user_is_secret(&other.node[0]), node_user_is_secret(&list.node[0]));
	}
}
