/* SPDX-License-Identifier: MIT */
/* fetch_progress: shows on a terminal what is fetched from a debuginfod server. */
#ifndef CLI_FETCH_PROGRESS_H
#define CLI_FETCH_PROGRESS_H

/* Shows nothing where standard error is no terminal. Before any thread is started. */
void fetch_progress_enable(void);

#endif
