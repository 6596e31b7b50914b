/* SPDX-License-Identifier: MIT */
#include "format/stacktext/pmcstat.h"

#include "base/number.h"
#include "format/stacktext/tree.h"

struct row {
	size_t depth;
	int64_t count;
	struct str name;
};

/* " 70.59%  [12]        __mtx_unlock_flags" */
static bool parse_row(struct str line, struct row *ret)
{
	struct str rest = line;
	size_t end = 0;

	while (rest.len && *rest.ptr == ' ')
		rest = str_part(rest, 1, rest.len);
	ret->depth = line.len - rest.len;
	while (end < rest.len && (number_is_digit(rest.ptr[end]) || rest.ptr[end] == '.'))
		end++;
	if (!end || !str_starts_with(str_part(rest, end, rest.len), "%  ["))
		return false;
	rest = str_part(rest, end + 4, rest.len);
	end = str_find(rest, "]");
	if (end == rest.len || !number_is_digit(*rest.ptr) ||
	    !stacktext_number(str_part(rest, 0, end), &ret->count))
		return false;
	rest = str_part(rest, end + 1, rest.len);
	ret->name = str_take_word(&rest);
	return ret->name.len > 0;
}

/* What stackcollapse-pmc.pl does: the rows that have none below them. */
static void add_exact(struct stacktext *t, const struct row *row, int64_t *count)
{
	if (row->depth < stacktext_depth(t))
		stacktext_add(t, true, *count);
	stacktext_set_depth(t, row->depth);
	stacktext_push(t, row->name);
	*count = row->count;
}

static void parse(struct stacktext *t)
{
	CLEANUP(stacktext_tree_fini) struct stacktext_tree tree = { .t = t, .leaf_first = true };
	struct str line;
	struct row row;
	int64_t count = 0;

	while (stacktext_line(t, &line)) {
		if (!parse_row(line, &row))
			continue;
		if (t->is_exact)
			add_exact(t, &row, &count);
		else
			stacktext_tree_add(&tree, row.depth, row.name, row.count);
	}
	if (!t->is_exact)
		stacktext_tree_end(&tree);
	else if (stacktext_depth(t))
		stacktext_add(t, true, count);
}

/* Is the first line that is neither empty nor about an event a row? */
static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line;
	struct row row;

	while (cursor_line(&c, &line.ptr, &line.len))
		if (line.len && !str_starts_with(line, "@ "))
			return parse_row(line, &row) && row.depth == 0;
	return false;
}

static const struct stacktext_kind kind = {
	.name = "pmcstat",
	.parse = parse,
	.keeps_order = true,
};

static int pmcstat_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int pmcstat_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

static const char *const suffixes[] = { NULL };

const struct format format_pmcstat = {
	.name = "pmcstat",
	.summary = "the callgraph of FreeBSD's pmcstat -G",
	.mark = "a percentage and a count, behind lines of @",
	.lost = "shares, which are computed",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = pmcstat_read,
	.collapse = pmcstat_collapse,
};
