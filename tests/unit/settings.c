/* settings: defaults, and combinations that are refused. */
#include "cli/option.h"

#include "base/token.h"
#include "unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MS USEC_MSEC

/* NULL: none. */
static int set_key(struct settings *s, const char *key, struct err *e)
{
	s->names.count = 0;
	return key ? settings_add_name(s, key, e) : 0;
}

static struct settings fresh(void)
{
	struct settings s;
	struct err e;

	memset(&s, 0x5a, sizeof(s));
	settings_init(&s, COMMAND_RUN);
	CHECK_INT(set_key(&s, "k", &e), 0);
	return s;
}

TEST(settings_defaults)
{
	struct settings s = fresh();
	struct policy p;
	struct err e;

	CHECK(s.owner == NULL && s.shell == NULL);
	CHECK(!s.tls.cacert && !s.tls.cert && !s.tls.cert_key && !s.tls.sni && !s.tls.insecure);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.ttl, 30 * USEC_SEC);
	CHECK_INT(s.wait, NEVER);
	CHECK_INT(s.conflict_exit_code, 75);
	CHECK_INT(s.node_timeout, USEC_SEC);
	CHECK_INT(s.drift_permille, 100);
	CHECK_INT(s.kill_after, NEVER);
	CHECK_INT(s.grace, 3 * USEC_SEC);
	CHECK_INT(s.signal, SIGTERM);
	CHECK_INT(s.on_lost, SIGTERM);
	CHECK_INT(s.max_run, NEVER);
	CHECK_INT(s.min_hold, 0);
	CHECK_INT(s.reentrant + s.wait_descendants, 0);
	CHECK_INT(s.verbose + s.quiet + s.help + s.version, 0);
	CHECK_INT(s.nodes.count, 1);
	CHECK_TEXT(s.nodes.node[0].label, DEFAULT_NODES);
	p = settings_policy(&s);
	CHECK_INT(p.nodes, 1);
	CHECK_INT(p.ttl, 30 * USEC_SEC);
	CHECK_INT(p.drift, 3002 * MS);
	CHECK_INT(p.node_timeout, USEC_SEC);
	CHECK_INT(p.wait, NEVER);
	CHECK_INT(p.safety_margin, 3500 * MS);
	CHECK_INT(settings_deadline(&s).grace, 3 * USEC_SEC);
	CHECK_INT(settings_deadline(&s).kill_after, NEVER);
	CHECK_INT(settings_deadline(&s).signal, SIGTERM);
	CHECK_INT(settings_deadline(&s).reap, 500 * MS);
	CHECK_INT(settings_deadline(&s).on_lost, SIGTERM);
	CHECK_INT(settings_deadline(&s).max_run, NEVER);
}

/* The part of the validity that is needed to terminate the command, for each --on-lost. */
TEST(settings_safety_margin_follows_from_on_lost)
{
	static const struct {
		int on_lost;
		usec kill_after, margin;
	} cases[] = {
		{SIGTERM, NEVER, 3500 * MS},
		{SIGUSR1, NEVER, 3500 * MS},
		{SIGKILL, NEVER, 500 * MS},
		{0, NEVER, 0},
		{SIGTERM, 0, 500 * MS},
		{SIGTERM, 7 * USEC_SEC, 7500 * MS},
		/* After a loss the command must be gone in time. */
		{SIGTERM, 60 * USEC_SEC, 15998 * MS},
		{SIGKILL, 7 * USEC_SEC, 500 * MS},
		{0, 7 * USEC_SEC, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = fresh();
		struct deadline_policy deadline;
		struct policy p;
		struct err e;

		s.on_lost = cases[i].on_lost;
		s.kill_after = cases[i].kill_after;
		s.max_run = 60 * USEC_SEC;
		s.min_hold = 3600 * USEC_SEC;
		CHECK_INT(settings_finish(&s, &e), 0);
		deadline = settings_deadline(&s);
		CHECK_INT(deadline.on_lost, cases[i].on_lost);
		CHECK_INT(deadline.kill_after, cases[i].kill_after);
		CHECK_INT(deadline.reap, 500 * MS);
		CHECK_INT(deadline.max_run, 60 * USEC_SEC);
		p = settings_policy(&s);
		CHECK_INT(p.safety_margin, cases[i].margin);
		CHECK_INT(p.safety_margin, deadline_margin(&deadline));
		/* Neither time depends on the TTL. */
		CHECK_INT(s.min_hold, 3600 * USEC_SEC);
		CHECK_INT(p.ttl, 30 * USEC_SEC);
	}
}

TEST(settings_derived)
{
	static const struct {
		usec ttl, node_timeout, grace;
	} cases[] = {
		{114 * MS, 50 * MS, 2600},
		{USEC_SEC, 50 * MS, 100 * MS},
		{2 * USEC_SEC, 100 * MS, 200 * MS},
		{10 * USEC_SEC, 500 * MS, USEC_SEC},
		{20 * USEC_SEC, USEC_SEC, 2 * USEC_SEC},
		{100 * USEC_SEC, USEC_SEC, 10 * USEC_SEC},
		{86400 * USEC_SEC, USEC_SEC, 10 * USEC_SEC},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = fresh();
		struct err e = {.text = ""};

		s.ttl = cases[i].ttl;
		unit_check(settings_finish(&s, &e) == 0, __FILE__, __LINE__, "%s", e.text);
		CHECK_INT(s.node_timeout, cases[i].node_timeout);
		CHECK_INT(s.grace, cases[i].grace);
		CHECK_INT(s.kill_after, NEVER);
	}
}

TEST(settings_signal_is_the_default_of_on_lost)
{
	struct settings s = fresh();
	struct err e;

	s.signal = SIGINT;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_deadline(&s).signal, SIGINT);
	CHECK_INT(settings_deadline(&s).on_lost, SIGINT);
	s = fresh();
	s.signal = SIGINT;
	s.on_lost = 0;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_deadline(&s).on_lost, 0);
}

