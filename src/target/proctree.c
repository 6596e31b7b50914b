/* SPDX-License-Identifier: MIT */
#include "target/proctree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "target/proc.h"

#define RECENT_SCANS 2 /* scans that an exit event may be ahead of or behind */
#define PF_EXITING 0x4 /* the exit event of the first thread has come or will come */

/* An exit event, and the number of scans before it. */
struct pending_exit {
	struct exit_record exit;
	int64_t scan;
};

void proctree_fini(struct proctree *t)
{
	rows_fini(&t->processes);
	rows_fini(&t->pending_exits);
	rows_fini(&t->foreign);
	map_fini(&t->latest);
	map_fini(&t->run_wait_index);
	rows_fini(&t->run_waits);
}

void proctree_reset(struct proctree *t)
{
	t->processes.count = t->run_waits.count = t->pending_exits.count = 0;
	map_clear(&t->latest);
	map_clear(&t->run_wait_index);
	t->peak_rss_bytes = t->peak_anon_bytes = t->peak_count = t->scans = 0;
}

/* As file_read_start. 0: the process is gone. */
static size_t read_start(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return file_read_start(path, text, size);
}

static int64_t ns_of_ticks(uint64_t ticks)
{
	return (int64_t)(ticks * (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK)));
}

static int64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A process that its parent is waiting for still has a stat, with parent 0, group -1, no times. */
static bool read_stat(pid_t pid, struct proc_stat *ret)
{
	return proc_stat_read(ret, pid) && ret->group >= 0;
}

/* The last that had this number. */
static struct process *find_latest(const struct proctree *t, pid_t pid)
{
	uint32_t index = map_get(&t->latest, (uint64_t)pid);

	return index == MAP_NONE ? NULL : (struct process *)t->processes.data + index;
}

static bool is_recent(const struct proctree *t, const struct process *p)
{
	return t->scans - p->last_scan <= RECENT_SCANS;
}

static struct process *find(const struct proctree *t, pid_t pid, uint64_t start)
{
	struct process *p = find_latest(t, pid);

	if (p && !p->start && is_recent(t, p))
		p->start = start; /* its exit event came before its first scan */
	return p && p->start == start ? p : NULL;
}

static void read_command(struct process *p)
{
	char text[PROCTREE_COMMAND_MAX];
	size_t len = read_start(p->pid, "cmdline", text, sizeof text);

	while (len && text[len - 1] == '\0')
		len--;
	if (!len)
		return; /* a kernel thread, or ending */
	for (size_t i = 0; i < len; i++)
		p->command[i] = text[i] ? text[i] : ' ';
	p->command[len] = '\0';
}

static int64_t bytes_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) * 1024 : 0;
}

/* The memory of one that is ending is gone before it is. */
static void read_memory(struct proctree *t, struct process *p)
{
	char text[4096];
	int64_t peak;

	if (!read_start(p->pid, "status", text, sizeof text))
		return;
	peak = bytes_after(text, "\nVmHWM:");
	if (peak)
		p->peak_rss_bytes = peak;
	t->anon_bytes += bytes_after(text, "\nRssAnon:");
}

/* The wait that a thread has in addition since it was seen last. A number that is used again
 * begins anew. */
static int add_wait(struct proctree *t, struct process *p, pid_t tid, int64_t wait)
{
	uint32_t *index = map_at(&t->run_wait_index, map_pair((uint32_t)p->pid, (uint32_t)tid));
	int64_t *last;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		if (!rows_add(&t->run_waits, sizeof *last))
			return -ENOMEM;
		*index = (uint32_t)(t->run_waits.count - 1);
	}
	last = (int64_t *)t->run_waits.data + *index;
	if (p->run_wait_ns < 0)
		p->run_wait_ns = 0;
	p->run_wait_ns += wait < *last ? wait : wait - *last;
	*last = wait;
	return 0;
}

static int read_thread_wait(struct proctree *t, struct process *p, pid_t tid)
{
	char name[64], text[64];
	unsigned long long wait;

	snprintf(name, sizeof name, "task/%d/schedstat", (int)tid);
	if (!read_start(p->pid, name, text, sizeof text) || sscanf(text, "%*u %llu", &wait) != 1)
		return 0;
	return add_wait(t, p, tid, (int64_t)wait);
}

