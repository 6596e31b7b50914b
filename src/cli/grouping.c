/* SPDX-License-Identifier: MIT */
#include "cli/grouping.h"

#include <string.h>

#include "base/file.h"
#include "base/nearest.h"
#include "cli/cmd.h"
#include "view/activity.h"

int grouping_parse(const char *text, struct grouping *ret, struct err *e)
{
	static const struct {
		const char *name;
		enum frame_by by;
		const char *label;
	} known[] = {
		{ "function", FRAME_BY_FUNCTION, NULL },
		{ "line", FRAME_BY_LINE, NULL },
		{ "address", FRAME_BY_ADDRESS, NULL },
		{ "module", FRAME_BY_MODULE, NULL },
		{ "comm", 0, "comm" },
		{ "thread", 0, "thread" },
		{ "pid", 0, "pid" },
		{ "rank", 0, "rank" },
		{ "host", 0, "host" },
		{ ACTIVITY_LABEL, 0, ACTIVITY_LABEL },
		{ "data", 0, "data" },
	};

	struct nearest near = nearest_start(text, strlen(text));

	if (strncmp(text, "label:", 6) == 0 && text[6]) {
		*ret = (struct grouping){ .label = text + 6 };
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].name, text) == 0) {
			*ret = (struct grouping){ known[i].by, known[i].label,
						  strcmp(text, ACTIVITY_LABEL) == 0 };
			return 0;
		}
		nearest_add(&near, known[i].name);
	}
	return err_usage(
		e,
		"--by: '%s' is not function, line, address, module, comm, thread, pid, rank, host, data, class or label:KEY%s",
		text, nearest_text(&near, ""));
}

int grouping_label_classes(struct profile **p, const char *rules, struct err *e)
{
	CLEANUP(activity_fini) struct activity all = { 0 };
	struct file_input text = { 0 };
	int rc = rules ? file_load(rules, &text, e) : 0;

	if (rc == 0 && rules) {
		rc = activity_add(&all, (const char *)text.data, text.len, rules, e);
		file_input_fini(&text);
	}
	if (rc == 0)
		rc = activity_add_ours(&all, e);
	return rc == 0 ? profile_label_activities(p, &all, e) : rc;
}
