/* SPDX-License-Identifier: MIT */
#include "ctlfs/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/akaros/akaros.h"

#define MARK_DIGITS 18 /* "0x" and 16 */

static size_t index_of(const struct session *s, uint32_t core)
{
	return command_core_index(s->known, core);
}

/* The addresses to keep: at most depth; of user code only the interrupted one when
 * its callers are not wanted. */
static size_t kept_frames(const struct session *s, const struct tracer_sample *sample)
{
	size_t count = sample->count;

	if (!s->has_user && count > sample->kernel_count)
		count = sample->kernel_count ? sample->kernel_count : 1;
	return count < s->depth ? count : s->depth;
}

static void keep(struct session *s, size_t core, const struct tracer_sample *sample)
{
	buf_clear(&s->sample);
	akaros_put_sample(&s->sample, sample->core, sample->ns, sample->pcs,
			  kept_frames(s, sample));
	if (buf_error(&s->sample) < 0) {
		s->queue.cores[core].dropped++;
		return;
	}
	/* The queue counts samples that do not fit. */
	queue_put(&s->queue, core, s->sample.data, s->sample.len);
	for (struct stream *t = s->streams; t; t = t->next)
		queue_put(&t->queue, 0, s->sample.data, s->sample.len);
}

static bool on_sample(void *context, const struct tracer_sample *sample)
{
	struct session *s = context;
	size_t i = index_of(s, sample->core);
	struct core_state *core = &s->cores[i];

	if (sample->pid == (uint32_t)getpid()) {
		s->own++;
		return false;
	}
	if (s->is_counting)
		histogram_add(&s->histogram, sample->kernel_count ? sample->pcs[0] : 0);
	if (!core->is_tracing || sample->ns < core->traced_from)
		return false;
	core->samples++;
	keep(s, i, sample);
	processes_sample(&s->processes, sample->pid);
	s->unprofiled += tracer_is_full(s->tracer);
	return true;
}

static void on_lost(void *context, uint32_t core, uint64_t count)
{
	struct session *s = context;

	s->cores[index_of(s, core)].lost += count;
	journal_add(s->journal, "core %u: the kernel lost %" PRIu64 " samples", core, count);
}

static void on_throttled(void *context, uint32_t core)
{
	struct session *s = context;

	s->cores[index_of(s, core)].throttled++;
	journal_add(s->journal, "core %u: the kernel paused the timer", core);
}

static void on_mapped(void *context, const struct tracer_mapping *m)
{
	struct session *s = context;

	processes_map(&s->processes, m);
}

static void on_forked(void *context, uint32_t pid, uint32_t parent)
{
	struct session *s = context;

	processes_fork(&s->processes, pid, parent);
}

static void on_execed(void *context, uint32_t pid)
{
	struct session *s = context;

	processes_exec(&s->processes, pid);
}

static void on_exited(void *context, uint32_t pid)
{
	struct session *s = context;

	processes_exit(&s->processes, pid);
}

static int build(struct session *s, enum tracer_event event, struct err *e)
{
	const struct tracer_listener listener = {
		.context = s,
		.sampled = on_sample,
		.lost = on_lost,
		.throttled = on_throttled,
		.mapped = on_mapped,
		.forked = on_forked,
		.execed = on_execed,
		.exited = on_exited,
	};

	s->cores = calloc(s->known->count, sizeof *s->cores);
	if (!s->cores || queue_init(&s->queue, s->known->count, SESSION_QUEUE_BYTES) < 0)
		return err_nomem(e);
	return tracer_new(event, s->known, s->period_us * 1000, &listener, &s->tracer, e);
}

