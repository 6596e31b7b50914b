/* SPDX-License-Identifier: MIT */
#include "view/flame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "model/units.h"
#include "view/flame_files.h"
#include "view/flame_layout.h"
#include "view/svg.h"

/* Pixels; columns are those of a font of fixed width. */
#define TOP 68          /* height above the frames: title, comments, facts */
#define BOTTOM 50       /* below: legend, details */
#define PAD 10          /* left and right of the frames */
#define ROW 17          /* height of a frame and the gap below it */
#define LABEL_ROW 12    /* lower rows have no labels */
#define ROOF 20000      /* all rows together are at most this high */
#define INSET 3         /* of a label in its frame */
#define CELL 6.7        /* width of a column of the 11 px font, at most */
#define TITLE_CELL 10.0 /* the same of the title's font */
#define LABEL_COLUMNS 3 /* a label of fewer is none */

/* Bytes that are shown of a text from outside. */
#define NAME_LIMIT 4096
#define WORD_LIMIT 64

#define SEPARATOR " \xc2\xb7 " /* a middle dot */

struct picture {
	const struct profile *profile;
	const struct flame_opts *opts;
	const struct tree *tree;
	const struct tree *samples; /* how often each node was seen; NULL: not known */
	uint32_t *samples_of;       /* [tree->node_count]: node of samples, or MAP_NONE */
	struct flame_layout layout;
	struct buf type, unit;       /* of the value, visible */
	double row;                  /* height */
	double height;               /* of the picture */
	double scale;                /* pixels a unit of layout */
	uint8_t shades[FLAME_BANDS]; /* bits of those in use */
	struct buf frames;           /* the frames, written before the style that they need */
	struct buf name;             /* of the frame being written, visible */
	struct buf scratch;
	struct buf *out;
};

static void put_visible(struct buf *out, const struct buf *visible)
{
	if (buf_error(visible) < 0)
		out->bad = true;
	else
		svg_put_text(out, visible->data, visible->len);
}

static void put_outside(struct picture *p, struct buf *out, const char *text, size_t limit)
{
	buf_clear(&p->scratch);
	svg_make_visible(&p->scratch, text, strlen(text), limit);
	put_visible(out, &p->scratch);
}

/* 1234567 as "1,234,567". */
static void put_grouped(struct buf *out, int64_t value)
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

static void put_count(struct buf *out, size_t count, const char *noun)
{
	put_grouped(out, (int64_t)count);
	buf_printf(out, " %s%s", noun, count == 1 ? "" : "s");
}

/* Is the value more than a count of its type? */
static bool has_words(const struct picture *p)
{
	return p->unit.len > 0 && strcmp(p->unit.data, "count") != 0;
}

/* "1,234 samples", or in words: "1.23 s". */
static void put_words(struct picture *p, struct buf *out, int64_t value)
{
	if (!has_words(p)) {
		put_grouped(out, value);
		buf_put_byte(out, ' ');
		svg_put_text(out, p->type.data, p->type.len);
		return;
	}
	buf_clear(&p->scratch);
	units_put(&p->scratch, value, p->unit.data);
	put_visible(out, &p->scratch);
}

/* In words, and in full where words round: "1.23 s (1,230,000,000 nanoseconds)". */
static void put_exact(struct picture *p, struct buf *out, int64_t value)
{
	size_t before = out->len;
	char digits[24];

	put_words(p, out, value);
	snprintf(digits, sizeof digits, "%" PRId64 " ", value);
	if (buf_error(out) < 0 || !has_words(p) ||
	    strncmp(out->data + before, digits, strlen(digits)) == 0)
		return;
	buf_put_str(out, " (");
	put_grouped(out, value);
	buf_put_byte(out, ' ');
	svg_put_text(out, p->unit.data, p->unit.len);
	buf_put_byte(out, ')');
}

