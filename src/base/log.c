/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

static struct {
	log_sink *sink;
	char spec[256];       /* "domain=level,..." */
	enum log_level level; /* of domains that spec does not name */
	bool is_hushed;
} state;

void log_open(log_sink *sink, const char *spec)
{
	state.sink = sink;
	snprintf(state.spec, sizeof state.spec, "%s", spec ? spec : "");
}

/* "DOMAIN=LEVEL" for this domain: changes *level; anything else is left alone. */
static void apply_word(const char *word, size_t len, const char *domain, enum log_level *level)
{
	static const char *const names[] = { "warn", "info", "debug" }; /* by log_level */
	size_t name = strcspn(word, "=");
	bool is_any = name == 1 && *word == '*';

	if (name >= len || !(is_any || (str_equals((struct str){ word, name }, domain))))
		return;
	word += name + 1;
	len -= name + 1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_equals((struct str){ word, len }, names[i]))
			*level = (enum log_level)i;
}

void log_raise(enum log_level level)
{
	state.level = level;
}

void log_hush(void)
{
	state.is_hushed = true;
}

static enum log_level opened_level(const char *domain)
{
	enum log_level level = state.level;
	const char *at = state.spec;

	while (*at) {
		size_t len = strcspn(at, ",");

		apply_word(at, len, domain, &level);
		at += len + (at[len] == ',');
	}
	return level;
}

bool log_shows(enum log_level level, const char *domain)
{
	bool is_always = level == LOG_WARN && !state.is_hushed;

	return state.sink && (is_always || (level <= opened_level(domain) && level > LOG_WARN));
}

void log_msg(enum log_level level, const char *domain, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (!log_shows(level, domain))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	err_clean(text);
	state.sink(level, domain, text);
}
