/* SPDX-License-Identifier: MIT */
/*
 * Processes outside the job. Who has one of the job's files too must come along: two writers of
 * two copies are two files. Who only uses something else of OLD is named, since it keeps the
 * mount busy.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/look.h"

#define MAPS_MAX (256 << 20) /* bytes */

struct other {
	pid_t pid;
	struct proc_stat stat; /* read when it is needed; state 0: not yet */
	bool is_told;          /* that it uses OLD */
	bool is_near;          /* something of it may be OLD's */
	pid_t looked;          /* whose links tell what it has: a thread, if the first has ended */
};

static void leave_file(struct look *l, uint32_t file)
{
	struct reloc_desc *descs = l->descs.data;
	struct reloc_map *maps = l->maps.data;
	struct reloc_lock *locks = l->locks.data;
	struct reloc_watch *watches = l->watches.data;
	size_t kept = 0;

	for (size_t i = 0; i < l->descs.count; i++)
		descs[i].is_left |= descs[i].file == file;
	for (size_t i = 0; i < l->maps.count; i++)
		maps[i].is_left |= maps[i].file == file;
	for (size_t i = 0; i < l->locks.count; i++)
		locks[i].is_left |= descs[locks[i].desc].file == file;
	for (size_t i = 0; i < l->watches.count; i++)
		if (watches[i].file != file)
			watches[kept++] = watches[i];
	l->watches.count = kept;
}

/* Directories and working directories may be shared with others: nothing is written to them. */
static bool is_shared_content(const struct look *l, uint32_t file)
{
	const struct reloc_file *f = (const struct reloc_file *)l->files.data + file;

	return !S_ISDIR(f->mode) && f->uses & (RELOC_USE_FD | RELOC_USE_MAPPED);
}

/* A child that a running job has just made is of the job, though it was not there before. */
static bool was_just_born(const struct look *l, const struct other *o)
{
	struct proc_stat stat = o->stat;

	if (l->ask->is_stopped || l->ask->is_only)
		return false;
	while (stat.parent > 1) {
		if (map_get(&l->members, (uint64_t)stat.parent) != MAP_NONE)
			return true;
		if (!proc_stat_read(&stat, stat.parent))
			return false;
	}
	return false;
}

/* Few have anything near OLD, so only then it is asked how they see it. */
static void view_other(struct look *l, const struct other *o)
{
	struct err ignored;

	if (!l->view && look_view(l, o->pid, &ignored) < 0)
		l->bad = true;
}

static void take_link(struct look *l, struct other *o, const char *path, const char *what)
{
	struct seen seen;
	uint32_t file;
	char reason[160], remedy[96];

	if (!look_is_near(l, path))
		return;
	o->is_near = true;
	view_other(l, o);
	if (!look_link(l, path, &seen) || !seen.is_old)
		return;
	if (!o->stat.state && !proc_stat_read(&o->stat, o->pid))
		return; /* it has ended */
	if (was_just_born(l, o))
		return;
	file = look_find_file(l, &seen.x);
	if (file != STRTAB_NONE && is_shared_content(l, file)) {
		leave_file(l, file);
		snprintf(reason, sizeof reason,
			 "process %d (%s), which is not of the job, has it too (%s)", (int)o->pid,
			 o->stat.comm, what);
		snprintf(remedy, sizeof remedy, "--pid %d takes it along", (int)o->pid);
		look_obstacle(l, RELOC_LEAVES, RELOC_NONE, "file", seen.link, reason, remedy);
		return;
	}
	if (o->is_told)
		return;
	o->is_told = true;
	look_obstacle_pid(l, RELOC_NOTES, o->pid, o->stat.comm, what, seen.link,
			  "this process, which is not of the job, keeps OLD busy",
			  "--all-users-of moves all of them");
}

static int take_maps(struct look *l, struct other *o, struct err *e)
{
	char path[PROC_PATH], what[64];
	struct proc_map m;
	char *at, *line;
	bool is_aio;

	if (look_maps_near(l, o->looked, NULL) == 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)o->looked);
	buf_clear(&l->text);
	if (file_read_small(path, MAPS_MAX, &l->text, e) < 0)
		return e->code == -ENOMEM ? e->code : 0; /* gone, or not ours to see */
	buf_put_byte(&l->text, '\0');
	if (buf_error(&l->text) < 0)
		return err_nomem(e);
	at = l->text.data;
	while ((line = strsep(&at, "\n"))) {
		if (!look_maps_old(l, line, &is_aio) || !proc_map_parse(&m, line))
			continue;
		snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 (int)o->looked, m.start, m.end);
		snprintf(what, sizeof what, "mapping %" PRIx64 "-%" PRIx64, m.start, m.end);
		take_link(l, o, path, what);
	}
	return 0;
}

static int take_fds(struct look *l, struct other *o, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	char path[PROC_PATH], what[32];
	const int *all;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)o->looked);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	all = numbers.data;
	for (size_t i = 0; i < numbers.count; i++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)o->looked, all[i]);
		snprintf(what, sizeof what, "descriptor %d", all[i]);
		take_link(l, o, path, what);
	}
	return 0;
}

static int take_other(struct look *l, struct other *o, struct err *e)
{
	static const char *const links[][2] = {
		{ "cwd", "working directory" },
		{ "root", "root directory" },
		{ "exe", "program" },
	};
	char path[PROC_PATH];

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)o->looked, links[i][0]);
		take_link(l, o, path, links[i][1]);
	}
	if (take_fds(l, o, e) < 0 || take_maps(l, o, e) < 0)
		return e->code;
	return l->bad ? err_nomem(e) : 0;
}

/* The kernel's own threads have none, nor has what has ended. */
static bool has_program(pid_t pid)
{
	char path[PROC_PATH], link;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return readlink(path, &link, sizeof link) >= 0 || errno != ENOENT;
}

/* Who has what the process has; 0: nobody. */
static pid_t find_looked(pid_t pid, struct err *e)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	char path[PROC_PATH];
	struct stat st;

	if (has_program(pid))
		return pid;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (stat(path, &st) < 0 || st.st_nlink <= 3) /* two, and one for each thread */
		return 0;
	if (proc_numbers(path, &tids) == -ENOMEM)
		return err_nomem(e);
	for (size_t i = 0; i < tids.count; i++)
		if (has_program(((const int *)tids.data)[i]))
			return ((const int *)tids.data)[i];
	return 0;
}

static int take_idle(struct look *l, struct other *o, struct err *e)
{
	struct idle *idle = l->ask->idle;
	int64_t time_ns = idle ? idle_time_ns(o->pid) : -1;

	l->view = NULL;
	o->looked = find_looked(o->pid, e);
	if (o->looked < 0 || (o->looked && take_other(l, o, e) < 0))
		return e->code;
	if (idle && time_ns >= 0 && !o->is_near && idle_note(idle, o->pid, time_ns) < 0)
		return err_nomem(e);
	return 0;
}

int look_others(struct look *l, struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	int rc = proc_numbers("/proc", &pids);
	const int *all = pids.data;

	if (rc < 0)
		return err_set(e, rc, "/proc: %s", strerror(-rc));
	for (size_t i = 0; i < pids.count; i++) {
		struct other o = { .pid = all[i] };

		if (all[i] == getpid() || map_get(&l->members, (uint64_t)all[i]) != MAP_NONE ||
		    (l->ask->idle && idle_is_still(l->ask->idle, all[i])))
			continue;
		if (take_idle(l, &o, e) < 0)
			return e->code;
	}
	return 0;
}
