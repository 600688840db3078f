/*
 * hop FILE: forks and exits, again and again, so that its pid changes faster than a process can
 * signal it. Writes FILE's first byte at each hop. Ends after a minute.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	time_t end = time(NULL) + 60;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return 64;
	while (time(NULL) < end) {
		if (pwrite(fd, "x", 1, 0) != 1)
			return 1;
		if (fork() != 0)
			_exit(0);
	}
	return 0;
}
