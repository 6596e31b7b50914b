/* SPDX-License-Identifier: MIT */
#include "sample/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sample/sampler_internal.h"

#define MIN_RING_BYTES ((size_t)64 << 10)
#define RINGS_A_SECOND 20 /* ring fills a second at most; else smaller stack copies */
#define LEAST_STACK_BYTES 4096
#define UNKNOWN_HZ 1000                    /* for a period: rate unknown */
#define EVENTS_MAX 64                      /* of one ring, more than there are */
#define BURST_HZ 10000                     /* period 1: each event is a sample */
#define RELEASE_BYTES ((uint64_t)64 << 10) /* released to the kernel at a time */

static struct record_shape shape_of(const struct perf_event_attr *attr)
{
	return (struct record_shape){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
	};
}

static int probe(struct sampler *s, bool *ret_no_kernel, struct err *e)
{
	for (size_t i = 0; i < s->opts.event_count; i++) {
		int rc;

		s->attrs[i] = attr_sampling(&s->opts.events[i], &s->opts.attr);
		rc = attr_probe(&s->attrs[i], s->opts.events[i].name, ret_no_kernel, e);
		if (rc < 0)
			return rc;
	}
	s->shape = shape_of(&s->attrs[0]);
	s->side = attr_side_band(&s->opts.attr);
	s->side_shape = shape_of(&s->side);
	for (size_t i = 0; i < s->switches.count; i++) {
		struct perf_event_attr *attr = &s->switches.attrs[i];

		if (attr->sample_stack_user > s->opts.attr.stack_bytes)
			attr->sample_stack_user = s->opts.attr.stack_bytes;
		s->switch_shapes[i] = shape_of(attr);
	}
	return 0;
}

/* Opens one ring. -ENOBUFS: the limit of locked memory is reached. */
static int open_ring(struct sampler_ring *source, const struct attr_opts *o, uint32_t cpu,
		     size_t bytes, struct err *e)
{
	struct perf_event_attr attr = attr_ring_owner(o);
	int rc;

	attr.wakeup_watermark = (uint32_t)(bytes / 4); /* the rest fills until we are scheduled */
	source->fd = attr_open(&attr, 0, (int)cpu);
	if (source->fd < 0)
		return attr_explain(source->fd, "dummy", 0, e);
	rc = ring_open(&source->ring, source->fd, bytes);
	if (rc == -EPERM)
		return err_set(e, -ENOBUFS,
			       "no memory may be locked for the rings; raise 'ulimit -l' or "
			       "kernel.perf_event_mlock_kb");
	return rc < 0 ? err_set(e, rc, "ring of CPU %u: %s", cpu, strerror(-rc)) : 0;
}

static void close_rings(struct sampler *s)
{
	for (size_t i = 0; s->rings && i < s->ring_count; i++) {
		ring_close(&s->rings[i].ring);
		if (s->rings[i].fd >= 0)
			close(s->rings[i].fd);
		s->rings[i].fd = -1;
	}
}

static int open_all_rings(struct sampler *s, struct err *e)
{
	const size_t bytes[RING_KINDS] = { [RING_SIDE_BAND] = s->opts.side_bytes,
					   [RING_SAMPLES] = s->opts.ring_bytes,
					   [RING_SWITCHES] = s->opts.switch_bytes };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->ring_count; i++)
		rc = open_ring(&s->rings[i], &s->opts.attr, s->opts.cpus->cpus[i % s->cpu_count],
			       bytes[i / s->cpu_count], e);
	return rc;
}

static void say_smaller(size_t wanted, size_t bytes, const char *remedy)
{
	enum log_level level = bytes < wanted / 4 ? LOG_WARN : LOG_INFO;

	if (bytes < wanted)
		log_msg(level, "sampler",
			"rings of %zu KiB instead of %zu: more samples may be lost; raise %s",
			bytes >> 10, wanted >> 10, remedy);
}

/* The expected samples a second. */
static uint64_t rate_of(const struct sampler *s)
{
	for (size_t i = 0; i < s->opts.event_count; i++)
		if (s->opts.events[i].period == 1 && !s->opts.attr.period)
			return BURST_HZ;
	return s->opts.attr.period ? UNKNOWN_HZ : s->opts.attr.frequency_hz;
}

