/* SPDX-License-Identifier: MIT */
/* mapped_file: the files that a process has mapped, also in another mount namespace. */
#ifndef HEAP_MAPPED_FILE_H
#define HEAP_MAPPED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "target/proc.h"

/* Opens the file of a mapping, and no other one that has its name by now. -1: not possible. */
int mapped_file_open(pid_t pid, const struct proc_map *m);

/* Opens the heap file of a process that is recorded, for reading. -ENOENT: it is not; -EACCES: it
 * may be, but there is no way to the file for us. */
int mapped_heap_open(pid_t pid, int *ret, struct err *e) MUST_CHECK;

/* /proc/PID/maps, as text. -ESRCH: there is no such process. */
int mapped_read(pid_t pid, struct buf *ret, struct err *e) MUST_CHECK;

/* Its mappings, until see returns other than 0, which is returned; or -ENOMEM. */
int mapped_each(const struct buf *maps, int (*see)(const struct proc_map *m, void *context),
		void *context) MUST_CHECK;

#endif
