/* SPDX-License-Identifier: MIT */
#include "collect/procdir.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"

int procdir_open_threads(const char *proc, uint32_t pid, DIR **ret)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	buf_printf(&path, "%s/%u/task", proc, pid);
	if (buf_error(&path) < 0)
		return -ENOMEM;
	*ret = opendir(path.data);
	return !*ret && errno == ENOMEM ? -ENOMEM : 0;
}

void procdir_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static bool parse_id(const char *name, uint32_t *ret)
{
	char *end;
	unsigned long v = strtoul(name, &end, 10);

	if (!isdigit((unsigned char)name[0]) || *end || v == 0 || v > INT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

bool procdir_next(DIR *dir, uint32_t *ret)
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (parse_id(entry->d_name, ret))
			return true;
	return false;
}
