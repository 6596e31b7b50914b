/* SPDX-License-Identifier: MIT */
#include "sample/recording.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "sample/initial_waits.h"
#include "sample/recording_internal.h"
#include "sample/synthesize.h"

/* Between drains of rings that are not full; shorter while processes start and end, because the
 * files of an ended process cannot be opened. */
#define TICK_NS INT64_C(100000000)
#define CHURN_TICK_NS INT64_C(20000000)
#define ASKING_TICK_NS INT64_C(2000000)
#define YOUNG_TICK_NS INT64_C(5000000) /* while a command is younger than */
#define YOUNG_NS INT64_C(300000000)
#define RECORDING_NICE (-20) /* nice value while recording, so that rings do not overflow */

static size_t file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 256;
}

static int make_ingest(struct recording *c, struct profile *p, struct err *e)
{
	struct ingest_event events[RECORDING_EVENTS_MAX];
	struct ingest_opts o = {
		.dsos = { .profile = p,
			  .proc = RECORDING_PROC,
			  .kernel_start = synthesize_kernel_start(RECORDING_PROC "/kallsyms"),
			  .fd_limit = file_limit() },
		.labels = c->opts.labels,
		.label_count = c->opts.label_count,
		.has_cpu_label = c->opts.has_cpu_label,
		.has_addresses = recording_has_addresses(c),
		.has_address_label = c->opts.has_address_label,
		.has_times = c->opts.has_times,
		.machine = user_stack_machine(),
		.waits = c->waits,
		.leaf = c->opts.leaf,
		.read_stack = initial_waits_read_stack,
		.leaf_context = c->opts.tap_context,
		.interp = c->python ? python_source(c->python) : NULL,
		.fetch = recording_fetch,
		.context = c,
	};

	if (c->python)
		python_use(c->python, p);
	if (c->opts.stack == STACK_FP)
		o.max_frames = (unsigned)attr_sysctl("perf_event_max_stack", 127);
	for (size_t i = 0; i < c->opts.event_count; i++)
		events[i] =
			(struct ingest_event){ event_sample_type(&c->opts.events[i]),
					       c->opts.events[i].unit,
					       event_period(&c->opts.events[i], c->opts.period) };
	c->ingest = ingest_new(&o, events, c->opts.event_count);
	return c->ingest ? 0 : err_nomem(e);
}

/* Adds what ends a step: rings that fill up, and processes that end. */
static int fill_loop(struct recording *c, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sampler_fd_count(c->sampler); i++)
		rc = runloop_add_fd(&c->loop, sampler_fd(c->sampler, i), RUNLOOP_READABLE, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		rc = runloop_add_pid(&c->loop, c->opts.pids[i], e);
	return rc;
}

static int build(struct recording *c, struct profile *p, struct err *e)
{
	const struct launch_opts command = { .argv = c->opts.argv,
					     .owns_stdout = c->opts.owns_stdout };
	int rc = runloop_open(&c->loop, e);

	if (rc == 0 && c->opts.raw)
		rc = rawfile_open(c->opts.raw, &c->raw, e);
	if (rc == 0 && c->opts.argv)
		rc = runloop_prepare(&c->loop, &command, e);
	if (rc == 0)
		rc = recording_open_events(c, e);
	if (rc == 0)
		rc = make_ingest(c, p, e);
	if (rc == 0)
		rc = recording_attach(c, e);
	if (rc == 0)
		rc = fill_loop(c, e);
	return rc;
}

