/* SPDX-License-Identifier: MIT */
/*
 * text: bytes that are put together, in memory from the kernel. It remembers failure: ask
 * text_error() once at the end.
 */
#ifndef STAGE_TEXT_H
#define STAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stage/macros.h"

/* All zero is empty. */
struct text {
	char *data; /* [0..len) */
	size_t len, cap;
	bool failed;
};

void text_fini(struct text *t);
int text_error(const struct text *t) MUST_CHECK; /* 0 or -ENOMEM */
void text_put(struct text *t, const void *bytes, size_t len);
void text_put_str(struct text *t, const char *str);
/* Blanks before the line end, up to len bytes in all. */
void text_widen_line(struct text *t, size_t len);
void text_put_int(struct text *t, int64_t value);

/* In seconds, with at least three and at most nine digits behind the point. */
void text_put_seconds(struct text *t, int64_t ns);

/* As it is, but bytes that are no UTF-8 become the four characters \xNN, as in all of auger's
 * tables. */
void text_put_visible(struct text *t, const char *str, size_t len);

/* The same in quotes, for JSON (RFC 8259, section 7). */
void text_put_quoted(struct text *t, const char *str, size_t len);

#endif
