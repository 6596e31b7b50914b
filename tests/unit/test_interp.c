/* SPDX-License-Identifier: MIT */
/* Frames of interpreters: merging with native stacks, lines, text, joining by thread and time. */
#include <string.h>

#include "base/buf.h"
#include "interp/merge.h"
#include "interp/python_layout.h"
#include "interp/python_lines.h"
#include "interp/python_stacks.h"
#include "interp/python_text.h"
#include "tap.h"

/* Native frames are letters, innermost first: 'E' an evaluation loop, 'f' what passes calls on.
 * The interpreter's are digits, '.' ends a segment. */
static void merge(const char *native, bool is_whole, const char *frames, bool keeps_native,
		  struct buf *out, enum interp_fit *fit)
{
	uint8_t kinds[32];
	struct interp_frame f[32];
	struct rows items = { 0 };
	struct interp_stack s = { .frames = f };
	const struct interp_item *item;

	for (size_t i = 0; native[i]; i++)
		kinds[i] = native[i] == 'E'   ? INTERP_EVAL
			   : native[i] == 'f' ? INTERP_FOLD
					      : INTERP_OTHER;
	for (; *frames; frames++) {
		if (*frames != '.')
			f[s.count++] = (struct interp_frame){ (uint32_t)(*frames - '0'), false };
		else if (s.count && !f[s.count - 1].is_entry)
			f[s.count - 1].is_entry = true;
		else
			f[s.count++] = (struct interp_frame){ 0, true };
	}
	CHECK_INT(interp_merge(kinds, strlen(native), is_whole, &s, keeps_native, &items, fit), 0);
	item = items.data;
	for (size_t i = 0; i < items.count; i++)
		buf_put_byte(out, item[i].is_interp
					  ? (unsigned char)('0' + f[item[i].index].location)
					  : (unsigned char)native[item[i].index]);
	rows_fini(&items);
}

static void test_merge(void)
{
	static const struct {
		const char *native;
		bool is_whole;
		const char *frames;
		bool keeps_native;
		const char *merged;
		enum interp_fit fit;
	} rows[] = {
		{ "aEm", true, "12.", false, "a12m", INTERP_FITS },
		{ "aEfEm", true, "1.2.", false, "a12m", INTERP_FITS },
		{ "faEfsfEfm", true, "12.3.", false, "fa12s3m", INTERP_FITS },
		{ "ffEm", true, "1.", false, "1m", INTERP_FITS },
		{ "aEfEm", true, "1.", false, "a1m", INTERP_FITS },     /* the innermost is new */
		{ "aEsEm", true, "..1.", false, "a1m", INTERP_MISFIT }, /* one segment too many */
		{ "aEsEm", true, ".1.", false, "as1m", INTERP_FITS },   /* one without frames */
		{ "aEsE", false, "1.2.3.4.", false, "a1s234", INTERP_EXTENDED },
		{ "aEsEt", false, "1.2.3.", false, "a1s2t3", INTERP_EXTENDED },
		{ "aEm", true, "1.2.3.", false, "a123m", INTERP_MISFIT },
		{ "aEbEcEm", true, "1.", false, "a1m", INTERP_MISFIT },
		{ "am", true, "12.", false, "am12", INTERP_MISFIT },
		{ "", true, "12.", false, "12", INTERP_MISFIT },
		{ "fEfEfm", true, "1.2.", true, "f1Ef2Efm", INTERP_FITS },
		{ "fEfEfm", true, "2.", true, "fEf2Efm", INTERP_FITS },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		enum interp_fit fit;

		merge(rows[i].native, rows[i].is_whole, rows[i].frames, rows[i].keeps_native, &out,
		      &fit);
		CHECK_STR(out.data ? out.data : "", rows[i].merged);
		CHECK_INT(fit, rows[i].fit);
	}
}

