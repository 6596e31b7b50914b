/* SPDX-License-Identifier: MIT */
#include "perf/dso.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/log.h"
#include "base/map.h"
#include "base/strtab.h"
#include "perf/kernel.h"

#define PAGE_BYTES UINT64_C(4096)
#define ANCESTORS 4    /* processes whose root is looked at, the process first */
#define TRIES_MAX 16   /* to open a file */
#define SEGMENTS_MAX 4 /* of one dso; files have one or two */

/* A part of a file that holds code, and its mapping in the profile. */
struct segment {
	uint64_t offset, len; /* in the file, [offset..offset+len) */
	uint64_t vaddr;       /* of offset */
	uint32_t mapping;     /* id, 0: not made yet */
};

struct dso {
	enum dso_kind kind;
	bool is_open;      /* read, and it is the one that was mapped */
	unsigned tries;    /* to open it */
	uint32_t last_pid; /* whose mapping was tried last */
	uint32_t same;     /* id of the dso that stands for this one, too: the same file */
	int fd;            /* -1: none */
	struct str path;   /* borrowed from keys */
	char build_id[ELF_BUILD_ID_HEX]; /* "": none known */
	bool is_build_id_told;           /* by the mapping: the file must have it */
	uint64_t ino;                    /* 0: not told */
	uint32_t pid;                    /* DSO_ANON: whose code */
	uint32_t pid_inside;             /* DSO_ANON: the same, as the process sees it */
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
};

struct dsos {
	struct dsos_opts opts;
	struct strtab *keys; /* packed struct key and path; the id is the dso's */
	struct dso *list;    /* [cap]; owned */
	size_t count, cap;
	size_t fd_count;
	uint32_t kernel;       /* mapping id, 0: not made yet */
	struct map by_file;    /* what is_same_file() is asked of: by the file's number */
	struct map parents;    /* process id to that of its parent */
	struct buf file_names; /* texts of files */
	const char **files;    /* [mapping count]; owned */
};

/* What tells two dsos apart besides the path, which stands behind it. */
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
	strtab_free(d->keys);
	free(d);
}

static bool starts_with(const char *text, size_t len, const char *prefix)
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
		if (starts_with(path, len, anon[i]))
			return DSO_ANON;
	if (starts_with(path, len, "[vdso]"))
		return DSO_VDSO;
	return path[0] == '/' && !starts_with(path, len, "//") ? DSO_FILE : DSO_OTHER;
}

/* The bytes that tell this dso from others. */
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

static void print_hex(char *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
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
		print_hex(dso->build_id, id->build_id, id->build_id_len);
	dso->is_build_id_told = dso->build_id[0] != '\0';
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
	return i;
}

/* Where the code is in a file, and its build id. */
static void take_segments(struct dso *dso, const struct elf_image *image, const char *build_id)
{
	dso->segment_count = 0;
	for (uint32_t i = 0; i < image->phnum && dso->segment_count < SEGMENTS_MAX; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type == PT_LOAD && s.is_executable && s.file_size)
			dso->segments[dso->segment_count++] =
				(struct segment){ s.offset, s.file_size, s.vaddr, 0 };
	}
	memcpy(dso->build_id, build_id, ELF_BUILD_ID_HEX);
}

/* The kernel tells of the file beneath an overlay (before 6.8), stat of the one in it. */
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
	elf_build_id(&image, build_id);
	if (dso->is_build_id_told)
		fits = strncmp(build_id, dso->build_id, strlen(dso->build_id)) == 0;
	else
		fits = !is_live || dso->ino == 0 || dso->ino == st->st_ino || !is_inode_sure(fd);
	if (fits)
		take_segments(dso, &image, build_id);
	elf_image_close(&image);
	return fits;
}

