/* SPDX-License-Identifier: MIT */
/*
 * profile: the one model between collectors and views.
 *
 * A profile is a set of samples; a sample is a stack, labels and one value per sample type. Stacks
 * are nodes of one calling-context trie (parent, location), and everything is interned. Adding the
 * same stack and labels again sums the values: a profile grows with distinct stacks, never with
 * time. It does not know where samples come from or how views show them.
 *
 * All ids are dense. Id 0 is the null object of each kind: the empty string, no mapping, no
 * function, no location, the empty stack (the root of the trie), no labels. Builders remember
 * failure: they return id 0, and profile_error() reports it once at the end.
 *
 * Limits: 2^32-2 objects of each kind, 64 sample types, 2^31 lines in all. Values are summed in
 * int64_t; an overflowing sum stays at its end, with one warning (base/number.h).
 */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/strtab.h"
#include "model/sample_times.h"
#include "model/trie.h"

#define PROFILE_MAX_TYPES 64

struct value_type {
	uint32_t type; /* string id: "cpu", "alloc_space" */
	uint32_t unit; /* string id: "nanoseconds", "bytes", "count" */
};

/*
 * A file (or region) that has code. For ELF files that auger recorded, addresses are
 * the file's own virtual addresses, start/limit/offset those of its executable segment: the
 * same function of the same file has one address in all processes.
 */
