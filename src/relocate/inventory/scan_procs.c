/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/privilege.h"
#include "base/storage/storage_open.h"
#include "relocate/inventory/scan_internal.h"

#define CAP_SYS_ADMIN_BIT 21 /* linux/capability.h */

static void add_proc(struct scan *sc, pid_t pid, const struct proc_stat *stat)
{
	uint32_t at = (uint32_t)sc->procs.count;
	struct reloc_proc *p;

	if (map_get(&sc->members, (uint64_t)pid) != MAP_NONE)
		return;
	p = rows_add(&sc->procs, sizeof *p);
	if (!p || map_put(&sc->members, (uint64_t)pid, at) < 0) {
		sc->bad = true;
		return;
	}
	p->pid = pid;
	p->start_ticks = stat->start_ticks;
	memcpy(p->comm, stat->comm, sizeof p->comm);
	p->state = stat->state;
	p->threads = (uint32_t)stat->threads;
	p->files_of = p->mm_of = at;
}

/* The first thread has ended while others run on: then /proc/PID shows nothing of the process. */
static bool has_zombie_leader(const struct proc_stat *stat)
{
	return stat->state == 'Z' && stat->threads > 1;
}

static void refuse_zombie_leader(struct scan *sc, pid_t pid, const struct proc_stat *stat)
{
	scan_add_obstacle_pid(sc, RELOC_BLOCKS, pid, stat->comm, "process", "",
			      "its first thread has ended while others run", "");
}

/* The process of pid, which may be a thread's. */
static pid_t find_process(pid_t pid)
{
	return (pid_t)proc_status_number(pid, "Tgid", 10, (uint64_t)pid);
}

static void refuse_thread(struct scan *sc, pid_t tid, pid_t pid, const struct proc_stat *stat)
{
	char reason[64], remedy[32];

	snprintf(reason, sizeof reason, "it is a thread of process %d", (int)pid);
	snprintf(remedy, sizeof remedy, "--pid %d", (int)pid);
	scan_add_obstacle_pid(sc, RELOC_BLOCKS, tid, stat->comm, "process", "", reason, remedy);
}

static void add_start(struct scan *sc, pid_t pid)
{
	struct proc_stat stat = { 0 };
	bool is_there = proc_stat_read(&stat, pid);
	pid_t process = sc->opts->is_frozen ? pid : find_process(pid);
	char what[32];

	snprintf(what, sizeof what, "process %d", (int)pid);
	if (is_there && has_zombie_leader(&stat))
		refuse_zombie_leader(sc, pid, &stat);
	else if (is_there && process != pid)
		refuse_thread(sc, pid, process, &stat);
	else if ((sc->opts->is_frozen || sc->opts->is_found) &&
		 (!is_there || strchr("ZX", stat.state)))
		return; /* killed while it was frozen, for example */
	else if (!is_there || strchr("ZX", stat.state))
		scan_add_obstacle_pid(sc, RELOC_BLOCKS, 0, "", what, "", "there is no such process",
				      "");
	else if (stat.is_kernel)
		scan_add_obstacle_pid(sc, RELOC_BLOCKS, pid, stat.comm, what, "",
				      "it is a kernel thread", "");
	else if (pid == getpid())
		scan_add_obstacle_pid(sc, RELOC_BLOCKS, pid, stat.comm, what, "",
				      "it is auger itself", "");
	else
		add_proc(sc, pid, &stat);
}

/* Children may have lower pids than their parents, so it repeats until it finds no new one. */
static int add_descendants(struct scan *sc, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	const int *all;
	size_t before;
	int rc = proc_numbers("/proc", &pids);

	if (rc < 0)
		return err_set(e, rc, "/proc: %s", strerror(-rc));
	all = pids.data;
	do {
		before = sc->procs.count;
		for (size_t i = 0; i < pids.count; i++) {
			struct proc_stat stat;

			if (all[i] == getpid() || !proc_stat_read(&stat, all[i]) ||
			    (strchr("ZX", stat.state) && !has_zombie_leader(&stat)))
				continue;
			if (map_get(&sc->members, (uint64_t)stat.parent) != MAP_NONE)
				add_proc(sc, all[i], &stat);
		}
	} while (sc->procs.count > before && !sc->bad);
	return 0;
}

static void check_tracer(struct scan *sc, uint32_t proc, pid_t pid)
{
	pid_t tracer = (pid_t)proc_status_number(pid, "TracerPid", 10, 0);
	struct proc_stat stat = { 0 };
	char reason[160];

	if (!tracer)
		return;
	(void)proc_stat_read(&stat, tracer);
	snprintf(reason, sizeof reason, "it is traced by process %d (%s)", (int)tracer, stat.comm);
	scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", "", reason, "end the tracer");
}

static void check_seccomp(struct scan *sc, uint32_t proc, pid_t pid)
{
	uint64_t caps = privilege_capabilities();

	if (proc_status_number(pid, "Seccomp", 10, 0) && !(caps >> CAP_SYS_ADMIN_BIT & 1))
		scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", "",
				  "a seccomp filter restricts its system calls",
				  "run auger as root (CAP_SYS_ADMIN)");
}

static void check_class(struct scan *sc, uint32_t proc, pid_t pid)
{
	char path[PROC_PATH], head[EI_NIDENT];
	CLEANUP(fd_close) int fd = -1;
	struct link_target target;
	struct err e;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (!scan_link(sc, path, &target) || target.is_old)
		return;
	fd = storage_open_regular(path, 0, &e);
	if (fd == -ETIMEDOUT)
		scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", target.link,
				  "the storage of its program does not reply", "");
	else if (fd >= 0 && pread(fd, head, sizeof head, 0) == EI_NIDENT &&
		 head[EI_CLASS] != ELFCLASS64)
		scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", target.link,
				  "it is a 32-bit program", "");
}

static void check_access(struct scan *sc, uint32_t proc, pid_t pid)
{
	char path[PROC_PATH], reason[128];

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	if (access(path, R_OK | X_OK) == 0 || errno == ENOENT)
		return;
	snprintf(reason, sizeof reason, "it runs as another user (%u)",
		 (unsigned)proc_status_number(pid, "Uid", 10, 0));
	scan_add_obstacle(sc, RELOC_BLOCKS, proc, "process", "", reason, "run auger as root");
}

/* add_start() reports the processes that the user named; this reports descendants. */
static void check_leader(struct scan *sc, const struct reloc_proc *p)
{
	struct proc_stat stat;

	if (p->state == 'Z' && proc_stat_read(&stat, p->pid) && has_zombie_leader(&stat))
		refuse_zombie_leader(sc, p->pid, &stat);
}

int scan_procs(struct scan *sc, struct err *e)
{
	for (size_t i = 0; i < sc->opts->pid_count; i++)
		add_start(sc, sc->opts->pids[i]);
	if (!sc->opts->is_only && !sc->opts->is_frozen && add_descendants(sc, e) < 0)
		return e->code;
	for (uint32_t i = 0; i < sc->procs.count && !sc->bad; i++) {
		pid_t pid = ((struct reloc_proc *)sc->procs.data)[i].pid;

		check_access(sc, i, pid);
		check_leader(sc, (struct reloc_proc *)sc->procs.data + i);
		if (sc->opts->is_frozen)
			continue;
		check_tracer(sc, i, pid);
		check_seccomp(sc, i, pid);
		check_class(sc, i, pid);
	}
	return sc->bad ? err_nomem(e) : 0;
}
