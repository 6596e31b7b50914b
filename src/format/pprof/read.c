/* SPDX-License-Identifier: MIT */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rows.h"
#include "format/gzip_reader.h"
#include "format/pprof/fields.h"
#include "format/pprof/journal.h"
#include "format/pprof/proto.h"
#include "format/pprof/tables.h"
#include "format/pprof/times.h"

#define MAX_FIELD_BYTES ((size_t)256 << 20) /* of one sample, string, packed list */

struct raw_type {
	uint64_t at;
	uint64_t fields[VALUE_TYPE_UNIT + 1]; /* string indices */
};

/* What of the profile's fields is neither a table nor a sample. */
struct header {
	struct raw_type types[PROFILE_MAX_TYPES]; /* [type_count] */
	size_t type_count;
	struct raw_type period_type;
	uint64_t numbers[PROFILE_DOC_URL + 1]; /* by field: indices, times, the period */
	struct rows comments;                  /* uint64_t: string indices */
};

/* The stack of the sample before: neighbors mostly share their outer frames. */
struct path {
	uint32_t *locations; /* [depth], root first */
	uint32_t *nodes;     /* [depth] */
	size_t depth, cap;
};

struct reader {
	struct profile *p;
	struct gzip_reader in;
	uint64_t at;      /* of the profile's field that is being read */
	bool is_unpacked; /* false: the failure is of the gzip stream, and has its position */
	struct header header;
	struct pprof_tables tables;

	/* the sample that is being read */
	uint32_t *stack; /* [depth] location ids, leaf first */
	size_t depth, stack_cap;
	int64_t values[PROFILE_MAX_TYPES];
	size_t value_count; /* may be more than there is room for */
	struct rows labels; /* struct label */

	struct path path;

	bool has_times;
	struct rows samples; /* struct pprof_sample_id, of those with has_times */

	struct pprof_journal_ids journal;
	size_t record_count; /* of the journal, up to its end or to what is cut or damaged */
	bool is_journal;     /* the first field is a record */
};

static void reader_fini(struct reader *r)
{
	gzip_reader_close(&r->in);
	pprof_tables_fini(&r->tables);
	rows_fini(&r->header.comments);
	free(r->stack);
	rows_fini(&r->labels);
	free(r->path.locations);
	free(r->path.nodes);
	rows_fini(&r->samples);
	pprof_journal_ids_fini(&r->journal);
}

/* The next field of the profile: 1, or 0 at its end. */
static int next_field(struct reader *r, struct proto_field *ret, struct err *e)
{
	r->at = gzip_reader_position(&r->in);
	for (;;) {
		size_t left = (size_t)(r->in.end - r->in.at);
		struct cursor c = cursor_make(r->in.at, left);
		enum proto_status status = proto_next(&c, ret);
		int rc;

		if (status == PROTO_FIELD) {
			r->in.at = c.at;
			return 1;
		}
		if (status == PROTO_BAD)
			return r->is_journal ? 0 : proto_end(status, "profile", e);
		if (left > MAX_FIELD_BYTES)
			return err_set(e, -EFBIG, "a field of more than %zu MiB",
				       MAX_FIELD_BYTES >> 20);
		rc = gzip_reader_more(&r->in, e);
		if (rc == 0)
			return r->is_journal ? 0 : proto_end(status, "profile", e);
		r->is_unpacked = rc > 0;
		if (rc < 0)
			return rc;
	}
}

static int read_type(const struct reader *r, const struct proto_field *f, struct raw_type *ret,
		     struct err *e)
{
	struct cursor message;
	int rc = proto_take_bytes(f, "profile", &message, e);

	if (rc < 0)
		return rc;
	ret->at = r->at;
	return proto_read_numbers(&message, "value type", ret->fields, ARRAY_LEN(ret->fields), e);
}

static int add_type(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct header *h = &r->header;

	if (h->type_count == PROFILE_MAX_TYPES)
		return err_set(e, -EINVAL, "more than %d sample types", PROFILE_MAX_TYPES);
	return read_type(r, f, &h->types[h->type_count++], e);
}

static int add_comment(struct reader *r, uint64_t index, struct err *e)
{
	uint64_t *row = rows_add(&r->header.comments, sizeof *row);

	if (!row)
		return err_nomem(e);
	*row = index;
	return 0;
}

static int add_comments(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor c = f->bytes;
	int rc = 0;

	if (f->type == PROTO_VARINT)
		return add_comment(r, f->value, e);
	rc = proto_take_bytes(f, "profile", &c, e);
	while (rc == 0 && cursor_left(&c))
		rc = add_comment(r, proto_number(&c), e);
	if (rc == 0 && c.bad)
		return err_set(e, -EINVAL, "comment is cut off");
	return rc;
}

