/* SPDX-License-Identifier: MIT */
#include "format/akaros/akaros.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "format/akaros/build.h"
#include "format/akaros/period.h"
#include "format/akaros/records.h"

/* A program's mark came when it pleased. */
static bool tells_period(const struct akaros_sample *s)
{
	return s->core != AKAROS_NO_CORE || s->count > 1;
}

static int find_periods(struct akaros_trace t, struct akaros_periods *ret)
{
	struct akaros_sample s;

	while (akaros_next(&t, &s))
		if (tells_period(&s) && akaros_periods_add(ret, s.core, s.ns) < 0)
			return -ENOMEM;
	akaros_periods_finish(ret);
	return 0;
}

static void warn_damage(const struct akaros_trace *t)
{
	if (t->skipped)
		log_msg(LOG_WARN, "format",
			"%" PRIu64
			" bytes of the trace hold no sample and were skipped, in %" PRIu64
			" %s, the first at byte %zu%s",
			t->skipped, t->holes, t->holes == 1 ? "place" : "places", t->first_hole,
			t->is_cut ? "; the last sample is cut off" : "");
	if (t->unknown)
		log_msg(LOG_WARN, "format", "samples of an unknown version: %" PRIu64, t->unknown);
}

static int read_samples(struct akaros_build *b, const struct akaros_periods *periods,
			struct akaros_trace *t, uint64_t *ret_count)
{
	struct akaros_sample s;

	for (*ret_count = 0; akaros_next(t, &s); ++*ret_count)
		if (akaros_build_add(b, &s, NULL, 0, akaros_periods_get(periods, s.core)) < 0)
			return -ENOMEM;
	return 0;
}

static int read_trace(struct profile *p, struct akaros_trace t, struct err *e)
{
	CLEANUP(akaros_build_fini) struct akaros_build b = { 0 };
	CLEANUP(akaros_periods_fini) struct akaros_periods periods = { 0 };
	uint64_t count;

	if (akaros_build_init(&b, p) < 0 || find_periods(t, &periods) < 0 ||
	    read_samples(&b, &periods, &t, &count) < 0)
		return err_nomem(e);
	if (!count && t.len)
		return err_set(e, -EINVAL, "byte 0: no sample in all %zu bytes", t.len);
	if (!count)
		log_msg(LOG_WARN, "format", "the trace is empty");
	warn_damage(&t);
	akaros_build_end(&b, &periods);
	return profile_check(p, e);
}

int akaros_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	if (akaros_records_detect(data, len))
		return akaros_records_read(p, data, len, e);
	return read_trace(p, (struct akaros_trace){ .data = data, .len = len }, e);
}
