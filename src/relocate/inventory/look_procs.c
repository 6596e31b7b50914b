/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rights.h"
#include "relocate/inventory/look.h"

#define CAP_SYS_ADMIN_BIT 21 /* linux/capability.h */

static void add_proc(struct look *l, pid_t pid, const struct proc_stat *stat)
{
	uint32_t at = (uint32_t)l->procs.count;
	struct reloc_proc *p;

	if (map_get(&l->members, (uint64_t)pid) != MAP_NONE)
		return;
	p = rows_add(&l->procs, sizeof *p);
	if (!p || map_put(&l->members, (uint64_t)pid, at) < 0) {
		l->bad = true;
		return;
	}
	p->pid = pid;
	p->start_ticks = stat->start_ticks;
	memcpy(p->comm, stat->comm, sizeof p->comm);
	p->state = stat->state;
	p->threads = (uint32_t)stat->threads;
	p->files_of = p->mm_of = at;
}

/* Other threads run on: then /proc tells of the process what its first thread has, nothing. */
static bool is_headless(const struct proc_stat *stat)
{
	return stat->state == 'Z' && stat->threads > 1;
}

static void refuse_headless(struct look *l, pid_t pid, const struct proc_stat *stat)
{
	look_obstacle_pid(l, RELOC_PREVENTS, pid, stat->comm, "process", "",
			  "its first thread has ended, others run on", "");
}

/* pid may be a thread's. */
static pid_t find_process(pid_t pid)
{
	return (pid_t)proc_status_number(pid, "Tgid", 10, (uint64_t)pid);
}

static void refuse_thread(struct look *l, pid_t tid, pid_t pid, const struct proc_stat *stat)
{
	char reason[64], remedy[32];

	snprintf(reason, sizeof reason, "it is a thread of process %d", (int)pid);
	snprintf(remedy, sizeof remedy, "--pid %d", (int)pid);
	look_obstacle_pid(l, RELOC_PREVENTS, tid, stat->comm, "process", "", reason, remedy);
}

static void add_start(struct look *l, pid_t pid)
{
	struct proc_stat stat = { 0 };
	bool is_there = proc_stat_read(&stat, pid);
	pid_t process = l->ask->is_stopped ? pid : find_process(pid);
	char what[32];

	snprintf(what, sizeof what, "process %d", (int)pid);
	if (is_there && is_headless(&stat))
		refuse_headless(l, pid, &stat);
	else if (is_there && process != pid)
		refuse_thread(l, pid, process, &stat);
	else if ((l->ask->is_stopped || l->ask->is_found) &&
		 (!is_there || strchr("ZX", stat.state)))
		return; /* killed while it was held, say */
	else if (!is_there || strchr("ZX", stat.state))
		look_obstacle_pid(l, RELOC_PREVENTS, 0, "", what, "", "there is no such process",
				  "");
	else if (stat.is_kernel)
		look_obstacle_pid(l, RELOC_PREVENTS, pid, stat.comm, what, "",
				  "a thread of the kernel", "");
	else if (pid == getpid())
		look_obstacle_pid(l, RELOC_PREVENTS, pid, stat.comm, what, "",
				  "this is auger itself", "");
	else
		add_proc(l, pid, &stat);
}

/* Children may have smaller numbers than their parents, so again until nothing is new. */
static int add_descendants(struct look *l, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	const int *all;
	size_t before;
	int rc = proc_numbers("/proc", &pids);

	if (rc < 0)
		return err_set(e, rc, "/proc: %s", strerror(-rc));
	all = pids.data;
	do {
		before = l->procs.count;
		for (size_t i = 0; i < pids.count; i++) {
			struct proc_stat stat;

			if (all[i] == getpid() || !proc_stat_read(&stat, all[i]) ||
			    (strchr("ZX", stat.state) && !is_headless(&stat)))
				continue;
			if (map_get(&l->members, (uint64_t)stat.parent) != MAP_NONE)
				add_proc(l, all[i], &stat);
		}
	} while (l->procs.count > before && !l->bad);
	return 0;
}

static void check_tracer(struct look *l, uint32_t proc, pid_t pid)
{
	pid_t tracer = (pid_t)proc_status_number(pid, "TracerPid", 10, 0);
	struct proc_stat stat = { 0 };
	char reason[160];

	if (!tracer)
		return;
	(void)proc_stat_read(&stat, tracer);
	snprintf(reason, sizeof reason, "it is traced by process %d (%s)", (int)tracer, stat.comm);
	look_obstacle(l, RELOC_PREVENTS, proc, "process", "", reason, "end the tracer");
}

static void check_seccomp(struct look *l, uint32_t proc, pid_t pid)
{
	uint64_t caps = rights_capabilities();

	if (proc_status_number(pid, "Seccomp", 10, 0) && !(caps >> CAP_SYS_ADMIN_BIT & 1))
		look_obstacle(l, RELOC_PREVENTS, proc, "process", "",
			      "its system calls are filtered (seccomp)",
			      "run auger as root (CAP_SYS_ADMIN)");
}

static void check_class(struct look *l, uint32_t proc, pid_t pid)
{
	char path[PROC_PATH], head[EI_NIDENT + 1];
	struct seen seen;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (!look_link(l, path, &seen) || seen.is_old)
		return;
	if (file_read_start(path, head, sizeof head) == EI_NIDENT && head[EI_CLASS] != ELFCLASS64)
		look_obstacle(l, RELOC_PREVENTS, proc, "process", seen.link,
			      "it is a 32-bit program", "");
}

static void check_access(struct look *l, uint32_t proc, pid_t pid)
{
	char path[PROC_PATH], reason[128];

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	if (access(path, R_OK | X_OK) == 0 || errno == ENOENT)
		return;
	snprintf(reason, sizeof reason, "it may not be looked into (it runs as user %u)",
		 (unsigned)proc_status_number(pid, "Uid", 10, 0));
	look_obstacle(l, RELOC_PREVENTS, proc, "process", "", reason, "run auger as root");
}

/* Of the named ones add_start() has told. */
static void check_head(struct look *l, const struct reloc_proc *p)
{
	struct proc_stat stat;

	if (p->state == 'Z' && proc_stat_read(&stat, p->pid) && is_headless(&stat))
		refuse_headless(l, p->pid, &stat);
}

int look_procs(struct look *l, struct err *e)
{
	for (size_t i = 0; i < l->ask->pid_count; i++)
		add_start(l, l->ask->pids[i]);
	if (!l->ask->is_only && !l->ask->is_stopped && add_descendants(l, e) < 0)
		return e->code;
	for (uint32_t i = 0; i < l->procs.count && !l->bad; i++) {
		pid_t pid = ((struct reloc_proc *)l->procs.data)[i].pid;

		check_access(l, i, pid);
		check_head(l, (struct reloc_proc *)l->procs.data + i);
		if (l->ask->is_stopped)
			continue;
		check_tracer(l, i, pid);
		check_seccomp(l, i, pid);
		check_class(l, i, pid);
	}
	return l->bad ? err_nomem(e) : 0;
}
