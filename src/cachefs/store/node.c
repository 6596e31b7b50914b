/* SPDX-License-Identifier: MIT */
#include "cachefs/store/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cachefs/memory/recheck.h"

#define SHARDS 64 /* of the hash table; a power of two */
#define LOCKS 256 /* that nodes share; a power of two */
#define FIRST_BUCKETS 64
#define SWEEP_BUCKETS 64 /* that one nodes_sweep visits */

struct shard {
	pthread_mutex_t lock;
	struct node **buckets; /* [cap]; under lock */
	size_t cap, count;     /* cap: a power of two; under lock */
};

struct nodes {
	struct shard shards[SHARDS];
	pthread_mutex_t locks[LOCKS]; /* of nodes */
	struct usage *usage;
	struct node *root;
	pthread_mutex_t sweep_lock;
	size_t sweep_shard, sweep_bucket; /* the next ones to sweep; under sweep_lock */
	bool has_counts;                  /* this and the next: written before start */
	void (*release)(struct node *n);
};

static uint32_t hash_of(const struct node *parent, const char *name)
{
	return (uint32_t)hash_number(hash_bytes(name, strlen(name)) ^ (uintptr_t)parent);
}

static struct shard *shard_of(struct nodes *t, uint32_t hash)
{
	return &t->shards[hash & (SHARDS - 1)];
}

static struct node **bucket_of(struct shard *s, uint32_t hash)
{
	return &s->buckets[(hash / SHARDS) & (s->cap - 1)];
}

static pthread_mutex_t *lock_of(struct nodes *t, const struct node *n)
{
	return &t->locks[((uintptr_t)n >> 5 ^ (uintptr_t)n >> 13) & (LOCKS - 1)];
}

static size_t bytes_of(const struct node *n)
{
	return sizeof *n + strlen(n->name) + 1 + sizeof(struct node *);
}

static struct node *new_node(struct nodes *t, struct node *parent, const char *name)
{
	size_t len = strlen(name) + 1;
	struct node *n = calloc(1, sizeof *n + len);

	if (!n)
		return NULL;
	memcpy(n->name, name, len);
	n->parent = parent;
	n->device = parent ? atomic_load(&parent->device) : 0;
	n->refs = 1;
	n->used = true;
	usage_add(t->usage, USAGE_METADATA, bytes_of(n));
	return n;
}

static struct path_counts *counts_at(struct nodes *t, _Atomic(struct path_counts *) *at)
{
	if (path_counts_make(at))
		atomic_fetch_add(&t->usage->bytes[USAGE_METADATA], sizeof(struct path_counts));
	return atomic_load(at);
}

struct path_counts *node_counts(struct nodes *t, struct node *n)
{
	return t->has_counts ? counts_at(t, &n->counts) : NULL;
}

/* Its folder keeps the counts of an evicted node. */
static void merge_counts_into_parent(struct nodes *t, struct node *n)
{
	struct path_counts *c = atomic_load(&n->counts), *up;
	uint64_t bytes = sizeof *c;

	if (!c)
		return;
	up = n->parent && path_counts_has_any(c) ? node_counts(t, n->parent) : NULL;
	up = up ? counts_at(t, &up->evicted) : NULL;
	if (up)
		path_counts_merge(up, c);
	if (atomic_load(&c->evicted))
		bytes += sizeof *c;
	atomic_fetch_sub(&t->usage->bytes[USAGE_METADATA], bytes);
	path_counts_free(c);
}

/* The node is out of the table, and has no references. */
static void free_node(struct nodes *t, struct node *n)
{
	node_set_listing(t, n, NULL);
	node_set_link(t, n, NULL);
	merge_counts_into_parent(t, n);
	recheck_clear(&n->recheck);
	t->release(n);
	usage_remove(t->usage, USAGE_METADATA, bytes_of(n));
	if (n->parent)
		node_unref(n->parent, 1);
	free(n);
}

struct nodes *nodes_new(struct usage *usage, void (*release)(struct node *n))
{
	struct nodes *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->usage = usage;
	t->release = release;
	pthread_mutex_init(&t->sweep_lock, NULL);
	for (size_t i = 0; i < SHARDS; i++)
		pthread_mutex_init(&t->shards[i].lock, NULL);
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&t->locks[i], NULL);
	t->root = new_node(t, NULL, "");
	for (size_t i = 0; i < SHARDS; i++) {
		t->shards[i].cap = FIRST_BUCKETS;
		t->shards[i].buckets = calloc(FIRST_BUCKETS, sizeof(struct node *));
		if (!t->shards[i].buckets || !t->root)
			goto fail;
	}
	return t;

