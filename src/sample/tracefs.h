/* SPDX-License-Identifier: MIT */
/*
 * tracefs: the kernel's files about its tracepoints.
 *
 * Not every system mounts them. Where we may, we then have a mount of our own, which no folder
 * shows: nothing is changed for others. Source: fsmount(2).
 */
#ifndef SAMPLE_TRACEFS_H
#define SAMPLE_TRACEFS_H

#define TRACEFS_FOLDER "/sys/kernel/tracing" /* where it is mounted by custom */

/* TRACEFS_FOLDER, or where our mount is, until the process ends. */
const char *tracefs_path(void);

#endif
