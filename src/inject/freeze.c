/* SPDX-License-Identifier: MIT */
#include "inject/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/number.h"
#include "base/rows.h"
#include "inject/freeze_internal.h"
#include "target/proc.h"

/* A thread that needs longer waits for a stopped one (vfork), for storage, or for a CPU: the round
 * is given up. For a CPU, the next round is twice as long. */
#define ROUND_NS (100 * NS_PER_MS)
#define MAX_ROUND_NS (800 * NS_PER_MS)
#define MAX_LISTS 2048           /* descriptors for lists of children */
#define TICK_NS 50000            /* between polls of the threads that have not stopped */
#define MAX_PASSES 4             /* of seizing, while the job runs */
#define PAUSE_NS (5 * NS_PER_MS) /* at least, between rounds, so that the job makes progress */

struct freeze {
	struct rows threads; /* struct tracee; sorted by process once all are frozen */
	struct rows pids;    /* pid_t, ascending */
	struct rows numbers; /* int; scratch */
	struct rows lists;   /* int: open lists of children; -1: not open */
	struct map known;    /* tid: row of threads */
	struct rows hung;    /* struct freeze_hung */
	bool is_only;
	bool leaves_hung;
	int64_t since_ns; /* this round; CLOCK_MONOTONIC */
	int64_t round_ns; /* how long it may take */
	struct sched_param priority;
	int policy;
};

static struct tracee *thread_at(const struct freeze *h, size_t i)
{
	return (struct tracee *)h->threads.data + i;
}

struct tracee *freeze_tracees(struct freeze *h, size_t *ret_count)
{
	*ret_count = h->threads.count;
	return h->threads.data;
}

const pid_t *freeze_pids(const struct freeze *h, size_t *ret_count)
{
	*ret_count = h->pids.count;
	return h->pids.data;
}

const struct freeze_hung *freeze_hung(const struct freeze *h, size_t *ret_count)
{
	*ret_count = h->hung.count;
	return h->hung.data;
}

int64_t freeze_since_ns(const struct freeze *h)
{
	return h->since_ns;
}

/* Nothing should preempt us while the job is frozen. Without that privilege the pause only gets
 * longer. */
static void raise_priority(struct freeze *h)
{
	struct sched_param first = { .sched_priority = 1 };

	h->policy = sched_getscheduler(0);
	sched_getparam(0, &h->priority);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static void restore_priority(struct freeze *h)
{
	munlockall();
	if (h->policy >= 0)
		sched_setscheduler(0, h->policy, &h->priority);
}

static bool has_pid(const struct freeze *h, pid_t pid)
{
	const pid_t *pids = h->pids.data;

	for (size_t i = 0; i < h->pids.count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int add_pid(struct freeze *h, pid_t pid, struct err *e)
{
	pid_t *row;

	if (has_pid(h, pid))
		return 0;
	row = rows_add(&h->pids, sizeof *row);
	if (!row)
		return err_nomem(e);
	*row = pid;
	return 0;
}

/* text: "12 13 ". */
static int add_list(struct freeze *h, const char *at, const char *end, struct err *e)
{
	while (at < end) {
		pid_t child = 0;

		for (; at < end && number_is_digit(*at); at++)
			child = child * 10 + (*at - '0');
		at++;
		/* This process may be a child of the job. It cannot freeze itself. */
		if (child > 0 && child != getpid() && add_pid(h, child, e) < 0)
			return e->code;
	}
	return 0;
}

/* Opens the list of the thread's children, which every pass reads again. */
static int open_children(struct freeze *h, const struct tracee *t)
{
	char path[PROC_PATH];
	int fd, *row = !h->is_only && h->lists.count < MAX_LISTS ? rows_add(&h->lists, sizeof *row)
								 : NULL;

	if (!row)
		return -1;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)t->pid, (int)t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*row = fd;
	return fd;
}

static void close_lists(struct freeze *h)
{
	for (size_t i = 0; i < h->lists.count; i++)
		if (((const int *)h->lists.data)[i] >= 0)
			close(((const int *)h->lists.data)[i]);
	h->lists.count = 0;
}

/* Adds the current children of the thread. Most threads have few. */
static int add_children(struct freeze *h, const struct tracee *t, struct err *e)
{
	CLEANUP(file_input_fini) struct file_input all = { 0 };
	char path[PROC_PATH], few[512];
	struct err ignored;
	ssize_t len = t->children >= 0 ? pread(t->children, few, sizeof few, 0) : -1;

	if (len >= 0 &&
	    (size_t)len < sizeof few - 32) /* the kernel ends its answer between two numbers */
		return add_list(h, few, few + len, e);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)t->pid, (int)t->tid);
	if (file_load(path, &all, &ignored) < 0)
		return 0; /* the thread ended */
	return add_list(h, (const char *)all.data, (const char *)all.data + all.len, e);
}

