/* SPDX-License-Identifier: MIT */
#include "view/tables/growth.h"

#include <errno.h>
#include <string.h>

#include "tap.h"
#include "view/tables/scale_table.h"

static uint32_t mapping_of(struct profile *p, const char *path)
{
	const struct mapping m = { .start = 0x1000, .limit = 0x2000, .path = profile_str(p, path) };

	return profile_add_mapping(p, &m);
}

/* "main initprm|asm_exc_page_fault do_anonymous_page": from the root; behind "|" the kernel's,
 * behind ">" the C library's. */
static void add(struct profile *p, const char *stack, int64_t value)
{
	const struct {
		char mark;
		const char *path;
	} kinds[] = { { '|', "[kernel.kallsyms]" }, { '>', "/lib/libc.so.6" } };
	uint32_t node = 0, mapping = mapping_of(p, "/bin/solver");
	const char *at = stack;

	while (*at) {
		size_t len = strcspn(at, " |>");
		struct function f = { .name = profile_str_n(p, at, len) };
		struct line line = { .function = profile_add_function(p, &f) };
		struct location l = { .mapping = mapping,
				      .address = 0x1000 + line.function,
				      .lines = &line,
				      .line_count = 1 };

		node = profile_push(p, node, profile_add_location(p, &l));
		at += len;
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (*at == kinds[i].mark)
				mapping = mapping_of(p, kinds[i].path);
		at += *at != '\0';
	}
	profile_add(p, node, 0, &value);
}

static struct profile *make(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "nanoseconds");
	return p;
}

static void check_row(const struct growth *g, const char *function, const char *what,
		      int64_t before, int64_t after)
{
	for (size_t i = 0; i < g->count; i++) {
		if (strcmp(g->rows[i].function, function) != 0 ||
		    strcmp(g->rows[i].what, what) != 0)
			continue;
		CHECK_INT(g->rows[i].before, before);
		CHECK_INT(g->rows[i].after, after);
		return;
	}
	CHECK_STR("no such row", what);
}

static void collect(struct growth *g, const struct profile *a, const struct profile *b,
		    int64_t divisor)
{
	const struct growth_side before = { a, 1 }, after = { b, divisor };
	struct err e;

	CHECK_INT(growth_collect(g, "cpu", &before, &after, &e), 0);
}

/* What is done under which function of the program. */
static void test_kinds(void)
{
	static const struct {
		const char *stack, *function, *what;
	} rows[] = {
		{ "main initprm", "initprm", "user code" },
		{ "main initprm|asm_exc_page_fault clear_page_erms", "initprm", "page faults" },
		{ "main load>read|entry_SYSCALL_64 do_syscall_64 __x64_sys_read vfs_read", "load",
		  "system call read" },
		{ "main grow>memset|asm_exc_page_fault", "grow", "page faults" },
		{ "main work|asm_sysvec_apic_timer_interrupt", "work", "interrupts" },
		{ "main copy|entry_SYSCALL_64 __x64_sys_read exc_page_fault", "copy",
		  "page faults" },
		{ "main leave|entry_SYSCALL_64", "leave", "system calls" },
		{ "main thread|ret_from_fork", "thread", "other kernel code" },
	};
	struct profile *a = make(), *b = make();
	struct growth g;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		add(a, rows[i].stack, 10 + (int64_t)i);
		add(b, rows[i].stack, 400 + 4 * (int64_t)i);
	}
	collect(&g, a, b, 4);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&g, rows[i].function, rows[i].what, 10 + (int64_t)i, 100 + (int64_t)i);
	CHECK_INT(g.count, ARRAY_LEN(rows));
	CHECK_INT(g.kernel_before, g.before - 10);
	growth_fini(&g);
	profile_free(a);
	profile_free(b);
}

/* What grew most is first, what shrank last; what is new or gone is there. */
static void test_order(void)
{
	struct profile *a = make(), *b = make();
	struct growth g;

	add(a, "main gone", 50);
	add(a, "main same", 10);
	add(b, "main same", 10);
	add(b, "main new", 20);
	add(b, "main initprm|asm_exc_page_fault", 70);
	collect(&g, a, b, 1);
	CHECK_INT(g.count, 4);
	CHECK_STR(g.rows[0].function, "initprm");
	CHECK_STR(g.rows[3].function, "gone");
	CHECK_STR(growth_most(&g, true)->what, "page faults");
	CHECK_STR(growth_most(&g, false)->function, "new");
	growth_fini(&g);
	collect(&g, b, a, 1);
	CHECK(growth_most(&g, true) == NULL);
	growth_fini(&g);
	profile_free(a);
	profile_free(b);
}

