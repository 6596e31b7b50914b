/* SPDX-License-Identifier: MIT */
#include "cachejob/usage_table.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/str.h"

#define DEPTH_MAX 32 /* of folders */
#define MAX_NAMED 5  /* of the files that are left out */

static const char *const table_names[USAGE_TABLES] = { "data", "tree", "metadata" };

static uint64_t remaining_of(uint64_t budget, uint64_t used)
{
	return budget > used ? budget - used : 0;
}

void usage_table_of(const struct control_stats *stats, struct usage_totals *ret)
{
	uint64_t used = 0;

	*ret = (struct usage_totals){ .caches = 1, .budget_bytes = stats->budget_bytes };
	for (int i = 0; i < USAGE_TABLES; i++) {
		ret->used_bytes[i] = stats->used_bytes[i];
		ret->entries[i] = stats->entries[i];
		used += stats->used_bytes[i];
	}
	ret->remaining_bytes = remaining_of(stats->budget_bytes, used);
}

/* The number after the last occurrence of label. */
static bool find_number(const char *text, const char *label, uint64_t *ret)
{
	const char *last = NULL;
	char *end;

	for (const char *at = text; (at = strstr(at, label)); at++)
		last = at;
	if (!last)
		return false;
	last += strlen(label);
	errno = 0;
	*ret = strtoull(last, &end, 10);
	return number_is_digit(*last) && !errno && (*end == '\n' || !*end);
}

static bool read_size(const char *text, enum usage_table table, struct usage_totals *t)
{
	uint64_t bytes, entries;

	if (!find_number(text, "\nTotal bytes: ", &bytes) ||
	    !find_number(text,
			 table == USAGE_DATA ? "\ntotal number of files: "
					     : "\ntotal number of entries: ",
			 &entries))
		return false;
	t->files[table]++;
	t->used_bytes[table] += bytes;
	t->entries[table] += entries;
	return true;
}

/* "combined,USED,ENTRIES,BUDGET,REMAINING" */
static bool read_budget(const char *text, struct usage_totals *t)
{
	const char *line = strstr(text, "\ncombined,");
	unsigned long long budget, remaining;

	if (!line || sscanf(line, "\ncombined,%*u,%*u,%llu,%llu", &budget, &remaining) != 2)
		return false;
	t->caches++;
	t->budget_bytes += budget;
	t->remaining_bytes += remaining;
	return true;
}

static bool is_named(const char *name, const char *base)
{
	size_t len = strlen(name), base_len = strlen(base);

	return text_ends_with(name, base) && (len == base_len || name[len - base_len - 1] == '-');
}

static int read_file(const char *path, const char *name, struct usage_totals *t, struct err *e)
{
	static const char *const bases[] = { "data_cache_size.output", "tree_cache_size.output",
					     "md_cache_size.output", "cache_usage.csv" };
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct file_input in = { 0 };
	size_t kind = 0;
	bool is_good;
	int rc;

	while (kind < ARRAY_LEN(bases) && !is_named(name, bases[kind]))
		kind++;
	if (kind == ARRAY_LEN(bases))
		return 0;
	rc = file_load(path, &in, e);
	if (rc < 0)
		return rc;
	buf_put(&text, in.data, in.len);
	file_input_fini(&in);
	if (buf_error(&text) < 0)
		return err_nomem(e);
	is_good = kind < USAGE_TABLES
			  ? read_size(text.data ? text.data : "", (enum usage_table)kind, t)
			  : read_budget(text.data ? text.data : "", t);
	return is_good ? 0 : err_set(e, -EINVAL, "%s: no sums in it", path);
}

/* 0 or -ENOMEM. Logs a file that cannot be read. */
static int leave_out(struct usage_totals *t, const struct err *reason, struct err *e)
{
	if (reason->code == -ENOMEM)
		return err_nomem(e);
	if (t->left_out++ < MAX_NAMED)
		log_msg(LOG_WARN, "cache", "%s: left out", reason->msg);
	return 0;
}

static int read_folder(const char *dir, int depth, struct usage_totals *t, struct err *e);