static int set_number(struct reader *r, const struct proto_field *f, struct err *e)
{
	uint64_t *number = &r->header.numbers[f->number];

	if (f->number == PROFILE_TIME_NANOS && *number && !r->is_journal)
		return err_set(
			e, -EINVAL,
			"a second profile begins here; 'auger merge' puts profiles together");
	return proto_take_number(f, "profile", number, e);
}

static int add_string(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor text;
	int rc = proto_take_bytes(f, "profile", &text, e);

	return rc < 0 ? rc : pprof_add_string(&r->tables, r->p, text, e);
}

typedef int add_table_row(struct pprof_tables *t, struct cursor message, uint64_t at,
			  struct err *e);

static int add_row(struct reader *r, const struct proto_field *f, add_table_row *add, struct err *e)
{
	struct cursor message;
	int rc = proto_take_bytes(f, "profile", &message, e);

	return rc < 0 ? rc : add(&r->tables, message, r->at, e);
}

/* First round: everything but the samples, which refer to what comes behind them. */
static int collect_field(struct reader *r, const struct proto_field *f, struct err *e)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return add_type(r, f, e);
	case PROFILE_SAMPLE:
		return 0;
	case PROFILE_MAPPING:
		return add_row(r, f, pprof_add_mapping, e);
	case PROFILE_LOCATION:
		return add_row(r, f, pprof_add_location, e);
	case PROFILE_FUNCTION:
		return add_row(r, f, pprof_add_function, e);
	case PROFILE_STRING_TABLE:
		return add_string(r, f, e);
	case PROFILE_PERIOD_TYPE:
		return read_type(r, f, &r->header.period_type, e);
	case PROFILE_COMMENT:
		return add_comments(r, f, e);
	case PROFILE_TIME_LINE:
		r->has_times = true;
		return 0;
	default:
		return f->number < ARRAY_LEN(r->header.numbers) ? set_number(r, f, e) : 0;
	}
}

/* Nothing behind what is damaged can be trusted. */
static bool is_record(const struct reader *r, const struct proto_field *f, struct cursor *ret_body)
{
	if (f->number == PROFILE_JOURNAL && pprof_journal_open(f, ret_body))
		return true;
	log_msg(LOG_WARN, "load",
		"the journal is damaged at byte %" PRIu64 ": what follows is left out", r->at);
	return false;
}

static int collect_record(struct reader *r, struct cursor body, struct err *e)
{
	enum proto_status status;
	struct proto_field f;

	while ((status = proto_next(&body, &f)) == PROTO_FIELD) {
		int rc = f.number <= PROFILE_DOC_URL ? collect_field(r, &f, e) : 0;

		if (rc < 0)
			return rc;
	}
	r->record_count++;
	return proto_end(status, "journal", e);
}

static int collect_tables(struct reader *r, struct err *e)
{
	struct proto_field f;
	struct cursor body;
	int rc;

	while ((rc = next_field(r, &f, e)) > 0) {
		r->is_journal |= r->at == 0 && f.number == PROFILE_JOURNAL;
		if (r->is_journal && !is_record(r, &f, &body))
			break;
		rc = r->is_journal ? collect_record(r, body, e) : collect_field(r, &f, e);
		if (rc < 0)
			return rc;
	}
	if (rc > 0)
		rc = 0;
	if (rc == 0 && r->at == 0)
		return err_set(e, -EINVAL, "the file is empty");
	if (rc == 0 && r->tables.strings.count == 0)
		return err_set(e, -EINVAL, "no string table");
	return rc;
}

static int find_value_type(const struct reader *r, const struct raw_type *raw,
			   struct value_type *ret, struct err *e)
{
	int rc = pprof_find_string(&r->tables, raw->fields[VALUE_TYPE_TYPE], &ret->type, e);

	if (rc < 0)
		return rc;
	return pprof_find_string(&r->tables, raw->fields[VALUE_TYPE_UNIT], &ret->unit, e);
}

static int put_types(struct reader *r, struct err *e)
{
	for (size_t i = 0; i < r->header.type_count; i++) {
		struct value_type type;
		const char *name, *unit;
		size_t index;
		int rc;

		r->at = r->header.types[i].at;
		rc = find_value_type(r, &r->header.types[i], &type, e);
		if (rc < 0)
			return rc;
		name = profile_text(r->p, type.type);
		unit = profile_text(r->p, type.unit);
		index = profile_add_type(r->p, name, unit);
		rc = profile_check(r->p, e);
		if (rc < 0)
			return rc;
		if (index != i)
			return err_set(e, -EINVAL, "sample type %s/%s is there twice", name, unit);
	}
	return 0;
}

