/* SPDX-License-Identifier: MIT */
#include "preload/heap/code.h"

#include <errno.h>
#include <string.h>

#include "preload/heap/big_stack.h"
#include "preload/heap/file.h"
#include "preload/heap/pages.h"
#include "preload/heap/spin.h"
#include "unwind/self.h"

#define FAILED_PAGES 64     /* that no code was found at; a power of two */
#define BLIND_REFRESHES 500 /* at addresses that no loader knows: code made at run time */
#define MAPPINGS_MAX 65535

struct code_slot code_slots[CODE_SLOTS];
uint64_t code_version = UINT64_C(1) << 63;

/* What is loaded at a time. */
struct space {
	struct unwind_self *self;
	struct space *older; /* not used any more, but may be walked by */
	size_t bytes;
	uint32_t mappings[]; /* numbers in the file, of self's maps */
};

static struct {
	struct space *current; /* atomic */
	uint32_t walkers;      /* that have borrowed one; atomic */
	uint32_t lock;         /* for changes of it, and all below */
	uint64_t failed[FAILED_PAGES];
	uint32_t blind;
	uint64_t generation;
	uint64_t own_start, own_end;
	bool own_has_rules;
} code;

/* glibc 2.35: takes no lock, and may be called anywhere. Its result has 96 bytes or more. */
extern int find_object(const void *pc, uint64_t result[32]) __asm__("_dl_find_object")
	__attribute__((weak));

static struct space *borrow(void)
{
	__atomic_fetch_add(&code.walkers, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&code.current, __ATOMIC_SEQ_CST);
}

void code_give_back(void)
{
	__atomic_fetch_sub(&code.walkers, 1, __ATOMIC_SEQ_CST);
}

const struct unwind_space *code_borrow(void)
{
	const struct space *s = borrow();

	return s ? unwind_self_space(s->self) : NULL;
}

/* Whoever walks in older ones began before now; walkers that begin now get the current one. */
static void free_older(struct space *s)
{
	if (__atomic_load_n(&code.walkers, __ATOMIC_SEQ_CST))
		return;
	while (s->older) {
		struct space *older = s->older;

		s->older = older->older;
		unwind_self_free(older->self);
		pages_free(older, older->bytes);
	}
}

static bool is_same(const struct heap_mapping *m, const struct unwind_map *map,
		    const struct unwind_self_code *from)
{
	return m->start == map->start && m->end == map->end && m->offset == from->offset &&
	       m->device == from->device && m->inode == from->inode &&
	       m->build_id_len ==
		       (from->build_id_len <= HEAP_BUILD_ID_MAX ? from->build_id_len : 0) &&
	       memcmp(m->build_id, from->build_id, m->build_id_len) == 0;
}

static const struct heap_mapping *mapping_at(uint32_t number)
{
	const unsigned char *chunk =
		heap_file.chunks[HEAP_MAPPINGS][number / HEAP_MAPPINGS_A_CHUNK];

	return (const struct heap_mapping *)(const void *)chunk + number % HEAP_MAPPINGS_A_CHUNK;
}

/* The number of a mapping in the file, which gets it if it is new there. */
static uint32_t put_mapping(const struct unwind_map *map, const struct unwind_self_code *from)
{
	struct heap_header *h = file_header();
	uint32_t number = h->mapping_count;
	struct heap_mapping *m;

	if (from->path[0] == '\0')
		return HEAP_NO_MAPPING;
	for (uint32_t i = 0; i < number; i++)
		if (is_same(mapping_at(i), map, from))
			return i;
	if (number == MAPPINGS_MAX)
		return HEAP_NO_MAPPING;
	m = file_reserve(HEAP_MAPPINGS, number, HEAP_MAPPINGS_A_CHUNK, sizeof *m);
	if (!m)
		return HEAP_NO_MAPPING;
	*m = (struct heap_mapping){ .start = map->start,
				    .end = map->end,
				    .offset = from->offset,
				    .bias = map->bias,
				    .device = from->device,
				    .inode = from->inode,
				    .path = file_put_string(from->path),
				    .has_bias = from->has_bias };
	if (from->build_id_len <= HEAP_BUILD_ID_MAX) {
		m->build_id_len = from->build_id_len;
		memcpy(m->build_id, from->build_id, m->build_id_len);
	}
	__atomic_store_n(&h->mapping_count, number + 1, __ATOMIC_RELEASE);
	return number;
}

