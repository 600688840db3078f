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

	if (word[name] && !(login && login < word + name))
		text_append(shown, sizeof(shown), &used, "%.*s=...", (int)name, word);
	else if (!login && word[0] == '-' && isalpha((unsigned char)word[1]) && word[2])
		text_append(shown, sizeof(shown), &used, "%.2s...", word);
	else
		mask_append_word(shown, sizeof(shown), &used, word);
	return utf8_escape(dst, size, shown, used);
}
