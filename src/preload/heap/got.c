/* SPDX-License-Identifier: MIT */
#include "preload/heap/got.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload/heap/loaded.h"
#include "preload/heap/real.h"
#include "preload/heap/spin.h"
#include "unwind/self.h"

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#define ABSOLUTE R_X86_64_64
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#define ABSOLUTE R_AARCH64_ABS64
#endif

#define HOOKS_MAX 32

static struct {
	const struct hook *hooks; /* [count]; borrowed */
	size_t hook_count;
	uint64_t originals[HOOKS_MAX]; /* of hooks; 0: nobody defines it */
	bool is_ambiguous;             /* several allocators are loaded */
	bool is_patched;               /* under lock */
	uint64_t count;                /* loaded_count() at the last change; 0: to be done again */
	uint32_t lock;
} got;

bool got_find_real(const struct hook *hooks, size_t count)
{
	if (count > HOOKS_MAX)
		return false;
	got.hooks = hooks;
	got.hook_count = count;
	got.is_ambiguous = false;
	for (size_t i = 0; i < count; i++) {
		bool others;

		got.originals[i] = loaded_find(hooks[i].name, &others);
		got.is_ambiguous |= others;
		if (hooks[i].real)
			*hooks[i].real = (void *)(uintptr_t)got.originals[i];
	}
	return real.malloc && real.calloc && real.realloc && real.free;
}

/* One that is NULL is not called: nobody could have called it before. */
static int find_hook(const char *name)
{
	for (int i = 0; i < (int)got.hook_count; i++)
		if (got.hooks[i].name[0] == name[0] && strcmp(got.hooks[i].name, name) == 0)
			return got.originals[i] ? i : -1;
	return -1;
}

static bool is_protected(const struct module *m, uint64_t at)
{
	return at >= m->relro_start && at < m->relro_end;
}

static void store(const struct module *m, uint64_t *slot, uint64_t value)
{
	uint64_t at = (uintptr_t)slot, page = getauxval(AT_PAGESZ);
	void *pages = (void *)(uintptr_t)(at & ~(page - 1));

	if (is_protected(m, at) && mprotect(pages, page, PROT_READ | PROT_WRITE) < 0)
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (is_protected(m, at))
		mprotect(pages, page, PROT_READ);
}

struct change {
	bool is_on;
	bool is_whole;      /* no module was left out */
	uint64_t module;    /* start of the last one that was asked about, */
	bool is_relocating; /* and whether another thread is loading it */
};

/* While a module is relocated its pages are writable. */
static bool is_relocating(const struct module *m, const uint64_t *slot, struct change *c)
{
	if (!is_protected(m, (uintptr_t)slot))
		return false;
	if (c->module != m->start)
		c->is_relocating = unwind_self_is_writable((uintptr_t)slot);
	c->module = m->start;
	return c->is_relocating;
}

/* Would a call by this slot reach the real function? Of an address in the module itself, which is
 * its PLT, only if there is no other function of that name. */
static bool leads_to(const struct module *m, const Elf64_Sym *symbol, uint64_t now,
		     uint64_t original, bool is_call)
{
	if (now == original)
		return true;
	return is_call && !got.is_ambiguous && symbol->st_shndx == SHN_UNDEF && now >= m->start &&
	       now < m->end;
}

static void change_slot(const struct module *m, const Elf64_Rela *r, struct change *c)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
	const Elf64_Sym *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
	uint64_t *slot = (uint64_t *)(uintptr_t)(m->base + r->r_offset), now, ours;
	int hook;

	if (type != JUMP_SLOT && type != GLOB_DAT && (type != ABSOLUTE || r->r_addend))
		return;
	hook = find_hook(m->strings + symbol->st_name);
	if (hook < 0 || (uintptr_t)slot % sizeof *slot)
		return;
	ours = (uintptr_t)got.hooks[hook].function;
	now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (c->is_on ? !leads_to(m, symbol, now, got.originals[hook], type == JUMP_SLOT)
		     : now != ours)
		return;
	if (is_relocating(m, slot, c))
		c->is_whole = false;
	else
		store(m, slot, c->is_on ? ours : got.originals[hook]);
}

static bool change_module(const struct module *m, void *context)
{
	if (m->is_own)
		return true;
	for (uint64_t i = 0; i < m->call_count; i++)
		change_slot(m, &m->calls[i], context);
	for (uint64_t i = 0; i < m->data_count; i++)
		change_slot(m, &m->data[i], context);
	return true;
}

/* Under lock. */
static void change_all(bool is_on)
{
	struct change c = { .is_on = is_on, .is_whole = true };
	uint64_t count = loaded_count();
	int saved = errno;

	loaded_each(change_module, &c);
	got.is_patched = is_on;
	__atomic_store_n(&got.count, c.is_whole ? count : 0, __ATOMIC_RELAXED);
	errno = saved;
}

void got_patch(void)
{
	spin_lock(&got.lock);
	change_all(true);
	spin_unlock(&got.lock);
}

void got_restore(void)
{
	spin_lock(&got.lock);
	change_all(false);
	spin_unlock(&got.lock);
}

void got_update(void)
{
	if (loaded_count() == __atomic_load_n(&got.count, __ATOMIC_RELAXED))
		return;
	spin_lock(&got.lock);
	if (got.is_patched)
		change_all(true);
	spin_unlock(&got.lock);
}
