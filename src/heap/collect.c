/* SPDX-License-Identifier: MIT */
#include "heap/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/path.h"
#include "heap/scripts.h"
#include "heap/wrappers.h"
#include "target/proc.h"

#define FLUSH_BYTES 65536 /* that a thread's count may be off: wire/heap.h */

/* clang-format off */
static const struct { const char *type, *unit; } types[HEAP_TYPES] = {
	[HEAP_ALLOC_OBJECTS] = { "alloc_objects", "count" },
	[HEAP_ALLOC_SPACE] = { "alloc_space", "bytes" },
	[HEAP_INUSE_OBJECTS] = { "inuse_objects", "count" },
	[HEAP_INUSE_SPACE] = { "inuse_space", "bytes" },
	[HEAP_PEAK_OBJECTS] = { "peak_objects", "count" },
	[HEAP_PEAK_SPACE] = { "peak_space", "bytes" },
	[HEAP_TEMPORARY_OBJECTS] = { "temporary_objects", "count" },
	[HEAP_TEMPORARY_SPACE] = { "temporary_space", "bytes" },
	[HEAP_REALLOC_MOVES] = { "realloc_moves", "count" },
};
/* clang-format on */

int heap_collection_init(struct heap_collection *c, struct err *e)
{
	CLEANUP(buf_fini) struct buf wrappers = { 0 };

	wrappers_put_pattern(&wrappers);
	*c = (struct heap_collection){ .profile = profile_new() };
	if (!c->profile || buf_error(&wrappers) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < HEAP_TYPES; i++)
		profile_add_type(c->profile, types[i].type, types[i].unit);
	profile_info(c->profile)->default_type =
		profile_str(c->profile, types[HEAP_PEAK_SPACE].type);
	profile_info(c->profile)->drop_frames = profile_str(c->profile, wrappers.data);
	return profile_check(c->profile, e);
}

void heap_collection_fini(struct heap_collection *c)
{
	profile_free(c->profile);
	*c = (struct heap_collection){ 0 };
}

