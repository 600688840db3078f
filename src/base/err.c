#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	e->kind = kind;
	e->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
}

const char *err_reason(char dst[ERR_REASON_MAX], int error)
{
	struct rlimit files;

	snprintf(dst, ERR_REASON_MAX, "%s", strerror(error));
	if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
		snprintf(dst, ERR_REASON_MAX, "%s (the limit is %llu)", strerror(error),
			(unsigned long long)files.rlim_cur);
	return dst;
}

int err_system(struct err *e, enum err_kind kind, int error, const char *fmt, ...)
{
	char what[ERR_TEXT_MAX - ERR_REASON_MAX], reason[ERR_REASON_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set(e, kind, "%s: %s", what, err_reason(reason, error));
	if (error == EMFILE)
		err_hint(e, ERR_FILES_HINT);
	if (error == ENFILE)
		err_hint(e, ERR_ALL_FILES_HINT);
	return -1;
}

int err_call(struct err *e, const char *what, const char *call)
{
	int error = errno;

	err_system(e, ERR_SYSTEM, error, "%s: %s", what, call);
	if (error == EPERM || error == ENOSYS || error == EINVAL)
		err_hint(e, "allow this system call: the kernel, an emulator or a seccomp filter "
			    "around redlock denies it");
	return -1;
}
