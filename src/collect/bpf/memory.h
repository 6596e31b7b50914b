/* SPDX-License-Identifier: MIT */
/*
 * memory: for syscalls.bpf.c, the parts of a program's memory that belong to a call.
 *
 * Programs fault no pages in, so memory is read when the call ends: the kernel has touched it by
 * then. Only an exec, that leaves its memory, is asked at its begin.
 */
#ifndef COLLECT_BPF_MEMORY_H
#define COLLECT_BPF_MEMORY_H

#include "collect/bpf/kernel.h"
#include "collect/bpf/syscalls.h"

#define NULL ((void *)0)

/* What a thread is doing. */
struct doing {
	struct calls_thread_id id;
	__u64 since_ns; /* that it is looked at */
	__u64 start_ns; /* of the call; 0: before recording */
	__u64 args[6];  /* CALLS_EVENTS */
	__u32 nr;
	bool is_inside;
	bool is_new; /* its first end is of the call that made it */
};

/* Of calls whose memory is gone at their end: read at their begin. By tid. */
struct early {
	__u32 len; /* 0: could not be read */
	char bytes[CALLS_FETCH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct early);
} earlier SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct early);
} early_drafts SEC(".maps");

static __always_inline __u32 length_of(const struct calls_fetch *f, const struct doing *d,
				       __s64 ret, bool *is_cut)
{
	__u64 bytes = f->limit;
	__u32 next = f->arg + 1;

	if (f->kind == CALLS_FETCH_BY_NEXT && next < 6)
		bytes = d->args[next] * f->unit;
	if (f->kind == CALLS_FETCH_BY_RET)
		bytes = ret > 0 ? (__u64)ret : 0;
	*is_cut = bytes > f->limit;
	if (bytes > f->limit)
		bytes = f->limit;
	return bytes > CALLS_FETCH_BYTES ? CALLS_FETCH_BYTES : (__u32)bytes;
}

/* A part's bytes to where the part begins; its length, negative: it cannot be read. */
static __always_inline long read_part(char *to, const struct calls_fetch *f, const struct doing *d,
				      __s64 ret, bool *is_cut)
{
	__u32 len = length_of(f, d, ret, is_cut), arg = f->arg;
	const void *from;
	long n;

	if (arg >= 6)
		return -1;
	from = (const void *)d->args[arg];
	if (!from)
		return -1;
	if (f->kind == CALLS_FETCH_STRING) {
		n = bpf_probe_read_user_str(to, CALLS_FETCH_BYTES, from);
		*is_cut = n == CALLS_FETCH_BYTES;
		return n - 1;
	}
	if (len == 0 || bpf_probe_read_user(to, len, from) == 0)
		return len;
	return -1;
}

static __always_inline void read_early(const struct doing *d, const struct calls_plan *plan)
{
	__u32 zero = 0, tid = d->id.tid;
	struct early *e = bpf_map_lookup_elem(&early_drafts, &zero);
	bool is_cut;
	long n;

	for (__u32 i = 0; e && i < CALLS_FETCHES && i < plan->count; i++) {
		if (!plan->fetches[i].at_enter)
			continue;
		n = read_part(e->bytes, &plan->fetches[i], d, 0, &is_cut);
		e->len = n > 0 ? (__u32)n : 0;
		bpf_map_update_elem(&earlier, &tid, e, BPF_ANY);
		return;
	}
}

/* Of what was read at the begin. */
static __always_inline long take_early(char *to, __u32 tid)
{
	struct early *e = bpf_map_lookup_elem(&earlier, &tid);
	__u32 len;

	if (!e || e->len == 0)
		return -1;
	len = e->len;
	if (len > CALLS_FETCH_BYTES)
		len = CALLS_FETCH_BYTES;
	bpf_probe_read_kernel(to, len, e->bytes);
	bpf_map_delete_elem(&earlier, &tid);
	return len;
}

static __always_inline __u32 read_parts(struct calls_event *ev, const struct doing *d,
					const struct calls_plan *plan, __s64 ret)
{
	__u32 at = 0, count = 0;

	for (__u32 i = 0; i < CALLS_FETCHES; i++) {
		const struct calls_fetch *f = &plan->fetches[i];
		bool is_cut = false;
		long n;

		if (i >= plan->count || at > (CALLS_FETCHES - 1) * CALLS_FETCH_BYTES)
			break;
		n = f->at_enter ? take_early(ev->bytes + at, d->id.tid)
				: read_part(ev->bytes + at, f, d, ret, &is_cut);
		if (n < 0 || n > CALLS_FETCH_BYTES || count >= CALLS_FETCHES)
			continue;
		ev->parts[count].arg = f->arg;
		ev->parts[count].len = (__u16)n;
		ev->parts[count].is_cut = is_cut;
		count++;
		at += (__u32)n;
	}
	ev->part_count = count;
	return at;
}

#endif