/* Stores t in a new row, or in the row that its tid had before. */
static int store_thread(struct freeze *h, const struct tracee *t, struct err *e)
{
	uint32_t *known = map_at(&h->known, (uint64_t)t->tid);
	struct tracee *row;

	if (!known)
		return err_nomem(e);
	if (*known == MAP_NONE) {
		row = rows_add(&h->threads, sizeof *row);
		if (!row)
			return err_nomem(e);
		*known = (uint32_t)(h->threads.count - 1);
	}
	*thread_at(h, *known) = *t;
	return 0;
}

static struct tracee *find_thread(const struct freeze *h, pid_t tid)
{
	uint32_t row = map_get(&h->known, (uint64_t)tid);

	return row != MAP_NONE && thread_at(h, row)->state != TRACEE_GONE ? thread_at(h, row)
									  : NULL;
}

static int seize_thread(struct freeze *h, pid_t pid, pid_t tid, bool stops, struct err *e)
{
	struct tracee t;

	if (tracee_seize(&t, pid, tid, e) < 0)
		return e->code;
	if (stops)
		tracee_interrupt(&t);
	t.children = open_children(h, &t);
	return store_thread(h, &t, e);
}

/* Seizes the new threads of pid and adds its children. stops: interrupts them, too. */
static int seize_process(struct freeze *h, pid_t pid, bool stops, bool *found_new, struct err *e)
{
	char path[PROC_PATH];
	int *tids;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	h->numbers.count = 0;
	if (proc_numbers(path, &h->numbers) == -ENOMEM)
		return err_nomem(e);
	tids = h->numbers.data;
	for (size_t i = 0; i < h->numbers.count; i++) {
		const struct tracee *t = find_thread(h, tids[i]);
		int rc;

		if (t && !h->is_only && add_children(h, t, e) < 0)
			return e->code;
		if (t)
			continue;
		rc = seize_thread(h, pid, tids[i], stops, e);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		*found_new |= rc == 0; /* the next pass reads its children */
	}
	return 0;
}

/* One pass over all known processes, and over children that it finds. */
static int seize_all(struct freeze *h, bool stops, bool *found_new, struct err *e)
{
	*found_new = false;
	for (size_t i = 0; i < h->pids.count; i++)
		if (seize_process(h, ((pid_t *)h->pids.data)[i], stops, found_new, e) < 0)
			return e->code;
	return 0;
}

/* A thread that has not stopped; NULL: all have stopped. */
static struct tracee *find_running(const struct freeze *h)
{
	for (size_t i = 0; i < h->threads.count; i++) {
		struct tracee *t = thread_at(h, i);

		tracee_poll(t);
		if (t->state == TRACEE_SEIZED && !t->hangs)
			return t;
	}
	return NULL;
}

/* Polls instead of waiting for SIGCHLD: one wakeup for each of hundreds of threads takes longer. */
static struct tracee *wait_stopped(const struct freeze *h, int64_t until_ns)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct tracee *t;

	while ((t = find_running(h)) && clock_mono_ns() < until_ns)
		nanosleep(&tick, NULL);
	return t;
}

