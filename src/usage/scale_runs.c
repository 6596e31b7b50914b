/* SPDX-License-Identifier: MIT */
#include "usage/scale_runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/profile.h"
#include "target/cgroup.h"

static int64_t ns_of(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * 1000;
}

static const struct counter *find_counter(const struct copy *c, const char *name)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (strcmp(c->counters.all[i].name, name) == 0)
			return &c->counters.all[i];
	return NULL;
}

static int64_t counted(const struct copy *c, const char *name)
{
	const struct counter *counter = find_counter(c, name);

	return counter && !counter->error ? counter->value : SCALE_NONE;
}

/* Time that a copy of one thread had neither a CPU nor waited for one. */
static int64_t blocked_ns(const struct copy *c)
{
	int64_t ns =
		c->wall_ns - ns_of(c->usage.ru_utime) - ns_of(c->usage.ru_stime) - c->run_wait_ns;

	if (c->run_wait_ns < 0 || c->thread_peak > 1 || c->process_count > 1)
		return SCALE_NONE;
	return ns > 0 ? ns : 0;
}

/* To the sum; one that lacks it makes it lacking. */
static void add(int64_t *sum, int64_t value)
{
	*sum = *sum == SCALE_NONE || value == SCALE_NONE ? SCALE_NONE : *sum + value;
}

static void add_copy(int64_t metrics[SCALE_METRICS], const struct copy *c)
{
	const struct rusage *u = &c->usage;
	int64_t rss = u->ru_maxrss * 1024;

	add(&metrics[SCALE_WALL], c->wall_ns);
	add(&metrics[SCALE_USER], ns_of(u->ru_utime));
	add(&metrics[SCALE_SYSTEM], ns_of(u->ru_stime));
	add(&metrics[SCALE_RUN_WAIT], c->run_wait_ns);
	add(&metrics[SCALE_BLOCKED], blocked_ns(c));
	add(&metrics[SCALE_MINOR], u->ru_minflt);
	add(&metrics[SCALE_MAJOR], u->ru_majflt);
	add(&metrics[SCALE_RSS], rss);
	add(&metrics[SCALE_VOLUNTARY], u->ru_nvcsw);
	add(&metrics[SCALE_INVOLUNTARY], u->ru_nivcsw);
	add(&metrics[SCALE_MIGRATIONS], counted(c, "cpu-migrations"));
	add(&metrics[SCALE_CYCLES], counted(c, "cycles"));
	add(&metrics[SCALE_INSTRUCTIONS], counted(c, "instructions"));
	if (c->wall_ns > metrics[SCALE_WALL_MOST])
		metrics[SCALE_WALL_MOST] = c->wall_ns;
	if (rss > metrics[SCALE_RSS_MOST])
		metrics[SCALE_RSS_MOST] = rss;
	if (u->ru_minflt > metrics[SCALE_MINOR_MOST])
		metrics[SCALE_MINOR_MOST] = u->ru_minflt;
	if (u->ru_minflt < metrics[SCALE_MINOR_LEAST])
		metrics[SCALE_MINOR_LEAST] = u->ru_minflt;
}

/* What the machine did besides. */
static void add_machine(int64_t metrics[SCALE_METRICS], const struct copies *c)
{
	const struct machine *m = &c->machine;
	int64_t own = c->own_ns;

	static_assert(SCALE_EVENT_COUNT == (int)MACHINE_EVENTS, "a column each");
	for (size_t i = 0; i < MACHINE_EVENTS; i++)
		metrics[SCALE_EVENTS + i] = m->events[i] < 0 ? SCALE_NONE : m->events[i];
	for (size_t i = 0; i < c->count; i++)
		own += ns_of(c->all[i].usage.ru_utime) + ns_of(c->all[i].usage.ru_stime);
	if (!m->has_cpu || !m->cpu_count) {
		metrics[SCALE_CAPACITY] = metrics[SCALE_FOREIGN] = metrics[SCALE_STEAL] =
			SCALE_NONE;
		return;
	}
	metrics[SCALE_CAPACITY] = m->time_ns * m->cpu_count;
	metrics[SCALE_STEAL] = m->steal_ns;
	metrics[SCALE_FOREIGN] = m->user_ns + m->system_ns - own;
	if (metrics[SCALE_FOREIGN] < 0) /* the machine's is in ticks */
		metrics[SCALE_FOREIGN] = 0;
}

