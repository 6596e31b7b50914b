/* SPDX-License-Identifier: MIT */
/*
 * unsafe: a preloaded library that simulates failing storage, and a PID that is reused.
 *
 * UNSAFE_CALL=fsync|syncfs, UNSAFE_AT=N: the Nth such call of the program (from 1) fails with EIO.
 * UNSAFE_CALL=hang: the Nth fsync does not return.
 * UNSAFE_CALL=spoil: the Nth fsync of a file changes its first bytes. UNSAFE_USER=ID, UNSAFE_KIB=N,
 * UNSAFE_FILES=N: quotactl_fd() reports limits of this user, who uses 1 KiB and 1 file, because
 * many kernels have no quotas.
 * UNSAFE_WAIT=PATH: the first syncfs, which comes between two passes, makes this file and waits
 * until it is removed. UNSAFE_REUSE=PID: when auger is about to freeze the job for the pause, this
 * process is killed, and another program, sleep(1), gets its PID, in the directory UNSAFE_FOLDER.
 * The parent of the first must wait for it meanwhile.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"

#define EXPORT __attribute__((visibility("default")))

static int is_doomed(const char *call)
{
	static int calls;
	const char *which = getenv("UNSAFE_CALL"), *at = getenv("UNSAFE_AT");

	if (!which || !at || strcmp(which, call) != 0 || ++calls != atoi(at))
		return 0;
	errno = EIO;
	return 1;
}

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : -1;
}

static long tell_quota(unsigned command, int id, struct dqblk *ret)
{
	if (command != ((unsigned)Q_GETQUOTA << SUBCMDSHIFT | USRQUOTA) ||
	    id != number("UNSAFE_USER")) {
		errno = ESRCH;
		return -1;
	}
	*ret = (struct dqblk){ .dqb_bhardlimit = (unsigned long)number("UNSAFE_KIB"),
			       .dqb_ihardlimit = (unsigned long)number("UNSAFE_FILES"),
			       .dqb_curspace = 1024,
			       .dqb_curinodes = 1,
			       .dqb_valid = QIF_ALL };
	return 0;
}

static long call(long nr, const long arg[6])
{
	void *found = dlsym(RTLD_NEXT, "syscall");
	long (*real)(long, ...);

	memcpy(&real, &found, sizeof real);
	return real(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

EXPORT long syscall(long nr, ...)
{
	long arg[6];
	va_list args;

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	return nr == SYS_quotactl_fd && number("UNSAFE_USER") >= 0
		       ? tell_quota((unsigned)arg[1], (int)arg[2], (struct dqblk *)arg[3])
		       : call(nr, arg);
}

EXPORT int fsync(int fd)
{
	struct stat st;

	while (is_doomed("hang"))
		sleep(600);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_doomed("spoil"))
		(void)!pwrite(fd, "spoiled", 7, 0);
	return is_doomed("fsync") ? -1 : (int)call(SYS_fsync, (long[6]){ fd });
}

static void wait_once(void)
{
	static int is_done;
	const char *path = getenv("UNSAFE_WAIT");
	int fd = path && !is_done ? open(path, O_WRONLY | O_CREAT, 0600) : -1;

	is_done = 1;
	if (fd >= 0)
		close(fd);
	while (fd >= 0 && access(path, F_OK) == 0)
		usleep(1000);
}

EXPORT int syncfs(int fd)
{
	wait_once();
	return is_doomed("syncfs") ? -1 : (int)call(SYS_syncfs, (long[6]){ fd });
}

/* clone3(2) with this PID, which is free from when its parent has waited for it. */
static long clone_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uint64_t)(uintptr_t)&pid,
				   .set_tid_size = 1 };
	long made;

	do
		made = call(SYS_clone3, (long[6]){ (long)&args, sizeof args });
	while (made < 0 && errno == EEXIST && usleep(1000) == 0);
	return made;
}

static void reuse(pid_t pid)
{
	char *const words[] = { "sleep", "600", NULL }, *const none[] = { NULL };
	const char *folder = getenv("UNSAFE_FOLDER");

	kill(pid, SIGKILL);
	if (clone_as(pid) != 0)
		return;
	/* The pipes that auger's parent reads to their end. */
	if (folder && chdir(folder) == 0 && close_range(0, ~0U, 0) == 0)
		execve("/bin/sleep", words, none);
	_exit(1);
}

/* Signals are blocked only for the pause, and before it freezes the job auger raises its priority.
 */
static int is_pause(pid_t pid, int policy)
{
	sigset_t now;

	return pid == 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO &&
	       sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGTERM) == 1;
}

EXPORT int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	static int is_done;
	long job = number("UNSAFE_REUSE");

	if (job > 0 && !is_done && is_pause(pid, policy)) {
		is_done = 1;
		reuse((pid_t)job);
	}
	return (int)call(SYS_sched_setscheduler, (long[6]){ pid, policy, (long)param });
}
