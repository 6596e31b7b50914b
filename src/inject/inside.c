/* SPDX-License-Identifier: MIT */
#include "inject/inside.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/inside_internal.h"

#define SLOT_ALIGN 64

struct member *inside_member_at(const struct inside *in, size_t i)
{
	return (struct member *)in->members.data + i;
}

size_t inside_slot_room(void)
{
	return (arch_slot_bytes() + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

pid_t inside_pid(const struct inside *in)
{
	return in->pid;
}

int inside_read(struct inside *in, uint64_t at, void *bytes, size_t len)
{
	char *to = bytes;

	while (len) {
		ssize_t n = pread(in->memory, to, len, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int inside_write(struct inside *in, uint64_t at, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = pwrite(in->memory, from, len, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int inside_write_word(struct inside *in, uint64_t at, uint64_t value, struct err *e)
{
	int rc = inside_write(in, at, &value, sizeof value);

	return rc < 0 ? err_set(e, rc, "memory of process %d: %s", (int)in->pid, strerror(-rc)) : 0;
}

uint64_t inside_put(struct inside *in, const void *bytes, size_t len)
{
	uint64_t at = in->data;

	if (len > in->data_end - at || inside_write(in, at, bytes, len) < 0) {
		in->bad = true;
		return 0;
	}
	in->data = (at + len + 15) & ~UINT64_C(15);
	if (in->data > in->data_end)
		in->data = in->data_end;
	return at;
}

static void add_call(struct inside *in, struct rows *list, const struct inside_call *call)
{
	static const struct inside_call none = { .nr = INSIDE_NONE };
	struct inside_call *row = rows_add(list, sizeof *row);

	if (row)
		*row = call ? *call : none;
	else
		in->bad = true;
}

size_t inside_step(struct inside *in, const struct inside_call *call)
{
	add_call(in, &in->steps, call);
	return in->steps.count - 1;
}

uint64_t inside_result_at(const struct inside *in, size_t step)
{
	return in->calls + step * sizeof(struct arch_call) + offsetof(struct arch_call, result);
}

void inside_undo(struct inside *in, const struct inside_call *call)
{
	add_call(in, &in->undo, call);
}

int64_t inside_result(const struct inside *in, size_t step)
{
	return ((const int64_t *)in->results.data)[step];
}

void inside_go(struct inside *in, int member, const struct inside_call *call,
	       const struct inside_call *undo)
{
	add_call(in, &inside_member_at(in, (size_t)member)->go, call);
	add_call(in, &inside_member_at(in, (size_t)member)->go_undo, undo);
}

void inside_finish(struct inside *in, int member, const struct inside_call *call)
{
	add_call(in, &inside_member_at(in, (size_t)member)->finish, call);
}

void inside_back_end(struct inside *in, const struct inside_call *call)
{
	add_call(in, &in->back_end, call);
}

struct list list_begin(struct inside *in)
{
	return (struct list){ .in = in, .at = in->calls };
}

/* The address behind the last call. */
uint64_t list_here(const struct list *l)
{
	return l->at + l->calls.count * sizeof(struct arch_call);
}

void list_add(struct list *l, const struct inside_call *call)
{
	struct arch_call *row;

	if (call->nr == INSIDE_NONE)
		return;
	row = rows_add(&l->calls, sizeof *row);
	if (!row) {
		l->in->bad = true;
		return;
	}
	row->nr = call->nr;
	memcpy(row->arg, call->arg, sizeof row->arg);
	row->arg0_from = call->arg0_from;
	row->arg4_from = call->arg4_from;
	row->may_fail = call->may_fail;
	row->result = -ECANCELED;
}

void list_add_all(struct list *l, const struct rows *calls)
{
	for (size_t i = 0; i < calls->count; i++)
		list_add(l, (const struct inside_call *)calls->data + i);
}

void list_add_back(struct list *l, const struct rows *undo, size_t count)
{
	while (count--)
		list_add(l, (const struct inside_call *)undo->data + count);
}

void list_stop(struct list *l, const struct member *m)
{
	const struct arch_home *h = &m->w.home;

	list_add(l, &(struct inside_call){
			    .nr = SYS_tgkill,
			    .arg = { (uint64_t)h->pid, (uint64_t)h->tid, (uint64_t)h->signal },
			    .may_fail = true });
}

void list_tell(struct list *l, uint64_t at)
{
	list_add(l, &(struct inside_call){
			    .nr = SYS_futex,
			    .arg = { at, FUTEX_WAKE_OP_PRIVATE, INT32_MAX, 0, at,
				     FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0) },
			    .may_fail = true,
		    });
}

void list_wait(struct list *l, uint64_t at)
{
	for (int i = 0; i < 3; i++) /* a wait may end for nothing */
		list_add(l, &(struct inside_call){ .nr = SYS_futex,
						   .arg = { at, FUTEX_WAIT_PRIVATE, 0, 0 },
						   .may_fail = true });
}

void list_leave(struct list *l, const struct member *m)
{
	const struct inside *in = l->in;

	if (m == inside_member_at(in, 0) && in->priority)
		list_add(l, &(struct inside_call){ .nr = SYS_sched_setscheduler,
						   .arg = { 0, (uint64_t)in->policy, in->priority },
						   .may_fail = true });
	if (m == inside_member_at(in, 0))
		list_tell(l, in->done);
	else
		list_wait(l, in->done);
	list_add(l, &(struct inside_call){ .nr = ARCH_LEAVE });
}

/* Into the memory of the job. 0: it is there. */
int list_end(struct list *l, struct err *e)
{
	struct inside *in = l->in;
	struct arch_call *calls = l->calls.data;
	size_t bytes = l->calls.count * sizeof *calls;
	int rc = 0;

	if (in->bad || bytes > in->calls_end - in->calls)
		rc = err_set(e, -ENOMEM, "out of memory for calls in process %d", (int)in->pid);
	if (rc == 0)
		rc = inside_write(in, l->at, calls, bytes);
	if (rc < 0 && e->code != rc)
		err_set(e, rc, "memory of process %d: %s", (int)in->pid, strerror(-rc));
	if (rc == 0)
		in->calls += bytes;
	rows_fini(&l->calls);
	return rc;
}

int inside_write_back(struct inside *in, struct member *m, struct err *e)
{
	struct list l = list_begin(in);
	uint64_t stop;

	list_add_back(&l, &m->go_undo, m->gone);
	if (m == inside_member_at(in, 0)) {
		list_add_back(&l, &in->undo, in->undo.count);
		list_add_all(&l, &in->back_end);
	}
	list_stop(&l, m);
	stop = list_here(&l);
	list_leave(&l, m);
	if (list_end(&l, e) < 0 ||
	    inside_write_word(in, m->head + offsetof(struct arch_head, at[INSIDE_BACK]), l.at, e) <
		    0)
		return e->code; /* the way back that was written before stays, with its stop */
	m->back_stop = stop;
	return 0;
}
