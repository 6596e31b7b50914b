/* SPDX-License-Identifier: MIT */
#include "cli/grouping.h"

#include <string.h>

#include "base/nearest.h"
#include "cli/cmd.h"

int grouping_parse(const char *text, struct grouping *ret, struct err *e)
{
	static const struct {
		const char *name;
		struct grouping grouping;
	} known[] = {
		{ "function", { FRAME_BY_FUNCTION, NULL } },
		{ "line", { FRAME_BY_LINE, NULL } },
		{ "address", { FRAME_BY_ADDRESS, NULL } },
		{ "module", { FRAME_BY_MODULE, NULL } },
		{ "comm", { 0, "comm" } },
		{ "thread", { 0, "thread" } },
		{ "pid", { 0, "pid" } },
		{ "rank", { 0, "rank" } },
		{ "host", { 0, "host" } },
		{ "data", { 0, "data" } },
	};

	struct nearest near = nearest_start(text, strlen(text));

	if (strncmp(text, "label:", 6) == 0 && text[6]) {
		*ret = (struct grouping){ 0, text + 6 };
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].name, text) == 0) {
			*ret = known[i].grouping;
			return 0;
		}
		nearest_add(&near, known[i].name);
	}
	return err_usage(
		e,
		"--by: '%s' is not function, line, address, module, comm, thread, pid, rank, host, data, class or label:KEY%s",
		text, nearest_text(&near, ""));
}
