/* SPDX-License-Identifier: MIT */
#include "format/json/trace_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void trace_threads_fini(struct trace_threads *t)
{
	rows_fini(&t->rows);
	text_cache_fini(&t->indices);
	text_cache_fini(&t->names);
	buf_fini(&t->key);
}

static bool is_same(struct json_text a, struct json_text b)
{
	return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static uint32_t add(struct trace_threads *t, struct json_text pid, struct json_text tid)
{
	struct trace_thread *thread = rows_add(&t->rows, sizeof *thread);

	if (!thread)
		return UINT32_MAX;
	*thread = (struct trace_thread){ .pid = pid, .tid = tid };
	return (uint32_t)(t->rows.count - 1);
}

uint32_t trace_threads_find(struct trace_threads *t, struct json_text pid, struct json_text tid)
{
	const struct trace_thread *last = t->rows.data;
	uint32_t *index;

	if (t->rows.count && is_same(last[t->last].pid, pid) && is_same(last[t->last].tid, tid))
		return t->last;
	buf_clear(&t->key);
	buf_put(&t->key, pid.ptr, pid.len);
	buf_put_byte(&t->key, '\0');
	buf_put(&t->key, tid.ptr, tid.len);
	if (buf_error(&t->key) < 0)
		return UINT32_MAX;
	index = text_cache_at(&t->indices, text_cache_hash(t->key.data, t->key.len));
	if (!index)
		return UINT32_MAX;
	if (*index == TEXT_CACHE_NEW) {
		uint32_t added = add(t, pid, tid);

		if (added == UINT32_MAX)
			return UINT32_MAX;
		*index = added;
	}
	t->last = *index;
	return *index;
}

int trace_threads_set_name(struct trace_threads *t, struct json_text pid, struct json_text tid,
			   uint32_t name)
{
	uint32_t index = trace_threads_find(t, pid, tid);

	if (index == UINT32_MAX)
		return -ENOMEM;
	((struct trace_thread *)t->rows.data)[index].name = name;
	return 0;
}

/* As text without bytes it is hashed, too. */
static struct text_cache_key pid_key(struct json_text pid)
{
	return text_cache_hash(pid.len ? pid.ptr : "", pid.len);
}

int trace_threads_set_process(struct trace_threads *t, struct json_text pid, uint32_t name)
{
	uint32_t *value = text_cache_at(&t->names, pid_key(pid));

	if (!value)
		return -ENOMEM;
	*value = name;
	return 0;
}

/* A number as it is; a text as one. */
static void add_number(struct profile *p, const char *key, struct json_text text,
		       struct label *labels, size_t *count)
{
	struct label label = { .key = profile_str(p, key) };
	uint64_t number;

	if (!text.len)
		return;
	if (number_parse(text.ptr, text.len, &number) == text.len && number <= INT64_MAX)
		label.num = (int64_t)number;
	else
		label.str = profile_str_n(p, text.ptr, text.len);
	labels[(*count)++] = label;
}

static uint32_t make_labels(struct profile *p, const struct trace_thread *thread, uint32_t process)
{
	struct label labels[4];
	size_t count = 0;

	add_number(p, "pid", thread->pid, labels, &count);
	add_number(p, "tid", thread->tid, labels, &count);
	if (thread->name || process)
		labels[count++] = (struct label){ .key = profile_str(p, "comm"),
						  .str = thread->name ? thread->name : process };
	if (thread->name && process && thread->name != process)
		labels[count++] =
			(struct label){ .key = profile_str(p, "process"), .str = process };
	return profile_add_labels(p, labels, count);
}

uint32_t *trace_threads_labels(struct trace_threads *t, struct profile *p)
{
	const struct trace_thread *threads = t->rows.data;
	uint32_t *labels = calloc(t->rows.count + 1, sizeof *labels);

	for (size_t i = 0; labels && i < t->rows.count; i++) {
		uint32_t *process = text_cache_at(&t->names, pid_key(threads[i].pid));

		if (!process) {
			free(labels);
			return NULL;
		}
		if (*process == TEXT_CACHE_NEW)
			*process = 0;
		labels[i] = make_labels(p, &threads[i], *process);
	}
	return labels;
}
