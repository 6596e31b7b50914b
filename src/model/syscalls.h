/* SPDX-License-Identifier: MIT */
/*
 * syscalls: statistics of system calls by subject, call and error.
 *
 * A subject is what separates the calls: a thread, a process, a file, a descriptor or a path, or
 * nothing (subject 0, which always exists). The model does not know where calls come from or how
 * views show them. Builders remember failure; syscalls_error() reports it once at the end.
 */
#ifndef MODEL_SYSCALLS_H
#define MODEL_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/latency.h"

/* What separates the calls. */
enum syscalls_by {
	SYSCALLS_BY_CALL, /* nothing else */
	SYSCALLS_BY_THREAD,
	SYSCALLS_BY_PROCESS,
	SYSCALLS_BY_FILE, /* that a descriptor or a path stands for */
	SYSCALLS_BY_FD,   /* of a process */
	SYSCALLS_BY_ERRNO,
	SYSCALLS_BY_PATH, /* as the program gave it; only calls that have one */
	SYSCALLS_BYS
};
extern const char *const syscalls_by_names[]; /* up to "errno", NULL: for OPT_CHOICE */

struct syscalls_subject {
	uint32_t pid, tid; /* 0: of none, or of all */
	uint32_t name;     /* string id: comm, or path */
	int32_t fd;        /* of SYSCALLS_BY_FD, else -1 */
	int64_t wall_ns;   /* sum of its threads' lifetimes; 0: unknown */
};

/* Calls of one subject, name and outcome. */
struct syscalls_cell {
	uint32_t subject, call; /* index; string id */
	int32_t error;          /* errno, positive; 0: done */
	uint64_t count;         /* with those that were not seen from begin to end */
	struct latency latency; /* of those that were */
};

#define SYSCALLS_SLOWEST 10

/* A single call. */
struct syscalls_slow {
	uint32_t pid, tid;
	uint32_t comm, call, args, result, error; /* string ids; error: "ENOENT", or "" */
	int64_t start_ns;                         /* CLOCK_MONOTONIC */
	int64_t took_ns;
};

struct syscalls {
	enum syscalls_by by;
	bool wants_slowest; /* set it before the first call */
	struct strtab *strings;
	struct rows subjects; /* struct syscalls_subject; the first: all */
	struct rows cells;    /* struct syscalls_cell */
	struct map by_name;   /* (subject, call) to a number of its own */
	struct map by_error;  /* (that number, error) to the cell */
	bool bad;             /* memory ran out */

	struct syscalls_slow slowest[SYSCALLS_SLOWEST]; /* [0..slow_count), the slowest first */
	size_t slow_count;

	/* What it is all about. */
	int64_t start_ns;             /* of the recording, CLOCK_MONOTONIC */
	int64_t duration_ns, wall_ns; /* of the recording; of all threads, summed */
	uint64_t threads;
	uint64_t lost; /* calls, or records of calls, that were dropped */
};

/* 0 or -ENOMEM. */
int syscalls_init(struct syscalls *s, enum syscalls_by by) MUST_CHECK;
void syscalls_fini(struct syscalls *s); /* all zero is allowed */
int syscalls_error(const struct syscalls *s) MUST_CHECK;

/* Its string id; 0: "". */
uint32_t syscalls_str(struct syscalls *s, const char *text, size_t len);
const char *syscalls_text(const struct syscalls *s, uint32_t id);

/* A new subject; 0: out of memory. */
uint32_t syscalls_add_subject(struct syscalls *s, const struct syscalls_subject *subject);
struct syscalls_subject *syscalls_subject(struct syscalls *s,
					  uint32_t index); /* until the next add */

/* Where calls of this kind are summed, until the next one is made. NULL: out of memory. */
struct syscalls_cell *syscalls_cell(struct syscalls *s, uint32_t subject, uint32_t call,
				    int32_t error);

/* By index, for repeated use of the same ones. */
uint32_t syscalls_cell_index(const struct syscalls *s, const struct syscalls_cell *cell);
struct syscalls_cell *syscalls_cell_at(struct syscalls *s, uint32_t index);

/* A call. ns: how long it took; negative: it was not seen from begin to end. */
void syscalls_add(struct syscalls *s, uint32_t subject, uint32_t call, int32_t error, int64_t ns);
void syscalls_add_to(struct syscalls *s, struct syscalls_cell *cell, int64_t ns); /* NULL: none */

/* "ENOENT"; what has no name is "errno 999". */
const char *syscalls_error_name(int32_t error, char buffer[24]);

/* A call, decoded, or what else a thread meets. Borrowed until the next one. */
struct syscall_decoded {
	uint32_t pid, tid;
	const char *comm;
	const char *event; /* "signal", "exit", "superseded": result describes it, at start_ns;
			      NULL: a call */
	const char *call;
	const char *args; /* decoded, separated by ", " */
	bool has_end;
	int64_t ret;
	const char *result;       /* decoded */
	const char *error;        /* "ENOENT"; NULL: none */
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; -1: not seen */
	uint32_t stack;           /* a node of the profile of stacks; 0: not known */
};

/* Is a call that took so long one of the slowest so far? False unless wants_slowest. */
bool syscalls_is_slow(const struct syscalls *s, int64_t ns);
/* Adds a call with both times, if it is one of the slowest. */
void syscalls_add_slow(struct syscalls *s, const struct syscall_decoded *c);

#endif
