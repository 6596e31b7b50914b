/* SPDX-License-Identifier: MIT */
#include "syscalls/on_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts an absolute path without empty names, "." and "..", and without "/" at its end. */
static void put_normal(const char *path, size_t len, struct buf *to)
{
	buf_clear(to);
	for (size_t at = 0; at < len;) {
		size_t name = 0;

		while (at < len && path[at] == '/')
			at++;
		while (at + name < len && path[at + name] != '/')
			name++;
		if (name == 2 && memcmp(path + at, "..", 2) == 0) {
			while (to->len && to->data[--to->len] != '/')
				;
		} else if (name && !(name == 1 && path[at] == '.')) {
			buf_put_byte(to, '/');
			buf_put(to, path + at, name);
		}
		at += name;
	}
	if (!to->len)
		buf_put_byte(to, '/');
}

static void add_normal(struct syscall_on_path *o, struct syscall_files *files, const char *path)
{
	uint32_t *row, id;

	put_normal(path, strlen(path), &o->scratch);
	id = buf_error(&o->scratch) < 0
		     ? STRTAB_NONE
		     : strtab_intern(files->strings, o->scratch.data, o->scratch.len);
	row = id == STRTAB_NONE ? NULL : rows_add(&o->wanted, sizeof *row);
	if (row)
		*row = id;
	else
		files->bad = true;
}

void syscall_on_path_add(struct syscall_on_path *o, struct syscall_files *files, const char *path)
{
	char folder[PATH_MAX], *real = realpath(path, NULL);
	CLEANUP(buf_fini) struct buf absolute = { 0 };

	if (path[0] != '/' && getcwd(folder, sizeof folder))
		buf_printf(&absolute, "%s/", folder);
	buf_put_str(&absolute, path);
	if (buf_error(&absolute) < 0)
		files->bad = true;
	else
		add_normal(o, files, absolute.data);
	if (real)
		add_normal(o, files, real);
	free(real);
}

void syscall_on_path_fini(struct syscall_on_path *o)
{
	rows_fini(&o->wanted);
	buf_fini(&o->scratch);
}

static bool is_wanted(const struct syscall_on_path *o, uint32_t name)
{
	const uint32_t *wanted = o->wanted.data;

	for (size_t i = 0; i < o->wanted.count; i++)
		if (wanted[i] == name)
			return true;
	return false;
}

/* name: of a file as the program gave it. */
static bool is_same(struct syscall_on_path *o, struct syscall_files *files, uint32_t name)
{
	struct str text;

	if (!name || is_wanted(o, name))
		return name;
	text = strtab_get(files->strings, name);
	if (!text.len || text.ptr[0] != '/')
		return false;
	put_normal(text.ptr, text.len, &o->scratch);
	if (buf_error(&o->scratch) < 0) {
		files->bad = true;
		return false;
	}
	return is_wanted(o, strtab_find(files->strings, o->scratch.data, o->scratch.len));
}

bool syscall_is_on_path(struct syscall_on_path *o, struct syscall_files *files,
			const struct syscall *c)
{
	const char *signature = syscall_signature(c->nr);

	for (size_t i = 0; c->has_start && signature[i]; i++) {
		uint32_t name = 0;

		if (signature[i] == ARG_PATH)
			name = syscall_files_path_arg(files, c, i);
		else if (signature[i] == ARG_FD ||
			 (signature[i] == ARG_DIRFD && (int)c->args[i] >= 0))
			name = syscall_files_fd(files, c->pid, (int)c->args[i]);
		if (is_same(o, files, name))
			return true;
	}
	return false;
}
