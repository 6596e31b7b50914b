/* SPDX-License-Identifier: MIT */
/*
 * What hangs on descriptors. POSIX locks end when the process closes any descriptor of the file, so
 * they are taken last on every way. An epoll set knows a file by descriptor and number: the old one
 * stays in it until its last descriptor is closed.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/shift_internal.h"

static int number_of(const struct shift *sh, const struct shift_proc *p, uint32_t desc)
{
	const struct survey *s = sh->survey;
	const struct shift_fd *fds = p->fds.data;

	for (size_t i = 0; i < p->fds.count; i++)
		if (s->fds[fds[i].row].desc == desc)
			return s->fds[fds[i].row].number;
	return -1;
}

void shift_go_epolls(const struct shift *sh, struct shift_proc *p)
{
	const struct survey *s = sh->survey;

	for (size_t i = 0; i < s->epoll_count; i++) {
		const struct reloc_epoll *ep = &s->epolls[i];
		struct epoll_event event = { .events = ep->events, .data.u64 = ep->data };
		struct inside_call add, del;

		if (ep->proc != p->proc || s->descs[ep->desc].is_left)
			continue;
		add = (struct inside_call){ .nr = SYS_epoll_ctl,
					    .arg = { (uint64_t)ep->epoll, EPOLL_CTL_ADD,
						     (uint64_t)ep->number,
						     inside_put(p->in, &event, sizeof event) },
					    .what = "adding to an epoll set" };
		del = add;
		del.arg[1] = EPOLL_CTL_DEL;
		inside_go(p->in, 0, &add, &del);
	}
}

static void add_locks(const struct shift *sh, struct shift_proc *p,
		      void (*add)(struct inside *in, const struct inside_call *call))
{
	const struct survey *s = sh->survey;

	for (size_t i = 0; i < s->lock_count; i++) {
		const struct reloc_lock *l = &s->locks[i];
		struct flock range = {
			.l_type = l->is_write ? F_WRLCK : F_RDLCK,
			.l_whence = SEEK_SET,
			.l_start = (off_t)l->start,
			.l_len = l->end == UINT64_MAX ? 0 : (off_t)(l->end - l->start + 1),
		};
		struct inside_call take;
		int number;

		if (l->kind != RELOC_LOCK_POSIX || l->is_left ||
		    s->procs[l->proc].files_of != p->proc)
			continue;
		number = number_of(sh, p, l->desc);
		if (number < 0)
			continue;
		take = (struct inside_call){ .nr = SYS_fcntl,
					     .arg = { (uint64_t)number, F_SETLK,
						      inside_put(p->in, &range, sizeof range) },
					     .what = "taking a lock again" };
		add(p->in, &take);
	}
}

static void add_to_finish(struct inside *in, const struct inside_call *call)
{
	inside_finish(in, 0, call);
}

void shift_back_locks(const struct shift *sh, struct shift_proc *p)
{
	add_locks(sh, p, inside_back_end);
}

void shift_finish_locks(const struct shift *sh, struct shift_proc *p)
{
	add_locks(sh, p, add_to_finish);
}
