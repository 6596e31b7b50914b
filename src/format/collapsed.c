/* SPDX-License-Identifier: MIT */
#include "format/collapsed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void collapsed_fini(struct collapsed *c)
{
	strtab_free(c->stacks);
	rows_fini(&c->sums);
	buf_fini(&c->lines);
	*c = (struct collapsed){ 0 };
}

static void put_line(struct str stack, int64_t value, struct buf *out)
{
	buf_put(out, stack.ptr, stack.len);
	buf_put_byte(out, ' ');
	buf_put_int(out, value);
	buf_put_byte(out, '\n');
}

int collapsed_add(struct collapsed *c, struct str stack, int64_t value)
{
	uint32_t id;
	int64_t *sum;

	if (c->keeps_order) {
		put_line(stack, value, &c->lines);
		return buf_error(&c->lines);
	}
	if (!c->stacks)
		c->stacks = strtab_new();
	id = c->stacks ? strtab_intern(c->stacks, stack.ptr, stack.len) : STRTAB_NONE;
	if (id == STRTAB_NONE || (id == c->sums.count && !rows_add(&c->sums, sizeof *sum)))
		return -ENOMEM;
	sum = (int64_t *)c->sums.data + id;
	if (__builtin_add_overflow(*sum, value, sum)) {
		*sum = INT64_MAX;
		c->is_saturated = true;
	}
	return 0;
}

int collapsed_add_text(struct collapsed *c, struct str stack, const char *number)
{
	buf_put(&c->lines, stack.ptr, stack.len);
	buf_put_byte(&c->lines, ' ');
	buf_put_str(&c->lines, number);
	buf_put_byte(&c->lines, '\n');
	return buf_error(&c->lines);
}

static int compare_stacks(const void *left, const void *right, void *stacks)
{
	struct str a = strtab_get(stacks, *(const uint32_t *)left);
	struct str b = strtab_get(stacks, *(const uint32_t *)right);
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

int collapsed_write(const struct collapsed *c, struct buf *out)
{
	size_t count = c->sums.count;
	uint32_t *order = reallocarray(NULL, count + 1, sizeof *order);

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, compare_stacks, c->stacks);
	for (size_t i = 0; i < count; i++)
		put_line(strtab_get(c->stacks, order[i]), ((const int64_t *)c->sums.data)[order[i]],
			 out);
	free(order);
	buf_put(out, c->lines.data, c->lines.len);
	return buf_error(out);
}
