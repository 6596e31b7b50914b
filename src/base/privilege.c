/* SPDX-License-Identifier: MIT */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define NOBODY (-1L)     /* no process has this pid */
#define NO_COMMAND 9999L /* of bpf(2) */
#define ALL_FLAGS (~0UL) /* of perf_event_open(2), known and unknown */

/* A member of /proc/self/status; fallback where it cannot be read. */
static uint64_t status_number(const char *name, int base, uint64_t fallback)
{
	char text[4096];
	const char *line;

	if (!file_read_start("/proc/self/status", text, sizeof text))
		return fallback;
	line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, base) : fallback;
}

uint64_t privilege_capabilities(void)
{
	return status_number("\nCapEff:", 16, UINT64_MAX);
}

/* The first user namespace maps all ids to themselves. */
bool privilege_is_in_user_namespace(void)
{
	char text[128], *at = text;
	unsigned long inside, outside, count;

	if (!file_read_start("/proc/self/uid_map", text, sizeof text))
		return false;
	inside = strtoul(at, &at, 10);
	outside = strtoul(at, &at, 10);
	count = strtoul(at, &at, 10);
	return inside != 0 || outside != 0 || count != UINT32_MAX;
}

bool privilege_has_kernel(uint64_t capabilities)
{
	uint64_t had = privilege_capabilities();

	return (had >> CAP_SYS_ADMIN & 1 || (had & capabilities) == capabilities) &&
	       !privilege_is_in_user_namespace();
}

const char *privilege_root(void)
{
	return privilege_is_in_user_namespace() ? "root outside of this user namespace" : "root";
}

/* Does the call reach the kernel (no seccomp filter refuses it)? */
static bool reaches(long call)
{
	switch (call) {
	case SYS_perf_event_open:
		return syscall(call, NULL, 0, -1, -1, ALL_FLAGS) < 0 &&
		       (errno == EINVAL || errno == EACCES); /* EACCES: Debian's paranoid 3 */
	case SYS_ptrace:
		return syscall(call, PTRACE_DETACH, NOBODY, NULL, NULL) < 0 && errno == ESRCH;
	default:
		return syscall(call, NO_COMMAND, NULL, 0) < 0 && errno == EINVAL;
	}
}

bool privilege_is_filtered(long call)
{
	return status_number("\nSeccomp:", 10, 0) == SECCOMP_MODE_FILTER && !reaches(call);
}
