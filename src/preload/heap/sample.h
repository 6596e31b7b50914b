/* SPDX-License-Identifier: MIT */
/*
 * sample: which blocks are recorded when not all are: a Poisson process over allocated bytes.
 *
 * Each byte is sampled with the same probability, so a block of size bytes is recorded with
 * probability 1 - exp(-size / period), and then stands for as many blocks as makes the expected
 * sums right. Source: pprof's description of heap profiles; the memoryless distribution.
 */
#ifndef PRELOAD_HEAP_SAMPLE_H
#define PRELOAD_HEAP_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "preload/heap/thread.h"

/* How many blocks this one stands for; 0: it is not recorded. */
uint32_t sample_weight(struct thread *t, size_t size, uint64_t period);

#endif
