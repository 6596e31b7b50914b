/* SPDX-License-Identifier: MIT */
/* relocate_table: prints what a job has open below OLD, what blocks its move, and what a move did.
 */
#ifndef CLI_RELOCATE_TABLE_H
#define CLI_RELOCATE_TABLE_H

#include "relocate/relocate.h"
#include "view/emit.h"

struct relocate_view {
	const char *from, *to;
	const struct reloc_inventory *inventory;
	const struct relocate_done *done; /* NULL: --dry-run */
	uint64_t tree_bytes;              /* size of OLD; only without done */
	int64_t expected_ns;              /* of the pause; only without done */
	size_t connections;               /* TCP, of the job; only without done */
};

void relocate_put(struct emit *out, const struct relocate_view *v);

#endif
