/* SPDX-License-Identifier: MIT */
/*
 * record_output: where commands that record write their profile.
 *
 * Nothing is overwritten that -o did not name: an older file is renamed by the time of its last
 * change, as in "auger.20260131-235959.pb.gz" (said by LOG_WARN).
 *
 * Without -o it is DEFAULT_PROFILE, but for a rank of several of one launch: auger-JOB/, or
 * auger-LAUNCH/ without a job, in which each rank has its file, HOST.RANK.pb.gz. -o FOLDER/ names
 * that folder. The file ".run" in it says which launch it is of: another launch takes FOLDER-2,
 * FOLDER-3, and so on. So launches do not mix, and none moves files under another one that runs.
 */
#ifndef SOURCE_RECORD_OUTPUT_H
#define SOURCE_RECORD_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "job/place.h"
#include "model/merge.h"
#include "model/profile.h"
#include "source/save.h"

#define RECORD_LABELS 5

struct record_output {
	struct output output; /* its path is path's */
	struct buf path;
	bool is_named;   /* by -o: an older file is replaced */
	bool is_default; /* DEFAULT_PROFILE */
	bool is_quiet;   /* another rank prints what all have to say: rank 0 */
	struct job_place place;
	struct text_label labels[RECORD_LABELS]; /* [label_count]: of each sample; place's */
	size_t label_count;
};

/* Asked before anything is run. path: of -o, NULL: none. */
int record_output_init(struct record_output *o, const char *path, struct err *e) MUST_CHECK;
void record_output_fini(struct record_output *o); /* all zero is allowed */

int record_save(const struct profile *p, const struct record_output *o, struct err *e) MUST_CHECK;

/* The path as later commands need it; NULL: they find it by themselves. */
const char *record_output_name(const struct record_output *o);

#endif
