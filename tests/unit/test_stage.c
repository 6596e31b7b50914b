/* SPDX-License-Identifier: MIT */
/* stage: begins, ends, labels, errors, limits, of the library as programs use it. */
#include "auger/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stage_json.h"
#include "tap.h"

static struct auger_profiler *new_profiler(enum auger_level level)
{
	struct auger_profiler *p = auger_profiler_new(AUGER_OPTS(.level = level, .out = ""));

	CHECK(p != NULL);
	return p;
}

static void test_nesting(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);

	for (int i = 0; i < 3; i++) {
		AUGER_STAGE(p, "outer");
		for (int k = 0; k < 2; k++) {
			AUGER_STAGE(p, "inner");
		}
	}
	{
		AUGER_STAGE(p, "inner");
	}
	CHECK_INT(stage_number(p, "outer", "calls"), 3);
	CHECK_INT(stage_number(p, "outer.inner", "calls"), 6);
	CHECK_INT(stage_number(p, "outer.inner", "depth"), 1);
	CHECK_INT(stage_number(p, "inner", "calls"), 1);
	CHECK_INT(stage_number(p, NULL, "errors"), 0);
	CHECK_INT(stage_number(p, "outer", "threads"), 1);
	auger_profiler_close(p);
}

static void test_times(void)
{
	struct auger_profiler *p = new_profiler(AUGER_FULL);

	{
		AUGER_STAGE(p, "outer");
		usleep(20000);
		{
			AUGER_STAGE(p, "inner");
			usleep(30000);
		}
	}
	CHECK(stage_number(p, "outer", "wall_s") >= 0.050);
	CHECK(stage_number(p, "outer.inner", "wall_s") >= 0.030);
	CHECK(stage_number(p, "outer", "self_wall_s") >= 0.020);
	CHECK(stage_number(p, "outer", "self_wall_s") <=
	      stage_number(p, "outer", "wall_s") - 0.030);
	CHECK(stage_number(p, "outer", "wait_s") >= 0.040);
	CHECK(stage_number(p, "outer", "cpu_s") < 0.020);
	CHECK(stage_number(p, "outer", "ctx_switches") >= 2);
	CHECK(stage_number(p, NULL, "total_wall_s") >= 0.050);
	auger_profiler_close(p);
}

/* Null is off, everywhere. */
static void test_null(void)
{
	struct auger_name name = AUGER_NAME("x");
	struct auger_context *c = auger_context_new(NULL, 0);
	size_t len = 1;

	CHECK(auger_profiler_new(AUGER_OPTS(.level = AUGER_OFF)) == NULL);
	CHECK_INT(errno, 0);
	CHECK(c == NULL);
	auger_stage_end(NULL, auger_stage_begin(NULL, &name));
	auger_stage_end_name(NULL, "x", 1);
	CHECK_INT(auger_stage_begin_name(NULL, "x", 1), 0);
	CHECK_INT(auger_context_begin(c, &name), 0);
	auger_context_end(c, 1);
	auger_context_free(c);
	auger_thread_attach(NULL, auger_stage_current(NULL));
	auger_profiler_set(NULL, "key", "value");
	auger_profiler_reset(NULL);
	CHECK(auger_profiler_report(NULL, &len) == NULL);
	CHECK_INT(auger_profiler_write(NULL, "/nowhere/x"), 0);
	CHECK_INT(auger_profiler_write_fd(NULL, -1), 0);
	CHECK_INT(auger_profiler_source(NULL, NULL), 0);
	CHECK_INT(auger_profiler_level(NULL), AUGER_OFF);
	auger_profiler_close(NULL);
}

static void test_wrong_ends(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);
	auger_token outer = auger_stage_begin_name(p, "outer", 5);
	auger_token inner = auger_stage_begin_name(p, "inner", 5);

	auger_stage_end(p, outer); /* with inner still open */
	CHECK_INT(stage_number(p, "outer.inner", "errors"), 1);
	CHECK_INT(stage_number(p, "outer.inner", "calls"), 1);
	CHECK_INT(stage_number(p, "outer", "errors"), 0);
	auger_stage_end(p, inner);
	auger_stage_end(p, outer);
	auger_stage_end(p, UINT64_MAX);
	auger_stage_end_name(p, "never", 5);
	CHECK_INT(stage_number(p, NULL, "stray_ends"), 4);
	CHECK_INT(stage_number(p, NULL, "errors"), 5);
	CHECK_INT(stage_number(p, "outer", "calls"), 1);
	auger_profiler_close(p);
}

static void test_by_name(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);

	auger_stage_begin_name(p, "a", 1);
	auger_stage_begin_name(p, "b", 1);
	auger_stage_begin_name(p, "c", 1);
	auger_stage_end_name(p, "c", 1);
	auger_stage_end_name(p, "a", 1);
	CHECK_INT(stage_number(p, "a.b.c", "errors"), 0);
	CHECK_INT(stage_number(p, "a.b", "errors"), 1);
	CHECK_INT(stage_number(p, "a", "errors"), 0);
	auger_profiler_close(p);
}

