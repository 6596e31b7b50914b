/* SPDX-License-Identifier: MIT */
/* Any name: it ends, what comes out is bounded, and what is not mangled leaves nothing behind. */
#include <string.h>

#include "fuzz.h"
#include "symbol/demangle/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	struct buf out = { 0 };

	FUZZ_CHECK(name);
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	if (!demangle(name, &out))
		FUZZ_CHECK(out.len == 0);
	FUZZ_CHECK(buf_error(&out) == 0);
	FUZZ_CHECK(out.len <= 2 * DEMANGLE_MAX + size);
	buf_fini(&out);
	free(name);
	return 0;
}
