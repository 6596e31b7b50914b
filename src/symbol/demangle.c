/* SPDX-License-Identifier: MIT */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/rust.h"

#define MANGLED_MAX 8192 /* characters of a name that is tried */

/* The C++ ABI's own, of libstdc++. Source: Itanium C++ ABI, 3.4 "Demangler API". */
char *__cxa_demangle(const char *name, char *buffer, size_t *len, int *ret_status);

static bool cxx_demangle(const char *name, struct buf *out)
{
	char *text;
	int status;

	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MANGLED_MAX)
		return false;
	text = __cxa_demangle(name, NULL, NULL, &status);
	if (!text || strlen(text) > DEMANGLE_MAX) {
		free(text);
		return false;
	}
	buf_put_str(out, text);
	free(text);
	return true;
}

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
	return cxx_demangle(name, out);
}
