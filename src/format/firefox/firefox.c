/* SPDX-License-Identifier: MIT */
#include "format/firefox/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/number.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "format/firefox/read.h"
#include "format/firefox/tables.h"
#include "format/thread_rows.h"

struct writer {
	const struct profile *p;
	size_t type;
	int64_t divisor; /* of values: nanoseconds are written as milliseconds */
	const char *weight_type;
	struct thread_rows samples;
	uint32_t *libraries;  /* [mapping_count]: index in libs, or STRTAB_NONE */
	struct strtab *libs;  /* JSON of each */
	struct map processes; /* pid to comm, texts of samples */
	struct buf json;      /* a library being made */
};

static void writer_fini(struct writer *w)
{
	thread_rows_fini(&w->samples);
	free(w->libraries);
	strtab_free(w->libs);
	map_fini(&w->processes);
	buf_fini(&w->json);
}

static void choose_type(struct writer *w)
{
	const char *unit;

	w->type = profile_default_type(w->p);
	unit = profile_text(w->p, profile_get_type(w->p, w->type).unit);
	w->divisor = 1;
	w->weight_type = "samples";
	if (strcmp(unit, "nanoseconds") == 0) {
		w->divisor = NS_PER_MS;
		w->weight_type = "tracing-ms";
	} else if (strcmp(unit, "bytes") == 0) {
		w->weight_type = "bytes";
	}
}

static int writer_init(struct writer *w, struct err *e)
{
	size_t mappings = profile_mapping_count(w->p);

	if (!profile_type_count(w->p))
		return err_set(e, -EINVAL, "there is no sample type");
	choose_type(w);
	w->libs = strtab_new();
	w->libraries = reallocarray(NULL, mappings, sizeof *w->libraries);
	if (!w->libs || !w->libraries)
		return err_nomem(e);
	memset(w->libraries, 0xff, mappings * sizeof *w->libraries);
	return thread_rows_make(&w->samples, w->p, w->type, e);
}

/* The id that symbol servers use: the first 16 bytes of the build id as a GUID, then its age,
 * 0. out must have room for 34 bytes. */
static void make_breakpad_id(const char *build_id, char *out)
{
	static const unsigned char order[] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
	};
	bool is_long = strspn(build_id, "0123456789abcdefABCDEF") >= 2 * sizeof order;
	size_t len = 0;

	for (size_t i = 0; i < sizeof order; i++) {
		for (size_t k = 0; k < 2; k++) {
			char c = is_long ? build_id[2 * order[i] + k] : '0';

			out[len++] = (char)(c >= 'a' ? c - 'a' + 'A' : c);
		}
	}
	out[len++] = '0';
	out[len] = '\0';
}

static void put_member(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\":", key);
	quote_json(out, text, strlen(text));
}

static int add_library(struct writer *w, uint32_t id)
{
	const struct mapping *m = profile_get_mapping(w->p, id);
	const char *path = profile_text(w->p, m->path);
	const char *name = path_base(path);
	char breakpad_id[34];

	if (!*path)
		return 0;
	make_breakpad_id(profile_text(w->p, m->build_id), breakpad_id);
	buf_clear(&w->json);
	buf_put_str(&w->json, "{\"arch\":null,");
	put_member(&w->json, "name", name);
	buf_put_str(&w->json, ",");
	put_member(&w->json, "path", path);
	buf_put_str(&w->json, ",");
	put_member(&w->json, "debugName", name);
	buf_put_str(&w->json, ",");
	put_member(&w->json, "debugPath", path);
	buf_put_str(&w->json, ",");
	put_member(&w->json, "breakpadId", breakpad_id);
	buf_put_str(&w->json, ",");
	put_member(&w->json, "codeId", profile_text(w->p, m->build_id));
	buf_put_str(&w->json, "}");
	if (buf_error(&w->json) < 0)
		return -ENOMEM;
	w->libraries[id] = strtab_intern(w->libs, w->json.data, w->json.len);
	return w->libraries[id] == STRTAB_NONE ? -ENOMEM : 0;
}

/* A value in the unit of the weights. */
static void put_weight(const struct writer *w, struct buf *out, int64_t value)
{
	buf_put_int(out, value / w->divisor);
	if (value % w->divisor)
		buf_printf(out, ".%06" PRId64, value % w->divisor);
}

