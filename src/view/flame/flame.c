/* SPDX-License-Identifier: MIT */
#include "view/flame/flame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "view/flame/flame_files.h"
#include "view/flame/flame_internal.h"
#include "view/flame/svg.h"
#include "view/shorten.h"

/* Pixels; columns are those of a font of fixed width. */
#define HEAD 36         /* height above the first line of the head */
#define LINE 15         /* height of a line */
#define BOTTOM 50       /* height below the frames: legend, details */
#define PAD 10          /* left and right of the frames */
#define ROW 17          /* height of a frame and the gap below it */
#define LABEL_ROW 12    /* lower rows have no labels */
#define ROOF 20000      /* all rows together are at most this high */
#define INSET 3         /* of a label in its frame */
#define CELL 6.7        /* width of a column of the 11 px font, at most */
#define TITLE_CELL 10.0 /* the same of the title's font */
#define LABEL_COLUMNS 3 /* a label of fewer is none */

static double row_top(const struct picture *p, uint32_t depth)
{
	return p->top + p->row * (p->opts->is_icicle ? depth : p->layout.levels - 1 - depth);
}

static void put_label(struct buf *out, const struct buf *name, size_t columns)
{
	CLEANUP(buf_fini) struct buf fitted = { 0 };

	if (utf8_fit(name->data, name->len, columns) < name->len &&
	    shorten_name(&fitted, name->data, name->len, columns, ".."))
		svg_put_text(out, fitted.data, fitted.len);
	else
		svg_put_fitted(out, name->data, name->len, columns);
	if (buf_error(&fitted) < 0)
		out->bad = true;
}

static double width_of(const struct picture *p, const struct flame_box *box)
{
	return box->depth ? (double)box->width * p->scale : p->opts->width - 2 * PAD;
}

/* Columns that a label may have; 0: none. */
static size_t label_columns(const struct picture *p, const struct flame_box *box)
{
	double columns = floor((width_of(p, box) - 2 * INSET) / CELL);

	return columns < LABEL_COLUMNS || p->row < LABEL_ROW ? 0 : (size_t)columns;
}

/* Most frames of a large profile have no room for a name: a path of all of a shade is a fifth of
 * their size. Of a difference, the tooltips have more than the script knows. */
static bool is_bare(const struct picture *p, const struct flame_box *box)
{
	return box->depth && !p->opts->other && !label_columns(p, box);
}

static void put_bare(struct picture *p, const struct flame_box *box)
{
	struct flame_shade shade = flame_node_shade(p, box->node);
	struct buf *out = &p->bare[shade.band][shade.shade];
	double width = width_of(p, box);

	p->shades[shade.band] |= (uint8_t)(1 << shade.shade);
	buf_put_byte(out, 'M');
	svg_put_px(out, PAD + (double)box->start * p->scale);
	buf_put_byte(out, ' ');
	svg_put_px(out, row_top(p, box->depth));
	buf_put_byte(out, 'h');
	svg_put_px(out, width > 3 ? width - .6 : width);
	buf_put_byte(out, 'v');
	svg_put_px(out, p->row > 4 ? p->row - 1 : p->row);
	buf_put_str(out, "h-");
	svg_put_px(out, width > 3 ? width - .6 : width);
	buf_put_byte(out, 'z');
}

static void put_all_bare(struct picture *p, struct buf *out)
{
	for (unsigned band = 0; band < FLAME_BANDS; band++) {
		for (unsigned i = 0; i < FLAME_SHADES; i++) {
			const struct buf *path = &p->bare[band][i];

			out->bad |= path->bad;
			if (!path->len || path->bad)
				continue;
			buf_put_str(out, "<path class=\"");
			flame_put_class(out, (struct flame_shade){ (enum flame_band)band, i });
			buf_put_str(out, "\" d=\"");
			buf_put(out, path->data, path->len);
			buf_put_str(out, "\"/>\n");
		}
	}
}

static void put_box(struct picture *p, const struct flame_box *box)
{
	struct buf *out = &p->frames;
	double width = width_of(p, box);
	double x = PAD + (double)box->start * p->scale, y = row_top(p, box->depth);
	size_t columns = label_columns(p, box);

	buf_put_str(out, "<rect");
	svg_put_px_attr(out, "x", x);
	svg_put_px_attr(out, "y", y);
	svg_put_px_attr(out, "width", width > 3 ? width - .6 : width);
	svg_put_px_attr(out, "height", p->row > 4 ? p->row - 1 : p->row);
	buf_put_str(out, "/>");
	if (!columns)
		return;
	buf_put_str(out, "<text");
	svg_put_px_attr(out, "x", x + INSET);
	svg_put_px_attr(out, "y", y + p->row - 5);
	buf_put_byte(out, '>');
	put_label(out, &p->name, columns);
	buf_put_str(out, "</text>");
}

