/* SPDX-License-Identifier: MIT */
#include "perf/ingest.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/number.h"
#include "base/pages.h"
#include "perf/ingest_internal.h"
#include "unwind/trampoline.h"

#define NO_TID UINT32_MAX
#define VDSO32 "[vdso32]" /* other code than that of our own vdso */

static void add_types(struct ingest *in, const struct ingest_event *events, size_t count)
{
	struct profile *p = in->profile;

	profile_add_type(p, "samples", "count");
	for (size_t i = 0; i < count; i++) {
		in->events[i].type = profile_add_type(p, events[i].type, events[i].unit);
		in->events[i].period = events[i].period;
	}
	in->event_count = count;
	if (count)
		profile_info(p)->default_type = profile_str(p, events[0].type);
	in->keys.pid = profile_str(p, "pid");
	in->keys.tid = profile_str(p, "tid");
	in->keys.comm = profile_str(p, "comm");
	in->keys.cpu = profile_str(p, "cpu");
	in->keys.data = profile_str(p, "data");
	in->keys.address = profile_str(p, "address");
	in->keys.lock = profile_str(p, "gil");
}

struct ingest *ingest_new(const struct ingest_opts *o, const struct ingest_event *events,
			  size_t event_count)
{
	struct ingest *in = calloc(1, sizeof *in);

	if (!in)
		return NULL;
	in->opts = *o;
	in->profile = o->dsos.profile;
	in->tasks = tasks_new();
	in->dsos = dsos_new(&o->dsos);
	in->frames = pages_new(INGEST_MAX_FRAMES * sizeof *in->frames);
	if (!in->tasks || !in->dsos || !in->frames)
		goto fail;
	in->trie = stack_trie_new(in->profile, in->dsos);
	in->tables = unwind_tables_new(in->dsos, o->dsos.proc != NULL);
	if (!in->trie || !in->tables)
		goto fail;
	if (o->has_addresses) {
		in->regions = regions_new(in->profile);
		if (!in->regions)
			goto fail;
	}
	in->user = user_stacks_new(in->dsos, in->tables, o->machine);
	if (!in->user)
		goto fail;
	user_stacks_read_by(in->user, o->read_stack);
	in->joins.profile = in->profile;
	in->joins.read_min = o->read_stack ? JOINS_READ_MIN : 0;
	add_types(in, events, event_count);
	if (o->waits.is_on)
		offcpu_profile_init(&in->waits, in->profile);
	in->waits.has_times = o->has_times;
	return in;

fail:
	ingest_free(in);
	return NULL;
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	pending_fini(&in->pending);
	joins_fini(&in->joins);
	regions_free(in->regions);
	map_fini(&in->data_labels);
	map_fini(&in->lock_labels);
	offcpu_profile_fini(&in->waits);
	offcpu_sums_fini(&in->sums);
	user_stacks_free(in->user);
	unwind_tables_free(in->tables);
	stack_trie_free(in->trie);
	dsos_free(in->dsos);
	tasks_free(in->tasks);
	rows_fini(&in->kinds);
	rows_fini(&in->items);
	rows_fini(&in->merged);
	pages_free(in->frames, INGEST_MAX_FRAMES * sizeof *in->frames);
	free(in);
}

uint32_t ingest_thread(struct ingest *in, uint32_t pid, uint32_t tid)
{
	bool is_new;
	uint32_t i = tasks_get(in->tasks, pid, tid, &is_new);

	if (i == TASKS_NONE || !is_new || !in->opts.fetch)
		return i;
	in->opts.fetch(in->opts.context, pid);
	return tasks_get(in->tasks, pid, tid, &is_new); /* it may have moved */
}

/*
 * What a broken chain of frame pointers ends with is not shown, if anything else is: of the
 * user's part all but its first frame, and that too behind the kernel's (an exec that has left
 * the old program, with the registers of that).
 */
