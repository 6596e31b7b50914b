/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "inject/remote_internal.h"
#include "target/proc.h"

#define PAGE proc_page_bytes()
/* Calls that each thread's lists need in addition to the requested ones. */
#define OWN_CALLS 16

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* The address of the vdso; 0: none. */
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
 * Space for the first trampoline, which maps the memory for everything else: the end of the last
 * page of the vdso's code. Every program has that page, it is executable, and its end is unused.
 */
static int find_bootstrap(struct remote *r, struct err *e)
{
	uint64_t vdso = find_vdso(r->pid), end = 0;
	Elf64_Ehdr control;
	Elf64_Phdr segments[16];

	if (!vdso || remote_read(r, vdso, &control, sizeof control) < 0 ||
	    memcmp(control.e_ident, ELFMAG, SELFMAG) != 0 ||
	    control.e_ident[EI_CLASS] != ELFCLASS64 || control.e_phnum > ARRAY_LEN(segments) ||
	    remote_read(r, vdso + control.e_phoff, segments, control.e_phnum * sizeof *segments) <
		    0)
		return err_set(e, -ENOTSUP, "process %d has no vdso of 64-bit code", (int)r->pid);
	for (size_t i = 0; i < control.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	r->bootstrap = (vdso + end + 15) & ~UINT64_C(15);
	if (whole_pages(vdso + end) - r->bootstrap < arch_trampoline_bytes())
		return err_set(e, -ENOTSUP, "the vdso of process %d has no space for a trampoline",
			       (int)r->pid);
	return 0;
}

/* A tracer that was killed has used the same place, and a thread may not have left it yet. */
static int leave_bootstrap(struct remote *r, struct err *e)
{
	size_t len = arch_trampoline_bytes();
	unsigned char *bytes = malloc(len);
	int rc = bytes ? remote_read(r, r->bootstrap, bytes, len) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < r->members.count; i++) {
		struct remote_thread *w = &remote_member_at(r, i)->w;

		if (arch_ip(&w->saved) - r->bootstrap < len)
			remote_thread_leave(w, bytes);
	}
	free(bytes);
	return rc < 0 ? remote_memory_error(r, rc, e) : 0;
}

/* Writes the first trampoline and saves what it overwrites. */
static int write_bootstrap(struct remote *r, const struct remote_thread *w, struct err *e)
{
	size_t len = arch_trampoline_bytes();
	unsigned char *trampoline = malloc(len);
	int rc = 0;

	r->overwritten = malloc(len);
	if (!trampoline || !r->overwritten) {
		free(trampoline);
		return err_nomem(e);
	}
	remote_thread_fill_trampoline(w, trampoline);
	rc = remote_read(r, r->bootstrap, r->overwritten, len);
	if (rc == 0)
		rc = remote_write(r, r->bootstrap, trampoline, len);
	free(trampoline);
	if (rc < 0)
		return remote_memory_error(r, rc, e);
	return 0;
}

static int call_bootstrap(struct remote *r, const char *what, long nr, const uint64_t arg[6],
			  uint64_t *ret, struct err *e)
{
	int64_t result;

	if (remote_thread_call_once(&remote_member_at(r, 0)->w, r->bootstrap, nr, arg, &result, e) <
	    0)
		return e->code;
	if (result < 0 && result > -4096)
		return err_set(e, (int)result, "process %d: remote %s: %s", (int)r->pid, what,
			       strerror((int)-result));
	*ret = (uint64_t)result;
	return 0;
}

/* Maps the memory: execute-only trampolines, then control blocks, lists and data. */
static int map_region(struct remote *r, size_t threads, size_t call_limit, size_t data_bytes,
		      struct err *e)
{
	uint64_t trampolines = whole_pages(threads * remote_trampoline_bytes());
	uint64_t controls = threads * sizeof(struct arch_control) + 64;
	uint64_t calls = (call_limit + threads * OWN_CALLS) * sizeof(struct arch_call), ignored;

	r->region_bytes = trampolines + whole_pages(controls + calls + data_bytes) + PAGE;
	if (call_bootstrap(r, "mmap", SYS_mmap,
			   (uint64_t[]){ 0, r->region_bytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1,
					 0 },
			   &r->region, e) < 0 ||
	    call_bootstrap(r, "mprotect", SYS_mprotect,
			   (uint64_t[]){ r->region, trampolines, PROT_READ | PROT_EXEC, 0, 0, 0 },
			   &ignored, e) < 0)
		return e->code;
	r->trampolines = r->region;
	r->done = r->region + trampolines;
	r->controls = r->done + 64;
	r->calls = r->region + trampolines + controls;
	r->calls_end = r->data = r->calls + calls;
	r->data_end = r->region + r->region_bytes - PAGE;
	return 0;
}

