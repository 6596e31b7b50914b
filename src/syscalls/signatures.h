/* SPDX-License-Identifier: MIT */
/*
 * signatures: the types of each system call's arguments, and which memory to read for them.
 *
 * A signature has one letter for each argument (enum syscall_arg). A call without a signature is
 * printed with its raw arguments.
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
	ARG_DIRFD = 'D', /* the path that follows is relative to it */
	ARG_PATH = 's',
	ARG_STRING = 'S',
	ARG_IN = 'b',       /* bytes; the next argument is their count */
	ARG_OUT = 'B',      /* bytes that the call wrote; it returns their count */
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
	ARG_ADDR_IN = 'k', /* struct sockaddr; the next argument is its length */
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
	ARG_POLL = 'L', /* struct pollfd; the next argument is their count */
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
	ARG_ENVP = '=',      /* likewise; only their count is read */
	ARG_ACTION_IN = '1', /* struct sigaction, as the kernel has it */
	ARG_ACTION_OUT = '2',
	ARG_SIGSET_OUT = '3',
	ARG_EPOLL_OUT = '4', /* struct epoll_event; the call returns their count */
	ARG_LEVEL = '5',
	ARG_SOCKOPT = '6',        /* of the level before */
	ARG_SOCKOPT_SOCKET = '.', /* the same, of a known level */
	ARG_SOCKOPT_TCP = ',',
	ARG_LOCK = '/',     /* of a struct flock */
	ARG_VALUE_IN = '7', /* an int, or bytes; the next argument is their count */
	ARG_VALUE_OUT = '8',
	ARG_FD_SET = '9',     /* descriptors below the first argument */
	ARG_VECTORS_IN = '<', /* struct iovec; the next argument is their count */
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

/* "": the call has no arguments, or is unknown. */
const char *syscall_signature(uint32_t nr);
bool syscall_is_known(uint32_t nr);

/* Parts of memory that one call refers to. */
#define SYSCALL_FETCHES 4
#define SYSCALL_FETCH_BYTES 512 /* at most, of each */

enum syscall_fetch_kind {
	FETCH_STRING,  /* to its NUL */
	FETCH_FIXED,   /* limit bytes */
	FETCH_BY_NEXT, /* the next argument is the count of units */
	FETCH_BY_RET,  /* the call returned the count of units */
	FETCH_STRINGS, /* a list of pointers: at most SYSCALL_STRING_BYTES of each, with NULs */
	FETCH_COUNT,   /* the length of such a list: uint32_t */
	FETCH_VECTORS, /* struct syscall_iovec of each struct iovec; unit 1: the call filled them */
	FETCH_MESSAGE, /* the same for the vectors of a struct msghdr */
};

#define SYSCALL_STRING_BYTES 128 /* with the NUL; longer strings are cut */
#define SYSCALL_STRINGS 32
#define SYSCALL_COUNT_MAX 512
#define SYSCALL_VECTORS 4

/* The begin of what a struct iovec points to. */
struct syscall_iovec {
	uint64_t len, got; /* bytes of the vector; bytes that were read */
	char bytes[48];
};

struct syscall_fetch {
	uint8_t arg;
	uint8_t kind;   /* enum syscall_fetch_kind */
	uint8_t unit;   /* bytes, of FETCH_BY_NEXT and FETCH_BY_RET */
	uint16_t limit; /* bytes, at most SYSCALL_FETCH_BYTES */
};

/* Lists what to read of a call's memory; returns the count. wants_all: all that is printed; else
 * only paths and new descriptors. */
size_t syscall_fetches(uint32_t nr, bool wants_all, struct syscall_fetch ret[SYSCALL_FETCHES]);

/* Must the memory be read at entry? At exit it is unmapped or overwritten. */
bool syscall_fetches_at_entry(uint32_t nr);

/* Is one of its arguments a path? */
bool syscall_has_path(uint32_t nr);

/* Does it change a descriptor table or the working directory without taking a path? */
bool syscall_changes_fds(uint32_t nr);

#endif
