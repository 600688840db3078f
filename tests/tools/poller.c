/*
 * poller: a worker that takes a lock as libraries do: SET NX PX on each node, after a failure a
 * pause and another try, DEL by comparison at the end. It works in a loop until the log has enough
 * lines. usage: poller KEY HOLD_MS LEAST_MS MOST_MS LINES LOG SOCKET... LEAST_MS, MOST_MS: the
 * pause between two tries. Each section appends "poller" to LOG.
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES_MAX 15

static redisContext *node[NODES_MAX];
static int nodes;

static void nap(double ms)
{
	usleep((useconds_t)(ms * 1000));
}

/* Was it done? */
static int is_yes(redisReply *r)
{
	int yes = r && ((r->type == REDIS_REPLY_STATUS && strcmp(r->str, "OK") == 0) ||
			       (r->type == REDIS_REPLY_INTEGER && r->integer == 1));

	if (r)
		freeReplyObject(r);
	return yes;
}

static void release(const char *key, const char *value)
{
	static const char script[] = "return redis.call('GET', KEYS[1]) == ARGV[1] and "
				     "redis.call('DEL', KEYS[1])";

	for (int i = 0; i < nodes; i++)
		is_yes(redisCommand(node[i], "EVAL %s 1 %s %s", script, key, value));
}

int main(int argc, char *argv[])
{
	static const char line[] = "poller\n";
	char value[40];
	struct stat st;
	int fd;

	if (argc < 8) {
		fprintf(stderr, "usage: poller KEY HOLD_MS LEAST_MS MOST_MS LINES LOG SOCKET...\n");
		return 64;
	}
	for (; nodes < argc - 7 && nodes < NODES_MAX; nodes++) {
		node[nodes] = redisConnectUnix(argv[7 + nodes]);
		if (!node[nodes] || node[nodes]->err)
			return 69;
	}
	fd = open(argv[6], O_WRONLY | O_APPEND | O_CREAT, 0600);
	srandom((unsigned)getpid());
	snprintf(value, sizeof(value), "poller-%d", (int)getpid());
	while (fstat(fd, &st) == 0 && st.st_size < atol(argv[5]) * (long)strlen(line)) {
		int votes = 0;

		for (int i = 0; i < nodes; i++)
			votes += is_yes(
				redisCommand(node[i], "SET %s %s NX PX 10000", argv[1], value));
		if (votes > nodes / 2) {
			if (write(fd, line, strlen(line)) < 0)
				return 1;
			nap(atof(argv[2]));
		}
		release(argv[1], value);
		if (votes <= nodes / 2)
			nap(atof(argv[3]) +
				(atof(argv[4]) - atof(argv[3])) * (double)(random() % 1000) / 1000);
	}
	return 0;
}
