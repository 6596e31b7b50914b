/* SPDX-License-Identifier: MIT */
#include "ctlfs/ctlfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rows.h"
#include "ctlfs/serve.h"

#define POLL_WAITING_MS 50 /* poll timeout while a reader waits for samples */
#define POLL_ARMED_MS 200  /* poll timeout while timers fire; a ring that fills up wakes us */
#define POLL_IDLE_MS 1000
#define FIXED_FDS 3 /* requests, signals, snapshots */

struct loop {
	struct server server;
	struct fuse_session *fuse;
	bool is_mounted;
	int signal_fd;
	sigset_t old_mask;
	struct rows fds; /* struct pollfd */
};

PRINTF(2, 0) static void log_fuse(enum fuse_log_level level, const char *fmt, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof text, fmt, args);
	text[strcspn(text, "\n")] = '\0';
	log_msg(level <= FUSE_LOG_WARNING ? LOG_WARN : LOG_INFO, "fuse", "%s", text);
}

/* Creates the FUSE session with its mount options. */
static int make_fuse(struct loop *l, struct err *e)
{
	const struct ctlfs_opts *o = l->server.opts;
	CLEANUP(buf_fini) struct buf options = { 0 };
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

	buf_printf(&options, "fsname=auger,subtype=control,default_permissions%s%s%s",
		   o->has_group ? ",allow_other" : "", o->options ? "," : "",
		   o->options ? o->options : "");
	if (buf_error(&options) < 0 || fuse_opt_add_arg(&args, "auger") < 0 ||
	    fuse_opt_add_arg(&args, "-o") < 0 || fuse_opt_add_arg(&args, options.data) < 0) {
		fuse_opt_free_args(&args);
		return err_nomem(e);
	}
	l->fuse = fuse_session_new(&args, &serve_ops, sizeof serve_ops, &l->server);
	fuse_opt_free_args(&args);
	return l->fuse ? 0 : err_set(e, -EINVAL, "mount options '%s'", options.data);
}

static int mount_files(struct loop *l, struct err *e)
{
	const char *mount = l->server.opts->mount;
	int fd;

	if (fuse_session_mount(l->fuse, mount) < 0)
		return err_set(e, -EIO, "%s: cannot be mounted on", mount);
	l->is_mounted = true;
	fd = fuse_session_fd(l->fuse);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_errno(e, "%s", mount);
	return 0;
}

static int open_fds(struct loop *l, struct err *e)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGPIPE);
	sigprocmask(SIG_BLOCK, &mask, &l->old_mask);
	sigdelset(&mask, SIGPIPE);
	l->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
	l->server.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->signal_fd < 0 || l->server.done_fd < 0)
		return err_errno(e, "descriptors");
	return 0;
}

static int make_first_session(struct loop *l, struct err *e)
{
	struct server *v = &l->server;
	struct ctlfs_state *w = &v->state;
	int rc = cpulist_online(NULL, &w->known, e);

	if (rc == 0)
		rc = session_new(0, "", v->opts->event, &w->known, &w->journal, &w->sessions, e);
	v->next_session = 1;
	return rc;
}

static int start(struct loop *l, struct err *e)
{
	int rc = open_fds(l, e);

	if (rc == 0)
		rc = make_first_session(l, e);
	if (rc == 0)
		rc = make_fuse(l, e);
	if (rc == 0)
		rc = mount_files(l, e);
	return rc;
}