/* Opens all rings, halving their size while the limit of memory, or of locked memory, is exceeded.
 */
static int open_rings(struct sampler *s, struct err *e)
{
	uint64_t rate = rate_of(s);
	size_t wanted = s->opts.ring_bytes;
	const char *remedy = "";
	int rc;

	while (s->opts.rings_max && s->opts.ring_bytes * s->cpu_count > s->opts.rings_max &&
	       s->opts.ring_bytes > MIN_RING_BYTES) {
		s->opts.ring_bytes /= 2;
		remedy = "'ulimit -v'";
	}
	rc = open_all_rings(s, e);
	while ((rc == -ENOBUFS || rc == -ENOMEM) && s->opts.ring_bytes > MIN_RING_BYTES) {
		remedy = rc == -ENOBUFS ? "'ulimit -l' or kernel.perf_event_mlock_kb"
					: "'ulimit -v'";
		close_rings(s);
		s->opts.ring_bytes /= 2;
		if (s->opts.side_bytes > s->opts.ring_bytes)
			s->opts.side_bytes = s->opts.ring_bytes;
		if (s->opts.switch_bytes > s->opts.ring_bytes)
			s->opts.switch_bytes = s->opts.ring_bytes;
		rc = open_all_rings(s, e);
	}
	if (rc == 0)
		say_smaller(wanted, s->opts.ring_bytes, remedy);
	while (s->opts.attr.stack_bytes > LEAST_STACK_BYTES &&
	       s->opts.attr.stack_bytes * rate > RINGS_A_SECOND * s->opts.ring_bytes)
		s->opts.attr.stack_bytes = s->opts.attr.stack_bytes / 2 & ~7u;
	return rc;
}

int sampler_new(const struct sampler_opts *o, struct sampler **ret, bool *ret_no_kernel,
		struct err *e)
{
	struct sampler *s = calloc(1, sizeof *s);
	int rc = -ENOMEM;

	if (!s)
		return err_nomem(e);
	s->opts = *o;
	s->cpu_count = o->cpus->count;
	if (o->switches)
		s->switches = *o->switches;
	s->ring_count = (o->switches ? RING_KINDS : RING_SWITCHES) * s->cpu_count;
	s->attrs = calloc(o->event_count, sizeof *s->attrs);
	s->rings = calloc(s->ring_count, sizeof *s->rings);
	if (!s->attrs || !s->rings) {
		err_nomem(e);
		goto fail;
	}
	for (size_t i = 0; i < s->ring_count; i++)
		s->rings[i].fd = -1;
	rc = open_rings(s, e);
	if (rc == 0)
		rc = probe(s, ret_no_kernel, e);
	if (rc < 0)
		goto fail;
	*ret = s;
	return 0;

fail:
	sampler_free(s);
	return rc;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->fd_count; i++)
		close(s->fds[i]);
	for (size_t i = 0; i < s->side_count; i++)
		close(s->side_fds[i]);
	for (size_t i = 0; i < s->switch_count; i++)
		close(s->switch_fds[i]);
	for (size_t i = 0; i < s->per_cpu_count; i++)
		close(s->per_cpu_fds[i]);
	close_rings(s);
	order_fini(&s->order);
	map_fini(&s->by_id);
	duplicates_fini(&s->duplicates);
	free(s->fds);
	free(s->side_fds);
	free(s->switch_fds);
	free(s->per_cpu_fds);
	free(s->rings);
	free(s->attrs);
	free(s);
}

int sampler_keep_fd(int **fds, size_t *count, size_t *cap, int fd)
{
	if (*count == *cap) {
		size_t n = *cap ? 2 * *cap : 16;
		int *grown = reallocarray(*fds, n, sizeof *grown);

		if (!grown)
			return -ENOMEM;
		*fds = grown;
		*cap = n;
	}
	(*fds)[(*count)++] = fd;
	return 0;
}

