/* SPDX-License-Identifier: MIT */
#include "perf/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "tap.h"

#define BASE UINT64_C(0x10000000) /* where the test's own program is said to be mapped */

/* The recording of made-up records, and the profile that it becomes. */
struct bench {
	struct profile *profile;
	struct ingest *ingest;
};

static char self_path[4096];
static struct elf_segment self_text;

static void learn_self(void)
{
	ssize_t n = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
	struct elf_image image;
	struct err e;

	self_path[n > 0 ? n : 0] = '\0';
	if (elf_image_open(&image, self_path, &e) < 0)
		return;
	elf_text_segment(&image, &self_text);
	elf_image_close(&image);
}

static struct bench bench_new(const struct ingest_opts *o)
{
	static const struct ingest_event events[] = { { "cpu", "nanoseconds", 1000 },
						      { "page-faults", "count", 1 } };
	struct bench b = { .profile = profile_new() };
	struct ingest_opts opts = o ? *o : (struct ingest_opts){ 0 };

	opts.dsos.profile = b.profile;
	opts.dsos.fd_limit = 10;
	opts.dsos.kernel_start = UINT64_C(0xffffffff81000000);
	b.ingest = ingest_new(&opts, events, 2);
	return b;
}

static void bench_free(struct bench *b)
{
	CHECK_INT(profile_error(b->profile), 0);
	ingest_free(b->ingest);
	profile_free(b->profile);
}

static void feed(struct bench *b, const struct record *r, size_t event)
{
	CHECK_INT(ingest_record(b->ingest, r, event), 0);
}

static struct record_bytes text(const char *s)
{
	return (struct record_bytes){ (const unsigned char *)s, strlen(s) };
}

static void comm(struct bench *b, uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
	struct record r = { .type = PERF_RECORD_COMM,
			    .misc = is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
			    .comm = { pid, tid, text(name) } };

	feed(b, &r, 0);
}

static void map(struct bench *b, uint32_t pid, uint64_t start, uint64_t offset, const char *path)
{
	struct record r = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER };

	r.mmap = (struct record_mmap){
		.pid = pid, .tid = pid, .start = start, .len = 0x1000000, .offset = offset
	};
	r.mmap.path = text(path);
	feed(b, &r, 0);
}

static void fork_task(struct bench *b, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	struct record r = { .type = PERF_RECORD_FORK, .task = { pid, ppid, tid, ppid, 0 } };

	feed(b, &r, 0);
}

static void sample(struct bench *b, uint32_t pid, uint32_t tid, size_t event, const uint64_t *chain,
		   size_t count)
{
	struct record r = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .pid = pid, .tid = tid
	};

	r.sample.ip = count ? chain[0] : 0;
	r.sample.chain = (struct record_words){ (const unsigned char *)chain, count };
	feed(b, &r, event);
}

/* A sample's stack as text, leaf first: "base name of path+address" or the name. */
static const char *stack_text(const struct profile *p, size_t i, struct buf *out)
{
	struct sample s = profile_get_sample(p, i);

	buf_clear(out);
	for (uint32_t n = s.node; n; n = profile_get_node(p, n).parent) {
		struct location l = profile_get_location(p, profile_get_node(p, n).location);
		const char *path, *slash;

		if (out->len)
			buf_put_str(out, " ");
		if (l.line_count) {
			buf_put_str(out,
				    profile_text(
					    p, profile_get_function(p, l.lines[0].function)->name));
			continue;
		}
		path = profile_text(p, profile_get_mapping(p, l.mapping)->path);
		slash = strrchr(path, '/');
		buf_printf(out, "%s+%llx", slash ? slash + 1 : path, (unsigned long long)l.address);
	}
	return out->data ? out->data : "";
}

static const char *label_text(const struct profile *p, size_t i, const char *key)
{
	size_t count;
	const struct label *l = profile_get_labels(p, profile_get_sample(p, i).labels, &count);

	for (size_t j = 0; j < count; j++)
		if (strcmp(profile_text(p, l[j].key), key) == 0)
			return profile_text(p, l[j].str);
	return NULL;
}

static int64_t label_number(const struct profile *p, size_t i, const char *key)
{
	size_t count;
	const struct label *l = profile_get_labels(p, profile_get_sample(p, i).labels, &count);

	for (size_t j = 0; j < count; j++)
		if (strcmp(profile_text(p, l[j].key), key) == 0)
			return l[j].num;
	return -1;
}

/* Addresses of a mapped file become the file's own, in all processes; return addresses less
 * one; both parts of a chain. */