static int add_fd(struct loop *l, int fd)
{
	struct pollfd *p = rows_add(&l->fds, sizeof *p);

	if (!p)
		return -ENOMEM;
	*p = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static int collect_fds(struct loop *l, int *ret_timeout_ms)
{
	int rc;

	l->fds.count = 0;
	*ret_timeout_ms = POLL_IDLE_MS;
	rc = add_fd(l, fuse_session_fd(l->fuse));
	if (rc == 0)
		rc = add_fd(l, l->signal_fd);
	if (rc == 0)
		rc = add_fd(l, l->server.done_fd);
	for (struct session *s = l->server.state.sessions; rc == 0 && s; s = s->next) {
		if (!tracer_is_armed(s->tracer))
			continue;
		*ret_timeout_ms = POLL_ARMED_MS;
		for (size_t i = 0; rc == 0 && i < tracer_fd_count(s->tracer); i++)
			rc = add_fd(l, tracer_fd(s->tracer, i));
	}
	if (l->server.handles.waiters && *ret_timeout_ms == POLL_ARMED_MS)
		*ret_timeout_ms = POLL_WAITING_MS;
	return rc;
}

/* Serves all pending requests. false: unmounted. */
static bool take_requests(struct loop *l, struct fuse_buf *buffer)
{
	for (;;) {
		int rc = fuse_session_receive_buf(l->fuse, buffer);

		if (rc == -EINTR)
			continue;
		if (rc == -EAGAIN)
			return !fuse_session_exited(l->fuse);
		if (rc <= 0)
			return false;
		fuse_session_process_buf(l->fuse, buffer);
	}
}

static bool is_pollable(const struct handles *h)
{
	for (const struct handle *o = h->list; o; o = o->next)
		if (o->poll)
			return true;
	return h->waiters != NULL;
}

static int serve(struct loop *l, struct fuse_buf *buffer, struct err *e)
{
	struct signalfd_siginfo signal; /* consumed: else it kills us when it is unblocked */
	uint64_t done;
	int timeout_ms;

	for (;;) {
		const struct pollfd *fds;

		if (collect_fds(l, &timeout_ms) < 0)
			return err_nomem(e);
		if (timeout_ms == POLL_ARMED_MS && is_pollable(&l->server.handles))
			timeout_ms = POLL_WAITING_MS;
		if (poll(l->fds.data, l->fds.count, timeout_ms) < 0 && errno != EINTR)
			return err_errno(e, "poll");
		fds = l->fds.data;
		if (fds[1].revents && read(l->signal_fd, &signal, sizeof signal) > 0)
			return 0;
		if (fds[2].revents && read(l->server.done_fd, &done, sizeof done) < 0)
			return err_errno(e, "eventfd");
		if (fds[0].revents && !take_requests(l, buffer))
			return 0;
		for (struct session *s = l->server.state.sessions; s; s = s->next)
			session_poll(s);
		handles_serve(&l->server.handles);
	}
}

static void stop(struct loop *l)
{
	struct ctlfs_state *w = &l->server.state;

	handles_fini(&l->server.handles);
	if (l->is_mounted)
		fuse_session_unmount(l->fuse);
	if (l->fuse)
		fuse_session_destroy(l->fuse);
	while (w->sessions) {
		struct session *s = w->sessions;

		w->sessions = s->next;
		session_free(s);
	}
	journal_fini(&w->journal);
	mpstat_fini(&w->mpstat);
	cpulist_fini(&w->known);
	rows_fini(&l->fds);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	if (l->server.done_fd >= 0)
		close(l->server.done_fd);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
}

int ctlfs_run(const struct ctlfs_opts *o, struct err *e)
{
	struct loop l = { .signal_fd = -1 };
	struct fuse_buf buffer = { 0 };
	int rc;

	l.server.opts = o;
	l.server.done_fd = -1;
	l.server.handles.state = &l.server.state;
	l.server.state.journal.console = o->console;
	clock_gettime(CLOCK_REALTIME, &l.server.start);
	fuse_set_log_func(log_fuse);
	sigprocmask(SIG_BLOCK, NULL, &l.old_mask);
	rc = start(&l, e);
	if (rc == 0)
		rc = o->ready(o->context, e);
	if (rc == 0)
		rc = serve(&l, &buffer, e);
	stop(&l);
	free(buffer.mem);
	return rc;
}
