/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/dwarf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/form.h"
#include "symbol/dwarf/lines.h"
#include "symbol/dwarf/ranges.h"
#include "symbol/dwarf/tree.h"
#include "symbol/dwarf/unit.h"
#include "symbol/elf/opener.h"

#define BUDGET_MORE (UINT64_C(64) << 20) /* bytes; for small files with much sharing */
#define COLUMNS_MAX 16

/* Kinds of columns in the index of a package. */
enum {
	COLUMN_INFO = 1,
	COLUMN_ABBREV = 3,
	COLUMN_STR_OFFSETS = 6,
	COLUMN_RNGLISTS = 8, /* in version 5 */
};

/* A file with the parts of many units. All zero but is_tried: there is none. */
struct dwarf_package {
	struct elf_image image;
	struct dwarf dwarf;
	struct section_bytes index;
	uint32_t version, columns, units, slots;
	const unsigned char *ids;     /* [slots] of 8 bytes */
	const unsigned char *rows;    /* [slots] of 4 bytes: row, from 1; 0: free */
	const unsigned char *kinds;   /* [columns] of 4 bytes */
	const unsigned char *offsets; /* [units][columns] of 4 bytes */
};

static int read_units(struct dwarf *d)
{
	struct buf units = { 0 };
	struct dwarf_unit u;
	uint64_t offset = 0;
	int rc;

	while ((rc = dwarf_read_unit(d, &offset, NULL, &u)) >= 0)
		if (rc > 0)
			buf_put(&units, &u, sizeof u);
	d->unit_count = units.len / sizeof *d->units;
	d->units = (void *)units.data;
	return buf_error(&units) < 0 || d->bad ? -ENOMEM : 0;
}

int dwarf_open(struct dwarf *d, const struct elf_image *image, const char *path,
	       uint64_t min_address)
{
	*d = (struct dwarf){
		.image = image, .path = path, .min_address = min_address, .budget = BUDGET_MORE
	};
	return read_units(d);
}

/* A file of split DWARF, whose units the skeletons choose. */
static void open_dwo(struct dwarf *d, const struct elf_image *image, uint64_t min_address)
{
	*d = (struct dwarf){ .image = image,
			     .is_dwo = true,
			     .path = "",
			     .min_address = min_address,
			     .budget = BUDGET_MORE };
}

static void free_package(struct dwarf_package *p)
{
	if (!p)
		return;
	dwarf_close(&p->dwarf);
	section_bytes_fini(&p->index);
	elf_image_close(&p->image);
	free(p);
}

void dwarf_close(struct dwarf *d)
{
	struct dwarf_abbrevs **abbrevs = (void *)d->abbrevs.data;

	for (size_t i = 0; i < d->unit_count; i++) {
		dwarf_files_free(d->units[i].files);
		dwarf_tree_free(d->units[i].tree);
	}
	free(d->units);
	free_package(d->package);
	for (size_t i = 0; i < d->abbrevs.len / sizeof *abbrevs; i++)
		dwarf_abbrevs_free(abbrevs[i]);
	buf_fini(&d->abbrevs);
	map_fini(&d->tables);
	for (size_t i = 0; i < DWARF_SECTION_COUNT; i++)
		section_bytes_fini(&d->sections[i]);
	*d = (struct dwarf){ 0 };
}

void dwarf_add_units(struct dwarf *d, struct rangemap *c)
{
	for (size_t i = 0; i < d->unit_count; i++) {
		const struct dwarf_unit *u = &d->units[i];
		struct dwarf_code code = { u->root_low, u->root_high, u->root_ranges };

		dwarf_add_code(u, &code, c, (uint32_t)i);
	}
}

bool dwarf_is_split(const struct dwarf_unit *skeleton)
{
	return skeleton->split_name.kind != VALUE_NONE && !skeleton->skeleton;
}

static uint32_t read_u32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* The hash table of .debug_cu_index. */
static bool read_index(struct dwarf_package *p)
{
	struct cursor c = cursor_make(p->index.data, p->index.len);

	p->version = cursor_u32(&c) & 0xffff; /* in version 5, 2 bytes of padding follow */
	p->columns = cursor_u32(&c);
	p->units = cursor_u32(&c);
	p->slots = cursor_u32(&c);
	if ((p->version != 2 && p->version != 5) || p->columns > COLUMNS_MAX ||
	    p->slots & (p->slots - 1))
		return false;
	p->ids = cursor_bytes(&c, (size_t)p->slots * 8);
	p->rows = cursor_bytes(&c, (size_t)p->slots * 4);
	p->kinds = cursor_bytes(&c, (size_t)p->columns * 4);
	p->offsets = cursor_bytes(&c, (size_t)p->units * p->columns * 4);
	return !c.bad && p->slots;
}