static jmp_buf back;
static volatile bool jumps = true; /* the compiler must not know that nothing returns */

static __attribute__((noinline)) void leaves(struct auger_profiler *p, int depth)
{
	AUGER_STAGE(p, "left");
	if (depth > 0)
		leaves(p, depth - 1);
	else if (jumps)
		longjmp(back, 1);
}

/* A scope that was jumped over ends at the next scope outside of it. */
static void test_longjmp(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);

	if (setjmp(back) == 0)
		leaves(p, 2);
	{
		AUGER_STAGE(p, "after");
	}
	CHECK_INT(stage_number(p, "left", "errors"), 1);
	CHECK_INT(stage_number(p, "left.left.left", "errors"), 1);
	CHECK_INT(stage_number(p, "after", "calls"), 1);
	CHECK_INT(stage_number(p, "after", "errors"), 0);
	auger_profiler_close(p);
}

static void test_open(void)
{
	struct auger_profiler *p = new_profiler(AUGER_FULL);
	auger_token outer = auger_stage_begin_name(p, "outer", 5);
	auger_token inner = auger_stage_begin_name(p, "inner", 5);

	usleep(10000);
	CHECK_INT(stage_number(p, "outer", "open"), 1);
	CHECK_INT(stage_number(p, "outer", "calls"), 1);
	CHECK(stage_number(p, "outer.inner", "wall_s") >= 0.010);
	CHECK(stage_number(p, "outer", "self_wall_s") < 0.005);
	auger_stage_end(p, inner);
	auger_stage_end(p, outer);
	CHECK_INT(stage_number(p, "outer", "open"), 0);
	CHECK_INT(stage_number(p, "outer", "calls"), 1);
	auger_profiler_close(p);
}

static void test_reset(void)
{
	struct auger_profiler *p = new_profiler(AUGER_FULL);
	auger_token outer = auger_stage_begin_name(p, "outer", 5);

	{
		AUGER_STAGE(p, "inner");
		usleep(20000);
	}
	auger_profiler_reset(p);
	CHECK(isnan(stage_number(p, "outer.inner", "calls")));
	CHECK(stage_number(p, NULL, "total_wall_s") < 0.015);
	auger_stage_end(p, outer);
	CHECK_INT(stage_number(p, "outer", "calls"), 1);
	CHECK(stage_number(p, "outer", "wall_s") < 0.015);
	CHECK_INT(stage_number(p, NULL, "errors"), 0);
	auger_profiler_close(p);
}

static void test_contexts(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);
	struct auger_name work = AUGER_NAME("work"), step = AUGER_NAME("step");
	auger_token outer = auger_stage_begin_name(p, "outer", 5);
	struct auger_context *a = auger_context_new(p, auger_stage_current(p));
	struct auger_context *b = auger_context_new(p, 0);
	auger_token in_a = auger_context_begin(a, &work);
	auger_token in_b = auger_context_begin(b, &work);
	auger_token more_a = auger_context_begin(a, &step);

	auger_context_end(b, in_b);
	auger_context_end(a, more_a);
	auger_context_end(a, in_a);
	auger_context_end(b, in_a); /* not of b */
	auger_context_begin(b, &step);
	auger_context_free(a);
	auger_context_free(b);
	auger_stage_end(p, outer);
	CHECK_INT(stage_number(p, "outer.work", "calls"), 1);
	CHECK_INT(stage_number(p, "outer.work.step", "calls"), 1);
	CHECK_INT(stage_number(p, "work", "calls"), 1);
	CHECK_INT(stage_number(p, "step", "errors"), 1);
	CHECK_INT(stage_number(p, "outer", "errors"), 0);
	CHECK_INT(stage_number(p, NULL, "stray_ends"), 1);
	auger_profiler_close(p);
}

/* A task's stages may end in any order: later ones go on, and self times still add up to the whole.
 */
