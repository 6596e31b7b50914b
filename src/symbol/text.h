/* SPDX-License-Identifier: MIT */
/* text: a text file that is a symbol table, as lines that end with NUL. */
#ifndef SYMBOL_TEXT_H
#define SYMBOL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct text_rules {
	size_t limit; /* bytes that are read */
	bool is_own;  /* it must belong to this user or root (-EPERM) and be no link (-ELOOP) */
};

/* Reads a regular file (also of /proc); anything else is -EINVAL, because a FIFO would block.
 * 0, or 1: the file has more than limit bytes, of which ret has the first. */
int text_load(const char *path, const struct text_rules *rules, struct buf *ret,
	      struct err *e) MUST_CHECK;

/* The same of an open file; path is for messages. */
int text_read(int fd, const char *path, size_t limit, struct buf *ret, struct err *e) MUST_CHECK;

/* The next line, which is made to end with NUL; *at is 0 at first. NULL: no more. */
char *text_line(struct buf *text, size_t *at);

/* A hexadecimal number, with or without "0x", and the blank behind it. Moves *at behind both.
 * false: there is none, or it has more than 64 bits. */
bool text_hex(char **at, uint64_t *ret);

#endif
