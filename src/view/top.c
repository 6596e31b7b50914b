/* SPDX-License-Identifier: MIT */
#include "view/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "model/merge.h"
#include "model/units.h"
#include "view/report.h"

#define KEYS                                                                         \
	"q quit  f functions  m modules  t threads  p processes  k kernel  u user  " \
	"Enter callers  s save  space pause"

void top_view_fini(struct top_view *v)
{
	profile_delta_fini(&v->since);
	profile_free(v->last);
	v->last = NULL;
}

int top_view_take(struct top_view *v, const struct profile *p, struct err *e)
{
	struct profile *now;
	int rc = profile_delta_take(&v->since, p, &now, e);

	if (rc < 0)
		return rc;
	if (v->is_paused) {
		profile_free(now);
		return 0;
	}
	profile_free(v->last);
	v->last = now;
	return 0;
}

void top_view_renew(struct top_view *v)
{
	profile_delta_fini(&v->since);
}

static bool is_kernel_leaf(const struct frames *f, uint32_t node)
{
	size_t count;

	if (!node)
		return false;
	return f->list[frames_of(f, profile_get_node(f->profile, node).location, &count)[0]].kind ==
	       FRAME_KERNEL;
}

static int copy_shown(const struct top_view *v, const struct frames *f, struct profile *dst,
		      struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, v->last, NULL, 0);

	if (!c)
		return err_nomem(e);
	profile_copy_head(dst, v->last);
	for (size_t i = 0; i < profile_sample_count(v->last); i++) {
		struct sample s = profile_get_sample(v->last, i);
		bool is_hidden =
			is_kernel_leaf(f, s.node) ? v->is_kernel_hidden : v->is_user_hidden;

		if (!is_hidden)
			profile_add(dst, profile_copy_node(c, s.node),
				    profile_copy_labels(c, s.labels), s.values);
	}
	profile_copier_free(c);
	return profile_check(dst, e);
}

/* What is left when kernel or user code is hidden: a new profile. */
static int take_shown(const struct top_view *v, struct profile **ret, struct err *e)
{
	struct profile *dst = profile_new();
	struct frames f;
	int rc = dst ? frames_init(&f, v->last, FRAME_BY_FUNCTION, e) : err_nomem(e);

	if (rc == 0) {
		rc = copy_shown(v, &f, dst, e);
		frames_fini(&f);
	}
	if (rc < 0) {
		profile_free(dst);
		return rc;
	}
	*ret = dst;
	return 0;
}

static int put_rows(struct top_view *v, const struct profile *p, struct report_opts *o,
		    struct emit *out, struct err *e)
{
	int rc;

	if (v->callers_of[0]) {
		rc = report_edges(out, p, o, FRAME_BY_FUNCTION, v->callers_of, NULL, e);
		/* it was not on any stack since the last look */
		return rc == -ENOENT || rc == -EINVAL ? 0 : rc;
	}
	switch (v->by) {
	case TOP_BY_MODULE:
		return report_flat(out, p, o, FRAME_BY_MODULE, e);
	case TOP_BY_THREAD:
		return report_labels(out, p, o, "thread", e);
	case TOP_BY_PROCESS:
		return report_labels(out, p, o, "pid", e);
	case TOP_BY_FUNCTION:
		break;
	}
	return report_flat(out, p, o, FRAME_BY_FUNCTION, e);
}

/* The rows of a report: without the lines about the profile and about what was cut. */
static void put_report(const struct buf *report, struct buf *out)
{
	struct cursor c = cursor_make(report->data, report->len);
	const char *line;
	size_t len;

	while (cursor_line(&c, &line, &len)) {
		if (!len || *line == '#')
			continue;
		buf_put(out, line, len);
		buf_put_byte(out, '\n');
	}
}

static void put_head(const struct top_view *v, const struct report_opts *o, const char *unit,
		     struct buf *out)
{
	buf_put_str(out, "auger top: ");
	buf_put_int(out, o->facts.samples);
	buf_put_str(out, " samples, ");
	units_put(out, o->facts.total, unit);
	if (o->facts.lost)
		buf_printf(out, ", %lld lost", (long long)o->facts.lost);
	if (v->callers_of[0])
		buf_printf(out, "; callers of %s", v->callers_of);
	buf_printf(out, "%s%s%s", v->is_kernel_hidden ? "; kernel hidden" : "",
		   v->is_user_hidden ? "; user code hidden" : "", v->is_paused ? "; paused" : "");
	buf_printf(out, "%s%s\n", v->said[0] ? "; " : "", v->said);
}

