/* SPDX-License-Identifier: MIT */
/* fake_root: a temporary directory with files of /proc or /sys, for readers that take a root. */
#ifndef TESTS_UNIT_FAKE_ROOT_H
#define TESTS_UNIT_FAKE_ROOT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tap.h"

static char root[256];

/* A file below root, and the folders on the way. */
static inline void write_file(const char *path, const char *content)
{
	char full[300];
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	f = fopen(full, "w");
	if (!CHECK(f != NULL))
		return;
	fputs(content, f);
	fclose(f);
}

static inline void remove_root(void)
{
	char command[300];

	snprintf(command, sizeof command, "rm -rf %s", root);
	CHECK_INT(system(command), 0);
}

#endif
