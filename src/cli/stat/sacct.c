/* SPDX-License-Identifier: MIT */
#include "cli/stat/sacct.h"

#include <string.h>

#include "usage/slurm/compare.h"

static void put_value(struct emit *out, const char *key, int64_t value, const char *unit)
{
	if (value < 0)
		emit_none(out, key);
	else
		emit_value(out, key, value, unit);
}

static void put_pair(struct emit *out, const struct sacct_pair *p)
{
	emit_text(out, "field", p->field);
	put_value(out, "slurm", p->slurm, p->unit);
	put_value(out, "ours", p->own, p->unit);
	put_value(out, "cgroup", p->cgroup, p->unit);
	emit_hide(out);
	emit_text(out, "unit", p->unit);
	emit_optional(out, "figure", p->metric ? p->metric : "");
	emit_hide(out);
	if (p->slurm >= 0 && p->own > 0)
		emit_real(out, "ratio", (double)p->slurm / (double)p->own, 2, "x");
	else
		emit_none(out, "ratio");
	emit_optional(out, "why", p->why);
	emit_hide(out);
	emit_optional(out, "cgroup_why", p->cgroup_why);
}

/* Nothing is known of it on any side. */
static bool is_absent(const struct sacct_pair *p)
{
	return p->slurm < 0 && p->own < 0 && p->cgroup < 0;
}

/* One line for each reason why the group's values differ. */
static void put_cgroup_notes(struct emit *out, const struct sacct_comparison *c)
{
	for (size_t i = 0; i < SACCT_PAIRS; i++) {
		const char *why = c->pairs[i].cgroup_why;
		bool is_told = !*why;

		for (size_t j = 0; j < i; j++)
			is_told |= strcmp(c->pairs[j].cgroup_why, why) == 0;
		if (!is_told)
			emit_note(out, "cgroup, %s: %s", c->pairs[i].field, why);
	}
}

int stat_sacct(const char *job, const char *metrics, const struct emit_opts *emit, struct buf *to,
	       struct err *e)
{
	CLEANUP(sacct_comparison_fini) struct sacct_comparison c = { .pairs = { { 0 } } };
	CLEANUP(emit_fini) struct emit out = { 0 };
	int rc = sacct_compare(job, metrics, &c, e);

	if (rc < 0)
		return rc;
	emit_begin(&out, emit, to);
	emit_head_str(&out, "step", c.step.data);
	emit_head_str(&out, "state", c.state.data);
	emit_columns(&out);
	put_pair(&out, &c.pairs[0]);
	for (size_t i = 0; i < SACCT_PAIRS; i++) {
		if (emit->format == EMIT_TABLE && !emit->is_verbose && is_absent(&c.pairs[i]))
			continue;
		emit_row(&out);
		put_pair(&out, &c.pairs[i]);
	}
	put_cgroup_notes(&out, &c);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}
