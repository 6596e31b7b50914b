/* SPDX-License-Identifier: MIT */
#include "relocate/copy/cached_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rows.h"
#include "relocate/copy/copy_thread.h"
#include "target/proc.h"

#define PAGE proc_page_bytes()
#define WINDOW_PAGES 4096
#define RUN_BYTES ((size_t)1 << 18) /* copied at a time */
#define MAX_BYTES (UINT64_C(1) << 42)

struct area {
	pid_t pid;
	uint64_t start, end, offset; /* addresses, and where in the file they begin */
};

/* One file, which a thread reads. Owned by the thread when it hangs. */
struct job {
	pid_t pid;
	int number;              /* a descriptor of pid that can be read; -1: none */
	int out;                 /* a duplicate; -1: none */
	struct rows areas;       /* struct area: its mappings */
	uint64_t size, pages;    /* of the file */
	unsigned char *is_found; /* [pages] */
	unsigned char resident[WINDOW_PAGES];
	uint64_t entries[WINDOW_PAGES]; /* of pagemap */
	char buffer[RUN_BYTES];
};

static void job_free(struct job *j)
{
	if (!j)
		return;
	rows_fini(&j->areas);
	fd_close(&j->out);
	free(j->is_found);
	free(j);
}

/* Copies pages of a process's memory, [at..at + count pages), which are the file's from page on. */
static int copy_run(struct job *j, int memory, uint64_t at, uint64_t page, size_t count,
		    struct err *e)
{
	uint64_t pos = page * PAGE, end = pos + count * PAGE;
	size_t len = (size_t)((end < j->size ? end : j->size) - pos), done = 0;

	if (j->out >= 0 && pread(memory, j->buffer, len, (off_t)at) != (ssize_t)len)
		return 0; /* it has left the memory since */
	while (j->out >= 0 && done < len) {
		ssize_t n = pwrite(j->out, j->buffer + done, len - done, (off_t)(pos + done));

		if (n < 0 && errno != EINTR)
			return err_errno(e, "in NEW");
		done += n > 0 ? (size_t)n : 0;
	}
	memset(j->is_found + page, 1, count);
	return 0;
}

/* Copies the pages of a window for which resident is odd and that were not found before. */
static int copy_resident(struct job *j, int memory, uint64_t at, uint64_t page, size_t count,
			 struct err *e)
{
	for (size_t i = 0, run; i < count; i += run ? run : 1) {
		for (run = 0; i + run < count && run < RUN_BYTES / PAGE &&
			      (j->resident[i + run] & 1) && !j->is_found[page + i + run];)
			run++;
		if (run && copy_run(j, memory, at + i * PAGE, page + i, run, e) < 0)
			return e->code;
	}
	return 0;
}

static int read_window(struct job *j, int fd, int memory, uint64_t page, size_t count,
		       struct err *e)
{
	void *at = mmap(NULL, count * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(page * PAGE));
	int rc = 0;

	if (at == MAP_FAILED)
		return 0; /* the file bypasses the page cache */
	if (mincore(at, count * PAGE, j->resident) == 0)
		rc = copy_resident(j, memory, (uint64_t)(uintptr_t)at, page, count, e);
	munmap(at, count * PAGE);
	return rc;
}

/* Reads through our own memory: a failing page is an error, not a signal. The duplicate stays open,
 * because closing it would ask storage. */
static int read_descriptor(struct job *j, struct err *e)
{
	int fd = j->number < 0 ? -1 : proc_dup_fd(j->pid, j->number);
	CLEANUP(fd_close) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	for (uint64_t page = 0; fd >= 0 && memory >= 0 && page < j->pages; page += WINDOW_PAGES) {
		uint64_t left = j->pages - page;

		if (read_window(j, fd, memory, page,
				left < WINDOW_PAGES ? (size_t)left : WINDOW_PAGES, e) < 0)
			return e->code;
	}
	return 0;
}

/* A page of the file, not a private one, that is in the page table. */
static bool is_file_page(uint64_t entry)
{
	return entry >> 63 && (entry >> 61 & 1);
}

