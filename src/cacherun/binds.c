/* SPDX-License-Identifier: MIT */
#include "cacherun/binds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/program.h"

#define SCRIPTS_MAX 4 /* whose program is a script: as the kernel. Source: execve(2) */

const char *const redirect_variables[] = { "PATH",           "LD_LIBRARY_PATH",
					   "PYTHONPATH",     "PYTHONHOME",
					   "PYTHONUSERBASE", "VIRTUAL_ENV",
					   "CONDA_PREFIX",   NULL };

/* Programs, libraries and packages, which programs that run do not change. */
static const char *const of_system[] = { "/usr",   "/opt",   "/bin",    "/sbin", "/lib",
					 "/lib32", "/lib64", "/libx32", "/nix",  "/gnu" };
static const char *const changed[] = { "/proc", "/sys", "/dev", "/run", "/tmp", "/var", "/etc" };

/* What is installed together has these beside each other; shims choose among versions. */
static const char *const parts[] = { "bin",     "sbin",  "lib",      "lib64",
				     "libexec", "shims", "versions", "installs" };

bool binds_is_below(const char *folder, const char *path, size_t len)
{
	size_t folder_len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return len > 0 && *path == '/' && len >= folder_len &&
	       strncmp(path, folder, folder_len) == 0 &&
	       (len == folder_len || path[folder_len] == '/');
}

static bool has(const struct binds *c, const char *path, size_t len)
{
	for (size_t i = 0; i < c->count; i++)
		if (binds_is_below(c->folders[i], path, len))
			return true;
	return false;
}

bool binds_have(const struct binds *c, const char *path, size_t len)
{
	char name[PATH_MAX], place[PATH_MAX];

	if (has(c, path, len))
		return true;
	return c->count && snprintf(name, sizeof name, "%.*s", (int)len, path) < PATH_MAX &&
	       realpath(name, place) && has(c, place, strlen(place));
}

void binds_fini(struct binds *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->folders[i]);
	free(c->folders);
	*c = (struct binds){ 0 };
}

/* How to look for folders. */
struct finding {
	struct binds *covers;
	const char *target;
	char here[PATH_MAX]; /* the working folder */
	bool failed;         /* out of memory */
};

static bool holds(const char *folder, const char *path)
{
	char place[PATH_MAX];

	return path && realpath(path, place) && binds_is_below(folder, place, strlen(place));
}

/* May it be read-only for the command? */
static bool is_for_reading(const char *folder)
{
	const char *tmp = getenv("TMPDIR");

	for (size_t i = 0; i < ARRAY_LEN(changed); i++)
		if (holds(folder, changed[i]))
			return false;
	return !holds(folder, getenv("HOME")) && !holds(folder, tmp && *tmp ? tmp : "/tmp");
}

static void drop_those_in(struct binds *c, const char *folder)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (binds_is_below(folder, c->folders[i], strlen(c->folders[i])))
			free(c->folders[i]);
		else
			c->folders[kept++] = c->folders[i];
	}
	c->count = kept;
}

static bool append(struct binds *c, const char *folder)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 16;
		char **grown = realloc(c->folders, cap * sizeof *grown);

		if (!grown)
			return false;
		c->folders = grown;
		c->cap = cap;
	}
	c->folders[c->count] = strdup(folder);
	return c->folders[c->count] && ++c->count;
}

/* Unless it is no folder of the target, or the command may want to write there. */
static void add(struct finding *f, const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	if (!realpath(path, folder) || stat(folder, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    !binds_is_below(f->target, folder, strlen(folder)) || !is_for_reading(folder) ||
	    has(f->covers, folder, strlen(folder)))
		return;
	drop_those_in(f->covers, folder);
	f->failed |= !append(f->covers, folder);
}

/* Nobody has named it as a place only to be read, and who works in it writes there, maybe. */
static void add_guessed(struct finding *f, const char *path)
{
	char folder[PATH_MAX];

	if (realpath(path, folder) && !binds_is_below(folder, f->here, strlen(f->here)))
		add(f, folder);
}

/* The length of what is before its name, when that is one of parts; else 0. */
static size_t before_part(const char *folder)
{
	const char *name = strrchr(folder, '/') + 1;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(name, parts[i]) == 0)
			return (size_t)(name - folder);
	return 0;
}

/* A folder of programs or libraries, and those that belong to it. */
static void add_installed(struct finding *f, const char *path, size_t len)
{
	char folder[PATH_MAX], part[PATH_MAX];
	size_t prefix;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof folder || !len || *path != '/')
		return;
	memcpy(folder, path, len);
	folder[len] = '\0';
	prefix = before_part(folder);
	add_guessed(f, folder);
	for (size_t i = 0; prefix && i < ARRAY_LEN(parts); i++)
		if (snprintf(part, sizeof part, "%.*s%s", (int)prefix, folder, parts[i]) <
		    (int)sizeof part)
			add_guessed(f, part);
}

static void add_variable(struct finding *f, const char *name)
{
	const char *value = getenv(name);

	while (value && *value) {
		size_t len = strcspn(value, ":");

		add_installed(f, value, len);
		value += len + (value[len] == ':');
	}
}

static void add_folder_of(struct finding *f, const char *program)
{
	add_installed(f, program, (size_t)(strrchr(program, '/') - program));
}

/* The program, where links to it lead, and what runs it when it is a script. */
static void add_program(struct finding *f, const char *path)
{
	char program[PATH_MAX], real[PATH_MAX];
	struct script script;

	snprintf(program, sizeof program, "%s", path);
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		add_folder_of(f, program);
		if (realpath(program, real))
			add_folder_of(f, real);
		if (!program_is_script(program, &script))
			return;
		if (strcmp(strrchr(script.interpreter, '/'), "/env") != 0)
			snprintf(program, sizeof program, "%s", script.interpreter);
		else if (!program_find(script.argument, program))
			return;
	}
}

/* The packages that a user has installed for himself: PYTHONUSERBASE's default. */
static void add_user_packages(struct finding *f)
{
	char path[PATH_MAX];
	const char *home = getenv("HOME");

	if (home && snprintf(path, sizeof path, "%s/.local/lib", home) < (int)sizeof path)
		add_guessed(f, path);
}

int binds_find(struct binds *c, const char *target, const char *program,
	       const struct opt_list *more, struct err *e)
{
	struct finding f = { .covers = c, .target = target };

	if (!getcwd(f.here, sizeof f.here))
		f.here[0] = '\0';
	add_guessed(&f, target);
	for (size_t i = 0; i < ARRAY_LEN(of_system); i++)
		add(&f, of_system[i]);
	for (size_t i = 0; redirect_variables[i]; i++)
		add_variable(&f, redirect_variables[i]);
	for (size_t i = 0; i < more->count; i++)
		add_variable(&f, more->items[i]);
	add_user_packages(&f);
	if (program)
		add_program(&f, program);
	return f.failed ? err_nomem(e) : 0;
}
