/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "base/rows.h"
#include "view/activity.h"
#include "view/groups.h"
#include "view/report.h"

/* A MAD is as a standard deviation when it is multiplied by this. Source: Leys et al., Detecting
 * outliers, J. Exp. Soc. Psychol. 49 (2013). */
#define MAD_SIGMA 1.4826
#define MADS 3
#define HOST_RANKS 3 /* with fewer, the median of a host is that of single ranks */
#define CLASSES 3    /* of a rank that are shown */
#define CLASS_PERCENT 1.0

/* The value of a class on one rank. */
struct part {
	uint32_t rank, class; /* index of ranks; string id */
	int64_t value;
};

struct rank {
	int64_t value, samples, work; /* work: without waiting for others */
	uint32_t host;                /* string id; 0: unknown */
	double center;                /* of its host's ranks, or of all */
	const char *outlier;          /* "": none */
	size_t first_part;            /* of parts, when they are sorted */
};

struct ranks {
	struct groups groups;
	struct rank *list; /* [groups.count] */
	uint32_t *order;   /* [count]: those that have a value */
	size_t count;
	double *scratch; /* [groups.count] */
	struct map at;   /* rank and class: index of parts */
	struct rows parts;
	int64_t total;
	double period; /* of the values between two samples; 0: unknown */
	enum flat_order by;
	bool has_hosts; /* whose ranks are outliers together */
};

static void ranks_fini(struct ranks *r)
{
	groups_fini(&r->groups);
	free(r->list);
	free(r->order);
	free(r->scratch);
	map_fini(&r->at);
	rows_fini(&r->parts);
}

static int add_part(struct ranks *r, uint32_t rank, uint32_t class, int64_t value)
{
	uint32_t *index = map_at(&r->at, map_pair(rank, class));
	struct part *part;

	if (!index)
		return -1;
	if (*index == MAP_NONE) {
		*index = (uint32_t)r->parts.count;
		part = rows_add(&r->parts, sizeof *part);
		if (!part)
			return -1;
		part->rank = rank;
		part->class = class;
	}
	part = (struct part *)r->parts.data + *index;
	number_add(&part->value, value);
	return 0;
}

static int add_sample(struct ranks *r, const struct profile *p, const struct sample *s, size_t type)
{
	uint32_t number = r->groups.of_labels[s->labels];
	struct rank *rank = &r->list[number];
	const struct label *class = profile_find_label(p, s->labels, ACTIVITY_LABEL);
	const struct label *host = profile_find_label(p, s->labels, "host");
	int64_t value = s->values[type];

	number_add(&r->total, value);
	number_add(&rank->value, value);
	if (!class || !activity_is_waiting(profile_text(p, class->str)))
		number_add(&rank->work, value);
	if (host && !rank->host)
		rank->host = host->str;
	return value ? add_part(r, number, class ? class->str : 0, value) : 0;
}

static int add_samples(struct ranks *r, const struct profile *p, size_t type)
{
	int samples_type = flat_samples_type(p), rc = 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);

		rc = add_sample(r, p, &s, type);
		if (samples_type >= 0)
			number_add(&r->list[r->groups.of_labels[s.labels]].samples,
				   s.values[samples_type]);
	}
	return rc;
}

static int compare_parts(const void *left, const void *right, void *profile)
{
	const struct part *a = left, *b = right;
	const struct profile *p = *(const struct profile *const *)profile;
	int order = (a->rank > b->rank) - (a->rank < b->rank);

	order = order ? order : (a->value < b->value) - (a->value > b->value);
	return order ? order : strcmp(profile_text(p, a->class), profile_text(p, b->class));
}

static void sort_parts(struct ranks *r, const struct profile *p)
{
	struct part *parts = r->parts.data;

	if (r->parts.count)
		qsort_r(parts, r->parts.count, sizeof *parts, compare_parts, &p);
	for (size_t i = r->parts.count; i-- > 0;)
		r->list[parts[i].rank].first_part = i;
}

