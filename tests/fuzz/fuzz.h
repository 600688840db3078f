/*
 * fuzz: each target takes any bytes and must not crash, nor break a rule that it checks. One binary
 * runs the inputs in tests/fuzz/corpus; libFuzzer and AFL look for more (make fuzz TARGET=x).
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Prints the broken rule, and aborts. */
#define FUZZ_CHECK(condition) \
	do { \
		if (!(condition)) \
			fuzz_failed(__FILE__, __LINE__, #condition); \
	} while (0)

_Noreturn void fuzz_failed(const char *file, int line, const char *what);

/* True if a terminal may show it: UTF-8, no controls. */
void fuzz_check_clean(const char *text);

/* The unread bytes; after their end there are only zeros. */
struct bytes {
	const uint8_t *at, *end;
};

uint8_t fuzz_byte(struct bytes *b);

/* A copy as a string, up to `most` bytes or a newline, which is consumed; the caller frees it. */
char *fuzz_line(struct bytes *b, size_t most);

/* tests/fuzz/words.c, .../settings.c, .../replies.c */
void fuzz_duration(const uint8_t *data, size_t len);
void fuzz_token(const uint8_t *data, size_t len);
void fuzz_url(const uint8_t *data, size_t len);
void fuzz_options(const uint8_t *data, size_t len);
void fuzz_config(const uint8_t *data, size_t len);
void fuzz_page(const uint8_t *data, size_t len);
void fuzz_reply(const uint8_t *data, size_t len);
void fuzz_talk(const uint8_t *data, size_t len);
void fuzz_votes(const uint8_t *data, size_t len);
void fuzz_info(const uint8_t *data, size_t len);

#endif
