/* SPDX-License-Identifier: MIT */
#include "sample/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "perf/user_stack.h"
#include "sample/sampler.h"
#include "sample/synthesize.h"

#define PROC "/proc"
#define RING_BYTES ((size_t)1 << 20)
#define SIDE_BYTES ((size_t)512 << 10)
#define FD_LIMIT 256         /* files kept open for symbolizing */
#define MAX_NODES (4u << 20) /* of the profile: some hundred MiB */
#define KERNEL_START (UINT64_C(1) << 63)
#define LOWEST_CODE 4096 /* a broken chain ends with lower addresses */

struct tracer {
	enum tracer_event event;
	const struct cpulist *cpus; /* borrowed */
	uint64_t period_ns;
	struct tracer_listener listener;
	struct sampler *sampler;
	struct ingest *ingest;
	struct profile *profile;
	bool *timers; /* [cpus->count]: is on */
	size_t timer_count;
	bool was_armed; /* was on before: processes may have started and ended since */
	uint64_t pcs[TRACER_MAX_FRAMES];
};

/* The addresses of a chain, without PERF_CONTEXT_*. */
static void take_chain(struct tracer *t, const struct record *r, struct tracer_sample *s)
{
	struct record_words chain = r->sample.chain;
	bool is_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;

	for (size_t i = 0; i < chain.count && s->count < TRACER_MAX_FRAMES; i++) {
		uint64_t pc = record_word(chain, i);

		if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		if (!is_kernel && (pc < LOWEST_CODE || pc >= KERNEL_START))
			break;
		s->kernel_count += is_kernel;
		t->pcs[s->count++] = pc;
	}
	if (!s->count && r->sample.ip) {
		s->kernel_count = r->sample.ip >= KERNEL_START;
		t->pcs[s->count++] = r->sample.ip;
	}
}

static bool tell_sample(struct tracer *t, const struct record *r)
{
	struct tracer_sample s = { .ns = r->time, .core = r->cpu, .pid = r->pid, .pcs = t->pcs };

	take_chain(t, r, &s);
	return t->listener.sampled(t->listener.context, &s) && !tracer_is_full(t);
}

static void tell_mapping(const struct tracer *t, const struct record_mmap *m)
{
	const struct tracer_mapping mapping = {
		.pid = m->pid,
		.start = m->start,
		.end = m->start + m->len,
		.offset = m->offset,
		.path = (const char *)m->path.bytes,
		.path_len = m->path.len,
	};

	t->listener.mapped(t->listener.context, &mapping);
}

static void tell_process(const struct tracer *t, const struct record *r)
{
	const struct tracer_listener *l = &t->listener;

	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		tell_mapping(t, &r->mmap);
		break;
	case PERF_RECORD_COMM:
		if (r->misc & PERF_RECORD_MISC_COMM_EXEC)
			l->execed(l->context, r->comm.pid);
		break;
	case PERF_RECORD_FORK:
		if (r->task.pid != r->task.ppid)
			l->forked(l->context, r->task.pid, r->task.ppid);
		break;
	case PERF_RECORD_EXIT:
		if (r->task.pid == r->task.tid)
			l->exited(l->context, r->task.pid);
		break;
	default:
		break;
	}
}

static bool tap(void *context, const struct record *r, bool is_side)
{
	struct tracer *t = context;
	const struct tracer_listener *l = &t->listener;

	if (is_side) {
		tell_process(t, r);
		return true;
	}
	if (r->type == PERF_RECORD_SAMPLE)
		return tell_sample(t, r);
	if (r->type == PERF_RECORD_LOST)
		l->lost(l->context, r->cpu, r->lost.count);
	if (r->type == PERF_RECORD_THROTTLE)
		l->throttled(l->context, r->cpu);
	return true;
}

static int put_record(void *context, const struct record *r)
{
	struct tracer *t = context;

	tell_process(t, r);
	return ingest_record(t->ingest, r, 0);
}

static struct synthesize_sink sink_of(struct tracer *t)
{
	return (struct synthesize_sink){ .put = put_record, .context = t };
}

static void fetch(void *context, uint32_t pid)
{
	struct synthesize_sink to = sink_of(context);

	/* The caller meets lack of memory again. */
	if (synthesize_process(&to, PROC, pid) < 0)
		return;
}

static const struct event *event_of(const struct tracer *t)
{
	return t->event == TRACER_CLOCK ? &event_cpu_clock : &event_cycles;
}

static int make_ingest(struct tracer *t, struct err *e)
{
	const struct event *what = event_of(t);
	const struct ingest_event event = { event_sample_type(what), what->unit, 1 };
	struct profile *p = profile_new();
	const struct ingest_opts o = {
		.dsos = { .profile = p,
			  .proc = PROC,
			  .kernel_start = synthesize_kernel_start(PROC "/kallsyms"),
			  .fd_limit = FD_LIMIT },
		.has_cpu_label = true,
		.machine = user_stack_machine(),
		.fetch = fetch,
		.context = t,
	};
	struct ingest *ingest = p ? ingest_new(&o, &event, 1) : NULL;

	if (!ingest) {
		profile_free(p);
		return err_nomem(e);
	}
	ingest_free(t->ingest);
	profile_free(t->profile);
	t->ingest = ingest;
	t->profile = p;
	profile_info(p)->time_ns = clock_wall_ns();
	return 0;
}

