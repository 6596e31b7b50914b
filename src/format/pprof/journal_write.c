/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "format/pprof/fields.h"
#include "format/pprof/journal.h"
#include "format/pprof/messages.h"

#define RECORD_BYTES ((size_t)1 << 20) /* a record ends with the row that reaches it */

struct writer {
	struct pprof_journal *j;
	const struct profile *p;
	struct buf *out;
	struct buf body;         /* of the record that is being made */
	struct buf field, inner; /* the field of it that is being made, and a part of that */
};

static void writer_fini(struct writer *w)
{
	buf_fini(&w->body);
	buf_fini(&w->field);
	buf_fini(&w->inner);
}

static void end_record(struct writer *w)
{
	CLEANUP(buf_fini) struct buf record = { 0 };

	if (!w->body.len)
		return;
	buf_put_u32(&record, (uint32_t)crc32_z(0, (const Bytef *)w->body.data, w->body.len));
	buf_put(&record, w->body.data, w->body.len);
	if (buf_error(&record) < 0)
		w->body.bad = true;
	proto_put_bytes(w->out, PROFILE_JOURNAL, record.data, record.len);
	w->body.len = 0;
}

/* The field as it stands, which is emptied. */
static void end_field(struct writer *w, uint32_t number)
{
	proto_put_bytes(&w->body, number, w->field.data, w->field.len);
	w->field.len = 0;
	if (w->body.len >= RECORD_BYTES)
		end_record(w);
}

/* The end of a row of a packed field. */
static void end_packed_row(struct writer *w, uint32_t number)
{
	if (w->field.len >= RECORD_BYTES)
		end_field(w, number);
}

static void end_packed(struct writer *w, uint32_t number)
{
	if (w->field.len)
		end_field(w, number);
}

static void put_strings(struct writer *w)
{
	for (; w->j->strings < profile_str_count(w->p); w->j->strings++) {
		struct str text = profile_get_str(w->p, (uint32_t)w->j->strings);

		buf_put(&w->field, text.ptr, text.len);
		end_field(w, PROFILE_STRING_TABLE);
	}
}

static void put_types(struct writer *w)
{
	for (; w->j->types < profile_type_count(w->p); w->j->types++) {
		struct value_type type = profile_get_type(w->p, w->j->types);

		pprof_put_type(&w->field, &type);
		end_field(w, PROFILE_SAMPLE_TYPE);
	}
}

static void put_head(struct writer *w)
{
	const struct profile_info *info = profile_get_info(w->p), *old = &w->j->info;
	struct buf *b = &w->body;

	if (info->time_ns != old->time_ns)
		proto_put_number(b, PROFILE_TIME_NANOS, (uint64_t)info->time_ns);
	if (info->duration_ns != old->duration_ns)
		proto_put_number(b, PROFILE_DURATION_NANOS, (uint64_t)info->duration_ns);
	if (info->period != old->period)
		proto_put_number(b, PROFILE_PERIOD, (uint64_t)info->period);
	if (info->default_type != old->default_type)
		proto_put_number(b, PROFILE_DEFAULT_SAMPLE_TYPE, info->default_type);
	if (memcmp(&info->period_type, &old->period_type, sizeof info->period_type) != 0) {
		pprof_put_type(&w->field, &info->period_type);
		end_field(w, PROFILE_PERIOD_TYPE);
	}
	w->j->info = *info;
	for (; w->j->comments < profile_comment_count(w->p); w->j->comments++)
		buf_put_varint(&w->field,
			       profile_find_str(w->p, profile_get_comment(w->p, w->j->comments)));
	end_packed(w, PROFILE_COMMENT);
}

static void put_mappings(struct writer *w)
{
	while (w->j->mappings + 1 < profile_mapping_count(w->p)) {
		uint32_t id = (uint32_t)++w->j->mappings;

		pprof_put_mapping(&w->field, id, profile_get_mapping(w->p, id));
		end_field(w, PROFILE_MAPPING);
	}
}

static void put_functions(struct writer *w)
{
	while (w->j->functions + 1 < profile_function_count(w->p)) {
		uint32_t id = (uint32_t)++w->j->functions;

		pprof_put_function(&w->field, id, profile_get_function(w->p, id));
		end_field(w, PROFILE_FUNCTION);
	}
}

