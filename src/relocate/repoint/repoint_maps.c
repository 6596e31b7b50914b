/* SPDX-License-Identifier: MIT */
/*
 * File mappings. The process maps the new file at a free address, and we copy its private pages
 * there. Then mremap(2) moves the old mapping aside and the new one to its address; the same two
 * calls in reverse undo that. Source: mremap(2); proc(5) on pagemap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

#define PAGE proc_page_bytes()
#define PAGES_AT_ONCE 512
#define AS_U(x) ((uint64_t)(x))

static const struct reloc_map *row_of(const struct repoint *rp, const struct repoint_map *m)
{
	return &rp->inventory->maps[m->row];
}

static uint64_t length(const struct reloc_map *m)
{
	return m->end - m->start;
}

int repoint_add_maps(struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->map_count; i++) {
		const struct reloc_map *m = &s->maps[i];
		bool is_written = m->is_shared && m->vm_flags & RELOC_VM_MAY_WRITE;
		struct repoint_map *row;
		int fd;

		if (m->proc != p->proc || m->stays)
			continue;
		row = rows_add(&p->maps, sizeof *row);
		if (!row)
			return err_nomem(e);
		row->row = (uint32_t)i;
		fd = repoint_open_file(rp, &s->files[m->file], p->proc,
				       is_written ? O_RDWR : O_RDONLY, e);
		if (fd < 0 || repoint_add_fd(p, fd, &row->sent, e) < 0)
			return e->code;
	}
	return 0;
}

static void undo_mmap(struct repoint_proc *p, size_t step, uint64_t len)
{
	remote_add_undo(p->remote,
			&(struct remote_call){ .nr = SYS_munmap,
					       .arg = { 0, len },
					       .arg0_from = remote_result_at(p->remote, step),
					       .may_fail = true,
					       .what = "munmap" });
}

void repoint_prepare_maps(const struct repoint *rp, struct repoint_proc *p)
{
	struct repoint_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(rp, &maps[i]);
		int number = ((const int *)p->remote_fds.data)[maps[i].sent];
		unsigned kind = (m->is_shared ? MAP_SHARED : MAP_PRIVATE) |
				(m->vm_flags & RELOC_VM_NORESERVE ? MAP_NORESERVE : 0);

		maps[i].new_step = remote_add_step(
			p->remote, &(struct remote_call){ .nr = SYS_mmap,
							  .arg = { 0, length(m), AS_U(m->prot),
								   kind, AS_U(number), m->offset },
							  .what = "map a new file" });
		undo_mmap(p, maps[i].new_step, length(m));
		maps[i].saved_step = remote_add_step(
			p->remote,
			&(struct remote_call){ .nr = SYS_mmap,
					       .arg = { 0, length(m), PROT_NONE,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
							UINT64_MAX, 0 },
					       .what = "reserve addresses" });
		undo_mmap(p, maps[i].saved_step, length(m));
	}
}

/* Is the page private to the process: present or swapped out, and not a page of the file? */
static bool is_private(uint64_t entry)
{
	return (entry >> 62) != 0 && !(entry >> 61 & 1);
}

static int copy_pages(struct remote *r, uint64_t from, uint64_t to, size_t count, char *buffer)
{
	int rc = remote_read(r, from, buffer, count * PAGE);

	return rc < 0 ? rc : remote_write(r, to, buffer, count * PAGE);
}

/* Reads pagemap for count pages from at on and copies the private ones. */
static int copy_private(struct remote *r, int pagemap, uint64_t at, uint64_t to, size_t count,
			char *buffer)
{
	uint64_t entries[PAGES_AT_ONCE];
	int rc = 0;

	if (pread(pagemap, entries, count * sizeof *entries,
		  (off_t)(at / PAGE * sizeof *entries)) != (ssize_t)(count * sizeof *entries))
		return -EIO;
	for (size_t i = 0, run; i < count && rc == 0; i += run ? run : 1) {
		for (run = 0; i + run < count && is_private(entries[i + run]); run++)
			;
		if (run)
			rc = copy_pages(r, at + i * PAGE, to + i * PAGE, run, buffer);
	}
	return rc;
}

