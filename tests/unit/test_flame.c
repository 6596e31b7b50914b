/* SPDX-License-Identifier: MIT */
#include "view/flame/flame.h"

#include "stack_text.h"
#include "tap.h"
#include "view/flame/flame_change.h"
#include "view/flame/flame_layout.h"
#include "view/flame/svg.h"

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	return p;
}

/* "name@start+width/ups,gap" of each box. */
static void check_boxes(const struct profile *p, double least_share, const char *want,
			const struct flame_stats *stats)
{
	char got[512] = "";
	struct flame_layout l;
	struct tree t;
	struct err e;

	if (!CHECK_INT(tree_build(&t, p, &(struct tree_opts){ 0 }, &e), 0))
		return;
	if (CHECK_INT(flame_layout_make(&l, &t, least_share, least_share, &e), 0)) {
		for (size_t i = 0; i < l.stats.drawn; i++) {
			const struct flame_box *b = &l.boxes[i];
			size_t len = strlen(got);

			snprintf(got + len, sizeof got - len, "%s%s@%lld+%lld/%u,%lld",
				 i ? " " : "", tree_name(&t, b->node), (long long)b->start,
				 (long long)b->width, b->ups, (long long)b->gap);
		}
		CHECK_STR(got, want);
		CHECK_INT(l.stats.narrow, stats->narrow);
		CHECK_INT(l.stats.deep, stats->deep);
		CHECK_INT(l.stats.negative, stats->negative);
		flame_layout_fini(&l);
	}
	tree_fini(&t);
}

static void test_layout(void)
{
	struct profile *p = new_profile();

	add_stack(p, "main;b;leaf", 5);
	add_stack(p, "main;b", 2);
	add_stack(p, "main;a", 1);
	add_stack(p, "other", 2);
	check_boxes(p, 0,
		    "all@0+10/0,0 main@0+8/0,0 a@0+1/0,0 b@1+7/1,0 leaf@1+5/0,0 other@8+2/3,0",
		    &(struct flame_stats){ 0 });
	check_boxes(p, 0.15, "all@0+10/0,0 main@0+8/0,0 b@1+7/0,1 leaf@1+5/0,0 other@8+2/3,0",
		    &(struct flame_stats){ .narrow = 1 });
	check_boxes(p, 1, "all@0+10/0,0", &(struct flame_stats){ .narrow = 5 });
	profile_free(p);
}

/* Frames that are too narrow to be drawn have boxes for the script. */
static void test_narrow_boxes(void)
{
	struct profile *p = new_profile();
	struct flame_layout l;
	struct tree t;
	struct err e;

	add_stack(p, "main;a;leaf", 1);
	add_stack(p, "main;b", 99);
	if (CHECK_INT(tree_build(&t, p, &(struct tree_opts){ 0 }, &e), 0)) {
		if (CHECK_INT(flame_layout_make(&l, &t, 0.02, 0, &e), 0)) {
			CHECK_INT(l.count, 5);
			CHECK_INT(l.stats.drawn, 3);
			CHECK_INT(l.stats.zoomable, 2);
			CHECK_INT(l.stats.narrow, 0);
			CHECK_INT(l.levels, 3);
			for (size_t i = 0; i < l.count; i++)
				CHECK_INT(l.boxes[i].is_narrow, l.boxes[i].width == 1);
			flame_layout_fini(&l);
		}
		tree_fini(&t);
	}
	profile_free(p);
}

static void test_too_many_are_limited(void)
{
	struct profile *p = new_profile();
	struct flame_layout l;
	struct tree t;
	struct err e;
	char name[32];

	for (unsigned i = 0; i < FLAME_MAX_FRAMES; i++) {
		snprintf(name, sizeof name, "main;f%u", i);
		add_stack(p, name, i < 1000 ? 2 : 1);
	}
	if (CHECK_INT(tree_build(&t, p, &(struct tree_opts){ 0 }, &e), 0)) {
		if (CHECK_INT(flame_layout_make(&l, &t, 0.1, 0, &e), 0)) {
			CHECK_INT(l.count, 1002);
			CHECK_INT(l.stats.zoomable, 1000);
			CHECK_INT(l.stats.narrow, FLAME_MAX_FRAMES - 1000);
			flame_layout_fini(&l);
		}
		tree_fini(&t);
	}
	profile_free(p);
}

static void test_negative_counts_as_nothing(void)
{
	struct profile *p = new_profile();

	add_stack(p, "a;x", 5);
	add_stack(p, "a;y", -3);
	check_boxes(p, 0, "all@0+5/0,0 a@0+5/0,0 x@0+5/0,0",
		    &(struct flame_stats){ .negative = 1 });
	profile_free(p);
}

static void test_large_values_are_halved(void)
{
	struct profile *p = new_profile();

	add_stack(p, "a", INT64_MAX / 2);
	add_stack(p, "b", INT64_MAX / 2);
	check_boxes(p, 0,
		    "all@0+9007199254740991/0,0 a@0+4503599627370495/0,0 "
		    "b@4503599627370495+4503599627370496/1,0",
		    &(struct flame_stats){ 0 });
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p = new_profile();

	check_boxes(p, 0, "all@0+0/0,0", &(struct flame_stats){ 0 });
	profile_free(p);
}