static void test_no_type(void)
{
	struct profile *a = make();
	const struct growth_side side = { a, 1 };
	struct growth g;
	struct err e;

	CHECK_INT(growth_collect(&g, "cycles", &side, &side, &e), -EINVAL);
	CHECK_STR(e.msg, "the profile has no 'cycles'");
	profile_free(a);
}

/* Equal stacks of several threads are added up before they are divided. */
static void test_one(void)
{
	struct profile *a = make(), *one;
	struct growth_side side = { a, 4 };
	struct err e;
	int64_t sum = 0;

	for (int64_t tid = 1; tid <= 4; tid++) {
		const struct label label = { .key = profile_str(a, "tid"), .num = tid };
		int64_t value = 1;

		profile_add(a, profile_push(a, 0, profile_name_location(a, "main", 4)),
			    profile_add_labels(a, &label, 1), &value);
	}
	if (CHECK_INT(growth_of_one(&side, &one, &e), 0)) {
		for (size_t i = 0; i < profile_sample_count(one); i++)
			sum += profile_get_sample(one, i).values[0];
		CHECK_INT(sum, 1);
		profile_free(one);
	}
	profile_free(a);
}

static struct scale_step step_of(int64_t copies, int64_t wall, int64_t user, int64_t system,
				 int64_t run_wait, int64_t faults)
{
	struct scale_step s = { .copies = copies };

	for (size_t i = 0; i < SCALE_METRICS; i++)
		s.metrics[i] = SCALE_NONE;
	s.metrics[SCALE_WALL] = wall;
	s.metrics[SCALE_USER] = user;
	s.metrics[SCALE_SYSTEM] = system;
	s.metrics[SCALE_RUN_WAIT] = run_wait;
	s.metrics[SCALE_BLOCKED] = 0;
	s.metrics[SCALE_MINOR] = s.metrics[SCALE_MINOR_LEAST] = s.metrics[SCALE_MINOR_MOST] =
		faults;
	return s;
}

/* The seed's case in words. */
static void test_story(void)
{
	struct profile *a = make(), *b = make();
	const struct scale_step steps[] = {
		step_of(1, 1000000000, 960000000, 40000000, 0, 1000),
		step_of(4, 4000000000, 1000000000, 2400000000, 600000000, 200000),
	};
	struct scale_step failed[] = { steps[0], steps[1] };
	struct scale s = { .rounds = 1, .cpus = 4000, .steps = steps, .step_count = 2 };
	struct scale_view v = { .scale = &s };
	CLEANUP(buf_fini) struct buf words = { 0 };
	struct growth g;

	add(a, "main initprm|asm_exc_page_fault", 40);
	add(b, "main initprm|asm_exc_page_fault", 4 * 970);
	add(b, "main kvdw|asm_exc_page_fault", 4 * 70);
	collect(&g, a, b, 4);
	v.cpu = &g;
	failed[1].metrics[SCALE_FAILED] = 2;
	scale_summary(&v, &words);
	CHECK_STR(
		words.data,
		"4 copies at once take 4.00 times as long as 1: weak-scaling efficiency 25 %, 25 % of "
		"what 4 CPUs can give, 29 % by CPU time\n"
		"of the 3.00 s that a copy takes longer: 20 % waiting for a CPU, 79 % system time, 1 % "
		"user time, 0 % blocked\n"
		"CPU time 1.00 s → 3.40 s a copy, 98 % of what it grew is system time\n"
		"system time 4 % → 71 %: page faults under initprm, 93 % of the growth\n"
		"minor faults 1000 → 200000 a copy, 200.0 times as many\n");
	s.steps = failed;
	buf_clear(&words);
	scale_summary(&v, &words);
	CHECK_STR(words.data,
		  "2 of 4 copies failed: the numbers do not show how the command scales\n");
	growth_fini(&g);
	profile_free(a);
	profile_free(b);
}

int main(void)
{
	TAP_CASE(test_kinds);
	TAP_CASE(test_order);
	TAP_CASE(test_no_type);
	TAP_CASE(test_one);
	TAP_CASE(test_story);
	return tap_done();
}
