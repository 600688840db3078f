#include "io/title.h"

#include <string.h>
#include <sys/prctl.h>

/* The words of argv, one behind the other as the kernel put them; the environment follows. */
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
		/* The last byte stays 0: without it, the kernel shows the environment as well. */
		strncpy(arguments, title, size - 1);
}
