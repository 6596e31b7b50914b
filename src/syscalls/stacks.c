/* SPDX-License-Identifier: MIT */
#include "syscalls/stacks.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/clock.h"
#include "sample/initial_waits.h"
#include "sample/python/python.h"
#include "sample/synthesize.h"
#include "symbol/symbolize.h"
#include "syscalls/backends.h"

#define PROC "/proc"
#define FILES_MAX 256 /* kept open */

struct syscall_stacks {
	struct profile *profile;
	struct ingest *ingest;
	struct python *python;
	struct synthesize_sink listener;
	uint32_t leaf;   /* location of the call that is being added */
	bool bad;        /* memory ran out */
	size_t named;    /* locations */
	int64_t rest_ns; /* nothing is named before */
	uint64_t regs[64];
	unsigned char stack[SYSCALL_STACK_BYTES];
};

static uint32_t leaf_of(void *context, const struct record *r)
{
	const struct syscall_stacks *s = context;

	(void)r;
	return s->leaf;
}

static void fetch(void *context, uint32_t pid)
{
	struct syscall_stacks *s = context;

	s->bad |= synthesize_process(&s->listener, PROC, pid) < 0;
}

/* Python functions of threads that are stopped. */
static int open_python(struct python **ret, struct err *e)
{
	return python_new(&(struct python_opts){ .has_stopped_threads = true }, ret, e);
}

bool syscall_stacks_is_python(char *const *argv, const pid_t *pids, size_t pid_count)
{
	struct python *python;
	struct err ignored;
	bool is_python;

	if (open_python(&python, &ignored) < 0)
		return false;
	if (argv)
		python_expect_command(python, argv);
	for (size_t i = 0; i < pid_count; i++)
		python_expect_process(python, pids[i]);
	is_python = python_is_expected(python);
	python_free(python);
	return is_python;
}

int syscall_stacks_new(struct profile *p, bool is_trace, struct syscall_stacks **ret, struct err *e)
{
	static const struct ingest_event event = { "calls", "count", 1 };
	struct syscall_stacks *s = calloc(1, sizeof *s);
	struct ingest_opts o = {
		.dsos = { .profile = p, .proc = PROC, .fd_limit = FILES_MAX },
		.machine = user_stack_machine(),
		.leaf = is_trace ? NULL : leaf_of,
		.leaf_context = s,
		.read_stack = is_trace ? initial_waits_read_stack : NULL,
		.fetch = fetch,
		.context = s,
	};

	if (!s || open_python(&s->python, e) < 0) {
		free(s);
		return err_nomem(e);
	}
	python_use(s->python, p);
	python_begin(s->python);
	o.interp = python_source(s->python);
	s->profile = p;
	s->ingest = ingest_new(&o, &event, 1);
	if (!s->ingest) {
		syscall_stacks_free(s);
		return err_nomem(e);
	}
	s->listener = synthesize_to_ingest(s->ingest);
	*ret = s;
	return 0;
}

void syscall_stacks_free(struct syscall_stacks *s)
{
	if (!s)
		return;
	ingest_free(s->ingest);
	python_free(s->python);
	free(s);
}

static void report_call(struct syscall_stacks *s, struct record *r)
{
	r->time = (uint64_t)clock_mono_ns();
	s->bad |= ingest_record(s->ingest, r, 0) < 0;
}

void syscall_stacks_fork(struct syscall_stacks *s, uint32_t pid, uint32_t tid, uint32_t ppid,
			 uint32_t ptid)
{
	report_call(s, &(struct record){
			       .type = PERF_RECORD_FORK,
			       .task = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid } });
}

void syscall_stacks_exec(struct syscall_stacks *s, uint32_t pid)
{
	report_call(s, &(struct record){ .type = PERF_RECORD_COMM,
					 .misc = PERF_RECORD_MISC_COMM_EXEC,
					 .comm = { .pid = pid, .tid = pid } });
	fetch(s, pid);
}

void syscall_stacks_exit(struct syscall_stacks *s, uint32_t pid, uint32_t tid)
{
	report_call(s, &(struct record){
			       .type = PERF_RECORD_EXIT,
			       .task = { .pid = pid, .tid = tid, .ppid = pid, .ptid = pid } });
}