static void test_kinds(void)
{
	struct interp_range ranges[] = { { 10, 20, INTERP_EVAL }, { 20, 30, INTERP_FOLD } };
	const struct interp_file f = { ranges, 2 };

	CHECK_INT(interp_kind_of(&f, 9), INTERP_OTHER);
	CHECK_INT(interp_kind_of(&f, 10), INTERP_EVAL);
	CHECK_INT(interp_kind_of(&f, 19), INTERP_EVAL);
	CHECK_INT(interp_kind_of(&f, 20), INTERP_FOLD);
	CHECK_INT(interp_kind_of(&f, 30), INTERP_OTHER);
	CHECK_INT(interp_kind_of(&(struct interp_file){ 0 }, 1), INTERP_OTHER);
}

/* Tables of "def f():\n  a\n  b\n\n  c" by each version, cut to what matters. */
static void test_lines(void)
{
	static const struct {
		unsigned minor;
		unsigned char table[16];
		size_t len;
		int64_t at, line;
	} rows[] = {
		{ 9, { 0, 1, 4, 1, 6, 2 }, 6, 0, 11 },
		{ 9, { 0, 1, 4, 1, 6, 2 }, 6, 3, 11 },
		{ 9, { 0, 1, 4, 1, 6, 2 }, 6, 4, 12 },
		{ 9, { 0, 1, 4, 1, 6, 2 }, 6, 100, 14 },
		{ 9, { 4, 0xff }, 2, 4, 9 },
		{ 9, { 4 }, 1, 4, 10 },
		{ 10, { 4, 1, 6, 1, 2, 0x80, 2, 3 }, 8, 0, 11 },
		{ 10, { 4, 1, 6, 1, 2, 0x80, 2, 3 }, 8, 2, 12 },
		{ 10, { 4, 1, 6, 1, 2, 0x80, 2, 3 }, 8, 5, 10 },
		{ 10, { 4, 1, 6, 1, 2, 0x80, 2, 3 }, 8, 6, 15 },
		{ 10, { 4, 1 }, 2, 1000, 10 },
		/* short form; one line on, two units; svarint -2; none; long form +3 */
		{ 11, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 0, 10 },
		{ 12, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 2, 11 },
		{ 12, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 5, 11 },
		{ 12, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 6, 9 },
		{ 13, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 8, 10 },
		{ 13, { 0x80, 0, 0xd9, 0, 0, 0xe8, 5, 0xf8, 0xf0, 6, 0, 0, 0 }, 13, 10, 12 },
		{ 13, { 0x80, 0, 0xd9, 0, 0 }, 5, -2, 10 },
		{ 13, { 0x00, 0 }, 2, 0, 10 },
		{ 13, { 0xf0 }, 1, 0, 10 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(python_line(rows[i].minor, rows[i].table, rows[i].len, 10, rows[i].at),
			  rows[i].line);
}

static void test_text(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	python_text_put(&out, "f\xe9", 2, 1, false);
	python_text_put(&out, "\x44\x04\xff\xff\x00\xd8", 6, 2, false);
	python_text_put(&out, "\x00\xf6\x01\x00\x00\x00\x11\x00\xff", 9, 4, true);
	python_text_put(&out, "abc", 3, 0, false);
	CHECK_STR(out.data,
		  "f\xc3\xa9\xd1\x84\xef\xbf\xbf\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd...");
}

/* A code object's record. */
static void put_code(struct python_stacks *s, uint64_t id, const char *name)
{
	struct python_code code = { .kind = PYTHON_CODE,
				    .minor = 9,
				    .first_line = 7,
				    .id = id,
				    .name = { .width = 1, .is_ascii = 1 },
				    .file = { .width = 1, .got = 4, .bytes = 4, .is_ascii = 1 } };

	code.name.got = (__u16)strlen(name);
	code.name.bytes = (__u32)strlen(name);
	memcpy(code.name_bytes, name, strlen(name));
	memcpy(code.file_bytes, "a.py", 4);
	CHECK_INT(python_stacks_put(s, &code, offsetof(struct python_code, table)), 0);
}

static void put_stack(struct python_stacks *s, uint32_t tid, uint64_t time_ns, uint64_t id,
		      uint16_t end)
{
	struct {
		struct python_stack head;
		struct python_frame frames[3];
	} r = { { .kind = PYTHON_STACK, .tid = tid, .time_ns = time_ns, .count = 3, .end = end },
		{ { id, 0, PYTHON_FRAME_ENTRY }, { 2, 0, 0 }, { 0, 0, PYTHON_FRAME_SHIM } } };

	CHECK_INT(python_stacks_put(s, &r, sizeof r), 0);
}

static void test_stacks(void)
{
	struct profile *p = profile_new();
	struct python_stacks s;
	struct interp_stack found;
	struct location l;

	CHECK_INT(python_stacks_init(&s), 0);
	codes_use(s.codes, p);
	put_code(&s, 1, "f");
	put_code(&s, 2, "g");
	put_stack(&s, 10, 1000, 1, PYTHON_WHOLE);
	put_stack(&s, 11, 1000, 2, PYTHON_WHOLE);
	put_stack(&s, 10, 2000, 3, PYTHON_WHOLE);
	put_stack(&s, 12, 1000, 1, PYTHON_DROPPED);
	CHECK(!python_stacks_find(&s, 12, 1000, &found));
	CHECK(!python_stacks_find(&s, 10, 1001, &found));
	CHECK(python_stacks_find(&s, 10, 1000, &found));
	if (CHECK_INT(found.count, 2)) {
		CHECK(found.frames[0].is_entry && found.frames[1].is_entry);
		l = profile_get_location(p, found.frames[0].location);
		CHECK_INT(l.line_count, 1);
		CHECK_INT(l.lines[0].line, 7);
		CHECK_STR(profile_text(p, profile_get_function(p, l.lines[0].function)->name), "f");
		CHECK_STR(profile_text(p, profile_get_mapping(p, l.mapping)->path), "a.py");
	}
	CHECK_INT(python_stacks_forget(&s, 1500), 0);
	CHECK(!python_stacks_find(&s, 11, 1000, &found));
	CHECK(python_stacks_find(&s, 10, 2000, &found)); /* its code is not known: [python] */
	CHECK_INT(s.dropped, 1);
	python_stacks_fini(&s);
	CHECK_INT(profile_error(p), 0);
	profile_free(p);
}

/* What a thread has of the lock is known without frames, too. */
static void test_locks(void)
{
	static const struct {
		uint16_t lock;
		bool is_found;
		enum interp_lock want;
	} rows[] = {
		{ PYTHON_LOCK_NONE, false, INTERP_LOCK_NONE },
		{ PYTHON_LOCK_HELD, true, INTERP_LOCK_HELD },
		{ PYTHON_LOCK_AWAITED, true, INTERP_LOCK_AWAITED },
		{ 77, false, INTERP_LOCK_NONE },
	};
	struct python_stacks s;
	struct interp_stack found = { 0 };

	CHECK_INT(python_stacks_init(&s), 0);
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct python_stack head = {
			.kind = PYTHON_STACK, .tid = i, .time_ns = 5, .lock = rows[i].lock
		};

		CHECK_INT(python_stacks_put(&s, &head, sizeof head), 0);
		CHECK_INT(python_stacks_find(&s, i, 5, &found), rows[i].is_found);
		if (rows[i].is_found)
			CHECK_INT(found.lock, rows[i].want);
		CHECK_INT(found.count, 0);
	}
	python_stacks_fini(&s);
}

/* Records that are cut, or count more than they have. */
static void test_bad_records(void)
{
	struct python_stacks s;
	struct interp_stack found;
	struct python_stack head = { .kind = PYTHON_STACK, .tid = 1, .time_ns = 5, .count = 1 };
	uint32_t kind = 77;

	CHECK_INT(python_stacks_init(&s), 0);
	CHECK_INT(python_stacks_put(&s, &kind, 2), 0);
	CHECK_INT(python_stacks_put(&s, &kind, sizeof kind), 0);
	CHECK_INT(python_stacks_put(&s, &head, 8), 0);
	CHECK_INT(python_stacks_put(&s, &head, sizeof head), 0);
	kind = PYTHON_CODE;
	CHECK_INT(python_stacks_put(&s, &kind, sizeof kind), 0);
	CHECK(!python_stacks_find(&s, 1, 5, &found));
	CHECK_INT(codes_count(s.codes), 0);
	python_stacks_fini(&s);
}

static void test_layouts(void)
{
	for (unsigned minor = 0; minor < 30; minor++) {
		const struct python_layout *l = python_layout_of(minor);

		CHECK((l != NULL) ==
		      (minor >= PYTHON_MINOR_MIN && minor <= PYTHON_MINOR_TABLE_MAX));
		if (!l)
			continue;
		CHECK(l->frame_bytes <= PYTHON_FRAME_BYTES && l->code_bytes <= PYTHON_CODE_BYTES);
		CHECK(l->previous + 8 <= l->frame_bytes && l->code + 8 <= l->frame_bytes);
		CHECK(l->instr + 8 <= l->frame_bytes && l->owner < l->frame_bytes);
		CHECK(l->table + 8 <= l->code_bytes && l->name + 8 <= l->code_bytes);
	}
}

/* The offsets of 3.13.0 for x86-64 as its _PyRuntime has them, or those of a version after it. */
static void make_offsets(uint64_t words[PYTHON_OFFSETS_BYTES / 8], unsigned minor)
{
	static const uint64_t numbers[] = { /* runtime, interpreter */
					    0, 0, 632, 0, 0, 7264, 7344, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					    /* thread */
					    0, 0, 8, 16, 72, 152, 160, 0, 32,
					    /* frame */
					    0, 8, 0, 56, 0, 70,
					    /* code */
					    0, 112, 120, 128, 136, 68, 0, 0, 0, 200
	};
	size_t to = 3;

	memset(words, 0, PYTHON_OFFSETS_BYTES);
	memcpy(words, "xdebugpy", 8);
	words[1] = 3u << 24 | minor << 16 | 0xf0;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		to += minor == 14 && i == 7;          /* threads_main */
		to += minor == 14 && i == 16 ? 2 : 0; /* generations */
		to += minor == 14 && i == 31 ? 2 : 0; /* stackpointer, tlbc_index */
		words[to++] = numbers[i];
	}
}

