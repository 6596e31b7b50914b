/* SPDX-License-Identifier: MIT */
/*
 * snapshot: renders files that need symbols, in a thread of its own.
 *
 * The thread works on a copy of the samples at open(2), because symbolizing takes long.
 */
#ifndef CTLFS_SNAPSHOT_H
#define CTLFS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/session.h"

enum snapshot_kind { SNAPSHOT_PPROF, SNAPSHOT_GPERFTOOLS, SNAPSHOT_HISTOGRAM };

/* Symbolizes a profile; files as in struct symbolize_opts. May run in any thread. */
typedef int snapshot_namer(struct profile *p, const char *const *files, struct err *e);

struct snapshot;

/* done_fd: an eventfd that is signaled when the snapshot is complete. */
int snapshot_start(enum snapshot_kind kind, struct session *s, snapshot_namer *name, int done_fd,
		   struct snapshot **ret, struct err *e) MUST_CHECK;

bool snapshot_is_done(const struct snapshot *s);

/* Waits for the thread, frees the snapshot, and gives the file to ret. 0 or -errno. */
int snapshot_finish(struct snapshot *s, struct buf *ret, struct err *e) MUST_CHECK;

#endif
