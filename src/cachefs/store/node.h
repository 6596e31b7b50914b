/* SPDX-License-Identifier: MIT */
/*
 * node: the tree of what is known, one node a path component.
 *
 * A node lives while somebody counts on it: its children, the kernel, a request, a chunk of its
 * data. After that it stays as a memory of what was found, until nodes_sweep takes it. What is
 * in a node is guarded by its lock (one of a fixed number, shared by nodes); never take two.
 */
#ifndef CACHEFS_STORE_NODE_H
#define CACHEFS_STORE_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cachefs/profile/path_counts.h"
#include "cachefs/store/dirlist.h"
#include "cachefs/store/usage.h"

enum node_state {
	NODE_UNKNOWN,
	NODE_PRESENT, /* attr holds */
	NODE_ABSENT,  /* until expires_ns */
};

/* What is being got from storage for a node: one at a time of each. */
enum node_part {
	NODE_ATTR,
	NODE_LIST,
	NODE_LINK,
	NODE_NAMES, /* attributes of what is in a folder */
	NODE_BYTES, /* data that is not kept: the oldest of any number */
	NODE_PARTS,
};

struct flight;
struct content;
struct passing;

struct node {
	struct node *next;     /* in its bucket; under the shard's lock */
	struct node *parent;   /* counted; NULL: the root */
	_Atomic uint64_t refs; /* all who count on it; raised from 0 under the shard's lock only */
	_Atomic uint64_t lookups;    /* of refs: the kernel's */
	_Atomic bool used;           /* since nodes_sweep came by */
	uint32_t hash;               /* of parent and name */
	_Atomic bool is_gone;        /* its name is another file's now; never found again */
	_Atomic bool is_kept_absent; /* in the root, and the kernel may know that it is absent:
					counted */
	struct node *next_stale;     /* of those with is_stale; the keeper's */
	_Atomic(struct path_counts *) counts; /* NULL: none; owned */

	/* Below: under the node's lock. */
	enum node_state state;
	bool is_stale;      /* the kernel is still to be told that the file is another one */
	bool is_unlistable; /* its names were asked for in vain: do not, just for a lookup */
	uint8_t misses;     /* lookups below it that found nothing */
	uint8_t in_order;   /* slow lookups of names that follow each other in the listing */
	uint32_t next_name; /* of the listing, that is looked up next then */
	int64_t expires_ns; /* of state: the monotonic clock; INT64_MAX: never */
	int64_t listing_expires_ns;
	int64_t listing_read_ns; /* who reads the listing in parts asks for more until then */
	struct stat attr;        /* NODE_PRESENT; with it, bits of cache_xattrs.c: */
	uint16_t lacking_xattrs; /* ENODATA */
	uint16_t refused_xattrs; /* EOPNOTSUPP */
	struct flight *flights[NODE_PARTS];
	struct dirlist *listing; /* NULL: not known; counted */
	char *link;              /* where the symbolic link leads; NULL: not known; owned */
	uint64_t next_chunk;     /* if the file is read in order */
	struct content *content; /* data; NULL: none; owned by chunks.c */
	struct passing *passing; /* who has it open; NULL: nobody, or nobody counts; owned */
	char name[];             /* NUL-terminated; "" for the root */
};

struct nodes;

struct nodes *nodes_new(struct usage *usage) MUST_CHECK; /* NULL: out of memory */
void nodes_free(struct nodes *t); /* no request is under way; chunks are gone */

struct node *nodes_root(struct nodes *t);

/* Found or made, counted once more. NULL: out of memory. parent must be counted. */
struct node *nodes_get(struct nodes *t, struct node *parent, const char *name) MUST_CHECK;

struct node *node_ref(struct node *n); /* n is counted already */
void node_unref(struct node *n, uint64_t count);

void node_lock(struct nodes *t, struct node *n);
void node_unlock(struct nodes *t, struct node *n);
bool node_trylock(struct nodes *t, struct node *n);
void node_wake(struct nodes *t, struct node *n); /* those who wait */
/* Waits for node_wake, under n's lock. False at until_ns of the monotonic clock. */
bool node_wait(struct nodes *t, struct node *n, int64_t until_ns);

/* The path below the root, NUL-terminated, in ret. */
int node_path(const struct node *n, struct buf *ret) MUST_CHECK;

/* From here on what is asked of paths is counted. Call before other threads use t. */
void nodes_keep_counts(struct nodes *t);
/* Of n, made when there are none. NULL: they are not kept, or out of memory. */
struct path_counts *node_counts(struct nodes *t, struct node *n);

/* Every node there is, the root first, each counted during its visit; other threads go on, and
 * may add nodes that are not visited. -ENOMEM: not all were. */
int nodes_visit(struct nodes *t, void (*visit)(void *context, struct node *n),
		void *context) MUST_CHECK;

/* Under n's lock: what is kept for n, and accounted. Takes listing or link over; NULL: none. */
void node_set_listing(struct nodes *t, struct node *n, struct dirlist *listing);
void node_set_link(struct nodes *t, struct node *n, char *link);
#define LISTING_READ_NS NS_PER_S /* between two parts */

/* A node that only the kernel counts on, and which it may be asked to forget. */
struct node_held {
	uint64_t parent; /* the address of the parent's node, never to be followed */
	char *name;      /* owned by the list */
};
#define NODES_HELD_MAX 256
struct nodes_held {
	struct node_held list[NODES_HELD_MAX];
	size_t count;
};
void nodes_held_clear(struct nodes_held *held);

/*
 * One round over a part of the table: forgets nodes nobody counts on, and listings and links of
 * others, that were not used since the last time; lists files that only the kernel holds (held
 * NULL: not). Returns true when the round over the whole table is complete.
 */
bool nodes_sweep(struct nodes *t, struct nodes_held *held);

#endif
