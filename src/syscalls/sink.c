/* SPDX-License-Identifier: MIT */
#include "syscalls/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "syscalls/decode.h"
#include "syscalls/first_exec.h"
#include "syscalls/names.h"

bool syscall_wants_memory(const struct syscall_opts *o)
{
	return o->on_call != NULL;
}

bool syscall_wants_paths(const struct syscall_opts *o)
{
	enum syscalls_by by = o->tally->by;
	bool is_followed = by == SYSCALLS_BY_FD || (o->selection && o->selection->longer_ns);

	return o->on_call || o->on_path_count || by == SYSCALLS_BY_PATH || by == SYSCALLS_BY_FILE ||
	       (is_followed && o->tally->wants_slowest);
}

bool syscall_is_shown(const struct syscall_opts *o, uint32_t nr, int32_t error, int64_t ns)
{
	return !o->selection || syscall_is_selected(o->selection, nr, error, ns);
}

bool syscall_is_wanted(const struct syscall_opts *o, uint32_t nr)
{
	const char *signature = syscall_signature(nr);

	if (o->selection && !syscall_is_selected_name(o->selection, nr))
		return syscall_wants_paths(o) && (syscall_has_path(nr) || syscall_changes_fds(nr));
	if (o->on_path_count)
		return syscall_has_path(nr) || strchr(signature, ARG_FD) ||
		       strchr(signature, ARG_DIRFD) || syscall_changes_fds(nr);
	if (o->on_call)
		return true;
	switch (o->tally->by) {
	case SYSCALLS_BY_PATH:
		return syscall_has_path(nr) || syscall_changes_fds(nr);
	case SYSCALLS_BY_FILE:
		return syscall_has_path(nr) || strchr(signature, ARG_FD) || syscall_changes_fds(nr);
	case SYSCALLS_BY_FD:
		return signature[0] == ARG_FD;
	default:
		return true;
	}
}

void syscall_sink_init(struct syscall_sink *f, const struct syscall_opts *o, int64_t start_ns)
{
	*f = (struct syscall_sink){ .opts = o, .tally = o->tally, .start_ns = start_ns };
	f->files.strings = o->tally->strings;
	f->has_files = syscall_wants_paths(o);
	for (size_t i = 0; i < o->on_path_count; i++)
		syscall_on_path_add(&f->on_path, &f->files, o->on_paths[i]);
}

void syscall_sink_skip_files(struct syscall_sink *f)
{
	f->has_files = false;
	f->files.skips_proc = true;
}

void syscall_sink_fini(struct syscall_sink *f)
{
	syscall_files_fini(&f->files);
	syscall_on_path_fini(&f->on_path);
	rows_fini(&f->threads);
	rows_fini(&f->unused);
	map_fini(&f->by_tid);
	map_fini(&f->by_pid);
	map_fini(&f->by_object);
	map_fini(&f->by_nr);
	buf_fini(&f->args);
	buf_fini(&f->result);
}

int syscall_sink_error(const struct syscall_sink *f)
{
	return f->files.bad ? -ENOMEM : syscalls_error(f->tally);
}

static void fail(struct syscall_sink *f)
{
	f->tally->bad = true;
}

static struct syscall_thread *thread_at(struct syscall_sink *f, uint32_t index)
{
	return (struct syscall_thread *)f->threads.data + index;
}

struct syscall_thread *syscall_sink_thread(struct syscall_sink *f, uint32_t tid)
{
	uint32_t i = f->last;

	if (i >= f->threads.count || thread_at(f, i)->tid != tid)
		i = map_get(&f->by_tid, tid);
	if (i == MAP_NONE)
		return NULL;
	f->last = i;
	return thread_at(f, i);
}

static uint32_t unused_slot(struct syscall_sink *f)
{
	struct syscall_thread *t;

	if (f->unused.count)
		return ((uint32_t *)f->unused.data)[--f->unused.count];
	t = rows_add(&f->threads, sizeof *t);
	if (!t) {
		fail(f);
		return MAP_NONE;
	}
	return (uint32_t)(f->threads.count - 1);
}

static void read_comm(uint32_t pid, uint32_t tid, char comm[SYSCALL_COMM_LEN])
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
	file_read_start(path, comm, SYSCALL_COMM_LEN);
	comm[strcspn(comm, "\n")] = '\0';
}

static struct syscall_thread *make_thread(struct syscall_sink *f, uint32_t pid, uint32_t tid,
					  uint32_t parent, int64_t since_ns)
{
	const struct syscall_thread *from;
	struct syscall_thread t = { .pid = pid, .tid = tid, .start_ns = since_ns };
	uint32_t slot = unused_slot(f);

	if (slot == MAP_NONE || map_put(&f->by_tid, tid, slot) < 0) {
		fail(f);
		return NULL;
	}
	from = parent ? syscall_sink_thread(f, parent)
		      : NULL; /* adding a thread may move the array */
	if (from)
		memcpy(t.comm, from->comm, sizeof t.comm);
	else
		read_comm(pid, tid, t.comm);
	*thread_at(f, slot) = t;
	f->tally->threads++;
	return thread_at(f, slot);
}

