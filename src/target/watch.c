/* SPDX-License-Identifier: MIT */
#include "target/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What epoll gives back: the kind above the descriptor. */
static uint64_t tag_of(int fd, enum watch_kind kind)
{
	return (uint64_t)kind << 32 | (uint32_t)fd;
}

int watch_add(struct watch *w, int fd, enum watch_kind kind, struct err *e)
{
	struct epoll_event event = { .events = kind == WATCH_BPF_RING ? EPOLLIN | EPOLLET : EPOLLIN,
				     .data.u64 = tag_of(fd, kind) };

	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_errno(e, "epoll");
	return 0;
}

int watch_open(struct watch *w, struct err *e)
{
	sigset_t ours, held;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	held = ours;
	sigaddset(&held, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &held, &w->old_mask) < 0)
		return err_errno(e, "sigprocmask");
	w->is_open = true;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->signal_fd < 0)
		return err_errno(e, "epoll");
	return watch_add(w, w->signal_fd, WATCH_SIGNAL, e);
}

void watch_close(struct watch *w)
{
	if (!w->is_open)
		return;
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	if (w->signal_fd >= 0)
		close(w->signal_fd);
	for (size_t i = 0; i < w->pid_count; i++)
		if (w->pid_fds[i] >= 0)
			close(w->pid_fds[i]);
	free(w->pid_fds);
	w->pid_fds = NULL;
	w->pid_count = 0;
	sigprocmask(SIG_SETMASK, &w->old_mask, NULL);
	w->is_open = false;
}

const sigset_t *watch_old_mask(const struct watch *w)
{
	return &w->old_mask;
}

int watch_pid(struct watch *w, pid_t pid, struct err *e)
{
	int *fds = reallocarray(w->pid_fds, w->pid_count + 1, sizeof *fds);
	int fd;

	if (!fds)
		return err_nomem(e);
	w->pid_fds = fds;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return err_errno(e, "process %d", (int)pid);
	w->pid_fds[w->pid_count++] = fd;
	return watch_add(w, fd, WATCH_PID, e);
}

/* Closing takes it out of the epoll set. */
static void forget_pid(struct watch *w, int fd)
{
	for (size_t i = 0; i < w->pid_count; i++)
		if (w->pid_fds[i] == fd)
			w->pid_fds[i] = -1;
	close(fd);
}

static void take_signals(struct watch *w, struct watch_news *news)
{
	struct signalfd_siginfo info;

	while (read(w->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		news->signal = (int)info.ssi_signo;
		news->signals++;
		news->is_from_kernel = info.ssi_code == SI_KERNEL;
	}
}

void watch_wait(struct watch *w, int64_t timeout_ns, struct watch_news *ret)
{
	struct epoll_event events[32];
	int ms = timeout_ns <= 0 ? 0 : (int)((timeout_ns + 999999) / 1000000);
	int n = epoll_wait(w->epoll_fd, events, 32, ms);

	*ret = (struct watch_news){ 0 };
	for (int i = 0; i < n; i++) {
		int fd = (int)(uint32_t)events[i].data.u64;

		switch ((enum watch_kind)(events[i].data.u64 >> 32)) {
		case WATCH_SIGNAL:
			take_signals(w, ret);
			break;
		case WATCH_PID:
			ret->ended++;
			forget_pid(w, fd);
			break;
		case WATCH_RING:
		case WATCH_BPF_RING:
		case WATCH_COMMAND:
			break;
		}
	}
}