fail:
	nodes_free(t);
	return NULL;
}

void nodes_free(struct nodes *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shards[i];

		for (size_t b = 0; s->buckets && b < s->cap; b++) {
			for (struct node *n = s->buckets[b], *next; n; n = next) {
				next = n->next;
				n->parent = NULL; /* all are freed, in any order */
				free_node(t, n);
			}
		}
		free(s->buckets);
		pthread_mutex_destroy(&s->lock);
	}
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&t->locks[i]);
	if (t->root)
		free_node(t, t->root);
	pthread_mutex_destroy(&t->sweep_lock);
	free(t);
}

struct node *nodes_root(struct nodes *t)
{
	return t->root;
}

/* Without memory for it, the chains just get longer. */
static void grow(struct shard *s)
{
	size_t cap = 2 * s->cap;
	struct node **buckets = calloc(cap, sizeof(struct node *)), **old = s->buckets;
	size_t old_cap = s->cap;

	if (!buckets)
		return;
	s->buckets = buckets;
	s->cap = cap;
	for (size_t b = 0; b < old_cap; b++) {
		for (struct node *n = old[b], *next; n; n = next) {
			struct node **at = bucket_of(s, n->hash);

			next = n->next;
			n->next = *at;
			*at = n;
		}
	}
	free(old);
}

static struct node *find(struct shard *s, uint32_t hash, const struct node *parent,
			 const char *name)
{
	struct node *n = *bucket_of(s, hash);

	while (n && (n->hash != hash || n->parent != parent || n->is_detached ||
		     strcmp(n->name, name) != 0))
		n = n->next;
	return n;
}

/* Under the shard's lock. */
static void insert(struct shard *s, struct node *n, uint32_t hash)
{
	struct node **at;

	if (s->count >= s->cap)
		grow(s);
	at = bucket_of(s, hash);
	n->hash = hash;
	n->next = *at;
	*at = n;
	s->count++;
	node_ref(n->parent);
}

struct node *nodes_get(struct nodes *t, struct node *parent, const char *name)
{
	uint32_t hash = hash_of(parent, name);
	struct shard *s = shard_of(t, hash);
	struct node *n;

