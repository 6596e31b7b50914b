/* SPDX-License-Identifier: MIT */
#include "perf/user_stack.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "perf/callchain.h"
#include "perf/joins.h"
#include "unwind/fp_chain.h"
#include "unwind/stitch.h"
#include "unwind/walk.h"

/* What walks use. */
struct room {
	struct unwind_slot slots[UNWIND_SLOTS];
	struct unwind_frame frames[USER_STACK_MAX - 1];
};

struct user_stacks {
	struct dsos *dsos;
	struct unwind_tables *tables;
	uint16_t machine;
	struct user_stack_counts counts;
	struct stack_rest rest;
	struct unwind_walker walker;
	struct room *room; /* owned, by pages_new() */
};

void user_stack_put_counts(struct buf *out, const struct user_stack_counts *n)
{
	uint64_t rooted = n->complete + n->linked + n->joined;
	uint64_t all = rooted + n->truncated + n->broken;
	uint64_t tenths = all ? rooted * 1000 / all : 0;

	if (!all)
		return;
	/* rounded down: 100.0 is all */
	buf_printf(out, "stacks: %" PRIu64 ".%" PRIu64 " %% complete", tenths / 10, tenths % 10);
	if (n->linked)
		buf_printf(out, " (%" PRIu64 " with outer frames by frame pointers)", n->linked);
	if (n->joined)
		buf_printf(out, " (%" PRIu64 " with outer frames of another moment)", n->joined);
	if (n->truncated)
		buf_printf(out, ", %" PRIu64 " truncated", n->truncated);
	if (n->broken)
		buf_printf(out, ", %" PRIu64 " broken", n->broken);
}

/* perf's numbers of the registers, by DWARF's. Source: asm/perf_regs.h, psABIs. */
enum { X86_DI = 5, X86_IP = 8, ARM64_PC = 32 };

static const uint8_t i386_perf_number[] = { 0, 2, 3, 1, 7, 6, 4, 5 };
static const uint8_t x86_perf_number[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23 };

uint16_t user_stack_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

/* -1: there is none of this number. */
static int perf_number(uint16_t machine, unsigned dwarf)
{
	if (machine == EM_X86_64)
		return dwarf < ARRAY_LEN(x86_perf_number) ? x86_perf_number[dwarf] : -1;
	if (machine == EM_386)
		return dwarf < ARRAY_LEN(i386_perf_number) ? i386_perf_number[dwarf] : -1;
	return dwarf < ARM64_PC ? (int)dwarf : -1;
}

static unsigned perf_ip(uint16_t machine)
{
	return machine == EM_AARCH64 ? ARM64_PC : X86_IP;
}

/* All that a rule may ask for: they cost nothing beside the copy of the stack. */
uint64_t user_stack_regs(uint16_t machine)
{
	uint64_t mask;

	if (!unwind_arch_of(machine))
		return 0;
	mask = UINT64_C(1) << perf_ip(machine);
	for (unsigned i = 0; i < UNWIND_REG_COUNT; i++)
		if (perf_number(machine, i) >= 0)
			mask |= UINT64_C(1) << perf_number(machine, i);
	return mask;
}

uint64_t user_stack_put_regs(uint16_t machine, uint64_t ip, const uint64_t *dwarf, size_t count,
			     uint64_t ret[USER_STACK_REGS_MAX])
{
	uint64_t by_perf[USER_STACK_REGS_MAX] = { 0 };
	uint64_t mask = UINT64_C(1) << perf_ip(machine);
	size_t n = 0;

	if (!unwind_arch_of(machine))
		return 0;
	by_perf[perf_ip(machine)] = ip;
	for (unsigned i = 0; i < count && i < UNWIND_REG_COUNT; i++) {
		int number = perf_number(machine, i);

		if (number < 0)
			continue;
		by_perf[number] = dwarf[i];
		mask |= UINT64_C(1) << number;
	}
	for (unsigned i = 0; i < USER_STACK_REGS_MAX; i++)
		if (mask >> i & 1)
			ret[n++] = by_perf[i];
	return mask;
}

uint64_t user_stack_least_regs(uint16_t machine)
{
	const struct unwind_arch *arch = unwind_arch_of(machine);

	if (!arch)
		return 0;
	return UINT64_C(1) << perf_ip(machine) | UINT64_C(1) << perf_number(machine, arch->sp);
}

uint64_t user_stack_frame_regs(uint16_t machine)
{
	const struct unwind_arch *arch = unwind_arch_of(machine);

	if (!arch)
		return 0;
	return user_stack_least_regs(machine) |
	       UINT64_C(1) << perf_number(machine, arch->save[UNWIND_FP]) |
	       (machine == EM_X86_64 ? UINT64_C(1) << X86_DI : 0);
}

