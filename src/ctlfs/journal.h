/* SPDX-License-Identifier: MIT */
/*
 * journal: what happened, for kptrace; and what was refused, for last_error and error_log.
 *
 * The last 128 KiB of lines are kept; reading takes nothing away.
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
	size_t at; /* byte of the command where it went wrong */
};

/* All zero is empty. */
struct journal {
	struct buf text;
	void (*console)(const char *line); /* gets each line, too; NULL: nobody */
	struct refusal errors[JOURNAL_ERRORS];
	size_t error_count; /* since the start; the last JOURNAL_ERRORS are there */
	char last[800];     /* of last_error; "": nothing was written yet */
};

void journal_fini(struct journal *j);

/* A line behind the time since the machine's start: "[      1.000000001] words". */
void journal_say(struct journal *j, const char *fmt, ...) PRINTF(2, 3);

/* A command that was refused, or worked. */
void journal_refuse(struct journal *j, const char *file, const char *command, size_t len, size_t at,
		    const struct err *e);
void journal_accept(struct journal *j);

void journal_put_last(const struct journal *j, struct buf *out);
void journal_put_errors(const struct journal *j, struct buf *out);
void journal_clear_errors(struct journal *j);

#endif