static int fill_private(struct remote *r, const struct reloc_map *m, uint64_t new_at, struct err *e)
{
	char path[PROC_PATH];
	char *buffer = malloc(PAGES_AT_ONCE * PAGE);
	int pagemap, rc = buffer ? 0 : -ENOMEM;

	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)remote_pid(r));
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		rc = -errno;
	for (uint64_t at = m->start; at < m->end && rc == 0; at += PAGES_AT_ONCE * PAGE) {
		size_t left = (size_t)((m->end - at) / PAGE);

		rc = copy_private(r, pagemap, at, new_at + (at - m->start),
				  left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE, buffer);
	}
	if (pagemap >= 0)
		close(pagemap);
	free(buffer);
	return rc < 0 ? err_set(e, rc, "process %d: private pages: %s", (int)remote_pid(r),
				strerror(-rc))
		      : 0;
}

/* Sets what smaps shows besides the protection. */
static void prepare_advice(struct repoint_proc *p, const struct reloc_map *m, uint64_t new_at)
{
	static const struct {
		unsigned flag;
		int advice;
	} rows[] = {
		{ RELOC_VM_DONTFORK, MADV_DONTFORK },     { RELOC_VM_DONTDUMP, MADV_DONTDUMP },
		{ RELOC_VM_HUGE, MADV_HUGEPAGE },         { RELOC_VM_NOHUGE, MADV_NOHUGEPAGE },
		{ RELOC_VM_RANDOM, MADV_RANDOM },         { RELOC_VM_SEQUENTIAL, MADV_SEQUENTIAL },
		{ RELOC_VM_WIPEONFORK, MADV_WIPEONFORK },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (m->vm_flags & rows[i].flag)
			remote_add_step(p->remote,
					&(struct remote_call){
						.nr = SYS_madvise,
						.arg = { new_at, length(m), AS_U(rows[i].advice) },
						.what = "madvise of a new mapping" });
	if (m->vm_flags & RELOC_VM_LOCKED)
		remote_add_step(p->remote,
				&(struct remote_call){ .nr = SYS_mlock2,
						       .arg = { new_at, length(m),
								m->vm_flags & RELOC_VM_LOCKONFAULT
									? AS_U(MLOCK_ONFAULT)
									: 0 },
						       .what = "mlock of a new mapping" });
}

int repoint_fill_maps(const struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	struct repoint_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		maps[i].new_at = (uint64_t)remote_result(p->remote, maps[i].new_step);
		maps[i].saved_at = (uint64_t)remote_result(p->remote, maps[i].saved_step);
	}
	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(rp, &maps[i]);

		if (!m->is_shared && fill_private(p->remote, m, maps[i].new_at, e) < 0)
			return e->code;
		prepare_advice(p, m, maps[i].new_at);
	}
	return remote_run_steps(p->remote, e);
}

static struct remote_call move_map(uint64_t from, uint64_t len, uint64_t to)
{
	return (struct remote_call){ .nr = SYS_mremap,
				     .arg = { from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to },
				     .what = "move a mapping" };
}

void repoint_apply_maps(const struct repoint *rp, struct repoint_proc *p)
{
	const struct repoint_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(rp, &maps[i]);
		struct remote_call put_aside = move_map(m->start, length(m), maps[i].saved_at);
		struct remote_call put_back = move_map(maps[i].saved_at, length(m), m->start);
		struct remote_call put_new = move_map(maps[i].new_at, length(m), m->start);
		struct remote_call take_away = move_map(m->start, length(m), maps[i].new_at);

		remote_add_apply(p->remote, 0, &put_aside, &put_back);
		remote_add_apply(p->remote, 0, &put_new, &take_away);
		remote_add_finish(p->remote, 0,
				  &(struct remote_call){ .nr = SYS_munmap,
							 .arg = { maps[i].saved_at, length(m) },
							 .what = "munmap" });
	}
}