int sampler_open_event(struct perf_event_attr *attr, const char *name, pid_t tid, uint32_t cpu,
		       const struct sampler_ring *source, struct err *e)
{
	int fd = attr_open(attr, tid, (int)cpu);

	if (fd < 0)
		return attr_explain(fd, name, tid, e);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, source->fd) < 0) {
		err_errno(e, "event '%s': cannot write to the ring of CPU %u", name, cpu);
		close(fd);
		return e->code;
	}
	return fd;
}

int sampler_remember_id(struct sampler *s, int fd, size_t number, const char *name, struct err *e)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return err_errno(e, "event '%s'", name);
	return map_put(&s->by_id, id, (uint32_t)number) < 0 ? err_nomem(e) : 0;
}

static int attach_side(struct sampler *s, pid_t tid, size_t cpu, struct err *e)
{
	int fd = sampler_open_event(&s->side, "dummy", tid, s->opts.cpus->cpus[cpu], &s->rings[cpu],
				    e);

	if (fd < 0)
		return fd;
	if (sampler_keep_fd(&s->side_fds, &s->side_count, &s->side_cap, fd) == 0)
		return 0;
	close(fd);
	return err_nomem(e);
}

static int attach_sampling(struct sampler *s, size_t event, pid_t tid, size_t cpu, struct err *e)
{
	const char *name = s->opts.events[event].name;
	int fd = sampler_open_event(&s->attrs[event], name, tid, s->opts.cpus->cpus[cpu],
				    &s->rings[RING_SAMPLES * s->cpu_count + cpu], e);

	if (fd < 0)
		return fd;
	sampler_walk_python(s, fd);
	if (sampler_keep_fd(&s->fds, &s->fd_count, &s->fd_cap, fd) < 0) {
		close(fd);
		return err_nomem(e);
	}
	return s->opts.attr.has_identifier ? sampler_remember_id(s, fd, event, name, e) : 0;
}

static int attach_switch(struct sampler *s, size_t i, pid_t tid, size_t cpu, struct err *e)
{
	static const char name[] = "context switches";
	int fd = sampler_open_event(&s->switches.attrs[i], name, tid, s->opts.cpus->cpus[cpu],
				    &s->rings[RING_SWITCHES * s->cpu_count + cpu], e);

	if (fd < 0)
		return fd;
	if (sampler_keep_fd(&s->switch_fds, &s->switch_count, &s->switch_cap, fd) < 0) {
		close(fd);
		return err_nomem(e);
	}
	return sampler_remember_id(s, fd, i, name, e);
}

int sampler_attach(struct sampler *s, pid_t tid, struct err *e)
{
	int rc = 0;

	for (size_t cpu = 0; rc == 0 && cpu < s->cpu_count; cpu++) {
		rc = attach_side(s, tid, cpu, e);
		for (size_t i = 0; rc == 0 && i < s->switches.count; i++)
			rc = attach_switch(s, i, tid, cpu, e);
		for (size_t i = 0; rc == 0 && i < s->opts.event_count; i++)
			rc = attach_sampling(s, i, tid, cpu, e);
	}
	return rc;
}

