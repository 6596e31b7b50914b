/* SPDX-License-Identifier: MIT */
#include "view/stat_programs.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	const struct stat_program *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_cpu(const void *a, const void *b)
{
	const struct stat_program *x = a, *y = b;
	int64_t of_x = x->user_ns + x->system_ns, of_y = y->user_ns + y->system_ns;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct stat_program program_of(const struct stat_process *p)
{
	return (struct stat_program){ .name = p->name,
				      .count = 1,
				      .wall_ns = p->wall_ns,
				      .user_ns = p->user_ns,
				      .system_ns = p->system_ns,
				      .minor_faults = p->minor_faults,
				      .major_faults = p->major_faults,
				      .peak_rss_bytes = p->peak_rss_bytes,
				      .run_wait_ns = p->run_wait_ns };
}

static void add(struct stat_program *to, const struct stat_program *one)
{
	to->count += one->count;
	to->wall_ns += one->wall_ns;
	to->user_ns += one->user_ns;
	to->system_ns += one->system_ns;
	to->minor_faults += one->minor_faults;
	to->major_faults += one->major_faults;
	if (one->peak_rss_bytes > to->peak_rss_bytes)
		to->peak_rss_bytes = one->peak_rss_bytes;
	if (one->run_wait_ns >= 0)
		to->run_wait_ns = (to->run_wait_ns < 0 ? 0 : to->run_wait_ns) + one->run_wait_ns;
}

int stat_programs(const struct stat_process *all, size_t count, struct stat_program **ret,
		  size_t *ret_count, struct err *e)
{
	struct stat_program *to = reallocarray(NULL, count + 1, sizeof *to);
	size_t n = 0;

	if (!to)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++)
		to[i] = program_of(&all[i]);
	qsort(to, count, sizeof *to, compare_names);
	for (size_t i = 0; i < count; i++) {
		if (n && strcmp(to[n - 1].name, to[i].name) == 0)
			add(&to[n - 1], &to[i]);
		else
			to[n++] = to[i];
	}
	qsort(to, n, sizeof *to, compare_cpu);
	*ret = to;
	*ret_count = n;
	return 0;
}
