/* SPDX-License-Identifier: MIT */
#include "heap/process_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/elf_image.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/str.h"
#include "heap/elf_functions.h"
#include "heap/mapped_file.h"
#include "unwind/walk.h"

#define FRAMES_MAX 4096
#define VDSO_MAX ((size_t)64 << 10)    /* bytes */
#define FILE_MAX (UINT64_C(256) << 20) /* bytes read of a file: unwinding, symbols */
#define WINDOW ((size_t)16 << 10)      /* of a stack, read at once */

/* [start..end) of vaddrs: a function that may not be entered again. */
struct range {
	uint64_t start, end;
};

struct code_map {
	struct proc_map m; /* its path is owned */
	struct elf_image image;
	int fd; /* of image; -1: none */
	bool is_loaded;
	uint64_t bias;
	struct unwind_table *table; /* NULL: none */
	struct rows busy;           /* struct range */
};

struct process_code {
	pid_t pid;
	struct rows maps;          /* struct code_map, executable ones, by address */
	struct unwind_map *unwind; /* [maps.count] */
	struct unwind_slot *slots; /* [UNWIND_SLOTS] */
	uint64_t loader;           /* an address of the dynamic linker; 0: none */
	unsigned char window[WINDOW];
	struct unwind_frame frames[FRAMES_MAX];
};

static struct code_map *map_at(const struct process_code *c, size_t i)
{
	return (struct code_map *)c->maps.data + i;
}

static int add_map(const struct proc_map *m, void *context)
{
	struct process_code *c = context;
	struct code_map *row;

	if (!(m->prot & PROT_EXEC))
		return 0;
	row = rows_add(&c->maps, sizeof *row);
	if (!row)
		return -ENOMEM;
	*row = (struct code_map){ .m = *m, .fd = -1 };
	row->m.path = strdup(m->path);
	return row->m.path ? 0 : -ENOMEM;
}

/* Source: getauxval(3), AT_BASE. */
static uint64_t find_loader(pid_t pid)
{
	Elf64_auxv_t aux[64] = { { 0 } };
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	file_read_start(path, (char *)aux, sizeof aux);
	for (size_t i = 0; i < ARRAY_LEN(aux) && aux[i].a_type != AT_NULL; i++)
		if (aux[i].a_type == AT_BASE)
			return aux[i].a_un.a_val;
	return 0;
}

static int fill(struct process_code *c, struct err *e)
{
	CLEANUP(buf_fini) struct buf maps = { 0 };

	if (mapped_read(c->pid, &maps, e) < 0)
		return e->code;
	if (mapped_each(&maps, add_map, c) < 0)
		return err_nomem(e);
	c->loader = find_loader(c->pid);
	c->unwind = calloc(c->maps.count + 1, sizeof *c->unwind);
	c->slots = calloc(UNWIND_SLOTS, sizeof *c->slots);
	if (!c->unwind || !c->slots)
		return err_nomem(e);
	for (size_t i = 0; i < c->maps.count; i++)
		c->unwind[i] = (struct unwind_map){ .start = map_at(c, i)->m.start,
						    .end = map_at(c, i)->m.end };
	return 0;
}

int process_code_new(pid_t pid, struct process_code **ret, struct err *e)
{
	struct process_code *c = calloc(1, sizeof *c);

	if (!c)
		return err_nomem(e);
	c->pid = pid;
	if (fill(c, e) < 0) {
		process_code_free(c);
		return e->code;
	}
	*ret = c;
	return 0;
}

void process_code_free(struct process_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->maps.count; i++) {
		struct code_map *m = map_at(c, i);

		unwind_table_free(m->table);
		elf_image_close(&m->image);
		fd_close(&m->fd);
		rows_fini(&m->busy);
		free((char *)(uintptr_t)m->m.path);
	}
	rows_fini(&c->maps);
	free(c->unwind);
	free(c->slots);
	free(c);
}

/* Functions with locks that dlopen() needs, too, or that it calls. Those of another allocator have
 * the same names. */
