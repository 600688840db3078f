#include "unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct unit_test *first, **last = &first;
static int failures;

void unit_add(struct unit_test *test)
{
	*last = test;
	last = &test->next;
}

bool unit_check(bool ok, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return true;
	failures++;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return false;
}

bool unit_check_int(long long got, long long want, const char *what, const char *file, int line)
{
	return unit_check(got == want, file, line, "%s is %lld, not %lld", what, got, want);
}

bool unit_check_text(const char *got, const char *want, const char *file, int line)
{
	return unit_check(strcmp(got, want) == 0, file, line, "got '%s', not '%s'", got, want);
}

/* TAP, as bats prints it. With words as arguments, only the tests with one of them in their name.
 */
int main(int argc, char *argv[])
{
	int failed = 0, count = 0;

	for (struct unit_test *t = first; t; t = t->next) {
		bool wanted = argc < 2;

		for (int i = 1; i < argc; i++)
			wanted |= strstr(t->name, argv[i]) != NULL;
		if (!wanted)
			continue;
		failures = 0;
		t->run();
		failed += failures > 0;
		printf("%s %d %s: %s\n", failures ? "not ok" : "ok", ++count, t->file, t->name);
	}
	printf("1..%d\n", count);
	return failed > 0 || count == 0;
}