/* Detaches all stopped threads. Those that have not stopped stay seized for the next round. The
 * lists of children are invalid afterwards. */
static void detach_stopped(struct freeze *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->threads.count; i++) {
		struct tracee *t = thread_at(h, i);

		tracee_poll(t);
		if (t->state == TRACEE_STOPPED)
			tracee_detach(t);
		t->children = -1;
		if (t->state == TRACEE_SEIZED)
			*thread_at(h, kept++) = *t;
	}
	h->threads.count = kept;
	map_clear(&h->known);
	for (size_t i = 0; i < kept; i++)
		(void)!map_put(&h->known, (uint64_t)thread_at(h, i)->tid, (uint32_t)i);
}

/* Has one of the threads that were late stopped, or ended? */
static bool has_late_stopped(const struct freeze *h)
{
	bool is_any = false;

	for (size_t i = 0; i < h->threads.count; i++) {
		tracee_poll(thread_at(h, i));
		is_any |= thread_at(h, i)->state != TRACEE_SEIZED;
	}
	return is_any;
}

/* Lets the job run until a thread that was late has stopped: a round before that would find it
 * where it was, in vfork(2) for example, whose child needs time to run where the CPUs are busy. */
static void wait_late(const struct freeze *h, int64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	do
		nanosleep(&pause, NULL);
	while (!has_late_stopped(h) && clock_mono_ns() < until_ns);
}

static void read_wchan(pid_t tid, char *ret, size_t size)
{
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/%d/wchan", (int)tid);
	if (!file_read_start(path, ret, size) || !*ret)
		snprintf(ret, size, "?");
}

/* Is it a thread that storage keeps, and may be left out? */
static bool leave_hung(struct freeze *h, struct tracee *t)
{
	struct proc_stat s = { .state = '?' };
	struct freeze_hung *row;

	if (!h->leaves_hung || !proc_stat_read(&s, t->tid) || s.state != 'D')
		return false;
	row = rows_add(&h->hung, sizeof *row);
	if (!row)
		return false;
	row->pid = t->pid;
	row->tid = t->tid;
	read_wchan(t->tid, row->wchan, sizeof row->wchan);
	t->hangs = true;
	return true;
}

