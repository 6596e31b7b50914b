/* SPDX-License-Identifier: MIT */
#include "format/pprof/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/gzip_writer.h"
#include "format/pprof/fields.h"
#include "format/pprof/messages.h"
#include "format/pprof/proto.h"
#include "format/pprof/times.h"

/* Ids of the profile to ids of the file, given in order of first use. */
struct numbering {
	uint32_t *to;    /* [cap]: id in the file, 0: not used yet */
	uint32_t *order; /* [count]: ids of the profile */
	uint32_t count;
};

struct writer {
	const struct profile *p;
	struct gzip_writer pack;
	struct buf message;         /* the one that is being made */
	struct buf info;            /* the fields behind the strings, which they use */
	struct buf inner, packed;   /* parts of it */
	struct numbering strings;   /* from 0: string_table[0] is "" */
	struct numbering locations; /* from 1, like all ids but strings */
	struct numbering functions;
	uint32_t *mappings; /* [mapping_count]: id in the file, 0: not used */
};

static int numbering_init(struct numbering *n, size_t cap)
{
	n->to = calloc(cap + 1, sizeof *n->to);
	n->order = malloc((cap + 1) * sizeof *n->order);
	return n->to && n->order ? 0 : -1;
}

static void numbering_fini(struct numbering *n)
{
	free(n->to);
	free(n->order);
}

static uint32_t number_of(struct numbering *n, uint32_t id)
{
	if (!n->to[id]) {
		n->order[n->count++] = id;
		n->to[id] = n->count;
	}
	return n->to[id];
}

static void writer_fini(struct writer *w)
{
	gzip_writer_close(&w->pack);
	buf_fini(&w->message);
	buf_fini(&w->info);
	buf_fini(&w->inner);
	buf_fini(&w->packed);
	numbering_fini(&w->strings);
	numbering_fini(&w->locations);
	numbering_fini(&w->functions);
	free(w->mappings);
}

/* An object that the profile lacks: what samples without a stack are written with. Each kind
 * counts it behind its last id. */
static uint32_t no_stack_location(const struct writer *w)
{
	return (uint32_t)profile_location_count(w->p);
}

static uint32_t no_stack_function(const struct writer *w)
{
	return (uint32_t)profile_function_count(w->p);
}

static uint32_t no_stack_string(const struct writer *w)
{
	uint32_t id = profile_find_str(w->p, FORMAT_NO_STACK);

	return id != STRTAB_NONE ? id : (uint32_t)profile_str_count(w->p);
}

static uint32_t string_index(struct writer *w, uint32_t id)
{
	return number_of(&w->strings, id) - 1;
}

static int writer_init(struct writer *w, struct buf *out, struct err *e)
{
	w->mappings = calloc(profile_mapping_count(w->p), sizeof *w->mappings);
	if (!w->mappings || numbering_init(&w->strings, profile_str_count(w->p)) < 0 ||
	    numbering_init(&w->locations, profile_location_count(w->p)) < 0 ||
	    numbering_init(&w->functions, profile_function_count(w->p)) < 0)
		return err_nomem(e);
	string_index(w, 0);
	return gzip_writer_open(&w->pack, out, e);
}

/* A field of the profile: the message as it stands, which is emptied. */
static void put_message(struct writer *w, uint32_t field)
{
	proto_put_bytes(&w->pack.staged, field, w->message.data, w->message.len);
	w->message.len = 0;
	gzip_writer_flush(&w->pack);
}

static void make_value_type(struct writer *w, struct value_type type)
{
	type.type = string_index(w, type.type);
	type.unit = string_index(w, type.unit);
	pprof_put_type(&w->message, &type);
}

static void put_types(struct writer *w)
{
	for (size_t i = 0; i < profile_type_count(w->p); i++) {
		make_value_type(w, profile_get_type(w->p, i));
		put_message(w, PROFILE_SAMPLE_TYPE);
	}
}

static void put_packed(struct writer *w, uint32_t field)
{
	if (w->packed.len)
		proto_put_bytes(&w->message, field, w->packed.data, w->packed.len);
	w->packed.len = 0;
}

static void put_locations(struct writer *w, uint32_t node)
{
	if (!node)
		buf_put_varint(&w->packed, number_of(&w->locations, no_stack_location(w)));
	while (node) {
		struct stack_node n = profile_get_node(w->p, node);

		buf_put_varint(&w->packed, number_of(&w->locations, n.location));
		node = n.parent;
	}
	put_packed(w, SAMPLE_LOCATION_ID);
}

static void put_labels(struct writer *w, uint32_t set)
{
	size_t count;
	const struct label *labels = profile_get_labels(w->p, set, &count);

	for (size_t i = 0; i < count; i++) {
		struct label l = labels[i];

		l.key = string_index(w, l.key);
		l.str = string_index(w, l.str);
		l.unit = string_index(w, l.unit);
		w->inner.len = 0;
		pprof_put_label(&w->inner, &l);
		proto_put_bytes(&w->message, SAMPLE_LABEL, w->inner.data, w->inner.len);
	}
}

static void put_samples(struct writer *w)
{
	size_t types = profile_type_count(w->p);

	for (size_t i = 0; i < profile_sample_count(w->p); i++) {
		struct sample s = profile_get_sample(w->p, i);

		put_locations(w, s.node);
		for (size_t k = 0; k < types; k++)
			buf_put_varint(&w->packed, (uint64_t)s.values[k]);
		put_packed(w, SAMPLE_VALUE);
		put_labels(w, s.labels);
		put_message(w, PROFILE_SAMPLE);
	}
}

