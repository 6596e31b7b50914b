/* SPDX-License-Identifier: MIT */
#include "perf/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define ENDED_KEPT 256      /* threads that are kept behind their end */
#define IDLE_COMM "swapper" /* of what runs when nothing does, tid 0; as the kernel calls it */

/* Slots with ids of their own. A slot that is free is on the list of free ones. */
struct slots {
	uint32_t *free; /* [cap], [0..free_count) hold; owned */
	size_t free_count, cap;
};

struct ended {
	uint32_t index, serial; /* of the thread */
};

struct tasks {
	struct thread *threads;    /* [thread_cap]; owned */
	struct process *processes; /* [process_cap]; owned */
	size_t thread_cap, process_cap;
	struct slots free_threads, free_processes;
	size_t thread_count;            /* in use */
	struct map by_tid, by_pid;      /* to index; MAP_NONE: was in use */
	uint64_t versions;              /* of maps */
	struct ended ended[ENDED_KEPT]; /* a ring */
	size_t next_ended;
	uint32_t next_serial;
};

struct tasks *tasks_new(void)
{
	struct tasks *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	for (size_t i = 0; i < ENDED_KEPT; i++)
		t->ended[i].index = TASKS_NONE;
	return t;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->thread_cap; i++)
		stitch_fini(&t->threads[i].stitch);
	for (size_t i = 0; i < t->process_cap; i++)
		maps_unref(t->processes[i].maps);
	free(t->processes);
	free(t->threads);
	free(t->free_threads.free);
	free(t->free_processes.free);
	map_fini(&t->by_tid);
	map_fini(&t->by_pid);
	free(t);
}

/* Doubles an array of rows and puts the new slots on the free list, lowest on top. */
static int slots_grow(struct slots *s, void **rows, size_t *cap, size_t row_bytes)
{
	size_t new_cap = *cap ? 2 * *cap : 64;
	uint32_t *list;
	void *data;

	if (new_cap >= TASKS_NONE)
		return -ENOMEM;
	list = reallocarray(s->free, new_cap, sizeof *list);
	if (!list)
		return -ENOMEM;
	s->free = list;
	data = reallocarray(*rows, new_cap, row_bytes);
	if (!data)
		return -ENOMEM;
	memset((char *)data + *cap * row_bytes, 0, (new_cap - *cap) * row_bytes);
	for (size_t i = new_cap; i > *cap; i--)
		s->free[s->free_count++] = (uint32_t)(i - 1);
	*rows = data;
	*cap = new_cap;
	return 0;
}

/* Keys are never taken out of a map; a map that is mostly keys of the past is made anew. */
static int map_sweep(struct map *m, size_t live)
{
	struct map fresh = { 0 };

	if (m->count < 2 * live + 1024)
		return 0;
	for (size_t i = 0; i < m->cap; i++) {
		if (!m->slots[i].used || m->slots[i].value == MAP_NONE)
			continue;
		if (map_put(&fresh, m->slots[i].key, m->slots[i].value) < 0) {
			map_fini(&fresh);
			return -ENOMEM;
		}
	}
	map_fini(m);
	*m = fresh;
	return 0;
}

static uint32_t add_process(struct tasks *t, uint32_t pid, struct maps *maps)
{
	struct maps *own = maps ? maps_ref(maps) : maps_new(&t->versions);
	void *rows = t->processes;
	uint32_t i;

	if (!own)
		return TASKS_NONE;
	if (t->free_processes.free_count == 0 &&
	    slots_grow(&t->free_processes, &rows, &t->process_cap, sizeof *t->processes) < 0)
		goto fail;
	t->processes = rows;
	i = t->free_processes.free[t->free_processes.free_count - 1];
	if (map_sweep(&t->by_pid, t->thread_count) < 0 || map_put(&t->by_pid, pid, i) < 0)
		goto fail;
	t->free_processes.free_count--;
	t->processes[i] = (struct process){ .pid = pid, .maps = own };
	return i;

fail:
	maps_unref(own);
	return TASKS_NONE;
}

static void drop_process(struct tasks *t, uint32_t i)
{
	struct process *p = &t->processes[i];

	maps_unref(p->maps);
	p->maps = NULL;
	if (map_get(&t->by_pid, p->pid) == i)
		*map_at(&t->by_pid, p->pid) = MAP_NONE; /* the key is there: cannot fail */
	t->free_processes.free[t->free_processes.free_count++] = i;
}

static void drop_thread(struct tasks *t, uint32_t i)
{
	struct thread *th = &t->threads[i];
	uint32_t process = th->process;

	if (map_get(&t->by_tid, th->tid) == i)
		*map_at(&t->by_tid, th->tid) = MAP_NONE; /* the key is there: cannot fail */
	stitch_fini(&th->stitch);
	*th = (struct thread){ 0 };
	t->free_threads.free[t->free_threads.free_count++] = i;
	t->thread_count--;
	if (--t->processes[process].threads == 0)
		drop_process(t, process);
}

static uint32_t add_thread(struct tasks *t, uint32_t tid, uint32_t process, const char *comm)
{
	void *rows = t->threads;
	uint32_t i;

	if (t->free_threads.free_count == 0 &&
	    slots_grow(&t->free_threads, &rows, &t->thread_cap, sizeof *t->threads) < 0)
		return TASKS_NONE;
	t->threads = rows;
	i = t->free_threads.free[t->free_threads.free_count - 1];
	if (map_sweep(&t->by_tid, t->thread_count) < 0 || map_put(&t->by_tid, tid, i) < 0)
		return TASKS_NONE;
	t->free_threads.free_count--;
	t->thread_count++;
	t->threads[i] = (struct thread){
		.pid = t->processes[process].pid,
		.tid = tid,
		.process = process,
		.serial = t->next_serial++,
		.is_used = true,
	};
	snprintf(t->threads[i].comm, TASKS_COMM_BYTES, "%s", comm);
	t->processes[process].threads++;
	return i;
}

