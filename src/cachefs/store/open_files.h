/* SPDX-License-Identifier: MIT */
/*
 * open_files: keeps the files that are being read open, so that each is opened once and not for
 * each read. Any thread may call it.
 *
 * A descriptor is closed after as many bytes were read as its file has, or when others were used
 * later: over the limit of open files, or when it was not used for IDLE_NS and another file is read
 * just then. An idle process keeps some open: there is no timer.
 */
#ifndef CACHEFS_STORE_OPEN_FILES_H
#define CACHEFS_STORE_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/macros.h"

struct open_files;

/* Borrowed between get and put. */
struct open_file {
	int fd;
	bool is_new;      /* opened by this get */
	struct stat attr; /* now */
	struct open_entry *entry;
};

/* A descriptor, or -errno. */
typedef int open_files_open(void *context, const char *path);

/* max: open at once, except while more are in use. NULL: out of memory. */
struct open_files *open_files_new(open_files_open *open, void *context, unsigned max) MUST_CHECK;
void open_files_free(struct open_files *f); /* NULL is allowed */

/*
 * Concurrent callers with the same path wait for one open. A file that was renamed, removed or
 * replaced since it was opened is opened again: each changes its ctime. 0, the -errno of open or
 * fstat(2), -ENOMEM, or -ESTALE: it changes too often.
 */
int open_files_get(struct open_files *f, const char *path, struct open_file *ret) MUST_CHECK;
/* After a read of these bytes. */
void open_files_put(struct open_files *f, const struct open_file *file, uint64_t bytes);
/* Instead of put: the next get opens the file again. */
void open_files_drop(struct open_files *f, const struct open_file *file);

#endif
