/* SPDX-License-Identifier: MIT */
/* grouping: parses --by: frames to group by, or a label. */
#ifndef CLI_GROUPING_H
#define CLI_GROUPING_H

#include "base/err.h"
#include "view/tree.h"

#define GROUPING_HELP \
	"Group by function [default], line, address, module, comm, thread, pid, rank, host, data, label:KEY"

struct grouping {
	enum frame_by by;
	const char *label; /* key, "thread" or "pid"; borrowed from the text; NULL: frames */
};

int grouping_parse(const char *text, struct grouping *ret, struct err *e) MUST_CHECK;

#endif
