/* SPDX-License-Identifier: MIT */
#include "view/tables/syscalls_stack.h"

#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"

/* One frame: of location l the inlined function line. */
static void put_frame(struct buf *out, const struct profile *p, const struct location *l,
		      uint32_t line)
{
	const struct line none = { 0 }, *at = l->line_count ? &l->lines[line] : &none;
	const struct function *f = profile_get_function(p, at->function);
	const char *name = profile_text(p, f->name), *file = profile_text(p, f->file);

	if (l->mapping && l->address)
		buf_printf(out, "%s(%s) [0x%llx]",
			   profile_text(p, profile_get_mapping(p, l->mapping)->path), name,
			   (unsigned long long)l->address);
	else
		buf_put_str(out, name);
	if (*file)
		buf_printf(out, " %s", file);
	if (*file && at->line > 0)
		buf_printf(out, ":%lld", (long long)at->line);
	if (line + 1 < l->line_count)
		buf_put_str(out, " (inlined)");
}

static void put_text(struct buf *out, const struct buf *frame, bool is_first,
		     enum emit_format format)
{
	switch (format) {
	case EMIT_TABLE:
		buf_put_str(out, " > ");
		utf8_put_visible(out, frame->data, frame->len);
		buf_put_byte(out, '\n');
		break;
	case EMIT_CSV:
		buf_put_str(out, is_first ? "" : "; ");
		utf8_put_visible(out, frame->data, frame->len);
		break;
	case EMIT_JSON:
		buf_put_str(out, is_first ? "" : ", ");
		quote_json(out, frame->data, frame->len);
		break;
	}
}

static void put_frames(struct buf *out, const struct profile *p, uint32_t node,
		       enum emit_format format)
{
	CLEANUP(buf_fini) struct buf frame = { 0 };
	bool is_first = true;

	while (node) {
		struct stack_node n = profile_get_node(p, node);
		struct location l = profile_get_location(p, n.location);

		for (uint32_t i = 0; i < l.line_count || i == 0; i++) {
			buf_clear(&frame);
			put_frame(&frame, p, &l, i);
			out->bad |= frame.bad;
			if (!frame.len)
				continue;
			put_text(out, &frame, is_first, format);
			is_first = false;
		}
		node = n.parent;
	}
}

void syscalls_stack_put(struct buf *out, const struct profile *p, uint32_t node,
			enum emit_format format)
{
	CLEANUP(buf_fini) struct buf cell = { 0 };

	switch (format) {
	case EMIT_TABLE:
		put_frames(out, p, node, format);
		break;
	case EMIT_CSV:
		put_frames(&cell, p, node, format);
		quote_csv(out, cell.data ? cell.data : "", cell.len);
		out->bad |= cell.bad;
		break;
	case EMIT_JSON:
		buf_put_byte(out, '[');
		put_frames(out, p, node, format);
		buf_put_byte(out, ']');
		break;
	}
}
