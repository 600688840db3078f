/* unit: a test is TEST(words_in_a_name) { CHECK(...); }, in any file here; nothing else to
 * register. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <stdbool.h>
#include <stddef.h>

struct unit_test {
	const char *file;
	const char *name;
	void (*run)(void);
	struct unit_test *next;
};

void unit_add(struct unit_test *test);

/* Notes the failure and goes on; the test then counts as failed. Returns ok. */
bool unit_check(bool ok, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool unit_check_int(long long got, long long want, const char *what, const char *file, int line);
bool unit_check_text(const char *got, const char *want, const char *file, int line);

#define TEST(name) \
	static void name(void); \
	static struct unit_test test_##name = {__FILE__, #name, name, NULL}; \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		unit_add(&test_##name); \
	} \
	static void name(void)

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#define CHECK(condition) unit_check(condition, __FILE__, __LINE__, "%s", #condition)
#define CHECK_INT(got, want) \
	unit_check_int((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, want) unit_check_text(got, want, __FILE__, __LINE__)

#endif
