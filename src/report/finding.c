#include "report/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The index of the node's finding with that id, or d->count. */
static int find(const struct diagnosis *d, int node, const char *id)
{
	int i = 0;

	while (i < d->count && (d->finding[i].node != node || strcmp(d->finding[i].id, id) != 0))
		i++;
	return i;
}

const struct finding *finding_of(const struct diagnosis *d, int node, const char *id)
{
	int i = find(d, node, id);

	return i < d->count ? &d->finding[i] : NULL;
}

static void put(struct diagnosis *d, struct finding *f, const struct finding *head, const char *fix,
	const char *fmt, va_list ap)
{
	*f = *head;
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	d->with[f->severity]++;
}

void finding_add(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...)
{
	int i = find(d, node, id);
	struct finding *f = &d->finding[i];
	bool is_new = i == d->count;
	va_list ap;

	if (!is_new && f->severity <= severity)
		return;
	assert(i < FINDINGS_MAX);
	if (!is_new)
		d->with[f->severity]--;
	d->count += is_new;
	va_start(ap, fmt);
	put(d, f, &(struct finding){.node = node, .severity = severity, .id = id}, fix, fmt, ap);
	va_end(ap);
	if (severity == SEVERITY_ERROR && node >= 0)
		d->is_usable[node] = false;
}

void finding_also(struct diagnosis *d, enum severity severity, const char *id, const char *fix,
	const char *fmt, ...)
{
	va_list ap;

	assert(d->count < FINDINGS_MAX);
	va_start(ap, fmt);
	put(d, &d->finding[d->count++],
		&(struct finding){.node = -1, .severity = severity, .id = id}, fix, fmt, ap);
	va_end(ap);
}

const char *severity_name(enum severity severity)
{
	static const char *const names[] = {
		[SEVERITY_ERROR] = "error",
		[SEVERITY_WARNING] = "warning",
		[SEVERITY_NOTE] = "note",
	};

	return names[severity];
}

bool fix_is_command(const char *fix)
{
	size_t capitals = strspn(fix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return capitals >= 3 && fix[capitals] == ' ';
}

const char *fix_remark(const char *fix)
{
	static const struct {
		const char *start, *remark;
	} table[] = {
		{"ACL SETUSER ",
			"ACL SAVE, or without an ACL file CONFIG REWRITE, keeps it over a restart"},
		{"CONFIG SET ", "CONFIG REWRITE keeps it over a restart"},
		{"SCRIPT KILL", "after a script that has written, only SHUTDOWN NOSAVE and a new "
				"start help"},
		{"FUNCTION KILL", "after a function that has written, only SHUTDOWN NOSAVE and a "
				  "new start help"},
		{"DEL redlock:fence:",
			"the numbers continue at the time of day; a 'gate' whose --store has a "
			"larger number needs a new store"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fix_is_command(fix) &&
			strncmp(fix, table[i].start, strlen(table[i].start)) == 0)
			return table[i].remark;
	return NULL;
}
