/* SPDX-License-Identifier: MIT */
#include "format/akaros/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "base/rows.h"
#include "format/akaros/build.h"
#include "perf/maps.h"

#define MAX_BODY ((uint64_t)32 << 20) /* Akaros' own reader takes no more */
#define DETECT_RECORDS 3

enum type { KERNEL_SAMPLE = 1, USER_SAMPLE, MAPPING, NEW_PROCESS };

/* A record that is whole. */
struct item {
	uint64_t ns;
	uint64_t number; /* in the file */
	enum type type;
	uint32_t len;
	const unsigned char *body; /* [0..len); borrowed */
};

struct process {
	struct maps *maps; /* its reference; NULL: none yet */
	uint32_t comm;     /* string id, or 0 */
};

struct reader {
	struct profile *p;
	const unsigned char *data;
	struct cursor c;
	struct rows items;       /* struct item */
	unsigned fits[3];        /* samples that may be of each revision */
	int revision;            /* the likeliest */
	bool has_double_head;    /* the first address stands twice in all stacks */
	uint64_t bad, cut_bytes; /* records that make no sense; bytes behind the last whole one */
	struct akaros_periods periods;
	struct akaros_build build;
	struct map by_pid;     /* index of processes */
	struct rows processes; /* struct process */
	uint64_t versions;     /* of maps */
};

static void reader_fini(struct reader *r)
{
	struct process *processes = r->processes.data;

	for (size_t i = 0; i < r->processes.count; i++)
		maps_unref(processes[i].maps);
	rows_fini(&r->processes);
	rows_fini(&r->items);
	map_fini(&r->by_pid);
	akaros_periods_fini(&r->periods);
	akaros_build_fini(&r->build);
}

/* Bytes before the addresses, by revision. */
static size_t head_bytes(enum type type, int revision)
{
	static const size_t kernel[] = { 12, 20, 24 }, user[] = { 16, 24, 24 };

	return type == KERNEL_SAMPLE ? kernel[revision] : user[revision];
}

static bool fits(const unsigned char *body, size_t len, enum type type, int revision)
{
	size_t head = head_bytes(type, revision);

	return len >= head && head + 8u * (body[head - 2] + 256u * body[head - 1]) == len;
}

/* The revision of a sample, the preferred one if it can be; -1: of none. */
static int find_revision(const unsigned char *body, size_t len, enum type type, int preferred)
{
	if (fits(body, len, type, preferred))
		return preferred;
	for (int i = 0; i < 3; i++)
		if (fits(body, len, type, i))
			return i;
	return -1;
}

static bool is_sample(enum type type)
{
	return type == KERNEL_SAMPLE || type == USER_SAMPLE;
}

static bool is_known(uint64_t type)
{
	return type >= KERNEL_SAMPLE && type <= NEW_PROCESS;
}

static bool is_sound(const unsigned char *body, size_t len, uint64_t type)
{
	size_t head = type == MAPPING ? 36 : 12;

	if (type == KERNEL_SAMPLE || type == USER_SAMPLE)
		return find_revision(body, len, (enum type)type, 0) >= 0;
	return len > head && memchr(body + head, 0, len - head) == body + len - 1;
}

/* The next record; false: the end, or no whole record. */
static bool next_record(struct cursor *c, uint64_t *ret_type, struct cursor *ret_body)
{
	uint64_t size;

	*ret_type = cursor_varint(c);
	size = cursor_varint(c);
	if (c->bad || size > MAX_BODY || size > cursor_left(c))
		return false;
	*ret_body = cursor_sub(c, size);
	return true;
}

bool akaros_records_detect(const unsigned char *data, size_t len)
{
	struct cursor c = cursor_make(data, len), body;
	uint64_t type;

	if (!len)
		return false;
	for (int i = 0; i < DETECT_RECORDS && cursor_left(&c); i++) {
		if (!next_record(&c, &type, &body))
			return i > 0;
		if (i > 0 && !is_known(type))
			continue;
		if (!is_known(type) || !is_sound(body.at, cursor_left(&body), type))
			return false;
	}
	return true;
}

static struct akaros_sample decode(const struct reader *r, const struct item *item)
{
	int revision = find_revision(item->body, item->len, item->type, r->revision);
	size_t head = head_bytes(item->type, revision);
	struct cursor c = cursor_make(item->body, item->len);
	struct akaros_sample s = { .pid = AKAROS_NO_PID };

	if (revision > 0)
		cursor_skip(&c, 8); /* info: what the sample was taken for */
	s.ns = cursor_u64(&c);
	if (item->type == USER_SAMPLE || revision == 2)
		s.pid = cursor_u32(&c);
	s.core = cursor_u16(&c);
	s.count = (item->len - head) / 8;
	s.pcs = item->body + head;
	if (r->has_double_head && s.count > 1) {
		s.pcs += 8;
		s.count--;
	}
	return s;
}

static int add_item(struct reader *r, uint64_t type, const struct cursor *body)
{
	struct item *item = rows_add(&r->items, sizeof *item);

	if (!item)
		return -ENOMEM;
	*item = (struct item){ .number = r->items.count,
			       .type = (enum type)type,
			       .len = (uint32_t)cursor_left(body),
			       .body = body->at };
	for (int i = 0; i < 3; i++)
		r->fits[i] += is_sample(item->type) && fits(item->body, item->len, item->type, i);
	return 0;
}

