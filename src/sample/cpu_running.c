/* SPDX-License-Identifier: MIT */
/* What runs when cpu begins, or is met later: attached to, and told of. */
#include <errno.h>

#include "base/clock.h"
#include "base/map.h"
#include "sample/cpu_internal.h"
#include "sample/found.h"
#include "sample/procmaps.h"
#include "target/proc.h"

#define FOUND_BYTES ((uint32_t)65536) /* read of the stack of a thread that waits already */

/* All threads that are not in seen; *ret_added: how many. */
static int attach_threads(struct cpu *c, pid_t pid, struct map *seen, size_t *ret_added,
			  struct err *e)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid;

	*ret_added = 0;
	if (proc_open_threads(CPU_PROC, (uint32_t)pid, &dir) < 0)
		return err_nomem(e);
	if (!dir)
		return err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	while (proc_next(dir, &tid)) {
		int rc;

		if (map_get(seen, tid) != MAP_NONE)
			continue;
		if (map_put(seen, tid, 1) < 0)
			return err_nomem(e);
		rc = sampler_attach(c->sampler, (pid_t)tid, e);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		*ret_added += rc == 0;
	}
	return 0;
}

/* A thread may be made by one that we are not attached to yet: again until there is no new
 * one. The children of attached threads are followed by the kernel. */
static int attach_process(struct cpu *c, pid_t pid, struct err *e)
{
	struct map seen = { 0 };
	size_t added, total = 0;
	int rc;

	do {
		rc = attach_threads(c, pid, &seen, &added, e);
		total += added;
	} while (rc == 0 && added);
	map_fini(&seen);
	if (rc == 0 && total == 0)
		rc = err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	return rc;
}

int cpu_attach(struct cpu *c, struct err *e)
{
	int rc = 0;

	if (c->opts.is_all)
		return sampler_attach(c->sampler, -1, e);
	if (!c->opts.pid_count)
		return sampler_attach(c->sampler, runloop_pid(&c->loop), e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		rc = attach_process(c, c->opts.pids[i], e);
	return rc;
}

/* What is known besides by the kernel's records, to all who want to know. */
static int tell(void *context, const struct record *r)
{
	struct cpu *c = context;

	if (c->raw)
		rawfile_put_told(c->raw, r, sampler_id_bytes(c->sampler));
	return ingest_record(c->ingest, r, 0);
}

static struct procmaps_listener listener_of(struct cpu *c)
{
	return (struct procmaps_listener){
		.tell = tell, .context = c, .wants_data = c->raw, .wants_all = cpu_has_addresses(c)
	};
}

void cpu_fetch(void *context, uint32_t pid)
{
	struct procmaps_listener to = listener_of(context);

	/* Out of memory is seen again by the caller. */
	if (procmaps_tell(&to, CPU_PROC, pid) < 0)
		return;
}

/* A process that we started is known: nothing of it before the exec is of interest. */
static int tell_command(struct cpu *c)
{
	static const unsigned char name[] = "auger";
	uint32_t pid = (uint32_t)runloop_pid(&c->loop);
	struct record r = {
		.type = PERF_RECORD_COMM,
		.comm = { .pid = pid, .tid = pid, .name = { name, sizeof name - 1 } },
	};

	return tell(c, &r);
}

int cpu_tell_running(struct cpu *c, struct err *e)
{
	struct procmaps_listener to = listener_of(c);
	int rc = 0;

	if (c->opts.is_all || c->opts.pid_count)
		sampler_enable_side(c->sampler);
	if (c->raw && procmaps_tell_kernel(&to, CPU_PROC "/kallsyms") < 0)
		rc = err_nomem(e);
	if (rc == 0 && c->opts.is_all)
		rc = procmaps_tell_all(&to, CPU_PROC, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (procmaps_tell(&to, CPU_PROC, (uint32_t)c->opts.pids[i]) < 0)
			rc = err_nomem(e);
	if (rc == 0 && runloop_pid(&c->loop) && tell_command(c) < 0)
		rc = err_nomem(e);
	return rc;
}

int cpu_tell_waiting(struct cpu *c, struct err *e)
{
	uint32_t bytes = c->opts.stack == STACK_NONE || c->opts.is_kernel_only ? 0 : FOUND_BYTES;
	uint64_t now = (uint64_t)clock_mono_ns();
	int rc = 0;

	if (c->waiting)
		return waiting_begin(c->waiting, (uint64_t)c->start_ns, e);
	if (!c->waits.is_on)
		return 0;
	ingest_begin_waits(c->ingest, now);
	if (c->opts.is_all)
		rc = found_tell_all(c->ingest, CPU_PROC, now, bytes, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (found_tell(c->ingest, CPU_PROC, (uint32_t)c->opts.pids[i], now, bytes) < 0)
			rc = err_nomem(e);
	return rc;
}
