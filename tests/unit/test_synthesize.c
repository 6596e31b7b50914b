/* SPDX-License-Identifier: MIT */
#include "sample/synthesize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fake_root.h"
#include "tap.h"

static void make_root(void)
{
	CHECK(mkdtemp(tap_pattern(root, sizeof root)) != NULL);
	write_file("12/task/12/comm", "main\n");
	write_file("12/task/13/comm", "a worker\n");
	write_file("12/maps",
		   "55d0c0000000-55d0c0001000 r--p 00000000 08:01 77 /usr/bin/x\n"
		   "55d0c0001000-55d0c0003000 r-xp 00001000 08:01 77         /usr/bin/x y\n"
		   "55d0c0003000-55d0c0004000 rw-p 00003000 08:01 77 /usr/bin/x\n"
		   "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		   "7f0000002000-7f0000003000 r-xp 00000000 00:05 99 /tmp/a\\012b (deleted)\n"
		   "7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0 [vdso]\n"
		   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
		   "garbage\n"
		   "12-1 r-xp 00000000 00:00 0 /x\n"
		   "7f0000009000-7f000000a000 r-xp");
	write_file("14/task/14/comm", "kthread\n");
	write_file("self/maps", "00400000-00500000 r-xp 00000000 08:01 1 /no\n");
	write_file("kallsyms", "0000000000000000 A x\nffffffff81000000 T startup\n"
			       "ffffffff81000040 T _stext\nffffffff81000040 T _text\n");
	write_file("hidden", "0000000000000000 T _stext\n");
}

/* The sample's leaf and comm as text. */
static const char *sample_text(struct ingest *in, struct profile *p, uint32_t tid, uint64_t ip,
			       struct buf *out)
{
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_USER,
			    .pid = tid == 13 ? 12 : tid,
			    .tid = tid };
	const struct label *labels;
	struct location l;
	struct sample s;
	size_t count;

	r.sample.ip = ip;
	CHECK_INT(ingest_record(in, &r, 0), 0);
	s = profile_get_sample(p, profile_sample_count(p) - 1);
	l = profile_get_location(p, profile_get_node(p, s.node).location);
	labels = profile_get_labels(p, s.labels, &count);
	buf_clear(out);
	if (l.line_count)
		buf_put_str(out,
			    profile_text(p, profile_get_function(p, l.lines[0].function)->name));
	else
		buf_printf(out, "%s+%llx", profile_text(p, profile_get_mapping(p, l.mapping)->path),
			   (unsigned long long)l.address);
	for (size_t i = 0; i < count; i++)
		if (strcmp(profile_text(p, labels[i].key), "comm") == 0)
			buf_printf(out, " by %s", profile_text(p, labels[i].str));
	return out->data;
}

static void test_tell(void)
{
	static const struct ingest_event event = { "cpu", "nanoseconds", 1 };
	static const struct {
		uint32_t tid;
		uint64_t ip;
		const char *want;
	} rows[] = {
		{ 12, 0x55d0c0001010, "/usr/bin/x y+1010 by main" },
		{ 13, 0x55d0c0002010, "/usr/bin/x y+2010 by a worker" },
		{ 12, 0x55d0c0003010, "[unknown] by main" },
		{ 12, 0x7f0000000010, "/tmp/perf-12.map+7f0000000010 by main" },
		{ 12, 0x7f0000002010, "/tmp/a\nb+10 by main" },
		{ 12, 0x7ffd00000020, "[vdso]+20 by main" },
		{ 12, 0xffffffffff600400, "[vsyscall] by main" },
		{ 14, 0x10, "[unknown] by kthread" },
	};
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct profile *p = profile_new();
	struct ingest *in =
		ingest_new(&(struct ingest_opts){ .dsos = { .profile = p } }, &event, 1);
	struct synthesize_sink to = synthesize_to_ingest(in);
	struct err e;

	CHECK_INT(synthesize_all(&to, root, &e), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_STR(sample_text(in, p, rows[i].tid, rows[i].ip, &got), rows[i].want);
	CHECK_INT(synthesize_process(&to, root, 99), 0); /* gone */
	CHECK_INT(synthesize_all(&to, "/nowhere", &e), -ENOENT);
	ingest_free(in);
	profile_free(p);
}

/* How many records are put before it is over. */
struct few {
	int records, most;
};

static int put_one(void *context, const struct record *r)
{
	struct few *f = context;

	(void)r;
	f->records++;
	return 0;
}

static bool is_enough(void *context)
{
	const struct few *f = context;

	return f->records >= f->most;
}

/* Ends between processes, threads and mappings. */
static void test_over(void)
{
	static const struct {
		uint32_t pid;
		int most, got;
	} rows[] = { { 20, 0, 0 },
		     { 20, 1, 1 },
		     { 20, 300, 1 + 512 },
		     { 20, 9999, 1 + 1000 },
		     { 21, 2, 2 } };
	CLEANUP(buf_fini) struct buf maps = { 0 };

	for (int i = 0; i < 1000; i++)
		buf_printf(&maps, "%x000-%x000 r-xp 00000000 08:01 77 /usr/bin/x\n", 4096 + i,
			   4097 + i);
	if (!CHECK(buf_error(&maps) == 0))
		return;
	write_file("20/task/20/comm", "many\n");
	write_file("20/maps", maps.data);
	write_file("21/task/21/comm", "one\n");
	write_file("21/task/22/comm", "two\n");
	write_file("21/task/23/comm", "three\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct few f = { .most = rows[i].most };
		const struct synthesize_sink to = { .put = put_one,
						    .is_over = is_enough,
						    .context = &f };

		CHECK_INT(synthesize_process(&to, root, rows[i].pid), 0);
		CHECK_INT(f.records, rows[i].got);
	}
}

static void test_kernel_start(void)
{
	char path[300];

	snprintf(path, sizeof path, "%s/kallsyms", root);
	CHECK(synthesize_kernel_start(path) == UINT64_C(0xffffffff81000040));
	snprintf(path, sizeof path, "%s/hidden", root);
	CHECK(synthesize_kernel_start(path) == 0);
	CHECK(synthesize_kernel_start("/nowhere") == 0);
}

static void test_find_code(void)
{
	static const char *const names[] = { "io_schedule", "late", NULL };
	struct ingest_code got[3];
	char path[300];

	snprintf(path, sizeof path, "%s/symbols", root);
	write_file("symbols", "ffffffff81000100 T io_schedule_timeout\n"
			      "ffffffff81000200 T io_schedule\n"
			      "ffffffff81000200 T alias\n"
			      "ffffffff81000260 t next\n"
			      "ffffffffc0000000 t late\t[module]\n");
	CHECK_INT(synthesize_find_functions(path, names, 3, got), 2);
	CHECK_INT(got[0].start, 0xffffffff81000200);
	CHECK_INT(got[0].end, 0xffffffff81000260);
	CHECK_INT(got[1].start, got[1].end); /* where it ends is not told */
	CHECK_INT(synthesize_find_functions(path, names, 1, got), 1);
	snprintf(path, sizeof path, "%s/hidden", root);
	CHECK_INT(synthesize_find_functions(path, names, 3, got), 0);
	CHECK_INT(synthesize_find_functions("/nowhere", names, 3, got), 0);
}

int main(void)
{
	make_root();
	TAP_CASE(test_tell);
	TAP_CASE(test_over);
	TAP_CASE(test_kernel_start);
	TAP_CASE(test_find_code);
	remove_root();
	return tap_done();
}