static int put_profile(struct top_view *v, const struct profile *p, size_t width, size_t lines,
		       struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct report_opts o = { .type = profile_default_type(p), .limit = lines };
	CLEANUP(emit_fini) struct emit emit = { 0 };
	int rc;

	o.file = "";
	o.facts = report_facts(v->last, o.type);
	if (v->format == EMIT_TABLE)
		put_head(v, &o, report_unit(p, o.type), out);
	emit_begin(&emit,
		   &(struct emit_opts){
			   .format = v->format, .width = width, .is_verbose = v->is_verbose },
		   &text);
	emit_fit_strictly(&emit);
	rc = put_rows(v, p, &o, &emit, e);
	if (emit_end(&emit) < 0 && rc == 0)
		rc = err_nomem(e);
	if (rc == 0 && v->format == EMIT_TABLE)
		put_report(&text, out);
	else if (rc == 0)
		buf_put(out, text.data, text.len);
	return rc;
}

int top_view_put(struct top_view *v, size_t width, size_t lines, struct buf *out, struct err *e)
{
	enum { LINES_AROUND = 4 }; /* keys, head, column names, what was cut */
	struct profile *shown = NULL;
	int rc = 0;

	v->first_line = 2;
	if (width) {
		buf_put_str(out, KEYS "\n");
		v->first_line++;
	}
	if (!v->last) {
		buf_put_str(out, "auger top: sampling ...\n");
		return 0;
	}
	v->row_count = width && lines > LINES_AROUND ? lines - LINES_AROUND : lines;
	if (v->is_kernel_hidden || v->is_user_hidden)
		rc = take_shown(v, &shown, e);
	if (rc == 0)
		rc = put_profile(v, shown ? shown : v->last, width, v->row_count, out, e);
	if (!width && v->format != EMIT_JSON)
		buf_put_byte(out, '\n');
	profile_free(shown);
	v->said[0] = '\0';
	return rc;
}

int top_view_chosen_line(const struct top_view *v)
{
	return v->last && !v->callers_of[0] && v->by == TOP_BY_FUNCTION
		       ? (int)v->first_line + v->chosen
		       : -1;
}

void top_view_say(struct top_view *v, const char *text)
{
	snprintf(v->said, sizeof v->said, "%s", text);
}

/* The function of the row that is chosen. */
static void zoom(struct top_view *v)
{
	struct profile *shown;
	struct err e;
	struct flat f;
	uint32_t *rows;
	size_t count;

	if (!v->last || v->by != TOP_BY_FUNCTION || take_shown(v, &shown, &e) < 0)
		return;
	if (flat_init(&f, shown, FRAME_BY_FUNCTION, profile_default_type(shown), -1, &e) < 0) {
		profile_free(shown);
		return;
	}
	if (flat_sorted(&f, FLAT_BY_SELF, &rows, &count, &e) == 0) {
		if ((size_t)v->chosen < count)
			snprintf(v->callers_of, sizeof v->callers_of, "%s",
				 flat_name(&f, rows[v->chosen]));
		free(rows);
	}
	flat_fini(&f);
	profile_free(shown);
}

void top_view_key(struct top_view *v, int key)
{
	static const struct {
		int key;
		enum top_by by;
	} views[] = { { 'f', TOP_BY_FUNCTION },
		      { 'm', TOP_BY_MODULE },
		      { 't', TOP_BY_THREAD },
		      { 'p', TOP_BY_PROCESS } };

	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		if (views[i].key == key) {
			v->by = views[i].by;
			v->callers_of[0] = '\0';
		}
	}
	if (key == 'k')
		v->is_kernel_hidden = !v->is_kernel_hidden;
	else if (key == 'u')
		v->is_user_hidden = !v->is_user_hidden;
	else if (key == ' ')
		v->is_paused = !v->is_paused;
	else if (key == TOP_KEY_UP && v->chosen > 0)
		v->chosen--;
	else if (key == TOP_KEY_DOWN && (size_t)v->chosen + 1 < v->row_count)
		v->chosen++;
	else if (key == TOP_KEY_ENTER)
		zoom(v);
	else if (key == TOP_KEY_BACK)
		v->callers_of[0] = '\0';
}
