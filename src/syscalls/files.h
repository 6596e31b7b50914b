/* SPDX-License-Identifier: MIT */
/*
 * syscall_files: what the descriptors and relative paths of processes stand for, followed through
 * their calls.
 *
 * What no call decoded is asked of /proc, which may be too late for a process that has ended.
 * Tables are per process: threads that do not share theirs (CLONE_FILES) are not decoded apart.
 * Source: proc(5), /proc/PID/fd, /proc/PID/cwd.
 */
#ifndef SYSCALLS_FILES_H
#define SYSCALLS_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "syscalls/call.h"

/* All zero is empty but for strings. */
struct syscall_files {
	struct strtab *strings; /* ids of names are its; borrowed */
	struct rows processes;  /* struct holder of syscall_files.c */
	struct map by_pid;
	struct buf path; /* being made */
	bool skips_proc; /* nothing is asked: what is decoded comes too late for that */
	bool bad;        /* memory ran out */
};

void syscall_files_fini(struct syscall_files *f);

/* A command of ours begins with what we have. */
void syscall_files_inherit(struct syscall_files *f, uint32_t pid);

/* A process has a copy of its parent's; it ended. What an exec closes is made anew before it is
 * used. */
void syscall_files_fork(struct syscall_files *f, uint32_t pid, uint32_t parent);
void syscall_files_exit(struct syscall_files *f, uint32_t pid);

/* Its name: the absolute path, "socket:[INODE]", ...; 0: nobody knows. */
uint32_t syscall_files_fd(struct syscall_files *f, uint32_t pid, int fd);

/* The absolute path of one that is relative to a folder's descriptor, or AT_FDCWD. */
uint32_t syscall_files_path(struct syscall_files *f, uint32_t pid, int dirfd, const char *path,
			    size_t len);

/* That of a path among a call's arguments; 0: it was not read. */
uint32_t syscall_files_path_arg(struct syscall_files *f, const struct syscall *c, size_t arg);

/* What a call changes in all this. Asked after what it stood for. */
void syscall_files_apply(struct syscall_files *f, const struct syscall *c);

#endif
