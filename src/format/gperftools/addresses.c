/* SPDX-License-Identifier: MIT */
#include "format/gperftools/addresses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/gperftools/gperftools.h"
#include "format/gperftools/names.h"

#define TOP_BIT (UINT64_C(1) << 63)
#define PAGE_BYTES UINT64_C(4096)
#define SPACING (UINT64_C(1) << 20) /* between what was moved */
#define MOVED_LIMIT (UINT64_C(1) << 62)
#define NUMBER_STEP 16 /* between the addresses of what has none */

/* The used addresses of one mapping, user's and kernel's apart, and where they are written. */
struct group {
	uint32_t mapping; /* id; 0: of none, or of one without a path */
	bool is_used;
	bool is_placed;
	uint64_t low, limit; /* [low..limit), whole pages, without the top bit */
	uint64_t moved;      /* added to an address */
};

int addresses_init(struct addresses *pl, const struct profile *p, struct err *e)
{
	size_t mappings = profile_mapping_count(p), locations = profile_location_count(p);

	*pl = (struct addresses){ .p = p, .no_stack = (uint32_t)locations };
	pl->groups = calloc(2 * mappings, sizeof *pl->groups);
	pl->by_start = calloc(2 * mappings, sizeof *pl->by_start);
	pl->is_used = calloc(locations + 1, 1);
	pl->addresses = calloc(locations + 1, sizeof *pl->addresses);
	pl->numbers = strtab_new();
	if (!pl->groups || !pl->by_start || !pl->is_used || !pl->addresses || !pl->numbers)
		return err_nomem(e);
	return 0;
}

void addresses_fini(struct addresses *pl)
{
	free(pl->groups);
	free(pl->by_start);
	free(pl->is_used);
	free(pl->addresses);
	rows_fini(&pl->loose);
	strtab_free(pl->numbers);
}

static bool has_only_a_name(const struct addresses *pl, uint32_t location)
{
	struct location l;

	if (location == pl->no_stack)
		return true;
	l = profile_get_location(pl->p, location);
	return !profile_get_mapping(pl->p, l.mapping)->path && !l.address && l.line_count;
}

bool addresses_has_names(const struct addresses *pl)
{
	const uint32_t *loose = pl->loose.data;

	for (size_t i = 0; i < pl->loose.count; i++)
		if (has_only_a_name(pl, loose[i]))
			return true;
	return false;
}

static uint64_t written_address(const struct location *l)
{
	return l->address & ~TOP_BIT;
}

/* NULL: of no mapping, or of one that a line cannot name. */
static struct group *group_of(const struct addresses *pl, const struct location *l)
{
	bool is_high = written_address(l) >= MOVED_LIMIT;

	if (!profile_get_mapping(pl->p, l->mapping)->path)
		return NULL;
	return &pl->groups[2 * l->mapping + is_high];
}

static void use_address(struct addresses *pl, struct group *g, uint64_t address)
{
	uint64_t page = address & ~(PAGE_BYTES - 1);

	if (!g->is_used) {
		*g = (struct group){ .mapping = (uint32_t)(g - pl->groups) / 2,
				     .is_used = true,
				     .low = page,
				     .limit = page + PAGE_BYTES };
		pl->by_start[pl->group_count++] = g;
	}
	if (page < g->low)
		g->low = page;
	if (page + PAGE_BYTES > g->limit)
		g->limit = page + PAGE_BYTES;
}

int addresses_use(struct addresses *pl, uint32_t location)
{
	struct group *g = NULL;
	struct location l = { 0 };
	uint32_t *loose;

	if (pl->is_used[location])
		return 0;
	pl->is_used[location] = 1;
	if (location != pl->no_stack) {
		l = profile_get_location(pl->p, location);
		g = group_of(pl, &l);
	}
	if (g) {
		use_address(pl, g, written_address(&l));
		return 0;
	}
	loose = rows_add(&pl->loose, sizeof *loose);
	if (!loose)
		return -ENOMEM;
	*loose = location;
	return 0;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = *(struct group *const *)left, *b = *(struct group *const *)right;

	if (a->low + a->moved != b->low + b->moved)
		return a->low + a->moved > b->low + b->moved ? 1 : -1;
	return (a->mapping > b->mapping) - (a->mapping < b->mapping);
}

static uint64_t round_up(uint64_t address)
{
	return (address + SPACING - 1) / SPACING * SPACING;
}

/* Behind all addresses of no mapping that are not the kernel's. */
static uint64_t end_of_loose(const struct addresses *pl)
{
	const uint32_t *loose = pl->loose.data;
	uint64_t end = 0;

	for (size_t i = 0; i < pl->loose.count; i++) {
		struct location l;

		if (loose[i] == pl->no_stack)
			continue;
		l = profile_get_location(pl->p, loose[i]);
		if (written_address(&l) >= end && written_address(&l) < MOVED_LIMIT)
			end = written_address(&l) + 1;
	}
	return end;
}

