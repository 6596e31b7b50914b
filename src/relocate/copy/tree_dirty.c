/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "relocate/copy/copy_internal.h"

#define XFS_MAGIC 0x58465342
#define MIN_BYTES (UINT64_C(1) << 20) /* smaller files are compared as fast */
#define SEARCH_BYTES (32 * (uint64_t)TREE_BLOCK)
#define EXTENTS 256 /* of one FIEMAP call */
#define MAX_EXTENTS 65536

/* Since Linux 6.5; Debian 12's glibc lacks them. */
struct cache_range {
	uint64_t off, len;
};

struct cache_stat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* The pages that are not on the storage yet, or -errno. */
static int64_t count_dirty(int fd, uint64_t off, uint64_t len)
{
	struct cache_range range = { off, len };
	struct cache_stat stat;

	if (syscall(SYS_cachestat, fd, &range, &stat, 0) < 0)
		return -errno;
	return (int64_t)(stat.dirty + stat.writeback);
}

/* Reads the seventh number of the device's stat: sectors written. */
static bool read_written(const struct copy *c, uint64_t *ret)
{
	char text[512];
	ssize_t len = pread(c->device_fd, text, sizeof text - 1, 0);
	unsigned long long written;

	text[len > 0 ? len : 0] = '\0';
	if (sscanf(text, "%*u %*u %*u %*u %*u %*u %llu", &written) != 1)
		return false;
	*ret = written;
	return true;
}

static int open_device(const struct copy *c)
{
	char path[64];

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", c->old_dir->dev_major,
		 c->old_dir->dev_minor);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* With data=journal a changed page is not dirty. */
static bool has_data_outside_journal(const struct copy *c)
{
	char link[64], target[PATH_MAX], path[PATH_MAX + 64], text[4096];
	ssize_t len;

	snprintf(link, sizeof link, "/sys/dev/block/%u:%u", c->old_dir->dev_major,
		 c->old_dir->dev_minor);
	len = readlink(link, target, sizeof target - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", path_base(target));
	return file_read_start(path, text, sizeof text) &&
	       (strstr(text, "data=ordered") || strstr(text, "data=writeback"));
}

/* Do all changes of the file make pages dirty until they are written? */
static bool makes_dirty_pages(const struct copy *c, int fd)
{
	struct statfs fs;
	struct statx x;
	int flags = 0;

	if (fstatfs(fd, &fs) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) < 0)
		return false;
	if (!S_ISREG(x.stx_mode) || x.stx_size < MIN_BYTES || (x.stx_attributes & STATX_ATTR_DAX))
		return false;
	if (fs.f_type == XFS_MAGIC)
		return true;
	return fs.f_type == EXT4_SUPER_MAGIC && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
	       !(flags & FS_JOURNAL_DATA_FL) && has_data_outside_journal(c);
}

static uint64_t mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 32;
}

/* A hash of the extents, without those still to be allocated. It changes when parts are truncated,
 * punched out, moved or shared. */
static bool hash_extents(int fd, uint64_t *ret)
{
	struct fiemap *x = calloc(1, sizeof *x + EXTENTS * sizeof *x->fm_extents);
	uint64_t hash = 1, from = 0;
	bool is_last = false, is_good = x != NULL;

	for (unsigned n = 0; is_good && !is_last; n += x->fm_mapped_extents) {
		*x = (struct fiemap){ .fm_start = from,
				      .fm_length = FIEMAP_MAX_OFFSET - from,
				      .fm_extent_count = EXTENTS };
		is_good = n < MAX_EXTENTS && ioctl(fd, FS_IOC_FIEMAP, x) == 0;
		is_last = !is_good || !x->fm_mapped_extents;
		for (unsigned i = 0; is_good && i < x->fm_mapped_extents; i++) {
			const struct fiemap_extent *at = &x->fm_extents[i];

			is_last |= (at->fe_flags & FIEMAP_EXTENT_LAST) != 0;
			from = at->fe_logical + at->fe_length;
			if (at->fe_flags & FIEMAP_EXTENT_DELALLOC)
				continue;
			hash = mix(hash, at->fe_logical);
			hash = mix(hash, at->fe_physical);
			hash = mix(hash, at->fe_length);
			hash = mix(hash, at->fe_flags & ~(unsigned)FIEMAP_EXTENT_LAST);
		}
	}
	free(x);
	*ret = hash;
	return is_good;
}