static int put_times(struct writer *w)
{
	int rc = pprof_times_put(w->p, &w->message);

	if (rc == 0 && w->message.len)
		put_message(w, PROFILE_TIME_LINE);
	return rc;
}

/* Mappings keep their order, because the first is taken for the program by go tool pprof. */
static void number_mappings(struct writer *w)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < w->locations.count; i++)
		if (w->locations.order[i] != no_stack_location(w))
			w->mappings[profile_get_location(w->p, w->locations.order[i]).mapping] = 1;
	for (size_t i = 1; i < profile_mapping_count(w->p); i++)
		if (w->mappings[i])
			w->mappings[i] = ++next;
	w->mappings[0] = 0;
}

static void put_mappings(struct writer *w)
{
	number_mappings(w);
	for (uint32_t i = 1; i < profile_mapping_count(w->p); i++) {
		struct mapping m = *profile_get_mapping(w->p, i);

		if (!w->mappings[i])
			continue;
		m.path = string_index(w, m.path);
		m.build_id = string_index(w, m.build_id);
		pprof_put_mapping(&w->message, w->mappings[i], &m);
		put_message(w, PROFILE_MAPPING);
	}
}

static void put_line(struct writer *w, struct line line)
{
	line.function = line.function ? number_of(&w->functions, line.function) : 0;
	w->inner.len = 0;
	pprof_put_line(&w->inner, &line);
	proto_put_bytes(&w->message, LOCATION_LINE, w->inner.data, w->inner.len);
}

static void put_location_table(struct writer *w)
{
	for (uint32_t i = 0; i < w->locations.count; i++) {
		const struct line no_stack = { .function = no_stack_function(w) };
		struct location l = { .lines = &no_stack, .line_count = 1 };

		if (w->locations.order[i] != no_stack_location(w))
			l = profile_get_location(w->p, w->locations.order[i]);
		proto_put_number(&w->message, LOCATION_ID, i + 1);
		proto_put_number(&w->message, LOCATION_MAPPING_ID, w->mappings[l.mapping]);
		proto_put_number(&w->message, LOCATION_ADDRESS, l.address);
		for (uint32_t k = 0; k < l.line_count; k++)
			put_line(w, l.lines[k]);
		proto_put_number(&w->message, LOCATION_IS_FOLDED, l.is_folded);
		put_message(w, PROFILE_LOCATION);
	}
}

static void put_functions(struct writer *w)
{
	for (uint32_t i = 0; i < w->functions.count; i++) {
		struct function fn = { .name = no_stack_string(w),
				       .system_name = no_stack_string(w) };

		if (w->functions.order[i] != no_stack_function(w))
			fn = *profile_get_function(w->p, w->functions.order[i]);
		fn.name = string_index(w, fn.name);
		fn.system_name = string_index(w, fn.system_name);
		fn.file = string_index(w, fn.file);
		pprof_put_function(&w->message, i + 1, &fn);
		put_message(w, PROFILE_FUNCTION);
	}
}

static void make_info(struct writer *w)
{
	const struct profile_info *info = profile_get_info(w->p);
	struct buf *b = &w->info;

	proto_put_number(b, PROFILE_DROP_FRAMES, string_index(w, info->drop_frames));
	proto_put_number(b, PROFILE_KEEP_FRAMES, string_index(w, info->keep_frames));
	proto_put_number(b, PROFILE_TIME_NANOS, (uint64_t)info->time_ns);
	proto_put_number(b, PROFILE_DURATION_NANOS, (uint64_t)info->duration_ns);
	if (info->period_type.type || info->period_type.unit) {
		make_value_type(w, info->period_type);
		proto_put_bytes(b, PROFILE_PERIOD_TYPE, w->message.data, w->message.len);
		w->message.len = 0;
	}
	proto_put_number(b, PROFILE_PERIOD, (uint64_t)info->period);
	for (size_t i = 0; i < profile_comment_count(w->p); i++) {
		uint32_t id = profile_find_str(w->p, profile_get_comment(w->p, i));

		buf_put_varint(&w->packed, string_index(w, id));
	}
	if (w->packed.len)
		proto_put_bytes(b, PROFILE_COMMENT, w->packed.data, w->packed.len);
	proto_put_number(b, PROFILE_DEFAULT_SAMPLE_TYPE, string_index(w, info->default_type));
	proto_put_number(b, PROFILE_DOC_URL, string_index(w, info->doc_url));
}

static void put_strings(struct writer *w)
{
	for (uint32_t i = 0; i < w->strings.count; i++) {
		uint32_t id = w->strings.order[i];
		struct str text = { FORMAT_NO_STACK, strlen(FORMAT_NO_STACK) };

		if (id < profile_str_count(w->p))
			text = profile_get_str(w->p, id);
		utf8_put_clean(&w->message, text.ptr, text.len);
		put_message(w, PROFILE_STRING_TABLE);
	}
}

int pprof_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p };
	int rc = writer_init(&w, out, e);

	if (rc < 0)
		return rc;
	put_types(&w);
	put_samples(&w);
	put_mappings(&w);
	put_location_table(&w);
	put_functions(&w);
	make_info(&w);
	put_strings(&w);
	buf_put(&w.pack.staged, w.info.data, w.info.len);
	if (put_times(&w) < 0)
		return err_nomem(e);
	if (buf_error(&w.message) < 0 || buf_error(&w.info) < 0 || buf_error(&w.inner) < 0 ||
	    buf_error(&w.packed) < 0)
		return err_nomem(e);
	return gzip_writer_end(&w.pack, e);
}