static void put_share(const struct picture *p, struct buf *out, int64_t value)
{
	int64_t whole = p->tree->nodes[0].total;

	if (whole > 0)
		buf_printf(out, SEPARATOR "%.2f %%", 100 * ((double)value / (double)whole));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *kind_word(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_PROGRAM:
		return "program ";
	case FRAME_LIBRARY:
		return "library ";
	case FRAME_KERNEL:
		return "kernel ";
	case FRAME_JIT:
		return "JIT ";
	case FRAME_NAME:
		break;
	}
	return "";
}

/* "library libc.so.6 · malloc.c:123 · inlined", or nothing when nothing is known. */
static void put_origin(struct picture *p, struct buf *out, const struct frame *frame)
{
	const char *module = frames_text(&p->tree->frames, frame->module);
	const char *file = base_name(frames_text(&p->tree->frames, frame->file));
	const char *separator = "\n";

	if (frame->kind != FRAME_NAME || *module) {
		buf_printf(out, "\n%s", kind_word(frame->kind));
		put_outside(p, out, module, NAME_LIMIT);
		separator = SEPARATOR;
	}
	if (*file) {
		buf_put_str(out, separator);
		put_outside(p, out, file, NAME_LIMIT);
		if (frame->line > 0)
			buf_printf(out, ":%" PRId64, frame->line);
		separator = SEPARATOR;
	}
	if (frame->is_inlined)
		buf_printf(out, "%sinlined", separator);
}

static void put_figure(struct picture *p, struct buf *out, const char *what, int64_t value,
		       int64_t samples)
{
	buf_printf(out, "\n%s ", what);
	put_exact(p, out, value);
	put_share(p, out, value);
	if (p->samples) {
		buf_put_str(out, SEPARATOR);
		put_grouped(out, samples);
		buf_put_str(out, " samples");
	}
}

/* The native tooltip: name, origin, total, self; a line each. flame.js relies on the first. */
static void put_tooltip(struct picture *p, struct buf *out, uint32_t id)
{
	const struct tree_node *node = &p->tree->nodes[id], *seen = NULL;

	if (p->samples && p->samples_of[id] != MAP_NONE)
		seen = &p->samples->nodes[p->samples_of[id]];
	buf_put_str(out, "<title>");
	put_visible(out, &p->name);
	put_origin(p, out, tree_frame(p->tree, id));
	put_figure(p, out, "total", node->total, seen ? seen->total : 0);
	if (id && node->self == 0)
		buf_put_str(out, "\nself 0");
	else if (id)
		put_figure(p, out, "self", node->self, seen ? seen->self : 0);
	buf_put_str(out, "</title>");
}

static double row_top(const struct picture *p, uint32_t depth)
{
	return TOP + p->row * (p->opts->is_icicle ? depth : p->layout.levels - 1 - depth);
}

static void put_box(struct picture *p, const struct flame_box *box)
{
	struct buf *out = &p->frames;
	bool is_root = box->depth == 0;
	double width = is_root ? p->opts->width - 2 * PAD : (double)box->width * p->scale;
	double x = PAD + (double)box->start * p->scale, y = row_top(p, box->depth);
	double columns = floor((width - 2 * INSET) / CELL);

	svg_put_px_attr(out, "x", x);
	svg_put_px_attr(out, "y", y);
	svg_put_px_attr(out, "width", width > 3 ? width - .6 : width);
	svg_put_px_attr(out, "height", p->row > 4 ? p->row - 1 : p->row);
	buf_put_str(out, "/>");
	if (columns < LABEL_COLUMNS || p->row < LABEL_ROW)
		return;
	buf_put_str(out, "<text");
	svg_put_px_attr(out, "x", x + INSET);
	svg_put_px_attr(out, "y", y + p->row - 5);
	buf_put_byte(out, '>');
	svg_put_fitted(out, p->name.data, p->name.len, (size_t)columns);
	buf_put_str(out, "</text>");
}

