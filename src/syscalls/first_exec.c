/* SPDX-License-Identifier: MIT */
#include "syscalls/first_exec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void syscall_first_exec_fini(struct syscall_first_exec *m)
{
	buf_fini(&m->path);
	buf_fini(&m->strings);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The path that execvp(3) chooses. */
static void find_program(struct buf *path, const char *name)
{
	const char *at = getenv("PATH");

	if (!at)
		at = "/bin:/usr/bin";
	while (!strchr(name, '/')) {
		size_t len = strcspn(at, ":");

		buf_clear(path);
		buf_put(path, at, len);
		buf_put_str(path, len ? "/" : "");
		buf_put_str(path, name);
		if (buf_error(path) < 0 || is_program(path->data))
			return;
		at += len;
		if (!*at++)
			break;
	}
	buf_clear(path);
	buf_put_str(path, name);
}

static void join(struct syscall_first_exec *m, char *const *argv, bool *ret_is_cut)
{
	*ret_is_cut = false;
	for (; *argv && !*ret_is_cut; argv++) {
		size_t len = strlen(*argv);

		len = len < SYSCALL_STRING_BYTES ? len : SYSCALL_STRING_BYTES - 1;
		*ret_is_cut = m->strings.len + len >= SYSCALL_FETCH_BYTES;
		if (*ret_is_cut)
			break;
		buf_put(&m->strings, *argv, len);
		buf_put_byte(&m->strings, '\0');
	}
}

bool syscall_first_exec_get(struct syscall_first_exec *m, const struct syscall *c,
			    char *const *argv)
{
	bool is_cut;

	if (!argv || c->nr != SYS_execve || c->has_start || !c->has_end || c->ret < 0)
		return false;
	find_program(&m->path, argv[0]);
	join(m, argv, &is_cut);
	for (char **v = environ; v && *v; v++)
		m->variables++;
	if (buf_error(&m->path) < 0 || buf_error(&m->strings) < 0)
		return false;
	m->call = *c;
	m->call.has_start = true;
	memset(m->call.args, 0, sizeof m->call.args);
	m->call.memory[0] = (struct syscall_memory){ .arg = 0,
						     .len = (uint16_t)m->path.len,
						     .bytes = m->path.data };
	m->call.memory[1] = (struct syscall_memory){ .arg = 1,
						     .is_cut = is_cut,
						     .len = (uint16_t)m->strings.len,
						     .bytes = m->strings.data };
	m->call.memory[2] = (struct syscall_memory){ .arg = 2,
						     .len = sizeof m->variables,
						     .bytes = (const char *)&m->variables };
	m->call.memory_count = 3;
	return true;
}
