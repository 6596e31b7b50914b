/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "sample/sampler_internal.h"

size_t sampler_id_bytes(const struct sampler *s)
{
	return 8 * (size_t)__builtin_popcountll(s->shape.sample_type & RECORD_ID_BITS);
}

/* Collects the ids of the descriptors of event number, or of all descriptors. */
static int take_ids(const struct sampler *s, const int *fds, size_t fd_count, bool is_told_apart,
		    uint32_t number, struct rawfile_event *event)
{
	uint64_t *ids = calloc(fd_count ? fd_count : 1, sizeof *ids);
	uint64_t id;

	if (!ids)
		return -ENOMEM;
	event->ids = ids;
	for (size_t i = 0; i < fd_count; i++)
		if (ioctl(fds[i], PERF_EVENT_IOC_ID, &id) == 0 &&
		    (!is_told_apart || map_get(&s->by_id, id) == number))
			ids[event->id_count++] = id;
	return 0;
}

/* A dummy in place of a tracepoint: readers need the formats of all tracepoints, and we write none.
 */
static struct perf_event_attr without_tracepoint(struct perf_event_attr attr)
{
	if (attr.type != PERF_TYPE_TRACEPOINT)
		return attr;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	return attr;
}

static int take_raw_events(struct sampler *s, struct rawfile_event *events)
{
	size_t n = s->opts.event_count;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		events[i].name = s->opts.events[i].name;
		events[i].attr = without_tracepoint(s->attrs[i]);
		rc = take_ids(s, s->fds, s->fd_count, true, (uint32_t)i, &events[i]);
	}
	events[n].name = "dummy";
	events[n].attr = s->side;
	if (rc == 0)
		rc = take_ids(s, s->side_fds, s->side_count, false, 0, &events[n]);
	for (size_t i = 0; rc == 0 && i < s->switches.count; i++) {
		events[n + 1 + i].name = "context-switches";
		events[n + 1 + i].attr = without_tracepoint(s->switches.attrs[i]);
		rc = take_ids(s, s->switch_fds, s->switch_count, true, (uint32_t)i,
			      &events[n + 1 + i]);
	}
	return rc;
}

int sampler_finish_raw(struct sampler *s, char *const *argv, struct err *e)
{
	size_t count = s->opts.event_count + 1 + s->switches.count;
	struct rawfile_event *events = calloc(count, sizeof *events);
	int rc = events ? take_raw_events(s, events) : -ENOMEM;

	rc = rc < 0 ? err_nomem(e) : rawfile_finish(s->opts.raw, events, count, argv, e);
	for (size_t i = 0; events && i < count; i++) {
		union {
			const uint64_t *kept;
			void *owned;
		} ids = { .kept = events[i].ids };

		free(ids.owned);
	}
	free(events);
	return rc;
}
