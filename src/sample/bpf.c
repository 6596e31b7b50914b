/* SPDX-License-Identifier: MIT */
#include "sample/bpf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <probe.skel.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/privilege.h"
#include "sample/attr.h"

#define TYPES "/sys/kernel/btf/vmlinux"
#define LOCKDOWN "/sys/kernel/security/lockdown"
#define BIT(n) (UINT64_C(1) << (n))

/* libbpf's first warning. */
static _Thread_local char first_warning[256];

static __attribute__((format(printf, 2, 0))) int listen(enum libbpf_print_level level,
							const char *fmt, va_list args)
{
	char *text, *line, *rest;
	int len = vasprintf(&text, fmt, args);

	if (len < 0)
		return len;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		err_clean(line);
		log_msg(LOG_DEBUG, "bpf", "%s", line);
		if (level == LIBBPF_WARN && !first_warning[0])
			snprintf(first_warning, sizeof first_warning, "%s", line);
	}
	free(text);
	return len;
}

static bool may_load(void)
{
	return privilege_has_kernel(BIT(CAP_BPF) | BIT(CAP_PERFMON));
}

/* Its level is in brackets: "none [integrity] confidentiality". */
static bool is_locked(void)
{
	char text[64];

	return file_read_start(LOCKDOWN, text, sizeof text) && strstr(text, "[confidentiality]");
}

/* Before what the programs need: rings, iterators over tasks, tp_btf. ret: its release. */
static bool is_old(struct utsname *ret)
{
	unsigned major, minor;

	return uname(ret) == 0 && sscanf(ret->release, "%u.%u", &major, &minor) == 2 &&
	       (major < 5 || (major == 5 && minor < 11));
}

int bpf_explain(int rc, const char *what, struct err *e)
{
	bool is_refused = rc == -EPERM || rc == -EACCES;
	struct utsname host;
	char reason[128];

	if (rc == -ENOMEM)
		return err_nomem(e);
	if ((rc == -ENOSYS || (is_refused && may_load())) && privilege_is_filtered(SYS_bpf))
		return err_set(e, rc,
			       "%s cannot be loaded: a seccomp filter refuses bpf(2); needs a "
			       "container with 'docker run --cap-add BPF --cap-add PERFMON'",
			       what);
	if (rc == -ENOSYS)
		return err_set(e, rc, "%s: no bpf(2); needs a kernel with CONFIG_BPF_SYSCALL",
			       what);
	if (is_refused && !may_load())
		return err_set(e, -EPERM,
			       "%s cannot be loaded (kernel.unprivileged_bpf_disabled is %lld); "
			       "needs %s, or CAP_BPF and CAP_PERFMON",
			       what, (long long)attr_sysctl("unprivileged_bpf_disabled", -1),
			       privilege_root());
	if (is_refused && is_locked())
		return err_set(e, rc,
			       "%s cannot be loaded (" LOCKDOWN " is at confidentiality); needs a "
			       "kernel that is started without lockdown=confidentiality",
			       what);
	if (is_old(&host))
		return err_set(e, rc, "%s cannot be loaded by Linux %s; needs Linux 5.11", what,
			       host.release);
	if (access(TYPES, R_OK) < 0)
		return err_set(e, rc,
			       "%s cannot be relocated for this kernel without " TYPES
			       "; needs a kernel with CONFIG_DEBUG_INFO_BTF",
			       what);
	libbpf_strerror(rc, reason, sizeof reason);
	return err_set(e, rc, "%s: %s%s%s", what, reason, first_warning[0] ? ": " : "",
		       first_warning);
}

void bpf_begin(void)
{
	libbpf_set_print(listen);
	first_warning[0] = '\0';
}

int bpf_probe(struct err *e)
{
	struct probe_bpf *probe;
	int rc;

	bpf_begin();
	probe = probe_bpf__open();
	rc = probe ? probe_bpf__load(probe) : -errno;
	if (rc == 0)
		rc = probe_bpf__attach(probe);
	probe_bpf__destroy(probe);
	return rc < 0 ? bpf_explain(rc, "BPF programs", e) : 0;
}