static int put_info(struct reader *r, struct err *e)
{
	struct profile_info *info = profile_info(r->p);
	const uint64_t *numbers = r->header.numbers;
	const struct {
		uint64_t index;
		uint32_t *string;
	} strings[] = {
		{ numbers[PROFILE_DROP_FRAMES], &info->drop_frames },
		{ numbers[PROFILE_KEEP_FRAMES], &info->keep_frames },
		{ numbers[PROFILE_DEFAULT_SAMPLE_TYPE], &info->default_type },
		{ numbers[PROFILE_DOC_URL], &info->doc_url },
	};

	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		int rc = pprof_find_string(&r->tables, strings[i].index, strings[i].string, e);

		if (rc < 0)
			return rc;
	}
	info->time_ns = (int64_t)numbers[PROFILE_TIME_NANOS];
	info->duration_ns = (int64_t)numbers[PROFILE_DURATION_NANOS];
	info->period = (int64_t)numbers[PROFILE_PERIOD];
	return find_value_type(r, &r->header.period_type, &info->period_type, e);
}

static int put_comments(struct reader *r, struct err *e)
{
	const uint64_t *indices = r->header.comments.data;

	for (size_t i = 0; i < r->header.comments.count; i++) {
		uint32_t text;
		int rc = pprof_find_string(&r->tables, indices[i], &text, e);

		if (rc < 0)
			return rc;
		profile_add_comment(r->p, profile_text(r->p, text));
	}
	return profile_check(r->p, e);
}

static int put_tables(struct reader *r, struct err *e)
{
	int rc = put_types(r, e);

	if (rc == 0)
		rc = put_info(r, e);
	if (rc == 0)
		rc = put_comments(r, e);
	if (rc == 0)
		rc = pprof_resolve(&r->tables, r->p, &r->at, e);
	return rc;
}

static int add_location(struct reader *r, uint64_t id, struct err *e)
{
	uint32_t location = pprof_find_location(&r->tables, id);

	if (!location)
		return err_set(e, -EINVAL, "unknown location id %" PRIu64, id);
	r->stack[r->depth++] = location;
	return 0;
}

static int reserve_stack(struct reader *r, size_t more)
{
	size_t need = r->depth + more;
	uint32_t *stack;

	if (need <= r->stack_cap)
		return 0;
	stack = reallocarray(r->stack, need, sizeof *stack);
	if (!stack)
		return -ENOMEM;
	r->stack = stack;
	r->stack_cap = need;
	return 0;
}

static int add_locations(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor c;
	int rc;

	/* a packed number has a byte at least */
	if (reserve_stack(r, f->type == PROTO_BYTES ? cursor_left(&f->bytes) : 1) < 0)
		return err_nomem(e);
	if (f->type == PROTO_VARINT)
		return add_location(r, f->value, e);
	rc = proto_take_bytes(f, "sample", &c, e);
	while (rc == 0 && cursor_left(&c)) {
		uint64_t id = proto_number(&c);

		rc = c.bad ? err_set(e, -EINVAL, "location id is cut off") : add_location(r, id, e);
	}
	return rc;
}

static void add_value(struct reader *r, uint64_t value)
{
	if (r->value_count < ARRAY_LEN(r->values))
		r->values[r->value_count] = (int64_t)value;
	r->value_count++;
}

static int add_values(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor c;
	int rc;

	if (f->type == PROTO_VARINT) {
		add_value(r, f->value);
		return 0;
	}
	rc = proto_take_bytes(f, "sample", &c, e);
	if (rc < 0)
		return rc;
	while (cursor_left(&c))
		add_value(r, proto_number(&c));
	return c.bad ? err_set(e, -EINVAL, "value is cut off") : 0;
}

static int add_label(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct label *label = rows_add(&r->labels, sizeof *label);

	return label ? pprof_find_label(&r->tables, f, label, e) : err_nomem(e);
}

static int reserve_path(struct path *path, size_t depth)
{
	uint32_t *locations, *nodes;

	if (depth <= path->cap)
		return 0;
	locations = reallocarray(path->locations, depth, sizeof *locations);
	if (!locations)
		return -ENOMEM;
	path->locations = locations;
	nodes = reallocarray(path->nodes, depth, sizeof *nodes);
	if (!nodes)
		return -ENOMEM;
	path->nodes = nodes;
	path->cap = depth;
	return 0;
}

/* A sample without a stack gets a frame, so that every view shows what it counts. */
static int complete_stack(struct reader *r)
{
	if (r->depth)
		return 0;
	if (reserve_stack(r, 1) < 0)
		return -ENOMEM;
	r->stack[r->depth++] =
		profile_name_location(r->p, FORMAT_NO_STACK, strlen(FORMAT_NO_STACK));
	return 0;
}

