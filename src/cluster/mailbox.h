/* SPDX-License-Identifier: MIT */
/*
 * mailbox: what other threads pass to the thread of a node, in order.
 *
 * It is counted, because a read of storage may end long after the node has: then the mailbox is
 * closed, and what is put comes back to the caller.
 */
#ifndef CLUSTER_MAILBOX_H
#define CLUSTER_MAILBOX_H

#include <stdbool.h>

#include "base/fifo.h"
#include "base/macros.h"

struct mailbox;

/* wake is called with each put into an empty mailbox, under its lock. NULL: out of memory. */
struct mailbox *mailbox_new(void (*wake)(void *self), void *self) MUST_CHECK;
struct mailbox *mailbox_ref(struct mailbox *m);
void mailbox_unref(struct mailbox *m); /* NULL is allowed */

/* false: it is closed. Else the letter belongs to the node. */
bool mailbox_put(struct mailbox *m, struct fifo_link *letter) MUST_CHECK;

/* Moves all letters to *ret, which is empty. */
void mailbox_take(struct mailbox *m, struct fifo *ret);

/* Nothing can be put any more, and wake is not called again. */
void mailbox_close(struct mailbox *m);

#endif
