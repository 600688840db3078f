/*
 * limit_contended: the minimum for clients that contend for a lock: as limit, and a client that
 * finds another holder waits at the first node (BLPOP) until a release wakes it, for a second at
 * most. There is no queue: a client that comes at the right moment goes first. Clients that split
 * the votes delete their keys, and try again after a random pause.
 * usage: limit_contended KEY SOCKET... -- COMMAND...
 */
#include "limit.h"

#include <time.h>

#define PAUSE_US 1000

/* Deletes our key, and wakes one waiter. The message ends with the wait of a waiter. */
#define HAND_OVER \
	"if redis.call('GET',KEYS[1])==ARGV[1] then redis.call('DEL',KEYS[1])" \
	"if redis.call('EXISTS',KEYS[2])==0 then redis.call('RPUSH',KEYS[2],1)" \
	"redis.call('PEXPIRE',KEYS[2],2000)end end return 0"

static char take[LIMIT_REQUEST_MAX], undo[LIMIT_REQUEST_MAX], await[LIMIT_REQUEST_MAX];
static size_t take_len, undo_len, await_len;

/* Returns the number of keys that we got; without a majority we give them back. */
static int attempt(void)
{
	char got[LIMIT_NODES_MAX];
	int count = 0;

	limit_send_all(take, take_len);
	for (int i = 0; i < limit_nodes; i++)
		count += got[i] = limit_read(i) == '+';
	if (2 * count > limit_nodes)
		return count;
	for (int i = 0; i < limit_nodes; i++)
		if (got[i])
			limit_send(i, undo, undo_len);
	for (int i = 0; i < limit_nodes; i++)
		if (got[i])
			(void)limit_read(i);
	return count;
}

int main(int argc, char *argv[])
{
	static char hand_over[LIMIT_REQUEST_MAX];
	char wake_key[256];
	size_t hand_over_len;
	int status, count;

	if (argc < 5)
		return 1;
	snprintf(wake_key, sizeof(wake_key), "wake:%s", argv[1]);
	limit_connect(argv);
	srandom((unsigned)getpid());
	take_len = limit_add(take, 0, 6,
		(const char *const[]){"SET", argv[1], limit_token, "NX", "PX", "30000"});
	undo_len = limit_add(
		undo, 0, 5, (const char *const[]){"EVAL", LIMIT_DELETE, "1", argv[1], limit_token});
	await_len = limit_add(await, 0, 3, (const char *const[]){"BLPOP", wake_key, "1"});
	hand_over_len = limit_add(hand_over, 0, 6,
		(const char *const[]){"EVAL", HAND_OVER, "2", argv[1], wake_key, limit_token});
	while (2 * (count = attempt()) <= limit_nodes) {
		struct timespec pause = {.tv_nsec = random() % PAUSE_US * 1000};

		if (count > 0)
			nanosleep(&pause, NULL);
		if (count > 0 && random() % 2)
			continue;
		limit_send(0, await, await_len);
		(void)limit_read(0);
	}
	status = limit_run(NULL);
	limit_send(0, hand_over, hand_over_len);
	for (int i = 1; i < limit_nodes; i++)
		limit_send(i, undo, undo_len);
	limit_read_all();
	return WEXITSTATUS(status);
}
