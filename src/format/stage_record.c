/* SPDX-License-Identifier: MIT */
#include "format/stage_record.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/rows.h"

#define KEY_SLOTS 256 /* a power of two, several times the keys */
#define KEY_BYTES 32  /* of the longest, with quotes, colon and NUL */
#define ROW_KEYS 64   /* that are looked for in the order of the row before */
#define NAMES_MAX 16  /* of members that are proposed as keys */
#define NAME_BYTES 24

/* The members of a record besides its rows. */
enum fact {
	FACT_GROUP, /* and the following: of the keys */
	FACT_INPUT = FACT_GROUP + STAGE_KEYS_MAX,
	FACT_HOST,
	FACT_RANK,
	FACT_JOB,
	FACT_ARRAY_JOB,
	FACT_ARRAY_TASK,
	FACT_START,
	FACT_TOTAL_WALL,
	FACT_TOTAL_CPU,
	FACT_RSS_NOW,
	FACT_RSS_PEAK,
	FACT_TRACED,
	FACTS
};

static const struct {
	const char *key;
	enum fact fact;
} fact_keys[] = {
	{ "input", FACT_INPUT },
	{ "host", FACT_HOST },
	{ "hostname", FACT_HOST },
	{ "rank", FACT_RANK },
	{ "slurm_procid", FACT_RANK },
	{ "procid", FACT_RANK },
	{ "slurm_job_id", FACT_JOB },
	{ "flux_job_id", FACT_JOB },
	{ "lsf_job_id", FACT_JOB },
	{ "pbs_job_id", FACT_JOB },
	{ "job_id", FACT_JOB },
	{ "slurm_array_job_id", FACT_ARRAY_JOB },
	{ "pbs_array_job_id", FACT_ARRAY_JOB },
	{ "array_job_id", FACT_ARRAY_JOB },
	{ "slurm_array_task_id", FACT_ARRAY_TASK },
	{ "lsf_array_task_id", FACT_ARRAY_TASK },
	{ "pbs_array_task_id", FACT_ARRAY_TASK },
	{ "array_task_id", FACT_ARRAY_TASK },
	{ "start_unix", FACT_START },
	{ "start_unix_s", FACT_START },
	{ "total_wall_s", FACT_TOTAL_WALL },
	{ "total_cpu_s", FACT_TOTAL_CPU },
	{ "rss_kb_now", FACT_RSS_NOW },
	{ "rss_kb_peak", FACT_RSS_PEAK },
	{ "python_memory_traced", FACT_TRACED },
};

/* The same metric under the name of other writers. */
static const struct {
	const char *key;
	enum stage_metric metric;
} other_keys[] = {
	{ "wall_self_s", STAGE_SELF_WALL },
	{ "minflt", STAGE_MINOR_FAULTS },
	{ "majflt", STAGE_MAJOR_FAULTS },
	{ "rss_kb_peak_max", STAGE_RSS_PEAK },
};

#define MEANS_STAGE STAGE_METRICS /* of a key in a row: its name */

struct known_key {
	char word[KEY_BYTES]; /* with quotes and colon, as json_expect() wants it */
	size_t len;           /* of the key itself; 0: the slot is free */
	int meaning;          /* in a row: enum stage_metric or MEANS_STAGE; else: enum fact */
	int scale;            /* of a metric: times are in seconds, 9 */
};

struct known_keys {
	struct known_key slots[KEY_SLOTS];
};

/* facts: [FACTS], as they are written. */
struct facts {
	struct json_text list[FACTS];
};

struct stage_reader {
	struct json_text keys[STAGE_KEYS_MAX]; /* [key_count]: of the group */
	size_t key_count;
	unsigned found_keys; /* bits: a record had them */
	const char *file;
	char names[NAMES_MAX][NAME_BYTES]; /* [name_count] members, while a key is not found */
	size_t name_count;
	struct known_keys of_rows, of_facts;
	const struct known_key *order[ROW_KEYS]; /* of the row before; NULL: not known */
	struct rows rows;                        /* struct stage_row */
	struct buf text;    /* texts without their escapes; never grows while a line is read */
	struct facts outer; /* of the record around the report */
	struct facts inner; /* of the report */
	bool has_report;
};

