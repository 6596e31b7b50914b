/* SPDX-License-Identifier: MIT */
#include "format/akaros/akaros.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"

/* Of one stack on one core. */
struct sum {
	uint64_t count, cpu_ns;
};

struct writer {
	const struct profile *p;
	int samples, cpu;      /* sample types, or -1 */
	struct strtab *stacks; /* core and addresses */
	struct rows sums;      /* struct sum, by stack */
	struct map stamps;     /* index of times, by core */
	struct rows times;     /* uint64_t: of the last record of each core */
	uint32_t free_core;    /* for samples without one */
	uint64_t cut;          /* stacks that were too deep */
	uint64_t named;        /* frames without an address */
};

static void writer_fini(struct writer *w)
{
	strtab_free(w->stacks);
	rows_fini(&w->sums);
	map_fini(&w->stamps);
	rows_fini(&w->times);
}

static uint64_t *time_of(struct writer *w, uint32_t core)
{
	uint32_t *index = map_at(&w->stamps, core);

	if (!index)
		return NULL;
	if (*index == MAP_NONE) {
		if (!rows_add(&w->times, sizeof(uint64_t)))
			return NULL;
		*index = (uint32_t)w->times.count - 1;
	}
	return (uint64_t *)w->times.data + *index;
}

/* AKAROS_NO_CORE: it has none. */
static uint32_t core_of(const struct profile *p, uint32_t labels)
{
	const struct label *cpu = profile_find_label(p, labels, "cpu");
	bool is_core = cpu && !cpu->str && cpu->num >= 0 && cpu->num <= UINT16_MAX;

	return is_core ? (uint32_t)cpu->num : AKAROS_NO_CORE;
}

/* Samples that have no core get one that no other has. */
static int find_free_core(struct writer *w)
{
	uint32_t core;

	for (uint32_t i = 0; i < profile_label_set_count(w->p); i++) {
		core = core_of(w->p, i);
		if (core != AKAROS_NO_CORE && !time_of(w, core))
			return -ENOMEM;
	}
	while (w->free_core < UINT16_MAX && map_get(&w->stamps, w->free_core) != MAP_NONE)
		w->free_core++;
	return 0;
}

static bool is_no_stack(const struct profile *p, const struct location *l)
{
	return l->line_count &&
	       strcmp(profile_text(p, profile_get_function(p, l->lines[0].function)->name),
		      FORMAT_NO_STACK) == 0;
}

/* Leaf first, the innermost if there are too many. */
static size_t take_pcs(struct writer *w, uint32_t node, uint64_t *pcs)
{
	size_t count = 0;

	while (node && count < AKAROS_MAX_FRAMES) {
		struct stack_node n = profile_get_node(w->p, node);
		struct location l = profile_get_location(w->p, n.location);

		if (!l.address && is_no_stack(w->p, &l))
			return 0;
		w->named += !l.address;
		pcs[count] = l.address && count ? l.address + 1 : l.address;
		count++;
		node = n.parent;
	}
	w->cut += node != 0;
	return count;
}

/* How many records a sample is, and the time that they stand for. */
static int measure(const struct writer *w, const struct sample *s, struct sum *ret, struct err *e)
{
	int64_t period = profile_get_info(w->p)->period, cpu = w->cpu < 0 ? 0 : s->values[w->cpu];
	int64_t count = w->samples < 0 ? 0 : s->values[w->samples];

	if (period < 1)
		period = AKAROS_PERIOD_NS;
	if (cpu < 0 || count < 0)
		return err_set(e, -EINVAL, "negative values cannot be written");
	if (w->samples < 0)
		count = cpu / period + (cpu % period >= period - period / 2);
	if (w->cpu < 0 && __builtin_mul_overflow(count, period, &cpu))
		return err_set(e, -EOVERFLOW, "a sum leaves its range");
	*ret = (struct sum){ (uint64_t)count, (uint64_t)cpu };
	return 0;
}

