/* SPDX-License-Identifier: MIT */
/*
 * python_walk: walks the Python frames of the current thread, and sends the names of each code
 * object once: for python.bpf.c and wait.bpf.c, which share the maps of one of them.
 *
 * A chain that is not one of frames is dropped whole: up to 3.12 the interpreter links its C frame
 * a few instructions before it stores the Python frame there. Everything that is read is memory
 * that the process may forge. Loops are bounded, and addresses are only passed to
 * bpf_probe_read_user().
 */
#ifndef BPF_PYTHON_WALK_H
#define BPF_PYTHON_WALK_H

#include "bpf/kernel.h"
#include "bpf/mix.h"
#include "bpf/python.h"

#define SEARCH_PAUSE_NS 1000000000ull /* between searches for a thread that has no state */
#define PTHREAD_KEYS 0x310            /* in glibc's struct pthread: pairs (serial, value) of keys */
#define PTHREAD_KEYS_MAX 32

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct___exe {
	unsigned long start_code;
	struct file *exe_file;
};

struct task_struct___parent {
	struct task_struct *real_parent;
};
#pragma clang attribute pop

/* Settings. */
const volatile __u64 python_ring_full; /* bytes */

__u64 python_lost; /* stacks and names that the ring had no room for */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PYTHON_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct python_process);
} python_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PYTHON_FILES_MAX);
	__type(key, struct python_file_key);
	__type(value, struct python_file);
} python_files SEC(".maps");

