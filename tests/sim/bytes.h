/*
 * bytes: the protocol of Redis from the server's side: reads commands, and writes replies and
 * messages.
 */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include "proto/push.h"
#include "proto/reply.h"
#include "proto/request.h"

/* A command; its words point into the bytes that were read. */
struct command {
	int argc;
	const char *argv[REQUEST_WORDS_MAX];
	size_t len[REQUEST_WORDS_MAX];
};

/* Returns how many bytes the first command has; 0: it is not complete. */
size_t command_read(const char *bytes, size_t len, struct command *command);

bool command_is(const struct command *command, int word, const char *text);

/* A reply or a message needs no more bytes; the functions below return how many they wrote. */
#define BYTES_MAX (RESP_ITEMS_MAX * (RESP_TEXT_MAX + 32) + 32)

size_t bytes_of_reply(char dst[BYTES_MAX], const struct resp *resp);
size_t bytes_of_push(char dst[BYTES_MAX], const struct push *push);
size_t bytes_of_subscription(char dst[BYTES_MAX], const char *channel);

#endif
