/* SPDX-License-Identifier: MIT */
#include "preload/heap/thread.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "preload/heap/file.h"
#include "preload/heap/pages.h"
#include "preload/heap/spin.h"

#define PAGE UINT64_C(4096)
#define PROBE_MAX 256                  /* pages a call */
#define GROWTH_MAX (UINT64_C(8) << 20) /* bytes of stack that are looked at for one walk */
#define NAP_NS 1000000
#define NAPS_MAX 10000 /* that threads may stay in hooks */
#define KEYS_INSIDE 32 /* pthread_setspecific() of later ones may allocate */

_Thread_local struct thread_tls thread_tls __attribute__((tls_model("initial-exec")));

/* glibc: the stack pointer when the program began. */
extern void *__libc_stack_end __attribute__((weak)); // NOLINT

static struct {
	struct thread *first; /* under lock */
	uint32_t lock;
	uint32_t count;   /* ever in the list; under lock */
	uint32_t counted; /* threads that are inside, and is_counted; atomic */
	pthread_key_t key;
	bool has_key;
	void (*ended)(struct thread *t);
} all;

/* It may have been taken from the thread since, by thread_release(). */
static bool is_own(const struct thread *t)
{
	bool is_same;

	spin_lock(&all.lock);
	is_same = t->is_used && t->tls == &thread_tls;
	spin_unlock(&all.lock);
	return is_same;
}

static void give_up(struct thread *t)
{
	all.ended(t);
	thread_tls.self = NULL;
	thread_tls.has_ended = true;
	spin_lock(&all.lock);
	t->is_used = 0;
	t->tls = NULL;
	spin_unlock(&all.lock);
}

/* Destructors of other keys may still allocate: it comes back as often as it may. */
static void at_exit(void *memory)
{
	struct thread *t = memory;

	thread_enter();
	if (is_own(t) && (++t->endings == 4 || pthread_setspecific(all.key, t) != 0))
		give_up(t);
	thread_tls.is_inside = false;
}

bool thread_init(void (*ended)(struct thread *t))
{
	all.ended = ended;
	if (!all.has_key)
		all.has_key = pthread_key_create(&all.key, at_exit) == 0 && all.key < KEYS_INSIDE;
	return all.has_key;
}

void thread_begin_counted(void)
{
	thread_tls.is_counted = true;
	__atomic_fetch_add(&all.counted, 1, __ATOMIC_SEQ_CST);
}

void thread_end_counted(void)
{
	thread_tls.is_counted = false;
	__atomic_fetch_sub(&all.counted, 1, __ATOMIC_RELEASE);
}

/* Stores of the others before now are seen from now on. */
static void wait_for_stores(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) < 0 ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) < 0)
		nanosleep(&nap, NULL);
}

static bool is_any_inside(void)
{
	bool is_inside = __atomic_load_n(&all.counted, __ATOMIC_SEQ_CST) != 0;

	spin_lock(&all.lock);
	for (struct thread *t = all.first; t && !is_inside; t = t->next)
		is_inside = t->is_used && t->tls && t->tls != &thread_tls &&
			    __atomic_load_n(&t->tls->is_inside, __ATOMIC_ACQUIRE);
	spin_unlock(&all.lock);
	return is_inside;
}

bool thread_wait_outside(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	wait_for_stores();
	for (int i = 0; i < NAPS_MAX; i++) {
		if (!is_any_inside())
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

void thread_release(void (*last)(struct thread *t))
{
	spin_lock(&all.lock);
	for (struct thread *t = all.first; t; t = t->next) {
		if (t->is_used && last)
			last(t);
		if (t->is_used && t->tls)
			t->tls->self = NULL;
		t->is_used = 0;
		t->tls = NULL;
		pages_drop((char *)t + PAGE, sizeof *t - PAGE);
	}
	spin_unlock(&all.lock);
}

/* One that a thread left, or a new one. */
static struct thread *take(void)
{
	struct thread *t;

	spin_lock(&all.lock);
	for (t = all.first; t && t->is_used; t = t->next)
		;
	if (!t) {
		t = pages_new(sizeof *t);
		if (t) {
			t->shard = all.count++ % SHARDS;
			t->next = all.first;
			all.first = t;
		}
	}
	if (t) {
		t->is_used = 1;
		t->tls = &thread_tls;
	}
	spin_unlock(&all.lock);
	return t;
}

/* Above the first frame of a thread lies, on the same stack, its static thread-local memory; that
 * of the first thread lies elsewhere. */
static uint64_t find_stack_end(void)
{
	if ((pid_t)syscall(SYS_gettid) != getpid())
		return (uintptr_t)&thread_tls & ~UINT64_C(15);
	return &__libc_stack_end ? (uintptr_t)__libc_stack_end + 16 : 0;
}

static void clear(struct thread *t)
{
	t->count = 0;
	t->code_version = 0;
	t->pending = 0;
	t->recent[0] = t->recent[1] = NULL;
	memset(t->sites, 0, sizeof t->sites);
	memset(t->nodes, 0, sizeof t->nodes);
}

struct thread *thread_start(void)
{
	int saved = errno;
	struct thread *t = thread_tls.has_ended ? NULL : take();

	if (t) {
		clear(t);
		t->endings = 0;
		t->stack_high = t->stack_low = find_stack_end();
		unwind_walker_init(&t->walker, t->slots, WALK_SLOTS);
		thread_tls.self = t;
		__atomic_fetch_add(&file_header()->threads, 1, __ATOMIC_RELAXED);
		if (all.has_key)
			pthread_setspecific(all.key, t);
	}
	errno = saved;
	return t;
}

/* One byte of each page of [from..to), which has PROBE_MAX pages at most. */
static bool is_readable(struct thread *t, uint64_t from, uint64_t to)
{
	struct iovec *pages = (void *)t->fresh, bytes = { t->window, 0 };
	unsigned long count = 0;
	ssize_t n;

	for (uint64_t at = from; at < to; at += PAGE)
		pages[count++] = (struct iovec){ (void *)(uintptr_t)at, 1 };
	bytes.iov_len = count;
	n = process_vm_readv(getpid(), &bytes, 1, pages, count, 0);
	if (n < 0 && errno != EFAULT)
		return true; /* not allowed: then only the rules of unwinding are trusted */
	return n == (ssize_t)count;
}

bool thread_extend_stack(struct thread *t, uint64_t sp)
{
	uint64_t low = t->stack_low & ~(PAGE - 1), to = sp & ~(PAGE - 1);
	int saved = errno;
	bool ok = true;

	if (sp >= t->stack_high || low - to > GROWTH_MAX)
		return false;
	while (ok && low > to) {
		uint64_t from = low - to > PROBE_MAX * PAGE ? low - PROBE_MAX * PAGE : to;

		ok = is_readable(t, from, low);
		low = from;
	}
	if (ok)
		t->stack_low = to;
	errno = saved;
	return ok;
}

void thread_forget(void)
{
	all.lock = 0;
	all.counted = thread_tls.is_counted;
	for (struct thread *t = all.first; t; t = t->next) {
		t->is_used = t == thread_tls.self;
		t->tls = t->is_used ? &thread_tls : NULL;
		clear(t);
	}
}
