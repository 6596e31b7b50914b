/* SPDX-License-Identifier: MIT */
#include "collect/sysc_args.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collect/sysc_names.h"

#define TEXT_BYTES 40 /* of data that is read or written */
#define STATX_BYTES 144

static const struct {
	const char *name, *signature;
} known[] = {
	{ "accept", "dKp" },
	{ "accept4", "dKpN" },
	{ "access", "sA" },
	{ "acct", "s" },
	{ "alarm", "z" },
	{ "bind", "dki" },
	{ "brk", "p" },
	{ "chdir", "s" },
	{ "chmod", "sm" },
	{ "chown", "sii" },
	{ "chroot", "s" },
	{ "clock_getres", "cT" },
	{ "clock_gettime", "cT" },
	{ "clock_nanosleep", "citT" },
	{ "clone", "Cpppp" },
	{ "clone3", "Vz" },
	{ "close", "d" },
	{ "close_range", "iix" },
	{ "connect", "dki" },
	{ "copy_file_range", "dpdpzx" },
	{ "creat", "sm" },
	{ "dup", "d" },
	{ "dup2", "dd" },
	{ "dup3", "ddv" },
	{ "epoll_create", "i" },
	{ "epoll_create1", "v" },
	{ "epoll_ctl", "dedE" },
	{ "epoll_pwait", "dpiipz" },
	{ "epoll_wait", "dpii" },
	{ "eventfd2", "iv" },
	{ "execve", "spp" },
	{ "execveat", "Dsppa" },
	{ "exit", "i" },
	{ "exit_group", "i" },
	{ "faccessat", "DsA" },
	{ "faccessat2", "DsAa" },
	{ "fadvise64", "dlzi" },
	{ "fallocate", "dxll" },
	{ "fchdir", "d" },
	{ "fchmod", "dm" },
	{ "fchmodat", "Dsm" },
	{ "fchmodat2", "Dsma" },
	{ "fchown", "dii" },
	{ "fchownat", "Dsiia" },
	{ "fcntl", "dFl" },
	{ "fdatasync", "d" },
	{ "flock", "dx" },
	{ "fstat", "dy" },
	{ "fstatfs", "dp" },
	{ "fsync", "d" },
	{ "ftruncate", "dl" },
	{ "futex", "pfitpi" },
	{ "getcwd", "Bz" },
	{ "getdents64", "dpz" },
	{ "getegid", "" },
	{ "geteuid", "" },
	{ "getgid", "" },
	{ "getpeername", "dKp" },
	{ "getpgid", "i" },
	{ "getpid", "" },
	{ "getppid", "" },
	{ "getrandom", "BzJ" },
	{ "getrlimit", "RU" },
	{ "getsockname", "dKp" },
	{ "getsockopt", "diipp" },
	{ "gettid", "" },
	{ "getuid", "" },
	{ "getxattr", "sSpz" },
	{ "inotify_add_watch", "dsx" },
	{ "inotify_init1", "v" },
	{ "ioctl", "dIp" },
	{ "kill", "ig" },
	{ "lgetxattr", "sSpz" },
	{ "link", "ss" },
	{ "linkat", "DsDsa" },
	{ "listen", "di" },
	{ "lseek", "dlw" },
	{ "lstat", "sy" },
	{ "madvise", "pzh" },
	{ "memfd_create", "Sx" },
	{ "mkdir", "sm" },
	{ "mkdirat", "Dsm" },
	{ "mknodat", "Dsmx" },
	{ "mmap", "pzPMdx" },
	{ "mount", "SsSxp" },
	{ "mprotect", "pzP" },
	{ "mremap", "pzzxp" },
	{ "msync", "pzx" },
	{ "munmap", "pz" },
	{ "nanosleep", "tT" },
	{ "newfstatat", "Dsya" },
	{ "open", "som" },
	{ "openat", "Dsom" },
	{ "openat2", "DsHz" },
	{ "pause", "" },
	{ "pidfd_open", "iv" },
	{ "pipe", "Q" },
	{ "pipe2", "Qv" },
	{ "poll", "Lii" },
	{ "ppoll", "Litpz" },
	{ "prctl", "rxxxx" },
	{ "pread64", "dBzl" },
	{ "prlimit64", "iRuU" },
	{ "pselect6", "ippptp" },
	{ "pwrite64", "dbzl" },
	{ "read", "dBz" },
	{ "readlink", "sBz" },
	{ "readlinkat", "DsBz" },
	{ "readv", "dpi" },
	{ "recvfrom", "dBzqKp" },
	{ "recvmsg", "dpq" },
	{ "rename", "ss" },
	{ "renameat", "DsDs" },
	{ "renameat2", "DsDsx" },
	{ "rmdir", "s" },
	{ "rseq", "pzxx" },
	{ "rt_sigaction", "gppz" },
	{ "rt_sigprocmask", "Gjpz" },
	{ "rt_sigreturn", "" },
	{ "rt_sigsuspend", "jz" },
	{ "sched_getaffinity", "izp" },
	{ "sched_setaffinity", "izp" },
	{ "sched_yield", "" },
	{ "sendfile", "ddpz" },
	{ "sendmsg", "dpq" },
	{ "sendto", "dbzqki" },
	{ "set_robust_list", "pz" },
	{ "set_tid_address", "p" },
	{ "setgid", "i" },
	{ "setpgid", "ii" },
	{ "setrlimit", "Ru" },
	{ "setsid", "" },
	{ "setsockopt", "diipi" },
	{ "setuid", "i" },
	{ "shutdown", "dY" },
	{ "signalfd4", "djzv" },
	{ "socket", "nNi" },
	{ "socketpair", "nNiQ" },
	{ "splice", "dpdpzx" },
	{ "stat", "sy" },
	{ "statfs", "sp" },
	{ "statx", "DsaxX" },
	{ "symlink", "Ss" },
	{ "symlinkat", "SDs" },
	{ "sync", "" },
	{ "sysinfo", "p" },
	{ "tgkill", "iig" },
	{ "timerfd_create", "cv" },
	{ "timerfd_settime", "dxpp" },
	{ "tkill", "ig" },
	{ "truncate", "sl" },
	{ "umask", "m" },
	{ "umount2", "sx" },
	{ "uname", "p" },
	{ "unlink", "s" },
	{ "unlinkat", "Dsa" },
	{ "utimensat", "Dspa" },
	{ "vfork", "" },
	{ "wait4", "iWOp" },
	{ "waitid", "iipOp" },
	{ "write", "dbz" },
	{ "writev", "dpi" },
};

