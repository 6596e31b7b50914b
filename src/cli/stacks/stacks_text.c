/* SPDX-License-Identifier: MIT */
/* The frames of each thread. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/stacks/stacks_tree.h"

const char *stacks_text_frame(const struct stacks_text *t, uint32_t id)
{
	return frames_text(&t->frames, t->frames.list[id].name);
}

bool stacks_text_is_script(const struct stacks_text *t, uint32_t id)
{
	const struct frame *f = &t->frames.list[id];
	const char *file = frames_text(&t->frames, f->file), *slash = strrchr(file, '/');

	return *file && strcmp(slash ? slash + 1 : file, frames_text(&t->frames, f->module)) == 0;
}

void stacks_text_put_time(struct buf *out, int64_t ns)
{
	double seconds = (double)ns / (double)NS_PER_S;

	if (seconds < 1)
		buf_printf(out, "%.0f ms", seconds * 1e3);
	else if (seconds < 600)
		buf_printf(out, "%.0f s", seconds);
	else if (seconds < 36000)
		buf_printf(out, "%.0f min", seconds / 60);
	else
		buf_printf(out, "%.0f h", seconds / 3600);
}

static size_t count_frames(const struct stacks_text *t, uint32_t node)
{
	size_t count = 0, n;

	for (; node; node = profile_get_node(t->stacks->profile, node).parent) {
		frames_of(&t->frames, profile_get_node(t->stacks->profile, node).location, &n);
		count += n;
	}
	return count;
}

static int fill(const struct stacks_text *t, uint32_t node, struct stack_frames *ret)
{
	size_t at = count_frames(t, node), n;

	ret->count = at;
	ret->ids = calloc(at ? at : 1, sizeof *ret->ids);
	if (!ret->ids)
		return -1;
	for (; node; node = profile_get_node(t->stacks->profile, node).parent) {
		uint32_t location = profile_get_node(t->stacks->profile, node).location;
		const uint32_t *ids = frames_of(&t->frames, location, &n);

		for (size_t i = 0; i < n; i++)
			ret->ids[--at] = ids[i];
	}
	return 0;
}

int stacks_text_init(struct stacks_text *t, const struct thread_stacks *s, enum frame_by by,
		     struct err *e)
{
	const struct thread_stack *rows = s->threads.data;

	*t = (struct stacks_text){ .stacks = s };
	if (frames_init(&t->frames, s->profile, by, e) < 0)
		return e->code;
	t->of_threads = calloc(s->threads.count + 1, sizeof *t->of_threads);
	for (size_t i = 0; t->of_threads && i < s->threads.count; i++) {
		if (fill(t, rows[i].node, &t->of_threads[i]) == 0)
			continue;
		stacks_text_fini(t);
		return err_nomem(e);
	}
	if (t->of_threads)
		return 0;
	stacks_text_fini(t);
	return err_nomem(e);
}

void stacks_text_fini(struct stacks_text *t)
{
	for (size_t i = 0; t->of_threads && i < t->stacks->threads.count; i++)
		free(t->of_threads[i].ids);
	free(t->of_threads);
	if (t->stacks)
		frames_fini(&t->frames);
	*t = (struct stacks_text){ 0 };
}