static void test_chain(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	CLEANUP(buf_fini) struct buf want = { 0 };
	struct bench b = bench_new(NULL);
	uint64_t offset = self_text.offset & ~UINT64_C(4095);
	uint64_t first = BASE + (self_text.offset - offset) + 0x10;
	uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL,
			     0xffffffff81000100,
			     0xffffffff81000201,
			     (uint64_t)PERF_CONTEXT_USER,
			     first,
			     first + 0x21 };
	const char *name = strrchr(self_path, '/') + 1;

	comm(&b, 7, 7, "prog", true);
	map(&b, 7, BASE, offset, self_path);
	map(&b, 8, BASE + 0x5000000, offset, self_path);
	sample(&b, 7, 7, 0, chain, ARRAY_LEN(chain));
	sample(&b, 7, 7, 0, chain, ARRAY_LEN(chain));
	chain[4] += 0x5000000;
	chain[5] += 0x5000000;
	sample(&b, 8, 8, 0, chain, ARRAY_LEN(chain));
	buf_printf(&want,
		   "[kernel.kallsyms]+ffffffff81000100 [kernel.kallsyms]+ffffffff81000200 "
		   "%s+%llx %s+%llx",
		   name, (unsigned long long)self_text.vaddr + 0x10, name,
		   (unsigned long long)self_text.vaddr + 0x30);
	CHECK_INT(profile_sample_count(b.profile), 2);
	CHECK_STR(stack_text(b.profile, 0, &got), want.data);
	CHECK_STR(stack_text(b.profile, 1, &got), want.data);
	CHECK_INT(profile_get_sample(b.profile, 0).node, profile_get_sample(b.profile, 1).node);
	CHECK_INT(profile_get_sample(b.profile, 0).values[0], 2);
	CHECK_INT(profile_get_sample(b.profile, 0).values[1], 2000);
	CHECK_STR(label_text(b.profile, 0, "comm"), "prog");
	CHECK_INT(label_number(b.profile, 0, "pid"), 7);
	CHECK_INT(label_number(b.profile, 0, "cpu"), -1);
	bench_free(&b);
}

/* The program that was executed stands before the libraries where its samples begin. */
static void test_main_program_is_first(void)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, BASE + 0x2000010 };
	struct bench b = bench_new(NULL);

	comm(&b, 7, 7, "prog", true);
	map(&b, 7, BASE, 0, "/no/such/prog");
	map(&b, 7, BASE + 0x2000000, 0, "/no/such/lib.so");
	comm(&b, 8, 8, "other", true);
	map(&b, 8, BASE, 0, "/no/such/other");
	sample(&b, 7, 7, 0, chain, ARRAY_LEN(chain));
	CHECK_INT(profile_mapping_count(b.profile), 3);
	CHECK_STR(profile_text(b.profile, profile_get_mapping(b.profile, 1)->path),
		  "/no/such/prog");
	bench_free(&b);
}

static void test_events(void)
{
	struct bench b = bench_new(NULL);
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000100 };
	struct sample s;

	sample(&b, 1, 1, 1, chain, 2);
	sample(&b, 1, 1, 0, chain, 2);
	CHECK_INT(profile_type_count(b.profile), 3);
	CHECK_INT(profile_default_type(b.profile), 1);
	s = profile_get_sample(b.profile, 0);
	CHECK_INT(s.values[0], 1); /* of the first event */
	CHECK_INT(s.values[1], 1000);
	CHECK_INT(s.values[2], 1);
	CHECK_INT(ingest_counts(b.ingest)->samples, 2);
	bench_free(&b);
}

static void test_processes(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new(NULL);
	const uint64_t at = 0x2010;

	comm(&b, 1, 1, "sh", false);
	map(&b, 1, 0x2000, 0x1000, "/nowhere/sh");
	fork_task(&b, 2, 2, 1);
	sample(&b, 2, 2, 0, &at, 1); /* the child has its parent's mappings and name */
	comm(&b, 2, 2, "ls", true);
	sample(&b, 2, 2, 0, &at, 1); /* and none after the exec */
	map(&b, 2, 0x2000, 0, "/nowhere/ls");
	sample(&b, 2, 2, 0, &at, 1);
	fork_task(&b, 2, 3, 2); /* a thread */
	comm(&b, 2, 3, "worker", false);
	sample(&b, 2, 3, 0, &at, 1);
	sample(&b, 1, 1, 0, &at, 1); /* the parent is as it was */
	CHECK_INT(profile_sample_count(b.profile), 5);
	CHECK_STR(stack_text(b.profile, 0, &got), "sh+1010");
	CHECK_STR(label_text(b.profile, 0, "comm"), "sh");
	CHECK_STR(stack_text(b.profile, 1, &got), "[unknown]");
	CHECK_STR(label_text(b.profile, 1, "comm"), "ls");
	CHECK_STR(stack_text(b.profile, 2, &got), "ls+10");
	CHECK_STR(stack_text(b.profile, 3, &got), "ls+10");
	CHECK_STR(label_text(b.profile, 3, "comm"), "worker");
	CHECK_INT(label_number(b.profile, 3, "tid"), 3);
	CHECK_STR(stack_text(b.profile, 4, &got), "sh+1010");
	bench_free(&b);
}

