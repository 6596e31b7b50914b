/* SPDX-License-Identifier: MIT */
#include "view/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "model/units.h"
#include "view/flame/svg.h"
#include "view/flat.h"
#include "view/page/page_block.h"
#include "view/page/page_columns.h"
#include "view/page/page_files.h"
#include "view/page/page_meta.h"
#include "view/page/page_times.h"
#include "view/page/page_tree.h"

#define PLAIN_ROWS 50 /* functions that a page without script has */
#define SHOWN_LIMIT 4096

/* Text from outside as content. */
static void put_outside(struct buf *out, const char *text)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	svg_make_visible(&visible, text, strlen(text), SHOWN_LIMIT);
	out->bad |= visible.bad;
	if (visible.len && !visible.bad)
		svg_put_text(out, visible.data, visible.len);
}

static void make_title(const struct page_opts *o, struct buf *out)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (o->title)
		buf_put_str(&text, o->title);
	else if (o->is_diff && o->file_count == 2)
		buf_printf(&text, "%s to %s", path_base(o->files[0]), path_base(o->files[1]));
	else if (o->file_count == 1)
		buf_put_str(&text, path_base(o->files[0]));
	else
		buf_printf(&text, "%zu profiles", o->file_count);
	out->bad |= text.bad;
	if (!text.bad && text.len)
		svg_make_visible(out, text.data, text.len, SHOWN_LIMIT);
}

static void put_head(struct buf *out, const struct buf *title)
{
	buf_put_str(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"");
	buf_put(out, page_policy, page_policy_len);
	buf_put_str(out, "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
			 "<meta name=\"color-scheme\" content=\"light dark\">\n"
			 "<meta name=\"generator\" content=\"auger " AUGER_VERSION "\">\n<title>");
	svg_put_text(out, title->data ? title->data : "", title->len);
	buf_put_str(out, "</title>\n<style>");
	buf_put(out, page_css, page_css_len);
	buf_put_str(out, "</style>\n</head>\n<body>\n<div id=\"plain\">\n<h1>");
	svg_put_text(out, title->data ? title->data : "", title->len);
	buf_put_str(out, "</h1>\n");
}

static void put_fact(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "<dt>%s</dt><dd>", key);
	put_outside(out, text);
	buf_put_str(out, "</dd>\n");
}

static void put_value(struct buf *out, int64_t value, const char *unit)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	units_put(&text, value, unit);
	out->bad |= text.bad;
	if (text.data)
		put_outside(out, text.data);
}

static void put_facts(struct buf *out, const struct profile *p, const struct page_opts *o)
{
	const struct profile_info *info = profile_get_info(p);

	buf_put_str(out, "<dl>\n");
	for (size_t i = 0; i < o->file_count; i++)
		put_fact(out, "file", o->files[i]);
	for (size_t i = 0; i < profile_comment_count(p); i++)
		put_fact(out, "comment", profile_get_comment(p, i));
	if (o->filter)
		put_fact(out, "filter", o->filter);
	if (info->duration_ns) {
		buf_put_str(out, "<dt>duration</dt><dd>");
		put_value(out, info->duration_ns, "nanoseconds");
		buf_put_str(out, "</dd>\n");
	}
	if (o->facts.lost)
		buf_printf(out, "<dt>lost samples</dt><dd>%lld</dd>\n", (long long)o->facts.lost);
	buf_put_str(out, "</dl>\n");
}

static void put_percent(struct buf *out, int64_t part, int64_t whole)
{
	double share = whole ? (double)part / (double)whole : 0;

	buf_printf(out, "</td><td>%.2f%%</td><td>", 100 * share);
}

static void put_row(struct buf *out, const struct flat *f, uint32_t index, const char *unit)
{
	const struct flat_row *row = &f->rows[index];
	int64_t whole = f->rows[FLAT_ROOT].total;

	buf_put_str(out, "<tr><td>");
	put_value(out, row->self, unit);
	put_percent(out, row->self, whole);
	put_value(out, row->total, unit);
	put_percent(out, row->total, whole);
	put_outside(out, flat_name(f, index));
	buf_put_str(out, "</td><td>");
	put_outside(out, flat_module(f, index));
	buf_put_str(out, "</td></tr>\n");
}

/* The functions with the most of their own: all that is there without script. */
static int put_functions(struct buf *out, const struct profile *p, const struct page_opts *o,
			 size_t *ret_count, struct err *e)
{
	struct flat flat;
	uint32_t *rows;
	int rc = flat_init(&flat, p, FRAME_BY_FUNCTION, o->type, -1, e);

	if (rc < 0)
		return rc;
	rc = flat_sorted(&flat, FLAT_BY_SELF, &rows, ret_count, e);
	if (rc == 0) {
		buf_put_str(out, "<table>\n<caption>");
		put_outside(out, profile_text(p, profile_get_type(p, o->type).type));
		buf_put_str(out, "</caption>\n<thead><tr><th>self</th><th>%</th><th>total</th>"
				 "<th>%</th><th>function</th><th>module</th></tr></thead>\n");
		for (size_t i = 0; i < *ret_count && i < PLAIN_ROWS; i++)
			put_row(out, &flat, rows[i], report_unit(p, o->type));
		buf_put_str(out, "</table>\n");
		free(rows);
	}
	flat_fini(&flat);
	return rc;
}

static int put_data(struct buf *out, const struct profile *p, const struct page_opts *o,
		    const struct buf *title, struct page_stats *ret, struct err *e)
{
	CLEANUP(page_block_fini) struct page_block block = { 0 };
	struct page_scales scales;
	struct page_tree tree;
	int rc = page_tree_make(&tree, p, o->type, e);

	if (rc < 0)
		return rc;
	ret->nodes = tree.tree.node_count;
	rc = page_columns_put(&block, p, &tree, &scales, &ret->entries, e);
	if (rc == 0 && !o->is_diff)
		rc = page_times_put(&block, p, &tree, e);
	page_tree_fini(&tree);
	if (rc < 0)
		return rc;
	page_put_meta(&block.columns[PAGE_META], p, o, title, &scales);
	if (o->sources && o->sources->len) {
		buf_put_byte(&block.columns[PAGE_SOURCE], '[');
		buf_put(&block.columns[PAGE_SOURCE], o->sources->data, o->sources->len);
		buf_put_byte(&block.columns[PAGE_SOURCE], ']');
	}
	buf_put_str(out, "<script type=\"application/octet-stream\" id=\"data\">");
	rc = page_block_put(&block, out, e);
	buf_put_str(out, "</script>\n");
	return rc;
}

int page_write(const struct profile *p, const struct page_opts *o, struct buf *out,
	       struct page_stats *ret_stats, struct err *e)
{
	CLEANUP(buf_fini) struct buf title = { 0 };
	int rc;

	make_title(o, &title);
	if (buf_error(&title) < 0)
		return err_nomem(e);
	put_head(out, &title);
	put_facts(out, p, o);
	rc = put_functions(out, p, o, &ret_stats->functions, e);
	buf_put_str(out,
		    "<p>The flame graph and all other views need the script of this page.</p>\n"
		    "</div>\n");
	if (rc == 0)
		rc = put_data(out, p, o, &title, ret_stats, e);
	if (rc < 0)
		return rc;
	buf_put_str(out, "<script>");
	buf_put(out, page_js, page_js_len);
	buf_put_str(out, "</script>\n</body>\n</html>\n");
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}
