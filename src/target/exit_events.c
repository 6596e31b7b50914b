/* SPDX-License-Identifier: MIT */
#include "target/exit_events.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define QUEUE_BYTES (8 << 20) /* thousands of exits between two reads */
#define ANSWER_MS 1000

struct request {
	struct nlmsghdr head;
	struct genlmsghdr family_head;
	struct nlattr attr;
	char text[64];
};

static int send_request(int fd, uint16_t family, uint8_t command, uint16_t attr, const char *text)
{
	struct request r = { .head = { .nlmsg_type = family,
				       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
			     .family_head = { .cmd = command, .version = 1 } };
	size_t bytes = strlen(text) + 1;

	r.attr = (struct nlattr){ .nla_len = (uint16_t)(sizeof r.attr + bytes), .nla_type = attr };
	memcpy(r.text, text, bytes);
	r.head.nlmsg_len = (uint32_t)(offsetof(struct request, text) + bytes);
	return send(fd, &r, r.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* A run of attributes. */
struct attrs {
	const unsigned char *at;
	size_t len;
};

static bool attrs_next(struct attrs *a, uint16_t *ret_type, struct attrs *ret_value)
{
	struct nlattr head;
	size_t step;

	if (a->len < sizeof head)
		return false;
	memcpy(&head, a->at, sizeof head);
	if (head.nla_len < sizeof head || head.nla_len > a->len)
		return false;
	*ret_type = head.nla_type & 0x3fff; /* without NLA_F_ flags */
	*ret_value = (struct attrs){ a->at + sizeof head, head.nla_len - sizeof head };
	step = (head.nla_len + 3u) & ~3u;
	step = step < a->len ? step : a->len;
	a->at += step;
	a->len -= step;
	return true;
}

static bool attrs_find(struct attrs a, uint16_t type, struct attrs *ret)
{
	uint16_t found;

	while (attrs_next(&a, &found, ret))
		if (found == type)
			return true;
	return false;
}

/* Receives the reply to send_request(): 0, or its errno. Skips other messages. */
static int receive_reply(int fd, uint16_t *ret_family)
{
	for (;;) {
		unsigned char text[4096];
		ssize_t n = recv(fd, text, sizeof text, 0);
		struct attrs all, value;
		struct nlmsghdr head;
		struct nlmsgerr error;

		if (n < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN))
			return n < 0 ? -errno : -EPROTO;
		memcpy(&head, text, sizeof head);
		if (head.nlmsg_type == NLMSG_ERROR) {
			memcpy(&error, text + sizeof head, sizeof error);
			return error.error;
		}
		all = (struct attrs){ text + NLMSG_HDRLEN + GENL_HDRLEN,
				      (size_t)n - NLMSG_HDRLEN - GENL_HDRLEN };
		if (head.nlmsg_type == GENL_ID_CTRL &&
		    attrs_find(all, CTRL_ATTR_FAMILY_ID, &value) && value.len >= sizeof *ret_family)
			memcpy(ret_family, value.at, sizeof *ret_family);
	}
}

static int listen_to(struct exit_events *x)
{
	uint16_t none;
	int rc = send_request(x->fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
			      TASKSTATS_GENL_NAME);

	if (rc == 0)
		rc = receive_reply(x->fd, &x->family);
	if (rc == 0)
		rc = send_request(x->fd, x->family, TASKSTATS_CMD_GET,
				  TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, x->cpus);
	return rc == 0 ? receive_reply(x->fd, &none) : rc;
}

int exit_events_open(struct exit_events *x, struct err *e)
{
	const struct timeval patience = { .tv_sec = ANSWER_MS / 1000 };
	const int bytes = QUEUE_BYTES;
	int rc;

	*x = (struct exit_events){ 0 };
	if (!file_read_start("/sys/devices/system/cpu/possible", x->cpus, sizeof x->cpus))
		return err_set(e, -ENOENT, "/sys/devices/system/cpu/possible cannot be read");
	x->cpus[strcspn(x->cpus, "\n")] = '\0';
	x->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (x->fd < 0) {
		x->fd = 0;
		return err_errno(e, "netlink");
	}
	setsockopt(x->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (setsockopt(x->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		setsockopt(x->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	rc = listen_to(x);
	if (rc < 0) {
		close(x->fd);
		x->fd = 0;
		return err_set(e, rc, "taskstats: %s", strerror(-rc));
	}
	return 0;
}

void exit_events_close(struct exit_events *x)
{
	if (!x->fd)
		return;
	/* else the kernel finds out at the next end */
	(void)send_request(x->fd, x->family, TASKSTATS_CMD_GET,
			   TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, x->cpus);
	close(x->fd);
	x->fd = 0;
}

/* The split in user and system is by ticks. The sum is that at the last tick or switch before the
 * end; a thread that never slept had a CPU whenever it did not wait for one. */
static void take_time(struct exit_record *r, const struct taskstats *s)
{
	double ticks = (double)s->ac_utime + (double)s->ac_stime;
	int64_t whole = (int64_t)s->cpu_run_virtual_total;
	int64_t most = r->wall_ns - (int64_t)s->cpu_delay_total;

	if (s->nvcsw == 0 && most > whole)
		whole = most;

	r->system_ns = ticks > 0 ? (int64_t)((double)whole * (double)s->ac_stime / ticks) : 0;
	r->user_ns = whole - r->system_ns;
	r->run_wait_ns = (int64_t)s->cpu_delay_total;
}

static void take_stats(const struct taskstats *s, struct exit_record *ret)
{
	*ret = (struct exit_record){ .tid = (pid_t)s->ac_pid,
				     .parent = (pid_t)s->ac_ppid,
				     .wall_ns = (int64_t)s->ac_etime * (NS_PER_S / 1000000),
				     .minor_faults = (int64_t)s->ac_minflt,
				     .major_faults = (int64_t)s->ac_majflt,
				     .peak_rss_bytes = (int64_t)s->hiwater_rss * 1024 };
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)sizeof ret->name - 1, s->ac_comm);
	take_time(ret, s);
}

/* Reads a message of the kernel. Skips that of a whole process, which repeats those of its threads.
 */
static bool take_message(struct exit_events *x, const unsigned char *bytes, size_t len,
			 struct exit_record *ret)
{
	struct taskstats stats = { 0 };
	uint32_t tgid;
	struct attrs all, one;

	if (len < NLMSG_HDRLEN + GENL_HDRLEN)
		return false;
	all = (struct attrs){ bytes + NLMSG_HDRLEN + GENL_HDRLEN,
			      len - NLMSG_HDRLEN - GENL_HDRLEN };
	if (!attrs_find(all, TASKSTATS_TYPE_AGGR_PID, &one) ||
	    !attrs_find(one, TASKSTATS_TYPE_STATS, &one))
		return false;
	if (one.len < EXIT_EVENTS_TGID_AT + sizeof tgid) {
		x->has_lost = true; /* of a process that the kernel does not name */
		return false;
	}
	memcpy(&stats, one.at, one.len < sizeof stats ? one.len : sizeof stats);
	memcpy(&tgid, one.at + EXIT_EVENTS_TGID_AT, sizeof tgid);
	take_stats(&stats, ret);
	ret->pid = (pid_t)tgid;
	return true;
}

bool exit_events_next(struct exit_events *x, struct exit_record *ret)
{
	while (x->fd) {
		unsigned char bytes[4096];
		ssize_t n = recv(x->fd, bytes, sizeof bytes, MSG_DONTWAIT);

		if (n < 0 && errno == ENOBUFS)
			x->has_lost = true;
		else if (n < 0 && errno != EINTR)
			return false;
		else if (n > 0 && take_message(x, bytes, (size_t)n, ret))
			return true;
	}
	return false;
}
