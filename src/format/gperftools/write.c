/* SPDX-License-Identifier: MIT */
#include "format/gperftools/gperftools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "format/gperftools/addresses.h"
#include "format/gperftools/names.h"

#define NS_PER_US 1000

struct writer {
	const struct profile *p;
	size_t type;
	int64_t divisor; /* of its values */
	int64_t period_us;
	bool is_symbolized;
	struct addresses places;
	struct strtab *stacks; /* PCs of a record, uint64_t */
	struct rows counts;    /* uint64_t, by stack */
	struct rows pcs;       /* uint64_t: a record being made */
	struct buf name;       /* a name being made */
	bool is_out_of_memory; /* for a name */
};

static void writer_fini(struct writer *w)
{
	addresses_fini(&w->places);
	strtab_free(w->stacks);
	rows_fini(&w->counts);
	rows_fini(&w->pcs);
}

/* Which values are counts of which period: see the header. */
static int choose_values(struct writer *w, struct err *e)
{
	const struct profile_info *info = profile_get_info(w->p);
	int samples = profile_find_type(w->p, "samples");
	struct value_type type;
	bool is_time, has_period;

	if (!profile_type_count(w->p))
		return err_set(e, -EINVAL, "there is no sample type");
	w->type = profile_default_type(w->p);
	type = profile_get_type(w->p, w->type);
	is_time = strcmp(profile_text(w->p, type.unit), "nanoseconds") == 0;
	has_period = strcmp(profile_text(w->p, info->period_type.unit), "nanoseconds") == 0 &&
		     (type.type == info->period_type.type || w->type == (size_t)samples);
	if (samples >= 0 && has_period)
		w->type = (size_t)samples;
	w->period_us = samples >= 0 && has_period ? info->period / NS_PER_US : 1;
	if (w->period_us < 1)
		w->period_us = 1;
	w->divisor = is_time && w->type != (size_t)samples ? NS_PER_US : 1;
	return 0;
}

static int writer_init(struct writer *w, struct err *e)
{
	int rc = addresses_init(&w->places, w->p, e);

	if (rc < 0)
		return rc;
	w->stacks = strtab_new();
	return w->stacks ? choose_values(w, e) : err_nomem(e);
}

static int use_stack(struct writer *w, uint32_t node)
{
	int rc = 0;

	if (!node && w->is_symbolized)
		return addresses_use(&w->places, w->places.no_stack);
	while (node && rc == 0) {
		struct stack_node n = profile_get_node(w->p, node);

		rc = addresses_use(&w->places, n.location);
		node = n.parent;
	}
	return rc;
}

static int place_code(struct writer *w, struct err *e)
{
	for (size_t i = 0; i < profile_sample_count(w->p); i++) {
		struct sample s = profile_get_sample(w->p, i);

		if (s.values[w->type] && use_stack(w, s.node) < 0)
			return err_nomem(e);
	}
	if (!w->is_symbolized && addresses_has_names(&w->places))
		log_msg(LOG_WARN, "format",
			"frames without an address become numbers; format gperftools-symbols keeps "
			"their names");
	return addresses_assign(&w->places, e);
}

static int add_pc(struct writer *w, uint32_t location)
{
	uint64_t *pc = rows_add(&w->pcs, sizeof *pc), address = w->places.addresses[location];
	bool is_caller = w->pcs.count > 1 && !w->is_symbolized;

	if (!pc)
		return -ENOMEM;
	*pc = address && is_caller ? address + 1 : address;
	return 0;
}

/* The PCs of a stack; none for an empty stack, unless its name can be written. */
static int make_record(struct writer *w, uint32_t node)
{
	int rc = 0;

	w->pcs.count = 0;
	if (!node && w->is_symbolized)
		return add_pc(w, w->places.no_stack);
	while (node && rc == 0) {
		struct stack_node n = profile_get_node(w->p, node);

		rc = add_pc(w, n.location);
		node = n.parent;
	}
	return rc;
}

static int add_count(struct writer *w, uint32_t node, uint64_t count, struct err *e)
{
	uint64_t *sum;
	uint32_t id;

	if (make_record(w, node) < 0)
		return err_nomem(e);
	id = strtab_intern(w->stacks, w->pcs.data, w->pcs.count * sizeof(uint64_t));
	if (id == STRTAB_NONE)
		return err_nomem(e);
	while (w->counts.count <= id)
		if (!rows_add(&w->counts, sizeof *sum))
			return err_nomem(e);
	sum = (uint64_t *)w->counts.data + id;
	/* readers make nanoseconds of it */
	if (__builtin_add_overflow(*sum, count, sum) ||
	    *sum > (uint64_t)(INT64_MAX / NS_PER_US / w->period_us))
		return err_set(e, -EOVERFLOW, "a sum leaves its range");
	return 0;
}

