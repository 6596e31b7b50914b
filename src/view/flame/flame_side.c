/* SPDX-License-Identifier: MIT */
#include "view/flame/flame_side.h"

#include <stdlib.h>
#include <string.h>

/* Folded stacks with two values have samples too. */
static bool is_sample_count(const struct profile *p, size_t type)
{
	const char *name = profile_text(p, profile_get_type(p, type).type);
	const char *unit = profile_text(p, profile_get_type(p, type).unit);

	return strcmp(unit, "count") == 0 &&
	       (strcmp(name, "samples") == 0 || strcmp(name, "before") == 0 ||
		strcmp(name, "after") == 0);
}

static int add_samples(struct flame_side *s, const struct profile *p, struct tree_opts how,
		       struct err *e)
{
	int type = profile_find_type(p, "samples"), rc;

	if (type < 0 || !is_sample_count(p, (size_t)type))
		return 0;
	how.type = (size_t)type;
	rc = tree_build(&s->samples, p, &how, e);
	return rc < 0 ? rc : tree_match(&s->tree, &s->samples, &s->samples_of, e);
}

int flame_side_make(struct flame_side *ret, const struct profile *p, const struct tree_opts *o,
		    struct err *e)
{
	int rc;

	*ret = (struct flame_side){ .counts_samples = is_sample_count(p, o->type) };
	rc = tree_build(&ret->tree, p, o, e);
	if (rc == 0 && !ret->counts_samples)
		rc = add_samples(ret, p, *o, e);
	if (rc < 0)
		flame_side_fini(ret);
	return rc;
}

void flame_side_fini(struct flame_side *s)
{
	tree_fini(&s->tree);
	tree_fini(&s->samples);
	free(s->samples_of);
	*s = (struct flame_side){ 0 };
}

int64_t flame_side_samples(const struct flame_side *s, uint32_t node, bool is_self)
{
	const struct tree_node *seen = NULL;

	if (s->counts_samples)
		seen = &s->tree.nodes[node];
	else if (!s->samples_of)
		return -1;
	else if (s->samples_of[node] != MAP_NONE)
		seen = &s->samples.nodes[s->samples_of[node]];
	return !seen ? 0 : is_self ? seen->self : seen->total;
}
