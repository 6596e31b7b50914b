/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "inject/inside_internal.h"
#include "target/proc.h"

#define PAGE UINT64_C(4096)
/* Calls that each thread's lists have besides those that are asked for. */
#define OWN_CALLS 16

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Where the kernel has put the vdso; 0: nowhere. */
static uint64_t find_vdso(pid_t pid)
{
	char path[PROC_PATH];
	Elf64_auxv_t aux[64] = { { 0 } };

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	file_read_start(path, (char *)aux, sizeof aux);
	for (size_t i = 0; i < ARRAY_LEN(aux) && aux[i].a_type != AT_NULL; i++)
		if (aux[i].a_type == AT_SYSINFO_EHDR)
			return aux[i].a_un.a_val;
	return 0;
}

/*
 * Room for the first slot, which makes the memory for all else: the page that the vdso's code ends
 * in, behind all that is loaded of it. It is there, executable, in every program, and not in use.
 */
static int find_stub(struct inside *in, struct err *e)
{
	uint64_t vdso = find_vdso(in->pid), end = 0;
	Elf64_Ehdr head;
	Elf64_Phdr segments[16];

	if (!vdso || inside_read(in, vdso, &head, sizeof head) < 0 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phnum > ARRAY_LEN(segments) ||
	    inside_read(in, vdso + head.e_phoff, segments, head.e_phnum * sizeof *segments) < 0)
		return err_set(e, -ENOTSUP, "process %d has no vdso of 64-bit code", (int)in->pid);
	for (size_t i = 0; i < head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	in->stub = (vdso + end + 15) & ~UINT64_C(15);
	if (whole_pages(vdso + end) - in->stub < arch_slot_bytes())
		return err_set(e, -ENOTSUP, "no room behind the vdso of process %d", (int)in->pid);
	return 0;
}

/* The first slot for w, over what was there. */
static int write_stub(struct inside *in, const struct worker *w, struct err *e)
{
	size_t len = arch_slot_bytes();
	unsigned char *slot = malloc(len);
	int rc = 0;

	in->behind = malloc(len);
	if (!slot || !in->behind) {
		free(slot);
		return err_nomem(e);
	}
	worker_fill_slot(w, slot);
	rc = inside_read(in, in->stub, in->behind, len);
	if (rc == 0)
		rc = inside_write(in, in->stub, slot, len);
	free(slot);
	if (rc < 0)
		return err_set(e, rc, "memory of process %d: %s", (int)in->pid, strerror(-rc));
	return 0;
}

static int call_stub(struct inside *in, const char *what, long nr, const uint64_t arg[6],
		     uint64_t *ret, struct err *e)
{
	int64_t result;

	if (worker_call_once(&inside_member_at(in, 0)->w, in->stub, nr, arg, &result, e) < 0)
		return e->code;
	if (result < 0 && result > -4096)
		return err_set(e, (int)result, "process %d: %s inside: %s", (int)in->pid, what,
			       strerror((int)-result));
	*ret = (uint64_t)result;
	return 0;
}

/* The memory: slots that may only be executed, then heads, lists and data. */
static int map_region(struct inside *in, size_t threads, size_t call_limit, size_t data_bytes,
		      struct err *e)
{
	uint64_t slots = whole_pages(threads * inside_slot_room());
	uint64_t heads = threads * sizeof(struct arch_head) + 64;
	uint64_t calls = (call_limit + threads * OWN_CALLS) * sizeof(struct arch_call), ignored;

	in->region_bytes = slots + whole_pages(heads + calls + data_bytes) + PAGE;
	if (call_stub(in, "mmap", SYS_mmap,
		      (uint64_t[]){ 0, in->region_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 },
		      &in->region, e) < 0 ||
	    call_stub(in, "mprotect", SYS_mprotect,
		      (uint64_t[]){ in->region, slots, PROT_READ | PROT_EXEC, 0, 0, 0 }, &ignored,
		      e) < 0)
		return e->code;
	in->slots = in->region;
	in->done = in->region + slots;
	in->heads = in->done + 64;
	in->calls = in->region + slots + heads;
	in->calls_end = in->data = in->calls + calls;
	in->data_end = in->region + in->region_bytes - PAGE;
	return 0;
}

/* What a thread does that has nothing to do: it waits for the one that has. */
static int write_wait(struct inside *in, uint64_t *ret_at, struct err *e)
{
	struct list l = list_begin(in);

	*ret_at = l.at;
	list_wait(&l, in->done);
	list_add(&l, &(struct inside_call){ .nr = ARCH_LEAVE });
	return list_end(&l, e);
}

static void place_member(struct inside *in, size_t i, uint64_t wait_at, unsigned char *slot,
			 struct arch_head *head)
{
	struct member *m = inside_member_at(in, i);

	m->w.slot = in->slots + i * inside_slot_room();
	m->head = in->heads + i * sizeof *head;
	*head = (struct arch_head){ .gate = m->head + offsetof(struct arch_head, own_gate),
				    .at = { wait_at, wait_at, wait_at },
				    .own_gate = INSIDE_BACK };
	worker_fill_slot(&m->w, slot);
}

/* Slots and heads for all threads. */
static int place_members(struct inside *in, struct err *e)
{
	size_t count = in->members.count, room = inside_slot_room();
	unsigned char *slots = calloc(count, room);
	struct arch_head *heads = calloc(count, sizeof *heads);
	uint64_t wait_at = 0;
	int rc = slots && heads ? write_wait(in, &wait_at, e) : err_nomem(e);

	if (rc == 0) {
		for (size_t i = 0; i < count; i++)
			place_member(in, i, wait_at, slots + i * room, &heads[i]);
		rc = inside_write(in, in->slots, slots, count * room);
		if (rc == 0)
			rc = inside_write(in, in->heads, heads, count * sizeof *heads);
		if (rc < 0)
			err_set(e, rc, "memory of process %d: %s", (int)in->pid, strerror(-rc));
	}
	free(slots);
	free(heads);
	return rc;
}

/* The threads of pid: [*ret_first .. *ret_first + the count returned). */
static size_t find_threads(struct hold *h, pid_t pid, size_t *ret_first)
{
	size_t count, n = 0;
	const struct hold_thread *t = hold_threads(h, &count);

	for (size_t i = 0; i < count; i++)
		if (t[i].pid == pid && n++ == 0)
			*ret_first = i;
	return n;
}

static int add_member(struct inside *in, pid_t tid, int signal, struct err *e)
{
	struct worker w;
	struct member *m;

	if (worker_init(&w, in->pid, tid, in->memory, signal, e) < 0)
		return e->code;
	m = rows_add(&in->members, sizeof *m);
	if (!m)
		return err_nomem(e);
	m->w = w;
	return 0;
}

/* What worker_leave() puts back need not be read again when the thread is let go. */
static bool is_settled(const struct worker *w)
{
	struct arch_regs copy = w->was;

	return !arch_remake_call(&copy);
}

/* In a namespace of processes of its own (a container) a thread has other numbers for itself. */
static void name_members(struct inside *in)
{
	pid_t pid = proc_inner_pid(in->pid);

	for (size_t i = 0; pid && i < in->members.count; i++) {
		struct worker *w = &inside_member_at(in, i)->w;

		w->home.pid = pid;
		w->home.tid = proc_inner_pid(w->tid);
	}
}

/* All threads of the process: the first makes the calls. */
static int take_threads(struct inside *in, size_t *ret_count, struct err *e)
{
	size_t first = 0, count = find_threads(in->hold, in->pid, &first), ignored;
	struct hold_thread *t = hold_threads(in->hold, &ignored) + first;
	int signal = worker_choose_signal(in->pid);

	*ret_count = count;
	if (count == 0)
		return err_set(e, -ESRCH, "process %d is not held", (int)in->pid);
	for (size_t i = 0; i < count; i++) {
		if (t[i].is_filtered)
			return err_set(e, -ENOTSUP,
				       "process %d has a seccomp filter that cannot be suspended",
				       (int)in->pid);
		if (add_member(in, t[i].tid, signal, e) < 0)
			return e->code;
		t[i].is_settled = is_settled(&inside_member_at(in, i)->w);
	}
	name_members(in);
	return 0;
}

static int open_all(struct inside *in, size_t call_limit, size_t data_bytes, struct err *e)
{
	char path[PROC_PATH];
	size_t threads;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)in->pid);
	in->memory = open(path, O_RDWR | O_CLOEXEC);
	if (in->memory < 0)
		return err_errno(e, "%s", path);
	if (take_threads(in, &threads, e) < 0 || find_stub(in, e) < 0 ||
	    write_stub(in, &inside_member_at(in, 0)->w, e) < 0 ||
	    map_region(in, threads, call_limit, data_bytes, e) < 0)
		return e->code;
	if (place_members(in, e) < 0)
		return e->code;
	inside_plan_first(in);
	return 0;
}

