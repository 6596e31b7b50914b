/* SPDX-License-Identifier: MIT */
#include "target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/number.h"

#define PF_KTHREAD 0x00200000       /* linux/sched.h */
#define FIRST_NAMESPACE 0xeffffffcu /* inode. Source: kernel, include/linux/proc_ns.h */

bool proc_stat_read(struct proc_stat *ret, pid_t pid)
{
	char path[PROC_PATH], text[1024];
	const char *name, *rest;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!file_read_start(path, text, sizeof text))
		return false;
	name = strchr(text, '(');
	rest = strrchr(text, ')'); /* the name may hold anything */
	if (!name || !rest || rest < name)
		return false;
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(rest - name - 1), name + 1);
	memcpy(ret->comm, ret->name, sizeof ret->comm);
	err_clean(ret->comm);
	if (sscanf(rest,
		   ") %c %d %d %*d %*d %*d %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*d %*d %" SCNu64
		   " %*d %" SCNu64 " %*u %" SCNu64,
		   &ret->state, &ret->parent, &ret->group, &ret->flags, &ret->minor_faults,
		   &ret->reaped_minor_faults, &ret->major_faults, &ret->reaped_major_faults,
		   &ret->user_ticks, &ret->system_ticks, &ret->reaped_user_ticks,
		   &ret->reaped_system_ticks, &ret->threads, &ret->start_ticks,
		   &ret->rss_pages) != 15)
		return false;
	ret->is_kernel = (ret->flags & PF_KTHREAD) != 0;
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

int64_t proc_queued_ns(void)
{
	char text[128];
	int64_t queued_ns;

	if (!file_read_start("/proc/thread-self/schedstat", text, sizeof text) ||
	    sscanf(text, "%*u %" SCNd64, &queued_ns) != 1)
		return 0;
	return queued_ns;
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

uint64_t proc_page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

bool proc_has_kernel_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST_NAMESPACE;
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

bool proc_is(pid_t pid, uint64_t start_ticks)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, pid) && stat.start_ticks == start_ticks;
}

pid_t proc_idle_thread(pid_t pid)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	char path[PROC_PATH];
	const int *all;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (proc_numbers(path, &tids) < 0 || tids.count == 0)
		return 0;
	all = tids.data;
	for (size_t i = tids.count; i-- > 0;) {
		struct proc_stat stat;

		if (proc_stat_read(&stat, all[i]) && stat.state == 'S')
			return all[i];
	}
	return all[tids.count - 1];
}

int proc_open_threads(const char *proc, uint32_t pid, DIR **ret)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	buf_printf(&path, "%s/%u/task", proc, pid);
	if (buf_error(&path) < 0)
		return -ENOMEM;
	*ret = opendir(path.data);
	return !*ret && errno == ENOMEM ? -ENOMEM : 0;
}

bool proc_next(DIR *dir, uint32_t *ret)
{
	struct dirent *entry;
	uint64_t id;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (number_parse(entry->d_name, len, &id) != len || !id || id > INT32_MAX)
			continue;
		*ret = (uint32_t)id;
		return true;
	}
	return false;
}

void proc_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

bool proc_fdinfo_parse(struct proc_fdinfo *ret, const char *text)
{
	return sscanf(text, "pos: %" SCNu64 " flags: %o mnt_id: %" SCNu64, &ret->pos, &ret->flags,
		      &ret->mnt_id) == 3;
}

/* Hexadecimal digits and the character behind them. A NUL ends the digits, so no length is needed.
 */
static bool take_hex(const char **at, char separator, uint64_t *ret)
{
	size_t digits = number_parse_hex(*at, SIZE_MAX, ret);

	if (!digits || (*at)[digits] != separator)
		return false;
	*at += digits + 1;
	return true;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE    PATH" */
bool proc_map_parse(struct proc_map *ret, const char *line)
{
	struct proc_map m = { 0 };
	uint64_t device[2];

	if (!take_hex(&line, '-', &m.start) || !take_hex(&line, ' ', &m.end) || m.end <= m.start ||
	    strnlen(line, 5) < 5)
		return false;
	m.prot = (line[0] == 'r' ? PROT_READ : 0) | (line[1] == 'w' ? PROT_WRITE : 0) |
		 (line[2] == 'x' ? PROT_EXEC : 0);
	m.is_shared = line[3] == 's';
	line += 5;
	if (!take_hex(&line, ' ', &m.offset) || !take_hex(&line, ':', &device[0]) ||
	    !take_hex(&line, ' ', &device[1]))
		return false;
	m.dev_major = (uint32_t)device[0];
	m.dev_minor = (uint32_t)device[1];
	line += number_parse(line, SIZE_MAX, &m.ino);
	m.path = line + strspn(line, " ");
	*ret = m;
	return true;
}

/* The number behind the key, which begins a line. */
static int64_t number_after(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, key, len) == 0)
			return strtoll(at + len, NULL, 10);
	return 0;
}

int64_t proc_io_read(const char *process, struct proc_io *ret)
{
	char path[PROC_PATH], text[512];

	snprintf(path, sizeof path, "/proc/%s/io", process);
	*ret = (struct proc_io){ .has_value = file_read_start(path, text, sizeof text) > 0 };
	if (!ret->has_value)
		return 0;
	ret->read_chars = number_after(text, "rchar:");
	ret->write_chars = number_after(text, "wchar:");
	ret->read_calls = number_after(text, "syscr:");
	ret->write_calls = number_after(text, "syscw:");
	ret->read_bytes = number_after(text, "read_bytes:");
	ret->write_bytes = number_after(text, "write_bytes:");
	return (int64_t)strlen(text);
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

int proc_dup_fd(pid_t pid, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = pidfd < 0 ? -errno : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	if (pidfd < 0)
		return fd;
	if (fd < 0)
		fd = -errno;
	close(pidfd);
	return fd;
}

bool proc_is_set_id(pid_t pid)
{
	char path[64];
	struct statx x;

	/* The kernel knows it since the exec; storage is not asked, and may not reply. */
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MODE | STATX_UID | STATX_GID, &x) ==
		       0 &&
	       ((x.stx_mode & S_ISUID && x.stx_uid != geteuid()) ||
		(x.stx_mode & S_ISGID && x.stx_gid != getegid()));
}
