/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "perf/ingest_internal.h"

/* A wait whose stack is known or will be. */
static void add_wait(struct ingest *in, struct thread *t, const struct offcpu_wait *wait)
{
	struct pending_sample *pending = wait->before.pending;

	if (!pending) {
		offcpu_profile_add(&in->waits, wait, 1, wait->before.node,
				   ingest_labels(in, t, t->cpu));
		return;
	}
	pending->is_over = true;
	pending->wait = *wait;
}

void ingest_see_running(struct ingest *in, struct thread *t, const struct record *r)
{
	struct offcpu_wait wait;

	if (in->opts.waits.is_on && !in->opts.waits.is_summed && !t->is_ended &&
	    offcpu_running(&t->offcpu, r->time, r->sample.period, &wait))
		add_wait(in, t, &wait);
}

static bool is_cut(const struct stack_frame *frames, size_t count)
{
	return count && (frames[count - 1].space == FRAME_SPACE_TRUNCATED ||
			 frames[count - 1].space == FRAME_SPACE_BROKEN);
}

/* The node of in->frames: [0..count), as a wait shows it. */
static uint32_t node_of(struct ingest *in, size_t count, const struct user_stack_owner *owner)
{
	size_t from = 0;

	while (in->opts.waits.is_user_only && from < count &&
	       in->frames[from].space == FRAME_SPACE_KERNEL)
		from++;
	return stack_trie_node(in->trie, in->frames + from, count - from, owner->maps, owner->pid);
}

/* The same without joined frames that are not trusted at this time; *count is then less. */
static uint32_t trusted_node(struct ingest *in, size_t *count, const struct user_stack_owner *owner)
{
	uint32_t node = node_of(in, *count, owner);
	size_t copied = in->join.copied;

	for (size_t i = 0; in->opts.waits.is_user_only && copied && i < in->join.copied; i++)
		copied -= in->frames[i].space == FRAME_SPACE_KERNEL;
	if (!copied || joins_trusts(&in->joins, node, copied))
		return node;
	*count = in->join.copied;
	in->frames[(*count)++] = (struct stack_frame){ .space = FRAME_SPACE_TRUNCATED };
	return node_of(in, *count, owner);
}

/* The node of a stack with the frames of an interpreter. */
static uint32_t merged_node(struct ingest *in, size_t count, const struct user_stack_owner *owner,
			    const struct interp_stack *interp, uint32_t *root, bool *ret_is_cut)
{
	uint32_t node = 0;
	size_t from = 0;

	*ret_is_cut = is_cut(in->frames, count);
	if (in->opts.interp)
		node = ingest_interp_merge(in, owner, interp, root, &count);
	*ret_is_cut &= !node || !root || node != *root;
	while (in->opts.waits.is_user_only && from < count &&
	       in->frames[from].space == FRAME_SPACE_KERNEL)
		from++;
	return stack_trie_extend(in->trie, node, in->frames + from, count - from, owner->maps,
				 owner->pid);
}

int ingest_commit_wait(struct ingest *in, const struct pending_sample *s, size_t count,
		       const struct user_stack_owner *owner)
{
	struct thread *t = tasks_thread(in->tasks, s->thread);
	bool is_stack_cut;
	uint32_t node = merged_node(in, count, owner, &s->interp, NULL, &is_stack_cut);
	struct offcpu_wait wait = s->wait;

	if (s->is_summed) {
		in->sums.sums[s->sum].node = node;
		in->sums.sums[s->sum].is_cut = is_stack_cut;
	} else if (s->is_over) {
		wait.before.is_cut = is_stack_cut;
		offcpu_profile_add(&in->waits, &wait, 1, node, s->labels);
	} else if (t->is_used && t->serial == s->thread_serial && t->offcpu.pending == s) {
		t->offcpu.pending = NULL;
		t->offcpu.node = node;
		t->offcpu.is_cut = is_stack_cut;
	}
	return profile_error(in->profile);
}

/* A number of len bytes in the kernel's raw data; 0 when it is not there. */
static uint64_t raw_number(const struct record_bytes *raw, size_t at, size_t len)
{
	uint64_t v = 0;

	if (at <= raw->len && len <= raw->len - at)
		memcpy(&v, raw->bytes + at, len);
	return v;
}

/* Does the kernel wait for a device in this chain? */
static bool is_for_device(struct ingest *in, const struct record *r)
{
	const struct ingest_offcpu *w = &in->opts.waits;
	size_t count = callchain_frames(r->sample.chain, r->misc, in->frames);

	for (size_t i = 0; i < count && in->frames[i].space == FRAME_SPACE_KERNEL; i++)
		for (size_t j = 0; j < w->sleep_count; j++)
			if (in->frames[i].address >= w->sleeps[j].start &&
			    in->frames[i].address < w->sleeps[j].end)
				return true;
	return false;
}

static enum offcpu_state state_of(struct ingest *in, const struct record *r)
{
	const struct ingest_offcpu *w = &in->opts.waits;
	const struct record_bytes *raw = &r->sample.raw;
	enum offcpu_state state = OFFCPU_UNKNOWN;