static int read_waiting(struct proctree *t, struct process *p, unsigned long long threads)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid;
	int rc = 0;

	if (threads <= 1)
		return read_thread_wait(t, p, p->pid);
	rc = proc_open_threads("/proc", (uint32_t)p->pid, &dir);
	while (rc == 0 && proc_next(dir, &tid))
		rc = read_thread_wait(t, p, (pid_t)tid);
	return rc;
}

static void take_use(struct process *p, const struct proc_stat *stat)
{
	p->own = (struct process_use){ ns_of_ticks(stat->user_ticks),
				       ns_of_ticks(stat->system_ticks), (int64_t)stat->minor_faults,
				       (int64_t)stat->major_faults };
	p->reaped = (struct process_use){ ns_of_ticks(stat->reaped_user_ticks),
					  ns_of_ticks(stat->reaped_system_ticks),
					  (int64_t)stat->reaped_minor_faults,
					  (int64_t)stat->reaped_major_faults };
}

static void read_io(struct process *p)
{
	struct proc_io io;
	char number[16];

	snprintf(number, sizeof number, "%d", (int)p->pid);
	proc_io_read(number, &io);
	if (io.has_value) /* else it has ended, or is not readable */
		p->io = io;
}

/* start 0: not known. */
static struct process *add_process(struct proctree *t, pid_t pid, uint64_t start, pid_t parent)
{
	struct process *p = rows_add(&t->processes, sizeof *p);

	if (!p || map_put(&t->latest, (uint64_t)pid, (uint32_t)(t->processes.count - 1)) < 0)
		return NULL;
	p->pid = pid;
	p->start = start;
	p->parent = parent;
	p->run_wait_ns = -1;
	return p;
}

static void take_before(struct process *p)
{
	p->own_before = p->own;
	p->reaped_before = p->reaped;
	p->io_before = p->io;
	p->run_wait_before_ns = p->run_wait_ns > 0 ? p->run_wait_ns : 0;
}

/* A thread that executes a program ends the first one, and is that from then on. */
static bool lives_on(const struct process *p, const struct proc_stat *stat)
{
	return p->is_alive && !(stat->flags & PF_EXITING);
}

static int take(struct proctree *t, pid_t pid, const struct proc_stat *stat)
{
	struct process *p = find(t, pid, stat->start_ticks);
	bool is_first = !p && t->scans == 0;

	if (!p)
		p = add_process(t, pid, stat->start_ticks, stat->parent);
	if (!p)
		return -ENOMEM;
	p->is_alive = stat->state != 'Z' && stat->state != 'X';
	p->last_scan = t->scans;
	snprintf(p->name, sizeof p->name, "%s", stat->name);
	p->has_ended &= !lives_on(p, stat);
	if (p->has_ended)
		return 0;
	take_use(p, stat);
	if ((int64_t)stat->threads > p->threads)
		p->threads = (int64_t)stat->threads;
	if (read_waiting(t, p, stat->threads) < 0)
		return -ENOMEM;
	if (t->has_io)
		read_io(p);
	if (is_first)
		take_before(p);
	if (!p->command[0])
		snprintf(p->command, sizeof p->command, "[%s]", stat->name);
	if (!p->is_alive && p->wall_ns)
		return 0;
	p->wall_ns = boot_ns() - ns_of_ticks(stat->start_ticks);
	read_command(p);
	read_memory(t, p);
	return 0;
}

/* One of all processes of the machine. */
struct seen {
	pid_t pid;
	struct proc_stat stat; /* unless it is foreign */
	bool is_ours, is_foreign;
};

/* A process outside the tree stays outside, so a scan skips those of the last scan, until their
 * exit. /proc lists pids in ascending order, and so does foreign. */
static bool was_foreign(const struct proctree *t, size_t *at, pid_t pid)
{
	const pid_t *all = t->foreign.data;

	while (*at < t->foreign.count && all[*at] < pid)
		++*at;
	return *at < t->foreign.count && all[*at] == pid;
}

static int list_all(const struct proctree *t, struct rows *ret, struct err *e)
{
	CLEANUP(proc_close) DIR *dir = opendir("/proc");
	uint32_t pid;
	size_t at = 0;
	int rc = 0;

	if (!dir)
		return errno == ENOMEM ? err_nomem(e) : err_errno(e, "/proc");
	while (rc == 0 && proc_next(dir, &pid)) {
		struct seen one = { .pid = (pid_t)pid };
		struct seen *row;

		one.is_foreign = was_foreign(t, &at, one.pid);
		if (!one.is_foreign && !read_stat(one.pid, &one.stat))
			continue;
		row = rows_add(ret, sizeof *row);
		if (!row)
			rc = err_nomem(e);
		else
			*row = one;
	}
	return rc;
}

