/* SPDX-License-Identifier: MIT */
/*
 * tree: one value of a profile as a tree of named frames, for all views.
 *
 * Locations become frames (inlined lines are frames of their own), equal children of a node
 * are one node, and each node has its self and total. Children are ordered by name, so that
 * what is drawn from the same profile is always the same. Stacks whose value is 0 are left out.
 */
#ifndef VIEW_TREE_H
#define VIEW_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strtab.h"
#include "model/profile.h"

enum frame_kind {
	FRAME_NAME,    /* only a name: folded stacks, stages, paths */
	FRAME_PROGRAM, /* an executable file */
	FRAME_LIBRARY, /* a shared library, the vdso */
	FRAME_KERNEL,  /* the kernel and its modules */
	FRAME_JIT,     /* code made at run time: perf maps, anonymous memory */
};

/* What a view calls a function (or line, or module: enum frame_by). */
struct frame {
	uint32_t name;     /* string id of the frames: what to show; "[unknown]" at the worst */
	uint32_t function; /* string id: the function (module) alone, without line or address */
	uint32_t module;   /* string id: base name of the mapping's path, "[jit]"; where there is
			      no mapping, the source file with its path, or "" */
	uint32_t file;     /* string id: source file, or "" */
	int64_t line; /* FRAME_BY_LINE: the sampled line; else the function's first; 0: unknown */
	enum frame_kind kind;
	bool is_inlined;
};

enum frame_by {
	FRAME_BY_FUNCTION,        /* name and module */
	FRAME_BY_LINE,            /* also file and line: named "function file.c:12" */
	FRAME_BY_MODULE,          /* named by the module; neighbors of one module are one frame */
	FRAME_BY_ADDRESS,         /* also the address: named "function 0x1234" */
	FRAME_BY_NAME_OR_ADDRESS, /* by function; one without a name is "[module <1234>]" */
};

/*
 * The frames of a profile's locations. The annotations that folded stacks carry at the end of
 * a name (_[k] kernel, _[j] JIT, _[i] inlined) become kind and is_inlined.
 */
struct frames {
	const struct profile *profile;
	enum frame_by by;
	struct strtab *strings;
	struct strtab *keys; /* packed identity of a frame to its id - 1 */
	struct frame *list;  /* [count]; [0] is the root's, named "all" */
	size_t count, cap;
	uint32_t *of_locations; /* [location_count + 1]: first index into ids; see frames_of */
	uint32_t *ids;          /* frame ids, innermost first */
};

int frames_init(struct frames *f, const struct profile *p, enum frame_by by,
		struct err *e) MUST_CHECK;
void frames_fini(struct frames *f);
/* Frame ids of a location, innermost first; borrowed. At least one. */
const uint32_t *frames_of(const struct frames *f, uint32_t location, size_t *ret_count);
const char *frames_text(const struct frames *f, uint32_t string); /* NUL-terminated */
/* The frame that is the same as one of other frames; STRTAB_NONE: there is none. */
uint32_t frames_find(const struct frames *f, const struct frames *of, uint32_t id);

struct tree_opts {
	size_t type; /* index of the sample type */
	enum frame_by by;
	bool is_reversed; /* leaves become roots: callers above callees */
};

struct tree_node {
	uint32_t parent;       /* node id; the root's is 0 */
	uint32_t frame;        /* frame id; the root's is 0 */
	uint32_t first_child;  /* node id, 0: none */
	uint32_t next_sibling; /* node id, 0: none */
	uint32_t depth;        /* 0 for the root */
	int64_t self, total;   /* in the unit of the type; total of the root: of the profile */
};

struct tree {
	struct frames frames;
	struct tree_node *nodes; /* [node_count]; [0] is the root; parents before children */
	size_t node_count, node_cap;
	uint32_t max_depth;
	struct map children; /* (parent, frame) to node */
};

/* Sums saturate at the ends of int64_t. */
int tree_build(struct tree *ret, const struct profile *p, const struct tree_opts *o,
	       struct err *e) MUST_CHECK;
/*
 * The tree of all stacks, whatever their values are: no node has self, total, or links to children.
 * Samples without a stack have the frame "[unknown]". (*ret_of_stacks)[node of p]: its node, 0 for
 * stacks without samples; the caller's to free.
 */
int tree_build_whole(struct tree *ret, const struct profile *p, enum frame_by by,
		     uint32_t **ret_of_stacks, struct err *e) MUST_CHECK;
void tree_fini(struct tree *t);

const struct frame *tree_frame(const struct tree *t, uint32_t node);
const char *tree_name(const struct tree *t, uint32_t node); /* of its frame, NUL-terminated */

/*
 * (*ret)[node of t]: the node of other with the same frames from the root, or MAP_NONE; the
 * caller's to free. Both trees are made alike, of the same profile or of two.
 */
int tree_match(const struct tree *t, const struct tree *other, uint32_t **ret,
	       struct err *e) MUST_CHECK;

#endif
