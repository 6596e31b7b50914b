/* SPDX-License-Identifier: MIT */
#include "cachefs/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/lookout.h"

#define WINDOW 32    /* requests, after which a reader looks whether it is one of too many */
#define IDLE_LESS 15 /* percent of its time: another one is needed */
#define IDLE_MORE 70 /* percent: it is not needed, if there is another */
#define DIRECT_IO_ALLOW_MMAP (1u << 4) /* in flags2, since Linux 6.6. Source: linux/fuse.h */
#define SPIN_NS (NS_PER_S / 500)       /* to look for a request, where they come twice as often */
#define SHARED_NS 50000                /* others ran on our CPU meanwhile */
#define SPIN_MISSES 3                  /* in a row: then it is looked for less and less often */
#define SPIN_REST_MAX 8                /* down to each 256th time */
#define HANGS_NS NS_PER_S              /* for a thread to end */
#define STACK_BYTES (256 * 1024)

struct worker {
	struct watched watched; /* the first member */
	struct worker *next;    /* under the server's lock */
	struct server *server;
	pthread_t thread;
	int fd; /* of its own for the session; -1: the session's */
	_Atomic bool ended;
	_Atomic bool reads; /* counts as a reader; changed under the server's lock */

	/* Below: the worker's only. */
	fuse_req_t req;
	uint64_t number;                  /* of the request, to the kernel */
	uint32_t init_flags, init_flags2; /* what the kernel can, until it is answered */
	int64_t usual_wait_ns;            /* for a request: of late */
	unsigned spin_misses, spin_rest;  /* in a row; waits until the next look */
	int64_t idle_ns, busy_ns;         /* of the window */
	unsigned requests;
};

struct server {
	struct fuse_session *session;
	pthread_t main;
	unsigned max_threads, max_readers;
	struct lookout *lookout; /* NULL: none, others ask storage */

	pthread_mutex_t lock;
	pthread_cond_t called;
	struct worker *workers; /* this and below: under lock */
	unsigned threads, parked, readers;
	unsigned calls; /* of readers that were called for, those that have not come yet */
	_Atomic bool closing;
};

static _Thread_local struct worker *self;
static _Thread_local int answers_at = -1; /* another thread's request, from where it was read */

static void note_request(const void *request, ssize_t len)
{
	struct {
		struct fuse_in_header header;
		struct fuse_init_in init;
	} first;

	if (len < (ssize_t)sizeof first.header)
		return;
	memcpy(&first.header, request, sizeof first.header);
	self->number = first.header.unique;
	if (first.header.opcode != FUSE_INIT || len < (ssize_t)sizeof first)
		return;
	memcpy(&first, request, sizeof first);
	self->init_flags = first.init.flags;
	self->init_flags2 = first.init.flags2;
}

/* A CPU that sleeps takes longer to wake than the next request takes to come, mostly: when they
 * come in quick succession, we look for it for a moment. Not if it is in vain, as when who asks
 * runs on our CPU. */
static bool is_due(struct worker *w)
{
	if (2 * w->usual_wait_ns > SPIN_NS)
		return false;
	if (!w->spin_rest)
		return true;
	w->spin_rest--;
	return false;
}

static void note_spin(struct worker *w, bool hit)
{
	w->spin_misses = hit ? 0 : w->spin_misses + 1;
	if (w->spin_misses >= SPIN_MISSES)
		w->spin_rest =
			1u << (w->spin_misses < SPIN_REST_MAX ? w->spin_misses : SPIN_REST_MAX);
}

/* Who else wants our CPU gets it, and keeps it. */
static ssize_t spin(struct worker *w, int fd, void *into, size_t len, int64_t begin_ns)
{
	int64_t now_ns = begin_ns, before_ns;
	ssize_t n;

	do {
		before_ns = now_ns;
		n = read(fd, into, len);
		if (n >= 0 || errno != EAGAIN)
			break;
		sched_yield();
		now_ns = clock_mono_ns();
	} while (now_ns - begin_ns < SPIN_NS && now_ns - before_ns < SHARED_NS);
	note_spin(w, n >= 0);
	return n;
}

