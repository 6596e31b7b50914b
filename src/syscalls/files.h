/* SPDX-License-Identifier: MIT */
/*
 * sysc_files: what the descriptors and relative paths of processes stand for, followed through
 * their calls.
 *
 * What no call told is asked of /proc, which may be too late for a process that has ended. Tables
 * are per process: threads that do not share theirs (CLONE_FILES) are not told apart.
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
struct sysc_files {
	struct strtab *strings; /* ids of names are its; borrowed */
	struct rows processes;  /* struct holder of sysc_files.c */
	struct map by_pid;
	struct buf path; /* being made */
	bool is_blind;   /* nothing is asked: what is told comes too late for that */
	bool bad;        /* memory ran out */
};

void sysc_files_fini(struct sysc_files *f);

/* A command of ours begins with what we have. */
void sysc_files_start(struct sysc_files *f, uint32_t pid);

/* A process has a copy of its parent's; it ended. What an exec closes is made anew before it is
 * used. */
void sysc_files_fork(struct sysc_files *f, uint32_t pid, uint32_t parent);
void sysc_files_exit(struct sysc_files *f, uint32_t pid);

/* Its name: the absolute path, "socket:[INODE]", ...; 0: nobody knows. */
uint32_t sysc_files_fd(struct sysc_files *f, uint32_t pid, int fd);

/* The absolute path of one that is relative to a folder's descriptor, or AT_FDCWD. */
uint32_t sysc_files_path(struct sysc_files *f, uint32_t pid, int dirfd, const char *path,
			 size_t len);

/* That of a path among a call's arguments; 0: it was not read. */
uint32_t sysc_files_argument(struct sysc_files *f, const struct sysc_call *c, size_t arg);

/* What a call changes in all this. Asked after what it stood for. */
void sysc_files_follow(struct sysc_files *f, const struct sysc_call *c);

#endif