static void test_context_order(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);
	struct auger_context *c = auger_context_new(p, 0);
	struct auger_name top = AUGER_NAME("top"), in = AUGER_NAME("in"), on = AUGER_NAME("on");
	auger_token in_top = auger_context_begin(c, &top);
	auger_token in_in = auger_context_begin(c, &in);
	auger_token in_on = auger_context_begin(c, &on);
	double wall, self;

	usleep(2000);
	auger_context_end(c, in_in);
	auger_context_end(c, in_in); /* ended */
	usleep(2000);
	auger_context_end(c, in_on);
	auger_context_end(c, in_top);
	CHECK_INT(auger_context_current(c), 0);
	wall = stage_number(p, "top", "wall_s");
	self = stage_number(p, "top", "self_wall_s") + stage_number(p, "top.in", "self_wall_s") +
	       stage_number(p, "top.in.on", "self_wall_s");
	CHECK(self > wall - 1e-6 && self < wall + 1e-6);
	CHECK(stage_number(p, "top.in.on", "wall_s") >= 0.004);
	CHECK(stage_number(p, "top", "self_wall_s") <= wall - 0.004);
	CHECK(stage_number(p, "top.in", "self_wall_s") <=
	      stage_number(p, "top.in", "wall_s") - 0.002);
	CHECK_INT(stage_number(p, "top.in", "errors"), 0);
	CHECK_INT(stage_number(p, "top.in.on", "errors"), 0);
	CHECK_INT(stage_number(p, NULL, "stray_ends"), 1);
	auger_context_free(c);
	auger_profiler_close(p);
}

static int64_t pool_live, pool_peak;

static int read_pool(void *self, int64_t *ret_live, int64_t *ret_peak)
{
	(void)self;
	*ret_live = pool_live;
	*ret_peak = pool_peak;
	pool_peak = pool_live;
	return 0;
}

static void pool_use(int64_t bytes)
{
	pool_live += bytes;
	if (pool_live > pool_peak)
		pool_peak = pool_live;
}

/* The windows of outer stages contain those inside. */
static void test_source(void)
{
	struct auger_profiler *p = new_profiler(AUGER_TIME);
	struct auger_source source = { .name = "py", .detail = "test", .read = read_pool };

	CHECK_INT(
		auger_profiler_source(p, &(struct auger_source){ .name = "No", .read = read_pool }),
		-EINVAL);
	CHECK_INT(auger_profiler_source(p, &source), 0);
	{
		AUGER_STAGE(p, "parent");
		pool_use(10 << 20);
		pool_use(-(10 << 20));
		{
			AUGER_STAGE(p, "child");
			pool_use(1 << 20);
			pool_use(-(1 << 20));
		}
		pool_use(3 << 20);
		{
			AUGER_STAGE(p, "freer");
			pool_use(-(3 << 20));
		}
	}
	CHECK_INT(stage_number(p, "parent", "py_kb_peak_max"), 10240);
	CHECK_INT(stage_number(p, "parent", "py_kb_delta"), 0);
	CHECK_INT(stage_number(p, "parent.child", "py_kb_peak_max"), 1024);
	CHECK_INT(stage_number(p, "parent.freer", "py_kb_peak_max"), 3072);
	CHECK_INT(stage_number(p, "parent.freer", "py_kb_delta"), -3072);
	auger_profiler_close(p);
}

static void touch(size_t mib)
{
	size_t size = mib << 20;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(pages, 1, size);
	munmap(pages, size);
}

/* An eighth of 64 MiB more: where the kernel has no page of zeros, memory is taken by what the
 * address sanitizer looks at. */
static bool is_peak(struct auger_profiler *p, const char *stage, double want_kb)
{
	double got_kb = stage_number(p, stage, "rss_kb_peak");

	if (got_kb > want_kb - 2048 && got_kb < want_kb + 65536 / 8.0 + 2048)
		return true;
	fprintf(stderr, "# %s: %.0f KiB, want %.0f\n", stage, got_kb, want_kb);
	return false;
}

static bool has_rss_peaks(void)
{
	struct auger_profiler *p =
		auger_profiler_new(AUGER_OPTS(.level = AUGER_FULL, .out = "", .reset_rss_peak = 1));
	double base = stage_number(p, NULL, "rss_kb_now");
	bool fits;

	{
		AUGER_STAGE(p, "parent");
		{
			AUGER_STAGE(p, "large");
			touch(64);
		}
		{
			AUGER_STAGE(p, "small");
			touch(16);
		}
		{
			AUGER_STAGE(p, "none");
		}
	}
	fits = is_peak(p, "parent", base + 65536) && is_peak(p, "parent.large", base + 65536) &&
	       is_peak(p, "parent.small", base + 16384) && is_peak(p, "parent.none", base);
	auger_profiler_close(p);
	return fits;
}

/* On request, exact for each stage: the kernel's mark is reset at each boundary. */
static void test_rss_peaks(void)
{
	CHECK(has_rss_peaks());
}

int main(void)
{
	TAP_CASE(test_nesting);
	TAP_CASE(test_times);
	TAP_CASE(test_null);
	TAP_CASE(test_wrong_ends);
	TAP_CASE(test_by_name);
	TAP_CASE(test_longjmp);
	TAP_CASE(test_open);
	TAP_CASE(test_reset);
	TAP_CASE(test_contexts);
	TAP_CASE(test_context_order);
	TAP_CASE(test_source);
	TAP_CASE(test_rss_peaks);
	return tap_done();
}
