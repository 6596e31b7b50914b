/* SPDX-License-Identifier: MIT */
#include "target/runloop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"

#define POLL_NS INT64_C(100000000) /* between polls of commands without a descriptor */
#define EVENTS 32                  /* taken in one step */

enum action {
	ACTION_END,      /* by the policy of runloop.h */
	ACTION_LEAVE,    /* is meant for us alone: the command is left running */
	ACTION_SNAPSHOT, /* and goes on */
};

static const struct policy {
	int number;
	enum action action;
	bool reaches_group; /* the terminal sends it to the command as well */
} policies[] = {
	{ SIGINT, ACTION_END, true },        { SIGQUIT, ACTION_END, true },
	{ SIGTERM, ACTION_END, false },      { SIGHUP, ACTION_END, false },
	{ SIGXCPU, ACTION_LEAVE, false },    { SIGALRM, ACTION_LEAVE, false },
	{ SIGUSR1, ACTION_SNAPSHOT, false }, { SIGUSR2, ACTION_SNAPSHOT, false },
};

static const struct policy *policy_of(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(policies) - 1; i++)
		if (policies[i].number == number)
			return &policies[i];
	return &policies[ARRAY_LEN(policies) - 1];
}

/* Of a descriptor; the index of the command or process is below it in epoll's data. */
enum kind { KIND_FD, KIND_SIGNAL, KIND_COMMAND, KIND_PID };

static int add(struct runloop *r, int fd, uint32_t events, enum kind kind, size_t index,
	       struct err *e)
{
	struct epoll_event event = { .events = events,
				     .data.u64 = (uint64_t)kind << 32 | (uint32_t)index };

	if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_errno(e, "epoll");
	return 0;
}

static int take_over_signals(struct runloop *r, sigset_t *ret_ours, struct err *e)
{
	sigset_t blocked;

	sigemptyset(ret_ours);
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		sigaddset(ret_ours, policies[i].number);
	blocked = *ret_ours;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, &r->inherited_mask) < 0)
		return err_errno(e, "sigprocmask");
	return 0;
}

int runloop_open(struct runloop *r, struct err *e)
{
	sigset_t ours;

	*r = (struct runloop){ .epoll_fd = -1, .signal_fd = -1 };
	if (take_over_signals(r, &ours, e) < 0)
		return e->code;
	r->is_open = true;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->epoll_fd < 0 || r->signal_fd < 0) {
		err_errno(e, "epoll");
		runloop_close(r);
		return e->code;
	}
	return add(r, r->signal_fd, EPOLLIN, KIND_SIGNAL, 0, e);
}

/* The last first: a child that waits to be started holds the pipes of those before it. */
void runloop_close(struct runloop *r)
{
	if (!r->is_open)
		return;
	for (size_t i = r->command_count; i-- > 0;)
		launch_close(&r->commands[i]);
	for (size_t i = 0; i < r->pid_count; i++)
		if (r->pid_fds[i] >= 0)
			close(r->pid_fds[i]);
	free(r->commands);
	free(r->pid_fds);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	sigprocmask(SIG_SETMASK, &r->inherited_mask, NULL);
	*r = (struct runloop){ 0 };
}

int runloop_prepare(struct runloop *r, const struct launch_opts *o, struct err *e)
{
	struct launch *all = reallocarray(r->commands, r->command_count + 1, sizeof *all), *l;
	int rc;

	if (!all)
		return err_nomem(e);
	r->commands = all;
	l = &all[r->command_count];
	rc = launch_prepare(l, o, &r->inherited_mask, e);
	if (rc < 0)
		return rc;
	r->command_count++;
	if (l->pid_fd < 0 || r->waits_itself)
		return 0;
	return add(r, l->pid_fd, EPOLLIN, KIND_COMMAND, r->command_count - 1, e);
}

pid_t runloop_pid(const struct runloop *r)
{
	return r->command_count ? r->commands[0].pid : 0;
}

int runloop_start(struct runloop *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->command_count; i++)
		rc = launch_start(&r->commands[i], e);
	return rc;
}

int runloop_exec_error(const struct runloop *r)
{
	for (size_t i = 0; i < r->command_count; i++)
		if (r->commands[i].exec_error)
			return r->commands[i].exec_error;
	return 0;
}

int runloop_add_fd(struct runloop *r, int fd, enum runloop_fd kind, struct err *e)
{
	return add(r, fd, kind == RUNLOOP_FILLING ? EPOLLIN | EPOLLET : EPOLLIN, KIND_FD, 0, e);
}

int runloop_add_pid(struct runloop *r, pid_t pid, struct err *e)
{
	int *all = reallocarray(r->pid_fds, r->pid_count + 1, sizeof *all);
	int fd;

	if (!all)
		return err_nomem(e);
	r->pid_fds = all;
	fd = compat_pidfd_open(pid);
	if (fd < 0)
		return err_errno(e, "process %d", (int)pid);
	all[r->pid_count++] = fd;
	return add(r, fd, EPOLLIN, KIND_PID, r->pid_count - 1, e);
}

static bool runs(const struct launch *l)
{
	return l->pid && !l->go_fd && !l->has_ended;
}

bool runloop_is_running(const struct runloop *r)
{
	for (size_t i = 0; i < r->command_count; i++)
		if (runs(&r->commands[i]))
			return true;
	return false;
}

