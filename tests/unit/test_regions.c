/* SPDX-License-Identifier: MIT */
#include "perf/regions.h"

#include <string.h>
#include <sys/mman.h>

#include "tap.h"

static void map(struct regions *r, uint32_t pid, uint64_t start, uint64_t end, const char *path)
{
	const struct record_mmap m = {
		.pid = pid,
		.tid = pid,
		.start = start,
		.len = end - start,
		.prot = PROT_READ | (strstr(path, "cache") ? 0 : PROT_WRITE),
		.path = { (const unsigned char *)path, strlen(path) },
	};

	CHECK_INT(regions_map(r, &m), 0);
}

/* A program as the kernel tells of it. */
static void map_program(struct regions *r, uint32_t pid)
{
	map(r, pid, 0x55000000, 0x55002000, "/bin/solver");
	map(r, pid, 0x55002000, 0x55003000, "/bin/solver");
	map(r, pid, 0x55003000, 0x55009000, "//anon");
	map(r, pid, 0x7f0000000000, 0x7f0000010000, "/lib/libc.so.6");
	map(r, pid, 0x7f0000010000, 0x7f0000012000, "//anon");
	map(r, pid, 0x7f0000100000, 0x7f0000110000, "/etc/ld.so.cache");
	map(r, pid, 0x7f0000110000, 0x7f0000112000, "//anon");
	map(r, pid, 0x55100000, 0x55200000, "//anon");
	map(r, pid, 0x7e0000000000, 0x7e0000800000, "//anon");
	map(r, pid, 0x7d0000000000, 0x7d0000001000, "/dev/zero (deleted)");
	map(r, pid, 0x7d0000002000, 0x7d0000003000, "/dev/shm/x (deleted)");
	map(r, pid, 0x7d0000200000, 0x7d0000400000, "/anon_hugepage (deleted)");
	map(r, pid, 0x7d0000500000, 0x7d0000600000, "[heap]");
}

static void test_names(void)
{
	static const struct {
		uint64_t address, sp;
		const char *name;
	} rows[] = {
		{ 0x55000000, 0, "/bin/solver" },
		{ 0x55002fff, 0, "/bin/solver" },
		{ 0x55003000, 0, "/bin/solver [bss]" },
		{ 0x55008fff, 0, "/bin/solver [bss]" },
		{ 0x55009000, 0, "" },
		{ 0x55100000, 0, "[heap]" },
		{ 0x7f0000011000, 0, "/lib/libc.so.6 [bss]" },
		{ 0x7f0000111000, 0, "[anon]" }, /* behind a file, but no data of it */
		{ 0x7e0000700000, 0, "[anon]" },
		{ 0x7e0000700000, 0x7e0000700100, "[thread stack]" },
		{ 0x7e0000000000, 0x7ffe00000000, "[anon]" },
		{ 0x7ffe00000800, 0x7ffe00000000, "[stack]" },
		{ 0x7ffdfffff000, 0x7ffe00000000, "[stack]" },
		{ 0x7ff000000000, 0x7ffe00000000, "" },
		{ 0x7d0000000010, 0, "[shared]" },
		{ 0x7d0000002010, 0, "/dev/shm/x" },
		{ 0x7d0000300000, 0, "[anon huge]" },
		{ 0x7d0000500000, 0, "[heap]" },
		{ UINT64_MAX, UINT64_MAX, "[stack]" },
		{ 0, 0, "" },
	};
	struct profile *p = profile_new();
	struct regions *r = regions_new(p);

	map_program(r, 7);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(profile_text(p, regions_find(r, 7, rows[i].address, rows[i].sp)),
			  rows[i].name);
	CHECK_INT(regions_find(r, 8, 0x55000000, 0), 0);
	regions_free(r);
	profile_free(p);
}

/* A child has what its parent had; what one of them maps then is its own; exec begins anew. */
static void test_tasks(void)
{
	struct profile *p = profile_new();
	struct regions *r = regions_new(p);

	map(r, 7, 0x1000, 0x2000, "/bin/a");
	CHECK_INT(regions_fork(r, 8, 7), 0);
	CHECK_INT(regions_fork(r, 7, 7), 0);
	map(r, 8, 0x1000, 0x2000, "/bin/b");
	CHECK_STR(profile_text(p, regions_find(r, 7, 0x1000, 0)), "/bin/a");
	CHECK_STR(profile_text(p, regions_find(r, 8, 0x1000, 0)), "/bin/b");
	CHECK_INT(regions_exec(r, 8), 0);
	CHECK_INT(regions_find(r, 8, 0x1000, 0), 0);
	map(r, 9, UINT64_MAX, UINT64_MAX, "/bin/none");
	CHECK_INT(regions_find(r, 9, UINT64_MAX, 0), 0);
	regions_free(r);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_names);
	TAP_CASE(test_tasks);
	return tap_done();
}
