/* SPDX-License-Identifier: MIT */
#include "interp/python_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PTHREAD_TID 0x2d0 /* in glibc's struct pthread of x86-64, 2.28 to 2.36 and later */
#define TEXT_MAX (UINT64_C(1) << 20)
#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* What is put for a thread. */
struct result {
	struct python_stack head;
	struct python_frame frames[PYTHON_FRAMES_MAX];
};

static uint64_t read_word(struct python_reader *r, uint64_t at)
{
	uint64_t value;

	return r->read(r->context, at, &value, sizeof value) ? value : 0;
}

static uint64_t word_at(const unsigned char *bytes, uint32_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof value);
	return value;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * MIX;
	return h ^ h >> 32;
}

static bool is_thread(struct python_reader *r, uint64_t state, uint32_t tid)
{
	const struct python_layout *l = &r->process.layout;
	uint64_t id;
	uint32_t number;

	if (l->native_id)
		return read_word(r, state + l->native_id) == tid;
	id = read_word(r, state + l->thread_id);
	return id && r->read(r->context, id + PTHREAD_TID, &number, sizeof number) && number == tid;
}

/* Through all threads of all interpreters. 0: none. */
static uint64_t find_state(struct python_reader *r, uint32_t tid)
{
	const struct python_layout *l = &r->process.layout;
	uint64_t interp = read_word(r, r->process.runtime + l->interp_head), state = 0;

	for (unsigned i = 0; i < PYTHON_THREADS_MAX && (state || interp); i++) {
		if (!state) {
			state = read_word(r, interp + l->interp_threads);
			interp = read_word(r, interp + l->interp_next);
		} else if (is_thread(r, state, tid)) {
			return state;
		} else {
			state = read_word(r, state + PYTHON_THREAD_NEXT);
		}
	}
	return 0;
}

static void read_text(struct python_reader *r, uint64_t str, struct python_text *t, char *bytes)
{
	const struct python_layout *l = &r->process.layout;
	uint64_t header[5]; /* count, type, length, hash, state */
	uint32_t state;

	*t = (struct python_text){ 0 };
	if (!r->read(r->context, str, header, sizeof header))
		return;
	state = (uint32_t)header[4];
	t->width = state >> 2 & 7;
	t->is_ascii = state >> 6 & 1;
	if (!(state >> 5 & 1) || (t->width != 1 && t->width != 2 && t->width != 4)) {
		t->width = 0;
		return;
	}
	t->at = str + (t->is_ascii ? l->ascii_data : l->compact_data);
	t->bytes = (uint32_t)(header[2] > TEXT_MAX ? TEXT_MAX : header[2]) * t->width;
	t->got = t->bytes > PYTHON_TEXT_BYTES ? PYTHON_TEXT_BYTES : (uint16_t)t->bytes;
	if (!r->read(r->context, t->at, bytes, t->got))
		t->got = 0;
}

static int put_code(struct python_reader *r, const unsigned char *code, uint64_t id,
		    struct python_stacks *s)
{
	const struct python_layout *l = &r->process.layout;
	struct python_code *n = calloc(1, sizeof *n);
	uint64_t table = word_at(code, l->table);
	int rc;

	if (!n)
		return -ENOMEM;
	n->kind = PYTHON_CODE;
	n->minor = l->minor;
	n->tgid = r->tgid;
	n->id = id;
	n->instructions = l->instructions;
	memcpy(&n->first_line, code + l->first_line, sizeof n->first_line);
	read_text(r, word_at(code, l->name), &n->name, n->name_bytes);
	read_text(r, word_at(code, l->file), &n->file, n->file_bytes);
	n->table_at = table + 32;
	n->table_bytes = read_word(r, table + 16);
	n->table_got =
		n->table_bytes > PYTHON_TABLE_BYTES ? PYTHON_TABLE_BYTES : (uint32_t)n->table_bytes;
	if (!r->read(r->context, n->table_at, n->table, n->table_got))
		n->table_got = 0;
	rc = python_stacks_put(s, n, offsetof(struct python_code, table) + n->table_got);
	free(n);
	return rc;
}