static void test_kinds(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new(&(struct ingest_opts){ .has_cpu_label = true });
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "//anon", "perf-4.map+5000010" },
		{ "[heap]", "perf-4.map+6000010" },
		{ "/dev/zero (deleted)", "perf-4.map+7000010" },
		{ "[vdso]", "[vdso]+10" },
		{ "[vsyscall]", "[vsyscall]" },
		{ "/nowhere/lib.so (deleted)", "lib.so+10" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t start = (5 + i) << 24;
		uint64_t at = start + 0x10;

		map(&b, 4, start, 0, rows[i].path);
		sample(&b, 4, 4, 0, &at, 1);
		CHECK_STR(stack_text(b.profile, i, &got), rows[i].want);
	}
	CHECK_INT(label_number(b.profile, 0, "cpu"), 0);
	bench_free(&b);
}

/* Code made at run time is called as the file that names it: a jitdump, once its process maps one.
 */
static void test_jitdump(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new(NULL);
	const uint64_t at = 0x5000010, next = 0x5000020;

	map(&b, 4, 0x5000000, 0, "//anon");
	map(&b, 6, 0x5000000, 0, "//anon");
	sample(&b, 4, 4, 0, &at, 1);
	CHECK_STR(stack_text(b.profile, 0, &got), "perf-4.map+5000010");
	map(&b, 4, 0x9000000, 0, "/srv/jit-4.dump");
	sample(&b, 4, 4, 0, &next, 1);
	CHECK_STR(stack_text(b.profile, 1, &got), "jit-4.dump+5000020");
	sample(&b, 6, 6, 0, &at, 1);
	CHECK_STR(stack_text(b.profile, 2, &got), "perf-6.map+5000010");
	bench_free(&b);
}

/* The end of a broken chain of frame pointers is cut; a chain that is nothing else is not. */
static void test_garbage(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new(NULL);
	const uint64_t broken[] = { (uint64_t)PERF_CONTEXT_USER, 0x2010, 0x2021, 0x99, 0x98 };
	const uint64_t lost[] = { (uint64_t)PERF_CONTEXT_USER, 0x99, 0x98 };

	map(&b, 1, 0x2000, 0, "/nowhere/a");
	sample(&b, 1, 1, 0, broken, ARRAY_LEN(broken));
	sample(&b, 1, 1, 0, lost, ARRAY_LEN(lost));
	CHECK_STR(stack_text(b.profile, 0, &got), "a+10 a+20");
	CHECK_STR(stack_text(b.profile, 1, &got), "[unknown]");
	bench_free(&b);
}

static void test_lost(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b = bench_new(NULL);
	struct record r = { .type = PERF_RECORD_LOST, .lost = { 1, 5 } };

	feed(&b, &r, 0);
	ingest_count_lost(b.ingest, 2);
	CHECK_INT(ingest_finish(b.ingest), 0);
	CHECK_INT(profile_sample_count(b.profile), 1);
	CHECK_STR(stack_text(b.profile, 0, &got), "[lost]");
	CHECK_INT(profile_get_sample(b.profile, 0).values[0], 7);
	CHECK_INT(profile_get_sample(b.profile, 0).values[1], 0);
	CHECK_INT(profile_get_sample(b.profile, 0).labels, 0);
	bench_free(&b);
}

static unsigned fetched;

static void fetch(void *context, uint32_t pid)
{
	struct bench *b = context;

	fetched += pid;
	comm(b, pid, pid, "old", false);
	map(b, pid, 0x2000, 0, "/nowhere/old");
}

static void test_fetch(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct bench b;
	const uint64_t at = 0x2010;

	b = bench_new(&(struct ingest_opts){ .fetch = fetch, .context = &b });
	sample(&b, 9, 10, 0, &at, 1);
	sample(&b, 9, 11, 0, &at, 1);
	CHECK_INT(fetched, 9); /* once */
	CHECK_STR(stack_text(b.profile, 0, &got), "old+10");
	bench_free(&b);
}

int main(void)
{
	learn_self();
	TAP_CASE(test_chain);
	TAP_CASE(test_main_program_is_first);
	TAP_CASE(test_events);
	TAP_CASE(test_processes);
	TAP_CASE(test_kinds);
	TAP_CASE(test_jitdump);
	TAP_CASE(test_garbage);
	TAP_CASE(test_lost);
	TAP_CASE(test_fetch);
	return tap_done();
}
