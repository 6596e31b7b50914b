/* SPDX-License-Identifier: MIT */
#include "usage/slurm/compare.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"
#include "target/child_output.h"
#include "usage/slurm/sacct.h"

#define NEAR 0.02             /* of the larger: the same */
#define NEAR_NS NS_PER_S      /* of the elapsed time, that sacct has in whole seconds */
#define BATCH_STEP 4294967291 /* SLURM_STEP_ID of the script */

/* The metrics of auger stat. */
struct ours {
	struct file_input file;
	struct rows metrics; /* struct metric */
};

struct metric {
	struct json_text name;
	int64_t value;
};

static void ours_fini(struct ours *o)
{
	file_input_fini(&o->file);
	rows_fini(&o->metrics);
}

/* -1: there is no such metric, or it has no value. */
static int64_t ours_get(const struct ours *o, const char *name)
{
	const struct metric *all = o->metrics.data;

	for (size_t i = 0; i < o->metrics.count; i++)
		if (all[i].name.len == strlen(name) &&
		    memcmp(all[i].name.ptr, name, all[i].name.len) == 0)
			return all[i].value;
	return -1;
}

/* null: -1, as it was */
static void take_value(struct json *j, int64_t *ret)
{
	int64_t value;

	if (json_scale(json_number(j), 0, &value))
		*ret = value;
}

static int take_row(struct ours *o, struct json *j)
{
	struct json_list row = json_object(j);
	struct json_text key;
	struct metric f = { .value = -1 }, *to;

	while (json_member(j, &row, &key)) {
		if (json_equals(&key, "figure"))
			f.name = json_string(j);
		else if (json_equals(&key, "value"))
			take_value(j, &f.value);
		else
			json_skip(j);
	}
	to = rows_add(&o->metrics, sizeof *to);
	if (!to)
		return -ENOMEM;
	*to = f;
	return 0;
}

static int take_metrics(struct ours *o, struct json *j)
{
	struct json_list metrics = json_object(j);
	struct json_text key;
	int rc = 0;

	while (rc == 0 && json_member(j, &metrics, &key)) {
		struct json_list rows;

		if (!json_equals(&key, "rows")) {
			json_skip(j);
			continue;
		}
		rows = json_array(j);
		while (rc == 0 && json_item(j, &rows))
			rc = take_row(o, j);
	}
	return rc;
}

static int load_ours(struct ours *o, const char *path, struct err *e)
{
	struct json j;
	struct json_list whole;
	struct json_text key;
	int rc = file_load(path, &o->file, e);

	if (rc < 0)
		return rc;
	j = json_begin((const char *)o->file.data, o->file.len);
	whole = json_object(&j);
	while (rc == 0 && json_member(&j, &whole, &key)) {
		if (json_equals(&key, "figures"))
			rc = take_metrics(o, &j);
		else
			json_skip(&j);
	}
	if (rc < 0)
		return err_nomem(e);
	if (!json_end(&j) || !o->metrics.count)
		return err_set(e, -EINVAL, "%s: %s", path,
			       j.wrong ? j.wrong : "is not what 'auger stat -f json' writes");
	return 0;
}

/* Of a comparison: how Slurm measures. */
struct method {
	bool is_cgroup;  /* jobacct_gather/cgroup */
	int64_t every_s; /* between two samples of Slurm; -1: unknown */
};

/* The word behind "KEY = " of scontrol show config. */
static const char *config_value(const struct buf *config, const char *key)
{
	const char *at = config->data ? strstr(config->data, key) : NULL;

	at = at ? strchr(at, '=') : NULL;
	return at ? at + 1 + strspn(at + 1, " ") : "";
}

static struct method find_method(void)
{
	CLEANUP(buf_fini) struct buf config = { 0 };
	char name[] = "scontrol", show[] = "show", what[] = "config";
	char *argv[] = { name, show, what, NULL };
	struct method m = { .every_s = -1 };
	struct err ignored;
	const char *every;

	if (child_output(argv, "", 0, SACCT_REMEDY, &config, &ignored) < 0 ||
	    buf_error(&config) < 0)
		return m;
	m.is_cgroup = strncmp(config_value(&config, "JobAcctGatherType"), "jobacct_gather/cgroup",
			      strlen("jobacct_gather/cgroup")) == 0;
	every = config_value(&config, "JobAcctGatherFrequency");
	if (strncmp(every, "task=", 5) == 0)
		every += 5;
	if (number_is_digit(*every))
		m.every_s = strtoll(every, NULL, 10);
	return m;
}

