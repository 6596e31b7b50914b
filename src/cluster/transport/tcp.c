/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "cluster/transport/tcp_link.h"
#include "cluster/transport/transport.h"
#include "cluster/tree.h"

#define CONNECT_NS (2 * NS_PER_S)
#define GREETING_NS (5 * NS_PER_S)
#define REST_NS (NS_PER_S / 10) /* before more connections are accepted when descriptors lack */
#define USER_TIMEOUT_MS 3000u   /* data that nobody acknowledges */
#define BACKLOG 1024
#define MAX_EVENTS 64
#define MAX_ACCEPTS 64   /* in one run, before other links have their turn */
#define MAX_GREETING 256 /* incoming links without a session; the oldest one goes first */

struct tcp {
	struct link_context context; /* first: a link has only that */
	int epoll, wake, listener;   /* listener -1: a node alone */
	int64_t accept_ns;           /* the listener rests until then; 0: it does not */
	struct tcp_link **links;     /* [count]; owned; closed ones are freed at the end of run */
	size_t count, cap;
	struct map by_rank; /* to an index of targets */
	struct target {
		struct endpoint endpoint;
		struct tcp_link *link; /* for sending; NULL: none */
		bool is_failed;        /* an event failed is due, without a link */
		uint32_t rank;
		uint32_t lost_data; /* events sent that are due */
	} * targets;                /* [target_count]; owned */
	size_t target_count, target_cap;
	bool has_due; /* a target has events that are due */
	bool has_logged_refusal, has_logged_version;
};

static void tcp_close(void *self);

static struct target *target_at(struct tcp *t, uint32_t rank)
{
	uint32_t i = map_get(&t->by_rank, rank);

	if (i != MAP_NONE)
		return t->targets + i;
	if (t->target_count == t->target_cap) {
		size_t cap = t->target_cap ? 2 * t->target_cap : 16;
		struct target *targets = realloc(t->targets, cap * sizeof(*targets));

		if (!targets)
			return NULL;
		t->targets = targets;
		t->target_cap = cap;
	}
	if (map_put(&t->by_rank, rank, (uint32_t)t->target_count) < 0)
		return NULL;
	t->targets[t->target_count] = (struct target){ .rank = rank };
	return t->targets + t->target_count++;
}

/* --- links --- */

static void set_interest(struct tcp *t, struct tcp_link *l)
{
	uint32_t wanted = EPOLLIN | EPOLLRDHUP;
	struct epoll_event event = { .data.ptr = l };

	if (l->state == LINK_CONNECTING)
		wanted = EPOLLOUT;
	else if (link_wants_write(l) && !l->is_writable)
		wanted |= EPOLLOUT;
	if (wanted == l->interest)
		return;
	event.events = wanted;
	if (epoll_ctl(t->epoll, l->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, l->fd, &event) < 0)
		l->is_failed = true;
	else
		l->interest = wanted;
}

/* Takes fd, also when it fails. NULL: out of memory. */
static struct tcp_link *add_link(struct tcp *t, int fd, bool is_outgoing, uint32_t rank,
				 const struct endpoint *peer)
{
	struct tcp_link *l;

	if (t->count == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 16;
		struct tcp_link **links = realloc(t->links, cap * sizeof(*links));

		if (!links)
			goto fail;
		t->links = links;
		t->cap = cap;
	}
	l = link_new(&t->context, fd, is_outgoing, rank, peer);
	if (!l)
		goto fail;
	t->links[t->count++] = l;
	return l;

fail:
	close(fd);
	return NULL;
}