static void put_mappings(struct space *s)
{
	const struct unwind_space *space = unwind_self_space(s->self);

	spin_lock(&heap_file.lock);
	for (uint32_t i = 0; i < space->count; i++)
		s->mappings[i] = put_mapping(&space->maps[i], unwind_self_code(s->self, i));
	spin_unlock(&heap_file.lock);
}

/* Is all code of an older space where it was? */
static bool has_all(const struct space *s, const struct space *old)
{
	const struct unwind_space *now = unwind_self_space(s->self);
	const struct unwind_space *before = unwind_self_space(old->self);

	for (uint32_t i = 0; i < before->count; i++) {
		const struct unwind_map *map = unwind_space_find(now, before->maps[i].start);

		if (!map || s->mappings[map - now->maps] != old->mappings[i])
			return false;
	}
	return true;
}

static void change_version(void)
{
	uint64_t mixed = ++code.generation * UINT64_C(0x9e3779b97f4a7c15) | UINT64_C(1) << 63;

	__atomic_store_n(&code_version, mixed, __ATOMIC_RELEASE);
}

static void read_loaded(void)
{
	struct space *old = code.current, *s;
	struct unwind_self *self;
	struct err ignored;
	size_t bytes;

	if (unwind_self_new(old ? old->self : NULL, &self, &ignored) < 0)
		return;
	bytes = sizeof *s + unwind_self_space(self)->count * sizeof s->mappings[0];
	s = pages_new(bytes);
	if (!s) {
		/* Its tables moved: the older one would be without. */
		return;
	}
	s->self = self;
	s->bytes = bytes;
	s->older = old;
	put_mappings(s);
	__atomic_store_n(&code.current, s, __ATOMIC_SEQ_CST);
	if (old && !has_all(s, old))
		change_version();
	memset(code.failed, 0, sizeof code.failed);
	free_older(s);
}

static void refresh(void *unused)
{
	(void)unused;
	spin_lock(&code.lock);
	read_loaded();
	spin_unlock(&code.lock);
}

void code_refresh(void)
{
	big_stack_run(refresh, NULL);
}

bool code_start(void)
{
	const struct unwind_map *own;

	big_stack_run(refresh, NULL);
	if (!code.current)
		return false;
	change_version();
	own = unwind_space_find(unwind_self_space(code.current->self), (uintptr_t)code_start);
	if (own) {
		code.own_start = own->start;
		code.own_end = own->end;
		code.own_has_rules = own->table || own->lookup;
	}
	return true;
}

bool code_is_own(uint64_t pc)
{
	return pc >= code.own_start && pc < code.own_end;
}

/* Was code loaded at pc that was not there before? A page that was looked at for nothing is not
 * looked at again. */
static bool is_new(uint64_t pc)
{
	uint64_t *failed = &code.failed[(pc >> 12) % FAILED_PAGES], result[32];

	if (__atomic_load_n(failed, __ATOMIC_RELAXED) == pc >> 12)
		return false;
	if (find_object && find_object((const void *)(uintptr_t)pc, result) != 0)
		return false;
	return find_object || code.blind++ < BLIND_REFRESHES;
}

#if defined(__x86_64__)
static bool is_simple(const struct unwind_rule *rule)
{
	const int32_t *at = rule->at;

	if (rule->is_signal || (rule->cfa != UNWIND_CFA_SP && rule->cfa != UNWIND_CFA_FP) ||
	    rule->save[UNWIND_RA] != UNWIND_SAVE_AT_CFA || at[UNWIND_RA] != -8 ||
	    rule->offset <= 0 || rule->offset % 8 || rule->offset / 8 > 0xfffff)
		return false;
	if (rule->save[UNWIND_FP] == UNWIND_SAVE_SAME)
		return true;
	return rule->save[UNWIND_FP] == UNWIND_SAVE_AT_CFA && at[UNWIND_FP] < 0 &&
	       at[UNWIND_FP] % 8 == 0 && at[UNWIND_FP] / -8 <= 0x1fff &&
	       -at[UNWIND_FP] <= rule->offset;
}
#else
static bool is_simple(const struct unwind_rule *rule)
{
	(void)rule;
	return false;
}
#endif