static int report_running(struct freeze *h, const struct tracee *t, struct err *e)
{
	char wchan[64];
	struct proc_stat s = { .state = '?' };

	proc_stat_read(&s, t->tid);
	read_wchan(t->tid, wchan, sizeof wchan);
	if (s.state == 'R' && h->round_ns < MAX_ROUND_NS)
		h->round_ns *= 2;
	return err_set(e, -EBUSY,
		       "process %d (%s) does not stop: thread %d is in state %c, waiting in %s",
		       (int)t->pid, s.comm, (int)t->tid, s.state, wchan);
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_threads(const void *a, const void *b)
{
	const struct tracee *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Keeps the stopped threads and drops those that ended. */
static void collect_stopped(struct freeze *h)
{
	pid_t *pids = h->pids.data;
	size_t kept = 0;

	for (size_t i = 0; i < h->threads.count; i++)
		if (thread_at(h, i)->state == TRACEE_STOPPED)
			*thread_at(h, kept++) = *thread_at(h, i);
	h->threads.count = kept;
	if (kept)
		qsort(h->threads.data, kept, sizeof(struct tracee), compare_threads);
	h->pids.count = 0;
	for (size_t i = 0; i < kept; i++)
		if (i == 0 || thread_at(h, i)->pid != thread_at(h, i - 1)->pid)
			pids[h->pids.count++] = thread_at(h, i)->pid;
	if (kept)
		qsort(pids, h->pids.count, sizeof *pids, compare_pids);
}

/* Seizes all threads while the job still runs, so that the pause need not search them. */
static int seize_running(struct freeze *h, struct err *e)
{
	bool found_new = true;

	for (int i = 0; i < MAX_PASSES && found_new; i++)
		if (seize_all(h, false, &found_new, e) < 0)
			return e->code;
	for (size_t i = 0; i < h->threads.count; i++)
		tracee_poll(thread_at(h, i)); /* passes on signals that wait for us */
	return 0;
}

/* 0: all are frozen. -EAGAIN: a thread does not stop, and the job runs again. */
static int try_round(struct freeze *h, struct err *e)
{
	struct tracee *late;
	bool found_new;
	int64_t until_ns;

	if (seize_running(h, e) < 0)
		return e->code;
	h->since_ns = clock_mono_ns();
	until_ns = h->since_ns + h->round_ns;
	for (size_t i = 0; i < h->threads.count; i++)
		tracee_interrupt(thread_at(h, i));
	do {
		do
			late = wait_stopped(h, until_ns);
		while (late && leave_hung(h, late));
		if (late) {
			report_running(h, late, e);
			detach_stopped(h);
			close_lists(h);
			return -EAGAIN;
		}
		/* Threads and children that started meanwhile. */
		if (seize_all(h, true, &found_new, e) < 0)
			return e->code;
	} while (found_new);
	return 0;
}

static int begin(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
		 bool leaves_hung, int64_t limit_ns, struct err *e)
{
	int64_t until_ns = clock_mono_ns() + limit_ns;
	struct freeze *h = calloc(1, sizeof *h);
	int rc = 0;

	if (!h)
		return err_nomem(e);
	h->is_only = is_only;
	h->leaves_hung = leaves_hung;
	h->round_ns = ROUND_NS;
	raise_priority(h);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_pid(h, pids[i], e);
	while (rc == 0 && (rc = try_round(h, e)) == -EAGAIN) {
		if (clock_mono_ns() >= until_ns)
			break;
		wait_late(h, until_ns);
		rc = 0;
	}
	if (rc == 0) {
		collect_stopped(h);
		if (!h->pids.count)
			rc = err_set(e, -ESRCH, "the job has ended");
	}
	if (rc < 0) {
		rc = e->code;
		freeze_thaw(h);
		return rc;
	}
	*ret = h;
	return 0;
}

int freeze_begin(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
		 int64_t limit_ns, struct err *e)
{
	return begin(ret, pids, count, is_only, false, limit_ns, e);
}

int freeze_begin_around_hung(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
			     int64_t limit_ns, struct err *e)
{
	return begin(ret, pids, count, is_only, true, limit_ns, e);
}

static int stop_one(struct freeze *h, pid_t pid, pid_t tid, int64_t limit_ns, struct err *e)
{
	struct tracee t, *late;

	if (add_pid(h, pid, e) < 0 || tracee_seize(&t, pid, tid, e) < 0)
		return e->code;
	tracee_interrupt(&t);
	if (store_thread(h, &t, e) < 0)
		return e->code;
	h->since_ns = clock_mono_ns();
	late = wait_stopped(h, h->since_ns + limit_ns);
	if (late)
		return report_running(h, late, e);
	collect_stopped(h);
	return h->threads.count ? 0 : err_set(e, -ESRCH, "thread %d has ended", (int)tid);
}

int freeze_begin_thread(struct freeze **ret, pid_t pid, pid_t tid, int64_t limit_ns, struct err *e)
{
	struct freeze *h = calloc(1, sizeof *h);

	if (!h)
		return err_nomem(e);
	raise_priority(h);
	if (stop_one(h, pid, tid, limit_ns, e) < 0) {
		freeze_thaw(h);
		return e->code;
	}
	*ret = h;
	return 0;
}

int64_t freeze_thaw(struct freeze *h)
{
	int64_t at_ns;

	if (!h)
		return 0;
	detach_stopped(h);
	at_ns = clock_mono_ns();
	restore_priority(h);
	close_lists(h);
	map_fini(&h->known);
	rows_fini(&h->threads);
	rows_fini(&h->pids);
	rows_fini(&h->numbers);
	rows_fini(&h->lists);
	rows_fini(&h->hung);
	free(h);
	return at_ns;
}
