/* SPDX-License-Identifier: MIT */
#include "ctlfs/histogram.h"

#include <inttypes.h>
#include <stdlib.h>

#define CELL_BYTES 8 /* of code */

struct cell {
	uint64_t pc, count;
};

void histogram_fini(struct histogram *t)
{
	map_fini(&t->by_cell);
	rows_fini(&t->cells);
}

void histogram_clear(struct histogram *t)
{
	map_clear(&t->by_cell);
	t->cells.count = 0;
	t->total = t->user = 0;
}

void histogram_add(struct histogram *t, uint64_t pc)
{
	uint64_t start = pc & ~(uint64_t)(CELL_BYTES - 1);
	uint32_t *index;
	struct cell *cell;

	t->total++;
	if (!pc) {
		t->user++;
		return;
	}
	index = map_at(&t->by_cell, start);
	if (!index)
		return;
	if (*index == MAP_NONE) {
		cell = rows_add(&t->cells, sizeof *cell);
		if (!cell)
			return;
		cell->pc = start;
		*index = (uint32_t)t->cells.count - 1;
	}
	((struct cell *)t->cells.data)[*index].count++;
}

uint64_t histogram_len(const struct histogram *t)
{
	return HISTOGRAM_LINE_BYTES * (2 + (uint64_t)t->cells.count);
}

struct profile *histogram_profile(const struct histogram *t)
{
	const struct cell *cells = t->cells.data;
	struct profile *p = profile_new();
	uint32_t kernel;

	if (!p)
		return NULL;
	profile_add_type(p, "ticks", "count");
	kernel = profile_add_mapping(
		p, &(struct mapping){ .start = UINT64_C(1) << 63,
				      .limit = UINT64_MAX,
				      .path = profile_str(p, "[kernel.kallsyms]") });
	for (size_t i = 0; i < t->cells.count; i++) {
		const struct location l = { .mapping = kernel, .address = cells[i].pc };
		const int64_t count = (int64_t)cells[i].count;

		profile_add(p, profile_push(p, 0, profile_add_location(p, &l)), 0, &count);
	}
	return p;
}

struct line_of {
	uint64_t pc, count;
	const char *name;
};

static int compare(const void *left, const void *right)
{
	const struct line_of *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

static const char *name_of(const struct profile *p, const struct location *l)
{
	return l->line_count ? profile_text(p, profile_get_function(p, l->lines[0].function)->name)
			     : "?";
}

static void put_line(struct buf *out, uint64_t pc, const char *name, uint64_t count)
{
	buf_printf(out, "%016" PRIx64 " %29.29s %016" PRIx64 "\n", pc, name, count);
}

void histogram_put(const struct profile *p, uint64_t total, uint64_t user, struct buf *out)
{
	size_t count = profile_sample_count(p);
	struct line_of *lines = calloc(count + 1, sizeof *lines);

	if (!lines) {
		out->bad = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct sample s = profile_get_sample(p, i);
		struct location l = profile_get_location(p, profile_get_node(p, s.node).location);

		lines[i] = (struct line_of){ l.address, (uint64_t)s.values[0], name_of(p, &l) };
	}
	qsort(lines, count, sizeof *lines, compare);
	put_line(out, 0, "Total", total);
	put_line(out, 0, "User", user);
	for (size_t i = 0; i < count; i++)
		put_line(out, lines[i].pc, lines[i].name, lines[i].count);
	free(lines);
}
