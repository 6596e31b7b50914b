/* SPDX-License-Identifier: MIT */
/*
 * inherited: what this process changes for itself of what its parent gave it, and gives back to
 * the commands it starts.
 *
 * SIGCHLD: a parent that ignores it (some launchers do) makes the kernel reap our children, so
 * that no exit status can be had. RLIMIT_NOFILE: events need two descriptors a thread and CPU.
 */
#ifndef TARGET_INHERITED_H
#define TARGET_INHERITED_H

/* Called by main before anything else is started. */
void inherited_take(void);

/* In a child before its exec. 0 or an errno. */
int inherited_restore(void);

#endif