static ssize_t read_request(int fd, void *into, size_t len, void *userdata)
{
	struct pollfd waiting = { .fd = self->fd >= 0 ? self->fd : fd, .events = POLLIN };
	int64_t begin_ns = clock_mono_ns(), waited_ns;
	ssize_t n;

	(void)userdata;
	n = is_due(self) ? spin(self, waiting.fd, into, len, begin_ns)
			 : read(waiting.fd, into, len);
	while (n < 0 && errno == EAGAIN) {
		if (poll(&waiting, 1, -1) < 0)
			return -1;
		n = read(waiting.fd, into, len);
	}
	note_request(into, n);
	waited_ns = clock_mono_ns() - begin_ns;
	if (waited_ns > 2 * SPIN_NS)
		waited_ns = 2 * SPIN_NS;
	self->usual_wait_ns += (waited_ns - self->usual_wait_ns) / 8;
	return n;
}

/* The first answer: adds what libfuse 3.14 does not know of, or forgets, if the kernel has it. */
static void extend_init(struct iovec *iov, int count)
{
	struct fuse_init_out *out = count == 2 ? iov[1].iov_base : NULL;

	if (!out || iov[1].iov_len != sizeof *out)
		return;
	out->flags |= self->init_flags & FUSE_PARALLEL_DIROPS;
	if (out->flags & FUSE_INIT_EXT)
		out->flags2 |= self->init_flags2 & DIRECT_IO_ALLOW_MMAP;
	self->init_flags = self->init_flags2 = 0;
}

/* What is read from a descriptor is answered there. Source: linux/fuse.h, FUSE_DEV_IOC_CLONE. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (self && self->init_flags)
		extend_init(iov, count);
	if (answers_at >= 0)
		return writev(answers_at, iov, count);
	return writev(self && self->fd >= 0 ? self->fd : fd, iov, count);
}

static int clone_fd(int session_fd)
{
	uint32_t from = (uint32_t)session_fd;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && ioctl(fd, FUSE_DEV_IOC_CLONE, &from) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *work(void *arg);

/* Under lock. False: there is no thread for it. */
static bool add_thread(struct server *s)
{
	struct worker *w = s->threads < s->max_threads ? calloc(1, sizeof *w) : NULL;
	pthread_attr_t attr;
	int rc;

	if (!w || pthread_attr_init(&attr) != 0) {
		free(w);
		return false;
	}
	w->server = s;
	pthread_mutex_init(&w->watched.lock, NULL);
	w->fd = s->workers ? clone_fd(fuse_session_fd(s->session)) : -1;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = pthread_create(&w->thread, &attr, work, w);
	pthread_attr_destroy(&attr);
	if (rc != 0) {
		if (w->fd >= 0)
			close(w->fd);
		free(w);
		return false;
	}
	w->next = s->workers;
	s->workers = w;
	s->threads++;
	if (s->lookout)
		lookout_add(s->lookout, &w->watched);
	return true;
}

