/* SPDX-License-Identifier: MIT */
#include "syscalls/bpf_sums.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/syscalls.h"
#include "syscalls/bpf_event.h"
#include "syscalls/names.h"

static_assert(CALLS_SLOTS == LATENCY_SLOTS, "slots");
static_assert(CALLS_SUB_BITS == LATENCY_SUB_BITS, "slots");
static_assert(CALLS_LOW_BITS == LATENCY_LOW_BITS, "slots");
static_assert(CALLS_SLOWEST == SYSCALLS_SLOWEST, "slowest calls");

struct taker {
	const struct syscall_bpf_sums *maps;
	struct syscall_sink *sink;
	struct syscalls *tally;
	size_t cpus;
	struct calls_cell *cells; /* [cpus] */
	struct strtab *ids;       /* of struct calls_thread_id; of a process, tid is 0 */
	struct rows subjects;     /* uint32_t, by id */
	int64_t now_ns;
};

static void add_cell(struct taker *t, uint32_t subject, uint32_t nr, int32_t error,
		     const struct calls_cell *from)
{
	struct syscalls_cell *to;
	struct latency l = { .count = from->timed,
			     .total_ns = (int64_t)from->total_ns,
			     .min_ns = (int64_t)from->min_ns,
			     .max_ns = (int64_t)from->max_ns };

	if (syscall_is_sigreturn(nr))
		error = 0;
	if (from->count == 0 || !syscall_is_shown(t->sink->opts, nr, error, -1))
		return;
	to = syscalls_cell(t->tally, subject, syscall_sink_call_name(t->sink, nr), error);
	for (size_t i = 0; i < CALLS_SLOTS; i++)
		if (from->slots[i] && latency_add_slot(&l, i, from->slots[i]) < 0)
			t->tally->bad = true;
	if (to)
		to->count += from->count;
	if (to && latency_merge(&to->latency, &l) < 0)
		t->tally->bad = true;
	latency_fini(&l);
}

static void take_totals(struct taker *t)
{
	for (uint32_t nr = 0; nr < CALLS_NUMBERS; nr++)
		if (bpf_map_lookup_elem(t->maps->totals, &nr, t->cells) == 0)
			for (size_t cpu = 0; cpu < t->cpus; cpu++)
				add_cell(t, 0, nr, 0, &t->cells[cpu]);
}

static void take_failures(struct taker *t)
{
	struct calls_key key, *at = NULL;

	while (bpf_map_get_next_key(t->maps->failures, at, &key) == 0) {
		at = &key;
		if (bpf_map_lookup_elem(t->maps->failures, &key, t->cells) == 0)
			for (size_t cpu = 0; cpu < t->cpus; cpu++)
				add_cell(t, 0, key.nr, key.error, &t->cells[cpu]);
	}
}

static uint32_t *subject_at(struct taker *t, const struct calls_thread_id *id)
{
	uint32_t number = strtab_intern(t->ids, id, sizeof *id);

	while (number != STRTAB_NONE && number >= t->subjects.count)
		if (!rows_add(&t->subjects, sizeof(uint32_t)))
			return NULL;
	return number == STRTAB_NONE ? NULL : (uint32_t *)t->subjects.data + number;
}

static uint32_t subject_of(struct taker *t, const struct calls_thread_id *id)
{
	uint32_t *at = subject_at(t, id);

	if (!at) {
		t->tally->bad = true;
		return 0;
	}
	if (!*at)
		*at = syscalls_add_subject(
			t->tally, &(struct syscalls_subject){
					  .pid = id->pid,
					  .tid = t->tally->by == SYSCALLS_BY_PROCESS ? 0 : id->tid,
					  .fd = -1 });
	return *at;
}

/* The subject of a thread, or of its process: PIDs are reused, but not with the same start. */
static uint32_t subject_of_thread(struct taker *t, const struct calls_thread_id *id,
				  const struct calls_thread *thread)
{
	const struct calls_thread_id process = { .start = thread->process_start, .pid = id->pid };
	uint32_t subject, *at;

	if (t->tally->by != SYSCALLS_BY_PROCESS)
		return subject_of(t, id);
	subject = subject_of(t, &process);
	at = subject_at(t, id);
	if (at)
		*at = subject;
	else
		t->tally->bad = true;
	return subject;
}