uint64_t inside_page(const struct inside *in)
{
	return in->data_end;
}

int inside_open(struct inside **ret, struct hold *h, pid_t pid, size_t call_limit,
		size_t data_bytes, struct err *e)
{
	struct inside *in = calloc(1, sizeof *in);

	if (!in)
		return err_nomem(e);
	in->hold = h;
	in->pid = pid;
	in->memory = -1;
	if (open_all(in, call_limit, data_bytes, e) < 0) {
		inside_close(in);
		return e->code;
	}
	*ret = in;
	return 0;
}

/* The memory goes by the stub, whose memory stays. */
static void unmap_region(struct inside *in)
{
	struct err ignored;
	uint64_t zero;

	if (in->region)
		(void)!call_stub(in, "munmap", SYS_munmap,
				 (uint64_t[]){ in->region, in->region_bytes, 0, 0, 0, 0 }, &zero,
				 &ignored);
}

void inside_close(struct inside *in)
{
	if (!in)
		return;
	for (size_t i = 1; i < in->members.count; i++)
		worker_leave(&inside_member_at(in, i)->w);
	if (in->members.count) {
		inside_go_normal(in);
		unmap_region(in);
		worker_leave(&inside_member_at(in, 0)->w);
	}
	if (in->behind)
		(void)!inside_write(in, in->stub, in->behind, arch_slot_bytes());
	for (size_t i = 0; i < in->members.count; i++) {
		struct member *m = inside_member_at(in, i);

		rows_fini(&m->go);
		rows_fini(&m->go_undo);
		rows_fini(&m->finish);
	}
	if (in->memory >= 0)
		close(in->memory);
	free(in->behind);
	rows_fini(&in->members);
	rows_fini(&in->steps);
	rows_fini(&in->results);
	rows_fini(&in->undo);
	rows_fini(&in->back_end);
	free(in);
}
