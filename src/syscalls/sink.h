/* SPDX-License-Identifier: MIT */
/*
 * sink: takes threads and calls from any method, sums them and passes each decoded call on.
 *
 * The only failure is lack of memory; the sink remembers it for syscall_sink_error().
 */
#ifndef SYSCALLS_FEED_H
#define SYSCALLS_FEED_H

#include <signal.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "syscalls/call.h"
#include "syscalls/files.h"
#include "syscalls/on_path.h"
#include "syscalls/opts.h"

#define SYSCALL_COMM_LEN 16 /* bytes of a thread's name, with the NUL; as in the kernel */

struct syscall_thread {
	uint32_t pid, tid;
	uint32_t subject; /* in the tally; 0: none yet */
	int64_t start_ns; /* since when it is traced */
	char comm[SYSCALL_COMM_LEN];
};

/* The tally cell of the last call with this number. */
struct syscall_cached_cell {
	uint32_t nr, subject;
	int32_t error;
	uint32_t cell; /* index + 1; 0: none */
};

#define SYSCALL_SUBJECTS_MAX (1u << 19) /* further ones are summed as one, "[others]" */
#define SYSCALL_CELL_CACHE 64           /* a power of two */

struct syscall_sink {
	const struct syscall_opts *opts;
	struct syscalls *tally;
	bool has_files;   /* descriptors and folders are followed */
	bool has_decoded; /* the command's first call was decoded */
	struct syscall_files files;
	struct syscall_on_path on_path;
	struct rows threads;  /* struct syscall_thread; slots of ended threads are reused */
	struct rows unused;   /* uint32_t: their indices */
	struct map by_tid;    /* to threads */
	uint32_t last;        /* index in threads of the last lookup */
	struct map by_pid;    /* to subjects, of processes */
	struct map by_object; /* (pid, fd), or the name of a file, to subjects */
	uint32_t others;      /* the subject of calls beyond SYSCALL_SUBJECTS_MAX; 0: not made */
	struct map by_nr;     /* to string ids of the calls' names */
	struct syscall_cached_cell recent[SYSCALL_CELL_CACHE]; /* by number */
	struct buf args, result;                               /* of the call that is decoded */
	int64_t start_ns;                                      /* of the recording */
};

/* Must the method read memory of all calls: paths only, or all of it? That of the slowest calls may
 * be read besides. */
bool syscall_wants_paths(const struct syscall_opts *o);
bool syscall_wants_memory(const struct syscall_opts *o);

/* Is this call one that the user wants to see? error, ns: see select.h. */
bool syscall_is_shown(const struct syscall_opts *o, uint32_t nr, int32_t error, int64_t ns);

/* Must calls with this number be reported? The result does not depend on others. */
bool syscall_is_wanted(const struct syscall_opts *o, uint32_t nr);

void syscall_sink_init(struct syscall_sink *f, const struct syscall_opts *o, int64_t start_ns);
void syscall_sink_fini(struct syscall_sink *f);
/* For a method that reads no paths: descriptors are printed as numbers. */
void syscall_sink_skip_files(struct syscall_sink *f);
int syscall_sink_error(const struct syscall_sink *f) MUST_CHECK;

/* Adds a thread that exists since since_ns, with the name of parent (0: read from /proc). Does
 * nothing for a known thread. */
void syscall_sink_add_thread(struct syscall_sink *f, uint32_t pid, uint32_t tid, uint32_t parent,
			     int64_t since_ns);
void syscall_sink_set_comm(struct syscall_sink *f, uint32_t tid, const char *comm, size_t len);
/* A process executed another program: its other threads ended, and the caller became its first. */
void syscall_sink_exec(struct syscall_sink *f, uint32_t pid, uint32_t tid, int64_t ns);
void syscall_sink_exit(struct syscall_sink *f, uint32_t tid, int64_t ns);

void syscall_sink_call(struct syscall_sink *f, const struct syscall *c);

/* A thread gets a signal, or ends with a status as of wait(2): reported when calls are, and nothing
 * selects calls by outcome or path. The end comes before syscall_sink_exit(). */
void syscall_sink_signal(struct syscall_sink *f, uint32_t tid, const siginfo_t *info, int64_t ns);
void syscall_sink_status(struct syscall_sink *f, uint32_t tid, int status, int64_t ns);
/* The first thread of a process, which goes when the thread tid calls exec; syscall_sink_exec()
 * calls it. */
void syscall_sink_superseded(struct syscall_sink *f, const struct syscall_thread *t, uint32_t tid,
			     int64_t ns);
/* NULL: not known. Until the next thread is added. */
struct syscall_thread *syscall_sink_thread(struct syscall_sink *f, uint32_t tid);

/* For methods that sum by themselves: adds one of the slowest calls, which has both times. comm:
 * of its thread. What is known of its descriptors is in files. */
void syscall_sink_slow(struct syscall_sink *f, const struct syscall *c, const char *comm);

/* Likewise: the tally's subject of a thread, and the name of a call. */
uint32_t syscall_sink_subject(struct syscall_sink *f, uint32_t pid, uint32_t tid);
uint32_t syscall_sink_call_name(struct syscall_sink *f, uint32_t nr);

/* Ends the recording at this time. */
void syscall_sink_end(struct syscall_sink *f, int64_t ns);

#endif
