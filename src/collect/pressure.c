/* SPDX-License-Identifier: MIT */
#include "collect/pressure.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* The line "some avg10=... total=USEC" or "full ...". */
static int64_t total_ns(const char *text, const char *kind)
{
	const char *line = strstr(text, kind);
	const char *total = line ? strstr(line, "total=") : NULL;

	return total ? strtoll(total + strlen("total="), NULL, 10) * 1000 : 0;
}

struct pressure pressure_read(void)
{
	struct pressure p = { 0 };
	char cpu[256], memory[256], io[256];

	p.has_value = file_read_start("/proc/pressure/cpu", cpu, sizeof cpu) &&
		      file_read_start("/proc/pressure/memory", memory, sizeof memory) &&
		      file_read_start("/proc/pressure/io", io, sizeof io);
	if (!p.has_value)
		return p;
	p.cpu_some_ns = total_ns(cpu, "some");
	p.memory_some_ns = total_ns(memory, "some");
	p.memory_full_ns = total_ns(memory, "full");
	p.io_some_ns = total_ns(io, "some");
	p.io_full_ns = total_ns(io, "full");
	return p;
}

void pressure_since(struct pressure *before)
{
	struct pressure after = pressure_read();

	before->has_value &= after.has_value;
	before->cpu_some_ns = after.cpu_some_ns - before->cpu_some_ns;
	before->memory_some_ns = after.memory_some_ns - before->memory_some_ns;
	before->memory_full_ns = after.memory_full_ns - before->memory_full_ns;
	before->io_some_ns = after.io_some_ns - before->io_some_ns;
	before->io_full_ns = after.io_full_ns - before->io_full_ns;
}
