/* SPDX-License-Identifier: MIT */
/*
 * flat: self and total of each function (line, module).
 *
 * A row is a function of a module, whether inlined or called. Its total counts a stack once, even
 * if the function is in it several times. The self values of all rows add up to the total of the
 * profile; samples without a stack belong to "[unknown]".
 */
#ifndef VIEW_FLAT_H
#define VIEW_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"
#include "view/stacks.h"
#include "view/tree.h"

#define FLAT_ROOT 0 /* the row below all stacks: its total is the profile's */

struct flat_row {
	uint32_t frame;   /* one of its frames, for name, module, file and line */
	uint32_t on_path; /* times it is in the stack being walked */
	int64_t self, total;
	int64_t samples; /* of its own, in the sample type that counts them; 0: there is none */
	bool is_inlined, is_called; /* seen as such; both when partly inlined */
};

struct flat {
	struct frames frames;
	struct stacks stacks;
	uint32_t *row_of;      /* [frame id]: index of rows */
	struct flat_row *rows; /* [row_count]; [0] is FLAT_ROOT */
	size_t row_count;
};

enum flat_order { FLAT_BY_SELF, FLAT_BY_TOTAL, FLAT_BY_NAME };

/* samples_type: index of the sample type that counts samples, or -1. */
int flat_init(struct flat *f, const struct profile *p, enum frame_by by, size_t type,
	      int samples_type, struct err *e) MUST_CHECK;
void flat_fini(struct flat *f);

/* Counts self and total of all rows anew, for another sample type. */
int flat_recount(struct flat *f, size_t type, struct err *e) MUST_CHECK;

/* The rows that have a value, without the root, largest first; ties by name and module.
 * *ret: [count], the caller's to free; NULL when count is 0. */
int flat_sorted(const struct flat *f, enum flat_order order, uint32_t **ret, size_t *ret_count,
		struct err *e) MUST_CHECK;

const struct frame *flat_frame(const struct flat *f, uint32_t row);
const char *flat_name(const struct flat *f, uint32_t row);  /* of the function (module) */
const char *flat_label(const struct flat *f, uint32_t row); /* by line, with file and line */
const char *flat_module(const struct flat *f, uint32_t row);

/* Less than, equal to or more than 0: name, module, file, line. */
int flat_compare_names(const struct flat *f, uint32_t a, uint32_t b);

/* The index of the sample type "samples", or -1. */
int flat_samples_type(const struct profile *p);

#endif
