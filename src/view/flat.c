/* SPDX-License-Identifier: MIT */
#include "view/flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct flat_row *row_of(struct flat *f, uint32_t frame)
{
	return &f->rows[f->row_of[frame]];
}

/* Frames that differ only in how they were called are one row. */
static int group_frames(struct flat *f, struct strtab *keys)
{
	for (uint32_t i = 0; i < f->frames.count; i++) {
		const struct frame *frame = &f->frames.list[i];
		bool is_line = f->frames.by == FRAME_BY_LINE;
		uint32_t key[] = { i == 0, frame->name, frame->module, is_line ? frame->file : 0 };
		uint32_t row = strtab_intern(keys, key, sizeof key);

		if (row == STRTAB_NONE)
			return -ENOMEM;
		f->row_of[i] = row;
		if (row == f->row_count)
			f->rows[f->row_count++] = (struct flat_row){ .frame = i };
		f->rows[row].is_inlined |= frame->is_inlined;
		f->rows[row].is_called |= !frame->is_inlined;
	}
	return 0;
}

static struct flat_row *top_row(struct flat *f, uint32_t node)
{
	uint32_t location = profile_get_node(f->frames.profile, node).location;
	size_t count;

	return row_of(f, frames_of(&f->frames, location, &count)[0]);
}

static void add_samples(struct flat *f, size_t samples_type)
{
	const struct profile *p = f->frames.profile;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		struct flat_row *row = top_row(f, s.node);

		row->samples = stacks_add(row->samples, s.values[samples_type]);
	}
}

static void add_selves(struct flat *f, size_t type)
{
	const struct profile *p = f->frames.profile;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		struct flat_row *row = top_row(f, s.node);

		row->self = stacks_add(row->self, s.values[type]);
		if (s.node == 0)
			row->total = stacks_add(row->total, s.values[type]);
	}
}

static void add_totals(struct flat *f)
{
	struct stacks_walk walk = { 0 };

	while (stacks_step(&f->stacks, &walk)) {
		int64_t total = f->stacks.total[walk.node];
		size_t count;
		const uint32_t *ids =
			frames_of(&f->frames,
				  profile_get_node(f->frames.profile, walk.node).location, &count);

		for (size_t i = 0; i < count; i++) {
			struct flat_row *row = row_of(f, ids[i]);

			if (walk.is_leaving)
				row->on_path--;
			else if (row->on_path++ == 0)
				row->total = stacks_add(row->total, total);
		}
	}
	f->rows[FLAT_ROOT].total = f->stacks.total[0];
}

int flat_recount(struct flat *f, size_t type, struct err *e)
{
	int rc;

	stacks_fini(&f->stacks);
	rc = stacks_init(&f->stacks, f->frames.profile, type, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < f->row_count; i++)
		f->rows[i].self = f->rows[i].total = 0;
	add_selves(f, type);
	add_totals(f);
	return 0;
}

static int make_rows(struct flat *f, struct err *e)
{
	struct strtab *keys = strtab_new();
	int rc;

	f->rows = calloc(f->frames.count, sizeof *f->rows);
	f->row_of = calloc(f->frames.count, sizeof *f->row_of);
	rc = f->rows && f->row_of && keys ? group_frames(f, keys) : -ENOMEM;
	strtab_free(keys);
	return rc < 0 ? err_nomem(e) : 0;
}

int flat_init(struct flat *f, const struct profile *p, enum frame_by by, size_t type,
	      int samples_type, struct err *e)
{
	int rc;

	*f = (struct flat){ 0 };
	rc = frames_init(&f->frames, p, by, e);
	if (rc == 0)
		rc = make_rows(f, e);
	if (rc == 0)
		rc = flat_recount(f, type, e);
	if (rc < 0)
		flat_fini(f);
	else if (samples_type >= 0)
		add_samples(f, (size_t)samples_type);
	return rc;
}

void flat_fini(struct flat *f)
{
	frames_fini(&f->frames);
	stacks_fini(&f->stacks);
	free(f->rows);
	free(f->row_of);
	*f = (struct flat){ 0 };
}

const struct frame *flat_frame(const struct flat *f, uint32_t row)
{
	return &f->frames.list[f->rows[row].frame];
}

const char *flat_name(const struct flat *f, uint32_t row)
{
	return frames_text(&f->frames, flat_frame(f, row)->function);
}

const char *flat_label(const struct flat *f, uint32_t row)
{
	return frames_text(&f->frames, flat_frame(f, row)->name);
}

const char *flat_module(const struct flat *f, uint32_t row)
{
	return frames_text(&f->frames, flat_frame(f, row)->module);
}

int flat_compare_names(const struct flat *f, uint32_t a, uint32_t b)
{
	const struct frame *x = flat_frame(f, a), *y = flat_frame(f, b);
	int order = strcmp(flat_name(f, a), flat_name(f, b));

	if (!order)
		order = strcmp(flat_module(f, a), flat_module(f, b));
	if (!order)
		order = strcmp(frames_text(&f->frames, x->file), frames_text(&f->frames, y->file));
	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	return order ? order : (a > b) - (a < b);
}

struct sorting {
	const struct flat *flat;
	enum flat_order order;
};

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct sorting *s = context;
	const uint32_t *a = left, *b = right;
	const struct flat_row *x = &s->flat->rows[*a], *y = &s->flat->rows[*b];
	int by_self = (x->self < y->self) - (x->self > y->self);
	int by_total = (x->total < y->total) - (x->total > y->total);
	int order = 0;

	if (s->order == FLAT_BY_SELF)
		order = by_self ? by_self : by_total;
	else if (s->order == FLAT_BY_TOTAL)
		order = by_total ? by_total : by_self;
	return order ? order : flat_compare_names(s->flat, *a, *b);
}

int flat_sorted(const struct flat *f, enum flat_order order, uint32_t **ret, size_t *ret_count,
		struct err *e)
{
	struct sorting sorting = { f, order };
	uint32_t *rows = reallocarray(NULL, f->row_count, sizeof *rows);
	size_t count = 0;

	if (!rows)
		return err_nomem(e);
	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++)
		if (f->rows[i].self || f->rows[i].total || f->rows[i].samples)
			rows[count++] = i;
	qsort_r(rows, count, sizeof *rows, compare_rows, &sorting);
	*ret = rows;
	*ret_count = count;
	return 0;
}

int flat_samples_type(const struct profile *p)
{
	return profile_find_type(p, "samples");
}
