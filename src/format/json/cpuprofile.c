/* SPDX-License-Identifier: MIT */
#include "format/json/cpuprofile.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "base/rows.h"
#include "format/json_frames.h"

#define NO_NODE UINT32_MAX

struct call_node {
	uint64_t id;
	uint32_t parent;   /* index, or NO_NODE */
	uint32_t location; /* 0: "(root)" */
	uint32_t stack;    /* node of the profile; valid if is_placed */
	bool is_placed;
	int64_t hits;
};

struct reader {
	struct profile *p;
	struct json nodes, samples, deltas; /* where their arrays begin */
	bool has_nodes, has_samples, has_deltas;
	int64_t start_us, end_us;
	struct rows calls;    /* struct call_node */
	struct map by_id;     /* index in calls */
	struct rows children; /* uint64_t pairs: index of the parent, id of the child */
	struct rows path;     /* uint32_t: of a stack that is placed */
	struct buf scratch;
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->calls);
	map_fini(&r->by_id);
	rows_fini(&r->children);
	rows_fini(&r->path);
	buf_fini(&r->scratch);
}

static struct call_node *call_at(struct reader *r, uint32_t index)
{
	return (struct call_node *)r->calls.data + index;
}

static int64_t read_number(struct json *j)
{
	int64_t value = 0;

	return json_scale(json_number(j), 0, &value) ? value : 0;
}

static int read_children(struct reader *r, struct json *j, uint64_t parent)
{
	struct json_list a = json_array(j);

	while (json_item(j, &a)) {
		uint64_t *pair = rows_add(&r->children, 2 * sizeof *pair);

		if (!pair)
			return -ENOMEM;
		pair[0] = parent;
		pair[1] = (uint64_t)read_number(j);
	}
	return 0;
}

static int read_node(struct reader *r, struct json *j)
{
	uint32_t index = (uint32_t)r->calls.count;
	struct call_node *added = rows_add(&r->calls, sizeof *added);
	struct call_node call = { .parent = NO_NODE };
	struct json_list o = json_object(j);
	struct json_text key;
	int rc = added ? 0 : -ENOMEM;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "id"))
			call.id = (uint64_t)read_number(j);
		else if (json_equals(&key, "hitCount"))
			call.hits = read_number(j);
		else if (json_equals(&key, "callFrame"))
			call.location = json_frames_call(r->p, j, &r->scratch);
		else if (json_equals(&key, "children") && rc == 0)
			rc = read_children(r, j, index);
		else
			json_skip(j);
	}
	if (rc < 0)
		return rc;
	*call_at(r, index) = call;
	return map_put(&r->by_id, call.id, index);
}

static int read_nodes(struct reader *r, struct err *e)
{
	struct json j = r->nodes;
	struct json_list a = json_array(&j);
	const uint64_t *pair;

	while (json_item(&j, &a))
		if (read_node(r, &j) < 0)
			return err_nomem(e);
	pair = r->children.data;
	for (size_t i = 0; i < r->children.count; i++) {
		uint32_t child = map_get(&r->by_id, pair[2 * i + 1]);

		if (child != MAP_NONE)
			call_at(r, child)->parent = (uint32_t)pair[2 * i];
	}
	return 0;
}

