/* SPDX-License-Identifier: MIT */
#include "cachefs/asker.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define STATUS_MAX 16384 /* with the groups of the user */
#define BIT(signal) (1ull << ((signal)-1))

/* Those that end no program when it does not handle them. */
#define HARMLESS                                                                                   \
	(BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | \
	 BIT(SIGURG) | BIT(SIGWINCH))

static uint64_t mask_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

static bool read_status(pid_t thread, char ret[STATUS_MAX])
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	return file_read_start(path, ret, STATUS_MAX);
}

bool asker_is_ending(pid_t thread)
{
	char status[STATUS_MAX];
	uint64_t pending;

	if (thread <= 0)
		return false;
	if (!read_status(thread, status))
		return kill(thread, 0) < 0 && errno == ESRCH;
	pending = mask_of(status, "\nSigPnd:") | mask_of(status, "\nShdPnd:");
	pending &= ~(mask_of(status, "\nSigBlk:") | mask_of(status, "\nSigIgn:") |
		     mask_of(status, "\nSigCgt:"));
	return pending & ~HARMLESS;
}

bool asker_can(pid_t thread, int capability)
{
	char status[STATUS_MAX];

	return thread > 0 && read_status(thread, status) &&
	       mask_of(status, "\nCapEff:") >> capability & 1;
}