/* Code objects whose names were sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYTHON_SEEN_MAX);
	__type(key, __u64);
	__type(value, __u8);
} python_seen SEC(".maps");

/* Threads without a state, and when they were searched for. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} python_strangers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PYTHON_RING_BYTES);
} python_ring SEC(".maps");

/* What a sample needs; by CPU. Programs on samples do not interrupt each other. */
struct python_scratch {
	struct python_process process;
	unsigned char frame[PYTHON_FRAME_BYTES];
	unsigned char code[PYTHON_CODE_BYTES];
	struct python_code names;
	struct python_stack stack;
	struct python_frame frames[PYTHON_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs: set by the loader */
	__type(key, __u32);
	__type(value, struct python_scratch);
} python_scratches SEC(".maps");

static __always_inline bool read_user(void *to, __u64 len, __u64 from)
{
	return bpf_probe_read_user(to, len, (const void *)from) == 0;
}

/* An address that the process has; 0: unreadable. */
static __always_inline __u64 read_address(__u64 from)
{
	__u64 value = 0;

	return read_user(&value, sizeof value, from) ? value : 0;
}

static __always_inline bool wakes(void)
{
	return bpf_ringbuf_query(&python_ring, BPF_RB_AVAIL_DATA) > python_ring_full;
}

static __always_inline bool send_python(void *bytes, __u64 len)
{
	if (bpf_ringbuf_output(&python_ring, bytes, len,
			       wakes() ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) == 0)
		return true;
	__sync_fetch_and_add(&python_lost, 1);
	return false;
}

/* The interpreter that is linked into the program: its file is known, so that its processes need
 * not be. */
static __always_inline bool find_by_file(struct python_process *to, struct task_struct *task)
{
	struct mm_struct___exe *mm = (void *)task->mm;
	struct file *exe = BPF_CORE_READ(mm, exe_file);
	struct python_file_key key = { 0 };
	struct python_file *file;
	__u64 bias;

	if (!exe)
		return false;
	key.inode = BPF_CORE_READ(exe, f_inode, i_ino);
	key.device = BPF_CORE_READ(exe, f_inode, i_sb, s_dev);
	file = bpf_map_lookup_elem(&python_files, &key);
	if (!file)
		return false;
	bias = BPF_CORE_READ(mm, start_code) - file->start_code;
	*to = file->process;
	to->runtime += bias;
	if (to->code_type)
		to->code_type += bias;
	return true;
}

/* A child is of its parent's program until it is known by itself: what is not so is unreadable, or
 * has no state of this thread. */
static __always_inline bool find_process(struct python_process *to, struct task_struct *task)
{
	struct task_struct___parent *child = (void *)task->group_leader;
	__u32 tgid = (__u32)task->tgid;
	struct python_process *found;

	if (find_by_file(to, task))
		return true;
	found = bpf_map_lookup_elem(&python_processes, &tgid);
	if (!found) {
		tgid = (__u32)BPF_CORE_READ(child, real_parent, tgid);
		found = bpf_map_lookup_elem(&python_processes, &tgid);
	}
	if (!found)
		return false;
	*to = *found;
	return true;
}

/* The search through all threads of all interpreters. */
struct python_search {
	__u64 fs, interp, thread, found;
	__u32 next, threads, id;
};

static long search_step(__u64 index, struct python_search *s)
{
	if (!s->thread) {
		if (!s->interp)
			return 1;
		s->thread = read_address(s->interp + s->threads);
		s->interp = read_address(s->interp + s->next);
		return 0;
	}
	if (read_address(s->thread + s->id) == s->fs) {
		s->found = s->thread;
		return 1;
	}
	s->thread = read_address(s->thread + PYTHON_THREAD_NEXT);
	return 0;
}

static __always_inline bool is_of(const struct python_layout *l, __u64 state, __u64 fs)
{
	return state && read_address(state + l->thread_id) == fs;
}

/* The value of the key that each thread keeps its state under. */
static __always_inline __u64 state_by_key(const struct python_process *p, __u64 fs)
{
	__u32 key = 0;

	if (!p->layout.tss_key ||
	    !read_user(&key, sizeof key, p->runtime + p->layout.tss_key + 4) ||
	    key >= PTHREAD_KEYS_MAX)
		return 0;
	return read_address(fs + PTHREAD_KEYS + 16ull * key + 8);
}

/* The state of the thread that runs: on Linux its id is its base of fs. 0: none. */
static __always_inline __u64 find_state(const struct python_process *p, struct task_struct *task)
{
	const struct python_layout *l = &p->layout;
	struct python_search s = { .fs = task->thread.fsbase,
				   .next = l->interp_next,
				   .threads = l->interp_threads,
				   .id = l->thread_id };
	__u32 tid = (__u32)task->pid;
	__u64 state = 0, now = bpf_ktime_get_ns(), *since;

	if (l->tstate_current)
		state = read_address(p->runtime + l->tstate_current);
	if (is_of(l, state, s.fs))
		return state;
	state = state_by_key(p, s.fs);
	if (is_of(l, state, s.fs))
		return state;
	since = bpf_map_lookup_elem(&python_strangers, &tid);
	if (since && now - *since < SEARCH_PAUSE_NS)
		return 0;
	s.interp = read_address(p->runtime + l->interp_head);
	bpf_loop(PYTHON_THREADS_MAX, search_step, &s, 0);
	if (!s.found && s.interp | s.thread)
		return 0;
	if (!s.found)
		bpf_map_update_elem(&python_strangers, &tid, &now, BPF_ANY);
	return s.found;
}

#define CODE_WORD(s, at) (*(__u64 *)((s)->code + ((at) & (PYTHON_CODE_BYTES - 8))))
#define FRAME_WORD(s, at) (*(__u64 *)((s)->frame + ((at) & (PYTHON_FRAME_BYTES - 8))))

/* The characters of a str to bytes; those that are not in memory are read by user space. */
static __always_inline void read_text(struct python_text *t, char *bytes, __u64 str,
				      const struct python_layout *l)
{
	__u64 header[5]; /* count, type, length, hash, state */
	__u32 state;
	__u64 len;

	__builtin_memset(t, 0, sizeof *t);
	if (!read_user(header, sizeof header, str))
		return;
	state = (__u32)header[4];
	t->width = state >> 2 & 7;
	t->is_ascii = state >> 6 & 1;
	t->at = str + (t->is_ascii ? l->ascii_data : l->compact_data);
	if (!(state >> 5 & 1) || (t->width != 1 && t->width != 2 && t->width != 4)) {
		t->width = 0;
		return;
	}
	if (header[2] > 1u << 20)
		header[2] = 1u << 20;
	t->bytes = (__u32)header[2] * t->width;
	len = t->bytes;
	barrier_var(len); /* the compiler keeps the checked one */
	if (len > PYTHON_TEXT_BYTES)
		len = PYTHON_TEXT_BYTES;
	if (len && read_user(bytes, len, t->at))
		t->got = (__u16)len;
}

static __always_inline void read_table(struct python_code *n, __u64 bytes)
{
	__u64 len = read_address(bytes + 16), part = len;

	n->table_at = bytes + 32;
	n->table_bytes = len;
	n->table_got = 0;
	barrier_var(part);
	if (part > PYTHON_TABLE_BYTES)
		part = PYTHON_TABLE_BYTES;
	if (part && read_user(n->table, part, n->table_at))
		n->table_got = (__u32)part;
}

/* Sends what a code object is called. */
static __always_inline void send_names(struct python_scratch *s, __u64 id)
{
	const struct python_layout *l = &s->process.layout;
	struct python_code *n = &s->names;
	__u8 one = 1;
	__u64 got;

	n->kind = PYTHON_CODE;
	n->minor = l->minor;
	n->tgid = s->stack.tgid;
	n->id = id;
	n->first_line = *(__s32 *)(s->code + (l->first_line & (PYTHON_CODE_BYTES - 4)));
	n->instructions = l->instructions;
	read_text(&n->name, n->name_bytes, CODE_WORD(s, l->name), l);
	read_text(&n->file, n->file_bytes, CODE_WORD(s, l->file), l);
	read_table(n, CODE_WORD(s, l->table));
	got = n->table_got;
	barrier_var(got);
	if (got > PYTHON_TABLE_BYTES)
		return;
	if (send_python(n, offsetof(struct python_code, table) + got))
		bpf_map_update_elem(&python_seen, &id, &one, BPF_ANY);
}

/* A walk from frame to frame. */
struct python_walk {
	__u32 lock; /* enum python_lock */
	struct python_scratch *s;
	__u64 frame;
	__u64 code, id; /* the last one's */
	__u64 hash;     /* of all frames */
	__u32 count;
	__u32 end;
};

/* The id of the code object: of its contents, as its address comes back with other code. 0: it
 * is none. */
static __always_inline __u64 identify(struct python_scratch *s, __u64 code)
{
	const struct python_layout *l = &s->process.layout;
	__u64 id, hash = 0;

	if (!read_user(s->code, l->code_bytes & (PYTHON_CODE_BYTES - 1), code))
		return 0;
	hash = read_address(CODE_WORD(s, l->name) + 24);
	id = mix(mix(mix(s->stack.tgid, code), CODE_WORD(s, l->name)), CODE_WORD(s, l->file));
	id = mix(mix(id, CODE_WORD(s, l->table)), hash);
	id = mix(id, *(__u32 *)(s->code + (l->first_line & (PYTHON_CODE_BYTES - 4))));
	if (bpf_map_lookup_elem(&python_seen, &id))
		return id ? id : 1;
	if (s->process.code_type && CODE_WORD(s, 8) != s->process.code_type)
		return 0;
	send_names(s, id);
	return id ? id : 1;
}

static long walk_step(__u64 index, struct python_walk *w)
{
	struct python_scratch *s = w->s;
	const struct python_layout *l = &s->process.layout;
	struct python_frame *out = &s->frames[w->count & (PYTHON_FRAMES_MAX - 1)];
	__u64 code;
	__u32 at;

	if (!w->frame) {
		w->end = PYTHON_WHOLE;
		return 1;
	}
	if (!read_user(s->frame, l->frame_bytes & (PYTHON_FRAME_BYTES - 1), w->frame)) {
		w->end = PYTHON_DROPPED;
		return 1;
	}
	w->frame = FRAME_WORD(s, l->previous);
	out->flags = 0;
	at = l->owner & (PYTHON_FRAME_BYTES - 1);
	if (l->owner && s->frame[at] >= PYTHON_OWNER_C) {
		out->id = 0;
		out->at = 0;
		out->flags = PYTHON_FRAME_SHIM;
		w->count++;
		return 0;
	}
	at = l->is_entry & (PYTHON_FRAME_BYTES - 1);
	if (l->is_entry ? s->frame[at] : !l->owner)
		out->flags = PYTHON_FRAME_ENTRY;
	code = FRAME_WORD(s, l->code) & ~(__u64)PYTHON_TAG;
	if (code != w->code)
		w->id = identify(s, code);
	w->code = code;
	if (!w->id) {
		w->end = PYTHON_DROPPED;
		return 1;
	}
	out->id = w->id;
	if (l->owner || l->is_entry) {
		out->at = (__s32)(FRAME_WORD(s, l->instr) - code);
	} else {
		at = l->instr & (PYTHON_FRAME_BYTES - 4);
		out->at = *(__s32 *)(s->frame + at);
	}
	w->hash = mix(mix(w->hash, out->id), (__u32)out->at);
	w->count++;
	return 0;
}

/* The innermost frame of a thread. */
static __always_inline __u64 top_frame(const struct python_layout *l, __u64 state)
{
	__u64 top = read_address(state + l->top_frame);

	return l->has_cframe && top ? read_address(top + l->cframe_frame) : top;
}

/* Does the thread with this state hold the GIL? */
static __always_inline bool is_held(const struct python_process *p, __u64 state)
{
	__u8 status = 0;

	if (p->layout.tstate_current)
		return read_address(p->runtime + p->layout.tstate_current) == state;
	return p->layout.active && read_user(&status, 1, state + p->layout.active) &&
	       status & PYTHON_ACTIVE;
}

/* Walks the frames of the current thread. futex: that it waits for; 0: none. Returns whether
 * something is to be sent: it runs Python, or waits to. Without a chain of frames, w->count is 0.
 */
static __always_inline bool walk_python(struct python_scratch *s, struct python_walk *w,
					struct task_struct *task, __u64 futex)
{
	__u64 state;

