/* SPDX-License-Identifier: MIT */
#include "source/stage_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "format/lines.h"
#include "format/stage_record.h"

#define MAX_TOLD 8 /* damaged lines */
#define PROGRESS_LINES 4096
#define PROGRESS_NS (NS_PER_S / 4)

struct reading {
	const struct stage_input_opts *o;
	struct stage_reader *reader;
	struct stages *stages;
	struct stage_inputs *inputs;
	struct buf name;          /* of a record without an input: FILE:LINE */
	struct buf spread;        /* a record of several lines so far; empty: none */
	uint64_t spread_line;     /* its first */
	const char *path;         /* of the file being read */
	int64_t next_progress_ns; /* CLOCK_MONOTONIC */
	bool has_progress;        /* it is shown */
};

static void hide_progress(struct reading *r)
{
	if (r->has_progress)
		r->o->progress(0, -1);
	r->has_progress = false;
}

static void show_progress(struct reading *r, const struct lines *l)
{
	int64_t now;

	if (!r->o->progress)
		return;
	now = clock_mono_ns();
	if (now < r->next_progress_ns)
		return;
	r->next_progress_ns = now + PROGRESS_NS;
	r->has_progress = true;
	r->o->progress(r->inputs->files,
		       lines_size(l) ? 100.0 * (double)lines_position(l) / (double)lines_size(l)
				     : -1);
}

/* Logs damage, or fails for it. where: "FILE: line N: reason". */
static int note_damage(struct reading *r, const char *where, struct err *e)
{
	if (r->o->is_strict)
		return err_set(e, -EINVAL, "%s", where);
	hide_progress(r);
	if (++r->inputs->damaged <= MAX_TOLD)
		log_msg(LOG_WARN, "stages", "%s; left out", where);
	return 0;
}

static int note_bad_line(struct reading *r, uint64_t number, const char *reason, struct err *e)
{
	char where[sizeof e->msg];

	snprintf(where, sizeof where, "%s: line %llu: %s", r->path, (unsigned long long)number,
		 reason);
	return note_damage(r, where, e);
}

static int add_record(struct reading *r, const struct line_text *line, struct stage_record *record,
		      struct err *e)
{
	int rc;

	if (!record->name.ptr) {
		buf_clear(&r->name);
		buf_printf(&r->name, "%s:%llu", r->path, (unsigned long long)line->number);
		if (buf_error(&r->name) < 0)
			return err_nomem(e);
		record->name = (struct str){ r->name.data, r->name.len };
	}
	rc = stages_add(r->stages, record);
	if (rc == 0 && r->o->see)
		rc = r->o->see(r->o->context, record);
	return rc < 0 ? err_nomem(e) : 0;
}

static bool is_blank(const struct line_text *line)
{
	return line->text[strspn(line->text, " \t\r")] == (line->text[line->len] ? '\n' : '\0') &&
	       strspn(line->text, " \t\r") >= line->len;
}

static int read_record(struct reading *r, const struct line_text *line, struct err *e)
{
	struct stage_record record;
	struct err reason;
	int rc;

	stage_reader_set_file(r->reader, r->path);
	rc = stage_reader_read(r->reader, line->text, line->len, &record, &reason);
	if (rc == -EINVAL)
		return note_bad_line(r, line->number, reason.msg, e);
	if (rc < 0)
		return err_nomem(e);
	if (rc == 0) {
		r->inputs->without++;
		return 0;
	}
	return add_record(r, line, &record, e);
}

static bool is_bracket(const struct line_text *line, char bracket)
{
	size_t len = line->len;

	while (len > 1 && line->text[len - 1] == '\r')
		len--;
	return len == 1 && line->text[0] == bracket;
}

/* A record as json.dump(indent=) and jq write it, from a line "{" to a line "}". */
static int read_spread(struct reading *r, const struct line_text *line, struct err *e)
{
	struct line_text whole;
	int rc;

	if (!r->spread.len)
		r->spread_line = line->number;
	buf_put(&r->spread, line->text, line->len);
	buf_put_byte(&r->spread, '\n');
	if (buf_error(&r->spread) < 0)
		return err_nomem(e);
	if (r->spread.len <= LINES_MAX_BYTES && !is_bracket(line, '}'))
		return 0;
	whole = (struct line_text){ r->spread.data, r->spread.len, r->spread_line, false };
	rc = r->spread.len > LINES_MAX_BYTES
		     ? note_bad_line(r, r->spread_line, "longer than 64 MiB", e)
		     : read_record(r, &whole, e);
	buf_clear(&r->spread);
	return rc;
}

static int end_spread(struct reading *r, struct err *e)
{
	bool is_open = r->spread.len > 0;

	buf_clear(&r->spread);
	return is_open ? note_bad_line(r, r->spread_line, "has no end", e) : 0;
}

static int read_line(struct reading *r, const struct line_text *line, struct err *e)
{
	if (line->is_too_long)
		return note_bad_line(r, line->number, "longer than 64 MiB", e);
	if (is_blank(line))
		return 0;
	if (r->spread.len || is_bracket(line, '{'))
		return read_spread(r, line, e);
	return read_record(r, line, e);
}

static int read_lines(struct reading *r, struct lines *l, struct err *e)
{
	struct line_text line;
	struct err reason;
	int rc;

	while ((rc = lines_next(l, &line, &reason)) > 0) {
		rc = read_line(r, &line, e);
		if (rc < 0)
			return rc;
		if (line.number % PROGRESS_LINES == 0)
			show_progress(r, l);
	}
	if (end_spread(r, e) < 0)
		return -EINVAL;
	if (rc == -EINVAL)
		return note_damage(r, reason.msg, e);
	return rc < 0 ? err_set(e, rc, "%s", reason.msg) : 0;
}