static void take_metrics(int64_t ret[SCALE_METRICS], const struct copies *c)
{
	static const enum scale_metric means[] = {
		SCALE_WALL,         SCALE_USER,        SCALE_SYSTEM,     SCALE_RUN_WAIT,
		SCALE_BLOCKED,      SCALE_MINOR,       SCALE_MAJOR,      SCALE_RSS,
		SCALE_VOLUNTARY,    SCALE_INVOLUNTARY, SCALE_MIGRATIONS, SCALE_CYCLES,
		SCALE_INSTRUCTIONS,
	};

	for (size_t i = 0; i < SCALE_METRICS; i++)
		ret[i] = 0;
	ret[SCALE_MINOR_LEAST] = INT64_MAX;
	for (size_t i = 0; i < c->count; i++) {
		add_copy(ret, &c->all[i]);
		ret[SCALE_FAILED] += c->all[i].status != 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(means); i++)
		if (ret[means[i]] != SCALE_NONE)
			ret[means[i]] /= (int64_t)c->count;
	add_machine(ret, c);
}

static void take_status(struct scale_runs *r, const struct copies *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!c->all[i].status)
			continue;
		if (!r->status)
			log_msg(LOG_WARN, "stat", "a copy ended with status %d", c->all[i].status);
		r->status = c->all[i].status;
	}
	if (c->signal) {
		r->status = 128 + c->signal;
		r->is_over = true;
	}
}

static int run_once(struct scale_runs *r, int64_t copies, int64_t ret[SCALE_METRICS], struct err *e)
{
	const struct copies_opts o = { r->argv, (size_t)copies, r->pins };
	struct copies c;
	int rc = copies_new(&o, &c, e);

	if (rc < 0)
		return rc;
	rc = copies_start(&c, e);
	r->exec_error = runloop_exec_error(&c.loop);
	if (rc == 0)
		rc = copies_wait(&c, e);
	if (rc == 0 && !r->is_over) {
		take_status(r, &c);
		take_metrics(ret, &c);
	}
	copies_fini(&c);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of values in order. */
static int64_t median(const int64_t *values, size_t count)
{
	if (values[0] == SCALE_NONE)
		return SCALE_NONE;
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* all: [rounds][step_count][SCALE_METRICS] */
static void take_medians(struct scale_runs *r, const int64_t *all, int64_t *scratch)
{
	for (size_t step = 0; step < r->step_count; step++)
		for (size_t f = 0; f < SCALE_METRICS; f++) {
			for (size_t i = 0; i < r->rounds; i++)
				scratch[i] = all[(i * r->step_count + step) * SCALE_METRICS + f];
			qsort(scratch, r->rounds, sizeof *scratch, compare);
			r->steps[step].metrics[f] = f == SCALE_FAILED ? scratch[r->rounds - 1]
								      : median(scratch, r->rounds);
		}
}

int scale_runs_measure(struct scale_runs *r, struct err *e)
{
	size_t runs = r->rounds * r->step_count;
	int64_t *all = reallocarray(NULL, runs, SCALE_METRICS * sizeof *all);
	int64_t *scratch = reallocarray(NULL, r->rounds, sizeof *scratch);
	int64_t warm_up[SCALE_METRICS];
	int rc = all && scratch ? 0 : err_nomem(e);

	/* Memory that the host of a virtual machine took back, files that are not cached. */
	if (rc == 0)
		rc = run_once(r, r->steps[0].copies, warm_up, e);
	for (size_t i = 0; rc == 0 && i < runs && !r->is_over; i++) {
		log_msg(LOG_INFO, "stat", "round %zu: %lld copies", i / r->step_count + 1,
			(long long)r->steps[i % r->step_count].copies);
		rc = run_once(r, r->steps[i % r->step_count].copies, all + i * SCALE_METRICS, e);
	}
	if (rc == 0 && !r->is_over)
		take_medians(r, all, scratch);
	free(all);
	free(scratch);
	return rc;
}

int scale_runs_cpus(const struct cpulist *allowed, int64_t *ret, struct err *e)
{
	struct cgroup group;
	struct cgroup_usage usage;
	int rc = cgroup_find("self", &group, e);

	if (rc < 0)
		return rc;
	*ret = (int64_t)allowed->count * 1000;
	cgroup_read(&group, &usage);
	if (usage.cpu_quota_ns.has_value && !usage.cpu_quota_ns.is_unlimited &&
	    usage.cpu_period_ns.value > 0) {
		int64_t quota = usage.cpu_quota_ns.value * 1000 / usage.cpu_period_ns.value;

		if (quota > 0 && quota < *ret)
			*ret = quota;
	}
	return 0;
}

void scale_runs_fini(struct scale_runs *r)
{
	for (size_t i = 0; i < r->step_count; i++)
		profile_free(r->profiles[i]);
}
