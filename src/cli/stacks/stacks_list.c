/* SPDX-License-Identifier: MIT */
#include "cli/stacks/stacks_list.h"

#include <string.h>

#include "base/utf8.h"
#include "view/tree.h"

static const struct thread_stack *thread_at(const struct stacks_text *t, size_t i)
{
	return (const struct thread_stack *)t->stacks->threads.data + i;
}

static const char *string_at(const struct stacks_text *t, uint32_t id)
{
	return profile_text(t->stacks->profile, id);
}

static void put_visible(struct buf *out, const char *before, const char *text)
{
	buf_put_str(out, before);
	utf8_put_visible(out, text, strlen(text));
}

static void put_head(const struct stacks_text *t, const struct thread_stack *row, struct buf *out)
{
	buf_printf(out, "process %u, thread %u", row->pid, row->tid);
	put_visible(out, " ", string_at(t, row->comm));
	buf_printf(out, ": state %c", row->state);
	if (row->blocked_ns >= 0) {
		buf_put_str(out, " for ");
		stacks_text_put_time(out, row->blocked_ns);
	}
	buf_put_byte(out, '\n');
	if (row->call)
		put_visible(out, "  call    ", string_at(t, row->call));
	if (row->call)
		buf_put_byte(out, '\n');
	if (row->kernel)
		put_visible(out, "  kernel  ", string_at(t, row->kernel));
	else if (row->wchan)
		put_visible(out, "  kernel  ", string_at(t, row->wchan));
	if (row->kernel || row->wchan)
		buf_put_byte(out, '\n');
	if (row->missing)
		put_visible(out, "  not stopped: ", string_at(t, row->missing));
	if (row->missing)
		buf_put_byte(out, '\n');
}

static void put_frame(const struct stacks_text *t, uint32_t id, struct buf *out)
{
	const struct frame *f = &t->frames.list[id];
	const char *module = frames_text(&t->frames, f->module);

	put_visible(out, "    ", stacks_text_frame(t, id));
	if (f->kind != FRAME_NAME && *module)
		put_visible(out, "  in ", module);
	buf_put_byte(out, '\n');
}

int stacks_list_put(const struct stacks_text *t, struct buf *out, struct err *e)
{
	for (size_t i = 0; i < t->stacks->threads.count; i++) {
		const struct stack_frames *f = &t->of_threads[i];

		buf_put_str(out, i ? "\n" : "");
		put_head(t, thread_at(t, i), out);
		for (size_t n = f->count; n > 0; n--)
			put_frame(t, f->ids[n - 1], out);
	}
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

static int put_stack(const struct stacks_text *t, size_t i, struct buf *scratch)
{
	const struct stack_frames *f = &t->of_threads[i];

	buf_clear(scratch);
	for (size_t n = 0; n < f->count; n++) {
		buf_put_str(scratch, n ? ";" : "");
		buf_put_str(scratch, stacks_text_frame(t, f->ids[n]));
	}
	return buf_error(scratch);
}

static void put_time(struct emit *out, const char *key, int64_t ns)
{
	if (ns < 0)
		emit_none(out, key);
	else
		emit_value(out, key, ns, "nanoseconds");
}

static void put_row(const struct stacks_text *t, const struct thread_stack *row, const char *stack,
		    struct emit *out)
{
	const char state[] = { row->state ? row->state : '?', '\0' };

	emit_int(out, "pid", row->pid);
	emit_int(out, "tid", row->tid);
	emit_text(out, "comm", string_at(t, row->comm));
	emit_text(out, "state", state);
	emit_optional(out, "call", string_at(t, row->call));
	emit_optional(out, "object", string_at(t, row->object));
	emit_optional(out, "wchan", string_at(t, row->wchan));
	emit_optional(out, "kernel_stack", string_at(t, row->kernel));
	put_time(out, "blocked_ns", row->blocked_ns);
	put_time(out, "stopped_ns", row->stopped_ns ? row->stopped_ns : -1);
	emit_optional(out, "missing", string_at(t, row->missing));
	emit_optional(out, "stack", stack);
}

int stacks_rows_put(const struct stacks_text *t, struct emit *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf stack = { 0 };
	static const struct thread_stack nothing = { 0 };

	emit_head_int(out, "processes", (int64_t)t->stacks->process_count);
	emit_head_int(out, "threads", (int64_t)t->stacks->threads.count);
	emit_columns(out);
	put_row(t, &nothing, "", out);
	for (size_t i = 0; i < t->stacks->threads.count; i++) {
		if (put_stack(t, i, &stack) < 0)
			return err_nomem(e);
		emit_row(out);
		put_row(t, thread_at(t, i), stack.len ? stack.data : "", out);
	}
	return 0;
}
