/*
 * dns ADDRESS FILE: a name server at ADDRESS:53. FILE, read for each question, has lines "NAME
 * WHAT...": the addresses of NAME, of both families, in this order; or `hang` (no answer), `fail`
 * (SERVFAIL); "after MS" before the addresses: a delay. Other names do not exist. Prints a line
 * when it listens, and stays until it is killed, or its parent ends.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUESTION_MAX 512
#define ANSWER_MAX 4096

enum { TYPE_A = 1, TYPE_AAAA = 28 };
enum { OK = 0, SERVER_FAILURE = 2, NO_SUCH_NAME = 3 };

/* "a.example" of the labels at *at, which then points after them; false if there are none. */
static bool read_name(const uint8_t **at, const uint8_t *end, char name[256])
{
	size_t used = 0;

	while (*at<end &&* * at> 0) {
		size_t len = *(*at)++;

		if (len > 63 || *at + len >= end || used + len + 2 > 256)
			return false;
		memcpy(name + used, *at, len);
		used += len;
		name[used++] = '.';
		*at += len;
	}
	if (used == 0 || *at == end)
		return false;
	name[used - 1] = '\0';
	(*at)++;
	return true;
}

/* The words after the name in FILE, in `line`; NULL: no such line. */
static char *look_up(const char *path, const char *name, char line[1024])
{
	FILE *f = fopen(path, "r");
	char *found = NULL;

	while (f && !found && fgets(line, 1024, f)) {
		size_t len = strcspn(line, " ");

		line[strcspn(line, "\n")] = '\0';
		if (len == strlen(name) && strncasecmp(line, name, len) == 0)
			found = line + len;
	}
	if (f)
		fclose(f);
	return found;
}

static size_t add_record(uint8_t *to, const char *address, int type)
{
	/* For the name in the question, class IN, TTL 0. */
	const uint8_t head[] = {0xc0, 12, 0, (uint8_t)type, 0, 1, 0, 0, 0, 0, 0};
	uint8_t raw[16];
	size_t len = type == TYPE_A ? 4 : 16;

	if (inet_pton(type == TYPE_A ? AF_INET : AF_INET6, address, raw) != 1)
		return 0;
	memcpy(to, head, sizeof(head));
	to[sizeof(head)] = (uint8_t)len;
	memcpy(to + sizeof(head) + 1, raw, len);
	return sizeof(head) + 1 + len;
}

/* The length of the answer to the question of that length in `message`; 0: no answer. */
static size_t reply(uint8_t message[ANSWER_MAX], size_t len, const char *path)
{
	const uint8_t *at = message + 12;
	char name[256], line[1024], *words, *rest = NULL;
	int type, records = 0, code = OK;

	if (len < 17 || !read_name(&at, message + len, name) || at + 4 > message + len)
		return 0;
	type = at[0] << 8 | at[1];
	len = (size_t)(at + 4 - message);
	words = look_up(path, name, line);
	if (!words)
		code = NO_SUCH_NAME;
	for (char *word = words ? strtok_r(words, " ", &rest) : NULL; word;
		word = strtok_r(NULL, " ", &rest)) {
		size_t added;

		if (strcmp(word, "hang") == 0)
			return 0;
		if (strcmp(word, "fail") == 0)
			code = SERVER_FAILURE;
		if (strcmp(word, "after") == 0)
			usleep((unsigned)atoi(strtok_r(NULL, " ", &rest)) * 1000);
		if (type != TYPE_A && type != TYPE_AAAA)
			continue;
		added = add_record(message + len, word, type);
		len += added;
		records += added > 0;
	}
	message[2] = 0x84;
	message[3] = (uint8_t)(0x80 | code);
	memset(message + 6, 0, 6);
	message[7] = (uint8_t)records;
	return len;
}

int main(int argc, char *argv[])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(53)}, from;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	if (argc != 3 || inet_pton(AF_INET, argv[1], &in.sin_addr) != 1 ||
		bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0) {
		perror("dns");
		return 1;
	}
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		uint8_t message[ANSWER_MAX];
		socklen_t from_len = sizeof(from);
		ssize_t n =
			recvfrom(fd, message, QUESTION_MAX, 0, (struct sockaddr *)&from, &from_len);

		/* A slow answer delays no other one. */
		if (n <= 0 || fork() != 0)
			continue;
		n = (ssize_t)reply(message, (size_t)n, argv[2]);
		if (n > 0)
			(void)sendto(fd, message, (size_t)n, 0, (struct sockaddr *)&from, from_len);
		_exit(0);
	}
}