struct user_stacks *user_stacks_new(struct dsos *d, struct unwind_tables *t, uint16_t machine)
{
	struct user_stacks *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->dsos = d;
	u->tables = t;
	u->machine = machine;
	u->room = pages_new(sizeof *u->room);
	if (!u->room) {
		free(u);
		return NULL;
	}
	unwind_walker_init(&u->walker, u->room->slots, UNWIND_SLOTS);
	return u;
}

void user_stacks_free(struct user_stacks *u)
{
	if (!u)
		return;
	stack_rest_fini(&u->rest);
	pages_free(u->room, sizeof *u->room);
	free(u);
}

void user_stacks_read_by(struct user_stacks *u, stack_rest_read *read)
{
	u->rest.read = read;
}

/* A register's value among those of the sample; false: it has none. */
static bool get_reg(const struct record_regs *regs, unsigned number, uint64_t *ret)
{
	uint64_t below = (UINT64_C(1) << number) - 1;

	if (!(regs->mask >> number & 1))
		return false;
	*ret = record_word(regs->values, (size_t)__builtin_popcountll(regs->mask & below));
	return true;
}

uint64_t user_stack_pointer(uint16_t machine, const struct record_regs *regs)
{
	const struct unwind_arch *arch = unwind_arch_of(machine);
	uint64_t sp;

	if (!arch || !get_reg(regs, (unsigned)perf_number(machine, arch->sp), &sp))
		return 0;
	return sp;
}

/* Of the code that a sample is of; EM_NONE: code that no table describes. */
static uint16_t machine_of(const struct user_stacks *u, const struct record_regs *regs)
{
	if (regs->abi == PERF_SAMPLE_REGS_ABI_64)
		return u->machine;
	return regs->abi == PERF_SAMPLE_REGS_ABI_32 && u->machine == EM_X86_64 ? EM_386 : EM_NONE;
}

/* false: of another machine, or not what a walk needs. */
static bool take_regs(const struct record_regs *from, uint16_t machine, struct unwind_regs *ret)
{
	const struct unwind_arch *arch = unwind_arch_of(machine);
	uint64_t value;

	if (!arch || !from->values.bytes || !get_reg(from, perf_ip(machine), &ret->ip))
		return false;
	ret->known = 0;
	for (unsigned i = 0; i < UNWIND_REG_COUNT; i++) {
		int number = perf_number(machine, i);

		if (number >= 0 && get_reg(from, (unsigned)number, &value))
			unwind_regs_set(ret, i, value);
	}
	return ret->known >> arch->sp & 1;
}

/* The mappings as the unwinder wants them, after each change of them or of the tables. */
static bool renew_view(struct user_stacks *u, struct maps *maps, uint16_t machine)
{
	struct maps_view *view = maps_view(maps);
	size_t count = maps_count(maps);

	view->space.machine = machine;
	if (view->made_for == unwind_tables_version(u->tables))
		return true;
	if (count > view->cap) {
		struct unwind_map *grown = reallocarray(view->maps, count + 8, sizeof *grown);

		if (!grown)
			return false;
		view->maps = grown;
		view->cap = count + 8;
	}
	for (size_t i = 0; i < count; i++) {
		const struct vma *v = maps_get(maps, i);

		view->maps[i] = (struct unwind_map){
			.start = v->start,
			.end = v->end,
			.table = unwind_tables_get(u->tables, v),
			.bias = dsos_bias(u->dsos, v),
			.rule = v->rule,
		};
	}
	view->space = (struct unwind_space){
		.maps = view->maps,
		.count = (uint32_t)count,
		.machine = machine,
		.version = unwind_space_version(),
	};
	view->made_for = unwind_tables_version(u->tables);
	return true;
}

/* Asks for the tables of the files that the stack goes through. */
static bool want_tables(struct user_stacks *u, const struct user_stack_owner *owner,
			const struct unwind_stack *stack, bool *ret_is_new)
{
	bool all_there = true;

	*ret_is_new = false;
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct vma *v = maps_find(owner->maps, stack->frames[i].pc);
		bool is_new = false;

		if (v && !unwind_tables_request(u->tables, v, owner->pid, &is_new))
			all_there = false;
		*ret_is_new |= is_new;
	}
	return all_there;
}

/* A walk that comes through a file for the first time is made again with its table. false:
 * that is not there yet. *ret_copied: the frames that the copy alone has shown; the rest are
 * by frame pointers. */