static bool has_pid(const struct rows *pids, pid_t pid)
{
	const pid_t *all = pids->data;

	for (size_t i = 0; i < pids->count; i++)
		if (all[i] == pid)
			return true;
	return false;
}

static int add_pid(struct rows *pids, pid_t pid, struct err *e)
{
	pid_t *row = rows_add(pids, sizeof *row);

	if (!row)
		return err_nomem(e);
	*row = pid;
	return 0;
}

static bool is_root(const struct proctree *t, pid_t pid)
{
	for (size_t i = 0; i < t->root_count; i++)
		if (t->roots[i] == pid)
			return true;
	return t->has_all;
}

static int find_roots(const struct proctree *t, struct seen *all, size_t count, struct rows *ours,
		      struct err *e)
{
	if (!t->roots && !t->has_all)
		return add_pid(ours, getpid(), e);
	for (size_t i = 0; i < count; i++) {
		if (!is_root(t, all[i].pid) || all[i].is_foreign)
			continue;
		all[i].is_ours = true;
		if (add_pid(ours, all[i].pid, e) < 0)
			return e->code;
	}
	return 0;
}

/* Numbers wrap around, so a child may be listed before its parent: repeat until nothing is new. */
static int find_ours(const struct proctree *t, struct seen *all, size_t count, struct err *e)
{
	CLEANUP(rows_fini) struct rows ours = { 0 };
	size_t before;

	if (find_roots(t, all, count, &ours, e) < 0)
		return e->code;
	if (t->has_all)
		return 0;
	do {
		before = ours.count;
		for (size_t i = 0; i < count; i++) {
			if (all[i].is_foreign || all[i].is_ours ||
			    !has_pid(&ours, all[i].stat.parent))
				continue;
			all[i].is_ours = true;
			if (add_pid(&ours, all[i].pid, e) < 0)
				return e->code;
		}
	} while (ours.count > before);
	return 0;
}

static int take_foreign(struct proctree *t, const struct seen *all, size_t count, struct err *e)
{
	int rc = 0;

	t->foreign.count = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		if (!all[i].is_ours && !(all[i].stat.flags & PF_EXITING))
			rc = add_pid(&t->foreign, all[i].pid, e);
	return rc;
}

static int take_ours(struct proctree *t, const struct seen *all, size_t count, struct err *e)
{
	int64_t rss_bytes = 0, alive = 0;

	t->anon_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		if (!all[i].is_ours)
			continue;
		if (take(t, all[i].pid, &all[i].stat) < 0)
			return err_nomem(e);
		rss_bytes += (int64_t)all[i].stat.rss_pages * sysconf(_SC_PAGESIZE);
		alive += all[i].stat.state != 'Z' && all[i].stat.state != 'X';
	}
	if (rss_bytes > t->peak_rss_bytes)
		t->peak_rss_bytes = rss_bytes;
	if (t->anon_bytes > t->peak_anon_bytes)
		t->peak_anon_bytes = t->anon_bytes;
	if (alive > t->peak_count)
		t->peak_count = alive;
	t->scans++;
	return 0;
}

/* Usage before the first scan cannot be subtracted from exit events, which count differently. */
static bool was_before(const struct proctree *t, const struct process *p)
{
	const struct process_use *before = &p->own_before;

	return t->has_all && (before->user_ns || before->system_ns || before->minor_faults);
}

/* Adds a thread's exit; that of the first thread completes the process. */
static void take_exit(const struct proctree *t, struct process *p, const struct exit_record *r)
{
	p->ended.user_ns += r->user_ns;
	p->ended.system_ns += r->system_ns;
	p->ended.minor_faults += r->minor_faults;
	p->ended.major_faults += r->major_faults;
	p->ended_wait_ns += r->run_wait_ns;
	if (r->peak_rss_bytes > p->peak_rss_bytes)
		p->peak_rss_bytes = r->peak_rss_bytes;
	if (r->tid == r->pid) {
		p->has_ended = true;
		p->wall_ns = r->wall_ns;
		snprintf(p->name, sizeof p->name, "%s", r->name);
	}
	if (!p->command[0] || (!p->start && r->tid == r->pid)) /* threads have names of their own */
		snprintf(p->command, sizeof p->command, "[%s]", r->name);
	if (!p->has_ended || was_before(t, p))
		return;
	p->own = p->ended;
	p->run_wait_ns = p->ended_wait_ns;
}

