/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/path_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int path_sums_add_classes(struct path_sums *s, const struct classes *classes)
{
	for (size_t i = 0; i < classes_count(classes); i++) {
		struct path_sum *sum = rows_add(&s->classes, sizeof *sum);

		if (!sum)
			return -ENOMEM;
		sum->name = classes_name(classes, (uint32_t)i);
	}
	return 0;
}

static int by_events(const void *left, const void *right)
{
	const struct path_sum *a = left, *b = right;
	int order = decimal_compare(b->events, a->events);

	return order ? order : strcmp(a->name, b->name);
}

void path_sums_sort(struct path_sums *s)
{
	struct path_sum *sums = s->classes.data;
	size_t kept = 0;

	for (size_t i = 0; i < s->classes.count; i++)
		if (sums[i].entries)
			sums[kept++] = sums[i];
	s->classes.count = kept;
	if (kept)
		qsort(sums, kept, sizeof *sums, by_events);
	if (s->packages.count)
		qsort(s->packages.data, s->packages.count, sizeof *sums, by_events);
}

void path_sums_fini(struct path_sums *s)
{
	strtab_free(s->names);
	rows_fini(&s->classes);
	rows_fini(&s->packages);
}

int64_t path_sums_events(const struct path_sums *s, const char *class)
{
	const struct path_sum *sums = s->classes.data;

	for (size_t i = 0; i < s->classes.count; i++)
		if (strcmp(sums[i].name, class) == 0)
			return sums[i].events.integer;
	return 0;
}
