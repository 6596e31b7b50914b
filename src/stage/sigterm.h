/* SPDX-License-Identifier: MIT */
/*
 * sigterm: reports are written when SIGTERM comes, as Slurm sends it before the time is up.
 *
 * The handler only wakes a thread, which writes. What the program had set for the signal happens
 * then: its own handler at once, the default (the end) when all is written.
 */
#ifndef STAGE_SIGTERM_H
#define STAGE_SIGTERM_H

/* Starts it; later calls do nothing. Where SIGTERM is ignored it is left ignored. */
void sigterm_watch(void);

/* In the child of a fork(), which has no such thread. */
void sigterm_forked(void);

#endif
