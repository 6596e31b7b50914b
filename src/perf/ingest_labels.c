/* SPDX-License-Identifier: MIT */
/* ingest_labels: the labels of samples: of their thread, and of the data that they address. */
#include <string.h>

#include "perf/ingest_internal.h"
#include "perf/user_stack.h"

static uint32_t make_labels(struct ingest *in, const struct thread *t)
{
	struct profile *p = in->profile;
	struct label labels[INGEST_LABELS_MAX] = {
		{ .key = in->keys.pid, .num = (int32_t)t->pid },
		{ .key = in->keys.tid, .num = (int32_t)t->tid },
		{ .key = in->keys.comm, .str = profile_str(p, t->comm) },
	};
	size_t count = 3;

	if (in->opts.has_cpu_label)
		labels[count++] = (struct label){ .key = in->keys.cpu, .num = t->cpu };
	for (size_t i = 0; i < in->opts.label_count; i++)
		labels[count++] = (struct label){ .key = profile_str(p, in->opts.labels[i].key),
						  .str = profile_str(p, in->opts.labels[i].value) };
	return profile_add_labels(p, labels, count);
}

uint32_t ingest_labels(struct ingest *in, struct thread *t, uint32_t cpu)
{
	if (t->labels && (t->cpu == cpu || !in->opts.has_cpu_label))
		return t->labels;
	t->cpu = cpu;
	t->labels = make_labels(in, t);
	return t->labels;
}

static uint32_t add_data_labels(struct ingest *in, uint32_t labels, uint32_t region,
				uint64_t address)
{
	struct label all[INGEST_LABELS_MAX];
	size_t count;
	const struct label *own = profile_get_labels(in->profile, labels, &count);

	if (count + 2 > ARRAY_LEN(all))
		return labels;
	memcpy(all, own, count * sizeof *own);
	all[count++] = (struct label){ .key = in->keys.data, .str = region };
	if (in->opts.has_address_label)
		all[count++] = (struct label){ .key = in->keys.address,
					       .num = (int64_t)address,
					       .unit = profile_str(in->profile, "address") };
	return profile_add_labels(in->profile, all, count);
}

uint32_t ingest_data_labels(struct ingest *in, const struct record *r, uint32_t labels)
{
	const struct record_sample *s = &r->sample;
	uint64_t sp = user_stack_pointer(in->opts.machine, &s->user);
	uint32_t region = regions_find(in->regions, r->pid, s->addr, sp), *known;

	if (!region)
		region = profile_str(in->profile, "[unknown]");
	if (in->opts.has_address_label)
		return add_data_labels(in, labels, region, s->addr);
	known = map_at(&in->data_labels, map_pair(labels, region));
	if (!known) {
		profile_fail_nomem(in->profile);
		return labels;
	}
	if (*known == MAP_NONE)
		*known = add_data_labels(in, labels, region, s->addr);
	return *known;
}