TEST(settings_refusals)
{
	static char long_key[REQUEST_KEY_MAX + 2], long_owner[OWNER_MAX + 1];
	static const struct {
		const char *key, *owner;
		usec ttl, node_timeout, kill_after;
		const char *why;
	} cases[] = {
		{"k", NULL, 30 * USEC_SEC, UNSET, NEVER, NULL},
		{NULL, NULL, 30 * USEC_SEC, UNSET, NEVER, "missing key"},
		{"", NULL, 30 * USEC_SEC, UNSET, NEVER, "the key is empty"},
		{long_key, NULL, 30 * USEC_SEC, UNSET, NEVER,
			"the key is too long: 4097 bytes, at most 4096 are"},
		{long_key + 1, NULL, 30 * USEC_SEC, UNSET, NEVER, NULL},
		{"k", long_owner, 30 * USEC_SEC, UNSET, NEVER,
			"--owner is too long: 178 bytes, at most 177 are"},
		{"k", long_owner + 1, 30 * USEC_SEC, UNSET, NEVER, NULL},
		{"k", "", 30 * USEC_SEC, UNSET, NEVER, NULL},
		{"k", NULL, 0, UNSET, NEVER, "--ttl 0ms is too short"},
		{"k", NULL, MS, UNSET, NEVER, "--ttl 1ms is too short for a node time-out of 50ms"},
		{"k", NULL, 113 * MS, UNSET, NEVER, "--ttl 113ms is too short"},
		{"k", NULL, 114 * MS, UNSET, NEVER, NULL},
		{"k", NULL, 30 * USEC_SEC, 0, NEVER, "--node-timeout must be longer than 0"},
		{"k", NULL, 30 * USEC_SEC, MS, NEVER, NULL},
		{"k", NULL, 30 * USEC_SEC, 13499 * MS, NEVER, NULL},
		{"k", NULL, 30 * USEC_SEC, 13500 * MS, NEVER, "--ttl 30s is too short"},
		{"k", NULL, 30 * USEC_SEC, UNSET, 0, NULL},
		{"k", NULL, 30 * USEC_SEC, UNSET, 24 * 86400 * USEC_SEC, NULL},
		{"k", NULL, 30 * USEC_SEC, (usec)36500 * 86400 * USEC_SEC, NEVER, "is too short"},
	};

	memset(long_key, 'k', sizeof(long_key) - 1);
	memset(long_owner, 'o', sizeof(long_owner) - 1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = fresh();
		struct err e = {.text = "accepted"};
		int rc;

		rc = set_key(&s, cases[i].key, &e);
		s.owner = cases[i].owner;
		s.ttl = cases[i].ttl;
		s.node_timeout = cases[i].node_timeout;
		s.kill_after = cases[i].kill_after;
		if (rc == 0)
			rc = settings_finish(&s, &e);
		if (!cases[i].why) {
			unit_check(rc == 0, __FILE__, __LINE__, "case %zu: %s", i, e.text);
			continue;
		}
		unit_check(rc == -1 && strstr(e.text, cases[i].why), __FILE__, __LINE__,
			"case %zu: '%s', not '%s'", i, e.text, cases[i].why);
		CHECK_INT(e.kind, ERR_USAGE);
	}
}

/* The command gets SIGTERM and its grace period, and is gone before the lock; an extension is
 * attempted before SIGTERM. lock_init() requires less. */
static bool fits(const struct settings *s)
{
	struct policy p = settings_policy(s);
	struct deadline_policy deadline = settings_deadline(s);

	return deadline.grace >= 0 && deadline.reap > 0 &&
	       p.safety_margin == deadline_margin(&deadline) &&
	       p.drift == policy_drift(s->ttl, (int)s->drift_permille) &&
	       deadline.grace + deadline.reap + s->ttl / 3 + s->node_timeout + p.drift <= s->ttl &&
	       s->ttl > p.drift + p.safety_margin;
}

TEST(settings_accepted_fit_the_ttl)
{
	static const usec timeouts[] = {
		UNSET, MS, 50 * MS, 333 * MS, 5 * USEC_SEC, 3600 * USEC_SEC};
	static const usec kills[] = {NEVER, 0, 10 * MS, USEC_SEC, 60 * USEC_SEC};
	static const long drifts[] = {10, 100, 333, 500};
	static const int signals[] = {SIGTERM, SIGKILL, 0};
	int accepted = 0, refused = 0;

	for (usec ttl = 0; ttl < (usec)36500 * 86400 * USEC_SEC; ttl += MS + ttl / 50)
		for (size_t t = 0; t < COUNT_OF(timeouts); t++)
			for (size_t k = 0; k < COUNT_OF(kills); k++)
				for (size_t d = 0; d < COUNT_OF(drifts); d++) {
					static struct settings s;
					struct err e;

					settings_init(&s, COMMAND_RUN);
					CHECK_INT(set_key(&s, "k", &e), 0);
					s.ttl = ttl / MS * MS;
					s.node_timeout = timeouts[t];
					s.kill_after = kills[k];
					s.drift_permille = drifts[d];
					/* Each value of --on-lost in turn. */
					s.on_lost = signals[(accepted + refused) % 3];
					if (settings_finish(&s, &e) < 0) {
						refused++;
						continue;
					}
					accepted++;
					if (!CHECK(fits(&s))) {
						printf("# ttl %lld, cases %zu %zu %zu\n",
							(long long)s.ttl, t, k, d);
						return;
					}
				}
	CHECK(accepted > 10000);
	CHECK(refused > 1000);
}

TEST(settings_on_event)
{
	static const char *const commands[] = {NULL, "", " ", "true"};

	for (int i = 0; i < 4; i++) {
		struct settings s;
		struct err e;

		settings_init(&s, COMMAND_RUN);
		CHECK(s.on_event == NULL);
		CHECK_INT(settings_add_names(&s, "k", 1, &e), 0);
		s.on_event = commands[i];
		CHECK_INT(settings_finish(&s, &e), 0);
		/* An empty one: none, in place of the configuration's. */
		CHECK(s.on_event == (i < 2 ? NULL : commands[i]));
	}
}

