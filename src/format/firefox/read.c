/* SPDX-License-Identifier: MIT */
#include "format/firefox/read.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/rows.h"
#include "format/firefox/columns.h"
#include "format/firefox/read_tables.h"
#include "format/json_frames.h"

#define MAX_PROCESSES 8 /* in one another; a file has them on one level */

/* A process: an object like the file itself. */
struct process {
	struct firefox_places shared;
	struct json threads, processes;
	bool has_threads, has_processes;
	struct rows libs; /* struct firefox_lib */
	int64_t interval_ns;
	int delta_scale; /* of threadCPUDelta, to nanoseconds */
	bool has_cpu;    /* it has a unit that is a time */
};

struct thread {
	struct firefox_places places;
	struct json_text name, process_name, pid, tid;
	struct json samples;
	bool has_samples;
};

/* The columns of a thread's samples besides the stacks. */
struct samples {
	struct json_text weight_type;
	struct json weights, deltas;
	bool has_weights, has_deltas;
};

struct reader {
	struct profile *p;
	struct firefox_stacks stacks;
	struct buf scratch;
	bool has_threads;
};

static void reader_fini(struct reader *r)
{
	firefox_stacks_fini(&r->stacks);
	buf_fini(&r->scratch);
}

static void process_fini(struct process *process)
{
	rows_fini(&process->libs);
}

static struct json_text take_string(struct json *j)
{
	if (json_peek(j) == '"')
		return json_string(j);
	json_skip(j);
	return (struct json_text){ 0 };
}

static void read_lib(struct reader *r, struct json *j, struct firefox_lib *lib)
{
	struct json_list o = json_object(j);
	struct json_text key, path = { 0 }, name = { 0 }, code_id = { 0 };

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "path"))
			path = take_string(j);
		else if (json_equals(&key, "name"))
			name = take_string(j);
		else if (json_equals(&key, "codeId"))
			code_id = take_string(j);
		else
			json_skip(j);
	}
	lib->path = json_frames_str(r->p, path.len ? path : name, &r->scratch);
	lib->build_id = json_frames_str(r->p, code_id, &r->scratch);
}

static int read_libs(struct reader *r, struct json *j, struct rows *libs)
{
	struct json_list a = json_array(j);

	while (json_item(j, &a)) {
		struct firefox_lib *lib = rows_add(libs, sizeof *lib);

		if (!lib)
			return -ENOMEM;
		if (json_peek(j) == '{')
			read_lib(r, j, lib);
		else
			json_skip(j);
	}
	return 0;
}

static void read_units(struct process *process, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		struct json_text unit = take_string(j);

		if (!json_equals(&key, "threadCPUDelta"))
			continue;
		process->has_cpu = true;
		if (json_equals(&unit, "ns"))
			process->delta_scale = 0;
		else if (json_equals(&unit, "\xc2\xb5s") || json_equals(&unit, "us"))
			process->delta_scale = 3;
		else
			process->has_cpu = false;
	}
}

static void read_meta(struct reader *r, struct process *process, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;
	int64_t start_ns, from_ns = 0, to_ns = 0, length_ns;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "profilingStartTime")) {
			if (!json_scale(json_number_or_skip(j), 6, &from_ns))
				from_ns = 0;
		} else if (json_equals(&key, "profilingEndTime")) {
			if (!json_scale(json_number_or_skip(j), 6, &to_ns))
				to_ns = 0;
		} else if (json_equals(&key, "interval")) {
			if (!json_scale(json_number_or_skip(j), 6, &process->interval_ns))
				process->interval_ns = 0;
		} else if (json_equals(&key, "startTime")) {
			if (json_scale(json_number_or_skip(j), 6, &start_ns) && start_ns > 0)
				profile_info(r->p)->time_ns = start_ns;
		} else if (json_equals(&key, "sampleUnits") && json_peek(j) == '{') {
			read_units(process, j);
		} else {
			json_skip(j);
		}
	}
	if (!__builtin_sub_overflow(to_ns, from_ns, &length_ns) &&
	    length_ns > profile_info(r->p)->duration_ns)
		profile_info(r->p)->duration_ns = length_ns;
}

static void read_shared(struct process *process, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key))
		firefox_places_note(&process->shared, &key, j);
}

