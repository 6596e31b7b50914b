/* SPDX-License-Identifier: MIT */
/* pmi1: the lines of PMI-1. */
#ifndef CLUSTER_BOOTSTRAP_PMI1_H
#define CLUSTER_BOOTSTRAP_PMI1_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The value of a key in a line of words key=value, with a NUL in ret[0..size). false: it is not
 * there, or does not fit. */
bool pmi1_find(struct str line, const char *key, char *ret, size_t size);

#endif
