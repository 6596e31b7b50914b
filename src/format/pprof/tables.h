/* SPDX-License-Identifier: MIT */
/*
 * pprof_tables: the tables of a pprof file that its samples refer to.
 *
 * A file may hold its tables in any order; usually samples come first and strings last. So rows
 * are collected in file order and resolved at the end.
 *
 * Rows are added by the bytes of their message. All functions fail with -EINVAL and a reason
 * without the position, or -ENOMEM.
 */
#ifndef FORMAT_PPROF_TABLES_H
#define FORMAT_PPROF_TABLES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "format/pprof/proto.h"
#include "model/profile.h"

/* Ids of the file to ids of the profile: an array when they are dense, as they mostly are. */
struct pprof_ids {
	uint32_t *dense; /* [dense_count]; 0: unknown id; owned */
	size_t dense_count;
	struct map sparse;
	uint64_t max; /* largest id of the file */
};

struct pprof_tables {
	struct rows strings;  /* uint32_t: string ids of the profile */
	struct buf text;      /* a string that is being mended */
	struct rows mappings; /* as they came */
	struct rows functions;
	struct rows lines; /* of all locations, in their order */
	struct rows locations;
	struct pprof_ids mapping_ids, function_ids, location_ids;
};

void pprof_tables_fini(struct pprof_tables *t);

int pprof_add_string(struct pprof_tables *t, struct profile *p, struct cursor text,
		     struct err *e) MUST_CHECK;
/* at: where the message is, for pprof_resolve(). */
int pprof_add_mapping(struct pprof_tables *t, struct cursor message, uint64_t at,
		      struct err *e) MUST_CHECK;
int pprof_add_function(struct pprof_tables *t, struct cursor message, uint64_t at,
		       struct err *e) MUST_CHECK;
int pprof_add_location(struct pprof_tables *t, struct cursor message, uint64_t at,
		       struct err *e) MUST_CHECK;

/* Puts all rows into the profile. On failure *ret_at is where the bad row is. */
int pprof_resolve(struct pprof_tables *t, struct profile *p, uint64_t *ret_at,
		  struct err *e) MUST_CHECK;

/* The string id in the profile of an index in the file. */
int pprof_find_string(const struct pprof_tables *t, uint64_t index, uint32_t *ret,
		      struct err *e) MUST_CHECK;
/* The label of a SAMPLE_LABEL; *ret is all zero before. */
int pprof_find_label(const struct pprof_tables *t, const struct proto_field *f, struct label *ret,
		     struct err *e) MUST_CHECK;
/* The id in the profile of a location's id in the file; 0: there is none. */
uint32_t pprof_find_location(const struct pprof_tables *t, uint64_t id);

#endif