struct mapping {
	uint64_t start;    /* address of the first byte */
	uint64_t limit;    /* one past the last */
	uint64_t offset;   /* in the file, of the first byte */
	uint32_t path;     /* string id: path of the file, or "[kernel.kallsyms]", "[vdso]" */
	uint32_t build_id; /* string id: lower-case hex, or 0 */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct function {
	uint32_t name;        /* string id: demangled, for people */
	uint32_t system_name; /* string id: as in the symbol table */
	uint32_t file;        /* string id: source file, or 0 */
	int64_t start_line;   /* 0: unknown */
};

struct line {
	uint32_t function; /* id, 0: unknown */
	int64_t line;      /* in the function's file, 0: unknown */
};

/*
 * An address in a mapping with its inlined lines, or just a name (mapping and address 0).
 * Return addresses are stored less one, so that they lie in the call.
 */
struct location {
	uint32_t mapping;         /* id, 0: none */
	uint64_t address;         /* 0: only a name */
	const struct line *lines; /* [line_count]: innermost inlined first; borrowed */
	uint32_t line_count;      /* 0: not named yet */
	bool is_folded;           /* pprof's is_folded: several functions share this address */
};

/* Either str, or num with a unit: a label whose str is 0 is a number. */
struct label {
	uint32_t key;  /* string id: "pid", "comm" */
	uint32_t str;  /* string id, or 0 */
	int64_t num;   /* when str is 0 */
	uint32_t unit; /* string id of num's unit, or 0 */
};

struct sample {
	uint32_t node;         /* stack: the leaf's node, 0: the empty stack */
	uint32_t labels;       /* label-set id */
	const int64_t *values; /* [type_count]; borrowed until the next profile_add */
};

struct profile_info {
	int64_t time_ns;               /* CLOCK_REALTIME at the start; 0: unknown */
	int64_t duration_ns;           /* 0: unknown */
	struct value_type period_type; /* what period counts */
	int64_t period;                /* of period_type between two samples */
	uint32_t default_type;         /* string id of the type to show first, or 0 */
	uint32_t drop_frames;          /* string id of a regex, or 0 */
	uint32_t keep_frames;          /* string id of a regex, or 0 */
	uint32_t doc_url;              /* string id, or 0 */
	size_t skipped_lines; /* of the text that was read: what was left out as no part of it */
	bool has_events;      /* all types but the first are events, and none is preferred */
};

struct profile;

struct profile *profile_new(void) MUST_CHECK; /* NULL: out of memory */
void profile_free(struct profile *p);

/* 0, -ENOMEM, -EOVERFLOW: the first failure of any builder so far. */
int profile_error(const struct profile *p) MUST_CHECK;
/* The same with words in e. */
int profile_check(const struct profile *p, struct err *e) MUST_CHECK;

/* For builders outside this file that ran out of memory while they fed p. */
void profile_fail_nomem(struct profile *p);

/* Strings. Copied; id 0 is "". */
uint32_t profile_str(struct profile *p, const char *text);
uint32_t profile_str_n(struct profile *p, const char *text, size_t len);
struct str profile_get_str(const struct profile *p, uint32_t id);
const char *profile_text(const struct profile *p, uint32_t id);       /* NUL-terminated */
uint32_t profile_find_str(const struct profile *p, const char *text); /* STRTAB_NONE */
size_t profile_str_count(const struct profile *p);

/* Returns its index; the same type and unit again give the same index. Samples that are
 * there already get the value 0, which copies all of them: best before the first sample.
 * More than PROFILE_MAX_TYPES is -EOVERFLOW (remembered). */
size_t profile_add_type(struct profile *p, const char *type, const char *unit);
size_t profile_type_count(const struct profile *p);
struct value_type profile_get_type(const struct profile *p, size_t i);
/* Index of the type with this name ("cpu"), or -1. */
int profile_find_type(const struct profile *p, const char *type);
/* The type that views show by default: info.default_type, else the last one. */
size_t profile_default_type(const struct profile *p);

struct profile_info *profile_info(struct profile *p); /* open for writing */
const struct profile_info *profile_get_info(const struct profile *p);

/* Comments: free text, one line each by custom. */
void profile_add_comment(struct profile *p, const char *text);
size_t profile_comment_count(const struct profile *p);
const char *profile_get_comment(const struct profile *p, size_t i);

/* Interned by all fields but the has_ ones, which are or-ed in. Ids from 1. */
uint32_t profile_add_mapping(struct profile *p, const struct mapping *m);
size_t profile_mapping_count(const struct profile *p); /* null object included */
const struct mapping *profile_get_mapping(const struct profile *p, uint32_t id);
void profile_set_mapping(struct profile *p, uint32_t id, const struct mapping *m);

uint32_t profile_add_function(struct profile *p, const struct function *f);
size_t profile_function_count(const struct profile *p);
const struct function *profile_get_function(const struct profile *p, uint32_t id);

/* Interned by mapping, address, lines and is_folded as given; lines are copied. */
uint32_t profile_add_location(struct profile *p, const struct location *l);
size_t profile_location_count(const struct profile *p);
struct location profile_get_location(const struct profile *p, uint32_t id);
/* Names a location: replaces its lines (copied). Later profile_add_location calls with the
 * mapping, address and lines it was added with still find it. */
void profile_set_lines(struct profile *p, uint32_t id, const struct line *lines, uint32_t count);
/* Moves a location to another mapping, e.g. from the kernel to one of its modules. It is still
 * found by the mapping that it was added with. */
void profile_set_location_mapping(struct profile *p, uint32_t id, uint32_t mapping);
/* A location that is only a name, e.g. a frame of a folded stack. */
uint32_t profile_name_location(struct profile *p, const char *name, size_t len);

/* The stack with location on top of parent. Children have larger ids than parents. */
uint32_t profile_push(struct profile *p, uint32_t parent, uint32_t location);
/* Fetches what profile_push() will need, without waiting for it. */
void profile_prepare_push(const struct profile *p, uint32_t parent, uint32_t location);
size_t profile_node_count(const struct profile *p); /* root included */
struct stack_node profile_get_node(const struct profile *p, uint32_t id);

/* Label sets: order does not matter, equal labels count once. */
uint32_t profile_add_labels(struct profile *p, const struct label *labels, size_t count);
size_t profile_label_set_count(const struct profile *p);
/* Sorted by the text of key, then str, num, unit; borrowed for good. */
const struct label *profile_get_labels(const struct profile *p, uint32_t id, size_t *ret_count);
/* The first label with this key; NULL: the set has none. */
const struct label *profile_find_label(const struct profile *p, uint32_t id, const char *key);

/* values: [type_count], added to the sample of this node and these labels. */
void profile_add(struct profile *p, uint32_t node, uint32_t labels, const int64_t *values);
size_t profile_sample_count(const struct profile *p);                /* distinct (node, labels) */
struct sample profile_get_sample(const struct profile *p, size_t i); /* in order of first add */
/* The index of the sample with this node and these labels; MAP_NONE (base/map.h): there is none. */
uint32_t profile_find_sample(const struct profile *p, uint32_t node, uint32_t labels);

/* When the values were taken; empty when that is not known. Open for writing. */
struct sample_times *profile_times(struct profile *p);
const struct sample_times *profile_get_times(const struct profile *p);

#endif
