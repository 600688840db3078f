#include "cmd/print.h"

#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "report/foreign.h"
#include "report/list.h"
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void print_line(const char *fmt, ...)
{
	char *line = NULL, *shown = NULL;
	size_t size;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	size = line ? 4 * strlen(line) + 8 : 0; /* each byte as \xNN */
	shown = line ? malloc(size) : NULL;
	if (shown)
		puts(utf8_escape_line(shown, size, line));
	else
		log_say(LOG_ERRORS, "out of memory");
	free(shown);
	free(line);
}

void print_coloured(const char *colour, const char *line)
{
	bool has_colour = *colour && log_has_colour(STDOUT_FILENO);

	if (has_colour)
		printf("\033[%sm", colour);
	if (has_colour) {
		size_t size = 4 * strlen(line) + 8;
		char *shown = malloc(size);

		fputs(shown ? utf8_escape_line(shown, size, line) : "", stdout);
		puts("\033[m");
		free(shown);
	} else {
		print_line("%s", line);
	}
}

void print_pair(const char *value, const char *text)
{
	printf("%s\t%s\n", value, text);
}

void print_row(const char *const cell[], int count)
{
	for (int i = 0; i < count; i++)
		printf("%s%s", i > 0 ? "\t" : "", cell[i]);
	putchar('\n');
}

int print_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void print_text(const char *text, size_t len)
{
	(void)fwrite(text, 1, len, stdout);
}

void print_env(const char *name, const char *value)
{
	size_t size = 4 * strlen(value) + 3;
	char *quoted = malloc(size);

	if (quoted && text_quote(quoted, size, value))
		printf("export %s=%s;\n", name, quoted);
	else
		log_say(LOG_ERRORS, "out of memory");
	free(quoted);
}

void print_unset(const char *names)
{
	printf("unset %s;\n", names);
}

void print_status_for_eval(int status)
{
	printf("(exit %d)\n", status);
	(void)fflush(stdout);
}

void print_keys(struct json *j, const struct settings *s)
{
	char keys[REQUEST_KEY_MAX + 1];

	json_text(j, "key", settings_text(keys, &s->keys));
	if (s->keys.count == 1)
		return;
	json_open(j, "keys", '[');
	for (int i = 0; i < s->keys.count; i++)
		json_text(j, NULL, s->keys.key[i]);
	json_close(j, ']');
}

void print_begin(struct json *j, const struct settings *s)
{
	*j = (struct json){0};
	json_open(j, NULL, '{');
	json_number(j, "schema", PRINT_SCHEMA);
	json_text(j, "command", command_name(s->command));
	if (s->keys.count > 0)
		print_keys(j, s);
}

void print_outcome(struct json *j, const char *outcome, int status)
{
	json_text(j, "outcome", outcome);
	json_number(j, "status", status);
}

int print_failure(const struct settings *s, const char *outcome, int status)
{
	struct json j;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, outcome, status);
		print_end(&j);
	}
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

void print_holder(
	struct json *j, const char *name, const struct reply *holder, const struct node_list *nodes)
{
	bool is_ours = token_is_ours(holder->text, holder->text_len);
	char when[TIME_TEXT_MAX];
	size_t owner = 0;
	int64_t since = is_ours ? token_since(holder->text, holder->text_len, &owner) : 0;
	char ours[FINGERPRINT_MAX];
	const struct list list = list_of_holder(node_list_fingerprint(ours, nodes), holder);

	json_open(j, name, '{');
	json_text(j, "format", is_ours ? "redlock" : foreign_format(holder));
	json_bytes(j, is_ours ? "owner" : "value", holder->text + owner, holder->text_len - owner);
	if (token_is_shared(holder->text, holder->text_len))
		json_bool(j, "shared", true);
	if (since)
		json_text(j, "since", time_format(when, since));
	if (holder->limit > 0)
		json_number(j, "limit", holder->limit);
	if (list.nodes > 0) {
		json_text(j, "list", list.name);
		json_number(j, "list_nodes", list.nodes);
	}
	json_ms(j, "left_ms", holder->pttl);
	json_close(j, '}');
}

static const char *vote_name(const struct ballot *b)
{
	switch (b->vote) {
	case VOTE_YES:
		return "yes";
	case VOTE_GONE:
		return "free";
	case VOTE_FOREIGN:
		return b->reply.is_reserved ? "reserved" : "held";
	case VOTE_NONE:
		return "none"; /* not waited for */
	case VOTE_ABSENT:
		break;
	}
	return "absent";
}

void print_nodes(
	struct json *j, const struct tally *t, const struct node_list *nodes, const usec took[])
{
	json_open(j, "nodes", '[');
	for (int i = 0; i < nodes->count; i++) {
		const struct ballot *b = &t->ballot[i];

		json_open(j, NULL, '{');
		json_text(j, "node", nodes->node[i].label);
		json_text(j, "answer", vote_name(b));
		if (b->vote == VOTE_ABSENT) {
			json_text(j, "why", reason_words(b->reply.reason));
			if (b->reply.text_len)
				json_bytes(j, "detail", b->reply.text, b->reply.text_len);
			if (b->reply.reason == REASON_QUARANTINE)
				json_ms(j, "left_ms", b->reply.pttl);
		}
		if (b->vote == VOTE_FOREIGN && !b->reply.is_reserved)
			print_holder(j, "holder", &b->reply, nodes);
		if (took)
			json_us(j, "took_us", took[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int print_duplicate(const struct tally *t, const struct node_list *nodes)
{
	char text[REPORT_MAX];

	if (t->duplicate[0] < 0)
		return STATUS_OK;
	log_say(LOG_ERRORS, "%s", report_duplicate(text, t, nodes));
	log_hint(LOG_ERRORS, "name a separate server for each node");
	return STATUS_CONFIG;
}

void print_end(struct json *j)
{
	json_close(j, '}');
	if (j->failed)
		log_say(LOG_ERRORS, "out of memory");
	else
		puts(j->text);
	free(j->text);
}

bool print_is_screen(int *rows, int *columns)
{
	const char *term = getenv("TERM");
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return false;
	*rows = 24;
	*columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		*rows = size.ws_row;
		*columns = size.ws_col;
	}
	return true;
}

void print_clear(void)
{
	printf("\033[H\033[2J");
}

void print_flush(void)
{
	(void)fflush(stdout);
}

/* A write to a full disk or a closed stdout fails here. */
int print_finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return STATUS_OK;
	log_say(LOG_ERRORS, "cannot write to stdout: %s", strerror(errno));
	return STATUS_INTERNAL;
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif

void print_leave(int status)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	(void)status;
#else
	if (__fpending(stdout) == 0)
		_exit(status);
#endif
}