static size_t hash_key(const char *text, size_t len)
{
	size_t h = len * 7;

	if (len)
		h += (unsigned char)text[0] * 31u + (unsigned char)text[len - 1] * 17u +
		     (unsigned char)text[len / 2] * 5u + (unsigned char)text[len / 4];
	return h % KEY_SLOTS;
}

static void add_key(struct known_keys *k, const char *text, int meaning, int scale)
{
	size_t len = strlen(text), at = hash_key(text, len);

	assert(len + 4 <= KEY_BYTES);
	while (k->slots[at].len)
		at = (at + 1) % KEY_SLOTS;
	k->slots[at] = (struct known_key){ .len = len, .meaning = meaning, .scale = scale };
	snprintf(k->slots[at].word, KEY_BYTES, "\"%s\":", text);
}

static void add_metric(struct stage_reader *r, const char *text, enum stage_metric metric)
{
	bool is_time = stage_metrics[metric].unit[0] == 'n';

	add_key(&r->of_rows, text, (int)metric, is_time ? 9 : 0);
}

static const struct known_key *find_key(const struct known_keys *k, const struct json_text *key)
{
	for (size_t at = hash_key(key->ptr, key->len); k->slots[at].len; at = (at + 1) % KEY_SLOTS)
		if (k->slots[at].len == key->len &&
		    memcmp(k->slots[at].word + 1, key->ptr, key->len) == 0)
			return &k->slots[at];
	return NULL;
}

static void split_keys(struct stage_reader *r, const char *keys)
{
	for (const char *at = keys; at && r->key_count < STAGE_KEYS_MAX;) {
		size_t len = strcspn(at, ",");

		if (r->key_count + 1 == STAGE_KEYS_MAX)
			len = strlen(at);
		r->keys[r->key_count++] = (struct json_text){ .ptr = at, .len = len };
		at = at[len] ? at + len + 1 : NULL;
	}
}

struct stage_reader *stage_reader_new(const char *keys)
{
	struct stage_reader *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	split_keys(r, keys);
	add_key(&r->of_rows, "stage", MEANS_STAGE, 0);
	for (int i = 0; i < STAGE_METRICS; i++)
		add_metric(r, stage_metrics[i].key, (enum stage_metric)i);
	for (size_t i = 0; i < ARRAY_LEN(other_keys); i++)
		add_metric(r, other_keys[i].key, other_keys[i].metric);
	for (size_t i = 0; i < ARRAY_LEN(fact_keys); i++)
		add_key(&r->of_facts, fact_keys[i].key, (int)fact_keys[i].fact, 0);
	return r;
}

void stage_reader_set_file(struct stage_reader *r, const char *path)
{
	r->file = path;
}

void stage_reader_free(struct stage_reader *r)
{
	if (!r)
		return;
	rows_fini(&r->rows);
	buf_fini(&r->text);
	free(r);
}

static void fail(struct json *j, const char *wrong)
{
	if (!j->wrong)
		j->wrong = wrong;
}

/* The text with its escapes replaced. */
static struct str plain_text(struct stage_reader *r, struct json_text text)
{
	size_t start = r->text.len;

	if (!text.has_escapes)
		return (struct str){ text.ptr, text.len };
	json_unescape(text, &r->text);
	return (struct str){ r->text.data + start, r->text.len - start };
}

/* Rows. */

/* Others below zero are of a damaged report, and would make sums too small. */
static bool may_be_negative(int metric)
{
	return metric == STAGE_SELF_WALL || metric == STAGE_WAIT || metric == STAGE_PY_DELTA ||
	       metric == STAGE_HEAP_DELTA || metric == STAGE_RSS_DELTA;
}

