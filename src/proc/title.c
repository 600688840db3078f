#include "proc/title.h"

#include <string.h>
#include <sys/prctl.h>

/* The strings of argv, in the order in which the kernel stored them; the environment follows. */
static char *arguments;
static size_t size;

void title_init(char *argv[])
{
	arguments = argv[0];
	size = 0;
	for (int i = 0; argv[i] == arguments + size && argv[i]; i++)
		size += strlen(argv[i]) + 1;
}

void title_set(const char *title)
{
	(void)prctl(PR_SET_NAME, title);
	if (size > 0)
		/* The last byte stays 0; otherwise the kernel shows the environment as well. */
		strncpy(arguments, title, size - 1);
}
