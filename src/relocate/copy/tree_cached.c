/* SPDX-License-Identifier: MIT */
/*
 * The copy when OLD's storage hangs: of the files that the job has open, what is in memory. A file
 * that the job can read moves only if all of it is in memory; one that it only writes moves with
 * holes for the rest. Directories that the job has open are made, empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "relocate/copy/cached_read.h"
#include "relocate/copy/copy_internal.h"

#define FILE_NS (NS_PER_S / 4) /* to read a file that is in memory */

static const char no_answer[] = "OLD's storage does not answer, and it is not in memory";

static struct tree_entry *add_entry(struct copy *c, const char *path, uint32_t mode, uint32_t *ret)
{
	struct tree_entry *entry = tree_entry_at(c, path, ret);

	if (entry && !entry->is_made)
		*entry = (struct tree_entry){ .mode = mode, .node = RELOC_NONE };
	return entry;
}

static int make_dir(struct copy *c, const char *path, uint32_t mode, struct err *e)
{
	uint32_t row;
	struct tree_entry *entry = add_entry(c, path, S_IFDIR, &row);
	CLEANUP(fd_close) int parent = -1;
	const char *name;

	if (!entry)
		return err_nomem(e);
	if (entry->is_made)
		return 0;
	parent = tree_open_parent(c, path, &name);
	if (parent < 0)
		return err_set(e, parent, "%s: %s", path, strerror(-parent));
	if (mkdirat(parent, name, 0700) < 0 || fchmodat(parent, name, mode & 07777, 0) < 0)
		return err_errno(e, "%s", path);
	entry->is_made = entry->is_ours = true;
	return 0;
}

/* Nothing is known of directories that the job does not have open. */
static int make_parents(struct copy *c, const char *path, struct err *e)
{
	char *copy = strdup(path);

	if (!copy)
		return err_nomem(e);
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_dir(c, copy, 0755, e) < 0)
			break;
		*slash = '/';
	}
	free(copy);
	return e->code;
}

/* Opens the copy of f. A descriptor, or -errno and the reason. */
static int open_copy(struct copy *c, const struct reloc_file *f, uint32_t *ret_row, struct err *e)
{
	struct tree_entry *entry = add_entry(c, f->new_path, f->mode, ret_row);
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK, fd;

	if (!entry)
		return err_nomem(e);
	if (!entry->is_made)
		flags |= O_CREAT | O_EXCL;
	fd = open_beneath(c->new_dir->fd, f->new_path, flags, flags & O_CREAT ? 0600 : 0);
	if (fd < 0)
		return err_set(e, fd, "in NEW: %s: %s", f->new_path, strerror(-fd));
	entry->is_made = entry->is_ours = true;
	entry->is_hidden = f->is_deleted;
	return fd;
}

static int set_attrs(int fd, const struct reloc_file *f, struct err *e)
{
	if (S_ISREG(f->mode) && ftruncate(fd, (off_t)f->size_bytes) < 0)
		return err_errno(e, "in NEW: set the size");
	if (fchown(fd, f->uid, f->gid) < 0 || fchmod(fd, f->mode & 07777) < 0)
		return err_errno(e, "in NEW: set the owner");
	return 0;
}

static bool is_hung(const struct copy *c, const struct reloc_file *f)
{
	return map_get(&c->hung, f->ino) != MAP_NONE;
}

/* With FUSE, unmapping a file that was written writes it out, while the process can do nothing. */
static bool has_map_that_writes(const struct reloc_inventory *s, uint32_t file,
				const struct copy *c)
{
	return c->old_dir->is_fuse && s->files[file].uses & RELOC_USE_MAPPED_WRITABLE;
}

/* Copies a regular file. */
static int copy_file(struct copy *c, const struct reloc_inventory *s, uint32_t file,
		     struct cached *ret, struct err *e)
{
	const struct reloc_file *f = &s->files[file];
	int64_t until_ns = clock_mono_ns() + FILE_NS;
	CLEANUP(fd_close) int out = -1;
	uint32_t row;

	*ret = (struct cached){ .hangs = true };
	if (has_map_that_writes(s, file, c))
		return 0;
	if (make_parents(c, f->new_path, e) < 0)
		return e->code;
	out = open_copy(c, f, &row, e);
	if (out < 0)
		return out;
	if (c->until_ns && until_ns > c->until_ns)
		until_ns = c->until_ns;
	if ((!is_hung(c, f) && cached_read(s, file, out, until_ns, ret, e) < 0) ||
	    set_attrs(out, f, e) < 0)
		return err_wrap(e, "%s", f->new_path);
	c->did.files++;
	c->did.read_bytes += ret->bytes;
	c->did.written_bytes += ret->bytes;
	if (ret->hangs && map_put(&c->hung, f->ino, 1) < 0)
		return err_nomem(e);
	return 0;
}

