/* SPDX-License-Identifier: MIT */
#include "perf/dso.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/number.h"
#include "base/path.h"
#include "base/storage/storage_open.h"
#include "perf/dso_internal.h"
#include "perf/kernel.h"

#define PAGE_BYTES UINT64_C(4096)

/* The key of a dso; its path follows. */
struct key {
	uint32_t kind, pid;
	uint32_t major, minor;
	uint64_t ino;
	unsigned char build_id[RECORD_BUILD_ID_MAX];
	uint32_t build_id_len;
};

struct dsos *dsos_new(const struct dsos_opts *o)
{
	struct dsos *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->opts = *o;
	d->keys = strtab_new();
	if (!d->keys) {
		free(d);
		return NULL;
	}
	return d;
}

void dsos_free(struct dsos *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].fd >= 0)
			close(d->list[i].fd);
	free(d->list);
	free(d->files);
	buf_fini(&d->file_names);
	map_fini(&d->by_file);
	map_fini(&d->parents);
	map_fini(&d->jitdumps);
	strtab_free(d->keys);
	free(d);
}

bool dso_path_starts(const char *text, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && memcmp(text, prefix, n) == 0;
}

enum dso_kind dso_kind_of(const char *path, size_t *path_len)
{
	static const char deleted[] = " (deleted)";
	static const char *const anon[] = {
		"//anon",    "[heap]", "[stack",      "[anon",
		"/dev/zero", "/SYSV",  "anon_inode:", "/anon_hugepage",
	};
	size_t len = *path_len, cut = sizeof deleted - 1;

	if (len > cut && memcmp(path + len - cut, deleted, cut) == 0)
		*path_len = len -= cut;
	if (len == 0)
		return DSO_ANON;
	for (size_t i = 0; i < ARRAY_LEN(anon); i++)
		if (dso_path_starts(path, len, anon[i]))
			return DSO_ANON;
	if (dso_path_starts(path, len, "[vdso]"))
		return DSO_VDSO;
	return path[0] == '/' && !dso_path_starts(path, len, "//") ? DSO_FILE : DSO_OTHER;
}

/* Writes the key of a dso. */
static void make_key(const struct dso_id *id, struct buf *out)
{
	struct key key = { .kind = id->kind };

	if (id->kind == DSO_ANON)
		key.pid = id->pid;
	if (id->kind == DSO_FILE && id->build_id_len && id->build_id_len <= sizeof key.build_id) {
		memcpy(key.build_id, id->build_id, id->build_id_len);
		key.build_id_len = (uint32_t)id->build_id_len;
	} else if (id->kind == DSO_FILE) {
		key.major = id->major;
		key.minor = id->minor;
		key.ino = id->ino;
	}
	buf_put(out, &key, sizeof key);
	if (id->kind != DSO_ANON)
		buf_put(out, id->path, id->path_len);
}

/* The row of the dso that has just been given its id. */
static int append(struct dsos *d, const struct dso_id *id, struct str key)
{
	struct dso *dso;

	if (d->count == d->cap) {
		size_t cap = d->cap ? 2 * d->cap : 64;
		struct dso *list = reallocarray(d->list, cap, sizeof *list);

		if (!list)
			return -ENOMEM;
		d->list = list;
		d->cap = cap;
	}
	dso = &d->list[d->count++];
	*dso = (struct dso){
		.kind = id->kind,
		.same = (uint32_t)d->count - 1,
		.fd = -1,
		.path = { key.ptr + sizeof(struct key), key.len - sizeof(struct key) },
		.ino = id->ino,
		.pid = id->pid,
	};
	if (id->kind == DSO_FILE && id->build_id_len <= RECORD_BUILD_ID_MAX)
		number_print_hex(dso->build_id, id->build_id, id->build_id_len);
	dso->has_mapped_build_id = dso->build_id[0] != '\0';
	return 0;
}

uint32_t dsos_add(struct dsos *d, const struct dso_id *id)
{
	CLEANUP(buf_fini) struct buf key = { 0 };
	uint32_t i;

	make_key(id, &key);
	if (buf_error(&key) < 0)
		return DSO_NONE;
	i = strtab_intern(d->keys, key.data, key.len);
	/* A dso whose row could not be made has an id for good, and no row. */
	if (i == STRTAB_NONE || i > d->count)
		return DSO_NONE;
	if (i == d->count && append(d, id, strtab_get(d->keys, i)) < 0)
		return DSO_NONE;
	/* Runtimes map their jitdump as code, so that recorders learn of it. */
	if (id->kind == DSO_FILE && path_is_jitdump(d->list[i].path.ptr) &&
	    map_put(&d->jitdumps, id->pid, i) < 0)
		return DSO_NONE;
	return i;
}

