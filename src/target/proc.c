/* SPDX-License-Identifier: MIT */
#include "target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define PF_KTHREAD 0x00200000 /* linux/sched.h */

bool proc_stat_read(struct proc_stat *ret, pid_t pid)
{
	char path[PROC_PATH], text[1024];
	const char *name, *rest;
	unsigned flags;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!file_read_start(path, text, sizeof text))
		return false;
	name = strchr(text, '(');
	rest = strrchr(text, ')');
	if (!name || !rest || rest < name)
		return false;
	snprintf(ret->comm, sizeof ret->comm, "%.*s", (int)(rest - name - 1), name + 1);
	err_clean(ret->comm);
	if (sscanf(rest,
		   ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu64
		   " %*d %" SCNu64,
		   &ret->state, &parent, &flags, &ret->threads, &ret->start_ticks) != 5)
		return false;
	ret->parent = parent;
	ret->is_kernel = (flags & PF_KTHREAD) != 0;
	return true;
}

uint64_t proc_status_number(pid_t pid, const char *key, int base, uint64_t fallback)
{
	char path[PROC_PATH], text[8192], word[64];
	char *at = text, *value;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	snprintf(word, sizeof word, "%s:", key);
	file_read_start(path, text, sizeof text);
	value = proc_line(&at, word);
	return value ? strtoull(value, NULL, base) : fallback;
}

pid_t proc_inner_pid(pid_t tid)
{
	char path[PROC_PATH], text[8192], *at = text, *line, *inner;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	file_read_start(path, text, sizeof text);
	line = proc_line(&at, "NSpid:\t");
	inner = line ? strrchr(line, '\t') : NULL;
	return inner ? (pid_t)strtol(inner, NULL, 10) : 0;
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int proc_numbers(const char *path, struct rows *ret)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int rc = 0;

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		char *end;
		long number = strtol(d->d_name, &end, 10);
		int *row;

		if (*end || end == d->d_name)
			continue;
		row = rows_add(ret, sizeof *row);
		if (!row) {
			rc = -ENOMEM;
			break;
		}
		*row = (int)number;
	}
	closedir(dir);
	if (ret->count)
		qsort(ret->data, ret->count, sizeof(int), compare_ints);
	return rc;
}

bool proc_fdinfo_parse(struct proc_fdinfo *ret, const char *text)
{
	return sscanf(text, "pos: %" SCNu64 " flags: %o mnt_id: %" SCNu64, &ret->pos, &ret->flags,
		      &ret->mnt_id) == 3;
}

char *proc_line(char **at, const char *word)
{
	size_t len = strlen(word);
	char *line;

	while (*at && (line = strsep(at, "\n")))
		if (strncmp(line, word, len) == 0)
			return line + len;
	return NULL;
}
