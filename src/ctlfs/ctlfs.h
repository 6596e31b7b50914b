/* SPDX-License-Identifier: MIT */
/*
 * ctlfs: the control files, a file system from which sampling is driven by reading and
 * writing. README below describes them as users see them.
 *
 * One thread does all but the naming of snapshots: it takes the requests of the kernel, the
 * records of the rings, and signals, as they come. A read that has to wait keeps its request
 * until there is something to answer it with, or it is interrupted; nothing else waits for it.
 *
 * Source: the files of Akaros' kprof device, kern/drivers/dev/kprof.c of July 2015.
 */
#ifndef CTLFS_CTLFS_H
#define CTLFS_CTLFS_H

#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/opts.h"

/* Until it is unmounted, or SIGINT, SIGTERM or SIGHUP comes; then nothing is left behind. */
int ctlfs_run(const struct ctlfs_opts *o, struct err *e) MUST_CHECK;

#endif
