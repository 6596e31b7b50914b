/* SPDX-License-Identifier: MIT */
/*
 * tree: one value of a profile as a tree of named frames, for all views.
 *
 * Locations become frames (inlined lines are frames of their own), equal children of a node
 * are one node, and each node has its self and total. Children are ordered by name, so that
 * what is drawn from the same profile is always the same.
 */
#ifndef VIEW_TREE_H
#define VIEW_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
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
	uint32_t name;   /* string id of the tree: what to show; "[unknown]" at the worst */
	uint32_t module; /* string id: base name of the mapping's path, "" for only a name */
	uint32_t file;   /* string id: source file, or "" */
	int64_t line;    /* FRAME_BY_LINE: sampled line; else the function's first; 0: unknown */
	enum frame_kind kind;
	bool is_inlined;
};

enum frame_by {
	FRAME_BY_FUNCTION, /* name and module */
	FRAME_BY_LINE,     /* name, file and line: shown as "file:line" with the function */
	FRAME_BY_MODULE,   /* adjacent frames of one module are one */
	FRAME_BY_ADDRESS,  /* each location by itself */
};

struct tree_opts {
	size_t type; /* index of the sample type */
	enum frame_by by;
	bool is_reversed; /* leaves become roots: callers above callees */
};

struct tree_node {
	uint32_t parent;       /* node id; the root's is 0 */
	uint32_t frame;        /* frame id; the root's is 0, which is named "all" */
	uint32_t first_child;  /* node id, 0: none */
	uint32_t next_sibling; /* node id, 0: none */
	uint32_t depth;        /* 0 for the root */
	int64_t self, total;   /* in the unit of the type; total of the root: of the profile */
};

struct tree {
	struct strtab *strings;
	struct frame *frames;    /* [frame_count] */
	struct tree_node *nodes; /* [node_count]; [0] is the root; parents before children */
	size_t frame_count, node_count;
	uint32_t max_depth;
};

/* Frames of p, without a tree: the ids that tree_add_stack() and tables share. */
int tree_build(const struct profile *p, const struct tree_opts *o, struct tree *ret,
	       struct err *e) MUST_CHECK;
void tree_fini(struct tree *t);

const char *tree_text(const struct tree *t, uint32_t string); /* NUL-terminated */

#endif
