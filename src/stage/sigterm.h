/* SPDX-License-Identifier: MIT */
/*
 * sigterm: writes the reports on SIGTERM, which Slurm sends before it kills a job at its time
 * limit.
 *
 * The handler wakes a thread that writes. The program's own handler runs at once; the default
 * action (termination) happens after the reports are written.
 */
#ifndef STAGE_SIGTERM_H
#define STAGE_SIGTERM_H

/* Installs the handler; later calls do nothing. An ignored SIGTERM stays ignored. */
void sigterm_install(void);

/* Restarts the thread in the child of a fork(). */
void sigterm_forked(void);

#endif
