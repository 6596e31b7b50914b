/* SPDX-License-Identifier: MIT */
/*
 * What anybody writes to a control file, behind a byte that chooses the file, kpctl or a core's: it
 * is understood within its limits, or refused with the place and the reason.
 */
#include <string.h>

#include "base/macros.h"
#include "ctlfs/command.h"
#include "fuzz.h"

static void check_value(const struct command *c)
{
	static const struct {
		enum verb verb;
		uint64_t least, most;
	} limits[] = {
		{ VERB_PERIOD, PERIOD_MIN_US, PERIOD_MAX_US },
		{ VERB_QLIMIT, QLIMIT_MIN_KB, QLIMIT_MAX_KB },
		{ VERB_DEPTH, 0, DEPTH_MAX },
		{ VERB_AUTOSTOP, 0, AUTOSTOP_MAX_S },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (c->verb == limits[i].verb)
			FUZZ_CHECK(c->value >= limits[i].least && c->value <= limits[i].most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint32_t numbers[] = { 0, 1, 2, 5, 64 };
	const struct cpulist known = { numbers, ARRAY_LEN(numbers) };
	CLEANUP(command_fini) struct command c = { 0 };
	struct err e = { 0 };
	size_t at = SIZE_MAX, chosen = size ? data[0] % (known.count + 1) : 0;
	int64_t core = chosen < known.count ? (int64_t)numbers[chosen] : -1;
	char *line;

	if (!size)
		return 0;
	line = malloc(size); /* no byte behind it can be read */
	FUZZ_CHECK(line);
	memcpy(line, data + 1, size - 1);
	if (command_parse(line, size - 1, &known, core, &c, &at, &e) < 0) {
		FUZZ_CHECK(e.msg[0] && at <= size - 1);
	} else {
		check_value(&c);
		for (size_t i = 0; i < c.cores.count; i++)
			FUZZ_CHECK(command_core_index(&known, c.cores.cpus[i]) != SIZE_MAX);
	}
	free(line);
	return 0;
}
