/* SPDX-License-Identifier: MIT */
/* Python frames of samples: by a program on the events, or read when a sample has woken us up. */
#include <sys/ioctl.h>

#include "base/clock.h"
#include "sample/sampler_internal.h"

#define READ_AGE_NS INT64_C(10000000) /* of samples whose frames are read: later ones are gone */

void sampler_walk_python(const struct sampler *s, int fd)
{
	int program = s->opts.python ? python_program(s->opts.python) : -1;

	if (program >= 0)
		ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
}

/* The samples of a ring that were not seen yet stay in it. */
static int read_new(struct sampler *s, uint32_t source)
{
	struct sampler_ring *from = &s->rings[source];
	struct ring scan = from->ring;
	uint64_t oldest = (uint64_t)(clock_mono_ns() - READ_AGE_NS);
	const unsigned char *bytes;
	size_t len, event;
	int rc = 0;

	scan.tail = from->scanned > scan.tail ? from->scanned : scan.tail;
	while (rc == 0 && ring_peek(&scan, &bytes, &len)) {
		struct record r;

		if (record_type(bytes) == PERF_RECORD_SAMPLE &&
		    sampler_decode(s, source, bytes, len, &r, &event) && r.time >= oldest)
			rc = python_read(s->opts.python, r.pid, r.tid, r.time);
		ring_skip(&scan, len);
	}
	from->scanned = scan.tail;
	return rc;
}

int sampler_poll_python(struct sampler *s)
{
	int rc = s->opts.python ? python_poll(s->opts.python) : 0;

	if (!s->opts.python || !s->opts.attr.wakes_each)
		return rc;
	for (size_t i = 0; rc == 0 && i < s->cpu_count; i++)
		rc = read_new(s, (uint32_t)(RING_SAMPLES * s->cpu_count + i));
	return rc;
}
