/* SPDX-License-Identifier: MIT */
/*
 * bootstrap: how the nodes of a job learn their ranks, and a text of each other: an endpoint.
 *
 * Each way is one struct, tried in this order: an address book where the user named one, PMIx and
 * PMI-1 where the launcher offers them; else the node is alone.
 */
#ifndef CLUSTER_BOOTSTRAP_BOOTSTRAP_H
#define CLUSTER_BOOTSTRAP_BOOTSTRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "cluster/bootstrap/way.h"
#include "cluster/secret.h"

/* Rank and size are known afterwards. Nothing has been exchanged. */
int bootstrap_open(const struct bootstrap_config *config, struct bootstrap **ret,
		   struct err *e) MUST_CHECK;
/* Removes what this node left for others, such as its file of the book. NULL is allowed. */
void bootstrap_close(struct bootstrap *b);

uint32_t bootstrap_rank(const struct bootstrap *b);
uint32_t bootstrap_size(const struct bootstrap *b);    /* > 0 */
const char *bootstrap_name(const struct bootstrap *b); /* "address book", "PMI-1", "alone" */

/* A secret that all ranks get, made by rank 0. -EACCES: this way cannot keep it from other users.
 */
int bootstrap_share(struct bootstrap *b, struct secret *ret, struct err *e) MUST_CHECK;

/*
 * Publishes own, and waits until all ranks have. Calls set with the text of each rank for which
 * wants is true. -ETIMEDOUT: the reason names the ranks that are missing.
 */
int bootstrap_exchange(struct bootstrap *b, const char *own, const bool *wants, bootstrap_set *set,
		       void *self, struct err *e) MUST_CHECK;

/* What a rank publishes when it is started again. NULL: this way has no such thing, or memory
 * lacks. */
struct bootstrap_lookup *bootstrap_lookup(const struct bootstrap *b, uint32_t rank);

/* Reads it, which may block on storage; any thread, also after bootstrap_close(). false: there is
 * nothing. */
bool bootstrap_lookup_run(const struct bootstrap_lookup *l, char ret[BOOTSTRAP_TEXT]) MUST_CHECK;
void bootstrap_lookup_free(struct bootstrap_lookup *l); /* NULL is allowed */

#endif
