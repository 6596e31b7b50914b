/* SPDX-License-Identifier: MIT */
/*
 * inputs: the files and folders that a command line names, as one profile.
 *
 * A folder stands for the profiles in it, in the order of their names' bytes; its subfolders,
 * hidden files, links and what is of no format that is read are skipped. Text that only looks like
 * folded stacks needs the ending of such. A folder that perf wrote is one profile. Several profiles
 * are added up (model/merge.h) one after another: one of them is in memory besides the sum.
 */
#ifndef SOURCE_INPUTS_H
#define SOURCE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "model/merge.h"
#include "model/profile.h"
#include "source/binaries.h"

#define INPUTS_MAX_FILES ((size_t)1 << 20) /* of a folder */

struct inputs_opts {
	const char *from;                   /* as of load_profile() */
	const struct binaries_args *places; /* as of load_profile() */
	bool is_whole;                      /* with the frames that profiles want left out */
	/* The labels that the samples of a file get when several are added up; number: of the file,
	 * from 0. *ret: [*ret_count], valid until the next call. NULL: none. */
	int (*label)(void *context, const char *path, size_t number, struct text_label **ret,
		     size_t *ret_count, struct err *e);
	void *context;
	/* Called before each file, and with done == count at the end; NULL: nobody looks. */
	void (*show)(size_t done, size_t count);
	bool is_sum; /* one file is labeled and copied, too */
};

struct inputs {
	char **paths;    /* [count]; owned, as the texts are */
	size_t *name_of; /* [count]: index of the name that is the path, or its folder; owned */
	size_t count, cap;
	char *const *names; /* [name_count]: as they were named; borrowed */
	size_t name_count;
};

/* names: [count], which outlive it; "-" is standard input; none: DEFAULT_PROFILE. output: a file
 * that is about to be written, left out of folders; may be NULL. -ENOENT: a folder has no files. */
int inputs_open(struct inputs *ret, char *const *names, size_t count, const char *output,
		struct err *e) MUST_CHECK;
void inputs_close(struct inputs *in);

/* The profile, or the sum of all; *ret is the caller's. Errors name the file. Files of folders that
 * are of no known format are taken out of in, and counted by LOG_INFO; -EINVAL: none is left. */
int inputs_load(struct inputs *in, const struct inputs_opts *o, struct profile **ret,
		struct err *e) MUST_CHECK;

/* All at once, for those who do not ask for the files. */
int inputs_load_names(char *const *names, size_t count, const struct inputs_opts *o,
		      struct profile **ret, struct err *e) MUST_CHECK;

/* Appends what was loaded, for the head of a report: "a.pb.gz, runs (12 files)". */
void inputs_describe(const struct inputs *in, struct buf *out);

#endif
