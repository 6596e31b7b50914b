/* SPDX-License-Identifier: MIT */
/* python_internal: the state that the files of python share. */
#ifndef SAMPLE_PYTHON_PYTHON_INTERNAL_H
#define SAMPLE_PYTHON_PYTHON_INTERNAL_H

#include "base/map.h"
#include "base/rows.h"
#include "interp/python_stacks.h"
#include "sample/python/file_reader.h"
#include "sample/python/python.h"
#include "sample/python/walker.h"

/* A file with CPython. */
struct binary {
	struct python_file_info *info; /* owned */
	struct interp_file ranges;     /* of info */
};

/* A mapping of one, in a process that was looked at before it is recorded. */
struct expected {
	uint32_t pid, binary; /* index of binaries */
	uint64_t start;
};

/* A process with CPython. */
struct running {
	uint32_t pid; /* 0: it has ended */
	struct python_process process;
};

struct python {
	struct interp_source source;
	struct walker *walker; /* NULL: frames are read */
	struct err reason;     /* why there is no walker */
	struct python_stacks stacks;
	struct file_reader file_reader;
	struct map files;      /* number of a file: index of binaries, or enum file_state */
	struct rows binaries;  /* struct binary */
	struct rows expected;  /* struct expected */
	struct rows running;   /* struct running */
	struct map processes;  /* pid: index of running */
	struct map inner_tids; /* tid: in its own pid namespace */
	struct map seen;       /* ids of code objects that were read */
	bool is_used, has_begun, is_seen, is_expected;
	bool is_refused, is_free_threaded; /* struct python_counts */
	bool has_stopped_threads;          /* struct python_opts */
};

/* In place of an index of binaries. */
#define FILE_ASKED (UINT32_MAX - 1)
#define FILE_OTHER (UINT32_MAX - 2)
#define FILE_EXPECTED (UINT32_MAX - 3) /* number of a file that was asked before it is mapped */

/* Remembers a mapping whose file is known. 0 or -ENOMEM. */
int python_expect(struct python *p, const struct interp_mapping *m) MUST_CHECK;

/* Asks the file of a mapping, once. */
void python_ask(struct python *p, const struct interp_mapping *m);

/* Replies of files. 0 or -ENOMEM. */
int python_take_reply(struct python *p, const struct file_reader_reply *reply) MUST_CHECK;

/* For struct interp_source. */
void python_map(void *python, const struct interp_mapping *m);
void python_leave(void *python, uint32_t pid);
const struct interp_file *python_file(void *python, uint32_t file);

#endif
