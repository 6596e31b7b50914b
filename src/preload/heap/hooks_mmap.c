/* SPDX-License-Identifier: MIT */
/*
 * hooks_mmap: the functions that map memory, and end mappings.
 *
 * Those of an allocator are not the program's: its blocks count. The C library's allocator and the
 * dynamic linker do not call these; of another one its calls are told by where they return to.
 * Source: mmap(2), mremap(2), brk(2).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/heap/account.h"
#include "preload/heap/hooks.h"
#include "preload/heap/mappings.h"
#include "preload/heap/real.h"
#include "preload/heap/recorder.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

#define FRAME() ((const uint64_t *)__builtin_frame_address(0))
#define CALLER() ((uintptr_t)__builtin_return_address(0))

/* Also this library takes its memory here. */
static void *map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (real.mmap)
		return real.mmap(at, len, prot, flags, fd, offset);
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset); // NOLINT
}

static int unmap(void *at, size_t len)
{
	return real.munmap ? real.munmap(at, len) : (int)syscall(SYS_munmap, at, len);
}

/* Then leave() follows. */
static bool enter(uintptr_t caller)
{
	return account_options.has_mappings && !real_is_allocator(caller) && recorder_enter();
}

static void leave(void)
{
	recorder_leave();
}

static uint64_t whole_pages(uint64_t len)
{
	uint64_t page = getauxval(AT_PAGESZ);

	return (len + page - 1) & ~(page - 1);
}

static void put(const void *at, uint64_t len, const uint64_t *frame, bool is_move)
{
	uint64_t start = (uintptr_t)at;

	if (!len)
		return;
	if (thread_tls.self) {
		mappings_put(thread_tls.self, start, start + len, frame, is_move);
		return;
	}
	mappings_cut(NULL, start, start + len, UINT64_MAX, false);
	account_miss();
}

/* made: before the system call. */
static void cut(const void *at, uint64_t len, uint64_t made, bool is_move)
{
	mappings_cut(thread_tls.self, (uintptr_t)at, (uintptr_t)at + len, made, is_move);
}

void *own_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *pages = map(at, len, prot, flags, fd, offset);

	if (!account_options.has_mappings || pages == MAP_FAILED || !enter(CALLER()))
		return pages;
	mappings_lock();
	put(pages, whole_pages(len), FRAME(), false);
	mappings_unlock();
	leave();
	return pages;
}

int own_munmap(void *at, size_t len)
{
	uint64_t made;
	int status;

	if (!enter(CALLER()))
		return unmap(at, len);
	made = mappings_made();
	status = unmap(at, len);
	if (status == 0) {
		mappings_lock();
		cut(at, whole_pages(len), made, false);
		mappings_unlock();
	}
	leave();
	return status;
}

static void *remap(void *old, size_t old_len, size_t len, int flags, void *at)
{
	if (real.mremap)
		return real.mremap(old, old_len, len, flags, at);
	return (void *)syscall(SYS_mremap, old, old_len, len, flags, at); // NOLINT
}

/* As realloc(): the old one ends, but not if it stays (old_len 0, MREMAP_DONTUNMAP). */
static void moved(const void *old, size_t old_len, uint64_t made, const void *pages, size_t len,
		  int flags, const uint64_t *frame)
{
	mappings_lock();
	if (old_len && !(flags & MREMAP_DONTUNMAP))
		cut(old, whole_pages(old_len), made, true);
	put(pages, whole_pages(len), frame, pages != old);
	mappings_unlock();
}

void *own_mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	void *at = NULL, *pages;
	uint64_t made;
	va_list more;

	va_start(more, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		at = va_arg(more, void *);
	va_end(more);
	if (!enter(CALLER()))
		return remap(old, old_len, len, flags, at);
	made = mappings_made();
	pages = remap(old, old_len, len, flags, at);
	if (pages != MAP_FAILED)
		moved(old, old_len, made, pages, len, flags, FRAME());
	leave();
	return pages;
}

/* The end of the data segment has moved; others may move it, too. */
static void moved_break(const char *before, const char *after, uint64_t made, const uint64_t *frame)
{
	mappings_lock();
	if (after > before)
		put(before, (uint64_t)(after - before), frame, false);
	else
		cut(after, (uint64_t)(before - after), made, false);
	mappings_unlock();
}

void *own_sbrk(intptr_t change)
{
	uint64_t made;
	char *before;

	if (!real_is_ready() || !real.sbrk) {
		errno = ENOMEM;
		return (void *)-1; // NOLINT
	}
	if (change == 0 || !enter(CALLER()))
		return real.sbrk(change);
	made = mappings_made();
	before = real.sbrk(change);
	if ((intptr_t)before != -1)
		moved_break(before, before + change, made, FRAME());
	leave();
	return before;
}

int own_brk(void *end)
{
	uint64_t made;
	char *before;
	int status;

	if (!real_is_ready() || !real.brk || !real.sbrk) {
		errno = ENOMEM;
		return -1;
	}
	if (!enter(CALLER()))
		return real.brk(end);
	made = mappings_made();
	before = real.sbrk(0);
	status = real.brk(end);
	if (status == 0 && (intptr_t)before != -1)
		moved_break(before, end, made, FRAME());
	leave();
	return status;
}

/* By their names for programs: those of the headers may stand for others (_FILE_OFFSET_BITS). */
#define PUBLISH(name, own)                                     \
	extern __typeof__(own) published_##name __asm__(#name) \
		__attribute__((alias(#own), visibility("default")))
PUBLISH(mmap, own_mmap);
PUBLISH(mmap64, own_mmap);
PUBLISH(munmap, own_munmap);
PUBLISH(mremap, own_mremap);
PUBLISH(brk, own_brk);
PUBLISH(sbrk, own_sbrk);
