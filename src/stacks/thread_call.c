/* SPDX-License-Identifier: MIT */
#include "stacks/thread_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/file.h"
#include "base/str.h"
#include "syscalls/decode.h"
#include "syscalls/memory.h"
#include "syscalls/names.h"
#include "syscalls/pointees.h"
#include "syscalls/signatures.h"
#include "target/proc.h"

#define LINE_BYTES 256
#define POINTER_MIN 4096 /* an argument below it is no pointer */

/* Calls that go on as restart_syscall(2), by the starts of the kernel's functions that wait. */
static const struct {
	const char *wchan;
	uint32_t nr;
} restarted[] = {
	{ "hrtimer_nanosleep", SYS_clock_nanosleep },
	{ "do_nanosleep", SYS_clock_nanosleep },
	{ "common_nsleep", SYS_clock_nanosleep },
	{ "futex_", SYS_futex },
#ifdef SYS_poll
	{ "poll_schedule", SYS_poll },
	{ "do_poll", SYS_poll },
	{ "do_sys_poll", SYS_poll },
#endif
};

/* The same by the arguments, which a restart leaves as they were. */
static uint32_t guess_restarted(const uint64_t *args)
{
	const uint64_t flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
	uint64_t operation = args[1] & ~flags;

	if (args[0] < POINTER_MIN)
		return args[2] >= POINTER_MIN ? SYS_clock_nanosleep : SYS_restart_syscall;
	if (args[1] & FUTEX_PRIVATE_FLAG &&
	    (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
		return SYS_futex;
	if (args[1] >= POINTER_MIN)
		return SYS_nanosleep;
	return SYS_restart_syscall;
}

static uint32_t number_of(uint64_t nr, const char *wchan, const uint64_t *args)
{
	if (nr != SYS_restart_syscall)
		return nr < SYSCALL_NAMES ? (uint32_t)nr : SYSCALL_NAMES;
	for (size_t i = 0; i < ARRAY_LEN(restarted); i++)
		if (text_starts_with(wchan, restarted[i].wchan))
			return restarted[i].nr;
	return guess_restarted(args);
}

/* Numbers of one line, in base 16 but for the first. Returns their count. */
static size_t parse_numbers(const char *line, uint64_t ret[9])
{
	char *end;
	size_t n = 0;

	ret[n++] = strtoull(line, &end, 10);
	while (n < 9 && *end == ' ')
		ret[n++] = strtoull(end + 1, &end, 16);
	return n;
}

struct thread_call thread_call_parse(const char *line, const char *wchan)
{
	struct thread_call c = { .is_known = true };
	uint64_t numbers[9];
	size_t n;

	if (text_starts_with(line, "running")) {
		c.is_running = true;
		return c;
	}
	n = parse_numbers(line, numbers);
	if (n != 3 && n != 9)
		return (struct thread_call){ 0 };
	c.is_in_call = n == 9;
	c.sp = numbers[n - 2];
	c.pc = numbers[n - 1];
	if (c.is_in_call) {
		c.call.nr = number_of(numbers[0], wchan, numbers + 1);
		c.call.has_start = true;
		memcpy(c.call.args, numbers + 1, sizeof c.call.args);
	}
	return c;
}

struct thread_call thread_call_read(uint32_t pid, uint32_t tid, const char *wchan)
{
	char path[PROC_PATH], line[LINE_BYTES];
	struct thread_call c = { 0 };

	snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
	if (file_read_start(path, line, sizeof line))
		c = thread_call_parse(line, wchan);
	c.call.pid = pid;
	c.call.tid = tid;
	return c;
}

void call_names_fini(struct call_names *n)
{
	syscall_files_fini(&n->files);
	connections_fini(&n->connections);
	buf_fini(&n->call);
	buf_fini(&n->object);
	buf_fini(&n->reason);
}

/* The descriptor that a call is about; -1: none, or several. */
static int descriptor_of(const struct syscall *c, bool may_read)
{
	struct pollfd p;
	struct iovec local = { &p, sizeof p };
	struct iovec remote = { (void *)(uintptr_t)c->args[0], sizeof p }; /* NOLINT */
	bool is_poll = c->nr == SYS_ppoll;

#ifdef SYS_poll
	is_poll |= c->nr == SYS_poll;
#endif
	if (syscall_signature(c->nr)[0] == ARG_FD)
		return (int)c->args[0];
	if (!is_poll || c->args[1] != 1 || !may_read ||
	    process_vm_readv((pid_t)c->tid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof p)
		return -1;
	return p.fd;
}

/* What a descriptor is: object has it in full, reason what ranks may have in common. */
static int put_descriptor(struct call_names *n, const struct syscall *c, int fd, struct err *e)
{
	uint32_t id = syscall_files_fd(&n->files, c->pid, fd);
	struct str text = strtab_get(n->files.strings, id);
	const struct connection *peer;

	if (!id || str_starts_with(text, "anon_inode:"))
		return 0;
	if (str_starts_with(text, "socket:[") &&
	    connections_read(&n->connections, (pid_t)c->pid, e) < 0)
		return e->code;
	peer = connections_get(&n->connections, connection_inode(text.ptr));
	if (peer) {
		buf_printf(&n->object, "%s - %s", peer->local, peer->peer);
		buf_printf(&n->reason, " %s", peer->peer);
		return 0;
	}
	buf_put(&n->object, text.ptr, text.len);
	buf_put_byte(&n->reason, ' ');
	buf_put(&n->reason, text.ptr,
		text.len && text.ptr[0] == '/' ? text.len : strcspn(text.ptr, ":"));
	return 0;
}

/* The first path, or address of a peer, among the arguments. */
static void put_argument(struct call_names *n, const struct syscall *c)
{
	const char *signature = syscall_signature(c->nr);
	size_t before = n->object.len;

	for (size_t i = 0; signature[i] && n->object.len == before; i++) {
		uint32_t id =
			signature[i] == ARG_PATH ? syscall_files_path_arg(&n->files, c, i) : 0;
		struct str text = strtab_get(n->files.strings, id);

		buf_put(&n->object, text.ptr, text.len);
		if (signature[i] == ARG_ADDR_IN)
			syscall_put_pointee(c, i, ARG_ADDR_IN, &n->object);
	}
	if (n->object.len > before) {
		buf_put_byte(&n->reason, ' ');
		buf_put(&n->reason, n->object.data + before, n->object.len - before);
	}
}

static void put_name(struct buf *out, uint32_t nr)
{
	const char *name = nr < SYSCALL_NAMES ? syscall_names[nr] : NULL;

	if (name)
		buf_put_str(out, name);
	else
		buf_printf(out, "system call %u", nr);
}

int call_names_put(struct call_names *n, const struct syscall *call, bool may_read, struct err *e)
{
	char bytes[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES];
	struct syscall c = *call;
	int fd;

	buf_clear(&n->call);
	buf_clear(&n->object);
	buf_clear(&n->reason);
	if (may_read)
		syscall_read_memory(&c, true, true, bytes);
	put_name(&n->reason, c.nr);
	fd = c.nr == SYS_connect ? -1 : descriptor_of(&c, may_read);
	if (fd >= 0 && put_descriptor(n, &c, fd, e) < 0)
		return e->code;
	if (fd < 0)
		put_argument(n, &c);
	put_name(&n->call, c.nr);
	buf_put_byte(&n->call, '(');
	syscall_decode_args(&c, &n->files, &n->call);
	buf_put_byte(&n->call, ')');
	if (n->files.bad || buf_error(&n->call) < 0 || buf_error(&n->object) < 0 ||
	    buf_error(&n->reason) < 0)
		return err_nomem(e);
	return 0;
}
