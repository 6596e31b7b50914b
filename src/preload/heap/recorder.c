/* SPDX-License-Identifier: MIT */
#include "preload/heap/recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/heap/account.h"
#include "preload/heap/big_stack.h"
#include "preload/heap/blocks.h"
#include "preload/heap/code.h"
#include "preload/heap/loaded.h"
#include "preload/heap/mappings.h"
#include "preload/heap/pages.h"
#include "preload/heap/python.h"
#include "preload/heap/real.h"
#include "preload/heap/spin.h"
#include "preload/heap/trie.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

struct recorder recorder;

static struct {
	char dir[PATH_MAX];
	uint64_t limit;
} options;

static uint64_t read_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool read_options(void)
{
	const char *dir = getenv(HEAP_ENV_DIR);
	uint64_t only = read_number(HEAP_ENV_ONLY);

	if (!dir || dir[0] != '/' || strlen(dir) >= sizeof options.dir ||
	    (only && only != (uint64_t)getpid()))
		return false;
	memcpy(options.dir, dir, strlen(dir) + 1);
	options.limit = read_number(HEAP_ENV_LIMIT);
	account_options.period = read_number(HEAP_ENV_SAMPLE);
	account_options.is_exact = read_number(HEAP_ENV_EXACT) == 1;
	account_options.has_mappings = read_number(HEAP_ENV_MMAP) == 1;
	return true;
}

static void set_flags(uint32_t flags)
{
	if (account_options.is_exact)
		flags |= HEAP_EXACT_PEAK;
	if (account_options.has_mappings)
		flags |= HEAP_MAPPED;
	__atomic_fetch_or(&file_header()->flags, flags, __ATOMIC_RELAXED);
}

/* From now on the file is one: its reader looks for the magic first. */
static void publish(uint32_t flags)
{
	struct heap_header *h = file_header();

	set_flags(flags);
	h->period = account_options.period;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(h->magic, HEAP_MAGIC, sizeof h->magic);
}

/* In no file of a parent. */
static void stamp_end(void)
{
	struct heap_header *h = heap_file.head ? file_header() : NULL;
	struct timespec now;

	if (!h || h->pid != getpid())
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	h->end_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	set_flags(HEAP_ENDED);
}

/* Not in a handler that interrupted a hook, which may have a lock: then the child repairs. And not
 * where we were attached: then handlers of the program come after this one, which may wait for
 * threads that allocate, and the child is not recorded. */
static void before_fork(void)
{
	if (!recorder.is_on || recorder.is_attached || *recorder.fork_word == 0 ||
	    thread_tls.is_inside)
		return;
	blocks_lock_all();
	mappings_lock();
	thread_tls.is_forking = true;
}

static void after_fork(void)
{
	if (!thread_tls.is_forking)
		return;
	thread_tls.is_forking = false;
	mappings_unlock();
	blocks_unlock_all();
}

static void after_fork_in_child(void)
{
	after_fork();
	if (recorder.is_on)
		*recorder.fork_word = 0;
}

static bool make_fork_word(void)
{
	if (recorder.fork_word)
		return true;
	recorder.fork_word = pages_new(4096);
	if (!recorder.fork_word)
		return false;
	madvise(recorder.fork_word, 4096, MADV_WIPEONFORK);
	*recorder.fork_word = 1;
	return true;
}

static void notice_forks(void)
{
	static bool is_done;

	if (!is_done)
		pthread_atfork(before_fork, after_fork, after_fork_in_child);
	is_done = true;
}

void recorder_end_stack(struct thread_stack *s, struct thread *t)
{
	if (s->bytes && s->recording == recorder.count)
		account_unmapped(t, 0, s->site, 1, s->bytes);
	s->bytes = 0;
}

/* A thread's last. */
static void end_thread(struct thread *t)
{
	recorder_end_stack(&thread_tls.stack, t);
	account_flush(t);
}

static bool start(void)
{
	if (account_options.has_mappings)
		real_find_allocator();
	if (!make_fork_word() || !file_open(options.dir, options.limit) || !code_start())
		return false;
	thread_init(end_thread);
	python_start();
	notice_forks();
	publish(0);
	return true;
}

