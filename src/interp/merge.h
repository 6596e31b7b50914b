/* SPDX-License-Identifier: MIT */
/*
 * merge: puts the frames of an interpreter in place of its evaluation loops in a native stack.
 *
 * Loops and segments are matched from the outermost one, or from the innermost one where the native
 * stack is cut. Native frames above the first loop and below the last one stay; between loops,
 * those stay that do work. When loops and segments do not fit, all frames of the language stand
 * between the outer and the inner native frames.
 */
#ifndef INTERP_MERGE_H
#define INTERP_MERGE_H

#include "base/macros.h"
#include "base/rows.h"
#include "interp/interp.h"

/* A frame of the result: of the native stack, or of the interpreter's. */
struct interp_item {
	uint32_t index;
	bool is_interp;
};

enum interp_fit {
	INTERP_FITS,     /* each loop has its segment */
	INTERP_EXTENDED, /* the native stack is cut; the rest is the interpreter's alone */
	INTERP_MISFIT,   /* loops and segments do not fit */
};

/*
 * Appends struct interp_item to ret, innermost first. kinds: of the native frames, [count],
 * innermost first; is_whole: the stack is not cut. Frames without a location are left out.
 * 0 or -ENOMEM.
 */
int interp_merge(const uint8_t *kinds, size_t count, bool is_whole, const struct interp_stack *s,
		 bool keeps_native, struct rows *ret, enum interp_fit *ret_fit) MUST_CHECK;

/* Loops of native frames that have no segment yet, or no more, as interp_merge() sees them. */
bool interp_fits(const uint8_t *kinds, size_t count, const struct interp_stack *s);

#endif
