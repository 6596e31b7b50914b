/* SPDX-License-Identifier: MIT */
/* comments: describes in the profile how it was recorded. */
#ifndef SAMPLE_COMMENTS_H
#define SAMPLE_COMMENTS_H

#include "model/profile.h"
#include "sample/recording.h"

/* Before the recording runs: what, where and how, one comment each; also the period and the time.
 */
void recording_put_head(struct profile *p, const struct recording_opts *o,
			const struct recording *c);
/* After it: how well it went; also time and duration. */
void recording_put_result(struct profile *p, const struct recording_opts *o,
			  const struct recording *c, const struct recording_result *r);

/* Parts of it, for a summary: how many user stacks are complete, and why others are not; the time
 * off the CPU by reason. */
bool recording_has_stacks(const struct recording_result *r);
void recording_put_stacks(struct buf *out, const struct recording *c,
			  const struct recording_result *r);
void recording_put_waits(struct buf *out, const struct recording_result *r);
/* How many samples in Python's code have its frames. */
bool recording_has_python(const struct recording_result *r);
void recording_put_python(struct buf *out, const struct recording_result *r);

#endif
