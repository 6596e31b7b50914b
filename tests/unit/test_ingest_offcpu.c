/* SPDX-License-Identifier: MIT */
#include "perf/ingest.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

#define SLEEP_AT UINT64_C(0xffffffff81000100) /* in the kernel's code that waits for devices */
#define OTHER_AT UINT64_C(0xffffffff81000900)

struct bench {
	struct profile *profile;
	struct ingest *ingest;
};

static struct bench bench_with(bool is_summed, const struct interp_source *interp)
{
	static const struct ingest_event events[] = { { "cpu", "nanoseconds", 1000 } };
	struct bench b = { .profile = profile_new() };
	struct ingest_opts opts = {
		.dsos = { .profile = b.profile,
			  .fd_limit = 10,
			  .kernel_start = 0xffffffff81000000 },
		.waits = { .is_on = true,
			   .is_summed = is_summed,
			   .own_pid = 99,
			   .running = 1,
			   .has_switch_fields = true,
			   .state_at = 8,
			   .pid_at = 4,
			   .has_wake_fields = true,
			   .woken_at = 4,
			   .sleeps = { { SLEEP_AT - 16, SLEEP_AT + 16 } },
			   .sleep_count = 1 },
		.interp = interp,
		.has_times = is_summed,
	};

	b.ingest = ingest_new(&opts, events, 1);
	return b;
}

static struct bench bench_new(void)
{
	return bench_with(false, NULL);
}

static void feed(struct bench *b, const struct record *r, size_t event)
{
	CHECK_INT(ingest_record(b->ingest, r, event), 0);
}

static void sample(struct bench *b, uint64_t time, uint32_t tid, size_t event, int64_t state,
		   uint64_t at)
{
	unsigned char raw[16] = { 0 };
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_KERNEL,
			    .pid = tid,
			    .tid = tid,
			    .time = time };

	memcpy(raw + 4, &tid, sizeof tid);
	memcpy(raw + 8, &state, sizeof state);
	r.sample.raw = (struct record_bytes){ raw, sizeof raw };
	r.sample.chain = (struct record_words){ (const unsigned char *)&at, 1 };
	feed(b, &r, event);
}

static void leave(struct bench *b, uint64_t time, uint32_t tid, int64_t state, uint64_t at)
{
	sample(b, time, tid, INGEST_LEAVE, state, at);
}

static void turn(struct bench *b, uint64_t time, uint32_t tid, uint16_t misc)
{
	struct record r = {
		.type = PERF_RECORD_SWITCH, .misc = misc, .pid = tid, .tid = tid, .time = time
	};

	feed(b, &r, 0);
}

static void task(struct bench *b, uint32_t type, uint64_t time, uint32_t tid)
{
	struct record r = { .type = type, .time = time, .task = { tid, 1, tid, 1, time } };

	feed(b, &r, 0);
}

static const char *label_of(const struct profile *p, size_t i, const char *key)
{
	size_t count;
	const struct label *l = profile_get_labels(p, profile_get_sample(p, i).labels, &count);

	for (size_t j = 0; j < count; j++)
		if (strcmp(profile_text(p, l[j].key), key) == 0)
			return profile_text(p, l[j].str);
	return "";
}

/* All that was waited, as "STATE LEAF NANOSECONDS (WAIT)" in the order of first adding. */
static const char *told(struct bench *b, struct buf *out)
{
	const struct profile *p = b->profile;

	CHECK_INT(ingest_finish(b->ingest), 0);
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		struct location l = profile_get_location(p, profile_get_node(p, s.node).location);

		if (s.values[2] == 0)
			continue;
		buf_printf(out, "%s%s ", out->len ? "; " : "", label_of(p, i, "state"));
		if (l.line_count)
			buf_put_str(out,
				    profile_text(
					    p, profile_get_function(p, l.lines[0].function)->name));
		else
			buf_printf(out, "%llx", (unsigned long long)(l.address & 0xfff));
		buf_printf(out, " %lld", (long long)s.values[2]);
		if (*label_of(p, i, "wait"))
			buf_printf(out, " (%s)", label_of(p, i, "wait"));
	}
	return out->data ? out->data : "";
}

static void bench_free(struct bench *b)
{
	CHECK_INT(profile_error(b->profile), 0);
	ingest_free(b->ingest);
	profile_free(b->profile);
}

static void test_states(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new();

	leave(&b, 100, 5, 1, OTHER_AT);
	turn(&b, 101, 5, PERF_RECORD_MISC_SWITCH_OUT);
	turn(&b, 110, 5, 0);
	leave(&b, 200, 5, 2, OTHER_AT);
	turn(&b, 220, 5, 0);
	leave(&b, 300, 5, 2, SLEEP_AT);
	turn(&b, 330, 5, 0);
	leave(&b, 400, 5, 0x100, OTHER_AT);
	turn(&b, 440, 5, 0);
	leave(&b, 500, 5, 1, OTHER_AT);
	sample(&b, 530, 5, INGEST_WAKE, 0, 0);
	turn(&b, 550, 5, 0);
	CHECK_STR(told(&b, &got), "sleeping 900 40; blocked 900 20; iowait 100 30; "
				  "preempted 900 40; runnable 900 20");
	CHECK_INT(ingest_counts(b.ingest)->waits.waits, 5);
	CHECK_INT(ingest_counts(b.ingest)->waits.lost, 0);
	CHECK_INT(profile_default_type(b.profile), 1);
	bench_free(&b);
}

