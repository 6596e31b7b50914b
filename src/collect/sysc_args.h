/* SPDX-License-Identifier: MIT */
/*
 * sysc_args: what the arguments of system calls are, and what of a program's memory tells more.
 *
 * A signature has a letter for each argument (enum sysc_arg). Of calls without one nothing is
 * known but the words they pass.
 * Source: the section 2 pages of the Linux man-pages; kernel, include/linux/syscalls.h.
 */
#ifndef COLLECT_SYSC_ARGS_H
#define COLLECT_SYSC_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum sysc_arg {
	ARG_FD = 'd',
	ARG_DIRFD = 'D', /* a path behind it is relative to it */
	ARG_PATH = 's',
	ARG_STRING = 'S',
	ARG_IN = 'b',  /* bytes, as many as the next argument tells */
	ARG_OUT = 'B', /* bytes that the call wrote, as many as it returns */
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
	ARG_CLONE3 = 'V', /* struct clone_args */
};

/* "": it has no arguments, or nothing is known of it. */
const char *sysc_signature(uint32_t nr);
bool sysc_is_known(uint32_t nr);

/* Parts of memory that belong to a call. */
#define SYSC_FETCHES 3
#define SYSC_FETCH_BYTES 512 /* at most, of each */

enum sysc_fetch_kind {
	FETCH_STRING,  /* to its NUL */
	FETCH_FIXED,   /* limit bytes */
	FETCH_BY_NEXT, /* as many units as the next argument tells */
	FETCH_BY_RET,  /* as many bytes as the call returned */
};

struct sysc_fetch {
	uint8_t arg;
	uint8_t kind;     /* enum sysc_fetch_kind */
	uint8_t unit;     /* bytes, of FETCH_BY_NEXT */
	uint8_t at_enter; /* it is gone at the end */
	uint16_t limit;   /* bytes, at most SYSC_FETCH_BYTES */
};

/* What to read of a call's memory; returns how many. wants_all: for people to read; else only
 * paths and new descriptors. */
size_t sysc_fetches(uint32_t nr, bool wants_all, struct sysc_fetch ret[SYSC_FETCHES]);

/* Has it a path among its arguments? */
bool sysc_has_path(uint32_t nr);

/* Does it change what a descriptor or a relative path stands for, without a path of its own? */
bool sysc_moves_files(uint32_t nr);

#endif
