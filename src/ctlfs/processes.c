/* SPDX-License-Identifier: MIT */
#include "ctlfs/processes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/utf8.h"

#define MAX_BYTES ((size_t)64 << 20)      /* of all text */
#define MAX_USER_BYTES ((size_t)16 << 20) /* of the text of one user's processes */
#define MAX_PROCESSES ((size_t)1 << 18)   /* further ones are left out */

struct process_user {
	uid_t uid;
	size_t bytes;
};

struct process {
	uint32_t pid;
	uint32_t user; /* index of users */
	bool is_used, is_sampled;
	struct buf maps; /* lines */
};

void processes_clear(struct processes *p)
{
	struct process *list = p->list.data;

	for (size_t i = 0; i < p->list.count; i++)
		buf_fini(&list[i].maps);
	p->list.count = 0;
	p->free.count = 0;
	p->users.count = 0;
	p->bytes = 0;
	map_clear(&p->by_pid);
}

void processes_fini(struct processes *p)
{
	processes_clear(p);
	rows_fini(&p->list);
	rows_fini(&p->free);
	rows_fini(&p->users);
	map_fini(&p->by_pid);
}

static struct process *at(const struct processes *p, uint32_t index)
{
	return (struct process *)p->list.data + index;
}

static struct process_user *user_of(const struct processes *p, const struct process *process)
{
	return (struct process_user *)p->users.data + process->user;
}

/* The owner of a process that runs. All that have ended already count as one user's. false: out of
 * memory. */
static bool find_user(struct processes *p, uint32_t pid, uint32_t *ret)
{
	const struct process_user *users = p->users.data;
	struct process_user *added;
	uid_t uid = (uid_t)-1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	if (stat(path, &st) == 0)
		uid = st.st_uid;
	for (*ret = 0; *ret < p->users.count; ++*ret)
		if (users[*ret].uid == uid)
			return true;
	added = rows_add(&p->users, sizeof *added);
	if (added)
		*added = (struct process_user){ .uid = uid };
	return added != NULL;
}

/* Is there room for more text of this process? */
static bool has_room(const struct processes *p, const struct process *process)
{
	return p->bytes < MAX_BYTES && user_of(p, process)->bytes < MAX_USER_BYTES;
}

static void count_bytes(struct processes *p, const struct process *process, size_t added)
{
	p->bytes += added;
	user_of(p, process)->bytes += added;
}

/* NULL: unknown. */
static struct process *find(const struct processes *p, uint32_t pid)
{
	uint32_t index = map_get(&p->by_pid, pid);

	if (index == MAP_NONE || !at(p, index)->is_used || at(p, index)->pid != pid)
		return NULL;
	return at(p, index);
}

/* NULL: out of memory. */
static struct process *get(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);
	uint32_t index, user;

	if (process)
		return process;
	if (!find_user(p, pid, &user))
		return NULL;
	if (p->free.count) {
		index = ((uint32_t *)p->free.data)[--p->free.count];
	} else {
		if (p->list.count == MAX_PROCESSES || !rows_add(&p->list, sizeof *process))
			return NULL;
		index = (uint32_t)p->list.count - 1;
	}
	process = at(p, index);
	*process = (struct process){ .pid = pid,
				     .user = user,
				     .is_used = map_put(&p->by_pid, pid, index) == 0 };
	return process->is_used ? process : NULL;
}

void processes_map(struct processes *p, const struct tracer_mapping *m)
{
	struct process *process = p->bytes < MAX_BYTES ? get(p, m->pid) : NULL;
	size_t before;

	if (!process || !has_room(p, process))
		return;
	before = process->maps.len;
	buf_printf(&process->maps, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
		   m->start, m->end, m->offset);
	utf8_put_visible(&process->maps, m->path, m->path_len);
	buf_put_byte(&process->maps, '\n');
	count_bytes(p, process, process->maps.len - before);
}

static void forget_maps(struct processes *p, struct process *process)
{
	count_bytes(p, process, 0 - process->maps.len);
	buf_fini(&process->maps);
}

void processes_fork(struct processes *p, uint32_t pid, uint32_t parent)
{
	struct process *from = find(p, parent), *to;

	if (!from || p->bytes >= MAX_BYTES)
		return;
	to = get(p, pid);
	from = find(p, parent); /* the array may have moved */
	if (!to || !from || !has_room(p, to))
		return;
	forget_maps(p, to);
	buf_put(&to->maps, from->maps.data, from->maps.len);
	count_bytes(p, to, to->maps.len);
}

void processes_exec(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);

	if (process && !process->is_sampled)
		forget_maps(p, process);
}

void processes_exit(struct processes *p, uint32_t pid)
{
	struct process *process = find(p, pid);
	uint32_t *index;

	if (!process || process->is_sampled)
		return;
	forget_maps(p, process);
	index = rows_add(&p->free, sizeof *index);
	if (!index)
		return; /* keep the entry: it has samples */
	*index = (uint32_t)(process - (struct process *)p->list.data);
	process->is_used = false;
}

void processes_sample(struct processes *p, uint32_t pid)
{
	struct process *process = pid ? get(p, pid) : NULL;

	if (process)
		process->is_sampled = true;
}

void processes_put(const struct processes *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->list.count; i++) {
		const struct process *process = at(p, i);

		if (!process->is_used || !process->is_sampled || !process->maps.len)
			continue;
		buf_printf(out, "# pid %" PRIu32 "\n", process->pid);
		buf_put(out, process->maps.data, process->maps.len);
	}
}
