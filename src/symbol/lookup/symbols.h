/* SPDX-License-Identifier: MIT */
/*
 * symbols: finds the symbol of each wanted address.
 *
 * Symbols of any tables are offered in any order; only those that matter to a wanted address are
 * kept. A symbol with a size holds the addresses within it. One without a size extends to the next
 * symbol or the end of its section. Of several at the same address the best known name wins:
 * global, weak, local; fewer leading underscores; shorter; first by alphabet.
 */
#ifndef SYMBOL_LOOKUP_SYMBOLS_H
#define SYMBOL_LOOKUP_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

enum symbol_rank { /* smaller is better */
		   SYMBOL_GLOBAL,
		   SYMBOL_WEAK,
		   SYMBOL_LOCAL,
		   SYMBOL_UNTYPED, /* labels of assembly code: any binding, but not marked as
				      function */
};

struct symbol {
	uint64_t start;
	uint64_t end;     /* one past; of an unsized one: of its section */
	const char *name; /* NUL-terminated; borrowed; NULL: no symbol, ends the one before */
	enum symbol_rank rank;
	bool is_sized;
};

struct symbols {
	const uint64_t *wanted; /* [count]: ascending, no two equal; borrowed */
	size_t count;
	struct symbol *nearest; /* [count]: the last start in (wanted[i-1]..wanted[i]] */
	struct buf sized;       /* struct symbol: sized ones that hold a wanted address */
};

int symbols_init(struct symbols *s, const uint64_t *wanted, size_t count) MUST_CHECK; /* -ENOMEM */
void symbols_fini(struct symbols *s);

void symbols_offer(struct symbols *s, const struct symbol *symbol);

/* ret: [count], the best symbol of each wanted address; name NULL: none. 0 or -ENOMEM. */
int symbols_resolve(struct symbols *s, struct symbol *ret) MUST_CHECK;

#endif