/*
 * A file may be told of by its build id and by its inode, so two dsos are one file: then the
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

/* Opens one candidate. To open a device can do something to it. */
static bool try_path(struct dsos *d, struct dso *dso, const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
	if ((dso->is_build_id_told || dso->ino) && try_proc(d, dso, pid, "exe", ""))
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
	if (d->opts.proc && starts_with(dso->path.ptr, dso->path.len, "/memfd:")) {
		dso->kind = DSO_ANON; /* code made at run time, in a shared memory */
		dso->pid = pid;
	}
	if (dso->tries == 1)
		log_msg(LOG_INFO, "dso", "%s: cannot be opened as it was mapped", dso->path.ptr);
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
	if (dso->segment_count == SEGMENTS_MAX)
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

static struct place name_place(const struct dsos *d, struct str name)
{
	return (struct place){ .name = profile_str_n(d->opts.profile, name.ptr, name.len) };
}

static struct place locate_file(struct dsos *d, struct dso *dso, const struct vma *v,
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
	return (struct place){ .mapping = s->mapping, .address = s->vaddr + (offset - s->offset) };
}

/* The process id as the process itself sees it, the last number of NSpid. Source: proc(5). */
static uint32_t pid_inside(const char *proc, uint32_t pid)
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
 * Code made at run time is named by a perf map, if its process writes one. Through its root,
 * while it lives: a process in a container writes into another /tmp, under another id.
 */
static bool open_perf_map(const struct dsos *d, struct dso *dso, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || d->fd_count >= d->opts.fd_limit) {
		close(fd);
		return false;
	}
	dso->fd = fd;
	return true;
}

static struct place locate_anon(struct dsos *d, struct dso *dso, uint64_t address)
{
	const char *proc = d->opts.proc;
	struct segment *s = &dso->segments[0];
	char path[128];

	if (!s->mapping) {
		dso->pid_inside = proc ? pid_inside(proc, dso->pid) : dso->pid;
		snprintf(path, sizeof path, "/tmp/perf-%u.map", dso->pid_inside);
		*s = (struct segment){ .len = UINT64_MAX };
		dso->segment_count = 1;
		s->mapping = add_mapping(d, s, (struct str){ path, strlen(path) }, "");
	}
	/* The file may come later than the code. */
	if (proc && dso->fd < 0) {
		snprintf(path, sizeof path, "%s/%u/root/tmp/perf-%u.map", proc, dso->pid,
			 dso->pid_inside);
		d->fd_count += open_perf_map(d, dso, path);
	}
	return (struct place){ .mapping = s->mapping, .address = address };
}

/* Addresses in the vdso are relative to its start, as its own ELF header has them. */
static struct place locate_vdso(struct dsos *d, struct dso *dso, const struct vma *v,
				uint64_t address)
{
	struct segment *s = &dso->segments[0];

	if (!s->mapping) {
		*s = (struct segment){ .len = v->end - v->start };
		dso->segment_count = 1;
		s->mapping = add_mapping(d, s, dso->path, "");
	}
	return (struct place){ .mapping = s->mapping, .address = address - v->start + v->offset };
}

static struct dso *get_open(struct dsos *d, const struct vma *v, uint32_t pid)
{
	struct dso *dso = &d->list[v->dso];

	/* Another process may be alive, or see what this one does not. */
	if (dso->kind == DSO_FILE && !dso->is_open && dso->tries < TRIES_MAX &&
	    (dso->tries == 0 || dso->last_pid != pid))
		open_file(d, dso, v, pid);
	return &d->list[dso->same];
}

struct place dsos_locate(struct dsos *d, const struct vma *v, uint32_t pid, uint64_t address)
{
	struct dso *dso = get_open(d, v, pid);

	switch (dso->kind) {
	case DSO_FILE:
		return locate_file(d, dso, v, address);
	case DSO_ANON:
		return locate_anon(d, dso, address);
	case DSO_VDSO:
		return locate_vdso(d, dso, v, address);
	case DSO_OTHER:
		break;
	}
	return name_place(d, dso->path);
}

struct place dsos_locate_kernel(struct dsos *d, uint64_t address)
{
	static const char path[] = "[kernel.kallsyms]";
	uint64_t start = d->opts.kernel_start ? d->opts.kernel_start : UINT64_C(1) << 63;
	struct segment s = { .vaddr = start, .len = UINT64_MAX - start };

	if (d->opts.kernel)
		return kernel_locate(d->opts.kernel, address);
	if (!d->kernel)
		d->kernel = add_mapping(d, &s, (struct str){ path, sizeof path - 1 }, "");
	return (struct place){ .mapping = d->kernel, .address = address };
}

int dsos_set_parent(struct dsos *d, uint32_t pid, uint32_t parent)
{
	return map_put(&d->parents, pid, parent);
}

int dsos_open(struct dsos *d, const struct vma *v, uint32_t pid)
{
	return get_open(d, v, pid)->fd;
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