static void test_offsets(void)
{
	uint64_t words[PYTHON_OFFSETS_BYTES / 8];
	struct python_offsets got;
	struct python_layout want = *python_layout_of(13);

	make_offsets(words, 13);
	CHECK(python_offsets_read(words, sizeof words, &got));
	CHECK_INT(got.minor, 13);
	CHECK(memcmp(&got.layout, &want, sizeof want) == 0);
	CHECK(!python_offsets_read(words, sizeof words - 8, &got));

	make_offsets(words, 14);
	want.minor = 14;
	want.tss_key = 0;
	CHECK(python_offsets_read(words, sizeof words, &got));
	CHECK(memcmp(&got.layout, &want, sizeof want) == 0);
	words[2] = 1;
	CHECK(python_offsets_read(words, sizeof words, &got) && got.is_free_threaded);
	words[0]++;
	CHECK(!python_offsets_read(words, sizeof words, &got));
	make_offsets(words, 15);
	CHECK(!python_offsets_read(words, sizeof words, &got));
}

/* Members that do not lie where they can be read. */
static void test_bad_offsets(void)
{
	static const struct {
		unsigned word;
		uint64_t value;
	} rows[] = {
		{ 5, 0 },   { 21, 16 },  { 22, 8 },        { 23, 0 },
		{ 29, 65 }, { 29, 72 },  { 33, 200 },      { 35, (uint64_t)-8 },
		{ 37, 0 },  { 39, 144 }, { 43, 1u << 24 },
	};
	uint64_t words[PYTHON_OFFSETS_BYTES / 8];
	struct python_offsets got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		make_offsets(words, 13);
		words[rows[i].word] = rows[i].value;
		CHECK(python_offsets_read(words, sizeof words, &got));
		CHECK_INT(got.layout.minor, 0);
	}
}

int main(void)
{
	TAP_CASE(test_merge);
	TAP_CASE(test_kinds);
	TAP_CASE(test_lines);
	TAP_CASE(test_text);
	TAP_CASE(test_stacks);
	TAP_CASE(test_locks);
	TAP_CASE(test_bad_records);
	TAP_CASE(test_layouts);
	TAP_CASE(test_offsets);
	TAP_CASE(test_bad_offsets);
	return tap_done();
}
