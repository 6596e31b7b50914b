/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "relocate/copy/copy_internal.h"

#define PAGE ((size_t)4096)

/* A file being copied. */
struct data {
	struct copy *c;
	int in, out;
	bool is_new; /* NEW has nothing to compare with */
	uint64_t size;
	uint64_t started,
		ended; /* offsets up to which writeback of NEW was started, and has ended */
};

/* Sleeps in short steps until the bytes so far fit the bandwidth. */
static void keep_bandwidth(const struct copy *c)
{
	uint64_t rate = c->opts.bandwidth;

	while (rate && c->kind != COPY_FINAL && !(c->opts.stop && *c->opts.stop)) {
		double due_s = (double)c->paced_bytes / (double)rate;
		double left_s = due_s - (double)(clock_mono_ns() - c->began_ns) / 1e9;
		struct timespec wait = { 0, 50000000 };

		if (left_s <= 0)
			return;
		if (left_s < 0.05)
			wait.tv_nsec = (long)(left_s * 1e9);
		nanosleep(&wait, NULL);
	}
}

static int count(struct copy *c, size_t bytes, struct err *e)
{
	c->paced_bytes += bytes;
	c->did.read_bytes += bytes;
	if (c->opts.progress && c->kind != COPY_FINAL)
		c->opts.progress(c->opts.progress_self, c->did.read_bytes, c->total_bytes);
	keep_bandwidth(c);
	tree_writers_find(c);
	return tree_check_end(c, e);
}

