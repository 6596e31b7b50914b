/* SPDX-License-Identifier: MIT */
/*
 * place: where this process runs, from its environment: host, rank, Slurm's numbers. Read once,
 * because a program may change its environment while others read it.
 */
#ifndef STAGE_PLACE_H
#define STAGE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "stage/text.h"

#define PLACE_LEN 64

/* "": not known. */
struct place {
	char host[PLACE_LEN];
	char rank[PLACE_LEN];
	char job[PLACE_LEN];
	char array_job[PLACE_LEN];
	char array_task[PLACE_LEN];
	char step[PLACE_LEN];
};

void place_read(struct place *place);

/* A pattern as auger_profiler_write() has it, made a path that ends with NUL. */
void place_expand(const struct place *place, const char *pattern, struct text *out);

#endif
