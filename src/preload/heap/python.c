/* SPDX-License-Identifier: MIT */
#include "preload/heap/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interp/python_layout.h"
#include "interp/python_lines.h"
#include "preload/heap/file.h"
#include "preload/heap/spin.h"
#include "preload/heap/trie.h"

#define VERSION "3."
#define KNOWN_SLOTS 4096 /* places in code whose lines are remembered; a power of two */
#define CODE_SLOTS 8192  /* of code objects whose mappings are remembered; a power of two */
#define NAME_BYTES 1024
#define OFFSETS_MINOR_MIN 13 /* from here on _PyRuntime has its offsets */
#define MAPPINGS_MAX 65535
#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* A place in code. The address of a code object comes back with another one. */
struct known {
	uint64_t code, name, file; /* addresses; code 0: empty */
	uint64_t line;
	int32_t at;
	uint32_t mapping;
};

static struct {
	struct python_layout layout;
	uint64_t code_type; /* address of PyCode_Type */
	uint32_t lock;      /* of the rest */
	struct known known[KNOWN_SLOTS];
	uint32_t codes[CODE_SLOTS]; /* numbers of mappings, by the hash of their texts */
	char name[NAME_BYTES], file[HEAP_PATH_MAX];
} python;

void *(*python_thread_state)(void);

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address; /* NOLINT */
}

static int32_t int_at(uint64_t address)
{
	return *(const int32_t *)(uintptr_t)address; /* NOLINT */
}

/* false: its memory is not to be read. */
static bool find_layout(unsigned minor)
{
	const struct python_layout *known = python_layout_of(minor);
	const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	struct python_offsets own;

	if (minor >= OFFSETS_MINOR_MIN) {
		if (!runtime || !python_offsets_read(runtime, PYTHON_OFFSETS_BYTES, &own) ||
		    own.is_free_threaded)
			return false;
		python.layout = own.layout;
	} else if (known) {
		python.layout = *known;
	}
	return python.layout.minor;
}

void python_start(void)
{
	const char *(*version)(void);
	void *(*state)(void);
	int saved = errno;
	const char *text;

	*(void **)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	*(void **)&state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	python.code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
	text = version ? version() : "";
	if (state && python.code_type && strncmp(text, VERSION, sizeof VERSION - 1) == 0 &&
	    find_layout((unsigned)atoi(text + sizeof VERSION - 1)))
		python_thread_state = state;
	/* What dlsym() allocated to say what is missing is freed by the second call. */
	for (int i = 0; i < 2; i++)
		(void)dlerror();
	errno = saved;
}

void python_forget(void)
{
	python.lock = 0;
	memset(python.known, 0, sizeof python.known);
	memset(python.codes, 0, sizeof python.codes);
}

/* As UTF-8; what is no character becomes '?'. Returns the bytes. */
static size_t put_character(char *to, uint32_t c)
{
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		*to = '?';
		return 1;
	}
	for (size_t i = len; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(heads[len] | c);
	return len;
}