static size_t cut_garbage(const struct stack_frame *frames, size_t count, struct maps *maps)
{
	size_t n = count;

	while (n > 1 && frames[n - 1].space == FRAME_SPACE_USER &&
	       !maps_find(maps, frames[n - 1].address))
		n--;
	return n;
}

bool ingest_collect(struct ingest *in, const struct record *r, struct user_stack_owner *owner,
		    size_t *ret_count)
{
	const struct record_sample *s = &r->sample;
	size_t n = callchain_frames(s->chain, r->misc, in->frames);
	size_t kernel = 0, user;

	while (kernel < n && in->frames[kernel].space != FRAME_SPACE_USER)
		kernel++;
	owner->in_kernel = kernel > 0;
	if (!user_stacks_walk(in->user, s, owner, in->frames + kernel, &user, &in->join))
		return false;
	if (in->join.copied)
		in->join.copied += kernel;
	if (in->opts.max_frames && n >= in->opts.max_frames)
		in->counts.cut++;
	if (n + user == 0 && s->ip)
		in->frames[n++] = (struct stack_frame){ s->ip, callchain_space_of(r->misc) };
	*ret_count = user ? kernel + user : cut_garbage(in->frames, n, owner->maps);
	return true;
}

static int add_time(struct ingest *in, uint64_t time_ns, uint32_t node, uint32_t labels,
		    size_t type, int64_t value)
{
	const struct timed_value timed = { .node = node,
					   .labels = labels,
					   .type = (uint16_t)type,
					   .is_joined = in->join.copied > 0,
					   .value = value };

	return in->opts.has_times ? sample_times_add(profile_times(in->profile), time_ns, &timed)
				  : 0;
}

/* in->frames: [0..count) */
static int commit(struct ingest *in, const struct record *r, size_t count,
		  const struct user_stack_owner *owner, uint32_t labels, size_t event,
		  uint32_t leaf, const struct interp_stack *interp, uint32_t *root)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };
	uint64_t period = r->sample.period ? r->sample.period : in->events[event].period;
	uint32_t node = in->opts.interp ? ingest_interp_merge(in, owner, interp, root, &count) : 0;
	size_t first = 0;

	while (leaf && first < count && in->frames[first].space != FRAME_SPACE_USER)
		first++;
	node = stack_trie_extend(in->trie, node, in->frames + first, count - first, owner->maps,
				 owner->pid);
	if (leaf)
		node = profile_push(in->profile, node, leaf);
	in->last_node = node;
	values[0] = event == 0;
	number_add(&values[in->events[event].type],
		   period > INT64_MAX ? number_end(false) : (int64_t)period);
	in->counts.samples++;
	if (add_time(in, r->time, node, labels, in->events[event].type,
		     values[in->events[event].type]) < 0)
		return -ENOMEM;
	if (in->join.copied > first)
		return joins_add(&in->joins, node, in->join.copied - first + (leaf != 0), labels,
				 values, in->join.is_read);
	profile_add(in->profile, node, labels, values);
	return profile_error(in->profile);
}

int ingest_retry(struct ingest *in, bool is_end)
{
	const struct pending_sample *s;
	int rc = 0;

	while (rc == 0 && (s = pending_first(&in->pending))) {
		struct user_stack_owner owner = { .maps = s->maps,
						  .pid = s->pid,
						  .is_uncounted = s->is_wait };
		size_t count;

		if (ingest_collect(in, &s->record, &owner, &count)) {
			rc = s->is_wait ? ingest_commit_wait(in, s, count, &owner)
					: commit(in, &s->record, count, &owner, s->labels, s->event,
						 s->leaf, &s->interp, NULL);
			pending_drop(&in->pending);
		} else if (!is_end || !unwind_tables_collect(in->tables, true)) {
			break;
		}
	}
	return rc;
}

static bool is_known(struct ingest *in, uint32_t pid, uint32_t tid)
{
	uint32_t index = tasks_find(in->tasks, tid);

	return index != TASKS_NONE && tasks_thread(in->tasks, index)->pid == pid;
}

