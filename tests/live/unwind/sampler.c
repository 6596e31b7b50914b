/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/macros.h"
#include "unwind/self.h"

#ifndef sigev_notify_thread_id /* glibc before 2.38 has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define HZ 4000
#define STACKS_MAX 40000
#define FRAMES_MAX (24u << 20) /* 384 MiB of addresses, of which few become memory */
#define COPY_MAX 65536

static struct unwind_self *_Atomic self;
static struct sampler_stack stacks[STACKS_MAX];
static struct unwind_frame *frames; /* [FRAMES_MAX] */
static _Atomic uint32_t stack_count, frame_count, thread_count;
static size_t copied_bytes;

static _Thread_local struct {
	uint64_t stack_end;
	uint32_t number;
	timer_t timer;
	struct unwind_walker walker;
	struct unwind_slot slots[1024];
	unsigned char copy[COPY_MAX];
	struct unwind_frame frames[SAMPLER_DEPTH];
} thread __attribute__((tls_model("initial-exec")));

static struct unwind_regs context_regs(const ucontext_t *context)
{
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };
	struct unwind_regs regs = { .ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP] };

	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		unwind_regs_set(&regs, i, (uint64_t)context->uc_mcontext.gregs[order[i]]);
	return regs;
}

static void keep(const struct unwind_stack *stack)
{
	uint32_t index = atomic_fetch_add(&stack_count, 1);
	uint32_t first = atomic_fetch_add(&frame_count, stack->count);

	if (index >= STACKS_MAX || first + stack->count > FRAMES_MAX) {
		atomic_fetch_sub(&stack_count, 1);
		atomic_fetch_sub(&frame_count, stack->count);
		return;
	}
	memcpy(frames + first, stack->frames, stack->count * sizeof *frames);
	stacks[index] = (struct sampler_stack){ frames + first, stack->count, thread.number,
						stack->end, stack->guessed };
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	struct unwind_regs regs = context_regs(context);
	uint64_t sp = regs.r[UNWIND_X86_SP], len = thread.stack_end - sp;
	struct unwind_stack stack = { .frames = thread.frames, .cap = SAMPLER_DEPTH };
	struct unwind_memory memory;

	(void)number;
	(void)info;
	len = len < copied_bytes ? len : copied_bytes;
	memcpy(thread.copy, (const void *)(uintptr_t)sp, len);
	memory = unwind_memory_copy(sp, thread.copy, len);
	unwind_walk(&thread.walker, unwind_self_space(self), &regs, &memory, &stack);
	keep(&stack);
}

int sampler_renew(void)
{
	struct unwind_self *newer;
	struct err e;

	if (unwind_self_new(self, &newer, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return -1;
	}
	self = newer;
	return 0;
}

int sampler_open(size_t copied)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };

	frames = mmap(NULL, FRAMES_MAX * sizeof *frames, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (frames == MAP_FAILED || sigaction(SIGPROF, &action, NULL) < 0) {
		perror("sampler");
		return -1;
	}
	copied_bytes = copied;
	return sampler_renew();
}

void sampler_clear(size_t copied)
{
	copied_bytes = copied < COPY_MAX ? copied : COPY_MAX;
	madvise(frames, FRAMES_MAX * sizeof *frames, MADV_DONTNEED);
	atomic_store(&stack_count, 0);
	atomic_store(&frame_count, 0);
	atomic_store(&thread_count, 0);
}

void sampler_start(void)
{
	const struct itimerspec period = { { 0, 1000000000 / HZ }, { 0, 1000000000 / HZ } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	thread.stack_end = unwind_self_stack_end();
	thread.number = atomic_fetch_add(&thread_count, 1);
	memset(thread.slots, 0, sizeof thread.slots);
	unwind_walker_init(&thread.walker, thread.slots, ARRAY_LEN(thread.slots));
	if (timer_create(CLOCK_MONOTONIC, &event, &thread.timer) == 0)
		timer_settime(thread.timer, 0, &period, NULL);
	else
		perror("timer_create");
}

void sampler_stop(void)
{
	timer_delete(thread.timer);
}

size_t sampler_count(void)
{
	uint32_t count = atomic_load(&stack_count);

	return count < STACKS_MAX ? count : STACKS_MAX;
}

const struct sampler_stack *sampler_get(size_t index)
{
	return &stacks[index];
}
