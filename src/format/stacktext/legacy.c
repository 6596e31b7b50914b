/* SPDX-License-Identifier: MIT */
#include "format/stacktext/legacy.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "format/allocators.h"
#include "format/stacktext/legacy_addresses.h"
#include "format/stacktext/legacy_values.h"
#include "format/stacktext/stacktext.h"

struct reader {
	struct stacktext *t;
	struct legacy_header header;
	struct legacy_addresses addresses;
	struct cursor whole; /* the text from its start */
	bool is_threaded;    /* a thread's stack is being read */
};

static void reader_fini(struct reader *r)
{
	legacy_addresses_fini(&r->addresses);
}

static void set_type(struct reader *r, struct str name, struct str unit)
{
	char text[2][64];
	const struct str from[2] = { name, unit };

	for (size_t i = 0; i < 2; i++) {
		size_t len = from[i].len < sizeof text[i] ? from[i].len : sizeof text[i] - 1;

		memcpy(text[i], from[i].ptr, len);
		text[i][len] = '\0';
	}
	stacktext_set_type(r->t, text[0], text[1]);
}

static void set_two(struct reader *r, const char *first, const char *second, const char *unit)
{
	stacktext_set_type(r->t, first, "count");
	if (r->header.unit.len && r->header.is_java)
		set_type(r, (struct str){ second, strlen(second) }, r->header.unit);
	else
		stacktext_set_type(r->t, second, unit);
}

static void set_types(struct reader *r)
{
	const struct legacy_header *h = &r->header;

	switch (h->kind) {
	case LEGACY_HEAP:
		if (h->has_alloc)
			set_two(r, "alloc_objects", "alloc_space", "bytes");
		if (h->has_alloc)
			set_two(r, "inuse_objects", "inuse_space", "bytes");
		else
			set_two(r, "objects", "space", "bytes");
		break;
	case LEGACY_JAVA_HEAP:
		set_two(r, "inuse_objects", "inuse_space", "bytes");
		break;
	case LEGACY_CONTENTION:
		set_two(r, "contentions", "delay", "nanoseconds");
		break;
	case LEGACY_COUNT:
		set_type(r, h->name, (struct str){ "count", strlen("count") });
		break;
	case LEGACY_THREADS:
		stacktext_set_type(r->t, "thread", "count");
		break;
	}
}

/* What the header has besides the sample types. The last of them is shown first, as by pprof. */
static void set_info(struct reader *r)
{
	struct profile *p = r->t->p;
	const struct legacy_header *h = &r->header;
	struct profile_info *info = profile_info(p);
	bool is_heap = h->kind == LEGACY_HEAP;

	if (profile_error(p) < 0)
		return;
	info->default_type = 0;
	info->duration_ns = h->duration_ns;
	if (h->kind != LEGACY_JAVA_HEAP) {
		info->period = h->period;
		info->period_type = profile_get_type(p, 0);
	}
	if (is_heap) {
		info->period_type.type = profile_str(p, "space");
		info->period_type.unit = profile_str(p, "bytes");
	}
	if (is_heap || h->kind == LEGACY_JAVA_HEAP)
		info->drop_frames = profile_str(p, DROP_ALLOCATORS);
	if (h->lost_samples)
		log_msg(LOG_WARN, "pprof-text", "the program discarded %" PRId64 " samples",
			h->lost_samples);
}

static void begin(struct reader *r)
{
	if (r->header.is_java || r->header.kind == LEGACY_JAVA_HEAP)
		r->addresses.is_java = r->header.is_java = true;
	set_types(r);
	set_info(r);
	legacy_addresses_read(&r->addresses, r->t, r->whole);
}

static uint32_t block_label(struct stacktext *t, int64_t bytes)
{
	struct label label = { .key = profile_str(t->p, "bytes"), .num = bytes };

	return profile_add_labels(t->p, &label, 1);
}

static void add_stack(struct reader *r, struct str line)
{
	bool is_heap = r->header.kind == LEGACY_HEAP || r->header.kind == LEGACY_JAVA_HEAP;
	int64_t values[LEGACY_MAX_VALUES], block;

	if (!legacy_values_parse(&r->header, &line, values, &block)) {
		stacktext_skip(r->t);
		return;
	}
	legacy_addresses_push(&r->addresses, r->t, line, false);
	r->t->labels = is_heap ? block_label(r->t, block) : 0;
	stacktext_add_all(r->t, true, values);
	stacktext_cut(r->t, 0);
}

/* Is the rest something else: another section, the mapped files, the names of Java? */
static bool is_end(const struct reader *r, struct str line)
{
	return str_starts_with(line, "---") || legacy_addresses_is_maps(line) ||
	       (r->header.is_java && str_starts_with(line, "0x"));
}

