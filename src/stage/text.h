/* SPDX-License-Identifier: MIT */
/*
 * text: a growing buffer of bytes, in memory from mmap(2). It remembers failure: check text_error()
 * once at the end.
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
/* Inserts blanks before the newline, to len bytes in all. */
void text_widen_line(struct text *t, size_t len);
void text_put_int(struct text *t, int64_t value);

/* In seconds, with three to nine decimals. */
void text_put_seconds(struct text *t, int64_t ns);

/* Escapes bytes that are not UTF-8 as \xNN, as all of auger's tables do. */
void text_put_visible(struct text *t, const char *str, size_t len);

/* The same in quotes, for JSON (RFC 8259, section 7). */
void text_put_quoted(struct text *t, const char *str, size_t len);

#endif
