/* SPDX-License-Identifier: MIT */
/*
 * Grows descriptor tables before the pause. A table that threads share grows after an RCU grace
 * period, which takes many milliseconds. So one thread, if possible a sleeping one, grows it while
 * the others run. It calls dup3(2) with a bad old descriptor: the kernel grows the table before it
 * checks that descriptor, and changes nothing else. Source: Linux fs/file.c, ksys_dup3().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/log.h"
#include "inject/remote.h"
#include "relocate/repoint/repoint.h"
#include "target/proc.h"

#define STOP_LIMIT_NS (10 * NS_PER_S)
#define SPARE 16 /* descriptors not counted below: the socket pair, the commit flag */

static bool is_shared_table(const struct reloc_inventory *s, uint32_t proc)
{
	if (s->procs[proc].threads > 1)
		return true;
	for (uint32_t i = 0; i < s->proc_count; i++)
		if (i != proc && s->procs[i].files_of == proc)
			return true;
	return false;
}

/* Descriptors that the process needs at the same time: each one is duplicated and received. */
static size_t count_descriptors(const struct reloc_inventory *s, uint32_t proc,
				struct rows *open_now)
{
	char path[PROC_PATH];
	size_t need = SPARE;

	for (size_t i = 0; i < s->fd_count; i++)
		need += s->fds[i].proc == proc ? 2 : 0;
	for (size_t i = 0; i < s->map_count; i++)
		need += s->maps[i].proc == proc;
	for (size_t i = 0; i < s->dir_count; i++)
		need += s->dirs[i].proc == proc ? 2 : 0;
	for (size_t i = 0; i < s->watch_count; i++)
		need += s->watches[i].proc == proc ? 2 : 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)s->procs[proc].pid);
	return need == SPARE || proc_numbers(path, open_now) < 0 ? 0 : need + open_now->count;
}

static int grow_fd_table(struct freeze *h, pid_t pid, size_t need, struct err *e)
{
	struct remote *r;

	if (remote_open(&r, h, pid, 16, 4096, 0, e) < 0)
		return e->code;
	remote_add_step(r, &(struct remote_call){ .nr = SYS_dup3,
						  .arg = { (uint64_t)-1, need - 1, O_CLOEXEC },
						  .may_fail = true,
						  .what = "grow the descriptor table" });
	(void)!remote_run_steps(r, e);
	remote_close(r);
	return e->code;
}

static int grow_process_fd_table(const struct reloc_inventory *s, uint32_t proc, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	pid_t pid = s->procs[proc].pid, tid;
	size_t need = count_descriptors(s, proc, &numbers);
	struct freeze *h;

	if (need <= proc_status_number(pid, "FDSize", 10, need))
		return 0;
	tid = proc_idle_thread(pid);
	if (!tid || freeze_begin_thread(&h, pid, tid, STOP_LIMIT_NS, e) < 0)
		return e->code;
	if (proc_is(pid, s->procs[proc].start_ticks))
		(void)!grow_fd_table(h, pid, need, e);
	freeze_thaw(h);
	return e->code;
}

int repoint_grow_fd_tables(const struct reloc_inventory *s, struct err *e)
{
	for (uint32_t i = 0; i < s->proc_count; i++) {
		struct err why = { 0 };

		if (s->procs[i].files_of != i || !is_shared_table(s, i) ||
		    grow_process_fd_table(s, i, &why) == 0)
			continue;
		if (why.code == -EBUSY)
			return err_set(e, why.code, "%s", why.msg);
		log_msg(LOG_INFO, "relocate", "descriptor table not grown: %s", why.msg);
	}
	return 0;
}
