/* SPDX-License-Identifier: MIT */
/*
 * journal: the event log of kptrace, and the failed commands of last_error and error_log.
 *
 * It keeps the last 128 KiB of lines; reading consumes nothing.
 */
#ifndef CTLFS_JOURNAL_H
#define CTLFS_JOURNAL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define JOURNAL_ERRORS 8

struct refusal {
	char time[32];
	char file[64], command[256], reason[512];
	size_t at; /* byte of the command where the error is */
};

/* All zero is empty. */
struct journal {
	struct buf text;
	void (*console)(const char *line); /* also gets each line; NULL: none */
	struct refusal errors[JOURNAL_ERRORS];
	size_t error_count; /* since the start; errors holds the last JOURNAL_ERRORS */
	char last[800];     /* text of last_error; "": no command yet */
};

void journal_fini(struct journal *j);

/* Adds a line with the time since boot: "[      1.000000001] text". */
void journal_add(struct journal *j, const char *fmt, ...) PRINTF(2, 3);

/* Records a command that failed, or succeeded. */
void journal_refuse(struct journal *j, const char *file, const char *command, size_t len, size_t at,
		    const struct err *e);
void journal_accept(struct journal *j);

void journal_put_last(const struct journal *j, struct buf *out);
void journal_put_errors(const struct journal *j, struct buf *out);
void journal_clear_errors(struct journal *j);

#endif
