/* SPDX-License-Identifier: MIT */
/* registry: lists the open profilers by slot. */
#ifndef STAGE_REGISTRY_H
#define STAGE_REGISTRY_H

#include "stage/profiler.h"

void registry_lock(void);
void registry_unlock(void);

/* The caller holds the lock. */
struct auger_profiler *registry_get(unsigned slot); /* NULL: free */
/* Gives p a slot and a serial number. 0 or -EMFILE. */
int registry_add(struct auger_profiler *p);
void registry_remove(struct auger_profiler *p);

#endif