/* The part of the file that holds this offset: a true segment, else one whose pages do. */
static struct segment *find_segment(struct dso *dso, uint64_t offset)
{
	for (size_t i = 0; i < dso->segment_count; i++) {
		struct segment *s = &dso->segments[i];

		if (offset >= s->offset && offset - s->offset < s->len)
			return s;
	}
	for (size_t i = 0; i < dso->segment_count; i++) {
		struct segment *s = &dso->segments[i];
		uint64_t start = s->offset & ~(PAGE_BYTES - 1);

		if (offset >= start && offset - start < s->len + 2 * PAGE_BYTES)
			return s;
	}
	return NULL;
}

/* For what cannot be read: the mapped part, as if linked at its offset. NULL: too many. */
static struct segment *add_plain(struct dso *dso, const struct vma *v)
{
	if (dso->segment_count == DSO_SEGMENTS_MAX)
		return NULL;
	dso->segments[dso->segment_count] =
		(struct segment){ v->offset, v->end - v->start, v->offset, 0 };
	return &dso->segments[dso->segment_count++];
}

static uint32_t add_mapping(struct dsos *d, const struct segment *s, struct str path,
			    const char *build_id)
{
	struct mapping m = {
		.start = s->vaddr,
		.limit = s->vaddr + s->len,
		.offset = s->offset,
		.path = profile_str_n(d->opts.profile, path.ptr, path.len),
		.build_id = profile_str(d->opts.profile, build_id),
	};

	return profile_add_mapping(d->opts.profile, &m);
}

static struct code_address name_place(const struct dsos *d, struct str name)
{
	return (struct code_address){ .name = profile_str_n(d->opts.profile, name.ptr, name.len) };
}

static struct code_address locate_file(struct dsos *d, struct dso *dso, const struct vma *v,
				       uint64_t address)
{
	uint64_t offset = v->offset + (address - v->start);
	struct segment *s = find_segment(dso, offset);

	if (!s)
		s = add_plain(dso, v);
	if (!s)
		return name_place(d, dso->path);
	if (!s->mapping)
		s->mapping = add_mapping(d, s, dso->path, dso->build_id);
	return (struct code_address){ .mapping = s->mapping,
				      .address = s->vaddr + (offset - s->offset) };
}

/* The process id as the process itself sees it, the last number of NSpid. Source: proc(5). */
static uint32_t ns_pid(const char *proc, uint32_t pid)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	char line[256];
	uint32_t inside = pid;
	FILE *f;

	buf_printf(&path, "%s/%u/status", proc, pid);
	f = buf_error(&path) == 0 ? fopen(path.data, "re") : NULL;
	while (f && fgets(line, sizeof line, f)) {
		size_t at = strlen(line);

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		while (at > 6 && isspace((unsigned char)line[at - 1]))
			at--;
		while (at > 6 && isdigit((unsigned char)line[at - 1]))
			at--;
		inside = (uint32_t)strtoul(line + at, NULL, 10);
	}
	if (f)
		fclose(f);
	return inside;
}

/*
 * Code made at run time is named by a perf map or a jitdump, if its process writes one. Through its
 * root, while it lives: a process in a container writes into another /tmp, under another id.
 * Anybody can write a file of that name, so it must belong to the process' user, who owns
 * /proc/PID, or root. name: as the process sees it.
 */
static bool open_perf_map(const struct dsos *d, struct dso *dso, const char *name)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(fd_close) int fd = -1;
	struct stat st, process;
	struct err e;

	buf_printf(&path, "%s/%u/root%s", d->opts.proc, dso->pid, name);
	if (buf_error(&path) < 0)
		return false;
	fd = storage_open_regular(path.data, O_NOFOLLOW, &e);
	dso->is_refused = fd == -ELOOP || fd == -EINVAL;
	buf_clear(&path);
	buf_printf(&path, "%s/%u", d->opts.proc, dso->pid);
	if (fd >= 0 && fstat(fd, &st) == 0 && stat(path.data, &process) == 0)
		dso->is_refused = st.st_uid != 0 && st.st_uid != process.st_uid;
	else if (!dso->is_refused)
		return false;
	if (dso->is_refused)
		log_msg(LOG_WARN, "dso",
			"%s names no code of process %u: it is no regular file of the process' "
			"user or root",
			name, dso->pid);
	if (dso->is_refused || d->fd_count >= d->opts.fd_limit)
		return false;
	dso->fd = fd;
	fd = -1;
	return true;
}

/* The mapping for the code, which is called as what names it. */
static void set_anon(struct dsos *d, struct dso *dso, uint32_t jitdump)
{
	struct segment *s = &dso->segments[0];
	char map[64];
	struct str name;

	dso->has_jitdump = jitdump != MAP_NONE;
	dso->is_refused = false;
	snprintf(map, sizeof map, "/tmp/perf-%u.map",
		 d->opts.proc ? ns_pid(d->opts.proc, dso->pid) : dso->pid);
	name = dso->has_jitdump ? d->list[jitdump].path : (struct str){ map, strlen(map) };
	*s = (struct segment){ .len = UINT64_MAX };
	dso->segment_count = 1;
	s->mapping = add_mapping(d, s, name, "");
}

