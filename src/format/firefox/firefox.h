/* SPDX-License-Identifier: MIT */
/*
 * firefox: the processed profile format of the Firefox Profiler, profiler.firefox.com; reading is
 * in format/firefox/read.h.
 *
 * Version 55 is written, which the profiler upgrades to its own. One sample type is written, the
 * default one; each thread (labels pid, tid, comm) has its own tables. Samples stand at their times
 * (format/thread_rows.h); what has none is a weighted sample at time 0. The range that is shown is
 * the recording's. Values below 1 are left out.
 *
 * Source: github.com/firefox-devtools/profiler, docs-developer/processed-profile-format.md and
 * CHANGELOG-formats.md; the output of samply.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_H
#define FORMAT_FIREFOX_FIREFOX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_firefox;

/* -EINVAL when there is no sample type. */
int firefox_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

#endif
