/* SPDX-License-Identifier: MIT */
#include "sample/offcpu_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wait.skel.h>

#include "base/buf.h"
#include "bpf/wait.h"
#include "sample/bpf.h"
#include "sample/initial_waits.h"
#include "sample/synthesize.h"
#include "target/proc.h"

#define PROC "/proc"
#define SUMS_BATCH 4096               /* sums that are read at once */
#define KEYS_MANY (WAIT_KEYS_MAX / 4) /* read the sums at this many keys */
#define INITIAL_STACK_BYTES \
	((size_t)65536) /* read of the stack of a thread that waits at the start */

_Static_assert((int)WAIT_UNKNOWN == (int)OFFCPU_UNKNOWN, "states");
_Static_assert((int)WAIT_SLEEPING == (int)OFFCPU_SLEEPING, "states");
_Static_assert((int)WAIT_BLOCKED == (int)OFFCPU_BLOCKED, "states");
_Static_assert((int)WAIT_IOWAIT == (int)OFFCPU_IOWAIT, "states");
_Static_assert((int)WAIT_STOPPED == (int)OFFCPU_STOPPED, "states");
_Static_assert((int)WAIT_PREEMPTED == (int)OFFCPU_PREEMPTED, "states");
_Static_assert((int)WAIT_RUNNABLE == (int)OFFCPU_RUNNABLE, "states");
_Static_assert(sizeof(struct wait_sum) == 88, "as the kernel has it");

struct offcpu_bpf {
	struct wait_bpf *bpf;
	struct ring_buffer *ring;
	struct ring_buffer *pieces; /* NULL: times are not asked for */
	struct ingest *into;        /* borrowed while it is read */
	struct python *python;      /* borrowed; NULL: none */
	int sums_fd; /* the current map of sums; owned; -1: the first, owned by bpf */
	struct ingest_code schedule;
	struct buf queue;                 /* struct wait_stack, each behind its length */
	size_t passed;                    /* bytes of queue that were passed to ingest */
	uint64_t lost;                    /* stacks and waits, as passed to ingest */
	uint64_t keys[SUMS_BATCH];        /* of the sums that are read */
	struct wait_sum sums[SUMS_BATCH]; /* at the same places */
	unsigned char initial_stack[INITIAL_STACK_BYTES];
	uint64_t chain[WAIT_KERNEL_MAX + WAIT_USER_MAX + 2];
};

/* Queues the next record of the ring. */
static int keep(void *context, void *bytes, size_t len)
{
	struct offcpu_bpf *w = context;
	uint64_t size = len;

	buf_put(&w->queue, &size, sizeof size);
	buf_put(&w->queue, bytes, len);
	return buf_error(&w->queue);
}

static int put_times(struct ingest *in, uint64_t key, uint32_t tid, uint8_t state,
		     const struct wait_times *t)
{
	const struct offcpu_wait wait = { .before = { .state = state },
					  .waited_ns = t->waited_ns,
					  .runnable_ns = t->runnable_ns };

	return t->end_ns ? ingest_wait_time(in, key, tid, &wait, t->end_ns) : 0;
}

static int take_piece(void *context, void *bytes, size_t len)
{
	const struct offcpu_bpf *w = context;
	const struct wait_piece *piece = bytes;

	(void)len;
	return put_times(w->into, piece->key, piece->tid, piece->state, &piece->times);
}

static void choose(struct wait_bpf *bpf, const struct offcpu_bpf_opts *o)
{
	bool has_user = !o->is_kernel_only;

	bpf->rodata->follows_all = o->is_all;
	bpf->rodata->has_kernel = o->stack != STACK_NONE && !o->is_user_only;
	bpf->rodata->has_frame_pointers = o->stack == STACK_FP && has_user;
	bpf->rodata->has_copies = o->stack == STACK_DWARF && has_user;
	bpf->rodata->has_cpu = o->has_cpu_label;
	bpf->rodata->has_times = o->has_times;
	bpf->rodata->own_pid = getpid();
}

/* What walks Python frames; without it, its maps are not made. */
static int choose_python(struct wait_bpf *bpf, bool has_python)
{
	struct bpf_map *maps[] = { bpf->maps.python_processes, bpf->maps.python_files,
				   bpf->maps.python_seen,      bpf->maps.python_strangers,
				   bpf->maps.python_ring,      bpf->maps.python_scratches };
	int rc = has_python ? libbpf_num_possible_cpus() : 0;

	bpf->rodata->has_python = has_python;
	bpf->rodata->python_ring_full = PYTHON_RING_BYTES / 4;
	if (rc > 0)
		rc = bpf_map__set_max_entries(bpf->maps.python_scratches, (uint32_t)rc);
	for (size_t i = 0; rc == 0 && !has_python && i < ARRAY_LEN(maps); i++)
		rc = bpf_map__set_autocreate(maps[i], false);
	return rc;
}

