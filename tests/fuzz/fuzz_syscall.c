/* SPDX-License-Identifier: MIT */
/*
 * System calls of a hostile program, one behind the other: each is printed, and its files are
 * followed, without harm.
 *
 * Input, for each call: bits (HAS_END, ...), the number (2 bytes; its first bit: of 32-bit code),
 * the result (8), six arguments (8 each), and for each pointer the length of the memory (2) and the
 * memory.
 */
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "fuzz.h"
#include "syscalls/decode.h"
#include "syscalls/names.h"

#define NOBODY 0x7ffffff0 /* no process has this number */

enum { HAS_END = 1, IS_CUT = 2, EXITS = 4, FORKS = 8 };

/* Of vectors we say ourselves how much of them was read. */
static void bound_vectors(char *bytes, size_t len)
{
	struct syscall_iovec v;

	for (size_t at = 0; at + sizeof v <= len; at += sizeof v) {
		memcpy(&v, bytes + at, sizeof v);
		v.got %= sizeof v.bytes + 1;
		memcpy(bytes + at, &v, sizeof v);
	}
}

/* As syscall_read_memory() does it: no NUL in a string, one behind each string of a list. */
static void take_memory(struct cursor *in, const struct syscall_fetch *f, bool is_cut,
			struct syscall *c, char *to)
{
	struct syscall_memory *m = &c->memory[c->memory_count++];
	size_t len = cursor_u16(in) % (f->limit + 1u);
	const unsigned char *bytes;

	if (len > cursor_left(in))
		len = cursor_left(in);
	bytes = cursor_bytes(in, len);
	if (len)
		memcpy(to, bytes, len);
	if (f->kind == FETCH_STRING)
		len = strnlen(to, len);
	else if (f->kind == FETCH_STRINGS && len)
		to[len - 1] = '\0';
	else if (f->kind == FETCH_VECTORS || f->kind == FETCH_MESSAGE)
		bound_vectors(to, len);
	*m = (struct syscall_memory){ f->arg, is_cut, (uint16_t)len, to };
}

static void see(struct syscall_files *files, const struct syscall *c, unsigned bits)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	syscall_decode_args(c, files, &text);
	syscall_decode_result(c, files, &text);
	FUZZ_CHECK(buf_error(&text) == 0);
	syscall_files_apply(files, c);
	if (bits & FORKS)
		syscall_files_fork(files, c->pid ^ 1, c->pid);
	if (bits & EXITS)
		syscall_files_exit(files, c->pid);
	FUZZ_CHECK(!files->bad);
}

static void take_call(struct cursor *in, struct syscall_files *files)
{
	char bytes[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES];
	struct syscall_fetch fetches[SYSCALL_FETCHES];
	struct syscall c = { .pid = NOBODY, .has_start = true };
	unsigned bits = cursor_u8(in), number = cursor_u16(in);
	size_t count;

	c.has_end = bits & HAS_END;
	c.nr = number % (SYSCALL_NAMES + 1) | (number & 0x8000 ? SYSCALL_32BIT : 0);
	c.ret = (int64_t)cursor_u64(in);
	for (size_t i = 0; i < ARRAY_LEN(c.args); i++)
		c.args[i] = cursor_u64(in);
	count = syscall_fetches(c.nr, true, fetches);
	for (size_t i = 0; i < count && cursor_left(in); i++)
		take_memory(in, &fetches[i], bits & IS_CUT, &c, bytes[i]);
	see(files, &c, bits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct syscall_files files = { .strings = strtab_new(), .skips_proc = true };
	struct cursor in = cursor_make(data, size);

	FUZZ_CHECK(files.strings && strtab_intern(files.strings, "", 0) == 0);
	while (cursor_left(&in))
		take_call(&in, &files);
	syscall_files_fini(&files);
	strtab_free(files.strings);
	return 0;
}
