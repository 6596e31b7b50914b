/* SPDX-License-Identifier: MIT */
#include "collect/sysc_decode.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/sysc_flags.h"
#include "model/syscalls.h"

/* The bytes in quotes, as C writes them. */
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

static void put_fd(struct buf *out, struct sysc_files *files, uint32_t pid, int fd)
{
	uint32_t name = fd >= 0 ? sysc_files_fd(files, pid, fd) : 0;
	struct str text;

	buf_put_int(out, fd);
	if (!name)
		return;
	text = strtab_get(files->strings, name);
	buf_put_byte(out, '<');
	buf_put(out, text.ptr, text.len);
	buf_put_byte(out, '>');
}

static void put_pointer(struct buf *out, uint64_t value)
{
	if (value)
		buf_printf(out, "0x%llx", (unsigned long long)value);
	else
		buf_put_str(out, "NULL");
}

static void put_time(struct buf *out, const struct sysc_memory *m)
{
	struct timespec t;

	memcpy(&t, m->bytes, sizeof t);
	buf_printf(out, "{%lld.%09ld s}", (long long)t.tv_sec, t.tv_nsec);
}

static void put_inet(struct buf *out, const struct sysc_memory *m, int family)
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

static void put_address(struct buf *out, const struct sysc_memory *m)
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
		sysc_put_flags(ARG_FAMILY, family, out);
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

static void put_stat(struct buf *out, const struct sysc_memory *m)
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

static void put_statx(struct buf *out, const struct sysc_memory *m)
{
	struct statx st;

	memset(&st, 0, sizeof st);
	memcpy(&st, m->bytes, m->len < sizeof st ? m->len : sizeof st);
	buf_put_str(out, "{");
	put_mode(out, st.stx_mode);
	buf_printf(out, ", size %llu}", (unsigned long long)st.stx_size);
}