/* Two values of one thing. */
struct pair {
	const struct sacct_step *step;
	const struct ours *ours;
	const struct method *method;
	int64_t slurm, own, cgroup;
};

static void note_rss(const struct pair *p, struct buf *out)
{
	int64_t elapsed = p->step->values[SACCT_ELAPSED];

	if (p->slurm <= 0 && elapsed >= 0)
		buf_put_str(out, "the step ended before the first sample");
	else if (p->slurm < p->own && p->method->is_cgroup)
		buf_put_str(out, "without pages of files, each page once");
	else if (p->slurm < p->own)
		buf_put_str(out, "a peak between two samples");
	else
		buf_put_str(out, "with the shell and slurmstepd");
	if (p->method->every_s >= 0)
		buf_printf(out, ", one in %lld s", (long long)p->method->every_s);
}

static void note_elapsed(const struct pair *p, struct buf *out)
{
	buf_put_str(out, p->slurm > p->own ? "the whole step, with its launch"
					   : "ours is of more than this step");
}

static void note_cpu(const struct pair *p, struct buf *out)
{
	if (p->slurm < p->own)
		buf_put_str(out, "known at the step's end, or ours is of more");
	else
		buf_put_str(out, "the step ran more than this command");
}

static void note_ave_cpu(const struct pair *p, struct buf *out)
{
	(void)p;
	buf_put_str(out, "whole seconds by samples, mean of the tasks");
}

static void note_reserved(const struct pair *p, struct buf *out)
{
	(void)p;
	buf_put_str(out, "reserved, not used: Elapsed x AllocCPUS");
}

static void note_io(const struct pair *p, struct buf *out)
{
	if (p->slurm <= 0)
		buf_put_str(out, "the step ended before the first sample");
	else
		buf_put_str(out, "at the last sample, of the whole task");
}

static void note_status(const struct pair *p, struct buf *out)
{
	(void)p;
	buf_put_str(out, "that of the script");
}

static int64_t sum_cpu(const struct ours *o)
{
	int64_t user = ours_get(o, "user"), system = ours_get(o, "system");

	return user < 0 || system < 0 ? -1 : user + system;
}

static int64_t sum_cgroup_cpu(const struct ours *o)
{
	int64_t user = ours_get(o, "cgroup user"), system = ours_get(o, "cgroup system");

	return user < 0 || system < 0 ? -1 : user + system;
}

static int64_t cgroup_user(const struct ours *o)
{
	return ours_get(o, "cgroup user");
}

static int64_t cgroup_system(const struct ours *o)
{
	return ours_get(o, "cgroup system");
}

static int64_t cgroup_peak(const struct ours *o)
{
	return ours_get(o, "cgroup memory peak");
}

static int64_t cgroup_faults(const struct ours *o)
{
	return ours_get(o, "cgroup major faults");
}

static int64_t reserved(const struct ours *o)
{
	return ours_get(o, "reserved CPU time");
}

static const char *cgroup_cpu(const struct pair *p)
{
	return p->cgroup > p->own ? "all that ran in the group meanwhile"
				  : "without what ran in other groups";
}

static const char *cgroup_memory(const struct pair *p)
{
	return p->cgroup > p->own ? "with file caches, since the group was made"
				  : "each shared page once";
}

