/* SPDX-License-Identifier: MIT */
/*
 * syscall_signatures: what the arguments of system calls are, and what of a program's memory tells
 * more.
 *
 * A signature has a letter for each argument (enum syscall_arg). Of calls without one nothing is
 * known but the words they pass.
 * Source: the section 2 pages of the Linux man-pages; kernel, include/linux/syscalls.h.
 */
#ifndef SYSCALLS_ARGS_H
#define SYSCALLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum syscall_arg {
	ARG_FD = 'd',
	ARG_DIRFD = 'D', /* a path behind it is relative to it */
	ARG_PATH = 's',
	ARG_STRING = 'S',
	ARG_IN = 'b',       /* bytes, as many as the next argument tells */
	ARG_OUT = 'B',      /* bytes that the call wrote, as many as it returns */
	ARG_TEXT_OUT = '$', /* likewise, text with its NUL */
	ARG_INT = 'i',
	ARG_LONG = 'l',
	ARG_SIZE = 'z', /* unsigned */
	ARG_HEX = 'x',
	ARG_POINTER = 'p',
	ARG_MODE = 'm',
	ARG_OPEN = 'o',
	ARG_NEW_FD = 'v', /* O_CLOEXEC, O_NONBLOCK */
	ARG_AT = 'a',
	ARG_PROT = 'P',
	ARG_MAP = 'M',
	ARG_WHENCE = 'w',
	ARG_ACCESS = 'A',
	ARG_SIGNAL = 'g',
	ARG_SIGMASK_HOW = 'G',
	ARG_FCNTL = 'F',
	ARG_IOCTL = 'I',
	ARG_FUTEX = 'f',
	ARG_CLONE = 'C',
	ARG_FCNTL_VALUE = ';', /* by the operation: a number, flags, struct flock */
	ARG_PRCTL_VALUE = ':', /* by the operation: a name, or a number */
	ARG_CLOCK = 'c',
	ARG_TIME_IN = 't', /* struct timespec */
	ARG_TIME_OUT = 'T',
	ARG_ADDR_IN = 'k', /* struct sockaddr, as long as the next argument tells */
	ARG_ADDR_OUT = 'K',
	ARG_FAMILY = 'n',
	ARG_SOCKET = 'N',
	ARG_MSG = 'q',
	ARG_SHUTDOWN = 'Y',
	ARG_STAT = 'y',  /* struct stat that the call wrote */
	ARG_STATX = 'X', /* struct statx, likewise */
	ARG_STATUS = 'W',
	ARG_WAIT = 'O',
	ARG_EPOLL_OP = 'e',
	ARG_EPOLL_IN = 'E',
	ARG_POLL = 'L', /* struct pollfd, as many as the next argument tells */
	ARG_FDS = 'Q',  /* int [2] that the call wrote */
	ARG_PRCTL = 'r',
	ARG_RESOURCE = 'R',
	ARG_RLIMIT_IN = 'u',
	ARG_RLIMIT_OUT = 'U',
	ARG_ADVICE = 'h',
	ARG_HOW = 'H', /* struct open_how */
	ARG_SIGSET = 'j',
	ARG_RANDOM = 'J',
	ARG_CLONE3 = 'V',    /* struct clone_args */
	ARG_ARGV = '*',      /* pointers to strings */
	ARG_ENVP = '=',      /* likewise; only how many */
	ARG_ACTION_IN = '1', /* struct sigaction, as the kernel has it */
	ARG_ACTION_OUT = '2',
	ARG_SIGSET_OUT = '3',
	ARG_EPOLL_OUT = '4', /* struct epoll_event, as many as the call returns */
	ARG_LEVEL = '5',
	ARG_SOCKOPT = '6',        /* of the level before */
	ARG_SOCKOPT_SOCKET = '.', /* the same, of a known level */
	ARG_SOCKOPT_TCP = ',',
	ARG_LOCK = '/',     /* of a struct flock */
	ARG_VALUE_IN = '7', /* an int, or as many bytes as the next argument tells */
	ARG_VALUE_OUT = '8',
	ARG_FD_SET = '9',     /* descriptors below the first argument */
	ARG_VECTORS_IN = '<', /* struct iovec, as many as the next argument tells */
	ARG_VECTORS_OUT = '>',
	ARG_MESSAGE_IN = '(', /* struct msghdr */
	ARG_MESSAGE_OUT = ')',
	ARG_CPUS_IN = '[',
	ARG_CPUS_OUT = ']',
	ARG_ARCH = '!',
	ARG_WHO = '?',
	ARG_FLOCK = '^',
	ARG_MEMFD = '&',
	ARG_REMAP = '~',
	ARG_TIMES_IN = '%', /* two struct timespec */
};

/* "": it has no arguments, or nothing is known of it. */
const char *syscall_signature(uint32_t nr);
bool syscall_is_known(uint32_t nr);

/* Parts of memory that belong to a call. */
#define SYSCALL_FETCHES 4
#define SYSCALL_FETCH_BYTES 512 /* at most, of each */

enum syscall_fetch_kind {
	FETCH_STRING,  /* to its NUL */
	FETCH_FIXED,   /* limit bytes */
	FETCH_BY_NEXT, /* as many units as the next argument tells */
	FETCH_BY_RET,  /* as many units as the call returned */
	FETCH_STRINGS, /* of a list of pointers: SYSCALL_STRING_BYTES of each at most, with NULs */
	FETCH_COUNT,   /* of such a list, how many: uint32_t */
	FETCH_VECTORS, /* struct syscall_iovec of each struct iovec; unit 1: the call filled them */
	FETCH_MESSAGE, /* the same, of those of a struct msghdr */
};

#define SYSCALL_STRING_BYTES 128 /* with the NUL: what is as long is cut */
#define SYSCALL_STRINGS 32
#define SYSCALL_COUNT_MAX 512
#define SYSCALL_VECTORS 4

/* Of a struct iovec. */
struct syscall_iovec {
	uint64_t len, got; /* bytes that it has, and that were read */
	char bytes[48];
};

struct syscall_fetch {
	uint8_t arg;
	uint8_t kind;   /* enum syscall_fetch_kind */
	uint8_t unit;   /* bytes, of FETCH_BY_NEXT and FETCH_BY_RET */
	uint16_t limit; /* bytes, at most SYSCALL_FETCH_BYTES */
};

/* What to read of a call's memory; returns how many. wants_all: for people to read; else only
 * paths and new descriptors. */
size_t syscall_fetches(uint32_t nr, bool wants_all, struct syscall_fetch ret[SYSCALL_FETCHES]);

/* Is all of it to be read when the call begins? At its end it is gone, or changed. */
bool syscall_fetches_at_entry(uint32_t nr);

/* Has it a path among its arguments? */
bool syscall_has_path(uint32_t nr);

/* Does it change what a descriptor or a relative path stands for, without a path of its own? */
bool syscall_changes_fds(uint32_t nr);

#endif