/* The stack of a node: its parents are placed first. A circle of parents ends like a root. */
static int place(struct reader *r, uint32_t index, struct err *e)
{
	uint32_t stack = 0;

	r->path.count = 0;
	for (uint32_t i = index; i != NO_NODE && r->path.count <= r->calls.count;
	     i = call_at(r, i)->parent) {
		uint32_t *row;

		if (call_at(r, i)->is_placed) {
			stack = call_at(r, i)->stack;
			break;
		}
		row = rows_add(&r->path, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = i;
	}
	if (r->path.count > r->calls.count || r->path.count > FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "node %ju: calls without a root",
			       (uintmax_t)call_at(r, index)->id);
	for (size_t i = r->path.count; i-- > 0;) {
		struct call_node *call = call_at(r, ((uint32_t *)r->path.data)[i]);

		if (call->location)
			stack = profile_push(r->p, stack, call->location);
		call->stack = stack;
		call->is_placed = true;
	}
	return 0;
}

static int add(struct reader *r, uint32_t index, int64_t count, int64_t ns, struct err *e)
{
	const int64_t values[] = { count, ns };
	int rc = call_at(r, index)->is_placed ? 0 : place(r, index, e);

	if (rc == 0)
		profile_add(r->p, call_at(r, index)->stack, 0, values);
	return rc;
}

/* The time until the next sample: the next delta, or the end. */
static int64_t next_delta(struct json *j, struct json_list *deltas, int64_t *now_us, int64_t end_us)
{
	int64_t us = end_us > *now_us ? end_us - *now_us : 0;

	if (deltas->close && json_item(j, deltas))
		us = read_number(j);
	if (us < 0)
		us = 0;
	number_add(now_us, us);
	return us;
}

static int read_samples(struct reader *r, struct err *e)
{
	struct json samples = r->samples, deltas = r->deltas;
	struct json_list ids = json_array(&samples), list = { 0 };
	int64_t now_us = r->start_us;
	int rc = 0;

	if (r->has_deltas) {
		list = json_array(&deltas);
		if (json_item(&deltas, &list))
			number_add(&now_us, read_number(&deltas));
	}
	while (rc == 0 && json_item(&samples, &ids)) {
		uint32_t index = map_get(&r->by_id, (uint64_t)read_number(&samples));
		int64_t ns, us = next_delta(&deltas, &list, &now_us, r->end_us);

		if (__builtin_mul_overflow(us, 1000, &ns))
			ns = INT64_MAX;
		if (index != MAP_NONE)
			rc = add(r, index, 1, ns, e);
	}
	return rc;
}

static int read_hits(struct reader *r, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->calls.count && rc == 0; i++)
		if (call_at(r, i)->hits > 0)
			rc = add(r, i, call_at(r, i)->hits, 0, e);
	return rc;
}

/* Positions of the arrays, which may come in any order. */
static void find_parts(struct reader *r, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "nodes")) {
			json_peek(j);
			r->nodes = *j;
			r->has_nodes = true;
		} else if (json_equals(&key, "samples")) {
			r->samples = *j;
			r->has_samples = true;
		} else if (json_equals(&key, "timeDeltas")) {
			r->deltas = *j;
			r->has_deltas = true;
		} else if (json_equals(&key, "startTime")) {
			r->start_us = read_number(j);
			continue;
		} else if (json_equals(&key, "endTime")) {
			r->end_us = read_number(j);
			continue;
		}
		json_skip(j);
	}
}

static int cpuprofile_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(reader_fini) struct reader r = { .p = p };
	struct json j;
	int rc = json_frames_begin(data, len, &copy, &j, e);

	if (rc < 0)
		return rc;
	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	rc = profile_check(p, e);
	if (rc < 0)
		return rc;
	find_parts(&r, &j);
	if (!json_end(&j))
		return json_frames_error(&j, e);
	if (!r.has_nodes)
		return err_set(e, -EINVAL, "there are no nodes");
	rc = read_nodes(&r, e);
	if (rc == 0)
		rc = r.has_samples ? read_samples(&r, e) : read_hits(&r, e);
	if (rc < 0)
		return rc;
	if (r.end_us > r.start_us &&
	    __builtin_mul_overflow(r.end_us - r.start_us, 1000, &profile_info(p)->duration_ns))
		profile_info(p)->duration_ns = 0;
	return profile_check(p, e);
}

static bool cpuprofile_detect(const unsigned char *data, size_t len)
{
	return json_frames_is_object(data, len) && json_frames_has(data, len, "\"nodes\"") &&
	       json_frames_has(data, len, "\"callFrame\"") &&
	       !json_frames_has(data, len, "\"head\"");
}

static const char *const suffixes[] = { ".cpuprofile", NULL };

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.summary = "CPU profiles of V8: node --cpu-prof, Chrome",
	.mark = "\"nodes\" with \"callFrame\"",
	.lost = "times of samples, positions in lines",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = cpuprofile_detect,
	.read = cpuprofile_read,
};
