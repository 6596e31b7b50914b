/* SPDX-License-Identifier: MIT */
/* load: reads a profile by file name, symbolizes and filters it. */
#ifndef SOURCE_LOAD_H
#define SOURCE_LOAD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"
#include "format/format.h"
#include "model/profile.h"
#include "source/binaries.h"

#define DEFAULT_PROFILE "auger.pb.gz"

/* What to keep of a profile; the texts are the options of the same names. */
struct filter_args {
	const char *focus, *ignore;
	struct opt_list comm, pid, tid, label; /* label: KEY=REGEX */
};

/* The bytes of path ("-": standard input), unpacked and in UTF-8 (format/decode.h), and their
 * format: that of the name from, else (NULL) by content and path; *ret_format NULL: of no known
 * one. */
int load_input(const char *path, const char *from, struct file_input *ret,
	       const struct format **ret_format, struct err *e) MUST_CHECK;

/* Reads path ("-": standard input) in the format named from (NULL: found by content), and
 * gives addresses their names, with the user's --binary and --kallsyms (NULL: none); frames
 * that it wants left out (pprof's drop_frames) are. *ret is the caller's. */
int load_profile(const char *path, const char *from, const struct binaries_args *places,
		 struct profile **ret, struct err *e) MUST_CHECK;

/* The same with all frames. */
int load_whole_profile(const char *path, const char *from, const struct binaries_args *places,
		       struct profile **ret, struct err *e) MUST_CHECK;

/* The same of a file that was found in a folder (base/file.h: file_load_regular), whole or without
 * those frames. *ret is NULL when from is, too, and the file is of no format that is read. */
int load_found_profile(const char *path, const char *from, const struct binaries_args *places,
		       bool is_whole, struct profile **ret, struct err *e) MUST_CHECK;

/* Replaces *p by what the filter keeps of it. */
int apply_filter(struct profile **p, const struct filter_args *f, struct err *e) MUST_CHECK;

/* Appends the filter as the user gave it, for the head of a report; nothing when there is none. */
void describe_filter(const struct filter_args *f, struct buf *out);

/* Warns when no sample has the label key ("thread": tid) of --by, with the labels that there are.
 */
void warn_absent_label(const struct profile *p, const char *key);

/* The index of --value TYPE, or the default when name is NULL. Unknown: usage error that
 * lists the types. */
int choose_type(const struct profile *p, const char *name, size_t *ret, struct err *e) MUST_CHECK;

#endif
