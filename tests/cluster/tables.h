/* SPDX-License-Identifier: MIT */
/* tables: the figures of docs/benchmarks.md for large clusters. */
#ifndef TESTS_CLUSTER_TABLES_H
#define TESTS_CLUSTER_TABLES_H

#include "sim.h"

/* Each node reads one file of 256 MiB. */
struct sim_config sim_bulk(uint32_t nodes, uint32_t fanout, uint32_t trees);

int tables_print(void); /* as Markdown; 0, or 1 when a rule was broken */

#endif