	if (w->has_switch_fields && raw->bytes) {
		state = offcpu_state_of((int64_t)raw_number(raw, w->state_at, 8));
		in->has_foreign_numbers |= raw_number(raw, w->pid_at, 4) != r->tid;
	}
	if ((state == OFFCPU_BLOCKED || state == OFFCPU_UNKNOWN) && is_for_device(in, r))
		state = OFFCPU_IOWAIT;
	return state;
}

/* The stack of a thread that waits. */
static int take_stack(struct ingest *in, const struct record *r, uint32_t index)
{
	struct thread *t = tasks_thread(in->tasks, index);
	struct user_stack_owner owner = { .maps = tasks_process(in->tasks, t->process)->maps,
					  .stitch = &t->stitch,
					  .pid = r->pid,
					  .is_uncounted = true,
					  .cannot_wait = in->pending.bytes > INGEST_PENDING_BYTES };
	struct pending_sample sample = { .record = *r,
					 .maps = owner.maps,
					 .pid = owner.pid,
					 .thread = index,
					 .thread_serial = t->serial,
					 .is_wait = true };
	size_t count;

	if (ingest_collect(in, r, &owner, &count)) {
		t->offcpu.pending = NULL;
		t->offcpu.node = trusted_node(in, &count, &owner);
		t->offcpu.is_cut = is_cut(in->frames, count);
		return profile_error(in->profile);
	}
	sample.labels = ingest_labels(in, t, r->cpu);
	t->offcpu.pending = pending_put(&in->pending, &sample);
	return t->offcpu.pending ? 0 : -ENOMEM;
}

static bool is_not_counted(const struct ingest *in, uint32_t pid)
{
	return !in->opts.waits.is_on || pid == 0 || pid == in->opts.waits.own_pid;
}

static int leave(struct ingest *in, const struct record *r, enum offcpu_signal signal,
		 enum offcpu_state state)
{
	struct offcpu_wait wait;
	struct thread *t;
	uint32_t index;

	if (is_not_counted(in, r->pid) || state == OFFCPU_DEAD)
		return 0;
	index = ingest_thread(in, r->pid, r->tid);
	if (index == TASKS_NONE)
		return -ENOMEM;
	t = tasks_thread(in->tasks, index);
	if (t->is_ended)
		return 0;
	if (offcpu_leave(&t->offcpu, signal, r->time, state, &wait))
		add_wait(in, t, &wait);
	ingest_labels(in, t, r->cpu);
	if (signal == OFFCPU_EACH && t->offcpu.signals & OFFCPU_DEEP)
		return 0; /* its stack is known better already */
	return take_stack(in, r, index);
}

int ingest_initial_wait(struct ingest *in, const struct record *r, enum offcpu_state state)
{
	return leave(in, r, OFFCPU_INITIAL, state);
}

static void wake(struct ingest *in, const struct record *r)
{
	const struct ingest_offcpu *w = &in->opts.waits;
	uint32_t index;

	if (!w->has_wake_fields || in->has_foreign_numbers)
		return;
	index = tasks_find(in->tasks, (uint32_t)raw_number(&r->sample.raw, w->woken_at, 4));
	if (index != TASKS_NONE)
		offcpu_wake(&tasks_thread(in->tasks, index)->offcpu, r->time);
}

int ingest_wait_sample(struct ingest *in, const struct record *r, size_t kind)
{
	switch (kind) {
	case INGEST_LEAVE:
		return leave(in, r, OFFCPU_EACH, state_of(in, r));
	case INGEST_LEAVE_DEEP:
		return leave(in, r, OFFCPU_DEEP, OFFCPU_UNKNOWN);
	default:
		wake(in, r);
		return 0;
	}
}

int ingest_switch(struct ingest *in, const struct record *r)
{
	bool is_preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	struct offcpu_wait wait;
	struct thread *t;
	uint32_t index;
	bool is_over;

	if (is_not_counted(in, r->pid))
		return 0;
	index = ingest_thread(in, r->pid, r->tid);
	if (index == TASKS_NONE)
		return -ENOMEM;
	t = tasks_thread(in->tasks, index);
	if (t->is_ended)
		return 0;
	if (r->misc & PERF_RECORD_MISC_SWITCH_OUT)
		is_over = offcpu_leave(&t->offcpu, OFFCPU_OUT, r->time,
				       is_preempted ? OFFCPU_PREEMPTED : OFFCPU_UNKNOWN, &wait);
	else
		is_over = offcpu_return(&t->offcpu, r->time, in->waits_begin_ns, &wait);
	if (is_over)
		add_wait(in, t, &wait);
	return profile_error(in->profile);
}