/* Their pages are mapped twice, one behind the other. */
static int choose_rings(struct wait_bpf *bpf, uint64_t max)
{
	uint32_t bytes = WAIT_RING_BYTES;
	int rc;

	while (2 * ((uint64_t)bytes + bytes / WAIT_PIECES_PART) > max && bytes > WAIT_RING_LEAST)
		bytes /= 2;
	bpf->rodata->ring_full = bytes / WAIT_RING_FULL;
	rc = bpf_map__set_max_entries(bpf->maps.pieces, bytes / WAIT_PIECES_PART);
	if (rc == 0)
		rc = bpf_map__set_autocreate(bpf->maps.pieces, bpf->rodata->has_times);
	return rc == 0 ? bpf_map__set_max_entries(bpf->maps.ring, bytes) : rc;
}

static int follow(struct wait_bpf *bpf, pid_t pid, uint32_t how, struct err *e)
{
	uint32_t key = (uint32_t)pid;
	int rc = bpf_map_update_elem(bpf_map__fd(bpf->maps.followed), &key, &how, BPF_ANY);

	return rc < 0 ? err_set(e, rc, "process %d: %s", (int)pid, strerror(-rc)) : 0;
}

static int follow_all(struct wait_bpf *bpf, const struct offcpu_bpf_opts *o, struct err *e)
{
	int rc = o->command ? follow(bpf, o->command, WAIT_FOLLOW_FROM_EXEC, e) : 0;

	for (size_t i = 0; rc == 0 && i < o->pid_count; i++)
		rc = follow(bpf, o->pids[i], WAIT_FOLLOW_NOW, e);
	return rc;
}

/* BPF programs see pids of the initial pid namespace. */
static int check_numbers(struct err *e)
{
	if (!proc_has_kernel_pids())
		return err_set(e, -ENOTSUP,
			       "this container numbers its processes by itself; needs to be run "
			       "outside of it");
	return 0;
}

static int load_program(struct offcpu_bpf *w, const struct offcpu_bpf_opts *o, bool has_python)
{
	int rc;

	wait_bpf__destroy(w->bpf);
	w->bpf = wait_bpf__open();
	if (!w->bpf)
		return -errno;
	choose(w->bpf, o);
	rc = choose_rings(w->bpf, o->ring_max);
	if (rc == 0)
		rc = choose_python(w->bpf, has_python);
	return rc == 0 ? wait_bpf__load(w->bpf) : rc;
}

static int load(struct offcpu_bpf *w, const struct offcpu_bpf_opts *o, struct err *e)
{
	static const char *const schedule[] = { "__schedule", NULL };
	int rc;

	bpf_begin();
	rc = load_program(w, o, o->has_python);
	if (rc < 0 && o->has_python)
		rc = load_program(w, o, false);
	if (!w->bpf)
		return bpf_explain(rc, "the off-CPU program", e);
	if (rc == 0)
		rc = wait_bpf__attach(w->bpf);
	if (rc < 0)
		return bpf_explain(rc, "the program that sums waits", e);
	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.ring), keep, w, NULL);
	if (!w->ring)
		return bpf_explain(-errno, "the ring of stacks", e);
	if (o->has_times)
		w->pieces = ring_buffer__new(bpf_map__fd(w->bpf->maps.pieces), take_piece, w, NULL);
	if (o->has_times && !w->pieces)
		return bpf_explain(-errno, "the ring of times", e);
	synthesize_find_functions(PROC "/kallsyms", schedule, 1, &w->schedule);
	return follow_all(w->bpf, o, e);
}