/* A thread in a process, which is dropped when it has no other and this fails. */
static uint32_t join(struct tasks *t, uint32_t tid, uint32_t process, const char *comm)
{
	uint32_t i;

	if (process == TASKS_NONE)
		return TASKS_NONE;
	i = add_thread(t, tid, process, comm);
	if (i == TASKS_NONE && t->processes[process].threads == 0)
		drop_process(t, process);
	return i;
}

uint32_t tasks_get(struct tasks *t, uint32_t pid, uint32_t tid, bool *ret_is_new_process)
{
	uint32_t i = map_get(&t->by_tid, tid);
	uint32_t process;

	*ret_is_new_process = false;
	if (i != MAP_NONE && t->threads[i].pid == pid)
		return i;
	if (i != MAP_NONE)
		drop_thread(t, i); /* its end was lost, and the id is used again */
	process = map_get(&t->by_pid, pid);
	if (process == MAP_NONE) {
		process = add_process(t, pid, NULL);
		*ret_is_new_process = process != TASKS_NONE;
	}
	return join(t, tid, process, tid ? "" : IDLE_COMM);
}

struct thread *tasks_thread(struct tasks *t, uint32_t index)
{
	return &t->threads[index];
}

struct process *tasks_process(struct tasks *t, uint32_t index)
{
	return &t->processes[index];
}

int tasks_fork(struct tasks *t, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	bool is_new;
	uint32_t parent = tasks_get(t, ppid, ptid, &is_new);
	uint32_t old = map_get(&t->by_tid, tid);
	char comm[TASKS_COMM_BYTES];
	uint32_t process;

	if (parent == TASKS_NONE)
		return -ENOMEM;
	if (old == parent)
		return 0; /* a process is not its own parent: made-up input */
	if (old != MAP_NONE)
		drop_thread(t, old); /* its end was lost, or it was seen in /proc already */
	process = t->threads[parent].process;
	memcpy(comm, t->threads[parent].comm, sizeof comm);
	if (pid != ppid)
		process = add_process(t, pid, t->processes[process].maps);
	return join(t, tid, process, comm) == TASKS_NONE ? -ENOMEM : 0;
}

int tasks_name(struct tasks *t, uint32_t pid, uint32_t tid, const char *name, size_t len)
{
	bool is_new;
	uint32_t i = tasks_get(t, pid, tid, &is_new);
	struct thread *th;

	if (i == TASKS_NONE)
		return -ENOMEM;
	th = &t->threads[i];
	len = len < TASKS_COMM_BYTES ? len : TASKS_COMM_BYTES - 1;
	if (len)
		memcpy(th->comm, name, len);
	th->comm[len] = '\0';
	th->labels = 0;
	return 0;
}

/* The other threads of a process that has more than one die by an exec. */
static void drop_others(struct tasks *t, uint32_t index)
{
	uint32_t process = t->threads[index].process;

	for (uint32_t i = 0; i < t->thread_cap && t->processes[process].threads > 1; i++)
		if (i != index && t->threads[i].is_used && t->threads[i].process == process)
			drop_thread(t, i);
}

int tasks_exec(struct tasks *t, uint32_t pid, uint32_t tid)
{
	bool is_new;
	uint32_t i = tasks_get(t, pid, tid, &is_new);
	struct process *p;
	struct maps *fresh;

	if (i == TASKS_NONE)
		return -ENOMEM;
	fresh = maps_new(&t->versions);
	if (!fresh)
		return -ENOMEM;
	drop_others(t, i);
	stitch_fini(&t->threads[i].stitch);
	t->threads[i].is_ended = false; /* took over the id of the first thread, which ended */
	p = &t->processes[t->threads[i].process];
	maps_unref(p->maps);
	p->maps = fresh;
	p->shown = t->threads[i].root = 0;
	return 0;
}

int tasks_map(struct tasks *t, uint32_t pid, uint32_t tid, const struct vma *v)
{
	bool is_new;
	uint32_t i = tasks_get(t, pid, tid, &is_new);

	if (i == TASKS_NONE)
		return -ENOMEM;
	return maps_add(&t->processes[t->threads[i].process].maps, v);
}

void tasks_exit(struct tasks *t, uint32_t tid)
{
	uint32_t i = map_get(&t->by_tid, tid);
	struct ended *slot = &t->ended[t->next_ended];

	if (i == MAP_NONE || t->threads[i].is_ended)
		return;
	if (slot->index != TASKS_NONE && t->threads[slot->index].is_ended &&
	    t->threads[slot->index].serial == slot->serial)
		drop_thread(t, slot->index);
	t->threads[i].is_ended = true;
	*slot = (struct ended){ i, t->threads[i].serial };
	t->next_ended = (t->next_ended + 1) % ENDED_KEPT;
}

size_t tasks_count(const struct tasks *t)
{
	return t->thread_count;
}

size_t tasks_slots(const struct tasks *t)
{
	return t->thread_cap;
}

uint32_t tasks_find(const struct tasks *t, uint32_t tid)
{
	uint32_t i = map_get(&t->by_tid, tid);

	return i == MAP_NONE ? TASKS_NONE : i;
}
