/* SPDX-License-Identifier: MIT */
/* Python frames read from memory: made for each version, and hostile. */
#include <stdlib.h>
#include <string.h>

#include "interp/python_layout.h"
#include "interp/python_read.h"
#include "tap.h"

#define BASE 0x10000u
#define TID 77

/* A process' memory: [BASE..BASE + sizeof bytes). */
struct memory {
	unsigned char bytes[32768];
	size_t reads;
};

static bool read_memory(void *memory, uint64_t at, void *to, size_t len)
{
	struct memory *m = memory;

	m->reads++;
	if (at < BASE || at - BASE > sizeof m->bytes || len > sizeof m->bytes - (at - BASE))
		return false;
	memcpy(to, m->bytes + (at - BASE), len);
	return true;
}

static void set(struct memory *m, uint64_t at, uint64_t value)
{
	memcpy(m->bytes + (at - BASE), &value, sizeof value);
}

static void set_text(struct memory *m, uint64_t at, const char *text, const struct python_layout *l)
{
	set(m, at + 16, strlen(text));
	set(m, at + 24, 4711 + (uint64_t)text[0]); /* hash */
	set(m, at + 32, 1u << 2 | 1u << 5 | 1u << 6);
	memcpy(m->bytes + (at + l->ascii_data - BASE), text, strlen(text));
}

enum {
	RUNTIME = BASE,
	INTERP = BASE + 0x1000,
	STATE = BASE + 0x3000,
	PTHREAD = BASE + 0x3800,
	CFRAME = BASE + 0x3f00,
	FRAMES = BASE + 0x4000, /* of 0x100 bytes each, innermost first */
	CODES = BASE + 0x5000,  /* of 0x400 each, with their texts */
	CODE_TYPE = BASE + 0x7f00,
};

static void make_code(struct memory *m, unsigned index, const char *name,
		      const struct python_layout *l)
{
	uint64_t code = CODES + 0x400 * index;
	uint32_t line = 100 * (index + 1);

	set(m, code + 8, CODE_TYPE);
	set(m, code + l->name, code + 0x100);
	set(m, code + l->file, code + 0x200);
	set(m, code + l->table, code + 0x300);
	memcpy(m->bytes + (code + l->first_line - BASE), &line, sizeof line);
	set_text(m, code + 0x100, name, l);
	set_text(m, code + 0x200, "script.py", l);
}

static void make_frame(struct memory *m, unsigned index, unsigned code, bool is_last,
		       const struct python_layout *l)
{
	uint64_t frame = FRAMES + 0x100 * index;

	set(m, frame + l->previous, is_last ? 0 : frame + 0x100);
	set(m, frame + l->code, CODES + 0x400 * code);
	if (l->owner)
		set(m, frame + l->instr, CODES + 0x400 * code + l->instructions);
	if (l->is_entry)
		m->bytes[frame + l->is_entry - BASE] = is_last;
}

/* A thread in inner(), called by outer(); from 3.12 on a shim is outermost. */
static struct memory *make(const struct python_layout *l)
{
	struct memory *m = calloc(1, sizeof *m);
	bool has_shim = l->owner && !l->is_entry;
	uint32_t tid = TID;

	if (!m)
		abort();
	set(m, RUNTIME + l->interp_head, INTERP);
	set(m, INTERP + l->interp_threads, STATE);
	set(m, STATE + PYTHON_THREAD_INTERP, INTERP);
	set(m, STATE + l->thread_id, PTHREAD);
	if (l->native_id)
		set(m, STATE + l->native_id, TID);
	memcpy(m->bytes + (PTHREAD + 0x2d0 - BASE), &tid, sizeof tid);
	set(m, STATE + l->top_frame, l->has_cframe ? CFRAME : FRAMES);
	if (l->has_cframe)
		set(m, CFRAME + l->cframe_frame, FRAMES);
	make_code(m, 0, "inner", l);
	make_code(m, 1, "outer", l);
	make_frame(m, 0, 0, false, l);
	make_frame(m, 1, 1, !has_shim, l);
	if (has_shim) {
		make_frame(m, 2, 0, true, l);
		m->bytes[FRAMES + 0x200 + l->owner - BASE] = PYTHON_OWNER_C;
	}
	return m;
}