static uint64_t word_of(const struct unwind_rule *rule, uint32_t mapping)
{
	uint64_t word = (uint64_t)(mapping & 0xffff) << 48;

	if (rule->cfa == UNWIND_CFA_END)
		return word | CODE_END;
	if (!is_simple(rule))
		return word | CODE_SPECIAL;
	word |= (uint64_t)(rule->offset / 8) << 2;
	if (rule->save[UNWIND_FP] == UNWIND_SAVE_AT_CFA)
		word |= (uint64_t)(rule->at[UNWIND_FP] / -8) << 22;
	return word | (rule->cfa == UNWIND_CFA_SP ? CODE_SP : CODE_FP);
}

/* false: no code is known there. */
static bool look_up(uint64_t pc, uint64_t *ret)
{
	const struct space *s = borrow();
	const struct unwind_space *space = s ? unwind_self_space(s->self) : NULL;
	const struct unwind_map *map = space ? unwind_space_find(space, pc) : NULL;

	if (map) {
		uint32_t mapping = s->mappings[map - space->maps];

		*ret = (uint64_t)(mapping & 0xffff) << 48 | CODE_SPECIAL;
		if (map->table)
			*ret = word_of(unwind_table_find(map->table, pc - map->bias), mapping);
		else if (map->lookup)
			*ret = word_of(unwind_lookup_find(map->lookup, pc - map->bias), mapping);
	}
	code_give_back();
	return map != NULL;
}

struct wanted {
	uint64_t pc, version, word;
};

static void look_up_wanted(void *arg)
{
	struct wanted *w = arg;
	struct code_slot *slot = &code_slots[w->pc * UINT64_C(0x9e3779b97f4a7c15) >> 50];
	bool is_there = look_up(w->pc, &w->word);

	if (!is_there && is_new(w->pc)) {
		refresh(NULL);
		is_there = look_up(w->pc, &w->word);
		if (!is_there)
			__atomic_store_n(&code.failed[(w->pc >> 12) % FAILED_PAGES], w->pc >> 12,
					 __ATOMIC_RELAXED);
	}
	if (!is_there)
		return;
	__atomic_store_n(&slot->word, w->word, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tag, w->pc ^ w->word ^ w->version, __ATOMIC_RELAXED);
}

uint64_t code_look_up(uint64_t pc, uint64_t version)
{
	struct wanted w = { pc, version, UINT64_C(0xffff) << 48 | CODE_SPECIAL };

	big_stack_run(look_up_wanted, &w);
	return w.word;
}

uint32_t code_mapping_of(const struct unwind_space *space, uint64_t pc)
{
	const struct space *s = __atomic_load_n(&code.current, __ATOMIC_ACQUIRE);
	const struct unwind_map *map;

	/* The borrowed one may be older by now; then its numbers are in the list behind. */
	while (s && unwind_self_space(s->self) != space)
		s = s->older;
	map = s ? unwind_space_find(space, pc) : NULL;
	return map ? s->mappings[map - space->maps] : HEAP_NO_MAPPING;
}

void code_forget(void)
{
	code.lock = 0;
	code.walkers = 0;
	if (!code.current)
		return;
	put_mappings(code.current);
	change_version();
}

void code_release(void)
{
	struct space *s = code.current;

	code.current = NULL;
	code.walkers = 0;
	code.lock = 0;
	code.blind = 0;
	memset(code.failed, 0, sizeof code.failed);
	pages_drop(code_slots, sizeof code_slots);
	change_version();
	if (!s)
		return;
	free_older(s);
	unwind_self_free(s->self);
	pages_free(s, s->bytes);
}

bool code_knows_own(void)
{
	return code.own_has_rules;
}