static void take_threads(struct taker *t)
{
	struct calls_thread_id key, *at = NULL;
	struct calls_thread thread;

	while (bpf_map_get_next_key(t->maps->threads, at, &key) == 0) {
		int64_t end;
		uint32_t subject;
		struct syscalls_subject *s;

		at = &key;
		if (bpf_map_lookup_elem(t->maps->threads, &key, &thread) < 0)
			continue;
		end = thread.end_ns ? (int64_t)thread.end_ns : t->now_ns;
		subject = subject_of_thread(t, &key, &thread);
		s = syscalls_subject(t->tally, subject);
		s->wall_ns += end - (int64_t)thread.start_ns;
		if (key.tid == key.pid || !s->name)
			s->name = syscalls_str(t->tally, thread.comm,
					       strnlen(thread.comm, sizeof thread.comm));
	}
}

static void take_by_thread(struct taker *t)
{
	struct calls_key key, *at = NULL;

	while (bpf_map_get_next_key(t->maps->by_thread, at, &key) == 0) {
		at = &key;
		if (bpf_map_lookup_elem(t->maps->by_thread, &key, t->cells) == 0)
			add_cell(t, subject_of(t, &key.thread), key.nr, key.error, t->cells);
	}
}

static void take_slow(struct syscall_sink *sink, const struct calls_slow *s)
{
	struct syscall c;

	if (s->event.end_ns <= s->event.start_ns)
		return;
	syscall_bpf_event_get(&s->event, sizeof s->event.memory.bytes, &c);
	if (!syscalls_is_slow(sink->tally, c.end_ns - c.start_ns))
		return;
	syscall_bpf_event_name_fds(&sink->files, &c);
	syscall_sink_slow(sink, &c, s->comm);
}

static int take_slowest(struct taker *t, struct err *e)
{
	struct calls_slow *all = calloc(t->cpus, sizeof *all);

	if (!all)
		return err_nomem(e);
	for (uint32_t i = 0; i < CALLS_SLOWEST; i++)
		if (bpf_map_lookup_elem(t->maps->slowest, &i, all) == 0)
			for (size_t cpu = 0; cpu < t->cpus; cpu++)
				take_slow(t->sink, &all[cpu]);
	free(all);
	return 0;
}

/* Over all CPUs. */
static int read_sums(const struct syscall_bpf_sums *m, struct calls_sums *ret, struct err *e)
{
	int cpus = libbpf_num_possible_cpus();
	struct calls_sums *all;
	uint32_t zero = 0;
	int rc = 0;

	if (cpus < 0)
		return err_set(e, cpus, "how many CPUs there may be: %s", strerror(-cpus));
	all = reallocarray(NULL, (size_t)cpus, sizeof *all);
	if (!all)
		return err_nomem(e);
	*ret = (struct calls_sums){ 0 };
	if (bpf_map_lookup_elem(m->sums, &zero, all) < 0)
		rc = err_errno(e, "a map of BPF");
	for (int i = 0; rc == 0 && i < cpus; i++) {
		ret->lost += all[i].lost;
		ret->threads += all[i].threads;
		ret->wall_ns += all[i].wall_ns;
	}
	free(all);
	return rc;
}

int syscall_bpf_sums_lost(const struct syscall_bpf_sums *m, uint64_t *ret, struct err *e)
{
	struct calls_sums sums = { 0 };
	int rc = read_sums(m, &sums, e);

	if (rc == 0)
		*ret = sums.lost;
	return rc;
}

int syscall_bpf_sums_read(const struct syscall_bpf_sums *m, struct syscall_sink *sink,
			  int64_t now_ns, struct err *e)
{
	int cpus = libbpf_num_possible_cpus();
	struct taker t = { .maps = m, .sink = sink, .tally = sink->tally, .now_ns = now_ns };
	struct calls_sums sums = { 0 };
	int rc = read_sums(m, &sums, e);

	if (rc < 0)
		return rc;
	t.cpus = (size_t)cpus;
	t.cells = calloc(t.cpus, sizeof *t.cells);
	t.ids = strtab_new();
	if (!t.cells || !t.ids) {
		rc = err_nomem(e);
	} else {
		t.tally->wall_ns = (int64_t)sums.wall_ns;
		t.tally->threads = sums.threads;
		take_totals(&t);
		take_failures(&t);
		take_threads(&t);
		take_by_thread(&t);
		if (t.tally->wants_slowest)
			rc = take_slowest(&t, e);
	}
	free(t.cells);
	strtab_free(t.ids);
	rows_fini(&t.subjects);
	return rc;
}