TEST(settings_owner_text)
{
	char owner[OWNER_MAX], small[16];
	char *command[] = {"rm", "-rf", "a\nb\x1b[2J\x7f", NULL};
	char *nothing[] = {NULL};
	char *logins[] = {"psql", "postgres://me:s3cret@db/app", "--url=amqp://me:s3cret@q", NULL};
	char many[300];
	char *longest[] = {many, many, NULL};

	settings_owner(owner, sizeof(owner), "alice", "web1", 42, command);
	CHECK_TEXT(owner, "alice@web1:42 rm -rf a?b?[2J?");
	settings_owner(owner, sizeof(owner), "b\tb", "", 1, nothing);
	CHECK_TEXT(owner, "b?b@:1 ");
	/* Other clients can read the owner text, so passwords are hidden in it. */
	settings_owner(owner, sizeof(owner), "u", "h", 7, logins);
	CHECK_TEXT(owner, "u@h:7 psql postgres://***@db/app --url=amqp://***@q");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"sql", "-ps3cret", "-p", "--password=s3cret", "PGPASSWORD=s3cret",
			"redis://s3cret@a", "http://a?x=1&token=s3cret&y=2", "--n=1", NULL});
	CHECK_TEXT(owner, "u@h:7 sql -p*** -p --password=*** PGPASSWORD=*** redis://***@a "
			  "http://a?x=1&token=***");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"login", "--user", "me", "--password", "s3cret", "--API-Token", "s3cret",
			"-v", NULL});
	CHECK_TEXT(owner, "u@h:7 login --user me --password *** --API-Token *** -v");
	/* The word after a password option is hidden even if it is an option; then its own value is
	 * hidden, too. */
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"login", "--password-stdin", "--token", "s3cret", "--pwd", NULL});
	CHECK_TEXT(owner, "u@h:7 login --password-stdin *** *** --pwd");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"b", "--password-file", "/a", "--token-file=/b", "--key", "k", "--auth",
			"basic", "-token", "d", NULL});
	CHECK_TEXT(
		owner, "u@h:7 b --password-file /a --token-file=/b --key k --auth basic -token d");
	/* A value may contain any character, so the rest of the word is hidden. */
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"env", "PGPASSWORD=a?s3 cret", "--pass=a,s3;cr&et", "job", NULL});
	CHECK_TEXT(owner, "u@h:7 env PGPASSWORD=*** --pass=*** job");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"sh", "-c", "mysql --password s3cret db", NULL});
	CHECK_TEXT(owner, "u@h:7 sh -c mysql --password ***");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"sh", "-c", "PGPASSWORD=s3cret psql https://u:p@h", NULL});
	CHECK_TEXT(owner, "u@h:7 sh -c PGPASSWORD=***");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"sh", "-c", "get https://u:p@h --password=s3cret", "PW=s3cret", NULL});
	CHECK_TEXT(owner, "u@h:7 sh -c get https://***@h --password=*** PW=***");
	settings_owner(owner, sizeof(owner), "u", "h", 7,
		(char *[]){"sh", "-c", "mkdir -p a; mysql\t-ps3cret", "-p=s3cret", "x", NULL});
	CHECK_TEXT(owner, "u@h:7 sh -c mkdir -p a; mysql?-p*** -p*** x");
	settings_owner(small, sizeof(small), "alice", "web1", 42, command);
	CHECK_TEXT(small, "alice@web1:42 r");
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	settings_owner(owner, sizeof(owner), "u", "h", 7, longest);
	CHECK_INT(strlen(owner), strlen("u@h:7 ") + 79);
	settings_owner(owner, sizeof(owner), many, many, 7, longest);
	CHECK_INT(strlen(owner), OWNER_MAX - 1);
	/* It always fits into the maximum of --owner. */
	CHECK(strlen(owner) < OWNER_MAX);
}

static struct policy policy_for(const char *nodes, const char *key, struct node_list *list)
{
	struct settings s = fresh();
	struct err e;

	CHECK_INT(set_key(&s, key, &e), 0);
	s.nodes.count = 0;
	CHECK_INT(node_list_add(&s.nodes, nodes, &e), 0);
	CHECK_INT(settings_finish(&s, &e), 0);
	*list = s.nodes;
	return settings_policy(&s);
}

/* Clients with another order of nodes on the command line wait at the same node. */
TEST(settings_all_have_one_order_of_the_nodes_for_a_key)
{
	static const char *const lists[] = {"a b c d e", "e d c b a", "c a e b d"};
	struct node_list first;
	struct policy p = policy_for(lists[0], "k", &first);

	for (size_t i = 1; i < COUNT_OF(lists); i++) {
		struct node_list list;
		struct policy lock = policy_for(lists[i], "k", &list);

		for (int n = 0; n < 5; n++)
			CHECK_TEXT(
				list.node[lock.order[0][n]].label, first.node[p.order[0][n]].label);
	}
}

TEST(settings_keys_are_spread_over_the_nodes)
{
	int lines[5] = {0}, last[5] = {0};

	for (int i = 0; i < 500; i++) {
		char key[16];
		bool seen[5] = {false};
		struct node_list list;
		struct policy p;

		snprintf(key, sizeof(key), "job-%d", i);
		p = policy_for("a b c d e", key, &list);
		for (int n = 0; n < 5; n++) {
			CHECK(!seen[p.order[0][n]]);
			seen[p.order[0][n]] = true;
		}
		lines[p.order[0][0]]++;
		last[p.order[0][4]]++;
	}
	for (int i = 0; i < 5; i++) {
		CHECK(lines[i] > 50 && lines[i] < 150);
		CHECK(last[i] > 50 && last[i] < 150);
	}
}

/* A client with one node less has the other nodes in the same order as all clients. */
TEST(settings_a_node_more_leaves_the_order_of_the_rest)
{
	struct node_list few, many;
	struct policy p = policy_for("a b d e", "k", &few),
		      lock = policy_for("a b c d e", "k", &many);

	for (int n = 0, m = 0; n < 4; n++, m++) {
		if (strstr(many.node[lock.order[0][m]].label, "//c:"))
			m++;
		CHECK_TEXT(many.node[lock.order[0][m]].label, few.node[p.order[0][n]].label);
	}
}

/* ---- what each command must know ---- */

static struct settings of(enum command command)
{
	struct settings s;
	struct err e;

	settings_init(&s, command);
	CHECK_INT(set_key(&s, "k", &e), 0);
	return s;
}

