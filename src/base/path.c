/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <string.h>

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

size_t path_folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* "PREFIX12SUFFIX" */
static bool has_number(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(prefix), digits;

	if (strncmp(name, prefix, len) != 0)
		return false;
	digits = strspn(name + len, "0123456789");
	return digits && strcmp(name + len + digits, suffix) == 0;
}

bool path_is_perf_map(const char *path)
{
	return has_number(path_base(path), "perf-", ".map");
}

bool path_is_jitdump(const char *path)
{
	return has_number(path_base(path), "jit-", ".dump");
}