/* A new process has a subject of its own, also with the PID of an earlier one. */
static void release_pid(struct syscall_sink *f, uint32_t pid)
{
	if (map_get(&f->by_pid, pid) != MAP_NONE && map_put(&f->by_pid, pid, MAP_NONE) < 0)
		fail(f);
}

void syscall_sink_add_thread(struct syscall_sink *f, uint32_t pid, uint32_t tid, uint32_t parent,
			     int64_t since_ns)
{
	if (syscall_sink_thread(f, tid))
		return;
	if (parent && pid == tid)
		release_pid(f, pid);
	make_thread(f, pid, tid, parent, since_ns);
	if (f->has_files && parent && pid == tid) {
		const struct syscall_thread *from = syscall_sink_thread(f, parent);

		syscall_files_fork(&f->files, pid, from ? from->pid : parent);
	}
	if (f->has_files && !parent && f->opts->argv)
		syscall_files_inherit(&f->files, pid);
}

static struct syscall_thread *get_thread(struct syscall_sink *f, uint32_t pid, uint32_t tid)
{
	struct syscall_thread *t = syscall_sink_thread(f, tid);

	return t ? t : make_thread(f, pid, tid, 0, f->start_ns);
}

/* Adds a subject, or gives the one of all that are too many. */
static uint32_t add_subject(struct syscall_sink *f, const struct syscalls_subject *subject)
{
	struct syscalls_subject others = { .fd = -1 };

	if (f->tally->subjects.count < SYSCALL_SUBJECTS_MAX)
		return syscalls_add_subject(f->tally, subject);
	if (!f->others) {
		log_msg(LOG_WARN, "syscalls",
			"too many rows: further ones are summed as " SYSCALL_FILE_OTHERS);
		others.name =
			syscalls_str(f->tally, SYSCALL_FILE_OTHERS, sizeof SYSCALL_FILE_OTHERS - 1);
		f->others = syscalls_add_subject(f->tally, &others);
	}
	return f->others;
}

/* The subject of a key; adds it when it is new. */
static uint32_t subject_in(struct syscall_sink *f, struct map *map, uint64_t key,
			   const struct syscalls_subject *subject)
{
	uint32_t *at;

	if (f->others && map_get(map, key) == MAP_NONE)
		return f->others;
	at = map_at(map, key);
	if (!at) {
		fail(f);
		return 0;
	}
	if (*at == MAP_NONE)
		*at = add_subject(f, subject);
	return *at;
}

static uint32_t thread_subject(struct syscall_sink *f, struct syscall_thread *t)
{
	bool is_process = f->tally->by == SYSCALLS_BY_PROCESS;

	if (t->subject == 0) {
		const struct syscalls_subject s = {
			.pid = t->pid,
			.tid = is_process ? 0 : t->tid,
			.name = syscalls_str(f->tally, t->comm, strlen(t->comm)),
			.fd = -1,
		};

		t->subject =
			is_process ? subject_in(f, &f->by_pid, t->pid, &s) : add_subject(f, &s);
		if (t->pid == t->tid &&
		    t->subject != f->others) /* another thread may have come first */
			syscalls_subject(f->tally, t->subject)->name = s.name;
	}
	return t->subject;
}

uint32_t syscall_sink_subject(struct syscall_sink *f, uint32_t pid, uint32_t tid)
{
	struct syscall_thread *t = get_thread(f, pid, tid);

	return t ? thread_subject(f, t) : 0;
}

void syscall_sink_set_comm(struct syscall_sink *f, uint32_t tid, const char *comm, size_t len)
{
	struct syscall_thread *t = syscall_sink_thread(f, tid);

	if (!t)
		return;
	len = len < SYSCALL_COMM_LEN ? len : SYSCALL_COMM_LEN - 1;
	memcpy(t->comm, comm, len);
	t->comm[len] = '\0';
	if (t->subject && t->subject != f->others &&
	    (f->tally->by == SYSCALLS_BY_THREAD || t->pid == t->tid))
		syscalls_subject(f->tally, t->subject)->name =
			syscalls_str(f->tally, t->comm, strlen(t->comm));
}