static void read_stacks(struct reader *r)
{
	bool has_begun = false;
	struct str line;

	while (stacktext_line(r->t, &line)) {
		line = str_trim(line);
		if (!line.len || *line.ptr == '#' ||
		    (!has_begun && legacy_header_attribute(&r->header, line)))
			continue;
		if (!has_begun)
			begin(r);
		has_begun = true;
		if (is_end(r, line))
			break;
		add_stack(r, line);
	}
	if (!has_begun)
		begin(r);
}

/* "--- Thread 7ff86f901940 (name: main/9) stack: ---": name and number are labels. */
static uint32_t thread_labels(struct stacktext *t, struct str line)
{
	static const char mark[] = "(name: ";
	size_t at = str_find(line, mark), close;
	const char *slash;
	uint64_t tid = 0;
	struct str name;

	if (at == line.len)
		return 0;
	name = str_part(line, at + sizeof mark - 1, line.len);
	close = str_find(name, ") stack:");
	name = str_part(name, 0, close);
	slash = name.len ? memrchr(name.ptr, '/', name.len) : NULL;
	if (slash) {
		at = (size_t)(slash - name.ptr);
		if (!number_parse(slash + 1, name.len - at - 1, &tid))
			tid = 0;
		name.len = at;
	}
	return stacktext_thread(t, name, "tid", tid);
}

/* Does the thread whose lines follow have the stack of the one before? */
static bool is_same(struct cursor text)
{
	struct str line;

	while (cursor_line(&text, &line.ptr, &line.len)) {
		if (str_starts_with(str_trim(line), "---"))
			break;
		if (str_find(line, "same as previous thread") < line.len)
			return true;
	}
	return false;
}

/* The frames stay, for a next thread that has the same. */
static void end_thread(struct reader *r)
{
	static const int64_t one[LEGACY_MAX_VALUES] = { 1 };

	if (r->is_threaded && stacktext_depth(r->t))
		stacktext_add_all(r->t, true, one);
	r->is_threaded = false;
}

static void read_threads(struct reader *r, struct str line)
{
	bool is_first = false, is_skipped = true;

	begin(r);
	do {
		line = str_trim(line);
		if (str_starts_with(line, "--- Thread ")) {
			end_thread(r);
			r->t->labels = thread_labels(r->t, line);
			is_skipped = is_same(r->t->text);
			r->is_threaded = true;
			is_first = !is_skipped;
			if (is_first)
				stacktext_cut(r->t, 0);
		} else if (legacy_addresses_is_maps(line)) {
			break;
		} else if (!is_skipped && line.len && !str_starts_with(line, "---")) {
			legacy_addresses_push(&r->addresses, r->t, line, is_first);
			is_first = false;
		}
	} while (stacktext_line(r->t, &line));
	end_thread(r);
}

static void parse(struct stacktext *t)
{
	CLEANUP(reader_fini) struct reader r = { .t = t, .whole = t->text };
	bool is_found = false;
	struct str line;

	while (!is_found && stacktext_line(t, &line))
		is_found = legacy_header_parse(str_trim(line), &r.header);
	if (!is_found)
		return;
	t->may_be_empty = true;
	if (r.header.kind == LEGACY_THREADS)
		read_threads(&r, line);
	else
		read_stacks(&r);
}

/* The cursor behind a symbol section; as it is when there is none. */
static struct cursor skip_symbols(const unsigned char *data, size_t len)
{
	struct str text = { (const char *)data, len };
	size_t at;

	if (!str_starts_with(text, "--- symbol\n"))
		return stacktext_start(data, len);
	at = str_find(text, "\n---\n--- ");
	if (at == text.len)
		return cursor_make(data, 0);
	at += strlen("\n---\n");
	return stacktext_start(data + at, len - at);
}

static bool has_names(struct cursor c)
{
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len))
		if (str_starts_with(line, "#\t0x"))
			return true;
	return false;
}

/* The header; in front of it may be empty lines, comments, the section's own line. */
static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = skip_symbols(data, len);
	struct legacy_header header;
	struct str line;

	while (cursor_line(&c, &line.ptr, &line.len)) {
		line = str_trim(line);
		if (legacy_header_parse(line, &header))
			return !has_names(c);
		if (line.len && *line.ptr != '#' && !str_equals(line, "--- profile") &&
		    !str_equals(line, "--- heap") && !str_equals(line, "--- growth") &&
		    !str_equals(line, "--- contention"))
			return false;
	}
	return false;
}

static const struct stacktext_kind kind = { .name = "pprof-text", .parse = parse };

static int legacy_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static const char *const suffixes[] = { ".heap", NULL };

const struct format format_pprof_text = {
	.name = "pprof-text",
	.summary = "pprof's legacy text: heap, contention, threads; Java",
	.mark = "a header: heap profile, --- contentionz, --- threadz, NAME profile",
	.lost = "discarded samples",
	.suffixes = suffixes,
	.is_text = true,
	.detect = detect,
	.read = legacy_read,
};
