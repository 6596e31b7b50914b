/* SPDX-License-Identifier: MIT */
#include "format/pprof/times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "format/pprof/proto.h"

struct track {
	uint64_t type;
	struct cursor buckets, samples, values;
};

static int read_track(struct cursor message, struct track *ret, struct err *e)
{
	struct cursor *const lists[] = { [TRACK_BUCKETS] = &ret->buckets,
					 [TRACK_SAMPLES] = &ret->samples,
					 [TRACK_VALUES] = &ret->values };
	enum proto_status status;
	struct proto_field f;

	while ((status = proto_next(&message, &f)) == PROTO_FIELD) {
		int rc = 0;

		if (f.number == TRACK_TYPE)
			rc = proto_take_number(&f, "track", &ret->type, e);
		else if (f.number < ARRAY_LEN(lists) && lists[f.number])
			rc = proto_take_bytes(&f, "track", lists[f.number], e);
		if (rc < 0)
			return rc;
	}
	return proto_end(status, "track", e);
}

static int add_entry(struct sample_times *t, const struct timed_value *v, struct err *e)
{
	struct timed_value *row;

	if (t->entries.count == SAMPLE_TIMES_MAX_ENTRIES)
		return err_set(e, -EINVAL, "time line of more than %zu entries",
			       SAMPLE_TIMES_MAX_ENTRIES);
	row = rows_add(&t->entries, sizeof *row);
	if (!row)
		return err_nomem(e);
	*row = *v;
	return 0;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t coded)
{
	return coded >> 1 ^ (0 - (coded & 1));
}

static int add_track(struct profile *p, const struct rows *samples, struct cursor message,
		     struct err *e)
{
	const struct pprof_sample_id *ids = samples->data;
	struct track t = { 0 };
	uint64_t bucket = 0, value = 0;
	int rc = read_track(message, &t, e);

	if (rc == 0 && t.type >= profile_type_count(p))
		return err_set(e, -EINVAL, "time line of sample type %" PRIu64 ", which is unknown",
			       t.type);
	while (rc == 0 && cursor_left(&t.buckets)) {
		uint64_t step = proto_number(&t.buckets), sample = proto_number(&t.samples);
		struct timed_value v = { .type = (uint16_t)t.type };

		value += unzigzag(proto_number(&t.values));
		if (t.buckets.bad || t.samples.bad || t.values.bad)
			return err_set(e, -EINVAL, "track is cut off");
		if (sample >= samples->count)
			return err_set(e, -EINVAL, "time line of sample %" PRIu64 " of %zu", sample,
				       samples->count);
		if (step > UINT32_MAX - bucket)
			return err_set(e, -EINVAL, "time line with a bucket out of range");
		bucket += step;
		v.bucket = (uint32_t)bucket;
		v.node = ids[sample].node;
		v.labels = ids[sample].labels;
		v.value = (int64_t)value;
		rc = add_entry(profile_times(p), &v, e);
	}
	return rc;
}

int pprof_times_read(struct profile *p, const struct rows *samples, struct cursor message,
		     struct err *e)
{
	uint64_t numbers[TIMES_IS_THINNED + 1] = { 0 };
	struct sample_times *t = profile_times(p);
	struct cursor again = message;
	struct proto_field f;
	int rc = proto_read_numbers(&message, "time line", numbers, ARRAY_LEN(numbers), e);

	if (rc < 0)
		return rc;
	if (t->bucket_ns)
		return err_set(e, -EINVAL, "a second time line");
	if (!numbers[TIMES_BUCKET_NS] || numbers[TIMES_BUCKET_NS] > INT64_MAX)
		return err_set(e, -EINVAL, "time line with buckets of %" PRIu64 " ns",
			       numbers[TIMES_BUCKET_NS]);
	t->bucket_ns = numbers[TIMES_BUCKET_NS];
	t->is_thinned = numbers[TIMES_IS_THINNED] != 0;
	while (rc == 0 && proto_next(&again, &f) == PROTO_FIELD) {
		struct cursor track;

		if (f.number != TIMES_TRACK)
			continue;
		rc = proto_take_bytes(&f, "time line", &track, e);
		if (rc == 0)
			rc = add_track(p, samples, track, e);
	}
	if (rc == 0)
		sample_times_settle(t);
	return rc;
}

