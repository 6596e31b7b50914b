/* SPDX-License-Identifier: MIT */
/*
 * Processes outside the job. A file that the job and an outsider both use stays on OLD: after a
 * move they would write to two different files. An outsider that uses other files of OLD is a note,
 * because it keeps the mount busy.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/jobs.h"
#include "relocate/inventory/scan_internal.h"

#define MAPS_MAX (256 << 20) /* bytes */

struct outsider {
	pid_t pid;
	struct proc_stat stat; /* read when needed; state 0: not yet */
	bool is_reported;      /* there is a note about it */
	bool may_be_old;       /* it may use OLD */
	pid_t live_tid; /* the thread whose links are read: another one if the first has ended */
};

static void keep_file_on_old(struct scan *sc, uint32_t file)
{
	struct reloc_desc *descs = sc->descs.data;
	struct reloc_map *maps = sc->maps.data;
	struct reloc_lock *locks = sc->locks.data;
	struct reloc_watch *watches = sc->watches.data;
	size_t kept = 0;

	for (size_t i = 0; i < sc->descs.count; i++)
		descs[i].stays |= descs[i].file == file;
	for (size_t i = 0; i < sc->maps.count; i++)
		maps[i].stays |= maps[i].file == file;
	for (size_t i = 0; i < sc->locks.count; i++)
		locks[i].stays |= descs[locks[i].desc].file == file;
	for (size_t i = 0; i < sc->watches.count; i++)
		if (watches[i].file != file)
			watches[kept++] = watches[i];
	sc->watches.count = kept;
}

/* Job and outsiders may share directories, because nobody writes to their content through a
 * descriptor. */
static bool is_shared_content(const struct scan *sc, uint32_t file)
{
	const struct reloc_file *f = (const struct reloc_file *)sc->files.data + file;

	return !S_ISDIR(f->mode) && f->uses & (RELOC_USE_FD | RELOC_USE_MAPPED);
}

/* A new child of a running job belongs to the job, though the list of its processes lacks it. */
static bool is_new_child(const struct scan *sc, const struct outsider *o)
{
	struct proc_stat stat = o->stat;

	if (sc->opts->is_frozen || sc->opts->is_only)
		return false;
	while (stat.parent > 1) {
		if (map_get(&sc->members, (uint64_t)stat.parent) != MAP_NONE)
			return true;
		if (!proc_stat_read(&stat, stat.parent))
			return false;
	}
	return false;
}

/* Few outsiders may use OLD; only for those the view is needed. */
static void set_outsider_view(struct scan *sc, const struct outsider *o)
{
	struct err ignored;

	if (!sc->view && scan_set_view(sc, o->pid, &ignored) < 0)
		sc->bad = true;
}

/* The process that Slurm runs for each step, and that has the step's output open, too. Any program
 * may take its name, but is not a parent of the job. */
static bool is_manager(const struct scan *sc, const struct outsider *o)
{
	const struct reloc_proc *all = sc->procs.data;
	struct proc_stat stat;

	if (!sc->opts->skips_manager || strcmp(o->stat.comm, JOBS_MANAGER) != 0)
		return false;
	for (size_t i = 0; i < sc->procs.count; i++)
		if (proc_stat_read(&stat, all[i].pid) && stat.parent == o->pid)
			return true;
	return false;
}

static void scan_outsider_link(struct scan *sc, struct outsider *o, const char *path,
			       const char *what)
{
	struct link_target target;
	uint32_t file;
	char reason[160], remedy[96];

	if (!scan_may_be_old(sc, path))
		return;
	o->may_be_old = true;
	set_outsider_view(sc, o);
	if (!scan_link(sc, path, &target) || !target.is_old)
		return;
	if (!o->stat.state && !proc_stat_read(&o->stat, o->pid))
		return; /* it has ended */
	if (is_new_child(sc, o))
		return;
	if (is_manager(sc, o)) {
		scan_add_obstacle_pid(
			sc, RELOC_NOTE, o->pid, o->stat.comm, what, target.link,
			"Slurm keeps it open on OLD until the job step ends; what it writes itself goes there",
			"--enter-slurmstepd moves it, too");
		return;
	}
	file = scan_find_file(sc, &target.x);
	if (file != STRTAB_NONE && is_shared_content(sc, file)) {
		keep_file_on_old(sc, file);
		snprintf(reason, sizeof reason, "process %d (%s) outside the job uses it, too (%s)",
			 (int)o->pid, o->stat.comm, what);
		snprintf(remedy, sizeof remedy, "--pid %d moves that process, too", (int)o->pid);
		scan_add_obstacle(sc, RELOC_STAYS, RELOC_NONE, "file", target.link, reason, remedy);
		return;
	}
	if (o->is_reported)
		return;
	o->is_reported = true;
	scan_add_obstacle_pid(sc, RELOC_NOTE, o->pid, o->stat.comm, what, target.link,
			      "a process outside the job keeps OLD busy",
			      "--all-users-of moves all of them");
}

