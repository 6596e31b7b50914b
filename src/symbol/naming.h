/* SPDX-License-Identifier: MIT */
/*
 * naming: has foreign files read for their names by a process that can do nothing else.
 *
 * After naming_isolate(), the first question starts the naming process: this program again, by
 * exec, with NAMING_VERB as its only argument; its main() calls naming_serve() first of all. It is
 * in a sandbox (symbol/sandbox.h) before it reads a foreign byte, and has limits of time and memory
 * for each file. It opens nothing: it names a file it wants, and gets a descriptor when the file
 * follows the rules of opener_open_here() and, for binaries, begins as an ELF file does. A debug
 * file that a server has is fetched here, too, and read there. Its answers and messages are bounded
 * and checked.
 *
 * A file on which it ends or is blocked, or whose answer makes no sense, has no names: a warning
 * has the reason, and it is not requested again. The next request starts another process. Where no
 * process can be started, or without naming_isolate(), the files are read here.
 */
#ifndef SYMBOL_NAMING_H
#define SYMBOL_NAMING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/storage/replies.h"
#include "symbol/name_records.h"

#define NAMING_VERB "naming-process"

/* For each file. */
struct naming_limits {
	unsigned cpu_s;        /* CPU time, in seconds */
	unsigned wall_s;       /* time until the answer, for storage that hangs */
	uint64_t memory_bytes; /* besides room for the bytes of the files themselves */
};

extern const struct naming_limits naming_defaults;

/* limits: borrowed, for good; NULL: no process. Before any thread makes a request. */
void naming_isolate(const struct naming_limits *limits);

/* All zero: no process is started. For one thread, which must outlive the process. */
struct naming {
	pid_t pid;        /* 0: none */
	int fd;           /* of the channel, while there is a process */
	bool has_greeted; /* it has entered its sandbox */
	bool is_broken;   /* no process can be started here */
	bool is_cut;      /* a blocked signal that ends us is pending: nothing is named any more */
	int64_t end_ns;   /* of the time for this file */
	struct replies_progress progress; /* of the process, while its message is awaited */
	uint64_t memory;                  /* bytes it may have now */
	unsigned log_count;               /* messages about this file */
	unsigned served_count;            /* build ids for it that servers were asked for */
	struct buf answer;                /* what the last answer points into */
};

/* name: of the file, for messages. 0: *ret is the caller's to end, its text lives until the next
 * question. 1: the file cannot be named, and the user knows. -ENOMEM. */
int naming_ask(struct naming *n, const struct name_request *r, const char *name,
	       struct name_answer *ret, struct err *e) MUST_CHECK;
void naming_end(struct naming *n);

/* The naming process itself, with its channel as standard input; returns its exit status. */
int naming_serve(void);

#endif
