/*
 * limit: the minimum for any such command: connect to every node (unix sockets), SET NX PX, vfork,
 * wait, compare-and-delete, all nodes at once, no time-outs, no extension, no checks.
 * usage: limit KEY SOCKET... -- COMMAND...
 */
#include "limit.h"

int main(int argc, char *argv[])
{
	static char request[LIMIT_REQUEST_MAX];
	size_t len;
	int status;

	if (argc < 5)
		return 1;
	limit_connect(argv);
	len = limit_add(request, 0, 6,
		(const char *const[]){"SET", argv[1], limit_token, "NX", "PX", "30000"});
	limit_send_all(request, len);
	limit_read_all();
	status = limit_run(NULL);
	len = limit_add(request, 0, 5,
		(const char *const[]){"EVAL", LIMIT_DELETE, "1", argv[1], limit_token});
	limit_send_all(request, len);
	limit_read_all();
	return WEXITSTATUS(status);
}
