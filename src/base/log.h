/* SPDX-License-Identifier: MIT */
/*
 * log: messages with level, domain and text, to one replaceable sink.
 *
 * Without a sink nothing is written, so the library is silent; src/cli sets a sink that prints
 * LOG_WARN and above. AUGER_LOG=DOMAIN=debug[,DOMAIN=info...] enables more; "*" is any domain; -v
 * enables LOG_INFO for all. Not for hot paths.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/macros.h"

enum log_level {
	LOG_WARN,  /* degraded or lost: always shown; one line each */
	LOG_INFO,  /* with -v: what was read and chosen, and why */
	LOG_DEBUG, /* for us */
};

/* text: one line without newline or other control characters. */
typedef void log_sink(enum log_level level, const char *domain, const char *text);

/* spec: the text of AUGER_LOG, or NULL; copied. sink NULL: silence. */
void log_open(log_sink *sink, const char *spec);

/* Also shows level, and what is above it, of the domains that spec does not name. */
void log_raise(enum log_level level);

/* Shows no warnings: of many processes that all would say the same, one does. */
void log_hush(void);

/* Is a message of this level and domain shown? For what is costly to put into words. */
bool log_shows(enum log_level level, const char *domain) MUST_CHECK;

void log_msg(enum log_level level, const char *domain, const char *fmt, ...) PRINTF(3, 4);

#endif
