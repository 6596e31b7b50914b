/* SPDX-License-Identifier: MIT */
/*
 * Sends our descriptors to a process by SCM_RIGHTS. The process makes a socket pair, and we take
 * one end of it. So nothing needs a name or permissions. Source: unix(7), pidfd_getfd(2).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

#define AT_ONCE 250 /* descriptors in a message; SCM_MAX_FD of the kernel is 253 */

/* A message in the memory of the process. */
struct message {
	struct msghdr head;
	struct iovec bytes;
	uint64_t byte;
	struct {
		size_t len; /* layout of struct cmsghdr */
		int level, type;
		int remote_fds[AT_ONCE];
	} rights;
};

static_assert(offsetof(struct message, rights.remote_fds) - offsetof(struct message, rights) ==
		      CMSG_LEN(0),
	      "as the kernel writes it");

/* Returns our end of a pair that the process makes; *ret_at: the address of its two numbers. */
static int make_pair(struct repoint_proc *p, uint64_t *ret_at, struct err *e)
{
	const int none[2] = { -1, -1 };
	pid_t pid = remote_pid(p->remote);
	int pair[2], fd;

	*ret_at = remote_put(p->remote, none, sizeof none);
	remote_add_step(p->remote,
			&(struct remote_call){
				.nr = SYS_socketpair,
				.arg = { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, *ret_at },
				.what = "socketpair" });
	for (uint64_t i = 0; i < 2; i++) {
		struct remote_call close_it = { .nr = SYS_close,
						.arg0_from = (*ret_at + i * sizeof(int)) | 1,
						.may_fail = true,
						.what = "close a socket" };

		remote_add_undo(p->remote, &close_it);
		remote_add_finish(p->remote, 0, &close_it);
	}
	if (remote_run_steps(p->remote, e) < 0)
		return e->code;
	if (remote_read(p->remote, *ret_at, pair, sizeof pair) < 0)
		return err_set(e, -EFAULT, "memory of process %d", (int)pid);
	fd = proc_dup_fd(pid, pair[1]);
	return fd < 0 ? err_set(e, fd, "process %d: duplicate a socket: %s", (int)pid,
				strerror(-fd))
		      : fd;
}

static int send_message(int socket, const int *fds, size_t count, struct err *e)
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
	memcpy(m.rights.remote_fds, fds, count * sizeof(int));
	if (sendmsg(socket, &m.head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_errno(e, "send descriptors");
	return 0;
}

/* Adds the steps that receive count descriptors. Returns the address of their numbers. */
static uint64_t receive_batch(struct repoint_proc *p, uint64_t pair_at, size_t count)
{
	struct message m;
	uint64_t at;

	memset(&m, 0, sizeof m);
	memset(&m.rights, 0xff, sizeof m.rights); /* -1: not received yet */
	at = remote_put(p->remote, &m, sizeof m);
	m.bytes = (struct iovec){ (void *)(uintptr_t)(at + offsetof(struct message, byte)), 1 };
	m.head.msg_iov = (void *)(uintptr_t)(at + offsetof(struct message, bytes));
	m.head.msg_iovlen = 1;
	m.head.msg_control = (void *)(uintptr_t)(at + offsetof(struct message, rights));
	m.head.msg_controllen = sizeof m.rights;
	if (at && remote_write(p->remote, at, &m, sizeof m) < 0)
		at = 0;
	remote_add_step(p->remote,
			&(struct remote_call){ .nr = SYS_recvmsg,
					       .arg = { 0, at, MSG_CMSG_CLOEXEC | MSG_DONTWAIT },
					       .arg0_from = pair_at | 1,
					       .what = "receive descriptors" });
	for (size_t i = 0; i < count; i++) {
		struct remote_call close_it = {
			.nr = SYS_close,
			.arg0_from = (at + offsetof(struct message, rights.remote_fds) +
				      i * sizeof(int)) |
				     1,
			.may_fail = true,
			.what = "close a descriptor",
		};

		remote_add_undo(p->remote, &close_it);
		remote_add_finish(p->remote, 0, &close_it);
	}
	return at + offsetof(struct message, rights.remote_fds);
}

/* Sends sent [first .. first + count). */
static int send_batch(struct repoint_proc *p, int socket, uint64_t pair_at, size_t first,
		      size_t count, struct err *e)
{
	int *remote_fds = (int *)p->remote_fds.data + first;
	uint64_t at;

	if (send_message(socket, (const int *)p->sent.data + first, count, e) < 0)
		return e->code;
	at = receive_batch(p, pair_at, count);
	if (remote_run_steps(p->remote, e) < 0)
		return e->code;
	if (remote_read(p->remote, at, remote_fds, count * sizeof(int)) < 0)
		return err_set(e, -EFAULT, "memory of process %d", (int)remote_pid(p->remote));
	for (size_t i = 0; i < count; i++)
		if (remote_fds[i] < 0)
			return err_set(e, -EMFILE, "process %d received too few descriptors",
				       (int)remote_pid(p->remote));
	p->remote_fds.count += count;
	return 0;
}

int repoint_send_fds(struct repoint_proc *p, struct err *e)
{
	uint64_t pair_at;
	int rc = 0, socket = make_pair(p, &pair_at, e);

	if (socket < 0)
		return socket;
	if (rows_reserve(&p->remote_fds, p->sent.count, sizeof(int)) < 0)
		rc = err_nomem(e);
	for (size_t i = 0; i < p->sent.count && rc == 0; i += AT_ONCE) {
		size_t count = p->sent.count - i < AT_ONCE ? p->sent.count - i : AT_ONCE;

		rc = send_batch(p, socket, pair_at, i, count, e);
	}
	close(socket);
	return rc;
}