static void put_frame(struct picture *p, const struct flame_box *box)
{
	struct buf *out = &p->frames;
	uint32_t frame = p->tree->nodes[box->node].frame;
	struct flame_shade shade = flame_shade_of(&p->tree->frames, frame, p->opts->colors);
	struct str name = strtab_get(p->tree->frames.strings, p->tree->frames.list[frame].name);

	buf_clear(&p->name);
	svg_make_visible(&p->name, name.ptr, name.len, NAME_LIMIT);
	if (buf_error(&p->name) < 0) {
		out->bad = true;
		return;
	}
	p->shades[shade.band] |= (uint8_t)(1 << shade.shade);
	buf_put_str(out, "<g class=\"");
	flame_put_class(out, shade);
	buf_put_str(out, "\">");
	put_tooltip(p, out, box->node);
	buf_put_str(out, "<rect");
	put_box(p, box);
	buf_put_str(out, "</g>\n");
}

/* A line of text from outside, shortened here and again by flame.js for its window. */
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

static const char *title_of(const struct picture *p)
{
	if (p->opts->title)
		return p->opts->title;
	return p->opts->is_reversed ? "Flame graph, callers on callees" : "Flame graph";
}

static void put_comments(const struct picture *p, struct buf *text)
{
	for (size_t i = 0; i < profile_comment_count(p->profile); i++) {
		const char *comment = profile_get_comment(p->profile, i);

		buf_put_str(text, i ? SEPARATOR : "");
		svg_make_visible(text, comment, strlen(comment), NAME_LIMIT);
	}
}

static void put_date(struct buf *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm tm;
	char text[40];

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
		buf_printf(out, SEPARATOR "%s", text);
}

/* What the picture is of, as far as the profile says. Visible, not escaped. */
static void put_facts(const struct picture *p, struct buf *text)
{
	const struct profile_info *info = profile_get_info(p->profile);

	if (has_words(p)) {
		buf_printf(text, "%s ", p->type.data);
		units_put(text, p->tree->nodes[0].total, p->unit.data);
	} else {
		put_grouped(text, p->tree->nodes[0].total);
		buf_printf(text, " %s", p->type.data);
	}
	if (p->samples) {
		buf_put_str(text, SEPARATOR);
		put_count(text, (size_t)p->samples->nodes[0].total, "sample");
	}
	if (info->period > 0 && info->period_type.unit) {
		CLEANUP(buf_fini) struct buf words = { 0 };

		units_put(&words, info->period, profile_text(p->profile, info->period_type.unit));
		buf_put_str(text, SEPARATOR "one every ");
		svg_make_visible(text, words.data, words.len, WORD_LIMIT);
	}
	if (info->duration_ns > 0) {
		buf_put_str(text, SEPARATOR "recorded for ");
		units_put(text, info->duration_ns, "nanoseconds");
	}
	if (info->time_ns > 0)
		put_date(text, info->time_ns);
	if (p->tree->node_count == 1)
		buf_put_str(text, SEPARATOR "nothing to show");
}

static int put_head(struct picture *p)
{
	CLEANUP(buf_fini) struct buf title = { 0 }, comments = { 0 }, facts = { 0 };
	const char *words = title_of(p);

	svg_make_visible(&title, words, strlen(words), NAME_LIMIT);
	put_comments(p, &comments);
	put_facts(p, &facts);
	if (buf_error(&title) < 0 || buf_error(&comments) < 0 || buf_error(&facts) < 0)
		return -1;
	buf_printf(p->out, "<g id=\"head\"><rect class=\"back\" width=\"100%%\" height=\"%d\"/>\n",
		   TOP - 4);
	put_line(p, "title", 25, TITLE_CELL, &title);
	if (comments.len)
		put_line(p, "minor", 44, CELL, &comments);
	put_line(p, "minor", comments.len ? 59 : 44, CELL, &facts);
	buf_put_str(p->out, "</g>\n");
	return 0;
}

/* What share each kind of code has of all self. */
static void sum_bands(const struct picture *p, double shares[FLAME_BANDS])
{
	const struct tree *t = p->tree;
	double whole = (double)t->nodes[0].total;

	for (uint32_t i = 0; i < t->node_count; i++) {
		struct flame_shade shade =
			flame_shade_of(&t->frames, t->nodes[i].frame, p->opts->colors);

		if (whole > 0)
			shares[shade.band] += (double)t->nodes[i].self / whole;
	}
}

