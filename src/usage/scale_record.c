/* SPDX-License-Identifier: MIT */
/* The sampled runs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "sample/comments.h"
#include "sample/recording.h"
#include "symbol/symbolize.h"
#include "usage/scale_runs.h"

#define HZ 999
#define STACK_BYTES 16384  /* half of record's default: N copies are sampled at once */
#define FAULT_SAMPLES 4096 /* of a copy: a part of many faults is enough */

/* Copies that start when sampling has begun. */
struct beginning {
	struct copies *copies;
	bool has_begun;
	int rc;
	struct err *e;
};

static bool begin(void *context)
{
	struct beginning *b = context;

	if (!b->has_begun)
		b->rc = copies_start(b->copies, b->e);
	b->has_begun = true;
	return b->rc == 0;
}

/* Each so many page faults are a sample: at a frequency, the few faults of a small program would be
 * guessed from their first. */
static uint64_t fault_period(const struct scale_step *step)
{
	const int64_t *f = step->metrics;

	return (uint64_t)(f[SCALE_MINOR] + f[SCALE_MAJOR]) / FAULT_SAMPLES + 1;
}

/* Describes the recording, which did not start the command. */
static void put_head(struct profile *p, const struct recording_opts *o, char *const *argv,
		     const struct recording *c)
{
	struct recording_opts with_command = *o;

	with_command.argv = argv;
	recording_put_head(p, &with_command, c);
}

static int sample(struct copies *c, const pid_t *pids, struct scale_runs *r, size_t step,
		  struct profile *p, struct err *e)
{
	struct beginning b = { .copies = c, .e = e };
	struct recording_opts o = { .event_count = 2,
				    .frequency_hz = HZ,
				    .stack = STACK_DWARF,
				    .stack_bytes = STACK_BYTES,
				    .pids = pids,
				    .pid_count = c->count,
				    .tick = begin,
				    .tick_context = &b };
	struct recording_result result;
	struct recording *cpu = NULL;
	int rc;

	o.events[0] = event_cpu_clock;
	rc = event_parse("page-faults", &(struct event_roots){ 0 }, &o.events[1], e);
	o.events[1].period = fault_period(&r->steps[step]);
	if (rc == 0)
		rc = recording_new(&o, p, &cpu, e);
	if (rc == 0)
		put_head(p, &o, r->argv, cpu);
	if (rc == 0)
		rc = recording_run(cpu, &result, e);
	if (rc == 0)
		recording_put_result(p, &o, cpu, &result);
	if (rc == 0)
		rc = b.rc;
	if (rc == 0)
		rc = profile_check(p, e);
	if (rc == 0)
		rc = profile_symbolize(p, &(struct symbolize_opts){ .files = recording_files(cpu) },
				       e);
	recording_free(cpu);
	return rc;
}

/* Ends copies that still run, because a signal ended the runs. */
static int wait_for_rest(struct scale_runs *r, struct copies *c, struct err *e)
{
	if (copies_terminate(c)) {
		r->is_over = true;
		r->status = 128 + SIGTERM;
	}
	return copies_wait(c, e);
}

static int record_copies(struct scale_runs *r, size_t step, struct copies *c, struct err *e)
{
	pid_t *pids = reallocarray(NULL, c->count, sizeof *pids);
	struct profile *p = profile_new();
	int rc = pids && p ? 0 : err_nomem(e);

	for (size_t i = 0; rc == 0 && i < c->count; i++)
		pids[i] = c->all[i].pid;
	if (rc == 0)
		rc = sample(c, pids, r, step, p, e);
	if (rc == 0)
		rc = wait_for_rest(r, c, e);
	free(pids);
	if (rc < 0)
		profile_free(p);
	else
		r->profiles[step] = p;
	return rc;
}

static int record_step(struct scale_runs *r, size_t step, struct err *e)
{
	const struct copies_opts o = { r->argv, (size_t)r->steps[step].copies, r->pins };
	struct copies c;
	int rc = copies_new(&o, &c, e);

	if (rc < 0)
		return rc;
	rc = record_copies(r, step, &c, e);
	copies_fini(&c);
	return rc;
}

int scale_runs_record(struct scale_runs *r, struct err *e)
{
	for (size_t i = 0; i < r->step_count && !r->is_over; i++) {
		int rc = record_step(r, i, e);

		if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS || rc == -ENOENT) {
			log_msg(LOG_WARN, "stat", "without profiles: %s", e->msg);
			return 0;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}
