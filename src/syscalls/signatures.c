/* SPDX-License-Identifier: MIT */
#include "syscalls/signatures.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/compat/compat.h"
#include "syscalls/names.h"

#define TEXT_BYTES 40 /* printed of data that is read or written */
#define STATX_BYTES 144

static const struct {
	const char *name, *signature;
} known[] = {
	{ "accept", "dKp" },
	{ "accept4", "dKpN" },
	{ "access", "sA" },
	{ "acct", "s" },
	{ "alarm", "z" },
	{ "arch_prctl", "!x" },
	{ "bind", "dki" },
	{ "brk", "p" },
	{ "capget", "pp" },
	{ "capset", "pp" },
	{ "chdir", "s" },
	{ "chmod", "sm" },
	{ "chown", "sii" },
	{ "chroot", "s" },
	{ "clock_getres", "cT" },
	{ "clock_gettime", "cT" },
	{ "clock_nanosleep", "citT" },
	{ "clock_settime", "ct" },
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
	{ "epoll_pwait", "d4iijz" },
	{ "epoll_pwait2", "d4itjz" },
	{ "epoll_wait", "d4ii" },
	{ "eventfd2", "iv" },
	{ "execve", "s*=" },
	{ "execveat", "Ds*=a" },
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
	{ "fcntl", "dF;" },
	{ "fdatasync", "d" },
	{ "fgetxattr", "dSpz" },
	{ "flock", "d^" },
	{ "fstat", "dy" },
	{ "fstatfs", "dp" },
	{ "fsync", "d" },
	{ "ftruncate", "dl" },
	{ "futex", "pfitpi" },
	{ "getcwd", "$z" },
	{ "getdents64", "dpz" },
	{ "getegid", "" },
	{ "geteuid", "" },
	{ "getgid", "" },
	{ "getgroups", "ip" },
	{ "getitimer", "ip" },
	{ "getpeername", "dKp" },
	{ "getpgid", "i" },
	{ "getpgrp", "" },
	{ "getpid", "" },
	{ "getppid", "" },
	{ "getpriority", "ii" },
	{ "getrandom", "BzJ" },
	{ "getresgid", "ppp" },
	{ "getresuid", "ppp" },
	{ "getrlimit", "RU" },
	{ "getrusage", "?p" },
	{ "getsid", "i" },
	{ "getsockname", "dKp" },
	{ "getsockopt", "d568p" },
	{ "gettid", "" },
	{ "gettimeofday", "pp" },
	{ "getuid", "" },
	{ "getxattr", "sSpz" },
	{ "inotify_add_watch", "dsx" },
	{ "inotify_init1", "v" },
	{ "inotify_rm_watch", "di" },
	{ "io_uring_enter", "diixpz" },
	{ "io_uring_setup", "ip" },
	{ "ioctl", "dIp" },
	{ "kill", "ig" },
	{ "lchown", "sii" },
	{ "lgetxattr", "sSpz" },
	{ "link", "ss" },
	{ "linkat", "DsDsa" },
	{ "listen", "di" },
	{ "listxattr", "spz" },
	{ "llistxattr", "spz" },
	{ "lseek", "dlw" },
	{ "lstat", "sy" },
	{ "madvise", "pzh" },
	{ "memfd_create", "S&" },
	{ "mkdir", "sm" },
	{ "mkdirat", "Dsm" },
	{ "mincore", "pzp" },
	{ "mknod", "smx" },
	{ "mknodat", "Dsmx" },
	{ "mlock", "pz" },
	{ "mlockall", "x" },
	{ "mmap", "pzPMdx" },
	{ "mount", "SsSxp" },
	{ "mprotect", "pzP" },
	{ "mremap", "pzz~p" },
	{ "msync", "pzx" },
	{ "munlock", "pz" },
	{ "munmap", "pz" },
	{ "nanosleep", "tT" },
	{ "newfstatat", "Dsya" },
	{ "open", "som" },
	{ "openat", "Dsom" },
	{ "openat2", "DsHz" },
	{ "pause", "" },
	{ "personality", "x" },
	{ "pidfd_open", "iv" },
	{ "pidfd_send_signal", "dgpx" },
	{ "pipe", "Q" },
	{ "pipe2", "Qv" },
	{ "poll", "Lii" },
	{ "ppoll", "Litjz" },
	{ "prctl", "r:xxx" },
	{ "pread64", "dBzl" },
	{ "prlimit64", "iRuU" },
	{ "process_vm_readv", "ipzpzx" },
	{ "preadv", "d>il" },
	{ "preadv2", "d>ilxx" },
	{ "pselect6", "i999tp" },
	{ "pwrite64", "dbzl" },
	{ "pwritev", "d<il" },
	{ "pwritev2", "d<ilxx" },
	{ "read", "dBz" },
	{ "readahead", "dlz" },
	{ "readlink", "sBz" },
	{ "readlinkat", "DsBz" },
	{ "readv", "d>i" },
	{ "recvfrom", "dBzqKp" },
	{ "recvmmsg", "dpiqt" },
	{ "recvmsg", "d)q" },
	{ "rename", "ss" },
	{ "renameat", "DsDs" },
	{ "renameat2", "DsDsx" },
	{ "rmdir", "s" },
	{ "rseq", "pzxx" },
	{ "rt_sigaction", "g12z" },
	{ "rt_sigpending", "3z" },
	{ "rt_sigprocmask", "Gj3z" },
	{ "rt_sigreturn", "" },
	{ "rt_sigsuspend", "jz" },
	{ "rt_sigtimedwait", "jptz" },
	{ "sched_getaffinity", "iz]" },
	{ "sched_getparam", "ip" },
	{ "sched_getscheduler", "i" },
	{ "sched_setaffinity", "iz[" },
	{ "sched_setscheduler", "iip" },
	{ "sched_yield", "" },
	{ "select", "i999p" },
	{ "semget", "iix" },
	{ "semop", "ipz" },
	{ "sendfile", "ddpz" },
	{ "sendmmsg", "dpiq" },
	{ "sendmsg", "d(q" },
	{ "sendto", "dbzqki" },
	{ "set_robust_list", "pz" },
	{ "set_tid_address", "p" },
	{ "setgid", "i" },
	{ "setgroups", "ip" },
	{ "setitimer", "ipp" },
	{ "setpgid", "ii" },
	{ "setpriority", "iii" },
	{ "setresgid", "iii" },
	{ "setresuid", "iii" },
	{ "setrlimit", "Ru" },
	{ "setsid", "" },
	{ "setsockopt", "d567i" },
	{ "setuid", "i" },
	{ "setxattr", "sSpzx" },
	{ "shmat", "ipx" },
	{ "shmctl", "iip" },
	{ "shmdt", "p" },
	{ "shmget", "izx" },
	{ "shutdown", "dY" },
	{ "sigaltstack", "pp" },
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
	{ "syncfs", "d" },
	{ "sysinfo", "p" },
	{ "tgkill", "iig" },
	{ "timer_create", "cpp" },
	{ "timer_delete", "i" },
	{ "timer_settime", "ixpp" },
	{ "timerfd_create", "cv" },
	{ "timerfd_settime", "dxpp" },
	{ "times", "p" },
	{ "tkill", "ig" },
	{ "truncate", "sl" },
	{ "umask", "m" },
	{ "umount2", "sx" },
	{ "uname", "p" },
	{ "unlink", "s" },
	{ "unlinkat", "Dsa" },
	{ "utimensat", "Ds%a" },
	{ "vfork", "" },
	{ "wait4", "iWOp" },
	{ "waitid", "iipOp" },
	{ "write", "dbz" },
	{ "writev", "d<i" },
};

