/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "relocate/copy/copy_internal.h"

struct sums {
	const struct copy *c;
	struct strtab *seen; /* inodes with several names, which count once */
	struct tree_owners owners;
	uint64_t bytes, blocks_bytes, inodes;
	char failed[NAME_MAX + 1]; /* name of the entry that cannot be read; "": none */
};

/* False: out of memory. */
static bool count(struct sums *s, const struct statx *x)
{
	uint64_t id[2] = { x->stx_ino, (uint64_t)x->stx_dev_major << 32 | x->stx_dev_minor };
	size_t before = strtab_count(s->seen);

	if (x->stx_nlink > 1 && !S_ISDIR(x->stx_mode)) {
		if (strtab_intern(s->seen, id, sizeof id) == STRTAB_NONE)
			return false;
		if (strtab_count(s->seen) == before)
			return true;
	}
	s->inodes++;
	s->blocks_bytes += x->stx_blocks * TREE_SECTOR;
	if (S_ISREG(x->stx_mode))
		s->bytes += x->stx_blocks * TREE_SECTOR < x->stx_size ? x->stx_blocks * TREE_SECTOR
								      : x->stx_size;
	return tree_owners_add(&s->owners, x->stx_uid, x->stx_gid, x->stx_blocks * TREE_SECTOR) ==
	       0;
}

static int count_dir(struct sums *s, int dir, unsigned depth);

/* Remembers the name that an error is about. */
static int fail(struct sums *s, const char *name, int code)
{
	snprintf(s->failed, sizeof s->failed, "%s", name);
	err_clean(s->failed);
	return code;
}

static int count_name(struct sums *s, int dir, const char *name, unsigned depth)
{
	struct statx x;
	int fd;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_MNT_ID, &x) < 0)
		return errno == ENOENT ? 0 : fail(s, name, -errno);
	if (x.stx_mnt_id != s->c->old_dir->mnt_id)
		return 0;
	if (!count(s, &x))
		return -ENOMEM;
	if (!S_ISDIR(x.stx_mode))
		return 0;
	fd = open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fail(s, name, fd);
	return count_dir(s, fd, depth + 1);
}

/* Closes dir. */
static int count_dir(struct sums *s, int dir, unsigned depth)
{
	DIR *names = fdopendir(dir);
	struct dirent *d;
	int rc = depth > TREE_MAX_DEPTH ? -ELOOP : 0;

	if (!names) {
		close(dir);
		return -ENOMEM;
	}
	while (rc == 0 && (d = readdir(names)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			rc = count_name(s, dir, d->d_name, depth);
	closedir(names);
	return rc;
}

static int count_all(struct sums *s, const struct reloc_inventory *inventory, struct err *e)
{
	int top = open_beneath(s->c->old_dir->fd, ".", O_RDONLY | O_DIRECTORY, 0);
	int rc = top < 0 ? top : count_dir(s, top, 0);

	if (rc < 0 && *s->failed)
		return err_set(e, rc, "'%s' below %s: %s", s->failed, s->c->old_dir->path,
			       strerror(-rc));
	if (rc < 0)
		return err_set(e, rc, "%s: %s", s->c->old_dir->path, strerror(-rc));
	for (size_t i = 0; i < inventory->file_count; i++) {
		const struct reloc_file *f = &inventory->files[i];

		if (!f->is_deleted || f->nlink)
			continue;
		s->inodes++;
		s->bytes += f->size_bytes;
		s->blocks_bytes += f->size_bytes;
		if (tree_owners_add(&s->owners, f->uid, f->gid, f->size_bytes) < 0)
			return err_nomem(e);
	}
	return 0;
}

static int compare(const struct sums *s, struct err *e)
{
	const struct top_dir *new = s->c->new_dir;
	struct statvfs fs;
	uint64_t free_bytes;

	if (fstatvfs(new->fd, &fs) < 0)
		return err_errno(e, "%s", new->path);
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize + s->c->leftover_bytes;
	if (s->blocks_bytes > free_bytes)
		return err_set(e, -ENOSPC,
			       "%s: OLD has %" PRIu64 " MiB, but only %" PRIu64 " MiB are free",
			       new->path, s->blocks_bytes >> 20, free_bytes >> 20);
	/* Some file systems allocate inodes on demand and report none. */
	if (fs.f_files && s->inodes > fs.f_favail + s->c->leftover_inodes)
		return err_set(e, -ENOSPC,
			       "%s: OLD has %" PRIu64 " files, but only %" PRIu64 " can be created",
			       new->path, s->inodes, (uint64_t)fs.f_favail);
	return 0;
}

int tree_check_space(struct copy *c, const struct reloc_inventory *inventory, struct err *e)
{
	struct sums s = { .c = c, .seen = strtab_new() };
	int rc = s.seen ? count_all(&s, inventory, e) : err_nomem(e);

	c->total_bytes = s.bytes;
	if (rc == 0)
		rc = compare(&s, e);
	if (rc == 0)
		rc = tree_check_quotas(c, &s.owners, e);
	strtab_free(s.seen);
	tree_owners_fini(&s.owners);
	return rc;
}