/* Samples that differ only in what the format cannot hold are merged. */
static int add_sample(struct writer *w, const struct sample *s, struct err *e)
{
	uint64_t key[1 + AKAROS_MAX_FRAMES]; /* core and addresses */
	size_t depth = take_pcs(w, s->node, key + 1);
	struct sum sum = { 0 }, *to;
	int rc = measure(w, s, &sum, e);
	uint32_t id;

	if (rc < 0)
		return rc;
	key[0] = core_of(w->p, s->labels);
	if (key[0] == AKAROS_NO_CORE)
		key[0] = w->free_core;
	id = strtab_intern(w->stacks, key, (1 + depth) * sizeof *key);
	if (id == STRTAB_NONE || (id == w->sums.count && !rows_add(&w->sums, sizeof sum)))
		return err_nomem(e);
	to = (struct sum *)w->sums.data + id;
	if (__builtin_add_overflow(to->count, sum.count, &to->count) ||
	    __builtin_add_overflow(to->cpu_ns, sum.cpu_ns, &to->cpu_ns))
		return err_set(e, -EOVERFLOW, "a sum leaves its range");
	return 0;
}

static int put_stack(struct writer *w, uint32_t id, struct buf *out, struct err *e)
{
	struct str stack = strtab_get(w->stacks, id);
	struct sum sum = ((const struct sum *)w->sums.data)[id];
	size_t depth = stack.len / sizeof(uint64_t) - 1;
	uint64_t key[1 + AKAROS_MAX_FRAMES], step, *ns, span;

	memcpy(key, stack.ptr, stack.len);
	step = sum.count && sum.cpu_ns / sum.count ? sum.cpu_ns / sum.count : AKAROS_PERIOD_NS;
	ns = time_of(w, (uint32_t)key[0]);
	if (!ns)
		return err_nomem(e);
	if (__builtin_mul_overflow(sum.count, step, &span) || span > UINT64_MAX - *ns)
		return err_set(e, -EOVERFLOW, "a sum leaves its range");
	for (uint64_t i = 0; i < sum.count; i++) {
		*ns += step;
		akaros_put_sample(out, (uint32_t)key[0], *ns, key + 1, depth);
	}
	return 0;
}

/* The format has a record for each sample, so a few stacks can be a large file. */
static int check_size(struct writer *w, struct err *e)
{
	uint64_t left = AKAROS_MAX_BYTES;

	for (uint32_t i = 0; i < w->sums.count; i++) {
		uint64_t bytes = 8 + strtab_get(w->stacks, i).len;
		uint64_t count = ((const struct sum *)w->sums.data)[i].count;

		if (count > left / bytes)
			return err_set(e, -EOVERFLOW,
				       "more than %" PRIu64
				       " MiB: each sample is a record of its own",
				       AKAROS_MAX_BYTES >> 20);
		left -= count * bytes;
	}
	return 0;
}

static int write_samples(struct writer *w, struct buf *out, struct err *e)
{
	int rc = 0;

	w->stacks = strtab_new();
	if (!w->stacks || find_free_core(w) < 0)
		return err_nomem(e);
	for (size_t i = 0; rc == 0 && i < profile_sample_count(w->p); i++) {
		struct sample s = profile_get_sample(w->p, i);

		rc = add_sample(w, &s, e);
	}
	if (rc == 0)
		rc = check_size(w, e);
	for (uint32_t i = 0; rc == 0 && i < w->sums.count; i++)
		rc = put_stack(w, i, out, e);
	return rc;
}

int akaros_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini)
	struct writer w = { .p = p,
			    .samples = profile_find_type(p, "samples"),
			    .cpu = profile_find_type(p, "cpu") };
	int rc;

	if (w.samples < 0 && w.cpu < 0)
		return err_set(e, -EINVAL, "neither samples nor time on the CPU");
	rc = write_samples(&w, out, e);
	if (rc == 0 && w.cut)
		log_msg(LOG_WARN, "format", "%" PRIu64 " stacks lost their outermost frames",
			w.cut);
	if (rc == 0 && w.named)
		log_msg(LOG_WARN, "format", "frames without an address have address 0");
	return rc;
}
