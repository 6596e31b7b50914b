/* SPDX-License-Identifier: MIT */
/*
 * legacy_addresses: the addresses in pprof's legacy profiles as text, their names and files.
 *
 * Names stand before the samples (the symbol section) or behind them (Java), mapped files behind
 * them: legacy_addresses_read() looks for all of them first.
 */
#ifndef FORMAT_STACKTEXT_LEGACY_ADDRESSES_H
#define FORMAT_STACKTEXT_LEGACY_ADDRESSES_H

#include <stdbool.h>

#include "base/map.h"
#include "format/legacy_maps.h"
#include "format/stacktext/stacktext.h"

/* All zero is empty. */
struct legacy_addresses {
	struct legacy_maps maps;
	struct map names;     /* string id, by address */
	struct map locations; /* location of the profile, by address */
	bool is_java;         /* its locations are names; no address is one of a call */
	uint64_t leaf;        /* address of the stack's first frame, if it is one */
};

void legacy_addresses_fini(struct legacy_addresses *a);

/* Reads the names and files of the whole text; failures are t's. */
void legacy_addresses_read(struct legacy_addresses *a, struct stacktext *t, struct cursor text);

/* Pushes the frames of a line, "@ 0x4b42ec 0x461481" or "0x4b42ec: name", innermost first. is_leaf:
 * the first is a stack's own, no return address; the same address behind it is left out. */
void legacy_addresses_push(struct legacy_addresses *a, struct stacktext *t, struct str line,
			   bool is_leaf);

/* Does this line begin the mapped files? */
bool legacy_addresses_is_maps(struct str line);

#endif
