/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

#define MAPS_LIMIT ((size_t)256 << 20) /* bytes of /proc/PID/maps */

static int report_change(pid_t pid, const char *what, uint64_t which, struct err *e)
{
	return err_set(e, -EIO, "process %d: %s %" PRIu64 " has changed", (int)pid, what, which);
}

/* Our own descriptor shares the description, so its flags and position are those of the job. */
static int verify_desc(const struct repoint *rp, uint32_t desc, struct err *e)
{
	const unsigned tmpfile = O_TMPFILE & ~O_DIRECTORY;
	const unsigned ignored = tmpfile | O_CLOEXEC | O_DIRECTORY | 0100000 /* O_LARGEFILE */;
	const struct reloc_inventory *s = rp->inventory;
	const struct reloc_desc *d = &s->descs[desc];
	const struct reloc_fd *first = &s->fds[d->first];
	int fd = rp->desc_fds[desc], flags = fcntl(fd, F_GETFL);
	off_t pos;

	if (flags < 0 || ((unsigned)flags ^ d->flags) & ~ignored)
		return report_change(s->procs[first->proc].pid, "the flags of descriptor",
				     (uint64_t)first->number, e);
	if (d->flags & O_PATH || !S_ISREG(s->files[d->file].mode))
		return 0;
	pos = lseek(fd, 0, SEEK_CUR);
	if (pos < 0 || (uint64_t)pos != d->pos)
		return report_change(s->procs[first->proc].pid, "the position of descriptor",
				     (uint64_t)first->number, e);
	return 0;
}

/* dup3(2) has set close-on-exec with the descriptor. */
static int verify_fds(const struct repoint *rp, const struct repoint_proc *p, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct repoint_fd *fds = p->fds.data;
	pid_t pid = s->procs[p->proc].pid;

	for (size_t i = 0; i < p->fds.count; i++) {
		const struct reloc_fd *fd = &s->fds[fds[i].row];

		if (syscall(SYS_kcmp, getpid(), pid, KCMP_FILE, rp->desc_fds[fd->desc],
			    fd->number) != 0)
			return report_change(pid, "descriptor", (uint64_t)fd->number, e);
	}
	return 0;
}

static int verify_dirs(const struct repoint *rp, const struct repoint_proc *p, struct err *e)
{
	const struct repoint_dir *dirs = p->dirs.data;

	for (size_t i = 0; i < p->dirs.count; i++) {
		const struct reloc_dir *d = &rp->inventory->dirs[dirs[i].row];
		char path[PROC_PATH];
		struct stat is, wanted;

		snprintf(path, sizeof path, "/proc/%d/cwd", (int)d->tid);
		if (stat(path, &is) < 0 ||
		    fstat(((const int *)p->sent.data)[dirs[i].sent], &wanted) < 0 ||
		    is.st_ino != wanted.st_ino || is.st_dev != wanted.st_dev)
			return report_change(d->tid, "the working directory of thread",
					     (uint64_t)d->tid, e);
	}
	return 0;
}

static bool is_same_mapping(const struct proc_map *a, const struct reloc_map *m, uint64_t ino)
{
	return a->ino == ino && a->offset + (m->start - a->start) == m->offset &&
	       a->prot == (int)(m->prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) &&
	       a->is_shared == m->is_shared;
}

/* Adjacent mappings may have merged; none may be split. */
static bool find_area(const char *maps, const struct reloc_map *m, uint64_t ino)
{
	struct proc_map a;

	for (const char *line = maps; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (proc_map_parse(&a, line) && a.start <= m->start && m->end <= a.end)
			return is_same_mapping(&a, m, ino);
	}
	return false;
}

static int verify_maps(const struct repoint *rp, const struct repoint_proc *p, struct err *e)
{
	const struct repoint_map *maps = p->maps.data;
	pid_t pid = rp->inventory->procs[p->proc].pid;
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[PROC_PATH];

	if (p->maps.count == 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	if (file_read_small(path, MAPS_LIMIT, &text, e) < 0)
		return e->code;
	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = &rp->inventory->maps[maps[i].row];
		struct stat wanted;

		if (fstat(((const int *)p->sent.data)[maps[i].sent], &wanted) < 0 ||
		    !find_area(text.data, m, wanted.st_ino))
			return err_set(e, -EIO,
				       "process %d: mapping %" PRIx64 "-%" PRIx64 " has changed",
				       (int)pid, m->start, m->end);
	}
	return 0;
}

int repoint_verify(struct repoint *rp, struct err *e)
{
	for (uint32_t i = 0; i < rp->inventory->desc_count; i++)
		if (rp->desc_fds[i] >= 0 && verify_desc(rp, i, e) < 0)
			return e->code;
	for (size_t i = 0; i < rp->procs.count; i++) {
		const struct repoint_proc *p = repoint_proc_at(rp, i);

		if (verify_fds(rp, p, e) < 0 || verify_dirs(rp, p, e) < 0 ||
		    verify_maps(rp, p, e) < 0 || repoint_verify_watches(rp, p, e) < 0)
			return e->code;
	}
	return 0;
}
