/* SPDX-License-Identifier: MIT */
#include "model/script_frames.h"

#include <stdlib.h>

#include "model/merge.h"

#define NATIVE "[native]"

bool profile_is_script(const struct profile *p, uint32_t location)
{
	struct location l = profile_get_location(p, location);
	const struct mapping *m = profile_get_mapping(p, l.mapping);

	return l.mapping && !l.address && m->path && l.line_count &&
	       profile_get_function(p, l.lines[0].function)->file == m->path;
}

/* Of each node, the one with the script's frames only; 0: none. [nodes]; NULL: out of memory. */
static uint32_t *find_targets(struct profile *p, size_t nodes)
{
	uint32_t *targets = calloc(nodes + 1, sizeof *targets);

	for (size_t i = 1; targets && i < nodes; i++) {
		struct stack_node n = profile_get_node(p, (uint32_t)i);

		targets[i] = targets[n.parent];
		if (profile_is_script(p, n.location))
			targets[i] = profile_push(p, targets[n.parent], n.location);
	}
	return targets;
}

int profile_keep_scripts(struct profile **p, struct err *e)
{
	size_t nodes = profile_node_count(*p);
	uint32_t native = profile_push(*p, 0, profile_name_location(*p, NATIVE, sizeof NATIVE - 1));
	uint32_t *targets = find_targets(*p, nodes);
	struct profile *dst = profile_new();
	struct profile_copier *c = dst ? profile_copier_new(dst, *p, NULL, 0) : NULL;
	int rc = targets && c ? profile_check(*p, e) : err_nomem(e);

	if (rc == 0)
		profile_copy_head(dst, *p);
	for (size_t i = 0; rc == 0 && i < profile_sample_count(*p); i++) {
		struct sample s = profile_get_sample(*p, i);
		uint32_t node = targets[s.node] ? targets[s.node] : native;

		profile_add(dst, profile_copy_node(c, node), profile_copy_labels(c, s.labels),
			    s.values);
	}
	if (rc == 0)
		rc = profile_check(dst, e);
	profile_copier_free(c);
	free(targets);
	profile_free(rc < 0 ? dst : *p);
	if (rc == 0)
		*p = dst;
	return rc;
}
