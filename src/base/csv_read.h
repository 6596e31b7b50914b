/* SPDX-License-Identifier: MIT */
/*
 * csv_read: reads an untrusted CSV text one record at a time.
 *
 * Quoted cells may hold separators, line ends and doubled quotes. The text is rewritten in place:
 * a cell is a part of it, with a NUL behind. Every record ends with LF or CR LF, also the last
 * one; a text without that is truncated.
 *
 * Source: RFC 4180.
 */
#ifndef BASE_CSV_READ_H
#define BASE_CSV_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define CSV_MAX_CELLS 64

struct csv_cell {
	char *text; /* [0..len), a NUL behind; borrowed from the text */
	size_t len;
};

struct csv {
	struct csv_cell cells[CSV_MAX_CELLS]; /* [count] of the last record */
	size_t count;
	uint64_t line;  /* where the last record begins, from 1 */
	uint64_t lines; /* line ends passed */
	char *at, *end;
};

/* text: [0..len), the caller's; a NUL must stand behind. */
void csv_init(struct csv *c, char *text, size_t len);

/* 1: a record, 0: the end, -EINVAL: "line N: reason"; an empty line is one empty cell. */
int csv_next(struct csv *c, struct err *e) MUST_CHECK;

#endif