static int find_parts(struct reader *r, struct process *process, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;
	int rc = 0;

	while (rc == 0 && json_member(j, &o, &key)) {
		char first = json_peek(j);

		if (json_equals(&key, "threads") && first == '[') {
			process->threads = *j;
			process->has_threads = r->has_threads = true;
			json_skip(j);
		} else if (json_equals(&key, "processes") && first == '[') {
			process->processes = *j;
			process->has_processes = true;
			json_skip(j);
		} else if (json_equals(&key, "libs") && first == '[') {
			rc = read_libs(r, j, &process->libs);
		} else if (json_equals(&key, "meta") && first == '{') {
			read_meta(r, process, j);
		} else if (json_equals(&key, "shared") && first == '{') {
			read_shared(process, j);
		} else {
			json_skip(j);
		}
	}
	return rc;
}

static void find_thread_parts(struct thread *thread, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		char first = json_peek(j);

		if (json_equals(&key, "name")) {
			thread->name = take_string(j);
		} else if (json_equals(&key, "processName")) {
			thread->process_name = take_string(j);
		} else if (json_equals(&key, "pid") && first != '{' && first != '[') {
			thread->pid = json_skip(j);
		} else if (json_equals(&key, "tid") && first != '{' && first != '[') {
			thread->tid = json_skip(j);
		} else if (json_equals(&key, "samples") && first == '{') {
			thread->samples = *j;
			thread->has_samples = true;
			json_skip(j);
		} else {
			firefox_places_note(&thread->places, &key, j);
		}
	}
}

/* A number of a process or thread, which may be a string; 0: there is none. */
static void add_number(struct reader *r, const char *key, struct json_text text,
		       struct label *labels, size_t *count)
{
	uint64_t number;

	if (!text.len || number_parse(text.ptr, text.len, &number) != text.len || !number ||
	    number > INT64_MAX)
		return;
	labels[(*count)++] =
		(struct label){ .key = profile_str(r->p, key), .num = (int64_t)number };
}

static uint32_t thread_labels(struct reader *r, const struct thread *thread)
{
	struct json_text name = thread->name.len ? thread->name : thread->process_name;
	struct label labels[3];
	size_t count = 0;

	add_number(r, "pid", thread->pid, labels, &count);
	add_number(r, "tid", thread->tid, labels, &count);
	if (name.len)
		labels[count++] = (struct label){ .key = profile_str(r->p, "comm"),
						  .str = json_frames_str(r->p, name, &r->scratch) };
	return profile_add_labels(r->p, labels, count);
}

static void find_columns(struct samples *s, struct json j)
{
	struct json_list o = json_object(&j);
	struct json_text key;

	while (json_member(&j, &o, &key)) {
		char first = json_peek(&j);

		if (json_equals(&key, "weightType")) {
			s->weight_type = take_string(&j);
			continue;
		}
		if (json_equals(&key, "weight") && first == '[') {
			s->weights = j;
			s->has_weights = true;
		} else if (json_equals(&key, "threadCPUDelta") && first == '[') {
			s->deltas = j;
			s->has_deltas = true;
		}
		json_skip(&j);
	}
}

/* The sample type of the weights. ret_scale: a power of ten. */
static size_t weight_type(struct reader *r, const struct samples *s, int *ret_scale)
{
	*ret_scale = 0;
	if (json_equals(&s->weight_type, "bytes"))
		return profile_add_type(r->p, "space", "bytes");
	if (!json_equals(&s->weight_type, "tracing-ms"))
		return profile_add_type(r->p, "samples", "count");
	*ret_scale = 6;
	return profile_add_type(r->p, "time", "nanoseconds");
}

/* The next number of a column; fallback: there is none. */
static int64_t next_number(struct json *j, struct json_list *list, int scale, int64_t fallback)
{
	int64_t value;

	if (!list->close || !json_item(j, list) ||
	    !json_scale(json_number_or_skip(j), scale, &value))
		return fallback;
	return value;
}

