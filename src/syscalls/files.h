/* SPDX-License-Identifier: MIT */
/*
 * files: names the descriptors and relative paths of traced processes, by following their calls.
 *
 * What no call has shown is read from /proc, which is too late for a process that has ended. There
 * is one table a process: threads with tables of their own (no CLONE_FILES) share it wrongly.
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

/* A program may ask for any number of paths: of so many, and of so many bytes, each has its own
 * name, further ones are this. */
#define SYSCALL_FILE_NAMES_MAX (1u << 19)
#define SYSCALL_FILE_BYTES_MAX (UINT64_C(64) << 20)
#define SYSCALL_FILE_OTHERS "[others]"

/* All zero is empty but for strings. */
struct syscall_files {
	struct strtab *strings; /* holds the names; borrowed */
	struct rows processes;  /* struct holder of files.c */
	struct map by_pid;
	struct buf path;     /* scratch */
	uint64_t name_bytes; /* interned so far */
	bool is_full;        /* new names are SYSCALL_FILE_OTHERS */
	bool skips_proc;     /* /proc is not read: events come too late for it */
	bool bad;            /* memory ran out */
};

void syscall_files_fini(struct syscall_files *f);

/* The command inherits our descriptors and working directory. */
void syscall_files_inherit(struct syscall_files *f, uint32_t pid);

/* A process copies its parent's table at fork, and ends. A descriptor that exec closed is opened
 * again before it is used. */
void syscall_files_fork(struct syscall_files *f, uint32_t pid, uint32_t parent);
void syscall_files_exit(struct syscall_files *f, uint32_t pid);

/* The name of a descriptor: its absolute path, "socket:[INODE]", ...; 0: unknown. */
uint32_t syscall_files_fd(struct syscall_files *f, uint32_t pid, int fd);

/* Names a descriptor until a call changes it. */
void syscall_files_set_fd(struct syscall_files *f, uint32_t pid, int fd, const char *name,
			  size_t len);

/* The absolute path of a path relative to dirfd, which may be AT_FDCWD. */
uint32_t syscall_files_path(struct syscall_files *f, uint32_t pid, int dirfd, const char *path,
			    size_t len);

/* The absolute path of a path argument; 0: it was not read. */
uint32_t syscall_files_path_arg(struct syscall_files *f, const struct syscall *c, size_t arg);

/* Applies what a call changes in the tables. Call it after the call was decoded. */
void syscall_files_apply(struct syscall_files *f, const struct syscall *c);

#endif
