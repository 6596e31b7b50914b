/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profile_stacks.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum type {
	TYPE_CALLS,
	TYPE_BYTES,
	TYPE_TIME,
	TYPE_NEGATIVE,
	TYPES,
};

const char *const profile_stacks_operations[PATH_CLASSES] = { "getattr", "read", "readdir" };
const char *const profile_stacks_results[PATH_RESULTS] = { "hit", "miss", "negative" };
const char *const profile_stacks_events[NEGATIVE_EVENTS] = { "store", "serve", "expire", "clear" };

/* Pushes the component path[at..len) of the folder path[0..at), as a function of a source file. The
 * root is its own folder. */
static uint32_t push_part(struct profile *p, uint32_t node, const char *path, size_t at, size_t len)
{
	uint32_t name = profile_str_n(p, path + at, len - at);
	const struct function part = {
		.name = name,
		.system_name = name,
		.file = profile_str_n(p, path, at ? at : len),
	};
	const struct line line = { .function = profile_add_function(p, &part) };

	return profile_push(
		p, node,
		profile_add_location(p, &(struct location){ .lines = &line, .line_count = 1 }));
}

/* "/usr/lib": "/", "usr", "lib". */
static uint32_t push_path(struct profile *p, const char *path)
{
	uint32_t node = push_part(p, 0, "/", 0, 1);

	for (size_t at = 1; path[at];) {
		size_t end = at + strcspn(path + at, "/");

		if (end > at)
			node = push_part(p, node, path, at, end);
		at = end + (path[end] == '/');
	}
	return node;
}

/* A sample type's strings are UTF-8, a path's bytes need not be: then a label has them, as digits.
 */
static uint32_t put_bytes(struct profile *p, const char *path)
{
	CLEANUP(buf_fini) struct buf digits = { 0 };
	size_t len = strlen(path);

	if (utf8_clean_len(path, len) == len)
		return 0;
	for (size_t i = 0; i < len; i++)
		buf_printf(&digits, "%02x", (unsigned char)path[i]);
	if (buf_error(&digits) < 0) {
		profile_fail_nomem(p);
		return 0;
	}
	return profile_str_n(p, digits.data, digits.len);
}

/* The stack of a path, and what its samples have in common. */
struct path_stack {
	uint32_t node;
	uint32_t bytes; /* string id of put_bytes(); 0: none */
	bool is_evicted;
};

static uint32_t add_labels(struct profile *p, const struct path_stack *s, const char *operation,
			   const char *result)
{
	struct label labels[4] = {
		{ .key = profile_str(p, "operation"), .str = profile_str(p, operation) },
		{ .key = profile_str(p, "result"), .str = profile_str(p, result) },
	};
	size_t count = 2;

	if (s->bytes)
		labels[count++] = (struct label){ .key = profile_str(p, PROFILE_STACKS_BYTES),
						  .str = s->bytes };
	if (s->is_evicted)
		labels[count++] = (struct label){ .key = profile_str(p, PROFILE_STACKS_EVICTED),
						  .str = profile_str(p, "yes") };
	return profile_add_labels(p, labels, count);
}

static void add_counts(struct profile *p, const char *path, const struct path_counts *c,
		       bool is_evicted)
{
	const struct path_stack s = { push_path(p, path), put_bytes(p, path), is_evicted };

	for (int class = 0; class < PATH_CLASSES; class ++) {
		for (int result = 0; result < PATH_RESULTS; result++) {
			int64_t values[TYPES] = {
				[TYPE_CALLS] = (int64_t)c->calls[class][result],
				[TYPE_BYTES] = class == PATH_DATA ? (int64_t)c->bytes[result] : 0,
				[TYPE_TIME] = (int64_t)c->ns[class][result],
			};

			if (values[TYPE_CALLS])
				profile_add(p, s.node,
					    add_labels(p, &s, profile_stacks_operations[class],
						       profile_stacks_results[result]),
					    values);
		}
	}
	for (int event = 0; event < NEGATIVE_EVENTS; event++) {
		const int64_t values[TYPES] = { [TYPE_NEGATIVE] = (int64_t)c->negatives[event] };

		if (values[TYPE_NEGATIVE])
			profile_add(p, s.node,
				    add_labels(p, &s, PROFILE_STACKS_NEGATIVE,
					       profile_stacks_events[event]),
				    values);
	}
}

static void add_row(struct profile *p, const char *path, const struct path_row *row)
{
	CLEANUP(buf_fini) struct buf others = { 0 };

	if (!row->is_evicted) {
		add_counts(p, path, &row->counts, false);
		return;
	}
	buf_printf(&others, "%s/[others]", strcmp(path, "/") == 0 ? "" : path);
	if (buf_error(&others) < 0)
		profile_fail_nomem(p);
	else
		add_counts(p, others.data, &row->counts, true);
}

static void describe(const struct profile_facts *f, struct profile *p)
{
	struct profile_info *info = profile_info(p);
	char text[128];

	info->time_ns = f->config->start_wall_ns;
	info->duration_ns = f->now_ns - f->config->start_ns;
	info->default_type = profile_str(p, "time");
	profile_add_comment(p, "requests to a cache file system by path");
	snprintf(text, sizeof text, "profiling mode: %s", profile_mode_names[f->config->mode]);
	profile_add_comment(p, text);
	profile_add_comment(p, f->config->is_exact
				       ? "kernel caching: off, every call is counted"
				       : "kernel caching: on, calls that the kernel answered are "
					 "not counted");
}

int profile_make_stacks(const struct profile_facts *f, struct profile **ret, struct err *e)
{
	struct profile *p = profile_new();
	int rc;

	if (!p)
		return err_nomem(e);
	profile_add_type(p, "calls", "count");
	profile_add_type(p, "bytes", "bytes");
	profile_add_type(p, "time", "nanoseconds");
	profile_add_type(p, "negative_entries", "count");
	describe(f, p);
	for (size_t i = 0; i < f->paths.rows.count; i++) {
		const struct path_row *row = path_list_get(&f->paths, i);

		add_row(p, path_list_path(&f->paths, row), row);
	}
	rc = profile_check(p, e);
	if (rc == 0)
		*ret = p;
	else
		profile_free(p);
	return rc;
}
