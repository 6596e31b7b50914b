/* SPDX-License-Identifier: MIT */
#include "format/collapse.h"

#include "format/folded.h"
#include "tap.h"

static void test_names(void)
{
	static const struct {
		const char *name, *want;
		bool is_java;
	} rows[] = {
		{ "main", "main", false },
		{ "f(int, char const*)", "f", false },
		{ "f(int) const", "f", false },
		{ "f(int) [clone .cold]", "f", false },
		{ "f(int) const & [clone .isra.0] [clone .part.1]", "f", false },
		{ "A::operator()(int)", "A::operator()", false },
		{ "A::operator()", "A::operator()", false },
		{ "std::function<void (int)>::operator()(int) const",
		  "std::function<void (int)>::operator()", false },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f", false },
		{ "f((anonymous namespace)::T)", "f", false },
		{ "f()::{lambda(long)#2}::operator()(long) const",
		  "f()::{lambda(long)#2}::operator()", false },
		{ "int* std::copy<int*, long>(int*, long)", "std::copy<int*, long>", false },
		{ "bool operator< <int>(T<int>)", "bool operator< <int>", false },
		{ "regexp/syntax.(*parser).push", "regexp/syntax.(*parser).push", false },
		{ "RegExp:[&<>\"']", "RegExp:[&<>]", false },
		{ "Lorg/mozilla/Box;.<init>(Ljava/lang/Method;)V", "org/mozilla/Box;.<init>",
		  true },
		{ "Ljava/lang/Thread;::run", "java/lang/Thread;::run", true },
		{ "Ljava/lang/Thread;::run", "Ljava/lang/Thread;::run", false },
		{ "Loop", "Loop", true },
		{ "(odd)", "(odd)", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf got = { 0 };

		buf_put_str(&got, "");
		collapse_put_name(rows[i].name, strlen(rows[i].name), rows[i].is_java, &got);
		CHECK_STR(got.data, rows[i].want);
	}
}

static uint32_t add_location(struct profile *p, const char *dso, const char *const *names,
			     uint32_t count)
{
	struct line lines[4] = { 0 };
	struct location l = { .address = 0x10, .lines = lines, .line_count = count };

	l.mapping = profile_add_mapping(
		p, &(struct mapping){ .path = profile_str(p, dso), .start = 1, .limit = 100 });
	for (uint32_t i = 0; i < count; i++)
		lines[i].function = profile_add_function(
			p, &(struct function){ .name = profile_str(p, names[i]) });
	return profile_add_location(p, &l);
}

/* A thread with a frame of each kind. */
static struct profile *make_profile(void)
{
	static const char *const inlined[] = { "inner(int)", "outer(int)" };
	static const char *const jit[] = { "La/B;::c" }, *const kernel[] = { "vfs_read" };
	struct profile *p = profile_new();
	struct label labels[] = {
		{ .key = profile_str(p, "comm"), .str = profile_str(p, "java x") },
		{ .key = profile_str(p, "pid"), .num = 7 },
		{ .key = profile_str(p, "tid"), .num = 8 },
	};
	uint32_t node = 0;

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	node = profile_push(p, node, add_location(p, "/bin/x", inlined, 2));
	node = profile_push(p, node, add_location(p, "/tmp/perf-7.map", jit, 1));
	node = profile_push(p, node, add_location(p, "/lib/libc.so.6", NULL, 0));
	node = profile_push(p, node, add_location(p, "[vdso]", NULL, 0));
	node = profile_push(p, node, add_location(p, "[kernel.kallsyms]", kernel, 1));
	profile_add(p, node, profile_add_labels(p, labels, 3), (int64_t[]){ 1, 100 });
	profile_add(p, node, profile_add_labels(p, labels, 2), (int64_t[]){ 1, 0 });
	return p;
}

static void check_collapsed(const struct collapse_opts *o, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct profile *p = make_profile(), *collapsed = NULL;
	struct err e;

	if (CHECK_INT(profile_collapse(p, o, &collapsed, &e), 0)) {
		CHECK_INT(folded_write(collapsed, &got, &e), 0);
		CHECK_STR(got.data, want);
	}
	profile_free(collapsed);
	profile_free(p);
}

static void test_marks(void)
{
	check_collapsed(&(struct collapse_opts){ .type = 1, .has_pid = true },
			"java_x-7;outer;inner;a/B:::c;[libc.so.6];[vdso];vfs_read 100\n");
	check_collapsed(&(struct collapse_opts){ .type = 0, .has_tid = true, .marks_kernel = true },
			"java_x-7/8;outer;inner;a/B:::c;[libc.so.6];[vdso];vfs_read_[k] 1\n"
			"java_x-7/?;outer;inner;a/B:::c;[libc.so.6];[vdso];vfs_read_[k] 1\n");
	check_collapsed(
		&(struct collapse_opts){
			.type = 1, .marks_jit = true, .marks_kernel = true, .marks_inlined = true },
		"java_x;outer;inner_[i];a/B:::c_[j];[libc.so.6];[vdso];vfs_read_[k] 100\n");
}

static void test_events(void)
{
	struct profile *p = make_profile();

	CHECK_INT(collapse_find_event(p, "samples"), 0);
	CHECK_INT(collapse_find_event(p, "cpu-clock:ppp"), 1);
	CHECK_INT(collapse_find_event(p, "cycles"), -1);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_names);
	TAP_CASE(test_marks);
	TAP_CASE(test_events);
	return tap_done();
}
