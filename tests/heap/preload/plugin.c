/* SPDX-License-Identifier: MIT */
/* plugin: what known.c opens and closes; built twice, as MAKE. */
#include <stdlib.h>

__attribute__((visibility("default"))) void *MAKE(size_t size);

void *MAKE(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}
