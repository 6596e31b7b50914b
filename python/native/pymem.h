/* SPDX-License-Identifier: MIT */
/*
 * pymem: how much memory the interpreter's allocators have given out, to the byte, as tracemalloc
 * counts it (the sizes that were asked for), at a few nanoseconds a block and without tracebacks.
 *
 * What was allocated before counting began is not known, and its freeing is not counted.
 * Under the GIL but for the counting itself. Counts are of the process, all threads.
 *
 * Source: PEP 445; the C API reference, "Customize Memory Allocators".
 */
#ifndef NATIVE_PYMEM_H
#define NATIVE_PYMEM_H

#include <stdbool.h>
#include <stdint.h>

/* Who reads the counts: each has a peak of its own. In the caller's memory; all-zero is valid. */
struct pymem_reader {
	struct pymem_reader *next; /* of the readers that are counted for */
	int64_t peak;              /* bytes; of the time before the last look of any reader */
	unsigned count;            /* which count it reads: a new one begins when hooks were lost */
};

/* The first reader begins the counting, from 0; the last one to stop ends it. */
void pymem_start(struct pymem_reader *reader);
void pymem_stop(struct pymem_reader *reader);

int64_t pymem_live(void); /* bytes that were allocated since counting began and are not freed */

/* The largest pymem_live() since the last call for this reader, or since it started. */
int64_t pymem_take_peak(struct pymem_reader *reader);

extern unsigned pymem_count; /* the number of the running count */

/*
 * Others may take our hooks away with theirs (tracemalloc, begun before us and stopped after). The
 * next start sees that and counts anew; readers of the old count are told here.
 */
static inline bool pymem_is_stale(const struct pymem_reader *reader)
{
	return reader->count != pymem_count;
}

#endif
