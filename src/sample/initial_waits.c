/* SPDX-License-Identifier: MIT */
#include "sample/initial_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "perf/user_stack.h"
#include "target/proc.h"
#include "target/runloop.h"

#define LINE_MAX_BYTES 1024 /* of the files that are read */

/* Reads one line of a file of the thread; false: unreadable. */
static bool read_line(const char *proc, uint32_t pid, uint32_t tid, const char *name,
		      struct buf *ret)
{
	char path[512];
	struct err e;

	snprintf(path, sizeof path, "%s/%u/task/%u/%s", proc, pid, tid, name);
	buf_clear(ret);
	return file_read_small(path, LINE_MAX_BYTES, ret, &e) == 0 && ret->len > 0;
}

/* "TID (NAME) STATE ..."; the name may hold anything. */
static enum offcpu_state parse_state(const struct buf *stat)
{
	const char *end = strrchr(stat->data, ')');

	switch (end && end[1] ? end[2] : '\0') {
	case 'S':
		return OFFCPU_SLEEPING;
	case 'D':
		return OFFCPU_BLOCKED;
	case 'T':
	case 't':
		return OFFCPU_STOPPED;
	default:
		return OFFCPU_UNKNOWN; /* it runs, or has ended */
	}
}

/* The last two of "NUMBER ARGUMENTS... SP PC" or "-1 SP PC"; false: it runs. */
static bool parse_registers(struct buf *line, uint64_t *ret_sp, uint64_t *ret_pc)
{
	char *pc, *sp;

	if (line->data[line->len - 1] == '\n')
		line->data[line->len - 1] = '\0';
	pc = strrchr(line->data, ' ');
	if (!pc)
		return false;
	*pc++ = '\0';
	sp = strrchr(line->data, ' ');
	*ret_sp = strtoull(sp ? sp + 1 : line->data, NULL, 16);
	*ret_pc = strtoull(pc, NULL, 16);
	return *ret_sp && *ret_pc;
}

size_t initial_waits_read_stack(uint32_t pid, uint64_t sp, unsigned char *to, size_t cap)
{
	size_t have = 0;

	while (have < cap) {
		struct iovec local = { to + have, cap - have };
		struct iovec remote = { (void *)(uintptr_t)(sp + have), cap - have };
		ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

static int read_thread(struct ingest *in, const char *proc, struct record *r, unsigned char *stack,
		       uint32_t stack_bytes)
{
	CLEANUP(buf_fini) struct buf line = { 0 };
	enum offcpu_state state;
	uint64_t registers[2]; /* stack pointer, address: in the order of PERF_REG_* */
	uint64_t sp, pc;

	if (!read_line(proc, r->pid, r->tid, "stat", &line))
		return 0;
	state = parse_state(&line);
	if (state == OFFCPU_UNKNOWN || !read_line(proc, r->pid, r->tid, "syscall", &line) ||
	    !parse_registers(&line, &sp, &pc))
		return 0;
	registers[0] = sp;
	registers[1] = pc;
	r->sample = (struct record_sample){ .ip = pc };
	/* No stack of a 64-bit program is below 4 GiB. */
	r->sample.user.abi = sp >> 32 ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;
	r->sample.user.mask = user_stack_least_regs(user_stack_machine());
	r->sample.user.values =
		(struct record_words){ (const unsigned char *)registers, ARRAY_LEN(registers) };
	r->sample.stack.bytes = stack;
	r->sample.stack.len = initial_waits_read_stack(r->pid, sp, stack, stack_bytes);
	if (!r->sample.stack.len || !r->sample.user.mask)
		r->sample.user = (struct record_regs){ 0 };
	return ingest_initial_wait(in, r, state);
}

int initial_waits_read(struct ingest *in, const char *proc, uint32_t pid, uint64_t time_ns,
		       uint32_t stack_bytes)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_USER,
			    .pid = pid,
			    .time = time_ns };
	unsigned char *stack = malloc(stack_bytes ? stack_bytes : 1);
	int rc;

	if (!stack)
		return -ENOMEM;
	rc = proc_open_threads(proc, pid, &dir);
	while (rc == 0 && proc_next(dir, &r.tid))
		rc = read_thread(in, proc, &r, stack, stack_bytes);
	free(stack);
	return rc;
}

int initial_waits_read_all(struct ingest *in, const char *proc, uint64_t time_ns,
			   uint32_t stack_bytes, struct err *e)
{
	CLEANUP(proc_close) DIR *dir = opendir(proc);
	uint32_t pid;

	if (!dir)
		return err_errno(e, "%s", proc);
	while (!runloop_is_asked_to_end() && proc_next(dir, &pid))
		if (initial_waits_read(in, proc, pid, time_ns, stack_bytes) < 0)
			return err_nomem(e);
	return 0;
}
