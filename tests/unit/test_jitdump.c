/* SPDX-License-Identifier: MIT */
#include "symbol/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/perfmap.h"
#include "tap.h"

/* A jitdump that is being made, in the byte order of either machine. */
struct dump {
	struct buf bytes;
	bool is_swapped;
};

static void put_u32(struct dump *d, uint32_t v)
{
	v = d->is_swapped ? __builtin_bswap32(v) : v;
	buf_put(&d->bytes, &v, sizeof v);
}

static void put_u64(struct dump *d, uint64_t v)
{
	v = d->is_swapped ? __builtin_bswap64(v) : v;
	buf_put(&d->bytes, &v, sizeof v);
}

static void put_header(struct dump *d, uint32_t bytes)
{
	put_u32(d, 0x4a695444);
	put_u32(d, 1);
	put_u32(d, bytes);
	for (unsigned i = 0; i < 3; i++)
		put_u32(d, 0);
	put_u64(d, 0);
	for (uint32_t i = 32; i < bytes; i++)
		buf_put_byte(&d->bytes, 0);
}

static void put_prefix(struct dump *d, uint32_t id, uint32_t bytes)
{
	put_u32(d, id);
	put_u32(d, bytes);
	put_u64(d, 1);
}

/* A function with its name and two bytes of code. */
static void put_load(struct dump *d, uint64_t start, uint64_t size, uint64_t index,
		     const char *name)
{
	put_prefix(d, 0, (uint32_t)(16 + 40 + strlen(name) + 1 + 2));
	put_u32(d, 7);
	put_u32(d, 7);
	put_u64(d, start);
	put_u64(d, start);
	put_u64(d, size);
	put_u64(d, index);
	buf_put(&d->bytes, name, strlen(name) + 1);
	buf_put(&d->bytes, "\x90\xc3", 2);
}

static void put_move(struct dump *d, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	put_prefix(d, 1, 64);
	put_u32(d, 7);
	put_u32(d, 7);
	put_u64(d, to);
	put_u64(d, from);
	put_u64(d, to);
	put_u64(d, size);
	put_u64(d, index);
}

/* A file in memory with these bytes. */
static int open_dump(struct dump *d)
{
	int fd = memfd_create("jit-7.dump", MFD_CLOEXEC);

	CHECK_INT(buf_error(&d->bytes), 0);
	CHECK(fd >= 0 && file_write_all(fd, d->bytes.data, d->bytes.len) == 0);
	buf_fini(&d->bytes);
	return fd;
}

struct row {
	uint64_t address;
	const char *name; /* NULL: none */
};

static void check_rows(int fd, const struct row *rows, size_t count, int want)
{
	uint64_t wanted[16];
	const char *got[16] = { 0 };
	struct buf text = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < count; i++)
		wanted[i] = rows[i].address;
	CHECK_INT(jitdump_find(fd, "jit-7.dump", wanted, count, &text, got, &e), want);
	for (size_t i = 0; i < count; i++)
		CHECK_STR(got[i], rows[i].name);
	buf_fini(&text);
}

static void check_functions(bool is_swapped)
{
	static const struct row rows[] = {
		{ 0xfff, NULL },      { 0x1000, "first" },
		{ 0x1008, "again" },  { 0x1010, "first" },
		{ 0x1020, NULL },     { 0x2008, "a name: of \xc3\xa4" },
		{ 0x4000, NULL },     { 0x7f0000000008, "a name: of \xc3\xa4" },
		{ UINT64_MAX, NULL },
	};
	struct dump d = { .is_swapped = is_swapped };
	int fd;

	put_header(&d, 48);
	put_load(&d, 0x1000, 0x20, 1, "first");
	put_load(&d, 0x2000, 0x10, 2, "a name: of \xc3\xa4");
	put_prefix(&d, 2, 16 + 16); /* no lines */
	put_u64(&d, 0x1000);
	put_u64(&d, 0);
	put_move(&d, 0x2000, 0x7f0000000000, 0x10, 2);
	put_move(&d, 0x3000, 0x4000, 0x10, 99); /* of no function */
	put_load(&d, 0x1008, 8, 3, "again");
	put_load(&d, 0x4000, 0x10, 4, "");
	put_load(&d, UINT64_MAX - 1, 0x10, 5, "over the end");
	put_prefix(&d, 3, 16);
	fd = open_dump(&d);
	CHECK(jitdump_detect(fd));
	check_rows(fd, rows, ARRAY_LEN(rows), 0);
	close(fd);
}

