/* SPDX-License-Identifier: MIT */
/*
 * record_output: where a recorded profile goes, and what becomes of the one that is there.
 *
 * path is what -o named. NULL: DEFAULT_PROFILE, and an older file of that name is kept, under
 * a name with its time ("auger.20260131-235959.pb.gz").
 */
#ifndef CLI_RECORD_OUTPUT_H
#define CLI_RECORD_OUTPUT_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Before anything is run: can it be written? */
int record_check_output(const char *path, struct err *e) MUST_CHECK;

/* In the format that the name's ending says, else pprof's. */
int record_write(const struct profile *p, const char *path, struct err *e) MUST_CHECK;

#endif