void recorder_start(void)
{
	int saved = errno;

	if (!environ || thread_tls.is_inside)
		return;
	thread_tls.is_inside = true;
	recorder.is_tried = true;
	if (read_options())
		recorder.is_on = start();
	thread_tls.is_inside = false;
	errno = saved;
}

static bool take_options(const struct heap_attach *o)
{
	if (o->size != sizeof *o || !memchr(o->dir, '\0', sizeof o->dir) || !real_is_ready())
		return false;
	memcpy(options.dir, o->dir, strlen(o->dir) + 1);
	options.limit = o->limit;
	account_options.period = o->period;
	account_options.is_exact = o->is_exact == 1;
	account_options.has_mappings = o->has_mappings == 1;
	return true;
}

/* Nobody is in a hook, or comes into one. */
static void release(void)
{
	thread_release(heap_file.head && file_header()->pid == getpid() ? account_flush : NULL);
	stamp_end();
	blocks_release();
	mappings_release();
	trie_forget();
	account_forget();
	code_release();
	file_close();
	big_stack_release();
}

static int start_attached(void)
{
	errno = 0;
	if (!make_fork_word() || !file_open_unnamed(options.dir, options.limit))
		return errno ? -errno : -EIO;
	if (account_options.has_mappings)
		real_find_allocator();
	if (!thread_init(end_thread))
		return -EAGAIN;
	if (!code_start())
		return -ENOMEM;
	notice_forks();
	*recorder.fork_word = 1;
	publish(0);
	return 0;
}

/* What was left of an earlier time is released first: in a child of a process that was attached to,
 * or if a thread stayed in a hook. */
int recorder_attach(const struct heap_attach *o)
{
	int rc;

	if (recorder.is_on || !thread_wait_outside())
		return -EBUSY;
	if (!take_options(o))
		return -EINVAL;
	thread_enter();
	release();
	recorder.is_attached = recorder.is_tried = true;
	recorder.count++;
	rc = start_attached();
	if (rc < 0)
		release();
	__atomic_store_n(&recorder.is_on, rc == 0, __ATOMIC_SEQ_CST);
	recorder_leave();
	return rc;
}

void recorder_mark_attached(void)
{
	set_flags(HEAP_ATTACHED);
}

int recorder_detach(void)
{
	if (!recorder.is_on)
		return 0;
	__atomic_store_n(&recorder.is_on, false, __ATOMIC_SEQ_CST);
	if (!thread_wait_outside())
		return -EBUSY;
	thread_enter();
	release();
	recorder_leave();
	return 0;
}

/* Whatever other threads were doing when the parent forked is left undone. A child of a process
 * that was attached to is not recorded: nobody would detach from it. */
static void begin_child(void *unused)
{
	(void)unused;
	blocks_repair();
	mappings_repair();
	thread_forget();
	if (recorder.is_attached) {
		recorder.is_on = false;
		return;
	}
	account_forget();
	python_forget();
	file_forget(trie_forget());
	recorder.is_on = file_open(options.dir, options.limit);
	if (!recorder.is_on)
		return;
	code_forget();
	file_header()->threads = thread_tls.self ? 1 : 0;
	publish(HEAP_FORKED);
}

bool recorder_begin_child(void)
{
	*recorder.fork_word = 1;
	big_stack_forget();
	if (!big_stack_run(begin_child, NULL))
		recorder.is_on = false;
	return recorder.is_on;
}

/* Not where it was loaded later on: then its functions stand before nobody's. */
__attribute__((constructor)) static void at_load(void)
{
	if (!loaded_is_late() && real_is_ready() && !recorder.is_tried)
		recorder_start();
}

__attribute__((destructor)) static void at_end(void)
{
	if (!recorder.is_on || *recorder.fork_word == 0)
		return;
	if (thread_tls.self && file_header()->pid == getpid())
		account_flush(thread_tls.self);
	stamp_end();
}