static ssize_t read_block(int fd, void *block, size_t len, uint64_t pos)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)block + done, len - done, (off_t)(pos + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int write_block(struct data *d, const void *block, size_t len, uint64_t pos)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			pwrite(d->out, (const char *)block + done, len - done, (off_t)(pos + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	d->c->did.written_bytes += len;
	return 0;
}

int tree_write_out(int fd, uint64_t from, uint64_t len)
{
	return sync_file_range(fd, (off_t)from, (off_t)len,
			       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				       SYNC_FILE_RANGE_WAIT_AFTER);
}

/* While the job runs, writeback follows the copy in windows. Otherwise many dirty pages would pile
 * up: the kernel would throttle all writers, the job too, and keep its storage busy. */
static int write_behind(struct data *d, uint64_t pos)
{
	uint64_t from = d->started, before = d->ended;

	if (d->c->kind == COPY_FINAL || pos < from + TREE_WINDOW)
		return 0;
	if (sync_file_range(d->out, (off_t)from, (off_t)(pos - from), SYNC_FILE_RANGE_WRITE) < 0 ||
	    (from > before && tree_write_out(d->out, before, from - before) < 0))
		return -errno;
	d->ended = from;
	d->started = pos;
	return 0;
}

/* Is the page at from the same in OLD's block of len bytes and NEW's of old bytes? */
static bool is_page_same(const struct copy *c, size_t from, size_t len, size_t old)
{
	size_t end = from + PAGE < len ? from + PAGE : len;

	return end <= old && memcmp(c->block + from, c->other + from, end - from) == 0;
}

/* Writes only the pages that differ, so that the flush has little to write. */
static int write_changes(struct data *d, size_t len, size_t old, uint64_t pos)
{
	size_t at = 0, from;
	int rc = 0;

	while (rc == 0 && at < len) {
		while (at < len && is_page_same(d->c, at, len, old))
			at += PAGE;
		for (from = at; at < len && !is_page_same(d->c, at, len, old);)
			at += PAGE;
		at = at < len ? at : len;
		if (from < at)
			rc = write_block(d, d->c->block + from, at - from, pos + from);
	}
	return rc;
}

/* Copies [pos..pos + len). Returns the bytes read. */
static ssize_t copy_block(struct data *d, uint64_t pos, size_t len)
{
	ssize_t n = read_block(d->in, d->c->block, len, pos), old = 0;
	int rc;

	if (n <= 0)
		return n;
	if (!d->is_new)
		old = read_block(d->out, d->c->other, (size_t)n, pos);
	if (old < 0)
		return old;
	if (old == n && memcmp(d->c->block, d->c->other, (size_t)n) == 0)
		return n;
	rc = write_changes(d, (size_t)n, (size_t)old, pos);
	return rc < 0 ? rc : n;
}

/* Copies the data [pos..end). Ends early at the end of the file. */
static int copy_range(struct data *d, uint64_t pos, uint64_t end, struct err *e)
{
	while (pos < end) {
		size_t len = end - pos < TREE_BLOCK ? (size_t)(end - pos) : TREE_BLOCK;
		ssize_t n = copy_block(d, pos, len);
		int rc;

		if (n < 0)
			return err_set(e, (int)n, "copying: %s", strerror((int)-n));
		if (n == 0)
			break;
		pos += (uint64_t)n;
		rc = write_behind(d, pos);
		if (rc < 0)
			return err_set(e, rc, "writing: %s", strerror(-rc));
		if (count(d->c, (size_t)n, e) < 0)
			return e->code;
	}
	return 0;
}

/* Makes the hole [pos..end) of OLD a hole in NEW. */
static int copy_hole(struct data *d, uint64_t pos, uint64_t end, struct err *e)
{
	off_t at = d->is_new ? -1 : lseek(d->out, (off_t)pos, SEEK_DATA);

	if (at < 0 || (uint64_t)at >= end)
		return 0;
	if (fallocate(d->out, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)pos,
		      (off_t)(end - pos)) == 0) {
		d->c->did.changed++;
		return 0;
	}
	if (errno != EOPNOTSUPP)
		return err_errno(e, "punch a hole");
	return copy_range(d, pos, end, e); /* reads as zeros */
}

static int copy_all(struct data *d, uint64_t from, struct err *e)
{
	for (uint64_t pos = from; pos < d->size;) {
		off_t data = lseek(d->in, (off_t)pos, SEEK_DATA), hole;
		uint64_t start = data >= 0 ? (uint64_t)data : errno == ENXIO ? d->size : pos;
		uint64_t end;

		start = start < d->size ? start : d->size;
		if (start > pos && copy_hole(d, pos, start, e) < 0)
			return e->code;
		hole = start < d->size ? lseek(d->in, (off_t)start, SEEK_HOLE) : -1;
		end = hole > (off_t)start && (uint64_t)hole < d->size ? (uint64_t)hole : d->size;
		if (start < end && copy_range(d, start, end, e) < 0)
			return e->code;
		pos = end;
	}
	return 0;
}

/* In the pause copies only the dirty ranges of a tracked file. */
static int copy_changes(struct data *d, const struct tree_node *n, uint64_t from, struct err *e)
{
	CLEANUP(rows_fini) struct rows ranges = { 0 };
	const struct byte_range *r;

	if (d->c->kind != COPY_FINAL || d->is_new ||
	    !tree_dirty_ranges(d->c, n, d->in, d->size, &ranges))
		return copy_all(d, from, e);
	r = ranges.data;
	for (size_t i = 0; i < ranges.count; i++) {
		if (r[i].end > from &&
		    copy_range(d, r[i].from > from ? r[i].from : from, r[i].end, e) < 0)
			return e->code;
	}
	return 0;
}

static int finish(struct data *d, struct err *e)
{
	struct stat st;

	if (fstat(d->out, &st) < 0)
		return err_errno(e, "fstat");
	if ((uint64_t)st.st_size != d->size) {
		if (ftruncate(d->out, (off_t)d->size) < 0)
			return err_errno(e, "set the size");
		d->c->did.changed++;
	}
	return 0;
}

/* Makes the next read come from the storage instead of the page cache. */
static void drop_page_cache(int fd)
{
	if (fsync(fd) == 0)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

int tree_copy_data(struct copy *c, const struct tree_node *n, const struct file_pair *pair,
		   uint64_t *ret_size, struct err *e)
{
	struct data d = { .c = c,
			  .in = pair->from,
			  .out = pair->to,
			  .is_new = n->ctime_ns < 0 && !n->was_leftover };
	uint64_t written = c->did.written_bytes, from = 0;
	struct stat st;

	if (fstat(d.in, &st) < 0)
		return err_errno(e, "fstat");
	if (c->kind == COPY_VERIFY)
		drop_page_cache(d.out);
	d.size = (uint64_t)st.st_size;
	if (c->opts.trusts_append && c->kind != COPY_VERIFY && n->is_appended && !n->is_mapped &&
	    !d.is_new && d.size >= n->size_bytes)
		from = n->size_bytes;
	if (copy_changes(&d, n, from, e) < 0 || finish(&d, e) < 0)
		return e->code;
	c->did.files++;
	c->did.changed += written != c->did.written_bytes;
	*ret_size = d.size;
	return 0;
}
