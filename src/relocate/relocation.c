/* SPDX-License-Identifier: MIT */
#include "relocate/relocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "relocate/copy/copy_thread.h"
#include "relocate/reopen.h"

#define DEAD_SCAN_NS (30 * NS_PER_S)

struct scan_opts relocation_scan_opts(const struct relocation *r)
{
	return (struct scan_opts){
		.pids = r->pids,
		.pid_count = r->pid_count,
		.old_dir = r->old_dir,
		.new_dir = r->new_dir,
		.is_only = r->is_only,
		.is_found = r->is_found,
		.is_dead = r->is_dead,
		.moves_libs = r->moves_libs,
		.skips_manager = r->skips_manager,
	};
}

/* The thread uses it until the process ends, if it hangs. */
struct dead_scan {
	struct scan_opts opts;
	struct reloc_inventory found;
};

static int scan_now(void *self, struct err *e)
{
	struct dead_scan *d = self;

	return scan_take(&d->opts, &d->found, e);
}

/* Should not ask storage, but the kernel may do it for us. */
static int scan_dead(const struct scan_opts *opts, struct reloc_inventory *ret, struct err *e)
{
	struct dead_scan *d = calloc(1, sizeof *d);
	bool hangs;
	int rc;

	if (!d)
		return err_nomem(e);
	d->opts = *opts;
	rc = copy_thread_join(copy_thread_start(scan_now, d), clock_mono_ns() + DEAD_SCAN_NS,
			      &hangs, e);
	if (hangs)
		return rc;
	if (rc == 0)
		*ret = d->found;
	free(d);
	return rc;
}

int relocation_scan(const struct relocation *r, struct reloc_inventory *ret, struct err *e)
{
	struct scan_opts opts = relocation_scan_opts(r);

	if (r->is_dead)
		return scan_dead(&opts, ret, e);
	if (scan_take(&opts, ret, e) < 0)
		return e->code;
	return reopen_find(ret, r->old_dir, r->swaps, e);
}

static int refuse(const struct reloc_obstacle *o, struct err *e)
{
	char process[96] = "", remedy[256] = "";

	if (o->pid)
		snprintf(process, sizeof process, "process %d (%s): ", (int)o->pid, o->comm);
	if (*o->remedy)
		snprintf(remedy, sizeof remedy, " (%s)", o->remedy);
	return err_set(e, -EBUSY, "%s%s%s%.200s: %s%s", process, o->what, *o->path ? " " : "",
		       o->path, o->reason, remedy);
}

/* A process with mounts of its own does not see ours: by its paths it would still reach OLD. */
static int check_swap(const struct relocation *r, const struct reloc_inventory *s, struct err *e)
{
	for (size_t i = 0; i < s->proc_count; i++)
		if (s->procs[i].new_path)
			return err_set(
				e, -EBUSY,
				"process %d (%s) has a mount namespace of its own, in which --swap cannot mount %s at the path of OLD (omit --swap)",
				(int)s->procs[i].pid, s->procs[i].comm, r->new_dir->path);
	return 0;
}

int relocation_check(const struct relocation *r, const struct reloc_inventory *s, struct err *e)
{
	enum reloc_obstacle_kind least = r->is_partial || r->is_dead ? RELOC_BLOCKS : RELOC_STAYS;

	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == RELOC_BLOCKS)
			return refuse(&s->obstacles[i], e);
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind >= least)
			return refuse(&s->obstacles[i], e);
	if (r->swaps && check_swap(r, s, e) < 0)
		return e->code;
	if (!s->fd_count && !s->map_count && !s->dir_count && !s->watch_count)
		return err_set(e, -ESRCH, "the job uses nothing of %s", r->old_dir->path);
	return 0;
}

void relocate_done_fini(struct relocate_done *d)
{
	reloc_inventory_fini(&d->after);
}
