/* SPDX-License-Identifier: MIT */
#include "symbol/demangle.h"

#include "symbol/rust.h"

bool demangle(const char *name, struct buf *out)
{
	size_t begin = out->len;

	if (name[0] != '_' || buf_error(out) < 0)
		return false;
	if (rust_demangle_v0(name, out))
		return true;
	out->len = begin;
	if (rust_demangle_legacy(name, out))
		return true;
	out->len = begin;
	return false;
}
