/* SPDX-License-Identifier: MIT */
#include "perf/user_stack.h"

#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "perf/ingest.h"
#include "sample/synthesize.h"
#include "tap.h"
#include "unwind/self.h"

#define COPY_MAX 65536

/* A copy of this program's stack, as the kernel would have made it. */
struct copy {
	uint64_t regs[4]; /* bx, bp, sp, ip: in the order of perf's numbers */
	unsigned char *bytes;
	size_t len;
};

#define COPY_REGS (UINT64_C(1) << 1 | 1 << 6 | 1 << 7 | 1 << 8)

/* By the kernel, as the sanitizer thinks that a stack is nobody else's business. */
static void read_stack(unsigned char *to, uint64_t from, size_t len)
{
	union {
		uint64_t number;
		void *bytes;
	} at = { .number = from };
	struct iovec there = { at.bytes, len }, here = { to, len };

	CHECK_INT(process_vm_readv(getpid(), &here, 1, &there, 1, 0), len);
}

static __attribute__((noinline)) void take_copy(struct copy *c)
{
	struct unwind_regs regs = { 0 };
	uint64_t sp, end = unwind_self_stack_end();

	unwind_self_regs(&regs);
	sp = regs.r[unwind_arch_of(user_stack_machine())->sp];
	c->len = end - sp < COPY_MAX ? end - sp : COPY_MAX;
	c->bytes = malloc(c->len);
	read_stack(c->bytes, sp, c->len);
	c->regs[0] = regs.r[UNWIND_X86_BX];
	c->regs[1] = regs.r[UNWIND_X86_BP];
	c->regs[2] = sp;
	c->regs[3] = regs.ip;
}

static __attribute__((noinline)) unsigned go_down(struct copy *c, unsigned depth)
{
	volatile unsigned kept = depth;

	if (depth == 0)
		take_copy(c);
	else
		kept += go_down(c, depth - 1);
	return kept;
}

struct bench {
	struct profile *profile;
	struct ingest *ingest;
};

/* proc: "/proc", as a live recording has it; then another thread makes the tables. NULL: they
 * are made at once. */
static struct bench bench_new(const char *proc)
{
	static const struct ingest_event event = { "cpu", "nanoseconds", 1 };
	struct bench b = { .profile = profile_new() };
	struct ingest_opts o = { .dsos = { .profile = b.profile, .proc = proc, .fd_limit = 100 },
				 .machine = user_stack_machine() };

	struct synthesize_sink to;

	b.ingest = ingest_new(&o, &event, 1);
	to = synthesize_to_ingest(b.ingest);
	CHECK_INT(synthesize_process(&to, "/proc", (uint32_t)getpid()), 0);
	return b;
}

static void bench_free(struct bench *b)
{
	CHECK_INT(profile_error(b->profile), 0);
	ingest_free(b->ingest);
	profile_free(b->profile);
}

static void feed(struct bench *b, const struct copy *c, size_t len)
{
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_USER,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)getpid() };

	r.sample.user.abi = PERF_SAMPLE_REGS_ABI_64;
	r.sample.user.mask = COPY_REGS;
	r.sample.user.values = (struct record_words){ (const unsigned char *)c->regs, 4 };
	r.sample.stack = (struct record_bytes){ c->bytes, len };
	CHECK_INT(ingest_record(b->ingest, &r, 0), 0);
}

/* The number of frames of a sample. */
static size_t depth_of(const struct bench *b, size_t i)
{
	size_t n = 0;

	for (uint32_t node = profile_get_sample(b->profile, i).node; node;
	     node = profile_get_node(b->profile, node).parent)
		n++;
	return n;
}

/* The name of the outermost frame, "" when it is an address. */
static const char *root_of(const struct bench *b, size_t i)
{
	const struct profile *p = b->profile;
	uint32_t node = profile_get_sample(p, i).node;
	struct location l;

	while (profile_get_node(p, node).parent)
		node = profile_get_node(p, node).parent;
	l = profile_get_location(p, profile_get_node(p, node).location);
	return l.line_count ? profile_text(p, profile_get_function(p, l.lines[0].function)->name)
			    : "";
}

static bool is_possible(void)
{
#if defined(__x86_64__)
	return true;
#else
	SKIP("the copy is made for x86-64");
	return false;
#endif
}

