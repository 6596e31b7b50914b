/* SPDX-License-Identifier: MIT */
#include "cli/fetch_progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "symbol/elf/debuginfod.h"

static void show(const char *build_id, uint64_t done, uint64_t total)
{
	static bool is_shown;

	if (!build_id) {
		if (is_shown)
			fputs("\r\033[K", stderr);
		is_shown = false;
		return;
	}
	is_shown = true;
	fprintf(stderr, "\rfetching the debug file of build id %.8s", build_id);
	if (total)
		fprintf(stderr, ": %" PRIu64 " of %" PRIu64 " KiB", done >> 10, total >> 10);
	fputs(" \033[K", stderr);
}

void fetch_progress_enable(void)
{
	if (isatty(STDERR_FILENO))
		debuginfod_show(show);
}
