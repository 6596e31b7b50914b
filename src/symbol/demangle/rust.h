/* SPDX-License-Identifier: MIT */
/*
 * rust: readable names of Rust's two manglings, without the hashes that only distinguish versions
 * of a library apart.
 *
 * Source: Rust RFC 2603 and "Symbol Mangling" of the rustc book (v0); the legacy mangling is
 * an Itanium nested name that ends with "17h" and 16 hexadecimal digits.
 */
#ifndef SYMBOL_DEMANGLE_RUST_H
#define SYMBOL_DEMANGLE_RUST_H

#include <stdbool.h>

#include "base/buf.h"

/* As demangle(), but on failure the caller removes what was appended. */
bool rust_demangle_legacy(const char *name, struct buf *out);
bool rust_demangle_v0(const char *name, struct buf *out);

/* Appends what compilers put behind a name, ".cold"; but not LLVM's number of a module. */
void rust_put_suffix(const char *suffix, struct buf *out);

#endif