static bool is_rank(const struct ranks *r, uint32_t number)
{
	return r->groups.list[number].labels[0].key != 0;
}

static int compare_numbers(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* count: not 0. Sorts the values. */
static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_numbers);
	return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

/* By host, those without a rank last. */
static int compare_hosts(const void *left, const void *right, void *ranks)
{
	const struct ranks *r = ranks;
	const uint32_t *a = left, *b = right;
	int order = is_rank(r, *b) - is_rank(r, *a);
	uint32_t x = r->list[*a].host, y = r->list[*b].host;

	order = order ? order : (x > y) - (x < y);
	return order ? order : (*a > *b) - (*a < *b);
}

/* Where the ranks of the host at order[from] end; count: of ranks. */
static size_t host_end(const struct ranks *r, size_t from, size_t count)
{
	size_t to = from + 1;

	while (to < count && r->list[r->order[to]].host == r->list[r->order[from]].host)
		to++;
	return to;
}

static bool has_center(const struct ranks *r, size_t from, size_t to)
{
	return r->list[r->order[from]].host && to - from >= HOST_RANKS;
}

/* The medians of hosts, of which ret gets the median when there are several; else that of all. */
static double find_centers(struct ranks *r, size_t count)
{
	double all, center;
	size_t hosts = 0;

	for (size_t i = 0; i < count; i++)
		r->scratch[i] = (double)r->list[r->order[i]].work;
	all = median_of(r->scratch, count);
	for (size_t from = 0, to; from < count; from = to) {
		to = host_end(r, from, count);
		for (size_t i = from; i < to; i++)
			r->scratch[i] = (double)r->list[r->order[i]].work;
		center = has_center(r, from, to) ? median_of(r->scratch + from, to - from) : all;
		for (size_t i = from; i < to; i++)
			r->list[r->order[i]].center = center;
	}
	for (size_t from = 0, to; from < count; from = to) {
		to = host_end(r, from, count);
		if (has_center(r, from, to))
			r->scratch[hosts++] = r->list[r->order[from]].center;
	}
	return hosts > 1 ? median_of(r->scratch, hosts) : all;
}

/* How far a rank is from the center without being an outlier: neither by how ranks differ, nor by
 * the chance of sampling. */
static double find_bound(struct ranks *r, size_t count, double center)
{
	double mad;

	for (size_t i = 0; i < count; i++) {
		const struct rank *rank = &r->list[r->order[i]];

		r->scratch[i] = fabs((double)rank->work - rank->center);
	}
	mad = median_of(r->scratch, count);
	return fmax(MADS * MAD_SIGMA * mad, report_chance(count, center, r->period));
}

static void find_outliers(struct ranks *r, size_t count)
{
	double center, bound;

	if (count < HOST_RANKS)
		return;
	qsort_r(r->order, r->count, sizeof *r->order, compare_hosts, r);
	center = find_centers(r, count);
	bound = find_bound(r, count, center);
	for (size_t i = 0; i < count; i++) {
		struct rank *rank = &r->list[r->order[i]];
		double own = (double)rank->work - rank->center, hosts = rank->center - center;

		if (fabs(own) > bound)
			rank->outlier = own > 0 ? "rank high" : "rank low";
		else if (fabs(hosts) > bound)
			rank->outlier = hosts > 0 ? "host high" : "host low";
		r->has_hosts |= fabs(hosts) > bound;
		rank->center = center;
	}
}

static int compare_rows(const void *left, const void *right, void *ranks)
{
	const struct ranks *r = ranks;
	const uint32_t *a = left, *b = right;
	int64_t x = r->list[*a].work, y = r->list[*b].work;
	int order = r->by == FLAT_BY_NAME ? 0 : (x < y) - (x > y);

	return order ? order : groups_compare(&r->groups, *a, *b);
}

