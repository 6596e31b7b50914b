/* SPDX-License-Identifier: MIT */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/output/outfile.h"
#include "symbol/perfmap.h"
#include "tap.h"

#define MAX_ROWS 16

struct row {
	uint64_t address;
	const char *name, *module; /* NULL: none */
};

/* A file that holds text; the caller unlinks it. */
static bool write_file(char *path, const char *text)
{
	struct err e;
	int fd = mkstemp(path);

	if (fd < 0)
		return false;
	close(fd);
	return outfile_replace(path, text, strlen(text), &e) == 0;
}

static void check_kernel(const char *text, const struct row *rows, size_t count, int want)
{
	char path[256];
	struct kernel_symbol got[MAX_ROWS] = { { 0 } };
	uint64_t wanted[MAX_ROWS];
	struct buf held = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < count; i++)
		wanted[i] = rows[i].address;
	if (!CHECK(write_file(tap_pattern(path, sizeof path), text)))
		return;
	CHECK_INT(kallsyms_find(path, wanted, count, &held, got, &e), want);
	CHECK_INT(e.code, want);
	for (size_t i = 0; want == 0 && i < count; i++) {
		CHECK_STR(got[i].name, rows[i].name);
		CHECK_STR(got[i].module, rows[i].module);
	}
	buf_fini(&held);
	unlink(path);
}

static void test_kernel(void)
{
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000100 t do_one\n"
				   "ffffffff81000200 T do_two\n"
				   "ffffffff81000200 t do_two_alias\n"
				   "ffffffff81000300 D some_data\n"
				   "nonsense\n"
				   "ffffffff8100030z t no_number\n"
				   "fffffffff81000400 T more_than_64_bits\n"
				   "ffffffffc0000000 t ext4_read\t[ext4]\n"
				   "ffffffffc0000040 t ext4_write\t[ext4]\n"
				   "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_x\t[bpf]";
	static const struct row rows[] = {
		{ 0xffffffff80ffffff, NULL, NULL },
		{ 0xffffffff81000000, "_text", NULL },
		{ 0xffffffff81000150, "do_one", NULL },
		{ 0xffffffff81000200, "do_two", NULL },
		{ 0xffffffff81000310, NULL, NULL },
		{ 0xffffffffc000003f, "ext4_read", "ext4" },
		{ 0xffffffffc0000040, "ext4_write", "ext4" },
		{ 0xffffffffc0000041, "ext4_write", "ext4" },
		{ 0xffffffffc0100010, "bpf_prog_6deef7357e7b4530_x", "bpf" },
		{ 0xffffffffc1100010, NULL, NULL }, /* too far behind */
	};

	check_kernel(text, rows, ARRAY_LEN(rows), 0);
}

static void test_hidden(void)
{
	static const char text[] = "0000000000000000 T _text\n0000000000000000 t do_one\n";
	static const struct row rows[] = { { 0xffffffff81000000, NULL, NULL } };

	check_kernel(text, rows, 1, -EACCES);
	check_kernel("", rows, 1, -EACCES);
}

static void test_perf_map(void)
{
	static const char text[] = "1000 20 first\n"
				   "0x2000 0x10 Some name: with blanks\r\n"
				   "3000 0 empty\n"
				   "fffffffffffffff0 20 over_the_end\n"
				   "1000 10 first again\n"
				   "4000 10\n"
				   "4000 10 \n"
				   "5000 10 cut";
	static const struct row rows[] = {
		{ 0x1000, "first again", NULL }, { 0x1010, "first", NULL },
		{ 0x1020, NULL, NULL },          { 0x2008, "Some name: with blanks\r", NULL },
		{ 0x3000, NULL, NULL },          { 0x4000, NULL, NULL },
		{ 0x500f, "cut", NULL },         { 0xfffffffffffffff8, NULL, NULL },
	};
	char path[256];
	const char *got[ARRAY_LEN(rows)] = { 0 };
	uint64_t wanted[ARRAY_LEN(rows)];
	struct buf held = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		wanted[i] = rows[i].address;
	if (!CHECK(write_file(tap_pattern(path, sizeof path), text)))
		return;
	CHECK_INT(perfmap_find(path, true, wanted, ARRAY_LEN(rows), &held, got, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(got[i], rows[i].name);
	buf_fini(&held);
	unlink(path);
}

static void test_no_file(void)
{
	const char *got;
	uint64_t wanted = 1;
	struct buf held = { 0 };
	struct err e = { 0 };

	CHECK_INT(perfmap_find("/nowhere/perf-1.map", true, &wanted, 1, &held, &got, &e), -ENOENT);
	CHECK_INT(perfmap_find("/dev/zero", false, &wanted, 1, &held, &got, &e), -EINVAL);
	buf_fini(&held);
}

static int find_one(const char *path, bool is_own, struct buf *text, const char **ret)
{
	const uint64_t wanted = 0x1000;
	struct err e;

	*ret = NULL;
	return perfmap_find(path, is_own, &wanted, 1, text, ret, &e);
}

/* A file of a known name in /tmp can be anybody's. */
static void test_foreign_perf_map(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[256], link[300];
	const char *got;

	if (!CHECK(write_file(tap_pattern(path, sizeof path), "1000 10 here\n")))
		return;
	snprintf(link, sizeof link, "%s.link", path);
	CHECK_INT(symlink(path, link), 0);
	CHECK_INT(find_one(link, true, &text, &got), -ELOOP);
	CHECK_INT(find_one(link, false, &text, &got), 0);
	CHECK_STR(got, "here");
	if (geteuid() == 0) {
		CHECK_INT(chown(path, 4242, 4242), 0);
		CHECK_INT(find_one(path, true, &text, &got), -EPERM);
	}
	unlink(link);
	unlink(path);
}

/* Of a map without end the start is read: what is named there has its name. */
static void test_huge_perf_map(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct rusage usage;
	char path[256];
	const char *got;

	if (!CHECK(write_file(tap_pattern(path, sizeof path), "1000 10 here\n")))
		return;
	CHECK_INT(truncate(path, (off_t)1 << 30), 0);
	CHECK_INT(find_one(path, true, &text, &got), 1);
	CHECK_STR(got, "here");
	CHECK_INT(text.len, PERFMAP_MAX_BYTES);
	CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
	CHECK(TAP_UNDER_ASAN || usage.ru_maxrss < 100000);
	unlink(path);
}

int main(void)
{
	TAP_CASE(test_kernel);
	TAP_CASE(test_hidden);
	TAP_CASE(test_perf_map);
	TAP_CASE(test_no_file);
	TAP_CASE(test_foreign_perf_map);
	TAP_CASE(test_huge_perf_map);
	return tap_done();
}