TEST(settings_keys_and_tokens)
{
	struct settings s = of(COMMAND_CHECK);
	struct err e;

	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "missing token");
	s = of(COMMAND_EXTEND);
	CHECK_INT(settings_finish(&s, &e), -1);
	s.token = "t";
	CHECK_INT(settings_finish(&s, &e), 0);
	s.token_file = "f";
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--token cannot be combined with --token-file");
	s.token = NULL;
	CHECK_INT(settings_finish(&s, &e), 0);
	/* A lock of a local `hold` needs no token. */
	s = of(COMMAND_RELEASE);
	CHECK_INT(settings_finish(&s, &e), 0);
	s.token = "";
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "the token is empty");
	s.token = TOKEN_NINES TOKEN_LEFT "0123456789abcdef0123456789:me";
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text,
		"the token has no holder: its key was left by --min-hold, or readers share it");
	CHECK_TEXT(e.hint, "the token is what 'redlock acquire' or 'hold' printed");
	s = of(COMMAND_WAIT);
	set_key(&s, NULL, &e);
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.hint, "name the lock with -k KEY; see 'redlock help wait'");
	s = of(COMMAND_STATUS);
	set_key(&s, NULL, &e);
	CHECK_INT(settings_finish(&s, &e), 0);
	s = of(COMMAND_HOLD);
	set_key(&s, NULL, &e);
	CHECK_INT(settings_finish(&s, &e), -1);
	s.list = 1;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_policy(&s).nodes, 1);
	CHECK(settings_policy(&s).refused_is_permanent);
	for (int i = 0; i < option_rows_count; i++)
		if (strcmp(option_rows[i].name, "wait") == 0)
			s.source[i].kind = SOURCE_FILE;
	CHECK(!settings_policy(&s).refused_is_permanent);
}

TEST(settings_of_a_gate)
{
	static char store[4002];
	struct settings s = of(COMMAND_GATE);
	struct err e;

	set_key(&s, NULL, &e);
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "missing fencing number");
	s.gate_fence = 1;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "missing --store");
	memset(store, 's', 4001);
	s.store = store;
	CHECK_INT(settings_finish(&s, &e), -1);
	store[4000] = '\0';
	CHECK_INT(settings_finish(&s, &e), 0);
}

/* The command in the sandbox names the locks. */
TEST(settings_of_a_sandbox)
{
	struct settings s = of(COMMAND_SANDBOX);
	struct err e;

	set_key(&s, NULL, &e);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.servers, 3);
}

/* Commands that terminate no process accept a longer node time-out; commands that set no TTL accept
 * any. */
TEST(settings_times_of_commands_that_terminate_nothing)
{
	static const struct {
		enum command command;
		bool is_refused;
	} cases[] = {{COMMAND_RUN, true}, {COMMAND_ACQUIRE, true}, {COMMAND_HOLD, true},
		{COMMAND_EXTEND, true}, {COMMAND_RELEASE, false}, {COMMAND_CHECK, false},
		{COMMAND_WAIT, false}, {COMMAND_STATUS, false}, {COMMAND_BREAK, false},
		{COMMAND_DOCTOR, false}, {COMMAND_CONFIG, false}, {COMMAND_SANDBOX, false}};
	struct settings s;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		s = of(cases[i].command);
		s.token = "t";
		s.node_timeout = 15 * USEC_SEC;
		unit_check((settings_finish(&s, &e) < 0) == cases[i].is_refused, __FILE__, __LINE__,
			"command %d", (int)cases[i].command);
	}
	s = of(COMMAND_ACQUIRE);
	s.ttl = 113 * MS;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text,
		"--ttl 113ms is too short for a node time-out of 50ms: two of them and the "
		"drift allowance (13ms) must fit");
	CHECK_TEXT(e.hint,
		"the least --ttl is 114ms; 'redlock doctor' prints one that suits the round "
		"trips to the nodes");
	s.ttl = 115 * MS;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_policy(&s).safety_margin, 0);
	CHECK(!settings_policy(&s).only_looks);
	CHECK(!settings_policy(&s).by_digest);
	s = of(COMMAND_WAIT);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK(settings_policy(&s).only_looks);
	CHECK(settings_policy(&s).by_digest);
	/* hold terminates a process only with --follow. */
	s = of(COMMAND_HOLD);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_policy(&s).safety_margin, 0);
	s.follow = 7;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK(settings_policy(&s).safety_margin > 0);
}

TEST(settings_several_keys)
{
	static char longest[REQUEST_KEY_MAX - 1];
	static const char *const given[] = {"b", "a c", "b", "a", "A"};
	struct settings s;
	struct err e;
	char many[KEYS_MAX + 1][16], text[REQUEST_KEY_MAX + 1];

	settings_init(&s, COMMAND_RUN);
	for (size_t i = 0; i < COUNT_OF(given); i++)
		CHECK_INT(settings_add_name(&s, given[i], &e), 0);
	/* The order in which the keys are given does not matter. */
	CHECK_INT(s.names.count, 4);
	CHECK_TEXT(settings_text(text, &s.names), "A\na\na c\nb");
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_policy(&s).keys, 4);
	s.reentrant = 1;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--reentrant accepts one key only");
	s.reentrant = 0;
	s.takeover = 1;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_policy(&s).ticket, TICKET_FIRST);
	s.wait = 0;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(
		e.text, "--takeover cannot be combined with --no-wait: the holder must end first");
	s.wait = NEVER;
	s.names.count = 1;
	s.limit = 2;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--takeover cannot be combined with --limit");
	/* A single key may contain a newline, and may have the full length. */
	settings_init(&s, COMMAND_RUN);
	CHECK_INT(settings_add_name(&s, "a\nb", &e), 0);
	CHECK_INT(settings_add_name(&s, "c", &e), -1);
	CHECK_TEXT(e.text, "the key 'a\\x0ab' has a newline in it: it cannot be one of several");
	CHECK_TEXT(e.hint, "see 'redlock help run'");
	memset(longest, 'k', sizeof(longest) - 1);
	settings_init(&s, COMMAND_RUN);
	CHECK_INT(settings_add_name(&s, longest, &e), 0);
	CHECK_INT(settings_add_name(&s, "c", &e), 0);
	CHECK_INT(strlen(settings_text(text, &s.names)), REQUEST_KEY_MAX);
	CHECK_INT(settings_add_name(&s, "d", &e), -1);
	CHECK_TEXT(e.text, "the keys are too long: at most 4096 bytes together are allowed");
	CHECK_TEXT(e.hint, "see 'redlock help run'");
	settings_init(&s, COMMAND_RUN);
	for (int i = 0; i <= KEYS_MAX; i++) {
		snprintf(many[i], sizeof(many[i]), "k%d", i);
		CHECK_INT(settings_add_name(&s, many[i], &e), i < KEYS_MAX ? 0 : -1);
	}
	CHECK_TEXT(e.text, "too many keys: at most 16 are allowed");
	CHECK_TEXT(e.hint, "see 'redlock help run'");
}

