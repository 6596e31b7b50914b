/* SPDX-License-Identifier: MIT */
/*
 * identity: the host, rank and Slurm ids of this process, from its environment.
 *
 * Read once: the program may change its environment while another thread reads it.
 */
#ifndef STAGE_IDENTITY_H
#define STAGE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "stage/text.h"

#define IDENTITY_LEN 64

/* "": unknown. */
struct identity {
	char host[IDENTITY_LEN];
	char rank[IDENTITY_LEN];
	char job[IDENTITY_LEN];
	char array_job[IDENTITY_LEN];
	char array_task[IDENTITY_LEN];
	char step[IDENTITY_LEN];
};

void identity_read(struct identity *identity);

/* Expands a pattern of auger_profiler_write() to a path that ends with NUL. */
void identity_expand(const struct identity *identity, const char *pattern, struct text *out);

#endif