static void sort_groups(struct addresses *pl)
{
	if (pl->group_count)
		qsort(pl->by_start, pl->group_count, sizeof(struct group *), compare_groups);
}

/* Each group keeps its addresses when no other has them, else it is moved behind all. */
static int place_groups(struct addresses *pl, struct err *e)
{
	uint64_t taken = 0, end = end_of_loose(pl);

	sort_groups(pl);
	for (size_t i = 0; i < pl->group_count; i++) {
		struct group *g = pl->by_start[i];

		if (g->low < taken)
			continue;
		g->is_placed = true;
		taken = g->limit;
		if (taken <= MOVED_LIMIT && taken > end)
			end = taken;
	}
	for (size_t i = 0; i < pl->group_count; i++) {
		struct group *g = pl->by_start[i];
		uint64_t size = g->limit - g->low;

		if (g->is_placed)
			continue;
		end = round_up(end);
		if (size > MOVED_LIMIT - end)
			return err_set(e, -EOVERFLOW, "the addresses do not fit beside each other");
		g->moved = end - g->low;
		end += size;
	}
	pl->first_number = round_up(end + 1); /* not 0, which ends the records for google-pprof */
	sort_groups(pl);
	return 0;
}

/* Is there code at this address? */
static bool is_taken(const struct addresses *pl, uint64_t address)
{
	size_t low = 0, high = pl->group_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct group *g = pl->by_start[middle];

		if (g->low + g->moved <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - pl->by_start[low - 1]->moved < pl->by_start[low - 1]->limit;
}

static int give_number(struct addresses *pl, uint32_t location)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	uint32_t number;

	gperftools_put_names(pl->p, location, &name);
	if (buf_error(&name) < 0)
		return -ENOMEM;
	number = strtab_intern(pl->numbers, name.data, name.len);
	if (number == STRTAB_NONE)
		return -ENOMEM;
	pl->addresses[location] = pl->first_number + NUMBER_STEP * (uint64_t)number;
	return 0;
}

static int place_loose(struct addresses *pl)
{
	const uint32_t *loose = pl->loose.data;
	int rc = 0;

	for (size_t i = 0; i < pl->loose.count && rc == 0; i++) {
		struct location l = { 0 };

		if (!has_only_a_name(pl, loose[i])) {
			l = profile_get_location(pl->p, loose[i]);
			pl->addresses[loose[i]] = written_address(&l);
			if (!is_taken(pl, written_address(&l)))
				continue;
		}
		rc = give_number(pl, loose[i]);
	}
	return rc;
}

static void place_code(struct addresses *pl)
{
	for (uint32_t i = 0; i < pl->no_stack; i++) {
		struct location l;
		const struct group *g;

		if (!pl->is_used[i])
			continue;
		l = profile_get_location(pl->p, i);
		g = group_of(pl, &l);
		if (g)
			pl->addresses[i] = written_address(&l) + g->moved;
	}
}

int addresses_assign(struct addresses *pl, struct err *e)
{
	int rc = place_groups(pl, e);

	if (rc < 0)
		return rc;
	place_code(pl);
	return place_loose(pl) < 0 ? err_nomem(e) : 0;
}

/* A path as it can stand in a line: "$build" and a line's end would be taken for something
 * else. */
void addresses_put_path(struct buf *out, const char *path)
{
	for (; *path; path++) {
		bool is_name = strncmp(path, "$build", strlen("$build")) == 0;

		buf_put_byte(out,
			     is_name || (unsigned char)*path < ' ' ? '_' : (unsigned char)*path);
	}
}

bool addresses_is_number(const struct addresses *pl, uint32_t location)
{
	return pl->addresses[location] - pl->first_number < NUMBER_STEP * strtab_count(pl->numbers);
}

const char *addresses_program(const struct addresses *pl)
{
	for (size_t i = 0; i < pl->group_count; i++) {
		const struct mapping *m = profile_get_mapping(pl->p, pl->by_start[i]->mapping);
		const char *path = profile_text(pl->p, m->path);

		if (*path == '/' && !strstr(path, ".so"))
			return path;
	}
	return NULL;
}

static void put_map(struct buf *out, uint64_t start, uint64_t limit, uint64_t offset,
		    const char *path)
{
	buf_printf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ", start, limit,
		   offset);
	addresses_put_path(out, path);
	buf_put_byte(out, '\n');
}

void addresses_put_maps(const struct addresses *pl, bool has_numbers, struct buf *out)
{
	uint64_t numbers =
		(strtab_count(pl->numbers) * NUMBER_STEP + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

	for (size_t i = 0; i < pl->group_count; i++) {
		const struct group *g = pl->by_start[i];
		const struct mapping *m = profile_get_mapping(pl->p, g->mapping);

		put_map(out, g->low + g->moved, g->limit + g->moved,
			m->offset + g->low - (m->start & ~TOP_BIT), profile_text(pl->p, m->path));
	}
	if (has_numbers && numbers)
		put_map(out, pl->first_number, pl->first_number + numbers, 0, GPERFTOOLS_NAMES);
}
