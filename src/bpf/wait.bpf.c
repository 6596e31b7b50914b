/* SPDX-License-Identifier: MIT */
/*
 * wait: sums off-CPU time by thread, stack and state.
 *
 * The kernel cannot unwind libraries without frame pointers, so user space unwinds a copy of the
 * stack. Sending a copy once and then only adding times is correct as long as equal keys mean equal
 * stacks. So the key hashes all that unwinding depends on: the registers; in the copy, the words
 * that may be addresses of code (return addresses) or of the stack (saved registers), and their
 * places; the length of the copy; the frame-pointer chain beyond it; and the mappings. Other words
 * are skipped, because counters and lengths differ each time. Words that only look like addresses
 * make more keys, but no wrong ones. Python frames, which lie elsewhere, are a part of the key,
 * too; they are sent before the stack.
 *
 * A kernel may leave out switches: in a Firecracker VM (6.18.44), those away from one thread never
 * reach the tracepoint, so that the thread that runs next is not seen to return. Its CPU time gives
 * the moment all the same.
 */
#include "bpf/wait.h"
#include "bpf/kernel.h"
#include "bpf/mix.h"
#include "bpf/python_walk.h"
#include "bpf/wait_hash.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

/* Settings. */
const volatile bool follows_all, has_kernel, has_frame_pointers, has_copies, has_cpu, has_python;
const volatile bool has_times;  /* pieces are sent */
const volatile __u64 ring_full; /* bytes */
const volatile int own_pid;     /* excluded from follows_all */

/* Set by user space before it runs on_task. */
bool is_end;
__u64 now_ns;                  /* the begin, or the end, of the recording */
__u64 lost_stacks, lost_waits; /* not reported at all */
__u64 lives;
__u64 keys; /* added since user space set it to 0 */

/* The state of a followed thread. */
struct thread {
	__u64 left_ns;     /* begin of its wait; 0: none */
	__u64 woken_ns;    /* 0: not yet */
	__u64 key;         /* 0: the map was full */
	__u64 life;        /* a unique id from exec to exec; 0: followed from its next exec */
	__u64 seen_ns;     /* its last switch or exec that was seen; 0: none */
	__u64 seen_cpu_ns; /* its CPU time then */
	__u8 state, kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Processes to follow: enum wait_follow. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAIT_FOLLOWED_MAX);
	__type(key, __u32);
	__type(value, __u32);
} followed SEC(".maps");

struct sums {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAIT_KEYS_MAX);
	__type(key, __u64);
	__type(value, struct wait_sum);
} sums SEC(".maps");

/* Holds the current map of sums. User space replaces it by an empty one to read it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, int);
	__array(values, struct sums);
} place SEC(".maps") = { .values = { &sums } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WAIT_OVERFLOW_MAX);
	__type(key, struct wait_overflow_key);
	__type(value, struct wait_sum);
} overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAIT_RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAIT_RING_BYTES / WAIT_PIECES_PART);
} pieces SEC(".maps");

/* Too large for the BPF stack: one for switches, one for on_task, which a switch may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, int);
	__type(value, struct wait_stack);
} scratch SEC(".maps");

/* The key of a wait without a stack. */
static __always_inline __u64 plain_key(const struct thread *t)
{
	struct hash h = { .a = t->life, .b = t->kind, .c = t->state };

	return finish_hash(&h);
}

static __always_inline enum wait_state state_of(bool is_preempted, unsigned int state,
						struct task_struct *task)
{
	if (is_preempted || state == 0)
		return WAIT_PREEMPTED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return WAIT_IOWAIT;
	if (state & TASK_INTERRUPTIBLE)
		return WAIT_SLEEPING;
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? WAIT_SLEEPING : WAIT_BLOCKED;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return WAIT_STOPPED;
	return state & TASK_DEAD ? WAIT_DEAD : WAIT_UNKNOWN;
}