/* An entry in the order of the file. */
struct row {
	uint32_t track; /* the first sample of the profile with the same labels */
	uint32_t sample;
	uint32_t bucket;
	uint16_t type;
	int64_t value;
};

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = compare_u32(a->track, b->track);

	if (!order)
		order = compare_u32(a->type, b->type);
	if (!order)
		order = compare_u32(a->bucket, b->bucket);
	return order ? order : compare_u32(a->sample, b->sample);
}

/* Of each label set: the first sample that has it; MAP_NONE: none. */
static uint32_t *find_first_samples(const struct profile *p)
{
	size_t count = profile_label_set_count(p);
	uint32_t *first = reallocarray(NULL, count, sizeof *first);

	for (size_t i = 0; first && i < count; i++)
		first[i] = MAP_NONE;
	for (size_t i = profile_sample_count(p); first && i-- > 0;)
		first[profile_get_sample(p, i).labels] = (uint32_t)i;
	return first;
}

/* Entries without a sample are left out. */
static struct row *sort_rows(const struct profile *p, size_t *ret_count)
{
	const struct sample_times *t = profile_get_times(p);
	struct row *rows = reallocarray(NULL, t->entries.count, sizeof *rows);
	uint32_t *first = find_first_samples(p);

	*ret_count = 0;
	for (size_t i = 0; rows && first && i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		uint32_t sample = profile_find_sample(p, v->node, v->labels);

		if (sample != MAP_NONE)
			rows[(*ret_count)++] = (struct row){ first[v->labels], sample, v->bucket,
							     v->type, v->value };
	}
	if (!first) {
		free(rows);
		rows = NULL;
	}
	free(first);
	if (rows)
		qsort(rows, *ret_count, sizeof *rows, compare_rows);
	return rows;
}

struct lists {
	struct buf buckets, samples, values, track;
};

static void lists_fini(struct lists *l)
{
	buf_fini(&l->buckets);
	buf_fini(&l->samples);
	buf_fini(&l->values);
	buf_fini(&l->track);
}

/* rows: [0..count) of one track. */
static void put_track(struct lists *l, const struct row *rows, size_t count, struct buf *out)
{
	uint32_t bucket = 0;
	uint64_t value = 0;

	l->buckets.len = l->samples.len = l->values.len = l->track.len = 0;
	for (size_t i = 0; i < count; i++) {
		buf_put_varint(&l->buckets, rows[i].bucket - bucket);
		buf_put_varint(&l->samples, rows[i].sample);
		buf_put_varint(&l->values, zigzag((uint64_t)rows[i].value - value));
		bucket = rows[i].bucket;
		value = (uint64_t)rows[i].value;
	}
	proto_put_number(&l->track, TRACK_TYPE, rows[0].type);
	proto_put_bytes(&l->track, TRACK_BUCKETS, l->buckets.data, l->buckets.len);
	proto_put_bytes(&l->track, TRACK_SAMPLES, l->samples.data, l->samples.len);
	proto_put_bytes(&l->track, TRACK_VALUES, l->values.data, l->values.len);
	out->bad |= l->buckets.bad || l->samples.bad || l->values.bad || l->track.bad;
	proto_put_bytes(out, TIMES_TRACK, l->track.data, l->track.len);
}

int pprof_times_put(const struct profile *p, struct buf *out)
{
	CLEANUP(lists_fini) struct lists lists = { 0 };
	const struct sample_times *t = profile_get_times(p);
	struct row *rows;
	size_t count, end;

	if (!t->entries.count)
		return 0;
	rows = sort_rows(p, &count);
	if (!rows)
		return -ENOMEM;
	if (count) {
		proto_put_number(out, TIMES_BUCKET_NS, t->bucket_ns);
		proto_put_number(out, TIMES_IS_THINNED, t->is_thinned);
	}
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && rows[end].track == rows[i].track &&
				  rows[end].type == rows[i].type;)
			end++;
		put_track(&lists, rows + i, end - i, out);
	}
	free(rows);
	return buf_error(out);
}
