/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/node_internal.h"
#include "cluster/tree.h"

enum letter_kind { LETTER_REQUEST, LETTER_READ, LETTER_ENDPOINT };

/* A local request, from cluster_node_request() to its answer; a read of storage; or where a rank
 * listens now. */
struct letter {
	struct fifo_link link;
	enum letter_kind kind;
	struct mailbox *mailbox;     /* READ, ENDPOINT: a reference */
	uint64_t id;                 /* READ: the protocol's */
	struct letter *next, **back; /* REQUEST: in the list of those without an answer */
	cluster_answered *answered;  /* REQUEST, as the members below */
	void *self;
	int64_t max_age_ns;
	int64_t since_ns;
	struct wire_key key;
	struct cluster_read read;        /* READ */
	struct bootstrap_lookup *lookup; /* ENDPOINT */
	uint32_t rank;                   /* ENDPOINT */
	char path[];                     /* of the key, with a NUL; ENDPOINT: the text, "": none */
};

struct cluster_level *node_level(struct cluster_node *n, const struct wire_key *key)
{
	uint32_t trees = n->config.trees, depth;
	struct cluster_tree tree =
		cluster_tree_make(n->config.size, n->config.fanout, trees,
				  cluster_tree_of(cluster_path_hash(key->path.ptr, key->path.len),
						  key->chunk, trees));

	depth = cluster_tree_depth(&tree, n->config.rank);
	return n->statistics.levels + (depth < CLUSTER_LEVELS ? depth : CLUSTER_LEVELS - 1);
}

/* --- requests of this node --- */

static struct letter *letter_new(enum letter_kind kind, const struct wire_key *key)
{
	struct letter *l = calloc(1, sizeof(*l) + key->path.len + 1);

	if (!l)
		return NULL;
	l->kind = kind;
	l->key = *key;
	l->key.path.ptr = l->path;
	if (key->path.len)
		memcpy(l->path, key->path.ptr, key->path.len);
	return l;
}

static void answer_letter(struct cluster_node *n, struct letter *l, const struct wire_key *key,
			  const struct protocol_answer *a)
{
	uint64_t waited = (uint64_t)(clock_mono_ns() - l->since_ns);
	struct cluster_level *level = node_level(n, key);

	level->requests++;
	level->bytes += a->body.len;
	level->wait_ns += waited;
	if (waited > level->longest_ns)
		level->longest_ns = waited;
	if (l->back) {
		*l->back = l->next;
		if (l->next)
			l->next->back = l->back;
	}
	atomic_fetch_sub(&n->requests, 1);
	l->answered(l->self, key, a);
	free(l);
}

static void fail_letter(struct cluster_node *n, struct letter *l, int rc)
{
	struct protocol_answer a = { .rc = rc, .read_ns = clock_mono_ns() };

	answer_letter(n, l, &l->key, &a);
}

int cluster_node_request(struct cluster_node *n, const struct wire_key *key, int64_t max_age_ns,
			 cluster_answered *answered, void *self)
{
	struct letter *l;

	if (atomic_fetch_add(&n->requests, 1) >= n->config.max_requests) {
		atomic_fetch_sub(&n->requests, 1);
		return -EAGAIN;
	}
	l = letter_new(LETTER_REQUEST, key);
	if (!l) {
		atomic_fetch_sub(&n->requests, 1);
		return -ENOMEM;
	}
	l->max_age_ns = max_age_ns;
	l->answered = answered;
	l->self = self;
	l->since_ns = clock_mono_ns();
	if (mailbox_put(n->mailbox, &l->link))
		return 0;
	free(l);
	atomic_fetch_sub(&n->requests, 1);
	return -ESHUTDOWN;
}

/* The cache got the answer while the request was on its way to this thread. */
static bool answer_held(struct cluster_node *n, struct letter *l, int64_t now)
{
	struct protocol_answer a = { 0 };

	if (!n->ops->find(n->self, &l->key, &a) ||
	    (l->key.op != WIRE_CHUNK && now - a.read_ns > l->max_age_ns))
		return false;
	answer_letter(n, l, &l->key, &a);
	return true;
}

/* false: the protocol has no room. */
static bool pass_request(struct cluster_node *n, struct letter *l)
{
	int64_t now = clock_mono_ns();
	int rc;

	if (answer_held(n, l, now))
		return true;
	rc = protocol_request(n->protocol, now, &l->key, l->max_age_ns, (uint64_t)(uintptr_t)l);
	if (rc == -EAGAIN)
		return false;
	if (rc < 0) {
		fail_letter(n, l, rc);
		return true;
	}
	l->next = n->unanswered;
	l->back = &n->unanswered;
	if (l->next)
		l->next->back = &l->next;
	n->unanswered = l;
	return true;
}

void node_answer(void *self, uint64_t cookie, const struct wire_key *key,
		 const struct protocol_answer *a)
{
	answer_letter(self, (struct letter *)(uintptr_t)cookie, key, a);
}

/* --- reads of storage --- */

