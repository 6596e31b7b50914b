/* SPDX-License-Identifier: MIT */
#include "perf/regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/rows.h"
#include "base/str.h"
#include "perf/maps.h"

#define STACK_BELOW UINT64_C(65536)      /* a stack is touched below its pointer, too */
#define STACK_ABOVE (UINT64_C(16) << 20) /* and this far above it */
#define HEAP_ABOVE (UINT64_C(2) << 30)   /* so near behind the program is what brk(2) gives */

#define WRITABLE UINT64_C(1)

/* The mappings of a process: vma.dso is a string id of the profile; vma.offset has in its lowest
 * bits, which cutting at pages does not change, whether it is WRITABLE. */
struct space {
	struct maps *maps;
	uint32_t program; /* string id of its path: the first file that was mapped; 0: none yet */
	uint64_t program_end; /* behind its last mapping */
};

struct regions {
	struct profile *profile;
	uint64_t versions;
	struct map by_pid;  /* index of spaces */
	struct rows spaces; /* struct space */
	uint32_t anon, heap, stack, thread_stack;
};

struct regions *regions_new(struct profile *p)
{
	struct regions *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->profile = p;
	r->anon = profile_str(p, "[anon]");
	r->heap = profile_str(p, "[heap]");
	r->stack = profile_str(p, "[stack]");
	r->thread_stack = profile_str(p, "[thread stack]");
	return r;
}

void regions_free(struct regions *r)
{
	struct space *all;

	if (!r)
		return;
	all = r->spaces.data;
	for (size_t i = 0; i < r->spaces.count; i++)
		maps_unref(all[i].maps);
	rows_fini(&r->spaces);
	map_fini(&r->by_pid);
	free(r);
}

/* Of a process; valid until the next one is new. NULL: out of memory. */
static struct space *space_of(struct regions *r, uint32_t pid)
{
	uint32_t *index = map_at(&r->by_pid, pid);
	struct space *space;

	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return (struct space *)r->spaces.data + *index;
	space = rows_add(&r->spaces, sizeof *space);
	if (!space)
		return NULL;
	space->maps = maps_new(&r->versions);
	if (!space->maps) {
		r->spaces.count--;
		return NULL;
	}
	*index = (uint32_t)(r->spaces.count - 1);
	return space;
}

/* Behind the data of a file, without a file: what the loader adds for the zeroes that the file does
 * not hold (.bss, COMMON blocks). */
static uint32_t anon_name(struct regions *r, struct space *space, uint64_t start)
{
	static const char mark[] = " [bss]";
	const struct vma *before = start ? maps_find(space->maps, start - 1) : NULL;
	bool is_data = before && before->offset & WRITABLE; /* else it is near by chance */
	struct str path = profile_get_str(r->profile, is_data ? before->dso : 0);
	char name[4096 + sizeof mark];

	if (path.len == 0 || path.ptr[0] != '/' || path.len > 4096) {
		/* The kernel calls it so only when it has grown. */
		bool is_heap = space->program && start >= space->program_end &&
			       start - space->program_end < HEAP_ABOVE;

		return is_heap ? r->heap : r->anon;
	}
	if (path.len > strlen(mark) && str_ends_with(path, mark))
		return before->dso;
	snprintf(name, sizeof name, "%s%s", path.ptr, mark);
	return profile_str(r->profile, name);
}

static uint32_t name_of(struct regions *r, struct space *space, const struct record_mmap *m)
{
	static const char gone[] = " (deleted)";
	struct str path = { (const char *)m->path.bytes, m->path.len };

	if (!path.len || str_equals(path, "//anon"))
		return anon_name(r, space, m->start);
	if (path.len > strlen(gone) && str_ends_with(path, gone))
		path.len -= strlen(gone);
	if (str_equals(path, "/dev/zero"))
		return profile_str(r->profile, "[shared]");
	if (str_equals(path, "/anon_hugepage"))
		return profile_str(r->profile, "[anon huge]");
	return profile_str_n(r->profile, path.ptr, path.len);
}

static void take_program(struct regions *r, struct space *space, const struct vma *v)
{
	if (!space->program && profile_text(r->profile, v->dso)[0] == '/')
		space->program = v->dso;
	if (space->program && v->dso == space->program && v->end > space->program_end)
		space->program_end = v->end;
}

int regions_map(struct regions *r, const struct record_mmap *m)
{
	struct space *space = space_of(r, m->pid);
	struct vma v = { .start = m->start, .offset = m->prot & PROT_WRITE ? WRITABLE : 0 };

	if (!space)
		return -ENOMEM;
	if (__builtin_add_overflow(m->start, m->len, &v.end))
		return 0;
	v.dso = name_of(r, space, m);
	take_program(r, space, &v);
	return maps_add(&space->maps, &v);
}

static int replace(struct regions *r, uint32_t pid, const struct space *by)
{
	struct space *space = by->maps ? space_of(r, pid) : NULL;

	if (!space) {
		maps_unref(by->maps);
		return -ENOMEM;
	}
	maps_unref(space->maps);
	*space = *by;
	return 0;
}

int regions_fork(struct regions *r, uint32_t pid, uint32_t parent)
{
	struct space *from, copy;

	if (pid == parent)
		return 0;
	from = space_of(r, parent);
	if (!from)
		return -ENOMEM;
	copy = *from;
	maps_ref(copy.maps);
	return replace(r, pid, &copy);
}

int regions_exec(struct regions *r, uint32_t pid)
{
	const struct space empty = { .maps = maps_new(&r->versions) };

	return replace(r, pid, &empty);
}

static bool is_near(uint64_t address, uint64_t sp)
{
	return sp && (address < sp ? sp - address <= STACK_BELOW : address - sp < STACK_ABOVE);
}

uint32_t regions_find(struct regions *r, uint32_t pid, uint64_t address, uint64_t sp)
{
	uint32_t index = map_get(&r->by_pid, pid);
	struct maps *space;
	const struct vma *v;

	if (index == MAP_NONE)
		return is_near(address, sp) ? r->stack : 0;
	space = ((struct space *)r->spaces.data)[index].maps;
	v = maps_find(space, address);
	/* There is no record of the main stack, which grows. */
	if (!v)
		return is_near(address, sp) ? r->stack : 0;
	if (v->dso == r->anon && sp >= v->start && sp < v->end && is_near(address, sp))
		return r->thread_stack;
	return v->dso;
}
