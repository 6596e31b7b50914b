/* SPDX-License-Identifier: MIT */
#include "format/thread_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"

/* How the times of a label set are used. */
struct label_times {
	int64_t all, timed; /* sums of what has no negative values */
	bool is_odd;        /* the times are not of these samples */
	bool is_over;       /* a stack has more in its times than in all */
};

struct builder {
	const struct profile *p;
	size_t type;
	int64_t *timed;             /* [sample_count]: what the times of a sample add up to */
	struct label_times *labels; /* [label_set_count] */
	uint32_t *of_labels;        /* [label_set_count]: thread + 1, 0: not yet */
};

static void builder_fini(struct builder *b)
{
	free(b->timed);
	free(b->labels);
	free(b->of_labels);
}

static int builder_init(struct builder *b)
{
	b->timed = calloc(profile_sample_count(b->p) + 1, sizeof *b->timed);
	b->labels = calloc(profile_label_set_count(b->p) + 1, sizeof *b->labels);
	b->of_labels = calloc(profile_label_set_count(b->p) + 1, sizeof *b->of_labels);
	return b->timed && b->labels && b->of_labels ? 0 : -ENOMEM;
}

/* The time of an entry, or false when it is none. */
static bool find_time(const struct sample_times *t, const struct timed_value *v, uint64_t *ret)
{
	return !__builtin_mul_overflow(t->bucket_ns, (uint64_t)v->bucket, ret) &&
	       *ret <= INT64_MAX - t->bucket_ns && t->bucket_ns <= INT64_MAX;
}

static void sum_times(struct builder *b)
{
	const struct sample_times *t = profile_get_times(b->p);

	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		uint32_t sample = v->type == b->type ? profile_find_sample(b->p, v->node, v->labels)
						     : MAP_NONE;
		struct label_times *l = &b->labels[v->labels];
		uint64_t time_ns;

		if (sample == MAP_NONE)
			continue;
		l->is_odd |= v->value <= 0 || !find_time(t, v, &time_ns);
		number_add(&b->timed[sample], v->value);
		number_add(&l->timed, v->value);
	}
	for (size_t i = 0; i < profile_sample_count(b->p); i++) {
		struct sample s = profile_get_sample(b->p, i);
		struct label_times *l = &b->labels[s.labels];
		int64_t value = s.values[b->type] > 0 ? s.values[b->type] : 0;

		l->is_over |= b->timed[i] > value;
		number_add(&l->all, value);
	}
}

/* Thinned times have the right sum, and other stacks. */
static bool has_times(const struct label_times *l)
{
	return !l->is_odd && (!l->is_over || l->timed == l->all);
}

static int add_row(struct thread_rows *t, const struct thread_row *row)
{
	struct thread_row *copy = rows_add(&t->rows, sizeof *copy);

	if (!copy)
		return -ENOMEM;
	*copy = *row;
	return 0;
}

/* What has no time. */
static int add_rest(struct builder *b, struct thread_rows *ret)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(b->p); i++) {
		struct sample s = profile_get_sample(b->p, i);
		const struct label_times *l = &b->labels[s.labels];
		int64_t rest = s.values[b->type];

		if (has_times(l))
			rest = l->is_over ? 0 : rest - b->timed[i];
		if (rest > 0)
			rc = add_row(ret, &(struct thread_row){ .node = s.node,
								.labels = s.labels,
								.value = rest });
	}
	return rc;
}

static int add_timed(struct builder *b, struct thread_rows *ret)
{
	const struct sample_times *t = profile_get_times(b->p);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		uint64_t time_ns;

		if (v->type != b->type || !has_times(&b->labels[v->labels]) ||
		    profile_find_sample(b->p, v->node, v->labels) == MAP_NONE ||
		    !find_time(t, v, &time_ns))
			continue;
		rc = add_row(ret, &(struct thread_row){ .time_ns = time_ns,
							.node = v->node,
							.labels = v->labels,
							.value = v->value,
							.is_timed = true });
		if (ret->end_ns < time_ns + t->bucket_ns) {
			ret->end_ns = time_ns + t->bucket_ns;
			ret->last_ns = time_ns;
		}
	}
	return rc;
}

static int compare_rows(const void *left, const void *right)
{
	const struct thread_row *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->labels != b->labels)
		return a->labels < b->labels ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* The text of a label, or fallback. STRTAB_NONE: out of memory. */