TEST(settings_keys_are_made_of_names)
{
	static const struct {
		const char *format, *names, *keys;
		long count;
	} cases[] = {
		{NULL, "foo", "foo", 1},
		{"%s", "foo", "foo", 1},
		{"redlock:%s", "foo", "redlock:foo", 1},
		{"%s-lock", "foo", "foo-lock", 1},
		{"%%%s%%s", "100%", "%100%%s", 1},
		{"{%s}", "%s", "{%s}", 1},
		{"l:%s", "a\nb\nc", "l:a\nl:b\nl:c", 3},
		/* in the order of the keys, not of the names */
		{"%sx", "a\na!", "a!x\nax", 2},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s;
		char text[REQUEST_KEY_MAX + 1];
		struct err e;

		settings_init(&s, COMMAND_EXTEND);
		s.token = "t";
		s.key_format = cases[i].format;
		if (s.key_format)
			CHECK(!settings_check_format(s.key_format));
		CHECK_INT(settings_add_names(&s, cases[i].names, cases[i].count, &e), 0);
		CHECK_INT(settings_finish(&s, &e), 0);
		CHECK_TEXT(settings_text(text, &s.keys), cases[i].keys);
		CHECK_TEXT(settings_text(text, &s.names), cases[i].names);
	}
}

TEST(settings_names_that_make_no_keys)
{
	static char longest[REQUEST_KEY_MAX - 1], made[REQUEST_KEY_MAX + 1];
	struct settings s;
	struct err e;

	memset(longest, 'k', sizeof(longest) - 1);
	/* The key made from a name may be one of redlock's own, */
	s = of(COMMAND_RUN);
	s.key_format = "{redlock}:%s";
	CHECK_INT(set_key(&s, "node", &e), 0);
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "the key '{redlock}:node' is redlock's own");
	CHECK_INT(settings_operand_key(&s, "node", made, &e), -1);
	CHECK_TEXT(e.text, "the key '{redlock}:node' is redlock's own");
	s.key_format = "redlock:%s";
	CHECK_INT(settings_operand_key(&s, "node", made, &e), 0);
	CHECK_TEXT(made, "redlock:node");
	CHECK_INT(settings_operand_key(&s, "", made, &e), -1);
	CHECK_TEXT(e.text, "the key is empty");
	/* or too long: alone, */
	for (int longer = 0; longer < 2; longer++) {
		s = of(COMMAND_RUN);
		s.key_format = longer ? "%sabc" : "%sab";
		CHECK_INT(set_key(&s, longest, &e), 0);
		CHECK_INT(settings_finish(&s, &e), longer ? -1 : 0);
		if (longer)
			CHECK_TEXT(e.hint, "--key-format makes it of a name that has 4094");
		e.hint[0] = '\0';
		CHECK_INT(settings_operand_key(&s, longest, made, &e), longer ? -1 : 0);
	}
	CHECK_TEXT(e.text, "the key is too long: 4097 bytes, at most 4096 are allowed");
	CHECK_TEXT(e.hint, "--key-format makes it of a name that has 4094");
	/* together, */
	for (int longer = 0; longer < 2; longer++) {
		s = of(COMMAND_RUN);
		s.key_format = longer ? "%%%s" : "%s";
		s.names.count = 0;
		CHECK_INT(settings_add_name(&s, "c", &e), 0);
		CHECK_INT(settings_add_name(&s, longest, &e), 0);
		CHECK_INT(settings_finish(&s, &e), longer ? -1 : 0);
	}
	CHECK_TEXT(e.text, "the keys are too long: at most 4096 bytes together are allowed");
	CHECK_TEXT(e.hint, "see 'redlock help run'");
	/* or with "#SLOT" after it. */
	longest[REQUEST_KEY_MAX - 5] = '\0';
	for (int longer = 0; longer < 2; longer++) {
		s = of(COMMAND_RUN);
		s.key_format = longer ? "%%%s" : "%s";
		s.limit = 2;
		CHECK_INT(set_key(&s, longest, &e), 0);
		CHECK_INT(settings_finish(&s, &e), longer ? -1 : 0);
	}
	CHECK_TEXT(e.text, "the key is too long for --limit: at most 4091 bytes are allowed");
}

/* REDLOCK_KEY and REDLOCK_KEYS of a command under several locks. */
TEST(settings_several_keys_as_one_text)
{
	static const struct {
		const char *text;
		long count;
		int keys;
		const char *second;
	} cases[] = {{"a\nb", 2, 2, "b"}, {"a\nb", 1, 1, NULL}, {"a\nb", 0, 1, NULL},
		{"a\nb", 3, 1, NULL}, {"a", 2, 1, NULL}, {"c\nb\na", 3, 3, "b"},
		{"a\na", 2, 1, NULL}};
	static char longest[REQUEST_KEY_MAX + 2];
	struct settings s;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		settings_init(&s, COMMAND_RELEASE);
		CHECK_INT(settings_add_names(&s, cases[i].text, cases[i].count, &e), 0);
		CHECK_INT(s.names.count, cases[i].keys);
		if (cases[i].second)
			CHECK_TEXT(s.names.key[1], cases[i].second);
		CHECK_INT(settings_set_keys(&s, cases[i].text, cases[i].count, &e), 0);
		CHECK_INT(s.keys.count, cases[i].keys);
	}
	memset(longest, 'k', sizeof(longest) - 1);
	longest[100] = '\n';
	settings_init(&s, COMMAND_RELEASE);
	CHECK_INT(settings_add_names(&s, longest, 2, &e), -1);
	CHECK(strstr(e.text, "the key is too long: 4097 bytes"));
	settings_init(&s, COMMAND_RELEASE);
	CHECK_INT(settings_add_names(&s, "a\n", 2, &e), -1);
	CHECK_TEXT(e.text, "the key is empty");
}

