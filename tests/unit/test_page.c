/* SPDX-License-Identifier: MIT */
#include "view/page/page.h"

#include "stack_text.h"
#include "tap.h"
#include "view/page/page_columns.h"

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	return p;
}

/* The bytes of a column as decimals, a blank behind each. */
static void check_column(const struct page_block *b, enum page_column column, const char *want)
{
	const struct buf *bytes = &b->columns[column];
	CLEANUP(buf_fini) struct buf got = { 0 };

	buf_put_str(&got, "");
	for (size_t i = 0; i < bytes->len; i++)
		buf_printf(&got, "%d ", (unsigned char)bytes->data[i]);
	CHECK_STR(got.data ? got.data : "", want);
}

/* Fills a block with all of p; the caller frees it. */
static void fill(const struct profile *p, struct page_block *ret, struct page_scales *ret_scales)
{
	struct page_tree t;
	struct err e;
	size_t entries;

	*ret = (struct page_block){ 0 };
	if (!CHECK_INT(page_tree_make(&t, p, 0, &e), 0))
		return;
	CHECK_INT(page_columns_put(ret, p, &t, ret_scales, &entries, &e), 0);
	page_tree_fini(&t);
}

static void test_columns(void)
{
	struct profile *p = new_profile();
	struct page_block b;
	struct page_scales scales;

	add_stack(p, "main;read", 20);
	add_stack(p, "main;work;read", 50);
	add_stack(p, "main;work", 10);
	add_stack(p, "main;work;work;read", -30);
	fill(p, &b, &scales);
	/* all, main, work, its read, work below work, its read, read */
	CHECK_STR(b.columns[PAGE_TEXT].data, "allmainreadwork");
	check_column(&b, PAGE_UP, "0 0 0 1 0 3 ");
	check_column(&b, PAGE_EDGE, "0 0 0 0 1 0 ");
	check_column(&b, PAGE_NEWEDGE, "0 0 0 3 4 ");
	check_column(&b, PAGE_ENTRIES, "0 0 1 1 0 1 1 ");
	check_column(&b, PAGE_SET, "");
	CHECK_INT(scales.of[0], 10);
	check_column(&b, PAGE_VALUES, "2 10 5 4 ");
	page_block_fini(&b);
	profile_free(p);
}

/* Samples without a stack are of "[unknown]"; equal stacks with other labels are other entries. */
static void test_entries(void)
{
	struct profile *p = new_profile();
	const struct label label = { .key = profile_str(p, "tid"), .num = 7 };
	uint32_t set = profile_add_labels(p, &label, 1);
	uint32_t node = profile_push(p, 0, profile_name_location(p, "main", 4));
	const int64_t one = 1, two = 2, many = INT64_MIN;
	struct page_block b;
	struct page_scales scales;

	profile_add(p, node, set, &two);
	profile_add(p, node, 0, &one);
	profile_add(p, 0, 0, &many);
	fill(p, &b, &scales);
	CHECK(b.columns[PAGE_TEXT].data && strstr(b.columns[PAGE_TEXT].data, "[unknown]"));
	check_column(&b, PAGE_ENTRIES, "0 2 1 ");
	check_column(&b, PAGE_SET, "0 1 0 ");
	check_column(&b, PAGE_VALUES, "2 4 255 255 255 255 255 255 255 255 255 1 ");
	page_block_fini(&b);
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p = new_profile();
	struct page_block b;
	struct page_scales scales;

	fill(p, &b, &scales);
	check_column(&b, PAGE_UP, "");
	check_column(&b, PAGE_ENTRIES, "0 ");
	CHECK_INT(scales.of[0], 1);
	page_block_fini(&b);
	profile_free(p);
}

/* Names end neither the data nor an element. */
static void test_names(void)
{
	static const char *const files[] = { "<a>&.folded" };
	struct page_opts o = { .files = files, .file_count = 1, .facts = { .samples = -1 } };
	CLEANUP(buf_fini) struct buf html = { 0 };
	struct profile *p = new_profile();
	struct page_stats stats = { 0 };
	struct err e;

	add_stack(p, "</script><script>x", 1);
	if (CHECK_INT(page_write(p, &o, &html, &stats, &e), 0)) {
		CHECK(strstr(html.data, "<title>&lt;a&gt;&amp;.folded</title>"));
		CHECK(strstr(html.data, "<td>&lt;/script&gt;&lt;script&gt;x</td>"));
		CHECK(!strstr(html.data, "<script>x"));
		CHECK_INT(stats.functions, 1);
		CHECK_INT(stats.nodes, 2);
		CHECK_INT(stats.entries, 1);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_columns);
	TAP_CASE(test_entries);
	TAP_CASE(test_empty);
	TAP_CASE(test_names);
	return tap_done();
}