/* The list of a thread without calls: it waits for the first thread. */
static int write_wait(struct remote *r, uint64_t *ret_at, struct err *e)
{
	struct call_list l = call_list_begin(r);

	*ret_at = l.at;
	call_list_wait(&l, r->done);
	call_list_add(&l, &(struct remote_call){ .nr = ARCH_RESUME });
	return call_list_write(&l, e);
}

/* The same for a spare thread, which also ends if the first thread never enters its lists. */
static int write_spare_wait(struct remote *r, uint64_t *ret_at, struct err *e)
{
	const struct timespec timeout = { .tv_sec = 1 };
	struct call_list l = call_list_begin(r);

	*ret_at = l.at;
	r->timeout = remote_put(r, &timeout, sizeof timeout);
	call_list_wait_briefly(&l, r->done);
	call_list_add(&l, &(struct remote_call){ .nr = SYS_exit });
	return call_list_write(&l, e);
}

static void init_member(struct remote *r, size_t i, uint64_t wait_at, unsigned char *trampoline,
			struct arch_control *control)
{
	struct remote_member *m = remote_member_at(r, i);

	m->w.trampoline = r->trampolines + i * remote_trampoline_bytes();
	m->control = r->controls + i * sizeof *control;
	*control =
		(struct arch_control){ .flag = m->control + offsetof(struct arch_control, own_flag),
				       .at = { wait_at, wait_at, wait_at },
				       .own_flag = REMOTE_ROLLBACK };
	remote_thread_fill_trampoline(&m->w, trampoline);
}

/* Writes trampolines and control blocks for all threads. */
static int init_members(struct remote *r, struct err *e)
{
	size_t count = r->members.count, step = remote_trampoline_bytes();
	unsigned char *trampolines = calloc(count, step);
	struct arch_control *controls = calloc(count, sizeof *controls);
	uint64_t wait_at = 0, spare_wait_at = 0;
	int rc = trampolines && controls ? write_wait(r, &wait_at, e) : err_nomem(e);

	if (rc == 0 && r->spares)
		rc = write_spare_wait(r, &spare_wait_at, e);
	if (rc == 0) {
		for (size_t i = 0; i < count; i++)
			init_member(r, i,
				    remote_member_at(r, i)->is_spare ? spare_wait_at : wait_at,
				    trampolines + i * step, &controls[i]);
		rc = remote_write(r, r->trampolines, trampolines, count * step);
		if (rc == 0)
			rc = remote_write(r, r->controls, controls, count * sizeof *controls);
		if (rc < 0)
			remote_memory_error(r, rc, e);
	}
	free(trampolines);
	free(controls);
	return rc;
}

/* The threads of pid: rows [*ret_first .. *ret_first + the returned count). */
static size_t find_threads(struct freeze *h, pid_t pid, size_t *ret_first)
{
	size_t count, n = 0;
	const struct tracee *t = freeze_tracees(h, &count);

	for (size_t i = 0; i < count; i++)
		if (t[i].pid == pid && n++ == 0)
			*ret_first = i;
	return n;
}

static int add_member(struct remote *r, pid_t tid, int signal, struct err *e)
{
	struct remote_thread w;
	struct remote_member *m;

	if (remote_thread_init(&w, r->pid, tid, r->memory, signal, e) < 0)
		return e->code;
	m = rows_add(&r->members, sizeof *m);
	if (!m)
		return err_nomem(e);
	m->w = w;
	return 0;
}

/* Then remote_thread_restore() sets registers that tracee_detach() need not read again. */
static bool needs_no_restart(const struct remote_thread *w)
{
	struct arch_regs copy = w->saved;

	return !arch_restart_call(&copy);
}

/* In a pid namespace of its own (a container) a thread has other ids for itself. */
static void set_member_ids(struct remote *r)
{
	pid_t pid = proc_inner_pid(r->pid);

	for (size_t i = 0; pid && i < r->members.count; i++) {
		struct remote_thread *w = &remote_member_at(r, i)->w;

		w->resume.pid = pid;
		w->resume.tid = proc_inner_pid(w->tid);
	}
}

