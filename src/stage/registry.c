/* SPDX-License-Identifier: MIT */
#include "stage/registry.h"

#include <errno.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct auger_profiler *profilers[PROFILERS_MAX]; /* under lock, like the next */
static uint64_t last_serial;

void registry_lock(void)
{
	pthread_mutex_lock(&lock);
}

void registry_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct auger_profiler *registry_get(unsigned slot)
{
	return profilers[slot];
}

int registry_add(struct auger_profiler *p)
{
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		if (!profilers[i]) {
			p->slot = i;
			p->serial = ++last_serial;
			profilers[i] = p;
			return 0;
		}
	}
	return -EMFILE;
}

void registry_remove(struct auger_profiler *p)
{
	profilers[p->slot] = NULL;
}
