/* SPDX-License-Identifier: MIT */
/*
 * namespace: a mount namespace of the command, in which folders are bind mounts of the view: the
 * file is read through the view whatever path leads to it.
 *
 * Source: mount_namespaces(7), user_namespaces(7).
 */
#ifndef CACHERUN_NAMESPACE_H
#define CACHERUN_NAMESPACE_H

#include "base/err.h"
#include "cacherun/binds.h"

struct cache_namespace {
	const char *target, *view; /* absolute */
	const struct binds *binds;
};

/* Can it be entered? A child that exits at once tries it. */
int namespace_try(const struct cache_namespace *s, struct err *e) MUST_CHECK;

/* Moves this process, which has one thread, into it. space: a struct cache_namespace. 0 or an
 * errno. */
int namespace_enter(void *space);

#endif
