/* SPDX-License-Identifier: MIT */
/* grouping: parses --by: frames to group by, or a label; among them the class of activity. */
#ifndef CLI_GROUPING_H
#define CLI_GROUPING_H

#include <stdbool.h>

#include "base/err.h"
#include "base/opt.h"
#include "model/profile.h"
#include "view/tree.h"

#define GROUPING_HELP \
	"Group by function [default], line, address, module, comm, thread, pid, rank, host, class, data, label:KEY"

struct grouping {
	enum frame_by by;
	const char *label; /* key, "thread" or "pid"; borrowed from the text; NULL: frames */
	bool is_class;     /* label is the class of activity: grouping_label_classes() */
};

int grouping_parse(const char *text, struct grouping *ret, struct err *e) MUST_CHECK;

/* Gives samples their class of activity (view/activity.h). rules: a file whose rules come before
 * auger's own; NULL: none. On failure *p is still valid. */
int grouping_label_classes(struct profile **p, const char *rules, struct err *e) MUST_CHECK;
/* The file, to a text of a command's struct args. */
#define OPT_CLASSES(args, field)                   \
	OPT_STR(0, "classes", "FILE", args, field, \
		"Add rules for classes of activity, before auger's own")

#endif
