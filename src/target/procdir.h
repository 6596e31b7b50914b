/* SPDX-License-Identifier: MIT */
/*
 * procdir: the folders of /proc that are named by numbers: processes, and their threads.
 *
 * Source: proc(5).
 */
#ifndef TARGET_PROCDIR_H
#define TARGET_PROCDIR_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* The threads of a process of proc ("/proc"); NULL: it has ended. 0 or -ENOMEM. Owned by the
 * caller: CLEANUP(procdir_close). */
int procdir_open_threads(const char *proc, uint32_t pid, DIR **ret) MUST_CHECK;
void procdir_close(DIR **dir);

/* The next number. false: there is none, or dir is NULL. */
bool procdir_next(DIR *dir, uint32_t *ret);

/* The process that a thread is of; itself when that cannot be known any more. */
uint32_t procdir_process_of(uint32_t tid);

/* Do processes have the numbers that the kernel has for itself? In a container they have others. */
bool procdir_has_kernel_numbers(void);

#endif
