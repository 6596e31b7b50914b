/* SPDX-License-Identifier: MIT */
#include "target/inherited.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

static bool ignores_children;
static bool has_files; /* files holds */
static struct rlimit files;

void inherited_take(void)
{
	struct sigaction action;
	struct rlimit raised;

	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
		ignores_children = true;
		signal(SIGCHLD, SIG_DFL);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	raised = (struct rlimit){ files.rlim_max, files.rlim_max };
	has_files = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

int inherited_restore(void)
{
	if (has_files && setrlimit(RLIMIT_NOFILE, &files) < 0)
		return errno;
	return ignores_children && signal(SIGCHLD, SIG_IGN) == SIG_ERR ? errno : 0;
}
