/* SPDX-License-Identifier: MIT */
#include "ctlfs/command.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "tap.h"

static const uint32_t numbers[] = { 0, 1, 2, 5 };
static const struct cpulist known = { .cpus = (uint32_t *)(uintptr_t)numbers, .count = 4 };

/* What is understood: cores are a bit each, by number. */
static void test_understood(void)
{
	static const struct {
		const char *line;
		int64_t core;
		enum verb verb;
		unsigned cores;
		bool is_on;
		uint64_t value;
	} rows[] = {
		{ "start", -1, VERB_START, 0, false, 0 },
		{ "  startclr\r", -1, VERB_STARTCLR, 0, false, 0 },
		{ "opstart", -1, VERB_OPSTART, 0x27, false, 0 },
		{ "optimer all off", -1, VERB_TIMER, 0x27, false, 0 },
		{ "optimer 0,2,5 on", -1, VERB_TIMER, 0x25, true, 0 },
		{ "optimer\t0-2  on", -1, VERB_TIMER, 0x07, true, 0 },
		{ "optimer 1 on period 500", -1, VERB_TIMER, 0x02, true, 500 },
		{ "optimer period 100", -1, VERB_PERIOD, 0, false, 100 },
		{ "optimer period 1000000", -1, VERB_PERIOD, 0, false, 1000000 },
		{ "qlimit 64", -1, VERB_QLIMIT, 0, false, 64 },
		{ "depth 255", -1, VERB_DEPTH, 0, false, 255 },
		{ "autostop 0", -1, VERB_AUTOSTOP, 0, false, 0 },
		{ "user on", -1, VERB_USER, 0, true, 0 },
		{ "on", 5, VERB_TIMER, 0x20, true, 0 },
		{ "opstop", 1, VERB_OPSTOP, 0x02, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(command_fini) struct command c = { 0 };
		struct err e = { 0 };
		unsigned cores = 0;
		size_t at;

		CHECK_INT(command_parse(rows[i].line, strlen(rows[i].line), &known, rows[i].core,
					&c, &at, &e),
			  0);
		CHECK_STR(e.msg, "");
		for (size_t k = 0; k < c.cores.count; k++)
			cores |= 1u << c.cores.cpus[k];
		CHECK_INT(c.verb, rows[i].verb);
		CHECK_INT(cores, rows[i].cores);
		CHECK_INT(c.is_on, rows[i].is_on);
		CHECK_INT(c.value, rows[i].value);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *line;
		int64_t core;
		int code;
		size_t at;
		const char *words;
	} rows[] = {
		{ "", -1, -EINVAL, 0, COMMAND_USAGE },
		{ "garbage", -1, -EINVAL, 0, COMMAND_USAGE },
		{ "Start", -1, -EINVAL, 0, COMMAND_USAGE },
		{ "opstart now", -1, -EINVAL, 8, COMMAND_USAGE },
		{ "optimer", -1, -EINVAL, 7, COMMAND_OPTIMER_USAGE },
		{ "optimer garbage", -1, -EINVAL, 15, COMMAND_OPTIMER_USAGE },
		{ "optimer garbage on", -1, -EINVAL, 8, COMMAND_OPTIMER_USAGE },
		{ "optimer 0 maybe", -1, -EINVAL, 10, "optimer needs on|off" },
		{ "optimer 3 maybe", -1, -ENXIO, 8, "no such coreid 3" },
		{ "optimer 0-5 on", -1, -ENXIO, 8, "no such coreid 3" },
		{ "optimer 4294967296 on", -1, -ENXIO, 8, "no such coreid 4294967296" },
		{ "optimer 0 on period", -1, -EINVAL, 19, COMMAND_OPTIMER_USAGE },
		{ "optimer 0 on period 5 5", -1, -EINVAL, 22, COMMAND_OPTIMER_USAGE },
		{ "optimer 0 on off", -1, -EINVAL, 13, COMMAND_OPTIMER_USAGE },
		{ "optimer period 99", -1, -ERANGE, 15,
		  COMMAND_OPTIMER_USAGE ": 99 is not in 100..1000000" },
		{ "optimer period 18446744073709551616", -1, -EINVAL, 15, COMMAND_OPTIMER_USAGE },
		{ "depth 256", -1, -ERANGE, 6, "depth N: 256 is not in 1..255" },
		{ "depth", -1, -EINVAL, 5, "depth N" },
		{ "user", -1, -EINVAL, 4, "user on|off" },
		{ "optimer 0 on", 0, -EINVAL, 0, COMMAND_CORE_USAGE },
		{ "on on", 0, -EINVAL, 3, COMMAND_CORE_USAGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct command c = { 0 };
		struct err e = { 0 };
		size_t at = 99;

		CHECK_INT(command_parse(rows[i].line, strlen(rows[i].line), &known, rows[i].core,
					&c, &at, &e),
			  rows[i].code);
		CHECK_STR(e.msg, rows[i].words);
		CHECK_INT(at, rows[i].at);
	}
}

int main(void)
{
	TAP_CASE(test_understood);
	TAP_CASE(test_refused);
	return tap_done();
}
