/* SPDX-License-Identifier: MIT */
#include "view/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/strtab.h"

/* Standard deviations beyond what the largest of so many values has by chance. */
#define SIGMAS 2

const char *report_unit(const struct profile *p, size_t type)
{
	return profile_text(p, profile_get_type(p, type).unit);
}

double report_period(const struct profile *p, size_t type)
{
	const struct profile_info *info = profile_get_info(p);

	return info->period > 0 && info->period_type.unit == profile_get_type(p, type).unit
		       ? (double)info->period
		       : 0;
}

double report_chance(size_t count, double mean, double period)
{
	double deviations = sqrt(2 * log((double)count)) + SIGMAS;

	return deviations * sqrt(fmax(mean, period) * period);
}

/* The recorder keeps what the kernel lost as a stack of this one frame. */
static bool is_lost(const struct profile *p, uint32_t node)
{
	struct stack_node at = profile_get_node(p, node);
	struct location l = profile_get_location(p, at.location);

	return node && at.parent == 0 && l.line_count == 1 &&
	       strcmp(profile_text(p, profile_get_function(p, l.lines[0].function)->name),
		      "[lost]") == 0;
}

struct report_facts report_facts(const struct profile *p, size_t type)
{
	struct report_facts facts = { .samples = -1 };
	int samples_type = flat_samples_type(p);

	if (samples_type >= 0)
		facts.samples = 0;
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);

		facts.total = stacks_add(facts.total, s.values[type]);
		if (samples_type < 0)
			continue;
		if (is_lost(p, s.node))
			facts.lost = stacks_add(facts.lost, s.values[samples_type]);
		else
			facts.samples = stacks_add(facts.samples, s.values[samples_type]);
	}
	return facts;
}

/* The recorder's counts, when they say no more than the head does. */
static bool is_told(const char *comment, const struct report_facts *facts)
{
	long long samples, lost;
	char rest;

	return sscanf(comment, "samples: %lld, lost: %lld%c", &samples, &lost, &rest) == 2 &&
	       samples == facts->samples && lost == facts->lost;
}

/* The counts of one file, where several were added up: the head has those of all. */
static bool is_of_part(const char *comment)
{
	return text_starts_with(comment, "samples: ") ||
	       text_starts_with(comment, "CPU time of the command: ");
}

/* "host" of "host: n1"; else the whole comment. */
static size_t key_len(const char *comment)
{
	const char *end = strstr(comment, ": ");

	return end ? (size_t)(end - comment) : strlen(comment);
}

/* ret: [comment count]: a number for each key, below the count. -1: out of memory. */
static int number_keys(const struct profile *p, uint32_t *ret)
{
	struct strtab *keys = strtab_new();
	int rc = keys ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < profile_comment_count(p); i++) {
		const char *comment = profile_get_comment(p, i);

		ret[i] = strtab_intern(keys, comment, key_len(comment));
		rc = ret[i] == STRTAB_NONE ? -1 : 0;
	}
	strtab_free(keys);
	return rc;
}

/* Did auger merge make the file? */
static bool has_counts_of_several(const struct profile *p)
{
	size_t found = 0;

	for (size_t i = 0; i < profile_comment_count(p) && found < 2; i++)
		found += text_starts_with(profile_get_comment(p, i), "samples: ");
	return found > 1;
}

/* Of runs that were added up, what differs is a fact of a single one. counts: [comment count], 0:
 * how many comments have each key. */
static void put_common(struct emit *out, const struct profile *p, const struct report_opts *o,
		       const uint32_t *keys, uint32_t *counts)
{
	size_t count = profile_comment_count(p);
	bool is_sum = o->is_sum || has_counts_of_several(p);

	for (size_t i = 0; is_sum && i < count; i++)
		counts[keys[i]]++;
	emit_head_list(out, "comment");
	for (size_t i = 0; i < count; i++) {
		const char *comment = profile_get_comment(p, i);

		if (counts[keys[i]] > 1 || is_told(comment, &o->facts) ||
		    (is_sum && is_of_part(comment)))
			emit_hide(out);
		emit_head_item(out, comment);
	}
	emit_head_list_end(out);
}

static void put_comments(struct emit *out, const struct profile *p, const struct report_opts *o)
{
	size_t count = profile_comment_count(p);
	uint32_t *keys = calloc(count + 1, sizeof *keys);
	uint32_t *counts = calloc(count + 1, sizeof *counts);

	if (keys && counts && number_keys(p, keys) == 0)
		put_common(out, p, o, keys, counts);
	else
		out->to->bad = true;
	free(keys);
	free(counts);
}

static int64_t total_of(const struct profile *p, size_t type)
{
	int64_t total = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		total = stacks_add(total, profile_get_sample(p, i).values[type]);
	return total;
}

static void put_totals(struct emit *out, const struct profile *p, const struct report_opts *o)
{
	const char *unit = report_unit(p, o->type);
	int64_t total = total_of(p, o->type);

	if (!o->filter) {
		emit_head_value(out, "total", total, unit);
		return;
	}
	emit_head_str(out, "filter", o->filter);
	emit_head_value(out, "total", total, unit);
	emit_head_value(out, "unfiltered_total", o->facts.total, unit);
	if (o->facts.total && total)
		emit_note(out, "percentages are of the filtered total, which is %.2f%% of all",
			  100.0 * (double)total / (double)o->facts.total);
}

void report_put_head(struct emit *out, const struct profile *p, const struct report_opts *o)
{
	const struct profile_info *info = profile_get_info(p);

	emit_head_str(out, "file", o->file);
	put_comments(out, p, o);
	if (info->time_ns) {
		emit_hide(out);
		emit_head_int(out, "time_ns", info->time_ns);
	}
	if (info->duration_ns)
		emit_head_value(out, "duration_ns", info->duration_ns, "nanoseconds");
	if (o->facts.samples >= 0) {
		emit_head_int(out, "samples", o->facts.samples);
		if (!o->facts.lost)
			emit_hide(out);
		emit_head_int(out, "lost", o->facts.lost);
	}
	emit_head_str(out, "type", profile_text(p, profile_get_type(p, o->type).type));
	emit_hide(out);
	emit_head_str(out, "unit", report_unit(p, o->type));
	put_totals(out, p, o);
}

void report_put_cut(struct emit *out, size_t rows, int64_t value, int64_t total)
{
	if (rows)
		emit_note(out, "%zu more row%s with %.2f%%; -n 0 shows all", rows,
			  rows == 1 ? "" : "s",
			  total ? 100.0 * (double)value / (double)total : 0.0);
}

const char *report_inlined_suffix(const struct flat_row *row)
{
	return !row->is_inlined ? "" : row->is_called ? " (partly inlined)" : " (inlined)";
}

const char *report_inlined_word(const struct flat_row *row)
{
	return !row->is_inlined ? "no" : row->is_called ? "partly" : "yes";
}
