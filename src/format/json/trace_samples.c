/* SPDX-License-Identifier: MIT */
#include "format/json/trace_samples.h"

#include <errno.h>

#include "format/format.h"
#include "format/json_frames.h"

#define NO_FRAME UINT32_MAX

struct trace_sample {
	uint32_t thread, frame; /* indices */
	int64_t weight;
};

struct trace_frame {
	uint32_t parent;   /* index, or NO_FRAME */
	uint32_t location; /* 0: it is nowhere */
	uint32_t node;     /* of the profile; valid if is_placed */
	bool is_placed;
};

void trace_samples_fini(struct trace_samples *s)
{
	rows_fini(&s->rows);
	rows_fini(&s->frames);
	text_cache_fini(&s->ids);
	rows_fini(&s->path);
	buf_fini(&s->scratch);
}

static struct trace_frame *frame_at(const struct trace_samples *s, uint32_t index)
{
	return (struct trace_frame *)s->frames.data + index;
}

/* NO_FRAME: out of memory. */
static uint32_t find_frame(struct trace_samples *s, struct json_text id)
{
	uint32_t *index = text_cache_at(&s->ids, text_cache_hash(id.len ? id.ptr : "", id.len));
	struct trace_frame *frame;

	if (!index)
		return NO_FRAME;
	if (*index == TEXT_CACHE_NEW) {
		frame = rows_add(&s->frames, sizeof *frame);
		if (!frame)
			return NO_FRAME;
		*frame = (struct trace_frame){ .parent = NO_FRAME };
		*index = (uint32_t)(s->frames.count - 1);
	}
	return *index;
}

int trace_samples_put(struct trace_samples *s, uint32_t thread, struct json_text frame,
		      int64_t weight)
{
	uint32_t index = find_frame(s, frame);
	struct trace_sample *row = index == NO_FRAME ? NULL : rows_add(&s->rows, sizeof *row);

	if (!row)
		return -ENOMEM;
	*row = (struct trace_sample){ thread, index, weight };
	return 0;
}

static int read_frame(struct trace_samples *s, struct profile *p, struct json *j,
		      struct json_text id)
{
	struct json_frame frame = { 0 };
	struct json_text key, parent = { 0 };
	struct json_list o = json_object(j);
	uint32_t index, above = NO_FRAME, location;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "name") && json_peek(j) == '"')
			frame.name = json_string(j);
		else if (json_equals(&key, "parent"))
			parent = json_skip(j);
		else
			json_skip(j);
	}
	location = json_frames_location(p, &frame, &s->scratch);
	index = find_frame(s, id);
	if (parent.len && index != NO_FRAME) {
		above = find_frame(s, parent);
		if (above == NO_FRAME)
			return -ENOMEM;
	}
	if (!location || index == NO_FRAME)
		return -ENOMEM;
	frame_at(s, index)->location = location;
	frame_at(s, index)->parent = above;
	return 0;
}

int trace_samples_read_frames(struct trace_samples *s, struct profile *p, struct json *j,
			      struct err *e)
{
	struct json_list o = json_object(j);
	struct json_text id;

	while (json_member(j, &o, &id)) {
		if (json_peek(j) != '{')
			json_skip(j);
		else if (read_frame(s, p, j, id) < 0)
			return err_nomem(e);
	}
	return 0;
}

static int read_sample(struct trace_samples *s, struct trace_threads *threads, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key, pid = { 0 }, tid = { 0 }, frame = { 0 };
	int64_t weight = 1;
	uint32_t thread;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "pid"))
			pid = json_skip(j);
		else if (json_equals(&key, "tid"))
			tid = json_skip(j);
		else if (json_equals(&key, "sf"))
			frame = json_skip(j);
		else if (json_equals(&key, "weight") && json_peek(j) != '"')
			(void)json_scale(json_number(j), 0, &weight);
		else
			json_skip(j);
	}
	if (j->wrong)
		return 0;
	thread = trace_threads_find(threads, pid, tid);
	return thread == UINT32_MAX ? -ENOMEM : trace_samples_put(s, thread, frame, weight);
}

int trace_samples_read(struct trace_samples *s, struct trace_threads *threads, struct json *j,
		       struct err *e)
{
	struct json_list a = json_array(j);

	while (json_item(j, &a)) {
		if (json_peek(j) != '{')
			json_skip(j);
		else if (read_sample(s, threads, j) < 0)
			return err_nomem(e);
	}
	return 0;
}

/* The stack of a frame: its parents are placed first. */
static int place(struct trace_samples *s, struct profile *p, uint32_t index, struct err *e)
{
	uint32_t node = 0;

	s->path.count = 0;
	for (uint32_t i = index; i != NO_FRAME; i = frame_at(s, i)->parent) {
		uint32_t *row;

		if (frame_at(s, i)->is_placed) {
			node = frame_at(s, i)->node;
			break;
		}
		if (s->path.count > s->frames.count || s->path.count > FORMAT_MAX_DEPTH)
			return err_set(e, -EINVAL, "stack frames without a root");
		row = rows_add(&s->path, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = i;
	}
	for (size_t i = s->path.count; i-- > 0;) {
		struct trace_frame *frame = frame_at(s, ((uint32_t *)s->path.data)[i]);

		if (frame->location)
			node = profile_push(p, node, frame->location);
		frame->node = node;
		frame->is_placed = true;
	}
	return 0;
}

int trace_samples_add(struct trace_samples *s, struct profile *p, size_t type,
		      const uint32_t *labels, struct err *e)
{
	const struct trace_sample *sample = s->rows.data;
	int rc = 0;

	for (size_t i = 0; i < s->rows.count && rc == 0; i++, sample++) {
		int64_t values[PROFILE_MAX_TYPES] = { 0 };

		if (!frame_at(s, sample->frame)->is_placed)
			rc = place(s, p, sample->frame, e);
		values[type] = sample->weight;
		if (rc == 0)
			profile_add(p, frame_at(s, sample->frame)->node, labels[sample->thread],
				    values);
	}
	return rc;
}
