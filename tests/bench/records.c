/* SPDX-License-Identifier: MIT */
/*
 * records: how fast perf's records become samples of a profile: decoding, address spaces,
 * stacks from call chains, and stacks unwound from copies.
 *
 * Chains are made up; copies are of this program's own stack at many depths, with the
 * addresses of its own code, so that its own tables unwind them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "perf/ingest.h"
#include "sample/synthesize.h"
#include "unwind/self.h"

#include "bench.h"

#define SAMPLES 1000000
#define COPIED_SAMPLES 200000
#define PROCESSES 100
#define CHAIN 24     /* addresses in a chain */
#define CHAINS 20000 /* distinct ones */
#define COPIES 512   /* distinct ones */
#define COPY_BYTES 8192

static const struct record_shape chain_shape = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_CALLCHAIN,
	.sample_id_all = true,
};

static struct record_shape copy_shape = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.sample_id_all = true,
};

/* Records behind each other. */
struct stream {
	struct buf bytes;
	size_t *starts; /* [count] */
	size_t count;
};

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void start_record(struct stream *s, uint32_t pid, uint64_t ip)
{
	s->starts[s->count++] = s->bytes.len;
	buf_put_u32(&s->bytes, PERF_RECORD_SAMPLE);
	buf_put_u32(&s->bytes, PERF_RECORD_MISC_USER); /* and the length, by finish_record() */
	buf_put_u64(&s->bytes, ip);
	buf_put_u32(&s->bytes, pid);
	buf_put_u32(&s->bytes, pid);
	buf_put_u64(&s->bytes, s->count);
	buf_put_u64(&s->bytes, 1001001);
}

static void finish_record(struct stream *s)
{
	size_t start = s->starts[s->count - 1], len = s->bytes.len - start;

	s->bytes.data[start + 6] = (char)(len & 255);
	s->bytes.data[start + 7] = (char)(len >> 8);
}

/* A chain whose outer part it shares with others. */
static void put_chain(struct stream *s, uint32_t pid)
{
	uint64_t path = next_random() % CHAINS;

	start_record(s, pid, 0x400000);
	buf_put_u64(&s->bytes, CHAIN + 1);
	buf_put_u64(&s->bytes, (uint64_t)PERF_CONTEXT_USER);
	for (unsigned i = 0; i < CHAIN; i++)
		buf_put_u64(&s->bytes, 0x400000 + ((path >> (i / 2)) * 2654435761 + i) % 4096 * 16);
	finish_record(s);
}

/* The registers and the stack of whoever calls it. */
static __attribute__((noinline)) void put_copy(struct stream *s, uint64_t stack_end)
{
	struct unwind_regs regs = { 0 };
	uint64_t sp, left;

	unwind_self_regs(&regs);
	sp = regs.r[unwind_arch_of(user_stack_machine())->sp];
	left = stack_end - sp < COPY_BYTES ? stack_end - sp : COPY_BYTES;
	start_record(s, (uint32_t)getpid(), regs.ip);
	buf_put_u64(&s->bytes, PERF_SAMPLE_REGS_ABI_64);
	buf_put_u64(&s->bytes, regs.r[UNWIND_X86_BX]);
	buf_put_u64(&s->bytes, regs.r[UNWIND_X86_BP]);
	buf_put_u64(&s->bytes, sp);
	buf_put_u64(&s->bytes, regs.ip);
	buf_put_u64(&s->bytes, COPY_BYTES);
	buf_put(&s->bytes, (const void *)(uintptr_t)sp, left);
	for (uint64_t i = left; i < COPY_BYTES; i += 8)
		buf_put_u64(&s->bytes, 0);
	buf_put_u64(&s->bytes, left);
	finish_record(s);
}

/* Goes some frames down, on one of two ways at each. */
static __attribute__((noinline)) unsigned go_left(struct stream *s, uint64_t end, unsigned depth);

static __attribute__((noinline)) unsigned go_right(struct stream *s, uint64_t end, unsigned depth)
{
	volatile unsigned kept = depth;

	if (depth == 0)
		put_copy(s, end);
	else
		kept += next_random() % 2 ? go_left(s, end, depth - 1)
					  : go_right(s, end, depth - 1);
	return kept;
}