int session_new(uint64_t id, const char *name, enum tracer_event event, const struct cpulist *known,
		struct journal *journal, struct session **ret, struct err *e)
{
	struct session *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	s->id = id;
	s->known = known;
	s->journal = journal;
	s->has_user = true;
	s->period_us = SESSION_PERIOD_US;
	s->depth = SESSION_DEPTH;
	s->start_ns = clock_mono_ns();
	snprintf(s->name, sizeof s->name, "%s", name);
	rc = build(s, event, e);
	if (rc < 0) {
		session_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	tracer_free(s->tracer);
	while (s->streams)
		session_close_stream(s, s->streams);
	queue_fini(&s->queue);
	histogram_fini(&s->histogram);
	processes_fini(&s->processes);
	buf_fini(&s->sample);
	free(s->cores);
	free(s);
}

bool session_is_tracing(const struct session *s, size_t core)
{
	if (core != QUEUE_ALL)
		return s->cores[core].is_tracing;
	for (size_t i = 0; i < s->known->count; i++)
		if (s->cores[i].is_tracing)
			return true;
	return false;
}

void session_poll(struct session *s)
{
	static const char orders[] = "opstop\nstop\noptimer all off\n";
	struct err e;

	if (tracer_is_armed(s->tracer) && tracer_drain(s->tracer) < 0)
		journal_add(s->journal, "out of memory: samples are lost");
	if (!s->stop_ns || clock_mono_ns() < s->stop_ns)
		return;
	journal_add(s->journal, "autostop");
	s->stop_ns = 0;
	if (session_command(s, "autostop", -1, orders, sizeof orders - 1, &e) < 0)
		journal_add(s->journal, "autostop: %s", e.msg);
}

void session_poll_all(struct session *s)
{
	if (tracer_is_armed(s->tracer) && tracer_drain_all(s->tracer) < 0)
		journal_add(s->journal, "out of memory: samples are lost");
}

int session_mark(struct session *s, const char *text, size_t len, struct err *e)
{
	char digits[MARK_DIGITS + 1];
	char *end;
	uint64_t pc;

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (!len || len > MARK_DIGITS || text[0] < '0' || text[0] > '9')
		return err_set(e, -EINVAL, "not an address");
	memcpy(digits, text, len);
	digits[len] = '\0';
	errno = 0;
	pc = strtoull(digits, &end, 0);
	if (*end || errno)
		return err_set(e, -EINVAL, "not an address");
	if (!session_is_tracing(s, QUEUE_ALL))
		return err_set(e, -EINVAL, "nothing is collected: opstart comes first");
	keep(s, 0,
	     &(struct tracer_sample){ .ns = (uint64_t)clock_mono_ns(),
				      .core = s->known->cpus[0],
				      .pcs = &pc,
				      .count = 1 });
	return 0;
}

struct stream *session_open_stream(struct session *s, pid_t pid)
{
	struct stream *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	if (queue_init(&t->queue, 1, SESSION_STREAM_BYTES) < 0) {
		free(t);
		return NULL;
	}
	t->pid = pid;
	t->next = s->streams;
	s->streams = t;
	return t;
}

void session_close_stream(struct session *s, struct stream *stream)
{
	struct stream **at = &s->streams;

	while (*at && *at != stream)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = stream->next;
	queue_fini(&stream->queue);
	free(stream);
}

static const char *on_off(bool is_on)
{
	return is_on ? "on" : "off";
}

void session_put_core_status(const struct session *s, size_t core, struct buf *out)
{
	const struct core_state *c = &s->cores[core];

	buf_printf(out,
		   "timer %s tracing %s samples %" PRIu64 " queued_bytes %" PRIu64
		   " dropped %" PRIu64 " lost %" PRIu64 " throttled %" PRIu64 "\n",
		   on_off(c->is_timer_on || s->is_started), on_off(c->is_tracing), c->samples,
		   queue_len(&s->queue, core), s->queue.cores[core].dropped, c->lost, c->throttled);
}

static void put_sums(const struct session *s, struct buf *out)
{
	uint64_t samples = 0, dropped = 0, lost = 0, throttled = 0, queued = 0;

	for (size_t i = 0; i < s->known->count; i++) {
		samples += s->cores[i].samples;
		lost += s->cores[i].lost;
		throttled += s->cores[i].throttled;
		dropped += s->queue.cores[i].dropped;
		queued += s->queue.cores[i].count;
	}
	buf_printf(out,
		   "samples %" PRIu64 "\nqueued_samples %" PRIu64 "\nqueued_bytes %" PRIu64
		   "\ndropped %" PRIu64 "\nlost %" PRIu64 "\nthrottled %" PRIu64 "\n",
		   samples, queued, s->queue.len, dropped, lost, throttled);
}

void session_put_status(const struct session *s, struct buf *out)
{
	size_t streams = 0;

	for (const struct stream *t = s->streams; t; t = t->next)
		streams++;
	buf_printf(out, "session %s\nuptime_s %" PRId64 "\ntracing %s\nhistogram %s\n",
		   s->name[0] ? s->name : "/", (clock_mono_ns() - s->start_ns) / NS_PER_S,
		   on_off(session_is_tracing(s, QUEUE_ALL)), on_off(s->is_counting));
	buf_printf(out,
		   "period_us %" PRIu64 "\ndepth %" PRIu64 "\nuser %s\nautostop_s %" PRIu64 "\n",
		   s->period_us, s->depth, on_off(s->has_user), s->autostop_s);
	buf_printf(out, "qlimit_kb %" PRIu64 "\n", s->queue.limit >> 10);
	put_sums(s, out);
	buf_printf(out,
		   "own %" PRIu64 "\nunprofiled %" PRIu64 "\nticks %" PRIu64
		   "\nprofile_stacks %zu\nstreams %zu\n",
		   s->own, s->unprofiled, s->histogram.total, tracer_stacks(s->tracer), streams);
	for (size_t i = 0; i < s->known->count; i++) {
		buf_printf(out, "cpu%" PRIu32 " ", s->known->cpus[i]);
		session_put_core_status(s, i, out);
	}
	for (const struct stream *t = s->streams; t; t = t->next)
		buf_printf(out, "stream pid %d queued_bytes %" PRIu64 " lost %" PRIu64 "\n",
			   (int)t->pid, t->queue.len, t->queue.cores[0].dropped);
}
