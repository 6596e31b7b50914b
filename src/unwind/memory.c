/* SPDX-License-Identifier: MIT */
#include "unwind/memory.h"

#include <sys/uio.h>

#define PAGE_SIZE UINT64_C(4096) /* the smallest; others are multiples */

struct unwind_memory unwind_memory_copy(uint64_t start, const void *bytes, uint64_t len)
{
	return (struct unwind_memory){ .bytes = bytes, .start = start, .len = len };
}

struct unwind_memory unwind_memory_own(uint64_t sp, uint64_t stack_end)
{
	return (struct unwind_memory){ .bytes = (const void *)(uintptr_t)sp,
				       .start = sp,
				       .len = stack_end > sp ? stack_end - sp : 0 };
}

/* Reads [start..start+len) into the window; how much came, 0 on failure. */
static uint64_t fill_window(struct unwind_memory *m, uint64_t start, uint64_t len)
{
	struct iovec local = { .iov_base = m->window, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)start, .iov_len = len };
	ssize_t n = process_vm_readv(m->pid, &local, 1, &remote, 1, 0);

	if (n <= 0)
		return 0;
	m->bytes = m->window;
	m->start = start;
	m->len = (uint64_t)n;
	return m->len;
}

/* From the word on, as far as the window goes: stacks are read upwards. The kernel ends a
 * piece early only where it began one, so the page of the word is asked for alone when all of
 * it fails. */
static bool read_process(struct unwind_memory *m, uint64_t address, uint64_t *ret)
{
	uint64_t in_page = PAGE_SIZE - address % PAGE_SIZE;

	if (m->window_size < sizeof *ret || address > UINT64_MAX - m->window_size)
		return false;
	if (fill_window(m, address, m->window_size) < sizeof *ret &&
	    (in_page >= m->window_size || fill_window(m, address, in_page) < sizeof *ret))
		return false;
	memcpy(ret, m->bytes, sizeof *ret);
	return true;
}

struct unwind_memory unwind_memory_process(pid_t pid, void *window, size_t window_size)
{
	return (struct unwind_memory){
		.read = read_process, .window = window, .window_size = window_size, .pid = pid
	};
}