static __attribute__((noinline)) unsigned go_left(struct stream *s, uint64_t end, unsigned depth)
{
	volatile unsigned kept[4] = { depth };

	if (depth == 0)
		put_copy(s, end);
	else
		kept[1] = next_random() % 2 ? go_left(s, end, depth - 1)
					    : go_right(s, end, depth - 1);
	return kept[0] + kept[1];
}

static int feed(struct ingest *in, const struct record_shape *shape, const struct stream *s,
		size_t samples)
{
	struct record r;
	struct err e;

	for (size_t i = 0; i < samples; i++) {
		const unsigned char *at =
			(const unsigned char *)s->bytes.data + s->starts[i % s->count];

		if (record_decode(&r, shape, at, record_len(at, RECORD_MAX_BYTES), &e) < 0 ||
		    ingest_record(in, &r, 0) < 0)
			return -1;
	}
	return 0;
}

static void tell(const char *what, size_t samples, double frames, int64_t ns)
{
	printf("%s: %.2f million samples a second, %.0f ns a sample of %.1f frames, %.1f ns a "
	       "frame\n",
	       what, (double)samples * 1000 / (double)ns, (double)ns / (double)samples, frames,
	       (double)ns / (double)samples / frames);
	bench_value(what, (double)ns / (double)samples, "ns a sample");
}

static struct ingest *new_ingest(struct profile *p, uint16_t machine)
{
	static const struct ingest_event event = { "cpu", "nanoseconds", 1 };
	struct ingest_opts o = { .dsos = { .profile = p, .fd_limit = 100 }, .machine = machine };

	return ingest_new(&o, &event, 1);
}

static int run_chains(void)
{
	struct stream s = { .starts = calloc(CHAINS, sizeof *s.starts) };
	struct profile *p = profile_new();
	struct ingest *in = new_ingest(p, 0);
	int64_t start;
	int rc = 0;

	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		struct record r = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER };

		r.mmap = (struct record_mmap){ .pid = pid, .tid = pid, .start = 0x400000 };
		r.mmap.len = 0x10000;
		r.mmap.path = (struct record_bytes){ (const unsigned char *)"/nowhere/a", 10 };
		rc |= ingest_record(in, &r, 0);
	}
	for (size_t i = 0; i < CHAINS; i++)
		put_chain(&s, (uint32_t)(next_random() % PROCESSES) + 1);
	start = clock_mono_ns();
	rc |= feed(in, &chain_shape, &s, SAMPLES);
	if (rc == 0)
		tell("chains", SAMPLES, CHAIN, clock_mono_ns() - start);
	ingest_free(in);
	profile_free(p);
	buf_fini(&s.bytes);
	free(s.starts);
	return rc;
}

/* Frames of the average sample. */
static double mean_depth(const struct profile *p)
{
	double frames = 0, samples = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		double n = 0;

		for (uint32_t node = s.node; node; node = profile_get_node(p, node).parent)
			n++;
		frames += n * (double)s.values[0];
		samples += (double)s.values[0];
	}
	return frames / samples;
}

static int run_copies(void)
{
	struct stream s = { .starts = calloc(COPIES, sizeof *s.starts) };
	struct profile *p = profile_new();
	struct ingest *in = new_ingest(p, user_stack_machine());
	uint64_t end = unwind_self_stack_end();
	const struct user_stack_counts *n = &ingest_counts(in)->user;
	int64_t start, ns;
	struct synthesize_sink to = synthesize_to_ingest(in);
	int rc = synthesize_process(&to, "/proc", (uint32_t)getpid());

	copy_shape.regs_user = UINT64_C(1) << 1 | 1 << 6 | 1 << 7 | 1 << 8; /* bx, bp, sp, ip */
	for (size_t i = 0; i < COPIES; i++)
		go_left(&s, end, (unsigned)(next_random() % 50));
	start = clock_mono_ns();
	rc |= feed(in, &copy_shape, &s, COPIED_SAMPLES);
	ns = clock_mono_ns() - start;
	rc |= ingest_finish(in);
	if (rc == 0)
		tell("copies", COPIED_SAMPLES, mean_depth(p), ns);
	if (n->complete < COPIED_SAMPLES)
		printf("copies: only %" PRIu64 " of %d complete\n", n->complete, COPIED_SAMPLES);
	ingest_free(in);
	profile_free(p);
	buf_fini(&s.bytes);
	free(s.starts);
	return rc;
}

int main(void)
{
	int rc = run_chains();

	return rc < 0 || run_copies() < 0;
}