static void read_metric(struct json *j, const struct known_key *key, struct stage_row *row)
{
	struct json_number n = json_number(j);
	int64_t value;

	if (n.is_none)
		return;
	if (!json_scale(n, key->scale, &value) || (value < 0 && !may_be_negative(key->meaning))) {
		fail(j, "has a number out of range");
		return;
	}
	row->values[key->meaning] = value;
	row->has |= UINT64_C(1) << key->meaning;
}

static void read_known(struct stage_reader *r, struct json *j, const struct known_key *key,
		       struct stage_row *row)
{
	if (key && key->meaning < STAGE_METRICS)
		read_metric(j, key, row);
	else if (key && key->meaning == MEANS_STAGE)
		row->name = plain_text(r, json_string(j));
	else
		json_skip(j);
}

/* Rows of a writer have their members in one order, which is remembered. */
static void read_row(struct stage_reader *r, struct json *j, struct stage_row *row)
{
	struct json_list object = json_object(j);
	struct json_text key;

	for (size_t i = 0;; i++) {
		const struct known_key *known = i < ROW_KEYS ? r->order[i] : NULL;

		if (!known || !json_expect(j, &object, known->word, known->len + 3)) {
			if (!json_member(j, &object, &key))
				break;
			known = find_key(&r->of_rows, &key);
			if (i < ROW_KEYS)
				r->order[i] = known;
		}
		read_known(r, j, known, row);
	}
	if (!row->name.ptr)
		fail(j, "has a stage without a name");
	else if (row->name.len > STAGE_NAME_MAX)
		fail(j, "has a stage with a name of more than 4096 bytes");
}

static int read_rows(struct stage_reader *r, struct json *j)
{
	struct json_list array = json_array(j);

	r->rows.count = 0;
	r->has_report = true;
	while (json_item(j, &array)) {
		struct stage_row *row = rows_add(&r->rows, sizeof *row);

		if (!row)
			return -ENOMEM;
		read_row(r, j, row);
	}
	return 0;
}

/* Facts. */

static bool has_all_keys(const struct stage_reader *r)
{
	return r->found_keys == (1u << r->key_count) - 1;
}

static void note_name(struct stage_reader *r, const struct json_text *key)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char name[NAME_BYTES];

	if (!key->len || key->len >= sizeof name || r->name_count == NAMES_MAX)
		return;
	snprintf(name, sizeof name, "%.*s", (int)key->len, key->ptr);
	if (name[strspn(name, plain)])
		return;
	for (size_t i = 0; i < r->name_count; i++)
		if (strcmp(r->names[i], name) == 0)
			return;
	memcpy(r->names[r->name_count++], name, sizeof name);
}

static void note_fact(struct stage_reader *r, struct facts *facts, const struct json_text *key,
		      struct json_text value)
{
	const struct known_key *known;
	bool is_null = value.len == 4 && value.ptr && memcmp(value.ptr, "null", 4) == 0;

	/* the null of JSON, not the text "null" */
	if (!value.ptr || (is_null && value.ptr[-1] != '"'))
		return;
	known = find_key(&r->of_facts, key);
	if (known)
		facts->list[known->meaning] = value;
	if (!has_all_keys(r) && (!known || known->meaning < FACT_START))
		note_name(r, key);
	for (size_t i = 0; i < r->key_count; i++)
		if (r->keys[i].len == key->len && memcmp(r->keys[i].ptr, key->ptr, key->len) == 0)
			facts->list[FACT_GROUP + i] = value;
}

/* An object in the head of a report. */
static void read_head(struct stage_reader *r, struct json *j, int depth)
{
	struct json_list object = json_object(j);
	struct json_text key;

	while (json_member(j, &object, &key)) {
		if (depth && json_peek(j) == '{')
			read_head(r, j, depth - 1);
		else
			note_fact(r, &r->inner, &key, json_skip(j));
	}
}

