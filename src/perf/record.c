/* SPDX-License-Identifier: MIT */
#include "perf/record.h"

#include <errno.h>

#include "base/compat/compat.h"
#include "base/cursor.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are read as little-endian"
#endif

/* Values of the ABI that are younger than the oldest headers we build with (6.1). */
#define BRANCH_COUNTERS (UINT64_C(1) << 19) /* PERF_SAMPLE_BRANCH_COUNTERS */

static unsigned count_bits(uint64_t v)
{
	return (unsigned)__builtin_popcountll(v);
}

static struct record_words take_words(struct cursor *c, uint64_t count)
{
	struct record_words w = { 0 };

	if (count > cursor_left(c) / 8) {
		c->bad = true;
		c->at = c->end;
		return w;
	}
	w.bytes = cursor_bytes(c, (size_t)count * 8);
	w.count = (size_t)count;
	return w;
}

static struct record_bytes take_bytes(struct cursor *c, uint64_t len)
{
	struct record_bytes b = { 0 };

	if (len > cursor_left(c)) {
		c->bad = true;
		c->at = c->end;
		return b;
	}
	b.bytes = cursor_bytes(c, (size_t)len);
	b.len = (size_t)len;
	return b;
}

/* Text that is padded with NULs to a multiple of eight bytes. */
static struct record_bytes take_text(struct cursor *c)
{
	struct record_bytes b = { 0 };
	const char *text = cursor_cstr(c, &b.len);

	if (text)
		b.bytes = (const unsigned char *)text;
	return b;
}

