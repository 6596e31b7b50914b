/* SPDX-License-Identifier: MIT */
#include "format/akaros/akaros.h"

#include <errno.h>

#include "base/cursor.h"
#include "base/rows.h"
#include "base/strtab.h"

#define HEADER_BYTES 16

struct op2 {
	struct strtab *stacks; /* words of 8 bytes */
	struct rows counts;    /* uint64_t, by stack */
	uint64_t samples;
	uint64_t first, last; /* nanoseconds */
	struct buf pcs;
};

static void op2_fini(struct op2 *o)
{
	strtab_free(o->stacks);
	rows_fini(&o->counts);
	buf_fini(&o->pcs);
}

/* All of a cut stack are zeros, as op2 has them. */
static void take_pcs(struct op2 *o, struct cursor *c, size_t count)
{
	bool is_cut = cursor_left(c) < 8 * count;
	struct cursor pcs = cursor_sub(c, is_cut ? cursor_left(c) : 8 * count);

	buf_clear(&o->pcs);
	for (size_t i = 0; i < count; i++)
		buf_put_u64(&o->pcs, is_cut ? 0 : cursor_u64(&pcs) & UINT32_MAX);
}

static int count_stack(struct op2 *o)
{
	uint32_t id = buf_error(&o->pcs) < 0
			      ? STRTAB_NONE
			      : strtab_intern(o->stacks, o->pcs.len ? o->pcs.data : "", o->pcs.len);

	if (id == STRTAB_NONE)
		return -ENOMEM;
	if (id == o->counts.count && !rows_add(&o->counts, sizeof(uint64_t)))
		return -ENOMEM;
	((uint64_t *)o->counts.data)[id]++;
	return 0;
}

static int take_samples(struct op2 *o, struct cursor c)
{
	while (cursor_left(&c) >= HEADER_BYTES) {
		size_t count = cursor_u64(&c) & 0xff;

		o->last = cursor_u64(&c);
		if (!o->first)
			o->first = o->last;
		take_pcs(o, &c, count);
		if (count_stack(o) < 0)
			return -ENOMEM;
		o->samples++;
	}
	return 0;
}

static void put_profile(const struct op2 *o, struct buf *out)
{
	const uint64_t words[] = { 0, 3, 0, (o->last - o->first) / o->samples, 0 };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		buf_put_u64(out, words[i]);
	for (uint32_t i = 0; i < o->counts.count; i++) {
		struct str pcs = strtab_get(o->stacks, i);

		buf_put_u64(out, ((const uint64_t *)o->counts.data)[i]);
		buf_put_u64(out, pcs.len / 8);
		buf_put(out, pcs.ptr, pcs.len);
	}
	buf_put_u64(out, 0);
	buf_put_u64(out, 1);
	buf_put_u64(out, 0);
}

int akaros_op2(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	CLEANUP(op2_fini) struct op2 o = { .stacks = strtab_new() };

	if (!o.stacks || take_samples(&o, cursor_make(data, len)) < 0)
		return err_nomem(e);
	if (!o.samples)
		return err_set(e, -EINVAL, "no sample");
	put_profile(&o, out);
	return 0;
}
