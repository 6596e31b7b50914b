/* SPDX-License-Identifier: MIT */
/*
 * workload: code of many shapes whose call graph is known, sampled while it runs. Every
 * stack must be complete, and each pair of frames a call that the program makes.
 *
 * Built in several ways (see meson.build). argv[1]: the library that is opened on the way.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "graph.h"
#include "tap.h"
#include "unwind/splice.h"

#define COUNTED(name) GRAPH_SECTION_ATTRIBUTE(name)
#define SCENE_NS 200000000 /* each scene runs so long */
#define COPIED ((size_t)32 * 1024)
#define COPIED_DEEP ((size_t)8 * 1024)

/* Changed all over, so that no work is left out and no call is a function's last thing. */
static volatile uint64_t sink;

static int64_t scene_end_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_over(void)
{
	return now_ns() >= scene_end_ns;
}

#define SPIN(n)                                                                          \
	for (volatile int spin_count = 0; spin_count < (n); spin_count = spin_count + 1) \
	sink += 3

/* A chain of three functions that call each other, with short and longer ones at its end. */

static COUNTED(leaf) void leaf(int n)
{
	sink += (uint64_t)n;
}

COUNTED(leaf_loop) void leaf_loop(int n);
COUNTED(leaf_loop) void leaf_loop(int n)
{
	SPIN(n);
}

static void ring_b(int depth);
static void ring_c(int depth);

static COUNTED(ring_a) void ring_a(int depth)
{
	leaf(depth);
	if (depth > 0)
		ring_b(depth - 1);
	else
		leaf_loop(20);
	sink++;
}

static COUNTED(ring_b) void ring_b(int depth)
{
	volatile char room[40];

	room[depth % 40] = 1;
	if (depth > 0)
		ring_c(depth - 1);
	leaf(room[0]);
	sink++;
}

static COUNTED(ring_c) void ring_c(int depth)
{
	uint64_t a = sink, b = a * 3, c = b ^ a, d = c + b, f = d * a;

	if (depth > 0)
		ring_a(depth - 1);
	sink += a + b + c + d + f;
}

static COUNTED(run) void run_ring(void)
{
	for (int depth = 10; !is_over(); depth = depth % 60 + 10)
		ring_a(depth);
}

/* Through libc and back. */

static COUNTED(compare) int compare(const void *a, const void *b)
{
	leaf(1);
	return *(const int *)a - *(const int *)b;
}

static COUNTED(sorter) void sorter(void)
{
	int numbers[300];

	for (int i = 0; i < 300; i++)
		numbers[i] = (i * 7919) % 1000;
	qsort(numbers, 300, sizeof *numbers, compare);
	sink += (uint64_t)numbers[0];
}

static COUNTED(run) void run_sorter(void)
{
	while (!is_over())
		sorter();
}

static COUNTED(libc_user) void libc_user(void)
{
	char text[200];
	void *room = malloc(1 + sink % 5000);

	snprintf(text, sizeof text, "%d %s %g", (int)sink, "words", 3.5);
	if (room)
		memset(room, 1, 1 + sink % 10);
	sink += strlen(text) + (uint64_t)now_ns() + (uint64_t)getppid();
	free(room);
}

static COUNTED(run) void run_libc(void)
{
	while (!is_over())
		libc_user();
}

/* Frames of unusual shapes. */

static COUNTED(large_frame) void large_frame(int n)
{
	volatile char room[20000];

	room[n] = 1;
	leaf_loop(30);
	sink += (uint64_t)room[n];
}

static COUNTED(dynamic_frame) void dynamic_frame(size_t size)
{
	volatile char *room = __builtin_alloca(size);

	room[size / 2] = 1;
	leaf_loop(30);
	large_frame(5);
	sink += (uint64_t)room[size / 2];
}

static COUNTED(aligned_frame) void aligned_frame(size_t size)
{
	alignas(128) volatile char room[256];
	volatile char *more = __builtin_alloca(size);

	room[size % 256] = more[size / 2] = 1;
	leaf_loop(10);
	dynamic_frame(size);
	sink += (uint64_t)room[0] + (uint64_t)more[0];
}

static COUNTED(run) void run_frames(void)
{
	for (size_t size = 16; !is_over(); size = size % 3000 + 16)
		aligned_frame(size);
}

/* The call is the last instruction of its function. */

static jmp_buf back;

