/* SPDX-License-Identifier: MIT */
/*
 * hooks_thread: pthread_create(), which maps the stack of a thread (--mmap), if the program did
 * not.
 *
 * The C library maps stacks past mmap(), and keeps them for later threads. So a stack counts at the
 * call that creates a thread, up to the thread's end.
 * Source: pthread_create(3), pthread_attr_setstack(3), pthread_attr_setguardsize(3).
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "preload/heap/account.h"
#include "preload/heap/hooks.h"
#include "preload/heap/pages.h"
#include "preload/heap/real.h"
#include "preload/heap/recorder.h"

#define FRAME() ((const uint64_t *)__builtin_frame_address(0))

/* What a new thread begins with. */
struct beginning {
	void *(*function)(void *);
	void *argument;
	struct thread_stack stack;
};

/* With its guard. 0: it is the program's own, or not known. */
static uint64_t stack_bytes(const pthread_attr_t *a)
{
	size_t page = getauxval(AT_PAGESZ), size = 0, own_size = 0, guard = 0;
	void *start = NULL;

	if (pthread_attr_getstack(a, &start, &own_size) != 0 || (uintptr_t)start + own_size != 0 ||
	    pthread_attr_getstacksize(a, &size) != 0 || pthread_attr_getguardsize(a, &guard) != 0)
		return 0;
	return ((size + page - 1) & ~(page - 1)) + ((guard + page - 1) & ~(page - 1));
}

static uint64_t find_stack_bytes(const pthread_attr_t *attributes)
{
	pthread_attr_t usual;
	uint64_t bytes;

	if (attributes)
		return stack_bytes(attributes);
	if (pthread_getattr_default_np(&usual) != 0)
		return 0;
	bytes = stack_bytes(&usual);
	pthread_attr_destroy(&usual);
	return bytes;
}

/* A jump, so that no frame of ours is in the thread's stacks (-foptimize-sibling-calls). */
static void *begin(void *memory)
{
	struct beginning b = *(struct beginning *)memory;

	pages_free(memory, sizeof b);
	thread_tls.stack = b.stack;
	if (recorder_enter()) /* so that its end is seen */
		recorder_leave();
	return b.function(b.argument);
}

/* NULL: it is not recorded. */
static struct beginning *prepare(uint64_t bytes, const uint64_t *frame)
{
	struct beginning *b = NULL;

	if (!bytes || !recorder_enter())
		return NULL;
	if (thread_tls.self)
		b = pages_new(sizeof *b);
	if (b)
		b->stack = (struct thread_stack){ .bytes = bytes,
						  .site = account_mapped(thread_tls.self, 0, bytes,
									 frame, true),
						  .recording = recorder.count };
	recorder_leave();
	return b;
}

int own_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*function)(void *), void *argument)
{
	struct beginning *b = NULL;
	int status;

	if (!real_is_ready() || !real.pthread_create)
		return EAGAIN;
	if (account_options.has_mappings)
		b = prepare(find_stack_bytes(attributes), FRAME());
	if (!b)
		return real.pthread_create(thread, attributes, function, argument);
	b->function = function;
	b->argument = argument;
	status = real.pthread_create(thread, attributes, begin, b);
	if (status == 0)
		return 0;
	if (recorder_enter()) {
		recorder_end_stack(&b->stack, thread_tls.self);
		recorder_leave();
	}
	pages_free(b, sizeof *b);
	return status;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
		   void *argument)
	__attribute__((alias("own_pthread_create"), visibility("default")));