static bool is_busy_name(struct str name)
{
	static const char *const names[] = {
		"malloc",         "calloc",         "realloc",         "reallocarray",
		"free",           "cfree",          "free_sized",      "free_aligned_sized",
		"posix_memalign", "aligned_alloc",  "memalign",        "valloc",
		"pvalloc",        "malloc_trim",    "malloc_info",     "malloc_stats",
		"mallinfo",       "mallinfo2",      "mallopt",         "malloc_usable_size",
		"fork",           "_Fork",          "vfork",           "pthread_create",
		"pthread_exit",   "pthread_atfork", "dl_iterate_phdr", "exit",
		"quick_exit",     "__libc_freeres",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_equals(name, names[i]))
			return true;
	return false;
}

static bool add_busy(const Elf64_Sym *symbol, struct str name, void *context)
{
	struct code_map *m = context;
	struct range *r;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_size || !is_busy_name(name))
		return true;
	r = rows_add(&m->busy, sizeof *r);
	if (r)
		*r = (struct range){ symbol->st_value, symbol->st_value + symbol->st_size };
	return r != NULL;
}

/* The vdso is in no file. */
static bool open_vdso(const struct process_code *c, struct code_map *m)
{
	size_t len = (size_t)(m->m.end - m->m.start);
	unsigned char *bytes = len <= VDSO_MAX ? malloc(len) : NULL;
	struct iovec to = { bytes, len }, from = { (void *)(uintptr_t)m->m.start, len };
	struct elf_image image;
	struct err ignored;
	bool is_there = bytes && process_vm_readv(c->pid, &to, 1, &from, 1, 0) == (ssize_t)len &&
			elf_image_init(&image, bytes, len, &ignored) == 0 &&
			elf_load_bias(&image, m->m.start, len, 0, &m->bias) &&
			unwind_table_new(&image, NULL, &m->table, &ignored) == 0;

	free(bytes);
	return is_there;
}

/* Its file, and where it lies. false: it has none that can be read. */
static bool open_image(const struct process_code *c, struct code_map *m)
{
	struct err ignored;

	if (m->fd >= 0)
		return true;
	if (m->m.path[0] != '/')
		return false;
	m->fd = mapped_file_open(c->pid, &m->m);
	if (m->fd < 0)
		return false;
	if (elf_image_open_fd(&m->image, m->fd, m->m.path, &ignored) < 0 ||
	    !elf_load_bias(&m->image, m->m.start, m->m.end - m->m.start, m->m.offset, &m->bias)) {
		elf_image_close(&m->image);
		m->image = (struct elf_image){ 0 };
		fd_close(&m->fd);
		m->fd = -1;
		return false;
	}
	elf_image_limit(&m->image, FILE_MAX);
	return true;
}

/* What a walk needs of the file. false: there is no more than before. */
static bool load(struct process_code *c, size_t i)
{
	struct code_map *m = map_at(c, i);
	struct err ignored;

	if (m->is_loaded)
		return false;
	m->is_loaded = true;
	if (strcmp(m->m.path, "[vdso]") == 0) {
		if (!open_vdso(c, m))
			return false;
	} else {
		if (!open_image(c, m))
			return false;
		elf_symbols_each(&m->image, add_busy, m);
		if (unwind_table_new(&m->image, NULL, &m->table, &ignored) < 0)
			m->table = NULL;
	}
	c->unwind[i].bias = m->bias;
	c->unwind[i].table = m->table;
	return true;
}

static bool find_map(const struct process_code *c, uint64_t pc, size_t *ret)
{
	const struct unwind_space space = { .maps = c->unwind, .count = (uint32_t)c->maps.count };
	const struct unwind_map *map = unwind_space_find(&space, pc);

	if (map)
		*ret = (size_t)(map - c->unwind);
	return map != NULL;
}

static bool load_files_of(struct process_code *c, const struct unwind_stack *stack)
{
	bool has_more = false;
	size_t map;

	for (uint32_t i = 0; i < stack->count; i++)
		if (find_map(c, stack->frames[i].pc, &map))
			has_more |= load(c, map);
	return has_more;
}

