/* SPDX-License-Identifier: MIT */
#include "target/proc.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

static void test_map(void)
{
	struct proc_map m;

	if (CHECK(proc_map_parse(&m, "7f00-7f80 rw-s 00001000 08:1f 1234    /tmp/a b (deleted)"))) {
		CHECK(m.start == 0x7f00 && m.end == 0x7f80 && m.offset == 0x1000);
		CHECK(m.dev_major == 8 && m.dev_minor == 0x1f && m.ino == 1234);
		CHECK_INT(m.prot, PROT_READ | PROT_WRITE);
		CHECK(m.is_shared);
		CHECK_STR(m.path, "/tmp/a b (deleted)");
	}
	CHECK(proc_map_parse(&m, "1-2 --xp 0 00:00 0") && m.prot == PROT_EXEC && !*m.path);
}

static void test_no_map(void)
{
	static const char *const rows[] = { "",    "Referenced:     4 kB", "2-1 r--p 0 00:00 0",
					    "1-2", "1-2 r--p 0 00:00",     "1-2 r--p x 00:00 0" };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct proc_map m;

		CHECK(!proc_map_parse(&m, rows[i]));
	}
}

static void test_threads(void)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid = 0;

	CHECK_INT(proc_open_threads("/proc", (uint32_t)getpid(), &dir), 0);
	CHECK(proc_next(dir, &tid) && tid == (uint32_t)getpid());
	CHECK(!proc_next(dir, &tid));
}

static void test_stat(void)
{
	struct proc_stat s;

	if (CHECK(proc_stat_read(&s, getpid()))) {
		CHECK_STR(s.name, "test_proc");
		CHECK(s.state == 'R' && s.parent == getppid() && s.group == getpgrp());
		CHECK(s.threads == 1 && s.rss_pages && !s.is_kernel);
	}
	CHECK(!proc_stat_read(&s, -1));
}

/* It grows, if the kernel counts it. */
static void test_queued(void)
{
	int64_t before_ns = proc_queued_ns();

	CHECK(before_ns >= 0 && proc_queued_ns() >= before_ns);
}

int main(void)
{
	TAP_CASE(test_map);
	TAP_CASE(test_queued);
	TAP_CASE(test_no_map);
	TAP_CASE(test_threads);
	TAP_CASE(test_stat);
	return tap_done();
}
