/* SPDX-License-Identifier: MIT */
/*
 * proc: reads /proc/PID: state and times, descriptors, memory mappings, I/O, lists of numbers.
 *
 * A process may end at any moment: then a function returns false, 0 or nothing, never an error.
 * Source: proc(5).
 */
#ifndef TARGET_PROC_H
#define TARGET_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"

#define PROC_PATH 96 /* bytes of a path of /proc with numbers in it */

/* /proc/PID/stat. "reaped": of children that have been waited for. */
struct proc_stat {
	char name[64]; /* as the kernel has it */
	char comm[64]; /* the same for people: control characters became '?' */
	char state;    /* 'R', 'S', 'D', 'T', 't', 'Z', 'X', ... */
	pid_t parent;
	int group;            /* -1: its parent is waiting for it, and it has no parent, no times */
	unsigned flags;       /* PF_ of linux/sched.h */
	uint64_t start_ticks; /* since boot */
	uint64_t threads, rss_pages;
	uint64_t minor_faults, major_faults, user_ticks, system_ticks;
	uint64_t reaped_minor_faults, reaped_major_faults, reaped_user_ticks, reaped_system_ticks;
	bool is_kernel; /* a thread of the kernel's own */
};

/* False: there is no such process. */
bool proc_stat_read(struct proc_stat *ret, pid_t pid);

/* The number behind "KEY:" in /proc/PID/status, in base; fallback when it is not there. */
uint64_t proc_status_number(pid_t pid, const char *key, int base, uint64_t fallback);

/* The id of a process or thread in its own, innermost pid namespace; 0: the one it has here. */
pid_t proc_inner_pid(pid_t tid);

/* Are process ids here those of the first pid namespace, which the kernel's records name? */
bool proc_has_kernel_pids(void);

/* The numbers that are the names of /proc/PID/fd, /proc/PID/task, or /proc itself, ascending. Adds
 * to ret (rows of int). 0 or -errno. */
int proc_numbers(const char *path, struct rows *ret) MUST_CHECK;

/* The same one by one. proc: "/proc". *ret is owned by the caller: CLEANUP(proc_close); NULL: the
 * process has ended. 0 or -ENOMEM. */
int proc_open_threads(const char *proc, uint32_t pid, DIR **ret) MUST_CHECK;
bool proc_next(DIR *dir, uint32_t *ret); /* false: no more, or dir is NULL */
void proc_close(DIR **dir);

/* How long the calling thread has waited for a CPU, in ns; 0: this kernel does not count it.
 * Source: sched-stats of the kernel, /proc/PID/schedstat. */
int64_t proc_queued_ns(void);

/* Is it still the process that started then? Its number may be another one's. */
bool proc_is(pid_t pid, uint64_t start_ticks);

/* The youngest sleeping thread, for which the others are least likely to wait, or else the
 * youngest. 0: the process has ended. */
pid_t proc_idle_thread(pid_t pid);

/* The first lines of /proc/PID/fdinfo/FD. */
struct proc_fdinfo {
	unsigned flags; /* with O_CLOEXEC where it is set */
	uint64_t pos;
	uint64_t mnt_id;
};

/* text: the whole of fdinfo. False: it is none. */
bool proc_fdinfo_parse(struct proc_fdinfo *ret, const char *text);

/* Duplicates a descriptor of a process. A descriptor, or -errno. Source: pidfd_getfd(2), Linux 5.6.
 */
int proc_dup_fd(pid_t pid, int number) MUST_CHECK;

/* A line of /proc/PID/maps, or the first of a mapping in smaps. */
struct proc_map {
	uint64_t start, end, offset, ino;
	uint32_t dev_major, dev_minor;
	int prot; /* PROT_ */
	bool is_shared;
	const char *path; /* borrowed from the line, to its end; a newline in it is \012 */
};

/* False: it is no such line. */
bool proc_map_parse(struct proc_map *ret, const char *line);

/* /proc/PID/io: bytes and calls, with those of reaped children. */
struct proc_io {
	bool has_value;
	int64_t read_chars, write_chars; /* by read(2) and write(2), from wherever */
	int64_t read_calls, write_calls;
	int64_t read_bytes, write_bytes; /* from and to storage; written: made dirty */
};

/* process: "self" or a number. Returns the length of the file: reading our own counts it, from the
 * next time on. 0: it may not be read. */
int64_t proc_io_read(const char *process, struct proc_io *ret);

/* Does a process run a file with set-id bits of another user or group than ours? */
bool proc_is_set_id(pid_t pid);

/* Of a page: the unit of mappings and of pagemap. */
uint64_t proc_page_bytes(void);

/* The next line of text that begins with word, behind it; *at moves behind the line. NULL: none.
 * Ends the line with a NUL. */
char *proc_line(char **at, const char *word);

#endif
