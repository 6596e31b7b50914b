/* SPDX-License-Identifier: MIT */
#include "syscalls/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "syscalls/methods.h"

const char *const sysc_methods[] = { "auto", "bpf", "perf", "ptrace", NULL };

/* The best first. */
static const struct sysc_backend *const backends[] = {
	&sysc_bpf,
	&sysc_perf,
	&sysc_ptrace,
};

static void add_reason(char *why, size_t size, enum sysc_method method, const struct err *e)
{
	size_t used = strlen(why);

	snprintf(why + used, size - used, "%s%s: %s", used ? "; " : "", sysc_methods[method],
		 e->msg);
}

static int choose(const struct sysc_opts *o, const struct sysc_backend **ret, void **ret_self,
		  struct sysc_result *result, struct err *e)
{
	struct err reason = { 0 };
	int rc = -ENOTSUP;

	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (o->method != SYSC_AUTO && o->method != backends[i]->method)
			continue;
		rc = backends[i]->open(o, ret_self, &reason);
		if (rc == 0) {
			*ret = backends[i];
			result->method = backends[i]->method;
			return 0;
		}
		add_reason(result->why, sizeof result->why, backends[i]->method, &reason);
	}
	return err_set(e, rc, "%s", result->why);
}

int sysc_run(const struct sysc_opts *o, struct sysc_result *ret, struct err *e)
{
	const struct sysc_backend *backend;
	void *self = NULL;
	int rc;

	*ret = (struct sysc_result){ 0 };
	rc = choose(o, &backend, &self, ret, e);
	return rc < 0 ? rc : backend->run(self, o, ret, e);
}
