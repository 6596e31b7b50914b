/* SPDX-License-Identifier: MIT */
#include "base/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDS_MAX 1024 /* a perf.data folder has a file for each CPU */

/* A row is taken by its start; len is set last and cleared first, for the handler uses no
 * other field of a row without. */
static struct {
	_Atomic uintptr_t start; /* 0: free */
	_Atomic size_t len;
	_Atomic bool has_shrunk;
} guards[GUARDS_MAX];

static _Atomic uintptr_t page_bytes; /* 0: the handler is not there yet */

static void put_zeros(int number, siginfo_t *info, void *context)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	uintptr_t at = (uintptr_t)info->si_addr, page = atomic_load(&page_bytes);
	int saved = errno;
	void *zeros;

	(void)context;
	for (size_t i = 0; i < GUARDS_MAX; i++) {
		size_t len = atomic_load(&guards[i].len);

		if (!len || at - atomic_load(&guards[i].start) >= len)
			continue;
		/* cppcheck-suppress invalidFunctionArg */
		zeros = mmap((void *)(at & ~(page - 1)), page, PROT_READ, flags, -1, 0);
		if (zeros == MAP_FAILED)
			break;
		atomic_store(&guards[i].has_shrunk, true);
		errno = saved;
		return;
	}
	/* Comes again at once, and ends the process. */
	signal(number, SIG_DFL);
}

static int install(void)
{
	struct sigaction action = { .sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO };

	if (atomic_load(&page_bytes))
		return 0;
	atomic_store(&page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE));
	return sigaction(SIGBUS, &action, NULL);
}

int guard_begin(const void *bytes, size_t len)
{
	if (install() < 0)
		return -errno;
	for (int i = 0; i < GUARDS_MAX; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&guards[i].start, &none, (uintptr_t)bytes))
			continue;
		atomic_store(&guards[i].has_shrunk, false);
		atomic_store(&guards[i].len, len);
		return i;
	}
	return -ENOMEM;
}

bool guard_has_shrunk(int guard)
{
	return guard >= 0 && atomic_load(&guards[guard].has_shrunk);
}

void guard_end(int guard)
{
	if (guard < 0)
		return;
	atomic_store(&guards[guard].len, 0);
	atomic_store(&guards[guard].start, 0);
}
