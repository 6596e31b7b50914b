/* SPDX-License-Identifier: MIT */
#include "perf/offcpu_profile.h"

#include <string.h>

#define LABELS_MAX 18 /* of a thread, its state and its span */

/* Which part of a wait is outside of the recording. */
enum span { WHOLE, BEGAN_BEFORE = 1, UNFINISHED = 2 };

static const char *const spans[] = { "", "began before", "unfinished", "began before, unfinished" };

void offcpu_profile_init(struct offcpu_profile *w, struct profile *p)
{
	*w = (struct offcpu_profile){ .profile = p };
	w->type = profile_add_type(p, "offcpu", "nanoseconds");
	w->key = profile_str(p, "state");
	w->span_key = profile_str(p, "wait");
}

void offcpu_profile_fini(struct offcpu_profile *w)
{
	map_fini(&w->labels);
}

static uint32_t make_labels(struct offcpu_profile *w, uint32_t base, enum offcpu_state state,
			    unsigned span)
{
	struct label labels[LABELS_MAX];
	size_t count;
	const struct label *from = profile_get_labels(w->profile, base, &count);

	if (count > LABELS_MAX - 2)
		count = LABELS_MAX - 2;
	if (count)
		memcpy(labels, from, count * sizeof *labels);
	labels[count++] =
		(struct label){ .key = w->key,
				.str = profile_str(w->profile, offcpu_state_names[state]) };
	if (span)
		labels[count++] = (struct label){ .key = w->span_key,
						  .str = profile_str(w->profile, spans[span]) };
	return profile_add_labels(w->profile, labels, count);
}

static uint32_t get_labels(struct offcpu_profile *w, uint32_t base, enum offcpu_state state,
			   unsigned span)
{
	uint32_t *slot = map_at(&w->labels, map_pair(base, span * OFFCPU_STATES + state));

	if (!slot) {
		profile_fail_nomem(w->profile);
		return 0;
	}
	if (*slot == MAP_NONE)
		*slot = make_labels(w, base, state, span);
	return *slot;
}

static const char *name_of(const struct offcpu_wait *wait)
{
	unsigned signals = wait->before.signals;

	if (signals & OFFCPU_NEW)
		return "[new thread]";
	if (signals & (OFFCPU_EACH | OFFCPU_DEEP))
		return "[no stack]";
	if (signals == OFFCPU_INITIAL || (signals == 0 && !wait->is_lost))
		return "[waiting since before]";
	return "[lost stack]";
}

/* A part of a wait: its time in one state. */
struct part {
	uint32_t node, labels; /* with the state */
	enum offcpu_state state;
	uint64_t ns;
};

static void add_part(struct offcpu_profile *w, const struct part *part)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	if (part->ns == 0)
		return;
	values[w->type] = part->ns > INT64_MAX ? INT64_MAX : (int64_t)part->ns;
	w->counts.ns[part->state] += (uint64_t)values[w->type];
	profile_add(w->profile, part->node, part->labels, values);
}

static void add_time(struct offcpu_profile *w, const struct part *part, uint64_t end_ns)
{
	const struct timed_value timed = {
		.node = part->node,
		.labels = part->labels,
		.type = (uint16_t)w->type,
		.value = part->ns > INT64_MAX ? INT64_MAX : (int64_t)part->ns,
	};

	if (w->has_times && timed.value &&
	    sample_times_add(profile_times(w->profile), end_ns, &timed) < 0)
		profile_fail_nomem(w->profile);
}

/* Its time until it was woken, and that until it ran. Without a stack, its node is its name. */
static void split(struct offcpu_profile *w, const struct offcpu_wait *wait, uint32_t node,
		  uint32_t labels, struct part ret[2])
{
	unsigned span = (offcpu_began_before(wait) ? BEGAN_BEFORE : WHOLE) |
			(wait->is_unfinished ? UNFINISHED : WHOLE);
	const char *name = name_of(wait);

	if (node == 0)
		node = profile_push(w->profile, 0,
				    profile_name_location(w->profile, name, strlen(name)));
	ret[0] = (struct part){ .state = (enum offcpu_state)wait->before.state,
				.ns = wait->waited_ns };
	ret[1] = (struct part){ .state = OFFCPU_RUNNABLE, .ns = wait->runnable_ns };
	for (int i = 0; i < 2; i++) {
		ret[i].node = node;
		if (ret[i].ns)
			ret[i].labels = get_labels(w, labels, ret[i].state, span);
	}
}

void offcpu_profile_add_time(struct offcpu_profile *w, const struct offcpu_wait *wait,
			     uint32_t node, uint32_t labels, uint64_t end_ns)
{
	struct part parts[2];

	split(w, wait, node, labels, parts);
	add_time(w, &parts[0], end_ns - wait->runnable_ns);
	add_time(w, &parts[1], end_ns);
}

void offcpu_profile_add(struct offcpu_profile *w, const struct offcpu_wait *wait, uint64_t count,
			uint32_t node, uint32_t labels)
{
	uint64_t began = wait->before.left_ns;
	struct part parts[2];

	w->counts.waits += count;
	w->counts.lost += wait->is_lost ? count : 0;
	w->counts.cut += wait->before.is_cut ? count : 0;
	w->counts.before += offcpu_began_before(wait) ? count : 0;
	w->counts.unfinished += wait->is_unfinished ? count : 0;
	split(w, wait, node, labels, parts);
	for (int i = 0; i < 2; i++)
		add_part(w, &parts[i]);
	if (began) {
		add_time(w, &parts[0], began + wait->waited_ns);
		add_time(w, &parts[1], began + wait->waited_ns + wait->runnable_ns);
	}
}
