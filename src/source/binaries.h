/* SPDX-License-Identifier: MIT */
/*
 * places: which files the addresses of a profile lie in, where the profile does not tell.
 *
 * Traces of other machines hold bare addresses. The user tells what was loaded where: by
 * --binary FILE for a program that was linked for its addresses, --binary FILE@ADDRESS for one
 * that was loaded elsewhere (of its first byte), and --kallsyms FILE for the kernel. Mappings
 * that the trace does tell of are looked for among the --binary files by the name of the file.
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
};

/*
 * Gives locations their mappings, and names to what can be named. is_foreign: files and kernel
 * of this machine that nobody told of name nothing. -EINVAL, or the errno of a file that
 * cannot be read.
 */
int binaries_name(struct profile *p, const struct binaries_args *args, bool is_foreign,
		  struct err *e) MUST_CHECK;

#endif