static void put_status(struct buf *out, const struct sysc_memory *m)
{
	int status;

	memcpy(&status, m->bytes, sizeof status);
	if (WIFEXITED(status)) {
		buf_printf(out, "[exit %d]", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		buf_put_str(out, "[killed by ");
		sysc_put_signal(WTERMSIG(status), out);
		buf_put_byte(out, ']');
	} else if (WIFSTOPPED(status)) {
		buf_put_str(out, "[stopped by ");
		sysc_put_signal(WSTOPSIG(status), out);
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

static void put_poll(struct buf *out, const struct sysc_memory *m)
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

static void put_limit(struct buf *out, const struct sysc_memory *m)
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

static void put_set(struct buf *out, const struct sysc_memory *m)
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
			sysc_put_signal(i + 1, out);
		}
	buf_put_byte(out, ']');
}

static void put_how(struct buf *out, const struct sysc_memory *m)
{
	struct open_how how;

	memcpy(&how, m->bytes, sizeof how);
	buf_put_byte(out, '{');
	sysc_put_open_flags(how.flags, out);
	buf_printf(out, ", %04llo, resolve 0x%llx}", (unsigned long long)how.mode,
		   (unsigned long long)how.resolve);
}

static void put_epoll(struct buf *out, const struct sysc_memory *m)
{
	struct epoll_event ev = { 0 };

	memcpy(&ev, m->bytes, sizeof ev < m->len ? sizeof ev : m->len);
	buf_put_byte(out, '{');
	put_poll_events(out, ev.events);
	buf_printf(out, ", 0x%llx}", (unsigned long long)ev.data.u64);
}

static void put_clone(struct buf *out, const struct sysc_memory *m)
{
	uint64_t flags;

	memcpy(&flags, m->bytes, sizeof flags);
	buf_put_byte(out, '{');
	sysc_put_flags(ARG_CLONE, flags, out);
	buf_put_byte(out, '}');
}

static void put_pair(struct buf *out, const struct sysc_memory *m)
{
	int fds[2];

	memcpy(fds, m->bytes, sizeof fds);
	buf_printf(out, "[%d, %d]", fds[0], fds[1]);
}

static void put_text(struct buf *out, const struct sysc_memory *m)
{
	put_bytes(out, m->bytes, m->len, m->is_cut);
}

/* How memory is told. Nothing of it holds when the call that writes it failed. */
static const struct {
	enum sysc_arg arg;
	bool is_output;
	size_t least; /* bytes */
	void (*put)(struct buf *out, const struct sysc_memory *m);
} pointed[] = {
	{ ARG_PATH, false, 0, put_text },
	{ ARG_STRING, false, 0, put_text },
	{ ARG_IN, false, 0, put_text },
	{ ARG_OUT, true, 0, put_text },
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
};

static bool put_pointed(const struct sysc_call *c, size_t arg, char kind, struct buf *out)
{
	const struct sysc_memory *m = sysc_memory_of(c, arg);

	for (size_t i = 0; m && i < ARRAY_LEN(pointed); i++) {
		bool is_void = pointed[i].is_output && (!c->has_end || c->ret < 0);

		/* wait4() without a child writes no status; nanosleep() writes when interrupted. */
		if (kind == ARG_STATUS && c->ret == 0)
			is_void = true;
		if (kind == ARG_TIME_OUT && strchr("ct", sysc_signature(c->nr)[0]) &&
		    strstr(sysc_signature(c->nr), "tT"))
			is_void = sysc_error(c) != EINTR && sysc_error(c) < 512;
		if (pointed[i].arg == (enum sysc_arg)kind && !is_void &&
		    m->len >= pointed[i].least) {
			pointed[i].put(out, m);
			return true;
		}
	}
	return false;
}

static void put_fcntl_value(const struct sysc_call *c, uint64_t value, struct buf *out)
{
	switch (c->args[1]) {
	case F_SETFD:
		buf_put_str(out, value & FD_CLOEXEC ? "FD_CLOEXEC" : "0");
		break;
	case F_SETFL:
		sysc_put_open_flags(value, out);
		break;
	default:
		buf_put_int(out, (int64_t)value);
		break;
	}
}

static void put_plain(const struct sysc_call *c, char kind, uint64_t value,
		      struct sysc_files *files, struct buf *out)
{
	switch ((enum sysc_arg)kind) {
	case ARG_FD:
		put_fd(out, files, c->pid, (int)value);
		break;
	case ARG_DIRFD:
		if ((int)value == AT_FDCWD)
			buf_put_str(out, "AT_FDCWD");
		else
			put_fd(out, files, c->pid, (int)value);
		break;
	case ARG_INT:
		buf_put_int(out, (int)value);
		break;
	case ARG_LONG:
		if (c->nr == SYS_fcntl)
			put_fcntl_value(c, value, out);
		else
			buf_put_int(out, (int64_t)value);
		break;
	case ARG_SIZE:
		buf_put_uint(out, value);
		break;
	case ARG_MODE:
		buf_printf(out, "%04o", (unsigned)value & 0177777);
		break;
	case ARG_SIGNAL:
		sysc_put_signal((int)value, out);
		break;
	case ARG_HEX:
		buf_printf(out, value ? "0x%llx" : "%llx", (unsigned long long)value);
		break;
	default:
		put_pointer(out, value);
		break;
	}
}

/* The mode is only looked at when a file can be made. */
static bool is_idle(const struct sysc_call *c, size_t arg)
{
	const char *signature = sysc_signature(c->nr);

	if (signature[arg] == ARG_MODE && arg > 0 && signature[arg - 1] == ARG_OPEN)
		return !(c->args[arg - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
	return c->nr == SYS_fcntl && arg == 2 &&
	       (c->args[1] == F_GETFD || c->args[1] == F_GETFL || c->args[1] == F_GETOWN);
}

static void put_words(const struct sysc_call *c, struct buf *out)
{
	for (size_t i = 0; i < 6; i++)
		buf_printf(out, "%s0x%llx", i ? ", " : "", (unsigned long long)c->args[i]);
}

void sysc_decode_args(const struct sysc_call *c, struct sysc_files *files, struct buf *out)
{
	const char *signature = sysc_signature(c->nr);

	if (!c->has_start) {
		buf_put_str(out, "...");
		return;
	}
	if (!sysc_is_known(c->nr)) {
		put_words(c, out);
		return;
	}
	for (size_t i = 0; signature[i]; i++) {
		if (is_idle(c, i))
			continue;
		buf_put_str(out, i ? ", " : "");
		if (!put_pointed(c, i, signature[i], out) &&
		    !sysc_put_flags((enum sysc_arg)signature[i], c->args[i], out))
			put_plain(c, signature[i], c->args[i], files, out);
	}
}

static bool makes_fd(uint32_t nr)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_dup2:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_dup:
	case SYS_dup3:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

static bool gives_address(uint32_t nr)
{
	return nr == SYS_mmap || nr == SYS_brk || nr == SYS_mremap;
}

void sysc_decode_result(const struct sysc_call *c, struct sysc_files *files, struct buf *out)
{
	char number[24];
	int32_t error = sysc_error(c);

	if (!c->has_end)
		buf_put_str(out, "?");
	else if (error)
		buf_printf(out, "-1 %s (%s)", syscalls_error_name(error, number),
			   error < 512 ? strerror(error) : "interrupted");
	else if (gives_address(c->nr))
		put_pointer(out, (uint64_t)c->ret);
	else if (makes_fd(c->nr))
		put_fd(out, files, c->pid, (int)c->ret);
	else
		buf_put_int(out, c->ret);
}
