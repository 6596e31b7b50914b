/* SPDX-License-Identifier: MIT */
/* proc: what /proc/PID tells of a process and its descriptors. Source: proc(5). */
#ifndef TARGET_PROC_H
#define TARGET_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"

#define PROC_PATH 96 /* bytes of a path of /proc with numbers in it */

struct proc_stat {
	char comm[64]; /* control characters became '?' */
	char state;    /* 'R', 'S', 'D', 'T', 't', 'Z', 'X', ... */
	pid_t parent;
	uint64_t start_ticks;
	uint64_t threads;
	bool is_kernel; /* a thread of the kernel's own */
};

/* False: it is gone. */
bool proc_stat_read(struct proc_stat *ret, pid_t pid);

/* The number behind "KEY:" in /proc/PID/status, in base; fallback when it is not there. */
uint64_t proc_status_number(pid_t pid, const char *key, int base, uint64_t fallback);

/* How a process or thread is called where it is itself, in the innermost namespace of processes; 0:
 * as it is called here. */
pid_t proc_inner_pid(pid_t tid);

/* The numbers that are the names of /proc/PID/fd, /proc/PID/task, or /proc itself, ascending. Adds
 * to ret (rows of int). 0 or -errno. */
int proc_numbers(const char *path, struct rows *ret) MUST_CHECK;

/* The first lines of fdinfo. */
struct proc_fdinfo {
	unsigned flags; /* with O_CLOEXEC where it is set */
	uint64_t pos;
	uint64_t mnt_id;
};

/* text: the whole of fdinfo. False: it is none. */
bool proc_fdinfo_parse(struct proc_fdinfo *ret, const char *text);

/* The next line of text that begins with word, behind it; *at moves behind the line. NULL: none.
 * Ends the line with a NUL. */
char *proc_line(char **at, const char *word);

#endif