static COUNTED(leaver) __attribute__((noreturn)) void leaver(int n)
{
	leaf_loop(n);
	longjmp(back, 1);
}

static COUNTED(never_back) __attribute__((noreturn)) void never_back(int n)
{
	sink++;
	leaver(n);
}

static COUNTED(jumper) void jumper(int n)
{
	if (setjmp(back) == 0)
		never_back(n);
	sink++;
}

static COUNTED(run) void run_jumps(void)
{
	while (!is_over())
		jumper(100);
}

/* Signal handlers on top of any of that. */

static COUNTED(on_signal) void on_signal(int number)
{
	leaf_loop(number);
	sink++;
}

static COUNTED(raiser) void raiser(void)
{
	raise(SIGUSR1);
	leaf_loop(10);
	sink++;
}

static COUNTED(run) void run_signals(void)
{
	const struct itimerspec period = { { 0, 300000 }, { 0, 300000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct sigaction action = { .sa_handler = on_signal };
	timer_t timer;

	sigaction(SIGUSR1, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
	for (int depth = 10; !is_over(); depth = depth % 20 + 10) {
		ring_a(depth);
		raiser();
	}
	timer_delete(timer);
}

/* Assembly: with its own call frame information; without any, but with a frame pointer; a
 * leaf without any. */

COUNTED(asm_callee) void asm_callee(void);
COUNTED(asm_callee) void asm_callee(void)
{
	leaf_loop(20);
	sink++;
}

void asm_described(void);
void asm_framed(void);
void asm_leaf(void);
__asm__(".pushsection graph_asm_described, \"ax\", @progbits\n"
	".globl asm_described\n"
	"asm_described:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	mov %rbx, 8(%rsp)\n"
	"	.cfi_offset %rbx, -24\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	sub $1000, %rsp\n"
	"	and $-64, %rsp\n"
	"	call asm_callee\n"
	"	mov $200, %ecx\n"
	"1:	push %rcx\n"
	"	pop %rcx\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	mov 8(%rsp), %rbx\n"
	"	.cfi_restore %rbx\n"
	"	add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n"
	".pushsection graph_asm_framed, \"ax\", @progbits\n"
	".globl asm_framed\n"
	"asm_framed:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $64, %rsp\n"
	"	call asm_callee\n"
	"	mov $200, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".popsection\n"
	".pushsection graph_asm_leaf, \"ax\", @progbits\n"
	".globl asm_leaf\n"
	"asm_leaf:\n"
	"	mov $200, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	".popsection\n");

static COUNTED(asm_user) void asm_user(void)
{
	asm_described();
	asm_framed();
	asm_leaf();
	sink++;
}

static COUNTED(run) void run_assembly(void)
{
	while (!is_over())
		asm_user();
}

/* Exceptions, in exceptions.cc. */

#ifdef HAS_EXCEPTIONS
void catcher(int n);

static COUNTED(run) void run_exceptions(void)
{
	for (int i = 0; !is_over(); i++)
		catcher(i);
}
#endif

/* A library that is opened while the program runs. */

static void (*library_entry)(void (*)(int), int);

static COUNTED(library_user) void library_user(void)
{
	library_entry(leaf_loop, 50);
	sink++;
}

static COUNTED(run) void run_library(void)
{
	while (!is_over())
		library_user();
}

/* Recursion, far beyond what is copied of the stack. */

static COUNTED(recursion) void recursion(int depth, int spin)
{
	volatile char room[64]; /* so that a small copy of the stack holds few of them */

	room[depth % 64] = 1;
	leaf_loop(spin);
	if (depth > 0)
		recursion(depth - 1, spin);
	leaf_loop(spin);
	sink += (uint64_t)room[0];
}

static COUNTED(run) void run_recursion_200(void)
{
	for (int depth = 0; !is_over(); depth = (depth + 20) % 201)
		recursion(depth, 10);
}

/* Slow enough that each copy reaches what was known from the last one. */
static COUNTED(run) void run_recursion_10000(void)
{
	while (!is_over())
		recursion(10000, 10000);
}

static COUNTED(run) void *run_thread(void *arg)
{
	sampler_start();
	for (int i = 0; !is_over(); i++) {
		ring_a(10 + i % 30);
		sorter();
		libc_user();
	}
	sampler_stop();
	return arg;
}

static COUNTED(run) void run_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run_thread, NULL) != 0)
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

GRAPH_DECLARE(run);
GRAPH_DECLARE(leaf);
GRAPH_DECLARE(leaf_loop);
GRAPH_DECLARE(ring_a);
GRAPH_DECLARE(ring_b);
GRAPH_DECLARE(ring_c);
GRAPH_DECLARE(compare);
GRAPH_DECLARE(sorter);
GRAPH_DECLARE(libc_user);
GRAPH_DECLARE(large_frame);
GRAPH_DECLARE(dynamic_frame);
GRAPH_DECLARE(aligned_frame);
GRAPH_DECLARE(leaver);
GRAPH_DECLARE(never_back);
GRAPH_DECLARE(jumper);
GRAPH_DECLARE(on_signal);
GRAPH_DECLARE(raiser);
GRAPH_DECLARE(asm_callee);
GRAPH_DECLARE(asm_described);
GRAPH_DECLARE(asm_framed);
GRAPH_DECLARE(asm_leaf);
GRAPH_DECLARE(asm_user);
GRAPH_DECLARE(library_user);
GRAPH_DECLARE(recursion);
#ifdef HAS_EXCEPTIONS
GRAPH_DECLARE(thrower);
GRAPH_DECLARE(thrower_caller);
GRAPH_DECLARE(catcher);
#endif

#define RINGS "ring_a ring_b ring_c"

static const struct graph_function functions[] = {
	GRAPH_FUNCTION(run, "main", true),
	GRAPH_FUNCTION(leaf, "ring_a ring_b compare", false),
	GRAPH_FUNCTION(leaf_loop,
		       "ring_a large_frame dynamic_frame aligned_frame leaver on_signal raiser "
		       "asm_callee ~library_user recursion thrower thrower_caller ~thrower_caller "
		       "catcher",
		       false),
	GRAPH_FUNCTION(ring_a, "run ring_c", false),
	GRAPH_FUNCTION(ring_b, "ring_a", false),
	GRAPH_FUNCTION(ring_c, "ring_b", false),
	GRAPH_FUNCTION(compare, "~sorter", false),
	GRAPH_FUNCTION(sorter, "run", true),
	GRAPH_FUNCTION(libc_user, "run", true),
	GRAPH_FUNCTION(large_frame, "dynamic_frame", false),
	GRAPH_FUNCTION(dynamic_frame, "aligned_frame", false),
	GRAPH_FUNCTION(aligned_frame, "run", false),
	GRAPH_FUNCTION(leaver, "never_back", true),
	GRAPH_FUNCTION(never_back, "jumper", false),
	GRAPH_FUNCTION(jumper, "run", true),
	GRAPH_FUNCTION(on_signal, "~run ~raiser ~leaf ~leaf_loop ~ring_a ~ring_b ~ring_c", true),
	GRAPH_FUNCTION(raiser, "run", true),
	GRAPH_FUNCTION(asm_callee, "asm_described asm_framed", false),
	GRAPH_FUNCTION(asm_described, "asm_user", false),
	GRAPH_FUNCTION(asm_framed, "asm_user", false),
	GRAPH_FUNCTION(asm_leaf, "asm_user", false),
	GRAPH_FUNCTION(asm_user, "run", true),
	GRAPH_FUNCTION(library_user, "run", true),
	GRAPH_FUNCTION(recursion, "run recursion", false),
#ifdef HAS_EXCEPTIONS
	GRAPH_FUNCTION(thrower, "thrower_caller", true),
	GRAPH_FUNCTION(thrower_caller, "catcher", true),
	GRAPH_FUNCTION(catcher, "run", true),
#endif
};

/* What became of the stacks of a scene. */
struct tally {
	size_t stacks, complete, spliced, wrong, guessed, outside;
};

static void judge(struct tally *t, const struct sampler_stack *stack)
{
	const char *fault;

	t->stacks++;
	t->guessed += stack->guessed > 0;
	if (stack->end == UNWIND_TRUNCATED)
		return;
	fault = graph_judge(functions, ARRAY_LEN(functions), stack);
	if (stack->end == UNWIND_COMPLETE && (!fault || strcmp(fault, "none") == 0)) {
		t->complete++;
		t->outside += fault != NULL;
		return;
	}
	if (t->wrong++ < 3) {
		fprintf(stderr, "  wrong: %s\n", fault ? fault : "ends too early");
		graph_print(functions, ARRAY_LEN(functions), stack);
	}
}

/* Splices what was cut, one thread after the other. */
static void judge_all(struct tally *t)
{
	static struct unwind_frame frames[SAMPLER_DEPTH];

	for (uint32_t thread = 0; thread < 8; thread++) {
		CLEANUP(splice_fini) struct splice splice = { 0 };

		for (size_t i = 0; i < sampler_count(); i++) {
			struct sampler_stack stack = *sampler_get(i);
			struct unwind_stack whole = { frames, SAMPLER_DEPTH, stack.count, stack.end,
						      0 };

			if (stack.thread != thread)
				continue;
			memcpy(frames, stack.frames, stack.count * sizeof *frames);
			t->spliced += splice_stack(&splice, &whole);
			stack.frames = whole.frames;
			stack.count = whole.count;
			stack.end = whole.end;
			judge(t, &stack);
		}
	}
}

/* share: of the stacks that must be complete and right, in percent. None may be wrong. */
static void run_scene(const char *name, void (*run)(void), size_t copied, double share)
{
	struct tally t = { 0 };

	sampler_clear(copied);
	scene_end_ns = now_ns() + SCENE_NS;
	if (run != run_threads)
		sampler_start();
	run();
	if (run != run_threads)
		sampler_stop();
	judge_all(&t);
	fprintf(stderr,
		"%-16s %5zu stacks, %6.2f %% complete (%zu spliced), %zu wrong, %zu guessed\n",
		name, t.stacks, 100.0 * (double)t.complete / (double)(t.stacks ? t.stacks : 1),
		t.spliced, t.wrong, t.guessed);
	CHECK(t.stacks >= 50);
	CHECK(t.outside <= 4); /* before and behind the work */
	CHECK(100.0 * (double)t.complete >= share * (double)t.stacks);
	CHECK(100.0 * (double)t.wrong <= (100.0 - share) * (double)t.stacks);
}

static void test_ring(void)
{
	run_scene("ring", run_ring, COPIED, 99.9);
}

static void test_sorter(void)
{
	run_scene("qsort", run_sorter, COPIED, 99.9);
}

static void test_libc(void)
{
	run_scene("libc", run_libc, COPIED, 99.9);
}

static void test_frames(void)
{
	run_scene("frames", run_frames, COPIED, 99.9);
}

static void test_jumps(void)
{
	run_scene("longjmp", run_jumps, COPIED, 99.9);
}

static void test_signals(void)
{
	run_scene("signals", run_signals, COPIED, 99.9);
}

/* What nothing describes is guessed at. */
static void test_assembly(void)
{
	run_scene("assembly", run_assembly, COPIED, 95);
}

/* While an exception is on its way, the unwinder of the language rewrites the stack. */
static void test_exceptions(void)
{
#ifdef HAS_EXCEPTIONS
	run_scene("exceptions", run_exceptions, COPIED, 95);
#else
	SKIP("no C++ compiler");
#endif
}

static void test_threads(void)
{
	run_scene("threads", run_threads, COPIED, 99.9);
}

static void test_recursion_200(void)
{
	run_scene("recursion 200", run_recursion_200, COPIED, 99);
}

static void test_recursion_10000(void)
{
	run_scene("recursion 10000", run_recursion_10000, COPIED_DEEP, 90);
}

static const char *library_path;

#ifdef IS_STATIC
void library_call(void (*call)(int), int n); /* linked */
#endif

static void test_library(void)
{
#ifdef IS_STATIC
	library_entry = library_call;
	run_scene("library", run_library, COPIED, 99.9);
#else
	void *library = dlopen(library_path, RTLD_NOW);

	if (!CHECK(library))
		return;
	*(void **)&library_entry = dlsym(library, "library_call");
	CHECK_INT(sampler_renew(), 0);
	run_scene("dlopen", run_library, COPIED, 99.9);
	dlclose(library);
	CHECK_INT(sampler_renew(), 0);
#endif
}

int main(int argc, char **argv)
{
	library_path = argc > 1 ? argv[1] : NULL;
	if (sampler_open(COPIED) < 0)
		return 1;
	TAP_CASE(test_ring);
	TAP_CASE(test_sorter);
	TAP_CASE(test_libc);
	TAP_CASE(test_frames);
	TAP_CASE(test_jumps);
	TAP_CASE(test_signals);
	TAP_CASE(test_assembly);
	TAP_CASE(test_library);
	TAP_CASE(test_recursion_200);
	TAP_CASE(test_recursion_10000);
	TAP_CASE(test_exceptions);
	TAP_CASE(test_threads);
	return tap_done();
}
