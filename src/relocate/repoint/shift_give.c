/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of ours get numbers in a process: SCM_RIGHTS over a pair of sockets that the process
 * makes and of which we take one end. So nothing has a name, and it works for any user.
 * Source: unix(7), pidfd_getfd(2).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/shift_internal.h"

#define AT_ONCE 250 /* descriptors of one message; the kernel takes 253 */

/* A message as the process receives it. */
struct message {
	struct msghdr head;
	struct iovec bytes;
	uint64_t byte;
	struct {
		size_t len; /* as struct cmsghdr */
		int level, type;
		int numbers[AT_ONCE];
	} rights;
};

static_assert(offsetof(struct message, rights.numbers) - offsetof(struct message, rights) ==
		      CMSG_LEN(0),
	      "as the kernel writes it");

/* Our end of a pair that the process makes; *ret_at: address of the two numbers. */
static int make_pair(struct shift_proc *p, uint64_t *ret_at, struct err *e)
{
	const int none[2] = { -1, -1 };
	pid_t pid = inside_pid(p->in);
	int pair[2], pidfd, fd;

	*ret_at = inside_put(p->in, none, sizeof none);
	inside_step(p->in, &(struct inside_call){
				   .nr = SYS_socketpair,
				   .arg = { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, *ret_at },
				   .what = "socketpair" });
	for (uint64_t i = 0; i < 2; i++) {
		struct inside_call close_it = { .nr = SYS_close,
						.arg0_from = (*ret_at + i * sizeof(int)) | 1,
						.may_fail = true,
						.what = "closing a socket" };

		inside_undo(p->in, &close_it);
		inside_finish(p->in, 0, &close_it);
	}
	if (inside_run(p->in, e) < 0)
		return e->code;
	if (inside_read(p->in, *ret_at, pair, sizeof pair) < 0)
		return err_set(e, -EFAULT, "memory of process %d", (int)pid);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return err_errno(e, "process %d", (int)pid);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, pair[1], 0);
	close(pidfd);
	return fd < 0 ? err_errno(e, "process %d: taking over a socket", (int)pid) : fd;
}

static int send_some(int socket, const int *fds, size_t count, struct err *e)
{
	struct message m = { .byte = 0 };

	m.bytes = (struct iovec){ &m.byte, 1 };
	m.head = (struct msghdr){ .msg_iov = &m.bytes,
				  .msg_iovlen = 1,
				  .msg_control = &m.rights,
				  .msg_controllen = CMSG_LEN(count * sizeof(int)) };
	m.rights.len = CMSG_LEN(count * sizeof(int));
	m.rights.level = SOL_SOCKET;
	m.rights.type = SCM_RIGHTS;
	memcpy(m.rights.numbers, fds, count * sizeof(int));
	if (sendmsg(socket, &m.head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_errno(e, "sending descriptors");
	return 0;
}

/* The steps to receive count descriptors; the address of their numbers. */
static uint64_t receive_some(struct shift_proc *p, uint64_t pair_at, size_t count)
{
	struct message m;
	uint64_t at;

	memset(&m, 0, sizeof m);
	memset(&m.rights, 0xff, sizeof m.rights); /* numbers of nothing */
	at = inside_put(p->in, &m, sizeof m);
	m.bytes = (struct iovec){ (void *)(uintptr_t)(at + offsetof(struct message, byte)), 1 };
	m.head.msg_iov = (void *)(uintptr_t)(at + offsetof(struct message, bytes));
	m.head.msg_iovlen = 1;
	m.head.msg_control = (void *)(uintptr_t)(at + offsetof(struct message, rights));
	m.head.msg_controllen = sizeof m.rights;
	if (at && inside_write(p->in, at, &m, sizeof m) < 0)
		at = 0;
	inside_step(p->in, &(struct inside_call){ .nr = SYS_recvmsg,
						  .arg = { 0, at, MSG_CMSG_CLOEXEC | MSG_DONTWAIT },
						  .arg0_from = pair_at | 1,
						  .what = "receiving descriptors" });
	for (size_t i = 0; i < count; i++) {
		struct inside_call close_it = {
			.nr = SYS_close,
			.arg0_from =
				(at + offsetof(struct message, rights.numbers) + i * sizeof(int)) |
				1,
			.may_fail = true,
			.what = "closing a descriptor",
		};

		inside_undo(p->in, &close_it);
		inside_finish(p->in, 0, &close_it);
	}
	return at + offsetof(struct message, rights.numbers);
}

/* given [first .. first + count) */
static int give_some(struct shift_proc *p, int socket, uint64_t pair_at, size_t first, size_t count,
		     struct err *e)
{
	int *numbers = (int *)p->numbers.data + first;
	uint64_t at;

	if (send_some(socket, (const int *)p->given.data + first, count, e) < 0)
		return e->code;
	at = receive_some(p, pair_at, count);
	if (inside_run(p->in, e) < 0)
		return e->code;
	if (inside_read(p->in, at, numbers, count * sizeof(int)) < 0)
		return err_set(e, -EFAULT, "memory of process %d", (int)inside_pid(p->in));
	for (size_t i = 0; i < count; i++)
		if (numbers[i] < 0)
			return err_set(e, -EMFILE, "process %d has no room for more descriptors",
				       (int)inside_pid(p->in));
	p->numbers.count += count;
	return 0;
}

int shift_give(struct shift_proc *p, struct err *e)
{
	uint64_t pair_at;
	int rc = 0, socket = make_pair(p, &pair_at, e);

	if (socket < 0)
		return socket;
	if (rows_reserve(&p->numbers, p->given.count, sizeof(int)) < 0)
		rc = err_nomem(e);
	for (size_t i = 0; i < p->given.count && rc == 0; i += AT_ONCE) {
		size_t count = p->given.count - i < AT_ONCE ? p->given.count - i : AT_ONCE;

		rc = give_some(p, socket, pair_at, i, count, e);
	}
	close(socket);
	return rc;
}
