/* SPDX-License-Identifier: MIT */
#include "target/procdir.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"

#define FIRST_NAMESPACE 0xeffffffcu /* inode. Source: kernel, include/linux/proc_ns.h */

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

uint32_t procdir_process_of(uint32_t tid)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%u/status", tid);
	file_read_start(path, text, sizeof text);
	at = strstr(text, "\nTgid:");
	return at ? (uint32_t)strtoul(at + 6, NULL, 10) : tid;
}

bool procdir_has_kernel_numbers(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST_NAMESPACE;
}
