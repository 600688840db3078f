#include "base/exit.h"

#define STATUS_ROW(name, number, meaning, advice) {number, meaning, advice},
const struct status_row status_rows[] = {STATUS_TABLE(STATUS_ROW)};
#undef STATUS_ROW

const int status_rows_count = (int)(sizeof(status_rows) / sizeof(status_rows[0]));

int status_of(enum err_kind kind)
{
	switch (kind) {
	case ERR_NONE:
		return STATUS_OK;
	case ERR_USAGE:
		return STATUS_USAGE;
	case ERR_CONFIG:
	case ERR_TLS:
		return STATUS_CONFIG;
	case ERR_SYSTEM:
		return STATUS_INTERNAL;
	case ERR_CANNOT_RUN:
		return STATUS_CANNOT_RUN;
	case ERR_NOT_FOUND:
		return STATUS_NOT_FOUND;
	case ERR_NO_SERVER:
		return STATUS_NO_QUORUM;
	}
	return STATUS_INTERNAL;
}