/* The frames as text; "": none. */
static void show(struct memory *m, unsigned minor, struct buf *out)
{
	struct map seen = { 0 };
	struct profile *p = profile_new();
	struct python_reader r = { .process = { .runtime = RUNTIME,
						.code_type = CODE_TYPE,
						.layout = *python_layout_of(minor) },
				   .tgid = 1,
				   .read = read_memory,
				   .context = m,
				   .seen = &seen };
	struct python_stacks s;
	struct interp_stack found = { 0 };

	CHECK_INT(python_stacks_init(&s), 0);
	codes_use(s.codes, p);
	CHECK_INT(python_read_stack(&r, 5, TID, 1234, &s), 0);
	if (!python_stacks_find(&s, 5, 1234, &found))
		found.count = 0;
	for (size_t i = 0; i < found.count && i < 8; i++) {
		struct location l = profile_get_location(p, found.frames[i].location);
		const struct function *f = profile_get_function(p, l.lines[0].function);

		buf_printf(out, "%s:%lld%s ", profile_text(p, f->name), (long long)l.lines[0].line,
			   found.frames[i].is_entry ? "." : "");
	}
	if (found.count > 8)
		buf_printf(out, "%zu", found.count);
	python_stacks_fini(&s);
	map_fini(&seen);
	profile_free(p);
}

static void check(struct memory *m, unsigned minor, const char *expected)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	show(m, minor, &out);
	CHECK_STR(out.data ? out.data : "", expected);
}

static void test_versions(void)
{
	for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_TABLE_MAX; minor++) {
		const struct python_layout *l = python_layout_of(minor);
		struct memory *m = make(l);

		check(m, minor, minor <= 10 ? "inner:100. outer:200. " : "inner:100 outer:200. ");
		free(m);
	}
}

/* Chains that a process may forge, or that are read while they change. */
static void test_hostile(void)
{
	for (unsigned minor = PYTHON_MINOR_MIN; minor <= PYTHON_MINOR_TABLE_MAX; minor++) {
		const struct python_layout *l = python_layout_of(minor);
		struct memory *m = make(l);
		CLEANUP(buf_fini) struct buf out = { 0 };

		set(m, FRAMES + 0x100 + l->previous, FRAMES); /* a loop */
		show(m, minor, &out);
		CHECK(out.len && strcmp(out.data + out.len - 4, "4096") == 0);
		set(m, FRAMES + 0x100 + l->previous, 42); /* unreadable */
		check(m, minor, "");
		free(m);

		m = make(l);
		set(m, CODES + 8, 1); /* no code object */
		check(m, minor, "");
		free(m);

		m = make(l);
		set(m, CODES + 0x100 + 16, UINT64_MAX); /* a name of 2^64 characters */
		set(m, CODES + 0x300 + 16, UINT64_MAX); /* and such a table */
		set(m, CODES + 0x600 + 32, 7u << 2);    /* and a file's name of no width */
		buf_clear(&out);
		show(m, minor, &out);
		CHECK(out.len > 0 && strncmp(out.data, "inner", 5) == 0);
		free(m);

		m = make(l);
		set(m, STATE + PYTHON_THREAD_NEXT, STATE); /* threads in a circle, none is ours */
		set(m, STATE + l->native_id, 1);
		set(m, STATE + l->thread_id, INTERP);
		check(m, minor, "");
		CHECK(m->reads < 4 * PYTHON_THREADS_MAX);
		free(m);
	}
}

int main(void)
{
	TAP_CASE(test_versions);
	TAP_CASE(test_hostile);
	return tap_done();
}
