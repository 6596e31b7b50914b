/* SPDX-License-Identifier: MIT */
#include "cachejob/range_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int range_table_init(struct range_table *t, size_t values)
{
	*t = (struct range_table){ .names = strtab_new(), .values = values };
	return t->names ? 0 : -ENOMEM;
}

void range_table_fini(struct range_table *t)
{
	strtab_free(t->names);
	rows_fini(&t->ranges);
	free(t->order);
	*t = (struct range_table){ 0 };
}

static struct range *ranges_of(const struct range_table *t, uint32_t id)
{
	return (struct range *)t->ranges.data + id * t->values;
}

struct range *range_table_at(struct range_table *t, const char *name, size_t len)
{
	uint32_t id = strtab_intern(t->names, name, len);

	if (id == STRTAB_NONE ||
	    (id == t->ranges.count && !rows_add(&t->ranges, t->values * sizeof(struct range))))
		return NULL;
	return ranges_of(t, id);
}

void range_table_fill(struct range_table *t, size_t ranks, uint32_t rank)
{
	struct range *ranges = t->ranges.data;

	for (size_t i = 0; i < t->ranges.count * t->values; i++)
		range_fill(&ranges[i], ranks, rank);
}

static int compare_names(const void *left, const void *right, void *names)
{
	return strcmp(strtab_get(names, *(const uint32_t *)left).ptr,
		      strtab_get(names, *(const uint32_t *)right).ptr);
}

int range_table_sort(struct range_table *t)
{
	t->order = calloc(t->ranges.count + 1, sizeof *t->order);
	if (!t->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->ranges.count; i++)
		t->order[i] = i;
	qsort_r(t->order, t->ranges.count, sizeof *t->order, compare_names, t->names);
	return 0;
}

size_t range_table_count(const struct range_table *t)
{
	return t->ranges.count;
}

const struct range *range_table_get(const struct range_table *t, size_t i, const char **ret_name)
{
	*ret_name = strtab_get(t->names, t->order[i]).ptr;
	return ranges_of(t, t->order[i]);
}

const struct range *range_table_find(const struct range_table *t, const char *name)
{
	uint32_t id = strtab_find(t->names, name, strlen(name));

	return id == STRTAB_NONE ? NULL : ranges_of(t, id);
}