/* What the thread's stacks have shown with two callers. */
static int take_doubts(struct ingest *in, const struct thread *t,
		       const struct user_stack_owner *owner)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && t->stitch.doubts && i < STITCH_DOUBT_SLOTS; i++) {
		uint64_t pc = t->stitch.doubts[i];
		uint32_t location =
			pc ? stack_trie_locate(in->trie, pc, owner->maps, owner->pid) : 0;

		if (location)
			rc = joins_doubt(&in->joins, location);
	}
	return rc;
}

static int add_sample(struct ingest *in, const struct record *r, size_t event)
{
	/* A thread that is exiting has no id; it counts as the first thread of its process. */
	uint32_t tid = r->tid == NO_TID ? r->pid : r->tid, index;
	struct user_stack_owner owner = { .pid = r->pid };
	struct interp_stack interp = { 0 };
	struct thread *t;
	uint32_t labels, leaf, doubts;
	size_t count;

	if (in->keeps_known && !is_known(in, r->pid, tid)) {
		in->counts.left_out++;
		return 0;
	}
	index = ingest_thread(in, r->pid, tid);
	if (index == TASKS_NONE)
		return -ENOMEM;
	t = tasks_thread(in->tasks, index);
	/* Of the first event only; if every event is a sample, it does not show the rest. */
	if (event == 0 && r->sample.period != 1) {
		t->is_seen = true;
		in->counts.rated++;
	}
	if (in->opts.waits.running >> event & 1)
		ingest_see_running(in, t, r);
	labels = ingest_labels(in, t, r->cpu);
	if (in->regions && r->sample.addr)
		labels = ingest_data_labels(in, r, labels);
	if (in->opts.interp) {
		const struct interp_source *source = in->opts.interp;

		ingest_interp_show(in, t->process);
		source->frames(source->context, r->pid, tid, r->time, &interp);
		labels = ingest_interp_labels(in, labels, interp.lock);
	}
	owner.maps = tasks_process(in->tasks, t->process)->maps;
	owner.stitch = &t->stitch;
	owner.cannot_wait = in->pending.bytes > INGEST_PENDING_BYTES;
	leaf = in->opts.leaf ? in->opts.leaf(in->opts.leaf_context, r) : 0;
	doubts = t->stitch.doubt_count;
	if (ingest_collect(in, r, &owner, &count)) {
		if (t->stitch.doubt_count != doubts && take_doubts(in, t, &owner) < 0)
			return -ENOMEM;
		return commit(in, r, count, &owner, labels, event, leaf, &interp, &t->root);
	}
	if (!pending_put(&in->pending, &(struct pending_sample){ .record = *r,
								 .maps = owner.maps,
								 .pid = owner.pid,
								 .labels = labels,
								 .event = event,
								 .leaf = leaf,
								 .interp = interp }))
		return -ENOMEM;
	return 0;
}

/* The tools of pprof's family take the first mapping for the main program. It would be the
 * dynamic linker, in whose code most programs begin. */
static void put_main_first(struct ingest *in, const struct vma *v)
{
	if (!in->has_main)
		dsos_locate(in->dsos, v, in->main_pid, v->start);
	in->has_main = true;
}

/* The rule of code that a process makes while it runs; NULL: none is known. */
static const struct unwind_rule *trampoline_rule(uint32_t pid, uint64_t start)
{
	unsigned char bytes[UNWIND_TRAMPOLINE_BYTES];
	struct iovec local = { bytes, sizeof bytes };
	struct iovec remote = { (void *)(uintptr_t)start, sizeof bytes };
	ssize_t n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return n > 0 ? unwind_trampoline_rule(bytes, (size_t)n) : NULL;
}

