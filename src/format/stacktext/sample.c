/* SPDX-License-Identifier: MIT */
#include "format/stacktext/sample.h"

#include "base/number.h"
#include "format/stacktext/tree.h"

/* Functions in which threads wait, by stackcollapse-sample.awk. */
static bool is_waiting(struct str name)
{
	static const char *const names[] = {
		"__psynch_cvwait",
		"__select",
		"__semwait_signal",
		"__ulock_wait",
		"__wait4",
		"__workq_kernreturn",
		"kevent",
		"mach_msg_trap",
		"read",
		"semaphore_wait_trap",
	};
	static const char module[] = "libsystem_kernel`";

	if (str_starts_with(name, module))
		name = str_part(name, sizeof module - 1, name.len);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_equals(name, names[i]))
			return true;
	return false;
}

/* "(in libfoo.dylib)": what stands in it; len 0: there is none. */
static struct str find_module(struct str row)
{
	size_t at = str_find(row, "(in "), close;

	if (at == row.len)
		return (struct str){ "", 0 };
	row = str_part(row, at + 4, row.len);
	close = str_find(row, ")");
	return close == row.len ? (struct str){ "", 0 } : str_part(row, 0, close);
}

static void put_module(struct str module, struct buf *out)
{
	static const char dylib[] = ".dylib";

	while (module.len) {
		size_t at = str_find(module, dylib), end = at;

		buf_put(out, module.ptr, at);
		if (at < module.len)
			end += sizeof dylib - 1;
		module = str_part(module, end, module.len);
	}
	buf_put_byte(out, '`');
}

/* row: "start_wqthread  (in libsystem_pthread.dylib) + 13  [0x7fff]" */
static void put_name(struct str row, bool is_exact, struct buf *out)
{
	struct str module = find_module(row), rest = row, first, second;

	if (module.len)
		put_module(module, out);
	if (!is_exact) {
		struct str name = str_trim(str_part(row, 0, str_find(row, "  (in ")));

		buf_put(out, name.ptr, name.len);
		return;
	}
	first = str_take_word(&rest);
	second = str_take_word(&rest);
	buf_put(out, first.ptr, first.len);
	if (!second.len || str_equals(second, "(in"))
		return;
	buf_put_byte(out, '.');
	buf_put(out, second.ptr, second.len);
}

/* A row's depth, count, and the rest; false: the line is none. */
static bool parse_row(struct str line, size_t *ret_depth, int64_t *ret_count, struct str *ret_rest)
{
	size_t start = 0, end;

	while (start < line.len && !number_is_digit(line.ptr[start]))
		start++;
	if (start == line.len || start < 4 || !str_starts_with(line, "    "))
		return false;
	for (end = start; end < line.len && number_is_digit(line.ptr[end]);)
		end++;
	*ret_depth = (start - 4) / 2;
	*ret_rest = str_skip_blanks(str_part(line, end, line.len));
	return stacktext_number(str_part(line, start, end), ret_count);
}

static void parse(struct stacktext *t)
{
	CLEANUP(stacktext_tree_fini) struct stacktext_tree tree = { .t = t };
	CLEANUP(buf_fini) struct buf name = { 0 };
	bool is_graph = false;
	struct str line, rest;
	size_t depth;
	int64_t count;

	tree.keeps_zero = t->is_exact;
	tree.is_hidden = t->is_exact ? is_waiting : NULL;
	while (stacktext_line(t, &line)) {
		if (str_starts_with(line, "Call graph"))
			is_graph = true;
		if (is_graph && str_starts_with(line, "Total number")) {
			stacktext_tree_end(&tree);
			is_graph = false;
		}
		if (!is_graph || !parse_row(line, &depth, &count, &rest))
			continue;
		buf_clear(&name);
		put_name(rest, t->is_exact, &name);
		if (buf_error(&name) < 0)
			stacktext_fail(t);
		else
			stacktext_tree_add(&tree, depth, (struct str){ name.data, name.len },
					   count);
	}
	if (!t->is_exact)
		stacktext_tree_end(&tree);
}

/* A line "Call graph:" and a row behind it; before it is only the head of sample(1)'s report. */
static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	bool is_graph = false;
	struct str line, rest;
	size_t depth;
	int64_t count;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (is_graph && line.len)
			return parse_row(line, &depth, &count, &rest) && depth == 0;
		is_graph |= str_equals(line, "Call graph:");
	}
	return false;
}

static const struct stacktext_kind kind = {
	.name = "sample",
	.parse = parse,
	.keeps_order = true,
};

static int sample_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int sample_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

static const char *const suffixes[] = { NULL };

const struct format format_sample = {
	.name = "sample",
	.summary = "the call graph of sample(1) of macOS",
	.mark = "the line Call graph:",
	.lost = "binary images",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = sample_read,
	.collapse = sample_collapse,
};
