/* SPDX-License-Identifier: MIT */
#include "interp/python_stacks.h"

#include <errno.h>
#include <string.h>

#include "interp/python_layout.h"

_Static_assert((int)PYTHON_LOCK_HELD == (int)INTERP_LOCK_HELD, "locks");
_Static_assert((int)PYTHON_LOCK_AWAITED == (int)INTERP_LOCK_AWAITED, "locks");

int python_stacks_init(struct python_stacks *s)
{
	*s = (struct python_stacks){ .codes = codes_new() };
	return s->codes ? 0 : -ENOMEM;
}

void python_stacks_fini(struct python_stacks *s)
{
	codes_free(s->codes);
	buf_fini(&s->records);
	map_fini(&s->by_sample);
	rows_fini(&s->frames);
	*s = (struct python_stacks){ 0 };
}

static uint64_t key_of(uint32_t tid, uint64_t time_ns)
{
	return time_ns ^ (uint64_t)tid << 40;
}

/* Of the record at this place of records; its length is in front. */
static struct python_stack head_at(const struct python_stacks *s, size_t at, uint64_t *ret_len)
{
	struct python_stack head;

	memcpy(ret_len, s->records.data + at, sizeof *ret_len);
	memcpy(&head, s->records.data + at + sizeof *ret_len, sizeof head);
	return head;
}

static int keep(struct python_stacks *s, const struct python_stack *head, const void *record,
		uint64_t len)
{
	size_t at = s->records.len;

	if (at > UINT32_MAX)
		return -ENOMEM;
	buf_put(&s->records, &len, sizeof len);
	buf_put(&s->records, record, len);
	if (buf_error(&s->records) < 0)
		return -ENOMEM;
	return map_put(&s->by_sample, key_of(head->tid, head->time_ns), (uint32_t)at);
}

int python_stacks_put(struct python_stacks *s, const void *record, size_t len)
{
	struct python_stack head;
	uint32_t kind;

	if (len < sizeof kind)
		return 0;
	memcpy(&kind, record, sizeof kind);
	if (kind == PYTHON_CODE)
		return codes_add(s->codes, record, len);
	if (kind != PYTHON_STACK || len < sizeof head)
		return 0;
	memcpy(&head, record, sizeof head);
	if (head.end == PYTHON_DROPPED || head.count > PYTHON_FRAMES_MAX ||
	    head.count > (len - sizeof head) / sizeof(struct python_frame)) {
		s->dropped++;
		return 0;
	}
	s->cut += head.end == PYTHON_CUT;
	return keep(s, &head, record, len);
}

/* A shim ends the segment of the frame before it, or is one without frames. */
static bool add_frame(struct python_stacks *s, const struct python_frame *from)
{
	struct interp_frame *frames = s->frames.data;
	struct interp_frame *to;

	if (from->flags & PYTHON_FRAME_SHIM && s->frames.count &&
	    !frames[s->frames.count - 1].is_entry) {
		frames[s->frames.count - 1].is_entry = true;
		return true;
	}
	to = rows_add(&s->frames, sizeof *to);
	if (!to)
		return false;
	to->is_entry = from->flags & (PYTHON_FRAME_SHIM | PYTHON_FRAME_ENTRY);
	if (!(from->flags & PYTHON_FRAME_SHIM))
		to->location = codes_locate(s->codes, from);
	return true;
}

bool python_stacks_find(struct python_stacks *s, uint32_t tid, uint64_t time_ns,
			struct interp_stack *ret)
{
	uint32_t at = map_get(&s->by_sample, key_of(tid, time_ns));
	enum interp_lock lock = INTERP_LOCK_NONE;
	struct python_stack head;
	const char *bytes;
	uint64_t len;

	if (at == MAP_NONE)
		return false;
	head = head_at(s, at, &len);
	if (head.lock <= PYTHON_LOCK_AWAITED)
		lock = (enum interp_lock)head.lock;
	if (head.tid != tid || head.time_ns != time_ns || (head.count == 0 && !lock))
		return false;
	bytes = s->records.data + at + sizeof len + sizeof head;
	s->frames.count = 0;
	for (uint32_t i = 0; i < head.count; i++) {
		struct python_frame f;

		memcpy(&f, bytes + i * sizeof f, sizeof f);
		if (!add_frame(s, &f))
			return false;
	}
	*ret = (struct interp_stack){ s->frames.data, s->frames.count, lock };
	return true;
}

int python_stacks_forget(struct python_stacks *s, uint64_t before_ns)
{
	size_t from = 0, to = 0;
	uint64_t len;

	if (!s->records.len)
		return 0;
	map_clear(&s->by_sample);
	while (from < s->records.len) {
		struct python_stack head = head_at(s, from, &len);
		size_t bytes = sizeof len + len;

		if (head.time_ns >= before_ns) {
			memmove(s->records.data + to, s->records.data + from, bytes);
			if (map_put(&s->by_sample, key_of(head.tid, head.time_ns), (uint32_t)to) <
			    0)
				return -ENOMEM;
			to += bytes;
		}
		from += bytes;
	}
	s->records.len = to;
	return 0;
}
