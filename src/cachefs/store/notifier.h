/* SPDX-License-Identifier: MIT */
/*
 * notifier: the thread that sends invalidations to the kernel.
 *
 * A notification takes the lock of an inode, or of pages, which the kernel also holds while a
 * LOOKUP, READDIR or READ waits for its reply. So it holds no lock of ours, no request waits for
 * it, and a notification for a node with parked requests (node.blocked) waits until they are
 * answered: a writer that waits for such a lock would hold up all new readers of it.
 */
#ifndef CACHEFS_STORE_NOTIFIER_H
#define CACHEFS_STORE_NOTIFIER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/store/node.h"

/* Notifications to the kernel. The notifier sends them, with no lock held, because the kernel's own
 * locks may block them; drop_unused takes none of an inode, and is called by any thread. */
struct cache_kernel {
	/* Drops all dentries that no process uses. False: we have no permission to. */
	bool (*drop_unused)(void *context);
	/* Removes a dentry, as unlink(2) would: a process in that folder loses its place. */
	void (*inval_entry)(void *context, uint64_t parent, const char *name);
	/* Makes the kernel look the name up again. */
	void (*expire_entry)(void *context, uint64_t parent, const char *name);
	/* Drops data and attributes. */
	void (*inval_inode)(void *context, uint64_t node);
	void *context;
	int fuse_fd;
};

struct notice;

struct notifier {
	struct nodes *nodes; /* written before start, as is the next */
	const struct cache_kernel *kernel;
	pthread_t thread;
	_Atomic bool waits; /* all that is queued waits for parked requests */

	pthread_mutex_t lock;
	pthread_cond_t wake, sent;
	struct node *stale; /* files that changed; referenced; this and below: under lock */
	struct notice *first, **last; /* the queue */
	uint64_t queued;              /* notices that are not sent yet, without those of later */
	int64_t due_ns;               /* of the first one of later; INT64_MAX: none */
	bool is_running, is_ending;
};

enum notice_kind {
	NOTICE_INODE,        /* drops data and attributes of the node */
	NOTICE_GROWN,        /* the same, of a file that grew; then node.is_growing is cleared */
	NOTICE_INVAL_ENTRY,  /* removes a dentry of the node, as unlink(2) would */
	NOTICE_EXPIRE_ENTRY, /* the kernel looks the name up again */
};

void notifier_init(struct notifier *t, struct nodes *nodes, const struct cache_kernel *kernel);
int notifier_start(struct notifier *t, struct err *e) MUST_CHECK;
/* What is queued is dropped, and so is what is queued later. */
void notifier_stop(struct notifier *t);
void notifier_fini(struct notifier *t); /* stopped */

/* Queues a notification for n, or the entry name of folder n. -ENOMEM. */
int notifier_put(struct notifier *t, enum notice_kind kind, struct node *n,
		 const char *name) MUST_CHECK;
/* NOTICE_INODE, at due_ns of CLOCK_MONOTONIC; nobody waits for it. -ENOMEM. */
int notifier_put_later(struct notifier *t, struct node *n, int64_t due_ns) MUST_CHECK;
/* Waits until at most `left` notices are queued, until_ns of CLOCK_MONOTONIC, or until the notifier
 * stops. No lock is held. */
void notifier_wait(struct notifier *t, uint64_t left, int64_t until_ns);

/* Under the lock of n: queues it, a file that changed, unless it is queued (is_stale). Once the
 * kernel has dropped its data, is_stale is cleared. Where n is detached, its entry expires, too,
 * and the kernel keeps the data of a file: they are of the old version. */
void notifier_put_stale(struct notifier *t, struct node *n);

/* A request was answered: node.blocked of some node is 0 again. Any lock may be held. */
void notifier_unblocked(void *notifier);

#endif
