/* SPDX-License-Identifier: MIT */
#include "syscalls/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/log.h"
#include "syscalls/names.h"

#define FDS_MAX 65536 /* above it, each use reads /proc */

/* The table of a process: ids of names; 0: not read yet. */
struct holder {
	uint32_t pid, parent;
	uint32_t cwd;
	uint32_t *fds; /* [fd_count]; owned */
	uint32_t fd_count;
	bool is_used;
};

void syscall_files_fini(struct syscall_files *f)
{
	struct holder *all = f->processes.data;

	for (size_t i = 0; i < f->processes.count; i++)
		free(all[i].fds);
	rows_fini(&f->processes);
	map_fini(&f->by_pid);
	buf_fini(&f->path);
}

static struct holder *find(struct syscall_files *f, uint32_t pid)
{
	uint32_t i = map_get(&f->by_pid, pid);

	return i == MAP_NONE ? NULL : (struct holder *)f->processes.data + i;
}

static struct holder *get(struct syscall_files *f, uint32_t pid)
{
	uint32_t *at = map_at(&f->by_pid, pid);
	struct holder *h;

	if (at && *at != MAP_NONE)
		return (struct holder *)f->processes.data + *at;
	h = at ? rows_add(&f->processes, sizeof *h) : NULL;
	if (!h) {
		f->bad = true;
		return NULL;
	}
	*at = (uint32_t)(f->processes.count - 1);
	h->pid = pid;
	return h;
}

static bool is_beyond(struct syscall_files *f, size_t len)
{
	f->is_full = strtab_count(f->strings) >= SYSCALL_FILE_NAMES_MAX ||
		     f->name_bytes + len > SYSCALL_FILE_BYTES_MAX;
	if (f->is_full)
		log_msg(LOG_WARN, "syscalls",
			"too many different paths: further ones are shown as " SYSCALL_FILE_OTHERS);
	return f->is_full;
}

static uint32_t intern(struct syscall_files *f, const char *text, size_t len)
{
	uint32_t id = strtab_find(f->strings, text, len);

	if (id != STRTAB_NONE)
		return id;
	if (f->is_full || is_beyond(f, len)) {
		text = SYSCALL_FILE_OTHERS;
		len = sizeof SYSCALL_FILE_OTHERS - 1;
	}
	f->name_bytes += len;
	id = strtab_intern(f->strings, text, len);
	f->bad |= id == STRTAB_NONE;
	return id == STRTAB_NONE ? 0 : id;
}

static uint32_t read_name(struct syscall_files *f, const char *link)
{
	char text[PATH_MAX];
	ssize_t n = f->skips_proc ? 0 : readlink(link, text, sizeof text);

	return n > 0 ? intern(f, text, (size_t)n) : 0;
}

static void set_fd(struct syscall_files *f, struct holder *h, int64_t fd, uint32_t name)
{
	uint32_t count = h->fd_count ? h->fd_count : 16;
	uint32_t *fds;

	if (fd < 0 || fd >= FDS_MAX || (fd >= h->fd_count && !name))
		return;
	while (count <= fd)
		count *= 2;
	if (count != h->fd_count) {
		fds = reallocarray(h->fds, count, sizeof *fds);
		if (!fds) {
			f->bad = true;
			return;
		}
		memset(fds + h->fd_count, 0, (count - h->fd_count) * sizeof *fds);
		h->fds = fds;
		h->fd_count = count;
	}
	h->fds[fd] = name;
}

/* Read from /proc when no call has shown it, and from the parent when that is too late. */
static uint32_t cwd_of(struct syscall_files *f, uint32_t pid)
{
	struct holder *h = get(f, pid), *parent;
	char link[64];

	if (!h)
		return 0;
	if (!h->cwd) {
		snprintf(link, sizeof link, "/proc/%u/cwd", pid);
		h->cwd = read_name(f, link);
	}
	parent = h->cwd || !h->parent ? NULL : find(f, h->parent);
	return parent ? parent->cwd : h->cwd;
}

void syscall_files_fork(struct syscall_files *f, uint32_t pid, uint32_t parent)
{
	uint32_t cwd = cwd_of(f, parent), count;
	struct holder *h = get(f, pid), *from = find(f, parent);
	uint32_t *fds;

	if (!h || !from)
		return;
	count = from->fd_count;
	fds = count ? reallocarray(NULL, count, sizeof *fds) : NULL;
	f->bad |= count && !fds;
	if (fds)
		memcpy(fds, from->fds, count * sizeof *fds);
	free(h->fds);
	h->fds = fds;
	h->fd_count = fds ? count : 0;
	h->cwd = cwd;
	h->parent = parent;
}

void syscall_files_inherit(struct syscall_files *f, uint32_t pid)
{
	uint32_t own = (uint32_t)getpid();

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		syscall_files_fd(f, own, fd);
	syscall_files_fork(f, pid, own);
}

static void forget_fds(struct holder *h)
{
	free(h->fds);
	h->fds = NULL;
	h->fd_count = 0;
}

void syscall_files_exit(struct syscall_files *f, uint32_t pid)
{
	struct holder *h = find(f, pid);

	if (!h)
		return;
	forget_fds(h);
	h->cwd = 0;
}

uint32_t syscall_files_fd(struct syscall_files *f, uint32_t pid, int fd)
{
	struct holder *h = get(f, pid);
	char link[64];
	uint32_t name;

	if (!h || fd < 0)
		return 0;
	if ((uint32_t)fd < h->fd_count && h->fds[fd])
		return h->fds[fd];
	snprintf(link, sizeof link, "/proc/%u/fd/%d", pid, fd);
	name = read_name(f, link);
	if (name)
		set_fd(f, h, fd, name);
	return name;
}