static int copy_dir(struct copy *c, const struct reloc_file *f, struct err *e)
{
	CLEANUP(fd_close) int fd = -1;

	if (!*f->new_path)
		return 0;
	if (make_parents(c, f->new_path, e) < 0 || make_dir(c, f->new_path, 0700, e) < 0)
		return e->code;
	fd = open_beneath(c->new_dir->fd, f->new_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_set(e, fd, "in NEW: %s: %s", f->new_path, strerror(-fd));
	return set_attrs(fd, f, e);
}

/* Does the job only write the file? Then it cannot see a hole. */
static bool is_only_written(const struct reloc_inventory *s, uint32_t file)
{
	for (size_t i = 0; i < s->desc_count; i++)
		if (s->descs[i].file == file && (s->descs[i].flags & O_ACCMODE) != O_WRONLY)
			return false;
	return !(s->files[file].uses & ~(unsigned)RELOC_USE_FD);
}

/* One row for each file, of a process that has it. */
static int add_row(struct reloc_inventory *s, enum reloc_obstacle_kind kind, uint32_t file,
		   const char *what, const char *reason, const char *remedy, struct err *e)
{
	const char *path = s->files[file].old_path ? s->files[file].old_path : "(deleted)";
	uint32_t proc = RELOC_NONE;

	for (size_t i = 0; i < s->fd_count && proc == RELOC_NONE; i++)
		if (s->descs[s->fds[i].desc].file == file)
			proc = s->fds[i].proc;
	for (size_t i = 0; i < s->map_count && proc == RELOC_NONE; i++)
		if (s->maps[i].file == file)
			proc = s->maps[i].proc;
	if (proc == RELOC_NONE)
		return 0;
	return reloc_inventory_add(s, kind, proc, what, *path ? path : ".", reason, remedy, e);
}

static void keep(struct reloc_inventory *s, uint32_t file)
{
	for (size_t i = 0; i < s->desc_count; i++)
		s->descs[i].stays |= s->descs[i].file == file;
	for (size_t i = 0; i < s->map_count; i++)
		s->maps[i].stays |= s->maps[i].file == file;
	for (size_t i = 0; i < s->dir_count; i++)
		s->dirs[i].stays |= s->dirs[i].file == file;
	for (size_t i = 0; i < s->lock_count; i++)
		s->locks[i].stays |= s->descs[s->locks[i].desc].stays;
}

static bool stays(const struct reloc_inventory *s, uint32_t file)
{
	for (size_t i = 0; i < s->desc_count; i++)
		if (s->descs[i].file == file && s->descs[i].stays)
			return true;
	for (size_t i = 0; i < s->map_count; i++)
		if (s->maps[i].file == file && s->maps[i].stays)
			return true;
	return false;
}

static int remove_copy(struct copy *c, const struct reloc_file *f, struct err *e)
{
	uint32_t row = strtab_find(c->paths, f->new_path, strlen(f->new_path));

	return row == STRTAB_NONE ? 0 : tree_remove(c, row, e);
}

static int judge_file(struct copy *c, struct reloc_inventory *s, uint32_t file,
		      const struct cached *found, struct err *e)
{
	uint64_t size = s->files[file].size_bytes;
	char what[96];

	if (found->bytes >= size && !(found->hangs && size))
		return 0;
	snprintf(what, sizeof what, "file (%" PRIu64 " of %" PRIu64 " bytes in memory)",
		 found->bytes, size);
	if (is_only_written(s, file))
		return add_row(s, RELOC_NOTE, file, what,
			       "NEW has a hole for the rest, which is on OLD",
			       "copy the rest when OLD answers again", e);
	keep(s, file);
	return add_row(s, RELOC_STAYS, file, what,
		       has_map_that_writes(s, file, c)
			       ? "it is mapped for writing, and unmapping it would ask storage"
			       : no_answer,
		       "", e) < 0 ||
			       remove_copy(c, &s->files[file], e) < 0
		       ? e->code
		       : 0;
}

static int copy_one(struct copy *c, struct reloc_inventory *s, uint32_t file, struct err *e)
{
	const struct reloc_file *f = &s->files[file];
	struct cached found;

	if (stays(s, file)) {
		keep(s, file);
		return 0;
	}
	if (S_ISDIR(f->mode) && !f->is_deleted)
		return copy_dir(c, f, e);
	if (!S_ISREG(f->mode)) {
		keep(s, file);
		return add_row(s, RELOC_STAYS, file, "file", no_answer, "", e);
	}
	return copy_file(c, s, file, &found, e) < 0 ? e->code : judge_file(c, s, file, &found, e);
}

static int keep_watches(struct reloc_inventory *s, struct err *e)
{
	for (size_t i = 0; i < s->watch_count; i++)
		if (reloc_inventory_add(s, RELOC_STAYS, s->watches[i].proc, "watch (inotify)",
					s->files[s->watches[i].file].old_path
						? s->files[s->watches[i].file].old_path
						: "",
					"OLD's storage does not answer", "", e) < 0)
			return e->code;
	s->watch_count = 0;
	return 0;
}

static bool has_any(const struct reloc_inventory *s)
{
	for (size_t i = 0; i < s->desc_count; i++)
		if (!s->descs[i].stays)
			return true;
	for (size_t i = 0; i < s->map_count; i++)
		if (!s->maps[i].stays)
			return true;
	for (size_t i = 0; i < s->dir_count; i++)
		if (!s->dirs[i].stays)
			return true;
	return false;
}

int copy_cached(struct copy *c, struct reloc_inventory *s, struct copy_pass *ret, struct err *e)
{
	int64_t began_ns = clock_mono_ns();

	memset(&c->did, 0, sizeof c->did);
	if (keep_watches(s, e) < 0)
		return e->code;
	for (uint32_t i = 0; i < s->file_count; i++)
		if (tree_check_end(c, e) < 0 || copy_one(c, s, i, e) < 0)
			return e->code;
	if (!has_any(s))
		return err_set(e, -ENODATA,
			       "nothing that the job has open of %s is in memory as a whole",
			       c->old_dir->path);
	c->did.took_ns = clock_mono_ns() - began_ns;
	*ret = c->did;
	return 0;
}

int copy_finish_cached(struct copy *c, const struct reloc_inventory *s, struct err *e)
{
	const struct statx *x = &c->old_top;

	if (move_journal_set_moving(c->new_dir, s, e) < 0)
		return e->code;
	if (fchown(c->new_dir->fd, x->stx_uid, x->stx_gid) < 0 ||
	    fchmod(c->new_dir->fd, x->stx_mode & 07777) < 0)
		return err_errno(e, "%s", c->new_dir->path);
	return 0;
}
