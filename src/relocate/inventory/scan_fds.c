/* SPDX-License-Identifier: MIT */
/*
 * Descriptors. Until scan_shared_descs() each descriptor has a description of its own, with the
 * same row; locks and epoll sets name the row of the descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/str.h"
#include "relocate/inventory/scan_internal.h"

#define FDINFO_MAX (16 << 20) /* bytes; fdinfo of an epoll set has a line for each descriptor */
#define FLAG_CLOEXEC 02000000u
#define FLAG_ASYNC 020000u
#define FLAG_PATH 010000000u

/* The scanned descriptor. */
struct at_fd {
	uint32_t proc;
	int number;
	char what[32];        /* "descriptor 5" */
	char path[PROC_PATH]; /* of its link in /proc */
	const struct link_target *target;
	struct proc_fdinfo info;
};

static void keep_on_old(struct scan *sc, const struct at_fd *at, const char *reason,
			const char *remedy)
{
	scan_add_obstacle(sc, RELOC_STAYS, at->proc, at->what, at->target->link, reason, remedy);
}

/* sdev is the kernel's internal dev_t, with 20 bits of minor. */
bool scan_is_old_sdev(const struct scan *sc, uint64_t sdev)
{
	const struct top_dir *old = sc->opts->old_dir;

	return sdev >> 20 == old->dev_major && (sdev & 0xfffff) == old->dev_minor;
}

/* "1: POSIX  ADVISORY  WRITE 123 08:01:456 0 EOF". False: an unknown kind. */
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

static bool add_locks(struct scan *sc, const struct at_fd *at, uint32_t fd)
{
	char *text = sc->text.data, *line;
	bool is_known = true;

	while ((line = proc_line(&text, "lock:"))) {
		struct reloc_lock lock = { .proc = at->proc, .desc = fd };
		struct reloc_lock *row;

		if (!parse_lock(&lock, line)) {
			keep_on_old(sc, at,
				    strstr(line, "LEASE") ? "it has a lease"
							  : "it has a lock of an unknown kind",
				    "release it in the process");
			is_known = false;
			continue;
		}
		row = rows_add(&sc->locks, sizeof *row);
		if (!row) {
			sc->bad = true;
			break;
		}
		*row = lock;
	}
	return is_known;
}

/* Only start and end are valid on another file system: positions of directories differ. */
static bool is_between(uint64_t pos)
{
	return pos != 0 && pos != INT64_MAX && pos != INT32_MAX;
}

/* The reason why it cannot be moved; NULL: it can. */
static const char *why_stays(const struct at_fd *at, const char **ret_remedy)
{
	uint32_t type = at->target->x.stx_mode & S_IFMT;

	*ret_remedy = "close it in the process";
	if (at->target->is_other_mount) {
		*ret_remedy = "unmount the other mount";
		return "it was opened through another mount of the file system";
	}
	if (at->target->is_long)
		return SCAN_PATH_TOO_LONG;
	if (at->info.flags & FLAG_PATH)
		return !at->target->below && type == S_IFDIR ? "the directory is deleted" : NULL;
	if (at->info.flags & FLAG_ASYNC)
		return "it sends signals (O_ASYNC)";
	if (type == S_IFDIR && !at->target->below)
		return "the directory is deleted";
	if (type == S_IFDIR && is_between(at->info.pos))
		return "the process is reading the directory";
	if (type == S_IFIFO && !at->target->below)
		return "the FIFO is unlinked";
	if (type != S_IFREG && type != S_IFDIR && type != S_IFIFO)
		return "it is not a file, directory or FIFO";
	return NULL;
}

static void add_fd(struct scan *sc, const struct at_fd *at)
{
	uint32_t file = scan_add_file(sc, at->target, at->path, RELOC_USE_FD);
	uint32_t row = (uint32_t)sc->fds.count;
	struct reloc_fd *fd = rows_add(&sc->fds, sizeof *fd);
	struct reloc_desc *desc = rows_add(&sc->descs, sizeof *desc);
	const char *reason, *remedy;

	if (!fd || !desc || file == RELOC_NONE) {
		sc->bad = true;
		return;
	}
	*fd = (struct reloc_fd){ at->proc, at->number, row, (at->info.flags & FLAG_CLOEXEC) != 0 };
	*desc = (struct reloc_desc){
		.file = file,
		.flags = at->info.flags & ~FLAG_CLOEXEC,
		.pos = at->info.pos,
		.first = row,
	};
	desc->stays = !add_locks(sc, at, row);
	reason = desc->stays ? NULL : why_stays(at, &remedy);
	if (reason) {
		desc->stays = true;
		keep_on_old(sc, at, reason, remedy);
	}
}

/* The number after key in fdinfo; 0: not found. */
static uint64_t info_number(struct scan *sc, const char *word)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	char *text, *line;

	buf_put(&copy, sc->text.data, sc->text.len);
	text = copy.data;
	line = proc_line(&text, word);
	return line ? strtoull(line, NULL, 10) : 0;
}

static void scan_epoll(struct scan *sc, const struct at_fd *at)
{
	char *text = sc->text.data, *line;

	while ((line = proc_line(&text, "tfd:"))) {
		struct reloc_epoll row = { .proc = at->proc, .epoll = at->number };
		struct reloc_epoll *e;
		uint64_t sdev;

		if (sscanf(line, "%d events: %x data: %" SCNx64 " pos:%*d ino:%*x sdev:%" SCNx64,
			   &row.number, &row.events, &row.data, &sdev) != 4) {
			keep_on_old(sc, at, "fdinfo has an unknown format", "");
			return;
		}
		if (!scan_is_old_sdev(sc, sdev))
			continue;
		e = rows_add(&sc->epolls, sizeof *e);
		if (!e) {
			sc->bad = true;
			return;
		}
		row.desc = RELOC_NONE;
		*e = row;
	}
}

