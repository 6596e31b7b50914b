/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/jobs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/file.h"
#include "relocate/inventory/scan.h"
#include "target/proc.h"

static int add(struct rows *pids, pid_t pid, struct err *e)
{
	const pid_t *all = pids->data;
	pid_t *row;

	for (size_t i = 0; i < pids->count; i++)
		if (all[i] == pid)
			return 0;
	row = rows_add(pids, sizeof *row);
	if (!row)
		return err_nomem(e);
	*row = pid;
	return 0;
}

int jobs_parse(const char *list, struct rows *pids, struct err *e)
{
	const char *at = list;

	do {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || pid > INT_MAX || (*end && *end != ','))
			return err_set(e, -EINVAL,
				       "'%s': process ids are numbers, separated by commas", list);
		if (add(pids, (pid_t)pid, e) < 0)
			return e->code;
		at = *end ? end + 1 : end;
	} while (*at);
	return 0;
}

/* Is "job_ID" a directory of the group's path, and the group not that of Slurm's own daemon
 * ("/slurm")? */
static bool is_in_job(pid_t pid, const char *word)
{
	char path[PROC_PATH], text[8192], *at;
	size_t len = strlen(word);

	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	if (!file_read_start(path, text, sizeof text))
		return false;
	at = strstr(text, word);
	if (!at || (at[len] != '/' && at[len] != '\n' && at[len] != '\0'))
		return false;
	at[strcspn(at, "\n")] = '\0';
	len = strlen(at);
	return len < 6 || strcmp(at + len - 6, "/slurm") != 0;
}

static int find_in_cgroups(const char *id, struct rows *pids, struct err *e)
{
	CLEANUP(rows_fini) struct rows all = { 0 };
	char word[64];
	int rc = proc_numbers("/proc", &all);

	if (rc < 0)
		return err_set(e, rc, "/proc: %s", strerror(-rc));
	snprintf(word, sizeof word, "/job_%s", id);
	for (size_t i = 0; i < all.count; i++)
		if (is_in_job(((int *)all.data)[i], word) && add(pids, ((int *)all.data)[i], e) < 0)
			return e->code;
	return 0;
}

/* Reads lines of "PID JOBID STEPID ..." after a heading. */
static int run_scontrol(const char *id, struct rows *pids, struct err *e)
{
	char command[96], line[256];
	FILE *from;
	int rc = 0;

	snprintf(command, sizeof command, "scontrol listpids %s 2>/dev/null", id);
	from = popen(command, "re");
	if (!from)
		return err_errno(e, "scontrol");
	while (rc == 0 && fgets(line, sizeof line, from)) {
		long pid = strtol(line, NULL, 10);

		if (pid > 0 && pid <= INT_MAX)
			rc = add(pids, (pid_t)pid, e);
	}
	pclose(from);
	return rc;
}

static int add_managers(struct rows *pids, struct err *e)
{
	for (size_t i = 0, count = pids->count; i < count; i++) {
		struct proc_stat stat, parent;

		if (proc_stat_read(&stat, ((const pid_t *)pids->data)[i]) &&
		    proc_stat_read(&parent, stat.parent) &&
		    strcmp(parent.comm, JOBS_MANAGER) == 0 && add(pids, stat.parent, e) < 0)
			return e->code;
	}
	return 0;
}

int jobs_find_slurm(const char *id, bool with_manager, struct rows *pids, struct err *e)
{
	size_t before = pids->count;

	if (!*id || strlen(id) > 20 || id[strspn(id, "0123456789")])
		return err_set(e, -EINVAL, "'%s': a Slurm job id is a number", id);
	if (find_in_cgroups(id, pids, e) < 0)
		return e->code;
	if (pids->count == before && run_scontrol(id, pids, e) < 0)
		return e->code;
	if (pids->count == before)
		return err_set(e, -ESRCH, "job %s has no processes on this host", id);
	return with_manager ? add_managers(pids, e) : 0;
}

int jobs_find_users(const struct top_dir *old_dir, struct rows *pids, struct err *e)
{
	CLEANUP(reloc_inventory_fini) struct reloc_inventory s = { 0 };
	struct scan_opts opts = { .old_dir = old_dir, .is_only = true };

	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	for (size_t i = 0; i < s.obstacle_count; i++)
		if (s.obstacles[i].pid && add(pids, s.obstacles[i].pid, e) < 0)
			return e->code;
	if (!pids->count)
		return err_set(e, -ESRCH, "no process uses %s", old_dir->path);
	return 0;
}
