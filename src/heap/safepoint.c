/* SPDX-License-Identifier: MIT */
#include "heap/safepoint.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/rows.h"
#include "target/proc.h"

#define STOP_LIMIT_NS (INT64_C(5) * 1000000000)   /* the kernel keeps it, or it gets no CPU */
#define PAUSE_NS 3000000                          /* between attempts */
#define LOADER_LIMIT_NS (INT64_C(2) * 1000000000) /* that a thread may be in the dynamic linker */

struct search {
	pid_t pid;
	struct process_code *code;
	struct rows tids;    /* int */
	struct freeze *free; /* of the thread that was found; NULL: none */
	enum thread_place worst;
	pid_t worst_tid;
	int64_t loader_ns; /* since when a thread was in the dynamic linker each time; 0: none is */
};

/* Worse is what keeps us from attaching for longer. */
static void note(struct search *s, enum thread_place place, pid_t tid)
{
	static const int badness[] = { [THREAD_FREE] = 0,
				       [THREAD_IN_ALLOCATOR] = 1,
				       [THREAD_UNKNOWN] = 2,
				       [THREAD_IN_LOADER] = 3 };

	if (badness[place] <= badness[s->worst] && s->worst_tid)
		return;
	s->worst = place;
	s->worst_tid = tid;
}

/* One that ends is not looked at; one that does not stop is an error, because it stays traced until
 * we end. may_keep: it stays frozen if it is free. */
static int look_at(struct search *s, pid_t tid, bool may_keep, struct err *e)
{
	struct arch_regs regs;
	struct freeze *h;
	int rc = freeze_begin_thread(&h, s->pid, tid, STOP_LIMIT_NS, e);
	enum thread_place place;

	if (rc == -ESRCH) {
		*e = (struct err){ 0 };
		return 0;
	}
	if (rc < 0)
		return rc;
	place = arch_read(tid, &regs) < 0 ? THREAD_UNKNOWN : process_code_place(s->code, &regs);
	note(s, place, tid);
	if (place == THREAD_FREE && may_keep)
		s->free = h;
	else
		freeze_thaw(h);
	return 0;
}

static int list_threads(struct search *s, struct err *e)
{
	char path[PROC_PATH];
	int rc;

	snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
	s->tids.count = 0;
	rc = proc_numbers(path, &s->tids);
	if (rc == -ENOMEM)
		return err_nomem(e);
	if (rc < 0 || !s->tids.count)
		return err_set(e, -ESRCH, "process %d has ended", (int)s->pid);
	return 0;
}

static int look_at_all(struct search *s, bool may_keep, struct err *e)
{
	const int *tids = s->tids.data;
	int rc = 0;

	s->worst = THREAD_FREE;
	s->worst_tid = 0;
	for (size_t i = 0; i < s->tids.count && rc == 0 && !s->free; i++)
		rc = look_at(s, tids[i], may_keep, e);
	return rc;
}

/* A zombie is one thread that does not stop. */
static bool has_ended(const struct search *s)
{
	struct proc_stat stat;

	return s->tids.count <= 1 && (!proc_stat_read(&stat, s->pid) || stat.state == 'Z');
}

/* One attempt; s->free is set if it succeeded. */
static int try_once(struct search *s, struct err *e)
{
	int rc;

	process_code_free(s->code);
	s->code = NULL;
	rc = process_code_new(s->pid, &s->code, e);
	if (rc == 0)
		rc = list_threads(s, e);
	if (rc == 0 && has_ended(s))
		rc = err_set(e, -ESRCH, "process %d has ended", (int)s->pid);
	if (rc == 0)
		rc = look_at_all(s, false, e);
	if (rc < 0 || s->worst == THREAD_IN_LOADER) {
		s->loader_ns = s->loader_ns ? s->loader_ns : clock_mono_ns();
		return rc;
	}
	s->loader_ns = 0;
	return look_at_all(s, true, e);
}

static bool is_over(const struct search *s, int64_t until_ns)
{
	int64_t now_ns = clock_mono_ns();

	return s->free || now_ns >= until_ns ||
	       (s->loader_ns && now_ns - s->loader_ns >= LOADER_LIMIT_NS);
}

static int explain(const struct search *s, struct err *e)
{
	int pid = (int)s->pid, tid = (int)s->worst_tid;

	if (s->worst == THREAD_IN_LOADER)
		return err_set(e, -EBUSY,
			       "process %d: thread %d stays in the dynamic linker: try again later",
			       pid, tid);
	if (s->worst == THREAD_UNKNOWN)
		return err_set(e, -EBUSY, "process %d: the stack of thread %d cannot be unwound",
			       pid, tid);
	if (s->worst_tid)
		return err_set(e, -EBUSY, "process %d: thread %d is always in malloc: try again",
			       pid, tid);
	return err_set(e, -EBUSY, "process %d: no thread of it stops", pid);
}

int safepoint_freeze(pid_t pid, int64_t limit_ns, struct freeze **ret,
		     struct process_code **ret_code, struct err *e)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int64_t until_ns = clock_mono_ns() + limit_ns;
	struct search s = { .pid = pid };
	int rc;

	while ((rc = try_once(&s, e)) == 0 && !is_over(&s, until_ns))
		nanosleep(&pause, NULL);
	rows_fini(&s.tids);
	if (rc == 0 && !s.free)
		rc = explain(&s, e);
	if (rc < 0) {
		process_code_free(s.code);
		return rc;
	}
	*ret = s.free;
	*ret_code = s.code;
	return 0;
}
