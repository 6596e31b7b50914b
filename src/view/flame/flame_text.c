/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "model/units.h"
#include "view/flame/flame_internal.h"
#include "view/flame/svg.h"

#define SEPARATOR " \xc2\xb7 " /* a middle dot */

void flame_put_visible(struct buf *out, const struct buf *visible)
{
	if (buf_error(visible) < 0)
		out->bad = true;
	else
		svg_put_text(out, visible->data, visible->len);
}

static void put_outside(struct picture *p, struct buf *out, const char *text)
{
	buf_clear(&p->scratch);
	svg_make_visible(&p->scratch, text, strlen(text), FLAME_NAME_LIMIT);
	flame_put_visible(out, &p->scratch);
}

void flame_put_grouped(struct buf *out, int64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64,
			   value < 0 ? -(uint64_t)value : (uint64_t)value);

	if (value < 0)
		buf_put_byte(out, '-');
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_put_byte(out, ',');
		buf_put_byte(out, (unsigned char)digits[i]);
	}
}

/* "1,234 samples", or in words: "1.23 s". */
static void put_words(struct picture *p, struct buf *out, int64_t value)
{
	if (strcmp(p->unit.data, "count") == 0) {
		flame_put_grouped(out, value);
		buf_put_byte(out, ' ');
		flame_put_visible(out, &p->type);
		return;
	}
	buf_clear(&p->scratch);
	units_put(&p->scratch, value, p->unit.data);
	flame_put_visible(out, &p->scratch);
}

/* In words, and in full where words round: "1.23 s (1,230,000,000 nanoseconds)". */
static void put_exact(struct picture *p, struct buf *out, int64_t value)
{
	size_t before = out->len;
	char digits[24];

	put_words(p, out, value);
	snprintf(digits, sizeof digits, "%" PRId64 " ", value);
	if (buf_error(out) < 0 || strcmp(p->unit.data, "count") == 0 ||
	    strncmp(out->data + before, digits, strlen(digits)) == 0)
		return;
	buf_put_str(out, " (");
	flame_put_grouped(out, value);
	buf_put_byte(out, ' ');
	flame_put_visible(out, &p->unit);
	buf_put_byte(out, ')');
}

static void put_percent(struct buf *out, double share)
{
	buf_printf(out, "%.2f %%", 100 * share);
}

static const char *kind_word(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_PROGRAM:
		return "program";
	case FRAME_LIBRARY:
		return "library";
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_JIT:
		return "JIT";
	case FRAME_NAME:
		break;
	}
	return "";
}

/* "library libc.so.6 · malloc.c:123 · inlined", "/app/serve.js:12" where there is no module, or
 * nothing when nothing is known. */
void flame_put_origin(struct picture *p, struct buf *out, const struct frame *frame)
{
	const struct frames *frames = &p->side.tree.frames;
	const char *module = frames_text(frames, frame->module);
	const char *file = frames_text(frames, frame->file);
	const char *separator = "\n";

	if (frame->kind != FRAME_NAME) {
		file = path_base(file);
		buf_printf(out, "\n%s%s", kind_word(frame->kind), *module ? " " : "");
		put_outside(p, out, module);
		separator = SEPARATOR;
	}
	if (*file) {
		buf_put_str(out, separator);
		put_outside(p, out, file);
		if (frame->line > 0)
			buf_printf(out, ":%" PRId64, frame->line);
		separator = SEPARATOR;
	}
	if (frame->is_inlined)
		buf_printf(out, "%sinlined", separator);
}

static void put_value(struct picture *p, struct buf *out, const char *what, uint32_t node,
		      bool is_self)
{
	const struct tree_node *nodes = p->side.tree.nodes;
	int64_t value = is_self ? nodes[node].self : nodes[node].total;

	buf_printf(out, "\n%s ", what);
	if (value == 0) {
		buf_put_byte(out, '0');
		return;
	}
	put_exact(p, out, value);
	if (nodes[0].total > 0) {
		buf_put_str(out, SEPARATOR);
		put_percent(out, (double)value / (double)nodes[0].total);
	}
	if (p->side.samples_of) {
		buf_put_str(out, SEPARATOR);
		flame_put_grouped(out, flame_side_samples(&p->side, node, is_self));
		buf_put_str(out, " samples");
	}
}

/* "change +2.20 points (+22.0 %)", absolute "change +12 samples (+22.0 %)". */
static void put_change(struct picture *p, struct buf *out, uint32_t node)
{
	struct flame_change c = flame_change_of(&p->comparison, node);
	double before = p->opts->is_absolute ? (double)c.before : c.share_before;
	double after = p->opts->is_absolute ? (double)c.after : c.share_after;

	if (c.before == 0 || c.after == 0) {
		buf_put_str(out, c.after ? "\nnew" : "\ngone");
	} else {
		buf_put_str(out, p->opts->is_negated ? "\nafter " : "\nbefore ");
		put_exact(p, out, p->opts->is_negated ? c.after : c.before);
		buf_put_str(out, SEPARATOR);
		put_percent(out, p->opts->is_negated ? c.share_after : c.share_before);
		buf_put_str(out, after < before ? "\nchange " : "\nchange +");
		if (p->opts->is_absolute)
			put_words(p, out, c.after - c.before);
		else
			buf_printf(out, "%.2f points", 100 * (after - before));
		buf_printf(out, " (%+.1f %%)", 100 * (after - before) / before);
	}
	if (c.ratio != 0 && !c.is_significant)
		buf_put_str(out, SEPARATOR "may be chance");
}

/* "off the CPU 1.2 s · 80.00 % of it". */
static void put_off(struct picture *p, struct buf *out, uint32_t node)
{
	int64_t off = flame_off_of(&p->comparison, node);
	int64_t total = p->side.tree.nodes[node].total;

	buf_put_str(out, "\noff the CPU ");
	put_exact(p, out, off);
	if (total > 0) {
		buf_put_str(out, SEPARATOR);
		put_percent(out, (double)off / (double)total);
		buf_put_str(out, " of it");
	}
}

void flame_put_tooltip(struct picture *p, struct buf *out, uint32_t node)
{
	buf_put_str(out, "<title>");
	flame_put_visible(out, &p->name);
	flame_put_origin(p, out, tree_frame(&p->side.tree, node));
	put_value(p, out, "total", node, false);
	if (node)
		put_value(p, out, "self", node, true);
	if (p->opts->is_wall)
		put_off(p, out, node);
	else if (p->opts->other)
		put_change(p, out, node);
	buf_put_str(out, "</title>");
}
