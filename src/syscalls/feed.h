/* SPDX-License-Identifier: MIT */
/*
 * sysc_feed: where all methods bring what they see: threads that come and go, and calls.
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

#define SYSC_COMM 16 /* bytes of a thread's name, with the NUL */

struct sysc_thread {
	uint32_t pid, tid;
	uint32_t subject; /* 0: not made yet */
	int64_t start_ns; /* of what is looked at */
	char comm[SYSC_COMM];
};

/* The cell that the last call of a number went to. */
struct sysc_recent {
	uint32_t nr, subject;
	int32_t error;
	uint32_t cell; /* index + 1; 0: none */
};

#define SYSC_RECENT 64 /* a power of two */

struct sysc_feed {
	const struct sysc_opts *opts;
	struct syscalls *tally;
	bool has_files; /* they are followed */
	bool has_told;  /* the command's first call */
	struct sysc_files files;
	struct rows threads;  /* struct sysc_thread; those that ended are used again */
	struct rows unused;   /* uint32_t: their indices */
	struct map by_tid;    /* to threads */
	uint32_t last;        /* of threads: that was asked for last */
	struct map by_pid;    /* to subjects, of processes */
	struct map by_object; /* (pid, fd), or the name of a file, to subjects */
	struct map by_nr;     /* to string ids of the calls' names */
	struct sysc_recent recent[SYSC_RECENT]; /* by number */
	struct buf args, result;                /* of the call that is told */
	int64_t start_ns;                       /* of the recording */
};

/* Calls with memory (struct sysc_call) are wanted: of paths, or of all. */
bool sysc_wants_paths(const struct sysc_opts *o);
bool sysc_wants_memory(const struct sysc_opts *o);

/* Has a call of this number to be told? Others tell nothing of what is wanted. */
bool sysc_wants(const struct sysc_opts *o, uint32_t nr);

void sysc_feed_init(struct sysc_feed *f, const struct sysc_opts *o, int64_t start_ns);
void sysc_feed_fini(struct sysc_feed *f);
/* The method sees no paths: what descriptors stand for is not told. */
void sysc_feed_hide_files(struct sysc_feed *f);
int sysc_feed_error(const struct sysc_feed *f) MUST_CHECK;

/* A thread is there since, with the name of parent (0: /proc tells it). Known ones stay. */
void sysc_feed_thread(struct sysc_feed *f, uint32_t pid, uint32_t tid, uint32_t parent,
		      int64_t since_ns);
void sysc_feed_name(struct sysc_feed *f, uint32_t tid, const char *comm, size_t len);
/* A process executes another program: its other threads have ended, and the one that called is its
 * first. */
void sysc_feed_exec(struct sysc_feed *f, uint32_t pid, uint32_t tid, int64_t ns);
void sysc_feed_exit(struct sysc_feed *f, uint32_t tid, int64_t ns);

void sysc_feed_call(struct sysc_feed *f, const struct sysc_call *c);

/* For methods that sum up themselves: the subject of a thread or process of the tally, and the
 * name of a call. */
uint32_t sysc_feed_subject(struct sysc_feed *f, uint32_t pid, uint32_t tid);
uint32_t sysc_feed_call_name(struct sysc_feed *f, uint32_t nr);

/* The recording ended. */
void sysc_feed_end(struct sysc_feed *f, int64_t ns);

#endif