static int read_entry(const char *dir, const char *name, int depth, struct usage_totals *t,
		      struct err *e)
{
	char path[PATH_MAX];
	struct err reason = { 0 };
	struct stat st;
	int rc = 0;

	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		rc = err_set(&reason, -ENAMETOOLONG, "%s: too long a path in it", dir);
	else if (lstat(path, &st) < 0)
		rc = err_errno(&reason, "%s", path);
	else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
		rc = read_folder(path, depth + 1, t, &reason);
	else if (S_ISREG(st.st_mode))
		rc = read_file(path, name, t, &reason);
	return rc < 0 ? leave_out(t, &reason, e) : 0;
}

static int read_folder(const char *dir, int depth, struct usage_totals *t, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	if (!d)
		return err_errno(e, "%s", dir);
	while (rc == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = read_entry(dir, entry->d_name, depth, t, e);
	closedir(d);
	return rc;
}

int usage_table_read(const char *dir, struct usage_totals *ret, struct err *e)
{
	int rc;

	*ret = (struct usage_totals){ 0 };
	rc = read_folder(dir, 0, ret, e);
	if (ret->left_out > MAX_NAMED)
		log_msg(LOG_WARN, "cache", "%zu more left out", ret->left_out - MAX_NAMED);
	if (rc == 0 && !ret->files[USAGE_DATA] && !ret->files[USAGE_TREE] &&
	    !ret->files[USAGE_METADATA])
		rc = err_set(e, -ENODATA,
			     "%s: no *_cache_size.output below it; 'auger cache snapshot' writes "
			     "them",
			     dir);
	return rc;
}

static void put_human(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
		value /= 1024;
	buf_printf(out, "%.2f %s", value, units[unit]);
}

/* A row of the table. */
struct usage_sums {
	const char *name;
	uint64_t files, bytes, entries;
	bool is_combined;
};

static void sum_rows(const struct usage_totals *t, struct usage_sums rows[USAGE_TABLES + 1])
{
	struct usage_sums *sum = &rows[USAGE_TABLES];

	*sum = (struct usage_sums){ .name = "combined", .is_combined = true };
	for (int i = 0; i < USAGE_TABLES; i++) {
		rows[i] = (struct usage_sums){ .name = table_names[i],
					       .files = t->files[i],
					       .bytes = t->used_bytes[i],
					       .entries = t->entries[i] };
		sum->bytes += t->used_bytes[i];
		sum->entries += t->entries[i];
	}
}

static void put_row(const struct usage_totals *t, const struct usage_sums *row, bool has_files,
		    struct emit *out)
{
	emit_text(out, "table", row->name);
	if (has_files && row->is_combined)
		emit_none(out, "files_found");
	else if (has_files)
		emit_int(out, "files_found", (int64_t)row->files);
	emit_int(out, "entries", (int64_t)row->entries);
	emit_value(out, "used_bytes", (int64_t)row->bytes, "bytes");
	if (row->is_combined && t->caches) {
		emit_value(out, "budget_bytes", (int64_t)t->budget_bytes, "bytes");
		emit_value(out, "remaining_bytes", (int64_t)t->remaining_bytes, "bytes");
	} else {
		emit_none(out, "budget_bytes");
		emit_none(out, "remaining_bytes");
	}
}

void usage_table_put(const struct usage_totals *t, struct emit *out)
{
	bool has_files = t->files[USAGE_DATA] || t->files[USAGE_TREE] || t->files[USAGE_METADATA];
	struct usage_sums rows[USAGE_TABLES + 1];

	sum_rows(t, rows);
	emit_columns(out);
	put_row(t, &(struct usage_sums){ .name = "" }, has_files, out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		emit_row(out);
		put_row(t, &rows[i], has_files, out);
	}
}

void usage_table_put_csv(const struct usage_totals *t, struct buf *out)
{
	struct usage_sums rows[USAGE_TABLES + 1];

	sum_rows(t, rows);
	buf_put_str(out, "table,files_found,used_bytes,used_human,entries,budget_bytes,"
			 "remaining_bytes\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_printf(out, "%s,", rows[i].name);
		if (rows[i].files)
			buf_put_uint(out, rows[i].files);
		buf_put_byte(out, ',');
		buf_put_uint(out, rows[i].bytes);
		buf_put_byte(out, ',');
		put_human(out, rows[i].bytes);
		buf_put_byte(out, ',');
		buf_put_uint(out, rows[i].entries);
		if (rows[i].is_combined && t->caches)
			buf_printf(out, ",%llu,%llu\n", (unsigned long long)t->budget_bytes,
				   (unsigned long long)t->remaining_bytes);
		else
			buf_put_str(out, ",,\n");
	}
}
