/* SPDX-License-Identifier: MIT */
#include "cluster/fetches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/tree.h"

static void free_waiters(struct waiter *w)
{
	while (w) {
		struct waiter *next = w->next;

		free(w);
		w = next;
	}
}

void fetches_fini(struct fetches *f)
{
	for (size_t i = 0; i < f->slots; i++) {
		free_waiters(f->all[i]->waiters);
		buf_fini(&f->all[i]->path);
		free(f->all[i]);
	}
	free(f->all);
	free_waiters(f->free_waiters);
	*f = (struct fetches){ 0 };
}

static size_t bucket_of(const struct wire_key *key, uint64_t hash)
{
	return (hash + key->chunk * UINT64_C(31) + (uint64_t)key->op) % FETCH_BUCKETS;
}

struct fetch *fetches_find(const struct fetches *f, const struct wire_key *key, uint64_t hash)
{
	struct fetch *fetch = f->buckets[bucket_of(key, hash)];

	for (; fetch; fetch = fetch->next_in_bucket)
		if (fetch->path_hash == hash && fetch->key.op == key->op &&
		    fetch->key.chunk == key->chunk && fetch->key.path.len == key->path.len &&
		    file_identity_equals(&fetch->key.identity, &key->identity) &&
		    (!key->path.len ||
		     memcmp(fetch->key.path.ptr, key->path.ptr, key->path.len) == 0))
			return fetch;
	return NULL;
}

struct fetch *fetches_by_id(const struct fetches *f, uint64_t id)
{
	size_t slot = (uint32_t)id;
	struct fetch *fetch = slot < f->slots ? f->all[slot] : NULL;

	if (!fetch || fetch->state == FETCH_FREE || (fetch->id != id && fetch->message_id != id))
		return NULL;
	return fetch;
}

void fetches_renew(struct fetches *f, struct fetch *fetch)
{
	fetch->message_id = (uint64_t)++f->generation << 32 | (uint32_t)fetch->id;
	fetch->first_sent_ns = 0;
}

static struct fetch *take_slot(struct fetches *f)
{
	struct fetch *fetch = f->free;

	if (fetch) {
		f->free = fetch->next_free;
		return fetch;
	}
	if (f->slots == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 8;
		struct fetch **all = realloc(f->all, cap * sizeof(*all));

		if (!all)
			return NULL;
		f->all = all;
		f->cap = cap;
	}
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return NULL;
	fetch->id = f->slots;
	f->all[f->slots++] = fetch;
	return fetch;
}

struct fetch *fetches_add(struct fetches *f, const struct wire_key *key, uint64_t hash)
{
	struct fetch *fetch, **bucket = &f->buckets[bucket_of(key, hash)];
	struct buf path;
	uint32_t slot;

	if (f->count == f->max)
		return NULL;
	fetch = take_slot(f);
	if (!fetch)
		return NULL;
	path = fetch->path;
	slot = (uint32_t)fetch->id;
	buf_clear(&path);
	buf_put(&path, key->path.ptr, key->path.len);
	*fetch = (struct fetch){
		.key = *key,
		.path = path,
		.path_hash = hash,
		.id = (uint64_t)++f->generation << 32 | slot,
		.state = FETCH_EXHAUSTED,
	};
	if (buf_error(&path) < 0) {
		fetch->state = FETCH_FREE;
		fetch->next_free = f->free;
		f->free = fetch;
		return NULL;
	}
	fetch->key.path.ptr = path.data ? path.data : "";
	fetches_renew(f, fetch);
	fetch->next_in_bucket = *bucket;
	*bucket = fetch;
	f->count++;
	return fetch;
}

void fetches_remove(struct fetches *f, struct fetch *fetch)
{
	struct fetch **link = &f->buckets[bucket_of(&fetch->key, fetch->path_hash)];

	assert(!fetch->waiters);
	while (*link != fetch)
		link = &(*link)->next_in_bucket;
	*link = fetch->next_in_bucket;
	fetch->state = FETCH_FREE;
	fetch->next_free = f->free;
	f->free = fetch;
	f->count--;
}

struct waiter *fetches_join(struct fetches *f, struct fetch *fetch, uint32_t rank, uint64_t id,
			    bool *ret_is_new)
{
	struct waiter *w = fetch->waiters;

	*ret_is_new = false;
	for (; w; w = w->next) {
		if (rank != CLUSTER_NO_RANK && w->rank == rank) {
			w->id = id;
			return w;
		}
	}
	w = f->free_waiters;
	if (w) {
		f->free_waiters = w->next;
	} else {
		w = malloc(sizeof(*w));
		if (!w)
			return NULL;
		f->waiters++;
	}
	*w = (struct waiter){ .next = fetch->waiters, .rank = rank, .id = id };
	fetch->waiters = w;
	*ret_is_new = true;
	return w;
}

void fetches_leave(struct fetches *f, struct waiter **link)
{
	struct waiter *w = *link;

	*link = w->next;
	w->next = f->free_waiters;
	f->free_waiters = w;
}

bool fetch_has_local_waiter(const struct fetch *fetch)
{
	for (const struct waiter *w = fetch->waiters; w; w = w->next)
		if (w->rank == CLUSTER_NO_RANK)
			return true;
	return false;
}

size_t fetches_bytes(const struct fetches *f)
{
	size_t bytes = f->cap * sizeof(*f->all) + f->waiters * sizeof(struct waiter);

	for (size_t i = 0; i < f->slots; i++)
		bytes += sizeof(**f->all) + f->all[i]->path.cap;
	return bytes;
}