static void set_options(int fd)
{
	int yes = 1;
	unsigned timeout = USER_TIMEOUT_MS;

	/* Without them it works, too, but slower. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

/* NULL: the rank cannot be reached now. */
static struct tcp_link *connect_to(struct tcp *t, const struct target *target)
{
	const struct endpoint *at = &target->endpoint;
	struct tcp_link *l;
	int fd;

	if (!at->len)
		return NULL;
	fd = socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return NULL;
	set_options(fd);
	if (connect(fd, (const struct sockaddr *)&at->address, at->len) < 0 &&
	    errno != EINPROGRESS) {
		close(fd);
		return NULL;
	}
	l = add_link(t, fd, true, target->rank, at);
	if (!l)
		return NULL;
	l->deadline_ns = clock_mono_ns() + CONNECT_NS;
	set_interest(t, l);
	return l;
}

/* Another link with a session for the rank. NULL: there is none. */
static struct tcp_link *find_ready(const struct tcp *t, uint32_t rank)
{
	for (size_t i = t->count; i--;)
		if (t->links[i]->state == LINK_READY && !t->links[i]->is_failed &&
		    t->links[i]->rank == rank)
			return t->links[i];
	return NULL;
}

static void log_refusal(struct tcp *t, const struct tcp_link *l, const struct err *e)
{
	bool *has_logged =
		e->code == -EPROTONOSUPPORT ? &t->has_logged_version : &t->has_logged_refusal;
	char host[ENDPOINT_MAX];

	if (*has_logged)
		return;
	*has_logged = true;
	endpoint_print_host(&l->peer, host);
	log_msg(LOG_WARN, "cluster", "refused a connection with %s: %s; others are only counted",
		host, e->msg);
}

/* Ends a link, and makes the events. The memory stays until free_closed(). */
static void drop_link(struct tcp *t, struct tcp_link *l, const struct err *e)
{
	const struct transport_config *c = &t->context.config;
	bool was_ready = l->state == LINK_READY, was_empty = link_is_empty(l);
	bool is_target = was_ready || l->is_outgoing;
	struct target *target;

	if (l->state == LINK_CLOSED)
		return;
	if (e->code == -EACCES || e->code == -EPROTO || e->code == -EPROTONOSUPPORT) {
		t->context.counts.refused++;
		log_refusal(t, l, e);
	} else if (!is_target) {
		t->context.counts.refused++;
	}
	log_msg(LOG_DEBUG, "cluster", "rank %u, link with rank %d ends: %s", c->rank, (int)l->rank,
		e->msg);
	t->context.counts.losses += was_ready;
	link_close(l);
	if (!is_target)
		return;
	target = target_at(t, l->rank);
	if (target && target->link == l)
		target->link = find_ready(t, l->rank);
	if (was_ready || !was_empty || !target || !target->link)
		c->events->failed(c->self, l->rank);
}

static void free_closed(struct tcp *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (t->links[i]->state == LINK_CLOSED)
			link_free(t->links[i]);
		else
			t->links[kept++] = t->links[i];
	}
	t->count = kept;
}

/* --- accepting --- */

/* The oldest incoming link without a session goes, so that unknown peers cannot keep nodes out. */
static void make_room(struct tcp *t, size_t limit)
{
	struct tcp_link *oldest = NULL;
	size_t count = 0;
	struct err e;

	for (size_t i = 0; i < t->count; i++) {
		struct tcp_link *l = t->links[i];

		if (l->is_outgoing || l->state != LINK_GREETING)
			continue;
		count++;
		if (!oldest || l->deadline_ns < oldest->deadline_ns)
			oldest = l;
	}
	if (count < limit)
		return;
	err_set(&e, -ETIMEDOUT, "too many connections without a handshake");
	drop_link(t, oldest, &e);
}

static void rest(struct tcp *t, bool is_resting)
{
	struct epoll_event event = { .events = is_resting ? 0 : EPOLLIN, .data.ptr = &t->listener };

	(void)epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->listener, &event);
	t->accept_ns = is_resting ? clock_mono_ns() + REST_NS : 0;
}

static void accept_links(struct tcp *t)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		struct endpoint peer = { .len = sizeof(peer.address) };
		struct tcp_link *l;
		int fd = accept4(t->listener, (struct sockaddr *)&peer.address, &peer.len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (fd < 0) { /* descriptors or memory lack */
			make_room(t, 1);
			rest(t, true);
			return;
		}
		make_room(t, MAX_GREETING);
		set_options(fd);
		l = add_link(t, fd, false, CLUSTER_NO_RANK, &peer);
		if (!l)
			continue;
		l->deadline_ns = clock_mono_ns() + GREETING_NS;
		set_interest(t, l);
	}
}

/* --- run --- */

static void became_ready(struct link_context *context, struct tcp_link *l)
{
	struct tcp *t = (struct tcp *)context;
	struct target *target = target_at(t, l->rank);

	if (!target)
		l->is_failed = true;
	else if (!target->link || target->link->state == LINK_READY || link_is_empty(target->link))
		target->link = l; /* the newest: the peer may have been started again */
}

static int finish_connect(struct tcp_link *l, struct err *e)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error)
		return err_set(e, -error, "connect: %s", strerror(error));
	l->deadline_ns = clock_mono_ns() + GREETING_NS;
	return link_greet(l, e);
}

