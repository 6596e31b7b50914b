/* SPDX-License-Identifier: MIT */
/*
 * perfscript_events: selects the sample type of each event.
 *
 * samples/count belongs to the first event. Each event also has a type of its own: the sum of its
 * printed periods (cpu/nanoseconds for the clock events, else EVENT/count), or its number of
 * samples (EVENT/count for a tracepoint, else EVENT/samples). Samples without event and period
 * have none. When the maximum of types is reached, further events share events/count, and the
 * label "event" separates them.
 */
#ifndef FORMAT_PERFSCRIPT_EVENTS_H
#define FORMAT_PERFSCRIPT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "format/perfscript/line.h"
#include "model/profile.h"

struct script_event {
	struct str name; /* with its modifiers; borrowed from the text */
	size_t type;     /* index; 0: samples/count */
	bool has_period; /* its samples count by their periods */
	bool has_label;
	int64_t period; /* of each of its samples; 0: they differ, or none is printed */
};

/* All zero is valid. */
struct script_events {
	struct script_event *list; /* [count], in order of first sight; owned */
	size_t count, cap;
	uint32_t last;             /* index: mostly the next sample's, too */
	struct map labels;         /* (labels, event) to labels with the event's name */
	size_t sample_count;       /* of all events */
	int64_t lost;              /* samples that perf reports as lost */
	int64_t first_ns, last_ns; /* of all samples; equal: unknown */
};

void script_events_fini(struct script_events *s);

/* Adds a sample. head: what it points to must live as long. 0 or -ENOMEM; ask profile_error(),
 * too. */
int script_events_add(struct script_events *s, struct profile *p, uint32_t node, uint32_t labels,
		      const struct script_header *head) MUST_CHECK;

/* Sets the period, duration and default type of p, and adds the lost samples as "[lost]". */
void script_events_finish(const struct script_events *s, struct profile *p);

#endif