struct flame_shade flame_node_shade(const struct picture *p, uint32_t node)
{
	const struct tree *t = &p->side.tree;
	struct flame_change change;

	if (!p->opts->other)
		return flame_shade_of(&t->frames, t->nodes[node].frame, p->opts->colors);
	if (p->opts->is_wall)
		return flame_off_shade(&p->comparison, node);
	change = flame_change_of(&p->comparison, node);
	return flame_change_shade(&change);
}

static void put_frame(struct picture *p, const struct flame_box *box)
{
	const struct tree *t = &p->side.tree;
	struct str name = strtab_get(t->frames.strings, tree_frame(t, box->node)->name);
	struct flame_shade shade = flame_node_shade(p, box->node);
	struct buf *out = &p->frames;

	buf_clear(&p->name);
	svg_make_visible(&p->name, name.ptr, name.len, FLAME_NAME_LIMIT);
	if (buf_error(&p->name) < 0) {
		out->bad = true;
		return;
	}
	p->shades[shade.band] |= (uint8_t)(1 << shade.shade);
	buf_put_str(out, "<g class=\"");
	flame_put_class(out, shade);
	buf_put_str(out, "\">");
	flame_put_tooltip(p, out, box->node);
	put_box(p, box);
	buf_put_str(out, "</g>\n");
}

/* A line of text from outside, shortened here, and again by the script for its window. */
static void put_line(struct picture *p, const char *class, double y, double cell,
		     const struct buf *text)
{
	struct buf *out = p->out;
	double room = p->opts->width - 2 * PAD;

	buf_printf(out, "<text class=\"fit %s\" data-cell=\"%.1f\" x=\"%d\" y=\"%.0f\"><title>",
		   class, cell, PAD, y);
	svg_put_text(out, text->data, text->len);
	buf_put_str(out, "</title>");
	svg_put_fitted(out, text->data, text->len, (size_t)(room / cell));
	buf_put_str(out, "</text>\n");
}

static void put_head(struct picture *p)
{
	buf_printf(p->out,
		   "<g id=\"head\"><rect class=\"back\" width=\"100%%\" height=\"%.0f\"/>\n",
		   p->top - 4);
	put_line(p, "title", 25, TITLE_CELL, &p->title);
	for (size_t i = 0; i < p->line_count; i++)
		put_line(p, "minor", HEAD + 8 + LINE * (double)i, CELL, &p->lines[i]);
	buf_put_str(p->out, "</g>\n");
}

/* What share each band has of all self; of a wall clock, what is on and off the CPU. */
static void sum_bands(const struct picture *p, double shares[FLAME_BANDS])
{
	const struct tree *t = &p->side.tree;

	if (p->opts->is_wall && t->nodes[0].total > 0) {
		shares[FLAME_BAND_OFF] =
			(double)flame_off_of(&p->comparison, 0) / (double)t->nodes[0].total;
		shares[FLAME_BAND_ON] = 1 - shares[FLAME_BAND_OFF];
		return;
	}
	for (uint32_t i = 0; i < t->node_count; i++)
		if (t->nodes[i].self)
			shares[flame_node_shade(p, i).band] += (double)t->nodes[i].self;
	for (size_t i = 0; i < FLAME_BANDS; i++)
		shares[i] = t->nodes[0].total > 0 ? shares[i] / (double)t->nodes[0].total : 0;
}

static unsigned highest_bit(unsigned bits)
{
	unsigned bit = 0;

	while (bits >>= 1)
		bit++;
	return bit;
}

/* The color that stands for a band. */
static struct flame_shade legend_shade(const struct picture *p, enum flame_band band)
{
	return (struct flame_shade){ band,
				     band == FLAME_BAND_ON ? 0 : highest_bit(p->shades[band]) };
}

/* Returns where the next entry begins. */
static double put_legend_entry(struct picture *p, double x, struct flame_shade shade,
			       const char *text)
{
	buf_put_str(p->out, "<g class=\"");
	flame_put_class(p->out, shade);
	buf_printf(p->out,
		   "\"><rect x=\"%.1f\" y=\"10\" width=\"11\" height=\"11\"/>"
		   "<text x=\"%.1f\" y=\"20\">%s</text></g>\n",
		   x, x + 16, text);
	return x + 16 + CELL * (double)strlen(text) + 14;
}

