/* SPDX-License-Identifier: MIT */
/*
 * Locks and epoll sets. A process loses its POSIX locks of a file when it closes any descriptor of
 * it, so both lists take them last. An epoll set identifies a file by description and number: the
 * old one stays in the set until its last descriptor is closed.
 */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/repoint_internal.h"

struct flock repoint_lock_range(const struct reloc_lock *l)
{
	return (struct flock){
		.l_type = l->is_write ? F_WRLCK : F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)l->start,
		.l_len = l->end == UINT64_MAX ? 0 : (off_t)(l->end - l->start + 1),
	};
}

static int number_of(const struct repoint *rp, const struct repoint_proc *p, uint32_t desc)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct repoint_fd *fds = p->fds.data;

	for (size_t i = 0; i < p->fds.count; i++)
		if (s->fds[fds[i].row].desc == desc)
			return s->fds[fds[i].row].number;
	return -1;
}

void repoint_apply_epolls(const struct repoint *rp, struct repoint_proc *p)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->epoll_count; i++) {
		const struct reloc_epoll *ep = &s->epolls[i];
		struct epoll_event event = { .events = ep->events, .data.u64 = ep->data };
		struct remote_call add, del;

		if (ep->proc != p->proc || s->descs[ep->desc].stays)
			continue;
		add = (struct remote_call){ .nr = SYS_epoll_ctl,
					    .arg = { (uint64_t)ep->epoll, EPOLL_CTL_ADD,
						     (uint64_t)ep->number,
						     remote_put(p->remote, &event, sizeof event) },
					    .what = "add to an epoll set" };
		del = add;
		del.arg[1] = EPOLL_CTL_DEL;
		remote_add_apply(p->remote, 0, &add, &del);
	}
}

static void add_locks(const struct repoint *rp, struct repoint_proc *p,
		      void (*add)(struct remote *r, const struct remote_call *call))
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->lock_count; i++) {
		const struct reloc_lock *l = &s->locks[i];
		struct flock range = repoint_lock_range(l);
		struct remote_call take;
		int number;

		if (l->kind != RELOC_LOCK_POSIX || l->stays ||
		    s->procs[l->proc].files_of != p->proc)
			continue;
		number = number_of(rp, p, l->desc);
		if (number < 0)
			continue;
		take = (struct remote_call){ .nr = SYS_fcntl,
					     .arg = { (uint64_t)number, F_SETLK,
						      remote_put(p->remote, &range, sizeof range) },
					     .what = "take a lock" };
		add(p->remote, &take);
	}
}

static void add_to_finish(struct remote *r, const struct remote_call *call)
{
	remote_add_finish(r, 0, call);
}

void repoint_rollback_locks(const struct repoint *rp, struct repoint_proc *p)
{
	add_locks(rp, p, remote_add_rollback_end);
}

void repoint_finish_locks(const struct repoint *rp, struct repoint_proc *p)
{
	add_locks(rp, p, add_to_finish);
}
