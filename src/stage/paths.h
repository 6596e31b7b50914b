/* SPDX-License-Identifier: MIT */
/*
 * paths: interns the labels of one profiler.
 *
 * A path is a name inside a parent path; its label joins the names with dots. Equal labels are one
 * path, whatever their parents. The owner locks; readers of existing entries need no lock.
 */
#ifndef STAGE_PATHS_H
#define STAGE_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "stage/arena.h"

#define PATH_TOP 0
#define LABEL_LEN_MAX 4096

struct path {
	uint32_t parent; /* PATH_TOP: none */
	uint32_t name;
	uint32_t depth;    /* 0: at the top */
	uint32_t len;      /* bytes of the label */
	uint32_t hash;     /* of the label */
	const char *label; /* [0..len) */
};

struct path_slot {
	uint32_t parent, name;
	uint32_t path; /* 0: free */
};

struct paths {
	uint32_t max;            /* entry max is "other" */
	uint32_t count;          /* 1..count are used */
	uint32_t other;          /* 0: not needed yet */
	struct path *list;       /* [max + 1] */
	struct path_slot *slots; /* [slot_count]; parent and name to path */
	uint32_t slot_count;     /* a power of two */
	uint32_t used_slots;
};

/* 0 or -ENOMEM. The arena frees it. */
int paths_init(struct paths *p, uint32_t max, struct arena *a);

/* The path of a name in a parent. 0: out of memory. When max is reached: the path "other". */
uint32_t paths_child(struct paths *p, uint32_t parent, uint32_t name, struct arena *a);

#endif
