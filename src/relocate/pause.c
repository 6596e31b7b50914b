/* SPDX-License-Identifier: MIT */
#include "relocate/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "inject/freeze.h"
#include "inject/remote.h"
#include "target/proc.h"

#define STOP_LIMIT_NS NS_PER_S
#define COMPARE_BYTES_PER_US 4096 /* of files in memory */
#define CALLS 32                  /* enough to see what one costs */

/* Calls in the process for each thing, as repoint.c counts them. */
#define CALLS_PER_FD 4
#define CALLS_PER_MAP 6
#define CALLS_PER_DIR 4
#define CALLS_PER_WATCH 16

const struct pause_costs pause_typical_costs = {
	.thread_ns = 50000,
	.process_ns = 200000,
	.call_ns = 5000,
};

/* dup3(2) of a bad descriptor changes nothing. */
static int measure_calls(struct freeze *h, pid_t pid, struct pause_costs *ret, struct err *e)
{
	int64_t began_ns = clock_mono_ns(), open_ns, ran_ns;
	struct remote *r;
	int rc;

	if (remote_open(&r, h, pid, CALLS, 4096, 0, e) < 0)
		return e->code;
	for (int i = 0; i < CALLS; i++)
		remote_add_step(r, &(struct remote_call){ .nr = SYS_dup3,
							  .arg = { (uint64_t)-1, 0, O_CLOEXEC },
							  .may_fail = true,
							  .what = "measure a call" });
	open_ns = clock_mono_ns();
	rc = remote_run_steps(r, e);
	ran_ns = clock_mono_ns();
	remote_close(r);
	if (rc < 0)
		return rc;
	ret->process_ns = open_ns - began_ns + clock_mono_ns() - ran_ns;
	ret->call_ns = (ran_ns - open_ns) / CALLS;
	return 0;
}

int pause_measure(const struct reloc_inventory *s, struct pause_costs *ret, struct err *e)
{
	struct pause_costs costs = *ret;
	pid_t pid = s->procs[0].pid, tid = proc_idle_thread(pid);
	int64_t began_ns = clock_mono_ns(), frozen_ns;
	struct freeze *h;
	int rc;

	if (!tid)
		return err_set(e, -ESRCH, "process %d has ended", (int)pid);
	if (freeze_begin_thread(&h, pid, tid, STOP_LIMIT_NS, e) < 0)
		return e->code;
	frozen_ns = clock_mono_ns() - began_ns;
	rc = proc_is(pid, s->procs[0].start_ticks)
		     ? measure_calls(h, pid, &costs, e)
		     : err_set(e, -ESRCH, "process %d has ended", (int)pid);
	began_ns = clock_mono_ns();
	costs.freeze_ns = frozen_ns + freeze_thaw(h) - began_ns;
	if (rc == 0)
		*ret = costs;
	return rc;
}

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t pause_expected_ns(const struct pause_costs *c, const struct reloc_inventory *s)
{
	int64_t threads = 0, calls;

	for (size_t i = 0; i < s->proc_count; i++)
		threads += s->procs[i].threads;
	calls = (int64_t)(s->fd_count * CALLS_PER_FD + s->map_count * CALLS_PER_MAP +
			  s->dir_count * CALLS_PER_DIR + s->watch_count * CALLS_PER_WATCH);
	return c->freeze_ns + threads * c->thread_ns + longer(s->cost_ns, c->walk_ns) +
	       longer((int64_t)s->proc_count * c->process_ns + calls * c->call_ns, c->flush_ns);
}

int64_t pause_typical_ns(const struct reloc_inventory *s, int64_t walk_ns)
{
	struct pause_costs costs = pause_typical_costs;

	costs.walk_ns = walk_ns;
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].uses & RELOC_USE_MAPPED_WRITABLE)
			costs.walk_ns +=
				(int64_t)(s->files[i].size_bytes / COMPARE_BYTES_PER_US) * 1000;
	return pause_expected_ns(&costs, s);
}