int offcpu_bpf_new(const struct offcpu_bpf_opts *o, struct offcpu_bpf **ret, struct err *e)
{
	struct offcpu_bpf *w;
	int rc = check_numbers(e);

	if (rc < 0)
		return rc;
	w = calloc(1, sizeof *w);
	if (!w)
		return err_nomem(e);
	w->sums_fd = -1;
	rc = load(w, o, e);
	if (rc < 0) {
		offcpu_bpf_free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void offcpu_bpf_free(struct offcpu_bpf *w)
{
	if (!w)
		return;
	ring_buffer__free(w->ring);
	ring_buffer__free(w->pieces);
	wait_bpf__destroy(w->bpf);
	if (w->sums_fd >= 0)
		close(w->sums_fd);
	buf_fini(&w->queue);
	free(w);
}

bool offcpu_bpf_maps(const struct offcpu_bpf *w, struct walker_maps *ret)
{
	if (!w->bpf->rodata->has_python)
		return false;
	*ret = (struct walker_maps){ .processes = bpf_map__fd(w->bpf->maps.python_processes),
				     .files = bpf_map__fd(w->bpf->maps.python_files),
				     .seen = bpf_map__fd(w->bpf->maps.python_seen),
				     .strangers = bpf_map__fd(w->bpf->maps.python_strangers),
				     .ring = bpf_map__fd(w->bpf->maps.python_ring) };
	return true;
}

void offcpu_bpf_use_python(struct offcpu_bpf *w, struct python *python)
{
	w->python = python;
}

int offcpu_bpf_fd(const struct offcpu_bpf *w)
{
	return bpf_map__fd(w->bpf->maps.ring);
}

/* Runs on_task for all threads. 0 or -errno. */
static int visit_threads(struct offcpu_bpf *w)
{
	char nothing[64];
	int fd = bpf_iter_create(bpf_link__fd(w->bpf->links.on_task));
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, nothing, sizeof nothing);
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int offcpu_bpf_begin(struct offcpu_bpf *w, uint64_t time_ns, struct err *e)
{
	int rc;

	w->bpf->bss->now_ns = time_ns;
	rc = visit_threads(w);
	return rc < 0 ? err_set(e, rc, "threads: %s", strerror(-rc)) : 0;
}

/* The chain as perf_event_open(2) has it, without the frames of the BPF program. */
static size_t make_chain(struct offcpu_bpf *w, const struct wait_stack *s)
{
	uint32_t from = 0;
	size_t n = 0;

	while (from < s->kernel_count &&
	       (s->kernel[from] < w->schedule.start || s->kernel[from] >= w->schedule.end))
		from++;
	if (from == s->kernel_count)
		from = 0;
	if (s->kernel_count)
		w->chain[n++] = PERF_CONTEXT_KERNEL;
	for (; from < s->kernel_count; from++)
		w->chain[n++] = s->kernel[from];
	if (s->user_count)
		w->chain[n++] = PERF_CONTEXT_USER;
	for (uint32_t i = 0; i < s->user_count; i++)
		w->chain[n++] = s->stack_len ? s->behind[i] : s->user[i];
	return n;
}

/* Passes a stack to ingest as a perf sample. The user stack of an initial wait is read from
 * outside. */
static int put_stack(struct offcpu_bpf *w, struct ingest *in, const struct wait_stack *s)
{
	static const enum offcpu_signal signals[] = {
		[WAIT_LEFT] = OFFCPU_EACH, [WAIT_NEW] = OFFCPU_NEW, [WAIT_INITIAL] = OFFCPU_INITIAL
	};
	const uint64_t registers[] = { s->di, s->bp, s->sp,
				       s->ip }; /* in the order of PERF_REG_* */
	struct record r = { .type = PERF_RECORD_SAMPLE,
			    .misc = PERF_RECORD_MISC_USER,
			    .pid = s->pid,
			    .tid = s->tid,
			    .cpu = s->cpu,
			    .time = s->time_ns };

	if (s->kind >= ARRAY_LEN(signals) || s->kernel_count > WAIT_KERNEL_MAX ||
	    s->user_count > WAIT_USER_MAX)
		return 0;
	r.sample.ip = s->has_registers ? s->ip : 0;
	r.sample.chain = (struct record_words){ (const unsigned char *)w->chain, make_chain(w, s) };
	r.sample.stack = (struct record_bytes){ s->stack, s->stack_len };
	if (s->kind == WAIT_INITIAL && w->python &&
	    python_read_waiting(w->python, s->pid, s->tid, s->time_ns) < 0)
		return -ENOMEM;
	if (s->kind == WAIT_INITIAL && s->has_registers && w->bpf->rodata->has_copies) {
		r.sample.stack.bytes = w->initial_stack;
		r.sample.stack.len = initial_waits_read_stack(s->pid, s->sp, w->initial_stack,
							      INITIAL_STACK_BYTES);
	}
	if (r.sample.stack.len) {
		r.sample.user.abi = s->is_32bit ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64;
		r.sample.user.mask = user_stack_frame_regs(user_stack_machine());
		r.sample.user.values = (struct record_words){ (const unsigned char *)registers,
							      ARRAY_LEN(registers) };
	}
	return ingest_wait_stack(in, &r, s->key, signals[s->kind]);
}

int offcpu_bpf_put_stacks(struct offcpu_bpf *w, struct ingest *in, uint64_t before_ns)
{
	struct wait_stack *s;
	uint64_t len;
	int rc = 0;

	while (rc == 0 && w->passed < w->queue.len) {
		memcpy(&len, w->queue.data + w->passed, sizeof len);
		s = (struct wait_stack *)(void *)(w->queue.data + w->passed + sizeof len);
		if (s->time_ns >= before_ns)
			break;
		rc = put_stack(w, in, s);
		w->passed += sizeof len + len;
	}
	if (w->passed == w->queue.len) {
		buf_clear(&w->queue);
		w->passed = 0;
	}
	return rc;
}

/* What of a sum was not sent: waits, and the one that ends with the recording. */
static int put_unsent(struct ingest *in, uint64_t key, const struct wait_sum *sum,
		      const struct offcpu_wait *rest, uint64_t end_ns)
{
	int rc = put_times(in, key, sum->tid, sum->state, &sum->unsent);

	return rc == 0 && sum->has_rest ? ingest_wait_time(in, key, sum->tid, rest, end_ns) : rc;
}

static int put_sum(struct ingest *in, uint64_t key, const struct wait_sum *sum, uint64_t end_ns)
{
	const struct offcpu_wait times = { .before = { .state = sum->state },
					   .waited_ns = sum->waited_ns,
					   .runnable_ns = sum->runnable_ns };
	const struct offcpu_wait rest = { .before = { .state = sum->state },
					  .waited_ns = sum->rest_waited_ns,
					  .runnable_ns = sum->rest_runnable_ns,
					  .is_unfinished = true };
	int rc = ingest_wait_sum(in, key, sum->pid, sum->tid, &times, sum->count);

	if (rc == 0 && sum->has_rest)
		rc = ingest_wait_sum(in, key, sum->pid, sum->tid, &rest, 1);
	return rc == 0 ? put_unsent(in, key, sum, &rest, end_ns) : rc;
}

/* Passes all sums of a map, which no program uses any more, to ingest. struct wait_overflow_key has
 * the size of a key. */
static int put_sums(struct offcpu_bpf *w, struct ingest *in, int fd)
{
	uint64_t at = 0;
	bool is_first = true, is_last = false;
	int rc = 0;

	while (rc == 0 && !is_last) {
		uint32_t count = SUMS_BATCH;

		/* -ENOENT: the end of the map. */
		is_last = bpf_map_lookup_batch(fd, is_first ? NULL : &at, &at, w->keys, w->sums,
					       &count, NULL) < 0;
		if (is_last && errno != ENOENT)
			count = 0;
		is_first = false;
		for (uint32_t i = 0; rc == 0 && i < count; i++)
			rc = put_sum(in, w->keys[i], &w->sums[i], w->bpf->bss->now_ns);
	}
	return rc;
}

/* Replaces the map of sums by an empty one. The kernel waits until no program uses the old one. */
static int renew_sums(struct offcpu_bpf *w, int *ret_old)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "sums", sizeof(uint64_t),
				sizeof(struct wait_sum), WAIT_KEYS_MAX, NULL);
	uint32_t first = 0;

	*ret_old = w->sums_fd >= 0 ? w->sums_fd : bpf_map__fd(w->bpf->maps.sums);
	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(bpf_map__fd(w->bpf->maps.place), &first, &fd, BPF_ANY) < 0) {
		close(fd);
		return -errno;
	}
	w->sums_fd = fd;
	w->bpf->bss->keys = 0;
	return 0;
}

