/* SPDX-License-Identifier: MIT */
#include "format/gperftools/gperftools.h"

static const char *const suffixes[] = { ".prof", NULL };
static const char *const no_suffixes[] = { NULL };

const struct format format_gperftools = {
	.name = "gperftools",
	.summary = "CPU profile of gperftools: google-pprof, go tool pprof",
	.mark = "words 0, 3, 0 or 1, period, 0",
	.lost = "-",
	.suffixes = suffixes,
	.detect = gperftools_detect,
	.read = gperftools_read,
	.write = gperftools_write,
};

const struct format format_gperftools_symbols = {
	.name = "gperftools-symbols",
	.summary = "the same with names: google-pprof needs no binaries",
	.mark = "--- symbol",
	.lost = "-",
	.suffixes = no_suffixes,
	.detect = gperftools_symbols_detect,
	.read = gperftools_read,
	.write = gperftools_symbols_write,
};
