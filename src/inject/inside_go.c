/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/inside_internal.h"

#define AT(list) offsetof(struct arch_head, at[list])

static int read_head(struct inside *in, const struct member *m, struct arch_head *ret,
		     struct err *e)
{
	int rc = inside_read(in, m->head, ret, sizeof *ret);

	return rc < 0 ? err_set(e, rc, "memory of process %d: %s", (int)in->pid, strerror(-rc)) : 0;
}

static int clear_failed(struct inside *in, const struct member *m, struct err *e)
{
	return inside_write_word(in, m->head + offsetof(struct arch_head, failed), 0, e);
}

/* Which call failed, and why. what: borrowed. */
static int explain_failure(struct inside *in, uint64_t failed, const char *what, struct err *e)
{
	struct arch_call call;

	if (inside_read(in, failed, &call, sizeof call) < 0)
		return err_set(e, -EFAULT, "memory of process %d", (int)in->pid);
	return err_set(e, (int)call.result, "process %d: %s: %s", (int)in->pid, what,
		       strerror((int)-call.result));
}

static const char *name_of(const struct rows *calls, size_t i)
{
	return i < calls->count ? ((const struct inside_call *)calls->data)[i].what : "a call";
}

/* The calls of this round, then a stop, then (should nobody answer) the way back. */
static int write_steps(struct inside *in, uint64_t *ret_at, struct err *e)
{
	const struct member *m = inside_member_at(in, 0);
	struct list l = list_begin(in);

	*ret_at = l.at;
	list_add_all(&l, &in->steps);
	list_stop(&l, m);
	list_add(&l, &(struct inside_call){ .nr = ARCH_TURN, .arg = { INSIDE_BACK } });
	return list_end(&l, e);
}

/* Lets the first thread run, into the lists if it is not there yet. */
static int run_first(struct inside *in, struct err *e)
{
	struct member *m = inside_member_at(in, 0);

	if (!in->is_running) {
		if (worker_enter_lists(&m->w, m->w.slot, m->head, e) < 0)
			return e->code;
		inside_go_first(in);
	}
	in->is_running = true;
	return worker_run(&m->w, e);
}

static int take_results(struct inside *in, uint64_t at, struct err *e)
{
	size_t count = in->steps.count;
	struct arch_call *calls = calloc(count + 1, sizeof *calls);
	int rc = calls ? inside_read(in, at, calls, count * sizeof *calls) : -ENOMEM;

	if (rc == 0)
		rc = rows_reserve(&in->results, count, sizeof(int64_t));
	for (size_t i = 0; i < count && rc == 0; i++)
		((int64_t *)in->results.data)[i] = calls[i].result;
	free(calls);
	if (rc < 0)
		return err_set(e, rc, "results of process %d: %s", (int)in->pid, strerror(-rc));
	in->results.count = count;
	return 0;
}

int inside_run(struct inside *in, struct err *e)
{
	struct member *m = inside_member_at(in, 0);
	struct arch_head head;
	uint64_t at;
	int rc;

	if (write_steps(in, &at, e) < 0 || inside_write_back(in, m, e) < 0 ||
	    inside_write_word(in, m->head + AT(INSIDE_STEPS), at, e) < 0 ||
	    clear_failed(in, m, e) < 0 ||
	    inside_write_word(in, m->head + offsetof(struct arch_head, own_gate), INSIDE_STEPS, e) <
		    0)
		return e->code;
	if (run_first(in, e) < 0 || read_head(in, m, &head, e) < 0)
		return e->code;
	if (head.failed)
		rc = explain_failure(
			in, head.failed,
			name_of(&in->steps, (head.failed - at) / sizeof(struct arch_call)), e);
	else
		rc = take_results(in, at, e);
	in->steps.count = 0;
	return rc;
}

int inside_member(struct inside *in, pid_t tid, struct err *e)
{
	for (size_t i = 0; i < in->members.count; i++)
		if (inside_member_at(in, i)->w.tid == tid)
			return (int)i;
	return err_set(e, -ESRCH, "thread %d is not held", (int)tid);
}

static int write_go(struct inside *in, struct member *m, struct err *e)
{
	struct list l = list_begin(in);

	m->go_at = l.at;
	list_add_all(&l, &m->go);
	if (m->go.count && m != inside_member_at(in, 0))
		list_tell(&l, m->head + offsetof(struct arch_head, is_gone));
	list_stop(&l, m);
	m->go_stop = list_here(&l);
	for (size_t i = 1; m == inside_member_at(in, 0) && i < in->members.count; i++)
		if (inside_member_at(in, i)->go.count)
			list_wait(&l, inside_member_at(in, i)->head +
					      offsetof(struct arch_head, is_gone));
	list_add_all(&l, &m->finish);
	list_stop(&l, m);
	m->finish_stop = list_here(&l);
	list_leave(&l, m);
	if (list_end(&l, e) < 0)
		return e->code;
	return inside_write_word(in, m->head + AT(INSIDE_GO), m->go_at, e);
}