static int read_report(struct stage_reader *r, struct json *j)
{
	struct json_list object = json_object(j);
	struct json_text key;
	int rc = 0;

	while (rc == 0 && json_member(j, &object, &key)) {
		char first = json_peek(j);

		if (first == '[' && json_equals(&key, "stages"))
			rc = read_rows(r, j);
		else if (first == '{')
			read_head(r, j, 1);
		else
			note_fact(r, &r->inner, &key, json_skip(j));
	}
	return rc;
}

/* A row has a name. Objects that others call "stages" are none of ours. */
static bool looks_like_rows(const struct json *at)
{
	struct json look = *at;
	struct json_list array = json_array(&look), object;
	struct json_text key;

	if (!json_item(&look, &array))
		return !look.wrong;
	object = json_object(&look);
	while (json_member(&look, &object, &key)) {
		if (json_equals(&key, "stage"))
			return true;
		json_skip(&look);
	}
	return false;
}

/* The line: a record of results, or a report. */
static int read_line(struct stage_reader *r, struct json *j)
{
	struct json_list object = json_object(j);
	struct json_text key;
	bool is_bare = false, has_profile = false;
	int rc = 0;

	while (rc == 0 && json_member(j, &object, &key)) {
		char first = json_peek(j);

		if (first == '{' && json_equals(&key, "profile")) {
			has_profile = true;
			rc = read_report(r, j);
		} else if (first == '[' && !has_profile && json_equals(&key, "stages") &&
			   looks_like_rows(j)) {
			is_bare = true;
			rc = read_rows(r, j);
		} else if (first == '{' &&
			   (json_equals(&key, "env") || json_equals(&key, "slurm"))) {
			read_head(r, j, 1);
		} else {
			note_fact(r, &r->outer, &key, json_skip(j));
		}
	}
	if (is_bare && !has_profile)
		for (int i = 0; i < FACTS; i++)
			if (r->outer.list[i].ptr)
				r->inner.list[i] = r->outer.list[i];
	return rc;
}

/* The record. */

static const struct json_text *pick(const struct stage_reader *r, enum fact fact)
{
	bool is_outer = fact <= FACT_INPUT;
	const struct json_text *first = is_outer ? &r->outer.list[fact] : &r->inner.list[fact];
	const struct json_text *second = is_outer ? &r->inner.list[fact] : &r->outer.list[fact];

	return first->ptr ? first : second;
}

static struct str pick_text(struct stage_reader *r, enum fact fact)
{
	return plain_text(r, *pick(r, fact));
}

static bool pick_number(const struct stage_reader *r, enum fact fact, int scale, int64_t *ret)
{
	struct json_text text = *pick(r, fact);
	struct json j = { .start = text.ptr, .at = text.ptr };

	if (!text.ptr)
		return false;
	j.end = text.ptr + text.len;
	return json_scale(json_number(&j), scale, ret) && !j.wrong;
}

/* As Slurm writes it: "123", "120_7". */
static struct str make_job(struct stage_reader *r)
{
	struct str job = pick_text(r, FACT_JOB), array = pick_text(r, FACT_ARRAY_JOB);
	struct str task = pick_text(r, FACT_ARRAY_TASK);
	size_t start = r->text.len;

	if (!array.len || !task.len)
		return job;
	buf_put(&r->text, array.ptr, array.len);
	buf_put_byte(&r->text, '_');
	buf_put(&r->text, task.ptr, task.len);
	return (struct str){ r->text.data + start, r->text.len - start };
}

static struct str pick_key(struct stage_reader *r, size_t index)
{
	const struct json_text *key = &r->keys[index];

	if (json_equals(key, "file") && r->file)
		return (struct str){ r->file, strlen(r->file) };
	if (json_equals(key, "host"))
		return pick_text(r, FACT_HOST);
	if (json_equals(key, "rank"))
		return pick_text(r, FACT_RANK);
	if (json_equals(key, "job"))
		return make_job(r);
	return pick_text(r, (enum fact)(FACT_GROUP + index));
}

