/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "relocate/repoint/repoint_internal.h"

/* Opens both ends, so that no open(2) blocks and the contents stay. */
static int open_both_ends(struct repoint *rp, const struct reloc_desc *d, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	return repoint_open_file(rp, &s->files[d->file], s->fds[d->first].proc, O_RDWR | O_NONBLOCK,
				 e);
}

static bool is_first_of_file(const struct reloc_inventory *s, uint32_t desc)
{
	for (uint32_t i = 0; i < desc; i++)
		if (s->descs[i].file == s->descs[desc].file && !(s->descs[i].flags & O_PATH))
			return false;
	return true;
}

/* Copies the contents. The old FIFO keeps them until it is closed, so there is nothing to undo. */
static int copy_contents(int from, int to)
{
	int bytes = 0, copied = 0, size = fcntl(from, F_GETPIPE_SZ);

	if (size > 0 && fcntl(to, F_SETPIPE_SZ, size) < 0)
		return -errno;
	if (ioctl(from, FIONREAD, &bytes) < 0)
		return -errno;
	if (bytes && tee(from, to, INT_MAX, SPLICE_F_NONBLOCK) < 0)
		return -errno;
	if (ioctl(to, FIONREAD, &copied) < 0)
		return -errno;
	return copied == bytes ? 0 : -EIO;
}

static int fill_fifo(struct repoint *rp, uint32_t desc, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct reloc_file *f = &s->files[s->descs[desc].file];
	int to = open_both_ends(rp, &s->descs[desc], e), from, rc;

	if (to < 0)
		return to;
	from = open(f->source, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	rc = from < 0 ? -errno : copy_contents(from, to);
	if (from >= 0)
		close(from);
	return rc < 0 ? err_set(e, rc, "FIFO %s: %s", f->new_path, strerror(-rc)) : 0;
}

int repoint_open_fifo(struct repoint *rp, uint32_t desc, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct reloc_desc *d = &s->descs[desc];
	const struct reloc_file *f = &s->files[d->file];
	int fd;

	if (is_first_of_file(s, desc) && fill_fifo(rp, desc, e) < 0)
		return e->code;
	fd = repoint_open_file(rp, f, s->fds[d->first].proc, (d->flags & O_ACCMODE) | O_NONBLOCK,
			       e);
	if (fd >= 0 && fcntl(fd, F_SETFL, (int)d->flags) < 0)
		return err_errno(e, "FIFO %s", f->new_path);
	return fd;
}