static void test_complete(void)
{
	struct bench b;
	struct copy c;

	if (!is_possible())
		return;
	go_down(&c, 100);
	b = bench_new(NULL);
	feed(&b, &c, c.len);
	CHECK_INT(ingest_finish(b.ingest), 0);
	CHECK_INT(ingest_counts(b.ingest)->user.complete, 1);
	CHECK(depth_of(&b, 0) > 100 && depth_of(&b, 0) < 120);
	CHECK_STR(root_of(&b, 0), "");
	free(c.bytes);
	bench_free(&b);
}

/* What a live recording cannot unwind yet waits, and comes to the same in the end. */
static void test_waits(void)
{
	struct bench b;
	struct copy c;

	if (!is_possible())
		return;
	go_down(&c, 50);
	b = bench_new("/proc");
	for (int i = 0; i < 10; i++)
		feed(&b, &c, c.len);
	CHECK_INT(ingest_poll(b.ingest), 0);
	CHECK_INT(ingest_finish(b.ingest), 0);
	CHECK_INT(ingest_counts(b.ingest)->samples, 10);
	CHECK_INT(ingest_counts(b.ingest)->user.complete, 10);
	CHECK_INT(profile_sample_count(b.profile), 1);
	CHECK_INT(profile_get_sample(b.profile, 0).values[0], 10);
	free(c.bytes);
	bench_free(&b);
}

/* Not waited for: what was asked for is given up. */
static void test_given_up(void)
{
	struct bench b;
	struct copy c;

	if (!is_possible())
		return;
	go_down(&c, 5);
	b = bench_new("/proc");
	feed(&b, &c, c.len);
	free(c.bytes);
	bench_free(&b);
}

static void test_cut(void)
{
	struct bench b;
	struct copy c;

	if (!is_possible())
		return;
	go_down(&c, 100);
	b = bench_new(NULL);
	feed(&b, &c, 800); /* nothing is known of the thread yet */
	CHECK_STR(root_of(&b, 0), "[truncated]");
	feed(&b, &c, c.len);
	feed(&b, &c, 1600); /* now its outer frames are */
	CHECK_INT(ingest_finish(b.ingest), 0);
	CHECK_INT(ingest_counts(b.ingest)->user.truncated, 1);
	CHECK_INT(ingest_counts(b.ingest)->user.complete, 1);
	CHECK_INT(ingest_counts(b.ingest)->user.joined, 1);
	CHECK_INT(profile_sample_count(b.profile), 2); /* the same stack */
	free(c.bytes);
	bench_free(&b);
}

static void test_nonsense(void)
{
	struct bench b;
	struct copy c;

	if (!is_possible())
		return;
	go_down(&c, 10);
	b = bench_new(NULL);
	memset(c.bytes, 0xa5, c.len);
	feed(&b, &c, c.len);
	CHECK_STR(root_of(&b, 0), "[broken]");
	c.regs[3] = 0x10; /* no code */
	feed(&b, &c, c.len);
	feed(&b, &c, 0);
	CHECK_INT(ingest_finish(b.ingest), 0);
	CHECK_INT(ingest_counts(b.ingest)->samples, 3);
	CHECK_INT(ingest_counts(b.ingest)->user.complete, 0);
	free(c.bytes);
	bench_free(&b);
}

static void test_counts_in_words(void)
{
	static const struct {
		struct user_stack_counts counts;
		const char *want;
	} rows[] = {
		{ { 0 }, "" },
		{ { .complete = 3 }, "stacks: 100.0 % complete" },
		{ { .complete = 4999, .broken = 1 }, "stacks: 99.9 % complete, 1 broken" },
		{ { .complete = 1, .linked = 1, .truncated = 1, .broken = 1 },
		  "stacks: 50.0 % complete (1 with outer frames by frame pointers), 1 truncated, 1 broken" },
		{ { .complete = 1, .joined = 2, .truncated = 1 },
		  "stacks: 75.0 % complete (2 with outer frames of another moment), 1 truncated" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf got = { 0 };

		buf_put_str(&got, "");
		user_stack_put_counts(&got, &rows[i].counts);
		CHECK_STR(got.data ? got.data : "", rows[i].want);
	}
}

int main(void)
{
	TAP_CASE(test_counts_in_words);
	TAP_CASE(test_complete);
	TAP_CASE(test_waits);
	TAP_CASE(test_given_up);
	TAP_CASE(test_cut);
	TAP_CASE(test_nonsense);
	return tap_done();
}
