/* SPDX-License-Identifier: MIT */
#include "relocate/move.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "relocate/copy/copy_thread.h"
#include "relocate/reopen.h"
#include "target/proc.h"

/* A process stays in the job even if its parent ends. */
static int keep_pids(struct move *m, struct err *e)
{
	m->pids.count = m->starts.count = 0;
	for (size_t i = 0; i < m->inventory->proc_count; i++) {
		pid_t *pid = rows_add(&m->pids, sizeof *pid);
		uint64_t *start = rows_add(&m->starts, sizeof *start);

		if (!pid || !start)
			return err_nomem(e);
		*pid = m->inventory->procs[i].pid;
		*start = m->inventory->procs[i].start_ticks;
	}
	return 0;
}

int move_prune_pids(struct move *m, struct err *e)
{
	uint64_t *starts = m->starts.data;
	pid_t *all = m->pids.data;
	size_t count = 0;

	for (size_t i = 0; i < m->pids.count; i++) {
		struct proc_stat stat;

		if (!proc_stat_read(&stat, all[i]) || strchr("ZX", stat.state) ||
		    stat.start_ticks != starts[i])
			continue;
		all[count] = all[i];
		starts[count++] = starts[i];
	}
	m->pids.count = m->starts.count = count;
	return count ? 0 : err_set(e, -ESRCH, "the job has ended");
}

int move_check_pids(const struct move *m, struct err *e)
{
	const uint64_t *starts = m->starts.data;
	const pid_t *all = m->pids.data;

	for (size_t i = 0; i < m->pids.count; i++) {
		struct proc_stat stat;

		if (proc_stat_read(&stat, all[i]) && stat.start_ticks != starts[i])
			return err_set(e, -EAGAIN, "process %d is another one by now", (int)all[i]);
	}
	return 0;
}

int move_scan_job(struct move *m, bool is_frozen, struct err *e)
{
	struct reloc_inventory s = { 0 };
	struct scan_opts opts = relocation_scan_opts(m->r);

	opts.cache = &m->cache;
	opts.is_frozen = is_frozen;
	if (is_frozen) {
		opts.pids = freeze_pids(m->freeze, &opts.pid_count);
		opts.quiet = m->is_quiet ? m->inventory : NULL;
	} else if (m->pids.count) {
		if (move_prune_pids(m, e) < 0)
			return e->code;
		opts.pids = m->pids.data;
		opts.pid_count = m->pids.count;
		opts.is_found = true;
	}
	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	reloc_inventory_fini(m->inventory);
	*m->inventory = s;
	if (!is_frozen && !m->r->is_dead &&
	    reopen_find(m->inventory, m->r->old_dir, m->r->swaps, e) < 0)
		return e->code;
	return keep_pids(m, e) < 0 ? e->code : relocation_check(m->r, m->inventory, e);
}

static int scan_running(void *self, struct err *e)
{
	return move_scan_job(self, false, e);
}

static int scan_frozen(void *self, struct err *e)
{
	return move_scan_job(self, true, e);
}

int move_scan_dead(struct move *m, bool is_frozen, int64_t until_ns, struct err *e)
{
	struct copy_thread *thread = copy_thread_start(is_frozen ? scan_frozen : scan_running, m);

	if (copy_thread_join(thread, until_ns, &m->is_stuck, e) < 0)
		return e->code;
	for (size_t i = 0; i < m->hung.count; i++) {
		const struct freeze_hung *t = (const struct freeze_hung *)m->hung.data + i;
		uint32_t proc = 0;
		char what[96];

		while (proc < m->inventory->proc_count && m->inventory->procs[proc].pid != t->pid)
			proc++;
		if (proc == m->inventory->proc_count)
			continue;
		snprintf(what, sizeof what, "thread %d (in %s)", (int)t->tid, t->wchan);
		if (reloc_inventory_add(m->inventory, RELOC_NOTE, proc, what, "",
					"it hangs in a call on OLD, which ends there", "", e) < 0)
			return e->code;
	}
	return 0;
}

bool move_is_interrupted(const struct move *m)
{
	return m->r->copy.stop && *m->r->copy.stop;
}

void move_log_cause(const struct err *why)
{
	log_msg(LOG_WARN, "relocate", "%s", why->msg);
}

void move_close_old(const struct relocation *r)
{
	if (r->old_dir->fd >= 0)
		close(r->old_dir->fd);
	r->old_dir->fd = -1;
}

void move_swap_dirs(struct move *m)
{
	const struct relocation *r = m->r;
	struct err why = { 0 };
	bool is_gone;

	move_close_old(r);
	is_gone = r->old_dir->is_mount_root && top_dir_unmount(r->old_dir, r->is_dead, &why) == 0;
	if (top_dir_cover(r->old_dir, r->new_dir, &why) < 0)
		log_msg(LOG_WARN, "relocate", "%s cannot be mounted: %s", r->new_dir->path,
			why.msg);
	else
		m->done.swap = is_gone ? RELOCATE_UNMOUNTED : RELOCATE_COVERED;
}

int move_scan_outside(struct move *m, struct err *e)
{
	struct reloc_inventory s = { 0 };
	struct scan_opts opts = relocation_scan_opts(m->r);

	opts.cache = &m->cache;
	opts.pid_count = 0;
	opts.is_frozen = true;
	if (scan_take(&opts, &s, e) < 0)
		return e->code;
	reloc_inventory_fini(&s);
	return 0;
}
