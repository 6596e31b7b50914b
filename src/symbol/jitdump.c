/* SPDX-License-Identifier: MIT */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/rows.h"
#include "symbol/lookup/rangemap.h"

#define MAGIC 0x4a695444u
#define HEADER_BYTES 40
#define PREFIX_BYTES 16 /* id, size of the record, time */
#define LOAD_BYTES 40   /* behind the prefix, up to the name */
#define MOVE_BYTES 48

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1 };

/* Where a name is in the file. */
struct place {
	uint64_t offset;
	uint32_t bytes; /* up to the end of its record */
};

struct jitdump {
	int fd;
	const char *path;
	bool is_swapped; /* written by a machine of the other byte order */
	struct rangemap map;
	struct rows places;  /* struct place: of each function, in the order of the file */
	struct map by_index; /* a function's own number to that of its place */
	struct buf name_of;  /* uint32_t, of each range: the number of its place */
	unsigned char record[PREFIX_BYTES + MOVE_BYTES]; /* the fixed part of the one at hand */
};

/* Up to len bytes; fewer: the file ends. -errno. */
static ssize_t read_at(const struct jitdump *d, void *bytes, size_t len, uint64_t offset,
		       struct err *e)
{
	ssize_t n;

	do
		n = pread(d->fd, bytes, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? err_errno(e, "%s", d->path) : n;
}

static uint32_t u32_at(const struct jitdump *d, size_t at)
{
	uint32_t v;

	memcpy(&v, d->record + at, sizeof v);
	return d->is_swapped ? __builtin_bswap32(v) : v;
}

static uint64_t u64_at(const struct jitdump *d, size_t at)
{
	uint64_t v;

	memcpy(&v, d->record + at, sizeof v);
	return d->is_swapped ? __builtin_bswap64(v) : v;
}

static uint32_t read_magic(int fd)
{
	uint32_t magic = 0;
	ssize_t n;

	do
		n = pread(fd, &magic, sizeof magic, 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof magic ? magic : 0;
}

bool jitdump_detect(int fd)
{
	uint32_t magic = read_magic(fd);

	return magic == MAGIC || magic == __builtin_bswap32(MAGIC);
}

/* The code [start..start+size) has the name of place. */
static int add_range(struct jitdump *d, uint64_t start, uint64_t size, uint32_t place)
{
	uint32_t value = (uint32_t)(d->name_of.len / sizeof place);
	uint64_t end;

	if (__builtin_add_overflow(start, size, &end))
		return 0;
	if (rangemap_add(&d->map, start, end, value))
		buf_put(&d->name_of, &place, sizeof place);
	return buf_error(&d->name_of);
}

static int take_load(struct jitdump *d, uint64_t offset, uint32_t size)
{
	uint64_t start = u64_at(d, PREFIX_BYTES + 16), bytes = u64_at(d, PREFIX_BYTES + 24);
	uint64_t index = u64_at(d, PREFIX_BYTES + 32);
	uint32_t number = (uint32_t)d->places.count;
	struct place *place = rows_add(&d->places, sizeof *place);

	if (!place)
		return -ENOMEM;
	place->offset = offset + PREFIX_BYTES + LOAD_BYTES;
	place->bytes = size - PREFIX_BYTES - LOAD_BYTES;
	if (map_put(&d->by_index, index, number) < 0)
		return -ENOMEM;
	return add_range(d, start, bytes, number);
}

static int take_move(struct jitdump *d)
{
	uint64_t start = u64_at(d, PREFIX_BYTES + 24), bytes = u64_at(d, PREFIX_BYTES + 32);
	uint32_t number = map_get(&d->by_index, u64_at(d, PREFIX_BYTES + 40));

	return number == MAP_NONE ? 0 : add_range(d, start, bytes, number);
}

/* The record at *offset, which moves behind it. 1: one was read; 0: there is none. */
static int take_record(struct jitdump *d, uint64_t *offset, struct err *e)
{
	ssize_t n = read_at(d, d->record, sizeof d->record, *offset, e);
	uint32_t id, size;
	int rc = 0;

	if (n < PREFIX_BYTES)
		return n < 0 ? (int)n : 0;
	id = u32_at(d, 0);
	size = u32_at(d, 4);
	if (size < PREFIX_BYTES)
		return 0;
	if (id == CODE_LOAD && size > PREFIX_BYTES + LOAD_BYTES && n >= PREFIX_BYTES + LOAD_BYTES)
		rc = take_load(d, *offset, size);
	else if (id == CODE_MOVE && size >= PREFIX_BYTES + MOVE_BYTES &&
		 n >= PREFIX_BYTES + MOVE_BYTES)
		rc = take_move(d);
	*offset += size;
	return rc < 0 ? err_nomem(e) : 1;
}

/* 0, or 1: there are more records than are read. */
static int read_records(struct jitdump *d, struct err *e)
{
	uint64_t offset = HEADER_BYTES;
	ssize_t n = read_at(d, d->record, HEADER_BYTES, 0, e);
	int rc = 1;

	if (n < HEADER_BYTES)
		return n < 0 ? (int)n : 0;
	d->is_swapped = u32_at(d, 0) != MAGIC;
	if (u32_at(d, 8) > HEADER_BYTES)
		offset = u32_at(d, 8);
	for (uint32_t i = 0; rc == 1 && i < JITDUMP_MAX_RECORDS; i++)
		rc = take_record(d, &offset, e);
	return rc;
}

/* Appends the name with its NUL. *ret: where it is in text; SIZE_MAX: it is empty. 0, or 1: there
 * is no room. */
static int read_name(const struct jitdump *d, const struct place *place, struct buf *text,
		     size_t *ret, struct err *e)
{
	size_t len = place->bytes < JITDUMP_MAX_NAME ? place->bytes : JITDUMP_MAX_NAME;
	char *room;
	ssize_t n;

	if (text->len + len >= JITDUMP_MAX_TEXT)
		return 1;
	room = buf_reserve(text, len + 1);
	if (!room)
		return err_nomem(e);
	n = read_at(d, room, len, place->offset, e);
	if (n < 0)
		return (int)n;
	room[n] = '\0';
	*ret = room[0] ? text->len : SIZE_MAX;
	buf_grew(text, strlen(room) + 1);
	return 0;
}

/* at: [count], where in text the name of an address is; SIZE_MAX: none. 0, or 1: not all have room.
 */
static int read_names(const struct jitdump *d, const uint32_t *which, size_t count,
		      struct buf *text, size_t *at, struct err *e)
{
	const struct place *places = d->places.data;
	const uint32_t *name_of = (const void *)d->name_of.data;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < count; i++) {
		bool is_same = i && which[i] == which[i - 1];

		at[i] = is_same ? at[i - 1] : SIZE_MAX;
		if (rc == 0 && which[i] != RANGEMAP_NONE && !is_same)
			rc = read_name(d, &places[name_of[which[i]]], text, &at[i], e);
	}
	return rc;
}

int jitdump_find(int fd, const char *path, const uint64_t *wanted, size_t count, struct buf *text,
		 const char **ret, struct err *e)
{
	struct jitdump d = { .fd = fd, .path = path, .map = rangemap_make(wanted, count) };
	uint32_t *which = calloc(count + 1, sizeof *which);
	size_t *at = calloc(count + 1, sizeof *at);
	int is_cut = 0, rc = which && at ? 0 : err_nomem(e);

	if (rc == 0)
		rc = is_cut = read_records(&d, e);
	if (rc >= 0)
		rc = rangemap_resolve(&d.map, which) < 0
			     ? err_nomem(e)
			     : read_names(&d, which, count, text, at, e);
	for (size_t i = 0; rc >= 0 && i < count; i++)
		ret[i] = at[i] == SIZE_MAX ? NULL : text->data + at[i];
	rangemap_fini(&d.map);
	rows_fini(&d.places);
	map_fini(&d.by_index);
	buf_fini(&d.name_of);
	free(which);
	free(at);
	return rc < 0 ? rc : rc | is_cut;
}
