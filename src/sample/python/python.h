/* SPDX-License-Identifier: MIT */
/*
 * python: Python frames of samples, as a source for ingest (interp/interp.h).
 *
 * By BPF, frames are walked in the kernel at the moment of the sample (walker.h). Without the
 * rights for that, they are read from the process' memory when a sample wakes us up; readings that
 * do not fit the native stack are not used. Files are asked for CPython by file_reader.h.
 */
#ifndef SAMPLE_PYTHON_PYTHON_H
#define SAMPLE_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "interp/interp.h"
#include "model/profile.h"

enum python_method {
	PYTHON_METHOD_NONE,
	PYTHON_METHOD_BPF,  /* at the moment of the sample */
	PYTHON_METHOD_READ, /* from the process' memory, a little later */
};

struct python_opts {
	bool keeps_native;                /* shows the interpreter's own frames, too */
	bool has_locks;                   /* samples get the label "gil", by BPF */
	bool has_no_bpf;                  /* reads memory, even where BPF is permitted */
	bool has_stopped_threads;         /* the same, at each sample: its thread is stopped */
	const struct walker_maps *shared; /* NULL: none; borrowed until python_free() */
};

struct python_counts {
	enum python_method method;
	bool is_seen;          /* a process with CPython was */
	uint64_t dropped;      /* stacks that were no chain of frames */
	uint64_t lost;         /* stacks that there was no room for */
	bool is_refused;       /* one of a version that is not known was */
	bool is_free_threaded; /* a build without the GIL was seen, and is not read */
	const char *reason;    /* why PYTHON_METHOD_BPF is not used; "" */
};

struct python;
struct walker_maps;

/* 0 or -ENOMEM. Without BPF, frames are read. */
int python_new(const struct python_opts *o, struct python **ret, struct err *e) MUST_CHECK;
void python_free(struct python *p); /* NULL is allowed */

/* The profile that locations are added to, which must outlive p or its next python_use(). */
void python_use(struct python *p, struct profile *profile);

/* For ingest_opts; owned by p. */
const struct interp_source *python_source(struct python *p);

/* Descriptor of the program for sampling events; -1: none. */
int python_program(const struct python *p);

/* Searches the program of a command, or a running process, for CPython before it is recorded, so
 * that no sample is missed. */
void python_expect_command(struct python *p, char *const *argv);
void python_expect_process(struct python *p, pid_t pid);

/* Is each sample to wake us up, so that its frames can be read? */
bool python_wants_wakeups(const struct python *p);

/* From now on new processes' files are asked at once; before, only those of processes that are
 * sampled. */
void python_begin(struct python *p);

/* Reads what came since: after the heads of perf's rings, and before their records. -ENOMEM. */
int python_poll(struct python *p) MUST_CHECK;

/* The frames of a thread at a sample that is in a ring, by PYTHON_METHOD_READ. -ENOMEM. */
int python_read(struct python *p, uint32_t pid, uint32_t tid, uint64_t time_ns) MUST_CHECK;

/* The frames of a thread that waits since before the recording; reads them by any method. -ENOMEM.
 */
int python_read_waiting(struct python *p, uint32_t pid, uint32_t tid, uint64_t time_ns) MUST_CHECK;

/* Forgets the frames of samples before this time. -ENOMEM. */
int python_forget(struct python *p, uint64_t before_ns) MUST_CHECK;

/* Are there files that have not replied? */
bool python_is_asking(const struct python *p);

/* Waits for their replies, up to a second each. -ENOMEM. */
int python_settle(struct python *p) MUST_CHECK;

/* Has a program that was expected CPython, or is one mapped that needs it? */
bool python_is_expected(const struct python *p);

struct python_counts python_counts(const struct python *p);

#endif