static const char *by_number[SYSCALL_NAMES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_numbers(void)
{
	for (size_t nr = 0; nr < SYSCALL_NAMES; nr++)
		for (size_t i = 0; syscall_names[nr] && i < ARRAY_LEN(known); i++)
			if (strcmp(syscall_names[nr], known[i].name) == 0)
				by_number[nr] = known[i].signature;
}

const char *syscall_signature(uint32_t nr)
{
	pthread_once(&once, find_numbers);
	return nr < SYSCALL_NAMES && by_number[nr] ? by_number[nr] : "";
}

bool syscall_is_known(uint32_t nr)
{
	pthread_once(&once, find_numbers);
	return nr < SYSCALL_NAMES && by_number[nr];
}

bool syscall_has_path(uint32_t nr)
{
	return strchr(syscall_signature(nr), ARG_PATH);
}

bool syscall_changes_fds(uint32_t nr)
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
	enum syscall_arg arg;
	struct syscall_fetch fetch; /* without arg */
} fetched[] = {
	{ ARG_STRING, { .kind = FETCH_STRING, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_IN, { .kind = FETCH_BY_NEXT, .unit = 1, .limit = TEXT_BYTES } },
	{ ARG_OUT, { .kind = FETCH_BY_RET, .unit = 1, .limit = TEXT_BYTES } },
	{ ARG_TEXT_OUT, { .kind = FETCH_BY_RET, .unit = 1, .limit = SYSCALL_FETCH_BYTES } },
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
	{ ARG_ARGV, { .kind = FETCH_STRINGS, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_ENVP, { .kind = FETCH_COUNT, .limit = 4 } },
	{ ARG_ACTION_IN, { .kind = FETCH_FIXED, .limit = 32 } },
	{ ARG_ACTION_OUT, { .kind = FETCH_FIXED, .limit = 32 } },
	{ ARG_SIGSET_OUT, { .kind = FETCH_FIXED, .limit = 8 } },
	{ ARG_EPOLL_OUT,
	  { .kind = FETCH_BY_RET,
	    .unit = sizeof(struct epoll_event),
	    .limit = 8 * sizeof(struct epoll_event) } },
	{ ARG_VALUE_IN, { .kind = FETCH_BY_NEXT, .unit = 1, .limit = 16 } },
	{ ARG_VALUE_OUT, { .kind = FETCH_FIXED, .limit = 4 } },
	{ ARG_FD_SET, { .kind = FETCH_FIXED, .limit = 128 } },
	{ ARG_VECTORS_IN, { .kind = FETCH_VECTORS, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_VECTORS_OUT, { .kind = FETCH_VECTORS, .unit = 1, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_MESSAGE_IN, { .kind = FETCH_MESSAGE, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_MESSAGE_OUT, { .kind = FETCH_MESSAGE, .unit = 1, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_CPUS_IN, { .kind = FETCH_FIXED, .limit = 8 } },
	{ ARG_CPUS_OUT, { .kind = FETCH_BY_RET, .unit = 1, .limit = 128 } },
	{ ARG_FCNTL_VALUE, { .kind = FETCH_FIXED, .limit = sizeof(struct flock) } },
	{ ARG_PRCTL_VALUE, { .kind = FETCH_STRING, .limit = SYSCALL_FETCH_BYTES } },
	{ ARG_TIMES_IN, { .kind = FETCH_FIXED, .limit = 32 } },
};

static bool find_fetch(char arg, bool wants_all, struct syscall_fetch *ret)
{
	if (arg == ARG_PATH) {
		*ret = (struct syscall_fetch){ .kind = FETCH_STRING, .limit = SYSCALL_FETCH_BYTES };
		return true;
	}
	wants_all |= arg == ARG_FDS; /* new descriptors must be named */
	for (size_t i = 0; wants_all && i < ARRAY_LEN(fetched); i++) {
		*ret = fetched[i].fetch;
		if (fetched[i].arg == (enum syscall_arg)arg)
			return true;
	}
	return false;
}

/* exec replaces the memory; select overwrites its sets of descriptors. */
bool syscall_fetches_at_entry(uint32_t nr)
{
	const char *signature = syscall_signature(nr);

	return strchr(signature, ARG_ARGV) || strchr(signature, ARG_FD_SET);
}

size_t syscall_fetches(uint32_t nr, bool wants_all, struct syscall_fetch ret[SYSCALL_FETCHES])
{
	const char *signature = syscall_signature(nr);
	size_t count = 0;

	for (uint8_t arg = 0; signature[arg] && count < SYSCALL_FETCHES; arg++) {
		if (!find_fetch(signature[arg], wants_all, &ret[count]))
			continue;
		ret[count++].arg = arg;
	}
	return count;
}