static void test_functions(void)
{
	check_functions(false);
	check_functions(true);
}

/* What is cut, or no jitdump, has the names before that. */
static void test_broken(void)
{
	static const struct row rows[] = { { 0x1000, "whole" }, { 0x2000, NULL } };
	struct dump d = { 0 }, cut = { 0 };
	int fd;

	put_header(&d, 40);
	put_load(&d, 0x1000, 0x10, 1, "whole");
	put_prefix(&d, 0, 15); /* shorter than its own start */
	put_load(&d, 0x2000, 0x10, 2, "behind");
	fd = open_dump(&d);
	check_rows(fd, rows, ARRAY_LEN(rows), 0);
	close(fd);

	put_header(&cut, 40);
	put_load(&cut, 0x1000, 0x10, 1, "whole");
	put_load(&cut, 0x2000, 0x10, 2, "x");
	cut.bytes.len -= 5; /* up to the name */
	fd = open_dump(&cut);
	check_rows(fd, rows, ARRAY_LEN(rows), 0);
	CHECK_INT(ftruncate(fd, 3), 0);
	CHECK(!jitdump_detect(fd));
	check_rows(fd, rows + 1, 1, 0);
	close(fd);
}

/* A name without an end is cut, and a file without one costs nothing. */
static void test_bounds(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const uint64_t wanted = 0x1000;
	const char *got = NULL;
	struct rusage usage;
	struct dump d = { 0 };
	struct err e = { 0 };
	int fd;

	put_header(&d, 40);
	put_prefix(&d, 0, UINT32_MAX);
	put_u64(&d, 7);
	put_u64(&d, 0x1000);
	put_u64(&d, 0x1000);
	put_u64(&d, 0x10);
	put_u64(&d, 1);
	for (unsigned i = 0; i < 2 * JITDUMP_MAX_NAME; i++)
		buf_put_byte(&d.bytes, 'x');
	fd = open_dump(&d);
	CHECK_INT(ftruncate(fd, (off_t)1 << 40), 0);
	CHECK_INT(jitdump_find(fd, "x", &wanted, 1, &text, &got, &e), 0);
	CHECK_INT(got ? strlen(got) : 0, JITDUMP_MAX_NAME);
	CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
	CHECK(TAP_UNDER_ASAN || usage.ru_maxrss < 100000);
	close(fd);
}

static void test_many_records(void)
{
	static const struct row rows[] = { { 0x1000, NULL } };
	static const char none[1 << 16];
	struct dump d = { 0 };
	int fd;

	put_header(&d, 40);
	put_prefix(&d, 9, 16);
	for (unsigned i = 0; i < (JITDUMP_MAX_RECORDS * 16u >> 16) + 2; i++)
		buf_put(&d.bytes, none, sizeof none);
	for (size_t at = 56; buf_error(&d.bytes) == 0 && at + 16 <= d.bytes.len; at += 16)
		d.bytes.data[at] = 9, d.bytes.data[at + 4] = 16;
	fd = open_dump(&d);
	check_rows(fd, rows, 1, 1);
	close(fd);
}

/* The reader of perf maps takes either, by its first bytes, of whoever it may be. */
static void test_by_content(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const uint64_t wanted = 0x1000;
	const char *got = NULL;
	char path[256];
	struct dump d = { 0 };
	struct err e = { 0 };
	int fd = mkstemp((char *)tap_pattern(path, sizeof path));

	put_header(&d, 40);
	put_load(&d, 0x1000, 0x10, 1, "made");
	CHECK(fd >= 0 && file_write_all(fd, d.bytes.data, d.bytes.len) == 0);
	buf_fini(&d.bytes);
	CHECK_INT(perfmap_find(path, true, &wanted, 1, &text, &got, &e), 0);
	CHECK_STR(got, "made");
	if (geteuid() == 0) {
		CHECK_INT(fchown(fd, 4242, 4242), 0);
		CHECK_INT(perfmap_find(path, true, &wanted, 1, &text, &got, &e), -EPERM);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	TAP_CASE(test_functions);
	TAP_CASE(test_broken);
	TAP_CASE(test_bounds);
	TAP_CASE(test_many_records);
	TAP_CASE(test_by_content);
	return tap_done();
}
