/* SPDX-License-Identifier: MIT */
/*
 * names: the functions of one file, each once, with their linker names and readable names. Each
 * name is demangled once.
 */
#ifndef SYMBOL_NAMES_H
#define SYMBOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/strtab.h"

#define NAMES_NONE UINT32_MAX /* out of memory (remembered) */

struct names {
	struct strtab *strings;   /* all text; others may put theirs in */
	struct strtab *functions; /* packed struct names_function */
	struct map readable;      /* string id of a raw name to the one for people */
	bool bad;                 /* out of memory, for good */
};

struct names_function {
	uint32_t system_name; /* string id */
	uint32_t file;        /* string id; "" unknown */
	uint32_t start_line;  /* 0: unknown */
};

int names_init(struct names *n) MUST_CHECK; /* 0 or -ENOMEM */
void names_fini(struct names *n);

uint32_t names_str(struct names *n, const char *text, size_t len);
const char *names_text(const struct names *n, uint32_t string);

/* The id of a function, from 0. */
uint32_t names_add(struct names *n, const struct names_function *f);
struct names_function names_get(const struct names *n, uint32_t function);

/* The name for people: a string id. */
uint32_t names_readable(const struct names *n, uint32_t system_name);

#endif
