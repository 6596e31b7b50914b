/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets bound to a name on OLD's file system, and those they accepted: no descriptor leads
 * to the file, but the socket keeps the mount busy. Source: sock_diag(7), unix_diag.h.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/log.h"
#include "relocate/inventory/scan_internal.h"

static bool request_unix_sockets(int fd)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} opts = {
		.head = { .nlmsg_len = sizeof opts,
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX,
			 .udiag_states = UINT32_MAX,
			 .udiag_show = UDIAG_SHOW_VFS },
	};

	return send(fd, &opts, sizeof opts, 0) == (ssize_t)sizeof opts;
}

static void parse_socket(struct scan *sc, struct nlmsghdr *head)
{
	const struct top_dir *old = sc->opts->old_dir;
	const struct unix_diag_msg *msg = NLMSG_DATA(head);
	struct rtattr *attr = (struct rtattr *)((char *)NLMSG_DATA(head) + sizeof *msg);
	size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof *msg);

	while (left >= sizeof *attr && attr->rta_len >= sizeof *attr && attr->rta_len <= left) {
		size_t step = RTA_ALIGN(attr->rta_len);
		struct unix_diag_vfs vfs;

		if (attr->rta_type == UNIX_DIAG_VFS && attr->rta_len >= RTA_LENGTH(sizeof vfs)) {
			memcpy(&vfs, RTA_DATA(attr), sizeof vfs);
			if (vfs.udiag_vfs_dev >> 20 == old->dev_major &&
			    (vfs.udiag_vfs_dev & 0xfffff) == old->dev_minor &&
			    map_put(&sc->bound, msg->udiag_ino, 1) < 0)
				sc->bad = true;
		}
		left -= step < left ? step : left;
		attr = (struct rtattr *)((char *)attr + step);
	}
}

/* Parses a reply. False: it was the last one. */
static bool parse_reply(struct scan *sc, char *bytes, size_t len, bool *ret_failed)
{
	while (len >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr *head = (struct nlmsghdr *)(void *)bytes;
		size_t step = NLMSG_ALIGN(head->nlmsg_len);

		if (head->nlmsg_len < sizeof *head || head->nlmsg_len > len)
			break;
		if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR) {
			*ret_failed = head->nlmsg_type == NLMSG_ERROR;
			return false;
		}
		if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			parse_socket(sc, head);
		len -= step < len ? step : len;
		bytes += step;
	}
	return true;
}

void scan_sockets(struct scan *sc)
{
	_Alignas(struct nlmsghdr) char answer[32768];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool failed = fd < 0 || !request_unix_sockets(fd);

	while (!failed) {
		ssize_t n = recv(fd, answer, sizeof answer, 0);

		if (n < 0 && errno == EINTR)
			continue;
		failed = n <= 0;
		if (failed || !parse_reply(sc, answer, (size_t)n, &failed))
			break;
	}
	if (fd >= 0)
		close(fd);
	if (failed && !sc->opts->is_frozen)
		log_msg(LOG_WARN, "relocate",
			"the kernel does not list the names of Unix sockets (unix_diag)");
}

#define SENT_MAX 253 /* descriptors in a message: SCM_MAX_FD of the kernel */

/* Peeks at the first message; a second one is not visible. */
static size_t peek(int socket, int fds[SENT_MAX])
{
	char bytes[16384];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(SENT_MAX * sizeof(int)) + 256];
	struct iovec to = { bytes, sizeof bytes };
	struct msghdr head = { .msg_iov = &to,
			       .msg_iovlen = 1,
			       .msg_control = control,
			       .msg_controllen = sizeof control };
	size_t count = 0;

	if (recvmsg(socket, &head, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c; c = CMSG_NXTHDR(&head, c)) {
		size_t len = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    len > SENT_MAX - count)
			continue;
		memcpy(fds + count, CMSG_DATA(c), len * sizeof(int));
		count += len;
	}
	return count;
}

bool scan_in_flight_fds(const struct scan *sc, pid_t pid, int number, uint64_t count)
{
	int socket = proc_dup_fd(pid, number);
	int fds[SENT_MAX];
	size_t seen = socket < 0 ? 0 : peek(socket, fds);
	bool is_old = seen < count;

	for (size_t i = 0; i < seen; i++) {
		char path[PROC_PATH];

		snprintf(path, sizeof path, "/proc/self/fd/%d", fds[i]);
		is_old |= scan_may_be_old(sc, path);
		close(fds[i]);
	}
	if (socket >= 0)
		close(socket);
	return is_old;
}