/* Is the process of the record known? Later its number may be in use again. */
static bool take_known_exit(struct proctree *t, const struct exit_record *r)
{
	struct process *p = find_latest(t, r->pid);

	if (!p || (p->has_ended && !is_recent(t, p)))
		return false;
	take_exit(t, p, r);
	return true;
}

static int compare_pids(const void *a, const void *b)
{
	return (*(const pid_t *)a > *(const pid_t *)b) - (*(const pid_t *)a < *(const pid_t *)b);
}

static pid_t *find_foreign(const struct proctree *t, pid_t pid)
{
	return t->foreign.count
		       ? bsearch(&pid, t->foreign.data, t->foreign.count, sizeof pid, compare_pids)
		       : NULL;
}

/* Whoever has its number from now on may be ours. */
static void forget_foreign(struct proctree *t, pid_t pid)
{
	pid_t *at = find_foreign(t, pid);
	const pid_t *end;

	if (!at)
		return;
	end = (pid_t *)t->foreign.data + t->foreign.count;
	memmove(at, at + 1, (size_t)(end - at - 1) * sizeof *at);
	t->foreign.count--;
}

/* Reads the exit events since the last scan. */
static int take_exits(struct proctree *t, struct err *e)
{
	struct exit_record r;

	while (t->exits && exit_events_next(t->exits, &r)) {
		struct pending_exit *row;

		if (r.tid == r.pid)
			forget_foreign(t, r.pid);
		if (take_known_exit(t, &r))
			continue;
		row = rows_add(&t->pending_exits, sizeof *row);
		if (!row)
			return err_nomem(e);
		*row = (struct pending_exit){ r, t->scans };
	}
	return 0;
}

/* Whose child ended lived then. */
static bool is_parent(const struct proctree *t, pid_t pid)
{
	const struct process *p = find_latest(t, pid);

	return (!t->roots && pid == getpid()) || (p && is_recent(t, p));
}

/* *ret_is_placed: it is ours. */
static int place(struct proctree *t, const struct exit_record *r, bool *ret_is_placed)
{
	struct process *p;

	*ret_is_placed = take_known_exit(t, r);
	if (*ret_is_placed || !is_parent(t, r->parent))
		return 0;
	p = add_process(t, r->pid, 0, r->parent);
	if (!p)
		return -ENOMEM;
	p->last_scan = t->scans;
	take_exit(t, p, r);
	*ret_is_placed = true;
	return 0;
}

static bool is_hopeless(const struct proctree *t, const struct pending_exit *u)
{
	return find_foreign(t, u->exit.parent) || t->scans - u->scan > RECENT_SCANS;
}

/* Retries exit events of unknown processes: a scan, or the exit of the parent, may have added them
 * since. */
static int place_exits(struct proctree *t, struct err *e)
{
	struct pending_exit *all = t->pending_exits.data;
	size_t before;

	do {
		size_t kept = 0;

		before = t->pending_exits.count;
		for (size_t i = 0; i < before; i++) {
			bool is_placed;

			if (place(t, &all[i].exit, &is_placed) < 0)
				return err_nomem(e);
			if (!is_placed && !is_hopeless(t, &all[i]))
				all[kept++] = all[i];
		}
		t->pending_exits.count = kept;
	} while (t->pending_exits.count < before);
	return 0;
}

int proctree_scan(struct proctree *t, struct err *e)
{
	CLEANUP(rows_fini) struct rows seen = { 0 };
	struct process *known;
	int rc = take_exits(t, e);

	known = t->processes.data;
	if (rc == 0)
		rc = list_all(t, &seen, e);

	for (size_t i = 0; i < t->processes.count; i++)
		known[i].is_alive = false;
	if (rc == 0)
		rc = find_ours(t, seen.data, seen.count, e);
	if (rc == 0)
		rc = take_foreign(t, seen.data, seen.count, e);
	if (rc == 0)
		rc = take_ours(t, seen.data, seen.count, e);
	return rc < 0 ? rc : place_exits(t, e);
}
