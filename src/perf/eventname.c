/* SPDX-License-Identifier: MIT */
#include "perf/eventname.h"

#include <string.h>

#include "base/macros.h"
#include "base/str.h"

/* Source: perf-list(1), "EVENT MODIFIERS". */
static bool is_modifier(char c)
{
	return c && strchr("ukhIGHpPSDWeb", c);
}

size_t eventname_base(const char *name, size_t len)
{
	size_t i = len;

	while (i && is_modifier(name[i - 1]))
		i--;
	if (i == len || i < 2)
		return len;
	if (name[i - 1] == ':')
		return i - 1;
	return name[i - 1] == '/' && memchr(name, '/', i - 1) ? i : len;
}

bool eventname_is_clock(const char *name, size_t len)
{
	static const char *const clocks[] = { "cpu-clock", "task-clock" };

	len = eventname_base(name, len);
	for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
		if (str_equals((struct str){ name, len }, clocks[i]))
			return true;
	return false;
}

bool eventname_is_tracepoint(const char *name, size_t len)
{
	len = eventname_base(name, len);
	return len > 1 && memchr(name + 1, ':', len - 1) && !memchr(name, '/', len);
}
