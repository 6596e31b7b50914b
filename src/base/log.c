/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
	log_sink *sink;
	char spec[256]; /* "domain=level,..." */
} state;

void log_open(log_sink *sink, const char *spec)
{
	state.sink = sink;
	snprintf(state.spec, sizeof state.spec, "%s", spec ? spec : "");
}

/* The level that spec opens for domain; LOG_WARN when it says nothing. */
static enum log_level opened_level(const char *domain)
{
	enum log_level level = LOG_WARN;
	const char *at = state.spec;

	while (*at) {
		size_t len = strcspn(at, ","), name = strcspn(at, "=,");
		bool is_any = name == 1 && *at == '*';

		if (is_any || (name == strlen(domain) && memcmp(at, domain, name) == 0)) {
			if (len > name && strncmp(at + name, "=info", len - name) == 0)
				level = LOG_INFO;
			else if (len > name && strncmp(at + name, "=debug", len - name) == 0)
				level = LOG_DEBUG;
		}
		at += len + (at[len] == ',');
	}
	return level;
}

void log_msg(enum log_level level, const char *domain, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (!state.sink || (level > LOG_WARN && level > opened_level(domain)))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	state.sink(level, domain, text);
}