/* A kind of code comes with its share; the share of a change means nothing. */
static void put_legend(struct picture *p)
{
	const struct flame_shade half = { FLAME_BAND_ON, FLAME_SHADES - 1 };
	double shares[FLAME_BANDS] = { 0 }, x = PAD;

	sum_bands(p, shares);
	for (unsigned i = 0; i < FLAME_BANDS; i++) {
		struct flame_shade shade = legend_shade(p, (enum flame_band)i);
		const char *label = flame_band_label(shade.band);
		char text[40];

		if (!label || !p->shades[i])
			continue;
		snprintf(text, sizeof text, "%s %.1f %%", label, 100 * shares[i]);
		x = put_legend_entry(p, x, shade, flame_is_diff(p->opts) ? label : text);
		if (p->opts->is_wall && i == FLAME_BAND_ON) /* between the pure ones */
			x = put_legend_entry(p, x, half, "half and half");
	}
}

/* Notes what is not in the picture. */
static void put_note(struct picture *p)
{
	const struct flame_stats *stats = &p->layout.stats;
	struct buf *out = p->out;

	buf_put_str(out,
		    "<text class=\"minor\" x=\"100%\" dx=\"-10\" y=\"20\" text-anchor=\"end\">");
	flame_put_grouped(out, (int64_t)stats->drawn);
	buf_put_str(out, stats->drawn == 1 ? " frame" : " frames");
	if (stats->zoomable) {
		buf_put_str(out, ", ");
		flame_put_grouped(out, (int64_t)stats->zoomable);
		buf_put_str(out, " more when zoomed");
	}
	if (stats->narrow) {
		buf_put_str(out, "; left out: ");
		flame_put_grouped(out, (int64_t)stats->narrow);
		buf_put_str(out, " too narrow");
	}
	if (stats->deep) {
		buf_put_str(out, stats->narrow ? ", " : "; left out: ");
		flame_put_grouped(out, (int64_t)stats->deep);
		buf_printf(out, " below level %d", FLAME_MAX_LEVELS);
	}
	if (stats->negative) {
		buf_put_str(out, "; negative values taken as 0: ");
		flame_put_grouped(out, (int64_t)stats->negative);
	}
	buf_put_str(out, "</text>\n");
}

static void put_foot(struct picture *p)
{
	buf_printf(p->out,
		   "<g id=\"foot\" transform=\"translate(0 %.0f)\">"
		   "<rect class=\"back\" width=\"100%%\" height=\"%d\"/>\n",
		   p->height - BOTTOM, BOTTOM);
	put_legend(p);
	put_note(p);
	buf_printf(p->out, "<text id=\"detail\" x=\"%d\" y=\"40\"></text></g>\n", PAD);
}

/* The frames that have callees which are left out: steps from one to the next, and widths. */
static void put_left(struct picture *p)
{
	size_t before = 0;

	for (size_t i = 0; i < p->layout.count; i++) {
		if (!p->layout.boxes[i].left)
			continue;
		buf_printf(p->out, "%s%zu,%" PRId64, before ? ";" : "", i + 1 - before,
			   p->layout.boxes[i].left);
		before = i + 1;
	}
}

/* What the script needs; data/flame/frames.js describes the format. */
static void put_data(struct picture *p)
{
	struct buf *out = p->out;

	buf_printf(out,
		   "<metadata id=\"data\" data-row=\"%.1f\" data-top=\"%.0f\" data-bottom=\"%d\" "
		   "data-pad=\"%d\" data-inset=\"%d\" data-cell=\"%.1f\" data-least=\"%.1f\" "
		   "data-levels=\"%" PRIu32 "\" data-roof=\"%d\" data-icicle=\"%d\" "
		   "data-left=\"",
		   p->row, p->top, BOTTOM, PAD, INSET, CELL, FLAME_LEAST_PX, p->layout.levels, ROOF,
		   p->opts->is_icicle);
	put_left(p);
	buf_put_str(out, "\" ");
	buf_put(out, p->table.data, p->table.len);
}

/* The first script spares a browser the layout of frames that the other will replace. */
static void put_opening(struct picture *p)
{
	struct buf *out = p->out;

	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%.0f\" "
		   "viewBox=\"0 0 %u %.0f\">\n<title>",
		   p->opts->width, p->height, p->opts->width, p->height);
	flame_put_visible(out, &p->title);
	buf_put_str(out, "</title>\n<desc>made by auger " AUGER_VERSION "</desc>\n<style>\n");
	buf_put(out, flame_css, flame_css_len);
	flame_put_rules(out, p->shades);
	buf_put_str(out,
		    "</style>\n"
		    "<script>document.currentScript.parentNode.classList.add(\"live\")</script>\n"
		    "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n");
}

