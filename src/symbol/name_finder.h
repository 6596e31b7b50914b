/* SPDX-License-Identifier: MIT */
/*
 * name_finder: answers a question for names, in the process that calls it.
 *
 * This is where foreign files are read: binaries, their debug files, maps of JIT code. It opens
 * them with opener_open().
 */
#ifndef SYMBOL_NAME_FINDER_H
#define SYMBOL_NAME_FINDER_H

#include "base/buf.h"
#include "symbol/name_records.h"

/* Appends the answer, also when there are no names. Check buf_error(). */
void name_find(const struct name_request *r, struct buf *answer);

#endif
