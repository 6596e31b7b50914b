/* SPDX-License-Identifier: MIT */
/*
 * pprof_journal: a profile that grows, as a file that is appended to: a recording's spool.
 *
 * The file is a Profile message of PROFILE_JOURNAL fields only. Each is a record: the CRC-32 of
 * its body in 4 bytes, little-endian, and the body, a message. Its fields up to
 * PROFILE_DOC_URL but samples are those of a Profile: rows of the tables, and the head's numbers,
 * of which the last one counts. The fields below have the rest. Records refer to earlier ones
 * only: a file that is cut anywhere is the profile up to its last whole record.
 *
 * Ids are those of the profile that is written, in order and without gaps: strings and label sets
 * from 0 (the empty ones), nodes from 0 (the root), mappings, functions and locations from 1,
 * samples from 0. Numbers are varints. pprof_read() reads such files.
 */
#ifndef FORMAT_PPROF_JOURNAL_H
#define FORMAT_PPROF_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "format/pprof/proto.h"
#include "format/pprof/tables.h"
#include "model/profile.h"

enum pprof_journal_field {
	JOURNAL_NODES = 1000, /* packed: own id less the parent's, location; more of them */
	JOURNAL_LABEL_SET,    /* a message: SAMPLE_LABEL for each label */
	JOURNAL_SAMPLES,      /* packed: node, label set; more of them */
	JOURNAL_VALUES,       /* packed: id less the one before (at first 0), what to add to the
			       * value of each type; more of them */
};

/* What is written already. All zero: nothing. */
struct pprof_journal {
	size_t types, strings, comments, mappings, functions, locations, nodes, label_sets, samples;
	int64_t *values; /* [samples * types]; owned */
	struct profile_info info;
};

/* Appends to out what came to p since the last call, as records. p: the same each time, without
 * samples at first, or at least with all its types. -ENOMEM: the journal is to be begun anew. */
int pprof_journal_put(struct pprof_journal *j, const struct profile *p, struct buf *out,
		      struct err *e) MUST_CHECK;
void pprof_journal_fini(struct pprof_journal *j); /* all zero again */

/* The body of a PROFILE_JOURNAL field; false: it is damaged. */
bool pprof_journal_open(const struct proto_field *f, struct cursor *ret_body) MUST_CHECK;

/* What values refer to. All zero is empty. */
struct pprof_journal_ids {
	struct rows nodes, label_sets, samples;
};

/* Puts the fields above of a record into p, which has the tables t already. */
int pprof_journal_add(struct pprof_journal_ids *ids, struct profile *p,
		      const struct pprof_tables *t, struct cursor body, struct err *e) MUST_CHECK;
void pprof_journal_ids_fini(struct pprof_journal_ids *ids);

#endif
