/* SPDX-License-Identifier: MIT */
#include "relocate/protect.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEAP_BYTES \
	((size_t)8 << 20) /* enough for the pause of a job with hundreds of threads and files */

static void set_oom_score(const char *text, size_t len)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, len);
	close(fd);
}

/* Faults heap memory in and keeps it: in the pause each new page would cost about as much as a
 * system call. malloc neither returns this memory to the kernel nor maps more. */
static void preallocate_heap(void)
{
	void *heap;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, (int)(2 * HEAP_BYTES));
	mallopt(M_TRIM_THRESHOLD, (int)(4 * HEAP_BYTES));
	heap = malloc(HEAP_BYTES);
	if (heap)
		explicit_bzero(heap, HEAP_BYTES);
	free(heap);
}

/* Grows our own descriptor table. In a process with threads that waits for an RCU grace period,
 * which is as long as a short pause. A table never shrinks. */
static void grow_fd_table(unsigned descriptors)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= descriptors)
		descriptors = limit.rlim_cur ? (unsigned)limit.rlim_cur - 1 : 0;
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)descriptors);
	if (fd >= 0)
		close(fd);
}

void protect_begin(unsigned descriptors)
{
	set_oom_score("-1000", 5);
	preallocate_heap();
	grow_fd_table(descriptors);
	(void)mlockall(MCL_CURRENT | MCL_FUTURE);
}

void protect_end(void)
{
	(void)munlockall();
	set_oom_score("0", 1);
}

void protect_block_signals(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, ret_before);
}

void protect_unblock_signals(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
