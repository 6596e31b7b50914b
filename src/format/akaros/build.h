/* SPDX-License-Identifier: MIT */
/* akaros_build: adds the samples of a trace, of either form, to a profile. */
#ifndef FORMAT_AKAROS_BUILD_H
#define FORMAT_AKAROS_BUILD_H

#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "format/akaros/period.h"
#include "format/akaros/trace.h"
#include "model/profile.h"
#include "perf/maps.h"

struct akaros_build {
	struct profile *p; /* borrowed */
	struct strtab *stacks;
	struct rows nodes; /* uint32_t, by stack */
	struct map labels; /* of core and process */
	struct buf key;    /* a stack being looked up */
	uint32_t kernel;   /* mapping; 0: not made yet */
};

/* Adds the sample types. -ENOMEM. */
int akaros_build_init(struct akaros_build *b, struct profile *p) MUST_CHECK;
void akaros_build_fini(struct akaros_build *b); /* all zero is allowed */

/* maps: of the process, whose vma.dso are mappings of the profile; NULL: unknown. comm: string
 * id of the process' name, or 0. -ENOMEM; the profile remembers other failures. */
int akaros_build_add(struct akaros_build *b, const struct akaros_sample *s, struct maps *maps,
		     uint32_t comm, int64_t period_ns) MUST_CHECK;

/* What is known of all samples. */
void akaros_build_end(struct akaros_build *b, const struct akaros_periods *periods);

#endif