void runloop_signal(const struct runloop *r, int number)
{
	for (size_t i = 0; i < r->command_count; i++)
		if (runs(&r->commands[i]))
			kill(r->commands[i].pid, number);
}

void runloop_kill(struct runloop *r)
{
	runloop_signal(r, SIGKILL);
	for (size_t i = 0; i < r->command_count; i++)
		if (r->commands[i].pid && !r->commands[i].go_fd)
			launch_wait(&r->commands[i]);
}

/* Does it end the loop? */
static bool take_signal(struct runloop *r, const struct signalfd_siginfo *info)
{
	const struct policy *policy = policy_of((int)info->ssi_signo);
	bool reached_command = policy->reaches_group && info->ssi_code == SI_KERNEL;

	if (policy->action == ACTION_SNAPSHOT) {
		r->wants_snapshot = true;
		return false;
	}
	r->signal = policy->number;
	r->signal_count++;
	if (!runloop_is_running(r))
		return true;
	if (policy->action == ACTION_END &&
	    (r->signal_count == 1 || r->second_signal == RUNLOOP_PASS_ON)) {
		if (!reached_command)
			runloop_signal(r, r->signal);
		return false;
	}
	if (policy->action == ACTION_END && r->second_signal == RUNLOOP_KILL)
		runloop_signal(r, SIGKILL);
	else
		r->is_cut = true;
	return r->is_cut;
}

static bool take_signals(struct runloop *r)
{
	struct signalfd_siginfo info;
	bool is_over = false;

	while (read(r->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		is_over |= take_signal(r, &info);
	return is_over;
}

/* Closing takes a descriptor out of the epoll set. */
static void end_command(struct launch *l)
{
	if (l->pid_fd > 0)
		close(l->pid_fd);
	l->pid_fd = 0;
	l->has_ended = true;
}

static void end_pid(struct runloop *r, int *fd)
{
	close(*fd);
	*fd = -1;
	r->ended_pids++;
}

/* Of commands without a descriptor. True: there are such. */
static bool poll_ends(struct runloop *r, bool is_looking)
{
	bool has_any = false;

	for (size_t i = 0; i < r->command_count; i++) {
		struct launch *l = &r->commands[i];

		if (l->pid_fd < 0 && runs(l) && !r->waits_itself)
			has_any |= !is_looking || !launch_has_ended(l);
	}
	return has_any;
}

static int timeout_ms(struct runloop *r, int64_t timeout_ns)
{
	int64_t left_ns = r->end_ns ? r->end_ns - clock_mono_ns() : RUNLOOP_FOREVER;

	if (left_ns < timeout_ns)
		timeout_ns = left_ns;
	if (timeout_ns > POLL_NS && poll_ends(r, false))
		timeout_ns = POLL_NS;
	if (timeout_ns <= 0)
		return 0;
	if (timeout_ns / 1000000 >= INT_MAX)
		return -1;
	return (int)((timeout_ns + 999999) / 1000000);
}

static bool have_all_ended(const struct runloop *r)
{
	if (r->command_count)
		return !runloop_is_running(r);
	return r->pid_count && r->ended_pids == r->pid_count;
}

bool runloop_step(struct runloop *r, int64_t timeout_ns)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(r->epoll_fd, events, EVENTS, timeout_ms(r, timeout_ns));
	bool has_signals = false;

	for (int i = 0; i < n; i++) {
		size_t index = (uint32_t)events[i].data.u64;

		switch ((enum kind)(events[i].data.u64 >> 32)) {
		case KIND_SIGNAL:
			has_signals = true;
			break;
		case KIND_COMMAND:
			end_command(&r->commands[index]);
			break;
		case KIND_PID:
			end_pid(r, &r->pid_fds[index]);
			break;
		case KIND_FD:
			break;
		}
	}
	poll_ends(r, true);
	if (has_signals && take_signals(r))
		return false;
	return !have_all_ended(r) && !(r->end_ns && clock_mono_ns() >= r->end_ns);
}

bool runloop_is_asked_to_end(void)
{
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		if (policies[i].action != ACTION_SNAPSHOT &&
		    sigismember(&pending, policies[i].number) == 1)
			return true;
	return false;
}

bool runloop_reap(struct runloop *r, size_t command)
{
	return command < r->command_count && launch_reap(&r->commands[command]);
}

int runloop_status(const struct runloop *r)
{
	if (r->is_cut && runloop_is_running(r))
		return 128 + r->signal;
	return r->command_count ? r->commands[0].status : 0;
}

int runloop_run(const struct launch_opts *o, enum runloop_second second_signal, int *ret_status,
		int *ret_exec_error, struct err *e)
{
	struct runloop r;
	int rc = runloop_open(&r, e);

	r.second_signal = second_signal;
	if (rc == 0)
		rc = runloop_prepare(&r, o, e);
	if (rc == 0)
		rc = runloop_start(&r, e);
	while (rc == 0 && runloop_step(&r, RUNLOOP_FOREVER))
		;
	runloop_reap(&r, 0);
	*ret_status = runloop_status(&r);
	if (ret_exec_error)
		*ret_exec_error = runloop_exec_error(&r);
	runloop_close(&r);
	return rc;
}
