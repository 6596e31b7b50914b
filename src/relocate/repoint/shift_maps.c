/* SPDX-License-Identifier: MIT */
/*
 * File mappings: the new one is made at a free address, with what is private to the process copied
 * into it. Then mremap() puts the old one aside and the new one in its place; the same two calls
 * take it back.
 * Source: mremap(2); proc(5) on pagemap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/shift_internal.h"
#include "target/proc.h"

#define PAGE UINT64_C(4096)
#define PAGES_AT_ONCE 512
#define AS_U(x) ((uint64_t)(x))

static const struct reloc_map *row_of(const struct shift *sh, const struct shift_map *m)
{
	return &sh->survey->maps[m->row];
}

static uint64_t length(const struct reloc_map *m)
{
	return m->end - m->start;
}

int shift_add_maps(struct shift *sh, struct shift_proc *p, struct err *e)
{
	const struct survey *s = sh->survey;

	for (size_t i = 0; i < s->map_count; i++) {
		const struct reloc_map *m = &s->maps[i];
		bool is_written = m->is_shared && m->vm_flags & RELOC_VM_MAY_WRITE;
		struct shift_map *row;
		int fd;

		if (m->proc != p->proc || m->is_left)
			continue;
		row = rows_add(&p->maps, sizeof *row);
		if (!row)
			return err_nomem(e);
		row->row = (uint32_t)i;
		fd = shift_open_file(sh, &s->files[m->file], p->proc,
				     is_written ? O_RDWR : O_RDONLY, e);
		if (fd < 0 || shift_add_given(p, fd, &row->given, e) < 0)
			return e->code;
	}
	return 0;
}

static void undo_mmap(struct shift_proc *p, size_t step, uint64_t len)
{
	inside_undo(p->in, &(struct inside_call){ .nr = SYS_munmap,
						  .arg = { 0, len },
						  .arg0_from = inside_result_at(p->in, step),
						  .may_fail = true,
						  .what = "munmap" });
}

void shift_step_maps(const struct shift *sh, struct shift_proc *p)
{
	struct shift_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(sh, &maps[i]);
		int number = ((const int *)p->numbers.data)[maps[i].given];
		unsigned kind = (m->is_shared ? MAP_SHARED : MAP_PRIVATE) |
				(m->vm_flags & RELOC_VM_NORESERVE ? MAP_NORESERVE : 0);

		maps[i].fresh_step = inside_step(
			p->in, &(struct inside_call){ .nr = SYS_mmap,
						      .arg = { 0, length(m), AS_U(m->prot), kind,
							       AS_U(number), m->offset },
						      .what = "mapping a new file" });
		undo_mmap(p, maps[i].fresh_step, length(m));
		maps[i].aside_step = inside_step(
			p->in,
			&(struct inside_call){ .nr = SYS_mmap,
					       .arg = { 0, length(m), PROT_NONE,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
							UINT64_MAX, 0 },
					       .what = "room for an old mapping" });
		undo_mmap(p, maps[i].aside_step, length(m));
	}
}

/* Is the page this process' own: there or swapped out, and not of the file? */
static bool is_private(uint64_t entry)
{
	return (entry >> 62) != 0 && !(entry >> 61 & 1);
}

static int copy_pages(struct inside *in, uint64_t from, uint64_t to, size_t count, char *room)
{
	int rc = inside_read(in, from, room, count * PAGE);

	return rc < 0 ? rc : inside_write(in, to, room, count * PAGE);
}

/* count pages from address at on are looked up in pagemap; those that are private are copied. */
static int copy_private(struct inside *in, int pagemap, uint64_t at, uint64_t to, size_t count,
			char *room)
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
			rc = copy_pages(in, at + i * PAGE, to + i * PAGE, run, room);
	}
	return rc;
}

static int fill_private(struct inside *in, const struct reloc_map *m, uint64_t fresh, struct err *e)
{
	char path[PROC_PATH];
	char *room = malloc(PAGES_AT_ONCE * PAGE);
	int pagemap, rc = room ? 0 : -ENOMEM;

	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)inside_pid(in));
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		rc = -errno;
	for (uint64_t at = m->start; at < m->end && rc == 0; at += PAGES_AT_ONCE * PAGE) {
		size_t left = (size_t)((m->end - at) / PAGE);

		rc = copy_private(in, pagemap, at, fresh + (at - m->start),
				  left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE, room);
	}
	if (pagemap >= 0)
		close(pagemap);
	free(room);
	return rc < 0 ? err_set(e, rc, "process %d: private pages: %s", (int)inside_pid(in),
				strerror(-rc))
		      : 0;
}

/* What smaps tells beyond protection. */
static void step_advice(struct shift_proc *p, const struct reloc_map *m, uint64_t fresh)
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
			inside_step(p->in,
				    &(struct inside_call){
					    .nr = SYS_madvise,
					    .arg = { fresh, length(m), AS_U(rows[i].advice) },
					    .what = "madvise of a new mapping" });
	if (m->vm_flags & RELOC_VM_LOCKED)
		inside_step(p->in,
			    &(struct inside_call){ .nr = SYS_mlock2,
						   .arg = { fresh, length(m),
							    m->vm_flags & RELOC_VM_LOCKONFAULT
								    ? AS_U(MLOCK_ONFAULT)
								    : 0 },
						   .what = "mlock of a new mapping" });
}

int shift_fill_maps(const struct shift *sh, struct shift_proc *p, struct err *e)
{
	struct shift_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		maps[i].fresh = (uint64_t)inside_result(p->in, maps[i].fresh_step);
		maps[i].aside = (uint64_t)inside_result(p->in, maps[i].aside_step);
	}
	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(sh, &maps[i]);

		if (!m->is_shared && fill_private(p->in, m, maps[i].fresh, e) < 0)
			return e->code;
		step_advice(p, m, maps[i].fresh);
	}
	return inside_run(p->in, e);
}

static struct inside_call move_map(uint64_t from, uint64_t len, uint64_t to)
{
	return (struct inside_call){ .nr = SYS_mremap,
				     .arg = { from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to },
				     .what = "moving a mapping" };
}

void shift_go_maps(const struct shift *sh, struct shift_proc *p)
{
	const struct shift_map *maps = p->maps.data;

	for (size_t i = 0; i < p->maps.count; i++) {
		const struct reloc_map *m = row_of(sh, &maps[i]);
		struct inside_call put_aside = move_map(m->start, length(m), maps[i].aside);
		struct inside_call put_back = move_map(maps[i].aside, length(m), m->start);
		struct inside_call place = move_map(maps[i].fresh, length(m), m->start);
		struct inside_call displace = move_map(m->start, length(m), maps[i].fresh);

		inside_go(p->in, 0, &put_aside, &put_back);
		inside_go(p->in, 0, &place, &displace);
		inside_finish(p->in, 0,
			      &(struct inside_call){ .nr = SYS_munmap,
						     .arg = { maps[i].aside, length(m) },
						     .what = "munmap" });
	}
}
