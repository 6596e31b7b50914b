/* SPDX-License-Identifier: MIT */
#include "view/tables/stat_programs.h"

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
	int rc = stat_usage_compare(&x->usage, &y->usage);

	return rc ? rc : strcmp(x->name, y->name);
}

static void add(struct stat_usage *to, const struct stat_usage *one)
{
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
		to[i] = (struct stat_program){ all[i].name, 1, all[i].usage };
	qsort(to, count, sizeof *to, compare_names);
	for (size_t i = 0; i < count; i++) {
		if (n && strcmp(to[n - 1].name, to[i].name) == 0) {
			to[n - 1].count++;
			add(&to[n - 1].usage, &to[i].usage);
		} else {
			to[n++] = to[i];
		}
	}
	qsort(to, n, sizeof *to, compare_cpu);
	*ret = to;
	*ret_count = n;
	return 0;
}