static int add_counts(struct writer *w, struct err *e)
{
	for (size_t i = 0; i < profile_sample_count(w->p); i++) {
		struct sample s = profile_get_sample(w->p, i);
		int64_t value = s.values[w->type];
		uint64_t count = (uint64_t)value / (uint64_t)w->divisor;
		int rc;

		if (value < 0)
			return err_set(e, -EINVAL, "negative values cannot be written");
		if (w->divisor > 1)
			count += (uint64_t)value % (uint64_t)w->divisor >= (uint64_t)w->divisor / 2;
		rc = count ? add_count(w, s.node, count, e) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void put_words(struct buf *out, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_put_u64(out, words[i]);
}

static void put_records(const struct writer *w, struct buf *out)
{
	const uint64_t header[] = { 0, 3, 0, (uint64_t)w->period_us, 0 }, end[] = { 0, 1, 0 };
	const uint64_t *counts = w->counts.data;

	put_words(out, header, ARRAY_LEN(header));
	for (uint32_t i = 0; i < w->counts.count; i++) {
		struct str pcs = strtab_get(w->stacks, i);
		size_t depth = pcs.len / sizeof(uint64_t);

		buf_put_u64(out, counts[i]);
		buf_put_u64(out, depth);
		for (size_t k = 0; k < depth; k++) {
			uint64_t pc;

			memcpy(&pc, pcs.ptr + k * sizeof pc, sizeof pc);
			buf_put_u64(out, pc);
		}
	}
	put_words(out, end, ARRAY_LEN(end));
}

/* "0x0000000000401234 outer--inner" */
static void put_symbol(const struct writer *w, uint32_t location, struct buf *out)
{
	buf_printf(out, "0x%016" PRIx64 " ", w->places.addresses[location]);
	gperftools_put_names(w->p, location, out);
	buf_put_byte(out, '\n');
}

static int compare_addresses(const void *left, const void *right, void *writer)
{
	const uint32_t *a = left, *b = right;
	const struct writer *w = writer;

	if (w->places.addresses[*a] != w->places.addresses[*b])
		return w->places.addresses[*a] > w->places.addresses[*b] ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

static bool has_name(const struct writer *w, uint32_t location)
{
	struct location l;

	if (addresses_is_number(&w->places, location))
		return true;
	l = profile_get_location(w->p, location);
	return l.line_count || profile_get_mapping(w->p, l.mapping)->path;
}

/* The used locations by address; of those with one address, the first. */
static int put_symbols(struct writer *w, struct buf *out)
{
	CLEANUP(rows_fini) struct rows used = { 0 };
	const uint32_t *ids;

	for (uint32_t i = 0; i <= w->places.no_stack; i++) {
		uint32_t *id;

		if (!w->places.is_used[i] || !has_name(w, i))
			continue;
		id = rows_add(&used, sizeof *id);
		if (!id)
			return -ENOMEM;
		*id = i;
	}
	if (used.count)
		qsort_r(used.data, used.count, sizeof *ids, compare_addresses, w);
	ids = used.data;
	for (size_t i = 0; i < used.count; i++)
		if (!i || w->places.addresses[ids[i]] != w->places.addresses[ids[i - 1]])
			put_symbol(w, ids[i], out);
	return 0;
}

static int put_names(struct writer *w, struct buf *out)
{
	const char *program = addresses_program(&w->places);
	int rc;

	buf_put_str(out, "--- symbol\n");
	if (program) {
		buf_put_str(out, "binary=");
		addresses_put_path(out, program);
		buf_put_byte(out, '\n');
	}
	rc = put_symbols(w, out);
	buf_put_str(out, "---\n--- profile\n");
	return rc;
}

static int write_form(const struct profile *p, bool is_symbolized, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p, .is_symbolized = is_symbolized };
	int rc = writer_init(&w, e);

	if (rc == 0)
		rc = place_code(&w, e);
	if (rc == 0)
		rc = add_counts(&w, e);
	if (rc < 0)
		return rc;
	if (is_symbolized && put_names(&w, out) < 0)
		return err_nomem(e);
	put_records(&w, out);
	addresses_put_maps(&w.places, is_symbolized, out);
	return 0;
}

int gperftools_write(const struct profile *p, struct buf *out, struct err *e)
{
	return write_form(p, false, out, e);
}

int gperftools_symbols_write(const struct profile *p, struct buf *out, struct err *e)
{
	return write_form(p, true, out, e);
}
