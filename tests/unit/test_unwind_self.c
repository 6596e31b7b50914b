/* SPDX-License-Identifier: MIT */
#include "unwind/self.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "tap.h"

#define NOINLINE __attribute__((noinline))
#define MARKS_MAX 8

static struct unwind_self *self;
static struct unwind_slot slots[256];
static struct unwind_walker walker;
static struct unwind_frame frames[256];
static struct unwind_stack stack;

/* Return addresses as the compiler knows them, outermost first: the truth. */
static const void *marks[MARKS_MAX];
static uint32_t mark_count;

/* Changed behind each call, so that none is the last thing its function does. */
static volatile int sink;

#define MARK() (marks[mark_count++] = __builtin_return_address(0))

static NOINLINE void walk_here(void)
{
	struct unwind_memory memory;
	struct unwind_regs regs;

	MARK();
	unwind_self_regs(&regs);
	memory = unwind_memory_own(regs.r[unwind_arch_of(unwind_self_space(self)->machine)->sp],
				   unwind_self_stack_end());
	stack = (struct unwind_stack){ .frames = frames, .cap = ARRAY_LEN(frames) };
	unwind_walk(&walker, unwind_self_space(self), &regs, &memory, &stack);
}

/* The last marks must be the frames from 1 on; those before them, anywhere above. */
static void check_marks(uint32_t adjacent)
{
	uint32_t frame = 1, mark = mark_count;

	for (; adjacent-- && mark > 0; mark--, frame++)
		CHECK(frame < stack.count && frames[frame].pc + 1 == (uintptr_t)marks[mark - 1]);
	for (; mark > 0; mark--) {
		while (frame < stack.count && frames[frame].pc + 1 != (uintptr_t)marks[mark - 1])
			frame++;
		CHECK(frame < stack.count);
	}
	mark_count = 0;
}

static NOINLINE void two(void)
{
	MARK();
	walk_here();
	sink++;
}

static NOINLINE void one(void)
{
	volatile char room[3000];

	MARK();
	room[(unsigned)sink % 3000] = 1;
	two();
	sink += room[0];
}

static void test_calls(void)
{
	one();
	CHECK_INT(stack.end, UNWIND_COMPLETE);
	CHECK_INT(stack.guessed, 0);
	check_marks(3);
	for (uint32_t i = 1; i < stack.count; i++)
		CHECK(frames[i].sp > frames[i - 1].sp);
}

static int compare(const void *a, const void *b)
{
	if (mark_count == 1) {
		MARK();
		walk_here();
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int sort(void)
{
	int numbers[3] = { 3, 1, 2 };

	MARK();
	qsort(numbers, 3, sizeof *numbers, compare);
	return numbers[0];
}

static void test_through_libc(void)
{
	CHECK_INT(sort(), 1);
	CHECK_INT(stack.end, UNWIND_COMPLETE);
	check_marks(2);
}

static void on_signal(int number)
{
	walk_here();
	sink += number;
}

static NOINLINE void raise_signal(void)
{
	MARK();
	raise(SIGUSR1);
	sink++;
}

static void test_signal(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	raise_signal();
	CHECK_INT(stack.end, UNWIND_COMPLETE);
	check_marks(1);
}

/* A stack of the handler's own: the thread's other one is not in what the walk may read. */
static void test_signal_stack(void)
{
	static char room[65536];
	const stack_t own = { .ss_sp = room, .ss_size = sizeof room };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	CHECK_INT(sigaltstack(&own, NULL), 0);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	check_marks(1);
}

static void *run_thread(void *arg)
{
	one();
	return arg;
}

static void test_thread(void)
{
	pthread_t thread;

	if (!CHECK_INT(pthread_create(&thread, NULL, run_thread, NULL), 0))
		return;
	pthread_join(thread, NULL);
	CHECK_INT(stack.end, UNWIND_COMPLETE);
	check_marks(3);
}

/* Where a function of a library that was just opened is; NULL: all are there already. */
static const void *open_library(void **ret)
{
	static const char *const rows[][2] = { { "libm.so.6", "sin" }, { "libz.so.1", "crc32" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (dlopen(rows[i][0], RTLD_NOW | RTLD_NOLOAD))
			continue;
		*ret = dlopen(rows[i][0], RTLD_NOW);
		if (*ret)
			return dlsym(*ret, rows[i][1]);
	}
	return NULL;
}

#if !__GLIBC_PREREQ(2, 33)
#define mallinfo2 mallinfo
#endif

/* Tables move to the newer one; what is new is found; no malloc in all of that. */
static void test_renewal(void)
{
	struct mallinfo2 before, after;
	const struct unwind_map *map;
	void *library = NULL;
	uint64_t address = (uintptr_t)open_library(&library);
	struct err e;

	if (!address) {
		SKIP("no library to open");
		return;
	}
	CHECK(!unwind_space_find(unwind_self_space(self), address));
	before = mallinfo2();
	for (int i = 0; i < 3; i++) {
		struct unwind_self *newer;

		if (!CHECK_INT(unwind_self_new(self, &newer, &e), 0))
			break;
		CHECK(unwind_self_space(newer)->version != unwind_self_space(self)->version);
		unwind_self_free(self);
		self = newer;
		one();
		CHECK_INT(stack.end, UNWIND_COMPLETE);
		check_marks(3);
	}
	after = mallinfo2();
	CHECK_INT(after.uordblks, before.uordblks);
	map = unwind_space_find(unwind_self_space(self), address);
	CHECK(map && (map->table || map->lookup));
	dlclose(library);
}

/* More mappings than were expected. */
static void test_many_mappings(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 500;
	unsigned char *pages =
		mmap(NULL, count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_self *newer;
	struct err e;

	if (!CHECK(pages != MAP_FAILED))
		return;
	for (size_t i = 0; i < count; i += 2)
		mprotect(pages + i * page, page, PROT_READ | PROT_EXEC);
	if (CHECK_INT(unwind_self_new(self, &newer, &e), 0)) {
		CHECK(unwind_self_space(newer)->count > count / 2);
		unwind_self_free(self);
		self = newer;
		one();
		CHECK_INT(stack.end, UNWIND_COMPLETE);
		check_marks(3);
	}
	munmap(pages, count * page);
}

int main(void)
{
	struct err e;

	unwind_walker_init(&walker, slots, ARRAY_LEN(slots));
	if (unwind_self_new(NULL, &self, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	TAP_CASE(test_calls);
	TAP_CASE(test_through_libc);
	TAP_CASE(test_signal);
	TAP_CASE(test_signal_stack);
	TAP_CASE(test_thread);
	TAP_CASE(test_renewal);
	TAP_CASE(test_many_mappings);
	unwind_self_free(self);
	return tap_done();
}
