/* SPDX-License-Identifier: MIT */
#include "cachefs/rights/caller.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define STATUS_MAX 16384 /* with the groups of the user */
#define BIT(signal) (1ull << ((signal)-1))

/* Signals whose default action does not end a process. */
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

bool caller_is_dying(pid_t thread)
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

/* In our own user namespace? */
static bool is_near(pid_t thread)
{
	char path[32];
	struct stat ours, its;

	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)thread);
	return stat("/proc/self/ns/user", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* map: "uid_map" or "gid_map". Read from another namespace, its second column has our ids. */
static bool is_mapped(pid_t thread, const char *map, uint32_t id)
{
	char path[32], text[STATUS_MAX];
	unsigned first, count;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, map);
	if (!file_read_start(path, text, sizeof text))
		return false;
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, " %*u %u %u", &first, &count) == 2 && id >= first &&
		    id - first < count)
			return true;
	}
	return false;
}

bool caller_has_capability(pid_t thread, int capability, uid_t owner, gid_t group)
{
	char status[STATUS_MAX];

	if (thread <= 0 || !read_status(thread, status) ||
	    !(mask_of(status, "\nCapEff:") >> capability & 1))
		return false;
	return is_near(thread) ||
	       (is_mapped(thread, "uid_map", owner) && is_mapped(thread, "gid_map", group));
}
