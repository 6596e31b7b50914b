/* SPDX-License-Identifier: MIT */
#include "usage/slurm/sacct.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"
#include "usage/slurm/sacct_field.h"

#define MAX_NUMBER (INT64_C(1) << 32)

enum column { COLUMN_ID, COLUMN_STATE, COLUMN_ELAPSED, COLUMN_ELAPSED_RAW, COLUMN_RSS, COLUMNS };

static const char *const column_names[COLUMNS] = { "JobID", "State", "Elapsed", "ElapsedRaw",
						   "MaxRSS" };

struct sacct {
	struct strtab *ids;   /* of jobs; the index of a job is its id */
	struct rows jobs;     /* struct sacct_job */
	int columns[COLUMNS]; /* where they are in a line; -1: nowhere */
};

static struct sacct_job *job_at(const struct sacct *s, size_t i)
{
	return (struct sacct_job *)s->jobs.data + i;
}

static int read_head(struct sacct *s, struct str line, struct err *e)
{
	struct str field;
	bool is_over = false;

	for (int i = 0; i < COLUMNS; i++)
		s->columns[i] = -1;
	for (int at = 0; sacct_next_field(&line, &is_over, &field); at++)
		for (int i = 0; i < COLUMNS; i++)
			if (str_equals(field, column_names[i]))
				s->columns[i] = at;
	return s->columns[COLUMN_ID] >= 0
		       ? 0
		       : err_set(e, -EINVAL, "line 1: no column JobID, as 'sacct -P' prints it");
}

/* Digits from *at on; -1: none, or too many. */
static int64_t take_number(const char **at, const char *end)
{
	int64_t n = 0;
	const char *start = *at;

	for (; *at < end && number_is_digit(**at); (*at)++) {
		n = 10 * n + (**at - '0');
		if (n > MAX_NUMBER)
			return -1;
	}
	return *at > start ? n : -1;
}

/* "[DAYS-]HH:MM:SS", "MM:SS", or seconds. -1: none. */
static int64_t read_elapsed(struct str text)
{
	const char *at = text.ptr, *end = at + text.len;
	int64_t seconds = take_number(&at, end), days = 0;

	if (at < end && *at == '-') {
		days = seconds;
		at++;
		seconds = take_number(&at, end);
	}
	while (seconds >= 0 && at < end && *at == ':') {
		int64_t part;

		at++;
		part = take_number(&at, end);
		seconds = part < 0 ? -1 : 60 * seconds + part;
		if (seconds > MAX_NUMBER)
			return -1;
	}
	if (seconds < 0 || days < 0 || days > MAX_NUMBER / 86400)
		return -1;
	return (86400 * days + seconds) * NS_PER_S;
}

/* "308316K", "1.50G", bytes without a letter. -1: none. */
static int64_t read_size_kb(struct str text)
{
	static const char letters[] = "KMGTP";
	const char *at = text.ptr, *end = at + text.len, *letter;
	int64_t whole = take_number(&at, end);
	double kb = (double)whole, tenth = 0.1;

	if (whole < 0)
		return -1;
	if (at < end && *at == '.')
		for (at++; at < end && number_is_digit(*at); at++, tenth /= 10)
			kb += (*at - '0') * tenth;
	letter = at < end ? memchr(letters, *at, strlen(letters)) : NULL;
	if (!letter)
		return (int64_t)(kb / 1024);
	for (const char *from = letters; from < letter; from++)
		kb *= 1024;
	return kb < 1e15 ? (int64_t)kb : -1;
}

/* The job that an id, of a step perhaps, is of. */
static struct sacct_job *job_of(struct sacct *s, struct str id, bool *ret_is_step)
{
	const char *dot = memchr(id.ptr, '.', id.len);
	struct sacct_job *job;
	uint32_t index;

	*ret_is_step = dot;
	if (dot)
		id.len = (size_t)(dot - id.ptr);
	index = strtab_intern(s->ids, id.ptr, id.len);
	if (index == STRTAB_NONE)
		return NULL;
	if (index < s->jobs.count)
		return job_at(s, index);
	job = rows_add(&s->jobs, sizeof *job);
	if (job)
		*job = (struct sacct_job){ .id = id, .elapsed_ns = -1, .max_rss_kb = -1 };
	return job;
}

static int add_line(struct sacct *s, const struct str *fields)
{
	bool is_step;
	struct sacct_job *job = job_of(s, fields[COLUMN_ID], &is_step);
	int64_t elapsed = read_elapsed(fields[COLUMN_ELAPSED_RAW]);
	int64_t rss = read_size_kb(fields[COLUMN_RSS]);

	if (!job)
		return -ENOMEM;
	if (elapsed < 0)
		elapsed = read_elapsed(fields[COLUMN_ELAPSED]);
	if (rss > job->max_rss_kb)
		job->max_rss_kb = rss;
	if (!is_step || job->elapsed_ns < 0)
		job->elapsed_ns = elapsed;
	if (!is_step || !job->state.len)
		job->state = fields[COLUMN_STATE];
	return 0;
}

static int read_line(struct sacct *s, struct str line, size_t number, struct err *e)
{
	struct str fields[COLUMNS], field;
	bool is_over = false;

	for (int i = 0; i < COLUMNS; i++)
		fields[i] = (struct str){ "", 0 };
	for (int at = 0; sacct_next_field(&line, &is_over, &field); at++)
		for (int i = 0; i < COLUMNS; i++)
			if (s->columns[i] == at)
				fields[i] = field;
	if (!fields[COLUMN_ID].len)
		return err_set(e, -EINVAL, "line %zu: no JobID", number);
	return add_line(s, fields) < 0 ? err_nomem(e) : 0;
}

static int read_lines(struct sacct *s, const char *text, size_t len, struct err *e)
{
	struct cursor c = cursor_make(text, len);
	struct str line;
	int rc = 0;

	if (!cursor_line(&c, &line.ptr, &line.len))
		return err_set(e, -EINVAL, "is empty");
	rc = read_head(s, line, e);
	for (size_t number = 2; rc == 0 && cursor_line(&c, &line.ptr, &line.len); number++)
		if (line.len)
			rc = read_line(s, line, number, e);
	return rc;
}

int sacct_read(const char *text, size_t len, struct sacct **ret, struct err *e)
{
	struct sacct *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	s->ids = strtab_new();
	rc = s->ids ? read_lines(s, text, len, e) : err_nomem(e);
	if (rc < 0) {
		sacct_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void sacct_free(struct sacct *s)
{
	if (!s)
		return;
	strtab_free(s->ids);
	rows_fini(&s->jobs);
	free(s);
}

size_t sacct_count(const struct sacct *s)
{
	return s->jobs.count;
}

const struct sacct_job *sacct_get(const struct sacct *s, size_t i)
{
	return job_at(s, i);
}
