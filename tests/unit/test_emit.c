/* SPDX-License-Identifier: MIT */
#include "view/emit.h"

#include "tap.h"

struct row {
	int64_t self;
	const char *function, *module;
};

static const struct row rows[] = {
	{ 1500000000, "fill(int, \"x\")", "work" },
	{ 20000000, "evil\n\033[31m,\xff", "libm.so.6" },
	{ -5, "", "" },
};

static void put_row(struct emit *out, const struct row *row)
{
	emit_value(out, "self", row->self, "nanoseconds");
	emit_percent(out, "self_percent", row->self, 3000000000);
	emit_text(out, "function", row->function);
	emit_hide(out);
	emit_bool(out, "is_inlined", row->self == 20000000);
	emit_optional(out, "module", row->module);
}

static void put_all(const struct emit_opts *o, size_t count, struct buf *text)
{
	CLEANUP(emit_fini) struct emit out;

	emit_begin(&out, o, text);
	emit_head_str(&out, "file", "a\"b.pb.gz");
	emit_head_list(&out, "comment");
	emit_head_item(&out, "a b");
	emit_head_item(&out, "c");
	emit_head_list_end(&out);
	emit_head_value(&out, "duration_ns", 3010000000, "nanoseconds");
	emit_hide(&out);
	emit_head_int(&out, "total", 3000000000);
	emit_columns(&out);
	put_row(&out, &rows[0]);
	for (size_t i = 0; i < count; i++) {
		emit_row(&out);
		put_row(&out, &rows[i]);
	}
	emit_note(&out, "%d more", 3);
	CHECK_INT(emit_end(&out), 0);
}

static void test_formats(void)
{
	static const char *const texts[] = {
		[EMIT_TABLE] = "# file: a\"b.pb.gz\n"
			       "# a b\n"
			       "# c\n"
			       "# duration: 3.01 s\n"
			       "\n"
			       "   self  self %  function               module\n"
			       " 1.50 s  50.00%  fill(int, \"x\")         work\n"
			       "20.0 ms   0.67%  evil\\x0a\\x1b[31m,\\xff  libm.so.6\n"
			       "  -5 ns  -0.00%                         -\n"
			       "# 3 more\n",
		[EMIT_CSV] = "self,self_percent,function,is_inlined,module\n"
			     "1500000000,50.0000,\"fill(int, \"\"x\"\")\",false,work\n"
			     "20000000,0.6667,\"evil\n\\x1b[31m,\\xff\",true,libm.so.6\n"
			     "-5,-0.0000,,false,\n",
		[EMIT_JSON] = "{\n"
			      "\"file\": \"a\\\"b.pb.gz\",\n"
			      "\"comment\": [\"a b\", \"c\"],\n"
			      "\"duration_ns\": 3010000000,\n"
			      "\"total\": 3000000000,\n"
			      "\"rows\": [\n"
			      "{\"self\": 1500000000, \"self_percent\": 50.0000, "
			      "\"function\": \"fill(int, \\\"x\\\")\", \"is_inlined\": false, "
			      "\"module\": \"work\"},\n"
			      "{\"self\": 20000000, \"self_percent\": 0.6667, "
			      "\"function\": \"evil\\n\\u001b[31m,\\\\xff\", "
			      "\"is_inlined\": true, \"module\": \"libm.so.6\"},\n"
			      "{\"self\": -5, \"self_percent\": -0.0000, \"function\": \"\", "
			      "\"is_inlined\": false, \"module\": null}\n"
			      "]\n"
			      "}\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 };

		put_all(&(struct emit_opts){ .format = (enum emit_format)i }, 3, &text);
		CHECK_STR(text.data, texts[i]);
	}
}

static void test_no_rows(void)
{
	static const char *const texts[] = {
		[EMIT_TABLE] = "# file: a\"b.pb.gz\n"
			       "# a b\n"
			       "# c\n"
			       "# duration: 3.01 s\n"
			       "\n"
			       "self  self %  function  module\n"
			       "# 3 more\n",
		[EMIT_CSV] = "self,self_percent,function,is_inlined,module\n",
		[EMIT_JSON] = "{\n"
			      "\"file\": \"a\\\"b.pb.gz\",\n"
			      "\"comment\": [\"a b\", \"c\"],\n"
			      "\"duration_ns\": 3010000000,\n"
			      "\"total\": 3000000000,\n"
			      "\"rows\": []\n"
			      "}\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 };

		put_all(&(struct emit_opts){ .format = (enum emit_format)i }, 0, &text);
		CHECK_STR(text.data, texts[i]);
	}
}