static uint32_t label_text(struct thread_rows *t, const struct profile *p, uint32_t set,
			   const char *key, const char *fallback)
{
	const struct label *label = profile_find_label(p, set, key);
	char number[24];

	if (!label)
		return strtab_intern(t->texts, fallback, strlen(fallback));
	if (label->str) {
		struct str text = profile_get_str(p, label->str);

		return strtab_intern(t->texts, text.ptr, text.len);
	}
	snprintf(number, sizeof number, "%" PRId64, label->num);
	return strtab_intern(t->texts, number, strlen(number));
}

static int find_thread(struct thread_rows *t, const struct profile *p, uint32_t set, uint32_t *ret)
{
	struct thread thread = { .pid = label_text(t, p, set, "pid", "0"),
				 .tid = label_text(t, p, set, "tid", "0"),
				 .comm = label_text(t, p, set, "comm", "") };
	const uint32_t key[] = { thread.pid, thread.tid, thread.comm };
	struct thread *row;

	if (thread.pid == STRTAB_NONE || thread.tid == STRTAB_NONE || thread.comm == STRTAB_NONE)
		return -ENOMEM;
	*ret = strtab_intern(t->keys, key, sizeof key);
	if (*ret == STRTAB_NONE)
		return -ENOMEM;
	if (*ret < t->threads.count)
		return 0;
	row = rows_add(&t->threads, sizeof *row);
	if (!row)
		return -ENOMEM;
	*row = thread;
	return 0;
}

static struct thread *thread_of(struct thread_rows *t, const struct builder *b, size_t row)
{
	const struct thread_row *r = (const struct thread_row *)t->rows.data + row;

	return (struct thread *)t->threads.data + b->of_labels[r->labels] - 1;
}

static int sort_by_thread(struct thread_rows *t, struct builder *b)
{
	const struct thread_row *rows = t->rows.data;
	struct thread *threads;
	size_t first = 0;

	t->order = calloc(t->rows.count + 1, sizeof *t->order);
	if (!t->order)
		return -ENOMEM;
	for (size_t i = 0; i < t->rows.count; i++) {
		uint32_t thread;

		if (!b->of_labels[rows[i].labels]) {
			if (find_thread(t, b->p, rows[i].labels, &thread) < 0)
				return -ENOMEM;
			b->of_labels[rows[i].labels] = thread + 1;
		}
		thread_of(t, b, i)->count++;
	}
	threads = t->threads.data;
	for (size_t i = 0; i < t->threads.count; i++) {
		threads[i].first = first;
		first += threads[i].count;
		threads[i].count = 0;
	}
	for (size_t i = 0; i < t->rows.count; i++) {
		struct thread *thread = thread_of(t, b, i);

		t->order[thread->first + thread->count++] = (uint32_t)i;
	}
	return 0;
}

int thread_rows_make(struct thread_rows *ret, const struct profile *p, size_t type, struct err *e)
{
	CLEANUP(builder_fini) struct builder b = { .p = p, .type = type };

	ret->texts = strtab_new();
	ret->keys = strtab_new();
	if (!ret->texts || !ret->keys || builder_init(&b) < 0)
		return err_nomem(e);
	if (profile_get_times(p)->entries.count)
		sum_times(&b);
	if (add_rest(&b, ret) < 0 || add_timed(&b, ret) < 0)
		return err_nomem(e);
	if (ret->end_ns) /* else the order of the samples stays */
		qsort(ret->rows.data, ret->rows.count, sizeof(struct thread_row), compare_rows);
	return sort_by_thread(ret, &b) < 0 ? err_nomem(e) : 0;
}

void thread_rows_fini(struct thread_rows *t)
{
	rows_fini(&t->rows);
	rows_fini(&t->threads);
	free(t->order);
	strtab_free(t->texts);
	strtab_free(t->keys);
	*t = (struct thread_rows){ 0 };
}

uint64_t thread_rows_length(const struct thread_rows *t, const struct profile *p)
{
	int64_t duration_ns = profile_get_info(p)->duration_ns;

	return duration_ns > 0 && (uint64_t)duration_ns > t->last_ns ? (uint64_t)duration_ns
								     : t->end_ns;
}

const char *thread_rows_text(const struct thread_rows *t, uint32_t text)
{
	return strtab_get(t->texts, text).ptr;
}
