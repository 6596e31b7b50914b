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

/* Appends the source name. false: name is not mangled or not understood, and nothing was appended.
 * out remembers an allocation failure. */
bool demangle(const char *name, struct buf *out);

#endif
