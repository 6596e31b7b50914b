/* SPDX-License-Identifier: MIT */
#include "format/perfscript/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "perf/eventname.h"

void script_events_fini(struct script_events *s)
{
	free(s->list);
	map_fini(&s->labels);
	*s = (struct script_events){ 0 };
}

static const char *unit_of(const struct script_event *event)
{
	struct str name = event->name;

	if (event->has_period && eventname_is_clock(name.ptr, name.len))
		return "nanoseconds";
	return event->has_period || eventname_is_tracepoint(name.ptr, name.len) ? "count"
										: "samples";
}

/* The index of the type of what the event's samples count. The first clock is "cpu". */
static size_t add_type(struct profile *p, const struct script_event *event)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	const char *unit = unit_of(event);

	if (event->has_label || !event->name.len)
		buf_put_str(&name, "events");
	else if (strcmp(unit, "nanoseconds") == 0 && profile_find_type(p, "cpu") < 0)
		buf_put_str(&name, "cpu");
	else
		buf_put(&name, event->name.ptr, eventname_base(event->name.ptr, event->name.len));
	if (buf_error(&name) == 0)
		return profile_add_type(p, name.data, unit);
	profile_fail_nomem(p);
	return 0;
}

static struct script_event make_event(const struct script_events *s, struct profile *p,
				      const struct script_header *head)
{
	struct script_event event = {
		.name = head->event,
		.has_period = head->period > 0,
		.period = head->period > 0 ? head->period : 0,
		.has_label = s->count + 2 >= PROFILE_MAX_TYPES,
	};

	if (!s->count)
		profile_add_type(p, "samples", "count");
	if (s->count || event.has_period || event.name.len)
		event.type = add_type(p, &event);
	return event;
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* NULL: out of memory. */
static struct script_event *get_event(struct script_events *s, struct profile *p,
				      const struct script_header *head)
{
	if (s->last < s->count && is_same(s->list[s->last].name, head->event))
		return &s->list[s->last];
	for (s->last = 0; s->last < s->count; s->last++)
		if (is_same(s->list[s->last].name, head->event))
			return &s->list[s->last];
	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 8;
		struct script_event *list = reallocarray(s->list, cap, sizeof *list);

		if (!list)
			return NULL;
		s->list = list;
		s->cap = cap;
	}
	s->list[s->count] = make_event(s, p, head);
	return &s->list[s->count++];
}

/* The labels and "event". */
static uint32_t label_event(struct script_events *s, struct profile *p, uint32_t labels)
{
	enum { MAX_LABELS = 8 };
	uint32_t *known = map_at(&s->labels, map_pair(labels, s->last));
	struct str name = s->list[s->last].name;
	struct label list[MAX_LABELS];
	const struct label *old;
	size_t count;

	if (!known) {
		profile_fail_nomem(p);
		return 0;
	}
	if (*known != MAP_NONE)
		return *known;
	old = profile_get_labels(p, labels, &count);
	if (count >= MAX_LABELS)
		count = MAX_LABELS - 1;
	if (count)
		memcpy(list, old, count * sizeof *list);
	list[count++] = (struct label){
		.key = profile_str(p, "event"),
		.str = profile_str_n(p, name.ptr, name.len),
	};
	*known = profile_add_labels(p, list, count);
	return *known;
}

static void note_time(struct script_events *s, int64_t time_ns)
{
	if (!s->sample_count++)
		s->first_ns = s->last_ns = time_ns;
	if (time_ns < s->first_ns)
		s->first_ns = time_ns;
	if (time_ns > s->last_ns)
		s->last_ns = time_ns;
}

int script_events_add(struct script_events *s, struct profile *p, uint32_t node, uint32_t labels,
		      const struct script_header *head)
{
	struct script_event *event = get_event(s, p, head);
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	if (!event)
		return -ENOMEM;
	if (head->period != event->period)
		event->period = 0;
	if (event->has_label)
		labels = label_event(s, p, labels);
	if (event->type)
		values[event->type] = !event->has_period ? 1 : head->period > 0 ? head->period : 0;
	values[0] = s->last == 0;
	profile_add(p, node, labels, values);
	note_time(s, head->time_ns);
	return 0;
}

static void add_lost(const struct script_events *s, struct profile *p)
{
	static const char name[] = "[lost]";
	int64_t values[PROFILE_MAX_TYPES] = { s->lost };
	uint32_t location = profile_name_location(p, name, sizeof name - 1);

	profile_add(p, profile_push(p, 0, location), 0, values);
}

void script_events_finish(const struct script_events *s, struct profile *p)
{
	struct profile_info *info = profile_info(p);
	struct value_type type;

	if (!s->count)
		return;
	if (s->lost)
		add_lost(s, p);
	if (s->first_ns != SCRIPT_NONE &&
	    __builtin_sub_overflow(s->last_ns, s->first_ns, &info->duration_ns))
		info->duration_ns = 0;
	type = profile_get_type(p, s->list[0].type);
	info->default_type = type.type;
	info->has_events = true;
	if (s->list[0].period) {
		info->period_type = type;
		info->period = s->list[0].period;
	}
}
