/* SPDX-License-Identifier: MIT */
#include "view/tree.h"

#include "stack_text.h"
#include "tap.h"

static struct profile *example(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	add_stack(p, "main;work;leaf", 5);
	add_stack(p, "main;work", 2);
	add_stack(p, "main;io", 1);
	add_stack(p, "main;never", 0);
	return p;
}

/* "name:self/total" of each node in drawing order, children in brackets. */
static void put_tree(const struct tree *t, uint32_t node, char *out, size_t cap)
{
	size_t len = strlen(out);

	snprintf(out + len, cap - len, "%s:%lld/%lld", tree_name(t, node),
		 (long long)t->nodes[node].self, (long long)t->nodes[node].total);
	for (uint32_t c = t->nodes[node].first_child; c; c = t->nodes[c].next_sibling) {
		strcat(out, c == t->nodes[node].first_child ? "(" : " ");
		put_tree(t, c, out, cap);
		if (!t->nodes[c].next_sibling)
			strcat(out, ")");
	}
}

static void check_tree(const struct profile *p, const struct tree_opts *o, const char *want)
{
	char got[512] = "";
	struct tree t;
	struct err e;

	if (!CHECK_INT(tree_build(&t, p, o, &e), 0))
		return;
	put_tree(&t, 0, got, sizeof got);
	CHECK_STR(got, want);
	tree_fini(&t);
}

static void test_totals(void)
{
	struct profile *p = example();

	check_tree(p, &(struct tree_opts){ 0 }, "all:0/8(main:0/8(io:1/1 work:2/7(leaf:5/5)))");
	profile_free(p);
}

static void test_reversed(void)
{
	struct profile *p = example();

	check_tree(p, &(struct tree_opts){ .is_reversed = true },
		   "all:0/8(io:0/1(main:1/1) leaf:0/5(work:0/5(main:5/5)) work:0/2(main:2/2))");
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	check_tree(p, &(struct tree_opts){ 0 }, "all:0/0");
	profile_free(p);
}

static void test_annotations(void)
{
	struct profile *p = profile_new();
	struct tree t;
	struct err e;

	profile_add_type(p, "samples", "count");
	add_stack(p, "read_[k];run_[j];fold_[i];x_[w]", 1);
	if (CHECK_INT(tree_build(&t, p, &(struct tree_opts){ 0 }, &e), 0)) {
		CHECK_STR(tree_name(&t, 1), "read");
		CHECK_INT(tree_frame(&t, 1)->kind, FRAME_KERNEL);
		CHECK_INT(tree_frame(&t, 2)->kind, FRAME_JIT);
		CHECK(tree_frame(&t, 3)->is_inlined);
		CHECK_STR(tree_name(&t, 4), "x_[w]");
		tree_fini(&t);
	}
	profile_free(p);
}

/* What has a source file is no frame of a folded stack: its name is all its own. */
static void test_no_annotations(void)
{
	struct profile *p = profile_new();
	struct function fn = { .name = profile_str(p, "x_[k]"), .file = profile_str(p, "/a/") };
	struct line line = { .function = profile_add_function(p, &fn) };
	struct location l = { .lines = &line, .line_count = 1 };
	int64_t one = 1;
	struct tree t;
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add(p, profile_push(p, 0, profile_add_location(p, &l)), 0, &one);
	if (CHECK_INT(tree_build(&t, p, &(struct tree_opts){ 0 }, &e), 0)) {
		CHECK_STR(tree_name(&t, 1), "x_[k]");
		CHECK_INT(tree_frame(&t, 1)->kind, FRAME_NAME);
		tree_fini(&t);
	}
	profile_free(p);
}

static void test_kinds_and_inlining(void)
{
	static const struct {
		const char *path;
		enum frame_kind kind;
		const char *module;
	} rows[] = {
		{ "/usr/bin/python3.11", FRAME_PROGRAM, "python3.11" },
		{ "/lib/x86_64-linux-gnu/libc.so.6", FRAME_LIBRARY, "libc.so.6" },
		{ "/opt/sound/play", FRAME_PROGRAM, "play" },
		{ "[vdso]", FRAME_LIBRARY, "[vdso]" },
		{ "[kernel.kallsyms]", FRAME_KERNEL, "[kernel.kallsyms]" },
		{ "[ext4]", FRAME_KERNEL, "[ext4]" },
		{ "/tmp/perf-12.map", FRAME_JIT, "[jit]" },
		{ "[anon]", FRAME_JIT, "[anon]" },
	};
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct mapping m = { .path = profile_str(p, rows[i].path), .limit = 1 };
		struct function f = { .name = profile_str(p, "f") };
		struct line lines[] = { { profile_add_function(p, &f), 3 },
					{ profile_add_function(p, &f), 4 } };
		struct location l = { .mapping = profile_add_mapping(p, &m),
				      .address = 16 + i,
				      .lines = lines,
				      .line_count = 2 };

		profile_push(p, 0, profile_add_location(p, &l));
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct frames f;
		struct err e;
		size_t count;
		const uint32_t *ids;

		if (!CHECK_INT(frames_init(&f, p, FRAME_BY_FUNCTION, &e), 0))
			continue;
		ids = frames_of(&f, (uint32_t)i + 1, &count);
		if (CHECK_INT(count, 2)) {
			CHECK_INT(f.list[ids[0]].kind, rows[i].kind);
			CHECK(f.list[ids[0]].is_inlined);
			CHECK(!f.list[ids[1]].is_inlined);
			CHECK_STR(frames_text(&f, f.list[ids[1]].module), rows[i].module);
		}
		frames_fini(&f);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_totals);
	TAP_CASE(test_reversed);
	TAP_CASE(test_empty);
	TAP_CASE(test_annotations);
	TAP_CASE(test_no_annotations);
	TAP_CASE(test_kinds_and_inlining);
	return tap_done();
}
