/* SPDX-License-Identifier: MIT */
/* Spare threads: members of a remote that were added to the process, and that it can lose. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/clock.h"
#include "inject/remote_internal.h"
#include "target/proc.h"

#define PATIENCE_NS INT64_C(20000000) /* for a call of a spare thread */
#define LIMIT_NS NS_PER_S             /* for a thread that gets no CPU */
#define END_NS NS_PER_S               /* for a thread to end, which needs no storage */

/* On busy CPUs the whole frozen job would wait for it. Without the right to it, it does. */
static void run_first(const struct remote_member *m)
{
	const struct sched_param first = { .sched_priority = 1 };

	(void)!sched_setscheduler(m->w.tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

int remote_make_spares(struct remote *r, size_t count, struct err *e)
{
	pid_t inner = proc_inner_pid(r->pid);

	for (size_t i = 0; i < count; i++) {
		struct remote_member *m = rows_add(&r->members, sizeof *m);

		if (!m)
			return err_nomem(e);
		if (remote_thread_clone(&remote_member_at(r, 0)->w, r->bootstrap, &m->w, e) < 0) {
			r->members.count--;
			if (e->code != -EAGAIN)
				return e->code;
			memset(e, 0, sizeof *e); /* a limit of threads: fewer have to do */
			return 0;
		}
		m->is_spare = true;
		run_first(m);
		r->spares++;
		if (inner) {
			m->w.resume.pid = inner;
			m->w.resume.tid = proc_inner_pid(m->w.tid);
		}
	}
	return 0;
}

int remote_spare(const struct remote *r, size_t i)
{
	return r->spares ? (int)(r->members.count - r->spares + i % r->spares) : 0;
}

/* What waits for the thread need not wait. If it has more calls to make, it must not make them when
 * storage replies: the interrupt stops it before. */
static int lose(struct remote *r, struct remote_member *m, struct err *e)
{
	m->is_lost = true;
	(void)!ptrace(PTRACE_INTERRUPT, m->w.tid, NULL, NULL);
	return remote_write_word(r, m->control + offsetof(struct arch_control, is_applied), 1, e);
}

/* Does it wait in a call? On busy CPUs it may not have run yet. */
static bool waits(const struct remote_member *m)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, m->w.tid) && (stat.state == 'D' || stat.state == 'S');
}

int remote_run_spare(struct remote *r, struct remote_member *m, struct err *e)
{
	struct err late = { 0 };
	int64_t now_ns = clock_mono_ns(), limit_ns = now_ns + LIMIT_NS;
	int64_t patience_ns = remote_has_lost(r) ? PATIENCE_NS / 20 : PATIENCE_NS;
	int rc = remote_thread_run_until(&m->w, now_ns + patience_ns, &late);

	while (rc == -ETIME && !waits(m) && clock_mono_ns() < limit_ns)
		rc = remote_thread_await(&m->w, clock_mono_ns() + PATIENCE_NS / 20, &late);
	if (rc == 0)
		return 0;
	return rc == -ETIME ? lose(r, m, e) : err_set(e, late.code, "%s", late.msg);
}

bool remote_has_lost(const struct remote *r)
{
	for (size_t i = r->members.count - r->spares; i < r->members.count; i++)
		if (remote_member_at(r, i)->is_lost)
			return true;
	return false;
}

bool remote_end_spares(struct remote *r)
{
	bool is_lost = false;

	for (size_t i = r->members.count - r->spares; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		if (!m->is_lost)
			m->is_lost = remote_thread_end(&m->w, clock_mono_ns() + END_NS) < 0;
		is_lost |= m->is_lost;
	}
	return !is_lost;
}
