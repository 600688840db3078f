#include "base/mask.h"

#include "base/text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The largest number of bytes of a word that a caller shows. */
#define WORD_SHOWN 300

/* A longer word of a text is cut. */
#define TEXT_WORD_MAX 1024
#define BLANKS " \t\n"

/* Returns the start of the user and password in a word, and their length; NULL: the word has
 * none. */
static const char *find_login(const char *word, size_t *len)
{
	const char *scheme = strstr(word, "://"), *from = scheme ? scheme + 3 : word;
	const char *colon = scheme ? from : strchr(from, ':');
	const char *at = colon ? strrchr(colon, '@') : NULL;

	/* A path has no login. */
	if (!at || strncmp(from, "/", 1) == 0 ||
		(!scheme && memchr(word, '/', (size_t)(at - word))))
		return NULL;
	*len = (size_t)(at - from);
	return from;
}

/* ---- a node's URL ---- */

/* The length of a scheme and the slashes after it, also if a ':' or a '/' of "redis://" is missing;
 * 0: the text has no scheme. */
static size_t scheme_len(const char *url)
{
	bool is_unix = strncasecmp(url, "unix:", 5) == 0;
	size_t len = 0, slashes;

	while (isalpha((unsigned char)url[len]))
		len++;
	len += url[len] == ':';
	slashes = strspn(url + len, "/");
	if (slashes >= 2)
		return len + 2;
	return slashes == 0 || len == 0 || url[len - 1] != ':' ? 0 : len + !is_unix;
}

/* Is it a number, or one with a wrong character, such as "700l"? A password can stand in the place
 * of a port or a database, but none of so few characters is a secret. */
static bool is_number(const char *text, size_t len)
{
	size_t digits = 0;

	for (size_t i = 0; i < len; i++)
		digits += isdigit((unsigned char)text[i]) != 0;
	return len > 0 && digits <= 5 && digits + 1 >= len;
}

/* Is it an IPv6 address, perhaps with a port? */
static bool is_v6(const char *text, size_t len)
{
	size_t colons = 0, group = 0;
	bool has_gap = false;

	for (size_t i = 0; i < len; i++) {
		bool is_end = text[i] == ':' || text[i] == '.';

		has_gap |= i > 0 && text[i] == ':' && text[i - 1] == ':';
		colons += text[i] == ':';
		group = is_end ? 0 : group + 1;
		if (group > 5 || (!is_end && !isxdigit((unsigned char)text[i])))
			return false;
	}
	return colons <= 8 && (has_gap || colons >= 7);
}

/* How much of an authority, which has `len` characters, is a host and its port. */
static size_t place_len(const char *place, size_t len)
{
	size_t host = strcspn(place, ":/?#=&;@"), inside = strcspn(place, "]%");

	if (is_v6(place, len))
		return len;
	if (place[0] == '[') {
		if (!is_v6(place + 1, inside < len ? inside - 1 : len - 1))
			return 1;
		host = strcspn(place, "]/?#");
		host += place[host] == ']';
	}
	return host < len && place[host] == ':' && is_number(place + host + 1, len - host - 1)
		       ? len
		       : host;
}

/* How much of the text after a place is the number of a database. */
static size_t db_len(const char *rest, const char *before)
{
	size_t len = strlen(before), number;

	if (strncmp(rest, before, len) != 0)
		return 0;
	number = strcspn(rest + len, "/?#");
	return number == 0 || is_number(rest + len, number) ? len + number : 0;
}

void mask_append_url(char *dst, size_t size, size_t *used, const char *url)
{
	size_t quote = url[0] == '"' || url[0] == '\'', scheme = scheme_len(url + quote), len;
	const char *place = url + quote + scheme, *at = NULL;
	bool is_unix = strncasecmp(url + quote, "unix:", 5) == 0;
	bool is_path = place[0] == '/' && (scheme == 0 || is_unix);

	text_append(dst, size, used, "%.*s", (int)(quote + scheme), url);
	if (!is_path)
		at = strrchr(place, '@');
	if (at) {
		text_append(dst, size, used, "***@");
		place = at + 1;
		is_path = place[0] == '/';
	}
	len = is_path ? strcspn(place, "?") : place_len(place, strcspn(place, "/?#"));
	len += db_len(place + len, is_path ? "?db=" : "/");
	text_append(dst, size, used, "%.*s", (int)len, place);
	place += len;
	if (*place)
		text_append(dst, size, used, "%.1s***", strchr(":/?#", *place) ? place : "");
}

const char *mask_escape_url(char *dst, size_t size, const char *url)
{
	char shown[WORD_SHOWN];
	size_t used = 0;

	mask_append_url(shown, sizeof(shown), &used, url);
	return utf8_escape(dst, size, shown, used);
}

