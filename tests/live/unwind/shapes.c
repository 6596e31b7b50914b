/* SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "graph.h"

#define COUNTED(name) GRAPH_SECTION_ATTRIBUTE(name)

/* Changed all over, so that no work is left out and no call is a function's last thing. */
static volatile uint64_t sink;

static int64_t end_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void shapes_run_for(int64_t ns)
{
	end_ns = now_ns() + ns;
}

static bool is_over(void)
{
	return now_ns() >= end_ns;
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

COUNTED(run) void run_ring(void)
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

COUNTED(run) void run_sorter(void)
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

COUNTED(run) void run_libc(void)
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

COUNTED(run) void run_frames(void)
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

COUNTED(run) void run_jumps(void)
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

COUNTED(run) void run_signals(void)
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

COUNTED(run) void run_assembly(void)
{
	while (!is_over())
		asm_user();
}

/* Exceptions, in exceptions.cc. */

#ifdef HAS_EXCEPTIONS
void catcher(int n);

COUNTED(run) void run_exceptions(void)
{
	for (int i = 0; !is_over(); i++)
		catcher(i);
}
#endif

/* A library that is opened while the program runs. */

void (*library_entry)(void (*)(int), int);

static COUNTED(library_user) void library_user(void)
{
	library_entry(leaf_loop, 50);
	sink++;
}

COUNTED(run) void run_library(void)
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

COUNTED(run) void run_recursion_200(void)
{
	for (int depth = 0; !is_over(); depth = (depth + 20) % 201)
		recursion(depth, 10);
}

/* Slow enough that each copy reaches what was known from the last one. */
COUNTED(run) void run_recursion_10000(void)
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

COUNTED(run) void run_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run_thread, NULL) != 0)
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