void syscall_files_set_fd(struct syscall_files *f, uint32_t pid, int fd, const char *name,
			  size_t len)
{
	struct holder *h = get(f, pid);

	if (h)
		set_fd(f, h, fd, intern(f, name, len));
}

uint32_t syscall_files_path(struct syscall_files *f, uint32_t pid, int dirfd, const char *path,
			    size_t len)
{
	uint32_t folder;
	struct str text;

	if (len && path[0] == '/')
		return intern(f, path, len);
	folder = dirfd == AT_FDCWD ? cwd_of(f, pid) : syscall_files_fd(f, pid, dirfd);
	if (!folder)
		return intern(f, path, len);
	while (len >= 2 && path[0] == '.' && path[1] == '/') {
		path += 2;
		len -= 2;
	}
	text = strtab_get(f->strings, folder);
	if (len == 0 || (len == 1 && path[0] == '.'))
		return folder;
	buf_clear(&f->path);
	buf_put(&f->path, text.ptr, text.len);
	if (text.len == 0 || text.ptr[text.len - 1] != '/')
		buf_put_byte(&f->path, '/');
	buf_put(&f->path, path, len);
	f->bad |= buf_error(&f->path) < 0;
	return f->bad ? 0 : intern(f, f->path.data, f->path.len);
}

uint32_t syscall_files_path_arg(struct syscall_files *f, const struct syscall *c, size_t arg)
{
	const char *signature = syscall_signature(c->nr);
	const struct syscall_memory *m = syscall_memory_of(c, arg);
	int dirfd = AT_FDCWD;

	if (!m)
		return 0;
	if (arg > 0 && signature[arg - 1] == ARG_DIRFD)
		dirfd = (int)c->args[arg - 1];
	else if (strcmp(signature, "SDs") == 0)
		dirfd = (int)c->args[1];
	return syscall_files_path(f, c->pid, dirfd, m->bytes, m->len);
}

static size_t path_of(const struct syscall *c)
{
	return (size_t)(strchr(syscall_signature(c->nr), ARG_PATH) - syscall_signature(c->nr));
}

static void follow_dup(struct syscall_files *f, const struct syscall *c)
{
	uint32_t name = syscall_files_fd(f, c->pid, (int)c->args[0]);
	struct holder *h = get(f, c->pid);

	if (h)
		set_fd(f, h, c->ret, name);
}

static void forget_range(struct syscall_files *f, const struct syscall *c)
{
	struct holder *h = find(f, c->pid);

	for (uint64_t fd = c->args[0]; h && fd <= c->args[1] && fd < h->fd_count; fd++)
		h->fds[fd] = 0;
}

static void follow_folder(struct syscall_files *f, const struct syscall *c, uint32_t name)
{
	struct holder *h = get(f, c->pid);

	if (h)
		h->cwd = name;
}

/* A descriptor without a path that is closed before /proc is read has the name of its call. */
static void name_new(struct syscall_files *f, const struct syscall *c, int64_t fd, const char *made)
{
	struct holder *h = get(f, c->pid);

	if (h)
		set_fd(f, h, fd, 0);
	if (!h || syscall_files_fd(f, c->pid, (int)fd))
		return;
	h = get(f, c->pid);
	if (h)
		set_fd(f, h, fd, intern(f, made, strlen(made)));
}

static void follow_new(struct syscall_files *f, const struct syscall *c)
{
	uint32_t name = syscall_has_path(c->nr) ? syscall_files_path_arg(f, c, path_of(c)) : 0;
	struct holder *h = get(f, c->pid);

	if (name && h)
		set_fd(f, h, c->ret, name);
	else
		name_new(f, c, c->ret, syscall_names[c->nr]);
}

static void follow_pair(struct syscall_files *f, const struct syscall *c)
{
	const char *signature = syscall_signature(c->nr);
	const struct syscall_memory *m =
		syscall_memory_of(c, (size_t)(strchr(signature, ARG_FDS) - signature));
	int fds[2];

	if (!m || m->len < sizeof fds)
		return;
	memcpy(fds, m->bytes, sizeof fds);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		name_new(f, c, fds[i], syscall_names[c->nr]);
}

void syscall_files_apply(struct syscall_files *f, const struct syscall *c)
{
	if (!c->has_start || !c->has_end || c->ret < 0)
		return;
	switch (c->nr) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_memfd_create:
	case SYS_epoll_create1:
	case SYS_eventfd2:
	case SYS_signalfd4:
	case SYS_timerfd_create:
	case SYS_inotify_init1:
		follow_new(f, c);
		break;
#ifdef SYS_pipe
	case SYS_pipe:
#endif
	case SYS_pipe2:
	case SYS_socketpair:
		follow_pair(f, c);
		break;
	case SYS_dup:
	case SYS_dup3:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
		follow_dup(f, c);
		break;
	case SYS_fcntl:
		if (c->args[1] == F_DUPFD || c->args[1] == F_DUPFD_CLOEXEC)
			follow_dup(f, c);
		break;
	case SYS_close:
		forget_range(f, &(struct syscall){
					.pid = c->pid,
					.args = { (uint32_t)c->args[0], (uint32_t)c->args[0] } });
		break;
	case SYS_close_range:
		forget_range(f, c);
		break;
	case SYS_chdir:
		follow_folder(f, c, syscall_files_path_arg(f, c, 0));
		break;
	case SYS_fchdir:
		follow_folder(f, c, syscall_files_fd(f, c->pid, (int)c->args[0]));
		break;
	default:
		break;
	}
}
