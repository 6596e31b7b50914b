/* SPDX-License-Identifier: MIT */
#include "syscalls/pointees.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "syscalls/flags.h"

/* The bytes as a C string literal. */
static void put_bytes(struct buf *out, const char *bytes, size_t len, bool is_cut)
{
	static const char named[] = "\n\t\r\"\\", letters[] = "ntr\"\\";

	buf_put_byte(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		const char *at = c ? strchr(named, c) : NULL;

		if (at)
			buf_printf(out, "\\%c", letters[at - named]);
		else if (c >= 0x20 && c < 0x7f)
			buf_put_byte(out, c);
		else if (i + 1 < len && isdigit((unsigned char)bytes[i + 1]))
			buf_printf(out, "\\%03o", c);
		else
			buf_printf(out, "\\%o", c);
	}
	buf_put_str(out, is_cut ? "\"..." : "\"");
}

static void put_time(struct buf *out, const struct syscall_memory *m)
{
	struct timespec t;

	memcpy(&t, m->bytes, sizeof t);
	buf_printf(out, "{%lld.%09ld s}", (long long)t.tv_sec, t.tv_nsec);
}

static void put_inet(struct buf *out, const struct syscall_memory *m, int family)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in in4 = { 0 };
	struct sockaddr_in6 in6 = { 0 };

	if (family == AF_INET && m->len >= sizeof in4) {
		memcpy(&in4, m->bytes, sizeof in4);
		buf_printf(out, "{AF_INET, %s:%u}",
			   inet_ntop(AF_INET, &in4.sin_addr, text, sizeof text),
			   ntohs(in4.sin_port));
	} else if (family == AF_INET6 && m->len >= sizeof in6) {
		memcpy(&in6, m->bytes, sizeof in6);
		buf_printf(out, "{AF_INET6, [%s]:%u}",
			   inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text),
			   ntohs(in6.sin6_port));
	} else {
		buf_put_str(out, "{...}");
	}
}

static void put_address(struct buf *out, const struct syscall_memory *m)
{
	unsigned short family = AF_UNSPEC;
	size_t start = offsetof(struct sockaddr_un, sun_path);

	if (m->len >= sizeof family)
		memcpy(&family, m->bytes, sizeof family);
	if (family == AF_UNIX) {
		bool is_abstract = m->len > start && !m->bytes[start];

		buf_put_str(out, is_abstract ? "{AF_UNIX, @" : "{AF_UNIX, ");
		start += is_abstract;
		if (m->len > start)
			put_bytes(out, m->bytes + start,
				  is_abstract ? m->len - start
					      : strnlen(m->bytes + start, m->len - start),
				  m->is_cut);
		buf_put_byte(out, '}');
	} else if (family == AF_INET || family == AF_INET6) {
		put_inet(out, m, family);
	} else {
		buf_put_byte(out, '{');
		syscall_put_flags(ARG_FAMILY, family, out);
		buf_put_byte(out, '}');
	}
}