static void add_wall(struct syscall_sink *f, struct syscall_thread *t, int64_t ns)
{
	int64_t wall = ns > t->start_ns ? ns - t->start_ns : 0;

	f->tally->wall_ns += wall;
	if (f->tally->by == SYSCALLS_BY_THREAD || f->tally->by == SYSCALLS_BY_PROCESS)
		syscalls_subject(f->tally, thread_subject(f, t))->wall_ns += wall;
}

void syscall_sink_exit(struct syscall_sink *f, uint32_t tid, int64_t ns)
{
	uint32_t slot = map_get(&f->by_tid, tid);
	struct syscall_thread *t;
	uint32_t *free_slot;

	if (slot == MAP_NONE)
		return;
	t = thread_at(f, slot);
	add_wall(f, t, ns);
	if (t->pid == tid && f->has_files)
		syscall_files_exit(&f->files, tid);
	t->tid = 0;
	free_slot = rows_add(&f->unused, sizeof *free_slot);
	if (free_slot)
		*free_slot = slot;
	if (!free_slot || map_put(&f->by_tid, tid, MAP_NONE) < 0)
		fail(f);
}

void syscall_sink_exec(struct syscall_sink *f, uint32_t pid, uint32_t tid, int64_t ns)
{
	struct syscall_thread *t = get_thread(f, pid, pid);

	if (!t)
		return;
	if (tid != pid) {
		syscall_sink_superseded(f, t, tid, ns);
		syscall_sink_exit(f, tid, ns);
	}
	read_comm(pid, pid, t->comm);
	if (t->comm[0])
		syscall_sink_set_comm(f, pid, t->comm, strlen(t->comm));
}

static uint32_t name_call(struct syscall_sink *f, uint32_t nr)
{
	char number[24], marked[64];
	bool is_32bit = nr & SYSCALL_32BIT && nr != SYSCALL_NO_NUMBER;
	uint32_t own = is_32bit ? nr - SYSCALL_32BIT : nr;
	const char *name = own >= SYSCALL_NAMES ? NULL
			   : is_32bit           ? syscall_names_32[own]
						: syscall_names[own];

	if (nr == SYSCALL_NO_NUMBER)
		name = "rt_sigreturn";
	if (!name) {
		snprintf(number, sizeof number, "syscall %u", own);
		name = number;
	}
	if (is_32bit) {
		snprintf(marked, sizeof marked, "%s (32-bit)", name);
		name = marked;
	}
	return syscalls_str(f->tally, name, strlen(name));
}

uint32_t syscall_sink_call_name(struct syscall_sink *f, uint32_t nr)
{
	uint32_t *at = map_at(&f->by_nr, nr);

	if (!at) {
		fail(f);
		return 0;
	}
	if (*at == MAP_NONE)
		*at = name_call(f, nr);
	return *at;
}

static uint32_t named_subject(struct syscall_sink *f, uint32_t name)
{
	static const char unknown[] = "[unknown]";

	if (!name)
		name = syscalls_str(f->tally, unknown, sizeof unknown - 1);
	return subject_in(f, &f->by_object, name,
			  &(struct syscalls_subject){ .name = name, .fd = -1 });
}

/* The first argument that stands for a file, from *at on. */
static bool next_file(const struct syscall *c, bool wants_fds, size_t *at)
{
	const char *signature = syscall_signature(c->nr);

	for (; signature[*at]; ++*at)
		if (signature[*at] == ARG_PATH || (wants_fds && signature[*at] == ARG_FD))
			return true;
	return false;
}

/* The file, descriptor or path that a call is counted for; false: it has none. */
static bool object_of(struct syscall_sink *f, const struct syscall *c, uint32_t *ret)
{
	enum syscalls_by by = f->tally->by;
	const char *signature = syscall_signature(c->nr);
	int fd = (int)c->args[0];
	size_t at = 0;

	if (!c->has_start)
		return false;
	if (by == SYSCALLS_BY_FD) {
		if (signature[0] != ARG_FD)
			return false;
		*ret = subject_in(f, &f->by_object, map_pair(c->pid, (uint32_t)fd),
				  &(struct syscalls_subject){ .pid = c->pid, .fd = fd });
		return true;
	}
	if (!next_file(c, by == SYSCALLS_BY_FILE, &at))
		return false;
	if (signature[at] == ARG_FD && (int)c->args[at] < 0)
		return false; /* no file: an anonymous mmap */
	*ret = named_subject(f, signature[at] == ARG_FD
					? syscall_files_fd(&f->files, c->pid, (int)c->args[at])
					: syscall_files_path_arg(&f->files, c, at));
	return true;
}

static void decode_args(struct syscall_sink *f, const struct syscall *c)
{
	struct syscall_first_exec command = { 0 };
	bool is_command = !f->has_decoded && syscall_first_exec_get(&command, c, f->opts->argv);

	syscall_decode_args(is_command ? &command.call : c, &f->files, &f->args);
	syscall_first_exec_fini(&command);
	f->has_decoded = true;
}

