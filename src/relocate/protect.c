/* SPDX-License-Identifier: MIT */
#include "relocate/protect.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEAP_BYTES ((size_t)8 << 20) /* what a pause of hundreds of threads and files needs */

static void set_oom_score(const char *text, size_t len)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, len);
	close(fd);
}

/* Memory of the heap that is there already, and stays: a page that the kernel must clear first
 * takes as long as a call. What is not freed to the kernel need not be asked for again. */
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

/* The table of descriptors grows now: with more than one thread the kernel waits for all CPUs when
 * it does, which takes as long as all else together. It does not shrink. */
static void grow_fd_table(unsigned numbers)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= numbers)
		numbers = limit.rlim_cur ? (unsigned)limit.rlim_cur - 1 : 0;
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)numbers);
	if (fd >= 0)
		close(fd);
}

void protect_begin(unsigned numbers)
{
	set_oom_score("-1000", 5);
	preallocate_heap();
	grow_fd_table(numbers);
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