/* What is compared with what. */
static const struct {
	enum sacct_field field;
	const char *unit;
	const char *metric;                   /* of ours; NULL: none is like it */
	int64_t (*get)(const struct ours *o); /* NULL: by its name */
	void (*why)(const struct pair *p, struct buf *out);
	int64_t (*cgroup)(const struct ours *o); /* NULL: the group has none like it */
	const char *(*cgroup_why)(const struct pair *p);
} rows[] = {
	{ SACCT_ELAPSED, "nanoseconds", "elapsed", NULL, note_elapsed, NULL, NULL },
	{ SACCT_USER, "nanoseconds", "user", NULL, note_cpu, cgroup_user, cgroup_cpu },
	{ SACCT_SYSTEM, "nanoseconds", "system", NULL, note_cpu, cgroup_system, cgroup_cpu },
	{ SACCT_TOTAL, "nanoseconds", "user + system", sum_cpu, note_cpu, sum_cgroup_cpu,
	  cgroup_cpu },
	{ SACCT_AVE_CPU, "nanoseconds", "user + system", sum_cpu, note_ave_cpu, NULL, NULL },
	{ SACCT_MIN_CPU, "nanoseconds", "user + system", sum_cpu, note_ave_cpu, NULL, NULL },
	{ SACCT_CPU_TIME, "nanoseconds", "reserved CPU time", reserved, note_reserved, NULL, NULL },
	{ SACCT_MAX_RSS, "bytes", "peak RSS of the tree", NULL, note_rss, cgroup_peak,
	  cgroup_memory },
	{ SACCT_AVE_RSS, "bytes", "peak RSS of the tree", NULL, note_rss, NULL, NULL },
	{ SACCT_MAX_VM, "bytes", NULL, NULL, NULL, NULL, NULL },
	{ SACCT_MAX_PAGES, "count", "major faults", NULL, note_io, cgroup_faults, cgroup_cpu },
	{ SACCT_MAX_READ, "bytes", "rchar", NULL, note_io, NULL, NULL },
	{ SACCT_MAX_WRITE, "bytes", "wchar", NULL, note_io, NULL, NULL },
	{ SACCT_CPUS, "count", "Slurm CPUs", NULL, NULL, NULL, NULL },
	{ SACCT_TASKS, "count", NULL, NULL, NULL, NULL, NULL },
	{ SACCT_STATUS, "count", "exit status", NULL, note_status, NULL, NULL },
};

/* Is a value of this field the same as ours? */
static bool is_near(int64_t value, int64_t own, enum sacct_field field)
{
	int64_t apart = llabs(value - own), more = value > own ? value : own;

	if (field == SACCT_ELAPSED && apart <= NEAR_NS)
		return true;
	return (double)apart <= NEAR * (double)more;
}

/* NULL: none is like it. */
static const char *metric_of(size_t i, const struct method *m)
{
	bool is_rss = rows[i].field == SACCT_MAX_RSS || rows[i].field == SACCT_AVE_RSS;

	return is_rss && m->is_cgroup ? "peak anonymous memory" : rows[i].metric;
}

static int compare(size_t i, const struct sacct_step *step, const struct ours *ours,
		   const struct method *method, struct sacct_pair *ret)
{
	CLEANUP(buf_fini) struct buf why = { 0 };
	struct pair p = { step, ours, method, step->values[rows[i].field], -1, -1 };
	const char *metric = metric_of(i, method);
	bool differs;

	if (metric)
		p.own = rows[i].get ? rows[i].get(ours) : ours_get(ours, metric);
	if (rows[i].cgroup)
		p.cgroup = rows[i].cgroup(ours);
	differs = p.own >= 0 && !is_near(p.slurm, p.own, rows[i].field) &&
		  (p.slurm >= 0 || rows[i].why == note_rss || rows[i].why == note_io);
	if (differs && rows[i].why)
		rows[i].why(&p, &why);
	*ret = (struct sacct_pair){ .field = sacct_field_names[rows[i].field],
				    .unit = rows[i].unit,
				    .metric = metric,
				    .slurm = p.slurm,
				    .own = p.own,
				    .cgroup = p.cgroup,
				    .cgroup_why = "" };
	if (p.own >= 0 && p.cgroup >= 0 && !is_near(p.cgroup, p.own, rows[i].field))
		ret->cgroup_why = rows[i].cgroup_why(&p);
	snprintf(ret->why, sizeof ret->why, "%s", why.len ? why.data : "");
	return buf_error(&why);
}

/* The one that was named; of a job the step that the metrics are of, else its script, its first
 * step, or itself. */
static const struct sacct_step *choose(const struct rows *steps, const char *job,
				       const struct ours *ours, struct buf *scratch)
{
	const struct sacct_step *all = steps->data;
	int64_t own = ours_get(ours, "Slurm step");

	for (size_t i = 0; i < steps->count && strchr(job, '.'); i++)
		if (str_equals(all[i].id, job))
			return &all[i];
	if (own >= 0 && own < BATCH_STEP)
		buf_printf(scratch, ".%lld", (long long)own);
	else
		buf_put_str(scratch, ".batch");
	for (size_t i = 0; i < steps->count && scratch->data; i++)
		if (str_ends_with(all[i].id, scratch->data))
			return &all[i];
	for (size_t i = 0; i < steps->count; i++)
		if (str_ends_with(all[i].id, ".0"))
			return &all[i];
	return &all[0];
}

