/* SPDX-License-Identifier: MIT */
#include "format/collapse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/str.h"
#include "format/frame.h"
#include "perf/eventname.h"

/* Where the frames of a location stand in names; 0: they are not made yet. */
struct frames {
	uint32_t first, count;
};

struct collapse {
	const struct profile *from;
	struct profile *to;
	const struct collapse_opts *o;
	struct rows names;        /* uint32_t: locations of `to`, outermost first; [0] is unused */
	struct frames *frames[2]; /* [location_count]: of other threads, of Java's; owned */
	uint32_t *nodes[2];       /* [node_count]: of `to`, MAP_NONE: not made yet; owned */
	struct rows pending;      /* uint32_t: nodes of `from` on the way up */
	uint32_t comm, pid, tid;  /* string ids of `from`, STRTAB_NONE: none has that label */
	struct buf text;
};

static void collapse_fini(struct collapse *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->frames); i++) {
		free(c->frames[i]);
		free(c->nodes[i]);
	}
	rows_fini(&c->names);
	rows_fini(&c->pending);
	buf_fini(&c->text);
	profile_free(c->to);
}

static bool is_kernel(const char *path)
{
	static const char *const others[] = { "[vdso]", "[vsyscall]", "[heap]",    "[stack",
					      "[anon",  "[uprobes]",  "[unknown]", "[jit]" };
	const char *base = path_base(path), *module = strstr(base, ".ko");

	if (*path != '[')
		return text_starts_with(base, "vmlinux") ||
		       (module && (!module[3] || module[3] == '.'));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (text_starts_with(path, others[i]))
			return false;
	return true;
}

static bool is_jit(const char *path)
{
	return path_is_perf_map(path) || path_is_jitdump(path) ||
	       text_starts_with(path_base(path), "jitted-");
}

/* The length without words that stand behind a list of arguments. */
static size_t drop_qualifiers(const char *name, size_t len)
{
	static const char *const words[] = { " const", " volatile", " &", " &&", " noexcept" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_ends_with((struct str){ name, len }, words[i]))
			return drop_qualifiers(name, len - strlen(words[i]));
	if (len && name[len - 1] == ']') {
		const char *clone = memmem(name, len, " [clone ", 8);

		if (clone && clone > name)
			return drop_qualifiers(name, (size_t)(clone - name));
	}
	return len;
}

/* Where the list of arguments at the end begins; len: there is none. */
static size_t find_arguments(const char *name, size_t len)
{
	size_t end = drop_qualifiers(name, len), depth = 0;

	if (!end || name[end - 1] != ')')
		return len;
	for (size_t i = end; i-- > 1;) {
		depth += name[i] == ')';
		if (name[i] != '(' || --depth)
			continue;
		if (str_ends_with((struct str){ name, i }, "operator") ||
		    text_starts_with(name + i, "(anonymous namespace)"))
			return len;
		return i;
	}
	return len;
}

/* Where the name itself begins: what a function made of a template returns stands before it. */
static size_t find_name(const char *name, size_t len)
{
	size_t depth = 0;

	if (!len || name[len - 1] != '>' || memmem(name, len, "operator", 8))
		return 0;
	for (size_t i = len; i-- > 0;) {
		depth += name[i] == '>' || name[i] == ')';
		if ((name[i] == '<' || name[i] == '(') && depth)
			depth--;
		if (name[i] == ' ' && !depth)
			return i + 1;
	}
	return 0;
}

/* "net/http.(*Client).Do" */
static bool is_go_method(const char *name, size_t len)
{
	const char *open = memmem(name, len, ".(", 2);

	return open && memmem(open, len - (size_t)(open - name), ").", 2);
}

/* The part of a name that is shown. */
static struct str cut_name(const char *name, size_t len, bool is_java)
{
	const char *open = memchr(name, '(', len);
	size_t whole = len, start;

	if (is_java && len > 1 && *name == 'L' && memchr(name, '/', len)) {
		/* what a method returns stands behind its arguments */
		len = open ? (size_t)(open - name) : len;
		return (struct str){ name + 1, len - 1 };
	}
	if (!is_go_method(name, len))
		len = find_arguments(name, len);
	start = len < whole ? find_name(name, len) : 0;
	return (struct str){ name + start, len - start };
}

void collapse_put_name(const char *name, size_t len, bool is_java, struct buf *out)
{
	struct str shown = cut_name(name, len, is_java);

	for (size_t i = 0; i < shown.len; i++)
		if (shown.ptr[i] != '"' && shown.ptr[i] != '\'')
			buf_put_byte(out, (unsigned char)shown.ptr[i]);
}

/* The name of a frame with its mark. */
static void put_frame(struct collapse *c, const struct location *l, uint32_t line, bool is_java)
{
	const struct profile *p = c->from;
	const char *path = profile_text(p, profile_get_mapping(p, l->mapping)->path);
	struct buf whole = { 0 };

	buf_clear(&c->text);
	frame_put_name(p, l, line, &whole);
	if (buf_error(&whole) < 0)
		profile_fail_nomem(c->to);
	else if (c->o->has_addresses && l->address && !frame_has_name(p, l, line))
		buf_printf(&c->text, "%.*s <%" PRIx64 ">]", (int)(whole.len - 1), whole.data,
			   l->address);
	else if (whole.len && *whole.data == '[')
		buf_put(&c->text, whole.data, whole.len);
	else
		collapse_put_name(whole.data, whole.len, is_java, &c->text);
	buf_fini(&whole);
	if (line + 1 < l->line_count) {
		if (c->o->marks_inlined)
			buf_put_str(&c->text, "_[i]");
	} else if (is_kernel(path)) {
		if (c->o->marks_kernel)
			buf_put_str(&c->text, "_[k]");
	} else if (is_jit(path) && c->o->marks_jit) {
		buf_put_str(&c->text, "_[j]");
	}
}

