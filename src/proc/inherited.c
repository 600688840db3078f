#include "proc/inherited.h"

#include "proc/kernel.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* A failure here costs convenience only, and lsof(8) shows it better than a message. */
static void drop_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		close(null);
	}
	(void)!chdir("/");
}

void inherited_drop(void)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		int fd = atoi(entry->d_name);

		if (isdigit((unsigned char)entry->d_name[0]) && fd > STDERR_FILENO &&
			!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			close(fd);
	}
	if (list)
		closedir(list);
	drop_streams();
}

void inherited_drop_stderr(void)
{
	/* A file that is opened here would need a free descriptor. */
	(void)dup2(STDIN_FILENO, STDERR_FILENO);
}

void inherited_keep_only(const int *kept, int count)
{
	int keep[INHERITED_KEPT_MAX + 2] = {STDERR_FILENO, INT_MAX}, n = 2;

	assert(count <= INHERITED_KEPT_MAX);
	for (int i = 0; i < count; i++)
		if (kept[i] > STDERR_FILENO)
			keep[n++] = kept[i];
	for (int i = 1; i < n; i++) /* sort them */
		for (int j = i; j > 0 && keep[j] < keep[j - 1]; j--) {
			int higher = keep[j - 1];

			keep[j - 1] = keep[j];
			keep[j] = higher;
		}
	for (int i = 1; i < n; i++)
		if (keep[i] - keep[i - 1] > 1)
			kernel_close_range((unsigned)keep[i - 1] + 1, (unsigned)keep[i] - 1);
	drop_streams();
}