static int serve_link(struct tcp_link *l, uint32_t events, struct err *e)
{
	if (l->state == LINK_CONNECTING) {
		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return 0;
		return finish_connect(l, e);
	}
	if (events & EPOLLOUT)
		l->is_writable = true;
	return events & ~(uint32_t)EPOLLOUT ? link_read(l, e) : 0;
}

/* Writes what is queued, and ends links that failed. */
static void settle(struct tcp *t, int64_t now)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tcp_link *l = t->links[i];
		struct err e;
		int rc = 0;

		if (l->state == LINK_CLOSED)
			continue;
		if (l->is_failed)
			rc = err_set(&e, -ENOBUFS, "the peer does not read, or memory lacks");
		else if (now >= l->deadline_ns)
			rc = err_set(&e, -ETIMEDOUT, "no handshake in time");
		else if (link_wants_write(l) && (l->is_writable || !(l->interest & EPOLLOUT)))
			rc = link_write(l, &e);
		if (rc == 0) {
			set_interest(t, l);
			if (!l->is_failed)
				continue;
			err_set(&e, -ENOMEM, "epoll does not take it");
		}
		drop_link(t, l, &e);
	}
}

/* Messages that could not even be queued. */
static void make_due_events(struct tcp *t)
{
	const struct transport_config *c = &t->context.config;

	if (!t->has_due)
		return;
	t->has_due = false;
	for (size_t i = 0; i < t->target_count; i++) {
		uint32_t rank = t->targets[i].rank;

		for (; t->targets[i].lost_data; t->targets[i].lost_data--)
			c->events->sent(c->self, rank);
		if (!t->targets[i].is_failed)
			continue;
		t->targets[i].is_failed = false;
		c->events->failed(c->self, rank);
	}
}

static bool has_work(const struct tcp *t)
{
	if (t->has_due)
		return true;
	for (size_t i = 0; i < t->count; i++)
		if (t->links[i]->is_failed || t->links[i]->state == LINK_CLOSED ||
		    (link_wants_write(t->links[i]) && t->links[i]->is_writable))
			return true;
	return false;
}

static int wait_ms(const struct tcp *t, int64_t now, int64_t until)
{
	if (t->accept_ns && t->accept_ns < until)
		until = t->accept_ns;
	for (size_t i = 0; i < t->count; i++)
		if (t->links[i]->deadline_ns < until)
			until = t->links[i]->deadline_ns;
	if (until <= now)
		return 0;
	until = (until - now + 999999) / 1000000;
	return until < 60000 ? (int)until : 60000;
}

static void serve_events(struct tcp *t, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		struct tcp_link *l = events[i].data.ptr;
		uint64_t number;
		struct err e;

		if (events[i].data.ptr == &t->wake)
			(void)!read(t->wake, &number, sizeof(number));
		else if (events[i].data.ptr == &t->listener)
			accept_links(t);
		else if (l->state != LINK_CLOSED && serve_link(l, events[i].events, &e) < 0)
			drop_link(t, l, &e);
	}
}

static void tcp_run(void *self, int64_t until_ns)
{
	struct epoll_event events[MAX_EVENTS];
	struct tcp *t = self;
	bool is_due = t->has_due;
	int64_t now = clock_mono_ns();
	uint64_t losses = t->count;
	int count;

	make_due_events(t);
	settle(t, now);
	free_closed(t);
	/* Events that were made may have moved the protocol's deadline. */
	is_due = is_due || t->count != losses || has_work(t);
	count = epoll_wait(t->epoll, events, MAX_EVENTS, is_due ? 0 : wait_ms(t, now, until_ns));
	now = clock_mono_ns();
	if (t->accept_ns && now >= t->accept_ns)
		rest(t, false);
	serve_events(t, events, count);
	settle(t, now);
	free_closed(t);
}

static void tcp_send(void *self, uint32_t rank, const struct wire_message *m)
{
	struct tcp *t = self;
	struct target *target = target_at(t, rank);
	int rc = -ENOTCONN;

	if (!target)
		return; /* out of memory: the peer is silent, so the protocol goes on without it */
	if (!target->link || target->link->state == LINK_CLOSED)
		target->link = connect_to(t, target);
	if (target->link)
		rc = link_send(target->link, m);
	if (rc == -ENOBUFS)
		target->link->is_failed = true;
	if (rc == 0 || rc == -ENOBUFS)
		return;
	target->lost_data += m->body.len > 0;
	target->is_failed = true;
	t->has_due = true;
}

