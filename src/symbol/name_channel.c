/* SPDX-License-Identifier: MIT */
#include "symbol/name_channel.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP ((size_t)1 << 20) /* what is read at once: an announced length costs nothing */

/* Bytes of a message. */
static const uint32_t limits[NAME_MESSAGES] = {
	[NAME_HELLO] = 1,           [NAME_REQUEST] = UINT32_MAX, [NAME_LOG] = 2048,
	[NAME_OPEN] = PATH_MAX + 1, [NAME_OPENED] = 1024,        [NAME_ANSWER] = (uint32_t)1 << 30,
};

union passed {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static int wait_for(const struct name_channel *c, short events)
{
	return c->wait ? c->wait(c->context, events) : 0;
}

static int again(const struct name_channel *c, short events)
{
	if (errno == EINTR)
		return 0;
	return errno == EAGAIN ? wait_for(c, events) : -errno;
}

static void attach(struct msghdr *m, union passed *room, int fd)
{
	struct cmsghdr *header;

	*m = (struct msghdr){ .msg_control = room->room, .msg_controllen = sizeof room->room };
	header = CMSG_FIRSTHDR(m);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

static int send_all(const struct name_channel *c, const void *bytes, size_t len, int fd)
{
	const int flags = MSG_NOSIGNAL | (c->wait ? MSG_DONTWAIT : 0);
	const char *at = bytes;

	while (len) {
		union passed room = { 0 };
		struct iovec part = { (void *)(uintptr_t)at, len };
		struct msghdr m = { 0 };
		ssize_t n;
		int rc;

		if (fd >= 0)
			attach(&m, &room, fd);
		m.msg_iov = &part;
		m.msg_iovlen = 1;
		n = sendmsg(c->fd, &m, flags);
		rc = n < 0 ? again(c, POLLOUT) : 0;
		if (rc < 0)
			return rc;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
			fd = -1;
		}
	}
	return 0;
}

int name_channel_send(const struct name_channel *c, enum name_message type, const void *bytes,
		      size_t len, int passed_fd)
{
	uint32_t head[2] = { (uint32_t)type, (uint32_t)len };
	int rc = len <= limits[type] ? 0 : -EMSGSIZE;

	if (rc == 0)
		rc = send_all(c, head, sizeof head, passed_fd);
	return rc == 0 ? send_all(c, bytes, len, -1) : rc;
}

static void take_fd(struct msghdr *m, int *ret_fd)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(m);

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof *ret_fd))
		return;
	if (*ret_fd >= 0)
		close(*ret_fd);
	memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
}

static int receive_all(const struct name_channel *c, void *bytes, size_t len, int *ret_fd)
{
	char *at = bytes;

	while (len) {
		union passed room = { 0 };
		struct iovec part = { at, len };
		struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n;
		int rc;

		if (ret_fd) {
			m.msg_control = room.room;
			m.msg_controllen = sizeof room.room;
		}
		n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | (c->wait ? MSG_DONTWAIT : 0));
		rc = n == 0 ? -EPIPE : n < 0 ? again(c, POLLIN) : 0;
		if (rc < 0)
			return rc;
		if (n < 0)
			continue;
		if (ret_fd)
			take_fd(&m, ret_fd);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive_bytes(const struct name_channel *c, struct buf *ret, size_t len)
{
	while (len) {
		size_t step = len < STEP ? len : STEP;
		char *room = buf_reserve(ret, step);
		int rc = room ? receive_all(c, room, step, NULL) : -ENOMEM;

		if (rc < 0)
			return rc;
		buf_grew(ret, step);
		len -= step;
	}
	return 0;
}

int name_channel_receive(const struct name_channel *c, struct buf *ret, int *ret_fd)
{
	uint32_t head[2];
	int fd = -1, rc = receive_all(c, head, sizeof head, ret_fd ? &fd : NULL);

	buf_clear(ret);
	if (rc == 0 && (head[0] >= NAME_MESSAGES || head[1] > limits[head[0]]))
		rc = -EPROTO;
	if (rc == 0)
		rc = receive_bytes(c, ret, head[1]);
	if (rc < 0 && fd >= 0)
		close(fd);
	if (rc == 0 && ret_fd)
		*ret_fd = fd;
	return rc < 0 ? rc : (int)head[0];
}