bool tree_has_writer(const struct reloc_inventory *s, uint32_t file)
{
	for (size_t i = 0; i < s->desc_count; i++)
		if (s->descs[i].file == file && (s->descs[i].flags & O_ACCMODE) != O_RDONLY)
			return true;
	return false;
}

/* In windows: a write of the job may wait for the queue of its storage. */
static bool flush(int fd, uint64_t size)
{
	for (uint64_t from = 0; from < size; from += TREE_WINDOW)
		if (tree_write_out(fd, from, TREE_WINDOW) < 0)
			return false;
	return fsync(fd) == 0;
}

static bool track_file(struct copy *c, const struct reloc_file *f)
{
	CLEANUP(fd_close) int fd = open(f->source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint32_t row;
	struct tree_node *n = tree_node_of(c, f, &row);
	struct stat st;

	if (!n || n->is_mapped || fd < 0 || fstat(fd, &st) < 0 || st.st_ino != f->ino)
		return false;
	n->seen_bytes = (uint64_t)st.st_size;
	n->is_tracked = makes_dirty_pages(c, fd) && flush(fd, n->seen_bytes) &&
			hash_extents(fd, &n->extents);
	return n->is_tracked;
}

void tree_track_dirty(struct copy *c, const struct reloc_inventory *s)
{
	bool is_any = false;

	for (uint32_t i = 0; i < s->file_count; i++) {
		if (!s->files[i].source || !tree_has_writer(s, i))
			continue;
		is_any |= track_file(c, &s->files[i]);
	}
	if (c->device_fd < 0)
		c->device_fd = open_device(c);
	c->is_tracking = is_any && read_written(c, &c->written_sectors);
	c->track_pass = c->pass + 1;
}

bool tree_tracking_is_stale(const struct copy *c)
{
	uint64_t written;

	return c->is_tracking && read_written(c, &written) && written != c->written_sectors;
}

static int add_range(struct rows *ranges, uint64_t from, uint64_t end)
{
	struct byte_range *last = ranges->data;

	if (ranges->count && last[ranges->count - 1].end == from) {
		last[ranges->count - 1].end = end;
		return 0;
	}
	last = rows_add(ranges, sizeof *last);
	if (!last)
		return -ENOMEM;
	*last = (struct byte_range){ from, end };
	return 0;
}

/* Adds the dirty pages of [from..end), dirty in number, by bisection; from is page-aligned. */
static int find_dirty(int fd, uint64_t from, uint64_t end, int64_t dirty, struct rows *ranges)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = (end - from + page - 1) / page;
	uint64_t middle = from + pages / 2 * page;
	int64_t left;

	if (dirty <= 0)
		return 0;
	if ((uint64_t)dirty >= pages)
		return add_range(ranges, from, end);
	left = count_dirty(fd, from, middle - from);
	if (left < 0 || find_dirty(fd, from, middle, left, ranges) < 0)
		return -1;
	return find_dirty(fd, middle, end, dirty - left, ranges);
}

static bool add_changes(int fd, uint64_t from, uint64_t end, struct rows *ranges)
{
	for (; from < end; from += SEARCH_BYTES) {
		uint64_t stop = end - from < SEARCH_BYTES ? end : from + SEARCH_BYTES;
		int64_t dirty = count_dirty(fd, from, stop - from);

		if (dirty < 0 || find_dirty(fd, from, stop, dirty, ranges) < 0)
			return false;
	}
	return true;
}

bool tree_dirty_ranges(const struct copy *c, const struct tree_node *n, int fd, uint64_t size,
		       struct rows *ranges)
{
	uint64_t extents, written, page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t middle = n->seen_bytes / page * page;

	if (!c->is_tracking || !n->is_tracked || n->is_mapped || n->good_pass < c->track_pass)
		return false;
	/* Appended data is all dirty, so it is searched apart. */
	middle = middle < size ? middle : size;
	if (!add_changes(fd, 0, middle, ranges) || !add_changes(fd, middle, size, ranges))
		return false;
	return hash_extents(fd, &extents) && extents == n->extents && read_written(c, &written) &&
	       written == c->written_sectors;
}
