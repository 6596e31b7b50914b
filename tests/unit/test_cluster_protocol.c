/* SPDX-License-Identifier: MIT */
/* One node, with the test in the place of network, storage and cache. tests/cluster/simulate has
 * many. */
#include "cluster/protocol.h"

#include <errno.h>

#include "base/macros.h"
#include "cluster/tree.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define START (100 * SECOND)

/* The last action of each kind, and how many there were. */
struct node {
	struct protocol *protocol;
	struct wire_message sent[64]; /* [sent_count]; paths and bodies are gone */
	uint32_t sent_to[64];
	size_t sent_count;
	uint64_t reads[64]; /* [read_count]: ids */
	size_t read_count;
	int answers[64]; /* [answer_count]: rc */
	uint64_t cookies[64];
	int64_t read_ns; /* of the last answer */
	size_t answer_count;
	size_t kept;
	bool holds; /* the cache does, with held */
	struct protocol_answer held;
};

static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	const struct node *n = self;

	(void)key;
	*ret = n->held;
	return n->holds;
}

static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	struct node *n = self;

	(void)key, (void)is_local;
	CHECK(a->rc == 0 || a->rc == -ENOENT);
	n->kept++;
}

static void send_message(void *self, uint32_t rank, const struct wire_message *m)
{
	struct node *n = self;

	if (n->sent_count == ARRAY_LEN(n->sent))
		return;
	n->sent_to[n->sent_count] = rank;
	n->sent[n->sent_count++] = *m;
}

static void read_storage(void *self, uint64_t id, const struct wire_key *key)
{
	struct node *n = self;

	(void)key;
	n->reads[n->read_count++ % ARRAY_LEN(n->reads)] = id;
}

static void answer(void *self, uint64_t cookie, const struct wire_key *key,
		   const struct protocol_answer *a)
{
	struct node *n = self;

	(void)key;
	n->read_ns = a->read_ns;
	n->cookies[n->answer_count] = cookie;
	n->answers[n->answer_count++] = a->rc;
}

static const struct protocol_ops ops = { find, keep, send_message, read_storage, answer };

/* One tree with fan-out 2: rank 5 has the parent 2, the grandparent 0, and then 1, 3, 4. */
static void open_node(struct node *n, uint32_t rank, uint32_t size)
{
	struct protocol_config config = { .rank = rank,
					  .size = size,
					  .fanout = 2,
					  .trees = 1,
					  .epoch = 1,
					  .timeout_ns = 20 * SECOND,
					  .max_fetches = 100,
					  .max_sending = 2 };

	*n = (struct node){ .protocol = protocol_new(&config, &ops, n) };
}

static const struct wire_key getattr = { .op = WIRE_GETATTR, .path = { "a/b", 3 } };

static struct wire_key chunk(uint32_t i)
{
	return (struct wire_key){ .op = WIRE_CHUNK, .chunk = i, .path = { "a/b", 3 } };
}

static int request(struct node *n, int64_t now, struct wire_key key, int64_t max_age)
{
	return protocol_request(n->protocol, now, &key, max_age, 77);
}

static void ask(struct node *n, int64_t now, uint32_t rank, uint64_t id, struct wire_key key)
{
	struct wire_message m = {
		.type = WIRE_REQUEST, .id = id, .key = key, .max_age_ns = SECOND
	};

	protocol_receive(n->protocol, now, rank, 9, &m);
}

static void reply(struct node *n, int64_t now, uint32_t rank, uint64_t id,
		  enum wire_verdict verdict, int error)
{
	struct wire_message m = {
		.type = WIRE_REPLY, .id = id, .verdict = verdict, .error = error
	};

	if (verdict == WIRE_FAILED)
		m.failed = (struct wire_ranks){ 1, { rank } };
	protocol_receive(n->protocol, now, rank, 9, &m);
}

static void stored(struct node *n, int64_t now, int rc)
{
	struct protocol_answer a = { .rc = rc, .read_ns = now };

	protocol_storage_done(n->protocol, now, n->reads[n->read_count - 1], &a);
}