/* All threads of the process; the first makes the calls. */
static int take_threads(struct remote *r, size_t *ret_count, struct err *e)
{
	size_t first = 0, count = find_threads(r->freeze, r->pid, &first), ignored;
	struct tracee *t = freeze_tracees(r->freeze, &ignored) + first;
	int signal = remote_thread_choose_signal(r->pid);

	*ret_count = count;
	if (count == 0)
		return err_set(e, -ESRCH, "process %d is not frozen", (int)r->pid);
	for (size_t i = 0; i < count; i++) {
		if (t[i].is_filtered)
			return err_set(e, -ENOTSUP,
				       "process %d has a seccomp filter that cannot be suspended",
				       (int)r->pid);
		if (add_member(r, t[i].tid, signal, e) < 0)
			return e->code;
		t[i].needs_no_restart = needs_no_restart(&remote_member_at(r, i)->w);
	}
	set_member_ids(r);
	return 0;
}

/* A spare thread that runs waits in its lists from now on. */
static int enter_spares(struct remote *r, struct err *e)
{
	for (size_t i = r->members.count - r->spares; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		if (remote_thread_enter_lists(&m->w, m->w.trampoline, m->control, e) < 0)
			return e->code;
	}
	return 0;
}

static int open_all(struct remote *r, size_t call_limit, size_t data_bytes, size_t spares,
		    struct err *e)
{
	char path[PROC_PATH];
	size_t threads;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)r->pid);
	r->memory = open(path, O_RDWR | O_CLOEXEC);
	if (r->memory < 0)
		return err_errno(e, "%s", path);
	if (take_threads(r, &threads, e) < 0 || find_bootstrap(r, e) < 0 ||
	    leave_bootstrap(r, e) < 0)
		return e->code;
	remote_plan_priority(&remote_member_at(r, 0)->w);
	if (write_bootstrap(r, &remote_member_at(r, 0)->w, e) < 0 ||
	    map_region(r, threads + spares, call_limit, data_bytes, e) < 0 ||
	    remote_make_spares(r, spares, e) < 0)
		return e->code;
	if (init_members(r, e) < 0 || enter_spares(r, e) < 0)
		return e->code;
	return 0;
}

uint64_t remote_page(const struct remote *r)
{
	return r->data_end;
}

int remote_open(struct remote **ret, struct freeze *h, pid_t pid, size_t call_limit,
		size_t data_bytes, size_t spares, struct err *e)
{
	struct remote *r = calloc(1, sizeof *r);

	if (!r)
		return err_nomem(e);
	r->freeze = h;
	r->pid = pid;
	r->memory = -1;
	if (open_all(r, call_limit, data_bytes, spares, e) < 0) {
		remote_close(r);
		return e->code;
	}
	*ret = r;
	return 0;
}

/* The bootstrap trampoline unmaps the region, because it is not part of it. */
static void unmap_region(struct remote *r)
{
	struct err ignored;
	uint64_t zero;

	if (r->stack)
		(void)!call_bootstrap(r, "munmap", SYS_munmap,
				      (uint64_t[]){ r->stack, remote_stack_bytes(), 0, 0, 0, 0 },
				      &zero, &ignored);
	if (r->region)
		(void)!call_bootstrap(r, "munmap", SYS_munmap,
				      (uint64_t[]){ r->region, r->region_bytes, 0, 0, 0, 0 }, &zero,
				      &ignored);
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	for (size_t i = 1; i + r->spares < r->members.count; i++)
		remote_thread_restore(&remote_member_at(r, i)->w);
	if (r->members.count) {
		if (remote_end_spares(r))
			unmap_region(r);
		remote_thread_restore(&remote_member_at(r, 0)->w);
	}
	if (r->overwritten)
		(void)!remote_write(r, r->bootstrap, r->overwritten, arch_trampoline_bytes());
	for (size_t i = 0; i < r->members.count; i++) {
		struct remote_member *m = remote_member_at(r, i);

		rows_fini(&m->apply);
		rows_fini(&m->apply_undo);
		rows_fini(&m->finish);
		rows_fini(&m->undo);
	}
	if (r->memory >= 0)
		close(r->memory);
	free(r->overwritten);
	rows_fini(&r->members);
	rows_fini(&r->steps);
	rows_fini(&r->results);
	rows_fini(&r->undo);
	rows_fini(&r->rollback_end);
	free(r);
}