static const char *by_number[SYSC_NAMES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_numbers(void)
{
	for (size_t nr = 0; nr < SYSC_NAMES; nr++)
		for (size_t i = 0; sysc_names[nr] && i < ARRAY_LEN(known); i++)
			if (strcmp(sysc_names[nr], known[i].name) == 0)
				by_number[nr] = known[i].signature;
}

const char *sysc_signature(uint32_t nr)
{
	pthread_once(&once, find_numbers);
	return nr < SYSC_NAMES && by_number[nr] ? by_number[nr] : "";
}

bool sysc_is_known(uint32_t nr)
{
	pthread_once(&once, find_numbers);
	return nr < SYSC_NAMES && by_number[nr];
}

bool sysc_has_path(uint32_t nr)
{
	return strchr(sysc_signature(nr), ARG_PATH);
}

bool sysc_moves_files(uint32_t nr)
{
	switch (nr) {
#ifdef SYS_dup2
	case SYS_dup2:
	case SYS_pipe:
#endif
	case SYS_dup:
	case SYS_dup3:
	case SYS_fcntl:
	case SYS_fchdir:
	case SYS_close:
	case SYS_close_range:
	case SYS_socket:
	case SYS_socketpair:
	case SYS_pipe2:
	case SYS_accept4:
	case SYS_memfd_create:
	case SYS_epoll_create1:
	case SYS_eventfd2:
	case SYS_inotify_init1:
		return true;
	default:
		return false;
	}
}

static const struct {
	enum sysc_arg arg;
	struct sysc_fetch fetch; /* without arg */
} fetched[] = {
	{ ARG_STRING, { .kind = FETCH_STRING, .limit = SYSC_FETCH_BYTES } },
	{ ARG_IN, { .kind = FETCH_BY_NEXT, .unit = 1, .limit = TEXT_BYTES } },
	{ ARG_OUT, { .kind = FETCH_BY_RET, .limit = TEXT_BYTES } },
	{ ARG_TIME_IN, { .kind = FETCH_FIXED, .limit = 16 } },
	{ ARG_TIME_OUT, { .kind = FETCH_FIXED, .limit = 16 } },
	{ ARG_ADDR_IN, { .kind = FETCH_BY_NEXT, .unit = 1, .limit = 110 } },
	{ ARG_ADDR_OUT, { .kind = FETCH_FIXED, .limit = 28 } },
	{ ARG_STAT, { .kind = FETCH_FIXED, .limit = sizeof(struct stat) } },
	{ ARG_STATX, { .kind = FETCH_FIXED, .limit = STATX_BYTES } },
	{ ARG_STATUS, { .kind = FETCH_FIXED, .limit = 4 } },
	{ ARG_EPOLL_IN, { .kind = FETCH_FIXED, .limit = 12 } },
	{ ARG_POLL, { .kind = FETCH_BY_NEXT, .unit = 8, .limit = 64 } },
	{ ARG_FDS, { .kind = FETCH_FIXED, .limit = 8 } },
	{ ARG_RLIMIT_IN, { .kind = FETCH_FIXED, .limit = 16 } },
	{ ARG_RLIMIT_OUT, { .kind = FETCH_FIXED, .limit = 16 } },
	{ ARG_HOW, { .kind = FETCH_FIXED, .limit = 24 } },
	{ ARG_SIGSET, { .kind = FETCH_FIXED, .limit = 8 } },
	{ ARG_CLONE3, { .kind = FETCH_FIXED, .limit = 8 } },
};

static bool find_fetch(char arg, bool wants_all, struct sysc_fetch *ret)
{
	if (arg == ARG_PATH) {
		*ret = (struct sysc_fetch){ .kind = FETCH_STRING, .limit = SYSC_FETCH_BYTES };
		return true;
	}
	wants_all |= arg == ARG_FDS; /* for what descriptors stand for */
	for (size_t i = 0; wants_all && i < ARRAY_LEN(fetched); i++) {
		*ret = fetched[i].fetch;
		if (fetched[i].arg == (enum sysc_arg)arg)
			return true;
	}
	return false;
}

/* A program that executes another one takes its memory with it. */
static bool leaves_memory(uint32_t nr)
{
	return nr < SYSC_NAMES && sysc_names[nr] && strncmp(sysc_names[nr], "execve", 6) == 0;
}

size_t sysc_fetches(uint32_t nr, bool wants_all, struct sysc_fetch ret[SYSC_FETCHES])
{
	const char *signature = sysc_signature(nr);
	size_t count = 0;

	for (uint8_t arg = 0; signature[arg] && count < SYSC_FETCHES; arg++) {
		if (!find_fetch(signature[arg], wants_all, &ret[count]))
			continue;
		ret[count].arg = arg;
		ret[count++].at_enter = leaves_memory(nr);
	}
	return count;
}
