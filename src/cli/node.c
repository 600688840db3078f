#include "cli/node.h"

#include "base/mask.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lock/fingerprint.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define URL_MAX 1024
#define UNIX_PATH_MAX 107 /* sun_path less its NUL */

/* A scheme consists of letters only. */
static size_t count_letters(const char *url)
{
	size_t n = 0;

	while (isalpha((unsigned char)url[n]))
		n++;
	return n;
}

/* The text after "scheme://", or all of it. */
static const char *after_scheme(const char *url)
{
	const char *p = url + count_letters(url);

	return strncmp(p, "://", 3) == 0 ? p + 3 : url;
}

static int refuse(struct err *e, const char *url, const char *why)
{
	char shown[200];

	err_set(e, ERR_CONFIG, "invalid node '%s': %s", mask_escape_url(shown, sizeof(shown), url),
		why);
	return err_hint(e,
		"write a node as redis[s]://[user:password@]host[:port][/db], host:port or "
		"unix:///path");
}

/* Some errors make the parser take a part of the URL for another one: name the real error. NULL: it
 * is none of these. */
static const char *real_error(const char *url)
{
	size_t letters = count_letters(url);

	if (url[0] == '"' || url[0] == '\'')
		return "it begins with a quote: quotes belong in a shell only";
	if (strchr(after_scheme(url), ';') && strstr(after_scheme(url), "://"))
		return "a list separates nodes by spaces or commas";
	if (url != after_scheme(url))
		return NULL;
	if (strncasecmp(url, "unix:", 5) == 0 && strchr(url, '/'))
		return "a unix socket is unix:///path";
	if (letters > 0 &&
		(strncmp(url + letters, ":/", 2) == 0 || strncmp(url + letters, "//", 2) == 0))
		return "'://' must follow the scheme";
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes [src, end) into dst; returns an error message, or NULL. */
static const char *decode(char *dst, const char *src, const char *end)
{
	size_t used = 0;

	for (; src < end; src++) {
		char c = *src;

		if (c == '%') {
			int high = src + 2 < end ? hex_digit(src[1]) : -1;
			int low = src + 2 < end ? hex_digit(src[2]) : -1;

			if (high < 0 || low < 0 || high + low == 0)
				return "a '%' in user or password must start an escape such as %40";
			c = (char)(high * 16 + low);
			src += 2;
		}
		if (used == NODE_SECRET_MAX - 1)
			return "user or password is too long";
		dst[used++] = c;
	}
	dst[used] = '\0';
	return NULL;
}

static const char *parse_user(struct node *node, const char *from, const char *at)
{
	const char *colon = memchr(from, ':', (size_t)(at - from));
	const char *why = decode(node->user, from, colon ? colon : at);

	node->has_bare_user = !colon && node->user[0];
	if (!why && colon) {
		why = decode(node->password, colon + 1, at);
		node->has_escapes = memchr(colon + 1, '%', (size_t)(at - colon - 1)) != NULL;
	}
	return why;
}

static const char *parse_db(struct node *node, const char *text)
{
	long db;

	if (!text_number(text, 0, 1000000, &db))
		return "the database must be a number";
	node->db = (int)db;
	return NULL;
}

static const char *parse_unix(struct node *node, char *rest)
{
	char *query = strchr(rest, '?');

	node->kind = NODE_UNIX;
	if (query)
		*query++ = '\0';
	if (rest[0] != '/')
		return "the path of a unix socket must start with '/'";
	if (strlen(rest) > UNIX_PATH_MAX)
		return "the path of a unix socket can have 107 characters at most";
	memcpy(node->host, rest, strlen(rest) + 1);
	if (query && strncmp(query, "db=", 3) != 0)
		return "only db=N can follow '?'";
	return query ? parse_db(node, query + 3) : NULL;
}

static const char *parse_port(struct node *node, const char *text)
{
	long port;

	if (!text_number(text, 1, 65535, &port))
		return "the port must be a number from 1 to 65535";
	node->port = (int)port;
	return NULL;
}

/* In a URL, the '%' before an address's zone may be written as an escape (RFC 6874). */
static void decode_zone(char *host)
{
	char *zone = strchr(host, '%');

	if (zone && strncmp(zone, "%25", 3) == 0 && zone[3])
		memmove(zone + 1, zone + 3, strlen(zone + 3) + 1);
}

static const char *parse_tcp(struct node *node, char *rest)
{
	char *slash = strchr(rest, '/');
	char *host = rest, *colon, *end;
	const char *why = NULL;

	node->kind = NODE_TCP;
	node->port = NODE_PORT;
	if (slash)
		*slash++ = '\0';
	if (host[0] == '[') {
		end = strchr(++host, ']');
		if (!end)
			return "the ']' is missing";
		*end++ = '\0';
		if (*end && *end != ':')
			return "only :port can follow ']'";
		if (strspn(host, "0123456789abcdefABCDEF:.%") < strcspn(host, "%"))
			return "'[' and ']' must enclose an IPv6 address";
		colon = *end ? end : NULL;
		decode_zone(host);
	} else {
		colon = strchr(host, ':');
		if (colon && strchr(colon + 1, ':'))
			return "an IPv6 address must be in brackets: [::1]:6379";
	}
	if (colon) {
		*colon = '\0';
		why = parse_port(node, colon + 1);
	}
	if (why)
		return why;
	if (!*host)
		return "the host is missing";
	if (*host == '.') /* in TLS, such a name stands for every host below it */
		return "a host name does not begin with '.'";
	if (strlen(host) >= NODE_HOST_MAX)
		return "the host name is too long";
	for (const char *c = host; *c; c++)
		if (!isgraph((unsigned char)*c) || strchr("?#\"'\\@", *c))
			return "the host has a character that no host name has";
	memcpy(node->host, host, strlen(host) + 1);
	return slash && *slash ? parse_db(node, slash) : NULL;
}

/* Why the URL is not safe to show, or NULL. A password can contain such bytes as percent escapes.
 */
static const char *unfit(const char *url)
{
	const unsigned char *c = (const unsigned char *)url;

	for (size_t left = strlen(url), n; left > 0; c += n, left -= n) {
		unsigned code;

		n = utf8_decode(c, left, &code);
		if (n == 0)
			return "it is not UTF-8";
		if (utf8_is_control(code))
			return "it has a control character";
	}
	return NULL;
}

static void make_label(struct node *node)
{
	bool v6 = strchr(node->host, ':') != NULL;
	size_t used = 0;

	if (node->kind == NODE_UNIX) {
		text_append(node->label, sizeof(node->label), &used, "unix://%s", node->host);
		if (node->db)
			text_append(node->label, sizeof(node->label), &used, "?db=%d", node->db);
		return;
	}
	text_append(node->label, sizeof(node->label), &used, "redis%s://%s%s%s:%d",
		node->is_tls ? "s" : "", v6 ? "[" : "", node->host, v6 ? "]" : "", node->port);
	if (node->db)
		text_append(node->label, sizeof(node->label), &used, "/%d", node->db);
}

int node_parse(const char *url, struct node *node, struct err *e)
{
	char copy[URL_MAX];
	char *rest = copy, *scheme, *at;
	const char *why = NULL;
	bool socket = url[0] == '/';

	memset(node, 0, sizeof(*node));
	if (strlen(url) >= sizeof(copy))
		return refuse(e, url, "it is too long");
	snprintf(copy, sizeof(copy), "%s", url);
	why = unfit(copy);
	if (why)
		return refuse(e, url, why);
	scheme = strstr(copy, "://");
	if (scheme) {
		*scheme = '\0';
		rest = scheme + 3;
		socket = strcasecmp(copy, "unix") == 0;
		node->is_tls = strcasecmp(copy, "rediss") == 0;
		if (!socket && !node->is_tls && strcasecmp(copy, "redis") != 0)
			why = "the scheme must be redis, rediss or unix";
	}
	at = why || (socket && rest[0] == '/') ? NULL : strrchr(rest, '@');
	if (at) {
		why = parse_user(node, rest, at);
		rest = at + 1;
	}
	if (!why)
		why = socket ? parse_unix(node, rest) : parse_tcp(node, rest);
	if (why)
		return refuse(e, url, real_error(url) ? real_error(url) : why);
	make_label(node);
	return 0;
}

bool node_user_is_secret(const struct node *node)
{
	return node->has_bare_user && !node->password[0] && !node->password_file;
}

bool node_is_same(const struct node *a, const struct node *b)
{
	return a->kind == b->kind && a->port == b->port && strcasecmp(a->host, b->host) == 0 &&
	       (a->kind == NODE_TCP || strcmp(a->host, b->host) == 0);
}

void node_adopt_password(struct node *node, const struct node *from)
{
	if (node->user[0] || node->password[0])
		return;
	if (from->is_tls && !node->is_tls) /* the password would cross the network unencrypted */
		return;
	memcpy(node->user, from->user, sizeof(node->user));
	node->has_bare_user = from->has_bare_user;
	memcpy(node->password, from->password, sizeof(node->password));
}

static int add_one(struct node_list *list, const char *url, struct err *e)
{
	struct node node;

	if (node_parse(url, &node, e) < 0)
		return -1;
	for (int i = 0; i < list->count; i++)
		if (node_is_same(&list->node[i], &node)) {
			err_set(e, ERR_CONFIG, "node '%.200s' is named twice", node.label);
			return err_hint(e, "name a separate server for each node");
		}
	if (list->count == NODES_MAX)
		return err_set(e, ERR_CONFIG, "too many nodes: at most %d are allowed", NODES_MAX);
	list->node[list->count++] = node;
	return 0;
}

static const char separators[] = ", \t\r\n";

void node_list_hide(char *urls)
{
	for (char *end; *(urls += strspn(urls, separators)); urls = end) {
		char *from = urls + (after_scheme(urls) - urls), *at;

		end = urls + strcspn(urls, separators);
		at = memrchr(urls, '@', (size_t)(end - urls));
		/* A bare path has neither user nor password. */
		while (*from != '/' && from < at)
			*from++ = '*';
	}
}

int node_list_add(struct node_list *list, const char *urls, struct err *e)
{

	while (*(urls += strspn(urls, separators))) {
		size_t len = strcspn(urls, separators);
		char one[URL_MAX + 1];

		/* One byte more than node_parse() takes, so that node_parse() refuses a longer URL.
		 */
		snprintf(one, sizeof(one), "%.*s", (int)(len < URL_MAX ? len : URL_MAX), urls);
		if (add_one(list, one, e) < 0)
			return -1;
		urls += len;
	}
	return 0;
}

uint64_t node_list_hash(const struct node_list *list)
{
	uint64_t sum = 0; /* the order does not change a sum */

	for (int i = 0; i < list->count; i++)
		sum += text_hash(0, list->node[i].label);
	return sum ? sum : 1;
}

const char *node_list_fingerprint(char dst[FINGERPRINT_MAX], const struct node_list *list)
{
	dst[0] = '\0';
	for (int i = 0; i < list->count; i++)
		fingerprint_add(dst, list->node[i].label);
	return dst;
}

void node_list_format(const struct node_list *list, char *dst, size_t size)
{
	size_t used = 0;

	dst[0] = '\0';
	for (int i = 0; i < list->count; i++)
		text_append(dst, size, &used, "%s%s", i ? " " : "", list->node[i].label);
}

void node_list_show(const struct node_list *list, char *dst, size_t size)
{
	size_t used = 0;

	dst[0] = '\0';
	for (int i = 0; i < list->count; i++) {
		const struct node *node = &list->node[i];
		const char *rest = after_scheme(node->label);
		char user[4 * NODE_SECRET_MAX];

		utf8_escape(user, sizeof(user), node->user, strlen(node->user));
		text_append(dst, size, &used, "%s%.*s%s%s%s", i ? " " : "",
			(int)(rest - node->label), node->label,
			node_user_is_secret(node) ? "***" : user, node->password[0] ? ":***" : "",
			node->user[0] || node->password[0] ? "@" : "");
		text_append(dst, size, &used, "%s", rest);
	}
}

const struct node *node_list_find_tls(const struct node_list *list)
{
	for (int i = 0; i < list->count; i++)
		if (list->node[i].is_tls)
			return &list->node[i];
	return NULL;
}
