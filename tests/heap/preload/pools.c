/* SPDX-License-Identifier: MIT */
/*
 * pools: reports blocks of a static array as an allocator of its own does.
 *
 *	by_auger	10 blocks of 100 bytes, freed; one of 300 that grew from none, moved by 8
 *	by_heaptrack	3 blocks of 64 bytes, of which one grew to 128 elsewhere and one was freed
 */
#include "auger/heap.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

__attribute__((weak)) void heaptrack_malloc(void *block, size_t size);
__attribute__((weak)) void heaptrack_realloc(void *old, size_t size, void *block);
__attribute__((weak)) void heaptrack_free(void *block);

static _Alignas(64) char room[65536];
static volatile int sink;

static NOINLINE void by_auger(void)
{
	for (int i = 0; i < 10; i++)
		AUGER_HEAP_ALLOCATED(room + 128 * i, 100);
	for (int i = 0; i < 10; i++)
		AUGER_HEAP_FREED(room + 128 * i);
	AUGER_HEAP_REALLOCATED(NULL, room + 4096, 300);
	AUGER_HEAP_REALLOCATED(room + 4096, room + 4104, 300);
	AUGER_HEAP_REALLOCATED(room + 4104, NULL, 300);
	AUGER_HEAP_ALLOCATED(NULL, 5);
	AUGER_HEAP_FREED(NULL);
	sink++;
}

static NOINLINE void by_heaptrack(void)
{
	if (!heaptrack_malloc || !heaptrack_realloc || !heaptrack_free)
		return;
	for (int i = 0; i < 3; i++)
		heaptrack_malloc(room + 8192 + 64 * i, 64);
	heaptrack_realloc(room + 8192, 128, room + 16384);
	heaptrack_free(room + 8192 + 64);
	sink++;
}

int main(void)
{
	by_auger();
	by_heaptrack();
	return 0;
}
