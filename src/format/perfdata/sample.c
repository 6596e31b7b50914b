/* SPDX-License-Identifier: MIT */
#include "format/perfdata/sample.h"

#include <errno.h>

#include "perf/callchain.h"

/* The kernel's part of a chain: up to the mark behind which the user's begins. */
static size_t copy_kernel(struct perfdata_chain *c, struct record_words chain)
{
	size_t n = 0;

	for (; n < chain.count; n++) {
		c->words[n] = record_word(chain, n);
		if (c->words[n] == (uint64_t)PERF_CONTEXT_USER)
			break;
	}
	return n;
}

void perfdata_chain_from_lbr(struct perfdata_chain *c, struct record_sample *s, uint16_t misc)
{
	size_t n = copy_kernel(c, s->chain), branches = s->branches.count / 3;
	uint64_t ip = s->ip;

	if (!branches)
		return;
	/* Where the user's code was: behind the mark, when the kernel ran. */
	if (n + 1 < s->chain.count)
		ip = record_word(s->chain, n + 1);
	else if (callchain_space_of(misc) != FRAME_SPACE_USER)
		ip = record_word(s->branches, 1); /* where the latest branch went */
	c->words[n++] = (uint64_t)PERF_CONTEXT_USER;
	c->words[n++] = ip;
	/* LBR has the address of the call; a chain has the return address. */
	for (size_t i = 0; i < branches && n < ARRAY_LEN(c->words); i++)
		c->words[n++] = record_word(s->branches, 3 * i) + 1;
	s->chain = (struct record_words){ (const unsigned char *)c->words, n };
}

void perfdata_counters_fini(struct perfdata_counters *c)
{
	map_fini(&c->rows);
	rows_fini(&c->values);
}

/* Words before the first counter, and words of each. */
static size_t first_counter(uint64_t format)
{
	return 1 + (size_t)__builtin_popcountll(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
							  PERF_FORMAT_TOTAL_TIME_RUNNING));
}

static size_t counter_words(uint64_t format)
{
	return 1 + (size_t)__builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
}

size_t perfdata_counters_in(const struct record_sample *s, const struct record_shape *shape)
{
	uint64_t format = shape->read_format;
	size_t first = first_counter(format), count;

	if (!(shape->sample_type & PERF_SAMPLE_READ) || !(format & PERF_FORMAT_GROUP) ||
	    !(format & PERF_FORMAT_ID) || s->read.count < first)
		return 0;
	count = (s->read.count - first) / counter_words(format);
	return count > 1 ? count : 0;
}

int perfdata_counters_take(struct perfdata_counters *c, const struct record_sample *s,
			   const struct record_shape *shape, size_t i, uint64_t *ret_id,
			   uint64_t *ret_count)
{
	size_t at = first_counter(shape->read_format) + i * counter_words(shape->read_format);
	uint64_t value = record_word(s->read, at), *last;
	uint32_t *row;

	*ret_id = record_word(s->read, at + 1);
	row = map_at(&c->rows, *ret_id);
	if (!row)
		return -ENOMEM;
	if (*row == MAP_NONE) {
		if (!rows_add(&c->values, sizeof *last))
			return -ENOMEM;
		*row = (uint32_t)c->values.count - 1;
	}
	last = (uint64_t *)c->values.data + *row;
	*ret_count = value > *last ? value - *last : 0;
	*last = value;
	return 0;
}
