/* SPDX-License-Identifier: MIT */
#include "format/folded.h"

static const char *const suffixes[] = { ".folded", ".collapsed", NULL };

const struct format format_folded = {
	.name = "folded",
	.summary = "one stack a line: stackcollapse, flamegraph.pl",
	.mark = "frames;frames and a number",
	.lost = "-",
	.suffixes = suffixes,
	.is_text = true,
	.detect = folded_detect,
	.read = folded_read,
	.write = folded_write,
};
