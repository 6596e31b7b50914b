/* SPDX-License-Identifier: MIT */
#include "sim.h"

void fault_kill(struct sim *s, struct node *n, bool is_silent)
{
	if (!n->protocol)
		return;
	protocol_free(n->protocol);
	n->protocol = NULL;
	n->epoch = sim_random(s, UINT64_MAX);
	n->is_crashed = is_silent;
	if (n->done_ns == FOREVER)
		s->unfinished--;
	n->done_ns = 0;
	for (size_t i = 0; i < n->contact_count && !is_silent; i++) {
		const struct node *c = s->nodes + n->contacts[i];

		if (c->protocol)
			sim_fail_later(s, c, n->rank,
				       s->now + (1 + (int64_t)sim_random(s, 30)) * MS);
	}
	n->contact_count = 0;
	n->stopped_until = -1;
	if (!s->config.returns || sim_random(s, 3) == 0)
		return;
	n->done_ns = FOREVER;
	s->unfinished++;
	app_clear(s, n);
	sim_at(s, s->now + (200 + (int64_t)sim_random(s, 5000)) * MS, EVENT_START, n->rank, 0);
}

void fault_split(struct sim *s, int64_t duration)
{
	for (uint32_t i = 0; i < s->config.nodes; i++)
		s->nodes[i].side = (uint32_t)sim_random(s, 2);
	s->partition_until = s->now + duration;
}

static uint32_t any_node(struct sim *s)
{
	return (uint32_t)sim_random(s, s->config.nodes);
}

/* Events of a kind at random times, on random nodes, with random numbers. (One call of sim_random()
 * in an expression: compilers differ in the order.) */
static void scatter(struct sim *s, enum event_kind kind, uint32_t count, uint64_t below)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t at = (int64_t)sim_random(s, (uint64_t)s->config.fault_ns);
		uint32_t node = any_node(s);

		sim_at(s, at, kind, node, sim_random(s, below));
	}
}

void faults_schedule(struct sim *s)
{
	const struct sim_config *c = &s->config;
	uint64_t span = (uint64_t)c->fault_ns;

	scatter(s, EVENT_KILL, c->kills, 1);
	scatter(s, EVENT_CRASH, c->crashes, 1);
	scatter(s, EVENT_STOP, c->stops, 8 * SECOND);
	scatter(s, EVENT_PARTITION, c->partitions, 8 * SECOND);
	for (uint32_t i = 0; i < c->broken_storage; i++) {
		struct node *n = s->nodes + any_node(s);

		n->storage_broken_from = (int64_t)sim_random(s, span);
		n->storage_broken_until =
			n->storage_broken_from + (int64_t)sim_random(s, 20 * SECOND);
		n->storage_hangs = sim_random(s, 2);
	}
	if (c->storage_outage) {
		s->outage_from = (int64_t)sim_random(s, span);
		s->outage_until = s->outage_from + (int64_t)sim_random(s, 6 * SECOND);
	}
}
