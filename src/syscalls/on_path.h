/* SPDX-License-Identifier: MIT */
/*
 * on_path: which calls are on some paths, as strace's -P: that name one of them, or use a
 * descriptor of it. Source: strace(1).
 *
 * Paths are compared as text, absolute and without "." and "..". A file that was opened by another
 * name, such as a symbolic link, has that name.
 */
#ifndef SYSCALLS_ON_PATH_H
#define SYSCALLS_ON_PATH_H

#include "base/buf.h"
#include "syscalls/files.h"

struct syscall_on_path {
	struct rows wanted; /* uint32_t: ids of names of the files */
	struct buf scratch;
};

/* All zero is empty. paths: as the user gives them, relative to our working directory; the file
 * that a symbolic link leads to counts, too. Lack of memory sets files->bad. */
void syscall_on_path_add(struct syscall_on_path *o, struct syscall_files *files, const char *path);
void syscall_on_path_fini(struct syscall_on_path *o);

/* Call it before the call is applied to files. */
bool syscall_is_on_path(struct syscall_on_path *o, struct syscall_files *files,
			const struct syscall *c);

#endif
