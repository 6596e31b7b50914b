/* SPDX-License-Identifier: MIT */
#include "ctlfs/processes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/utf8.h"

#define MAX_BYTES ((size_t)64 << 20) /* of all text; further lines are dropped */

struct process {
	uint32_t pid;
	bool is_used, is_sampled;
	struct buf maps; /* lines */
};

void processes_clear(struct processes *p)
{
	struct process *list = p->list.data;

	for (size_t i = 0; i < p->list.count; i++)
		buf_fini(&list[i].maps);
	p->list.count = 0;
	p->free.count = 0;
	p->bytes = 0;
	map_clear(&p->by_pid);
}

void processes_fini(struct processes *p)
{
	processes_clear(p);
	rows_fini(&p->list);
	rows_fini(&p->free);
	map_fini(&p->by_pid);
}

static struct process *at(const struct processes *p, uint32_t index)
{
	return (struct process *)p->list.data + index;
}

/* NULL: unknown. */
static struct process *find(const struct processes *p, uint32_t pid)
{
	uint32_t index = map_get(&p->by_pid, pid);

	if (index == MAP_NONE || !at(p, index)->is_used || at(p, index)->pid != pid)
		return NULL;
	return at(p, index);
}

/* NULL: out of memory. */
static struct process *get(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);
	uint32_t index;

	if (process)
		return process;
	if (p->free.count) {
		index = ((uint32_t *)p->free.data)[--p->free.count];
	} else {
		if (!rows_add(&p->list, sizeof *process))
			return NULL;
		index = (uint32_t)p->list.count - 1;
	}
	process = at(p, index);
	*process = (struct process){ .pid = pid, .is_used = map_put(&p->by_pid, pid, index) == 0 };
	return process->is_used ? process : NULL;
}

void processes_map(struct processes *p, const struct tracer_mapping *m)
{
	struct process *process = p->bytes < MAX_BYTES ? get(p, m->pid) : NULL;
	size_t before;

	if (!process)
		return;
	before = process->maps.len;
	buf_printf(&process->maps, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
		   m->start, m->end, m->offset);
	utf8_put_visible(&process->maps, m->path, m->path_len);
	buf_put_byte(&process->maps, '\n');
	p->bytes += process->maps.len - before;
}

static void forget_maps(struct processes *p, struct process *process)
{
	p->bytes -= process->maps.len;
	buf_fini(&process->maps);
}

void processes_fork(struct processes *p, uint32_t pid, uint32_t parent)
{
	struct process *from = find(p, parent), *to;

	if (!from || p->bytes >= MAX_BYTES)
		return;
	to = get(p, pid);
	from = find(p, parent); /* the array may have moved */
	if (!to || !from)
		return;
	forget_maps(p, to);
	buf_put(&to->maps, from->maps.data, from->maps.len);
	p->bytes += to->maps.len;
}

void processes_exec(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);

	if (process && !process->is_sampled)
		forget_maps(p, process);
}

void processes_exit(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);
	uint32_t *index;

	if (!process || process->is_sampled)
		return;
	forget_maps(p, process);
	index = rows_add(&p->free, sizeof *index);
	if (!index)
		return; /* keep the entry: it has samples */
	*index = (uint32_t)(process - (struct process *)p->list.data);
	process->is_used = false;
}

void processes_sample(struct processes *p, uint32_t pid)
{
	struct process *process = pid ? get(p, pid) : NULL;

	if (process)
		process->is_sampled = true;
}

void processes_put(const struct processes *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->list.count; i++) {
		const struct process *process = at(p, i);

		if (!process->is_used || !process->is_sampled || !process->maps.len)
			continue;
		buf_printf(out, "# pid %" PRIu32 "\n", process->pid);
		buf_put(out, process->maps.data, process->maps.len);
	}
}
