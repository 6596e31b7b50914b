/* SPDX-License-Identifier: MIT */
/*
 * syscall_sink: where all methods bring what they see: threads that come and go, and calls.
 *
 * Failure is lack of memory only, and remembered.
 */
#ifndef SYSCALLS_FEED_H
#define SYSCALLS_FEED_H

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "syscalls/call.h"
#include "syscalls/files.h"
#include "syscalls/opts.h"

#define SYSCALL_COMM_LEN 16 /* bytes of a thread's name, with the NUL */

struct syscall_thread {
	uint32_t pid, tid;
	uint32_t subject; /* 0: not made yet */
	int64_t start_ns; /* of what is looked at */
	char comm[SYSCALL_COMM_LEN];
};

/* The cell that the last call of a number went to. */
struct syscall_cached_cell {
	uint32_t nr, subject;
	int32_t error;
	uint32_t cell; /* index + 1; 0: none */
};

#define SYSCALL_CELL_CACHE 64 /* a power of two */

struct syscall_sink {
	const struct syscall_opts *opts;
	struct syscalls *tally;
	bool has_files;   /* they are followed */
	bool has_decoded; /* the command's first call */
	struct syscall_files files;
	struct rows threads;  /* struct syscall_thread; those that ended are used again */
	struct rows unused;   /* uint32_t: their indices */
	struct map by_tid;    /* to threads */
	uint32_t last;        /* of threads: that was asked for last */
	struct map by_pid;    /* to subjects, of processes */
	struct map by_object; /* (pid, fd), or the name of a file, to subjects */
	struct map by_nr;     /* to string ids of the calls' names */
	struct syscall_cached_cell recent[SYSCALL_CELL_CACHE]; /* by number */
	struct buf args, result;                               /* of the call that is decoded */
	int64_t start_ns;                                      /* of the recording */
};

/* Calls with memory (struct syscall) are wanted: of paths, or of all. */
bool syscall_wants_paths(const struct syscall_opts *o);
bool syscall_wants_memory(const struct syscall_opts *o);

/* Has a call of this number to be decoded? Others report_call nothing of what is wanted. */
bool syscall_is_wanted(const struct syscall_opts *o, uint32_t nr);

void syscall_feed_init(struct syscall_sink *f, const struct syscall_opts *o, int64_t start_ns);
void syscall_feed_fini(struct syscall_sink *f);
/* The method sees no paths: what descriptors stand for is not decoded. */
void syscall_sink_skip_files(struct syscall_sink *f);
int syscall_feed_error(const struct syscall_sink *f) MUST_CHECK;

/* A thread is there since, with the name of parent (0: /proc tells it). Known ones stay. */
void syscall_sink_add_thread(struct syscall_sink *f, uint32_t pid, uint32_t tid, uint32_t parent,
			     int64_t since_ns);
void syscall_sink_set_comm(struct syscall_sink *f, uint32_t tid, const char *comm, size_t len);
/* A process executes another program: its other threads have ended, and the one that called is its
 * first. */
void syscall_feed_exec(struct syscall_sink *f, uint32_t pid, uint32_t tid, int64_t ns);
void syscall_feed_exit(struct syscall_sink *f, uint32_t tid, int64_t ns);

void syscall_feed_call(struct syscall_sink *f, const struct syscall *c);

/* For methods that sum up themselves: the subject of a thread or process of the tally, and the
 * name of a call. */
uint32_t syscall_feed_subject(struct syscall_sink *f, uint32_t pid, uint32_t tid);
uint32_t syscall_feed_call_name(struct syscall_sink *f, uint32_t nr);

/* The recording ended. */
void syscall_feed_end(struct syscall_sink *f, int64_t ns);

#endif