/* cycles are sampled at a frequency: a period in nanoseconds does not apply. */
static uint64_t kernel_period(const struct tracer *t)
{
	uint64_t hz = (uint64_t)NS_PER_S / t->period_ns;

	return t->event == TRACER_CLOCK ? t->period_ns : hz ? hz : 1;
}

static int make_sampler(struct tracer *t, struct err *e)
{
	bool has_no_kernel = false;
	struct sampler_opts o = {
		.events = event_of(t),
		.event_count = 1,
		.attr = { .stack = STACK_FP, .has_idle = true },
		.cpus = t->cpus,
		.ring_bytes = RING_BYTES,
		.side_bytes = SIDE_BYTES,
		.tap = tap,
		.tap_context = t,
	};
	int rc;

	if (t->event == TRACER_CLOCK)
		o.attr.period = kernel_period(t);
	else
		o.attr.frequency_hz = kernel_period(t);
	rc = sampler_new(&o, &t->sampler, &has_no_kernel, e);
	return rc < 0 ? rc : sampler_attach(t->sampler, -1, e);
}

int tracer_new(enum tracer_event event, const struct cpulist *cpus, uint64_t period_ns,
	       const struct tracer_listener *listener, struct tracer **ret, struct err *e)
{
	struct tracer *t = calloc(1, sizeof *t);
	int rc;

	if (!t)
		return err_nomem(e);
	t->event = event;
	t->cpus = cpus;
	t->period_ns = period_ns;
	t->listener = *listener;
	t->timers = calloc(cpus->count, sizeof *t->timers);
	rc = t->timers ? make_ingest(t, e) : err_nomem(e);
	if (rc == 0)
		rc = make_sampler(t, e);
	if (rc < 0) {
		tracer_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

void tracer_free(struct tracer *t)
{
	if (!t)
		return;
	sampler_free(t->sampler);
	ingest_free(t->ingest);
	profile_free(t->profile);
	free(t->timers);
	free(t);
}

/* Enables side-band records before the first timer is on. */
static int arm(struct tracer *t, struct err *e)
{
	struct synthesize_sink to = sink_of(t);

	sampler_enable_side(t->sampler);
	if (!t->was_armed) {
		t->was_armed = true;
		return 0; /* processes are read at their first sample */
	}
	return synthesize_all(&to, PROC, e);
}

int tracer_set_timer(struct tracer *t, size_t core, bool is_on, struct err *e)
{
	int rc = is_on && !t->timer_count ? arm(t, e) : 0;

	if (rc < 0 || t->timers[core] == is_on)
		return rc;
	t->timers[core] = is_on;
	t->timer_count += is_on ? 1 : (size_t)-1;
	sampler_enable_cpu(t->sampler, core, is_on);
	if (!t->timer_count)
		sampler_disable(t->sampler);
	return 0;
}

int tracer_set_period(struct tracer *t, uint64_t period_ns, struct err *e)
{
	uint64_t old = t->period_ns;
	int rc;

	t->period_ns = period_ns;
	rc = sampler_set_period(t->sampler, kernel_period(t), e);
	if (rc < 0)
		t->period_ns = old;
	return rc;
}

bool tracer_is_armed(const struct tracer *t)
{
	return t->timer_count > 0;
}

int tracer_drain(struct tracer *t)
{
	uint64_t end_ns;

	return sampler_drain(t->sampler, t->ingest, false, &end_ns);
}

int tracer_drain_all(struct tracer *t)
{
	const struct timespec lag = { .tv_nsec = (long)(SAMPLER_LAG_NS + SAMPLER_LAG_NS / 10) };

	nanosleep(&lag, NULL);
	return tracer_drain(t);
}

size_t tracer_fd_count(const struct tracer *t)
{
	return sampler_fd_count(t->sampler);
}

int tracer_fd(const struct tracer *t, size_t i)
{
	return sampler_fd(t->sampler, i);
}

const struct profile *tracer_profile(struct tracer *t, const char *const **ret_files)
{
	struct profile_info *info = profile_info(t->profile);

	*ret_files = dsos_files(ingest_dsos(t->ingest));
	if (!*ret_files)
		return NULL;
	if (t->event == TRACER_CLOCK) {
		info->period_type = profile_get_type(t->profile, 1); /* behind the samples */
		info->period = (int64_t)t->period_ns;
	}
	info->duration_ns = clock_wall_ns() - info->time_ns;
	return t->profile;
}

bool tracer_is_full(const struct tracer *t)
{
	return profile_node_count(t->profile) >= MAX_NODES;
}

size_t tracer_stacks(const struct tracer *t)
{
	return profile_sample_count(t->profile);
}

int tracer_clear(struct tracer *t, struct err *e)
{
	return make_ingest(t, e);
}
