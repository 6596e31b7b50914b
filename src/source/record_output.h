/* SPDX-License-Identifier: MIT */
/*
 * record_output: the default output of commands that record: DEFAULT_PROFILE, but nothing is
 * overwritten that was not named: an older file of that name is renamed.
 */
#ifndef SOURCE_RECORD_OUTPUT_H
#define SOURCE_RECORD_OUTPUT_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "source/save.h"

/* Asked before anything is run. path: of -o, NULL: DEFAULT_PROFILE. */
int record_choose_output(const char *path, struct output *ret, struct err *e) MUST_CHECK;

/* An older DEFAULT_PROFILE is kept by the time of its last change, as in
 * "auger.20260131-235959.pb.gz" (said by LOG_WARN), unless -o named it. */
int record_save(const struct profile *p, const struct output *o, bool is_named,
		struct err *e) MUST_CHECK;

#endif