/* Decodes a call, and applies what it does to descriptors. number: for errors without a name. */
static bool decode(struct syscall_sink *f, const char *comm, const struct syscall *c,
		   bool has_files, char number[24], struct syscall_decoded *ret)
{
	int32_t error = syscall_error(c);

	*ret = (struct syscall_decoded){
		.pid = c->pid,
		.tid = c->tid,
		.comm = comm,
		.has_end = c->has_end,
		.ret = c->ret,
		.error = error ? syscalls_error_name(error, number) : NULL,
		.start_ns = c->has_start ? c->start_ns : -1,
		.end_ns = c->has_end ? c->end_ns : -1,
		.stack = c->stack,
	};
	buf_clear(&f->args);
	buf_clear(&f->result);
	decode_args(f, c);
	if (has_files)
		syscall_files_apply(&f->files, c); /* a result may be a new descriptor */
	syscall_decode_result(c, &f->files, &f->result);
	if (buf_error(&f->args) < 0 || buf_error(&f->result) < 0) {
		fail(f);
		return false;
	}
	ret->args = f->args.data ? f->args.data : "";
	ret->result = f->result.data ? f->result.data : "";
	ret->call = syscalls_text(f->tally, syscall_sink_call_name(f, c->nr));
	return true;
}

static void report_call(struct syscall_sink *f, const struct syscall_thread *t,
			const struct syscall *c)
{
	struct syscall_decoded decoded;
	char number[24];

	if (decode(f, t->comm, c, f->has_files, number, &decoded))
		f->opts->on_call(f->opts->context, &decoded);
}

void syscall_sink_slow(struct syscall_sink *f, const struct syscall *c, const char *comm)
{
	struct syscall_decoded decoded;
	bool skips_proc = f->files.skips_proc;
	char number[24];

	/* Its descriptor may be another file's by now. */
	f->files.skips_proc |= c->nr == SYS_close;
	if (decode(f, comm, c, true, number, &decoded))
		syscalls_add_slow(f->tally, &decoded);
	f->files.skips_proc = skips_proc;
	if (!f->has_files)
		syscall_files_exit(&f->files, c->pid); /* its later calls are not followed */
}

static struct syscalls_cell *cell_of(struct syscall_sink *f, uint32_t subject,
				     const struct syscall *c)
{
	struct syscall_cached_cell *r = &f->recent[c->nr & (SYSCALL_CELL_CACHE - 1)];
	int32_t error = syscall_error(c);
	struct syscalls_cell *cell;

	if (r->cell && r->nr == c->nr && r->subject == subject && r->error == error)
		return syscalls_cell_at(f->tally, r->cell - 1);
	cell = syscalls_cell(f->tally, subject, syscall_sink_call_name(f, c->nr), error);
	if (cell)
		*r = (struct syscall_cached_cell){ c->nr, subject, error,
						   1 + syscalls_cell_index(f->tally, cell) };
	return cell;
}

void syscall_sink_call(struct syscall_sink *f, const struct syscall *c)
{
	enum syscalls_by by = f->tally->by;
	struct syscall_thread *t = get_thread(f, c->pid, c->tid);
	int64_t ns = c->has_start && c->has_end ? c->end_ns - c->start_ns : -1;
	bool has_subject = true;
	uint32_t subject = 0;

	if (!t)
		return;
	if (!syscall_is_shown(f->opts, c->nr, syscall_error(c), ns) ||
	    (f->opts->on_path_count && !syscall_is_on_path(&f->on_path, &f->files, c))) {
		if (f->has_files)
			syscall_files_apply(&f->files, c);
		return;
	}
	if (by == SYSCALLS_BY_THREAD || by == SYSCALLS_BY_PROCESS)
		subject = thread_subject(f, t);
	else if (by == SYSCALLS_BY_FILE || by == SYSCALLS_BY_FD || by == SYSCALLS_BY_PATH)
		has_subject = object_of(f, c, &subject);
	if (has_subject)
		syscalls_add_to(f->tally, cell_of(f, subject, c), ns);
	if (f->opts->on_call)
		report_call(f, t, c);
	else if (syscalls_is_slow(f->tally, ns))
		syscall_sink_slow(f, c, t->comm);
	else if (f->has_files)
		syscall_files_apply(&f->files, c);
}

void syscall_sink_end(struct syscall_sink *f, int64_t ns)
{
	for (size_t i = 0; i < f->threads.count; i++)
		if (thread_at(f, (uint32_t)i)->tid)
			add_wall(f, thread_at(f, (uint32_t)i), ns);
	f->tally->start_ns = f->start_ns;
	f->tally->duration_ns = ns - f->start_ns;
}
