/* SPDX-License-Identifier: MIT */
/* Which files and processes have CPython. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sample/python/python_internal.h"

#define FILES_MAX 65536 /* that are asked */

static struct binary *binary_at(struct python *p, uint32_t index)
{
	return (struct binary *)p->binaries.data + index;
}

/* Loads the program for the first Python. Without it, frames are read. */
static void start_walker(struct python *p)
{
	if (p->walker && walker_start(p->walker, &p->stacks, &p->reason) < 0) {
		walker_free(p->walker);
		p->walker = NULL;
	}
}

static void add_file(struct python *p, const struct python_file_info *info)
{
	const struct python_file_key key = { .inode = info->inode, .device = info->device };
	const struct python_file file = { .start_code = info->start_code,
					  .process = { .runtime = info->runtime,
						       .runtime_bytes = info->runtime_bytes,
						       .code_type = info->code_type,
						       .layout = info->layout } };

	if (p->walker && info->is_program)
		walker_add_file(p->walker, &key, &file);
}

static int add_binary(struct python *p, uint32_t number, const struct python_file_info *info)
{
	struct binary *b = rows_add(&p->binaries, sizeof *b);

	if (!b)
		return -ENOMEM;
	b->info = malloc(sizeof *info);
	if (!b->info) {
		p->binaries.count--;
		return -ENOMEM;
	}
	*b->info = *info;
	if (b->info->range_count > PYTHON_FILE_RANGES)
		b->info->range_count = 0;
	b->ranges = (struct interp_file){ b->info->ranges, b->info->range_count };
	return map_put(&p->files, number, (uint32_t)p->binaries.count - 1);
}

int python_take_reply(struct python *p, const struct file_reader_reply *reply)
{
	const struct python_file_info *info = &reply->info;

	if (info->needs_python || info->runtime)
		p->is_expected = true;
	if (info->needs_python)
		start_walker(p);
	if (!info->runtime)
		return map_put(&p->files, reply->number, FILE_OTHER);
	p->is_seen = true;
	if (!info->layout.minor) {
		p->is_refused = true;
		p->is_free_threaded |= info->is_free_threaded;
		return map_put(&p->files, reply->number, FILE_OTHER);
	}
	start_walker(p);
	add_file(p, info);
	p->source.version++;
	return add_binary(p, reply->number, info);
}

void python_ask(struct python *p, const struct interp_mapping *m)
{
	struct file_reader_request r = {
		.number = m->file, .pid = m->pid, .start = m->start, .end = m->end
	};
	size_t len = strlen(m->path);

	if (len >= sizeof r.path || p->files.count > FILES_MAX)
		return;
	memcpy(r.path, m->path, len + 1);
	/* Without room it is asked when it is seen again. */
	if (file_reader_put(&p->file_reader, &r) == 0 &&
	    map_put(&p->files, m->file, FILE_ASKED) < 0)
		return;
}

/* Its place among those that run. NULL: out of memory. */
static struct running *find_running(struct python *p, uint32_t pid)
{
	uint32_t *index = map_at(&p->processes, pid);
	struct running *r;

	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return (struct running *)p->running.data + *index;
	r = rows_add(&p->running, sizeof *r);
	if (r)
		*index = (uint32_t)p->running.count - 1;
	return r;
}

static void add_process(struct python *p, const struct interp_mapping *m,
			const struct python_file_info *info)
{
	uint64_t bias = m->start - m->offset - info->text_delta;
	struct python_process process = { .runtime = info->runtime + bias,
					  .runtime_bytes = info->runtime_bytes,
					  .code_type = info->code_type ? info->code_type + bias : 0,
					  .layout = info->layout };
	struct running *r = find_running(p, m->pid);

	if (!r || (r->pid == m->pid && r->process.runtime == process.runtime))
		return;
	*r = (struct running){ m->pid, process };
	if (p->walker)
		walker_add_process(p->walker, m->pid, &process);
}

int python_expect(struct python *p, const struct interp_mapping *m)
{
	uint32_t known = map_get(&p->files, m->file);
	struct expected *x;

	if (known >= p->binaries.count)
		return 0;
	x = rows_add(&p->expected, sizeof *x);
	if (!x)
		return -ENOMEM;
	*x = (struct expected){ m->pid, known, m->start };
	return 0;
}

/* The binary of a mapping whose file has another number now. MAP_NONE: it was not expected. */
static uint32_t find_expected(struct python *p, const struct interp_mapping *m)
{
	const struct expected *all = p->expected.data;

	for (size_t i = 0; i < p->expected.count; i++)
		if (all[i].pid == m->pid && all[i].start == m->start &&
		    map_put(&p->files, m->file, all[i].binary) == 0)
			return all[i].binary;
	return MAP_NONE;
}

void python_map(void *python, const struct interp_mapping *m)
{
	struct python *p = python;
	uint32_t known = map_get(&p->files, m->file);

	if (known == MAP_NONE)
		known = find_expected(p, m);
	if (known == MAP_NONE && p->has_begun)
		python_ask(p, m);
	else if (known < p->binaries.count)
		add_process(p, m, binary_at(p, known)->info);
}

void python_leave(void *python, uint32_t pid)
{
	struct python *p = python;
	uint32_t index = map_get(&p->processes, pid);
	struct running *r;

	if (index == MAP_NONE)
		return;
	r = (struct running *)p->running.data + index;
	if (r->pid != pid)
		return;
	r->pid = 0;
	if (p->walker)
		walker_remove_process(p->walker, pid);
}

const struct interp_file *python_file(void *python, uint32_t file)
{
	struct python *p = python;
	uint32_t known = map_get(&p->files, file);

	return known < p->binaries.count ? &binary_at(p, known)->ranges : NULL;
}
