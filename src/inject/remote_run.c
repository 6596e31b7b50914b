/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/remote_internal.h"

#define AT(list) offsetof(struct arch_control, at[list])

static int read_control(struct remote *r, const struct remote_member *m, struct arch_control *ret,
			struct err *e)
{
	int rc = remote_read(r, m->control, ret, sizeof *ret);

	return rc < 0 ? remote_memory_error(r, rc, e) : 0;
}

static int clear_failed(struct remote *r, const struct remote_member *m, struct err *e)
{
	return remote_write_word(r, m->control + offsetof(struct arch_control, failed), 0, e);
}

/* Names the call that failed, and the reason. what: borrowed. */
static int explain_failure(struct remote *r, uint64_t failed, const char *what, struct err *e)
{
	struct arch_call call;

	if (remote_read(r, failed, &call, sizeof call) < 0)
		return remote_memory_error(r, -EFAULT, e);
	return err_set(e, (int)call.result, "process %d: %s: %s", (int)r->pid, what,
		       strerror((int)-call.result));
}

static const char *name_of(const struct rows *calls, size_t i)
{
	return i < calls->count ? ((const struct remote_call *)calls->data)[i].what : "a call";
}

/* Writes the steps of this round, then a stop, then a jump to the rollback list for the case that
 * we died. */
static int write_steps(struct remote *r, uint64_t *ret_at, struct err *e)
{
	const struct remote_member *m = remote_member_at(r, 0);
	struct call_list l = call_list_begin(r);

	*ret_at = l.at;
	call_list_add_all(&l, &r->steps);
	call_list_stop(&l, m);
	call_list_add(&l, &(struct remote_call){ .nr = ARCH_SET_FLAG, .arg = { REMOTE_ROLLBACK } });
	return call_list_write(&l, e);
}

/* Runs the first thread, which enters the lists if it has not yet. */
static int run_caller(struct remote *r, struct err *e)
{
	struct remote_member *m = remote_member_at(r, 0);

	if (!r->is_running && remote_thread_enter_lists(&m->w, m->w.trampoline, m->control, e) < 0)
		return e->code;
	r->is_running = true;
	return remote_thread_run(&m->w, e);
}

static int run_member(struct remote *r, struct remote_member *m, struct err *e)
{
	if (m->is_spare)
		return remote_run_spare(r, m, e);
	return m == remote_member_at(r, 0) ? run_caller(r, e) : remote_thread_run(&m->w, e);
}

static int read_results(struct remote *r, uint64_t at, struct err *e)
{
	size_t count = r->steps.count;
	struct arch_call *calls = calloc(count + 1, sizeof *calls);
	int rc = calls ? remote_read(r, at, calls, count * sizeof *calls) : -ENOMEM;

	if (rc == 0)
		rc = rows_reserve(&r->results, count, sizeof(int64_t));
	for (size_t i = 0; i < count && rc == 0; i++)
		((int64_t *)r->results.data)[i] = calls[i].result;
	free(calls);
	if (rc < 0)
		return err_set(e, rc, "results of process %d: %s", (int)r->pid, strerror(-rc));
	r->results.count = count;
	return 0;
}

int remote_run_steps(struct remote *r, struct err *e)
{
	struct remote_member *m = remote_member_at(r, 0);
	struct arch_control control;
	uint64_t at;
	int rc;

	if (!r->steps.count)
		return 0;
	if (write_steps(r, &at, e) < 0 || remote_write_rollback(r, m, e) < 0 ||
	    remote_write_word(r, m->control + AT(REMOTE_STEPS), at, e) < 0 ||
	    clear_failed(r, m, e) < 0 ||
	    remote_write_word(r, m->control + offsetof(struct arch_control, own_flag), REMOTE_STEPS,
			      e) < 0)
		return e->code;
	if (run_caller(r, e) < 0 || read_control(r, m, &control, e) < 0)
		return e->code;
	if (control.failed)
		rc = explain_failure(
			r, control.failed,
			name_of(&r->steps, (control.failed - at) / sizeof(struct arch_call)), e);
	else
		rc = read_results(r, at, e);
	r->steps.count = 0;
	return rc;
}

int remote_find_member(struct remote *r, pid_t tid, struct err *e)
{
	for (size_t i = 0; i < r->members.count; i++)
		if (remote_member_at(r, i)->w.tid == tid)
			return (int)i;
	return err_set(e, -ESRCH, "thread %d is not frozen", (int)tid);
}

/* Waits until m has made the calls of its apply list. */
static void add_wait_for(struct call_list *l, const struct remote_member *m)
{
	uint64_t at = m->control + offsetof(struct arch_control, is_applied);

	if (m->apply.count && m->is_spare)
		call_list_wait_briefly(l, at);
	else if (m->apply.count)
		call_list_wait(l, at);
}

