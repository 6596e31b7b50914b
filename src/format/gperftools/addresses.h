/* SPDX-License-Identifier: MIT */
/*
 * gperftools_addresses: assigns the addresses of code in a legacy CPU profile.
 *
 * The format has one address space; a profile has one for each file. Code keeps its addresses
 * unless other code has them; then the whole mapping moves behind all that stay. Addresses without
 * a mapping stay. Everything else gets numbers above all code: frames that have only a name,
 * samples without a stack, and addresses without a mapping that collide with code.
 */
#ifndef FORMAT_GPERFTOOLS_ADDRESSES_H
#define FORMAT_GPERFTOOLS_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/profile.h"

struct addresses {
	const struct profile *p; /* borrowed */
	struct group *groups;    /* [2 * mapping_count], by mapping */
	struct group **by_start; /* [group_count]: those used; by address once settled */
	size_t group_count;
	uint32_t no_stack;      /* the location, behind all others, of samples without a stack */
	unsigned char *is_used; /* [no_stack + 1] */
	uint64_t *addresses;    /* [no_stack + 1]: of those used, once settled */
	struct rows loose;      /* uint32_t: locations of no mapping, as they came */
	uint64_t first_number;
	struct strtab *numbers; /* what has them, by name: equal names have one number */
};

int addresses_init(struct addresses *pl, const struct profile *p, struct err *e) MUST_CHECK;
void addresses_fini(struct addresses *pl); /* all zero is allowed */

/* Marks a location as used, in any order and any number of times. */
int addresses_use(struct addresses *pl, uint32_t location) MUST_CHECK; /* 0 or -ENOMEM */
bool addresses_has_names(const struct addresses *pl); /* are there frames that have only a name? */

/* Assigns the addresses. -EOVERFLOW: they exceed 64 bits. */
int addresses_assign(struct addresses *pl, struct err *e) MUST_CHECK;

/* Is the assigned address of this used location only a number? */
bool addresses_is_number(const struct addresses *pl, uint32_t location);

/* The path of the first file, by address, that is no library; NULL: there is none. */
const char *addresses_program(const struct addresses *pl);

/* Lines of /proc/PID/maps for the code; for the numbers, too, if has_numbers. */
void addresses_put_maps(const struct addresses *pl, bool has_numbers, struct buf *out);

/* A path as it can stand in a line of the maps. */
void addresses_put_path(struct buf *out, const char *path);

#endif
