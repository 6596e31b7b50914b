/* SPDX-License-Identifier: MIT */
#include "perf/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/rows.h"
#include "base/str.h"
#include "perf/maps.h"

#define NOTE_BUILD_ID 3        /* NT_GNU_BUILD_ID */
#define KSYMBOL_UNREGISTERED 1 /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
#define MAX_FILE ((size_t)1 << 20)

/* Code that has a name of its own. */
struct region {
	uint32_t name;    /* string id of the profile: "[ext4]", "bpf_prog_..." */
	uint32_t mapping; /* id, of a module; 0: its code is one function */
};

struct kernel {
	struct profile *profile;
	const char *root;
	struct kernel_id id;
	struct maps *maps;   /* of the regions; dso: index */
	uint64_t versions;   /* of maps */
	struct rows regions; /* struct region */
	uint32_t mapping;    /* id, of the kernel itself; 0: not made yet */
	uint64_t start, end; /* of its code; end 0: unknown */
	uint64_t moved;      /* what to add to have an address of the running kernel */
	bool is_running;     /* it is the one that runs now */
};

/* "" when it cannot be read. */
static void read_file(const char *root, const char *path, struct buf *out)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	struct err e;

	buf_printf(&name, "%s%s", root, path);
	if (buf_error(&name) == 0 && file_read_small(name.data, MAX_FILE, out, &e) < 0)
		buf_clear(out);
}

static bool has_build_id(const char *root, const struct kernel_id *id)
{
	CLEANUP(buf_fini) struct buf notes = { 0 };
	struct cursor c;

	read_file(root, "/sys/kernel/notes", &notes);
	c = cursor_make(notes.data, notes.len);
	while (cursor_left(&c) && !c.bad) {
		uint32_t name_len = cursor_u32(&c), len = cursor_u32(&c), type = cursor_u32(&c);
		const unsigned char *name, *desc;

		if (name_len > notes.len || len > notes.len)
			break;
		name = cursor_bytes(&c, (name_len + 3) & ~3U);
		desc = cursor_bytes(&c, (len + 3) & ~3U);
		if (type == NOTE_BUILD_ID && name && desc && name_len == 4 &&
		    memcmp(name, "GNU", 4) == 0)
			return len == id->build_id_len && memcmp(desc, id->build_id, len) == 0;
	}
	return false;
}

/* Without a build id, the same release on the same host will do. */
static bool is_running(const char *root, const struct kernel_id *id)
{
	struct utsname now;

	if (id->build_id_len)
		return has_build_id(root, id);
	return uname(&now) == 0 && strcmp(now.release, id->release) == 0 &&
	       strcmp(now.nodename, id->host) == 0;
}

struct kernel *kernel_new(struct profile *p, const struct kernel_id *id, const char *root)
{
	struct kernel *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	*k = (struct kernel){
		.profile = p,
		.root = root,
		.id = *id,
		.is_running = is_running(root, id),
	};
	k->maps = maps_new(&k->versions);
	if (k->maps)
		return k;
	free(k);
	return NULL;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	maps_unref(k->maps);
	rows_fini(&k->regions);
	free(k);
}

/* Where the running kernel has this symbol; 0: not known, or hidden. */
static uint64_t find_symbol(const char *root, const char *symbol)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	unsigned long long address = 0;
	char line[512], name[128];
	FILE *f;

	buf_printf(&path, "%s/proc/kallsyms", root);
	f = buf_error(&path) == 0 ? fopen(path.data, "re") : NULL;
	if (!f)
		return 0;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%llx %*c %127s", &address, name) == 2 &&
		    strcmp(name, symbol) == 0)
			break;
		address = 0;
	}
	fclose(f);
	return address;
}

static bool starts_with(struct record_bytes text, const char *start)
{
	return str_starts_with((struct str){ (const char *)text.bytes, text.len }, start);
}

/* "[kernel.kallsyms]_text": its offset is where that symbol was. */
static void add_core(struct kernel *k, const struct record_mmap *m)
{
	static const char name[] = "[kernel.kallsyms]";
	CLEANUP(buf_fini) struct buf symbol = { 0 };
	uint64_t now;

	if (__builtin_add_overflow(m->start, m->len, &k->end))
		k->end = UINT64_MAX;
	k->start = m->start;
	buf_put(&symbol, m->path.bytes + sizeof name - 1, m->path.len - (sizeof name - 1));
	if (!k->is_running || !symbol.len || buf_error(&symbol) < 0)
		return;
	now = find_symbol(k->root, symbol.data);
	if (now && m->offset)
		k->moved = now - m->offset;
}

