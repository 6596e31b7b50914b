/* SPDX-License-Identifier: MIT */
/*
 * unsafe: a preloaded library that simulates failing storage.
 *
 * UNSAFE_CALL=fsync|syncfs, UNSAFE_AT=N: the Nth such call of the program (from 1) fails with EIO.
 * UNSAFE_CALL=hang: the Nth fsync does not return.
 * UNSAFE_CALL=spoil: the Nth fsync of a file changes its first bytes. UNSAFE_USER=ID, UNSAFE_KIB=N,
 * UNSAFE_FILES=N: quotactl_fd() reports limits of this user, who uses 1 KiB and 1 file, because
 * many kernels have no quotas.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
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

EXPORT int syncfs(int fd)
{
	return is_doomed("syncfs") ? -1 : (int)call(SYS_syncfs, (long[6]){ fd });
}
