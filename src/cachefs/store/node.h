/* SPDX-License-Identifier: MIT */
/*
 * node: the tree of cached metadata, one node a path component.
 *
 * A node is pinned while its children, the kernel, a request or a chunk of its data hold a
 * reference. Without references it stays cached until nodes_sweep evicts it. The node's lock
 * guards its state, and is never held while storage or the kernel is waited for. Nodes share a
 * fixed number of locks, so a thread never takes two.
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
#include "cachefs/store/dirlist.h"
#include "cachefs/store/path_counts.h"
#include "cachefs/store/usage.h"

enum node_state {
	NODE_UNKNOWN,
	NODE_PRESENT,  /* attr is valid */
	NODE_NEGATIVE, /* storage returned ENOENT; valid until expires_ns */
};

/* The parts of a node that are fetched from storage, with one in-flight request each. */
enum node_part {
	NODE_ATTR,
	NODE_LIST,
	NODE_LINK,
	NODE_NAMES,  /* attributes of a folder's entries */
	NODE_BYTES,  /* uncached data: the oldest of any number of requests */
	NODE_RIGHTS, /* the same, of what users may do */
	NODE_PARTS,
};

/* The end of what was read of a file last: other bytes there are another version. See recheck.h. */
struct witness {
	uint64_t offset, hash;
	size_t len; /* 0: nothing was read */
};

struct inflight;
struct content;
struct passthrough;
struct recheck;

struct node {
	struct node *next;        /* in its bucket; under the shard's lock */
	struct node *parent;      /* holds a reference; NULL: this is the root */
	_Atomic uint64_t refs;    /* raised from 0 only under the shard's lock */
	_Atomic uint64_t lookups; /* the kernel's part of refs */
	_Atomic bool used;        /* since the last round of nodes_sweep */
	uint32_t hash;            /* of parent and name */
	_Atomic bool is_detached; /* another file, or another version of it, has the name; lookups
				     never find this node */
	_Atomic bool is_kept_negative; /* entry of the root that the kernel may cache as negative;
					  holds a reference */
	_Atomic bool is_read;          /* a process has read data of it */
	_Atomic bool is_late;          /* storage did not reply in time; the log has it */
	_Atomic unsigned blocked;      /* parked requests for which the kernel locks its inode */
	_Atomic uint64_t device;       /* st_dev; not known yet: that of its folder */
	struct node *next_stale;       /* in the notifier's list of nodes with is_stale */
	_Atomic(struct path_counts *) counts; /* owned; NULL: none */

	/* All below: under the node's lock. */
	enum node_state state;
	bool is_stale;    /* the kernel has yet to invalidate its data and attributes */
	bool is_growing;  /* until the kernel has dropped its data, it gets shown_size */
	uint32_t growths; /* how often that began */
	off_t shown_size;
	bool is_unlistable; /* listing it failed: do not try again for a mere lookup */
	bool is_changed;    /* storage has another version than attr; until that is looked up */
	uint8_t misses;     /* lookups in this folder that returned ENOENT */
	uint8_t in_order;   /* slow lookups of names that follow each other in the listing */
	uint32_t next_name; /* index in the listing of the next name to look up ahead */
	int64_t expires_ns; /* of state; CLOCK_MONOTONIC; INT64_MAX: never */
	int64_t read_ns;    /* when storage was read for state, or earlier; CLOCK_MONOTONIC */
	int64_t listing_expires_ns;
	int64_t listing_from_ns;     /* when storage was read for listing, or earlier */
	int64_t listing_read_ns;     /* until then a reader of the listing is expected to go on */
	struct stat attr;            /* valid in NODE_PRESENT, as are the next two */
	uint16_t missing_xattrs;     /* bits of cache_xattrs.c: ENODATA */
	uint16_t unsupported_xattrs; /* bits of cache_xattrs.c: EOPNOTSUPP */
	struct inflight *inflight[NODE_PARTS];
	struct dirlist *listing;         /* holds a reference; NULL: not cached */
	char *link;                      /* target of the symbolic link; owned; NULL: not cached */
	uint64_t next_chunk;             /* the next chunk of a sequential read */
	struct witness witness;          /* of this version */
	struct content *content;         /* data; owned by chunks.c; NULL: none */
	struct recheck *recheck;         /* data to be read again; owned; NULL: none */
	int64_t recheck_notice_ns;       /* when the kernel must drop such data */
	struct passthrough *passthrough; /* its opens; owned by passthrough.c; NULL: none */
	char name[];                     /* NUL-terminated; "" for the root */
};

struct nodes;

/* release: called before a node is freed, to free its passthrough. NULL: out of memory. */
struct nodes *nodes_new(struct usage *usage, void (*release)(struct node *n)) MUST_CHECK;
void nodes_free(struct nodes *t); /* no request runs, and all chunks are freed */

struct node *nodes_root(struct nodes *t);

/* Finds or makes the node, and takes a reference. parent must be referenced. NULL: out of memory.
 */
struct node *nodes_get(struct nodes *t, struct node *parent, const char *name) MUST_CHECK;

/* The same, but makes none. NULL: it is not cached. */
struct node *nodes_find(struct nodes *t, struct node *parent, const char *name) MUST_CHECK;

struct node *node_ref(struct node *n); /* n has a reference already */
void node_unref(struct node *n, uint64_t count);

void node_lock(struct nodes *t, struct node *n);
void node_unlock(struct nodes *t, struct node *n);
bool node_trylock(struct nodes *t, struct node *n);

/* Appends the path below the root, NUL-terminated. */
int node_path(const struct node *n, struct buf *ret) MUST_CHECK;

/* Counts requests by path. Call it before other threads use t. */
void nodes_enable_counts(struct nodes *t);
/* The counts of n, allocated if need be. NULL: counting is off, or out of memory. */
struct path_counts *node_counts(struct nodes *t, struct node *n);

/* Visits every node, the root first, and holds a reference on each during its visit. Other
 * threads go on, and may add nodes that are not visited. -ENOMEM: not all were visited. */
int nodes_visit(struct nodes *t, void (*visit)(void *context, struct node *n),
		void *context) MUST_CHECK;

/* Under n's lock. They take over listing or link, and account for it; NULL: none. */
void node_set_listing(struct nodes *t, struct node *n, struct dirlist *listing);
void node_set_link(struct nodes *t, struct node *n, char *link);
#define LISTING_READ_NS NS_PER_S /* the longest pause between two parts of one readdir */

/* An entry that only the kernel references, which the kernel may invalidate. */
struct evictable_name {
	struct node *parent; /* holds a reference */
	char *name;          /* owned by the list */
};
#define EVICTABLE_NAMES_MAX 256
struct evictable_names {
	struct evictable_name list[EVICTABLE_NAMES_MAX];
	size_t count;
};
void evictable_names_clear(struct evictable_names *names);

/*
 * One step of the eviction round over the table: evicts unreferenced nodes, and the listings and
 * links of others, that were not used since the last round. names: also collects files that only
 * the kernel references (NULL: no). True: the round over the whole table is complete.
 */
bool nodes_sweep(struct nodes *t, struct evictable_names *names);

#endif
