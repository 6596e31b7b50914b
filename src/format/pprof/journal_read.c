/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "format/format.h"
#include "format/pprof/fields.h"
#include "format/pprof/journal.h"

struct node {
	uint32_t id; /* in the profile */
	uint32_t depth;
};

struct sample_ids {
	uint32_t node, labels; /* in the profile */
};

struct reader {
	struct pprof_journal_ids *ids;
	struct profile *p;
	const struct pprof_tables *tables;
};

bool pprof_journal_open(const struct proto_field *f, struct cursor *ret_body)
{
	struct cursor c;
	uint32_t crc;

	if (f->type != PROTO_BYTES)
		return false;
	c = f->bytes;
	crc = cursor_u32(&c);
	*ret_body = c;
	return !c.bad && crc32_z(0, c.at, cursor_left(&c)) == crc;
}

void pprof_journal_ids_fini(struct pprof_journal_ids *ids)
{
	rows_fini(&ids->nodes);
	rows_fini(&ids->label_sets);
	rows_fini(&ids->samples);
}

/* The root and the empty label set have the first ids. */
static int add_first_rows(struct pprof_journal_ids *ids)
{
	if (!ids->nodes.count && !rows_add(&ids->nodes, sizeof(struct node)))
		return -ENOMEM;
	if (!ids->label_sets.count && !rows_add(&ids->label_sets, sizeof(uint32_t)))
		return -ENOMEM;
	return 0;
}

static int add_node(struct reader *r, uint64_t up, uint64_t location, struct err *e)
{
	struct rows *rows = &r->ids->nodes;
	size_t id = rows->count;
	struct node *node = rows_add(rows, sizeof *node), *parent;
	uint32_t found = pprof_find_location(r->tables, location);

	if (!node)
		return err_nomem(e);
	if (up == 0 || up > id)
		return err_set(e, -EINVAL, "node %zu has no parent", id);
	if (!found)
		return err_set(e, -EINVAL, "unknown location id %" PRIu64, location);
	parent = node - up;
	if (parent->depth == FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d frames", FORMAT_MAX_DEPTH);
	*node = (struct node){ profile_push(r->p, parent->id, found), parent->depth + 1 };
	return profile_check(r->p, e);
}

static int add_nodes(struct reader *r, struct cursor c, struct err *e)
{
	int rc = 0;

	while (rc == 0 && cursor_left(&c)) {
		uint64_t up = proto_number(&c), location = proto_number(&c);

		rc = c.bad ? err_set(e, -EINVAL, "node is cut off") : add_node(r, up, location, e);
	}
	return rc;
}

static int add_label_set(struct reader *r, struct cursor message, struct err *e)
{
	CLEANUP(rows_fini) struct rows labels = { 0 };
	uint32_t *set = rows_add(&r->ids->label_sets, sizeof *set);
	enum proto_status status;
	struct proto_field f;

	if (!set)
		return err_nomem(e);
	while ((status = proto_next(&message, &f)) == PROTO_FIELD) {
		struct label *label = rows_add(&labels, sizeof *label);
		int rc = label ? pprof_find_label(r->tables, &f, label, e) : err_nomem(e);

		if (rc < 0)
			return rc;
	}
	*set = profile_add_labels(r->p, labels.data, labels.count);
	return status == PROTO_END ? profile_check(r->p, e) : proto_end(status, "label set", e);
}

static int add_sample(struct reader *r, uint64_t node, uint64_t labels, struct err *e)
{
	struct sample_ids *row;

	if (node >= r->ids->nodes.count)
		return err_set(e, -EINVAL, "unknown node %" PRIu64, node);
	if (labels >= r->ids->label_sets.count)
		return err_set(e, -EINVAL, "unknown label set %" PRIu64, labels);
	row = rows_add(&r->ids->samples, sizeof *row);
	if (!row)
		return err_nomem(e);
	row->node = ((const struct node *)r->ids->nodes.data)[node].id;
	row->labels = ((const uint32_t *)r->ids->label_sets.data)[labels];
	if (!row->node)
		row->node = profile_push(
			r->p, 0,
			profile_name_location(r->p, FORMAT_NO_STACK, sizeof FORMAT_NO_STACK - 1));
	return profile_check(r->p, e);
}

static int add_samples(struct reader *r, struct cursor c, struct err *e)
{
	int rc = 0;

	while (rc == 0 && cursor_left(&c)) {
		uint64_t node = proto_number(&c), labels = proto_number(&c);

		rc = c.bad ? err_set(e, -EINVAL, "sample is cut off")
			   : add_sample(r, node, labels, e);
	}
	return rc;
}

static int add_values(struct reader *r, struct cursor c, struct err *e)
{
	const struct sample_ids *samples = r->ids->samples.data;
	size_t types = profile_type_count(r->p);
	uint64_t id = 0;

	if (!types)
		return err_set(e, -EINVAL, "values, but no sample type");
	while (cursor_left(&c)) {
		int64_t values[PROFILE_MAX_TYPES];

		if (__builtin_add_overflow(id, proto_number(&c), &id) ||
		    id >= r->ids->samples.count)
			return err_set(e, -EINVAL, "unknown sample %" PRIu64, id);
		for (size_t i = 0; i < types; i++)
			values[i] = (int64_t)proto_number(&c);
		if (c.bad)
			return err_set(e, -EINVAL, "value is cut off");
		profile_add(r->p, samples[id].node, samples[id].labels, values);
	}
	return profile_check(r->p, e);
}

static int add_field(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor bytes = { 0 };
	int rc = f->number > PROFILE_DOC_URL ? proto_take_bytes(f, "journal", &bytes, e) : 0;

	if (rc < 0)
		return rc;
	switch (f->number) {
	case JOURNAL_NODES:
		return add_nodes(r, bytes, e);
	case JOURNAL_LABEL_SET:
		return add_label_set(r, bytes, e);
	case JOURNAL_SAMPLES:
		return add_samples(r, bytes, e);
	case JOURNAL_VALUES:
		return add_values(r, bytes, e);
	default:
		return 0;
	}
}

int pprof_journal_add(struct pprof_journal_ids *ids, struct profile *p,
		      const struct pprof_tables *t, struct cursor body, struct err *e)
{
	struct reader r = { ids, p, t };
	enum proto_status status;
	struct proto_field f;

	if (add_first_rows(ids) < 0)
		return err_nomem(e);
	while ((status = proto_next(&body, &f)) == PROTO_FIELD) {
		int rc = add_field(&r, &f, e);

		if (rc < 0)
			return rc;
	}
	return proto_end(status, "journal", e);
}
