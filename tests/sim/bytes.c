#include "sim/bytes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- commands: an array of strings ---- */

/* Reads "*3\r\n" or "$5\r\n" at *at. Returns false if the line is not complete. */
static bool read_count(const char **at, const char *end, char type, size_t *count)
{
	const char *eol = memchr(*at, '\n', (size_t)(end - *at));

	if (!eol)
		return false;
	assert(**at == type && eol[-1] == '\r');
	*count = strtoul(*at + 1, NULL, 10);
	*at = eol + 1;
	return true;
}

size_t command_read(const char *bytes, size_t len, struct command *command)
{
	const char *at = bytes, *end = bytes + len;
	size_t words, length;

	if (len == 0 || !read_count(&at, end, '*', &words))
		return 0;
	assert(words > 0 && words <= REQUEST_WORDS_MAX);
	command->argc = (int)words;
	for (size_t i = 0; i < words; i++) {
		if (at == end || !read_count(&at, end, '$', &length) ||
			(size_t)(end - at) < length + 2)
			return 0;
		command->argv[i] = at;
		command->len[i] = length;
		at += length + 2;
		assert(memcmp(at - 2, "\r\n", 2) == 0);
	}
	return (size_t)(at - bytes);
}

bool command_is(const struct command *command, int word, const char *text)
{
	return word < command->argc && command->len[word] == strlen(text) &&
	       memcmp(command->argv[word], text, command->len[word]) == 0;
}

/* ---- replies and messages ---- */

static char *write_text(char *to, const char *text, size_t len)
{
	to += sprintf(to, "$%zu\r\n", len);
	memcpy(to, text, len);
	memcpy(to + len, "\r\n", 2);
	return to + len + 2;
}

static char *write_item(char *to, const struct resp_item *item)
{
	switch (item->type) {
	case RESP_STRING:
		return write_text(to, item->text, item->len);
	case RESP_ERROR:
		return to + sprintf(to, "-%s\r\n", item->text);
	case RESP_STATUS:
		return to + sprintf(to, "+%s\r\n", item->text);
	case RESP_INTEGER:
		return to + sprintf(to, ":%lld\r\n", (long long)item->integer);
	case RESP_NIL:
		return to + sprintf(to, "$-1\r\n");
	}
	abort();
}

size_t bytes_of_reply(char dst[BYTES_MAX], const struct resp *resp)
{
	char *to = dst;

	assert(resp->count <= RESP_ITEMS_MAX);
	if (resp->count == 0)
		return (size_t)sprintf(dst, "?\r\n"); /* no reply of the protocol */
	if (resp->is_array)
		to += sprintf(to, "*%d\r\n", resp->count);
	for (int i = 0; i < resp->count; i++)
		to = write_item(to, &resp->item[i]);
	return (size_t)(to - dst);
}

size_t bytes_of_push(char dst[BYTES_MAX], const struct push *push)
{
	char *to = dst;

	assert(push->channel_len + push->message_len + 64 < BYTES_MAX);
	to += sprintf(to,
		push->is_change ? ">2\r\n$10\r\ninvalidate\r\n*1\r\n" : ">3\r\n$7\r\nmessage\r\n");
	to = write_text(to, push->channel, push->channel_len);
	if (!push->is_change)
		to = write_text(to, push->message, push->message_len);
	return (size_t)(to - dst);
}

size_t bytes_of_subscription(char dst[BYTES_MAX], const char *channel)
{
	char *to = dst + sprintf(dst, ">3\r\n$9\r\nsubscribe\r\n");

	to = write_text(to, channel, strlen(channel));
	return (size_t)(to + sprintf(to, ":1\r\n") - dst);
}