/* A stack of a thread at a time, and its sum. */
struct row {
	uint64_t time_ns;
	uint32_t stack;
	int64_t value;
};

/* places: the last row of each stack. */
static int add_value(struct rows *rows, struct map *places, uint32_t stack,
		     const struct thread_row *sample)
{
	uint32_t *place = map_at(places, stack);
	struct row *row;

	if (!place)
		return -ENOMEM;
	row = *place == MAP_NONE ? NULL : (struct row *)rows->data + *place;
	if (!row || row->time_ns != sample->time_ns) {
		row = rows_add(rows, sizeof *row);
		if (!row)
			return -ENOMEM;
		row->stack = stack;
		row->time_ns = sample->time_ns;
		*place = (uint32_t)rows->count - 1;
	}
	number_add(&row->value, sample->value);
	return 0;
}

static int sum_stacks(const struct writer *w, const struct thread *t, struct firefox_tables *tables,
		      struct rows *ret)
{
	CLEANUP(map_fini) struct map places = { 0 };
	int rc = 0;

	for (size_t i = 0; i < t->count && rc == 0; i++) {
		const struct thread_row *sample = thread_rows_at(&w->samples, t, i);
		uint32_t stack;

		rc = firefox_find_stack(tables, sample->node, &stack);
		if (rc == 0)
			rc = add_value(ret, &places, stack, sample);
	}
	return rc;
}

/* Of a time, in milliseconds. */
static void put_ms(struct buf *out, uint64_t ns)
{
	buf_put_uint(out, ns / NS_PER_MS);
	if (ns % NS_PER_MS)
		buf_printf(out, ".%06" PRIu64, ns % NS_PER_MS);
}

static void put_time_deltas(const struct rows *rows, struct buf *out)
{
	const struct row *row = rows->data;
	uint64_t last_ns = 0;

	for (size_t i = 0; i < rows->count; i++) {
		buf_put_str(out, i ? "," : "");
		put_ms(out, row[i].time_ns - last_ns);
		last_ns = row[i].time_ns;
	}
}

static void put_samples(const struct writer *w, const struct rows *rows, struct buf *out)
{
	const struct row *row = rows->data;

	buf_printf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\n\"stack\":[",
		   rows->count, w->weight_type);
	for (size_t i = 0; i < rows->count; i++)
		buf_printf(out, "%s%" PRIu32, i ? "," : "", row[i].stack);
	buf_put_str(out, "],\n\"timeDeltas\":[");
	put_time_deltas(rows, out);
	buf_put_str(out, "],\n\"weight\":[");
	for (size_t i = 0; i < rows->count; i++) {
		buf_put_str(out, i ? "," : "");
		put_weight(w, out, row[i].value);
	}
	buf_put_str(out, "]},\n");
}

static const char *text_of(const struct writer *w, uint32_t id)
{
	return thread_rows_text(&w->samples, id);
}

/* A process is named by its main thread. */
static int name_processes(struct writer *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->samples.threads.count && rc == 0; i++) {
		const struct thread *t = thread_rows_thread(&w->samples, i);

		if (t->tid == t->pid)
			rc = map_put(&w->processes, t->pid, t->comm);
	}
	return rc;
}

static void put_thread_head(const struct writer *w, const struct thread *t, struct buf *out)
{
	uint32_t process = map_get(&w->processes, t->pid);

	buf_put_str(out, "{\"processType\":\"default\",\"processStartupTime\":0,"
			 "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
			 "\"pausedRanges\":[],\"showMarkersInTimeline\":false,\n");
	buf_printf(out, "\"isMainThread\":%s,", t->tid == t->pid ? "true" : "false");
	put_member(out, "name", text_of(w, t->comm));
	buf_put_byte(out, ',');
	put_member(out, "processName", text_of(w, process == MAP_NONE ? t->comm : process));
	buf_put_byte(out, ',');
	put_member(out, "pid", text_of(w, t->pid));
	buf_put_byte(out, ',');
	put_member(out, "tid", text_of(w, t->tid));
	buf_put_str(out, ",\n");
}

