/* SPDX-License-Identifier: MIT */
/*
 * simulate: the overlay's protocol on many nodes, with faults, checked and measured.
 *
 *   simulate              the tests, as TAP
 *   simulate seed N       one random run of the tests
 *   simulate table        the tables of docs/benchmarks.md
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "sim.h"
#include "tables.h"
#include "tap.h"

#define SEEDS (TAP_UNDER_ASAN ? 150u : 1000u)

/* A small cluster with any faults. */
static struct sim_config random_config(uint64_t seed)
{
	struct sim r = { .random = seed * UINT64_C(0x2545f4914f6cdd1d) };
	struct sim_config c = { .seed = seed, .fault_ns = 3 * SECOND, .reads_listings = true };

	c.nodes = 3 + (uint32_t)sim_random(&r, 38);
	c.fanout = 1 + (uint32_t)sim_random(&r, 8);
	c.trees = 1 + (uint32_t)sim_random(&r, c.nodes < 8 ? c.nodes : 8);
	c.folders = 1 + (uint32_t)sim_random(&r, 3);
	c.files = 2 + (uint32_t)sim_random(&r, 8);
	c.skew_ns = (int64_t)sim_random(&r, 3 * SECOND);
	c.has_late_daemons = sim_random(&r, 3) == 0;
	c.think_ns = (int64_t)sim_random(&r, 60 * MS) + 1;
	c.revalidate_ns = (int64_t)sim_random(&r, 4) * 700 * MS;
	c.timeout_ns = 16 * SECOND;
	if (sim_random(&r, 8)) {
		c.kills = (uint32_t)sim_random(&r, 1 + c.nodes / 2);
		c.crashes = (uint32_t)sim_random(&r, 1 + c.nodes / 4);
		c.stops = (uint32_t)sim_random(&r, 4);
		c.partitions = (uint32_t)sim_random(&r, 3);
	}
	c.returns = sim_random(&r, 2);
	c.broken_storage = (uint32_t)sim_random(&r, 3);
	c.storage_outage = sim_random(&r, 5) == 0;
	c.slow_links_pct = (uint32_t)sim_random(&r, 30);
	c.slow_storage_ns = (int64_t)(sim_random(&r, 4) == 0) * 3 * SECOND;
	c.changes = (uint32_t)sim_random(&r, 10);
	c.keeps_nothing_passing = sim_random(&r, 4) == 0;
	return c;
}

static void print_run(const struct sim_config *c, const struct sim_result *r)
{
	fprintf(stderr,
		"seed %" PRIu64 ": %s%s; nodes %u fanout %u trees %u files %u; done %.3f s, reads "
		"%.2f (%u), longest %.3f s, sent %.2f, messages %.0f, %" PRIu64
		" bytes; lost %" PRIu64 " returned %" PRIu64 " rerouted %" PRIu64 " stale %" PRIu64
		" busy %" PRIu64 " late %" PRIu64 " errors %u; %" PRIu64 " events\n",
		c->seed, r->is_ok ? "ok" : "FAILED: ", r->fault, c->nodes, c->fanout, c->trees,
		c->folders * c->files, (double)r->all_done_ns / SECOND, r->reads_mean, r->reads_max,
		(double)r->longest_ns / SECOND, r->sent_ratio, r->messages, r->memory,
		r->counts.lost_peers, r->counts.returned_peers, r->counts.rerouted,
		r->counts.stale_replies, r->counts.busy, r->counts.late_replies, r->errors,
		r->events);
}

static void test_random_faults(void)
{
	static const uint64_t others[] = { 1496, 5550, 6447, 8243 }; /* each has found a fault */
	uint64_t events = 0;

	for (uint64_t i = 0; i < SEEDS + ARRAY_LEN(others); i++) {
		struct sim_config c = random_config(i < SEEDS ? i + 1 : others[i - SEEDS]);
		struct sim_result r;

		sim_run(&c, &r);
		events += r.events;
		if (!CHECK(r.is_ok))
			print_run(&c, &r);
	}
	fprintf(stderr, "%" PRIu64 " events\n", events);
}

/* All nodes are up, programs read for some seconds, and then the faults come. */
static struct sim_config steady_config(uint64_t seed)
{
	return (struct sim_config){ .seed = seed,
				    .nodes = 30 + (uint32_t)(seed % 90),
				    .fanout = 2 + (uint32_t)(seed % 7),
				    .trees = 1 + (uint32_t)(seed % 8),
				    .folders = 3,
				    .files = 12,
				    .fault_ns = 2 * SECOND,
				    .think_ns = 25 * MS,
				    .reads_listings = true,
				    .revalidate_ns = 700 * MS,
				    .timeout_ns = 30 * SECOND };
}