/* A part that a record lacks is "-", unless it is the only one. */
static struct str pick_group(struct stage_reader *r)
{
	struct str parts[STAGE_KEYS_MAX] = { { "", 0 } };
	size_t start;

	for (size_t i = 0; i < r->key_count; i++) {
		parts[i] = pick_key(r, i);
		if (parts[i].ptr)
			r->found_keys |= 1u << i;
	}
	if (r->key_count < 2)
		return parts[0];
	start = r->text.len;
	for (size_t i = 0; i < r->key_count; i++) {
		if (i)
			buf_put_byte(&r->text, ',');
		buf_put(&r->text, parts[i].ptr ? parts[i].ptr : "-",
			parts[i].ptr ? parts[i].len : 1);
	}
	return (struct str){ r->text.data + start, r->text.len - start };
}

int stage_reader_check_keys(const struct stage_reader *r, struct err *e)
{
	size_t missing = 0, len;

	if (has_all_keys(r))
		return 0;
	while (r->found_keys >> missing & 1)
		missing++;
	err_set(e, -EINVAL, "no record has '%.*s'; there are file, job", (int)r->keys[missing].len,
		r->keys[missing].ptr);
	for (size_t i = 0; i < r->name_count; i++) {
		len = strlen(e->msg);
		snprintf(e->msg + len, sizeof e->msg - len, ", %s", r->names[i]);
	}
	return e->code;
}

/* Columns of a profiler that did not look at Python's memory are zero, but not measured. */
static void drop_untraced(struct stage_reader *r)
{
	const struct json_text *traced = pick(r, FACT_TRACED);
	const uint64_t columns = UINT64_C(1) << STAGE_PY_DELTA | UINT64_C(1) << STAGE_PY_PEAK;
	struct stage_row *rows = r->rows.data;

	if (!traced->ptr || *traced->ptr != 'f')
		return;
	for (size_t i = 0; i < r->rows.count; i++)
		rows[i].has &= ~columns;
}

static void make_record(struct stage_reader *r, struct stage_record *ret)
{
	*ret = (struct stage_record){ .rows = r->rows.data, .row_count = r->rows.count };
	ret->group = pick_group(r);
	if (!ret->group.ptr)
		ret->group = (struct str){ "", 0 };
	ret->name = pick_text(r, FACT_INPUT);
	ret->job = make_job(r);
	ret->raw_job = pick_text(r, FACT_JOB);
	pick_number(r, FACT_START, 9, &ret->start_ns);
	ret->has_total_wall = pick_number(r, FACT_TOTAL_WALL, 9, &ret->total_wall_ns);
	ret->has_total_cpu = pick_number(r, FACT_TOTAL_CPU, 9, &ret->total_cpu_ns);
	ret->has_rss_peak = pick_number(r, FACT_RSS_PEAK, 0, &ret->rss_peak_kb);
	drop_untraced(r);
}

int stage_reader_read(struct stage_reader *r, const char *line, size_t len,
		      struct stage_record *ret, struct err *e)
{
	struct json j = json_begin(line, len);
	size_t group;

	r->rows.count = 0;
	r->has_report = false;
	r->outer = r->inner = (struct facts){ 0 };
	buf_clear(&r->text);
	/* escapes are longer than what they stand for; a job's name is made of two, and may be a
	 * part of the group, as may be the file */
	group = r->key_count * (2 * len + 2 + (r->file ? strlen(r->file) : 0));
	if (!buf_reserve(&r->text, 3 * len + 2 + group) || read_line(r, &j) < 0)
		return err_nomem(e);
	if (!json_end(&j))
		return err_set(e, -EINVAL, "column %zu: %s", (size_t)(j.at - j.start) + 1, j.wrong);
	if (!r->has_report)
		return 0;
	make_record(r, ret);
	return buf_error(&r->text) < 0 ? err_nomem(e) : 1;
}
