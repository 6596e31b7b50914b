/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/demangle.h"

#include "symbol/demangle/itanium.h"
#include "symbol/demangle/rust.h"

/* Removes what was appended. */
static void cut(struct buf *out, size_t len)
{
	out->len = len;
	if (out->data)
		out->data[len] = '\0';
}

bool demangle(const char *name, struct buf *out)
{
	/* Rust's older names are C++ names, too. */
	static bool (*const tries[])(const char *name, struct buf *out) = {
		rust_demangle_v0,
		rust_demangle_legacy,
		itanium_demangle,
	};
	size_t begin = out->len;

	if (name[0] != '_' || buf_error(out) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		if (tries[i](name, out))
			return true;
		cut(out, begin);
	}
	return false;
}
