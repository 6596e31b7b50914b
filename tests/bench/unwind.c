/* SPDX-License-Identifier: MIT */
/*
 * How fast tables are made and stacks are walked.
 *
 * Tables: of files of this machine, and how large they become. Walks: of copies of stacks of
 * 10 to 60 frames through 64 functions, as a recorder has them: more than the processor's
 * caches hold, one after the other; with a cache that remembers rules, and with one that does
 * not. Then of the same stacks in place, beside what the C library's backtrace() and libunwind
 * (its general way, and its fast one that only gives addresses) take for that. All in CPU time
 * of this thread.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "unwind/self.h"

#include "bench.h"

#ifdef HAS_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define COPIES 4000
#define COPY_BYTES 8192
#define ROUNDS 10
#define DEPTH_MAX 128

/* A stack as the kernel would have copied it. */
struct copy {
	struct unwind_regs regs;
	unsigned char bytes[COPY_BYTES];
};

static struct copy *copies; /* [copy_count] */
static size_t copy_count;
static uint64_t stack_end;
static struct unwind_self *self;
static struct unwind_walker walker;
static uint64_t frame_count; /* of the walks in place */
static void (*at_end)(void);
static int (*libc_backtrace)(void **addresses, int count); /* libunwind has one of that name */

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t sp_of(const struct unwind_regs *regs)
{
	return regs->r[unwind_arch_of(unwind_self_space(self)->machine)->sp];
}

static __attribute__((noinline)) void take_copy(void)
{
	struct copy *c = &copies[copy_count++];
	uint64_t len;

	unwind_self_regs(&c->regs);
	len = stack_end - sp_of(&c->regs);
	memcpy(c->bytes, (const void *)(uintptr_t)sp_of(&c->regs),
	       len < COPY_BYTES ? len : COPY_BYTES);
}

static void take_nothing(void)
{
	frame_count++;
}

static __attribute__((noinline)) void walk_in_place(void)
{
	struct unwind_frame frames[DEPTH_MAX];
	struct unwind_stack stack = { .frames = frames, .cap = DEPTH_MAX };
	struct unwind_memory memory;
	struct unwind_regs regs;

	unwind_self_regs(&regs);
	memory = unwind_memory_own(sp_of(&regs), stack_end);
	unwind_walk(&walker, unwind_self_space(self), &regs, &memory, &stack);
	frame_count += stack.count;
}

static __attribute__((noinline)) void call_backtrace(void)
{
	void *addresses[DEPTH_MAX];

	frame_count += (uint64_t)libc_backtrace(addresses, DEPTH_MAX);
}

#ifdef HAS_LIBUNWIND
static __attribute__((noinline)) void call_unw_backtrace(void)
{
	void *addresses[DEPTH_MAX];

	frame_count += (uint64_t)unw_backtrace(addresses, DEPTH_MAX);
}

static __attribute__((noinline)) void call_unw_step(void)
{
	unw_context_t context;
	unw_cursor_t cursor;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do
		frame_count++;
	while (unw_step(&cursor) > 0);
}
#endif

/* 64 functions that call each other by the bits of a number. */
typedef void function(uint64_t seed, unsigned depth);
static function *const functions[64];
static volatile uint64_t sink;

static void call_next(uint64_t seed, unsigned depth)
{
	if (depth == 0)
		at_end();
	else
		functions[seed >> 58](seed, depth - 1);
}

#define DEFINE(a, b)                                                                     \
	static __attribute__((noinline)) void f##a##b(uint64_t seed, unsigned depth)     \
	{                                                                                \
		volatile uint64_t kept[1 + (a) + (b)] = { seed };                        \
                                                                                         \
		call_next(seed *UINT64_C(6364136223846793005) + (a)*8 + (b) + 1, depth); \
		sink += kept[0];                                                         \
	}
#define NAME(a, b) f##a##b,
#define ROW(X, a) X(a, 0) X(a, 1) X(a, 2) X(a, 3) X(a, 4) X(a, 5) X(a, 6) X(a, 7)
#define ALL(X) ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7)
ALL(DEFINE)
static function *const functions[64] = { ALL(NAME) };

static void make_stacks(void (*end)(void), unsigned count)
{
	uint64_t seed = 1;

	at_end = end;
	for (unsigned i = 0; i < count; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		call_next(seed, 10 + i % 51);
	}
}