/* "[ext4]" of "[ext4]" and of "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz". */
static void put_module(struct record_bytes path, struct buf *out)
{
	const char *text = (const char *)path.bytes, *base, *end = text + path.len;

	if (path.len && *text == '[') {
		buf_put(out, text, path.len);
		return;
	}
	for (base = end; base > text && base[-1] != '/';)
		base--;
	buf_put_byte(out, '[');
	while (base < end && *base != '.') {
		buf_put_byte(out, (unsigned char)(*base == '-' ? '_' : *base));
		base++;
	}
	buf_put_byte(out, ']');
}

/* Is the module loaded there now? "[ext4]": line "ext4 SIZE ... 0xADDRESS". */
static bool is_loaded(const struct kernel *k, const struct buf *name, uint64_t start)
{
	CLEANUP(buf_fini) struct buf modules = { 0 };
	struct cursor c;
	const char *line;
	size_t len;

	read_file(k->root, "/proc/modules", &modules);
	c = cursor_make(modules.data, modules.len);
	while (cursor_line(&c, &line, &len)) {
		const char *address = memmem(line, len, " 0x", 3);

		if (len > name->len - 2 && memcmp(line, name->data + 1, name->len - 2) == 0 &&
		    line[name->len - 2] == ' ')
			return address && strtoull(address + 1, NULL, 16) == start;
	}
	return false;
}

static int add_region(struct kernel *k, uint64_t start, uint64_t len, const struct region *region)
{
	struct vma v = { .start = start, .dso = (uint32_t)k->regions.count };
	struct region *row;

	if (__builtin_add_overflow(start, len, &v.end))
		return 0;
	row = rows_add(&k->regions, sizeof *row);
	if (!row)
		return -ENOMEM;
	*row = *region;
	return maps_add(&k->maps, &v);
}

int kernel_add_map(struct kernel *k, const struct record_mmap *m)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	struct region region;
	bool is_here;

	if (starts_with(m->path, "[kernel.kallsyms]")) {
		add_core(k, m);
		return 0;
	}
	if (starts_with(m->path, "[guest."))
		return 0;
	put_module(m->path, &name);
	if (buf_error(&name) < 0)
		return -ENOMEM;
	is_here = k->is_running && is_loaded(k, &name, m->start);
	region.name = profile_str_n(k->profile, name.data, name.len);
	region.mapping =
		profile_add_mapping(k->profile, &(struct mapping){ .start = m->start,
								   .limit = m->start + m->len,
								   .path = region.name,
								   .has_functions = !is_here });
	return add_region(k, m->start, m->len, &region);
}

int kernel_add_symbol(struct kernel *k, const struct record_ksymbol *s)
{
	struct region region = { 0 };

	if (s->flags & KSYMBOL_UNREGISTERED)
		return 0;
	region.name = profile_str_n(k->profile, (const char *)s->name.bytes, s->name.len);
	return add_region(k, s->addr, s->len, &region);
}

static void put_hex(struct buf *out, const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%02x", bytes[i]);
}

static uint32_t core_mapping(struct kernel *k)
{
	CLEANUP(buf_fini) struct buf build_id = { 0 };
	struct mapping m = {
		.start = k->end ? k->start + k->moved : UINT64_C(1) << 63,
		.limit = UINT64_MAX,
		.path = profile_str(k->profile, "[kernel.kallsyms]"),
		.has_functions = !k->is_running && !k->id.build_id_len,
	};

	put_hex(&build_id, k->id.build_id, k->id.build_id_len);
	if (buf_error(&build_id) < 0) {
		profile_fail_nomem(k->profile);
		return 0;
	}
	if (build_id.len)
		m.build_id = profile_str(k->profile, build_id.data);
	return profile_add_mapping(k->profile, &m);
}

struct code_address kernel_locate(struct kernel *k, uint64_t address)
{
	const struct vma *v = maps_find(k->maps, address);
	struct region region = { 0 };

	if (v)
		region = ((const struct region *)k->regions.data)[v->dso];
	if (region.mapping)
		return (struct code_address){ .mapping = region.mapping, .address = address };
	if (region.name)
		return (struct code_address){ .name = region.name };
	if (!k->mapping)
		k->mapping = core_mapping(k);
	if (k->moved && address >= k->start && address < k->end)
		address += k->moved;
	return (struct code_address){ .mapping = k->mapping, .address = address };
}
