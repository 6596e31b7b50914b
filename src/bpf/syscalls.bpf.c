/* SPDX-License-Identifier: MIT */
/*
 * syscalls: sums the system calls of traced threads in the kernel, or writes each to a ring.
 *
 * A thread is traced when it has a struct inflight. It gets one at the exec that starts the
 * command, from its parent at fork, or when on_task visits all threads at the start. Tracepoints of
 * calls run with preemption off, so what is per CPU is changed by one program at a time; what is
 * per thread is changed by that thread.
 */
#include "bpf/syscalls.h"
#include "bpf/cells.h"
#include "bpf/fd_path.h"
#include "bpf/kernel.h"
#include "bpf/memory.h"
#include "bpf/registers.h"
#include "bpf/slowest.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile __u32 mode, own_tgid;
const volatile bool is_all;
const volatile bool wants_slowest; /* on_slow_exit is used, not on_exit */
const volatile bool wants_failed;  /* only calls that failed are among the slowest */
/* Set before attaching, and while it runs. */
__u32 command_tgid;
__u32 phase;
__u64 now_ns; /* CALLS_FINISH: the end of recording */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct inflight);
} inflight_calls SEC(".maps");

/* By number: calls that did not fail. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALLS_NUMBERS);
	__type(key, __u32);
	__type(value, struct calls_cell);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct calls_key);
	__type(value, struct calls_cell);
} failures SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct calls_key);
	__type(value, struct calls_cell);
} by_thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct calls_thread_id);
	__type(value, struct calls_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_sums);
} sums SEC(".maps");

/* All zero, never written: the initial value of a new cell. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_cell);
} empty SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_NUMBERS);
	__type(key, __u32);
	__type(value, struct calls_plan);
} plans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} seeds SEC(".maps"); /* processes */

/* Scratch memory for one record. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_event);
} drafts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before loading */
} ring SEC(".maps");

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	struct calls_sums *s = bpf_map_lookup_elem(&sums, &zero);

	if (s)
		s->lost++;
}

