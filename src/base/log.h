/* SPDX-License-Identifier: MIT */
/*
 * log: words on the way, for people. Level, domain, text; one replaceable sink.
 *
 * Without a sink nothing is written: the library is silent, src/cli sets a sink that
 * prints LOG_WARN and above. AUGER_LOG=DOMAIN=debug[,DOMAIN=info...] opens more; "*" is any
 * domain. Not for hot paths.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/macros.h"

enum log_level {
	LOG_WARN,  /* degraded or lost: always shown; one line each */
	LOG_INFO,  /* what was chosen and why */
	LOG_DEBUG, /* for us */
};

/* text: one line without newline or other control characters. */
typedef void log_sink(enum log_level level, const char *domain, const char *text);

/* spec: the text of AUGER_LOG, or NULL; copied. sink NULL: silence. */
void log_open(log_sink *sink, const char *spec);

void log_msg(enum log_level level, const char *domain, const char *fmt, ...) PRINTF(3, 4);

#endif
