/* SPDX-License-Identifier: MIT */
/*
 * stacktext: what the readers of stacks as text have in common: lines in, stacks with a value out.
 *
 * A format is one function that takes the lines and gives stacks. They go to a profile, or, when
 * there is none, to the lines that FlameGraph's stackcollapse program for the format prints: byte
 * for byte, also where a profile has it better (offsets behind names, threads that wait). So the
 * function asks is_exact where the two differ.
 *
 * Failures are remembered; the lines end then. Detection looks at 64 KiB. A profile's stack costs
 * its frames, of a tree (outermost first) only those that are new. Lines that are made may have 64
 * times the bytes of the text, and always 64 MiB.
 */
#ifndef FORMAT_STACKTEXT_STACKTEXT_H
#define FORMAT_STACKTEXT_STACKTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/str.h"
#include "format/collapsed.h"
#include "model/profile.h"

struct stacktext_frame {
	uint32_t name;     /* string id of struct stacktext's names */
	uint32_t location; /* of the profile; 0: one that is only the name */
	uint32_t node;     /* of the profile: the frames up to here, outermost first; 0: not yet */
};

struct stacktext {
	struct profile *p; /* borrowed; NULL when is_exact */
	bool is_exact;
	size_t type;       /* of the values: index of the profile's sample type */
	uint32_t labels;   /* of the stacks: label set of the profile */
	bool may_be_empty; /* a header said what the text is: no stack is an answer, too */

	/* The rest is for stacktext.c. */
	struct cursor text;
	size_t line_number; /* of the line at hand, from 1 */
	struct collapsed lines;
	uint64_t max_lines;   /* bytes */
	struct strtab *names; /* of frames; owned */
	struct rows frames;   /* struct stacktext_frame: in the order of the text */
	size_t known_depth;   /* of frames that were set once: the deepest */
	bool has_type;
	struct buf line; /* that is being made */
	size_t stack_count, skipped, first_skipped;
	int error;     /* first failure, negative errno */
	bool too_deep; /* it is a stack of more than FORMAT_MAX_DEPTH frames */
};

/* The next line, without its end; false: there is none, or something failed. */
bool stacktext_line(struct stacktext *t, struct str *ret);

void stacktext_fail(struct stacktext *t); /* out of memory */

/* The line at hand is no part of what the format is. */
void stacktext_skip(struct stacktext *t);

/* A frame on those that are there. An empty name is "[unknown]" in a profile. */
void stacktext_push(struct stacktext *t, struct str name);

/* The same in a profile, which takes file and line, too. */
void stacktext_push_at(struct stacktext *t, struct str name, struct str file, int64_t line);

/* A location of the profile, which is not exact. 0: out of memory. */
void stacktext_push_location(struct stacktext *t, uint32_t location);

size_t stacktext_depth(const struct stacktext *t);
void stacktext_cut(struct stacktext *t, size_t depth); /* keeps the first frames */

/* Makes it so deep: cuts, or adds what is missing: empty frames, or when is_exact those that were
 * there before, as arrays of scripts keep them. At most FORMAT_MAX_DEPTH. */
void stacktext_set_depth(struct stacktext *t, size_t depth);

struct str stacktext_top(const struct stacktext *t); /* the last frame's name; depth > 0 */

/* A value for the frames, which stay. leaf_first: the first is the innermost one. */
void stacktext_add(struct stacktext *t, bool leaf_first, int64_t value);

/* The same of a number in the text of a program that keeps_order. When is_exact. */
void stacktext_add_text(struct stacktext *t, bool leaf_first, const char *number);

/* The same with one for each sample type, [type_count]. Not when is_exact. */
void stacktext_add_all(struct stacktext *t, bool leaf_first, const int64_t *values);

/* The label set of a thread's name and its number, 0: none. 0 when is_exact. */
uint32_t stacktext_thread(struct stacktext *t, struct str comm, const char *number_key,
			  uint64_t number);

/* The sample type of the values that follow; the first is shown by default. samples/count when none
 * is set. */
void stacktext_set_type(struct stacktext *t, const char *type, const char *unit);

struct stacktext_kind {
	const char *name;                   /* of the format, for messages */
	void (*parse)(struct stacktext *t); /* all lines */
	bool keeps_order;                   /* its stackcollapse program does: collapsed.h */
};

/* -EINVAL: "no stack in this text", or a line with its number. */
int stacktext_read(const struct stacktext_kind *kind, struct profile *p, const unsigned char *data,
		   size_t len, struct err *e) MUST_CHECK;

/* Appends what the stackcollapse program prints. */
int stacktext_collapse(const struct stacktext_kind *kind, const unsigned char *data, size_t len,
		       struct buf *out, struct err *e) MUST_CHECK;

/* A line of nothing but digits with blanks before. A number beyond int64_t is its end. */
bool stacktext_number(struct str s, int64_t *ret);

/* A decimal number at the start of s: digits, perhaps with a point and more digits. Returns how
 * many bytes it takes; 0: none. */
size_t stacktext_decimal(struct str s, double *ret);

/* The first lines of data, at most 64 KiB, for detection. Empty when there is a NUL. */
struct cursor stacktext_start(const unsigned char *data, size_t len);

#endif