static int collect(struct reader *r)
{
	const unsigned char *at = r->c.at;
	struct cursor body;
	uint64_t type;

	while (cursor_left(&r->c)) {
		at = r->c.at;
		if (!next_record(&r->c, &type, &body)) {
			r->cut_bytes = (uint64_t)(r->c.end - at);
			break;
		}
		if (!is_known(type))
			continue;
		if (!is_sound(body.at, cursor_left(&body), type))
			r->bad++;
		else if (add_item(r, type, &body) < 0)
			return -ENOMEM;
	}
	for (int i = 1; i < 3; i++)
		if (r->fits[i] > r->fits[r->revision])
			r->revision = i;
	return 0;
}

/* Until July 2016 the interrupted address was taken down twice. */
static bool find_double_head(const struct reader *r)
{
	const struct item *items = r->items.data;
	size_t seen = 0;

	for (size_t i = 0; i < r->items.count; i++) {
		struct akaros_sample s;

		if (!is_sample(items[i].type))
			continue;
		s = decode(r, &items[i]);
		if (s.count < 2)
			continue;
		if (memcmp(s.pcs, s.pcs + 8, 8) != 0)
			return false;
		seen++;
	}
	return seen > 0;
}

static int compare(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Blocks of several cores are not in order: mappings must be known before their samples. */
static int order_items(struct reader *r)
{
	struct item *items = r->items.data;

	for (size_t i = 0; i < r->items.count; i++) {
		struct cursor c = cursor_make(items[i].body, items[i].len);
		struct akaros_sample s;

		if (!is_sample(items[i].type)) {
			items[i].ns = cursor_u64(&c);
			continue;
		}
		s = decode(r, &items[i]);
		items[i].ns = s.ns;
		if (akaros_periods_add(&r->periods, s.core, s.ns) < 0)
			return -ENOMEM;
	}
	akaros_periods_finish(&r->periods);
	if (r->items.count)
		qsort(items, r->items.count, sizeof *items, compare);
	return 0;
}

static struct process *find_process(struct reader *r, uint32_t pid)
{
	uint32_t *index = map_at(&r->by_pid, pid);

	if (!index)
		return NULL;
	if (*index == MAP_NONE) {
		if (!rows_add(&r->processes, sizeof(struct process)))
			return NULL;
		*index = (uint32_t)r->processes.count - 1;
	}
	return (struct process *)r->processes.data + *index;
}

static int add_mapping(struct reader *r, const struct item *item)
{
	struct cursor c = cursor_make(item->body + 8, item->len - 8);
	struct mapping m = { .start = cursor_u64(&c) };
	uint64_t size = cursor_u64(&c);
	struct process *process;
	size_t len;
	const char *path;

	m.offset = cursor_u64(&c);
	process = find_process(r, cursor_u32(&c));
	if (!process)
		return -ENOMEM;
	path = cursor_cstr(&c, &len);
	if (!size || __builtin_add_overflow(m.start, size, &m.limit))
		return 0;
	m.path = profile_str_n(r->p, path, len);
	if (!process->maps)
		process->maps = maps_new(&r->versions);
	if (!process->maps)
		return -ENOMEM;
	return maps_add(&process->maps, &(struct vma){ .start = m.start,
						       .end = m.limit,
						       .offset = m.offset,
						       .dso = profile_add_mapping(r->p, &m) });
}

static int add_process(struct reader *r, const struct item *item)
{
	struct cursor c = cursor_make(item->body + 8, item->len - 8);
	struct process *process = find_process(r, cursor_u32(&c));
	size_t len;
	const char *path = cursor_cstr(&c, &len);

	if (!process)
		return -ENOMEM;
	process->comm = profile_str(r->p, path_base(path));
	return 0;
}

static int add_sample(struct reader *r, const struct item *item)
{
	struct akaros_sample s = decode(r, item);
	int64_t period = akaros_periods_get(&r->periods, s.core);
	struct process *process;

	if (s.pid == AKAROS_NO_PID)
		return akaros_build_add(&r->build, &s, NULL, 0, period);
	process = find_process(r, s.pid);
	return process ? akaros_build_add(&r->build, &s, process->maps, process->comm, period)
		       : -ENOMEM;
}

static int add_items(struct reader *r)
{
	const struct item *items = r->items.data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->items.count; i++)
		switch (items[i].type) {
		case KERNEL_SAMPLE:
		case USER_SAMPLE:
			rc = add_sample(r, &items[i]);
			break;
		case MAPPING:
			rc = add_mapping(r, &items[i]);
			break;
		case NEW_PROCESS:
			rc = add_process(r, &items[i]);
			break;
		}
	return rc;
}

int akaros_records_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(reader_fini) struct reader r = { .p = p, .data = data };

	r.c = cursor_make(data, len);
	if (akaros_build_init(&r.build, p) < 0 || collect(&r) < 0)
		return err_nomem(e);
	r.has_double_head = find_double_head(&r);
	if (order_items(&r) < 0 || add_items(&r) < 0)
		return err_nomem(e);
	if (r.bad)
		log_msg(LOG_WARN, "format", "%" PRIu64 " records of the trace make no sense",
			r.bad);
	if (r.cut_bytes)
		log_msg(LOG_WARN, "format",
			"the last %" PRIu64 " bytes of the trace, from byte %" PRIu64
			" on, are no whole record",
			r.cut_bytes, (uint64_t)len - r.cut_bytes);
	akaros_build_end(&r.build, &r.periods);
	return profile_check(p, e);
}