/* What the process wrote of itself may be anything. */
static int64_t to_value(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* Of what is read of a running process, the second may be newer. */
static int64_t left(uint64_t made, uint64_t freed)
{
	return made > freed ? to_value(made - freed) : 0;
}

static void take_values(const struct heap_image *h, const struct heap_site *s, int64_t *ret)
{
	bool has_peak = s->peak_no == h->head.peak_no && !h->head.is_peaking;

	ret[HEAP_ALLOC_OBJECTS] = to_value(s->alloc_objects);
	ret[HEAP_ALLOC_SPACE] = to_value(s->alloc_bytes);
	ret[HEAP_INUSE_OBJECTS] = left(s->alloc_objects, s->free_objects);
	ret[HEAP_INUSE_SPACE] = left(s->alloc_bytes, s->free_bytes);
	ret[HEAP_PEAK_OBJECTS] = has_peak ? s->peak_objects : ret[HEAP_INUSE_OBJECTS];
	ret[HEAP_PEAK_SPACE] = has_peak ? s->peak_bytes : ret[HEAP_INUSE_SPACE];
	ret[HEAP_TEMPORARY_OBJECTS] = to_value(s->temporary_objects);
	ret[HEAP_TEMPORARY_SPACE] = to_value(s->temporary_bytes);
	ret[HEAP_REALLOC_MOVES] = to_value(s->realloc_moves);
	if (ret[HEAP_PEAK_OBJECTS] < 0 || ret[HEAP_PEAK_SPACE] < 0)
		ret[HEAP_PEAK_OBJECTS] = ret[HEAP_PEAK_SPACE] = 0;
}

/* Code in no file is named by a perf map, if its process wrote one. */
static uint32_t add_unnamed(struct profile *p, const struct heap_image *h)
{
	char path[64];
	struct mapping m = { .limit = UINT64_MAX };

	snprintf(path, sizeof path, "/tmp/perf-%d.map", h->head.pid);
	m.path = profile_str(p, path);
	return profile_add_mapping(p, &m);
}

/* Addresses become those that the file was linked for, the same in all processes; without them they
 * become its offsets. */
static struct location place(struct profile *p, const struct heap_image *h,
			     const struct heap_node *node)
{
	const struct heap_mapping *m;
	char build_id[2 * HEAP_BUILD_ID_MAX + 1];
	struct mapping mapping;
	const char *path;
	uint64_t bias;

	if (node->mapping == HEAP_NO_MAPPING)
		return (struct location){ .mapping = add_unnamed(p, h), .address = node->address };
	m = &h->mappings[node->mapping];
	path = heap_image_string(h, m->path);
	if (!path[0])
		return (struct location){ .mapping = add_unnamed(p, h), .address = node->address };
	bias = m->has_bias || m->build_id_len ? m->bias : m->start - m->offset;
	number_print_hex(build_id, m->build_id, m->build_id_len);
	mapping = (struct mapping){ .start = m->start - bias,
				    .limit = m->end - bias,
				    .offset = m->offset,
				    .path = profile_str(p, path),
				    .build_id = profile_str(p, build_id) };
	return (struct location){ .mapping = profile_add_mapping(p, &mapping),
				  .address = node->address - bias };
}

/* The stacks of the process: [node_count] each. */
struct stacks {
	uint32_t *ids;       /* nodes of the profile; of a script's, 0 */
	uint32_t *locations; /* the same */
	struct scripts scripts;
};

/* false: out of memory. */
static bool add_stacks(struct profile *p, const struct heap_image *h, struct stacks *ret)
{
	*ret = (struct stacks){ .ids = calloc(h->head.node_count, sizeof *ret->ids),
				.locations = calloc(h->head.node_count, sizeof *ret->locations) };
	ret->scripts = (struct scripts){ .profile = p, .image = h, .natives = ret->locations };
	if (!ret->ids || !ret->locations)
		return false;
	for (uint32_t i = 1; i < h->head.node_count; i++) {
		struct location location;

		if (scripts_has(h, i))
			continue;
		location = place(p, h, &h->nodes[i]);
		ret->locations[i] = profile_add_location(p, &location);
		ret->ids[i] = profile_push(p, ret->ids[h->nodes[i].parent], ret->locations[i]);
	}
	return true;
}

static void stacks_fini(struct stacks *s)
{
	free(s->ids);
	free(s->locations);
	scripts_fini(&s->scripts);
}

static uint32_t find_stack(struct stacks *s, const struct heap_image *h, uint32_t node)
{
	if (!s->ids[node] && scripts_has(h, node))
		s->ids[node] = scripts_push(&s->scripts, node);
	return s->ids[node];
}

static uint32_t add_labels(struct profile *p, const struct heap_image *h)
{
	const char *program = path_base(heap_image_string(h, h->head.program));
	const struct label labels[] = {
		{ .key = profile_str(p, "pid"), .num = h->head.pid },
		{ .key = profile_str(p, "comm"), .str = profile_str(p, program) },
	};

	return profile_add_labels(p, labels, *program ? 2 : 1);
}

bool heap_process_runs(const struct heap_header *h)
{
	struct proc_stat stat;

	return !(h->flags & (HEAP_ENDED | HEAP_EXECED)) && h->start_ticks && h->pid > 0 &&
	       proc_stat_read(&stat, h->pid) && stat.start_ticks == h->start_ticks &&
	       stat.state != 'Z' && stat.state != 'X';
}

static void add_facts(struct heap_collection *c, const struct heap_header *h)
{
	struct profile_info *info = profile_info(c->profile);
	int64_t start_ns = to_value(h->start_ns);

	c->process_count++;
	if (c->is_last_alive && c->last_pid == h->pid && c->last_ticks == h->start_ticks)
		c->living_count--; /* that was before an exec */
	c->is_last_alive = heap_process_runs(h);
	c->living_count += c->is_last_alive;
	c->last_pid = h->pid;
	c->last_ticks = h->start_ticks;
	c->lost += h->missed;
	if (h->flags & HEAP_ATTACHED)
		c->unknown_frees += h->unknown_frees;
	c->has_mappings |= (h->flags & HEAP_MAPPED) != 0;
	c->full_count += (h->flags & HEAP_FULL) != 0;
	if (!(h->flags & HEAP_EXACT_PEAK) && h->threads > 1)
		c->peak_error_bytes += (uint64_t)h->threads * FLUSH_BYTES;
	if (h->period) {
		c->sample_bytes = h->period;
		info->period_type.type = profile_str(c->profile, "space");
		info->period_type.unit = profile_str(c->profile, "bytes");
		info->period = to_value(h->period);
	}
	if (!info->time_ns || start_ns < info->time_ns)
		info->time_ns = start_ns;
}

void heap_collection_add(struct heap_collection *c, const struct heap_image *h)
{
	struct profile *p = c->profile;
	uint32_t labels = add_labels(p, h);
	struct stacks stacks;
	bool is_there = add_stacks(p, h, &stacks);

	for (uint32_t i = 0; is_there && i < h->head.site_count; i++) {
		int64_t values[HEAP_TYPES];

		take_values(h, &h->sites[i], values);
		if (!values[HEAP_ALLOC_OBJECTS] && !values[HEAP_REALLOC_MOVES])
			continue;
		for (size_t type = 0; type < HEAP_TYPES; type++)
			number_add(&c->totals[type], values[type]);
		profile_add(p, find_stack(&stacks, h, h->sites[i].node), labels, values);
	}
	if (!is_there || stacks.scripts.is_bad)
		profile_fail_nomem(p);
	stacks_fini(&stacks);
	add_facts(c, &h->head);
}
