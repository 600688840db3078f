#include "proto/push.h"

#include "base/text.h"
#include "base/token.h"
#include "proto/request.h"

#include <stdio.h>
#include <string.h>

/* One item of RESP3: a line, or a line and the text that it announces. */
struct item {
	char type;
	long nested; /* the number of items within it */
	const char *text;
	size_t len;
};

static bool is_one_of(char type, const char *types)
{
	return type && strchr(types, type);
}

static bool read_number(const struct item *item, long *number)
{
	*number = 0;
	for (size_t i = 0; i < item->len; i++) {
		if (item->text[i] < '0' || item->text[i] > '9' || *number > (long)PUSH_BYTES_MAX)
			return false;
		*number = *number * 10 + (item->text[i] - '0');
	}
	return item->len > 0 && *number <= (long)PUSH_BYTES_MAX;
}

/* Reads the item at *at and moves *at to its end. */
static enum push_kind read_item(struct item *item, const char **at, const char *end)
{
	const char *eol = memchr(*at, '\n', (size_t)(end - *at));
	long number;

	if (!eol)
		return PUSH_PARTIAL;
	if (eol - *at < 2 || eol[-1] != '\r')
		return PUSH_BROKEN;
	*item = (struct item){.type = **at, .text = *at + 1, .len = (size_t)(eol - 1 - (*at + 1))};
	*at = eol + 1;
	if (is_one_of(item->type, "+-:,#_("))
		return PUSH_OTHER;
	if (!is_one_of(item->type, "$=!*~>%") || !read_number(item, &number))
		return PUSH_BROKEN;
	if (is_one_of(item->type, "*~>%")) {
		item->nested = item->type == '%' ? 2 * number : number;
		return PUSH_OTHER;
	}
	if (end - *at < number + 2)
		return PUSH_PARTIAL;
	item->text = *at;
	item->len = (size_t)number;
	*at += number + 2;
	return memcmp(*at - 2, "\r\n", 2) == 0 ? PUSH_OTHER : PUSH_BROKEN;
}

static bool is_text(const struct item *item, const char *text)
{
	return item->type == '$' && item->len == strlen(text) &&
	       memcmp(item->text, text, item->len) == 0;
}

/* The first item of a push names its kind. */
static enum push_kind kind_of(const struct item item[4], struct push *push)
{
	if (item[0].type == '%')
		return PUSH_HELLO;
	if (is_text(&item[1], "subscribe"))
		return PUSH_SUBSCRIBED;
	if (is_text(&item[1], "invalidate")) {
		push->is_change = true;
		push->channel = item[2].nested > 0 && item[3].type == '$' ? item[3].text : NULL;
		push->channel_len = push->channel ? item[3].len : 0;
		return PUSH_CHANGED;
	}
	if (!is_text(&item[1], "message") || item[2].type != '$' || item[3].type != '$')
		return PUSH_OTHER;
	push->channel = item[2].text;
	push->channel_len = item[2].len;
	push->message = item[3].text;
	push->message_len = item[3].len;
	return PUSH_MESSAGE;
}

enum push_kind push_read(const char *bytes, size_t len, struct push *push)
{
	const char *at = bytes;
	struct item item[4] = {0};
	long left = 1;

	if (len == 0 || !is_one_of(*bytes, ">%"))
		return PUSH_NONE;
	if (len > PUSH_BYTES_MAX)
		len = PUSH_BYTES_MAX;
	/* The items in the order of their bytes: those within an item follow it at once. */
	for (int i = 0; left > 0; i++) {
		struct item next;
		enum push_kind kind = read_item(&next, &at, bytes + len);

		if (kind == PUSH_PARTIAL && len < PUSH_BYTES_MAX)
			return PUSH_PARTIAL;
		if (kind != PUSH_OTHER)
			return PUSH_BROKEN;
		left += next.nested - 1;
		if (i < 4)
			item[i] = next;
	}
	*push = (struct push){.len = (size_t)(at - bytes)};
	return kind_of(item, push);
}

static bool is_channel(const struct push *push, const char *name)
{
	return push->channel_len == strlen(name) &&
	       memcmp(push->channel, name, push->channel_len) == 0;
}

/* ID, or of a semaphore ID#SLOT. */
static bool read_reservation(const struct push *push, struct reply *reply)
{
	const char *at = push->message + TOKEN_ID_LEN;
	size_t len = push->message_len - TOKEN_ID_LEN;
	char digits[8] = "";
	long slot = 0;

	if (push->message_len < TOKEN_ID_LEN || len >= sizeof(digits))
		return false;
	if (len > 0) {
		memcpy(digits, at + 1, len - 1);
		if (*at != '#' || !text_number(digits, 1, LIMIT_MAX, &slot))
			return false;
	}
	*reply = (struct reply){.vote = VOTE_YES, .slot = (int)slot, .text_len = TOKEN_ID_LEN};
	memcpy(reply->text, push->message, TOKEN_ID_LEN);
	return true;
}

bool push_wake(const struct push *push, const struct key_list *keys, int limit, const char *waiter,
	int *key, enum wake *wake, struct reply *reply)
{
	char name[CHANNEL_MAX], suffix[QUEUE_SUFFIX_MAX];

	request_queue_suffix(suffix, limit);
	for (*key = 0; *key < keys->count; ++*key) {
		if (push->is_change) {
			*wake = WAKE_CHANGED;
			if (!push->channel || is_channel(push, keys->key[*key]))
				return true;
			continue;
		}
		snprintf(name, sizeof(name), CHANNEL_QUEUE, keys->key[*key], suffix);
		if (is_channel(push, name)) {
			*wake = WAKE_REJOIN;
			return true;
		}
		snprintf(name, sizeof(name), CHANNEL_WAKE, keys->key[*key], suffix, waiter);
		if (is_channel(push, name)) {
			*wake = push->message_len > 0 ? WAKE_RESERVED : WAKE_LOOK;
			return *wake == WAKE_LOOK || read_reservation(push, reply);
		}
	}
	return false;
}
