/* SPDX-License-Identifier: MIT */
#include "target/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* folder: [0..len); "" and what is relative is from the working folder. */
static bool join(const char *folder, size_t len, const char *name, char ret[PATH_MAX])
{
	char here[PATH_MAX - 1];
	int at = 0;

	if (!len || *folder != '/') {
		if (!getcwd(here, sizeof here))
			return false;
		at = snprintf(ret, PATH_MAX, "%s/", strcmp(here, "/") == 0 ? "" : here);
	}
	at += snprintf(ret + at, PATH_MAX - (size_t)at, "%.*s%s%s", (int)len, folder,
		       len ? "/" : "", name);
	return at < PATH_MAX;
}

bool program_find(const char *name, char ret[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (!*name)
		return false;
	if (*name == '/')
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX && is_program(ret);
	if (strchr(name, '/'))
		return join("", 0, name, ret) && is_program(ret);
	for (const char *at = path ? path : "/bin:/usr/bin";; at++) {
		size_t len = strcspn(at, ":");

		if (join(at, len, name, ret) && is_program(ret))
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

int program_check(const char *name, struct err *e)
{
	char path[PATH_MAX];
	int error = ENOENT;

	if (program_find(name, path))
		return 0;
	if (strchr(name, '/') && access(name, F_OK) == 0)
		error = EACCES;
	return err_set(e, -error, "%s: %s", name,
		       strchr(name, '/') ? strerror(error) : "command not found");
}

bool program_is_script(const char *path, struct script *ret)
{
	char line[256], *at = line + 2, *argument;

	if (file_read_start(path, line, sizeof line) < 3 || strncmp(line, "#!", 2) != 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	at += strspn(at, " \t");
	argument = at + strcspn(at, " \t");
	snprintf(ret->interpreter, sizeof ret->interpreter, "%.*s", (int)(argument - at), at);
	argument += strspn(argument, " \t");
	snprintf(ret->argument, sizeof ret->argument, "%s", argument);
	for (size_t len = strlen(ret->argument); len && strchr(" \t", ret->argument[len - 1]);)
		ret->argument[--len] = '\0';
	return ret->interpreter[0] == '/';
}