static void put_mode(struct buf *out, unsigned mode)
{
	static const struct {
		unsigned value;
		const char *name;
	} types[] = {
		{ S_IFREG, "S_IFREG" },   { S_IFDIR, "S_IFDIR" }, { S_IFLNK, "S_IFLNK" },
		{ S_IFCHR, "S_IFCHR" },   { S_IFBLK, "S_IFBLK" }, { S_IFIFO, "S_IFIFO" },
		{ S_IFSOCK, "S_IFSOCK" },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if ((mode & S_IFMT) == types[i].value)
			buf_printf(out, "%s|", types[i].name);
	buf_printf(out, "%04o", mode & 07777);
}

static void put_stat(struct buf *out, const struct syscall_memory *m)
{
	struct stat st;

	memcpy(&st, m->bytes, sizeof st);
	buf_put_str(out, "{");
	put_mode(out, st.st_mode);
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		buf_printf(out, ", rdev %u:%u}", major(st.st_rdev), minor(st.st_rdev));
	else
		buf_printf(out, ", size %lld}", (long long)st.st_size);
}

static void put_statx(struct buf *out, const struct syscall_memory *m)
{
	struct statx st;

	memset(&st, 0, sizeof st);
	memcpy(&st, m->bytes, m->len < sizeof st ? m->len : sizeof st);
	buf_put_str(out, "{");
	put_mode(out, st.stx_mode);
	buf_printf(out, ", size %llu}", (unsigned long long)st.stx_size);
}

static void put_status(struct buf *out, const struct syscall_memory *m)
{
	int status;

	memcpy(&status, m->bytes, sizeof status);
	if (WIFEXITED(status)) {
		buf_printf(out, "[exit %d]", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		buf_put_str(out, "[killed by ");
		syscall_put_signal(WTERMSIG(status), out);
		buf_put_byte(out, ']');
	} else if (WIFSTOPPED(status)) {
		buf_put_str(out, "[stopped by ");
		syscall_put_signal(WSTOPSIG(status), out);
		buf_put_byte(out, ']');
	} else {
		buf_printf(out, "[0x%x]", (unsigned)status);
	}
}

static void put_poll_events(struct buf *out, unsigned events)
{
	static const struct {
		unsigned bit;
		const char *name;
	} bits[] = {
		{ POLLIN, "IN" },        { POLLPRI, "PRI" }, { POLLOUT, "OUT" },
		{ POLLERR, "ERR" },      { POLLHUP, "HUP" }, { POLLRDHUP, "RDHUP" },
		{ 1u << 30, "ONESHOT" }, { 1u << 31, "ET" },
	};
	size_t start = out->len;

	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		if (events & bits[i].bit)
			buf_printf(out, "%s%s", out->len > start ? "|" : "", bits[i].name);
	if (out->len == start)
		buf_put_byte(out, '0');
}

static void put_poll(struct buf *out, const struct syscall_memory *m)
{
	struct pollfd p;

	buf_put_byte(out, '[');
	for (size_t at = 0; at + sizeof p <= m->len; at += sizeof p) {
		memcpy(&p, m->bytes + at, sizeof p);
		buf_printf(out, "%s{%d, ", at ? ", " : "", p.fd);
		put_poll_events(out, (unsigned short)p.events);
		if (p.revents) {
			buf_put_str(out, " -> ");
			put_poll_events(out, (unsigned short)p.revents);
		}
		buf_put_byte(out, '}');
	}
	buf_put_str(out, m->is_cut ? ", ...]" : "]");
}

static void put_limit(struct buf *out, const struct syscall_memory *m)
{
	uint64_t both[2];

	memcpy(both, m->bytes, sizeof both);
	buf_put_byte(out, '{');
	for (size_t i = 0; i < 2; i++) {
		buf_put_str(out, i ? ", max " : "now ");
		if (both[i] == (uint64_t)RLIM_INFINITY)
			buf_put_str(out, "unlimited");
		else
			buf_put_uint(out, both[i]);
	}
	buf_put_byte(out, '}');
}

static void put_set(struct buf *out, const struct syscall_memory *m)
{
	uint64_t set;
	bool is_first = true;

	memcpy(&set, m->bytes, sizeof set);
	if (set == UINT64_MAX) {
		buf_put_str(out, "[all]");
		return;
	}
	buf_put_byte(out, '[');
	for (int i = 0; i < 64; i++)
		if (set >> i & 1) {
			buf_put_str(out, is_first ? "" : " ");
			is_first = false;
			syscall_put_signal(i + 1, out);
		}
	buf_put_byte(out, ']');
}

static void put_how(struct buf *out, const struct syscall_memory *m)
{
	struct open_how how;

	memcpy(&how, m->bytes, sizeof how);
	buf_put_byte(out, '{');
	syscall_put_open_flags(how.flags, out);
	buf_printf(out, ", %04llo, resolve 0x%llx}", (unsigned long long)how.mode,
		   (unsigned long long)how.resolve);
}

static void put_epoll(struct buf *out, const struct syscall_memory *m)
{
	struct epoll_event ev = { 0 };

	memcpy(&ev, m->bytes, sizeof ev < m->len ? sizeof ev : m->len);
	buf_put_byte(out, '{');
	put_poll_events(out, ev.events);
	buf_printf(out, ", 0x%llx}", (unsigned long long)ev.data.u64);
}

static void put_clone(struct buf *out, const struct syscall_memory *m)
{
	uint64_t flags;

	memcpy(&flags, m->bytes, sizeof flags);
	buf_put_byte(out, '{');
	syscall_put_flags(ARG_CLONE, flags, out);
	buf_put_byte(out, '}');
}

static void put_pair(struct buf *out, const struct syscall_memory *m)
{
	int fds[2];

	memcpy(fds, m->bytes, sizeof fds);
	buf_printf(out, "[%d, %d]", fds[0], fds[1]);
}

static void put_text(struct buf *out, const struct syscall_memory *m)
{
	put_bytes(out, m->bytes, m->len, m->is_cut);
}

/* Source: kernel, struct sigaction of arch/x86 and arm64. */
static void put_action(struct buf *out, const struct syscall_memory *m)
{
	struct {
		uint64_t handler, flags, restorer, set;
	} a;
	struct syscall_memory set = { .len = sizeof a.set, .bytes = (const char *)&a.set };

	memcpy(&a, m->bytes, sizeof a);
	if (a.handler == (uintptr_t)SIG_DFL) /* NOLINT */
		buf_put_str(out, "{SIG_DFL, ");
	else if (a.handler == (uintptr_t)SIG_IGN) /* NOLINT */
		buf_put_str(out, "{SIG_IGN, ");
	else
		buf_printf(out, "{0x%llx, ", (unsigned long long)a.handler);
	put_set(out, &set);
	buf_put_str(out, ", ");
	syscall_put_flags(ARG_ACTION_IN, a.flags, out);
	buf_put_byte(out, '}');
}

static void put_events(struct buf *out, const struct syscall_memory *m)
{
	buf_put_byte(out, '[');
	for (size_t at = 0; at + sizeof(struct epoll_event) <= m->len;
	     at += sizeof(struct epoll_event)) {
		buf_put_str(out, at ? ", " : "");
		put_epoll(out, &(struct syscall_memory){ .len = sizeof(struct epoll_event),
							 .bytes = m->bytes + at });
	}
	buf_put_str(out, m->is_cut ? ", ...]" : "]");
}

static void put_strings(struct buf *out, const struct syscall_memory *m)
{
	size_t at = 0;

	buf_put_byte(out, '[');
	while (at < m->len) {
		size_t len = strnlen(m->bytes + at, m->len - at);

		buf_put_str(out, at ? ", " : "");
		put_bytes(out, m->bytes + at, len, len + 1 >= SYSCALL_STRING_BYTES);
		at += len + 1;
	}
	buf_put_str(out, !m->is_cut ? "]" : at ? ", ...]" : "...]");
}

static void put_vectors(struct buf *out, const struct syscall_memory *m)
{
	struct syscall_iovec v;

	buf_put_byte(out, '[');
	for (size_t at = 0; at + sizeof v <= m->len; at += sizeof v) {
		memcpy(&v, m->bytes + at, sizeof v);
		buf_put_str(out, at ? ", {" : "{");
		put_bytes(out, v.bytes, v.got < sizeof v.bytes ? (size_t)v.got : sizeof v.bytes,
			  v.got == sizeof v.bytes && v.len > v.got);
		buf_printf(out, ", %llu}", (unsigned long long)v.len);
	}
	buf_put_str(out, m->is_cut ? ", ...]" : "]");
}

static void put_value(struct buf *out, const struct syscall_memory *m)
{
	int32_t value;

	if (m->len != sizeof value) {
		put_bytes(out, m->bytes, m->len, m->is_cut);
		return;
	}
	memcpy(&value, m->bytes, sizeof value);
	buf_printf(out, "[%d]", value);
}

/* The numbers of the set bits. */
static void put_bits(struct buf *out, const struct syscall_memory *m)
{
	bool is_first = true;

	buf_put_byte(out, '[');
	for (size_t i = 0; i < 8 * (size_t)m->len; i++)
		if ((unsigned char)m->bytes[i / 8] >> i % 8 & 1) {
			buf_printf(out, "%s%zu", is_first ? "" : " ", i);
			is_first = false;
		}
	buf_put_byte(out, ']');
}

static void put_times(struct buf *out, const struct syscall_memory *m)
{
	struct syscall_memory one = *m;

	one.len = sizeof(struct timespec);
	buf_put_byte(out, '[');
	put_time(out, &one);
	buf_put_str(out, ", ");
	one.bytes += sizeof(struct timespec);
	put_time(out, &one);
	buf_put_byte(out, ']');
}

static void put_lock(struct buf *out, const struct syscall_memory *m)
{
	struct flock lock;

	memcpy(&lock, m->bytes, sizeof lock);
	buf_put_byte(out, '{');
	syscall_put_flags(ARG_LOCK, (uint16_t)lock.l_type, out);
	buf_put_str(out, ", ");
	syscall_put_flags(ARG_WHENCE, (uint16_t)lock.l_whence, out);
	buf_printf(out, ", %lld, %lld}", (long long)lock.l_start, (long long)lock.l_len);
}

static void put_name(struct buf *out, const struct syscall_memory *m)
{
	put_bytes(out, m->bytes, strnlen(m->bytes, m->len), m->is_cut);
}

/* How to print each type. Memory that a failed call should have written is not printed. */
static const struct {
	enum syscall_arg arg;
	bool is_output;
	size_t least; /* bytes */
	void (*put)(struct buf *out, const struct syscall_memory *m);
} pointed[] = {
	{ ARG_PATH, false, 0, put_text },
	{ ARG_STRING, false, 0, put_text },
	{ ARG_IN, false, 0, put_text },
	{ ARG_OUT, true, 0, put_text },
	{ ARG_TEXT_OUT, true, 1, put_name },
	{ ARG_TIME_IN, false, sizeof(struct timespec), put_time },
	{ ARG_TIME_OUT, true, sizeof(struct timespec), put_time },
	{ ARG_ADDR_IN, false, 2, put_address },
	{ ARG_ADDR_OUT, true, 2, put_address },
	{ ARG_STAT, true, sizeof(struct stat), put_stat },
	{ ARG_STATX, true, offsetof(struct statx, stx_size) + 8, put_statx },
	{ ARG_STATUS, true, sizeof(int), put_status },
	{ ARG_EPOLL_IN, false, 12, put_epoll },
	{ ARG_POLL, false, 0, put_poll },
	{ ARG_FDS, true, 2 * sizeof(int), put_pair },
	{ ARG_RLIMIT_IN, false, 16, put_limit },
	{ ARG_RLIMIT_OUT, true, 16, put_limit },
	{ ARG_HOW, false, sizeof(struct open_how), put_how },
	{ ARG_SIGSET, false, 8, put_set },
	{ ARG_CLONE3, false, 8, put_clone },
	{ ARG_ARGV, false, 0, put_strings },
	{ ARG_ACTION_IN, false, 32, put_action },
	{ ARG_ACTION_OUT, true, 32, put_action },
	{ ARG_SIGSET_OUT, true, 8, put_set },
	{ ARG_EPOLL_OUT, true, 0, put_events },
	{ ARG_VALUE_IN, false, 0, put_value },
	{ ARG_VALUE_OUT, true, 4, put_value },
	{ ARG_VECTORS_IN, false, 0, put_vectors },
	{ ARG_VECTORS_OUT, true, 0, put_vectors },
	{ ARG_MESSAGE_IN, false, 0, put_vectors },
	{ ARG_MESSAGE_OUT, true, 0, put_vectors },
	{ ARG_CPUS_IN, false, 8, put_bits },
	{ ARG_CPUS_OUT, true, 8, put_bits },
	{ ARG_FCNTL_VALUE, false, sizeof(struct flock), put_lock },
	{ ARG_PRCTL_VALUE, false, 0, put_text },
	{ ARG_TIMES_IN, false, 2 * sizeof(struct timespec), put_times },
};

static void put_environment(struct buf *out, uint64_t address, const struct syscall_memory *m)
{
	uint32_t count;

	memcpy(&count, m->bytes, sizeof count);
	if (address) /* 0: the address is unknown */
		buf_printf(out, "0x%llx ", (unsigned long long)address);
	buf_printf(out, "/* %u%s var%s */", count, m->is_cut ? " or more" : "",
		   count == 1 ? "" : "s");
}

/* The descriptors of the set below limit. */
static void put_fds(struct buf *out, uint64_t limit, const struct syscall_memory *m)
{
	char bits[128] = { 0 };
	size_t count = limit < 8 * sizeof bits ? (size_t)limit : 8 * sizeof bits;
	struct syscall_memory shown = { .len = sizeof bits, .bytes = bits };

	memcpy(bits, m->bytes, m->len < sizeof bits ? m->len : sizeof bits);
	for (size_t i = count; i < 8 * sizeof bits; i++)
		bits[i / 8] = (char)(bits[i / 8] & ~(1 << i % 8));
	put_bits(out, &shown);
}

bool syscall_is_lock_op(uint64_t order)
{
	switch (order) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return true;
	default:
		return false;
	}
}

/* The value is an address for some operations only. */
static bool is_meant(const struct syscall *c, char kind)
{
	if (kind == ARG_PRCTL_VALUE)
		return c->args[0] == PR_SET_NAME || c->args[0] == PR_GET_NAME;
	return kind != ARG_FCNTL_VALUE || syscall_is_lock_op(c->args[1]);
}

bool syscall_put_pointee(const struct syscall *c, size_t arg, char kind, struct buf *out)
{
	const struct syscall_memory *m = syscall_memory_of(c, arg);

	if (m && kind == ARG_ENVP && m->len == sizeof(uint32_t)) {
		put_environment(out, c->args[arg], m);
		return true;
	}
	if (m && kind == ARG_FD_SET) {
		put_fds(out, c->args[0], m);
		return true;
	}
	if (m && !is_meant(c, kind))
		return false;
	for (size_t i = 0; m && i < ARRAY_LEN(pointed); i++) {
		bool is_void = pointed[i].is_output && (!c->has_end || c->ret < 0);

		/* wait4() without a child writes no status; nanosleep() writes when interrupted. */
		if (kind == ARG_STATUS && c->ret == 0)
			is_void = true;
		if (kind == ARG_TIME_OUT && strchr("ct", syscall_signature(c->nr)[0]) &&
		    strstr(syscall_signature(c->nr), "tT"))
			is_void = syscall_error(c) != EINTR && syscall_error(c) < 512;
		if (pointed[i].arg == (enum syscall_arg)kind && !is_void &&
		    m->len >= pointed[i].least) {
			pointed[i].put(out, m);
			return true;
		}
	}
	return false;
}
