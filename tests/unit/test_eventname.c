/* SPDX-License-Identifier: MIT */
#include "perf/eventname.h"

#include "base/macros.h"
#include "tap.h"

static void test_names(void)
{
	static const struct {
		const char *name;
		size_t base;
		bool is_clock, is_tracepoint;
	} rows[] = {
		{ "cycles", 6, false, false },
		{ "cycles:ppp", 6, false, false },
		{ "cpu-clock:u", 9, true, false },
		{ "task-clock", 10, true, false },
		{ "cpu-clock-x", 11, false, false },
		{ "sched:sched_switch", 18, false, true },
		{ "sched:sched_switch:u", 18, false, true },
		{ "cpu/event=0x3c,umask=0x0/", 25, false, false },
		{ "cpu/event=0x3c/uk", 15, false, false },
		{ "r1a8:p", 4, false, false },
		{ "dummy:HG", 5, false, false },
		{ ":u", 2, false, false },
		{ "u", 1, false, false },
		{ "", 0, false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].name);

		CHECK_INT(eventname_base(rows[i].name, len), rows[i].base);
		CHECK_INT(eventname_is_clock(rows[i].name, len), rows[i].is_clock);
		CHECK_INT(eventname_is_tracepoint(rows[i].name, len), rows[i].is_tracepoint);
	}
}

int main(void)
{
	TAP_CASE(test_names);
	return tap_done();
}
