/* SPDX-License-Identifier: MIT */
#include "format/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "format/frame.h"

#define NO_COMM STRTAB_NONE
#define MAX_BYTES ((size_t)4 << 30) /* a long name in a deep stack makes much of little */

/* A frame under its callers, by text: different locations of one name are one node. */
struct node {
	uint32_t name;                      /* string id of the writer */
	uint32_t first_child, next_sibling; /* node id, 0: none */
	int64_t value;                      /* of the stack that ends here */
};

/* What is still to be written: the stack that ends in a node, or those that go on from it. */
struct item {
	uint32_t node;
	bool goes_on;
	size_t path_len; /* bytes of the line before the node's name */
};

struct writer {
	const struct profile *p;
	size_t type;
	uint32_t comm_key;    /* string id in the profile, STRTAB_NONE: no such label */
	struct strtab *names; /* frames as they are written */
	uint32_t *functions;  /* [function_count]: name, STRTAB_NONE: not yet */
	struct rows nodes;    /* struct node; [0] is the root */
	struct map children;  /* (node, name) to node */
	struct map stacks;    /* (comm, the profile's node) to node */
	struct rows pending;  /* uint32_t: the profile's nodes on the way up */
	struct rows items;    /* struct item; the last is written first */
	struct buf text;      /* a name that is being made; then the line so far */
};

static void writer_fini(struct writer *w)
{
	strtab_free(w->names);
	free(w->functions);
	rows_fini(&w->nodes);
	map_fini(&w->children);
	map_fini(&w->stacks);
	rows_fini(&w->pending);
	rows_fini(&w->items);
	buf_fini(&w->text);
}

/*
 * A frame as it can stand in a line: no ';', no control characters, no blanks at its ends, and
 * no number behind a blank, which would be taken for a value when the frame is the last one.
 */
static uint32_t make_name(struct writer *w, struct str from, char blank)
{
	struct folded_number number;
	struct buf *b = &w->text;
	size_t len, start = 0;

	buf_clear(b);
	for (size_t i = 0; i < from.len; i++) {
		char c = from.ptr[i];

		if ((unsigned char)c <= ' ')
			c = blank;
		buf_put_byte(b, (unsigned char)(c == ';' ? ':' : c));
	}
	if (buf_error(b) < 0)
		return STRTAB_NONE;
	for (len = b->len; len && b->data[len - 1] == ' ';)
		len--;
	while (start < len && b->data[start] == ' ')
		start++;
	if (start == len)
		return strtab_intern(w->names, "[unknown]", strlen("[unknown]"));
	len -= start;
	for (size_t cut = len; folded_cut_number(b->data + start, &cut, &number); cut = len)
		b->data[start + cut] = '_';
	return strtab_intern(w->names, b->data + start, len);
}

static uint32_t function_name(struct writer *w, uint32_t id)
{
	uint32_t *name = &w->functions[id];

	if (*name == STRTAB_NONE)
		*name = make_name(w, frame_function_name(w->p, id), ' ');
	return *name;
}

static uint32_t module_name(struct writer *w, uint32_t mapping)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	frame_put_module_name(w->p, mapping, &name);
	if (buf_error(&name) < 0)
		return STRTAB_NONE;
	return make_name(w, (struct str){ name.data, name.len }, ' ');
}

static struct node *get_node(const struct writer *w, uint32_t id)
{
	return (struct node *)w->nodes.data + id;
}

static int push_name(struct writer *w, uint32_t parent, uint32_t name, uint32_t *ret)
{
	uint32_t *child;
	struct node *node;

	if (name == STRTAB_NONE)
		return -ENOMEM;
	child = map_at(&w->children, map_pair(parent, name));
	if (!child)
		return -ENOMEM;
	if (*child == MAP_NONE) {
		node = w->nodes.count < UINT32_MAX ? rows_add(&w->nodes, sizeof *node) : NULL;
		if (!node)
			return -ENOMEM;
		*child = (uint32_t)w->nodes.count - 1;
		node->name = name;
		node->next_sibling = get_node(w, parent)->first_child;
		get_node(w, parent)->first_child = *child;
	}
	*ret = *child;
	return 0;
}

/* A location's frames on top of *node, outermost first. */
static int push_location(struct writer *w, uint32_t location, uint32_t *node)
{
	struct location l = profile_get_location(w->p, location);
	int rc = 0;

	if (!l.line_count)
		return push_name(w, *node, module_name(w, l.mapping), node);
	for (uint32_t i = l.line_count; i-- && rc == 0;) {
		uint32_t function = l.lines[i].function;

		rc = push_name(w, *node,
			       function ? function_name(w, function) : module_name(w, l.mapping),
			       node);
	}
	return rc;
}

/* Up to the first ancestor whose node is known; those on the way become pending. */
static int find_stack(struct writer *w, uint32_t comm, uint32_t stack, uint32_t *ret)
{
	w->pending.count = 0;
	for (;;) {
		uint32_t known = map_get(&w->stacks, map_pair(comm, stack)), *pending;

		if (known != MAP_NONE) {
			*ret = known;
			return 0;
		}
		if (!stack) {
			*ret = 0;
			return comm == NO_COMM ? 0 : push_name(w, 0, comm, ret);
		}
		pending = rows_add(&w->pending, sizeof *pending);
		if (!pending)
			return -ENOMEM;
		*pending = stack;
		stack = profile_get_node(w->p, stack).parent;
	}
}

