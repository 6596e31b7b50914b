/* SPDX-License-Identifier: MIT */
/* The ways to a file that a process has mapped, and whether it is still that one. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/storage/storage_open.h"
#include "perf/dso_internal.h"

#define ANCESTORS 4                      /* processes whose root is looked at, the process first */
#define TRIES_MAX 16                     /* to open a file */
#define HEADERS_MAX ((uint64_t)16 << 20) /* bytes read of a file: headers, names, build id */

/* Where the code is in a file, and its build id. */
static void take_segments(struct dso *dso, const struct elf_image *image, const char *build_id)
{
	dso->segment_count = 0;
	for (uint32_t i = 0; i < image->phnum && dso->segment_count < DSO_SEGMENTS_MAX; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type == PT_LOAD && s.is_executable && s.file_size)
			dso->segments[dso->segment_count++] =
				(struct segment){ s.offset, s.file_size, s.vaddr, 0 };
	}
	memcpy(dso->build_id, build_id, ELF_BUILD_ID_HEX);
}

/* The record has the file beneath an overlay (before 6.8), stat the one in it. */
static bool is_inode_sure(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Is the open file the one that was mapped? Then its code is known. */
static bool take_file(struct dso *dso, int fd, const struct stat *st, bool is_live)
{
	struct elf_image image = { 0 };
	char build_id[ELF_BUILD_ID_HEX];
	struct err e;
	bool fits;

	if (elf_image_open_fd(&image, fd, "mapped file", &e) < 0)
		return false;
	elf_image_limit(&image, HEADERS_MAX);
	elf_build_id(&image, build_id);
	if (dso->has_mapped_build_id)
		fits = strncmp(build_id, dso->build_id, strlen(dso->build_id)) == 0;
	else
		fits = !is_live || dso->ino == 0 || dso->ino == st->st_ino || !is_inode_sure(fd);
	if (fits)
		take_segments(dso, &image, build_id);
	elf_image_close(&image);
	return fits;
}

/*
 * A file may be recorded by its build id and by its inode, so two dsos are one file: then the
 * first stands for both, with its descriptor and table.
 */
static bool is_known(struct dsos *d, struct dso *dso, const struct stat *st)
{
	uint64_t number = (uint64_t)st->st_ino * UINT64_C(0x9e3779b97f4a7c15) ^ st->st_dev;
	uint32_t *known = map_at(&d->by_file, number);
	struct dso *other;

	if (!known)
		return false;
	if (*known == MAP_NONE) {
		*known = dso->same;
		return false;
	}
	other = &d->list[*known];
	if (other->path.len != dso->path.len ||
	    memcmp(other->path.ptr, dso->path.ptr, dso->path.len) != 0 ||
	    strcmp(other->build_id, dso->build_id) != 0)
		return false;
	dso->same = *known;
	return true;
}

/* Opens one candidate. */
static bool try_path(struct dsos *d, struct dso *dso, const char *path)
{
	struct stat st;
	struct err e;
	int fd = storage_open_regular(path, 0, &e);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || !take_file(dso, fd, &st, d->opts.proc != NULL)) {
		close(fd);
		return false;
	}
	if (!is_known(d, dso, &st) && d->fd_count < d->opts.fd_limit) {
		dso->fd = fd;
		d->fd_count++;
	} else {
		close(fd);
	}
	return true;
}

/* What a process, or what made it, sees under a path of /proc/PID. */
static bool try_proc(struct dsos *d, struct dso *dso, uint32_t pid, const char *name,
		     const char *behind)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	buf_printf(&path, "%s/%u/%s%s", d->opts.proc, pid, name, behind);
	return buf_error(&path) == 0 && try_path(d, dso, path.data);
}

/* The roots of a process and of those that made it: it may have ended already, but is mostly
 * of the same container as they are. */
static bool try_roots(struct dsos *d, struct dso *dso, uint32_t pid)
{
	for (unsigned i = 0; i < ANCESTORS && pid != MAP_NONE; i++) {
		if (try_proc(d, dso, pid, "root", dso->path.ptr))
			return true;
		pid = map_get(&d->parents, pid);
	}
	return false;
}

/* The ways to a mapped file, the surest first. */
static bool find_file(struct dsos *d, struct dso *dso, const struct vma *v, uint32_t pid)
{
	char range[64];

	if (!d->opts.proc)
		return try_path(d, dso, dso->path.ptr);
	snprintf(range, sizeof range, "%llx-%llx", (unsigned long long)v->start,
		 (unsigned long long)v->end);
	if (try_proc(d, dso, pid, "map_files/", range) || try_roots(d, dso, pid))
		return true;
	if ((dso->has_mapped_build_id || dso->ino) && try_proc(d, dso, pid, "exe", ""))
		return true;
	return try_path(d, dso, dso->path.ptr);
}

static void open_file(struct dsos *d, struct dso *dso, const struct vma *v, uint32_t pid)
{
	dso->tries++;
	dso->last_pid = pid;
	dso->is_open = find_file(d, dso, v, pid);
	if (dso->is_open)
		return;
	if (d->opts.proc && dso_path_starts(dso->path.ptr, dso->path.len, "/memfd:")) {
		dso->kind = DSO_ANON; /* code made at run time, in a shared memory */
		dso->pid = pid;
	}
	if (dso->tries == 1)
		log_msg(LOG_INFO, "dso", "%s: cannot be opened as it was mapped", dso->path.ptr);
}

struct dso *dsos_get_open(struct dsos *d, const struct vma *v, uint32_t pid)
{
	struct dso *dso = &d->list[v->dso];

	/* Another process may be alive, or see what this one does not. */
	if (dso->kind == DSO_FILE && !dso->is_open && dso->tries < TRIES_MAX &&
	    (dso->tries == 0 || dso->last_pid != pid))
		open_file(d, dso, v, pid);
	return &d->list[dso->same];
}