static void read_text(uint64_t str, char *to, size_t size)
{
	const struct python_layout *l = &python.layout;
	uint32_t state = (uint32_t)int_at(str + 32), width = state >> 2 & 7, c;
	uint64_t len = word_at(str + 16);
	const char *from =
		(const char *)(uintptr_t)(str + (state >> 6 & 1 ? l->ascii_data : l->compact_data));
	size_t n = 0;

	if (!(state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
		len = 0;
	for (uint64_t i = 0; i < len && n + 5 < size; i++) {
		c = 0;
		memcpy(&c, from + i * width, width);
		n += put_character(to + n, c);
	}
	to[n] = '\0';
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * MIX;
	return h ^ h >> 32;
}

static struct heap_mapping *mapping_at(uint32_t number)
{
	unsigned char *chunk = heap_file.chunks[HEAP_MAPPINGS][number / HEAP_MAPPINGS_A_CHUNK];

	return (struct heap_mapping *)(void *)chunk + number % HEAP_MAPPINGS_A_CHUNK;
}

static bool is_code(uint32_t number, uint64_t id)
{
	return number < file_header()->mapping_count && mapping_at(number)->is_script &&
	       mapping_at(number)->inode == id;
}

/* The number of the code object whose texts were read; under the lock of the file. */
static uint32_t put_code(int32_t first_line)
{
	struct heap_header *h = file_header();
	uint64_t id = hash_text(hash_text((uint32_t)first_line, python.name), python.file);
	uint32_t *slot = &python.codes[id % CODE_SLOTS], number = h->mapping_count;
	struct heap_mapping *m;

	if (is_code(*slot, id))
		return *slot;
	for (uint32_t i = 0; i < number; i++)
		if (is_code(i, id))
			return *slot = i;
	if (number == MAPPINGS_MAX)
		return HEAP_NO_MAPPING;
	m = file_reserve(HEAP_MAPPINGS, number, HEAP_MAPPINGS_A_CHUNK, sizeof *m);
	if (!m)
		return HEAP_NO_MAPPING;
	*m = (struct heap_mapping){ .end = 1,
				    .offset = first_line > 0 ? (uint64_t)first_line : 0,
				    .inode = id,
				    .path = file_put_string(python.file),
				    .function = file_put_string(python.name),
				    .is_script = 1 };
	__atomic_store_n(&h->mapping_count, number + 1, __ATOMIC_RELEASE);
	return *slot = number;
}

static uint64_t line_of(uint64_t code, int32_t at)
{
	const struct python_layout *l = &python.layout;
	uint64_t table = word_at(code + l->table);
	int64_t line = python_line(l->minor, (const unsigned char *)(uintptr_t)(table + 32),
				   word_at(table + 16), int_at(code + l->first_line),
				   (int64_t)at - l->instructions);

	return line > 0 ? (uint64_t)line : 0;
}

/* Under lock. */
static const struct known *find(uint64_t code, int32_t at)
{
	const struct python_layout *l = &python.layout;
	struct known *k = &python.known[((code >> 4 ^ (uint64_t)(uint32_t)at << 32) * MIX) >> 52];
	uint64_t name = word_at(code + l->name), file = word_at(code + l->file);

	static_assert(KNOWN_SLOTS == 1 << 12, "as many bits");
	if (k->code == code && k->at == at && k->name == name && k->file == file)
		return k;
	read_text(name, python.name, sizeof python.name);
	read_text(file, python.file, sizeof python.file);
	spin_lock(&heap_file.lock);
	*k = (struct known){ code, name,
			     file, line_of(code, at),
			     at,   put_code(int_at(code + l->first_line)) };
	spin_unlock(&heap_file.lock);
	return k;
}

/* To t->fresh, innermost first: pc is the code object, fp the place in it, sp whether it is the
 * last one of its evaluation loop. Returns their number; 0: it is no chain of frames. */
static uint32_t walk(struct thread *t, uint64_t frame)
{
	const struct python_layout *l = &python.layout;
	uint32_t count = 0;

	for (uint32_t step = 0; frame && step < FRAMES_MAX; step++) {
		struct frame *to = &t->fresh[count];
		const unsigned char *bytes = (const unsigned char *)(uintptr_t)frame; /* NOLINT */

		if (l->owner && bytes[l->owner] >= PYTHON_OWNER_C) {
			if (count)
				to[-1].sp = 1;
		} else {
			to->pc = word_at(frame + l->code) & ~(uint64_t)PYTHON_TAG;
			if (!to->pc || word_at(to->pc + 8) != python.code_type)
				return 0;
			to->fp = l->owner ? word_at(frame + l->instr) - to->pc
					  : (uint32_t)int_at(frame + l->instr);
			to->sp = l->is_entry ? bytes[l->is_entry] : !l->owner;
			count++;
		}
		frame = word_at(frame + l->previous);
	}
	return count;
}

uint32_t python_add_frames(struct thread *t, uint32_t node)
{
	const struct python_layout *l = &python.layout;
	uint64_t state = (uintptr_t)python_thread_state(), top;
	uint32_t count;

	top = state ? word_at(state + l->top_frame) : 0;
	if (l->has_cframe && top)
		top = word_at(top + l->cframe_frame);
	count = top ? walk(t, top) : 0;
	if (!count)
		return node;
	spin_lock(&python.lock);
	while (count-- > 0) {
		const struct frame *f = &t->fresh[count];
		const struct known *k = find(f->pc, (int32_t)f->fp);

		if (k->mapping != HEAP_NO_MAPPING)
			node = trie_child(node, k->line | (f->sp ? HEAP_SCRIPT_ENTRY : 0),
					  k->mapping);
	}
	spin_unlock(&python.lock);
	return node;
}
