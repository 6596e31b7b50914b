/* SPDX-License-Identifier: MIT */
#include "perf/unwind_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/uio.h>

#include "base/elf_image.h"
#include "base/log.h"
#include "perf/table_builder.h"

enum state {
	STATE_UNKNOWN, /* not asked for */
	STATE_WAITING,
	STATE_THERE, /* table holds; NULL: there is none */
};

struct entry {
	enum state state;
	struct unwind_table *table; /* owned */
	uint64_t bad_ends;          /* of stacks */
};

struct unwind_tables {
	struct dsos *dsos;
	struct table_builder *maker; /* NULL: tables are made at once */
	struct entry *entries;       /* [cap], by dso id; zero: not asked for */
	size_t cap;
	size_t waiting;
	uint64_t version;
};

struct unwind_tables *unwind_tables_new(struct dsos *d, bool is_live)
{
	struct unwind_tables *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->dsos = d;
	t->version = 1;
	if (is_live)
		t->maker = table_builder_new();
	if (is_live && !t->maker) {
		free(t);
		return NULL;
	}
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	table_builder_free(t->maker);
	for (size_t i = 0; i < t->cap; i++)
		unwind_table_free(t->entries[i].table);
	free(t->entries);
	free(t);
}

/* The entry of a dso, NULL: out of memory. */
static struct entry *get_entry(struct unwind_tables *t, uint32_t dso)
{
	if (dso >= t->cap) {
		size_t cap = 2 * (size_t)dso + 64;
		struct entry *entries = reallocarray(t->entries, cap, sizeof *entries);

		if (!entries)
			return NULL;
		for (size_t i = t->cap; i < cap; i++)
			entries[i] = (struct entry){ 0 };
		t->entries = entries;
		t->cap = cap;
	}
	return &t->entries[dso];
}

static const struct entry *find_entry(const struct unwind_tables *t, const struct vma *v)
{
	static const struct entry none;
	uint32_t dso = dsos_same(t->dsos, v->dso);

	return dso < t->cap ? &t->entries[dso] : &none;
}

static void put(struct unwind_tables *t, struct entry *entry, struct unwind_table *table)
{
	entry->table = table;
	entry->state = STATE_THERE;
	t->version++;
}

/* The vdso of all processes is the one that the kernel gave us. */
static int open_vdso(struct elf_image *ret, const struct vma *v, struct err *e)
{
	union {
		unsigned long value;
		const void *bytes;
	} at = { .value = getauxval(AT_SYSINFO_EHDR) };

	if (!at.value)
		return err_set(e, -ENOENT, "no vdso");
	return elf_image_init(ret, at.bytes, v->end - v->start, e);
}

#define VDSO32_MAX 65536 /* bytes; it has a page or two */

/* That of a 32-bit program is only in its memory. */
static int make_of_vdso32(const struct vma *v, uint32_t pid, struct unwind_table **ret,
			  struct err *e)
{
	size_t len = (size_t)(v->end - v->start);
	unsigned char *bytes = len && len <= VDSO32_MAX ? malloc(len) : NULL;
	struct iovec local = { bytes, len }, remote = { (void *)(uintptr_t)v->start, len };
	struct elf_image image;
	int rc;

	if (!bytes)
		return err_set(e, -ENOMEM, "no memory for a vdso of %zu bytes", len);
	if (process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) != (ssize_t)len)
		rc = err_set(e, -ESRCH, "the vdso of process %u cannot be read", pid);
	else
		rc = elf_image_init(&image, bytes, len, e);
	if (rc == 0)
		rc = unwind_table_new(&image, NULL, ret, e);
	free(bytes);
	return rc;
}

static int make_of_vdso(const struct vma *v, struct unwind_table **ret, struct err *e)
{
	struct elf_image image;
	int rc = open_vdso(&image, v, e);

	return rc < 0 ? rc : unwind_table_new(&image, NULL, ret, e);
}

static struct unwind_table *make(enum dso_kind kind, const struct vma *v, uint32_t pid, int fd)
{
	struct unwind_table *table = NULL;
	struct err e;
	int rc;