int recording_new(const struct recording_opts *o, struct profile *p, struct recording **ret,
		  struct err *e)
{
	struct recording *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return err_nomem(e);
	c->opts = *o;
	rc = build(c, p, e);
	if (rc < 0) {
		recording_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void recording_free(struct recording *c)
{
	if (!c)
		return;
	sampler_free(c->sampler);
	python_free(c->python);
	offcpu_bpf_free(c->offcpu_bpf);
	rawfile_free(c->raw);
	ingest_free(c->ingest);
	runloop_close(&c->loop);
	cpulist_fini(&c->online);
	free(c);
}

int recording_renew(struct recording *c, struct profile *p, struct err *e)
{
	struct ingest *old = c->ingest;
	int rc;

	assert(!c->opts.has_off_cpu);
	c->ingest = NULL;
	rc = make_ingest(c, p, e);
	if (rc == 0 && ingest_take_over(c->ingest, old) < 0)
		rc = err_nomem(e);
	if (rc == 0) {
		ingest_free(old);
		return 0;
	}
	ingest_free(c->ingest);
	c->ingest = old;
	return rc;
}

static int start(struct recording *c, struct err *e)
{
	bool has_running = c->opts.is_all || c->opts.pid_count;
	int rc = recording_synthesize(c, e);

	if (c->python)
		python_begin(c->python);
	c->start_ns = clock_mono_ns(); /* after the synthesized records, which take a while */
	c->start_wall_ns = clock_wall_ns();
	if (rc == 0 && has_running)
		sampler_enable(c->sampler);
	if (rc == 0 && (has_running || c->offcpu_bpf))
		rc = recording_begin_waits(c, e);
	return rc < 0 ? rc : runloop_start(&c->loop, e);
}

static int64_t time_of(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * NS_PER_S +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* Drains the rings; off-CPU stacks first, while the address spaces still fit them. */
static int drain(struct recording *c)
{
	int rc = c->offcpu_bpf ? offcpu_bpf_poll(c->offcpu_bpf, c->ingest) : 0;
	uint64_t end_ns = 0;

	if (rc == 0)
		rc = sampler_drain(c->sampler, c->ingest, false, &end_ns);
	if (rc == 0 && c->offcpu_bpf)
		rc = offcpu_bpf_put_stacks(c->offcpu_bpf, c->ingest, end_ns);
	return rc == 0 && c->python ? python_forget(c->python, end_ns) : rc;
}

/* The same at the end of the recording. */
static int drain_rest(struct recording *c, int64_t end_ns)
{
	int rc = c->offcpu_bpf ? offcpu_bpf_poll(c->offcpu_bpf, c->ingest) : 0;
	uint64_t drained_ns;

	if (rc == 0)
		rc = sampler_drain(c->sampler, c->ingest, true, &drained_ns);
	if (rc == 0 && c->offcpu_bpf)
		rc = offcpu_bpf_end(c->offcpu_bpf, c->ingest, (uint64_t)end_ns);
	return rc;
}

/* Searches mapped files for CPython; samples before it is found have no Python frames. */
static int64_t tick_of(const struct recording *c)
{
	if (c->python && python_is_asking(c->python))
		return ASKING_TICK_NS;
	if (c->python && c->opts.argv && clock_mono_ns() - c->start_ns < YOUNG_NS)
		return YOUNG_TICK_NS;
	return sampler_saw_churn(c->sampler) ? CHURN_TICK_NS : TICK_NS;
}

/* Reads the rings until the recording ends. When the profile cannot grow, it still waits for the
 * end of the command. */
static int record(struct recording *c, struct recording_result *r)
{
	bool is_over = false;
	int rc = 0;

	while (!is_over) {
		is_over = !runloop_step(&c->loop, tick_of(c));
		if (rc == 0)
			rc = drain(c);
		if (!c->opts.is_all && !c->raw &&
		    !c->opts.is_raw_only) /* a raw file has only the events listed in it */
			per_cpu_update(&c->per_cpu, c->sampler, c->ingest);
		is_over |= rc < 0 && !c->opts.argv;
		if (rc == 0 && c->opts.tick && !c->opts.tick(c->opts.tick_context))
			is_over = true;
		if (rc == 0 && c->loop.wants_snapshot && c->opts.snapshot)
			c->opts.snapshot(c->opts.snapshot_context, c);
		c->loop.wants_snapshot = false;
	}
	if (runloop_reap(&c->loop, 0))
		r->target_ns = time_of(&c->loop.commands[0].usage);
	r->status = runloop_status(&c->loop);
	return rc;
}

/* On busy CPUs the rings would overflow before we are scheduled. Needs CAP_SYS_NICE, else does
 * nothing. Returns the old nice value. */
static int raise_priority(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (before > RECORDING_NICE)
		setpriority(PRIO_PROCESS, 0, RECORDING_NICE);
	return before;
}

int recording_run(struct recording *c, struct recording_result *ret, struct err *e)
{
	struct recording_result r = { 0 };
	int64_t end_ns;
	struct rusage own;
	int nice_before = raise_priority(), rc = start(c, e);

	if (rc < 0) {
		setpriority(PRIO_PROCESS, 0, nice_before);
		return rc;
	}
	r.start_ns = c->start_wall_ns;
	if (c->opts.duration_ns)
		c->loop.end_ns = c->start_ns + c->opts.duration_ns;
	rc = record(c, &r);
	end_ns = clock_mono_ns();
	r.duration_ns = end_ns - c->start_ns;
	sampler_disable(c->sampler);
	if (rc == 0)
		rc = drain_rest(c, end_ns);
	setpriority(PRIO_PROCESS, 0, nice_before);
	ingest_end_waits(c->ingest, (uint64_t)end_ns);
	if (rc == 0)
		rc = ingest_finish(c->ingest);
	runloop_close(&c->loop);
	r.counts = *ingest_counts(c->ingest);
	if (c->python)
		r.python = python_counts(c->python);
	if (getrusage(RUSAGE_SELF, &own) == 0)
		r.own_ns = time_of(&own);
	*ret = r;
	return rc < 0 ? err_set(e, rc, "the profile cannot be kept: %s", strerror(-rc)) : 0;
}

int recording_finish_raw(struct recording *c, struct err *e)
{
	return c->raw ? sampler_finish_raw(c->sampler, c->opts.argv, e) : 0;
}

int recording_exec_error(const struct recording *c)
{
	return runloop_exec_error(&c->loop);
}

const char *const *recording_files(struct recording *c)
{
	return dsos_files(ingest_dsos(c->ingest));
}

const char *recording_worst(const struct recording *c, size_t n, uint64_t *ret_count)
{
	return ingest_worst(c->ingest, n, ret_count);
}

uint32_t recording_stack_bytes(const struct recording *c)
{
	return sampler_stack_bytes(c->sampler);
}

const struct event *recording_event(const struct recording *c, size_t i)
{
	return &c->opts.events[i];
}

size_t recording_event_count(const struct recording *c)
{
	return c->opts.event_count;
}

size_t recording_cpu_count(const struct recording *c)
{
	return c->cpus->count;
}

bool recording_has_wait_stacks(const struct recording *c)
{
	return c->offcpu_bpf || (c->switches.count && !c->switches.has_no_stacks);
}

bool recording_has_wait_states(const struct recording *c)
{
	return c->offcpu_bpf || (c->switches.count && !c->switches.has_no_states);
}

bool recording_has_kernel(const struct recording *c)
{
	return !c->has_no_kernel && !c->opts.is_user_only;
}

uint64_t recording_frequency(const struct recording *c)
{
	return c->opts.period ? 0 : c->opts.frequency_hz;
}
