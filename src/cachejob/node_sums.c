/* SPDX-License-Identifier: MIT */
#include "cachejob/node_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "view/markdown.h"

#define SILENT_NS (3 * 60 * NS_PER_S) /* three beats: cachefs/fuse/node_file.h */

static void add_node(struct node_sums *s, const struct node_report *n, int64_t now_ns)
{
	struct node_report *to = &s->all;

	s->ended += n->has_ended;
	s->silent += !n->has_ended && now_ns - n->written_ns > SILENT_NS;
	number_add(&to->requests, n->requests);
	number_add(&to->hits, n->hits);
	number_add(&to->misses, n->misses);
	number_add(&to->failed, n->failed);
	number_add(&to->read_bytes, n->read_bytes);
	number_add(&to->wait_ns, n->wait_ns);
	number_add(&to->used_bytes, n->used_bytes);
	number_add(&to->storage_requests, n->storage_requests);
	number_add(&to->storage_bytes, n->storage_bytes);
	number_add(&to->peer_requests, n->peer_requests);
	number_add(&to->peer_bytes, n->peer_bytes);
	number_add(&to->lost_peers, n->lost_peers);
	number_add(&to->rerouted, n->rerouted);
	number_add(&to->errors, n->errors);
	number_add(&to->refused, n->refused);
	number_add(&to->replayed, n->replayed);
	for (size_t i = 0; i < NODE_LEVELS; i++) {
		struct node_level *level = &to->levels[i];

		number_add(&level->requests, n->levels[i].requests);
		number_add(&level->bytes, n->levels[i].bytes);
		number_add(&level->wait_ns, n->levels[i].wait_ns);
		number_add(&level->served, n->levels[i].served);
		number_add(&level->hits, n->levels[i].hits);
		if (n->levels[i].longest_ns > level->longest_ns)
			level->longest_ns = n->levels[i].longest_ns;
	}
}

void node_sums_make(const struct nodes_list *nodes, int64_t now_ns, struct node_sums *ret)
{
	*ret = (struct node_sums){ .ended = 0 };
	for (size_t i = 0; i < nodes->count; i++)
		add_node(ret, &nodes->list[i], now_ns);
}

int64_t node_report_longest(const struct node_report *n)
{
	int64_t longest = 0;

	for (size_t i = 0; i < NODE_LEVELS; i++)
		if (n->levels[i].longest_ns > longest)
			longest = n->levels[i].longest_ns;
	return longest;
}

static int by_longest(const void *a, const void *b)
{
	const struct node_report *one = *(const struct node_report *const *)a;
	const struct node_report *two = *(const struct node_report *const *)b;
	int64_t first = node_report_longest(one), second = node_report_longest(two);

	if (first != second)
		return first < second ? 1 : -1;
	return one->rank < two->rank ? -1 : one->rank > two->rank;
}

const struct node_report **node_sums_slowest(const struct nodes_list *nodes)
{
	const struct node_report **order = calloc(nodes->count + 1, sizeof *order);

	for (size_t i = 0; order && i < nodes->count; i++)
		order[i] = &nodes->list[i];
	if (order)
		qsort(order, nodes->count, sizeof *order, by_longest);
	return order;
}

static void put_levels(const struct node_report *all, struct buf *out)
{
	buf_put_str(
		out,
		"\n## Levels of the Overlay\n\n"
		"Level 0 reads storage; a node has a level in each tree.\n\n"
		"| Level | Requests | Bytes | Waiting (s) | Longest (ms) | Served to Nodes Below "
		"| Of These Cached |\n|---:|---:|---:|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < NODE_LEVELS; i++) {
		const struct node_level *l = &all->levels[i];

		if (l->requests || l->served)
			buf_printf(out, "| %zu | %lld | %lld | %.6f | %.3f | %lld | %lld |\n", i,
				   (long long)l->requests, (long long)l->bytes,
				   (double)l->wait_ns / 1e9, (double)l->longest_ns / 1e6,
				   (long long)l->served, (long long)l->hits);
	}
}

static int64_t sum_of(const struct node_report *n, bool is_wait)
{
	int64_t sum = 0;

	for (size_t i = 0; i < NODE_LEVELS; i++)
		number_add(&sum, is_wait ? n->levels[i].wait_ns : n->levels[i].requests);
	return sum;
}

void node_sums_put(const struct nodes_list *nodes, struct buf *out)
{
	const struct node_report **order = node_sums_slowest(nodes);
	struct node_sums sums;

	out->bad |= !order;
	if (!order || !nodes->count) {
		free(order);
		return;
	}
	node_sums_make(nodes, 0, &sums);
	put_levels(&sums.all, out);
	buf_put_str(out, "\n## Slowest Nodes\n\n"
			 "By the request to other nodes or storage that took longest.\n\n"
			 "| Rank | Host | Longest (ms) | Requests | Waiting (s) |\n"
			 "|---:|---|---:|---:|---:|\n");
	for (size_t i = 0; i < nodes->count && i < NODE_SUMS_SLOWEST; i++) {
		buf_printf(out, "| %lld | ", (long long)order[i]->rank);
		markdown_put_code(out, order[i]->host, strlen(order[i]->host));
		buf_printf(out, " | %.3f | %lld | %.6f |\n",
			   (double)node_report_longest(order[i]) / 1e6,
			   (long long)sum_of(order[i], false),
			   (double)sum_of(order[i], true) / 1e9);
	}
	free(order);
}