static void tcp_flush(void *self, int64_t until_ns)
{
	struct tcp *t = self;

	for (;;) {
		int64_t now = clock_mono_ns();
		struct epoll_event events[MAX_EVENTS];
		bool is_empty = true;

		settle(t, now);
		for (size_t i = 0; i < t->count; i++)
			is_empty = is_empty &&
				   (t->links[i]->state != LINK_READY || link_is_empty(t->links[i]));
		if (is_empty || now >= until_ns)
			return;
		for (size_t i = 0; i < t->count; i++)
			t->links[i]->is_writable = true; /* tried again after a rest */
		(void)epoll_wait(t->epoll, events, MAX_EVENTS, 10);
	}
}

static void tcp_wake(void *self)
{
	static const uint64_t one = 1;
	const struct tcp *t = self;

	(void)!write(t->wake, &one, sizeof(one)); /* EAGAIN: it is awake anyway */
}

static int tcp_set_endpoint(void *self, uint32_t rank, const char *endpoint, struct err *e)
{
	struct tcp *t = self;
	struct endpoint parsed;
	struct target *target;

	if (endpoint_parse(endpoint, &parsed, e) < 0)
		return err_wrap(e, "rank %u", rank);
	target = target_at(t, rank);
	if (!target)
		return err_nomem(e);
	target->endpoint = parsed;
	return 0;
}

static void tcp_counts(void *self, struct transport_counts *ret)
{
	*ret = ((const struct tcp *)self)->context.counts;
}

/* --- open and close --- */

static int listen_at(struct tcp *t, const char *listen_at, char ret_endpoint[ENDPOINT_MAX],
		     struct err *e)
{
	struct endpoint at;

	if (endpoint_choose(listen_at, &at, e) < 0)
		return e->code;
	endpoint_print_host(&at, ret_endpoint);
	t->listener = socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0 || bind(t->listener, (struct sockaddr *)&at.address, at.len) < 0 ||
	    listen(t->listener, BACKLOG) < 0 ||
	    getsockname(t->listener, (struct sockaddr *)&at.address, &at.len) < 0)
		return err_errno(e, "cannot listen on %s", ret_endpoint);
	endpoint_print(&at, ret_endpoint);
	return 0;
}

static int add_special(struct tcp *t, int *fd, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = fd };

	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, *fd, &event) < 0)
		return err_errno(e, "epoll");
	return 0;
}

static int tcp_open(const struct transport_config *config, void **ret,
		    char ret_endpoint[ENDPOINT_MAX], struct err *e)
{
	struct tcp *t;

	if (mac_open(e) < 0)
		return e->code;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(e);
	t->context.ready = became_ready;
	t->context.config = *config;
	t->context.config.secret = NULL; /* copied below */
	static_assert(sizeof(t->context.secret) == sizeof(*config->secret), "a key of HMAC");
	memcpy(t->context.secret.bytes, config->secret->bytes, sizeof(config->secret->bytes));
	t->listener = -1;
	t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	*ret_endpoint = '\0';
	if (t->wake < 0 || t->epoll < 0)
		err_errno(e, "epoll");
	else if (add_special(t, &t->wake, e) == 0 &&
		 (config->size == 1 || (listen_at(t, config->listen, ret_endpoint, e) == 0 &&
					add_special(t, &t->listener, e) == 0))) {
		*ret = t;
		return 0;
	}
	tcp_close(t);
	return e->code;
}

static void tcp_close(void *self)
{
	struct tcp *t = self;

	for (size_t i = 0; i < t->count; i++) {
		link_close(t->links[i]);
		link_free(t->links[i]);
	}
	if (t->listener >= 0)
		close(t->listener);
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->wake >= 0)
		close(t->wake);
	explicit_bzero(&t->context.secret, sizeof(t->context.secret));
	free(t->links);
	free(t->targets);
	map_fini(&t->by_rank);
	free(t);
}

const struct transport transport_tcp = {
	.name = "tcp",
	.open = tcp_open,
	.close = tcp_close,
	.set_endpoint = tcp_set_endpoint,
	.send = tcp_send,
	.run = tcp_run,
	.wake = tcp_wake,
	.flush = tcp_flush,
	.counts = tcp_counts,
};
