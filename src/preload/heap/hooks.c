/* SPDX-License-Identifier: MIT */
/*
 * hooks: the functions that libauger-heap.so puts before those of the C library.
 *
 * Each calls the real function, and records around it. Ends are recorded before the real free(),
 * because another thread may get the address at once. Source of the list of functions: malloc(3),
 * posix_memalign(3), C23 7.24.3, glibc 2.36.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "auger/heap.h"
#include "preload/heap/account.h"
#include "preload/heap/code.h"
#include "preload/heap/hooks.h"
#include "preload/heap/real.h"
#include "preload/heap/recorder.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME() ((const uint64_t *)__builtin_frame_address(0))

static __attribute__((noinline)) void miss(void)
{
	if (thread_tls.is_inside && recorder.is_on && *recorder.fork_word)
		file_count(&file_header()->missed);
}

static void made(const void *block, size_t size, const uint64_t *frame)
{
	if (!block)
		return;
	if (!recorder_enter()) {
		miss();
		return;
	}
	if (__builtin_expect(thread_tls.self != NULL, 1))
		account_made(thread_tls.self, block, size, frame);
	else
		miss();
	recorder_leave();
}

static void unmade(const void *block)
{
	if (!recorder_enter())
		return;
	account_freed(thread_tls.self, block);
	recorder_leave();
}

EXPORT void *malloc(size_t size)
{
	void *block;

	if (!real_is_ready())
		return real_early_alloc(size);
	block = real.malloc(size);
	made(block, size, FRAME());
	return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t total;
	void *block;

	if (!real_is_ready()) {
		if (__builtin_mul_overflow(count, size, &total))
			return NULL;
		return real_early_alloc(total);
	}
	block = real.calloc(count, size);
	made(block, count * size, FRAME());
	return block;
}

static void release(void *block)
{
	if (!block || real_is_early(block) || !real_is_ready())
		return;
	unmade(block);
	real.free(block);
}

EXPORT void free(void *block)
{
	release(block);
}

EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);

void free_sized(void *block, size_t size)
{
	(void)size;
	release(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	release(block);
}

static void *move_early(const void *block, size_t size, const uint64_t *frame)
{
	size_t left = real_early_left(block);
	void *copy = real_is_ready() ? real.malloc(size) : real_early_alloc(size);

	if (copy)
		memcpy(copy, block, size < left ? size : left);
	if (!real_is_early(copy))
		made(copy, size, frame);
	return copy;
}

/* What was known of a block, in a recording: that may have ended since, and another one begun. */
struct known_block {
	struct block block; /* all zero: nothing */
	uint32_t recording;
};

static struct known_block take(const void *block)
{
	struct known_block k = { .recording = recorder.count };

	if (!recorder_enter())
		return k;
	if (!account_take(block, &k.block))
		k.block = (struct block){ 0 };
	k.recording = recorder.count;
	recorder_leave();
	return k;
}

static void moved(struct known_block *k, const void *old, const void *block, size_t size,
		  const uint64_t *frame)
{
	if (!recorder_enter())
		return;
	if (k->recording != recorder.count)
		k->block = (struct block){ 0 };
	if (thread_tls.self)
		account_moved(thread_tls.self, &k->block, old, block, size, frame);
	recorder_leave();
}

static void put_back(const struct known_block *k, const void *block)
{
	if (!recorder_enter())
		return;
	if (k->block.weight && k->recording == recorder.count)
		account_put_back(block, &k->block);
	recorder_leave();
}

/* What is known of a block is taken before the real call; a failed call gives it back. Its errno
 * stays. Size 0 frees with glibc, so NULL is no failure then. */
static void *resize(void *block, size_t size, const uint64_t *frame)
{
	struct known_block known = take(block);
	uintptr_t address = (uintptr_t)block;
	void *grown = real.realloc(block, size);

	if (grown)
		moved(&known, (const void *)address, grown, size, frame);
	else if (size)
		put_back(&known, (const void *)address);
	return grown;
}

static void *reallocate(void *block, size_t size, const uint64_t *frame)
{
	void *fresh;

	if (block && real_is_early(block))
		return move_early(block, size, frame);
	if (!real_is_ready())
		return block ? NULL : real_early_alloc(size);
	if (block && size)
		return resize(block, size, frame);
	if (block)
		unmade(block);
	fresh = real.realloc(block, size);
	made(fresh, size, frame);
	return fresh;
}

EXPORT void *realloc(void *block, size_t size)
{
	return reallocate(block, size, FRAME());
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return reallocate(block, total, FRAME());
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int status;

	if (!real_is_ready())
		return ENOMEM;
	status = real.posix_memalign(ret_block, alignment, size);
	if (status == 0)
		made(*ret_block, size, FRAME());
	return status;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *block = real_is_ready() ? real.aligned_alloc(alignment, size) : NULL;

	made(block, size, FRAME());
	return block;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *block = real_is_ready() ? real.memalign(alignment, size) : NULL;

	made(block, size, FRAME());
	return block;
}

EXPORT void *valloc(size_t size)
{
	void *block = real_is_ready() ? real.valloc(size) : NULL;

	made(block, size, FRAME());
	return block;
}

