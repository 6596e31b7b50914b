/* SPDX-License-Identifier: MIT */
/*
 * Quotas do not limit root, but they limit the job: if an owner's part of OLD exceeds its quota on
 * NEW, its next write fails. Source: quotactl(2); quotactl_fd is new in Linux 5.14. Without an
 * answer (NFS, older kernels) only EDQUOT during the copy shows a quota.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "relocate/copy/copy_internal.h"

void tree_owners_fini(struct tree_owners *o)
{
	map_fini(&o->index);
	rows_fini(&o->rows);
}

static int add(struct tree_owners *o, int kind, uint32_t id, uint64_t bytes)
{
	uint32_t *at = map_at(&o->index, map_pair((uint32_t)kind, id));
	struct tree_owner *row;

	if (!at)
		return -ENOMEM;
	if (*at == MAP_NONE) {
		row = rows_add(&o->rows, sizeof *row);
		if (!row)
			return -ENOMEM;
		row->kind = kind;
		row->id = id;
		*at = (uint32_t)(o->rows.count - 1);
	}
	row = (struct tree_owner *)o->rows.data + *at;
	row->bytes += bytes;
	row->inodes++;
	return 0;
}

int tree_owners_add(struct tree_owners *o, uint32_t uid, uint32_t gid, uint64_t bytes)
{
	int rc = add(o, USRQUOTA, uid, bytes);

	return rc < 0 ? rc : add(o, GRPQUOTA, gid, bytes);
}

static int check_owner(const struct top_dir *new, const struct tree_owner *o, struct err *e)
{
	const char *whose = o->kind == USRQUOTA ? "user" : "group";
	struct dqblk has = { 0 };
	/* QCMD() of glibc shifts into the sign bit. */
	unsigned command = (unsigned)Q_GETQUOTA << SUBCMDSHIFT | (unsigned)o->kind;
	uint64_t limit;

	if (syscall(SYS_quotactl_fd, new->fd, command, o->id, &has) < 0)
		return 0;
	limit = has.dqb_bhardlimit * 1024; /* QIF_DQBLKSIZE */
	if (has.dqb_valid & QIF_BLIMITS && limit && has.dqb_curspace + o->bytes > limit)
		return err_set(e, -EDQUOT,
			       "%s: OLD has %" PRIu64 " MiB of %s %" PRIu32
			       ", whose quota there leaves %" PRIu64 " MiB",
			       new->path, o->bytes >> 20, whose, o->id,
			       (limit > has.dqb_curspace ? limit - has.dqb_curspace : 0) >> 20);
	limit = has.dqb_ihardlimit;
	if (has.dqb_valid & QIF_ILIMITS && limit && has.dqb_curinodes + o->inodes > limit)
		return err_set(e, -EDQUOT,
			       "%s: OLD has %" PRIu64 " files of %s %" PRIu32
			       ", whose quota there leaves %" PRIu64,
			       new->path, o->inodes, whose, o->id,
			       limit > has.dqb_curinodes ? limit - has.dqb_curinodes : 0);
	return 0;
}

int tree_check_quotas(const struct copy *c, const struct tree_owners *o, struct err *e)
{
	const struct tree_owner *all = o->rows.data;

	/* Leftovers count in the quota already, and the first run has checked them. */
	for (size_t i = 0; i < o->rows.count && !c->leftover_inodes; i++)
		if (check_owner(c->new_dir, &all[i], e) < 0)
			return e->code;
	return 0;
}
