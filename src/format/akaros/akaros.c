/* SPDX-License-Identifier: MIT */
#include "format/akaros/akaros.h"

#include <assert.h>

#include "base/cursor.h"
#include "format/akaros/records.h"

#define MARKER 0xeeu /* no address of x86-64 begins with it */
#define VERSION 1u
#define HEADER_BYTES 16
#define WORD_BYTES 8
#define OLD_FRAMES 8       /* of the records of May 2014 */
#define MARKS_IN_A_ROW 256 /* that are looked at to find where they end */

static const char *const suffixes[] = { ".kprof", NULL };

const struct format format_akaros = {
	.name = "akaros",
	.summary = "samples of Akaros' profiler and of auger control",
	.mark = "its records",
	.lost = "times of samples",
	.suffixes = suffixes,
	.detect = akaros_detect,
	.read = akaros_read,
	.write = akaros_write,
	.is_foreign = true,
};

static uint64_t word_at(const struct akaros_trace *t, size_t at)
{
	struct cursor c = cursor_make(t->data + at, t->len - at);

	return cursor_u64(&c);
}

static bool is_header(uint64_t word)
{
	return word >> 56 == MARKER && (word >> 32 & 0xffff) == 0;
}

static bool is_inside(const struct akaros_trace *t, size_t at, size_t len)
{
	return at <= t->len && t->len - at >= len;
}

/* A sample with a header; false: there is none here, or not all of it. */
static bool parse_sample(struct akaros_trace *t, struct akaros_sample *ret)
{
	uint64_t word = word_at(t, t->at);
	size_t count = word & 0xff;

	if (!is_header(word))
		return false;
	if (!is_inside(t, t->at, HEADER_BYTES + WORD_BYTES * count)) {
		t->is_cut = true;
		return false;
	}
	*ret = (struct akaros_sample){
		.ns = word_at(t, t->at + WORD_BYTES),
		.core = (uint32_t)(word >> 16 & 0xffff),
		.pid = AKAROS_NO_PID,
		.count = count,
		.pcs = t->data + t->at + HEADER_BYTES,
	};
	t->unknown += (word >> 48 & 0xff) != VERSION;
	t->at += HEADER_BYTES + WORD_BYTES * count;
	t->is_cut = false;
	return true;
}

/* {pc, nanoseconds} that a program wrote to kpoprofile. */
static bool is_mark(const struct akaros_trace *t, size_t at)
{
	return is_inside(t, at, 2 * WORD_BYTES) && word_at(t, at) && !is_header(word_at(t, at)) &&
	       word_at(t, at + WORD_BYTES) && (word_at(t, at + WORD_BYTES) & 0xf) == 0;
}

/* Marks look like anything: they count when a sample or the end is behind them. */
static bool is_sure_mark(const struct akaros_trace *t)
{
	size_t at = t->at;

	for (unsigned i = 0; i < MARKS_IN_A_ROW && is_mark(t, at); i++) {
		at += 2 * WORD_BYTES;
		if (at == t->len || (is_inside(t, at, WORD_BYTES) && is_header(word_at(t, at))))
			return true;
	}
	return false;
}

/* {pc, nanoseconds | 8, pc, seven callers or zeros} of May 2014. */
static bool parse_old(struct akaros_trace *t, struct akaros_sample *ret)
{
	size_t pcs = t->at + 2 * WORD_BYTES, count = OLD_FRAMES;
	uint64_t stamp;

	if (!is_inside(t, pcs, OLD_FRAMES * WORD_BYTES))
		return false;
	stamp = word_at(t, t->at + WORD_BYTES);
	if ((stamp & 0xf) != OLD_FRAMES || word_at(t, t->at) != word_at(t, pcs) || !word_at(t, pcs))
		return false;
	while (!word_at(t, pcs + WORD_BYTES * (count - 1)))
		count--;
	*ret = (struct akaros_sample){ .ns = stamp & ~UINT64_C(0xf),
				       .core = AKAROS_NO_CORE,
				       .pid = AKAROS_NO_PID,
				       .count = count,
				       .pcs = t->data + pcs };
	t->at = pcs + OLD_FRAMES * WORD_BYTES;
	return true;
}

static bool parse_any(struct akaros_trace *t, struct akaros_sample *ret)
{
	if (parse_sample(t, ret) || parse_old(t, ret))
		return true;
	if (!is_sure_mark(t))
		return false;
	*ret = (struct akaros_sample){ .ns = word_at(t, t->at + WORD_BYTES),
				       .core = AKAROS_NO_CORE,
				       .pid = AKAROS_NO_PID,
				       .count = 1,
				       .pcs = t->data + t->at };
	t->at += 2 * WORD_BYTES;
	return true;
}

static void skip(struct akaros_trace *t, size_t len, bool is_start)
{
	if (is_start && !t->holes++)
		t->first_hole = t->at;
	t->at += len;
	t->skipped += len;
}

bool akaros_next(struct akaros_trace *t, struct akaros_sample *ret)
{
	bool is_start = true;

	while (is_inside(t, t->at, HEADER_BYTES)) {
		if (parse_any(t, ret))
			return true;
		skip(t, WORD_BYTES, is_start);
		is_start = false;
	}
	if (t->at < t->len) {
		t->is_cut |= is_inside(t, t->at, WORD_BYTES) && is_header(word_at(t, t->at));
		skip(t, t->len - t->at, is_start);
	}
	return false;
}

void akaros_put_sample(struct buf *out, uint32_t core, uint64_t ns, const uint64_t *pcs,
		       size_t count)
{
	assert(count <= AKAROS_MAX_FRAMES);
	buf_put_u64(out, (uint64_t)MARKER << 56 | (uint64_t)VERSION << 48 |
				 (uint64_t)(core & 0xffff) << 16 | count);
	buf_put_u64(out, ns);
	for (size_t i = 0; i < count; i++)
		buf_put_u64(out, pcs[i]);
}

bool akaros_detect(const unsigned char *data, size_t len)
{
	struct akaros_trace t = { .data = data, .len = len };
	uint64_t word;

	if (len < HEADER_BYTES)
		return false;
	word = word_at(&t, 0);
	return (is_header(word) && (word >> 48 & 0xff) == VERSION && (word >> 8 & 0xff) == 0) ||
	       akaros_records_detect(data, len);
}
