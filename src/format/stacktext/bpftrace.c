/* SPDX-License-Identifier: MIT */
#include "format/stacktext/bpftrace.h"

#include <string.h>

#include "base/number.h"
#include "format/stacktext/stacktext.h"

/* The last "]: " before a digit: *ret_at, and the number there, as far as its digits go. */
static bool find_value(struct str line, size_t *ret_at, struct str *ret_digits)
{
	for (size_t at = line.len; at-- > 0;) {
		struct str rest = str_part(line, at, line.len);
		size_t end = 3;

		if (!str_starts_with(rest, "]: "))
			continue;
		while (end < rest.len && number_is_digit(rest.ptr[end]))
			end++;
		if (end == 3)
			continue;
		*ret_at = at;
		*ret_digits = str_part(rest, 3, end);
		return true;
	}
	return false;
}

/* A line of the map "@" that has its whole key: "@[, swapper/0]: 12". */
static void collapse_short(struct stacktext *t, struct str line, size_t at, struct str digits)
{
	int64_t value;

	if (at < 4 || !str_starts_with(line, "@[,") || !str_is_blank(line.ptr[3]) ||
	    !stacktext_number(digits, &value))
		return;
	stacktext_push(t, str_part(line, 4, at));
	stacktext_add(t, true, value);
	stacktext_cut(t, 0);
}

/* What stackcollapse-bpftrace.pl does. */
static void parse_exact(struct stacktext *t)
{
	bool in_stack = false;
	struct str line, digits;
	int64_t value;
	size_t at;

	while (stacktext_line(t, &line)) {
		bool has_value = find_value(line, &at, &digits);

		if (!in_stack) {
			in_stack = str_equals(line, "@[");
			if (has_value)
				collapse_short(t, line, at, digits);
			continue;
		}
		if (!has_value) {
			stacktext_push(t, str_skip_blanks(line));
			continue;
		}
		line.len = at;
		if (str_starts_with(line, ","))
			line = str_part(line, 1, line.len);
		if (line.len && str_is_blank(*line.ptr))
			line = str_part(line, 1, line.len);
		if (line.len)
			stacktext_push(t, line);
		stacktext_number(digits, &value);
		stacktext_add(t, true, value);
		stacktext_cut(t, 0);
		in_stack = false;
	}
}

/* "@name[": what is behind it; ptr NULL: something else. */
static struct str cut_map(struct str line, struct str *ret_name)
{
	size_t open = str_find(line, "[");

	if (!str_starts_with(line, "@") || open == line.len)
		return (struct str){ 0 };
	for (size_t i = 1; i < open; i++) {
		char c = line.ptr[i];

		if (c != '_' && !number_is_digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'z'))
			return (struct str){ 0 };
	}
	*ret_name = str_part(line, 1, open);
	return str_part(line, open + 1, line.len);
}

struct entry {
	struct str map;
	struct buf keys; /* that are no stacks */
	bool is_open;    /* its end comes in a line that follows */
};

static void entry_fini(struct entry *entry)
{
	buf_fini(&entry->keys);
}

static void add_key(struct entry *entry, struct str key)
{
	while (key.len && (*key.ptr == ',' || str_is_blank(*key.ptr)))
		key = str_part(key, 1, key.len);
	while (key.len && (key.ptr[key.len - 1] == ',' || str_is_blank(key.ptr[key.len - 1])))
		key.len--;
	if (!key.len)
		return;
	if (entry->keys.len)
		buf_put_str(&entry->keys, ", ");
	buf_put(&entry->keys, key.ptr, key.len);
}

static void end_entry(struct stacktext *t, struct entry *entry, int64_t value)
{
	char name[64];
	struct str map = entry->map;

	if (map.len >= sizeof name)
		map.len = sizeof name - 1;
	memcpy(name, map.ptr, map.len);
	name[map.len] = '\0';
	if (profile_find_type(t->p, name) < 0 && profile_type_count(t->p) == PROFILE_MAX_TYPES) {
		stacktext_skip(t);
		return;
	}
	stacktext_set_type(t, map.len ? name : "samples", "count");
	t->labels = stacktext_thread(t, (struct str){ entry->keys.data, entry->keys.len }, "", 0);
	stacktext_add(t, true, value);
}

/* "    tcp_recvmsg+808" */
static struct str drop_offset(struct str s)
{
	size_t end = s.len;

	while (end && number_is_digit(s.ptr[end - 1]))
		end--;
	if (end > 1 && end < s.len && s.ptr[end - 1] == '+')
		s.len = end - 1;
	return s;
}

/* Keys, and perhaps what closes the entry: ", bash]: 3" */
static void read_keys(struct stacktext *t, struct entry *entry, struct str line)
{
	size_t close = str_find(line, "]: ");
	int64_t value;

	add_key(entry, str_part(line, 0, close));
	if (close == line.len)
		return;
	entry->is_open = false;
	if (stacktext_number(str_part(line, close + 3, line.len), &value))
		end_entry(t, entry, value);
	else
		stacktext_skip(t);
}

/* A line of an entry: a frame, or what closes it. */
static void read_part(struct stacktext *t, struct entry *entry, struct str line)
{
	bool is_key = str_starts_with(line, ",") || str_starts_with(line, "]");

	if (!is_key && str_trim(line).len) {
		stacktext_push(t, drop_offset(str_trim(line)));
		return;
	}
	read_keys(t, entry, line);
}

/* The first line of an entry; rest: behind its '['. A value without stacks is none of ours, but a
 * stack may be empty. */
static void begin_entry(struct stacktext *t, struct entry *entry, struct str rest)
{
	buf_clear(&entry->keys);
	stacktext_cut(t, 0);
	entry->is_open = true;
	if (str_find(rest, "]: ") == rest.len || str_starts_with(rest, ","))
		read_keys(t, entry, rest);
	else
		stacktext_skip(t);
	entry->is_open &= str_find(rest, "]: ") == rest.len;
}

static void parse(struct stacktext *t)
{
	CLEANUP(entry_fini) struct entry entry = { 0 };
	struct str line;

	if (t->is_exact) {
		parse_exact(t);
		return;
	}
	while (stacktext_line(t, &line)) {
		struct str name, rest = cut_map(line, &name);

		if (rest.ptr) {
			entry.map = name;
			begin_entry(t, &entry, rest);
		} else if (entry.is_open) {
			read_part(t, &entry, line);
		} else if (str_trim(line).len && !str_starts_with(line, "Attaching ") &&
			   !str_starts_with(line, "^C")) {
			stacktext_skip(t);
		}
	}
}

/* Is the first map one whose keys have stacks? */
static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line, name, rest;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		if (!str_trim(line).len || str_starts_with(line, "Attaching ") ||
		    str_starts_with(line, "^C"))
			continue;
		rest = cut_map(line, &name);
		if (!rest.ptr)
			return false;
		if (str_find(rest, "]: ") == rest.len)
			return !rest.len || rest.ptr[rest.len - 1] == ',' ||
			       str_ends_with(rest, ", ");
	}
	return false;
}

static const struct stacktext_kind kind = {
	.name = "bpftrace",
	.parse = parse,
	.keeps_order = true,
};

static int bpftrace_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int bpftrace_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

static const char *const suffixes[] = { NULL };

const struct format format_bpftrace = {
	.name = "bpftrace",
	.summary = "maps of stacks that bpftrace prints",
	.mark = "a line @MAP[ before others",
	.lost = "histograms, statistics",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = bpftrace_read,
	.collapse = bpftrace_collapse,
};
