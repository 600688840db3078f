#include "report/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The node's finding with that id, or NULL. */
static struct finding *find(struct diagnosis *d, int node, const char *id)
{
	for (int i = 0; i < d->count; i++)
		if (d->finding[i].node == node && strcmp(d->finding[i].id, id) == 0)
			return &d->finding[i];
	return NULL;
}

void finding_add(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...)
{
	struct finding *f = find(d, node, id);
	va_list ap;

	if (f && f->severity <= severity)
		return;
	if (f)
		d->with[f->severity]--;
	else
		f = &d->finding[d->count++];
	assert(d->count <= FINDINGS_MAX);
	*f = (struct finding){.node = node, .severity = severity, .id = id};
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	d->with[severity]++;
	if (severity == SEVERITY_ERROR && node >= 0)
		d->is_usable[node] = false;
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
		{"REPLICAOF ", "CONFIG REWRITE keeps it over a restart"},
		{"SCRIPT KILL", "after a script that has written, only SHUTDOWN NOSAVE and a new "
				"start help"},
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
