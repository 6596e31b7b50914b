/* SPDX-License-Identifier: MIT */
#include "format/json/heapprofile.h"

#include <errno.h>

#include "base/rows.h"
#include "format/json_frames.h"

/* A node whose object is being read. */
struct open_node {
	struct json_list members, children;
	uint32_t parent, node; /* of the profile */
	int64_t bytes;
	bool has_children; /* that are being read */
};

struct reader {
	struct profile *p;
	struct rows open; /* struct open_node */
	struct buf scratch;
	bool has_head;
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->open);
	buf_fini(&r->scratch);
}

static struct open_node *top_of(struct reader *r)
{
	return (struct open_node *)r->open.data + r->open.count - 1;
}

static int open_node(struct reader *r, struct json *j, uint32_t parent, struct err *e)
{
	struct open_node *node;

	if (r->open.count == FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d frames", FORMAT_MAX_DEPTH);
	node = rows_add(&r->open, sizeof *node);
	if (!node)
		return err_nomem(e);
	*node = (struct open_node){ .members = json_object(j), .parent = parent, .node = parent };
	return 0;
}

static void close_node(struct reader *r)
{
	const struct open_node *node = top_of(r);

	if (node->bytes)
		profile_add(r->p, node->node, 0, &node->bytes);
	r->open.count--;
}

/* One member of the innermost node, or its end. */
static void read_member(struct reader *r, struct json *j)
{
	struct open_node *node = top_of(r);
	struct json_text key;

	if (!json_member(j, &node->members, &key)) {
		close_node(r);
	} else if (json_equals(&key, "callFrame") && json_peek(j) == '{') {
		uint32_t location = json_frames_call(r->p, j, &r->scratch);

		node->node = location ? profile_push(r->p, node->parent, location) : node->parent;
	} else if (json_equals(&key, "selfSize")) {
		if (!json_scale(json_number(j), 0, &node->bytes))
			node->bytes = 0;
	} else if (json_equals(&key, "children") && json_peek(j) == '[') {
		node->children = json_array(j);
		node->has_children = true;
	} else {
		json_skip(j);
	}
}

static int read_tree(struct reader *r, struct json *j, struct err *e)
{
	int rc = open_node(r, j, 0, e);

	r->has_head = true;
	while (rc == 0 && r->open.count && !j->wrong) {
		struct open_node *node = top_of(r);

		if (!node->has_children) {
			read_member(r, j);
			rc = profile_check(r->p, e);
		} else if (json_item(j, &node->children)) {
			rc = open_node(r, j, node->node, e);
		} else {
			node->has_children = false;
		}
	}
	return rc;
}

static int heapprofile_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(reader_fini) struct reader r = { .p = p };
	struct json_list o;
	struct json_text key;
	struct json j;
	int rc = json_frames_begin(data, len, &copy, &j, e);

	if (rc < 0)
		return rc;
	profile_add_type(p, "space", "bytes");
	rc = profile_check(p, e);
	o = json_object(&j);
	while (rc == 0 && json_member(&j, &o, &key)) {
		if (json_equals(&key, "head") && json_peek(&j) == '{')
			rc = read_tree(&r, &j, e);
		else
			json_skip(&j);
	}
	if (rc < 0)
		return rc;
	if (!json_end(&j))
		return json_frames_error(&j, e);
	if (!r.has_head)
		return err_set(e, -EINVAL, "there is no head");
	return profile_check(p, e);
}

static bool heapprofile_detect(const unsigned char *data, size_t len)
{
	return json_frames_is_object(data, len) && json_frames_has(data, len, "\"head\"") &&
	       json_frames_has(data, len, "\"callFrame\"") &&
	       json_frames_has(data, len, "\"selfSize\"");
}

static const char *const suffixes[] = { ".heapprofile", NULL };

const struct format format_heapprofile = {
	.name = "heapprofile",
	.summary = "heap profiles of V8: node --heap-prof, Chrome",
	.mark = "\"head\" with \"callFrame\" and \"selfSize\"",
	.lost = "ages of samples",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = heapprofile_detect,
	.read = heapprofile_read,
};
