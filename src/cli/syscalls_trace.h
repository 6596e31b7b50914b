/* SPDX-License-Identifier: MIT */
/* syscalls_trace: calls as they happen, one line each: words, CSV, or an object of JSON. */
#ifndef CLI_SYSCALLS_TRACE_H
#define CLI_SYSCALLS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "syscalls/syscalls.h"
#include "view/emit.h"

/* All zero is not open. */
struct syscalls_trace {
	enum emit_format format;
	int fd;
	bool owns_fd;
	int error;        /* -errno of the first write that failed */
	int64_t start_ns; /* of the first call */
	struct buf lines; /* not written yet */
};

/* path: NULL: standard error when a command has standard output, else that. */
int syscalls_trace_open(struct syscalls_trace *t, enum emit_format format, const char *path,
			bool has_command, struct err *e) MUST_CHECK;
void syscalls_trace_put(void *context, const struct syscall_decoded *on_call);
/* Was all written? Closes it, too. */
int syscalls_trace_finish(struct syscalls_trace *t, struct err *e) MUST_CHECK;
void syscalls_trace_close(struct syscalls_trace *t);

#endif
