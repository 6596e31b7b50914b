/* SPDX-License-Identifier: MIT */
#include "inject/remote.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/remote_internal.h"

#define TRAMPOLINE_ALIGN 64

struct remote_member *remote_member_at(const struct remote *r, size_t i)
{
	return (struct remote_member *)r->members.data + i;
}

size_t remote_trampoline_bytes(void)
{
	return (arch_trampoline_bytes() + TRAMPOLINE_ALIGN - 1) / TRAMPOLINE_ALIGN *
	       TRAMPOLINE_ALIGN;
}

pid_t remote_pid(const struct remote *r)
{
	return r->pid;
}

int remote_read(struct remote *r, uint64_t at, void *bytes, size_t len)
{
	char *to = bytes;

	while (len) {
		ssize_t n = pread(r->memory, to, len, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int remote_write(struct remote *r, uint64_t at, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = pwrite(r->memory, from, len, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int remote_memory_error(const struct remote *r, int rc, struct err *e)
{
	return err_set(e, rc, "memory of process %d: %s", (int)r->pid, strerror(-rc));
}

int remote_write_word(struct remote *r, uint64_t at, uint64_t value, struct err *e)
{
	int rc = remote_write(r, at, &value, sizeof value);

	return rc < 0 ? remote_memory_error(r, rc, e) : 0;
}

uint64_t remote_put(struct remote *r, const void *bytes, size_t len)
{
	uint64_t at = r->data;

	if (len > r->data_end - at || remote_write(r, at, bytes, len) < 0) {
		r->bad = true;
		return 0;
	}
	r->data = (at + len + 15) & ~UINT64_C(15);
	if (r->data > r->data_end)
		r->data = r->data_end;
	return at;
}

static void add_call(struct remote *r, struct rows *list, const struct remote_call *call)
{
	static const struct remote_call none = { .nr = REMOTE_NO_CALL };
	struct remote_call *row = rows_add(list, sizeof *row);

	if (row)
		*row = call ? *call : none;
	else
		r->bad = true;
}

size_t remote_add_step(struct remote *r, const struct remote_call *call)
{
	add_call(r, &r->steps, call);
	return r->steps.count - 1;
}

uint64_t remote_result_at(const struct remote *r, size_t step)
{
	return r->calls + step * sizeof(struct arch_call) + offsetof(struct arch_call, result);
}

void remote_add_undo(struct remote *r, const struct remote_call *call)
{
	add_call(r, &r->undo, call);
}

void remote_add_undo_of(struct remote *r, int member, const struct remote_call *call)
{
	add_call(r, member ? &remote_member_at(r, (size_t)member)->undo : &r->undo, call);
}

int64_t remote_result(const struct remote *r, size_t step)
{
	return ((const int64_t *)r->results.data)[step];
}

void remote_add_apply(struct remote *r, int member, const struct remote_call *call,
		      const struct remote_call *undo)
{
	add_call(r, &remote_member_at(r, (size_t)member)->apply, call);
	add_call(r, &remote_member_at(r, (size_t)member)->apply_undo, undo);
}

void remote_add_finish(struct remote *r, int member, const struct remote_call *call)
{
	add_call(r, &remote_member_at(r, (size_t)member)->finish, call);
}

void remote_add_rollback_end(struct remote *r, const struct remote_call *call)
{
	add_call(r, &r->rollback_end, call);
}

struct call_list call_list_begin(struct remote *r)
{
	return (struct call_list){ .r = r, .at = r->calls };
}

uint64_t call_list_here(const struct call_list *l)
{
	return l->at + l->calls.count * sizeof(struct arch_call);
}

void call_list_add(struct call_list *l, const struct remote_call *call)
{
	struct arch_call *row;

	if (call->nr == REMOTE_NO_CALL)
		return;
	row = rows_add(&l->calls, sizeof *row);
	if (!row) {
		l->r->bad = true;
		return;
	}
	row->nr = call->nr;
	memcpy(row->arg, call->arg, sizeof row->arg);
	row->arg0_from = call->arg0_from;
	row->arg4_from = call->arg4_from;
	row->may_fail = call->may_fail;
	row->result = -ECANCELED;
}

void call_list_add_all(struct call_list *l, const struct rows *calls)
{
	for (size_t i = 0; i < calls->count; i++)
		call_list_add(l, (const struct remote_call *)calls->data + i);
}

void call_list_add_reversed(struct call_list *l, const struct rows *undo, size_t count)
{
	while (count--)
		call_list_add(l, (const struct remote_call *)undo->data + count);
}

void call_list_stop(struct call_list *l, const struct remote_member *m)
{
	const struct arch_resume *h = &m->w.resume;

	call_list_add(l, &(struct remote_call){
				 .nr = SYS_tgkill,
				 .arg = { (uint64_t)h->pid, (uint64_t)h->tid, (uint64_t)h->signal },
				 .may_fail = true });
}

void call_list_wake(struct call_list *l, uint64_t at)
{
	call_list_add(l, &(struct remote_call){
				 .nr = SYS_futex,
				 .arg = { at, FUTEX_WAKE_OP_PRIVATE, INT32_MAX, 0, at,
					  FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0) },
				 .may_fail = true,
			 });
}

void call_list_wait(struct call_list *l, uint64_t at)
{
	for (int i = 0; i < 3; i++) /* futex(2): a wait may end spuriously */
		call_list_add(l, &(struct remote_call){ .nr = SYS_futex,
							.arg = { at, FUTEX_WAIT_PRIVATE, 0, 0 },
							.may_fail = true });
}

void call_list_wait_briefly(struct call_list *l, uint64_t at)
{
	for (int i = 0; i < 3; i++)
		call_list_add(l, &(struct remote_call){
					 .nr = SYS_futex,
					 .arg = { at, FUTEX_WAIT_PRIVATE, 0, l->r->timeout },
					 .may_fail = true });
}

void call_list_resume(struct call_list *l, const struct remote_member *m)
{
	const struct remote *r = l->r;

	if (m->is_spare) {
		call_list_add(l, &(struct remote_call){ .nr = SYS_exit });
		return;
	}
	if (m == remote_member_at(r, 0))
		call_list_wake(l, r->done);
	else
		call_list_wait(l, r->done);
	call_list_add(l, &(struct remote_call){ .nr = ARCH_RESUME });
}

int call_list_write(struct call_list *l, struct err *e)
{
	struct remote *r = l->r;
	struct arch_call *calls = l->calls.data;
	size_t bytes = l->calls.count * sizeof *calls;
	int rc = 0;

	if (r->bad || bytes > r->calls_end - r->calls)
		rc = err_set(e, -ENOMEM, "out of memory for calls in process %d", (int)r->pid);
	if (rc == 0)
		rc = remote_write(r, l->at, calls, bytes);
	if (rc < 0 && e->code != rc)
		remote_memory_error(r, rc, e);
	if (rc == 0)
		r->calls += bytes;
	rows_fini(&l->calls);
	return rc;
}

/* The first thread undoes what lost threads did, and all of it while they have no lists. */
static void add_undo_of_spares(struct call_list *l)
{
	const struct remote *r = l->r;

	for (size_t i = r->members.count - r->spares; i < r->members.count; i++) {
		const struct remote_member *m = remote_member_at(r, i);

		if (m->is_lost)
			call_list_add_reversed(l, &m->apply_undo, m->applied);
		if (!r->spares_undo)
			call_list_add_reversed(l, &m->undo, m->undo.count);
	}
}

int remote_write_rollback(struct remote *r, struct remote_member *m, struct err *e)
{
	struct call_list l = call_list_begin(r);
	uint64_t stop;

	if (!m->is_lost)
		call_list_add_reversed(&l, &m->apply_undo, m->applied);
	call_list_add_reversed(&l, &m->undo, m->undo.count);
	if (m == remote_member_at(r, 0)) {
		add_undo_of_spares(&l);
		call_list_add_reversed(&l, &r->undo, r->undo.count);
		call_list_add_all(&l, &r->rollback_end);
	}
	call_list_stop(&l, m);
	stop = call_list_here(&l);
	call_list_resume(&l, m);
	if (call_list_write(&l, e) < 0 ||
	    remote_write_word(r, m->control + offsetof(struct arch_control, at[REMOTE_ROLLBACK]),
			      l.at, e) < 0)
		return e->code; /* the earlier rollback list stays valid, with its stop */
	m->rollback_stop = stop;
	return 0;
}
