/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <sys/mman.h>

void *pages_new(size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	/* cppcheck-suppress invalidFunctionArg */
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void pages_free(void *at, size_t bytes)
{
	if (at)
		munmap(at, bytes);
}
