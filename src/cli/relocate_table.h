/* SPDX-License-Identifier: MIT */
/* relocate_table: what a job holds of OLD, what stands in the way, and what was done. */
#ifndef CLI_RELOCATE_TABLE_H
#define CLI_RELOCATE_TABLE_H

#include "relocate/relocate.h"
#include "view/emit.h"

struct relocate_view {
	const char *from, *to;
	const struct reloc_inventory *inventory;
	const struct relocate_done *done; /* NULL: nothing was done */
	uint64_t tree_bytes;              /* of OLD; without done */
};

void relocate_put(struct emit *out, const struct relocate_view *v);

#endif
