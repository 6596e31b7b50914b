/* SPDX-License-Identifier: MIT */
/*
 * fast: what a cursor does, without a call where that is easy. For the loops over all entries
 * and all rows of a unit, which are millions.
 */
#ifndef SYMBOL_FAST_H
#define SYMBOL_FAST_H

#include "base/cursor.h"

static inline uint64_t fast_uleb(struct cursor *c)
{
	return c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_uleb(c);
}

static inline void fast_skip(struct cursor *c, size_t len)
{
	if ((size_t)(c->end - c->at) >= len)
		c->at += len;
	else
		cursor_skip(c, len);
}

#endif