static int add_map(struct ingest *in, const struct record *r)
{
	const struct record_mmap *m = &r->mmap;
	struct vma v = { .start = m->start, .offset = m->offset };
	struct dso_id id = {
		.path = m->path.len ? (const char *)m->path.bytes : "",
		.path_len = m->path.len,
		.build_id = m->build_id,
		.build_id_len = m->build_id_len,
		.major = m->major,
		.minor = m->minor,
		.ino = m->ino,
		.pid = m->pid,
	};

	if (in->regions && callchain_space_of(r->misc) == FRAME_SPACE_USER &&
	    regions_map(in->regions, m) < 0)
		return -ENOMEM;
	/* The kernel's own, and data mappings of perf.data. */
	if (callchain_space_of(r->misc) != FRAME_SPACE_USER || r->misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	if (__builtin_add_overflow(m->start, m->len, &v.end))
		return 0;
	id.kind = dso_kind_of(id.path, &id.path_len);
	if (id.kind == DSO_VDSO)
		v.offset = 0;
	if (id.kind == DSO_VDSO && in->opts.machine == EM_X86_64 && v.end <= UINT64_C(1) << 32) {
		id.kind = DSO_VDSO32;
		id.path = VDSO32;
		id.path_len = sizeof VDSO32 - 1;
	}
	v.dso = dsos_add(in->dsos, &id);
	if (v.dso == DSO_NONE || ingest_thread(in, m->pid, m->tid) == TASKS_NONE)
		return -ENOMEM;
	if (id.kind == DSO_ANON && dsos_is_live(in->dsos) && in->opts.machine == EM_X86_64)
		v.rule = trampoline_rule(m->pid, m->start);
	if (id.kind == DSO_FILE && m->pid == in->main_pid)
		put_main_first(in, &v);
	if (id.kind == DSO_FILE && in->opts.interp)
		ingest_interp_map(in, m->pid, &v);
	return tasks_map(in->tasks, m->pid, m->tid, &v);
}

static int add_comm(struct ingest *in, const struct record *r)
{
	const struct record_comm *c = &r->comm;
	int rc;

	if (ingest_thread(in, c->pid, c->tid) == TASKS_NONE)
		return -ENOMEM;
	rc = tasks_name(in->tasks, c->pid, c->tid, (const char *)c->name.bytes, c->name.len);
	if (r->misc & PERF_RECORD_MISC_COMM_EXEC && !in->main_pid)
		in->main_pid = c->pid;
	if (rc == 0 && r->misc & PERF_RECORD_MISC_COMM_EXEC)
		rc = tasks_exec(in->tasks, c->pid, c->tid);
	if (r->misc & PERF_RECORD_MISC_COMM_EXEC && in->opts.interp)
		in->opts.interp->leave(in->opts.interp->context, c->pid);
	if (rc == 0 && r->misc & PERF_RECORD_MISC_COMM_EXEC && in->regions)
		rc = regions_exec(in->regions, c->pid);
	return rc;
}

static int add_fork(struct ingest *in, const struct record *r)
{
	const struct record_task *t = &r->task;
	int rc;

	if (ingest_thread(in, t->ppid, t->ptid) == TASKS_NONE)
		return -ENOMEM;
	if (t->pid != t->ppid && dsos_set_parent(in->dsos, t->pid, t->ppid) < 0)
		return -ENOMEM;
	rc = tasks_fork(in->tasks, t->pid, t->tid, t->ppid, t->ptid);
	if (rc == 0 && in->regions)
		rc = regions_fork(in->regions, t->pid, t->ppid);
	if (rc == 0)
		ingest_wait_of_new(in, r);
	return rc;
}

static void add_exit(struct ingest *in, const struct record *r)
{
	uint32_t index = tasks_find(in->tasks, r->task.tid);

	ingest_wait_of_ended(in, r);
	if (index != TASKS_NONE && !tasks_thread(in->tasks, index)->is_ended) {
		in->counts.ended++;
		in->counts.unseen += !tasks_thread(in->tasks, index)->is_seen;
	}
	if (in->opts.interp && r->task.tid == r->task.pid)
		in->opts.interp->leave(in->opts.interp->context, r->task.pid);
	tasks_exit(in->tasks, r->task.tid);
}

int ingest_record(struct ingest *in, const struct record *r, size_t event)
{
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		if (event >= INGEST_LEAVE && event <= INGEST_WAKE)
			return ingest_wait_sample(in, r, event);
		return add_sample(in, r, event < in->event_count ? event : 0);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return add_map(in, r);
	case PERF_RECORD_COMM:
		return add_comm(in, r);
	case PERF_RECORD_FORK:
		return add_fork(in, r);
	case PERF_RECORD_EXIT:
		add_exit(in, r);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return ingest_switch(in, r);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		in->counts.lost += r->lost.count;
		return 0;
	case PERF_RECORD_THROTTLE:
		in->counts.throttled++;
		return 0;
	default:
		return 0;
	}
}

