/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sample/sampler_internal.h"

/* Period 1: each event is a sample, so short processes lose none. */
static bool has_rate(const struct perf_event_attr *attr)
{
	return attr->freq || attr->sample_period > 1;
}

static int attach_per_cpu(struct sampler *s, size_t event, size_t cpu, struct err *e)
{
	const struct sampler_ring *source = &s->rings[RING_SAMPLES * s->cpu_count + cpu];
	struct perf_event_attr attr = s->attrs[event];
	int fd;

	attr.inherit = 0;
	attr.enable_on_exec = 0;
	fd = sampler_open_event(&attr, s->opts.events[event].name, -1, s->opts.cpus->cpus[cpu],
				source, e);
	if (fd < 0)
		return fd;
	sampler_walk_python(s, fd);
	if (sampler_keep_fd(&s->per_cpu_fds, &s->per_cpu_count, &s->per_cpu_cap, fd) < 0) {
		close(fd);
		return err_nomem(e);
	}
	if (!s->opts.attr.has_identifier)
		return 0;
	return sampler_remember_id(s, fd, event, s->opts.events[event].name, e);
}

static void close_per_cpu(struct sampler *s)
{
	while (s->per_cpu_count)
		close(s->per_cpu_fds[--s->per_cpu_count]);
}

/* Enables or disables the rated per-thread events; fds is ordered by CPU, then event. */
static void toggle_rated(struct sampler *s, unsigned long what)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (has_rate(&s->attrs[i % s->opts.event_count]))
			ioctl(s->fds[i], what, 0);
}

int sampler_use_per_cpu(struct sampler *s, struct err *e)
{
	int rc = 0;

	for (size_t cpu = 0; rc == 0 && cpu < s->cpu_count; cpu++)
		for (size_t i = 0; rc == 0 && i < s->opts.event_count; i++)
			if (has_rate(&s->attrs[i]))
				rc = attach_per_cpu(s, i, cpu, e);
	if (rc < 0) {
		close_per_cpu(s);
		return rc;
	}
	toggle_rated(s, PERF_EVENT_IOC_DISABLE); /* first, so that no time counts twice */
	for (size_t i = 0; i < s->per_cpu_count; i++)
		ioctl(s->per_cpu_fds[i], PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

void sampler_use_per_thread(struct sampler *s)
{
	if (!s->per_cpu_count)
		return;
	close_per_cpu(s);
	toggle_rated(s, PERF_EVENT_IOC_ENABLE);
}
