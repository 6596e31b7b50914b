/* SPDX-License-Identifier: MIT */
#include "syscalls/bpf_event.h"

#include <string.h>

void syscall_bpf_event_get(const struct calls_event *ev, size_t bytes, struct syscall *ret)
{
	size_t at = 0;

	*ret = (struct syscall){
		.pid = ev->pid,
		.tid = ev->tid,
		.nr = ev->nr,
		.has_start = ev->has & CALLS_HAS_START,
		.has_end = ev->has & CALLS_HAS_END,
		.ret = ev->ret,
		.start_ns = (int64_t)ev->start_ns,
		.end_ns = (int64_t)ev->end_ns,
	};
	memcpy(ret->args, ev->args, sizeof ret->args);
	for (size_t i = 0; i < ev->memory.count && i < SYSCALL_FETCHES; i++) {
		const struct calls_part *part = &ev->memory.parts[i];

		if (at + part->len > bytes)
			break;
		ret->memory[ret->memory_count++] =
			(struct syscall_memory){ .arg = (uint8_t)part->arg,
						 .is_cut = part->is_cut,
						 .len = part->len,
						 .bytes = ev->memory.bytes + at };
		at += part->len;
	}
}

/* Of "c\0b\0a\0\0" the path is "/a/b/c"; of "sockfs\0" it is "socket". */
static void put_path(const struct syscall_memory *m, struct buf *to)
{
	static const struct {
		const char *fs, *name;
	} pathless[] = { { "sockfs", "socket" }, { "pipefs", "pipe" } };
	size_t end = m->len;
	bool is_path = m->len && (m->is_cut || m->len == 1 || !m->bytes[m->len - 2]);

	if (!is_path) {
		for (size_t i = 0; i < ARRAY_LEN(pathless); i++)
			if (strncmp(m->bytes, pathless[i].fs, m->len) == 0) {
				buf_put_str(to, pathless[i].name);
				return;
			}
		buf_put(to, m->bytes, strnlen(m->bytes, m->len));
		return;
	}
	end -= m->is_cut ? 0 : 1;
	if (m->is_cut)
		buf_put_str(to, "...");
	else if (!end)
		buf_put_byte(to, '/');
	while (end > 0) {
		size_t from = end - 1; /* of the NUL */

		while (from > 0 && m->bytes[from - 1])
			from--;
		buf_put_byte(to, '/');
		buf_put(to, m->bytes + from, end - 1 - from);
		end = from;
	}
}

void syscall_bpf_event_name_fds(struct syscall_files *files, const struct syscall *c)
{
	const char *signature = syscall_signature(c->nr);

	for (size_t i = 0; signature[i]; i++) {
		const struct syscall_memory *m = syscall_memory_of(c, i);
		CLEANUP(buf_fini) struct buf path = { 0 };

		if (!m || (signature[i] != ARG_FD && signature[i] != ARG_DIRFD))
			continue;
		put_path(m, &path);
		if (buf_error(&path) < 0)
			files->bad = true;
		else if (path.len)
			syscall_files_set_fd(files, c->pid, (int)c->args[i], path.data, path.len);
	}
}
