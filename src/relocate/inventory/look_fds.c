/* SPDX-License-Identifier: MIT */
/*
 * Until look_groups() each descriptor has a description of its own: the same row in both lists.
 * Locks and epoll sets name the row of the descriptor meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/look.h"

#define FDINFO_MAX (16 << 20) /* bytes; an epoll set has a line a descriptor */
#define FLAG_CLOEXEC 02000000u
#define FLAG_ASYNC 020000u
#define FLAG_PATH 010000000u

/* The descriptor that is looked at. */
struct at_fd {
	uint32_t proc;
	int number;
	char what[32];        /* "descriptor 5" */
	char path[PROC_PATH]; /* of its link */
	const struct seen *seen;
	struct proc_fdinfo info;
};

static void leave(struct look *l, const struct at_fd *at, const char *reason, const char *remedy)
{
	look_obstacle(l, RELOC_LEAVES, at->proc, at->what, at->seen->link, reason, remedy);
}

/* Kernel-internal: 20 bits of minor. */
bool look_is_old_sdev(const struct look *l, uint64_t sdev)
{
	const struct reloc_place *old = l->ask->old_place;

	return sdev >> 20 == old->dev_major && (sdev & 0xfffff) == old->dev_minor;
}

/* "1: POSIX  ADVISORY  WRITE 123 08:01:456 0 EOF". False: a kind that is not known. */
static bool parse_lock(struct reloc_lock *lock, const char *line)
{
	char kind[16], access[16], end[32];

	if (sscanf(line, " %*d: %15s %*s %15s %*d %*s %" SCNu64 " %31s", kind, access, &lock->start,
		   end) != 4)
		return false;
	if (strcmp(kind, "FLOCK") == 0)
		lock->kind = RELOC_LOCK_FLOCK;
	else if (strcmp(kind, "POSIX") == 0)
		lock->kind = RELOC_LOCK_POSIX;
	else if (strcmp(kind, "OFDLCK") == 0)
		lock->kind = RELOC_LOCK_OFD;
	else
		return false;
	lock->is_write = strcmp(access, "WRITE") == 0;
	lock->end = strcmp(end, "EOF") == 0 ? UINT64_MAX : strtoull(end, NULL, 10);
	return lock->is_write || strcmp(access, "READ") == 0;
}

static bool add_locks(struct look *l, const struct at_fd *at, uint32_t fd)
{
	char *text = l->text.data, *line;
	bool is_known = true;

	while ((line = proc_line(&text, "lock:"))) {
		struct reloc_lock lock = { .proc = at->proc, .desc = fd };
		struct reloc_lock *row;

		if (!parse_lock(&lock, line)) {
			leave(l, at,
			      strstr(line, "LEASE") ? "it has a lease"
						    : "it has a lock of an unknown kind",
			      "let the process give it up");
			is_known = false;
			continue;
		}
		row = rows_add(&l->locks, sizeof *row);
		if (!row) {
			l->bad = true;
			break;
		}
		*row = lock;
	}
	return is_known;
}

/* At its start or at its end; the positions between are the file system's own. */
static bool is_between(uint64_t pos)
{
	return pos != 0 && pos != INT64_MAX && pos != INT32_MAX;
}

/* Why it cannot be moved; NULL: it can. */
static const char *why_left(const struct at_fd *at, const char **ret_remedy)
{
	uint32_t type = at->seen->x.stx_mode & S_IFMT;

	*ret_remedy = "close it in the process";
	if (at->seen->is_other_mount) {
		*ret_remedy = "unmount the other mount";
		return "it was opened through another mount of the file system";
	}
	if (at->seen->is_long)
		return LOOK_LONG;
	if (at->info.flags & FLAG_PATH)
		return !at->seen->below && type == S_IFDIR ? "its directory was removed" : NULL;
	if (at->info.flags & FLAG_ASYNC)
		return "it sends signals (O_ASYNC)";
	if (type == S_IFDIR && !at->seen->below)
		return "its directory was removed";
	if (type == S_IFDIR && is_between(at->info.pos))
		return "its directory is read half";
	if (type == S_IFIFO && !at->seen->below)
		return "it is a FIFO without a name";
	if (type != S_IFREG && type != S_IFDIR && type != S_IFIFO)
		return "it is no file, directory or FIFO";
	return NULL;
}

static void add_fd(struct look *l, const struct at_fd *at)
{
	uint32_t file = look_file(l, at->seen, at->path, RELOC_USE_FD);
	uint32_t row = (uint32_t)l->fds.count;
	struct reloc_fd *fd = rows_add(&l->fds, sizeof *fd);
	struct reloc_desc *desc = rows_add(&l->descs, sizeof *desc);
	const char *reason, *remedy;

	if (!fd || !desc || file == RELOC_NONE) {
		l->bad = true;
		return;
	}
	*fd = (struct reloc_fd){ at->proc, at->number, row, (at->info.flags & FLAG_CLOEXEC) != 0 };
	*desc = (struct reloc_desc){
		.file = file,
		.flags = at->info.flags & ~FLAG_CLOEXEC,
		.pos = at->info.pos,
		.first = row,
	};
	desc->is_left = !add_locks(l, at, row);
	reason = desc->is_left ? NULL : why_left(at, &remedy);
	if (reason) {
		desc->is_left = true;
		leave(l, at, reason, remedy);
	}
}

/* The number behind a word of fdinfo; 0: it is not there. */
static uint64_t info_number(struct look *l, const char *word)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	char *text, *line;

	buf_put(&copy, l->text.data, l->text.len);
	text = copy.data;
	line = proc_line(&text, word);
	return line ? strtoull(line, NULL, 10) : 0;
}

