/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void err_clean(char *text)
{
	size_t len = strlen(text), step;

	for (size_t at = 0; at < len; at += step) {
		int32_t character = utf8_decode(text + at, len - at, &step);

		if (character == UTF8_BAD || utf8_is_control(character))
			memset(text + at, '?', step);
	}
}

int err_vset(struct err *e, int code, const char *fmt, va_list args)
{
	e->code = code;
	vsnprintf(e->msg, sizeof e->msg, fmt, args);
	err_clean(e->msg);
	return code;
}

static void append(struct err *e, const char *reason)
{
	size_t len = strlen(e->msg);

	snprintf(e->msg + len, sizeof e->msg - len, ": %s", reason);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	err_vset(e, code, fmt, args);
	va_end(args);
	return code;
}

int err_usage(struct err *e, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	err_vset(e, ERR_USAGE, fmt, args);
	va_end(args);
	return e->code;
}

int err_errno(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	err_vset(e, -saved, fmt, args);
	va_end(args);
	append(e, strerror(saved));
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

	memcpy(inner, e->msg, sizeof inner);
	va_start(args, fmt);
	err_vset(e, e->code, fmt, args);
	va_end(args);
	append(e, inner);
	return e->code;
}