	w->s = s;
	w->end = PYTHON_WHOLE;
	if (!task->mm || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return false;
	if (!find_process(&s->process, task))
		return false;
	s->stack.tgid = (__u32)task->tgid;
	s->stack.tid = (__u32)task->pid;
	if (futex - s->process.runtime < s->process.runtime_bytes)
		w->lock = PYTHON_LOCK_AWAITED;
	state = find_state(&s->process, task);
	if (!state)
		return w->lock;
	if (!w->lock && is_held(&s->process, state))
		w->lock = PYTHON_LOCK_HELD;
	w->frame = top_frame(&s->process.layout, state);
	w->end = PYTHON_CUT;
	bpf_loop(PYTHON_FRAMES_MAX, walk_step, w, 0);
	return true;
}

/* Sends what walk_python() found, for the sample or wait of this time. */
static __always_inline void send_stack(struct python_scratch *s, struct python_walk *w,
				       __u64 time_ns)
{
	__u64 count = w->end == PYTHON_DROPPED ? 0 : w->count;

	barrier_var(count);
	if (count > PYTHON_FRAMES_MAX)
		count = PYTHON_FRAMES_MAX;
	s->stack.kind = PYTHON_STACK;
	s->stack.minor = s->process.layout.minor;
	s->stack.count = (__u32)count;
	s->stack.end = (__u16)w->end;
	s->stack.lock = (__u16)w->lock;
	s->stack.time_ns = time_ns;
	send_python(&s->stack, sizeof s->stack + count * sizeof s->frames[0]);
}

#endif
