/* SPDX-License-Identifier: MIT */
#include "cli/cache/rank_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define STEP_NS (NS_PER_S / 4) /* between two lines */

struct progress {
	int64_t next_ns; /* CLOCK_MONOTONIC */
	bool is_shown;   /* a line is on the screen */
};

static void show(void *self, size_t done, size_t all)
{
	struct progress *p = self;
	int64_t now = clock_mono_ns();

	if (now < p->next_ns)
		return;
	p->next_ns = now + STEP_NS;
	p->is_shown = true;
	fprintf(stderr, "\r\033[Krank %zu of %zu", done, all);
}

int read_cluster(struct cluster *c, const struct jobdir *job, enum cluster_paths what,
		 struct err *e)
{
	struct progress p = { .next_ns = clock_mono_ns() + STEP_NS };
	struct cluster_opts o = { .what = what };
	int rc;

	if (isatty(STDERR_FILENO)) {
		o.progress = show;
		o.progress_self = &p;
	}
	rc = cluster_read(c, job, &o, e);
	if (p.is_shown)
		fputs("\r\033[K", stderr);
	return rc;
}
