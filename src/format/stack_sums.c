/* SPDX-License-Identifier: MIT */
#include "format/stack_sums.h"

#include <errno.h>

#include "base/number.h"

void stack_sums_fini(struct stack_sums *s)
{
	rows_fini(&s->sums);
	map_fini(&s->index);
}

static struct stack_sum *find_sum(struct stack_sums *s, uint32_t node)
{
	uint32_t *at = map_at(&s->index, node);
	struct stack_sum *sum;

	if (!at)
		return NULL;
	if (*at != MAP_NONE)
		return (struct stack_sum *)s->sums.data + *at;
	sum = rows_add(&s->sums, sizeof *sum);
	if (!sum)
		return NULL;
	*at = (uint32_t)s->sums.count - 1;
	sum->node = node;
	return sum;
}

int stack_sums_make(struct stack_sums *s, const struct profile *p, size_t type, struct err *e)
{
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample sample = profile_get_sample(p, i);
		int64_t value = sample.values[type];
		struct stack_sum *sum;

		if (!value)
			continue;
		sum = find_sum(s, sample.node);
		if (!sum)
			return err_nomem(e);
		number_add(&sum->value, value);
	}
	return 0;
}
