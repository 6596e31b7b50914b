/* SPDX-License-Identifier: MIT */
/*
 * connections: the TCP connections of a job. A frozen job does not answer its peers, so a user
 * compares their time-outs with the pause.
 */
#ifndef RELOCATE_CONNECTIONS_H
#define RELOCATE_CONNECTIONS_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"

/* Adds a note to s for each connection of its processes, and counts them. -ENOMEM. */
int connections_find(struct reloc_inventory *s, size_t *ret_count, struct err *e) MUST_CHECK;

#endif
