/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/fuse/companion.h"
#include "cachefs/fuse/eager.h"
#include "cachefs/fuse/init_reply.h"
#include "cachefs/store/asker.h"
#include "cachefs/store/lookout.h"

#define WINDOW 32         /* requests after which a reader adapts the number of readers */
#define IDLE_LESS 15      /* percent of its time: start another reader */
#define IDLE_MORE 70      /* percent: stop reading, if there is another reader */
#define HANGS_NS NS_PER_S /* how long to wait for a thread to end */
#define STACK_BYTES (256 * 1024)

struct worker {
	struct attached watched; /* the first member */
	struct worker *next;     /* under the server's lock */
	struct server *server;
	pthread_t thread;
	int fd; /* its clone of the session's descriptor; -1: none */
	_Atomic bool ended;
	_Atomic bool reads; /* it is a reader; changed under the server's lock */

	/* Below: only the worker uses these. */
	fuse_req_t req;
	uint64_t number; /* fuse_in_header.unique of the request */
	struct eager eager;
	struct companion_askers askers;
	struct companion *companion; /* that it is; NULL: none */
	pid_t caller;                /* the thread that the request is of; 0: unknown */
	struct init_reply init;
	int64_t idle_ns, busy_ns; /* of the window */
	unsigned requests;
};

struct server {
	struct fuse_session *session;
	struct serve_opts opts;
	pthread_t main;
	unsigned max_readers;
	struct lookout *lookout; /* NULL: only the pool calls storage */

	_Atomic bool has_read; /* some worker has read a request, and so has a buffer */
	struct companions companions;

	pthread_mutex_t lock;
	pthread_cond_t called;
	struct worker *workers; /* this and below: under lock; when closing, the main thread's */
	unsigned threads, parked, readers;
	unsigned wakeups; /* of readers that were called for, those that have not come yet */
	bool closing;
	_Atomic bool is_interrupted; /* no request waits for storage: the mount ends */
};

static _Thread_local struct worker *self;
static _Thread_local int reply_fd = -1; /* for a request that another thread read */

static void note_request(const void *request, ssize_t len)
{
	struct fuse_in_header header;

	if (len < (ssize_t)sizeof header)
		return;
	memcpy(&header, request, sizeof header);
	self->number = header.unique;
	self->caller = (pid_t)header.pid;
	if (HAS_CUSTOM_IO && header.opcode == FUSE_INIT)
		init_reply_note_request(&self->init, request, (size_t)len);
}

static ssize_t read_request(int fd, void *into, size_t len, void *userdata)
{
	int from = self->fd >= 0 ? self->fd : fd;
	ssize_t n =
		self->companion ? read(from, into, len) : eager_read(&self->eager, from, into, len);

	(void)userdata;
	note_request(into, n);
	return n;
}

/* The descriptor a request was read from must carry its reply. Source: linux/fuse.h,
 * FUSE_DEV_IOC_CLONE. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (self && init_reply_is_pending(&self->init))
		init_reply_patch(&self->init, iov, count);
	if (reply_fd >= 0)
		return writev(reply_fd, iov, count);
	if (self && self->companion)
		companion_answers(self->companion);
	return writev(self && self->fd >= 0 ? self->fd : fd, iov, count);
}

static int clone_fd(int session_fd)
{
	uint32_t from = (uint32_t)session_fd;
	int fd = HAS_CUSTOM_IO ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;

	if (fd >= 0 && ioctl(fd, FUSE_DEV_IOC_CLONE, &from) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *work(void *arg);

static void free_worker(struct worker *w)
{
	if (w->fd >= 0)
		close(w->fd);
	pthread_mutex_destroy(&w->watched.lock);
	free(w);
}

/* Under lock. NULL: out of memory, or of descriptors for a companion. */
static struct worker *new_worker(struct server *s, struct companion *companion)
{
	struct worker *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->server = s;
	w->companion = companion;
	pthread_mutex_init(&w->watched.lock, NULL);
	w->fd = s->workers ? clone_fd(fuse_session_fd(s->session)) : -1;
	if (companion && (w->fd < 0 || fcntl(w->fd, F_SETFL, O_NONBLOCK) < 0)) {
		free_worker(w);
		return NULL;
	}
	return w;
}

