/* SPDX-License-Identifier: MIT */
/*
 * tree: sixteen functions that call each other by a fixed rule, to a given depth.
 *
 * f_i calls f_(i+1) or f_(3i+2), modulo 16, as the bits of path say; the last one calls
 * burn. check.py knows the rule, so every pair of neighbors in a stack can be judged.
 */
#ifndef STACKS_TREE_H
#define STACKS_TREE_H

typedef unsigned long word;

void tree(unsigned depth, word path); /* enters at f_0 */
void burn(word path);                 /* some microseconds of CPU time */
int seconds_over(double seconds);     /* since the first call, of this process' wall clock */

#endif