static int put_thread(const struct writer *w, const struct thread *t, struct buf *out)
{
	CLEANUP(firefox_tables_fini) struct firefox_tables tables;
	CLEANUP(rows_fini) struct rows rows = { 0 };
	int rc = firefox_tables_init(&tables, w->p, w->libraries);

	if (rc == 0)
		rc = sum_stacks(w, t, &tables, &rows);
	if (rc < 0)
		return rc;
	put_thread_head(w, t, out);
	put_samples(w, &rows, out);
	buf_put_str(out, "\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
			 "\"name\":[],\"phase\":[],\"startTime\":[]},\n"
			 "\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],"
			 "\"libIndex\":[],\"name\":[]},\n");
	firefox_put_tables(&tables, out);
	buf_put_byte(out, '}');
	return 0;
}

static const char *command_of(const struct profile *p)
{
	static const char start[] = "command: ";

	for (size_t i = 0; i < profile_comment_count(p); i++)
		if (strncmp(profile_get_comment(p, i), start, sizeof start - 1) == 0)
			return profile_get_comment(p, i) + sizeof start - 1;
	return "auger";
}

/* The range that is shown; else the profiler takes that of the samples. */
static void put_range(const struct writer *w, struct buf *out)
{
	uint64_t end_ns = thread_rows_length(&w->samples, w->p);

	if (!end_ns)
		return;
	buf_put_str(out, "\"profilingStartTime\":0,\"profilingEndTime\":");
	put_ms(out, end_ns);
	buf_put_str(out, ",\n");
}

static void put_meta(const struct writer *w, struct buf *out)
{
	const struct profile_info *info = profile_get_info(w->p);
	int64_t period = info->period > 0 ? info->period : NS_PER_MS;

	if (strcmp(profile_text(w->p, info->period_type.unit), "nanoseconds") != 0)
		period = NS_PER_MS;
	buf_printf(out,
		   "{\"meta\":{\"preprocessedProfileVersion\":55,\"version\":24,"
		   "\"interval\":%" PRId64 ".%06" PRId64 ",\"startTime\":%" PRId64 ",\n",
		   period / NS_PER_MS, period % NS_PER_MS, info->time_ns / NS_PER_MS);
	put_range(w, out);
	put_member(out, "product", command_of(w->p));
	buf_put_str(out,
		    ",\"importedFrom\":\"auger " AUGER_VERSION "\",\"processType\":0,"
		    "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		    "\"sourceCodeIsNotOnSearchfox\":true,\"debug\":false,\"stackwalk\":1,\n"
		    "\"categories\":["
		    "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		    "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		    "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],\n"
		    "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		    "\"threadCPUDelta\":\"\u00b5s\"},\"markerSchema\":[],\"pausedRanges\":[],"
		    "\"extensions\":{\"length\":0,\"id\":[],\"name\":[],\"baseURL\":[]}},\n");
}

static int put_threads(const struct writer *w, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < w->samples.threads.count && rc == 0; i++) {
		buf_put_str(out, i ? ",\n" : "");
		rc = put_thread(w, thread_rows_thread(&w->samples, i), out);
	}
	return rc;
}

static int make_libraries(struct writer *w)
{
	int rc = 0;

	for (uint32_t i = 1; i < profile_mapping_count(w->p) && rc == 0; i++)
		rc = add_library(w, i);
	return rc;
}

static void put_libraries(const struct writer *w, struct buf *out)
{
	buf_put_str(out, "\"libs\":[");
	for (uint32_t i = 0; i < strtab_count(w->libs); i++) {
		struct str lib = strtab_get(w->libs, i);

		buf_put_str(out, i ? ",\n" : "");
		buf_put(out, lib.ptr, lib.len);
	}
	buf_put_str(out,
		    "],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n\"threads\":[");
}

int firefox_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p };
	int rc = writer_init(&w, e);

	if (rc < 0)
		return rc;
	if (name_processes(&w) < 0 || make_libraries(&w) < 0)
		return err_nomem(e);
	put_meta(&w, out);
	put_libraries(&w, out);
	rc = put_threads(&w, out);
	buf_put_str(out, "]}\n");
	return rc < 0 ? err_nomem(e) : 0;
}

static const char *const suffixes[] = { ".firefox.json", NULL };

const struct format format_firefox = {
	.name = "firefox",
	.summary = "JSON of the Firefox Profiler: samply, perf's gecko script",
	.mark = "\"preprocessedProfileVersion\", \"stackTable\", \"frameTable\"",
	.lost = "times, markers, counters, categories",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = firefox_detect,
	.read = firefox_read,
	.write = firefox_write,
};