	if (parent == t->root && !atomic_load_explicit(&parent->used, memory_order_relaxed))
		atomic_store_explicit(&parent->used, true, memory_order_relaxed);
	pthread_mutex_lock(&s->lock);
	n = find(s, hash, parent, name);
	if (n) {
		atomic_fetch_add(&n->refs, 1);
		atomic_store_explicit(&n->used, true, memory_order_relaxed);
	} else {
		n = new_node(t, parent, name);
		if (n)
			insert(s, n, hash);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

struct node *nodes_find(struct nodes *t, struct node *parent, const char *name)
{
	uint32_t hash = hash_of(parent, name);
	struct shard *s = shard_of(t, hash);
	struct node *n;

	pthread_mutex_lock(&s->lock);
	n = find(s, hash, parent, name);
	if (n) {
		atomic_fetch_add(&n->refs, 1);
		atomic_store_explicit(&n->used, true, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

struct node *node_ref(struct node *n)
{
	atomic_fetch_add(&n->refs, 1);
	return n;
}

void node_unref(struct node *n, uint64_t count)
{
	atomic_fetch_sub(&n->refs, count);
}

void node_lock(struct nodes *t, struct node *n)
{
	pthread_mutex_lock(lock_of(t, n));
}

void node_unlock(struct nodes *t, struct node *n)
{
	pthread_mutex_unlock(lock_of(t, n));
}

bool node_trylock(struct nodes *t, struct node *n)
{
	return pthread_mutex_trylock(lock_of(t, n)) == 0;
}

int node_path(const struct node *n, struct buf *ret)
{
	size_t len = 0, at;
	char *room;

	for (const struct node *up = n; up->parent; up = up->parent)
		len += strlen(up->name) + 1;
	room = buf_reserve(ret, len + 1);
	if (!room)
		return -ENOMEM;
	at = len;
	room[len ? len - 1 : 0] = '\0';
	for (const struct node *up = n; up->parent; up = up->parent) {
		size_t part = strlen(up->name);

		at -= part + 1;
		memcpy(room + at, up->name, part);
		if (at)
			room[at - 1] = '/';
	}
	buf_grew(ret, len ? len - 1 : 0);
	return buf_error(ret);
}

void node_set_listing(struct nodes *t, struct node *n, struct dirlist *listing)
{
	if (n->listing) {
		usage_remove(t->usage, USAGE_TREE, dirlist_bytes(n->listing));
		dirlist_unref(n->listing);
	}
	n->listing = listing;
	if (listing)
		usage_add(t->usage, USAGE_TREE, dirlist_bytes(listing));
}

void node_set_link(struct nodes *t, struct node *n, char *link)
{
	if (n->link) {
		usage_remove(t->usage, USAGE_TREE, strlen(n->link) + 1);
		free(n->link);
	}
	n->link = link;
	if (link)
		usage_add(t->usage, USAGE_TREE, strlen(link) + 1);
}

void evictable_names_clear(struct evictable_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->list[i].name);
		node_unref(names->list[i].parent, 1);
	}
	names->count = 0;
}

/* Adds n if the kernel has the only reference. Not folders: too often one is the working directory
 * of a process, which would lose its place. */
static void note_evictable(struct nodes *t, struct node *n, struct evictable_names *names)
{
	uint64_t lookups = atomic_load(&n->lookups);
	bool is_leaf;

	if (!lookups || atomic_load(&n->refs) != lookups || names->count == EVICTABLE_NAMES_MAX)
		return;
	if (!node_trylock(t, n))
		return;
	is_leaf = n->state == NODE_PRESENT && !S_ISDIR(n->attr.st_mode) && !n->content;
	node_unlock(t, n);
	if (!is_leaf)
		return;
	names->list[names->count].name = strdup(n->name);
	if (names->list[names->count].name)
		names->list[names->count++].parent = node_ref(n->parent);
}

static void drop_details(struct nodes *t, struct node *n)
{
	if (!node_trylock(t, n))
		return;
	if (n->listing && clock_mono_ns() >= n->listing_read_ns)
		node_set_listing(t, n, NULL);
	node_set_link(t, n, NULL);
	node_unlock(t, n);
}

/* Under the shard's lock. Chains evicted nodes on dead, for the caller to free. */
static void sweep_bucket(struct nodes *t, struct shard *s, size_t bucket, struct node **dead,
			 struct evictable_names *names)
{
	for (struct node **at = &s->buckets[bucket]; *at;) {
		struct node *n = *at;

		if (atomic_exchange_explicit(&n->used, false, memory_order_relaxed)) {
			at = &n->next;
			continue;
		}
		if (atomic_load(&n->refs) == 0) {
			*at = n->next;
			s->count--;
			n->next = *dead;
			*dead = n;
			continue;
		}
		drop_details(t, n);
		if (names)
			note_evictable(t, n, names);
		at = &n->next;
	}
}

bool nodes_sweep(struct nodes *t, struct evictable_names *names)
{
	struct node *dead = NULL;
	struct shard *s;
	bool is_round;

	pthread_mutex_lock(&t->sweep_lock);
	s = &t->shards[t->sweep_shard];
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < SWEEP_BUCKETS && t->sweep_bucket < s->cap; i++)
		sweep_bucket(t, s, t->sweep_bucket++, &dead, names);
	if (t->sweep_bucket >= s->cap) {
		t->sweep_bucket = 0;
		t->sweep_shard = (t->sweep_shard + 1) % SHARDS;
	}
	is_round = t->sweep_shard == 0 && t->sweep_bucket == 0;
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&t->sweep_lock);
	while (dead) {
		struct node *n = dead;

		dead = n->next;
		free_node(t, n);
	}
	if (is_round && !atomic_exchange_explicit(&t->root->used, false, memory_order_relaxed))
		drop_details(t, t->root);
	return is_round;
}

void nodes_enable_counts(struct nodes *t)
{
	t->has_counts = true;
}

/* References all nodes of a shard. The caller owns *ret. -ENOMEM. */
static int ref_shard(struct shard *s, struct node ***ret, size_t *ret_count)
{
	struct node **list;
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	list = malloc((s->count + 1) * sizeof(struct node *));
	for (size_t i = 0; list && i < s->cap; i++)
		for (struct node *n = s->buckets[i]; n; n = n->next)
			list[count++] = node_ref(n);
	pthread_mutex_unlock(&s->lock);
	*ret = list;
	*ret_count = count;
	return list ? 0 : -ENOMEM;
}

int nodes_visit(struct nodes *t, void (*visit)(void *context, struct node *n), void *context)
{
	visit(context, t->root);
	for (size_t i = 0; i < SHARDS; i++) {
		struct node **list;
		size_t count;

		if (ref_shard(&t->shards[i], &list, &count) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < count; k++) {
			visit(context, list[k]);
			node_unref(list[k], 1);
		}
		free(list);
	}
	return 0;
}
