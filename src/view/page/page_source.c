/* SPDX-License-Identifier: MIT */
#include "view/page/page_source.h"

#include <inttypes.h>

#include "view/page/page_meta.h"

#define MAX_LINES 600  /* of a function */
#define MAX_INSNS 3000 /* of a function; of a longer one those with values */
#define AROUND 6       /* lines shown before and behind one with a value, of a long function */

static bool is_line(const struct page_source *s, const struct line_value *v)
{
	return v->line > 0 && v->file == s->file;
}

/* The first and last line to show; false: none has a value. */
static bool find_range(const struct page_source *s, int64_t *ret_first, int64_t *ret_last)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < s->values->line_count; i++) {
		const struct line_value *v = &s->values->lines[i];

		if (is_line(s, v) && v->line < first)
			first = v->line;
		if (is_line(s, v) && v->line > last)
			last = v->line;
	}
	if (!last)
		return false;
	if (s->start_line > 0 && s->start_line < first && first - s->start_line < MAX_LINES)
		first = s->start_line;
	*ret_first = first > 2 ? first - 2 : 1;
	*ret_last = last < INT64_MAX - 3 ? last + 3 : last;
	return true;
}

static void put_line(struct buf *out, const struct page_source *s, const struct line_value *v,
		     int64_t line, bool *is_first)
{
	bool has_text = line > 0 && (uint64_t)line <= s->text_count;

	buf_printf(out, "%s%" PRId64 ",%" PRId64 ",%" PRId64 ",", *is_first ? "" : ",", line,
		   v ? v->self : 0, v ? v->total : 0);
	page_put_json(out, has_text ? s->text[line - 1] : "");
	*is_first = false;
}

/* Lines of value i, and of the text before it that was not put yet. Returns the next line. */
static int64_t put_up_to(struct buf *out, const struct page_source *s, int64_t next, int64_t end,
			 bool *is_first)
{
	for (; s->text_count && next < end && (uint64_t)next <= s->text_count; next++)
		put_line(out, s, NULL, next, is_first);
	return next;
}

static void put_lines(struct buf *out, const struct page_source *s)
{
	int64_t first, last, next, behind = 0;
	bool is_first = true, is_long;
	size_t count = 0;

	if (!find_range(s, &first, &last))
		return;
	is_long = last - first >= MAX_LINES;
	next = first;
	for (size_t i = 0; i < s->values->line_count && count < MAX_LINES / 2; i++) {
		const struct line_value *v = &s->values->lines[i];

		if (!is_line(s, v))
			continue;
		if (is_long && behind)
			next = put_up_to(out, s, next, behind < v->line ? behind : v->line,
					 &is_first);
		if (is_long && next < v->line - AROUND)
			next = v->line - AROUND;
		next = put_up_to(out, s, next, v->line, &is_first);
		put_line(out, s, v, v->line, &is_first);
		next = v->line + 1;
		behind = next + AROUND;
		count++;
	}
	put_up_to(out, s, next, next + 3, &is_first);
}

static void put_insns(struct buf *out, const struct page_source *s)
{
	bool is_first = true;

	for (size_t i = 0; i < s->insn_count; i++) {
		const struct code_line *insn = &s->insns[i];
		const struct address_value *v =
			line_values_find_address(s->values, insn->mapping, insn->address);

		if (s->insn_count > MAX_INSNS && !v)
			continue;
		buf_printf(out, "%s%" PRId64 ",%" PRId64 ",\"%" PRIx64 "\",", is_first ? "" : ",",
			   insn->line, v ? v->self : 0, insn->address);
		page_put_json(out, insn->text);
		is_first = false;
	}
}

void page_source_put(struct buf *out, const struct profile *p, const struct page_source *s)
{
	buf_printf(out,
		   "%s{\"self\":%" PRId64 ",\"total\":%" PRId64 ",\"fn\":", out->len ? "," : "",
		   s->values->self, s->values->total);
	page_put_json(out, s->function);
	buf_put_str(out, ",\"module\":");
	page_put_json(out, s->module);
	buf_put_str(out, ",\"file\":");
	page_put_json(out, profile_text(p, s->file));
	buf_put_str(out, ",\"lines\":[");
	put_lines(out, s);
	buf_put_str(out, "],\"insns\":[");
	put_insns(out, s);
	buf_put_str(out, "]}");
}