/* The package of a file, looked for once: "binary.dwp". */
static struct dwarf_package *get_package(struct dwarf *d)
{
	struct dwarf_package *p = d->package;
	struct buf path = { 0 };
	struct err e;

	if (p)
		return p->slots ? p : NULL;
	d->package = p = calloc(1, sizeof *p);
	if (!p) {
		d->bad = true;
		return NULL;
	}
	buf_printf(&path, "%s.dwp", d->path);
	if (buf_error(&path) == 0 && opener_open_image(path.data, OPENER_ELF, &p->image, &e) == 0 &&
	    decompress_section(&p->image, ".debug_cu_index", &p->index) == 0 && read_index(p))
		open_dwo(&p->dwarf, &p->image, d->min_address);
	else
		p->slots = 0;
	buf_fini(&path);
	return p->slots ? p : NULL;
}

static void take_parts(const struct dwarf_package *p, uint32_t row, struct dwarf_parts *ret)
{
	for (uint32_t i = 0; i < p->columns; i++) {
		uint64_t offset = read_u32(p->offsets + ((size_t)row * p->columns + i) * 4);

		switch (read_u32(p->kinds + (size_t)i * 4)) {
		case COLUMN_INFO:
			ret->info = offset;
			break;
		case COLUMN_ABBREV:
			ret->abbrev = offset;
			break;
		case COLUMN_STR_OFFSETS:
			ret->str_offsets = offset;
			break;
		case COLUMN_RNGLISTS:
			ret->rnglists = p->version == 5 ? offset : 0;
			break;
		default:
			break;
		}
	}
}

static bool find_parts(const struct dwarf_package *p, uint64_t id, struct dwarf_parts *ret)
{
	uint32_t mask = p->slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t tries = 0; tries < p->slots; tries++, slot = (slot + step) & mask) {
		uint32_t row = read_u32(p->rows + (size_t)slot * 4);
		uint64_t found;

		memcpy(&found, p->ids + (size_t)slot * 8, sizeof found);
		if (row == 0)
			return false;
		if (found != id)
			continue;
		if (row > p->units)
			return false;
		*ret = (struct dwarf_parts){ 0 };
		take_parts(p, row - 1, ret);
		return true;
	}
	return false;
}

static bool open_from_package(struct dwarf_unit *skeleton, struct dwarf_split *ret)
{
	struct dwarf_package *p = get_package(skeleton->dwarf);
	struct dwarf_parts parts;

	if (!p || !find_parts(p, skeleton->split_id, &parts))
		return false;
	return dwarf_read_unit(&p->dwarf, &parts.info, &parts, &ret->unit) > 0;
}

/* Reads the unit with the id of the skeleton; others are parts of types. */
static bool find_unit(const struct dwarf_unit *skeleton, struct dwarf_split *s)
{
	uint64_t offset = 0;
	int rc;

	while ((rc = dwarf_read_unit(&s->dwarf, &offset, NULL, &s->unit)) >= 0)
		if (rc > 0 && s->unit.split_id == skeleton->split_id)
			return true;
	return false;
}

/* Where the compiler left it. */
static bool open_file(const struct dwarf_unit *skeleton, struct dwarf_split *ret)
{
	const char *name = value_text(skeleton, skeleton->split_name);
	const char *folder = value_text(skeleton, skeleton->comp_dir);
	struct buf path = { 0 };
	struct err e;
	bool is_open = false;

	if (name && name[0] != '/' && folder)
		buf_printf(&path, "%s/", folder);
	if (name)
		buf_put_str(&path, name);
	if (path.len && buf_error(&path) == 0)
		is_open = opener_open_image(path.data, OPENER_ELF, &ret->image, &e) == 0;
	if (is_open) {
		open_dwo(&ret->dwarf, &ret->image, skeleton->dwarf->min_address);
		is_open = find_unit(skeleton, ret);
	}
	if (!is_open)
		log_msg(LOG_INFO, "symbol", "%s: no part of %s", path.data ? path.data : "?",
			skeleton->dwarf->path);
	buf_fini(&path);
	return is_open;
}

bool dwarf_split_open(struct dwarf_unit *skeleton, struct dwarf_split *ret)
{
	*ret = (struct dwarf_split){ 0 };
	if (!open_from_package(skeleton, ret) && !open_file(skeleton, ret)) {
		dwarf_split_close(ret);
		return false;
	}
	ret->unit.skeleton = skeleton;
	ret->unit.low_pc = skeleton->low_pc;
	ret->unit.ranges_base = skeleton->ranges_base;
	return true;
}

void dwarf_split_close(struct dwarf_split *s)
{
	dwarf_files_free(s->unit.files);
	dwarf_tree_free(s->unit.tree);
	dwarf_close(&s->dwarf);
	elf_image_close(&s->image);
	*s = (struct dwarf_split){ 0 };
}