void ingest_wait_of_new(struct ingest *in, const struct record *r)
{
	uint32_t index = tasks_find(in->tasks, r->task.tid);
	struct offcpu_wait wait;

	if (index == TASKS_NONE || is_not_counted(in, r->task.pid) || in->opts.waits.is_summed)
		return;
	if (offcpu_leave(&tasks_thread(in->tasks, index)->offcpu, OFFCPU_NEW, r->time,
			 OFFCPU_RUNNABLE, &wait))
		add_wait(in, tasks_thread(in->tasks, index), &wait);
}

static void end_wait(struct ingest *in, uint32_t index, uint64_t time_ns, bool is_unfinished)
{
	struct thread *t = tasks_thread(in->tasks, index);
	struct offcpu_wait wait;

	if (in->opts.waits.is_summed)
		return;
	if (offcpu_end(&t->offcpu, time_ns, &wait)) {
		wait.is_unfinished = is_unfinished;
		add_wait(in, t, &wait);
	}
	if (in->opts.waits.running && in->counts.lost_waits && offcpu_flush(&t->offcpu, &wait))
		add_wait(in, t, &wait);
}

void ingest_wait_of_ended(struct ingest *in, const struct record *r)
{
	uint32_t index = tasks_find(in->tasks, r->task.tid);

	if (in->opts.waits.is_on && index != TASKS_NONE)
		end_wait(in, index, r->time, false);
}

void ingest_begin_waits(struct ingest *in, uint64_t time_ns)
{
	in->waits_begin_ns = time_ns;
}

void ingest_end_waits(struct ingest *in, uint64_t time_ns)
{
	for (uint32_t i = 0; i < tasks_slots(in->tasks); i++)
		if (tasks_thread(in->tasks, i)->is_used && !tasks_thread(in->tasks, i)->is_ended)
			end_wait(in, i, time_ns, true);
}

void ingest_count_lost(struct ingest *in, uint64_t count)
{
	in->counts.lost += count;
}

void ingest_count_lost_side(struct ingest *in, uint64_t count)
{
	in->counts.lost_side += count;
}

void ingest_count_bad(struct ingest *in)
{
	in->counts.bad++;
}

void ingest_count_lost_waits(struct ingest *in, uint64_t count)
{
	in->counts.lost_waits += count;
}

int ingest_wait_stack(struct ingest *in, const struct record *r, uint64_t key,
		      enum offcpu_signal signal)
{
	struct user_stack_owner owner = { .pid = r->pid, .is_uncounted = true };
	struct pending_sample sample = { .record = *r, .pid = r->pid, .is_wait = true };
	struct offcpu_sum *sum = offcpu_sums_get(&in->sums, key);
	uint32_t index = ingest_thread(in, r->pid, r->tid);
	struct thread *t;
	bool is_stack_cut;
	size_t count;

	if (!sum || index == TASKS_NONE)
		return -ENOMEM;
	if (sum->signals) /* known before */
		return 0;
	t = tasks_thread(in->tasks, index);
	owner.maps = tasks_process(in->tasks, t->process)->maps;
	owner.cannot_wait = in->pending.bytes > INGEST_PENDING_BYTES;
	sum->signals = (uint8_t)signal;
	sum->labels = ingest_labels(in, t, r->cpu);
	if (in->opts.interp) {
		ingest_interp_show(in, t->process);
		in->opts.interp->frames(in->opts.interp->context, r->pid, r->tid, r->time,
					&sample.interp);
		sum->labels = ingest_interp_labels(in, sum->labels, sample.interp.lock);
	}
	if (ingest_collect(in, r, &owner, &count)) {
		sum->node = count ? merged_node(in, count, &owner, &sample.interp, &t->root,
						&is_stack_cut)
				  : 0;
		sum->is_cut = count && is_stack_cut;
		return profile_error(in->profile);
	}
	sample.maps = owner.maps;
	sample.is_summed = true;
	sample.sum = (size_t)(sum - in->sums.sums);
	return pending_put(&in->pending, &sample) ? 0 : -ENOMEM;
}

int ingest_wait_time(struct ingest *in, uint64_t key, uint32_t tid, const struct offcpu_wait *times,
		     uint64_t end_ns)
{
	return in->opts.has_times ? offcpu_sums_add_time(&in->sums, key, tid, times, end_ns) : 0;
}

int ingest_wait_sum(struct ingest *in, uint64_t key, uint32_t pid, uint32_t tid,
		    const struct offcpu_wait *times, uint64_t count)
{
	struct offcpu_sum *sum = offcpu_sums_get(&in->sums, key);
	struct offcpu_time *time;
	uint32_t index;

	if (!sum)
		return -ENOMEM;
	if (!sum->signals && !sum->labels) { /* the stack was lost */
		index = ingest_thread(in, pid, tid);
		if (index == TASKS_NONE)
			return -ENOMEM;
		sum->labels = ingest_labels(in, tasks_thread(in->tasks, index), 0);
	}
	sum->state = times->before.state;
	time = &sum->times[times->is_unfinished];
	time->count += count;
	time->waited_ns += times->waited_ns;
	time->runnable_ns += times->runnable_ns;
	return 0;
}