void sampler_enable_side(struct sampler *s)
{
	for (size_t i = 0; i < s->side_count; i++)
		ioctl(s->side_fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void sampler_enable(struct sampler *s)
{
	for (size_t i = 0; i < s->switch_count; i++)
		ioctl(s->switch_fds[i], PERF_EVENT_IOC_ENABLE, 0);
	for (size_t i = 0; i < s->fd_count; i++)
		ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void sampler_disable(struct sampler *s)
{
	for (size_t i = 0; i < s->per_cpu_count; i++)
		ioctl(s->per_cpu_fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < s->fd_count; i++)
		ioctl(s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < s->switch_count; i++)
		ioctl(s->switch_fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < s->side_count; i++)
		ioctl(s->side_fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* Sampling events were attached CPU by CPU, all events of each together. */
void sampler_enable_cpu(struct sampler *s, size_t cpu, bool is_on)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (i / s->opts.event_count % s->cpu_count == cpu)
			ioctl(s->fds[i], is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

int sampler_set_period(struct sampler *s, uint64_t period, struct err *e)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (ioctl(s->fds[i], PERF_EVENT_IOC_PERIOD, &period) < 0)
			return err_errno(e, "a period of %llu", (unsigned long long)period);
	return 0;
}

size_t sampler_fd_count(const struct sampler *s)
{
	return s->ring_count;
}

int sampler_fd(const struct sampler *s, size_t i)
{
	return s->rings[i].fd;
}

bool sampler_saw_churn(const struct sampler *s)
{
	return s->saw_churn;
}

uint32_t sampler_stack_bytes(const struct sampler *s)
{
	return s->opts.attr.stack_bytes;
}

static enum ring_kind ring_kind_of(const struct sampler *s, uint32_t source)
{
	return (enum ring_kind)(source / s->cpu_count);
}

/* The shape that all records of a ring share. */
static const struct record_shape *shape_for(const struct sampler *s, uint32_t source)
{
	switch (ring_kind_of(s, source)) {
	case RING_SIDE_BAND:
		return &s->side_shape;
	case RING_SWITCHES:
		return &s->switch_shapes[0];
	default:
		return &s->shape;
	}
}

/* The time of a ring's next record; false: none. */
static bool next_time(struct sampler *s, uint32_t source, uint64_t *ret)
{
	const unsigned char *bytes;
	size_t len;

	if (!ring_peek(&s->rings[source].ring, &bytes, &len))
		return false;
	*ret = record_peek_time(shape_for(s, source), bytes, len);
	return true;
}

/* Nearly full: samples may soon be lost. */
static bool is_filling(const struct ring *r)
{
	return r->head - r->tail > r->size / 4 * 3;
}

/* Queues all rings with records. Side bands are read last: then their records up to a time are
 * present for all samples up to that time. */
static int gather(struct sampler *s)
{
	s->order.count = 0;
	s->is_behind = false;
	for (uint32_t i = (uint32_t)s->ring_count; i > 0; i--) {
		uint64_t time;

		ring_refresh(&s->rings[i - 1].ring);
		s->is_behind |=
			ring_kind_of(s, i - 1) == RING_SAMPLES && is_filling(&s->rings[i - 1].ring);
		if (next_time(s, i - 1, &time) && order_put(&s->order, i - 1, time) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void count_lost(struct sampler *s, enum ring_kind kind, uint64_t count, struct ingest *in)
{
	switch (kind) {
	case RING_SIDE_BAND:
		ingest_count_lost_side(in, count);
		break;
	case RING_SWITCHES:
		ingest_count_lost_waits(in, count);
		break;
	default:
		s->lost += count;
		ingest_count_lost(in, count);
	}
}

/* The event of a record, and the shape of its samples. */
static const struct record_shape *find_event(const struct sampler *s, uint32_t source,
					     const unsigned char *bytes, size_t len,
					     size_t *ret_event)
{
	const struct record_shape *shape = shape_for(s, source);
	enum ring_kind kind = ring_kind_of(s, source);
	uint32_t number = 0;
	uint64_t id;

	*ret_event = 0;
	if (record_type(bytes) != PERF_RECORD_SAMPLE)
		return shape;
	if (kind != RING_SWITCHES && !s->opts.attr.has_identifier)
		return shape;
	if (record_peek_id(shape, bytes, len, &id))
		number = map_get(&s->by_id, id);
	*ret_event = number;
	if (kind != RING_SWITCHES || number >= s->switches.count)
		return shape;
	*ret_event = s->switches.kinds[number];
	return &s->switch_shapes[number];
}

/* Of an event of a thread that has it twice. Events of whole CPUs have each thread once. */
static bool is_duplicate(struct sampler *s, uint32_t source, const struct record *r)
{
	uint32_t number;

	if (!s->opts.has_duplicates || (s->per_cpu_count && r->type == PERF_RECORD_SAMPLE &&
					ring_kind_of(s, source) == RING_SAMPLES))
		return false;
	number = map_get(&s->by_id, r->identifier);
	return duplicates_drop(&s->duplicates, r,
			       source * EVENTS_MAX + (number < EVENTS_MAX ? number : 0));
}

bool sampler_decode(const struct sampler *s, uint32_t source, const unsigned char *bytes,
		    size_t len, struct record *ret, size_t *ret_event)
{
	struct record_shape shape = *find_event(s, source, bytes, len, ret_event);
	struct err e;

	if (ring_kind_of(s, source) == RING_SAMPLES && *ret_event < s->opts.event_count)
		shape.sample_type = s->attrs[*ret_event].sample_type;
	return record_decode(ret, &shape, bytes, len, &e) == 0;
}

static int hand_on(struct sampler *s, uint32_t source, struct ingest *in,
		   const unsigned char *bytes, size_t len)
{
	struct record r;
	size_t event;
	bool is_good = sampler_decode(s, source, bytes, len, &r, &event);

	if (is_good && is_duplicate(s, source, &r))
		return 0;
	if (s->opts.raw)
		rawfile_put(s->opts.raw, bytes, len);
	if (!is_good) {
		ingest_count_bad(in);
		return 0;
	}
	r.cpu = s->opts.cpus->cpus[source % s->cpu_count];
	s->saw_churn |= ring_kind_of(s, source) == RING_SIDE_BAND;
	if (s->opts.tap &&
	    !s->opts.tap(s->opts.tap_context, &r, ring_kind_of(s, source) == RING_SIDE_BAND))
		return 0;
	if (r.type == PERF_RECORD_LOST) {
		count_lost(s, ring_kind_of(s, source), r.lost.count, in);
		return 0;
	}
	return ingest_record(in, &r, event);
}

/* Delivers the next record of the first ring. */
static int drain_one(struct sampler *s, uint32_t source, struct ingest *in)
{
	struct sampler_ring *from = &s->rings[source];
	const unsigned char *bytes;
	uint64_t time;
	size_t len;
	int rc;

	if (!ring_peek(&from->ring, &bytes, &len)) {
		order_drop(&s->order);
		return 0;
	}
	if (s->is_behind && ring_kind_of(s, source) == RING_SWITCHES) {
		ingest_count_lost_waits(in, 1);
		rc = 0;
	} else {
		rc = hand_on(s, source, in, bytes, len);
	}
	ring_skip(&from->ring, len);
	if (from->ring.tail - from->released >= RELEASE_BYTES) {
		ring_release(&from->ring);
		from->released = from->ring.tail;
	}
	if (next_time(s, source, &time))
		order_advance(&s->order, time);
	else
		order_drop(&s->order);
	return rc;
}

/* Adds samples that the kernel lost without a PERF_RECORD_LOST: it writes one only with a later
 * record. */
static void count_rest(struct sampler *s, struct ingest *in)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->fd_count; i++) {
		uint64_t values[2]; /* value, lost */

		if (s->shape.read_format == PERF_FORMAT_LOST &&
		    read(s->fds[i], values, sizeof values) == (ssize_t)sizeof values)
			lost += values[1];
	}
	if (lost > s->lost)
		ingest_count_lost(in, lost - s->lost);
	if (lost && s->opts.raw)
		rawfile_put_synthesized(s->opts.raw,
					&(struct record){ .type = PERF_RECORD_LOST_SAMPLES,
							  .lost = { .count = lost } },
					sampler_id_bytes(s));
}

int sampler_drain(struct sampler *s, struct ingest *in, bool is_end, uint64_t *ret_end_ns)
{
	/* Read before the rings: records not yet in them are newer. */
	uint64_t horizon = (uint64_t)(clock_mono_ns() - SAMPLER_LAG_NS);
	struct order_entry first;
	int rc = gather(s);

	if (rc == 0) /* after gather(): each sample's frames come before it */
		rc = sampler_poll_python(s);
	s->saw_churn = false;

	while (rc == 0 && order_first(&s->order, &first) && (is_end || first.time <= horizon))
		rc = drain_one(s, first.source, in);
	for (size_t i = 0; i < s->ring_count; i++) {
		ring_release(&s->rings[i].ring);
		s->rings[i].released = s->rings[i].ring.tail;
	}
	if (rc == 0 && is_end)
		count_rest(s, in);
	if (s->opts.raw)
		rawfile_end_round(s->opts.raw);
	*ret_end_ns = is_end ? UINT64_MAX : horizon;
	return rc < 0 ? rc : ingest_poll(in);
}
