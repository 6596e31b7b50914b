/* SPDX-License-Identifier: MIT */
/*
 * file_reader: looks for CPython in mapped files of other processes, in a child process.
 *
 * A file may lie on storage that hangs, and who reads it then cannot be killed. So the recorder
 * never reads it: a child does, and is left behind when it does not reply in time. After
 * FILE_READER_LOSSES_MAX lost children no file is asked any more.
 */
#ifndef SAMPLE_PYTHON_FILE_READER_H
#define SAMPLE_PYTHON_FILE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "base/rows.h"
#include "interp/python_file.h"

#define FILE_READER_PATH_MAX 4096
#define FILE_READER_QUEUE_MAX 256 /* files without a reply */
#define FILE_READER_TIMEOUT_NS INT64_C(3000000000)
#define FILE_READER_LOSSES_MAX 3

/* A file to ask. */
struct file_reader_request {
	uint32_t number;     /* the caller's name for it */
	uint32_t pid;        /* of a process that has it mapped; 0: it is found by its path alone */
	uint64_t start, end; /* there */
	char path[FILE_READER_PATH_MAX]; /* as that process sees it */
};

struct file_reader_reply {
	uint32_t number;
	struct python_file_info info;
};

/* All zero is ready. */
struct file_reader {
	bool is_running;
	int fd; /* of a child that runs */
	pid_t child;
	struct rows queue;  /* struct file_reader_request, in the order of replies */
	size_t first, sent; /* first one without a reply; first one not sent */
	int64_t sent_ns;    /* when the first one without a reply was its turn */
	unsigned losses;    /* children that were left behind */
};

void file_reader_fini(struct file_reader *a);

/* A file whose name has "python" in it comes before others. 0 or -ENOMEM:
 * too many, or no memory. */
int file_reader_put(struct file_reader *a, const struct file_reader_request *r) MUST_CHECK;

/* Sends what can be sent. The next reply; false: none yet. A file that cannot be read, or does
 * not reply in time, has no CPython. */
bool file_reader_poll(struct file_reader *a, struct file_reader_reply *ret);

/* The same, and waits for it so long; false: there are no requests, or no reply in time. */
bool file_reader_wait(struct file_reader *a, int64_t timeout_ns, struct file_reader_reply *ret);

/* Are there requests without a reply? */
bool file_reader_is_busy(const struct file_reader *a);

#endif
