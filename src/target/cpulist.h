/* SPDX-License-Identifier: MIT */
/*
 * cpulist: CPU numbers as the kernel writes them: "0-3,8,10-11".
 */
#ifndef TARGET_CPULIST_H
#define TARGET_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define CPULIST_MAX 65536 /* CPU numbers are below */

/* All zero is an empty list. */
struct cpulist {
	uint32_t *cpus; /* [count], ascending, each once; owned */
	size_t count;
};

/* -EINVAL for what is no list or empty. */
int cpulist_parse(const char *text, struct cpulist *ret, struct err *e) MUST_CHECK;
/* The CPUs that run. root: NULL: "/sys/devices/system/cpu". */
int cpulist_online(const char *root, struct cpulist *ret, struct err *e) MUST_CHECK;
/* The CPUs that this process may run on. */
int cpulist_allowed(struct cpulist *ret, struct err *e) MUST_CHECK;
/* Is each CPU of a in b, too? If not, *ret_missing is the first that is not. */
bool cpulist_within(const struct cpulist *a, const struct cpulist *b, uint32_t *ret_missing);
void cpulist_fini(struct cpulist *c);

#endif