/* The node where the lines of this stack end. */
static int push_stack(struct writer *w, uint32_t comm, uint32_t stack, uint32_t *ret)
{
	int rc = find_stack(w, comm, stack, ret);

	for (size_t i = w->pending.count; i-- && rc == 0;) {
		uint32_t id = ((const uint32_t *)w->pending.data)[i];

		rc = push_location(w, profile_get_node(w->p, id).location, ret);
		if (rc == 0)
			rc = map_put(&w->stacks, map_pair(comm, id), *ret);
	}
	if (rc == 0 && !stack)
		rc = push_name(w, *ret,
			       strtab_intern(w->names, FORMAT_NO_STACK, strlen(FORMAT_NO_STACK)),
			       ret);
	return rc;
}

/* The first frame of a thread with a name, blanks replaced as stackcollapse-perf.pl does. */
static int find_comm(struct writer *w, uint32_t label_set, uint32_t *ret)
{
	size_t count;
	const struct label *labels = profile_get_labels(w->p, label_set, &count);

	*ret = NO_COMM;
	for (size_t i = 0; i < count; i++) {
		if (labels[i].key != w->comm_key || !labels[i].str)
			continue;
		*ret = make_name(w, profile_get_str(w->p, labels[i].str), '_');
		return *ret == STRTAB_NONE ? -ENOMEM : 0;
	}
	return 0;
}

static int add_sample(struct writer *w, struct sample s, struct err *e)
{
	int64_t value = s.values[w->type];
	uint32_t comm, id;

	if (!value)
		return 0;
	if (find_comm(w, s.labels, &comm) < 0 || push_stack(w, comm, s.node, &id) < 0)
		return err_nomem(e);
	number_add(&get_node(w, id)->value, value);
	return 0;
}

static int writer_init(struct writer *w, struct err *e)
{
	size_t functions = profile_function_count(w->p);

	if (!profile_type_count(w->p))
		return err_set(e, -EINVAL, "there is no sample type");
	w->type = profile_default_type(w->p);
	w->comm_key = profile_find_str(w->p, "comm");
	w->names = strtab_new();
	w->functions = reallocarray(NULL, functions, sizeof *w->functions);
	if (!w->names || !w->functions || !rows_add(&w->nodes, sizeof(struct node)))
		return err_nomem(e);
	memset(w->functions, 0xff, functions * sizeof *w->functions);
	return 0;
}

static struct str item_name(const struct writer *w, const struct item *item)
{
	return strtab_get(w->names, get_node(w, item->node)->name);
}

/* In the order of the lines' bytes, and backwards: the last item is written first. */
static int compare_items(const void *left, const void *right, void *writer)
{
	const struct item *a = left, *b = right;
	struct str x = item_name(writer, a), y = item_name(writer, b);
	size_t shared = x.len < y.len ? x.len : y.len;
	int order = memcmp(x.ptr, y.ptr, shared);
	char x_next, y_next; /* what follows; the end comes before all */

	if (order)
		return -order;
	x_next = x.len > shared ? x.ptr[shared] : a->goes_on ? ';' : '\0';
	y_next = y.len > shared ? y.ptr[shared] : b->goes_on ? ';' : '\0';
	return (unsigned char)y_next - (unsigned char)x_next;
}

static int add_item(struct writer *w, uint32_t node, bool goes_on, size_t path_len)
{
	struct item *item = rows_add(&w->items, sizeof *item);

	if (!item)
		return -ENOMEM;
	*item = (struct item){ node, goes_on, path_len };
	return 0;
}

static int add_children(struct writer *w, uint32_t parent, size_t path_len)
{
	size_t first = w->items.count;
	int rc = 0;

	for (uint32_t child = get_node(w, parent)->first_child; child && rc == 0;) {
		const struct node *node = get_node(w, child);

		if (node->value)
			rc = add_item(w, child, false, path_len);
		if (node->first_child && rc == 0)
			rc = add_item(w, child, true, path_len);
		child = node->next_sibling;
	}
	if (w->items.count > first)
		qsort_r((struct item *)w->items.data + first, w->items.count - first,
			sizeof(struct item), compare_items, w);
	return rc;
}

static void put_line(struct writer *w, int64_t value, struct buf *out)
{
	buf_put(out, w->text.data, w->text.len);
	buf_put_byte(out, ' ');
	buf_put_int(out, value);
	buf_put_byte(out, '\n');
}

static int put_item(struct writer *w, struct item item, struct buf *out, struct err *e)
{
	struct str name = item_name(w, &item);

	w->text.len = item.path_len;
	buf_put(&w->text, name.ptr, name.len);
	if (!item.goes_on)
		put_line(w, get_node(w, item.node)->value, out);
	else
		buf_put_byte(&w->text, ';');
	if (out->len > MAX_BYTES)
		return err_set(e, -EFBIG, "more than %zu GiB of text", MAX_BYTES >> 30);
	if (buf_error(out) < 0 || buf_error(&w->text) < 0)
		return err_nomem(e);
	if (item.goes_on && add_children(w, item.node, w->text.len) < 0)
		return err_nomem(e);
	return 0;
}

int folded_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p };
	int rc = writer_init(&w, e);

	for (size_t i = 0; i < profile_sample_count(p) && rc == 0; i++)
		rc = add_sample(&w, profile_get_sample(p, i), e);
	if (rc < 0)
		return rc;
	if (add_children(&w, 0, 0) < 0)
		return err_nomem(e);
	while (w.items.count && rc == 0)
		rc = put_item(&w, ((struct item *)w.items.data)[--w.items.count], out, e);
	return rc;
}
