#include "report/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void finding_add(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...)
{
	struct finding *f = &d->finding[d->count];
	va_list ap;

	for (int i = 0; i < d->count; i++)
		if (d->finding[i].node == node && strcmp(d->finding[i].id, id) == 0)
			return;
	assert(d->count < FINDINGS_MAX);
	*f = (struct finding){.node = node, .severity = severity, .id = id};
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	d->with[severity]++;
	d->count++;
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
