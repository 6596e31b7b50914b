/* SPDX-License-Identifier: MIT */
#include "model/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "model/merge.h"

enum {
	IS_DROPPED = 1, /* of a location: all of it; of a node: it or a frame before */
	IS_LAST = 2,    /* its outer lines stay, and nothing that they call */
	HAS_OTHER = 4,  /* of a node: it or a frame before does not match */
};

struct prune {
	struct profile *src;
	struct pattern drop, keep;
	struct buf name;
	unsigned char *locations; /* [location_count]: IS_DROPPED or IS_LAST */
	unsigned char *nodes;     /* [node_count] */
	uint32_t *targets;        /* [node_count]: the stack that is left of it */
};

static void fini(struct prune *x)
{
	pattern_fini(&x->drop);
	pattern_fini(&x->keep);
	buf_fini(&x->name);
	free(x->locations);
	free(x->nodes);
	free(x->targets);
}

/* Characters of a name before its arguments. */
static size_t bare_length(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)", call[] = "operator";
	const char *at = name;

	while ((at = strchr(at, '('))) {
		size_t before = (size_t)(at - name);

		if (strncmp(at, anonymous, sizeof anonymous - 1) == 0)
			at += sizeof anonymous - 1;
		else if (before >= sizeof call - 1 && at[1] == ')' &&
			 strncmp(at - (sizeof call - 1), call, sizeof call - 1) == 0)
			at += 2;
		else
			return before;
	}
	return strlen(name);
}

static bool is_dropped(struct prune *x, const char *name)
{
	buf_clear(&x->name);
	buf_put(&x->name, name, bare_length(name));
	buf_put_byte(&x->name, '\0');
	if (buf_error(&x->name) < 0 || !x->name.data[0])
		return false;
	return pattern_matches(&x->drop, (const char *)x->name.data) &&
	       !pattern_matches(&x->keep, (const char *)x->name.data);
}

/* Lines are innermost first: of those that match, the outermost takes all that it calls along. */
static int mark_location(struct prune *x, uint32_t id)
{
	struct location l = profile_get_location(x->src, id);
	uint32_t gone = l.line_count;
	struct line *left;

	while (gone > 0) {
		uint32_t function = l.lines[gone - 1].function;
		const struct function *f = profile_get_function(x->src, function);

		if (is_dropped(x, profile_text(x->src, f->name)))
			break;
		gone--;
	}
	if (!gone)
		return 0;
	x->locations[id] = gone == l.line_count ? IS_DROPPED : IS_LAST;
	if (gone == l.line_count)
		return 0;
	left = reallocarray(NULL, l.line_count - gone, sizeof *left);
	if (!left)
		return -ENOMEM;
	memcpy(left, l.lines + gone, (l.line_count - gone) * sizeof *left);
	profile_set_lines(x->src, id, left, l.line_count - gone);
	free(left);
	return 0;
}

static void mark_node(struct prune *x, uint32_t id)
{
	struct stack_node node = profile_get_node(x->src, id);
	unsigned before = x->nodes[node.parent], here = x->locations[node.location];

	x->nodes[id] = (unsigned char)before;
	x->targets[id] = id;
	if (before & IS_DROPPED)
		x->targets[id] = x->targets[node.parent];
	else if (!here)
		x->nodes[id] |= HAS_OTHER;
	else if (before & HAS_OTHER) {
		x->nodes[id] |= IS_DROPPED;
		x->targets[id] = here == IS_DROPPED ? node.parent : id;
	}
}

static int mark(struct prune *x)
{
	size_t locations = profile_location_count(x->src), nodes = profile_node_count(x->src);
	int rc = 0;

	x->locations = calloc(locations, 1);
	x->nodes = calloc(nodes, 1);
	x->targets = calloc(nodes, sizeof *x->targets);
	if (!x->locations || !x->nodes || !x->targets)
		return -ENOMEM;
	for (uint32_t i = 1; rc == 0 && i < locations; i++)
		rc = mark_location(x, i);
	for (uint32_t i = 1; rc == 0 && i < nodes; i++)
		mark_node(x, i);
	if (rc == 0)
		rc = pattern_error(&x->drop);
	return rc == 0 ? pattern_error(&x->keep) : rc;
}

static int copy(const struct prune *x, struct profile *dst, struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, x->src, NULL, 0);

	if (!c)
		return err_nomem(e);
	profile_copy_head(dst, x->src);
	for (size_t i = 0; i < profile_sample_count(x->src); i++) {
		struct sample s = profile_get_sample(x->src, i);

		profile_add(dst, profile_copy_node(c, x->targets[s.node]),
			    profile_copy_labels(c, s.labels), s.values);
	}
	profile_copier_free(c);
	return profile_check(dst, e);
}

static int open_patterns(struct prune *x, struct err *e)
{
	const struct profile_info *info = profile_get_info(x->src);
	int rc = pattern_init_whole(&x->drop, profile_text(x->src, info->drop_frames), e);

	if (rc < 0)
		return err_wrap(e, "drop_frames");
	if (!info->keep_frames)
		return 0;
	rc = pattern_init_whole(&x->keep, profile_text(x->src, info->keep_frames), e);
	return rc < 0 ? err_wrap(e, "keep_frames") : 0;
}

int profile_prune(struct profile **p, struct err *e)
{
	CLEANUP(fini) struct prune x = { .src = *p };
	struct profile *dst;
	int rc;

	if (!profile_get_info(*p)->drop_frames)
		return 0;
	rc = open_patterns(&x, e);
	if (rc < 0)
		return rc;
	if (mark(&x) < 0)
		return err_nomem(e);
	dst = profile_new();
	if (!dst)
		return err_nomem(e);
	rc = copy(&x, dst, e);
	profile_free(rc < 0 ? dst : *p);
	if (rc == 0)
		*p = dst;
	return rc;
}
