/* SPDX-License-Identifier: MIT */
#include "usage/slurm/sacct_steps.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/number.h"
#include "base/str.h"
#include "usage/slurm/sacct_field.h"

#define MAX_NUMBER (INT64_C(1) << 50)
#define MAX_SECONDS (INT64_C(1) << 32)
#define MAX_COLUMNS 256

const char *const sacct_field_names[SACCT_FIELDS] = {
	[SACCT_ELAPSED] = "ElapsedRaw",     [SACCT_CPU_TIME] = "CPUTimeRAW",
	[SACCT_USER] = "UserCPU",           [SACCT_SYSTEM] = "SystemCPU",
	[SACCT_TOTAL] = "TotalCPU",         [SACCT_AVE_CPU] = "AveCPU",
	[SACCT_MIN_CPU] = "MinCPU",         [SACCT_MAX_RSS] = "MaxRSS",
	[SACCT_AVE_RSS] = "AveRSS",         [SACCT_MAX_VM] = "MaxVMSize",
	[SACCT_MAX_PAGES] = "MaxPages",     [SACCT_MAX_READ] = "MaxDiskRead",
	[SACCT_MAX_WRITE] = "MaxDiskWrite", [SACCT_CPUS] = "AllocCPUS",
	[SACCT_TASKS] = "NTasks",           [SACCT_STATUS] = "ExitCode",
};

enum { COLUMN_ID = SACCT_FIELDS, COLUMN_STATE, COLUMN_NONE };

/* The digits at *at, which move on; -1: none, or too many. */
static int64_t take_number(struct str *at)
{
	int64_t n = -1;

	for (; at->len && number_is_digit(*at->ptr); at->ptr++, at->len--) {
		n = (n < 0 ? 0 : 10 * n) + (*at->ptr - '0');
		if (n > MAX_NUMBER)
			return -1;
	}
	return n;
}

static bool take_byte(struct str *at, char byte)
{
	if (!at->len || *at->ptr != byte)
		return false;
	at->ptr++;
	at->len--;
	return true;
}

/* The digits behind a point, in parts of 10^9. */
static int64_t take_fraction(struct str *at)
{
	int64_t n = 0, scale = NS_PER_S;

	for (; at->len && number_is_digit(*at->ptr); at->ptr++, at->len--) {
		scale /= 10;
		n += (*at->ptr - '0') * scale;
	}
	return n;
}

/* "[DAYS-][HH:]MM:SS[.mmm]", or seconds. */
static int64_t read_time(struct str at)
{
	int64_t seconds = take_number(&at), days = 0;

	if (take_byte(&at, '-')) {
		days = seconds;
		seconds = take_number(&at);
	}
	while (seconds >= 0 && seconds < MAX_SECONDS && take_byte(&at, ':')) {
		int64_t part = take_number(&at);

		seconds = part < 0 ? -1 : 60 * seconds + part;
	}
	if (seconds < 0 || seconds >= MAX_SECONDS || days < 0 || days > MAX_SECONDS / 86400)
		return -1;
	seconds = (86400 * days + seconds) * NS_PER_S;
	return seconds + (take_byte(&at, '.') ? take_fraction(&at) : 0);
}

/* "308316K", "1.50G", bytes without a letter; counts come with letters, too. */
static int64_t read_size(struct str at)
{
	static const char letters[] = "KMGTP";
	int64_t whole = take_number(&at);
	double bytes = (double)whole;
	const char *letter;

	if (whole < 0)
		return -1;
	if (take_byte(&at, '.'))
		bytes += (double)take_fraction(&at) / (double)NS_PER_S;
	letter = at.len ? memchr(letters, *at.ptr, strlen(letters)) : NULL;
	for (const char *from = letters; letter && from <= letter; from++)
		bytes *= 1024;
	return bytes < 9e18 ? (int64_t)bytes : -1;
}

/* "STATUS:SIGNAL" */
static int64_t read_status(struct str at)
{
	int64_t status = take_number(&at);
	int64_t number = take_byte(&at, ':') ? take_number(&at) : 0;

	return number > 0 ? 128 + number : status;
}

static int64_t read_value(enum sacct_field field, struct str text)
{
	if (field <= SACCT_MIN_CPU)
		return read_time(text);
	return field == SACCT_STATUS ? read_status(text) : read_size(text);
}

static uint8_t column_of(struct str name)
{
	for (uint8_t i = 0; i < SACCT_FIELDS; i++)
		if (str_equals(name, sacct_field_names[i]))
			return i;
	if (str_equals(name, "Elapsed"))
		return SACCT_ELAPSED;
	return str_equals(name, "JobID")   ? COLUMN_ID
	       : str_equals(name, "State") ? COLUMN_STATE
					   : COLUMN_NONE;
}

/* What each column is. */
struct head {
	uint8_t columns[MAX_COLUMNS];
	size_t count;
};

static int read_head(struct head *h, struct str line, struct err *e)
{
	struct str field;
	bool is_over = false, has_id = false;

	while (h->count < MAX_COLUMNS && sacct_next_field(&line, &is_over, &field)) {
		h->columns[h->count] = column_of(field);
		has_id |= h->columns[h->count++] == COLUMN_ID;
	}
	return has_id ? 0 : err_set(e, -EINVAL, "line 1: no column JobID, as 'sacct -P' prints it");
}

static int read_line(const struct head *h, struct str line, size_t number, struct rows *ret,
		     struct err *e)
{
	struct sacct_step *step = rows_add(ret, sizeof *step);
	struct str field;
	bool is_over = false;

	if (!step)
		return err_nomem(e);
	step->state = (struct str){ "", 0 };
	for (size_t i = 0; i < SACCT_FIELDS; i++)
		step->values[i] = -1;
	for (size_t i = 0; i < h->count && sacct_next_field(&line, &is_over, &field); i++) {
		if (h->columns[i] == COLUMN_ID)
			step->id = field;
		else if (h->columns[i] == COLUMN_STATE)
			step->state = field;
		else if (h->columns[i] != COLUMN_NONE && step->values[h->columns[i]] < 0)
			step->values[h->columns[i]] =
				read_value((enum sacct_field)h->columns[i], field);
	}
	return step->id.len ? 0 : err_set(e, -EINVAL, "line %zu: no JobID", number);
}

int sacct_steps_read(const char *text, size_t len, struct rows *ret, struct err *e)
{
	struct cursor c = cursor_make(text, len);
	struct rows steps = { 0 };
	struct head head = { .count = 0 };
	struct str line;
	int rc;

	if (!cursor_line(&c, &line.ptr, &line.len))
		return err_set(e, -EINVAL, "is empty");
	rc = read_head(&head, line, e);
	for (size_t number = 2; rc == 0 && cursor_line(&c, &line.ptr, &line.len); number++)
		if (line.len)
			rc = read_line(&head, line, number, &steps, e);
	if (rc < 0)
		rows_fini(&steps);
	else
		*ret = steps;
	return rc;
}