static __always_inline struct calls_cell *cell_in(void *map, const struct calls_key *key)
{
	struct calls_cell *c = bpf_map_lookup_elem(map, key), *none;
	__u32 zero = 0;

	if (c)
		return c;
	none = bpf_map_lookup_elem(&empty, &zero);
	if (!none)
		return NULL;
	bpf_map_update_elem(map, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void sum(const struct inflight *d, __u32 nr, bool is_timed, __u64 ns,
				__s64 ret)
{
	struct calls_key key = { .nr = nr };
	struct calls_cell *c;

	if (ret < 0 && ret >= -CALLS_MAX_ERROR)
		key.error = (__s32)-ret;
	if (mode == CALLS_TOTALS) {
		c = key.error || nr >= CALLS_NUMBERS ? cell_in(&failures, &key)
						     : bpf_map_lookup_elem(&totals, &nr);
	} else {
		key.thread = d->id;
		c = cell_in(&by_thread, &key);
	}
	if (c)
		cell_add(c, is_timed, ns);
	else
		count_lost();
}

/* Wakes the reader only when the ring fills: a wake-up costs more than a call. */
static __always_inline __u64 wakes(void)
{
	__u64 size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > size / 4 ? BPF_RB_FORCE_WAKEUP
								      : BPF_RB_NO_WAKEUP;
}

static __always_inline struct calls_event *draft(__u32 kind, const struct calls_thread_id *id)
{
	__u32 zero = 0;
	struct calls_event *ev = bpf_map_lookup_elem(&drafts, &zero);

	if (!ev)
		return NULL;
	ev->kind = kind;
	ev->pid = id->pid;
	ev->tid = id->tid;
	ev->memory.count = 0;
	return ev;
}

static __always_inline void put(struct calls_event *ev, __u32 bytes)
{
	__u64 len = __builtin_offsetof(struct calls_event, memory.bytes) + bytes;

	if (len > sizeof *ev)
		len = sizeof *ev;
	if (bpf_ringbuf_output(&ring, ev, len, wakes()) < 0)
		count_lost();
}

/* A record of fork, exec or exit. */
static __always_inline void put_thread(__u32 kind, const struct calls_thread_id *id,
				       struct task_struct *task, __u32 other, __u64 now)
{
	struct calls_event *ev = draft(kind, id);

	if (!ev)
		return;
	ev->nr = other;
	ev->end_ns = now;
	ev->ret = task->exit_code;
	bpf_probe_read_kernel(ev->memory.bytes, CALLS_COMM, task->comm);
	put(ev, CALLS_COMM);
}

static __always_inline void set_call(struct calls_event *ev, const struct inflight *d, __u32 nr,
				     __u32 has, __u64 now, __s64 ret, const struct calls_plan *plan,
				     bool can_read)
{
	ev->nr = nr;
	ev->has = has;
	ev->start_ns = d->start_ns;
	ev->end_ns = now;
	ev->ret = ret;
	for (int i = 0; i < 6; i++)
		ev->args[i] = d->args[i];
	ev->memory.len = 0;
	if (plan && can_read && has & CALLS_HAS_START &&
	    !take_entry_memory(&ev->memory, d, plan, ret))
		read_parts(&ev->memory, d, plan, ret);
}

static __always_inline void put_call(const struct inflight *d, __u32 nr, __u32 has, __u64 now,
				     __s64 ret, bool can_read)
{
	struct calls_plan *plan = bpf_map_lookup_elem(&plans, &nr);
	struct calls_event *ev;

	if (plan && plan->is_unwanted)
		return;
	ev = draft(CALLS_CALL, &d->id);
	if (!ev)
		return;
	set_call(ev, d, nr, has, now, ret, plan, can_read);
	put(ev, ev->memory.len);
}

/* Reports a call whose thread or recording ended before it. */
static __always_inline void cut_call(struct inflight *d, bool can_read)
{
	if (!d->is_in_call)
		return;
	d->is_in_call = false;
	if (mode == CALLS_EVENTS)
		put_call(d, d->nr, d->start_ns ? CALLS_HAS_START : 0, 0, 0, can_read);
	else
		sum(d, d->nr, false, 0, 0);
}

/* Keeps a call that took longer than slow_ns. */
static __always_inline void keep_slow(struct inflight *d, struct pt_regs *regs, __u32 nr, __u64 now,
				      __s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct calls_plan *plan = bpf_map_lookup_elem(&plans, &nr);
	__u64 took = now - d->start_ns, ns, next;
	struct calls_slow *s;

	if ((plan && plan->is_unwanted) || (wants_failed && (ret >= 0 || ret < -CALLS_MAX_ERROR)))
		return;
	s = slowest_slot(&ns, &next);
	if (!s || took <= ns)
		return;
	if (!d->has_args)
		take_args(d, regs);
	s->event.kind = CALLS_CALL;
	s->event.pid = d->id.pid;
	s->event.tid = d->id.tid;
	s->event.memory.count = 0;
	bpf_probe_read_kernel(s->comm, sizeof s->comm, task->comm);
	set_call(&s->event, d, nr, CALLS_HAS_START | CALLS_HAS_END, now, ret, plan, true);
	if (plan)
		read_fd_paths(&s->event.memory, d, plan);
	slowest_raise(took < next ? took : next);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct calls_plan *plan;
	__u32 number;

	if (!d)
		return 0;
	number = marked((__u32)nr, task);
	d->nr = number;
	d->is_in_call = true;
	d->is_new = false;
	if (mode == CALLS_EVENTS || wants_slowest) {
		plan = bpf_map_lookup_elem(&plans, &number);
		d->has_args = plan && plan->at_entry;
		if (mode == CALLS_EVENTS || d->has_args)
			take_args(d, regs);
		if (plan && d->has_args)
			read_at_entry(d, plan);
	}
	d->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* A call that ends: of which thread, its number and time. is_whole: it began while it was traced.
 */
struct ended {
	struct inflight *d; /* NULL: not traced, or no call */
	__u64 now;
	__u32 nr;
	bool is_whole;
};

static __always_inline struct ended end_call(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct ended c = { .now = bpf_ktime_get_ns() };

	if (!d)
		return c;
	c.is_whole = d->is_in_call && d->start_ns;
	c.nr = d->is_in_call ? d->nr : number_of(regs, task);
	d->is_in_call = false;
	if (d->is_new)
		d->is_new = false;
	else
		c.d = d;
	return c;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long ret)
{
	struct ended c = end_call(regs);

	if (!c.d)
		return 0;
	if (mode == CALLS_EVENTS)
		put_call(c.d, c.nr, CALLS_HAS_END | (c.is_whole ? CALLS_HAS_START : 0), c.now, ret,
			 true);
	else
		sum(c.d, c.nr, c.is_whole, c.now - c.d->start_ns, ret);
	return 0;
}

/* Instead of on_exit: sums a call, and keeps it when it is slow. Its arguments are still in the
 * registers, unless it replaced them. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_slow_exit, struct pt_regs *regs, long ret)
{
	struct ended c = end_call(regs);
	__u64 ns;
	__u32 tid;

	if (!c.d)
		return 0;
	ns = c.now - c.d->start_ns;
	sum(c.d, c.nr, c.is_whole, ns, ret);
	if (c.is_whole && ns > slow_ns)
		keep_slow(c.d, regs, c.nr, c.now, ret);
	if (c.d->has_args) {
		tid = c.d->id.tid;
		bpf_map_delete_elem(&entry_memory, &tid);
		c.d->has_args = false;
	}
	return 0;
}

static __always_inline struct calls_thread_id id_of(struct task_struct *task)
{
	return (struct calls_thread_id){ .start = task->start_time,
					 .tid = (__u32)task->pid,
					 .pid = (__u32)task->tgid };
}

static __always_inline void note_thread(const struct inflight *d, struct task_struct *task,
					__u64 end_ns)
{
	struct calls_thread t = { .start_ns = d->since_ns,
				  .end_ns = end_ns,
				  .process_start = task->group_leader->start_time };
	struct calls_thread *known;

	if (mode != CALLS_THREADS)
		return;
	known = bpf_map_lookup_elem(&threads, &d->id);
	if (known)
		t.start_ns = known->start_ns;
	bpf_probe_read_kernel(t.comm, sizeof t.comm, task->comm);
	if (bpf_map_update_elem(&threads, &d->id, &t, BPF_ANY) < 0)
		count_lost();
}

static __always_inline void begin(struct task_struct *task, __u32 parent, bool is_new)
{
	struct inflight *d =
		bpf_task_storage_get(&inflight_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!d) {
		count_lost();
		return;
	}
	if (d->id.tid)
		return;
	d->id = id_of(task);
	d->since_ns = bpf_ktime_get_ns();
	d->is_new = is_new;
	note_thread(d, task, 0);
	if (mode == CALLS_EVENTS)
		put_thread(CALLS_FORK, &d->id, task, parent, d->since_ns);
}

/* is_superseded: CALLS_EVENTS, see bpf/syscalls.h. */
static __always_inline void end(struct inflight *d, struct task_struct *task, __u64 now,
				bool can_read, bool is_superseded)
{
	__u32 zero = 0;
	struct calls_sums *s = bpf_map_lookup_elem(&sums, &zero);

	cut_call(d, can_read);
	note_thread(d, task, now);
	if (s) {
		s->wall_ns += now - d->since_ns;
		s->threads++;
	}
	if (mode == CALLS_EVENTS && can_read)
		put_thread(CALLS_EXIT, &d->id, task, is_superseded, now);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct inflight *d = bpf_task_storage_get(&inflight_calls, parent, NULL, 0);

	if (d)
		begin(child, (__u32)parent->pid, true);
	else if (is_all && parent->tgid != (int)own_tgid)
		begin(child, 0, true);
	return 0;
}

/* A thread that was not the first of its process is now, and goes on with what was summed of
 * that. */
static __always_inline void become_first(struct inflight *d, struct task_struct *task, __u64 now)
{
	struct calls_thread *first;
	__u32 zero = 0;
	struct calls_sums *s = bpf_map_lookup_elem(&sums, &zero);

	note_thread(d, task, now);
	if (s)
		s->wall_ns += now - d->since_ns;
	d->since_ns = now;
	d->id = id_of(task);
	first = mode == CALLS_THREADS ? bpf_map_lookup_elem(&threads, &d->id) : NULL;
	if (first)
		first->end_ns = 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct calls_thread_id before;
	__u64 now = bpf_ktime_get_ns();

	if (!d && (__u32)task->tgid == command_tgid) {
		begin(task, 0, false);
		return 0;
	}
	if (!d)
		return 0;
	before = d->id;
	if (before.tid != (__u32)task->pid)
		become_first(d, task, now);
	if (mode == CALLS_EVENTS)
		put_thread(CALLS_EXEC, &d->id, task, before.tid, now);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *task)
{
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);

	if (d)
		end(d, task, bpf_ktime_get_ns(), true, false);
	return 0;
}

/* Instead of on_end for traces. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_traced_end, struct task_struct *task)
{
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct signal_struct *signal = task->signal;
	struct signal_struct___old *old = (void *)signal;
	struct task_struct *of_exec;

	if (!d)
		return 0;
	if (bpf_core_field_exists(signal->group_exec_task))
		of_exec = BPF_CORE_READ(signal, group_exec_task);
	else
		of_exec = BPF_CORE_READ(old, group_exit_task);
	end(d, task, bpf_ktime_get_ns(), true, of_exec && task->pid == task->tgid);
	return 0;
}

/* That a SIGKILL ends a thread is seen at its end. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int signal, void *info)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct calls_event *ev = d && info ? draft(CALLS_SIGNAL, &d->id) : NULL;

	if (!ev)
		return 0;
	ev->end_ns = bpf_ktime_get_ns();
	if (bpf_probe_read_kernel(ev->memory.bytes, CALLS_SIGINFO_BYTES, info) == 0)
		put(ev, CALLS_SIGINFO_BYTES);
	return 0;
}

/* The call that a thread is in when recording begins. */
static __always_inline void find_call(struct task_struct *task)
{
	struct inflight *d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 nr = number_of(regs, task);

	if (!d || d->is_in_call || !task->__state || nr >= CALLS_NUMBERS)
		return;
	d->nr = nr;
	d->is_in_call = true;
}

/* Visits all threads: at the start it begins to trace those of the given processes; at the end it
 * ends those that still run. */
SEC("iter/task")
int on_task(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct inflight *d;
	__u32 tgid;

	if (!task)
		return 0;
	if (phase == CALLS_FINISH) {
		d = bpf_task_storage_get(&inflight_calls, task, NULL, 0);
		if (d)
			end(d, task, now_ns, false, false);
		return 0;
	}
	tgid = (__u32)task->tgid;
	if (tgid == own_tgid || task->flags & PF_KTHREAD)
		return 0;
	if (!is_all && !bpf_map_lookup_elem(&seeds, &tgid))
		return 0;
	begin(task, 0, false);
	find_call(task);
	return 0;
}
