/* SPDX-License-Identifier: MIT */
#include "sample/python/python.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "base/log.h"
#include "interp/python_read.h"
#include "sample/python/python_internal.h"
#include "target/proc.h"

static bool find_frames(void *python, uint32_t pid, uint32_t tid, uint64_t time_ns,
			struct interp_stack *ret)
{
	struct python *p = python;

	if (p->has_stopped_threads && python_read_waiting(p, pid, tid, time_ns) < 0)
		return false;
	return python_stacks_find(&p->stacks, tid, time_ns, ret);
}

int python_new(const struct python_opts *o, struct python **ret, struct err *e)
{
	struct python *p = calloc(1, sizeof *p);

	if (!p || python_stacks_init(&p->stacks) < 0) {
		free(p);
		return err_nomem(e);
	}
	p->source = (struct interp_source){ .context = p,
					    .version = 1,
					    .keeps_native = o->keeps_native,
					    .has_locks = o->has_locks,
					    .map = python_map,
					    .leave = python_leave,
					    .file = python_file,
					    .frames = find_frames };
	p->has_stopped_threads = o->has_stopped_threads;
	if (o->has_no_bpf || o->has_stopped_threads)
		err_set(&p->reason, -ENOTSUP, "BPF is not to be used");
	else if (walker_new(o->shared, &p->walker, &p->reason) < 0)
		p->walker = NULL;
	p->source.is_late = !p->walker && !o->has_stopped_threads;
	*ret = p;
	return 0;
}

static void free_binaries(struct python *p)
{
	struct binary *all = p->binaries.data;

	for (size_t i = 0; i < p->binaries.count; i++)
		free(all[i].info);
	rows_fini(&p->binaries);
	map_fini(&p->files);
	rows_fini(&p->expected);
	p->expected = (struct rows){ 0 };
	p->binaries = (struct rows){ 0 };
	p->files = (struct map){ 0 };
}

void python_free(struct python *p)
{
	if (!p)
		return;
	file_reader_fini(&p->file_reader);
	walker_free(p->walker);
	python_stacks_fini(&p->stacks);
	free_binaries(p);
	map_fini(&p->processes);
	map_fini(&p->inner_tids);
	map_fini(&p->seen);
	rows_fini(&p->running);
	free(p);
}

/* Files have other numbers in another recording of the same run. */
void python_use(struct python *p, struct profile *profile)
{
	codes_use(p->stacks.codes, profile);
	if (!p->is_used) {
		p->is_used = true;
		return;
	}
	file_reader_fini(&p->file_reader);
	free_binaries(p);
	p->source.version++;
}

const struct interp_source *python_source(struct python *p)
{
	return &p->source;
}

int python_program(const struct python *p)
{
	return p->walker ? walker_program(p->walker) : -1;
}

bool python_wants_wakeups(const struct python *p)
{
	return !p->walker && p->is_expected;
}

bool python_is_expected(const struct python *p)
{
	return p->is_expected;
}

void python_begin(struct python *p)
{
	p->has_begun = true;
}

bool python_is_asking(const struct python *p)
{
	return file_reader_is_busy(&p->file_reader);
}

int python_poll(struct python *p)
{
	struct file_reader_reply reply;
	int rc = 0;

	while (rc == 0 && file_reader_poll(&p->file_reader, &reply))
		rc = python_take_reply(p, &reply);
	p->source.is_late = !p->walker && !p->has_stopped_threads;
	return rc == 0 && p->walker ? walker_poll(p->walker) : rc;
}

int python_forget(struct python *p, uint64_t before_ns)
{
	return python_stacks_forget(&p->stacks, before_ns);
}

static bool read_memory(void *pid, uint64_t at, void *to, size_t len)
{
	struct iovec local = { to, len };
	struct iovec remote = { (void *)(uintptr_t)at, len };

	return process_vm_readv(*(pid_t *)pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* Its number in its own pid namespace. */
static uint32_t inner_tid(struct python *p, uint32_t tid)
{
	uint32_t known = map_get(&p->inner_tids, tid);

	if (known != MAP_NONE)
		return known;
	known = (uint32_t)proc_inner_pid((pid_t)tid);
	if (!known)
		known = tid;
	/* Without memory it is asked again. */
	return map_put(&p->inner_tids, tid, known) < 0 ? tid : known;
}

int python_read_waiting(struct python *p, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	uint32_t index = map_get(&p->processes, pid);
	const struct running *running;
	pid_t number = (pid_t)pid;
	struct python_reader reader = {
		.tgid = pid, .read = read_memory, .context = &number, .seen = &p->seen
	};

	if (index == MAP_NONE)
		return 0;
	running = (const struct running *)p->running.data + index;
	if (running->pid != pid)
		return 0;
	reader.process = running->process;
	return python_read_stack(&reader, tid, inner_tid(p, tid), time_ns, &p->stacks);
}

int python_read(struct python *p, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	return p->walker ? 0 : python_read_waiting(p, pid, tid, time_ns);
}

struct python_counts python_counts(const struct python *p)
{
	struct python_counts n = { .is_seen = p->is_seen,
				   .dropped = p->stacks.dropped,
				   .is_refused = p->is_refused,
				   .is_free_threaded = p->is_free_threaded };

	if (p->binaries.count)
		n.method = p->walker ? PYTHON_METHOD_BPF : PYTHON_METHOD_READ;
	if (p->walker)
		n.lost = walker_lost(p->walker);
	n.reason = p->reason.msg;
	return n;
}
