/* SPDX-License-Identifier: MIT */
/*
 * joblog: writes log messages as lines of a job's log, in Copper's form:
 *
 *	2026-11-22 06-03-59.123 [Info] (cache) text
 *
 * A process has one, because log_msg has one sink.
 */
#ifndef CACHEFS_PROFILE_JOBLOG_H
#define CACHEFS_PROFILE_JOBLOG_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "cachefs/profile/job_files.h"

/* Copper's levels. */
enum joblog_level {
	JOBLOG_NONE,
	JOBLOG_FATAL,
	JOBLOG_ERROR,
	JOBLOG_WARNING,
	JOBLOG_INFO,
	JOBLOG_DEBUG,
};

/* Writes lines up to this level to the rank's log, which files has open (NULL: not), and to
 * standard output. Call it in the daemon, before there are threads. */
void joblog_open(const struct job_files *files, enum joblog_level level, bool to_stdout);

/* Writes a line if the log has this level. Any thread may call it. */
void joblog_put(enum joblog_level level, const char *domain, const char *text);

void joblog_msg(enum log_level level, const char *domain, const char *text); /* a log_sink */

#endif