static int scan_outsider_maps(struct scan *sc, struct outsider *o, struct err *e)
{
	char path[PROC_PATH], what[64];
	struct proc_map m;
	char *at, *line;
	bool is_aio;

	if (scan_has_old_map(sc, o->live_tid, NULL) == 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)o->live_tid);
	buf_clear(&sc->text);
	if (file_read_small(path, MAPS_MAX, &sc->text, e) < 0)
		return e->code == -ENOMEM ? e->code : 0; /* ended, or we may not read it */
	buf_put_byte(&sc->text, '\0');
	if (buf_error(&sc->text) < 0)
		return err_nomem(e);
	at = sc->text.data;
	while ((line = strsep(&at, "\n"))) {
		if (!scan_is_old_map(sc, line, &is_aio) || !proc_map_parse(&m, line))
			continue;
		snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 (int)o->live_tid, m.start, m.end);
		snprintf(what, sizeof what, "mapping %" PRIx64 "-%" PRIx64, m.start, m.end);
		scan_outsider_link(sc, o, path, what);
	}
	return 0;
}

static int scan_outsider_fds(struct scan *sc, struct outsider *o, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	char path[PROC_PATH], what[32];
	const int *all;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)o->live_tid);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	all = numbers.data;
	for (size_t i = 0; i < numbers.count; i++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)o->live_tid, all[i]);
		snprintf(what, sizeof what, "descriptor %d", all[i]);
		scan_outsider_link(sc, o, path, what);
	}
	return 0;
}

static int scan_outsider(struct scan *sc, struct outsider *o, struct err *e)
{
	static const char *const links[][2] = {
		{ "cwd", "working directory" },
		{ "root", "root directory" },
		{ "exe", "program" },
	};
	char path[PROC_PATH];

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)o->live_tid, links[i][0]);
		scan_outsider_link(sc, o, path, links[i][1]);
	}
	if (scan_outsider_fds(sc, o, e) < 0 || scan_outsider_maps(sc, o, e) < 0)
		return e->code;
	return sc->bad ? err_nomem(e) : 0;
}

/* Kernel threads have no program, nor have ended threads. */
static bool has_program(pid_t pid)
{
	char path[PROC_PATH], link;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return readlink(path, &link, sizeof link) >= 0 || errno != ENOENT;
}

/* A thread of the process that has not ended; 0: none. */
static pid_t find_live_thread(pid_t pid, struct err *e)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	char path[PROC_PATH];
	struct stat st;

	if (has_program(pid))
		return pid;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (stat(path, &st) < 0 || st.st_nlink <= 3) /* two, and one more for each thread */
		return 0;
	if (proc_numbers(path, &tids) == -ENOMEM)
		return err_nomem(e);
	for (size_t i = 0; i < tids.count; i++)
		if (has_program(((const int *)tids.data)[i]))
			return ((const int *)tids.data)[i];
	return 0;
}

static int scan_outsider_cached(struct scan *sc, struct outsider *o, struct err *e)
{
	struct scan_cache *cache = sc->opts->cache;
	int64_t time_ns = cache ? scan_cache_cpu_ns(o->pid) : -1;

	sc->view = NULL;
	o->live_tid = find_live_thread(o->pid, e);
	if (o->live_tid < 0 || (o->live_tid && scan_outsider(sc, o, e) < 0))
		return e->code;
	if (cache && time_ns >= 0 && !o->may_be_old && scan_cache_add(cache, o->pid, time_ns) < 0)
		return err_nomem(e);
	return 0;
}

int scan_outsiders(struct scan *sc, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	int rc = proc_numbers("/proc", &pids);
	const int *all = pids.data;

	if (rc < 0)
		return err_set(e, rc, "/proc: %s", strerror(-rc));
	for (size_t i = 0; i < pids.count; i++) {
		struct outsider o = { .pid = all[i] };

		if (all[i] == getpid() || map_get(&sc->members, (uint64_t)all[i]) != MAP_NONE ||
		    (sc->opts->cache && scan_cache_is_valid(sc->opts->cache, all[i])))
			continue;
		if (scan_outsider_cached(sc, &o, e) < 0)
			return e->code;
	}
	return 0;
}