static const struct wire_message *last(const struct node *n)
{
	return &n->sent[n->sent_count - 1];
}

static bool is_last(const struct node *n, enum wire_type type, uint32_t rank)
{
	return n->sent_count && last(n)->type == type && n->sent_to[n->sent_count - 1] == rank;
}

/* Ticks as the node wants them. */
static void pass(struct node *n, int64_t from, int64_t until)
{
	for (int64_t at = from; at <= until; at += 50 * MS)
		if (protocol_deadline(n->protocol) <= at)
			protocol_tick(n->protocol, at);
}

static void test_root_reads_once_for_all(void)
{
	struct node n;

	open_node(&n, 0, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	ask(&n, START, 1, 11, getattr);
	ask(&n, START, 2, 12, getattr);
	ask(&n, START, 2, 13, getattr); /* once more: the first is not answered */
	CHECK_INT(n.read_count, 1);
	stored(&n, START + MS, 0);
	CHECK_INT(n.answer_count, 1);
	CHECK_INT(n.cookies[0], 77);
	CHECK_INT(n.sent_count, 2);
	CHECK(n.sent[0].id + n.sent[1].id == 11 + 13);
	CHECK_INT(n.kept, 1);
	CHECK_INT(protocol_in_flight(n.protocol), 0);
	protocol_free(n.protocol);
}

static void test_age_is_continued(void)
{
	struct wire_message m = { .type = WIRE_REPLY, .age_ns = 300 * MS, .held_ns = 40 * MS };
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	CHECK(is_last(&n, WIRE_REQUEST, 2) && last(&n)->max_age_ns == SECOND);
	m.id = last(&n)->id;
	/* 100 ms, of which the parent held it 40: it may have been on its way back for 60. */
	protocol_receive(n.protocol, START + 100 * MS, 2, 9, &m);
	CHECK_INT(n.answer_count, 1);
	CHECK_INT(START + 100 * MS - n.read_ns, 360 * MS);
	protocol_free(n.protocol);
}

static void test_old_answers_are_fetched_again(void)
{
	struct wire_message old = { .type = WIRE_REPLY, .age_ns = 2 * SECOND };
	struct wire_message good = { .type = WIRE_REPLY, .age_ns = 900 * MS };
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	old.id = last(&n)->id;
	protocol_receive(n.protocol, START, 2, 9, &old);
	CHECK(is_last(&n, WIRE_REQUEST, 2) && last(&n)->max_age_ns == SECOND / 2);
	protocol_receive(n.protocol, START, 2, 9, &old); /* to the first request: not counted */
	CHECK_INT(n.read_count, 0);
	old.id = last(&n)->id;
	protocol_receive(n.protocol, START + 500 * MS, 2, 9, &old);
	CHECK_INT(n.answer_count, 0);
	CHECK_INT(n.read_count, 1); /* from storage */
	/* That fails. How old the next answer is does not depend on how long all this took. */
	stored(&n, START + 500 * MS, -EIO);
	CHECK(is_last(&n, WIRE_REQUEST, 6) && last(&n)->from_storage);
	good.id = last(&n)->id;
	protocol_receive(n.protocol, START + 500 * MS, 6, 9, &good);
	CHECK_INT(n.answer_count, 1);
	CHECK_INT(n.answers[0], 0);
	CHECK_INT(START + 500 * MS - n.read_ns, 900 * MS);
	protocol_free(n.protocol);
}

static void test_held_answers_are_served_while_new(void)
{
	static const struct {
		int64_t age, max_age;
		bool is_served;
	} rows[] = { { 0, 0, true },
		     { 1, 0, false },
		     { SECOND, SECOND, true },
		     { SECOND + 1, SECOND, false } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_message m = { .type = WIRE_REQUEST, .id = 1, .key = getattr };
		struct node n;

		open_node(&n, 0, 7);
		n.holds = true;
		n.held.read_ns = START - rows[i].age;
		m.max_age_ns = rows[i].max_age;
		protocol_receive(n.protocol, START, 1, 9, &m);
		CHECK_INT(n.sent_count, rows[i].is_served);
		CHECK_INT(n.read_count, !rows[i].is_served);
		if (rows[i].is_served)
			CHECK_INT(n.sent[0].age_ns, rows[i].age);
		protocol_free(n.protocol);
	}
}

static void test_failed_peers_are_left_at_once(void)
{
	static const uint32_t route[] = { 2, 0, 1, 3, 4 };
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	for (size_t i = 0; i < ARRAY_LEN(route); i++) {
		CHECK(is_last(&n, WIRE_REQUEST, route[i]));
		protocol_peer_failed(n.protocol, START, route[i]);
	}
	CHECK_INT(n.read_count, 1);
	stored(&n, START, 0);
	CHECK_INT(n.answers[0], 0);
	/* The next request does not try them again; the parent may show that it is back. */
	n.sent_count = 0;
	CHECK_INT(request(&n, START + MS, getattr, SECOND), 0);
	CHECK_INT(n.sent_count, 0);
	CHECK_INT(n.read_count, 2);
	CHECK_INT(request(&n, START + 3 * SECOND, chunk(0), SECOND), 0);
	CHECK(n.sent_to[0] == 2 && n.sent[0].type == WIRE_ALIVE && n.sent[0].wants_alive);
	protocol_receive(n.protocol, START + 3 * SECOND, 2, 9,
			 &(struct wire_message){ .type = WIRE_ALIVE });
	CHECK_INT(request(&n, START + 3 * SECOND, chunk(1), SECOND), 0);
	CHECK(is_last(&n, WIRE_REQUEST, 2));
	protocol_free(n.protocol);
}

static void test_silent_peers_are_left(void)
{
	struct node n;
	uint64_t id;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	CHECK(last(&n)->wants_alive); /* never heard */
	id = last(&n)->id;
	pass(&n, START, START + PROTOCOL_PROBE_NS - 50 * MS);
	CHECK(is_last(&n, WIRE_REQUEST, 2));
	pass(&n, START + PROTOCOL_PROBE_NS, START + PROTOCOL_PROBE_NS + 100 * MS);
	CHECK(is_last(&n, WIRE_REQUEST, 0));
	/* What the first one sends in the end is welcome. */
	reply(&n, START + SECOND, 2, id, WIRE_ANSWERED, 0);
	CHECK_INT(n.answer_count, 1);
	CHECK_INT(protocol_in_flight(n.protocol), 0);
	protocol_free(n.protocol);
}

static void test_signs_of_life_keep_a_peer(void)
{
	static const struct wire_message alive = { .type = WIRE_ALIVE };
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	for (int i = 1; i < 8; i++) {
		protocol_receive(n.protocol, START + i * PROTOCOL_BEAT_NS, 2, 9, &alive);
		pass(&n, START + i * PROTOCOL_BEAT_NS, START + (i + 1) * PROTOCOL_BEAT_NS);
	}
	CHECK_INT(n.sent_count, 1);
	protocol_free(n.protocol);
	/* And the one that holds the request gives them. */
	open_node(&n, 0, 7);
	ask(&n, START, 1, 11, getattr);
	pass(&n, START, START + 2 * SECOND);
	CHECK_INT(n.sent_count, 4);
	CHECK(is_last(&n, WIRE_ALIVE, 1));
	protocol_free(n.protocol);
	/* Also the one whose reply is long on its way. */
	open_node(&n, 0, 7);
	n.holds = true;
	n.held.body = (struct wire_body){ .bytes = "x", .len = 1 };
	ask(&n, START, 1, 11, chunk(0));
	pass(&n, START, START + 2 * SECOND);
	CHECK_INT(n.sent_count, 5);
	protocol_sent(n.protocol, START + 2 * SECOND, 1);
	pass(&n, START + 2 * SECOND, START + 4 * SECOND);
	CHECK_INT(n.sent_count, 5);
	CHECK(protocol_deadline(n.protocol) == INT64_MAX);
	protocol_free(n.protocol);
}

static void test_busy_peers_get_a_rest(void)
{
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	reply(&n, START, 2, last(&n)->id, WIRE_BUSY, EBUSY);
	CHECK_INT(n.sent_count, 1);
	CHECK_INT(protocol_deadline(n.protocol) - START, PROTOCOL_REST_NS);
	protocol_tick(n.protocol, START + PROTOCOL_REST_NS);
	CHECK_INT(n.sent_count, 2);
	CHECK(is_last(&n, WIRE_REQUEST, 2));
	protocol_free(n.protocol);
}

static void test_bounds(void)
{
	struct node n;
	unsigned busy = 0;

	/* As requester: eight chunks at a peer, and no chunk holds up a small request. */
	open_node(&n, 1, 7);
	for (uint32_t i = 0; i < 12; i++)
		CHECK_INT(request(&n, START, chunk(i), SECOND), 0);
	CHECK_INT(n.sent_count, PROTOCOL_WINDOW_CHUNKS);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	CHECK_INT(n.sent_count, PROTOCOL_WINDOW_CHUNKS + 1);
	reply(&n, START, 0, n.sent[0].id, WIRE_ANSWERED, 0);
	CHECK_INT(n.sent_count, PROTOCOL_WINDOW_CHUNKS + 2);
	CHECK_INT(last(&n)->key.chunk, PROTOCOL_WINDOW_CHUNKS);
	for (uint32_t i = 12; protocol_in_flight(n.protocol) < 100; i++)
		CHECK_INT(request(&n, START, chunk(i), SECOND), 0);
	CHECK_INT(request(&n, START, chunk(999), SECOND), -EAGAIN);
	protocol_free(n.protocol);
	/* As server: a peer that asks for too much at once, and too much data on its way. */
	open_node(&n, 0, 7);
	for (uint32_t i = 0; i < PROTOCOL_WINDOW + 2; i++)
		ask(&n, START, 1, i, chunk(i));
	CHECK_INT(n.read_count, PROTOCOL_WINDOW);
	CHECK(is_last(&n, WIRE_REPLY, 1) && last(&n)->verdict == WIRE_BUSY);
	n.sent_count = 0;
	n.holds = true;
	n.held.body = (struct wire_body){ .bytes = "x", .len = 1 };
	for (uint32_t i = 0; i < 4; i++)
		ask(&n, START, 2, i, chunk(1000 + i));
	for (size_t i = 0; i < n.sent_count; i++)
		busy += n.sent[i].verdict == WIRE_BUSY;
	CHECK_INT(busy, 2);
	protocol_sent(n.protocol, START, 2);
	ask(&n, START, 2, 9, chunk(2000));
	CHECK(last(&n)->verdict == WIRE_ANSWERED);
	protocol_free(n.protocol);
}

static void test_failing_storage_goes_down_the_line(void)
{
	struct node n;
	uint64_t id;

	/* The root tells the others at once, and asks them for itself. */
	open_node(&n, 0, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	ask(&n, START, 1, 11, getattr);
	stored(&n, START, -EIO);
	CHECK(n.sent[0].verdict == WIRE_FAILED && n.sent[0].error == EIO);
	CHECK(n.sent[0].failed.count == 1 && n.sent[0].failed.ranks[0] == 0);
	CHECK(is_last(&n, WIRE_REQUEST, 1) && last(&n)->from_storage);
	reply(&n, START, 1, last(&n)->id, WIRE_FAILED, EIO);
	CHECK(is_last(&n, WIRE_REQUEST, 2) && last(&n)->from_storage);
	CHECK_INT(n.answer_count, 0);
	/* While it waits for one below, those below do not wait for it. */
	id = last(&n)->id;
	ask(&n, START, 3, 12, getattr);
	CHECK(is_last(&n, WIRE_REPLY, 3) && last(&n)->verdict == WIRE_FAILED);
	CHECK_INT(last(&n)->failed.count, 2);
	reply(&n, START, 2, id, WIRE_FAILED, EIO);
	CHECK_INT(n.answers[0], -EIO);
	CHECK_INT(n.kept, 0);
	protocol_free(n.protocol);
	/* The next in line tries its own, and a request from above is for it alone. */
	open_node(&n, 1, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	reply(&n, START, 0, last(&n)->id, WIRE_FAILED, EIO);
	CHECK_INT(n.read_count, 1);
	protocol_receive(n.protocol, START, 0, 9,
			 &(struct wire_message){ .type = WIRE_REQUEST,
						 .id = 5,
						 .key = getattr,
						 .max_age_ns = SECOND,
						 .from_storage = true });
	stored(&n, START, 0);
	CHECK_INT(n.answers[0], 0);
	CHECK(is_last(&n, WIRE_REPLY, 0) && last(&n)->verdict == WIRE_ANSWERED);
	protocol_free(n.protocol);
}

/* Its own storage fails, and there is nobody to say whether all do. */
static void test_alone_without_storage(void)
{
	struct node n;

	open_node(&n, 1, 2);
	protocol_receive(n.protocol, START, 0, 9, &(struct wire_message){ .type = WIRE_GOODBYE });
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	stored(&n, START, -EIO);
	CHECK_INT(n.answer_count, 0);
	pass(&n, START, START + PROTOCOL_BEAT_NS + 100 * MS);
	CHECK_INT(n.read_count, 2);
	stored(&n, START + SECOND, 0);
	CHECK_INT(n.answer_count, 1);
	CHECK_INT(n.answers[0], 0);
	protocol_free(n.protocol);
}

static void test_versions_are_apart(void)
{
	struct wire_key before = chunk(0), after = chunk(0);
	struct node n;

	before.identity.ctime_ns = 1;
	after.identity.ctime_ns = 2;
	open_node(&n, 0, 7);
	CHECK_INT(request(&n, START, before, SECOND), 0);
	CHECK_INT(request(&n, START, after, SECOND), 0);
	CHECK_INT(n.read_count, 2);
	protocol_free(n.protocol);
}

static void test_hanging_storage(void)
{
	struct node n;

	open_node(&n, 0, 1);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	pass(&n, START, START + 21 * SECOND);
	CHECK(n.answer_count == 1 && n.answers[0] == -EIO && !n.kept);
	CHECK(protocol_deadline(n.protocol) == INT64_MAX);
	protocol_free(n.protocol);
	/* Peers that live but never answer: at half of the time storage is read beside them. */
	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	for (int64_t at = START; at < START + 11 * SECOND; at += 100 * MS) {
		for (uint32_t rank = 0; rank < 5; rank++)
			protocol_heard(n.protocol, at, rank);
		pass(&n, at, at);
	}
	CHECK_INT(n.sent_count, 3); /* after a quarter, the next one */
	CHECK_INT(n.read_count, 1);
	CHECK_INT(n.answer_count, 0);
	stored(&n, START + 11 * SECOND, 0);
	CHECK_INT(n.answers[0], 0);
	protocol_free(n.protocol);
}

static void test_errors_about_the_file_are_answers(void)
{
	static const int rows[] = { EACCES, ENOTDIR, ELOOP, E2BIG, ESTALE };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct node n;

		open_node(&n, 5, 7);
		CHECK_INT(request(&n, START, getattr, SECOND), 0);
		reply(&n, START, 2, last(&n)->id, WIRE_ANSWERED, rows[i]);
		CHECK_INT(n.answers[0], -rows[i]);
		CHECK_INT(n.kept, 0);
		protocol_free(n.protocol);
	}
}

static void test_circles_are_refused(void)
{
	struct node n;

	open_node(&n, 5, 7);
	ask(&n, START, 2, 11, getattr);
	CHECK(is_last(&n, WIRE_REPLY, 2) && last(&n)->verdict == WIRE_FAILED);
	CHECK_INT(n.read_count, 0);
	ask(&n, START, 5, 12, getattr); /* itself, and no rank at all */
	ask(&n, START, 7, 13, getattr);
	CHECK_INT(n.sent_count, 1);
	protocol_free(n.protocol);
}

static void test_restarted_peer(void)
{
	static const struct wire_message alive = { .type = WIRE_ALIVE };
	struct node n;

	open_node(&n, 2, 7);
	ask(&n, START, 5, 11, getattr);
	CHECK(n.sent_to[0] == 0 || n.sent_to[1] == 0);
	protocol_receive(n.protocol, START, 0, 9, &alive);
	CHECK_INT(protocol_in_flight(n.protocol), 1);
	/* Rank 0 is new: it does not know our request. Rank 5 is new: it does not wait. */
	protocol_receive(n.protocol, START, 0, 10, &alive);
	CHECK(is_last(&n, WIRE_REQUEST, 1));
	protocol_receive(n.protocol, START, 5, 10, &alive);
	CHECK_INT(protocol_in_flight(n.protocol), 0);
	protocol_free(n.protocol);
}

static void test_own_stop_is_no_ones_silence(void)
{
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	pass(&n, START, START + 200 * MS);
	protocol_tick(n.protocol, START + 60 * SECOND); /* SIGSTOP until now */
	CHECK_INT(n.sent_count, 1);
	CHECK_INT(n.answer_count, 0);
	pass(&n, START + 60 * SECOND, START + 61 * SECOND);
	CHECK(is_last(&n, WIRE_REQUEST, 0));
	protocol_free(n.protocol);
}

static void test_idle(void)
{
	struct node n;

	open_node(&n, 5, 7);
	CHECK(protocol_deadline(n.protocol) == INT64_MAX);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	reply(&n, START, 2, last(&n)->id, WIRE_ANSWERED, 0);
	pass(&n, START, START + 29 * SECOND);
	CHECK_INT(n.sent_count, 1);
	pass(&n, START + 29 * SECOND, START + 31 * SECOND);
	CHECK_INT(n.sent_count, 2);
	CHECK(is_last(&n, WIRE_ALIVE, 2) && last(&n)->wants_alive);
	pass(&n, START + 31 * SECOND, START + 33 * SECOND);
	CHECK_INT(protocol_counts(n.protocol)->lost_peers, 1);
	CHECK(protocol_deadline(n.protocol) == INT64_MAX);
	protocol_free(n.protocol);
}

static void test_goodbye(void)
{
	struct node n;

	open_node(&n, 5, 7);
	CHECK_INT(request(&n, START, getattr, SECOND), 0);
	protocol_receive(n.protocol, START, 2, 9, &(struct wire_message){ .type = WIRE_GOODBYE });
	CHECK(is_last(&n, WIRE_REQUEST, 0));
	protocol_goodbye(n.protocol, START);
	CHECK(is_last(&n, WIRE_GOODBYE, 0));
	protocol_free(n.protocol);
}

int main(void)
{
	TAP_CASE(test_root_reads_once_for_all);
	TAP_CASE(test_age_is_continued);
	TAP_CASE(test_old_answers_are_fetched_again);
	TAP_CASE(test_held_answers_are_served_while_new);
	TAP_CASE(test_failed_peers_are_left_at_once);
	TAP_CASE(test_silent_peers_are_left);
	TAP_CASE(test_signs_of_life_keep_a_peer);
	TAP_CASE(test_busy_peers_get_a_rest);
	TAP_CASE(test_bounds);
	TAP_CASE(test_failing_storage_goes_down_the_line);
	TAP_CASE(test_alone_without_storage);
	TAP_CASE(test_versions_are_apart);
	TAP_CASE(test_hanging_storage);
	TAP_CASE(test_errors_about_the_file_are_answers);
	TAP_CASE(test_circles_are_refused);
	TAP_CASE(test_restarted_peer);
	TAP_CASE(test_own_stop_is_no_ones_silence);
	TAP_CASE(test_idle);
	TAP_CASE(test_goodbye);
	return tap_done();
}