static void walk_copies(uint32_t slot_count)
{
	struct unwind_frame frames[DEPTH_MAX];
	struct unwind_stack stack = { .frames = frames, .cap = DEPTH_MAX };
	uint64_t walked = 0, complete = 0, stacks = copy_count * ROUNDS;
	double ns;
	int64_t began;

	memset(walker.slots, 0, UNWIND_SLOTS * sizeof *walker.slots);
	unwind_walker_init(&walker, walker.slots, slot_count);
	began = cpu_ns();
	for (uint64_t i = 0; i < stacks; i++) {
		struct copy *c = &copies[i % copy_count];
		struct unwind_memory memory =
			unwind_memory_copy(sp_of(&c->regs), c->bytes, COPY_BYTES);

		unwind_walk(&walker, unwind_self_space(self), &c->regs, &memory, &stack);
		walked += stack.count;
		complete += stack.end == UNWIND_COMPLETE;
	}
	ns = (double)(cpu_ns() - began);
	printf("copies, %5u rules remembered: %5.1f ns a frame, %5.1f million frames/s, %.0f ns a "
	       "stack, %.1f %% of rules remembered, %.2f %% complete\n",
	       slot_count, ns / (double)walked, 1e3 * (double)walked / ns, ns / (double)stacks,
	       100.0 - 100.0 * (double)walker.misses / (double)walked,
	       100.0 * (double)complete / (double)stacks);
	bench_value(slot_count > 1 ? "copies, rules remembered" : "copies", ns / (double)walked,
		    "ns a frame");
}

/* Nanoseconds a frame, without the calls that make the stacks. */
static double walk_stacks(void (*end)(void))
{
	int64_t began, ns;

	make_stacks(end, COPIES); /* its own caches, too */
	began = cpu_ns();
	make_stacks(take_nothing, COPIES * ROUNDS);
	ns = began - cpu_ns();
	frame_count = 0;
	began = cpu_ns();
	make_stacks(end, COPIES * ROUNDS);
	ns += cpu_ns() - began;
	return (double)ns / (double)frame_count;
}

static void compare_in_place(void)
{
	static const struct {
		const char *name;
		void (*end)(void);
	} rows[] = {
		{ "auger", walk_in_place },
		{ "backtrace()", call_backtrace },
#ifdef HAS_LIBUNWIND
		{ "unw_backtrace()", call_unw_backtrace },
		{ "unw_step()", call_unw_step },
#endif
	};
	double own = 0;
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	*(void **)&libc_backtrace = libc ? dlsym(libc, "backtrace") : NULL;
	if (!libc_backtrace)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double ns = walk_stacks(rows[i].end);

		own = i ? own : ns;
		if (i > 0)
			bench_compare("in place", own, "ns a frame", rows[i].name, ns, 0);
	}
}

static void build_table(const char *path)
{
	struct unwind_table_size size = { 0 };
	struct elf_image image;
	int64_t best = INT64_MAX;
	struct err e;

	if (elf_image_open(&image, path, &e) < 0)
		return; /* not on this machine */
	for (int i = 0; i < 5; i++) {
		int64_t began = cpu_ns(), ns;
		struct unwind_table *table;

		if (unwind_table_new(&image, NULL, &table, &e) < 0)
			break;
		ns = cpu_ns() - began;
		best = ns < best ? ns : best;
		size = unwind_table_measure(table);
		unwind_table_free(table);
	}
	elf_image_close(&image);
	if (size.rows)
		printf("table of %s: %u functions, %u rows, %.1f bytes a row, %.2f ms, %.1f ns a "
		       "row, %u unknown\n",
		       path, size.functions, size.rows, (double)size.bytes / size.rows,
		       (double)best / 1e6, (double)best / size.rows, size.unknown);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3.11",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
	};
	static struct unwind_slot slots[UNWIND_SLOTS];
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		build_table(paths[i]);
	for (int i = 1; i < argc; i++)
		build_table(argv[i]);
	copies = calloc(COPIES, sizeof *copies);
	stack_end = unwind_self_stack_end();
	if (!copies || unwind_self_new(NULL, &self, &e) < 0)
		return 1;
	unwind_walker_init(&walker, slots, UNWIND_SLOTS);
	make_stacks(take_copy, COPIES);
	walk_copies(1);
	walk_copies(UNWIND_SLOTS);
	compare_in_place();
	unwind_self_free(self);
	free(copies);
	return 0;
}
