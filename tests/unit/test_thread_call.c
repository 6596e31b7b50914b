/* SPDX-License-Identifier: MIT */
#include "stacks/thread_call.h"

#include <string.h>
#include <sys/syscall.h>

#include "stacks/reason.h"
#include "stacks/thread_state.h"
#include "syscalls/names.h"
#include "tap.h"

static void test_call(void)
{
	struct thread_call c = thread_call_parse(
		"0 0x3 0x7f00 0x1 0x0 0x0 0xffffffffffffffff 0x7ffe10 0x7f55\n", "");

	CHECK(c.is_known && c.is_in_call && !c.is_running);
	CHECK_INT(c.call.nr, 0);
	CHECK(c.call.has_start && c.call.args[0] == 3 && c.call.args[1] == 0x7f00);
	CHECK(c.call.args[5] == UINT64_MAX);
	CHECK(c.sp == 0x7ffe10 && c.pc == 0x7f55);
	c = thread_call_parse("-1 0x7ffe10 0x7f55\n", "");
	CHECK(c.is_known && !c.is_in_call && c.sp == 0x7ffe10);
	c = thread_call_parse("running\n", "");
	CHECK(c.is_known && c.is_running && !c.is_in_call && !c.sp);
	c = thread_call_parse("99999 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2", "");
	CHECK(c.is_in_call && c.call.nr == SYSCALL_NAMES);
}

static void test_no_call(void)
{
	static const char *const rows[] = {
		"", "0", "0 0x1", "1 2 3 4", "x y z w v", "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7"
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK(!thread_call_parse(rows[i], "").is_known);
}

/* A wait that a stop has interrupted goes on as restart_syscall(2), number and all. */
static void test_restarted(void)
{
	static const struct {
		const char *args, *wchan;
		long nr;
	} rows[] = {
		{ "0x1 0x0 0x7f00 0x0", "hrtimer_nanosleep", SYS_clock_nanosleep },
		{ "0x7f00 0x80 0x0 0x7f10", "futex_do_wait", SYS_futex },
		{ "0x1 0x0 0x7f00 0x0", "do_syscall_64", SYS_clock_nanosleep },
		{ "0x7f00 0x80 0x0 0x7f10", "0", SYS_futex },
		{ "0x7f00 0x189 0x0 0x7f10", "", SYS_futex },
		{ "0x7f00 0x7f10 0x0 0x0", "", SYS_nanosleep },
		{ "0x7f00 0x1 0x3e8 0x0", "", SYS_restart_syscall },
		{ "0x1 0x1 0x1 0x1", "", SYS_restart_syscall },
	};
	char line[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof line, "%d %s 0x0 0x0 0x7ffe10 0x7f55", SYS_restart_syscall,
			 rows[i].args);
		CHECK_INT(thread_call_parse(line, rows[i].wchan).call.nr, rows[i].nr);
	}
}

static void test_kernel_stack(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	thread_state_put_kernel(&out, "[<0>] request_wait_answer+0x1/0x2\n[<0>] fuse_read+0x3/0x4 "
				      "[fuse]\n[<0>] do_syscall_64+0x5/0x6\nrest\n");
	CHECK_STR(out.data, "do_syscall_64;fuse_read;request_wait_answer");
	buf_clear(&out);
	thread_state_put_kernel(&out, "\n\n] \n[<0>] ");
	thread_state_put_kernel(&out, "");
	CHECK(buf_error(&out) == 0);
}

static void test_sched(void)
{
	static const char text[] =
		"cat (7, #threads: 1)\n-----\nse.exec_start       :   12.345678\n"
		"se.vruntime : -3.0\nbad : x\n";

	CHECK_INT(thread_state_sched_ns(text, "se.exec_start"), 12345678);
	CHECK_INT(thread_state_sched_ns(text, "bad"), -1);
	CHECK_INT(thread_state_sched_ns(text, "nothing"), -1);
	CHECK_INT(thread_state_sched_ns("k : 99999999999999999999.0", "k"), -1);
}

static void test_reason(void)
{
	static const struct {
		char state;
		const char *line, *wchan, *words, *reason;
		bool was_stopped;
	} rows[] = {
		{ 'S', "0 0 0 0 0 0 0 1 1", "pipe_read", "read pipe", "[read pipe]", true },
		{ 'D', "0 0 0 0 0 0 0 1 1", "nfs_wait", "read /a", "[read /a: D state in nfs_wait]",
		  false },
		{ 'D', "-1 1 1", "folio_wait", "", "[page fault: D state in folio_wait]", false },
		{ 'R', "running", "", "", "[running]", false },
		{ 'R', "0 0 0 0 0 0 0 1 1", "", "read /a", "[running in read /a]", true },
		{ 'S', "-1 1 1", "pipe_read", "", "[running]", true },
		{ 'S', "-1 1 1", "", "", "[page fault]", false },
		{ 'S', "", "pipe_read", "", "[waiting in pipe_read]", false },
		{ 'T', "0 0 0 0 0 0 0 1 1", "", "read /a", "[stopped by a signal]", true },
		{ 't', "", "", "", "[stopped by a debugger]", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct thread_call call = thread_call_parse(rows[i].line, "");
		struct thread_state s = { .stat.state = rows[i].state };

		snprintf(s.wchan, sizeof s.wchan, "%s", rows[i].wchan);
		reason_put(&out, &s, &call, rows[i].was_stopped, rows[i].words);
		CHECK_STR(out.data, rows[i].reason);
	}
}

int main(void)
{
	TAP_CASE(test_call);
	TAP_CASE(test_no_call);
	TAP_CASE(test_restarted);
	TAP_CASE(test_kernel_stack);
	TAP_CASE(test_sched);
	TAP_CASE(test_reason);
	return tap_done();
}