static void take_regs(const struct arch_regs *from, struct unwind_regs *ret)
{
	uint64_t value;

	*ret = (struct unwind_regs){ .ip = arch_ip(from) };
	for (unsigned i = 0; i < UNWIND_REG_COUNT && arch_get(from, i, &value); i++)
		unwind_regs_set(ret, i, value);
}

/* Walks again while it meets files whose rules it had not. */
static void walk(struct process_code *c, const struct arch_regs *from, struct unwind_stack *stack)
{
	struct unwind_space space = { .maps = c->unwind, .count = (uint32_t)c->maps.count };
	struct unwind_memory memory = unwind_memory_process(c->pid, c->window, sizeof c->window);
	struct unwind_walker walker;
	struct unwind_regs regs;

#if defined(__aarch64__)
	space.machine = EM_AARCH64;
#else
	space.machine = EM_X86_64;
#endif
	take_regs(from, &regs);
	do {
		space.version = unwind_space_version();
		unwind_walker_init(&walker, c->slots, UNWIND_SLOTS);
		unwind_walk(&walker, &space, &regs, &memory, stack);
	} while (load_files_of(c, stack));
}

static bool is_busy(const struct code_map *m, uint64_t pc)
{
	const struct range *r = m->busy.data;

	for (size_t i = 0; i < m->busy.count; i++)
		if (pc - m->bias >= r[i].start && pc - m->bias < r[i].end)
			return true;
	return false;
}

static bool is_libc(const struct code_map *m)
{
	static const char *const names[] = { "libc.so.", "libc-2.",        "libdl.so.",
					     "libdl-2.", "libpthread.so.", "libpthread-2." };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (text_starts_with(path_base(m->m.path), names[i]))
			return true;
	return false;
}

/* All of its mappings have its path. */
static bool is_loader(const struct process_code *c, const struct code_map *m)
{
	const char *name = path_base(m->m.path);

	return (c->loader && m->m.start - m->m.offset == c->loader) ||
	       text_starts_with(name, "ld-linux") || text_starts_with(name, "ld-2.");
}

static bool is_own(const struct code_map *m)
{
	return text_starts_with(path_base(m->m.path), "memfd:auger-heap");
}

enum thread_place process_code_place(struct process_code *c, const struct arch_regs *regs)
{
	struct unwind_stack stack = { .frames = c->frames, .cap = FRAMES_MAX };
	bool is_free = true;
	size_t map;

	walk(c, regs, &stack);
	for (uint32_t i = 0; i < stack.count; i++) {
		if (!find_map(c, stack.frames[i].pc, &map))
			continue;
		if (is_loader(c, map_at(c, map)))
			return THREAD_IN_LOADER;
		if (is_own(map_at(c, map)) || is_busy(map_at(c, map), stack.frames[i].pc))
			is_free = false;
	}
	/* A function of the C library that computes may have any lock of it. */
	if (!arch_is_in_call(regs) && find_map(c, arch_ip(regs), &map) && is_libc(map_at(c, map)))
		is_free = false;
	if (!is_free)
		return THREAD_IN_ALLOCATOR;
	return stack.end == UNWIND_COMPLETE ? THREAD_FREE : THREAD_UNKNOWN;
}

uint64_t process_code_libc(struct process_code *c, const char *name)
{
	for (size_t i = 0; i < c->maps.count; i++) {
		struct code_map *m = map_at(c, i);
		uint64_t vaddr =
			is_libc(m) && open_image(c, m) ? elf_function_find(&m->image, name) : 0;

		if (vaddr)
			return m->bias + vaddr;
	}
	return 0;
}

uint64_t process_code_address(const struct process_code *c, const char *path,
			      const struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < c->maps.count; i++) {
		const struct proc_map *m = &map_at(c, i)->m;
		uint64_t bias;

		if (strcmp(m->path, path) == 0 &&
		    elf_load_bias(image, m->start, m->end - m->start, m->offset, &bias))
			return bias + vaddr;
	}
	return 0;
}

const char *process_code_find_path(const struct process_code *c, const char *start)
{
	for (size_t i = 0; i < c->maps.count; i++)
		if (text_starts_with(map_at(c, i)->m.path, start))
			return map_at(c, i)->m.path;
	return NULL;
}