/* The words of a counter reading. Source: perf_event_open(2), read_format. */
static struct record_words take_read(struct cursor *c, uint64_t format)
{
	uint64_t times = count_bits(
		format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
	uint64_t each = 1 + count_bits(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	struct cursor ahead = *c;
	uint64_t values;

	if (!(format & PERF_FORMAT_GROUP))
		return take_words(c, times + each);
	values = cursor_u64(&ahead);
	if (values > RECORD_MAX_BYTES)
		values = RECORD_MAX_BYTES; /* more than can be there: bad below */
	return take_words(c, 1 + times + values * each);
}

static void take_tid(struct record *r, struct cursor *c)
{
	r->pid = cursor_u32(c);
	r->tid = cursor_u32(c);
}

static void take_cpu(struct record *r, struct cursor *c)
{
	r->cpu = cursor_u32(c);
	cursor_skip(c, 4);
}

static struct record_regs take_regs(struct cursor *c, uint64_t mask)
{
	struct record_regs regs = { .abi = cursor_u64(c) };

	if (regs.abi == PERF_SAMPLE_REGS_ABI_NONE)
		return regs;
	regs.mask = mask;
	regs.values = take_words(c, count_bits(mask));
	return regs;
}

static void take_stack(struct record_sample *s, struct cursor *c)
{
	uint64_t len = cursor_u64(c);
	uint64_t filled;

	if (len == 0)
		return;
	s->stack = take_bytes(c, len);
	filled = cursor_u64(c);
	if (filled < s->stack.len)
		s->stack.len = (size_t)filled;
}

static void take_branches(struct record_sample *s, const struct record_shape *shape,
			  struct cursor *c)
{
	uint64_t count = cursor_u64(c);

	if (shape->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		cursor_skip(c, 8);
	if (count > RECORD_MAX_BYTES)
		count = RECORD_MAX_BYTES; /* more than can be there: bad below */
	s->branches = take_words(c, 3 * count);
	if (shape->branch_sample_type & BRANCH_COUNTERS)
		take_words(c, count);
}

/* The fields in front of the call chain. */
static void take_sample_head(struct record *r, const struct record_shape *shape, struct cursor *c)
{
	struct record_sample *s = &r->sample;
	uint64_t type = shape->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		r->identifier = cursor_u64(c);
	if (type & PERF_SAMPLE_IP)
		s->ip = cursor_u64(c);
	if (type & PERF_SAMPLE_TID)
		take_tid(r, c);
	if (type & PERF_SAMPLE_TIME)
		r->time = cursor_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = cursor_u64(c);
	if (type & PERF_SAMPLE_ID)
		r->id = cursor_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		r->stream_id = cursor_u64(c);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(r, c);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = cursor_u64(c);
	if (type & PERF_SAMPLE_READ)
		s->read = take_read(c, shape->read_format);
}

/* From the call chain to the registers and the stack. */
static void take_sample_stacks(struct record_sample *s, const struct record_shape *shape,
			       struct cursor *c)
{
	uint64_t type = shape->sample_type;

	if (type & PERF_SAMPLE_CALLCHAIN)
		s->chain = take_words(c, cursor_u64(c));
	if (type & PERF_SAMPLE_RAW)
		s->raw = take_bytes(c, cursor_u32(c));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(s, shape, c);
	if (type & PERF_SAMPLE_REGS_USER)
		s->user = take_regs(c, shape->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(s, c);
}

/* What stands behind the stack. */
static void take_sample_tail(struct record_sample *s, const struct record_shape *shape,
			     struct cursor *c)
{
	uint64_t type = shape->sample_type;

	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		s->weight = cursor_u64(c);
	if (type & PERF_SAMPLE_DATA_SRC)
		s->data_src = cursor_u64(c);
	if (type & PERF_SAMPLE_TRANSACTION)
		s->transaction = cursor_u64(c);
	if (type & PERF_SAMPLE_REGS_INTR)
		s->intr = take_regs(c, shape->regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		s->phys_addr = cursor_u64(c);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = cursor_u64(c);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		s->data_page_bytes = cursor_u64(c);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		s->code_page_bytes = cursor_u64(c);
	if (type & PERF_SAMPLE_AUX)
		s->aux = take_bytes(c, cursor_u64(c));
}

static void take_sample(struct record *r, const struct record_shape *shape, struct cursor *c)
{
	r->has = shape->sample_type & RECORD_ID_BITS;
	take_sample_head(r, shape, c);
	take_sample_stacks(&r->sample, shape, c);
	take_sample_tail(&r->sample, shape, c);
}

/* Parts the id that ends every record but samples from the rest. */
static void take_trailer(struct record *r, const struct record_shape *shape, struct cursor *c)
{
	uint64_t bits = shape->sample_type & RECORD_ID_BITS;
	size_t len = 8 * (size_t)count_bits(bits);
	struct cursor t;

	/* A record too short for the id is one that user space wrote without any. */
	if (!shape->sample_id_all || len > cursor_left(c))
		return;
	t = cursor_make(c->end - len, len);
	c->end -= len;
	r->has = bits;
	if (bits & PERF_SAMPLE_TID)
		take_tid(r, &t);
	if (bits & PERF_SAMPLE_TIME)
		r->time = cursor_u64(&t);
	if (bits & PERF_SAMPLE_ID)
		r->id = cursor_u64(&t);
	if (bits & PERF_SAMPLE_STREAM_ID)
		r->stream_id = cursor_u64(&t);
	if (bits & PERF_SAMPLE_CPU)
		take_cpu(r, &t);
	if (bits & PERF_SAMPLE_IDENTIFIER)
		r->identifier = cursor_u64(&t);
}

/*
 * The kernel leaves the bit that promises a build id set when it goes on from an event that
 * asked for one to an event of somebody else (to 6.18), whose record has device and inode: its
 * size is the device's major number then, and its bytes those of the minor number, inode and
 * generation. A minor number has 20 bits; behind a short id there are zeros.
 */
static bool is_build_id(const unsigned char *field)
{
	size_t len = field[0];
	const unsigned char *id = field + 4;
	const unsigned char *high = id + 2; /* of a little-endian minor number */

	if (len == RECORD_BUILD_ID_MAX)
		return true;
	if (len > RECORD_BUILD_ID_MAX || ((high[0] & 0xf0) == 0 && high[1] == 0))
		return false;
	for (size_t i = len; i < RECORD_BUILD_ID_MAX; i++)
		if (id[i] != 0)
			return false;
	return true;
}

/* The build id with its size in front, or device, inode and its generation. */
static void take_file_id(struct record_mmap *m, bool may_be_build_id, struct cursor *c)
{
	struct cursor numbers;
	const unsigned char *field = cursor_bytes(c, 4 + RECORD_BUILD_ID_MAX);

	if (!field)
		return;
	if (may_be_build_id && is_build_id(field)) {
		m->build_id_len = field[0];
		memcpy(m->build_id, field + 4, m->build_id_len);
		return;
	}
	numbers = cursor_make(field, 4 + RECORD_BUILD_ID_MAX);
	m->has_inode = true;
	m->major = cursor_u32(&numbers);
	m->minor = cursor_u32(&numbers);
	m->ino = cursor_u64(&numbers);
	m->ino_generation = cursor_u64(&numbers);
}

static void take_mmap(struct record *r, struct cursor *c)
{
	struct record_mmap *m = &r->mmap;

	m->pid = cursor_u32(c);
	m->tid = cursor_u32(c);
	m->start = cursor_u64(c);
	m->len = cursor_u64(c);
	m->offset = cursor_u64(c);
	if (r->type == PERF_RECORD_MMAP2) {
		take_file_id(m, r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID, c);
		m->prot = cursor_u32(c);
		m->flags = cursor_u32(c);
	}
	m->path = take_text(c);
}

static void take_comm(struct record_comm *m, struct cursor *c)
{
	m->pid = cursor_u32(c);
	m->tid = cursor_u32(c);
	m->name = take_text(c);
}

static void take_task(struct record_task *t, struct cursor *c)
{
	t->pid = cursor_u32(c);
	t->ppid = cursor_u32(c);
	t->tid = cursor_u32(c);
	t->ptid = cursor_u32(c);
	t->time = cursor_u64(c);
}

static void take_lost(struct record *r, struct cursor *c)
{
	if (r->type == PERF_RECORD_LOST)
		r->lost.id = cursor_u64(c);
	r->lost.count = cursor_u64(c);
}

static void take_ksymbol(struct record_ksymbol *k, struct cursor *c)
{
	k->addr = cursor_u64(c);
	k->len = cursor_u32(c);
	k->type = cursor_u16(c);
	k->flags = cursor_u16(c);
	k->name = take_text(c);
}

static void take_namespaces(struct record_namespaces *n, struct cursor *c)
{
	uint64_t count;

	n->pid = cursor_u32(c);
	n->tid = cursor_u32(c);
	count = cursor_u64(c);
	if (count > RECORD_MAX_BYTES)
		count = RECORD_MAX_BYTES; /* more than can be there: bad below */
	n->pairs = take_words(c, 2 * count);
}

static void take_cgroup(struct record_cgroup *g, struct cursor *c)
{
	g->id = cursor_u64(c);
	g->path = take_text(c);
}

static void take_body(struct record *r, const struct record_shape *shape, struct cursor *c)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(r, c);
		break;
	case PERF_RECORD_COMM:
		take_comm(&r->comm, c);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(&r->task, c);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		take_lost(r, c);
		break;
	case PERF_RECORD_READ:
		take_tid(r, c);
		r->read = take_read(c, shape->read_format);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(&r->ksymbol, c);
		break;
	case PERF_RECORD_NAMESPACES:
		take_namespaces(&r->namespaces, c);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		r->switched.next_prev_pid = cursor_u32(c);
		r->switched.next_prev_tid = cursor_u32(c);
		break;
	case PERF_RECORD_CGROUP:
		take_cgroup(&r->cgroup, c);
		break;
	default:
		r->body = take_bytes(c, cursor_left(c));
	}
}

size_t record_len(const unsigned char *bytes, size_t len)
{
	uint16_t size;

	if (len < RECORD_HEADER_BYTES)
		return 0;
	size = record_claim(bytes);
	return size >= RECORD_HEADER_BYTES && size <= len ? size : 0;
}

uint16_t record_claim(const unsigned char *bytes)
{
	uint16_t size;

	memcpy(&size, bytes + 6, sizeof size);
	return size;
}

uint32_t record_type(const unsigned char *bytes)
{
	uint32_t type;

	memcpy(&type, bytes, sizeof type);
	return type;
}

#define BARE_TIME_AT RECORD_HEADER_BYTES
#define BARE_SIZE_AT (BARE_TIME_AT + 8)
#define BARE_RAW_AT (BARE_SIZE_AT + 4)

/* Samples of nothing but a time and raw data: they come in millions a second. */
static bool is_bare(const struct record_shape *shape, const unsigned char *bytes, size_t len)
{
	return shape->sample_type == (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW) &&
	       len >= RECORD_HEADER_BYTES && record_type(bytes) == PERF_RECORD_SAMPLE;
}

static int decode_bare(struct record *ret, const unsigned char *bytes, size_t len, struct err *e)
{
	uint32_t size = 0;

	if (len >= BARE_RAW_AT)
		memcpy(&size, bytes + BARE_SIZE_AT, sizeof size);
	if (len < BARE_RAW_AT || size > len - BARE_RAW_AT)
		return err_set(e, -EINVAL, "sample: %zu bytes are too few", len);
	*ret = (struct record){ .type = PERF_RECORD_SAMPLE, .has = PERF_SAMPLE_TIME };
	memcpy(&ret->misc, bytes + 4, sizeof ret->misc);
	memcpy(&ret->time, bytes + BARE_TIME_AT, sizeof ret->time);
	ret->sample.raw = (struct record_bytes){ bytes + BARE_RAW_AT, size };
	return 0;
}

int record_decode(struct record *ret, const struct record_shape *shape, const unsigned char *bytes,
		  size_t len, struct err *e)
{
	struct cursor c = cursor_make(bytes, len);
	struct record r;

	if (is_bare(shape, bytes, len))
		return decode_bare(ret, bytes, len, e);
	r = (struct record){ .type = cursor_u32(&c), .misc = cursor_u16(&c) };
	cursor_skip(&c, 2);
	if (r.type == PERF_RECORD_SAMPLE) {
		take_sample(&r, shape, &c);
	} else {
		take_trailer(&r, shape, &c);
		take_body(&r, shape, &c);
	}
	if (c.bad)
		return err_set(e, -EINVAL, "record of type %u: %zu bytes are too few", r.type, len);
	*ret = r;
	return 0;
}

/* The word `bit` of a record: counted from the start in samples, else from the end. */
static bool peek(const struct record_shape *shape, uint64_t bit, uint64_t before, uint64_t behind,
		 const unsigned char *bytes, size_t len, uint64_t *ret)
{
	uint64_t type = shape->sample_type;
	size_t at;

	if (!(type & bit))
		return false;
	if (len >= RECORD_HEADER_BYTES && record_type(bytes) == PERF_RECORD_SAMPLE) {
		at = RECORD_HEADER_BYTES + 8 * (size_t)count_bits(type & before);
		if (at + 8 > len)
			return false;
	} else {
		size_t back = 8 + 8 * (size_t)count_bits(type & behind);

		if (!shape->sample_id_all || len < RECORD_HEADER_BYTES + back)
			return false;
		at = len - back;
	}
	memcpy(ret, bytes + at, sizeof *ret);
	return true;
}

uint64_t record_peek_time(const struct record_shape *shape, const unsigned char *bytes, size_t len)
{
	uint64_t time;

	if (is_bare(shape, bytes, len) && len >= BARE_SIZE_AT) {
		memcpy(&time, bytes + BARE_TIME_AT, sizeof time);
		return time;
	}
	if (!peek(shape, PERF_SAMPLE_TIME,
		  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		  PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
		  bytes, len, &time))
		return 0;
	return time;
}

bool record_peek_id(const struct record_shape *shape, const unsigned char *bytes, size_t len,
		    uint64_t *ret_id)
{
	if (shape->sample_type & PERF_SAMPLE_IDENTIFIER)
		return peek(shape, PERF_SAMPLE_IDENTIFIER, 0, 0, bytes, len, ret_id);
	return peek(shape, PERF_SAMPLE_ID,
		    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
		    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU, bytes, len, ret_id);
}
