/* SPDX-License-Identifier: MIT */
/*
 * ctlfs: the control file system: reads and writes of its files control sampling.
 *
 * One thread does everything except symbolizing snapshots: it serves requests of the kernel,
 * records of the rings, and signals. A read without data keeps its request until data comes or it
 * is interrupted; it blocks nothing else. README in nodes.c describes the files for users.
 *
 * Source: the files of Akaros' kprof device, kern/drivers/dev/kprof.c of July 2015.
 */
#ifndef CTLFS_CTLFS_H
#define CTLFS_CTLFS_H

#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/opts.h"

/* Serves until unmount, or SIGINT, SIGTERM or SIGHUP; then cleans up everything. */
int ctlfs_run(const struct ctlfs_opts *o, struct err *e) MUST_CHECK;

#endif
