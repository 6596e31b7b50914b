/* SPDX-License-Identifier: MIT */
#include "sample/per_cpu.h"

#include "base/log.h"

#define UNSEEN_MIN 32    /* processes */
#define UNSEEN_SAMPLES 4 /* for each of them; with more the switch is not worth it */
#define ENDED_SAMPLES 16 /* for each thread that ended: each loses half a period, 3 % of these */
#define OTHERS_MAX 16    /* samples of others for each sample of the command */
#define OTHERS_MIN 10000 /* samples of others before the ratio counts */

static void begin(struct per_cpu *w, struct sampler *s, struct ingest *in)
{
	const struct ingest_counts *n = ingest_counts(in);
	struct err e;

	if (sampler_use_per_cpu(s, &e) < 0) {
		log_msg(LOG_DEBUG, "per_cpu", "%s", e.msg);
		w->is_over = true;
		return;
	}
	log_msg(LOG_DEBUG, "per_cpu",
		"%llu threads ended, %llu without a sample: using per-CPU events",
		(unsigned long long)n->ended, (unsigned long long)n->unseen);
	ingest_keep_known(in, true);
	*w = (struct per_cpu){ .is_on = true, .rated = n->rated, .left_out = n->left_out };
}

/* Records still in the rings are filtered as before. */
static void end(struct per_cpu *w, struct sampler *s)
{
	log_msg(LOG_DEBUG, "per_cpu", "other processes are too busy: using per-process events");
	sampler_use_per_thread(s);
	*w = (struct per_cpu){ .is_over = true };
}

/* Is much of the CPU time of short threads and processes that get few samples, or none? */
static bool is_short_lived(const struct ingest_counts *n)
{
	return (n->unseen >= UNSEEN_MIN && n->unseen > n->rated / UNSEEN_SAMPLES) ||
	       (n->ended >= UNSEEN_MIN && n->ended > n->rated / ENDED_SAMPLES);
}

void per_cpu_update(struct per_cpu *w, struct sampler *s, struct ingest *in)
{
	const struct ingest_counts *n = ingest_counts(in);
	uint64_t others = n->left_out - w->left_out, own = n->rated - w->rated;

	if (w->is_over)
		return;
	if (!w->is_on && is_short_lived(n))
		begin(w, s, in);
	else if (w->is_on && others > OTHERS_MIN && others / OTHERS_MAX > own)
		end(w, s);
}
