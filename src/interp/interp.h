/* SPDX-License-Identifier: MIT */
/*
 * interp: frames of an interpreter for a sample, and the functions of the interpreter that stand
 * for them in the native stack.
 *
 * An interpreter runs the functions of its language in evaluation loops: native functions, each of
 * which has a segment of the language's frames. merge.h puts the two together.
 */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame of the language. */
struct interp_frame {
	uint32_t location; /* of the profile; 0: none, it only ends a segment */
	bool is_entry;     /* the last one of its segment */
};

/* What a thread has of the interpreter's lock (Python's GIL). */
enum interp_lock { INTERP_LOCK_NONE, INTERP_LOCK_HELD, INTERP_LOCK_AWAITED };

/* Innermost first. */
struct interp_stack {
	const struct interp_frame *frames; /* [count]; borrowed */
	size_t count;
	enum interp_lock lock;
};

/* What a native function is to the interpreter. */
enum interp_kind {
	INTERP_OTHER, /* does work of its own */
	INTERP_EVAL,  /* an evaluation loop */
	INTERP_FOLD,  /* only passes a call on */
};

struct interp_range {
	uint64_t start, end;   /* link-time addresses, [start..end) */
	enum interp_kind kind; /* EVAL or FOLD */
};

/* A native file with an interpreter. */
struct interp_file {
	struct interp_range *ranges; /* [count], sorted, disjoint */
	size_t count;
};

enum interp_kind interp_kind_of(const struct interp_file *f, uint64_t address);

/* A mapping of code as its owner knows it. */
struct interp_mapping {
	uint32_t pid;
	uint64_t start, end, offset;
	uint32_t file;    /* number: of the same file it is the same */
	const char *path; /* as the process sees it */
};

/* Samples' stacks at the moment of the sample; what reads them. */
struct interp_source {
	void *context;
	/* Changes when more is known of files: then processes' mappings are to be shown again. */
	uint32_t version;
	bool is_late;      /* frames are of a later moment: they count where they fit */
	bool keeps_native; /* the interpreter's own frames are shown, too */
	bool has_locks;    /* samples get the label "gil" */

	/* A process has this mapping. May be called again with the same one. */
	void (*map)(void *context, const struct interp_mapping *m);
	void (*leave)(void *context, uint32_t pid); /* by exec or exit */

	/* NULL: a file without an interpreter, or not known yet. */
	const struct interp_file *(*file)(void *context, uint32_t file);

	/* The frames of a sample; false: there are none. Valid until the next call. */
	bool (*frames)(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
		       struct interp_stack *ret);
};

#endif
