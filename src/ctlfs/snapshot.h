/* SPDX-License-Identifier: MIT */
/*
 * snapshot: files whose making takes long (names are looked up), made by a thread of their own
 * from a copy of what there was when they were opened.
 */
#ifndef CTLFS_SNAPSHOT_H
#define CTLFS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/session.h"

enum snapshot_kind { SNAPSHOT_PPROF, SNAPSHOT_GPERFTOOLS, SNAPSHOT_TICKS };

/* Names a profile; files as in struct symbolize_opts. In any thread. */
typedef int snapshot_namer(struct profile *p, const char *const *files, struct err *e);

struct snapshot;

/* done_fd: an eventfd that is counted up when it is ready. */
int snapshot_start(enum snapshot_kind kind, struct session *s, snapshot_namer *name, int done_fd,
		   struct snapshot **ret, struct err *e) MUST_CHECK;

bool snapshot_is_done(const struct snapshot *s);

/* Waits for the end, frees the snapshot, and hands over the file. 0 or -errno. */
int snapshot_finish(struct snapshot *s, struct buf *ret, struct err *e) MUST_CHECK;

#endif
