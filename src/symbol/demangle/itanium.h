/* SPDX-License-Identifier: MIT */
/*
 * itanium: demangles C++ names as c++filt and perf do.
 *
 * It is not libstdc++'s demangler, because that one rejects names of more than 1,024 characters,
 * lets a short hostile name grow without bound, and would make C++ a run-time dependency.
 *
 * A name is parsed into a tree of nodes (itanium_name, _args, _type, _expr), which itanium_print
 * writes. Template parameters are replaced by their arguments while parsing.
 *
 * Source: Itanium C++ ABI, 5.1 "External Names"; the output has the form of c++filt.
 */
#ifndef SYMBOL_DEMANGLE_ITANIUM_H
#define SYMBOL_DEMANGLE_ITANIUM_H

#include <stdbool.h>

#include "base/buf.h"

/* As demangle(), but on failure the caller removes what was appended. */
bool itanium_demangle(const char *name, struct buf *out);

#endif