static struct code_address locate_anon(struct dsos *d, struct dso *dso, uint64_t address)
{
	uint32_t jitdump = map_get(&d->jitdumps, dso->pid);
	struct segment *s = &dso->segments[0];

	/* Either file may come later than the code, then it names what is sampled from then on. */
	if (!s->mapping || (jitdump != MAP_NONE && !dso->has_jitdump && dso->fd < 0))
		set_anon(d, dso, jitdump);
	if (d->opts.proc && dso->fd < 0 && !dso->is_refused)
		d->fd_count += open_perf_map(
			d, dso,
			profile_text(d->opts.profile,
				     profile_get_mapping(d->opts.profile, s->mapping)->path));
	return (struct code_address){ .mapping = s->mapping, .address = address };
}

/* Addresses in the vdso are relative to its start, as its own ELF header has them. */
static struct code_address locate_vdso(struct dsos *d, struct dso *dso, const struct vma *v,
				       uint64_t address)
{
	struct segment *s = &dso->segments[0];

	if (!s->mapping) {
		*s = (struct segment){ .len = v->end - v->start };
		dso->segment_count = 1;
		s->mapping = add_mapping(d, s, dso->path, "");
	}
	return (struct code_address){ .mapping = s->mapping,
				      .address = address - v->start + v->offset };
}

struct code_address dsos_locate(struct dsos *d, const struct vma *v, uint32_t pid, uint64_t address)
{
	struct dso *dso = dsos_get_open(d, v, pid);

	switch (dso->kind) {
	case DSO_FILE:
		return locate_file(d, dso, v, address);
	case DSO_ANON:
		return locate_anon(d, dso, address);
	case DSO_VDSO:
		return locate_vdso(d, dso, v, address);
	case DSO_VDSO32:
	case DSO_OTHER:
		break;
	}
	return name_place(d, dso->path);
}

struct code_address dsos_locate_kernel(struct dsos *d, uint64_t address)
{
	static const char path[] = "[kernel.kallsyms]";
	uint64_t start = d->opts.kernel_start ? d->opts.kernel_start : UINT64_C(1) << 63;
	struct segment s = { .vaddr = start, .len = UINT64_MAX - start };

	if (d->opts.kernel)
		return kernel_locate(d->opts.kernel, address);
	if (!d->kernel)
		d->kernel = add_mapping(d, &s, (struct str){ path, sizeof path - 1 }, "");
	return (struct code_address){ .mapping = d->kernel, .address = address };
}

int dsos_set_parent(struct dsos *d, uint32_t pid, uint32_t parent)
{
	return map_put(&d->parents, pid, parent);
}

int dsos_open(struct dsos *d, const struct vma *v, uint32_t pid)
{
	return dsos_get_open(d, v, pid)->fd;
}

uint32_t dsos_same(const struct dsos *d, uint32_t id)
{
	return d->list[id].same;
}

enum dso_kind dsos_kind(const struct dsos *d, uint32_t id)
{
	return d->list[id].kind;
}

const char *dsos_path(const struct dsos *d, uint32_t id)
{
	return d->list[id].kind == DSO_ANON ? "code made at run time" : d->list[id].path.ptr;
}

bool dsos_is_live(const struct dsos *d)
{
	return d->opts.proc != NULL;
}

uint64_t dsos_bias(struct dsos *d, const struct vma *v)
{
	struct dso *dso = &d->list[d->list[v->dso].same];
	struct segment *s = dso->kind == DSO_FILE ? find_segment(dso, v->offset) : NULL;

	return v->start - v->offset + (s ? s->offset - s->vaddr : 0);
}

const char *const *dsos_files(struct dsos *d)
{
	static const size_t name_bytes = sizeof "/proc/self/fd/2147483647";
	size_t mappings = profile_mapping_count(d->opts.profile);
	size_t next = 0;

	free(d->files);
	d->files = calloc(mappings ? mappings : 1, sizeof *d->files);
	buf_clear(&d->file_names);
	if (!d->files || !buf_reserve(&d->file_names, d->fd_count * name_bytes))
		return NULL;
	for (size_t i = 0; i < d->count; i++) {
		struct dso *dso = &d->list[i];
		char *name = d->file_names.data + next;

		if (dso->fd < 0)
			continue;
		snprintf(name, name_bytes, "/proc/self/fd/%d", dso->fd);
		next += name_bytes;
		for (size_t j = 0; j < dso->segment_count; j++)
			if (dso->segments[j].mapping)
				d->files[dso->segments[j].mapping] = name;
	}
	return d->files;
}
