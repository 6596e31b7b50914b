/* SPDX-License-Identifier: MIT */
/* hooks: the functions that stand before those of the C library, by name: for got. */
#ifndef PRELOAD_HEAP_HOOKS_H
#define PRELOAD_HEAP_HOOKS_H

#include "preload/heap/got.h"

#define HOOKS 15
extern const struct hook hooks[HOOKS];

#endif
