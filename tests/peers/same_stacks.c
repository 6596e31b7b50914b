/* SPDX-License-Identifier: MIT */
/*
 * same_stacks DATA TEXT PERMILLE [dwarf]: does perf.data tell the same samples as the text of
 * `perf script -F comm,pid,tid,time,period,event,ip,sym,dso` does of it? By addresses, because
 * names are a matter of taste. Prints what differs; exit status 0: no more than PERMILLE of the
 * weight. dwarf: perf unwound the user's stacks, and tells return addresses less one.
 *
 * Where they may differ: perf throws chains away that have nonsense in them, has no name for
 * threads that are about to end, and its unwinder gives up earlier.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/strtab.h"
#include "format/formats.h"

enum { MAX_SHOWN = 10 };

/* Samples of one thread and stack, in text. */
struct stacks {
	struct strtab *keys;
	int64_t *counts; /* [cap], by key */
	size_t cap;
};

static bool is_dwarf;

static bool is_kernel(const struct profile *p, const struct location *l)
{
	return profile_text(p, profile_get_mapping(p, l->mapping)->path)[0] == '[' &&
	       l->address >> 63;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Files by name and offset; the kernel by address; the rest, which nobody can place, is "?", and
 * nothing when it is address 0, where chains of frame pointers like to end. */
static void put_frame(const struct profile *p, uint32_t location, bool is_exact, bool is_text,
		      struct buf *out)
{
	struct location l = profile_get_location(p, location);
	const struct mapping *m = profile_get_mapping(p, l.mapping);
	const char *path = profile_text(p, m->path);
	bool is_less = !is_text || (is_dwarf && !is_kernel(p, &l));
	uint64_t address = l.address - (!is_less && !is_exact);

	if (is_kernel(p, &l))
		buf_printf(out, ";%" PRIx64, address);
	else if (path[0] == '/' && !strstr(path, "/perf-"))
		buf_printf(out, ";%s+%" PRIx64, base_name(path),
			   is_text ? address : address - m->start + m->offset);
	else if (l.address || !is_text)
		buf_put_str(out, ";?");
}

/*
 * Leaf first. Two things are left out by the one and told by the other: callers at the end that
 * are nowhere, and the one user frame behind the kernel's that is still of the program before
 * an exec.
 */
static void put_stack(const struct profile *p, uint32_t node, bool is_text, struct buf *out)
{
	bool was_kernel = true, is_leaf = true;
	size_t end = out->len, kernel_end = 0, users = 0, start;

	for (; node; node = profile_get_node(p, node).parent) {
		uint32_t location = profile_get_node(p, node).location;
		struct location l = profile_get_location(p, location);
		bool kernel = is_kernel(p, &l);

		start = out->len;
		put_frame(p, location, is_leaf || (was_kernel && !kernel), is_text, out);
		was_kernel = kernel;
		if (kernel)
			kernel_end = out->len;
		if (out->len > start && (is_leaf || strcmp(out->data + start, ";?") != 0)) {
			users += !kernel;
			end = out->len;
		}
		is_leaf = false;
	}
	out->len = kernel_end && users == 1 ? kernel_end : end;
}

static void put_thread(const struct profile *p, uint32_t labels, struct buf *out)
{
	size_t count;
	const struct label *list = profile_get_labels(p, labels, &count);

	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s=%s%" PRId64 " ", profile_text(p, list[i].key),
			   profile_text(p, list[i].str), list[i].num);
}

static int64_t weight(const struct profile *p, const int64_t *values)
{
	int64_t sum = 0;

	for (size_t i = 1; i < profile_type_count(p); i++)
		sum += values[i];
	return sum;
}

static bool add(struct stacks *s, const struct buf *key, int64_t count)
{
	uint32_t id = strtab_intern(s->keys, key->data, key->len);

	if (id >= s->cap) {
		size_t cap = 2 * (id + 512);
		int64_t *counts = reallocarray(s->counts, cap, sizeof *counts);

		if (!counts)
			return false;
		memset(counts + s->cap, 0, (cap - s->cap) * sizeof *counts);
		s->counts = counts;
		s->cap = cap;
	}
	s->counts[id] += count;
	return true;
}