static int add_samples(struct reader *r, const struct process *process, const struct thread *thread,
		       struct err *e)
{
	static const char *const names[] = { "stack" };
	CLEANUP(rows_fini) struct rows rows = { 0 };
	const uint32_t *nodes = r->stacks.nodes.data;
	struct json_list weights = { 0 }, deltas = { 0 };
	uint32_t labels = thread_labels(r, thread);
	struct samples s = { 0 };
	size_t type, cpu_type = 0;
	int scale, rc = columns_read(thread->samples, names, 1, &rows, e);

	find_columns(&s, thread->samples);
	type = weight_type(r, &s, &scale);
	if (process->has_cpu && s.has_deltas)
		cpu_type = profile_add_type(r->p, "cpu", "nanoseconds");
	if (rc == 0)
		rc = profile_check(r->p, e);
	if (s.has_weights)
		weights = json_array(&s.weights);
	if (process->has_cpu && s.has_deltas)
		deltas = json_array(&s.deltas);
	for (uint32_t i = 0; i < rows.count && rc == 0; i++) {
		uint32_t stack = columns_get(&rows, i).cells[0];
		int64_t values[PROFILE_MAX_TYPES] = { 0 };

		if (cpu_type)
			values[cpu_type] = next_number(&s.deltas, &deltas, process->delta_scale, 0);
		values[type] = next_number(&s.weights, &weights, scale, s.has_weights ? 0 : 1);
		if (stack < r->stacks.nodes.count)
			profile_add(r->p, nodes[stack], labels, values);
		rc = profile_check(r->p, e);
	}
	return rc;
}

static int read_threads(struct reader *r, const struct process *process, struct err *e)
{
	struct json j = process->threads;
	struct json_list a = json_array(&j);
	int rc = 0;

	while (rc == 0 && json_item(&j, &a)) {
		struct thread thread = { 0 };

		if (json_peek(&j) != '{') {
			json_skip(&j);
			continue;
		}
		find_thread_parts(&thread, &j);
		if (!thread.has_samples)
			continue;
		rc = firefox_stacks_read(&r->stacks, r->p, &thread.places, &process->shared,
					 &process->libs, e);
		if (rc == 0)
			rc = add_samples(r, process, &thread, e);
	}
	return rc;
}

/* Behind it, j is at the end of the object. */
static int read_process(struct reader *r, struct json *j, int level, struct err *e)
{
	CLEANUP(process_fini) struct process process = { 0 };
	struct json_list a;
	int rc = find_parts(r, &process, j);

	if (rc < 0)
		return err_nomem(e);
	if (j->wrong)
		return json_frames_error(j, e);
	if (process.interval_ns > 0 && !level) {
		profile_info(r->p)->period = process.interval_ns;
		profile_info(r->p)->period_type.type = profile_str(r->p, "wall");
		profile_info(r->p)->period_type.unit = profile_str(r->p, "nanoseconds");
	}
	if (process.has_threads)
		rc = read_threads(r, &process, e);
	if (rc < 0 || !process.has_processes || level == MAX_PROCESSES)
		return rc;
	a = json_array(&process.processes);
	while (rc == 0 && json_item(&process.processes, &a)) {
		if (json_peek(&process.processes) == '{')
			rc = read_process(r, &process.processes, level + 1, e);
		else
			json_skip(&process.processes);
	}
	return rc;
}

int firefox_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(reader_fini) struct reader r = { .p = p };
	struct json j;
	int rc = json_frames_begin(data, len, &copy, &j, e);

	if (rc == 0)
		rc = read_process(&r, &j, 0, e);
	if (rc < 0)
		return rc;
	if (!json_end(&j))
		return json_frames_error(&j, e);
	if (!r.has_threads)
		return err_set(e, -EINVAL, "there are no threads");
	if (!profile_type_count(p))
		profile_add_type(p, "samples", "count");
	return profile_check(p, e);
}

bool firefox_detect(const unsigned char *data, size_t len)
{
	size_t tail = len < 65536 ? len : 65536;

	return json_frames_is_object(data, len) &&
	       (json_frames_has(data, len, "\"preprocessedProfileVersion\"") ||
		json_frames_has(data, len, "\"stackTable\"") ||
		json_frames_has(data, len, "\"frameTable\"") ||
		json_frames_has(data + len - tail, tail, "\"stackTable\"")) &&
	       !json_frames_has(data, len, "\"traceEvents\"");
}