static bool walk(struct user_stacks *u, const struct unwind_regs *regs,
		 const struct record_sample *s, const struct user_stack_owner *owner,
		 struct unwind_stack *stack, uint32_t *ret_copied)
{
	struct record_words chain = callchain_user(s->chain);
	const struct fp_chain links = { chain.bytes, chain.count };
	uint16_t machine = machine_of(u, &s->user);
	const struct unwind_arch *arch = unwind_arch_of(machine);
	struct maps_view *view = maps_view(owner->maps);
	bool is_new;

	do {
		struct unwind_memory memory =
			unwind_memory_copy(regs->r[arch->sp], s->stack.bytes, s->stack.len);
		uint64_t misses = u->walker.misses;

		stack->count = *ret_copied = 0;
		stack->end = UNWIND_NO_INFO;
		is_new = false;
		if (!renew_view(u, owner->maps, machine))
			return true; /* out of memory: seen by the profile, too */
		unwind_walk(&u->walker, &view->space, regs, &memory, stack);
		*ret_copied = stack->count;
		fp_chain_extend(&u->walker, &view->space, regs, &memory, &links, stack);
		/* Only what was not seen before can be in a file that was not asked for. */
		if ((u->walker.misses != misses || unwind_tables_pending(u->tables)) &&
		    !want_tables(u, owner, stack, &is_new) && !owner->cannot_wait)
			return false;
	} while (is_new);
	return true;
}

/* What is behind the copy. */
enum rest {
	REST_NONE,
	REST_LINKED,  /* by the frame-pointer chain */
	REST_EARLIER, /* of the thread's earlier stacks */
	REST_READ,    /* from its memory */
};

/* What goes on behind the copy: best what the thread showed before, which reaches the end of
 * the stack, else the frame-pointer chain. */
static enum rest extend(const struct user_stack_owner *owner, struct unwind_stack *stack,
			uint32_t copied)
{
	uint32_t linked = stack->count;
	enum unwind_end end = stack->end;

	if (linked > copied && end == UNWIND_COMPLETE)
		return REST_LINKED; /* at the time of the sample: certain */
	stack->count = copied;
	if (linked > copied)
		stack->end = UNWIND_TRUNCATED;
	if (owner->stitch && stitch_stack(owner->stitch, stack))
		return REST_EARLIER;
	stack->count = linked;
	stack->end = end;
	return linked > copied ? REST_LINKED : REST_NONE;
}

/* Frames of the copy from the last of which on the thread's memory must agree. */
#define SAME_FRAMES STITCH_RUN

/* Stacks of a thread that are extended by what it showed before, until its memory is read again: a
 * place with two callers is found by that. At first it is read each time (joins.h). */
#define EXTENDED_MAX 32

/* The same place has had two callers: which of them it was cannot be known. */
static bool is_ambiguous(const struct user_stack_owner *owner, const struct unwind_stack *stack,
			 uint32_t copied)
{
	return owner->stitch && stitch_is_ambiguous(owner->stitch, stack->frames + copied - 1,
						    stack->count - copied + 1);
}

/* Walks a truncated stack once more, over the thread's memory behind the copy. false: a table is
 * not ready. */
static bool walk_rest(struct user_stacks *u, const struct unwind_regs *regs,
		      const struct record_sample *s, const struct user_stack_owner *owner,
		      struct unwind_stack *stack, uint32_t *copied, bool *ret_is_read)
{
	uint32_t all;
	struct record_sample whole = *s;
	uint64_t sp = regs->r[unwind_arch_of(machine_of(u, &s->user))->sp];

	*ret_is_read = false;
	/* A wait is often read when it is long over. */
	if (stack->end != UNWIND_TRUNCATED || *copied <= SAME_FRAMES || owner->is_uncounted ||
	    (owner->stitch && owner->stitch->is_branched))
		return true;
	whole.stack.bytes = NULL;
	whole.stack.len = stack_rest_get(&u->rest, owner->pid, sp, s->stack,
					 stack->frames[*copied - 1 - SAME_FRAMES].sp);
	if (!whole.stack.len)
		return true;
	whole.stack.bytes = u->rest.bytes;
	if (!walk(u, regs, &whole, owner, stack, &all))
		return false;
	stack_rest_count(&u->rest, stack->end == UNWIND_COMPLETE);
	if (owner->stitch && stack->end == UNWIND_COMPLETE)
		stitch_stack(owner->stitch, stack);
	*ret_is_read = stack->end == UNWIND_COMPLETE;
	if (*ret_is_read && is_ambiguous(owner, stack, *copied)) {
		owner->stitch->is_branched = true;
		*ret_is_read = false;
	}
	return *ret_is_read || walk(u, regs, s, owner, stack, copied);
}