int offcpu_bpf_poll(struct offcpu_bpf *w, struct ingest *in)
{
	uint64_t lost = w->bpf->bss->lost_stacks + w->bpf->bss->lost_waits;
	int old, rc = ring_buffer__consume(w->ring);

	w->into = in;
	if (rc >= 0 && w->pieces)
		rc = ring_buffer__consume(w->pieces);
	if (buf_error(&w->queue) < 0 || rc == -ENOMEM)
		return -ENOMEM;
	ingest_count_lost_waits(in, lost - w->lost);
	w->lost = lost;
	if (rc < 0 || w->bpf->bss->keys < KEYS_MANY || renew_sums(w, &old) < 0)
		return 0;
	rc = put_sums(w, in, old);
	if (old != bpf_map__fd(w->bpf->maps.sums))
		close(old);
	return rc;
}

static void detach(struct wait_bpf *bpf)
{
	struct bpf_link **links[] = { &bpf->links.on_switch, &bpf->links.on_wakeup,
				      &bpf->links.on_fork, &bpf->links.on_exec };

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

int offcpu_bpf_end(struct offcpu_bpf *w, struct ingest *in, uint64_t time_ns)
{
	int rc;

	detach(w->bpf);
	w->bpf->bss->now_ns = time_ns;
	w->bpf->bss->is_end = true;
	visit_threads(w);
	rc = offcpu_bpf_poll(w, in);
	if (rc == 0 && w->python) /* after the stacks that the frames are sent before */
		rc = python_poll(w->python);
	if (rc == 0)
		rc = offcpu_bpf_put_stacks(w, in, UINT64_MAX);
	if (rc == 0)
		rc = put_sums(w, in, w->sums_fd >= 0 ? w->sums_fd : bpf_map__fd(w->bpf->maps.sums));
	if (rc == 0)
		rc = put_sums(w, in, bpf_map__fd(w->bpf->maps.overflow));
	return rc;
}
