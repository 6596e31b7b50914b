/* SPDX-License-Identifier: MIT */
#include "cluster/peers.h"

#include <stdlib.h>

void peers_fini(struct peers *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->all[i]);
	free(p->all);
	map_fini(&p->by_rank);
	*p = (struct peers){ 0 };
}

struct peer *peers_find(const struct peers *p, uint32_t rank)
{
	uint32_t i = map_get(&p->by_rank, rank);

	return i == MAP_NONE ? NULL : p->all[i];
}

struct peer *peers_at(struct peers *p, uint32_t rank)
{
	struct peer *peer = peers_find(p, rank);

	if (peer)
		return peer;
	if (p->count == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 8;
		struct peer **all = realloc(p->all, cap * sizeof(*all));

		if (!all)
			return NULL;
		p->all = all;
		p->cap = cap;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer || map_put(&p->by_rank, rank, (uint32_t)p->count) < 0) {
		free(peer);
		return NULL;
	}
	peer->rank = rank;
	p->all[p->count++] = peer;
	return peer;
}

size_t peers_bytes(const struct peers *p)
{
	return p->cap * sizeof(*p->all) + p->count * sizeof(**p->all) +
	       p->by_rank.cap * sizeof(*p->by_rank.slots);
}
