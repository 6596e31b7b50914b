/* SPDX-License-Identifier: MIT */
/* Attaches to what runs when a recording begins, and synthesizes its records. */
#include <errno.h>

#include "base/map.h"
#include "sample/initial_waits.h"
#include "sample/recording_internal.h"
#include "sample/synthesize.h"
#include "target/proc.h"

#define INITIAL_STACK_BYTES                                                        \
	((uint32_t)65536) /* read of the stack of a thread that waits at the start \
			   */

#define ROUNDS_MAX 8 /* over the threads of a process */

/* Attaches to all threads that are not in seen; *ret_added: their count. */
static int attach_threads(struct recording *c, pid_t pid, struct map *seen, size_t *ret_added,
			  struct err *e)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid;

	*ret_added = 0;
	if (proc_open_threads(RECORDING_PROC, (uint32_t)pid, &dir) < 0)
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

/* Repeats until no thread is new: one that is not attached yet may create another. The kernel
 * follows the children of attached threads, so that later rounds find only threads that have the
 * events already: duplicates.h keeps one of each. */
static int attach_process(struct recording *c, pid_t pid, struct err *e)
{
	struct map seen = { 0 };
	size_t added, total = 0;
	int rc, rounds = 0;

	do {
		rc = attach_threads(c, pid, &seen, &added, e);
		total += added;
	} while (rc == 0 && added && ++rounds < ROUNDS_MAX);
	map_fini(&seen);
	if (rc == 0 && total == 0)
		rc = err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	return rc;
}

int recording_attach(struct recording *c, struct err *e)
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

/* Passes a synthesized record to the raw file and to ingest. */
static int put_record(void *context, const struct record *r)
{
	struct recording *c = context;

	if (c->raw)
		rawfile_put_synthesized(c->raw, r, sampler_id_bytes(c->sampler));
	return ingest_record(c->ingest, r, 0);
}

/* With a command a signal need not be the end. */
static bool is_asked_to_end(void *context)
{
	const struct recording *c = context;

	return !c->opts.argv && runloop_is_asked_to_end();
}

static struct synthesize_sink sink_of(struct recording *c)
{
	return (struct synthesize_sink){ .put = put_record,
					 .is_over = is_asked_to_end,
					 .context = c,
					 .wants_data = c->raw,
					 .wants_all = recording_has_addresses(c) };
}

void recording_fetch(void *context, uint32_t pid)
{
	struct synthesize_sink to = sink_of(context);

	/* The caller meets lack of memory again. */
	if (synthesize_process(&to, RECORDING_PROC, pid) < 0)
		return;
}

/* The command before its exec: only its name matters. */
static int synthesize_command(struct recording *c)
{
	static const unsigned char name[] = "auger";
	uint32_t pid = (uint32_t)runloop_pid(&c->loop);
	struct record r = {
		.type = PERF_RECORD_COMM,
		.comm = { .pid = pid, .tid = pid, .name = { name, sizeof name - 1 } },
	};

	return put_record(c, &r);
}

int recording_synthesize(struct recording *c, struct err *e)
{
	struct synthesize_sink to = sink_of(c);
	int rc = 0;

	if (c->opts.is_all || c->opts.pid_count)
		sampler_enable_side(c->sampler);
	if (c->raw && synthesize_kernel(&to, RECORDING_PROC "/kallsyms") < 0)
		rc = err_nomem(e);
	if (rc == 0 && c->opts.is_all)
		rc = synthesize_all(&to, RECORDING_PROC, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (synthesize_process(&to, RECORDING_PROC, (uint32_t)c->opts.pids[i]) < 0)
			rc = err_nomem(e);
	if (rc == 0 && runloop_pid(&c->loop) && synthesize_command(c) < 0)
		rc = err_nomem(e);
	return rc;
}

int recording_begin_waits(struct recording *c, struct err *e)
{
	uint32_t bytes =
		c->opts.stack == STACK_NONE || c->opts.is_kernel_only ? 0 : INITIAL_STACK_BYTES;
	uint64_t start = (uint64_t)c->start_ns; /* enabling the events may take long */
	int rc = 0;

	if (c->offcpu_bpf)
		return offcpu_bpf_begin(c->offcpu_bpf, start, e);
	if (!c->waits.is_on)
		return 0;
	ingest_begin_waits(c->ingest, start);
	if (c->opts.is_all)
		rc = initial_waits_read_all(c->ingest, RECORDING_PROC, start, bytes, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (initial_waits_read(c->ingest, RECORDING_PROC, (uint32_t)c->opts.pids[i], start,
				       bytes) < 0)
			rc = err_nomem(e);
	return rc;
}