static struct frames make_frames(struct collapse *c, uint32_t location, bool is_java)
{
	struct location l = profile_get_location(c->from, location);
	struct frames frames = { .first = (uint32_t)c->names.count };

	for (uint32_t i = l.line_count ? l.line_count : 1; i-- > 0;) {
		uint32_t *name = rows_add(&c->names, sizeof *name);

		put_frame(c, &l, i, is_java);
		if (!name || buf_error(&c->text) < 0) {
			profile_fail_nomem(c->to);
			return frames;
		}
		*name = profile_name_location(c->to, c->text.data ? c->text.data : "", c->text.len);
		frames.count++;
	}
	return frames;
}

/* The frames of a location on top of node. */
static uint32_t push(struct collapse *c, uint32_t node, uint32_t location, bool is_java)
{
	struct frames *frames = &c->frames[is_java][location];

	if (!frames->count)
		*frames = make_frames(c, location, is_java);
	for (uint32_t i = 0; i < frames->count; i++)
		node = profile_push(c->to, node,
				    ((const uint32_t *)c->names.data)[frames->first + i]);
	return node;
}

static uint32_t map_node(struct collapse *c, uint32_t node, bool is_java)
{
	uint32_t *nodes = c->nodes[is_java], above = 0;

	for (c->pending.count = 0; node && nodes[node] == MAP_NONE;) {
		uint32_t *pending = rows_add(&c->pending, sizeof *pending);

		if (!pending) {
			profile_fail_nomem(c->to);
			return 0;
		}
		*pending = node;
		node = profile_get_node(c->from, node).parent;
	}
	if (node)
		above = nodes[node];
	for (size_t i = c->pending.count; i-- > 0;) {
		node = ((const uint32_t *)c->pending.data)[i];
		above = push(c, above, profile_get_node(c->from, node).location, is_java);
		nodes[node] = above;
	}
	return above;
}

static void put_number(struct collapse *c, const struct label *label)
{
	if (label)
		buf_printf(&c->text, "%" PRId64, label->num);
	else
		buf_put_str(&c->text, "?");
}

/* The label set that names the thread; *ret_is_java. 0: it has no name. */
static uint32_t map_labels(struct collapse *c, uint32_t labels, bool *ret_is_java)
{
	const struct label *comm = NULL, *pid = NULL, *tid = NULL, *list;
	struct str name;
	size_t count;

	list = profile_get_labels(c->from, labels, &count);
	for (size_t i = 0; i < count; i++) {
		comm = list[i].key == c->comm && list[i].str ? &list[i] : comm;
		pid = list[i].key == c->pid && !list[i].str ? &list[i] : pid;
		tid = list[i].key == c->tid && !list[i].str ? &list[i] : tid;
	}
	*ret_is_java = false;
	if (!comm)
		return 0;
	name = profile_get_str(c->from, comm->str);
	*ret_is_java = text_starts_with(name.ptr, "java");
	buf_clear(&c->text);
	buf_put(&c->text, name.ptr, name.len);
	if (c->o->has_pid || c->o->has_tid) {
		buf_put_byte(&c->text, '-');
		put_number(c, pid);
	}
	if (c->o->has_tid) {
		buf_put_byte(&c->text, '/');
		put_number(c, tid);
	}
	if (buf_error(&c->text) < 0) {
		profile_fail_nomem(c->to);
		return 0;
	}
	return profile_add_labels(
		c->to,
		&(struct label){ .key = profile_str(c->to, "comm"),
				 .str = profile_str_n(c->to, c->text.data, c->text.len) },
		1);
}

static int start(struct collapse *c)
{
	const struct profile *p = c->from;
	struct value_type type = profile_get_type(p, c->o->type);
	size_t nodes = profile_node_count(p);

	c->to = profile_new();
	if (!c->to || !rows_add(&c->names, sizeof(uint32_t)))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(c->frames); i++) {
		c->frames[i] = calloc(profile_location_count(p), sizeof *c->frames[i]);
		c->nodes[i] = reallocarray(NULL, nodes, sizeof *c->nodes[i]);
		if (!c->frames[i] || !c->nodes[i])
			return -1;
		memset(c->nodes[i], 0xff, nodes * sizeof *c->nodes[i]);
	}
	c->comm = profile_find_str(p, "comm");
	c->pid = profile_find_str(p, "pid");
	c->tid = profile_find_str(p, "tid");
	profile_add_type(c->to, profile_text(p, type.type), profile_text(p, type.unit));
	return 0;
}

int profile_collapse(const struct profile *p, const struct collapse_opts *o, struct profile **ret,
		     struct err *e)
{
	CLEANUP(collapse_fini) struct collapse c = { .from = p, .o = o };
	int rc;

	if (start(&c) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		bool is_java;
		uint32_t labels;

		if (!s.values[o->type])
			continue;
		labels = map_labels(&c, s.labels, &is_java);
		profile_add(c.to, map_node(&c, s.node, is_java), labels, &s.values[o->type]);
	}
	rc = profile_check(c.to, e);
	if (rc < 0)
		return rc;
	*ret = c.to;
	c.to = NULL; /* handed over */
	return 0;
}

int collapse_find_event(const struct profile *p, const char *name)
{
	size_t len = eventname_base(name, strlen(name));
	int cpu = eventname_is_clock(name, len) ? profile_find_type(p, "cpu") : -1;

	for (size_t i = 0; i < profile_type_count(p); i++) {
		const char *type = profile_text(p, profile_get_type(p, i).type);

		if (str_equals((struct str){ name, len }, type))
			return (int)i;
	}
	return cpu;
}