static void scan_fanotify(struct scan *sc, const struct at_fd *at)
{
	char *text = sc->text.data, *line;

	while ((line = proc_line(&text, "fanotify "))) {
		const char *word = strstr(line, "sdev:");
		const char *mount = strstr(line, "mnt_id:");

		if ((word && scan_is_old_sdev(sc, strtoull(word + 5, NULL, 16))) ||
		    (mount &&
		     map_get(&sc->old_mounts, strtoull(mount + 7, NULL, 16)) != MAP_NONE)) {
			keep_on_old(sc, at, "it watches OLD's file system (fanotify)",
				    "close it in the process");
			return;
		}
	}
}

/* A ring holds files that no descriptor shows. */
static void scan_io_uring(struct scan *sc, const struct at_fd *at)
{
	const char *remedy = "wait until the process has closed the ring";

	if (info_number(sc, "UserFiles:"))
		keep_on_old(sc, at, "its io_uring has registered files", remedy);
	else if ((int)info_number(sc, "SqThread:") > 0)
		keep_on_old(sc, at, "a kernel thread polls its io_uring", remedy);
	else if (info_number(sc, "CachedSqHead:") != info_number(sc, "CachedCqTail:"))
		keep_on_old(sc, at, "its io_uring has requests in flight", remedy);
}

static void scan_socket(struct scan *sc, const struct at_fd *at)
{
	uint64_t ino = strtoull(at->target->link + strlen("socket:["), NULL, 10);
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[at->proc].pid;
	uint64_t sent = info_number(sc, "scm_fds:");

	if (map_get(&sc->bound, ino) != MAP_NONE)
		keep_on_old(sc, at, "the socket is bound to a name below OLD",
			    "bind it to another directory");
	if (sent && scan_in_flight_fds(sc, pid, at->number, sent))
		scan_add_obstacle(
			sc, RELOC_BLOCKS, at->proc, at->what, at->target->link,
			"a descriptor of OLD, or an unknown one, waits in it (SCM_RIGHTS)",
			"wait until the process has received it");
}

static void scan_other_fd(struct scan *sc, const struct at_fd *at)
{
	const char *link = at->target->link, *why = NULL;

	if (text_starts_with(link, "/dev/infiniband/") || text_starts_with(link, "/dev/nvidia") ||
	    text_starts_with(link, "/dev/kfd") || text_starts_with(link, "/dev/dri/"))
		sc->bad |= map_put(&sc->pinners, at->proc, 1) < 0;
	else if (text_starts_with(link, "socket:["))
		scan_socket(sc, at);
	else if (text_starts_with(link, "anon_inode:[eventpoll]"))
		scan_epoll(sc, at);
	else if (text_starts_with(link, "anon_inode:inotify"))
		why = scan_inotify(sc, at->proc, at->number, sc->text.data);
	else if (text_starts_with(link, "anon_inode:[fanotify]"))
		scan_fanotify(sc, at);
	else if (text_starts_with(link, "anon_inode:[io_uring]"))
		scan_io_uring(sc, at);
	if (why)
		keep_on_old(sc, at, why, "close it in the process");
}

static bool needs_fdinfo(const struct link_target *target)
{
	return target->is_old || text_starts_with(target->link, "anon_inode:") ||
	       text_starts_with(target->link, "socket:[");
}

/* Reads fdinfo into text. It comes in one read, unless it is long. */
static int read_fdinfo(struct scan *sc, pid_t pid, int number, struct proc_fdinfo *ret,
		       struct err *e)
{
	char path[PROC_PATH], few[4096];
	size_t len;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, number);
	len = file_read_start(path, few, sizeof few);
	if (len && len < sizeof few - 1)
		buf_put(&sc->text, few, len);
	else if (file_read_small(path, FDINFO_MAX, &sc->text, e) < 0)
		return e->code;
	buf_put_byte(&sc->text, '\0');
	if (buf_error(&sc->text) < 0)
		return err_nomem(e);
	if (!proc_fdinfo_parse(ret, sc->text.data))
		return err_set(e, -EINVAL, "%s: unknown format", path);
	return 0;
}

static int scan_fd(struct scan *sc, uint32_t proc, int number, struct err *e)
{
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[proc].pid;
	struct at_fd at = { .proc = proc, .number = number };
	struct link_target target;

	snprintf(at.path, sizeof at.path, "/proc/%d/fd/%d", (int)pid, number);
	snprintf(at.what, sizeof at.what, "descriptor %d", number);
	if (!scan_link(sc, at.path, &target))
		return 0;
	at.target = &target;
	buf_clear(&sc->text);
	if (needs_fdinfo(&target) && read_fdinfo(sc, pid, number, &at.info, e) < 0)
		return e->code == -ENOENT ? 0 : e->code; /* closed meanwhile */
	if (target.is_old)
		add_fd(sc, &at);
	else
		scan_other_fd(sc, &at);
	return 0;
}

int scan_fds(struct scan *sc, uint32_t proc, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	struct reloc_proc *p = (struct reloc_proc *)sc->procs.data + proc;
	char path[PROC_PATH];

	if (p->files_of != proc)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)p->pid);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	for (size_t i = 0; i < numbers.count && !sc->bad; i++)
		if (scan_fd(sc, proc, ((int *)numbers.data)[i], e) < 0)
			return e->code;
	return sc->bad ? err_nomem(e) : 0;
}
