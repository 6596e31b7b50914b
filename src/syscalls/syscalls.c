/* SPDX-License-Identifier: MIT */
#include "syscalls/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "syscalls/backends.h"
#include "syscalls/stacks.h"

const char *const syscall_methods[] = { "auto", "bpf", "perf", "ptrace", NULL };

/* The best first. */
static const struct syscall_backend *const backends[] = {
	&syscall_bpf,
	&syscall_perf,
	&syscall_ptrace,
};

static void add_reason(char *why, size_t size, enum syscall_method method, const struct err *e)
{
	size_t used = strlen(why);

	snprintf(why + used, size - used, "%s%s: %s", used ? "; " : "", syscall_methods[method],
		 e->msg);
}

static int choose(const struct syscall_opts *o, const struct syscall_backend **ret, void **ret_self,
		  struct syscall_result *result, struct err *e)
{
	struct err reason = { 0 };
	bool is_python = o->stacks && o->method == SYSCALL_AUTO &&
			 syscall_stacks_is_python(o->argv, o->pids, o->pid_count);
	int rc = -ENOTSUP;

	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (o->method != SYSCALL_AUTO && o->method != backends[i]->method)
			continue;
		rc = is_python && backends[i]->method == SYSCALL_PERF
			     ? err_set(&reason, -ENOTSUP, "its stacks have no Python functions")
			     : backends[i]->open(o, ret_self, &reason);
		if (rc == 0) {
			*ret = backends[i];
			result->method = backends[i]->method;
			log_msg(LOG_INFO, "syscalls", "by %s", syscall_methods[result->method]);
			return 0;
		}
		log_msg(LOG_INFO, "syscalls", "not by %s: %s", syscall_methods[backends[i]->method],
			reason.msg);
		add_reason(result->why, sizeof result->why, backends[i]->method, &reason);
	}
	return err_set(e, rc, "%s", result->why);
}

int syscall_run(const struct syscall_opts *o, struct syscall_result *ret, struct err *e)
{
	const struct syscall_backend *backend;
	void *self = NULL;
	int rc;

	*ret = (struct syscall_result){ 0 };
	rc = choose(o, &backend, &self, ret, e);
	return rc < 0 ? rc : backend->run(self, o, ret, e);
}
