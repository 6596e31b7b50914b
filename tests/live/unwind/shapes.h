/* SPDX-License-Identifier: MIT */
/*
 * shapes: code of many shapes, to be sampled while it runs. Its call graph stands in
 * workload.c.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdbool.h>
#include <stdint.h>

/* All that runs after this ends then. */
void shapes_run_for(int64_t ns);

void run_ring(void);
void run_sorter(void);
void run_libc(void);
void run_frames(void);
void run_jumps(void);
void run_signals(void);
void run_assembly(void);
void run_exceptions(void);
void run_library(void); /* calls library_entry */
void run_recursion_200(void);
void run_recursion_10000(void);
void run_threads(void); /* samples its threads itself */

extern void (*library_entry)(void (*call)(int), int n);

#endif