static void look_epoll(struct look *l, const struct at_fd *at)
{
	char *text = l->text.data, *line;

	while ((line = proc_line(&text, "tfd:"))) {
		struct reloc_epoll row = { .proc = at->proc, .epoll = at->number };
		struct reloc_epoll *e;
		uint64_t sdev;

		if (sscanf(line, "%d events: %x data: %" SCNx64 " pos:%*d ino:%*x sdev:%" SCNx64,
			   &row.number, &row.events, &row.data, &sdev) != 4) {
			leave(l, at, "its list of descriptors is not understood", "");
			return;
		}
		if (!look_is_old_sdev(l, sdev))
			continue;
		e = rows_add(&l->epolls, sizeof *e);
		if (!e) {
			l->bad = true;
			return;
		}
		row.desc = RELOC_NONE;
		*e = row;
	}
}

static void look_fanotify(struct look *l, const struct at_fd *at)
{
	char *text = l->text.data, *line;

	while ((line = proc_line(&text, "fanotify "))) {
		const char *word = strstr(line, "sdev:");
		const char *mount = strstr(line, "mnt_id:");

		if ((word && look_is_old_sdev(l, strtoull(word + 5, NULL, 16))) ||
		    (mount && map_get(&l->mine, strtoull(mount + 7, NULL, 16)) != MAP_NONE)) {
			leave(l, at, "it watches something on OLD's file system (fanotify)",
			      "close it in the process");
			return;
		}
	}
}

/* What a ring of io_uring holds is in nobody's descriptors. */
static void look_ring(struct look *l, const struct at_fd *at)
{
	const char *remedy = "wait until the process has closed the ring";

	if (info_number(l, "UserFiles:"))
		leave(l, at, "its ring of io_uring has registered files", remedy);
	else if ((int)info_number(l, "SqThread:") > 0)
		leave(l, at, "its ring of io_uring is read by a thread of the kernel", remedy);
	else if (info_number(l, "CachedSqHead:") != info_number(l, "CachedCqTail:"))
		leave(l, at, "its ring of io_uring has requests on the way", remedy);
}

static void look_socket(struct look *l, const struct at_fd *at)
{
	uint64_t ino = strtoull(at->seen->link + strlen("socket:["), NULL, 10);
	pid_t pid = ((struct reloc_proc *)l->procs.data)[at->proc].pid;
	uint64_t sent = info_number(l, "scm_fds:");

	if (map_get(&l->bound, ino) != MAP_NONE)
		leave(l, at, "it is a socket bound to a name below OLD",
		      "let the process make it elsewhere");
	if (sent && look_sent(l, pid, at->number, sent))
		look_obstacle(l, RELOC_PREVENTS, at->proc, at->what, at->seen->link,
			      "a descriptor of OLD, or one that cannot be seen, was sent to it",
			      "wait until the process has received it");
}

static bool starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static void look_other(struct look *l, const struct at_fd *at)
{
	const char *link = at->seen->link, *why = NULL;

	if (starts(link, "/dev/infiniband/") || starts(link, "/dev/nvidia") ||
	    starts(link, "/dev/kfd") || starts(link, "/dev/dri/"))
		l->bad |= map_put(&l->pinners, at->proc, 1) < 0;
	else if (starts(link, "socket:["))
		look_socket(l, at);
	else if (starts(link, "anon_inode:[eventpoll]"))
		look_epoll(l, at);
	else if (starts(link, "anon_inode:inotify"))
		why = look_inotify(l, at->proc, at->number, l->text.data);
	else if (starts(link, "anon_inode:[fanotify]"))
		look_fanotify(l, at);
	else if (starts(link, "anon_inode:[io_uring]"))
		look_ring(l, at);
	if (why)
		leave(l, at, why, "close it in the process");
}

static bool needs_fdinfo(const struct seen *seen)
{
	return seen->is_old || starts(seen->link, "anon_inode:") || starts(seen->link, "socket:[");
}

static int look_fd(struct look *l, uint32_t proc, int number, struct err *e)
{
	pid_t pid = ((struct reloc_proc *)l->procs.data)[proc].pid;
	struct at_fd at = { .proc = proc, .number = number };
	char path[PROC_PATH];
	struct seen seen;

	snprintf(at.path, sizeof at.path, "/proc/%d/fd/%d", (int)pid, number);
	snprintf(at.what, sizeof at.what, "descriptor %d", number);
	if (!look_link(l, at.path, &seen))
		return 0;
	at.seen = &seen;
	buf_clear(&l->text);
	if (needs_fdinfo(&seen)) {
		snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, number);
		if (file_read_small(path, FDINFO_MAX, &l->text, e) < 0)
			return e->code == -ENOENT ? 0 : e->code; /* closed meanwhile */
		buf_put_byte(&l->text, '\0');
		if (buf_error(&l->text) < 0)
			return err_nomem(e);
		if (!proc_fdinfo_parse(&at.info, l->text.data))
			return err_set(e, -EINVAL, "%s: not understood", path);
	}
	if (seen.is_old)
		add_fd(l, &at);
	else
		look_other(l, &at);
	return 0;
}

int look_fds(struct look *l, uint32_t proc, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	struct reloc_proc *p = (struct reloc_proc *)l->procs.data + proc;
	char path[PROC_PATH];

	if (p->files_of != proc)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)p->pid);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	for (size_t i = 0; i < numbers.count && !l->bad; i++)
		if (look_fd(l, proc, ((int *)numbers.data)[i], e) < 0)
			return e->code;
	return l->bad ? err_nomem(e) : 0;
}
