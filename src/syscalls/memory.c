/* SPDX-License-Identifier: MIT */
#include "syscalls/memory.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t want_bytes(const struct syscall *c, const struct syscall_fetch *f, bool *ret_is_cut)
{
	uint64_t bytes = f->limit;

	if (f->kind == FETCH_BY_NEXT)
		bytes = c->args[f->arg + 1] * f->unit;
	else if (f->kind == FETCH_BY_RET)
		bytes = c->ret > 0 ? (uint64_t)c->ret * f->unit : 0;
	*ret_is_cut = bytes > f->limit;
	return bytes < f->limit ? bytes : f->limit;
}

/* Page by page, so that a string just before an unmapped page is read, too. */
static size_t read_memory(pid_t tid, uint64_t from, char *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t page = 4096 - ((from + done) & 4095);
		struct iovec here = { to + done, len - done < page ? len - done : page };
		struct iovec there = { (void *)(uintptr_t)(from + done),
				       here.iov_len }; /* NOLINT */
		ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static bool read_word(pid_t tid, uint64_t from, uint64_t *ret)
{
	return read_memory(tid, from, (char *)ret, sizeof *ret) == sizeof *ret;
}

/* At most SYSCALL_FETCH_BYTES. Returns the bytes read; negative: unreadable. */
static ssize_t read_strings(pid_t tid, uint64_t list, char *to, bool *is_cut)
{
	size_t at = 0;

	for (size_t i = 0; i < SYSCALL_STRINGS; i++) {
		uint64_t from;
		size_t got;

		if (!read_word(tid, list + 8 * i, &from))
			return i ? (ssize_t)at : -1;
		if (!from)
			return (ssize_t)at;
		if (at > SYSCALL_FETCH_BYTES - SYSCALL_STRING_BYTES)
			break;
		got = strnlen(to + at, read_memory(tid, from, to + at, SYSCALL_STRING_BYTES - 1));
		to[at + got] = '\0';
		at += got + 1;
	}
	*is_cut = true;
	return (ssize_t)at;
}

static ssize_t read_count(pid_t tid, uint64_t list, char *to, bool *is_cut)
{
	uint32_t count = 0;
	uint64_t at;

	while (count < SYSCALL_COUNT_MAX) {
		if (!read_word(tid, list + 8 * (uint64_t)count, &at))
			return -1;
		if (!at)
			break;
		count++;
	}
	*is_cut = count == SYSCALL_COUNT_MAX;
	memcpy(to, &count, sizeof count);
	return sizeof count;
}

/* rest: bytes of all vectors together. */
static ssize_t read_vectors(pid_t tid, uint64_t list, uint64_t count, uint64_t rest, char *to,
			    bool *is_cut)
{
	size_t n = 0;

	for (; n < SYSCALL_VECTORS && n < count; n++) {
		struct syscall_iovec v = { 0 };
		uint64_t base, left;

		if (!read_word(tid, list + 16 * n, &base) ||
		    !read_word(tid, list + 16 * n + 8, &v.len))
			break;
		left = v.len < rest ? v.len : rest;
		rest -= left;
		v.got = read_memory(tid, base, v.bytes,
				    left < sizeof v.bytes ? (size_t)left : sizeof v.bytes);
		memcpy(to + n * sizeof v, &v, sizeof v);
	}
	*is_cut = count > n;
	return n || !count ? (ssize_t)(n * sizeof(struct syscall_iovec)) : -1;
}

static ssize_t read_message(pid_t tid, uint64_t message, uint64_t rest, char *to, bool *is_cut)
{
	uint64_t list, count;

	if (!read_word(tid, message + offsetof(struct msghdr, msg_iov), &list) ||
	    !read_word(tid, message + offsetof(struct msghdr, msg_iovlen), &count))
		return -1;
	return read_vectors(tid, list, count, rest, to, is_cut);
}

static ssize_t read_bytes(const struct syscall *c, const struct syscall_fetch *f, char *to,
			  bool *is_cut)
{
	size_t want = want_bytes(c, f, is_cut);
	size_t got = read_memory((pid_t)c->tid, c->args[f->arg], to, want);

	if (got == 0 && want > 0)
		return -1;
	if (f->kind == FETCH_STRING) {
		size_t len = strnlen(to, got);

		*is_cut = len == got;
		return (ssize_t)len;
	}
	return (ssize_t)got;
}

static void fetch(struct syscall *c, const struct syscall_fetch *f, char *to)
{
	struct syscall_memory *m = &c->memory[c->memory_count];
	uint64_t from = c->args[f->arg];
	uint64_t rest = !f->unit ? UINT64_MAX : c->ret > 0 ? (uint64_t)c->ret : 0;
	bool is_cut = false;
	ssize_t got;

	if (!from)
		return;
	switch ((enum syscall_fetch_kind)f->kind) {
	case FETCH_STRINGS:
		got = read_strings((pid_t)c->tid, from, to, &is_cut);
		break;
	case FETCH_COUNT:
		got = read_count((pid_t)c->tid, from, to, &is_cut);
		break;
	case FETCH_VECTORS:
		got = read_vectors((pid_t)c->tid, from, c->args[f->arg + 1], rest, to, &is_cut);
		break;
	case FETCH_MESSAGE:
		got = read_message((pid_t)c->tid, from, rest, to, &is_cut);
		break;
	default:
		got = read_bytes(c, f, to, &is_cut);
		break;
	}
	if (got < 0)
		return;
	*m = (struct syscall_memory){
		.arg = f->arg, .is_cut = is_cut, .len = (uint16_t)got, .bytes = to
	};
	c->memory_count++;
}

void syscall_read_memory(struct syscall *c, bool wants_all, bool at_entry,
			 char bytes[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES])
{
	struct syscall_fetch fetches[SYSCALL_FETCHES];
	size_t count = syscall_fetches(c->nr, wants_all, fetches);

	for (size_t i = 0; i < count && syscall_fetches_at_entry(c->nr) == at_entry; i++)
		fetch(c, &fetches[i], bytes[c->memory_count]);
}
