/* SPDX-License-Identifier: MIT */
#include "target/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

void cpulist_fini(struct cpulist *c)
{
	free(c->cpus);
	*c = (struct cpulist){ 0 };
}

static bool take_number(const char **at, uint32_t *ret)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	v = strtoul(*at, &end, 10);
	if (v >= CPULIST_MAX)
		return false;
	*at = end;
	*ret = (uint32_t)v;
	return true;
}

/* Marks the CPUs of a list; false: it is none. */
static bool mark(const char *at, unsigned char *marks)
{
	for (;;) {
		uint32_t first, last;

		if (!take_number(&at, &first))
			return false;
		last = first;
		if (*at == '-' && (at++, !take_number(&at, &last)))
			return false;
		if (last < first)
			return false;
		memset(marks + first, 1, last - first + 1);
		if (*at == '\n' || *at == '\0')
			return true;
		if (*at++ != ',')
			return false;
	}
}

int cpulist_parse(const char *text, struct cpulist *ret, struct err *e)
{
	unsigned char *marks = calloc(CPULIST_MAX, 1);
	struct cpulist list = { 0 };
	size_t count = 0;
	int rc = 0;

	if (!marks)
		return err_nomem(e);
	if (!mark(text, marks)) {
		rc = err_set(e, -EINVAL, "'%s' is not a list of CPUs, e.g. 0-3,8", text);
		goto out;
	}
	for (size_t i = 0; i < CPULIST_MAX; i++)
		count += marks[i];
	list.cpus = calloc(count, sizeof *list.cpus);
	if (!list.cpus) {
		rc = err_nomem(e);
		goto out;
	}
	for (uint32_t i = 0; i < CPULIST_MAX; i++)
		if (marks[i])
			list.cpus[list.count++] = i;
	*ret = list;
out:
	free(marks);
	return rc;
}

int cpulist_online(const char *root, struct cpulist *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc;

	buf_printf(&path, "%s/online", root ? root : "/sys/devices/system/cpu");
	if (buf_error(&path) < 0)
		return err_nomem(e);
	rc = file_read_small(path.data, 65536, &text, e);
	if (rc < 0)
		return rc;
	rc = cpulist_parse(text.data ? text.data : "", ret, e);
	return rc < 0 ? err_wrap(e, "%s", path.data) : 0;
}

bool cpulist_within(const struct cpulist *a, const struct cpulist *b, uint32_t *ret_missing)
{
	size_t j = 0;

	for (size_t i = 0; i < a->count; i++) {
		while (j < b->count && b->cpus[j] < a->cpus[i])
			j++;
		if (j < b->count && b->cpus[j] == a->cpus[i])
			continue;
		*ret_missing = a->cpus[i];
		return false;
	}
	return true;
}

int cpulist_allowed(struct cpulist *ret, struct err *e)
{
	cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPULIST_MAX);
	int rc = 0;

	if (!set)
		return err_nomem(e);
	if (sched_getaffinity(0, bytes, set) < 0)
		rc = err_errno(e, "sched_getaffinity");
	if (rc == 0) {
		ret->cpus = calloc((size_t)CPU_COUNT_S(bytes, set), sizeof *ret->cpus);
		if (!ret->cpus)
			rc = err_nomem(e);
	}
	for (uint32_t cpu = 0; rc == 0 && cpu < CPULIST_MAX; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set))
			ret->cpus[ret->count++] = cpu;
	CPU_FREE(set);
	return rc;
}