/* Under lock. */
static void call_reader(struct server *s)
{
	if (s->parked <= s->calls && !add_thread(s))
		return;
	s->calls++;
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
			call_reader(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void serve_answers(fuse_req_t req)
{
	if (self)
		self->req = req;
}

void serve_will_wait(void)
{
	if (self && self->reads && self->server->max_threads > 1)
		stop_reading(self, true);
}

/* Of struct lookout. */
static void hand_on(struct watched *w)
{
	stop_reading((struct worker *)w, true);
}

bool serve_begin_storage(void)
{
	if (!self || !self->req || !self->server->lookout)
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

int serve_take_fd(void)
{
	return self && self->fd >= 0 ? fcntl(self->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

void serve_answer_at(int fd)
{
	answers_at = fd;
}

bool serve_gives_up(void)
{
	return self && (self->server->closing || (self->req && fuse_req_interrupted(self->req)));
}

pid_t serve_asker(void)
{
	return self && self->req ? fuse_req_ctx(self->req)->pid : 0;
}

/* After each window of requests: are we too few, or too many? */
static void consider(struct worker *w)
{
	struct server *s = w->server;
	int64_t idle = 100 * w->idle_ns / (w->idle_ns + w->busy_ns + 1);

	w->idle_ns = w->busy_ns = 0;
	w->requests = 0;
	if (idle > IDLE_MORE) {
		stop_reading(w, false);
	} else if (idle < IDLE_LESS) {
		pthread_mutex_lock(&s->lock);
		if (s->readers < s->max_readers)
			call_reader(s);
		pthread_mutex_unlock(&s->lock);
	}
}

static void read_requests(struct worker *w, struct fuse_buf *room)
{
	struct server *s = w->server;
	int64_t begin = clock_mono_ns();

	while (w->reads && !s->closing && !fuse_session_exited(s->session)) {
		int rc = fuse_session_receive_buf(s->session, room);
		int64_t got = clock_mono_ns(), end;

		if (rc == -EINTR || rc == -EAGAIN)
			continue;
		if (rc <= 0) {
			fuse_session_exit(s->session);
			return;
		}
		fuse_session_process_buf(s->session, room);
		w->req = NULL;
		end = clock_mono_ns();
		w->idle_ns += got - begin;
		w->busy_ns += end - got;
		begin = end;
		if (++w->requests == WINDOW)
			consider(w);
	}
}

/* Under lock. False: it is over. */
static bool become_reader(struct server *s)
{
	if (!s->readers) {
		s->readers++; /* all others wait */
		return !s->closing;
	}
	s->parked++;
	while (!s->calls && !s->closing)
		pthread_cond_wait(&s->called, &s->lock);
	s->parked--;
	s->calls -= s->calls > 0;
	return !s->closing;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct server *s = w->server;
	struct fuse_buf room = { 0 };
	sigset_t wake;

	self = w;
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL); /* ends a read */
	pthread_mutex_lock(&s->lock);
	while (!fuse_session_exited(s->session) && become_reader(s)) {
		w->reads = true;
		pthread_mutex_unlock(&s->lock);
		read_requests(w, &room);
		pthread_mutex_lock(&s->lock);
		s->readers -= w->reads;
	}
	pthread_mutex_unlock(&s->lock);
	free(room.mem);
	if (w->fd >= 0)
		close(w->fd);
	w->ended = true;
	pthread_kill(s->main, SIGUSR1);
	return NULL;
}

static void wake_up(int signal)
{
	(void)signal;
}

/* What ends the mount, and SIGUSR1: a thread ended, or is to look up from its read. */
static void block_signals(sigset_t *ret)
{
	struct sigaction action = { .sa_handler = wake_up }, hangup;

	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGUSR1);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(ret, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
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

/* A signal that comes just before a read is in vain: hence again. False: one is in a storage that
 * hangs, and will use all of this whenever that answers. */
static bool end_threads(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->called);
	pthread_mutex_unlock(&s->lock);
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
	return true;
}

static void wait_for_end(struct server *s, const sigset_t *signals)
{
	int got = 0;

	while (!fuse_session_exited(s->session) && (got == 0 || got == SIGUSR1))
		if (sigwait(signals, &got) != 0)
			break;
	fuse_session_exit(s->session);
}

static struct server *new_server(struct fuse_session *session, unsigned max_threads,
				 int64_t timeout_ns)
{
	struct server *s = calloc(1, sizeof *s);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!s)
		return NULL;
	s->session = session;
	s->main = pthread_self();
	s->max_threads = max_threads;
	s->max_readers = cpus > 0 ? (unsigned)cpus : 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->called, NULL);
	s->lookout = max_threads > 1 ? lookout_new(timeout_ns, hand_on) : NULL;
	return s;
}

/* To the threads that hang, until the process ends. */
static struct server *left;

int serve_run(struct fuse_session *session, unsigned max_threads, int64_t timeout_ns,
	      bool *ret_hangs, struct err *e)
{
	static const struct fuse_custom_io io = { .read = read_request, .writev = write_reply };
	int rc = fuse_session_custom_io(session, &io, fuse_session_fd(session));
	struct server *s;
	sigset_t signals;

	*ret_hangs = false;
	if (rc != 0)
		return err_set(e, -ENOMEM, "libfuse: %s", strerror(-rc));
	fcntl(fuse_session_fd(session), F_SETFL, O_NONBLOCK);
	block_signals(&signals);
	s = new_server(session, max_threads, timeout_ns);
	if (!s)
		return err_nomem(e);
	pthread_mutex_lock(&s->lock);
	call_reader(s);
	rc = s->threads ? 0 : err_set(e, -EAGAIN, "cannot start a thread");
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		wait_for_end(s, &signals);
	*ret_hangs = !end_threads(s);
	if (*ret_hangs) {
		left = s;
		return rc;
	}
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->called);
	free(s);
	return rc;
}