	if (kind == DSO_VDSO32)
		rc = make_of_vdso32(v, pid, &table, &e);
	else if (kind == DSO_VDSO)
		rc = make_of_vdso(v, &table, &e);
	else
		rc = table_builder_make(fd, &table, &e);
	if (rc < 0)
		log_msg(LOG_INFO, "tables", "no unwinding: %s", e.msg);
	return rc < 0 ? NULL : table;
}

/* Requests a table for the first time. */
static void ask(struct unwind_tables *t, struct entry *entry, const struct vma *v, uint32_t pid,
		uint32_t dso, int fd)
{
	enum dso_kind kind = dsos_kind(t->dsos, dso);
	bool is_vdso = kind == DSO_VDSO || kind == DSO_VDSO32;

	if (kind == DSO_FILE && fd >= 0 && t->maker &&
	    table_builder_request(t->maker, dso, fd) == 0) {
		entry->state = STATE_WAITING;
		t->waiting++;
	} else if (is_vdso ? dsos_is_live(t->dsos) : kind == DSO_FILE && fd >= 0) {
		struct unwind_table *table = make(kind, v, pid, fd);

		if (table || kind != DSO_VDSO32) /* else another process may still run */
			put(t, entry, table);
	} else if (kind != DSO_FILE) {
		put(t, entry, NULL);
	} /* else another process may lead to it */
}

bool unwind_tables_request(struct unwind_tables *t, const struct vma *v, uint32_t pid,
			   bool *ret_is_new)
{
	uint32_t before = dsos_same(t->dsos, v->dso);
	int fd = dsos_open(t->dsos, v, pid);
	uint32_t dso = dsos_same(t->dsos, v->dso);
	struct entry *entry = get_entry(t, dso);
	bool is_new = dso != before; /* turns out to be a file that was asked for */

	*ret_is_new = false;
	if (!entry)
		return true; /* nothing will come: frame pointers must do */
	t->version += is_new;
	if (entry->state == STATE_UNKNOWN) {
		ask(t, entry, v, pid, dso, fd);
		is_new = true;
	}
	*ret_is_new = is_new && entry->state == STATE_THERE;
	return entry->state != STATE_WAITING;
}

bool unwind_tables_collect(struct unwind_tables *t, bool wait)
{
	struct unwind_table *table;
	bool is_new = false;
	uint32_t dso;

	if (!t->waiting)
		return false;
	if (wait)
		table_builder_wait(t->maker);
	for (; table_builder_take(t->maker, &dso, &table); t->waiting--) {
		put(t, &t->entries[dso], table);
		is_new = true;
	}
	return is_new;
}

size_t unwind_tables_pending(const struct unwind_tables *t)
{
	return t->waiting;
}

uint64_t unwind_tables_version(const struct unwind_tables *t)
{
	return t->version;
}

const struct unwind_table *unwind_tables_get(const struct unwind_tables *t, const struct vma *v)
{
	return find_entry(t, v)->table;
}

void unwind_tables_count_end(struct unwind_tables *t, const struct vma *v)
{
	struct entry *entry = get_entry(t, dsos_same(t->dsos, v->dso));

	if (entry)
		entry->bad_ends++;
}

/* Fewer ends than another; of equal ones the later. */
static bool is_less(const struct unwind_tables *t, size_t a, size_t b)
{
	uint64_t ends_a = t->entries[a].bad_ends, ends_b = t->entries[b].bad_ends;

	return ends_a != ends_b ? ends_a < ends_b : a > b;
}

const char *unwind_tables_worst(const struct unwind_tables *t, size_t n, uint64_t *ret_count)
{
	size_t last = SIZE_MAX;

	*ret_count = 0;
	for (size_t rank = 0; rank <= n; rank++) {
		size_t worst = SIZE_MAX;

		for (size_t i = 0; i < t->cap; i++)
			if (t->entries[i].bad_ends && (last == SIZE_MAX || is_less(t, i, last)) &&
			    (worst == SIZE_MAX || is_less(t, worst, i)))
				worst = i;
		if (worst == SIZE_MAX)
			return "";
		last = worst;
	}
	*ret_count = t->entries[last].bad_ends;
	return dsos_path(t->dsos, (uint32_t)last);
}
