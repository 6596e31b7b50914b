/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list args;

	e->code = code;
	va_start(args, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, args);
	va_end(args);
	return code;
}

int err_errno(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	va_list args;
	size_t len;

	e->code = -saved;
	va_start(args, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, args);
	va_end(args);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof e->msg - len, ": %s", strerror(saved));
	return e->code;
}

int err_nomem(struct err *e)
{
	return err_set(e, -ENOMEM, "out of memory");
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[sizeof e->msg];
	va_list args;
	size_t len;

	memcpy(inner, e->msg, sizeof inner);
	va_start(args, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, args);
	va_end(args);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof e->msg - len, ": %s", inner);
	return e->code;
}
