/* SPDX-License-Identifier: MIT */
/*
 * binaries: assigns files to the addresses of a profile that has no mappings for them.
 *
 * Traces of other machines hold bare addresses. The user names the files: --binary FILE for a
 * program at its link addresses, --binary FILE@ADDRESS for one loaded elsewhere (address of its
 * first byte), --kallsyms FILE for the kernel. A mapping that the trace does have is matched with
 * the --binary files by file name.
 */
#ifndef SOURCE_BINARIES_H
#define SOURCE_BINARIES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"
#include "model/profile.h"

struct binaries_args {
	struct opt_list binaries;
	const char *kallsyms;
	const char *debuginfod; /* servers of debug files; NULL: those of DEBUGINFOD_URLS */
};

/*
 * Gives locations their mappings, and names to what can be named. is_foreign: files and kernel
 * of this machine that were not given name nothing. -EINVAL, or the errno of a file that
 * cannot be read.
 */
int binaries_name(struct profile *p, const struct binaries_args *args, bool is_foreign,
		  struct err *e) MUST_CHECK;

#endif