/* The node of the stack; only what differs from the sample before is looked up. */
static uint32_t push_stack(struct reader *r)
{
	struct path *path = &r->path;
	size_t common = 0;
	uint32_t node;

	while (common < r->depth && common < path->depth &&
	       path->locations[common] == r->stack[r->depth - 1 - common])
		common++;
	node = common ? path->nodes[common - 1] : 0;
	for (size_t i = common; i < r->depth; i++) {
		path->locations[i] = r->stack[r->depth - 1 - i];
		node = profile_push(r->p, node, path->locations[i]);
		path->nodes[i] = node;
	}
	path->depth = r->depth;
	return node;
}

/* Adds the sample; its number in the file is known when times refer to it. */
static int keep_sample(struct reader *r, uint32_t node, uint32_t labels, struct err *e)
{
	struct pprof_sample_id *id = NULL;

	if (r->has_times) {
		id = rows_add(&r->samples, sizeof *id);
		if (!id)
			return err_nomem(e);
		*id = (struct pprof_sample_id){ node, labels };
	}
	profile_add(r->p, node, labels, r->values);
	return profile_check(r->p, e);
}

static int put_sample(struct reader *r, struct err *e)
{
	size_t types = profile_type_count(r->p);
	uint32_t labels;

	if (types == 0)
		return err_set(e, -EINVAL, "sample, but no sample type");
	if (r->value_count != types)
		return err_set(e, -EINVAL, "sample with %zu values, but there are %zu sample types",
			       r->value_count, types);
	if (r->depth > FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d frames", FORMAT_MAX_DEPTH);
	if (complete_stack(r) < 0 || reserve_path(&r->path, r->depth) < 0)
		return err_nomem(e);
	labels = profile_add_labels(r->p, r->labels.data, r->labels.count);
	return keep_sample(r, push_stack(r), labels, e);
}

static int add_sample(struct reader *r, const struct proto_field *sample, struct err *e)
{
	enum proto_status status;
	struct cursor message;
	struct proto_field f;
	int rc = proto_take_bytes(sample, "profile", &message, e);

	if (rc < 0)
		return rc;
	r->depth = r->value_count = r->labels.count = 0;
	while ((status = proto_next(&message, &f)) == PROTO_FIELD) {
		if (f.number == SAMPLE_LOCATION_ID)
			rc = add_locations(r, &f, e);
		else if (f.number == SAMPLE_VALUE)
			rc = add_values(r, &f, e);
		else if (f.number == SAMPLE_LABEL)
			rc = add_label(r, &f, e);
		if (rc < 0)
			return rc;
	}
	rc = proto_end(status, "sample", e);
	return rc < 0 ? rc : put_sample(r, e);
}

static int add_record(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor body;

	if (!pprof_journal_open(f, &body))
		return err_set(e, -EINVAL, "journal changed while it was read");
	return pprof_journal_add(&r->journal, r->p, &r->tables, body, e);
}

static int add_times(struct reader *r, const struct proto_field *f, struct err *e)
{
	struct cursor message;
	int rc = proto_take_bytes(f, "profile", &message, e);

	return rc < 0 ? rc : pprof_times_read(r->p, &r->samples, message, e);
}

/* Second round: the samples. */
static int add_samples(struct reader *r, struct err *e)
{
	struct proto_field f;
	size_t left = r->record_count;
	int rc = gzip_reader_rewind(&r->in, e);

	while (rc == 0 && (!r->is_journal || left--) && (rc = next_field(r, &f, e)) > 0) {
		rc = 0;
		if (r->is_journal)
			rc = add_record(r, &f, e);
		else if (f.number == PROFILE_SAMPLE)
			rc = add_sample(r, &f, e);
		else if (f.number == PROFILE_TIME_LINE)
			rc = add_times(r, &f, e);
	}
	return rc;
}

static int read_profile(struct reader *r, const unsigned char *data, size_t len, struct err *e)
{
	int rc = gzip_reader_open(&r->in, data, len, e);

	if (rc == 0)
		rc = collect_tables(r, e);
	if (rc == 0)
		rc = put_tables(r, e);
	if (rc == 0)
		rc = add_samples(r, e);
	return rc;
}

int pprof_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(reader_fini) struct reader r = { .p = p, .is_unpacked = true };
	int rc = read_profile(&r, data, len, e);

	if (rc == 0 || rc == -ENOMEM || !r.is_unpacked)
		return rc;
	return err_wrap(e, "%sbyte %" PRIu64, r.in.is_gzip ? "unpacked " : "", r.at);
}
