#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int err_call(struct err *e, const char *what, const char *call)
{
	int error = errno;

	err_set(e, ERR_SYSTEM, "%s: %s: %s", what, call, strerror(error));
	if (error == EPERM || error == ENOSYS || error == EINVAL)
		err_hint(e, "allow this system call: the kernel, an emulator or a seccomp filter "
			    "around "
			    "redlock denies it");
	return -1;
}