/* Under lock. NULL: no thread can be started. */
static struct worker *add_thread(struct server *s, void *(*run)(void *),
				 struct companion *companion)
{
	struct worker *w = new_worker(s, companion);
	pthread_attr_t attr;
	int rc;

	if (!w || pthread_attr_init(&attr) != 0) {
		if (w)
			free_worker(w);
		return NULL;
	}
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = pthread_create(&w->thread, &attr, run, w);
	pthread_attr_destroy(&attr);
	if (rc != 0) {
		free_worker(w);
		return NULL;
	}
	w->next = s->workers;
	s->workers = w;
	if (s->lookout)
		lookout_add(s->lookout, &w->watched);
	return w;
}

/* Under lock. Wakes a parked worker to read, or starts one. */
static void wake_reader(struct server *s)
{
	if (s->closing)
		return;
	if (s->parked <= s->wakeups) {
		if (s->threads == s->opts.max_threads || !add_thread(s, work, NULL))
			return;
		s->threads++;
	}
	s->wakeups++;
	s->readers++;
	pthread_cond_signal(&s->called);
}

static void stop_reading(struct worker *w, bool needs_another)
{
	struct server *s = w->server;

	pthread_mutex_lock(&s->lock);
	if (w->reads && (needs_another || s->readers > 1)) {
		w->reads = false;
		s->readers--;
		if (!s->readers)
			wake_reader(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void serve_set_request(fuse_req_t req)
{
	if (self)
		self->req = req;
}

static void pass_on_reading(struct worker *w)
{
	if (w->companion)
		companions_release(&w->server->companions, false);
	else
		stop_reading(w, true);
}

void serve_will_wait(void)
{
	if (self && self->server->opts.max_threads > 1)
		pass_on_reading(self);
}

/* The callback of struct lookout. */
static void on_late_call(struct attached *w)
{
	pass_on_reading((struct worker *)w);
}

bool serve_begin_storage(void)
{
	if (!self || !self->req || !self->server->lookout || self->server->is_interrupted)
		return false;
	lookout_begin(self->server->lookout, &self->watched, self->req,
		      self->fd >= 0 ? self->fd : fuse_session_fd(self->server->session),
		      self->number);
	return true;
}

int serve_end_storage(void)
{
	return lookout_end(&self->watched);
}

int serve_dup_fd(int *ret)
{
	bool is_own = self && self->fd >= 0;
	int fd = is_own ? fcntl(self->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (is_own && fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

void serve_set_reply_fd(int fd)
{
	reply_fd = fd;
}

pid_t serve_caller(void)
{
	return self && self->req ? fuse_req_ctx(self->req)->pid : 0;
}

bool serve_enable_passthrough(void)
{
	return self && init_reply_enable_passthrough(&self->init);
}

bool serve_is_interrupted(void)
{
	return self &&
	       (self->server->is_interrupted ||
		(self->req && fuse_req_interrupted(self->req) && asker_is_ending(serve_caller())));
}

/* After each WINDOW of requests: are there too few readers, or too many? */
static void adapt_readers(struct worker *w)
{
	struct server *s = w->server;
	int64_t idle = 100 * w->idle_ns / (w->idle_ns + w->busy_ns + 1);

	w->idle_ns = w->busy_ns = 0;
	w->requests = 0;
	if (idle > IDLE_MORE) {
		stop_reading(w, false);
	} else if (idle < IDLE_LESS) {
		pthread_mutex_lock(&s->lock);
		if (w->reads && s->readers < s->max_readers)
			wake_reader(s);
		pthread_mutex_unlock(&s->lock);
	}
}

static bool is_serving(const struct server *s)
{
	return !fuse_session_exited(s->session);
}

/* Without memory for a request: other workers may have a buffer, or free memory. */
static void back_off(struct worker *w)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&pause, NULL);
	pass_on_reading(w);
}

/* 0, or -errno: no request. */
static int receive(struct worker *w, struct fuse_buf *room)
{
	int rc = fuse_session_receive_buf(w->server->session, room);

	if (rc > 0) {
		if (!HAS_CUSTOM_IO)
			note_request(room->mem, rc);
		if (!w->server->has_read)
			w->server->has_read = true;
		return 0;
	}
	if (rc == -ENOMEM && w->server->has_read)
		back_off(w);
	else if (rc != -EINTR && rc != -EAGAIN)
		fuse_session_exit(w->server->session);
	return rc < 0 ? rc : -EINTR;
}

static void answer(struct worker *w, struct fuse_buf *room)
{
	fuse_session_process_buf(w->server->session, room);
	w->req = NULL;
}

/* The other readers stop after at most one more request. False: w is no longer a reader itself. */
static bool become_only_reader(struct worker *w)
{
	struct server *s = w->server;
	bool reads;

	pthread_mutex_lock(&s->lock);
	reads = w->reads && !s->closing;
	for (struct worker *other = reads ? s->workers : NULL; other; other = other->next)
		if (other != w && other->reads) {
			other->reads = false;
			s->readers--;
		}
	if (reads) {
		s->readers -= s->wakeups;
		s->wakeups = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return reads;
}

/* True: companions served for a while. */
static bool try_companions(struct worker *w)
{
	struct companions *c = &w->server->companions;

	if (!companions_are_due(c, &w->askers, w->caller) || !become_only_reader(w))
		return false;
	companions_watch(c, &w->askers, fuse_session_fd(w->server->session));
	return true;
}

static void read_requests(struct worker *w, struct fuse_buf *room)
{
	int64_t begin = clock_mono_ns();

	while (w->reads && is_serving(w->server)) {
		int64_t got, end;

		if (receive(w, room) < 0)
			continue;
		got = clock_mono_ns();
		answer(w, room);
		end = clock_mono_ns();
		w->idle_ns += got - begin;
		w->busy_ns += end - got;
		begin = try_companions(w) ? clock_mono_ns() : end;
		if (++w->requests == WINDOW)
			adapt_readers(w);
	}
}

/* Under lock. False: the server is closing. */
static bool become_reader(struct server *s)
{
	if (!s->readers) {
		s->readers++; /* all other workers block */
		return !s->closing;
	}
	s->parked++;
	while (!s->wakeups && !s->closing)
		pthread_cond_wait(&s->called, &s->lock);
	s->parked--;
	s->wakeups -= s->wakeups > 0;
	return !s->closing;
}

/* how: SIG_BLOCK or SIG_UNBLOCK. */
static void mask_signal(int how, int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	pthread_sigmask(how, &set, NULL);
}

static void begin_thread(struct worker *w)
{
	self = w;
	mask_signal(SIG_UNBLOCK, SIGUSR1); /* ends a read */
}

static void end_thread(struct worker *w, struct fuse_buf *room)
{
	free(room->mem);
	if (w->fd >= 0)
		close(w->fd);
	w->ended = true;
	pthread_kill(w->server->main, SIGUSR1);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct server *s = w->server;
	struct fuse_buf room = { 0 };

	begin_thread(w);
	pthread_mutex_lock(&s->lock);
	while (!fuse_session_exited(s->session) && become_reader(s)) {
		w->reads = true;
		pthread_mutex_unlock(&s->lock);
		read_requests(w, &room);
		pthread_mutex_lock(&s->lock);
		s->readers -= w->reads;
	}
	pthread_mutex_unlock(&s->lock);
	end_thread(w, &room);
	return NULL;
}

static void *accompany(void *arg)
{
	struct worker *w = arg;
	struct server *s = w->server;
	struct companions *c = &s->companions;
	struct companion *one = w->companion;
	struct fuse_buf room = { 0 };

	begin_thread(w);
	mask_signal(SIG_BLOCK, SIGUSR2);
	while (is_serving(s) && companion_wait(c, one))
		while (one->called && is_serving(s)) {
			int rc;

			one->asked = true;
			rc = receive(w, &room);
			if (rc == 0)
				answer(w, &room);
			one->asked = false;
			if (rc == -EAGAIN)
				companion_await(c, one);
			if (rc < 0)
				continue;
			if (w->caller && !companions_hear(c, w->caller))
				companions_release(c, true);
		}
	end_thread(w, &room);
	return NULL;
}

/* Under lock. As many as threads can be started. */
static void add_companions(struct server *s)
{
	struct companions *c = &s->companions;

	for (unsigned i = 0, max = companions_max(c); s->opts.max_threads > 1 && i < max; i++) {
		struct worker *w = add_thread(s, accompany, &c->list[i]);

		if (!w)
			return;
		c->list[i].thread = w->thread;
		c->list[i].fd = w->fd;
		c->count++;
	}
}

static bool has_ended(struct worker *w)
{
	static const struct timespec pause = { .tv_nsec = 1000 * 1000 };

	for (int64_t until_ns = clock_mono_ns() + HANGS_NS;
	     !w->ended && clock_mono_ns() < until_ns;) {
		pthread_kill(w->thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	return w->ended;
}

/* A signal just before a read does not interrupt it, so has_ended repeats it. False: a thread is in
 * a storage call that hangs, and will use all of this when that returns. */
static bool end_threads(struct server *s)
{
	fuse_session_exit(s->session);
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->called);
	pthread_mutex_unlock(&s->lock);
	companions_end(&s->companions);
	if (s->lookout)
		lookout_stop(s->lookout);
	while (s->workers) {
		struct worker *w = s->workers;

		if (!has_ended(w))
			return false;
		pthread_join(w->thread, NULL);
		s->workers = w->next;
		pthread_mutex_destroy(&w->watched.lock);
		free(w);
	}
	lookout_free(s->lookout);
	return true;
}

/* True: a signal ended it. */
static bool wait_for_end(struct server *s, const sigset_t *signals)
{
	int got = 0;

	while (!fuse_session_exited(s->session) && (got == 0 || got == SIGUSR1))
		if (sigwait(signals, &got) != 0)
			break;
	s->is_interrupted = true;
	if (s->lookout)
		lookout_give_up(s->lookout);
	s->opts.end(s->opts.context);
	return got && got != SIGUSR1;
}

static struct server *new_server(struct fuse_session *session, const struct serve_opts *o)
{
	struct server *s = calloc(1, sizeof *s);
	int cpus;

	if (!s)
		return NULL;
	s->session = session;
	s->opts = *o;
	s->main = pthread_self();
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->called, NULL);
	companions_init(&s->companions);
	cpus = CPU_COUNT(&s->companions.cpus);
	s->max_readers =
		cpus ? (unsigned)cpus : o->max_threads; /* 0: more CPUs than a cpu_set_t has */
	s->lookout = o->max_threads > 1 ? lookout_new(o->timeout_ns, on_late_call) : NULL;
	return s;
}

/* Referenced by the threads that hang, until the process exits. */
static struct server *abandoned;

int serve_run(struct fuse_session *session, const struct serve_opts *o, const sigset_t *signals,
	      bool *ret_hangs, struct err *e)
{
	int rc = init_reply_set_io(session, read_request, write_reply);
	bool by_signal = false;
	struct server *s;

	*ret_hangs = false;
	if (rc != 0)
		return err_set(e, -ENOMEM, "libfuse: %s", strerror(-rc));
	s = new_server(session, o);
	if (!s)
		return err_nomem(e);
	pthread_mutex_lock(&s->lock);
	wake_reader(s);
	add_companions(s);
	rc = s->threads ? 0 : err_set(e, -EAGAIN, "cannot start a thread");
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		by_signal = wait_for_end(s, signals);
	if (rc == 0 && !by_signal && !s->has_read)
		rc = err_set(e, -EIO, "the mount ended before the kernel sent a request");
	*ret_hangs = !end_threads(s);
	if (*ret_hangs) {
		abandoned = s;
		return rc;
	}
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->called);
	companions_fini(&s->companions);
	free(s);
	return rc;
}