static int write_flame(const struct profile *p, const struct flame_opts *o, struct buf *out,
		       struct flame_stats *stats)
{
	struct err e;
	int rc = flame_write(p, o, out, stats, &e);

	if (rc < 0)
		fprintf(stderr, "%s\n", e.msg);
	return rc;
}

static void test_deep_stack(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = new_profile();
	struct flame_stats stats;
	uint32_t node = 0;
	int64_t one = 1;

	for (int i = 0; i < 30000; i++)
		node = profile_push(p, node, profile_name_location(p, "f", 1));
	profile_add(p, node, 0, &one);
	if (CHECK_INT(write_flame(p, &(struct flame_opts){ .width = 1200 }, &out, &stats), 0)) {
		CHECK_INT(stats.drawn, FLAME_MAX_LEVELS);
		CHECK_INT(stats.deep, 30000 - FLAME_MAX_LEVELS + 1);
		CHECK(strstr(out.data, "left out: 10,001 below level 20000"));
	}
	profile_free(p);
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

static void test_hostile_names(void)
{
	static const char *const names[] = {
		"</title></script><script>alert(1)</script>",
		"]]><script>alert(1)</script>",
		"\" onload=\"alert(1)",
		"&lt;&amp;&#0;",
		"\x01\x1b[31m\x7f",
		"\xff\xfe\xc0\x80",
		"\xef\xbf\xbe\xef\xbf\xbf",
		"\xe2\x80\xaegnp.exe",
		"",
	};
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = new_profile();
	struct flame_stats stats;
	int64_t one = 1;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		profile_add(
			p, profile_push(p, 0, profile_name_location(p, names[i], strlen(names[i]))),
			0, &one);
	profile_add_comment(p, names[0]);
	if (CHECK_INT(write_flame(p, &(struct flame_opts){ .width = 1200, .title = names[1] }, &out,
				  &stats),
		      0)) {
		CHECK_INT(count_of(out.data, "<script"), 2);
		CHECK_INT(count_of(out.data, "]]>"), 1);
		CHECK_INT(count_of(out.data, "<svg"), 1);
		CHECK(!strpbrk(out.data, "\x01\x1b\x7f\xff\xc0"));
		CHECK(!strstr(out.data, "\xef\xbf\xbe") && !strstr(out.data, "\xe2\x80\xae"));
		CHECK(strstr(out.data, "\\x01\\x1b[31m\\x7f"));
	}
	profile_free(p);
}

static void test_visible(void)
{
	static const struct {
		const char *from;
		size_t limit;
		const char *want;
	} rows[] = {
		{ "plain", 10, "plain" },
		{ "plain", 4, "plai.." },
		{ "a\nb", 10, "a\\x0ab" },
		{ "\xef\xbf\xbfz", 10, "\\uffffz" },
		{ "z\xef\xbf\xbd", 10, "z\xef\xbf\xbd" },
		{ "ab\xe2\x82\xac", 4, "ab.." },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		svg_make_visible(&b, rows[i].from, strlen(rows[i].from), rows[i].limit);
		CHECK_STR(b.data, rows[i].want);
	}
}

static void test_fitted(void)
{
	static const struct {
		const char *from;
		size_t columns;
		const char *want;
	} rows[] = {
		{ "abcdef", 6, "abcdef" },
		{ "abcdef", 5, "abc.." },
		{ "a<b>c", 5, "a&lt;b&gt;c" },
		{ "a<b>c", 4, "a&lt;.." },
		{ "\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97", 5, "\xe4\xb8\xad.." },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		svg_put_fitted(&b, rows[i].from, strlen(rows[i].from), rows[i].columns);
		CHECK_STR(b.data, rows[i].want);
	}
}

static void test_pixels(void)
{
	static const struct {
		double px;
		const char *want;
	} rows[] = {
		{ 0, "0" },      { 12, "12" },      { 12.34, "12.3" },
		{ 12.96, "13" }, { -0.26, "-0.3" }, { 0.1, "0.1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		svg_put_px(&b, rows[i].px);
		CHECK_STR(b.data, rows[i].want);
	}
}

/* A frame of each kind, all in the legend. */
static void test_kinds(void)
{
	static const struct {
		const char *path, *legend;
	} rows[] = {
		{ "/usr/bin/work", ">program 25.0 %<" },
		{ "/usr/lib/libc.so.6", ">library 25.0 %<" },
		{ "[kernel.kallsyms]", ">kernel 25.0 %<" },
		{ "/tmp/perf-12.map", ">JIT 25.0 %<" },
	};
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = new_profile();
	struct flame_stats stats;
	int64_t one = 1;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct mapping m = { .path = profile_str(p, rows[i].path) };
		struct location l = { .mapping = profile_add_mapping(p, &m), .address = i + 1 };

		profile_add(p, profile_push(p, 0, profile_add_location(p, &l)), 0, &one);
	}
	if (CHECK_INT(write_flame(p, &(struct flame_opts){ .width = 1200 }, &out, &stats), 0))
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			CHECK(strstr(out.data, rows[i].legend));
	profile_free(p);
}

/* A time has its exact figure and, where there is a type for them, its samples. */
static void test_decimals(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = profile_new();
	struct flame_stats stats;
	int64_t values[] = { 1229, 1230231231 };
	struct flame_opts o = { .width = 1200 };

	profile_add_type(p, "samples", "count");
	o.type = profile_add_type(p, "cpu", "nanoseconds");
	profile_add(p, profile_push(p, 0, profile_name_location(p, "main", 4)), 0, values);
	if (CHECK_INT(write_flame(p, &o, &out, &stats), 0)) {
		CHECK(strstr(out.data, "<title>main\ntotal 1.23 s (1,230,231,231 nanoseconds) "
				       "\xc2\xb7 100.00 % \xc2\xb7 1,229 samples\nself 1.23 s"));
		CHECK(strstr(out.data, ">cpu 1.23 s \xc2\xb7 1,229 samples</text>"));
	}
	profile_free(p);
}

/* Shares of two wholes, or (absolute) values: the color of frame "x". */
static void test_changes(void)
{
	static const struct {
		int64_t before, before_rest, after, after_rest;
		bool is_absolute;
		enum flame_band band;
		unsigned shade;
	} rows[] = {
		{ 100, 900, 100, 900, false, FLAME_BAND_SAME, 0 },
		{ 100, 900, 1000, 9000, false, FLAME_BAND_SAME, 0 },
		{ 100, 900, 1000, 9000, true, FLAME_BAND_MORE, 7 },
		{ 100, 900, 200, 800, false, FLAME_BAND_MORE, 5 },
		{ 200, 800, 100, 900, false, FLAME_BAND_LESS, 5 },
		{ 1, 9, 2, 8, false, FLAME_BAND_SAME, 0 }, /* so few tell nothing */
		{ 10, 0, 14, 0, true, FLAME_BAND_SAME, 0 },
		{ 0, 100, 50, 50, false, FLAME_BAND_MORE, 7 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *before = new_profile(), *after = new_profile();
		struct flame_side drawn = { 0 }, other = { 0 };
		struct flame_comparison c = { 0 };
		struct tree_opts o = { 0 };
		struct err e;

		add_stack(before, "x", rows[i].before);
		add_stack(before, "y", rows[i].before_rest);
		add_stack(after, "x", rows[i].after);
		add_stack(after, "y", rows[i].after_rest);
		if (CHECK(flame_side_make(&drawn, after, &o, &e) == 0 &&
			  flame_side_make(&other, before, &o, &e) == 0 &&
			  flame_comparison_make(&c, &drawn, &other, &e) == 0)) {
			struct flame_change change;
			struct flame_shade shade;

			c.is_absolute = rows[i].is_absolute;
			change = flame_change_of(&c, drawn.tree.nodes[0].first_child);
			shade = flame_change_shade(&change);
			CHECK_INT(shade.band, rows[i].band);
			CHECK_INT(shade.shade, rows[i].shade);
		}
		flame_comparison_fini(&c);
		flame_side_fini(&drawn);
		flame_side_fini(&other);
		profile_free(before);
		profile_free(after);
	}
}

static void test_missing(void)
{
	struct profile *before = new_profile(), *after = new_profile();
	struct flame_side drawn = { 0 }, other = { 0 };
	struct flame_comparison c = { 0 };
	struct tree_opts o = { 0 };
	uint32_t nodes[2];
	size_t count = 0;
	struct err e;

	add_stack(after, "main;kept", 1);
	add_stack(before, "main;kept;small", 1);
	add_stack(before, "main;large;leaf", 5);
	add_stack(before, "main;middle", 3);
	add_stack(before, "main;kept", 1);
	if (CHECK(flame_side_make(&drawn, after, &o, &e) == 0 &&
		  flame_side_make(&other, before, &o, &e) == 0 &&
		  flame_comparison_make(&c, &drawn, &other, &e) == 0 &&
		  flame_missing(&c, nodes, ARRAY_LEN(nodes), &count, &e) == 0)) {
		CHECK_INT(count, 3);
		CHECK_STR(tree_name(&other.tree, nodes[0]), "large");
		CHECK_STR(tree_name(&other.tree, nodes[1]), "middle");
	}
	flame_comparison_fini(&c);
	flame_side_fini(&drawn);
	flame_side_fini(&other);
	profile_free(before);
	profile_free(after);
}

int main(void)
{
	TAP_CASE(test_layout);
	TAP_CASE(test_narrow_boxes);
	TAP_CASE(test_too_many_are_limited);
	TAP_CASE(test_negative_counts_as_nothing);
	TAP_CASE(test_large_values_are_halved);
	TAP_CASE(test_empty);
	TAP_CASE(test_deep_stack);
	TAP_CASE(test_hostile_names);
	TAP_CASE(test_visible);
	TAP_CASE(test_fitted);
	TAP_CASE(test_pixels);
	TAP_CASE(test_kinds);
	TAP_CASE(test_decimals);
	TAP_CASE(test_changes);
	TAP_CASE(test_missing);
	return tap_done();
}
