/* SPDX-License-Identifier: MIT */
#include "cli/cache/cluster_stats.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/profile/control.h"
#include "cachejob/node_sums.h"

static void put_if(struct emit *out, const char *key, int64_t value)
{
	if (!value)
		emit_hide(out);
	emit_head_int(out, key, value);
}

static void put_head(const char *job, const struct nodes_list *nodes, const struct node_sums *s,
		     struct emit *out)
{
	const struct node_report *one = &nodes->list[0], *all = &s->all;

	emit_head_str(out, "job_dir", job);
	emit_head_str(out, "view", one->view);
	emit_head_str(out, "target", one->target);
	emit_head_str(out, "transport", one->transport);
	emit_head_int(out, "nodes", one->ranks);
	emit_head_int(out, "nodes_up", (int64_t)nodes->count - s->ended - s->silent);
	put_if(out, "nodes_ended", s->ended);
	put_if(out, "nodes_silent", s->silent);
	emit_head_int(out, "requests", all->requests);
	emit_head_int(out, "hits", all->hits);
	emit_head_int(out, "misses", all->misses);
	emit_head_int(out, "failed", all->failed);
	emit_head_value(out, "read_bytes", all->read_bytes, "bytes");
	emit_head_int(out, "storage_requests", all->storage_requests);
	emit_head_value(out, "storage_bytes", all->storage_bytes, "bytes");
	emit_head_int(out, "peer_requests", all->peer_requests);
	emit_head_value(out, "peer_bytes", all->peer_bytes, "bytes");
	emit_head_value(out, "wait_ns", all->wait_ns, "nanoseconds");
	emit_head_value(out, "longest_wait_ns", node_report_longest(all), "nanoseconds");
	emit_head_value(out, "used_bytes", all->used_bytes, "bytes");
	put_if(out, "storage_errors", all->errors);
	put_if(out, "lost_peers", all->lost_peers);
	put_if(out, "rerouted", all->rerouted);
	put_if(out, "refused", all->refused);
	put_if(out, "replayed", all->replayed);
	put_if(out, "bad_files", (int64_t)nodes->bad);
}

/* The nodes whose longest request took longest. */
static int put_slowest(const struct nodes_list *nodes, struct emit *out)
{
	const struct node_report **order = node_sums_slowest(nodes);

	if (!order)
		return -ENOMEM;
	emit_head_list(out, "slowest_nodes");
	for (size_t i = 0; i < nodes->count && i < NODE_SUMS_SLOWEST; i++) {
		char text[400];

		snprintf(text, sizeof text, "rank %lld (%s): a request took %.3f ms",
			 (long long)order[i]->rank, order[i]->host,
			 (double)node_report_longest(order[i]) / 1e6);
		emit_hide(out);
		emit_head_item(out, text);
	}
	emit_head_list_end(out);
	free(order);
	return 0;
}

static void put_level(const struct node_level *l, size_t level, struct emit *out)
{
	emit_int(out, "level", (int64_t)level);
	emit_int(out, "requests", l->requests);
	emit_value(out, "bytes", l->bytes, "bytes");
	emit_value(out, "wait_ns", l->wait_ns, "nanoseconds");
	emit_value(out, "longest_ns", l->longest_ns, "nanoseconds");
	emit_int(out, "served", l->served);
	emit_int(out, "served_hits", l->hits);
}

static void put_levels(const struct node_report *all, struct emit *out)
{
	static const struct node_level nothing;

	emit_columns(out);
	put_level(&nothing, 0, out);
	for (size_t i = 0; i < NODE_LEVELS; i++) {
		const struct node_level *l = &all->levels[i];

		if (!l->requests && !l->served)
			continue;
		emit_row(out);
		put_level(l, i, out);
	}
	emit_note(out, "level 0 reads storage; a node has a level in each tree");
}

/* A view's own job, else the folder itself. */
static int job_of(const char *place, char ret[PATH_MAX], struct err *e)
{
	struct control_stats stats;
	int rc = control_stats(place, &stats, e);

	if (rc < 0 && rc != -ENOTTY)
		return rc;
	if (rc == 0 && !*stats.job)
		return err_set(e, -ENODATA, "%s: the view has no folder of a job", place);
	snprintf(ret, PATH_MAX, "%s", rc == 0 ? stats.job : place);
	return 0;
}

int cluster_stats_put(const char *place, struct emit *out, struct err *e)
{
	CLEANUP(nodes_list_fini) struct nodes_list nodes = { 0 };
	struct node_sums sums;
	char job[PATH_MAX];
	int rc = job_of(place, job, e);

	if (rc == 0)
		rc = nodes_list_read(job, NULL, &nodes, e);
	if (rc < 0)
		return rc;
	if (!nodes.count)
		return err_set(e, -ENODATA, "%s: no file of a node of several (logs/*-node.json)",
			       job);
	node_sums_make(&nodes, clock_wall_ns(), &sums);
	put_head(job, &nodes, &sums, out);
	if (put_slowest(&nodes, out) < 0)
		return err_nomem(e);
	put_levels(&sums.all, out);
	return 0;
}
