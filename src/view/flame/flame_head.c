/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "model/units.h"
#include "view/flame/flame_internal.h"
#include "view/flame/svg.h"
#include "view/shorten.h"

#define SEPARATOR " \xc2\xb7 " /* a middle dot */
#define MISSING_COLUMNS 60     /* of a name in the list of missing frames */

static void put_outside(struct buf *out, const char *text, size_t limit)
{
	svg_make_visible(out, text, strlen(text), limit);
}

static const char *title_of(const struct flame_opts *o)
{
	if (o->title)
		return o->title;
	if (o->is_wall)
		return "Wall clock of threads";
	if (o->other)
		return "Differential flame graph";
	return o->is_reversed ? "Flame graph: callers on callees" : "Flame graph";
}

static void put_comments(const struct picture *p, struct buf *out)
{
	for (size_t i = 0; i < profile_comment_count(p->profile); i++) {
		buf_put_str(out, i ? SEPARATOR : "");
		put_outside(out, profile_get_comment(p->profile, i), FLAME_NAME_LIMIT);
	}
}

static void put_date(struct buf *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm tm;
	char text[40];

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
		buf_printf(out, SEPARATOR "%s", text);
}

/* "cpu 12.3 s", "47,019 samples". */
static void put_value(const struct picture *p, struct buf *out, int64_t value)
{
	if (strcmp(p->unit.data, "count") == 0) {
		flame_put_grouped(out, value);
		buf_printf(out, " %s", p->type.data);
	} else {
		buf_printf(out, "%s ", p->type.data);
		units_put(out, value, p->unit.data);
	}
}

static void put_other(const struct picture *p, struct buf *out)
{
	buf_put_str(out, p->opts->is_negated ? SEPARATOR "after: " : SEPARATOR "before: ");
	put_value(p, out, p->other.tree.nodes[0].total);
	buf_put_str(out, p->opts->is_absolute ? SEPARATOR "values compared"
					      : SEPARATOR "shares of the whole compared");
}

/* What the picture shows, as far as the profile has it. */
static void put_facts(const struct picture *p, struct buf *out)
{
	const struct profile_info *info = profile_get_info(p->profile);

	put_value(p, out, p->side.tree.nodes[0].total);
	if (p->side.samples_of) {
		buf_put_str(out, SEPARATOR);
		flame_put_grouped(out, flame_side_samples(&p->side, 0, false));
		buf_put_str(out, " samples");
	}
	if (p->opts->is_wall) {
		buf_put_str(out, SEPARATOR "off the CPU ");
		units_put(out, p->other.tree.nodes[0].total, p->unit.data);
	} else if (p->opts->other) {
		put_other(p, out);
	}
	if (info->period > 0 && info->period_type.unit) {
		CLEANUP(buf_fini) struct buf words = { 0 };

		units_put(&words, info->period, profile_text(p->profile, info->period_type.unit));
		out->bad |= words.bad;
		buf_put_str(out, SEPARATOR "one every ");
		put_outside(out, words.data ? words.data : "", FLAME_WORD_LIMIT);
	}
	if (info->duration_ns > 0) {
		buf_put_str(out, SEPARATOR "recorded for ");
		units_put(out, info->duration_ns, "nanoseconds");
	}
	if (info->time_ns > 0)
		put_date(out, info->time_ns);
	if (p->side.tree.node_count == 1)
		buf_put_str(out, SEPARATOR "nothing to show");
}

static void put_missing_name(struct buf *out, const char *name)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	put_outside(&visible, name, FLAME_NAME_LIMIT);
	if (buf_error(&visible) < 0)
		out->bad = true;
	else if (utf8_fit(visible.data, visible.len, MISSING_COLUMNS) == visible.len ||
		 !shorten_name(out, visible.data, visible.len, MISSING_COLUMNS, ".."))
		svg_make_visible(out, visible.data, visible.len, MISSING_COLUMNS);
}

/* "gone: 3.21 % work, 1.20 % read; and 12 more" */
static int put_missing(const struct picture *p, struct buf *out, struct err *e)
{
	const struct tree *other = &p->other.tree;
	uint32_t nodes[8];
	size_t count;
	int rc = flame_missing(&p->comparison, nodes, ARRAY_LEN(nodes), &count, e);

	if (rc < 0 || !count)
		return rc;
	buf_put_str(out, p->opts->is_negated ? "new, not drawn:" : "gone:");
	for (size_t i = 0; i < count && i < ARRAY_LEN(nodes); i++) {
		double share = (double)other->nodes[nodes[i]].total / (double)other->nodes[0].total;

		buf_printf(out, "%s %.2f %% ", i ? "," : "", 100 * share);
		put_missing_name(out, tree_name(other, nodes[i]));
	}
	if (count > ARRAY_LEN(nodes))
		buf_printf(out, "; and %zu more", count - ARRAY_LEN(nodes));
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

/* The lines that have something to say. */
int flame_make_head(struct picture *p, struct err *e)
{
	struct buf *line = p->lines;
	int rc = 0;

	put_outside(&p->title, title_of(p->opts), FLAME_NAME_LIMIT);
	if (p->opts->note)
		put_outside(line++, p->opts->note, FLAME_NAME_LIMIT);
	put_comments(p, line);
	line += line->len > 0;
	put_facts(p, line++);
	if (flame_is_diff(p->opts))
		rc = put_missing(p, &p->layout.stats.missing, e);
	if (p->layout.stats.missing.len)
		buf_put_str(line++, p->layout.stats.missing.data);
	p->line_count = (size_t)(line - p->lines);
	for (size_t i = 0; i < p->line_count && rc == 0; i++)
		if (buf_error(&p->lines[i]) < 0)
			rc = err_nomem(e);
	if (rc == 0 && (buf_error(&p->title) < 0 || buf_error(&p->layout.stats.missing) < 0))
		rc = err_nomem(e);
	return rc;
}