/* What stands for the callers that are not known; FRAME_SPACE_USER: there are none. */
static enum frame_space count_end(struct user_stacks *u, const struct unwind_stack *stack,
				  const struct user_stack_owner *owner, enum rest rest)
{
	bool counts = !owner->is_uncounted;
	const struct vma *v;

	switch (stack->end) {
	case UNWIND_COMPLETE:
		u->counts.complete += counts && rest == REST_NONE;
		u->counts.linked += counts && rest == REST_LINKED;
		return FRAME_SPACE_USER;
	case UNWIND_TRUNCATED:
	case UNWIND_FULL:
		u->counts.truncated += counts && rest < REST_EARLIER;
		return FRAME_SPACE_TRUNCATED;
	case UNWIND_NO_INFO:
	case UNWIND_BROKEN:
		break;
	}
	if (!counts)
		return FRAME_SPACE_BROKEN;
	u->counts.broken++;
	v = stack->count ? maps_find(owner->maps, stack->frames[stack->count - 1].pc) : NULL;
	if (v)
		unwind_tables_count_end(u->tables, v);
	return FRAME_SPACE_BROKEN;
}

/* An exec that has left the old program: the registers are still of that. */
static bool is_stale(const struct user_stack_owner *owner, const struct unwind_stack *stack)
{
	return owner->in_kernel && stack->count <= 1 &&
	       !maps_find(owner->maps, stack->count ? stack->frames[0].pc : 0);
}

/* What has no tables, the stack of a 32-bit program of Arm: only where it stands is known. */
static size_t put_foreign(struct user_stacks *u, const struct record_sample *s,
			  const struct user_stack_owner *owner, struct stack_frame *out)
{
	size_t n = 0;

	if (s->user.abi != PERF_SAMPLE_REGS_ABI_32 || !s->user.values.bytes)
		return 0;
	if (get_reg(&s->user, perf_ip(u->machine), &out[n].address))
		out[n++].space = FRAME_SPACE_USER;
	out[n++] = (struct stack_frame){ .space = FRAME_SPACE_BROKEN };
	if (!owner->is_uncounted)
		u->counts.broken++;
	return n;
}

/* Is the thread's memory to be read, although its earlier stacks may be enough? */
static bool is_due(const struct user_stacks *u, const struct user_stack_owner *owner)
{
	return owner->stitch && u->rest.read &&
	       (owner->stitch->extended >= EXTENDED_MAX ||
		owner->stitch->readings < JOINS_READ_MIN);
}

/* false: a table is not ready. */
static bool find_rest(struct user_stacks *u, const struct unwind_regs *regs,
		      const struct record_sample *s, const struct user_stack_owner *owner,
		      struct unwind_stack *stack, uint32_t *copied, enum rest *ret)
{
	bool is_read, reads_first = is_due(u, owner);

	*ret = reads_first ? REST_NONE : extend(owner, stack, *copied);
	if (!walk_rest(u, regs, s, owner, stack, copied, &is_read))
		return false;
	if (reads_first && !is_read)
		*ret = extend(owner, stack, *copied);
	if (is_read)
		*ret = REST_READ;
	if (is_read && owner->stitch && owner->stitch->readings < JOINS_READ_MIN)
		owner->stitch->readings++;
	return true;
}

bool user_stacks_walk(struct user_stacks *u, const struct record_sample *s,
		      const struct user_stack_owner *owner, struct stack_frame *out,
		      size_t *ret_count, struct user_stack_join *ret_join)
{
	struct unwind_stack stack = { .frames = u->room->frames,
				      .cap = ARRAY_LEN(u->room->frames) };
	struct unwind_regs regs;
	enum frame_space end;
	enum rest rest;
	uint32_t copied;
	size_t n = 0;

	*ret_count = 0;
	*ret_join = (struct user_stack_join){ 0 };
	if (!take_regs(&s->user, machine_of(u, &s->user), &regs)) {
		*ret_count = put_foreign(u, s, owner, out);
		return true;
	}
	if (!walk(u, &regs, s, owner, &stack, &copied))
		return false;
	if (is_stale(owner, &stack))
		return true;
	if (!find_rest(u, &regs, s, owner, &stack, &copied, &rest))
		return false;
	end = count_end(u, &stack, owner, rest);
	for (; n < stack.count; n++)
		out[n] = (struct stack_frame){ .address = stack.frames[n].pc };
	if (end != FRAME_SPACE_USER)
		out[n++] = (struct stack_frame){ .space = end };
	*ret_count = n;
	if (rest >= REST_EARLIER)
		*ret_join = (struct user_stack_join){ copied, rest == REST_READ && owner->stitch };
	return true;
}

const struct user_stack_counts *user_stacks_counts(const struct user_stacks *u)
{
	return &u->counts;
}