/* No request waits longer than the limit, over some seeds. */
static void check_stalls(struct sim_config (*configure)(uint64_t seed), int64_t limit_ns,
			 const char *what)
{
	int64_t longest = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct sim_config c = configure(seed);
		struct sim_result r;

		sim_run(&c, &r);
		if (!CHECK(r.is_ok && r.longest_ns < limit_ns))
			print_run(&c, &r);
		if (r.longest_ns > longest)
			longest = r.longest_ns;
	}
	fprintf(stderr, "%s: longest stall %.3f s\n", what, (double)longest / SECOND);
}

/* Parents die one after another while all read one file. */
static struct sim_config killed_config(uint64_t seed)
{
	struct sim_config c = sim_bulk(30 + (uint32_t)(seed % 60), 2 + (uint32_t)(seed % 7),
				       1 + (uint32_t)(seed % 8));

	c.seed = seed;
	c.chunks = 128;
	c.kills = c.nodes / 2;
	c.fault_ns = 150 * MS;
	return c;
}

static struct sim_config crashed_config(uint64_t seed)
{
	struct sim_config c = steady_config(seed);

	c.crashes = c.nodes / 10;
	return c;
}

static struct sim_config stopped_config(uint64_t seed)
{
	struct sim_config c = steady_config(seed);

	c.stops = c.nodes / 10;
	return c;
}

/* Storage takes longer than a silence may: nobody takes a node that waits for it for dead. */
static void test_slow_storage(void)
{
	struct sim_config c = steady_config(3);
	struct sim_result r;

	c.slow_storage_ns = 4 * SECOND;
	sim_run(&c, &r);
	if (!CHECK(r.is_ok && !r.counts.lost_peers))
		print_run(&c, &r);
}

static void test_killed_parents(void)
{
	check_stalls(killed_config, SECOND, "half of the nodes killed");
}

static void test_silent_parents(void)
{
	check_stalls(crashed_config, 4 * SECOND, "a tenth of the nodes without power");
	check_stalls(stopped_config, 4 * SECOND, "a tenth of the nodes stopped");
}

/* Some nodes die while all read one file. */
static void test_one_read(void)
{
	static const struct {
		uint32_t fanout, trees, kills, crashes;
		double reads, sent_ratio; /* at most */
	} rows[] = {
		{ 4, 4, 0, 0, 1, 2 }, { 4, 4, 3, 0, 1.05, 5 }, { 4, 4, 0, 3, 1.05, 5 },
		{ 8, 8, 0, 0, 1, 2 }, { 8, 8, 3, 0, 1.05, 9 }, { 8, 8, 0, 3, 1.05, 9 },
		{ 4, 1, 0, 0, 1, 5 }, { 8, 2, 0, 0, 1, 9 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct sim_config c = sim_bulk(300, rows[i].fanout, rows[i].trees);
			struct sim_result r;

			c.seed = seed;
			c.chunks = 64;
			c.kills = rows[i].kills;
			c.crashes = rows[i].crashes;
			c.fault_ns = 150 * MS;
			sim_run(&c, &r);
			if (!CHECK(r.is_ok && r.reads_mean <= rows[i].reads &&
				   r.sent_ratio <= rows[i].sent_ratio))
				print_run(&c, &r);
			if (!rows[i].kills && !rows[i].crashes)
				break;
		}
	}
}

static void test_equal_seeds_are_equal(void)
{
	struct sim_config c = random_config(7);
	struct sim_result a, b;

	sim_run(&c, &a);
	sim_run(&c, &b);
	CHECK(a.events == b.events && a.all_done_ns == b.all_done_ns);
	CHECK(memcmp(&a.counts, &b.counts, sizeof(a.counts)) == 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "seed") == 0) {
		struct sim_config c = random_config(strtoull(argv[2], NULL, 10));
		struct sim_result r;

		sim_run(&c, &r);
		print_run(&c, &r);
		return !r.is_ok;
	}
	if (argc == 2 && strcmp(argv[1], "table") == 0)
		return tables_print();
	TAP_CASE(test_random_faults);
	TAP_CASE(test_killed_parents);
	TAP_CASE(test_silent_parents);
	TAP_CASE(test_slow_storage);
	TAP_CASE(test_one_read);
	TAP_CASE(test_equal_seeds_are_equal);
	return tap_done();
}