/* The idle task and the recorder itself. */
static void test_not_counted(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new();

	leave(&b, 100, 0, 1, OTHER_AT);
	turn(&b, 110, 0, 0);
	leave(&b, 100, 99, 1, OTHER_AT);
	turn(&b, 110, 99, 0);
	CHECK_STR(told(&b, &got), "");
	bench_free(&b);
}

static void test_lost(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new();

	turn(&b, 100, 5, PERF_RECORD_MISC_SWITCH_OUT); /* its sample is lost */
	turn(&b, 110, 5, 0);
	turn(&b, 130, 5, 0); /* it had left */
	leave(&b, 200, 5, 1, OTHER_AT);
	sample(&b, 250, 5, 0, 0, OTHER_AT); /* it runs: it was back */
	leave(&b, 300, 5, 2, OTHER_AT);
	leave(&b, 400, 5, 1, OTHER_AT);
	turn(&b, 410, 5, 0);
	CHECK_STR(told(&b, &got), "unknown [lost stack] 30; sleeping 900 60; blocked 900 100");
	CHECK_INT(ingest_counts(b.ingest)->waits.lost, 3);
	bench_free(&b);
}

static void test_lives(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new();

	ingest_begin_waits(b.ingest, 50);
	turn(&b, 80, 5, 0); /* since before */
	task(&b, PERF_RECORD_FORK, 100, 6);
	turn(&b, 120, 6, 0);
	leave(&b, 200, 6, 1, OTHER_AT);
	task(&b, PERF_RECORD_EXIT, 210, 6); /* its return is lost */
	leave(&b, 300, 5, 2, OTHER_AT);
	ingest_end_waits(b.ingest, 400);
	CHECK_STR(told(&b, &got), "unknown [waiting since before] 30 (began before); "
				  "runnable [new thread] 20; sleeping 900 10; "
				  "blocked 900 100 (unfinished)");
	CHECK_INT(ingest_counts(b.ingest)->waits.before, 1);
	CHECK_INT(ingest_counts(b.ingest)->waits.unfinished, 1);
	bench_free(&b);
}

/* Threads are numbered otherwise in the kernel's data: nobody is told to be awake. */
static void test_foreign_numbers(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new();
	struct record r = { .type = PERF_RECORD_SAMPLE, .pid = 5, .tid = 5, .time = 100 };
	static const unsigned char raw[16] = { 0, 0, 0, 0, 7, 0, 0, 0, 1 };

	r.sample.raw = (struct record_bytes){ raw, sizeof raw };
	feed(&b, &r, INGEST_LEAVE);
	sample(&b, 110, 5, INGEST_WAKE, 0, 0);
	turn(&b, 150, 5, 0);
	CHECK_STR(told(&b, &got), "sleeping [no stack] 50");
	bench_free(&b);
}

static void sum(struct bench *b, uint64_t key, uint32_t tid, enum offcpu_state state,
		uint64_t waited_ns, uint64_t runnable_ns)
{
	const struct offcpu_wait times = { .before = { .state = (uint8_t)state },
					   .waited_ns = waited_ns,
					   .runnable_ns = runnable_ns };

	CHECK_INT(ingest_wait_sum(b->ingest, key, tid, tid, &times, 2), 0);
}

/* When waits of a key were. */
static void wait_time(struct bench *b, uint64_t end_ms, uint64_t waited_ms, uint64_t runnable_ms,
		      bool is_unfinished)
{
	const struct offcpu_wait times = { .before = { .state = OFFCPU_SLEEPING },
					   .waited_ns = waited_ms * 1000000,
					   .runnable_ns = runnable_ms * 1000000,
					   .is_unfinished = is_unfinished };

	CHECK_INT(ingest_wait_time(b->ingest, 77, 5, &times, end_ms * 1000000), 0);
}

/* The times are of the samples that the sums make, whatever comes first. */
static void test_times_of_sums(void)
{
	struct bench b = bench_with(true, NULL);
	const struct offcpu_wait rest = { .before = { .state = OFFCPU_SLEEPING },
					  .waited_ns = 8000000,
					  .is_unfinished = true };
	uint64_t address = OTHER_AT;
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_KERNEL,
			    .pid = 5,
			    .tid = 5,
			    .time = 100 };
	const struct sample_times *t;
	int64_t in_time = 0;

	wait_time(&b, 1000, 30, 0, false);
	r.sample.chain = (struct record_words){ (const unsigned char *)&address, 1 };
	CHECK_INT(ingest_wait_stack(b.ingest, &r, 77, OFFCPU_EACH), 0);
	wait_time(&b, 1050, 3, 2, false);
	wait_time(&b, 1100, 8, 0, true);
	sum(&b, 77, 5, OFFCPU_SLEEPING, 33000000, 2000000);
	CHECK_INT(ingest_wait_sum(b.ingest, 77, 5, 5, &rest, 1), 0);
	CHECK_INT(ingest_finish(b.ingest), 0);
	t = profile_get_times(b.profile);
	CHECK_INT(t->entries.count, 4);
	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);

		CHECK(profile_find_sample(b.profile, v->node, v->labels) != MAP_NONE);
		CHECK(t->start_ns + v->bucket * t->bucket_ns >= 1000000000);
		in_time += v->value;
	}
	CHECK_INT(in_time, 43000000);
	bench_free(&b);
}

