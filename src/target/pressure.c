/* SPDX-License-Identifier: MIT */
#include "target/pressure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macros.h"

/* The line "some avg10=... total=USEC" or "full ...". */
static int64_t total_ns(const char *text, const char *kind)
{
	const char *line = strstr(text, kind);
	const char *total = line ? strstr(line, "total=") : NULL;

	return total ? strtoll(total + strlen("total="), NULL, 10) * 1000 : 0;
}

/* before, behind: the name of the resource in a path. */
static struct pressure read_all(const char *before, const char *behind)
{
	static const char *const names[] = { "cpu", "memory", "io" };
	char texts[ARRAY_LEN(names)][256];
	struct pressure p = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s%s", before, names[i], behind);
		if (!file_read_start(path, texts[i], sizeof texts[i]))
			return p;
	}
	p.has_value = true;
	p.cpu_some_ns = total_ns(texts[0], "some");
	p.memory_some_ns = total_ns(texts[1], "some");
	p.memory_full_ns = total_ns(texts[1], "full");
	p.io_some_ns = total_ns(texts[2], "some");
	p.io_full_ns = total_ns(texts[2], "full");
	return p;
}

struct pressure pressure_read(void)
{
	return read_all("/proc/pressure", "");
}

struct pressure pressure_of_group(const char *folder)
{
	char events[4096];

	snprintf(events, sizeof events, "%s/cgroup.events", folder);
	if (!folder[0] || access(events, F_OK) < 0)
		return (struct pressure){ 0 };
	return read_all(folder, ".pressure");
}

void pressure_since(struct pressure *before, const struct pressure *after)
{
	before->has_value &= after->has_value;
	before->cpu_some_ns = after->cpu_some_ns - before->cpu_some_ns;
	before->memory_some_ns = after->memory_some_ns - before->memory_some_ns;
	before->memory_full_ns = after->memory_full_ns - before->memory_full_ns;
	before->io_some_ns = after->io_some_ns - before->io_some_ns;
	before->io_full_ns = after->io_full_ns - before->io_full_ns;
}