static int put_picture(struct picture *p)
{
	struct buf *out = p->out;

	for (size_t i = 0; i < p->layout.count; i++) {
		struct flame_box *box = &p->layout.boxes[i];

		box->is_bare = !box->is_narrow && is_bare(p, box);
		if (box->is_bare)
			put_bare(p, box);
		else if (!box->is_narrow)
			put_frame(p, box);
	}
	flame_make_table(p, &p->table);
	if (buf_error(&p->frames) < 0 || buf_error(&p->table) < 0)
		return -1;
	if (p->opts->is_wall) { /* for the legend */
		p->shades[FLAME_BAND_ON] |= 1 | 1 << (FLAME_SHADES - 1);
		p->shades[FLAME_BAND_OFF] |= 1 << (FLAME_SHADES - 1);
	}
	put_opening(p);
	buf_put_str(out, "<g id=\"frames\">\n");
	put_all_bare(p, out);
	buf_put(out, p->frames.data, p->frames.len);
	buf_put_str(out, "</g>\n");
	put_head(p);
	put_foot(p);
	put_data(p);
	buf_put_str(out, "<script><![CDATA[\n(function () {\n'use strict';\n");
	buf_put(out, flame_js, flame_js_len);
	buf_put_str(out, "}());\n]]></script>\n</svg>\n");
	return buf_error(out);
}

static int make_sides(struct picture *p, struct err *e)
{
	const struct flame_opts *o = p->opts;
	struct tree_opts how = { .type = o->type, .is_reversed = o->is_reversed };
	int rc = flame_side_make(&p->side, p->profile, &how, e);

	if (rc < 0 || !o->other)
		return rc;
	how.type = o->other_type;
	rc = flame_side_make(&p->other, o->other, &how, e);
	if (rc == 0)
		rc = flame_comparison_make(&p->comparison, &p->side, &p->other, e);
	p->comparison.is_negated = o->is_negated;
	p->comparison.is_absolute = o->is_absolute;
	return rc;
}

static void name_value(struct picture *p)
{
	struct value_type type = profile_get_type(p->profile, p->opts->type);
	struct str name = profile_get_str(p->profile, type.type);
	struct str unit = profile_get_str(p->profile, type.unit);

	svg_make_visible(&p->type, name.ptr, name.len, FLAME_WORD_LIMIT);
	if (unit.len)
		svg_make_visible(&p->unit, unit.ptr, unit.len, FLAME_WORD_LIMIT);
	else
		buf_put_str(&p->unit, "count");
}

static int draw(struct picture *p, struct err *e)
{
	const struct flame_opts *o = p->opts;
	double inner = o->width - 2 * PAD;
	int rc = make_sides(p, e);

	if (rc == 0)
		rc = flame_layout_make(&p->layout, &p->side.tree,
				       fmax(FLAME_LEAST_PX / inner, o->min_percent / 100),
				       o->min_percent / 100, e);
	if (rc < 0)
		return rc;
	name_value(p);
	if (buf_error(&p->type) < 0 || buf_error(&p->unit) < 0)
		return err_nomem(e);
	rc = flame_make_head(p, e);
	if (rc < 0)
		return rc;
	p->top = HEAD + LINE * (double)p->line_count + 2;
	p->row = fmin(ROW, floor(10.0 * ROOF / p->layout.levels) / 10);
	p->height = ceil(p->top + p->row * p->layout.levels + BOTTOM);
	if (p->layout.boxes[0].width > 0)
		p->scale = inner / (double)p->layout.boxes[0].width;
	return put_picture(p) < 0 ? err_nomem(e) : 0;
}

static void fini(struct picture *p)
{
	buf_fini(&p->layout.stats.missing);
	flame_layout_fini(&p->layout);
	flame_comparison_fini(&p->comparison);
	flame_side_fini(&p->side);
	flame_side_fini(&p->other);
	buf_fini(&p->type);
	buf_fini(&p->unit);
	buf_fini(&p->title);
	for (size_t i = 0; i < FLAME_HEAD_LINES; i++)
		buf_fini(&p->lines[i]);
	for (size_t i = 0; i < FLAME_BANDS * FLAME_SHADES; i++)
		buf_fini(&p->bare[i / FLAME_SHADES][i % FLAME_SHADES]);
	buf_fini(&p->frames);
	buf_fini(&p->table);
	buf_fini(&p->name);
	buf_fini(&p->scratch);
}

int flame_write(const struct profile *profile, const struct flame_opts *o, struct buf *out,
		struct flame_stats *ret_stats, struct err *e)
{
	struct picture p = { .profile = profile, .opts = o, .out = out };
	int rc = draw(&p, e);

	if (rc == 0) {
		*ret_stats = p.layout.stats;
		p.layout.stats.missing = (struct buf){ 0 }; /* handed over */
	}
	fini(&p);
	return rc;
}