int ingest_take_over(struct ingest *in, const struct ingest *from)
{
	in->counts = from->counts;
	in->counts.lost += from->pending.count;
	in->main_pid = from->main_pid;
	in->keeps_known = from->keeps_known;
	for (size_t i = 0; in->keeps_known && i < tasks_slots(from->tasks); i++) {
		const struct thread *t = tasks_thread(from->tasks, (uint32_t)i);

		if (t->is_used && !t->is_ended && !is_known(in, t->pid, t->tid) &&
		    ingest_thread(in, t->pid, t->tid) == TASKS_NONE)
			return -ENOMEM;
	}
	return 0;
}

void ingest_keep_known(struct ingest *in, bool is_on)
{
	in->keeps_known = is_on;
}

const struct ingest_counts *ingest_counts(const struct ingest *in)
{
	return &in->counts;
}

struct dsos *ingest_dsos(struct ingest *in)
{
	return in->dsos;
}

const char *ingest_worst(const struct ingest *in, size_t n, uint64_t *ret_count)
{
	return unwind_tables_worst(in->tables, n, ret_count);
}

int ingest_poll(struct ingest *in)
{
	int rc = unwind_tables_collect(in->tables, false) ? ingest_retry(in, false) : 0;

	return rc < 0 ? rc : joins_settle(&in->joins);
}

int ingest_settle(struct ingest *in)
{
	return ingest_retry(in, true);
}

uint32_t ingest_take_node(struct ingest *in)
{
	uint32_t node = in->last_node;

	in->last_node = 0;
	return node;
}

/* Times of joined stacks go where their samples are. */
static void settle_times(struct ingest *in)
{
	struct sample_times *t = profile_times(in->profile);

	for (size_t i = 0; i < t->entries.count; i++) {
		struct timed_value *v = sample_times_at(t, i);

		if (v->is_joined)
			v->node = joins_node(&in->joins, v->node, v->labels);
		v->is_joined = false;
	}
	sample_times_settle(t);
}

int ingest_finish(struct ingest *in)
{
	static const char name[] = "[lost]";
	int rc = ingest_retry(in, true) < 0 ? -ENOMEM : joins_settle(&in->joins);
	int64_t values[PROFILE_MAX_TYPES] = { (int64_t)in->counts.lost };
	uint32_t node;

	in->counts.unknown = stack_trie_unknown(in->trie);
	in->counts.user = *user_stacks_counts(in->user);
	in->counts.user.joined = in->joins.joined;
	in->counts.user.complete += in->completed;
	in->counts.user.truncated -= in->completed_truncated;
	in->counts.user.truncated += in->joins.truncated;
	if (rc == 0)
		offcpu_sums_finish(&in->sums, &in->waits);
	settle_times(in);
	in->counts.waits = in->waits.counts;
	if (rc < 0 || in->counts.lost == 0)
		return rc;
	node = profile_push(in->profile, 0,
			    profile_name_location(in->profile, name, sizeof name - 1));
	profile_add(in->profile, node, 0, values);
	return profile_error(in->profile);
}
