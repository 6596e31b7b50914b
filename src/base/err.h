/* SPDX-License-Identifier: MIT */
/*
 * err: the reason of a failure, as a message for the user.
 *
 * The code that detects the failure writes the reason once; callers add where it happened, not
 * what. The error code steers the program, the message is for people.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

#include "base/macros.h"

struct err {
	int code;      /* negative errno, 0 while nothing failed */
	char msg[512]; /* one line; control characters became '?'; cut when too long */
};

/* No errno: what the user asked for is wrong, not what was found. Exit status 2. */
#define ERR_USAGE (-5000)

/* code: negative errno. Returns code, so that "return err_set(...)" reads well. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF(3, 4);
int err_vset(struct err *e, int code, const char *fmt, va_list args) PRINTF(3, 0);

/* The same with ERR_USAGE. */
int err_usage(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* For a failed system call: the text, then ": " and the words for errno. Returns -errno. */
int err_errno(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Out of memory: the one message for it. Returns -ENOMEM. */
int err_nomem(struct err *e);

/* Puts "context: " before the message. Returns e->code. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Words from outside (names of files, option values) may hold newlines and terminal escapes. The
 * bytes of each control character (utf8_is_control), and each byte that is no UTF-8, become '?'. */
void err_clean(char *text);

#endif