TEST(settings_certificates)
{
	static char long_name[NODE_HOST_MAX + 1];
	static const struct {
		struct tls_settings tls;
		const char *why;
	} cases[] = {
		{{.cacert = "a", .cert = "b", .cert_key = "c", .sni = "d", .insecure = 1}, NULL},
		{{.cacert = "a"}, NULL},
		{{.sni = long_name + 1}, NULL},
		{{.sni = long_name}, "--sni is too long: 256 bytes, at most 255 are allowed"},
		{{.sni = ".example.org"}, "--sni '.example.org' is no name"},
		{{.sni = "%lo"}, "--sni '%lo' is no name"},
		{{.cert = "b"}, "--cert needs --cert-key"},
		{{.cert_key = "c"}, "--cert-key needs --cert"},
	};

	memset(long_name, 'n', NODE_HOST_MAX);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = fresh();
		struct err e = {.text = ""};

		s.tls = cases[i].tls;
		CHECK_INT(settings_finish(&s, &e), cases[i].why ? -1 : 0);
		CHECK_TEXT(e.text, cases[i].why ? cases[i].why : "");
	}
}

TEST(settings_restart_guard)
{
	static const struct {
		const char *nodes;
		enum restart_guard guard;
		usec ttl, max_ttl, quarantine, min_hold;
	} cases[] = {
		/* --min-hold is longer than the TTL. */
		{"a b c", GUARD_AUTO, 10 * USEC_SEC, 0, 55002 * MS, 50 * USEC_SEC},
		{"a b", GUARD_AUTO, 10 * USEC_SEC, 0, 0, 0},
		{"a b", GUARD_ON, 10 * USEC_SEC, 0, 11002 * MS, 0},
		{"a b c", GUARD_AUTO, 10 * USEC_SEC, 0, 11002 * MS, 0},
		{"a b c", GUARD_AUTO, 10 * USEC_SEC, 5 * USEC_SEC, 11002 * MS, 0},
		{"a b c", GUARD_AUTO, 10 * USEC_SEC, 20 * USEC_SEC, 22002 * MS, 0},
		{"a b c", GUARD_OFF, 10 * USEC_SEC, 20 * USEC_SEC, 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = fresh();
		struct err e;

		CHECK_INT(node_list_add(&s.nodes, cases[i].nodes, &e), 0);
		s.restart_guard = cases[i].guard;
		s.ttl = cases[i].ttl;
		s.max_ttl = cases[i].max_ttl;
		s.min_hold = cases[i].min_hold;
		CHECK_INT(settings_finish(&s, &e), 0);
		CHECK_INT(settings_policy(&s).quarantine, cases[i].quarantine);
	}
}

static struct settings once_per(usec d, enum source_kind kind)
{
	struct settings s = fresh();

	s.once_per = d;
	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].field == offsetof(struct settings, once_per))
			s.source[i].kind = kind;
	return s;
}

static void set_source(struct settings *s, size_t field, enum source_kind kind)
{
	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].field == field)
			s->source[i].kind = kind;
}

TEST(settings_once_per)
{
	struct settings s = once_per(20 * USEC_SEC, SOURCE_LINE);
	struct err e;

	/* Also while the lock may last, the record decides: hosts with other TTLs agree. */
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.wait, 0);
	CHECK_INT(s.conflict_exit_code, 0);
	CHECK_INT(s.min_hold, 0);
	CHECK_INT(s.once_per, 20 * USEC_SEC);
	CHECK(settings_policy(&s).wants_record);
	/* The quarantine does not depend on it. */
	s = once_per(86400 * USEC_SEC, SOURCE_LINE);
	s.restart_guard = GUARD_ON;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.min_hold, 0);
	CHECK_INT(s.once_per, 86400 * USEC_SEC);
	CHECK_INT(settings_policy(&s).quarantine, 33002 * MS);
	/* The wait for the nodes is as long as their quarantine, and a little longer. */
	CHECK_INT(s.node_wait, 40002 * MS);
	/* Only a source that is as strong overrides what it implies. */
	s = once_per(60 * USEC_SEC, SOURCE_LINE);
	s.wait = 5 * USEC_SEC;
	s.conflict_exit_code = 9;
	set_source(&s, offsetof(struct settings, wait), SOURCE_LINE);
	set_source(&s, offsetof(struct settings, conflict_exit_code), SOURCE_ENV);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.wait, 5 * USEC_SEC);
	CHECK_INT(s.node_wait, 7 * USEC_SEC); /* one node has no quarantine */
	CHECK_INT(s.conflict_exit_code, 0);
	for (int i = 0; i < 3; i++) {
		s = once_per(60 * USEC_SEC, SOURCE_LINE);
		s.wait = i == 1 ? NEVER : 0;
		s.node_wait = i == 2 ? 9 * USEC_SEC : NEVER;
		set_source(&s, offsetof(struct settings, wait), SOURCE_LINE);
		set_source(&s, offsetof(struct settings, node_wait),
			i == 2 ? SOURCE_LINE : SOURCE_NONE);
		CHECK_INT(settings_finish(&s, &e), 0);
		CHECK_INT(s.node_wait, i == 2 ? 9 * USEC_SEC : NEVER);
	}
	/* Without it nothing is implied. */
	s = fresh();
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.conflict_exit_code, 75);
	CHECK_INT(s.node_wait, NEVER);
	CHECK(!settings_policy(&s).wants_record);
}

TEST(settings_once_per_refusals)
{
	static const struct {
		usec once_per, min_hold;
		long limit, shared, takeover, reentrant;
		const char *why;
	} cases[] = {
		{.once_per = 0, .why = "--once-per must be longer than 0"},
		{.once_per = 1,
			.min_hold = 1,
			.why = "--once-per cannot be combined with --min-hold"},
		{.once_per = 1, .limit = 2, .why = "--once-per cannot be combined with --limit"},
		{.once_per = 1, .shared = 1, .why = "--once-per cannot be combined with --shared"},
		{.once_per = 1,
			.takeover = 1,
			.why = "--once-per cannot be combined with --takeover"},
		{.once_per = 1,
			.reentrant = 1,
			.why = "--once-per cannot be combined with --reentrant"},
	};
	struct settings s;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		s = once_per(cases[i].once_per, SOURCE_LINE);
		s.min_hold = cases[i].min_hold;
		s.limit = cases[i].limit;
		s.shared = cases[i].shared;
		s.takeover = cases[i].takeover;
		s.reentrant = cases[i].reentrant;
		CHECK_INT(settings_finish(&s, &e), -1);
		CHECK_TEXT(e.text, cases[i].why);
	}
	s = once_per(1, SOURCE_LINE);
	CHECK_INT(settings_add_name(&s, "other", &e), 0);
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--once-per cannot be combined with several keys");
}

