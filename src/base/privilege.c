/* SPDX-License-Identifier: MIT */
#include "base/privilege.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

uint64_t privilege_capabilities(void)
{
	char text[4096];
	const char *line;

	if (!file_read_start("/proc/self/status", text, sizeof text))
		return UINT64_MAX;
	line = strstr(text, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : UINT64_MAX;
}
