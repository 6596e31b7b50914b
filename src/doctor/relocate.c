/* SPDX-License-Identifier: MIT */
/* The check of what relocate does to a process of the job. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/privilege.h"
#include "doctor/checks.h"

/* What fails, as the result of a child: the first that does. */
enum step {
	STEP_ALL,
	STEP_MOUNT_NUMBERS,
	STEP_PTRACE,
	STEP_MEMORY,
	STEP_DESCRIPTORS,
	STEP_COUNT,
};

static const struct {
	const char *found, *remedy;
} failures[STEP_COUNT] = {
	[STEP_MOUNT_NUMBERS] = { "statx(2) gives no mount numbers", "Linux 5.8 or later" },
	[STEP_PTRACE] = { "processes cannot be stopped by ptrace(2)", "what the row ptrace names" },
	[STEP_MEMORY] = { "/proc/PID/mem cannot be written",
			  "CAP_SYS_PTRACE, and /proc not mounted read-only" },
	[STEP_DESCRIPTORS] = { "pidfd_getfd(2) takes no descriptor of another process",
			       "Linux 5.8 or later, and a container whose seccomp filter lets it pass: 'docker run "
			       "--cap-add SYS_PTRACE'" },
};

static bool has_mount_numbers(void)
{
	struct statx stx = { 0 };

	return statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &stx) == 0 && stx.stx_mask & STATX_MNT_ID;
}

static bool is_memory_open(pid_t target)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)target);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The target has what doctor has: a child's pipe, at least. */
static bool gives_descriptors(pid_t target)
{
	int pidfd = compat_pidfd_open(target);

	for (int fd = 0; pidfd >= 0 && fd < 16; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return true;
	return false;
}

static int try_steps(pid_t target)
{
	if (!has_mount_numbers())
		return STEP_MOUNT_NUMBERS;
	if (ptrace(PTRACE_SEIZE, target, NULL, NULL) < 0)
		return STEP_PTRACE;
	if (!is_memory_open(target))
		return STEP_MEMORY;
	return gives_descriptors(target) ? STEP_ALL : STEP_DESCRIPTORS;
}

static int try_relocating(void)
{
	return doctor_try_sibling(try_steps);
}

void doctor_relocate(struct doctor_finding *f)
{
	int step = doctor_run_child(try_relocating);

	if (step > STEP_ALL && step < STEP_COUNT)
		doctor_report(f, DOCTOR_FAILS, failures[step].remedy, "%s", failures[step].found);
	else if (step != STEP_ALL)
		doctor_report(f, DOCTOR_FAILS, "", "the trial was not finished in 5 s");
	else if (geteuid() != 0 || privilege_is_in_user_namespace())
		doctor_report(
			f, DOCTOR_PARTLY, privilege_root(),
			"own processes move; those of others, mappings and owners of files do not");
	else
		doctor_report(f, DOCTOR_WORKS, "", "jobs of all users can be stopped and changed");
}