static void put_legend(struct picture *p)
{
	double shares[FLAME_BANDS] = { 0 }, x = PAD;

	sum_bands(p, shares);
	for (unsigned band = 0; band < FLAME_BANDS; band++) {
		const char *label = flame_band_label((enum flame_band)band);
		unsigned shade = 0;
		char text[40];

		if (!label || !p->shades[band])
			continue;
		while (!(p->shades[band] >> shade & 1))
			shade++;
		snprintf(text, sizeof text, "%s %.1f %%", label, 100 * shares[band]);
		buf_put_str(p->out, "<g class=\"");
		flame_put_class(p->out, (struct flame_shade){ (enum flame_band)band, shade });
		buf_printf(p->out,
			   "\"><rect x=\"%.1f\" y=\"10\" width=\"11\" height=\"11\"/>"
			   "<text x=\"%.1f\" y=\"20\">%s</text></g>\n",
			   x, x + 16, text);
		x += 16 + CELL * (double)strlen(text) + 14;
	}
}

/* What is not in the picture is said. */
static void put_note(struct picture *p)
{
	const struct flame_stats *stats = &p->layout.stats;
	struct buf *out = p->out;

	buf_put_str(out,
		    "<text class=\"minor\" x=\"100%\" dx=\"-10\" y=\"20\" text-anchor=\"end\">");
	put_count(out, stats->drawn, "frame");
	if (stats->narrow) {
		buf_put_str(out, "; left out: ");
		put_grouped(out, (int64_t)stats->narrow);
		buf_put_str(out, " too narrow");
	}
	if (stats->deep) {
		buf_put_str(out, stats->narrow ? ", " : "; left out: ");
		put_grouped(out, (int64_t)stats->deep);
		buf_printf(out, " below level %d", FLAME_MAX_LEVELS);
	}
	if (stats->negative) {
		buf_put_str(out, "; taken as 0: ");
		put_count(out, stats->negative, "negative value");
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

/* What flame.js needs; it describes the format. */
static void put_data(struct picture *p)
{
	struct buf *out = p->out;

	buf_printf(out,
		   "<metadata id=\"data\" data-row=\"%.1f\" data-top=\"%d\" data-bottom=\"%d\" "
		   "data-pad=\"%d\" data-inset=\"%d\" data-cell=\"%.1f\" data-least=\"%.1f\" "
		   "data-levels=\"%" PRIu32 "\" data-roof=\"%d\" data-icicle=\"%d\">",
		   p->row, TOP, BOTTOM, PAD, INSET, CELL, FLAME_LEAST_PX, p->layout.levels, ROOF,
		   p->opts->is_icicle);
	for (size_t i = 0; i < p->layout.stats.drawn; i++) {
		const struct flame_box *box = &p->layout.boxes[i];

		buf_put_str(out, i ? "," : "");
		buf_put_uint(out, box->ups);
		buf_put_byte(out, ',');
		buf_put_int(out, box->gap);
		buf_put_byte(out, ',');
		buf_put_int(out, box->width);
	}
	buf_put_str(out, "</metadata>\n");
}

static void put_script(struct buf *out)
{
	buf_put_str(out, "<script><![CDATA[\n");
	buf_put(out, flame_js, flame_js_len);
	buf_put_str(out, "]]></script>\n</svg>\n");
}

static int put_picture(struct picture *p)
{
	struct buf *out = p->out;

	for (size_t i = 0; i < p->layout.stats.drawn; i++)
		put_frame(p, &p->layout.boxes[i]);
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%.0f\" "
		   "viewBox=\"0 0 %u %.0f\">\n<title>",
		   p->opts->width, p->height, p->opts->width, p->height);
	put_outside(p, out, title_of(p), NAME_LIMIT);
	buf_put_str(out, "</title>\n<desc>made by auger " AUGER_VERSION "</desc>\n<style>\n");
	buf_put(out, flame_css, flame_css_len);
	flame_put_rules(out, p->shades);
	buf_put_str(out,
		    "</style>\n"
		    "<script>document.currentScript.parentNode.classList.add(\"live\")</script>\n"
		    "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
		    "<g id=\"frames\">\n");
	if (buf_error(&p->frames) < 0)
		return -1;
	buf_put(out, p->frames.data, p->frames.len);
	buf_put_str(out, "</g>\n");
	if (put_head(p) < 0)
		return -1;
	put_foot(p);
	put_data(p);
	put_script(out);
	return buf_error(out);
}

/* The nodes of both trees that have the same frames from the root; both are of one profile,
 * so that frames have the same ids. */
static int match_samples(struct picture *p)
{
	const struct tree *t = p->tree;

	p->samples_of = reallocarray(NULL, t->node_count, sizeof *p->samples_of);
	if (!p->samples_of)
		return -1;
	p->samples_of[0] = 0;
	for (uint32_t i = 1; i < t->node_count; i++) {
		uint32_t parent = p->samples_of[t->nodes[i].parent];

		p->samples_of[i] = parent == MAP_NONE
					   ? MAP_NONE
					   : map_get(&p->samples->children,
						     map_pair(parent, t->nodes[i].frame));
	}
	return 0;
}

static int draw(struct picture *p, struct err *e)
{
	const struct flame_opts *o = p->opts;
	struct value_type type = profile_get_type(p->profile, o->type);
	struct str type_name = profile_get_str(p->profile, type.type);
	struct str unit = profile_get_str(p->profile, type.unit);
	double inner = o->width - 2 * PAD;
	int rc = flame_layout_make(&p->layout, p->tree,
				   fmax(FLAME_LEAST_PX / inner, o->min_percent / 100), e);

	if (rc < 0)
		return rc;
	svg_make_visible(&p->type, type_name.ptr, type_name.len, WORD_LIMIT);
	svg_make_visible(&p->unit, unit.ptr, unit.len, WORD_LIMIT);
	p->row = fmin(ROW, floor(10.0 * ROOF / p->layout.levels) / 10);
	p->height = ceil(TOP + p->row * p->layout.levels + BOTTOM);
	if (p->layout.boxes[0].width > 0)
		p->scale = inner / (double)p->layout.boxes[0].width;
	if (buf_error(&p->type) < 0 || buf_error(&p->unit) < 0 ||
	    (p->samples && match_samples(p) < 0) || put_picture(p) < 0)
		return err_nomem(e);
	return 0;
}

/* The type that counts samples, unless it is the one that is shown; -1: none. */
static int find_samples(const struct profile *p, size_t shown)
{
	int found = profile_find_type(p, "samples");

	return found < 0 || (size_t)found == shown ? -1 : found;
}

int flame_write(const struct profile *profile, const struct flame_opts *o, struct buf *out,
		struct flame_stats *ret_stats, struct err *e)
{
	struct tree_opts how = { .type = o->type, .is_reversed = o->is_reversed };
	CLEANUP(tree_fini) struct tree tree = { 0 }, samples = { 0 };
	struct picture p = { .profile = profile, .opts = o, .tree = &tree, .out = out };
	int type = find_samples(profile, o->type), rc;

	rc = tree_build(&tree, profile, &how, e);
	if (rc < 0)
		return rc;
	if (type >= 0) {
		how.type = (size_t)type;
		rc = tree_build(&samples, profile, &how, e);
		p.samples = &samples;
	}
	if (rc == 0)
		rc = draw(&p, e);
	if (rc == 0)
		*ret_stats = p.layout.stats;
	flame_layout_fini(&p.layout);
	free(p.samples_of);
	buf_fini(&p.type);
	buf_fini(&p.unit);
	buf_fini(&p.frames);
	buf_fini(&p.name);
	buf_fini(&p.scratch);
	return rc;
}
