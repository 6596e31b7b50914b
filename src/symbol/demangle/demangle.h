/* SPDX-License-Identifier: MIT */
/*
 * demangle: names of C++ and Rust as their authors wrote them.
 *
 * Any input may be hostile: depth and length of what comes out are bounded, and a name that
 * goes beyond is left as it is.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_H
#define SYMBOL_DEMANGLE_DEMANGLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "symbol/demangle/limits.h"

/* Appends what name stands for. false: it is not mangled (or not understood), and nothing was
 * appended. Out of memory is remembered by out, as ever. */
bool demangle(const char *name, struct buf *out);

#endif
