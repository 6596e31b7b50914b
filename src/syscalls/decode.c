/* SPDX-License-Identifier: MIT */
#include "syscalls/decode.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/compat/compat.h"
#include "model/syscalls.h"
#include "syscalls/flags.h"
#include "syscalls/pointees.h"

static void put_fd(struct buf *out, struct syscall_files *files, uint32_t pid, int fd)
{
	uint32_t name = fd >= 0 ? syscall_files_fd(files, pid, fd) : 0;
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

static void put_fcntl_value(const struct syscall *c, uint64_t value, struct buf *out)
{
	if (c->args[1] == F_SETFD)
		buf_put_str(out, value & FD_CLOEXEC ? "FD_CLOEXEC" : "0");
	else if (c->args[1] == F_SETFL)
		syscall_put_open_flags(value, out);
	else if (syscall_is_lock_op(c->args[1]))
		put_pointer(out, value);
	else
		buf_put_int(out, (int64_t)value);
}

static void put_option(uint64_t level, uint64_t option, struct buf *out)
{
	if (level == SOL_SOCKET)
		syscall_put_flags(ARG_SOCKOPT_SOCKET, option, out);
	else if (level == IPPROTO_TCP)
		syscall_put_flags(ARG_SOCKOPT_TCP, option, out);
	else
		buf_put_int(out, (int)option);
}

static void put_plain(const struct syscall *c, char kind, uint64_t value,
		      struct syscall_files *files, struct buf *out)
{
	switch ((enum syscall_arg)kind) {
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
		buf_put_int(out, (int64_t)value);
		break;
	case ARG_FCNTL_VALUE:
		put_fcntl_value(c, value, out);
		break;
	case ARG_SIZE:
		buf_put_uint(out, value);
		break;
	case ARG_MODE:
		buf_printf(out, "%04o", (unsigned)value & 0177777);
		break;
	case ARG_SIGNAL:
		syscall_put_signal((int)value, out);
		break;
	case ARG_SOCKOPT:
		put_option(c->args[1], value, out);
		break;
	case ARG_HEX:
	case ARG_PRCTL_VALUE:
		buf_printf(out, value ? "0x%llx" : "%llx", (unsigned long long)value);
		break;
	default:
		put_pointer(out, value);
		break;
	}
}

/* FUTEX_WAKE takes no timeout and no second futex. */
static size_t last_of_futex(uint32_t operation)
{
	switch (operation) {
	case FUTEX_WAKE:
		return 2;
	case FUTEX_WAIT:
		return 3;
	default:
		return 5;
	}
}

/* The mode counts only when the call may create a file. */
static bool is_idle(const struct syscall *c, size_t arg)
{
	const char *signature = syscall_signature(c->nr);

	if (signature[arg] == ARG_MODE && arg > 0 && signature[arg - 1] == ARG_OPEN)
		return !(c->args[arg - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
	if (c->nr == SYS_futex)
		return arg > last_of_futex((uint32_t)c->args[1] & (uint32_t)FUTEX_CMD_MASK);
	return c->nr == SYS_fcntl && arg == 2 &&
	       (c->args[1] == F_GETFD || c->args[1] == F_GETFL || c->args[1] == F_GETOWN);
}

/* Its flags are in the structure that it points to. */
static bool is_address(char kind)
{
	return kind == ARG_ACTION_IN;
}

static void put_words(const struct syscall *c, struct buf *out)
{
	for (size_t i = 0; i < 6; i++)
		buf_printf(out, "%s0x%llx", i ? ", " : "", (unsigned long long)c->args[i]);
}

void syscall_decode_args(const struct syscall *c, struct syscall_files *files, struct buf *out)
{
	const char *signature = syscall_signature(c->nr);

	if (!c->has_start) {
		buf_put_str(out, "...");
		return;
	}
	if (!syscall_is_known(c->nr)) {
		put_words(c, out);
		return;
	}
	for (size_t i = 0; signature[i]; i++) {
		if (is_idle(c, i))
			continue;
		buf_put_str(out, i ? ", " : "");
		if (!syscall_put_pointee(c, i, signature[i], out) &&
		    (is_address(signature[i]) ||
		     !syscall_put_flags((enum syscall_arg)signature[i], c->args[i], out)))
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

void syscall_decode_result(const struct syscall *c, struct syscall_files *files, struct buf *out)
{
	char number[24];
	int32_t error = syscall_error(c);

	if (!c->has_end)
		buf_put_str(out, "?");
	else if (error)
		buf_printf(out, "-1 %s (%s)", syscalls_error_name(error, number),
			   error < 512 ? strerror(error) : "interrupted");
	else if (gives_address(c->nr))
		put_pointer(out, (uint64_t)c->ret);
	else if (c->nr == SYS_umask)
		buf_printf(out, "%04llo", (unsigned long long)c->ret);
	else if (c->nr == SYS_fcntl && c->has_start && c->args[1] == F_GETFL)
		syscall_put_open_flags((uint64_t)c->ret, out);
	else if (c->nr == SYS_fcntl && c->has_start && c->args[1] == F_GETFD)
		buf_put_str(out, c->ret & FD_CLOEXEC ? "FD_CLOEXEC" : "0");
	else if (makes_fd(c->nr))
		put_fd(out, files, c->pid, (int)c->ret);
	else
		buf_put_int(out, c->ret);
}