/* Times that were summed by key; of the records of switches nothing is taken. */
static void test_sums(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_with(true, NULL);
	const struct offcpu_wait rest = { .before = { .state = OFFCPU_SLEEPING },
					  .waited_ns = 8,
					  .is_unfinished = true };
	uint64_t at = OTHER_AT, elsewhere = SLEEP_AT;
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_KERNEL,
			    .pid = 5,
			    .tid = 5,
			    .time = 100 };

	r.sample.chain = (struct record_words){ (const unsigned char *)&at, 1 };
	CHECK_INT(ingest_wait_stack(b.ingest, &r, 77, OFFCPU_EACH), 0);
	r.sample.chain.bytes = (const unsigned char *)&elsewhere; /* told before: not asked for */
	CHECK_INT(ingest_wait_stack(b.ingest, &r, 77, OFFCPU_EACH), 0);
	r.sample.chain = (struct record_words){ 0 };
	CHECK_INT(ingest_wait_stack(b.ingest, &r, 78, OFFCPU_NEW), 0);
	task(&b, PERF_RECORD_FORK, 100, 6);
	turn(&b, 120, 6, 0);
	sample(&b, 130, 6, 0, 0, OTHER_AT);
	sum(&b, 77, 5, OFFCPU_SLEEPING, 30, 10);
	sum(&b, 78, 5, OFFCPU_RUNNABLE, 7, 0);
	sum(&b, 77, 5, OFFCPU_SLEEPING, 3, 1);
	sum(&b, 79, 6, OFFCPU_BLOCKED, 5, 0);
	CHECK_INT(ingest_wait_sum(b.ingest, 77, 5, 5, &rest, 1), 0);
	ingest_end_waits(b.ingest, 400);
	CHECK_STR(told(&b, &got), "sleeping 900 33; runnable 900 11; "
				  "sleeping 900 8 (unfinished); runnable [new thread] 7; "
				  "blocked [lost stack] 5");
	CHECK_INT(ingest_counts(b.ingest)->waits.waits, 9);
	CHECK_INT(ingest_counts(b.ingest)->waits.lost, 2);
	bench_free(&b);
}

static void ignore_map(void *context, const struct interp_mapping *m)
{
	(void)context;
	(void)m;
}

/* A thread that waits for the lock, in a function; its location is the context. */
static bool frames_of(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
		      struct interp_stack *ret)
{
	static struct interp_frame frame = { .is_entry = true };

	(void)pid;
	(void)tid;
	frame.location = *(const uint32_t *)context;
	*ret = (struct interp_stack){ &frame, 1, INTERP_LOCK_AWAITED };
	return time_ns == 100;
}

/* The stack of a wait has an interpreter's frames, and what its thread has of the lock. */
static void test_interp(void)
{
	uint32_t location;
	const struct interp_source source = { .context = &location,
					      .version = 2,
					      .has_locks = true,
					      .map = ignore_map,
					      .frames = frames_of };
	struct bench b = bench_with(true, &source);
	uint64_t at = OTHER_AT;
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_KERNEL,
			    .pid = 5,
			    .tid = 5,
			    .time = 100 };
	struct stack_node leaf;

	location = profile_name_location(b.profile, "waiting", 7);
	r.sample.chain = (struct record_words){ (const unsigned char *)&at, 1 };
	CHECK_INT(ingest_wait_stack(b.ingest, &r, 77, OFFCPU_EACH), 0);
	sum(&b, 77, 5, OFFCPU_SLEEPING, 30, 0);
	ingest_end_waits(b.ingest, 400);
	CHECK_INT(ingest_finish(b.ingest), 0);
	if (CHECK_INT(profile_sample_count(b.profile), 1)) {
		leaf = profile_get_node(b.profile, profile_get_sample(b.profile, 0).node);
		CHECK_INT(profile_get_node(b.profile, leaf.parent).location, location);
		CHECK_STR(label_of(b.profile, 0, "gil"), "waits");
		CHECK_STR(label_of(b.profile, 0, "state"), "sleeping");
	}
	CHECK_INT(ingest_counts(b.ingest)->interp.merged, 0); /* it is no sample */
	bench_free(&b);
}

int main(void)
{
	TAP_CASE(test_states);
	TAP_CASE(test_not_counted);
	TAP_CASE(test_lost);
	TAP_CASE(test_lives);
	TAP_CASE(test_foreign_numbers);
	TAP_CASE(test_sums);
	TAP_CASE(test_times_of_sums);
	TAP_CASE(test_interp);
	return tap_done();
}