static int query(const char *job, struct buf *text, struct err *e)
{
	CLEANUP(buf_fini) struct buf columns = { 0 }, id = { 0 };
	char name[] = "sacct", parsable[] = "-P", plain[] = "--noconvert", option[] = "-j";
	char *argv[] = { name, parsable, plain, NULL, option, NULL, NULL };

	buf_put_str(&columns, "--format=JobID,State");
	for (size_t i = 0; i < SACCT_FIELDS; i++)
		buf_printf(&columns, ",%s", sacct_field_names[i]);
	buf_put_str(&id, job);
	if (buf_error(&columns) < 0 || buf_error(&id) < 0)
		return err_nomem(e);
	argv[3] = columns.data;
	argv[5] = id.data;
	return child_output(argv, "", 0, SACCT_REMEDY, text, e);
}

static int compare_all(const char *job, const struct rows *steps, const struct ours *ours,
		       const struct method *method, struct sacct_comparison *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf scratch = { 0 };
	const struct sacct_step *step;
	int rc = 0;

	static_assert(ARRAY_LEN(rows) == SACCT_PAIRS, "a pair each");
	if (!steps->count)
		return err_set(e, -ENODATA, "Slurm knows no job %s", job);
	step = choose(steps, job, ours, &scratch);
	buf_put(&ret->step, step->id.ptr, step->id.len);
	buf_put_byte(&ret->step, '\0');
	buf_put(&ret->state, step->state.ptr, step->state.len);
	buf_put_byte(&ret->state, '\0');
	for (size_t i = 0; rc == 0 && i < SACCT_PAIRS; i++)
		rc = compare(i, step, ours, method, &ret->pairs[i]);
	if (rc < 0 || buf_error(&scratch) < 0 || buf_error(&ret->step) < 0 ||
	    buf_error(&ret->state) < 0)
		return err_nomem(e);
	return 0;
}

void sacct_comparison_fini(struct sacct_comparison *c)
{
	buf_fini(&c->step);
	buf_fini(&c->state);
}

static size_t digits_of(const char *text)
{
	return strspn(text, "0123456789");
}

/* "123", "123_4" or "123+1", with ".0", ".batch", ".extern" or ".interactive" behind? All else is a
 * file's name. Source: sacct(1), Slurm 22.05, option --jobs. */
static bool is_job_id(const char *text)
{
	static const char *const steps[] = { "batch", "extern", "interactive" };
	size_t len = digits_of(text);

	if (!len)
		return false;
	text += len;
	if ((*text == '_' || *text == '+') && digits_of(text + 1))
		text += 1 + digits_of(text + 1);
	if (*text == '.' && digits_of(text + 1))
		text += 1 + digits_of(text + 1);
	for (size_t i = 0; *text == '.' && i < ARRAY_LEN(steps); i++)
		if (strcmp(text + 1, steps[i]) == 0)
			return true;
	return !*text;
}

int sacct_compare(const char *job, const char *metrics, struct sacct_comparison *ret, struct err *e)
{
	CLEANUP(file_input_fini) struct file_input file = { 0 };
	CLEANUP(ours_fini) struct ours ours = { 0 };
	CLEANUP(buf_fini) struct buf printed = { 0 };
	CLEANUP(rows_fini) struct rows steps = { 0 };
	bool is_job = is_job_id(job);
	struct method method = { .every_s = -1 };
	int rc = metrics ? load_ours(&ours, metrics, e) : 0;

	if (rc == 0)
		rc = is_job ? query(job, &printed, e) : file_load(job, &file, e);
	if (rc < 0)
		return rc;
	rc = sacct_steps_read(is_job ? printed.data : (const char *)file.data,
			      is_job ? printed.len : file.len, &steps, e);
	if (rc < 0)
		return err_wrap(e, "%s", is_job ? "sacct" : job);
	if (is_job)
		method = find_method();
	return compare_all(job, &steps, &ours, &method, ret, e);
}
