/* SPDX-License-Identifier: MIT */
/*
 * merge: adds one profile to another. Values of equal stacks and labels add up.
 */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "base/err.h"
#include "model/profile.h"

/* A label as text, for callers that have no ids of the target. */
struct text_label {
	const char *key, *value;
};

/* Copies ids of one profile into another, each looked up once. */
struct profile_copier;

/* dst and src must outlive it. extra: labels that each sample gets besides its own; may be
 * NULL when count is 0. NULL: out of memory. */
struct profile_copier *profile_copier_new(struct profile *dst, const struct profile *src,
					  const struct text_label *extra, size_t count) MUST_CHECK;
void profile_copier_free(struct profile_copier *c);
uint32_t profile_copy_str(struct profile_copier *c, uint32_t id);
uint32_t profile_copy_location(struct profile_copier *c, uint32_t id);
uint32_t profile_copy_node(struct profile_copier *c, uint32_t id);
uint32_t profile_copy_labels(struct profile_copier *c, uint32_t id);

/*
 * The times of those samples of src that were copied. targets: [sample count of src]: the nodes of
 * src that the values of this type were copied to; NULL: all were copied to those of their samples.
 * Failure is that of dst.
 */
void profile_copy_times(struct profile_copier *c, const uint32_t *targets, size_t type);
/* The same of samples that got other labels: labels: [sample count of src]: their label sets in
 * dst. */
void profile_copy_relabeled_times(struct profile_copier *c, const uint32_t *labels);

/* The sample types, the period, the default type and the comments of src, to an empty dst. */
void profile_copy_head(struct profile *dst, const struct profile *src);

/*
 * Adds all of src. An empty dst (no types) takes src's types; else both must have the same
 * types in any order, -EINVAL names the first that differs. The earlier time, the sums of
 * durations and skipped lines, and the comments of both (each once) are kept.
 */
int profile_merge(struct profile *dst, const struct profile *src, const struct text_label *extra,
		  size_t count, struct err *e) MUST_CHECK;

#endif