/* Returns the URL of a node in a word; NULL: the word has none. */
static const char *find_url(const char *word)
{
	static const char *const schemes[] = {"redis", "rediss", "unix"};

	for (const char *at = word; *at; at++)
		for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
			size_t len = strlen(schemes[i]);

			if ((at == word || !isalpha((unsigned char)at[-1])) &&
				strncasecmp(at, schemes[i], len) == 0 &&
				(strncmp(at + len, ":/", 2) == 0 ||
					strncmp(at + len, "//", 2) == 0))
				return at;
		}
	return NULL;
}

/* ---- a word of a command line ---- */

/* Does a name such as PGPASSWORD, --api-key or ?auth stand for a secret? Before a blank, as in
 * `--key job`, the parts "auth" and "key" rarely mean one. */
static bool is_secret(const char *name, size_t len, bool has_equals)
{
	static const char *const parts[] = {"pass", "pw", "secret", "token", "auth", "key"};
	const size_t count = has_equals ? 6 : 4;

	if (len >= 4 && strncasecmp(name + len - 4, "file", 4) == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t at = 0, n = strlen(parts[i]); at + n <= len; at++)
			if (strncasecmp(name + at, parts[i], n) == 0)
				return true;
	return false;
}

/* Is the next word a secret, as in `--password SECRET`? */
static bool hides_next(const char *option, size_t len)
{
	return strncmp(option, "--", 2) == 0 && !memchr(option, '=', len) &&
	       is_secret(option, len, false);
}

/* Returns the start of a secret in a word, which may be a whole command line for a shell; NULL: the
 * word has none. */
static const char *find_secret(const char *word)
{
	size_t len;

	for (const char *name = word; *name; name += len + (name[len] != '\0')) {
		len = strcspn(name, "=?&;, \t\n");
		if (strncmp(name, "-p", 2) == 0 && name[2] && !isspace((unsigned char)name[2]))
			return name + 2;
		if (name[len] == '=' ? is_secret(name, len, true)
				     : isspace((unsigned char)name[len]) && hides_next(name, len))
			return name + len + 1;
	}
	return NULL;
}

void mask_append_word(char *dst, size_t size, size_t *used, const char *word)
{
	size_t len;
	const char *login = find_login(word, &len), *secret = find_secret(word);
	const char *url = find_url(word);

	if (url && (!secret || url < secret) && (!login || url <= login)) {
		text_append(dst, size, used, "%.*s", (int)(url - word), word);
		mask_append_url(dst, size, used, url);
		return;
	}

	/* If the secret begins before the login, "***" for the secret replaces the login, too. */
	if (login && (!secret || login < secret)) {
		text_append(dst, size, used, "%.*s***", (int)(login - word), word);
		word = login + len;
		secret = find_secret(word);
	}
	len = secret ? (size_t)(secret - word) : strlen(word);
	text_append(dst, size, used, "%.*s%s", (int)len, word, secret ? "***" : "");
}

void mask_append_command(char *dst, size_t size, size_t *used, char *const words[])
{
	for (int i = 0; words[i]; i++) {
		text_append(dst, size, used, "%s", i ? " " : "");
		if (i && hides_next(words[i - 1], strlen(words[i - 1])))
			text_append(dst, size, used, "***");
		else
			mask_append_word(dst, size, used, words[i]);
	}
}

void mask_append_text(char *dst, size_t size, size_t *used, const char *text)
{
	bool is_hidden = false;

	while (*text) {
		char word[TEXT_WORD_MAX];
		size_t blanks = strspn(text, BLANKS), len = strcspn(text + blanks, BLANKS);

		text_append(dst, size, used, "%.*s", (int)blanks, text);
		snprintf(word, sizeof(word), "%.*s", (int)len, text + blanks);
		if (is_hidden && *word)
			text_append(dst, size, used, "***");
		else
			mask_append_word(dst, size, used, word);
		is_hidden = hides_next(word, strlen(word));
		text += blanks + len;
	}
}

const char *mask_escape_word(char *dst, size_t size, const char *word)
{
	size_t name = strcspn(word, "="), len, used = 0;
	const char *login = find_login(word, &len);
	char shown[WORD_SHOWN];

	if (find_url(word) == word)
		mask_append_url(shown, sizeof(shown), &used, word);
	else if (word[name] && !(login && login < word + name))
		text_append(shown, sizeof(shown), &used, "%.*s=...", (int)name, word);
	else if (!login && word[0] == '-' && isalpha((unsigned char)word[1]) && word[2])
		text_append(shown, sizeof(shown), &used, "%.2s...", word);
	else
		mask_append_word(shown, sizeof(shown), &used, word);
	return utf8_escape(dst, size, shown, used);
}
