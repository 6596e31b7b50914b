/* SPDX-License-Identifier: MIT */
#include "format/akaros/build.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "format/format.h"

static const char null_name[] = "[null]";

int akaros_build_init(struct akaros_build *b, struct profile *p)
{
	*b = (struct akaros_build){ .p = p, .stacks = strtab_new() };
	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	return b->stacks ? 0 : -ENOMEM;
}

void akaros_build_fini(struct akaros_build *b)
{
	strtab_free(b->stacks);
	rows_fini(&b->nodes);
	map_fini(&b->labels);
	buf_fini(&b->key);
}

static uint32_t kernel_mapping(struct akaros_build *b)
{
	if (!b->kernel)
		b->kernel = profile_add_mapping(
			b->p, &(struct mapping){ .start = AKAROS_KERNEL_START,
						 .limit = UINT64_MAX,
						 .path = profile_str(b->p, AKAROS_KERNEL) });
	return b->kernel;
}

static uint32_t add_location(struct akaros_build *b, uint64_t pc, bool is_caller, struct maps *maps)
{
	struct location l = { .address = pc - is_caller };
	const struct vma *v;

	if (pc == 0)
		return profile_name_location(b->p, null_name, strlen(null_name));
	if (pc >= AKAROS_KERNEL_START) {
		l.mapping = kernel_mapping(b);
	} else if (maps) {
		v = maps_find(maps, l.address);
		l.mapping = v ? v->dso : 0;
	}
	return profile_add_location(b->p, &l);
}

static uint32_t push_stack(struct akaros_build *b, const struct akaros_sample *s, struct maps *maps)
{
	uint32_t node = 0;

	if (!s->count)
		return profile_push(
			b->p, 0,
			profile_name_location(b->p, FORMAT_NO_STACK, strlen(FORMAT_NO_STACK)));
	for (size_t i = s->count; i-- > 0;) {
		struct cursor c = cursor_make(s->pcs + 8 * i, 8);

		node = profile_push(b->p, node, add_location(b, cursor_u64(&c), i > 0, maps));
	}
	return node;
}

/* The same addresses in the same mappings are the same stack. */
static uint32_t *node_of(struct akaros_build *b, const struct akaros_sample *s, struct maps *maps)
{
	uint64_t version = maps ? maps_version(maps) : 0;
	uint32_t id, *node;

	buf_clear(&b->key);
	buf_put_u64(&b->key, version);
	buf_put(&b->key, s->pcs, 8 * s->count);
	if (buf_error(&b->key) < 0)
		return NULL;
	id = strtab_intern(b->stacks, b->key.data, b->key.len);
	if (id == STRTAB_NONE)
		return NULL;
	if (id < b->nodes.count)
		return (uint32_t *)b->nodes.data + id;
	node = rows_add(&b->nodes, sizeof *node);
	if (node)
		*node = push_stack(b, s, maps);
	return node;
}

static uint32_t add_labels(struct akaros_build *b, const struct akaros_sample *s, uint32_t comm)
{
	struct label labels[3];
	size_t count = 0;

	if (s->core != AKAROS_NO_CORE)
		labels[count++] = (struct label){ .key = profile_str(b->p, "cpu"), .num = s->core };
	if (s->pid != AKAROS_NO_PID)
		labels[count++] = (struct label){ .key = profile_str(b->p, "pid"), .num = s->pid };
	if (comm)
		labels[count++] = (struct label){ .key = profile_str(b->p, "comm"), .str = comm };
	return profile_add_labels(b->p, labels, count);
}

int akaros_build_add(struct akaros_build *b, const struct akaros_sample *s, struct maps *maps,
		     uint32_t comm, int64_t period_ns)
{
	const int64_t values[] = { 1, period_ns };
	const uint32_t *node = node_of(b, s, maps);
	uint32_t *labels;

	if (!node)
		return -ENOMEM;
	if (comm) {
		profile_add(b->p, *node, add_labels(b, s, comm), values);
		return 0;
	}
	labels = map_at(&b->labels, map_pair(s->core, s->pid));
	if (!labels)
		return -ENOMEM;
	if (*labels == MAP_NONE)
		*labels = add_labels(b, s, 0);
	profile_add(b->p, *node, *labels, values);
	return 0;
}

void akaros_build_end(struct akaros_build *b, const struct akaros_periods *periods)
{
	struct profile_info *info = profile_info(b->p);
	uint64_t duration = periods->last - periods->first;

	if (duration < INT64_MAX)
		info->duration_ns = (int64_t)duration;
	if (!periods->is_common)
		return;
	info->period_type = profile_get_type(b->p, 1);
	info->period = periods->middle;
}
