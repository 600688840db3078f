/*
 * usage: fuzz                    every target on its corpus, tests/fuzz/corpus/TARGET/: TAP
 *        fuzz TARGET [FILE...]   one target on files, or on stdin (for AFL)
 *
 * Built with -DFUZZ_TARGET=fuzz_x it has no main; libFuzzer drives it.
 */
#include "base/utf8.h"
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX ((size_t)1024 * 1024)

/* The current input. */
static char path[500];

void fuzz_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s %s\n", file, line, what, path);
	abort();
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

void fuzz_check_clean(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t len = strlen(text), n; len > 0; s += n, len -= n) {
		unsigned code;

		n = utf8_decode(s, len, &code);
		FUZZ_CHECK(n > 0 && !utf8_is_control(code));
	}
	for (const char *at = text; (at = strstr(at, "##")); at++)
		FUZZ_CHECK(at[2 + strspn(at + 2, LETTERS)] != '[');
}

uint8_t fuzz_byte(struct bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

char *fuzz_line(struct bytes *b, size_t most)
{
	const size_t left = (size_t)(b->end - b->at);
	const uint8_t *stop = memchr(b->at, '\n', left);
	size_t len = stop ? (size_t)(stop - b->at) : left;
	char *line;

	len = len < most ? len : most;
	line = malloc(len + 1);
	FUZZ_CHECK(line);
	memcpy(line, b->at, len);
	line[len] = '\0';
	b->at += len;
	if (b->at < b->end && *b->at == '\n')
		b->at++;
	return line;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FUZZ_TARGET(data, len);
	return 0;
}

#else

static const struct target {
	const char *name;
	void (*run)(const uint8_t *data, size_t len);
} targets[] = {
	{"duration", fuzz_duration},
	{"token", fuzz_token},
	{"url", fuzz_url},
	{"options", fuzz_options},
	{"config", fuzz_config},
	{"page", fuzz_page},
	{"reply", fuzz_reply},
	{"talk", fuzz_talk},
	{"votes", fuzz_votes},
	{"info", fuzz_info},
};

#define TARGETS ((int)(sizeof(targets) / sizeof(targets[0])))

/* In a block of exactly that size, so that the sanitizer sees reads beyond it. */
static void run_on(const struct target *t, FILE *f)
{
	uint8_t *buffer = malloc(INPUT_MAX), *data;
	size_t len = fread(buffer, 1, INPUT_MAX, f);

	data = malloc(len + !len);
	memcpy(data, buffer, len);
	free(buffer);
	t->run(data, len);
	free(data);
}

static void run_on_file(const struct target *t, const char *name)
{
	FILE *f = fopen(name, "rb");

	snprintf(path, sizeof(path), "%s", name);
	if (!f) {
		perror(name);
		exit(1);
	}
	run_on(t, f);
	fclose(f);
}

static int run_on_corpus(const struct target *t)
{
	char folder[200], name[sizeof(path)];
	const struct dirent *entry;
	int count = 0;
	DIR *d;

	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", t->name);
	d = opendir(folder);
	while (d && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		run_on_file(t, name);
		count++;
	}
	if (d)
		closedir(d);
	return count;
}

static int run_all(void)
{
	int failed = 0;

	printf("1..%d\n", TARGETS);
	for (int i = 0; i < TARGETS; i++) {
		int count = run_on_corpus(&targets[i]);

		printf("%sok %d fuzz: %s (%d inputs)\n", count > 0 ? "" : "not ", i + 1,
			targets[i].name, count);
		fflush(stdout);
		failed |= count == 0;
	}
	return failed;
}

int main(int argc, char *argv[])
{
	if (argc == 1)
		return run_all();
	for (int i = 0; i < TARGETS; i++) {
		if (strcmp(targets[i].name, argv[1]) != 0)
			continue;
		if (argc == 2)
			run_on(&targets[i], stdin);
		for (int n = 2; n < argc; n++)
			run_on_file(&targets[i], argv[n]);
		return 0;
	}
	fprintf(stderr, "fuzz: no target '%s'\n", argv[1]);
	return 64;
}

#endif
