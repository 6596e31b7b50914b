/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"

/* Of Copper, measured: spec of the cache file system, B3.9. One thread serves whole files. */
#define COPPER_RATE 25e6 /* bytes a second and hop */
#define COPPER_CALL 70e-6
#define STORAGE_RATE 5e9
#define MIB (1024.0 * 1024)

static const uint32_t sizes[] = { 10, 100, 1000, 10000 };
static bool has_failed;

struct sim_config sim_bulk(uint32_t nodes, uint32_t fanout, uint32_t trees)
{
	return (struct sim_config){ .seed = 1,
				    .nodes = nodes,
				    .fanout = fanout,
				    .trees = trees < nodes ? trees : nodes,
				    .folders = 1,
				    .files = 1,
				    .chunks = 256,
				    .chunk_bytes = WIRE_CHUNK_BYTES,
				    .skew_ns = 100 * MS,
				    .revalidate_ns = 600 * SECOND,
				    .timeout_ns = 30 * SECOND };
}

/* A program starts: 10 folders are listed, and then 100 files of 64 KiB read one after another. */
static struct sim_config start_config(uint32_t nodes)
{
	struct sim_config c = sim_bulk(nodes, PROTOCOL_FANOUT, PROTOCOL_TREES);

	c.folders = 10;
	c.files = 10;
	c.chunks = 1;
	c.chunk_bytes = 64 << 10;
	c.reads_listings = true;
	return c;
}

static struct sim_result run(struct sim_config c)
{
	struct sim_result r;

	sim_run(&c, &r);
	if (!r.is_ok) {
		fprintf(stderr, "%u nodes, fan-out %u: %s\n", c.nodes, c.fanout, r.fault);
		has_failed = true;
	}
	return r;
}

static struct sim_result run_killed(struct sim_config c)
{
	c.kills = (c.nodes + 99) / 100;
	c.fault_ns = 200 * MS;
	return run(c);
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)SECOND;
}

/* Source: copper's tree_builder; spec of the cache file system, A7. */
static uint32_t copper_fanout(uint32_t nodes)
{
	static const uint32_t most[] = { 31, 121, 341, 781, 1555 };

	for (uint32_t i = 0; i < ARRAY_LEN(most); i++)
		if (nodes <= most[i])
			return i + 2;
	return 7;
}

/* When the last node has the last file. A node serves one child after the other, each file when it
 * has all of it; while it serves one, its parent sends the next. */
static double copper_seconds(uint32_t nodes, double files, double bytes)
{
	double *done = calloc(nodes, sizeof(*done)), last = 0;
	double hop = bytes / COPPER_RATE + COPPER_CALL;
	uint32_t fanout = copper_fanout(nodes);

	if (!done)
		abort();
	done[0] = bytes / STORAGE_RATE + 1e-3;
	for (uint32_t i = 1; i < nodes; i++) {
		done[i] = done[(i - 1) / fanout] + ((i - 1) % fanout + 1) * hop;
		if (done[i] > last)
			last = done[i];
	}
	free(done);
	return last + (files - 1) * fanout * hop;
}

static void print_bulk(void)
{
	puts("| nodes | reads of storage a chunk | all have it, s | bytes sent, most/mean | messages a "
	     "node | memory a node, KiB | 1 % killed: reads | s | bytes sent, most/mean | longest "
	     "stall, s | every node reads storage, s | Copper's tree, s |");
	puts("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct sim_config c = sim_bulk(sizes[i], PROTOCOL_FANOUT, PROTOCOL_TREES);
		struct sim_result r = run(c), killed = run_killed(c), direct;

		c.is_direct = true;
		direct = run(c);
		printf("| %u | %.2f | %.2f | %.2f | %.0f | %" PRIu64
		       " | %.2f | %.2f | %.2f | %.3f | %.2f | %.0f |\n",
		       sizes[i], r.reads_mean, seconds(r.all_done_ns), r.sent_ratio, r.messages,
		       (r.memory + 1023) >> 10, killed.reads_mean, seconds(killed.all_done_ns),
		       killed.sent_ratio, seconds(killed.longest_ns), seconds(direct.all_done_ns),
		       copper_seconds(sizes[i], 1, 256 * MIB));
		fflush(stdout);
	}
}

static void print_start(void)
{
	puts("\n| nodes | reads of storage a file or listing | all have started, s | messages a node | "
	     "1 % killed: reads | s | every node reads storage, s | Copper's tree, s |");
	puts("|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct sim_config c = start_config(sizes[i]);
		struct sim_result r = run(c), killed = run_killed(c), direct;

		c.is_direct = true;
		direct = run(c);
		printf("| %u | %.2f | %.2f | %.0f | %.2f | %.2f | %.2f | %.2f |\n", sizes[i],
		       r.reads_mean, seconds(r.all_done_ns), r.messages, killed.reads_mean,
		       seconds(killed.all_done_ns), seconds(direct.all_done_ns),
		       copper_seconds(sizes[i], 100, 65536));
		fflush(stdout);
	}
}

static void print_fanouts(void)
{
	static const uint32_t rows[][2] = { { 2, 1 }, { 4, 1 }, { 8, 1 }, { 16, 1 }, { 2, 2 },
					    { 3, 3 }, { 4, 4 }, { 6, 6 }, { 8, 8 },  { 16, 16 } };

	puts("\n| fan-out | trees | depth | all have it, s | bytes sent, most/mean | 1 % killed, s | "
	     "bytes sent, most/mean | longest stall, s | 5 % slow links, s |");
	puts("|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sim_config c = sim_bulk(1000, rows[i][0], rows[i][1]);
		struct cluster_tree t = cluster_tree_make(c.nodes, c.fanout, 1, 0);
		struct sim_result r = run(c), killed = run_killed(c), slow;

		c.slow_links_pct = 5;
		slow = run(c);
		printf("| %u | %u | %u | %.2f | %.2f | %.2f | %.2f | %.3f | %.2f |\n", c.fanout,
		       c.trees, cluster_tree_depth(&t, c.nodes - 1), seconds(r.all_done_ns),
		       r.sent_ratio, seconds(killed.all_done_ns), killed.sent_ratio,
		       seconds(killed.longest_ns), seconds(slow.all_done_ns));
		fflush(stdout);
	}
}

int tables_print(void)
{
	print_bulk();
	print_start();
	print_fanouts();
	return has_failed;
}
