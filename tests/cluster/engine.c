/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/envelope.h"
#include "sim.h"

/* Measured costs; docs/benchmarks.md. Rates are bytes for each microsecond. */
#define HOP_NS 15000
#define SERVICE_NS 5000
#define COPY_RATE 6000
#define NIC_RATE 12500
#define PFS_RATE 5000
#define PFS_NS (1 * MS)
#define PFS_META_NS 10000 /* 100,000 operations a second */
#define TCP_TIMEOUT_NS (3400 * MS)
#define LIMIT_NS (1000 * SECOND)

uint64_t sim_random(struct sim *s, uint64_t below)
{
	/* splitmix64. Source: https://prng.di.unimi.it/splitmix64.c */
	uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return below ? z % below : 0;
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list args;

	if (!s->result.is_ok)
		return;
	s->result.is_ok = false;
	va_start(args, fmt);
	vsnprintf(s->result.fault, sizeof(s->result.fault), fmt, args);
	va_end(args);
}

int64_t node_clock(const struct sim *s, const struct node *n)
{
	return s->now + n->clock_offset;
}

struct sim *sim_running;

/* --- the heap of events --- */

static bool is_earlier(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct sim *s, struct event e)
{
	size_t i = s->heap_count++;

	e.order = s->order++;
	if (s->heap_count > s->heap_cap) {
		s->heap_cap = s->heap_cap ? 2 * s->heap_cap : 1024;
		s->heap = realloc(s->heap, s->heap_cap * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	for (; i && is_earlier(&e, s->heap + (i - 1) / 2); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static struct event pop(struct sim *s)
{
	struct event first = s->heap[0], last = s->heap[--s->heap_count];
	size_t i = 0;

	while (2 * i + 1 < s->heap_count) {
		size_t child = 2 * i + 1;

		if (child + 1 < s->heap_count && is_earlier(s->heap + child + 1, s->heap + child))
			child++;
		if (!is_earlier(s->heap + child, &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return first;
}

void sim_at(struct sim *s, int64_t at, enum event_kind kind, uint32_t node, uint64_t number)
{
	push(s, (struct event){ .at = at,
				.kind = kind,
				.node = node,
				.epoch = s->nodes[node].epoch,
				.number = number });
}

static struct packet *packet_new(struct sim *s)
{
	struct packet *p = s->free_packets;

	if (p)
		s->free_packets = p->next;
	else
		p = calloc(1, sizeof(*p));
	if (!p)
		abort();
	buf_clear(&p->encoded);
	return p;
}

static void packet_free(struct sim *s, struct packet *p)
{
	if (!p)
		return;
	p->next = s->free_packets;
	s->free_packets = p;
}

/* --- the network --- */

/* Stands for HMAC: the same for all keys. */
static void sign(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	uint64_t hash = cluster_path_hash(bytes, len);

	(void)self;
	for (size_t i = 0; i < ENVELOPE_MAC; i += sizeof(hash))
		memcpy(ret + i, &hash, sizeof(hash));
}

static const struct envelope_mac mac = { sign, NULL };

static void add_contact(struct node *n, uint32_t rank)
{
	for (size_t i = n->contact_count; i; i--)
		if (n->contacts[i - 1] == rank)
			return;
	if (n->contact_count == n->contact_cap) {
		n->contact_cap = n->contact_cap ? 2 * n->contact_cap : 8;
		n->contacts = realloc(n->contacts, n->contact_cap * sizeof(*n->contacts));
		if (!n->contacts)
			abort();
	}
	n->contacts[n->contact_count++] = rank;
}

/* The path as the world has it, which stays where it is. */
static struct str lasting_path(const struct sim *s, struct str path)
{
	uint32_t folder, file;
	const char *text = world_parse(&s->world, path, &folder, &file)
				   ? s->world.paths[file]
				   : s->world.folder_paths[folder];

	return (struct str){ text, path.len };
}

static struct packet *pack(struct sim *s, const struct node *from, const struct node *to,
			   const struct wire_message *m)
{
	struct packet *p = packet_new(s);
	struct envelope f = { .sender = from->rank,
			      .receiver = to->rank,
			      .epoch = from->epoch,
			      .sequence = s->order + 1 };

	p->sender_epoch = from->epoch;
	p->receiver_epoch = to->epoch;
	if (!s->config.chunk_bytes) {
		envelope_put(&p->encoded, &f, m, &mac);
		return p;
	}
	p->m = *m;
	if (m->type == WIRE_REQUEST)
		p->m.key.path = lasting_path(s, m->key.path);
	if (m->body.len == s->config.chunk_bytes) {
		memcpy(p->content, m->body.bytes, sizeof(p->content));
		p->m.body.bytes = p->content;
	} else if (m->body.len) {
		buf_put(&p->encoded, m->body.bytes, m->body.len);
		p->m.body.bytes = p->encoded.data;
	}
	return p;
}

static const struct wire_message *unpack(struct sim *s, struct packet *p)
{
	struct envelope f;
	struct err e;

	if (!s->config.chunk_bytes &&
	    envelope_open(p->encoded.data, p->encoded.len, &mac, &f, &p->m, &e) < 0)
		sim_fail(s, "%s", e.msg);
	return &p->m;
}

void sim_fail_later(struct sim *s, const struct node *n, uint32_t peer, int64_t at)
{
	push(s, (struct event){ .at = at,
				.kind = EVENT_FAILED,
				.node = n->rank,
				.peer = peer,
				.epoch = n->epoch });
}

static void send_message(void *self, uint32_t rank, const struct wire_message *m);

/* --- storage --- */

static void read_storage(void *self, uint64_t id, const struct wire_key *key);

const struct protocol_ops sim_ops = {
	.find = app_find,
	.keep = app_keep,
	.send = send_message,
	.read_storage = read_storage,
	.answer = app_answer,
};

static void send_message(void *self, uint32_t rank, const struct wire_message *m)
{
	struct sim *s = sim_running;
	struct node *n = self, *to = s->nodes + rank;
	int64_t rate = n->has_slow_link ? NIC_RATE / SLOW_LINK : NIC_RATE;
	int64_t arrives, start = n->cpu_free > s->now ? n->cpu_free : s->now;

	n->cpu_free = start + SERVICE_NS + (int64_t)m->body.len * 1000 / COPY_RATE;
	n->sent_bytes += m->body.len;
	add_contact(n, rank);
	add_contact(to, n->rank);
	arrives = n->cpu_free + HOP_NS;
	if (m->body.len) {
		n->nic_free = (n->nic_free > n->cpu_free ? n->nic_free : n->cpu_free) +
			      (int64_t)m->body.len * 1000 / rate;
		arrives = n->nic_free + HOP_NS;
		push(s, (struct event){ .at = n->nic_free,
					.kind = EVENT_SENT,
					.node = n->rank,
					.peer = rank,
					.epoch = n->epoch });
	}
	if (s->partition_until > s->now && n->side != to->side) {
		if (s->partition_until - s->now > TCP_TIMEOUT_NS) {
			sim_fail_later(s, n, rank, s->now + TCP_TIMEOUT_NS);
			return;
		}
		arrives += s->partition_until - s->now;
	}
	push(s, (struct event){ .at = arrives,
				.kind = EVENT_MESSAGE,
				.node = rank,
				.peer = n->rank,
				.epoch = to->epoch,
				.packet = pack(s, n, to, m) });
}

static bool is_broken(const struct sim *s, const struct node *n)
{
	return (s->now >= n->storage_broken_from && s->now < n->storage_broken_until) ||
	       (s->now >= s->outage_from && s->now < s->outage_until);
}

static void read_storage(void *self, uint64_t id, const struct wire_key *key)
{
	struct sim *s = sim_running;
	struct node *n = self;
	struct event e = { .kind = EVENT_STORAGE,
			   .node = n->rank,
			   .epoch = n->epoch,
			   .number = id,
			   .packet = packet_new(s) };
	int64_t *free_at = key->op == WIRE_CHUNK ? &s->pfs_data_free : &s->pfs_meta_free;
	int64_t slow, takes = key->op == WIRE_CHUNK
				      ? (int64_t)s->config.chunk_bytes * 1000 / PFS_RATE
				      : PFS_META_NS;

	slow = (int64_t)sim_random(s, (uint64_t)s->config.slow_storage_ns);
	e.packet->m.key = *key;
	e.packet->m.key.path = lasting_path(s, key->path);
	e.packet->m.age_ns = s->now; /* the start */
	e.packet->m.error = 0;
	e.at = s->now + PFS_NS + slow;
	if (is_broken(s, n)) {
		e.packet->m.error = EIO;
		if (n->storage_hangs)
			e.at += 60 * SECOND;
	} else {
		*free_at = (*free_at > s->now ? *free_at : s->now) + takes;
		e.at = *free_at + PFS_NS + slow;
		s->reads[world_key_index(s, key)]++;
	}
	push(s, e);
}

static void storage_done(struct sim *s, struct node *n, const struct event *e)
{
	CLEANUP(buf_fini) struct buf body = { 0 };
	unsigned char content[32];
	struct protocol_answer a;

	if (e->packet->m.error)
		a = (struct protocol_answer){ .rc = -e->packet->m.error };
	else
		world_read(s, &e->packet->m.key, s->now, &a, content, &body);
	a.read_ns = e->packet->m.age_ns + n->clock_offset;
	if (s->config.is_direct)
		app_answer(n, e->number, &e->packet->m.key, &a);
	else
		protocol_storage_done(n->protocol, node_clock(s, n), e->number, &a);
}

/* --- events --- */

/* The daemon runs; after the delay its program does. */
static void node_start(struct sim *s, struct node *n, int64_t delay)
{
	struct protocol_config config = { .rank = n->rank,
					  .size = s->config.nodes,
					  .fanout = s->config.fanout,
					  .trees = s->config.trees,
					  .epoch = n->epoch,
					  .timeout_ns = s->config.timeout_ns,
					  .max_fetches = 1024,
					  .max_sending = 64 };

	n->protocol = protocol_new(&config, &sim_ops, n);
	if (!n->protocol)
		abort();
	n->is_crashed = false;
	n->tick_ns = FOREVER;
	n->started_ns = s->now;
	n->is_waiting = true;
	sim_at(s, s->now + delay, EVENT_PROGRAM, n->rank, 0);
}

/* A message for a node that is gone. */
static void refuse(struct sim *s, const struct event *e)
{
	const struct node *from = s->nodes + e->peer;

	if (e->kind == EVENT_MESSAGE && from->protocol && from->epoch == e->packet->sender_epoch &&
	    !s->nodes[e->node].is_crashed)
		sim_fail_later(s, from, e->node, s->now + HOP_NS);
}

static void node_event(struct sim *s, struct node *n, const struct event *e)
{
	const struct wire_message *m;
	int64_t now;

	if (n->cpu_free > s->now)
		s->now = n->cpu_free;
	switch (e->kind) {
	case EVENT_MESSAGE:
		m = unpack(s, e->packet);
		s->now += SERVICE_NS + (int64_t)m->body.len * 1000 / COPY_RATE;
		n->cpu_free = s->now;
		protocol_receive(n->protocol, node_clock(s, n), e->peer, e->packet->sender_epoch,
				 m);
		break;
	case EVENT_TICK:
		n->tick_ns = FOREVER;
		protocol_tick(n->protocol, node_clock(s, n));
		break;
	case EVENT_FAILED:
		protocol_peer_failed(n->protocol, node_clock(s, n), e->peer);
		break;
	case EVENT_SENT:
		protocol_sent(n->protocol, node_clock(s, n), e->peer);
		break;
	case EVENT_STORAGE:
		storage_done(s, n, e);
		break;
	case EVENT_PROGRAM:
		app_step(s, n);
		break;
	default:
		break;
	}
	now = protocol_deadline(n->protocol);
	if (now == FOREVER || now - n->clock_offset >= n->tick_ns)
		return;
	n->tick_ns = now - n->clock_offset;
	sim_at(s, n->tick_ns, EVENT_TICK, n->rank, 0);
}

static void event(struct sim *s, struct event *e)
{
	struct node *n = s->nodes + e->node;

	if (e->kind == EVENT_PARTITION) {
		fault_split(s, (int64_t)e->number);
	} else if (e->kind == EVENT_KILL || e->kind == EVENT_CRASH) {
		fault_kill(s, n, e->kind == EVENT_CRASH);
	} else if (e->kind == EVENT_STOP) {
		n->stopped_until = s->now + (int64_t)e->number;
	} else if (e->kind == EVENT_START) {
		if (!n->protocol && n->done_ns == FOREVER) {
			node_start(s, n, (int64_t)e->number);
		}
	} else if (!n->protocol || e->epoch != n->epoch) {
		refuse(s, e);
	} else if (n->stopped_until > s->now) {
		e->at = n->stopped_until;
		if (e->kind == EVENT_TICK && n->tick_ns == s->now)
			n->tick_ns = e->at;
		push(s, *e);
		return;
	} else if (e->kind != EVENT_TICK || e->at == n->tick_ns) {
		node_event(s, n, e);
	}
	packet_free(s, e->packet);
}

static void make_nodes(struct sim *s)
{
	const struct sim_config *c = &s->config;

	s->nodes = calloc(c->nodes, sizeof(*s->nodes));
	if (!s->nodes)
		abort();
	for (uint32_t i = 0; i < c->nodes; i++) {
		struct node *n = s->nodes + i;
		uint64_t skew;

		n->rank = i;
		n->epoch = sim_random(s, UINT64_MAX);
		n->clock_offset = (int64_t)sim_random(s, 1000 * SECOND);
		n->has_slow_link = sim_random(s, 100) < c->slow_links_pct;
		n->stopped_until = -1;
		n->started_ns = n->done_ns = FOREVER;
		app_new(s, n);
		skew = sim_random(s, (uint64_t)c->skew_ns + 1);
		if (c->has_late_daemons)
			sim_at(s, (int64_t)skew, EVENT_START, i, 0);
		else
			sim_at(s, 0, EVENT_START, i, skew);
	}
	s->unfinished = c->nodes;
}

static void add_counts(struct sim_result *r, const struct protocol_counts *c)
{
	uint64_t *sum = (uint64_t *)&r->counts;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*sum); i++)
		sum[i] += ((const uint64_t *)c)[i];
}

static void measure(struct sim *s)
{
	struct sim_result *r = &s->result;
	uint64_t sent = 0, most = 0, reads = 0, keys = 0;
	uint32_t alive = 0;

	for (uint32_t i = 0; i < s->config.nodes; i++) {
		const struct node *n = s->nodes + i;

		if (!n->protocol)
			continue;
		alive++;
		sent += n->sent_bytes;
		if (n->sent_bytes > most)
			most = n->sent_bytes;
		if (protocol_bytes(n->protocol) > r->memory)
			r->memory = protocol_bytes(n->protocol);
		add_counts(r, protocol_counts(n->protocol));
		if (n->done_ns > r->all_done_ns)
			r->all_done_ns = n->done_ns;
	}
	for (size_t i = 0; i < world_key_count(s); i++) {
		reads += s->reads[i];
		keys += s->reads[i] > 0;
		if (s->reads[i] > r->reads_max)
			r->reads_max = s->reads[i];
	}
	r->reads_mean = keys ? (double)reads / (double)keys : 0;
	r->sent_ratio = sent ? (double)most * alive / (double)sent : 0;
	r->messages = alive ? (double)r->counts.sent / alive : 0;
}

static void tear_down(struct sim *s)
{
	while (s->heap_count)
		packet_free(s, s->heap[--s->heap_count].packet);
	while (s->free_packets) {
		struct packet *p = s->free_packets;

		s->free_packets = p->next;
		buf_fini(&p->encoded);
		free(p);
	}
	for (uint32_t i = 0; i < s->config.nodes; i++) {
		protocol_free(s->nodes[i].protocol);
		app_free(s->nodes + i);
	}
	free(s->nodes);
	free(s->heap);
	free(s->reads);
	world_free(&s->world);
}

void sim_run(const struct sim_config *config, struct sim_result *ret)
{
	struct sim s = { .config = *config, .random = config->seed, .result.is_ok = true };

	sim_running = &s;
	s.max_chunks = config->chunks ? config->chunks : 7;
	world_make(&s);
	s.reads = calloc(world_key_count(&s), sizeof(*s.reads));
	if (!s.reads)
		abort();
	make_nodes(&s);
	faults_schedule(&s);
	while (s.unfinished && s.result.is_ok && s.heap_count) {
		struct event e = pop(&s);

		s.now = e.at;
		s.result.events++;
		if (s.now > LIMIT_NS)
			sim_fail(&s, "%u nodes are not done after %d s", s.unfinished,
				 (int)(LIMIT_NS / SECOND));
		event(&s, &e);
	}
	measure(&s);
	*ret = s.result;
	tear_down(&s);
	sim_running = NULL;
}