TEST(settings_slots)
{
	char made[REQUEST_KEY_MAX + 1];
	static const struct {
		enum command command;
		long limit, slot;
		const char *token, *want; /* NULL: accepted */
	} cases[] = {
		{COMMAND_RUN, 3, 0, NULL, NULL},
		{COMMAND_RUN, 1, 0, NULL, NULL},
		{COMMAND_CHECK, 3, 2, "t", NULL},
		{COMMAND_CHECK, 3, 3, "t", NULL},
		{COMMAND_CHECK, 1, 0, "t", NULL},
		{COMMAND_CHECK, 1, 1, "t", NULL},
		{COMMAND_CHECK, 3, 0, "t", "missing slot: the lock has 3"},
		{COMMAND_CHECK, 3, 4, "t", "invalid slot 4: --limit 3 has the slots 1 to 3"},
		{COMMAND_CHECK, 0, 2, "t", "--slot needs --limit"},
		{COMMAND_CHECK, 3, 0, NULL, "missing token"},
		{COMMAND_CHECK, 0, 2, NULL, "--slot needs --limit"},
		{COMMAND_RELEASE, 0, 2, NULL, NULL},
		{COMMAND_RELEASE, 0, 2, "t", "--slot needs --limit"},
		{COMMAND_BREAK, 3, 0, NULL, "missing slot: the lock has 3"},
		{COMMAND_BREAK, 3, 2, NULL, NULL},
		{COMMAND_RELEASE, 3, 0, "t", "missing slot: the lock has 3"},
		{COMMAND_RELEASE, 3, 0, NULL, NULL},
		{COMMAND_RELEASE, 3, 2, "t", NULL},
	};
	static char key[REQUEST_KEY_MAX];
	struct settings s;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		s = of(cases[i].command);
		s.limit = cases[i].limit;
		s.slot = cases[i].slot;
		s.token = cases[i].token;
		e.text[0] = '\0';
		CHECK_INT(settings_finish(&s, &e), cases[i].want ? -1 : 0);
		CHECK_TEXT(e.text, cases[i].want ? cases[i].want : "");
		CHECK_INT(settings_policy(&s).limit, cases[i].limit);
	}
	/* break does not read the variables, so its hints do not name them. */
	s = of(COMMAND_BREAK);
	s.limit = 3;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.hint, "give the slot of the lock as well: --slot I");
	s = of(COMMAND_BREAK);
	s.slot = 2;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.hint, "give the limit of the lock as well: --limit N");
	/* The token is in a file that is read later. */
	s = of(COMMAND_RELEASE);
	s.limit = 2;
	s.token_file = "f";
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_set_token(&s, "t", &e), -1);
	CHECK_TEXT(e.text, "missing slot: the lock has 2");
	CHECK_TEXT(e.hint, "give the slot of the lock as well: --slot I or REDLOCK_SLOT");
	s = of(COMMAND_CHECK);
	s.slot = 2;
	s.token_file = "f";
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(settings_set_token(&s, "t", &e), -1);
	CHECK_TEXT(e.text, "--slot needs --limit");
	/* hold --list needs no key; with --limit, too. */
	s = of(COMMAND_HOLD);
	set_key(&s, NULL, &e);
	s.list = 1;
	s.limit = 2;
	CHECK_INT(settings_finish(&s, &e), 0);
	s = of(COMMAND_RUN);
	s.limit = 2;
	s.reentrant = 1;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--reentrant cannot be combined with --limit");
	s = of(COMMAND_RUN);
	s.limit = 2;
	CHECK_INT(settings_add_name(&s, "another", &e), 0);
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--limit accepts one key only");
	s = of(COMMAND_RUN);
	s.shared = 1;
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK(settings_policy(&s).is_shared && !settings_policy(&s).is_fair);
	s.limit = 1;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "--shared cannot be combined with --limit");
	/* "#1000" must fit. */
	memset(key, 'k', sizeof(key) - 5);
	for (int longer = 0; longer < 2; longer++) {
		key[sizeof(key) - 5] = longer ? 'k' : '\0';
		settings_init(&s, COMMAND_RUN);
		CHECK_INT(settings_add_name(&s, key, &e), 0);
		s.limit = 2;
		CHECK_INT(settings_finish(&s, &e), longer ? -1 : 0);
	}
	CHECK_TEXT(e.text, "the key is too long for --limit: at most 4091 bytes are allowed");
	s = of(COMMAND_STATUS);
	CHECK_INT(settings_operand_key(&s, key, made, &e), 0);
	CHECK_TEXT(made, key);
	s.limit = 2;
	CHECK_INT(settings_operand_key(&s, key, made, &e), -1);
	CHECK_TEXT(e.text, "the key is too long for --limit: at most 4091 bytes are allowed");
	CHECK_INT(settings_operand_key(&s, "{redlock}:node", made, &e), -1);
	CHECK_TEXT(e.text, "the key '{redlock}:node' is redlock's own");
}

#define ID "0123456789abcdef0123456789abcdef01234567"