static int write_apply(struct remote *r, struct remote_member *m, struct err *e)
{
	struct call_list l = call_list_begin(r);

	m->apply_at = l.at;
	call_list_add_all(&l, &m->apply);
	if (m->apply.count && m != remote_member_at(r, 0))
		call_list_wake(&l, m->control + offsetof(struct arch_control, is_applied));
	call_list_stop(&l, m);
	m->apply_stop = call_list_here(&l);
	for (size_t i = 1; m == remote_member_at(r, 0) && i < r->members.count; i++)
		add_wait_for(&l, remote_member_at(r, i));
	call_list_add_all(&l, &m->finish);
	call_list_stop(&l, m);
	m->finish_stop = call_list_here(&l);
	call_list_resume(&l, m);
	if (call_list_write(&l, e) < 0)
		return e->code;
	return remote_write_word(r, m->control + AT(REMOTE_APPLY), m->apply_at, e);
}

static bool has_work(const struct remote *r, size_t member)
{
	const struct remote_member *m = remote_member_at(r, member);

	return member == 0 || m->apply.count || m->finish.count || m->undo.count;
}

int remote_arm(struct remote *r, uint64_t flag, struct err *e)
{
	r->flag = flag;
	r->spares_undo = true;
	for (size_t i = 0; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		if (has_work(r, i) &&
		    (write_apply(r, m, e) < 0 || remote_write_rollback(r, m, e) < 0 ||
		     remote_write_word(r, m->control, flag, e) < 0))
			return e->code;
		if (i > 0 && remote_thread_enter_lists(&m->w, m->w.trampoline, m->control, e) < 0)
			return e->code;
	}
	return 0;
}

static const char *name_failed(const struct remote_member *m, int list, uint64_t failed)
{
	size_t i = (failed - m->apply_at) / sizeof(struct arch_call);

	if (list == REMOTE_ROLLBACK)
		return "rollback";
	return i < m->apply.count ? name_of(&m->apply, i)
				  : name_of(&m->finish, i - m->apply.count - 1);
}

/* Runs m until its list reaches the stop at this address, despite failures. e is the first failure.
 */
static int run_list(struct remote *r, struct remote_member *m, int list, uint64_t stop,
		    struct err *e)
{
	struct arch_control control = { 0 };
	struct err later;
	struct err *first = e;

	while (control.at[list] != stop) {
		if (clear_failed(r, m, first) < 0)
			return e->code;
		if (run_member(r, m, first) < 0)
			return e->code;
		if (m->is_lost)
			break;
		if (read_control(r, m, &control, first) < 0)
			return e->code;
		if (control.failed) {
			explain_failure(r, control.failed, name_failed(m, list, control.failed),
					first);
			first = &later;
		}
	}
	return first == e ? 0 : e->code;
}

/* The call that keeps the thread has done its work; those after it were not made. */
static int count_applied(struct remote *r, struct remote_member *m, uint64_t next, struct err *e)
{
	m->applied = (next - m->apply_at) / sizeof(struct arch_call);
	if (m->applied < m->apply.count)
		return err_set(e, -ETIME, "process %d: %s: storage does not answer", (int)r->pid,
			       name_of(&m->apply, m->applied));
	m->applied = m->apply.count;
	return 0;
}

/* Runs the apply list up to the first failure. */
static int run_apply(struct remote *r, struct remote_member *m, struct err *e)
{
	struct arch_control control;

	if (clear_failed(r, m, e) < 0)
		return e->code;
	if (run_member(r, m, e) < 0)
		return e->code;
	if (read_control(r, m, &control, e) < 0)
		return e->code;
	if (m->is_lost)
		return count_applied(r, m, control.at[REMOTE_APPLY], e);
	if (!control.failed) {
		m->applied = m->apply.count;
		return 0;
	}
	m->applied = (control.failed - m->apply_at) / sizeof(struct arch_call);
	return explain_failure(r, control.failed, name_failed(m, REMOTE_APPLY, control.failed), e);
}

int remote_run_apply(struct remote *r, struct err *e)
{
	for (size_t i = 0; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		if (has_work(r, i) && run_apply(r, m, e) < 0)
			return e->code;
	}
	return 0;
}

int remote_run_finish(struct remote *r, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = r->members.count; i-- > 0;) {
		struct remote_member *m = remote_member_at(r, i);

		if (has_work(r, i) && !m->is_lost &&
		    run_list(r, m, REMOTE_APPLY, m->finish_stop, first) < 0)
			first = &later;
	}
	return first == e ? 0 : e->code;
}

/* Where no call of apply was made, the rollback list of the last round is complete. */
int remote_prepare_rollback(struct remote *r, struct err *e)
{
	r->spares_undo = true;
	for (size_t i = 0; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		if (!has_work(r, i) || remote_write_rollback(r, m, e) == 0)
			continue;
		if (m->applied)
			return e->code;
		memset(e, 0, sizeof *e);
	}
	return 0;
}

int remote_run_rollback(struct remote *r, struct err *e)
{
	struct remote_member *m = remote_member_at(r, 0);
	struct err later;
	struct err *first = e;

	if (!r->is_running)
		return 0;
	if (!r->flag && remote_write_word(r, m->control + offsetof(struct arch_control, own_flag),
					  REMOTE_ROLLBACK, e) < 0)
		return e->code;
	for (size_t i = r->members.count; i-- > 0;) {
		m = remote_member_at(r, i);
		if ((i == 0 || m->applied || m->undo.count) && !m->is_lost &&
		    run_list(r, m, REMOTE_ROLLBACK, m->rollback_stop, first) < 0)
			first = &later;
	}
	return first == e ? 0 : e->code;
}