/* The id of a code object, by its contents. *ret 0: it is none. 0 or -ENOMEM. */
static int identify(struct python_reader *r, uint64_t address, struct python_stacks *s,
		    uint64_t *ret)
{
	const struct python_layout *l = &r->process.layout;
	unsigned char code[PYTHON_CODE_BYTES];
	uint32_t line;
	uint64_t id;
	int rc;

	*ret = 0;
	if (!r->read(r->context, address, code, l->code_bytes) ||
	    (r->process.code_type && word_at(code, 8) != r->process.code_type))
		return 0;
	memcpy(&line, code + l->first_line, sizeof line);
	id = mix(mix(mix(r->tgid, address), word_at(code, l->name)), word_at(code, l->file));
	id = mix(mix(id, word_at(code, l->table)), read_word(r, word_at(code, l->name) + 24));
	id = mix(id, line);
	id = id ? id : 1;
	if (map_get(r->seen, id) == MAP_NONE) {
		rc = put_code(r, code, id, s);
		if (rc == 0)
			rc = map_put(r->seen, id, 1);
		if (rc < 0)
			return rc;
	}
	*ret = id;
	return 0;
}

static int32_t place_of(const struct python_layout *l, const unsigned char *frame, uint64_t code)
{
	int32_t at;

	if (l->owner)
		return (int32_t)(word_at(frame, l->instr) - code);
	memcpy(&at, frame + l->instr, sizeof at);
	return at;
}

/* One frame, whose memory is given. false: it is none. */
static bool add_frame(struct python_reader *r, const unsigned char *frame, struct result *to,
		      struct python_stacks *s, int *rc)
{
	const struct python_layout *l = &r->process.layout;
	struct python_frame *f = &to->frames[to->head.count];
	uint64_t code, id;

	*f = (struct python_frame){ 0 };
	if (l->owner && frame[l->owner] >= PYTHON_OWNER_C) {
		f->flags = PYTHON_FRAME_SHIM;
	} else {
		code = word_at(frame, l->code) & ~(uint64_t)PYTHON_TAG;
		*rc = identify(r, code, s, &id);
		if (*rc < 0 || !id)
			return false;
		f->id = id;
		f->at = place_of(l, frame, code);
		if (l->is_entry ? frame[l->is_entry] : !l->owner)
			f->flags = PYTHON_FRAME_ENTRY;
	}
	to->head.count++;
	return true;
}

static int walk(struct python_reader *r, uint64_t at, struct result *to, struct python_stacks *s)
{
	const struct python_layout *l = &r->process.layout;
	unsigned char frame[PYTHON_FRAME_BYTES];
	int rc = 0;

	to->head.end = PYTHON_WHOLE;
	while (at && rc == 0 && to->head.end == PYTHON_WHOLE) {
		if (to->head.count == PYTHON_FRAMES_MAX)
			to->head.end = PYTHON_CUT;
		else if (!r->read(r->context, at, frame, l->frame_bytes) ||
			 !add_frame(r, frame, to, s, &rc))
			to->head.end = PYTHON_DROPPED;
		else
			at = word_at(frame, l->previous);
	}
	return rc;
}

int python_read_stack(struct python_reader *r, uint32_t tid, uint32_t inner_tid, uint64_t time_ns,
		      struct python_stacks *s)
{
	const struct python_layout *l = &r->process.layout;
	uint64_t state = find_state(r, inner_tid), top;
	struct result *to;
	int rc;

	if (!state)
		return 0;
	to = malloc(sizeof *to);
	if (!to)
		return -ENOMEM;
	to->head = (struct python_stack){ .kind = PYTHON_STACK,
					  .minor = l->minor,
					  .tgid = r->tgid,
					  .tid = tid,
					  .time_ns = time_ns };
	top = read_word(r, state + l->top_frame);
	if (l->has_cframe && top)
		top = read_word(r, top + l->cframe_frame);
	rc = walk(r, top, to, s);
	if (rc == 0)
		rc = python_stacks_put(s, to,
				       sizeof to->head + to->head.count * sizeof to->frames[0]);
	free(to);
	return rc;
}