/* One sample of each type; the first type counts the samples of the second. */
static bool add_all(struct stacks *s, const struct profile *p, bool is_text)
{
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample sample = profile_get_sample(p, i);

		for (size_t type = 1; type < profile_type_count(p); type++) {
			CLEANUP(buf_fini) struct buf key = { 0 };

			if (!sample.values[type])
				continue;
			put_thread(p, sample.labels, &key);
			buf_put_str(&key, profile_text(p, profile_get_type(p, type).type));
			put_stack(p, sample.node, is_text, &key);
			if (!add(s, &key, (is_text ? -1 : 1) * sample.values[type]))
				return false;
		}
	}
	return true;
}

/* Is stack `a` what is left of `b` when it ends earlier? Leaves come first. */
static bool is_start(struct str a, struct str b)
{
	return a.len < b.len && memcmp(a.ptr, b.ptr, a.len) == 0 && b.ptr[a.len] == ';';
}

static struct str without_last(struct str stack)
{
	const char *last = memrchr(stack.ptr, ';', stack.len);

	return last && last != memchr(stack.ptr, ';', stack.len) /* more than the leaf */
		       ? (struct str){ stack.ptr, (size_t)(last - stack.ptr) }
		       : stack;
}

/* Where perf's unwinder gave up before ours did, both tell the same. It may end with one frame
 * that is none: an address in the data of the loader. */
static void pair_early_ends(struct stacks *s)
{
	for (uint32_t ours = 0; ours < strtab_count(s->keys); ours++)
		for (uint32_t theirs = 0; theirs < strtab_count(s->keys); theirs++) {
			int64_t *more = &s->counts[ours], *less = &s->counts[theirs], both;
			struct str a = strtab_get(s->keys, theirs), b = strtab_get(s->keys, ours);

			if (*more <= 0 || *less >= 0 ||
			    (!is_start(a, b) && !is_start(without_last(a), b)))
				continue;
			both = *more < -*less ? *more : -*less;
			*more -= both;
			*less += both;
		}
}

static struct profile *load(const char *path)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	struct profile *p = profile_new();
	const struct format *format;
	struct err e = { 0 };

	if (file_load(path, &in, &e) < 0 || !p)
		goto fail;
	format = format_detect(path, in.data, in.len);
	if (!format || format->read(p, in.data, in.len, &e) < 0)
		goto fail;
	return p;

fail:
	printf("# %s: %s\n", path, e.msg);
	profile_free(p);
	return NULL;
}

int main(int argc, char **argv)
{
	struct stacks s = { .keys = strtab_new() };
	struct profile *data = argc >= 4 ? load(argv[1]) : NULL;
	struct profile *text = argc >= 4 ? load(argv[2]) : NULL;
	int64_t all = 0, more = 0, less = 0;
	size_t differences = 0;

	is_dwarf = argc == 5;
	if (!data || !text || !s.keys || !add_all(&s, data, false) || !add_all(&s, text, true))
		return 2;
	if (is_dwarf)
		pair_early_ends(&s);
	for (size_t i = 0; i < profile_sample_count(data); i++)
		all += weight(data, profile_get_sample(data, i).values);
	for (uint32_t id = 0; id < strtab_count(s.keys); id++) {
		more += s.counts[id] > 0 ? s.counts[id] : 0;
		less -= s.counts[id] < 0 ? s.counts[id] : 0;
		if (!s.counts[id] || differences++ >= MAX_SHOWN)
			continue;
		printf("# %s has %" PRId64 " more: %s\n",
		       s.counts[id] > 0 ? "perf.data" : "the text",
		       s.counts[id] > 0 ? s.counts[id] : -s.counts[id], strtab_get(s.keys, id).ptr);
	}
	printf("# %zu stacks, %zu differ: %" PRId64 " more and %" PRId64 " less of %" PRId64 "\n",
	       strtab_count(s.keys), differences, more, less, all);
	profile_free(data);
	profile_free(text);
	strtab_free(s.keys);
	free(s.counts);
	return !all || (more + less) / 2 * 1000 > strtol(argv[3], NULL, 10) * all;
}
