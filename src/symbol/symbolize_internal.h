/* SPDX-License-Identifier: MIT */
/*
 * symbolize_internal: a profile that is being symbolized: its sources of names, and the locations
 * without one, grouped by source. Each kind of source has a job_name_X().
 */
#ifndef SYMBOL_SYMBOLIZE_INTERNAL_H
#define SYMBOL_SYMBOLIZE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strtab.h"
#include "model/profile.h"
#include "symbol/naming.h"
#include "symbol/symbolize.h"

enum source_kind {
	SOURCE_NONE, /* nothing can be known */
	SOURCE_ELF,
	SOURCE_VDSO,
	SOURCE_KERNEL,
	SOURCE_PERF_MAP,
};

/* Where the names of one or more mappings come from. */
struct source {
	enum source_kind kind;
	uint32_t mapping; /* id of the first one */
};

/* A location that wants a name. */
struct target {
	uint32_t source;   /* index */
	uint32_t location; /* id */
	uint64_t address;  /* in an ELF file: an offset */
};

struct job {
	struct profile *p;
	const struct symbolize_opts *o;
	struct strtab *keys;       /* identities of sources; the id is the index */
	struct buf sources;        /* struct source */
	uint32_t *mapping_sources; /* [mapping_count]: index; UINT32_MAX: none */
	size_t mapping_count;      /* when the job began */
	struct target *targets;    /* [target_count] */
	size_t target_count;
	uint64_t *addresses;  /* [target_count]: of one source, ascending, no two equal */
	struct naming naming; /* reads foreign files */
	struct err *e;
};

const char *job_path(const struct job *j, uint32_t mapping);
const char *job_build_id(const struct job *j, uint32_t mapping); /* lower-case hex or "" */
const char *job_file(const struct job *j, uint32_t mapping);     /* what to open for it */

/* Fills j->addresses with those of targets [0..count), which are sorted. Returns how many. */
size_t job_addresses(struct job *j, const struct target *targets, size_t count);
/* The index in j->addresses of a target, from that of the target before (0 at first). */
size_t job_index(const struct job *j, size_t i, const struct target *target);

/* Names a location after one function without a source. */
void job_set_name(struct job *j, uint32_t location, const char *name);
/* The mapping of a location got functions: views show what it has, and it is not symbolized again.
 */
void job_mark(struct job *j, uint32_t location, bool has_lines, bool has_inlines);

/* Asks r, without its addresses, for the names of targets [0..count), and gives them to their
 * locations. 0 or -ENOMEM; *ret_code: 0, or the -errno for which there are none, with the reason in
 * j->e. */
int job_ask(struct job *j, struct name_request *r, const struct target *targets, size_t count,
	    int *ret_code) MUST_CHECK;

/* j->e has the reason why a source has no names: logged if the user can fix it, then cleared.
 * 0, or -ENOMEM, which stays. */
int job_report_reason(const struct job *j, const char *path);

/* Name the targets [0..count), all of this source, sorted by address. 0 or -ENOMEM. */
int job_name_elf(struct job *j, const struct source *source, const struct target *targets,
		 size_t count);
int job_name_kernel(struct job *j, const struct source *source, const struct target *targets,
		    size_t count);
int job_name_perf_map(struct job *j, const struct source *source, const struct target *targets,
		      size_t count);

#endif