EXPORT void *pvalloc(size_t size)
{
	void *block = real_is_ready() ? real.pvalloc(size) : NULL;

	made(block, size, FRAME());
	return block;
}

/* Blocks of the program's own allocators (auger/heap.h); and by the names of heaptrack's interface,
 * for programs that have its calls. The frame must be there while the stack is walked: no tail
 * calls. */
#define STAY() __asm__ volatile("")

static void report_moved(const void *old, const void *block, size_t size, const uint64_t *frame)
{
	struct known_block known = { .recording = recorder.count };

	if (!block)
		return;
	if (old)
		known = take(old);
	moved(&known, old ? old : block, block, size, frame);
}

EXPORT void auger_heap_allocated(void *block, size_t size)
{
	made(block, size, FRAME());
	STAY();
}

EXPORT void auger_heap_freed(void *block)
{
	if (block)
		unmade(block);
}

EXPORT void auger_heap_reallocated(void *old, void *block, size_t size)
{
	report_moved(old, block, size, FRAME());
	STAY();
}

EXPORT void heaptrack_malloc(void *block, size_t size);
EXPORT void heaptrack_free(void *block);
EXPORT void heaptrack_realloc(void *old, size_t size, void *block);

void heaptrack_malloc(void *block, size_t size)
{
	made(block, size, FRAME());
	STAY();
}

void heaptrack_free(void *block)
{
	auger_heap_freed(block);
}

void heaptrack_realloc(void *old, size_t size, void *block)
{
	report_moved(old, block, size, FRAME());
	STAY();
}

/* RTLD_DEEPBIND would bind the library's allocations to the C library, past this one. A tail call
 * (-foptimize-sibling-calls): dlopen() takes the RUNPATH of the code that it returns to. */
EXPORT void *dlopen(const char *path, int flags)
{
	if (!real_is_ready() || !real.dlopen)
		return NULL;
	if (recorder.is_on)
		flags &= ~RTLD_DEEPBIND;
	return real.dlopen(path, flags);
}

/* Its addresses may be other code's next. */
EXPORT int dlclose(void *handle)
{
	int status;

	if (!real_is_ready())
		return -1;
	status = real.dlclose(handle);
	if (recorder_enter()) {
		code_refresh();
		recorder_leave();
	}
	return status;
}

/* In a running process the program's modules come to the hooks by got. What it opens then is taken
 * in before the program can find a function of it: dlopen() itself must return to its caller, whose
 * RUNPATH it takes. */
static void *opened_later(const char *path, int flags)
{
	got_update();
	return real.dlopen(path, flags);
}

static void *found_later(void *handle, const char *name)
{
	got_update();
	return real.dlsym(handle, name);
}

/* &malloc is that of the C library here, if this one was loaded later on. */
#define OWN(name)                                                                                \
	__asm__(".globl own_" #name "\n.hidden own_" #name "\n.set own_" #name ", " #name "\n"); \
	extern void own_##name(void) __attribute__((visibility("hidden")))
OWN(malloc);
OWN(calloc);
OWN(realloc);
OWN(reallocarray);
OWN(free);
OWN(free_sized);
OWN(free_aligned_sized);
OWN(posix_memalign);
OWN(aligned_alloc);
OWN(memalign);
OWN(valloc);
OWN(pvalloc);
OWN(dlclose);

/* clang-format off */
const struct hook hooks[HOOKS] = {
	{ "malloc", own_malloc, (void **)&real.malloc },
	{ "calloc", own_calloc, (void **)&real.calloc },
	{ "realloc", own_realloc, (void **)&real.realloc },
	{ "free", own_free, (void **)&real.free },
	{ "posix_memalign", own_posix_memalign, (void **)&real.posix_memalign },
	{ "aligned_alloc", own_aligned_alloc, (void **)&real.aligned_alloc },
	{ "memalign", own_memalign, (void **)&real.memalign },
	{ "valloc", own_valloc, (void **)&real.valloc },
	{ "pvalloc", own_pvalloc, (void **)&real.pvalloc },
	{ "reallocarray", own_reallocarray, NULL },
	{ "free_sized", own_free_sized, NULL },
	{ "free_aligned_sized", own_free_aligned_sized, NULL },
	{ "dlopen", (void (*)(void))opened_later, (void **)&real.dlopen },
	{ "dlsym", (void (*)(void))found_later, (void **)&real.dlsym },
	{ "dlclose", own_dlclose, (void **)&real.dlclose },
	{ "mmap", (void (*)(void))own_mmap, (void **)&real.mmap },
	{ "mmap64", (void (*)(void))own_mmap, NULL },
	{ "munmap", (void (*)(void))own_munmap, (void **)&real.munmap },
	{ "mremap", (void (*)(void))own_mremap, (void **)&real.mremap },
	{ "brk", (void (*)(void))own_brk, (void **)&real.brk },
	{ "sbrk", (void (*)(void))own_sbrk, (void **)&real.sbrk },
	{ "pthread_create", (void (*)(void))own_pthread_create, (void **)&real.pthread_create },
};
/* clang-format on */
