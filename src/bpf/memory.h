/* SPDX-License-Identifier: MIT */
/*
 * memory: reads the memory that a system call refers to, for syscalls.bpf.c.
 *
 * A BPF program cannot fault pages in. So memory is read at exit: by then the kernel has touched
 * it. Only exec, which replaces the memory, is read at entry.
 */
#ifndef BPF_MEMORY_H
#define BPF_MEMORY_H

#include "bpf/kernel.h"
#include "bpf/syscalls.h"

#define NULL ((void *)0)

/* Set before loading: does any plan follow pointers? The verifier takes long to check that code. */
const volatile bool has_links;

/* The call that a thread is in, if any. */
struct inflight {
	struct calls_thread_id id;
	__u64 since_ns; /* since when the thread is traced */
	__u64 start_ns; /* of the call; 0: before recording */
	__u64 args[6];  /* CALLS_EVENTS, and of the slowest calls */
	__u32 nr;
	bool is_in_call;
	bool is_new;   /* its first exit is of the clone that created it */
	bool has_args; /* args and memory were read at entry */
};

/* Memory read at entry, of calls that replace it. By tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct calls_memory);
} entry_memory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_memory);
} entry_scratch SEC(".maps");

static __always_inline __u32 length_of(const struct calls_fetch *f, const struct inflight *d,
				       __s64 ret, bool *is_cut)
{
	__u64 bytes = f->limit;
	__u32 next = f->arg + 1;

	if (f->kind == CALLS_FETCH_BY_NEXT && next < 6)
		bytes = d->args[next] * f->unit;
	if (f->kind == CALLS_FETCH_BY_RET)
		bytes = ret > 0 ? (__u64)ret * f->unit : 0;
	*is_cut = bytes > f->limit;
	if (bytes > f->limit)
		bytes = f->limit;
	return bytes > CALLS_FETCH_BYTES ? CALLS_FETCH_BYTES : (__u32)bytes;
}

/*
 * The __noinline functions below are verified once each; inlined they exceed the verifier's limit
 * of instructions. at: an offset in the bytes of m, which is not NULL. Each returns a length, with
 * PART_CUT when there is more; negative: unreadable.
 */
#define PART_CUT (1 << 16)
#define LAST_PART ((CALLS_FETCHES - 1) * CALLS_FETCH_BYTES) /* where it may begin */

/* Reads the strings of a list of pointers, each with its NUL. */
__noinline long read_strings(struct calls_memory *m, __u64 at, __u64 list)
{
	__u32 len = 0;

	if (!m || at > LAST_PART)
		return -1;
	barrier_var(at); /* the compiler keeps the checked one */
	for (__u32 i = 0; i < CALLS_STRINGS; i++) {
		__u64 from;
		long n;

		if (bpf_probe_read_user(&from, sizeof from, (void *)(list + 8 * i)) < 0)
			return i ? len : -1;
		if (!from)
			return len;
		if (len > CALLS_FETCH_BYTES - CALLS_STRING_BYTES)
			break;
		n = bpf_probe_read_user_str(m->bytes + at + len, CALLS_STRING_BYTES, (void *)from);
		if (n <= 0 || n > CALLS_STRING_BYTES)
			break;
		len += (__u32)n;
	}
	return len | PART_CUT;
}

/* The length of a list of pointers. */
__noinline long count_pointers(__u64 list)
{
	__u64 pointer;
	long count = 0;

	for (; count < CALLS_COUNT_MAX; count++) {
		if (bpf_probe_read_user(&pointer, sizeof pointer, (void *)(list + 8 * count)) < 0)
			return -1;
		if (!pointer)
			break;
	}
	return count;
}

static __always_inline long read_count(char *to, __u64 list)
{
	long n = count_pointers(list);
	__u32 count = (__u32)n;

	if (n < 0)
		return n;
	__builtin_memcpy(to, &count, sizeof count);
	return sizeof count | (n == CALLS_COUNT_MAX ? PART_CUT : 0);
}

/* Reads the begin of each struct iovec. rest: bytes of all vectors together. */
__noinline long read_vectors(struct calls_memory *m, __u64 at, __u64 list, __u64 count, __u64 rest)
{
	long len = 0;

	if (!m || at > LAST_PART)
		return -1;
	barrier_var(at); /* the compiler keeps the checked one */
	for (__u32 i = 0; i < CALLS_VECTORS && i < count; i++) {
		struct calls_vector *v = (struct calls_vector *)(m->bytes + at + i * sizeof *v);
		__u64 vector[2], left;
		__u32 want;

		if (bpf_probe_read_user(vector, sizeof vector, (void *)(list + 16 * i)) < 0)
			return i ? len : -1;
		left = vector[1] < rest ? vector[1] : rest;
		want = left < sizeof v->bytes ? (__u32)left : sizeof v->bytes;
		rest -= left;
		v->len = vector[1];
		v->got = want;
		if (want && bpf_probe_read_user(v->bytes, want, (void *)vector[0]) < 0)
			v->got = 0;
		len += sizeof *v;
	}
	return len | (count > CALLS_VECTORS ? PART_CUT : 0);
}