#if defined(__x86_64__)
/* In the order of PERF_REG_*. */
static uint64_t stack_pointer(const struct user_regs_struct *r, uint64_t by_number[64])
{
	const struct {
		unsigned number;
		uint64_t value;
	} all[] = {
		{ PERF_REG_X86_AX, r->rax },  { PERF_REG_X86_BX, r->rbx },
		{ PERF_REG_X86_CX, r->rcx },  { PERF_REG_X86_DX, r->rdx },
		{ PERF_REG_X86_SI, r->rsi },  { PERF_REG_X86_DI, r->rdi },
		{ PERF_REG_X86_BP, r->rbp },  { PERF_REG_X86_SP, r->rsp },
		{ PERF_REG_X86_IP, r->rip },  { PERF_REG_X86_FLAGS, r->eflags },
		{ PERF_REG_X86_R8, r->r8 },   { PERF_REG_X86_R9, r->r9 },
		{ PERF_REG_X86_R10, r->r10 }, { PERF_REG_X86_R11, r->r11 },
		{ PERF_REG_X86_R12, r->r12 }, { PERF_REG_X86_R13, r->r13 },
		{ PERF_REG_X86_R14, r->r14 }, { PERF_REG_X86_R15, r->r15 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		by_number[all[i].number] = all[i].value;
	return r->rsp;
}
#elif defined(__aarch64__)
static uint64_t stack_pointer(const struct user_regs_struct *r, uint64_t by_number[64])
{
	for (size_t i = 0; i < 31; i++)
		by_number[PERF_REG_ARM64_X0 + i] = r->regs[i];
	by_number[PERF_REG_ARM64_SP] = r->sp;
	by_number[PERF_REG_ARM64_PC] = r->pc;
	return r->sp;
}
#endif

/* Reads registers and stack of the thread; false: it was killed meanwhile. */
static bool read_thread(struct syscall_stacks *s, uint32_t tid, struct record_sample *to)
{
	uint64_t by_number[64] = { 0 }, mask = user_stack_regs(user_stack_machine()), sp;
	struct user_regs_struct regs;
	struct iovec io = { &regs, sizeof regs }, here = { s->stack, sizeof s->stack }, there;
	ssize_t n;
	size_t count = 0;

	if (ptrace(PTRACE_GETREGSET, (pid_t)tid, (void *)NT_PRSTATUS, &io) < 0)
		return false;
	sp = stack_pointer(&regs, by_number);
	for (unsigned i = 0; i < 64; i++)
		if (mask >> i & 1)
			s->regs[count++] = by_number[i];
	there = (struct iovec){ (void *)(uintptr_t)sp, sizeof s->stack }; /* NOLINT */
	n = process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0);
	to->user = (struct record_regs){ .abi = PERF_SAMPLE_REGS_ABI_64,
					 .mask = mask,
					 .values = { (const unsigned char *)s->regs, count } };
	to->stack = (struct record_bytes){ s->stack, n > 0 ? (size_t)n : 0 };
	return true;
}

/* Of the stack at the begin of a call; false: there is none. */
static bool add_sample(struct syscall_stacks *s, const struct syscall *c)
{
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_USER,
			    .has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			    .pid = c->pid,
			    .tid = c->tid };

	r.sample.period = 1;
	if (!read_thread(s, c->tid, &r.sample))
		return false;
	s->bad |= python_settle(s->python) < 0;
	report_call(s, &r);
	return true;
}

void syscall_stacks_begin(struct syscall_stacks *s, const struct syscall *c, const char *name)
{
	s->leaf = profile_name_location(s->profile, name, strlen(name));
	if (add_sample(s, c))
		s->bad |= ingest_poll(s->ingest) < 0 || python_forget(s->python, UINT64_MAX) < 0;
}

uint32_t syscall_stacks_get(struct syscall_stacks *s, const struct syscall *c)
{
	if (!add_sample(s, c))
		return 0;
	s->bad |= ingest_settle(s->ingest) < 0 || python_forget(s->python, UINT64_MAX) < 0;
	return ingest_take_node(s->ingest);
}

void syscall_stacks_end(struct syscall_stacks *s, const struct syscall *c)
{
	if (c->nr == SYS_mmap && c->has_start && c->args[2] & PROT_EXEC && !syscall_error(c))
		fetch(s, c->pid);
}

/* A mapping with names is symbolized once. This one has new code. */
static void reopen_mappings(struct profile *p)
{
	for (uint32_t id = 1; id < profile_mapping_count(p); id++) {
		struct mapping m = *profile_get_mapping(p, id);

		m.has_functions = false;
		profile_set_mapping(p, id, &m);
	}
}

int syscall_stacks_name(struct syscall_stacks *s, bool is_end, bool *ret_done, struct err *e)
{
	size_t count = profile_location_count(s->profile);
	int64_t begin = clock_mono_ns(), end;
	struct symbolize_opts o = { 0 };

	*ret_done = count == s->named;
	if (s->bad || profile_error(s->profile) < 0)
		return err_nomem(e);
	if (*ret_done || (!is_end && begin < s->rest_ns))
		return 0;
	reopen_mappings(s->profile);
	o.files = dsos_files(ingest_dsos(s->ingest));
	if (!o.files || profile_symbolize(s->profile, &o, e) < 0)
		return err_nomem(e);
	end = clock_mono_ns();
	s->named = count;
	s->rest_ns = end + (end - begin);
	*ret_done = true;
	return 0;
}

int syscall_stacks_finish(struct syscall_stacks *s, struct err *e)
{
	const char *const *files;

	if (ingest_finish(s->ingest) < 0 || s->bad)
		profile_fail_nomem(s->profile);
	files = dsos_files(ingest_dsos(s->ingest));
	if (!files)
		profile_fail_nomem(s->profile);
	if (profile_check(s->profile, e) < 0)
		return e->code;
	return profile_symbolize(s->profile, &(struct symbolize_opts){ .files = files }, e);
}
