/* SPDX-License-Identifier: MIT */
/*
 * groups: the samples of a profile by the values of a label.
 *
 * Keys are labels ("comm", "stage"), "thread" (comm and tid) and "pid", which also shows the name
 * of the main thread (else of the thread with the largest value). Samples without the label form a
 * group of their own.
 */
#ifndef VIEW_GROUPS_H
#define VIEW_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"
#include "view/emit.h"

#define GROUPS_MAX_KEYS 2

struct group {
	struct label labels[GROUPS_MAX_KEYS]; /* [key_count]; key 0: there is no such label */
	uint32_t comm;                        /* string id: its name with the most, 0: none */
};

struct groups {
	const struct profile *profile;
	const char *keys[GROUPS_MAX_KEYS]; /* [key_count]; borrowed */
	size_t key_count;
	bool has_comm;      /* groups are processes, which have many thread names */
	struct group *list; /* [count] */
	size_t count, cap;
	uint32_t *of_labels; /* [label-set id]: index of list */
};

/* type: index of the sample type that decides on a process' name. */
int groups_init(struct groups *g, const struct profile *p, const char *key, size_t type,
		struct err *e) MUST_CHECK;
void groups_fini(struct groups *g);

/* ret: [count]: the values of each group's samples, added up. */
void groups_sum(const struct groups *g, size_t type, int64_t *ret);

/* Less than, equal to or more than 0: absent last, numbers before texts. */
int groups_compare(const struct groups *g, uint32_t a, uint32_t b);

/* The cells that name a group. */
void groups_put_names(const struct groups *g, const struct group *group, struct emit *out);

#endif