/* As people know the file. */
static const char *name_of(const struct reading *r, const char *path)
{
	size_t len = r->o->folder ? strlen(r->o->folder) : 0;

	if (strcmp(path, "-") == 0)
		return "standard input";
	return len && strncmp(path, r->o->folder, len) == 0 && path[len] == '/' ? path + len + 1
										: path;
}

static int read_file(struct reading *r, const char *path, struct err *e)
{
	struct lines *l;
	uint64_t damaged, without;
	int rc = lines_open(path, &l, e);

	if (rc < 0)
		return rc;
	r->path = name_of(r, path);
	r->inputs->files++;
	damaged = r->inputs->damaged;
	without = r->inputs->without;
	rc = read_lines(r, l, e);
	log_msg(LOG_INFO, "stages", "%s: %llu bytes, %llu damaged lines, %llu without a report",
		r->path, (unsigned long long)lines_position(l),
		(unsigned long long)(r->inputs->damaged - damaged),
		(unsigned long long)(r->inputs->without - without));
	lines_close(l);
	return rc;
}

/* Names that stage reports have in a folder. */
static bool is_report_name(const char *name)
{
	static const char *const packings[] = { ".gz", ".zst" };
	static const char *const endings[] = { ".jsonl", ".ndjson", ".json" };
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(packings); i++) {
		size_t tail = strlen(packings[i]);

		if (len > tail && strcmp(name + len - tail, packings[i]) == 0) {
			len -= tail;
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t tail = strlen(endings[i]);

		if (len > tail && strncmp(name + len - tail, endings[i], tail) == 0)
			return true;
	}
	return false;
}

static int compare_entries(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static int choose_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int read_folder(struct reading *r, const char *folder, struct err *e);

/* A folder behind a symbolic link is not gone into: it may be the one that this one is in. */
static int read_entry(struct reading *r, const char *path, const char *name, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(r, path, e);
	if (!is_report_name(name) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return read_file(r, path, e);
}

/* In order of the names, so that the same files give the same rows and words. */
static int read_folder(struct reading *r, const char *folder, struct err *e)
{
	struct dirent **entries;
	int rc = 0, count = scandir(folder, &entries, choose_entry, compare_entries);

	if (count < 0)
		return errno == ENOMEM ? err_nomem(e) : err_errno(e, "%s", folder);
	for (int i = 0; i < count; i++) {
		CLEANUP(buf_fini) struct buf path = { 0 };

		if (rc == 0) {
			buf_printf(&path, "%s/%s", folder, entries[i]->d_name);
			rc = buf_error(&path) < 0 ? err_nomem(e)
						  : read_entry(r, path.data, entries[i]->d_name, e);
		}
		free(entries[i]);
	}
	free(entries);
	return rc;
}

static int read_path(struct reading *r, const char *path, struct err *e)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(r, path, e);
	return read_file(r, path, e);
}

static int read_pattern(struct reading *r, const char *pattern, struct err *e)
{
	glob_t found;
	int rc = glob(pattern, 0, NULL, &found);

	if (rc == GLOB_NOSPACE)
		return err_nomem(e);
	if (rc == GLOB_NOMATCH)
		return err_set(e, -ENOENT, "%s: no such file", pattern);
	if (rc)
		return err_set(e, -EIO, "%s: cannot be read", pattern);
	for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
		rc = read_path(r, found.gl_pathv[i], e);
	globfree(&found);
	return rc;
}

static int read_operand(struct reading *r, const char *operand, struct err *e)
{
	struct stat st;

	if (strcmp(operand, "-") != 0 && stat(operand, &st) < 0 && strpbrk(operand, "*?["))
		return read_pattern(r, operand, e);
	return read_path(r, operand, e);
}

static int read_all(struct reading *r, char *const *paths, size_t count, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_operand(r, paths[i], e);
	hide_progress(r);
	if (r->inputs->damaged > MAX_TOLD)
		log_msg(LOG_WARN, "stages", "%llu more damaged lines left out",
			(unsigned long long)(r->inputs->damaged - MAX_TOLD));
	if (rc < 0)
		return rc;
	if (!stages_totals(r->stages)->records)
		return err_set(e, -ENODATA, "no stage reports in %llu file%s",
			       (unsigned long long)r->inputs->files,
			       r->inputs->files == 1 ? "" : "s");
	if (stage_reader_check_keys(r->reader, e) < 0)
		return e->code;
	return stages_end(r->stages) < 0 ? err_nomem(e) : 0;
}

int stage_inputs_read(char *const *paths, size_t count, const struct stage_input_opts *o,
		      struct stages **ret, struct stage_inputs *ret_inputs, struct err *e)
{
	struct reading r = { .o = o, .inputs = ret_inputs };
	int rc;

	*ret_inputs = (struct stage_inputs){ 0 };
	r.next_progress_ns = clock_mono_ns() + PROGRESS_NS;
	r.reader = stage_reader_new(o->by);
	r.stages = stages_new();
	rc = r.reader && r.stages ? read_all(&r, paths, count, e) : err_nomem(e);
	stage_reader_free(r.reader);
	buf_fini(&r.name);
	buf_fini(&r.spread);
	if (rc < 0)
		stages_free(r.stages);
	else
		*ret = r.stages;
	return rc;
}