/* Memory that itself has pointers. */
static __always_inline long read_linked(struct calls_memory *m, __u64 at,
					const struct calls_fetch *f, const struct inflight *d,
					__s64 ret)
{
	__u64 rest = f->unit == 0 ? ~0ull : ret > 0 ? (__u64)ret : 0; /* written, or read */
	__u32 arg = f->arg, next = f->arg + 1;
	__u64 vectors[2];

	if (!has_links || arg >= 6)
		return -1;
	vectors[0] = d->args[arg];
	vectors[1] = next < 6 ? d->args[next] : 0;
	if (f->kind == CALLS_FETCH_MESSAGE &&
	    bpf_probe_read_user(vectors, sizeof vectors, (void *)(d->args[arg] + 16)) < 0)
		return -1;
	if (f->kind == CALLS_FETCH_STRINGS)
		return read_strings(m, at, vectors[0]);
	if (f->kind == CALLS_FETCH_COUNT)
		return read_count(m->bytes + at, vectors[0]);
	return read_vectors(m, at, vectors[0], vectors[1], rest);
}

/* One part. */
__noinline long read_part(struct calls_memory *m, __u64 at, const struct calls_fetch *f,
			  const struct inflight *d, __s64 ret)
{
	bool is_cut = false;
	const void *from;
	__u32 len, arg;
	long n;

	if (!m || !f || !d || at > LAST_PART)
		return -1;
	barrier_var(at);
	arg = f->arg;
	if (arg >= 6)
		return -1;
	from = (const void *)d->args[arg];
	if (!from)
		return -1;
	if (f->kind >= CALLS_FETCH_STRINGS)
		return read_linked(m, at, f, d, ret);
	if (f->kind == CALLS_FETCH_STRING) {
		n = bpf_probe_read_user_str(m->bytes + at, CALLS_FETCH_BYTES, from);
		return n == CALLS_FETCH_BYTES ? (n - 1) | PART_CUT : n - 1;
	}
	len = length_of(f, d, ret, &is_cut);
	if (len && bpf_probe_read_user(m->bytes + at, len, from) < 0)
		return -1;
	return len | (is_cut ? PART_CUT : 0);
}

static __always_inline void read_parts(struct calls_memory *m, const struct inflight *d,
				       const struct calls_plan *plan, __s64 ret)
{
	__u32 at = 0, count = 0;

	for (__u32 i = 0; i < CALLS_FETCHES; i++) {
		const struct calls_fetch *f = &plan->fetches[i];
		long n;
		__u32 len;

		if (i >= plan->count || at > LAST_PART)
			break;
		n = read_part(m, at, f, d, ret);
		len = n & (PART_CUT - 1);
		if (n < 0 || len > CALLS_FETCH_BYTES || count >= CALLS_FETCHES)
			continue;
		m->parts[count].arg = f->arg;
		m->parts[count].len = (__u16)len;
		m->parts[count].is_cut = n >= PART_CUT;
		count++;
		at += len;
	}
	m->count = count;
	m->len = at;
}

static __always_inline void read_at_entry(const struct inflight *d, const struct calls_plan *plan)
{
	__u32 zero = 0, tid = d->id.tid;
	struct calls_memory *m = bpf_map_lookup_elem(&entry_scratch, &zero);

	if (!m || !plan->at_entry)
		return;
	read_parts(m, d, plan, 0);
	bpf_map_update_elem(&entry_memory, &tid, m, BPF_ANY);
}

/* Takes what was read at entry; false: nothing, or less than can be read at exit. */
static __always_inline bool take_entry_memory(struct calls_memory *to, const struct inflight *d,
					      const struct calls_plan *plan, __s64 ret)
{
	__u32 tid = d->id.tid;
	struct calls_memory *m;
	bool is_whole;

	if (!plan->at_entry)
		return false;
	m = bpf_map_lookup_elem(&entry_memory, &tid);
	is_whole = m && (m->count == plan->count || ret >= 0);
	if (is_whole)
		bpf_probe_read_kernel(to, sizeof *to, m);
	if (m)
		bpf_map_delete_elem(&entry_memory, &tid);
	return is_whole;
}

#endif