/* No line is wider than asked while names can be cut; the prefix of a tree is cut last. */
static void test_width(void)
{
	static const char *const lines[] = {
		"  self  function",
		"1.00 s  std::_Hashtable\xe2\x80\xa6",
		" 10 ns  \xe2\x94\x94 _Hashtable<Lo\xe2\x80\xa6",
		" 10 ns  \xe2\x80\xa6\xe2\x94\x94 \xe2\x94\x94 \xe2\x94\x94 short",
	};
	static const struct {
		int64_t self;
		const char *prefix, *function;
	} cells[] = {
		{ 1000000000, "", "std::_Hashtable<Long, Argument, List, Other>" },
		{ 10, "\xe2\x94\x94 ", "std::_Hashtable<Long, Argument, List, Other>" },
		{ 10,
		  "\xe2\x94\x94 \xe2\x94\x94 \xe2\x94\x94 \xe2\x94\x94 \xe2\x94\x94 \xe2\x94\x94 "
		  "\xe2\x94\x94 \xe2\x94\x94 ",
		  "short" },
	};
	CLEANUP(buf_fini) struct buf text = { 0 }, want = { 0 };
	CLEANUP(emit_fini) struct emit out;

	emit_begin(&out, &(struct emit_opts){ .width = 24 }, &text);
	emit_columns(&out);
	emit_value(&out, "self", 0, "nanoseconds");
	emit_name(&out, "function", "", "", "");
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		emit_row(&out);
		emit_value(&out, "self", cells[i].self, "nanoseconds");
		emit_name(&out, "function", cells[i].prefix, cells[i].function, "");
	}
	CHECK_INT(emit_end(&out), 0);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		buf_printf(&want, "%s\n", lines[i]);
	CHECK_STR(text.data, want.data);
}

/* A screen has no room for more: the last numbers go, what the rows are about stays. */
static void test_strict_width(void)
{
	static const struct {
		size_t width;
		const char *want;
	} cases[] = {
		{ 35, "  self  samples  function\n1.00 s       12  alpha_bet…_epsilon\n" },
		{ 30, "  self  function\n1.00 s  alpha_beta_…ta_epsilon\n" },
		{ 10, "  self  function\n1.00 s  alpha_be…epsilon\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 };
		CLEANUP(emit_fini) struct emit out;

		emit_begin(&out, &(struct emit_opts){ .width = cases[i].width }, &text);
		emit_fit_strictly(&out);
		emit_columns(&out);
		emit_value(&out, "self", 0, "nanoseconds");
		emit_int(&out, "samples", 0);
		emit_name(&out, "function", "", "", "");
		emit_row(&out);
		emit_value(&out, "self", 1000000000, "nanoseconds");
		emit_int(&out, "samples", 12);
		emit_name(&out, "function", "", "alpha_beta_gamma_delta_epsilon", "");
		CHECK_INT(emit_end(&out), 0);
		CHECK_STR(text.data, cases[i].want);
	}
}

/* Of a path the end tells most, of a command its program. */
static void test_cut_paths(void)
{
	static const char *const texts[][2] = {
		{ "/usr/lib/python3/dist-packages/", "…/dist-packages/" },
		{ "/usr/bin/python3 -c 'import json'", "/usr/bin…t json'" },
		{ "/usr/lib/", "/usr/lib/" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 }, want = { 0 };
		CLEANUP(emit_fini) struct emit out;

		emit_begin(&out, &(struct emit_opts){ .width = 16 }, &text);
		emit_columns(&out);
		emit_text(&out, "module", "");
		emit_row(&out);
		emit_text(&out, "module", texts[i][0]);
		CHECK_INT(emit_end(&out), 0);
		buf_printf(&want, "module\n%s\n", texts[i][1]);
		CHECK_STR(text.data, want.data);
	}
}

static void test_colour(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(emit_fini) struct emit out;

	emit_begin(&out, &(struct emit_opts){ .has_color = true }, &text);
	emit_columns(&out);
	emit_percent(&out, "x_percent", 0, 1);
	emit_text(&out, "module", "");
	for (int64_t part = 10; part <= 1000; part *= 10) {
		emit_row(&out);
		emit_percent(&out, "x_percent", part, 10000);
		emit_color(&out, TABLE_FAINT);
		emit_text(&out, "module", "m");
	}
	CHECK_INT(emit_end(&out), 0);
	CHECK_STR(text.data, "\033[1m   x %  module\033[0m\n"
			     " 0.10%  \033[2mm\033[0m\n"
			     " \033[32m1.00%\033[0m  \033[2mm\033[0m\n"
			     "\033[31m10.00%\033[0m  \033[2mm\033[0m\n");
}

int main(void)
{
	TAP_CASE(test_formats);
	TAP_CASE(test_no_rows);
	TAP_CASE(test_width);
	TAP_CASE(test_strict_width);
	TAP_CASE(test_cut_paths);
	TAP_CASE(test_colour);
	return tap_done();
}