static int ranks_init(struct ranks *r, const struct profile *p, size_t type, struct err *e)
{
	size_t count = r->groups.count, rank_count = 0;

	r->list = calloc(count + 1, sizeof *r->list);
	r->order = calloc(count + 1, sizeof *r->order);
	r->scratch = calloc(count + 1, sizeof *r->scratch);
	if (!r->list || !r->order || !r->scratch || add_samples(r, p, type) < 0)
		return err_nomem(e);
	sort_parts(r, p);
	for (uint32_t i = 0; i < count; i++) {
		r->list[i].outlier = "";
		if (!r->list[i].value && !r->list[i].samples)
			continue;
		r->order[r->count++] = i;
		rank_count += is_rank(r, i);
	}
	find_outliers(r, rank_count);
	qsort_r(r->order, r->count, sizeof *r->order, compare_rows, r);
	return 0;
}

/* "compute 61 %, mpi.collective 27 %" */
static int put_classes(const struct ranks *r, const struct profile *p, uint32_t number,
		       struct emit *out)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct part *parts = r->parts.data;
	size_t first = r->list[number].first_part;
	double whole = (double)r->list[number].value;

	for (size_t i = first; i < r->parts.count && i < first + CLASSES; i++) {
		double percent = 100 * (double)parts[i].value / whole;

		if (parts[i].rank != number || !(percent >= CLASS_PERCENT))
			break;
		buf_printf(&text, "%s%s %.0f %%", i > first ? ", " : "",
			   profile_text(p, parts[i].class), percent);
	}
	if (buf_error(&text) < 0)
		return -1;
	emit_optional(out, "classes", text.len ? text.data : "");
	return 0;
}

static int put_row(const struct ranks *r, const struct profile *p, uint32_t number,
		   struct emit *out, const char *unit)
{
	const struct rank *rank = &r->list[number];
	static const struct group nothing;

	emit_value(out, "total", rank->value, unit);
	emit_percent(out, "total_percent", rank->value, r->total);
	emit_hide(out);
	emit_int(out, "samples", rank->samples);
	emit_value(out, "work", rank->work, unit);
	if (rank->center > 0)
		emit_real(out, "of_median", (double)rank->work / rank->center, 2, "");
	else
		emit_none(out, "of_median");
	emit_optional(out, "outlier", rank->outlier ? rank->outlier : "");
	groups_put_names(&r->groups, number < r->groups.count ? &r->groups.list[number] : &nothing,
			 out);
	emit_optional(out, "host", profile_text(p, rank->host));
	return put_classes(r, p, number, out);
}

static int put_rows(const struct ranks *r, const struct profile *p, struct emit *out, size_t limit,
		    const char *unit, struct err *e)
{
	size_t shown = limit && limit < r->count ? limit : r->count, outliers = 0;
	int64_t cut = 0;
	int rc;

	emit_columns(out);
	rc = put_row(r, p, (uint32_t)r->groups.count, out, unit);
	for (size_t i = 0; rc == 0 && i < shown; i++) {
		emit_row(out);
		rc = put_row(r, p, r->order[i], out, unit);
	}
	for (size_t i = 0; i < r->count; i++) {
		outliers += *r->list[r->order[i]].outlier != '\0';
		if (i >= shown)
			number_add(&cut, r->list[r->order[i]].value);
	}
	report_put_cut(out, r->count - shown, cut, r->total);
	if (outliers)
		emit_note(out, "%zu of %zu ranks are outliers: work beyond the median by 3 MAD",
			  outliers, r->count);
	if (r->has_hosts)
		emit_note(out,
			  "host: its ranks differ together: a slow or loaded host, not slow ranks");
	return rc < 0 ? err_nomem(e) : 0;
}

int report_ranks(struct emit *out, const struct profile *p, const struct report_opts *o,
		 struct err *e)
{
	struct ranks r = { .period = report_period(p, o->type), .by = o->order };
	int rc = groups_init(&r.groups, p, "rank", o->type, e);

	if (rc < 0)
		return rc;
	rc = ranks_init(&r, p, o->type, e);
	if (rc == 0) {
		report_put_head(out, p, o);
		rc = put_rows(&r, p, out, o->limit, report_unit(p, o->type), e);
	}
	ranks_fini(&r);
	return rc;
}