static int read_area(struct job *j, const struct area *a, struct err *e)
{
	char path[PROC_PATH];
	CLEANUP(fd_close) int pagemap = -1;
	CLEANUP(fd_close) int memory = -1;
	uint64_t first = a->offset / PAGE, count = (a->end - a->start) / PAGE;

	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)a->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%d/mem", (int)a->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0 || memory < 0 || first >= j->pages)
		return 0;
	count = count < j->pages - first ? count : j->pages - first;
	for (uint64_t i = 0; i < count; i += WINDOW_PAGES) {
		size_t n = count - i < WINDOW_PAGES ? (size_t)(count - i) : WINDOW_PAGES;

		if (pread(pagemap, j->entries, n * sizeof *j->entries,
			  (off_t)((a->start / PAGE + i) * sizeof *j->entries)) !=
		    (ssize_t)(n * sizeof *j->entries))
			return 0;
		for (size_t k = 0; k < n; k++)
			j->resident[k] = is_file_page(j->entries[k]);
		if (copy_resident(j, memory, a->start + i * PAGE, first + i, n, e) < 0)
			return e->code;
	}
	return 0;
}

static int read_all(void *self, struct err *e)
{
	struct job *j = self;
	const struct area *areas = j->areas.data;

	if (read_descriptor(j, e) < 0)
		return e->code;
	for (size_t i = 0; i < j->areas.count; i++)
		if (read_area(j, &areas[i], e) < 0)
			return e->code;
	return 0;
}

static void find_descriptor(const struct reloc_inventory *s, uint32_t file, struct job *j)
{
	for (size_t i = 0; i < s->fd_count; i++) {
		const struct reloc_desc *d = &s->descs[s->fds[i].desc];

		if (d->file != file || d->flags & O_PATH || (d->flags & O_ACCMODE) == O_WRONLY)
			continue;
		j->pid = s->procs[s->fds[i].proc].pid;
		j->number = s->fds[i].number;
		return;
	}
}

static int find_areas(const struct reloc_inventory *s, uint32_t file, struct job *j)
{
	for (size_t i = 0; i < s->map_count; i++) {
		const struct reloc_map *m = &s->maps[i];
		struct area *a;

		if (m->file != file)
			continue;
		a = rows_add(&j->areas, sizeof *a);
		if (!a)
			return -ENOMEM;
		*a = (struct area){ s->procs[m->proc].pid, m->start, m->end, m->offset };
	}
	return 0;
}

static struct job *job_new(const struct reloc_inventory *s, uint32_t file, int out)
{
	struct job *j = calloc(1, sizeof *j);
	uint64_t size = s->files[file].size_bytes;

	if (!j)
		return NULL;
	j->number = -1;
	j->out = out < 0 ? -1 : fcntl(out, F_DUPFD_CLOEXEC, 0);
	j->size = size < MAX_BYTES ? size : 0;
	j->pages = (j->size + PAGE - 1) / PAGE;
	j->is_found = calloc(j->pages + 1, 1);
	find_descriptor(s, file, j);
	if (j->is_found && (out < 0 || j->out >= 0) && find_areas(s, file, j) == 0)
		return j;
	job_free(j);
	return NULL;
}

static uint64_t count_found(const struct job *j)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < j->pages; i++)
		if (j->is_found[i])
			bytes += j->size - i * PAGE < PAGE ? j->size - i * PAGE : PAGE;
	return bytes;
}

int cached_read(const struct reloc_inventory *s, uint32_t file, int out, int64_t until_ns,
		struct cached *ret, struct err *e)
{
	struct job *j = job_new(s, file, out);
	bool hangs = false;
	int rc;

	if (!j)
		return err_nomem(e);
	rc = copy_thread_join(copy_thread_start(read_all, j), until_ns, &hangs, e);
	if (hangs) {
		memset(e, 0, sizeof *e);
		*ret = (struct cached){ .hangs = true };
		return 0;
	}
	if (rc == 0)
		*ret = (struct cached){ .bytes = count_found(j) };
	job_free(j);
	return rc;
}