TEST(settings_a_token_may_name_its_slot)
{
	static const struct {
		long limit, slot;
		const char *token, *want; /* NULL: accepted */
		long limit_then, slot_then;
	} cases[] = {
		{0, 0, ID "#2", NULL, 2, 2},
		{0, 0, ID "#1", NULL, 2, 1},
		{0, 0, ID "#1000", NULL, 1000, 1000},
		{0, 0, ID "#7 4711 18", NULL, 7, 7},
		{0, 7, ID "#7", NULL, 7, 7},
		{9, 0, ID "#7", NULL, 9, 7},
		{9, 7, ID "#7", NULL, 9, 7},
		{9, 7, ID, NULL, 9, 7},
		{0, 0, ID, NULL, 0, 0},
		{0, 0, ID ":1700000000 me #2", NULL, 0, 0},
		{0, 0, "another program's #2", NULL, 0, 0},
		{0, 0, ID "8#2", NULL, 0, 0},
		{9, 8, ID "#7", "the token is of slot 7, not of slot 8", 0, 0},
		{9, 6, ID "#7", "the token is of slot 7, not of slot 6", 0, 0},
		{0, 8, ID "#7", "the token is of slot 7, not of slot 8", 0, 0},
		{6, 0, ID "#7", "invalid slot 7: --limit 6 has the slots 1 to 6", 0, 0},
		{1, 0, ID "#1", "the token is of slot 1, and --limit 1 has no slots", 0, 0},
		{0, 0, ID "#",
			"the token has an invalid slot: '#' is not followed by a number from 1 to "
			"1000",
			0, 0},
		{0, 0, ID "#0",
			"the token has an invalid slot: '#' is not followed by a number from 1 to "
			"1000",
			0, 0},
		{0, 0, ID "#1001",
			"the token has an invalid slot: '#' is not followed by a number from 1 to "
			"1000",
			0, 0},
		{0, 0, ID "#7:1700000000 me",
			"the token has an invalid slot: '#' is not followed by a number from 1 to "
			"1000",
			0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct settings s = of(COMMAND_CHECK);
		struct err e = {.text = ""};

		s.limit = cases[i].limit;
		s.slot = cases[i].slot;
		s.token = cases[i].token;
		CHECK_INT(settings_finish(&s, &e), cases[i].want ? -1 : 0);
		CHECK_TEXT(e.text, cases[i].want ? cases[i].want : "");
		if (cases[i].want)
			continue;
		CHECK_INT(s.limit, cases[i].limit_then);
		CHECK_INT(s.slot, cases[i].slot_then);
	}
}

TEST(settings_our_own_keys_are_no_locks)
{
	static const char *const own[] = {"{redlock}:node", "redlock:queue:{k}",
		"redlock:queue:{k}:3", "redlock:reserved:{k}", "redlock:readers:{k}",
		"redlock:fence:{k}", "redlock:limit:{k}"};
	struct settings s = fresh();
	struct err e;

	for (size_t i = 0; i < COUNT_OF(own); i++) {
		CHECK_INT(settings_check_key(own[i], &e), -1);
		CHECK(strstr(e.text, "is redlock's own"));
	}
	CHECK(strstr(e.hint, "in the braces"));
	CHECK_INT(settings_check_key("redlock:queue:{\x1b[31m", &e), -1);
	CHECK_TEXT(e.text, "the key 'redlock:queue:{\\x1b[31m' is redlock's own");
	CHECK_INT(settings_add_name(&s, "{redlock}:node", &e), -1);
	CHECK(strstr(e.hint, "redlock doctor"));
	/* Other keys may begin like redlock's own: libraries use prefixes. */
	CHECK_INT(settings_check_key("redlock:job", &e), 0);
	CHECK_INT(settings_check_key("redlock:node", &e), 0);
	CHECK_INT(settings_check_key("redlock:queue:k", &e), 0);
}

/* ---- user and password ---- */

static struct settings with_passwords(enum source_kind text, enum source_kind file)
{
	struct settings s = of(COMMAND_STATUS);

	for (int i = 0; i < option_rows_count; i++)
		if (strcmp(option_rows[i].name, "password") == 0)
			s.source[i].kind = text;
		else if (strcmp(option_rows[i].name, "password-file") == 0)
			s.source[i].kind = file;
	s.password = "p";
	s.password_file = "f";
	return s;
}

TEST(settings_that_are_shown_need_no_key)
{
	struct settings s;
	struct err e;

	settings_init(&s, COMMAND_CONFIG);
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_INT(s.node_timeout, USEC_SEC);
}

TEST(settings_password_of_the_stronger_source)
{
	struct settings s = with_passwords(SOURCE_ENV, SOURCE_LINE);
	struct err e;

	CHECK_INT(settings_choose_password(&s, &e), 0);
	CHECK(!s.password && s.password_file);
	s = with_passwords(SOURCE_PROFILE, SOURCE_FILE);
	CHECK_INT(settings_choose_password(&s, &e), 0);
	CHECK(s.password && !s.password_file);
	s = with_passwords(SOURCE_ENV, SOURCE_ENV);
	CHECK_INT(settings_choose_password(&s, &e), -1);
	CHECK_INT(e.kind, ERR_CONFIG);
	CHECK_TEXT(e.text, "--password-file cannot be combined with a password");
	s = with_passwords(SOURCE_NONE, SOURCE_NONE);
	CHECK_INT(settings_choose_password(&s, &e), 0);
}

TEST(settings_password_for_nodes_without)
{
	struct settings s = of(COMMAND_STATUS);
	const struct node *node = s.nodes.node;
	char longest[NODE_SECRET_MAX + 1];
	struct err e;

	CHECK_INT(node_list_add(&s.nodes, "a u@b u:p@c :p@d", &e), 0);
	s.username = "all";
	s.password = "pass";
	s.password_file = "file";
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_TEXT(node[0].user, "all");
	CHECK_TEXT(node[0].password, "pass");
	CHECK_TEXT(node[0].password_file, "file");
	CHECK_TEXT(node[1].user, "u");
	CHECK_TEXT(node[1].password, "pass");
	CHECK_TEXT(node[2].user, "u");
	CHECK_TEXT(node[2].password, "p");
	CHECK(!node[2].password_file);
	CHECK_TEXT(node[3].user, "");
	CHECK_TEXT(node[3].password, "p");
	/* The default node has no password. */
	s = of(COMMAND_STATUS);
	s.password = "pass";
	CHECK_INT(settings_finish(&s, &e), 0);
	CHECK_TEXT(s.nodes.node[0].user, "");
	CHECK_TEXT(s.nodes.node[0].password, "pass");

	memset(longest, 'x', NODE_SECRET_MAX);
	longest[NODE_SECRET_MAX] = '\0';
	s = of(COMMAND_STATUS);
	s.password = longest;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "the password is too long: 256 bytes, at most 255 are allowed");
	CHECK_INT(e.kind, ERR_CONFIG);
	s = of(COMMAND_STATUS);
	s.username = longest;
	CHECK_INT(settings_finish(&s, &e), -1);
	CHECK_TEXT(e.text, "the user name is too long: 256 bytes, at most 255 are allowed");
	longest[NODE_SECRET_MAX - 1] = '\0';
	CHECK_INT(settings_finish(&s, &e), 0);
}
