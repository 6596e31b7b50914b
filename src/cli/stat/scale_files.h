/* SPDX-License-Identifier: MIT */
/* scale_files: the profiles of auger stat --scale, and the flame graph of their difference. */
#ifndef CLI_STAT_SCALE_FILES_H
#define CLI_STAT_SCALE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "usage/scale_runs.h"

#define SCALE_FOLDER "auger-scale"
#define SCALE_FILES_MAX (SCALE_STEPS_MAX + 1) /* a profile each, and a picture */

/* All zero but for runs is none. */
struct scale_files {
	const struct scale_runs *runs; /* borrowed */
	struct buf folder;
	bool is_new;                  /* the folder is removed when nothing is written to it */
	char *files[SCALE_FILES_MAX]; /* [count] owned */
	size_t count;
};

/* Makes the folder before anything runs. NULL: SCALE_FOLDER, or a free name like it. */
int scale_files_open(struct scale_files *f, const char *folder, struct err *e) MUST_CHECK;

/* Nothing when nothing was sampled. */
int scale_files_save(struct scale_files *f, struct err *e) MUST_CHECK;

void scale_files_fini(struct scale_files *f);

#endif
