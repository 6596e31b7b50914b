/* SPDX-License-Identifier: MIT */
/*
 * gnu_time: what a command used, in the words of GNU time, for scripts that parse it.
 * Source: time(1), GNU time 1.9.
 */
#ifndef VIEW_TABLES_GNU_TIME_H
#define VIEW_TABLES_GNU_TIME_H

#include <stdint.h>
#include <sys/resource.h>

#include "base/buf.h"

extern const char gnu_time_verbose[]; /* the format of its -v */

struct gnu_time {
	const char *command;
	const struct rusage *usage;
	int64_t elapsed_ns;
	int status, end_signal; /* end_signal: that ended the command; 0: none */
};

/* As its -f does: %X stands for a value, \t, \n and \\ for a character, and what is unknown follows
 * a '?'. Before it a line when the command failed, behind it the end of the line. */
void gnu_time_put(const struct gnu_time *t, const char *format, struct buf *to);

#endif
