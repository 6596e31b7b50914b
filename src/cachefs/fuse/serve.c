/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/serve.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "cachefs/fuse/init_reply.h"

#define THREADS_MAX 4            /* by default */
#define STACK_BYTES (256 * 1024) /* a path and buffers */

struct server;

struct reader {
	struct server *server;
	pthread_t thread;
	_Atomic bool ended;
};

struct server {
	struct fuse_session *session;
	pthread_t main;
	_Atomic bool has_read; /* some thread has read a request */
	unsigned count;
	struct reader readers[]; /* [count] */
};

/* Of the FUSE_INIT that this thread serves. */
static _Thread_local struct init_reply init;

static ssize_t read_request(int fd, void *into, size_t len, void *userdata)
{
	struct fuse_in_header header;
	ssize_t n = read(fd, into, len);

	(void)userdata;
	if (n < 0 && errno == ECONNABORTED)
		errno = ENODEV; /* of an abort by fusectl libfuse would print a message */
	if (n < (ssize_t)sizeof header)
		return n;
	memcpy(&header, into, sizeof header);
	if (header.opcode == FUSE_INIT)
		init_reply_note_request(&init, into, (size_t)n);
	return n;
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (init_reply_is_pending(&init))
		init_reply_patch(&init, iov, count);
	return writev(fd, iov, count);
}

bool serve_enable_passthrough(void)
{
	return init_reply_enable_passthrough(&init);
}

/* Without memory for a request: other threads may have a buffer, or free memory. */
static void back_off(void)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&pause, NULL);
}

static void read_requests(struct server *s, struct fuse_buf *room)
{
	while (!fuse_session_exited(s->session)) {
		int rc = fuse_session_receive_buf(s->session, room);

		if (rc > 0) {
			if (!s->has_read)
				s->has_read = true;
			fuse_session_process_buf(s->session, room);
		} else if (rc == -ENOMEM && s->has_read) {
			back_off();
		} else if (rc != -EINTR && rc != -EAGAIN) {
			fuse_session_exit(s->session);
		}
	}
}

static void *work(void *arg)
{
	struct reader *r = arg;
	struct fuse_buf room = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* ends a read */
	read_requests(r->server, &room);
	free(room.mem);
	r->ended = true;
	pthread_kill(r->server->main, SIGUSR1);
	return NULL;
}

static void start_threads(struct server *s, unsigned count)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0)
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned i = 0; i < count; i++) {
		struct reader *r = &s->readers[s->count];

		r->server = s;
		if (pthread_create(&r->thread, &attr, work, r) == 0)
			s->count++;
	}
	pthread_attr_destroy(&attr);
}

/* A signal just before a read does not interrupt it, so it is repeated. */
static void end_threads(struct server *s)
{
	static const struct timespec pause = { .tv_nsec = 1000 * 1000 };

	fuse_session_exit(s->session);
	for (unsigned i = 0; i < s->count; i++) {
		while (!s->readers[i].ended) {
			pthread_kill(s->readers[i].thread, SIGUSR1);
			nanosleep(&pause, NULL);
		}
		pthread_join(s->readers[i].thread, NULL);
	}
}

/* True: a signal ended it. */
static bool wait_for_end(struct server *s, const struct serve_opts *o, const sigset_t *signals)
{
	bool by_signal = false;
	int got;

	while (!by_signal && !fuse_session_exited(s->session) && sigwait(signals, &got) == 0)
		by_signal = got != SIGUSR1 && o->ends(o->context, got);
	o->end(o->context);
	return by_signal;
}

static unsigned default_threads(void)
{
	cpu_set_t cpus;
	unsigned count = THREADS_MAX; /* more CPUs than a cpu_set_t has */

	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		count = (unsigned)CPU_COUNT(&cpus);
	return count < THREADS_MAX ? count : THREADS_MAX;
}

int serve_run(struct fuse_session *session, const struct serve_opts *o, const sigset_t *signals,
	      struct err *e)
{
	unsigned threads = o->threads ? o->threads : default_threads();
	struct server *s = calloc(1, sizeof *s + threads * sizeof s->readers[0]);
	bool by_signal = false;
	int rc = init_reply_set_io(session, read_request, write_reply);

	if (!s)
		return err_nomem(e);
	s->session = session;
	s->main = pthread_self();
	if (rc != 0)
		rc = err_set(e, -ENOMEM, "libfuse: %s", strerror(-rc));
	else
		start_threads(s, threads);
	if (rc == 0 && !s->count)
		rc = err_set(e, -EAGAIN, "cannot start a thread");
	if (rc == 0)
		by_signal = wait_for_end(s, o, signals);
	if (rc == 0 && !by_signal && !s->has_read)
		rc = err_set(e, -EIO, "the mount ended before the kernel sent a request");
	end_threads(s);
	free(s);
	return rc;
}
