/* SPDX-License-Identifier: MIT */
/*
 * demangle: converts mangled C++ and Rust names to source names.
 *
 * Input may be hostile: depth and length of the output are bounded, and a name beyond the bounds
 * stays mangled.
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