static __always_inline void set_whose(struct wait_stack *s, struct task_struct *task,
				      const struct thread *t)
{
	s->time_ns = t->left_ns;
	s->pid = (__u32)task->tgid;
	s->tid = (__u32)task->pid;
	s->cpu = bpf_get_smp_processor_id();
	s->kind = t->kind;
	s->state = t->state;
	s->has_registers = 0;
	s->is_32bit = 0;
	s->kernel_count = s->user_count = s->stack_len = 0;
}

/* false: a kernel thread. */
static __always_inline bool set_registers(struct wait_stack *s, struct task_struct *task)
{
	const struct pt_regs *regs;

	if (!task->mm || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return false;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	s->ip = regs->ip;
	s->sp = regs->sp;
	s->bp = regs->bp;
	s->di = regs->di;
	s->has_registers = 1;
	s->is_32bit = (regs->cs & 0xffff) != 0x33;
	return true;
}

/* The used bytes of the stack: up to the program's arguments (main thread), or to the thread's TLS,
 * which libc places above its stack. */
static __always_inline __u32 stack_used(const struct wait_stack *s, struct task_struct *task)
{
	__u64 used = task->mm->start_stack - s->sp;

	if (used > WAIT_STACK_MAX)
		used = task->thread.fsbase - s->sp;
	if (used > WAIT_STACK_MAX - WAIT_STACK_BLOCK)
		used = WAIT_STACK_MAX - WAIT_STACK_BLOCK;
	return ((__u32)used / WAIT_STACK_BLOCK + 1) * WAIT_STACK_BLOCK;
}

static __always_inline void copy_stack(struct wait_stack *s, struct task_struct *task)
{
	__u32 len = stack_used(s, task);

	if (len > WAIT_STACK_MAX)
		len = WAIT_STACK_MAX;
	if (bpf_probe_read_user(s->stack, len, (const void *)s->sp) == 0) {
		s->stack_len = len;
		return;
	}
	/* The next page may be unmapped. */
	len = (4096 - (s->sp & 4095)) & ~(WAIT_STACK_BLOCK - 1u);
	if (len && len <= 4096 && bpf_probe_read_user(s->stack, len, (const void *)s->sp) == 0)
		s->stack_len = len;
}

static __always_inline __u32 words_in(long bytes)
{
	return bytes > 0 ? (__u32)bytes / 8 : 0;
}

static __always_inline void hash_user_chain(void *ctx, struct hash *h, struct wait_stack *s,
					    __u64 *to)
{
	s->user_count = words_in(bpf_get_stack(ctx, to, WAIT_USER_MAX * 8, BPF_F_USER_STACK));
	h->words = to;
	bpf_loop(s->user_count, hash_user, h, 0);
}

/* Reads the stack and returns its hash. The kernel chain takes several times as long as all the
 * rest, so it is left out for a thread that was preempted in user code: it waits for nothing in the
 * kernel. */
static __always_inline __u64 take_stack(void *ctx, struct wait_stack *s, struct task_struct *task,
					const struct thread *t)
{
	struct hash h = { .a = t->life, .b = t->state, .c = has_cpu ? s->cpu : 0 };
	const __u64 *comm = (const __u64 *)task->comm;
	bool has_user = set_registers(s, task);

	h.d = mix(comm[0], comm[1]);
	if (has_kernel && !(has_user && t->state == WAIT_PREEMPTED)) {
		s->kernel_count = words_in(bpf_get_stack(ctx, s->kernel, sizeof s->kernel, 0));
		h.words = s->kernel;
		bpf_loop(s->kernel_count, hash_kernel, &h, 0);
	}
	if (!has_user)
		return finish_hash(&h);
	h.a = mix(h.a, s->ip);
	h.b = mix(h.b, s->sp);
	h.c = mix(h.c, s->bp);
	h.c = mix(h.c, user_address(s->di));
	h.d = mix(h.d, task->mm->exec_vm);
	if (has_copies) {
		copy_stack(s, task);
		h.words = (const __u64 *)s->stack;
		bpf_loop(s->stack_len / WAIT_STACK_BLOCK, hash_block, &h, 0);
		h.d = mix(h.d, s->stack_len);
	}
	if (has_copies && s->stack_len == WAIT_STACK_MAX)
		hash_user_chain(ctx, &h, s, s->behind);
	if (has_frame_pointers)
		hash_user_chain(ctx, &h, s, s->user);
	return finish_hash(&h);
}

static __always_inline bool send(const struct wait_stack *s)
{
	bool is_full = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_full;
	__u64 len = has_copies ? s->stack_len : 8ull * s->user_count;

	if (has_copies && s->user_count)
		len = sizeof *s - offsetof(struct wait_stack, stack);
	if (len > sizeof *s - offsetof(struct wait_stack, stack))
		return false;
	return bpf_ringbuf_output(&ring, (void *)s, offsetof(struct wait_stack, stack) + len,
				  is_full ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) == 0;
}

/* The sum of the thread's key; adds it when it is new. NULL: the map is full. */
static __always_inline struct wait_sum *sum_of(const struct thread *t, struct task_struct *task)
{
	struct wait_sum fresh = { .pid = (__u32)task->tgid,
				  .tid = (__u32)task->pid,
				  .kind = t->kind,
				  .state = t->state };
	int first = 0;
	void *sums_now = bpf_map_lookup_elem(&place, &first);
	struct wait_sum *sum;

	if (!sums_now)
		return NULL;
	sum = bpf_map_lookup_elem(sums_now, &t->key);
	if (sum)
		return sum;
	if (bpf_map_update_elem(sums_now, &t->key, &fresh, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&keys, 1);
	return bpf_map_lookup_elem(sums_now, &t->key);
}

/* The overflow sum of a thread and state. */
static __always_inline struct wait_sum *overflow_sum_of(const struct thread *t,
							struct task_struct *task)
{
	struct wait_overflow_key key = { .tid = (__u32)task->pid, .state = t->state };
	struct wait_sum fresh = { .pid = (__u32)task->tgid,
				  .tid = (__u32)task->pid,
				  .kind = t->kind,
				  .state = t->state };
	struct wait_sum *sum = bpf_map_lookup_elem(&overflow, &key);

	if (sum)
		return sum;
	bpf_map_update_elem(&overflow, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&overflow, &key);
}

/* Adds a wait to what is sent next. What the ring has no room for is sent later with it. */
static __always_inline void add_time(struct wait_sum *sum, __u64 key, __u64 begin_ns,
				     __u64 woken_ns, __u64 end_ns)
{
	struct wait_times *unsent = &sum->unsent;

	if (unsent->end_ns && end_ns - unsent->begin_ns > WAIT_PIECE_NS) {
		struct wait_piece piece = {
			.key = key, .times = *unsent, .tid = sum->tid, .state = sum->state
		};

		if (bpf_ringbuf_output(&pieces, &piece, sizeof piece, BPF_RB_NO_WAKEUP) == 0)
			unsent->end_ns = unsent->waited_ns = unsent->runnable_ns = 0;
	}
	if (!unsent->end_ns)
		unsent->begin_ns = begin_ns;
	unsent->end_ns = end_ns;
	unsent->waited_ns += woken_ns - begin_ns;
	unsent->runnable_ns += end_ns - woken_ns;
}

/* The key of an overflow sum, as user space reads it. */
static __always_inline __u64 overflow_key(const struct wait_sum *sum)
{
	return (__u64)sum->state << 32 | sum->tid;
}

/* Ends a wait and adds its time. */
static __always_inline void add_up(struct thread *t, struct task_struct *task, __u64 until_ns)
{
	__u64 woken_ns =
		t->woken_ns > t->left_ns && t->woken_ns < until_ns && t->state != WAIT_PREEMPTED
			? t->woken_ns
			: until_ns;
	struct wait_sum *sum = t->key ? sum_of(t, task) : NULL;
	__u64 key = t->key;

	if (!sum) {
		sum = overflow_sum_of(t, task);
		key = sum ? overflow_key(sum) : 0;
	}
	if (sum && is_end) {
		sum->has_rest = 1;
		sum->rest_waited_ns = woken_ns > t->left_ns ? woken_ns - t->left_ns : 0;
		sum->rest_runnable_ns = until_ns > woken_ns ? until_ns - woken_ns : 0;
	} else if (sum && woken_ns >= t->left_ns) {
		sum->count++;
		sum->waited_ns += woken_ns - t->left_ns;
		sum->runnable_ns += until_ns - woken_ns;
		if (has_times)
			add_time(sum, key, t->left_ns, woken_ns, until_ns);
	} else if (!sum) {
		__sync_fetch_and_add(&lost_waits, 1);
	}
	t->left_ns = 0;
}

/* Its CPU time is exact at a switch, and while it does not run. */
static __always_inline void see(struct thread *t, struct task_struct *task, __u64 time_ns)
{
	t->seen_ns = time_ns;
	t->seen_cpu_ns = task->se.sum_exec_runtime;
}

/* How long it ran since it was seen, at most until time_ns. */
static __always_inline __u64 ran_until(const struct thread *t, struct task_struct *task,
				       __u64 time_ns)
{
	__u64 ran_ns = task->se.sum_exec_runtime - t->seen_cpu_ns;
	__u64 most_ns = time_ns - t->seen_ns;

	return ran_ns < most_ns ? ran_ns : most_ns;
}

static __always_inline void begin(struct thread *t, __u64 time_ns, enum wait_kind kind,
				  enum wait_state state)
{
	t->left_ns = time_ns;
	t->woken_ns = 0;
	t->kind = (__u8)kind;
	t->state = (__u8)state;
}

/* The word that a thread which sleeps may wait for: the first argument of futex(2). */
static __always_inline __u64 futex_of(const struct wait_stack *s, const struct thread *t)
{
	return s->has_registers && t->state == WAIT_SLEEPING ? s->di : 0;
}

static __always_inline void leave(void *ctx, struct thread *t, struct task_struct *task,
				  __u64 time_ns, enum wait_state state)
{
	int first = 0;
	struct wait_stack *s = bpf_map_lookup_elem(&scratch, &first);
	struct python_scratch *python = NULL;
	struct python_walk w = { 0 };
	__u32 cpu = bpf_get_smp_processor_id();
	struct wait_sum *sum;

	if (t->left_ns && t->seen_ns) /* its return was not reported */
		add_up(t, task, time_ns - ran_until(t, task, time_ns));
	see(t, task, time_ns);
	t->left_ns = 0;
	if (!s || state == WAIT_DEAD)
		return;
	begin(t, time_ns, WAIT_LEFT, state);
	set_whose(s, task, t);
	t->key = take_stack(ctx, s, task, t);
	if (has_python) {
		python = bpf_map_lookup_elem(&python_scratches, &cpu);
		if (python && walk_python(python, &w, task, futex_of(s, t)))
			t->key = mix(mix(t->key, w.hash), w.lock);
		else
			python = NULL;
	}
	s->key = t->key;
	sum = sum_of(t, task);
	if (!sum) {
		t->key = 0;
		__sync_fetch_and_add(&lost_stacks, 1);
	} else if (!sum->is_sent) {
		if (python)
			send_stack(python, &w, time_ns);
		sum->is_sent = send(s);
		if (!sum->is_sent)
			__sync_fetch_and_add(&lost_stacks, 1);
	}
}

/* Ends the wait of a thread that runs again. */
static __always_inline void come_back(struct thread *t, struct task_struct *task, __u64 time_ns)
{
	if (!t->left_ns && t->seen_ns) { /* nor was it reported to leave: its stack is lost */
		begin(t, t->seen_ns + ran_until(t, task, time_ns), WAIT_LEFT, WAIT_UNKNOWN);
		t->key = plain_key(t);
	}
	if (t->left_ns)
		add_up(t, task, time_ns);
	see(t, task, time_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	struct thread *t = bpf_task_storage_get(&threads, prev, NULL, 0);
	__u64 time_ns = 0;

	if (t && t->life) {
		time_ns = bpf_ktime_get_ns();
		leave(ctx, t, prev, time_ns, state_of(is_preempted, state, prev));
	}
	t = bpf_task_storage_get(&threads, next, NULL, 0);
	if (t && t->life)
		come_back(t, next, time_ns ? time_ns : bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);

	if (t && t->left_ns && !t->woken_ns)
		t->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/* Sends the stack of a wait that began without a switch: a new thread, or one off the CPU at the
 * start. */
static __always_inline void send_other(void *ctx, int place_of_scratch, struct thread *t,
				       struct task_struct *task)
{
	struct wait_stack *s = bpf_map_lookup_elem(&scratch, &place_of_scratch);

	t->key = plain_key(t);
	if (!s)
		return;
	set_whose(s, task, t);
	s->key = t->key;
	if (t->kind == WAIT_INITIAL && has_kernel)
		s->kernel_count =
			words_in(bpf_get_task_stack(task, s->kernel, sizeof s->kernel, 0));
	if (t->kind == WAIT_INITIAL)
		set_registers(s, task);
	if (!send(s))
		__sync_fetch_and_add(&lost_stacks, 1);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *t = bpf_task_storage_get(&threads, parent, NULL, 0);
	__u32 tgid = (__u32)parent->tgid;
	__u32 *how = t ? NULL : bpf_map_lookup_elem(&followed, &tgid);

	if (t ? !t->life : !(how && *how == WAIT_FOLLOW_NOW))
		return 0;
	t = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		__sync_fetch_and_add(&lost_waits, 1);
		return 0;
	}
	t->life = __sync_fetch_and_add(&lives, 1) + 1;
	begin(t, bpf_ktime_get_ns(), WAIT_NEW, WAIT_RUNNABLE);
	see(t, child, t->left_ns);
	send_other(ctx, 0, t, child);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);

	if (t) {
		t->life = __sync_fetch_and_add(&lives, 1) + 1;
		t->left_ns = 0;
		see(t, task, bpf_ktime_get_ns());
	}
	return 0;
}

/* Follows a thread that exists when the recording begins. */
static __always_inline void add_running_thread(void *ctx, struct task_struct *task)
{
	__u32 tgid = (__u32)task->tgid;
	__u32 *how = bpf_map_lookup_elem(&followed, &tgid);
	struct thread *t;

	if (!how && (!follows_all || task->tgid == own_pid))
		return;
	t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		__sync_fetch_and_add(&lost_waits, 1);
		return;
	}
	if (t->life || (how && *how == WAIT_FOLLOW_FROM_EXEC))
		return;
	t->life = __sync_fetch_and_add(&lives, 1) + 1;
	if (task->on_cpu)
		return;
	begin(t, now_ns, WAIT_INITIAL, state_of(false, task->__state, task));
	see(t, task, now_ns);
	send_other(ctx, 1, t, task);
	if (task->on_cpu) /* it ran meanwhile: the begin of the wait is unknown */
		t->left_ns = t->seen_ns = 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 now = now_ns;
	struct thread *t;

	if (!task)
		return 0;
	if (!is_end) {
		add_running_thread(ctx, task);
		return 0;
	}
	t = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!t || !t->left_ns)
		return 0;
	if (t->seen_ns && t->seen_ns < now_ns) /* it may run, unreported */
		now = now_ns - ran_until(t, task, now_ns);
	add_up(t, task, now);
	return 0;
}