static bool has_work(const struct inside *in, size_t member)
{
	const struct member *m = inside_member_at(in, member);

	return member == 0 || m->go.count || m->finish.count;
}

int inside_arm(struct inside *in, uint64_t gate, struct err *e)
{
	in->gate = gate;
	for (size_t i = 0; i < in->members.count; i++) {
		struct member *m = inside_member_at(in, i);

		if (has_work(in, i) && (write_go(in, m, e) < 0 || inside_write_back(in, m, e) < 0 ||
					inside_write_word(in, m->head, gate, e) < 0))
			return e->code;
		if (i > 0 && worker_enter_lists(&m->w, m->w.slot, m->head, e) < 0)
			return e->code;
	}
	return 0;
}

static const char *name_failed(const struct member *m, int list, uint64_t failed)
{
	size_t i = (failed - m->go_at) / sizeof(struct arch_call);

	if (list == INSIDE_BACK)
		return "going back";
	return i < m->go.count ? name_of(&m->go, i) : name_of(&m->finish, i - m->go.count - 1);
}

/* Runs m until its list has come to the stop at this address, over failures: the first is told. */
static int run_list(struct inside *in, struct member *m, int list, uint64_t stop, struct err *e)
{
	struct arch_head head = { 0 };
	struct err later;
	struct err *first = e;

	while (head.at[list] != stop) {
		if (clear_failed(in, m, first) < 0)
			return e->code;
		if (m == inside_member_at(in, 0) ? run_first(in, first) < 0
						 : worker_run(&m->w, first) < 0)
			return e->code;
		if (read_head(in, m, &head, first) < 0)
			return e->code;
		if (head.failed) {
			explain_failure(in, head.failed, name_failed(m, list, head.failed), first);
			first = &later;
		}
	}
	return first == e ? 0 : e->code;
}

/* The calls of go, up to the first that fails. */
static int run_go(struct inside *in, struct member *m, struct err *e)
{
	struct arch_head head;

	if (clear_failed(in, m, e) < 0)
		return e->code;
	if (m == inside_member_at(in, 0) ? run_first(in, e) < 0 : worker_run(&m->w, e) < 0)
		return e->code;
	if (read_head(in, m, &head, e) < 0)
		return e->code;
	if (!head.failed) {
		m->gone = m->go.count;
		return 0;
	}
	m->gone = (head.failed - m->go_at) / sizeof(struct arch_call);
	return explain_failure(in, head.failed, name_failed(m, INSIDE_GO, head.failed), e);
}

int inside_run_go(struct inside *in, struct err *e)
{
	for (size_t i = 0; i < in->members.count; i++) {
		struct member *m = inside_member_at(in, i);

		if (has_work(in, i) && run_go(in, m, e) < 0)
			return e->code;
	}
	return 0;
}

int inside_run_finish(struct inside *in, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = in->members.count; i-- > 0;) {
		struct member *m = inside_member_at(in, i);

		if (has_work(in, i) && run_list(in, m, INSIDE_GO, m->finish_stop, first) < 0)
			first = &later;
	}
	return first == e ? 0 : e->code;
}

/* Where nothing of go was made, the way back that was written before the last steps is whole. */
int inside_prepare_back(struct inside *in, struct err *e)
{
	for (size_t i = 0; i < in->members.count; i++) {
		struct member *m = inside_member_at(in, i);

		if (!has_work(in, i) || inside_write_back(in, m, e) == 0)
			continue;
		if (m->gone)
			return e->code;
		memset(e, 0, sizeof *e);
	}
	return 0;
}

int inside_run_back(struct inside *in, struct err *e)
{
	struct member *m = inside_member_at(in, 0);
	struct err later;
	struct err *first = e;

	if (!in->is_running)
		return 0;
	if (!in->gate && inside_write_word(in, m->head + offsetof(struct arch_head, own_gate),
					   INSIDE_BACK, e) < 0)
		return e->code;
	for (size_t i = in->members.count; i-- > 0;) {
		m = inside_member_at(in, i);
		if ((i == 0 || m->gone) && run_list(in, m, INSIDE_BACK, m->back_stop, first) < 0)
			first = &later;
	}
	return first == e ? 0 : e->code;
}