void node_read_storage(void *self, uint64_t id, const struct wire_key *key)
{
	struct cluster_node *n = self;
	struct letter *l = letter_new(LETTER_READ, key);

	n->statistics.storage_requests++;
	if (!l) { /* when there is no room for that either, the protocol's deadline comes */
		if (n->refused_count < MAX_REFUSED_READS)
			n->refused_reads[n->refused_count++] = id;
		return;
	}
	l->id = id;
	l->mailbox = mailbox_ref(n->mailbox);
	l->read.key = l->key;
	n->ops->read(n->self, &l->read);
}

static void free_read(struct letter *l)
{
	if (l->read.release)
		l->read.release(l->read.data);
	mailbox_unref(l->mailbox);
	free(l);
}

void cluster_node_read_done(struct cluster_read *r)
{
	struct letter *l = (struct letter *)(void *)((char *)r - offsetof(struct letter, read));

	if (!mailbox_put(l->mailbox, &l->link))
		free_read(l);
}

static void finish_read(struct cluster_node *n, struct letter *l)
{
	n->statistics.storage_bytes += l->read.answer.body.len;
	protocol_storage_done(n->protocol, clock_mono_ns(), l->id, &l->read.answer);
	free_read(l);
}

static void finish_refused_reads(struct cluster_node *n)
{
	struct protocol_answer a = { .rc = -ENOMEM, .read_ns = clock_mono_ns() };

	while (n->refused_count)
		protocol_storage_done(n->protocol, clock_mono_ns(),
				      n->refused_reads[--n->refused_count], &a);
}

/* --- new addresses --- */

static void free_endpoint(struct letter *l)
{
	bootstrap_lookup_free(l->lookup);
	mailbox_unref(l->mailbox);
	free(l);
}

/* In a thread of its own, because the address book's storage may hang. */
static void *look_up(void *arg)
{
	struct letter *l = arg;

	if (!bootstrap_lookup_run(l->lookup, l->path))
		*l->path = '\0';
	if (!mailbox_put(l->mailbox, &l->link))
		free_endpoint(l);
	return NULL;
}

static int start_detached(void *(*function)(void *), void *arg)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all); /* the main thread handles them */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, function, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return -rc;
}

void node_look_up(struct cluster_node *n, uint32_t rank)
{
	static const char room[BOOTSTRAP_TEXT];
	static const struct wire_key key = { .path = { room, sizeof(room) } };
	struct letter *l;

	if (n->is_looking) /* another failure of the rank follows */
		return;
	l = letter_new(LETTER_ENDPOINT, &key);
	if (!l)
		return;
	l->rank = rank;
	l->mailbox = mailbox_ref(n->mailbox);
	l->lookup = bootstrap_lookup(n->bootstrap, rank);
	n->is_looking = l->lookup && start_detached(look_up, l) == 0;
	if (!n->is_looking)
		free_endpoint(l);
}

static void use_endpoint(struct cluster_node *n, struct letter *l)
{
	struct err e;

	n->is_looking = false;
	if (*l->path && n->transport->set_endpoint(n->transport_self, l->rank, l->path, &e) < 0)
		log_msg(LOG_INFO, "cluster", "%s", e.msg);
	free_endpoint(l);
}

/* --- the thread --- */

/* As many as there is room for, the first ones first. */
static void pass_waiting(struct cluster_node *n)
{
	struct fifo_link *link;

	while ((link = fifo_take(&n->waiting))) {
		struct fifo rest = n->waiting;

		if (pass_request(n, (struct letter *)link))
			continue;
		n->waiting = (struct fifo){ 0 };
		fifo_put(&n->waiting, link);
		n->waiting.first->next = rest.first;
		if (rest.first)
			n->waiting.last = rest.last;
		return;
	}
}

void node_take_letters(struct cluster_node *n)
{
	struct fifo_link *link;
	struct fifo letters;

	mailbox_take(n->mailbox, &letters);
	while ((link = fifo_take(&letters))) {
		struct letter *l = (struct letter *)link;

		if (l->kind == LETTER_READ)
			finish_read(n, l);
		else if (l->kind == LETTER_ENDPOINT)
			use_endpoint(n, l);
		else
			fifo_put(&n->waiting, &l->link);
	}
	pass_waiting(n);
	finish_refused_reads(n);
}

void node_end_requests(struct cluster_node *n)
{
	struct fifo_link *link;
	struct fifo letters;

	mailbox_close(n->mailbox);
	mailbox_take(n->mailbox, &letters);
	while ((link = fifo_take(&letters))) {
		struct letter *l = (struct letter *)link;

		if (l->kind == LETTER_READ)
			free_read(l);
		else if (l->kind == LETTER_ENDPOINT)
			free_endpoint(l);
		else
			fail_letter(n, l, -ESHUTDOWN);
	}
	while ((link = fifo_take(&n->waiting)))
		fail_letter(n, (struct letter *)link, -ESHUTDOWN);
	while (n->unanswered)
		fail_letter(n, n->unanswered, -ESHUTDOWN);
}