static void put_locations(struct writer *w)
{
	while (w->j->locations + 1 < profile_location_count(w->p)) {
		uint32_t id = (uint32_t)++w->j->locations;
		struct location l = profile_get_location(w->p, id);

		proto_put_number(&w->field, LOCATION_ID, id);
		proto_put_number(&w->field, LOCATION_MAPPING_ID, l.mapping);
		proto_put_number(&w->field, LOCATION_ADDRESS, l.address);
		for (uint32_t i = 0; i < l.line_count; i++) {
			w->inner.len = 0;
			pprof_put_line(&w->inner, &l.lines[i]);
			proto_put_bytes(&w->field, LOCATION_LINE, w->inner.data, w->inner.len);
		}
		proto_put_number(&w->field, LOCATION_IS_FOLDED, l.is_folded);
		end_field(w, PROFILE_LOCATION);
	}
}

static void put_nodes(struct writer *w)
{
	while (w->j->nodes + 1 < profile_node_count(w->p)) {
		uint32_t id = (uint32_t)++w->j->nodes;
		struct stack_node node = profile_get_node(w->p, id);

		buf_put_varint(&w->field, id - node.parent);
		buf_put_varint(&w->field, node.location);
		end_packed_row(w, JOURNAL_NODES);
	}
	end_packed(w, JOURNAL_NODES);
}

static void put_label_sets(struct writer *w)
{
	while (w->j->label_sets + 1 < profile_label_set_count(w->p)) {
		size_t count;
		const struct label *labels =
			profile_get_labels(w->p, (uint32_t)++w->j->label_sets, &count);

		for (size_t i = 0; i < count; i++) {
			w->inner.len = 0;
			pprof_put_label(&w->inner, &labels[i]);
			proto_put_bytes(&w->field, SAMPLE_LABEL, w->inner.data, w->inner.len);
		}
		end_field(w, JOURNAL_LABEL_SET);
	}
}

static int put_samples(struct writer *w)
{
	size_t types = w->j->types, old = w->j->samples, count = profile_sample_count(w->p);

	if (count > old) {
		int64_t *values = reallocarray(w->j->values, count, types * sizeof *values);

		if (!values)
			return -ENOMEM;
		memset(values + old * types, 0, (count - old) * types * sizeof *values);
		w->j->values = values;
	}
	for (; w->j->samples < count; w->j->samples++) {
		struct sample s = profile_get_sample(w->p, w->j->samples);

		buf_put_varint(&w->field, s.node);
		buf_put_varint(&w->field, s.labels);
		end_packed_row(w, JOURNAL_SAMPLES);
	}
	end_packed(w, JOURNAL_SAMPLES);
	return 0;
}

static void put_values(struct writer *w)
{
	size_t types = w->j->types, before = 0;

	for (size_t i = 0; i < w->j->samples; i++) {
		int64_t *old = w->j->values + i * types;
		const int64_t *values = profile_get_sample(w->p, i).values;

		if (memcmp(old, values, types * sizeof *old) == 0)
			continue;
		buf_put_varint(&w->field, i - before);
		for (size_t k = 0; k < types; k++)
			buf_put_varint(&w->field, (uint64_t)values[k] - (uint64_t)old[k]);
		memcpy(old, values, types * sizeof *old);
		before = i;
		if (w->field.len >= RECORD_BYTES) {
			end_field(w, JOURNAL_VALUES);
			before = 0;
		}
	}
	end_packed(w, JOURNAL_VALUES);
}

int pprof_journal_put(struct pprof_journal *j, const struct profile *p, struct buf *out,
		      struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .j = j, .p = p, .out = out };

	put_strings(&w);
	put_types(&w);
	put_head(&w);
	put_mappings(&w);
	put_functions(&w);
	put_locations(&w);
	put_nodes(&w);
	put_label_sets(&w);
	if (put_samples(&w) < 0)
		return err_nomem(e);
	put_values(&w);
	end_record(&w);
	if (buf_error(&w.body) < 0 || buf_error(&w.field) < 0 || buf_error(&w.inner) < 0 ||
	    buf_error(out) < 0)
		return err_nomem(e);
	return 0;
}

void pprof_journal_fini(struct pprof_journal *j)
{
	free(j->values);
	*j = (struct pprof_journal){ 0 };
}
